/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PREEMPT_VICTIMS_H
#define HR_POLICIES_PREEMPT_VICTIMS_H

/* Victims for a job that does not fit. */

#include "policies/preemption.h"

/* Chooses victims until it does; whether it was started. */
enum hr_status hr__preempt_victims(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                                   struct hr__shape *shape, struct hr_job_entry head, enum hr_reason reason,
                                   bool *started);

#endif
