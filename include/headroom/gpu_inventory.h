/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_GPU_INVENTORY_H
#define HEADROOM_GPU_INVENTORY_H

/*
 * The GPU inventory: the free capacity of each GPU and node in per-GPU allocation. This header also defines what a task
 * of a job requests (struct hr_request).
 *
 * For each GPU the inventory has the free milli-GPUs, the free memory and, with MIG, the instances. For each node it
 * has the free CPU and memory. The ids of nodes are consecutive across all pools; the GPUs of a node are numbered from
 * 0. The engine maintains one inventory per run; policies can create other inventories for planning.
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
/* The maximum number of GPUs per node: a set of GPUs of a node is one 64-bit word. */
#define HR_MAX_INVENTORY_GPUS 64u

/* A MIG instance of a GPU; all members are 0 on GPUs without MIG. `start` is the first memory slice of the instance.
   `profile` is an index into the profiles of the pool's struct hr_mig_spec; `layout` and `layout_before` are indices
   into its layouts. */
struct hr_instance {
  uint8_t start, profile;
  /* layouts of the GPU: `layout_before` until the instance is allocated, `layout` afterwards */
  uint8_t layout, layout_before;
};

/* A slice of a placement: the GPUs of one node that are allocated to a job. */
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
     `mig_need` is the index of this array among the distinct arrays of all requests. Without MIG, `mig_profiles` is
     NULL and `mig_need` is 0. */
  const uint16_t *mig_profiles;
  uint32_t mig_need;
  /* the job names a MIG profile but may also run on GPUs without MIG (mig_fallback): pools with suitable profiles are
     tried first */
  bool prefers_mig;
};

/* Returns the milli-GPUs of all tasks of a job with this request. */
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
 * Collects the distinct requests of a trace. The returned object is allocated in the arena. The GPUs of a job are
 * divided equally among its tasks. Returns NULL if memory is exhausted.
 *
 * `accept_class`: [n_jobs], see hr_cluster_accept_class; NULL: all jobs have accept class 0. `max_gpus`: for each
 * accept class, the number of GPUs of the largest acceptable node. A task that requests more GPUs is divided into
 * several tasks; traces without task counts need this. If `max_gpus` is NULL, tasks are not divided. `cluster` may be
 * NULL if no GPU is partitioned.
 *
 * A job may name a MIG profile. If such a job does not request a share, it requests the share of the profile. If it
 * does not request a memory size, it requests the memory of the profile. Both values are those of the first pool that
 * has the profile.
 */
HR_API struct hr_requests *hr_requests_create(struct hr_arena *arena, const struct hr_trace *trace,
                                              const uint32_t *accept_class, const uint32_t *max_gpus,
                                              const struct hr_cluster_spec *cluster);

/* Whether a task of the request needs any resource of a node. */
static inline bool hr_request_needs_node(const struct hr_request *request) {
  return request->gpus > 0 || request->cpu_milli > 0 || request->mem_mib > 0;
}

/* The state of all nodes. Read the columns directly; change them only through the functions below. A resource that a
   pool does not declare (CPU, memory, GPU memory) is unlimited. GPU memory is also unlimited in pools with
   HR_GPU_MEMORY_FIRST_COME. */
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
  uint16_t *widest_milli;     /* [n_nodes]: maximum of gpu_milli over the GPUs of the node */
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
  /* [n_nodes][max_gpus]: a set: bit s is set if a task has the instance that begins at memory slice s */
  uint8_t *mig_taken;
  uint8_t *mig_layout; /* [n_nodes][max_gpus]: index of the GPU's present layout */
  /* [n_nodes][max_gpus]: a set: bit p is set if a task can get an instance of profile p now */
  uint16_t *mig_profiles;
  /* [n_pools]: a set: bit p is set if profile p is suitable for at least one of the expected requests */
  uint16_t *mig_asked;
};

