/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a choice is held against: today's mix, if the plan names it, and the same work with nothing reserved. */

#include "plan/search/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the plan");
}

/* A mix beside the grid: overrides, and the text of each variable. */
struct plan_draft {
  const char **set; /* borrowed */
  size_t n_set;
  char **texts; /* by variable */
  char **made;  /* overrides of its own */
  size_t n_made;
};

static bool draft_make(const struct hr_plan *plan, struct plan_draft *draft) {
  size_t most = 0;
  for (uint32_t i = 0; i < plan->space.n_axes; i++) {
    const struct hr_plan_variable *variable = &plan->space.spec->variables[i];
    most += variable->n_pools;
    for (uint32_t k = 0; k < variable->axis.n_levels; k++) most += variable->axis.levels[k].n_set;
    if (plan->space.spec->baseline) most += plan->space.spec->baseline[i].n_set;
  }
  *draft = (struct plan_draft){.set = calloc(most + 1, sizeof *draft->set),
                               .texts = calloc((size_t)plan->space.n_axes + 1, sizeof *draft->texts),
                               .made = calloc(most + 1, sizeof *draft->made)};
  return draft->set && draft->texts && draft->made;
}

/* The texts are an option's once one was made of it. */
static void draft_finish(const struct hr_plan *plan, struct plan_draft *draft) {
  for (size_t i = 0; i < draft->n_made; i++) free(draft->made[i]);
  for (uint32_t i = 0; draft->texts && i < plan->space.n_axes; i++) free(draft->texts[i]);
  free(draft->texts);
  free(draft->set);
  free(draft->made);
}

static bool take_level(struct plan_draft *draft, uint32_t variable, const struct hr_grid_level *level) {
  for (size_t i = 0; i < level->n_set; i++) draft->set[draft->n_set++] = level->set[i];
  return (draft->texts[variable] = strdup(level->text)) != NULL;
}

static enum hr_status run_draft(struct hr_plan *plan, struct plan_draft *draft, struct hr__option *option,
                                struct hr_error *error) {
  uint32_t mix, replications = plan->choice.replications;
  struct hr__trial *trials = calloc((size_t)replications + 1, sizeof *trials);
  struct hr_error inner = {0};
  enum hr_status status = trials ? HR_OK : no_memory(error);
  if (status == HR_OK) {
    status = hr__runner_add_candidate(plan->lab, draft->set, draft->n_set, plan->judge.world, &mix, &inner);
    if (status != HR_OK) hr_fail(error, status, "%sbaseline: %s", plan->space.spec->self.place, inner.text);
  }
  for (uint32_t r = 0; status == HR_OK && r < replications; r++) trials[r] = (struct hr__trial){mix, r};
  if (status == HR_OK) status = hr__runner_run(plan->lab, trials, replications, error);
  if (status == HR_OK) status = hr__option_make(plan, &plan->judge, HR_NONE, mix, replications, option, error);
  if (status == HR_OK) {
    option->texts = draft->texts;
    draft->texts = NULL;
  }
  free(trials);
  return status;
}

/* ---- Today ------------------------------------------------------------------------------------------ */

/* What it does not name is as in the choice. */
static enum hr_status make_today(struct hr_plan *plan, struct hr_error *error) {
  const struct hr_plan_spec *spec = plan->space.spec;
  struct plan_draft draft;
  bool made = draft_make(plan, &draft);
  struct hr__point point = hr__space_point(&plan->space, plan->choice.candidate);
  for (uint32_t i = 0; i < plan->space.n_axes && made; i++)
    made = take_level(&draft, i,
                      spec->baseline[i].text ? &spec->baseline[i] : &spec->variables[i].axis.levels[point.level[i]]);
  enum hr_status status = made ? run_draft(plan, &draft, &plan->today, error) : no_memory(error);
  draft_finish(plan, &draft);
  return status;
}

/* ---- All on demand ---------------------------------------------------------------------------------- */

