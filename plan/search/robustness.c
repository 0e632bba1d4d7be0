/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tests the choice of a plan and other mixes under changed conditions.
 *
 * Conditions:
 * - the spot market behaves as in another preset of the catalogue, or has no capacity for 20, 50 or 100 % of the time;
 * - demand is 25 % lower, or 10, 25 or 50 % higher;
 * - prices of on-demand and spot capacity are 30 % lower;
 * - no more GPUs of a type can be bought; existing GPUs remain.
 *
 * These mixes are tested, too, as far as the limit on runs allows. Mixes 1 to 4 are tested only if the choice misses
 * the goals under some condition:
 * 1. if the condition concerns the spot market: the choice with the maximum of on-demand capacity, which is paid for
 *    only while it is used;
 * 2. mixes near the choice: the choice with one of its capacities raised to the next value of the grid, and those of
 *    the frontier that meet the goals; first only those that cost as much as the choice, within the indifference zone;
 * 3. before the other mixes near the choice: the best mixes of the changed environments ("What if");
 * 4. if the condition concerns the spot market: the best mix without spot capacity that a search finds from mix 1, and
 *    the choice with half of the additional on-demand capacity;
 * 5. the other finalists that meet the goals in the search, in any case.
 *
 * A commitment is tested under falling demand and falling prices: the choice is compared with the same mix with less of
 * this capacity. The level of the capacity on its axis is reduced to 75, 50, 25 and 0 %, rounded up.
 *
 * The number of replications is set so that, if possible, a budget of runs suffices for the choice and three other
 * mixes. The budget is half the runs of the search and the selection, but at least MIN_RUNS. The total number of runs
 * of the test is at most twice the budget. The choice and the commitments are always tested.
 *
 * Invariant: the first mix is the choice; the others are sorted by their objective. All mixes have at least the same
 * number of replications under all conditions, with the same random events. Replications that other parts of the plan
 * need are used, too.
 */

#include "plan/search/plan.h"

#include "headroom/unstable/catalog.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* FEW, MANY: minimum and maximum number of replications. MIN_RUNS: the minimum of the budget of runs. */
enum { FEW = 3, MANY = 8, MIN_RUNS = 100 };

/* ---- Environments ----------------------------------------------------------------------------------- */

static bool is_same_environment(const struct hr__environment *a, const struct hr__environment *b) {
  const struct hr_stress *x = &a->stress, *y = &b->stress;
  return x->spot_reclaims == y->spot_reclaims && x->spot_price == y->spot_price &&
         x->on_demand_price == y->on_demand_price && x->without_gpu == y->without_gpu &&
         x->keeps_nodes == y->keeps_nodes && x->spot_as == y->spot_as && x->spot_outage == y->spot_outage &&
         a->workload.growth == b->workload.growth;
}

enum hr_status hr__plan_world(struct hr_plan *plan, const struct hr__environment *environment,
                              struct hr__evaluator **evaluator, struct hr_error *error) {
  uint32_t number;
  for (size_t i = 0; i < plan->n_worlds; i++)
    if (is_same_environment(&plan->worlds[i].environment, environment)) {
      *evaluator = &plan->worlds[i].evaluator;
      return HR_OK;
    }
  struct hr__world *world = &plan->worlds[plan->n_worlds];
  enum hr_status status = hr__runner_add_environment(plan->runner, environment, &number, error);
  if (status == HR_OK)
    status = hr__evaluator_make(&world->evaluator, plan->runner, &plan->space, &plan->goals, number, error);
  if (status != HR_OK) return status;
  world->environment = *environment;
  plan->n_worlds++;
  *evaluator = &world->evaluator;
  return HR_OK;
}

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

/* Whether the preset is not a band of an interruption advisor, or is the provider's band with the most interruptions.
   The other bands are not tested. */
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

