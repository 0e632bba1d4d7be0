/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_SEARCH_H
#define HR_PLAN_SEARCH_SEARCH_H

/*
 * How the best candidate is found: bounds on the objective that need no run (bounds.c), the search of the grid with few
 * replications (search.c), and the selection among finalists with many (selection.c).
 */

#include "headroom/trace_files.h"
#include "plan/search/evaluator.h"

#include <stdlib.h>

/* ---- Demand ----------------------------------------------------------------------------------------- */

/* The distribution over time of the GPUs in use if no job ever waited. */
struct hr__demand_curve {
  double window_h; /* from the first submit to the last */
  double mean_gpus, peak_gpus;
  double gpu_hours;     /* of all work */
  double min_gpu_hours; /* without the largest jobs, as many as may stay undone */
  double *gpus, *share; /* [n_steps] increasing levels of concurrent GPUs, and the share of the window spent at each */
  size_t n_steps;
};

/* `growth` multiplies the demand. `may_fail`: the share of jobs that may stay undone. HR_NO_MEMORY is the only failure.
   Call hr__demand_finish in any case. */
enum hr_status hr__demand_make(const struct hr_trace *trace, double growth, double may_fail,
                               struct hr__demand_curve *demand);

static inline void hr__demand_finish(struct hr__demand_curve *demand) {
  free(demand->gpus);
  free(demand->share);
  *demand = (struct hr__demand_curve){0};
}

/* The minimum level that demand exceeds for at most `share` of the window: with share 0.05 its 95 % quantile. */
static inline double hr__demand_exceeded(const struct hr__demand_curve *demand, double share) {
  double above = 0;
  for (size_t i = demand->n_steps; i-- > 0;) {
    above += demand->share[i];
    if (above > share) return demand->gpus[i];
  }
  return 0;
}

/*
 * The newsvendor's solution. Fixed capacity, paid whether it is used or not at `fixed` dollars per GPU-hour, pays off
 * up to the GPU that demand needs for a share of the time equal to fixed / elastic, `elastic` being the price of
 * capacity that is paid only while it is used. 0 if elastic capacity is not more expensive. (Arrow, Harris and
 * Marschak, Econometrica 19, 1951.)
 */
static inline double hr__demand_newsvendor(const struct hr__demand_curve *demand, double fixed, double elastic) {
  return fixed < elastic ? hr__demand_exceeded(demand, fixed / elastic) : 0;
}

/* ---- Bounds ----------------------------------------------------------------------------------------- */

/* The prices of one slice, in dollars per hour. */
struct hr__slice_prices {
  double fixed[HR_MAX_PLAN_VARIABLES];   /* by capacity axis, of one GPU; 0: not paid while idle */
  double elastic[HR_MAX_PLAN_VARIABLES]; /* by capacity axis, of one GPU that is paid only while used; else infinite */
  double constant_usd_h;                 /* cost of the fixed pools that no variable changes */
  double constant_gpus;                  /* their GPUs */
  double min_elastic;                    /* minimum over all elastic capacity; 0: no elastic capacity, or unknown */
};

struct hr__bounds {
  const struct hr__space *space;         /* borrowed */
  const struct hr__demand_curve *demand; /* borrowed */
  double weight;                         /* of the monthly cost in the objective; 0: the objective has no known bound */
  bool work_counts; /* all work is done at its recorded speed, so work beyond the fixed capacity is bought */
  struct hr__slice_prices *slices; /* [n_slices] */
};

/* Loads one scenario per slice. `redrawn`: the workload differs from the trace. Call hr__bounds_finish in any case. */
enum hr_status hr__bounds_make(const struct hr__evaluator *evaluator, const struct hr__runner_config *config,
                               const struct hr__demand_curve *demand, bool redrawn, struct hr__bounds *bounds,
                               struct hr_error *error);

static inline void hr__bounds_finish(struct hr__bounds *bounds) {
  free(bounds->slices);
  *bounds = (struct hr__bounds){0};
}

/* Whether all capacity of the slice is fixed. The bound then equals the cost. */
static inline bool hr__bounds_exact(const struct hr__bounds *bounds, uint32_t slice) {
  const struct hr__slice_prices *prices = &bounds->slices[slice];
  bool exact = bounds->weight > 0 && prices->min_elastic == 0;
  for (uint32_t i = 0; i < bounds->space->n_capacity; i++) exact = exact && prices->fixed[i] > 0;
  return exact;
}

/* A lower bound of the candidate's objective, by its prices alone. */
double hr__bounds_min_objective(const struct hr__bounds *bounds, uint32_t candidate);

/* A starting point: fixed capacity at the newsvendor's level against the most expensive elastic price (`low`: against
   the cheapest), and the maximum of elastic capacity. */
struct hr__point hr__bounds_start(const struct hr__bounds *bounds, uint32_t slice, bool low);
/* The newsvendor's levels in GPUs, against the cheapest and against the most expensive elastic price. */
void hr__bounds_bracket(const struct hr__bounds *bounds, uint32_t slice, double *low, double *high);

/* ---- Search ----------------------------------------------------------------------------------------- */

struct hr__search_config {
  struct hr__evaluator *evaluator;
  const struct hr__bounds *bounds; /* NULL: none are known */
  uint32_t replications;           /* of each candidate */
  uint64_t max_runs;               /* of the runner in total; the search ends when they are used up */
  bool exhaustive;                 /* runs every candidate; the members below have no effect then */
  bool thorough;                   /* also tries points spread over the grid */
  /* For a search that repeats an earlier one in an environment or under goals that are at least as hard: */
  uint32_t begin;            /* begins with this candidate alone, in small steps; HR_NONE: a full search */
  bool one_slice;            /* stays in the slice of `begin` */
  const uint32_t *too_small; /* candidates that served jobs too badly in the earlier search, and so do here */
  uint32_t n_too_small;
};

/* What became of the candidates; sums to their number. */
struct hr__search_counts {
  uint32_t run, too_expensive, too_small, not_evaluated;
};

struct hr__search_result {
  uint32_t *ranking; /* all candidates that were run, best first */
  uint32_t n_ranked;
  uint32_t *too_small; /* those of them that serve jobs too badly */
  uint32_t n_too_small;
  struct hr__search_counts counts;
};

/* Searches the grid. Call hr__search_finish in any case. */
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
  uint32_t first;            /* replications before any finalist is dropped */
  uint32_t max_replications; /* of a finalist */
  double confidence;
  double indifference; /* the indifference zone, as a share of the best objective */
  uint64_t max_runs;   /* of the runner in total */
  uint64_t seed;       /* of the bootstrap */
};

struct hr__selection {
  uint32_t choice;       /* HR_NONE: no finalist meets the goals */
  uint32_t nearest;      /* the finalist with the smallest violation; the choice if there is one */
  uint32_t replications; /* of the choice, or of the nearest */
  double probability;    /* that the choice is the best of the finalists, or within the zone of it */
  double zone;           /* the indifference zone, in units of the objective */
};

/* `finalists`: borrowed, best first by the runs so far. */
enum hr_status hr__select(const struct hr__selection_config *config, const uint32_t *finalists, uint32_t count,
                          struct hr__selection *selection, struct hr_error *error);

#endif
