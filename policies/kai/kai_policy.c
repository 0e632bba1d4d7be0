/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The `kai` policy: NVIDIA KAI-Scheduler with the queues and settings of the section `kai`.
 *
 * A job is a pod group of KAI: a gang of pods that start together. After a change, a cycle runs at the next multiple of
 * the schedule period. It runs the actions allocate, consolidation, reclaim and preempt, as long as a job waits. While
 * exchanges_for_ever is true, it runs only allocate. Afterwards, jobs with bound pods start, and jobs with evicted pods
 * get an eviction notice. Jobs that wait for the released resources are placed by a later cycle, as in KAI. A job is
 * evicted as a whole. An elastic job is different: it starts with its minimum number of pods, may get more, and may
 * lose single pods. Invariant: between two calls, the session and the engine agree on which jobs wait, run or have a
 * notice.
 *
 * Source: KAI-Scheduler, pkg/scheduler/scheduler.go and pkg/scheduler/framework.
 */

#include "headroom/policy.h"
#include "headroom/unstable/systems/systems.h"
#include "policies/kai/session.h"
#include "policies/kai/world.h"
#include "policies/kit/jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_EVICTIONS = 500 }; /* per job on average, while no job ends */
enum { PARAM_AUTOSCALE, PARAM_IDLE_RELEASE, PARAM_CHECK, PARAM_PLAIN };

static const struct hr_param params[] = {
    {.key = "autoscale",
     .type = HR_PARAM_BOOLEAN,
     .fallback = "true",
     .help = "whether nodes of elastic pools are requested only for waiting jobs; false: all available nodes are "
             "requested at all times"},
    {.key = "idle_release_s",
     .type = HR_PARAM_INTEGER,
     .fallback = "600",
     .min = 0,
     .max = 31536000,
     .help = "seconds after which the autoscaler releases an empty node"},
    {.key = "check",
     .type = HR_PARAM_BOOLEAN,
     .fallback = "false",
     .help = "whether the invariants of KAI's session are verified after each cycle",
     .advanced = true},
    {.key = "plain",
     .type = HR_PARAM_BOOLEAN,
     .fallback = "false",
     .help = "whether each session is built from scratch and every job is tried; slow, for tests",
     .advanced = true},
    {0}};

struct kai {
  struct hr_arena *arena;
  struct hr__kai_world world;
  struct hr__kai_autoscaler autoscaler;
  struct hr__kai_past past; /* if `scheduler.usage` is enabled */
  struct hr_kai_scheduler scheduler;
  const struct hr_param_value *params;
  const struct hr_view *view;
  struct hr_moves *moves;
  struct hr_slice *slices; /* [max_slices] scratch memory */
  uint32_t max_slices;
  /* For the next pass: jobs that need no node; jobs to reject, each with its reason (two entries per job). */
  struct hr__job_list free_jobs;
  uint32_t *rejected, n_rejected, max_rejected;
  uint32_t *bound, *leaving; /* jobs that the cycle starts; jobs that it evicts */
  uint32_t n_bound, max_bound, n_leaving, max_leaving, n_started;
  uint32_t n_unplaced; /* jobs of the last cycle that did not start, because their nodes had too few free GPUs */
  int64_t cycle_us;    /* when the last cycle ran */
  int64_t wake_us, release_us;  /* last requested wake-up: for a cycle; for the release of a node */
  int64_t fetch_us;             /* last requested wake-up for reading past usage */
  struct hr__job_list expiring; /* jobs whose required locality expires */
  int64_t expire_us;            /* when the first of them expires */
  bool changed;                 /* since the last cycle */
  uint64_t n_fruitless;         /* evictions since the last end of a job */
  bool is_settled; /* the last cycle only bound pods, and nothing has changed since: the next one would do nothing */
  bool autoscales;
  int64_t *runtimes_us; /* [n_runtimes] distinct minimum run times */
  uint32_t n_runtimes;
  bool must_wake; /* a wake-up at `expire_us` must be requested */
};

/* ---- Creation --------------------------------------------------------------------------------------- */

static void add_runtime(struct kai *kai, int64_t runtime_us) {
  for (uint32_t i = 0; i < kai->n_runtimes; i++)
    if (kai->runtimes_us[i] == runtime_us) return;
  if (runtime_us > 0) kai->runtimes_us[kai->n_runtimes++] = runtime_us;
}

