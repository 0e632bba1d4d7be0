/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "holds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The number of jobs whose wait reasons are also recorded individually. */
enum { N_WATCHED = 7 };

static void report_violation(struct holds *holds, const char *words, hr_job job, int64_t at_us) {
  if (holds->fault[0]) return;
  snprintf(holds->fault, sizeof holds->fault, "job %" PRIu32 " at %.6f s: %s", job.id, (double)at_us / 1e6, words);
}

bool holds_init(struct holds *holds, const struct hr_trace *trace) {
  hr_job watched[N_WATCHED];
  for (uint32_t i = 0; i < N_WATCHED; i++) watched[i] = (hr_job){(N_WATCHED - 1 - i) * 3};
  *holds = (struct holds){.trace = trace};
  struct hr_waits_config grouped = {.trace = trace}, each = {trace, watched, N_WATCHED, true};
  for (uint32_t i = 0; i < N_WATCHED; i++) each.n_watched -= watched[i].id >= trace->n_jobs;
  each.watched = watched + (N_WATCHED - each.n_watched);
  holds->grouped = hr_waits_create(&grouped);
  holds->each = hr_waits_create(&each);
  return holds->grouped && holds->each;
}

void holds_finish(struct holds *holds) {
  hr_waits_destroy(holds->grouped);
  hr_waits_destroy(holds->each);
}

/* ---- Plausibility of reasons --------------------------------------------------------------------------- */

static bool accepts(const struct hr_view *view, hr_job job, uint32_t pool) {
  return hr_cluster_accepts(view->cluster, hr_cluster_accept_class(view->cluster, job), (hr_pool){pool});
}

/* Returns the largest number of free milli-GPUs in any pool that the job accepts. It is read from the pool's total,
   because the counts of the nodes are too large if placements name no nodes. */
static uint64_t max_free_milli(const struct hr_view *view, hr_job job) {
  uint64_t max_milli = 0;
  for (uint32_t pool = 0; pool < hr_cluster_pools(view->cluster); pool++) {
    uint64_t free_milli = hr_cluster_free_milli(view->cluster, (hr_pool){pool});
    if (accepts(view, job, pool) && free_milli > max_milli) max_milli = free_milli;
  }
  return max_milli;
}

/* Returns whether the job fits into some pool, by examining each node. A job that is larger than a node takes whole
   nodes, and one more node for its remainder. */
static bool fits_somewhere(const struct hr_view *view, hr_job job) {
  uint32_t gpus = view->jobs->gpus[job.id];
  bool single = false, found = gpus == 0;
  for (uint32_t pool = 0; pool < hr_cluster_pools(view->cluster); pool++)
    single = single ||
             (accepts(view, job, pool) && hr_cluster_pool_spec(view->cluster, (hr_pool){pool})->gpus_per_node >= gpus);
  for (uint32_t pool = 0; pool < hr_cluster_pools(view->cluster); pool++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(view->cluster, (hr_pool){pool});
    const struct hr_free_index *index = hr_cluster_free_index(view->cluster, (hr_pool){pool});
    uint32_t whole = 0, best_rest = 0, rest = gpus % spec->gpus_per_node;
    if (!accepts(view, job, pool)) continue;
    for (uint32_t node = 0; node < spec->nodes; node++) {
      uint32_t free = hr_free_index_get(index, node);
      if (single && free >= gpus) found = true;
      if (free == spec->gpus_per_node)
        whole++;
      else if (free > best_rest)
        best_rest = free;
    }
    uint32_t needed = gpus / spec->gpus_per_node;
    if (!single && (whole > needed || (whole == needed && best_rest >= rest))) found = true;
  }
  return found;
}

static void check_room(struct holds *holds, const struct hr_view *view, hr_job job, const struct hr_wait_reason *hold) {
  uint64_t max_milli = max_free_milli(view, job), requested_milli = hr_cluster_asked_milli(view->cluster, job);
  if (hold->free_milli != max_milli || hold->asked_milli != requested_milli)
    report_violation(holds, "free or requested GPUs differ", job, view->now_us);
  if (hold->reason == HR_WAIT_REASON_CAPACITY && max_milli >= requested_milli)
    report_violation(holds, "the reason is capacity, but enough GPUs are free", job, view->now_us);
  if (hold->reason == HR_WAIT_REASON_FRAGMENTS &&
      (max_milli < requested_milli || (!hr_cluster_gpu_inventory(view->cluster) && fits_somewhere(view, job))))
    report_violation(holds, "the reason is fragments, but the job fits or capacity is insufficient", job, view->now_us);
  bool fits = hold->reason == HR_WAIT_REASON_ORDER || hold->reason == HR_WAIT_REASON_RESERVATION;
  const struct hr_gpu_inventory *inventory = hr_cluster_gpu_inventory(view->cluster);
  bool is_mig = inventory && inventory->mig; /* a MIG instance may be smaller or larger than the requested share */
  if (fits && !is_mig && max_milli < requested_milli)
    report_violation(holds, "the reason is order or reservation, but the job does not fit", job, view->now_us);
}

