/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_EVENT_HEAP_H
#define HR_SIM_ENGINE_EVENT_HEAP_H

/* Pending events, least (time, kind, entity) first. Entries take 16 bytes. */

#include "headroom/policy.h"

/* What may be pending, in the order of one instant: what frees capacity, what takes it away, what brings it; arrivals
   of jobs come after HR__PENDING_NODE_UP and before timers. */
enum hr__pending_kind {
  HR__PENDING_END,          /* a job's work is done */
  HR__PENDING_PHASE,        /* a job begins or ends to restart or to save */
  HR__PENDING_STORAGE,      /* a pool's storage: its first writer is done */
  HR__PENDING_EVICT,        /* a job's grace is over */
  HR__PENDING_LEVEL_AHEAD,  /* a pool: the next step of its level comes within the time of notice */
  HR__PENDING_LEVEL,        /* a pool: the next step of its level is there */
  HR__PENDING_BLOW,         /* a pool: notice for the nodes of the next blow */
  HR__PENDING_NODE_NOTICE,  /* a node is to be told of its end */
  HR__PENDING_NODE_DOWN,    /* a node's end */
  HR__PENDING_WINDOW_CLOSE, /* a pool's reservation ends */
  HR__PENDING_WINDOW_OPEN,  /* a pool's reservation begins */
  HR__PENDING_NODE_UP,      /* a node has booted */
  HR__PENDING_TIMER
};

struct hr__pending {
  int64_t at_us;
  uint64_t kind_entity; /* kind << 32 | entity */
};

struct hr__event_heap {
  struct hr__pending *entries;
  uint32_t count, capacity;
  uint32_t *place; /* by job: where its one entry is + 1, 0 for none; NULL where no entry is ever taken back */
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
/* Time and kind and entity as one number: times are not negative, and which child is less cannot be foreseen by a
   branch. */
static inline bool hr__pending_before(struct hr__pending a, struct hr__pending b) {
  __extension__ typedef unsigned __int128 wide;
  return ((wide)(uint64_t)a.at_us << 64 | a.kind_entity) < ((wide)(uint64_t)b.at_us << 64 | b.kind_entity);
}

/* Room for the heap is grown with malloc: it is the one array of a run whose size is not known at its start. */
enum hr_status hr__event_heap_push(struct hr__event_heap *heap, struct hr__pending pending);
/* The heap must not be empty. */
struct hr__pending hr__event_heap_pop(struct hr__event_heap *heap);
/* Takes a job's entry out, if there is one; needs `place`. */
void hr__event_heap_remove_job(struct hr__event_heap *heap, uint32_t job);
/* Frees the entries; `place` belongs to the caller. */
void hr__event_heap_finish(struct hr__event_heap *heap);

#endif
