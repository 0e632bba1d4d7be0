/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POLICY_KIT_H
#define HEADROOM_POLICY_KIT_H

/*
 * Building blocks of the built-in policies, which plug-ins can use too: ordered sets of jobs, placement rules for
 * counted allocation, the release calendar of running jobs, and quota trees. All memory is from the policy's arena, so
 * nothing needs to be freed. A function that needs memory returns false or NULL if memory is exhausted.
 */

#include "headroom/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Ordered sets of jobs ---- */

/*
 * An entry of a job tree. A job tree is a B+-tree of entries (key, job, value), ordered by (key, job). Inner nodes
 * store the minimum and the sum of the values below each child. These make two searches fast: that for the next entry
 * with a value of at most a bound (hr_job_tree_next), and that for the entry at which the running sum of values reaches
 * a bound (hr_job_tree_reach). All operations take O(log n), except those that visit all entries.
 */
struct hr_job_entry {
  int64_t key;
  hr_job job;
  int64_t value;
};

/* Storage for the nodes of any number of trees of one policy. */
struct hr_tree_store;
/* Creates a store. Returns NULL if memory is exhausted. */
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
/* Sets `*entry` to the first entry. Returns false if the tree is empty. */
HR_API bool hr_job_tree_first(const struct hr_job_tree *tree, struct hr_job_entry *entry);
/* Returns the minimum of all values; INT64_MAX if the tree is empty. */
HR_API int64_t hr_job_tree_min(const struct hr_job_tree *tree);
/* Sets `*entry` to the first entry after (key, job) with a value of at most `bound`. Returns false if no such entry
   exists; `*entry` is then unchanged. Callers may pass `entry->key` and `entry->job` as arguments. */
HR_API bool hr_job_tree_next(const struct hr_job_tree *tree, int64_t key, hr_job job, int64_t bound,
                             struct hr_job_entry *entry);
/* A function that is called for an entry. It returns whether further entries are to be visited. */
typedef bool hr_job_visit(void *self, struct hr_job_entry entry);
/* Calls `visit` for each entry in order until `visit` returns false. If `after` is not NULL, the first entry is the one
   after (after->key, after->job); `after` itself need not be in the tree. Returns false if `visit` returned false, true
   otherwise. The tree must not change during the call. */
HR_API bool hr_job_tree_each(const struct hr_job_tree *tree, const struct hr_job_entry *after, hr_job_visit *visit,
                             void *self);
/* Calls `visit` for each entry in reverse order until `visit` returns false. Returns false if `visit` returned false,
   true otherwise. The tree must not change during the call. */
HR_API bool hr_job_tree_each_back(const struct hr_job_tree *tree, hr_job_visit *visit, void *self);
/* Sets `*entry` to the entry at which the running sum of values reaches `sum`. This is the first entry for which the
   sum of its value and the values of all previous entries is at least `sum`. Values must not be negative. Returns false
   if the sum of all values is less than `sum`. */
HR_API bool hr_job_tree_reach(const struct hr_job_tree *tree, int64_t sum, struct hr_job_entry *entry);
/* Returns the sum of the values of all entries with a key of at most `key`. */
HR_API int64_t hr_job_tree_sum_to(const struct hr_job_tree *tree, int64_t key);

/* ---- Placement ---- */

/*
 * The rules for the placement of a gang in counted allocation. HR_PLACE_POOL selects the first acceptable pool with
 * enough free GPUs; nodes are ignored. With the other rules, there are two cases:
 *   - A job that has at most as many GPUs as a node of an acceptable pool is placed on one node. The rule selects this
 *     node among the nodes of all acceptable pools.
 *   - A larger job is placed in the first acceptable pool in which it fits. It gets nodes without jobs, in the order of
 *     their ids. If this leaves a remainder that is smaller than a node, the rule selects one more node of the pool for
 *     the remainder.
 *
 * Of the nodes with enough free GPUs, HR_PLACE_FIRST_FIT selects the one with the lowest id, HR_PLACE_BEST_FIT the one
 * with the fewest free GPUs, and HR_PLACE_WORST_FIT the one with the most free GPUs. Of equal nodes, the one with the
 * lowest id is selected.
 */
enum hr_placement_rule { HR_PLACE_POOL, HR_PLACE_FIRST_FIT, HR_PLACE_BEST_FIT, HR_PLACE_WORST_FIT };

/* The free whole GPUs of a present or planned state of the cluster. */
struct hr_free_gpus {
  uint32_t n_pools;
  const struct hr_free_index *const *index; /* [n_pools]; not used by HR_PLACE_POOL */
  const uint64_t *free_gpus;                /* [n_pools]; used by HR_PLACE_POOL only */
};

