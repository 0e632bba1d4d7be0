/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_GPU_INVENTORY_H
#define HEADROOM_GPU_INVENTORY_H

/*
 * What is free on each node, GPU by GPU: thousandths and memory of each GPU, CPU and memory of the node; and what one
 * task of a job asks for of it. Nodes are numbered through all pools, as elsewhere; a node's GPUs from 0.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_WHOLE_GPU_MILLI 1000u
/* A node of a stock has at most so many GPUs: a set of them is one word. */
#define HR_MAX_STOCK_GPUS 64u

/* The instance of a GPU that is split by MIG; all zero elsewhere. Profiles and layouts are numbered as the pool's
   struct hr_mig_spec has them. */
struct hr_instance {
  uint8_t start, profile;
  uint8_t layout, layout_before; /* of the GPU once it is taken, and until then */
};

/* GPUs of one node, in thousandths of a GPU. */
struct hr_slice {
  hr_node node;
  uint32_t gpu_milli;
  uint64_t gpus; /* the set of the node's GPUs, bit by bit; 0 where they are not told apart */
  struct hr_instance instance;
};

/* What each task of a job asks for. All tasks of one number ask for the same. */
struct hr_request {
  uint32_t accept_class; /* the pools that it accepts, hr_cluster_accepts */
  uint32_t tasks;        /* of the job, at least 1; the rest is of each */
  uint32_t gpus;
  uint32_t gpu_milli;   /* of each GPU: HR_WHOLE_GPU_MILLI for GPUs of its own */
  uint32_t gpu_mem_mib; /* likewise; 0: none is accounted */
  uint32_t cpu_milli;
  uint64_t mem_mib;
  bool dedicated; /* each task has its node to itself */
  /* Where some pool's GPUs are split by MIG, the profiles that will do in each pool, a set by number, bit p for profile
     p: [n_pools], and the number of this table among all such tables. Else NULL and 0. */
  const uint16_t *mig_profiles;
  uint32_t mig_need;
};

/* Of all its tasks, as asked for. */
static inline uint64_t hr_request_milli(const struct hr_request *request) {
  return (uint64_t)request->tasks * request->gpus * request->gpu_milli;
}

struct hr_arena;

/* The distinct requests of a trace, in order of first appearance. */
struct hr_requests {
  uint32_t count;
  struct hr_request *request; /* [count] */
  uint64_t *jobs;             /* [count], that ask for it */
  uint32_t *of_job;           /* [n_jobs]; in a streamed run of jobs that have been submitted */
  uint32_t mig_needs;         /* tables of profiles that will do; 0: no GPU is split */
  struct hr__request_reader *reader;
};
/* `accept_class`: by job (hr_cluster_accept_class); NULL: 0 for all. A job's GPUs are spread evenly over its tasks.
   `most_gpus`: by accept class, of a node; a task that asks for more, as where a trace does not tell tasks, is taken as
   several. NULL: not so. `cluster` may be NULL where no GPU is split. Who names a profile of MIG and no share or memory
   asks for those that it has in the first pool that knows it. In the arena; NULL when out of memory. */
HR_API struct hr_requests *hr_requests_create(struct hr_arena *arena, const struct hr_trace *trace,
                                              const uint32_t *accept_class, const uint32_t *max_gpus,
                                              const struct hr_cluster_spec *cluster);

/* Whether the job needs a place on a node at all. */
static inline bool hr_request_needs_node(const struct hr_request *request) {
  return request->gpus > 0 || request->cpu_milli > 0 || request->mem_mib > 0;
}

/* The columns are for reading; only the functions below change them. What a pool does not tell (CPU, memory, GPU
   memory) is there in any amount, and so is GPU memory that is first come, first served. */