static void check_reason(struct holds *holds, const struct hr_view *view, hr_job job) {
  struct hr_wait_reason hold;
  hr_view_wait_reason(view, job, &hold);
  if (hold.reason == HR_WAIT_REASON_NONE || hold.reason >= HR_N_WAIT_REASONS)
    report_violation(holds, "no reason", job, view->now_us);
  bool has_other = hold.behind.id != HR_NONE;
  if (has_other && (hold.behind.id == job.id || view->state[hold.behind.id] != HR_JOB_WAITING))
    report_violation(holds, "the job waits behind itself or behind a job that does not wait", job, view->now_us);
  bool has_index = hold.reason == HR_WAIT_REASON_QUOTA || hold.reason == HR_WAIT_REASON_MAINTENANCE;
  if ((hold.quota != HR_NONE) != has_index)
    report_violation(holds, "a quota is set without the reason quota, or the reverse", job, view->now_us);
  if (hold.until_us != HR_NEVER_US && hold.until_us <= view->now_us && hold.reason != HR_WAIT_REASON_TURN)
    report_violation(holds, "the job waits until a time in the past", job, view->now_us);
  check_room(holds, view, job, &hold);
}

static void on_instant(void *self, const struct hr_view *view) {
  struct holds *holds = self;
  for (uint32_t job = 0; job < view->jobs->n_jobs; job++)
    if (view->state[job] == HR_JOB_WAITING) check_reason(holds, view, (hr_job){job});
}

void holds_observers(struct holds *holds, struct hr_observer *observers) {
  observers[0] = hr_waits_observer(holds->grouped);
  observers[1] = hr_waits_observer(holds->each);
  observers[2] = (struct hr_observer){.self = holds, .on_instant = on_instant};
}

/* ---- Sums ------------------------------------------------------------------------------------------- */

static bool has_part(const struct hr_waits *waits, const struct hr_wait *wait, const struct hr_wait_part *part) {
  const struct hr_wait_part *parts = hr_waits_parts(waits, wait);
  for (uint32_t i = 0; i < wait->n_parts; i++)
    if (parts[i].reason == part->reason && parts[i].quota == part->quota && parts[i].us == part->us) return true;
  return false;
}

static void compare(struct holds *holds, const struct hr_wait *one, const struct hr_wait *other) {
  const struct hr_wait_part *parts = hr_waits_parts(holds->grouped, one);
  int64_t sum_us = 0;
  if (one->job.id != other->job.id || one->begin_us != other->begin_us || one->end_us != other->end_us ||
      one->n_parts != other->n_parts)
    report_violation(holds, "the wait differs from the wait recorded individually", one->job, one->begin_us);
  for (uint32_t i = 0; i < one->n_parts; i++) {
    sum_us += parts[i].us;
    if (!has_part(holds->each, other, &parts[i]))
      report_violation(holds, "a part of the wait differs from the individual record", one->job, one->begin_us);
  }
  if (sum_us != one->end_us - one->begin_us)
    report_violation(holds, "parts do not sum to the wait", one->job, one->begin_us);
}

/* Checks that the first wait is from the submission to the first start, and that the segments of a watched job
   (intervals with one wait reason) are together as long as all its waits. */
static void check_job(struct holds *holds, const struct hr_result *result, hr_job job) {
  const struct hr_wait *waits;
  const struct hr_wait_segment *segments;
  size_t n_waits = hr_waits_of(holds->grouped, job, &waits),
         n_segments = hr_waits_segments(holds->each, job, &segments);
  int64_t start_us = result->start_us[job.id], submit_us = holds->trace->submit_us[job.id];
  int64_t first_us = n_waits > 0 && waits[0].is_first ? waits[0].end_us - waits[0].begin_us : 0, all_us = 0,
          segments_us = 0;
  if (start_us != HR_NEVER_US && first_us != start_us - submit_us)
    report_violation(holds, "the first wait is not from submission to start", job, submit_us);
  for (size_t i = 0; i < n_waits; i++) all_us += waits[i].end_us - waits[i].begin_us;
  for (size_t i = 0; i < n_segments; i++) segments_us += segments[i].end_us - segments[i].begin_us;
  if (n_segments > 0 && segments_us != all_us)
    report_violation(holds, "segments do not sum to the waits", job, submit_us);
}

void holds_check_end(struct holds *holds, const struct hr_result *result) {
  const struct hr_wait *all, *each;
  if (hr_waits_close(holds->grouped, result) != HR_OK || hr_waits_close(holds->each, result) != HR_OK) abort();
  size_t count = hr_waits_all(holds->grouped, &all);
  if (count != hr_waits_all(holds->each, &each)) report_violation(holds, "the numbers of waits differ", (hr_job){0}, 0);
  for (size_t i = 0; i < count && !holds->fault[0]; i++) compare(holds, &all[i], &each[i]);
  for (uint32_t job = 0; job < holds->trace->n_jobs; job++) check_job(holds, result, (hr_job){job});
}
