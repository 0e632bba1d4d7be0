/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The `slurm` policy: sched/builtin or sched/backfill with select/cons_tres; partitions, priorities, QOS, limits,
 * preemption and reservations come from the section `slurm`.
 *
 * The main scheduler starts jobs in the order of the queue. After a job of a partition did not fit, no later job of
 * this partition starts in the pass. The main scheduler examines at most default_queue_depth + 1 jobs, but all jobs
 * once per sched_interval. After a submission, or if a node comes up, it runs in the background loop of slurmctld. This
 * loop checks for queued passes once per second, but runs them only batch_sched_delay after its last pass. After any
 * other event, such as the end of a job, the main scheduler runs at once.
 *
 * The backfill scheduler runs bf_interval seconds after its last pass if jobs or nodes have changed since that pass
 * began. If not, it runs at the next whole second after a change. It tests at most bf_max_job_test jobs (slurm.h).
 *
 * Without preemption, a backfill pass ends as soon as none of the remaining jobs can start. During a pass, free nodes
 * only become fewer. So if no job of a kind fits on the nodes that are unreserved for the shortest time limit of the
 * remaining jobs of this kind, none of them fits later in the pass. The jobs that start are those of a complete pass. A
 * complete pass would also compute the expected starts of the remaining jobs, but these have no effect.
 *
 * Invariant, after each pass: `waiting` has the waiting jobs except the suspended ones; `nodes` has the running and the
 * suspended jobs. engine.h describes the other modules.
 */

#include "headroom/unstable/systems/systems.h"

#include "policies/kit/params.h"
#include "policies/slurm/engine.h"
#include "policies/slurm/slurm.h"

#include <string.h>

static const char *const scheduler_names[] = {"backfill", "builtin", NULL};
static const char *const priority_names[] = {"basic", "trace", "multifactor", NULL};

#define WHOLE(name, value, low, high, words) HR__INTEGER(name, value, low, high, HR__BASIC, words)

static const struct hr_param params[] = {
    HR__CHOICE("scheduler", "backfill", scheduler_names, HR__BASIC,
               "SchedulerType. backfill: with backfill; builtin: strict order without backfill"),
    HR__CHOICE("priority", "basic", priority_names, HR__BASIC,
               "PriorityType. basic: first come, first served; trace: the priorities of the jobs in the trace; "
               "multifactor: the weighted factors of the section slurm"),
    WHOLE("bf_interval", "30", 1, 10800, "minimum time between two passes of the backfill scheduler, in seconds"),
    WHOLE("bf_resolution", "60", 1, 3600, "resolution of planned starts, in seconds"),
    WHOLE("bf_window", "1440", 1, 43200, "time that the backfill scheduler plans ahead, in minutes"),
    WHOLE("bf_max_job_test", "500", 1, 1000000, "maximum number of jobs that a backfill pass tests"),
    WHOLE("bf_max_job_start", "0", 0, 10000, "maximum number of jobs that a backfill pass starts; 0: no limit"),
    WHOLE("default_queue_depth", "100", 1, 1000000,
          "maximum number of jobs that the main scheduler examines per event; it examines one job more"),
    WHOLE("sched_interval", "60", -1, 86400,
          "time between passes of the main scheduler that examine all jobs, in seconds; 0: all passes examine all "
          "jobs; -1: jobs are started only by backfill"),
    WHOLE("batch_sched_delay", "3", 0, 86400,
          "minimum time from a pass of the main scheduler to the next pass for submitted jobs, in seconds"),
    WHOLE("bf_min_age_reserve", "0", 0, 2592000,
          "waiting time of a job, in seconds, from which nodes are reserved for it"),
    WHOLE("bf_min_prio_reserve", "0", 0, 4294967295.0, "minimum priority of jobs for which nodes are reserved"),
    WHOLE("bf_job_part_count_reserve", "0", 0, 100000,
          "maximum number of jobs of a partition for which a backfill pass reserves nodes; 0: no limit"),
    WHOLE("bf_max_job_user", "0", 0, 1000000,
          "maximum number of jobs of a user that a backfill pass tests; 0: no limit"),
    WHOLE("bf_max_job_part", "0", 0, 1000000,
          "maximum number of jobs of a partition that a backfill pass tests; 0: no limit"),
    WHOLE("bf_max_job_user_part", "0", 0, 1000000,
          "maximum number of jobs of a user in a partition that a backfill pass tests; 0: no limit"),
    WHOLE("bf_max_job_assoc", "0", 0, 1000000,
          "maximum number of jobs of an association that a backfill pass tests; 0: no limit"),
    {0}};

/* ---- Waiting jobs ----------------------------------------------------------------------------------- */

static bool may_preempt(const struct hr__slurm_waiting *waiting, const struct hr__slurm_entry *a,
                        const struct hr__slurm_entry *b) {
  if (a->qos == HR_NONE || b->qos == HR_NONE) return false;
  return waiting->may_preempt[(size_t)a->qos * waiting->n_qos + b->qos];
}

static bool goes_before(const struct hr__slurm_waiting *waiting, const struct hr__slurm_entry *a,
                        const struct hr__slurm_entry *b) {
  if (waiting->may_preempt && may_preempt(waiting, a, b)) return true;
  if (waiting->may_preempt && may_preempt(waiting, b, a)) return false;
  if (a->key != b->key) return a->key > b->key;
  return a->submit_s != b->submit_s ? a->submit_s < b->submit_s : a->job < b->job;
}

/* Makes room for one entry before the present entries and for one entry after them. Returns false if memory is
   exhausted. */
