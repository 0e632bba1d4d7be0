/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_PLAN_H
#define HR_PLAN_SEARCH_PLAN_H

/* What a plan is made of, for those parts that make it and for those that write it. */

#include "headroom/unstable/forecast.h"
#include "headroom/unstable/plan.h"
#include "plan/runner/intervals.h"
#include "plan/search/search.h"
#include "plan/search/selection.h"

/* A mix and what is known of it. */
struct hr__option {
  uint32_t candidate; /* HR_NONE: a mix beside the grid */
  uint32_t mix;       /* in the lab; HR_NONE: there is no such option */
  uint32_t replications;
  double objective, violation;
  struct hr__interval *figures; /* by figure */
  char **texts;                 /* [n_variables] of a mix beside the grid: its value of each; NULL of candidates */
};

/* A goal, somewhat tighter, and what the best mix then comes to. */
struct hr__tightening {
  size_t goal;
  double bound;
  uint32_t candidate; /* HR_NONE: no mix meets it */
  double objective;
};

/* The world otherwise than supposed: the same mix in it, and the best one. */
struct hr__changed_world {
  char name[80];
  double factor; /* times as much demand, reclaims or price; 0: what is changed is no factor */
  struct hr__option same, best;
  bool best_meets; /* false: no mix meets the goals there */
};

enum { HR__MOST_WORLDS = 16, HR__TIGHTENINGS = 3 };

struct hr_plan {
  struct hr_plan_config config;
  struct hr_forecast *forecast; /* NULL: it is for the trace */
  struct hr__goals goals;
  struct hr__space space;
  struct hr__runner *lab;
  struct hr__evaluator judge; /* in the world as supposed */
  struct hr__demand_curve demand;
  struct hr__bounds bounds;
  double bracket[2];  /* the newsvendor's levels of standing capacity in the choice's slice */
  uint32_t screening; /* replications of each candidate in a search */
  uint32_t depth;     /* replications of all that is shown: those of the choice */
  struct hr__search_result search;
  struct hr__selection selection;
  struct hr__option choice; /* or the nearest, where none meets the goals */
  struct hr__option today, all_on_demand;
  uint32_t *pareto;                          /* candidates, the cheapest first */
  size_t n_pareto, pareto_cost, pareto_wait; /* the figures that it is of */
  bool *binding;                             /* by goal */
  struct hr__tightening *tightenings;
  size_t n_tightenings;
  struct hr__changed_world worlds[HR__MOST_WORLDS];
  size_t n_worlds;
  uint64_t runs_of_search, runs_of_selection, runs_of_baselines, runs_of_tightening, runs_of_worlds;
  struct hr_notes notes;
};

/* ---- Parts ------------------------------------------------------------------------------------------ */

/* What `replications` runs of a mix say. */
enum hr_status hr__option_make(const struct hr_plan *plan, const struct hr__evaluator *judge, uint32_t candidate,
                               uint32_t mix, uint32_t replications, struct hr__option *option, struct hr_error *error);
void hr__option_finish(const struct hr_plan *plan, struct hr__option *option);
/* The value of a variable in an option, as text. */
const char *hr__option_text(const struct hr_plan *plan, const struct hr__option *option, uint32_t variable);

/* Of the first few of a ranking the best by `depth` replications, which are run. */
enum hr_status hr__plan_settle(struct hr__evaluator *judge, const struct hr__search_result *result, uint32_t depth,
                               uint32_t *best, struct hr_error *error);

enum hr_status hr__plan_pareto(struct hr_plan *plan, struct hr_error *error);
enum hr_status hr__plan_binding(struct hr_plan *plan, struct hr_error *error);
enum hr_status hr__plan_tighten(struct hr_plan *plan, struct hr_error *error);
enum hr_status hr__plan_sensitivity(struct hr_plan *plan, struct hr_error *error);

/* The world as the scenario and the options suppose it. */
void hr__plan_world(const struct hr_plan *plan, struct hr__environment *world);

#endif