/* Whether a variable is of on-demand pools alone. */
static bool is_on_demand(const struct hr_plan *plan, const struct hr_plan_variable *variable) {
  const struct hr_scenario *scenario = hr__runner_scenario(plan->lab, plan->choice.mix);
  for (uint32_t i = 0; i < variable->n_pools; i++)
    if (scenario->cluster.pools[variable->pools[i]].market.market != HR_MARKET_ON_DEMAND) return false;
  return true;
}

/* Whether the choice may have on-demand capacity at all, as a variable or fixed. */
static bool has_on_demand(const struct hr_plan *plan) {
  const struct hr_scenario *scenario = hr__runner_scenario(plan->lab, plan->choice.mix);
  for (uint32_t i = 0; i < plan->space.n_axes; i++) {
    const struct hr_plan_variable *variable = &plan->space.spec->variables[i];
    if (variable->pools && is_on_demand(plan, variable)) return true;
  }
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++)
    if (scenario->cluster.pools[i].market.market == HR_MARKET_ON_DEMAND && scenario->cluster.pools[i].nodes > 0)
      return true;
  return false;
}

static bool take_none(struct plan_draft *draft, uint32_t variable, const struct hr_plan_variable *of) {
  for (uint32_t i = 0; i < of->n_pools; i++) {
    char text[64];
    snprintf(text, sizeof text, "cluster.pools.%u.nodes=0", of->pools[i]);
    char *copy = strdup(text);
    if (!copy) return false;
    draft->made[draft->n_made++] = copy;
    draft->set[draft->n_set++] = copy;
  }
  return (draft->texts[variable] = strdup("0")) != NULL;
}

/* Every on-demand limit as high as it goes, no other capacity that may be chosen; all else as in the choice. */
static enum hr_status make_all_on_demand(struct hr_plan *plan, struct hr_error *error) {
  struct plan_draft draft;
  bool made = draft_make(plan, &draft);
  struct hr__point point = hr__space_point(&plan->space, plan->choice.candidate);
  for (uint32_t i = 0; i < plan->space.n_axes && made; i++) {
    const struct hr_plan_variable *variable = &plan->space.spec->variables[i];
    const struct hr_grid_axis *axis = &variable->axis;
    if (!variable->pools)
      made = take_level(&draft, i, &axis->levels[point.level[i]]);
    else if (is_on_demand(plan, variable))
      made = take_level(&draft, i, &axis->levels[axis->n_levels - 1]);
    else
      made = take_none(&draft, i, variable);
  }
  enum hr_status status = made ? run_draft(plan, &draft, &plan->all_on_demand, error) : no_memory(error);
  draft_finish(plan, &draft);
  return status;
}

static enum hr_status hr__plan_baselines(struct hr_plan *plan, struct hr_error *error) {
  uint64_t before = hr__runner_runs(plan->lab);
  enum hr_status status = plan->space.spec->baseline ? make_today(plan, error) : HR_OK;
  if (status == HR_OK && has_on_demand(plan)) status = make_all_on_demand(plan, error);
  plan->runs_of_baselines = hr__runner_runs(plan->lab) - before;
  return status;
}

/* A plan from its question to its choice; what stands beside the choice has files of its own. */

enum {
  SCREENING = 3,   /* replications of each candidate in a search, where anything is random */
  FIRST_STAGE = 8, /* of finalists, before one is dropped */
  MOST_FINALISTS = 12,
  SETTLED = 4,     /* of a search beside the choice, run as often as that */
  SMALL_GRID = 200 /* exact candidates that are all run: no search is surer */
};
/* A candidate that misses its goals by so little on few replications may meet them on many. */
static const double near_miss = 0.1;
/* One so much dearer than the best on few replications is none. */
static const double far_behind = 0.1;

/* ---- Options ---------------------------------------------------------------------------------------- */

