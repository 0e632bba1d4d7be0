/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_GPU_OUTLOOK_H
#define HR_POLICIES_PLACEMENT_GPU_OUTLOOK_H

/*
 * When a job will find its places, where GPUs are told apart: by the ends that are expected of what runs, in the order
 * in which they come.
 */

#include "headroom/policy.h"
#include "policies/placement/gpu_allocator.h"

struct hr__gpu_release_calendar;

/* In the arena; it listens to the queue, after its sharer. NULL: out of memory. */
struct hr__gpu_release_calendar *hr__gpu_release_calendar_create(struct hr__queue *queue,
                                                                 const struct hr_policy_env *env,
                                                                 const struct hr_packing_rule *rule);
/* The earliest time after now at which a job of this kind (hr__kind), which does not fit now, finds its places if
   nothing else starts; HR_NEVER_US: never. Out of memory is told by the next change. */
int64_t hr__gpu_release_calendar_earliest(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view,
                                          uint32_t kind);
/* Likewise as far as a time; HR_NEVER_US: not by then. */
int64_t hr__gpu_release_calendar_earliest_by(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view,
                                             uint32_t kind, int64_t by_us);
/* The next answer is expected at about this time or before: to look for it from there on is cheaper. */
void hr__gpu_release_calendar_retreat(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view,
                                      int64_t at_us);
/* Told of a later time than that, as if it had been the answer. */
void hr__gpu_release_calendar_advance(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view,
                                      int64_t at_us);
/* Whether it still does at the time that was told last if a job of request `other` runs at `placement` beyond that. The
   placement, which the sharer would overwrite, is then a copy, valid until the next such question. */
bool hr__gpu_release_calendar_allows(struct hr__gpu_release_calendar *gpu_calendar, struct hr_placement *placement,
                                     uint32_t other, uint32_t kind);

/* When running jobs are expected to end: keeps queue->releases, for backfills that look ahead. */

struct hr__queue;

/* Makes queue->releases, and listens. False: out of memory. */
bool hr__expectations_create(struct hr__queue *queue);

#endif
