/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_CAPACITY_H
#define HEADROOM_UNSTABLE_CAPACITY_H

/* Placement for policies: rules that choose the node and the GPUs of a task, and free capacity. */

#include "headroom/base.h"
#include "headroom/gpu_inventory.h"
#include "headroom/policy.h"
#include "headroom/unstable/fragmentation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Tasks --------------------------------------------------------------------------------------------- */

/*
 * Placement of single tasks. A rule scores nodes and selects GPUs by the state of each GPU, CPU and memory. The rules
 * are like those of the Kubernetes scheduler and the fragmentation-aware rule of Weng et al. ("Beware of
 * Fragmentation", ATC'23). docs/researcher/fill.md defines each rule.
 *
 * All memory is from the arena; functions that create something return NULL if memory is exhausted. Each thread needs
 * its own packer; requests and typical pods can be shared, because they are immutable.
 */

/* ---- Rules ---- */

/* The kind of a task, which the rule gpu-clustering uses. HR_KIND_NO_GPU: no GPU; HR_KIND_SHARE: a share of a GPU;
   HR_KIND_WHOLE + n - 1: n whole GPUs. */
#define HR_KIND_NO_GPU 0u
#define HR_KIND_SHARE 1u
#define HR_KIND_WHOLE 2u
static inline uint32_t hr_request_kind(const struct hr_request *request) {
  if (request->gpus == 0) return HR_KIND_NO_GPU;
  return request->gpu_milli < HR_WHOLE_GPU_MILLI ? HR_KIND_SHARE : HR_KIND_WHOLE + request->gpus - 1;
}

/* The input of a rule. Everything is borrowed. */
struct hr_packing {
  const struct hr_gpu_inventory *inventory;
  const struct hr_cluster_spec *cluster;
  /* the milli-CPUs of the node with the most CPU, and the milli-GPUs of the node with the most GPUs; at least 1 */
  uint64_t max_cpu_milli, max_gpu_milli;
  uint32_t n_kinds;              /* number of kinds of tasks */
  const uint32_t *tasks;         /* [n_nodes]: number of tasks on the node */
  const uint32_t *tasks_of_kind; /* [n_nodes][n_kinds]: number of tasks of each kind */
  const struct hr_typical_pods *typical;
  struct hr_fragmentation *fragmentation; /* NULL unless the rule has `wants_fragmentation` */
  /* `finds`: number of searches so far, which is the index of the next random draw */
  uint64_t seed, *finds;
};

/* A rule. It selects the node with the highest score among the nodes on which the task fits; of equal nodes, the
   first. */
struct hr_packing_rule {
  const char *name, *summary;
  /* Returns the score of a node on which the request fits, from 0 to INT32_MAX - 1. The score depends only on the
     node's free resources and on the tasks on the node. NULL: the rule selects a random node, uniformly. */
  int32_t (*score)(const struct hr_packing *packing, const struct hr_request *request, hr_node node);
  /* Selects the GPUs that the task takes on the selected node, and returns them as a set. NULL: hr_gpu_inventory_pick
     is used. */
  uint64_t (*pick)(const struct hr_packing *packing, const struct hr_request *request, hr_node node);
  bool wants_fragmentation; /* the rule reads `fragmentation` */
  bool scores_nodes;        /* the score of a node is the same for all requests that fit on the node */
};
/* Returns all rules, terminated by NULL. */
HR_API const struct hr_packing_rule *const *hr_packing_rules(void);
/* Finds a rule by name. Returns NULL if no rule has the name; `error` then suggests the nearest name. */
HR_API const struct hr_packing_rule *hr_packing_rule_find(const char *name, struct hr_error *error);

/* ---- Packer ---- */

/* The configuration of a packer. Everything is borrowed. */
struct hr_packer_config {
  const struct hr_packing_rule *rule;
  /* the state of the cluster; the caller reports each change of this state to the packer */
  const struct hr_gpu_inventory *inventory;
  const struct hr_cluster_spec *cluster;
  struct hr_acceptance acceptance;
  const struct hr_request *requests; /* [n_requests] */
  uint32_t n_requests;
  const struct hr_typical_pods *typical; /* may be NULL if the rule does not use fragmentation */
  uint64_t seed;
  /* The number of searches so far, which is the index of the next random draw. Each search increments it. After a
     search that only tests whether a task fits, the caller restores the previous number, so that the search does not
     affect later draws. NULL: the packer has its own counter. */
  uint64_t *finds;
};