enum hr_status hr__option_make(const struct hr_plan *plan, const struct hr__evaluator *judge, uint32_t candidate,
                               uint32_t mix, uint32_t replications, struct hr__option *option, struct hr_error *error) {
  const struct hr__goals *goals = &plan->goals;
  bool exact = !hr__runner_is_random(plan->lab, mix);
  uint32_t count = exact ? 1 : replications;
  *option = (struct hr__option){.candidate = candidate, .mix = mix, .replications = count};
  option->figures = calloc(goals->n_figures + 1, sizeof *option->figures);
  double *values = malloc(((size_t)count + 1) * sizeof *values);
  enum hr_status status = option->figures && values ? HR_OK : HR_NO_MEMORY;
  for (size_t i = 0; i < goals->n_figures && status == HR_OK; i++) {
    for (uint32_t r = 0; r < count; r++) values[r] = hr__runner_values(plan->lab, mix, r)[i];
    status = hr__interval_of(values, count, hr__measure_infos[goals->figures[i].measure].kind,
                             plan->config.scenario->replications.confidence, exact, &option->figures[i]);
  }
  struct hr__evaluator of_mix = *judge;
  uint32_t self = mix;
  of_mix.mixes = &self;
  struct hr__evaluation verdict = hr__evaluator_evaluation(&of_mix, 0, count);
  option->objective = verdict.objective;
  option->violation = verdict.violation;
  free(values);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory for the plan");
}

void hr__option_finish(const struct hr_plan *plan, struct hr__option *option) {
  for (uint32_t i = 0; option->texts && i < plan->space.n_axes; i++) free(option->texts[i]);
  free(option->texts);
  free(option->figures);
  *option = (struct hr__option){.candidate = HR_NONE, .mix = HR_NONE};
}

const char *hr__option_text(const struct hr_plan *plan, const struct hr__option *option, uint32_t variable) {
  if (option->texts) return option->texts[variable];
  struct hr__point point = hr__space_point(&plan->space, option->candidate);
  return plan->space.spec->variables[variable].axis.levels[point.level[variable]].text;
}

/* ---- What is asked ---------------------------------------------------------------------------------- */

void hr__plan_world(const struct hr_plan *plan, struct hr__environment *world) {
  hr_stress_init(&world->stress);
  world->workload = plan->config.scenario->replications.workload;
  world->forecast = plan->forecast;
}

