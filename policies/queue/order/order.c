/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orders with a key that is fixed at submission, and two orders with keys that change with time: remaining run time
   (srtf) and WFP3. */

#include "policies/queue/order/order.h"

#include "headroom/policy_kit.h"
#include "policies/queue/dispatch.h"
#include "policies/queue/params.h"

#include <math.h>
#include <string.h>

static int64_t fifo_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  /* ties are broken by id, which is the order of (submit, row) unless the run adds jobs */
  return queue->trace->n_added ? queue->trace->submit_us[job.id] : 0;
}

#define KEY_ORDER(text, name, help, expression)                                                                        \
  static int64_t name##_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {                         \
    (void)view;                                                                                                        \
    return expression;                                                                                                 \
  }                                                                                                                    \
  const struct hr__order hr__order_##name = {.key = name##_key};
HR__KEY_ORDERS(KEY_ORDER)

/* Returns the time at which the job's priority would have been 0. With aging, the priorities of all waiting jobs
   increase at the same rate, so this time does not change while the job waits. */
static int64_t priority_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  const int64_t *aging_us = queue->order_state;
  const int32_t *priority = queue->trace->priority;
  if (!priority) return 0;
  if (*aging_us == 0) return -(int64_t)priority[job.id];
  const int64_t maximum = INT64_MAX / 4 / *aging_us;
  int64_t bounded = priority[job.id] > maximum ? maximum : priority[job.id] < -maximum ? -maximum : priority[job.id];
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

/* Returns the deadline. Jobs without a deadline are last. */
static int64_t edf_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  int64_t deadline_us = queue->trace->deadline_us ? queue->trace->deadline_us[job.id] : HR_UNKNOWN_US;
  return deadline_us == HR_UNKNOWN_US ? INT64_MAX : deadline_us;
}

/* F1 of Carastan-Santos and de Camargo, "Obtaining Dynamic Scheduling Policies with Simulation and Machine Learning",
   SC'17: log10(r) n + 870 log10(s) with run time r, number of processors n and submit time s, in seconds. The smallest
   value is first. Times below one second count as one second. */
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
const struct hr__order hr__order_priority = {.key = priority_key, .create = create_priority, .ages = when_aging};
const struct hr__order hr__order_edf = {.key = edf_key};
const struct hr__order hr__order_f1 = {.key = f1_key};

/* Shortest remaining time first, where remaining time is the true work minus the work done. The remaining time of
   running jobs decreases as time passes, so running jobs have their end as the key. A waiting job precedes the running
   jobs that end later than the waiting job would end if it started now. */

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

/* WFP3 (Tang, Lan, Desai and Buettner, "Fault-aware, utility-based job scheduling on Blue Gene/P systems", CLUSTER'09):
   the job with the largest (wait / estimated run time)^3 x GPUs is first. Jobs with equal run times and equal GPUs keep
   their relative order, so they form a subqueue. The cube root of the value, (wait / run time) x GPUs^(1/3), grows
   linearly with time, so subqueues can be compared in a kinetic tournament. */

struct wfp3 {
  struct hr__pair_map kinds; /* index of the kind with a certain (estimated run time, thousandths of a GPU) */
  uint32_t n_kinds;
  uint32_t *kind_of; /* by job: index of its kind */
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

static uint64_t subqueue(const struct hr__queue *queue, hr_job job) {
  const struct wfp3 *wfp3 = queue->order_state;
  return wfp3->kind_of[job.id];
}

static double run_us(const struct hr__queue *queue, hr_job job) {
  return fmax((double)hr_trace_estimate_us(queue->trace, job), 1);
}

/* Returns the line (struct hr__line) of the cube root of a job's value. The value of a job without GPUs is always 0; it
   is approximated by a line with a very large slowness. */
static struct hr__line line_of(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry) {
  (void)subqueue;
  const struct hr__queue *queue = self;
  double gpus = hr__counted_gpus(queue, entry.job);
  double slowness = gpus > 0 ? run_us(queue, entry.job) / cbrt(gpus) : 0x1p300;
  return (struct hr__line){queue->trace->submit_us[entry.job.id], slowness};
}

/* Returns a key that decreases when the value increases. It is made of the bits of the value: the bits of non-negative
   doubles, read as integers, have the same order as the doubles. */
static int64_t full_key(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry) {
  (void)subqueue;
  const struct hr__queue *queue = self;
  double waited = (double)(queue->waiting.now_us - queue->trace->submit_us[entry.job.id]);
  double value = pow(waited / run_us(queue, entry.job), 3) * hr__counted_gpus(queue, entry.job);
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return -bits;
}

static int64_t wfp3_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)job;
  queue->waiting.now_us = view->now_us;
  return 0;
}

static enum hr_status begin_pass(struct hr__queue *queue, const struct hr_view *view) {
  hr__waiting_advance(&queue->waiting, view->now_us);
  return queue->waiting.line_of ? HR_OK : hr__waiting_rerank_all(&queue->waiting);
}

static const struct hr__listener listener = {.job_waits = job_waits};

const struct hr__order hr__order_wfp3 = {.key = wfp3_key,
                                         .subqueue = subqueue,
                                         .full_key = full_key,
                                         .create = create,
                                         .listener = &listener,
                                         .begin_pass = begin_pass,
                                         .line_of = line_of};
