/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_EVENT_HEAP_H
#define HR_SIM_EVENT_HEAP_H

/* Pending events, least (time, kind, entity) first. Entries take 16 bytes. */

#include "headroom/policy.h"

struct hr__pending {
  int64_t at_us;
  uint64_t kind_entity; /* kind << 32 | entity */
};

struct hr__event_heap {
  struct hr__pending *entries;
  uint32_t count, capacity;
};

static inline struct hr__pending hr__pending(int64_t at_us, enum hr_event_kind kind, uint32_t entity) {
  return (struct hr__pending){at_us, (uint64_t)kind << 32 | entity};
}
static inline enum hr_event_kind hr__pending_kind(struct hr__pending pending) {
  return (enum hr_event_kind)(pending.kind_entity >> 32);
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
void hr__event_heap_finish(struct hr__event_heap *heap);

#endif
