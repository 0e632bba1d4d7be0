/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_MARKET_DEMANDS_H
#define HR_POLICIES_QUEUE_MARKET_DEMANDS_H

/* Demands: the waiting jobs by need, and the patience of jobs. */

#include "policies/queue/market/market.h"

/* Adds a job that begins to wait, and starts its patience. False: out of memory. */
bool hr__demand_add(struct hr__queue *queue, hr_job job, int64_t now_us);
/* Removes a job that waits no more. */
void hr__demand_remove(struct hr__queue *queue, hr_job job);
/* Moves a waiting job, whose kind has changed, to the demand of its new need. False: out of memory. */
bool hr__demand_change(struct hr__queue *queue, hr_job job);
/* Sets `impatient` and `held` of each demand. False: out of memory. */
bool hr__demands_count(struct hr__queue *queue, int64_t now_us);

#endif
