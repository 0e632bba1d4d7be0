/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_EXPECTATIONS_H
#define HR_POLICIES_EXPECTATIONS_H

/* When running jobs are expected to end: keeps queue->releases, for backfills that look ahead. */

#include "headroom/policy.h"

struct hr__queue;

/* When a job that has started is expected to end: by its limit. Work that was kept need not be done again. */
int64_t hr__expected_end_us(const struct hr__queue *queue, const struct hr_view *view, hr_job job);
/* Makes queue->releases, and listens. False: out of memory. */
bool hr__expectations_create(struct hr__queue *queue);

#endif
