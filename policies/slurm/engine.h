/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SLURM_ENGINE_H
#define HR_POLICIES_SLURM_ENGINE_H

/*
 * The state of the policy `slurm` in a run. Jobs are of one kind if their requests, their partitions, and the sets of
 * advance reservations that they must not use are equal. For each kind, the shapes in each pool and the set of nodes on
 * which the jobs may start are computed once.
 *
 * setup.c resolves the names of the configuration. multifactor.c computes usage and priorities. limits.c checks limits
 * and explains why jobs wait. preempt.c stops, suspends and resumes jobs. kinds.c has the kinds, the nodes on which
 * their jobs fit, and advance reservations. slurm_policy.c has the waiting jobs, the events, and the passes of the main
 * and the backfill scheduler. backfill.c and selector.c have the rules of slurm.h.
 */

#include "base/containers.h"
#include "headroom/policy.h"
#include "headroom/unstable/systems/slurm.h"
#include "policies/kit/jobs.h"
#include "policies/slurm/slurm.h"

enum {
  HR__SLURM_SCHEDULER,
  HR__SLURM_PRIORITY_TYPE,
  HR__SLURM_INTERVAL,
  HR__SLURM_RESOLUTION,
  HR__SLURM_WINDOW,
  HR__SLURM_MAX_JOB_TEST,
  HR__SLURM_MAX_JOB_START,
  HR__SLURM_DEPTH,
  HR__SLURM_SCHED_INTERVAL,
  HR__SLURM_BATCH_DELAY,
  HR__SLURM_MIN_AGE_RESERVE,
  HR__SLURM_MIN_PRIO_RESERVE,
  HR__SLURM_PART_COUNT_RESERVE,
  HR__SLURM_MAX_JOB_USER, /* this key and the next three: in the order of enum hr__slurm_scope */
  HR__SLURM_MAX_JOB_PART,
  HR__SLURM_MAX_JOB_USER_PART,
  HR__SLURM_MAX_JOB_ASSOC
};

enum { HR__SLURM_BASIC, HR__SLURM_TRACE, HR__SLURM_MULTIFACTOR }; /* values of the parameter HR__SLURM_PRIORITY_TYPE */

enum { HR__SLURM_MAX_RESERVATIONS = 64 };

struct hr__slurm_kind {
  uint32_t gpus, tasks, accept_class, partition;
  uint32_t request;   /* index of the request in `requests` of the run; HR_NONE: CPUs and memory are not limited */
  uint64_t denied;    /* set of advance reservations that the jobs must not use */
  uint32_t min_nodes; /* the minimum number of nodes over all acceptable pools */
  struct hr__slurm_shape *shapes; /* [n_pools]; 0 nodes if the pool is not acceptable */
  uint64_t *usable;               /* set of nodes on which the jobs may start */
  /* in a backfill pass: the first entry of the queue that is of this kind and not tested yet; HR_NONE: none */
  uint32_t first_rest;
};

/* The state of a job that waits or runs. */
struct hr__slurm_job {
  int64_t queued_us;  /* when it was submitted, or requeued last */
  int64_t submit_us;  /* when it was submitted; after a requeue: the time from which it may run again */
  int64_t start_us;   /* while it runs */
  int64_t limit_us;   /* its time limit */
  int64_t charged_us; /* while it runs: the time until which its usage has been added */
  double usage_per_s; /* while it runs */
  uint32_t kind, qos; /* qos HR_NONE: none */
  uint32_t assoc;     /* its user in the tree of associations */
};

/* The data from which the priority of a job is computed, except the fair share of its association. The struct is small,
   because it is read for each waiting job whenever priorities are computed. */
struct hr__slurm_weighed {
  /* the constant parts: of the association, the size, the partition and the QOS */
  double fixed_parts[4];
  int64_t submit_s;    /* `submit_us` in seconds of the clock */
  uint32_t assoc_plus; /* its association + 1; 0: it has none, or has not begun to wait */
};

