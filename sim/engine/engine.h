/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_ENGINE_H
#define HR_SIM_ENGINE_ENGINE_H

/*
 * The state of one run, and the functions that files of the engine call in each other. All state is in struct
 * hr__engine; the engine has no global variables. Columns are arrays indexed by the id of a job or node.
 *
 * The core consists of run.c (list of components, loop, start and end of a run), moves.c (moves of the policy), jobs.c
 * (life of a job; pending events, notification, placements of running jobs). clusters.c and routing.c run several
 * engines together. Components are in attempts.c (jobs that can be stopped; elastic jobs; checkpoints.c has the times
 * and the checkpoints of these jobs), sharing.c (jobs on one GPU), sim/market/market.c (nodes of elastic and reserved
 * pools), sim/faults/ (failures of nodes, and planned work on them), sim/power/ (energy), sim/data/data.c (jobs that
 * read data), and jobs.c (jobs of a node, streamed runs, jobs that run to their end).
 *
 * Calls go in one direction: run -> moves -> market -> jobs -> hooks, and attempts -> {jobs, checkpoints, sharing} ->
 * {placements, events}.
 */

#include "base/containers.h"
#include "base/process.h"
#include "headroom/policy.h"
#include "headroom/sim.h"
#include "sim/cluster/cluster.h"
#include "sim/engine/component.h"
#include "sim/market/market.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Jobs that can be stopped ----------------------------------------------------------------------- */

/* The state of jobs in runs where jobs can be stopped: their attempts, accounts and checkpoints. Also the shared
   storage of pools. The memory belongs to struct hr__engine; attempts.c and checkpoints.c use it. */

/* The phase of a running job, in runs where jobs can be stopped. */
enum hr__phase {
  HR__PHASE_WORKING,
  HR__PHASE_RESTARTING,
  HR__PHASE_SAVING,
  HR__PHASE_LEAVING,
  HR__PHASE_HANGING,    /* a node of the job has failed and the failure is not detected yet */
  HR__PHASE_BACKING_OFF /* killed for lack of GPU memory; waits before the next try */
};

/* The present attempt of a job, in runs where jobs can be stopped. Times are absolute; work is in microseconds at the
   reference speed. */
struct hr__engine_attempt {
  /* when the attempt began. hr__engine.attempt_us is set earlier: when the policy makes the move */
  int64_t begun_us;
  int64_t phase_us; /* when the present phase began */
  /* completed work of all attempts together when the present phase began, without lost work */
  int64_t progress_us;
  uint64_t part; /* the completed fraction of the next microsecond of work, in millionths of 1 / rate.den */
  struct hr__rate rate;
  uint32_t gpu_milli;
  uint32_t slow_ppm; /* the speed of its slowest node; 0: nodes are never slow */
  uint32_t series;   /* the index of the job's series of checkpoints in hr__engine.series, plus 1; 0: none */
  enum hr__phase phase;
  bool resizes; /* the job is being resized: it continues at this instant with another placement */
  /* the end of an undisturbed attempt uses none of the members below */
  uint32_t next_free;  /* in an unused slot: the next unused slot; 0: none */
  int64_t restart_us;  /* how long the restart takes before the job works */
  int64_t interval_us; /* work between two checkpoints; HR_NEVER_US without periodic checkpoints */
  int64_t down_us;     /* in phase HR__PHASE_LEAVING: when the job's node goes down */
  int64_t evict_us;    /* when the policy's notice to the job ends; 0 if the job has no such notice */
  bool evict_keeps;    /* whether all work of the job is kept when this notice ends */
  int64_t unkept_us;   /* time spent working since the attempt began, or since work was last kept in this attempt */
  hr_amount unkept_milli_us; /* the GPU time in unkept_us, in milli-GPUs x microseconds */
  int64_t retry_us;          /* in phase HR__PHASE_BACKING_OFF: when the job tries again */
  uint32_t kills;            /* how many consecutive times the job was killed for lack of GPU memory */
};

/* An asynchronous checkpoint that is being written. */
struct hr__async_save {
  int64_t durable_us;             /* when it is complete; 0: none is being written */
  int64_t progress_us, unkept_us; /* of the attempt, when the checkpoint began */
  hr_amount unkept_milli_us;
};

/* The accounts of disturbed jobs, which were stopped or had a phase other than HR__PHASE_WORKING. A job that ran once
   and only worked has none, because its account follows from its start and end. There is always room for the accounts
   of all running jobs. Account 0 belongs to no job; all its members are 0. */
struct hr__accounts {
  struct hr_job_accounting *rows;
  uint32_t count, capacity;
  uint32_t unused;   /* first of a linked list of unused accounts, linked by their member `attempts`; 0: none */
  uint32_t n_unused; /* number of unused accounts */
  uint32_t reserved; /* number of running jobs without an account */
};

/* The kept work of a job at the time when its results began to be corrupted. */
struct hr__clean_work {
  int64_t kept_us, kept_time_us;
  hr_amount kept_milli_us;
  bool is_set, is_found; /* is_found: the corruption was detected; when the job stops, it returns to this work */
};

/* A series of checkpoints of a running job that emit no events (see attempts.c). A period consists of work and a
   checkpoint. The job's entry in the event heap is the end of the work that follows the series. */
struct hr__checkpoint_series {
  hr_job job;
  int64_t work_us, write_us; /* the time of the work and of the checkpoint in each period */
  int64_t left;              /* the number of periods that are not complete yet */
};

