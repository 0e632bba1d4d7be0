/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_ENGINE_H
#define HR_SIM_ENGINE_ENGINE_H

/* The state of one run and the functions that files of the engine share. All of the state is in struct hr__engine;
   there are no globals. Per-job and per-node columns are indexed by id. The files: run.c (loop, start and end of a
   run), moves.c (moves of the policy), attempts.c (jobs that can be stopped, checkpoints), sharing.c
   (jobs on one GPU), allocations.c (where running jobs are), column_reclaim.c (streamed runs),
   events.c; and in sim/market/market.c the nodes of elastic pools. */

#include "base/arena.h"
#include "headroom/sim.h"
#include "sim/cluster/cluster.h"
#include "sim/cluster/speeds.h"
#include "sim/engine/events.h"
#include "sim/market/market.h"

#include <inttypes.h>
#include <stdlib.h>

/* The placement of a running job in compact form. A single slice, by far the most common case, needs no block of the
   slice store. */
struct hr__allocation_ref {
  uint32_t first; /* no slice: the pool; one slice: the node; more: the index of the first one in the slice store */
  uint32_t n_slices;
};

/* All that is stored about a placement. */
struct hr__allocation {
  struct hr__allocation_ref ref;
  uint64_t gpus;      /* of a single slice, in per-GPU allocation */
  uint32_t gpu_milli; /* of a single slice, in per-GPU allocation */
  struct hr_instance instance;
};

/* Slices of gangs that span nodes, in blocks by size class: a block of class k holds 2^k slices. Freed blocks are
   reused. */
enum { HR__SLICE_CLASSES = 32 };
struct hr__slice_store {
  struct hr_slice *slices;
  uint32_t count, capacity;
  /* first free block + 1; 0: none. The id of the node in a free block's first slice is the next free block + 1 */
  uint32_t free_block[HR__SLICE_CLASSES];
};

enum hr__move_kind {
  HR__MOVE_START,
  HR__MOVE_REJECT,
  HR__MOVE_WAKE,
  HR__MOVE_PREEMPT,
  HR__MOVE_NOTICE,
  HR__MOVE_ACQUIRE,
  HR__MOVE_RELEASE
};

struct hr__move {
  enum hr__move_kind kind;
  enum hr_reason reason;
  bool keeps; /* of a preemption or a notice: all work is kept */
  hr_job job;
  hr_node node;                     /* of an acquisition or a release */
  int64_t at_us;                    /* of a wake-up; of a notice: when the job is stopped */
  int64_t attempt_us;               /* of a start or a preemption: when the job's previous attempt began */
  int64_t kept_us;                  /* of a preemption: the work kept before it */
  struct hr__allocation allocation; /* of a preemption: the placement of the job before it */
  struct hr__node was;              /* of a release: the node before it */
};

struct hr_moves {
  struct hr__engine *engine;
  struct hr__move *list;
  uint32_t count, capacity;
  enum hr_status status; /* of the first move that was refused */
};

/* The phase of a running job that can be stopped. */
enum hr__phase {
  HR__PHASE_WORKING,
  HR__PHASE_RESTARTING,
  HR__PHASE_SAVING,
  HR__PHASE_LEAVING,
  HR__PHASE_BACKING_OFF /* killed for lack of GPU memory; waits before it tries again */
};

/* The present attempt of a job, in runs where jobs can be stopped. */
struct hr__engine_attempt {
  int64_t begun_us;    /* when the attempt began; differs from attempt_us while its start is only planned */
  int64_t phase_us;    /* when its phase began */
  int64_t progress_us; /* work completed when its phase began, in all attempts together, less the lost work */
  uint32_t part;       /* the fraction of the next microsecond of work, in millionths */
  int64_t restart_us;  /* restart overhead before it works */
  int64_t interval_us; /* work between two checkpoints; HR_NEVER_US: no periodic checkpoints */
  int64_t down_us;     /* of a job that leaves: when its node goes down */
  int64_t evict_us;    /* when the policy's notice ends; 0: no notice */
  bool evict_keeps;    /* all its work is kept at that time */
  int64_t unkept_us;   /* time of work since the attempt began or its work was last kept */
  int64_t retry_us;    /* of a job that backs off: when it tries again */
  uint32_t kills;      /* consecutive kills for lack of GPU memory */
  uint32_t speed_ppm, gpu_milli;
  enum hr__phase phase;
};

