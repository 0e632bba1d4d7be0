/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_COMPONENT_H
#define HR_SIM_ENGINE_COMPONENT_H

/*
 * Pending events, and components: features of the engine that only some runs need. Examples are jobs that can be
 * stopped and nodes that come and go. A component is one struct hr__component, and one row of the list in run.c. The
 * engine does not call a component by name. It calls the hooks of all active components, in the order of the list.
 *
 * A run begins in four steps:
 *   1. `open` of all components: memory. The engine has no columns yet.
 *   2. The engine creates its columns and the cluster. Then `init` of all components: state that the policy can see.
 *   3. The engine creates the policy.
 *   4. For each component in order: if `is_needed` returns true, the component becomes active, and its `begin` is
 *      called.
 *
 * The other hooks, except `close`, are called for active components only. A run that needs no features therefore has
 * only one active component (jobs that run to their end, jobs.c). `close` is called for all components, in reverse
 * order, even after an error in any step. All hooks may be NULL. Hooks that return enum hr_status write the error of
 * the run if they do not return HR_OK.
 */

#include "headroom/sim.h"

#include <stdlib.h>

/* ---- Pending events --------------------------------------------------------------------------------- */

/* The pending events of a run, ordered by (time, kind, entity). An entry takes 16 bytes. Implemented in jobs.c. */

/* Kinds of pending events, in the order in which they are handled at one instant: first events that release capacity,
   then events that remove it, then events that add it. Submissions are handled after HR__PENDING_NODE_UP and before
   HR__PENDING_SERVICE. */
enum hr__pending_kind {
  HR__PENDING_END,          /* a job completes */
  HR__PENDING_PHASE,        /* the phase of a job ends: restart, checkpoint, work between checkpoints, or back-off */
  HR__PENDING_DATA,         /* the first flow of data ends */
  HR__PENDING_STORAGE,      /* the first write to a pool's storage completes */
  HR__PENDING_EVICT,        /* the notice of a preempted job ends */
  HR__PENDING_FAULT,        /* a unit of nodes fails */
  HR__PENDING_FAULT_FOUND,  /* the failure of a unit is detected */
  HR__PENDING_DRAIN,        /* a group of nodes is closed for maintenance, or the work on it begins */
  HR__PENDING_LEVEL_AHEAD,  /* a pool's level of availability will change in one notice period */
  HR__PENDING_LEVEL,        /* a pool's level of availability changes */
  HR__PENDING_INTERRUPTION, /* the nodes that a pool's next group interruption reclaims get notice */
  HR__PENDING_NODE_NOTICE,  /* a node gets notice */
  HR__PENDING_NODE_DOWN,    /* a node goes down */
  HR__PENDING_WINDOW_CLOSE, /* a pool's reservation ends */
  HR__PENDING_WINDOW_OPEN,  /* a pool's reservation begins */
  HR__PENDING_SPARE,        /* a spare node comes up */
  HR__PENDING_SLOW,         /* a node becomes slow, or is fast again */
  HR__PENDING_REPAIR,       /* a unit is repaired */
  HR__PENDING_SERVICED,     /* the work on a group of nodes ends */
  HR__PENDING_STANDBY,      /* a node has been idle for long, is suspended, or has woken */
  HR__PENDING_NODE_UP,      /* a node has booted */
  HR__PENDING_SERVICE,      /* the next event of an inference service */
  HR__PENDING_SCAN,         /* the autoscaler makes a scan after the pass of this instant */
  HR__PENDING_TIMER
};

struct hr__pending {
  int64_t at_us;
  uint64_t kind_entity; /* kind << 32 | entity */
};

