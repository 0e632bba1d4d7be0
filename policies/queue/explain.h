/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_EXPLAIN_H
#define HR_POLICIES_QUEUE_EXPLAIN_H

/* Why jobs of the queue policy wait, from the state that a pass has left. */

#include "policies/queue/dispatch.h"

/* As hr_policy_ops has it. */
void hr__queue_explain(struct hr__queue *queue, const struct hr_view *view, hr_job job, struct hr_wait_reason *hold);
/* HR_POLICY_HOLDS_BY_TENANT, HR_POLICY_HOLDS_BY_JOB. */
uint32_t hr__queue_explains_by(const struct hr__queue *queue);

#endif
