/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The yardstick for the engine and the queue policy. Right by reading comes first; the few short cuts (a pass ends
 * when no waiting job is small enough for what is free, a conservative plan runs from the first job that
 * does not fit the present to the last one that does) leave out only work that cannot change anything.
 *
 * The state is flat: the GPUs free on each unit, the jobs waiting in order, the jobs running in no order. The
 * conservative plan is a table with one row of free GPUs for each stretch of time in which nothing changes.
 */

#include "naive_history.h"
#include "naive_shares.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
  uint32_t pool, gpus;
};

/* Row r holds from at[r] until at[r + 1], the last one for ever. */
struct timetable {
  uint32_t rows, capacity;
  int64_t *at;
  uint32_t **free;
};

/* What a tenant holds of what it holds most of. */
struct share {
  uint64_t held, total;
};

struct state {
  const struct naive_input *in;
  struct naive_result out;
  uint32_t n_units;
  struct unit *unit;
  uint32_t *free;                     /* by unit, now */
  uint32_t *later, *scratch, *column; /* by unit: a future state, working space */
  uint32_t n_free;                    /* on all units, now */
  uint32_t *waiting, n_waiting;       /* in order */
  uint32_t *running, n_running;
  int64_t now;
  struct timetable plan;
  struct share share[NAIVE_MAX_TENANTS]; /* as of the last ranking */
  uint32_t *heard, n_heard;              /* all that ever waited */
  uint32_t *finished, n_finished;        /* in the order in which they ended */
  int64_t *predicted;                    /* by job: GPUs x time, since it waits */
  struct naive_uses uses;                /* as of the last ranking, or when factors were worked out */
  int64_t next_factors;                  /* no sooner are they worked out again */
};

static void *grown(void *old, size_t bytes) {
  void *memory = realloc(old, bytes ? bytes : 1);
  if (!memory) abort();
  return memory;
}

/* ---- Facts about a job ---------------------------------------------------------------------------------- */

static int64_t limit_of(const struct naive_input *in, uint32_t job) {
  return in->limit[job] >= 0 ? in->limit[job] : in->work[job];
}

static int64_t run_time_of(const struct naive_input *in, uint32_t job) {
  return in->estimate[job] >= 0 ? in->estimate[job] : limit_of(in, job);
}

static double gpus_of(const struct naive_input *in, uint32_t job) {
  return (double)in->gpus[job] / in->units_per_gpu;
}

static double at_least_one(double value) {
  return value < 1 ? 1 : value;
}

/* In millionths: log10(r) n + 870 log10(s), in seconds. */
static int64_t f1(const struct naive_input *in, uint32_t job) {
  double run_s = at_least_one((double)run_time_of(in, job) / 1e6);
  double submit_s = at_least_one((double)in->submit[job] / 1e6);
  return llround((log10(run_s) * gpus_of(in, job) + 870 * log10(submit_s)) * 1e6);
}

static double wfp3(const struct state *s, uint32_t job) {
  double waited = (double)(s->now - s->in->submit[job]);
  return pow(waited / at_least_one((double)run_time_of(s->in, job)), 3) * gpus_of(s->in, job);
}

static int64_t deadline_of(const struct naive_input *in, uint32_t job) {
  return in->deadline[job] >= 0 ? in->deadline[job] : INT64_MAX;
}

/* By the job's own columns. */
static int64_t sort_key(const struct naive_input *in, uint32_t job) {
  switch (in->order) {
#define KEY_OF_ORDER(name, order, fair_share, key)                                                                     \
  case NAIVE_##name:                                                                                                   \
    return key;
    NAIVE_ORDER_TABLE(KEY_OF_ORDER)
  default:
    return 0;
  }
}

static int compare_shares(struct share a, struct share b) {
  uint64_t left = a.held * b.total, right = b.held * a.total;
  return (left > right) - (left < right);
}

static bool has_factors(const struct naive_input *in) {
  return in->order >= NAIVE_FAIR_CLASSIC && in->order <= NAIVE_FACTORS_CLASSIC;
}

