/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_CAPACITY_H
#define HEADROOM_UNSTABLE_CAPACITY_H

/* Placement for policies. The first part places single tasks by packing rules. The second part represents states of
   the cluster and finds placements of whole jobs in them. */

#include "headroom/base.h"
#include "headroom/gpu_inventory.h"
#include "headroom/policy.h"
#include "headroom/unstable/fragmentation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Tasks --------------------------------------------------------------------------------------------- */

/*
 * Placement of single tasks in per-GPU allocation. A packing rule scores the nodes and selects GPUs. It considers the
 * state of each GPU, and the free CPU and memory of each node. Some rules are rules of the Kubernetes scheduler. One
 * rule is the fragmentation-aware rule of Weng et al. ("Beware of Fragmentation", ATC'23). docs/researcher/fill.md
 * defines each rule.
 *
 * All memory is from the arena; functions that create something return NULL if memory is exhausted. Each thread needs
 * its own packer; requests and typical pods can be shared, because they are immutable.
 */

/* ---- Rules ---- */

/* The kind of a task, for the rule `gpu-clustering`. HR_KIND_NO_GPU: the task requests no GPU. HR_KIND_SHARE: it
   requests a share of each of its GPUs. HR_KIND_WHOLE + n - 1: it requests n whole GPUs. */
#define HR_KIND_NO_GPU 0u
#define HR_KIND_SHARE 1u
#define HR_KIND_WHOLE 2u
static inline uint32_t hr_request_kind(const struct hr_request *request) {
  if (request->gpus == 0) return HR_KIND_NO_GPU;
  return request->gpu_milli < HR_WHOLE_GPU_MILLI ? HR_KIND_SHARE : HR_KIND_WHOLE + request->gpus - 1;
}

/* The input of a packing rule. Everything is borrowed. */
struct hr_packing {
  const struct hr_gpu_inventory *inventory;
  const struct hr_cluster_spec *cluster;
  /* the milli-CPUs of the node with the most CPU, and the milli-GPUs of the node with the most GPUs; at least 1 */
  uint64_t max_cpu_milli, max_gpu_milli;
  uint32_t n_kinds;              /* number of kinds of tasks: hr_packer_kinds */
  const uint32_t *tasks;         /* [n_nodes]: number of tasks on the node */
  const uint32_t *tasks_of_kind; /* [n_nodes][n_kinds]: number of tasks of each kind */
  const struct hr_typical_pods *typical;
  struct hr_fragmentation *fragmentation; /* NULL unless the rule has `wants_fragmentation` */
  /* `finds`: number of searches so far, which is the index of the next random draw */
  uint64_t seed, *finds;
};

/* A packing rule. It selects the node with the highest score among the nodes on which the task fits. Of several nodes
   with this score, it selects the node with the lowest rank (node_order in headroom/cluster.h). */
struct hr_packing_rule {
  const char *name, *summary;
  /* Returns the score of a node on which the request fits, from 0 to INT32_MAX - 1. The score depends only on the
     request, on the resources of the node and on the tasks on the node. NULL: the rule selects a random node on which
     the task fits; all these nodes have the same probability. */
  int32_t (*score)(const struct hr_packing *packing, const struct hr_request *request, hr_node node);
  /* Selects the GPUs that the task takes on the selected node, and returns them as a set. NULL: hr_gpu_inventory_pick
     is used. */
  uint64_t (*pick)(const struct hr_packing *packing, const struct hr_request *request, hr_node node);
  bool wants_fragmentation; /* the rule reads `fragmentation` */
  bool scores_nodes;        /* the score of a node is the same for all requests that fit on the node */
};
/* Returns all packing rules, terminated by NULL. */
HR_API const struct hr_packing_rule *const *hr_packing_rules(void);
/* Finds a packing rule by its exact name. Returns NULL if no rule has the name; `error` then suggests a similar name,
   if one exists. */
HR_API const struct hr_packing_rule *hr_packing_rule_find(const char *name, struct hr_error *error);

/* ---- Packer ---- */

/* The configuration of a packer. Everything is borrowed. */
struct hr_packer_config {
  const struct hr_packing_rule *rule;
  /* the state of the cluster; the caller reports each change of this state to the packer */
  const struct hr_gpu_inventory *inventory;
  const struct hr_cluster_spec *cluster;
  struct hr_acceptance acceptance;   /* the pools that the requests accept, by the accept class of the request */
  const struct hr_request *requests; /* [n_requests] */
  uint32_t n_requests;
  const struct hr_typical_pods *typical; /* may be NULL unless the rule has `wants_fragmentation` */
  uint64_t seed;                         /* of the rule `random` */
  /* The number of searches so far, which is the index of the next random draw. Each search increments it. After a
     search that only tests whether a task fits, the caller restores the previous number, so that the search does not
     affect later draws. NULL: the packer has its own counter. */
  uint64_t *finds;
};

