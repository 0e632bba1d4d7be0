/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Victims for a job that does not fit. */

#include "policies/queue/preemption/victims.h"

#include "headroom/policy_kit.h"
#include "policies/queue/preemption/preemption.h"
#include "policies/queue/quota/quota.h"

#include <stdlib.h>
#include <string.h>

/* Chooses victims until it does; whether it was started. */
static enum hr_status hr__preempt_victims(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan,
                                          struct hr__shape *shape, struct hr_job_entry head, enum hr_reason reason,
                                          bool *started);

/* By count, with keys that say who comes first: exactly as if all jobs were placed in order. */

static enum hr_status hr__preempt_by_count(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan);

/*
 * Victims for a job that does not fit: those that may be stopped for it are stopped tentatively, one by one, until it
 * fits; then, in reverse, each is put back where it sat if the job still fits. What is left is needed to the last one.
 * All of it is rolled back, and the moves are made for good for those alone. One pool at a time: the first in which
 * enough could come free and the job can be placed.
 */

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
  if (preemptor->n_victims > 1) /* there may be no list yet */
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

/* Whether a job has a node that nothing more starts on: it could not be put back, and will be stopped anyhow. */
static bool is_leaving(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr_slice one;
  if (!hr_cluster_changes(queue->cluster)) return false;
  struct hr_placement placement = hr_view_placement(view, job, &one);
  for (uint32_t i = 0; i < placement.n_slices; i++)
    if (hr_cluster_node_state(queue->cluster, placement.slices[i].node) != HR_NODE_UP) return true;
  return false;
}

/* Whether a running job may be stopped for one that waits. One that has only just started may not. */
static bool is_fair_game(struct hr__queue *queue, const struct hr_view *view, hr_job job, hr_job victim) {
  bool just_started = view->attempt_us[victim.id] == view->now_us;
  queue->preemptor->looks_again = queue->preemptor->looks_again || just_started;
  if (just_started || is_leaving(queue, view, victim)) return false;
  return !queue->preemptor->terms.rule->by_quota || hr__quota_may_reclaim(queue, job, victim);
}

/* A look at those of one pool whose key is above a bound, for a job that waits. */
struct look {
  struct hr__queue *queue;
  const struct hr_view *view;
  hr_job job;
  int64_t bound;
  bool failed; /* out of memory */
  /* Of a look for room. */
  const struct hr_free_index *index;
  uint32_t first_node, size, whole, whole_needed;
  bool is_single, enough;
};

static bool list_one(void *self, struct hr_job_entry entry) {
  struct look *look = self;
  if (!is_fair_game(look->queue, look->view, look->job, entry.job)) return true;
  look->failed = !add_victim(look->queue, look->view, entry);
  return !look->failed;
}

static bool gather(struct look *look, uint32_t pool) {
  struct hr__preemptor *preemptor = look->queue->preemptor;
  preemptor->n_victims = preemptor->n_slices = 0;
  hr_job_tree_each_after(&preemptor->running[pool], look->bound, (hr_job){UINT32_MAX}, list_one, look);
  sort_victims(preemptor);
  return !look->failed;
}

/* ---- Whether all together could be enough ----------------------------------------------------------- */

/* What would come free on a node, with what is: enough for the job if it sits on one, else one more whole node. */
static bool add_room(void *self, struct hr_job_entry entry) {
  struct look *look = self;
  struct hr_slice one;
  if (!is_fair_game(look->queue, look->view, look->job, entry.job)) return true;
  struct hr_placement placement = hr_view_placement(look->view, entry.job, &one);
  for (uint32_t i = 0; i < placement.n_slices && !look->enough; i++) {
    uint32_t node = placement.slices[i].node.id - look->first_node;
    uint32_t *gain = &look->queue->preemptor->gain[node];
    *gain += placement.slices[i].gpu_milli / 1000;
    uint32_t room = hr_free_index_get(look->index, node) + *gain;
    look->whole += room == look->size;
    look->enough = look->is_single ? room >= hr__gpus(look->queue, look->job) : look->whole >= look->whole_needed;
  }
  return !look->enough;
}

