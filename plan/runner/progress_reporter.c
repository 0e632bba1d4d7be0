/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "plan/runner/progress_reporter.h"

void hr__progress_sum_init(struct hr__progress_sum *sum, const struct hr_progress *to, uint64_t total) {
  *sum = (struct hr__progress_sum){.to = *to, .total = total};
  pthread_mutex_init(&sum->lock, NULL);
}

void hr__progress_sum_finish(struct hr__progress_sum *sum) {
  pthread_mutex_destroy(&sum->lock);
}

static void tell(void *self, uint64_t done, uint64_t total, int64_t now_us) {
  struct hr__progress_reporter *reporter = self;
  struct hr__progress_sum *sum = reporter->sum;
  (void)total;
  pthread_mutex_lock(&sum->lock);
  sum->done += done - reporter->told;
  reporter->told = done;
  sum->to.report(sum->to.self, sum->done, sum->total, now_us);
  pthread_mutex_unlock(&sum->lock);
}

struct hr_progress hr__progress_reporter_progress(struct hr__progress_reporter *reporter) {
  return (struct hr_progress){.self = reporter, .report = reporter->sum->to.report ? tell : NULL};
}
