/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_TRACE_H
#define HEADROOM_TRACE_H

/*
 * A job trace: immutable columns with one entry per job, sorted by (submit, order in the file). Columns for which no
 * row of the input has a value are NULL. A trace is made by hr_trace_read or struct hr_trace_builder
 * (headroom/trace_files.h) and can be shared by any number of runs and threads.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* How a job ended when the trace was recorded. A replay runs it for its recorded time in any case. */
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

/* Names as in files: "training", "failed", ...; "" for unknown. */
HR_API const char *hr_job_class_name(enum hr_job_class class_);
HR_API const char *hr_outcome_name(enum hr_outcome outcome);

/* A set of distinct strings, numbered in the order of first appearance. */
struct hr_names {
  uint32_t count;
  const char *const *text; /* [count] */
};

struct hr_skipped_rows {
  char *reason;
  uint64_t count;
  uint64_t first_line;
  bool no_fault; /* rows of jobs that cannot be replayed, such as jobs that never ran: left out in any case */
};

struct hr_trace {
  const char *source; /* the file as named by the user */
  const char *format; /* a name from hr_trace_formats, or "memory" */
  uint32_t n_jobs;
  int64_t origin_us; /* the first submit on the input's clock, in microseconds; added to times in output */
  bool dated;        /* the input's clock is dates; otherwise times are shown since the first submit */

  /* Always present, [n_jobs]. */
  const int64_t *submit_us; /* since the first submit (which a redrawn trace may lack); ascending */
  const int64_t *work_us;   /* true run time */
  const uint32_t *gpus;     /* whole GPUs of the job, all tasks together; 0 for CPU-only jobs */

  /* [n_jobs], or NULL if the trace has no such column. */
  const uint32_t *row;                   /* position among the input's accepted rows; NULL: rows were sorted */
  const int64_t *limit_us;               /* requested maximum run time; HR_UNKNOWN_US */
  const int64_t *estimate_us;            /* predicted run time; HR_UNKNOWN_US */
  const int64_t *deadline_us;            /* since the first submit; HR_UNKNOWN_US: none */
  const int32_t *priority;               /* higher is first; 0: unknown */
  const uint32_t *tasks;                 /* tasks of the gang; 1: unknown */
  const uint32_t *cpu_milli;             /* per task; 0: unknown */
  const uint64_t *mem_mib;               /* per task; 0: unknown */
  const uint64_t *gpu_mem_mib;           /* per GPU; 0: unknown */
  const uint16_t *gpu_milli;             /* requested share of each GPU; 1000: whole GPUs */
  const uint32_t *tenant;                /* index into tenants; HR_NONE: unknown */
  const uint32_t *user;                  /* index into users; HR_NONE: unknown */
  const uint32_t *model;                 /* index into models; HR_NONE: unknown */
  const uint32_t *gpu_types;             /* index into gpu_type_lists; HR_NONE: any type */
  const uint32_t *regions;               /* index into region_lists; HR_NONE: any region */
  const uint32_t *mig_profile;           /* index into mig_profiles; HR_NONE: none */
  const uint8_t *class_;                 /* enum hr_job_class */
  const uint8_t *outcome;                /* enum hr_outcome */
  const uint8_t *flags;                  /* HR_JOB_DEDICATED | HR_JOB_NOT_INTERRUPTIBLE */
  const uint32_t *fail_at_ppm;           /* share of the work at which a failed job failed, in ppm; HR_NONE: unknown */
  const int64_t *checkpoint_interval_us; /* HR_UNKNOWN_US: unknown */
  const uint64_t *checkpoint_mib;        /* 0: unknown */
  const uint32_t *min_gpus, *max_gpus;   /* limits of elastic jobs; equal to gpus for rigid jobs */
  const uint8_t *within;                 /* enum hr_tier in one group of which the GPUs must be; HR_TIER_ANY */
  /* how long after submission it waits for that; 0: not at all; HR_UNKNOWN_US: forever */
  const int64_t *within_wait_us;
  /* recorded start since the first submit; HR_UNKNOWN_US: unknown. Ignored by replays */
  const int64_t *recorded_start_us;

  struct hr_names tenants, users, models, mig_profiles;
  struct hr_names gpu_type_lists; /* each a list as written, e.g. "A100-80|H100" */
  struct hr_names region_lists;   /* each a list as written */

  /* Job ids: id_number if all are numbers, otherwise id_text; neither if they number the rows from 1, as in inputs
     without ids. Use hr_trace_job_id. */
  const int64_t *id_number;
  const char *const *id_text;
  bool ids_told; /* the input has ids, even if they just number the rows */

  struct hr_notes notes;           /* assumptions and unknown columns, for the user */
  struct hr_skipped_rows *skipped; /* rows left out, by reason; with `lenient` also invalid ones */
  uint32_t n_skipped_reasons;
  uint64_t n_skipped;
  uint64_t column_bytes; /* memory of columns and names */
  bool mapped;           /* the columns are mapped from a file and use memory only while they are accessed */
};

enum { HR_JOB_DEDICATED = 1, HR_JOB_NOT_INTERRUPTIBLE = 2 };

/* The id of a job as text. `buffer` has at least HR_JOB_ID_BUFFER bytes and is used for numbers. */
#define HR_JOB_ID_BUFFER 24
HR_API const char *hr_trace_job_id(const struct hr_trace *trace, hr_job job, char *buffer);

/* The milli-GPUs that a job requests, all tasks together. */
static inline uint64_t hr_trace_gpus_milli(const struct hr_trace *trace, hr_job job) {
  return (uint64_t)trace->gpus[job.id] * (trace->gpu_milli ? trace->gpu_milli[job.id] : 1000);
}

/* The run time limit of a job, or else its true run time. */
static inline int64_t hr_trace_limit_us(const struct hr_trace *trace, hr_job job) {
  int64_t limit_us = trace->limit_us ? trace->limit_us[job.id] : HR_UNKNOWN_US;
  return limit_us >= 0 ? limit_us : trace->work_us[job.id];
}

/* The run time that a scheduler expects: the estimate, else the limit, else the true run time. */
static inline int64_t hr_trace_estimate_us(const struct hr_trace *trace, hr_job job) {
  int64_t estimate_us = trace->estimate_us ? trace->estimate_us[job.id] : HR_UNKNOWN_US;
  return estimate_us >= 0 ? estimate_us : hr_trace_limit_us(trace, job);
}

#ifdef __cplusplus
}
#endif
#endif
