/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elastic jobs of the `queue` policy (parameters `elastic` and `recovery`), with counted allocation by node only.
 *
 *   start   If the first job in order does not fit, it starts with as many GPUs as fit, at least `min_gpus`.
 *   grow    If no job waits, running jobs get free GPUs, up to `max_gpus`, in the order in which they started. A job
 *           keeps its GPUs and gets others of the same pool: first on its own nodes, then whole idle nodes, then a part
 *           of one more node.
 *   shrink  If the first job in order does not even fit with `min_gpus`, running jobs return GPUs, beginning with the
 *           job that started last. They return the GPUs above their request or, if these do not suffice, those above
 *           `min_gpus`. The last of these jobs returns as few GPUs as necessary.
 *
 * With recovery by shrinking, the engine removes failed nodes from the placement of a running job. Such a job gets free
 * GPUs before waiting jobs do, until it has again as many GPUs as it requests.
 *
 * Data: the running elastic jobs, in the order in which they started. Jobs are tried with fewer GPUs by moves that are
 * rolled back, so the engine checks every state that is considered.
 */

#include "policies/queue/dispatch.h"

#include <string.h>

enum { MILLI = 1000 };

struct elastic_job {
  hr_job job;
  bool lost_nodes; /* the engine removed failed nodes from the job, and the job still has fewer GPUs than it requests */
};

/* The number of GPUs that a running job returns. */
struct elastic_gift {
  hr_job job;
  uint32_t gpus;
};

struct hr__elastic {
  enum hr__elastic_level level;
  enum hr__recovery recovery;
  struct elastic_job *running; /* in the order in which they started */
  uint32_t count, capacity, n_lost;
  struct hr_slice *slices; /* scratch: the slices of a new placement */
  uint32_t slices_capacity;
  struct hr__place before;   /* scratch: the placement that it replaces */
  struct elastic_gift *back; /* scratch */
  uint32_t back_capacity;
};

static bool is_elastic(const struct hr__queue *queue, hr_job job) {
  struct hr_sizes sizes = hr_cluster_sizes(queue->cluster, job);
  return sizes.min < sizes.max;
}

static uint32_t gpus_of(const struct hr__queue *queue, hr_job job, const struct hr_placement *placement) {
  return (uint32_t)(hr_placement_milli(placement, queue->trace, job) / MILLI);
}

/* ---- The running jobs ---- */

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  struct hr__elastic *elastic = queue->elastic;
  (void)view, (void)placement;
  if (!is_elastic(queue, job)) return HR_OK;
  if (!HR__ARENA_HAS_ROOM(queue->arena, elastic->running, elastic->count, elastic->capacity)) return HR_NO_MEMORY;
  elastic->running[elastic->count++] = (struct elastic_job){.job = job};
  return HR_OK;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  struct hr__elastic *elastic = queue->elastic;
  (void)view;
  uint32_t at = 0;
  while (at < elastic->count && elastic->running[at].job.id != event->job.id) at++;
  if (at == elastic->count) return HR_OK;
  elastic->n_lost -= elastic->running[at].lost_nodes;
  elastic->count--;
  memmove(elastic->running + at, elastic->running + at + 1, (elastic->count - at) * sizeof *elastic->running);
  return HR_OK;
}

static const struct hr__listener listener = {.job_starts = job_starts, .job_stops = job_stops};

enum hr_status hr__elastic_create(struct hr__queue *queue, enum hr__elastic_level level, enum hr__recovery recovery) {
  if (level == HR__ELASTIC_OFF && recovery == HR__RECOVERY_REQUEUE) return HR_OK;
  if (!queue->trace->min_gpus && !queue->trace->max_gpus) return HR_OK;
  queue->elastic = hr_arena_alloc(queue->arena, sizeof *queue->elastic);
  if (!queue->elastic) return HR_NO_MEMORY;
  *queue->elastic = (struct hr__elastic){.level = level, .recovery = recovery};
  queue->stops = true;
  hr__queue_add_listener(queue, &listener);
  return HR_OK;
}

uint32_t hr__elastic_abilities(const struct hr__queue *queue) {
  if (!queue->elastic) return 0;
  bool shrinks = queue->elastic->recovery == HR__RECOVERY_SHRINK;
  return HR_POLICY_RESIZES | (shrinks ? (uint32_t)HR_POLICY_SHRINKS : 0);
}

