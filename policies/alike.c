/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policies/alike.h"

#include <string.h>

bool hr__alike_init(struct hr__alike *alike, struct hr_arena *arena, uint32_t n_nodes) {
  for (alike->size = 2; alike->size / 2 < n_nodes;) alike->size *= 2;
  alike->slot = hr_arena_alloc(arena, alike->size * sizeof *alike->slot);
  return alike->slot != NULL;
}

void hr__alike_begin(struct hr__alike *alike) {
  memset(alike->slot, 0, alike->size * sizeof *alike->slot);
}

static uint64_t hash_of(const struct hr_stock *stock, hr_node node) {
  const uint16_t *left_milli = hr_stock_gpus(stock, node);
  uint64_t hash = (uint64_t)stock->pool[node.id] << 32 | stock->cpu_milli[node.id];
  hash = (hash ^ stock->mem_mib[node.id]) * UINT64_C(0x9E3779B97F4A7C15);
  for (uint32_t gpu = 0; gpu < stock->n_gpus[node.id]; gpu++)
    hash = (hash ^ left_milli[gpu]) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ hash >> 32;
}

#define SAME(column, count)                                                                                            \
  (memcmp((column) + (size_t)a * (count), (column) + (size_t)b * (count), (count) * sizeof *(column)) == 0)

static bool same_instances(const struct hr_stock *stock, uint32_t a, uint32_t b) {
  uint32_t n_gpus = stock->most_gpus;
  if (!hr_stock_mig(stock, (hr_node){a})) return true;
  return SAME(stock->mig_gpu, n_gpus) && SAME(stock->mig_taken, n_gpus) && SAME(stock->mig_layout, n_gpus);
}

static bool same_state(const struct hr_packing *packing, uint32_t a, uint32_t b) {
  const struct hr_stock *stock = packing->stock;
  uint32_t n_gpus = stock->most_gpus;
  if (stock->pool[a] != stock->pool[b] || stock->cpu_milli[a] != stock->cpu_milli[b]) return false;
  if (stock->mem_mib[a] != stock->mem_mib[b] || stock->tasks[a] != stock->tasks[b]) return false;
  if (stock->alone[a] != stock->alone[b] || stock->closed[a] != stock->closed[b]) return false;
  return SAME(stock->gpu_milli, n_gpus) && SAME(stock->gpu_mem_mib, n_gpus) && SAME(stock->gpu_tasks, n_gpus) &&
         SAME(packing->tasks, 1) && SAME(packing->tasks_of_kind, packing->n_kinds) && same_instances(stock, a, b);
}

hr_node hr__alike_first(struct hr__alike *alike, const struct hr_packing *packing, hr_node node) {
  uint32_t at = (uint32_t)hash_of(packing->stock, node) & (alike->size - 1);
  while (alike->slot[at] && !same_state(packing, alike->slot[at] - 1, node.id)) at = (at + 1) & (alike->size - 1);
  if (!alike->slot[at]) alike->slot[at] = node.id + 1;
  return (hr_node){alike->slot[at] - 1};
}
