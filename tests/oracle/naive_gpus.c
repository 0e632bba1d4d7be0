/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine of the naive scheduler for GPUs, the order, quotas, and the backfills strict, skip and easy. */

#include "naive_gpus_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *value, const char *name) {
  return strcmp(value, name) == 0;
}

/* ---- Order ------------------------------------------------------------------------------------------ */

long naive_milli(const struct naive_engine *e, int job) {
  const struct naive_gpus_job *asked = &e->in->job[job];
  return (long)asked->tasks * asked->gpus * asked->milli;
}

int64_t naive_limit(const struct naive_engine *e, int job) {
  const struct naive_gpus_job *asked = &e->in->job[job];
  return asked->limit >= 0 ? asked->limit : asked->work;
}

static int64_t key_of(const struct naive_engine *e, int job) {
  const char *order = e->in->rules.order;
  if (is(order, "fifo")) return e->in->job[job].submit;
  if (is(order, "priority")) return -(int64_t)e->in->job[job].priority;
  if (is(order, "smallest")) return naive_milli(e, job);
  if (is(order, "largest")) return -naive_milli(e, job);
  return naive_limit(e, job);
}

bool naive_has_greater_key(const struct naive_engine *e, int a, int b) {
  return key_of(e, b) > key_of(e, a);
}

bool naive_precedes(const struct naive_engine *e, int a, int b) {
  int64_t key_a = key_of(e, a), key_b = key_of(e, b);
  return key_a != key_b ? key_a < key_b : a < b;
}

int naive_in_order(const struct naive_engine *e, int *jobs) {
  int count = 0;
  for (int j = 0; j < e->in->n_jobs; j++) {
    if (e->job[j].phase != NAIVE_WAITING) continue;
    int place = count++;
    for (; place > 0 && naive_precedes(e, j, jobs[place - 1]); place--) jobs[place] = jobs[place - 1];
    jobs[place] = j;
  }
  return count;
}

/* ---- Quotas ----------------------------------------------------------------------------------------- */

/* Returns the milli-GPUs that quotas distribute: those of the cluster, or the sum of the guarantees if it is
   greater. */
static long capacity_milli(const struct naive_engine *e) {
  long gpus = 0, guaranteed = 0;
  for (int p = 0; p < e->in->n_pools; p++)
    gpus += e->in->pool[p].capacity * e->in->pool[p].nodes * e->in->pool[p].gpus_per_node;
  for (int t = 0; t < NAIVE_GPUS_TENANTS; t++) guaranteed += e->in->quota[t].guarantee;
  return gpus > guaranteed ? gpus : guaranteed;
}

/* Returns the additional amount that a tenant may use if all tenants together use `used_by_all`. */
static long available(const struct naive_engine *e, int tenant, long used, long used_by_all) {
  long rest = capacity_milli(e) - used_by_all, maximum = e->in->quota[tenant].maximum;
  return maximum >= 0 && maximum - used < rest ? maximum - used : rest;
}

bool naive_quota_allows(const struct naive_engine *e, int job) {
  int tenant = e->in->job[job].tenant;
  long all = 0;
  for (int t = 0; t < NAIVE_GPUS_TENANTS; t++) all += e->used[t];
  if (!e->in->has_quotas || naive_milli(e, job) == 0) return true;
  return naive_milli(e, job) <= available(e, tenant, e->used[tenant], all);
}

bool naive_is_guaranteed(const struct naive_engine *e, int job) {
  int tenant = e->in->job[job].tenant;
  return !e->in->has_quotas || e->used[tenant] + naive_milli(e, job) <= e->in->quota[tenant].guarantee;
}

static bool any_guarantee(const struct naive_engine *e) {
  for (int t = 0; t < NAIVE_GPUS_TENANTS; t++)
    if (e->in->quota[t].guarantee > 0) return true;
  return false;
}

/* ---- Starts and stops ------------------------------------------------------------------------------- */

bool naive_is_required(const struct naive_engine *e, int job, int64_t at) {
  const struct naive_gpus_job *asked = &e->in->job[job];
  return asked->wait < 0 || at < asked->submit + asked->wait;
}

static void earlier(int64_t *next, int64_t at, int64_t from) {
  if (at >= from && at < *next) *next = at;
}

void naive_add_time(const struct naive_engine *e, int64_t *times, int *count, int64_t at) {
  int n_later = 0;
  for (int i = 0; i < *count; i++)
    if (times[i] > e->now) times[n_later++] = times[i];
  naive_require(n_later < NAIVE_TIMERS, "a run with so many timers:", "4000");
  times[n_later] = at;
  *count = n_later + 1;
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a && b && is(a, b));
}

