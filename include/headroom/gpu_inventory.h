/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_GPU_INVENTORY_H
#define HEADROOM_GPU_INVENTORY_H

/*
 * The GPU inventory: the free capacity of each GPU and node, in per-GPU allocation; and what one task of a job
 * requests.
 *
 * For each GPU the inventory has free milli-GPUs and memory, for each node free CPU and memory, and for MIG the
 * instances of each GPU. Nodes are numbered through all pools, the GPUs of a node from 0. The engine maintains one
 * inventory per run; policies can create others to plan. A task is placed in four steps: hr_gpu_inventory_fits, _pick,
 * _slice, _take.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_WHOLE_GPU_MILLI 1000u
/* The maximum number of GPUs per node, so that a set of them is one word. */
#define HR_MAX_STOCK_GPUS 64u

/* A MIG instance; all zero on GPUs that are not partitioned. Profiles and layouts are numbered as in the pool's
   struct hr_mig_spec. */
struct hr_instance {
  uint8_t start, profile;
  uint8_t layout, layout_before; /* of the GPU, after and before the instance is allocated */
};

/* GPUs of one node, allocated to a job. */
struct hr_slice {
  hr_node node;
  uint32_t gpu_milli;
  uint64_t gpus; /* the set of GPUs of the node, bit by bit; 0 in counted allocation */
  struct hr_instance instance;
};

/* What each task of a job requests. */
struct hr_request {
  uint32_t accept_class; /* the pools that it accepts (hr_cluster_accepts) */
  uint32_t tasks;        /* number of tasks of the job, at least 1; the other members are per task */
  uint32_t gpus;
  uint32_t gpu_milli;   /* of each GPU; HR_WHOLE_GPU_MILLI for whole GPUs */
  uint32_t gpu_mem_mib; /* of each GPU; 0: not accounted */
  uint32_t cpu_milli;
  uint64_t mem_mib;
  bool dedicated; /* each task needs its node exclusively */
  /* With MIG: for each pool, the set of suitable profiles (bit p: profile p), [n_pools]; and the number of this
     array among the distinct ones. Else NULL and 0. */
  const uint16_t *mig_profiles;
  uint32_t mig_need;
};

/* The milli-GPUs of all tasks, as requested. */
static inline uint64_t hr_request_milli(const struct hr_request *request) {
  return (uint64_t)request->tasks * request->gpus * request->gpu_milli;
}

struct hr_arena;

/* The distinct requests of a trace, in the order of first appearance. */
struct hr_requests {
  uint32_t count;
  struct hr_request *request; /* [count] */
  uint64_t *jobs;             /* [count]: number of jobs with this request */
  uint32_t *of_job;           /* [n_jobs]; in a streamed run only for jobs that were submitted */
  uint32_t mig_needs;         /* number of distinct `mig_profiles`; 0: no GPU is partitioned */
  struct hr__request_reader *reader;
};
/* Collects the requests of a trace, in the arena. The GPUs of a job are divided equally among its tasks.
   `accept_class`: by job (hr_cluster_accept_class); NULL: 0 for all. `max_gpus`: by accept class, the GPUs of the
   largest node; a task that requests more, as in traces without task counts, is split into several. NULL: no
   splitting. `cluster` may be NULL if no GPU is partitioned. A job that names a MIG profile but no share or memory
   requests those of the profile in the first pool that has it. NULL if memory is exhausted. */
HR_API struct hr_requests *hr_requests_create(struct hr_arena *arena, const struct hr_trace *trace,
                                              const uint32_t *accept_class, const uint32_t *max_gpus,
                                              const struct hr_cluster_spec *cluster);

/* Whether the job needs a node at all. */
static inline bool hr_request_needs_node(const struct hr_request *request) {
  return request->gpus > 0 || request->cpu_milli > 0 || request->mem_mib > 0;
}

/* The state of all nodes. Columns are for reading; only the functions below change them. Resources that a pool does
   not declare (CPU, memory, GPU memory) are unlimited, and so is GPU memory that is first come, first served. */
