/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dominant resource shares. What a node borrows is summed over flavors, per resource, and divided by what its parent
   could lend. Quota that is not used of one flavor does not hide that another one is borrowed. Source:
   pkg/cache/scheduler/fair_sharing.go of kubernetes-sigs/kueue. */

#include "policies/kueue/share.h"

#include "policies/kueue/quota.h"

#include <math.h>

int64_t hr__kueue_lendable(const struct hr__kueue_world *world, uint32_t node, uint32_t resource) {
  uint32_t root = hr__kueue_root(&world->tree, node);
  int64_t sum = 0;
  for (uint32_t flavor = 0; flavor < world->n_flavors; flavor++) {
    uint32_t pair = hr__kueue_pair(world, flavor, resource);
    if (world->tree.has_quota[hr__kueue_cell(&world->tree, root, pair)])
      sum = hr__kueue_plus(sum, hr__kueue_potential(&world->tree, node, pair));
  }
  return sum;
}

static int64_t extra_of(const struct hr__kueue_usage *extra, uint32_t n_extra, uint32_t pair) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < n_extra; i++)
    if (extra[i].pair == pair) sum = hr__kueue_plus(sum, extra[i].amount);
  return sum;
}

/* What the node borrows of a resource. */
static int64_t borrowed_of(const struct hr__kueue_world *world, uint32_t node, uint32_t resource,
                           const struct hr__kueue_usage *extra, uint32_t n_extra) {
  const struct hr__kueue_tree *tree = &world->tree;
  int64_t sum = 0;
  for (uint32_t flavor = 0; flavor < world->n_flavors; flavor++) {
    uint32_t pair = hr__kueue_pair(world, flavor, resource);
    size_t at = hr__kueue_cell(tree, node, pair);
    if (!tree->has_quota[at]) continue;
    int64_t requested = extra_of(extra, n_extra, pair);
    int64_t over = hr__kueue_minus(hr__kueue_plus(requested, tree->usage[at]), tree->subtree[at]);
    if (over > 0) sum = hr__kueue_plus(sum, over);
  }
  return sum;
}

struct hr__kueue_share hr__kueue_share_of(const struct hr__kueue_world *world, uint32_t node,
                                          const struct hr__kueue_usage *extra, uint32_t n_extra) {
  struct hr__kueue_share share = {.weight = world->tree.weight[node], .resource = HR_NONE};
  uint32_t parent = world->tree.parent[node];
  if (parent == HR_NONE) return share;
  for (uint32_t resource = 0; resource < world->n_resources; resource++) {
    int64_t borrowed = borrowed_of(world, node, resource, extra, n_extra);
    if (borrowed <= 0) continue;
    share.borrowing = true;
    int64_t lendable = hr__kueue_lendable(world, parent, resource);
    if (lendable <= 0) continue;
    double ratio = (double)borrowed * 1000.0 / (double)lendable;
    if (ratio <= share.ratio) continue; /* the first resource in order of names wins a tie */
    share.ratio = ratio;
    share.resource = resource;
  }
  return share;
}

bool hr__kueue_borrows_on(const struct hr__kueue_world *world, uint32_t node, const struct hr__kueue_usage *requested,
                          uint32_t n_requested) {
  const struct hr__kueue_tree *tree = &world->tree;
  if (tree->parent[node] == HR_NONE) return false;
  for (uint32_t i = 0; i < n_requested; i++) {
    size_t at = hr__kueue_cell(tree, node, requested[i].pair);
    if (requested[i].amount > 0 && tree->has_quota[at] && tree->usage[at] > tree->subtree[at]) return true;
  }
  return false;
}

static bool is_infinite(const struct hr__kueue_share *share) {
  return share->weight <= 0 && share->borrowing;
}

double hr__kueue_share_value(const struct hr__kueue_share *share) {
  if (is_infinite(share)) return INFINITY;
  return share->ratio > 0 || share->ratio < 0 ? share->ratio / share->weight : 0;
}

int64_t hr__kueue_share_rounded(const struct hr__kueue_share *share) {
  double value = ceil(hr__kueue_share_value(share));
  return value >= 9223372036854775807.0 ? INT64_MAX : (int64_t)value;
}

int hr__kueue_share_compare(const struct hr__kueue_share *a, const struct hr__kueue_share *b) {
  bool a_infinite = is_infinite(a), b_infinite = is_infinite(b);
  if (a_infinite != b_infinite) return a_infinite ? 1 : -1;
  double left = a_infinite ? a->ratio : hr__kueue_share_value(a);
  double right = b_infinite ? b->ratio : hr__kueue_share_value(b);
  return (left > right) - (left < right);
}

struct hr__kueue_share hr__kueue_share_lowest(void) {
  return (struct hr__kueue_share){.weight = 1, .ratio = -1, .resource = HR_NONE};
}
