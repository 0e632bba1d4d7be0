/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_GANGS_H
#define HR_POLICIES_KAI_GANGS_H

/* Jobs as gangs of pods: which pods are next, which are evicted first, and the order of jobs and pod sets. */

#include "policies/kai/session.h"

/* Whether enough pods exist for all pod sets. */
bool hr__kai_is_ready(const struct hr__kai_session *session, uint32_t job);
/* Whether all pod sets use at least their minimum. */
bool hr__kai_gang_runs(const struct hr__kai_session *session, uint32_t job);
/* Whether a pod set has more pods than its minimum. */
bool hr__kai_is_elastic(const struct hr__kai_session *session, uint32_t job);
/* Whether some pods wait for resources while fewer than the minimum of their pod set have a place. */
bool hr__kai_must_wait(const struct hr__kai_session *session, uint32_t job);

/* Sorts pod sets of one job by the order in which they are served. */
void hr__kai_sort_sets(const struct hr__kai_session *session, uint32_t *sets, uint32_t n);
/* Puts the pods that are to be placed next into `pods` and returns their number. In a simulation (`real` false) evicted
   pods are placed again. `sets` is scratch memory for the pod sets of the job. */
uint32_t hr__kai_next_pods(const struct hr__kai_session *session, uint32_t job, bool real, uint32_t *pods,
                           uint32_t *sets);
/* Puts the pods of a victim that are evicted next into `pods` and returns their number. Pods that are `taken` do not
   belong to the job any more. */
uint32_t hr__kai_next_victims(const struct hr__kai_session *session, uint32_t job, const uint8_t *taken, uint32_t *pods,
                              uint32_t *sets);

/* The state of a job without the pods that are `taken` (NULL: none): below its minimum -1, at it 0, above it 1. */
int hr__kai_elastic_state(const struct hr__kai_session *session, uint32_t job, const uint8_t *taken);
/* Fills the cached members of a job's state. The arrays are scratch memory for the pods and pod sets of the job. */
void hr__kai_cache_job(struct hr__kai_session *session, uint32_t job, uint32_t *pods, uint32_t *sets);

#endif