/* Creates an inventory in the arena. Its nodes have no tasks. `requests`: the expected requests; NULL: unknown. With
   HR_MIG_ON_DEMAND, new instances are placed such that room remains for the expected requests. Returns NULL if memory
   is exhausted or a node has more than HR_MAX_INVENTORY_GPUS GPUs. */
HR_API struct hr_gpu_inventory *hr_gpu_inventory_create(struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                                        const struct hr_requests *requests);

/* Returns the free milli-GPUs of each GPU of a node, an array of max_gpus entries. */
static inline const uint16_t *hr_gpu_inventory_gpus(const struct hr_gpu_inventory *inventory, hr_node node) {
  return inventory->gpu_milli + (size_t)node.id * inventory->max_gpus;
}

/* Returns how much memory tasks can reserve on each GPU of the pool; HR_NONE: memory is not accounted. In pools with
   MIG it is not accounted, because MIG instances have their own memory. */
static inline uint32_t hr_pool_reserved_mem_mib(const struct hr_pool_spec *spec) {
  bool reserved = spec->memory == HR_GPU_MEMORY_RESERVED && spec->gpu_mem_mib > 0 && !spec->mig;
  return reserved ? spec->gpu_mem_mib : HR_NONE;
}

/* Returns how many tasks of `request` fit on an empty node of the pool; HR_NONE: any number. */
HR_API uint32_t hr_pool_max_tasks(const struct hr_cluster_spec *spec, hr_pool pool, const struct hr_request *request);

/* Returns the maximum memory of a task on one GPU of the pool. If MPS divides the GPUs into equal parts, this is the
   memory of one part. HR_NONE: no limit. */
static inline uint32_t hr_pool_part_mem_mib(const struct hr_pool_spec *spec) {
  bool limited = spec->sharing == HR_SHARING_MPS && spec->replicas > 0 && spec->gpu_mem_mib > 0;
  return limited ? spec->gpu_mem_mib / spec->replicas : HR_NONE;
}

/* Returns how many milli-GPUs every task takes of each of its GPUs in the pool: 1000 if GPUs are not shared; the
   milli-GPUs of one part if GPUs are divided into equal parts. 0: this depends on the task, which takes the share that
   it requests or, with MIG, the share of its instance. */
static inline uint32_t hr_pool_slot_milli(const struct hr_pool_spec *spec) {
  if (spec->sharing == HR_SHARING_WHOLE) return HR_WHOLE_GPU_MILLI;
  bool parted = spec->sharing != HR_SHARING_FRACTION && spec->replicas > 0;
  return parted ? HR_WHOLE_GPU_MILLI / spec->replicas : 0;
}

/* Returns the MIG settings of the node; NULL if its GPUs are not partitioned. */
static inline const struct hr_mig_spec *hr_gpu_inventory_mig(const struct hr_gpu_inventory *inventory, hr_node node) {
  return inventory->mig ? inventory->mig[inventory->pool[node.id]] : NULL;
}

/* Returns how many milli-GPUs a task takes of each of its GPUs on the node. With MIG, returns the requested share; the
   instance that the task gets may have a different share. */
static inline uint32_t hr_gpu_inventory_milli(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node) {
  uint32_t slot_milli = inventory->slot_milli[node.id];
  return slot_milli == 0 || request->gpus == 0 ? request->gpu_milli : slot_milli;
}

/* Returns the milli-CPUs that belong to `gpu_milli` milli-GPUs if one GPU has `cpu_milli_per_gpu` milli-CPUs. The
   result is rounded up. */
static inline uint32_t hr_cpu_milli_with(uint32_t cpu_milli_per_gpu, uint64_t gpu_milli) {
  return (uint32_t)((cpu_milli_per_gpu * gpu_milli + HR_WHOLE_GPU_MILLI - 1) / HR_WHOLE_GPU_MILLI);
}

/* Returns the milli-CPUs that a task takes on the node: the CPU that it requests; if it requests none, the pool's CPU
   per GPU times the GPUs that the task takes. */
