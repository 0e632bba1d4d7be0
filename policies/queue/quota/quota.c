/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Quotas in the queue policy: a job starts only if its tenant's quota admits it. Under all orders, jobs within the
 * guarantees of their tenants precede jobs that would borrow, as in Kueue (pkg/scheduler). Each tenant has its own
 * subqueues; a subqueue is preferred if its first job is within the guarantee. If the first job of a subqueue exceeds
 * what its tenant may use now, the subqueue is parked (see waiting.h) at the blocking limit of the quota tree. It then
 * does not block other subqueues. When a job releases its GPUs, there is more room at the node of its tenant and at all
 * ancestors of this node.
 *
 * The quota tree. Node 0 is the root. It is followed by the nodes of struct hr_quota_spec (the spec), in their order.
 * After them, there is one leaf for each tenant of the trace that has no node in the spec. The last leaf is for jobs
 * without a tenant. Parents precede children. `subtree` is the capacity that a node and its descendants have without
 * borrowing from the parent. `kept` is the part of this capacity that the node does not lend to others. `borrow` is the
 * maximum that a node may borrow from its parent, and `max` is the maximum of all usage at a node and below it
 * (NO_LIMIT: unlimited).
 *
 *   subtree = guaranteed + sum of (subtree - kept) of the children
 *   kept    = max(0, subtree - lending limit); 0 without a lending limit
 *   usage   = own usage + sum of max(0, usage - kept) of the children
 *   available(root) = subtree - usage
 *   available(n)    = max(0, kept - usage) + min(available(parent), subtree - kept - max(0, usage - kept) + borrow)
 *
 * These are the formulas of Kueue (pkg/cache/scheduler/resource_node.go, available and potentialAvailable), computed in
 * a loop from the leaf to the root. `max` is checked separately.
 *
 * Overflow: guarantees are below 2^32 and there are fewer than 2^28 nodes, so sums of guarantees are below 2^60. Usage
 * and limits are below 2^60, too, so sums of a few of them fit into 64 bits.
 */

#include "policies/queue/quota/quota.h"

#include "headroom/policy_kit.h"
#include "policies/queue/waiting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The quota tree ------------------------------------------------------------------------------------ */

#define NO_LIMIT (INT64_C(1) << 60)

static int64_t min_i64(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t max_i64(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t bounded(uint64_t milli) {
  return milli < (uint64_t)NO_LIMIT ? (int64_t)milli : NO_LIMIT;
}

/* ---- Construction --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
  const struct hr_quota_node *const *one = a, *const *other = b;
  return strcmp((*one)->name, (*other)->name);
}

static int by_its_name(const void *name, const void *node) {
  return strcmp(name, (*(const struct hr_quota_node *const *)node)->name);
}

static void add_node(struct hr_quota_tree *tree, const struct hr_quota_node *spec, uint32_t parent) {
  uint64_t guaranteed = spec->guaranteed_milli;
  tree->nodes[tree->n_nodes++] = (struct hr__quota_tree_node){
      .parent = parent,
      .depth = tree->nodes[parent].depth + 1,
      .subtree = (int64_t)(guaranteed < HR_MAX_QUOTA_MILLI ? guaranteed : HR_MAX_QUOTA_MILLI),
      .kept = bounded(spec->lend_milli), /* temporarily the lending limit; sum_up replaces it by the final value */
      .borrow = bounded(spec->borrow_milli),
      .max = bounded(spec->max_milli),
      .weight = spec->weight};
}

static uint32_t place_of(uint32_t spec_index) {
  return spec_index == HR_NONE ? 0 : spec_index + 1;
}

/* Returns the number of tenants of the spec, and writes them to `sorted`, sorted by name. */
static uint32_t sorted_tenants(const struct hr_quota_spec *spec, const struct hr_quota_node **sorted) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < spec->n_nodes; i++)
    if (spec->nodes[i].is_tenant) sorted[count++] = &spec->nodes[i];
  if (count > 1) qsort(sorted, count, sizeof(*sorted), by_name);
  return count;
}

static void add_leaves(struct hr_quota_tree *tree, const struct hr_quota_spec *spec, const struct hr_trace *trace,
                       const struct hr_quota_node **sorted) {
  uint32_t n_sorted = sorted_tenants(spec, sorted);
  for (uint32_t tenant = 0; tenant <= tree->n_tenants; tenant++) {
    const struct hr_quota_node *const *found = NULL;
    if (tenant < tree->n_tenants && n_sorted)
      found = bsearch(trace->tenants.text[tenant], sorted, n_sorted, sizeof(*sorted), by_its_name);
    tree->leaf[tenant] = found ? (uint32_t)(*found - spec->nodes) + 1 : tree->n_nodes;
    if (!found) add_node(tree, &spec->fallback, place_of(spec->fallback.parent));
  }
}

