/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The policy `deadline`: each job acquires its own nodes, spot if possible and on-demand if necessary (Wu et al.,
 * "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI'24). C is the remaining work, R the time to
 * the deadline, and d the change-over time, which a job needs to move to other nodes. A job that has no nodes or uses
 * on-demand capacity needs on-demand capacity when R < C + 2 d. Without ticks, it then stays there until its end. This
 * does not hold for a job that follows an itinerary (omniscient). The rules differ in what a job does before that time:
 *
 *   deadline-greedy   uses spot capacity while it is available, else no nodes;
 *   uniform-progress  spreads the work evenly over time. Done work is cp(t); expected work is
 *                     ep(t) = work x elapsed / (deadline - submit). A job without nodes and with cp(t) < ep(t) uses
 *                     on-demand capacity until spot capacity is available and cp(t) >= ep(t + 2 d). The parameter
 *                     `hysteresis` changes this factor 2. A job with a loose deadline (deadline.h) at first uses only
 *                     spot capacity;
 *   omniscient        follows the cheapest itinerary, computed when the job is submitted (omniscient.c).
 *
 * A job on spot capacity stays there until the capacity is reclaimed, with one exception (see "Rules" below). Owned and
 * reserved capacity is paid for even if it is idle, so it is used first: a job without nodes starts in an owned or
 * reserved pool if it fits there, and stays there. A job that may not use spot capacity uses on-demand from the
 * beginning.
 *
 * With ticks, all decisions are made at multiples of `tick_s`. Between ticks only jobs with nodes that are up start,
 * and nodes without a job are kept (and paid for) until the next tick.
 *
 * If no node of the cluster is ever added or removed, jobs start in the order of their submission; a job that does not
 * fit blocks later jobs.
 */

#include "policies/deadline/deadline.h"

#include "policies/kit/params.h"

#include <math.h>

/* ---- Rules ------------------------------------------------------------------------------------------ */

/*
 * The rules of the policy `deadline`: which pool a job should use now, and when the passage of time alone changes this.
 *
 * C is the work left, R the time to the deadline and d the change-over time. The safety nets are the same for all
 * rules, except that a job with an itinerary (omniscient) needs none. A job without nodes or on on-demand nodes uses
 * on-demand nodes when R < C + 2 d. A job on spot nodes stays there until the nodes are reclaimed. Exception: if the
 * job has not completed the change to these nodes and R < C + d, it uses on-demand nodes.
 *
 * With ticks (`tick_s`), the rules are those of the simulator of the authors (Wu et al., "Can't Be Late", NSDI'24).
 * Times are compared in whole ticks: R is rounded down, the sum of C and the change-over times is rounded up, and the
 * comparison is "less than or equal". If a job changes to on-demand capacity because of this rounding, it need not stay
 * there: at the next tick, it may be within the limit again.
 *
 * Invariant: without ticks, every decision that depends on time has a wake-up in next_change_us. The decisions for a
 * job therefore do not depend on the times at which events of other jobs cause a pass.
 */

__extension__ typedef __int128 wide;

enum { PPM = 1000000 };

/* ---- Rules: conditions ------------------------------------------------------------------------------ */

/* Returns whether the pool has the given market and the job accepts the pool. */
static bool may_use(const struct hr__deadline *self, const struct hr__deadline_job *job, uint32_t pool,
                    enum hr_market market) {
  if (hr__deadline_spec(self, pool)->market.market != market) return false;
  return hr_cluster_accepts(self->cluster, hr_cluster_accept_class(self->cluster, job->job), (hr_pool){pool});
}

/* Returns the cheapest pool of the market that now offers the nodes that the job needs; HR_NONE: no pool does. */
static uint32_t offer(const struct hr__deadline *self, const struct hr__deadline_job *job, enum hr_market market,
                      int64_t now_us) {
  uint32_t best = HR_NONE;
  int64_t best_price = 0;
  for (uint32_t i = 0; i < hr_cluster_pools(self->cluster); i++) {
    if (!may_use(self, job, i, market)) continue;
    if (hr_cluster_offer(self->cluster, (hr_pool){i}) < hr__deadline_nodes(self, job->job, i)) continue;
    int64_t price = hr_cluster_price_uusd_h(self->cluster, (hr_pool){i}, now_us);
    if (best != HR_NONE && price >= best_price) continue;
    best = i;
    best_price = price;
  }
  return best;
}

/* Returns whether the job uses a pool of the market. */
static bool holds(const struct hr__deadline *self, const struct hr__deadline_job *job, enum hr_market market) {
  return job->pool != HR_NONE && hr__deadline_spec(self, job->pool)->market.market == market;
}

/* Returns the remaining work of the job. Change-over time is not included. */
static int64_t left_us(const struct hr_view *view, const struct hr__deadline_job *job) {
  return view->jobs->work_us[job->job.id] - hr_view_done_us(view, job->job);
}

/* Returns the time of a number of change-overs. Without ticks the minimum is one microsecond. This is for d = 0: a job
   must then change to on-demand when R = C, because the deadline can no longer be met when R < C. */
static int64_t reserve_us(const struct hr__deadline *self, int64_t changeovers) {
  int64_t time_us = changeovers * self->changeover_us;
  return time_us > 0 || self->tick_us > 0 ? time_us : 1;
}

/* Returns whether the time left is so short that the job needs on-demand capacity: R < C + changeovers x d. With ticks:
   if R, rounded down to ticks, is at most C + changeovers x d, rounded up to ticks. */
static bool is_urgent(const struct hr__deadline *self, const struct hr_view *view, const struct hr__deadline_job *job,
                      int64_t changeovers) {
  if (job->deadline_us == HR_NEVER_US || !job->has_on_demand) return false;
  int64_t rest_us = job->deadline_us - view->now_us, need_us = left_us(view, job) + reserve_us(self, changeovers);
  if (self->tick_us == 0) return rest_us < need_us;
  return rest_us < 0 || (need_us + self->tick_us - 1) / self->tick_us >= rest_us / self->tick_us;
}

/* Returns by how much the work done so far exceeds the work that the even pace requires at the time `at_us`; negative:
   the job is behind. The even pace spreads the work evenly from `pace_us` to the deadline. The result is multiplied by
   the length of this period, so that it is an integer. */
static wide ahead(const struct hr_view *view, const struct hr__deadline_job *job, int64_t at_us) {
  int64_t done_us = hr_view_done_us(view, job->job) - job->pace_done_us,
          work_us = view->jobs->work_us[job->job.id] - job->pace_done_us;
  return (wide)done_us * (job->deadline_us - job->pace_us) - (wide)work_us * (at_us - job->pace_us);
}

static bool is_behind(const struct hr_view *view, const struct hr__deadline_job *job) {
  return job->deadline_us != HR_NEVER_US && ahead(view, job, view->now_us) < 0;
}

/* Returns whether a job on on-demand capacity is not far enough ahead of the pace to leave it for spot capacity. */
static bool must_catch_up(const struct hr__deadline *self, const struct hr_view *view,
                          const struct hr__deadline_job *job) {
  if (job->deadline_us == HR_NEVER_US) return false;
  wide lead = ahead(view, job, view->now_us + self->lead_us);
  return self->tick_us > 0 ? lead <= 0 : lead < 0;
}

/* Returns whether the job has completed the change to its present nodes. */
static bool has_changed_over(const struct hr__deadline *self, const struct hr_view *view,
                             const struct hr__deadline_job *job) {
  for (uint32_t i = 0; i < job->n_nodes; i++)
    if (hr_cluster_node_state(self->cluster, job->nodes[i]) == HR_NODE_BOOTING) return false;
  return view->now_us - job->acquired_us >= self->changeover_us;
}

/* ---- Rules: loose deadlines ------------------------------------------------------------------------- */

/* Returns whether C / R is at least `ppm` millionths. */
static bool is_tight(const struct hr_view *view, const struct hr__deadline_job *job, uint32_t ppm) {
  return (wide)left_us(view, job) * PPM >= (wide)(job->deadline_us - view->now_us) * ppm;
}

/* Begins the even pace of a submitted job, and decides whether its deadline is loose. */
static void set_pace(const struct hr__deadline *self, const struct hr_view *view, struct hr__deadline_job *job) {
  job->pace_us = job->from_us;
  job->pace_done_us = 0;
  if (self->rule != HR__DEADLINE_UNIFORM_PROGRESS || job->deadline_us == HR_NEVER_US) return;
  job->is_loose = !is_tight(view, job, self->loose_ppm) && !is_tight(view, job, self->tight_ppm);
}

/* Ends the wait of a job with a loose deadline, if the job has no nodes and its deadline has ceased to be loose. The
   even pace then begins again. */
static void end_wait(const struct hr__deadline *self, const struct hr_view *view, struct hr__deadline_job *job) {
  if (!job->is_loose || job->pool != HR_NONE || !is_tight(view, job, self->tight_ppm)) return;
  job->is_loose = false;
  job->pace_us = view->now_us;
  job->pace_done_us = hr_view_done_us(view, job->job);
}

/* ---- Rules: choice of a pool ------------------------------------------------------------------------ */

/* Returns the pool of a job on spot nodes: the same pool, or an on-demand pool. */
static uint32_t after_spot(const struct hr__deadline *self, const struct hr_view *view, struct hr__deadline_job *job) {
  if (!is_urgent(self, view, job, 1) || has_changed_over(self, view, job)) return job->pool;
  uint32_t pool = offer(self, job, HR_MARKET_ON_DEMAND, view->now_us);
  if (pool == HR_NONE) return job->pool;
  job->committed = self->tick_us == 0;
  return pool;
}

/* Returns the pool of a job that needs on-demand capacity. With ticks and without a change-over time, spot capacity is
   as good, because the job can leave it at no cost. */
static uint32_t urgent_pool(const struct hr__deadline *self, const struct hr_view *view,
                            const struct hr__deadline_job *job) {
  bool is_free = self->tick_us > 0 && self->changeover_us == 0;
  uint32_t spot = is_free ? offer(self, job, HR_MARKET_SPOT, view->now_us) : HR_NONE;
  if (spot != HR_NONE) return spot;
  if (holds(self, job, HR_MARKET_ON_DEMAND)) return job->pool;
  return offer(self, job, HR_MARKET_ON_DEMAND, view->now_us);
}

/* Returns the pool that the job should use by the rules deadline-greedy and uniform-progress; HR_NONE: none. `is_even`:
   the rule is uniform-progress. */
static uint32_t online_pool(const struct hr__deadline *self, const struct hr_view *view, struct hr__deadline_job *job,
                            bool is_even) {
  if (holds(self, job, HR_MARKET_SPOT)) return after_spot(self, view, job);
  end_wait(self, view, job);
  bool is_late = job->committed || is_urgent(self, view, job, 2);
  if (self->tick_us == 0) job->committed = is_late;
  if (is_late) return urgent_pool(self, view, job);
  bool keeps_pace = is_even && !job->is_loose, on_demand = keeps_pace && holds(self, job, HR_MARKET_ON_DEMAND);
  if (on_demand && must_catch_up(self, view, job)) return job->pool;
  uint32_t spot = offer(self, job, HR_MARKET_SPOT, view->now_us);
  if (spot != HR_NONE) return spot;
  if (on_demand) return job->pool;
  return keeps_pace && is_behind(view, job) ? offer(self, job, HR_MARKET_ON_DEMAND, view->now_us) : HR_NONE;
}

/* Returns whether the job can no longer follow its itinerary. Either the nodes are not available because other jobs
   acquired them, or work was lost, so the job still has work to do after the last step. */
static bool has_failed(const struct hr__deadline *self, const struct hr__deadline_job *job, uint32_t pool) {
  if (pool == HR_NONE) return job->next_step == job->itinerary.n_steps;
  return pool != job->pool &&
         hr_cluster_offer(self->cluster, (hr_pool){pool}) < hr__deadline_nodes(self, job->job, pool);
}

/* Returns the pool of the current itinerary step. A job without a deadline, or without an itinerary that it can follow,
   uses the rule deadline-greedy instead. */
static uint32_t itinerary_pool(const struct hr__deadline *self, const struct hr_view *view,
                               struct hr__deadline_job *job) {
  struct hr__itinerary *itinerary = &job->itinerary;
  if (itinerary->n_steps == 0) return online_pool(self, view, job, false);
  while (job->next_step < itinerary->n_steps && itinerary->steps[job->next_step].at_us <= view->now_us)
    job->next_step++;
  uint32_t pool = job->next_step ? itinerary->steps[job->next_step - 1].pool : HR_NONE;
  if (!has_failed(self, job, pool)) return pool;
  itinerary->n_steps = job->next_step = 0;
  return online_pool(self, view, job, false);
}

/* Returns the pool that the job should use now, by the rule of the policy; HR_NONE: none. */
static uint32_t wanted_pool(const struct hr__deadline *self, const struct hr_view *view, struct hr__deadline_job *job) {
  if (self->rule == HR__DEADLINE_OMNISCIENT) return itinerary_pool(self, view, job);
  return online_pool(self, view, job, self->rule == HR__DEADLINE_UNIFORM_PROGRESS);
}

/* ---- Rules: wake-ups -------------------------------------------------------------------------------- */

static int64_t earliest(int64_t now_us, int64_t a_us, int64_t b_us) {
  if (a_us <= now_us) return b_us;
  return b_us <= now_us || a_us < b_us ? a_us : b_us;
}

/* Returns the time at which a job without nodes falls behind the pace, or ends its wait because its deadline is no
   longer loose. HR_NEVER_US: neither happens. */
static int64_t idle_change_us(const struct hr__deadline *self, const struct hr_view *view,
                              const struct hr__deadline_job *job) {
  int64_t done_us = hr_view_done_us(view, job->job) - job->pace_done_us,
          work_us = view->jobs->work_us[job->job.id] - job->pace_done_us;
  if (job->is_loose) return job->deadline_us - (int64_t)((wide)left_us(view, job) * PPM / self->tight_ppm);
  if (self->rule != HR__DEADLINE_UNIFORM_PROGRESS || work_us <= 0) return HR_NEVER_US;
  return job->pace_us + (int64_t)((wide)done_us * (job->deadline_us - job->pace_us) / work_us) + 1;
}

/* Returns the time at which a job that works on on-demand nodes is far enough ahead of the pace to leave them.
   HR_NEVER_US: never. */
static int64_t caught_up_us(const struct hr__deadline *self, const struct hr_view *view,
                            const struct hr__deadline_job *job) {
  wide gain = job->deadline_us - job->pace_us - (view->jobs->work_us[job->job.id] - job->pace_done_us),
       lead = ahead(view, job, view->now_us + self->lead_us);
  if (self->rule != HR__DEADLINE_UNIFORM_PROGRESS || gain <= 0) return HR_NEVER_US;
  return view->now_us + (int64_t)((gain - 1 - lead) / gain);
}

/* Returns the time at which a job that still changes over to spot nodes has to use on-demand nodes. This can happen
   only if the nodes may take longer to boot than the change-over time. HR_NEVER_US: it need not. */
static int64_t spot_too_late_us(const struct hr__deadline *self, const struct hr_view *view,
                                const struct hr__deadline_job *job) {
  const struct hr_duration *boot = &hr__deadline_spec(self, job->pool)->market.boot;
  bool is_short = boot->kind == HR_DURATION_FIXED && boot->a * (double)HR_SECOND_US <= (double)self->changeover_us;
  if (is_short || !job->has_on_demand || has_changed_over(self, view, job)) return HR_NEVER_US;
  return job->deadline_us - left_us(view, job) - reserve_us(self, 1) + 1;
}

/* Returns the first time after now at which the passage of time alone changes the decision of the rule; HR_NEVER_US:
   never. Conditions that are true now are ignored, because this pass has already acted on them. */
static int64_t next_change_us(const struct hr__deadline *self, const struct hr_view *view,
                              const struct hr__deadline_job *job) {
  int64_t next_us = HR_NEVER_US;
  if (job->next_step < job->itinerary.n_steps) return job->itinerary.steps[job->next_step].at_us;
  if (job->deadline_us == HR_NEVER_US || job->itinerary.n_steps || job->committed) return HR_NEVER_US;
  if (job->pool == HR_NONE)
    next_us = earliest(view->now_us, job->deadline_us - left_us(view, job) - reserve_us(self, 2) + 1,
                       idle_change_us(self, view, job));
  else if (holds(self, job, HR_MARKET_SPOT))
    next_us = spot_too_late_us(self, view, job);
  else if (holds(self, job, HR_MARKET_ON_DEMAND) && view->state[job->job.id] == HR_JOB_RUNNING)
    next_us = caught_up_us(self, view, job);
  return next_us > view->now_us ? next_us : HR_NEVER_US;
}

/* ---- Parameters ------------------------------------------------------------------------------------- */

static const char *const rule_names[] = {
#define RULE_NAME(text, value) text,
    HR__DEADLINE_RULES(RULE_NAME) NULL};
static const char *const placement_names[] = {"first-fit", "best-fit", "worst-fit", NULL};
static const enum hr_placement_rule placements[] = {HR_PLACE_FIRST_FIT, HR_PLACE_BEST_FIT, HR_PLACE_WORST_FIT};

enum {
  PARAM_RULE,
  PARAM_CHANGEOVER,
  PARAM_PLACEMENT,
  PARAM_TICK,
  PARAM_HYSTERESIS,
  PARAM_WAIT_BELOW,
  PARAM_WAIT_UNTIL
};

static const struct hr_param params[] = {
    HR__CHOICE("rule", "deadline-greedy", rule_names, HR__BASIC,
               "nodes of a job until its deadline requires on-demand nodes. deadline-greedy: spot nodes only; "
               "uniform-progress: spot nodes, and on-demand nodes if the job is behind an even pace; omniscient: the "
               "cheapest nodes if all future spot capacity is known"),
    HR__REAL("changeover_s", "0", 0, 1e9, HR__BASIC, "time to change nodes (boot and restart)"),
    HR__CHOICE("placement", "best-fit", placement_names, HR__BASIC,
               "where a job is placed in owned and reserved pools"),
    HR__REAL("tick_s", "0", 0, 1e9, HR__ADVANCED,
             "decisions are made only at multiples of this time, which is at least 1 s; nodes are paid for until the "
             "next multiple; 0: decisions are made at any time"),
    HR__REAL("hysteresis", "2", 0, 1e6, HR__ADVANCED,
             "uniform-progress: a job leaves on-demand nodes for spot nodes only if it is ahead of the even pace by at "
             "least this multiple of changeover_s"),
    HR__REAL("wait_below", "0.6", 0, 1, HR__ADVANCED,
             "uniform-progress: a job first uses only spot nodes if its work is less than this share of the time until "
             "its deadline; 0: no job does so"),
    HR__REAL("wait_until", "0.7", 0, 1, HR__ADVANCED,
             "uniform-progress: a job of wait_below uses only spot nodes until its remaining work is at least this "
             "share of the time until its deadline"),
    {0}};

/* Returns whether the job would fit in some pool of the given market if all nodes of the pool were available. */
static bool has_room_in(const struct hr__deadline *self, const struct hr__deadline_job *deadline_job,
                        enum hr_market market) {
  for (uint32_t i = 0; i < hr_cluster_pools(self->cluster); i++)
    if (may_use(self, deadline_job, i, market) &&
        hr__deadline_nodes(self, deadline_job->job, i) <= hr__deadline_spec(self, i)->nodes)
      return true;
  return false;
}

/* ---- Creation and jobs ------------------------------------------------------------------------------ */

static int64_t time_of(double seconds) {
  return (int64_t)(seconds * (double)HR_SECOND_US + 0.5);
}

static uint32_t ppm_of(double share) {
  return (uint32_t)(share * 1e6 + 0.5);
}

static enum hr_status create(const struct hr_policy_env *env, void **state, struct hr_error *error) {
  if (hr_cluster_gpu_inventory(env->cluster))
    return hr_fail(error, HR_BAD_INPUT, "policy 'deadline' does not support per-GPU allocation");
  double tick_s = env->params[PARAM_TICK].real;
  if (tick_s > 0 && tick_s < 1)
    return hr_fail(error, HR_BAD_INPUT, "policy 'deadline': 'tick_s' is %.9g, expected 0 or at least 1", tick_s);
  struct hr__deadline *self = hr_arena_alloc(env->arena, sizeof *self);
  if (!(*state = self)) return HR_NO_MEMORY;
  const struct hr_param_value *values = env->params;
  *self = (struct hr__deadline){.arena = env->arena,
                                .trace = env->jobs,
                                .cluster = env->cluster,
                                .rule = (enum hr__deadline_rule)values[PARAM_RULE].integer,
                                .changeover_us = time_of(values[PARAM_CHANGEOVER].real),
                                .tick_us = time_of(values[PARAM_TICK].real),
                                .lead_us =
                                    time_of(fmin(values[PARAM_HYSTERESIS].real * values[PARAM_CHANGEOVER].real, 1e9)),
                                .loose_ppm = ppm_of(values[PARAM_WAIT_BELOW].real),
                                .tight_ppm = ppm_of(values[PARAM_WAIT_UNTIL].real),
                                .is_fixed = !hr_cluster_changes(env->cluster),
                                .error = error};
  self->placer = hr_placer_create(env->arena, env->cluster, placements[values[PARAM_PLACEMENT].integer]);
  return HR__ARENA_ARRAY(env->arena, self->owned, hr__n_nodes(env->cluster) + 1) && self->placer ? HR_OK : HR_NO_MEMORY;
}

static uint32_t abilities(void *state) {
  const struct hr__deadline *self = state;
  uint32_t by_kind = self->is_fixed ? HR_POLICY_STARVES_NOBODY : HR_POLICY_MANAGES_CAPACITY | HR_POLICY_PREEMPTS;
  if (self->tick_us > 0 && !self->is_fixed) by_kind |= HR_POLICY_HOLDS_RUN;
  return HR_POLICY_REASONS_BY_JOB | by_kind;
}

/* Adds a submitted job, and, under the rule omniscient, computes its itinerary. */
static enum hr_status add_job(struct hr__deadline *self, const struct hr_view *view, hr_job job) {
  uint32_t max_nodes = 1;
  for (uint32_t i = 0; i < hr_cluster_pools(self->cluster); i++)
    if (hr__deadline_nodes(self, job, i) > max_nodes) max_nodes = hr__deadline_nodes(self, job, i);
  if (!HR__ARENA_HAS_ROOM(self->arena, self->jobs, self->count, self->capacity)) return HR_NO_MEMORY;
  const int64_t *deadline_us = self->trace->deadline_us;
  struct hr__deadline_job deadline_job = {
      .job = job, .from_us = view->now_us, .deadline_us = HR_NEVER_US, .pool = HR_NONE};
  if (deadline_us && deadline_us[job.id] != HR_UNKNOWN_US) deadline_job.deadline_us = deadline_us[job.id];
  if (!HR__ARENA_ARRAY(self->arena, deadline_job.nodes, max_nodes) ||
      !HR__ARENA_ARRAY(self->arena, deadline_job.slices, max_nodes))
    return HR_NO_MEMORY;
  deadline_job.committed = !has_room_in(self, &deadline_job, HR_MARKET_SPOT);
  deadline_job.has_on_demand = has_room_in(self, &deadline_job, HR_MARKET_ON_DEMAND);
  set_pace(self, view, &deadline_job);
  if (self->rule == HR__DEADLINE_OMNISCIENT && !self->is_fixed && deadline_job.deadline_us != HR_NEVER_US) {
    enum hr_status status = hr__itinerary_make(self, job, view->now_us, &deadline_job.itinerary);
    if (status != HR_OK) return status;
  }
  self->is_unsorted = self->is_unsorted || (self->count && self->jobs[self->count - 1].job.id > job.id);
  self->jobs[self->count++] = deadline_job;
  return HR_OK;
}

/* Returns NULL if the job has ended. */
static struct hr__deadline_job *find(const struct hr__deadline *self, hr_job job) {
  uint32_t from = 0, to = self->count;
  while (self->is_unsorted && from < to && self->jobs[from].job.id != job.id) from++;
  while (!self->is_unsorted && from < to) {
    uint32_t middle = from + (to - from) / 2;
    if (self->jobs[middle].job.id < job.id)
      from = middle + 1;
    else
      to = middle;
  }
  return from < self->count && self->jobs[from].job.id == job.id ? &self->jobs[from] : NULL;
}

/* Ends the job's ownership of its nodes. Nodes that still exist are released in the next pass, or at the next tick. */
static void drop_nodes(struct hr__deadline *self, struct hr__deadline_job *deadline_job) {
  self->has_spare = self->has_spare || deadline_job->n_nodes > 0;
  for (uint32_t i = 0; i < deadline_job->n_nodes; i++) self->owned[deadline_job->nodes[i].id] = false;
  deadline_job->n_nodes = 0;
  deadline_job->pool = HR_NONE;
}

/* Handles the loss of a node, even if the node was still booting: the job that owns the node loses all its nodes. */
static void lose_node(struct hr__deadline *self, hr_node node) {
  if (!self->owned[node.id]) return;
  for (uint32_t i = 0; i < self->count; i++)
    for (uint32_t k = 0; k < self->jobs[i].n_nodes; k++)
      if (self->jobs[i].nodes[k].id == node.id) drop_nodes(self, &self->jobs[i]);
}

static void remove_job(struct hr__deadline *self, hr_job job) {
  struct hr__deadline_job *deadline_job = find(self, job);
  drop_nodes(self, deadline_job);
  for (; deadline_job + 1 < self->jobs + self->count; deadline_job++) deadline_job[0] = deadline_job[1];
  self->count--;
}

static enum hr_status observe(void *state, const struct hr_view *view, const struct hr_event *event) {
  struct hr__deadline *self = state;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return add_job(self, view, event->job);
  case HR_EVENT_END:
    remove_job(self, event->job);
    return HR_OK;
  case HR_EVENT_WITHDRAW:
    remove_job(self, event->job);
    return hr__job_list_add(&self->withdrawn, self->arena, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_INTERRUPT:
    drop_nodes(self, find(self, event->job));
    return HR_OK;
  case HR_EVENT_NODE_DOWN:
    lose_node(self, event->node);
    return HR_OK;
  default:
    return HR_OK;
  }
}

/* Returns whether the job fits on the free capacity of any pool. */
static bool fits(const struct hr__deadline *self, hr_job job, struct hr_placement *placement) {
  return hr_placer_find(self->placer, self->trace->gpus[job.id], hr_cluster_accept_class(self->cluster, job),
                        placement);
}

/* ---- Fixed capacity --------------------------------------------------------------------------------- */

static bool is_fixed(const struct hr__deadline *self, uint32_t pool) {
  return pool != HR_NONE && !hr__pool_is_elastic(self->cluster, (hr_pool){pool});
}

/* Starts a job without nodes in the first owned or reserved pool in which it fits. */
static enum hr_status start_on_fixed(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves,
                                     struct hr__deadline_job *deadline_job) {
  if (deadline_job->pool != HR_NONE || view->state[deadline_job->job.id] != HR_JOB_WAITING) return HR_OK;
  uint32_t accept_class = hr_cluster_accept_class(self->cluster, deadline_job->job);
  for (uint32_t i = 0; i < hr_cluster_pools(self->cluster); i++) {
    struct hr_placement placement;
    if (!is_fixed(self, i) || !hr_cluster_accepts(self->cluster, accept_class, (hr_pool){i})) continue;
    if (!hr_placer_find_on(self->placer, (hr_pool){i}, self->trace->gpus[deadline_job->job.id], &placement)) continue;
    deadline_job->pool = i;
    deadline_job->itinerary.n_steps = 0;
    return hr_moves_start(moves, deadline_job->job, &placement, HR_REASON_IN_ORDER);
  }
  return HR_OK;
}

/* ---- Moves ------------------------------------------------------------------------------------------ */

/* Preempts the job if it runs, and ends its ownership of its nodes. */
static enum hr_status leave(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves,
                            struct hr__deadline_job *deadline_job) {
  enum hr_status status = HR_OK;
  if (view->state[deadline_job->job.id] == HR_JOB_RUNNING)
    status = hr_moves_preempt(moves, deadline_job->job, HR_REASON_POLICY);
  drop_nodes(self, deadline_job);
  return status;
}

/* Acquires nodes for the job. The move that requests nodes does not return them; they are the nodes of the pool that
   began to boot now and have no owner yet. */
static enum hr_status acquire(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves,
                              struct hr__deadline_job *deadline_job, uint32_t pool) {
  uint32_t wanted = hr__deadline_nodes(self, deadline_job->job, pool),
           first = hr_cluster_first_node(self->cluster, (hr_pool){pool}).id;
  if (hr_cluster_offer(self->cluster, (hr_pool){pool}) < wanted) return HR_OK;
  enum hr_status status = hr_moves_acquire(moves, (hr_pool){pool}, wanted);
  for (uint32_t i = first; i < first + hr__deadline_spec(self, pool)->nodes && deadline_job->n_nodes < wanted; i++) {
    hr_node node = {i};
    if (self->owned[i] || hr_cluster_node_state(self->cluster, node) != HR_NODE_BOOTING ||
        hr_cluster_node_since_us(self->cluster, node) != view->now_us)
      continue;
    self->owned[i] = true;
    deadline_job->nodes[deadline_job->n_nodes++] = node;
  }
  deadline_job->pool = pool;
  deadline_job->acquired_us = view->now_us;
  return status;
}

/* Starts the job when all its nodes are up. */
static enum hr_status start(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves,
                            struct hr__deadline_job *deadline_job) {
  if (deadline_job->pool == HR_NONE || view->state[deadline_job->job.id] != HR_JOB_WAITING) return HR_OK;
  for (uint32_t i = 0; i < deadline_job->n_nodes; i++)
    if (hr_cluster_node_state(self->cluster, deadline_job->nodes[i]) != HR_NODE_UP) return HR_OK;
  uint32_t left = self->trace->gpus[deadline_job->job.id],
           size = hr__deadline_spec(self, deadline_job->pool)->gpus_per_node;
  for (uint32_t i = 0; i < deadline_job->n_nodes; i++) {
    uint32_t gpus = left < size ? left : size;
    deadline_job->slices[i] = (struct hr_slice){deadline_job->nodes[i], gpus * 1000, 0};
    left -= gpus;
  }
  struct hr_placement placement = {{deadline_job->pool}, deadline_job->n_nodes, deadline_job->slices};
  return hr_moves_start(moves, deadline_job->job, &placement, HR_REASON_IN_ORDER);
}

/* Releases nodes that belong to no job. */
static enum hr_status release_unowned(struct hr__deadline *self, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  for (uint32_t pool = 0; pool < hr_cluster_pools(self->cluster); pool++) {
    uint32_t first = hr_cluster_first_node(self->cluster, (hr_pool){pool}).id;
    const struct hr_pool_spec *spec = hr__deadline_spec(self, pool);
    if (!hr_market_is_elastic(spec->market.market)) continue;
    for (uint32_t i = first; i < first + spec->nodes && status == HR_OK; i++) {
      enum hr_node_state state = hr_cluster_node_state(self->cluster, (hr_node){i});
      if (!self->owned[i] && (state == HR_NODE_UP || state == HR_NODE_BOOTING))
        status = hr_moves_release(moves, (hr_node){i});
    }
  }
  return status;
}

/* Requests a wake-up: at the next tick if there is anything to decide then, or without ticks for the first change of a
   decision of any job. */
static enum hr_status wake(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves) {
  int64_t next_us = HR_NEVER_US;
  if (self->tick_us > 0 && (self->count > 0 || self->has_spare)) next_us = hr__deadline_tick_us(self, view->now_us + 1);
  for (uint32_t i = 0; i < self->count && self->tick_us == 0; i++) {
    int64_t change_us = next_change_us(self, view, &self->jobs[i]);
    if (change_us < next_us) next_us = change_us;
  }
  return hr__wake(&self->wake_us, view, moves, next_us);
}

/* Starts jobs in the order of their submission until a job does not fit. */
static enum hr_status start_in_order(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < self->count && status == HR_OK; i++) {
    hr_job job = self->jobs[i].job;
    struct hr_placement placement;
    if (view->state[job.id] != HR_JOB_WAITING) continue;
    if (!fits(self, job, &placement)) return HR_OK;
    status = hr_moves_start(moves, job, &placement, HR_REASON_IN_ORDER);
  }
  return status;
}

