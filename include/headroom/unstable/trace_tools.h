/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_TRACE_TOOLS_H
#define HEADROOM_UNSTABLE_TRACE_TOOLS_H

/*
 * Tools for traces: transformations (cutting, scaling, merging, anonymising, shuffling), statistics, checks, workload
 * models, and requests of inference services.
 *
 * Each hr_transform_* function creates a new trace, which borrows nothing; the caller frees it with hr_trace_destroy.
 * On failure `*made` is NULL. Jobs are sorted by submit; jobs of one instant are in the order of their source. Notes
 * are copied. If the submit of a job changes, its deadline and its recorded start change by the same time (exception:
 * `keep_running` of struct hr_cut_spec). Random draws depend only on the seed and on the position of the job in the
 * trace, so the same input has the same result on every machine. Each function returns HR_BAD_INPUT if its parameters
 * are invalid, or if the result has no jobs. docs/reference/traces.md defines what each transformation preserves.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/trace.h"
#include "headroom/trace_files.h"
#include "headroom/unstable/services.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Cutting ---- */

/* A borrowed list of names. */
struct hr_name_list {
  const char *const *text;
  size_t count;
};
/* The jobs to select, by submit time, tenant, user and GPU type. A job must match all criteria. An empty list matches
   all jobs. Submit times are unchanged, except with `keep_running`. */
struct hr_cut_spec {
  int64_t from_us, to_us; /* the window [from_us, to_us) in which jobs are submitted, relative to the first submit */
  struct hr_name_list tenants, users;
  /* jobs that accept one of these GPU types match; jobs that accept any type match, too */
  struct hr_name_list gpu_types;
  uint32_t max_jobs; /* maximum number of jobs; later jobs are omitted. 0: no limit */
  /* Also selects jobs that were submitted before the window and ran at its beginning, according to their recorded
     starts. The trace must have recorded starts. Such a job is submitted at the beginning of the window with its
     remaining work; this time is also its recorded start. Its limit and its estimate are reduced by the time that it
     has run. Its fail_at_ppm becomes unknown. Its deadline is unchanged or, if it is before the window, unknown. */
  bool keep_running;
};
/* Sets the defaults: all jobs are selected. */
HR_API void hr_cut_spec_init(struct hr_cut_spec *spec);
/* Creates a trace of the selected jobs. Also returns HR_BAD_INPUT if a list contains a name that no job of the trace
   has. */
HR_API enum hr_status hr_transform_cut(const struct hr_trace *trace, const struct hr_cut_spec *spec,
                                       struct hr_trace **made, struct hr_error *error);
/* Parses a time into `*us`, microseconds from the first submit of the trace. "36h", "2d", "90" (seconds) and "1d12h"
   are relative to the first submit. "2026-11-21T08:30" is a date, for traces with dates. "@1500" is seconds on the
   clock of a trace without dates. `option` is the name of the option in error messages. */
HR_API enum hr_status hr_trace_time_parse(const struct hr_trace *trace, const char *option, const char *text,
                                          int64_t *us, struct hr_error *error);
/* Parses a duration such as "36h", "90" (seconds) or "1d12h" into `*us`. Durations are at least 0; a leading `-` is
   accepted if `may_be_negative`. `option` is the name of the option in error messages. */
HR_API enum hr_status hr_span_parse(const char *option, const char *text, bool may_be_negative, int64_t *us,
                                    struct hr_error *error);

/* ---- Scaling ---- */

/* Methods to scale the load of a trace. The columns: enumerator, name as users type it. */
#define HR_SCALING_TABLE(X)                                                                                            \
  X(HR_SCALING_THIN, "thin")           /* select each job with the probability `load` */                               \
  X(HR_SCALING_DUPLICATE, "duplicate") /* repeat each job `load` times on average, at about the same time */           \
  X(HR_SCALING_COMPRESS, "compress")   /* divide the times between submits by `load` */