/* Collects the distinct minimum run times. False: out of memory. */
static bool collect_runtimes(struct kai *kai, const struct hr_kai_config *config) {
  if (!HR__ARENA_ARRAY(kai->arena, kai->runtimes_us, 2 + 2 * (size_t)(config ? config->n_queues : 0))) return false;
  add_runtime(kai, kai->scheduler.preempt_min_runtime_us);
  add_runtime(kai, kai->scheduler.reclaim_min_runtime_us);
  for (uint32_t i = 0; config && i < config->n_queues; i++) {
    add_runtime(kai, config->queues[i].preempt_min_runtime_us);
    add_runtime(kai, config->queues[i].reclaim_min_runtime_us);
  }
  return true;
}

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  const struct hr_kai_config *config = env->systems ? env->systems->kai : NULL;
  struct kai *kai = hr_arena_alloc(env->arena, sizeof *kai);
  if (!(*self = kai)) return HR_NO_MEMORY;
  *kai = (struct kai){.arena = env->arena,
                      .scheduler = config ? config->scheduler : hr__kai_default_scheduler(),
                      .params = env->params,
                      .cycle_us = -1,
                      .wake_us = -1,
                      .release_us = -1,
                      .fetch_us = -1,
                      .expire_us = HR_NEVER_US};
  if (!collect_runtimes(kai, config)) return HR_NO_MEMORY;
  enum hr_status status = hr__kai_world_create(&kai->world, env, config, env->params[PARAM_PLAIN].integer != 0, error);
  if (status != HR_OK) return status;
  if (kai->scheduler.usage.enabled && !hr__kai_past_create(&kai->past, &kai->world, &kai->scheduler.usage))
    return HR_NO_MEMORY;
  for (uint32_t n = 0; n < kai->world.cluster.n_nodes; n++)
    hr__kai_set_up(&kai->world, n, hr_cluster_node_state(env->cluster, (hr_node){n}) == HR_NODE_UP);
  kai->autoscales = env->params[PARAM_AUTOSCALE].integer && hr__kai_has_elastic(&kai->world);
  if (!kai->autoscales) return HR_OK;
  const int64_t release_us = env->params[PARAM_IDLE_RELEASE].integer * HR_SECOND_US;
  return hr__kai_autoscaler_create(&kai->autoscaler, &kai->world, release_us) ? HR_OK : HR_NO_MEMORY;
}

/* Frees the memory that is not in the arena of the run. */
static void destroy(void *self) {
  struct kai *kai = self;
  for (int i = 0; kai && i < 2; i++) hr__arena_finish(&kai->world.sessions[i]);
}

static uint32_t abilities(void *self) {
  const struct kai *kai = self;
  return HR_POLICY_PREEMPTS | HR_POLICY_KEEPS_WITHIN | HR_POLICY_REASONS_BY_JOB |
         (kai->autoscales ? HR_POLICY_MANAGES_CAPACITY : 0u) | (kai->world.resizes ? HR_POLICY_RESIZES : 0u);
}

/* Records an event that may change the decisions of the next cycle. */
static void note_change(struct kai *kai) {
  kai->changed = true;
  kai->is_settled = false;
}

/* ---- Events ----------------------------------------------------------------------------------------- */

/* Appends to a list in the arena. False: out of memory. */
static bool append(struct hr_arena *arena, uint32_t **list, uint32_t *n, uint32_t *capacity, uint32_t value) {
  if (!HR__ARENA_HAS_ROOM(arena, *list, *n, *capacity)) return false;
  (*list)[(*n)++] = value;
  return true;
}

/* Adds the job to those that the next pass rejects. False: out of memory. */
static bool reject_later(struct kai *kai, hr_job job, enum hr_reason reason) {
  return append(kai->arena, &kai->rejected, &kai->n_rejected, &kai->max_rejected, job.id) &&
         append(kai->arena, &kai->rejected, &kai->n_rejected, &kai->max_rejected, (uint32_t)reason);
}

/* If the required locality of the job expires, stores the job and the time. False: out of memory. */
static bool expect_end(struct kai *kai, hr_job job, int64_t now_us) {
  const struct hr_locality locality = hr_cluster_locality(kai->world.simulated, job);
  if (locality.tier == HR_TIER_ANY || locality.until_us == HR_NEVER_US || locality.until_us <= now_us) return true;
  if (locality.until_us < kai->expire_us) kai->expire_us = locality.until_us;
  kai->must_wake = true;
  return hr__job_list_add(&kai->expiring, kai->arena, job);
}

static enum hr_status submit(struct kai *kai, const struct hr_view *view, hr_job job) {
  struct hr__kai_admission admission;
  if (!hr__kai_admit(&kai->world, job, view->now_us, &admission)) return HR_NO_MEMORY;
  bool done;
  if (admission.needs_no_node)
    done = hr__job_list_add(&kai->free_jobs, kai->arena, job);
  else if (admission.reject != HR_REASON_NONE)
    done = reject_later(kai, job, admission.reject);
  else
    done = hr__kai_add_job(&kai->world, job, &admission) && expect_end(kai, job, view->now_us);
  return done ? HR_OK : HR_NO_MEMORY;
}

