/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPUs that MIG splits anew: what it takes until jobs work on their instances. */

#include "sim/engine.h"

enum hr_status hr__splits_init(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  int64_t longest_us = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    const struct hr_mig_spec *mig = spec->nodes > 0 ? spec->mig : NULL;
    if (mig && mig->lead_us > longest_us) longest_us = mig->lead_us;
  }
  if (longest_us == 0) return HR_OK;
  engine->longest_us += longest_us;
  size_t n_gpus = (size_t)cluster->n_nodes * cluster->stock->most_gpus + 1;
  engine->split_us = hr_arena_alloc(&engine->arena, n_gpus * sizeof *engine->split_us);
  return engine->split_us ? HR_OK : hr__out_of_memory(engine);
}

/* Who comes to a GPU that is being split waits for it, too. */
static int64_t lead_us(struct hr__engine *engine, const struct hr_mig_spec *mig, const struct hr_slice *slice) {
  if (mig->mode == HR_MIG_ON_DEMAND) return mig->lead_us;
  size_t gpu = (size_t)slice->node.id * engine->cluster.stock->most_gpus + (uint32_t)__builtin_ctzll(slice->gpus);
  int64_t now_us = engine->view.now_us;
  if (slice->instance.layout != slice->instance.layout_before) engine->split_us[gpu] = now_us + mig->lead_us;
  return engine->split_us[gpu] > now_us ? engine->split_us[gpu] - now_us : 0;
}

int64_t hr__splits_lead_us(struct hr__engine *engine, const struct hr_placement *placement) {
  const struct hr_mig_spec *mig = engine->split_us ? engine->cluster.pools[placement->pool.id].spec->mig : NULL;
  int64_t longest_us = 0;
  for (uint32_t i = 0; mig && i < placement->n_slices; i++) {
    if (!placement->slices[i].gpus) continue;
    int64_t one_us = lead_us(engine, mig, &placement->slices[i]);
    if (one_us > longest_us) longest_us = one_us;
  }
  return longest_us;
}
