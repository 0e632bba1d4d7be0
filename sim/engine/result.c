/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of a run; names of states, events, reasons, job classes and outcomes; job ids as text. */

#include "headroom/sim.h"
#include "headroom/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void hr_result_destroy(struct hr_result *result) {
  if (!result) return;
  free(result->state);
  free(result->start_us);
  free(result->ended_us);
  free(result->reason);
  free(result->accounting);
  free(result->gpu_milli);
  free(result->pools);
  free(result);
}

const char *hr_result_state_name(const struct hr_result *result, hr_job job) {
  switch ((enum hr_job_state)result->state[job.id]) {
  case HR_JOB_FUTURE:
    return "unsubmitted";
  case HR_JOB_WAITING:
  case HR_JOB_RUNNING:
    return "unfinished";
  case HR_JOB_COMPLETED:
    return "completed";
  case HR_JOB_REJECTED:
    return "rejected";
  }
  return "";
}

const char *hr_event_name(enum hr_event_kind kind) {
  switch (kind) {
#define EVENT_CASE(name, text, code)                                                                                   \
  case name:                                                                                                           \
    return text;
    HR_EVENT_TABLE(EVENT_CASE)
#undef EVENT_CASE
  }
  return "";
}

const char *hr_reason_name(enum hr_reason reason) {
  switch (reason) {
#define REASON_CASE(name, text)                                                                                        \
  case name:                                                                                                           \
    return text;
    HR_REASON_TABLE(REASON_CASE)
#undef REASON_CASE
  }
  return "";
}

const char *hr_rejection_words(enum hr_reason reason) {
  if (reason == HR_REASON_TOO_LARGE) return "more GPUs requested than any acceptable pool has";
  if (reason == HR_REASON_NO_GPU_TYPE) return "no pool has an acceptable GPU type";
  if (reason == HR_REASON_GPU_MEMORY) return "the acceptable GPUs, or their parts, have too little memory";
  if (reason == HR_REASON_NO_REGION) return "no acceptable pool is in an acceptable region";
  if (reason == HR_REASON_NO_CLASS_POOL) return "the suitable pools serve other job classes only";
  if (reason == HR_REASON_NODE_TOO_SMALL) return "a task requests more than any acceptable node has";
  if (reason == HR_REASON_MIG_PROFILE) return "no acceptable GPU has suitable MIG instances";
  if (reason == HR_REASON_ONLY_MIG) return "the acceptable GPUs are split by MIG, and the jobs name no profile";
  if (reason == HR_REASON_NO_GROUP) return "no acceptable group of the required tier is large enough";
  if (reason == HR_REASON_OVER_QUOTA) return "more GPUs requested than their tenant may ever use";
  if (reason == HR_REASON_SPOT_ONLY) return "only spot capacity would suffice, which they must not use";
  if (reason == HR_REASON_KILLED) return "stopped permanently for another job";
  return "rejected by the policy";
}

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
