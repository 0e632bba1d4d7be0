/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SLURM_ENGINE_H
#define HR_POLICIES_SLURM_ENGINE_H

/*
 * The state of the policy `slurm` in a run. Jobs that need the same nodes are of one kind; what depends only on the
 * kind is computed once: the shapes in each pool, and the set of nodes on which the jobs may start.
 *
 * setup.c resolves the names of the configuration, multifactor.c has usage and priorities, kinds.c the kinds and where
 * their jobs fit, passes.c the passes of the main and the backfill scheduler, and slurm_policy.c the events.
 */

#include "headroom/policy.h"
#include "headroom/unstable/slurm_config.h"
#include "policies/slurm/selector.h"
#include "policies/slurm/slurm.h"
#include "policies/slurm/waiting.h"

#include "base/hash.h"

enum {
  HR__SLURM_SCHEDULER,
  HR__SLURM_PRIORITY_TYPE,
  HR__SLURM_INTERVAL,
  HR__SLURM_RESOLUTION,
  HR__SLURM_WINDOW,
  HR__SLURM_MAX_JOB_TEST,
  HR__SLURM_MAX_JOB_START,
  HR__SLURM_DEPTH,
  HR__SLURM_MIN_AGE_RESERVE
};

enum { HR__SLURM_BASIC, HR__SLURM_TRACE, HR__SLURM_MULTIFACTOR }; /* values of the parameter HR__SLURM_PRIORITY_TYPE */

struct hr__slurm_kind {
  uint32_t gpus, tasks, accept_class, partition;
  uint32_t min_nodes;             /* the fewest nodes in any acceptable pool */
  struct hr__slurm_shape *shapes; /* [n_pools]; without nodes if the pool is not acceptable */
  uint64_t *usable;               /* set of nodes on which the jobs may start */
  /* in a backfill pass: the first entry of the queue that is of this kind and not tested yet; HR_NONE: none */
  uint32_t first_rest;
};

/* What is known about a job that waits or runs. */
struct hr__slurm_job {
  int64_t submit_us;  /* when it was submitted or requeued */
  int64_t limit_us;   /* its time limit */
  int64_t charged_us; /* while it runs: the time until which its usage has been added */
  double usage_per_s; /* while it runs */
  uint32_t kind, qos; /* qos HR_NONE: none */
  uint32_t assoc;     /* its user in the tree of associations */
  uint32_t priority;
};

struct hr__slurm_part {
  const struct hr_slurm_partition *config; /* NULL: the only partition, without settings */
  uint64_t *nodes;                         /* set of nodes */
  uint32_t n_nodes;
  uint64_t n_gpus;
};

/* The tree of associations; parents come before their children. `usage` of an account is computed when needed. */
struct hr__slurm_accounts {
  struct hr__slurm_assoc *assocs;        /* [count] */
  struct hr__slurm_share *shares;        /* [count] */
  double *usage;                         /* [count] decayed usage of users */
  const struct hr_slurm_assoc **configs; /* [count] NULL: not configured */
  uint32_t count, capacity;
  struct hr__pair_map users; /* (tenant, user) + 1 -> association */
  struct hr__slurm_tree_scratch scratch;
  bool shares_are_old;                                    /* usage has changed since shares were computed */
  int64_t last_us, next_us;                               /* the last and the next time at which usage decays */
  int64_t resets;                                         /* number of resets of usage until `last_us` */
  uint32_t highest_priority, highest_qos, highest_factor; /* of all associations, QOS and partitions */
};

/* Of an entry of the queue, in a backfill pass: the next entry of its kind (HR_NONE: none), and the shortest limit of
   this entry and those that follow. */
struct hr__slurm_rest {
  uint32_t next;
  int64_t shortest_us;
};

struct hr__slurm_run {
  struct hr_arena *arena;
  const struct hr_trace *trace;
  const struct hr_cluster *cluster;
  const struct hr_param_value *params;
  uint32_t n_pools;
  struct hr__slurm_nodes nodes;
  struct hr__slurm_job *jobs; /* by job */
  struct hr__slurm_waiting waiting;
  struct hr__slurm_entry *waiting_scratch; /* [scratch_capacity] */
  uint32_t scratch_capacity;

  const struct hr_slurm_config *config; /* NULL: none */
  struct hr__slurm_part *parts;         /* [n_parts] */
  uint32_t n_parts, default_part;
  uint32_t *part_of_queue, *qos_of_name; /* [number of names in the trace]; HR_NONE: does not exist */
  uint32_t default_qos;
  struct hr__slurm_accounts accounts;

  struct hr__slurm_kind *kinds;
  struct hr__hash kind_numbers;
  uint32_t n_kinds, kind_capacity;
  uint64_t *pool_nodes; /* [n_pools * n_words] the sets of nodes of the pools on which jobs may start */
  uint64_t *set, *best; /* scratch sets of nodes */
  bool sets_are_old;    /* the state of a node has changed since the sets were computed */

