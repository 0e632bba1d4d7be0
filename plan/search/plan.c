/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Computes a plan: reads the question, searches the candidates, selects the best of the finalists (the choice),
 * examines alternatives (plan_alternatives.c), and adds notes.
 *
 * The search uses few replications (`screening`) of each candidate that it runs. The finalists, which are a few of
 * these candidates, get as many replications as the selection needs (`depth`). All reported results have this number of
 * replications.
 */

#include "plan/search/plan.h"

#include "base/containers.h"
#include "headroom/unstable/metrics.h"
#include "headroom/unstable/trace_tools.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
  SCREENING = 3,   /* replications of each candidate in the search, if the scenario is random */
  FIRST_STAGE = 8, /* replications of each finalist before any is dropped */
  FINALISTS = 12,  /* maximum number of finalists that the search proposes; more may be added near the choice */
  SMALL_GRID = 200 /* a deterministic grid of at most this size is run completely: as cheap as a search, and exact */
};
/* A candidate with at most this violation over few replications may still meet the goals over many replications. */
static const double near_miss = 0.1;
/* A candidate may still be the best over many replications if its objective over few replications is worse than the
   best by at most this share. */
static const double far_behind = 0.1;

/* ---- The question ---------------------------------------------------------------------------------- */

/* The share of jobs that may stay incomplete without missing a goal; 1 if no goal limits this share. */
static double may_fail(const struct hr__goals *goals) {
  double share = 1;
  for (size_t i = 0; i < goals->n_goals; i++) {
    const struct hr__goal *goal = &goals->goals[i];
    const struct hr__scoped_metric *metric = &goals->metrics[goal->metric];
    if (metric->id == HR__M_COMPLETED_SHARE && metric->of == HR__OF_ALL && !goal->at_most)
      share = fmin(share, fmax(0, 1 - goal->bound));
  }
  return share;
}

static enum hr_status make_forecast(struct hr_plan *plan, struct hr_error *error) {
  const struct hr_forecast_config config = {.months = plan->config.forecast_months,
                                            .growth = plan->config.forecast_growth};
  if (config.months == 0) return HR_OK;
  return hr_forecast_make(plan->config.trace, &config, &plan->forecast, error);
}

/* Mean demand for which the plan is made, relative to the demand of the trace. */
static double growth_of(const struct hr_plan *plan) {
  double growth = plan->config.scenario->replications.workload.growth, sum = 0;
  uint32_t n_series;
  if (!plan->forecast) return growth;
  struct hr_forecast_span span = hr_forecast_span(plan->forecast);
  (void)hr_forecast_series(plan->forecast, &n_series);
  for (uint32_t week = 0; week < span.weeks; week++) sum += hr_forecast_week(plan->forecast, n_series, week).mean;
  return growth * sum / span.weeks / hr_forecast_item(plan->forecast, n_series).week_gpu_hours;
}

static enum hr_status prepare(struct hr_plan *plan, struct hr_error *error) {
  const struct hr_plan_config *config = &plan->config;
  const struct hr_scenario *scenario = config->scenario;
  uint32_t number;
  enum hr_status status = hr__space_make(scenario->plan, scenario, &plan->space, error);
  if (status == HR_OK)
    status = hr__goals_make(scenario->plan, config->trace, scenario->services, hr_scenario_has_prices(scenario),
                            &plan->goals, error);
  if (status == HR_OK) status = make_forecast(plan, error);
  if (status != HR_OK) return status;
  struct hr__runner_config runner_config = {.scenario = scenario,
                                            .accepts_unfit = true,
                                            .overrides = config->overrides,
                                            .n_overrides = config->n_overrides,
                                            .trace = config->trace,
                                            .metrics = plan->goals.metrics,
                                            .n_metrics = plan->goals.n_metrics,
                                            .n_threads = config->n_threads,
                                            .ranks = config->ranks,
                                            .progress = config->progress};
  plan->runner = hr__runner_create(&runner_config);
  if (!plan->runner) return hr__plan_no_memory(error);
  struct hr__environment environment = hr__plan_environment(plan);
  status = hr__runner_add_environment(plan->runner, &environment, &number, error);
  if (status == HR_OK)
    status = hr__evaluator_make(&plan->evaluator, plan->runner, &plan->space, &plan->goals, number, error);
  const double failing = may_fail(&plan->goals);
  if (status == HR_OK && hr__demand_make(config->trace, growth_of(plan), failing, &plan->demand) != HR_OK)
    status = hr_fail(error, HR_NO_MEMORY, "out of memory for the demand");
  bool redrawn =
      environment.workload.blocks != HR_BLOCKS_NONE || environment.workload.growth != 1 || environment.forecast;
  return status == HR_OK
             ? hr__bounds_make(&plan->evaluator, &runner_config, &plan->demand, redrawn, failing, &plan->bounds, error)
             : status;
}