/* False: it could not fit if all were stopped. By nodes; where only the count matters it has been asked before. */
static bool has_room(struct look *look, uint32_t pool) {
  struct hr__queue *queue = look->queue;
  uint32_t gpus = hr__gpus(queue, look->job), accept_class = hr_cluster_accept_class(queue->cluster, look->job);
  if (queue->rule == HR_PLACE_POOL) return true;
  look->index = hr_cluster_free_index(queue->cluster, (hr_pool){pool});
  look->first_node = hr_cluster_first_node(queue->cluster, (hr_pool){pool}).id;
  look->size = hr_free_index_gpus_per_node(look->index);
  look->is_single = hr_placer_is_single(queue->placer, gpus, accept_class);
  if (look->is_single && gpus > look->size) return false;
  look->whole = hr_free_index_count(look->index, look->size);
  look->whole_needed = gpus / look->size;
  look->enough = !look->is_single && look->whole >= look->whole_needed;
  memset(queue->preemptor->gain, 0, hr_free_index_nodes(look->index) * sizeof *queue->preemptor->gain);
  hr_job_tree_each_after(&queue->preemptor->running[pool], look->bound, (hr_job){UINT32_MAX}, add_room, look);
  return look->enough;
}

/* ---- How many are needed ---------------------------------------------------------------------------- */

static bool fits(struct hr__queue *queue, hr_job job, struct hr_placement *placement) {
  return hr__quota_allows(queue, job) && hr__fits(queue, hr__gpus(queue, job), hr__kind(queue, job), placement);
}

static enum hr_status stop_tentatively(struct hr__queue *queue, struct hr_moves *plan, struct hr__victim *victim) {
  enum hr_status status = hr_moves_preempt(plan, victim->job, HR_REASON_PREEMPTED);
  victim->needed = true;
  if (status == HR_OK) hr__quota_leave_out(queue, victim->job);
  return status;
}

static enum hr_status put_back(struct hr__queue *queue, struct hr_moves *plan, struct hr__victim *victim) {
  const struct hr_slice *slices = victim->n_slices > 0 ? queue->preemptor->slices + victim->first_slice : NULL;
  struct hr_placement placement = {victim->pool, victim->n_slices, slices};
  enum hr_status status = hr_moves_start(plan, victim->job, &placement, HR_REASON_NONE);
  victim->needed = false;
  if (status == HR_OK) hr__quota_put_back(queue, victim->job);
  return status;
}

/* Stops victims tentatively until the job fits; whether it does. Under quotas each may make the next one no fair game.
 */
static enum hr_status stop_until_fits(struct hr__queue *queue, struct hr_moves *plan, hr_job job, bool *found) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr_placement placement;
  *found = false;
  for (uint32_t i = 0; i < preemptor->n_victims && !*found; i++) {
    struct hr__victim *victim = &preemptor->victims[i];
    if (preemptor->terms.rule->by_quota && !hr__quota_may_reclaim(queue, job, victim->job)) continue;
    enum hr_status status = stop_tentatively(queue, plan, victim);
    if (status != HR_OK) return status;
    *found = fits(queue, job, &placement);
  }
  return HR_OK;
}

