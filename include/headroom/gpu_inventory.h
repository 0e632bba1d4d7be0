/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_GPU_INVENTORY_H
#define HEADROOM_GPU_INVENTORY_H

/*
 * The GPU inventory: the free capacity of each GPU and node in per-GPU allocation. Also the request of one task of a
 * job.
 *
 * For each GPU the inventory has the free milli-GPUs, the free memory and, with MIG, the instances. For each node it
 * has the free CPU and memory. Nodes are numbered through all pools; the GPUs of a node are numbered from 0. The engine
 * maintains one inventory per run; policies can create other inventories for planning.
 *
 * A task is placed in four steps: hr_gpu_inventory_fits, hr_gpu_inventory_pick, hr_gpu_inventory_slice,
 * hr_gpu_inventory_take.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_WHOLE_GPU_MILLI 1000u
/* The maximum number of GPUs per node. It allows a set of GPUs to be one 64-bit word. */
#define HR_MAX_STOCK_GPUS 64u

/* A MIG instance of a GPU; all members are 0 on GPUs without MIG. Profiles and layouts are indices into the pool's
   struct hr_mig_spec. `start`: first memory slice. */
struct hr_instance {
  uint8_t start, profile;
  uint8_t layout, layout_before; /* layout of the GPU after and before the instance is allocated */
};

/* A slot of a placement: the GPUs of one node that are allocated to a job. */
struct hr_slice {
  hr_node node;
  uint32_t gpu_milli; /* the sum over all GPUs of the slice */
  uint64_t gpus;      /* set of GPUs of the node: bit g is GPU g; 0 in counted allocation */
  struct hr_instance instance;
};

/* What each task of a job requests. */
struct hr_request {
  /* identifies the pools that the job accepts, see hr_cluster_accepts */
  uint32_t accept_class;
  /* number of tasks of the job, at least 1; the members below are per task */
  uint32_t tasks;
  uint32_t gpus;
  uint32_t gpu_milli;   /* share of each GPU; HR_WHOLE_GPU_MILLI for whole GPUs */
  uint32_t gpu_mem_mib; /* memory of each GPU; 0: not accounted */
  uint32_t cpu_milli;
  uint64_t mem_mib;
  bool dedicated; /* each task needs a node exclusively */
  /* With MIG, [n_pools]: for each pool the set of suitable profiles (bit p is profile p). Equal arrays are stored once;
     `mig_need` is the number of this array among the distinct ones. Without MIG: NULL and 0. */
  const uint16_t *mig_profiles;
  uint32_t mig_need;
};

/* The milli-GPUs of all tasks of a request. */
static inline uint64_t hr_request_milli(const struct hr_request *request) {
  return (uint64_t)request->tasks * request->gpus * request->gpu_milli;
}

struct hr_arena;

/* The distinct requests of a trace, in the order of first appearance. */
struct hr_requests {
  uint32_t count;
  struct hr_request *request; /* [count] */
  uint64_t *jobs;             /* [count]: number of jobs with each request */
  uint32_t *of_job;   /* [n_jobs]: index into `request`; in a streamed run, valid only for jobs that were submitted */
  uint32_t mig_needs; /* number of distinct `mig_profiles` arrays; 0: no GPU is partitioned */
  struct hr__request_reader *reader; /* internal */
};
/*
 * Collects the requests of a trace, in the arena. The GPUs of a job are divided equally among its tasks. Returns NULL
 * if memory is exhausted.
 *
 * `accept_class`: [n_jobs], see hr_cluster_accept_class; NULL: class 0 for all jobs. `max_gpus`: by accept class, the
 * number of GPUs of the largest node; a task that requests more is divided into several tasks, as is needed for traces
 * without task counts. NULL: tasks are not divided. `cluster` may be NULL if no GPU is partitioned.
 *
 * A job that names a MIG profile without a share or without a memory size requests the share or memory of the profile,
 * as defined in the first pool that has the profile.
 */
HR_API struct hr_requests *hr_requests_create(struct hr_arena *arena, const struct hr_trace *trace,
                                              const uint32_t *accept_class, const uint32_t *max_gpus,
                                              const struct hr_cluster_spec *cluster);

/* Whether a task of the request needs any resource of a node. */
static inline bool hr_request_needs_node(const struct hr_request *request) {
  return request->gpus > 0 || request->cpu_milli > 0 || request->mem_mib > 0;
}

/* The state of all nodes. Read the columns directly; change them only through the functions below. A resource that a
   pool does not declare (CPU, memory, GPU memory) is unlimited. GPU memory that is allocated first come, first served
   is also treated as unlimited. */
