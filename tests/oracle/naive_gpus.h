/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_NAIVE_GPUS_H
#define HR_TESTS_ORACLE_NAIVE_GPUS_H

/*
 * A second implementation of the engine and the queue policy for clusters with per-GPU allocation. It implements
 * docs/reference/rules.md, sharing.md and topology.md in the simplest way: every pass examines all jobs and nodes
 * again. It shares no code with Headroom. It is for small worlds only.
 *
 * Covered: sharing whole, fraction and mps without interference; MIG static, dynamic and on-demand without lead times;
 * gangs, CPUs and memory of nodes, GPU memory, dedicated jobs; topology constraints; orders fifo, priority, smallest,
 * largest and sjf; all backfills; placement first-fit, best-fit and worst-fit; preemption by order, by priority and by
 * quota, without grace period; quotas with guarantees and maxima, flat or with one level of cohorts; markets static,
 * on-demand-only and spot-first with recorded levels, fixed boot times and no notice. Not covered: time-slicing, tasks
 * that must be split, checkpoint intervals, restart times; quotas with strict or conservative backfill; quotas or
 * preemption with other markets than static. The run aborts with a message if a rule is not implemented.
 *
 * Some rules are not in these documents. They were found by comparison with Headroom:
 * - A restarted job is expected to end when its limit minus its kept work has passed. Before a restart, reservations
 *   and checks of whether it ends in time use its full limit.
 * - Under preemption by priority, EASY tries all jobs again after a start, if jobs are not ordered by priority.
 * - In the search for victims, a job is not tried if a job with the same request and tenant was refused. Under
 *   preemption by priority with another order, this is true only if both jobs have the same priority.
 * - If the only reason not to stop a job is that it has just started, another pass follows one microsecond later.
 * - Of equal victims, the one with the higher number is stopped first.
 * - A gang with MIG gets the layout with the most sufficient instances on each GPU without tasks, even if the present
 *   layout has such instances.
 * - The stable time of a spot pool begins with a change of its level that makes nodes available, and begins again
 *   with each reclaim. It ends with a change of its level after which all available nodes are in use.
 * - If an idle node is not released because waiting jobs need it, its idle time begins again.
 * - Passes are scheduled for ends of idle times, of waits for spot nodes, and of minimum run times. They take place
 *   even if they are no longer needed.
 */

#include <stdbool.h>
#include <stdint.h>

enum {
  NAIVE_GPUS_POOLS = 3,
  NAIVE_GPUS_NODES = 12,
  NAIVE_GPUS_PER_NODE = 8,
  NAIVE_GPUS_JOBS = 32,
  NAIVE_GPUS_TASKS = 4,
  NAIVE_GPUS_LAYOUTS = 6,
  NAIVE_GPUS_SLICES = 8,
  NAIVE_GPUS_LEVELS = 8,
  NAIVE_GPUS_TENANTS = 4,
  NAIVE_GPUS_ATTEMPTS = 1000
};

/* ---- MIG ---- */

/* `compute`, `memory`: slices; `starts`: memory slices at which an instance may begin, ended by -1. */
struct naive_mig_profile {
  const char *name;
  int compute, memory;
  long mem_mib;
  int starts[NAIVE_GPUS_SLICES];
};

/* A GPU type. Profiles are sorted from the largest to the smallest. */
struct naive_mig_type {
  int compute, memory, n_profiles;
  const struct naive_mig_profile *profile;
};

enum naive_mig_mode { NAIVE_MIG_STATIC, NAIVE_MIG_DYNAMIC, NAIVE_MIG_ON_DEMAND };

/* A layout has, for each memory slice, the profile of the instance that begins there; -1: none. */
struct naive_mig {
  const struct naive_mig_type *type;
  enum naive_mig_mode mode;
  int n_layouts;
  signed char layout[NAIVE_GPUS_LAYOUTS][NAIVE_GPUS_SLICES];
  int layout_of_gpu[NAIVE_GPUS_PER_NODE]; /* initial layouts */
};

/* ---- Input ---- */

enum naive_gpus_market { NAIVE_GPUS_FIXED, NAIVE_GPUS_ON_DEMAND, NAIVE_GPUS_SPOT };

