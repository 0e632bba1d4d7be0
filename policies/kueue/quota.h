/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_QUOTA_H
#define HR_POLICIES_KUEUE_QUOTA_H

/* The tree of quotas: what is available to a ClusterQueue, and how usage spreads to its cohorts. */

#include "policies/kueue/kueue.h"

/* Sums and differences of amounts. Unlimited plus or minus anything limited is unlimited; anything limited minus
   unlimited is INT64_MIN; sums that overflow stay just below unlimited. */
int64_t hr__kueue_plus(int64_t a, int64_t b);
int64_t hr__kueue_minus(int64_t a, int64_t b);
/* A product that stays within the range of int64_t. */
int64_t hr__kueue_times(int64_t a, int64_t b);

static inline size_t hr__kueue_cell(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  return (size_t)node * tree->n_pairs + pair;
}

/* Computes the children, heights, subtree quotas and `has_quota` of the cohorts from the parents and the quotas of the
   nodes, and the usage of the cohorts from the usage of the queues. The parents must not form a cycle. */
void hr__kueue_tree_prepare(struct hr__kueue_tree *tree);

/* Adds usage of a queue, or removes it. Usage beyond what the node keeps for itself counts in its parent. */
void hr__kueue_add_usage(struct hr__kueue_tree *tree, uint32_t node, uint32_t pair, int64_t amount);
void hr__kueue_remove_usage(struct hr__kueue_tree *tree, uint32_t node, uint32_t pair, int64_t amount);

/* The quota that the node never lends. */
int64_t hr__kueue_local_quota(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair);
/* The unused part of it. */
int64_t hr__kueue_local_available(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair);
/* What the node can still use; negative if quota was withdrawn. */
int64_t hr__kueue_available_raw(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair);
/* The same, at least 0. */
int64_t hr__kueue_available(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair);
/* What the node could use if nothing were used. */
int64_t hr__kueue_potential(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair);

/* Whether the node uses more than its own quota. */
bool hr__kueue_is_borrowing(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair);
/* Whether it would with an additional amount. */
bool hr__kueue_borrows_with(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair, int64_t amount);
/* The height of the lowest cohort above the queue within whose quota an additional amount fits; 0: the queue itself
   has enough. `may_reclaim` is set if that part of the tree is a real part. It may be NULL. */
uint32_t hr__kueue_borrow_level(const struct hr__kueue_tree *tree, uint32_t queue, uint32_t pair, int64_t amount,
                                bool *may_reclaim);
/* The root of a node's tree. */
uint32_t hr__kueue_root(const struct hr__kueue_tree *tree, uint32_t node);

#endif
