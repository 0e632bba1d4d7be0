/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules about the objects of Kueue: feature gates, labels, quotas, shares and single workloads. */

#include "policies/kueue/kueue.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Feature gates ------------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  int since;
} rows[HR__KUEUE_GATE_COUNT] = {
#define ROW(code, name, since) {name, since},
    HR__KUEUE_GATES(ROW)
#undef ROW
};

hr__kueue_gates hr__kueue_gates_of_version(int minor) {
  hr__kueue_gates gates = 0;
  for (int i = 0; i < HR__KUEUE_GATE_COUNT; i++)
    if (rows[i].since <= minor) gates |= UINT64_C(1) << i;
  return gates;
}

bool hr__kueue_gates_set(hr__kueue_gates *gates, const char *name, bool on) {
  for (int i = 0; i < HR__KUEUE_GATE_COUNT; i++) {
    if (strcmp(rows[i].name, name) != 0) continue;
    *gates = on ? *gates | UINT64_C(1) << i : *gates & ~(UINT64_C(1) << i);
    return true;
  }
  return false;
}

/* ---- Labels -------------------------------------------------------------------------------------------- */

/*
 * Matches labels and taints of nodes with the requirements of pods.
 *
 * Lists are short, so they are searched from the start. Source: kubernetes/kubernetes,
 * staging/src/k8s.io/component-helpers/scheduling/corev1 (nodeaffinity, helpers.go) and
 * staging/src/k8s.io/apimachinery/pkg/labels/selector.go.
 */

bool hr__kueue_labels_include(const struct hr__kueue_labels *labels, const struct hr__kueue_labels *wanted,
                              bool may_lack) {
  for (uint32_t i = 0; i < wanted->count; i++) {
    const char *value = hr__kueue_label_get(labels, wanted->items[i].key);
    if (value ? strcmp(value, wanted->items[i].value) != 0 : !may_lack) return false;
  }
  return true;
}

static bool is_one_of(const struct hr__kueue_expression *expression, const char *value) {
  for (uint32_t i = 0; i < expression->n_values; i++)
    if (!strcmp(expression->values[i], value)) return true;
  return false;
}

/* Reads a whole number; false: the text is not one. */
static bool read_whole(const char *text, long long *number) {
  char *end;
  errno = 0;
  *number = strtoll(text, &end, 10);
  return *text && !*end && !errno;
}

/* Returns whether a value is greater (or less) than the single number of the expression. */
static bool compares(const struct hr__kueue_expression *expression, const char *value, bool greater) {
  long long left, right;
  if (expression->n_values != 1 || !value) return false;
  if (!read_whole(value, &left) || !read_whole(expression->values[0], &right)) return false;
  return greater ? left > right : left < right;
}

static bool expression_matches(const struct hr__kueue_expression *expression, const struct hr__kueue_labels *labels) {
  const char *value = hr__kueue_label_get(labels, expression->key);
  switch (expression->operation) {
  case HR__KUEUE_IN:
    return value && is_one_of(expression, value);
  case HR__KUEUE_NOT_IN:
    return !value || !is_one_of(expression, value);
  case HR__KUEUE_EXISTS:
    return value != NULL;
  case HR__KUEUE_DOES_NOT_EXIST:
    return value == NULL;
  case HR__KUEUE_GREATER:
    return compares(expression, value, true);
  case HR__KUEUE_LESS:
    return compares(expression, value, false);
  }
  return false;
}

bool hr__kueue_term_matches(const struct hr__kueue_term *term, const struct hr__kueue_labels *labels) {
  for (uint32_t i = 0; i < term->n_expressions; i++)
    if (!expression_matches(&term->expressions[i], labels)) return false;
  return term->n_expressions > 0;
}

