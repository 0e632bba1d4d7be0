/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Properties of a loaded scenario: whether it has prices, and whether its runs depend on random numbers. */

#include "headroom/power.h"
#include "headroom/scenario.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/services.h"
#include "headroom/unstable/trace_tools.h"
#include "scenarios/build/builder.h"

bool hr_scenario_has_prices(const struct hr_scenario *scenario) {
  const struct hr_cost_spec *costs = &scenario->costs;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++)
    if (scenario->cluster.pools[i].market.market != HR_MARKET_NONE) return true;
  return costs->storage.uusd_per_gb_month || costs->egress.uusd_per_gb || costs->operations.uusd_per_month ||
         costs->operations.uusd_per_node_month || costs->downtime.uusd_per_gpu_hour ||
         costs->downtime.uusd_per_missed_deadline || costs->n_plans;
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