struct hr__slurm_part {
  const struct hr_slurm_partition *config; /* NULL: the only partition, without settings */
  uint64_t *nodes;                         /* set of nodes */
  uint32_t n_nodes;
  uint64_t n_gpus;
};

/* The tree of associations; parents come before their children. assocs[a].usage is computed together with `shares`. */
struct hr__slurm_accounts {
  struct hr__slurm_assoc *assocs;        /* [count] */
  struct hr__slurm_share *shares;        /* [count] */
  double *usage;                         /* [count] decayed usage of users; 0 for accounts */
  const struct hr_slurm_assoc **configs; /* [count] NULL: not configured */
  uint32_t *first_jobs;                  /* [count] the first job of an association that is not configured */
  uint32_t count, configs_capacity, jobs_capacity, assocs_capacity;
  struct hr__pair_map users; /* (tenant, user) + 1 -> association */
  struct hr__slurm_tree_scratch scratch;
  bool shares_are_old;                                    /* usage has changed since shares were computed */
  int64_t last_us, next_us;                               /* the last and the next time at which usage decays */
  int64_t resets;                                         /* number of resets of usage until `last_us` */
  uint32_t highest_priority, highest_qos, highest_factor; /* of all associations, QOS and partitions */
};

/* The usage that limits count, of a QOS, of an association, or of a user or account in a QOS. `amounts`: GPUs, nodes,
   CPUs and GiB of memory of its running jobs, and their number. `submitted`: number of its jobs that wait or run. */
struct hr__slurm_use {
  int64_t amounts[5];
  int64_t submitted;
};

/* The counters of limits. */
struct hr__slurm_limits {
  uint64_t used;                      /* bit set of the limits that the configuration sets */
  struct hr__slurm_use *qos, *assocs; /* by QOS; by association, including the associations below it */
  struct hr__slurm_use *uses;         /* of users and accounts in a QOS, numbered by `pairs` */
  struct hr__pair_map pairs;
  uint32_t capacity;
};

/* A running job that may be preempted. */
struct hr__slurm_candidate {
  uint32_t running; /* index of the running job */
  uint32_t job;
  bool is_leaving;
  int32_t usable; /* key of sort_again in preempt.c; for suspension: whether the job is suspended */
  struct hr__slurm_victim victim;
};

struct hr__slurm_preemption {
  bool is_on;
  bool *may_preempt; /* [n_qos * n_qos] index: QOS of the preemptor, then of the victim */
  struct hr__slurm_candidate *candidates;
  bool *leaving;                  /* by job: it has an eviction notice */
  uint64_t *chosen;               /* scratch set */
  uint32_t *hidden;               /* scratch: indices of running jobs */
  struct hr__slurm_running *kept; /* scratch: the list of running jobs */
};

/* Jobs that are suspended. */
struct hr__slurm_suspension {
  int64_t *cpu_milli, *kept_milli; /* [n_nodes] `cpu_milli`: the CPUs of each empty node; `kept_milli`: scratch */
  int64_t *since_us;        /* by job: suspension time + 1, or -(resumption time) - 1; 0: never suspended; NULL: off */
  struct hr__job_list jobs; /* in the order of suspension */
  bool has_chosen;          /* nodes that overlap with suspended jobs are chosen for the next start */
};

/* For an entry of the queue in a backfill pass: the next entry of its kind (HR_NONE: none), and the shortest time limit
   of this entry and the later ones of its kind. */
struct hr__slurm_rest {
  uint32_t next;
  int64_t shortest_us;
};

struct hr__slurm_run {
  struct hr_arena *arena;
  const struct hr_trace *trace;
  const struct hr_cluster *cluster;
  const struct hr_param_value *params;
  const struct hr_values *values; /* NULL: no values are written */
  uint32_t n_pools;
  const struct hr_requests *requests; /* NULL unless CPUs and memory of nodes are limited */
  struct hr__slurm_nodes nodes;
  struct hr__slurm_job *jobs;          /* by job */
  struct hr__slurm_weighed *weighed;   /* by job */
  uint32_t *priorities;                /* by job */
  uint32_t first_waiting, end_waiting; /* all waiting jobs have ids from `first_waiting` to `end_waiting` - 1 */
  uint64_t n_gpus;                     /* of all nodes */
  struct hr__slurm_waiting waiting;
  struct hr__slurm_entry *waiting_scratch; /* [scratch_capacity] */
  uint32_t scratch_capacity;