/* ---- Search and selection -------------------------------------------------------------------------- */

/* Sets the number of replications in the search. If nothing is random, one run of each candidate suffices. */
static enum hr_status find_screening(struct hr_plan *plan, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t slice = 0; slice < plan->space.n_slices && !plan->evaluator.random && status == HR_OK; slice++) {
    struct hr__point corner = hr__space_corner(&plan->space, slice, true);
    uint32_t candidate = hr__space_candidate(&plan->space, &corner);
    status = hr__evaluator_run(&plan->evaluator, &candidate, 1, 1, error);
  }
  plan->screening = plan->evaluator.random ? SCREENING : 1;
  return status;
}

/* Whether the candidate meets all goals in some replication, so that it may meet them over more replications. */
static bool may_meet(const struct hr__evaluator *evaluator, uint32_t candidate, uint32_t replications) {
  const struct hr__goals *goals = evaluator->goals;
  if (hr__runner_unfit(evaluator->runner, evaluator->runner_ids[candidate])) return false;
  if (hr__evaluator_unknown_costs(evaluator, candidate)) return false;
  replications = hr__evaluator_made(evaluator, candidate, replications);
  for (uint32_t r = 0; r < replications; r++) {
    const double *values = hr__runner_values(evaluator->runner, evaluator->runner_ids[candidate], r);
    bool meets = true;
    for (size_t i = 0; i < goals->n_goals; i++)
      meets = meets && hr__goal_violation(&goals->goals[i], values[goals->goals[i].metric]) == 0;
    if (meets) return true;
  }
  return false;
}

/* Whether a candidate may be the best after more replications. If the best candidate meets the goals:
   - With `near_misses`, it misses goals slightly, or meets all goals in some replication, and has a better objective
     than the best candidate.
   - Without `near_misses`, it meets the goals, and its objective is at most slightly worse than that of the best one.
   If the best candidate misses a goal:
   - With `near_misses`, there is no such candidate.
   - Without `near_misses`, its violation exceeds that of the best candidate by at most near_miss. */
static bool is_contender(const struct hr_plan *plan, const struct hr__evaluation *best, uint32_t candidate,
                         const struct hr__evaluation *evaluation, bool near_misses) {
  if (best->violation > 0) return !near_misses && evaluation->violation <= best->violation + near_miss;
  if (near_misses)
    return evaluation->violation > 0 && evaluation->objective < best->objective &&
           (evaluation->violation <= near_miss || may_meet(&plan->evaluator, candidate, plan->screening));
  return evaluation->violation == 0 && evaluation->objective <= best->objective + far_behind * fabs(best->objective);
}

/* Lists the finalists. Near misses (see is_contender) rank behind all candidates that meet the goals. They are
   therefore added first, up to half of the places. */
static void list_finalists(struct hr_plan *plan) {
  const struct hr__search_result *search = &plan->search;
  struct hr__evaluation best = hr__evaluator_evaluate(&plan->evaluator, search->ranking[0], plan->screening);
  uint32_t count = 0;
  plan->finalists[count++] = search->ranking[0];
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t i = 1; i < search->n_ranked && count < (pass ? FINALISTS : FINALISTS / 2); i++) {
      struct hr__evaluation evaluation = hr__evaluator_evaluate(&plan->evaluator, search->ranking[i], plan->screening);
      if (is_contender(plan, &best, search->ranking[i], &evaluation, pass == 0))
        plan->finalists[count++] = search->ranking[i];
    }
  plan->n_finalists = count;
}

static bool is_finalist(const struct hr_plan *plan, uint32_t candidate) {
  for (uint32_t i = 0; i < plan->n_finalists; i++)
    if (plan->finalists[i] == candidate) return true;
  return false;
}

