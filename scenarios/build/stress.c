/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Applies stress to a loaded scenario: another spot market, more spot interruptions, other prices, or a GPU type that
 * is not available.
 *
 * All errors are detected before the scenario is changed, so a scenario is changed completely or not at all. More
 * interruptions result from shorter times between them. The random draws stay the same: with a factor of 2, a node that
 * was interrupted after ten hours is interrupted after five.
 *
 * An outage is a time without spot capacity. Outages use the spot model on-off. If the pool has this model, the lengths
 * of its periods with and without capacity are multiplied so that the mean length of a cycle does not change. For other
 * models, the periods have the distributions of the preset aws-v100 of the catalogue, multiplied in the same way. This
 * preset was fitted to records of V100s on AWS.
 */

#include "headroom/unstable/experiments.h"
#include "headroom/unstable/scenario_files.h"
#include "scenarios/build/builder.h"
#include "scenarios/catalog/catalog_tables.h"
#include "sim/market/market.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

#define MILLION INT64_C(1000000)
#define MIN_RECLAIMS 1e-3
#define MAX_FACTOR 1e3
#define MAX_RATE_PER_H 3600.0 /* one interruption per second, which is also the maximum in scenario files */
#define MIN_CYCLE_S 1.0       /* minimum of the mean of `up` plus that of `down`, also in scenario files */
#define MIN_LIFE_H 1e-6

void hr_stress_init(struct hr_stress *stress) {
  *stress = (struct hr_stress){.spot_reclaims = 1, .spot_price = 1, .on_demand_price = 1};
}

/* ---- Outages ---------------------------------------------------------------------------------------- */

/* Periods with and without capacity as in the preset aws-v100: log-normal distributions of hours. */
static const struct hr_duration recorded_up = {HR_DURATION_LOG_NORMAL, 0.113, 1.481},
                                recorded_down = {HR_DURATION_LOG_NORMAL, -0.235, 1.281};

static void scale_duration(struct hr_duration *duration, double factor);

/* Returns the mean of recorded spot capacity divided by its maximum. */
static double recorded_share(const struct hr_spot_spec *spot) {
  double sum = 0, max = 0;
  for (uint32_t i = 0; i < spot->n_levels; i++) {
    int64_t end_us = i + 1 < spot->n_levels ? spot->levels[i + 1].at_us : spot->period_us;
    sum += (double)spot->levels[i].level * (double)(end_us - spot->levels[i].at_us);
    max = fmax(max, spot->levels[i].level);
  }
  return max > 0 && spot->period_us > 0 ? sum / (max * (double)spot->period_us) : 0;
}

/* Returns the share of time in which capacity is available. For models that only interrupt nodes it is 1. For recorded
   capacity it is the mean capacity as a share of the maximum. */
static double available_share(const struct hr_spot_spec *spot) {
  double up_s = hr__duration_mean_s(&spot->up);
  switch (spot->model) {
  case HR_SPOT_TRACE:
    return recorded_share(spot);
  case HR_SPOT_ON_OFF:
    return up_s / (up_s + hr__duration_mean_s(&spot->down));
  default:
    return 1;
  }
}

/* Makes capacity unavailable for the share `outage` of the time. Does nothing if it is already unavailable for at least
   this share. Does nothing if `outage` is 1, because the nodes of the pool are then removed (is_removed()). */
static void add_outage(struct hr_spot_spec *spot, double outage) {
  if (outage <= 0 || outage >= 1 || available_share(spot) <= 1 - outage) return;
  if (spot->model != HR_SPOT_ON_OFF) {
    spot->up = recorded_up;
    spot->down = recorded_down;
    scale_duration(&spot->up, 1.0 / 3600);
    scale_duration(&spot->down, 1.0 / 3600);
  }
  spot->model = HR_SPOT_ON_OFF;
  double up_s = hr__duration_mean_s(&spot->up), down_s = hr__duration_mean_s(&spot->down), cycle_s = up_s + down_s;
  scale_duration(&spot->up, up_s / ((1 - outage) * cycle_s));
  scale_duration(&spot->down, down_s / (outage * cycle_s));
}