/*
 * A packer finds nodes by a rule. For each request that has been searched for, it stores the scores of all nodes in a
 * tournament tree. A search computes the scores of the nodes that changed since the last search for the same request,
 * and then takes O(log n) for n nodes. If the scores of a rule do not depend on the request (scores_nodes), each
 * computed score is shared by eight requests.
 */
struct hr_packer;
HR_API struct hr_packer *hr_packer_create(struct hr_arena *arena, const struct hr_packer_config *config);
/* Finds a node and its GPUs for one task of requests[request]. Returns false if the task fits on no node. */
HR_API bool hr_packer_find(struct hr_packer *packer, uint32_t request, hr_node *node, uint64_t *gpus);
/* As hr_packer_find, but limited to the nodes first .. first + n_nodes - 1. Takes additional O(n_nodes). */
HR_API bool hr_packer_find_among(struct hr_packer *packer, uint32_t request, hr_node first, uint32_t n_nodes,
                                 hr_node *node, uint64_t *gpus);
/* Report changes to the packer: call hr_packer_taken after each hr_gpu_inventory_take, and hr_packer_given after each
   hr_gpu_inventory_give. */
HR_API void hr_packer_taken(struct hr_packer *packer, uint32_t request, hr_node node);
HR_API void hr_packer_given(struct hr_packer *packer, uint32_t request, hr_node node);
/* Reports that all tasks of a node were removed at once. */
HR_API void hr_packer_cleared(struct hr_packer *packer, hr_node node);
/* Reports that the tasks of a node changed. `tasks_of_kind`: [hr_packer_kinds], number of tasks of each kind. */
HR_API void hr_packer_set_tasks(struct hr_packer *packer, hr_node node, uint32_t tasks, const uint64_t *tasks_of_kind);
/* Returns the number of kinds of tasks (hr_request_kind) in a cluster with at most `max_gpus` GPUs per node. */
static inline uint32_t hr_packer_kinds(uint32_t max_gpus) {
  return HR_KIND_WHOLE + max_gpus;
}
/* Reports any other change of the free resources of a node to the packer. */
HR_API void hr_packer_changed(struct hr_packer *packer, hr_node node);

/* ---- Free capacity ------------------------------------------------------------------------------------- */

/*
 * Free capacity, for policies: where a job would be placed.
 *
 * A capacity is a state of the cluster in which some placements are in use: the present state, or a planned one. There
 * are two implementations: counted (whole GPUs by node or by pool) and per GPU (shares, MIG instances, CPU, memory,
 * islands). The cluster determines which one is used, and a policy need not know it.
 *
 * Memory is from the arena. The capacities of a set share buffers, so a placement that a search returned is valid until
 * the next search in any capacity of the set.
 */

/* What a job needs. Jobs with equal needs are interchangeable for all functions below. */
struct hr_need {
  uint32_t gpus;         /* whole GPUs of all tasks, as in the trace */
  uint32_t accept_class; /* see hr_cluster_accept_class */
  uint32_t request;      /* index into hr_cluster_requests; HR_NONE in counted allocation */
  enum hr_tier tier;     /* all GPUs must be within one group of this tier; HR_TIER_ANY: anywhere */
  bool preferred;        /* if no group has a placement, any placement is used */
};
/* Returns what a job needs. `tier` and `preferred` are those of a job with a requirement that has not expired. */
HR_API struct hr_need hr_need_of(const struct hr_cluster *cluster, const struct hr_trace *jobs, hr_job job);
/* Whether a need is met without a node, because the job requests no resource that is counted. */
HR_API bool hr_need_is_empty(const struct hr_cluster *cluster, const struct hr_need *need);

/* The capacities of one cluster under one placement rule. */
struct hr_capacity_set;
/* A capacity. */
struct hr_capacity;

/* The configuration of a set. Everything is borrowed. */
struct hr_capacity_config {
  struct hr_arena *arena;
  const struct hr_cluster *cluster;
  /* name of the rule: "pool", "first-fit", "best-fit", "worst-fit"; in per-GPU allocation, the name of a packing rule
     (headroom/unstable/capacity.h) */
  const char *rule;
  uint64_t seed; /* of the rule "random" */
};
/* Creates a set. Returns HR_BAD_INPUT if the cluster does not support the rule: "pool" in per-GPU allocation, and rules
   for single GPUs in counted allocation. Returns HR_NO_MEMORY if memory is exhausted. */
