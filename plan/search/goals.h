/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_GOALS_H
#define HR_PLAN_SEARCH_GOALS_H

/*
 * The goals (conditions on metrics) and the objective of a plan, parsed from the scenario.
 *
 * `metrics` lists each metric once: first the metrics of goals and objective, then those that are always reported.
 * Goals and terms refer to a metric by its index in this list. The values of a run have the same order.
 */

#include "headroom/unstable/planning.h"
#include "plan/runner/runner.h"

#include <stdlib.h>

/* A goal: a metric must be at most, or at least, `bound`. */
struct hr__goal {
  uint32_t metric; /* index into hr__goals.metrics */
  bool at_most;
  double bound; /* in the metric's unit */
  char *text;   /* the goal as written in the scenario; owned */
  bool assumed; /* added by default; false: written by the user */
  /* the metric describes how well jobs are served, so with more capacity it is never farther from meeting the bound */
  bool wants_capacity;
  /* an unknown value violates the goal fully, because it means that no job reached the state that the metric
     measures */
  bool unknown_misses;
};

struct hr__goals {
  struct hr__scoped_metric *metrics;
  size_t n_metrics;
  size_t cost; /* index of the monthly cost in `metrics` */
  struct hr__goal *goals;
  size_t n_goals;
  /* a goal limits the wait, completion time or slowdown of all jobs; without such a goal the cheapest plan does all
     work with almost no capacity, in an unlimited time */
  bool bound_waits;
  uint32_t *terms; /* [n_terms] indexes of the metrics of the objective */
  double *weights; /* [n_terms] weights of these metrics */
  size_t n_terms;
};

/* Parses goals and objective. If no goal limits completion, the goal "completed >= 99 %" is added. `priced`: the
   scenario has prices. Returns HR_BAD_INPUT, with file, line and column, in these cases: a goal cannot be parsed; goals
   contradict each other; all weights are 0; a candidate without capacity could be the best. The caller must call
   hr__goals_finish, even after an error. */
enum hr_status hr__goals_make(const struct hr_plan_spec *spec, const struct hr_trace *trace,
                              const struct hr_services *services, bool priced, struct hr__goals *goals,
                              struct hr_error *error);

/* Parses the goals and the objective only: without metrics that are always reported, an assumed goal, and a check that
   the objective is bounded. Otherwise as hr__goals_make. */
enum hr_status hr__goals_read(const struct hr_plan_spec *spec, const struct hr_trace *trace,
                              const struct hr_services *services, bool priced, struct hr__goals *goals,
                              struct hr_error *error);
/* Parses goals without an objective and without an assumed goal. Otherwise as hr__goals_make. */
enum hr_status hr__goals_of_texts(const struct hr_placed_text *texts, uint32_t count, const struct hr_trace *trace,
                                  const struct hr_services *services, struct hr__goals *goals, struct hr_error *error);

static inline void hr__goals_finish(struct hr__goals *goals) {
  for (size_t i = 0; i < goals->n_goals; i++) free(goals->goals[i].text);
  free(goals->metrics);
  free(goals->goals);
  free(goals->terms);
  free(goals->weights);
  *goals = (struct hr__goals){0};
}

/* The distance of `value` (NaN: unknown) from the goal, between 0 and 1. 0: the goal is met. v / (1 + v): `value`
   misses the bound by v times the bound. 1: the value is unknown because no job reached the state that is measured. The
   excess v is unlimited. It is mapped to [0, 1) so that a goal that is missed by much does not count more than a goal
   with an unknown value. */
static inline double hr__goal_violation(const struct hr__goal *goal, double value) {
  if (isnan(value)) return goal->unknown_misses ? 1 : 0;
  double beyond = goal->at_most ? value - goal->bound : goal->bound - value;
  if (beyond <= 0) return 0;
  double share = goal->bound != 0 ? beyond / fabs(goal->bound) : beyond;
  return share / (1 + share);
}

/* A tighter bound of the goal. A maximum is multiplied by `share`, a minimum is divided by it. If the goal is a minimum
   and its metric is a share, the distance from the bound to 1 is multiplied by `share` instead. */
static inline double hr__goal_tightened(const struct hr__goals *goals, const struct hr__goal *goal, double share) {
  bool is_share = hr__metric_rows[goals->metrics[goal->metric].id].unit == HR_UNIT_SHARE;
  if (goal->at_most) return goal->bound * share;
  return is_share ? 1 - (1 - goal->bound) * share : goal->bound / share;
}

/* Writes the objective, such as "monthly_usd" or "1 x monthly_usd + 0.5 x wait_s.mean", to `buffer`, at most `size`
   bytes, and returns the buffer. */
const char *hr__goals_objective_text(const struct hr__goals *goals, char *buffer, size_t size);
/* The index of a metric in the list; SIZE_MAX if the list lacks it. */
static inline size_t hr__goals_find(const struct hr__goals *goals, const struct hr__scoped_metric *metric) {
  for (size_t i = 0; i < goals->n_metrics; i++)
    if (hr__scoped_metric_same(&goals->metrics[i], metric)) return i;
  return SIZE_MAX;
}

/* Whether any goal is on the metric, of all jobs or of a group. */
static inline bool hr__goals_have(const struct hr__goals *goals, enum hr__metric metric) {
  for (size_t i = 0; i < goals->n_goals; i++)
    if (goals->metrics[goals->goals[i].metric].id == metric) return true;
  return false;
}

/* The weighted sum of the objective's terms; NaN if a term is unknown. `values` has the order of the list of metrics.
 */
static inline double hr__goals_objective(const struct hr__goals *goals, const double *values) {
  double sum = 0;
  for (size_t i = 0; i < goals->n_terms; i++) sum += goals->weights[i] * values[goals->terms[i]];
  return sum;
}

#endif
