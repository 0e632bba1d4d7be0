/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The `kai` policy: NVIDIA KAI-Scheduler with the queues and settings of the section `kai`.
 *
 * A job is a pod group of KAI: a gang of pods that start together. After a change, a cycle runs at the next multiple of
 * the schedule period. It runs the actions of a session: allocate, consolidation, reclaim, preempt. Jobs with pods that
 * were bound start. Jobs with evicted pods get notice to leave; jobs that wait for what these release are placed by a
 * later cycle, as in KAI. A job runs as a whole, so it is evicted as a whole, except that an elastic job starts with
 * its minimum of pods, gets further ones, and loses single ones. Invariant: between two calls the session agrees with
 * the engine about which jobs wait, run or have notice.
 *
 * Source: KAI-Scheduler, pkg/scheduler/scheduler.go and pkg/scheduler/framework.
 */

#include "headroom/policy.h"
#include "headroom/unstable/systems/systems.h"
#include "policies/kai/node_usage.h"
#include "policies/kai/world.h"
#include "policies/kit/jobs.h"

enum { MOST_EVICTIONS = 500 }; /* of a job on average, while no job ends */
enum { PARAM_AUTOSCALE, PARAM_IDLE_RELEASE, PARAM_CHECK, PARAM_PLAIN };

static const struct hr_param params[] = {
    {.key = "autoscale",
     .type = HR_PARAM_BOOLEAN,
     .fallback = "true",
     .help = "request nodes of elastic pools for jobs that wait; otherwise all available nodes are used"},
    {.key = "idle_release_s",
     .type = HR_PARAM_INTEGER,
     .fallback = "600",
     .min = 0,
     .max = 31536000,
     .help = "seconds after which the autoscaler releases an empty node"},
    {.key = "check",
     .type = HR_PARAM_BOOLEAN,
     .fallback = "false",
     .help = "verify the invariants of KAI's session after each cycle",
     .advanced = true},
    {.key = "plain",
     .type = HR_PARAM_BOOLEAN,
     .fallback = "false",
     .help = "build each session again and try every job: slow, for tests",
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
  /* In the next pass: jobs that need no node; jobs to reject, each with its reason. */
  struct hr__job_list free_jobs;
  uint32_t *rejected, n_rejected, max_rejected;
  uint32_t *bound, *leaving; /* jobs that the cycle starts, and that it evicts */
  uint32_t n_bound, max_bound, n_leaving, max_leaving, n_started;
  uint32_t n_unplaced;          /* jobs for which the GPUs did not suffice in the last cycle */
  int64_t cycle_us;             /* when the last cycle ran */
  int64_t wake_us, release_us;  /* the last wake-ups that were requested: for a cycle, for the release of a node */
  int64_t fetch_us;             /* the same, for the next reading of past usage */
  struct hr__job_list expiring; /* jobs with a requirement on locality that ends */
  int64_t expire_us;            /* when the first one ends */
  bool changed;                 /* since the last cycle */
  uint64_t n_fruitless;         /* evictions since a job has ended */
  bool is_settled; /* the last cycle only bound pods, and nothing has happened since: the next one finds nothing */
  bool autoscales;
  int64_t *runtimes_us; /* [n_runtimes] distinct minimum run times */
  uint32_t n_runtimes;
  bool must_wake; /* when the first requirement on locality ends */
};

/* ---- Creation ------------------------------------------------------------------------------------------ */

static void add_runtime(struct kai *kai, int64_t runtime_us) {
  for (uint32_t i = 0; i < kai->n_runtimes; i++)
    if (kai->runtimes_us[i] == runtime_us) return;
  if (runtime_us > 0) kai->runtimes_us[kai->n_runtimes++] = runtime_us;
}

/* Collects the distinct minimum run times. False: out of memory. */
static bool collect_runtimes(struct kai *kai, const struct hr_kai_config *config) {
  const size_t n = 2 + 2 * (size_t)(config ? config->n_queues : 0);
  kai->runtimes_us = hr_arena_alloc(kai->arena, n * sizeof *kai->runtimes_us);
  if (!kai->runtimes_us) return false;
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

static void destroy(void *self) {
  struct kai *kai = self;
  if (kai) hr__kai_world_finish(&kai->world);
}

static uint32_t abilities(void *self) {
  const struct kai *kai = self;
  return HR_POLICY_PREEMPTS | HR_POLICY_KEEPS_WITHIN | HR_POLICY_REASONS_BY_JOB |
         (kai->autoscales ? HR_POLICY_MANAGES_CAPACITY : 0u) | (kai->world.resizes ? HR_POLICY_RESIZES : 0u);
}

/* Something has happened that may change what a cycle decides. */
static void note_change(struct kai *kai) {
  kai->changed = true;
  kai->is_settled = false;
}

/* ---- Events -------------------------------------------------------------------------------------------- */

/* Appends to a list in the arena. False: out of memory. */
static bool append(struct hr_arena *arena, uint32_t **list, uint32_t *n, uint32_t *capacity, uint32_t value) {
  if (*n == *capacity) {
    uint32_t *grown = hr_arena_grown(arena, *list, capacity, sizeof **list);
    if (!grown) return false;
    *list = grown;
  }
  (*list)[(*n)++] = value;
  return true;
}

/* Lists the job for rejection in the next pass. False: out of memory. */
static bool reject_later(struct kai *kai, hr_job job, enum hr_reason reason) {
  return append(kai->arena, &kai->rejected, &kai->n_rejected, &kai->max_rejected, job.id) &&
         append(kai->arena, &kai->rejected, &kai->n_rejected, &kai->max_rejected, (uint32_t)reason);
}

/* Stores the end of a requirement on locality. False: out of memory. */
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

/* Lets jobs wait for other places after the end of their requirement on locality. */
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
    if (slot == HR_NONE) return HR_OK; /* it starts now, or is rejected now */
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

/* ---- Moves --------------------------------------------------------------------------------------------- */

static bool make_slices(struct kai *kai, uint32_t n) {
  if (n <= kai->max_slices) return true;
  kai->slices = hr_arena_alloc(kai->arena, 2 * (size_t)n * sizeof *kai->slices);
  kai->max_slices = kai->slices ? 2 * n : 0;
  return kai->slices != NULL;
}

/* Adds the GPUs of a pod to the slices; pods on the same node share one. */
static void add_slice(struct kai *kai, uint32_t *n, uint32_t node, uint32_t gpus) {
  for (uint32_t i = 0; i < *n; i++) {
    if (kai->slices[i].node.id != node) continue;
    kai->slices[i].gpu_milli += gpus * HR_WHOLE_GPU_MILLI;
    return;
  }
  kai->slices[(*n)++] = (struct hr_slice){.node = {node}, .gpu_milli = gpus * HR_WHOLE_GPU_MILLI};
}

/* Requests passes at the times at which jobs that start now may be evicted. */
static enum hr_status wake_for_runtimes(struct kai *kai) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < kai->n_runtimes && status == HR_OK; i++)
    status = hr_moves_wake_at(kai->moves, kai->view->now_us + kai->runtimes_us[i]);
  return status;
}