/* The shared storage of a pool (see checkpoints.c). A service is a rate multiplied by a time, in units of
   2^-10 MiB per second x microseconds. */
__extension__ typedef unsigned __int128 hr__service;
struct hr__storage {
  uint64_t mib_s;
  hr__service clock; /* advances by the service that each writer receives */
  int64_t clock_us;  /* when the clock was last updated */
  int64_t next_us;   /* when the first of the writers will be done; HR_NEVER_US without writers */
  struct hr__storage_writer {
    hr__service mark;
    hr_job job;
  } * writers; /* sorted by mark; writers with equal marks are in the order in which they began */
  uint32_t count, capacity;
};

/* ---- The state of a run -------------------------------------------------------------------------------- */

/* The placement of a running job in compact form. Most placements have a single slice, which is stored in the columns
   of the engine. Only placements with several slices use the slice store. */
struct hr__allocation_ref {
  /* for a placement without slices: the pool; with one slice: its node; with several: the index of the first slice in
     the slice store */
  uint32_t first;
  uint32_t n_slices;
};

/* All data that the engine stores for a placement. */
struct hr__allocation {
  struct hr__allocation_ref ref;
  uint64_t gpus;      /* the set of GPUs; used only for a single slice in per-GPU allocation */
  uint32_t gpu_milli; /* used only if the engine has the column of that name */
  struct hr_instance instance;
};

/* The slices of placements with several slices, in blocks of 2^k slices (block class k). Freed blocks are reused. */
enum { HR__SLICE_CLASSES = 32 };
struct hr__slice_store {
  struct hr_slice *slices;
  uint32_t count, capacity;
  /* by block class: the index of the first free block + 1, or 0 if no block is free. Free blocks of a class are a
     linked list: in the first slice of a free block, the id of the node is the index of the next free block + 1, or 0
     at the end */
  uint32_t free_block[HR__SLICE_CLASSES];
};

enum hr__move_kind {
  HR__MOVE_START,
  HR__MOVE_REJECT,
  HR__MOVE_LEAVE, /* a copy of a waiting job leaves the cluster (routing.c) */
  HR__MOVE_WAKE,
  HR__MOVE_PREEMPT,
  HR__MOVE_NOTICE,
  HR__MOVE_RESIZE,
  HR__MOVE_ACQUIRE,
  HR__MOVE_RELEASE
};

struct hr__move {
  enum hr__move_kind kind;
  enum hr_reason reason;
  bool keeps; /* preemption or notice: all work of the job is kept */
  /* A job that was started or resized in this pass may be resized again. Then `is_amended` is true for the earlier move
     and `amends` for the later one, and the job begins with the last of these moves. */
  bool amends, is_amended;
  hr_job job;
  hr_node node;                     /* request or release of a node: the node */
  int64_t at_us;                    /* wake-up: its time; notice: the time when the job is stopped */
  int64_t attempt_us;               /* start or preemption: the value of hr__engine.attempt_us before the move */
  int64_t kept_us;                  /* preemption or resize: the kept work of the job before the move */
  struct hr__allocation allocation; /* preemption or resize: the placement of the job before the move */
  struct hr__node was;              /* release of a node: the state of the node before the move */
};

struct hr_moves {
  struct hr__engine *engine;
  struct hr__move *list;
  uint32_t count, capacity;
  enum hr_status status; /* the status of the first move that was refused; HR_OK if no move was refused */
};

/* The known speeds of pairs of models that share a GPU, sorted by `models`. */
struct hr__pair_table {
  struct hr__pair_speed {
    uint64_t models; /* model of the job << 32 | model of the other job; models are numbered as in the trace */
    uint32_t speed_ppm;
  } * of;
  uint32_t count;
};

/* The memory of a GPU in a pool that does not reserve the GPU memory which jobs request. In such a pool, a job that
   begins gets its memory if enough memory is free at that time. */
struct hr__claim {
  uint32_t left_mib;
  uint16_t tasks, milli; /* how many tasks have memory on the GPU, and how many milli-GPUs these tasks have */
};

struct hr__claims {
  /* by node and GPU, as in the GPU inventory; valid only for pools that do not reserve GPU memory; NULL if no such
     pools exist */
  struct hr__claim *of_gpu;
};

/* The resizes of a job, in runs in which jobs are resized (attempts.c). */
struct hr__resized {
  hr_amount held_milli_us; /* GPU time of all segments that have ended */
  uint32_t count;
};

/* Failures and repairs (sim/faults/faults.c). */
struct hr__faults;
/* Maintenance (sim/faults/maintenance.c). */
struct hr__maintenance;

/* Spare nodes (sim/faults/maintenance.c). */
struct hr__spares;
struct hr__node_victim;

/* Slow nodes (sim/faults/maintenance.c). */
struct hr__slow {
  uint32_t *changes; /* by node: how many times its speed has changed */
};

/* Nodes that sleep, or that the power budget keeps closed: held nodes (sim/power/standby.c). */
struct hr__standby;

/* The autoscaler of the cluster (sim/market/autoscaler.c). */
struct hr__autoscaler;

/* The energy that the run uses (sim/power/meter.c). */
struct hr__power;

/* The energy of jobs (sim/power/power.c). */
struct hr__job_energy;

/* The supply state of a pool of nodes that come and go (sim/market/market.c). */
struct hr__engine_market;

/* The jobs on each node. They are linked lists of elements (links) of one array. Freed links are reused. */
struct hr__residents {
  struct hr__resident *links;
  uint32_t *first; /* by node: the index of its first link + 1; 0 if the node has no jobs */
  uint32_t count, capacity, unused;
};
struct hr__resident {
  hr_job job;
  uint32_t next; /* the index of the next link + 1; 0 at the end of the list */
};