/* Whether the market of a pool may be as in the preset: the preset is for the family of the pool's GPU type, or for any
   type of the provider. If the provider has no record of this family, its records of other types are plausible, too. */
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
    if (!is_alternative(catalog, preset, config->scenario)) continue;
    struct hr__environment environment = hr__plan_environment(plan);
    environment.stress.spot_as = &preset->spec;
    status = add(plan, &environment, HR__CONDITION_SPOT_MODEL, 0, error, "spot as %.60s", preset->name);
  }
  hr_catalog_destroy(catalog);
  return status;
}

static enum hr_status add_spot(struct hr_plan *plan, struct hr_error *error) {
  static const int percents[] = {80, 50, 0};
  enum hr_status status = HR_OK;
  if (!hr__plan_has_spot(plan)) return status;
  for (size_t i = 0; i < sizeof percents / sizeof *percents && status == HR_OK; i++) {
    struct hr__environment environment = hr__plan_environment(plan);
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
    struct hr__environment environment = hr__plan_environment(plan);
    environment.workload.growth *= 1 + percents[i] / 100.0;
    status = add(plan, &environment, HR__CONDITION_DEMAND, 1 + percents[i] / 100.0, error, "demand %c %d %%",
                 percents[i] < 0 ? '-' : '+', abs(percents[i]));
  }
  return status;
}

static enum hr_status add_prices(struct hr_plan *plan, struct hr_error *error) {
  static const double factor = 0.7;
  const struct hr_cluster_spec *cluster = &plan->config.scenario->cluster;
  bool any = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) any = any || hr_market_is_elastic(cluster->pools[i].market.market);
  if (!any) return HR_OK;
  struct hr__environment environment = hr__plan_environment(plan);
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
    bool repeated = !gpu, others = false;
    for (uint32_t k = 0; k < cluster->n_pools && gpu; k++) {
      bool same = cluster->pools[k].gpu && strcmp(cluster->pools[k].gpu, gpu) == 0;
      repeated = repeated || (same && k < i);
      others = others || !same || plan->robustness.keeps_nodes[k];
    }
    if (repeated || !others || !buys_gpu(plan, gpu)) continue;
    struct hr__environment environment = hr__plan_environment(plan);
    environment.stress.without_gpu = gpu;
    environment.stress.keeps_nodes = plan->robustness.keeps_nodes;
    status = add(plan, &environment, HR__CONDITION_GPU_SUPPLY, 0, error, "no more %.60s", gpu);
  }
  return status;
}

/* ---- Effort ----------------------------------------------------------------------------------------- */

/* Sets the maximum number of runs, and the number of replications. If possible, half of the runs suffice to test the
   choice and three other mixes. */
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

/* Finds the nodes that exist already: fixed capacity that is not a variable. Returns false when out of memory. */
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

/* ---- Mixes ------------------------------------------------------------------------------------------ */

static void drop_mixes(struct hr__robustness *robustness) {
  for (uint32_t i = 0; i < robustness->n_mixes; i++) free(robustness->mixes[i].held);
  robustness->n_mixes = 0;
}

void hr__robustness_finish(struct hr__robustness *robustness) {
  drop_mixes(robustness);
  free(robustness->keeps_nodes);
  *robustness = (struct hr__robustness){0};
}

static enum hr_status add_mix(struct hr__robustness *self, uint32_t candidate, struct hr_error *error) {
  for (uint32_t i = 0; i < self->n_mixes; i++)
    if (self->mixes[i].candidate == candidate) return HR_OK;
  if (self->n_mixes == HR__MAX_TESTED) return HR_OK;
  struct hr__held *held = calloc((size_t)self->n_conditions + 1, sizeof *held);
  if (!held) return hr__plan_no_memory(error);
  self->mixes[self->n_mixes++] = (struct hr__tested_mix){.candidate = candidate, .held = held};
  return HR_OK;
}

/* The number of spot GPUs of a candidate. */
static double spot_gpus(const struct hr_plan *plan, uint32_t candidate) {
  uint32_t runner_id = plan->evaluator.runner_ids[candidate];
  const struct hr_cluster_spec *cluster = &hr__runner_scenario(plan->runner, runner_id)->cluster;
  double gpus = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].market.market == HR_MARKET_SPOT)
      gpus += (double)cluster->pools[i].nodes * cluster->pools[i].gpus_per_node;
  return gpus;
}

