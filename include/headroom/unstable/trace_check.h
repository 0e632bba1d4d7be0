/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_TRACE_CHECK_H
#define HEADROOM_UNSTABLE_TRACE_CHECK_H

/*
 * Findings: errors and suspicious values in a trace, reported before it is simulated. Read the trace with `lenient`, so
 * that invalid rows become findings. docs/reference/trace-check.md defines when each finding is made and why.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_SEVERITY_TABLE(X)                                                                                           \
  X(HR_SEVERITY_NOTE, "note")       /* information; nothing may be wrong */                                            \
  X(HR_SEVERITY_WARNING, "warning") /* suspicious: results may not mean what they seem to */                           \
  X(HR_SEVERITY_ERROR, "error")     /* wrong: rows are lost, jobs never run, or queues never drain */

enum hr_severity {
#define HR_SEVERITY_NAME(name, text) name,
  HR_SEVERITY_TABLE(HR_SEVERITY_NAME)
#undef HR_SEVERITY_NAME
      HR_N_SEVERITIES
};
HR_API const char *hr_severity_name(enum hr_severity severity);

/* Kinds of findings, in the order of output within a severity. The codes are a stable interface. */
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
/* What such a finding means for a simulation, and what can be done about it, as sentences. */
HR_API const char *hr_finding_meaning(enum hr_finding_code code);
HR_API const char *hr_finding_advice(enum hr_finding_code code);
/* Parses a set of codes, "burst,gap". HR_BAD_INPUT with the nearest code for an unknown one. */
HR_API enum hr_status hr_findings_parse(const char *text, bool set[HR_N_FINDINGS], struct hr_error *error);

struct hr_finding {
  enum hr_finding_code code;
  enum hr_severity severity;
  char *text;         /* the finding, with figures */
  char *subject;      /* a GPU type, a column, a user; NULL: none */
  uint64_t count, of; /* number of jobs (or rows, hours, days), and of how many; both 0: nothing is counted */
  uint64_t line;      /* of the first one in the file; 0: unknown */
  hr_job job;         /* the first one; HR_NONE: no particular job */
};

/* The demand for a closed set of pools (its jobs accept no others) while jobs are submitted. Jobs are assumed to
   start at submission, at the highest speed in these pools. */
struct hr_offered_load {
  char *gpu_types;  /* of the pools, "A10|T4" */
  uint64_t gpus;    /* of the pools, including all nodes that may come */
  double gpu_hours; /* requested */
  double load;      /* demand relative to capacity from the first to the last submit; 1: all of it */
  double within;    /* the same, counting only work before the last submit, if all jobs started at once */
  /* days: since the first submit, the last one may be partial; over: days with more demand than capacity */
  uint32_t days, over;
  double worst; /* the highest load of a day */
  uint32_t worst_day;
  double backlog_h; /* the maximum backlog of work, in hours of all these GPUs */
};

struct hr_trace_check_config {
  const struct hr_trace *trace; /* read with `lenient` */
  /* The cluster to compare with, and its name in output; NULL: none. The other members are those of its scenario and
     may be NULL. */
  const struct hr_cluster_spec *cluster;
  const char *cluster_name;
  const struct hr_class_spec *classes; /* [HR_N_CLASSES]; must be set if `cluster` is */
  const struct hr_speeds *speeds;
  bool allowed[HR_N_FINDINGS]; /* findings to skip */
};

/* The result of a check. */
struct hr_trace_check {
  struct hr_trace_check_config config;
  struct hr_finding *findings; /* by severity, highest first, then by code */
  /* The load of each closed set of pools, the highest first; none without a cluster, or if all jobs are submitted at
     once. */
  struct hr_offered_load *loads;
  uint32_t n_findings, n_loads;
};

/* Makes the findings. The objects of the configuration must outlive the check, which the caller destroys. Fails with
   HR_NO_MEMORY only; `*check` is NULL then. */
HR_API enum hr_status hr_trace_check_make(const struct hr_trace_check_config *config, struct hr_trace_check **check,
                                          struct hr_error *error);
/* Frees the check with its findings and loads. NULL is allowed. */
HR_API void hr_trace_check_destroy(struct hr_trace_check *check);

/* The number of findings of a severity. */
HR_API size_t hr_trace_check_count(const struct hr_trace_check *check, enum hr_severity severity);

#ifdef __cplusplus
}
#endif
#endif
