/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conservative backfill and preemption of the naive scheduler for GPUs. */

#include "naive_gpus_engine.h"

#include <stdlib.h>
#include <string.h>

static bool is(const char *value, const char *name) {
  return strcmp(value, name) == 0;
}

/* ---- Conservative backfill -------------------------------------------------------------------------- */

/* A running job or a reservation, from `begin` until `end`. */
struct occupant {
  int64_t begin, end;
  int job;
  struct naive_seat seat;
};

struct plan {
  int count;
  struct occupant occupant[2 * NAIVE_GPUS_JOBS]; /* running jobs by id, then reservations in order */
};

static long min_long(long a, long b) {
  return a < b ? a : b;
}

static int max_int(int a, int b) {
  return a > b ? a : b;
}

/* Combines two states: free amounts are the minimum of both, numbers of tasks the maximum. */
static void merge(const struct naive_gpus_input *in, struct naive_state *into, const struct naive_state *other) {
  for (int i = 0; i < into->n_nodes; i++) {
    struct naive_node *a = &into->node[i];
    const struct naive_node *b = &other->node[i];
    a->tasks = max_int(a->tasks, b->tasks);
    a->dedicated = max_int(a->dedicated, b->dedicated);
    a->cpu = min_long(a->cpu, b->cpu);
    a->mem = min_long(a->mem, b->mem);
    for (int g = 0; g < in->pool[a->pool].gpus_per_node; g++) {
      a->gpu[g].left = min_long(a->gpu[g].left, b->gpu[g].left);
      a->gpu[g].mem = min_long(a->gpu[g].mem, b->gpu[g].mem);
      a->gpu[g].tasks = max_int(a->gpu[g].tasks, b->gpu[g].tasks);
    }
  }
}

static struct naive_state state_at(const struct naive_engine *e, const struct plan *plan, int64_t at) {
  struct naive_state state;
  naive_state_init(e->in, &state);
  for (int i = 0; i < state.n_nodes; i++) state.node[i].up = e->state.node[i].up;
  for (int i = 0; i < plan->count; i++)
    if (plan->occupant[i].begin <= at && plan->occupant[i].end > at)
      naive_take(e->in, &state, plan->occupant[i].job, &plan->occupant[i].seat);
  return state;
}

/* Writes the slices on a GPU of the occupants that overlap a window, in the order (begin, creation). Returns their
   number. */
static int slices_on(const struct plan *plan, int node, int g, int64_t from, int64_t until,
                     const struct naive_gpus_slice **slices) {
  int count = 0;
  int64_t begins[2 * NAIVE_GPUS_JOBS * NAIVE_GPUS_TASKS];
  for (int i = 0; i < plan->count; i++) {
    const struct occupant *occupant = &plan->occupant[i];
    if (occupant->begin >= until || occupant->end <= from) continue;
    for (int k = 0; k < occupant->seat.n_slices; k++) {
      if (occupant->seat.slice[k].node != node || !(occupant->seat.slice[k].gpus >> g & 1)) continue;
      int place = count++;
      for (; place > 0 && begins[place - 1] > occupant->begin; place--) {
        begins[place] = begins[place - 1];
        slices[place] = slices[place - 1];
      }
      begins[place] = occupant->begin;
      slices[place] = &occupant->seat.slice[k];
    }
  }
  return count;
}

/* Sets the instances of a GPU for a window to the union of those of its occupants. If an instance cannot be added, the
   GPU is full, so nothing of it is free. Without occupants, the GPU has the layout of its last occupant before the
   window. */