static bool is_in_dollars(const struct hr__goals *goals, size_t goal) {
  return hr__metric_rows[goals->metrics[goals->goals[goal].metric].id].unit == HR_UNIT_DOLLARS;
}

/* Whether a run misses a goal that is not in dollars. */
static bool run_misses(const struct hr__goals *goals, const double *values) {
  for (size_t i = 0; i < goals->n_goals; i++)
    if (!is_in_dollars(goals, i) && hr__goal_violation(&goals->goals[i], values[goals->goals[i].metric]) > 0)
      return true;
  return false;
}

/* Finds how much the runs of a mix differ. */
static void find_spread(const struct hr__evaluator *within, uint32_t candidate, struct hr__held *held) {
  held->low = held->high = held->objective;
  for (uint32_t r = 0; r < held->runs; r++) {
    const double *values = hr__runner_values(within->runner, within->runner_ids[candidate], r);
    double objective = hr__goals_objective(within->goals, values);
    held->low = fmin(held->low, objective);
    held->high = fmax(held->high, objective);
    held->missed += run_misses(within->goals, values);
  }
}

/* Evaluates a mix over its first `count` replications, as far as they were made. */
static struct hr__held evaluate(const struct hr_plan *plan, const struct hr__evaluator *within, uint32_t candidate,
                                uint32_t count) {
  const struct hr__goals *goals = &plan->goals;
  bool is_random = hr__runner_is_random(plan->runner, within->runner_ids[candidate]);
  count = is_random ? hr__evaluator_made(within, candidate, count) : 1;
  struct hr__evaluation evaluation = hr__evaluator_evaluate(within, candidate, count);
  struct hr__held held = {.objective = evaluation.objective,
                          .cost = evaluation.cost,
                          .violation = evaluation.violation,
                          .runs = count,
                          .serves = true,
                          .priced = !hr__plan_counts_dollars(plan) ||
                                    !hr__plan_is_unpriced(plan, within->runner_ids[candidate])};
  for (size_t i = 0; i < goals->n_goals; i++)
    if (!is_in_dollars(goals, i) &&
        hr__goal_violation(&goals->goals[i], hr__evaluator_centre(within, candidate, count, goals->goals[i].metric)) >
            0)
      held.serves = false;
  find_spread(within, candidate, &held);
  return held;
}

/* Whether the condition is one of the spot market. */
static bool is_of_spot(const struct hr__condition *condition) {
  return condition->kind == HR__CONDITION_SPOT_MODEL || condition->kind == HR__CONDITION_SPOT_AVAILABILITY;
}

/* Whether the mix has the same results under the condition as planned: it has no spot capacity, and the condition is
   one of the spot market. */
static bool is_unaffected(const struct hr_plan *plan, uint32_t condition, uint32_t candidate) {
  return is_of_spot(&plan->robustness.conditions[condition]) && spot_gpus(plan, candidate) == 0;
}

/* Lists the mixes from `first` on that a condition affects. Returns their number. */
static uint32_t affected_mixes(const struct hr_plan *plan, uint32_t condition, uint32_t first,
                               uint32_t mixes[HR__MAX_TESTED]) {
  uint32_t count = 0;
  for (uint32_t i = first; i < plan->robustness.n_mixes; i++)
    if (!is_unaffected(plan, condition, plan->robustness.mixes[i].candidate))
      mixes[count++] = plan->robustness.mixes[i].candidate;
  return count;
}

/* The number of replications as planned: that of all tables without a changed environment. */
static uint32_t planned_replications(const struct hr_plan *plan) {
  return plan->depth > plan->robustness.replications ? plan->depth : plan->robustness.replications;
}

/* Makes the runs of the mixes from `first` on, as planned and under all conditions. All are made together, so that all
   threads have work. */
