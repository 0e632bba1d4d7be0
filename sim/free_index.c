/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes of a pool by free GPUs: see headroom/policy.h. */

#include "sim/free_index.h"

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

void hr_free_index_set(struct hr_free_index *index, uint32_t node, uint32_t gpus) {
  uint32_t before = index->free[node];
  if (before == gpus) return;
  hr__bitset_remove(&index->node_shape, nodes_at(index, before), node);
  if (--index->count_at[before] == 0) hr__bitset_remove(&index->level_shape, index->levels, before);
  index->free[node] = gpus;
  link_node(index, node, gpus);
  if (index->groups) hr__group_index_move(index->groups, node, before, gpus);
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
