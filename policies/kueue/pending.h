/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_PENDING_H
#define HR_POLICIES_KUEUE_PENDING_H

/*
 * The workloads that wait in the ClusterQueues. In each queue some are in a heap, whose first is the head of the next
 * cycle, and some are parked until something changes (RULES 1.8, Requeue).
 */

#include "policies/kueue/cycle.h"

enum hr__kueue_place {
  HR__KUEUE_NOT_QUEUED,
  HR__KUEUE_IN_HEAP,
  HR__KUEUE_PARKED,
  HR__KUEUE_IN_CYCLE /* was the head of a queue, and is not queued again yet */
};

struct hr__kueue_pending_queue {
  uint32_t *heap;
  uint32_t n_heap, capacity;
  uint32_t first_parked, n_parked;
  int64_t cycle;       /* counts heads that were taken */
  int64_t freed_cycle; /* `cycle` when parked workloads returned last; -1: never */
};

struct hr__kueue_pending {
  struct hr__kueue_world *world;
  struct hr_arena *arena;
  struct hr__kueue_pending_queue *queues;
  uint8_t *place;              /* by workload; enum hr__kueue_place */
  uint32_t *position;          /* by workload: in the heap */
  uint32_t *next, *previous;   /* by workload: list of parked workloads */
  int64_t *requeue_us;         /* by workload: end of its back-off; HR__KUEUE_NO_TIME: none */
  bool *held;                  /* by workload: its condition Requeued is false, so it stays parked */
  uint32_t *shape;             /* by workload: equal numbers are equal requests and priority; HR_NONE: unknown */
  enum hr__kueue_requeue *why; /* by workload: why it was parked */
};

/* Allocates empty queues. Returns false if memory is exhausted. */
bool hr__kueue_pending_begin(struct hr__kueue_pending *self, struct hr_arena *arena, struct hr__kueue_world *world);
/* Adds a workload to its queue: to the heap, or parked if its back-off is not over. Returns false if memory is
   exhausted. */
bool hr__kueue_pending_add(struct hr__kueue_pending *self, uint32_t workload);
/* Takes a workload out of its queue, wherever it is. */
void hr__kueue_pending_remove(struct hr__kueue_pending *self, uint32_t workload);
/* Takes the head of a queue; HR_NONE: the heap is empty. */
uint32_t hr__kueue_pending_pop(struct hr__kueue_pending *self, uint32_t queue);
/* Queues a workload again after a cycle. `has_bookmark`: flavors are left to try. Returns whether it is queued now and
   was not before. */
bool hr__kueue_pending_requeue(struct hr__kueue_pending *self, uint32_t workload, enum hr__kueue_requeue why,
                               bool has_bookmark);
/* The same with the decision given: `at_once` puts it into the heap. */
bool hr__kueue_pending_requeue_as(struct hr__kueue_pending *self, uint32_t workload, bool at_once,
                                  enum hr__kueue_requeue why);
/* Returns the parked workloads of all queues of the tree of `queue` to their heaps, as capacity may be free. Returns
   their number. */
uint32_t hr__kueue_pending_return(struct hr__kueue_pending *self, uint32_t queue);
/* Parks the workloads in the heap of the same shape. Does nothing unless the queue is BestEffortFIFO. */
void hr__kueue_pending_park_shape(struct hr__kueue_pending *self, uint32_t workload);

/* Whether a workload is ordered before another one of its queue. */
bool hr__kueue_pending_before(const struct hr__kueue_world *world, uint32_t a, uint32_t b);
/* Whether an inadmissible workload of this reason says that workloads of its shape cannot fit either. */
bool hr__kueue_requeue_counts_for_shape(enum hr__kueue_requeue why);
/* Whether flavors are left to try: some bookmark of the assignment is not -1. */
bool hr__kueue_has_bookmark(const struct hr__kueue_assignment *assignment);

#endif