/* ANY: no constraint. The tiers follow from narrow to wide. */
enum naive_gpus_tier { NAIVE_TIER_ANY, NAIVE_TIER_ISLAND, NAIVE_TIER_NUMA, NAIVE_TIER_NODE, NAIVE_TIER_RACK };

/* CPUs are in thousandths, memory is in MiB; -1: unlimited. Sizes of tiers are 0 if the pool does not have the tier. */
struct naive_gpus_pool {
  int nodes, gpus_per_node;
  long capacity; /* thousandths of each GPU: 1000; more if one GPU represents all GPUs of a node (counted allocation) */
  long cpu, mem, gpu_mem, cpu_per_gpu;
  bool whole;            /* jobs have GPUs exclusively */
  int replicas, clients; /* replicas 0: no equal parts; clients: maximum number of tasks on a GPU, 0: no limit */
  struct naive_mig *mig; /* NULL: GPUs are not split */
  int island_gpus, numa_gpus, nodes_per_rack;
  enum naive_gpus_market market;
  long price;
  int64_t boot;
  int n_levels; /* SPOT: level[i] nodes are available from level_at[i] on; level_at[0] is 0 */
  int64_t level_at[NAIVE_GPUS_LEVELS];
  int level[NAIVE_GPUS_LEVELS];
};

struct naive_gpus_job {
  int64_t submit, work, limit;
  int priority, tenant, tasks, gpus; /* gpus: of each task */
  int milli;                         /* thousandths of each GPU */
  unsigned accepts;                  /* bit p: the job accepts pool p */
  long cpu, mem, gpu_mem;            /* of each task; 0: unknown */
  bool dedicated, not_interruptible;
  const char *profile; /* MIG profile; NULL: none */
  enum naive_gpus_tier tier;
  int64_t wait; /* how long the tier is required after the submission; -1: without limit */
};

/* Amounts in milli-GPUs. maximum -1: no maximum. */
struct naive_gpus_quota {
  long guarantee, maximum;
  int cohort; /* -1: none */
};

/* Meanings are those of the parameters of the queue policy with these or similar names. */
struct naive_gpus_rules {
  const char *order, *backfill, *placement, *preemption, *victims, *market;
  bool keeps; /* preempted: "checkpoint", else "requeue" */
  bool returns;
  int64_t min_run, spot_wait, spot_hold, idle_release;
};

struct naive_gpus_input {
  int n_pools, n_jobs;
  struct naive_gpus_pool pool[NAIVE_GPUS_POOLS];
  struct naive_gpus_job job[NAIVE_GPUS_JOBS]; /* sorted by submit */
  bool has_quotas;
  struct naive_gpus_quota quota[NAIVE_GPUS_TENANTS]; /* by tenant */
  struct naive_gpus_rules rules;
  bool continuous; /* interrupted jobs keep their work, else they lose all of it */
  bool strict;     /* only jobs that name a MIG profile may use instances */
};

/* ---- Output ---- */

/* The part of a job on one node. MIG: the instance has this profile, start and layout (0 with on-demand). */
struct naive_gpus_slice {
  int node;
  uint64_t gpus;
  int profile, start, layout;
};

struct naive_gpus_attempt {
  int job;
  int64_t start;
  int n_slices;
  struct naive_gpus_slice slice[NAIVE_GPUS_TASKS];
};

struct naive_gpus_result {
  int n_attempts;
  struct naive_gpus_attempt attempt[NAIVE_GPUS_ATTEMPTS]; /* in the order of the starts */
  int64_t end[NAIVE_GPUS_JOBS];                           /* -1: rejected */
  /* number of times that rules had an effect: starts before an earlier waiting job; reservations; stops for other jobs;
     interruptions; requests for nodes; moves to spot nodes; releases; placements of constrained jobs; changes of MIG
     layouts */
  int backfilled, reserved, preempted, interrupted, requested, moved, released, constrained, relaid;
};

/* Runs until all jobs have ended. Aborts with a message if a rule is unknown, or if the run does not end. */
void naive_gpus_run(const struct naive_gpus_input *input, struct naive_gpus_result *result);

#endif
