/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_JOBS_H
#define HR_POLICIES_KIT_JOBS_H

/* Functions and data structures of policies for jobs: properties of jobs and pools, lists for the next pass, stored
   placements, timer queues. */

#include "base/containers.h"
#include "headroom/policy.h"
#include "headroom/trace.h"
#include "headroom/unstable/capacity.h"

#include <string.h>

/* Returns whether a job is a replica of a service: the run submits it, and it runs until it is not needed any more. Its
   recorded run time and limit have no meaning. */
static inline bool hr__is_replica(const struct hr_trace *trace, hr_job job) {
  return job.id >= trace->n_jobs - trace->n_added;
}

/* Returns whether a job may be stopped before its end. */
static inline bool hr__is_interruptible(const struct hr_trace *trace, hr_job job) {
  return !trace->flags || !(trace->flags[job.id] & HR_JOB_NOT_INTERRUPTIBLE);
}

/* Returns whether the nodes of a pool are requested and released. */
static inline bool hr__pool_is_elastic(const struct hr_cluster *cluster, hr_pool pool) {
  return hr_market_is_elastic(hr_cluster_pool_spec(cluster, pool)->market.market);
}

/* Returns the number of nodes of all pools. */
static inline uint32_t hr__n_nodes(const struct hr_cluster *cluster) {
  hr_pool last = {hr_cluster_pools(cluster) - 1};
  return hr_cluster_first_node(cluster, last).id + hr_cluster_pool_spec(cluster, last)->nodes;
}

/*
 * A list of jobs, in the order in which they were added. All bytes zero: empty.
 *
 * Most policies have at least two such lists. One contains the jobs that need no node; they start at the beginning of
 * the next pass. Another one contains the jobs that are withdrawn (HR_EVENT_WITHDRAW). When the policy receives this
 * event, it removes the job from all other data structures. At the beginning of its next pass, which is at the same
 * instant, it rejects the jobs of the list.
 */
struct hr__job_list {
  hr_job *jobs;
  uint32_t count, capacity;
};

/* Returns false if memory is exhausted. */
static inline bool hr__job_list_add(struct hr__job_list *list, struct hr_arena *arena, hr_job job) {
  if (!HR__ARENA_HAS_ROOM(arena, list->jobs, list->count, list->capacity)) return false;
  list->jobs[list->count++] = job;
  return true;
}

static inline bool hr__job_list_has(const struct hr__job_list *list, hr_job job) {
  for (uint32_t i = 0; i < list->count; i++)
    if (list->jobs[i].id == job.id) return true;
  return false;
}

/* Rejects the jobs, and empties the list. */
static inline enum hr_status hr__job_list_reject(struct hr__job_list *list, struct hr_moves *moves,
                                                 enum hr_reason reason) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < list->count && status == HR_OK; i++) status = hr_moves_reject(moves, list->jobs[i], reason);
  list->count = 0;
  return status;
}

/* Starts the jobs, which need no node, and empties the list. */
static inline enum hr_status hr__job_list_start(struct hr__job_list *list, struct hr_moves *moves) {
  static const struct hr_placement nowhere = {0};
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < list->count && status == HR_OK; i++)
    status = hr_moves_start(moves, list->jobs[i], &nowhere, HR_REASON_IN_ORDER);
  list->count = 0;
  return status;
}

/* ---- Places ----------------------------------------------------------------------------------------- */

/* Places: placements that a policy stores for later use, with memory of their own. */

/* A current or future placement of a job. */
struct hr__place {
  struct hr_placement placement; /* its slices are in `slices` */
  struct hr_slice *slices;
  uint32_t capacity; /* number of slices for which `slices` has room */
};

/* Copies a placement to the place. False: out of memory. */
static inline bool hr__place_set(struct hr__place *place, struct hr_arena *arena,
                                 const struct hr_placement *placement) {
  uint32_t n = placement->n_slices;
  if (n > place->capacity) {
    struct hr_slice *slices = hr_arena_alloc(arena, n * sizeof *slices);
    if (!slices) return false;
    place->slices = slices;
    place->capacity = n;
  }
  if (n) memmove(place->slices, placement->slices, n * sizeof *place->slices);
  place->placement = (struct hr_placement){placement->pool, n, place->slices};
  return true;
}

/* Returns whether the place uses the node. */
static inline bool hr__place_has(const struct hr__place *place, hr_node node) {
  for (uint32_t i = 0; i < place->placement.n_slices; i++)
    if (place->slices[i].node.id == node.id) return true;
  return false;
}

/* Returns the placement with which the job can be started now. The place may have been found in a planned state, in
   which MIG GPUs had other layouts than now. Its slices are therefore adapted to the present layouts. */
static inline struct hr_placement hr__place_to_start(const struct hr__place *place, const struct hr_cluster *cluster) {
  const struct hr_gpu_inventory *now = hr_cluster_gpu_inventory(cluster);
  if (now) hr_gpu_inventory_rebase(now, place->slices, place->placement.n_slices);
  return place->placement;
}