/* By what has happened so far, -1: a goes before b, 0: equal. */
static int compare_by_past(struct state *s, uint32_t a, uint32_t b) {
  const struct naive_input *in = s->in;
  struct naive_account of_a = naive_account_of(in, a), of_b = naive_account_of(in, b);
  switch (in->order) {
  case NAIVE_QSSF:
    return (s->predicted[a] > s->predicted[b]) - (s->predicted[a] < s->predicted[b]);
  case NAIVE_FAIR_TREE:
    return naive_tree_compare(&s->uses, in, of_a, of_b, &s->out.unsure);
  case NAIVE_FAIR_CLASSIC:
    return naive_classic_compare(&s->uses, of_a, of_b, &s->out.unsure);
  case NAIVE_FACTORS_TREE:
  case NAIVE_FACTORS_CLASSIC: {
    int64_t sum_a = naive_sum_of_factors(&s->uses, in, a), sum_b = naive_sum_of_factors(&s->uses, in, b);
    return (sum_a < sum_b) - (sum_a > sum_b);
  }
  default:
    return 0;
  }
}

static bool goes_before(struct state *s, uint32_t a, uint32_t b) {
  const struct naive_input *in = s->in;
  int64_t key_a = sort_key(in, a), key_b = sort_key(in, b);
  if (key_a != key_b) return key_a < key_b;
  int by_past = compare_by_past(s, a, b);
  if (by_past != 0) return by_past < 0;
  if (in->order == NAIVE_WFP3 && wfp3(s, a) != wfp3(s, b)) return wfp3(s, a) > wfp3(s, b);
  int by_share = in->order == NAIVE_DRF ? compare_shares(s->share[in->tenant[a]], s->share[in->tenant[b]]) : 0;
  return by_share != 0 ? by_share < 0 : a < b;
}

static bool ranks_move(const struct naive_input *in) {
  return in->order >= NAIVE_WFP3 && in->order != NAIVE_QSSF;
}

static bool accepts(const struct naive_input *in, uint32_t job, uint32_t pool) {
  return in->accepts[job] >> pool & 1;
}

/* How long a planned job keeps its GPUs. A limit of 0 keeps them for the minimum time: a reservation of nothing would
   hold back no job. */
static int64_t planned_length(const struct naive_input *in, uint32_t job) {
  int64_t limit = limit_of(in, job);
  return limit > 0 ? limit : 1;
}

/* A running job that has outlived its limit is expected to end at any moment. */
static int64_t expected_end(const struct state *s, uint32_t job) {
  int64_t end = s->out.start[job] + limit_of(s->in, job);
  return end > s->now ? end : s->now + 1;
}

/* ---- The placement rule --------------------------------------------------------------------------------- */

static void sit(struct naive_seat *seat, uint32_t unit, uint32_t gpus) {
  seat->part = grown(seat->part, (seat->count + 1) * sizeof *seat->part);
  seat->part[seat->count++] = (struct naive_part){unit, gpus};
}

/* Is `a` a better place than `b` (which has a lower id)? Both have enough free. */
static bool better(const struct state *s, uint32_t free_a, uint32_t free_b) {
  if (s->in->placement == NAIVE_BEST_FIT) return free_a < free_b;
  if (s->in->placement == NAIVE_WORST_FIT) return free_a > free_b;
  return false; /* first fit, and pools in the order given */
}

/* The unit for `gpus` among those of the pools in `pools`, or n_units. */
static uint32_t choose_unit(const struct state *s, const uint32_t *free, uint32_t gpus, uint32_t pools) {
  uint32_t chosen = s->n_units;
  for (uint32_t u = 0; u < s->n_units; u++)
    if (pools >> s->unit[u].pool & 1 && free[u] >= gpus && (chosen == s->n_units || better(s, free[u], free[chosen])))
      chosen = u;
  return chosen;
}

/* Wholly free nodes of one pool, lowest id first, and one more for the remainder. */
static bool place_gang(struct state *s, const uint32_t *free, uint32_t gpus, uint32_t pool, struct naive_seat *seat) {
  uint32_t whole = gpus / s->in->pools[pool].gpus_per_node, rest = gpus % s->in->pools[pool].gpus_per_node;
  uint32_t *left = s->scratch;
  memcpy(left, free, s->n_units * sizeof *left);
  seat->count = 0;
  for (uint32_t u = 0; u < s->n_units && seat->count < whole; u++) {
    if (s->unit[u].pool != pool || free[u] < s->unit[u].gpus) continue;
    sit(seat, u, s->unit[u].gpus);
    left[u] = 0;
  }
  if (seat->count < whole) return false;
  if (!rest) return true;
  uint32_t unit = choose_unit(s, left, rest, 1u << pool);
  if (unit == s->n_units) return false;
  sit(seat, unit, rest);
  return true;
}