/* Acquires and releases nodes as the rule of the policy requires, and starts jobs with nodes that are up. */
static enum hr_status apply_rule(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves) {
  /* released first, so that other jobs can acquire the released nodes in this pass */
  enum hr_status status = release_unowned(self, moves);
  for (uint32_t i = 0; i < self->count && status == HR_OK; i++) {
    struct hr__deadline_job *deadline_job = &self->jobs[i];
    status = start_on_fixed(self, view, moves, deadline_job);
    if (status != HR_OK || is_fixed(self, deadline_job->pool)) continue;
    uint32_t pool = wanted_pool(self, view, deadline_job);
    if (pool != deadline_job->pool && deadline_job->pool != HR_NONE) status = leave(self, view, moves, deadline_job);
    if (status == HR_OK && pool != deadline_job->pool) status = acquire(self, view, moves, deadline_job, pool);
    if (status == HR_OK) status = start(self, view, moves, deadline_job);
  }
  if (status == HR_OK) status = release_unowned(self, moves);
  self->has_spare = false;
  return status;
}

/* Starts jobs with nodes that are up. */
static enum hr_status start_booted(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < self->count && status == HR_OK; i++) status = start(self, view, moves, &self->jobs[i]);
  return status;
}

static enum hr_status decide(void *state, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__deadline *self = state;
  enum hr_status status = hr__job_list_reject(&self->withdrawn, moves, HR_REASON_WITHDRAWN);
  if (status != HR_OK) return status;
  if (self->is_fixed) return start_in_order(self, view, moves);
  bool is_tick = hr__deadline_tick_us(self, view->now_us) == view->now_us;
  status = is_tick ? apply_rule(self, view, moves) : start_booted(self, view, moves);
  return status == HR_OK ? wake(self, view, moves) : status;
}

