/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shortest remaining time first: the true work less what is done. What runs gets closer to its end as fast as time goes
 * by, so among running jobs the order is that of their ends; a waiting job comes after those that end at or before the
 * time at which it would if it ran from now on.
 */

#include "policies/dispatch.h"

static int64_t left_us(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  return queue->trace->work_us[job.id] - (view->kept_us ? view->kept_us[job.id] : 0);
}

static int64_t key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  return left_us(queue, view, job);
}

static int64_t running_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  return view->attempt_us[job.id] + left_us(queue, view, job);
}

static int64_t running_bound(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry waiting) {
  (void)queue;
  return view->now_us + waiting.key;
}

const struct hr__order hr__order_srtf = {.key = key, .running_key = running_key, .running_bound = running_bound};