enum hr_status hr__elastic_job_shrank(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                      const struct hr_placement *from) {
  struct hr__elastic *elastic = queue->elastic;
  struct hr_slice one;
  struct hr_placement to = hr_view_placement(view, job, &one);
  uint32_t at = 0;
  while (elastic->running[at].job.id != job.id) at++;
  bool lacks = gpus_of(queue, job, &to) < hr__gpus(queue, job);
  if (lacks && !elastic->running[at].lost_nodes) {
    elastic->running[at].lost_nodes = true;
    elastic->n_lost++;
  }
  queue->freed = true;
  return hr__queue_job_moves(queue, view, job, from, &to);
}

/* ---- Resizes ---- */

/* Returns whether the present GPUs of a job can be part of another placement. This is the case if all its nodes are
   up. */
static bool may_resize(const struct hr__queue *queue, const struct hr_placement *placement) {
  for (uint32_t i = 0; i < placement->n_slices; i++)
    if (hr_cluster_node_state(queue->cluster, placement->slices[i].node) != HR_NODE_UP) return false;
  return placement->n_slices > 0;
}

/* Copies the slices of a placement to memory of the module, with room for `more` slices. False: out of memory. */
static bool copy(struct hr__queue *queue, const struct hr_placement *placement, uint32_t more) {
  struct hr__elastic *elastic = queue->elastic;
  if (!HR__ARENA_HAS_ROOM_FOR(queue->arena, elastic->slices, placement->n_slices + more, elastic->slices_capacity))
    return false;
  memcpy(elastic->slices, placement->slices, placement->n_slices * sizeof *elastic->slices);
  return true;
}

/* Moves a running job to the placement `to`, which has the slices in elastic->slices. Notifies the other modules only
   if `is_final`; a caller that may roll the move back passes false. */
static enum hr_status resize(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, hr_job job,
                             struct hr_placement to, bool is_final) {
  struct hr__elastic *elastic = queue->elastic;
  struct hr_slice one;
  struct hr_placement from = hr_view_placement(view, job, &one);
  /* the view's placement is valid until the next move */
  if (!hr__place_set(&elastic->before, queue->arena, &from)) return HR_NO_MEMORY;
  enum hr_status status = hr_moves_resize(moves, job, &to);
  return status == HR_OK && is_final ? hr__queue_job_moves(queue, view, job, &elastic->before.placement, &to) : status;
}

/* ---- Growth ---- */

/* Adds up to `more` free GPUs of the job's own nodes to `slices`. Returns how many GPUs are still missing. */
static uint32_t add_on_own(const struct hr__queue *queue, const struct hr_placement *placement, struct hr_slice *slices,
                           uint32_t more) {
  const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, placement->pool);
  uint32_t first = hr_cluster_first_node(queue->cluster, placement->pool).id;
  for (uint32_t i = 0; i < placement->n_slices && more > 0; i++) {
    uint32_t free = hr_free_index_get(index, slices[i].node.id - first), add = free < more ? free : more;
    slices[i].gpu_milli += add * MILLI;
    more -= add;
  }
  return more;
}

/* Returns a slice of `gpus` GPUs on a node of the pool with at least `gpus` free GPUs. Of these nodes, those with the
   fewest free GPUs are considered; the first of them from index `from` on is selected. Such a node must exist. */
static struct hr_slice slice_on(const struct hr__queue *queue, hr_pool pool, uint32_t gpus, uint32_t from) {
  const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, pool);
  uint32_t number = hr_free_index_node(index, hr_free_index_lowest(index, gpus), from);
  return (struct hr_slice){{hr_cluster_first_node(queue->cluster, pool).id + number}, gpus * MILLI, 0, {0}};
}

/* Adds up to `more` free GPUs of other nodes to `slices`: idle nodes, and then a part of one node. Returns how many
   GPUs are missing. `gpus`: number of GPUs of the placement so far. No part of another node is added if the job would
   still fit on one node. */
static uint32_t add_nodes(const struct hr__queue *queue, struct hr_placement *placement, struct hr_slice *slices,
                          uint32_t gpus, uint32_t more) {
  const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, placement->pool);
  uint32_t size = hr_free_index_gpus_per_node(index), from = 0, idle = hr_free_index_count(index, size);
  for (; more >= size && idle > 0; idle--) {
    struct hr_slice slice = slice_on(queue, placement->pool, size, from);
    slices[placement->n_slices++] = slice;
    from = slice.node.id - hr_cluster_first_node(queue->cluster, placement->pool).id + 1;
    gpus += size;
    more -= size;
  }
  uint32_t most = hr_free_index_highest(index), rest = more < size ? more : size;
  if (rest > most) rest = most;
  bool is_taken = rest == size && idle == 0; /* the nodes with that many free GPUs were just added */
  if (rest == 0 || is_taken || gpus + rest <= size) return more;
  struct hr_slice slice = slice_on(queue, placement->pool, rest, 0);
  for (uint32_t i = 0; i < placement->n_slices; i++)
    if (slices[i].node.id == slice.node.id) return more; /* already added; its GPUs are counted as free */
  slices[placement->n_slices++] = slice;
  return more - rest;
}

