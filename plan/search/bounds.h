/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_BOUNDS_H
#define HR_PLAN_SEARCH_BOUNDS_H

/* What a trace asks for before anything is bought: how many GPUs at a time, if no job ever had to wait. */

#include "headroom/trace_files.h"
#include "plan/search/evaluator.h"

struct hr__demand_curve {
  double window_h; /* from the first submit to the last */
  double mean_gpus, peak_gpus;
  double gpu_hours;     /* of all work */
  double min_gpu_hours; /* without the largest jobs, which may be left undone */
  double *gpus, *share; /* [n_steps] rising levels of concurrent GPUs, and the share of the window spent at each */
  size_t n_steps;
};

/* `growth` multiplies all of it. `may_fail`: the share of jobs that may be left undone. HR_NO_MEMORY is the only
   failure. */
enum hr_status hr__demand_make(const struct hr_trace *trace, double growth, double may_fail,
                               struct hr__demand_curve *demand);
void hr__demand_finish(struct hr__demand_curve *demand);

/* The least level that demand exceeds for at most `share` of the window: with share 0.05 its 95 % quantile. */
double hr__demand_exceeded(const struct hr__demand_curve *demand, double share);

/*
 * The newsvendor's answer: capacity that is paid for used or not, at `standing` an hour, pays for itself up to the GPU
 * that demand needs for as large a share of time as its price is of the one on demand, `elastic`. (Arrow, Harris and
 * Marschak, Econometrica 19, 1951.) 0 where on demand is the cheaper.
 */
double hr__demand_newsvendor(const struct hr__demand_curve *demand, double standing, double elastic);

/*
 * What is known of candidates before any is run: what each costs at least, by its prices alone, and where demand and
 * prices say that the best will be.
 */

/* Prices of one slice: its scenario's. Dollars an hour. */
struct hr__slice_prices {
  double standing[HR_MOST_PLAN_VARIABLES]; /* by capacity axis, of one of its GPUs; 0: it is not paid for when idle */
  double elastic[HR_MOST_PLAN_VARIABLES];  /* likewise, of those that are paid for while used */
  double fixed_usd_h;                      /* what pools that are no variables cost, used or not */
  double fixed_gpus;                       /* that they have */
  double min_elastic;                      /* of all that may be bought; 0: nothing, or it cannot be told */
};

struct hr__bounds {
  const struct hr__space *space;
  const struct hr__demand_curve *demand;
  double weight;    /* of the monthly cost in the objective; 0: nothing is known of the objective */
  bool work_counts; /* all work is done at its recorded speed, so what does not fit elsewhere is bought */
  struct hr__slice_prices *slices; /* [n_slices] */
};

/* Loads one scenario for each slice. `may_fail`: the share of jobs that the goals let be left undone. */
enum hr_status hr__bounds_make(const struct hr__evaluator *judge, const struct hr__runner_config *config,
                               const struct hr__demand_curve *demand, bool redrawn, struct hr__bounds *bounds,
                               struct hr_error *error);
void hr__bounds_finish(struct hr__bounds *bounds);

/* Whether all that the slice may have is paid for used or not: the bound is then what it costs. */
bool hr__bounds_exact(const struct hr__bounds *bounds, uint32_t slice);
/* No run of the candidate has a smaller objective. */
double hr__bounds_least(const struct hr__bounds *bounds, uint32_t candidate);

/* Standing capacity at the newsvendor's level against the dearest elastic GPUs (`low`: against the cheapest), all
   elastic capacity there is. */
struct hr__point hr__bounds_start(const struct hr__bounds *bounds, uint32_t slice, bool low);
/* The newsvendor's levels themselves, GPUs: against the cheapest and the dearest elastic price. */
void hr__bounds_bracket(const struct hr__bounds *bounds, uint32_t slice, double *low, double *high);

#endif
