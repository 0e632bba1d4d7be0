/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_GENERATION_H
#define HR_TRACES_GENERATION_H

/* The jobs of a generated workload, one after the other. Times are whole milliseconds: what is written is what was
   drawn. */

#include "headroom/trace.h"
#include "sim/philox.h"

struct hr__generation {
  const struct hr_generator *g;
  const struct hr_gpu_count *gpu_counts;
  size_t n_gpu_counts;
  double gpu_weights, mean_gpus;
  double *user_cumulated; /* [users] sums of the weights 1/1, 1/2, ... */
  double rate_per_s;      /* mean rate of arrivals */
  struct hr__stream arrivals;
  double now_s; /* the last arrival */
  uint32_t n_drawn;
};

struct hr__generated_job {
  int64_t submit_ms, run_ms, limit_ms; /* limit: -1 for none */
  uint32_t number, gpus, user, tenant; /* from 1 on */
};

/* Of a generator whose numbers are within their bounds, borrowed; to be finished if it returns HR_OK. */
enum hr_status hr__generation_begin(struct hr__generation *work, const struct hr_generator *g, struct hr_error *error);
struct hr__generated_job hr__generation_next(struct hr__generation *work);
void hr__generation_finish(struct hr__generation *work);

#endif
