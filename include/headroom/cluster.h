/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_CLUSTER_H
#define HEADROOM_CLUSTER_H

/* What a cluster is made of: pools of identical nodes; and how fast jobs work on them. */

#include "headroom/base.h"
#include "headroom/market.h"
#include "headroom/mig.h"
#include "headroom/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How jobs share the GPUs of a pool. */
#define HR_SHARING_TABLE(X)                                                                                            \
  X(HR_SHARING_WHOLE, "whole")       /* not at all: each has GPUs of its own */                                        \
  X(HR_SHARING_FRACTION, "fraction") /* a job that asks for thousandths of a GPU gets these, and others the rest */    \
  X(HR_SHARING_MPS, "mps")           /* likewise, or one of `replicas` equal parts; at most `clients` on a GPU */      \
  X(HR_SHARING_TIME_SLICE, "time-slice") /* `replicas` jobs on a GPU take turns */                                     \
  X(HR_SHARING_MIG, "mig")               /* each has an instance of a GPU that is split, struct hr_mig_spec */

enum hr_sharing {
#define HR_SHARING_NAME(name, text) name,
  HR_SHARING_TABLE(HR_SHARING_NAME)
#undef HR_SHARING_NAME
      HR_N_SHARINGS
};

/* "whole", "fraction", ... */
HR_API const char *hr_sharing_name(enum hr_sharing sharing);

/* Whose the memory of shared GPUs is. */
#define HR_GPU_MEMORY_TABLE(X)                                                                                         \
  X(HR_GPU_MEMORY_RESERVED, "reserved")     /* the task's that asks for it: others go where there is enough left */    \
  X(HR_GPU_MEMORY_FIRST_COME, "first-come") /* his who takes it first, and who finds too little dies and tries again;  \
                                               scenarios have it with time-slice alone, where NVIDIA's device plugin   \
                                               neither reserves nor isolates memory (NVIDIA/k8s-device-plugin,         \
                                               README.md, "Shared Access to GPUs") */

enum hr_gpu_memory {
#define HR_GPU_MEMORY_NAME(name, text) name,
  HR_GPU_MEMORY_TABLE(HR_GPU_MEMORY_NAME)
#undef HR_GPU_MEMORY_NAME
      HR_N_GPU_MEMORIES
};

/* "reserved", "first-come". */
HR_API const char *hr_gpu_memory_name(enum hr_gpu_memory memory);

/* How fast jobs are that share a GPU. */
struct hr_interference_step {
  uint32_t up_to_milli; /* of the GPU, by all of them together */
  uint32_t speed_ppm;   /* of each, against being alone; above 0 */
};

/* How fast a job of one model is beside one of another, when these two alone are on a GPU. */
struct hr_pair_speed {
  char *model, *with;
  uint32_t speed_ppm; /* of `model`; above 0 */
};

/* When the instances of a pool's GPUs are made. */
#define HR_MIG_MODE_TABLE(X)                                                                                           \
  X(HR_MIG_STATIC, "static")       /* before the run: each GPU has its layout for good */                              \
  X(HR_MIG_DYNAMIC, "dynamic")     /* a GPU without jobs may be given another layout, which takes a time */            \
  X(HR_MIG_ON_DEMAND, "on-demand") /* each for one job, where there is room on a GPU, and gone with the job */

enum hr_mig_mode {
#define HR_MIG_MODE_NAME(name, text) name,
  HR_MIG_MODE_TABLE(HR_MIG_MODE_NAME)
#undef HR_MIG_MODE_NAME
      HR_N_MIG_MODES
};
HR_API const char *hr_mig_mode_name(enum hr_mig_mode mode);

struct hr_mig_layout {
  char *name;
  struct hr_mig_gpu gpu;
  uint8_t starts[HR_MIG_PROFILES]; /* of its instances of each profile: a set, bit s for memory slice s */
};

/* How a pool's GPUs are split. It all comes from malloc. */
struct hr_mig_spec {
  struct hr_mig_type type; /* with profiles and names of its own */
  enum hr_mig_mode mode;
  struct hr_mig_layout *layouts; /* under HR_MIG_DYNAMIC, a GPU may be given any of them */
  uint32_t n_layouts;
  uint8_t *layout_of_gpu; /* [gpus_per_node], at first; NULL under HR_MIG_ON_DEMAND */
  int64_t lead_us;        /* to give a GPU another layout; to make an instance on demand */
};
/* A copy of the type, no layout yet; NULL when out of memory. */
HR_API struct hr_mig_spec *hr_mig_spec_create(const struct hr_mig_type *type, enum hr_mig_mode mode);
/* Adds a layout, its name copied, or finds it; `number`: its place. */
HR_API enum hr_status hr_mig_spec_add(struct hr_mig_spec *spec, const char *name, const struct hr_mig_gpu *gpu,
                                      uint32_t *number);
