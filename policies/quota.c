/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Quotas in the queue policy. Jobs within their tenants' guarantees go before those that would borrow, whatever the
 * order (as in Kueue, pkg/scheduler). Each tenant's jobs have lanes of their own; a lane whose tenant may not use as
 * much more now is parked, and holds nobody else back. What is released may be anybody's to use, so after each stop all
 * lanes are looked at again.
 */

#include "policies/quota.h"

#include <string.h>

struct hr__quota {
  struct hr_quota_tree *tree;
  uint64_t *own_limit_milli; /* by tenant: what it may use however much others leave */
  bool guarantees;           /* somebody is guaranteed something */
  bool guaranteed_only;      /* jobs that would borrow are held back */
};

static uint64_t milli_of(const struct hr__queue *queue, hr_job job) {
  return (uint64_t)hr__gpus(queue, job) * 1000;
}

/* A tenant at a limit of its own is not helped by what others give back. */
bool hr__quota_holds(void *self, const struct hr__lane *lane, uint32_t *until) {
  const struct hr__queue *queue = self;
  const struct hr__quota *quota = queue->quota;
  hr_job job = lane->head.job;
  uint32_t tenant = hr__tenant(queue, job);
  *until = HR_NONE;
  if (!hr__quota_is_turn(queue, job)) return true;
  if (hr__quota_allows(queue, job)) return false;
  bool at_own_limit = tenant != HR_NONE && !quota->guaranteed_only &&
                      hr_quota_tree_used(quota->tree, tenant) + milli_of(queue, job) > quota->own_limit_milli[tenant];
  if (at_own_limit) *until = tenant;
  return true;
}

bool hr__quota_guarantees(const struct hr__queue *queue) {
  return queue->quota->guarantees;
}

bool hr__quota_is_turn(const struct hr__queue *queue, hr_job job) {
  const struct hr__quota *quota = queue->quota;
  if (!quota || !quota->guaranteed_only) return true;
  return !hr_quota_tree_borrows(quota->tree, hr__tenant(queue, job), milli_of(queue, job));
}

/* Lanes that were held back are looked at again: where all shapes are one queue, a smaller job may have come first. */
enum hr_status hr__quota_guaranteed_only(struct hr__queue *queue, bool on) {
  queue->quota->guaranteed_only = on;
  enum hr_status status = hr__waiting_unpark(&queue->waiting);
  return status == HR_OK ? hr__waiting_park(&queue->waiting) : status;
}

bool hr__quota_allows(const struct hr__queue *queue, hr_job job) {
  uint64_t milli = milli_of(queue, job);
  if (!queue->quota || milli == 0) return true;
  return hr_quota_tree_available(queue->quota->tree, hr__tenant(queue, job)) >= (int64_t)milli;
}

bool hr__quota_may_reclaim(const struct hr__queue *queue, hr_job job, hr_job victim) {
  return queue->quota && hr_quota_tree_may_reclaim(queue->quota->tree, hr__tenant(queue, job), milli_of(queue, job),
                                                   hr__tenant(queue, victim));
}

void hr__quota_leave_out(const struct hr__queue *queue, hr_job job) {
  if (queue->quota) hr_quota_tree_give(queue->quota->tree, hr__tenant(queue, job), milli_of(queue, job));
}

void hr__quota_put_back(const struct hr__queue *queue, hr_job job) {
  if (queue->quota) hr_quota_tree_take(queue->quota->tree, hr__tenant(queue, job), milli_of(queue, job));
}

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  struct hr__quota *quota = queue->quota;
  if (milli_of(queue, job) <= hr_quota_tree_potential(quota->tree, hr__tenant(queue, job))) return HR_OK;
  return hr__queue_give_up(queue, job, HR_REASON_OVER_QUOTA) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  (void)view;
  (void)placement;
  hr_quota_tree_take(queue->quota->tree, hr__tenant(queue, job), milli_of(queue, job));
  return HR_OK;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  hr_quota_tree_give(queue->quota->tree, hr__tenant(queue, event->job), milli_of(queue, event->job));
  return hr__waiting_unpark_for(&queue->waiting, hr__tenant(queue, event->job));
}

static const struct hr__listener listener = {.job_waits = job_waits, .job_starts = job_starts, .job_stops = job_stops};

static uint64_t own_limit(const struct hr_quota_node *node) {
  uint64_t borrowed = node->borrow_milli == HR_NO_LIMIT ? HR_NO_LIMIT : node->guaranteed_milli + node->borrow_milli;
  return borrowed < node->max_milli ? borrowed : node->max_milli;
}

static bool read_limits(struct hr__quota *quota, const struct hr_policy_env *env) {
  const struct hr_quota_spec *spec = env->quotas;
  uint32_t n_tenants = env->jobs->tenants.count;
  quota->own_limit_milli = hr_arena_alloc(env->arena, ((size_t)n_tenants + 1) * sizeof *quota->own_limit_milli);
  if (!quota->own_limit_milli) return false;
  quota->guarantees = spec->fallback.guaranteed_milli > 0;
  for (uint32_t t = 0; t < n_tenants; t++) quota->own_limit_milli[t] = own_limit(&spec->fallback);
  for (uint32_t i = 0; i < spec->n_nodes; i++) {
    quota->guarantees = quota->guarantees || spec->nodes[i].guaranteed_milli > 0;
    for (uint32_t t = 0; t < n_tenants && spec->nodes[i].is_tenant; t++)
      if (strcmp(spec->nodes[i].name, env->jobs->tenants.text[t]) == 0)
        quota->own_limit_milli[t] = own_limit(&spec->nodes[i]);
  }
  return true;
}

bool hr__quota_create(struct hr__queue *queue, const struct hr_policy_env *env) {
  uint64_t total_milli = 0;
  for (uint32_t i = 0; i < hr_cluster_pools(env->cluster); i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(env->cluster, (hr_pool){i});
    total_milli += (uint64_t)spec->nodes * spec->gpus_per_node * 1000;
  }
  queue->quota = hr_arena_alloc(env->arena, sizeof *queue->quota);
  if (!queue->quota) return false;
  queue->quota->tree = hr_quota_tree_create(env->arena, env->quotas, env->jobs, total_milli);
  hr__queue_listen(queue, &listener);
  return queue->quota->tree && read_limits(queue->quota, env);
}
