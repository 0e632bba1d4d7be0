/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A loaded scenario under stress. All that could be refused is looked at first, so a scenario is changed wholly or not
 * at all. More reclaims are time that runs faster: what is drawn stays what it was, so a node that would be reclaimed
 * after ten hours is, twice as often, reclaimed after five.
 */

#include "headroom/unstable/stress.h"
#include "scenarios/build/builder.h"
#include "scenarios/catalog/catalog_tables.h"
#include "sim/market/market.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

#define MILLION INT64_C(1000000)
#define LEAST_RECLAIMS 1e-3
#define MOST_TIMES 1e3
#define MOST_RATE_PER_H 3600.0 /* what a scenario may state: a reclaim a second */
#define LEAST_ROUND_S 1.0      /* likewise of `up` and `down` together */
#define LEAST_LIFE_H 1e-6

void hr_stress_init(struct hr_stress *stress) {
  *stress = (struct hr_stress){.spot_reclaims = 1, .spot_price = 1, .on_demand_price = 1};
}

/* ---- Reclaims --------------------------------------------------------------------------------------- */

static void hasten_duration(struct hr_duration *duration, double times) {
  switch (duration->kind) {
  case HR_DURATION_FIXED:
  case HR_DURATION_EXPONENTIAL:
    duration->a /= times;
    return;
  case HR_DURATION_LOG_NORMAL:
    duration->a -= log(times);
    return;
  case HR_DURATION_WEIBULL:
    duration->b /= times;
    return;
  }
}

static void hasten_bathtub(struct hr_bathtub *bathtub, double times) {
  bathtub->tau1_h /= times;
  bathtub->tau2_h /= times;
  bathtub->b_h /= times;
  bathtub->last_h /= times;
}

static int64_t hastened_us(int64_t us, double times) {
  return (int64_t)llround((double)us / times);
}

/* Steps that would fall on one microsecond follow one another. */
static void hasten_record(struct hr_spot_spec *spot, double times) {
  int64_t before_us = -1;
  if (spot->period_us <= 0) return;
  spot->offset_us = hastened_us(spot->offset_us % spot->period_us, times);
  spot->period_us = hastened_us(spot->period_us, times);
  for (uint32_t i = 0; i < spot->n_levels; i++) {
    int64_t at_us = hastened_us(spot->levels[i].at_us, times);
    before_us = spot->levels[i].at_us = at_us > before_us ? at_us : before_us + 1;
  }
  if (spot->period_us <= before_us) spot->period_us = before_us + 1;
}

static void hasten(struct hr_spot_spec *spot, double times) {
  switch (spot->model) {
  case HR_SPOT_TRACE:
    hasten_record(spot, times);
    return;
  case HR_SPOT_ON_OFF:
    hasten_duration(&spot->up, times);
    hasten_duration(&spot->down, times);
    return;
  case HR_SPOT_EXPONENTIAL:
  case HR_SPOT_ADVISOR:
    spot->rate_per_h *= times;
    return;
  case HR_SPOT_BATHTUB:
    hasten_bathtub(&spot->bathtub, times);
    return;
  case HR_SPOT_NONE:
  case HR_N_SPOT_MODELS:
    return;
  }
}

