/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_PLAN_H
#define HR_PLAN_SEARCH_PLAN_H

/* The state of a plan, shared by the files that compute it and those that write it. */

#include "headroom/unstable/forecast.h"
#include "headroom/unstable/plan.h"
#include "plan/runner/intervals.h"
#include "plan/search/search.h"

/* A combination of capacity and policy with its results. */
struct hr__option {
  uint32_t candidate; /* HR_NONE: not on the grid */
  uint32_t runner_id; /* its number in the runner; HR_NONE: the plan lacks the option */
  uint32_t replications;
  double objective, violation;
  struct hr__interval *figures; /* by metric */
  char **texts;                 /* [n_variables] values of an option that is not on the grid; NULL: a candidate */
};

/* A tightened goal, and the best candidate under it. */
struct hr__tightening {
  size_t goal;
  double bound;
  uint32_t candidate; /* HR_NONE: no candidate meets it */
  double objective;
};

/* A changed environment: the choice in it, and the best candidate. */
struct hr__sensitivity_case {
  char name[80];
  double factor; /* of demand, interruptions or price; 0: the change is not a factor */
  struct hr__option same, best;
  bool best_meets; /* false: no candidate meets the goals there */
};

enum { HR__MAX_SENSITIVITY_CASES = 16, HR__TIGHTENINGS_PER_GOAL = 3 };

struct hr_plan {
  struct hr_plan_config config;
  struct hr_forecast *forecast; /* NULL: the plan is for the trace itself */
  struct hr__goals goals;
  struct hr__space space;
  struct hr__runner *runner;
  struct hr__evaluator evaluator; /* in the environment that the scenario describes */
  struct hr__demand_curve demand;
  struct hr__bounds bounds;
  double bracket[2];  /* the newsvendor's levels of fixed capacity in the slice of the choice, GPUs */
  uint32_t screening; /* replications of each candidate in the search */
  uint32_t depth;     /* replications of each option that is reported: those of the choice */
  struct hr__search_result search;
  struct hr__selection selection;
  struct hr__option choice; /* the candidate with the smallest violation if none meets the goals */
  struct hr__option today, all_on_demand;
  uint32_t *pareto;                          /* candidates on the frontier, cheapest first */
  size_t n_pareto, pareto_cost, pareto_wait; /* the latter two: the metrics of the frontier */
  bool *binding;                             /* by goal: it excluded a better candidate */
  struct hr__tightening *tightenings;
  size_t n_tightenings;
  struct hr__sensitivity_case cases[HR__MAX_SENSITIVITY_CASES];
  size_t n_cases;
  uint64_t search_runs, selection_runs, baseline_runs, tightening_runs, sensitivity_runs;
  struct hr_notes notes;
};

/* The option that `replications` runs of an entry of the runner amount to. `candidate`: HR_NONE if it is not on the
   grid. Call hr__option_finish in any case. */
enum hr_status hr__option_make(const struct hr_plan *plan, const struct hr__evaluator *evaluator, uint32_t candidate,
                               uint32_t runner_id, uint32_t replications, struct hr__option *option,
                               struct hr_error *error);

static inline void hr__option_finish(const struct hr_plan *plan, struct hr__option *option) {
  for (uint32_t i = 0; option->texts && i < plan->space.n_axes; i++) free(option->texts[i]);
  free(option->texts);
  free(option->figures);
  *option = (struct hr__option){.candidate = HR_NONE, .runner_id = HR_NONE};
}

/* The value of a variable in an option, as text. Belongs to the option or to the plan. */
static inline const char *hr__option_text(const struct hr_plan *plan, const struct hr__option *option,
                                          uint32_t variable) {
  if (option->texts) return option->texts[variable];
  struct hr__point point = hr__space_point(&plan->space, option->candidate);
  return plan->space.spec->variables[variable].axis.levels[point.level[variable]].text;
}

/* The environment that the scenario and the options describe. */
static inline void hr__plan_environment(const struct hr_plan *plan, struct hr__environment *environment) {
  hr_stress_init(&environment->stress);
  environment->workload = plan->config.scenario->replications.workload;
  environment->forecast = plan->forecast;
}

/* Compares the choice with alternatives: baselines, the frontier of cost and wait, and, unless the plan is brief or no
   candidate meets the goals, tighter goals and changed environments. */
enum hr_status hr__plan_examine(struct hr_plan *plan, struct hr_error *error);

#endif
