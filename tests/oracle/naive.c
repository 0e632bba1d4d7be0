/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A second implementation of the engine and the queue policy, used to check both. It implements docs/reference/rules.md
 * in the plainest way, so that a reader can verify it. For speed, two shortcuts omit work that cannot change the
 * result:
 *
 *   - A pass ends once every waiting job requests more GPUs than are free.
 *   - A conservative pass plans only the jobs up to the last one that fits into the GPUs that are free now.
 *
 * Data layout: the number of free GPUs of each unit (a node, or a whole pool under placement NAIVE_POOL), the waiting
 * jobs in order, and the running jobs in any order. Conservative backfill uses a profile: a table of the expected
 * numbers of free GPUs, with one row for each time interval in which they do not change.
 */

#include "naive_history.h"
#include "naive_shares.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node, or a whole pool under placement NAIVE_POOL. `gpus`: its capacity. */
struct unit {
  uint32_t pool, gpus;
};

/* Row r applies from at[r] until at[r + 1]; the last row has no end. */
struct profile {
  uint32_t rows, capacity;
  int64_t *at;
  uint32_t **free; /* by row, by unit: free GPUs */
};

/* A tenant's share of the GPUs of one type: allocated / total. */
struct share {
  uint64_t allocated, total;
};

struct state {
  const struct naive_input *in;
  struct naive_result out;
  uint32_t n_units;
  struct unit *unit;
  uint32_t *free;               /* by unit: GPUs that are free now */
  uint32_t *future_free;        /* by unit: expected free GPUs at a future time */
  uint32_t *remaining;          /* by unit: buffer of place_gang */
  uint32_t *capacity_by_unit;   /* by unit: its GPUs; the first row of a profile before running jobs are subtracted */
  uint32_t n_free;              /* sum of `free` */
  uint32_t *waiting, n_waiting; /* in the order of the queue */
  uint32_t *running, n_running;
  int64_t now;
  struct profile profile;
  struct share share[NAIVE_MAX_TENANTS]; /* by tenant: dominant share at the last sort (DRF) */
  uint32_t *admitted, n_admitted;        /* all jobs submitted so far, without rejected ones */
  /* in the order of their ends; jobs that ended at the same instant are sorted by index */
  uint32_t *finished, n_finished;
  int64_t *predicted;         /* by job: predicted GPU time, computed at submission (QSSF) */
  struct naive_usage usage;   /* the usage as of the last update */
  int64_t next_factor_update; /* earliest time of the next update of the fair-share factors */
};

static void *realloc_or_abort(void *old, size_t bytes) {
  void *memory = realloc(old, bytes ? bytes : 1);
  if (!memory) abort();
  return memory;
}

/* ---- Properties of a job -------------------------------------------------------------------------------- */

static int64_t limit_of(const struct naive_input *in, uint32_t job) {
  return in->limit[job] >= 0 ? in->limit[job] : in->work[job];
}

static int64_t run_time_of(const struct naive_input *in, uint32_t job) {
  return in->estimate[job] >= 0 ? in->estimate[job] : limit_of(in, job);
}

static double gpus_of(const struct naive_input *in, uint32_t job) {
  return (double)in->gpus[job] / in->units_per_gpu;
}

static double max_with_one(double value) {
  return value < 1 ? 1 : value;
}

/* Returns log10(r) n + 870 log10(s) in millionths; r: run time in seconds, n: GPUs, s: submit in seconds. Source:
   Carastan-Santos and de Camargo, SC'17. */
static int64_t f1(const struct naive_input *in, uint32_t job) {
  double run_s = max_with_one((double)run_time_of(in, job) / 1e6);
  double submit_s = max_with_one((double)in->submit[job] / 1e6);
  return llround((log10(run_s) * gpus_of(in, job) + 870 * log10(submit_s)) * 1e6);
}

