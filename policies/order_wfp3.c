/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * WFP3 (Tang, Lan, Desai and Buettner, "Fault-aware, utility-based job scheduling on Blue Gene/P systems", CLUSTER'09):
 * the greatest (wait / run time)^3 x GPUs goes first, with the run time that is expected. Jobs of one shape with equal
 * run times never change places: they are a lane.
 */

#include "policies/queue.h"

#include <math.h>
#include <string.h>

static enum hr_status create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  (void)error;
  queue->order_state = hr_arena_alloc(env->arena, sizeof(int64_t)); /* now */
  return queue->order_state ? HR_OK : HR_NO_MEMORY;
}

static uint64_t lane(const struct hr__queue *queue, hr_job job) {
  return (uint64_t)hr_trace_estimate_us(queue->trace, job) << 20 | (hr__gpus(queue, job) & 0xfffff);
}

/* Of doubles that are not negative, the bits compare as the numbers do. */
static int64_t full_key(void *self, const struct hr__lane *lane, struct hr_job_entry entry) {
  (void)lane;
  const struct hr__queue *queue = self;
  const int64_t *now_us = queue->order_state;
  double waited = (double)(*now_us - queue->trace->submit_us[entry.job.id]);
  double run = fmax((double)hr_trace_estimate_us(queue->trace, entry.job), 1);
  double value = pow(waited / run, 3) * hr__gpus(queue, entry.job);
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return -bits;
}

static int64_t key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)job;
  int64_t *now_us = queue->order_state;
  *now_us = view->now_us;
  return 0;
}

static enum hr_status begin_pass(struct hr__queue *queue, const struct hr_view *view) {
  int64_t *now_us = queue->order_state;
  *now_us = view->now_us;
  return hr__waiting_rerank_all(&queue->waiting);
}

const struct hr__order hr__order_wfp3 = {
    .key = key, .lane = lane, .full_key = full_key, .create = create, .begin_pass = begin_pass};
