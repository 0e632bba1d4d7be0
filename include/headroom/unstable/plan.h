/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_PLAN_H
#define HEADROOM_UNSTABLE_PLAN_H

/*
 * What to buy: of all mixes of capacity and policy that a scenario's plan allows, the one that meets its goals at the
 * least cost, with how sure that is, what stands beside it, and what would change it. docs/planner/plan.md says it at
 * length.
 */

#include "headroom/base.h"
#include "headroom/unstable/experiments.h"
#include "headroom/unstable/replications.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The answer ------------------------------------------------------------------------------------- */

struct hr_scenario;

/* How candidates are gone through. */
enum hr_plan_search {
  HR_PLAN_SEARCH_AUTO,      /* as below: fast, but every candidate where they are few and nothing is random */
  HR_PLAN_SEARCH_FAST,      /* few runs: bounds, bisection, halving */
  HR_PLAN_SEARCH_EXHAUSTIVE /* every candidate, as often as finalists are run */
};

/* All of it is borrowed, and must live as long as the plan. */
struct hr_plan_config {
  const struct hr_scenario *scenario; /* that has a plan */
  const char *const *overrides;       /* that it was loaded with */
  size_t n_overrides;
  const struct hr_trace *trace;
  enum hr_plan_search search;
  bool no_sensitivity;      /* only the choice: no price of tighter goals, no changed worlds */
  uint32_t forecast_months; /* 0: against the trace; else against what is forecast of it */
  double forecast_growth;   /* a year's, in place of the fitted trend; 0: the fitted one */
  uint32_t n_threads;
  struct hr_progress progress;
};

struct hr_plan;
/* HR_OK also where no mix meets the goals: see hr_plan_feasible. Errors name file, line and column. */
HR_API enum hr_status hr_plan(const struct hr_plan_config *config, struct hr_plan **plan, struct hr_error *error);
HR_API void hr_plan_destroy(struct hr_plan *plan);
HR_API bool hr_plan_feasible(const struct hr_plan *plan);
HR_API const struct hr_notes *hr_plan_notes(const struct hr_plan *plan);

/* The answer for a person, 80 columns wide; as JSON (docs/reference/schemas/plan.schema.json); as Markdown for a page.
 */
HR_API enum hr_status hr_plan_print(FILE *out, const struct hr_plan *plan, const struct hr_perf *perf, bool colour);
HR_API enum hr_status hr_plan_write_json(const char *path, const struct hr_plan *plan, const struct hr_perf *perf,
                                         struct hr_error *error);
/* The same JSON as text, which the caller frees; NULL when out of memory. */
HR_API char *hr_plan_json(const struct hr_plan *plan, const struct hr_perf *perf);

/* What replication 0 of the choice, or of the nearest mix, was a run of: of the trace as it is, or as it was drawn
   again or foreseen for it. All belongs to the plan. */
struct hr_plan_case {
  const struct hr_scenario *scenario;
  const struct hr_trace *trace;
  uint64_t seed;
};
HR_API enum hr_status hr_plan_choice_case(const struct hr_plan *plan, struct hr_plan_case *choice,
                                          struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