static enum hr_status run_mixes(struct hr_plan *plan, uint32_t first, struct hr_error *error) {
  struct hr__robustness *self = &plan->robustness;
  struct hr__trial_list trials = {0};
  uint32_t mixes[HR__MAX_TESTED], count = 0;
  for (uint32_t i = first; i < self->n_mixes; i++) mixes[count++] = self->mixes[i].candidate;
  enum hr_status status =
      hr__evaluator_list(&plan->evaluator, mixes, count, planned_replications(plan), &trials, error);
  for (uint32_t k = 0; k < self->n_conditions && status == HR_OK; k++) {
    count = affected_mixes(plan, k, first, mixes);
    status = hr__evaluator_list(self->conditions[k].within, mixes, count, self->replications, &trials, error);
  }
  if (status == HR_OK) status = hr__runner_run(plan->runner, trials.list, trials.count, error);
  free(trials.list);
  return status;
}

/* Whether a mix misses a goal that it meets in `unchanged`, or misses goals in more runs. */
static bool is_worse(const struct hr__held *held, const struct hr__held *unchanged) {
  return (unchanged->serves && !held->serves) || held->missed > unchanged->missed ||
         (held->violation > 0 && unchanged->violation == 0);
}

/* Evaluates a mix as planned and, over its first `count` replications, under all conditions. */
static void evaluate_mix(const struct hr_plan *plan, struct hr__tested_mix *mix, uint32_t count) {
  const struct hr__robustness *self = &plan->robustness;
  mix->planned = evaluate(plan, &plan->evaluator, mix->candidate, planned_replications(plan));
  mix->n_held = mix->n_served = mix->n_met = mix->n_over_dollars = 0;
  for (uint32_t k = 0; k < self->n_conditions; k++) {
    if (is_unaffected(plan, k, mix->candidate)) {
      mix->held[k] = mix->planned;
    } else {
      mix->held[k] = evaluate(plan, self->conditions[k].within, mix->candidate, count);
      const struct hr__held unchanged = evaluate(plan, &plan->evaluator, mix->candidate, mix->held[k].runs);
      mix->held[k].is_worse = is_worse(&mix->held[k], &unchanged);
    }
    mix->n_held += mix->held[k].violation == 0;
    mix->n_served += mix->held[k].serves;
    mix->n_met += hr__held_meets(&mix->held[k]);
    mix->n_over_dollars += hr__held_is_over_dollars(&mix->held[k]);
  }
}

/* Tests the mixes from `first` on under all conditions. */
static enum hr_status test_mixes(struct hr_plan *plan, uint32_t first, struct hr_error *error) {
  struct hr__robustness *self = &plan->robustness;
  enum hr_status status = run_mixes(plan, first, error);
  for (uint32_t i = first; i < self->n_mixes && status == HR_OK; i++)
    evaluate_mix(plan, &self->mixes[i], self->replications);
  return status;
}

/* The runs that may still be made. */
static uint64_t runs_left(const struct hr_plan *plan) {
  uint64_t made = hr__runner_runs(plan->runner), until = plan->robustness.until_runs;
  return made < until ? until - made : 0;
}

/* Tests a mix under all conditions if that is affordable and the mix serves its jobs as planned. */
static enum hr_status try_mix(struct hr_plan *plan, uint32_t candidate, struct hr_error *error) {
  struct hr__robustness *self = &plan->robustness;
  enum hr_status status = hr__evaluator_run(&plan->evaluator, &candidate, 1, self->replications, error);
  if (status != HR_OK) return status;
  uint32_t n_changed = 0, before = self->n_mixes;
  for (uint32_t k = 0; k < self->n_conditions; k++) n_changed += !is_unaffected(plan, k, candidate);
  if (!evaluate(plan, &plan->evaluator, candidate, self->replications).serves ||
      (uint64_t)n_changed * self->replications > runs_left(plan))
    return HR_OK;
  status = add_mix(self, candidate, error);
  return status == HR_OK && self->n_mixes > before ? test_mixes(plan, before, error) : status;
}

/* A list of mixes to be tested, sorted by their objective as planned. */
struct mix_list {
  uint32_t candidates[HR__MAX_SENSITIVITY_CASES + HR_MAX_PLAN_VARIABLES + HR__MAX_FINALISTS];
  uint32_t count;
};

