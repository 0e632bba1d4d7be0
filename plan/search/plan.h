/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_PLAN_H
#define HR_PLAN_SEARCH_PLAN_H

/* The internal state of a plan. The files that compute the plan and those that write it share this header. The
   choice of a plan is the candidate that it recommends. */

#include "base/text.h"
#include "headroom/unstable/planning.h"
#include "plan/runner/runner.h"
#include "plan/search/search.h"

#include <string.h>

static inline enum hr_status hr__plan_no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the plan");
}

/* ---- Robustness (robustness.c) ------------------------------------------------------------------------- */

/* Tests whether the choice of a plan and a few other mixes still meet the goals under conditions outside the control of
   the planner: the spot market, the demand, prices, and the supply of GPU types. Also computes how much of the
   commitments is at risk if demand or prices fall. */

struct hr_plan;

enum hr__condition_kind {
  HR__CONDITION_SPOT_MODEL,        /* spot capacity as in a preset of the catalogue */
  HR__CONDITION_SPOT_AVAILABILITY, /* `factor`: the share of time in which spot capacity is available */
  HR__CONDITION_DEMAND,            /* `factor`: multiplies the demand */
  HR__CONDITION_PRICES,            /* `factor`: multiplies the prices of on-demand and spot capacity */
  HR__CONDITION_GPU_SUPPLY         /* no more GPUs of a type can be bought */
};

struct hr__condition {
  char name[80];
  enum hr__condition_kind kind;
  double factor;            /* 0: the condition is not a factor */
  struct hr_spot_spec spot; /* of HR__CONDITION_SPOT_MODEL */
  struct hr__environment environment;
  struct hr__evaluator *within; /* evaluator of this environment; owned by the plan (hr__plan_world) */
};

/* The evaluation of a mix under one condition. */
struct hr__held {
  double objective, cost; /* cost: dollars a month; 0 if the scenario has no prices */
  double violation;       /* 0: the mix meets all goals */
  double low, high;       /* the lowest and the highest objective of the runs */
  uint32_t runs;          /* number of runs on which the evaluation is based; 1: the mix is deterministic here */
  uint32_t missed;        /* number of runs that miss a goal that is not in dollars */
  bool serves;            /* the mix meets all goals that are not in dollars */
  bool is_worse;          /* it misses goals that it meets without the condition, or misses in more runs */
  bool priced;            /* false: the objective contains a cost that is unknown (hr__plan_is_unpriced) */
};

struct hr__tested_mix {
  uint32_t candidate;
  struct hr__held planned; /* in the environment of the scenario */
  struct hr__held *held;   /* [n_conditions] */
  uint32_t n_held;         /* number of conditions under which the mean or median of the runs meets all goals */
  uint32_t n_served;       /* the same without the goals in dollars */
  uint32_t n_met;          /* number of conditions with hr__held_meets */
  uint32_t n_over_dollars; /* number of conditions with hr__held_is_over_dollars */
};

/* Whether the mix meets all goals, and no run misses one that is not in dollars. */
static inline bool hr__held_meets(const struct hr__held *held) {
  return held->serves && held->missed == 0 && held->violation == 0;
}

/* Whether the mix misses a goal in dollars, and no run misses another goal. */
static inline bool hr__held_is_over_dollars(const struct hr__held *held) {
  return held->serves && held->missed == 0 && held->violation > 0;
}

/* A pool or a group of pools that is paid for whether it is used or not. The regret is the part of its cost that is
   wasted if less capacity is needed. It is found by comparing the mix with the same mix with less of this capacity. */
struct hr__commitment {
  uint32_t axis;
  double gpus, monthly_usd;
  uint32_t months;  /* of the commitment; 0: unknown */
  bool is_smallest; /* the variable has no smaller value, so there is no mix to compare with */
  struct hr__regret {
    bool known;
    double gpus; /* the capacity that would be best */
    double usd;  /* additional dollars a month of the mix, compared with this capacity */
  } demand_falls, prices_fall;
};

enum { HR__MAX_CONDITIONS = 32, HR__MAX_TESTED = 8, HR__MAX_PRINTED_MIXES = 3 };