/* Bounds of what a scenario may state hold of what becomes of it, too: beyond them a run takes for ever. */
static enum hr_status check_pace(const struct hr_scenario *scenario, const struct hr_pool_spec *pool, double times,
                                 struct hr_error *error) {
  const struct hr_spot_spec *spot = &pool->market.spot;
  double round_s = (hr__duration_mean_s(&spot->up) + hr__duration_mean_s(&spot->down)) / times;
  bool is_drawn = spot->model == HR_SPOT_EXPONENTIAL || spot->model == HR_SPOT_ADVISOR;
  if (is_drawn && spot->rate_per_h * times > MOST_RATE_PER_H)
    return hr_fail(error, HR_BAD_INPUT, "%s: pool '%.60s', reclaims %.10g times: %.4g an hour are more than %g",
                   scenario->path, pool->name, times, spot->rate_per_h * times, MOST_RATE_PER_H);
  if (spot->model == HR_SPOT_ON_OFF && round_s < LEAST_ROUND_S)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: pool '%.60s', reclaims %.10g times: 'up' and 'down' together would last %.4g s on average; a "
                   "second is the least",
                   scenario->path, pool->name, times, round_s);
  if (spot->model == HR_SPOT_BATHTUB && spot->bathtub.last_h / times < LEAST_LIFE_H)
    return hr_fail(error, HR_BAD_INPUT, "%s: pool '%.60s', reclaims %.10g times: no node would live for %g h",
                   scenario->path, pool->name, times, LEAST_LIFE_H);
  if (spot->model == HR_SPOT_TRACE && (double)spot->period_us / times > (double)HR_MAX_INPUT_US)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: pool '%.60s', reclaims %.10g times: its record would last for more than 3,000 years",
                   scenario->path, pool->name, times);
  return HR_OK;
}

/* ---- Prices ----------------------------------------------------------------------------------------- */

static int64_t millionths(double times) {
  return (int64_t)llround(times * (double)MILLION);
}

static int64_t scaled(int64_t uusd_h, double times) {
  return uusd_h == HR_UNKNOWN_UUSD_H ? uusd_h : hr__money_scale(uusd_h, millionths(times), MILLION);
}

/* How many times its price a pool has; 1 where neither factor is of its market. */
static double price_times(const struct hr_market_spec *market, const struct hr_stress *stress) {
  if (market->market == HR_MARKET_SPOT) return stress->spot_price;
  return market->market == HR_MARKET_ON_DEMAND ? stress->on_demand_price : 1;
}

static void change_prices(struct hr_market_spec *market, const struct hr_stress *stress) {
  double times = price_times(market, stress);
  market->price_uusd_h = scaled(market->price_uusd_h, times);
  for (uint32_t i = 0; i < market->n_prices; i++) market->prices[i].uusd_h = scaled(market->prices[i].uusd_h, times);
  market->on_demand_uusd_h = scaled(market->on_demand_uusd_h, stress->on_demand_price);
}

static enum hr_status check_prices(const struct hr_scenario *scenario, const struct hr_pool_spec *pool,
                                   const struct hr_stress *stress, struct hr_error *error) {
  const struct hr_market_spec *market = &pool->market;
  double times = price_times(market, stress);
  int64_t highest = scaled(market->price_uusd_h, times),
          on_demand = scaled(market->on_demand_uusd_h, stress->on_demand_price);
  for (uint32_t i = 0; i < market->n_prices; i++)
    if (scaled(market->prices[i].uusd_h, times) > highest) highest = scaled(market->prices[i].uusd_h, times);
  if (on_demand > highest) highest = on_demand;
  if (highest <= HR_MAX_USD_H * MILLION) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: pool '%.60s': a price of %.10g $ per GPU-hour is too high; at most %d $",
                 scenario->path, pool->name, (double)highest / 1e6, HR_MAX_USD_H);
}

/* ---- A type that cannot be had ---------------------------------------------------------------------- */

static bool is_wanted(const struct hr_pool_spec *pool, const struct hr_stress *stress) {
  return stress->without_gpu && strcasecmp(pool->gpu, stress->without_gpu) == 0;
}

static bool is_listed(const char *const *names, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcasecmp(names[i], name) == 0) return true;
  return false;
}

static enum hr_status check_gpu(const struct hr_scenario *scenario, const struct hr_stress *stress,
                                struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &scenario->cluster;
  size_t count = 0;
  struct hr_error inner;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (is_wanted(&cluster->pools[i], stress)) return HR_OK;
  const char **names = calloc((size_t)cluster->n_pools + 1, sizeof *names);
  if (!names) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (!is_listed(names, count, cluster->pools[i].gpu)) names[count++] = cluster->pools[i].gpu;
  enum hr_status status = hr__catalog_unknown(&inner, "a pool's GPU type", stress->without_gpu, names);
  free(names);
  return hr_fail(error, status, "%s: %s", scenario->path, inner.text);
}

