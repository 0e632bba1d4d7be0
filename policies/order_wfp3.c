/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * WFP3 (Tang, Lan, Desai and Buettner, "Fault-aware, utility-based job scheduling on Blue Gene/P systems", CLUSTER'09):
 * the greatest (wait / run time)^3 x GPUs goes first, with the run time that is expected. Jobs with equal run times and
 * GPUs never change places: they are a lane. The cube root of the value, (wait / run time) x GPUs^(1/3), grows
 * evenly: lanes can race.
 */

#include "policies/dispatch.h"

#include <math.h>
#include <string.h>

struct wfp3 {
  struct hr__pair_map kinds; /* (run time, thousandths of GPUs) */
  uint32_t n_kinds;
  uint32_t *kind_of; /* by job */
};

static enum hr_status create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  (void)error;
  struct wfp3 *wfp3 = hr_arena_alloc(env->arena, sizeof *wfp3);
  if (!wfp3) return HR_NO_MEMORY;
  queue->order_state = wfp3;
  wfp3->kind_of = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof *wfp3->kind_of);
  return wfp3->kind_of ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  struct wfp3 *wfp3 = queue->order_state;
  struct hr__pair kind = {(uint64_t)hr_trace_estimate_us(queue->trace, job), hr__counted_milli(queue, job)};
  uint32_t number = hr__pair_map_find(&wfp3->kinds, kind);
  if (number == HR_NONE) {
    number = wfp3->n_kinds++;
    if (!hr__pair_map_add(&wfp3->kinds, queue->arena, kind, number)) return HR_NO_MEMORY;
  }
  wfp3->kind_of[job.id] = number;
  return HR_OK;
}

static uint64_t lane(const struct hr__queue *queue, hr_job job) {
  const struct wfp3 *wfp3 = queue->order_state;
  return wfp3->kind_of[job.id];
}

static double run_us(const struct hr__queue *queue, hr_job job) {
  return fmax((double)hr_trace_estimate_us(queue->trace, job), 1);
}

/* A job without GPUs has the value 0 at all times: it is as slow as can be. */
static struct hr__line line_of(void *self, const struct hr__lane *lane, struct hr_job_entry entry) {
  (void)lane;
  const struct hr__queue *queue = self;
  double gpus = hr__counted_gpus(queue, entry.job);
  double slowness = gpus > 0 ? run_us(queue, entry.job) / cbrt(gpus) : 0x1p300;
  return (struct hr__line){queue->trace->submit_us[entry.job.id], slowness};
}

/* Of doubles that are not negative, the bits compare as the numbers do. */
static int64_t full_key(void *self, const struct hr__lane *lane, struct hr_job_entry entry) {
  (void)lane;
  const struct hr__queue *queue = self;
  double waited = (double)(queue->waiting.now_us - queue->trace->submit_us[entry.job.id]);
  double value = pow(waited / run_us(queue, entry.job), 3) * hr__counted_gpus(queue, entry.job);
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return -bits;
}

static int64_t key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)job;
  queue->waiting.now_us = view->now_us;
  return 0;
}

static enum hr_status begin_pass(struct hr__queue *queue, const struct hr_view *view) {
  hr__waiting_come_to(&queue->waiting, view->now_us);
  return queue->waiting.line_of ? HR_OK : hr__waiting_rerank_all(&queue->waiting);
}

static const struct hr__listener listener = {.job_waits = job_waits};

const struct hr__order hr__order_wfp3 = {.key = key,
                                         .lane = lane,
                                         .full_key = full_key,
                                         .create = create,
                                         .listener = &listener,
                                         .begin_pass = begin_pass,
                                         .line_of = line_of};