static enum hr_status select_finalist(struct hr_plan *plan, struct hr_error *error) {
  const struct hr_plan_spec *spec = plan->space.spec;
  struct hr__selection_config config = {.evaluator = &plan->evaluator,
                                        .first =
                                            FIRST_STAGE < spec->max_replications ? FIRST_STAGE : spec->max_replications,
                                        .max_replications = spec->max_replications,
                                        .confidence = plan->config.scenario->replications.confidence,
                                        .indifference = spec->indifference,
                                        .max_runs = spec->max_runs,
                                        .seed = plan->config.scenario->seed};
  return hr__select(&config, plan->finalists, plan->n_finalists, &plan->selection, error);
}

/* If no finalist meets the goals over many replications, although candidates met them in the search: selects among the
   next such candidates. */
static enum hr_status select_others(struct hr_plan *plan, struct hr_error *error) {
  enum hr_status status = HR_OK;
  uint32_t next = 0, nearest = plan->selection.nearest;
  while (status == HR_OK && plan->selection.choice == HR_NONE) {
    plan->finalists[0] = nearest;
    uint32_t count = 1;
    for (; next < plan->search.n_ranked && count < FINALISTS; next++) {
      uint32_t candidate = plan->search.ranking[next];
      if (hr__evaluator_evaluate(&plan->evaluator, candidate, plan->screening).violation > 0) break;
      if (!is_finalist(plan, candidate)) plan->finalists[count++] = candidate;
    }
    if (count == 1) break;
    plan->n_finalists = count;
    status = select_finalist(plan, error);
    nearest = plan->selection.nearest;
  }
  return status;
}

/* Adds finalists near the choice, and selects again, until the choice stays the same, at most ROUNDS times. This is
   needed if the choice is not the best candidate of the search, because the search then did not run the neighbours of
   the choice. */
static enum hr_status select_near(struct hr_plan *plan, struct hr_error *error) {
  enum { ROUNDS = 3 };
  enum hr_status status = HR_OK;
  uint32_t before = plan->search.ranking[0];
  for (int round = 0; round < ROUNDS && status == HR_OK; round++) {
    uint32_t choice = plan->selection.choice;
    if (choice == HR_NONE || choice == before) return HR_OK;
    struct hr__search_config config = hr__plan_search_config(plan);
    config.begin = choice;
    config.one_slice = true;
    struct hr__search_result near = {0};
    struct hr__evaluation own = hr__evaluator_evaluate(&plan->evaluator, choice, plan->selection.replications);
    status = hr__search(&config, &near, error);
    for (uint32_t i = 0; i < near.n_ranked && plan->n_finalists < HR__MAX_FINALISTS && status == HR_OK; i++) {
      struct hr__evaluation evaluation = hr__evaluator_evaluate(&plan->evaluator, near.ranking[i], plan->screening);
      bool contends = is_contender(plan, &own, near.ranking[i], &evaluation, evaluation.violation > 0);
      if (contends && !is_finalist(plan, near.ranking[i])) plan->finalists[plan->n_finalists++] = near.ranking[i];
    }
    hr__search_finish(&near);
    before = choice;
    if (status == HR_OK) status = select_finalist(plan, error);
  }
  return status;
}

static enum hr_status choose(struct hr_plan *plan, struct hr_error *error) {
  list_finalists(plan);
  uint64_t before = hr__runner_runs(plan->runner);
  enum hr_status status = select_finalist(plan, error);
  if (status == HR_OK) status = select_others(plan, error);
  if (status == HR_OK) status = select_near(plan, error);
  plan->selection_runs = hr__runner_runs(plan->runner) - before;
  if (status != HR_OK) return status;
  uint32_t candidate = plan->selection.nearest;
  plan->depth = plan->evaluator.random ? plan->selection.replications : 1;
  return hr__option_make(plan, &plan->evaluator, candidate, plan->evaluator.runner_ids[candidate],
                         plan->selection.replications, &plan->choice, error);
}

/* Passes a candidate to the callback that follows the search. */
static void tell_candidate(void *self, uint32_t candidate, uint32_t replications) {
  const struct hr_plan *plan = self;
  char *json = hr__plan_candidate_json(plan, candidate, replications);
  if (json) plan->config.listener.candidate(plan->config.listener.self, json);
  free(json);
}

