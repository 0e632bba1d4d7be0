/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Victims for a job that does not fit: those that may be stopped for it are stopped tentatively, one by one, until it
 * fits; then, in reverse, each is put back where it sat if the job still fits. What is left is needed to the last one.
 * All of it is rolled back, and the moves are made for good for those alone. One pool at a time: the first in which
 * enough could come free and the job can be placed.
 */

#include "policies/preemption.h"

#include <stdlib.h>

/* ---- Who comes first -------------------------------------------------------------------------------- */

static int latest_first(const struct hr__victim *a, const struct hr__victim *b) {
  if (a->begun_us != b->begun_us) return a->begun_us > b->begun_us ? -1 : 1;
  return a->job.id > b->job.id ? -1 : 1;
}

static int by_place_in_order(const void *left, const void *right) {
  const struct hr__victim *a = left, *b = right;
  if (a->key != b->key) return a->key > b->key ? -1 : 1;
  return latest_first(a, b);
}

static int by_loss(const void *left, const void *right) {
  const struct hr__victim *a = left, *b = right;
  if (a->lost_us != b->lost_us) return a->lost_us < b->lost_us ? -1 : 1;
  return latest_first(a, b);
}

static int by_age(const void *left, const void *right) {
  return latest_first(left, right);
}

static int by_priority(const void *left, const void *right) {
  const struct hr__victim *a = left, *b = right;
  if (a->priority != b->priority) return a->priority < b->priority ? -1 : 1;
  return latest_first(a, b);
}

static void sort_victims(struct hr__preemptor *preemptor) {
  static int (*const orders[])(const void *, const void *) = {[HR__VICTIMS_LAST] = by_place_in_order,
                                                              [HR__VICTIMS_LEAST_LOST] = by_loss,
                                                              [HR__VICTIMS_YOUNGEST] = by_age,
                                                              [HR__VICTIMS_LOWEST_PRIORITY] = by_priority};
  qsort(preemptor->victims, preemptor->n_victims, sizeof *preemptor->victims, orders[preemptor->terms.victims]);
}

/* ---- Who may be stopped ----------------------------------------------------------------------------- */

static bool make_room(struct hr__queue *queue, uint32_t n_slices) {
  struct hr__preemptor *preemptor = queue->preemptor;
  while (preemptor->n_slices + n_slices > preemptor->slices_capacity) {
    preemptor->slices =
        hr_arena_grown(queue->arena, preemptor->slices, &preemptor->slices_capacity, sizeof *preemptor->slices);
    if (!preemptor->slices) return false;
  }
  if (preemptor->n_victims < preemptor->victims_capacity) return true;
  preemptor->victims =
      hr_arena_grown(queue->arena, preemptor->victims, &preemptor->victims_capacity, sizeof *preemptor->victims);
  return preemptor->victims != NULL;
}

/* Its slices are noted by where they begin: the list may still move. */
static bool add_victim(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry entry) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr_slice one;
  hr_job job = entry.job;
  struct hr_placement placement = hr_view_placement(view, job, &one);
  if (!make_room(queue, placement.n_slices)) return false;
  int64_t lost_us = hr__preemption_keeps(queue, job) ? 0 : hr_view_done_us(view, job) - view->kept_us[job.id];
  preemptor->victims[preemptor->n_victims++] =
      (struct hr__victim){.job = job,
                          .key = entry.key,
                          .lost_us = lost_us * hr__gpus(queue, job),
                          .begun_us = view->attempt_us[job.id],
                          .priority = queue->trace->priority ? queue->trace->priority[job.id] : 0,
                          .pool = placement.pool,
                          .n_slices = placement.n_slices,
                          .first_slice = preemptor->n_slices};
  for (uint32_t i = 0; i < placement.n_slices; i++) preemptor->slices[preemptor->n_slices++] = placement.slices[i];
  return true;
}

/* Lists those of one pool whose key is above the bound. One that has only just started is not stopped. */
static bool gather(struct hr__queue *queue, const struct hr_view *view, uint32_t pool, int64_t bound) {
  struct hr__preemptor *preemptor = queue->preemptor;
  const struct hr_job_tree *running = &preemptor->running[pool];
  struct hr_job_entry entry = {bound, {UINT32_MAX}, 0};
  preemptor->n_victims = preemptor->n_slices = 0;
  while (hr_job_tree_next(running, entry.key, entry.job, INT64_MAX, &entry))
    if (view->attempt_us[entry.job.id] < view->now_us && !add_victim(queue, view, entry)) return false;
  sort_victims(preemptor);
  return true;
}