  const struct hr_slurm_config *config; /* NULL: none */
  struct hr__slurm_part *parts;         /* [n_parts] */
  uint32_t n_parts, default_part;
  uint32_t *part_of_queue, *qos_of_name; /* [number of names in the trace]; HR_NONE: does not exist */
  uint32_t default_qos;
  struct hr__slurm_accounts accounts;
  struct hr__slurm_limits limits_state;
  struct hr__slurm_preemption preemption;
  struct hr__slurm_suspension suspension;
  uint64_t *reserved_nodes;            /* [n_reservations * n_words] */
  bool has_maintenance;                /* nodes of some pool have planned maintenance */
  bool *failed_parts;                  /* [n_parts] scratch of the main scheduler */
  uint64_t *open_nodes, *closed_nodes; /* scratch sets of the main scheduler */

  struct hr__slurm_kind *kinds;
  struct hr__hash kind_numbers;
  uint32_t n_kinds, kind_capacity;
  uint64_t *pool_nodes; /* [n_pools * n_words] the sets of nodes of the pools on which jobs may start */
  uint64_t *set, *best; /* scratch sets of nodes */
  bool sets_are_old;    /* the state of some node has changed since the sets were computed */

  /* the jobs that a backfill pass tests */
  struct hr__slurm_queued *queue; /* [n_queued] */
  struct hr__slurm_rest *rests;   /* [n_queued] */
  struct hr__slurm_planned *planned;
  uint32_t n_queued, queue_capacity;
  uint32_t *alive, n_alive,
      alive_capacity; /* kinds with a job that may start in this pass; `alive` has room for all kinds */
  struct hr__slurm_timeline line;
  struct hr__slurm_backfill_limits limits;
  struct hr__slurm_shape found; /* the shape of the last job with a known start */

  struct hr_slice *slices; /* [n_nodes] scratch */
  uint32_t **spare;        /* [n_nodes + 1] by number of nodes: lists of free memory for nodes of running jobs */
  int64_t interval_us;
  /* the requested times of the next backfill pass, of the next priorities, and of the next delayed job */
  int64_t wake_us, tick_us, begin_us;
  int64_t rested_us; /* no backfill pass may begin before this time: bf_interval after the last pass */
  int64_t stale_us;  /* the first event after the last backfill pass, if `plan_is_stale` */
  int64_t change_us; /* the requested time of the next begin or end of an advance reservation */
  int64_t exempt_us; /* the requested time of the next end of a PreemptExemptTime */
  int64_t full_us;   /* the requested time of the next pass of the main scheduler that examines all jobs */
  bool may_do_more;  /* the main scheduler may start jobs although nothing changes; see slurm_policy.c */
  bool changed;      /* the main scheduler runs in this pass */
  bool is_queued;    /* the main scheduler runs at `loop_us` in the background loop of slurmctld */
  int64_t loop_us;
  int64_t looped_us;    /* when it last ran in this loop, not counting passes that examine all jobs */
  int64_t asked_us;     /* the last value of `loop_us` for which a pass was requested */
  bool plan_is_stale;   /* an event has happened since the last backfill pass */
  bool stops_over_time; /* OverTimeLimit is set: jobs may be stopped after their limits */
  bool has_gpuless;     /* a waiting job needs no node */
  bool priorities_are_old;
  struct hr__job_list rejects, killed, withdrawn, requeued; /* for the next pass: it rejects the jobs of the first
                                                               three lists and adds those of `requeued` to the queue */
  struct hr__job_list delayed; /* requeued jobs that must not start yet, in the order of time */
  const struct hr_view *view;
  struct hr_moves *moves;
  enum hr_status status; /* result of the moves of this pass */
};