static enum hr_status search(struct hr_plan *plan, struct hr_error *error) {
  bool small_grid = !plan->evaluator.random && plan->space.n_candidates <= SMALL_GRID;
  bool everywhere =
      plan->config.search == HR_PLAN_SEARCH_EXHAUSTIVE || (plan->config.search == HR_PLAN_SEARCH_AUTO && small_grid);
  struct hr__search_config config = hr__plan_search_config(plan);
  config.begin = HR_NONE;
  config.exhaustive = everywhere;
  config.races = config.races && !everywhere;
  config.thorough = true;
  if (plan->config.listener.candidate) config.watch = (struct hr__search_watch){plan, tell_candidate};
  if (everywhere && plan->evaluator.random) config.replications = plan->screening = plan->space.spec->max_replications;
  enum hr_status status = hr__search(&config, &plan->search, error);
  plan->search_runs = hr__runner_runs(plan->runner);
  if (status == HR_OK && plan->search.n_ranked == 0)
    return hr_fail(error, HR_BAD_INPUT, "%s'max_runs' is %" PRIu64 ", which is too low to run any candidate",
                   plan->space.spec->self.place, plan->space.spec->max_runs);
  return status;
}

/* ---- Notes ----------------------------------------------------------------------------------------- */

/* Adds a note if the choice is at the end of an axis, since a better candidate may be beyond it. */
static enum hr_status note_ends(struct hr_plan *plan) {
  struct hr__point point = hr__space_point(&plan->space, plan->choice.candidate);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < plan->space.n_capacity && status == HR_OK; i++) {
    const struct hr_grid_axis *axis = &plan->space.spec->variables[plan->space.capacity[i]].axis;
    uint32_t level = point.level[plan->space.capacity[i]];
    if (level + 1 < axis->n_levels || axis->n_levels < 2) continue;
    status =
        hr_notes_add(&plan->notes, "%s is at the maximum of its variable, %s; a higher maximum may allow a better plan",
                     axis->name, axis->levels[level].text);
  }
  return status;
}

/* If a goal is on the cost: adds a note for each pool that has no price and in which candidates have nodes. */
static enum hr_status note_prices(struct hr_plan *plan) {
  const struct hr_scenario *scenario = plan->config.scenario;
  const struct hr__goal *goal = NULL;
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < plan->goals.n_goals && !goal; i++)
    if (hr__goal_is_of_cost(&plan->goals, &plan->goals.goals[i])) goal = &plan->goals.goals[i];
  for (uint32_t i = 0; i < scenario->cluster.n_pools && goal && status == HR_OK; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    bool varies = hr__space_has_pool(&plan->space, i) || !hr_scenario_has_prices(scenario);
    if (pool->market.market != HR_MARKET_NONE || (!varies && !pool->nodes)) continue;
    status =
        hr_notes_add(&plan->notes, "pool '%.60s' has no price: %s '%.100s'%s; set its 'market' and 'usd_per_gpu_hour'",
                     pool->name, varies ? "with its nodes, it is unknown whether a candidate meets" : "the goal",
                     goal->text, varies ? ", so the goal counts as missed" : " does not contain its cost");
  }
  return status;
}

/* Adds notes on goals that a candidate can meet in an unintended way. */
static enum hr_status note_goals(struct hr_plan *plan) {
  const struct hr__goals *goals = &plan->goals;
  enum hr_status status = note_prices(plan);
  if (status != HR_OK) return status;
  if (!goals->bound_waits && !hr__goals_have(goals, HR__M_DEADLINE_MISS) && goals->n_terms == 1 &&
      hr__metric_rows[goals->metrics[goals->terms[0]].id].unit == HR_UNIT_DOLLARS)
    status = hr_notes_add(
        &plan->notes, "no goal limits the waits of all jobs, so the cheapest candidate may fall further and further "
                      "behind its demand; consider 'wait_s.p95 <= 4 h'");
  bool cut = plan->config.scenario->horizon_us != HR_NEVER_US;
  if (status == HR_OK && cut && hr__goals_have(goals, HR__M_COMPLETED_SHARE))
    status = hr_notes_add(&plan->notes,
                          "'horizon_s' cuts the run, and jobs still running at its end do not complete: possibly no "
                          "candidate can meet a goal on 'completed'");
  return status;
}