/* Removes `gpus` GPUs from the end of a placement. */
static void drop(struct hr_placement *placement, struct hr_slice *slices, uint32_t gpus) {
  for (; gpus > 0; placement->n_slices--) {
    struct hr_slice *last = &slices[placement->n_slices - 1];
    if (last->gpu_milli > gpus * MILLI) {
      last->gpu_milli -= gpus * MILLI;
      return;
    }
    gpus -= last->gpu_milli / MILLI;
  }
}

/* Increases the number of GPUs of a running job to at most `most`, in whole steps of the job. */
static enum hr_status grow_job(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, hr_job job,
                               uint32_t most) {
  struct hr__elastic *elastic = queue->elastic;
  struct hr_sizes sizes = hr_cluster_sizes(queue->cluster, job);
  struct hr_slice one;
  struct hr_placement placement = hr_view_placement(view, job, &one);
  uint32_t gpus = gpus_of(queue, job, &placement);
  uint64_t free = hr_cluster_free_milli(queue->cluster, placement.pool) / MILLI;
  if (most > sizes.max) most = sizes.max;
  uint32_t more = most > gpus ? most - gpus : 0,
           size = hr_cluster_pool_spec(queue->cluster, placement.pool)->gpus_per_node;
  if (more > free) more = (uint32_t)free;
  if (sizes.step == 0 || more < sizes.step || !may_resize(queue, &placement)) return HR_OK;
  if (!copy(queue, &placement, more / size + 2)) return HR_NO_MEMORY;
  uint32_t wanted = more;
  more = add_on_own(queue, &placement, elastic->slices, more);
  if (more > 0) more = add_nodes(queue, &placement, elastic->slices, gpus + wanted - more, more);
  uint32_t odd = (gpus + wanted - more) % sizes.step;
  drop(&placement, elastic->slices, odd);
  if (wanted - more - odd == 0 || wanted - more < odd) return HR_OK;
  placement.slices = elastic->slices;
  return resize(queue, view, moves, job, placement, true);
}

enum hr_status hr__elastic_restore(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__elastic *elastic = queue->elastic;
  enum hr_status status = HR_OK;
  if (elastic->n_lost == 0) return HR_OK;
  for (uint32_t i = 0; i < elastic->count && status == HR_OK; i++) {
    struct elastic_job *each = &elastic->running[i];
    if (!each->lost_nodes) continue;
    status = grow_job(queue, view, moves, each->job, hr__gpus(queue, each->job));
    struct hr_slice one;
    struct hr_placement placement = hr_view_placement(view, each->job, &one);
    each->lost_nodes = gpus_of(queue, each->job, &placement) < hr__gpus(queue, each->job);
    elastic->n_lost -= !each->lost_nodes;
  }
  return status;
}

enum hr_status hr__elastic_grow(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  const struct hr__elastic *elastic = queue->elastic;
  enum hr_status status = HR_OK;
  if (elastic->level < HR__ELASTIC_GROW || view->n_waiting > 0) return HR_OK;
  for (uint32_t i = 0; i < elastic->count && status == HR_OK; i++)
    status = grow_job(queue, view, moves, elastic->running[i].job, UINT32_MAX);
  return status;
}

/* ---- Jobs that start with fewer GPUs ---- */

/* Finds a placement for a waiting job with as many GPUs as fit, but at most the number that it requests. False: not
   even its minimum fits. */
static bool find_fewer(const struct hr__queue *queue, hr_job job, struct hr_placement *placement) {
  struct hr_sizes sizes = hr_cluster_sizes(queue->cluster, job);
  uint64_t most_milli = 0;
  uint32_t gpus = hr__gpus(queue, job), kind = hr__kind(queue, job);
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    uint64_t free_milli = hr_cluster_free_milli(queue->cluster, (hr_pool){i});
    if (free_milli > most_milli) most_milli = free_milli;
  }
  if (gpus > most_milli / MILLI) gpus = (uint32_t)(most_milli / MILLI);
  for (gpus -= gpus % sizes.step; gpus >= sizes.min && gpus > 0; gpus -= sizes.step)
    if (hr__fits(queue, gpus, kind, placement)) return true;
  return false;
}