/* Lets waiting jobs use other nodes after their required locality has expired. */
static enum hr_status end_requirements(struct kai *kai, int64_t now_us) {
  if (now_us < kai->expire_us) return HR_OK;
  uint32_t kept = 0;
  kai->expire_us = HR_NEVER_US;
  for (uint32_t i = 0; i < kai->expiring.count; i++) {
    const hr_job job = kai->expiring.jobs[i];
    const uint32_t slot = hr__kai_slot_of(&kai->world, job);
    const int64_t until_us = hr_cluster_locality(kai->world.simulated, job).until_us;
    if (until_us > now_us) {
      kai->expiring.jobs[kept++] = job;
      if (until_us < kai->expire_us) kai->expire_us = until_us;
    } else if (slot != HR_NONE && kai->view->state[job.id] == HR_JOB_WAITING) {
      if (!hr__kai_renew_kind(&kai->world, slot, now_us)) return HR_NO_MEMORY;
      note_change(kai);
    }
  }
  kai->expiring.count = kept;
  return kai->expire_us == HR_NEVER_US ? HR_OK : hr_moves_wake_at(kai->moves, kai->expire_us);
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct kai *kai = self;
  if (kai->scheduler.usage.enabled && !hr__kai_past_advance(&kai->past, view->now_us)) return HR_NO_MEMORY;
  uint32_t slot = event->job.id == HR_NONE ? HR_NONE : hr__kai_slot_of(&kai->world, event->job);
  if (event->kind != HR_EVENT_TIMER || kai->n_runtimes > 0) note_change(kai);
  if (event->kind == HR_EVENT_END || event->kind == HR_EVENT_INTERRUPT)
    hr__kai_gpus_leave(&kai->world, event->job, event->placement);
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return submit(kai, view, event->job);
  case HR_EVENT_END:
    kai->n_fruitless = 0;
    hr__kai_remove_job(&kai->world, event->job);
    return HR_OK;
  case HR_EVENT_INTERRUPT:
    if (slot == HR_NONE) return HR_OK;
    return hr__kai_wait_again(&kai->world, slot) && hr__kai_renew_kind(&kai->world, slot, view->now_us) ? HR_OK
                                                                                                        : HR_NO_MEMORY;
  case HR_EVENT_WITHDRAW:
    if (slot == HR_NONE) return HR_OK; /* the job starts or is rejected in this pass */
    hr__kai_remove_job(&kai->world, event->job);
    return reject_later(kai, event->job, HR_REASON_WITHDRAWN) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_NODE_DOWN:
  case HR_EVENT_NOTICE:
    if (event->kind == HR_EVENT_NOTICE) hr__kai_freeze_node(&kai->world, event->node.id);
    hr__kai_set_up(&kai->world, event->node.id, false);
    return HR_OK;
  case HR_EVENT_NODE_UP:
    hr__kai_set_up(&kai->world, event->node.id, true);
    return HR_OK;
  default:
    return HR_OK;
  }
}

/* ---- Moves ------------------------------------------------------------------------------------------ */

static bool make_slices(struct kai *kai, uint32_t n) {
  if (n <= kai->max_slices) return true;
  kai->slices = hr_arena_alloc(kai->arena, 2 * (size_t)n * sizeof *kai->slices);
  kai->max_slices = kai->slices ? 2 * n : 0;
  return kai->slices != NULL;
}

/* Adds the GPUs of a pod to the slices. Pods on the same node share one slice. */
static void add_slice(struct kai *kai, uint32_t *n, uint32_t node, uint32_t gpus) {
  for (uint32_t i = 0; i < *n; i++) {
    if (kai->slices[i].node.id != node) continue;
    kai->slices[i].gpu_milli += gpus * HR_WHOLE_GPU_MILLI;
    return;
  }
  kai->slices[(*n)++] = (struct hr_slice){.node = {node}, .gpu_milli = gpus * HR_WHOLE_GPU_MILLI};
}

/* Requests passes at the times at which the minimum run times of jobs that start now end. */
static enum hr_status wake_for_runtimes(struct kai *kai) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < kai->n_runtimes && status == HR_OK; i++)
    status = hr_moves_wake_at(kai->moves, kai->view->now_us + kai->runtimes_us[i]);
  return status;
}

/* Whether a running job already has the first `n` slices. This happens if pods were bound and evicted again in the same
   session. */
static bool has_slices(const struct kai *kai, hr_job job, uint32_t n) {
  struct hr_slice one;
  const struct hr_placement placement = hr_view_placement(kai->view, job, &one);
  uint32_t n_equal = 0;
  for (uint32_t i = 0; i < n && placement.n_slices == n; i++)
    for (uint32_t k = 0; k < n; k++)
      n_equal += placement.slices[k].node.id == kai->slices[i].node.id &&
                 placement.slices[k].gpu_milli == kai->slices[i].gpu_milli;
  return placement.n_slices == n && n_equal == n;
}

