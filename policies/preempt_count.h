/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PREEMPT_COUNT_H
#define HR_POLICIES_PREEMPT_COUNT_H

/* By count, with keys that say who comes first: exactly as if all jobs were placed in order. */

#include "policies/preemption.h"

enum hr_status hr__preempt_by_count(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan);

#endif