enum hr_scaling {
#define HR_SCALING_NAME(name, text) name,
  HR_SCALING_TABLE(HR_SCALING_NAME)
#undef HR_SCALING_NAME
      HR_N_SCALINGS
};
/* Returns the name as users type it. */
HR_API const char *hr_scaling_name(enum hr_scaling scaling);

/* The bounds of `load`. */
#define HR_MIN_LOAD_SCALE 0.001
#define HR_MAX_LOAD_SCALE 1000.0

/* The parameters of scaling. */
struct hr_scale_spec {
  enum hr_scaling by;
  /* load relative to the trace: at most 1 for thinning, at least 1 for duplication */
  double load;
  /* for duplication: a copy is submitted at most this time before or after its job; the difference is uniformly
     distributed. If a copy would be submitted before the first or after the last submit of the trace, its time is
     reflected at that submit */
  int64_t jitter_us;
  uint64_t seed;
};
/*
 * Scales the load of a trace. Thinning and duplication draw a random number for each job, which does not depend on
 * `load`. For the same seed, the jobs of a smaller load are therefore a subset of the jobs of a larger load. The id of
 * a copy is the id of its job with `+1`, `+2`, ... appended. If ids of the trace contain `+`, several `+` are used so
 * that the new ids are distinct. Compression divides times since the first submit by `load`, rounded to microseconds;
 * run times are unchanged.
 */
HR_API enum hr_status hr_transform_scale(const struct hr_trace *trace, const struct hr_scale_spec *spec,
                                         struct hr_trace **made, struct hr_error *error);

/* ---- Merging ---- */

/* Methods to align the clocks of merged traces. HR_ALIGN_CLOCK requires one of three cases: all traces have dates with
   time zones, all have dates without time zones, or no trace has dates. The columns: enumerator, name as users type
   it. */
#define HR_ALIGN_TABLE(X)                                                                                              \
  X(HR_ALIGN_CLOCK, "clock") /* times on the clocks of the traces are unchanged */                                     \
  X(HR_ALIGN_START, "start") /* all traces begin when the first trace begins */

enum hr_align {
#define HR_ALIGN_NAME(name, text) name,
  HR_ALIGN_TABLE(HR_ALIGN_NAME)
#undef HR_ALIGN_NAME
      HR_N_ALIGNS
};

/* Replaces all tenants in `from` by the tenant `to`. */
struct hr_tenant_merge {
  struct hr_name_list from;
  const char *to;
};
/* The parameters of merging. */
struct hr_merge_spec {
  enum hr_align align;
  /* [n_traces]: distinct labels of the traces, without `/`. Each id gets the label of its trace and `/` as a prefix.
     NULL: no prefixes; the ids of all traces must then be distinct */
  const char *const *labels;
  bool renames_tenants;                  /* the prefixes are also put before the names of tenants and users */
  const struct hr_tenant_merge *tenants; /* [n_tenants]: tenants to merge; their names include the prefixes */
  size_t n_tenants;
};
/* Creates a trace of the jobs of all traces. */
HR_API enum hr_status hr_transform_merge(const struct hr_trace *const *traces, size_t n_traces,
                                         const struct hr_merge_spec *spec, struct hr_trace **made,
                                         struct hr_error *error);

/* ---- Anonymising ---- */

/* Minimum, maximum and default number of hexadecimal digits of a pseudonym. */
enum { HR_MIN_PSEUDONYM_DIGITS = 4, HR_MAX_PSEUDONYM_DIGITS = 64, HR_PSEUDONYM_DIGITS = 16 };

/* The parameters of anonymising. */
struct hr_anonymise_spec {
  const void *key; /* secret key, borrowed; at least one byte */
  size_t key_bytes;
  unsigned digits;  /* number of digits of a pseudonym */
  int64_t shift_us; /* this time is added to all times */
  bool undated;     /* the output has seconds since the first submit instead of dates */
  uint64_t forget;  /* set of fields that become unknown (hr_fields_parse) */
};
/* Sets the defaults: no key; times and fields are unchanged. */
HR_API void hr_anonymise_spec_init(struct hr_anonymise_spec *spec);
/*
 * Replaces ids, users, tenants and models by pseudonyms. A pseudonym is `j-`, `u-`, `t-` or `m-`, followed by the first
 * digits of HMAC-SHA-256(key, KIND || 0 || name) in hexadecimal, with KIND "job", "user", "tenant" or "model" (RFC
 * 2104, FIPS 198-1). With one key, equal names have equal pseudonyms in all traces. Returns HR_BAD_INPUT if two names
 * of one kind get the same pseudonym. Other fields that affect a simulation (GPU types, regions, sizes, times) change
 * only as `spec` states.
 */
