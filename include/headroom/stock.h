/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_STOCK_H
#define HEADROOM_STOCK_H

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
  uint32_t *of_job;           /* [n_jobs] */
};
/* `accept_class`: by job (hr_cluster_accept_class); NULL: 0 for all. A job's GPUs are spread evenly over its tasks.
   `most_gpus`: by accept class, of a node; a task that asks for more, as where a trace does not tell tasks, is taken as
   several. NULL: not so. In the arena; NULL when out of memory. */
HR_API struct hr_requests *hr_requests_create(struct hr_arena *arena, const struct hr_trace *trace,
                                              const uint32_t *accept_class, const uint32_t *most_gpus);

/* Whether the job needs a place on a node at all. */
static inline bool hr_request_needs_node(const struct hr_request *request) {
  return request->gpus > 0 || request->cpu_milli > 0 || request->mem_mib > 0;
}

/* The columns are for reading; only the functions below change them. What a pool does not tell (CPU, memory, GPU
   memory) is there in any amount. */
struct hr_stock {
  uint32_t n_nodes, most_gpus; /* most_gpus: of any node */
  uint32_t *pool;              /* [n_nodes] */
  uint8_t *n_gpus;             /* [n_nodes] */
  uint32_t *cpu_milli;         /* [n_nodes], free; HR_NONE: not told */
  uint64_t *mem_mib;           /* [n_nodes], likewise; UINT64_MAX: not told */
  uint16_t *gpu_milli;         /* [n_nodes][most_gpus], free of each GPU; 0 beyond the node's last */
  uint32_t *gpu_mem_mib;       /* likewise; HR_NONE: not told */
  uint16_t *gpu_tasks;         /* likewise: tasks that have some of it */
  uint32_t *left_milli;        /* [n_nodes], free of all of its GPUs */
  uint16_t *widest_milli;      /* [n_nodes], of the GPU that has the most free */
  uint16_t *slot_milli;        /* [n_nodes]: what a task takes of each GPU, whatever it asks for; 0: what it asks for */
  uint32_t *slot_mem_mib;      /* [n_nodes]: the most memory of a GPU that a task may have; HR_NONE: any */
  uint16_t *most_tasks;        /* [n_nodes], on one GPU */
  uint32_t *tasks;             /* [n_nodes], that are there */
  uint8_t *alone;              /* [n_nodes]: its task has the node to itself */
  uint8_t *closed;             /* [n_nodes]: nothing more fits, whatever is free */
};

/* All of it free, in the arena. NULL when out of memory, or when a node has more than HR_MAX_STOCK_GPUS GPUs. */
HR_API struct hr_stock *hr_stock_create(struct hr_arena *arena, const struct hr_cluster_spec *spec);

static inline const uint16_t *hr_stock_gpus(const struct hr_stock *stock, hr_node node) {
  return stock->gpu_milli + (size_t)node.id * stock->most_gpus;
}

/* How many tasks an empty node of the pool has room for, at most. HR_NONE: any number. */
HR_API uint32_t hr_pool_most_tasks(const struct hr_pool_spec *spec, const struct hr_request *request);

/* What a task takes of each GPU of such a pool, whatever it asks for: all of it where GPUs are not shared, an equal
   part where there are such; 0: what it asks for. */
HR_API uint32_t hr_pool_slot_milli(const struct hr_pool_spec *spec);

/* What a task takes of each GPU there. */
static inline uint32_t hr_stock_milli(const struct hr_stock *stock, const struct hr_request *request, hr_node node) {
  uint32_t slot_milli = stock->slot_milli[node.id];
  return slot_milli == 0 || request->gpus == 0 ? request->gpu_milli : slot_milli;
}

/* GPUs of the node that nothing is taken of. */
HR_API uint32_t hr_stock_idle_gpus(const struct hr_stock *stock, hr_node node);
/* The node's GPUs that have room for one task's share of a GPU. */
HR_API uint64_t hr_stock_fitting_gpus(const struct hr_stock *stock, const struct hr_request *request, hr_node node);
/* Whether one task fits the node, and it is not closed; which pools the job accepts is not looked at. */
HR_API bool hr_stock_fits(const struct hr_stock *stock, const struct hr_request *request, hr_node node);
/* The GPUs of a node that one task would take unless told otherwise, the node fitting it: its own are the idle ones of
   the lowest numbers; shares are of those with the least left that fit, the lowest numbers first among equals. */
HR_API uint64_t hr_stock_pick(const struct hr_stock *stock, const struct hr_request *request, hr_node node);
/* Takes what one task asks for, on as many GPUs as it asks for, which must have it; gives it back. */
HR_API void hr_stock_take(struct hr_stock *stock, const struct hr_request *request, hr_node node, uint64_t gpus);
HR_API void hr_stock_give(struct hr_stock *stock, const struct hr_request *request, hr_node node, uint64_t gpus);

#ifdef __cplusplus
}
#endif
#endif