/* Returns whether a job requests a tier. A job with one GPU satisfies all tiers. */
static bool has_tier(const struct naive_gpus_job *job) {
  return job->tier != NAIVE_TIER_ANY && (job->tasks > 1 || job->gpus > 1);
}

bool naive_same_request(const struct naive_engine *e, int job_a, int job_b) {
  const struct naive_gpus_job *a = &e->in->job[job_a], *b = &e->in->job[job_b];
  bool is_free = !has_tier(a) && !has_tier(b);
  bool same_tier = a->tier == b->tier && naive_is_required(e, job_a, e->now) == naive_is_required(e, job_b, e->now);
  return a->accepts == b->accepts && a->tasks == b->tasks && a->gpus == b->gpus && a->milli == b->milli &&
         a->cpu == b->cpu && a->mem == b->mem && a->gpu_mem == b->gpu_mem && a->dedicated == b->dedicated &&
         same_text(a->profile, b->profile) && (is_free || same_tier);
}

bool naive_find(const struct naive_engine *e, int job, struct naive_seat *seat) {
  return naive_place(e->in, &e->state, job, naive_is_required(e, job, e->now), NAIVE_ALL_POOLS, seat);
}

/* Counts the starts that change the layout of a GPU. */
static void count_layouts(struct naive_engine *e, const struct naive_seat *seat) {
  for (int i = 0; i < seat->n_slices; i++) {
    const struct naive_node *node = &e->state.node[seat->slice[i].node];
    if (!e->in->pool[node->pool].mig || !seat->slice[i].gpus) continue;
    e->out->relaid += node->gpu[__builtin_ctzll(seat->slice[i].gpus)].layout != seat->slice[i].layout;
  }
}

void naive_start(struct naive_engine *e, int job, const struct naive_seat *seat) {
  struct naive_live *live = &e->job[job];
  naive_require(e->out->n_attempts < NAIVE_GPUS_ATTEMPTS, "a run with so many attempts:", "1000");
  struct naive_gpus_attempt *attempt = &e->out->attempt[e->out->n_attempts++];
  *attempt = (struct naive_gpus_attempt){.job = job, .start = e->now, .n_slices = seat->n_slices};
  memcpy(attempt->slice, seat->slice, sizeof attempt->slice);
  e->out->constrained += naive_is_constrained(e->in, job);
  count_layouts(e, seat);
  for (int i = 0; i < e->in->n_jobs; i++)
    if (e->job[i].phase == NAIVE_WAITING && i != job && naive_precedes(e, i, job)) {
      e->out->backfilled++;
      break;
    }
  live->phase = NAIVE_RUNNING;
  live->start = e->now;
  live->seat = *seat;
  naive_take(e->in, &e->state, job, seat);
  e->used[e->in->job[job].tenant] += naive_milli(e, job);
  naive_market_job_starts(e, job);
  if (e->in->rules.min_run > 0 && seat->n_slices > 0 && !e->in->job[job].not_interruptible)
    naive_add_time(e, e->timers->protected, &e->timers->n_protected, e->now + e->in->rules.min_run);
}

/* Removes a running job from its nodes. */
static void leave(struct naive_engine *e, int job) {
  struct naive_live *live = &e->job[job];
  naive_give(e->in, &e->state, job, &live->seat);
  e->used[e->in->job[job].tenant] -= naive_milli(e, job);
  naive_market_job_leaves(e, job, &live->seat);
}

void naive_stop(struct naive_engine *e, int job, bool keeps) {
  struct naive_live *live = &e->job[job];
  leave(e, job);
  if (keeps) live->done += e->now - live->start;
  live->phase = NAIVE_WAITING;
  live->waiting_since = e->now;
  naive_market_job_waits(e, job);
}

void naive_move(struct naive_engine *e, int job, const struct naive_seat *seat) {
  leave(e, job);
  e->job[job].done += e->now - e->job[job].start;
  naive_start(e, job, seat);
  e->out->moved++;
}

int64_t naive_expected_end(const struct naive_engine *e, int job) {
  int64_t left = naive_limit(e, job) - e->job[job].done;
  int64_t end = e->job[job].start + (left > 0 ? left : 0);
  return end > e->now ? end : e->now + 1;
}

/* ---- Backfills: strict, skip, EASY ------------------------------------------------------------------ */

/* Returns whether a job could start at a future time, when the running jobs that are expected to end until then have
   ended. If `other` is not -1, this job is also placed. */
