/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POLICY_KIT_H
#define HEADROOM_POLICY_KIT_H

/*
 * Building blocks of the built-in policies, for plug-ins too: ordered sets of jobs, placement rules, the release
 * calendar of running jobs, quota trees. All memory comes from the policy's arena; functions that can run out of memory
 * return false or NULL then.
 */

#include "headroom/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Ordered sets of jobs ---- */

/*
 * A B+-tree of entries (key, job, value), ordered by (key, job). Inner nodes store the minimum and the sum of the
 * values below each child, so besides the next entry it finds the next entry with a value up to a bound, and the entry
 * at which a running sum reaches a bound. All operations take O(log n).
 */
struct hr_job_entry {
  int64_t key;
  hr_job job;
  int64_t value;
};

/* The nodes of any number of trees of one policy. NULL if memory is exhausted. */
struct hr_tree_store;
HR_API struct hr_tree_store *hr_tree_store_create(struct hr_arena *arena);

struct hr_job_tree {
  struct hr_tree_store *store;
  uint32_t root;  /* index of the root in the store, 0: none */
  uint32_t depth; /* inner levels above the leaves */
  uint64_t count;
  int64_t sum; /* of all values */
};

/* Inserts an entry; (key, job) must not be in the tree. A tree that is zero except for its store is empty. */
HR_API bool hr_job_tree_insert(struct hr_job_tree *tree, struct hr_job_entry entry);
/* Removes an entry. Returns whether it was in the tree. */
HR_API bool hr_job_tree_remove(struct hr_job_tree *tree, int64_t key, hr_job job);
/* The first entry; false if the tree is empty. */
HR_API bool hr_job_tree_first(const struct hr_job_tree *tree, struct hr_job_entry *entry);
/* The minimum of all values; INT64_MAX if the tree is empty. */
HR_API int64_t hr_job_tree_min(const struct hr_job_tree *tree);
/* The first entry after (key, job) with a value of at most `bound`; false if none exists. `entry` may alias the
   source of key and job. */
HR_API bool hr_job_tree_next(const struct hr_job_tree *tree, int64_t key, hr_job job, int64_t bound,
                             struct hr_job_entry *entry);
/* Calls `visit` for each entry in order until it returns false: all entries if `after` is NULL, else those after its
   key and job, which need not be in the tree. Returns whether all of them were visited. The tree must not change
   meanwhile. */
typedef bool hr_job_visit(void *self, struct hr_job_entry entry);
HR_API bool hr_job_tree_each(const struct hr_job_tree *tree, const struct hr_job_entry *after, hr_job_visit *visit,
                             void *self);
/* The first entry such that the values of all entries up to it sum to at least `sum`; values must not be negative.
   False if all values together are less. */
HR_API bool hr_job_tree_reach(const struct hr_job_tree *tree, int64_t sum, struct hr_job_entry *entry);
/* The sum of the values of all entries with a key of at most `key`. */
HR_API int64_t hr_job_tree_sum_to(const struct hr_job_tree *tree, int64_t key);

/* ---- Placement ---- */

/*
 * Rules for the placement of a gang. HR_PLACE_POOL: anywhere in the first pool with enough free GPUs; only their number
 * counts. Other rules: a job that fits on one node is placed on one, selected by the rule among the nodes of all
 * acceptable pools; a larger job takes empty nodes of one pool (the first in which it fits), lowest id first, and one
 * more node, selected by the rule, for its remainder.
 */
enum hr_placement_rule { HR_PLACE_POOL, HR_PLACE_FIRST_FIT, HR_PLACE_BEST_FIT, HR_PLACE_WORST_FIT };

/* Capacity to place on: the present state or a planned one. */
struct hr_capacity {
  uint32_t n_pools;
  const struct hr_free_index *const *index; /* by pool; not used by HR_PLACE_POOL */
  const uint64_t *free_gpus;                /* by pool; used by HR_PLACE_POOL only */
};

struct hr_placer;
/* Creates a placer. NULL if memory is exhausted. */
HR_API struct hr_placer *hr_placer_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                          enum hr_placement_rule rule);
/* Places `gpus` GPUs on the present cluster. False if they do not fit. The slices of `placement` are valid until the
   next call for this placer. */
HR_API bool hr_placer_find(struct hr_placer *placer, uint32_t gpus, uint32_t accept_class,
                           struct hr_placement *placement);
/* As hr_placer_find, on another state of the same cluster. */
HR_API bool hr_placer_find_in(struct hr_placer *placer, const struct hr_capacity *capacity, uint32_t gpus,
                              uint32_t accept_class, struct hr_placement *placement);
/* As hr_placer_find, on the nodes of one pool; not for HR_PLACE_POOL. */
HR_API bool hr_placer_find_on(struct hr_placer *placer, hr_pool pool, uint32_t gpus, struct hr_placement *placement);
/* Places GPUs on the present cluster within one group of a tier (HR_TIER_ISLAND to HR_TIER_ZONE): in the first pool
   where they fit, in the group with the least room, there by the rule. Only for tiers that some job of the trace
   requires; not for HR_PLACE_POOL. */
HR_API bool hr_placer_find_within(struct hr_placer *placer, enum hr_tier tier, uint32_t gpus, uint32_t accept_class,
                                  struct hr_placement *placement);
