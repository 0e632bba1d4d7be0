/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_PREEMPTION_VICTIMS_H
#define HR_POLICIES_QUEUE_PREEMPTION_VICTIMS_H

/* Starting waiting jobs in order, stopping others for them where the rule says so. */

#include "policies/queue/preemption/preemption.h"

/* Before passes: who has run for long enough may be stopped from now on. Starts the job that others have left for, if
   there is one, or gives up on it when all have left and it does not fit all the same. */
enum hr_status hr__preempt_begin_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan);
/* Unless what waits is skipped, the first job that cannot start all the same ends it. */
enum hr_status hr__preempt_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan);

#endif