/* Returns the spot model of a pool under a stress, before the times between its interruptions are changed. The levels
   of this model belong to the pool. */
static struct hr_spot_spec stressed_spot(const struct hr_spot_spec *spot, const struct hr_stress *stress) {
  struct hr_spot_spec changed = *spot;
  if (stress->spot_as) {
    changed = *stress->spot_as;
    changed.zone = spot->zone;
  }
  add_outage(&changed, stress->spot_outage);
  return changed;
}

/* Replaces the spot model of a pool. Frees its record unless the new model uses it. */
static void replace_spot(struct hr_spot_spec *spot, const struct hr_spot_spec *changed) {
  struct hr_level_step *record = spot->levels;
  *spot = *changed;
  if (spot->model == HR_SPOT_TRACE) return;
  free(record);
  spot->levels = NULL;
  spot->n_levels = 0;
  spot->period_us = spot->offset_us = 0;
}

/* ---- Interruptions ---------------------------------------------------------------------------------- */

/* Divides the duration by `factor`. */
static void scale_duration(struct hr_duration *duration, double factor) {
  switch (duration->kind) {
  case HR_DURATION_FIXED:
  case HR_DURATION_EXPONENTIAL:
    duration->a /= factor;
    return;
  case HR_DURATION_LOG_NORMAL:
    duration->a -= log(factor);
    return;
  case HR_DURATION_WEIBULL:
    duration->b /= factor;
    return;
  }
}

static void scale_bathtub(struct hr_bathtub *bathtub, double factor) {
  bathtub->tau1_h /= factor;
  bathtub->tau2_h /= factor;
  bathtub->b_h /= factor;
  bathtub->last_h /= factor;
}

static int64_t scaled_us(int64_t us, double factor) {
  return (int64_t)llround((double)us / factor);
}

/* Divides the times of recorded capacity by `factor`. If steps then have the same time, they are moved one microsecond
   apart. */
static void scale_record(struct hr_spot_spec *spot, double factor) {
  int64_t before_us = -1;
  if (spot->period_us <= 0) return;
  spot->offset_us = scaled_us(spot->offset_us % spot->period_us, factor);
  spot->period_us = scaled_us(spot->period_us, factor);
  for (uint32_t i = 0; i < spot->n_levels; i++) {
    int64_t at_us = scaled_us(spot->levels[i].at_us, factor);
    before_us = spot->levels[i].at_us = at_us > before_us ? at_us : before_us + 1;
  }
  if (spot->period_us <= before_us) spot->period_us = before_us + 1;
}

static void scale_interruptions(struct hr_spot_spec *spot, double factor) {
  switch (spot->model) {
  case HR_SPOT_TRACE:
    scale_record(spot, factor);
    return;
  case HR_SPOT_ON_OFF:
    scale_duration(&spot->up, factor);
    scale_duration(&spot->down, factor);
    return;
  case HR_SPOT_EXPONENTIAL:
  case HR_SPOT_ADVISOR:
    spot->rate_per_h *= factor;
    return;
  case HR_SPOT_BATHTUB:
    scale_bathtub(&spot->bathtub, factor);
    return;
  case HR_SPOT_NONE:
  case HR_N_SPOT_MODELS:
    return;
  }
}

/* Checks the interruptions, with their times divided by `factor`, against the limits of scenario files. Beyond these
   limits, a simulation would practically not end. */
