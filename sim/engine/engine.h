/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_ENGINE_H
#define HR_SIM_ENGINE_ENGINE_H

/*
 * The state of one run, and the functions that the files of the engine share. All state is in struct hr__engine; the
 * engine has no global variables. A column is an array indexed by the id of a job or of a node.
 *
 * The core of the engine:
 *
 *   run.c         list of components, run loop, start and end of a run
 *   moves.c       moves of the policy
 *   jobs.c        life of a job; pending events, notifications, placements of running jobs
 *   clusters.c, routing.c  runs with several clusters: each cluster has an engine
 *
 * The components (component.h):
 *
 *   attempts.c    jobs that can be stopped, elastic jobs; checkpoints.c has the accounts and checkpoints of these jobs
 *   sharing.c     jobs on the same GPU
 *   jobs.c        lists of the jobs of each node, streamed runs, jobs that run to their end
 *   sim/market/   nodes of elastic and reserved pools; the autoscaler
 *   sim/faults/   failures of nodes, and planned work on nodes
 *   sim/power/    energy, nodes that sleep, power budget
 *   sim/services/ replicas of inference services
 *   sim/data/     jobs that read data
 *
 * Most calls go from left to right: run.c -> moves.c -> market.c -> jobs.c -> hooks of the components, and
 * attempts.c -> {checkpoints.c, sharing.c, jobs.c}.
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

/* The following types are the state of jobs in runs where jobs can be stopped: attempts, accounts and checkpoints. They
   also include the shared storage of pools. struct hr__engine owns the memory. attempts.c and checkpoints.c use it. */

/* The phase of a running job, in runs where jobs can be stopped. */
enum hr__phase {
  HR__PHASE_WORKING,
  HR__PHASE_RESTARTING, /* restores its work at the start of an attempt */
  HR__PHASE_SAVING,     /* does not work, because of a synchronous checkpoint or the stall of an asynchronous one */
  HR__PHASE_LEAVING,    /* writes a checkpoint after a notice, and then leaves its nodes */
  HR__PHASE_HANGING,    /* a node of the job has failed and the failure is not detected yet */
  HR__PHASE_BACKING_OFF /* killed for lack of GPU memory; waits before the next try */
};

/* The present attempt of a job, in runs where jobs can be stopped. Work is in microseconds at the reference speed. */
struct hr__engine_attempt {
  /* when the attempt began. hr__engine.attempt_us is set earlier, namely when the policy makes the move */
  int64_t begun_us;
  int64_t phase_us; /* when the present phase began */
  /* the completed work of all attempts together when the present phase began; lost work does not count */
  int64_t progress_us;
  /* the completed fraction of the next microsecond of work is part / (1000000 * rate.den) */
  uint64_t part;
  struct hr__rate rate; /* the speed of the job in this attempt */
  uint32_t gpu_milli;   /* milli-GPUs of the placement */
  uint32_t slow_ppm;    /* the speed of its slowest node; 0: nodes are never slow */
  uint32_t series;      /* the index of the job's series of checkpoints in hr__engine.series, plus 1; 0: none */
  enum hr__phase phase;
  bool resizes; /* the job is being resized: it continues at this instant with another placement */
  /* the members below are not used when an undisturbed attempt ends */
  uint32_t next_free;  /* in an unused slot: the next unused slot; 0: none */
  int64_t restart_us;  /* how long the restart takes before the job works */
  int64_t interval_us; /* work between two checkpoints; HR_NEVER_US without periodic checkpoints */
  int64_t down_us;     /* in phase HR__PHASE_LEAVING: when the job's node goes down */
  int64_t evict_us;    /* when the policy's notice to the job ends; 0 if the job has no such notice */
  bool evict_keeps;    /* all work of the job is kept when this notice ends */
  int64_t unkept_us;   /* time spent working since the attempt began, or since work was last kept in this attempt */
  hr_amount unkept_milli_us; /* the GPU time in unkept_us, in milli-GPUs * microseconds */
  int64_t retry_us;          /* in phase HR__PHASE_BACKING_OFF: when the job tries again */
  uint32_t kills;            /* how many consecutive times the job was killed for lack of GPU memory */
};

/* An asynchronous checkpoint that is being written. */
struct hr__async_save {
  int64_t durable_us; /* when the checkpoint is complete; 0: the job writes no checkpoint now */
  /* copies of these members of the attempt, made when the checkpoint began */
  int64_t progress_us, unkept_us;
  hr_amount unkept_milli_us;
};

/* The accounts of disturbed jobs, for example of jobs that were stopped, wrote a checkpoint, restarted or waited for
   data. A job has no account as long as its figures follow from its start and its end. `rows` always has room for the
   accounts of all running jobs. Account 0 belongs to no job; it has the values of a job that has not started. */
struct hr__accounts {
  struct hr_job_accounting *rows;
  uint32_t count, capacity;
  /* the first unused account; 0: none. The unused accounts are a linked list: the member `attempts` of an unused
     account is the index of the next one */
  uint32_t unused;
  uint32_t n_unused; /* number of unused accounts */
  uint32_t reserved; /* number of running jobs without an account */
};

/* The kept work of a job at the time when its results began to be corrupted. */
struct hr__clean_work {
  /* copies of hr__engine.kept_us, and of kept_us and milli_us.kept in the account of the job */
  int64_t kept_us, kept_time_us;
  hr_amount kept_milli_us;
  /* is_set: the other members are valid. is_found: the corruption was detected; when the job stops, its kept work
     becomes the work stored here */
  bool is_set, is_found;
};

/* A series of checkpoints of a running job (see checkpoints.c). The checkpoints of a series have no entries in the
   event heap. A series consists of periods. A period consists of work and then a checkpoint. The job's entry in the
   event heap is the end of the work that follows the series. */
struct hr__checkpoint_series {
  hr_job job;
  int64_t work_us, write_us; /* the time of the work and of the checkpoint in each period */
  int64_t left;              /* the number of periods that are not complete yet */
};