/* Computes `subtree` and `kept` of each node; children are computed before their parents. GPUs of the cluster that are
   not guaranteed to any node are added to the root. */
static void sum_up(struct hr_quota_tree *tree, uint64_t total_milli) {
  int64_t guaranteed = 0;
  for (uint32_t i = tree->n_nodes - 1; i > 0; i--) {
    struct hr__quota_tree_node *node = &tree->nodes[i];
    node->kept = node->kept == NO_LIMIT ? 0 : max_i64(0, node->subtree - node->kept);
    tree->nodes[node->parent].subtree += node->subtree - node->kept;
    guaranteed += node->kept;
  }
  guaranteed += tree->nodes[0].subtree;
  tree->nodes[0].subtree += max_i64(0, bounded(total_milli) - guaranteed);
}

struct hr_quota_tree *hr_quota_tree_create(struct hr_arena *arena, const struct hr_quota_spec *spec,
                                           const struct hr_trace *trace, uint64_t total_milli) {
  struct hr_quota_tree *tree = hr_arena_alloc(arena, sizeof *tree);
  const struct hr_quota_node **sorted = hr_arena_alloc(arena, ((size_t)spec->n_nodes + 1) * sizeof(*sorted));
  if (!tree || !sorted) return NULL;
  tree->n_tenants = trace->tenants.count;
  if (!HR__ARENA_ARRAY(arena, tree->leaf, (size_t)tree->n_tenants + 1) ||
      !HR__ARENA_ARRAY(arena, tree->nodes, (size_t)spec->n_nodes + tree->n_tenants + 2))
    return NULL;
  tree->nodes[tree->n_nodes++] =
      (struct hr__quota_tree_node){.parent = HR_NONE, .borrow = NO_LIMIT, .max = NO_LIMIT, .weight = 1};
  for (uint32_t i = 0; i < spec->n_nodes; i++) add_node(tree, &spec->nodes[i], place_of(spec->nodes[i].parent));
  add_leaves(tree, spec, trace, sorted);
  sum_up(tree, total_milli);
  return tree;
}

/* ---- Usage ---------------------------------------------------------------------------------------- */

static int64_t beyond_kept(const struct hr__quota_tree_node *node) {
  return max_i64(0, node->usage - node->kept);
}

static void change(struct hr_quota_tree *tree, uint32_t tenant, int64_t milli) {
  int64_t passed_on = milli;
  for (uint32_t i = hr__quota_tree_place(tree, tenant); i != HR_NONE; i = tree->nodes[i].parent) {
    struct hr__quota_tree_node *node = &tree->nodes[i];
    int64_t before = beyond_kept(node);
    node->held += milli;
    node->usage += passed_on;
    passed_on = beyond_kept(node) - before;
  }
}

void hr_quota_tree_take(struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli) {
  change(tree, tenant, bounded(milli));
}

void hr_quota_tree_give(struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli) {
  change(tree, tenant, -bounded(milli));
}

/* ---- Availability --------------------------------------------------------------------------------- */

/* The loop follows the path from the tenant's leaf to the root. `from_below`: unused capacity that the nodes visited so
   far keep for themselves. Each node limits how much capacity the tenant can get from the parent of the node. At the
   root, the unused capacity of the root is added. */
int64_t hr_quota_tree_available(const struct hr_quota_tree *tree, uint32_t tenant) {
  int64_t from_below = 0, available = NO_LIMIT;
  for (uint32_t i = hr__quota_tree_place(tree, tenant); i != HR_NONE; i = tree->nodes[i].parent) {
    const struct hr__quota_tree_node *node = &tree->nodes[i];
    available = min_i64(available, node->max - node->held);
    if (i == 0) return min_i64(available, from_below + node->subtree - node->usage);
    from_below += max_i64(0, node->kept - node->usage);
    if (node->borrow != NO_LIMIT)
      available = min_i64(available, from_below + node->subtree - node->kept - beyond_kept(node) + node->borrow);
  }
  return available;
}

/* ---- Admission limits ----------------------------------------------------------------------------- */

int64_t hr__quota_tree_room(const struct hr_quota_tree *tree, uint32_t place, enum hr__admission_limit_kind kind) {
  const struct hr__quota_tree_node *node = &tree->nodes[place];
  if (kind == HR__LIMIT_MAXIMUM) return node->max - node->held;
  if (place == 0) return node->subtree - node->usage;
  if (node->borrow == NO_LIMIT) return NO_LIMIT;
  return max_i64(0, node->kept - node->usage) + node->subtree - node->kept - beyond_kept(node) + node->borrow;
}