/* The share of jobs that the goals let be left undone; all of them where they do not say. */
static double may_fail(const struct hr__goals *goals) {
  double share = 1;
  for (size_t i = 0; i < goals->n_goals; i++) {
    const struct hr__goal *goal = &goals->goals[i];
    const struct hr__figure *figure = &goals->figures[goal->figure];
    if (figure->measure == HR__M_COMPLETED_SHARE && figure->of == HR__OF_ALL && !goal->at_most)
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

/* Demand to plan for, times that of the trace. */
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
  struct hr__environment world;
  uint32_t number;
  enum hr_status status = hr__space_make(scenario->plan, &plan->space, error);
  if (status == HR_OK)
    status = hr__goals_make(scenario->plan, config->trace, hr_scenario_has_prices(scenario), &plan->goals, error);
  if (status == HR_OK) status = make_forecast(plan, error);
  if (status != HR_OK) return status;
  hr__space_doubt(&plan->space, scenario);
  struct hr__runner_config lab = {.scenario = scenario,
                                  .overrides = config->overrides,
                                  .n_overrides = config->n_overrides,
                                  .trace = config->trace,
                                  .figures = plan->goals.figures,
                                  .n_figures = plan->goals.n_figures,
                                  .n_threads = config->n_threads,
                                  .progress = config->progress};
  plan->lab = hr__runner_create(&lab);
  if (!plan->lab) return hr_fail(error, HR_NO_MEMORY, "out of memory for the plan");
  hr__plan_world(plan, &world);
  status = hr__runner_add_environment(plan->lab, &world, &number, error);
  if (status == HR_OK) status = hr__evaluator_make(&plan->judge, plan->lab, &plan->space, &plan->goals, number, error);
  if (status == HR_OK &&
      hr__demand_make(config->trace, growth_of(plan), may_fail(&plan->goals), &plan->demand) != HR_OK)
    status = hr_fail(error, HR_NO_MEMORY, "out of memory for the demand");
  bool redrawn = world.workload.blocks != HR_BLOCKS_NONE || world.workload.growth != 1 || world.forecast;
  return status == HR_OK ? hr__bounds_make(&plan->judge, &lab, &plan->demand, redrawn, &plan->bounds, error) : status;
}

/* ---- Searching and choosing ------------------------------------------------------------------------- */

/* Where nothing is random, one run of each candidate is all there is to know. */
static enum hr_status find_screening(struct hr_plan *plan, struct hr_error *error) {
  struct hr__point corner = hr__space_corner(&plan->space, 0, true);
  uint32_t candidate = hr__space_candidate(&plan->space, &corner);
  plan->screening = SCREENING;
  enum hr_status status = hr__evaluator_run(&plan->judge, &candidate, 1, 1, error);
  if (status != HR_OK || plan->judge.random) return status;
  for (uint32_t slice = 1; slice < plan->space.n_slices && !plan->judge.random && status == HR_OK; slice++) {
    corner = hr__space_corner(&plan->space, slice, true);
    candidate = hr__space_candidate(&plan->space, &corner);
    status = hr__evaluator_run(&plan->judge, &candidate, 1, 1, error);
  }
  if (!plan->judge.random) plan->screening = 1;
  return status;
}

/* Whether few replications leave it open that a candidate is the best. Near misses that cost less than the best are
   asked for, or what meets the goals and costs little more. */
static bool is_hopeful(const struct hr__evaluation *best, const struct hr__evaluation *verdict, bool near_misses) {
  if (best->violation > 0) return !near_misses && verdict->violation <= best->violation + near_miss;
  if (near_misses)
    return verdict->violation > 0 && verdict->violation <= near_miss && verdict->objective < best->objective;
  return verdict->violation == 0 && verdict->objective <= best->objective + far_behind * fabs(best->objective);
}

/* Those that may still be the best: half of the places at most are for near misses, which rank behind all that meet the
   goals. */
static uint32_t list_finalists(const struct hr_plan *plan, uint32_t finalists[MOST_FINALISTS]) {
  const struct hr__search_result *search = &plan->search;
  struct hr__evaluation best = hr__evaluator_evaluation(&plan->judge, search->ranking[0], plan->screening);
  uint32_t count = 0;
  finalists[count++] = search->ranking[0];
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t i = 1; i < search->n_ranked && count < (pass ? MOST_FINALISTS : MOST_FINALISTS / 2); i++) {
      struct hr__evaluation verdict = hr__evaluator_evaluation(&plan->judge, search->ranking[i], plan->screening);
      if (is_hopeful(&best, &verdict, pass == 0)) finalists[count++] = search->ranking[i];
    }
  return count;
}

static enum hr_status choose(struct hr_plan *plan, struct hr_error *error) {
  const struct hr_plan_spec *spec = plan->space.spec;
  uint32_t finalists[MOST_FINALISTS], count = list_finalists(plan, finalists);
  struct hr__selection_config config = {.judge = &plan->judge,
                                        .first =
                                            FIRST_STAGE < spec->max_replications ? FIRST_STAGE : spec->max_replications,
                                        .most = spec->max_replications,
                                        .confidence = plan->config.scenario->replications.confidence,
                                        .indifference = spec->indifference,
                                        .max_runs = spec->max_runs,
                                        .seed = plan->config.scenario->seed};
  uint64_t before = hr__runner_runs(plan->lab);
  enum hr_status status = hr__select(&config, finalists, count, &plan->selection, error);
  plan->runs_of_selection = hr__runner_runs(plan->lab) - before;
  if (status != HR_OK) return status;
  uint32_t candidate = plan->selection.nearest;
  plan->depth = plan->judge.random ? plan->selection.replications : 1;
  return hr__option_make(plan, &plan->judge, candidate, plan->judge.mixes[candidate], plan->selection.replications,
                         &plan->choice, error);
}

