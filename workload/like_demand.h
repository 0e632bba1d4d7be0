/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_LIKE_DEMAND_H
#define HR_WORKLOAD_LIKE_DEMAND_H

/* Demand: the GPUs that would be in use if every job ran at once. And how much of the time it is how high. */

#include "headroom/unstable/like.h"
#include "sim/engine/event_heap.h"

enum { HR__DEMAND_BINS = 1024 };

/* What demand usually is, by its mean, week after week and over again: the value of each week is that of its middle,
   with straight lines between. No weeks: always 1. */
struct hr__trend {
  const double *weeks; /* [n_weeks] */
  uint32_t n_weeks;
  int64_t from_ms; /* where the first week begins */
};
/* Before the first week's middle it is as there. */
double hr__trend_at(struct hr__trend trend, int64_t at_ms);
static inline struct hr__trend hr__trend_of(const struct hr_like_model *model, int64_t from_ms) {
  return (struct hr__trend){.weeks = model->trend, .n_weeks = model->trend ? model->n_weeks : 0, .from_ms = from_ms};
}

struct hr__like_demand {
  struct hr__event_heap ends; /* of the jobs under way, in milliseconds; the entity: thousandths of GPUs */
  int64_t now_ms, from_ms;
  uint64_t in_use_milli;
  struct hr__trend trend;
  double bin_gpus;                                   /* width of a bin; what is above the last counts as in it */
  double seconds[HR_LIKE_MEASURES][HR__DEMAND_BINS]; /* since `from_ms`, by GPUs, and by GPUs over the trend */
  double gpu_s;                                      /* likewise */
};
/* From `now_ms` on, nothing under way; times are counted from `from_ms` on, in bins of a 64th of `usual_gpus`. The
 * weeks of the trend stay the caller's. */
void hr__like_demand_init(struct hr__like_demand *demand, int64_t now_ms, int64_t from_ms, double usual_gpus,
                          struct hr__trend trend);
void hr__like_demand_finish(struct hr__like_demand *demand);
/* Time goes on to `at_ms`, which is not before what it was; jobs that end by then do. */
void hr__like_demand_advance(struct hr__like_demand *demand, int64_t at_ms);
/* A job of `gpus_milli` thousandths begins now. */
enum hr_status hr__like_demand_add(struct hr__like_demand *demand, int64_t run_ms, uint64_t gpus_milli);

/* GPUs, on average over the time counted; 0 where there was none. */
double hr__like_demand_mean(const struct hr__like_demand *demand);
/* What GPUs are used now, `more_milli` thousandths with them, by such a measure. */
double hr__like_demand_now(const struct hr__like_demand *demand, enum hr_like_measure measure, uint64_t more_milli);
/* What demand is at most for the share `p` of the time, in GPUs by such a measure. */
double hr__like_demand_quantile(const struct hr__like_demand *demand, enum hr_like_measure measure, double p);
/* For what share of the time it is above `gpus`. */
double hr__like_demand_share_above(const struct hr__like_demand *demand, enum hr_like_measure measure, double gpus);

#endif