struct hr_gpu_inventory {
  uint32_t n_nodes, max_gpus; /* max_gpus: maximum number of GPUs of a node */
  uint32_t *pool;             /* [n_nodes]: index of the pool */
  uint8_t *n_gpus;            /* [n_nodes]: number of GPUs */
  uint32_t *cpu_milli;        /* [n_nodes]: free milli-CPUs; HR_NONE: unlimited */
  uint64_t *mem_mib;          /* [n_nodes]: free memory; UINT64_MAX: unlimited */
  uint16_t *gpu_milli;        /* [n_nodes][max_gpus]: free milli-GPUs; 0 beyond the last GPU of a node */
  uint32_t *gpu_mem_mib;      /* [n_nodes][max_gpus]: free GPU memory; HR_NONE: unlimited */
  uint16_t *gpu_tasks;        /* [n_nodes][max_gpus]: number of tasks on the GPU */
  uint32_t *left_milli;       /* [n_nodes]: free milli-GPUs of all GPUs together */
  uint16_t *widest_milli;     /* [n_nodes]: free milli-GPUs of the GPU with the most */
  /* [n_nodes]: milli-GPUs that every task takes of each GPU; 0: a task takes the share that it requests */
  uint16_t *slot_milli;
  uint32_t *slot_mem_mib; /* [n_nodes]: maximum memory of a task on each GPU; HR_NONE: no limit */
  uint16_t *max_tasks;    /* [n_nodes]: maximum number of tasks on a GPU */
  uint32_t *tasks;        /* [n_nodes]: number of tasks on the node */
  uint8_t *alone;         /* [n_nodes]: 1 if a task has the node exclusively */
  uint8_t *closed;        /* [n_nodes]: 1 if no task may be placed on the node */
  /* [n_pools]: milli-CPUs per GPU for tasks that do not state their CPU; NULL: no pool has such a setting */
  uint32_t *gpu_cpu_milli;
  /* The columns below are NULL if no pool uses MIG. */
  const struct hr_mig_spec **mig; /* [n_pools]; NULL for a pool without MIG */
  struct hr_mig_gpu *mig_gpu;     /* [n_nodes][max_gpus]: the instances of each GPU */
  uint8_t *mig_taken;             /* [n_nodes][max_gpus]: set of the starts of instances that tasks occupy */
  uint8_t *mig_layout;            /* [n_nodes][max_gpus]: index of the layout */
  /* [n_nodes][max_gpus]: set of the profiles of which a task can get an instance now */
  uint16_t *mig_profiles;
  uint16_t *mig_asked; /* [n_pools]: set of the profiles that a request of the trace can use */
};

/* Creates an inventory of nodes without tasks, in the arena. `requests`: the expected requests; MIG instances on demand
   are placed such that room remains for these requests. NULL: unknown. Returns NULL if memory is exhausted or a node
   has more than HR_MAX_STOCK_GPUS GPUs. */
HR_API struct hr_gpu_inventory *hr_gpu_inventory_create(struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                                        const struct hr_requests *requests);

/* Returns the free milli-GPUs of each GPU of a node, an array of max_gpus entries. */
static inline const uint16_t *hr_gpu_inventory_gpus(const struct hr_gpu_inventory *inventory, hr_node node) {
  return inventory->gpu_milli + (size_t)node.id * inventory->max_gpus;
}

/* Returns the memory of each GPU that tasks can reserve; HR_NONE: memory is not accounted. Memory is not accounted for
   MIG, because MIG instances have their own memory. */
static inline uint32_t hr_pool_reserved_mem_mib(const struct hr_pool_spec *spec) {
  bool reserved = spec->memory == HR_GPU_MEMORY_RESERVED && spec->gpu_mem_mib > 0 && !spec->mig;
  return reserved ? spec->gpu_mem_mib : HR_NONE;
}

/* Returns the number of tasks of `request` that fit on a node of the pool without other tasks; HR_NONE: any number. */
HR_API uint32_t hr_pool_max_tasks(const struct hr_cluster_spec *spec, hr_pool pool, const struct hr_request *request);

/* Returns the maximum GPU memory of a task in the pool: with MPS in equal parts, the memory of a part. HR_NONE: no
   limit. */
static inline uint32_t hr_pool_part_mem_mib(const struct hr_pool_spec *spec) {
  bool limited = spec->sharing == HR_SHARING_MPS && spec->replicas > 0 && spec->gpu_mem_mib > 0;
  return limited ? spec->gpu_mem_mib / spec->replicas : HR_NONE;
}

/* Returns the milli-GPUs that every task takes of each GPU in the pool: 1000 if GPUs are not shared, the equal part if
   GPUs are divided into equal parts. 0: a task takes the share that it requests, or the share of its MIG instance. */
static inline uint32_t hr_pool_slot_milli(const struct hr_pool_spec *spec) {
  if (spec->sharing == HR_SHARING_WHOLE) return HR_WHOLE_GPU_MILLI;
  bool parted = spec->sharing != HR_SHARING_FRACTION && spec->replicas > 0;
  return parted ? HR_WHOLE_GPU_MILLI / spec->replicas : 0;
}

/* Returns the MIG settings of the node; NULL if its GPUs are not partitioned. */
static inline const struct hr_mig_spec *hr_gpu_inventory_mig(const struct hr_gpu_inventory *inventory, hr_node node) {
  return inventory->mig ? inventory->mig[inventory->pool[node.id]] : NULL;
}

/* Returns the milli-GPUs that a task takes of each GPU of the node. With MIG this is the requested share; the share of
   the instance that the task gets may differ. */
