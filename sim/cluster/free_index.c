/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An index of the nodes of a pool by free GPUs. It has one set of nodes for each number of free GPUs, and the set of
   those numbers of free GPUs that at least one node has. All queries take O(1) time. */

#include "sim/cluster/cluster.h"

static uint64_t *nodes_at(const struct hr_free_index *index, uint32_t gpus) {
  return index->nodes_at + (size_t)gpus * index->node_shape.n_words;
}

static void link_node(struct hr_free_index *index, uint32_t node, uint32_t gpus) {
  hr__bitset_add(&index->node_shape, nodes_at(index, gpus), node);
  if (index->count_at[gpus]++ == 0) hr__bitset_add(&index->level_shape, index->levels, gpus);
}

struct hr_free_index *hr_free_index_create(struct hr_arena *arena, uint32_t n_nodes, uint32_t gpus_per_node) {
  struct hr_free_index *index = hr_arena_alloc(arena, sizeof *index);
  if (!index) return NULL;
  size_t n_levels = (size_t)gpus_per_node + 1;
  index->n_nodes = n_nodes;
  index->gpus_per_node = gpus_per_node;
  index->node_shape = hr__bitset_shape(n_nodes);
  index->level_shape = hr__bitset_shape(gpus_per_node + 1);
  index->nodes_at = hr_arena_alloc(arena, n_levels * index->node_shape.n_words * sizeof *index->nodes_at);
  index->levels = hr_arena_alloc(arena, index->level_shape.n_words * sizeof *index->levels);
  index->count_at = hr_arena_alloc(arena, n_levels * sizeof *index->count_at);
  index->free = hr_arena_alloc(arena, n_nodes * sizeof *index->free);
  if (!index->nodes_at || !index->levels || !index->count_at || !index->free) return NULL;
  for (uint32_t node = 0; node < n_nodes; node++) {
    index->free[node] = gpus_per_node;
    link_node(index, node, gpus_per_node);
  }
  return index;
}

static void move_node(struct hr_group_index *groups, uint32_t node, uint32_t before, uint32_t after);

void hr_free_index_set(struct hr_free_index *index, uint32_t node, uint32_t gpus) {
  uint32_t before = index->free[node];
  if (before == gpus) return;
  hr__bitset_remove(&index->node_shape, nodes_at(index, before), node);
  if (--index->count_at[before] == 0) hr__bitset_remove(&index->level_shape, index->levels, before);
  index->free[node] = gpus;
  link_node(index, node, gpus);
  if (index->groups) move_node(index->groups, node, before, gpus);
}

uint32_t hr_free_index_nodes(const struct hr_free_index *index) {
  return index->n_nodes;
}

uint32_t hr_free_index_gpus_per_node(const struct hr_free_index *index) {
  return index->gpus_per_node;
}

uint32_t hr_free_index_get(const struct hr_free_index *index, uint32_t node) {
  return index->free[node];
}

uint32_t hr_free_index_lowest(const struct hr_free_index *index, uint32_t gpus) {
  return hr__bitset_next(&index->level_shape, index->levels, gpus);
}

uint32_t hr_free_index_highest(const struct hr_free_index *index) {
  return hr__bitset_last(&index->level_shape, index->levels);
}

uint32_t hr_free_index_node(const struct hr_free_index *index, uint32_t gpus, uint32_t from) {
  return hr__bitset_next(&index->node_shape, nodes_at(index, gpus), from);
}

uint32_t hr_free_index_count(const struct hr_free_index *index, uint32_t gpus) {
  return index->count_at[gpus];
}

/*
 * An index of groups of consecutive nodes. The size of a group is the number of GPUs of the largest gang that fits into
 * the group. A gang takes whole empty nodes and, for its remaining GPUs, one more node. Let w be the number of empty
 * nodes of a group, and p the maximum number of free GPUs on any node that is not empty. The size of the group is then
 * w x (GPUs of a node) + p, and every smaller gang fits, too. A free index of the groups by size therefore finds the
 * smallest group into which a gang fits.
 */

