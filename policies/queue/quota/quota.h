/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_QUOTA_QUOTA_H
#define HR_POLICIES_QUEUE_QUOTA_QUOTA_H

/* Starting jobs only within their tenants' quotas; those that ask for more than their tenant could ever use are given
 * up.
 */

#include "policies/queue/dispatch.h"

/* Makes queue->quota, which listens; before queue->waiting is. False: out of memory. */
bool hr__quota_create(struct hr__queue *queue, const struct hr_policy_env *env);
/* For hr__waiting: lanes are held back whose jobs are beyond what their tenant may use now, and preferred while they
   are within its guarantee. */
struct hr__admission hr__quota_admission(const struct hr__queue *queue);
/* Whose a job's lane is; 0 where there are no quotas. */
uint32_t hr__quota_owner(const struct hr__queue *queue, hr_job job);
/* Whether anybody is guaranteed anything. */
bool hr__quota_guarantees(const struct hr__queue *queue);
/* Whether the job may go now: while the preferred alone count, those within their tenants' guarantees. */
bool hr__quota_is_turn(const struct hr__queue *queue, hr_job job);
/* Whether the job is beyond what its tenant may use now, and then whose limit that is, as hr_wait_reason has it. */
bool hr__quota_holds(const struct hr__queue *queue, hr_job job, uint32_t *quota);
/* For those who stop jobs for others. Whether the job is within what its tenant may use now; whether one job may be
   stopped because its tenant uses what the other's is guaranteed. All true, and false, where there are no quotas. */
bool hr__quota_allows(const struct hr__queue *queue, hr_job job);
bool hr__quota_may_reclaim(const struct hr__queue *queue, hr_job job, hr_job victim);
/* Likewise, tentatively: what it would be like if the job had not run; and back. */
void hr__quota_leave_out(const struct hr__queue *queue, hr_job job);
void hr__quota_put_back(const struct hr__queue *queue, hr_job job);

#endif