/* Starts a job on the nodes of its pods, or resizes it if it runs. In per-GPU allocation, the job continues to wait if
   these nodes have too few free GPUs. */
static enum hr_status start(struct kai *kai, uint32_t slot) {
  struct hr__kai_world *world = &kai->world;
  const struct hr__kai_job *job = &world->jobs[slot];
  uint32_t n = 0;
  if (!make_slices(kai, job->n_pods)) return HR_NO_MEMORY;
  for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods && !world->inventory; p++)
    if (world->session->pods[p].status == HR__KAI_RUNNING)
      add_slice(kai, &n, (uint32_t)world->session->pods[p].node, (uint32_t)world->pods[p].request[HR__KAI_DIM_GPUS]);
  if (world->inventory) {
    n = job->n_pods;
    kai->n_unplaced++;
    if (!hr__kai_gpus_place(world, slot, kai->slices)) return hr__kai_wait_again(world, slot) ? HR_OK : HR_NO_MEMORY;
    kai->n_unplaced--;
  }
  const struct hr_placement placement = {{world->pool_of[kai->slices[0].node.id]}, n, kai->slices};
  const bool runs = kai->view->state[world->job_of[slot]] == HR_JOB_RUNNING;
  if (runs && has_slices(kai, (hr_job){world->job_of[slot]}, n)) return HR_OK;
  kai->n_started++;
  if (runs) return hr_moves_resize(kai->moves, (hr_job){world->job_of[slot]}, &placement);
  if (hr__kai_resizes(world, slot) && !hr__kai_confine(world, slot, placement.pool.id)) return HR_NO_MEMORY;
  const enum hr_status status =
      hr_moves_start(kai->moves, (hr_job){world->job_of[slot]}, &placement, HR_REASON_IN_ORDER);
  return status == HR_OK ? wake_for_runtimes(kai) : status;
}

/* Evicts a job: sends it an eviction notice, or, without a grace period, stops it at once. */
static enum hr_status evict(struct kai *kai, uint32_t slot) {
  struct hr__kai_world *world = &kai->world;
  const hr_job job = {world->job_of[slot]};
  if (kai->scheduler.termination_grace_us > 0)
    return hr_moves_notice(kai->moves, job, kai->view->now_us + kai->scheduler.termination_grace_us, false);
  struct hr_slice one;
  const struct hr_placement placement = hr_view_placement(kai->view, job, &one);
  hr__kai_gpus_leave(world, job, &placement);
  return hr_moves_requeue(kai->moves, job, HR_REASON_PREEMPTED);
}

/* ---- Cycles ----------------------------------------------------------------------------------------- */

/* Lists jobs as running if the action `allocate` has bound pods of them, so that later actions can choose them as
   victims. False: out of memory. */
static bool list_bound(struct kai *kai) {
  struct hr__kai_world *world = &kai->world;
  const struct hr__kai_session *session = world->session;
  kai->n_bound = 0;
  for (size_t i = 0; i < session->n_log; i++) {
    const uint32_t pod = session->log[i].pod, slot = world->pods[pod].job;
    if (world->is_leaving[slot] || session->pods[pod].status != HR__KAI_BINDING) continue;
    if (!append(kai->arena, &kai->bound, &kai->n_bound, &kai->max_bound, slot)) return false;
    world->is_leaving[slot] = true;
    hr__kai_list_running(world, slot);
  }
  for (uint32_t i = 0; i < kai->n_bound; i++) world->is_leaving[kai->bound[i]] = false;
  return true;
}

/* Lists the jobs with evicted pods, in the order of the evictions. False: out of memory. */
static bool list_leaving(struct kai *kai) {
  struct hr__kai_world *world = &kai->world;
  const struct hr__kai_session *session = world->session;
  kai->n_leaving = 0;
  for (size_t i = 0; i < session->n_log; i++) {
    const uint32_t slot = world->pods[session->log[i].pod].job;
    if (!hr__kai_is(session->log[i].status_before, HR__KAI_HOLDING) || world->is_leaving[slot]) continue;
    world->is_leaving[slot] = true;
    if (!append(kai->arena, &kai->leaving, &kai->n_leaving, &kai->max_leaving, slot)) return false;
  }
  return true;
}