/* In reverse, puts back each that was stopped if the job fits all the same. */
static enum hr_status add_back(struct hr__queue *queue, struct hr_moves *plan, hr_job job) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr_placement placement;
  for (uint32_t i = preemptor->n_victims; i-- > 0;) {
    struct hr__victim *victim = &preemptor->victims[i];
    if (!victim->needed) continue;
    uint32_t mark = hr_moves_mark(plan);
    enum hr_status status = put_back(queue, plan, victim);
    if (status != HR_OK) return status;
    if (fits(queue, job, &placement)) continue;
    hr_moves_rollback(plan, mark);
    hr__quota_leave_out(queue, victim->job);
    victim->needed = true;
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

/* Looks for victims in one pool; the needed ones are then marked. All that was tried is undone. */
static enum hr_status search_pool(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan,
                                  hr_job job, uint32_t pool, int64_t bound, bool *found) {
  struct look look = {.queue = queue, .view = view, .job = job, .bound = bound};
  if (!has_room(&look, pool)) return HR_OK;
  if (!gather(&look, pool)) return HR_NO_MEMORY;
  const struct hr__preemptor *preemptor = queue->preemptor;
  uint32_t mark = hr_moves_mark(plan);
  enum hr_status status = stop_until_fits(queue, plan, job, found);
  if (status == HR_OK && *found) status = add_back(queue, plan, job);
  if (status != HR_OK) return status;
  hr_moves_rollback(plan, mark);
  for (uint32_t i = 0; i < preemptor->n_victims; i++)
    if (preemptor->victims[i].needed) hr__quota_put_back(queue, preemptor->victims[i].job);
  return HR_OK;
}

static enum hr_status stop_needed(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan) {
  const struct hr__preemptor *preemptor = queue->preemptor;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < preemptor->n_victims && status == HR_OK; i++)
    if (preemptor->victims[i].needed) status = hr__preemption_stop(queue, view, plan, preemptor->victims[i].job);
  return status;
}

/* The job starts when all have left; until then nobody else is stopped. */
static enum hr_status warn_needed(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan,
                                  hr_job job) {
  const struct hr__preemptor *preemptor = queue->preemptor;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < preemptor->n_victims && status == HR_OK; i++)
    if (preemptor->victims[i].needed) status = hr__preemption_warn(queue, view, plan, preemptor->victims[i].job, job);
  return status;
}

static enum hr_status hr__preempt_victims(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan,
                                          struct hr__shape *shape, struct hr_job_entry head, enum hr_reason reason,
                                          bool *started) {
  int64_t bound = queue->preemptor->terms.rule->bound(queue, view, head);
  uint32_t accept_class = hr_cluster_accept_class(queue->cluster, head.job), gpus = hr__gpus(queue, head.job);
  enum hr_status status = HR_OK;
  bool found = false;
  *started = false;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster) && status == HR_OK && !found; i++)
    if (hr_cluster_accepts(queue->cluster, accept_class, (hr_pool){i}) && could_suffice(queue, i, gpus, bound))
      status = search_pool(queue, view, plan, head.job, i, bound, &found);
  if (status != HR_OK || !found) return status;
  if (queue->preemptor->terms.grace_us > 0) return warn_needed(queue, view, plan, head.job);
  struct hr_placement placement;
  status = stop_needed(queue, view, plan);
  if (status != HR_OK) return status;
  if (!fits(queue, head.job, &placement)) return HR_INTERNAL;
  *started = true;
  return hr__queue_start(queue, view, plan, shape, head, &placement, reason);
}

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

