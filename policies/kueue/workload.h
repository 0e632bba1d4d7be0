/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_WORKLOAD_H
#define HR_POLICIES_KUEUE_WORKLOAD_H

/* Small rules about workloads: priority, order of the queue, requests, usage, and the list of workloads with quota. */

#include "policies/kueue/kueue.h"

/* What happened to a workload, as far as it changes its place in the queue. */
struct hr__kueue_history {
  int64_t created_us;
  int64_t evicted_us, preempted_us; /* HR__KUEUE_NO_TIME: did not happen */
  bool evicted_by_timeout;          /* its pods were not ready in time */
  bool evicted_by_check;            /* an admission check asked for a retry */
  bool reclaimed_while_borrowing;   /* reason of the preemption */
};

/* The time by which a workload is ordered in its queue. `by_creation`: pods that were not ready keep their place.
   `priority_sorting`: the gate PrioritySortingWithinCohort is on. */
int64_t hr__kueue_queue_time(const struct hr__kueue_history *history, bool by_creation, bool priority_sorting);

/* The priority with the boost of an annotation; a text that is no whole number, or NULL, boosts by 0. */
int64_t hr__kueue_boosted_priority(int64_t priority, const char *annotation);
/* Reads the boost of an annotation. Returns false if the text is no whole number of 32 bits. */
bool hr__kueue_boost_of(const char *annotation, int64_t *boost);

/* The number of pods of a pod set that need quota. */
int64_t hr__kueue_pods_needed(const struct hr__kueue_pod_set *pod_set);
/* The amount of a resource that an admission uses: `assigned` reduced to the pods that still run. */
int64_t hr__kueue_assigned_amount(const struct hr__kueue_pod_set *pod_set, const struct hr__kueue_assigned *assigned);
/* Fills `workload->usage`, which has room for n_pod_sets * n_resources entries, from the admission. */
void hr__kueue_workload_sum_usage(const struct hr__kueue_world *world, struct hr__kueue_workload *workload);
/* Adds an amount of a pair to a list of `count` entries without repeated pairs. The list has room for one more. */
void hr__kueue_usage_add(struct hr__kueue_usage *list, uint32_t *count, uint32_t pair, int64_t amount);

/* Puts a workload with quota into the list of its queue, and counts its usage in the tree and on the nodes. */
void hr__kueue_list(struct hr__kueue_world *world, uint32_t workload);
/* Gives a workload the quota and the placements of an assignment, and lists it. `room` has n_pod_sets * n_resources
   entries, which the workload keeps. */
void hr__kueue_give_quota(struct hr__kueue_world *world, uint32_t workload,
                          const struct hr__kueue_assignment *assignment, struct hr__kueue_assigned *room);
/* Takes it out again. */
void hr__kueue_unlist(struct hr__kueue_world *world, uint32_t workload);
/* Counts the usage of a workload in the tree and on the nodes (sign 1), or removes it (-1). The list does not change,
   so that a preemption can be tried. */
void hr__kueue_change_usage(struct hr__kueue_world *world, uint32_t workload, int sign);

#endif
