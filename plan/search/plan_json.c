/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a plan as JSON (docs/reference/schemas/plan.schema.json). */

#include "plan/runner/runner.h"
#include "plan/search/plan.h"
#include "report/tables/tables.h"

#include <math.h>
#include <string.h>

/* ---- Options --------------------------------------------------------------------------------------- */

/* Whether a value is written as a number. A baseline may have a text for a variable with numbers as levels. */
static bool is_number(const struct hr_grid_axis *axis, const char *text) {
  return !isnan(axis->levels[0].number) && text[strspn(text, "+-.0123456789e")] == '\0';
}

/* Writes each variable's value, as a number if possible. */
static void put_choice(struct hr__json *json, cJSON *object, const struct hr_plan *plan,
                       const struct hr__option *option) {
  cJSON *choice = hr__json_object(json, object, "choice");
  for (uint32_t i = 0; i < plan->space.n_axes; i++) {
    const struct hr_grid_axis *axis = &plan->space.spec->variables[i].axis;
    const char *text = hr__option_text(plan, option, i);
    if (is_number(axis, text))
      hr__json_raw(json, choice, axis->name, text);
    else
      hr__json_text(json, choice, axis->name, text);
  }
}

static void put_metrics(struct hr__json *json, cJSON *object, const struct hr_plan *plan,
                        const struct hr__option *option) {
  cJSON *metrics = hr__json_object(json, object, "metrics");
  for (size_t i = 0; i < plan->goals.n_metrics; i++) {
    char name[HR__SCOPED_METRIC_BYTES];
    if (option->metrics[i].count == 0) continue;
    hr__scoped_metric_name(&plan->goals.metrics[i], name);
    hr__json_metric_interval(json, hr__json_object(json, metrics, name), plan->goals.metrics[i].id,
                             &option->metrics[i]);
  }
}

static void put_option(struct hr__json *json, cJSON *object, const struct hr_plan *plan,
                       const struct hr__option *option) {
  put_choice(json, object, plan, option);
  hr__json_finite(json, object, "objective", option->objective);
  hr__json_bool(json, object, "feasible", option->violation == 0);
  hr__json_count(json, object, "replications", option->replications);
  put_metrics(json, object, plan, option);
}

/* Writes the option or, if it is not `known`, null. */
static void put_option_if(struct hr__json *json, cJSON *object, const char *key, const struct hr_plan *plan,
                          const struct hr__option *option, bool known) {
  cJSON *inner = hr__json_object_if(json, object, key, known);
  if (inner) put_option(json, inner, plan, option);
}

/* Writes a candidate as an option. Its metrics are from `plan->depth` replications, as many as `plan->choice` has. */
static void put_candidate(struct hr__json *json, cJSON *object, const struct hr_plan *plan, uint32_t candidate) {
  struct hr__option option;
  if (hr__option_make(plan, &plan->evaluator, candidate, plan->evaluator.runner_ids[candidate], plan->depth, &option,
                      NULL) != HR_OK)
    json->failed = true;
  else
    put_option(json, object, plan, &option);
  hr__option_finish(plan, &option);
}

char *hr__plan_candidate_json(const struct hr_plan *plan, uint32_t candidate, uint32_t replications) {
  struct hr__json json = {0};
  struct hr__option option;
  if (hr__option_make(plan, &plan->evaluator, candidate, plan->evaluator.runner_ids[candidate], replications, &option,
                      NULL) != HR_OK)
    return NULL;
  cJSON *root = cJSON_CreateObject();
  hr__json_text(&json, root, "event", "candidate");
  put_option(&json, root, plan, &option);
  hr__option_finish(plan, &option);
  return hr__json_print(&json, root);
}

/* ---- Capacity to buy ------------------------------------------------------------------------------- */

