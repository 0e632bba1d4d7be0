/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_QUOTA_QUOTA_TREE_H
#define HR_POLICIES_QUEUE_QUOTA_QUOTA_TREE_H

#include "headroom/policy.h"

/* The quota tree as admission limits for waiting jobs. Each node of the tree is called a place here, and has two
   limits. Place 0 is the root. A job must satisfy the limits of all places on the path from its tenant to the root. */

/* The two limits of a place: the maximum of all usage, and the guarantee plus what the place may borrow. */
enum hr__admission_limit_kind { HR__LIMIT_MAXIMUM, HR__LIMIT_BORROWING, HR__N_LIMIT_KINDS };

/* A limit that blocks a job, and the need of the job at this limit: the job requests `milli` thousandths of a GPU, of
   which places below this place on the path can provide `spare`. */
struct hr__admission_limit {
  uint32_t place; /* HR_NONE: the place is not determined, and `milli` and `spare` are 0 */
  enum hr__admission_limit_kind kind;
  int64_t milli, spare;
};

/* Returns the index of a limit among the limits of all places. */
static inline uint32_t hr__admission_limit_number(uint32_t place, enum hr__admission_limit_kind kind) {
  return HR__N_LIMIT_KINDS * place + (uint32_t)kind;
}
/* Returns how much room the job needs at the limit. */
static inline int64_t hr__admission_limit_need(const struct hr__admission_limit *limit) {
  return limit->kind == HR__LIMIT_MAXIMUM ? limit->milli : limit->milli - limit->spare;
}

/* Amounts are in thousandths of a GPU; formulas are in quota.c. */
struct hr__quota_tree_node {
  uint32_t parent, depth; /* root: HR_NONE and 0 */
  int64_t subtree, kept;
  /* own usage, plus the usage of the children that exceeds the capacity that they keep */
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

/* Returns the first place, on the path from the tenant to the root, with a limit that prevents the tenant from using
   `milli` more now; HR_NONE: no limit does so. Writes this limit to `*limit`, if the need at the limit depends on no
   usage except the tenant's own. If the need also depends on the usage of other tenants, the place in `*limit` is
   HR_NONE. */
uint32_t hr__quota_tree_find_limit(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli,
                                   struct hr__admission_limit *limit);
/* Returns how much more usage a limit allows. This room decreases when usage is added at the place of the limit or
   below it, and increases when usage is removed there. */
int64_t hr__quota_tree_room(const struct hr_quota_tree *tree, uint32_t place, enum hr__admission_limit_kind kind);

/* Returns the place of a tenant. HR_NONE represents jobs without a tenant. */
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

/* Returns whether the tenant keeps (does not lend) a part of its quota. If so, its usage changes its need at higher
   places (`spare`). */
static inline bool hr__quota_tree_keeps_capacity(const struct hr_quota_tree *tree, uint32_t tenant) {
  return tree->nodes[hr__quota_tree_place(tree, tenant)].kept > 0;
}

#endif