static bool make_room(struct hr__slurm_waiting *waiting) {
  if (waiting->first > 0 && waiting->first + waiting->count < waiting->capacity) return true;
  if (waiting->count + 2 > waiting->capacity / 2 &&
      !HR__ARENA_HAS_ROOM(waiting->arena, waiting->all, waiting->capacity, waiting->capacity))
    return false;
  uint32_t first = (waiting->capacity - waiting->count) / 2;
  if (waiting->count)
    memmove(waiting->all + first, waiting->all + waiting->first, waiting->count * sizeof *waiting->all);
  waiting->first = first;
  return true;
}

/* Inserts an entry into the sorted part. The first unsorted entry moves to the end. */
static void insert_among_sorted(struct hr__slurm_waiting *waiting, uint32_t at, const struct hr__slurm_entry *entry) {
  struct hr__slurm_entry *front = waiting->all + waiting->first, *end = front + waiting->n_sorted;
  if (waiting->n_sorted < waiting->count) front[waiting->count] = *end;
  memmove(front + at + 1, front + at, (waiting->n_sorted - at) * sizeof *entry);
  front[at] = *entry;
  waiting->n_sorted++;
  waiting->count++;
}

bool hr__slurm_waiting_add(struct hr__slurm_waiting *waiting, const struct hr__slurm_entry *entry) {
  if (!make_room(waiting)) return false;
  uint32_t low = 0, high = waiting->n_sorted;
  bool is_last = high && goes_before(waiting, hr__slurm_waiting_at(waiting, high - 1), entry);
  if (is_last && high < waiting->count) {
    waiting->count++;
    *hr__slurm_waiting_at(waiting, waiting->count - 1) = *entry;
    return true;
  }
  if (is_last) low = high;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (goes_before(waiting, hr__slurm_waiting_at(waiting, middle), entry))
      low = middle + 1;
    else
      high = middle;
  }
  if (low >= waiting->n_sorted / 2) {
    insert_among_sorted(waiting, low, entry);
    return true;
  }
  struct hr__slurm_entry *front = waiting->all + waiting->first;
  memmove(front - 1, front, low * sizeof *entry);
  waiting->first--;
  waiting->count++;
  waiting->n_sorted++;
  *hr__slurm_waiting_at(waiting, low) = *entry;
  return true;
}

void hr__slurm_waiting_sweep(struct hr__slurm_waiting *waiting, uint32_t n, const uint8_t *state, uint8_t waits) {
  uint32_t end = n < waiting->count ? n : waiting->count, kept = end;
  uint32_t n_sorted = waiting->n_sorted > end ? waiting->n_sorted - end : 0;
  for (uint32_t i = end; i-- > 0;) {
    const struct hr__slurm_entry entry = *hr__slurm_waiting_at(waiting, i);
    if (state[entry.job] != waits) continue;
    *hr__slurm_waiting_at(waiting, --kept) = entry;
    n_sorted += i < waiting->n_sorted;
  }
  waiting->first += kept;
  waiting->count -= kept;
  waiting->n_sorted = n_sorted;
  if (waiting->count) hr__slurm_waiting_order(waiting, 1);
}

/* ---- Waiting jobs: sorting the front ---------------------------------------------------------------- */

/* Ranges of at most SMALL entries are sorted by insertion. A call sorts at least CHUNK entries, or all entries if they
   are fewer. When a range is divided, its larger part is put on the stack and its smaller part is divided next. So the
   stack has at most MAX_RANGES ranges. */
enum { SMALL = 16, CHUNK = 1024, MAX_RANGES = 33 };

static void sort_by_insertion(const struct hr__slurm_waiting *waiting, struct hr__slurm_entry *entries, uint32_t n) {
  for (uint32_t i = 1; i < n; i++) {
    const struct hr__slurm_entry entry = entries[i];
    uint32_t at = i;
    for (; at && goes_before(waiting, &entry, &entries[at - 1]); at--) entries[at] = entries[at - 1];
    entries[at] = entry;
  }
}

static void swap(struct hr__slurm_entry *a, struct hr__slurm_entry *b) {
  const struct hr__slurm_entry kept = *a;
  *a = *b;
  *b = kept;
}

/* Partitions the entries from `from` to before `end` by a pivot, the median of three. Returns the position of the
   pivot. */
static uint32_t divide(const struct hr__slurm_waiting *waiting, struct hr__slurm_entry *entries, uint32_t from,
                       uint32_t end) {
  struct hr__slurm_entry *first = &entries[from], *middle = &entries[from + (end - from) / 2],
                         *last = &entries[end - 1];
  if (goes_before(waiting, middle, first)) swap(middle, first);
  if (goes_before(waiting, last, middle)) swap(last, middle);
  if (goes_before(waiting, middle, first)) swap(middle, first);
  swap(middle, last);
  uint32_t at = from;
  for (uint32_t i = from; i + 1 < end; i++)
    if (goes_before(waiting, &entries[i], last)) swap(&entries[i], &entries[at++]);
  swap(&entries[at], last);
  return at;
}

/* Sorts partially: afterwards, the first `wanted` of `n` entries are those of the sorted list. This is a quicksort that
   does not sort ranges behind these entries. */
static void sort_front(const struct hr__slurm_waiting *waiting, struct hr__slurm_entry *entries, uint32_t n,
                       uint32_t wanted) {
  struct {
    uint32_t from, end;
  } ranges[MAX_RANGES] = {{0, n}};
  for (uint32_t n_ranges = 1; n_ranges;) {
    uint32_t from = ranges[n_ranges - 1].from, end = ranges[n_ranges - 1].end;
    n_ranges--;
    while (end - from > SMALL) {
      uint32_t at = divide(waiting, entries, from, end);
      if (at + 1 >= wanted) {
        end = at;
      } else if (at - from > end - at - 1) {
        ranges[n_ranges].from = from;
        ranges[n_ranges++].end = at;
        from = at + 1;
      } else {
        ranges[n_ranges].from = at + 1;
        ranges[n_ranges++].end = end;
        end = at;
      }
    }
    sort_by_insertion(waiting, entries + from, end - from);
  }
}

