/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Caches of nodes (see caches.h).
 *
 * Invariant: on each node, the room of all data sets together is at most the size of the cache; the valid part of a
 * data set is at most its room, and without readers both are equal.
 */

#include "sim/data/caches.h"
#include "base/array.h"

#include <string.h>

struct cache_entry {
  int64_t room, valid;
  uint32_t readers;
};

struct hr__caches {
  struct cache_entry *entries; /* [nodes x sets] */
  uint32_t n_sets;
  uint64_t n_changes;
};

struct hr__caches *hr__caches_create(struct hr_arena *arena, uint32_t n_nodes, uint32_t n_sets) {
  struct hr__caches *caches = hr_arena_alloc(arena, sizeof *caches);
  if (!caches) return NULL;
  caches->n_sets = n_sets;
  caches->entries = hr_arena_alloc(arena, ((size_t)n_nodes * n_sets + 1) * sizeof *caches->entries);
  return caches->entries ? caches : NULL;
}

/* The nodes of a placement: slices of one node follow each other. */
static bool is_new_node(const struct hr_placement *placement, uint32_t slice) {
  return slice == 0 || placement->slices[slice].node.id != placement->slices[slice - 1].node.id;
}

static struct cache_entry *entries_of(const struct hr__caches *caches, hr_node node, uint32_t first_node) {
  return &caches->entries[((size_t)node.id + first_node) * caches->n_sets];
}

/* Makes room for more of a data set on a node. */
static void grow(const struct hr__caches *caches, struct cache_entry *entries, uint32_t set, int64_t wanted,
                 int64_t node_bytes) {
  int64_t free_bytes = node_bytes;
  for (uint32_t i = 0; i < caches->n_sets; i++) free_bytes -= entries[i].room;
  for (uint32_t i = 0; i < caches->n_sets && free_bytes < wanted; i++) {
    if (i == set || entries[i].readers > 0) continue;
    const int64_t short_of = wanted - free_bytes, less = entries[i].room < short_of ? entries[i].room : short_of;
    entries[i].room -= less;
    if (entries[i].valid > entries[i].room) entries[i].valid = entries[i].room;
    free_bytes += less;
  }
  entries[set].room += free_bytes < wanted ? free_bytes : wanted;
}

struct hr__cached hr__caches_take(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                                  uint32_t set, int64_t bytes, int64_t node_bytes) {
  struct hr__cached cached = {0, 0};
  int64_t n_nodes = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++) n_nodes += is_new_node(placement, i);
  if (n_nodes == 0) return cached;
  const int64_t part = (bytes + n_nodes - 1) / n_nodes;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    if (!is_new_node(placement, i)) continue;
    struct cache_entry *entries = entries_of(caches, placement->slices[i].node, first_node), *own = &entries[set];
    if (own->room < part) caches->n_changes++;
    if (own->room < part) grow(caches, entries, set, part - own->room, node_bytes);
    own->readers++;
    cached.taken += own->room < part ? own->room : part;
    cached.valid += own->valid < part ? own->valid : part;
  }
  if (cached.taken > bytes) cached.taken = bytes;
  if (cached.valid > bytes) cached.valid = bytes;
  return cached;
}

void hr__caches_fill(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                     uint32_t set) {
  caches->n_changes++;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct cache_entry *own = &entries_of(caches, placement->slices[i].node, first_node)[set];
    own->valid = own->room;
  }
}

void hr__caches_leave(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                      uint32_t set) {
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    if (!is_new_node(placement, i)) continue;
    struct cache_entry *own = &entries_of(caches, placement->slices[i].node, first_node)[set];
    if (--own->readers == 0) own->room = own->valid;
  }
}

void hr__caches_clear(struct hr__caches *caches, hr_node node, uint32_t first_node) {
  caches->n_changes++;
  memset(entries_of(caches, node, first_node), 0, caches->n_sets * sizeof *caches->entries);
}

int64_t hr__caches_valid(const struct hr__caches *caches, hr_node node, uint32_t first_node, uint32_t set) {
  return entries_of(caches, node, first_node)[set].valid;
}

uint64_t hr__caches_changes(const struct hr__caches *caches) {
  return caches->n_changes;
}
