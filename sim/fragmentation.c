/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * F of nodes, after Weng et al. ("Beware of Fragmentation", ATC'23). It depends on little of a node's state: which
 * typical pods accept its pool, how many of the levels of CPU that these ask for it reaches, and what its GPUs have
 * left, in any order. It follows from these in one sweep over groups of pods that ask for the same GPUs and over a
 * node's GPUs, both sorted by thousandths, and is kept in a table by them, as few states of nodes are ever met. F is
 * counted in pods x thousandths: whole numbers, so that equal fragments are equal whatever the order of sums.
 */

#include "headroom/fragmentation.h"
#include "headroom/policy.h"
#include "sim/fragmentation_mig.h"

#include <stdlib.h>
#include <string.h>

/* Pods that need so many GPUs with so much left, and so much CPU. */
struct need {
  uint32_t milli, gpus, cpu_milli;
  uint64_t pods; /* and those before it of the same GPUs */
};

/* The needs from `first` to before `end`, which ask for the same GPUs. */
struct same_gpus {
  uint32_t first, end;
};

/* Typical pods as pools see them that the same ones accept. */
struct needs {
  struct need *need; /* of those that ask for GPUs and accept the pools, by (milli, gpus, cpu) */
  uint32_t count;
  struct same_gpus *group; /* of needs, in order */
  uint32_t n_groups;
  uint64_t useless; /* all other pods */
};

enum { KEPT_BITS = 13 };

/* A node's state, as far as F depends on it. The rests of its GPUs stand behind it, ascending. */
struct state {
  uint32_t needs, level, n_gpus;
  uint16_t left[HR_MAX_STOCK_GPUS];
};

struct hr_fragmentation {
  const struct hr_typical_pods *typical;
  const struct hr_acceptance *acceptance;
  const struct hr_stock *stock;
  uint32_t *cpu_milli; /* [n_levels], what typical pods ask for, ascending */
  uint32_t n_levels;
  struct needs *needs;  /* [n_pools], those of the first pool of equal ones alone */
  uint16_t *slot_milli; /* [n_pools], as in the stock */
  uint32_t *first_pool; /* [n_pools], of equal ones */
  struct kept *kept;    /* [1 << KEPT_BITS] */
  uint16_t *kept_left;  /* [1 << KEPT_BITS][most_gpus] */
};

/* A state whose F is known, and its F; needs + 1, as 0 says that there is none. */
struct kept {
  uint32_t needs, level;
  uint64_t f;
};

/* ---- What pods need --------------------------------------------------------------------------------- */

static bool accepts(const struct hr_fragmentation *f, uint32_t pod, uint32_t pool) {
  uint32_t class_ = f->typical->request[pod].accept_class;
  return f->acceptance->row[(size_t)class_ * f->acceptance->n_pools + pool];
}

static bool same_pods(const struct hr_fragmentation *f, uint32_t a, uint32_t b) {
  if (f->slot_milli[a] != f->slot_milli[b]) return false;
  for (uint32_t pod = 0; pod < f->typical->count; pod++)
    if (accepts(f, pod, a) != accepts(f, pod, b)) return false;
  return true;
}

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

static int by_need(const void *a, const void *b) {
  const struct need *x = a, *y = b;
  if (x->milli != y->milli) return x->milli < y->milli ? -1 : 1;
  if (x->gpus != y->gpus) return x->gpus < y->gpus ? -1 : 1;
  return x->cpu_milli < y->cpu_milli ? -1 : x->cpu_milli > y->cpu_milli;
}

static void find_levels(struct hr_fragmentation *f) {
  uint32_t count = f->typical->count;
  for (uint32_t i = 0; i < count; i++) f->cpu_milli[i] = f->typical->request[i].cpu_milli;
  if (count) qsort(f->cpu_milli, count, sizeof *f->cpu_milli, by_number);
  for (uint32_t i = 0; i < count; i++)
    if (f->n_levels == 0 || f->cpu_milli[f->n_levels - 1] != f->cpu_milli[i])
      f->cpu_milli[f->n_levels++] = f->cpu_milli[i];
}

/* Sums the pods of needs up within each group. */
static void group_needs(struct needs *needs) {
  for (uint32_t i = 0; i < needs->count; i++) {
    struct need *need = &needs->need[i];
    if (i > 0 && need->milli == need[-1].milli && need->gpus == need[-1].gpus)
      need->pods += need[-1].pods;
    else
      needs->group[needs->n_groups++].first = i;
    needs->group[needs->n_groups - 1].end = i + 1;
  }
}

static bool make_needs(struct hr_fragmentation *f, struct hr_arena *arena, uint32_t pool) {
  struct needs *needs = &f->needs[pool];
  needs->need = hr_arena_alloc(arena, ((size_t)f->typical->count + 1) * sizeof *needs->need);
  needs->group = hr_arena_alloc(arena, ((size_t)f->typical->count + 1) * sizeof *needs->group);
  uint32_t slot_milli = f->slot_milli[pool];
  if (!needs->need || !needs->group) return false;
  for (uint32_t i = 0; i < f->typical->count; i++) {
    const struct hr_request *pod = &f->typical->request[i];
    if (pod->gpus && accepts(f, i, pool))
      needs->need[needs->count++] = (struct need){.milli = slot_milli ? slot_milli : pod->gpu_milli,
                                                  .gpus = pod->gpus,
                                                  .cpu_milli = pod->cpu_milli,
                                                  .pods = f->typical->pods[i]};
    else
      needs->useless += f->typical->pods[i];
  }
  if (needs->count) qsort(needs->need, needs->count, sizeof *needs->need, by_need);
  group_needs(needs);
  return true;
}

static bool make_all_needs(struct hr_fragmentation *f, struct hr_arena *arena) {
  for (uint32_t node = 0; node < f->stock->n_nodes; node++)
    f->slot_milli[f->stock->pool[node]] = f->stock->slot_milli[node];
  for (uint32_t pool = 0; pool < f->acceptance->n_pools; pool++) {
    uint32_t first = 0;
    while (first < pool && (f->first_pool[first] != first || !same_pods(f, first, pool))) first++;
    f->first_pool[pool] = first;
    if (first == pool && !make_needs(f, arena, pool)) return false;
  }
  return true;
}

struct hr_fragmentation *hr_fragmentation_create(struct hr_arena *arena, const struct hr_typical_pods *typical,
                                                 const struct hr_acceptance *acceptance, const struct hr_stock *stock) {
  struct hr_fragmentation *f = hr_arena_alloc(arena, sizeof *f);
  if (!f) return NULL;
  size_t n_pools = (size_t)acceptance->n_pools + 1, n_kept = (size_t)1 << KEPT_BITS;
  *f = (struct hr_fragmentation){
      .typical = typical,
      .acceptance = acceptance,
      .stock = stock,
      .cpu_milli = hr_arena_alloc(arena, ((size_t)typical->count + 1) * sizeof *f->cpu_milli),
      .needs = hr_arena_alloc(arena, n_pools * sizeof *f->needs),
      .slot_milli = hr_arena_alloc(arena, n_pools * sizeof *f->slot_milli),
      .first_pool = hr_arena_alloc(arena, n_pools * sizeof *f->first_pool),
      .kept = hr_arena_alloc(arena, n_kept * sizeof *f->kept),
      .kept_left = hr_arena_alloc(arena, n_kept * (stock->most_gpus + 1) * sizeof *f->kept_left)};
  if (!f->cpu_milli || !f->needs || !f->slot_milli || !f->first_pool || !f->kept || !f->kept_left) return NULL;
  find_levels(f);
  return make_all_needs(f, arena) ? f : NULL;
}

/* ---- States ----------------------------------------------------------------------------------------- */

/* How many levels `cpu_milli` reaches. */
static uint32_t level_of(const struct hr_fragmentation *f, uint32_t cpu_milli) {
  uint32_t low = 0, high = f->n_levels;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (f->cpu_milli[middle] <= cpu_milli)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static struct state state_of(const struct hr_fragmentation *f, hr_node node, uint32_t cpu_milli, uint32_t gpu_milli,
                             uint64_t taken) {
  struct state state = {.needs = f->first_pool[f->stock->pool[node.id]],
                        .level = level_of(f, cpu_milli),
                        .n_gpus = f->stock->n_gpus[node.id]};
  const uint16_t *left = hr_stock_gpus(f->stock, node);
  for (uint32_t gpu = 0; gpu < state.n_gpus; gpu++) {
    uint16_t value = (uint16_t)(left[gpu] - (taken >> gpu & 1) * gpu_milli);
    uint32_t at = gpu;
    for (; at > 0 && state.left[at - 1] > value; at--) state.left[at] = state.left[at - 1];
    state.left[at] = value;
  }
  return state;
}

/* Pods of a group that do with so much CPU. */
static uint64_t pods_within(const struct need *need, struct same_gpus group, uint32_t cpu_milli) {
  uint32_t low = group.first, high = group.end;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (need[middle].cpu_milli <= cpu_milli)
      low = middle + 1;
    else
      high = middle;
  }
  return low > group.first ? need[low - 1].pods : 0;
}

static uint64_t compute(const struct hr_fragmentation *f, const struct state *state) {
  const struct needs *needs = &f->needs[state->needs];
  uint32_t cpu_milli = state->level ? f->cpu_milli[state->level - 1] : 0, below = 0;
  uint64_t idle = 0, small = 0; /* small: of the GPUs `below`, that have less left than is needed */
  for (uint32_t gpu = 0; gpu < state->n_gpus; gpu++) idle += state->left[gpu];
  uint64_t sum = needs->useless * idle;
  for (uint32_t i = 0; i < needs->n_groups; i++) {
    const struct need *need = &needs->need[needs->group[i].end - 1];
    while (below < state->n_gpus && state->left[below] < need->milli) small += state->left[below++];
    bool has_gpus = state->level && state->n_gpus - below >= need->gpus;
    uint64_t fitting = has_gpus ? pods_within(needs->need, needs->group[i], cpu_milli) : 0;
    sum += fitting * small + (need->pods - fitting) * idle;
  }
  return sum;
}

static uint32_t slot_of(const struct state *state) {
  uint64_t hash = (uint64_t)state->needs << 32 | state->level;
  for (uint32_t gpu = 0; gpu < state->n_gpus; gpu++) hash = (hash ^ state->left[gpu]) * UINT64_C(0x9E3779B97F4A7C15);
  return (uint32_t)(hash >> (64 - KEPT_BITS));
}

/* Pools of equal needs may differ in GPUs: what a node lacks of the most is told from GPUs with nothing left. */
static uint64_t f_of(struct hr_fragmentation *f, const struct state *state) {
  uint32_t slot = slot_of(state);
  size_t bytes = f->stock->most_gpus * sizeof *f->kept_left;
  struct kept *kept = &f->kept[slot];
  uint16_t *left = f->kept_left + (size_t)slot * f->stock->most_gpus;
  if (kept->needs == state->needs + 1 && kept->level == state->level && memcmp(left, state->left, bytes) == 0)
    return kept->f;
  memcpy(left, state->left, bytes);
  *kept = (struct kept){state->needs + 1, state->level, compute(f, state)};
  return kept->f;
}

uint64_t hr_fragmentation_of(struct hr_fragmentation *fragmentation, hr_node node) {
  if (hr_stock_mig(fragmentation->stock, node))
    return hr__mig_fragment(fragmentation->typical, fragmentation->acceptance, fragmentation->stock, node, NULL, 0);
  struct state state = state_of(fragmentation, node, fragmentation->stock->cpu_milli[node.id], 0, 0);
  return f_of(fragmentation, &state);
}

uint64_t hr_fragmentation_after(struct hr_fragmentation *fragmentation, const struct hr_request *request, hr_node node,
                                uint64_t gpus) {
  if (hr_stock_mig(fragmentation->stock, node)) {
    struct hr_slice slice = hr_stock_slice(fragmentation->stock, request, node, gpus);
    return hr__mig_fragment(fragmentation->typical, fragmentation->acceptance, fragmentation->stock, node, &slice,
                            request->cpu_milli);
  }
  uint32_t cpu_milli = fragmentation->stock->cpu_milli[node.id];
  if (cpu_milli != HR_NONE) cpu_milli -= request->cpu_milli;
  uint32_t gpu_milli = hr_stock_milli(fragmentation->stock, request, node);
  struct state state = state_of(fragmentation, node, cpu_milli, gpu_milli, gpus);
  return f_of(fragmentation, &state);
}