static void put_pools(struct hr__json *json, cJSON *root, const struct hr_plan *plan) {
  const struct hr_cluster_spec *cluster = &hr__runner_scenario(plan->runner, plan->choice.runner_id)->cluster;
  cJSON *pools = hr__json_array(json, root, "pools");
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    cJSON *inner = hr__json_append(json, pools, cJSON_CreateObject());
    hr__json_text(json, inner, "name", pool->name);
    hr__json_text(json, inner, "market", hr_market_name(pool->market.market));
    hr__json_text(json, inner, "gpu", pool->gpu);
    hr__json_count(json, inner, "nodes", pool->nodes);
    hr__json_count(json, inner, "gpus", (uint64_t)pool->nodes * pool->gpus_per_node);
    hr__json_usd(json, inner, "usd_per_gpu_hour", pool->market.price_uusd_h);
  }
}

/* ---- Alternatives ---------------------------------------------------------------------------------- */

static void put_goals(struct hr__json *json, cJSON *root, const struct hr_plan *plan) {
  cJSON *goals = hr__json_array(json, root, "goals"), *binding = hr__json_array(json, root, "binding");
  for (size_t i = 0; i < plan->goals.n_goals; i++) {
    const struct hr__goal *goal = &plan->goals.goals[i];
    const struct hr__interval *interval = &plan->choice.metrics[goal->metric];
    cJSON *inner = hr__json_append(json, goals, cJSON_CreateObject());
    hr__json_text(json, inner, "constraint", goal->text);
    hr__json_bool(json, inner, "assumed", goal->assumed);
    hr__json_number(json, inner, "bound", goal->bound);
    bool unknown = hr__plan_cost_is_unknown(plan, i);
    hr__json_finite(json, inner, "value", unknown ? HR__UNKNOWN : hr__interval_centre(interval));
    hr__json_bool(json, inner, "met", !unknown && hr__goal_violation(goal, hr__interval_centre(interval)) == 0);
    bool feasible = hr_plan_feasible(plan), binds = plan->excluding[i] && (!feasible || hr__plan_is_at_bound(plan, i));
    hr__json_bool(json, inner, "binding", binds);
    hr__json_bool(json, inner, "excluded_better", feasible && plan->excluding[i]);
    if (binds) hr__json_append(json, binding, cJSON_CreateString(goal->text));
  }
}

static void put_pareto(struct hr__json *json, cJSON *root, const struct hr_plan *plan) {
  char name[HR__SCOPED_METRIC_BYTES];
  cJSON *list = hr__json_array(json, root, "pareto");
  for (size_t i = 0; i < plan->n_pareto; i++)
    put_candidate(json, hr__json_append(json, list, cJSON_CreateObject()), plan, plan->pareto[i]);
  cJSON *of = hr__json_object(json, root, "pareto_of");
  hr__json_text(json, of, "cost", hr__scoped_metric_name(&plan->goals.metrics[plan->pareto_cost], name));
  hr__json_text(json, of, "wait", hr__scoped_metric_name(&plan->goals.metrics[plan->pareto_wait], name));
}

static void put_tightening(struct hr__json *json, cJSON *root, const struct hr_plan *plan) {
  cJSON *list = hr__json_array(json, root, "tightening");
  double own = hr__evaluator_evaluate(&plan->evaluator, plan->choice.candidate, plan->depth).objective;
  for (size_t i = 0; i < plan->n_tightenings; i++) {
    const struct hr__tightening *tightening = &plan->tightenings[i];
    bool any = tightening->candidate != HR_NONE;
    cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
    hr__json_text(json, inner, "constraint", plan->goals.goals[tightening->goal].text);
    hr__json_number(json, inner, "bound", tightening->bound);
    hr__json_bool(json, inner, "feasible", any);
    hr__json_number_if(json, inner, "objective", any, tightening->objective);
    hr__json_number_if(json, inner, "difference", any, tightening->objective - own);
    struct hr__option option = {.candidate = tightening->candidate};
    if (any)
      put_choice(json, inner, plan, &option);
    else
      hr__json_null(json, inner, "choice");
  }
}

/* Writes an option in a changed environment. The objective is null if it contains dollars and all nodes of the option
   are in pools without a price in this environment. */
static void put_case_option(struct hr__json *json, cJSON *object, const struct hr_plan *plan,
                            const struct hr__option *option) {
  struct hr__option shown = *option;
  if (hr__plan_counts_dollars(plan) && hr__plan_is_unpriced(plan, option->runner_id)) shown.objective = HR__UNKNOWN;
  put_option(json, object, plan, &shown);
}