static void list_mix(const struct hr_plan *plan, struct mix_list *mixes, uint32_t candidate) {
  bool known = candidate == plan->choice.candidate;
  for (uint32_t i = 0; i < mixes->count; i++) known = known || mixes->candidates[i] == candidate;
  if (!known && mixes->count < sizeof mixes->candidates / sizeof *mixes->candidates)
    mixes->candidates[mixes->count++] = candidate;
}

static double planned_objective(const struct hr_plan *plan, uint32_t candidate) {
  return hr__evaluator_evaluate(&plan->evaluator, candidate, plan->robustness.replications).objective;
}

/* Tests the listed mixes that meet the goals as planned with an objective of at most `max`, the cheapest first. */
static enum hr_status try_mixes(struct hr_plan *plan, struct mix_list *mixes, double max, struct hr_error *error) {
  uint32_t *list = mixes->candidates, replications = plan->robustness.replications;
  enum hr_status status = hr__evaluator_run(&plan->evaluator, list, mixes->count, replications, error);
  if (status != HR_OK) return status;
  for (uint32_t i = 1; i < mixes->count; i++)
    for (uint32_t k = i; k > 0 && planned_objective(plan, list[k]) < planned_objective(plan, list[k - 1]); k--) {
      uint32_t candidate = list[k];
      list[k] = list[k - 1];
      list[k - 1] = candidate;
    }
  for (uint32_t i = 0; i < mixes->count && status == HR_OK; i++)
    if (hr__evaluator_evaluate(&plan->evaluator, list[i], replications).violation == 0 &&
        planned_objective(plan, list[i]) <= max)
      status = try_mix(plan, list[i], error);
  return status;
}

/* Tests the best mixes of the changed environments. */
static enum hr_status try_best_then(struct hr_plan *plan, struct hr_error *error) {
  struct mix_list mixes = {.count = 0};
  for (size_t i = 0; i < plan->n_cases; i++)
    if (plan->cases[i].best_meets) list_mix(plan, &mixes, plan->cases[i].best.candidate);
  return try_mixes(plan, &mixes, (double)INFINITY, error);
}

/* Tests mixes near the choice with an objective of at most `max`: the choice with one of its capacities raised to the
   next value of the grid, and those of the frontier that meet the goals. */
static enum hr_status try_near(struct hr_plan *plan, double max, struct hr_error *error) {
  struct mix_list mixes = {.count = 0};
  for (uint32_t i = 0; i < plan->space.n_capacity; i++) {
    uint32_t axis = plan->space.capacity[i];
    struct hr__point point = hr__space_point(&plan->space, plan->choice.candidate);
    if (++point.level[axis] < hr__space_levels(&plan->space, axis))
      list_mix(plan, &mixes, hr__space_candidate(&plan->space, &point));
  }
  for (size_t i = 0; i < plan->n_pareto; i++)
    if (hr__evaluator_evaluate(&plan->evaluator, plan->pareto[i], plan->depth).violation == 0)
      list_mix(plan, &mixes, plan->pareto[i]);
  return try_mixes(plan, &mixes, max, error);
}

static enum hr_status try_finalists(struct hr_plan *plan, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < plan->n_finalists && status == HR_OK; i++)
    if (hr__evaluator_evaluate(&plan->evaluator, plan->finalists[i], plan->screening).violation == 0)
      status = try_mix(plan, plan->finalists[i], error);
  return status;
}

/* ---- Mixes that depend less on spot capacity -------------------------------------------------------- */

/* Returns the choice with more on-demand capacity: `part` / `parts` of the levels up to the maximum are added, rounded
   up. If `with_spot` is false, the spot capacity is removed. */
