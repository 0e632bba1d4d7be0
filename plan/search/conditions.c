/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The conditions under which mixes are tested (robustness.c):
 *
 * - the spot market behaves as in another preset of the catalogue, or has no capacity for a part of the time;
 * - demand is 25 % lower, or 10, 25 or 50 % higher;
 * - prices of on-demand and spot capacity are 30 % lower;
 * - no more GPUs of a type can be bought; existing GPUs remain.
 *
 * The number of runs is limited to half the runs that were needed to choose, or MIN_RUNS.
 */

#include "plan/search/plan.h"

#include "headroom/unstable/catalog.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* FEW, MANY: minimum and maximum number of replications. MIN_RUNS: runs that are always affordable. */
enum { FEW = 3, MANY = 8, MIN_RUNS = 100 };

/* ---- Conditions ------------------------------------------------------------------------------------- */

/* Adds a condition with the plan's environment changed to `environment`. Does nothing if there are too many. */
static enum hr_status add(struct hr_plan *plan, const struct hr__environment *environment, enum hr__condition_kind kind,
                          double factor, struct hr_error *error, const char *format, ...) HR_PRINTF(6, 7);
static enum hr_status add(struct hr_plan *plan, const struct hr__environment *environment, enum hr__condition_kind kind,
                          double factor, struct hr_error *error, const char *format, ...) {
  struct hr__robustness *self = &plan->robustness;
  if (self->n_conditions == HR__MAX_CONDITIONS) return HR_OK;
  struct hr__condition *condition = &self->conditions[self->n_conditions];
  struct hr__environment changed = *environment;
  va_list arguments;
  *condition = (struct hr__condition){.kind = kind, .factor = factor};
  va_start(arguments, format);
  vsnprintf(condition->name, sizeof condition->name, format, arguments);
  va_end(arguments);
  if (changed.stress.spot_as) {
    condition->spot = *changed.stress.spot_as;
    changed.stress.spot_as = &condition->spot;
  }
  condition->environment = changed;
  enum hr_status status = hr__plan_world(plan, &changed, &condition->within, error);
  self->n_conditions += status == HR_OK;
  return status;
}

static bool has_spot(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].market.market == HR_MARKET_SPOT) return true;
  return false;
}

/* Whether two GPU types are of one family, such as A100-40 and A100-80: their names are equal up to the first hyphen.
 */
static bool is_same_family(const char *a, const char *b) {
  size_t length = a ? strcspn(a, "-") : 0;
  return a && b && strcspn(b, "-") == length && strncasecmp(a, b, length) == 0;
}

static bool is_any(const char *name) {
  return strcmp(name, "*") == 0;
}

static bool is_provider(const struct hr_spot_preset *preset, const char *provider) {
  return !provider || strcasecmp(preset->provider, provider) == 0;
}

/* Whether the catalogue has the same kind of preset for all regions of the provider. */
static bool has_general_twin(const struct hr_catalog *catalog, const struct hr_spot_preset *preset) {
  for (size_t i = 0; i < catalog->n_spot_presets; i++) {
    const struct hr_spot_preset *other = &catalog->spot_presets[i];
    if (is_any(other->region) && !is_any(preset->region) && strcmp(other->provider, preset->provider) == 0 &&
        strcmp(other->gpu, preset->gpu) == 0 && other->spec.model == preset->spec.model)
      return true;
  }
  return false;
}

/* Of the bands of an advisor, only the one with the most interruptions is plausible enough to be a test. */
static bool is_worst_band(const struct hr_catalog *catalog, const struct hr_spot_preset *preset) {
  for (size_t i = 0; i < catalog->n_spot_presets && preset->spec.model == HR_SPOT_ADVISOR; i++) {
    const struct hr_spot_preset *other = &catalog->spot_presets[i];
    if (other->spec.model == HR_SPOT_ADVISOR && strcmp(other->provider, preset->provider) == 0 &&
        other->spec.rate_per_h > preset->spec.rate_per_h)
      return false;
  }
  return true;
}

