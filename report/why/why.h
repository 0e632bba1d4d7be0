/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_WHY_WHY_H
#define HR_REPORT_WHY_WHY_H

#include "base/console.h"
#include "base/text.h"
#include "headroom/unstable/why.h"

#include <stdlib.h>

/* Waiting time, added up. */

/* Of some jobs: what they waited, by reason; and the same times the GPUs that each asked for. */
struct hr__why_row {
  const char *name;
  uint64_t jobs;
  hr_amount us[HR_N_HOLDS], milli_us[HR_N_HOLDS];
  hr_amount all_us, all_milli_us;
};

/* A job that waited, all of its waits together. */
struct hr__why_job {
  hr_job job;
  int64_t us;
};

struct hr__why_sums {
  struct hr__why_row all;
  uint64_t jobs_of[HR_N_HOLDS];        /* that waited for this reason */
  hr_amount later_us;                  /* after a first start */
  uint64_t open;                       /* jobs that waited when the run ended */
  uint64_t rejected;                   /* jobs that were, and so never waited */
  struct hr__why_row *tenants, *sizes; /* those with waits; tenants by their time, most first */
  size_t n_tenants, n_sizes;
  struct hr__why_job *jobs; /* by their time, most first */
  size_t n_jobs;
};

/* Of all jobs, or those that the question is about. HR_NO_MEMORY is the only failure; to be finished all the same. */
enum hr_status hr__why_add_up(const struct hr_why *why, const struct hr_why_question *question,
                              struct hr__why_sums *sums);
static inline void hr__why_sums_finish(struct hr__why_sums *sums) {
  free(sums->tenants);
  free(sums->sizes);
  free(sums->jobs);
}

/* Thousandths of GPUs that a job asks for. */
static inline uint64_t hr__why_asked_milli(const struct hr_why *why, hr_job job) {
  bool shares = why->result->gpu_milli && why->trace->gpu_milli;
  return (uint64_t)why->trace->gpus[job.id] * (shares ? why->trace->gpu_milli[job.id] : 1000u);
}
/* The reasons of a row, the longest first; how many. */
uint32_t hr__why_order(const struct hr__why_row *row, enum hr_wait_reason_kind order[HR_N_HOLDS]);
/* Parts of all waits of a job together, likewise; `quota` kept apart is not. */
void hr__why_job_row(const struct hr_why *why, hr_job job, struct hr__why_row *row);

/* "the quota of tenant a" */
void hr__why_put_quota(FILE *out, const struct hr_why *why, uint32_t quota, hr_job job);
/* "8", "0.5" */
static inline const char *hr__why_gpus(uint64_t milli, char *buffer) {
  *hr__put_thousandths(buffer, (int64_t)milli) = '\0';
  return buffer;
}
/* why_job.c: a job's life. */
void hr__why_print_job(struct hr__console *console, const struct hr_why *why, hr_job job);

#endif
