/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/check_claims.h"

#include <stdlib.h>

enum hr_status hr__claims_use_init(struct hr__claims_use *use, const struct hr__engine *engine) {
  *use = (struct hr__claims_use){0};
  if (!engine->claims.of_gpu) return HR_OK;
  size_t n_gpus = (size_t)engine->cluster.n_nodes * engine->cluster.stock->most_gpus;
  use->of_gpu = calloc(n_gpus + 1, sizeof *use->of_gpu);
  return use->of_gpu ? HR_OK : HR_NO_MEMORY;
}

void hr__claims_use_finish(struct hr__claims_use *use) {
  free(use->of_gpu);
}

void hr__claims_use_add(struct hr__claims_use *use, const struct hr__engine *engine, hr_job job,
                        const struct hr_placement *placement) {
  if (!use->of_gpu || engine->attempt[job.id].phase == HR__PHASE_BACKING_OFF) return;
  const struct hr_requests *requests = engine->cluster.requests;
  const struct hr_request *request = &requests->request[requests->of_job[job.id]];
  uint32_t most_gpus = engine->cluster.stock->most_gpus;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct hr_slice slice = placement->slices[i];
    for (uint32_t gpu = 0; gpu < most_gpus; gpu++) {
      if (!(slice.gpus >> gpu & 1)) continue;
      struct hr__claim_sum *sum = &use->of_gpu[(size_t)slice.node.id * most_gpus + gpu];
      sum->mib += request->gpu_mem_mib;
      sum->tasks++;
      sum->milli += slice.gpu_milli / request->gpus;
    }
  }
}

static const char *check_gpu(const struct hr__claim *claim, const struct hr__claim_sum *sum, uint32_t mem_mib) {
  if (sum->mib > mem_mib) return "tasks claim more memory than a GPU has";
  if (sum->mib + claim->left_mib != mem_mib) return "the memory that is left of a GPU differs";
  if (sum->tasks != claim->tasks || sum->milli != claim->milli) return "the tasks that came up on a GPU differ";
  return NULL;
}

const char *hr__claims_use_check(const struct hr__claims_use *use, const struct hr__engine *engine, uint32_t *node) {
  const struct hr_cluster *cluster = &engine->cluster;
  for (uint32_t i = 0; use->of_gpu && i < cluster->n_pools; i++) {
    const struct hr__pool *pool = &cluster->pools[i];
    if (!hr_pool_kills(pool->spec)) continue;
    for (*node = pool->first_node.id; *node < pool->first_node.id + pool->spec->nodes; (*node)++)
      for (uint32_t gpu = 0; gpu < pool->spec->gpus_per_node; gpu++) {
        size_t at = (size_t)*node * cluster->stock->most_gpus + gpu;
        const char *fault = check_gpu(&engine->claims.of_gpu[at], &use->of_gpu[at], pool->spec->gpu_mem_mib);
        if (fault) return fault;
      }
  }
  return NULL;
}