static bool fits_at(const struct naive_engine *e, int job, int64_t at, int other, const struct naive_seat *place) {
  struct naive_state later = e->state;
  struct naive_seat unused;
  for (int j = 0; j < e->in->n_jobs; j++)
    if (e->job[j].phase == NAIVE_RUNNING && naive_expected_end(e, j) <= at)
      naive_give(e->in, &later, j, &e->job[j].seat);
  if (other >= 0) naive_take(e->in, &later, other, place);
  return naive_place(e->in, &later, job, naive_is_required(e, job, at), NAIVE_ALL_POOLS, &unused);
}

/* Returns the earliest time at which the head could start. NAIVE_NEVER: it needs nodes that are not up. */
static int64_t reservation_of(const struct naive_engine *e, int head) {
  int64_t best = NAIVE_NEVER, expires = e->in->job[head].submit + e->in->job[head].wait;
  for (int j = 0; j < e->in->n_jobs; j++) {
    if (e->job[j].phase != NAIVE_RUNNING) continue;
    int64_t at = naive_expected_end(e, j);
    if (at < best && fits_at(e, head, at, -1, NULL)) best = at;
  }
  bool waits = naive_is_constrained(e->in, head) && e->in->job[head].wait >= 0 && expires > e->now && expires < best;
  return waits && fits_at(e, head, expires, -1, NULL) ? expires : best;
}

/* Starts a job at its placement unless it would delay the reservation of the head. Returns whether the job was started.
 */
static bool try_backfill(struct naive_engine *e, int job, const struct naive_seat *seat, int head, int64_t reserved) {
  bool ends_before = naive_limit(e, job) <= reserved - e->now;
  if (!ends_before && !fits_at(e, head, reserved, job, seat)) return false;
  naive_start(e, job, seat);
  return true;
}

/* Returns whether EASY tries all jobs again after each start: under quotas, and under preemption by priority if the
   jobs are not ordered by priority. */
static bool tries_again(const struct naive_engine *e) {
  return e->in->has_quotas || (is(e->in->rules.preemption, "priority") && !is(e->in->rules.order, "priority"));
}

static void pass_in_order(struct naive_engine *e, const char *backfill, bool guaranteed_only) {
  int jobs[NAIVE_GPUS_JOBS], count = naive_in_order(e, jobs), head = -1;
  int64_t reserved = 0;
  for (int i = 0; i < count; i++) {
    struct naive_seat seat;
    int job = jobs[i];
    if (e->job[job].phase != NAIVE_WAITING) continue;
    if (!naive_quota_allows(e, job) || (guaranteed_only && !naive_is_guaranteed(e, job))) continue;
    bool fits = naive_find(e, job, &seat);
    if (fits && head >= 0) {
      if (try_backfill(e, job, &seat, head, reserved) && tries_again(e)) i = -1;
    } else if (fits) {
      naive_start(e, job, &seat);
    } else if (is(backfill, "strict")) {
      return;
    } else if (is(backfill, "easy") && head < 0) {
      head = job;
      reserved = reservation_of(e, head);
      e->out->reserved++;
    }
  }
}

static void pass_with(struct naive_engine *e, const char *backfill, bool guaranteed_only) {
  naive_preemption_pass(e, guaranteed_only);
  if (is(backfill, "conservative"))
    naive_conservative_pass(e);
  else
    pass_in_order(e, backfill, guaranteed_only);
}

/* With quotas, jobs within guarantees start first. */
static void pass(struct naive_engine *e) {
  const char *backfill = e->in->rules.backfill;
  if (e->in->has_quotas && any_guarantee(e)) pass_with(e, "skip", true);
  pass_with(e, backfill, false);
}

/* ---- The run ---------------------------------------------------------------------------------------- */

static int64_t end_of(const struct naive_engine *e, int job) {
  return e->job[job].start + e->in->job[job].work - e->job[job].done;
}

static void end_jobs(struct naive_engine *e) {
  for (int j = 0; j < e->in->n_jobs; j++) {
    if (e->job[j].phase != NAIVE_RUNNING || end_of(e, j) > e->now) continue;
    e->changed = true;
    leave(e, j);
    e->job[j].phase = NAIVE_ENDED;
    e->out->end[j] = e->now;
  }
}

/* Returns whether a job could run if the cluster were empty and all nodes were up. */
static bool is_feasible(const struct naive_engine *e, int job) {
  struct naive_state empty;
  struct naive_seat unused;
  naive_state_init(e->in, &empty);
  if (e->in->has_quotas && naive_milli(e, job) > available(e, e->in->job[job].tenant, 0, 0)) return false;
  return naive_place(e->in, &empty, job, e->in->job[job].wait < 0, NAIVE_ALL_POOLS, &unused);
}