/* A placer finds placements by a rule. It owns the slices of the placement that it found last. For 0 GPUs, its
   functions return true, and a placement without slices. */
struct hr_placer;
/* Creates a placer. Returns NULL if memory is exhausted. */
HR_API struct hr_placer *hr_placer_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                          enum hr_placement_rule rule);
/* Finds a placement of `gpus` GPUs on the present free capacity. Returns false if the GPUs do not fit. The slices of
   `placement` are valid until the next call for this placer. */
HR_API bool hr_placer_find(struct hr_placer *placer, uint32_t gpus, uint32_t accept_class,
                           struct hr_placement *placement);
/* Finds a placement of `gpus` GPUs on `state`, which is a state of the placer's cluster. `tier`: as in
   hr_placer_find_within; HR_TIER_ANY: no restriction. The free indices of the state must have the groups of a tier that
   is wider than a node (hr_free_index_add_groups). Returns false if the GPUs do not fit. The slices of `placement` are
   valid until the next call for this placer. */
HR_API bool hr_placer_find_in(struct hr_placer *placer, const struct hr_free_gpus *state, enum hr_tier tier,
                              uint32_t gpus, uint32_t accept_class, struct hr_placement *placement);
/* Finds a placement of `gpus` GPUs on the present free capacity of one pool. The rule must not be HR_PLACE_POOL. The
   caller checks that the job accepts the pool. Returns false if the GPUs do not fit. The slices of `placement` are
   valid until the next call for this placer. */
HR_API bool hr_placer_find_on(struct hr_placer *placer, hr_pool pool, uint32_t gpus, struct hr_placement *placement);
/* Finds a placement of `gpus` GPUs on the present free capacity within one group of a tier (HR_TIER_ISLAND to
   HR_TIER_ZONE). A job that has at most as many GPUs as a node is placed on one node, as by hr_placer_find. For a
   larger job, the function uses the first acceptable pool in which the GPUs fit into a group. In this pool, it uses the
   group with the least room that suffices (hr_free_index_group). The placer's rule selects the nodes within the group.
   The tier must be one that a job of the trace requires; the rule must not be HR_PLACE_POOL. Returns false if the GPUs
   do not fit into any group. The slices of `placement` are valid until the next call for this placer. */
HR_API bool hr_placer_find_within(struct hr_placer *placer, enum hr_tier tier, uint32_t gpus, uint32_t accept_class,
                                  struct hr_placement *placement);
/* Returns whether every placement of `gpus` GPUs has at most one slice. This is the case if a node of an acceptable
   pool has at least this number of GPUs. It is always the case with HR_PLACE_POOL, because its placements have no
   slices. */
HR_API bool hr_placer_is_single(const struct hr_placer *placer, uint32_t gpus, uint32_t accept_class);

/* ---- Release calendar ---- */

/*
 * The release calendar stores the expected ends of running jobs. At its end, a job releases its GPUs. GPUs are counted
 * in bins. With HR_PLACE_POOL each pool is a bin; with the other rules each node is a bin. If a job runs beyond its
 * expected end, the calendar assumes that the job ends one microsecond from now.
 */
struct hr_release_calendar;
/* Creates a calendar without jobs, for at most `n_jobs` jobs. Returns NULL if memory is exhausted. */
HR_API struct hr_release_calendar *hr_release_calendar_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                                              enum hr_placement_rule rule, uint32_t n_jobs);
/* Adds a job that starts at `placement` with `gpus` GPUs and is expected to end at `end_us`. Returns false if memory is
   exhausted. */
HR_API bool hr_release_calendar_add(struct hr_release_calendar *calendar, hr_job job, uint32_t gpus,
                                    const struct hr_placement *placement, int64_t end_us);
/* Removes a job. The arguments must equal those of hr_release_calendar_add. Returns false if the job is not in the
   calendar. */
HR_API bool hr_release_calendar_remove(struct hr_release_calendar *calendar, hr_job job, uint32_t gpus,
                                       const struct hr_placement *placement, int64_t end_us);
/* Sets whether jobs may start on a node. At first, the nodes that are up when the calendar is created are usable, and
   all other nodes are unusable. The calendar assumes that an unusable node never has free GPUs. Call this function
   whenever a node changes to the state up, closing or off. No effect with HR_PLACE_POOL. */
HR_API void hr_release_calendar_set_usable(struct hr_release_calendar *calendar, hr_pool pool, hr_node node,
                                           bool usable);
/* Returns the earliest time after `now_us` at which the rule can place `gpus` GPUs if no job starts and no node becomes
   usable until then. The GPUs must not fit now. Returns HR_NEVER_US if the GPUs would not fit even after the end of all
   running jobs, or if memory is exhausted. `tier`: the placement must be within one group of the tier, as in
   hr_placer_find_within; HR_TIER_ANY: no restriction. With HR_PLACE_POOL, `tier` must be HR_TIER_ANY. */
