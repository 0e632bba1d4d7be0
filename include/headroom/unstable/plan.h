/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_PLAN_H
#define HEADROOM_UNSTABLE_PLAN_H

/*
 * Capacity planning: among all candidates (mixes of capacity and policy) that a scenario's plan allows, the one that
 * meets its goals at the lowest cost, with its confidence, alternatives and sensitivities. docs/planner/plan.md has the
 * details.
 */

#include "headroom/base.h"
#include "headroom/unstable/experiments.h"
#include "headroom/unstable/replications.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Plans ---- */

struct hr_scenario;

/* How candidates are searched. */
enum hr_plan_search {
  HR_PLAN_SEARCH_AUTO,      /* fast, but exhaustive if there are few candidates and nothing is random */
  HR_PLAN_SEARCH_FAST,      /* few runs: bounds, bisection, halving */
  HR_PLAN_SEARCH_EXHAUSTIVE /* every candidate, as often as finalists are run */
};

/* Borrowed, and must outlive the plan. */
struct hr_plan_config {
  const struct hr_scenario *scenario; /* must have a plan */
  const char *const *overrides;       /* with which it was loaded */
  size_t n_overrides;
  const struct hr_trace *trace;
  enum hr_plan_search search;
  bool no_sensitivity;      /* skip the sensitivity analysis */
  uint32_t forecast_months; /* 0: plan for the trace; else for a forecast of it */
  double forecast_growth;   /* per year, instead of the fitted trend; 0: the fitted one */
  uint32_t n_threads;
  struct hr_progress progress;
};

struct hr_plan;
/* Computes a plan; the caller destroys it. HR_OK also if no candidate meets the goals, see hr_plan_feasible. Errors
   name file, line and column. */
HR_API enum hr_status hr_plan(const struct hr_plan_config *config, struct hr_plan **plan, struct hr_error *error);
HR_API void hr_plan_destroy(struct hr_plan *plan);
HR_API bool hr_plan_feasible(const struct hr_plan *plan);
HR_API const struct hr_notes *hr_plan_notes(const struct hr_plan *plan);

/* Prints the plan, 80 columns wide; writes it as JSON (docs/reference/schemas/plan.schema.json). `path` "-" is
   standard output. */
HR_API enum hr_status hr_plan_print(FILE *out, const struct hr_plan *plan, const struct hr_perf *perf, bool colour);
HR_API enum hr_status hr_plan_write_json(const char *path, const struct hr_plan *plan, const struct hr_perf *perf,
                                         struct hr_error *error);
/* The JSON as text, which the caller frees; NULL if memory is exhausted. */
HR_API char *hr_plan_json(const struct hr_plan *plan, const struct hr_perf *perf);

/* The scenario, trace and seed of replication 0 of the chosen candidate, or of the nearest one if the plan is not
   feasible. The trace is the recorded, redrawn or forecast one. All of it belongs to the plan. */
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
