/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_WORKLOAD_MODEL_DRAW_H
#define HR_WORKLOAD_WORKLOAD_MODEL_DRAW_H

/* Jobs drawn from a workload model, one after the other. */

#include "headroom/unstable/workload_model.h"

struct hr__drawn_job {
  int64_t submit_ms, run_ms, limit_ms; /* limit: -1 if none */
  uint32_t user, tenant;               /* HR_NONE: unknown */
  const struct hr_workload_model_request *request;
  enum hr_outcome outcome;
};

/* A Monday's midnight, if the model's trace was dated, is time 0; distributions of scores are tabulated. */
enum { HR__WEEK_HOURS = 168, HR__SCORE_CELLS = 512 };

/* Large: to be allocated. */
struct hr__model_draw {
  const struct hr_workload_model *model; /* borrowed */
  uint64_t seed;
  double tempo;                   /* factor of the rate of arrivals */
  double mass;                    /* jobs expected until the last drawn one, at a tempo of 1 */
  uint32_t n_drawn, n_submitters; /* submitters: users, else tenants, else one that is unknown */
  double *by_hour;                /* [168 * n_weeks + 1] jobs expected from time 0 to each hour, at a tempo of 1 */
  double *user_sums, *tenant_sums, size_sums[HR_WORKLOAD_MODEL_MAX_SIZES]; /* shares summed up, as these: */
  double request_sums[HR_WORKLOAD_MODEL_MAX_SIZES][HR_WORKLOAD_MODEL_MAX_REQUESTS];
  double marginal[HR_WORKLOAD_MODEL_MAX_SIZES][HR__SCORE_CELLS + 1]; /* distribution function of scores */
  double *score;                                                     /* [n_submitters] normal score of each */
  uint32_t *tenant_of;                                               /* [n_users] */
  uint16_t *last; /* [n_submitters] 1 + place of the previous request; 0: none */
};
/* HR_NO_MEMORY or HR_OK; to be finished either way. */
enum hr_status hr__model_draw_init(struct hr__model_draw *draw, const struct hr_workload_model *model, uint64_t seed);
void hr__model_draw_finish(struct hr__model_draw *draw);
/* Back to the first job. */
void hr__model_draw_restart(struct hr__model_draw *draw);
struct hr__drawn_job hr__model_draw_next(struct hr__model_draw *draw);
/* Seconds from time 0 until `mass` jobs are expected at a tempo of 1; HUGE_VAL if the model has no arrivals. */
double hr__model_draw_time_s(const struct hr__model_draw *draw, double mass);

/* The stratum of a run time by its probability within its size. */
uint32_t hr__model_stratum(double p);

#endif
