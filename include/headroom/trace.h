/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_TRACE_H
#define HEADROOM_TRACE_H

/*
 * A job trace: immutable columns with one entry per job, sorted by (submit, order in the file). A column is NULL if no
 * row of the input has a value for it. Functions of headroom/trace_files.h create traces: hr_trace_read reads a file,
 * struct hr_trace_builder adds jobs one by one. Any number of runs and threads can share a trace.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of workload. The columns: enumerator, name in files. */
#define HR_JOB_CLASS_TABLE(X)                                                                                          \
  X(HR_CLASS_UNKNOWN, "")                                                                                              \
  X(HR_CLASS_TRAINING, "training")                                                                                     \
  X(HR_CLASS_FINE_TUNE, "fine-tune")                                                                                   \
  X(HR_CLASS_BATCH_INFERENCE, "batch-inference")                                                                       \
  X(HR_CLASS_INFERENCE, "inference")                                                                                   \
  X(HR_CLASS_INTERACTIVE, "interactive")                                                                               \
  X(HR_CLASS_DATA_PREP, "data-prep")

enum hr_job_class {
#define HR_CLASS_NAME(name, text) name,
  HR_JOB_CLASS_TABLE(HR_CLASS_NAME)
#undef HR_CLASS_NAME
      HR_N_CLASSES
};

/* How a job ended when the trace was recorded. A replay runs each job for its recorded time, independent of its
   outcome. */
#define HR_OUTCOME_TABLE(X)                                                                                            \
  X(HR_OUTCOME_UNKNOWN, "")                                                                                            \
  X(HR_OUTCOME_COMPLETED, "completed")                                                                                 \
  X(HR_OUTCOME_FAILED, "failed")                                                                                       \
  X(HR_OUTCOME_CANCELLED, "cancelled")

enum hr_outcome {
#define HR_OUTCOME_NAME(name, text) name,
  HR_OUTCOME_TABLE(HR_OUTCOME_NAME)
#undef HR_OUTCOME_NAME
      HR_N_OUTCOMES
};

/* The names in files: "training", "failed", ...; "" for unknown. */
HR_API const char *hr_job_class_name(enum hr_job_class class_);
HR_API const char *hr_outcome_name(enum hr_outcome outcome);

/* A set of distinct strings, numbered from 0 in the order of first appearance. */
struct hr_names {
  uint32_t count;
  const char *const *text; /* [count] */
};

/* Counts the rows of the input that were left out for one reason. */
struct hr_skipped_rows {
  char *reason;
  uint64_t count;
  uint64_t first_line; /* line of the first such row in the file */
  /* the rows are valid but cannot be replayed, such as jobs that never ran; they are left out even without `lenient` */
  bool no_fault;
};

/* A trace. Times are microseconds since its first submit unless a member says otherwise. */
struct hr_trace {
  const char *source; /* name of the file, as the user wrote it */
  const char *format; /* a name from hr_trace_formats, or "memory" */
  uint32_t n_jobs;
  /* the first submit on the input's clock, in microseconds; output adds it to all times */
  int64_t origin_us;
  bool dated; /* the input has dates, so output shows dates, too; otherwise output shows times since the first submit */

  /* These columns are always present, [n_jobs]. */
  /* ascending; the first entry is 0 unless the trace is redrawn (hr_trace_redraw) */
  const int64_t *submit_us;
  const int64_t *work_us; /* recorded run time, in microseconds */
  const uint32_t *gpus;   /* whole GPUs of the job, the sum over all tasks; 0 for CPU-only jobs */