static void unite_instances(const struct naive_engine *e, const struct plan *plan, int node, int g, int64_t from,
                            int64_t until, struct naive_gpu *gpu) {
  const struct naive_mig *mig = e->in->pool[e->state.node[node].pool].mig;
  const struct naive_gpus_slice *slices[2 * NAIVE_GPUS_JOBS * NAIVE_GPUS_TASKS];
  int count = slices_on(plan, node, g, from, until, slices);
  memset(gpu->taken, -1, sizeof gpu->taken);
  gpu->layout = e->state.node[node].gpu[g].layout;
  if (count == 0) {
    int before = slices_on(plan, node, g, INT64_MIN, from, slices);
    if (before > 0) gpu->layout = slices[before - 1]->layout;
    return;
  }
  gpu->layout = slices[0]->layout;
  for (int i = 0; i < count; i++) {
    if (gpu->taken[slices[i]->start] == slices[i]->profile && gpu->layout == slices[i]->layout) continue;
    bool fits = gpu->layout == slices[i]->layout &&
                naive_mig_may_add(mig->type, gpu->taken, slices[i]->profile, slices[i]->start);
    if (fits)
      gpu->taken[slices[i]->start] = (signed char)slices[i]->profile;
    else
      gpu->full = true;
    if (gpu->full) gpu->left = 0;
  }
}

/* Returns the state on which a job may be placed from `from` until `until`. */
static struct naive_state window_state(const struct naive_engine *e, const struct plan *plan, int64_t from,
                                       int64_t until) {
  struct naive_state window = state_at(e, plan, from);
  for (int i = 0; i < plan->count; i++) {
    if (plan->occupant[i].begin <= from || plan->occupant[i].begin >= until) continue;
    struct naive_state later = state_at(e, plan, plan->occupant[i].begin);
    merge(e->in, &window, &later);
  }
  for (int n = 0; n < window.n_nodes; n++)
    for (int g = 0; e->in->pool[window.node[n].pool].mig && g < e->in->pool[window.node[n].pool].gpus_per_node; g++)
      unite_instances(e, plan, n, g, from, until, &window.node[n].gpu[g]);
  return window;
}

static int64_t planned_length(const struct naive_engine *e, int job) {
  int64_t limit = naive_limit(e, job);
  return limit > 0 ? limit : 1;
}

/* Finds the earliest time from which a job can be placed for its limit. False: it needs nodes that are not up. */
static bool plan_job(const struct naive_engine *e, const struct plan *plan, int job, struct occupant *found) {
  bool required = naive_is_required(e, job, e->now);
  for (int64_t at = e->now; at < NAIVE_NEVER;) {
    struct naive_state window = window_state(e, plan, at, at + planned_length(e, job));
    *found = (struct occupant){.begin = at, .end = at + planned_length(e, job), .job = job};
    if (naive_place(e->in, &window, job, required, NAIVE_ALL_POOLS, &found->seat)) return true;
    int64_t next = NAIVE_NEVER;
    for (int i = 0; i < plan->count; i++)
      if (plan->occupant[i].end > at && plan->occupant[i].end < next) next = plan->occupant[i].end;
    at = next;
  }
  return false;
}

void naive_conservative_pass(struct naive_engine *e) {
  struct plan plan = {0};
  int jobs[NAIVE_GPUS_JOBS], count = naive_in_order(e, jobs);
  for (int j = 0; j < e->in->n_jobs; j++)
    if (e->job[j].phase == NAIVE_RUNNING)
      plan.occupant[plan.count++] = (struct occupant){e->now, naive_expected_end(e, j), j, e->job[j].seat};
  for (int i = 0; i < count; i++) {
    struct occupant found;
    if (!plan_job(e, &plan, jobs[i], &found)) continue;
    plan.occupant[plan.count++] = found;
    e->out->reserved += found.begin > e->now;
    if (found.begin == e->now) naive_start(e, jobs[i], &found.seat);
  }
}

/* ---- Preemption: victims ---------------------------------------------------------------------------- */

