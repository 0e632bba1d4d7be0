/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_WORKLOAD_MODEL_H
#define HEADROOM_UNSTABLE_WORKLOAD_MODEL_H

/*
 * Workload models: a few hundred numbers that describe a workload. A model is fitted to a trace, or
 * read from a file (headroom/unstable/scenario_files.h). Traces of any length can be drawn from it.
 * docs/researcher/generate.md defines the fitted quantities and how jobs are drawn.
 *
 * Jobs arrive as a Poisson process. Its rate depends on the hour of the day, the weekday and the week. The size of a
 * job is a range of GPU counts. The request, the run time and the outcome of a job depend on its size. A model contains
 * no job of the trace.
 */

#include "headroom/base.h"
#include "headroom/trace_files.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  HR_WORKLOAD_MODEL_VERSION = 2,     /* version of the file format */
  HR_WORKLOAD_MODEL_RUN_KNOTS = 47,  /* number of quantiles of run times */
  HR_WORKLOAD_MODEL_LIMIT_KNOTS = 9, /* number of quantiles of limits */
  /* number of strata: ranges of run times, each of which has its own distribution of outcomes and of limits */
  HR_WORKLOAD_MODEL_STRATA = 6,
  HR_WORKLOAD_MODEL_MAX_SIZES = 24,
  HR_WORKLOAD_MODEL_MAX_REQUESTS = 32, /* maximum number of different requests of jobs of one size */
  HR_WORKLOAD_MODEL_MAX_RANKS = 256,   /* maximum number of users, and of tenants, for which shares are fitted */
  HR_WORKLOAD_MODEL_MAX_PEOPLE = 1000000,
  HR_WORKLOAD_MODEL_MAX_WEEKS = 1000
};

/* hr_workload_model_run_p: the probabilities of the stored quantiles of run times. hr_workload_model_limit_p: the
   probabilities of the stored quantiles of (limit / run time). hr_workload_model_stratum_ends: for each stratum, the
   probability of the run time at which it ends. */
HR_API extern const double hr_workload_model_run_p[HR_WORKLOAD_MODEL_RUN_KNOTS];
HR_API extern const double hr_workload_model_limit_p[HR_WORKLOAD_MODEL_LIMIT_KNOTS];
HR_API extern const double hr_workload_model_stratum_ends[HR_WORKLOAD_MODEL_STRATA];

/* Returns the stratum of a run time. `p`: the probability that a job of the same size has a shorter run time. */
static inline uint32_t hr_workload_model_stratum(double p) {
  uint32_t stratum = 0;
  while (stratum + 1 < HR_WORKLOAD_MODEL_STRATA && p > hr_workload_model_stratum_ends[stratum]) stratum++;
  return stratum;
}

/* A request of jobs, with its frequency. */
struct hr_workload_model_request {
  /* share of the jobs of the size. These shares need not sum to 1, because only their ratios matter. The same is true
     for the shares of sizes, users and tenants. */
  double share;
  uint32_t gpus, tasks;
  /* gpu_milli: share of each GPU in milli-GPUs, 1000: whole GPUs; cpu_milli: per task, 0: unknown */
  uint32_t gpu_milli, cpu_milli;
  uint64_t mem_mib; /* per task; 0: unknown */
  char *gpu_type;   /* NULL: any GPU type */
  uint8_t class_;   /* enum hr_job_class */
};

/* The jobs of one size. */
struct hr_workload_model_size {
  double share; /* share of all jobs */
  /* share of the variance of run times (as normal scores) that is explained by the user, 0 to 0.95 */
  double user_share;
  uint32_t n_requests;
  struct hr_workload_model_request requests[HR_WORKLOAD_MODEL_MAX_REQUESTS];
  double run_s[HR_WORKLOAD_MODEL_RUN_KNOTS]; /* quantiles of run times, in seconds; the last quantile is the maximum */
  /* By stratum: shares of the jobs with each outcome. If the three shares sum to less than 1, the other jobs have an
     unknown outcome. */
  double completed[HR_WORKLOAD_MODEL_STRATA], failed[HR_WORKLOAD_MODEL_STRATA], cancelled[HR_WORKLOAD_MODEL_STRATA];
};

