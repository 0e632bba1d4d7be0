/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_TRACE_H
#define HEADROOM_TRACE_H

/*
 * A job trace: immutable columns, one entry per job, sorted by (submit, file order). A column that no row
 * of the input filled is NULL. A trace is built through `struct hr_trace_builder` (by the readers in
 * traces/, or by an embedding program) and may then be shared by any number of runs and threads.
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

/* How a job ended where the trace was recorded; a replay runs it for its recorded time either way. */
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

/* "training", "failed", ...; "" for unknown. */
HR_API const char *hr_job_class_name(enum hr_job_class class_);
HR_API const char *hr_outcome_name(enum hr_outcome outcome);

/* A set of distinct strings, numbered in order of first appearance. */
struct hr_names {
  uint32_t count;
  const char *const *text; /* [count] */
};

struct hr_skipped_rows {
  char *reason;
  uint64_t count;
  uint64_t first_line;
  bool no_fault; /* rows of jobs that there is nothing to replay of, such as one that never ran: left out in any case */
};

struct hr_trace {
  const char *source; /* the file as the user named it */
  const char *format; /* a name of hr_trace_formats, or "memory" */
  uint32_t n_jobs;
  int64_t origin_us; /* the first submit on the input's own clock; add it to times shown to a person */
  bool dated;        /* the input's clock is dates: times are then shown from the first submit */

  /* Always there, [n_jobs]. */
  const int64_t *submit_us; /* from the first submit, which a redrawn trace (workload.h) may lack; never decreasing */
  const int64_t *work_us;   /* true run time */
  const uint32_t *gpus;     /* whole GPUs asked for by the job, all tasks together; 0 for CPU-only work */

  /* NULL where the trace has no such column, [n_jobs] otherwise. */
  const uint32_t *row;         /* place among the input's accepted rows; NULL: rows were sorted already */
  const int64_t *limit_us;     /* what the user asked for; HR_UNKNOWN_US where unknown */
  const int64_t *estimate_us;  /* what a predictor gave; HR_UNKNOWN_US where unknown */
  const int64_t *deadline_us;  /* on the trace's clock; HR_UNKNOWN_US where none */
  const int32_t *priority;     /* higher goes first; 0 where unknown */
  const uint32_t *tasks;       /* workers of the gang; 1 where unknown */
  const uint32_t *cpu_milli;   /* per task; 0 where unknown */
  const uint64_t *mem_mib;     /* per task; 0 where unknown */
  const uint64_t *gpu_mem_mib; /* per GPU; 0 where unknown */
  const uint16_t *gpu_milli;   /* share of each GPU asked for, 1000 for whole GPUs */
  const uint32_t *tenant;      /* index into tenants, HR_NONE where unknown */
  const uint32_t *user;        /* index into users, HR_NONE where unknown */
  const uint32_t *model;       /* index into models, HR_NONE where unknown */
  const uint32_t *gpu_types;   /* index into gpu_type_lists, HR_NONE where any type will do */
  const uint32_t *regions;     /* index into region_lists, HR_NONE where any region will do */
  const uint32_t *mig_profile; /* index into mig_profiles, HR_NONE where none */
  const uint8_t *class_;       /* enum hr_job_class */
  const uint8_t *outcome;      /* enum hr_outcome */
  const uint8_t *flags;        /* HR_JOB_DEDICATED | HR_JOB_NOT_INTERRUPTIBLE */
  const uint32_t *fail_at_ppm; /* fraction of the work at which a failed job failed, in millionths; HR_NONE: unknown */
  const int64_t *checkpoint_interval_us; /* HR_UNKNOWN_US where unknown */
  const uint64_t *checkpoint_mib;        /* 0 where unknown */
  const uint32_t *min_gpus, *max_gpus;   /* elastic bounds; equal to gpus where the job is rigid */
  const uint8_t *within;                 /* enum hr_tier: its GPUs are to be in one group of it; HR_TIER_ANY: none */
  const int64_t *within_wait_us;         /* how long after its submission it waits for such a place, 0: not at all;
                                            HR_UNKNOWN_US: for ever */
  const int64_t *recorded_start_us;      /* when it started where the trace was recorded, on the trace's clock;
                                            HR_UNKNOWN_US where unknown. A replay does not look at it. */

  struct hr_names tenants, users, models, mig_profiles;
  struct hr_names gpu_type_lists; /* each a `|` list as written, e.g. "A100-80|H100" */
  struct hr_names region_lists;   /* likewise */

  /* Ids: as numbers when every id is one (id_number), as text otherwise (id_text), neither when they number the rows
     from 1, as they do where the input has none. Use hr_trace_job_id. */
  const int64_t *id_number;
  const char *const *id_text;
  bool ids_told; /* the input told ids, be they those that number the rows or not */

  struct hr_notes notes;           /* assumptions and unknown columns, for a person */
  struct hr_skipped_rows *skipped; /* rows left out, bad ones under `lenient`, by reason */
  uint32_t n_skipped_reasons;
  uint64_t n_skipped;
  uint64_t column_bytes; /* memory that the columns and names take */
  bool mapped;           /* the columns lie in a file that is mapped, and cost memory only while they are looked at */
};

enum { HR_JOB_DEDICATED = 1, HR_JOB_NOT_INTERRUPTIBLE = 2 };

/* A job's id as text; `buffer` (of at least HR_JOB_ID_BUFFER bytes) is used when the id is a number. */
#define HR_JOB_ID_BUFFER 24
HR_API const char *hr_trace_job_id(const struct hr_trace *trace, hr_job job, char *buffer);

/* GPUs asked for by the job, all tasks together, in thousandths. */
static inline uint64_t hr_trace_gpus_milli(const struct hr_trace *trace, hr_job job) {
  return (uint64_t)trace->gpus[job.id] * (trace->gpu_milli ? trace->gpu_milli[job.id] : 1000);
}

/* The time that the system may hold a job to: its limit, else its true run time. */
static inline int64_t hr_trace_limit_us(const struct hr_trace *trace, hr_job job) {
  int64_t limit_us = trace->limit_us ? trace->limit_us[job.id] : HR_UNKNOWN_US;
  return limit_us >= 0 ? limit_us : trace->work_us[job.id];
}

/* The run time that a scheduler would expect: the estimate, else the limit, else the true run time. */
static inline int64_t hr_trace_estimate_us(const struct hr_trace *trace, hr_job job) {
  int64_t estimate_us = trace->estimate_us ? trace->estimate_us[job.id] : HR_UNKNOWN_US;
  return estimate_us >= 0 ? estimate_us : hr_trace_limit_us(trace, job);
}

#ifdef __cplusplus
}
#endif
#endif
