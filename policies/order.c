/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orders whose key a job has from its submission on. */

#include "policies/queue.h"

static int64_t fifo_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  (void)queue;
  (void)job;
  return 0; /* the id is the order of (submit, row) */
}

static int64_t smallest_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  return hr__gpus(queue, job);
}

static int64_t largest_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  return -(int64_t)hr__gpus(queue, job);
}

static int64_t sjf_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  return hr_trace_estimate_us(queue->trace, job);
}

static int64_t priority_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  const int32_t *priority = queue->trace->priority;
  return priority ? -(int64_t)priority[job.id] : 0;
}

const struct hr__order hr__order_fifo = {.key = fifo_key};
const struct hr__order hr__order_sjf = {.key = sjf_key};
const struct hr__order hr__order_smallest = {.key = smallest_key};
const struct hr__order hr__order_largest = {.key = largest_key};
const struct hr__order hr__order_priority = {.key = priority_key};