/* Whether a preset of the provider was recorded on GPUs of the family of the pool. */
static bool has_own_record(const struct hr_catalog *catalog, const char *gpu, const char *provider) {
  for (size_t i = 0; i < catalog->n_spot_presets; i++)
    if (is_provider(&catalog->spot_presets[i], provider) && is_same_family(catalog->spot_presets[i].gpu, gpu))
      return true;
  return false;
}

/* Whether the market of a pool may be as in the preset: it is for the family of the pool's GPU type, or for any type of
   the provider. If the provider has no record of this family, its records of other types are plausible, too. */
static bool is_plausible(const struct hr_catalog *catalog, const struct hr_spot_preset *preset,
                         const struct hr_pool_spec *pool, const struct hr_pool_source *source) {
  const char *provider = source ? source->provider : NULL;
  bool this_region = is_any(preset->region) || (pool->region && strcasecmp(pool->region, preset->region) == 0);
  if ((!this_region && has_general_twin(catalog, preset)) || !is_worst_band(catalog, preset)) return false;
  if (is_same_family(preset->gpu, pool->gpu)) return true;
  bool is_recorded = has_own_record(catalog, pool->gpu, provider);
  return is_provider(preset, provider) && (is_any(preset->gpu) || !is_recorded);
}

/* Whether a spot pool may have the market of the preset, and has another one now. */
static bool is_alternative(const struct hr_catalog *catalog, const struct hr_spot_preset *preset,
                           const struct hr_scenario *scenario) {
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    const struct hr_pool_source *source = scenario->pool_sources ? &scenario->pool_sources[i] : NULL;
    const char *own = source ? source->spot_preset : NULL;
    if (pool->market.market == HR_MARKET_SPOT && !(own && strcasecmp(own, preset->name) == 0) &&
        is_plausible(catalog, preset, pool, source))
      return true;
  }
  return false;
}

static enum hr_status add_spot_models(struct hr_plan *plan, struct hr_error *error) {
  const struct hr_plan_config *config = &plan->config;
  struct hr_catalog *catalog;
  enum hr_status status =
      hr_scenario_catalog(config->scenario->path, config->overrides, config->n_overrides, &catalog, error);
  if (status != HR_OK) return status;
  for (size_t i = 0; i < catalog->n_spot_presets && status == HR_OK; i++) {
    const struct hr_spot_preset *preset = &catalog->spot_presets[i];
    struct hr__environment environment;
    if (!is_alternative(catalog, preset, config->scenario)) continue;
    hr__plan_environment(plan, &environment);
    environment.stress.spot_as = &preset->spec;
    status = add(plan, &environment, HR__CONDITION_SPOT_MODEL, 0, error, "spot as %.60s", preset->name);
  }
  hr_catalog_destroy(catalog);
  return status;
}

static enum hr_status add_spot(struct hr_plan *plan, struct hr_error *error) {
  static const int percents[] = {80, 50, 0};
  enum hr_status status = HR_OK;
  if (!has_spot(&plan->config.scenario->cluster)) return status;
  for (size_t i = 0; i < sizeof percents / sizeof *percents && status == HR_OK; i++) {
    struct hr__environment environment;
    hr__plan_environment(plan, &environment);
    environment.stress.spot_outage = 1 - percents[i] / 100.0;
    status = add(plan, &environment, HR__CONDITION_SPOT_AVAILABILITY, percents[i] / 100.0, error,
                 percents[i] ? "spot %d %% of the time" : "no spot capacity", percents[i]);
  }
  return status == HR_OK ? add_spot_models(plan, error) : status;
}

static enum hr_status add_demand(struct hr_plan *plan, struct hr_error *error) {
  static const int percents[] = {-25, 10, 25, 50};
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof percents / sizeof *percents && status == HR_OK; i++) {
    struct hr__environment environment;
    hr__plan_environment(plan, &environment);
    environment.workload.growth *= 1 + percents[i] / 100.0;
    status = add(plan, &environment, HR__CONDITION_DEMAND, 1 + percents[i] / 100.0, error, "demand %c %d %%",
                 percents[i] < 0 ? '-' : '+', abs(percents[i]));
  }
  return status;
}