/* Returns (wait / r)^3 n; r: run time, n: GPUs. Source: Tang et al., CLUSTER'09. */
static double wfp3(const struct state *s, uint32_t job) {
  double waited = (double)(s->now - s->in->submit[job]);
  return pow(waited / max_with_one((double)run_time_of(s->in, job)), 3) * gpus_of(s->in, job);
}

static int64_t deadline_of(const struct naive_input *in, uint32_t job) {
  return in->deadline[job] >= 0 ? in->deadline[job] : INT64_MAX;
}

/* Returns the key from NAIVE_ORDER_TABLE. */
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
  uint64_t left = a.allocated * b.total, right = b.allocated * a.total;
  return (left > right) - (left < right);
}

/* Returns whether the order uses fair-share factors, which are updated at most once per `calc_period`. */
static bool has_factors(const struct naive_input *in) {
  return in->order >= NAIVE_FAIR_CLASSIC && in->order <= NAIVE_FACTORS_CLASSIC;
}

/* Compares two jobs under orders that depend on past usage or on finished jobs. Returns a negative number if a is
   first, a positive number if b is first, and 0 if the jobs are equal. Under all other orders, returns 0. */
static int compare_by_history(struct state *s, uint32_t a, uint32_t b) {
  const struct naive_input *in = s->in;
  struct naive_account of_a = naive_account_of(in, a), of_b = naive_account_of(in, b);
  switch (in->order) {
  case NAIVE_QSSF:
    return (s->predicted[a] > s->predicted[b]) - (s->predicted[a] < s->predicted[b]);
  case NAIVE_FAIR_TREE:
    return naive_tree_compare(&s->usage, in, of_a, of_b, &s->out.undecided);
  case NAIVE_FAIR_CLASSIC:
    return naive_classic_compare(&s->usage, of_a, of_b, &s->out.undecided);
  case NAIVE_FACTORS_TREE:
  case NAIVE_FACTORS_CLASSIC: {
    int64_t sum_a = naive_factor_sum(&s->usage, in, a), sum_b = naive_factor_sum(&s->usage, in, b);
    return (sum_a < sum_b) - (sum_a > sum_b);
  }
  default:
    return 0;
  }
}

/* Returns whether job a is before job b in the queue. */
static bool precedes(struct state *s, uint32_t a, uint32_t b) {
  const struct naive_input *in = s->in;
  int64_t key_a = sort_key(in, a), key_b = sort_key(in, b);
  if (key_a != key_b) return key_a < key_b;
  int by_history = compare_by_history(s, a, b);
  if (by_history != 0) return by_history < 0;
  if (in->order == NAIVE_WFP3 && wfp3(s, a) != wfp3(s, b)) return wfp3(s, a) > wfp3(s, b);
  int by_share = in->order == NAIVE_DRF ? compare_shares(s->share[in->tenant[a]], s->share[in->tenant[b]]) : 0;
  return by_share != 0 ? by_share < 0 : a < b;
}

/* Returns whether the order of two waiting jobs may change while both wait. The waiting jobs are then sorted again at
   each pass and after each start. */
static bool has_dynamic_order(const struct naive_input *in) {
  return in->order >= NAIVE_WFP3 && in->order != NAIVE_QSSF;
}

static bool accepts(const struct naive_input *in, uint32_t job, uint32_t pool) {
  return in->accepts[job] >> pool & 1;
}

/* Returns the length of the reservation of a job. A limit of 0 counts as 1, because an empty reservation would delay no
   other job. */
static int64_t reserved_length(const struct naive_input *in, uint32_t job) {
  int64_t limit = limit_of(in, job);
  return limit > 0 ? limit : 1;
}

/* Returns when a running job is expected to end. A job that has exceeded its limit is expected to end one unit of time
   from now. */
static int64_t expected_end(const struct state *s, uint32_t job) {
  int64_t end = s->out.start[job] + limit_of(s->in, job);
  return end > s->now ? end : s->now + 1;
}

/* ---- The placement rule --------------------------------------------------------------------------------- */

