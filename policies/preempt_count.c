/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preemption by order where only the count of GPUs matters: the outcome is that of taking all jobs, running and
 * waiting, in order, and running each that fits in what is left.
 *
 * What runs fits as it is, so the walk goes from one waiting job to the next, and of each shape only until one does not
 * fit: less is left for those behind it. On the way a pool's debt is what the jobs that start take beyond what is free.
 * A running job is passed over when less than the debt is held by running jobs behind it; it is stopped, and the debt
 * is less by its GPUs. A waiting job fits when what running jobs behind it hold, less the debt, is enough. With sums
 * over the tree of running jobs each step costs O(log n). The moves are made when the walk is over.
 *
 * A job that fits without a debt goes to the first such pool, another to the first in which it fits.
 */

#include "policies/preempt_count.h"

struct hr__start {
  struct hr__shape *shape;
  struct hr_job_entry entry;
  hr_pool pool;
  enum hr_reason reason;
};

/* Lists of the walk; they keep their room from pass to pass. */
struct hr__in_order {
  int64_t *debt; /* by pool: GPUs; negative: free */
  struct hr__walk *walks;
  struct hr__start *starts;
  hr_job *victims;
  uint32_t n_walks, walks_capacity, n_starts, starts_capacity, n_victims, victims_capacity;
};

static bool begin(struct hr__queue *queue) {
  struct hr__preemptor *preemptor = queue->preemptor;
  uint32_t n_pools = hr_cluster_pools(queue->cluster), n_shapes = queue->waiting.n_active;
  if (!preemptor->in_order) {
    preemptor->in_order = hr_arena_alloc(queue->arena, sizeof *preemptor->in_order);
    if (!preemptor->in_order) return false;
    preemptor->in_order->debt = hr_arena_alloc(queue->arena, n_pools * sizeof *preemptor->in_order->debt);
  }
  struct hr__in_order *walk = preemptor->in_order;
  while (n_shapes > walk->walks_capacity) {
    walk->walks = hr_arena_grown(queue->arena, walk->walks, &walk->walks_capacity, sizeof *walk->walks);
    if (!walk->walks) return false;
  }
  if (!walk->debt) return false;
  walk->n_walks = n_shapes;
  walk->n_starts = walk->n_victims = 0;
  for (uint32_t i = 0; i < n_pools; i++)
    walk->debt[i] = -(int64_t)(hr_cluster_free_milli(queue->cluster, (hr_pool){i}) / 1000);
  bool ok = true;
  for (uint32_t i = 0; i < n_shapes && ok; i++)
    ok = hr__walk_begin(&queue->waiting, hr__active_shape(&queue->waiting, i), &walk->walks[i]);
  return ok;
}

static struct hr__walk *first_walk(struct hr__in_order *walk) {
  struct hr__walk *first = &walk->walks[0];
  for (uint32_t i = 1; i < walk->n_walks; i++)
    if (hr__entry_before(walk->walks[i].entry, first->entry)) first = &walk->walks[i];
  return first;
}

/* Passes over running jobs of a pool up to the bound that do not fit any more. */
static bool pass_over(struct hr__queue *queue, uint32_t pool, int64_t bound) {
  struct hr__in_order *walk = queue->preemptor->in_order;
  const struct hr_job_tree *running = &queue->preemptor->running[pool];
  struct hr_job_entry victim;
  while (walk->debt[pool] > 0 && hr_job_tree_reach_entry(running, running->sum - walk->debt[pool] + 1, &victim) &&
         victim.key <= bound) {
    if (walk->n_victims == walk->victims_capacity) {
      walk->victims = hr_arena_grown(queue->arena, walk->victims, &walk->victims_capacity, sizeof *walk->victims);
      if (!walk->victims) return false;
    }
    walk->victims[walk->n_victims++] = victim.job;
    walk->debt[pool] -= victim.value;
  }
  return true;
}