static enum hr_status hr__preempt_by_count(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan) {
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

/* Waiting jobs in order, each started where it fits, or where others can be stopped for it. Where the order says it all
   and only the count of GPUs matters, the whole pass is one walk (preempt_count.c). */

/* Who may start next: the first job of a shape, or of a lane whose shape's first job was refused, as others may be
   stopped for it; or of one that quotas hold back. */
struct next {
  struct hr__shape *shape; /* NULL: nobody */
  struct hr_job_entry entry;
  struct hr__subqueue *subqueue; /* NULL where there are none */
};

static void consider(struct next *next, struct hr__shape *shape, struct hr_job_entry entry,
                     struct hr__subqueue *subqueue) {
  if (next->shape && !hr__entry_before(entry, next->entry)) return;
  *next = (struct next){shape, entry, subqueue};
}

static void consider_shape(const struct hr__queue *queue, struct hr__shape *shape, struct next *next) {
  uint32_t pass = queue->preemptor->n_passes;
  struct hr__subqueue *subqueue = hr__waiting_first_subqueue(&queue->waiting, shape);
  if (shape->refused != pass) {
    consider(next, shape, shape->head, subqueue);
    return;
  }
  while (subqueue && subqueue->refused == pass) subqueue = hr__waiting_next_subqueue(&queue->waiting, subqueue);
  if (subqueue) consider(next, shape, subqueue->listed, subqueue);
}

/* Lanes that are parked come in order, too: those whose turn it is, and those behind the first job of a shape that was
   refused. */
static bool may_be_next(const struct hr__queue *queue, const struct hr__subqueue *subqueue) {
  const struct hr__shape *shape = subqueue->shape;
  uint32_t pass = queue->preemptor->n_passes;
  if (subqueue->refused == pass) return false;
  if (hr__quota_is_turn(queue, subqueue->head.job)) return true;
  bool is_active = shape->active_at[queue->waiting.preferred_only] != HR_NONE;
  return is_active && shape->refused == pass && hr__entry_before(shape->head, subqueue->listed);
}

static struct next next_in_order(struct hr__queue *queue) {
  const struct hr__waiting *waiting = &queue->waiting;
  struct next next = {0};
  for (uint32_t i = 0; i < waiting->n_active; i++) consider_shape(queue, hr__active_shape(waiting, i), &next);
  for (uint32_t i = 0; i < waiting->n_parked; i++) {
    struct hr__subqueue *subqueue = waiting->parked[i];
    if (may_be_next(queue, subqueue)) consider(&next, subqueue->shape, subqueue->listed, subqueue);
  }
  return next;
}

/* Starts a job, or stops others for it. */
static enum hr_status try_job(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan,
                              const struct next *next, enum hr_reason reason, bool allowed, bool *started) {
  hr_job job = next->entry.job;
  struct hr_placement placement;
  *started = allowed && hr__fits(queue, hr__gpus(queue, job), hr__kind(queue, job), &placement);
  if (!*started) return hr__preempt_victims(queue, view, plan, next->shape, next->entry, reason, started);
  return hr__queue_start(queue, view, plan, next->shape, next->entry, &placement, reason);
}

static enum hr_status pass_on_nodes(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan) {
  struct hr__preemptor *preemptor = queue->preemptor;
  enum hr_status status = HR_OK;
  enum hr_reason reason = HR_REASON_IN_ORDER;
  preemptor->n_passes++;
  for (struct next next; status == HR_OK && (next = next_in_order(queue)).shape;) {
    bool started, allowed = hr__quota_allows(queue, next.entry.job);
    status = try_job(queue, view, plan, &next, reason, allowed, &started);
    if (hr__preemption_holds(queue)) break;
    if (started) continue;
    if (next.subqueue) next.subqueue->refused = preemptor->n_passes;
    if (allowed) next.shape->refused = preemptor->n_passes;
    if (allowed && !queue->backfill->passes_over) break;
    reason = HR_REASON_BACKFILL;
  }
  return status;
}

static enum hr_status keep_promise(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan) {
  struct hr__preemptor *preemptor = queue->preemptor;
  hr_job job = preemptor->promised;
  struct hr_placement placement;
  if (job.id == HR_NONE) return HR_OK;
  bool fits = hr__quota_allows(queue, job) && hr__fits(queue, hr__gpus(queue, job), hr__kind(queue, job), &placement);
  if (fits || preemptor->n_leaving == 0) preemptor->promised = (hr_job){HR_NONE};
  return fits ? hr__queue_start_job(queue, view, plan, job, &placement, HR_REASON_IN_ORDER) : HR_OK;
}

enum hr_status hr__preempt_begin_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan) {
  enum hr_status status = hr__preemption_end_sparing(queue, view);
  return status == HR_OK ? keep_promise(queue, view, plan) : status;
}

enum hr_status hr__preempt_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan) {
  const struct hr__preemption_terms *terms = &queue->preemptor->terms;
  bool by_count = terms->rule->by_order && queue->rule == HR_PLACE_POOL && !queue->quota && terms->grace_us == 0;
  if (view->n_waiting == 0) return HR_OK;
  return by_count ? hr__preempt_by_count(queue, view, plan) : pass_on_nodes(queue, view, plan);
}
