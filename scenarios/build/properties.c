/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Properties of a loaded scenario: whether it has prices, and whether its runs depend on random numbers. */

#include "headroom/power.h"
#include "headroom/scenario.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/scenario_clusters.h"
#include "headroom/unstable/services.h"
#include "headroom/unstable/trace_tools.h"
#include "scenarios/build/builder.h"

#include <stddef.h>
#include <stdlib.h>

bool hr_scenario_has_prices(const struct hr_scenario *scenario) {
  const struct hr_cost_spec *costs = &scenario->costs;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++)
    if (scenario->cluster.pools[i].market.market != HR_MARKET_NONE) return true;
  return costs->storage.uusd_per_gb_month || costs->egress.uusd_per_gb || costs->operations.uusd_per_month ||
         costs->operations.uusd_per_node_month || costs->downtime.uusd_per_gpu_hour ||
         costs->downtime.uusd_per_missed_deadline || costs->n_plans;
}

static uint32_t *add_usable_nodes(const struct hr_scenario *scenario, uint32_t *nodes) {
  const struct hr_policy_choice *policy = &scenario->policy;
  const bool has_limits = policy->ops->size > offsetof(struct hr_policy_ops, usable_nodes) && policy->ops->usable_nodes;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++)
    *nodes++ = has_limits ? policy->ops->usable_nodes(policy->params, &scenario->cluster, (hr_pool){i})
                          : scenario->cluster.pools[i].nodes;
  return nodes;
}

uint32_t *hr_scenario_usable_nodes(const struct hr_scenario *scenario) {
  const struct hr_scenario_clusters *clusters = scenario->clusters;
  uint32_t *nodes = calloc((size_t)scenario->cluster.n_pools + 1, sizeof *nodes), *at = nodes;
  for (uint32_t i = 0; nodes && i < (clusters ? clusters->count : 1); i++)
    at = add_usable_nodes(clusters ? clusters->at[i].scenario : scenario, at);
  return nodes;
}

static bool has_draws(const struct hr_spot_spec *spot) {
  switch (spot->model) {
  case HR_SPOT_ON_OFF:
  case HR_SPOT_BATHTUB:
    return true;
  case HR_SPOT_EXPONENTIAL:
  case HR_SPOT_ADVISOR:
    return spot->rate_per_h > 0;
  case HR_SPOT_NONE:
  case HR_SPOT_TRACE:
  case HR_N_SPOT_MODELS:
    return false;
  }
  return false;
}

static bool service_draws(const struct hr_service *service) {
  return hr_requests_are_random(service) || service->router == HR_SERVICE_RANDOM ||
         service->router == HR_SERVICE_POWER_OF_TWO;
}

bool hr__pool_fails(const struct hr_pool_spec *pool) {
  const struct hr_fault_spec *faults = pool->nodes > 0 ? pool->faults : NULL;
  return faults && (faults->n_processes > 0 || faults->spares > 0 || faults->slow.speed_ppm > 0);
}

bool hr_scenario_is_random(const struct hr_scenario *scenario) {
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    const struct hr_market_spec *market = &pool->market;
    if (hr__pool_fails(pool)) return true;
    if (pool->nodes > 0 && pool->power && pool->power->sleep.boot.kind != HR_DURATION_FIXED) return true;
    if (pool->nodes == 0 || !hr_market_is_elastic(market->market)) continue;
    if (market->boot.kind != HR_DURATION_FIXED || market->queue.kind != HR_DURATION_FIXED) return true;
    if (market->market == HR_MARKET_SPOT && has_draws(&market->spot)) return true;
  }
  for (uint32_t i = 0; scenario->services && i < scenario->services->count; i++)
    if (service_draws(&scenario->services->at[i])) return true;
  return scenario->prices_drawn;
}
