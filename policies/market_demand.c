/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who waits, by what they ask for; for spot-first, each shape counts its jobs whose while of waiting for spot capacity
   is over, and where there are quotas, those that they hold back. */

#include "policies/market_plan.h"
#include "policies/quota.h"

static bool may_use_spot(const struct hr__queue *queue, uint32_t accept_class) {
  for (uint32_t i = 0; i < queue->market->n_pools; i++)
    if (hr__market_is_spot(queue, i) && hr_cluster_accepts(queue->cluster, accept_class, (hr_pool){i})) return true;
  return false;
}

static uint32_t find_demand(struct hr__queue *queue, hr_job job) {
  struct hr__market_plan *market = queue->market;
  uint32_t gpus = hr__gpus(queue, job), accept_class = hr_cluster_accept_class(queue->cluster, job);
  for (uint32_t i = 0; i < market->n_demands; i++)
    if (market->demands[i].gpus == gpus && market->demands[i].accept_class == accept_class) return i;
  if (market->n_demands == market->demands_capacity) {
    struct hr__demand *demands =
        hr_arena_grown(queue->arena, market->demands, &market->demands_capacity, sizeof *demands);
    if (!demands) return HR_NONE;
    market->demands = demands;
  }
  market->demands[market->n_demands] =
      (struct hr__demand){.gpus = gpus,
                          .accept_class = accept_class,
                          .is_single = hr_placer_is_single(queue->placer, gpus, accept_class),
                          .may_use_spot = may_use_spot(queue, accept_class)};
  return market->n_demands++;
}

enum hr_status hr__market_job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__market_plan *market = queue->market;
  if (hr__gpus(queue, job) == 0) return HR_OK;
  uint32_t at = find_demand(queue, job);
  if (at == HR_NONE) return HR_NO_MEMORY;
  market->demand_of[job.id] = at;
  market->demands[at].count++;
  market->patience_us[job.id] = view->now_us + market->limits.spot_wait_us;
  if (market->limits.rule != HR__MARKET_SPOT_FIRST || !market->demands[at].may_use_spot) return HR_OK;
  struct hr__due due = {market->patience_us[job.id], job.id};
  return hr__dues_add(&market->patience, queue->arena, due) ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr__market_job_waits_no_more(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  struct hr__market_plan *market = queue->market;
  if (hr__gpus(queue, job) == 0) return HR_OK;
  struct hr__demand *demand = &market->demands[market->demand_of[job.id]];
  demand->count--;
  demand->impatient -= market->patience_us[job.id] == HR__IMPATIENT;
  market->patience_us[job.id] = HR_NEVER_US;
  return HR_OK;
}

/* A job may be over before its while is: its column then says never, or zero once it has been forgotten. Neither is a
   time that is due: what is due at 0 is taken in the first pass, before which no job that waited can be over. */
void hr__market_lose_patience(struct hr__market_plan *market, int64_t now_us) {
  struct hr__due due;
  while (hr__dues_take(&market->patience, now_us, &due)) {
    if (market->patience_us[due.id] != due.at_us) continue; /* it has started since */
    market->patience_us[due.id] = HR__IMPATIENT;
    market->demands[market->demand_of[due.id]].impatient++;
  }
}

/* Counts a job as one that its quota lets run beside those counted before. */
static bool count_in(void *self, struct hr_job_entry entry) {
  struct hr__queue *queue = self;
  struct hr__market_plan *market = queue->market;
  if (hr__gpus(queue, entry.job) == 0) return true;
  if (!hr__quota_allows(queue, entry.job)) return false;
  if (market->n_counted == market->counted_capacity) {
    market->counted = hr_arena_grown(queue->arena, market->counted, &market->counted_capacity, sizeof(hr_job));
    if (!market->counted) return false;
  }
  market->counted[market->n_counted++] = entry.job;
  market->demands[market->demand_of[entry.job.id]].held--;
  hr__quota_put_back(queue, entry.job);
  return true;
}

bool hr__market_count_held(struct hr__queue *queue) {
  struct hr__market_plan *market = queue->market;
  market->n_counted = 0;
  for (uint32_t i = 0; i < market->n_demands; i++) market->demands[i].held = market->demands[i].count;
  for (uint32_t i = 0; i < queue->waiting.n_active_lanes; i++)
    hr_job_tree_each(&queue->waiting.active_lanes[i]->jobs, count_in, queue);
  for (uint32_t i = 0; i < market->n_counted; i++) hr__quota_leave_out(queue, market->counted[i]);
  return market->counted || market->n_counted == 0;
}
