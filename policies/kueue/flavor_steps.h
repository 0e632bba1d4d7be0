/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_FLAVOR_STEPS_H
#define HR_POLICIES_KUEUE_FLAVOR_STEPS_H

/* Steps of the flavor assignment, for flavor.c. */

#include "policies/kueue/flavor.h"

/* Tries the flavors of the resource group of `resource` for the group of pod sets of the assigner. Leaves the choices
   in `best` and the flavors that were tried in `considered`. Returns the outcome of the best flavor; FIT_NONE: none. */
struct hr__kueue_outcome hr__kueue_flavor_search(struct hr__kueue_assigner *self,
                                                 const struct hr__kueue_workload *workload,
                                                 const struct hr__kueue_group *group, uint32_t resource,
                                                 const struct hr__kueue_assignment *out);
/* Adds `considered` to the attempts of the group of pod sets. */
void hr__kueue_attempts_merge(struct hr__kueue_assigner *self, const struct hr__kueue_group *group);
/* Looks for placements after the quota was found to fit or to need preemption. */
void hr__kueue_assign_topology(struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload,
                               struct hr__kueue_assignment *out);

#endif
