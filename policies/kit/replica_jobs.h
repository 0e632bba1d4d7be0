/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_REPLICA_JOBS_H
#define HR_POLICIES_KIT_REPLICA_JOBS_H

/* Replicas of inference services, and jobs that are not needed any more. */

#include "headroom/policy.h"
#include "headroom/trace.h"

/* Returns whether a job is a replica of a service: the run submits it, and it runs until it is not needed any more. Its
   recorded run time and limit have no meaning. */
static inline bool hr__is_replica(const struct hr_trace *trace, hr_job job) {
  return job.id >= trace->n_jobs - trace->n_added;
}

/*
 * Jobs that are not needed any more (HR_EVENT_WITHDRAW). When the policy gets this event, it removes the job from all
 * its lists, and adds it to this list. At the begin of its next pass, which is at the same instant, it rejects the
 * list. All bytes zero: empty.
 */
struct hr__withdrawn {
  hr_job *jobs;
  uint32_t count, capacity;
};

/* Returns false if memory is exhausted. */
static inline bool hr__withdrawn_add(struct hr__withdrawn *list, struct hr_arena *arena, hr_job job) {
  if (list->count == list->capacity) {
    hr_job *grown = hr_arena_grown(arena, list->jobs, &list->capacity, sizeof *grown);
    if (!grown) return false;
    list->jobs = grown;
  }
  list->jobs[list->count++] = job;
  return true;
}

static inline enum hr_status hr__withdrawn_reject(struct hr__withdrawn *list, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < list->count && status == HR_OK; i++)
    status = hr_moves_reject(moves, list->jobs[i], HR_REASON_WITHDRAWN);
  list->count = 0;
  return status;
}

#endif
