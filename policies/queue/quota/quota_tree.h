/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_QUOTA_QUOTA_TREE_H
#define HR_POLICIES_QUEUE_QUOTA_QUOTA_TREE_H

#include "headroom/policy.h"

/*
 * What holds waiting jobs back, whatever is free: bars at places of a tree. Each place has two of them, and a job must
 * get through those of all places on its way to the root. Places are numbered from the root on.
 */

enum hr__admission_limit_kind { HR__LIMIT_MAXIMUM, HR__LIMIT_BORROWING, HR__N_LIMIT_KINDS };

/* The one that stops a job, and how much room it would have to leave: `milli`, or what of that is not its own to
   `spare`. */
struct hr__admission_limit {
  uint32_t place; /* HR_NONE: it may be any, and `milli` and `spare` are 0 */
  enum hr__admission_limit_kind kind;
  int64_t milli, spare;
};

static inline uint32_t hr__admission_limit_number(uint32_t place, enum hr__admission_limit_kind kind) {
  return HR__N_LIMIT_KINDS * place + (uint32_t)kind;
}
static inline int64_t hr__admission_limit_need(const struct hr__admission_limit *limit) {
  return limit->kind == HR__LIMIT_MAXIMUM ? limit->milli : limit->milli - limit->spare;
}

struct hr__quota_tree_node {
  uint32_t parent, depth; /* HR_NONE and 0 of the root */
  int64_t subtree, kept;
  int64_t usage; /* of what its cohort may count: a cohort's is without what its members use of what they keep */
  int64_t held;  /* all that is used at and below it */
  int64_t borrow, max;
  double weight;
};

struct hr_quota_tree {
  struct hr__quota_tree_node *nodes;
  uint32_t n_nodes, n_tenants;
  uint32_t *leaf;                   /* [n_tenants + 1]: of each tenant, and of none */
  int64_t lent_to_root, guaranteed; /* by the root's children; by all */
};

/* The tree of quotas as bars that hold tenants back: each of its nodes is a place, the root the first of all. */

/* Whether the tenant may not use `milli` more now, and the lowest of the bars that stop it. Its `spare` then changes
   with what the tenant itself uses alone; no bar is named where what others use would change it. */
bool hr__quota_tree_find_limit(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli,
                               struct hr__admission_limit *limit);
/* The lowest place whose bar that is; HR_NONE: the tenant may. */
uint32_t hr__quota_tree_find_place(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
/* How much room a bar leaves. It shrinks when something is taken at or below its place, and grows when it is given. */
int64_t hr__quota_tree_room(const struct hr_quota_tree *tree, uint32_t place, enum hr__admission_limit_kind kind);

/* Returns the tenant's own place. HR_NONE stands for jobs without a tenant. */
static inline uint32_t hr__quota_tree_place(const struct hr_quota_tree *tree, uint32_t tenant) {
  return tree->leaf[tenant < tree->n_tenants ? tenant : tree->n_tenants];
}

static inline uint32_t hr__quota_tree_n_places(const struct hr_quota_tree *tree) {
  return tree->n_nodes;
}

static inline uint32_t hr__quota_tree_parent(const struct hr_quota_tree *tree, uint32_t place) {
  return tree->nodes[place].parent;
}

/* Whether the tenant keeps something to itself, so that what it uses changes `spare`. */
static inline bool hr__quota_tree_keeps_capacity(const struct hr_quota_tree *tree, uint32_t tenant) {
  return tree->nodes[hr__quota_tree_place(tree, tenant)].kept > 0;
}

#endif