/* Returns whether one of the tolerations tolerates a taint. */
static bool is_tolerated(const struct hr__kueue_tolerations *tolerations, const struct hr__kueue_taint *taint) {
  for (uint32_t i = 0; i < tolerations->count; i++) {
    const struct hr__kueue_toleration *toleration = &tolerations->items[i];
    if (toleration->effect != HR__KUEUE_ANY_EFFECT && toleration->effect != taint->effect) continue;
    if (*toleration->key ? strcmp(toleration->key, taint->key) != 0 : !toleration->exists) continue;
    if (toleration->exists || !strcmp(toleration->value, taint->value)) return true;
  }
  return false;
}

const struct hr__kueue_taint *hr__kueue_untolerated(const struct hr__kueue_taints *taints,
                                                    const struct hr__kueue_tolerations *pods,
                                                    const struct hr__kueue_tolerations *flavor) {
  for (uint32_t i = 0; i < taints->count; i++) {
    const struct hr__kueue_taint *taint = &taints->items[i];
    if (taint->effect != HR__KUEUE_NO_SCHEDULE && taint->effect != HR__KUEUE_NO_EXECUTE) continue;
    if (!is_tolerated(pods, taint) && !is_tolerated(flavor, taint)) return taint;
  }
  return NULL;
}

/* ---- Quotas -------------------------------------------------------------------------------------------- */

/*
 * The tree of quotas. A node keeps a local part of its quota for itself (quota above its lending limit) and stores the
 * rest in its parent. Usage fills the local part first; the excess is also usage of the parent.
 *
 * Layout: columns by node and pair. Cohorts come after queues; a cohort's `subtree` is its own quota plus the quota
 * that its children store in it. Invariant: the usage of a cohort is the sum over its children of max(0, usage - local
 * quota).
 *
 * Source: pkg/cache/scheduler/resource_node.go and pkg/resources/amount.go of kubernetes-sigs/kueue.
 */

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
  /* moves start[parent + 1] to the start of the children; the next loop copies it to start[parent] */
  for (uint32_t i = tree->n_nodes; i-- > 0;)
    if (tree->parent[i] != HR_NONE) tree->children[--start[tree->parent[i] + 1]] = i;
  for (uint32_t i = 0; i < tree->n_nodes; i++) start[i] = start[i + 1];
  uint32_t total = 0;
  for (uint32_t i = 0; i < tree->n_nodes; i++) total += tree->parent[i] != HR_NONE;
  start[tree->n_nodes] = total;
}

/* The quota that the node never lends. */
static int64_t local_quota(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  size_t at = hr__kueue_cell(tree, node, pair);
  if (tree->lending[at] == HR__KUEUE_UNLIMITED) return 0;
  return max(0, hr__kueue_minus(tree->subtree[at], tree->lending[at]));
}

/* Adds the quota and the usage of a child to its parent. The children of the child must have been added to it
   before. */
static void accumulate(struct hr__kueue_tree *tree, uint32_t child) {
  uint32_t parent = tree->parent[child];
  for (uint32_t pair = 0; pair < tree->n_pairs; pair++) {
    size_t at = hr__kueue_cell(tree, child, pair), above = hr__kueue_cell(tree, parent, pair);
    int64_t local = local_quota(tree, child, pair);
    if (!tree->has_quota[at] && tree->usage[at] == 0) continue;
    tree->has_quota[above] |= tree->has_quota[at];
    tree->subtree[above] = hr__kueue_plus(tree->subtree[above], hr__kueue_minus(tree->subtree[at], local));
    tree->usage[above] = hr__kueue_plus(tree->usage[above], max(0, hr__kueue_minus(tree->usage[at], local)));
  }
  uint32_t height = child < tree->n_queues ? 1 : tree->height[child] + 1;
  if (height > tree->height[parent]) tree->height[parent] = height;
}

/* The number of cohorts above a node. */
static uint32_t depth_of(const struct hr__kueue_tree *tree, uint32_t node) {
  uint32_t depth = 0;
  while ((node = tree->parent[node]) != HR_NONE) depth++;
  return depth;
}