/* The columns with memory that is reclaimed during a streamed run (jobs.c). */
struct hr__column_reclaim {
  uint32_t *unfinished;          /* by block: how many of its jobs are not finished; NULL unless the run is streamed */
  uint32_t n_blocks, block_jobs; /* block_jobs: how many jobs a block has */
  struct hr__reclaimed_column {
    char *at;
    size_t width;  /* bytes per job */
    size_t bytes;  /* size of the mapping; 0 if the column belongs to the trace */
    size_t length; /* if the column belongs to the trace: its size in bytes */
  } * columns;
  uint32_t n_columns, capacity;
};

/* Several clusters in one run (sim/engine/clusters.c). */
struct hr__clusters;

/* Data with a location (sim/data/data.c). */
struct hr__data;

struct hr__engine {
  const struct hr_run_config *config;
  /* in a run with several clusters, each cluster has an engine, and the whole run has one. `whole`: of a cluster's
     engine, the engine of the whole run. `clusters`: of the engine of the whole run. Otherwise both are NULL */
  struct hr__engine *whole;
  struct hr__clusters *clusters;
  uint32_t number;                 /* of a cluster's engine: its index among the clusters */
  uint32_t first_pool, first_node; /* of a cluster's engine: the numbers of its first pool and node in the whole run */
  uint64_t n_left; /* of a cluster's engine: copies of jobs that were submitted to it and have left it */
  hr_job barred;   /* of the whole run: the job that is being submitted and may run in no cluster */
  hr_job fitting;  /* of the whole run: the job that is being submitted and is known to fit into its cluster */
  const uint32_t *job_number; /* by job: its number among the jobs of a cluster, for the digest; NULL: its id */
  /* the following members are used at each event, so they are close to each other in memory */
  uint64_t digest;
  uint64_t n_submitted, n_completed, n_rejected, n_backfilled, n_events, n_passes;
  uint64_t n_timers;        /* how many of n_events are wake-ups of the policy */
  int64_t last_us;          /* the last instant at which an event occurred */
  int64_t served_us;        /* the last instant at which a service had requests to serve; of the whole run */
  int64_t last_progress_us; /* the last instant at which a job was submitted or ended, or work was kept */
  /* the policy's functions; those that the policy's interface version does not have are NULL */
  struct hr_policy_ops ops;
  const struct hr_trace *trace;
  struct hr_arena arena;
  struct hr_cluster cluster;
  struct hr__event_heap heap; /* all pending events */
  uint32_t cursor;            /* the next job of the input to be submitted */
  /* number of jobs of the input; jobs with higher ids are added by components during the run */
  uint32_t n_input;
  /* number of added jobs that were submitted; their ids directly follow those of the input */
  uint32_t n_added;
  uint32_t n_open; /* number of services with incomplete requests; the run does not end before it is 0 */
  struct hr_view view;
  struct hr_moves moves;
  void *policy;
  struct hr__policy_call *call; /* of a plug-in: record of its running function (base/process.h); otherwise NULL */
  uint32_t abilities;           /* of the policy: flags such as HR_POLICY_PREEMPTS */
  struct hr_error *error;

  const struct hr__component *active[HR__MAX_COMPONENTS + 1]; /* ends with NULL */
  /* by kind of pending event: the component that handles it; NULL: jobs.c or run.c */
  const struct hr__component *handler[HR__PENDING_TIMER + 1];
  int64_t hold_until_us;          /* the run does not end before this time; see HR_POLICY_HOLDS_RUN */
  bool disturbs_jobs, is_endless; /* some active component has this flag */

  uint8_t *state, *reason;                 /* by job: enum hr_job_state, enum hr_reason */
  int64_t *start_us;                       /* by job: first start; HR_NEVER_US before the first start */
  struct hr__allocation_ref *allocation;   /* by job; valid while the job runs */
  uint64_t *allocation_gpus;               /* by job: the GPUs of a single slice; NULL in counted allocation */
  struct hr_instance *allocation_instance; /* by job: the MIG instance of a single slice; NULL in counted allocation */
  /* by job: milli-GPUs of the last attempt; NULL in counted allocation, unless jobs are resized */
  uint32_t *gpu_milli;
  struct hr__column_reclaim reclaim; /* reclaims all per-job columns; used in streamed runs only */
  struct hr__slice_store store;
  struct hr__speed_table speeds;
  struct hr__network_speeds network;
  /* by job: time of completion. NULL if it follows from the start and the work of a job */
  int64_t *ended_us;

  /* The members from here to `storage` are NULL unless jobs can be stopped before their end. */

  /* by job; attempt_us: when the present attempt began; kept_us: how much work is kept */
  int64_t *attempt_us, *kept_us;
  uint32_t *attempt_slot; /* by job: the index of its attempt in `attempts`; 0: it does not run */
  /* the attempts of running jobs, in slots. Slot 0 belongs to no job: its values are those of an attempt that has not
     begun */
  struct hr__engine_attempt *attempts;
  uint32_t n_attempts, attempts_capacity, unused_attempt; /* unused_attempt: the first unused slot; 0: none */
  uint32_t *account;                  /* by job: the index of its account in `accounts`; 0: it has none */
  struct hr__accounts *accounts;      /* of all clusters */
  struct hr__clean_work *clean;       /* by job; NULL: nothing corrupts results */
  struct hr__async_save *async_saves; /* by job; NULL: checkpoints are synchronous */
  /* by node: its present speed (sim/faults/maintenance.c); NULL: all nodes have full speed */
  uint32_t *node_speed_ppm;
  struct hr__resized *resized;    /* by job; NULL unless jobs are resized */
  struct hr_slice *shrink_slices; /* scratch of hr__job_shrink: [2 * shrink_capacity] */
  uint32_t shrink_capacity;
  struct hr__storage *storage; /* by pool */