void hr__slurm_waiting_sort_first(struct hr__slurm_waiting *waiting, uint32_t n) {
  uint32_t sorted = waiting->n_sorted, end = n > 2 * sorted ? n : 2 * sorted;
  if (end < CHUNK) end = CHUNK;
  if (end > waiting->count) end = waiting->count;
  sort_front(waiting, hr__slurm_waiting_at(waiting, sorted), waiting->count - sorted, end - sorted);
  waiting->n_sorted = end;
}

/* ---- Waiting jobs: sorting all ---------------------------------------------------------------------- */

/* Merges two sorted lists. */
static void merge(const struct hr__slurm_waiting *waiting, const struct hr__slurm_entry *a, uint32_t n_a,
                  const struct hr__slurm_entry *b, uint32_t n_b, struct hr__slurm_entry *to) {
  while (n_a && n_b) {
    bool takes_b = goes_before(waiting, b, a);
    *to++ = takes_b ? *b++ : *a++;
    if (takes_b)
      n_b--;
    else
      n_a--;
  }
  if (n_a) memcpy(to, a, n_a * sizeof *to);
  if (n_b) memcpy(to, b, n_b * sizeof *to);
}

/* A merge sort. Two neighbouring lists that are already in order are only copied, because the order rarely changes
   much. */
static void sort_all(struct hr__slurm_waiting *waiting, struct hr__slurm_entry *scratch) {
  struct hr__slurm_entry *from = waiting->all + waiting->first, *to = scratch;
  uint32_t n = waiting->count, n_swapped = 0;
  for (uint32_t i = 1; i < n && !n_swapped; i++) n_swapped += goes_before(waiting, &from[i], &from[i - 1]);
  if (!n_swapped) return;
  for (uint64_t width = 1; width < n; width *= 2) {
    for (uint64_t at = 0; at < n; at += 2 * width) {
      uint32_t n_a = (uint32_t)(n - at < width ? n - at : width),
               n_b = (uint32_t)(n - at - n_a < width ? n - at - n_a : width);
      if (n_b == 0 || !goes_before(waiting, &from[at + n_a], &from[at + n_a - 1]))
        memcpy(to + at, from + at, (n_a + n_b) * sizeof *to);
      else
        merge(waiting, from + at, n_a, from + at + n_a, n_b, to + at);
    }
    struct hr__slurm_entry *swap = from;
    from = to;
    to = swap;
  }
  if (from == scratch) memcpy(to, from, n * sizeof *to);
}

/* With preemption, the result depends on the steps of the sort, because the order may be cyclic. */
void hr__slurm_waiting_sort(struct hr__slurm_waiting *waiting, struct hr__slurm_entry *scratch) {
  if (waiting->may_preempt) {
    sort_all(waiting, scratch);
    return;
  }
  waiting->n_sorted = 0;
  if (waiting->count) hr__slurm_waiting_sort_first(waiting, 1);
}

/* ---- The main scheduler ----------------------------------------------------------------------------- */

/* Whether a job needs no node: it requests no GPUs and, if CPUs and memory are limited, no CPUs and no memory. */
static bool needs_nothing(const struct hr__slurm_run *run, uint32_t job) {
  if (run->requests) return !hr_request_needs_node(&run->requests->request[run->requests->of_job[job]]);
  return run->trace->gpus[job] == 0;
}

/* Chooses nodes on which a job can start now, if necessary by preemption. Returns whether there are such nodes. */
static bool find_nodes(struct hr__slurm_run *run, uint32_t job) {
  const struct hr__slurm_kind *kind = &run->kinds[run->jobs[job].kind];
  for (uint32_t w = 0; w < run->nodes.n_words; w++) run->open_nodes[w] = ~run->closed_nodes[w] & kind->usable[w];
  int64_t now_us = run->view->now_us;
  if (kind->denied || run->has_maintenance)
    hr__slurm_remove_reserved(run, (hr_job){job}, kind->denied, hr__slurm_allowed(run, kind->denied), now_us,
                              now_us + run->jobs[job].limit_us, run->open_nodes);
  return hr__slurm_find_now(run, kind, run->open_nodes) || hr__slurm_preempt(run, job, run->open_nodes);
}

/* The first time, not before `from_us`, at which the main scheduler examines all jobs. These times are multiples of
   sched_interval after the start of slurmctld or, if that is unknown, after the begin of the trace. */
static int64_t full_pass(const struct hr__slurm_run *run, int64_t from_us) {
  const int64_t interval_s = run->params[HR__SLURM_SCHED_INTERVAL].integer;
  const int64_t interval_us = (interval_s ? interval_s : 1) * HR_SECOND_US; // slurmctld checks once per second
  if (interval_s < 0) return HR_NEVER_US;
  int64_t start_us = run->config ? run->config->priority.calc_start_us : HR_UNKNOWN_US;
  int64_t since_us = from_us + (start_us == HR_UNKNOWN_US ? 0 : run->trace->origin_us - start_us);
  int64_t into_us = since_us % interval_us;
  if (into_us < 0) into_us += interval_us;
  return into_us ? from_us + interval_us - into_us : from_us;
}

/* Removes a queued pass that is due, and returns whether it was due exactly now. A pass that was due before now was
   skipped because no job waited. */
static bool take_queued(struct hr__slurm_run *run, int64_t now_us) {
  if (!run->is_queued || run->loop_us > now_us) return false;
  run->looped_us = run->loop_us;
  run->is_queued = false;
  return run->loop_us == now_us;
}

/* Queues a pass of the main scheduler for the background loop of slurmctld. A pass that examines all jobs replaces a
   queued pass that is not due earlier. Source: _slurmctld_background of src/slurmctld/controller.c. */