void hr__kueue_tree_prepare(struct hr__kueue_tree *tree) {
  link_children(tree);
  size_t first = hr__kueue_cell(tree, tree->n_queues, 0), end = hr__kueue_cell(tree, tree->n_nodes, 0);
  for (size_t i = 0; i < end; i++) tree->subtree[i] = tree->nominal[i];
  for (size_t i = first; i < end; i++) tree->usage[i] = 0;
  memset(tree->height, 0, tree->n_nodes * sizeof *tree->height);
  /* Nodes are added to their parents depth by depth, the deepest first. */
  uint32_t deepest = 0;
  for (uint32_t node = 0; node < tree->n_nodes; node++) {
    uint32_t depth = depth_of(tree, node);
    if (depth > deepest) deepest = depth;
  }
  for (uint32_t depth = deepest; depth > 0; depth--)
    for (uint32_t node = 0; node < tree->n_nodes; node++)
      if (depth_of(tree, node) == depth) accumulate(tree, node);
}

/* ---- Usage ---- */

int64_t hr__kueue_local_available(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  int64_t local = local_quota(tree, node, pair);
  return max(0, hr__kueue_minus(local, tree->usage[hr__kueue_cell(tree, node, pair)]));
}

/* Gives a node a new version, because its usage changes. */
static inline void touch(struct hr__kueue_tree *tree, uint32_t node) {
  if (tree->version) tree->version[node] = ++tree->version[tree->n_nodes];
}

void hr__kueue_add_usage(struct hr__kueue_tree *tree, uint32_t node, uint32_t pair, int64_t amount) {
  for (;;) {
    size_t at = hr__kueue_cell(tree, node, pair);
    int64_t room = hr__kueue_local_available(tree, node, pair);
    touch(tree, node);
    tree->usage[at] = hr__kueue_plus(tree->usage[at], amount);
    if (tree->parent[node] == HR_NONE || amount <= room) return;
    amount = hr__kueue_minus(amount, room);
    node = tree->parent[node];
  }
}

void hr__kueue_remove_usage(struct hr__kueue_tree *tree, uint32_t node, uint32_t pair, int64_t amount) {
  for (;;) {
    size_t at = hr__kueue_cell(tree, node, pair);
    int64_t in_parent = hr__kueue_minus(tree->usage[at], local_quota(tree, node, pair));
    touch(tree, node);
    tree->usage[at] = hr__kueue_minus(tree->usage[at], amount);
    if (in_parent <= 0 || tree->parent[node] == HR_NONE) return;
    amount = min(amount, in_parent);
    node = tree->parent[node];
  }
}

void hr__kueue_change_amounts(struct hr__kueue_tree *tree, uint32_t queue, const struct hr__kueue_usage *usage,
                              uint32_t n_usage, bool add) {
  for (uint32_t i = 0; i < n_usage; i++)
    (add ? hr__kueue_add_usage : hr__kueue_remove_usage)(tree, queue, usage[i].pair, usage[i].amount);
}

/* ---- Available quota ---- */

/* Returns the amount that the node can still use; negative if quota was withdrawn. */
static int64_t available_raw(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  size_t at = hr__kueue_cell(tree, node, pair);
  if (tree->parent[node] == HR_NONE) return hr__kueue_minus(tree->subtree[at], tree->usage[at]);
  int64_t above = available_raw(tree, tree->parent[node], pair);
  if (tree->borrowing[at] != HR__KUEUE_UNLIMITED) {
    int64_t local = local_quota(tree, node, pair);
    int64_t stored = hr__kueue_minus(tree->subtree[at], local);
    int64_t used = max(0, hr__kueue_minus(tree->usage[at], local));
    above = min(above, hr__kueue_plus(hr__kueue_minus(stored, used), tree->borrowing[at]));
  }
  return hr__kueue_plus(hr__kueue_local_available(tree, node, pair), above);
}

int64_t hr__kueue_available(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  return max(0, available_raw(tree, node, pair));
}

int64_t hr__kueue_potential(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  size_t at = hr__kueue_cell(tree, node, pair);
  if (tree->parent[node] == HR_NONE) return tree->subtree[at];
  int64_t above = hr__kueue_potential(tree, tree->parent[node], pair);
  int64_t sum = hr__kueue_plus(local_quota(tree, node, pair), above);
  if (tree->borrowing[at] == HR__KUEUE_UNLIMITED) return sum;
  return min(sum, hr__kueue_plus(tree->subtree[at], tree->borrowing[at]));
}