/* Starts the jobs that were bound. A job that was evicted again in the same session is listed as waiting instead. */
static enum hr_status start_bound(struct kai *kai) {
  struct hr__kai_world *world = &kai->world;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < kai->n_bound && status == HR_OK; i++) {
    const uint32_t slot = kai->bound[i];
    if (world->is_leaving[slot]) continue; /* elastic jobs only: the job is resized when its evicted pods leave */
    if (hr__kai_count_running(world, slot) >= world->sets[slot].min_available)
      status = !hr__kai_resizes(world, slot) || hr__kai_list_pending(world, slot) ? start(kai, slot) : HR_NO_MEMORY;
    else if (!hr__kai_wait_again(world, slot))
      status = HR_NO_MEMORY;
  }
  return status;
}

static enum hr_status evict_leaving(struct kai *kai) {
  struct hr__kai_world *world = &kai->world;
  struct hr__kai_session *session = world->session;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < kai->n_leaving && status == HR_OK; i++) {
    const uint32_t slot = kai->leaving[i];
    const struct hr__kai_job *job = &world->jobs[slot];
    world->is_leaving[slot] = false;
    if (hr__kai_resizes(world, slot) && !world->is_frozen[slot] &&
        hr__kai_count_running(world, slot) >= world->sets[slot].min_available) {
      status = hr__kai_drop_evicted(world, slot) ? start(kai, slot) : HR_NO_MEMORY;
      continue;
    }
    status = evict(kai, slot);
    if (hr__kai_resizes(world, slot)) hr__kai_freeze(world, slot);
    if (kai->scheduler.termination_grace_us == 0) {
      if (!hr__kai_wait_again(world, slot)) return HR_NO_MEMORY;
      continue;
    }
    for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++)
      if (session->pods[p].status == HR__KAI_RUNNING)
        hr__kai_put(session, p, HR__KAI_RELEASING, (uint32_t)session->pods[p].node);
  }
  return status;
}

/*
 * Whether jobs reclaim GPUs from each other for ever. A queue A within its quota may reclaim from a queue B that is
 * within its fair share, and B may then reclaim from A. If evicted jobs lose their work, KAI repeats this without end.
 * The model assumes an endless exchange if no job has ended while jobs were evicted MOST_EVICTIONS times each, on
 * average. Then no job is evicted until a job ends, so that the run ends.
 */
static bool exchanges_for_ever(const struct kai *kai) {
  return kai->n_fruitless > (uint64_t)MOST_EVICTIONS * (kai->world.n_waiting + kai->world.n_running);
}

static enum hr_status run_cycle(struct kai *kai) {
  struct hr__kai_world *world = &kai->world;
  if (kai->is_settled) {
    kai->changed = kai->is_settled = false;
    return HR_OK;
  }
  world->cluster.now_us = kai->view->now_us;
  kai->n_bound = 0;
  if (world->is_plain && !hr__kai_renew_session(world)) return HR_NO_MEMORY;
  struct hr__kai_session *session = world->session;
  const uint32_t n_moved = session->n_evicted + session->n_pipelined;
  hr__kai_divide_again(session);
  const int end = exchanges_for_ever(kai) ? HR__KAI_ALLOCATE + 1 : HR__KAI_EVICT_STALE;
  for (int action = HR__KAI_ALLOCATE; action < end && world->n_waiting > 0; action++) {
    if (world->is_plain) hr__kai_list_by_queue(world);
    hr__kai_run_action(world->cycle, (enum hr__kai_action)action);
    if (action == HR__KAI_ALLOCATE && !list_bound(kai)) return HR_NO_MEMORY;
  }
  if (session->no_memory || !list_leaving(kai)) return HR_NO_MEMORY;
  hr__kai_settle(session);
  kai->n_fruitless += kai->n_leaving;
  kai->n_started = kai->n_unplaced = 0;
  enum hr_status status = start_bound(kai);
  if (status == HR_OK) status = evict_leaving(kai);
  kai->changed = kai->n_started > 0 || kai->n_leaving > 0;
  const bool only_bound = session->n_evicted + session->n_pipelined == n_moved && kai->n_unplaced == 0;
  const struct hr_kai_scheduler *scheduler = &kai->scheduler;
  const bool tries_all = scheduler->allocate_depth == 0 && scheduler->consolidation_depth == 0 &&
                         scheduler->reclaim_depth == 0 && scheduler->preempt_depth == 0;
  kai->is_settled = only_bound && tries_all && !kai->autoscales && !world->is_plain;
  return status;
}

/* Starts jobs that need no node, and rejects jobs that can never start. */
static enum hr_status finish_submitted(struct kai *kai) {
  enum hr_status status = hr__job_list_start(&kai->free_jobs, kai->moves);
  for (uint32_t i = 0; i < kai->n_rejected && status == HR_OK; i += 2)
    status = hr_moves_reject(kai->moves, (hr_job){kai->rejected[i]}, (enum hr_reason)kai->rejected[i + 1]);
  kai->n_rejected = 0;
  return status;
}

