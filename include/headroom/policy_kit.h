/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POLICY_KIT_H
#define HEADROOM_POLICY_KIT_H

/*
 * Building blocks of the built-in policies, which plug-ins can use too: ordered sets of jobs, placement rules, the
 * release calendar of running jobs, quota trees. All memory is from the policy's arena, so nothing is freed. A function
 * that needs memory returns false or NULL if memory is exhausted.
 */

#include "headroom/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Ordered sets of jobs ---- */

/*
 * A B+-tree of entries (key, job, value), ordered by (key, job). Inner nodes store the minimum and the sum of the
 * values below each child. This makes two searches fast: for the next entry with a value of at most a bound
 * (hr_job_tree_next), and for the entry at which the running sum of values reaches a bound (hr_job_tree_reach). All
 * operations take O(log n), except those that visit all entries.
 */
struct hr_job_entry {
  int64_t key;
  hr_job job;
  int64_t value;
};

/* Storage for the nodes of any number of trees of one policy. hr_tree_store_create returns NULL if memory is
   exhausted. */
struct hr_tree_store;
HR_API struct hr_tree_store *hr_tree_store_create(struct hr_arena *arena);

/* A tree. A tree with all members 0 except `store` is empty. */
struct hr_job_tree {
  struct hr_tree_store *store;
  uint32_t root;  /* index of the root in the store; 0: no root */
  uint32_t depth; /* number of inner levels above the leaves; UINT32_MAX: the tree is a single entry */
  uint64_t count; /* number of entries */
  int64_t sum;    /* sum of all values */
};

/* Inserts an entry. The tree must not have an entry with the same key and job. Returns false if memory is exhausted. */
HR_API bool hr_job_tree_insert(struct hr_job_tree *tree, struct hr_job_entry entry);
/* Removes an entry. Returns whether it was in the tree. */
HR_API bool hr_job_tree_remove(struct hr_job_tree *tree, int64_t key, hr_job job);
/* Finds the first entry. Returns false if the tree is empty. */
HR_API bool hr_job_tree_first(const struct hr_job_tree *tree, struct hr_job_entry *entry);
/* Returns the minimum of all values; INT64_MAX if the tree is empty. */
HR_API int64_t hr_job_tree_min(const struct hr_job_tree *tree);
/* Finds the first entry after (key, job) with a value of at most `bound`. Returns false if no such entry exists.
   `*entry` may be the entry from which `key` and `job` were read. */
HR_API bool hr_job_tree_next(const struct hr_job_tree *tree, int64_t key, hr_job job, int64_t bound,
                             struct hr_job_entry *entry);
/* Calls `visit` for each entry in order until `visit` returns false. If `after` is not NULL, starts with the first
   entry after (after->key, after->job); `after` itself need not be in the tree. Returns true if all these entries were
   visited, false if `visit` returned false. The tree must not change during the call. */
typedef bool hr_job_visit(void *self, struct hr_job_entry entry);
HR_API bool hr_job_tree_each(const struct hr_job_tree *tree, const struct hr_job_entry *after, hr_job_visit *visit,
                             void *self);
/* Calls `visit` for each entry, the last one first, until `visit` returns false. Returns and requires the same as
   hr_job_tree_each. */
HR_API bool hr_job_tree_each_back(const struct hr_job_tree *tree, hr_job_visit *visit, void *self);
/* Finds the entry at which the running sum of values reaches `sum`: the first entry such that its value and the values
   of all previous entries sum to `sum` or more. Values must not be negative. Returns false if the sum of all values is
   less than `sum`. */
HR_API bool hr_job_tree_reach(const struct hr_job_tree *tree, int64_t sum, struct hr_job_entry *entry);
/* Returns the sum of the values of all entries with a key of at most `key`. */
HR_API int64_t hr_job_tree_sum_to(const struct hr_job_tree *tree, int64_t key);

/* ---- Placement ---- */

/*
 * The rules for the placement of a gang. HR_PLACE_POOL selects the first acceptable pool with enough free GPUs; nodes
 * are ignored. With all other rules, a job that fits on one node is placed on one node. The rule selects this node
 * among the nodes of all acceptable pools. A larger job is placed in the first acceptable pool in which it fits. It
 * gets nodes without jobs, in the order of their ids. If this leaves a remainder that is smaller than a node, the rule
 * selects one more node of the pool for the remainder.
 *
 * HR_PLACE_FIRST_FIT selects the lowest node id, HR_PLACE_BEST_FIT the node with the fewest free GPUs,
 * HR_PLACE_WORST_FIT the node with the most free GPUs.
 */
