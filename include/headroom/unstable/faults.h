/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FAULTS_H
#define HEADROOM_UNSTABLE_FAULTS_H

/*
 * Failures of nodes, of groups of nodes that fail together, and of groups of GPUs of a node. A unit is a node, a group
 * of a tier of the topology (island, numa, rack, zone, pool), or a group of consecutive nodes. A node is down while
 * some unit of it is: if an island fails, its node is repaired as a whole. Each unit has a separate renewal process: it
 * works for a random time, fails, is detected after a delay, is repaired for a random time, and works again. Each
 * failure has a class, drawn with probabilities equal to the shares of the classes. The class determines the delay and
 * the repair.
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
  struct hr_duration repair; /* from the detection, or from when the repair crew begins, until the unit works again */
  /* jobs continue until the detection, and then lose the work since the last checkpoint before the failure, too */
  bool corrupts;
};

/* Recorded lengths of an interval, one of which is drawn at a time. */
struct hr_hours {
  double h;
};
struct hr_recorded {
  struct hr_hours *values; /* [n_values] */
  uint32_t n_values;
  double mean_s;
};

/* A recorded failure of a node, which is replayed. */
struct hr_fault_replay {
  uint32_t node; /* within the pool */
  int64_t at_us, down_us;
};

/* The failures of the units of one kind. */
struct hr_fault_process {
  enum hr_tier unit; /* HR_TIER_NODE: single nodes; other tiers: their groups */
  enum hr_fault_clock clock;
  /* the run begins with units that have just been repaired. Otherwise it begins in the stationary state: some units are
     down, and the others have worked for a while */
  bool fresh;
  struct hr_duration between; /* the time, on the clock, from the repair of a unit to its next failure */
  struct hr_fault_class only; /* the delays of failures without classes */
  struct hr_fault_class *classes;
  uint32_t n_classes;                                   /* 0: all failures are like `only` */
  struct hr_recorded recorded_between, recorded_repair; /* instead of `between` and of the repairs, if not empty */
  /* single nodes: recorded failures, by node and time; all other members are then unused. NULL: failures are drawn */
  struct hr_fault_replay *replays;
  uint32_t n_replays;
  /* with probability `bad_share`, a unit is bad and fails `bad_factor` times as often */
  double bad_share, bad_factor;
  char *name; /* of the groups, such as power; NULL: they have the name of their tier */
  /* groups of this number of consecutive nodes, such as those of a power domain; `unit` is HR_TIER_POOL. 0: the groups
     are those of the tier */
  uint32_t group_nodes;
};

/* The units of a process in a pool: their number, the nodes of each, and how many of them a node has, which is more
   than 1 only for parts of nodes. Units are numbered by their first node. */
struct hr_fault_units {
  uint32_t count, nodes, per_node;
};

static inline struct hr_fault_units hr_fault_units_of(const struct hr_fault_process *process,
                                                      const struct hr_pool_spec *pool) {
  struct hr_fault_units units = {0, hr_topology_nodes(&pool->topology, process->unit, pool->nodes), 1};
  if (process->group_nodes) units.nodes = process->group_nodes;
  if (process->unit < HR_TIER_NODE && pool->gpus_per_node)
    units.per_node = pool->gpus_per_node / hr_topology_gpus(&pool->topology, process->unit, pool->gpus_per_node);
  units.count = (pool->nodes + units.nodes - 1) / units.nodes * units.per_node;
  return units;
}

/* Nodes that are slow for some time: each node has separate episodes. A job runs at the speed of its slowest node. */
struct hr_slow_spec {
  struct hr_duration between; /* from the end of an episode to the next one; a mean of 0: there are none */
  struct hr_duration length;
  uint32_t speed_ppm; /* during an episode, in millionths of the usual speed */
};

/* The failures of a pool. */
struct hr_fault_spec {
  struct hr_slow_spec slow;
  /* nodes that are kept as spares: the last ones of the pool. A spare comes up `activation_us` after a node has gone
     down; a repaired node becomes a spare if enough nodes are up */
  uint32_t spares;
  int64_t activation_us;
  struct hr_fault_process *processes;
  uint32_t n_processes;
  uint32_t crew; /* how many units are repaired at the same time, in the order of their detection; 0: all */
};

/* Returns whether nodes of the pool fail. */
static inline bool hr_pool_fails(const struct hr_pool_spec *pool) {
  return pool->faults && pool->faults->n_processes > 0 && pool->nodes > 0;
}

/* What failures of a class have caused. The accounts of a run (hr_result.outages) are in the order of the pools, of
   their processes and of the classes of these. A process without classes has one. */