/* Whether priorities are those of priority/multifactor. Without the section `slurm` of the scenario, they are not: all
   weights would be 0, so jobs are in the order of their submission. */
static inline bool hr__slurm_is_multifactor(const struct hr__slurm_run *run) {
  return run->config && run->params[HR__SLURM_PRIORITY_TYPE].integer == HR__SLURM_MULTIFACTOR;
}

/* Rounds a time of the run up to whole seconds. */
static inline int64_t hr__slurm_whole_second(int64_t time_us) {
  return (time_us + HR_SECOND_US - 1) / HR_SECOND_US * HR_SECOND_US;
}

/* Performs the effects of a backfill pass that was due before now and was skipped because no job waited. The only
   effect of this pass would have been that the scheduler sleeps again. */
static inline void hr__slurm_make_up(struct hr__slurm_run *run, int64_t now_us) {
  if (!run->plan_is_stale || run->waiting.count > 0) return;
  int64_t pass_us = hr__slurm_whole_second(run->stale_us);
  if (pass_us < run->rested_us) pass_us = run->rested_us;
  if (pass_us >= now_us) return;
  run->rested_us = pass_us + run->interval_us;
  run->plan_is_stale = false;
}

/* Records that jobs or nodes change now, so that the backfill scheduler runs again. */
static inline void hr__slurm_note_stale(struct hr__slurm_run *run, int64_t now_us) {
  hr__slurm_make_up(run, now_us);
  if (!run->plan_is_stale) run->stale_us = now_us;
  run->plan_is_stale = true;
}

/* Records that jobs or nodes change now, so that both the backfill scheduler and, in this pass, the main scheduler
   run. */
static inline void hr__slurm_note_change(struct hr__slurm_run *run, int64_t now_us) {
  hr__slurm_note_stale(run, now_us);
  run->changed = true;
}

/* ---- Setup (setup.c) -------------------------------------------------------------------------------- */

/* Resolves the names of the configuration. */
enum hr_status hr__slurm_set_up(struct hr__slurm_run *run, struct hr_error *error);

/* Sets the state of a job that is submitted. Returns false if Slurm does not accept the job. */
bool hr__slurm_describe(struct hr__slurm_run *run, uint32_t job);

/* ---- Priorities (multifactor.c) --------------------------------------------------------------------- */

/* Performs all ticks up to `now_us` at which Slurm updates usage: decays the usage, and adds that of running jobs.
   Returns whether there was such a tick. */
bool hr__slurm_catch_up(struct hr__slurm_run *run, int64_t now_us);

/* A time of the run in seconds of the clock. */
int64_t hr__slurm_second(const struct hr__slurm_run *run, int64_t time_us);

/* hr__slurm_begin_usage and hr__slurm_end_usage are called when a job starts and when it leaves. */
void hr__slurm_begin_usage(struct hr__slurm_run *run, uint32_t job, int64_t now_us);
void hr__slurm_end_usage(struct hr__slurm_run *run, uint32_t job, int64_t now_us);

/* Writes the request of a job: GPUs, nodes, CPUs and GiB of memory. */
void hr__slurm_requested(const struct hr__slurm_run *run, uint32_t job, double tres[4]);

/* The parts of the priority of a waiting job, as sprio prints them. */
struct hr__slurm_priority hr__slurm_priority_parts(struct hr__slurm_run *run, uint32_t job, int64_t now_us,
                                                   double tres_weights[4], double tres_factors[4]);

/* Stores the constant parts of the priority of a job in `weighed`. */
void hr__slurm_set_fixed_parts(struct hr__slurm_run *run, uint32_t job);

/* Stores the time of submission and the association of a job that begins to wait. */
void hr__slurm_note_submission(struct hr__slurm_run *run, uint32_t job);