enum hr_placement_rule { HR_PLACE_POOL, HR_PLACE_FIRST_FIT, HR_PLACE_BEST_FIT, HR_PLACE_WORST_FIT };

/* Free whole GPUs: those of the present state of the cluster, or of a planned one. */
struct hr_free_gpus {
  uint32_t n_pools;
  const struct hr_free_index *const *index; /* by pool; not used by HR_PLACE_POOL */
  const uint64_t *free_gpus;                /* by pool; used by HR_PLACE_POOL only */
};

/* A placer finds placements by a rule. It owns the slices of the placement that it found last. */
struct hr_placer;
/* Creates a placer. Returns NULL if memory is exhausted. */
HR_API struct hr_placer *hr_placer_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                          enum hr_placement_rule rule);
/* Finds a placement of `gpus` GPUs on the present free capacity. Returns false if the GPUs do not fit. The slices of
   `placement` are valid until the next call for this placer. */
HR_API bool hr_placer_find(struct hr_placer *placer, uint32_t gpus, uint32_t accept_class,
                           struct hr_placement *placement);
/* Finds a placement of `gpus` GPUs on `state`, which is a state of the placer's cluster. `tier`: as in
   hr_placer_find_within; the free indexes of the state must have groups for it (hr_free_index_add_groups). HR_TIER_ANY:
   anywhere. Returns false if the GPUs do not fit. The slices of `placement` are valid until the next call for this
   placer. */
HR_API bool hr_placer_find_in(struct hr_placer *placer, const struct hr_free_gpus *state, enum hr_tier tier,
                              uint32_t gpus, uint32_t accept_class, struct hr_placement *placement);
/* Finds a placement of `gpus` GPUs on the present free capacity of one pool. The rule must not be HR_PLACE_POOL.
   Returns false if the GPUs do not fit. The slices of `placement` are valid until the next call for this placer. */
HR_API bool hr_placer_find_on(struct hr_placer *placer, hr_pool pool, uint32_t gpus, struct hr_placement *placement);
/* Finds a placement of `gpus` GPUs on the present free capacity within one group of a tier (HR_TIER_ISLAND to
   HR_TIER_ZONE). It uses the first acceptable pool in which the GPUs fit into a group. In this pool, it uses the group
   with the least room that suffices (hr_free_index_group). The placer's rule selects the nodes within the group. The
   tier must be one that a job of the trace requires; the rule must not be HR_PLACE_POOL. Returns false if the GPUs do
   not fit into any group. The slices of `placement` are valid until the next call for this placer. */
HR_API bool hr_placer_find_within(struct hr_placer *placer, enum hr_tier tier, uint32_t gpus, uint32_t accept_class,
                                  struct hr_placement *placement);
/* Whether every placement of `gpus` GPUs has at most one slice: the GPUs fit on a single empty node, or the rule is
   HR_PLACE_POOL (its placements have no slices). */
HR_API bool hr_placer_is_single(const struct hr_placer *placer, uint32_t gpus, uint32_t accept_class);

/* ---- Release calendar ---- */

/*
 * The release calendar stores the expected ends of running jobs, at which their GPUs are released. GPUs are counted in
 * bins. With HR_PLACE_POOL each pool is a bin; with the other rules each node is a bin. If a job runs beyond its
 * expected end, the calendar assumes that it ends one microsecond from now.
 */
struct hr_release_calendar;
/* Creates a calendar without jobs, for at most `n_jobs` jobs. Returns NULL if memory is exhausted. */
HR_API struct hr_release_calendar *hr_release_calendar_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                                              enum hr_placement_rule rule, uint32_t n_jobs);
/* hr_release_calendar_add adds a job that starts at a placement with `gpus` GPUs and is expected to end at `end_us`; it
   returns false if memory is exhausted. hr_release_calendar_remove removes a job; its arguments must equal those of the
   addition. It returns false if the job is not in the calendar. */
HR_API bool hr_release_calendar_add(struct hr_release_calendar *calendar, hr_job job, uint32_t gpus,
                                    const struct hr_placement *placement, int64_t end_us);
HR_API bool hr_release_calendar_remove(struct hr_release_calendar *calendar, hr_job job, uint32_t gpus,
                                       const struct hr_placement *placement, int64_t end_us);
/* Sets whether jobs can use a node. The calendar assumes that the GPUs of unusable nodes are never released. Therefore,
   call this function for each node that comes up, gets notice or goes down. No effect with HR_PLACE_POOL. */
HR_API void hr_release_calendar_set_usable(struct hr_release_calendar *calendar, hr_pool pool, hr_node node,
                                           bool usable);