struct hr_gpu_inventory {
  uint32_t n_nodes, max_gpus; /* max_gpus: of any node */
  uint32_t *pool;             /* [n_nodes] */
  uint8_t *n_gpus;            /* [n_nodes] */
  uint32_t *cpu_milli;        /* [n_nodes]: free; HR_NONE: unlimited */
  uint64_t *mem_mib;          /* [n_nodes]: free; UINT64_MAX: unlimited */
  uint16_t *gpu_milli;        /* [n_nodes][max_gpus]: free, of each GPU; 0 beyond the last GPU of a node */
  uint32_t *gpu_mem_mib;      /* [n_nodes][max_gpus]: free; HR_NONE: unlimited, or first come, first served */
  uint16_t *gpu_tasks;        /* [n_nodes][max_gpus]: tasks on the GPU */
  uint32_t *left_milli;       /* [n_nodes]: free on all GPUs together */
  uint16_t *widest_milli;     /* [n_nodes]: free on the GPU with the most */
  uint16_t *slot_milli;       /* [n_nodes]: what a task takes of each GPU, whatever it requests; 0: as requested */
  uint32_t *slot_mem_mib;     /* [n_nodes]: maximum GPU memory of a task; HR_NONE: no limit */
  uint16_t *max_tasks;        /* [n_nodes]: maximum tasks on a GPU */
  uint32_t *tasks;            /* [n_nodes]: tasks on the node */
  uint8_t *alone;             /* [n_nodes]: a task has the node exclusively */
  uint8_t *closed;            /* [n_nodes]: no task may be placed on it */
  uint32_t *gpu_cpu_milli;    /* [n_pools]: CPU per GPU of tasks that do not state their CPU; NULL: none in any pool */
  /* With MIG; else NULL. */
  const struct hr_mig_spec **mig; /* [n_pools]; NULL for pools without MIG */
  struct hr_mig_gpu *mig_gpu;     /* [n_nodes][max_gpus]: the instances of each GPU */
  uint8_t *mig_taken;             /* [n_nodes][max_gpus]: the starts of instances that tasks have, as a set */
  uint8_t *mig_layout;            /* [n_nodes][max_gpus]: the layout */
  /* [n_nodes][max_gpus]: the profiles of which a task can get an instance now, as a set */
  uint16_t *mig_profiles;
  uint16_t *mig_asked; /* [n_pools]: the profiles that some request can use, as a set */
};

/* Creates an inventory of empty nodes, in the arena. `requests`: those to expect, for which placements on demand
   leave room; may be NULL. NULL if memory is exhausted or a node has more than HR_MAX_STOCK_GPUS GPUs. */
HR_API struct hr_gpu_inventory *hr_gpu_inventory_create(struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                                        const struct hr_requests *requests);

/* The free milli-GPUs of each GPU of a node. */
static inline const uint16_t *hr_gpu_inventory_gpus(const struct hr_gpu_inventory *inventory, hr_node node) {
  return inventory->gpu_milli + (size_t)node.id * inventory->max_gpus;
}

/* The memory of each GPU that tasks reserve; HR_NONE: not accounted (MIG instances have memory of their own). */
static inline uint32_t hr_pool_reserved_mem_mib(const struct hr_pool_spec *spec) {
  bool reserved = spec->memory == HR_GPU_MEMORY_RESERVED && spec->gpu_mem_mib > 0 && !spec->mig;
  return reserved ? spec->gpu_mem_mib : HR_NONE;
}

/* The number of such tasks that fit on an empty node of the pool; HR_NONE: any number. */
HR_API uint32_t hr_pool_max_tasks(const struct hr_cluster_spec *spec, hr_pool pool, const struct hr_request *request);

/* The maximum GPU memory of a task in the pool, its part with MPS in equal parts; HR_NONE: no limit. */
static inline uint32_t hr_pool_part_mem_mib(const struct hr_pool_spec *spec) {
  bool limited = spec->sharing == HR_SHARING_MPS && spec->replicas > 0 && spec->gpu_mem_mib > 0;
  return limited ? spec->gpu_mem_mib / spec->replicas : HR_NONE;
}

/* What a task takes of each GPU in the pool, whatever it requests: the whole GPU if GPUs are not shared, an equal
   part if there are such; 0: what it requests, or the share of its MIG instance. */
static inline uint32_t hr_pool_slot_milli(const struct hr_pool_spec *spec) {
  if (spec->sharing == HR_SHARING_WHOLE) return HR_WHOLE_GPU_MILLI;
  bool parted = spec->sharing != HR_SHARING_FRACTION && spec->replicas > 0;
  return parted ? HR_WHOLE_GPU_MILLI / spec->replicas : 0;
}

/* The MIG settings of the node; NULL: its GPUs are not partitioned. */
static inline const struct hr_mig_spec *hr_gpu_inventory_mig(const struct hr_gpu_inventory *inventory, hr_node node) {
  return inventory->mig ? inventory->mig[inventory->pool[node.id]] : NULL;
}