/* Returns the key of a waiting job in the queue, and stores its priority. */
uint64_t hr__slurm_key(struct hr__slurm_run *run, uint32_t job, int64_t now_us);

/* Computes the priorities of all waiting jobs again. Returns false if memory is exhausted. */
bool hr__slurm_update_priorities(struct hr__slurm_run *run, int64_t now_us);

/* ---- Limits (limits.c) ------------------------------------------------------------------------------ */

/* Creates the counters. Returns false if memory is exhausted. */
bool hr__slurm_create_limits(struct hr__slurm_run *run);

/* Returns Slurm's reason why a job must not be tested now; NULL if it may be tested. */
const char *hr__slurm_hold(struct hr__slurm_run *run, uint32_t job, int64_t now_us);

/* Returns whether a job is accepted when it is submitted. */
bool hr__slurm_may_submit(struct hr__slurm_run *run, uint32_t job);

/* Adds a job to counters (`sign` 1) or removes it (`sign` -1). The counters are those of running jobs if `runs` is set,
   otherwise those of submitted jobs. Returns false if memory is exhausted. */
bool hr__slurm_count(struct hr__slurm_run *run, uint32_t job, int64_t sign, bool runs);

/* ---- Preemption (preempt.c) ------------------------------------------------------------------------- */

/* Creates the state. Returns false if memory is exhausted. */
bool hr__slurm_create_preemption(struct hr__slurm_run *run);

/* Suspends or stops running jobs so that a job fits on nodes of a set. Returns true if the job fits now; its nodes are
   then chosen, as after hr__slurm_find_now. Returns false if the job does not fit, or must wait for jobs that have an
   eviction notice. */
bool hr__slurm_preempt(struct hr__slurm_run *run, uint32_t job, const uint64_t *set);

/* Finds when and where a job can start on nodes of a set, like hr__slurm_find_start. It tries three cases, in this
   order: the job fits now; it would fit now without all jobs that it may preempt; it fits after other jobs have ended,
   too. Returns false if the job can start in no pool. */
bool hr__slurm_find_without_victims(struct hr__slurm_run *run, uint32_t job, uint64_t *set, int64_t *start_us);

/* Returns the next time after `now_us` at which the PreemptExemptTime of some running job ends; HR_NEVER_US: there is
   none. */
int64_t hr__slurm_next_exempt_end(const struct hr__slurm_run *run, int64_t now_us);

/* Sets how long a job that starts may run beyond its limit, and requests a pass at the time at which it is stopped. */
void hr__slurm_set_over_time(struct hr__slurm_run *run, struct hr__slurm_running *running);

/* Stops the jobs that have run longer than OverTimeLimit beyond their limits. */
void hr__slurm_stop_over_time(struct hr__slurm_run *run);

/* Returns whether a job that was stopped after notice must not run again. */
bool hr__slurm_is_cancelled(const struct hr__slurm_run *run, uint32_t job);

/* Appends a job to a list. */
enum hr_status hr__slurm_list_job(struct hr__slurm_run *run, struct hr__job_list *list, uint32_t job);

/* Adds a job that was stopped to the list of jobs that the next pass adds to the queue. */
enum hr_status hr__slurm_requeue(struct hr__slurm_run *run, uint32_t job, int64_t now_us);

/* ---- Suspension (preempt.c) ------------------------------------------------------------------------- */

/* Creates the state, after that of preemption. Returns false if memory is exhausted. */
bool hr__slurm_create_suspension(struct hr__slurm_run *run);

static inline bool hr__slurm_is_suspended(const struct hr__slurm_run *run, uint32_t job) {
  return run->suspension.since_us && run->suspension.since_us[job] > 0;
}

/* Resumes suspended jobs if there are enough CPUs. Requeues suspended jobs that have a node that is not up. */
void hr__slurm_resume(struct hr__slurm_run *run);

/* ---- Advance reservations (kinds.c) ----------------------------------------------------------------- */