  /* the jobs that a backfill pass tests */
  struct hr__slurm_queued *queue; /* [n_queued] */
  struct hr__slurm_rest *rests;   /* [n_queued] */
  struct hr__slurm_planned *planned;
  uint32_t n_queued, queue_capacity;
  uint32_t *alive, n_alive; /* kinds of which a job may start in this pass; room for all kinds */
  struct hr__slurm_timeline line;
  struct hr__slurm_backfill_limits limits;
  struct hr__slurm_shape found; /* the shape of the job whose start was found last */

  struct hr_slice *slices; /* [n_nodes] scratch */
  uint32_t **spare;        /* [n_nodes + 1] per number of nodes: a list of memory for the nodes of running jobs */
  int64_t interval_us;
  int64_t wake_us, tick_us; /* the requested times of the next backfill pass and of the next priorities */
  bool changed;             /* since the last pass of the main scheduler */
  bool plan_is_stale;       /* an event has happened since the last backfill pass */
  bool has_gpuless;         /* a waiting job requests no GPUs */
  bool priorities_are_old;
  uint32_t *rejects, n_rejects, reject_capacity; /* jobs to reject in the next pass */
  const struct hr_view *view;
  struct hr_moves *moves;
  enum hr_status status; /* of the moves of this pass */
};

/* ---- Setup (setup.c) -------------------------------------------------------------------------------- */

/* Resolves the names of the configuration. */
enum hr_status hr__slurm_set_up(struct hr__slurm_run *run, struct hr_error *error);

/* Sets what is known about a job that is submitted. Returns false if Slurm does not accept it. */
bool hr__slurm_describe(struct hr__slurm_run *run, uint32_t job);

/* ---- Priorities (multifactor.c) --------------------------------------------------------------------- */

/* Adds the usage of running jobs, and decays it, at all times up to `now_us` at which Slurm does so. Returns whether
   there was one. */
bool hr__slurm_catch_up(struct hr__slurm_run *run, int64_t now_us);

/* hr__slurm_begin_usage and hr__slurm_end_usage are called when a job starts and when it leaves. */
void hr__slurm_begin_usage(struct hr__slurm_run *run, uint32_t job, int64_t now_us);
void hr__slurm_end_usage(struct hr__slurm_run *run, uint32_t job, int64_t now_us);

/* The parts of the priority of a waiting job, as sprio prints them. */
struct hr__slurm_priority hr__slurm_priority_parts(struct hr__slurm_run *run, uint32_t job, int64_t now_us,
                                                   double tres_weights[4], double tres_factors[4]);

/* Returns the key of a waiting job in the queue, and stores its priority. */
uint64_t hr__slurm_key(struct hr__slurm_run *run, uint32_t job, int64_t now_us);

/* Computes the priorities of all waiting jobs again. Returns false if memory is exhausted. */
bool hr__slurm_update_priorities(struct hr__slurm_run *run, int64_t now_us);

/* ---- Kinds (kinds.c) -------------------------------------------------------------------------------- */

/* Creates the nodes and the scratch memory. Returns false if memory is exhausted. */
bool hr__slurm_create_nodes(struct hr__slurm_run *run);

/* Returns the number of the kind of a job in a partition; HR_NONE if memory is exhausted. */
uint32_t hr__slurm_kind_of(struct hr__slurm_run *run, uint32_t job, uint32_t partition);

/* Computes the sets of nodes on which jobs may start, if they are old. */
void hr__slurm_update_sets(struct hr__slurm_run *run);

/* Chooses nodes for a job of a kind on the free GPUs of now. The nodes are in `run->nodes.chosen`, the shape is in
   `run->found`. Returns false if it does not fit. */
bool hr__slurm_find_now(struct hr__slurm_run *run, const struct hr__slurm_kind *kind);

/* Returns whether a job of a kind fits on nodes of a set now. */
bool hr__slurm_kind_fits(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, const uint64_t *set);

/* Finds the pool in which a job of a kind can start first on nodes of a set. Reduces the set to the chosen nodes. */
bool hr__slurm_find_start(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, int64_t now_us, uint64_t *set,
                          int64_t *start_us);

/* Starts a job with the shape `run->found` on the nodes that were chosen last. hr__slurm_leave releases the nodes of a
   job that has left. */
bool hr__slurm_start(struct hr__slurm_run *run, uint32_t job, enum hr_reason reason);
void hr__slurm_leave(struct hr__slurm_run *run, uint32_t job, int64_t now_us);

/* ---- Passes (passes.c) ------------------------------------------------------------------------------ */

/* Starts waiting jobs in order until one does not fit. */
void hr__slurm_run_main(struct hr__slurm_run *run);

/* Runs a pass of the backfill scheduler. */
void hr__slurm_run_backfill(struct hr__slurm_run *run);

#endif
