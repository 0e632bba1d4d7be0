/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rules of the policy `deadline`: which pool a job should use now, and when the passage of time alone changes this.
 *
 * C is the work left, R the time to the deadline and d the change-over time. The safety nets are the same for all
 * rules. A job with no nodes or on on-demand nodes uses on-demand nodes when R < C + 2 d. A job on spot nodes keeps
 * them until they are reclaimed; but if it still changes over and R < C + d, it uses on-demand nodes.
 *
 * With ticks (`tick_s`), the rules are those of the simulator of the authors (Wu et al., "Can't Be Late", NSDI'24):
 * times are compared in whole ticks, C rounded up and R rounded down, and a job is at its limit if they are equal. Such
 * a job is not committed: after the tick it may be within the limit again.
 *
 * Invariant: without ticks, every decision that depends on time has a wake-up in hr__deadline_next_us. So the decisions
 * for a job do not depend on the times at which events of other jobs cause a pass.
 */

#include "policies/deadline/deadline.h"

__extension__ typedef __int128 wide;

enum { PPM = 1000000 };

/* ---- Conditions ----------------------------------------------------------------------------------- */

bool hr__deadline_may_use(const struct hr__deadline *self, const struct hr__deadline_job *job, uint32_t pool,
                          enum hr_market market) {
  if (hr__deadline_spec(self, pool)->market.market != market) return false;
  return hr_cluster_accepts(self->cluster, hr_cluster_accept_class(self->cluster, job->job), (hr_pool){pool});
}

uint32_t hr__deadline_offer(const struct hr__deadline *self, const struct hr__deadline_job *job, enum hr_market market,
                            int64_t now_us) {
  uint32_t best = HR_NONE;
  int64_t best_price = 0;
  for (uint32_t i = 0; i < hr_cluster_pools(self->cluster); i++) {
    if (!hr__deadline_may_use(self, job, i, market)) continue;
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

/* Returns how much the work done exceeds the even pace at the time `at_us`, multiplied by the time of the pace. The
   pace is a line from its beginning to the deadline; negative: the job is behind. */
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

/* ---- Loose deadlines ------------------------------------------------------------------------------ */

/* Returns whether C / R is at least `ppm` millionths. */
static bool is_tight(const struct hr_view *view, const struct hr__deadline_job *job, uint32_t ppm) {
  return (wide)left_us(view, job) * PPM >= (wide)(job->deadline_us - view->now_us) * ppm;
}

void hr__deadline_set_pace(const struct hr__deadline *self, const struct hr_view *view, struct hr__deadline_job *job) {
  job->pace_us = job->from_us;
  job->pace_done_us = 0;
  if (self->rule != HR__DEADLINE_UNIFORM_PROGRESS || job->deadline_us == HR_NEVER_US) return;
  job->is_loose = !is_tight(view, job, self->loose_ppm) && !is_tight(view, job, self->tight_ppm);
}

/* Ends the wait of a job with a loose deadline, if the job has no nodes and its deadline is no longer loose. The even
   pace then begins again. */
static void end_wait(const struct hr__deadline *self, const struct hr_view *view, struct hr__deadline_job *job) {
  if (!job->is_loose || job->pool != HR_NONE || !is_tight(view, job, self->tight_ppm)) return;
  job->is_loose = false;
  job->pace_us = view->now_us;
  job->pace_done_us = hr_view_done_us(view, job->job);
}

/* ---- Rules ---------------------------------------------------------------------------------------- */

/* Returns the pool of a job on spot nodes: the same pool, or an on-demand pool. */
static uint32_t after_spot(const struct hr__deadline *self, const struct hr_view *view, struct hr__deadline_job *job) {
  if (!is_urgent(self, view, job, 1) || has_changed_over(self, view, job)) return job->pool;
  uint32_t pool = hr__deadline_offer(self, job, HR_MARKET_ON_DEMAND, view->now_us);
  if (pool == HR_NONE) return job->pool;
  job->committed = self->tick_us == 0;
  return pool;
}

/* Returns the pool of a job that needs on-demand capacity. With ticks and without a change-over time, spot capacity is
   as good, because the job can leave it at no cost. */
static uint32_t urgent_pool(const struct hr__deadline *self, const struct hr_view *view,
                            const struct hr__deadline_job *job) {
  bool is_free = self->tick_us > 0 && self->changeover_us == 0;
  uint32_t spot = is_free ? hr__deadline_offer(self, job, HR_MARKET_SPOT, view->now_us) : HR_NONE;
  if (spot != HR_NONE) return spot;
  if (holds(self, job, HR_MARKET_ON_DEMAND)) return job->pool;
  return hr__deadline_offer(self, job, HR_MARKET_ON_DEMAND, view->now_us);
}

/* Returns the pool that the job should use by the rules deadline-greedy and uniform-progress; HR_NONE: none. */
static uint32_t online_pool(const struct hr__deadline *self, const struct hr_view *view, struct hr__deadline_job *job,
                            bool is_even) {
  if (holds(self, job, HR_MARKET_SPOT)) return after_spot(self, view, job);
  end_wait(self, view, job);
  bool is_late = job->committed || is_urgent(self, view, job, 2);
  if (self->tick_us == 0) job->committed = is_late;
  if (is_late) return urgent_pool(self, view, job);
  bool keeps_pace = is_even && !job->is_loose, on_demand = keeps_pace && holds(self, job, HR_MARKET_ON_DEMAND);
  if (on_demand && must_catch_up(self, view, job)) return job->pool;
  uint32_t spot = hr__deadline_offer(self, job, HR_MARKET_SPOT, view->now_us);
  if (spot != HR_NONE) return spot;
  if (on_demand) return job->pool;
  return keeps_pace && is_behind(view, job) ? hr__deadline_offer(self, job, HR_MARKET_ON_DEMAND, view->now_us)
                                            : HR_NONE;
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

uint32_t hr__deadline_wanted(const struct hr__deadline *self, const struct hr_view *view,
                             struct hr__deadline_job *job) {
  if (self->rule == HR__DEADLINE_OMNISCIENT) return itinerary_pool(self, view, job);
  return online_pool(self, view, job, self->rule == HR__DEADLINE_UNIFORM_PROGRESS);
}

/* ---- Wake-ups ------------------------------------------------------------------------------------- */

static int64_t earliest(int64_t now_us, int64_t a_us, int64_t b_us) {
  if (a_us <= now_us) return b_us;
  return b_us <= now_us || a_us < b_us ? a_us : b_us;
}

/* Returns the time at which a job without nodes falls behind the pace, or ends its wait because its deadline is no
   longer loose. */
static int64_t idle_change_us(const struct hr__deadline *self, const struct hr_view *view,
                              const struct hr__deadline_job *job) {
  int64_t done_us = hr_view_done_us(view, job->job) - job->pace_done_us,
          work_us = view->jobs->work_us[job->job.id] - job->pace_done_us;
  if (job->is_loose) return job->deadline_us - (int64_t)((wide)left_us(view, job) * PPM / self->tight_ppm);
  if (self->rule != HR__DEADLINE_UNIFORM_PROGRESS || work_us <= 0) return HR_NEVER_US;
  return job->pace_us + (int64_t)((wide)done_us * (job->deadline_us - job->pace_us) / work_us) + 1;
}

/* Returns the time at which a job that works on on-demand nodes is far enough ahead of the pace to leave them. */
static int64_t caught_up_us(const struct hr__deadline *self, const struct hr_view *view,
                            const struct hr__deadline_job *job) {
  wide gain = job->deadline_us - job->pace_us - (view->jobs->work_us[job->job.id] - job->pace_done_us),
       lead = ahead(view, job, view->now_us + self->lead_us);
  if (self->rule != HR__DEADLINE_UNIFORM_PROGRESS || gain <= 0) return HR_NEVER_US;
  return view->now_us + (int64_t)((gain - 1 - lead) / gain);
}

/* Returns the time at which a job that still changes over to spot nodes has to use on-demand nodes. This can happen
   only if the nodes may take longer to boot than the change-over time. */
static int64_t spot_too_late_us(const struct hr__deadline *self, const struct hr_view *view,
                                const struct hr__deadline_job *job) {
  const struct hr_duration *boot = &hr__deadline_spec(self, job->pool)->market.boot;
  bool is_short = boot->kind == HR_DURATION_FIXED && boot->a * (double)HR_SECOND_US <= (double)self->changeover_us;
  if (is_short || !job->has_on_demand || has_changed_over(self, view, job)) return HR_NEVER_US;
  return job->deadline_us - left_us(view, job) - reserve_us(self, 1) + 1;
}

int64_t hr__deadline_next_us(const struct hr__deadline *self, const struct hr_view *view,
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