/* Where the job would sit if `free` were free. */
static bool place(struct state *s, const uint32_t *free, uint32_t job, struct naive_seat *seat) {
  const struct naive_input *in = s->in;
  uint32_t gpus = in->gpus[job];
  bool one_unit = in->placement == NAIVE_POOL;
  for (uint32_t p = 0; p < in->n_pools; p++)
    if (accepts(in, job, p) && in->pools[p].nodes > 0 && in->pools[p].gpus_per_node >= gpus) one_unit = true;
  seat->count = 0;
  if (gpus == 0) return true;
  if (one_unit) {
    uint32_t unit = choose_unit(s, free, gpus, in->accepts[job]);
    if (unit < s->n_units) sit(seat, unit, gpus);
    return unit < s->n_units;
  }
  for (uint32_t p = 0; p < in->n_pools; p++)
    if (accepts(in, job, p) && place_gang(s, free, gpus, p, seat)) return true;
  return false;
}

static bool can_never_run(const struct naive_input *in, uint32_t job) {
  for (uint32_t p = 0; p < in->n_pools; p++)
    if (accepts(in, job, p) && in->pools[p].nodes * in->pools[p].gpus_per_node >= in->gpus[job]) return false;
  return in->gpus[job] > 0;
}

static void add_seat(uint32_t *free, const struct naive_seat *seat) {
  for (uint32_t i = 0; i < seat->count; i++) free[seat->part[i].unit] += seat->part[i].gpus;
}

static void subtract_seat(uint32_t *free, const struct naive_seat *seat) {
  for (uint32_t i = 0; i < seat->count; i++) free[seat->part[i].unit] -= seat->part[i].gpus;
}

/* ---- What happens --------------------------------------------------------------------------------------- */

/* `place_in_queue`: how many stand before it, all of them in order. */
static void sort_in(struct state *s, uint32_t job, uint32_t place_in_queue) {
  for (; place_in_queue > 0 && goes_before(s, job, s->waiting[place_in_queue - 1]); place_in_queue--)
    s->waiting[place_in_queue] = s->waiting[place_in_queue - 1];
  s->waiting[place_in_queue] = job;
}

static void arrive(struct state *s, uint32_t job) {
  if (can_never_run(s->in, job)) return;
  s->heard[s->n_heard++] = job;
  s->predicted[job] = s->in->order == NAIVE_QSSF ? naive_prediction(s->in, s->finished, s->n_finished, job) : 0;
  if (ranks_move(s->in))
    s->waiting[s->n_waiting++] = job;
  else
    sort_in(s, job, s->n_waiting++);
}

/* The greatest of the tenant's shares of the GPUs of each type. */
static struct share dominant_share(const struct state *s, uint32_t tenant) {
  const struct naive_input *in = s->in;
  uint64_t held[NAIVE_MAX_POOLS] = {0}, total[NAIVE_MAX_POOLS] = {0};
  struct share dominant = {0, 1};
  for (uint32_t p = 0; p < in->n_pools; p++)
    total[in->gpu_type[p]] += (uint64_t)in->pools[p].nodes * in->pools[p].gpus_per_node;
  for (uint32_t i = 0; i < s->n_running; i++) {
    const struct naive_seat *seat = &s->out.seat[s->running[i]];
    if (in->tenant[s->running[i]] != tenant || seat->count == 0) continue;
    held[in->gpu_type[s->unit[seat->part[0].unit].pool]] += in->gpus[s->running[i]];
  }
  for (uint32_t t = 0; t < NAIVE_MAX_POOLS; t++) {
    struct share share = {held[t], total[t]};
    if (total[t] && compare_shares(share, dominant) > 0) dominant = share;
  }
  return dominant;
}

