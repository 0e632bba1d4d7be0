/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_CAPACITY_H
#define HEADROOM_UNSTABLE_CAPACITY_H

#include "headroom/base.h"
#include "headroom/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

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
/* Whether a need is met without a node: the job requests nothing that is accounted. */
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
     (headroom/unstable/placement.h) */
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

/* Finds a placement by the rule of the set, in the pools that the job accepts. Returns false if there is none. */
HR_API bool hr_capacity_find(struct hr_capacity *capacity, const struct hr_need *need, struct hr_placement *placement);
/* Finds a placement in one pool, which the job must accept. Returns false if there is none. */
HR_API bool hr_capacity_find_in(struct hr_capacity *capacity, hr_pool pool, const struct hr_need *need,
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

/* hr_capacity_take allocates a placement, whose capacity must be free, to a job with this need. hr_capacity_give
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
 * Time windows. To plan a job that runs during a window, the state of each node is set to what is free during all of
 * the window. What tasks use of a node is an array of hr_capacity_columns numbers, such as CPU and the share of each
 * GPU. The sum over tasks that are on the node at the same time, and the maximum over several times, are taken column
 * by column.
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
  /* with MIG; see struct hr_node_use (headroom/unstable/node_use.h) */
  const struct hr_slice *within, *before;
  uint32_t n_within, n_before;
};
/* Sets a planned state of a node to what is free during a window. The node must be up now, and becomes usable. */
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
