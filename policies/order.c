/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orders whose key a job has from its submission on. */

#include "policies/dispatch.h"
#include "policies/queue_params.h"

#include <math.h>

static int64_t fifo_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  (void)queue;
  (void)job;
  return 0; /* the id is the order of (submit, row) */
}

static int64_t smallest_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  return (int64_t)hr__counted_milli(queue, job);
}

static int64_t largest_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  return -(int64_t)hr__counted_milli(queue, job);
}

static int64_t sjf_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  return hr_trace_estimate_us(queue->trace, job);
}

/* With aging all priorities rise alike while jobs wait, so that what counts is when each would have been at none. */
static int64_t priority_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  const int64_t *aging_us = queue->order_state;
  const int32_t *priority = queue->trace->priority;
  if (!priority) return 0;
  if (*aging_us == 0) return -(int64_t)priority[job.id];
  const int64_t most = INT64_MAX / 4 / *aging_us;
  int64_t bounded = priority[job.id] > most ? most : priority[job.id] < -most ? -most : priority[job.id];
  return queue->trace->submit_us[job.id] - bounded * *aging_us;
}

static enum hr_status create_priority(struct hr__queue *queue, const struct hr_policy_env *env,
                                      struct hr_error *error) {
  (void)error;
  int64_t *aging_us = hr_arena_alloc(env->arena, sizeof *aging_us);
  if (!aging_us) return HR_NO_MEMORY;
  *aging_us = hr__queue_param_us(env, "aging_s");
  queue->order_state = aging_us;
  return HR_OK;
}

/* The earliest deadline first; jobs without one come last. */
static int64_t edf_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  int64_t deadline_us = queue->trace->deadline_us ? queue->trace->deadline_us[job.id] : HR_UNKNOWN_US;
  return deadline_us == HR_UNKNOWN_US ? INT64_MAX : deadline_us;
}

/* F1 of Carastan-Santos and de Camargo, "Obtaining Dynamic Scheduling Policies with Simulation and Machine Learning",
   SC'17: log10(r) n + 870 log10(s) of run time r, processors n and arrival s, in seconds; the least goes first. Times
   below a second count as one. */
static int64_t f1_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  double run_s = (double)hr_trace_estimate_us(queue->trace, job) / (double)HR_SECOND_US;
  double submit_s = (double)queue->trace->submit_us[job.id] / (double)HR_SECOND_US;
  double value = log10(fmax(run_s, 1)) * hr__counted_gpus(queue, job) + 870 * log10(fmax(submit_s, 1));
  return llround(value * 1e6);
}

static bool always(const struct hr__queue *queue) {
  (void)queue;
  return true;
}

static bool when_aging(const struct hr__queue *queue) {
  const int64_t *aging_us = queue->order_state;
  return *aging_us > 0;
}

const struct hr__order hr__order_fifo = {.key = fifo_key, .ages = always};
const struct hr__order hr__order_sjf = {.key = sjf_key};
const struct hr__order hr__order_smallest = {.key = smallest_key};
const struct hr__order hr__order_largest = {.key = largest_key};
const struct hr__order hr__order_priority = {.key = priority_key, .create = create_priority, .ages = when_aging};
const struct hr__order hr__order_edf = {.key = edf_key};
const struct hr__order hr__order_f1 = {.key = f1_key};