static inline uint32_t hr_gpu_inventory_milli(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node) {
  uint32_t slot_milli = inventory->slot_milli[node.id];
  return slot_milli == 0 || request->gpus == 0 ? request->gpu_milli : slot_milli;
}

/* Returns the milli-CPUs for `gpu_milli` milli-GPUs at `cpu_milli_per_gpu` milli-CPUs per GPU, rounded up. */
static inline uint32_t hr_cpu_milli_with(uint32_t cpu_milli_per_gpu, uint64_t gpu_milli) {
  return (uint32_t)((cpu_milli_per_gpu * gpu_milli + HR_WHOLE_GPU_MILLI - 1) / HR_WHOLE_GPU_MILLI);
}

/* Returns the milli-CPUs that a task takes on the node: the CPU that it requests or, if it requests none, the pool's
   CPU per GPU times its share of GPUs. */
static inline uint32_t hr_gpu_inventory_cpu_milli(const struct hr_gpu_inventory *inventory,
                                                  const struct hr_request *request, hr_node node) {
  if (!inventory->gpu_cpu_milli || request->cpu_milli || request->gpus == 0) return request->cpu_milli;
  return hr_cpu_milli_with(inventory->gpu_cpu_milli[inventory->pool[node.id]],
                           (uint64_t)request->gpus * hr_gpu_inventory_milli(inventory, request, node));
}
/* Returns the milli-CPUs that a task takes on a node of the pool. */
static inline uint32_t hr_pool_cpu_milli(const struct hr_pool_spec *spec, const struct hr_request *request) {
  uint32_t slot_milli = hr_pool_slot_milli(spec), milli = slot_milli ? slot_milli : request->gpu_milli;
  if (request->cpu_milli || request->gpus == 0) return request->cpu_milli;
  return hr_cpu_milli_with(spec->cpu_milli_per_gpu, (uint64_t)request->gpus * milli);
}

/* Returns the number of GPUs of the node without tasks. */
HR_API uint32_t hr_gpu_inventory_idle_gpus(const struct hr_gpu_inventory *inventory, hr_node node);
/* Returns the set of GPUs of the node that have room for one task's share of a GPU. */
HR_API uint64_t hr_gpu_inventory_fitting_gpus(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node);
/* Whether one task fits on the node and the node is not closed. Does not check whether the job accepts the pool. */
HR_API bool hr_gpu_inventory_fits(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  hr_node node);
/* Checks hr_gpu_inventory_fits for `count` requests, at most 64. Bit i of the returned set is set if requests[i]
   fits. */
HR_API uint64_t hr_gpu_inventory_fits_each(const struct hr_gpu_inventory *inventory,
                                           const struct hr_request *const *requests, uint32_t count, hr_node node);
/* Returns the set of GPUs of a node that a task takes by default. The task must fit on the node. For whole GPUs: the
   idle GPUs with the lowest numbers. For shares: the GPUs with the fewest free milli-GPUs on which the task fits; of
   equal GPUs, the lowest numbers. For MIG: a GPU that can keep its layout is preferred, then a GPU with a smaller
   suitable profile, then the GPU with the fewest free milli-GPUs. */
HR_API uint64_t hr_gpu_inventory_pick(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                      hr_node node);
/* As hr_gpu_inventory_pick, but selects only GPUs of the set `gpus`; for nodes without MIG. Returns fewer GPUs than the
   task requests if the set does not have enough. */
HR_API uint64_t hr_gpu_inventory_pick_of(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                         hr_node node, uint64_t gpus);
/*
 * Returns the slice of a task on the set `gpus` of a node, on which the task must fit: the share of these GPUs and,
 * with MIG, the instance.
 *
 * The instance is an idle instance of the smallest suitable profile. With HR_MIG_ON_DEMAND it is a new instance at the
 * start that leaves the most room for the profiles in use (hr_mig_best_start). With HR_MIG_DYNAMIC a GPU without tasks
 * can get another layout. If its present layout has no suitable profile, the GPU gets the first layout with the
 * smallest suitable profile. For jobs with several tasks, the GPU gets the first layout with the most suitable
 * instances, if that layout has more of them than the present one.
 */
HR_API struct hr_slice hr_gpu_inventory_slice(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node, uint64_t gpus);
/* Returns a description of the rule that allocating `slice` to a task would break; NULL if it breaks no rule. */
HR_API const char *hr_gpu_inventory_refuse(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                           const struct hr_slice *slice);
/* hr_gpu_inventory_take allocates a slice to a task; hr_gpu_inventory_refuse must return NULL for it.
   hr_gpu_inventory_give releases the slice. */
HR_API void hr_gpu_inventory_take(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
HR_API void hr_gpu_inventory_give(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
/* Undoes the last hr_gpu_inventory_take on these GPUs: releases the slice and restores the previous layout. */
HR_API void hr_gpu_inventory_undo(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
/* Sets the GPUs of a node without tasks to their initial layout. */
HR_API void hr_gpu_inventory_renew(struct hr_gpu_inventory *inventory, hr_node node);

#ifdef __cplusplus
}
#endif
#endif