/* If past usage may change the order, requests a pass for the next time at which it is read. */
static enum hr_status wake_for_usage(struct kai *kai) {
  const int64_t interval_us = kai->scheduler.usage.fetch_interval_us;
  if (!kai->scheduler.usage.enabled || kai->world.n_waiting == 0 || kai->world.n_running == 0) return HR_OK;
  const int64_t next_us = (kai->view->now_us / interval_us + 1) * interval_us;
  if (next_us == kai->fetch_us) return HR_OK;
  kai->fetch_us = next_us;
  return hr_moves_wake_at(kai->moves, next_us);
}

/* Requests a pass at the next multiple of the period, if something has changed and a job waits. */
static enum hr_status wake_for_cycle(struct kai *kai) {
  const int64_t next_us = (kai->view->now_us / kai->scheduler.period_us + 1) * kai->scheduler.period_us;
  if (!kai->changed || kai->world.n_waiting == 0 || next_us == kai->wake_us) return HR_OK;
  kai->wake_us = next_us;
  return hr_moves_wake_at(kai->moves, next_us);
}

/* Requests nodes after a cycle, and releases empty ones. */
static enum hr_status scale(struct kai *kai, bool after_cycle) {
  bool some_up = false;
  int64_t next_us = HR_NEVER_US;
  enum hr_status status = HR_OK;
  if (after_cycle) status = hr__kai_request_nodes(&kai->autoscaler, kai->view, kai->moves, &some_up);
  if (some_up) kai->changed = true;
  if (status == HR_OK) status = hr__kai_release_nodes(&kai->autoscaler, kai->view, kai->moves, &next_us);
  if (status != HR_OK || next_us == HR_NEVER_US || next_us == kai->release_us) return status;
  kai->release_us = next_us;
  return hr_moves_wake_at(kai->moves, next_us);
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct kai *kai = self;
  kai->view = view;
  kai->moves = moves;
  if (kai->scheduler.usage.enabled) {
    if (!hr__kai_past_advance(&kai->past, view->now_us)) return HR_NO_MEMORY;
    if (kai->past.changed) note_change(kai);
    kai->past.changed = false;
  }
  enum hr_status status = finish_submitted(kai);
  if (status == HR_OK) status = end_requirements(kai, view->now_us);
  if (status == HR_OK && kai->must_wake) status = hr_moves_wake_at(moves, kai->expire_us);
  kai->must_wake = false;
  const bool is_time = view->now_us % kai->scheduler.period_us == 0;
  const bool runs = is_time && kai->changed && kai->world.n_waiting > 0 && kai->cycle_us < view->now_us;
  if (runs) kai->cycle_us = view->now_us;
  if (status == HR_OK && runs) status = run_cycle(kai);
  if (status == HR_OK && kai->autoscales) status = scale(kai, runs);
  if (status != HR_OK) return status;
  const char *broken = kai->params[PARAM_CHECK].integer && is_time ? hr__kai_check(kai->world.session) : NULL;
  if (broken) return HR_INTERNAL;
  status = wake_for_usage(kai);
  return status == HR_OK ? wake_for_cycle(kai) : status;
}

/* ---- Reasons ---------------------------------------------------------------------------------------- */

/*
 * Explains why jobs are pending, with the messages of KAI's pod groups: a queue is at its limit or quota, or nodes lack
 * resources.
 *
 * Everything is computed from the state of the session between two cycles. Nodes that are not up are not counted.
 *
 * Source: KAI-Scheduler, pkg/scheduler/api/unschedule_info.go and pkg/scheduler/api/common_info/pod_errors.go.
 */

/* ---- Reasons: queues and nodes ---------------------------------------------------------------------- */

/* The sum of the requests of the pods that a job needs to start. */
static struct hr__kai_amounts request_of_job(const struct hr__kai_world *world, uint32_t slot) {
  struct hr__kai_amounts sum = {{0}};
  const uint32_t first = world->jobs[slot].first_pod;
  for (uint32_t p = first; p < first + world->sets[slot].min_available; p++) hr__kai_add(&sum, &world->pods[p].quota);
  return sum;
}

/* Whether the pods of the job fit on the idle capacity of any nodes. The last pod may be smaller than the others. */
static bool fits_somewhere(const struct hr__kai_world *world, uint32_t slot) {
  const struct hr__kai_job *job = &world->jobs[slot];
  const struct hr__kai_kind *kind = &world->kinds[world->kind_of[slot]];
  const uint32_t n_dims = world->cluster.n_dims, n_needed = world->sets[slot].min_available;
  int64_t n_fit = 0;
  bool last_fits = false;
  for (uint32_t n = 0; n < world->cluster.n_nodes; n++) {
    const int64_t *idle = world->session->idle + (size_t)n * n_dims;
    if (!kind->allowed_nodes[n] || !hr__kai_fits(world->session, job->first_pod + job->n_pods - 1, n, false)) continue;
    const int64_t on_node = hr__kai_whole_pods_in(world, kind, idle);
    n_fit += on_node < n_needed ? on_node : n_needed;
    const int64_t left = idle[HR__KAI_DIM_GPUS] - on_node * kind->amounts[HR__KAI_DIM_GPUS];
    last_fits = last_fits || (kind->last_gpus < kind->pod_gpus && left >= (int64_t)kind->last_gpus);
  }
  return n_fit >= n_needed || (last_fits && n_fit + 1 == n_needed);
}