static inline uint32_t hr_gpu_inventory_cpu_milli(const struct hr_gpu_inventory *inventory,
                                                  const struct hr_request *request, hr_node node) {
  if (!inventory->gpu_cpu_milli || request->cpu_milli || request->gpus == 0) return request->cpu_milli;
  return hr_cpu_milli_with(inventory->gpu_cpu_milli[inventory->pool[node.id]],
                           (uint64_t)request->gpus * hr_gpu_inventory_milli(inventory, request, node));
}
/* Returns the milli-CPUs that a task takes on a node of the pool, by the rule of hr_gpu_inventory_cpu_milli. */
static inline uint32_t hr_pool_cpu_milli(const struct hr_pool_spec *spec, const struct hr_request *request) {
  uint32_t slot_milli = hr_pool_slot_milli(spec), milli = slot_milli ? slot_milli : request->gpu_milli;
  if (request->cpu_milli || request->gpus == 0) return request->cpu_milli;
  return hr_cpu_milli_with(spec->cpu_milli_per_gpu, (uint64_t)request->gpus * milli);
}

/* Returns the number of idle GPUs of the node. */
HR_API uint32_t hr_gpu_inventory_idle_gpus(const struct hr_gpu_inventory *inventory, hr_node node);
/* Returns a set of GPUs of the node: bit g is set if GPU g has room for the share that one task of the request takes of
   a GPU. */
HR_API uint64_t hr_gpu_inventory_fitting_gpus(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node);
/* Whether one task fits on the node and the node is not closed. Does not check whether the job accepts the pool. */
HR_API bool hr_gpu_inventory_fits(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  hr_node node);
/* Evaluates hr_gpu_inventory_fits for `count` requests, at most 64. Bit i of the returned set is set if one task of
   requests[i] fits. */
HR_API uint64_t hr_gpu_inventory_fits_each(const struct hr_gpu_inventory *inventory,
                                           const struct hr_request *const *requests, uint32_t count, hr_node node);
/* Selects GPUs of a node for one task by the default rule, and returns them as a set. The task must fit on the node. A
   task that requests whole GPUs gets the idle GPUs with the lowest numbers. A task that requests shares gets those GPUs
   with room for its share that have the fewest free milli-GPUs; of equal GPUs, those with the lowest numbers. With MIG,
   GPUs that need not change their layout are preferred; among them, GPUs with the smallest suitable profile; among
   these, the GPU with the fewest free milli-GPUs. */
HR_API uint64_t hr_gpu_inventory_pick(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                      hr_node node);
/* As hr_gpu_inventory_pick, but selects only GPUs of the set `gpus`. Returns fewer GPUs than the task requests if too
   few GPUs of the set have room. */
HR_API uint64_t hr_gpu_inventory_pick_of(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                         hr_node node, uint64_t gpus);
/* Returns the number of tasks for which the GPUs of the set `gpus` have instances if the tasks are placed one after the
   other until no further task fits. CPU and memory of the node are ignored. The node must use MIG. */
HR_API uint64_t hr_gpu_inventory_mig_room(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                          hr_node node, uint64_t gpus);
/*
 * Returns the slice that a task gets if it is placed on the set `gpus` of GPUs of a node. The task must fit on these
 * GPUs. The slice states the share of these GPUs and, with MIG, the instance.
 *
 * The instance is an idle instance of the smallest suitable profile. With HR_MIG_ON_DEMAND it is a new instance, at the
 * start that leaves the most room for the profiles of the expected requests (hr_mig_best_start). With HR_MIG_DYNAMIC an
 * idle GPU can get another layout. For a job with one task, this happens only if the present layout of the GPU has no
 * suitable profile; the GPU then gets the layout that has the smallest one. For a job with several tasks, the GPU gets
 * the layout with the largest number of suitable instances, unless the present layout has as many. Of equal layouts,
 * the first is selected.
 */