struct hr__event_heap {
  struct hr__pending *entries;
  uint32_t count, capacity;
  bool is_taken; /* the first entry was taken, but is still there; the next entry that is inserted replaces it */
  /* by job: the index of its only entry + 1, or 0 if it has no entry; NULL if entries are never removed before their
     time */
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
/* Returns whether `a` precedes `b`. Time, kind and entity are combined into one 128-bit number, which is possible
   because times are not negative. The comparison therefore has no branches. The processor would predict branches badly
   here, because either child of a heap node can be the smaller one. */
static inline bool hr__pending_before(struct hr__pending a, struct hr__pending b) {
  __extension__ typedef unsigned __int128 wide;
  return ((wide)(uint64_t)a.at_us << 64 | a.kind_entity) < ((wide)(uint64_t)b.at_us << 64 | b.kind_entity);
}

/* Inserts an entry in O(log n) time. Returns HR_NO_MEMORY if memory is exhausted. */
enum hr_status hr__event_heap_push(struct hr__event_heap *heap, struct hr__pending pending);
/* Removes the first entry in O(log n) time and returns it. The heap must not be empty. */
struct hr__pending hr__event_heap_pop(struct hr__event_heap *heap);
/* Returns the first entry, which must exist. It is removed by the next call of another function: an insertion replaces
   it, which is faster than a removal and an insertion. Call hr__event_heap_settle before the entries are read. */
struct hr__pending hr__event_heap_take(struct hr__event_heap *heap);
/* Removes the entry that was taken, unless another one has replaced it. */
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

/* How a job leaves its placement: it has completed its work, or it is stopped and all its work or only the work before
   its last checkpoint is kept. */
enum hr__stop {
  HR__STOP_END,
  HR__STOP_KEEP_ALL,
  HR__STOP_KEEP_SAVED,
  /* The job continues at once at another placement (attempts.c). With RESIZE its work is saved before; with SHRINK it
     continues with work that is not saved. */
  HR__STOP_RESIZE,
  HR__STOP_SHRINK
};

/* A notice to a running job: it will be stopped at `at_us`. */
struct hr__job_notice {
  int64_t at_us;
  bool evicts; /* the policy gave the notice, so the job is stopped at that time even if its nodes stay up */
  bool keeps;  /* all work of the job is kept when it is stopped */
};

/* The running jobs as found by checked mode. */
struct hr__running {
  hr_job *jobs;
  uint32_t count;
  bool every_job; /* the check also covers jobs that do not run */
};

struct hr__component {
  /* The component can stop jobs, or change their speed, so jobs have attempts. Such a component precedes attempts in
     the list. */
  bool disturbs_jobs;
  bool is_endless; /* always has further pending events, so the run ends when its last job has ended */
  enum hr_status (*open)(struct hr__engine *engine);
  enum hr_status (*init)(struct hr__engine *engine);
  bool (*is_needed)(const struct hr__engine *engine);
  enum hr_status (*begin)(struct hr__engine *engine);

  /* ---- Jobs ---- */
  /* A job is submitted. In a streamed run, the component initializes the job's elements of its columns now. */
  void (*submit)(struct hr__engine *engine, hr_job job);
  /* A job starts at a placement. The observers have already been notified. `run_us`: its run time there, if nothing
     disturbs it. */
  enum hr_status (*start)(struct hr__engine *engine, hr_job job, const struct hr_placement *placement, int64_t run_us);
  /* A job leaves its placement. Its capacity was already released in the cluster. Its event is emitted afterwards. */
  enum hr_status (*stop)(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                         enum hr__stop stop);
  enum hr_status (*notice)(struct hr__engine *engine, hr_job job, struct hr__job_notice notice);
  /* A node of a running job has failed, and this is not detected yet: the job makes no progress until it is stopped. */
  enum hr_status (*hang)(struct hr__engine *engine, hr_job job);
  /* A node of a running job begins to corrupt its results; or, `found`, this is detected, and the job is about to be
     stopped. */
  enum hr_status (*corrupt)(struct hr__engine *engine, hr_job job, bool found);
  /* The speed of a running job changes now. */
  enum hr_status (*set_speed)(struct hr__engine *engine, hr_job job, uint32_t speed_ppm);
  /* A job has completed or was rejected, and all events of it were emitted. */
  void (*forget)(struct hr__engine *engine, hr_job job);
  /* The data that the job of a replica loads before it is ready have arrived. */
  enum hr_status (*loaded)(struct hr__engine *engine, hr_job job);
  /* In a run with several clusters, a waiting job or its copy leaves this cluster. No event of the job follows in this
     cluster unless the job is submitted to it again. */
  void (*leave)(struct hr__engine *engine, hr_job job);

  /* ---- Nodes that come and go ---- */
  /* A node has come up, or has gone down for any reason. */
  enum hr_status (*node_up)(struct hr__engine *engine, hr_pool pool, hr_node node);
  void (*node_down)(struct hr__engine *engine, hr_pool pool, hr_node node);

  /* ---- Events ---- */
  uint32_t kinds; /* the kinds of pending events that `advance` handles: flags 1 << enum hr__pending_kind */
  enum hr_status (*advance)(struct hr__engine *engine, struct hr__pending pending);
  /* Brings the state of running jobs to an instant, before its events. Called only if jobs have series of checkpoints.
   */
  void (*catch_up)(struct hr__engine *engine, int64_t now_us);
  /* Called after the changes of nodes at each instant, if the policy does not manage capacity. Adds capacity. Sets
     `*any` to true if this may have caused further events at this instant. The hook is then called again afterwards. */
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