static void queue_main(struct hr__slurm_run *run, int64_t now_us) {
  if (run->is_queued && run->loop_us < now_us) take_queued(run, now_us);
  const int64_t full_us = full_pass(run, now_us);
  if (run->is_queued || full_us == HR_NEVER_US) return;
  const int64_t last_full_us = full_us - run->params[HR__SLURM_SCHED_INTERVAL].integer * HR_SECOND_US;
  const int64_t last_us = last_full_us > run->looped_us ? last_full_us : run->looped_us;
  int64_t loop_us = last_us + run->params[HR__SLURM_BATCH_DELAY].integer * HR_SECOND_US;
  if (loop_us < now_us) loop_us = hr__slurm_whole_second(now_us);
  run->loop_us = loop_us < full_us ? loop_us : full_us;
  run->is_queued = true;
}

/* Whether starts of the main scheduler may allow further starts in another pass although nothing else has changed.
   There are two reasons. A job that did not fit may now exceed a limit, so that it no longer blocks others. With
   preemption, other jobs may now be preempted. */
static bool starts_matter(const struct hr__slurm_run *run) {
  return run->preemption.is_on || run->limits_state.used;
}

/* Starts waiting jobs in order. After a job of a partition did not fit, no later job of this partition starts, and no
   job of another partition starts on its nodes. */
static void run_main(struct hr__slurm_run *run) {
  uint32_t depth = (uint32_t)run->params[HR__SLURM_DEPTH].integer + 1, n_started = 0, n_failed = 0, i = 0;
  const int64_t interval_s = run->params[HR__SLURM_SCHED_INTERVAL].integer;
  if (interval_s < 0) return;
  if (interval_s == 0 || full_pass(run, run->view->now_us) == run->view->now_us) depth = UINT32_MAX;
  memset(run->failed_parts, 0, run->n_parts);
  memset(run->closed_nodes, 0, run->nodes.n_words * sizeof *run->closed_nodes);
  for (; i < run->waiting.count && i < depth && n_failed < run->n_parts && run->status == HR_OK; i++) {
    hr__slurm_waiting_order(&run->waiting, i + 1);
    uint32_t job = hr__slurm_waiting_at(&run->waiting, i)->job, part = run->kinds[run->jobs[job].kind].partition;
    if (needs_nothing(run, job) || run->failed_parts[part] || hr__slurm_hold(run, job, run->view->now_us)) continue;
    if (find_nodes(run, job)) {
      run->suspension.has_chosen = false;
      n_started += hr__slurm_start(run, job, HR_REASON_IN_ORDER);
      continue;
    }
    // a job that is too young for a reservation does not block others
    uint32_t priority = (uint32_t)hr__slurm_waiting_at(&run->waiting, i)->key;
    if (run->view->now_us - run->jobs[job].submit_us < run->limits.min_age_reserve_us) continue;
    if (priority < run->limits.min_prio_reserve) continue;
    run->failed_parts[part] = true;
    n_failed++;
    for (uint32_t w = 0; w < run->nodes.n_words; w++) run->closed_nodes[w] |= run->parts[part].nodes[w];
  }
  bool is_cut = i == depth && i < run->waiting.count && n_failed < run->n_parts;
  run->may_do_more = is_cut || (n_started > 0 && starts_matter(run));
  if (n_started) hr__slurm_waiting_sweep(&run->waiting, i, run->view->state, HR_JOB_WAITING);
}

/* ---- The selector of a backfill pass ---------------------------------------------------------------- */

static const struct hr__slurm_kind *kind_of(const struct hr__slurm_run *run, uint32_t job) {
  return &run->kinds[run->jobs[job].kind];
}

static bool find_start(void *self, uint32_t job, int64_t now_us, uint64_t *nodes, int64_t *start_us) {
  struct hr__slurm_run *run = self;
  if (run->preemption.is_on) return hr__slurm_find_without_victims(run, job, nodes, start_us);
  return hr__slurm_find_start(run, kind_of(run, job), now_us, nodes, start_us);
}

static int64_t earliest(void *self, uint32_t job, const uint64_t *nodes) {
  const struct hr__slurm_kind *kind = kind_of(self, job);
  return hr__slurm_earliest_of(self, kind, nodes ? nodes : kind->usable);
}

static bool make_room_by_preemption(void *self, uint32_t job, uint64_t *nodes) {
  struct hr__slurm_run *run = self;
  if (!hr__slurm_find_now(run, kind_of(run, job), nodes) && !hr__slurm_preempt(run, job, nodes)) return false;
  memset(nodes, 0, run->nodes.n_words * sizeof *nodes);
  for (uint32_t i = 0; i < run->found.nodes; i++)
    nodes[run->nodes.chosen[i] / 64] |= UINT64_C(1) << run->nodes.chosen[i] % 64;
  return true;
}

static int64_t restrict_nodes(void *self, uint32_t job, int64_t from_us, int64_t to_us, uint64_t *nodes) {
  uint64_t denied = kind_of(self, job)->denied;
  return hr__slurm_remove_reserved(self, (hr_job){job}, denied, hr__slurm_allowed(self, denied), from_us, to_us, nodes);
}

/* Returns whether a job is still not held: since the list of jobs was made, starts in this pass may have reached a
   limit. */
static bool may_be_tested(void *self, uint32_t job) {
  struct hr__slurm_run *run = self;
  return !hr__slurm_hold(run, job, run->view->now_us);
}

static bool start_planned(void *self, uint32_t job, const uint64_t *nodes) {
  struct hr__slurm_run *run = self;
  bool has_chosen = run->suspension.has_chosen; // make_room_by_preemption has chosen nodes
  run->suspension.has_chosen = false;
  memcpy(run->set, nodes, run->nodes.n_words * sizeof *nodes);
  if (run->status != HR_OK || (!has_chosen && !hr__slurm_select_now(&run->nodes, &run->found, run->set))) return false;
  return hr__slurm_start(run, job, HR_REASON_BACKFILL);
}