HR_API enum hr_status hr_transform_anonymise(const struct hr_trace *trace, const struct hr_anonymise_spec *spec,
                                             struct hr_trace **made, struct hr_error *error);

/* ---- Shuffling ---- */

/* Kinds of permutations. The columns: enumerator, name as users type it. */
#define HR_SHUFFLING_TABLE(X)                                                                                          \
  X(HR_SHUFFLE_ARRIVALS, "arrivals") /* permute the jobs among the submit times of the trace */                        \
  X(HR_SHUFFLE_ROWS, "rows")         /* permute the jobs that are submitted at the same instant */                     \
  X(HR_SHUFFLE_USERS, "users")       /* permute the users, with their tenants, among the jobs */

enum hr_shuffling {
#define HR_SHUFFLING_NAME(name, text) name,
  HR_SHUFFLING_TABLE(HR_SHUFFLING_NAME)
#undef HR_SHUFFLING_NAME
      HR_N_SHUFFLINGS
};

/* Applies a uniform random permutation (Fisher and Yates; Durstenfeld, CACM 7, 1964). */
HR_API enum hr_status hr_transform_shuffle(const struct hr_trace *trace, enum hr_shuffling what, uint64_t seed,
                                           struct hr_trace **made, struct hr_error *error);

/* ---- Reports ---- */

/* The size of a trace. */
struct hr_trace_size {
  uint32_t n_jobs;
  double gpu_hours; /* sum over all jobs of (GPUs or shares of GPUs) x run time */
  int64_t span_us;  /* from the first to the last submit */
};
/* Returns the size of a trace. */
HR_API struct hr_trace_size hr_trace_size_of(const struct hr_trace *trace);

/* An input file of a transformation. */
struct hr_transform_input {
  const char *path;
  struct hr_trace_size size;
};
/* A transformation that was done, for reports. Everything is borrowed. */
struct hr_transformation {
  const char *action;                      /* "convert", "cut", "scale", "merge", "anonymise", "shuffle" */
  const struct hr_transform_input *inputs; /* [n_inputs] */
  size_t n_inputs;
  struct hr_trace_size out;
  const char *path; /* path of the output */
  const struct hr_trace_written *written;
  const char *method; /* the method, such as "thin" or "arrivals"; NULL: the action has only one method */
  uint64_t seed;
  bool seeded; /* the transformation used `seed` */
};

/* ---- Statistics ---- */

/* Statistics of a trace: sizes and run times of jobs, arrivals by user and by time, inequality, fitted distributions.
   docs/reference/trace-stats.md defines them. */
struct hr_trace_stats;

/* Computes the statistics. The caller frees `*stats` with hr_trace_stats_destroy. The trace must outlive the
   statistics. Several threads may compute the statistics of the same trace at the same time. The only possible error is
   HR_NO_MEMORY. */
HR_API enum hr_status hr_trace_stats_make(const struct hr_trace *trace, struct hr_trace_stats **stats,
                                          struct hr_error *error);
HR_API void hr_trace_stats_destroy(struct hr_trace_stats *stats);

/* ---- Checks -------------------------------------------------------------------------------------------- */

/* Trace checks: errors and suspicious values in a trace are reported as findings before the trace is simulated. The
   trace should be read with `lenient`, so that invalid rows are reported as findings. docs/reference/trace-check.md
   defines the condition and the reason of each finding. */

