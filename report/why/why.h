/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_WHY_WHY_H
#define HR_REPORT_WHY_WHY_H

#include "base/text.h"
#include "headroom/unstable/exports.h"
#include "report/tables/tables.h"

/* Functions that the tables and JSON of waits (why.c) and the description of a single job (why_job.c) share. */

/* Returns the milli-GPUs that a job requests. */
static inline uint64_t hr__why_request_milli(const struct hr_why *why, hr_job job) {
  bool shares = why->result->gpu_milli && why->trace->gpu_milli;
  return (uint64_t)why->trace->gpus[job.id] * (shares ? why->trace->gpu_milli[job.id] : 1000u);
}

/* Writes the name of a quota: "the quota of tenant a". */
void hr__why_put_quota(FILE *out, const struct hr_why *why, uint32_t quota, hr_job job);
/* Writes the name of a maintenance and the name of its pool. `index` is the member `quota` of struct hr_wait_reason. */
void hr__why_put_window(FILE *out, const struct hr_why *why, uint32_t index);
/* Formats milli-GPUs as GPUs, such as "8" or "0.5". `buffer` has HR__NUMBER_BYTES bytes. Returns `buffer`. */
static inline const char *hr__why_gpus(uint64_t milli, char *buffer) {
  *hr__put_thousandths(buffer, (int64_t)milli) = '\0';
  return buffer;
}
/* Prints the waits and attempts of a job as sentences in time order. */
void hr__why_print_job(struct hr__console *console, const struct hr_why *why, hr_job job);

#endif