static uint32_t with_on_demand(const struct hr_plan *plan, uint32_t part, uint32_t parts, bool with_spot) {
  struct hr__point point = hr__space_point(&plan->space, plan->choice.candidate);
  for (uint32_t i = 0; i < plan->space.n_capacity; i++) {
    uint32_t axis = plan->space.capacity[i], last = hr__space_levels(&plan->space, axis) - 1;
    if (hr__plan_is_of_market(plan, axis, HR_MARKET_ON_DEMAND))
      point.level[axis] += ((last - point.level[axis]) * part + parts - 1) / parts;
    if (!with_spot && hr__plan_is_of_market(plan, axis, HR_MARKET_SPOT)) point.level[axis] = 0;
  }
  return hr__space_candidate(&plan->space, &point);
}

/* Sets the maxima of goals in dollars to infinity and stores them in `bounds` (`lift`), or restores them from `bounds`.
 */
static void lift_dollars(struct hr__goals *goals, double *bounds, bool lift) {
  for (size_t i = 0; i < goals->n_goals; i++) {
    if (!is_in_dollars(goals, i) || !goals->goals[i].at_most) continue;
    if (lift) bounds[i] = goals->goals[i].bound;
    goals->goals[i].bound = lift ? (double)INFINITY : bounds[i];
  }
}

/* Searches for the best mix without spot capacity, at any cost. Under the condition "no spot capacity", spot nodes are
   never available and cost nothing, so mixes that differ only in spot nodes are equal. Of equal mixes, the one with the
   fewest GPUs is the best: it has no spot nodes. */
static enum hr_status try_without_spot(struct hr_plan *plan, const struct hr__condition *condition,
                                       struct hr_error *error) {
  uint64_t until = hr__runner_runs(plan->runner) + runs_left(plan) / 2, most = plan->space.spec->max_runs;
  struct hr__search_config config = hr__plan_search_config(plan);
  config.evaluator = condition->within;
  config.replications = 1;
  config.max_runs = until < most ? until : most;
  config.begin = with_on_demand(plan, 1, 1, false);
  config.one_slice = true;
  config.races = false;
  struct hr__search_result result;
  double *bounds = calloc(plan->goals.n_goals + 1, sizeof *bounds);
  if (!bounds) return hr__plan_no_memory(error);
  lift_dollars(&plan->goals, bounds, true);
  enum hr_status status = hr__search(&config, &result, error);
  lift_dollars(&plan->goals, bounds, false);
  free(bounds);
  if (status == HR_OK && result.n_ranked > 0) status = try_mix(plan, result.ranking[0], error);
  hr__search_finish(&result);
  return status;
}

/* Whether the choice misses a goal under a condition of the spot market. */
static bool depends_on_spot(const struct hr__robustness *self) {
  for (uint32_t k = 0; k < self->n_conditions; k++)
    if (is_of_spot(&self->conditions[k]) && self->mixes[0].held[k].violation > 0) return true;
  return false;
}

/* Tests a mix without spot capacity, and one with more on-demand capacity. */
static enum hr_status try_less_spot(struct hr_plan *plan, struct hr_error *error) {
  struct hr__robustness *self = &plan->robustness;
  enum hr_status status = HR_OK;
  for (uint32_t k = 0; k < self->n_conditions && status == HR_OK; k++)
    if (self->conditions[k].environment.stress.spot_outage >= 1)
      status = try_without_spot(plan, &self->conditions[k], error);
  return status == HR_OK ? try_mix(plan, with_on_demand(plan, 1, 2, true), error) : status;
}

/* ---- Commitments ------------------------------------------------------------------------------------ */

/* The months for which capacity of a variable is paid for; 0: unknown. With several pools, the longest. */
static uint32_t months_of(const struct hr_scenario *scenario, const struct hr_plan_variable *variable) {
  uint32_t months = 0;
  for (uint32_t i = 0; i < variable->n_pools && scenario->pool_sources; i++)
    if (scenario->pool_sources[variable->pools[i]].term_months > months)
      months = scenario->pool_sources[variable->pools[i]].term_months;
  return months;
}