struct hr_outage_accounting {
  uint64_t failures, jobs_stopped;
  /* sum over the outages of their time, from a failure to its repair, x the nodes of the unit */
  hr_amount down_us;
  hr_amount lost_milli_us; /* work that the stopped jobs lost, in milli-GPUs x microseconds */
};
/* Returns the number of accounts of a process. */
static inline uint32_t hr_fault_classes_of(const struct hr_fault_process *process) {
  return process->n_classes ? process->n_classes : 1;
}
/* Returns the number of accounts of pools. */
HR_API uint32_t hr_outages_count(const struct hr_pool_spec *pools, uint32_t n_pools);

/* The maximum number of processes of a pool. */
#define HR_FAULT_PROCESSES 16u

/* Sorts the replays of a process, joins those that overlap, and drops those of nodes >= `nodes`. */
HR_API void hr_fault_replays_sort(struct hr_fault_process *process, uint32_t nodes);
/* Frees the members of a process, not the process itself. */
HR_API void hr_fault_process_finish(struct hr_fault_process *process);
/* Frees the failures of a pool. NULL is accepted. */
HR_API void hr_fault_spec_destroy(struct hr_fault_spec *spec);

/* ---- Maintenance ---- */

/* What happens to the jobs of nodes before their maintenance. The columns: enumerator, name in scenarios. */
#define HR_DRAIN_TABLE(X)                                                                                              \
  X(HR_DRAIN_WAIT, "wait")                       /* the work begins when the last job of the nodes has left */         \
  X(HR_DRAIN_DEADLINE_KILL, "deadline-kill")     /* jobs run until the work begins, then they are stopped */           \
  X(HR_DRAIN_CHECKPOINT_KILL, "checkpoint-kill") /* jobs that would be stopped save their work first, if they can */   \
  X(HR_DRAIN_MIGRATE, "migrate")                 /* jobs that would be stopped leave at once and lose no work */

enum hr_drain {
#define HR_DRAIN_NAME(name, text) name,
  HR_DRAIN_TABLE(HR_DRAIN_NAME)
#undef HR_DRAIN_NAME
      HR_N_DRAINS
};

/*
 * Maintenance of the nodes of a pool. The nodes are served in groups of consecutive nodes, one group after another.
 * No job starts on the nodes of a group in the lead time before the work on it. The next group begins when the work
 * on the previous group ends, unless too many nodes of the pool are down.
 */
struct hr_maintenance {
  char *name;           /* may be NULL */
  int64_t start_us;     /* when the work on the first group begins */
  int64_t repeat_us;    /* time between two starts; 0: once */
  int64_t duration_us;  /* of the work on a group */
  int64_t lead_us;      /* before the work on each group */
  uint32_t group_nodes; /* at least 1 */
  /* a group begins only if afterwards at most this number of nodes of the pool are down or in maintenance; HR_NONE: no
   * limit
   */
  uint32_t max_unavailable;
  enum hr_drain drain;
};

/* The maximum number of entries of hr_pool_spec.maintenance. */
#define HR_MAINTENANCE_WINDOWS 64u

/* The time of work on a node. */
struct hr_maintenance_time {
  int64_t begin_us, end_us; /* HR_NEVER_US: none */
  uint32_t window;          /* index in hr_pool_spec.maintenance */
};

/* Returns the first planned time of work on a node of a pool that ends after `after_us`. Nodes of a pool are numbered
   from 0. The work may begin later than planned: with HR_DRAIN_WAIT, or because too many nodes are down. */
HR_API struct hr_maintenance_time hr_maintenance_next(const struct hr_pool_spec *pool, uint32_t node, int64_t after_us);
/* Returns the first planned time of work that a job would reach if it ran on the node from `now_us` for its limit. A
   job with a limit longer than the time between two works on a node may start at any time, as it could never start
   otherwise. */
HR_API struct hr_maintenance_time hr_maintenance_ahead(const struct hr_pool_spec *pool, uint32_t node, int64_t now_us,
                                                       int64_t limit_us);
/* Returns the planned duration of the work on all groups, including their lead times. */
HR_API int64_t hr_maintenance_span_us(const struct hr_maintenance *window, uint32_t nodes);
/* Returns the index of the first entry that overlaps an earlier entry of the pool, or its own repetition. `*other`:
   that entry. HR_NONE: none does. */
HR_API uint32_t hr_maintenance_overlap(const struct hr_pool_spec *pool, uint32_t *other);
/* Frees the maintenance of a pool. */
HR_API void hr_maintenance_destroy(struct hr_maintenance *windows, uint32_t n_windows);

struct hr_view;
/* For policies: `begins` counts that a node is excluded for a job, because the job was stopped by a failure of the
   node; otherwise an exclusion that lasted `time_us` has ended. Only the accounts of the run change. */
HR_API void hr_view_count_exclusion(const struct hr_view *view, hr_node node, bool begins, int64_t time_us);

#ifdef __cplusplus
}
#endif
#endif