struct hr__robustness {
  struct hr__condition conditions[HR__MAX_CONDITIONS];
  uint32_t n_conditions;                       /* 0: nothing was tested */
  struct hr__tested_mix mixes[HR__MAX_TESTED]; /* the first one is the choice; the others are sorted by objective */
  uint32_t n_mixes;
  uint32_t replications; /* minimum number of replications of each mix under each condition */
  uint64_t max_runs;     /* of the whole test */
  uint64_t until_runs;   /* no further mix is tested if the runner has made this number of runs */
  bool *keeps_nodes;     /* [number of pools] the nodes exist already, so they remain if their type is sold out */
  struct hr__commitment commitments[HR_MAX_PLAN_VARIABLES];
  uint32_t n_commitments;
};

/* Lists the conditions, and determines how many runs their tests may need. Call it once. */
enum hr_status hr__plan_conditions(struct hr_plan *plan, struct hr_error *error);
/* Tests the choice and its commitments. The plan must have a choice that meets the goals. Can be called repeatedly. */
enum hr_status hr__plan_robustness(struct hr_plan *plan, struct hr_error *error);
/* Tests other mixes. Must be called after hr__plan_robustness, and after the changed environments of the plan were
   computed. */
enum hr_status hr__plan_other_mixes(struct hr_plan *plan, struct hr_error *error);
/* Evaluates the tested mixes over all runs that were made, including runs of other parts of the plan, and sorts the
   mixes. So all parts of the plan report the same figures for a mix under a condition. */
void hr__robustness_conclude(struct hr_plan *plan);
void hr__robustness_finish(struct hr__robustness *robustness); /* accepts a zeroed structure */

/* Lists the mixes that are printed, and returns their number. Mix 1 is the choice. Mix 2 is the cheapest mix that meets
   all goals under more conditions than the choice. If the objectives of several such mixes exceed that of the choice by
   at most `zone`, mix 2 is the one of them that meets the goals under the most conditions. Mix 3 is the mix that meets
   all goals under the most conditions. If mix 2 does not exist, mix 3 is the mix that meets the goals that are not in
   dollars under the most conditions. A mix that is the choice or mix 2 is not listed again.
 */
uint32_t hr__robustness_shown(const struct hr__robustness *robustness, double zone,
                              uint32_t shown[HR__MAX_PRINTED_MIXES]);

/* ---- The plan ------------------------------------------------------------------------------------------ */

/* A combination of capacity and policy, with its results. */
struct hr__option {
  uint32_t candidate; /* HR_NONE: the option is not on the grid */
  uint32_t runner_id; /* index of the option in the runner; HR_NONE: the plan has no such option */
  uint32_t replications;
  double objective, violation;
  struct hr__interval *metrics; /* [n_metrics] by metric */
  /* [n_variables] the value of each variable if the option is not on the grid; NULL if it is */
  char **texts;
};

/* A tightened goal, and the best candidate that meets it. */
struct hr__tightening {
  size_t goal;
  double bound;
  uint32_t candidate; /* HR_NONE: no candidate meets the tightened goal */
  double objective;
};

/* A changed environment, the results of the choice in it, and the best candidate in it. */
struct hr__sensitivity_case {
  char name[80];
  double factor; /* of demand, interruptions or price; 0: the environment is not changed by a factor */
  struct hr__option same, best;
  bool best_meets; /* false: no candidate meets the goals in this environment */
  /* the best candidate differs from the choice, which misses a goal or is significantly worse in this environment */
  bool best_is_better;
  bool same_settings; /* only candidates with the settings of the choice were searched */
};

enum { HR__MAX_SENSITIVITY_CASES = 16, HR__TIGHTENINGS_PER_GOAL = 3, HR__MAX_FINALISTS = 24 };
enum { HR__MAX_WORLDS = HR__MAX_CONDITIONS + HR__MAX_SENSITIVITY_CASES };

/* A changed environment with its runs. */
struct hr__world {
  struct hr__environment environment;
  struct hr__evaluator evaluator;
};

