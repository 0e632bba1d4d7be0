/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_ENGINE_H
#define HR_SIM_ENGINE_ENGINE_H

/* All state of one run, and the parts of the engine that work on it. */

#include "base/arena.h"
#include "headroom/sim.h"
#include "sim/cluster/cluster.h"
#include "sim/cluster/free_index.h"
#include "sim/cluster/speeds.h"
#include "sim/engine/column_reclaim.h"
#include "sim/engine/event_heap.h"
#include "sim/engine/network.h"
#include "sim/market/supply.h"

/* Where a running job sits. One slice, by far the most common, is kept in place. */
struct hr__allocation_store {
  uint32_t first; /* no slice: the pool; one: the node; more: where they stand in the slice store */
  uint32_t n_slices;
};

/* All that is kept of where a job sits. */
struct hr__allocation {
  struct hr__allocation_store seat;
  uint64_t gpus;      /* where GPUs are told apart: of its one slice */
  uint32_t gpu_milli; /* likewise */
  struct hr_instance instance;
};

/* Blocks of slices of gangs that span nodes, by size class: a block of class k holds 2^k slices. */
enum { HR__SLICE_CLASSES = 32 };
struct hr__slice_store {
  struct hr_slice *slices;
  uint32_t count, capacity;
  uint32_t free_block[HR__SLICE_CLASSES]; /* first free block + 1; the next one's place + 1 stands in its node */
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
  hr_node node;               /* asked for or given back */
  int64_t at_us;              /* of a wake-up; of a notice: when the job is stopped */
  int64_t attempt_us;         /* of a start or a preemption: when the job's attempt before began */
  int64_t kept_us;            /* of a preemption: what was kept before */
  struct hr__allocation seat; /* of a preemption: where the job sat */
  struct hr__node was;        /* of a release */
};

struct hr_moves {
  struct hr__engine *engine;
  struct hr__move *moves;
  uint32_t n_moves, capacity;
  enum hr_status status; /* of the first move that was refused */
};

/* What a running job is doing. */
enum hr__phase {
  HR__PHASE_WORKING,
  HR__PHASE_RESTARTING,
  HR__PHASE_SAVING,
  HR__PHASE_LEAVING,
  HR__PHASE_BACKING_OFF /* died for want of GPU memory, and waits to try again */
};

/* A job in a run where it may be stopped: its fate is kept from its first start, the rest is of its present attempt. */
struct hr__engine_attempt {
  int64_t begun_us;    /* when the attempt began; another time than attempt_us while its start is only planned */
  int64_t phase_us;    /* when its phase began */
  int64_t progress_us; /* work done when its phase began, in all attempts together, but for what was lost */
  uint32_t part;       /* and of the next microsecond of it, in millionths */
  int64_t restart_us;  /* before it works */
  int64_t interval_us; /* work between two checkpoints; HR_NEVER_US: none is made */
  int64_t down_us;     /* of a job that leaves: when its node goes */
  int64_t evict_us;    /* when its policy has it stopped; 0: not */
  bool evict_keeps;    /* all its work is then kept */
  int64_t unkept_us;   /* time of work since the attempt began or its work was last kept */
  int64_t retry_us;    /* of a job that backs off: when it tries again */
  uint32_t kills;      /* in a row, for want of GPU memory */
  uint32_t speed_ppm, gpu_milli;
  enum hr__phase phase;
};

/* Checkpoints that are being written to the storage of a pool. */
struct hr__storage;

/* How fast pairs of models are on one GPU, in order of (model, with). */
struct hr__pair_table {
  struct hr__pair_speed {
    uint64_t models; /* << 32, and the other's, as the trace numbers them */
    uint32_t speed_ppm;
  } * of;
  uint32_t count;
};

/* A GPU whose memory is first come, first served. */
struct hr__claim {
  uint32_t left_mib;
  uint16_t tasks, milli; /* of those that are there and did not die */
};

struct hr__claims {
  struct hr__claim *of_gpu; /* by node and GPU, as in the stock; of other pools not kept. NULL where no pool has such */
  int64_t killed_us;        /* when a job last died */
};

/* The moving part of a pool whose nodes come and go. */
struct hr__market_state;

/* Which jobs sit on a node, in runs where nodes come and go: a list of links for each node. */
struct hr__residents {
  struct hr__resident *links;
  uint32_t *first; /* by node: its first link + 1, 0 for none */
  uint32_t count, capacity, unused;
};
struct hr__resident {
  hr_job job;
  uint32_t next; /* + 1 */
};

struct hr__engine {
  const struct hr_run_config *config;
  struct hr_policy_ops ops; /* the policy's; what it was not built with is NULL */
  const struct hr_trace *trace;
  struct hr_arena arena;
  struct hr_cluster cluster;
  struct hr__event_heap heap; /* ends of running jobs, wake-ups, what happens to nodes */
  uint32_t cursor;            /* the next job to arrive */
  struct hr_view view;
  struct hr_moves plan;
  void *policy;
  uint32_t abilities; /* of the policy */
  struct hr_error *error;

