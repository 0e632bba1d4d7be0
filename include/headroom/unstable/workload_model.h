/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_WORKLOAD_MODEL_H
#define HEADROOM_UNSTABLE_WORKLOAD_MODEL_H

/*
 * Workload models: a few hundred numbers fitted to a trace, read from a file or shipped, from which traces of any
 * length are drawn. docs/researcher/generate.md defines the fitted quantities and how jobs are drawn.
 *
 * Jobs arrive as a Poisson process with a rate that follows the hour, the weekday and the week. What a job requests,
 * how long it runs and how it ends depends on its size, which is a range of GPU counts. A model holds no job of the
 * trace.
 */

#include "headroom/base.h"
#include "headroom/trace_files.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  HR_WORKLOAD_MODEL_VERSION = 2, /* of the file format */
  HR_WORKLOAD_MODEL_RUN_KNOTS = 47,
  HR_WORKLOAD_MODEL_LIMIT_KNOTS = 9,
  HR_WORKLOAD_MODEL_STRATA = 6, /* of run times, for outcomes and limits */
  HR_WORKLOAD_MODEL_MAX_SIZES = 24,
  HR_WORKLOAD_MODEL_MAX_REQUESTS = 32, /* of a size */
  HR_WORKLOAD_MODEL_MAX_RANKS = 256,   /* of users, or tenants, that are fitted */
  HR_WORKLOAD_MODEL_MAX_PEOPLE = 1000000,
  HR_WORKLOAD_MODEL_MAX_WEEKS = 1000
};

/* Probabilities of the quantiles of run times and of limits, and the upper ends of the strata. */
HR_API extern const double hr_workload_model_run_p[HR_WORKLOAD_MODEL_RUN_KNOTS];
HR_API extern const double hr_workload_model_limit_p[HR_WORKLOAD_MODEL_LIMIT_KNOTS];
HR_API extern const double hr_workload_model_stratum_ends[HR_WORKLOAD_MODEL_STRATA];

/* The stratum of a run time by its probability within its size. */
static inline uint32_t hr_workload_model_stratum(double p) {
  uint32_t stratum = 0;
  while (stratum + 1 < HR_WORKLOAD_MODEL_STRATA && p > hr_workload_model_stratum_ends[stratum]) stratum++;
  return stratum;
}

struct hr_workload_model_request {
  double share; /* of the size's jobs. Shares are relative to their sum, here and below. */
  uint32_t gpus, tasks;
  uint32_t gpu_milli, cpu_milli; /* share of each GPU in thousandths, 1000: whole GPUs; per task, 0: unknown */
  uint64_t mem_mib;              /* per task; 0: unknown */
  char *gpu_type;                /* NULL: any */
  uint8_t class_;                /* enum hr_job_class */
};

struct hr_workload_model_size {
  double share;      /* of all jobs */
  double user_share; /* of the variance of the normal scores of run times: the part between users, 0 to 0.95 */
  uint32_t n_requests;
  struct hr_workload_model_request requests[HR_WORKLOAD_MODEL_MAX_REQUESTS];
  double run_s[HR_WORKLOAD_MODEL_RUN_KNOTS]; /* quantiles of run times; the last one is the maximum */
  /* Shares of the jobs of each stratum; the rest, up to 1, is unknown. */
  double completed[HR_WORKLOAD_MODEL_STRATA], failed[HR_WORKLOAD_MODEL_STRATA], cancelled[HR_WORKLOAD_MODEL_STRATA];
};