static enum hr_status add_prices(struct hr_plan *plan, struct hr_error *error) {
  static const double factor = 0.7;
  const struct hr_cluster_spec *cluster = &plan->config.scenario->cluster;
  struct hr__environment environment;
  bool any = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) any = any || hr_market_is_elastic(cluster->pools[i].market.market);
  if (!any) return HR_OK;
  hr__plan_environment(plan, &environment);
  environment.stress.spot_price = environment.stress.on_demand_price = factor;
  return add(plan, &environment, HR__CONDITION_PRICES, factor, error, "cloud prices - 30 %%");
}

/* Whether the choice has nodes of the type that would have to be bought. */
static bool buys_gpu(const struct hr_plan *plan, const char *gpu) {
  const struct hr_cluster_spec *cluster = &hr__runner_scenario(plan->runner, plan->choice.runner_id)->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes && !plan->robustness.keeps_nodes[i] && strcmp(cluster->pools[i].gpu, gpu) == 0)
      return true;
  return false;
}

static enum hr_status add_gpu_types(struct hr_plan *plan, struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &plan->config.scenario->cluster;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++) {
    const char *gpu = cluster->pools[i].gpu;
    struct hr__environment environment;
    bool repeated = !gpu, others = false;
    for (uint32_t k = 0; k < cluster->n_pools && gpu; k++) {
      bool same = cluster->pools[k].gpu && strcmp(cluster->pools[k].gpu, gpu) == 0;
      repeated = repeated || (same && k < i);
      others = others || !same || plan->robustness.keeps_nodes[k];
    }
    if (repeated || !others || !buys_gpu(plan, gpu)) continue;
    hr__plan_environment(plan, &environment);
    environment.stress.without_gpu = gpu;
    environment.stress.keeps_nodes = plan->robustness.keeps_nodes;
    status = add(plan, &environment, HR__CONDITION_GPU_SUPPLY, 0, error, "no more %.60s", gpu);
  }
  return status;
}

/* ---- Effort -------------------------------------------------------------------------------------- */

/* Sets the number of runs that may be made, and the number of replications: if possible, half of the runs suffice to
   test the choice and three other mixes. */
static void set_effort(struct hr_plan *plan) {
  struct hr__robustness *self = &plan->robustness;
  uint64_t runs = (plan->search_runs + plan->selection_runs) / 2;
  if (runs < MIN_RUNS) runs = MIN_RUNS;
  uint64_t affordable = runs / (4 * (uint64_t)(self->n_conditions + 1));
  uint32_t max = plan->evaluator.random ? plan->depth : plan->space.spec->max_replications;
  self->max_runs = plan->search_runs + plan->selection_runs;
  if (self->max_runs < 2 * MIN_RUNS) self->max_runs = 2 * MIN_RUNS;
  self->replications = affordable < MANY ? (uint32_t)affordable : MANY;
  if (self->replications < FEW) self->replications = FEW;
  if (self->replications > max) self->replications = max;
}

/* The nodes that exist already: fixed capacity that is not a variable. */
static bool find_kept(struct hr_plan *plan) {
  const struct hr_cluster_spec *cluster = &plan->config.scenario->cluster;
  plan->robustness.keeps_nodes = calloc((size_t)cluster->n_pools + 1, sizeof *plan->robustness.keeps_nodes);
  for (uint32_t i = 0; i < cluster->n_pools && plan->robustness.keeps_nodes; i++)
    plan->robustness.keeps_nodes[i] =
        !hr_market_is_elastic(cluster->pools[i].market.market) && !hr__space_has_pool(&plan->space, i);
  return plan->robustness.keeps_nodes;
}

enum hr_status hr__plan_conditions(struct hr_plan *plan, struct hr_error *error) {
  enum hr_status status = find_kept(plan) ? add_spot(plan, error) : hr__plan_no_memory(error);
  if (status == HR_OK) status = add_demand(plan, error);
  if (status == HR_OK) status = add_prices(plan, error);
  if (status == HR_OK) status = add_gpu_types(plan, error);
  if (status == HR_OK) set_effort(plan);
  return status;
}