/* Severities of findings. The columns: enumerator, name in files. */
#define HR_SEVERITY_TABLE(X)                                                                                           \
  X(HR_SEVERITY_NOTE, "note")       /* information; the trace may be correct */                                        \
  X(HR_SEVERITY_WARNING, "warning") /* suspicious; results may be misleading */                                        \
  X(HR_SEVERITY_ERROR, "error")     /* rows are lost, jobs can never run, or the queue grows without bound */

enum hr_severity {
#define HR_SEVERITY_NAME(name, text) name,
  HR_SEVERITY_TABLE(HR_SEVERITY_NAME)
#undef HR_SEVERITY_NAME
      HR_N_SEVERITIES
};
/* Returns the name in files. */
HR_API const char *hr_severity_name(enum hr_severity severity);

/* The kinds of findings, in the order of output within a severity. The columns: enumerator, code. Codes never
   change. */
#define HR_FINDING_TABLE(X)                                                                                            \
  X(HR_FINDING_BAD_ROWS, "bad-rows")                                                                                   \
  X(HR_FINDING_DUPLICATE_IDS, "duplicate-ids")                                                                         \
  X(HR_FINDING_DUPLICATE_ROWS, "duplicate-rows")                                                                       \
  X(HR_FINDING_NEVER_FITS, "never-fits")                                                                               \
  X(HR_FINDING_UNKNOWN_GPU_TYPE, "unknown-gpu-type")                                                                   \
  X(HR_FINDING_OVERLOAD, "overload")                                                                                   \
  X(HR_FINDING_OVERLOADED_DAYS, "overloaded-days")                                                                     \
  X(HR_FINDING_UNDERLOAD, "underload")                                                                                 \
  X(HR_FINDING_RECORDED_OVER_CAPACITY, "recorded-over-capacity")                                                       \
  X(HR_FINDING_WAITS_WITHOUT_CAUSE, "waits-without-cause")                                                             \
  X(HR_FINDING_SIMULTANEOUS_STARTS, "simultaneous-starts")                                                             \
  X(HR_FINDING_NO_RECORDED_WAITS, "no-recorded-waits")                                                                 \
  X(HR_FINDING_SUSPICIOUS_UNITS, "suspicious-units")                                                                   \
  X(HR_FINDING_CLAMPED_RUN_TIMES, "clamped-run-times")                                                                 \
  X(HR_FINDING_CONSTANT_RUN_TIMES, "constant-run-times")                                                               \
  X(HR_FINDING_ROUNDED_RUN_TIMES, "rounded-run-times")                                                                 \
  X(HR_FINDING_ZERO_RUN_TIMES, "zero-run-times")                                                                       \
  X(HR_FINDING_TINY_RUN_TIMES, "tiny-run-times")                                                                       \
  X(HR_FINDING_LONG_RUN_TIMES, "long-run-times")                                                                       \
  X(HR_FINDING_LIMITS_ARE_RUN_TIMES, "limits-are-run-times")                                                           \
  X(HR_FINDING_BEYOND_LIMIT, "beyond-limit")                                                                           \
  X(HR_FINDING_ONE_LIMIT, "one-limit")                                                                                 \
  X(HR_FINDING_IMPOSSIBLE_DEADLINES, "impossible-deadlines")                                                           \
  X(HR_FINDING_BURST, "burst")                                                                                         \
  X(HR_FINDING_GAP, "gap")                                                                                             \
  X(HR_FINDING_CLOCK_CHANGE, "clock-change")                                                                           \
  X(HR_FINDING_ROUNDED_SUBMITS, "rounded-submits")                                                                     \
  X(HR_FINDING_CUT_AT_END, "cut-at-end")                                                                               \
  X(HR_FINDING_UNFINISHED_MISSING, "unfinished-missing")                                                               \
  X(HR_FINDING_COPIED_JOBS, "copied-jobs")                                                                             \
  X(HR_FINDING_HEAVY_JOB, "heavy-job")                                                                                 \
  X(HR_FINDING_ONE_USER, "one-user")                                                                                   \
  X(HR_FINDING_ONE_TENANT, "one-tenant")                                                                               \
  X(HR_FINDING_FAILURES_ALIKE, "failures-alike")                                                                       \
  X(HR_FINDING_MOSTLY_FAILED, "mostly-failed")                                                                         \
  X(HR_FINDING_CANCELLED_UNRUN, "cancelled-unrun")                                                                     \
  X(HR_FINDING_ODD_SIZES, "odd-sizes")                                                                                 \
  X(HR_FINDING_ALL_SINGLE_GPU, "all-single-gpu")                                                                       \
  X(HR_FINDING_WITHOUT_GPUS, "without-gpus")                                                                           \
  X(HR_FINDING_LEFT_OUT, "left-out")                                                                                   \
  X(HR_FINDING_UNSORTED, "unsorted")                                                                                   \
  X(HR_FINDING_SHORT_TRACE, "short-trace")                                                                             \
  X(HR_FINDING_NO_USERS, "no-users")                                                                                   \
  X(HR_FINDING_NO_TENANTS, "no-tenants")                                                                               \
  X(HR_FINDING_NO_CLASSES, "no-classes")                                                                               \
  X(HR_FINDING_NO_OUTCOMES, "no-outcomes")                                                                             \
  X(HR_FINDING_NO_LIMITS, "no-limits")                                                                                 \
  X(HR_FINDING_NO_GPU_TYPES, "no-gpu-types")                                                                           \
  X(HR_FINDING_NO_GPU_MEMORY, "no-gpu-memory")                                                                         \
  X(HR_FINDING_NO_CHECKPOINTS, "no-checkpoints")                                                                       \
  X(HR_FINDING_NO_RECORDED_STARTS, "no-recorded-starts")                                                               \
  X(HR_FINDING_READER, "reader")