/* ---- Borrowing ---- */

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

/* ---- Shares -------------------------------------------------------------------------------------------- */

/* Dominant resource shares. The amounts that a node borrows are summed over flavors, per resource, and divided by the
   amount that its parent could lend. Unused quota of one flavor does not cancel the borrowing of another flavor.
   Source: pkg/cache/scheduler/fair_sharing.go of kubernetes-sigs/kueue. */

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

/* Returns the amount of a resource that the node borrows. */
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

static struct hr__kueue_share compute_share(const struct hr__kueue_world *world, uint32_t node,
                                            const struct hr__kueue_usage *extra, uint32_t n_extra) {
  struct hr__kueue_share share = {.weight = world->tree.weight[node], .resource = HR_NONE};
  uint32_t parent = world->tree.parent[node];
  if (parent == HR_NONE) return share;
  for (uint32_t resource = 0; resource < world->n_resources; resource++) {
    int64_t borrowed = borrowed_of(world, node, resource, extra, n_extra);
    if (borrowed <= 0) continue;
    share.borrowing = true;
    int64_t lendable = world->lendable ? world->lendable[(size_t)parent * world->n_resources + resource]
                                       : hr__kueue_lendable(world, parent, resource);
    if (lendable <= 0) continue;
    double ratio = (double)borrowed * 1000.0 / (double)lendable;
    if (ratio <= share.ratio) continue; /* the first resource in order of names wins a tie */
    share.ratio = ratio;
    share.resource = resource;
  }
  return share;
}

struct hr__kueue_share hr__kueue_share_of(const struct hr__kueue_world *world, uint32_t node,
                                          const struct hr__kueue_usage *extra, uint32_t n_extra) {
  if (!world->known_shares || n_extra) return compute_share(world, node, extra, n_extra);
  struct hr__kueue_known_share *known = &world->known_shares[node];
  if (known->version != world->tree.version[node]) {
    known->share = compute_share(world, node, NULL, 0);
    known->version = world->tree.version[node];
  }
  return known->share;
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
  if (is_infinite(share)) return (double)INFINITY;
  return share->ratio > 0 || share->ratio < 0 ? share->ratio / share->weight : 0;
}

int hr__kueue_share_compare(const struct hr__kueue_share *a, const struct hr__kueue_share *b) {
  bool a_infinite = is_infinite(a), b_infinite = is_infinite(b);
  if (a_infinite != b_infinite) return a_infinite ? 1 : -1;
  double left = a_infinite ? a->ratio : hr__kueue_share_value(a);
  double right = b_infinite ? b->ratio : hr__kueue_share_value(b);
  return (left > right) - (left < right);
}

/* ---- Workloads ----------------------------------------------------------------------------------------- */

/* Rules about single workloads: priority, order in the queue, requests and usage. The workloads with quota of a
   queue are a doubly linked list; a workload is in the list if `listed` is set. Source: pkg/workload/workload.go and
   pkg/util/priority of kubernetes-sigs/kueue. */

/* ---- Order and priority ---- */

int64_t hr__kueue_queue_time(const struct hr__kueue_history *history, bool by_creation, bool priority_sorting) {
  if (history->evicted_us != HR__KUEUE_NO_TIME) {
    if (history->evicted_by_timeout && !by_creation) return history->evicted_us;
    if (history->evicted_by_check) return history->evicted_us;
  }
  if (!priority_sorting && history->preempted_us != HR__KUEUE_NO_TIME && history->reclaimed_while_borrowing)
    return history->preempted_us + 1000; /* behind a workload that is preempted at the same time */
  return history->created_us;
}

bool hr__kueue_boost_of(const char *annotation, int64_t *boost) {
  long long value;
  bool digits = *annotation == '-' || *annotation == '+' || (*annotation >= '0' && *annotation <= '9');
  bool is_whole = read_whole(annotation, &value);
  *boost = value;
  return digits && is_whole && value >= INT32_MIN && value <= INT32_MAX;
}

