/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The passes of the policy `slurm`. The main scheduler starts jobs in the order of the queue until one does not fit,
 * and examines at most default_queue_depth jobs and one more, but once in sched_interval all jobs. When a job ends, it
 * runs at once. After a submission, it runs in the background loop of slurmctld, which looks for queued passes once in
 * a second, but runs them only batch_sched_delay after its last pass. The backfill scheduler tests the first
 * bf_max_job_test jobs (slurm.h).
 *
 * A backfill pass ends as soon as no job that is left can start: reservations and starts only take nodes away, so a
 * kind of which no job fits on the nodes that are free during its shortest limit does not fit later in the pass. Only
 * starts have an effect, so the pass then decides the same as a complete one.
 */

#include "policies/slurm/engine.h"

#include <string.h>

/* ---- The main scheduler ----------------------------------------------------------------------------- */

/* Chooses nodes for a job now, if necessary by preemption. */
static bool find_nodes(struct hr__slurm_run *run, uint32_t job) {
  const struct hr__slurm_kind *kind = &run->kinds[run->jobs[job].kind];
  for (uint32_t w = 0; w < run->nodes.n_words; w++) run->open_nodes[w] = ~run->closed_nodes[w] & kind->usable[w];
  int64_t now_us = run->view->now_us;
  if (kind->denied || run->has_maintenance)
    hr__slurm_remove_reserved(run, (hr_job){job}, kind->denied, hr__slurm_allowed(run, kind->denied), now_us,
                              now_us + run->jobs[job].limit_us, run->open_nodes);
  return hr__slurm_find_now(run, kind, run->open_nodes) || hr__slurm_preempt(run, job, run->open_nodes);
}

int64_t hr__slurm_full_pass(const struct hr__slurm_run *run, int64_t from_us) {
  const int64_t interval_s = run->params[HR__SLURM_SCHED_INTERVAL].integer;
  const int64_t interval_us = (interval_s ? interval_s : 1) * HR_SECOND_US; // slurmctld looks once in a second
  if (interval_s < 0) return HR_NEVER_US;
  int64_t start_us = run->config ? run->config->priority.calc_start_us : HR_UNKNOWN_US;
  int64_t since_us = from_us + (start_us == HR_UNKNOWN_US ? 0 : run->trace->origin_us - start_us);
  int64_t into_us = since_us % interval_us;
  if (into_us < 0) into_us += interval_us;
  return into_us ? from_us + interval_us - into_us : from_us;
}

bool hr__slurm_take_queued(struct hr__slurm_run *run, int64_t now_us) {
  if (!run->is_queued || run->loop_us > now_us) return false;
  run->looped_us = run->loop_us;
  run->is_queued = false;
  return run->loop_us == now_us;
}

/* Source: _slurmctld_background of src/slurmctld/controller.c. A pass that examines all jobs includes a queued one. */
void hr__slurm_queue_main(struct hr__slurm_run *run, int64_t now_us) {
  if (run->is_queued && run->loop_us < now_us) hr__slurm_take_queued(run, now_us);
  const int64_t full_us = hr__slurm_full_pass(run, now_us);
  if (run->is_queued || full_us == HR_NEVER_US) return;
  const int64_t last_full_us = full_us - run->params[HR__SLURM_SCHED_INTERVAL].integer * HR_SECOND_US;
  const int64_t last_us = last_full_us > run->looped_us ? last_full_us : run->looped_us;
  int64_t loop_us = last_us + run->params[HR__SLURM_BATCH_DELAY].integer * HR_SECOND_US;
  if (loop_us < now_us) loop_us = hr__slurm_whole_second(now_us);
  run->loop_us = loop_us < full_us ? loop_us : full_us;
  run->is_queued = true;
}

/* Whether another pass of the main scheduler may start further jobs although nothing else has changed since this pass
   started some. A job that did not fit may now exceed a limit, so that it no longer blocks others, or other jobs may be
   preempted. / */
