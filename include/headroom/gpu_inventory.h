/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_GPU_INVENTORY_H
#define HEADROOM_GPU_INVENTORY_H

/*
 * The GPU inventory: the free capacity of each GPU and node in per-GPU allocation. This header also defines requests
 * (struct hr_request): what each task of a job requests.
 *
 * For each GPU the inventory has the free milli-GPUs, the free memory and, with MIG, the instances. For each node it
 * has the free CPU and memory. The GPUs of a node are numbered from 0. The engine maintains one inventory per run.
 * Policies can create other inventories for planned states.
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

/* The milli-GPUs of a whole GPU. */
#define HR_WHOLE_GPU_MILLI 1000u
/* The maximum number of GPUs per node. A set of GPUs of a node is one 64-bit word; bit g is GPU g. */
#define HR_MAX_INVENTORY_GPUS 64u

/* A MIG instance of a GPU; all members are 0 on GPUs without MIG. */
struct hr_instance {
  /* first memory slice of the instance; and index into the profiles of the pool's struct hr_mig_spec */
  uint8_t start, profile;
  /* layout that the GPU gets for the instance, and layout of the GPU before, as indexes into the layouts of
     hr_mig_spec. They are equal if the GPU keeps its layout. */
  uint8_t layout, layout_before;
};

/* A slice of a placement: in per-GPU allocation, the GPUs of one task; in counted allocation, the GPUs of a job on one
   node. */
struct hr_slice {
  hr_node node;
  uint32_t gpu_milli; /* the sum over all GPUs of the slice */
  uint64_t gpus;      /* set of GPUs of the node; 0 in counted allocation */
  struct hr_instance instance;
};

/* What each task of a job requests. */
struct hr_request {
  /* identifies the set of pools that the job accepts, see hr_cluster_accepts */
  uint32_t accept_class;
  /* number of tasks of the job, at least 1; the members below are per task */
  uint32_t tasks;
  uint32_t gpus;
  uint32_t gpu_milli;   /* share of each GPU; HR_WHOLE_GPU_MILLI for whole GPUs; 0 if `gpus` is 0 */
  uint32_t gpu_mem_mib; /* memory on each GPU; 0: none requested */
  uint32_t cpu_milli;
  uint64_t mem_mib;
  bool dedicated; /* each task needs a node exclusively */
  /* If a pool uses MIG, [n_pools]: for each pool, the set of suitable profiles (bit p is profile p). Equal arrays are
     stored once; `mig_need` is the index of this array among the distinct arrays of all requests. If no pool uses MIG,
     `mig_profiles` is NULL and `mig_need` is 0. */
  const uint16_t *mig_profiles;
  uint32_t mig_need;
  /* the job names a MIG profile, but may also run on GPUs without MIG (`mig_fallback` of the cluster); pools with
     suitable profiles are tried first */
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
  uint32_t mig_needs; /* number of distinct `mig_profiles` arrays; 0: no pool uses MIG */
  struct hr__request_reader *reader; /* internal */
};
/*
 * Collects the distinct requests of a trace. The returned object is allocated in the arena. The GPUs of a job are
 * divided equally among its tasks. Returns NULL if memory is exhausted.
 *
 * `accept_class`: [n_jobs], see hr_cluster_accept_class; NULL: all jobs have accept class 0. `max_gpus`: for each
 * accept class, the number of GPUs of the largest acceptable node; NULL: tasks are not divided. A task that requests
 * more GPUs than this node has is divided into several tasks, because in traces without task counts each job has one
 * task. `cluster` may be NULL if no pool uses MIG.
 *
 * If a job names a MIG profile and does not request a share of a GPU, its share is that of the profile. If it requests
 * no GPU memory, its memory is that of the profile. Both values are those of the first pool that has the profile.
 */
HR_API struct hr_requests *hr_requests_create(struct hr_arena *arena, const struct hr_trace *trace,
                                              const uint32_t *accept_class, const uint32_t *max_gpus,
                                              const struct hr_cluster_spec *cluster);

/* Returns whether a task of the request needs any resource of a node: GPUs, CPU or memory. */
static inline bool hr_request_needs_node(const struct hr_request *request) {
  return request->gpus > 0 || request->cpu_milli > 0 || request->mem_mib > 0;
}

/* The state of all nodes. Read the columns directly; change them only by the functions below. A resource that a pool
   does not specify (CPU, memory, GPU memory) is unlimited. GPU memory is also unlimited in pools with
   HR_GPU_MEMORY_FIRST_COME and in pools with MIG. */
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
  /* [n_nodes]: milli-GPUs that every task takes of each of its GPUs; 0: see hr_pool_slot_milli */
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
  /* [n_nodes][max_gpus]: set of starts: bit s is set if a task has the instance that begins at memory slice s */
  uint8_t *mig_taken;
  uint8_t *mig_layout; /* [n_nodes][max_gpus]: index of the GPU's present layout; 0 with HR_MIG_ON_DEMAND */
  /* [n_nodes][max_gpus]: set of profiles: bit p is set if a task can get an instance of profile p now */
  uint16_t *mig_profiles;
  /* [n_pools]: set of profiles: bit p is set if profile p is suitable for at least one of the expected requests */
  uint16_t *mig_asked;
};

