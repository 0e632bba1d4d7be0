/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a plan as JSON (docs/reference/schemas/plan.schema.json). */

#include "plan/runner/runner.h"
#include "plan/search/plan.h"
#include "report/tables/tables.h"

#include <math.h>
#include <string.h>

struct plan_json_writer {
  struct hr__json json;
  const struct hr_plan *plan;
};

/* ---- Options --------------------------------------------------------------------------------------- */

/* Whether a value is written as a number. A baseline may have a text for a variable with numbers as levels. */
static bool is_number(const struct hr_grid_axis *axis, const char *text) {
  return !isnan(axis->levels[0].number) && text[strspn(text, "+-.0123456789e")] == '\0';
}

/* Writes each variable's value, as a number if possible. */
static void put_choice(struct plan_json_writer *writer, cJSON *object, const struct hr__option *option) {
  const struct hr_plan *plan = writer->plan;
  cJSON *choice = hr__json_object(&writer->json, object, "choice");
  for (uint32_t i = 0; i < plan->space.n_axes; i++) {
    const struct hr_grid_axis *axis = &plan->space.spec->variables[i].axis;
    const char *text = hr__option_text(plan, option, i);
    if (is_number(axis, text))
      hr__json_raw(&writer->json, choice, axis->name, text);
    else
      hr__json_text(&writer->json, choice, axis->name, text);
  }
}

static void put_metrics(struct plan_json_writer *writer, cJSON *object, const struct hr__option *option) {
  cJSON *metrics = hr__json_object(&writer->json, object, "metrics");
  for (size_t i = 0; i < writer->plan->goals.n_metrics; i++) {
    char name[HR__SCOPED_METRIC_BYTES];
    if (option->metrics[i].count == 0) continue;
    hr__scoped_metric_name(&writer->plan->goals.metrics[i], name);
    hr__json_metric_interval(&writer->json, hr__json_object(&writer->json, metrics, name),
                             writer->plan->goals.metrics[i].id, &option->metrics[i]);
  }
}

static void put_option(struct plan_json_writer *writer, cJSON *object, const struct hr__option *option) {
  put_choice(writer, object, option);
  hr__json_finite(&writer->json, object, "objective", option->objective);
  hr__json_bool(&writer->json, object, "feasible", option->violation == 0);
  hr__json_count(&writer->json, object, "replications", option->replications);
  put_metrics(writer, object, option);
}

/* Writes the option or, if it is not `known`, null. */
static void put_option_if(struct plan_json_writer *writer, cJSON *object, const char *key,
                          const struct hr__option *option, bool known) {
  if (known)
    put_option(writer, hr__json_object(&writer->json, object, key), option);
  else
    hr__json_null(&writer->json, object, key);
}

/* Writes a candidate as an option. Its metrics are from `plan->depth` replications, as many as `plan->choice` has. */
static void put_candidate(struct plan_json_writer *writer, cJSON *object, uint32_t candidate) {
  const struct hr_plan *plan = writer->plan;
  struct hr__option option;
  if (hr__option_make(plan, &plan->evaluator, candidate, plan->evaluator.runner_ids[candidate], plan->depth, &option,
                      NULL) != HR_OK)
    writer->json.failed = true;
  else
    put_option(writer, object, &option);
  hr__option_finish(plan, &option);
}

char *hr__plan_candidate_json(const struct hr_plan *plan, uint32_t candidate, uint32_t replications) {
  struct plan_json_writer writer = {.plan = plan};
  struct hr__option option;
  cJSON *root = cJSON_CreateObject();
  if (!root || hr__option_make(plan, &plan->evaluator, candidate, plan->evaluator.runner_ids[candidate], replications,
                               &option, NULL) != HR_OK) {
    cJSON_Delete(root);
    return NULL;
  }
  hr__json_text(&writer.json, root, "event", "candidate");
  put_option(&writer, root, &option);
  hr__option_finish(plan, &option);
  return hr__json_print(&writer.json, root);
}

/* ---- Capacity to buy ------------------------------------------------------------------------------- */