/* The order of the nodes that are left, by their new numbers; NULL where there is none. */
static enum hr_status order_rest(const struct hr_cluster_spec *cluster, const struct hr_stress *stress,
                                 uint32_t **place_of, struct hr_error *error) {
  size_t n_nodes = 0, n_left = 0, node = 0;
  *place_of = NULL;
  if (!cluster->node_order) return HR_OK;
  for (uint32_t i = 0; i < cluster->n_pools; i++) n_nodes += cluster->pools[i].nodes;
  uint32_t *number_at = malloc((n_nodes + 1) * sizeof *number_at);
  *place_of = malloc((n_nodes + 1) * sizeof **place_of);
  if (!number_at || !*place_of) {
    free(number_at);
    free(*place_of);
    return hr_fail(error, HR_NO_MEMORY, "out of memory for the order of %zu nodes", n_nodes);
  }
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    for (size_t end = node + cluster->pools[i].nodes; node < end; node++)
      number_at[cluster->node_order[node]] = is_wanted(&cluster->pools[i], stress) ? HR_NONE : (uint32_t)n_left++;
  uint32_t place = 0;
  for (size_t at = 0; at < n_nodes; at++)
    if (number_at[at] != HR_NONE) (*place_of)[number_at[at]] = place++;
  free(number_at);
  return HR_OK;
}

static void take_away(struct hr_cluster_spec *cluster, const struct hr_stress *stress, uint32_t *place_of) {
  cluster->by_gpu = hr_cluster_spec_by_gpu(cluster);
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (is_wanted(&cluster->pools[i], stress)) cluster->pools[i].nodes = 0;
  free(cluster->node_order);
  cluster->node_order = place_of;
}

/* ---- All -------------------------------------------------------------------------------------------- */

static enum hr_status check_times(const struct hr_scenario *scenario, const char *name, double times, double least,
                                  struct hr_error *error) {
  if (times >= least && times <= MOST_TIMES) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: %s, %.10g, is out of bounds; a number from %g to %g is wanted",
                 scenario->path, name, times, least, MOST_TIMES);
}

static enum hr_status check(const struct hr_scenario *scenario, const struct hr_stress *stress,
                            struct hr_error *error) {
  enum hr_status status = check_times(scenario, "spot_reclaims", stress->spot_reclaims, LEAST_RECLAIMS, error);
  if (status == HR_OK) status = check_times(scenario, "spot_price", stress->spot_price, 0, error);
  if (status == HR_OK) status = check_times(scenario, "on_demand_price", stress->on_demand_price, 0, error);
  for (uint32_t i = 0; i < scenario->cluster.n_pools && status == HR_OK; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    status = check_prices(scenario, pool, stress, error);
    if (status == HR_OK && pool->market.market == HR_MARKET_SPOT && stress->spot_reclaims != 1)
      status = check_pace(scenario, pool, stress->spot_reclaims, error);
  }
  return status == HR_OK && stress->without_gpu ? check_gpu(scenario, stress, error) : status;
}

enum hr_status hr_scenario_stress(struct hr_scenario *scenario, const struct hr_stress *stress,
                                  struct hr_error *error) {
  struct hr_cluster_spec *cluster = &scenario->cluster;
  uint32_t *place_of = NULL;
  enum hr_status status = check(scenario, stress, error);
  if (status == HR_OK && stress->without_gpu) status = order_rest(cluster, stress, &place_of, error);
  if (status != HR_OK) return status;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    struct hr_market_spec *market = &cluster->pools[i].market;
    change_prices(market, stress);
    if (market->market == HR_MARKET_SPOT && stress->spot_reclaims != 1) hasten(&market->spot, stress->spot_reclaims);
  }
  if (stress->without_gpu) take_away(cluster, stress, place_of);
  return HR_OK;
}