/* Returns whether some job of a kind may start now. Only the jobs in entry `next` of the queue and later are
   considered. */
static bool kind_may_start(struct hr__slurm_run *run, struct hr__slurm_kind *kind, uint32_t next) {
  while (kind->first_rest != HR_NONE && kind->first_rest < next) kind->first_rest = run->rests[kind->first_rest].next;
  if (kind->first_rest == HR_NONE) return false;
  memcpy(run->best, kind->usable, run->nodes.n_words * sizeof *run->best);
  int64_t until_us = run->view->now_us + run->rests[kind->first_rest].shortest_us;
  if (run->line.n_slots > 1) hr__slurm_unreserved(&run->line, until_us, run->best);
  return hr__slurm_kind_fits(run, kind, run->best);
}

/* Returns whether some job in entry `next` of the queue, or in a later one, may start now. A kind of which no job may
   start any more is removed from the list `alive`. */
static bool any_may_start(void *self, uint32_t next) {
  struct hr__slurm_run *run = self;
  while (run->n_alive && !kind_may_start(run, &run->kinds[run->alive[run->n_alive - 1]], next)) run->n_alive--;
  return run->n_alive > 0;
}

/* ---- A backfill pass -------------------------------------------------------------------------------- */

/* Makes room for `n` tested jobs, and for a time line on which each of them splits two slots. Returns false if memory
   is exhausted. */
static bool make_space(struct hr__slurm_run *run, uint32_t n) {
  if (n <= run->queue_capacity) return true;
  uint32_t capacity = run->queue_capacity ? run->queue_capacity : 32;
  while (capacity < n) capacity *= 2;
  struct hr__slurm_timeline *line = &run->line;
  uint32_t max_slots = 2 * capacity + 2;
  if (!HR__ARENA_ARRAY(run->arena, run->queue, capacity) || !HR__ARENA_ARRAY(run->arena, run->rests, capacity) ||
      !HR__ARENA_ARRAY(run->arena, run->planned, capacity) || !HR__ARENA_ARRAY(run->arena, line->slots, max_slots) ||
      !HR__ARENA_ARRAY(run->arena, line->nodes, (size_t)max_slots * line->n_words + 1))
    return false;
  run->queue_capacity = capacity;
  line->max_slots = max_slots;
  return true;
}

/* Returns whether the number of tested jobs of a user, partition or association is limited. */
static bool counts_tests(const struct hr__slurm_run *run) {
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES; s++)
    if (run->limits.max_tests[s]) return true;
  return false;
}

/* Creates the counters for the limits of a backfill pass. Returns false if memory is exhausted. */
static bool create_counters(struct hr__slurm_run *run) {
  struct hr__slurm_timeline *line = &run->line;
  uint32_t n_users = run->trace->users.count;
  if (run->n_parts && n_users > UINT32_MAX / run->n_parts) return false;
  line->n_scopes[HR__SLURM_OF_USER] = n_users;
  line->n_scopes[HR__SLURM_OF_PARTITION] = run->n_parts;
  line->n_scopes[HR__SLURM_OF_USER_PARTITION] = n_users * run->n_parts;
  line->n_scopes[HR__SLURM_OF_ASSOC] = run->accounts.count;
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES; s++) {
    if (!run->limits.max_tests[s]) continue;
    if (!HR__ARENA_ARRAY(run->arena, line->tests[s], (size_t)line->n_scopes[s] + 1)) return false;
  }
  if (!run->limits.job_part_count_reserve) return true;
  return HR__ARENA_ARRAY(run->arena, line->part_reserves, run->n_parts);
}

/* Sets the scopes for which the tests of a job are counted. */
static void set_scopes(const struct hr__slurm_run *run, struct hr__slurm_queued *queued) {
  uint32_t user = run->trace->user ? run->trace->user[queued->job] : HR_NONE,
           part = kind_of(run, queued->job)->partition;
  queued->scopes[HR__SLURM_OF_USER] = user;
  queued->scopes[HR__SLURM_OF_PARTITION] = part;
  queued->scopes[HR__SLURM_OF_USER_PARTITION] = user == HR_NONE ? HR_NONE : user * run->n_parts + part;
  queued->scopes[HR__SLURM_OF_ASSOC] = run->jobs[queued->job].assoc;
}

/* Whether the QOS of a job has the flag NoReserve. A backfill pass reserves no nodes for such a job, and tests it as if
   its time limit were one minute. */
static bool has_no_reserve(const struct hr__slurm_run *run, uint32_t job) {
  uint32_t qos = run->jobs[job].qos;
  return qos != HR_NONE && run->config->qos[qos].flags >> HR_SLURM_NO_RESERVE & 1;
}

/* Lists the first `n` jobs of the queue that are not held (hr__slurm_hold). With preemption, held jobs before them in
   the queue are listed, too, because a stopped job no longer counts toward limits. Returns the number of examined
   entries of the queue. Difference from Slurm: if a start of this pass causes a listed job to exceed a limit, this job
   still counts toward `n`. */
static uint32_t list_queue(struct hr__slurm_run *run, uint32_t n) {
  uint32_t at = 0, i = 0;
  for (uint32_t n_free = 0; at < run->waiting.count && n_free < n; at++) {
    hr__slurm_waiting_order(&run->waiting, at + 1);
    const struct hr__slurm_entry *entry = hr__slurm_waiting_at(&run->waiting, at);
    bool is_held = hr__slurm_hold(run, entry->job, run->view->now_us) != NULL;
    n_free += !is_held;
    if (is_held && !run->preemption.is_on) continue;
    const struct hr__slurm_kind *kind = kind_of(run, entry->job);
    bool no_reserve = has_no_reserve(run, entry->job);
    run->queue[i] =
        (struct hr__slurm_queued){.job = entry->job,
                                  .priority = (uint32_t)entry->key,
                                  .limit_us = no_reserve ? 60 * HR_SECOND_US : run->jobs[entry->job].limit_us,
                                  .no_reserve = no_reserve,
                                  .submit_us = run->jobs[entry->job].submit_us,
                                  .min_nodes = kind->min_nodes,
                                  .usable = kind->usable};
    set_scopes(run, &run->queue[i++]);
  }
  run->n_queued = i;
  return at;
}

