/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_EVENT_HEAP_H
#define HR_SIM_ENGINE_EVENT_HEAP_H

/* The pending events of a run, ordered by (time, kind, entity). An entry takes 16 bytes. Implemented in jobs.c. */

#include "headroom/sim.h"

#include <stdlib.h>

/* Kinds of pending events, in the order in which they are handled at one instant: first events that release capacity,
   then events that remove it, then events that add it. Submissions are handled after HR__PENDING_NODE_UP and before
   HR__PENDING_SERVICE. */
enum hr__pending_kind {
  HR__PENDING_END,          /* a job completes */
  HR__PENDING_PHASE,        /* the phase of a job ends: restart, checkpoint, work between checkpoints, or back-off */
  HR__PENDING_DATA,         /* the first flow of data ends */
  HR__PENDING_STORAGE,      /* the first write to a pool's storage completes */
  HR__PENDING_EVICT,        /* the notice of a preempted job ends */
  HR__PENDING_FAULT,        /* a unit of nodes fails */
  HR__PENDING_FAULT_FOUND,  /* the failure of a unit is detected */
  HR__PENDING_DRAIN,        /* a group of nodes is closed for maintenance, or the work on it begins */
  HR__PENDING_LEVEL_AHEAD,  /* a pool's level of availability will change in one notice period */
  HR__PENDING_LEVEL,        /* a pool's level of availability changes */
  HR__PENDING_INTERRUPTION, /* the nodes that a pool's next group interruption reclaims get notice */
  HR__PENDING_NODE_NOTICE,  /* a node gets notice */
  HR__PENDING_NODE_DOWN,    /* a node goes down */
  HR__PENDING_WINDOW_CLOSE, /* a pool's reservation ends */
  HR__PENDING_WINDOW_OPEN,  /* a pool's reservation begins */
  HR__PENDING_SPARE,        /* a spare node comes up */
  HR__PENDING_SLOW,         /* a node becomes slow, or is fast again */
  HR__PENDING_REPAIR,       /* a unit is repaired */
  HR__PENDING_SERVICED,     /* the work on a group of nodes ends */
  HR__PENDING_STANDBY,      /* a node has been idle for long, is suspended, or has woken */
  HR__PENDING_NODE_UP,      /* a node has booted */
  HR__PENDING_SERVICE,      /* the next event of an inference service */
  HR__PENDING_SCAN,         /* the autoscaler makes a scan after the pass of this instant */
  HR__PENDING_TIMER
};

struct hr__pending {
  int64_t at_us;
  uint64_t kind_entity; /* kind << 32 | entity */
};

struct hr__event_heap {
  struct hr__pending *entries;
  uint32_t count, capacity;
  /* by job: the index of its only entry + 1, or 0 if it has no entry; NULL if entries are never removed before their
     time */
  uint32_t *place;
};

static inline struct hr__pending hr__pending(int64_t at_us, enum hr__pending_kind kind, uint32_t entity) {
  return (struct hr__pending){at_us, (uint64_t)kind << 32 | entity};
}
static inline enum hr__pending_kind hr__pending_kind(struct hr__pending pending) {
  return (enum hr__pending_kind)(pending.kind_entity >> 32);
}
static inline uint32_t hr__pending_entity(struct hr__pending pending) {
  return (uint32_t)pending.kind_entity;
}
/* Returns whether `a` precedes `b`. Time, kind and entity are combined into one 128-bit number, which is possible
   because times are not negative. The comparison therefore has no branches. The processor would predict branches badly
   here, because either child of a heap node can be the smaller one. */
static inline bool hr__pending_before(struct hr__pending a, struct hr__pending b) {
  __extension__ typedef unsigned __int128 wide;
  return ((wide)(uint64_t)a.at_us << 64 | a.kind_entity) < ((wide)(uint64_t)b.at_us << 64 | b.kind_entity);
}

/* Inserts an entry in O(log n) time. Returns HR_NO_MEMORY if memory is exhausted. */
enum hr_status hr__event_heap_push(struct hr__event_heap *heap, struct hr__pending pending);
/* Removes the first entry in O(log n) time and returns it. The heap must not be empty. */
struct hr__pending hr__event_heap_pop(struct hr__event_heap *heap);
/* Removes the entry of a job, if the job has one, in O(log n) time. `place` must not be NULL. */
void hr__event_heap_remove_job(struct hr__event_heap *heap, uint32_t job);
/* Frees the entries, but not `place`, which belongs to the caller. */
static inline void hr__event_heap_finish(struct hr__event_heap *heap) {
  free(heap->entries);
  *heap = (struct hr__event_heap){0};
}

#endif
