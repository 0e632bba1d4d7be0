/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_WORKLOAD_MODEL_DRAW_H
#define HR_WORKLOAD_WORKLOAD_MODEL_DRAW_H

/* Jobs drawn from a workload model, one after the other, and the quantile functions that fitting and drawing share. */

#include "headroom/workload_model.h"

struct hr__drawn_job {
  int64_t submit_ms, run_ms, limit_ms; /* limit: -1 if none */
  uint32_t user, tenant;               /* HR_NONE: unknown */
  const struct hr_workload_model_request *request;
  enum hr_outcome outcome;
};

struct hr__model_draw {
  const struct hr_workload_model *model; /* borrowed */
  uint64_t seed;
  double tempo;                   /* factor of the rate of arrivals */
  double mass;                    /* jobs expected until the last drawn one, at a tempo of 1 */
  uint32_t n_drawn, n_submitters; /* submitters: users, else tenants, else one that is unknown */
  double *by_hour;                /* [168 * n_weeks + 1] jobs expected from time 0 to each hour, at a tempo of 1 */
  double *size_sums, *request_sums, *user_sums, *tenant_sums; /* shares summed up; requests: [n_sizes][MAX_REQUESTS] */
  double *score;                                              /* [n_submitters] normal score of each */
  double *marginal;                                           /* [n_sizes][] distribution of scores on a grid */
  uint32_t *tenant_of;                                        /* [n_users] */
  uint16_t *last;                                             /* [n_submitters] request of the previous job; 0: none */
};
/* HR_NO_MEMORY or HR_OK; to be finished either way. */
enum hr_status hr__model_draw_init(struct hr__model_draw *draw, const struct hr_workload_model *model, uint64_t seed);
void hr__model_draw_finish(struct hr__model_draw *draw);
/* Back to the first job. */
void hr__model_draw_restart(struct hr__model_draw *draw);
struct hr__drawn_job hr__model_draw_next(struct hr__model_draw *draw);
/* Seconds from time 0 until `mass` jobs are expected at a tempo of 1; HUGE_VAL if the model has no arrivals. */
double hr__model_draw_time_s(const struct hr__model_draw *draw, double mass);

/* A Monday's midnight, if the model's trace was dated, is time 0; weeks have 168 hours. */
enum { HR__WEEK_HOURS = 168 };

/* The stratum of a run time by its probability within its size. */
uint32_t hr__model_stratum(double p);

/* The generalised Pareto distribution for positive values, fitted to `n` sorted ones by probability-weighted moments
   (Hosking and Wallis, Technometrics 29, 1987). False if they do not vary. */
bool hr__pareto_fit(const double *sorted, uint32_t n, double *scale, double *shape);

#endif