HR_API int64_t hr_release_calendar_earliest(struct hr_release_calendar *calendar, enum hr_tier tier, uint32_t gpus,
                                            uint32_t accept_class, int64_t now_us);
/* Returns whether a reservation of `gpus` GPUs at the time `at_us` remains possible if another job takes `taken` GPUs
   at `placement` now and runs beyond `at_us`. `tier` and `accept_class` apply to the reservation, as in
   hr_release_calendar_earliest. */
HR_API bool hr_release_calendar_allow(struct hr_release_calendar *calendar, const struct hr_placement *placement,
                                      uint32_t taken, enum hr_tier tier, uint32_t gpus, uint32_t accept_class,
                                      int64_t at_us, int64_t now_us);
/* The contents of a bin, for policies that plan the whole future. `bin`: with HR_PLACE_POOL, the id of a pool; with the
   other rules, the id of a node. hr_release_calendar_bin_free returns the number of GPUs of the bin that are free now.
   hr_release_calendar_bin_ends returns the running jobs of the bin as a tree: the key of an entry is the expected end
   of the job, the value is its number of GPUs in the bin. The tree is valid until the next change of the calendar. For
   an unusable node, the results are 0 and an empty tree. */
HR_API uint32_t hr_release_calendar_bin_free(const struct hr_release_calendar *calendar, uint32_t bin);
HR_API const struct hr_job_tree *hr_release_calendar_bin_ends(struct hr_release_calendar *calendar, uint32_t bin);

/* ---- Quotas ---- */

/*
 * The use of quotas by tenants (struct hr_quota_spec in headroom/cluster.h). A tenant is identified by its index in the
 * trace; HR_NONE is for jobs without a tenant. Amounts are milli-GPUs. All queries take O(depth of the tree).
 *
 * The subtree guarantee of a node (a tenant or cohort) is its own guarantee plus what its members lend. The lending
 * limit of the node divides the subtree guarantee into two parts. The first part is never lent. The second part, which
 * is at most as large as the lending limit, is lent to the cohort of the node. The use of the node is first counted
 * against the first part. Only the use beyond the first part is also use of the cohort.
 */
struct hr_quota_tree;
/* Creates a tree with a leaf for each tenant of the trace. `total_milli`: milli-GPUs of the cluster. If they exceed the
   sum of all guarantees, the rest belongs to the root, and every tenant can borrow it. Returns NULL if memory is
   exhausted. */
HR_API struct hr_quota_tree *hr_quota_tree_create(struct hr_arena *arena, const struct hr_quota_spec *spec,
                                                  const struct hr_trace *trace, uint64_t total_milli);
/* Adds `milli` to the use of a tenant, even if less is available to the tenant, because capacity may shrink below the
   use. */
HR_API void hr_quota_tree_take(struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
/* Subtracts `milli` from the use of a tenant; `milli` is at most this use. */
HR_API void hr_quota_tree_give(struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
/* Returns how much more the tenant may use now. The result is negative if the tenant or other tenants already use more
   than they may. */
HR_API int64_t hr_quota_tree_available(const struct hr_quota_tree *tree, uint32_t tenant);
/* Returns how much the tenant could use if no other tenant used anything. A job that requests more can never run. */
HR_API uint64_t hr_quota_tree_potential(const struct hr_quota_tree *tree, uint32_t tenant);
/* Returns whether the use of the tenant plus `milli` would exceed the subtree guarantee of the tenant. */
HR_API bool hr_quota_tree_borrows(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
/* Returns whether jobs of the tenant `victim` may be stopped so that `tenant` can use `milli` more. Two conditions
   apply. First, with `milli` more, `tenant`, or a cohort that contains `tenant` and not `victim`, stays within its
   subtree guarantee. Second, `victim`, and each cohort that contains `victim` and not `tenant`, uses more than its
   subtree guarantee. Returns false if `victim` is `tenant` itself. Call the function again after each job that is
   stopped. */
HR_API bool hr_quota_tree_may_reclaim(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli,
                                      uint32_t victim);
/* Returns the fair share value that a tenant would have if it used `extra_milli` more than now. The tenant with the
   lowest value is served first. Let b be the use beyond the tenant's subtree guarantee, and c the maximum that the
   tenant's cohort can use. The value is 1000 * b / c / (weight of the tenant). It is 0 if b is 0. It is infinite
   if b is above 0 and c is 0. */
HR_API double hr_quota_tree_share(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t extra_milli);

#ifdef __cplusplus
}
#endif
#endif
