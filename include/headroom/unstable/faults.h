/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FAULTS_H
#define HEADROOM_UNSTABLE_FAULTS_H

/*
 * Failures of nodes, slow nodes, spare nodes, and maintenance.
 *
 * A unit is a set of hardware that fails as a whole: a node, a group of a tier of the topology (island, numa, rack,
 * zone, pool), or a group of consecutive nodes. A node is down while at least one unit that contains the node, or that
 * is a part of the node, is down. If an island fails, its node is therefore repaired as a whole. Each unit has a
 * separate renewal process: it works for a random time and fails; the failure is detected after a delay; the unit is
 * repaired for a random time and then works again. Each failure has a class, which determines the delay and the repair.
 * The class is drawn with the shares of the classes as probabilities.
 *
 * From a failure until its detection, the jobs on the nodes of the unit occupy their GPUs and make no progress, and no
 * job may start on these nodes. Exception: if the class `corrupts`, jobs run and start as before. When the failure is
 * detected, the jobs are stopped. No draw depends on the policy. In elastic pools nodes are not repaired: a failed node
 * does not return, and another node can be requested.
 */

#include "headroom/cluster.h"
#include "headroom/market.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The clocks by which the time until the next failure of a unit is measured. HR_FAULT_CLOCK_UP runs while the unit
   works. If the unit is a single node, this clock stops while the node is down for any other reason. The columns:
   enumerator, name in scenarios. */
#define HR_FAULT_CLOCK_TABLE(X)                                                                                        \
  X(HR_FAULT_CLOCK_UP, "up")     /* the working time since the unit was last repaired or launched */                   \
  X(HR_FAULT_CLOCK_WALL, "wall") /* all time; if the unit is down already, the failure has no effect */                \
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
  double share;              /* of the failures, relative to the sum of the shares of all classes */
  struct hr_duration detect; /* time from the failure to its detection */
  struct hr_duration repair; /* time of a repair, which begins at the detection or when the repair crew is free */
  /* Jobs continue to work until the detection, with corrupted results. Then they lose all work since their last
     checkpoint before the failure. */
  bool corrupts;
};

/* A recorded length of an interval, in hours. */
struct hr_hours {
  double h;
};
/* Recorded lengths of intervals. For each interval of a run, one of them is drawn. */
struct hr_recorded {
  struct hr_hours *values; /* [n_values] */
  uint32_t n_values;
  double mean_s;
};

/* A recorded failure of a node, which is replayed. */
struct hr_fault_replay {
  uint32_t node;          /* index within the pool */
  int64_t at_us, down_us; /* time of the failure; time until the node works again */
};

/* The failures of the units of one kind, such as all nodes or all racks of a pool. */
struct hr_fault_process {
  enum hr_tier unit; /* HR_TIER_NODE: each unit is a node; other tiers: each unit is a group of the tier */
  enum hr_fault_clock clock;
  /* true: all units have just been repaired when the run begins. false: the run begins in the stationary state: each
     unit has worked for some time or, with HR_FAULT_CLOCK_UP, may be down */
  bool fresh;
  struct hr_duration between; /* the time, on the clock, from the repair of a unit to its next failure */
  struct hr_fault_class only; /* the delays of failures if n_classes is 0 */
  struct hr_fault_class *classes;
  uint32_t n_classes; /* 0: no classes, so all failures are like `only` */
  /* if not empty: recorded times that are used instead of `between`, and instead of the repairs of classes */
  struct hr_recorded recorded_between, recorded_repair;
  /* recorded failures of single nodes, sorted by node and time. They are detected at once, and their repairs need no
     crew. `unit` is then HR_TIER_NODE, `clock` is HR_FAULT_CLOCK_WALL, and all other members except `name` have no
     effect. NULL: failures are drawn */
  struct hr_fault_replay *replays;
  uint32_t n_replays;
  /* with probability `bad_share`, a unit is bad and fails `bad_factor` times as often */
  double bad_share, bad_factor;
  char *name; /* name of the units, such as "power"; NULL: the name of the tier */
  /* each unit is a group of this number of consecutive nodes, such as a power domain; `unit` is HR_TIER_POOL. 0: units
     are determined by `unit` */
  uint32_t group_nodes;
};