/* Creates an inventory in the arena. Its nodes have no tasks. `requests`: the expected requests; NULL: any request.
   With HR_MIG_ON_DEMAND, new instances are placed such that room remains for the expected requests. Returns NULL if
   memory is exhausted or a node has more than HR_MAX_INVENTORY_GPUS GPUs. */
HR_API struct hr_gpu_inventory *hr_gpu_inventory_create(struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                                        const struct hr_requests *requests);

/* Returns the free milli-GPUs of each GPU of a node, an array of max_gpus entries. */
static inline const uint16_t *hr_gpu_inventory_gpus(const struct hr_gpu_inventory *inventory, hr_node node) {
  return inventory->gpu_milli + (size_t)node.id * inventory->max_gpus;
}

/* Returns how much memory tasks can reserve on each GPU of the pool, in MiB. HR_NONE: memory is not accounted. This is
   the case if it is unknown, with HR_GPU_MEMORY_FIRST_COME, and with MIG, because instances have their own memory. */
static inline uint32_t hr_pool_reserved_mem_mib(const struct hr_pool_spec *spec) {
  bool reserved = spec->memory == HR_GPU_MEMORY_RESERVED && spec->gpu_mem_mib > 0 && !spec->mig;
  return reserved ? spec->gpu_mem_mib : HR_NONE;
}

/* Returns how many tasks of `request` fit on an empty node of the pool; HR_NONE: any number. */
HR_API uint32_t hr_pool_max_tasks(const struct hr_cluster_spec *spec, hr_pool pool, const struct hr_request *request);

/* Returns the maximum memory of a task on one GPU of the pool, in MiB. If MPS divides the GPUs into equal parts, this
   is the memory of one part. HR_NONE: the sharing sets no such limit. */
static inline uint32_t hr_pool_part_mem_mib(const struct hr_pool_spec *spec) {
  bool limited = spec->sharing == HR_SHARING_MPS && spec->replicas > 0 && spec->gpu_mem_mib > 0;
  return limited ? spec->gpu_mem_mib / spec->replicas : HR_NONE;
}

/* Returns how many milli-GPUs every task takes of each of its GPUs in the pool: 1000 if GPUs are not shared; the
   milli-GPUs of one part if GPUs are divided into equal parts. 0: this depends on the task. It takes the share that it
   requests or, with MIG, the share of its instance. */
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

/* Returns the milli-CPUs that a task takes on the node: the CPU that it requests. If it requests no CPU, the result is
   (milli-CPUs per GPU of the pool) * (GPUs that the task takes). */
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

/* Returns the number of GPUs of the node without tasks. */
HR_API uint32_t hr_gpu_inventory_idle_gpus(const struct hr_gpu_inventory *inventory, hr_node node);
/* Returns the set of GPUs of the node that have room for one task of the request: enough milli-GPUs, GPU memory and
   clients or, with MIG, a suitable instance. CPU and memory of the node are ignored. */
HR_API uint64_t hr_gpu_inventory_fitting_gpus(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node);
/* Returns whether one task fits on the node and the node is not closed. Does not check whether the job accepts the
   pool. */
HR_API bool hr_gpu_inventory_fits(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  hr_node node);
/* Selects GPUs of a node for one task by the default rule, and returns them as a set. The task must fit on the node. Of
   the GPUs with room for the task, those with the fewest free milli-GPUs are selected; of equal GPUs, those with the
   lowest numbers. A task that requests whole GPUs therefore gets the idle GPUs with the lowest numbers. With MIG, one
   GPU is selected by these criteria, in this order: the GPU keeps its layout; it has the smallest suitable profile; it
   has the fewest free milli-GPUs; it has the lowest number. */
HR_API uint64_t hr_gpu_inventory_pick(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                      hr_node node);
/* As hr_gpu_inventory_pick, but selects only GPUs of the set `gpus`. If too few GPUs of the set have room, the result
   has fewer GPUs than the task requests. */
HR_API uint64_t hr_gpu_inventory_pick_of(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                         hr_node node, uint64_t gpus);
/* Returns the number of tasks for which the GPUs of the set `gpus` have instances, if tasks are placed one after the
   other until no further task fits. The result is 0 if a task requests several GPUs. CPU and memory of the node are
   ignored. The node must use MIG. */