static void add_slot(struct naive_placement *placement, uint32_t unit, uint32_t gpus) {
  placement->slot = realloc_or_abort(placement->slot, (placement->count + 1) * sizeof *placement->slot);
  placement->slot[placement->count++] = (struct naive_slot){unit, gpus};
}

/* Returns whether the placement rule prefers unit a to unit b, given their free GPUs. Unit b has the lower index. Both
   have enough free GPUs. */
static bool is_better_unit(const struct state *s, uint32_t free_a, uint32_t free_b) {
  if (s->in->placement == NAIVE_BEST_FIT) return free_a < free_b;
  if (s->in->placement == NAIVE_WORST_FIT) return free_a > free_b;
  return false; /* NAIVE_FIRST_FIT, NAIVE_POOL: the unit with the lowest index is preferred */
}

/* Returns the unit for `gpus` GPUs; n_units: no unit has enough free GPUs. `pools`: bit p is set if units of pool p are
   acceptable. */
static uint32_t choose_unit(const struct state *s, const uint32_t *free, uint32_t gpus, uint32_t pools) {
  uint32_t chosen = s->n_units;
  for (uint32_t u = 0; u < s->n_units; u++)
    if (pools >> s->unit[u].pool & 1 && free[u] >= gpus &&
        (chosen == s->n_units || is_better_unit(s, free[u], free[chosen])))
      chosen = u;
  return chosen;
}

/* Places a job that needs several nodes of one pool: on entirely free nodes, those with the lowest unit indices first,
   and the remainder on a node that the placement rule selects. Returns whether the job fits. */
static bool place_gang(struct state *s, const uint32_t *free, uint32_t gpus, uint32_t pool,
                       struct naive_placement *placement) {
  uint32_t whole = gpus / s->in->pools[pool].gpus_per_node, rest = gpus % s->in->pools[pool].gpus_per_node;
  uint32_t *remaining = s->remaining;
  memcpy(remaining, free, s->n_units * sizeof *remaining);
  placement->count = 0;
  for (uint32_t u = 0; u < s->n_units && placement->count < whole; u++) {
    if (s->unit[u].pool != pool || free[u] < s->unit[u].gpus) continue;
    add_slot(placement, u, s->unit[u].gpus);
    remaining[u] = 0;
  }
  if (placement->count < whole) return false;
  if (!rest) return true;
  uint32_t unit = choose_unit(s, remaining, rest, 1u << pool);
  if (unit == s->n_units) return false;
  add_slot(placement, unit, rest);
  return true;
}

/* Computes the placement of a job if `free` GPUs are free on the units. Returns whether the job fits. */
static bool find_placement(struct state *s, const uint32_t *free, uint32_t job, struct naive_placement *placement) {
  const struct naive_input *in = s->in;
  uint32_t gpus = in->gpus[job];
  bool single_unit = in->placement == NAIVE_POOL;
  for (uint32_t p = 0; p < in->n_pools; p++)
    if (accepts(in, job, p) && in->pools[p].nodes > 0 && in->pools[p].gpus_per_node >= gpus) single_unit = true;
  placement->count = 0;
  if (gpus == 0) return true;
  if (single_unit) {
    uint32_t unit = choose_unit(s, free, gpus, in->accepts[job]);
    if (unit < s->n_units) add_slot(placement, unit, gpus);
    return unit < s->n_units;
  }
  for (uint32_t p = 0; p < in->n_pools; p++)
    if (accepts(in, job, p) && place_gang(s, free, gpus, p, placement)) return true;
  return false;
}

static bool is_infeasible(const struct naive_input *in, uint32_t job) {
  for (uint32_t p = 0; p < in->n_pools; p++)
    if (accepts(in, job, p) && in->pools[p].nodes * in->pools[p].gpus_per_node >= in->gpus[job]) return false;
  return in->gpus[job] > 0;
}

/* Adds the GPUs of a placement to `free`. */
static void release(uint32_t *free, const struct naive_placement *placement) {
  for (uint32_t i = 0; i < placement->count; i++) free[placement->slot[i].unit] += placement->slot[i].gpus;
}