enum hr_status hr__plan_settle(struct hr__evaluator *judge, const struct hr__search_result *result, uint32_t depth,
                               uint32_t *best, struct hr_error *error) {
  uint32_t count = result->n_ranked < SETTLED ? result->n_ranked : SETTLED;
  enum hr_status status = hr__evaluator_run(judge, result->ranking, count, depth, error);
  struct hr__evaluation of_best = {0};
  *best = HR_NONE;
  for (uint32_t i = 0; i < count && status == HR_OK; i++) {
    struct hr__evaluation verdict = hr__evaluator_evaluation(judge, result->ranking[i], depth);
    if (*best != HR_NONE && !hr__verdict_better(judge->space, result->ranking[i], &verdict, *best, &of_best)) continue;
    *best = result->ranking[i];
    of_best = verdict;
  }
  return status;
}

static enum hr_status search(struct hr_plan *plan, struct hr_error *error) {
  bool small = !plan->judge.random && plan->space.n_candidates <= SMALL_GRID;
  bool everywhere =
      plan->config.search == HR_PLAN_SEARCH_EXHAUSTIVE || (plan->config.search == HR_PLAN_SEARCH_AUTO && small);
  struct hr__search_config config = {.judge = &plan->judge,
                                     .bounds = &plan->bounds,
                                     .replications = plan->screening,
                                     .max_runs = plan->space.spec->max_runs,
                                     .begin = HR_NONE,
                                     .thorough = true};
  if (everywhere && plan->judge.random) config.replications = plan->screening = plan->space.spec->max_replications;
  enum hr_status status =
      everywhere ? hr__search_exhaustive(&config, &plan->search, error) : hr__search(&config, &plan->search, error);
  plan->runs_of_search = hr__runner_runs(plan->lab);
  if (status == HR_OK && plan->search.n_ranked == 0)
    return hr_fail(error, HR_BAD_INPUT, "%s'max_runs' is %" PRIu64 ", which is too few for any candidate",
                   plan->space.spec->self.place, plan->space.spec->max_runs);
  return status;
}

/* ---- Notes ------------------------------------------------------------------------------------------ */

/* A choice at the end of its range may have a better one beyond it. */
static enum hr_status note_ends(struct hr_plan *plan) {
  struct hr__point point = hr__space_point(&plan->space, plan->choice.candidate);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < plan->space.n_capacity && status == HR_OK; i++) {
    const struct hr_grid_axis *axis = &plan->space.spec->variables[plan->space.capacity[i]].axis;
    uint32_t level = point.level[plan->space.capacity[i]];
    if (level + 1 < axis->n_levels || axis->n_levels < 2) continue;
    status = hr_notes_add(&plan->notes, "%s is the most that its variable allows, %s: more may be better", axis->name,
                          axis->levels[level].text);
  }
  return status;
}

/* Goals that a mix can meet in a way that nobody means. */
static enum hr_status note_goals(struct hr_plan *plan) {
  const struct hr__goals *goals = &plan->goals;
  enum hr_status status = HR_OK;
  if (!hr__goals_bound_waits(goals) && !hr__goals_have(goals, HR__M_DEADLINE_MISS) && goals->n_terms == 1 &&
      hr__measure_infos[goals->figures[goals->terms[0]].measure].unit == HR__DOLLARS)
    status =
        hr_notes_add(&plan->notes, "no goal is on the waits of all jobs, so a mix may fall ever further behind what is "
                                   "asked of it and be the cheapest; 'wait_s.p95 <= 4 h' would tell");
  bool cut = plan->config.scenario->horizon_us != HR_NEVER_US;
  if (status == HR_OK && cut && hr__goals_have(goals, HR__M_COMPLETED_SHARE))
    status =
        hr_notes_add(&plan->notes, "'horizon_s' cuts the run, and jobs that run to its end are not completed: a goal "
                                   "on 'completed' may be out of reach of every mix");
  return status;
}

