/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_TRACE_H
#define HEADROOM_TRACE_H

/*
 * A job trace: immutable columns with one entry per job. The jobs of the input are sorted by submit time; jobs with
 * equal submit times have the order of the file. A column is NULL if no row of the input has a value for it. Functions
 * of headroom/trace_files.h create traces: hr_trace_read reads a file, and a struct hr_trace_builder receives jobs one
 * by one. Any number of runs and threads can share a trace.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/job_fields.h"

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

/* Return the names in files: "training", "failed", ...; "" for HR_CLASS_UNKNOWN and HR_OUTCOME_UNKNOWN. */
HR_API const char *hr_job_class_name(enum hr_job_class class_);
HR_API const char *hr_outcome_name(enum hr_outcome outcome);

/* A set of distinct strings, numbered from 0 in the order of first appearance. */
struct hr_names {
  uint32_t count;
  const char *const *text; /* [count] */
};

/* The rows of the input that were left out for one reason. */
struct hr_skipped_rows {
  char *reason;
  uint64_t count;
  uint64_t first_line; /* line of the first of these rows in the file */
  /* true: the rows are valid, but cannot be replayed, such as jobs that never ran; they are left out even without
     `lenient` (struct hr_trace_options). false: the rows are invalid */
  bool no_fault;
};

/* A trace. Times are microseconds since its first submit unless a member says otherwise. */
struct hr_trace {
  const char *source; /* name of the file, as the user wrote it; other texts if the trace is not from a file */
  const char *format; /* a name from hr_trace_formats; other texts if the trace is not from a file */
  uint32_t n_jobs;
  int64_t origin_us; /* the first submit on the input's clock, in microseconds; see hr_trace_clock_us */
  bool dated;        /* the input has dates; see hr_trace_clock_us */

  /* The columns of headroom/job_fields.h, with [n_jobs] entries. `submit_us`, `work_us` and `gpus` are always present;
     other columns are NULL if no job has a value. For the jobs of the input, `submit_us` is ascending; its first entry
     is 0 unless the trace is redrawn (hr_trace_redraw). Columns of names contain indices into the sets of names below.
     `class_`, `outcome` and `within` contain enum hr_job_class, enum hr_outcome and enum hr_tier. `flags` contains sets
     of HR_JOB_DEDICATED and HR_JOB_NOT_INTERRUPTIBLE. Unknown times are HR_UNKNOWN_US. For jobs that are not elastic,
     `min_gpus` and `max_gpus` equal `gpus`. */
#define HR_VALUE_COLUMN(id, member, type, ...) const type *member;
#define HR_NAME_COLUMN(id, member, ...) const uint32_t *member;
  HR_JOB_COLUMN_TABLE(HR_VALUE_COLUMN, HR_NAME_COLUMN)
#undef HR_VALUE_COLUMN
#undef HR_NAME_COLUMN
  /* position of each job among the accepted rows of the input, from 0; NULL: the input was sorted, so the position is
     the id of the job */
  const uint32_t *row;

  /* The sets of names. Each text of gpu_type_lists and region_lists is a list as written in the file, such as
     "A100-80|H100". */
#define HR_NAME_SET(id, member, kind, key, column, section, set_id, set, ...) struct hr_names set;
  HR_JOB_COLUMN_TABLE(HR_NO_FIELD, HR_NAME_SET)
#undef HR_NAME_SET

  /* The ids of jobs in the input: `id_number` if all ids are numbers, otherwise `id_text`. Both are NULL if the input
     has no ids, or if the id of each job is the number of its row, from 1. Read ids with hr_trace_job_id. */
  const int64_t *id_number;
  const char *const *id_text;
  bool has_ids; /* the input has ids, even if they are only the numbers of the rows */

  struct hr_notes notes;           /* notes for the user, such as assumptions and unknown columns */
  struct hr_skipped_rows *skipped; /* [n_skipped_reasons] */
  uint32_t n_skipped_reasons;
  uint64_t n_skipped;    /* number of all rows that were left out */
  uint64_t column_bytes; /* memory of columns and names, in bytes */
  bool mapped; /* the columns are mapped from a file; the operating system loads their pages when they are accessed */
  /* number of jobs at the end that are not from the input: the run itself submits them, for example as replicas of
     services. Their submit times are set during the run and are not ascending */
  uint32_t n_added;
};

/* Returns the last submit time of the jobs of the input; 0 if the input has no jobs. */
static inline int64_t hr_trace_last_submit_us(const struct hr_trace *trace) {
  return trace->n_jobs > trace->n_added ? trace->submit_us[trace->n_jobs - trace->n_added - 1] : 0;
}

/* Flags of a job. HR_JOB_DEDICATED: each task of the job needs a node exclusively. HR_JOB_NOT_INTERRUPTIBLE: the job
   must not be placed on spot capacity and must not be preempted. */
enum { HR_JOB_DEDICATED = 1, HR_JOB_NOT_INTERRUPTIBLE = 2 };

/* Returns the id of a job as text. If the id is a number, the text is written to `buffer`, which has at least
   HR_JOB_ID_BUFFER bytes. Otherwise the text belongs to the trace. */
#define HR_JOB_ID_BUFFER 24
HR_API const char *hr_trace_job_id(const struct hr_trace *trace, hr_job job, char *buffer);

/* Returns the microseconds that output adds to times since the first submit. All files, tables and explanations of a
   run then use the clock of the input. If the input has dates, the result is 0, because output has times since the
   first submit. */
static inline int64_t hr_trace_clock_us(const struct hr_trace *trace) {
  return trace->dated ? 0 : trace->origin_us;
}

/* Returns the milli-GPUs that a job requests for all its tasks together. */
static inline uint64_t hr_trace_gpus_milli(const struct hr_trace *trace, hr_job job) {
  return (uint64_t)trace->gpus[job.id] * (trace->gpu_milli ? trace->gpu_milli[job.id] : 1000);
}

/* Returns the run time limit of a job. If it is unknown, returns the recorded run time. */
static inline int64_t hr_trace_limit_us(const struct hr_trace *trace, hr_job job) {
  int64_t limit_us = trace->limit_us ? trace->limit_us[job.id] : HR_UNKNOWN_US;
  return limit_us >= 0 ? limit_us : trace->work_us[job.id];
}

/* Returns the run time that a scheduler expects: the estimate; if it is unknown, the limit; if both are unknown, the
   recorded run time. */
static inline int64_t hr_trace_estimate_us(const struct hr_trace *trace, hr_job job) {
  int64_t estimate_us = trace->estimate_us ? trace->estimate_us[job.id] : HR_UNKNOWN_US;
  return estimate_us >= 0 ? estimate_us : hr_trace_limit_us(trace, job);
}

#ifdef __cplusplus
}
#endif
#endif