/* ---- How many are needed ---------------------------------------------------------------------------- */

static bool fits(struct hr__queue *queue, hr_job job, struct hr_placement *placement) {
  return hr__shape_fits(queue, hr__gpus(queue, job), hr_cluster_accept_class(queue->cluster, job), placement);
}

static enum hr_status put_back(struct hr__preemptor *preemptor, struct hr_plan *plan, const struct hr__victim *victim) {
  struct hr_placement placement = {victim->pool, victim->n_slices, preemptor->slices + victim->first_slice};
  return hr_plan_start(plan, victim->job, &placement, HR_REASON_NONE);
}

/* Stops victims tentatively until the job fits; how many it took in `count`, 0 when all are not enough. */
static enum hr_status stop_until_fits(struct hr__queue *queue, struct hr_plan *plan, hr_job job, uint32_t *count) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr_placement placement;
  *count = 0;
  for (uint32_t i = 0; i < preemptor->n_victims; i++) {
    enum hr_status status = hr_plan_preempt(plan, preemptor->victims[i].job, HR_REASON_PREEMPTED);
    if (status != HR_OK) return status;
    if (!fits(queue, job, &placement)) continue;
    *count = i + 1;
    return HR_OK;
  }
  return HR_OK;
}

/* Of the first `count` victims, all stopped, keeps those that are needed. The last one is. */
static enum hr_status add_back(struct hr__queue *queue, struct hr_plan *plan, hr_job job, uint32_t count) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr_placement placement;
  preemptor->victims[count - 1].needed = true;
  for (uint32_t i = count - 1; i-- > 0;) {
    uint32_t mark = hr_plan_mark(plan);
    enum hr_status status = put_back(preemptor, plan, &preemptor->victims[i]);
    if (status != HR_OK) return status;
    preemptor->victims[i].needed = !fits(queue, job, &placement);
    if (preemptor->victims[i].needed) hr_plan_rollback(plan, mark);
  }
  return HR_OK;
}

/* ---- The search ------------------------------------------------------------------------------------- */

static bool could_suffice(const struct hr__queue *queue, uint32_t pool, uint32_t gpus, int64_t bound) {
  const struct hr_job_tree *running = &queue->preemptor->running[pool];
  uint64_t free = hr_cluster_free_milli(queue->cluster, (hr_pool){pool}) / 1000;
  if (free + (uint64_t)running->sum < gpus) return false;
  return free + (uint64_t)(running->sum - hr_job_tree_sum_to(running, bound)) >= gpus;
}

/* Looks for victims in one pool; `count` as in stop_until_fits, the needed ones marked. All moves are rolled back. */
static enum hr_status search_pool(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan, hr_job job,
                                  uint32_t pool, int64_t bound, uint32_t *count) {
  if (!gather(queue, view, pool, bound)) return HR_NO_MEMORY;
  uint32_t mark = hr_plan_mark(plan);
  enum hr_status status = stop_until_fits(queue, plan, job, count);
  if (status == HR_OK && *count) status = add_back(queue, plan, job, *count);
  if (status == HR_OK) hr_plan_rollback(plan, mark);
  return status;
}

static enum hr_status stop_needed(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                                  uint32_t count) {
  const struct hr__preemptor *preemptor = queue->preemptor;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < count && status == HR_OK; i++)
    if (preemptor->victims[i].needed) status = hr__preemption_stop(queue, view, plan, preemptor->victims[i].job);
  return status;
}

enum hr_status hr__preempt_victims(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                                   struct hr__shape *shape, bool *started) {
  struct hr_job_entry head = shape->head;
  int64_t bound = queue->preemptor->terms.rule->bound(queue, view, head);
  uint32_t accept_class = hr_cluster_accept_class(queue->cluster, head.job), gpus = hr__gpus(queue, head.job);
  enum hr_status status = HR_OK;
  uint32_t count = 0;
  *started = false;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster) && status == HR_OK && count == 0; i++)
    if (hr_cluster_accepts(queue->cluster, accept_class, (hr_pool){i}) && could_suffice(queue, i, gpus, bound))
      status = search_pool(queue, view, plan, head.job, i, bound, &count);
  if (status != HR_OK || count == 0) return status;
  struct hr_placement placement;
  status = stop_needed(queue, view, plan, count);
  if (status != HR_OK) return status;
  if (!fits(queue, head.job, &placement)) return HR_INTERNAL;
  *started = true;
  return hr__queue_start(queue, view, plan, shape, head, &placement, HR_REASON_IN_ORDER);
}