/* Adds notes on the services of a scenario that cannot meet their goals according to formulas, without a run. */
static enum hr_status find_unattainable(const struct hr_scenario *scenario, struct hr_notes *notes,
                                        struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; scenario->services && i < scenario->services->count && status == HR_OK; i++) {
    const struct hr_service *service = &scenario->services->at[i];
    struct hr_service_requests requests;
    if (service->slo.ttft_ms <= 0 && service->slo.tpot_ms <= 0 && service->slo.e2e_ms <= 0) continue;
    status = hr_requests_of_service(service, i, scenario->seed, &requests, error);
    if (status == HR_OK && hr_service_goal_notes(service, &requests, notes) != HR_OK)
      status = hr__plan_no_memory(error);
    hr_requests_finish(&requests);
  }
  return status;
}

/* Why a service of the candidates of a slice cannot meet its goals. */
struct unattainable {
  const char *reason;
  uint32_t slice;
};

static int by_reason(const void *a, const void *b) {
  const struct unattainable *first = a, *second = b;
  return strcmp(first->reason, second->reason);
}

/* Adds a note for each reason why services cannot meet their goals. Candidates of a slice have equal services. */
static enum hr_status note_reasons(struct hr_plan *plan, const uint32_t *run, struct unattainable *list, size_t count) {
  enum hr_status status = HR_OK;
  if (count) qsort(list, count, sizeof *list, by_reason);
  for (size_t i = 0, next; i < count && status == HR_OK; i = next) {
    static const char warning[] = "warning: ";
    const char *reason = list[i].reason;
    uint32_t affected = 0;
    for (next = i; next < count && strcmp(list[next].reason, reason) == 0; next++) affected += run[list[next].slice];
    if (strncmp(reason, warning, sizeof warning - 1) == 0) reason += sizeof warning - 1;
    status = affected == plan->search.n_ranked
                 ? hr_notes_add(&plan->notes, "%s%s", warning, reason)
                 : hr_notes_add(&plan->notes, "%s%" PRIu32 " of the %" PRIu32 " candidates that were run: %s", warning,
                                affected, plan->search.n_ranked, reason);
  }
  return status;
}

/* Adds notes on services that cannot meet their goals with any number of replicas. */
static enum hr_status note_unattainable(struct hr_plan *plan, struct hr_error *error) {
  const struct hr_services *services = plan->config.scenario->services;
  if (!services || !services->count) return HR_OK;
  uint32_t n_slices = plan->space.n_slices, *run = calloc((size_t)n_slices + 1, sizeof *run);
  struct hr_notes *found = calloc((size_t)n_slices + 1, sizeof *found);
  struct unattainable *list = NULL;
  uint32_t count = 0, capacity = 0;
  enum hr_status status = run && found ? HR_OK : hr__plan_no_memory(error);
  for (uint32_t i = 0; i < plan->search.n_ranked && status == HR_OK; i++) {
    uint32_t candidate = plan->search.ranking[i], slice = hr__space_slice(&plan->space, candidate);
    if (run[slice]++) continue;
    status = find_unattainable(hr__runner_scenario(plan->runner, plan->evaluator.runner_ids[candidate]), &found[slice],
                               error);
    for (size_t k = 0; k < found[slice].count && status == HR_OK; k++)
      if (HR__ARRAY_HAS_ROOM(list, count, capacity))
        list[count++] = (struct unattainable){found[slice].text[k], slice};
      else
        status = hr__plan_no_memory(error);
  }
  if (status == HR_OK && note_reasons(plan, run, list, count) != HR_OK) status = hr__plan_no_memory(error);
  for (uint32_t i = 0; found && i < n_slices; i++) hr_notes_finish(&found[i]);
  free(list);
  free(found);
  free(run);
  return status;
}

/* Adds a note for each reason why services of candidates can never run. */
static enum hr_status note_unfit(struct hr_plan *plan) {
  const char **reasons = calloc((size_t)plan->search.n_ranked + 1, sizeof *reasons);
  size_t count = 0;
  for (uint32_t i = 0; i < plan->search.n_ranked && reasons; i++) {
    const char *reason = hr__runner_unfit(plan->runner, plan->evaluator.runner_ids[plan->search.ranking[i]]);
    if (reason) reasons[count++] = reason;
  }
  const enum hr_status status =
      reasons ? hr__runner_note_unfit(&plan->notes, "candidate", reasons, count) : HR_NO_MEMORY;
  free(reasons);
  return status;
}