/* Creates the sets of nodes of the reservations. Returns false if memory is exhausted. */
bool hr__slurm_create_reservations(struct hr__slurm_run *run);

/* Returns the set of the reservations that a job must not use. */
uint64_t hr__slurm_denied(const struct hr__slurm_run *run, uint32_t job);

/* Returns the set of all reservations that are not in `denied`. */
uint64_t hr__slurm_allowed(const struct hr__slurm_run *run, uint64_t denied);

/* Removes two sorts of nodes from a set. First, nodes that a reservation of `denied` uses at some time from `from_us`
   to `to_us`, unless a reservation of `allowed` takes precedence on the node during the whole time. Second, nodes with
   maintenance during this time, unless the job is a replica of a service. Returns the earliest time after `from_us` at
   which the job may use more nodes; HR_NEVER_US: no nodes were removed. */
int64_t hr__slurm_remove_reserved(const struct hr__slurm_run *run, hr_job job, uint64_t denied, uint64_t allowed,
                                  int64_t from_us, int64_t to_us, uint64_t *set);

/* Returns the next time after `now_us` at which a reservation begins or ends, or a maintenance ends; HR_NEVER_US: none
   does. */
int64_t hr__slurm_next_change(const struct hr__slurm_run *run, int64_t now_us);

/* ---- Kinds (kinds.c) -------------------------------------------------------------------------------- */

/* Creates the nodes and the scratch memory. Returns false if memory is exhausted. */
bool hr__slurm_create_nodes(struct hr__slurm_run *run);

/* Returns the number of the kind of a job in a partition; HR_NONE if memory is exhausted. */
uint32_t hr__slurm_kind_of(struct hr__slurm_run *run, uint32_t job, uint32_t partition);

/* Computes the sets of nodes on which jobs may start again, if `sets_are_old`. */
void hr__slurm_update_sets(struct hr__slurm_run *run);

/* Chooses nodes of a set on which a job of a kind fits now. Writes the nodes to `run->nodes.chosen` and the shape to
   `run->found`. Returns false if the job does not fit. */
bool hr__slurm_find_now(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, const uint64_t *set);

/* Returns whether a job of a kind fits on nodes of a set now. */
bool hr__slurm_kind_fits(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, const uint64_t *set);

/* Finds the pool in which a job of a kind can start first on nodes of a set. Reduces the set to the chosen nodes.
   Returns false if it can start in no pool. */
bool hr__slurm_find_start(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, int64_t now_us, uint64_t *set,
                          int64_t *start_us);

/* If no job of a kind can start now, returns a time before which none can start on nodes of a set. */
int64_t hr__slurm_earliest_of(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, const uint64_t *set);

/* Return the pool of a node, and the slice of a job on a node. `set`: the GPUs of the job if GPUs are shared. */
hr_pool hr__slurm_pool_of(const struct hr__slurm_run *run, uint32_t node);
struct hr_slice hr__slurm_slice(const struct hr__slurm_run *run, uint32_t job, uint32_t node, uint64_t set);

/* Starts a job with the shape `run->found` on the nodes that were chosen last. Returns false if this fails; run->status
   is then the error. hr__slurm_leave releases the nodes of a job that has left. */
bool hr__slurm_start(struct hr__slurm_run *run, uint32_t job, enum hr_reason reason);
void hr__slurm_leave(struct hr__slurm_run *run, uint32_t job, int64_t now_us);

/* ---- Reasons (limits.c) ----------------------------------------------------------------------------- */

/* The operations `explain` and `describe` of the policy. */
void hr__slurm_explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait);
void hr__slurm_describe_wait(void *self, const struct hr_view *view, hr_job job, char *text, size_t size);

/* ---- Values (multifactor.c) ------------------------------------------------------------------------- */

/* Write rows of the tables of values (`run->values`): the headers; the row of a waiting job. */
void hr__slurm_write_headers(const struct hr__slurm_run *run);
void hr__slurm_write_priority(struct hr__slurm_run *run, uint32_t job, int64_t at_us);

#endif