  struct hr__engine_market *markets;          /* by pool; NULL unless nodes come and go */
  struct hr_pool_accounting *pool_accounting; /* by pool */
  struct hr__faults *faults;                  /* sim/faults/faults.c; NULL unless nodes fail */
  struct hr_outage_accounting *outages;       /* by class of failure (unstable/faults.h); NULL unless nodes fail */
  /* accounts of the failure that stops jobs now; NULL: no failure stops jobs */
  struct hr_outage_accounting *outage;
  bool corrupts;                        /* some failures corrupt results until they are detected */
  struct hr__spares *spares;            /* sim/faults/maintenance.c; NULL without spare nodes */
  struct hr__slow *slow;                /* NULL unless nodes are slow at times */
  struct hr__node_victim *node_victims; /* by node (jobs.c); NULL unless nodes fail and jobs preempt */
  uint8_t *restart_marks;               /* by job */
  struct hr__data *data;                /* shared by all clusters of a run; NULL without data */
  struct hr__maintenance *maintenance;  /* sim/faults/maintenance.c; NULL without maintenance */
  struct hr__standby *standby;          /* sim/power/standby.c; NULL: no node sleeps, and no budget is set */
  struct hr__autoscaler *autoscaler;    /* sim/market/autoscaler.c; NULL without one */
  struct hr__power *power;              /* sim/power/meter.c; NULL unless the power of some pool is known */
  struct hr__job_energy *energy;        /* of jobs (sim/power/power.c); NULL unless `power` is set */
  struct hr_power_peaks peaks;
  /* used if nodes come and go, or if jobs slow each other down; otherwise all members are 0 */
  struct hr__residents residents;

  struct hr__claims claims;
  bool interferes;              /* jobs on the same GPU can slow each other down */
  struct hr__pair_table *pairs; /* by pool */
  /* by node and GPU: when the latest MIG reconfiguration ends; NULL if reconfigurations take no time */
  int64_t *split_us;

  struct hr__checkpoint_series *series;
  uint32_t n_series, series_capacity;

  uint32_t n_idle_passes; /* successive passes at which nothing happened but wake-ups, modulo MAX_IDLE_PASSES */
  int64_t idle_since_us;  /* the first of these passes */
  uint64_t n_futile;      /* preemptions by the policy since the progress at futile_since_us */
  int64_t futile_since_us;
  uint64_t n_livelock; /* n_futile if jobs only preempt each other, else 0 */
  /* the last instant at which a job was killed for lack of GPU memory. Such a kill emits no event */
  int64_t last_kill_us;
  /* the longest run time that a job can have, at the minimum speed; valid only if jobs have attempts. In a streamed
     run, only jobs that are already submitted are considered */
  int64_t longest_us;
  int64_t longest_lead_us;   /* the longest MIG reconfiguration */
  uint32_t interference_ppm; /* the minimum speed factor that a job can have because it shares its GPUs */
  bool stalled;
  uint32_t n_until_poll; /* number of instants until hr__engine_poll asks the caller again whether to stop the run */
};

/* ---- jobs.c: placements of running jobs ---- */