static enum hr_status add_notes(struct hr_plan *plan, struct hr_error *error) {
  enum hr_status status = note_unattainable(plan, error);
  if (status != HR_OK) return status;
  status = note_unfit(plan);
  for (size_t i = 0; i < plan->goals.n_goals && status == HR_OK; i++)
    if (plan->goals.goals[i].assumed)
      status = hr_notes_add(&plan->notes,
                            "no goal limits completed jobs, and rejecting jobs would be cheapest: '%s' is assumed",
                            plan->goals.goals[i].text);
  if (status == HR_OK) status = note_goals(plan);
  if (status == HR_OK) status = note_ends(plan);
  if (status == HR_OK && hr__runner_runs(plan->runner) >= plan->space.spec->max_runs)
    status =
        hr_notes_add(&plan->notes, "the search stopped early, at 'max_runs' (%" PRIu64 ")", plan->space.spec->max_runs);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory for the plan");
}

/* Refuses a choice with an unknown objective. Unknown objectives are the worst ones, so then it is unknown for all
   candidates that meet the goals. */
static enum hr_status require_objective(const struct hr_plan *plan, struct hr_error *error) {
  const struct hr__goals *goals = &plan->goals;
  const uint32_t made = hr__evaluator_made(&plan->evaluator, plan->choice.candidate, plan->choice.replications);
  if (isfinite(plan->choice.objective)) return HR_OK;
  for (size_t i = 0; i < goals->n_terms; i++) {
    const struct hr__scoped_metric *metric = &goals->metrics[goals->terms[i]];
    const struct hr_metric *row = &hr__metric_rows[metric->id];
    char name[HR__SCOPED_METRIC_BYTES];
    bool is_known = true;
    for (uint32_t r = 0; r < made; r++)
      is_known = is_known && isfinite(hr__runner_values(plan->runner, plan->choice.runner_id, r)[goals->terms[i]]);
    if (is_known) continue;
    return hr_fail(error, HR_BAD_INPUT,
                   "%sthe objective '%s' is unknown for every candidate that meets the goals: their runs have no value "
                   "of it%s. It is defined as: %s. Minimize another metric",
                   plan->space.spec->objective[i].metric.place, hr__scoped_metric_name(metric, name),
                   row->unit == HR_UNIT_DOLLARS ? ", or a price is missing" : "", row->help);
  }
  return HR_OK;
}

/* ---- The whole plan -------------------------------------------------------------------------------- */

static enum hr_status make(struct hr_plan *plan, struct hr_error *error) {
  enum hr_status status = prepare(plan, error);
  if (status == HR_OK) status = find_screening(plan, error);
  if (status == HR_OK) status = search(plan, error);
  if (status == HR_OK) status = choose(plan, error);
  if (status == HR_OK && hr_plan_feasible(plan)) status = require_objective(plan, error);
  if (status == HR_OK)
    hr__bounds_bracket(&plan->bounds, hr__space_slice(&plan->space, plan->choice.candidate), &plan->bracket[0],
                       &plan->bracket[1]);
  if (status == HR_OK) status = hr__plan_examine(plan, error);
  return status == HR_OK ? add_notes(plan, error) : status;
}

/* ---- Names ----------------------------------------------------------------------------------------- */

/* Checks the keys of the candidate in which `variable` has the level `level`, and all other variables have their first
   level. */
static enum hr_status check_level(const struct hr_scenario *scenario, const char *const *overrides, size_t n_overrides,
                                  uint32_t variable, uint32_t level, struct hr_error *error) {
  const struct hr_plan_spec *spec = scenario->plan;
  size_t count = n_overrides;
  struct hr_error inner;
  for (uint32_t i = 0; i < spec->n_variables; i++)
    count += spec->variables[i].axis.levels[i == variable ? level : 0].n_set;
  const char **all = calloc(count + 1, sizeof *all);
  if (!all) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  if (n_overrides) memcpy(all, overrides, n_overrides * sizeof *all);
  count = n_overrides;
  for (uint32_t i = 0; i < spec->n_variables; i++) {
    const struct hr_grid_level *one = &spec->variables[i].axis.levels[i == variable ? level : 0];
    for (size_t k = 0; k < one->n_set; k++) all[count++] = one->set[k];
  }
  const enum hr_status status = hr_scenario_check_keys(scenario->path, all, count, &inner);
  free(all);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "%s%s", spec->self.place, inner.text);
}