static void put_sensitivity(struct hr__json *json, cJSON *root, const struct hr_plan *plan) {
  cJSON *list = hr__json_array(json, root, "sensitivity");
  for (size_t i = 0; i < plan->n_cases; i++) {
    const struct hr__sensitivity_case *environment = &plan->cases[i];
    cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
    hr__json_text(json, inner, "change", environment->name);
    hr__json_number_if(json, inner, "factor", environment->factor > 0, environment->factor);
    put_case_option(json, hr__json_object(json, inner, "same_choice"), plan, &environment->same);
    cJSON *best = hr__json_object_if(json, inner, "best_choice", environment->best_meets);
    if (best) put_case_option(json, best, plan, &environment->best);
    hr__json_bool(json, inner, "best_is_better", environment->best_is_better);
  }
}

/* ---- Conditions ------------------------------------------------------------------------------------- */

static const char *kind_name(enum hr__condition_kind kind) {
  static const char *const names[] = {[HR__CONDITION_SPOT_MODEL] = "spot model",
                                      [HR__CONDITION_SPOT_AVAILABILITY] = "spot availability",
                                      [HR__CONDITION_DEMAND] = "demand",
                                      [HR__CONDITION_PRICES] = "prices",
                                      [HR__CONDITION_GPU_SUPPLY] = "gpu supply"};
  return names[kind];
}

static bool is_known(const struct hr__held *held) {
  return held->priced && isfinite(held->objective);
}

/* Writes on how many runs an evaluation is based, and how much they differ. */
static void put_spread(struct hr__json *json, cJSON *object, const struct hr__held *held) {
  hr__json_count(json, object, "runs", held->runs);
  hr__json_count(json, object, "missed_runs", held->missed);
  hr__json_number_if(json, object, "objective_low", held->priced && isfinite(held->low), held->low);
  hr__json_number_if(json, object, "objective_high", held->priced && isfinite(held->high), held->high);
}

/* Whether the table "Holds under" has a column for a mix. */
static bool is_shown(const struct hr_plan *plan, const struct hr__tested_mix *mix) {
  uint32_t shown[HR__MAX_PRINTED_MIXES], count = hr__robustness_shown(&plan->robustness, plan->selection.zone, shown);
  for (uint32_t i = 0; i < count; i++)
    if (&plan->robustness.mixes[shown[i]] == mix) return true;
  return false;
}

static void put_tested_mix(struct hr__json *json, cJSON *list, const struct hr_plan *plan,
                           const struct hr__tested_mix *mix) {
  const struct hr__robustness *robustness = &plan->robustness;
  const double more = mix->planned.objective - robustness->mixes[0].planned.objective;
  struct hr__option option = {.candidate = mix->candidate};
  cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
  put_choice(json, inner, plan, &option);
  hr__json_number_if(json, inner, "objective", is_known(&mix->planned), mix->planned.objective);
  hr__json_bool(json, inner, "feasible", mix->planned.violation == 0);
  hr__json_bool(json, inner, "shown", is_shown(plan, mix));
  hr__json_bool(json, inner, "costs_the_same", fabs(more) <= plan->selection.zone);
  hr__json_count(json, inner, "holds", mix->n_held);
  hr__json_count(json, inner, "serves", mix->n_served);
  hr__json_count(json, inner, "meets_all", mix->n_met);
  hr__json_count(json, inner, "over_dollars", mix->n_over_dollars);
  put_spread(json, inner, &mix->planned);
  cJSON *results = hr__json_array(json, inner, "results");
  for (uint32_t i = 0; i < robustness->n_conditions; i++) {
    cJSON *result = hr__json_append(json, results, cJSON_CreateObject());
    hr__json_text(json, result, "condition", robustness->conditions[i].name);
    hr__json_bool(json, result, "feasible", mix->held[i].violation == 0);
    hr__json_bool(json, result, "serves", mix->held[i].serves);
    hr__json_bool(json, result, "is_worse", mix->held[i].is_worse);
    hr__json_number_if(json, result, "objective", is_known(&mix->held[i]), mix->held[i].objective);
    put_spread(json, result, &mix->held[i]);
  }
}

