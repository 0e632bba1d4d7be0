/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Quotas in the queue policy: a job starts only if its tenant's quota admits it. Under all orders, jobs within the
 * guarantees of their tenants precede jobs that would borrow, as in Kueue (pkg/scheduler). Each tenant has its own
 * subqueues; a subqueue is preferred if its first job is within the guarantee. If a tenant may not use more now, its
 * subqueue is parked (see waiting.h) at the node of the quota tree that has the blocking limit, and does not block
 * other subqueues. When a job releases its GPUs, there is more room at the node of its tenant and at all ancestors of
 * this node.
 */

#include "policies/queue/quota/quota.h"

#include "policies/queue/quota/quota_tree.h"

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

/* Notifies the queue that there is more room at the tenant's node and its ancestors. All tenants below these nodes may
   be able to use it. */
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