/* A workload model. Strings and arrays are from malloc. */
struct hr_workload_model {
  char *name, *source; /* source: the origin of the model, as text */
  double jobs_per_day; /* mean over all weeks */
  /* factors of the arrival rate by hour of the day and by weekday. Weekday 0 is Monday if the trace was dated;
     otherwise it is the first day of the trace */
  double hours[24], weekdays[7];
  /* factors of the arrival rate by week; after the last week, week 0 follows */
  double weeks[HR_WORKLOAD_MODEL_MAX_WEEKS];
  uint32_t n_weeks;
  /* probability that a job has the same request as the previous job of its user */
  double repeat_probability;
  uint32_t n_sizes;
  struct hr_workload_model_size sizes[HR_WORKLOAD_MODEL_MAX_SIZES];
  /* [n_users], [n_tenants]: share of the jobs of each user or tenant, by rank; NULL: unknown */
  double *users, *tenants;
  uint32_t n_users, n_tenants;
  double limit_share; /* share of the jobs that have a limit; 0: no job has a limit */
  /* by stratum: quantiles of limit / run time */
  double limit_ratios[HR_WORKLOAD_MODEL_STRATA * HR_WORKLOAD_MODEL_LIMIT_KNOTS];
};

/* Fits a model to a trace of at least one job, in O(n log n) for n jobs. The caller frees `*model` with
   hr_workload_model_destroy. The only possible error is HR_NO_MEMORY; in this case `*model` is NULL. */
HR_API enum hr_status hr_workload_model_fit(const struct hr_trace *trace, struct hr_workload_model **model,
                                            struct hr_error *error);
/* Frees a model. NULL is accepted. */
HR_API void hr_workload_model_destroy(struct hr_workload_model *model);

/* Replaces the users of a model by `n_users` users and the tenants by `n_tenants` tenants. The numbers of jobs of the
   new users follow Zipf's law; the new tenants have equal shares. A number of 0 means no change. Each number is at most
   HR_WORKLOAD_MODEL_MAX_PEOPLE. */
HR_API enum hr_status hr_workload_model_set_people(struct hr_workload_model *model, uint32_t n_users,
                                                   uint32_t n_tenants, struct hr_error *error);

/* What to draw from a model. */
struct hr_workload_model_spec {
  uint64_t count, seed; /* count: number of jobs */
  /* (GPU time requested by all jobs) / (GPU time of the cluster between the first and the last submit); 0: the arrival
     rate is that of the model */
  double load;
  uint32_t nodes, gpus_per_node; /* the cluster to which `load` refers */
};
/* Sets the defaults: 1,000 jobs, seed 1, the rate of the model, 16 nodes of 8 GPUs. */
HR_API void hr_workload_model_spec_init(struct hr_workload_model_spec *spec);

/* Figures of a drawn workload. */
struct hr_workload_model_figures {
  uint64_t jobs, users, tenants; /* users, tenants: number of users and of tenants with at least one job */
  double span_s;                 /* from the first to the last submit, in seconds */
  double gpu_hours, mean_gpus;   /* mean_gpus: mean of concurrent GPUs over the span; 0 if the span is 0 */
  /* number of jobs that request more GPUs than the cluster to which `load` refers has; 0 if `load` is 0 */
  uint64_t too_large;
  uint32_t max_gpus; /* maximum number of GPUs of a job */
};
/*
 * Draws jobs in memory and writes them to `path`, completely or not at all. `path` "-" is standard output. The format
 * is one that hr_generated_file accepts. With a load, the arrival rate is scaled such that the drawn jobs have this
 * load. `figures` may be NULL.
 *
 * Equal models and specifications give identical bytes. Without a load, a larger count begins with the same jobs.
 * Returns HR_BAD_INPUT if the specification is out of range, if no job contributes to the load, or if jobs would arrive
 * over more than 270 years.
 */
HR_API enum hr_status hr_workload_model_generate(const struct hr_workload_model *model,
                                                 const struct hr_workload_model_spec *spec, const char *path,
                                                 struct hr_workload_model_figures *figures, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