/*
 * A packer finds nodes by a packing rule. For each request that has been searched for, it stores the scores of all
 * nodes in a tournament tree. A search first computes the scores of the nodes that changed since the last search for
 * the same request. Then it takes O(log n) for n nodes. If the scores of the rule do not depend on the request
 * (scores_nodes), up to eight requests share each computed score.
 */
struct hr_packer;
HR_API struct hr_packer *hr_packer_create(struct hr_arena *arena, const struct hr_packer_config *config);
/* Finds a node for one task of requests[request], and sets `*gpus` to the set of the GPUs for the task. Returns false
   if the task fits on no node; `*node` and `*gpus` are then undefined. */
HR_API bool hr_packer_find(struct hr_packer *packer, uint32_t request, hr_node *node, uint64_t *gpus);
/* Does the same as hr_packer_find, but considers only the nodes first .. first + n_nodes - 1. Takes O(n_nodes) in
   addition. */
HR_API bool hr_packer_find_among(struct hr_packer *packer, uint32_t request, hr_node first, uint32_t n_nodes,
                                 hr_node *node, uint64_t *gpus);
/* The caller calls hr_packer_taken after each hr_gpu_inventory_take. It calls hr_packer_given after each
   hr_gpu_inventory_give and each hr_gpu_inventory_undo. */
HR_API void hr_packer_taken(struct hr_packer *packer, uint32_t request, hr_node node);
HR_API void hr_packer_given(struct hr_packer *packer, uint32_t request, hr_node node);
/* Reports that all tasks of a node were removed at once. */
HR_API void hr_packer_cleared(struct hr_packer *packer, hr_node node);
/* Sets the number of tasks on a node, after they changed in another way. `tasks_of_kind`: [hr_packer_kinds], the number
   of tasks of each kind. */
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
 * A capacity is a state of the cluster in which some placements are in use. It is either the present state or a planned
 * state, such as the state at a future time. Two implementations exist: counted allocation (whole GPUs by node or by
 * pool) and per-GPU allocation (shares, MIG instances, CPU, memory, islands). The cluster determines which one is
 * used (hr_cluster_spec_by_gpu), and most policies work with both.
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
  bool preferred;        /* if no group of the tier has a placement, any other placement is used */
};
/* Returns what a job needs. `tier` is the tier that the job requires (hr_cluster_locality), and `preferred` is false.
 * If the requirement has expired, the caller sets `preferred` to true. */
HR_API struct hr_need hr_need_of(const struct hr_cluster *cluster, const struct hr_trace *jobs, hr_job job);
/* Returns whether the job needs no node, because it requests no resource that the cluster counts. */
HR_API bool hr_need_is_empty(const struct hr_cluster *cluster, const struct hr_need *need);

/* The capacities of one cluster under one placement rule. */
struct hr_capacity_set;
/* A capacity. */
struct hr_capacity;

/* The configuration of a set. Everything is borrowed. */
struct hr_capacity_config {
  struct hr_arena *arena;
  const struct hr_cluster *cluster;
  /* name of the placement rule. In counted allocation: "pool", "first-fit", "best-fit" or "worst-fit". In per-GPU
     allocation: the name of a packing rule (hr_packing_rules) */
  const char *rule;
  uint64_t seed; /* of the rule "random" */
};
/* Creates a set. Returns HR_BAD_INPUT if the rule does not exist in the allocation that the cluster uses. For example,
   "pool" does not exist in per-GPU allocation. Returns HR_NO_MEMORY if memory is exhausted. */
HR_API enum hr_status hr_capacity_set_create(const struct hr_capacity_config *config, struct hr_capacity_set **set,
                                             struct hr_error *error);
/* Returns whether memory was exhausted during a search in a capacity of the set. That search returned false. */
HR_API bool hr_capacity_set_failed(const struct hr_capacity_set *set);

/* Returns the present state of the cluster. In counted allocation it always equals the state of the engine. In per-GPU
   allocation it has no jobs at first, and the policy reports changes: hr_capacity_take for each start, hr_capacity_give
   for each end, hr_capacity_set_usable for each node. These calls have no effect in counted allocation. */
HR_API struct hr_capacity *hr_capacity_present(struct hr_capacity_set *set);
/* Creates a planned state without jobs, in which the nodes that are up are usable. Returns NULL if memory is
   exhausted. */
