/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_COMPONENT_H
#define HR_SIM_ENGINE_COMPONENT_H

/*
 * Pending events and components. A component is a feature of the engine that only some runs need. Examples are jobs
 * that can be stopped, and nodes that are added and removed during the run. Each component is one struct hr__component
 * and one row of the list in run.c. A hook is a function of a component. The engine calls the hooks of all active
 * components in the order of the list.
 *
 * A run begins in four steps:
 *   1. The engine calls `open` of all components, which allocates memory. The engine has no columns yet.
 *   2. The engine creates its columns and the cluster. Then it calls `init` of all components, which creates state that
 *      the policy can see.
 *   3. The engine creates the policy.
 *   4. The engine asks `is_needed` or `part` of each component. If the component is needed, it becomes active, and the
 *      engine calls its `begin`.
 *
 * `close` is called for all components, in reverse order, even after an error in any step. All other hooks are called
 * for active components only. A run that needs no features therefore has only one active component (jobs that run to
 * their end, jobs.c). Hooks may be NULL. If a hook with result enum hr_status does not return
 * HR_OK, the hook has written the error of the run.
 */

#include "headroom/sim.h"

#include <stdlib.h>

/* ---- Pending events --------------------------------------------------------------------------------- */

/* The pending events of a run, ordered by (time, kind, entity). Implemented in jobs.c. */

/* Kinds of pending events, in the order in which they are handled at one instant. Most events that release capacity are
   first, then events that remove capacity, then events that add capacity. Submissions are handled after
   HR__PENDING_NODE_UP and before HR__PENDING_SERVICE. */
enum hr__pending_kind {
  HR__PENDING_END,          /* a job completes */
  HR__PENDING_PHASE,        /* the phase of a job ends: restart, checkpoint, work between checkpoints, or back-off */
  HR__PENDING_DATA,         /* the first flow of data ends */
  HR__PENDING_STORAGE,      /* the first write to a pool's storage completes */
  HR__PENDING_EVICT,        /* the notice of a preempted job ends */
  HR__PENDING_FAULT,        /* a unit of nodes fails */
  HR__PENDING_FAULT_FOUND,  /* the failure of a unit is detected */
  HR__PENDING_DRAIN,        /* a group of nodes is closed for maintenance, or the work on it begins */
  HR__PENDING_LEVEL_AHEAD,  /* a pool's level of availability will change when a notice period has passed */
  HR__PENDING_LEVEL,        /* a pool's level of availability changes */
  HR__PENDING_INTERRUPTION, /* the next group interruption of a pool: the nodes of the group get notice */
  HR__PENDING_NODE_NOTICE,  /* a node gets notice that it will go down */
  HR__PENDING_NODE_DOWN,    /* a node goes down */
  HR__PENDING_WINDOW_CLOSE, /* a pool's reservation ends */
  HR__PENDING_WINDOW_OPEN,  /* a pool's reservation begins */
  HR__PENDING_SPARE,        /* a spare node comes up */
  HR__PENDING_SLOW,         /* a node becomes slow, or is fast again */
  HR__PENDING_REPAIR,       /* a unit is repaired */
  HR__PENDING_SERVICED,     /* the work on a group of nodes ends */
  HR__PENDING_STANDBY,      /* a node has been idle for some time, has been suspended, or has woken up */
  HR__PENDING_NODE_UP,      /* a provider delivers a requested node, or a node has booted */
  HR__PENDING_SERVICE,      /* the next event of an inference service */
  HR__PENDING_SCAN,         /* the autoscaler acts after the pass of this instant */
  HR__PENDING_TIMER         /* a wake-up of the policy */
};

struct hr__pending {
  int64_t at_us;
  uint64_t kind_entity; /* kind << 32 | entity */
};

struct hr__event_heap {
  struct hr__pending *entries;
  uint32_t count, capacity;
  bool is_taken; /* the first entry was taken, but is still in the array; the next insertion replaces it */
  /* by job: the index of the job's only entry + 1, or 0 if the job has no entry. NULL if entries of jobs are never
     removed before their time */
  uint32_t *place;
};

