/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SLURM_GRES_H
#define HR_POLICIES_SLURM_GRES_H

/*
 * The GPUs of a node and their shards. A GPU is either given whole to a job, or shared by jobs that hold shards of it.
 * A job's shards on a node come from one GPU unless OPT_MULTIPLE_SHARING_GRES_PJ is set.
 *
 * Source: doc/html/gres of SchedMD/slurm.
 */

#include <stdbool.h>
#include <stdint.h>

/* A GPU of a node. */
struct hr__slurm_gpu {
  bool is_whole;   /* given whole to a job */
  uint32_t shards; /* that it is divided into */
  uint32_t shards_used;
};

/* Shards of a GPU that can still be given; 0 if it is given whole. */
static inline uint32_t hr__slurm_shards_free(const struct hr__slurm_gpu *gpu) {
  return gpu->is_whole || gpu->shards_used > gpu->shards ? 0 : gpu->shards - gpu->shards_used;
}

/* Returns whether a GPU can be given whole. */
static inline bool hr__slurm_gpu_is_free(const struct hr__slurm_gpu *gpu) {
  return !gpu->is_whole && gpu->shards_used == 0;
}

/* Returns whether a request of whole GPUs and shards fits on a node. `several`: the shards may come from several
   GPUs. */
bool hr__slurm_gres_fit(const struct hr__slurm_gpu *gpus, uint32_t n_gpus, uint32_t whole, uint32_t shards,
                        bool several);

/* How many of `count` shared resources GPU number `gpu` of `n_gpus` gets if gres.conf does not assign them: they are
   spread evenly, the first GPUs get what is left. */
static inline uint32_t hr__slurm_shared_count(uint32_t count, uint32_t n_gpus, uint32_t gpu) {
  return count / n_gpus + (gpu < count % n_gpus);
}

#endif