struct hr_plan {
  struct hr_plan_config config;
  struct hr_forecast *forecast; /* NULL: the plan is for the demand of the trace */
  struct hr__goals goals;
  struct hr__space space;
  struct hr__runner *runner;
  struct hr__evaluator evaluator; /* in the unchanged environment of the scenario */
  struct hr__demand_curve demand;
  struct hr__bounds bounds;
  /* newsvendor solution in the slice of the choice, in GPUs of fixed capacity: minimum, maximum (hr__bounds_bracket) */
  double bracket[2];
  uint32_t screening; /* replications of each candidate in the search */
  uint32_t depth;     /* replications of each reported option, as many as the choice has */
  struct hr__search_result search;
  struct hr__selection selection;
  uint32_t finalists[HR__MAX_FINALISTS]; /* of the selection, the best by the search first */
  uint32_t n_finalists;
  /* the best candidate; if no candidate meets the goals, the one with the smallest violation */
  struct hr__option choice;
  struct hr__option today, all_on_demand;
  uint32_t *pareto;                          /* [n_pareto] candidates on the frontier, cheapest first */
  size_t n_pareto, pareto_cost, pareto_wait; /* pareto_cost, pareto_wait: indexes of the two metrics of the frontier */
  bool *excluding;                           /* [n_goals] the goal excluded a better candidate */
  struct hr__tightening *tightenings;
  size_t n_tightenings;
  struct hr__sensitivity_case cases[HR__MAX_SENSITIVITY_CASES];
  size_t n_cases;
  struct hr__world worlds[HR__MAX_WORLDS];
  size_t n_worlds;
  struct hr__robustness robustness;
  uint64_t search_runs, selection_runs, baseline_runs, tightening_runs, sensitivity_runs, robustness_runs;
  struct hr_notes notes;
};

/* Makes an option from `replications` runs of a candidate in the runner. `candidate`: HR_NONE if the option is not on
   the grid. The caller must call hr__option_finish, even after an error. */
enum hr_status hr__option_make(const struct hr_plan *plan, const struct hr__evaluator *evaluator, uint32_t candidate,
                               uint32_t runner_id, uint32_t replications, struct hr__option *option,
                               struct hr_error *error);

static inline void hr__option_finish(const struct hr_plan *plan, struct hr__option *option) {
  for (uint32_t i = 0; option->texts && i < plan->space.n_axes; i++) free(option->texts[i]);
  free(option->texts);
  free(option->metrics);
  *option = (struct hr__option){.candidate = HR_NONE, .runner_id = HR_NONE};
}

/* The value of a variable in an option, as text. The text belongs to the option or to the plan. */
static inline const char *hr__option_text(const struct hr_plan *plan, const struct hr__option *option,
                                          uint32_t variable) {
  if (option->texts) return option->texts[variable];
  struct hr__point point = hr__space_point(&plan->space, option->candidate);
  return plan->space.spec->variables[variable].axis.levels[point.level[variable]].text;
}

/* Whether all nodes of a candidate in the runner are in pools without a price, so that its cost is unknown, not zero.
 */
static inline bool hr__plan_is_unpriced(const struct hr_plan *plan, uint32_t runner_id) {
  const struct hr_cluster_spec *cluster = &hr__runner_scenario(plan->runner, runner_id)->cluster;
  bool any = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    if (cluster->pools[i].nodes == 0) continue;
    if (cluster->pools[i].market.market != HR_MARKET_NONE) return false;
    any = true;
  }
  return any;
}

/* Whether the objective contains dollars. */
static inline bool hr__plan_counts_dollars(const struct hr_plan *plan) {
  for (size_t i = 0; i < plan->goals.n_terms; i++)
    if (hr__metric_rows[plan->goals.metrics[plan->goals.terms[i]].id].unit == HR_UNIT_DOLLARS) return true;
  return false;
}

/* Returns the environment that the scenario and the options of the plan describe. */
static inline struct hr__environment hr__plan_environment(const struct hr_plan *plan) {
  struct hr__environment environment = {.workload = plan->config.scenario->replications.workload,
                                        .forecast = plan->forecast};
  hr_stress_init(&environment.stress);
  return environment;
}

/* Returns the configuration of a search near the choice, with what the first search has found. */
static inline struct hr__search_config hr__plan_search_config(struct hr_plan *plan) {
  return (struct hr__search_config){.evaluator = &plan->evaluator,
                                    .bounds = &plan->bounds,
                                    .replications = plan->screening,
                                    .max_runs = plan->space.spec->max_runs,
                                    .begin = plan->choice.candidate,
                                    .races = hr__search_should_race(plan->config.trace),
                                    .too_small = plan->search.too_small,
                                    .n_too_small = plan->search.n_too_small};
}

/* Whether the cluster has spot pools. */
static inline bool hr__plan_has_spot(const struct hr_plan *plan) {
  const struct hr_cluster_spec *cluster = &plan->config.scenario->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].market.market == HR_MARKET_SPOT) return true;
  return false;
}

