/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_SEARCH_H
#define HR_PLAN_SEARCH_SEARCH_H

/*
 * The parts of the search for the best candidate: bounds on the objective that need no run (bounds.c), the search of
 * the grid with few replications (search.c), and the selection among finalists with many replications (selection.c).
 * Capacity is fixed if it is paid for whether it is used or not (owned, reserved). It is elastic if it is paid for only
 * while it is used (on-demand, spot). A candidate serves its jobs if it misses no goal that more capacity would bring
 * nearer.
 */

#include "headroom/trace_files.h"
#include "plan/search/evaluator.h"

#include <stdlib.h>

/* ---- Demand ----------------------------------------------------------------------------------------- */

/* The distribution over time of the number of GPUs in use if no job waited. */
struct hr__demand_curve {
  double window_h; /* from the first to the last submit */
  double mean_gpus, peak_gpus;
  double gpu_hours;     /* of all work */
  double min_gpu_hours; /* of all work except the largest jobs; as many jobs are excluded as may stay incomplete */
  double *gpus, *share; /* [n_steps] increasing numbers of GPUs in use, and the share of the window with each number */
  size_t n_steps;
};

/* Computes the demand curve. `growth` multiplies the demand. `may_fail`: the share of jobs that may stay incomplete.
   HR_NO_MEMORY is the only failure. The caller must call hr__demand_finish, even after an error. */
enum hr_status hr__demand_make(const struct hr_trace *trace, double growth, double may_fail,
                               struct hr__demand_curve *demand);

static inline void hr__demand_finish(struct hr__demand_curve *demand) {
  free(demand->gpus);
  free(demand->share);
  *demand = (struct hr__demand_curve){0};
}

/* The minimum level that demand exceeds for at most `share` of the window. With share 0.05 this is the 95 % quantile.
 */
static inline double hr__demand_exceeded(const struct hr__demand_curve *demand, double share) {
  double above = 0;
  for (size_t i = demand->n_steps; i-- > 0;) {
    above += demand->share[i];
    if (above > share) return demand->gpus[i];
  }
  return 0;
}

/*
 * The newsvendor solution: how many GPUs of fixed capacity pay off. Fixed capacity costs `fixed` dollars per GPU-hour
 * whether it is used or not. Elastic capacity costs `elastic` dollars per GPU-hour, but only while it is used. A GPU of
 * fixed capacity pays off if demand needs it for at least the share fixed / elastic of the time. Returns 0 if elastic
 * capacity is not more expensive. (Arrow, Harris and Marschak, Econometrica 19, 1951.)
 */
static inline double hr__demand_newsvendor(const struct hr__demand_curve *demand, double fixed, double elastic) {
  return fixed < elastic ? hr__demand_exceeded(demand, fixed / elastic) : 0;
}

/* ---- Bounds ----------------------------------------------------------------------------------------- */

/* The prices of one slice, in dollars per hour. Prices by capacity axis are per GPU. */
struct hr__slice_prices {
  double fixed[HR_MAX_PLAN_VARIABLES]; /* by capacity axis; 0: the capacity is not paid for while idle */
  /* by capacity axis: price of capacity that is paid for only while used; infinite for other capacity */
  double elastic[HR_MAX_PLAN_VARIABLES];
  double constant_usd_h; /* cost of the fixed pools that are not variable */
  double constant_gpus;  /* GPUs of these pools */
  /* minimum over all elastic capacity; 0: no such capacity exists, or its price is unknown */
  double min_elastic;
};

struct hr__bounds {
  const struct hr__space *space;         /* borrowed */
  const struct hr__demand_curve *demand; /* borrowed */
  /* weight of the monthly cost in the objective; 0: no bound of the objective is known */
  double weight;
  bool work_counts; /* all work is done at its recorded speed, so work that exceeds the fixed capacity must be bought */
  struct hr__slice_prices *slices; /* [n_slices] */
};

/* Loads one scenario per slice and computes its prices. `redrawn`: the workload differs from the trace. The caller must
   call hr__bounds_finish, even after an error. */
enum hr_status hr__bounds_make(const struct hr__evaluator *evaluator, const struct hr__runner_config *config,
                               const struct hr__demand_curve *demand, bool redrawn, struct hr__bounds *bounds,
                               struct hr_error *error);

