/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_WHY_WHY_H
#define HR_REPORT_WHY_WHY_H

#include "base/console.h"
#include "base/text.h"
#include "headroom/unstable/why.h"

#include <stdlib.h>

/* Answers to "why did jobs wait", from the recorded waits: sums (why_sums.c), tables (why_table.c), the life of one job
   (why_job.c) and JSON (why_json.c). */

/* Waiting time of some jobs by reason, and the same multiplied by the GPUs that each job requested. */
struct hr__why_row {
  const char *name;
  uint64_t jobs;
  hr_amount us[HR_N_WAIT_REASONS], milli_us[HR_N_WAIT_REASONS];
  hr_amount all_us, all_milli_us;
};

/* A job that waited, with the sum of its waits. */
struct hr__why_job {
  hr_job job;
  int64_t us;
};

struct hr__why_sums {
  struct hr__why_row all;
  uint64_t jobs_of[HR_N_WAIT_REASONS]; /* jobs that waited for this reason */
  hr_amount later_us;                  /* waits after the first start */
  uint64_t open;                       /* jobs waiting when the run ended */
  uint64_t rejected;                   /* rejected jobs, which never waited */
  struct hr__why_row *tenants, *sizes; /* rows with waits; tenants by time, longest first */
  size_t n_tenants, n_sizes;
  struct hr__why_job *jobs; /* by time, longest first */
  size_t n_jobs;
};

/* Sums the waits of all jobs, or of those that the question selects. Returns HR_NO_MEMORY on failure; call
   hr__why_sums_finish() in any case. */
enum hr_status hr__why_add_up(const struct hr_why *why, const struct hr_why_question *question,
                              struct hr__why_sums *sums);
static inline void hr__why_sums_finish(struct hr__why_sums *sums) {
  free(sums->tenants);
  free(sums->sizes);
  free(sums->jobs);
}

/* Returns the milli-GPUs that a job requests. */
static inline uint64_t hr__why_request_milli(const struct hr_why *why, hr_job job) {
  bool shares = why->result->gpu_milli && why->trace->gpu_milli;
  return (uint64_t)why->trace->gpus[job.id] * (shares ? why->trace->gpu_milli[job.id] : 1000u);
}
/* Sorts the reasons of a row, longest first; returns their number. */
uint32_t hr__why_order(const struct hr__why_row *row, enum hr_wait_reason_kind order[HR_N_WAIT_REASONS]);
/* Computes the row of one job; quotas are not distinguished. */
void hr__why_job_row(const struct hr_why *why, hr_job job, struct hr__why_row *row);

/* Writes the name of a quota: "the quota of tenant a". */
void hr__why_put_quota(FILE *out, const struct hr_why *why, uint32_t quota, hr_job job);
/* Formats milli-GPUs: "8", "0.5". `buffer` has HR__NUMBER_BYTES. */
static inline const char *hr__why_gpus(uint64_t milli, char *buffer) {
  *hr__put_thousandths(buffer, (int64_t)milli) = '\0';
  return buffer;
}
/* Prints the life of a job, in sentences. */
void hr__why_print_job(struct hr__console *console, const struct hr_why *why, hr_job job);

#endif
