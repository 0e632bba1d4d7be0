/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_EVALUATOR_H
#define HR_PLAN_SEARCH_EVALUATOR_H

/*
 * The candidates of a plan: a grid of levels of its variables, numbered with the last variable running fastest. Its
 * capacity axes are ordered from few GPUs to many; the others (a policy, a term, a spot model) are not. Candidates that
 * agree in all that is not capacity make a slice.
 */

#include "headroom/scenario.h"
#include "headroom/unstable/plan.h"
#include "plan/runner/runner.h"
#include "plan/search/goals.h"

struct hr__space {
  const struct hr_plan_spec *spec;
  uint32_t n_axes, n_candidates;
  uint32_t capacity[HR_MOST_PLAN_VARIABLES]; /* axes of capacity */
  uint32_t n_capacity;
  uint32_t n_slices;
  bool doubtful[HR_MOST_PLAN_VARIABLES]; /* axes of capacity of which more may serve worse */
};

/* Levels of a candidate, by axis. */
struct hr__point {
  uint32_t level[HR_MOST_PLAN_VARIABLES];
};

/* Fails where there are more candidates than the plan wants. */
enum hr_status hr__space_make(const struct hr_plan_spec *spec, struct hr__space *space, struct hr_error *error);
/* Of which capacity more may serve jobs worse: spot nodes draw jobs away from nodes that nobody reclaims, and slow GPUs
   from fast ones. Until it is called none is. */
void hr__space_doubt(struct hr__space *space, const struct hr_scenario *scenario);

struct hr__point hr__space_point(const struct hr__space *space, uint32_t candidate);
uint32_t hr__space_candidate(const struct hr__space *space, const struct hr__point *point);
uint32_t hr__space_levels(const struct hr__space *space, uint32_t axis);
/* The slice's candidate with the least, or the most, of every capacity. */
struct hr__point hr__space_corner(const struct hr__space *space, uint32_t slice, bool most);
uint32_t hr__space_slice(const struct hr__space *space, uint32_t candidate);
/* Whether `a` has at least as much of every capacity as `b`, in the same slice, and as much of what is doubtful: then
   it serves jobs no worse. */
bool hr__space_covers(const struct hr__space *space, uint32_t a, uint32_t b);
/* GPUs of all capacity axes together. */
double hr__space_gpus(const struct hr__space *space, uint32_t candidate);

/* The overrides of a candidate, borrowed from the plan; the list is the caller's to free. NULL when out of memory. */
const char **hr__space_overrides(const struct hr__space *space, uint32_t candidate, size_t *count);

/*
 * Candidates of a plan in a world, run as often as is asked and held against the goals. Verdicts of the first r
 * replications of two candidates are over the same random events, and so may be compared.
 */

struct hr__evaluation {
  double objective; /* infinite where it is unknown */
  double violation; /* the sum over goals, 0: it meets them all */
  double cost;      /* a month's; 0 where nothing has a price */
};

/* The candidates in one world. */
struct hr__evaluator {
  struct hr__runner *lab;
  const struct hr__space *space;
  const struct hr__goals *goals;
  uint32_t world;
  uint32_t *mixes; /* [n_candidates] number in the lab; HR_NONE: not there yet */
  bool random;     /* whether any candidate that was run is */
};

enum hr_status hr__evaluator_make(struct hr__evaluator *judge, struct hr__runner *lab, const struct hr__space *space,
                                  const struct hr__goals *goals, uint32_t world, struct hr_error *error);
void hr__evaluator_finish(struct hr__evaluator *judge);

/* Runs the first `replications` of every candidate listed, all at a time. */
enum hr_status hr__evaluator_run(struct hr__evaluator *judge, const uint32_t *candidates, size_t count,
                                 uint32_t replications, struct hr_error *error);

/* How many of a candidate's replications were run, from the first one on without a gap; of an exact one as many as one
   likes once it was run. */
uint32_t hr__evaluator_count(const struct hr__evaluator *judge, uint32_t candidate);
/* What its first `replications`, which were run, say. */
struct hr__evaluation hr__evaluator_evaluation(const struct hr__evaluator *judge, uint32_t candidate,
                                               uint32_t replications);
/* A figure by replication, into `values`. */
void hr__evaluator_figure(const struct hr__evaluator *judge, uint32_t candidate, uint32_t replications, size_t figure,
                          double *values);
/* Likewise the objective. */
void hr__evaluator_objectives(const struct hr__evaluator *judge, uint32_t candidate, uint32_t replications,
                              double *values);
/* What a figure's interval is of: the mean of the values that are known, or of a quantile their median. Reorders them.
 */
double hr__centre_of(double *values, uint32_t count, enum hr__measure_kind kind);
/* The figure's estimate over the first replications: a mean, or of quantiles the median. */
double hr__evaluator_centre(const struct hr__evaluator *judge, uint32_t candidate, uint32_t replications,
                            size_t figure);

/* Whether it misses a goal that more capacity would bring nearer: then so do all that it covers. */
bool hr__evaluator_is_short(const struct hr__evaluator *judge, uint32_t candidate, uint32_t replications);

/* Goals first, then the objective, then the cost, then fewer GPUs, then the number. */
bool hr__verdict_better(const struct hr__space *space, uint32_t a, const struct hr__evaluation *of_a, uint32_t b,
                        const struct hr__evaluation *of_b);

#endif