static inline void hr__bounds_finish(struct hr__bounds *bounds) {
  free(bounds->slices);
  *bounds = (struct hr__bounds){0};
}

/* Whether all capacity of the slice is fixed. The lower bound is then exact. */
static inline bool hr__bounds_exact(const struct hr__bounds *bounds, uint32_t slice) {
  const struct hr__slice_prices *prices = &bounds->slices[slice];
  bool exact = bounds->weight > 0 && prices->min_elastic == 0;
  for (uint32_t i = 0; i < bounds->space->n_capacity; i++) exact = exact && prices->fixed[i] > 0;
  return exact;
}

/* A lower bound of the candidate's objective, computed from its prices. */
double hr__bounds_min_objective(const struct hr__bounds *bounds, uint32_t candidate);

/* A starting point of the search: the maximum of elastic capacity, and the newsvendor solution for fixed capacity. The
   solution is computed from the most expensive elastic price or, with `low`, from the cheapest. */
struct hr__point hr__bounds_start(const struct hr__bounds *bounds, uint32_t slice, bool low);
/* Computes two newsvendor solutions, in GPUs: *low from the cheapest elastic price, *high from the most expensive. */
void hr__bounds_bracket(const struct hr__bounds *bounds, uint32_t slice, double *low, double *high);

/* ---- Search ----------------------------------------------------------------------------------------- */

struct hr__search_config {
  struct hr__evaluator *evaluator;
  const struct hr__bounds *bounds; /* NULL: no bounds are known */
  uint32_t replications;           /* number of replications of each candidate */
  uint64_t max_runs;               /* maximum number of runs of the runner in total; at this number the search ends */
  bool exhaustive;                 /* run every candidate; the members below then have no effect */
  bool thorough;                   /* also try points that are spread over the grid */
  /* For a search that repeats an earlier search with harder goals or in a harder environment: */
  uint32_t begin;            /* begin with this candidate alone, in small steps; HR_NONE: a full search */
  bool one_slice;            /* search only the slice of `begin` */
  const uint32_t *too_small; /* candidates that served jobs too badly in the earlier search */
  uint32_t n_too_small;
};

/* Number of candidates by final state. The sum is the number of all candidates. */
struct hr__search_counts {
  uint32_t run, too_expensive, too_small, not_evaluated;
};

struct hr__search_result {
  uint32_t *ranking; /* all candidates that were run; the best is first */
  uint32_t n_ranked;
  uint32_t *too_small; /* candidates that were run and serve jobs too badly */
  uint32_t n_too_small;
  struct hr__search_counts counts;
  /* a lower bound of the objectives of candidates that were not evaluated; infinite if there are none, -infinite if
     nothing is known */
  double min_left;
};

/* Searches the grid. The caller must call hr__search_finish, even after an error. */
enum hr_status hr__search(const struct hr__search_config *config, struct hr__search_result *result,
                          struct hr_error *error);

static inline void hr__search_finish(struct hr__search_result *result) {
  free(result->ranking);
  free(result->too_small);
  *result = (struct hr__search_result){0};
}

/* ---- Selection -------------------------------------------------------------------------------------- */

struct hr__selection_config {
  struct hr__evaluator *evaluator;
  uint32_t first;            /* number of replications before any finalist is dropped */
  uint32_t max_replications; /* maximum number of replications of a finalist */
  double confidence;
  double indifference; /* width of the indifference zone, as a share of the best objective */
  uint64_t max_runs;   /* maximum number of runs of the runner in total */
  uint64_t seed;       /* seed of the bootstrap */
};

struct hr__selection {
  uint32_t choice;       /* HR_NONE: no finalist meets the goals */
  uint32_t nearest;      /* the finalist with the smallest violation; equal to `choice` if that is set */
  uint32_t replications; /* number of replications of `nearest` */
  /* probability that the choice is the best finalist, or worse by at most the indifference zone */
  double probability;
  double zone; /* width of the indifference zone, in units of the objective */
};

/* Selects the best of `count` finalists (borrowed). They must be sorted by the runs so far; the best is first. */
enum hr_status hr__select(const struct hr__selection_config *config, const uint32_t *finalists, uint32_t count,
                          struct hr__selection *selection, struct hr_error *error);

#endif
