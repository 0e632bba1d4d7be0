/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_BOUNDS_H
#define HR_PLAN_BOUNDS_H

/*
 * What is known of candidates before any is run: what each costs at least, by its prices alone, and where demand and
 * prices say that the best will be.
 */

#include "plan/demand_curve.h"
#include "plan/judge.h"

/* Prices of one slice: its scenario's. Dollars an hour. */
struct hr__slice_prices {
  double standing[HR_MOST_PLAN_VARIABLES]; /* by capacity axis, of one of its GPUs; 0: it is not paid for when idle */
  double elastic[HR_MOST_PLAN_VARIABLES];  /* likewise, of those that are paid for while used */
  double fixed_usd_h;                      /* what pools that are no variables cost, used or not */
  double fixed_gpus;                       /* that they have */
  double least_elastic;                    /* of all that may be bought; 0: nothing, or it cannot be told */
};

struct hr__bounds {
  const struct hr__space *space;
  const struct hr__demand *demand;
  double weight;    /* of the monthly cost in the objective; 0: nothing is known of the objective */
  bool work_counts; /* all work is done at its recorded speed, so what does not fit elsewhere is bought */
  struct hr__slice_prices *slices; /* [n_slices] */
};

/* Loads one scenario for each slice. `may_fail`: the share of jobs that the goals let be left undone. */
enum hr_status hr__bounds_make(const struct hr__judge *judge, const struct hr__lab_config *config,
                               const struct hr__demand *demand, bool redrawn, struct hr__bounds *bounds,
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