/* Checks the limits that hr_quota_tree_available combines, one by one, from the leaf to the root. */
uint32_t hr__quota_tree_find_limit(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli,
                                   struct hr__admission_limit *limit) {
  int64_t wanted = bounded(milli), spare = 0;
  bool others_keep = false;
  uint32_t leaf = hr__quota_tree_place(tree, tenant);
  for (uint32_t i = leaf; i != HR_NONE; i = tree->nodes[i].parent) {
    bool is_full = hr__quota_tree_room(tree, i, HR__LIMIT_MAXIMUM) < wanted;
    if (is_full || hr__quota_tree_room(tree, i, HR__LIMIT_BORROWING) < wanted - spare) {
      *limit = (struct hr__admission_limit){i, is_full ? HR__LIMIT_MAXIMUM : HR__LIMIT_BORROWING, wanted, spare};
      if (others_keep) *limit = (struct hr__admission_limit){.place = HR_NONE};
      return i;
    }
    spare += max_i64(0, tree->nodes[i].kept - tree->nodes[i].usage);
    others_keep = others_keep || (i != leaf && tree->nodes[i].kept > 0);
  }
  return HR_NONE;
}

/* ---- Potential, reclaim and share ----------------------------------------------------------------- */

static int64_t potential(const struct hr_quota_tree *tree, uint32_t from) {
  int64_t from_below = 0, bound = NO_LIMIT;
  for (uint32_t i = from; i; i = tree->nodes[i].parent) {
    const struct hr__quota_tree_node *node = &tree->nodes[i];
    bound = min_i64(bound, node->max);
    if (node->borrow != NO_LIMIT) bound = min_i64(bound, from_below + node->subtree + node->borrow);
    from_below += node->kept;
  }
  return min_i64(bound, from_below + tree->nodes[0].subtree);
}

uint64_t hr_quota_tree_potential(const struct hr_quota_tree *tree, uint32_t tenant) {
  return (uint64_t)potential(tree, hr__quota_tree_place(tree, tenant));
}

static int64_t borrowed_milli(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t extra_milli) {
  const struct hr__quota_tree_node *leaf = &tree->nodes[hr__quota_tree_place(tree, tenant)];
  return max_i64(0, leaf->usage + bounded(extra_milli) - leaf->subtree);
}

bool hr_quota_tree_borrows(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli) {
  return borrowed_milli(tree, tenant, milli) > 0;
}

static uint32_t common_ancestor(const struct hr_quota_tree *tree, uint32_t a, uint32_t b) {
  while (a != b) {
    uint32_t *deeper = tree->nodes[a].depth >= tree->nodes[b].depth ? &a : &b;
    *deeper = tree->nodes[*deeper].parent;
  }
  return a;
}

bool hr_quota_tree_may_reclaim(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli, uint32_t victim) {
  uint32_t from = hr__quota_tree_place(tree, tenant), to = hr__quota_tree_place(tree, victim),
           common = common_ancestor(tree, from, to);
  if (from == to) return false;
  for (uint32_t i = to; i != common; i = tree->nodes[i].parent)
    if (tree->nodes[i].usage <= tree->nodes[i].subtree) return false;
  int64_t wanted = bounded(milli);
  for (uint32_t i = from; i != common; i = tree->nodes[i].parent) {
    const struct hr__quota_tree_node *node = &tree->nodes[i];
    if (node->usage + wanted <= node->subtree) return true;
    wanted = max_i64(0, wanted - max_i64(0, node->kept - node->usage));
  }
  return false;
}

double hr_quota_tree_share(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t extra_milli) {
  const struct hr__quota_tree_node *leaf = &tree->nodes[hr__quota_tree_place(tree, tenant)];
  int64_t borrowed = borrowed_milli(tree, tenant, extra_milli), lendable = potential(tree, leaf->parent);
  if (borrowed == 0) return 0;
  return lendable > 0 ? 1000.0 * (double)borrowed / (double)lendable / leaf->weight : HUGE_VAL;
}

/* ---- Quotas of the queue ------------------------------------------------------------------------------- */

static bool is_held(void *self, const struct hr__subqueue *subqueue, struct hr__admission_limit *limit) {
  const struct hr__queue *queue = self;
  uint64_t milli = hr__counted_milli(queue, subqueue->head.job);
  return milli > 0 &&
         hr__quota_tree_find_limit(queue->quota->tree, hr__tenant(queue, subqueue->head.job), milli, limit) != HR_NONE;
}