/* Factors are those of the last time until it is time again; uses are always those of now. */
static void look_back(struct state *s) {
  const struct naive_input *in = s->in;
  if ((has_factors(in) && s->now < s->next_factors) || s->n_waiting == 0) return;
  struct naive_past past = {in, s->heard, s->n_heard, s->out.start, s->now};
  s->next_factors = s->now + in->terms.calc_period;
  naive_uses_sum_up(&s->uses, &past);
  if (in->order == NAIVE_FACTORS_TREE) naive_tree_factors(&s->uses, in, &s->out.unsure);
  if (has_factors(in) && in->order != NAIVE_FACTORS_TREE) naive_classic_factors(&s->uses, in);
}

/* Puts all who wait in the order that holds now. */
static void rank(struct state *s) {
  if (s->in->order == NAIVE_FAIR_TREE || has_factors(s->in)) look_back(s);
  for (uint32_t t = 0; t < NAIVE_MAX_TENANTS && s->in->order == NAIVE_DRF; t++) s->share[t] = dominant_share(s, t);
  for (uint32_t i = 1; i < s->n_waiting; i++) sort_in(s, s->waiting[i], i);
}

/* The job runs from now on; it stays in `waiting` until the pass is over. */
static void start(struct state *s, uint32_t job) {
  s->out.start[job] = s->now;
  s->running[s->n_running++] = job;
  subtract_seat(s->free, &s->out.seat[job]);
  s->n_free -= s->in->gpus[job];
}

/* Takes back the start made last. */
static void unstart(struct state *s, uint32_t job) {
  s->out.start[job] = -1;
  s->n_running--;
  add_seat(s->free, &s->out.seat[job]);
  s->n_free += s->in->gpus[job];
}

/* Of those that end at one instant the earlier job is the first to have finished. */
static void remember(struct state *s, uint32_t job, uint32_t first_of_instant) {
  uint32_t place = s->n_finished++;
  for (; place > first_of_instant && s->finished[place - 1] > job; place--) s->finished[place] = s->finished[place - 1];
  s->finished[place] = job;
}

static void end_all_due(struct state *s) {
  uint32_t kept = 0, first = s->n_finished;
  for (uint32_t i = 0; i < s->n_running; i++) {
    uint32_t job = s->running[i];
    if (s->out.start[job] + s->in->work[job] > s->now) {
      s->running[kept++] = job;
      continue;
    }
    add_seat(s->free, &s->out.seat[job]);
    s->n_free += s->in->gpus[job];
    remember(s, job, first);
  }
  s->n_running = kept;
}

static bool try_start(struct state *s, uint32_t job) {
  if (s->in->gpus[job] > s->n_free || !place(s, s->free, job, &s->out.seat[job])) return false;
  start(s, job);
  return true;
}

static uint32_t smallest_waiting(const struct state *s) {
  uint32_t smallest = UINT32_MAX;
  for (uint32_t i = 0; i < s->n_waiting; i++)
    if (s->in->gpus[s->waiting[i]] < smallest) smallest = s->in->gpus[s->waiting[i]];
  return smallest;
}

/* ---- Passes: strict, skip, EASY ------------------------------------------------------------------------- */

/* The state at `time` by what is expected now, in s->later. */
static void look_ahead(struct state *s, int64_t time) {
  memcpy(s->later, s->free, s->n_units * sizeof *s->later);
  for (uint32_t i = 0; i < s->n_running; i++)
    if (expected_end(s, s->running[i]) <= time) add_seat(s->later, &s->out.seat[s->running[i]]);
}

/* The first expected end after `time`. */
static int64_t next_expected_end(const struct state *s, int64_t time) {
  int64_t next = INT64_MAX;
  for (uint32_t i = 0; i < s->n_running; i++) {
    int64_t end = expected_end(s, s->running[i]);
    if (end > time && end < next) next = end;
  }
  return next;
}

static int64_t reservation_of(struct state *s, uint32_t head) {
  struct naive_seat seat = {0, NULL};
  int64_t time = s->now;
  do {
    time = next_expected_end(s, time);
    look_ahead(s, time);
  } while (!place(s, s->later, head, &seat));
  free(seat.part);
  return time;
}

/* Starts the job unless the head could then no longer sit at its reserved time. */
static void try_backfill(struct state *s, uint32_t job, uint32_t head, int64_t reserved) {
  if (!try_start(s, job)) return;
  struct naive_seat seat = {0, NULL};
  look_ahead(s, reserved);
  if (!place(s, s->later, head, &seat)) unstart(s, job);
  free(seat.part);
}