/* Stores the placement of a job that starts. Returns HR_NO_MEMORY if memory is exhausted. */
enum hr_status hr__allocation_store(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* hr__allocation_get returns the stored placement of a job. hr__allocation_set stores it again, to undo a move. The
   slices of the placement must not be freed between the two calls. */
static inline struct hr__allocation hr__allocation_get(const struct hr__engine *engine, hr_job job) {
  struct hr__allocation kept = {.ref = engine->allocation[job.id]};
  if (engine->gpu_milli) kept.gpu_milli = engine->gpu_milli[job.id];
  if (!engine->allocation_gpus) return kept;
  kept.gpus = engine->allocation_gpus[job.id];
  kept.instance = engine->allocation_instance[job.id];
  return kept;
}

static inline void hr__allocation_set(struct hr__engine *engine, hr_job job, struct hr__allocation allocation) {
  engine->allocation[job.id] = allocation.ref;
  if (engine->gpu_milli) engine->gpu_milli[job.id] = allocation.gpu_milli;
  if (!engine->allocation_gpus) return;
  engine->allocation_gpus[job.id] = allocation.gpus;
  engine->allocation_instance[job.id] = allocation.instance;
}

/* Returns the placement of a running job. The caller provides `one` as memory for a single slice. The result is valid
   until the next placement is stored. */
struct hr_placement hr__allocation_placement(const struct hr__engine *engine, hr_job job, struct hr_slice *one);
/* Frees the stored slices of a job that has left its placement. */
void hr__allocation_free(struct hr__engine *engine, hr_job job);

/* Returns the attempt of a running job. The pointer is valid until the next job starts. */
static inline struct hr__engine_attempt *hr__attempt(const struct hr__engine *engine, hr_job job) {
  return &engine->attempts[engine->attempt_slot[job.id]];
}

/* Returns the account of a job that was disturbed, or account 0. The pointer is valid until the next job starts. */
static inline struct hr_job_accounting *hr__account(const struct hr__engine *engine, hr_job job) {
  return &engine->accounts->rows[engine->account[job.id]];
}
/* Returns whether a job, which has not completed, was started before or is running. */
static inline bool hr__has_attempts(const struct hr__engine *engine, hr_job job) {
  return engine->account[job.id] != 0 || engine->attempt_slot[job.id] != 0;
}
/* Frees the account of a job. */
void hr__account_free(struct hr__engine *engine, hr_job job);

/* ---- jobs.c: preemptions that restarts after failures cause ---- */

enum hr_status hr__restarts_init(struct hr__engine *engine);

/* ---- Memory ---- */

/* Returns a zeroed per-job column, which is at `offset` of the engine. Clusters of one run have different jobs, so they
   share the column of the whole run. `of_result`: the memory comes from malloc, because the result will own it, unless
   the run is streamed; otherwise it comes from the arena. Returns NULL if memory is exhausted. */
static inline void *hr__job_column(struct hr__engine *engine, size_t offset, size_t width, bool of_result) {
  struct hr__engine *owner = engine->whole ? engine->whole : engine;
  const uint32_t n_jobs = engine->trace->n_jobs;
  void *column;
  memcpy(&column, (char *)owner + offset, sizeof column);
  if (column) return column;
  column = of_result && !engine->config->stream ? calloc((size_t)n_jobs + 1, width)
                                                : hr_arena_alloc_by_job(&owner->arena, n_jobs, width);
  memcpy((char *)owner + offset, &column, sizeof column);
  return column;
}
#define HR__RESULT_COLUMN(engine, member)                                                                              \
  hr__job_column(engine, offsetof(struct hr__engine, member), sizeof *(engine)->member, true)
#define HR__JOB_COLUMN(engine, member)                                                                                 \
  hr__job_column(engine, offsetof(struct hr__engine, member), sizeof *(engine)->member, false)

/* Stores "out of memory" as the error of the run and returns HR_NO_MEMORY. */
static inline enum hr_status hr__out_of_memory(const struct hr__engine *engine) {
  return hr_fail(engine->error, HR_NO_MEMORY, "out of memory for %" PRIu32 " jobs", engine->trace->n_jobs);
}

/* ---- Events: jobs.c ---- */

/* Adds the event to the digest and notifies the observers. */
void hr__notify_observers(struct hr__engine *engine, const struct hr_event *event);
/* Notifies the policy of an event. The observers must already have been notified of it. Returns the status of the
   policy. */
enum hr_status hr__notify_policy(struct hr__engine *engine, const struct hr_event *event);
/* Adds the event to the digest, notifies the observers, and then notifies the policy. Returns the status of the
   policy. */
static inline enum hr_status hr__emit(struct hr__engine *engine, const struct hr_event *event) {
  hr__notify_observers(engine, event);
  return hr__notify_policy(engine, event);
}
/* Schedules an event of the given kind; `entity` is a job, node or pool, depending on the kind. Returns HR_NO_MEMORY if
   memory is exhausted. */
static inline enum hr_status hr__schedule(struct hr__engine *engine, int64_t at_us, enum hr__pending_kind kind,
                                          uint32_t entity) {
  return hr__event_heap_push(&engine->heap, hr__pending(at_us, kind, entity)) == HR_OK ? HR_OK
                                                                                       : hr__out_of_memory(engine);
}

/* ---- jobs.c: the life of a job ---- */

/* Submits a job. A job that does not fit into any acceptable pool, even an empty one, is rejected, and the policy is
   not notified of it. */
enum hr_status hr__job_submit(struct hr__engine *engine, hr_job job);
/* The following functions complete the policy's moves. */
enum hr_status hr__job_start(struct hr__engine *engine, const struct hr__move *move);
enum hr_status hr__job_preempt(struct hr__engine *engine, const struct hr__move *move);
void hr__job_reject(struct hr__engine *engine, hr_job job, enum hr_reason reason);
/* Completes a job. */
enum hr_status hr__job_end(struct hr__engine *engine, hr_job job);
/* Stops a running job now. The job returns to the queue. If `keeps` is set, all its work is kept, otherwise only the
   work before its last checkpoint. */
enum hr_status hr__job_interrupt(struct hr__engine *engine, hr_job job, enum hr_reason reason, bool keeps);

/* Gives notice to a running job. */
enum hr_status hr__job_notice(struct hr__engine *engine, hr_job job, struct hr__job_notice notice);

/* ---- attempts.c: jobs that can be stopped ---- */

/* Schedules the next event of a working job again, from its present progress. */
enum hr_status hr__attempt_resume(struct hr__engine *engine, hr_job job);

/* ---- attempts.c: elastic jobs ---- */

/* Returns the rate at which a job works with this number of milli-GPUs at a speed. */
struct hr__rate hr__job_rate(const struct hr__engine *engine, hr_job job, uint64_t gpu_milli, uint32_t ppm);
/* Completes a resize, which is a move of the policy. */
enum hr_status hr__job_resize(struct hr__engine *engine, const struct hr__move *move);
/* hr__job_may_shrink returns whether a running job is elastic and the policy lets it shrink. hr__job_shrink removes the
   nodes that are not up or have failed from the placement of such a job. `*shrinks`: false if its other GPUs do not
   suffice; nothing has changed in this case. */
bool hr__job_may_shrink(const struct hr__engine *engine, hr_job job);
enum hr_status hr__job_shrink(struct hr__engine *engine, hr_job job, bool *shrinks);

/* ---- checkpoints.c: when jobs write checkpoints, and how long this takes ---- */

/* Returns the settings of the job's class. All members are 0 if the run has no classes. */
const struct hr_class_spec *hr__class_spec(const struct hr__engine *engine, hr_job job);
/* Returns whether all work of the job is kept at all times (continuous checkpoints). */
bool hr__checkpoint_is_continuous(const struct hr__engine *engine, hr_job job);
/* Returns how much work a job does between two checkpoints at its present placement in `pool`. Returns HR_NEVER_US if
   the job writes no periodic checkpoints. */
int64_t hr__checkpoint_interval_us(const struct hr__engine *engine, hr_job job, hr_pool pool);
/* Begins to write a checkpoint, and schedules its completion: HR__PENDING_PHASE of the job or HR__PENDING_STORAGE of
   the pool. */
enum hr_status hr__checkpoint_write(struct hr__engine *engine, hr_job job, hr_pool pool);
/* Cancels a write to the pool's storage, if the job writes to it. */
enum hr_status hr__checkpoint_cancel(struct hr__engine *engine, hr_job job, hr_pool pool);
/* Returns whether a checkpoint that begins now would be complete by `down_us`. */
bool hr__checkpoint_fits(const struct hr__engine *engine, hr_job job, hr_pool pool, int64_t down_us);
enum hr_status hr__storage_init(struct hr__engine *engine);
void hr__storage_close(struct hr__engine *engine);
/* Completes the first write to the storage of a pool. `*done`: the job that wrote; HR_NONE if the pending entry is
   outdated, because the time of this completion has changed since. */
enum hr_status hr__storage_advance(struct hr__engine *engine, hr_pool pool, hr_job *done);

/* ---- sim/market/market.c: nodes that come and go ---- */

/* hr__market_request requests the next available node of a pool. The pool must have an available node.
   hr__market_cancel cancels a request that was made in the same pass. */
hr_node hr__market_request(struct hr__engine *engine, hr_pool pool);
void hr__market_cancel(struct hr__engine *engine, hr_node node);
/* Launches a requested node: the node is billed from now on and begins to boot. */
enum hr_status hr__market_launch(struct hr__engine *engine, hr_node node);
/* Stops the jobs of a node, turns it off and emits HR_EVENT_NODE_DOWN with the reason. Calls the hooks of the
   components. */
enum hr_status hr__market_take_down(struct hr__engine *engine, hr_pool pool, hr_node node, enum hr_reason reason);
/* Makes a node available, unless it has failed, is in maintenance, or its reservation is not open. */
enum hr_status hr__market_return(struct hr__engine *engine, hr_pool pool, hr_node node, enum hr_reason reason);
/* Gives notice to all jobs of a node that they will be stopped at `down_us`. */
enum hr_status hr__market_warn_residents(struct hr__engine *engine, hr_node node, int64_t down_us);
/* Changes the state of a node and updates all accounts that depend on it. */
void hr__market_set_state(struct hr__engine *engine, hr_node node, enum hr_node_state state);

/* ---- sim/faults/faults.c: failures. Only if `faults` is not NULL ---- */

/* Returns whether no failed unit contains the node. */
bool hr__faults_repaired(const struct hr__engine *engine, hr_node node);
/* Returns the number of failed nodes of the pool. */
uint32_t hr__faults_nodes_down(const struct hr__engine *engine, hr_pool pool);

/* ---- sim/faults/maintenance.c: planned work on nodes. Only if `maintenance` is not NULL ---- */

/* Returns whether no job may start on the node because of its maintenance. */
bool hr__maintenance_holds(const struct hr__engine *engine, hr_node node);
/* Returns how many nodes of the pool are closed for maintenance, and sets `*window` to the index of the entry of
   hr_pool_spec.maintenance for which they are closed. */
uint32_t hr__maintenance_nodes(const struct hr__engine *engine, hr_pool pool, uint32_t *window);
/* Records that a node has failed (`begins`) or was repaired. The time between the two is not planned downtime. */
void hr__maintenance_node_fails(struct hr__engine *engine, hr_node node, bool begins);

/* ---- sim/faults/maintenance.c: spare nodes. Only if `spares` is not NULL ---- */

/* Returns whether the node is a spare that is not in use. */
bool hr__spares_keep(const struct hr__engine *engine, hr_node node);
/* If the pool needs no further node, makes a node that could come up a spare, and returns true. */
bool hr__spares_take(struct hr__engine *engine, hr_pool pool, hr_node node);
/* Activates one spare for each missing node; the spares come up after their activation time. */
enum hr_status hr__spares_activate(struct hr__engine *engine, hr_pool pool);

/* ---- sim/faults/maintenance.c: nodes that are slow for a while ---- */

/* Returns the least speed that a node can have, in ppm. */
uint32_t hr__slowest_ppm(const struct hr__engine *engine);

/* ---- sim/power/standby.c: nodes that sleep or are held. Only if `standby` is not NULL ---- */

/* Returns how many nodes of the pool sleep or, if `asleep` is not set, are being suspended. */
uint32_t hr__standby_count(const struct hr__engine *engine, hr_pool pool, bool asleep);
/* hr__standby_keeps returns whether the node sleeps or is being suspended. hr__standby_held returns how many nodes of
   the pool the power budget keeps closed or asleep. */
bool hr__standby_keeps(const struct hr__engine *engine, hr_node node);
uint32_t hr__standby_held(const struct hr__engine *engine, hr_pool pool);
/* Must be called when a held node has failed. The node remains closed. */
void hr__standby_node_fails(struct hr__engine *engine, hr_node node);
/* Requests another pass of the policy at this instant. */
enum hr_status hr__standby_ask_for_pass(struct hr__engine *engine);
/* hr__standby_before_pass and hr__standby_after_pass are called before and after each pass. hr__budget_limit is called
   after the moves of the pass, before observers are notified of the pass. */
enum hr_status hr__budget_limit(struct hr__engine *engine);
enum hr_status hr__standby_before_pass(struct hr__engine *engine);
enum hr_status hr__standby_after_pass(struct hr__engine *engine);

/* ---- sim/market/autoscaler.c: nodes that an autoscaler requests and removes. Only if `autoscaler` is not NULL ---- */

/* Makes a scan of the autoscaler if one is due. Called after each pass, and at the end of instants without a pass. */
enum hr_status hr__autoscaler_after_pass(struct hr__engine *engine);
/* Returns whether a pool that the job accepts has fewer nodes than its maximum. */
bool hr__autoscaler_may_grow(const struct hr__engine *engine, hr_job job);

/* ---- sim/power/meter.c: energy. Only if `power` is not NULL ---- */

/* Must be called before and after a node of the pool changes its state. */
void hr__power_before_node(struct hr__engine *engine, hr_pool pool);
void hr__power_after_node(struct hr__engine *engine, hr_pool pool);

/* hr__power_note records that the observers were notified of the present power. hr__power_is_noted returns whether the
   observers were notified since the power changed last. */
void hr__power_note(struct hr__engine *engine);
bool hr__power_is_noted(const struct hr__engine *engine);

/* Returns the carbon that is emitted now, in milligrams per hour. */
int64_t hr__power_carbon_mg_h(const struct hr__engine *engine);
/* Adds the power from the grid and the energy in batteries to `*now`. Returns whether any pool has a battery. */
bool hr__power_batteries(const struct hr__engine *engine, struct hr_battery_now *now);
/* Both functions compute the same for all clusters together (clusters.c). */
int64_t hr__clusters_carbon_mg_h(const struct hr__engine *whole);
bool hr__clusters_batteries(const struct hr__engine *whole, struct hr_battery_now *now);
/* Stores the maximum power of the run. */
void hr__power_peaks(struct hr__engine *engine);

/* hr__power_busy_milli returns the milli-GPUs of a pool that jobs use, and the least power that they take.
   hr__power_at_level returns the power of all pools if the power limits had this level. hr__power_set_level changes the
   level; the caller then changes the speeds of the jobs. */
int64_t hr__power_busy_milli(const struct hr__engine *engine, hr_pool pool, int64_t *taken_nw);
int64_t hr__power_at_level(const struct hr__engine *engine, uint32_t level);
enum hr_status hr__power_set_level(struct hr__engine *engine, uint32_t level);

/* ---- sharing.c: jobs on one GPU ---- */

/* Claims GPU memory for all tasks of a job. Returns true on success, or if the pool has no GPU memory to claim. Returns
   false and claims nothing if some GPU has too little memory. hr__claims_take_memory may be called only in runs with
   claims. */
bool hr__claims_take_memory(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* Returns the speed of a job at its placement, without the effect of other jobs on the same GPUs. It is the product of
   the speed by GPU type and the speed by network (sim/cluster/cluster.h). It is in ppm of the reference speed. */
uint32_t hr__speed_at_ppm(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* Returns the speed of the slowest node of a placement, in ppm of the usual speed (sim/faults/maintenance.c). */
uint32_t hr__slowest_node_ppm(const struct hr__engine *engine, const struct hr_placement *placement);
/* Returns the speed of a job at its placement, including the effect of the jobs that are on its GPUs now, in ppm of the
   reference speed. */
uint32_t hr__speed_now_ppm(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* Updates the speeds of the jobs that share GPUs with a placement. Must be called after a job has begun to run there,
   or has left. hr__sharing_update_nodes: in runs in which jobs on one GPU slow each other down. */
enum hr_status hr__sharing_update_nodes(struct hr__engine *engine, const struct hr_placement *placement);
static inline enum hr_status hr__sharing_update_speeds(struct hr__engine *engine,
                                                       const struct hr_placement *placement) {
  return engine->interferes ? hr__sharing_update_nodes(engine, placement) : HR_OK;
}
/* Returns how long a job that starts now must wait until its MIG instances are ready. Must be called exactly once for
   each start, because it also records the reconfiguration. */
int64_t hr__reconfiguration_us(struct hr__engine *engine, const struct hr_placement *placement);

/* ---- jobs.c: memory of finished jobs in streamed runs ---- */

/* Used to iterate over unfinished jobs. Returns the first job >= `from` in a block with unfinished jobs. Returns `from`
   if the run is not streamed. */
uint32_t hr__column_reclaim_skip(const struct hr__column_reclaim *reclaim, uint32_t from);

/* ---- run.c: the parts of a run, for several clusters ---- */

/* Creates the columns, the pools and the policy. hr__engine_activate then begins the components that the run needs. */
enum hr_status hr__engine_create(struct hr__engine *engine);
enum hr_status hr__engine_activate(struct hr__engine *engine);
/* Returns the time of the next event; HR_NEVER_US: none. In a run of several clusters, submissions are not
   considered. */
int64_t hr__engine_next_us(const struct hr__engine *engine);
/* hr__engine_is_over returns whether the run is over, hr__engine_is_stalled whether it makes no progress. `at_us`: time
   of the next event. */
bool hr__engine_is_over(const struct hr__engine *engine, int64_t at_us);
/* Returns whether the next event is only an outdated wake-up of the policy. Called after the last job: the policy
   requested the wake-up for a job that has ended in the meantime. */
bool hr__engine_is_outdated(const struct hr__engine *engine);
/* Returns HR_STOPPED if the caller wants the run to end, otherwise HR_OK. Called before each instant. */
enum hr_status hr__engine_poll(struct hr__engine *engine);
bool hr__engine_is_stalled(const struct hr__engine *engine, int64_t at_us);
/* Returns the number of preemptions since the last progress if jobs have only preempted each other since then;
   otherwise 0. */
uint64_t hr__engine_livelock(const struct hr__engine *engine, int64_t at_us);
/* The steps of an instant: hr__engine_enter sets the clock. hr__engine_free_capacity handles the events before
   submissions. hr__engine_decide handles the events after submissions and makes a pass, unless nothing has happened at
   this instant. `n_events`, `n_others`: the number of all events, and of events that are not timers, before the
   instant. */
void hr__engine_enter(struct hr__engine *engine, int64_t now_us);
enum hr_status hr__engine_free_capacity(struct hr__engine *engine);
enum hr_status hr__engine_decide(struct hr__engine *engine, uint64_t n_events, uint64_t n_others);
/* Handles the events of services of the present instant, if the next event is one. Returns whether it is. */
bool hr__engine_serve(struct hr__engine *engine, enum hr_status *status);
/* Notifies the observers that a pass has been made, or that the power has changed. */
void hr__notify_instant(struct hr__engine *engine);
/* hr__engine_settle closes the accounts at engine->last_us. hr__engine_finish frees everything. */
void hr__engine_settle(struct hr__engine *engine);
void hr__engine_finish(struct hr__engine *engine);

/* ---- clusters.c: several clusters in one run. `whole`: the engine of the whole run ---- */

/* hr__clusters_begin creates the engines of the clusters, hr__clusters_loop runs them, hr__clusters_settle closes their
   accounts and adds their figures to the whole run, hr__clusters_result adds figures by cluster to the result. */
enum hr_status hr__clusters_begin(struct hr__engine *whole);
enum hr_status hr__clusters_loop(struct hr__engine *whole);
void hr__clusters_settle(struct hr__engine *whole);
enum hr_status hr__clusters_result(struct hr__engine *whole, struct hr_result *result);
void hr__clusters_finish(struct hr__engine *whole);
/* Returns the view of the cluster of a job; NULL before the job is submitted. */
const struct hr_view *hr__clusters_view(const struct hr__engine *whole, hr_job job);
/* Returns whether a job is in the cluster of an engine. Without several clusters, all jobs are. */
static inline bool hr__engine_has(const struct hr__engine *engine, hr_job job) {
  return !engine->whole || hr__clusters_view(engine->whole, job) == &engine->view;
}
/* Submits a replica of a service to the cluster of an engine. */
enum hr_status hr__clusters_submit_replica(struct hr__engine *engine, hr_job job);
/* Begins the present instant in a cluster, if it has not begun yet, and returns the engine of the cluster. */
enum hr_status hr__clusters_enter(struct hr__engine *whole, uint32_t cluster, int64_t now_us,
                                  struct hr__engine **engine);
/* Returns the engine of a cluster in which the present instant has begun and has not ended; otherwise NULL. */
struct hr__engine *hr__clusters_entered(const struct hr__engine *whole, uint32_t cluster);
/* Must be called when an event was scheduled in the engine of a cluster, because another cluster may be active. */
void hr__clusters_wake_at(struct hr__engine *engine, int64_t at_us);

/* ---- routing.c: copies of a waiting job in a cluster's engine ---- */

/* hr__dispatch_must_leave returns whether the copy of a job must leave the cluster. hr__dispatch_mark records that the
   copy leaves in this pass, or removes this record. hr__dispatch_left completes the move. */
bool hr__dispatch_must_leave(const struct hr__engine *engine, hr_job job);
void hr__dispatch_mark(const struct hr__engine *engine, hr_job job, bool leaves);
enum hr_status hr__dispatch_left(struct hr__engine *engine, hr_job job);

/* ---- Checked mode ---- */

/* Checks the invariants of the state (sim/verify/check.c) and of all active components. The invariants of each single
   job are checked only if `every_job` is set. If an invariant is violated, the function returns HR_INTERNAL and the
   error names the invariant. */
enum hr_status hr__check_state(const struct hr__engine *engine, bool every_job);
/* Writes the error of a violated invariant and returns HR_INTERNAL (jobs.c). */
enum hr_status hr__broken(const struct hr__engine *engine, const char *format, ...) HR_PRINTF(2, 3);

/* Returns an event of a node at the present instant. */
static inline struct hr_event hr__node_event(const struct hr__engine *engine, enum hr_event_kind kind,
                                             enum hr_reason reason, hr_pool pool, hr_node node) {
  return (struct hr_event){engine->view.now_us, kind, reason, {HR_NONE}, NULL, pool, node};
}

/* Returns the engine that contains a policy's view. */
static inline const struct hr__engine *hr__engine_of(const struct hr_view *view) {
  return (const void *)((const char *)view - offsetof(struct hr__engine, view));
}

/* Returns how many milli-GPUs a job requests, in counted allocation. */
static inline uint64_t hr__job_gpu_milli(const struct hr_trace *trace, hr_job job) {
  return (uint64_t)trace->gpus[job.id] * 1000;
}

#endif
