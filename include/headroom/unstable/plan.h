/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_PLAN_H
#define HEADROOM_UNSTABLE_PLAN_H

/*
 * Capacity planning. A candidate is one mix of capacity, with a policy. The `plan` of a scenario defines candidates,
 * goals and an objective, usually cost. The planner finds the candidate with the lowest objective among those that meet
 * the goals. It reports the confidence in this choice, alternatives and sensitivities. docs/planner/plan.md has the
 * details.
 */

#include "headroom/base.h"
#include "headroom/unstable/experiments.h"
#include "headroom/unstable/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Plans ---- */

struct hr_scenario;

/* How candidates are searched. */
enum hr_plan_search {
  /* exhaustive search if there are few candidates and nothing is random; otherwise fast search */
  HR_PLAN_SEARCH_AUTO,
  HR_PLAN_SEARCH_FAST,      /* few runs: uses bounds, bisection and successive halving */
  HR_PLAN_SEARCH_EXHAUSTIVE /* each candidate is run as often as finalists are */
};

/* The input. Everything is borrowed and must outlive the plan. */
struct hr_plan_config {
  const struct hr_scenario *scenario; /* must have a plan */
  const char *const *overrides;       /* overrides with which the scenario was loaded */
  size_t n_overrides;
  const struct hr_trace *trace;
  enum hr_plan_search search;
  bool no_sensitivity;      /* skip the sensitivity analysis */
  uint32_t forecast_months; /* number of future months to forecast and to plan for; 0: plan for the trace */
  /* growth factor per year that replaces the fitted trend of the forecast; 0: the fitted trend */
  double forecast_growth;
  uint32_t n_threads;
  struct hr_progress progress;
};

/* ---- Goals of one run ---- */

struct hr_trace;
struct hr_summary;

/* A goal of a scenario's plan, and whether a run meets it. */
struct hr_goal_result {
  char *text;        /* as written in the scenario */
  double value;      /* of the run, in the metric's unit; NAN: unknown */
  bool met, assumed; /* assumed: added by default */
};

/* Sets `*results` to the goals of the scenario's plan, in their order, which the caller frees with
   hr_goal_results_free. No plan: none. Returns HR_BAD_INPUT if a goal cannot be parsed. */
HR_API enum hr_status hr_goals_of_run(const struct hr_scenario *scenario, const struct hr_trace *trace,
                                      const struct hr_summary *summary, struct hr_goal_result **results, size_t *count,
                                      struct hr_error *error);
HR_API void hr_goal_results_free(struct hr_goal_result *results, size_t count);

struct hr_plan;
/* Computes a plan. The caller frees `*plan` with hr_plan_destroy. If no candidate meets the goals, also returns HR_OK;
   see hr_plan_feasible. On HR_BAD_INPUT, `error` names file, line and column. */
HR_API enum hr_status hr_plan(const struct hr_plan_config *config, struct hr_plan **plan, struct hr_error *error);
HR_API void hr_plan_destroy(struct hr_plan *plan);
/* Checks the text of one goal, such as "wait_s.p95 of inference <= 60", for a trace. On HR_BAD_INPUT, `error` begins
   with
   "--goal: ". */
HR_API enum hr_status hr_plan_goal_check(const char *goal, const struct hr_trace *trace, struct hr_error *error);
/* Whether a candidate meets the goals. */
HR_API bool hr_plan_feasible(const struct hr_plan *plan);
/* Returns notes for the user. */
HR_API const struct hr_notes *hr_plan_notes(const struct hr_plan *plan);

/* Prints the plan, 80 columns wide, or writes it as JSON (docs/reference/schemas/plan.schema.json). `path` "-" is
   standard output. */
HR_API enum hr_status hr_plan_print(FILE *out, const struct hr_plan *plan, const struct hr_perf *perf, bool colour);
HR_API enum hr_status hr_plan_write_json(const char *path, const struct hr_plan *plan, const struct hr_perf *perf,
                                         struct hr_error *error);
/* Returns the plan as JSON text, which the caller frees with free(); NULL if memory is exhausted. */
HR_API char *hr_plan_json(const struct hr_plan *plan, const struct hr_perf *perf);

/* The input of the run of replication 0 of the chosen candidate. If no candidate meets the goals, the chosen candidate
   is the one that is nearest to the goals. `trace` is the workload of the run: recorded, redrawn or drawn from a
   forecast. Everything belongs to the plan. */
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