/* The storage of a pool (attempts.c). Service is counted in units of 2^-10 MiB x microseconds per second. */
__extension__ typedef unsigned __int128 hr__service;
struct hr__storage {
  uint64_t mib_s;
  hr__service clock; /* the service that each writer has received so far */
  int64_t clock_us;  /* when the clock was last updated */
  int64_t next_us;   /* when the first writer is done */
  struct hr__storage_writer {
    hr__service mark;
    hr_job job;
  } * writers; /* of checkpoints; sorted by (mark, job) */
  uint32_t count, capacity;
};

/* The known speeds of pairs of models that share a GPU, sorted by (model, other model). */
struct hr__pair_table {
  struct hr__pair_speed {
    uint64_t models; /* model << 32 | other model, as numbered in the trace */
    uint32_t speed_ppm;
  } * of;
  uint32_t count;
};

/* Memory of a GPU that is given out first come, first served (no requests enforced by the policy). */
struct hr__claim {
  uint32_t left_mib;
  uint16_t tasks, milli; /* of the tasks that have memory there */
};

struct hr__claims {
  /* by node and GPU, as in the GPU inventory; entries of other pools are not maintained; NULL if no pool has such
     GPUs */
  struct hr__claim *of_gpu;
  int64_t killed_us; /* when a job was last killed for lack of memory */
};

/* The changing state of a pool with nodes that come and go (sim/market/market.c). */
struct hr__engine_market;

/* The jobs on each node, as linked lists in one array; freed links are reused. */
struct hr__residents {
  struct hr__resident *links;
  uint32_t *first; /* by node: its first link + 1; 0: none */
  uint32_t count, capacity, unused;
};
struct hr__resident {
  hr_job job;
  uint32_t next; /* link + 1; 0: the last one */
};

/* Reclaims the memory of finished jobs during a streamed run (column_reclaim.c). */
struct hr__column_reclaim {
  uint32_t *unfinished;          /* by block: jobs that are not finished; NULL: the run is not streamed */
  uint32_t n_blocks, block_jobs; /* block_jobs: a multiple of the page size */
  struct hr__reclaimed_column {
    char *at;
    size_t width;  /* of an entry, in bytes */
    size_t bytes;  /* of the whole mapping; 0: the column belongs to the trace */
    size_t length; /* of a column of the trace: of all its entries, in bytes */
  } * columns;
  uint32_t n_columns, capacity;
};

struct hr__engine {
  const struct hr_run_config *config;
  struct hr_policy_ops ops; /* copied from the policy; members that its version does not have are NULL */
  const struct hr_trace *trace;
  struct hr_arena arena;
  struct hr_cluster cluster;
  struct hr__event_heap heap; /* ends of running jobs, wake-ups, node events */
  uint32_t cursor;            /* the next job to be submitted */
  struct hr_view view;
  struct hr_moves moves;
  void *policy;
  uint32_t abilities; /* enum hr_policy_ability flags of the policy */
  struct hr_error *error;

  uint8_t *state, *reason;                 /* by job: enum hr_job_state, enum hr_reason */
  int64_t *start_us;                       /* by job: first start, HR_NEVER_US before */
  struct hr__allocation_ref *allocation;   /* by job, while it runs */
  uint64_t *allocation_gpus;               /* by job, of a single slice; NULL unless GPUs are allocated individually */
  struct hr_instance *allocation_instance; /* by job, of a single slice; NULL unless GPUs are allocated individually */
  uint32_t *gpu_milli;               /* by job, of its last attempt; NULL unless GPUs are allocated individually */
  struct hr__column_reclaim reclaim; /* of all per-job columns, in a streamed run */
  struct hr__slice_store store;
  struct hr__speed_table speeds;
  struct hr__network_speeds network;
  int64_t *ended_us; /* by job: completion, in runs with speeds in which no job can be stopped */

