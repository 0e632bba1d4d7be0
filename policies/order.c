/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orders whose key a job has from its submission on. */

#include "policies/queue.h"

static int64_t fifo_key(const struct hr_trace *trace, hr_job job) {
  (void)trace;
  (void)job;
  return 0; /* the id is the order of (submit, row) */
}

static int64_t smallest_key(const struct hr_trace *trace, hr_job job) {
  return trace->gpus[job.id];
}

static int64_t largest_key(const struct hr_trace *trace, hr_job job) {
  return -(int64_t)trace->gpus[job.id];
}

static int64_t priority_key(const struct hr_trace *trace, hr_job job) {
  return trace->priority ? -(int64_t)trace->priority[job.id] : 0;
}

const struct hr__order hr__order_fifo = {fifo_key};
const struct hr__order hr__order_sjf = {hr_trace_estimate_us};
const struct hr__order hr__order_smallest = {smallest_key};
const struct hr__order hr__order_largest = {largest_key};
const struct hr__order hr__order_priority = {priority_key};