  uint8_t *state, *reason;           /* by job: enum hr_job_state, enum hr_reason */
  int64_t *start_us;                 /* by job */
  struct hr__allocation_store *seat; /* by job, while it runs */
  uint64_t *seat_gpus;               /* likewise: of its one slice, where GPUs are told apart; else NULL */
  struct hr_instance *seat_instance; /* likewise */
  uint32_t *gpu_milli;               /* by job, of its last attempt; likewise */
  struct hr__column_reclaim reclaim; /* of all columns by job, in a streamed run */
  struct hr__slice_store store;
  struct hr__speed_table speeds;
  struct hr__network_speeds network;
  int64_t *ended_us; /* by job, in runs with speeds where no job may be stopped */

  /* In runs where a job may be stopped before its end; NULL in others. */
  int64_t *attempt_us, *kept_us;        /* by job */
  struct hr__engine_attempt *attempt;   /* by job */
  struct hr_job_accounting *accounting; /* by job */
  struct hr__storage *storage;          /* by pool */

  /* In runs where nodes come and go. */
  struct hr__market_state *markets;           /* by pool */
  struct hr_pool_accounting *pool_accounting; /* by pool */
  struct hr__residents residents;

  struct hr__claims claims;
  bool interferes;              /* jobs slow down others that they share GPUs with */
  struct hr__pair_table *pairs; /* by pool: what is known of pairs of models */
  int64_t *split_us;            /* by GPU: until when MIG splits it anew; NULL where that takes no time */

  uint64_t n_submitted, n_completed, n_rejected, n_backfilled, n_events, n_passes;
  int64_t last_us;           /* the last instant at which something happened */
  int64_t last_progress_us;  /* the last instant at which a job arrived or ended, or work became safe */
  int64_t longest_us;        /* that a job works where it is slowest; in a streamed run: of those that came */
  uint32_t interference_ppm; /* the least speed that neighbours leave to a job */
  bool stalled;
  uint64_t digest;
};