/* The first queue, from the job's queue upwards, whose limit or quota does not allow the job now; HR_NONE: none. */
static uint32_t full_queue(const struct hr__kai_world *world, uint32_t slot, bool *over_quota) {
  const struct hr__kai_job *job = &world->jobs[slot];
  const struct hr__kai_amounts request = request_of_job(world, slot);
  *over_quota = false;
  for (uint32_t q = job->queue; q != HR__KAI_NONE; q = world->queues[q].parent) {
    *over_quota = !job->preemptible && hr__kai_over_quota(&world->queues[q], &request);
    if (*over_quota || hr__kai_over_limit(&world->queues[q], &request)) return q;
  }
  return HR_NONE;
}

/* ---- Reasons: words --------------------------------------------------------------------------------- */

/* The resources of queues, with the words and units of the messages. The amounts of a queue are divided by `one`. */
static const struct resource_word {
  const char *word, *unit, *quota_unit;
  double one;
} resource_words[HR__KAI_RESOURCES] = {
    [HR__KAI_CPU] = {"CPU cores", "cores", "CPU cores", 1000},
    [HR__KAI_MEM] = {"memory", "GB", "GB memory", 1e9},
    [HR__KAI_GPU] = {"GPUs", "GPUs", "GPUs", HR__KAI_GPU_UNIT},
};

/* An amount with at most three decimals, without zeros at the end. */
static const char *amount_text(int64_t amount, double one, char text[32]) {
  snprintf(text, 32, "%.3f", (double)amount / one);
  size_t n = strlen(text);
  while (n > 0 && text[n - 1] == '0') text[--n] = '\0';
  if (n > 0 && text[n - 1] == '.') text[n - 1] = '\0';
  return text;
}

static void describe_queue(const struct hr__kai_world *world, uint32_t slot, uint32_t queue, bool over_quota,
                           char *text, size_t size) {
  const struct hr__kai_amounts request = request_of_job(world, slot);
  char bound[32], used[32], asked[32];
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    const struct hr__kai_share *share = &world->queues[queue].share[r];
    const struct resource_word *word = &resource_words[r];
    const int64_t most = over_quota ? share->deserved : share->limit;
    const int64_t held = over_quota ? share->allocated_non_preemptible : share->allocated;
    if (most == HR__KAI_UNLIMITED || request.of[r] == 0 || held + request.of[r] <= most) continue;
    amount_text(most, word->one, bound);
    amount_text(held, word->one, used);
    amount_text(request.of[r], word->one, asked);
    if (over_quota)
      snprintf(
          text, size,
          "Non-preemptible workload is over quota. Workload requested %s %s, but %.60s quota is %s %s, while %s %s "
          "are already allocated for non-preemptible pods. Use a preemptible workload to go over quota.",
          asked, word->quota_unit, world->queue_names[queue], bound, word->unit, used, word->unit);
    else
      snprintf(text, size,
               "%.60s quota has reached the allowable limit of %s. Limit is %s %s, currently %s %s allocated and "
               "workload requested %s %s",
               world->queue_names[queue], word->word, bound, word->unit, used, word->unit, asked, word->unit);
    return;
  }
}

/* The number of nodes on which one more pod of a job does not fit, by the resource that they lack. `other`: nodes that
   the job must not use. `n_fit`: the number of pods of the job that fit. */
struct lacks {
  uint32_t other, cpu, gpus, mem, n_fit;
};