static inline struct hr__pending hr__pending(int64_t at_us, enum hr__pending_kind kind, uint32_t entity) {
  return (struct hr__pending){at_us, (uint64_t)kind << 32 | entity};
}
static inline enum hr__pending_kind hr__pending_kind(struct hr__pending pending) {
  return (enum hr__pending_kind)(pending.kind_entity >> 32);
}
static inline uint32_t hr__pending_entity(struct hr__pending pending) {
  return (uint32_t)pending.kind_entity;
}
/* Returns whether `a` precedes `b`. Time, kind and entity are combined into one 128-bit number. This is possible
   because times are not negative. The comparison therefore has no branches. The processor could not predict branches
   well here, because each of the two children of a heap node is equally likely to be the smaller one. */
static inline bool hr__pending_before(struct hr__pending a, struct hr__pending b) {
  __extension__ typedef unsigned __int128 wide;
  return ((wide)(uint64_t)a.at_us << 64 | a.kind_entity) < ((wide)(uint64_t)b.at_us << 64 | b.kind_entity);
}

/* Inserts an entry in O(log n) time. Returns HR_NO_MEMORY if memory is exhausted. */
enum hr_status hr__event_heap_push(struct hr__event_heap *heap, struct hr__pending pending);
/* Removes the first entry in O(log n) time and returns it. The heap must not be empty. */
struct hr__pending hr__event_heap_pop(struct hr__event_heap *heap);
/* Returns the first entry. The heap must not be empty. The entry remains in the array until the next call of another
   function of the heap. If this call is an insertion, the new entry replaces the taken entry. This is faster than a
   removal and an insertion. hr__event_heap_settle must be called before the entries are read. */
struct hr__pending hr__event_heap_take(struct hr__event_heap *heap);
/* Removes the entry that was taken, unless a new entry has replaced it. */
void hr__event_heap_settle(struct hr__event_heap *heap);
/* Removes the entry of a job, if the job has one, in O(log n) time. `place` must not be NULL. */
void hr__event_heap_remove_job(struct hr__event_heap *heap, uint32_t job);
/* Frees the entries, but not `place`, which belongs to the caller. */
static inline void hr__event_heap_finish(struct hr__event_heap *heap) {
  free(heap->entries);
  *heap = (struct hr__event_heap){0};
}

/* ---- Components ------------------------------------------------------------------------------------- */

struct hr__engine;

/* How a job leaves its placement. */
enum hr__stop {
  HR__STOP_END,        /* it has completed its work */
  HR__STOP_KEEP_ALL,   /* it is stopped, and all its work is kept */
  HR__STOP_KEEP_SAVED, /* it is stopped, and only the work before its last checkpoint is kept */
  /* it continues at once at another placement (attempts.c). RESIZE: its work so far is kept. SHRINK: its work since the
     last checkpoint is not kept, so a later stop can still lose this work */
  HR__STOP_RESIZE,
  HR__STOP_SHRINK
};

/* A notice to a running job: it will be stopped at `at_us`. */
struct hr__job_notice {
  int64_t at_us;
  bool evicts; /* the notice is a move of the policy: the job is stopped at `at_us` even if its nodes remain up */
  bool keeps;  /* all work of the job is kept when it is stopped */
};

/* The running jobs that checked mode has found. */
struct hr__running {
  hr_job *jobs;
  uint32_t count;
  bool every_job; /* the check also covers jobs that do not run */
};

struct hr__component {
  /* The component can stop jobs or change their speed. The component `attempts` is then active. A component with this
     flag precedes `attempts` in the list. */
  bool disturbs_jobs;
  bool is_endless; /* the component always has further pending events; the run ends when its last job has ended */
  enum hr_status (*open)(struct hr__engine *engine);
  enum hr_status (*init)(struct hr__engine *engine);
  bool (*is_needed)(const struct hr__engine *engine);
  /* If `is_needed` is NULL: the offset of a pointer in struct hr__engine; the component is needed if it is not NULL. */
  size_t part;
  enum hr_status (*begin)(struct hr__engine *engine);