/* Sums the guarantees and the usage of a tenant or, with `cohort`, of all tenants of its cohort. */
static void sums_of(const struct naive_engine *e, int tenant, bool cohort, long *guarantee, long *used) {
  *guarantee = *used = 0;
  for (int t = 0; t < NAIVE_GPUS_TENANTS; t++) {
    if (t != tenant && (!cohort || e->in->quota[t].cohort != e->in->quota[tenant].cohort)) continue;
    *guarantee += e->in->quota[t].guarantee;
    *used += e->used[t];
  }
}

/* Returns whether quotas allow that the victim is stopped for the job. Two conditions must be true:
   - The victim's tenant uses more than its guarantee. If this tenant is in another cohort than the job's tenant, its
     cohort must use more than its guarantee, too.
   - The job's tenant stays within its guarantee. If the two tenants are not in the same cohort, it is enough that the
     cohort of the job's tenant stays within its guarantee. */
static bool may_reclaim(const struct naive_engine *e, int job, int victim) {
  int of_job = e->in->job[job].tenant, of_victim = e->in->job[victim].tenant;
  int cohort = e->in->quota[of_job].cohort, other = e->in->quota[of_victim].cohort;
  long guarantee, used;
  if (of_job == of_victim) return false;
  sums_of(e, of_victim, false, &guarantee, &used);
  if (used <= guarantee) return false;
  if (other >= 0 && other != cohort) {
    sums_of(e, of_victim, true, &guarantee, &used);
    if (used <= guarantee) return false;
  }
  sums_of(e, of_job, false, &guarantee, &used);
  if (used + naive_milli(e, job) <= guarantee) return true;
  if (cohort < 0 || cohort == other) return false;
  sums_of(e, of_job, true, &guarantee, &used);
  return used + naive_milli(e, job) <= guarantee;
}

/* Returns whether a running job may be stopped for some job. */
static bool is_stoppable(const struct naive_engine *e, int victim) {
  const struct naive_live *live = &e->job[victim];
  if (live->phase != NAIVE_RUNNING || live->seat.n_slices == 0 || e->in->job[victim].not_interruptible) return false;
  return e->now - live->start >= e->in->rules.min_run;
}

static bool may_stop_for(const struct naive_engine *e, int job, int victim) {
  const char *rule = e->in->rules.preemption;
  if (is(rule, "priority")) return e->in->job[victim].priority < e->in->job[job].priority;
  if (is(rule, "order")) return naive_has_greater_key(e, job, victim);
  return may_reclaim(e, job, victim);
}

/* Compares victims: returns a negative number if `a` is stopped before `b`, and a positive number if `b` is stopped
   before `a`. */
static int compare_victims(const struct naive_engine *e, int a, int b) {
  const struct naive_gpus_rules *rules = &e->in->rules;
  const struct naive_live *live_a = &e->job[a], *live_b = &e->job[b];
  int by_priority = e->in->job[a].priority - e->in->job[b].priority;
  if (is(rules->victims, "last") && is(rules->preemption, "order")) {
    if (naive_has_greater_key(e, b, a)) return -1;
    if (naive_has_greater_key(e, a, b)) return 1;
  } else if (is(rules->victims, "lowest-priority") ||
             (is(rules->victims, "last") && is(rules->preemption, "priority"))) {
    if (by_priority) return by_priority;
  } else if (is(rules->victims, "least-lost")) {
    int64_t lost_a = rules->keeps ? 0 : (e->now - live_a->start) * naive_milli(e, a);
    int64_t lost_b = rules->keeps ? 0 : (e->now - live_b->start) * naive_milli(e, b);
    if (lost_a != lost_b) return lost_a < lost_b ? -1 : 1;
  }
  if (live_a->start != live_b->start) return live_a->start > live_b->start ? -1 : 1;
  return b - a;
}

/* Returns whether a running job may be stopped for the job, even if it has just started. Under `reclaim`, quotas are
   ignored. */
static bool may_leave(const struct naive_engine *e, int job, int victim) {
  return is_stoppable(e, victim) && (is(e->in->rules.preemption, "reclaim") || may_stop_for(e, job, victim));
}