/* The shared storage of a pool (see checkpoints.c). A service is the amount of data that a writer has written. One MiB
   is 1000000 * 2^10 units of service. */
__extension__ typedef unsigned __int128 hr__service;
struct hr__storage {
  uint64_t mib_s;    /* the bandwidth, which all writers share equally */
  hr__service clock; /* increases by the service that each writer receives */
  int64_t clock_us;  /* when the clock was last updated */
  int64_t next_us;   /* when the first of the writers will be done; HR_NEVER_US without writers */
  struct hr__storage_writer {
    hr__service mark; /* the value of the clock when the writer is done */
    hr_job job;
  } * writers; /* sorted by mark; writers with equal marks are in the order in which they began */
  uint32_t count, capacity;
};

/* ---- The state of a run -------------------------------------------------------------------------------- */

/* The placement of a running job in compact form. Most placements have a single slice, which is stored in the columns
   of the engine. Only placements with several slices use the slice store. */
struct hr__allocation_ref {
  /* for a placement without slices: the pool. With one slice: the node of the slice. With several slices: the index of
     the first slice in the slice store */
  uint32_t first;
  uint32_t n_slices;
};

/* All data that the engine stores for the placement of a job. */
struct hr__allocation {
  struct hr__allocation_ref ref;
  uint64_t gpus;      /* the set of GPUs; used only for a single slice in per-GPU allocation */
  uint32_t gpu_milli; /* used only if hr__engine.gpu_milli is not NULL */
  struct hr_instance instance;
};

/* The slices of placements with several slices. Each such placement has a block of 2^k slices; k is the class of the
   block. Freed blocks are reused. */
enum { HR__SLICE_CLASSES = 32 };
struct hr__slice_store {
  struct hr_slice *slices;
  uint32_t count, capacity;
  /* by block class: the index of the first free block + 1, or 0 if no block is free. The free blocks of a class are a
     linked list. In the first slice of a free block, the id of the node is the index of the next free block + 1; 0 is
     the end of the list */
  uint32_t free_block[HR__SLICE_CLASSES];
};

/* The kinds of moves of a policy. */
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

/* A move of a policy. */
struct hr__move {
  enum hr__move_kind kind;
  enum hr_reason reason;
  bool keeps; /* preemption or notice: all work of the job is kept */
  /* A policy may resize a job that it has already started or resized in the same pass. `is_amended`: a later move of
     the pass resizes the job of this move. `amends`: this is such a later move. The job then begins with the placement
     of the last of these moves. */
  bool amends, is_amended;
  hr_job job;
  hr_node node;       /* for requests and releases of nodes */
  int64_t at_us;      /* wake-up: the time of the wake-up; notice: the time when the job is stopped */
  int64_t attempt_us; /* start, preemption or resize: the value of hr__engine.attempt_us before the move */
  int64_t kept_us;    /* preemption or resize: the kept work of the job before the move */
  struct hr__allocation allocation; /* preemption or resize: the placement of the job before the move */
  struct hr__node was;              /* release of a node: the state of the node before the move */
};

/* The moves of the present pass. */
struct hr_moves {
  struct hr__engine *engine;
  struct hr__move *list;
  uint32_t count, capacity;
  enum hr_status status; /* the status of the first move that was refused; HR_OK if no move was refused */
};

/* The known speeds of jobs that share a GPU, by the models of the two jobs. The entries are sorted by `models`. */
struct hr__pair_table {
  struct hr__pair_speed {
    uint64_t models;    /* model of the job << 32 | model of the other job; models are numbered as in the trace */
    uint32_t speed_ppm; /* the speed of the job while it shares the GPU, in ppm of its speed without the other job */
  } * of;
  uint32_t count;
};

/* The memory of a GPU in a pool that does not reserve the GPU memory which jobs request. In such a pool, a job gets its
   memory when it begins, if enough memory is free at that time. */
struct hr__claim {
  uint32_t left_mib;     /* the free memory */
  uint16_t tasks, milli; /* the number of tasks that have memory on the GPU; the milli-GPUs of these tasks */
};

struct hr__claims {
  /* by node and GPU, as in the GPU inventory; valid only for pools that do not reserve GPU memory; NULL if no such
     pools exist */
  struct hr__claim *of_gpu;
};

/* The resizes of a job, in runs in which jobs are resized (attempts.c). A resize ends one segment of a job and begins
   the next. */
struct hr__resized {
  hr_amount held_milli_us; /* GPU time of all segments that have ended, in milli-GPUs * microseconds */
  uint32_t count;          /* the number of resizes */
};

/* Failures and repairs (sim/faults/faults.c). */
struct hr__faults;
/* Maintenance (sim/faults/maintenance.c). */
struct hr__maintenance;

/* Spare nodes (sim/faults/maintenance.c). */
struct hr__spares;
struct hr__node_victim;

/* Nodes that are slow for a time (sim/faults/maintenance.c). */
struct hr__slow {
  uint32_t *changes; /* by node: how many times its speed has changed */
};

/* Nodes that sleep, and held nodes: nodes that the power budget keeps closed (sim/power/standby.c). */
struct hr__standby;

/* The autoscaler of the cluster (sim/market/autoscaler.c). */
struct hr__autoscaler;

/* The energy that the run uses (sim/power/meter.c). */
struct hr__power;

/* The energy of jobs (sim/power/power.c). */
struct hr__job_energy;

/* The supply state of a pool in which nodes come and go (sim/market/market.c). */
struct hr__engine_market;

/* The jobs on each node. Each node has a linked list. The elements of all lists (links) are in one array. Freed links
   are reused. */
struct hr__residents {
  struct hr__resident *links;
  uint32_t *first;                  /* by node: the index of its first link + 1; 0 if the node has no jobs */
  uint32_t count, capacity, unused; /* unused: the index of the first freed link + 1; 0: no link is free */
};
struct hr__resident {
  hr_job job;
  uint32_t next; /* the index of the next link + 1; 0 at the end of the list */
};
/* A loop over the links of a node. */
#define HR__EACH_RESIDENT(engine, node, link)                                                                          \
  for (uint32_t link = (engine)->residents.first[node]; link; link = (engine)->residents.links[link - 1].next)