/* Compares the choice, under a condition, with less capacity on the axis of the commitment. */
static enum hr_status regret(struct hr_plan *plan, const struct hr__condition *condition,
                             const struct hr__commitment *commitment, struct hr__regret *regret,
                             struct hr_error *error) {
  enum { PARTS = 4 };
  uint32_t batch[PARTS + 1], replications = plan->robustness.replications;
  struct hr__point point = hr__space_point(&plan->space, plan->choice.candidate);
  uint32_t level = point.level[commitment->axis];
  const struct hr_grid_level *levels = plan->space.spec->variables[commitment->axis].axis.levels;
  for (uint32_t part = 0; part <= PARTS; part++) {
    point.level[commitment->axis] = (level * part + PARTS - 1) / PARTS;
    batch[part] = hr__space_candidate(&plan->space, &point);
  }
  enum hr_status status = hr__evaluator_run(condition->within, batch, PARTS + 1, replications, error);
  if (status != HR_OK) return status;
  struct hr__evaluation own = hr__evaluator_evaluate(condition->within, batch[PARTS], replications);
  *regret = (struct hr__regret){.known = own.violation == 0 && !commitment->is_smallest, .gpus = commitment->gpus};
  for (uint32_t part = 0; part < PARTS && regret->known; part++) {
    struct hr__evaluation less = hr__evaluator_evaluate(condition->within, batch[part], replications);
    if (less.violation > 0 || own.cost - less.cost <= regret->usd) continue;
    regret->usd = own.cost - less.cost;
    regret->gpus = levels[(level * part + PARTS - 1) / PARTS].number;
  }
  return HR_OK;
}

static enum hr_status test_commitment(struct hr_plan *plan, uint32_t capacity, struct hr_error *error) {
  struct hr__robustness *self = &plan->robustness;
  const struct hr_scenario *scenario = hr__runner_scenario(plan->runner, plan->choice.runner_id);
  uint32_t axis = plan->space.capacity[capacity];
  struct hr__point point = hr__space_point(&plan->space, plan->choice.candidate);
  double usd_h = plan->bounds.slices[hr__space_slice(&plan->space, plan->choice.candidate)].fixed[capacity];
  double gpus = hr__space_gpus_at(&plan->space, &point, capacity);
  if (usd_h <= 0 || gpus <= 0) return HR_OK;
  struct hr__commitment *commitment = &self->commitments[self->n_commitments++];
  *commitment = (struct hr__commitment){.axis = axis,
                                        .gpus = gpus,
                                        .monthly_usd = usd_h * gpus * 730,
                                        .is_smallest = point.level[axis] == 0,
                                        .months = months_of(scenario, &plan->space.spec->variables[axis])};
  enum hr_status status = HR_OK;
  for (uint32_t k = 0; k < self->n_conditions && status == HR_OK; k++) {
    const struct hr__condition *condition = &self->conditions[k];
    if (condition->kind == HR__CONDITION_DEMAND && condition->factor < 1)
      status = regret(plan, condition, commitment, &commitment->demand_falls, error);
    if (condition->kind == HR__CONDITION_PRICES)
      status = regret(plan, condition, commitment, &commitment->prices_fall, error);
  }
  return status;
}

/* ---- The whole test --------------------------------------------------------------------------------- */

/* Sorts the mixes after the choice by their objective. There are few, so insertion sort is fast enough. */
static void sort_mixes(struct hr__robustness *self) {
  for (uint32_t i = 2; i < self->n_mixes; i++)
    for (uint32_t k = i; k > 1 && self->mixes[k].planned.objective < self->mixes[k - 1].planned.objective; k--) {
      struct hr__tested_mix mix = self->mixes[k];
      self->mixes[k] = self->mixes[k - 1];
      self->mixes[k - 1] = mix;
    }
}

enum hr_status hr__plan_robustness(struct hr_plan *plan, struct hr_error *error) {
  struct hr__robustness *self = &plan->robustness;
  uint64_t before = hr__runner_runs(plan->runner);
  drop_mixes(self);
  self->n_commitments = 0;
  enum hr_status status = add_mix(self, plan->choice.candidate, error);
  bool goes_on = status == HR_OK && hr__plan_goes_on(plan, test_mixes(plan, 0, error), &status);
  for (uint32_t i = 0; i < plan->space.n_capacity && goes_on; i++)
    goes_on = hr__plan_goes_on(plan, test_commitment(plan, i, error), &status);
  plan->robustness_runs = hr__runner_runs(plan->runner) - before;
  return status;
}

