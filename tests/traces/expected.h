/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_TRACES_EXPECTED_H
#define HR_TESTS_TRACES_EXPECTED_H

/* Compares a trace with the jobs that a person expects from the same file. */

#include "headroom/trace_files.h"

struct expected_job {
  const char *id;
  double submit_s, start_s, work_s; /* from the first submit; start_s -1: unknown */
  uint32_t gpus, tasks;
  enum hr_outcome outcome;
  const char *tenant, *user, *gpu_types, *mig_profile, *model; /* NULL: unknown */
  double limit_s;                                              /* 0: unknown */
  uint32_t gpu_milli, cpu_milli;                               /* gpu_milli 0: 1000 */
  uint64_t mem_mib;
  int32_t priority;
  enum hr_job_class class_;
  double fail_at; /* 0: unknown */
  uint8_t flags;
};

/* Whether the trace has exactly these jobs in this order; prints the differences. */
bool jobs_are(const struct hr_trace *trace, const char *format, const struct expected_job *jobs, uint32_t n);

/* Number of rows left out for this reason if the first of them is on this line; else 0. */
uint64_t left_out(const struct hr_trace *trace, const char *reason, uint64_t first_line);

/* Whether a file with this text is read as this format if no format is given: with the same jobs, or refused with the
   same message, as if the format were given. */
bool is_detected_as(const char *text, const char *format);
/* Whether it is refused as JSON of an unknown format. */
bool is_unknown_json(const char *text);

#endif