static bool has_started(const struct state *s, uint32_t job) {
  return s->out.start[job] >= 0;
}

/* Where ranks move, whoever is first after a start is looked at anew, passed over before or not. */
static void pass_in_order(struct state *s) {
  uint32_t smallest = smallest_waiting(s), head = UINT32_MAX;
  int64_t reserved = 0;
  for (uint32_t i = 0; i < s->n_waiting && s->n_free >= smallest;) {
    uint32_t job = s->waiting[i++];
    if (job == head || has_started(s, job)) continue;
    if (head != UINT32_MAX) {
      try_backfill(s, job, head, reserved);
    } else if (!try_start(s, job)) {
      if (s->in->backfill == NAIVE_STRICT) return;
      if (s->in->backfill == NAIVE_SKIP) continue;
      head = job;
      reserved = reservation_of(s, head);
    }
    if (!has_started(s, job) || !ranks_move(s->in)) continue;
    rank(s);
    i = 0;
  }
}

/* ---- Passes: conservative ------------------------------------------------------------------------------- */

/* The row that begins at `time`, which is not before the first row; made by splitting another if need be. */
static uint32_t row_at(struct state *s, int64_t time) {
  struct timetable *plan = &s->plan;
  uint32_t row = plan->rows;
  while (row > 0 && plan->at[row - 1] > time) row--;
  if (row > 0 && plan->at[row - 1] == time) return row - 1;
  if (plan->rows == plan->capacity) {
    plan->at = grown(plan->at, ++plan->capacity * sizeof *plan->at);
    plan->free = grown(plan->free, plan->capacity * sizeof *plan->free);
    plan->free[plan->rows] = grown(NULL, s->n_units * sizeof **plan->free);
  }
  uint32_t *split = plan->free[plan->rows];
  memmove(&plan->at[row + 1], &plan->at[row], (plan->rows - row) * sizeof *plan->at);
  memmove(&plan->free[row + 1], &plan->free[row], (plan->rows - row) * sizeof *plan->free);
  memcpy(split, row > 0 ? plan->free[row - 1] : s->column, s->n_units * sizeof *split);
  plan->at[row] = time;
  plan->free[row] = split;
  plan->rows++;
  return row;
}

static void occupy(struct state *s, const struct naive_seat *seat, int64_t from, int64_t until) {
  uint32_t first = row_at(s, from), end = row_at(s, until);
  for (uint32_t row = first; row < end; row++) subtract_seat(s->plan.free[row], seat);
}

/* The earliest row in which the job could begin, by the least that is free on each unit until its limit. All rows
   are candidates: where occupancy only begins, a job that fits would have fitted in the row before. */
static uint32_t earliest_row(struct state *s, uint32_t job, struct naive_seat *seat) {
  const struct timetable *plan = &s->plan;
  for (uint32_t row = 0;; row++) {
    if (!place(s, plan->free[row], job, seat)) continue; /* nor then on the least of this row and others */
    memcpy(s->later, plan->free[row], s->n_units * sizeof *s->later);
    for (uint32_t r = row + 1; r < plan->rows && plan->at[r] < plan->at[row] + planned_length(s->in, job); r++)
      for (uint32_t u = 0; u < s->n_units; u++)
        if (plan->free[r][u] < s->later[u]) s->later[u] = plan->free[r][u];
    if (place(s, s->later, job, seat)) return row;
  }
}

/* Waiting jobs from `from` to the last one that fits the present: the others cannot start in this pass. */
static uint32_t last_to_plan(struct state *s, uint32_t from) {
  struct naive_seat seat = {0, NULL};
  uint32_t n = s->n_free >= smallest_waiting(s) ? s->n_waiting : from;
  while (n > from && (s->in->gpus[s->waiting[n - 1]] > s->n_free || !place(s, s->free, s->waiting[n - 1], &seat))) n--;
  free(seat.part);
  return n;
}

static void plan_what_runs(struct state *s) {
  s->plan.rows = 0;
  for (uint32_t u = 0; u < s->n_units; u++) s->column[u] = s->unit[u].gpus;
  row_at(s, s->now);
  for (uint32_t i = 0; i < s->n_running; i++)
    occupy(s, &s->out.seat[s->running[i]], s->now, expected_end(s, s->running[i]));
}