enum hr_finding_code {
#define HR_FINDING_NAME(name, text) name,
  HR_FINDING_TABLE(HR_FINDING_NAME)
#undef HR_FINDING_NAME
      HR_N_FINDINGS
};
/* Returns the code as text, such as "bad-rows". */
HR_API const char *hr_finding_name(enum hr_finding_code code);
/* hr_finding_meaning returns a sentence about the effect of the finding on a simulation. hr_finding_advice returns a
   sentence about what the user can do. */
HR_API const char *hr_finding_meaning(enum hr_finding_code code);
HR_API const char *hr_finding_advice(enum hr_finding_code code);
/* Parses a list of codes such as "burst,gap". set[code] becomes true for each code of the list. Returns HR_BAD_INPUT
   for an unknown code; `error` then suggests a similar code. */
HR_API enum hr_status hr_findings_parse(const char *text, bool set[HR_N_FINDINGS], struct hr_error *error);

/* A finding. */
struct hr_finding {
  enum hr_finding_code code;
  enum hr_severity severity;
  char *text;    /* the finding as text, with figures */
  char *subject; /* the GPU type, column or user to which the finding applies; NULL: none */
  /* `count`: number of jobs (or rows, hours, days) with the problem; `of`: number of jobs (or rows, hours, days) that
     were examined. Both are 0 if nothing is counted */
  uint64_t count, of;
  uint64_t line; /* line of the first such job or row in the file; 0: unknown */
  hr_job job;    /* the first such job; HR_NONE: none */
};

/* The demand for a set of pools compared with the capacity of these pools, from the first to the last submit. The
   demand includes all jobs that accept no pool outside the set. Each job is assumed to start at submission, and to
   run at its highest speed in these pools. */
struct hr_offered_load {
  char *gpu_types;  /* GPU types of the pools, such as "A10|T4" */
  uint64_t gpus;    /* number of GPUs of the pools, including nodes that are not always present */
  double gpu_hours; /* demand: GPU-hours that these jobs request */
  double load;      /* demand / capacity; 1: the pools are fully used */
  /* the same ratio for the part of the demand that would be done before the last submit if all jobs started at
     submission */
  double within;
  /* days: number of days since the first submit, of which the last may be partial; over: number of days on which demand
     exceeds capacity */
  uint32_t days, over;
  double worst;       /* maximum load of a day */
  uint32_t worst_day; /* index of the day with this load, from 0 */
  double backlog_h;   /* maximum backlog of work, in hours of all GPUs of the pools */
};