HR_API struct hr_slice hr_gpu_inventory_slice(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node, uint64_t gpus);
/* Checks whether `slice` can be allocated to a task of the request. Returns NULL if it can. Otherwise, returns a
   description of the rule that would be broken. */
HR_API const char *hr_gpu_inventory_refuse(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                           const struct hr_slice *slice);
/* hr_gpu_inventory_take allocates a slice to a task; hr_gpu_inventory_refuse must return NULL for the slice.
   hr_gpu_inventory_give releases the slice. */
HR_API void hr_gpu_inventory_take(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
HR_API void hr_gpu_inventory_give(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
/* Undoes the last hr_gpu_inventory_take on these GPUs: releases the slice and restores the previous layout. */
HR_API void hr_gpu_inventory_undo(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
/* Makes the slices of a placement, which was found in another state, valid for hr_gpu_inventory_take in this state:
   sets `layout_before` of MIG instances to the layouts that the GPUs have before each slice is allocated. */
HR_API void hr_gpu_inventory_rebase(const struct hr_gpu_inventory *inventory, struct hr_slice *slices, uint32_t n);
/* Resets a node to the state without tasks. MIG GPUs keep their layouts; in mode HR_MIG_ON_DEMAND they have no
   instances. `spec`: the cluster of the inventory. */
HR_API void hr_gpu_inventory_clear(struct hr_gpu_inventory *inventory, const struct hr_cluster_spec *spec,
                                   hr_node node);
/* Copies the MIG layouts of a node without tasks from another inventory of the same cluster. */
HR_API void hr_gpu_inventory_copy_layouts(struct hr_gpu_inventory *inventory, const struct hr_gpu_inventory *from,
                                          hr_node node);
/* Resets the MIG layout of each GPU of a node to the initial layout. The node must not have tasks. */
HR_API void hr_gpu_inventory_renew(struct hr_gpu_inventory *inventory, hr_node node);

/* ---- Use of a node during a time window -------------------------------------------------------- */

/*
 * The part of a node that tasks use during a time window. With it, the state of a node in a planned inventory is set to
 * the part that is free during all of the window: a task that fits in this state can run from the begin to the end of
 * the window.
 *
 * All arrays are borrowed.
 */
struct hr_node_use {
  /* maximum that tasks use of the node in the window; `alone`: a dedicated task has the node at some time */
  uint64_t cpu_milli, mem_mib, tasks;
  bool alone;
  /* [GPUs of the node]: maximum that tasks use of each GPU in the window */
  const uint64_t *gpu_milli, *gpu_mem_mib, *gpu_tasks;
  /*
   * With MIG: the slices of the tasks that are on the node at some time of the window, and those of the tasks that
   * begin and end before the window; each in order of (begin, order of creation). Jobs that run now may be omitted from
   * `before`. The instances of a GPU are the union of the instances of `within`. The union is impossible if instances
   * overlap without being equal, belong to different layouts, or exceed what a GPU has; such a GPU counts as full. A
   * GPU without instances has the layout of its last slice in `before`; without such a slice, its layout in the
   * inventory `now`.
   */
  const struct hr_slice *within, *before;
  uint32_t n_within, n_before;
};
/* Sets the state of a node. Whether the node is closed does not change. `spec`: the cluster of both inventories. */
HR_API void hr_gpu_inventory_set_use(struct hr_gpu_inventory *inventory, const struct hr_cluster_spec *spec,
                                     const struct hr_gpu_inventory *now, hr_node node, const struct hr_node_use *use);

/* Changes a placement that was found in a planned state, so that it can be allocated in the inventory `now`. A GPU with
   MIG that is idle now may have another layout than in the planned state; `slices` then specify the change of the
   layout. */
HR_API void hr_gpu_inventory_adopt_layouts(const struct hr_gpu_inventory *now, struct hr_slice *slices,
                                           uint32_t n_slices);

#ifdef __cplusplus
}
#endif
#endif
