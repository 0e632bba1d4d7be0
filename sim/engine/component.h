/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_COMPONENT_H
#define HR_SIM_ENGINE_COMPONENT_H

/*
 * Components: features of the engine that only some runs need. Examples are jobs that can be stopped and nodes that
 * come and go. A component is one file, which defines one struct hr__component, and one row of the list in run.c. The
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
#include "sim/engine/event_heap.h"

struct hr__engine;

/* How a job leaves its placement: it has completed its work, or it is stopped and all its work or only the work before
   its last checkpoint is kept. */
enum hr__stop {
  HR__STOP_END,
  HR__STOP_KEEP_ALL,
  HR__STOP_KEEP_SAVED,
  /* The job continues at once at another placement (resizes.c). With RESIZE its work is saved before; with SHRINK it
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