HR_API enum hr_status hr_capacity_set_create(const struct hr_capacity_config *config, struct hr_capacity_set **set,
                                             struct hr_error *error);
/* Whether memory was exhausted during a search in a capacity of the set. The search then found nothing. */
HR_API bool hr_capacity_set_failed(const struct hr_capacity_set *set);

/* Returns the present state of the cluster. It starts without jobs. In counted allocation it always equals the state of
   the engine. In per-GPU allocation the policy reports changes: hr_capacity_take for each start, hr_capacity_give for
   each end, hr_capacity_set_usable for each node. These calls have no effect in counted allocation. */
HR_API struct hr_capacity *hr_capacity_present(struct hr_capacity_set *set);
/* Creates a planned state without jobs, in which the nodes that are up are usable. Returns NULL if memory is
   exhausted. */
HR_API struct hr_capacity *hr_capacity_create(struct hr_capacity_set *set);
/* Resets a planned state: no jobs, and the nodes that are up now are usable. Takes O(nodes). */
HR_API void hr_capacity_reset(struct hr_capacity *capacity);

/* Finds a placement by the rule of the set, in the pools that the job accepts. Returns false if no placement exists. */
HR_API bool hr_capacity_find(struct hr_capacity *capacity, const struct hr_need *need, struct hr_placement *placement);
/* Finds a placement in one pool, which the job must accept. Returns false if no placement exists. */
HR_API bool hr_capacity_find_in(struct hr_capacity *capacity, hr_pool pool, const struct hr_need *need,
                                struct hr_placement *placement);
/* A number of tasks for the nodes first .. first + n_nodes - 1 of a pool. */
struct hr_node_share {
  hr_node first;
  uint32_t n_nodes, tasks;
};
/* Finds a placement in which each share of the nodes of a pool gets its tasks; the job must accept the pool, and shares
   do not overlap. In counted allocation each task has `gpus` GPUs; the rule must not be "pool". If the tier of the need
   is narrower than a node, and there is one share of one node, the GPUs are in one group of the tier. Returns false if
   no placement is found, or if memory is exhausted (hr_capacity_set_failed). */
HR_API bool hr_capacity_find_on(struct hr_capacity *capacity, hr_pool pool, const struct hr_need *need,
                                const struct hr_node_share *shares, uint32_t n_shares, uint32_t gpus,
                                struct hr_placement *placement);
/* Whether a placement exists. Later searches do not depend on this call, even if the rule is "random". */
HR_API bool hr_capacity_fits(struct hr_capacity *capacity, const struct hr_need *need);
/* Returns the number of searches so far, on which the next search depends if the rule is "random".
   hr_capacity_set_searches sets this number: later searches then do not depend on the searches since it was read. */
HR_API uint64_t hr_capacity_searches(const struct hr_capacity *capacity);
HR_API void hr_capacity_set_searches(struct hr_capacity *capacity, uint64_t searches);
/* For a job that does not fit: whether it would fit if it needed no CPU and no memory of nodes. */
HR_API bool hr_capacity_lacks_node_resources(struct hr_capacity *capacity, const struct hr_need *need);
/* Returns a reason to reject a job that the engine has accepted, but for which the rule finds no placement even if the
   cluster is empty and has all its nodes: HR_REASON_TOO_LARGE or HR_REASON_NO_GROUP. HR_REASON_NONE: it can fit. */
HR_API enum hr_reason hr_capacity_never_fits(struct hr_capacity_set *set, const struct hr_need *need);
/* Whether everything that a placement uses is free. The placement may have been found in another state: MIG GPUs
   without tasks can get its layouts if the pool allows this. */
HR_API bool hr_capacity_has(const struct hr_capacity *capacity, const struct hr_need *need,
                            const struct hr_placement *placement);

/* hr_capacity_take allocates a placement (its capacity must be free) to a job with this need. hr_capacity_give
   releases it. hr_capacity_undo reverts the last hr_capacity_take of these GPUs, including changes of MIG layouts.
   Parts of a placement on unusable nodes are ignored in counted allocation. */
HR_API void hr_capacity_take(struct hr_capacity *capacity, const struct hr_need *need,
                             const struct hr_placement *placement);