/* The columns with memory that is reclaimed during a streamed run (jobs.c). Jobs with successive ids form a block. */
struct hr__column_reclaim {
  uint32_t *unfinished;          /* by block: the number of unfinished jobs. NULL unless the run is streamed */
  uint32_t n_blocks, block_jobs; /* block_jobs: the number of jobs in a block */
  struct hr__reclaimed_column {
    char *at;      /* the first element */
    size_t width;  /* bytes per job */
    size_t bytes;  /* the size of the memory mapping; 0 if the column belongs to the trace */
    size_t length; /* the size of a column that belongs to the trace, in bytes */
  } * columns;
  uint32_t n_columns, capacity;
};

/* Several clusters in one run (sim/engine/clusters.c). */
struct hr__clusters;

/* Data at storage systems (sim/data/data.c). */
struct hr__data;

/* The state of a run, or of a cluster of a run with several clusters. */
struct hr__engine {
  const struct hr_run_config *config;
  /* In a run with several clusters, each cluster has an engine, and the whole run has another one. In the engine of
     such a cluster, `whole` is the engine of the whole run; in all other engines, it is NULL. `clusters` is NULL in all
     engines except that of the whole run. */
  struct hr__engine *whole;
  struct hr__clusters *clusters;
  /* in the engine of a cluster */
  uint32_t number;                 /* the index of the cluster */
  uint32_t first_pool, first_node; /* the numbers of its first pool and node in the whole run */
  uint64_t n_left; /* the number of copies of jobs that were submitted to the cluster and have left it */
  /* in the engine of the whole run */
  hr_job barred;  /* the job that is being submitted, if it may not run in any cluster; otherwise HR_NONE */
  hr_job fitting; /* the job that is being submitted, if it is known to fit into its cluster; otherwise HR_NONE */
  /* in all engines */
  const uint32_t *job_number; /* by job: its number among the jobs of a cluster, for the digest; NULL: its id */
  /* the following members are used at each event, so they are close to each other in memory */
  uint64_t digest;
  uint64_t n_submitted, n_completed, n_rejected, n_backfilled, n_events, n_passes;
  uint64_t n_timers;        /* the number of wake-ups of the policy; they are included in n_events */
  int64_t last_us;          /* the last instant at which an event occurred */
  int64_t served_us;        /* the last instant at which a service served or expected requests; not set in clusters */
  int64_t last_progress_us; /* the last instant at which a job was submitted or ended, or work was kept */
  /* the policy's functions; functions that do not exist in the policy's version of the interface are NULL */
  struct hr_policy_ops ops;
  const struct hr_trace *trace;
  struct hr_arena arena;
  struct hr_cluster cluster;
  struct hr__event_heap heap; /* all pending events */
  uint32_t cursor;            /* the next job of the input to be submitted */
  /* number of jobs of the input; jobs with higher ids are added by components during the run */
  uint32_t n_input;
  /* number of added jobs that were submitted; their ids directly follow the ids of the input */
  uint32_t n_added;
  uint32_t n_open; /* number of services that have or expect requests; the run does not end while n_open > 0 */
  struct hr_view view;
  struct hr_moves moves;
  void *policy;
  /* if the policy is a plug-in: a record of its running function (base/process.h). NULL for other policies */
  struct hr__policy_call *call;
  uint32_t abilities; /* flags of the policy, such as HR_POLICY_PREEMPTS */
  struct hr_error *error;

  const struct hr__component *active[HR__MAX_COMPONENTS + 1]; /* ends with NULL */
  /* by kind of pending event: the component that handles it; NULL: run.c handles it */
  const struct hr__component *handler[HR__PENDING_TIMER + 1];
  int64_t hold_until_us;          /* the run does not end before this time; see HR_POLICY_HOLDS_RUN */
  bool disturbs_jobs, is_endless; /* some active component has the flag of the same name */

  uint8_t *state, *reason;                 /* by job: enum hr_job_state, enum hr_reason */
  int64_t *start_us;                       /* by job: first start; HR_NEVER_US before the first start */
  struct hr__allocation_ref *allocation;   /* by job; valid while the job runs */
  uint64_t *allocation_gpus;               /* by job: the GPUs of a single slice; NULL in counted allocation */
  struct hr_instance *allocation_instance; /* by job: the MIG instance of a single slice; NULL in counted allocation */
  /* by job: milli-GPUs of the last attempt. NULL in counted allocation if no jobs are resized */
  uint32_t *gpu_milli;
  struct hr__column_reclaim reclaim; /* reclaims all per-job columns; used in streamed runs only */
  struct hr__slice_store store;
  struct hr__speed_table speeds;
  struct hr__network_speeds network;
  /* by job: time of completion. NULL if the time of completion follows from the start and the work of each job */
  int64_t *ended_us;

  /* The members from here to `storage` are NULL unless jobs can be stopped before their end. */

  /* by job. attempt_us: when the present attempt began. kept_us: how much work is kept */
  int64_t *attempt_us, *kept_us;
  uint32_t *attempt_slot; /* by job: the index of its attempt in `attempts`; 0: the job does not run */
  /* the attempts of running jobs, in slots. Slot 0 belongs to no job; it has the values of an attempt that has not
     begun */
  struct hr__engine_attempt *attempts;
  uint32_t n_attempts, attempts_capacity, unused_attempt; /* unused_attempt: the first unused slot; 0: none */
  uint32_t *account;                  /* by job: the index of its account in `accounts`; 0: the job has no account */
  struct hr__accounts *accounts;      /* all clusters of a run share them */
  struct hr__clean_work *clean;       /* by job; NULL: nothing corrupts results */
  struct hr__async_save *async_saves; /* by job; NULL: checkpoints are synchronous */
  /* by node: its present speed (sim/faults/maintenance.c). NULL: all nodes always have full speed */
  uint32_t *node_speed_ppm;
  struct hr__resized *resized;    /* by job; NULL unless jobs are resized */
  struct hr_slice *shrink_slices; /* temporary memory of hr__job_shrink: [2 * shrink_capacity] */
  uint32_t shrink_capacity;
  struct hr__storage *storage; /* by pool */

