/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_QUOTA_QUOTA_H
#define HR_POLICIES_QUEUE_QUOTA_QUOTA_H

/* Quotas in the queue policy: a job starts only if its tenant's quota admits it. A job is rejected if it requests more
   than its tenant could use on an empty cluster. */

#include "policies/queue/dispatch.h"

struct hr__quota {
  struct hr_quota_tree *tree;
  /* n_nodes: number of nodes in the quotas of the scenario; the tree has further nodes for the root and for other
     tenants */
  uint32_t n_tenants, n_nodes;
  bool guarantees; /* some tenant or cohort has a guarantee */
};

/* Creates queue->quota, and adds its listener to the queue. Writes `*admission`, which hr__waiting_init needs: a
   subqueue is held back if its first job exceeds what its tenant may use now, and preferred if its first job is within
   the guarantee of its tenant. False: out of memory. */
bool hr__quota_create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr__admission *admission);
/* Returns whether the job exceeds what its tenant may use now. If so, writes the tenant or cohort with the exceeded
   limit to `*quota`, as in hr_wait_reason. */
bool hr__quota_holds(const struct hr__queue *queue, hr_job job, uint32_t *quota);

/* Returns the owner of the job's subqueue: the index of the job's tenant; the number of tenants if the job has none; 0
   without quotas. */
static inline uint32_t hr__quota_owner(const struct hr__queue *queue, hr_job job) {
  uint32_t tenant = hr__tenant(queue, job);
  if (!queue->quota) return 0;
  return tenant < queue->quota->n_tenants ? tenant : queue->quota->n_tenants;
}

/* Returns whether the job is within the guarantee of its tenant; true without quotas. */
static inline bool hr__quota_is_guaranteed(const struct hr__queue *queue, hr_job job) {
  if (!queue->quota) return true;
  return !hr_quota_tree_borrows(queue->quota->tree, hr__tenant(queue, job), hr__counted_milli(queue, job));
}

/* Returns whether the tenant's quota admits the job now; true without quotas. */
static inline bool hr__quota_allows(const struct hr__queue *queue, hr_job job) {
  uint64_t milli = hr__counted_milli(queue, job);
  if (!queue->quota || milli == 0) return true;
  return hr_quota_tree_available(queue->quota->tree, hr__tenant(queue, job)) >= (int64_t)milli;
}

/* Subtracts a job from the usage of its tenant, for a tentative preemption. */
static inline void hr__quota_uncount(const struct hr__queue *queue, hr_job job) {
  if (queue->quota) hr_quota_tree_give(queue->quota->tree, hr__tenant(queue, job), hr__counted_milli(queue, job));
}

/* Adds a job to the usage of its tenant again. */
static inline void hr__quota_count(const struct hr__queue *queue, hr_job job) {
  if (queue->quota) hr_quota_tree_take(queue->quota->tree, hr__tenant(queue, job), hr__counted_milli(queue, job));
}

#endif