/* Subtracts the GPUs of a placement from `free`. */
static void allocate(uint32_t *free, const struct naive_placement *placement) {
  for (uint32_t i = 0; i < placement->count; i++) free[placement->slot[i].unit] -= placement->slot[i].gpus;
}

/* ---- Events --------------------------------------------------------------------------------------------- */

/* Inserts a job among the first `position` waiting jobs, which are sorted. Overwrites waiting[position]. */
static void insert_sorted(struct state *s, uint32_t job, uint32_t position) {
  for (; position > 0 && precedes(s, job, s->waiting[position - 1]); position--)
    s->waiting[position] = s->waiting[position - 1];
  s->waiting[position] = job;
}

static void submit(struct state *s, uint32_t job) {
  if (is_infeasible(s->in, job)) return;
  s->admitted[s->n_admitted++] = job;
  s->predicted[job] = s->in->order == NAIVE_QSSF ? naive_predicted_gpu_time(s->in, s->finished, s->n_finished, job) : 0;
  if (has_dynamic_order(s->in))
    s->waiting[s->n_waiting++] = job;
  else
    insert_sorted(s, job, s->n_waiting++);
}

/* Returns the maximum of the tenant's shares over all GPU types. Source: Ghodsi et al., NSDI'11. */
static struct share dominant_share(const struct state *s, uint32_t tenant) {
  const struct naive_input *in = s->in;
  uint64_t allocated[NAIVE_MAX_POOLS] = {0}, total[NAIVE_MAX_POOLS] = {0};
  struct share dominant = {0, 1};
  for (uint32_t p = 0; p < in->n_pools; p++)
    total[in->gpu_type[p]] += (uint64_t)in->pools[p].nodes * in->pools[p].gpus_per_node;
  for (uint32_t i = 0; i < s->n_running; i++) {
    const struct naive_placement *placement = &s->out.placement[s->running[i]];
    if (in->tenant[s->running[i]] != tenant || placement->count == 0) continue;
    allocated[in->gpu_type[s->unit[placement->slot[0].unit].pool]] += in->gpus[s->running[i]];
  }
  for (uint32_t t = 0; t < NAIVE_MAX_POOLS; t++) {
    struct share share = {allocated[t], total[t]};
    if (total[t] && compare_shares(share, dominant) > 0) dominant = share;
  }
  return dominant;
}

/* Updates the usage of all accounts. Under orders with fair-share factors, nothing is updated until `calc_period` has
   passed since the last update, as in Slurm. */
static void update_usage(struct state *s) {
  const struct naive_input *in = s->in;
  if ((has_factors(in) && s->now < s->next_factor_update) || s->n_waiting == 0) return;
  struct naive_run_history history = {in, s->admitted, s->n_admitted, s->out.start, s->now};
  s->next_factor_update = s->now + in->params.calc_period;
  naive_usage_compute(&s->usage, &history);
  if (in->order == NAIVE_FACTORS_TREE) naive_tree_factors(&s->usage, in, &s->out.undecided);
  if (has_factors(in) && in->order != NAIVE_FACTORS_TREE) naive_classic_factors(&s->usage, in);
}

/* Sorts the waiting jobs for the current time. */
static void sort_waiting(struct state *s) {
  if (s->in->order == NAIVE_FAIR_TREE || has_factors(s->in)) update_usage(s);
  for (uint32_t t = 0; t < NAIVE_MAX_TENANTS && s->in->order == NAIVE_DRF; t++) s->share[t] = dominant_share(s, t);
  for (uint32_t i = 1; i < s->n_waiting; i++) insert_sorted(s, s->waiting[i], i);
}

/* Starts a job on its placement. The job stays in `waiting` until remove_started is called. */
static void start(struct state *s, uint32_t job) {
  s->out.start[job] = s->now;
  s->running[s->n_running++] = job;
  allocate(s->free, &s->out.placement[job]);
  s->n_free -= s->in->gpus[job];
}

