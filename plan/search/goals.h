/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_GOALS_H
#define HR_PLAN_SEARCH_GOALS_H

/*
 * The goals (constraints on metrics) and the objective of a plan, parsed from the scenario.
 *
 * `figures` lists each metric once: those of goals and objective first, then those that every answer reports. Goals and
 * terms refer to metrics by their index in this list, and so do the values of a run.
 */

#include "headroom/unstable/plan.h"
#include "plan/runner/measures.h"

#include <stdlib.h>

/* A metric that must be at most or at least `bound`. */
struct hr__goal {
  uint32_t figure; /* index into hr__goals.figures */
  bool at_most;
  double bound;        /* in the metric's unit */
  char *text;          /* as written in the scenario; owned */
  bool assumed;        /* added by default, not written by the user */
  bool wants_capacity; /* on the service of jobs, so that more capacity never moves the metric away from it */
  bool unknown_misses; /* a run in which the metric is unknown violates the goal fully, since no job reached that state
                        */
};

struct hr__goals {
  struct hr__figure *figures;
  size_t n_figures;
  size_t cost; /* index of the monthly cost */
  struct hr__goal *goals;
  size_t n_goals;
  /* a goal limits the wait, completion time or slowdown of all jobs; otherwise the cheapest way to do all work is to
     take forever */
  bool bound_waits;
  uint32_t *terms; /* [n_terms] metrics of the objective */
  double *weights; /* [n_terms] */
  size_t n_terms;
};

/* Parses goals and objective. A goal "completed >= 99 %" is added if no goal limits completion. `priced`: the scenario
   has prices. HR_BAD_INPUT, with file, line and column, for a goal that cannot be parsed, for goals that contradict
   each other, for weights that are all 0, and if nothing prevents an empty candidate from being the best. Call
   hr__goals_finish in any case. */
enum hr_status hr__goals_make(const struct hr_plan_spec *spec, const struct hr_trace *trace, bool priced,
                              struct hr__goals *goals, struct hr_error *error);

static inline void hr__goals_finish(struct hr__goals *goals) {
  for (size_t i = 0; i < goals->n_goals; i++) free(goals->goals[i].text);
  free(goals->figures);
  free(goals->goals);
  free(goals->terms);
  free(goals->weights);
  *goals = (struct hr__goals){0};
}

/* Distance of `value` (NaN: unknown) from the goal: 0 if met; v / (1 + v) if `value` exceeds the bound by v times the
   bound; 1 if the value is unknown because no job reached that state. The excess v is unlimited; it is mapped to [0, 1)
   so that one goal that is far off does not outweigh another that is missed entirely. */
static inline double hr__goal_violation(const struct hr__goal *goal, double value) {
  if (isnan(value)) return goal->unknown_misses ? 1 : 0;
  double beyond = goal->at_most ? value - goal->bound : goal->bound - value;
  if (beyond <= 0) return 0;
  double share = goal->bound != 0 ? beyond / fabs(goal->bound) : beyond;
  return share / (1 + share);
}

/* A tighter bound of the goal: `share` of a maximum, a minimum divided by `share`; of a minimum share, the distance to
   1 shrinks. */
static inline double hr__goal_tightened(const struct hr__goals *goals, const struct hr__goal *goal, double share) {
  bool is_share = hr__measure_infos[goals->figures[goal->figure].measure].unit == HR__SHARE;
  if (goal->at_most) return goal->bound * share;
  return is_share ? 1 - (1 - goal->bound) * share : goal->bound / share;
}

/* The objective as text: "monthly_usd", or "1 x monthly_usd + 0.5 x wait_s.mean". Writes at most `size` bytes into
   `buffer` and returns it. */
const char *hr__goals_objective_text(const struct hr__goals *goals, char *buffer, size_t size);
/* The index of a metric in the list; SIZE_MAX if it is not there. */
static inline size_t hr__goals_find(const struct hr__goals *goals, const struct hr__figure *figure) {
  for (size_t i = 0; i < goals->n_figures; i++)
    if (hr__figure_same(&goals->figures[i], figure)) return i;
  return SIZE_MAX;
}

/* Whether any goal is on that metric, for all jobs or for some. */
static inline bool hr__goals_have(const struct hr__goals *goals, enum hr__measure measure) {
  for (size_t i = 0; i < goals->n_goals; i++)
    if (goals->figures[goals->goals[i].figure].measure == measure) return true;
  return false;
}

/* The weighted sum of the objective's terms; NaN if a term is unknown. `values`: by metric. */
static inline double hr__goals_objective(const struct hr__goals *goals, const double *values) {
  double sum = 0;
  for (size_t i = 0; i < goals->n_terms; i++) sum += goals->weights[i] * values[goals->terms[i]];
  return sum;
}

#endif