/* Links the entries of `queue` that have the same kind, and lists the kinds in `alive`. */
static void list_kinds(struct hr__slurm_run *run) {
  run->n_alive = 0;
  for (uint32_t i = run->n_queued; i-- > 0;) {
    uint32_t number = run->jobs[run->queue[i].job].kind;
    struct hr__slurm_kind *kind = &run->kinds[number];
    struct hr__slurm_rest *rest = &run->rests[i];
    *rest = (struct hr__slurm_rest){kind->first_rest, run->queue[i].limit_us};
    if (rest->next == HR_NONE)
      run->alive[run->n_alive++] = number;
    else if (run->rests[rest->next].shortest_us < rest->shortest_us)
      rest->shortest_us = run->rests[rest->next].shortest_us;
    kind->first_rest = i;
  }
}

static void forget_kinds(struct hr__slurm_run *run) {
  for (uint32_t i = 0; i < run->n_queued; i++) run->kinds[run->jobs[run->queue[i].job].kind].first_rest = HR_NONE;
}

/* Runs a pass of the backfill scheduler. */
static void run_backfill(struct hr__slurm_run *run) {
  const struct hr__slurm_selector selector = {
      .find = find_start,
      .start = start_planned,
      .earliest = run->preemption.is_on ? NULL : earliest,
      .any_may_start = run->preemption.is_on ? NULL : any_may_start,
      .make_room = run->preemption.is_on ? make_room_by_preemption : NULL,
      .restrict_nodes = (run->config && run->config->n_reservations) || run->has_maintenance ? restrict_nodes : NULL,
      .may_be_tested = run->config ? may_be_tested : NULL,
      .self = run};
  uint32_t n = run->waiting.count;
  if (n > run->limits.max_job_test && !counts_tests(run)) n = run->limits.max_job_test;
  if (!make_space(run, run->preemption.is_on ? run->waiting.count : n)) {
    run->status = HR_NO_MEMORY;
    return;
  }
  uint32_t n_examined = list_queue(run, n);
  list_kinds(run);
  run->line.n_slots = 0;
  uint32_t n_started = hr__slurm_backfill(&run->line, &run->limits, run->queue, run->n_queued, NULL, &selector,
                                          run->view->now_us, run->planned);
  forget_kinds(run);
  if (n_started) hr__slurm_waiting_sweep(&run->waiting, n_examined, run->view->state, HR_JOB_WAITING);
  run->plan_is_stale = n_started > 0;
  run->may_do_more = run->may_do_more || (n_started > 0 && starts_matter(run));
  run->stale_us = run->view->now_us;
}

/* ---- Creation --------------------------------------------------------------------------------------- */

/* Returns why the model of Slurm does not support the pools or the requests; NULL: it does. Shared GPUs are modeled as
   GPUs with shards: equal parts of each GPU, or thousandths. */
static const char *unsupported(const struct hr_policy_env *env) {
  const struct hr_requests *requests = hr_cluster_requests(env->cluster);
  bool has_shares = false;
  for (uint32_t p = 0; requests && p < hr_cluster_pools(env->cluster); p++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(env->cluster, (hr_pool){p});
    if (spec->mig) return "pools must not have MIG";
    bool is_parted = hr_pool_slot_milli(spec) > 0 && spec->sharing != HR_SHARING_WHOLE;
    if (!is_parted && spec->sharing != HR_SHARING_WHOLE && spec->sharing != HR_SHARING_FRACTION)
      return "pools whose GPUs are shared must have 'replicas', or the sharing 'fraction'";
    has_shares = has_shares || spec->sharing != HR_SHARING_WHOLE;
  }
  for (uint32_t r = 0; requests && r < requests->count; r++) {
    const struct hr_request *request = &requests->request[r];
    if (request->dedicated) return "jobs must not request nodes of their own";
    if (has_shares && request->gpu_mem_mib) return "jobs must not request GPU memory if GPUs are shared";
  }
  return NULL;
}

/* Sets the limits of a backfill pass. */
static void set_limits(struct hr__slurm_run *run) {
  const struct hr_param_value *values = run->params;
  run->interval_us = values[HR__SLURM_INTERVAL].integer * HR_SECOND_US;
  run->limits = (struct hr__slurm_backfill_limits){
      .resolution_us = values[HR__SLURM_RESOLUTION].integer * HR_SECOND_US,
      .origin_us = run->trace->origin_us,
      .window_us = values[HR__SLURM_WINDOW].integer * 60 * HR_SECOND_US,
      .max_job_test = (uint32_t)values[HR__SLURM_MAX_JOB_TEST].integer,
      .max_job_start = (uint32_t)values[HR__SLURM_MAX_JOB_START].integer,
      .min_age_reserve_us = values[HR__SLURM_MIN_AGE_RESERVE].integer * HR_SECOND_US,
      .min_prio_reserve = (uint32_t)values[HR__SLURM_MIN_PRIO_RESERVE].integer,
      .job_part_count_reserve = (uint32_t)values[HR__SLURM_PART_COUNT_RESERVE].integer};
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES; s++)
    run->limits.max_tests[s] = (uint32_t)values[HR__SLURM_MAX_JOB_USER + s].integer;
}

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  struct hr__slurm_run *run = hr_arena_alloc(env->arena, sizeof *run);
  if (!(*self = run)) return HR_NO_MEMORY;
  *run = (struct hr__slurm_run){.arena = env->arena,
                                .trace = env->jobs,
                                .cluster = env->cluster,
                                .params = env->params,
                                .values = env->values,
                                .wake_us = -1,
                                .tick_us = -1,
                                .begin_us = -1,
                                .looped_us = INT64_MIN / 2,
                                .asked_us = -1,
                                .change_us = -1,
                                .exempt_us = -1};
  const char *fault = unsupported(env);
  if (fault) return hr_fail(error, HR_BAD_INPUT, "policy 'slurm': %s", fault);
  set_limits(run);
  if (!hr__slurm_create_nodes(run)) return HR_NO_MEMORY;
  run->config = env->systems ? env->systems->slurm : NULL;
  enum hr_status status = hr__slurm_set_up(run, error);
  if (status == HR_OK && !create_counters(run)) return HR_NO_MEMORY;
  if (status == HR_OK) hr__slurm_write_headers(run);
  return status;
}

