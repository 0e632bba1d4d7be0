/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_QUOTA_QUOTA_TREE_H
#define HR_POLICIES_QUEUE_QUOTA_QUOTA_TREE_H

#include "headroom/policy.h"

/* The quota tree as admission limits for waiting jobs. Each node of the tree is a place, numbered from the root, with
   two limits. A job must satisfy the limits of all places on the path from its tenant to the root. */

/* The two limits of a place: maximum usage, and guarantee plus borrowing limit. */
enum hr__admission_limit_kind { HR__LIMIT_MAXIMUM, HR__LIMIT_BORROWING, HR__N_LIMIT_KINDS };

/* A limit that stops a job, and the need of the job at this limit: `milli` thousandths of a GPU, of which `spare` are
   provided by the nodes below the place. */
struct hr__admission_limit {
  uint32_t place; /* HR_NONE: the place is not determined, and `milli` and `spare` are 0 */
  enum hr__admission_limit_kind kind;
  int64_t milli, spare;
};

/* Returns the index of a limit among all limits. */
static inline uint32_t hr__admission_limit_number(uint32_t place, enum hr__admission_limit_kind kind) {
  return HR__N_LIMIT_KINDS * place + (uint32_t)kind;
}
/* Returns the room that the job needs at the limit. */
static inline int64_t hr__admission_limit_need(const struct hr__admission_limit *limit) {
  return limit->kind == HR__LIMIT_MAXIMUM ? limit->milli : limit->milli - limit->spare;
}

/* Amounts are in thousandths of a GPU; formulas are in quota_tree.c. */
struct hr__quota_tree_node {
  uint32_t parent, depth; /* root: HR_NONE and 0 */
  int64_t subtree, kept;
  /* usage that counts at the parent; for a cohort, without the usage that its members cover with capacity they keep */
  int64_t usage;
  int64_t held; /* all usage at the node and below it */
  int64_t borrow, max;
  double weight;
};

struct hr_quota_tree {
  struct hr__quota_tree_node *nodes;
  uint32_t n_nodes, n_tenants;
  uint32_t *leaf; /* [n_tenants + 1]: node of each tenant; the last element is for jobs without a tenant */
};

/* Returns the lowest place with a limit that prevents the tenant from using `milli` more now; HR_NONE: no limit does
   so. `*limit` is that limit. The need in `*limit` depends only on the tenant's own usage. If it would also depend on
   the usage of others, the place in `*limit` is HR_NONE. */
uint32_t hr__quota_tree_find_limit(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli,
                                   struct hr__admission_limit *limit);
/* Returns how much room a limit leaves. The room decreases when usage is added at its place or below it, and increases
   when usage is removed there. */
int64_t hr__quota_tree_room(const struct hr_quota_tree *tree, uint32_t place, enum hr__admission_limit_kind kind);

/* Returns the place of a tenant. HR_NONE stands for jobs without a tenant. */
static inline uint32_t hr__quota_tree_place(const struct hr_quota_tree *tree, uint32_t tenant) {
  return tree->leaf[tenant < tree->n_tenants ? tenant : tree->n_tenants];
}

/* Returns the number of places. */
static inline uint32_t hr__quota_tree_n_places(const struct hr_quota_tree *tree) {
  return tree->n_nodes;
}

/* Returns the parent of a place; HR_NONE for the root. */
static inline uint32_t hr__quota_tree_parent(const struct hr_quota_tree *tree, uint32_t place) {
  return tree->nodes[place].parent;
}

/* Returns whether the tenant keeps part of its quota for itself. In this case its usage changes its need (`spare`). */
static inline bool hr__quota_tree_keeps_capacity(const struct hr_quota_tree *tree, uint32_t tenant) {
  return tree->nodes[hr__quota_tree_place(tree, tenant)].kept > 0;
}

#endif