/* Counts the nodes by the resource that they lack, after as many pods of the job as possible were placed. */
static struct lacks count_lacks(const struct hr__kai_world *world, uint32_t slot) {
  const struct hr__kai_job *job = &world->jobs[slot];
  const struct hr__kai_kind *kind = &world->kinds[world->kind_of[slot]];
  const uint32_t n_needed = world->sets[slot].min_available;
  struct lacks lacks = {0};
  for (uint32_t n = 0; n < world->cluster.n_nodes; n++) {
    const int64_t *idle = world->session->idle + (size_t)n * world->cluster.n_dims;
    if (!world->is_up[n]) continue;
    if (!kind->allowed_nodes[n]) {
      lacks.other++;
      continue;
    }
    const bool fits = hr__kai_fits(world->session, job->first_pod, n, false);
    const int64_t on_node = fits ? hr__kai_whole_pods_in(world, kind, idle) : 0;
    if (on_node >= n_needed - lacks.n_fit) lacks.n_fit = n_needed;
    if (lacks.n_fit < n_needed) lacks.n_fit += (uint32_t)on_node;
    bool some = false;
    for (uint32_t d = 0; d < world->cluster.n_dims; d++) {
      if (d == HR__KAI_DIM_PODS || idle[d] - on_node * kind->amounts[d] >= kind->amounts[d]) continue;
      some = true;
      lacks.cpu += d == HR__KAI_DIM_CPU;
      lacks.mem += d == HR__KAI_DIM_MEM;
      lacks.gpus += d >= HR__KAI_DIM_GPUS;
    }
    lacks.gpus += !some;
  }
  return lacks;
}

/* Appends "N node(s) WORDS". */
static void append_count(char *text, size_t size, uint32_t n, const char *words, const char *name) {
  const size_t used = strlen(text);
  if (n == 0 || used >= size) return;
  snprintf(text + used, size - used, "%s %" PRIu32 " node(s) %s%s", text[used - 1] == ':' ? "" : ".", n, words, name);
}

static void describe_nodes(const struct hr__kai_world *world, uint32_t slot, char *text, size_t size) {
  const struct hr__kai_kind *kind = &world->kinds[world->kind_of[slot]];
  const struct lacks lacks = count_lacks(world, slot);
  const char *profile = NULL;
  for (uint32_t d = HR__KAI_DIM_MIG; d < world->cluster.n_dims; d++)
    if (kind->amounts[d] > 0) profile = world->profiles[d - HR__KAI_DIM_MIG];
  const uint32_t n_needed = world->sets[slot].min_available;
  if (n_needed > 1)
    snprintf(text, size,
             "Resources were found for %" PRIu32 " pods while %" PRIu32 " are required for gang scheduling. Additional "
             "pods cannot be scheduled due to: no nodes with enough resources were found:",
             lacks.n_fit < n_needed ? lacks.n_fit : n_needed - 1, n_needed);
  else
    snprintf(text, size, "Resources were not found for the pod due to: no nodes with enough resources were found:");
  append_count(text, size, lacks.cpu, "didn't have enough resources: CPU cores", "");
  append_count(text, size, lacks.gpus,
               profile ? "didn't have enough of mig profile: nvidia.com/mig-" : "didn't have enough resources: GPUs",
               profile ? profile : "");
  append_count(text, size, lacks.mem, "didn't have enough resources: memory", "");
  append_count(text, size, lacks.other, "didn't match Pod's node affinity/selector", "");
  const size_t used = strlen(text);
  if (used > 0 && used + 1 < size) memcpy(text + used - (text[used - 1] == ':'), ".", 2);
}

/* ---- Reasons: operations of the policy -------------------------------------------------------------- */

static void explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  const struct kai *kai = self;
  const uint32_t slot = hr__kai_slot_of(&kai->world, job);
  bool over_quota;
  if (slot == HR_NONE) return;
  if (full_queue(&kai->world, slot, &over_quota) != HR_NONE) {
    wait->reason = HR_WAIT_REASON_QUOTA;
    wait->quota = HR_QUOTA_FALLBACK;
  } else if (fits_somewhere(&kai->world, slot)) {
    /* The next cycle may start the job, or jobs before it in the order. */
    wait->reason = HR_WAIT_REASON_TURN;
    wait->until_us = (view->now_us / kai->scheduler.period_us + 1) * kai->scheduler.period_us;
  } else {
    hr_view_lack(view, job, wait);
  }
}

/* Writes KAI's message about a pending job, or an empty text if the job only waits for the next cycle. */
static void describe(void *self, const struct hr_view *view, hr_job job, char *text, size_t size) {
  const struct hr__kai_world *world = &((const struct kai *)self)->world;
  const uint32_t slot = hr__kai_slot_of(world, job);
  bool over_quota;
  (void)view;
  if (slot == HR_NONE) return;
  const uint32_t queue = full_queue(world, slot, &over_quota);
  if (queue != HR_NONE)
    describe_queue(world, slot, queue, over_quota, text, size);
  else if (!fits_somewhere(world, slot))
    describe_nodes(world, slot, text, size);
}

HR_POLICY(kai) = {HR_POLICY_HEAD,
                  .name = "kai",
                  .summary = "NVIDIA KAI-Scheduler: queues with fair shares, reclaim, preemption and consolidation",
                  .params = params,
                  .create = create,
                  .destroy = destroy,
                  .observe = observe,
                  .decide = decide,
                  .abilities = abilities,
                  .explain = explain,
                  .describe = describe};
