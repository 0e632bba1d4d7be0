/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_JOBS_H
#define HR_POLICIES_KIT_JOBS_H

/* Replicas of inference services, and lists of jobs for the next pass. */

#include "headroom/policy.h"
#include "headroom/trace.h"

/* Returns whether a job is a replica of a service: the run submits it, and it runs until it is not needed any more. Its
   recorded run time and limit have no meaning. */
static inline bool hr__is_replica(const struct hr_trace *trace, hr_job job) {
  return job.id >= trace->n_jobs - trace->n_added;
}

/*
 * A list of jobs, in the order in which they were added. All bytes zero: empty.
 *
 * Lists of policies: jobs that need no node, which start at the begin of the next pass; and jobs that are withdrawn
 * (HR_EVENT_WITHDRAW). When the policy gets this event, it removes the job from all its other lists; at the begin of
 * its next pass, which is at the same instant, it rejects the list.
 */
struct hr__job_list {
  hr_job *jobs;
  uint32_t count, capacity;
};

/* Returns false if memory is exhausted. */
static inline bool hr__job_list_add(struct hr__job_list *list, struct hr_arena *arena, hr_job job) {
  if (list->count == list->capacity) {
    hr_job *grown = hr_arena_grown(arena, list->jobs, &list->capacity, sizeof *grown);
    if (!grown) return false;
    list->jobs = grown;
  }
  list->jobs[list->count++] = job;
  return true;
}

static inline bool hr__job_list_has(const struct hr__job_list *list, hr_job job) {
  for (uint32_t i = 0; i < list->count; i++)
    if (list->jobs[i].id == job.id) return true;
  return false;
}

/* Rejects the jobs, and empties the list. */
static inline enum hr_status hr__job_list_reject(struct hr__job_list *list, struct hr_moves *moves,
                                                 enum hr_reason reason) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < list->count && status == HR_OK; i++) status = hr_moves_reject(moves, list->jobs[i], reason);
  list->count = 0;
  return status;
}

/* Starts the jobs, which need no node, and empties the list. */
static inline enum hr_status hr__job_list_start(struct hr__job_list *list, struct hr_moves *moves) {
  static const struct hr_placement nowhere = {0};
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < list->count && status == HR_OK; i++)
    status = hr_moves_start(moves, list->jobs[i], &nowhere, HR_REASON_IN_ORDER);
  list->count = 0;
  return status;
}

#endif