/* Counted allocation: returns whether the free GPUs of a pool and those of all jobs that may be stopped are enough in
   sum, on any nodes. */
static bool count_suffices(const struct naive_engine *e, int job, int pool) {
  long milli = 0;
  for (int n = 0; n < e->state.n_nodes; n++)
    for (int g = 0; e->state.node[n].pool == pool && g < e->in->pool[pool].gpus_per_node; g++)
      milli += e->state.node[n].gpu[g].left;
  for (int v = 0; v < e->in->n_jobs; v++)
    if (may_leave(e, job, v) && e->state.node[e->job[v].seat.slice[0].node].pool == pool) milli += naive_milli(e, v);
  return milli >= naive_milli(e, job);
}

/* Returns whether tasks of the job may block each other. Such a job may fit together with other jobs but not without
   them. */
static bool blocks_itself(const struct naive_engine *e, int job) {
  const struct naive_gpus_job *of = &e->in->job[job];
  for (int p = 0; p < e->in->n_pools && of->tasks > 1; p++) {
    const struct naive_gpus_pool *pool = &e->in->pool[p];
    bool shares = !pool->whole && (of->milli < 1000 || pool->replicas > 1);
    if (of->gpus > 1 && shares) return true;
    if (pool->mig && pool->mig->mode == NAIVE_MIG_ON_DEMAND) return true;
  }
  return false;
}

/* Returns whether some job that may be stopped is in the pool, and the job fits into the pool without all such jobs. If
   not, the search for victims is skipped. */
static bool could_suffice(const struct naive_engine *e, int job, int pool) {
  struct naive_gpus_input in = *e->in;
  struct naive_engine trial = *e;
  struct naive_seat unused;
  bool any = false;
  if (in.pool[pool].capacity != 1000) return count_suffices(e, job, pool);
  for (int v = 0; v < e->in->n_jobs; v++) {
    if (!may_leave(e, job, v)) continue;
    any = any || e->state.node[e->job[v].seat.slice[0].node].pool == pool;
    naive_give(e->in, &trial.state, v, &e->job[v].seat);
  }
  in.job[job].accepts = 1u << pool;
  trial.in = &in;
  return any && (blocks_itself(e, job) || naive_find(&trial, job, &unused));
}

/* Lists the jobs of a pool that may be stopped for the job, the first victim first. Returns their number. A job that
   started at this instant is not listed. If such a job could be stopped otherwise, another pass follows one microsecond
   later. Under `reclaim`, this pass follows even if quotas do not allow that the job is stopped. */
static int eligible_in(struct naive_engine *e, int job, int pool, int *victims) {
  int count = 0;
  for (int v = 0; v < e->in->n_jobs; v++) {
    if (!is_stoppable(e, v) || e->state.node[e->job[v].seat.slice[0].node].pool != pool) continue;
    bool just_started = e->job[v].start == e->now, may = may_stop_for(e, job, v);
    e->retries = e->retries || (just_started && (may || is(e->in->rules.preemption, "reclaim")));
    if (just_started || !may) continue;
    int place = count++;
    for (; place > 0 && compare_victims(e, v, victims[place - 1]) < 0; place--) victims[place] = victims[place - 1];
    victims[place] = v;
  }
  return count;
}

/* Removes a job tentatively, or restores it at its old placement. */
static void remove_job(struct naive_engine *e, int job) {
  naive_give(e->in, &e->state, job, &e->job[job].seat);
  e->used[e->in->job[job].tenant] -= naive_milli(e, job);
}

static void restore_job(struct naive_engine *e, int job) {
  naive_take(e->in, &e->state, job, &e->job[job].seat);
  e->used[e->in->job[job].tenant] += naive_milli(e, job);
}

/* Finds victims for a job in a pool. Removes from the list those that are not needed. Returns their number; 0: the job
   does not fit even without all of them. */
