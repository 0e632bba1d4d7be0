/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a scenario has, told from what was built. */

#include "headroom/scenario.h"

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

bool hr_scenario_is_random(const struct hr_scenario *scenario) {
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    const struct hr_market_spec *market = &pool->market;
    if (pool->nodes == 0 || !hr_market_is_elastic(market->market)) continue;
    if (market->boot.kind != HR_DURATION_FIXED) return true;
    if (market->market == HR_MARKET_SPOT && has_draws(&market->spot)) return true;
  }
  return scenario->prices_drawn;
}
