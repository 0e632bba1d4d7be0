/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_QUOTA_QUOTA_TREE_H
#define HR_POLICIES_QUEUE_QUOTA_QUOTA_TREE_H

#include "headroom/policy.h"

/* The quota tree as admission limits on waiting jobs. Each node of the tree is a place, numbered from the root; each
   place has two limits. A job must satisfy the limits of all places on its way to the root. */

enum hr__admission_limit_kind { HR__LIMIT_MAXIMUM, HR__LIMIT_BORROWING, HR__N_LIMIT_KINDS };

/* The limit that stops a job, and the need: the job needs `milli` thousandths of a GPU; of these, `spare` come from
   below the place. */
struct hr__admission_limit {
  uint32_t place; /* HR_NONE: it may be any, with `milli` and `spare` 0 */
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
  uint32_t parent, depth; /* HR_NONE and 0 for the root */
  int64_t subtree, kept;
  int64_t usage; /* what counts for the parent; for a cohort without what its members use of what they keep */
  int64_t held;  /* all usage at and below it */
  int64_t borrow, max;
  double weight;
};

struct hr_quota_tree {
  struct hr__quota_tree_node *nodes;
  uint32_t n_nodes, n_tenants;
  uint32_t *leaf; /* [n_tenants + 1]: of each tenant, the last for jobs without one */
};

/* Returns the lowest place with a limit that stops the tenant from using `milli` more now; HR_NONE: none does. `*limit`
   is that limit if there is one. Its need depends on the tenant's own usage only; its place is HR_NONE if the need
   would also depend on the usage of others. */
uint32_t hr__quota_tree_find_limit(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli,
                                   struct hr__admission_limit *limit);
/* Returns how much room a limit leaves. It shrinks when quota is taken at or below its place, and grows when it is
   given back. */
int64_t hr__quota_tree_room(const struct hr_quota_tree *tree, uint32_t place, enum hr__admission_limit_kind kind);

/* Returns the tenant's own place. HR_NONE means jobs without a tenant. */
static inline uint32_t hr__quota_tree_place(const struct hr_quota_tree *tree, uint32_t tenant) {
  return tree->leaf[tenant < tree->n_tenants ? tenant : tree->n_tenants];
}

static inline uint32_t hr__quota_tree_n_places(const struct hr_quota_tree *tree) {
  return tree->n_nodes;
}

static inline uint32_t hr__quota_tree_parent(const struct hr_quota_tree *tree, uint32_t place) {
  return tree->nodes[place].parent;
}

/* Returns whether the tenant keeps part of its quota to itself, so that its usage changes the need (`spare`). */
static inline bool hr__quota_tree_keeps_capacity(const struct hr_quota_tree *tree, uint32_t tenant) {
  return tree->nodes[hr__quota_tree_place(tree, tenant)].kept > 0;
}

#endif