/* The milli-GPUs that a task takes of each GPU of the node; with MIG, what it requests, which its instance
   approximates. */
static inline uint32_t hr_gpu_inventory_milli(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node) {
  uint32_t slot_milli = inventory->slot_milli[node.id];
  return slot_milli == 0 || request->gpus == 0 ? request->gpu_milli : slot_milli;
}

/* The CPU that comes with a share of GPUs, rounded up. */
static inline uint32_t hr_cpu_milli_with(uint32_t cpu_milli_per_gpu, uint64_t gpu_milli) {
  return (uint32_t)((cpu_milli_per_gpu * gpu_milli + HR_WHOLE_GPU_MILLI - 1) / HR_WHOLE_GPU_MILLI);
}

/* The CPU that a task takes on the node: its stated request, or else the CPU proportional to its GPUs. */
static inline uint32_t hr_gpu_inventory_cpu_milli(const struct hr_gpu_inventory *inventory,
                                                  const struct hr_request *request, hr_node node) {
  if (!inventory->gpu_cpu_milli || request->cpu_milli || request->gpus == 0) return request->cpu_milli;
  return hr_cpu_milli_with(inventory->gpu_cpu_milli[inventory->pool[node.id]],
                           (uint64_t)request->gpus * hr_gpu_inventory_milli(inventory, request, node));
}
/* The CPU that a task takes on a node of the pool. */
static inline uint32_t hr_pool_cpu_milli(const struct hr_pool_spec *spec, const struct hr_request *request) {
  uint32_t slot_milli = hr_pool_slot_milli(spec), milli = slot_milli ? slot_milli : request->gpu_milli;
  if (request->cpu_milli || request->gpus == 0) return request->cpu_milli;
  return hr_cpu_milli_with(spec->cpu_milli_per_gpu, (uint64_t)request->gpus * milli);
}

/* The number of idle GPUs of the node. */
HR_API uint32_t hr_gpu_inventory_idle_gpus(const struct hr_gpu_inventory *inventory, hr_node node);
/* The set of GPUs of the node with room for one task's share of a GPU. */
HR_API uint64_t hr_gpu_inventory_fitting_gpus(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node);
/* Whether one task fits on the node, and the node is open. Whether the job accepts the pool is not checked. */
HR_API bool hr_gpu_inventory_fits(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  hr_node node);
/* As hr_gpu_inventory_fits, for `count` requests, at most 64: bit i is set if request i fits. */
HR_API uint64_t hr_gpu_inventory_fits_each(const struct hr_gpu_inventory *inventory,
                                           const struct hr_request *const *requests, uint32_t count, hr_node node);
/* The GPUs of a node that a task takes by default, as a set; the task must fit. Whole GPUs: the idle ones with the
   lowest numbers. Shares: the GPUs with the least left on which it fits, the lowest numbers first. MIG: a GPU that
   retains its layout if possible, then the smallest profile, then the GPU with the least left. */
HR_API uint64_t hr_gpu_inventory_pick(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                      hr_node node);
/* As hr_gpu_inventory_pick, limited to `gpus`, for nodes without MIG: as many as fit, at most as many as the task
   requests. */
HR_API uint64_t hr_gpu_inventory_pick_of(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                         hr_node node, uint64_t gpus);
/* The slice of a task on GPUs of a node that fit it: its share of them and, with MIG, its instance. That is an idle
   instance of the smallest suitable profile; on demand, a new one at the start that leaves the most room for the
   profiles in use (hr_mig_best_start). A GPU without tasks can get another layout: if its present one has no
   suitable profile, the first layout with the smallest one; and for jobs with several tasks, the first layout with
   the most suitable instances, if it has more. */
HR_API struct hr_slice hr_gpu_inventory_slice(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node, uint64_t gpus);
/* The rule that a slice for a task breaks; NULL if none. */
HR_API const char *hr_gpu_inventory_refuse(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                           const struct hr_slice *slice);
/* Allocates a slice to a task (hr_gpu_inventory_refuse must be NULL); and releases it. */
HR_API void hr_gpu_inventory_take(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
HR_API void hr_gpu_inventory_give(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
/* Undoes the last allocation on these GPUs: they also get their previous layout back. */
HR_API void hr_gpu_inventory_undo(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
/* Resets a node without tasks: its GPUs get their initial layout. */
HR_API void hr_gpu_inventory_renew(struct hr_gpu_inventory *inventory, hr_node node);

#ifdef __cplusplus
}
#endif
#endif