/* Returns the earliest time after `now_us` at which the rule can place `gpus` GPUs, assuming that no job starts and no
   node is added until then. Returns HR_NEVER_US if the GPUs do not even fit on the empty cluster. The GPUs must not fit
   now. `tier`: the placement must be within one group of the tier, as in hr_placer_find_within; HR_TIER_ANY: no
   restriction. With HR_PLACE_POOL, `tier` must be HR_TIER_ANY. */
HR_API int64_t hr_release_calendar_earliest(struct hr_release_calendar *calendar, enum hr_tier tier, uint32_t gpus,
                                            uint32_t accept_class, int64_t now_us);
/* Whether a reservation of `gpus` GPUs at the time `at_us` remains possible if another job takes `taken` GPUs at
   `placement` now and runs beyond `at_us`. `tier` and `accept_class` apply to the reservation, as in
   hr_release_calendar_earliest. */
HR_API bool hr_release_calendar_allow(struct hr_release_calendar *calendar, const struct hr_placement *placement,
                                      uint32_t taken, enum hr_tier tier, uint32_t gpus, uint32_t accept_class,
                                      int64_t at_us, int64_t now_us);
/* The contents of a bin, for policies that plan the whole future. hr_release_calendar_bin_free returns the number of
   GPUs of the bin that are free now. hr_release_calendar_bin_ends returns the running jobs of the bin as a tree: the
   key of an entry is the expected end of the job, the value is its number of GPUs in the bin. The tree is valid until
   the next change of the calendar. `bin`: with HR_PLACE_POOL, the id of a pool; with the other rules, the id of a
   node. */
HR_API uint32_t hr_release_calendar_bin_free(const struct hr_release_calendar *calendar, uint32_t bin);
HR_API const struct hr_job_tree *hr_release_calendar_bin_ends(struct hr_release_calendar *calendar, uint32_t bin);

/* ---- Quotas ---- */

/*
 * The use of quotas by tenants (struct hr_quota_spec in headroom/cluster.h). A tenant is identified by its index in the
 * trace; HR_NONE is for jobs without a tenant. Amounts are milli-GPUs. All queries take O(depth of the tree).
 * hr_quota_tree_take accepts more than is available to the tenant, because capacity may shrink below the use.
 *
 * The subtree guarantee of a node (a tenant or cohort) is its own guarantee plus what its members lend. The lending
 * limit of the node divides the subtree guarantee into two parts. The first part is never lent. The node lends
 * the second part, which is at most as large as the lending limit, to its cohort. The node's use is first counted
 * against the first part; only the use beyond it is use of the cohort.
 */
struct hr_quota_tree;
/* Creates a tree with a leaf for each tenant of the trace. `total_milli`: milli-GPUs of the cluster. If they exceed the
   sum of all guarantees, the rest belongs to the root, and every tenant can borrow it. Returns NULL if memory is
   exhausted. */
HR_API struct hr_quota_tree *hr_quota_tree_create(struct hr_arena *arena, const struct hr_quota_spec *spec,
                                                  const struct hr_trace *trace, uint64_t total_milli);
/* Adds `milli` to the use of a tenant. */
HR_API void hr_quota_tree_take(struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
/* Subtracts `milli` from the use of a tenant; `milli` is at most this use. */
HR_API void hr_quota_tree_give(struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
/* Returns how much more the tenant may use now. The result is negative if the tenant or other tenants already use more
   than they may. */
HR_API int64_t hr_quota_tree_available(const struct hr_quota_tree *tree, uint32_t tenant);
/* Returns how much the tenant could use if no other tenant used anything. A job that requests more can never run. */
HR_API uint64_t hr_quota_tree_potential(const struct hr_quota_tree *tree, uint32_t tenant);
/* Whether the use of the tenant plus `milli` would exceed its guarantee. */
HR_API bool hr_quota_tree_borrows(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
/* Whether jobs of `victim` may be stopped so that the tenant can use `milli` more. Two conditions apply. First, with
   `milli` more, the tenant, or a cohort that contains the tenant and not the victim, stays within its guarantee.
   Second, the victim, and each cohort that contains the victim and not the tenant, uses more than its guarantee. Call
   the function again after each job that is stopped. */
HR_API bool hr_quota_tree_may_reclaim(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli,
                                      uint32_t victim);
/* Returns the fair share value that a tenant would have if it used `extra_milli` more than now. The tenant with the
   lowest value is served first. The value is 0 if the use is within the tenant's guarantee. Otherwise it is the use
   beyond the guarantee, in thousandths of the maximum that the tenant's cohort can use, divided by the tenant's weight.
   If the cohort cannot use anything, the value is infinite. */
HR_API double hr_quota_tree_share(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t extra_milli);

#ifdef __cplusplus
}
#endif
#endif