/* Undoes the latest start. */
static void undo_start(struct state *s, uint32_t job) {
  s->out.start[job] = -1;
  s->n_running--;
  release(s->free, &s->out.placement[job]);
  s->n_free += s->in->gpus[job];
}

/* Appends a job to the finished jobs. Jobs that end at the same instant, those from `first_of_instant` on, are sorted
   by index. */
static void add_finished(struct state *s, uint32_t job, uint32_t first_of_instant) {
  uint32_t place = s->n_finished++;
  for (; place > first_of_instant && s->finished[place - 1] > job; place--) s->finished[place] = s->finished[place - 1];
  s->finished[place] = job;
}

static void end_due_jobs(struct state *s) {
  uint32_t n_kept = 0, first = s->n_finished;
  for (uint32_t i = 0; i < s->n_running; i++) {
    uint32_t job = s->running[i];
    if (s->out.start[job] + s->in->work[job] > s->now) {
      s->running[n_kept++] = job;
      continue;
    }
    release(s->free, &s->out.placement[job]);
    s->n_free += s->in->gpus[job];
    add_finished(s, job, first);
  }
  s->n_running = n_kept;
}

static bool try_start(struct state *s, uint32_t job) {
  if (s->in->gpus[job] > s->n_free || !find_placement(s, s->free, job, &s->out.placement[job])) return false;
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

/* Computes the expected free GPUs at `time` in s->future_free. */
static void compute_expected_free(struct state *s, int64_t time) {
  memcpy(s->future_free, s->free, s->n_units * sizeof *s->future_free);
  for (uint32_t i = 0; i < s->n_running; i++)
    if (expected_end(s, s->running[i]) <= time) release(s->future_free, &s->out.placement[s->running[i]]);
}

/* Returns the earliest expected end after `time`; INT64_MAX: none. */
static int64_t next_expected_end(const struct state *s, int64_t time) {
  int64_t next = INT64_MAX;
  for (uint32_t i = 0; i < s->n_running; i++) {
    int64_t end = expected_end(s, s->running[i]);
    if (end > time && end < next) next = end;
  }
  return next;
}

/* Returns the earliest time at which `head` is expected to fit. */
static int64_t reservation_of(struct state *s, uint32_t head) {
  struct naive_placement placement = {0, NULL};
  int64_t time = s->now;
  do {
    time = next_expected_end(s, time);
    compute_expected_free(s, time);
  } while (!find_placement(s, s->future_free, head, &placement));
  free(placement.slot);
  return time;
}

/* Starts a job if it fits now and the head of the queue still fits at its reserved time. */
static void try_backfill(struct state *s, uint32_t job, uint32_t head, int64_t reserved) {
  if (!try_start(s, job)) return;
  struct naive_placement placement = {0, NULL};
  compute_expected_free(s, reserved);
  if (!find_placement(s, s->future_free, head, &placement)) undo_start(s, job);
  free(placement.slot);
}

static bool has_started(const struct state *s, uint32_t job) {
  return s->out.start[job] >= 0;
}

/* Visits the waiting jobs in order. If the order is dynamic, every start may change it, so the waiting jobs are sorted
   again and the visit begins again with the first job. */
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
    if (!has_started(s, job) || !has_dynamic_order(s->in)) continue;
    sort_waiting(s);
    i = 0;
  }
}

/* ---- Passes: conservative ------------------------------------------------------------------------------- */

/* Returns the row that begins at `time`. If no row begins then, splits the row that includes `time`. In an empty
   profile, creates the first row from s->capacity_by_unit. Otherwise `time` must not precede the first row. */