  /* In runs where jobs can be stopped before their end; else NULL. */
  int64_t *attempt_us, *kept_us;        /* by job */
  struct hr__engine_attempt *attempt;   /* by job */
  struct hr_job_accounting *accounting; /* by job */
  struct hr__storage *storage;          /* by pool */

  /* In runs where nodes come and go. */
  struct hr__engine_market *markets;          /* by pool */
  struct hr_pool_accounting *pool_accounting; /* by pool */
  struct hr__residents residents;

  struct hr__claims claims;
  bool interferes;              /* jobs slow down others that share a GPU with them */
  struct hr__pair_table *pairs; /* by pool */
  int64_t *split_us;            /* by GPU: when its MIG reconfiguration ends; NULL if reconfiguration takes no time */

  uint64_t n_submitted, n_completed, n_rejected, n_backfilled, n_events, n_passes;
  int64_t last_us;          /* the last instant with an event */
  int64_t last_progress_us; /* the last instant at which a job was submitted or ended, or work was kept */
  /* the longest run time of a job at the lowest speed; in a streamed run, of the jobs submitted so far */
  int64_t longest_us;
  uint32_t interference_ppm; /* the lowest speed of a job that shares its GPUs */
  bool stalled;
  uint64_t digest;
};

/* ---- allocations.c ---- */
/* Stores the placement of a job that starts. HR_NO_MEMORY. */
enum hr_status hr__allocation_store(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* The stored placement of a job, and its reverse. A job may get a new placement before its old one is freed. */
static inline struct hr__allocation hr__allocation_get(const struct hr__engine *engine, hr_job job) {
  struct hr__allocation kept = {.ref = engine->allocation[job.id]};
  if (!engine->allocation_gpus) return kept;
  kept.gpus = engine->allocation_gpus[job.id];
  kept.gpu_milli = engine->gpu_milli[job.id];
  kept.instance = engine->allocation_instance[job.id];
  return kept;
}

static inline void hr__allocation_set(struct hr__engine *engine, hr_job job, struct hr__allocation allocation) {
  engine->allocation[job.id] = allocation.ref;
  if (!engine->allocation_gpus) return;
  engine->allocation_gpus[job.id] = allocation.gpus;
  engine->gpu_milli[job.id] = allocation.gpu_milli;
  engine->allocation_instance[job.id] = allocation.instance;
}

/* The placement of a running job. `one` is storage for a single slice. Valid until the next placement is stored. */
struct hr_placement hr__allocation_placement(const struct hr__engine *engine, hr_job job, struct hr_slice *one);
/* Frees the stored slices of a job that has left its placement. */
void hr__allocation_free(struct hr__engine *engine, hr_job job);

/* Adds a job to the lists of its nodes, or removes it. */
enum hr_status hr__residents_add(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
void hr__residents_remove(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);

/* ---- Memory ---- */
/* Allocates a zeroed per-job column of the result: from malloc, or from the arena if the run is streamed. NULL if
   memory is exhausted. */
static inline void *hr__result_column(struct hr__engine *engine, size_t width) {
  if (engine->config->stream) return hr_arena_alloc_by_job(&engine->arena, engine->trace->n_jobs, width);
  return calloc((size_t)engine->trace->n_jobs + 1, width);
}

/* Sets the error of the run and returns HR_NO_MEMORY. */
static inline enum hr_status hr__out_of_memory(const struct hr__engine *engine) {
  return hr_fail(engine->error, HR_NO_MEMORY, "out of memory for %" PRIu32 " jobs", engine->trace->n_jobs);
}

/* ---- events.c ---- */
/* Adds the event to the digest and notifies the observers. */
void hr__notify_observers(struct hr__engine *engine, const struct hr_event *event);
/* Notifies only the policy, of an event that the observers have already seen. Fails if the policy does. */
enum hr_status hr__notify_policy(struct hr__engine *engine, const struct hr_event *event);
/* Adds the event to the digest and notifies observers and policy. Fails if the policy does. */
static inline enum hr_status hr__emit(struct hr__engine *engine, const struct hr_event *event) {
  hr__notify_observers(engine, event);
  return hr__notify_policy(engine, event);
}
/* Schedules an event. HR_NO_MEMORY. */
static inline enum hr_status hr__schedule(struct hr__engine *engine, int64_t at_us, enum hr__pending_kind kind,
                                          uint32_t entity) {
  return hr__event_heap_push(&engine->heap, hr__pending(at_us, kind, entity)) == HR_OK ? HR_OK
                                                                                       : hr__out_of_memory(engine);
}

/* ---- attempts.c: jobs that can be stopped before their end ---- */
/* Allocates the columns of attempts. HR_NO_MEMORY. */
enum hr_status hr__attempts_init(struct hr__engine *engine);
/* Initializes the state of a job: for all jobs at the start of a run, or at submission if the run is streamed. */
static inline void hr__attempt_submit(struct hr__engine *engine, hr_job job) {
  engine->attempt_us[job.id] = HR_NEVER_US;
  engine->accounting[job.id].end_us = engine->accounting[job.id].saved_us = HR_NEVER_US;
}

/* A job that was just placed begins to work or to restart, or is killed if its GPU memory is not available. The jobs on
   its GPUs change their speed. */
enum hr_status hr__attempt_begin(struct hr__engine *engine, hr_job job);
/* Handles a pending event of a job or of a pool's storage: the end of a phase, of a write, or of a policy's notice. */
enum hr_status hr__attempts_advance(struct hr__engine *engine, struct hr__pending pending);
/* Closes the accounts of a running job that has completed its work. The cluster already has its capacity back. */
enum hr_status hr__attempt_end(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* Whether the job's work is kept at all times (continuous checkpoints). */
bool hr__attempt_keeps_all(const struct hr__engine *engine, hr_job job);
/* Ends the attempt of a running job, whose capacity the cluster already has back. Work that is not kept is lost, unless
   `keep` is set. */
enum hr_status hr__attempt_stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement, bool keep);
/* A running job learns that it will be stopped at `down_us`. */
enum hr_status hr__attempt_notice(struct hr__engine *engine, hr_job job, int64_t down_us);
/* The policy's notice to a running job: it will be stopped at `evict_us`, with all work kept if `keeps` is set.
   hr__attempts_advance stops it when that time has come. */
enum hr_status hr__attempt_schedule_eviction(struct hr__engine *engine, hr_job job, int64_t evict_us, bool keeps);
/* Stops a running job now and returns it to the queue. */
enum hr_status hr__attempt_interrupt(struct hr__engine *engine, hr_job job, enum hr_reason reason);
/* At the end of the run: all work of jobs that still run counts as kept. */
void hr__attempts_settle(struct hr__engine *engine);

/* ---- sim/market/market.c: nodes that come and go ---- */
/* Allocates the state of elastic and reserved pools and schedules their first events. HR_NO_MEMORY. */
enum hr_status hr__markets_init(struct hr__engine *engine);
/* Frees what markets allocated outside the arena. */
void hr__markets_finish(struct hr__engine *engine);
/* Handles a pending event of a pool or a node. */
enum hr_status hr__markets_advance(struct hr__engine *engine, struct hr__pending pending);
/* For policies that do not manage capacity: requests all available nodes. `*any`: whether there were any. */
enum hr_status hr__markets_acquire_all(struct hr__engine *engine, bool *any);
/* Requests the next available node of a pool, which must have one; cancels the request in the same pass. */
hr_node hr__market_request(struct hr__engine *engine, hr_pool pool);
void hr__market_cancel(struct hr__engine *engine, hr_node node);
/* Starts the node that was requested: it is billed from now on, and boots. */
enum hr_status hr__market_launch(struct hr__engine *engine, hr_node node);
/* Changes the state of a node and all accounts that depend on it. */
void hr__market_set_state(struct hr__engine *engine, hr_node node, enum hr_node_state state);
/* Closes the accounts at the end of the run. */
void hr__markets_settle(struct hr__engine *engine);

/* ---- sharing.c: jobs on one GPU ---- */
/* Claims GPU memory for all tasks of a job that is about to work, or for none: false if some GPU has too little.
   True if there is nothing to claim. */
bool hr__claims_take(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* Releases the memory of a job that leaves its placement. */
void hr__claims_release(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);

/* The speed of a job at its placement, if it were alone there: of its GPU type and of the network between its GPUs.
   In ppm of the reference. */
uint32_t hr__speed_at_ppm(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement);

/* Allocates the state of claims, of jobs that slow each other down, and of MIG reconfigurations, and adjusts the
   longest run time to them. Call this after hr__markets_init. HR_NO_MEMORY. */
enum hr_status hr__sharing_init(struct hr__engine *engine);
/* As hr__speed_at_ppm, with the jobs that share its GPUs now. */
uint32_t hr__speed_now_ppm(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* Whether jobs that share a GPU of the pool slow each other down. */
static inline bool hr__pool_interferes(const struct hr_pool_spec *spec) {
  if (spec->nodes == 0) return false;
  if (spec->sharing == HR_SHARING_TIME_SLICE) return true;
  return spec->sharing != HR_SHARING_WHOLE && (spec->n_interference > 0 || spec->n_pairs > 0);
}

/* Whether a placement has one of the GPUs of the node, a set. */
static inline bool hr__placement_has_gpu(const struct hr_placement *placement, hr_node node, uint64_t gpus) {
  for (uint32_t i = 0; i < placement->n_slices; i++)
    if (placement->slices[i].node.id == node.id && placement->slices[i].gpus & gpus) return true;
  return false;
}

/* The time from a job's start until its MIG instances are ready. Must be called once for each start. */
int64_t hr__reconfiguration_us(struct hr__engine *engine, const struct hr_placement *placement);

/* ---- column_reclaim.c: memory of finished jobs in streamed runs ---- */

/* Prepares the columns of the trace, which must be mapped, and those that the engine's arena will allocate.
   HR_BAD_INPUT if the trace is not mapped. */
enum hr_status hr__column_reclaim_init(struct hr__engine *engine);
/* The job is finished: nothing will read its columns any more. */
void hr__column_reclaim_job(struct hr__column_reclaim *reclaim, hr_job job);
/* The first job >= `from` in a block that has unfinished jobs; `from` itself if the run is not streamed. */
uint32_t hr__column_reclaim_skip(const struct hr__column_reclaim *reclaim, uint32_t from);
/* Unmaps the engine's columns. */
void hr__column_reclaim_finish(struct hr__column_reclaim *reclaim);

/* Checks all invariants of the state (sim/verify/check.c); of every job only if `every_job` is set. HR_INTERNAL with
   the violated invariant in the error. */
enum hr_status hr__check_state(const struct hr__engine *engine, bool every_job);

/* An event of a node at the present instant. */
static inline struct hr_event hr__node_event(const struct hr__engine *engine, enum hr_event_kind kind,
                                             enum hr_reason reason, hr_pool pool, hr_node node) {
  return (struct hr_event){engine->view.now_us, kind, reason, {HR_NONE}, NULL, pool, node};
}

/* The engine that a policy's view belongs to. */
static inline const struct hr__engine *hr__engine_of(const struct hr_view *view) {
  return (const void *)((const char *)view - offsetof(struct hr__engine, view));
}

/* The milli-GPUs that a job requests, in counted allocation. */
static inline uint64_t hr__job_gpu_milli(const struct hr_trace *trace, hr_job job) {
  return (uint64_t)trace->gpus[job.id] * 1000;
}

#endif
