/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_WHY_WHY_SUMS_H
#define HR_REPORT_WHY_WHY_SUMS_H

/* Waiting time, added up. */

#include "headroom/unstable/why.h"

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
void hr__why_sums_finish(struct hr__why_sums *sums);

/* Thousandths of GPUs that a job asks for. */
uint64_t hr__why_asked_milli(const struct hr_why *why, hr_job job);
/* The reasons of a row, the longest first; how many. */
uint32_t hr__why_order(const struct hr__why_row *row, enum hr_wait_reason_kind order[HR_N_HOLDS]);
/* Parts of all waits of a job together, likewise; `quota` kept apart is not. */
void hr__why_job_row(const struct hr_why *why, hr_job job, struct hr__why_row *row);

#endif