  /* These columns have [n_jobs] entries, or are NULL if the trace has no such column. */
  /* position of the job among the accepted rows of the input; NULL: the rows were sorted, so it is the job's id */
  const uint32_t *row;
  const int64_t *limit_us;     /* requested maximum run time; HR_UNKNOWN_US: unknown */
  const int64_t *estimate_us;  /* predicted run time; HR_UNKNOWN_US: unknown */
  const int64_t *deadline_us;  /* time by which the job must be complete; HR_UNKNOWN_US: no deadline */
  const int32_t *priority;     /* higher is first; 0: unknown */
  const uint32_t *tasks;       /* number of tasks of the gang; 1 if unknown */
  const uint32_t *cpu_milli;   /* milli-CPUs per task; 0: unknown */
  const uint64_t *mem_mib;     /* per task; 0: unknown */
  const uint64_t *gpu_mem_mib; /* per GPU; 0: unknown */
  const uint16_t *gpu_milli;   /* requested share of each GPU in milli-GPUs; 1000: whole GPUs */
  const uint32_t *tenant;      /* index into tenants; HR_NONE: unknown */
  const uint32_t *user;        /* index into users; HR_NONE: unknown */
  const uint32_t *model;       /* index into models; HR_NONE: unknown */
  const uint32_t *gpu_types;   /* index into gpu_type_lists; HR_NONE: any type */
  const uint32_t *regions;     /* index into region_lists; HR_NONE: any region */
  const uint32_t *mig_profile; /* index into mig_profiles; HR_NONE: none */
  const uint8_t *class_;       /* enum hr_job_class */
  const uint8_t *outcome;      /* enum hr_outcome */
  const uint8_t *flags;        /* a set of HR_JOB_DEDICATED and HR_JOB_NOT_INTERRUPTIBLE */
  /* for jobs that failed: the part of their work after which they failed, in ppm; HR_NONE: unknown */
  const uint32_t *fail_at_ppm;
  const int64_t *checkpoint_interval_us; /* work between two checkpoints; HR_UNKNOWN_US: unknown */
  const uint64_t *checkpoint_mib;        /* size of a checkpoint; 0: unknown */
  /* minimum and maximum number of GPUs of elastic jobs; both equal `gpus` for rigid jobs */
  const uint32_t *min_gpus, *max_gpus;
  /* enum hr_tier: all GPUs of the job must be in one group of this tier; HR_TIER_ANY: no requirement */
  const uint8_t *within;
  /* time after submission for which the job waits for a placement that satisfies `within`; 0: `within` is only
     preferred; HR_UNKNOWN_US: the job waits without limit */
  const int64_t *within_wait_us;
  /* start of the job as recorded in the trace; HR_UNKNOWN_US: unknown. Replays ignore it */
  const int64_t *recorded_start_us;

  struct hr_names tenants, users, models, mig_profiles;
  struct hr_names gpu_type_lists; /* each is a list of types as written in the file, e.g. "A100-80|H100" */
  struct hr_names region_lists;   /* each is a list of regions as written in the file */

  /* The ids of jobs in the input: id_number if all ids are numbers, otherwise id_text. Both are NULL if the input has
     no ids, or if the id of each job is the number of its row, from 1. Read ids with hr_trace_job_id. */
  const int64_t *id_number;
  const char *const *id_text;
  bool has_ids; /* the input has ids, even if they are only the numbers of the rows */

  struct hr_notes notes;           /* notes for the user, such as assumptions and unknown columns */
  struct hr_skipped_rows *skipped; /* [n_skipped_reasons]; invalid rows are left out only with `lenient` */
  uint32_t n_skipped_reasons;
  uint64_t n_skipped;
  uint64_t column_bytes; /* memory of columns and names, in bytes */
  bool mapped; /* the columns are mapped from a file; the operating system loads their pages when they are accessed */
};

/* Flags of a job. HR_JOB_DEDICATED: each task of the job needs a node exclusively. HR_JOB_NOT_INTERRUPTIBLE: the job
   must not be placed on spot capacity and must not be preempted. */
enum { HR_JOB_DEDICATED = 1, HR_JOB_NOT_INTERRUPTIBLE = 2 };

/* Returns the id of a job as text. If the id is a number, the text is written to `buffer`, which has at least
   HR_JOB_ID_BUFFER bytes. Otherwise the text belongs to the trace. */
#define HR_JOB_ID_BUFFER 24
HR_API const char *hr_trace_job_id(const struct hr_trace *trace, hr_job job, char *buffer);

/* Returns the milli-GPUs that a job requests for all its tasks together. */
static inline uint64_t hr_trace_gpus_milli(const struct hr_trace *trace, hr_job job) {
  return (uint64_t)trace->gpus[job.id] * (trace->gpu_milli ? trace->gpu_milli[job.id] : 1000);
}

/* Returns the run time limit of a job. If it is unknown, returns the recorded run time. */
static inline int64_t hr_trace_limit_us(const struct hr_trace *trace, hr_job job) {
  int64_t limit_us = trace->limit_us ? trace->limit_us[job.id] : HR_UNKNOWN_US;
  return limit_us >= 0 ? limit_us : trace->work_us[job.id];
}

/* Returns the run time that a scheduler expects. This is the estimate. If the estimate is unknown, it is the limit; if
   both are unknown, it is the recorded run time. */
static inline int64_t hr_trace_estimate_us(const struct hr_trace *trace, hr_job job) {
  int64_t estimate_us = trace->estimate_us ? trace->estimate_us[job.id] : HR_UNKNOWN_US;
  return estimate_us >= 0 ? estimate_us : hr_trace_limit_us(trace, job);
}

#ifdef __cplusplus
}
#endif
#endif
