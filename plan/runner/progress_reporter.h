/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_PROGRESS_REPORTER_H
#define HR_PLAN_RUNNER_PROGRESS_REPORTER_H

/* The progress of many runs as that of one: what each has done is summed, and told by one thread at a time. */

#include "headroom/sim.h"

#include <pthread.h>

struct hr__progress_sum {
  pthread_mutex_t lock;
  struct hr_progress to;
  uint64_t done, total;
};
void hr__progress_sum_init(struct hr__progress_sum *sum, const struct hr_progress *to, uint64_t total);
void hr__progress_sum_finish(struct hr__progress_sum *sum);

/* One run's part. Give the run hr__progress_reporter_progress; the teller must live as long. */
struct hr__progress_reporter {
  struct hr__progress_sum *sum;
  uint64_t told;
};
struct hr_progress hr__progress_reporter_progress(struct hr__progress_reporter *reporter);

#endif