static int find_victims(struct naive_engine *e, int job, int pool, int *victims) {
  struct naive_engine trial = *e;
  struct naive_seat unused;
  bool could = could_suffice(e, job, pool);
  int n_eligible = could ? eligible_in(e, job, pool, victims) : 0, count = 0;
  bool fits = false;
  for (int i = 0; i < n_eligible && !fits; i++) {
    if (is(e->in->rules.preemption, "reclaim") && !may_reclaim(&trial, job, victims[i])) continue;
    remove_job(&trial, victims[i]);
    victims[count++] = victims[i];
    fits = naive_quota_allows(&trial, job) && naive_find(&trial, job, &unused);
  }
  if (!fits) return 0;
  for (int i = count; i-- > 0;) {
    restore_job(&trial, victims[i]);
    if (naive_quota_allows(&trial, job) && naive_find(&trial, job, &unused)) {
      memmove(&victims[i], &victims[i + 1], (size_t)(--count - i) * sizeof *victims);
    } else {
      remove_job(&trial, victims[i]);
    }
  }
  return count;
}

static bool preempt_for(struct naive_engine *e, int job) {
  int victims[NAIVE_GPUS_JOBS], count = 0;
  struct naive_seat seat;
  for (int p = 0; p < e->in->n_pools && count == 0; p++)
    if (e->in->job[job].accepts >> p & 1) count = find_victims(e, job, p, victims);
  for (int i = 0; i < count; i++) naive_stop(e, victims[i], e->in->rules.keeps);
  e->out->preempted += count;
  if (count == 0 || !naive_find(e, job, &seat)) return false;
  naive_start(e, job, &seat);
  return true;
}

/* ---- Preemption: pass ------------------------------------------------------------------------------- */

/* Returns whether an equivalent job was refused earlier in this pass. Equivalent jobs have the same request and tenant
   and, under preemption by priority with another order, the same priority. Such a job is not tried. */
static bool is_represented(const struct naive_engine *e, const bool *refused, int job) {
  const struct naive_gpus_rules *rules = &e->in->rules;
  bool by_priority = is(rules->preemption, "priority") && !is(rules->order, "priority");
  for (int j = 0; j < e->in->n_jobs; j++) {
    if (!refused[j] || !naive_same_request(e, j, job)) continue;
    if (by_priority && e->in->job[j].priority != e->in->job[job].priority) continue;
    if (!e->in->has_quotas || e->in->job[j].tenant == e->in->job[job].tenant) return true;
  }
  return false;
}

/* A job is refused if it does not fit even if others are stopped. A job that its quota does not admit is tried again
   when the stop of another job has reduced the usage enough. */
void naive_preemption_pass(struct naive_engine *e, bool guaranteed_only) {
  const char *rule = e->in->rules.preemption;
  bool refused[NAIVE_GPUS_JOBS] = {false}, over_quota[NAIVE_GPUS_JOBS] = {false};
  if (is(rule, "none")) return;
  for (;;) {
    int jobs[NAIVE_GPUS_JOBS], count = naive_in_order(e, jobs), i = 0;
    struct naive_seat seat;
    for (int j = 0; j < count; j++)
      if (over_quota[jobs[j]] && naive_quota_allows(e, jobs[j])) refused[jobs[j]] = over_quota[jobs[j]] = false;
    while (i < count && (is_represented(e, refused, jobs[i]) || (guaranteed_only && !naive_is_guaranteed(e, jobs[i]))))
      i++;
    if (i == count) return;
    bool allowed = naive_quota_allows(e, jobs[i]);
    if (allowed && naive_find(e, jobs[i], &seat)) {
      naive_start(e, jobs[i], &seat);
    } else if (!preempt_for(e, jobs[i])) {
      refused[jobs[i]] = true;
      over_quota[jobs[i]] = !allowed;
      if (allowed && !is(e->in->rules.backfill, "skip")) return;
    }
  }
}
