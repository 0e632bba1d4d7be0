/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FAULTS_H
#define HEADROOM_UNSTABLE_FAULTS_H

/*
 * Failures of nodes, and of groups of nodes that share a fate. A unit is a node, or a group of a tier of the topology
 * (rack, zone, pool). Each unit has a renewal process of its own: it works for a random time, fails, is detected after
 * a delay, is repaired for a random time, and works again. A failure has a class, which is drawn by its share and
 * determines the delay and the repair.
 *
 * Until a failure is detected, the jobs of the unit hold their GPUs and make no progress, and no job may start there.
 * They are stopped when it is detected. No draw depends on the policy.
 */

#include "headroom/cluster.h"
#include "headroom/market.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which time counts until the next failure of a unit. The columns: enumerator, name in scenarios. */
#define HR_FAULT_CLOCK_TABLE(X)                                                                                        \
  X(HR_FAULT_CLOCK_UP, "up")     /* the time since the unit was last repaired or launched */                           \
  X(HR_FAULT_CLOCK_WALL, "wall") /* all time; a failure of a unit that is down already has no effect */                \
  X(HR_FAULT_CLOCK_BUSY, "busy") /* the time in which jobs run on the unit */

enum hr_fault_clock {
#define HR_FAULT_CLOCK_NAME(name, text) name,
  HR_FAULT_CLOCK_TABLE(HR_FAULT_CLOCK_NAME)
#undef HR_FAULT_CLOCK_NAME
      HR_N_FAULT_CLOCKS
};

/* A class of failures. */
struct hr_fault_class {
  char *name;                /* may be NULL */
  double share;              /* relative to the sum of the shares of all classes */
  struct hr_duration detect; /* from the failure until its jobs are stopped */
  struct hr_duration repair; /* from the detection, or from the start of the work of the repair crew, until it is up */
};

/* The failures of the units of one kind. */
struct hr_fault_process {
  enum hr_tier unit; /* HR_TIER_NODE: single nodes; HR_TIER_RACK, HR_TIER_ZONE, HR_TIER_POOL: groups */
  enum hr_fault_clock clock;
  /* the run begins with units that have just been repaired. Otherwise it begins in the stationary state: some units are
     down, and the others have worked for a while */
  bool fresh;
  struct hr_duration between; /* the time, on the clock, from the repair of a unit to its next failure */
  struct hr_fault_class only; /* the delays of failures without classes */
  struct hr_fault_class *classes;
  uint32_t n_classes; /* 0: all failures are like `only` */
  /* units fail `bad_factor` times as often with the probability `bad_share` */
  double bad_share, bad_factor;
};

/* The failures of a pool. */
struct hr_fault_spec {
  struct hr_fault_process *processes;
  uint32_t n_processes;
  uint32_t crew; /* how many units are repaired at the same time, in the order of their detection; 0: all */
};

/* The maximum number of processes of a pool. */
#define HR_FAULT_PROCESSES 16u

/* Returns the name in scenarios. */
HR_API const char *hr_fault_clock_name(enum hr_fault_clock clock);
/* Frees the failures of a pool. NULL is accepted. */
HR_API void hr_fault_spec_destroy(struct hr_fault_spec *spec);

#ifdef __cplusplus
}
#endif
#endif