static void put_regret(struct hr__json *json, cJSON *object, const char *key, const struct hr__regret *regret) {
  cJSON *inner = hr__json_object_if(json, object, key, regret->known);
  if (!inner) return;
  hr__json_number(json, inner, "best_gpus", regret->gpus);
  hr__json_number(json, inner, "monthly_usd", regret->usd);
}

static void put_commitments(struct hr__json *json, cJSON *object, const struct hr_plan *plan) {
  const struct hr__robustness *robustness = &plan->robustness;
  cJSON *list = hr__json_array(json, object, "commitments");
  for (uint32_t i = 0; i < robustness->n_commitments; i++) {
    const struct hr__commitment *commitment = &robustness->commitments[i];
    cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
    hr__json_text(json, inner, "variable", plan->space.spec->variables[commitment->axis].axis.name);
    hr__json_number(json, inner, "gpus", commitment->gpus);
    hr__json_number(json, inner, "monthly_usd", commitment->monthly_usd);
    hr__json_number_if(json, inner, "months", commitment->months > 0, commitment->months);
    hr__json_bool(json, inner, "has_smaller_value", !commitment->is_smallest);
    put_regret(json, inner, "at_risk_if_demand_falls", &commitment->demand_falls);
    put_regret(json, inner, "at_risk_if_prices_fall", &commitment->prices_fall);
  }
}

/* The tested mixes under all conditions; null if nothing was tested. */
static void put_robustness(struct hr__json *json, cJSON *root, const struct hr_plan *plan) {
  const struct hr__robustness *robustness = &plan->robustness;
  cJSON *object = hr__json_object_if(json, root, "holds_under", robustness->n_conditions > 0);
  if (!object) return;
  hr__json_count(json, object, "runs_per_condition", robustness->replications);
  cJSON *conditions = hr__json_array(json, object, "conditions");
  for (uint32_t i = 0; i < robustness->n_conditions; i++) {
    const struct hr__condition *condition = &robustness->conditions[i];
    cJSON *inner = hr__json_append(json, conditions, cJSON_CreateObject());
    hr__json_text(json, inner, "condition", condition->name);
    hr__json_text(json, inner, "kind", kind_name(condition->kind));
    bool is_factor = condition->kind != HR__CONDITION_SPOT_MODEL && condition->kind != HR__CONDITION_GPU_SUPPLY;
    hr__json_number_if(json, inner, "factor", is_factor, condition->factor);
  }
  cJSON *mixes = hr__json_array(json, object, "mixes");
  for (uint32_t i = 0; i < robustness->n_mixes; i++) put_tested_mix(json, mixes, plan, &robustness->mixes[i]);
  put_commitments(json, object, plan);
}

/* ---- Search statistics ----------------------------------------------------------------------------- */

static void put_demand(struct hr__json *json, cJSON *root, const struct hr_plan *plan) {
  static const double quantiles[] = {0.5, 0.9, 0.95, 0.99};
  static const char *const names[] = {"p50", "p90", "p95", "p99"};
  const struct hr__demand_curve *demand = &plan->demand;
  cJSON *inner = hr__json_object(json, root, "demand");
  hr__json_number(json, inner, "window_hours", demand->window_h);
  hr__json_number(json, inner, "gpu_hours", demand->gpu_hours);
  cJSON *gpus = hr__json_object(json, inner, "concurrent_gpus");
  hr__json_number(json, gpus, "mean", demand->mean_gpus);
  for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
    hr__json_number(json, gpus, names[i], hr__demand_exceeded(demand, 1 - quantiles[i]));
  hr__json_number(json, gpus, "max", demand->peak_gpus);
  cJSON *newsvendor = hr__json_object(json, inner, "newsvendor_gpus");
  hr__json_number(json, newsvendor, "low", plan->bracket[0]);
  hr__json_number(json, newsvendor, "high", plan->bracket[1]);
}