/* Wait reasons: the job's own nodes are booting; the rule waits for spot capacity although on-demand nodes are
   available; or the cluster has no nodes for the job. */

static void explain_order(const struct hr__deadline *self, const struct hr_view *view, hr_job job,
                          struct hr_wait_reason *wait) {
  struct hr_placement unused;
  uint32_t first = 0;
  while (view->state[self->jobs[first].job.id] != HR_JOB_WAITING) first++; /* at least `job` waits */
  if (self->jobs[first].job.id == job.id || !fits(self, job, &unused)) return;
  wait->reason = HR_WAIT_REASON_ORDER;
  wait->behind = self->jobs[first].job;
}

static void explain(void *state, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  const struct hr__deadline *self = state;
  const struct hr__deadline_job *deadline_job = find(self, job);
  hr_view_lack(view, job, wait);
  if (!deadline_job) return;
  if (self->is_fixed) {
    explain_order(self, view, job, wait);
    return;
  }
  bool on_demand_available = offer(self, deadline_job, HR_MARKET_ON_DEMAND, view->now_us) != HR_NONE;
  if (deadline_job->pool != HR_NONE)
    wait->reason = HR_WAIT_REASON_BOOTING;
  else if (on_demand_available || wait->reason != HR_WAIT_REASON_CAPACITY)
    wait->reason = HR_WAIT_REASON_MARKET;
}

HR_POLICY(deadline) = {HR_POLICY_HEAD,
                       .name = "deadline",
                       .summary = "each job acquires its own nodes: spot if possible, on-demand if its deadline "
                                  "requires it",
                       .params = params,
                       .create = create,
                       .observe = observe,
                       .decide = decide,
                       .abilities = abilities,
                       .explain = explain};