static enum hr_status check_interruptions(const struct hr_scenario *scenario, const struct hr_pool_spec *pool,
                                          const struct hr_spot_spec *spot, double factor, struct hr_error *error) {
  double cycle_s = (hr__duration_mean_s(&spot->up) + hr__duration_mean_s(&spot->down)) / factor;
  bool is_drawn = spot->model == HR_SPOT_EXPONENTIAL || spot->model == HR_SPOT_ADVISOR;
  if (is_drawn && spot->rate_per_h * factor > MAX_RATE_PER_H)
    return hr_fail(error, HR_BAD_INPUT, "%s: pool '%.60s', interruptions x %.10g: %.4g per hour; the maximum is %g",
                   scenario->path, pool->name, factor, spot->rate_per_h * factor, MAX_RATE_PER_H);
  if (spot->model == HR_SPOT_ON_OFF && cycle_s < MIN_CYCLE_S)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: pool '%.60s', interruptions x %.10g: the means of 'up' and 'down' would add up to %.4g s; the "
                   "minimum is one second",
                   scenario->path, pool->name, factor, cycle_s);
  if (spot->model == HR_SPOT_BATHTUB && spot->bathtub.last_h / factor < MIN_LIFE_H)
    return hr_fail(error, HR_BAD_INPUT, "%s: pool '%.60s', interruptions x %.10g: no node would live for %g h",
                   scenario->path, pool->name, factor, MIN_LIFE_H);
  if (spot->model == HR_SPOT_TRACE && (double)spot->period_us / factor > (double)HR_MAX_INPUT_US)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: pool '%.60s', interruptions x %.10g: its record would last for more than 3,000 years",
                   scenario->path, pool->name, factor);
  return HR_OK;
}

/* ---- Prices ----------------------------------------------------------------------------------------- */

static int64_t millionths(double factor) {
  return (int64_t)llround(factor * (double)MILLION);
}

static int64_t scaled(int64_t uusd_h, double factor) {
  return uusd_h == HR_UNKNOWN_UUSD_H ? uusd_h : hr__money_scale(uusd_h, millionths(factor), MILLION);
}

/* Returns the price factor for the market of a pool. It is 1 for owned and reserved capacity. */
static double price_factor(const struct hr_market_spec *market, const struct hr_stress *stress) {
  if (market->market == HR_MARKET_SPOT) return stress->spot_price;
  return market->market == HR_MARKET_ON_DEMAND ? stress->on_demand_price : 1;
}

static void change_prices(struct hr_market_spec *market, const struct hr_stress *stress) {
  double factor = price_factor(market, stress);
  market->price_uusd_h = scaled(market->price_uusd_h, factor);
  for (uint32_t i = 0; i < market->n_prices; i++) market->prices[i].uusd_h = scaled(market->prices[i].uusd_h, factor);
  market->on_demand_uusd_h = scaled(market->on_demand_uusd_h, stress->on_demand_price);
}

static enum hr_status check_prices(const struct hr_scenario *scenario, const struct hr_pool_spec *pool,
                                   const struct hr_stress *stress, struct hr_error *error) {
  const struct hr_market_spec *market = &pool->market;
  double factor = price_factor(market, stress);
  int64_t highest = scaled(market->price_uusd_h, factor),
          on_demand = scaled(market->on_demand_uusd_h, stress->on_demand_price);
  for (uint32_t i = 0; i < market->n_prices; i++)
    if (scaled(market->prices[i].uusd_h, factor) > highest) highest = scaled(market->prices[i].uusd_h, factor);
  if (on_demand > highest) highest = on_demand;
  if (highest <= HR_MAX_USD_H * MILLION) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: pool '%.60s': a price of %.10g $ per GPU-hour is too high; at most %d $",
                 scenario->path, pool->name, (double)highest / 1e6, HR_MAX_USD_H);
}

/* ---- A GPU type that is not available --------------------------------------------------------------- */

static bool is_of_type(const struct hr_pool_spec *pool, const char *gpu) {
  return gpu && strcasecmp(pool->gpu, gpu) == 0;
}

/* Returns whether the stress removes the nodes of pool `i`. */
static bool is_removed(const struct hr_cluster_spec *cluster, uint32_t i, const struct hr_stress *stress) {
  const struct hr_pool_spec *pool = &cluster->pools[i];
  bool is_gone = is_of_type(pool, stress->without_gpu) && !(stress->keeps_nodes && stress->keeps_nodes[i]);
  return is_gone || (stress->spot_outage >= 1 && pool->market.market == HR_MARKET_SPOT);
}