/* The input of a trace check. Everything is borrowed and must outlive the check. */
struct hr_trace_check_config {
  const struct hr_trace *trace; /* read with `lenient` */
  /* cluster: the cluster with which the trace is compared; NULL: no comparison. cluster_name: its name in output.
     `classes` and `speeds` are from the scenario of the cluster. */
  const struct hr_cluster_spec *cluster;
  const char *cluster_name;
  const struct hr_class_spec *classes; /* [HR_N_CLASSES]; must be set if `cluster` is set */
  const struct hr_speeds *speeds;      /* may be NULL */
  bool allowed[HR_N_FINDINGS];         /* [code]: findings with this code are not reported */
};

/* The result of a trace check. */
struct hr_trace_check {
  struct hr_trace_check_config config;
  struct hr_finding *findings; /* [n_findings], sorted by severity (highest first), then by code */
  /* [n_loads]: the loads of sets of pools, highest load first. n_loads is 0 without a cluster, or if all jobs are
     submitted at one instant */
  struct hr_offered_load *loads;
  uint32_t n_findings, n_loads;
};

/* Checks a trace. The caller frees `*check` with hr_trace_check_destroy. The only possible error is HR_NO_MEMORY; in
   this case `*check` is NULL. */
HR_API enum hr_status hr_trace_check_make(const struct hr_trace_check_config *config, struct hr_trace_check **check,
                                          struct hr_error *error);
/* Frees the check with its findings and loads. NULL is accepted. */
HR_API void hr_trace_check_destroy(struct hr_trace_check *check);

/* Returns the number of findings of a severity. */
HR_API size_t hr_trace_check_count(const struct hr_trace_check *check, enum hr_severity severity);

/* ---- Workload models ----------------------------------------------------------------------------------- */

/*
 * A workload model is a few hundred numbers that describe a workload. A model is fitted to a trace, or read from a file
 * (headroom/unstable/scenario_files.h). Traces of any length can be drawn from a model. A model contains no job of the
 * trace. docs/researcher/generate.md defines the fitted quantities and how jobs are drawn.
 *
 * Jobs arrive as a Poisson process with a rate that depends on the hour of the day, the weekday and the week. Jobs are
 * divided into sizes: ranges of GPU counts. The request, the run time and the outcome of a job depend on its size.
 */

enum {
  HR_WORKLOAD_MODEL_VERSION = 2,     /* version of the file format */
  HR_WORKLOAD_MODEL_RUN_KNOTS = 47,  /* number of quantiles of run times */
  HR_WORKLOAD_MODEL_LIMIT_KNOTS = 9, /* number of quantiles of limits */
  /* number of strata: ranges of run times, each of which has its own distribution of outcomes and of limits */
  HR_WORKLOAD_MODEL_STRATA = 6,
  HR_WORKLOAD_MODEL_MAX_SIZES = 24,
  HR_WORKLOAD_MODEL_MAX_REQUESTS = 32, /* maximum number of different requests of jobs of one size */
  HR_WORKLOAD_MODEL_MAX_RANKS = 256,   /* maximum number of users, and of tenants, with shares fitted to a trace */
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
  /* share of the jobs of the size with this request. Shares need not sum to 1, because only their ratios matter. The
     same is true for the shares of sizes, users and tenants. */
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
  /* by stratum: shares of the jobs with each outcome. If the three shares sum to less than 1, the other jobs have an
     unknown outcome */
  double completed[HR_WORKLOAD_MODEL_STRATA], failed[HR_WORKLOAD_MODEL_STRATA], cancelled[HR_WORKLOAD_MODEL_STRATA];
};