struct hr_gpu_inventory {
  uint32_t n_nodes, max_gpus; /* most_gpus: of any node */
  uint32_t *pool;             /* [n_nodes] */
  uint8_t *n_gpus;            /* [n_nodes] */
  uint32_t *cpu_milli;        /* [n_nodes], free; HR_NONE: not told */
  uint64_t *mem_mib;          /* [n_nodes], likewise; UINT64_MAX: not told */
  uint16_t *gpu_milli;        /* [n_nodes][most_gpus], free of each GPU; 0 beyond the node's last */
  uint32_t *gpu_mem_mib;      /* likewise; HR_NONE: not told, or whoever comes first has it */
  uint16_t *gpu_tasks;        /* likewise: tasks that have some of it */
  uint32_t *left_milli;       /* [n_nodes], free of all of its GPUs */
  uint16_t *widest_milli;     /* [n_nodes], of the GPU that has the most free */
  uint16_t *slot_milli;       /* [n_nodes]: what a task takes of each GPU, whatever it asks for; 0: what it asks for */
  uint32_t *slot_mem_mib;     /* [n_nodes]: the most memory of a GPU that a task may have; HR_NONE: any */
  uint16_t *max_tasks;        /* [n_nodes], on one GPU */
  uint32_t *tasks;            /* [n_nodes], that are there */
  uint8_t *alone;             /* [n_nodes]: its task has the node to itself */
  uint8_t *closed;            /* [n_nodes]: nothing more fits, whatever is free */
  uint32_t *gpu_cpu_milli;    /* [n_pools]: CPU that a task which tells none takes with each GPU; NULL: none anywhere */
  /* Where some pool's GPUs are split by MIG; else NULL. */
  const struct hr_mig_spec **mig; /* [n_pools], NULL for those that are not split */
  struct hr_mig_gpu *mig_gpu;     /* [n_nodes][most_gpus], the instances of each GPU */
  uint8_t *mig_taken;             /* likewise: the starts of those that a task has, a set */
  uint8_t *mig_layout;            /* likewise: the layout that it has */
  uint16_t *mig_profiles;         /* likewise: the profiles of which a task may have an instance now, a set */
  uint16_t *mig_asked;            /* [n_pools], the profiles that some request may have, a set */
};

/* All of it free, in the arena. NULL when out of memory, or when a node has more than HR_MAX_STOCK_GPUS GPUs.
   `requests` may be NULL: those to come, for which instances of MIG keep room. */
HR_API struct hr_gpu_inventory *hr_gpu_inventory_create(struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                                        const struct hr_requests *requests);

static inline const uint16_t *hr_gpu_inventory_gpus(const struct hr_gpu_inventory *inventory, hr_node node) {
  return inventory->gpu_milli + (size_t)node.id * inventory->max_gpus;
}

/* The memory of each GPU that is kept for those who ask for it; HR_NONE: none is accounted, as where instances of MIG
   have memory of their own. */
static inline uint32_t hr_pool_reserved_mem_mib(const struct hr_pool_spec *spec) {
  bool kept = spec->memory == HR_GPU_MEMORY_RESERVED && spec->gpu_mem_mib > 0 && !spec->mig;
  return kept ? spec->gpu_mem_mib : HR_NONE;
}

/* How many tasks an empty node of the pool has room for, at most. HR_NONE: any number. */
HR_API uint32_t hr_pool_most_tasks(const struct hr_cluster_spec *spec, hr_pool pool, const struct hr_request *request);

/* The most memory of a GPU that a task may have there: its part under MPS with equal parts; HR_NONE: any. */
HR_API uint32_t hr_pool_part_mem_mib(const struct hr_pool_spec *spec);

/* What a task takes of each GPU of such a pool, whatever it asks for: all of it where GPUs are not shared, an equal
   part where there are such; 0: what it asks for, or the share of its instance of MIG. */
HR_API uint32_t hr_pool_slot_milli(const struct hr_pool_spec *spec);

/* How the node's GPUs are split by MIG; NULL: they are not. */
static inline const struct hr_mig_spec *hr_gpu_inventory_mig(const struct hr_gpu_inventory *inventory, hr_node node) {
  return inventory->mig ? inventory->mig[inventory->pool[node.id]] : NULL;
}

/* What a task takes of each GPU there; of one that is split, what it asks for, which its instance comes near to. */
static inline uint32_t hr_gpu_inventory_milli(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node) {
  uint32_t slot_milli = inventory->slot_milli[node.id];
  return slot_milli == 0 || request->gpus == 0 ? request->gpu_milli : slot_milli;
}