/* Reduces the GPUs of a running job by `less`. `is_final`: see resize. */
static enum hr_status take_from(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, hr_job job,
                                uint32_t less, bool is_final) {
  struct hr__elastic *elastic = queue->elastic;
  struct hr_slice one;
  struct hr_placement placement = hr_view_placement(view, job, &one);
  if (!copy(queue, &placement, 0)) return HR_NO_MEMORY;
  drop(&placement, elastic->slices, less);
  placement.slices = elastic->slices;
  return resize(queue, view, moves, job, placement, is_final);
}

/* Returns how many GPUs a running job may return: if `to_min`, those above `min_gpus`, else those above its request. 0
   if the job has started at this instant, or if one of its nodes is not up. */
static uint32_t excess(const struct hr__queue *queue, const struct hr_view *view, hr_job job, bool to_min) {
  struct hr_slice one;
  struct hr_placement placement = hr_view_placement(view, job, &one);
  uint32_t least = to_min ? hr_cluster_sizes(queue->cluster, job).min : hr__gpus(queue, job);
  uint32_t gpus = gpus_of(queue, job, &placement);
  if (view->attempt_us[job.id] == view->now_us || !may_resize(queue, &placement)) return 0;
  return gpus > least ? gpus - least : 0;
}

/* Takes GPUs, in whole steps, from the running job back->job, which may return at most back->gpus: the smallest number
   with which the waiting job `first` fits; if `first` does not fit, the largest number. Sets back->gpus to the number
   taken. `*fits`: `first` fits. */
static enum hr_status take_until_fits(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                      struct elastic_gift *back, hr_job first, bool *fits) {
  uint32_t step = hr_cluster_sizes(queue->cluster, back->job).step, most = back->gpus;
  struct hr_placement unused;
  for (back->gpus = step; back->gpus <= most; back->gpus += step) {
    uint32_t mark = hr_moves_mark(moves);
    enum hr_status status = take_from(queue, view, moves, back->job, back->gpus, false);
    if (status != HR_OK) return status;
    *fits = find_fewer(queue, first, &unused);
    if (*fits || back->gpus + step > most) return HR_OK;
    hr_moves_rollback(moves, mark);
  }
  return HR_OK;
}

/* Reduces the GPUs of running jobs until the waiting job `first` fits with at least its minimum number of GPUs. If it
   cannot fit, nothing changes. `*fits`: `first` fits now. `to_min`: see excess. */
static enum hr_status make_room(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                hr_job first, bool to_min, bool *fits) {
  struct hr__elastic *elastic = queue->elastic;
  uint32_t mark = hr_moves_mark(moves), n_back = 0;
  enum hr_status status = HR_OK;
  *fits = false;
  for (uint32_t i = elastic->count; i-- > 0 && !*fits && status == HR_OK;) {
    hr_job job = elastic->running[i].job;
    struct elastic_gift back = {job, excess(queue, view, job, to_min)};
    if (back.gpus < hr_cluster_sizes(queue->cluster, job).step) continue;
    status = take_until_fits(queue, view, moves, &back, first, fits);
    if (!HR__ARENA_HAS_ROOM(queue->arena, elastic->back, n_back, elastic->back_capacity)) return HR_NO_MEMORY;
    elastic->back[n_back++] = back;
  }
  if (status != HR_OK) return status;
  /* The other modules are notified of final moves only. */
  hr_moves_rollback(moves, mark);
  for (uint32_t i = 0; i < n_back && *fits && status == HR_OK; i++)
    status = take_from(queue, view, moves, elastic->back[i].job, elastic->back[i].gpus, true);
  return status;
}

enum hr_status hr__elastic_start_first(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                       bool *started) {
  const struct hr__elastic *elastic = queue->elastic;
  *started = false;
  struct hr__shape *shape = queue->waiting.n_active ? hr__waiting_first(&queue->waiting) : NULL;
  if (elastic->level < HR__ELASTIC_START || !shape) return HR_OK;
  struct hr_job_entry head = shape->head;
  struct hr_placement placement;
  enum hr_status status = HR_OK;
  bool fits = find_fewer(queue, head.job, &placement);
  for (int to_min = 0; to_min < 2 && !fits && status == HR_OK && elastic->level >= HR__ELASTIC_SHRINK; to_min++)
    status = make_room(queue, view, moves, head.job, to_min, &fits);
  if (!fits || status != HR_OK || !find_fewer(queue, head.job, &placement)) return status;
  *started = true;
  return hr__queue_start(queue, view, moves, shape, head, &placement, HR_REASON_IN_ORDER);
}
