/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_GOALS_H
#define HR_PLAN_SEARCH_GOALS_H

/* What a mix must reach, and what is made small: a plan's constraints and objective, understood. */

#include "headroom/unstable/plan.h"
#include "plan/runner/measures.h"

/* A figure that must be at most, or at least, so much. */
struct hr__goal {
  uint32_t figure; /* in the list of figures */
  bool at_most;
  double bound;
  char *text;          /* as it was written; from malloc */
  bool assumed;        /* nobody wrote it */
  bool unknown_misses; /* a run in which the figure is unknown misses it altogether: no job of those came so far */
};

struct hr__goals {
  struct hr__figure *figures; /* distinct: first those of goals and objective, then what answers show beside them */
  size_t n_figures;
  size_t cost; /* the figure that is a month's cost */
  struct hr__goal *goals;
  size_t n_goals;
  uint32_t *terms; /* [n_terms] figures of the objective */
  double *weights;
  size_t n_terms;
};

/* Parses all; checks that goals do not exclude each other and that something keeps a mix from being empty. A goal on
   completed jobs is assumed where none is given. `priced`: something in the scenario has a price. */
enum hr_status hr__goals_make(const struct hr_plan_spec *spec, const struct hr_trace *trace, bool priced,
                              struct hr__goals *goals, struct hr_error *error);
void hr__goals_finish(struct hr__goals *goals);

/* How far `value` is from the goal: 0 where it is met, v / (1 + v) where it lies v times the bound beyond it, 1 where
   jobs never came so far as to have such a figure. */
double hr__goal_violation(const struct hr__goal *goal, double value);
/* Whether more capacity brings it nearer and never farther: it is on how jobs are served. */
bool hr__goal_wants_capacity(const struct hr__goals *goals, const struct hr__goal *goal);
/* Whether a goal keeps jobs from waiting without end: else the cheapest way to do all work is to take for ever. */
bool hr__goals_bound_waits(const struct hr__goals *goals);
/* Whether a goal is on such a figure, of whomever. */
bool hr__goals_have(const struct hr__goals *goals, enum hr__measure measure);
/* The same goal, tighter: what lies beyond the bound shrinks to `share` of it. */
double hr__goal_tightened(const struct hr__goals *goals, const struct hr__goal *goal, double share);
/* The weighted sum; NaN where a term is unknown. `values`: by figure. */
double hr__goals_objective(const struct hr__goals *goals, const double *values);
/* "monthly_usd", or "1 x monthly_usd + 0.5 x wait_s.mean"; into `buffer`, which it returns. */
const char *hr__goals_objective_text(const struct hr__goals *goals, char *buffer, size_t size);
/* The place of a figure in the list; SIZE_MAX where it is not there. */
size_t hr__goals_find(const struct hr__goals *goals, const struct hr__figure *figure);

#endif