enum hr_status hr_plan_check(const struct hr_scenario *scenario, const char *const *overrides, size_t n_overrides,
                             const struct hr_trace *trace, struct hr_error *error) {
  const struct hr_plan_spec *spec = scenario->plan;
  struct hr__goals goals = {0};
  struct stat file;
  enum hr_status status = HR_OK;
  if (!spec) return HR_OK;
  /* prices are not names: a run does not need them */
  if (trace) status = hr__goals_read(spec, trace, scenario->services, true, &goals, error);
  hr__goals_finish(&goals);
  const bool is_pipe = stat(scenario->path, &file) != 0 || !S_ISREG(file.st_mode); /* it can be read only once */
  for (uint32_t i = 0; i < spec->n_variables && status == HR_OK && !is_pipe; i++)
    for (uint32_t k = i > 0; k < spec->variables[i].axis.n_levels && status == HR_OK; k++)
      status = check_level(scenario, overrides, n_overrides, i, k, error);
  return status;
}

enum hr_status hr_plan_size_note(const struct hr_scenario *scenario, struct hr_notes *notes, struct hr_error *error) {
  struct hr__space space;
  struct hr_error refusal;
  if (!scenario->plan || hr__space_make(scenario->plan, NULL, &space, &refusal) == HR_OK) return HR_OK;
  const enum hr_status status = hr_notes_add(notes, "warning: 'headroom plan' refuses this scenario: %s", refusal.text);
  return status == HR_OK ? HR_OK : hr__plan_no_memory(error);
}

enum hr_status hr_plan(const struct hr_plan_config *config, struct hr_plan **plan, struct hr_error *error) {
  *plan = NULL;
  if (!config->scenario->plan)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: has no 'plan'; see docs/planner/plan.md, or copy a scenario such as 'plan-reserved-share'",
                   config->scenario->path);
  struct hr_plan *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return hr__plan_no_memory(error);
  fresh->config = *config;
  hr__option_finish(fresh, &fresh->choice);
  hr__option_finish(fresh, &fresh->today);
  hr__option_finish(fresh, &fresh->all_on_demand);
  enum hr_status status = hr__input_same(config->ranks, config->scenario, config->trace, error);
  if (status == HR_OK) status = make(fresh, error);
  if (status == HR_OK)
    *plan = fresh;
  else
    hr_plan_destroy(fresh);
  return status;
}

void hr_plan_destroy(struct hr_plan *plan) {
  if (!plan) return;
  for (size_t i = 0; i < HR__MAX_SENSITIVITY_CASES; i++) {
    hr__option_finish(plan, &plan->cases[i].same);
    hr__option_finish(plan, &plan->cases[i].best);
  }
  hr__option_finish(plan, &plan->choice);
  hr__option_finish(plan, &plan->today);
  hr__option_finish(plan, &plan->all_on_demand);
  free(plan->pareto);
  free(plan->excluding);
  free(plan->tightenings);
  for (size_t i = 0; i < plan->n_worlds; i++) hr__evaluator_finish(&plan->worlds[i].evaluator);
  hr__robustness_finish(&plan->robustness);
  hr__search_finish(&plan->search);
  hr__bounds_finish(&plan->bounds);
  hr__demand_finish(&plan->demand);
  hr__evaluator_finish(&plan->evaluator);
  hr__runner_destroy(plan->runner);
  hr__goals_finish(&plan->goals);
  hr_forecast_destroy(plan->forecast);
  hr_notes_finish(&plan->notes);
  free(plan);
}

bool hr_plan_feasible(const struct hr_plan *plan) {
  return plan->selection.choice != HR_NONE;
}

const struct hr_notes *hr_plan_notes(const struct hr_plan *plan) {
  return &plan->notes;
}

enum hr_status hr_plan_choice_case(const struct hr_plan *plan, struct hr_plan_case *choice, struct hr_error *error) {
  struct hr__one_run_config config;
  const struct hr__trial trial = {plan->choice.runner_id, 0};
  enum hr_status status = hr__runner_case(plan->runner, trial, &config, error);
  if (status != HR_OK) return status;
  *choice = (struct hr_plan_case){.scenario = config.scenario, .trace = config.trace, .seed = config.seed};
  choice->set = hr__runner_settings(plan->runner, plan->choice.runner_id, &choice->n_set);
  return HR_OK;
}
