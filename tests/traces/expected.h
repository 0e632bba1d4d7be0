/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_TRACES_EXPECTED_H
#define HR_TESTS_TRACES_EXPECTED_H

/* Compares a trace with a list of expected jobs that were determined by hand. */

#include "headroom/trace_files.h"

struct expected_job {
  const char *id;
  double submit_s, start_s, work_s; /* seconds since the first submit; start_s -1: unknown; work_s: run time */
  uint32_t gpus, tasks;
  enum hr_outcome outcome;
  const char *tenant, *user, *gpu_types, *mig_profile, *model; /* NULL: unknown */
  double limit_s;                                              /* 0: unknown */
  uint32_t gpu_milli, cpu_milli;                               /* gpu_milli 0: 1000, a whole GPU */
  uint64_t mem_mib;
  int32_t priority;
  enum hr_job_class class_;
  double fail_at; /* share of the run time after which the job fails; 0: unknown */
  uint8_t flags;
};

/* Returns whether the trace has exactly these `n` jobs in this order and its format is `format`. Prints each
   difference. */
bool jobs_are(const struct hr_trace *trace, const char *format, const struct expected_job *jobs, uint32_t n);

/* Returns the number of rows that the reader skipped for this reason if the first of them is on line `first_line`; else
   0. */
uint64_t left_out(const struct hr_trace *trace, const char *reason, uint64_t first_line);

/* Returns whether format detection treats a file with this text as `format`. If the file is valid, the detected format
   must be `format`. If it is not, the error message must be the same with and without the explicit format. */
bool is_detected_as(const char *text, const char *format);
/* Returns whether a file with this text is rejected as JSON of an unknown format. */
bool is_unknown_json(const char *text);

#endif