/* Whether all pools of a variable are in this market. */
static inline bool hr__plan_is_of_market(const struct hr_plan *plan, uint32_t variable, enum hr_market market) {
  const struct hr_scenario *scenario = hr__runner_scenario(plan->runner, plan->choice.runner_id);
  const struct hr_plan_variable *self = &plan->space.spec->variables[variable];
  for (uint32_t i = 0; i < self->n_pools; i++)
    if (scenario->cluster.pools[self->pools[i]].market.market != market) return false;
  return true;
}

/* Sets the evaluator of a changed environment, which differs from that of the plan in its stress and growth only. Equal
   environments have the same evaluator, which the plan owns. */
enum hr_status hr__plan_world(struct hr_plan *plan, const struct hr__environment *environment,
                              struct hr__evaluator **evaluator, struct hr_error *error);

/* Combines `*status`, the status of the earlier parts of a computation, with `part`, the status of the last part.
   Returns whether the next part can follow. In a look-ahead it can follow even if runs of this part are missing, so
   that independent parts can list their missing runs, too. */
static inline bool hr__plan_goes_on(const struct hr_plan *plan, enum hr_status part, enum hr_status *status) {
  bool lacks_runs = *status == HR_CHECK_FAILED && hr__runner_looks_ahead(plan->runner);
  if (*status == HR_OK || (lacks_runs && part != HR_OK)) *status = part;
  return *status == HR_OK || (*status == HR_CHECK_FAILED && hr__runner_looks_ahead(plan->runner));
}

/* Whether a goal is on the cost of the choice, and this cost is unknown (hr__space_unpriced_pool). */
static inline bool hr__plan_cost_is_unknown(const struct hr_plan *plan, size_t goal) {
  const struct hr_scenario *scenario = hr__runner_scenario(plan->runner, plan->choice.runner_id);
  return hr__goal_is_of_cost(&plan->goals, &plan->goals.goals[goal]) &&
         hr__space_unpriced_pool(&plan->space, scenario) != HR_NONE;
}

/* Whether the choice is at the bound of a goal: the metric is within 1 % of the bound, or its interval contains the
   bound. */
static inline bool hr__plan_is_at_bound(const struct hr_plan *plan, size_t goal) {
  const struct hr__goal *of = &plan->goals.goals[goal];
  const struct hr__interval *interval = &plan->choice.metrics[of->metric];
  double distance = fabs(hr__interval_centre(interval) - of->bound);
  return distance <= 0.01 * fabs(of->bound) || (interval->low <= of->bound && of->bound <= interval->high);
}

/* Returns the random events that the probability of the choice takes into account: those that differ between
   replications. */
static inline const char *hr__plan_randomness(const struct hr_plan *plan) {
  const struct hr_workload_spec *workload = &plan->config.scenario->replications.workload;
  bool redrawn = workload->blocks != HR_BLOCKS_NONE || workload->growth != 1 || plan->forecast;
  if (!plan->evaluator.random) return "nothing: all runs are deterministic";
  if (plan->config.scenario->services) return "random events and requests";
  const struct hr_cluster_spec *cluster = &plan->config.scenario->cluster;
  bool fails = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) fails = fails || cluster->pools[i].faults;
  if (fails && !redrawn) return "random spot events and failures only";
  return redrawn ? "random events and workloads" : "random spot events only";
}

/* Returns an upper bound of the improvement by a candidate that was not evaluated, as a share of the objective of the
   choice; 0: no such candidate is better. NaN if no bound is known. */
static inline double hr__plan_improvable(const struct hr_plan *plan) {
  double own = plan->choice.objective, bound = plan->search.min_left;
  if (plan->search.counts.not_evaluated == 0) return 0;
  if (plan->selection.choice == HR_NONE || !isfinite(own) || own <= 0 || !(bound > 0)) return (double)NAN;
  return bound < own ? (own - bound) / own : 0;
}

/* Compares the choice with alternatives: baselines, the frontier of cost and wait, tighter goals, changed environments.
   The last two are skipped if the plan is brief or no candidate meets the goals. */
enum hr_status hr__plan_examine(struct hr_plan *plan, struct hr_error *error);

/* Returns a candidate that was run as JSON on one line, {"event":"candidate","choice":...}, in the form of the options
   of a plan. The caller frees it. NULL when out of memory (plan_json.c). */
char *hr__plan_candidate_json(const struct hr_plan *plan, uint32_t candidate, uint32_t replications);

#endif