/* CPU that goes with shares of GPUs where a GPU comes with so much; rounded up. */
static inline uint32_t hr_cpu_milli_with(uint32_t cpu_milli_per_gpu, uint64_t gpu_milli) {
  return (uint32_t)((cpu_milli_per_gpu * gpu_milli + HR_WHOLE_GPU_MILLI - 1) / HR_WHOLE_GPU_MILLI);
}

/* CPU that a task takes there: what it tells; if it tells none, what the pool's GPUs come with, by what it takes of
   them. */
static inline uint32_t hr_gpu_inventory_cpu_milli(const struct hr_gpu_inventory *inventory,
                                                  const struct hr_request *request, hr_node node) {
  if (!inventory->gpu_cpu_milli || request->cpu_milli || request->gpus == 0) return request->cpu_milli;
  return hr_cpu_milli_with(inventory->gpu_cpu_milli[inventory->pool[node.id]],
                           (uint64_t)request->gpus * hr_gpu_inventory_milli(inventory, request, node));
}
/* Likewise in a pool. */
HR_API uint32_t hr_pool_cpu_milli(const struct hr_pool_spec *spec, const struct hr_request *request);

/* GPUs of the node that nothing is taken of. */
HR_API uint32_t hr_gpu_inventory_idle_gpus(const struct hr_gpu_inventory *inventory, hr_node node);
/* The node's GPUs that have room for one task's share of a GPU. */
HR_API uint64_t hr_gpu_inventory_fitting_gpus(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node);
/* Whether one task fits the node, and it is not closed; which pools the job accepts is not looked at. */
HR_API bool hr_gpu_inventory_fits(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  hr_node node);
/* Likewise for each of `count` requests, at most 64: bit i is set where request i fits. */
HR_API uint64_t hr_gpu_inventory_fits_each(const struct hr_gpu_inventory *inventory,
                                           const struct hr_request *const *requests, uint32_t count, hr_node node);
/* The GPUs of a node that one task would take unless told otherwise, the node fitting it: its own are the idle ones of
   the lowest numbers; shares are of those with the least left that fit, the lowest numbers first among equals.
   Instances of MIG are of a GPU that keeps its layout if there is one, of those of the smallest profile, and of those
   of a GPU with the least left. */
HR_API uint64_t hr_gpu_inventory_pick(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                      hr_node node);
/* Likewise of these GPUs alone, where GPUs are not split by MIG: as many as fit, at most those that it asks for. */
HR_API uint64_t hr_gpu_inventory_pick_of(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                         hr_node node, uint64_t gpus);
/* The place of a task on GPUs of a node that fit it: with what it takes of them and, on one that is split by MIG, the
   instance that it gets. That is one of the smallest profile that will do, an idle one, or on demand a new one whose
   start leaves the most room for the profiles that are asked for (hr_mig_best_start). A GPU without tasks may be given
   another layout if its present one has no such profile, the first one of those with the smallest; and for a job of
   several tasks if another one has more such instances, the first one of those with the most. */
HR_API struct hr_slice hr_gpu_inventory_slice(const struct hr_gpu_inventory *inventory,
                                              const struct hr_request *request, hr_node node, uint64_t gpus);
/* What is wrong with a task's place, or NULL. */
HR_API const char *hr_gpu_inventory_refuse(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                           const struct hr_slice *slice);
/* Takes what one task asks for at a place that is not refused; gives it back. */
HR_API void hr_gpu_inventory_take(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
HR_API void hr_gpu_inventory_give(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
/* Gives back what was taken last on these GPUs, as if it had not been taken: they have the layout again that they had.
 */
HR_API void hr_gpu_inventory_undo(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  const struct hr_slice *slice);
/* A node without tasks is new: its GPUs are split as at first. */
HR_API void hr_gpu_inventory_renew(struct hr_gpu_inventory *inventory, hr_node node);

#ifdef __cplusplus
}
#endif
#endif