static void put_runs(struct hr__json *json, cJSON *root, const struct hr_plan *plan) {
  hr__json_count(json, root, "runs", plan->search_runs + plan->selection_runs);
  cJSON *by = hr__json_object(json, root, "runs_by_part");
  hr__json_count(json, by, "search", plan->search_runs);
  hr__json_count(json, by, "selection", plan->selection_runs);
  hr__json_count(json, by, "baselines", plan->baseline_runs);
  hr__json_count(json, by, "tightening", plan->tightening_runs);
  hr__json_count(json, by, "sensitivity", plan->sensitivity_runs);
  hr__json_count(json, by, "holds_under", plan->robustness_runs);
  cJSON *candidates = hr__json_object(json, root, "candidates");
  hr__json_count(json, candidates, "total", plan->space.n_candidates);
  hr__json_count(json, candidates, "run", plan->search.counts.run);
  hr__json_count(json, candidates, "too_dear", plan->search.counts.too_expensive);
  hr__json_count(json, candidates, "too_small", plan->search.counts.too_small);
  hr__json_count(json, candidates, "left", plan->search.counts.not_evaluated);
  hr__json_finite(json, candidates, "improvable", hr__plan_improvable(plan));
  hr__json_finite(json, candidates, "lower_bound", plan->search.min_all);
}

static void put_head(struct hr__json *json, cJSON *root, const struct hr_plan *plan) {
  char text[1000];
  hr__json_head(json, root, plan->config.scenario->name, plan->config.trace->source, plan->config.trace->format);
  hr__json_seed(json, root, "seed", plan->config.scenario->seed);
  hr__json_text(json, root, "objective", hr__goals_objective_text(&plan->goals, text, sizeof text));
  hr__json_bool(json, root, "random", plan->evaluator.random);
  hr__json_number(json, root, "confidence", plan->config.scenario->replications.confidence);
  hr__json_bool(json, root, "feasible", hr_plan_feasible(plan));
  if (plan->forecast)
    hr__json_count(json, root, "forecast_months", hr_forecast_span(plan->forecast).months);
  else
    hr__json_null(json, root, "forecast_months");
}

static cJSON *make_tree(struct hr__json *json, const struct hr_plan *plan, const struct hr_perf *perf) {
  bool feasible = hr_plan_feasible(plan), has_today = plan->today.runner_id != HR_NONE;
  const struct hr__option *baseline = has_today ? &plan->today : &plan->all_on_demand;
  cJSON *root = cJSON_CreateObject();
  put_head(json, root, plan);
  put_option_if(json, root, "recommendation", plan, &plan->choice, feasible);
  put_option_if(json, root, "nearest", plan, &plan->choice, !feasible);
  put_pools(json, root, plan);
  /* A single run gives no probability. If no candidate meets the goals, the probability is 0. */
  bool has_probability = !feasible || (plan->evaluator.random && plan->choice.replications > 1);
  hr__json_number_if(json, root, "probability_best", has_probability, plan->selection.probability);
  hr__json_text(json, root, "probability_over", hr__plan_randomness(plan));
  hr__json_number(json, root, "indifference", plan->selection.zone);
  put_option_if(json, root, "baseline", plan, baseline, baseline->runner_id != HR_NONE);
  put_option_if(json, root, "all_on_demand", plan, &plan->all_on_demand, plan->all_on_demand.runner_id != HR_NONE);
  put_goals(json, root, plan);
  put_pareto(json, root, plan);
  put_tightening(json, root, plan);
  put_sensitivity(json, root, plan);
  put_robustness(json, root, plan);
  put_demand(json, root, plan);
  put_runs(json, root, plan);
  hr__json_all_notes(json, root, plan->config.scenario, plan->config.trace, &plan->notes);
  hr__json_runs_perf(json, root, perf, plan->config.n_threads);
  return root;
}

char *hr_plan_json(const struct hr_plan *plan, const struct hr_perf *perf) {
  struct hr__json json = {0};
  return hr__json_print(&json, make_tree(&json, plan, perf));
}

enum hr_status hr_plan_write_json(const char *path, const struct hr_plan *plan, const struct hr_perf *perf,
                                  struct hr_error *error) {
  struct hr__json json = {0};
  return hr__json_write(&json, make_tree(&json, plan, perf), path, error);
}
