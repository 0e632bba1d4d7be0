/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SHARER_H
#define HR_POLICIES_SHARER_H

/*
 * Where jobs go on a cluster that tells GPUs apart: by a packing rule, task by task, all tasks of a job in one pool. It
 * keeps a stock of its own, which follows what happens, so that a gang can be tried before it is placed.
 */

#include "headroom/packing.h"

struct hr__queue;
struct hr__sharer;

/* In the arena; it listens to the queue. NULL: out of memory. */
struct hr__sharer *hr__sharer_create(struct hr__queue *queue, const struct hr_policy_env *env,
                                     const struct hr_packing_rule *rule);
/* Where a job of this request (its number) would go now; the placement is valid until the next question. */
bool hr__sharer_find(struct hr__sharer *sharer, uint32_t request, struct hr_placement *placement);

#endif