  struct hr__engine_market *markets;          /* by pool; NULL unless nodes are added or removed during the run */
  struct hr_pool_accounting *pool_accounting; /* by pool */
  struct hr__faults *faults;                  /* sim/faults/faults.c; NULL unless nodes fail */
  struct hr_outage_accounting *outages;       /* by class of failure (unstable/faults.h); NULL unless nodes fail */
  /* the entry of `outages` for the failure that is stopping jobs now; NULL: no failure is stopping jobs */
  struct hr_outage_accounting *outage;
  bool corrupts;                        /* some failures corrupt results until they are detected */
  struct hr__spares *spares;            /* sim/faults/maintenance.c; NULL without spare nodes */
  struct hr__slow *slow;                /* NULL unless nodes are slow at times */
  struct hr__node_victim *node_victims; /* by node (jobs.c); NULL unless nodes fail and jobs preempt */
  uint8_t *restart_marks;               /* by job: marks of preemptions (jobs.c); NULL if node_victims is NULL */
  struct hr__data *data;                /* shared by all clusters of a run; NULL without data */
  struct hr__maintenance *maintenance;  /* sim/faults/maintenance.c; NULL without maintenance */
  struct hr__standby *standby;          /* sim/power/standby.c; NULL: no node sleeps, and no budget is set */
  struct hr__autoscaler *autoscaler;    /* sim/market/autoscaler.c; NULL without an autoscaler */
  struct hr__power *power;              /* sim/power/meter.c; NULL unless the power of some pool is known */
  struct hr__job_energy *energy;        /* the energy of jobs (sim/power/power.c); NULL unless `power` is set */
  struct hr_power_peaks peaks;
  /* used if nodes are added or removed during the run, or if jobs slow each other down; in other runs, all members are
     0 */
  struct hr__residents residents;

  struct hr__claims claims;
  bool interferes;              /* jobs on the same GPU can slow each other down */
  struct hr__pair_table *pairs; /* by pool */
  /* by node and GPU: when the latest MIG reconfiguration ends; NULL if reconfigurations take no time */
  int64_t *split_us;

  struct hr__checkpoint_series *series;
  uint32_t n_series, series_capacity;

  /* an idle pass is a pass at an instant that has no events except wake-ups of the policy. n_idle_passes: the number
     of successive idle passes; set to 0 when it reaches MAX_IDLE_PASSES (run.c) */
  uint32_t n_idle_passes;
  int64_t idle_since_us; /* the time of the first of these passes */
  /* n_futile: the number of preemptions by the policy since the last progress. futile_since_us: the value of
     last_progress_us at the last preemption; if last_progress_us has another value, n_futile is outdated */
  uint64_t n_futile;
  int64_t futile_since_us;
  uint64_t n_livelock; /* the result of hr__engine_livelock at this instant, summed over all clusters */
  /* the last instant at which a job was killed for lack of GPU memory. Such a kill emits no event */
  int64_t last_kill_us;
  /* the longest run time that a job can have: its run time at the minimum speed. Valid only if jobs have attempts. In
     a streamed run, only jobs that are already submitted are considered */
  int64_t longest_us;
  int64_t longest_lead_us;   /* the longest MIG reconfiguration */
  uint32_t interference_ppm; /* the minimum speed factor that a job can have because it shares its GPUs */
  bool stalled;              /* the result of hr__engine_is_stalled at this instant */
  uint32_t n_until_poll; /* number of instants until hr__engine_poll asks the caller again whether to stop the run */
};

/* ---- jobs.c: placements of running jobs ---- */

