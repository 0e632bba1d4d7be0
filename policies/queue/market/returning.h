/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_MARKET_RETURNING_H
#define HR_POLICIES_QUEUE_MARKET_RETURNING_H

/* Jobs on on-demand nodes that return to spot capacity. */

#include "policies/queue/market/market.h"

/* Adds a job to the list of returning jobs. The job has just started on one on-demand node, and may use spot capacity.
   Gangs with several slices are never moved, so they are not added. False: out of memory. */
bool hr__returning_add(struct hr__queue *queue, hr_job job, hr_pool pool);
/* Removes a job from the list of returning jobs, if it is in the list. */
void hr__returning_drop(struct hr__queue *queue, hr_job job);
/* Called while no job waits: moves returning jobs to spot nodes that have room, and acquires spot nodes for the other
   returning jobs, which a later pass can move. */
enum hr_status hr__returning_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

#endif