static int64_t room(void *self, uint32_t place, enum hr__admission_limit_kind kind) {
  const struct hr__queue *queue = self;
  return hr__quota_tree_room(queue->quota->tree, place, kind);
}

static bool is_preferred(void *self, const struct hr__subqueue *subqueue) {
  return hr__quota_is_guaranteed(self, subqueue->head.job);
}

static struct hr__admission admission_of(const struct hr__queue *queue) {
  const struct hr__quota *quota = queue->quota;
  return (struct hr__admission){.is_held = is_held,
                                .room = room,
                                .is_preferred = quota->guarantees ? is_preferred : NULL,
                                .n_places = hr__quota_tree_n_places(quota->tree),
                                .n_owners = quota->n_tenants + 1};
}

bool hr__quota_holds(const struct hr__queue *queue, hr_job job, uint32_t *quota) {
  uint64_t milli = hr__counted_milli(queue, job);
  if (!queue->quota || milli == 0) return false;
  struct hr__admission_limit unused;
  uint32_t place = hr__quota_tree_find_limit(queue->quota->tree, hr__tenant(queue, job), milli, &unused);
  if (place == HR_NONE) return false;
  *quota = place == 0 ? HR_QUOTA_ROOT : place <= queue->quota->n_nodes ? place - 1 : HR_QUOTA_FALLBACK;
  return true;
}

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  struct hr__quota *quota = queue->quota;
  if (hr__counted_milli(queue, job) <= hr_quota_tree_potential(quota->tree, hr__tenant(queue, job))) return HR_OK;
  return hr__queue_reject_later(queue, job, HR_REASON_OVER_QUOTA) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status usage_changed(struct hr__queue *queue, hr_job job) {
  if (!queue->quota->guarantees) return HR_OK;
  return hr__waiting_update_preferred(&queue->waiting, hr__quota_owner(queue, job));
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  (void)view;
  (void)placement;
  hr_quota_tree_take(queue->quota->tree, hr__tenant(queue, job), hr__counted_milli(queue, job));
  return usage_changed(queue, job);
}

/* Notifies the queue that there is more room at the tenant's node and at its ancestors. All tenants below these nodes
   may be able to use this room. */
static enum hr_status ease_limits(struct hr__queue *queue, uint32_t tenant) {
  const struct hr_quota_tree *tree = queue->quota->tree;
  struct hr__waiting *waiting = &queue->waiting;
  enum hr_status status = hr__waiting_ease_limit(waiting, HR_NONE, HR__LIMIT_MAXIMUM);
  for (uint32_t place = hr__quota_tree_place(tree, tenant); place != HR_NONE && status == HR_OK;
       place = hr__quota_tree_parent(tree, place)) {
    status = hr__waiting_ease_limit(waiting, place, HR__LIMIT_MAXIMUM);
    if (status == HR_OK) status = hr__waiting_ease_limit(waiting, place, HR__LIMIT_BORROWING);
  }
  return status;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  uint32_t tenant = hr__tenant(queue, event->job);
  hr_quota_tree_give(queue->quota->tree, tenant, hr__counted_milli(queue, event->job));
  enum hr_status status = usage_changed(queue, event->job);
  if (status == HR_OK && hr__quota_tree_keeps_capacity(queue->quota->tree, tenant))
    status = hr__waiting_unpark_owner(&queue->waiting, hr__quota_owner(queue, event->job));
  return status == HR_OK ? ease_limits(queue, tenant) : status;
}

static const struct hr__listener listener = {.job_waits = job_waits, .job_starts = job_starts, .job_stops = job_stops};

static bool any_guaranteed(const struct hr_quota_spec *spec) {
  for (uint32_t i = 0; i < spec->n_nodes; i++)
    if (spec->nodes[i].guaranteed_milli > 0) return true;
  return spec->fallback.guaranteed_milli > 0;
}

bool hr__quota_create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr__admission *admission) {
  uint64_t total_milli = 0;
  for (uint32_t i = 0; i < hr_cluster_pools(env->cluster); i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(env->cluster, (hr_pool){i});
    total_milli += (uint64_t)spec->nodes * spec->gpus_per_node * 1000;
  }
  queue->quota = hr_arena_alloc(env->arena, sizeof *queue->quota);
  if (!queue->quota) return false;
  *queue->quota = (struct hr__quota){.n_tenants = env->jobs->tenants.count,
                                     .n_nodes = env->quotas->n_nodes,
                                     .guarantees = any_guaranteed(env->quotas)};
  queue->quota->tree = hr_quota_tree_create(env->arena, env->quotas, env->jobs, total_milli);
  hr__queue_add_listener(queue, &listener);
  if (!queue->quota->tree) return false;
  *admission = admission_of(queue);
  return true;
}
