/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POLICY_KIT_H
#define HEADROOM_POLICY_KIT_H

/*
 * What the built-in policies are made of, for plug-ins to use as well: an ordered set of jobs, placement rules,
 * and the future of running jobs. All memory comes from the policy's arena; functions that may need more return
 * false when it has run out.
 */

#include "headroom/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Ordered jobs ----------------------------------------------------------------------------------- */

/*
 * A B+-tree of entries (key, job, value), ordered by (key, job). Inner nodes keep the least value and the sum of
 * values below each child, so besides the next entry it finds the next one with a value small enough, and the
 * place where a running sum passes a bound. Everything costs O(log n).
 */
struct hr_job_entry {
  int64_t key;
  hr_job job;
  int64_t value;
};

/* Tree nodes; shared by any number of trees of one policy. */
struct hr_tree_store;
HR_API struct hr_tree_store *hr_tree_store_create(struct hr_arena *arena);

struct hr_job_tree {
  struct hr_tree_store *store;
  uint32_t root;  /* place of the root in the store, 0 for none */
  uint32_t depth; /* inner levels above the leaves */
  uint64_t count;
  int64_t sum; /* of all values */
};

/* A tree that is all zero but for its store is empty. (key, job) must not be in the tree already. */
HR_API bool hr_job_tree_insert(struct hr_job_tree *tree, struct hr_job_entry entry);
/* Whether it was there. */
HR_API bool hr_job_tree_remove(struct hr_job_tree *tree, int64_t key, hr_job job);
/* The first entry; false when the tree is empty. */
HR_API bool hr_job_tree_first(const struct hr_job_tree *tree, struct hr_job_entry *entry);
/* The least of all values; INT64_MAX when the tree is empty. */
HR_API int64_t hr_job_tree_least(const struct hr_job_tree *tree);
/* The first entry after (key, job) whose value is at most `bound`. `entry` may be where (key, job) came from. */
HR_API bool hr_job_tree_next(const struct hr_job_tree *tree, int64_t key, hr_job job, int64_t bound,
                             struct hr_job_entry *entry);
/* Calls `visit` on each entry in order until it returns false; whether it never did. The tree must not change. */
typedef bool hr_job_visit(void *self, struct hr_job_entry entry);
HR_API bool hr_job_tree_each(const struct hr_job_tree *tree, hr_job_visit *visit, void *self);
/* Likewise on each entry after (key, job). */
HR_API bool hr_job_tree_each_after(const struct hr_job_tree *tree, int64_t key, hr_job job, hr_job_visit *visit,
                                   void *self);
/* The least key such that the values of all entries up to it sum to at least `sum`; values must not be negative. */
HR_API bool hr_job_tree_reach(const struct hr_job_tree *tree, int64_t sum, int64_t *key);
/* Likewise the first entry up to which they do. */
HR_API bool hr_job_tree_reach_entry(const struct hr_job_tree *tree, int64_t sum, struct hr_job_entry *entry);
/* The sum of the values of all entries with a key of at most `key`. */
HR_API int64_t hr_job_tree_sum_to(const struct hr_job_tree *tree, int64_t key);

/* ---- Placement -------------------------------------------------------------------------------------- */

/*
 * Where a gang goes. `pool`: anywhere in a pool, only the count matters; the first pool with enough free. The
 * others: a job of at most a node's GPUs sits on one node, chosen among the nodes of all acceptable pools; a larger
 * one takes wholly free nodes of one pool (the first where it fits), lowest id first, and its remainder, if any,
 * sits on one more node by the same rule.
 */
enum hr_placement_rule { HR_PLACE_POOL, HR_PLACE_FIRST_FIT, HR_PLACE_BEST_FIT, HR_PLACE_WORST_FIT };

/* A state of capacity to place on: the present one or a planned one. */
struct hr_capacity {
  uint32_t n_pools;
  const struct hr_free_index *const *index; /* by pool; not used by HR_PLACE_POOL */
  const uint64_t *free_gpus;                /* by pool; used by HR_PLACE_POOL alone */
};

struct hr_placer;
HR_API struct hr_placer *hr_placer_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                          enum hr_placement_rule rule);
/* Places `gpus` GPUs on the cluster as it is now; false when they do not fit. The slices are valid until the
   placer's next call. */
HR_API bool hr_placer_find(struct hr_placer *placer, uint32_t gpus, uint32_t accept_class,
                           struct hr_placement *placement);
/* Likewise on another state of the same cluster. */
HR_API bool hr_placer_find_in(struct hr_placer *placer, const struct hr_capacity *capacity, uint32_t gpus,
                              uint32_t accept_class, struct hr_placement *placement);
/* Likewise on the nodes of one pool as it is now, by a rule that chooses nodes. */
HR_API bool hr_placer_find_on(struct hr_placer *placer, hr_pool pool, uint32_t gpus, struct hr_placement *placement);
/* On the cluster as it is now, within one group of a tier (HR_TIER_ISLAND to HR_TIER_ZONE), by a rule that chooses
   nodes: of the first pool where it fits, in the group that has the least room of those that it fits, there by the
   rule. For tiers that some job of the trace asks to be within. */
HR_API bool hr_placer_find_within(struct hr_placer *placer, enum hr_tier tier, uint32_t gpus, uint32_t accept_class,
                                  struct hr_placement *placement);
/* Whether the job would sit on one node (or is placed by count): then n_slices is at most 1. */
HR_API bool hr_placer_is_single(const struct hr_placer *placer, uint32_t gpus, uint32_t accept_class);

/* ---- The future of what runs ------------------------------------------------------------------------ */

