/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_GATES_H
#define HR_POLICIES_KUEUE_GATES_H

/*
 * The feature gates of Kueue that change decisions, as bits of one number. A version of Kueue is written as its minor
 * number: 16 is version 0.16. Source: pkg/features/kube_features.go of kubernetes-sigs/kueue.
 */

#include <stdbool.h>
#include <stdint.h>

/* The columns: name in code, name in Kueue's configuration, first minor version in which the gate is on by default
   (HR__KUEUE_NEVER_ON: none). */
#define HR__KUEUE_NEVER_ON 99
#define HR__KUEUE_GATES(X)                                                                                             \
  X(PARTIAL_ADMISSION, "PartialAdmission", 5)                                                                          \
  X(FLAVOR_FUNGIBILITY, "FlavorFungibility", 5)                                                                        \
  X(PRESERVE_SCAN_PROGRESS, "FlavorFungibilityPreserveScanProgress", 19)                                               \
  X(PRIORITY_SORTING, "PrioritySortingWithinCohort", 6)                                                                \
  X(FAIR_WITHIN_NOMINAL, "FairSharingPreemptWithinNominal", 18)                                                        \
  X(FAIR_NON_BORROWING_FIRST, "FairSharingPrioritizeNonBorrowing", 18)                                                 \
  X(RECOMPUTE_ON_OVERLAP, "RecomputeAssignmentUponPreemptionTargetsOverlap", 19)                                       \
  X(EQUIVALENCE_HASHING, "SchedulingEquivalenceHashing", 18)                                                           \
  X(RECLAIMABLE_PODS, "ReclaimablePods", 15)                                                                           \
  X(TOPOLOGY, "TopologyAwareScheduling", 14)                                                                           \
  X(TOPOLOGY_PROFILE_MIXED, "TASProfileMixed", 15)                                                                     \
  X(TOPOLOGY_NODE_REPLACEMENT, "TASFailedNodeReplacement", 14)                                                         \
  X(TOPOLOGY_REPLACEMENT_FAIL_FAST, "TASFailedNodeReplacementFailFast", 14)                                            \
  X(TOPOLOGY_MULTI_LAYER, "TASMultiLayerTopology", 18)                                                                 \
  X(TOPOLOGY_OVERLAPPING_FLAVORS, "TASHandleOverlappingFlavors", 18)                                                   \
  X(TOPOLOGY_RECOMPUTE, "TASRecomputeAssignmentWithinSchedulingCycle", 18)                                             \
  X(TOPOLOGY_BALANCED, "TASBalancedPlacement", HR__KUEUE_NEVER_ON)                                                     \
  X(TOPOLOGY_NODE_AFFINITY, "TASRespectNodeAffinityPreferred", HR__KUEUE_NEVER_ON)                                     \
  X(ADMISSION_FAIR_SHARING, "AdmissionFairSharing", 15)                                                                \
  X(CONCURRENT_ADMISSION, "ConcurrentAdmission", HR__KUEUE_NEVER_ON)                                                   \
  X(ORCHESTRATED_PREEMPTION, "MultiKueueOrchestratedPreemption", HR__KUEUE_NEVER_ON)                                   \
  X(PRIORITIZE_PREEMPTORS, "PrioritizePreemptorWorkloads", HR__KUEUE_NEVER_ON)                                         \
  X(PRIORITY_BOOST, "PriorityBoost", HR__KUEUE_NEVER_ON)                                                               \
  X(SCHEDULER_LIBRARY, "SchedulerLibraryIntegration", HR__KUEUE_NEVER_ON)                                              \
  X(QUOTA_CHECK_STRATEGY, "QuotaCheckStrategy", HR__KUEUE_NEVER_ON)                                                    \
  X(WORKLOAD_SLICES, "ElasticJobsViaWorkloadSlices", HR__KUEUE_NEVER_ON)                                               \
  X(TOPOLOGY_SLICES, "ElasticJobsViaWorkloadSlicesWithTAS", HR__KUEUE_NEVER_ON)                                        \
  X(TOPOLOGY_KEEP_POD_OWNED, "SkipReassignmentForPodOwnedWorkloads", 19)

enum hr__kueue_gate_bit {
#define HR__KUEUE_GATE_BIT(code, name, since) HR__KUEUE_BIT_##code,
  HR__KUEUE_GATES(HR__KUEUE_GATE_BIT)
#undef HR__KUEUE_GATE_BIT
      HR__KUEUE_GATE_COUNT
};

typedef uint64_t hr__kueue_gates;

/* The newest version of the model, and the default. */
#define HR__KUEUE_NEWEST_VERSION 20

/* Returns the gates that are on by default in a version. */
hr__kueue_gates hr__kueue_gates_of_version(int minor);
/* Switches the gate with a name of Kueue's configuration. Returns false if the model does not know the gate. */
bool hr__kueue_gates_set(hr__kueue_gates *gates, const char *name, bool on);

static inline bool hr__kueue_gate_is_on(hr__kueue_gates gates, enum hr__kueue_gate_bit gate) {
  return (gates >> gate & 1) != 0;
}

#endif