struct hr_workload_model {
  char *name, *source;
  double jobs_per_day;                       /* mean over the weeks */
  double hours[24], weekdays[7];             /* factors of the rate; the first day is a Monday if the trace was dated */
  double weeks[HR_WORKLOAD_MODEL_MAX_WEEKS]; /* factors of the rate; after the last week the first one follows */
  uint32_t n_weeks;
  double repeat_probability; /* that a job has the request of the previous job of its user */
  uint32_t n_sizes;
  struct hr_workload_model_size sizes[HR_WORKLOAD_MODEL_MAX_SIZES];
  double *users, *tenants; /* [n_users], [n_tenants] shares of the jobs by rank; none: unknown */
  uint32_t n_users, n_tenants;
  double limit_share; /* of the jobs that have a limit; 0: no column */
  double limit_ratios[HR_WORKLOAD_MODEL_STRATA * HR_WORKLOAD_MODEL_LIMIT_KNOTS]; /* quantiles of limit / run time, one
                                                                                    stratum after the other */
};

/* Fits a model to a trace of at least one job, in O(n log n). The caller destroys `*model`, which is NULL on failure.
   HR_NO_MEMORY is the only failure. */
HR_API enum hr_status hr_workload_model_fit(const struct hr_trace *trace, struct hr_workload_model **model,
                                            struct hr_error *error);
HR_API void hr_workload_model_destroy(struct hr_workload_model *model);

/* Names of the shipped models, ended by NULL. */
HR_API const char *const *hr_workload_model_names(void);
/* Reads a shipped model by name, or a model file (docs/reference/schemas/like.schema.json). HR_BAD_INPUT, with file,
   line and column, if it is not valid. The caller destroys `*model`, which is NULL on failure. */
HR_API enum hr_status hr_workload_model_shipped(const char *name, struct hr_workload_model **model,
                                                struct hr_error *error);
HR_API enum hr_status hr_workload_model_load(const char *path, struct hr_workload_model **model,
                                             struct hr_error *error);
/* Whether the file is a model: JSON with an outermost object that has the key "headroom_workload" at any place. False
   for pipes and other files that cannot be read twice. */
HR_API bool hr_workload_model_is_file(const char *path);
/* Writes a file that hr_workload_model_load reads as the same model; "-": standard output. */
HR_API enum hr_status hr_workload_model_write(const struct hr_workload_model *model, const char *path,
                                              struct hr_error *error);

/* Replaces the users by `n_users` that submit by Zipf's law, and the tenants by `n_tenants` of equal shares, at most
   HR_WORKLOAD_MODEL_MAX_PEOPLE each. 0: no change. */
HR_API enum hr_status hr_workload_model_set_people(struct hr_workload_model *model, uint32_t n_users,
                                                   uint32_t n_tenants, struct hr_error *error);

struct hr_workload_model_spec {
  uint64_t count, seed;
  double load; /* requested GPU time from the first submit to the last, over that of the cluster; 0: the model's rate */
  uint32_t nodes, gpus_per_node; /* the cluster that `load` refers to */
};
/* 1,000 jobs, seed 1, no load, 16 nodes of 8 GPUs. */
HR_API void hr_workload_model_spec_init(struct hr_workload_model_spec *spec);

/* Figures of a drawn workload. */
struct hr_workload_model_figures {
  uint64_t jobs, users, tenants; /* users and tenants that submitted a job */
  double span_s;                 /* from the first submit to the last */
  double gpu_hours, mean_gpus;   /* GPU time of all jobs; over the span, 0 if the span is 0 */
  uint64_t too_large;            /* jobs of more GPUs than the cluster of `load` has; 0 without a load */
  uint32_t max_gpus;             /* of a job */
};
/* Draws jobs in memory and writes them to `path` ("-": standard output) in a format of hr_generated_file, whole or not
   at all. The same model and spec give the same bytes; without a load, a larger count begins with the same jobs. With a
   load, the rate of arrivals is scaled so that the drawn jobs have this load. `figures` may be NULL. HR_BAD_INPUT for a
   spec out of range, a load that no job contributes to, and jobs that would arrive over more than 270 years. */
HR_API enum hr_status hr_workload_model_generate(const struct hr_workload_model *model,
                                                 const struct hr_workload_model_spec *spec, const char *path,
                                                 struct hr_workload_model_figures *figures, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