/* Whether a job has the first `n` slices already. Pods that are bound and evicted in one session have never run. */
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

/* Starts a job on the nodes of its pods, or resizes it if it runs. If its GPUs do not suffice on these, it waits on. */
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

/* Evicts a job: gives it notice, or stops it at once. */
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

/* ---- Cycles -------------------------------------------------------------------------------------------- */

/* Lists the jobs of which the action `allocate` has bound pods as running, so that later actions see them. */
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

/* Lists the jobs of which pods have to leave, in the order of the decisions. */
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

/* Starts the jobs that were bound. Those that were evicted again in the same session have never run. */
static enum hr_status start_bound(struct kai *kai) {
  struct hr__kai_world *world = &kai->world;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < kai->n_bound && status == HR_OK; i++) {
    const uint32_t slot = kai->bound[i];
    if (world->is_leaving[slot]) continue; /* elastic: it is resized when its evicted pods leave */
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
 * Whether jobs take GPUs from each other without end. A queue within its quota may reclaim from one that is within its
 * fair share, and that one then from the first. If evicted jobs lose their work, KAI repeats this for ever. The
 * model gives up when each job was evicted many times on average while none has ended. Then nothing is evicted until a
 * job ends, so that the run ends.
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

/* While past usage may change the order, requests a pass when it is read. */
static enum hr_status wake_for_usage(struct kai *kai) {
  const int64_t interval_us = kai->scheduler.usage.fetch_interval_us;
  if (!kai->scheduler.usage.enabled || kai->world.n_waiting == 0 || kai->world.n_running == 0) return HR_OK;
  const int64_t next_us = (kai->view->now_us / interval_us + 1) * interval_us;
  if (next_us == kai->fetch_us) return HR_OK;
  kai->fetch_us = next_us;
  return hr_moves_wake_at(kai->moves, next_us);
}

/* Requests a pass at the next multiple of the period. */
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

/* ---- Reasons ------------------------------------------------------------------------------------------- */

static void explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  const struct kai *kai = self;
  const uint32_t slot = hr__kai_slot_of(&kai->world, job);
  bool over_quota;
  if (slot == HR_NONE) return;
  if (hr__kai_full_queue(&kai->world, slot, &over_quota) != HR_NONE) {
    wait->reason = HR_WAIT_REASON_QUOTA;
    wait->quota = HR_QUOTA_FALLBACK;
  } else if (hr__kai_fits_somewhere(&kai->world, slot)) {
    /* The next cycle may start the job, or jobs that go before it. */
    wait->reason = HR_WAIT_REASON_TURN;
    wait->until_us = (view->now_us / kai->scheduler.period_us + 1) * kai->scheduler.period_us;
  } else {
    hr_view_lack(view, job, wait);
  }
}

static void describe(void *self, const struct hr_view *view, hr_job job, char *text, size_t size) {
  const struct kai *kai = self;
  const uint32_t slot = hr__kai_slot_of(&kai->world, job);
  (void)view;
  if (slot != HR_NONE) hr__kai_describe(&kai->world, slot, text, size);
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