static void put_pools(struct plan_json_writer *writer, cJSON *root) {
  struct hr__json *json = &writer->json;
  const struct hr_cluster_spec *cluster =
      &hr__runner_scenario(writer->plan->runner, writer->plan->choice.runner_id)->cluster;
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

static void put_goals(struct plan_json_writer *writer, cJSON *root) {
  struct hr__json *json = &writer->json;
  const struct hr_plan *plan = writer->plan;
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

static void put_pareto(struct plan_json_writer *writer, cJSON *root) {
  struct hr__json *json = &writer->json;
  const struct hr_plan *plan = writer->plan;
  char name[HR__SCOPED_METRIC_BYTES];
  cJSON *list = hr__json_array(json, root, "pareto");
  for (size_t i = 0; i < plan->n_pareto; i++)
    put_candidate(writer, hr__json_append(json, list, cJSON_CreateObject()), plan->pareto[i]);
  cJSON *of = hr__json_object(json, root, "pareto_of");
  hr__json_text(json, of, "cost", hr__scoped_metric_name(&plan->goals.metrics[plan->pareto_cost], name));
  hr__json_text(json, of, "wait", hr__scoped_metric_name(&plan->goals.metrics[plan->pareto_wait], name));
}

static void put_tightening(struct plan_json_writer *writer, cJSON *root) {
  struct hr__json *json = &writer->json;
  const struct hr_plan *plan = writer->plan;
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
      put_choice(writer, inner, &option);
    else
      hr__json_null(json, inner, "choice");
  }
}

/* Writes an option in a changed environment. The objective is null if it contains dollars and all nodes of the option
   are in pools without a price in this environment. */
static void put_case_option(struct plan_json_writer *writer, cJSON *object, const struct hr__option *option) {
  struct hr__option shown = *option;
  if (hr__plan_counts_dollars(writer->plan) && hr__plan_is_unpriced(writer->plan, option->runner_id))
    shown.objective = HR__UNKNOWN;
  put_option(writer, object, &shown);
}

static void put_sensitivity(struct plan_json_writer *writer, cJSON *root) {
  struct hr__json *json = &writer->json;
  cJSON *list = hr__json_array(json, root, "sensitivity");
  for (size_t i = 0; i < writer->plan->n_cases; i++) {
    const struct hr__sensitivity_case *environment = &writer->plan->cases[i];
    cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
    hr__json_text(json, inner, "change", environment->name);
    hr__json_number_if(json, inner, "factor", environment->factor > 0, environment->factor);
    put_case_option(writer, hr__json_object(json, inner, "same_choice"), &environment->same);
    if (environment->best_meets)
      put_case_option(writer, hr__json_object(json, inner, "best_choice"), &environment->best);
    else
      hr__json_null(json, inner, "best_choice");
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

static void put_tested_mix(struct plan_json_writer *writer, cJSON *list, const struct hr__tested_mix *mix) {
  struct hr__json *json = &writer->json;
  const struct hr__robustness *robustness = &writer->plan->robustness;
  const double more = mix->planned.objective - robustness->mixes[0].planned.objective;
  struct hr__option option = {.candidate = mix->candidate};
  cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
  put_choice(writer, inner, &option);
  hr__json_number_if(json, inner, "objective", is_known(&mix->planned), mix->planned.objective);
  hr__json_bool(json, inner, "feasible", mix->planned.violation == 0);
  hr__json_bool(json, inner, "shown", is_shown(writer->plan, mix));
  hr__json_bool(json, inner, "costs_the_same", fabs(more) <= writer->plan->selection.zone);
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
  if (!regret->known) {
    hr__json_null(json, object, key);
    return;
  }
  cJSON *inner = hr__json_object(json, object, key);
  hr__json_number(json, inner, "best_gpus", regret->gpus);
  hr__json_number(json, inner, "monthly_usd", regret->usd);
}

static void put_commitments(struct plan_json_writer *writer, cJSON *object) {
  struct hr__json *json = &writer->json;
  const struct hr__robustness *robustness = &writer->plan->robustness;
  cJSON *list = hr__json_array(json, object, "commitments");
  for (uint32_t i = 0; i < robustness->n_commitments; i++) {
    const struct hr__commitment *commitment = &robustness->commitments[i];
    cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
    hr__json_text(json, inner, "variable", writer->plan->space.spec->variables[commitment->axis].axis.name);
    hr__json_number(json, inner, "gpus", commitment->gpus);
    hr__json_number(json, inner, "monthly_usd", commitment->monthly_usd);
    hr__json_number_if(json, inner, "months", commitment->months > 0, commitment->months);
    hr__json_bool(json, inner, "has_smaller_value", !commitment->is_smallest);
    put_regret(json, inner, "at_risk_if_demand_falls", &commitment->demand_falls);
    put_regret(json, inner, "at_risk_if_prices_fall", &commitment->prices_fall);
  }
}

/* The tested mixes under all conditions; null if nothing was tested. */
static void put_robustness(struct plan_json_writer *writer, cJSON *root) {
  struct hr__json *json = &writer->json;
  const struct hr__robustness *robustness = &writer->plan->robustness;
  if (robustness->n_conditions == 0) {
    hr__json_null(json, root, "holds_under");
    return;
  }
  cJSON *object = hr__json_object(json, root, "holds_under");
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
  for (uint32_t i = 0; i < robustness->n_mixes; i++) put_tested_mix(writer, mixes, &robustness->mixes[i]);
  put_commitments(writer, object);
}

/* ---- Search statistics ----------------------------------------------------------------------------- */

static void put_demand(struct plan_json_writer *writer, cJSON *root) {
  static const double quantiles[] = {0.5, 0.9, 0.95, 0.99};
  static const char *const names[] = {"p50", "p90", "p95", "p99"};
  struct hr__json *json = &writer->json;
  const struct hr__demand_curve *demand = &writer->plan->demand;
  cJSON *inner = hr__json_object(json, root, "demand");
  hr__json_number(json, inner, "window_hours", demand->window_h);
  hr__json_number(json, inner, "gpu_hours", demand->gpu_hours);
  cJSON *gpus = hr__json_object(json, inner, "concurrent_gpus");
  hr__json_number(json, gpus, "mean", demand->mean_gpus);
  for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
    hr__json_number(json, gpus, names[i], hr__demand_exceeded(demand, 1 - quantiles[i]));
  hr__json_number(json, gpus, "max", demand->peak_gpus);
  cJSON *newsvendor = hr__json_object(json, inner, "newsvendor_gpus");
  hr__json_number(json, newsvendor, "low", writer->plan->bracket[0]);
  hr__json_number(json, newsvendor, "high", writer->plan->bracket[1]);
}

static void put_runs(struct plan_json_writer *writer, cJSON *root) {
  struct hr__json *json = &writer->json;
  const struct hr_plan *plan = writer->plan;
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

static void put_head(struct plan_json_writer *writer, cJSON *root) {
  struct hr__json *json = &writer->json;
  const struct hr_plan *plan = writer->plan;
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

static void put_perf(struct plan_json_writer *writer, cJSON *root, const struct hr_perf *perf) {
  cJSON *inner = hr__json_object(&writer->json, root, "perf");
  hr__json_number(&writer->json, inner, "load_s", perf->load_s);
  hr__json_number(&writer->json, inner, "sim_s", perf->sim_s);
  hr__json_count(&writer->json, inner, "threads", writer->plan->config.n_threads);
  hr__json_number(&writer->json, inner, "peak_rss_mib", perf->peak_rss_mib);
}

static cJSON *make_tree(struct plan_json_writer *writer, const struct hr_perf *perf) {
  static const struct hr_perf nothing = {0};
  const struct hr_plan *plan = writer->plan;
  struct hr__json *json = &writer->json;
  bool feasible = hr_plan_feasible(plan), has_today = plan->today.runner_id != HR_NONE;
  const struct hr__option *baseline = has_today ? &plan->today : &plan->all_on_demand;
  cJSON *root = cJSON_CreateObject();
  put_head(writer, root);
  put_option_if(writer, root, "recommendation", &plan->choice, feasible);
  put_option_if(writer, root, "nearest", &plan->choice, !feasible);
  put_pools(writer, root);
  /* A single run gives no probability. If no candidate meets the goals, the probability is 0. */
  bool has_probability = !feasible || (plan->evaluator.random && plan->choice.replications > 1);
  hr__json_number_if(json, root, "probability_best", has_probability, plan->selection.probability);
  hr__json_text(json, root, "probability_over", hr__plan_randomness(plan));
  hr__json_number(json, root, "indifference", plan->selection.zone);
  put_option_if(writer, root, "baseline", baseline, baseline->runner_id != HR_NONE);
  put_option_if(writer, root, "all_on_demand", &plan->all_on_demand, plan->all_on_demand.runner_id != HR_NONE);
  put_goals(writer, root);
  put_pareto(writer, root);
  put_tightening(writer, root);
  put_sensitivity(writer, root);
  put_robustness(writer, root);
  put_demand(writer, root);
  put_runs(writer, root);
  cJSON *notes = hr__json_array(json, root, "notes");
  hr__json_notes(json, notes, &plan->config.scenario->notes);
  hr__json_notes(json, notes, &plan->config.trace->notes);
  hr__json_notes(json, notes, &plan->notes);
  put_perf(writer, root, perf ? perf : &nothing);
  return root;
}

char *hr_plan_json(const struct hr_plan *plan, const struct hr_perf *perf) {
  struct plan_json_writer writer = {.plan = plan};
  cJSON *root = make_tree(&writer, perf);
  return hr__json_print(&writer.json, root);
}

enum hr_status hr_plan_write_json(const char *path, const struct hr_plan *plan, const struct hr_perf *perf,
                                  struct hr_error *error) {
  struct plan_json_writer writer = {.plan = plan};
  cJSON *root = make_tree(&writer, perf);
  return hr__json_write(&writer.json, root, path, error);
}