/*
 * When GPUs come free, as far as is known: each running job with the time at which it is expected to end. A bin is
 * what GPUs are counted in: a pool under HR_PLACE_POOL, a node under the other rules. A job that is overdue is
 * expected to end one microsecond from now.
 */
struct hr_release_calendar;
HR_API struct hr_release_calendar *hr_release_calendar_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                                              enum hr_placement_rule rule, uint32_t n_jobs);
HR_API bool hr_release_calendar_add(struct hr_release_calendar *calendar, hr_job job, uint32_t gpus,
                                    const struct hr_placement *placement, int64_t end_us);
HR_API bool hr_release_calendar_remove(struct hr_release_calendar *calendar, hr_job job, uint32_t gpus,
                                       const struct hr_placement *placement, int64_t end_us);
/* To be told of each node that comes up, has notice or goes down: what is not usable does not come free. By node only.
 */
HR_API void hr_release_calendar_set_usable(struct hr_release_calendar *calendar, hr_pool pool, hr_node node,
                                           bool usable);
/* The earliest time after now at which the rule can place `gpus` GPUs, if nothing else starts and no node comes;
   HR_NEVER_US when they would not fit on the empty cluster. To be asked when they do not fit now. */
HR_API int64_t hr_release_calendar_earliest(struct hr_release_calendar *calendar, uint32_t gpus, uint32_t accept_class,
                                            int64_t now_us);
/* Whether `gpus` GPUs could still be placed at `at_us` if `taken` GPUs stayed at `placement` from now until beyond
   then. */
HR_API bool hr_release_calendar_allow(struct hr_release_calendar *calendar, const struct hr_placement *placement,
                                      uint32_t taken, uint32_t gpus, uint32_t accept_class, int64_t at_us,
                                      int64_t now_us);
/* Likewise within one group of a tier, as hr_placer_find_within places it; by node only. */
HR_API int64_t hr_release_calendar_earliest_within(struct hr_release_calendar *calendar, enum hr_tier tier,
                                                   uint32_t gpus, uint32_t accept_class, int64_t now_us);
HR_API bool hr_release_calendar_allow_within(struct hr_release_calendar *calendar, const struct hr_placement *placement,
                                             uint32_t taken, enum hr_tier tier, uint32_t gpus, uint32_t accept_class,
                                             int64_t at_us, int64_t now_us);
/* Bins, for a planner that wants the whole future: their number, where a pool's first one is, free GPUs now, and
   their running jobs by (expected end, job), value = GPUs. */
HR_API uint32_t hr_release_calendar_bins(const struct hr_release_calendar *calendar);
HR_API uint32_t hr_release_calendar_first_bin(const struct hr_release_calendar *calendar, hr_pool pool);
HR_API uint32_t hr_release_calendar_bin_free(const struct hr_release_calendar *calendar, uint32_t bin);
HR_API const struct hr_job_tree *hr_release_calendar_bin_ends(struct hr_release_calendar *calendar, uint32_t bin);

/* ---- Quotas ----------------------------------------------------------------------------------------- */

/*
 * What tenants use, held against their quotas (headroom/quota.h). A tenant is its index in the trace, HR_NONE for jobs
 * that have none. Every question costs O(depth of the tree). Amounts are thousandths of a GPU; more than is available
 * may be taken, as capacity may shrink below what is used.
 *
 * Of what a node is guaranteed, with all that its members lend it, a part is never lent (its lending limit sets that
 * apart); the rest lies with its cohort, which counts what the node uses beyond the first part.
 */
struct hr_quota_tree;
/* Each tenant of the trace has a place; NULL when out of memory. `total_milli`: GPUs of the cluster. Those beyond all
   guarantees are the root's, for anyone to borrow. */
HR_API struct hr_quota_tree *hr_quota_tree_create(struct hr_arena *arena, const struct hr_quota_spec *spec,
                                                  const struct hr_trace *trace, uint64_t total_milli);
/* The cluster has grown or shrunk. Guarantees stay. */
HR_API void hr_quota_tree_set_total(struct hr_quota_tree *tree, uint64_t total_milli);
HR_API void hr_quota_tree_take(struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
/* At most what was taken. */
HR_API void hr_quota_tree_give(struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
HR_API uint64_t hr_quota_tree_used(const struct hr_quota_tree *tree, uint32_t tenant);
/* How much more the tenant may use now; negative when others, or it, use more than there is. */
HR_API int64_t hr_quota_tree_available(const struct hr_quota_tree *tree, uint32_t tenant);
/* How much it could use if nobody else used anything: a job that asks for more can never run. */
HR_API uint64_t hr_quota_tree_potential(const struct hr_quota_tree *tree, uint32_t tenant);
/* How much it uses beyond its guarantee, 0 when within. */
HR_API uint64_t hr_quota_tree_over(const struct hr_quota_tree *tree, uint32_t tenant);
/* Whether it would be beyond its guarantee with `milli` more. */
HR_API bool hr_quota_tree_borrows(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
/* Whether `milli` more for the tenant may be had by stopping jobs of `victim`: the tenant, or a cohort that it shares
   no part of with the victim, stays within its guarantee with them; and the victim, like each of its cohorts that the
   tenant is not in, uses more than its own. To be asked again after each job that is stopped. */
HR_API bool hr_quota_tree_may_reclaim(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli,
                                      uint32_t victim);
/* What the tenant would use beyond its guarantee with `extra_milli` more, in thousandths of what it could get from its
   cohort, divided by its weight; the tenant with the least goes first. 0 within its guarantee; infinite beyond it when
   its cohort can have nothing. */
HR_API double hr_quota_tree_share(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t extra_milli);

#ifdef __cplusplus
}
#endif
#endif