HR_API void hr_capacity_give(struct hr_capacity *capacity, const struct hr_need *need,
                             const struct hr_placement *placement);
HR_API void hr_capacity_undo(struct hr_capacity *capacity, const struct hr_need *need,
                             const struct hr_placement *placement);
/* Sets whether jobs may be placed on a node. In counted allocation a node that becomes usable is wholly free. `renew`:
   the node is new, so its GPUs have their initial MIG layouts; no job may be on it. */
HR_API void hr_capacity_set_usable(struct hr_capacity *capacity, hr_pool pool, hr_node node, bool usable, bool renew);
/* Whether a node is usable and no job is on it. Not for the rule "pool". */
HR_API bool hr_capacity_is_idle(const struct hr_capacity *capacity, hr_pool pool, hr_node node);
/* Returns the free milli-GPUs of a pool on usable nodes. In per-GPU allocation it takes O(nodes of the pool). */
HR_API uint64_t hr_capacity_free_milli(const struct hr_capacity *capacity, hr_pool pool);

/*
 * Time windows. To plan a job that runs during a window, the state of each node is set to the part that is free
 * during all of the window. The use of a node by tasks is an array of hr_capacity_columns numbers, such as CPU and the
 * share of each GPU. The sum over tasks that are on the node at the same time, and the maximum over several times, are
 * taken column by column.
 */
HR_API uint32_t hr_capacity_columns(const struct hr_capacity_set *set);
/* Returns the index of the column with the used milli-GPUs of the first GPU; the columns of the next GPUs follow. 0 in
   counted allocation. */
HR_API uint32_t hr_capacity_first_gpu_column(const struct hr_capacity_set *set);
/* Adds what a job with this need uses by one slice of its placement, which is on a node of `pool`. */
HR_API void hr_capacity_add_use(const struct hr_capacity_set *set, const struct hr_need *need, hr_pool pool,
                                const struct hr_slice *slice, uint64_t *use);
/* A condition on the use of a node that is necessary for a task of a job, or for the smallest part of a counted job, to
   fit there: columns 0 and 1 are at most `max_first` and `max_second`, and at least `gpus` of the `n_gpus` columns from
   `first_gpu` on are at most `max_gpu_milli`. It is cheaper to evaluate than hr_capacity_fits_on. */
struct hr_use_limits {
  uint64_t max_first, max_second, max_gpu_milli;
  uint32_t gpus, n_gpus, first_gpu;
};
HR_API struct hr_use_limits hr_capacity_use_limits(const struct hr_capacity_set *set, const struct hr_need *need,
                                                   hr_pool pool);
/* What the tasks of a node use during a window. */
struct hr_window_use {
  const uint64_t *columns; /* maximum over the window */
  /* with MIG; see struct hr_node_use (headroom/gpu_inventory.h) */
  const struct hr_slice *within, *before;
  uint32_t n_within, n_before;
};
/* Sets a planned state of a node to the part that is free during a window. The node must be up now, and becomes usable.
 */
HR_API void hr_capacity_set_window(struct hr_capacity *capacity, hr_pool pool, hr_node node,
                                   const struct hr_window_use *use);
/* Whether a task of the job or, in counted allocation, the smallest part that the job has on a node, fits on a node. */
HR_API bool hr_capacity_fits_on(const struct hr_capacity *capacity, const struct hr_need *need, hr_pool pool,
                                hr_node node);
/* Returns a lower bound for the number of nodes of a pool that a placement uses, at least 1. HR_NONE: the job does not
   accept the pool, or never fits there. */
HR_API uint32_t hr_capacity_min_nodes(const struct hr_capacity_set *set, const struct hr_need *need, hr_pool pool);
/* Whether a job that fits in one state fits in each state with more free capacity. This may be false for gangs that are
   placed task by task, if the choice for one task can leave too little for another task. */
HR_API bool hr_capacity_is_monotone(const struct hr_capacity_set *set, const struct hr_need *need);
/* Changes a placement that was found in a planned state so that it can be taken now. In per-GPU allocation, MIG GPUs
   that are idle now may have other layouts than in the planned state. */
HR_API void hr_capacity_adopt(const struct hr_capacity_set *set, struct hr_placement *placement,
                              struct hr_slice *slices);

#ifdef __cplusplus
}
#endif
#endif
