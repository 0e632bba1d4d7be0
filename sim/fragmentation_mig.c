/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * F is a sum over the node's GPUs: what is left of each times the pods that have no use for it. These depend on the
 * pool, on the CPU that the node has and on the profiles of which the GPU has an instance to give, and are kept in a
 * table by them: few such states are ever met.
 */

#include "sim/fragmentation_mig.h"

#include "headroom/policy.h"
#include "sim/stock_mig.h"

enum { KEPT_BITS = 12 };

/* A state whose useless pods are known. */
struct kept {
  uint32_t pool_above; /* + 1; 0: none is known */
  uint32_t cpu_milli;
  uint32_t profiles;
  uint64_t pods;
};

struct hr__mig_fragments {
  const struct hr_typical_pods *typical;
  const struct hr_acceptance *acceptance;
  const struct hr_stock *stock;
  struct kept *kept; /* [1 << KEPT_BITS] */
};

struct hr__mig_fragments *hr__mig_fragments_create(struct hr_arena *arena, const struct hr_typical_pods *typical,
                                                   const struct hr_acceptance *acceptance,
                                                   const struct hr_stock *stock) {
  struct hr__mig_fragments *fragments = hr_arena_alloc(arena, sizeof *fragments);
  if (!fragments) return NULL;
  *fragments = (struct hr__mig_fragments){typical, acceptance, stock,
                                          hr_arena_alloc(arena, ((size_t)1 << KEPT_BITS) * sizeof *fragments->kept)};
  return fragments->kept ? fragments : NULL;
}

/* ---- One GPU ---------------------------------------------------------------------------------------- */

static bool can_use(const struct hr__mig_fragments *fragments, const struct hr_request *pod, hr_node node,
                    const struct kept *state) {
  uint32_t pool = state->pool_above - 1;
  const uint8_t *accepted = fragments->acceptance->row + (size_t)pod->accept_class * fragments->acceptance->n_pools;
  if (!accepted[pool] || pod->gpus != 1 || !pod->mig_profiles) return false;
  if (state->cpu_milli < hr_stock_cpu_milli(fragments->stock, pod, node)) return false;
  return pod->mig_profiles[pool] & state->profiles;
}

static uint64_t count_useless(const struct hr__mig_fragments *fragments, hr_node node, const struct kept *state) {
  uint64_t pods = 0;
  for (uint32_t i = 0; i < fragments->typical->count; i++)
    if (!can_use(fragments, &fragments->typical->request[i], node, state)) pods += fragments->typical->pods[i];
  return pods;
}

static bool is_same(const struct kept *a, const struct kept *b) {
  return a->pool_above == b->pool_above && a->cpu_milli == b->cpu_milli && a->profiles == b->profiles;
}

static uint64_t useless_pods(struct hr__mig_fragments *fragments, hr_node node, struct kept state) {
  uint64_t hash = ((uint64_t)state.pool_above << 48 ^ (uint64_t)state.profiles << 32 ^ state.cpu_milli) *
                  UINT64_C(0x9E3779B97F4A7C15);
  struct kept *kept = &fragments->kept[hash >> (64 - KEPT_BITS)];
  if (is_same(kept, &state)) return kept->pods;
  *kept = state;
  return kept->pods = count_useless(fragments, node, &state);
}

/* ---- A node ----------------------------------------------------------------------------------------- */

uint64_t hr__mig_fragment(struct hr__mig_fragments *fragments, hr_node node, const struct hr_slice *slice,
                          uint32_t cpu_milli) {
  const struct hr_stock *stock = fragments->stock;
  const uint16_t *profiles = stock->mig_profiles + (size_t)node.id * stock->most_gpus;
  const uint16_t *left_milli = hr_stock_gpus(stock, node);
  struct kept state = {.pool_above = stock->pool[node.id] + 1, .cpu_milli = stock->cpu_milli[node.id]};
  uint64_t sum = 0;
  if (state.cpu_milli != HR_NONE) state.cpu_milli -= cpu_milli;
  for (uint32_t gpu = 0; gpu < stock->n_gpus[node.id]; gpu++) {
    bool is_taken = slice && slice->gpus >> gpu & 1;
    uint32_t left = is_taken ? left_milli[gpu] - slice->gpu_milli : left_milli[gpu];
    if (left == 0) continue;
    state.profiles = is_taken ? hr__stock_mig_profiles_after(stock, slice) : profiles[gpu];
    sum += left * useless_pods(fragments, node, state);
  }
  return sum;
}