/* ---- Usage ---- */

void hr__kueue_usage_add(struct hr__kueue_usage *list, uint32_t *count, uint32_t pair, int64_t amount) {
  for (uint32_t i = 0; i < *count; i++) {
    if (list[i].pair != pair) continue;
    list[i].amount = hr__kueue_plus(list[i].amount, amount);
    return;
  }
  list[(*count)++] = (struct hr__kueue_usage){pair, amount};
}

void hr__kueue_workload_sum_usage(const struct hr__kueue_world *world, struct hr__kueue_workload *workload) {
  workload->n_usage = 0;
  for (uint32_t i = 0; i < workload->n_pod_sets; i++) {
    const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[i];
    for (uint32_t k = 0; k < pod_set->n_assigned; k++) {
      const struct hr__kueue_assigned *assigned = &pod_set->assigned[k];
      hr__kueue_usage_add(workload->usage, &workload->n_usage,
                          hr__kueue_pair(world, assigned->flavor, assigned->resource),
                          hr__kueue_assigned_amount(pod_set, assigned));
    }
  }
}

/* ---- Workloads with quota ---- */

void hr__kueue_change_usage(struct hr__kueue_world *world, uint32_t id, int sign) {
  const struct hr__kueue_workload *workload = &world->workloads[id];
  hr__kueue_change_amounts(&world->tree, workload->queue, workload->usage, workload->n_usage, sign > 0);
  if (world->topology.change) world->topology.change(world->topology.self, world, workload, sign);
}

void hr__kueue_list(struct hr__kueue_world *world, uint32_t id) {
  struct hr__kueue_workload *workload = &world->workloads[id];
  struct hr__kueue_queue *queue = &world->queues[workload->queue];
  workload->listed = true;
  workload->previous_admitted = HR_NONE;
  workload->next_admitted = queue->first_admitted;
  if (queue->first_admitted != HR_NONE) world->workloads[queue->first_admitted].previous_admitted = id;
  queue->first_admitted = id;
  hr__kueue_change_usage(world, id, 1);
}

void hr__kueue_give_quota(struct hr__kueue_world *world, uint32_t id, const struct hr__kueue_assignment *assignment,
                          struct hr__kueue_assigned *room) {
  struct hr__kueue_workload *workload = &world->workloads[id];
  for (uint32_t i = 0; i < assignment->n_pod_sets; i++) {
    const struct hr__kueue_pod_set_assignment *row = &assignment->pod_sets[i];
    struct hr__kueue_pod_set *pod_set = &workload->pod_sets[row->pod_set];
    pod_set->assigned = room;
    pod_set->n_assigned = 0;
    pod_set->admitted_count = row->count;
    pod_set->placement = row->placement;
    pod_set->placement_pending = row->placement_pending;
    for (uint32_t k = 0; k < row->n_choices; k++) {
      int64_t amount = 0;
      for (uint32_t m = 0; m < row->n_requests; m++)
        if (row->requests[m].resource == row->choices[k].resource) amount = row->requests[m].amount;
      *room++ = (struct hr__kueue_assigned){row->choices[k].resource, row->choices[k].flavor, amount};
      pod_set->n_assigned++;
    }
  }
  workload->reserved = true;
  workload->reserved_us = world->now_us;
  hr__kueue_workload_sum_usage(world, workload);
  hr__kueue_list(world, id);
}

void hr__kueue_unlist(struct hr__kueue_world *world, uint32_t id) {
  struct hr__kueue_workload *workload = &world->workloads[id];
  uint32_t previous = workload->previous_admitted, next = workload->next_admitted;
  if (previous != HR_NONE)
    world->workloads[previous].next_admitted = next;
  else
    world->queues[workload->queue].first_admitted = next;
  if (next != HR_NONE) world->workloads[next].previous_admitted = previous;
  workload->listed = false;
  hr__kueue_change_usage(world, id, -1);
}