  /* ---- Jobs ---- */
  /* A job is submitted. In a streamed run, the component initializes the job's elements of its columns now. */
  void (*submit)(struct hr__engine *engine, hr_job job);
  /* A job starts at a placement. The observers have already been notified. `run_us`: the run time of the job there if
     nothing disturbs the job. */
  enum hr_status (*start)(struct hr__engine *engine, hr_job job, const struct hr_placement *placement, int64_t run_us);
  /* A job leaves its placement. The capacity was already released in the cluster. The event is emitted afterwards. */
  enum hr_status (*stop)(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                         enum hr__stop stop);
  /* A running job gets notice. */
  enum hr_status (*notice)(struct hr__engine *engine, hr_job job, struct hr__job_notice notice);
  /* A node of a running job has failed, and the failure is not detected yet. The job makes no progress until it is
     stopped. */
  enum hr_status (*hang)(struct hr__engine *engine, hr_job job);
  /* Without `found`: a node of a running job begins to corrupt the results of the job. With `found`: the corruption is
     detected, and the job will be stopped next. */
  enum hr_status (*corrupt)(struct hr__engine *engine, hr_job job, bool found);
  /* The speed of a running job changes now. */
  enum hr_status (*set_speed)(struct hr__engine *engine, hr_job job, uint32_t speed_ppm);
  /* A job has completed or was rejected, and all its events were emitted. */
  void (*forget)(struct hr__engine *engine, hr_job job);
  /* The job of a replica has loaded the data that it needs before it is ready. */
  enum hr_status (*loaded)(struct hr__engine *engine, hr_job job);
  /* In a run with several clusters, a waiting job or its copy leaves this cluster. No event of the job follows in this
     cluster unless the job is submitted to it again. */
  void (*leave)(struct hr__engine *engine, hr_job job);

  /* ---- Nodes that are added and removed ---- */
  /* node_up: a node has come up. node_down: a node has gone down for any reason. */
  enum hr_status (*node_up)(struct hr__engine *engine, hr_pool pool, hr_node node);
  void (*node_down)(struct hr__engine *engine, hr_pool pool, hr_node node);

  /* ---- Events ---- */
  uint32_t kinds; /* the kinds of pending events that `advance` handles: flags 1 << enum hr__pending_kind */
  /* Handles a pending event of the present instant. */
  enum hr_status (*advance)(struct hr__engine *engine, struct hr__pending pending);
  /* Updates the state of running jobs to an instant, before the events of this instant. Called only if jobs have series
     of checkpoints. */
  void (*catch_up)(struct hr__engine *engine, int64_t now_us);
  /* Adds capacity. Called after the changes of nodes at each instant, if the policy does not manage capacity. Sets
     `*any` to true if the new capacity may have caused further events at this instant. The engine then handles these
     events and calls the hook again. */
  enum hr_status (*supply)(struct hr__engine *engine, bool *any);

  /* ---- End of the run, and checked mode ---- */
  void (*settle)(struct hr__engine *engine); /* closes accounts at the end of a successful run */
  void (*close)(struct hr__engine *engine);  /* frees memory that is not in the arena */
  /* Checks the invariants of the component. Must not change the state. If an invariant is violated, returns
     HR_INTERNAL; see hr__broken. */
  enum hr_status (*check)(const struct hr__engine *engine, const struct hr__running *running);
};

enum { HR__MAX_COMPONENTS = 16 };

/* A loop over the active components that have the hook, in the order of the list. `at` points to the pointer to the
   component. */
#define HR__EACH_ACTIVE(engine, hook, at)                                                                              \
  for (const struct hr__component *const *at = (engine)->active; *at; at++)                                            \
    if ((*at)->hook)
/* Calls the hook of each active component that has it, in the order of the list, while `status` is HR_OK. */
#define HR__CALL_ACTIVE(engine, status, hook, ...)                                                                     \
  HR__EACH_ACTIVE(engine, hook, at) if ((status) == HR_OK)(status) = (*at)->hook((engine), __VA_ARGS__)

#endif