HR_API uint64_t hr_gpu_inventory_mig_room(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                          hr_node node, uint64_t gpus);
/*
 * Returns the slice that a task gets if it is placed on the set `gpus` of GPUs of a node. The task must fit on these
 * GPUs. The slice states the share of these GPUs and, with MIG, the instance.
 *
 * The instance is an idle instance of the smallest suitable profile. With HR_MIG_ON_DEMAND it is a new instance, at the
 * start that leaves the most room for the profiles of the expected requests (hr_mig_best_start).
 *
 * With HR_MIG_DYNAMIC, a GPU without tasks can get another layout. For a job with one task, this happens only if the
 * present layout has no suitable instance. The GPU then gets the layout that has the smallest suitable instance. For a
 * job with several tasks, the GPU gets the layout with the largest number of suitable instances. Of equal layouts, the
 * present layout is preferred, then the first.
 */
HR_API struct hr_slice hr_gpu_inventory_slice(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node, uint64_t gpus);
/* Checks whether `slice` can be allocated to a task of the request. Returns NULL if this is possible; otherwise, a
   description of the rule that would be broken. */
HR_API const char *hr_gpu_inventory_refuse(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                           const struct hr_slice *slice);
/* Allocates a slice to a task. hr_gpu_inventory_refuse must return NULL for the slice. */
HR_API void hr_gpu_inventory_take(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
/* Releases a slice that hr_gpu_inventory_take allocated. With MIG, the GPU keeps its layout. */
HR_API void hr_gpu_inventory_give(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
/* Undoes the last hr_gpu_inventory_take on these GPUs: releases the slice and restores the previous layout. */
HR_API void hr_gpu_inventory_undo(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
/* Adapts the `n` slices of a placement that was found in another inventory to the MIG layouts of `inventory`. Sets
   `layout_before` of each instance to the layout that its GPU will have when the slice is allocated, if the slices are
   allocated in the order of the array. */
HR_API void hr_gpu_inventory_rebase(const struct hr_gpu_inventory *inventory, struct hr_slice *slices, uint32_t n);
/* Resets a node to the state without tasks. Whether the node is closed does not change. MIG GPUs keep their layouts; in
   mode HR_MIG_ON_DEMAND they have no instances. `spec`: the cluster of the inventory. */
HR_API void hr_gpu_inventory_clear(struct hr_gpu_inventory *inventory, const struct hr_cluster_spec *spec,
                                   hr_node node);
/* Copies the MIG layouts of a node from another inventory of the same cluster. The node must not have tasks in
   `inventory`. */
HR_API void hr_gpu_inventory_copy_layouts(struct hr_gpu_inventory *inventory, const struct hr_gpu_inventory *from,
                                          hr_node node);
/* Resets the MIG layout of each GPU of a node to the initial layout. The node must not have tasks. */
HR_API void hr_gpu_inventory_renew(struct hr_gpu_inventory *inventory, hr_node node);

/* ---- Use of a node during a time window -------------------------------------------------------- */

/*
 * The part of a node that tasks use during a time window. hr_gpu_inventory_set_use computes from it the state of the
 * node in a planned inventory: the part that is free during all of the window. A task that fits in this state can run
 * from the begin to the end of the window.
 *
 * All arrays are borrowed.
 */
struct hr_node_use {
  uint64_t cpu_milli, mem_mib, tasks; /* maximum use of the node by tasks during the window */
  bool alone;                         /* a dedicated task has the node at some time of the window */
  /* [GPUs of the node]: maximum use of each GPU by tasks during the window */
  const uint64_t *gpu_milli, *gpu_mem_mib, *gpu_tasks;
  /*
   * With MIG, slices of tasks, each array in order of (begin, order of creation). `within`: the tasks that are on the
   * node at some time of the window. `before`: the tasks that begin and end before the window; tasks of jobs that run
   * now may be omitted.
   *
   * The instances of a GPU are the union of its instances in `within`. The union is impossible in three cases:
   * different instances overlap; the instances belong to different layouts; the instances exceed the slices of the GPU.
   * The GPU then counts as full.
   *
   * A GPU without instances in `within` has the layout of its last slice in `before`. If `before` has no slice on the
   * GPU either, the GPU has its layout in the inventory `now`.
   */
  const struct hr_slice *within, *before;
  uint32_t n_within, n_before;
};
/* Sets the state of a node in `inventory` to the part that is free during a window. `now`: the inventory with the
   present state. `spec`: the cluster of both inventories. Whether the node is closed does not change. */
HR_API void hr_gpu_inventory_set_use(struct hr_gpu_inventory *inventory, const struct hr_cluster_spec *spec,
                                     const struct hr_gpu_inventory *now, hr_node node, const struct hr_node_use *use);

/* Changes the slices of a placement that was found in a planned inventory, so that they can be allocated in the
   inventory `now`. With HR_MIG_DYNAMIC, a GPU may have another layout now than in the planned inventory. The first
   slice on each GPU then specifies the change from the present layout. */
HR_API void hr_gpu_inventory_adopt_layouts(const struct hr_gpu_inventory *now, struct hr_slice *slices,
                                           uint32_t n_slices);

#ifdef __cplusplus
}
#endif
#endif