static bool removes_any(const struct hr_stress *stress) {
  return stress->without_gpu || stress->spot_outage >= 1;
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
    if (is_of_type(&cluster->pools[i], stress->without_gpu)) return HR_OK;
  const char **names = calloc((size_t)cluster->n_pools + 1, sizeof *names);
  if (!names) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (!is_listed(names, count, cluster->pools[i].gpu)) names[count++] = cluster->pools[i].gpu;
  enum hr_status status = hr__catalog_unknown(&inner, "a pool's GPU type", stress->without_gpu, names);
  free(names);
  return hr_fail(error, status, "%s: %s", scenario->path, inner.text);
}

/* Computes the node order of the nodes that remain. These nodes are renumbered from 0. `(*place_of)[i]` is the position
   of the node with the new number i. `*place_of` is NULL if the cluster has no node order. The caller frees it. */
static enum hr_status order_remaining(const struct hr_cluster_spec *cluster, const struct hr_stress *stress,
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
      number_at[cluster->node_order[node]] = is_removed(cluster, i, stress) ? HR_NONE : (uint32_t)n_left++;
  uint32_t place = 0;
  for (size_t at = 0; at < n_nodes; at++)
    if (number_at[at] != HR_NONE) (*place_of)[number_at[at]] = place++;
  free(number_at);
  return HR_OK;
}

static void remove_nodes(struct hr_cluster_spec *cluster, const struct hr_stress *stress, uint32_t *place_of) {
  cluster->by_gpu = hr_cluster_spec_by_gpu(cluster);
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (is_removed(cluster, i, stress)) cluster->pools[i].nodes = 0;
  free(cluster->node_order);
  cluster->node_order = place_of;
}

/* ---- Stress ----------------------------------------------------------------------------------------- */

static enum hr_status check_factor(const struct hr_scenario *scenario, const char *name, double factor, double min,
                                   struct hr_error *error) {
  if (factor >= min && factor <= MAX_FACTOR) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: %s is %.10g; a number from %g to %g is expected", scenario->path, name,
                 factor, min, MAX_FACTOR);
}

static enum hr_status check(const struct hr_scenario *scenario, const struct hr_stress *stress,
                            struct hr_error *error) {
  enum hr_status status = check_factor(scenario, "spot_reclaims", stress->spot_reclaims, MIN_RECLAIMS, error);
  if (status == HR_OK) status = check_factor(scenario, "spot_price", stress->spot_price, 0, error);
  if (status == HR_OK) status = check_factor(scenario, "on_demand_price", stress->on_demand_price, 0, error);
  if (status == HR_OK && !(stress->spot_outage >= 0 && stress->spot_outage <= 1))
    status = hr_fail(error, HR_BAD_INPUT, "%s: spot_outage is %.10g; a number from 0 to 1 is expected", scenario->path,
                     stress->spot_outage);
  for (uint32_t i = 0; i < scenario->cluster.n_pools && status == HR_OK; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    struct hr_spot_spec spot = stressed_spot(&pool->market.spot, stress);
    status = check_prices(scenario, pool, stress, error);
    if (status == HR_OK && pool->market.market == HR_MARKET_SPOT && stress->spot_reclaims != 1)
      status = check_interruptions(scenario, pool, &spot, stress->spot_reclaims, error);
  }
  return status == HR_OK && stress->without_gpu ? check_gpu(scenario, stress, error) : status;
}

enum hr_status hr_scenario_stress(struct hr_scenario *scenario, const struct hr_stress *stress,
                                  struct hr_error *error) {
  struct hr_cluster_spec *cluster = &scenario->cluster;
  uint32_t *place_of = NULL;
  enum hr_status status = check(scenario, stress, error);
  if (status == HR_OK && removes_any(stress)) status = order_remaining(cluster, stress, &place_of, error);
  if (status != HR_OK) return status;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    struct hr_market_spec *market = &cluster->pools[i].market;
    change_prices(market, stress);
    if (market->market != HR_MARKET_SPOT) continue;
    struct hr_spot_spec spot = stressed_spot(&market->spot, stress);
    replace_spot(&market->spot, &spot);
    if (stress->spot_reclaims != 1) scale_interruptions(&market->spot, stress->spot_reclaims);
  }
  if (removes_any(stress)) remove_nodes(cluster, stress, place_of);
  hr_scenario_clusters_update(scenario);
  return HR_OK;
}