/* Stores the placement of a job that starts. Returns HR_NO_MEMORY if memory is exhausted. */
enum hr_status hr__allocation_store(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* hr__allocation_get returns the stored placement of a job. hr__allocation_set stores the returned placement again, for
   example to undo a move. The slices of the placement must not be freed between the two calls. */
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

/* Returns the placement of a running job. `one` is memory of the caller, which the function uses if the placement has
   a single slice. The result is valid until the next placement is stored. */
struct hr_placement hr__allocation_placement(const struct hr__engine *engine, hr_job job, struct hr_slice *one);
/* The same, with the slice in memory that exists until the end of the enclosing block. */
#define HR__PLACEMENT_OF(engine, job) hr__allocation_placement(engine, job, &(struct hr_slice){0})
/* Frees the stored slices of a job that has left its placement. */
void hr__allocation_free(struct hr__engine *engine, hr_job job);

/* Returns the attempt of a running job. The pointer is valid until the next job starts. */
static inline struct hr__engine_attempt *hr__attempt(const struct hr__engine *engine, hr_job job) {
  return &engine->attempts[engine->attempt_slot[job.id]];
}

/* Returns the account of a job; account 0 if the job has no account. The pointer is valid until the next job starts. */
static inline struct hr_job_accounting *hr__account(const struct hr__engine *engine, hr_job job) {
  return &engine->accounts->rows[engine->account[job.id]];
}
/* Returns whether a job runs or was started before. Must not be called for completed jobs. */
static inline bool hr__has_attempts(const struct hr__engine *engine, hr_job job) {
  return engine->account[job.id] != 0 || engine->attempt_slot[job.id] != 0;
}
/* Frees the account of a job. */
void hr__account_free(struct hr__engine *engine, hr_job job);

/* ---- jobs.c: preemptions that restarts after failures cause ---- */

/* Allocates the marks of jobs. Has no effect if the policy does not preempt jobs. */
enum hr_status hr__restarts_init(struct hr__engine *engine);

/* ---- Memory ---- */

/* Returns the per-job column of the struct hr__engine member at `offset`. The first call allocates the column, filled
   with zeros. The engines of clusters share the columns of the whole run, because each job is in only one cluster.
   `of_result`: the result of the run will own the column. The column then comes from malloc, unless the run is
   streamed. All other columns come from the arena. Returns NULL if memory is exhausted. */
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

/* Writes the error "out of memory" and returns HR_NO_MEMORY. */
static inline enum hr_status hr__out_of_memory(const struct hr__engine *engine) {
  return hr_fail(engine->error, HR_NO_MEMORY, "out of memory for %" PRIu32 " jobs", engine->trace->n_jobs);
}

/* ---- Events: jobs.c ---- */

/* Adds the event to the digest and notifies the observers. */
void hr__notify_observers(struct hr__engine *engine, const struct hr_event *event);
/* Notifies the policy of an event. The observers must already have been notified of the event. Returns the status of
   the policy. */
enum hr_status hr__notify_policy(struct hr__engine *engine, const struct hr_event *event);
/* Adds the event to the digest, notifies the observers, and then notifies the policy. Returns the status of the
   policy. */
static inline enum hr_status hr__emit(struct hr__engine *engine, const struct hr_event *event) {
  hr__notify_observers(engine, event);
  return hr__notify_policy(engine, event);
}
/* Schedules a pending event. `entity` is a job, a node or a pool, depending on the kind. Returns HR_NO_MEMORY if memory
   is exhausted. */
static inline enum hr_status hr__schedule(struct hr__engine *engine, int64_t at_us, enum hr__pending_kind kind,
                                          uint32_t entity) {
  return hr__event_heap_push(&engine->heap, hr__pending(at_us, kind, entity)) == HR_OK ? HR_OK
                                                                                       : hr__out_of_memory(engine);
}

/* ---- jobs.c: the life of a job ---- */

/* Submits a job. A job that does not fit into any acceptable pool, even if the pool were empty, is rejected. The policy
   is not notified of a rejected job. */
enum hr_status hr__job_submit(struct hr__engine *engine, hr_job job);
/* The following three functions complete moves of the policy. */
enum hr_status hr__job_start(struct hr__engine *engine, const struct hr__move *move);
enum hr_status hr__job_preempt(struct hr__engine *engine, const struct hr__move *move);
void hr__job_reject(struct hr__engine *engine, hr_job job, enum hr_reason reason);
/* Completes a job. */
enum hr_status hr__job_end(struct hr__engine *engine, hr_job job);
/* Stops a running job now. The job returns to the queue. `keeps`: all its work is kept. Without `keeps`, only the work
   before its last checkpoint is kept. */
enum hr_status hr__job_interrupt(struct hr__engine *engine, hr_job job, enum hr_reason reason, bool keeps);

/* Calls the hook `notice` of the components: a running job will be stopped at notice.at_us. */
enum hr_status hr__job_notice(struct hr__engine *engine, hr_job job, struct hr__job_notice notice);

/* ---- attempts.c: jobs that can be stopped ---- */

/* Removes the pending event of a working job, and schedules the next event according to the present progress of the
   job. */
enum hr_status hr__attempt_resume(struct hr__engine *engine, hr_job job);

/* ---- attempts.c: elastic jobs ---- */

/* Returns the rate at which a job works with this number of milli-GPUs. `ppm`: the speed of these GPUs. */
struct hr__rate hr__job_rate(const struct hr__engine *engine, hr_job job, uint64_t gpu_milli, uint32_t ppm);
/* Completes a resize, which is a move of the policy. */
enum hr_status hr__job_resize(struct hr__engine *engine, const struct hr__move *move);
/* hr__job_may_shrink returns whether a running job may continue with fewer nodes when one of its nodes goes down. Such
   a job is elastic, and the policy has HR_POLICY_SHRINKS. hr__job_shrink removes the nodes that are not up or have
   failed from the placement of such a job, and sets `*shrinks` to true. If the other GPUs of the job do not suffice,
   `*shrinks` is set to false and nothing changes. */
bool hr__job_may_shrink(const struct hr__engine *engine, hr_job job);
enum hr_status hr__job_shrink(struct hr__engine *engine, hr_job job, bool *shrinks);

/* ---- checkpoints.c: when jobs write checkpoints, and how long this takes ---- */

/* Returns the settings of the job's class. All members are 0 if the run has no classes. For the job of a replica,
   returns settings with continuous checkpoints. */
const struct hr_class_spec *hr__class_spec(const struct hr__engine *engine, hr_job job);
/* Returns whether all work of the job is kept at all times (continuous checkpoints). */
bool hr__checkpoint_is_continuous(const struct hr__engine *engine, hr_job job);
/* Returns how much work a job does between two checkpoints at its present placement, in microseconds at the reference
   speed. `pool` is the pool of the placement. Returns HR_NEVER_US if the job writes no periodic checkpoints. */
int64_t hr__checkpoint_interval_us(const struct hr__engine *engine, hr_job job, hr_pool pool);
/* Begins to write a checkpoint, and schedules its completion. The pending event is HR__PENDING_DATA if the checkpoint
   is written to a storage system for data (sim/data/), HR__PENDING_STORAGE if it is written to the storage of the pool,
   and HR__PENDING_PHASE in all other cases. */
enum hr_status hr__checkpoint_write(struct hr__engine *engine, hr_job job, hr_pool pool);
/* Cancels the write of a job to shared storage. Must be called only while the job writes a checkpoint. Has no effect if
   checkpoints of the job are not written to shared storage. */
enum hr_status hr__checkpoint_cancel(struct hr__engine *engine, hr_job job, hr_pool pool);
/* Returns whether a checkpoint that begins now would be complete by `down_us`. */
bool hr__checkpoint_fits(const struct hr__engine *engine, hr_job job, hr_pool pool, int64_t down_us);
/* hr__storage_init allocates the state of the storage of all pools. hr__storage_close frees the lists of writers. */
enum hr_status hr__storage_init(struct hr__engine *engine);
void hr__storage_close(struct hr__engine *engine);
/* Handles HR__PENDING_STORAGE: completes the first write to the storage of a pool. Sets `*done` to the job that wrote.
   The pending entry is outdated if the time of the completion has changed; `*done` is then HR_NONE. */
enum hr_status hr__storage_advance(struct hr__engine *engine, hr_pool pool, hr_job *done);

/* ---- sim/market/market.c: nodes that come and go ---- */

/* hr__market_request requests the next available node of a pool and returns this node. The pool must have an available
   node. hr__market_cancel cancels a request that was made in the same pass. */
hr_node hr__market_request(struct hr__engine *engine, hr_pool pool);
void hr__market_cancel(struct hr__engine *engine, hr_node node);
/* Launches a requested node: the node is billed from now on and begins to boot. */
enum hr_status hr__market_launch(struct hr__engine *engine, hr_node node);
/* Stops the jobs of a node, turns the node off, calls the hook `node_down` of the components, and emits
   HR_EVENT_NODE_DOWN with the reason. An elastic job that may shrink is not stopped but continues without the node. If
   the provider has not delivered the node yet, only withdraws its request. */
enum hr_status hr__market_take_down(struct hr__engine *engine, hr_pool pool, hr_node node, enum hr_reason reason);
/* Makes a node available. The node remains off if it has failed, is in maintenance, is in standby, becomes a spare, or
   has a reservation that is not open. */
enum hr_status hr__market_return(struct hr__engine *engine, hr_pool pool, hr_node node, enum hr_reason reason);
/* Closes a node that is up until `down_us` and emits HR_EVENT_NOTICE. Its jobs get no notice. */
enum hr_status hr__market_close(struct hr__engine *engine, hr_pool pool, hr_node node, enum hr_reason reason,
                                int64_t down_us);
/* Sends a notice to all jobs of a node: the jobs will be stopped at `down_us`. */
enum hr_status hr__market_warn_residents(struct hr__engine *engine, hr_node node, int64_t down_us);
/* Changes the state of a node and updates all accounts that depend on the state. */
void hr__market_set_state(struct hr__engine *engine, hr_node node, enum hr_node_state state);

/* ---- sim/faults/faults.c: failures. Only if `faults` is not NULL ---- */

/* Returns whether no failed unit contains the node. */
bool hr__faults_repaired(const struct hr__engine *engine, hr_node node);
/* Returns the number of failed nodes of the pool. */
uint32_t hr__faults_nodes_down(const struct hr__engine *engine, hr_pool pool);

/* ---- sim/faults/maintenance.c: planned work on nodes. Only if `maintenance` is not NULL ---- */

/* Returns whether no job may start on the node because of its maintenance. */
bool hr__maintenance_holds(const struct hr__engine *engine, hr_node node);
/* Returns how many nodes of the pool are closed for maintenance. Sets `*window` to the index in
   hr_pool_spec.maintenance of the window for which the nodes are closed. Sets `*window` to 0 if no nodes are closed. */
uint32_t hr__maintenance_nodes(const struct hr__engine *engine, hr_pool pool, uint32_t *window);
/* `begins`: records that a node has failed. Without `begins`: records that the node was repaired. The time between the
   two events is not planned downtime, even if the node is in maintenance. */
void hr__maintenance_node_fails(struct hr__engine *engine, hr_node node, bool begins);

/* ---- sim/faults/maintenance.c: spare nodes. Only if `spares` is not NULL ---- */

/* Returns whether the node is a spare that is not in use. */
bool hr__spares_keep(const struct hr__engine *engine, hr_node node);
/* Called when a node could come up. Returns true if the node must not come up: it is a spare that is being activated,
   or the pool has enough nodes. In the second case the node becomes a spare. */
bool hr__spares_take(struct hr__engine *engine, hr_pool pool, hr_node node);
/* Activates one spare for each missing node of the pool. The spares come up after their activation time. */
enum hr_status hr__spares_activate(struct hr__engine *engine, hr_pool pool);

/* ---- sim/faults/maintenance.c: nodes that are slow for a while ---- */

/* Returns the minimum speed that a node can have, in ppm of its full speed. */
uint32_t hr__slowest_ppm(const struct hr__engine *engine);

/* ---- sim/power/standby.c: nodes that sleep or are held. Only if `standby` is not NULL ---- */

/* With `asleep`, returns how many nodes of the pool sleep. Without `asleep`, returns how many are being suspended. */
uint32_t hr__standby_count(const struct hr__engine *engine, hr_pool pool, bool asleep);
/* hr__standby_keeps returns whether the node sleeps or is being suspended. hr__standby_held returns how many nodes of
   the pool the power budget keeps closed or asleep. */
bool hr__standby_keeps(const struct hr__engine *engine, hr_node node);
uint32_t hr__standby_held(const struct hr__engine *engine, hr_pool pool);
/* Must be called when a node fails. If the node was held, it does not count as held afterwards. */
void hr__standby_node_fails(struct hr__engine *engine, hr_node node);
/* Requests another pass of the policy at this instant. */
enum hr_status hr__standby_ask_for_pass(struct hr__engine *engine);
/* These three functions are called at each pass. hr__standby_before_pass is called before the pass. hr__budget_limit is
   called after the moves of the pass, before the observers are notified of the pass. hr__standby_after_pass is called
   after this notification. */
enum hr_status hr__budget_limit(struct hr__engine *engine);
enum hr_status hr__standby_before_pass(struct hr__engine *engine);
enum hr_status hr__standby_after_pass(struct hr__engine *engine);

/* ---- sim/market/autoscaler.c: nodes that an autoscaler requests and removes. Only if `autoscaler` is not NULL ---- */

/* Calls the rules of the autoscaler (hr__scaling_rules.after_pass). Called after each pass, and at the end of instants
   without a pass. */
enum hr_status hr__autoscaler_after_pass(struct hr__engine *engine);
/* Returns whether the autoscaler may still add nodes to a pool that the job accepts. */
bool hr__autoscaler_may_grow(const struct hr__engine *engine, hr_job job);

/* ---- sim/power/meter.c: energy. Only if `power` is not NULL ---- */

/* hr__power_before_node must be called before a node of the pool changes its state, and hr__power_after_node after the
   change. */
void hr__power_before_node(struct hr__engine *engine, hr_pool pool);
void hr__power_after_node(struct hr__engine *engine, hr_pool pool);

/* hr__power_note records that the observers were notified of the present power. hr__power_is_noted returns whether the
   present power is equal to the last recorded power. */
void hr__power_note(struct hr__engine *engine);
bool hr__power_is_noted(const struct hr__engine *engine);

/* Returns the carbon that is emitted now, in milligrams per hour. */
int64_t hr__power_carbon_mg_h(const struct hr__engine *engine);
/* Adds the power that the cluster takes from the grid, and the energy in its batteries, to the members of `*now`.
   Returns whether any pool has a battery. */
bool hr__power_batteries(const struct hr__engine *engine, struct hr_battery_now *now);
/* The results of the two functions above for all clusters together (clusters.c). */
int64_t hr__clusters_carbon_mg_h(const struct hr__engine *whole);
bool hr__clusters_batteries(const struct hr__engine *whole, struct hr_battery_now *now);
/* Stores the maximum power of the run in engine->peaks. */
void hr__power_peaks(struct hr__engine *engine);

/* hr__power_busy_milli returns the milli-GPUs of a pool that jobs use. It sets `*taken_nw` to the power of these GPUs
   in nanowatts; if the GPUs have power limits, this is their power at the lowest limit. hr__power_at_level returns the
   power that all pools would take if the power limits had this level. hr__power_set_level changes the level; the caller
   must then change the speeds of the jobs. */
int64_t hr__power_busy_milli(const struct hr__engine *engine, hr_pool pool, int64_t *taken_nw);
int64_t hr__power_at_level(const struct hr__engine *engine, uint32_t level);
enum hr_status hr__power_set_level(struct hr__engine *engine, uint32_t level);

/* ---- sharing.c: jobs on one GPU ---- */

/* Claims GPU memory for all tasks of a job. Returns true on success, and also in a pool that reserves GPU memory. If
   some GPU has too little free memory, returns false and claims nothing. May be called only if engine->claims.of_gpu is
   not NULL. */
bool hr__claims_take_memory(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* Returns the speed of a job at its placement, in ppm of the reference speed, without the effect of other jobs on the
   same GPUs. This speed is the product of the speed by GPU type and the speed by network (sim/cluster/cluster.h). */
uint32_t hr__speed_at_ppm(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* Returns the speed of the slowest node of a placement, in ppm of the usual speed (sim/faults/maintenance.c). */
uint32_t hr__slowest_node_ppm(const struct hr__engine *engine, const struct hr_placement *placement);
/* Returns the speed of a job at its placement, including the effect of the jobs that are on its GPUs now, in ppm of the
   reference speed. */
uint32_t hr__speed_now_ppm(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* Updates the speeds of the jobs that use GPUs of the set `gpus` of a node; 0: of all jobs on the node. */
enum hr_status hr__sharing_update_node(struct hr__engine *engine, hr_node node, uint64_t gpus);
/* hr__sharing_update_speeds updates the speeds of the jobs that share GPUs with a placement. It must be called after a
   job has begun to run at this placement or has left it. It calls hr__sharing_update_nodes only in runs in which jobs
   on the same GPU slow each other down. */
enum hr_status hr__sharing_update_nodes(struct hr__engine *engine, const struct hr_placement *placement);
static inline enum hr_status hr__sharing_update_speeds(struct hr__engine *engine,
                                                       const struct hr_placement *placement) {
  return engine->interferes ? hr__sharing_update_nodes(engine, placement) : HR_OK;
}
/* Returns how long a job that starts now must wait until its MIG instances are ready. Must be called exactly once for
   each start, because the function also records the reconfiguration. */
int64_t hr__reconfiguration_us(struct hr__engine *engine, const struct hr_placement *placement);

/* ---- jobs.c: memory of finished jobs in streamed runs ---- */

/* For loops over unfinished jobs. Returns the first job with an id >= `from` that belongs to a block with unfinished
   jobs. Returns `from` if the run is not streamed. */
uint32_t hr__column_reclaim_skip(const struct hr__column_reclaim *reclaim, uint32_t from);

/* ---- run.c: the parts of a run, for several clusters ---- */

/* hr__engine_create creates the columns, the pools and the policy. hr__engine_activate must be called afterwards. It
   activates the components that the run needs. */
enum hr_status hr__engine_create(struct hr__engine *engine);
enum hr_status hr__engine_activate(struct hr__engine *engine);
/* Returns the time of the first pending event; HR_NEVER_US: no event is pending. Submissions are not considered. */
int64_t hr__engine_next_us(const struct hr__engine *engine);
/* Returns whether the run is over. `at_us`: the time of the next event or submission; HR_NEVER_US: none. */
bool hr__engine_is_over(const struct hr__engine *engine, int64_t at_us);
/* Returns whether the next event is only an outdated wake-up of the policy. Called only when all jobs have ended: the
   policy requested the wake-up for a job that has ended since then. */
bool hr__engine_is_outdated(const struct hr__engine *engine);
/* Returns HR_STOPPED if the caller of the run has requested its end. Returns HR_OK in all other cases. Called at each
   instant, before its events. */
enum hr_status hr__engine_poll(struct hr__engine *engine);
/* Returns whether the run makes no progress. `at_us`: the time of the next event or submission; HR_NEVER_US: none. */
bool hr__engine_is_stalled(const struct hr__engine *engine, int64_t at_us);
/* If jobs have only preempted each other for a long time, returns the number of these preemptions. Returns 0 in all
   other cases. `at_us`: the time of the next event or submission; HR_NEVER_US: none. */
uint64_t hr__engine_livelock(const struct hr__engine *engine, int64_t at_us);
/* The steps of an instant. hr__engine_enter sets the clock. hr__engine_free_capacity handles the events before
   submissions. hr__engine_decide handles the events after submissions. If any event was emitted at this instant,
   hr__engine_decide also makes a pass. `n_events`: engine->n_events before the instant. `n_others`: the number of these
   events that are not wake-ups of the policy. */
void hr__engine_enter(struct hr__engine *engine, int64_t now_us);
enum hr_status hr__engine_free_capacity(struct hr__engine *engine);
enum hr_status hr__engine_decide(struct hr__engine *engine, uint64_t n_events, uint64_t n_others);
/* If the next pending event is an event of a service at the present instant, handles all such events, sets `*status`
   and returns true. Returns false in all other cases. */
bool hr__engine_serve(struct hr__engine *engine, enum hr_status *status);
/* Notifies the observers that a pass has been made, that the power has changed, or that the run has ended. */
void hr__notify_instant(struct hr__engine *engine);
/* hr__engine_settle closes the accounts at engine->last_us. hr__engine_finish frees all memory of the engine. */
void hr__engine_settle(struct hr__engine *engine);
void hr__engine_finish(struct hr__engine *engine);

/* ---- clusters.c: several clusters in one run. `whole`: the engine of the whole run ---- */

/* hr__clusters_begin creates the engines of the clusters. hr__clusters_loop runs them. hr__clusters_settle closes their
   accounts and adds their figures to the whole run. hr__clusters_result adds the figures of each cluster to the result.
   hr__clusters_finish frees the memory. */
enum hr_status hr__clusters_begin(struct hr__engine *whole);
enum hr_status hr__clusters_loop(struct hr__engine *whole);
void hr__clusters_settle(struct hr__engine *whole);
enum hr_status hr__clusters_result(struct hr__engine *whole, struct hr_result *result);
void hr__clusters_finish(struct hr__engine *whole);
/* Returns the view of the cluster of a job; NULL before the job is submitted. */
const struct hr_view *hr__clusters_view(const struct hr__engine *whole, hr_job job);
/* Returns whether a job is in the cluster of an engine. Returns true for all jobs if the run has only one cluster. */
static inline bool hr__engine_has(const struct hr__engine *engine, hr_job job) {
  return !engine->whole || hr__clusters_view(engine->whole, job) == &engine->view;
}
/* Submits a replica of a service to the cluster of an engine. */
enum hr_status hr__clusters_submit_replica(struct hr__engine *engine, hr_job job);
/* Begins the present instant in a cluster if it has not begun there yet. Sets `*engine` to the cluster's engine. */
enum hr_status hr__clusters_enter(struct hr__engine *whole, uint32_t cluster, int64_t now_us,
                                  struct hr__engine **engine);
/* If the present instant has begun and has not ended in a cluster, returns the engine of the cluster. Returns NULL in
   all other cases. */
struct hr__engine *hr__clusters_entered(const struct hr__engine *whole, uint32_t cluster);
/* Must be called when an event was scheduled in the engine of a cluster while another cluster may be active. */
void hr__clusters_wake_at(struct hr__engine *engine, int64_t at_us);

/* ---- routing.c: copies of a waiting job in a cluster's engine ---- */

/* hr__dispatch_must_leave returns whether the copy of a job must leave the cluster. hr__dispatch_mark with `leaves`
   records that the copy leaves in this pass; without `leaves`, it removes this record. hr__dispatch_left completes the
   move HR__MOVE_LEAVE. */
bool hr__dispatch_must_leave(const struct hr__engine *engine, hr_job job);
void hr__dispatch_mark(const struct hr__engine *engine, hr_job job, bool leaves);
enum hr_status hr__dispatch_left(struct hr__engine *engine, hr_job job);

/* ---- Checked mode ---- */

/* Checks the invariants of the state (sim/verify/check.c) and of all active components. The invariants of each single
   job are checked only if `every_job` is set. If an invariant is violated, returns HR_INTERNAL; the error names the
   invariant. */
enum hr_status hr__check_state(const struct hr__engine *engine, bool every_job);
/* Writes an error that names a violated invariant, and returns HR_INTERNAL (jobs.c). */
enum hr_status hr__broken(const struct hr__engine *engine, const char *format, ...) HR_PRINTF(2, 3);

/* Returns the job of a link. */
static inline hr_job hr__resident(const struct hr__engine *engine, uint32_t link) {
  return engine->residents.links[link - 1].job;
}

/* The address of an event of a job at the present instant. `placement`: NULL if the job has none. */
#define HR__JOB_EVENT(engine, kind, reason, job, placement)                                                            \
  (&(const struct hr_event){(engine)->view.now_us, kind, reason, job, placement, {HR_NONE}, {HR_NONE}})

/* The address of an event of a node at the present instant. */
#define HR__NODE_EVENT(engine, kind, reason, pool, node)                                                               \
  (&(const struct hr_event){(engine)->view.now_us, kind, reason, {HR_NONE}, NULL, pool, node})

/* Returns the engine that contains a policy's view. */
static inline const struct hr__engine *hr__engine_of(const struct hr_view *view) {
  return (const void *)((const char *)view - offsetof(struct hr__engine, view));
}

/* Returns how many milli-GPUs a job requests. For counted allocation only. */
static inline uint64_t hr__job_gpu_milli(const struct hr_trace *trace, hr_job job) {
  return (uint64_t)trace->gpus[job.id] * 1000;
}

/* Returns how many milli-GPUs a job has or, if it does not run, last had or requests. */
static inline uint64_t hr__job_milli(const struct hr__engine *engine, hr_job job) {
  return engine->gpu_milli ? engine->gpu_milli[job.id] : hr__job_gpu_milli(engine->trace, job);
}

#endif