static enum hr_status add_notes(struct hr_plan *plan, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < plan->goals.n_goals && status == HR_OK; i++)
    if (plan->goals.goals[i].assumed)
      status = hr_notes_add(&plan->notes,
                            "no goal is on completed jobs, and a mix that turns jobs away is cheap: '%s' "
                            "is assumed",
                            plan->goals.goals[i].text);
  if (status == HR_OK) status = note_goals(plan);
  if (status == HR_OK) status = note_ends(plan);
  if (status == HR_OK && hr__runner_runs(plan->lab) >= plan->space.spec->max_runs)
    status = hr_notes_add(&plan->notes, "'max_runs', %" PRIu64 ", was reached before the search had ended",
                          plan->space.spec->max_runs);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory for the plan");
}

/* ---- The whole -------------------------------------------------------------------------------------- */

static enum hr_status make(struct hr_plan *plan, struct hr_error *error) {
  enum hr_status status = prepare(plan, error);
  if (status == HR_OK) status = find_screening(plan, error);
  if (status == HR_OK) status = search(plan, error);
  if (status == HR_OK) status = choose(plan, error);
  if (status == HR_OK)
    hr__bounds_bracket(&plan->bounds, hr__space_slice(&plan->space, plan->choice.candidate), &plan->bracket[0],
                       &plan->bracket[1]);
  if (status == HR_OK) status = hr__plan_baselines(plan, error);
  if (status == HR_OK) status = hr__plan_pareto(plan, error);
  if (status == HR_OK) status = hr__plan_binding(plan, error);
  if (status == HR_OK && !plan->config.no_sensitivity && hr_plan_feasible(plan)) status = hr__plan_tighten(plan, error);
  if (status == HR_OK && !plan->config.no_sensitivity && hr_plan_feasible(plan))
    status = hr__plan_sensitivity(plan, error);
  return status == HR_OK ? add_notes(plan, error) : status;
}

enum hr_status hr_plan(const struct hr_plan_config *config, struct hr_plan **plan, struct hr_error *error) {
  *plan = NULL;
  if (!config->scenario->plan)
    return hr_fail(error, HR_BAD_INPUT, "%s: has no 'plan', which says what may be bought and what for",
                   config->scenario->path);
  struct hr_plan *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return hr_fail(error, HR_NO_MEMORY, "out of memory for the plan");
  fresh->config = *config;
  hr__option_finish(fresh, &fresh->choice);
  hr__option_finish(fresh, &fresh->today);
  hr__option_finish(fresh, &fresh->all_on_demand);
  enum hr_status status = make(fresh, error);
  if (status == HR_OK)
    *plan = fresh;
  else
    hr_plan_destroy(fresh);
  return status;
}

void hr_plan_destroy(struct hr_plan *plan) {
  if (!plan) return;
  for (size_t i = 0; i < plan->n_worlds; i++) {
    hr__option_finish(plan, &plan->worlds[i].same);
    hr__option_finish(plan, &plan->worlds[i].best);
  }
  hr__option_finish(plan, &plan->choice);
  hr__option_finish(plan, &plan->today);
  hr__option_finish(plan, &plan->all_on_demand);
  free(plan->pareto);
  free(plan->binding);
  free(plan->tightenings);
  hr__search_finish(&plan->search);
  hr__bounds_finish(&plan->bounds);
  hr__demand_finish(&plan->demand);
  hr__evaluator_finish(&plan->judge);
  hr__runner_destroy(plan->lab);
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
  const struct hr__trial trial = {plan->choice.mix, 0};
  enum hr_status status = hr__runner_case(plan->lab, trial, &config, error);
  if (status == HR_OK) *choice = (struct hr_plan_case){config.scenario, config.trace, config.seed};
  return status;
}
