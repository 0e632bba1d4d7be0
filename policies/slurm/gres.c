/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a request of GPUs and shards fits on a node; see gres.h. */

#include "policies/slurm/gres.h"

bool hr__slurm_gres_fit(const struct hr__slurm_gpu *gpus, uint32_t n_gpus, uint32_t whole, uint32_t shards,
                        bool several) {
  uint32_t n_free = 0, most = 0, most_shared = 0;
  uint64_t sum_shared = 0;
  for (uint32_t i = 0; i < n_gpus; i++) {
    uint32_t free_shards = hr__slurm_shards_free(&gpus[i]);
    if (hr__slurm_gpu_is_free(&gpus[i])) {
      n_free++;
      if (free_shards > most) most = free_shards;
    } else {
      sum_shared += free_shards;
      if (free_shards > most_shared) most_shared = free_shards;
    }
  }
  if (whole > n_free) return false;
  if (shards == 0) return true;
  // GPUs that are left after the whole ones are given: all unused GPUs of a node have the same number of shards
  uint32_t n_left = n_free - whole;
  if (several) return shards <= sum_shared + (uint64_t)n_left * most;
  return shards <= most_shared || (n_left > 0 && shards <= most);
}
