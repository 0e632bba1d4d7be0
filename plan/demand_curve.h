/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_DEMAND_CURVE_H
#define HR_PLAN_DEMAND_CURVE_H

/* What a trace asks for before anything is bought: how many GPUs at a time, if no job ever had to wait. */

#include "headroom/trace.h"

struct hr__demand {
  double window_h; /* from the first submit to the last */
  double mean_gpus, peak_gpus;
  double gpu_hours;       /* of all work */
  double least_gpu_hours; /* without the largest jobs, which may be left undone */
  double *gpus, *share;   /* [n_steps] rising levels of concurrent GPUs, and the share of the window spent at each */
  size_t n_steps;
};

/* `growth` multiplies all of it. `may_fail`: the share of jobs that may be left undone. HR_NO_MEMORY is the only
   failure. */
enum hr_status hr__demand_make(const struct hr_trace *trace, double growth, double may_fail, struct hr__demand *demand);
void hr__demand_finish(struct hr__demand *demand);

/* The least level that demand exceeds for at most `share` of the window: with share 0.05 its 95 % quantile. */
double hr__demand_exceeded(const struct hr__demand *demand, double share);

/*
 * The newsvendor's answer: capacity that is paid for used or not, at `standing` an hour, pays for itself up to the GPU
 * that demand needs for as large a share of time as its price is of the one on demand, `elastic`. (Arrow, Harris and
 * Marschak, Econometrica 19, 1951.) 0 where on demand is the cheaper.
 */
double hr__demand_newsvendor(const struct hr__demand *demand, double standing, double elastic);

#endif