/* Whether the job would be placed on one node, or by number: then n_slices is at most 1. */
HR_API bool hr_placer_is_single(const struct hr_placer *placer, uint32_t gpus, uint32_t accept_class);

/* ---- Release calendar ---- */

/*
 * When GPUs will be released, as far as known: each running job with its expected end. GPUs are counted in bins: a bin
 * is a pool with HR_PLACE_POOL, a node with the other rules. An overdue job is expected to end in one microsecond.
 */
struct hr_release_calendar;
/* Creates an empty calendar for at most `n_jobs` jobs. NULL if memory is exhausted. */
HR_API struct hr_release_calendar *hr_release_calendar_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                                              enum hr_placement_rule rule, uint32_t n_jobs);
/* Adds a job that starts with `gpus` GPUs at a placement and is expected to end at `end_us`; or removes it, with the
   same arguments. False if memory is exhausted. */
HR_API bool hr_release_calendar_add(struct hr_release_calendar *calendar, hr_job job, uint32_t gpus,
                                    const struct hr_placement *placement, int64_t end_us);
HR_API bool hr_release_calendar_remove(struct hr_release_calendar *calendar, hr_job job, uint32_t gpus,
                                       const struct hr_placement *placement, int64_t end_us);
/* Call this for each node that comes up, gets notice or goes down: capacity of unusable nodes is never released. By
   node only. */
HR_API void hr_release_calendar_set_usable(struct hr_release_calendar *calendar, hr_pool pool, hr_node node,
                                           bool usable);
/* The earliest time after `now_us` at which the rule can place `gpus` GPUs, if nothing else starts and no node
   comes; HR_NEVER_US if they do not fit on the empty cluster. Only for GPUs that do not fit now. `tier`: within one
   group of a tier as in hr_placer_find_within, by node only; HR_TIER_ANY: anywhere. */
HR_API int64_t hr_release_calendar_earliest(struct hr_release_calendar *calendar, enum hr_tier tier, uint32_t gpus,
                                            uint32_t accept_class, int64_t now_us);
/* Whether `gpus` GPUs could still be placed at `at_us`, within a tier as in hr_release_calendar_earliest, if `taken`
   GPUs were in use at `placement` from now until after that. */
HR_API bool hr_release_calendar_allow(struct hr_release_calendar *calendar, const struct hr_placement *placement,
                                      uint32_t taken, enum hr_tier tier, uint32_t gpus, uint32_t accept_class,
                                      int64_t at_us, int64_t now_us);
/* A bin, for planners that need the whole future: its free GPUs now, and its running jobs by (expected end, job) with
   value = GPUs. `bin`: the number of the pool with HR_PLACE_POOL, of the node with the other rules. */
HR_API uint32_t hr_release_calendar_bin_free(const struct hr_release_calendar *calendar, uint32_t bin);
HR_API const struct hr_job_tree *hr_release_calendar_bin_ends(struct hr_release_calendar *calendar, uint32_t bin);

/* ---- Quotas ---- */

/*
 * The use of quotas by tenants (struct hr_quota_spec in headroom/cluster.h). A tenant is its index in the trace,
 * HR_NONE for jobs without a tenant. Queries take O(depth of the tree). Amounts are milli-GPUs. More than is available
 * can be taken, since capacity may shrink below the use.
 *
 * A part of what a node is guaranteed, including what its members lend it, is never lent (set by its lending limit);
 * the rest is managed by its cohort, which counts the use of the node beyond the first part.
 */
struct hr_quota_tree;
/* Creates a tree with a place for each tenant of the trace. `total_milli`: GPUs of the cluster; those beyond all
   guarantees belong to the root, for anyone to borrow. NULL if memory is exhausted. */
HR_API struct hr_quota_tree *hr_quota_tree_create(struct hr_arena *arena, const struct hr_quota_spec *spec,
                                                  const struct hr_trace *trace, uint64_t total_milli);
/* Adds `milli` to the use of a tenant. */
HR_API void hr_quota_tree_take(struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
/* Releases `milli`, at most the amount taken. */
HR_API void hr_quota_tree_give(struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
/* How much more the tenant may use now; negative if it or others use more than there is. */
HR_API int64_t hr_quota_tree_available(const struct hr_quota_tree *tree, uint32_t tenant);
/* How much the tenant could use if no other tenant used anything: a job that requests more can never run. */
HR_API uint64_t hr_quota_tree_potential(const struct hr_quota_tree *tree, uint32_t tenant);
/* Whether the tenant would be beyond its guarantee with `milli` more. */
HR_API bool hr_quota_tree_borrows(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
/* Whether jobs of `victim` may be stopped so that the tenant can use `milli` more: with it the tenant, or a cohort
   that contains the tenant but not the victim, must be within its guarantee; and the victim, and each of its cohorts
   that does not contain the tenant, must use more than its own guarantee. Call again after each job that is stopped. */
HR_API bool hr_quota_tree_may_reclaim(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli,
                                      uint32_t victim);
/* What the tenant would use beyond its guarantee with `extra_milli` more, in thousandths of what it could get from
   its cohort, divided by its weight; the tenant with the lowest share is first. 0 within its guarantee; infinite
   beyond it if its cohort cannot have anything. */
HR_API double hr_quota_tree_share(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t extra_milli);

#ifdef __cplusplus
}
#endif
#endif
