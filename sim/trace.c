/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions that a trace answers by itself. */

#include "headroom/trace.h"

#include <inttypes.h>
#include <stdio.h>

const char *hr_job_class_name(enum hr_job_class class_) {
  static const char *const names[] = {
#define CLASS_TEXT(name, text) [name] = text,
      HR_JOB_CLASS_TABLE(CLASS_TEXT)
#undef CLASS_TEXT
  };
  return (unsigned)class_ < HR_N_CLASSES ? names[class_] : "";
}

const char *hr_outcome_name(enum hr_outcome outcome) {
  static const char *const names[] = {
#define OUTCOME_TEXT(name, text) [name] = text,
      HR_OUTCOME_TABLE(OUTCOME_TEXT)
#undef OUTCOME_TEXT
  };
  return (unsigned)outcome < HR_N_OUTCOMES ? names[outcome] : "";
}

const char *hr_trace_job_id(const struct hr_trace *trace, hr_job job, char *buffer) {
  if (trace->id_text) return trace->id_text[job.id];
  int64_t number = (int64_t)(trace->row ? trace->row[job.id] : job.id) + 1;
  if (trace->id_number) number = trace->id_number[job.id];
  snprintf(buffer, HR_JOB_ID_BUFFER, "%" PRId64, number);
  return buffer;
}
