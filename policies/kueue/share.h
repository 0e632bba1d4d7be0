/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_SHARE_H
#define HR_POLICIES_KUEUE_SHARE_H

/* Fair sharing: the dominant resource share of a ClusterQueue or cohort. */

#include "policies/kueue/kueue.h"

struct hr__kueue_share {
  double weight;
  double ratio;      /* borrowed part of what is lendable, in thousandths; of the dominant resource */
  uint32_t resource; /* dominant resource; HR_NONE: none */
  bool borrowing;    /* some usage exceeds the node's quota */
};

/* Computes the share of a node with an additional usage. The share of a node without parent is 0. */
struct hr__kueue_share hr__kueue_share_of(const struct hr__kueue_world *world, uint32_t node,
                                          const struct hr__kueue_usage *extra, uint32_t n_extra);
/* Whether the usage of a node with a parent exceeds its quota of a pair of which a positive amount is requested. */
bool hr__kueue_borrows_on(const struct hr__kueue_world *world, uint32_t node, const struct hr__kueue_usage *requested,
                          uint32_t n_requested);
/* The amount of each resource that all nodes below `node` together can borrow, summed over flavors. */
int64_t hr__kueue_lendable(const struct hr__kueue_world *world, uint32_t node, uint32_t resource);

/* The ratio divided by the weight; infinite if the node borrows with weight 0. */
double hr__kueue_share_value(const struct hr__kueue_share *share);
/* The value rounded up, INT64_MAX if it is infinite. */
int64_t hr__kueue_share_rounded(const struct hr__kueue_share *share);
/* Returns a negative number if `a` is smaller, 0 if they are equal, a positive number if `a` is larger. */
int hr__kueue_share_compare(const struct hr__kueue_share *a, const struct hr__kueue_share *b);
/* A share below all others. */
struct hr__kueue_share hr__kueue_share_lowest(void);

#endif
