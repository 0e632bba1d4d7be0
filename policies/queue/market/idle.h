/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_MARKET_IDLE_H
#define HR_POLICIES_QUEUE_MARKET_IDLE_H

/* Idle nodes: nodes without jobs are released after a minimum time. */

#include "policies/queue/market/market.h"

/* Begins the idle time of a node. False: out of memory. */
bool hr__idle_begin(struct hr__queue *queue, hr_node node, int64_t now_us);
/* Begins the idle time of the nodes of a placement that became empty when its job left. False: out of memory. */
bool hr__idle_after(struct hr__queue *queue, const struct hr_placement *placement, int64_t now_us);
/* Releases spare nodes that have been idle for the minimum time. */
enum hr_status hr__idle_release(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

#endif