/* Returns how many tasks of a placement use a GPU of a node. `gpu`: the set of GPUs that contains only this GPU. */
static inline uint32_t hr__tasks_on_gpu(const struct hr_placement *placement, hr_node node, uint64_t gpu) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    count += placement->slices[i].node.id == node.id && placement->slices[i].gpus & gpu;
  return count;
}

/* Returns whether the GPU memory suffices for all tasks of a job at the same time, if no other job uses memory on their
   GPUs. In pools in which the first task that comes gets the memory (hr_pool_kills), placements do not consider memory.
   The tasks of a gang that share a GPU there may need more memory than the GPU has. Such a gang would be killed at
   every attempt. */
static inline bool hr__tasks_have_memory(const struct hr_cluster *cluster, const struct hr_trace *jobs, hr_job job,
                                         const struct hr_placement *placement) {
  const struct hr_pool_spec *pool = hr_cluster_pool_spec(cluster, placement->pool);
  uint64_t mib = jobs->gpu_mem_mib ? jobs->gpu_mem_mib[job.id] : 0;
  if (mib == 0 || placement->n_slices < 2 || !hr_pool_kills(pool)) return true;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct hr_slice slice = placement->slices[i];
    for (uint64_t rest = slice.gpus; rest; rest &= rest - 1)
      if (mib * hr__tasks_on_gpu(placement, slice.node, rest & -rest) > pool->gpu_mem_mib) return false;
  }
  return true;
}

/* Requests a wake-up at `at_us`, unless a wake-up at this time or earlier is pending. `*pending_us`: time of the last
   requested wake-up. HR_NEVER_US: no request. */
static inline enum hr_status hr__wake(int64_t *pending_us, const struct hr_view *view, struct hr_moves *moves,
                                      int64_t at_us) {
  bool pending = *pending_us > view->now_us && *pending_us <= at_us;
  if (at_us == HR_NEVER_US || pending) return HR_OK;
  *pending_us = at_us;
  return hr_moves_wake_at(moves, at_us);
}

/* ---- Timer queues ----------------------------------------------------------------------------------- */

/* A timer queue: entries of (time, id of a job or node), first in, first out. Invariant: entries are added in order of
   time. Callers ensure this, because in each queue the time of an entry is the time at which it is added plus a
   constant delay. Entries that are no longer valid, for example because their job has ended, are not removed from the
   queue. The caller checks each entry that it takes. */

struct hr__deadline_entry {
  int64_t at_us;
  uint32_t id;
};

/* A queue with all members 0 is empty. The ring buffer is allocated in the arena and doubles when it is full. */
struct hr__deadline_fifo {
  struct hr__deadline_entry *ring;
  uint32_t first, count, capacity; /* capacity: a power of two, or 0 */
};

enum { HR__DEADLINE_FIFO_CAPACITY = 64 };

/* Appends an entry. Its time must not be before that of the previous entry. False: out of memory. */
static inline bool hr__deadline_fifo_add(struct hr__deadline_fifo *fifo, struct hr_arena *arena,
                                         struct hr__deadline_entry entry) {
  if (fifo->count == fifo->capacity) {
    uint32_t capacity = fifo->capacity ? 2 * fifo->capacity : HR__DEADLINE_FIFO_CAPACITY;
    struct hr__deadline_entry *ring = hr_arena_alloc(arena, capacity * sizeof *ring);
    if (!ring) return false;
    for (uint32_t i = 0; i < fifo->count; i++) ring[i] = fifo->ring[(fifo->first + i) & (fifo->capacity - 1)];
    fifo->ring = ring;
    fifo->first = 0;
    fifo->capacity = capacity;
  }
  fifo->ring[(fifo->first + fifo->count++) & (fifo->capacity - 1)] = entry;
  return true;
}

/* Returns the first entry if its time is not after `now_us`. False: none is due. */
static inline bool hr__deadline_fifo_first(const struct hr__deadline_fifo *fifo, int64_t now_us,
                                           struct hr__deadline_entry *entry) {
  if (!fifo->count || fifo->ring[fifo->first].at_us > now_us) return false;
  *entry = fifo->ring[fifo->first];
  return true;
}

/* Removes the first entry if its time is not after `now_us`. False: none is due. */
static inline bool hr__deadline_fifo_take(struct hr__deadline_fifo *fifo, int64_t now_us,
                                          struct hr__deadline_entry *entry) {
  if (!fifo->count || fifo->ring[fifo->first].at_us > now_us) return false;
  *entry = fifo->ring[fifo->first];
  fifo->first = (fifo->first + 1) & (fifo->capacity - 1);
  fifo->count--;
  return true;
}

/* Returns the time of the first entry; HR_NEVER_US: the queue is empty. */
static inline int64_t hr__deadline_fifo_first_us(const struct hr__deadline_fifo *fifo) {
  return fifo->count ? fifo->ring[fifo->first].at_us : HR_NEVER_US;
}

#endif