static void submit_jobs(struct naive_engine *e) {
  for (int j = 0; j < e->in->n_jobs; j++) {
    if (e->job[j].phase != NAIVE_ABSENT || e->in->job[j].submit != e->now) continue;
    e->job[j].phase = is_feasible(e, j) ? NAIVE_WAITING : NAIVE_ENDED;
    e->job[j].waiting_since = e->now;
    if (e->job[j].phase != NAIVE_WAITING) continue;
    e->changed = true;
    naive_market_job_waits(e, j);
  }
}

/* Schedules the next pass if jobs wait until others can be stopped. If a job could not be stopped only because it has
   just started, the pass is one microsecond later. Otherwise the pass is when the `min_run` of some job has passed. */
static void arrange_pass(struct naive_engine *e) {
  int64_t next = NAIVE_NEVER;
  int jobs[NAIVE_GPUS_JOBS];
  if (is(e->in->rules.preemption, "none") || naive_in_order(e, jobs) == 0) return;
  for (int i = 0; i < e->timers->n_protected; i++) earlier(&next, e->timers->protected[i], e -> now + 1);
  if (e->retries) next = e->now + 1;
  if (next < NAIVE_NEVER) naive_add_time(e, e->timers->timer, &e->timers->n_timers, next);
}

/* Returns the next instant at which a job ends or is submitted, the constraint of a job ends, nodes change, or a pass
   is scheduled. The constraint of a job with one GPU is ignored. */
static int64_t next_instant(const struct naive_engine *e) {
  int64_t next = naive_market_next(e);
  for (int j = 0; j < e->in->n_jobs; j++) {
    const struct naive_gpus_job *asked = &e->in->job[j];
    const struct naive_live *live = &e->job[j];
    if (live->phase == NAIVE_ABSENT) earlier(&next, asked->submit, e->now);
    if (live->phase == NAIVE_RUNNING) earlier(&next, end_of(e, j), e->now);
    if (live->phase == NAIVE_WAITING && has_tier(asked) && asked->wait >= 0)
      earlier(&next, asked->submit + asked->wait, e->now + 1);
  }
  return next;
}

static bool all_ended(const struct naive_engine *e) {
  for (int j = 0; j < e->in->n_jobs; j++)
    if (e->job[j].phase != NAIVE_ENDED) return false;
  return true;
}

static void require_one_of(const char *what, const char *value, const char *const *known) {
  while (*known && !is(value, *known)) known++;
  naive_require(*known != NULL, what, value);
}

/* Aborts if a rule is unknown. */
static void check_rules(const struct naive_gpus_input *in) {
  static const char *const orders[] = {"fifo", "priority", "smallest", "largest", "sjf", NULL};
  static const char *const backfills[] = {"strict", "skip", "easy", "conservative", NULL};
  static const char *const placements[] = {"first-fit", "best-fit", "worst-fit", NULL};
  static const char *const preemptions[] = {"none", "priority", "order", "reclaim", NULL};
  static const char *const victims[] = {"last", "least-lost", "youngest", "lowest-priority", NULL};
  static const char *const markets[] = {"static", "on-demand-only", "spot-first", NULL};
  const struct naive_gpus_rules *rules = &in->rules;
  bool skips = is(rules->backfill, "skip") || is(rules->backfill, "easy");
  require_one_of("order", rules->order, orders);
  require_one_of("backfill", rules->backfill, backfills);
  require_one_of("placement", rules->placement, placements);
  require_one_of("preemption", rules->preemption, preemptions);
  require_one_of("victims", rules->victims, victims);
  require_one_of("market", rules->market, markets);
  naive_require(skips || !in->has_quotas, "with quotas, backfill", rules->backfill);
  naive_require(is(rules->market, "static") || (!in->has_quotas && is(rules->preemption, "none")),
                "with quotas or preemption, market", rules->market);
}

void naive_gpus_run(const struct naive_gpus_input *input, struct naive_gpus_result *result) {
  struct naive_timers timers = {.wake = -1};
  struct naive_engine e = {.in = input, .out = result, .timers = &timers, .returns_at = NAIVE_NEVER};
  memset(result, 0, sizeof *result);
  check_rules(input);
  for (int j = 0; j < NAIVE_GPUS_JOBS; j++) result->end[j] = -1;
  naive_state_init(input, &e.state);
  naive_market_init(&e);
  e.now = input->job[0].submit;
  for (int instants = 0; !all_ended(&e) && e.now < NAIVE_NEVER; instants++) {
    naive_require(instants < 100000, "a run that does not end under", input->rules.order);
    e.changed = false;
    end_jobs(&e);
    naive_market_advance(&e);
    submit_jobs(&e);
    e.retries = false;
    pass(&e);
    naive_market_pass(&e);
    arrange_pass(&e);
    e.now = next_instant(&e);
  }
}