HR_API void hr_mig_spec_destroy(struct hr_mig_spec *spec);

struct hr_pool_spec {
  char *name;
  char *gpu;      /* GPU type, e.g. "A100-80"; what a job's acceptable types are compared with */
  char *region;   /* likewise; NULL: in none */
  uint32_t nodes; /* 0: the pool is as good as not there */
  uint32_t gpus_per_node;
  uint32_t cpu_milli_per_node; /* 0: unknown */
  uint64_t mem_mib_per_node;   /* 0: unknown */
  uint64_t storage_mib_s;      /* bandwidth that the writers of checkpoints share; 0: unknown */
  struct hr_market_spec market;
  uint32_t classes;     /* only jobs of these may use it: bits 1 << enum hr_job_class; 0: any job */
  uint32_t gpu_mem_mib; /* memory of each GPU; 0: unknown */
  enum hr_sharing sharing;
  enum hr_gpu_memory memory;
  uint32_t replicas;                         /* equal parts of each GPU; 0: there are none */
  uint32_t clients;                          /* of a GPU under MPS, at most; 0: HR_MPS_CLIENTS */
  struct hr_interference_step *interference; /* rising; beyond the last one, the last one's. From malloc */
  uint32_t n_interference;                   /* 0: jobs do not slow each other down */
  struct hr_pair_speed *pairs; /* go before all else where they are known. From malloc, with their texts */
  uint32_t n_pairs;
  struct hr_mig_spec *mig; /* NULL unless its GPUs are split by MIG */
  struct hr_topology topology;
  uint32_t cpu_milli_per_gpu; /* that a task which tells no CPU takes with each GPU, where GPUs are told apart */
};

/* Whether tasks that find too little memory on their GPUs die there, as it is kept for nobody. */
static inline bool hr_pool_kills(const struct hr_pool_spec *spec) {
  return spec->memory == HR_GPU_MEMORY_FIRST_COME && spec->gpu_mem_mib > 0;
}

struct hr_cluster_spec {
  struct hr_pool_spec *pools;
  uint32_t n_pools;
  uint32_t *node_order; /* [nodes], by node: its place among all, where a rule takes the first of equal ones; from
                           malloc; NULL: the order of nodes */
  bool by_gpu;          /* GPUs are told apart, whatever the pools say */
};

/* Clients of a GPU under MPS, as NVIDIA's documentation has it for Volta and later. */
#define HR_MPS_CLIENTS 48u

/* Bounds on what a scenario may ask for. */
#define HR_MAX_NODES UINT32_C(16000000)
#define HR_MAX_GPUS UINT32_C(4000000)
#define HR_MAX_POOLS 1024u

/* Appends a pool; strings are copied; prices and levels of its market, its interference, its pairs and how it is split,
   from malloc, are taken over on success. */
HR_API enum hr_status hr_cluster_spec_add(struct hr_cluster_spec *spec, const struct hr_pool_spec *pool,
                                          struct hr_error *error);
/* Frees its interference, its pairs and how it is split. */
HR_API void hr_pool_sharing_finish(struct hr_pool_spec *pool);
HR_API void hr_cluster_spec_finish(struct hr_cluster_spec *spec);
HR_API uint64_t hr_cluster_spec_gpus(const struct hr_cluster_spec *spec);
/* Whether GPUs are told apart: a pool that has nodes shares its own, or parts those of its nodes, or `by_gpu` says so.
 */
HR_API bool hr_cluster_spec_by_gpu(const struct hr_cluster_spec *spec);

/* ---- Speeds ----------------------------------------------------------------------------------------- */

/* A model as it trains on so many GPUs. */
struct hr_speed_row {
  char *model;
  uint32_t gpus;
};

/*
 * How fast jobs work, by their model and the pool, in millionths of their speed on the reference type, on which they
 * take their recorded run time. 0: such jobs cannot run there. Rows are in order of (model, gpus) and distinct; a job
 * goes by the row of its model with the most GPUs that are not more than its own, by the model's first row where all
 * are for more, and by the row after the last where its model has none. It all comes from malloc.
 */
struct hr_speeds {
  char *reference; /* GPU type */
  struct hr_speed_row *rows;
  uint32_t n_rows, n_pools;
  uint32_t *ppm; /* [n_rows + 1][n_pools] */
};
HR_API void hr_speeds_destroy(struct hr_speeds *speeds);

#ifdef __cplusplus
}
#endif
#endif