/* With priorities, a job of low priority may wait forever. */
static uint32_t abilities(void *self) {
  const struct hr__slurm_run *run = self;
  bool is_fifo = run->params[HR__SLURM_PRIORITY_TYPE].integer == HR__SLURM_BASIC && !run->config;
  return (is_fifo ? HR_POLICY_STARVES_NOBODY : 0) |
         (run->preemption.is_on || run->stops_over_time ? HR_POLICY_PREEMPTS : 0) |
         (run->config ? HR_POLICY_REASONS_BY_JOB : 0);
}

/* ---- Events and passes ------------------------------------------------------------------------------ */

/* Adds a job to the queue. */
static enum hr_status wait_again(struct hr__slurm_run *run, uint32_t job) {
  run->has_gpuless = run->has_gpuless || needs_nothing(run, job);
  if (job < run->first_waiting) run->first_waiting = job;
  const struct hr__slurm_job *state = &run->jobs[job];
  hr__slurm_note_submission(run, job);
  const struct hr__slurm_entry entry = {.key = hr__slurm_key(run, job, state->submit_us),
                                        .submit_s = hr__slurm_second(run, state->queued_us),
                                        .job = job,
                                        .qos = state->qos};
  if (hr__slurm_is_multifactor(run)) hr__slurm_write_priority(run, job, state->submit_us);
  return hr__slurm_waiting_add(&run->waiting, &entry) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status enqueue(struct hr__slurm_run *run, const struct hr_view *view, uint32_t job) {
  if (!hr__slurm_describe(run, job)) return hr__slurm_list_job(run, &run->rejects, job);
  if (run->jobs[job].kind == HR_NONE || !hr__slurm_count(run, job, 1, false)) return HR_NO_MEMORY;
  run->jobs[job].queued_us = run->jobs[job].submit_us = view->now_us;
  return wait_again(run, job);
}

static enum hr_status add_requeued(struct hr__slurm_run *run) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < run->requeued.count && status == HR_OK; i++)
    status = wait_again(run, run->requeued.jobs[i].id);
  run->requeued.count = 0;
  return status;
}

/* Handles a job that was stopped before its end. */
static enum hr_status interrupted(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  hr__slurm_leave(run, job, now_us);
  if (!hr__slurm_is_cancelled(run, job)) return hr__slurm_requeue(run, job, now_us);
  return hr__slurm_count(run, job, -1, false) ? hr__slurm_list_job(run, &run->killed, job) : HR_NO_MEMORY;
}

/* Handles a waiting job that was withdrawn. The next pass removes it from the queue. */
static enum hr_status withdraw(struct hr__slurm_run *run, uint32_t job) {
  if (hr__job_list_has(&run->rejects, (hr_job){job})) return HR_OK;
  return hr__slurm_count(run, job, -1, false) ? hr__slurm_list_job(run, &run->withdrawn, job) : HR_NO_MEMORY;
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__slurm_run *run = self;
  if (event->kind == HR_EVENT_TIMER) return HR_OK;
  if (event->kind == HR_EVENT_SUBMIT || event->kind == HR_EVENT_NODE_UP) { // slurmctld calls queue_job_scheduler
    hr__slurm_note_stale(run, view->now_us);
    queue_main(run, view->now_us);
  } else {
    hr__slurm_note_change(run, view->now_us);
  }
  if (hr__slurm_catch_up(run, view->now_us)) run->priorities_are_old = true;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return enqueue(run, view, event->job.id);
  case HR_EVENT_END:
    hr__slurm_leave(run, event->job.id, view->now_us);
    return hr__slurm_count(run, event->job.id, -1, false) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_INTERRUPT:
    return interrupted(run, event->job.id, view->now_us);
  case HR_EVENT_WITHDRAW:
    return withdraw(run, event->job.id);
  case HR_EVENT_NODE_DOWN:
  case HR_EVENT_NOTICE:
  case HR_EVENT_OFFER:
  case HR_EVENT_NODE_UP:
    run->sets_are_old = true;
    return HR_OK;
  default:
    return HR_OK;
  }
}

/* Starts the jobs that need no node. */
static void start_gpuless(struct hr__slurm_run *run) {
  static const struct hr_placement nowhere = {0};
  hr__slurm_waiting_order(&run->waiting, run->waiting.count);
  for (uint32_t i = 0; i < run->waiting.count && run->status == HR_OK; i++) {
    const hr_job job = {hr__slurm_waiting_at(&run->waiting, i)->job};
    if (needs_nothing(run, job.id)) run->status = hr_moves_start(run->moves, job, &nowhere, HR_REASON_IN_ORDER);
  }
  run->has_gpuless = false;
  hr__slurm_waiting_sweep(&run->waiting, run->waiting.count, run->view->state, HR_JOB_WAITING);
}

/* Requests a pass at a time, unless it is requested already. */
static enum hr_status wake_at(struct hr__slurm_run *run, int64_t *wake_us, int64_t at_us) {
  if (*wake_us == at_us) return HR_OK;
  *wake_us = at_us;
  return hr_moves_wake_at(run->moves, at_us);
}