/* The pool in which a job with `gpus` GPUs fits at its place in the order, HR_NONE; false: out of memory. */
static bool choose_pool(struct hr__queue *queue, hr_job job, int64_t bound, uint32_t *chosen) {
  const struct hr__in_order *walk = queue->preemptor->in_order;
  uint32_t n_pools = hr_cluster_pools(queue->cluster), accept_class = hr_cluster_accept_class(queue->cluster, job);
  int64_t gpus = hr__gpus(queue, job);
  *chosen = HR_NONE;
  for (uint32_t i = 0; i < n_pools; i++) {
    if (!hr_cluster_accepts(queue->cluster, accept_class, (hr_pool){i})) continue;
    if (!pass_over(queue, i, bound)) return false;
    const struct hr_job_tree *running = &queue->preemptor->running[i];
    bool is_free = walk->debt[i] + gpus <= 0;
    if (is_free) {
      *chosen = i;
      return true;
    }
    if (*chosen != HR_NONE || running->sum - walk->debt[i] < gpus) continue;
    if (running->sum - hr_job_tree_sum_to(running, bound) - walk->debt[i] >= gpus) *chosen = i;
  }
  return true;
}

static bool note_start(struct hr__queue *queue, const struct hr__walk *at, uint32_t pool, enum hr_reason reason) {
  struct hr__in_order *walk = queue->preemptor->in_order;
  if (walk->n_starts == walk->starts_capacity) {
    walk->starts = hr_arena_grown(queue->arena, walk->starts, &walk->starts_capacity, sizeof *walk->starts);
    if (!walk->starts) return false;
  }
  walk->debt[pool] += hr__gpus(queue, at->entry.job);
  walk->starts[walk->n_starts++] = (struct hr__start){at->shape, at->entry, {pool}, reason};
  return true;
}

/* Down the order, until each shape has come to a job that does not fit, or to its end. */
static bool walk_down(struct hr__queue *queue, const struct hr_view *view) {
  struct hr__in_order *walk = queue->preemptor->in_order;
  enum hr_reason reason = HR_REASON_IN_ORDER;
  while (walk->n_walks > 0) {
    struct hr__walk *at = first_walk(walk);
    hr_job job = at->entry.job;
    uint32_t pool = 0;
    if (hr__gpus(queue, job) > 0 &&
        !choose_pool(queue, job, queue->preemptor->terms.rule->bound(queue, view, at->entry), &pool))
      return false;
    if (pool != HR_NONE && !note_start(queue, at, pool, reason)) return false;
    if (pool == HR_NONE && !queue->backfill->passes_over) break;
    if (pool == HR_NONE) reason = HR_REASON_BACKFILL;
    if (pool != HR_NONE && hr__walk_on(&queue->waiting, at)) continue;
    if (!at->shape) return false;
    *at = walk->walks[--walk->n_walks];
  }
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++)
    if (!pass_over(queue, i, INT64_MAX)) return false;
  return true;
}

/* Whether there is another pool than the one where a job is. */
static bool has_several_pools(const struct hr_cluster *cluster) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < hr_cluster_pools(cluster); i++)
    count += hr_cluster_pool_spec(cluster, (hr_pool){i})->nodes > 0;
  return count > 1;
}

enum hr_status hr__preempt_by_count(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  if (!begin(queue) || !walk_down(queue, view)) return HR_NO_MEMORY;
  const struct hr__in_order *walk = queue->preemptor->in_order;
  enum hr_status status = HR_OK;
  queue->preemptor->looks_again = walk->n_victims > 0 && has_several_pools(queue->cluster);
  for (uint32_t i = 0; i < walk->n_victims && status == HR_OK; i++)
    status = hr__preemption_stop(queue, view, plan, walk->victims[i]);
  for (uint32_t i = 0; i < walk->n_starts && status == HR_OK; i++) {
    const struct hr__start *start = &walk->starts[i];
    struct hr_placement placement = {.pool = start->pool};
    status = hr__queue_start(queue, view, plan, start->shape, start->entry, &placement, start->reason);
  }
  return status;
}