/* The units of a process in a pool. Units are numbered by their first node. */
struct hr_fault_units {
  /* count: number of units. nodes: number of nodes of a unit. per_node: number of units on a node, which is above 1
     only if units are parts of nodes */
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

/* Episodes in which a node is slow. Each node has separate episodes. A job runs at the speed of its slowest node. */
struct hr_slow_spec {
  struct hr_duration between; /* from the end of an episode to the next one; a mean of 0: no episodes */
  struct hr_duration length;  /* of an episode */
  uint32_t speed_ppm;         /* speed of the node during an episode, in ppm of its usual speed */
};

/* The failures of a pool. */
struct hr_fault_spec {
  struct hr_slow_spec slow;
  /* number of spare nodes. At the start of the run, the last nodes of the pool are the spares. A spare comes up
     `activation_us` after another node of the pool has gone down. If enough nodes are up, a node that was repaired or
     maintained becomes a spare */
  uint32_t spares;
  int64_t activation_us;
  struct hr_fault_process *processes; /* [n_processes] */
  uint32_t n_processes;
  /* number of units that can be repaired at the same time; others wait in the order of their detection. 0: no limit */
  uint32_t crew;
};

/* Returns whether nodes of the pool fail. */
static inline bool hr_pool_fails(const struct hr_pool_spec *pool) {
  return pool->faults && pool->faults->n_processes > 0 && pool->nodes > 0;
}

/* The outages that failures of one class have caused. hr_result.outages has one of these accounts for each class of
   each process of each pool, sorted by pool, process and class. A process without classes has one account. */
struct hr_outage_accounting {
  uint64_t failures, jobs_stopped; /* number of failures, and of jobs that they stopped */
  /* sum over the failures of (microseconds from the failure to the end of the repair) x (nodes of the unit). If the
     class `corrupts`, the time begins at the detection */
  hr_amount down_us;
  hr_amount lost_milli_us; /* work that the stopped jobs lost, in milli-GPUs x microseconds */
};
/* Returns the number of accounts of a process. */
static inline uint32_t hr_fault_classes_of(const struct hr_fault_process *process) {
  return process->n_classes ? process->n_classes : 1;
}
/* Returns the number of accounts of all processes of the pools. */
HR_API uint32_t hr_outages_count(const struct hr_pool_spec *pools, uint32_t n_pools);

/* The maximum number of processes of a pool. */
#define HR_FAULT_PROCESSES 16u

/* Sorts the replays of a process, merges replays of a node that overlap, and removes replays of nodes with
   numbers >= `nodes`. */
HR_API void hr_fault_replays_sort(struct hr_fault_process *process, uint32_t nodes);
/* Frees everything that the members of a process point to, but not the process itself. */
HR_API void hr_fault_process_finish(struct hr_fault_process *process);
/* Frees `spec` and everything that it points to. NULL is accepted. */
HR_API void hr_fault_spec_destroy(struct hr_fault_spec *spec);

/* ---- Maintenance ---- */

/* What happens to the jobs on nodes before their maintenance. The columns: enumerator, name in scenarios. */
#define HR_DRAIN_TABLE(X)                                                                                              \
  X(HR_DRAIN_WAIT, "wait")                   /* the maintenance does not begin before all jobs on the nodes ended */   \
  X(HR_DRAIN_DEADLINE_KILL, "deadline-kill") /* jobs that run when the maintenance begins are stopped */               \
  /* jobs that would be stopped write a checkpoint during the lead time and leave, if they can */                      \
  X(HR_DRAIN_CHECKPOINT_KILL, "checkpoint-kill")                                                                       \
  /* all jobs on the nodes are stopped when the lead time begins, and lose no work */                                  \
  X(HR_DRAIN_MIGRATE, "migrate")

enum hr_drain {
#define HR_DRAIN_NAME(name, text) name,
  HR_DRAIN_TABLE(HR_DRAIN_NAME)
#undef HR_DRAIN_NAME
      HR_N_DRAINS
};

/*
 * A maintenance window of a pool. The nodes are maintained in groups of consecutive nodes, one group after another. The
 * lead time of a group is the time before its maintenance in which no job starts on its nodes. When the maintenance of
 * a group ends, the lead time of the next group begins. The next group waits if too many nodes of the pool are not up
 * at this time (max_unavailable), or if another window of the pool is active.
 */
struct hr_maintenance {
  char *name;           /* may be NULL */
  int64_t start_us;     /* planned begin of the maintenance of the first group */
  int64_t repeat_us;    /* time between two starts; 0: the window occurs once */
  int64_t duration_us;  /* of the maintenance of a group */
  int64_t lead_us;      /* lead time of each group */
  uint32_t group_nodes; /* nodes of a group, at least 1 */
  /* a group is closed only if afterwards at most this number of nodes of the pool are not up; HR_NONE: no limit */
  uint32_t max_unavailable;
  enum hr_drain drain;
};

/* The maximum number of entries of hr_pool_spec.maintenance. */
#define HR_MAINTENANCE_WINDOWS 64u

/* The time of the maintenance of a node. */
struct hr_maintenance_time {
  int64_t begin_us, end_us; /* HR_NEVER_US: no maintenance */
  uint32_t window;          /* index in hr_pool_spec.maintenance */
};

/* Returns the first planned maintenance of a node that ends after `after_us`. `node`: its index within the pool. The
   maintenance may begin later than planned, because of HR_DRAIN_WAIT or because too many nodes are down. */
HR_API struct hr_maintenance_time hr_maintenance_next(const struct hr_pool_spec *pool, uint32_t node, int64_t after_us);
/* Returns the first planned maintenance of a node that ends after `now_us` and begins before now_us + limit_us. A job
   with this limit must then not start on the node. A window is ignored if the limit is longer than the time between two
   of its maintenances of a node, because the job could otherwise never start there. */
HR_API struct hr_maintenance_time hr_maintenance_ahead(const struct hr_pool_spec *pool, uint32_t node, int64_t now_us,
                                                       int64_t limit_us);
/* Returns the planned duration of a window, from the lead time of its first group to the end of the maintenance of its
   last group. `nodes`: number of nodes of the pool. */
HR_API int64_t hr_maintenance_span_us(const struct hr_maintenance *window, uint32_t nodes);
/* Returns the index of the first window of the pool that overlaps an earlier window or its own repetition, and sets
   `*other` to the index of that earlier window, or to the returned index. Returns HR_NONE if no window overlaps. */
HR_API uint32_t hr_maintenance_overlap(const struct hr_pool_spec *pool, uint32_t *other);
/* Frees the maintenance windows of a pool: the array and their names. */
HR_API void hr_maintenance_destroy(struct hr_maintenance *windows, uint32_t n_windows);

struct hr_view;
/* For policies that exclude nodes for a job after a failure of the node. `begins` true: counts the begin of an
   exclusion. `begins` false: counts the end of an exclusion that lasted `time_us`. Only the accounts of the pool change
   (struct hr_pool_accounting). */
HR_API void hr_view_count_exclusion(const struct hr_view *view, hr_node node, bool begins, int64_t time_us);

#ifdef __cplusplus
}
#endif
#endif