struct hr_group_index {
  struct hr_group_index *next; /* the next group index in the linked list of the same free index */
  uint32_t nodes_per_group, n_levels;
  uint32_t *count; /* [groups][n_levels]: for each number of free GPUs, how many nodes of the group have it */
  struct hr_free_index *by_room;
};

static uint32_t room_of(const struct hr_group_index *groups, uint32_t group) {
  const uint32_t *count = groups->count + (size_t)group * groups->n_levels;
  uint32_t size = groups->n_levels - 1, rest = size;
  while (rest > 0 && count[--rest] == 0) continue;
  return count[size] * size + rest;
}

bool hr_free_index_add_groups(struct hr_arena *arena, struct hr_free_index *index, uint32_t nodes_per_group) {
  for (struct hr_group_index *each = index->groups; each; each = each->next)
    if (each->nodes_per_group == nodes_per_group) return true;
  struct hr_group_index *groups = hr_arena_alloc(arena, sizeof *groups);
  uint32_t n_groups = (index->n_nodes + nodes_per_group - 1) / nodes_per_group;
  if (!groups) return false;
  groups->nodes_per_group = nodes_per_group;
  groups->n_levels = index->gpus_per_node + 1;
  groups->count = hr_arena_alloc(arena, (size_t)n_groups * groups->n_levels * sizeof *groups->count);
  groups->by_room = hr_free_index_create(arena, n_groups, nodes_per_group * index->gpus_per_node);
  if (!groups->count || !groups->by_room) return false;
  for (uint32_t node = 0; node < index->n_nodes; node++)
    groups->count[(size_t)(node / nodes_per_group) * groups->n_levels + index->free[node]]++;
  for (uint32_t group = 0; group < n_groups; group++) hr_free_index_set(groups->by_room, group, room_of(groups, group));
  groups->next = index->groups;
  index->groups = groups;
  return true;
}

/* Updates all group indices after the number of free GPUs of a node has changed from `before` to `after`. */
static void move_node(struct hr_group_index *groups, uint32_t node, uint32_t before, uint32_t after) {
  for (; groups; groups = groups->next) {
    uint32_t group = node / groups->nodes_per_group;
    uint32_t *count = groups->count + (size_t)group * groups->n_levels;
    count[before]--;
    count[after]++;
    hr_free_index_set(groups->by_room, group, room_of(groups, group));
  }
}

/* Returns the number of GPUs of the largest gang that fits into nodes from .. end - 1. Computes it from the free GPUs
   of these nodes. */
static uint32_t room_by_node(const struct hr_free_index *index, uint32_t from, uint32_t end) {
  uint32_t size = index->gpus_per_node, whole = 0, rest = 0;
  for (uint32_t node = from; node < end && node < index->n_nodes; node++) {
    uint32_t free = index->free[node];
    whole += free == size;
    if (free < size && free > rest) rest = free;
  }
  return whole * size + rest;
}

bool hr__group_index_is_consistent(const struct hr_free_index *index) {
  for (const struct hr_group_index *each = index->groups; each; each = each->next)
    for (uint32_t group = 0; group < hr_free_index_nodes(each->by_room); group++) {
      uint32_t from = group * each->nodes_per_group;
      if (hr_free_index_get(each->by_room, group) != room_by_node(index, from, from + each->nodes_per_group))
        return false;
    }
  return true;
}

uint32_t hr_free_index_group(const struct hr_free_index *index, uint32_t nodes_per_group, uint32_t gpus) {
  const struct hr_group_index *groups = index->groups;
  while (groups && groups->nodes_per_group != nodes_per_group) groups = groups->next;
  if (!groups || gpus > hr_free_index_gpus_per_node(groups->by_room)) return HR_NONE;
  uint32_t room = hr_free_index_lowest(groups->by_room, gpus);
  return room == HR_NONE ? HR_NONE : hr_free_index_node(groups->by_room, room, 0);
}