/* A workload model. Strings and arrays are from malloc. */
struct hr_workload_model {
  char *name, *source; /* source: the origin of the model, as text */
  double jobs_per_day; /* mean over all weeks */
  /* factors of the arrival rate by hour of the day and by weekday. If the trace had dates, weekday 0 is Monday. If not,
     weekday 0 is the first day of the trace */
  double hours[24], weekdays[7];
  /* factors of the arrival rate by week; after n_weeks weeks, they are repeated from week 0 */
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

/* The parameters of a workload that is drawn from a model. */
struct hr_workload_model_spec {
  uint64_t count, seed; /* count: number of jobs */
  /* load: (GPU time requested by all jobs) / (GPU time of the cluster between the first and the last submit). The
     arrival rate of the model is scaled so that the drawn jobs have this load. 0: the rate is not scaled */
  double load;
  uint32_t nodes, gpus_per_node; /* the cluster to which `load` refers */
};
/* Sets the defaults: 1,000 jobs, seed 1, the rate of the model, 16 nodes of 8 GPUs. */
HR_API void hr_workload_model_spec_init(struct hr_workload_model_spec *spec);

/* Figures of a drawn workload. */
struct hr_workload_model_figures {
  uint64_t jobs, users, tenants; /* users, tenants: number of users and of tenants with at least one job */
  double span_s;                 /* from the first to the last submit, in seconds */
  double gpu_hours, mean_gpus;   /* mean_gpus: GPU time requested by all jobs / span; 0 if the span is 0 */
  /* number of jobs that request more GPUs than the cluster to which `load` refers has; 0 if `load` is 0 */
  uint64_t too_large;
  uint32_t max_gpus; /* maximum number of GPUs of a job */
};
/*
 * Draws jobs in memory and writes them to `path`. If an error occurs, no file appears. `path` "-" is standard output.
 * The name of the file determines the format (hr_generated_file). `figures` may be NULL.
 *
 * Equal models and specifications have identical files as results. If `load` is 0, a file with more jobs begins with
 * the jobs of a file with fewer jobs. Returns HR_BAD_INPUT if the specification is out of range, if `load` is set but
 * no drawn job has GPU time, or if jobs would arrive over more than 270 years.
 */
HR_API enum hr_status hr_workload_model_generate(const struct hr_workload_model *model,
                                                 const struct hr_workload_model_spec *spec, const char *path,
                                                 struct hr_workload_model_figures *figures, struct hr_error *error);

/* ---- Requests of services ---- */

/* Reads a request trace: CSV, plain or compressed, with the columns arrival_timestamp (seconds), prompt_size and
   token_size, in order of arrival. The caller frees `requests` with hr_requests_finish, also after an error. Returns
   HR_BAD_INPUT if the file is malformed or has no requests; `error` names file, line and column. */
HR_API enum hr_status hr_requests_read(const char *path, struct hr_service_requests *requests, struct hr_error *error);
HR_API void hr_requests_finish(struct hr_service_requests *requests);
/* Sets `requests` to the requests of a service in order of arrival: reads its trace, or draws requests. If the service
   has `only_gets`, the result has no requests. `index`: number of the service in the scenario. `seed`: seed of the run.
   The same index and seed have the same requests as result. The caller frees `requests` with hr_requests_finish, also
   after an error. */
HR_API enum hr_status hr_requests_of_service(const struct hr_service *service, uint32_t index, uint64_t seed,
                                             struct hr_service_requests *requests, struct hr_error *error);
/* Returns the number of tokens of a prompt that need no computation: prompt_tokens * prefix_hit_ppm / 1000000, rounded
   down, at most prompt_tokens - 1. */
HR_API uint32_t hr_request_cached_tokens(uint32_t prompt_tokens, uint32_t prefix_hit_ppm);
/* Returns the expected number of drawn requests that arrive before `until_us`. Ignores `count` and `duration_us`. */
HR_API double hr_request_draw_expected(const struct hr_request_draw *draw, int64_t until_us);
/* Returns the mean of the numbers that are drawn, after rounding and after `min` and `max` were applied. Must not be
   called for HR_TOKENS_EMPIRICAL. */
HR_API double hr_token_law_mean(const struct hr_token_law *law);
/* Returns whether the requests of a service depend on the seed of the run. */
HR_API bool hr_requests_are_random(const struct hr_service *service);

#ifdef __cplusplus
}
#endif
#endif
