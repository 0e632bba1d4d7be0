/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tree of quotas. A node keeps a local part of its quota for itself (quota above its lending limit) and stores the
 * rest in its parent. Usage fills the local part first; what exceeds it is also usage of the parent.
 *
 * Layout: columns by node and pair. Cohorts come after queues; a cohort's `subtree` is its own quota plus what its
 * children store in it. Invariant: the usage of a cohort is the sum over its children of max(0, usage - local quota).
 *
 * Source: pkg/cache/scheduler/resource_node.go and pkg/resources/amount.go of kubernetes-sigs/kueue.
 */

#include "policies/kueue/quota.h"

#include <string.h>

/* ---- Amounts ---- */

static int64_t saturated_sum(int64_t a, int64_t b) {
  if (b > 0 && a > INT64_MAX - b) return INT64_MAX;
  if (b < 0 && a < INT64_MIN - b) return INT64_MIN;
  return a + b;
}

int64_t hr__kueue_plus(int64_t a, int64_t b) {
  if (a == HR__KUEUE_UNLIMITED || b == HR__KUEUE_UNLIMITED) return HR__KUEUE_UNLIMITED;
  int64_t sum = saturated_sum(a, b);
  return sum == HR__KUEUE_UNLIMITED ? HR__KUEUE_UNLIMITED - 1 : sum;
}

int64_t hr__kueue_minus(int64_t a, int64_t b) {
  if (a == HR__KUEUE_UNLIMITED) return b == HR__KUEUE_UNLIMITED ? 0 : HR__KUEUE_UNLIMITED;
  if (b == HR__KUEUE_UNLIMITED) return INT64_MIN;
  if (b == INT64_MIN) return a < 0 ? a - b : INT64_MAX;
  return saturated_sum(a, -b);
}

int64_t hr__kueue_times(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  bool negative = (a < 0) != (b < 0);
  uint64_t left = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, right = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
  if (left > limit / right) return negative ? INT64_MIN : INT64_MAX;
  return negative ? (int64_t)(0 - left * right) : (int64_t)(left * right);
}

static int64_t min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* ---- Shape ---- */

static void link_children(struct hr__kueue_tree *tree) {
  uint32_t *start = tree->child_start;
  memset(start, 0, (tree->n_nodes + 1) * sizeof *start);
  for (uint32_t i = 0; i < tree->n_nodes; i++)
    if (tree->parent[i] != HR_NONE) start[tree->parent[i] + 1]++;
  for (uint32_t i = 0; i < tree->n_nodes; i++) start[i + 1] += start[i];
  for (uint32_t i = tree->n_nodes; i-- > 0;) /* from the back: start[parent + 1] moves down to the start */
    if (tree->parent[i] != HR_NONE) tree->children[--start[tree->parent[i] + 1]] = i;
  for (uint32_t i = 0; i < tree->n_nodes; i++) start[i] = start[i + 1];
  uint32_t total = 0;
  for (uint32_t i = 0; i < tree->n_nodes; i++) total += tree->parent[i] != HR_NONE;
  start[tree->n_nodes] = total;
}

/* Adds a finished child to its parent. */
static void accumulate(struct hr__kueue_tree *tree, uint32_t child) {
  uint32_t parent = tree->parent[child];
  for (uint32_t pair = 0; pair < tree->n_pairs; pair++) {
    size_t at = hr__kueue_cell(tree, child, pair), above = hr__kueue_cell(tree, parent, pair);
    int64_t local = hr__kueue_local_quota(tree, child, pair);
    if (!tree->has_quota[at] && tree->usage[at] == 0) continue;
    tree->has_quota[above] |= tree->has_quota[at];
    tree->subtree[above] = hr__kueue_plus(tree->subtree[above], hr__kueue_minus(tree->subtree[at], local));
    tree->usage[above] = hr__kueue_plus(tree->usage[above], max(0, hr__kueue_minus(tree->usage[at], local)));
  }
  uint32_t height = child < tree->n_queues ? 1 : tree->height[child] + 1;
  if (height > tree->height[parent]) tree->height[parent] = height;
}

void hr__kueue_tree_prepare(struct hr__kueue_tree *tree) {
  link_children(tree);
  size_t first = hr__kueue_cell(tree, tree->n_queues, 0), end = hr__kueue_cell(tree, tree->n_nodes, 0);
  for (size_t i = 0; i < end; i++) tree->subtree[i] = tree->nominal[i];
  for (size_t i = first; i < end; i++) tree->usage[i] = 0;
  memset(tree->height, 0, tree->n_nodes * sizeof *tree->height);
  /* A node is finished after its children. Each round finishes the nodes at one depth, from the deepest. */
  uint32_t deepest = 0;
  for (uint32_t node = 0; node < tree->n_nodes; node++) {
    uint32_t depth = 0;
    for (uint32_t at = tree->parent[node]; at != HR_NONE; at = tree->parent[at]) depth++;
    deepest = depth > deepest ? depth : deepest;
  }
  for (uint32_t depth = deepest; depth > 0; depth--) {
    for (uint32_t node = 0; node < tree->n_nodes; node++) {
      uint32_t own = 0;
      for (uint32_t at = tree->parent[node]; at != HR_NONE; at = tree->parent[at]) own++;
      if (own == depth) accumulate(tree, node);
    }
  }
}