/* The next time at which the backfill scheduler checks for changes. After a pass, it sleeps for bf_interval, and then
   for one second at a time until something has changed. */
static int64_t next_poll(const struct hr__slurm_run *run) {
  int64_t next_us = (run->view->now_us / HR_SECOND_US + 1) * HR_SECOND_US;
  return next_us > run->rested_us ? next_us : run->rested_us;
}

/* If jobs wait, requests passes at the next times at which jobs may be able to start without another event. */
static enum hr_status wake_later(struct hr__slurm_run *run) {
  if (run->waiting.count == 0) return HR_OK;
  enum hr_status status = HR_OK;
  if (run->plan_is_stale && run->params[HR__SLURM_SCHEDULER].integer == 0)
    status = wake_at(run, &run->wake_us, next_poll(run));
  if (status == HR_OK && hr__slurm_is_multifactor(run)) status = wake_at(run, &run->tick_us, run->accounts.next_us);
  if (status == HR_OK && run->delayed.count)
    status = wake_at(run, &run->begin_us, run->jobs[run->delayed.jobs[0].id].submit_us);
  int64_t full_us = full_pass(run, run->view->now_us + 1);
  if (status == HR_OK && run->may_do_more && full_us != HR_NEVER_US) status = wake_at(run, &run->full_us, full_us);
  if (status == HR_OK && run->is_queued) status = wake_at(run, &run->asked_us, run->loop_us);
  int64_t change_us = hr__slurm_next_change(run, run->view->now_us);
  if (status == HR_OK && change_us != HR_NEVER_US) status = wake_at(run, &run->change_us, change_us);
  int64_t exempt_us = hr__slurm_next_exempt_end(run, run->view->now_us);
  if (exempt_us == HR_NEVER_US) run->exempt_us = -1;
  if (status == HR_OK && exempt_us != HR_NEVER_US) status = wake_at(run, &run->exempt_us, exempt_us);
  return status;
}

/* Computes the priorities again once per PriorityCalcPeriod. At such a time, the main scheduler runs, because other
   jobs may be able to start in the new order. Returns false if memory is exhausted. */
static bool update_priorities(struct hr__slurm_run *run) {
  if (hr__slurm_catch_up(run, run->view->now_us)) run->priorities_are_old = true;
  if (!run->priorities_are_old || !hr__slurm_is_multifactor(run)) return true;
  run->priorities_are_old = false;
  if (run->waiting.count == 0) return true;
  if (run->accounts.last_us == run->view->now_us) hr__slurm_note_change(run, run->view->now_us);
  return hr__slurm_update_priorities(run, run->accounts.last_us);
}

/* Removes the requeued jobs that may start now from the list of delayed jobs, which is in the order of time. */
static void end_delays(struct hr__slurm_run *run) {
  struct hr__job_list *list = &run->delayed;
  uint32_t n = 0;
  while (n < list->count && run->jobs[list->jobs[n].id].submit_us <= run->view->now_us) n++;
  if (n == 0) return;
  list->count -= n;
  memmove(list->jobs, list->jobs + n, list->count * sizeof *list->jobs);
  hr__slurm_note_change(run, run->view->now_us);
}

static void run_passes(struct hr__slurm_run *run) {
  int64_t now_us = run->view->now_us;
  bool is_time =
      now_us >= run->rested_us && now_us % HR_SECOND_US == 0 && run->params[HR__SLURM_SCHEDULER].integer == 0;
  if (run->has_gpuless) start_gpuless(run);
  if (take_queued(run, now_us)) run->changed = true;
  if (run->changed || (run->may_do_more && full_pass(run, now_us) == now_us)) run_main(run);
  run->changed = false;
  if (is_time && run->plan_is_stale && run->status == HR_OK) {
    run->plan_is_stale = false;
    if (run->waiting.count > 0) run_backfill(run);
    run->rested_us = now_us + run->interval_us;
  }
  if (run->status == HR_OK) run->status = add_requeued(run);
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__slurm_run *run = self;
  run->view = view;
  run->moves = moves;
  hr__slurm_make_up(run, view->now_us); // a timer event is not a change
  run->status = add_requeued(run);
  hr__slurm_update_sets(run);
  if (run->status == HR_OK) run->status = hr__job_list_reject(&run->rejects, moves, HR_REASON_POLICY);
  if (run->status == HR_OK) run->status = hr__job_list_reject(&run->killed, moves, HR_REASON_KILLED);
  const bool any_withdrawn = run->withdrawn.count > 0;
  if (run->status == HR_OK) run->status = hr__job_list_reject(&run->withdrawn, moves, HR_REASON_WITHDRAWN);
  if (any_withdrawn) hr__slurm_waiting_sweep(&run->waiting, run->waiting.count, view->state, HR_JOB_WAITING);
  end_delays(run);
  bool may_stop_more = view->now_us == run->exempt_us && run->waiting.count > 0;
  if (view->now_us == run->change_us || may_stop_more) hr__slurm_note_change(run, view->now_us);
  if (!update_priorities(run)) return HR_NO_MEMORY;
  if (run->status == HR_OK) hr__slurm_stop_over_time(run);
  if (run->status == HR_OK && run->suspension.jobs.count) hr__slurm_resume(run);
  if (run->status == HR_OK) run_passes(run);
  return run->status == HR_OK ? wake_later(run) : run->status;
}

HR_POLICY(slurm) = {HR_POLICY_HEAD,
                    .name = "slurm",
                    .summary = "Slurm: main and backfill scheduler, partitions, priorities, QOS and preemption",
                    .params = params,
                    .create = create,
                    .observe = observe,
                    .decide = decide,
                    .abilities = abilities,
                    .explain = hr__slurm_explain,
                    .describe = hr__slurm_describe_wait};