HR_API struct hr_capacity *hr_capacity_create(struct hr_capacity_set *set);
/* Resets a planned state: afterwards it has no jobs, the nodes that are up now are usable, and MIG GPUs have their
   present layouts. Takes O(nodes). */
HR_API void hr_capacity_reset(struct hr_capacity *capacity);

/* Finds a placement by the rule of the set, in the pools that the job accepts. Returns false if no placement was found,
   or if memory is exhausted (hr_capacity_set_failed). The search may miss the only placements of a gang, see
   hr_capacity_is_monotone. */
HR_API bool hr_capacity_find(struct hr_capacity *capacity, const struct hr_need *need, struct hr_placement *placement);
/* Finds a placement in one pool, which the job must accept. Returns false as hr_capacity_find does. */
HR_API bool hr_capacity_find_in(struct hr_capacity *capacity, hr_pool pool, const struct hr_need *need,
                                struct hr_placement *placement);
/* A number of tasks for the nodes first .. first + n_nodes - 1 of a pool. */
struct hr_node_share {
  hr_node first;
  uint32_t n_nodes, tasks;
};
/* Finds a placement in a pool in which the nodes of each share get, together, the number of tasks of the share. The job
   must accept the pool, the shares must not overlap, and the rule must not be "pool". Together the shares must have all
   tasks of the job. `gpus`: GPUs of each task in counted allocation; not used in per-GPU allocation. The tier of the
   need has an effect only in per-GPU allocation, if the tier is narrower than a node and `shares` has a single share
   with one node. In this case, all GPUs are in one group of the tier. Returns false if no placement was found, or if
   memory is exhausted (hr_capacity_set_failed). */
HR_API bool hr_capacity_find_on(struct hr_capacity *capacity, hr_pool pool, const struct hr_need *need,
                                const struct hr_node_share *shares, uint32_t n_shares, uint32_t gpus,
                                struct hr_placement *placement);
/* Returns whether hr_capacity_find would find a placement. Later searches do not depend on this call, even if the rule
   is "random". */
HR_API bool hr_capacity_fits(struct hr_capacity *capacity, const struct hr_need *need);
/* hr_capacity_searches returns the number of searches so far. With the rule "random" the next search depends on this
   number. To make later searches independent of some searches, read the number before them and restore it afterwards
   with hr_capacity_set_searches. */
HR_API uint64_t hr_capacity_searches(const struct hr_capacity *capacity);
HR_API void hr_capacity_set_searches(struct hr_capacity *capacity, uint64_t searches);
/* For a job that does not fit: returns whether it would fit if it needed no CPU and no memory of nodes. Requirements on
   locality are ignored. Always false in counted allocation. Returns false if memory is exhausted
   (hr_capacity_set_failed). */
HR_API bool hr_capacity_lacks_node_resources(struct hr_capacity *capacity, const struct hr_need *need);
/* Returns a reason to reject a job that the engine has accepted, if the rule finds no placement even in a cluster
   without jobs in which all nodes are usable: HR_REASON_TOO_LARGE or HR_REASON_NO_GROUP. Returns HR_REASON_NONE if the
   job can fit, and always in counted allocation. */
HR_API enum hr_reason hr_capacity_never_fits(struct hr_capacity_set *set, const struct hr_need *need);
/* Returns whether all resources that a placement uses are free. The placement may have been found in another state of
   the set. If the pool allows changes of MIG layouts, the layout of a MIG GPU without tasks need not match. */
HR_API bool hr_capacity_has(const struct hr_capacity *capacity, const struct hr_need *need,
                            const struct hr_placement *placement);

/* hr_capacity_take allocates a placement to a job with this need; its capacity must be free. hr_capacity_give
   releases the placement. hr_capacity_undo reverts the last hr_capacity_take of these GPUs, including changes of MIG
   layouts. In counted allocation, the functions ignore parts of a placement on unusable nodes, and they do not change
   the present state. */
HR_API void hr_capacity_take(struct hr_capacity *capacity, const struct hr_need *need,
                             const struct hr_placement *placement);
HR_API void hr_capacity_give(struct hr_capacity *capacity, const struct hr_need *need,
                             const struct hr_placement *placement);
HR_API void hr_capacity_undo(struct hr_capacity *capacity, const struct hr_need *need,
                             const struct hr_placement *placement);
/* Sets whether jobs may be placed on a node. In counted allocation, all GPUs of a node that becomes usable are free;
   the call has no effect in the present state and under the rule "pool". `renew` is true if the node has come up
   (HR_EVENT_NODE_UP), or is treated as if it had. Unless jobs are on the node, its GPUs then get the MIG layouts that
   they have in the engine or, if the node is not up yet, their initial layouts. */
