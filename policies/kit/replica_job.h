/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distinguishes replicas of inference services from jobs of the trace. */

#ifndef HR_POLICIES_KIT_REPLICA_JOB_H
#define HR_POLICIES_KIT_REPLICA_JOB_H

#include "headroom/trace.h"

/* Returns whether a job is a replica of a service: the run submits it, and it runs until it is not needed any more. Its
   recorded run time and limit have no meaning. */
static inline bool hr__is_replica(const struct hr_trace *trace, hr_job job) {
  return job.id >= trace->n_jobs - trace->n_added;
}

#endif
