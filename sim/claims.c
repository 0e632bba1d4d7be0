/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory of GPUs that is first come, first served. A job claims what its tasks ask for when it comes up, and has it
 * until it leaves. If there is too little it dies, all of its tasks: it stays where it is and claims nothing, as a
 * container that its node restarts, and tries again after a time that doubles with each death in a row. What is free is
 * kept apart from the stock: that changes while a policy plans, and this only when jobs come up and leave.
 */

#include "sim/engine.h"

/* Kubernetes' CrashLoopBackOff: 10 s, 20 s, 40 s, ..., at most 5 minutes (kubernetes.io, "Pod Lifecycle", how a Pod
   handles problems with containers). */
#define FIRST_BACK_OFF_US (10 * HR_SECOND_US)
#define LONGEST_BACK_OFF_US (300 * HR_SECOND_US)

static bool has_claims(const struct hr__engine *engine, hr_pool pool) {
  return engine->claims.of_gpu && hr_pool_kills(engine->cluster.pools[pool.id].spec);
}

static struct hr__claim *claim_at(const struct hr__engine *engine, hr_node node, uint32_t gpu) {
  return &engine->claims.of_gpu[(size_t)node.id * engine->cluster.stock->most_gpus + gpu];
}

const struct hr__claim *hr__claim_on(const struct hr__engine *engine, hr_pool pool, hr_node node, uint32_t gpu) {
  return has_claims(engine, pool) ? claim_at(engine, node, gpu) : NULL;
}

enum hr_status hr__claims_init(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  bool any = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    any = any || (spec->nodes > 0 && hr_pool_kills(spec));
  }
  if (!any || !cluster->stock) return HR_OK;
  size_t n_gpus = (size_t)cluster->n_nodes * cluster->stock->most_gpus;
  engine->claims.of_gpu = hr_arena_alloc(&engine->arena, n_gpus * sizeof *engine->claims.of_gpu);
  if (!engine->claims.of_gpu) return hr__out_of_memory(engine);
  for (size_t i = 0; i < n_gpus; i++) {
    const struct hr_pool_spec *spec = cluster->pools[cluster->stock->pool[i / cluster->stock->most_gpus]].spec;
    engine->claims.of_gpu[i].left_mib = spec->gpu_mem_mib;
  }
  return HR_OK;
}

/* ---- Taking and giving ------------------------------------------------------------------------------ */

static uint32_t asked_mib(const struct hr__engine *engine, hr_job job) {
  const struct hr_requests *requests = engine->cluster.requests;
  return requests->request[requests->of_job[job.id]].gpu_mem_mib;
}

static bool fits(const struct hr__engine *engine, struct hr_slice slice, uint32_t mib) {
  for (uint64_t rest = slice.gpus; rest; rest &= rest - 1)
    if (claim_at(engine, slice.node, (uint32_t)__builtin_ctzll(rest))->left_mib < mib) return false;
  return true;
}

static void take(const struct hr__engine *engine, struct hr_slice slice, uint32_t mib) {
  for (uint64_t rest = slice.gpus; rest; rest &= rest - 1) {
    struct hr__claim *claim = claim_at(engine, slice.node, (uint32_t)__builtin_ctzll(rest));
    claim->left_mib -= mib;
    claim->tasks++;
    claim->milli = (uint16_t)(claim->milli + slice.gpu_milli / (uint32_t)__builtin_popcountll(slice.gpus));
  }
}

static void give(const struct hr__engine *engine, struct hr_slice slice, uint32_t mib) {
  for (uint64_t rest = slice.gpus; rest; rest &= rest - 1) {
    struct hr__claim *claim = claim_at(engine, slice.node, (uint32_t)__builtin_ctzll(rest));
    claim->left_mib += mib;
    claim->tasks--;
    claim->milli = (uint16_t)(claim->milli - slice.gpu_milli / (uint32_t)__builtin_popcountll(slice.gpus));
  }
}

/* Tasks of one job may meet on a GPU, so each claims after the one before it. */
bool hr__claims_take(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  if (!has_claims(engine, placement->pool)) return true;
  uint32_t mib = asked_mib(engine, job);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    if (fits(engine, placement->slices[i], mib)) {
      take(engine, placement->slices[i], mib);
      continue;
    }
    while (i-- > 0) give(engine, placement->slices[i], mib);
    return false;
  }
  return true;
}

void hr__claims_give(struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  struct hr_placement placement = hr__seat_placement(engine, job, &one);
  if (!has_claims(engine, placement.pool) || engine->attempt[job.id].phase == HR__PHASE_BACKING_OFF) return;
  uint32_t mib = asked_mib(engine, job);
  for (uint32_t i = 0; i < placement.n_slices; i++) give(engine, placement.slices[i], mib);
}

/* ---- Dying ------------------------------------------------------------------------------------------ */

enum hr_status hr__claims_back_off(struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  struct hr__attempt *attempt = &engine->attempt[job.id];
  int64_t back_off_us = FIRST_BACK_OFF_US;
  for (uint32_t i = 0; i < attempt->kills && back_off_us < LONGEST_BACK_OFF_US; i++) back_off_us *= 2;
  if (back_off_us > LONGEST_BACK_OFF_US) back_off_us = LONGEST_BACK_OFF_US;
  attempt->kills++;
  attempt->retry_us = engine->view.now_us + back_off_us;
  engine->claims.killed_us = engine->view.now_us;
  engine->fate[job.id].oom_kills++;
  engine->pool_fate[hr__seat_placement(engine, job, &one).pool.id].oom_kills++;
  return hr__schedule(engine, attempt->retry_us, HR__PENDING_PHASE, job.id);
}
