/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * F where GPUs are split by MIG. A pod can use what is left of a GPU if there is, or may be made, an instance of it
 * that will do, whatever the thousandths say. Otherwise as in fragmentation.c.
 */

#include "sim/fragmentation_mig.h"

#include "headroom/policy.h"
#include "sim/stock_mig.h"

/* What F depends on. */
struct state {
  uint32_t n_gpus, cpu_milli, idle_milli;
  uint16_t left_milli[HR_MAX_STOCK_GPUS], profiles[HR_MAX_STOCK_GPUS];
};

static struct state state_of(const struct hr_stock *stock, hr_node node, const struct hr_slice *slice,
                             uint32_t cpu_milli) {
  struct state state = {.n_gpus = stock->n_gpus[node.id], .cpu_milli = stock->cpu_milli[node.id]};
  const uint16_t *profiles = stock->mig_profiles + (size_t)node.id * stock->most_gpus;
  if (state.cpu_milli != HR_NONE) state.cpu_milli -= cpu_milli;
  for (uint32_t gpu = 0; gpu < state.n_gpus; gpu++) {
    state.left_milli[gpu] = hr_stock_gpus(stock, node)[gpu];
    state.profiles[gpu] = profiles[gpu];
    if (slice && slice->gpus >> gpu & 1) {
      state.left_milli[gpu] = (uint16_t)(state.left_milli[gpu] - slice->gpu_milli);
      state.profiles[gpu] = (uint16_t)hr__stock_mig_profiles_after(stock, slice);
    }
    state.idle_milli += state.left_milli[gpu];
  }
  return state;
}

/* What the pod cannot use of what is idle. */
static uint32_t fragment_for(const struct state *state, const struct hr_request *pod, uint32_t cpu_milli,
                             uint32_t pool) {
  uint32_t usable_milli = 0, wanted = pod->mig_profiles ? pod->mig_profiles[pool] : 0;
  if (pod->gpus != 1 || state->cpu_milli < cpu_milli) return state->idle_milli;
  for (uint32_t gpu = 0; gpu < state->n_gpus; gpu++)
    if (state->profiles[gpu] & wanted) usable_milli += state->left_milli[gpu];
  return state->idle_milli - usable_milli;
}

uint64_t hr__mig_fragment(const struct hr_typical_pods *typical, const struct hr_acceptance *acceptance,
                          const struct hr_stock *stock, hr_node node, const struct hr_slice *slice,
                          uint32_t cpu_milli) {
  struct state state = state_of(stock, node, slice, cpu_milli);
  uint32_t pool = stock->pool[node.id];
  uint64_t sum = 0;
  for (uint32_t i = 0; i < typical->count; i++) {
    const struct hr_request *pod = &typical->request[i];
    bool accepts = acceptance->row[(size_t)pod->accept_class * acceptance->n_pools + pool];
    uint32_t pod_cpu_milli = hr_stock_cpu_milli(stock, pod, node);
    sum += typical->pods[i] * (accepts ? fragment_for(&state, pod, pod_cpu_milli, pool) : state.idle_milli);
  }
  return sum;
}