static bool starts_matter(const struct hr__slurm_run *run) {
  return run->preemption.is_on || run->limits_state.used;
}

/* After a job of a partition does not fit, no other job of this partition starts, and none on its nodes. */
void hr__slurm_run_main(struct hr__slurm_run *run) {
  uint32_t depth = (uint32_t)run->params[HR__SLURM_DEPTH].integer + 1, n_started = 0, n_failed = 0, i = 0;
  const int64_t interval_s = run->params[HR__SLURM_SCHED_INTERVAL].integer;
  if (interval_s < 0) return;
  if (interval_s == 0 || hr__slurm_full_pass(run, run->view->now_us) == run->view->now_us) depth = UINT32_MAX;
  memset(run->failed_parts, 0, run->n_parts);
  memset(run->closed_nodes, 0, run->nodes.n_words * sizeof *run->closed_nodes);
  for (; i < run->waiting.count && i < depth && n_failed < run->n_parts && run->status == HR_OK; i++) {
    hr__slurm_waiting_order(&run->waiting, i + 1);
    uint32_t job = hr__slurm_waiting_at(&run->waiting, i)->job, part = run->kinds[run->jobs[job].kind].partition;
    if (hr__slurm_needs_nothing(run, job) || run->failed_parts[part] || hr__slurm_hold(run, job, run->view->now_us))
      continue;
    if (find_nodes(run, job)) {
      run->suspension.has_chosen = false;
      n_started += hr__slurm_start(run, job, HR_REASON_IN_ORDER);
      continue;
    }
    // a job that gets no reservation yet does not block others
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

static bool make_room(void *self, uint32_t job, uint64_t *nodes) {
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

/* Returns whether limits, which starts of this pass may have reached, allow a job to be tested. */
static bool may_be_tested(void *self, uint32_t job) {
  struct hr__slurm_run *run = self;
  return !hr__slurm_hold(run, job, run->view->now_us);
}

static bool start_planned(void *self, uint32_t job, const uint64_t *nodes) {
  struct hr__slurm_run *run = self;
  bool has_chosen = run->suspension.has_chosen; // make_room has chosen nodes
  run->suspension.has_chosen = false;
  memcpy(run->set, nodes, run->nodes.n_words * sizeof *nodes);
  if (run->status != HR_OK || (!has_chosen && !hr__slurm_select_now(&run->nodes, &run->found, run->set))) return false;
  return hr__slurm_start(run, job, HR_REASON_BACKFILL);
}

/* Returns whether some job of a kind from entry `next` of the queue on may start. */
static bool kind_may_start(struct hr__slurm_run *run, struct hr__slurm_kind *kind, uint32_t next) {
  while (kind->first_rest != HR_NONE && kind->first_rest < next) kind->first_rest = run->rests[kind->first_rest].next;
  if (kind->first_rest == HR_NONE) return false;
  memcpy(run->best, kind->usable, run->nodes.n_words * sizeof *run->best);
  int64_t until_us = run->view->now_us + run->rests[kind->first_rest].shortest_us;
  if (run->line.n_slots > 1) hr__slurm_unreserved(&run->line, until_us, run->best);
  return hr__slurm_kind_fits(run, kind, run->best);
}

/* Kinds of which no job may start any more are removed from the list for the rest of the pass. */
static bool any_may_start(void *self, uint32_t next) {
  struct hr__slurm_run *run = self;
  while (run->n_alive && !kind_may_start(run, &run->kinds[run->alive[run->n_alive - 1]], next)) run->n_alive--;
  return run->n_alive > 0;
}

/* ---- A backfill pass -------------------------------------------------------------------------------- */

/* Makes space for `n` tested jobs, and for a time line on which each splits two slots. */
static bool make_space(struct hr__slurm_run *run, uint32_t n) {
  if (n <= run->queue_capacity) return true;
  uint32_t capacity = run->queue_capacity ? run->queue_capacity : 32;
  while (capacity < n) capacity *= 2;
  struct hr__slurm_timeline *line = &run->line;
  uint32_t max_slots = 2 * capacity + 2;
  run->queue = hr_arena_alloc(run->arena, capacity * sizeof *run->queue);
  run->rests = hr_arena_alloc(run->arena, capacity * sizeof *run->rests);
  run->planned = hr_arena_alloc(run->arena, capacity * sizeof *run->planned);
  line->slots = hr_arena_alloc(run->arena, max_slots * sizeof *line->slots);
  line->nodes = hr_arena_alloc(run->arena, ((size_t)max_slots * line->n_words + 1) * sizeof *line->nodes);
  if (!run->queue || !run->rests || !run->planned || !line->slots || !line->nodes) return false;
  run->queue_capacity = capacity;
  line->max_slots = max_slots;
  return true;
}

/* Returns whether jobs are counted by users, partitions or associations, so that some are not tested. */
static bool counts_tests(const struct hr__slurm_run *run) {
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES; s++)
    if (run->limits.max_tests[s]) return true;
  return false;
}

bool hr__slurm_create_counters(struct hr__slurm_run *run) {
  struct hr__slurm_timeline *line = &run->line;
  uint32_t n_users = run->trace->users.count;
  if (run->n_parts && n_users > UINT32_MAX / run->n_parts) return false;
  line->n_scopes[HR__SLURM_OF_USER] = n_users;
  line->n_scopes[HR__SLURM_OF_PARTITION] = run->n_parts;
  line->n_scopes[HR__SLURM_OF_USER_PARTITION] = n_users * run->n_parts;
  line->n_scopes[HR__SLURM_OF_ASSOC] = run->accounts.count;
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES; s++) {
    if (!run->limits.max_tests[s]) continue;
    line->tests[s] = hr_arena_alloc(run->arena, ((size_t)line->n_scopes[s] + 1) * sizeof *line->tests[s]);
    if (!line->tests[s]) return false;
  }
  if (!run->limits.job_part_count_reserve) return true;
  line->part_reserves = hr_arena_alloc(run->arena, run->n_parts * sizeof *line->part_reserves);
  return line->part_reserves != NULL;
}

/* Sets what the tests of a job count for. */
static void set_scopes(const struct hr__slurm_run *run, struct hr__slurm_queued *queued) {
  uint32_t user = run->trace->user ? run->trace->user[queued->job] : HR_NONE,
           part = kind_of(run, queued->job)->partition;
  queued->scopes[HR__SLURM_OF_USER] = user;
  queued->scopes[HR__SLURM_OF_PARTITION] = part;
  queued->scopes[HR__SLURM_OF_USER_PARTITION] = user == HR_NONE ? HR_NONE : user * run->n_parts + part;
  queued->scopes[HR__SLURM_OF_ASSOC] = run->jobs[queued->job].assoc;
}

/* Jobs of a QOS with the flag NoReserve get no reservation. They may start if their nodes are free for a minute. */
static bool has_no_reserve(const struct hr__slurm_run *run, uint32_t job) {
  uint32_t qos = run->jobs[job].qos;
  return qos != HR_NONE && run->config->qos[qos].flags >> HR_SLURM_NO_RESERVE & 1;
}

/* Lists at most `n` jobs that wait only for resources. With preemption the other jobs before them are listed, too,
   because a job that is stopped no longer counts for limits. Returns how many entries of the queue were examined. Jobs
   that a start of this pass puts over a limit count among the `n`; in Slurm they do not. */
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

/* Links the entries of each kind, and lists the kinds. */
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

void hr__slurm_run_backfill(struct hr__slurm_run *run) {
  const struct hr__slurm_selector selector = {
      .find = find_start,
      .start = start_planned,
      .earliest = run->preemption.is_on ? NULL : earliest,
      .any_may_start = run->preemption.is_on ? NULL : any_may_start,
      .make_room = run->preemption.is_on ? make_room : NULL,
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