static void drop_started(struct state *s) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < s->n_waiting; i++)
    if (!has_started(s, s->waiting[i])) s->waiting[kept++] = s->waiting[i];
  s->n_waiting = kept;
}

/* Until a job does not fit nothing is reserved: what is free now is free from now on. */
static void pass_conservative(struct state *s) {
  while (s->n_waiting > 0 && try_start(s, s->waiting[0])) {
    drop_started(s);
    if (ranks_move(s->in)) rank(s);
  }
  uint32_t last = last_to_plan(s, 0);
  if (last > 0) plan_what_runs(s);
  for (uint32_t i = 0; i < last; i++) {
    uint32_t job = s->waiting[i];
    struct naive_seat *seat = &s->out.seat[job];
    int64_t from = s->plan.at[earliest_row(s, job, seat)];
    if (from == s->now) start(s, job);
    occupy(s, seat, from, from + planned_length(s->in, job));
  }
}

/* ---- The run -------------------------------------------------------------------------------------------- */

static void pass(struct state *s) {
  if (ranks_move(s->in)) rank(s);
  if (s->in->backfill == NAIVE_CONSERVATIVE)
    pass_conservative(s);
  else
    pass_in_order(s);
  drop_started(s);
}

/* The next instant at which a job arrives or ends, INT64_MAX when there is none. */
static int64_t next_instant(const struct state *s, uint32_t next_job) {
  int64_t next = next_job < s->in->n_jobs ? s->in->submit[next_job] : INT64_MAX;
  for (uint32_t i = 0; i < s->n_running; i++) {
    int64_t end = s->out.start[s->running[i]] + s->in->work[s->running[i]];
    if (end < next) next = end;
  }
  return next;
}

static void add_units(struct state *s) {
  for (uint32_t p = 0; p < s->in->n_pools; p++) {
    struct naive_pool pool = s->in->pools[p];
    bool whole = s->in->placement == NAIVE_POOL;
    uint32_t count = whole ? 1 : pool.nodes, gpus = whole ? pool.nodes * pool.gpus_per_node : pool.gpus_per_node;
    s->unit = grown(s->unit, (s->n_units + count) * sizeof *s->unit);
    for (uint32_t i = 0; i < count; i++) s->unit[s->n_units++] = (struct unit){p, gpus};
  }
  size_t bytes = s->n_units * sizeof *s->free;
  s->free = grown(NULL, bytes);
  s->later = grown(NULL, bytes);
  s->scratch = grown(NULL, bytes);
  s->column = grown(NULL, bytes);
  for (uint32_t u = 0; u < s->n_units; u++) s->n_free += s->free[u] = s->unit[u].gpus;
}

static void finish(struct state *s) {
  for (uint32_t row = 0; row < s->plan.capacity; row++) free(s->plan.free[row]);
  void *owned[] = {s->plan.at, s->plan.free, s->unit,    s->free,  s->later,    s->scratch,
                   s->column,  s->waiting,   s->running, s->heard, s->finished, s->predicted};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

struct naive_result naive_run(const struct naive_input *input) {
  struct state s = {.in = input};
  uint32_t n = input->n_jobs, next_job = 0;
  s.waiting = grown(NULL, n * sizeof *s.waiting);
  s.running = grown(NULL, n * sizeof *s.running);
  s.heard = grown(NULL, n * sizeof *s.heard);
  s.finished = grown(NULL, n * sizeof *s.finished);
  s.predicted = grown(NULL, n * sizeof *s.predicted);
  s.out.start = grown(NULL, n * sizeof *s.out.start);
  s.out.seat = grown(NULL, n * sizeof *s.out.seat);
  for (uint32_t job = 0; job < n; job++) {
    s.out.start[job] = -1;
    s.out.seat[job] = (struct naive_seat){0, NULL};
  }
  add_units(&s);
  while ((s.now = next_instant(&s, next_job)) < INT64_MAX) {
    end_all_due(&s);
    while (next_job < n && input->submit[next_job] == s.now) arrive(&s, next_job++);
    pass(&s);
  }
  finish(&s);
  return s.out;
}

void naive_result_finish(struct naive_result *result, uint32_t n_jobs) {
  for (uint32_t job = 0; job < n_jobs; job++) free(result->seat[job].part);
  free(result->seat);
  free(result->start);
}