static uint32_t row_at(struct state *s, int64_t time) {
  struct profile *profile = &s->profile;
  uint32_t row = profile->rows;
  while (row > 0 && profile->at[row - 1] > time) row--;
  if (row > 0 && profile->at[row - 1] == time) return row - 1;
  if (profile->rows == profile->capacity) {
    profile->at = realloc_or_abort(profile->at, ++profile->capacity * sizeof *profile->at);
    profile->free = realloc_or_abort(profile->free, profile->capacity * sizeof *profile->free);
    profile->free[profile->rows] = realloc_or_abort(NULL, s->n_units * sizeof **profile->free);
  }
  uint32_t *split = profile->free[profile->rows];
  memmove(&profile->at[row + 1], &profile->at[row], (profile->rows - row) * sizeof *profile->at);
  memmove(&profile->free[row + 1], &profile->free[row], (profile->rows - row) * sizeof *profile->free);
  memcpy(split, row > 0 ? profile->free[row - 1] : s->capacity_by_unit, s->n_units * sizeof *split);
  profile->at[row] = time;
  profile->free[row] = split;
  profile->rows++;
  return row;
}

/* Subtracts the placement from all rows between `from` and `until`. */
static void reserve(struct state *s, const struct naive_placement *placement, int64_t from, int64_t until) {
  uint32_t first = row_at(s, from), end = row_at(s, until);
  for (uint32_t row = first; row < end; row++) allocate(s->profile.free[row], placement);
}

/* Returns the earliest row such that the job can start at its beginning, and the placement there. A job can start if it
   fits into the minimum number of free GPUs of each unit over the length of its reservation. Start times between the
   beginnings of rows need not be tried: a job that fits there also fits at the beginning of the row. */
static uint32_t earliest_row(struct state *s, uint32_t job, struct naive_placement *placement) {
  const struct profile *profile = &s->profile;
  for (uint32_t row = 0;; row++) {
    if (!find_placement(s, profile->free[row], job, placement))
      continue; /* the job then does not fit into the minimum of several rows either */
    memcpy(s->future_free, profile->free[row], s->n_units * sizeof *s->future_free);
    for (uint32_t r = row + 1; r < profile->rows && profile->at[r] < profile->at[row] + reserved_length(s->in, job);
         r++)
      for (uint32_t u = 0; u < s->n_units; u++)
        if (profile->free[r][u] < s->future_free[u]) s->future_free[u] = profile->free[r][u];
    if (find_placement(s, s->future_free, job, placement)) return row;
  }
}

/* Finds the last waiting job, not before index `from`, that fits into the GPUs that are free now. Returns the number of
   waiting jobs up to and including this job; `from` if there is no such job. Jobs after it cannot start in this pass.
 */
static uint32_t n_jobs_to_plan(struct state *s, uint32_t from) {
  struct naive_placement placement = {0, NULL};
  uint32_t n = s->n_free >= smallest_waiting(s) ? s->n_waiting : from;
  while (n > from &&
         (s->in->gpus[s->waiting[n - 1]] > s->n_free || !find_placement(s, s->free, s->waiting[n - 1], &placement)))
    n--;
  free(placement.slot);
  return n;
}

/* Rebuilds the profile from the running jobs. */
static void add_running_to_profile(struct state *s) {
  s->profile.rows = 0;
  for (uint32_t u = 0; u < s->n_units; u++) s->capacity_by_unit[u] = s->unit[u].gpus;
  row_at(s, s->now);
  for (uint32_t i = 0; i < s->n_running; i++)
    reserve(s, &s->out.placement[s->running[i]], s->now, expected_end(s, s->running[i]));
}

static void remove_started(struct state *s) {
  uint32_t n_kept = 0;
  for (uint32_t i = 0; i < s->n_waiting; i++)
    if (!has_started(s, s->waiting[i])) s->waiting[n_kept++] = s->waiting[i];
  s->n_waiting = n_kept;
}

/* As long as all jobs so far fit, no reservations exist. The number of expected free GPUs then never decreases with
   time, so jobs that fit now can start without a profile. */