/* seats.c */
enum hr_status hr__allocation_keep(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* Where a job sits as it is kept, and back to it: a job may get another seat before it has left one. */
struct hr__allocation hr__allocation_get(const struct hr__engine *engine, hr_job job);
void hr__allocation_set(struct hr__engine *engine, hr_job job, struct hr__allocation seat);
/* The placement of a running job; `one` is where a single slice is written. Valid until the next seat is kept. */
struct hr_placement hr__allocation_placement(const struct hr__engine *engine, hr_job job, struct hr_slice *one);
void hr__allocation_drop(struct hr__engine *engine, hr_job job);

/* run.c: a column by job, all zero, that the result has in the end, from malloc; where the run is streamed it is the
   engine's, as those of hr_arena_alloc_by_job are. NULL when out of memory. */
void *hr__result_column(struct hr__engine *engine, size_t width);

/* plan.c */
void hr__plan_clear(struct hr_moves *plan);

/* happen.c: for the parts that make things happen. */
enum hr_status hr__out_of_memory(const struct hr__engine *engine);
/* Tells the folds; the policy; both, as is right for what the policy did not do itself. */
void hr__notify_observers(struct hr__engine *engine, const struct hr_event *event);
enum hr_status hr__emit(struct hr__engine *engine, const struct hr_event *event);
enum hr_status hr__schedule(struct hr__engine *engine, int64_t at_us, enum hr__pending_kind kind, uint32_t entity);

/* checkpoints.c: how a job checkpoints. */

/* attempts.c: jobs that may be stopped before their end. */
enum hr_status hr__attempts_init(struct hr__engine *engine);
/* A job has nothing behind it: done for all at the beginning, but in a streamed run for each as it comes. */
void hr__attempt_submit(struct hr__engine *engine, hr_job job);
/* Its speed is another from now on; nothing happens when it is the same. */
enum hr_status hr__attempt_pace(struct hr__engine *engine, hr_job job, uint32_t speed_ppm);
/* A job that has just been placed begins to work, or to restart. */
enum hr_status hr__attempt_begin(struct hr__engine *engine, hr_job job);
/* The running job's phase ends. */
enum hr_status hr__attempt_advance(struct hr__engine *engine, hr_job job);
/* The running job's work is done; the books of its attempt are closed. */
void hr__attempt_end(struct hr__engine *engine, hr_job job);
/* Whether its work is safe at all times. */
bool hr__attempt_keeps_all(const struct hr__engine *engine, hr_job job);
/* Likewise for one that stops: what is not kept is lost. */
enum hr_status hr__attempt_stop(struct hr__engine *engine, hr_job job, bool keep);
/* A running job is told that it will be stopped at `down_us`. */
enum hr_status hr__attempt_notice(struct hr__engine *engine, hr_job job, int64_t down_us);
/* The policy gives a running job grace; the grace is over. */
enum hr_status hr__attempt_schedule_eviction(struct hr__engine *engine, hr_job job, int64_t evict_us, bool keeps);
enum hr_status hr__attempt_evict(struct hr__engine *engine, hr_job job);
/* A running job loses its place now and waits again. */
enum hr_status hr__attempt_interrupt(struct hr__engine *engine, hr_job job, enum hr_reason reason);
/* At the end of the run: what still runs has kept what it has done. */
void hr__attempts_settle(struct hr__engine *engine);

/* storage.c: writers of checkpoints share a pool's bandwidth. */
enum hr_status hr__storage_init(struct hr__engine *engine);
void hr__storage_finish(struct hr__engine *engine);
/* Calls `visit` for each job that is writing to the pool's storage. */
void hr__storage_each(const struct hr__engine *engine, hr_pool pool, void (*visit)(void *self, hr_job job), void *self);
/* How long `mib` would take now if nobody joined or left. */
int64_t hr__storage_forecast_us(const struct hr__engine *engine, hr_pool pool, uint64_t mib);
enum hr_status hr__storage_write(struct hr__engine *engine, hr_pool pool, hr_job job, uint64_t mib);
enum hr_status hr__storage_drop(struct hr__engine *engine, hr_pool pool, hr_job job);
/* The first writer is done: which job; HR_NONE when the pending entry was overtaken by events. */
enum hr_status hr__storage_turn(struct hr__engine *engine, hr_pool pool, hr_job *done);

/* market.c: nodes that come and go. */
enum hr_status hr__markets_init(struct hr__engine *engine);
void hr__markets_finish(struct hr__engine *engine);
/* What is pending for a pool or a node happens. */
enum hr_status hr__market_turn(struct hr__engine *engine, enum hr__pending_kind kind, uint32_t entity);
/* Asks for all nodes that can be had, where the policy does not; whether there were any. */
enum hr_status hr__markets_acquire_all(struct hr__engine *engine, bool *any);
/* The next node that can be had in a pool. */
hr_node hr__market_next_offer(const struct hr__engine *engine, hr_pool pool);
/* Asks for a node that can be had; and takes that back in the same pass. */
void hr__market_book(struct hr__engine *engine, hr_node node);
void hr__market_unbook(struct hr__engine *engine, hr_node node);
/* A node that was asked for is paid for from now on, and boots. */
enum hr_status hr__market_launch(struct hr__engine *engine, hr_node node);
/* Moves a node from one state to another, with all accounts. */
void hr__market_set_state(struct hr__engine *engine, hr_node node, enum hr_node_state state);
/* At the end of the run. */
void hr__markets_settle(struct hr__engine *engine);

/* claims.c: memory of GPUs that is first come, first served. */
enum hr_status hr__claims_init(struct hr__engine *engine);
/* What the GPU's tasks claim; NULL where memory is not first come, first served. */
const struct hr__claim *hr__claim_on(const struct hr__engine *engine, hr_pool pool, hr_node node, uint32_t gpu);
/* A job that is about to come up claims what its tasks ask for, all of it or nothing; false: it dies. True where there
   is nothing to claim. */
bool hr__claims_take(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* The job leaves its placement: what it claims is given back. */
void hr__claims_give(struct hr__engine *engine, hr_job job);
/* A job that got nothing is counted, and will try again. */
enum hr_status hr__claims_back_off(struct hr__engine *engine, hr_job job);

/* network.c: how fast a job is at its placement, were it alone there. */
uint32_t hr__speed_at_ppm(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement);

/* within.c: the rule that a start would break by how far it spreads, NULL: none. */
const char *hr__locality_refuses(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement);

/* After the markets. */
enum hr_status hr__neighbours_init(struct hr__engine *engine);
/* How fast a job is at its placement, with the neighbours that it has there now. */
uint32_t hr__speed_now_ppm(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* A job has come to this placement, or has left it: those on the same GPUs go on at other speeds. */
enum hr_status hr__neighbours_change(struct hr__engine *engine, const struct hr_placement *placement);
/* The least speed that neighbours leave to a job. */
uint32_t hr__least_interference_ppm(const struct hr__engine *engine);

/* splits.c: GPUs that MIG splits anew. */
enum hr_status hr__splits_init(struct hr__engine *engine);

/* residents.c */
enum hr_status hr__residents_add(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
void hr__residents_remove(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);

/* check.c: the whole state against itself; HR_INTERNAL and the error's text when something does not hold. */
enum hr_status hr__check_state(const struct hr__engine *engine, bool every_job);

static inline struct hr_event hr__node_event(const struct hr__engine *engine, enum hr_event_kind kind,
                                             enum hr_reason reason, hr_pool pool, hr_node node) {
  return (struct hr_event){engine->view.now_us, kind, reason, {HR_NONE}, NULL, pool, node};
}

/* The engine whose view a policy has. */
static inline const struct hr__engine *hr__engine_of(const struct hr_view *view) {
  return (const void *)((const char *)view - offsetof(struct hr__engine, view));
}

static inline uint64_t hr__job_gpu_milli(const struct hr_trace *trace, hr_job job) {
  return (uint64_t)trace->gpus[job.id] * 1000;
}

#endif
