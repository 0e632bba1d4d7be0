/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_TRACE_CHECK_H
#define HEADROOM_UNSTABLE_TRACE_CHECK_H

/*
 * Trace checks: errors and suspicious values in a trace, reported as findings before it is simulated. The trace should
 * be read with `lenient`, so that invalid rows are reported as findings. docs/reference/trace-check.md defines the
 * condition and the reason of each finding.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How serious a finding is. The columns: enumerator, name in files. */
#define HR_SEVERITY_TABLE(X)                                                                                           \
  X(HR_SEVERITY_NOTE, "note")       /* information; the trace may be correct */                                        \
  X(HR_SEVERITY_WARNING, "warning") /* suspicious; results may be misleading */                                        \
  X(HR_SEVERITY_ERROR, "error")     /* wrong; rows are lost, jobs can never run, or the queue grows without bound */

enum hr_severity {
#define HR_SEVERITY_NAME(name, text) name,
  HR_SEVERITY_TABLE(HR_SEVERITY_NAME)
#undef HR_SEVERITY_NAME
      HR_N_SEVERITIES
};
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
HR_API const char *hr_finding_name(enum hr_finding_code code);
/* hr_finding_meaning returns a sentence on what the finding means for a simulation. hr_finding_advice returns a
   sentence on what users can do about it. */
HR_API const char *hr_finding_meaning(enum hr_finding_code code);
HR_API const char *hr_finding_advice(enum hr_finding_code code);
/* Parses a list of codes such as "burst,gap" into a set. On HR_BAD_INPUT for an unknown code, `error` suggests the
   nearest code. */
HR_API enum hr_status hr_findings_parse(const char *text, bool set[HR_N_FINDINGS], struct hr_error *error);

/* A finding. */
struct hr_finding {
  enum hr_finding_code code;
  enum hr_severity severity;
  char *text;    /* the finding as text, with figures */
  char *subject; /* the GPU type, column or user that the finding is about; NULL: none */
  /* `count`: number of jobs (or rows, hours, days) with the problem; `of`: number of jobs (or rows, hours, days) that
     were examined. Both are 0 if nothing is counted */
  uint64_t count, of;
  uint64_t line; /* line of the first such job or row in the file; 0: unknown */
  hr_job job;    /* the first such job; HR_NONE: none */
};

/* The demand for a set of pools compared with the capacity of these pools, from the first to the last submit. The set
   is closed: the demand is that of all jobs that accept only pools of the set. Each job is assumed to start at
   submission and to run at its highest speed in these pools. */
struct hr_offered_load {
  char *gpu_types;  /* GPU types of the pools, such as "A10|T4" */
  uint64_t gpus;    /* number of GPUs of the pools, including nodes that are not always present */
  double gpu_hours; /* GPU-hours requested by these jobs */
  /* demand / capacity from the first to the last submit; 1: the pools are fully used */
  double load;
  /* as `load`, but demand includes only the work that would be done before the last submit if all jobs started at
     submission */
  double within;
  /* days: number of days since the first submit, of which the last may be partial; over: number of days on which demand
     exceeds capacity */
  uint32_t days, over;
  double worst;       /* maximum load of a day */
  uint32_t worst_day; /* index of that day, from 0 */
  double backlog_h;   /* maximum backlog of work, in hours of all GPUs of the pools */
};

/* The input of a trace check. Everything is borrowed and must outlive the check. */
struct hr_trace_check_config {
  const struct hr_trace *trace; /* read with `lenient` */
  /* cluster: the cluster with which the trace is compared; NULL: no comparison. cluster_name: its name in output.
     `classes` and `speeds` are those of the cluster's scenario. */
  const struct hr_cluster_spec *cluster;
  const char *cluster_name;
  const struct hr_class_spec *classes; /* [HR_N_CLASSES]; must be set if `cluster` is set */
  const struct hr_speeds *speeds;      /* may be NULL */
  bool allowed[HR_N_FINDINGS];         /* [code]: skip these findings */
};

/* The result of a trace check. */
struct hr_trace_check {
  struct hr_trace_check_config config;
  struct hr_finding *findings; /* [n_findings], sorted by severity (highest first), then by code */
  /* [n_loads]: the load of each closed set of pools, highest load first. Empty without a cluster, or if all jobs
     are submitted at one instant. */
  struct hr_offered_load *loads;
  uint32_t n_findings, n_loads;
};

/* Checks a trace. The caller frees `*check` with hr_trace_check_destroy. The only possible error is HR_NO_MEMORY; in
   this case `*check` is NULL. */
HR_API enum hr_status hr_trace_check_make(const struct hr_trace_check_config *config, struct hr_trace_check **check,
                                          struct hr_error *error);
/* Frees the check with its findings and loads. NULL is allowed. */
HR_API void hr_trace_check_destroy(struct hr_trace_check *check);

/* Returns the number of findings of a severity. */
HR_API size_t hr_trace_check_count(const struct hr_trace_check *check, enum hr_severity severity);

#ifdef __cplusplus
}
#endif
#endif