enum hr_status hr__plan_other_mixes(struct hr_plan *plan, struct hr_error *error) {
  struct hr__robustness *self = &plan->robustness;
  uint64_t before = hr__runner_runs(plan->runner);
  bool by_spot = depends_on_spot(self), misses = self->mixes[0].n_met < self->n_conditions;
  self->until_runs = before + (self->max_runs > plan->robustness_runs ? self->max_runs - plan->robustness_runs : 0);
  enum hr_status status = by_spot ? try_mix(plan, with_on_demand(plan, 1, 1, true), error) : HR_OK;
  const double same_cost = self->mixes[0].planned.objective + plan->selection.zone;
  if (status == HR_OK && misses) status = try_near(plan, same_cost, error);
  if (status == HR_OK && misses) status = try_best_then(plan, error);
  if (status == HR_OK && misses) status = try_near(plan, (double)INFINITY, error);
  if (status == HR_OK && by_spot) status = try_less_spot(plan, error);
  if (status == HR_OK) status = try_finalists(plan, error);
  plan->robustness_runs += hr__runner_runs(plan->runner) - before;
  return status;
}

void hr__robustness_conclude(struct hr_plan *plan) {
  struct hr__robustness *self = &plan->robustness;
  for (uint32_t i = 0; i < self->n_mixes; i++) evaluate_mix(plan, &self->mixes[i], plan->space.spec->max_replications);
  sort_mixes(self);
}

/* Whether a mix meets all goals under more conditions than another mix. If the numbers are equal: whether it has more
   conditions under which it misses only goals in dollars. */
static bool holds_more(const struct hr__tested_mix *a, const struct hr__tested_mix *b) {
  return a->n_met != b->n_met ? a->n_met > b->n_met : a->n_over_dollars > b->n_over_dollars;
}

/* The cheapest mix that meets all goals under more conditions than the choice; 0: none. */
static uint32_t cheapest_safer(const struct hr__robustness *robustness, double zone) {
  const struct hr__tested_mix *mixes = robustness->mixes;
  uint32_t found = 0;
  for (uint32_t i = 1; i < robustness->n_mixes; i++) {
    if (mixes[i].n_met <= mixes[0].n_met) continue;
    bool costs_the_same = mixes[i].planned.objective - mixes[0].planned.objective <= zone;
    if (found == 0 || (costs_the_same && holds_more(&mixes[i], &mixes[found]))) found = i;
  }
  return found;
}

/* The mix that meets all goals under the most conditions. */
static uint32_t safest(const struct hr__robustness *robustness) {
  uint32_t found = 0;
  for (uint32_t i = 1; i < robustness->n_mixes; i++)
    if (holds_more(&robustness->mixes[i], &robustness->mixes[found])) found = i;
  return found;
}

/* The mix that meets the goals that are not in dollars under the most conditions. */
static uint32_t safest_at_any_cost(const struct hr__robustness *robustness) {
  const struct hr__tested_mix *mixes = robustness->mixes;
  uint32_t found = 0;
  for (uint32_t i = 1; i < robustness->n_mixes; i++)
    if (mixes[i].n_met + mixes[i].n_over_dollars > mixes[found].n_met + mixes[found].n_over_dollars) found = i;
  return found;
}

uint32_t hr__robustness_shown(const struct hr__robustness *robustness, double zone,
                              uint32_t shown[HR__MAX_PRINTED_MIXES]) {
  uint32_t cheapest = cheapest_safer(robustness, zone), count = 0;
  uint32_t last = cheapest ? safest(robustness) : safest_at_any_cost(robustness);
  if (robustness->n_mixes > 0) shown[count++] = 0;
  if (cheapest) shown[count++] = cheapest;
  if (last && last != cheapest) shown[count++] = last;
  return count;
}