static void pass_conservative(struct state *s) {
  while (s->n_waiting > 0 && try_start(s, s->waiting[0])) {
    remove_started(s);
    if (has_dynamic_order(s->in)) sort_waiting(s);
  }
  uint32_t last = n_jobs_to_plan(s, 0);
  if (last > 0) add_running_to_profile(s);
  for (uint32_t i = 0; i < last; i++) {
    uint32_t job = s->waiting[i];
    struct naive_placement *placement = &s->out.placement[job];
    int64_t from = s->profile.at[earliest_row(s, job, placement)];
    if (from == s->now) start(s, job);
    reserve(s, placement, from, from + reserved_length(s->in, job));
  }
}

/* ---- The run -------------------------------------------------------------------------------------------- */

static void pass(struct state *s) {
  if (has_dynamic_order(s->in)) sort_waiting(s);
  if (s->in->backfill == NAIVE_CONSERVATIVE)
    pass_conservative(s);
  else
    pass_in_order(s);
  remove_started(s);
}

/* Returns the next instant at which a job is submitted or ends; INT64_MAX: none. `next_job`: the first job that has not
   been submitted. */
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
    s->unit = realloc_or_abort(s->unit, (s->n_units + count) * sizeof *s->unit);
    for (uint32_t i = 0; i < count; i++) s->unit[s->n_units++] = (struct unit){p, gpus};
  }
  size_t bytes = s->n_units * sizeof *s->free;
  s->free = realloc_or_abort(NULL, bytes);
  s->future_free = realloc_or_abort(NULL, bytes);
  s->remaining = realloc_or_abort(NULL, bytes);
  s->capacity_by_unit = realloc_or_abort(NULL, bytes);
  for (uint32_t u = 0; u < s->n_units; u++) s->n_free += s->free[u] = s->unit[u].gpus;
}

static void free_state(struct state *s) {
  for (uint32_t row = 0; row < s->profile.capacity; row++) free(s->profile.free[row]);
  void *owned[] = {s->profile.at,       s->profile.free, s->unit,    s->free,     s->future_free, s->remaining,
                   s->capacity_by_unit, s->waiting,      s->running, s->admitted, s->finished,    s->predicted};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

/* Aborts if the input has a rule that this file does not implement. */
static void check_rules(const struct naive_input *in) {
  bool known = in->order < NAIVE_ORDERS && in->backfill < NAIVE_BACKFILLS && in->placement < NAIVE_PLACEMENTS;
  if (known) return;
  fprintf(stderr, "the naive scheduler does not implement order %d, backfill %d or placement %d\n", (int)in->order,
          (int)in->backfill, (int)in->placement);
  abort();
}

struct naive_result naive_run(const struct naive_input *input) {
  struct state s = {.in = input};
  uint32_t n = input->n_jobs, next_job = 0;
  check_rules(input);
  s.waiting = realloc_or_abort(NULL, n * sizeof *s.waiting);
  s.running = realloc_or_abort(NULL, n * sizeof *s.running);
  s.admitted = realloc_or_abort(NULL, n * sizeof *s.admitted);
  s.finished = realloc_or_abort(NULL, n * sizeof *s.finished);
  s.predicted = realloc_or_abort(NULL, n * sizeof *s.predicted);
  s.out.start = realloc_or_abort(NULL, n * sizeof *s.out.start);
  s.out.placement = realloc_or_abort(NULL, n * sizeof *s.out.placement);
  for (uint32_t job = 0; job < n; job++) {
    s.out.start[job] = -1;
    s.out.placement[job] = (struct naive_placement){0, NULL};
  }
  add_units(&s);
  while ((s.now = next_instant(&s, next_job)) < INT64_MAX) {
    end_due_jobs(&s);
    while (next_job < n && input->submit[next_job] == s.now) submit(&s, next_job++);
    pass(&s);
  }
  free_state(&s);
  return s.out;
}

void naive_result_finish(struct naive_result *result, uint32_t n_jobs) {
  for (uint32_t job = 0; job < n_jobs; job++) free(result->placement[job].slot);
  free(result->placement);
  free(result->start);
}