uint32_t hr__kueue_root(const struct hr__kueue_tree *tree, uint32_t node) {
  while (tree->parent[node] != HR_NONE) node = tree->parent[node];
  return node;
}

/* ---- Usage ---- */

int64_t hr__kueue_local_quota(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  size_t at = hr__kueue_cell(tree, node, pair);
  if (tree->lending[at] == HR__KUEUE_UNLIMITED) return 0;
  return max(0, hr__kueue_minus(tree->subtree[at], tree->lending[at]));
}

int64_t hr__kueue_local_available(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  int64_t local = hr__kueue_local_quota(tree, node, pair);
  return max(0, hr__kueue_minus(local, tree->usage[hr__kueue_cell(tree, node, pair)]));
}

void hr__kueue_add_usage(struct hr__kueue_tree *tree, uint32_t node, uint32_t pair, int64_t amount) {
  for (;;) {
    size_t at = hr__kueue_cell(tree, node, pair);
    int64_t room = hr__kueue_local_available(tree, node, pair);
    tree->usage[at] = hr__kueue_plus(tree->usage[at], amount);
    if (tree->parent[node] == HR_NONE || amount <= room) return;
    amount = hr__kueue_minus(amount, room);
    node = tree->parent[node];
  }
}

void hr__kueue_remove_usage(struct hr__kueue_tree *tree, uint32_t node, uint32_t pair, int64_t amount) {
  for (;;) {
    size_t at = hr__kueue_cell(tree, node, pair);
    int64_t in_parent = hr__kueue_minus(tree->usage[at], hr__kueue_local_quota(tree, node, pair));
    tree->usage[at] = hr__kueue_minus(tree->usage[at], amount);
    if (in_parent <= 0 || tree->parent[node] == HR_NONE) return;
    amount = min(amount, in_parent);
    node = tree->parent[node];
  }
}

/* ---- What is available ---- */

int64_t hr__kueue_available_raw(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  size_t at = hr__kueue_cell(tree, node, pair);
  if (tree->parent[node] == HR_NONE) return hr__kueue_minus(tree->subtree[at], tree->usage[at]);
  int64_t above = hr__kueue_available_raw(tree, tree->parent[node], pair);
  if (tree->borrowing[at] != HR__KUEUE_UNLIMITED) {
    int64_t local = hr__kueue_local_quota(tree, node, pair);
    int64_t stored = hr__kueue_minus(tree->subtree[at], local);
    int64_t used = max(0, hr__kueue_minus(tree->usage[at], local));
    above = min(above, hr__kueue_plus(hr__kueue_minus(stored, used), tree->borrowing[at]));
  }
  return hr__kueue_plus(hr__kueue_local_available(tree, node, pair), above);
}

int64_t hr__kueue_available(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  return max(0, hr__kueue_available_raw(tree, node, pair));
}

int64_t hr__kueue_potential(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  size_t at = hr__kueue_cell(tree, node, pair);
  if (tree->parent[node] == HR_NONE) return tree->subtree[at];
  int64_t above = hr__kueue_potential(tree, tree->parent[node], pair);
  int64_t sum = hr__kueue_plus(hr__kueue_local_quota(tree, node, pair), above);
  if (tree->borrowing[at] == HR__KUEUE_UNLIMITED) return sum;
  return min(sum, hr__kueue_plus(tree->subtree[at], tree->borrowing[at]));
}

/* ---- Borrowing ---- */

bool hr__kueue_is_borrowing(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  return hr__kueue_borrows_with(tree, node, pair, 0);
}

bool hr__kueue_borrows_with(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair, int64_t amount) {
  size_t at = hr__kueue_cell(tree, node, pair);
  int64_t quota = node < tree->n_queues ? tree->nominal[at] : tree->subtree[at];
  return quota != HR__KUEUE_UNLIMITED && hr__kueue_plus(tree->usage[at], amount) > quota;
}

uint32_t hr__kueue_borrow_level(const struct hr__kueue_tree *tree, uint32_t queue, uint32_t pair, int64_t amount,
                                bool *may_reclaim) {
  bool unused;
  if (!may_reclaim) may_reclaim = &unused;
  uint32_t node = tree->parent[queue], top = queue;
  *may_reclaim = node != HR_NONE;
  if (node == HR_NONE || !hr__kueue_borrows_with(tree, queue, pair, amount)) return 0;
  int64_t rest = hr__kueue_minus(amount, hr__kueue_local_available(tree, queue, pair));
  for (; node != HR_NONE; node = tree->parent[node]) {
    *may_reclaim = tree->parent[node] != HR_NONE;
    if (!hr__kueue_borrows_with(tree, node, pair, rest)) return tree->height[node];
    rest = hr__kueue_minus(rest, hr__kueue_local_available(tree, node, pair));
    top = node;
  }
  *may_reclaim = false;
  return tree->height[top];
}