HR_API void hr_capacity_set_usable(struct hr_capacity *capacity, hr_pool pool, hr_node node, bool usable, bool renew);
/* Returns whether a node is usable and no job is on it. Must not be called under the rule "pool". */
HR_API bool hr_capacity_is_idle(const struct hr_capacity *capacity, hr_pool pool, hr_node node);
/* Returns the free milli-GPUs of a pool on usable nodes. In per-GPU allocation, takes O(nodes of the pool) time. */
HR_API uint64_t hr_capacity_free_milli(const struct hr_capacity *capacity, hr_pool pool);

/*
 * Time windows. A policy that plans a job for a period (the window) sets each node of a planned state to the part that
 * is free during the whole window. The functions below must not be called under the rule "pool".
 *
 * The use of a node by tasks is an array of hr_capacity_columns numbers, the columns. In counted allocation the only
 * column is the number of GPUs. In per-GPU allocation the columns are milli-CPUs (column 0), memory in MiB (column 1),
 * the milli-GPUs of each GPU, and others. The use by several tasks at the same time is the sum of each column. The use
 * during a window is the maximum of each column over the times of the window.
 */
HR_API uint32_t hr_capacity_columns(const struct hr_capacity_set *set);
/* Returns the index of the column with the used milli-GPUs of the first GPU; the columns of the next GPUs follow.
   Returns 0 in counted allocation. */
HR_API uint32_t hr_capacity_first_gpu_column(const struct hr_capacity_set *set);
/* Adds the resources that one slice of a placement uses to the columns `use`. The placement is for a job with the need
   `need`, and the slice is on a node of `pool`. */
HR_API void hr_capacity_add_use(const struct hr_capacity_set *set, const struct hr_need *need, hr_pool pool,
                                const struct hr_slice *slice, uint64_t *use);
/* A condition on the columns of a node. It is necessary for hr_capacity_fits_on and cheaper to evaluate. Column 0 is
   at most `max_first`. Column 1 is at most `max_second`; UINT64_MAX: this column is not limited, or does not exist.
   At least `gpus` of the `n_gpus` columns that begin with column `first_gpu` are at most `max_gpu_milli`. */
struct hr_use_limits {
  uint64_t max_first, max_second, max_gpu_milli;
  uint32_t gpus, n_gpus, first_gpu;
};
HR_API struct hr_use_limits hr_capacity_use_limits(const struct hr_capacity_set *set, const struct hr_need *need,
                                                   hr_pool pool);
/* The use of a node by its tasks during a window. */
struct hr_window_use {
  const uint64_t *columns; /* maximum over the window */
  /* arrays of n_within and n_before slices, for MIG; see struct hr_node_use (headroom/gpu_inventory.h) */
  const struct hr_slice *within, *before;
  uint32_t n_within, n_before;
};
/* Sets a node of a planned state to the part that is free during a window. The node must be up now. In per-GPU
   allocation it becomes usable; in counted allocation it must be usable already. */
HR_API void hr_capacity_set_window(struct hr_capacity *capacity, hr_pool pool, hr_node node,
                                   const struct hr_window_use *use);
/* Returns whether a part of the job fits on a node. In per-GPU allocation the part is one task. In counted allocation
   it is the smallest part that a placement of the job has on a node. */
HR_API bool hr_capacity_fits_on(const struct hr_capacity *capacity, const struct hr_need *need, hr_pool pool,
                                hr_node node);
/* Returns a lower bound for the number of nodes of a pool that a placement uses, at least 1. Returns HR_NONE if the job
   does not accept the pool or never fits there. */
HR_API uint32_t hr_capacity_min_nodes(const struct hr_capacity_set *set, const struct hr_need *need, hr_pool pool);
/* Returns whether a job that fits in one state also fits in each state with more free capacity. Returns false for gangs
   in per-GPU allocation for which the GPUs chosen for one task can leave too little for another task. The search for
   such a gang may then miss a placement. */
HR_API bool hr_capacity_is_monotone(const struct hr_capacity_set *set, const struct hr_need *need);
/* Changes a placement that was found in a planned state so that it can be taken in the present state: MIG GPUs that are
   idle now may have other layouts than in the planned state. `slices`: the slices of the placement, which the function
   changes; `placement` then points to them. No effect in counted allocation. */
HR_API void hr_capacity_adopt(const struct hr_capacity_set *set, struct hr_placement *placement,
                              struct hr_slice *slices);

#ifdef __cplusplus
}
#endif
#endif
