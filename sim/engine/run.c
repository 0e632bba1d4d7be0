/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The run loop. At each instant the loop handles, in this order: ends of jobs, changes of nodes, submissions, events of
 * services, and wake-ups of the policy. Then it makes one pass of the policy and completes the policy's moves in order.
 * If a pass starts a job with zero run time, the job ends at the same instant. The loop then handles this instant
 * again.
 *
 * Every event is added to the digest, and the observers are notified of it. The policy is notified of all these events
 * except its own moves and jobs that are rejected at their submission. The events HR_EVENT_WITHDRAW and HR_EVENT_RESIZE
 * are only for the policy.
 *
 * The last part of the file has the names of states, events, reasons, job classes and outcomes, and job ids as text.
 */

#include "base/containers.h"
#include "base/text.h"
#include "headroom/sim.h"
#include "headroom/trace.h"
#include "headroom/unstable/clusters.h"
#include "headroom/unstable/faults.h"
#include "sim/data/data.h"
#include "sim/engine/engine.h"
#include "sim/power/power.h"
#include "sim/services/fleet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The components, in the order in which their hooks are called.
 *
 *   column_reclaim  first, because the columns of all other components are in the memory that it manages.
 *   markets         before residents and sharing, which need lists of the jobs of each node if there are markets.
 *   spares          before faults, which must know at the start which nodes are spares.
 *   faults          after markets: at the start, faults may turn nodes of markets off.
 *   maintenance     after faults: a node in maintenance may also have failed.
 *   slow            before attempts: the first speed of a job depends on the speed of its nodes.
 *   autoscaler      before attempts: it may remove nodes with jobs.
 *   standby         before power, which counts sleeping nodes.
 *   power           after faults, which turn some nodes off at the start without a change of their power.
 *   residents       before sharing: when a job has left, only the remaining jobs of its nodes may change their speed.
 *   sharing         before attempts, because it disturbs jobs.
 *   resizes         before attempts, because it disturbs jobs: elastic jobs change their speed.
 *   replica_jobs    before attempts, because it disturbs jobs: replicas of services are stopped before their end.
 *   data            before attempts: it must know which data a job reads when the job begins to work.
 *   attempts        after all components that disturb jobs. It is needed if one of them is active, or if the policy
 *                   preempts jobs.
 *   run_to_end      last: it is needed only if `attempts` is not active.
 *
 * To add a component, write its file and add its object here. If the component has pending events, add their kinds to
 * enum hr__pending_kind. The order of the kinds is the order in which they are handled at one instant.
 */
extern const struct hr__component hr__component_column_reclaim, hr__component_markets, hr__component_spares,
    hr__component_faults, hr__component_maintenance, hr__component_slow, hr__component_autoscaler,
    hr__component_standby, hr__component_power, hr__component_residents, hr__component_sharing, hr__component_resizes,
    hr__component_replica_jobs, hr__component_data, hr__component_attempts, hr__component_run_to_end;

static const struct hr__component *const components[] = {
    &hr__component_column_reclaim, &hr__component_markets,   &hr__component_spares,     &hr__component_faults,
    &hr__component_maintenance,    &hr__component_slow,      &hr__component_autoscaler, &hr__component_standby,
    &hr__component_power,          &hr__component_residents, &hr__component_sharing,    &hr__component_resizes,
    &hr__component_replica_jobs,   &hr__component_data,      &hr__component_attempts,   &hr__component_run_to_end,
};
enum { N_COMPONENTS = sizeof components / sizeof *components };
_Static_assert((int)N_COMPONENTS <= (int)HR__MAX_COMPONENTS, "more components than struct hr__engine has room for");

/* A run is stalled if, for this time plus the maximum run time of a job, no job is submitted or ends and no work is
   kept. This happens if the capacity that waiting jobs need never becomes available. It also happens if this capacity
   is always reclaimed before the jobs can write a checkpoint. */
#define STALL_US (INT64_C(365) * 86400 * HR_SECOND_US)

/* A run is stopped if jobs only preempt each other. Both of these conditions must be true:
   - The number of preemptions since the last progress is at least MIN_FUTILE + FUTILE_PER_JOB * n. n is the number of
     waiting and running jobs.
   - The time since the last progress is longer than the maximum run time of a job plus LIVELOCK_US. LIVELOCK_US is
     added because priorities may change with time. If a component is endless or a service is open,
     LIVELOCK_WITH_EVENTS_US is added instead, because further events may change the capacity or the demand. */
enum { FUTILE_PER_JOB = 10, MIN_FUTILE = 10000 };
#define LIVELOCK_US (INT64_C(86400) * HR_SECOND_US)
#define LIVELOCK_WITH_EVENTS_US (30 * LIVELOCK_US)

/* Checked mode checks the invariants of single jobs once in this number of passes. */
enum { JOBS_CHECK_PASSES = 1 << 12 };

/* An idle pass is caused only by a wake-up of the policy, and makes no move except the next wake-up. If
   MAX_IDLE_PASSES successive passes are idle and take less than IDLE_US of simulated time, the run ends with an error,
   because it would not end in any reasonable time. */
enum { MAX_IDLE_PASSES = 1000000 };

/* hr__engine_poll calls is_stopped of the caller once, and then not for this number of instants. */
enum { POLL_INSTANTS = 63 };
#define IDLE_US (100 * HR_SECOND_US)

/* A job is prefetched this number of jobs before its submission. */
enum { PREFETCHED_JOBS = 16 };

void hr__notify_instant(struct hr__engine *engine) {
  const struct hr_run_config *config = engine->config;
  if (engine->power) hr__power_note(engine);
  for (uint32_t i = 0; i < config->n_observers; i++)
    if (config->observers[i].on_instant) config->observers[i].on_instant(config->observers[i].self, &engine->view);
}

/* ---- Events ---- */

static enum hr_status fire_timer(struct hr__engine *engine) {
  engine->n_timers++;
  return hr__emit(engine, HR__JOB_EVENT(engine, HR_EVENT_TIMER, HR_REASON_NONE, (hr_job){HR_NONE}, NULL));
}

static enum hr_status check_after_event(const struct hr__engine *engine) {
  return engine->config->check ? hr__check_state(engine, false) : HR_OK;
}

static enum hr_status advance(struct hr__engine *engine, struct hr__pending pending) {
  enum hr__pending_kind kind = hr__pending_kind(pending);
  if (kind == HR__PENDING_END) return hr__job_end(engine, (hr_job){hr__pending_entity(pending)});
  return kind == HR__PENDING_TIMER ? fire_timer(engine) : engine->handler[kind]->advance(engine, pending);
}

/* Loads the columns of a job that are read at its submission, start and end into the cache of the processor. Without
   this, a run of a million jobs takes about 10 % longer. The function must be inlined, because gcc 12 removes calls of
   functions that only prefetch. */
__attribute__((always_inline)) static inline void prefetch_job(const struct hr__engine *engine, uint32_t job) {
  __builtin_prefetch(&engine->allocation[job]);
  __builtin_prefetch(&engine->state[job], 1);
  __builtin_prefetch(&engine->trace->gpus[job]);
  if (engine->gpu_milli) __builtin_prefetch(&engine->gpu_milli[job]);
  if (!engine->allocation_gpus) return;
  __builtin_prefetch(&engine->allocation_gpus[job]);
  __builtin_prefetch(&engine->allocation_instance[job]);
  __builtin_prefetch(&engine->cluster.requests->of_job[job]);
}

/* Prefetches the job that will probably end next. */
__attribute__((always_inline)) static inline void prefetch_end(const struct hr__engine *engine) {
  if (engine->heap.count == 0 || hr__pending_kind(engine->heap.entries[0]) != HR__PENDING_END) return;
  prefetch_job(engine, hr__pending_entity(engine->heap.entries[0]));
}

/* Prefetches a job that will be submitted soon. */
__attribute__((always_inline)) static inline void prefetch_submit(const struct hr__engine *engine, uint32_t job) {
  if (job >= engine->n_input) return;
  prefetch_job(engine, job);
  __builtin_prefetch(&engine->trace->submit_us[job]);
  __builtin_prefetch(&engine->trace->work_us[job]);
  __builtin_prefetch(&engine->start_us[job], 1);
}

/* Handles the pending events of the present instant, in the order of their kinds, up to kind `last`. */
static enum hr_status run_pending(struct hr__engine *engine, enum hr__pending_kind last) {
  struct hr__event_heap *heap = &engine->heap;
  enum hr_status status = HR_OK;
  hr__event_heap_settle(heap);
  while (status == HR_OK && heap->count && heap->entries[0].at_us == engine->view.now_us &&
         hr__pending_kind(heap->entries[0]) <= last) {
    status = advance(engine, hr__event_heap_take(heap));
    hr__event_heap_settle(heap);
    prefetch_end(engine);
    if (status == HR_OK) status = check_after_event(engine);
  }
  return status;
}

/* Calls the hook `supply` of the components until they cause no further events at this instant. */
static enum hr_status add_supply(struct hr__engine *engine) {
  enum hr_status status = HR_OK;
  for (bool any = true; status == HR_OK && any;) {
    any = false;
    HR__CALL_ACTIVE(engine, status, supply, &any);
    if (status == HR_OK && any) status = run_pending(engine, HR__PENDING_NODE_UP);
  }
  return status;
}

enum hr_status hr__engine_free_capacity(struct hr__engine *engine) {
  enum hr_status status = run_pending(engine, HR__PENDING_NODE_UP);
  return status == HR_OK && !(engine->abilities & HR_POLICY_MANAGES_CAPACITY) ? add_supply(engine) : status;
}

/* Handles the events before submissions, and then the submissions of the present instant. */
static enum hr_status submit_jobs(struct hr__engine *engine) {
  enum hr_status status = hr__engine_free_capacity(engine);
  while (status == HR_OK && engine->cursor < engine->n_input &&
         engine->trace->submit_us[engine->cursor] == engine->view.now_us) {
    prefetch_submit(engine, engine->cursor + PREFETCHED_JOBS);
    status = hr__job_submit(engine, (hr_job){engine->cursor++});
    if (status == HR_OK) status = check_after_event(engine);
  }
  return status;
}

/* ---- Moves ---- */

static enum hr_status commit_move(struct hr__engine *engine, const struct hr__move *move) {
  switch (move->kind) {
  case HR__MOVE_START:
    return move->is_amended ? HR_OK : hr__job_start(engine, move);
  case HR__MOVE_REJECT:
    hr__job_reject(engine, move->job, move->reason);
    return HR_OK;
  case HR__MOVE_LEAVE:
    return hr__dispatch_left(engine, move->job);
  case HR__MOVE_WAKE:
    if (engine->abilities & HR_POLICY_HOLDS_RUN && move->at_us > engine->hold_until_us)
      engine->hold_until_us = move->at_us;
    return hr__schedule(engine, move->at_us, HR__PENDING_TIMER, 0);
  case HR__MOVE_PREEMPT:
    return hr__job_preempt(engine, move);
  case HR__MOVE_RESIZE:
    return hr__job_resize(engine, move);
  case HR__MOVE_NOTICE:
    return hr__job_notice(engine, move->job, (struct hr__job_notice){move->at_us, true, move->keeps});
  case HR__MOVE_ACQUIRE:
    return hr__market_launch(engine, move->node);
  case HR__MOVE_RELEASE: {
    hr_pool pool = hr__cluster_pool_of(&engine->cluster, move->node);
    hr__notify_observers(engine, HR__NODE_EVENT(engine, HR_EVENT_RELEASE, move->reason, pool, move->node));
    return HR_OK;
  }
  }
  return HR_OK;
}

static enum hr_status run_pass(struct hr__engine *engine) {
  const struct hr_run_config *config = engine->config;
  engine->moves.count = 0;
  engine->n_passes++;
  hr__policy_enter(engine->call, "decide");
  enum hr_status status = engine->ops.decide(engine->policy, &engine->view, &engine->moves);
  hr__policy_leave(engine->call);
  if (engine->moves.status != HR_OK) return engine->moves.status;
  if (status == HR_NO_MEMORY) return hr__out_of_memory(engine);
  if (status != HR_OK)
    return hr_fail(engine->error, HR_BAD_POLICY, "policy '%s' failed at %" PRId64 " us", config->policy->name,
                   engine->view.now_us);
  for (uint32_t i = 0; i < engine->moves.count; i++) {
    status = commit_move(engine, &engine->moves.list[i]);
    if (status != HR_OK) return status;
  }
  if (engine->standby) status = hr__budget_limit(engine);
  if (status != HR_OK) return status;
  hr__notify_instant(engine);
  if (!config->check) return HR_OK;
  return hr__check_state(engine, engine->n_passes % JOBS_CHECK_PASSES == 0);
}

/* Counts a pass if it was idle. `before`: the value of n_events - n_timers before the instant of the pass. An idle pass
   does not change this value. */
static enum hr_status count_idle_pass(struct hr__engine *engine, uint64_t before) {
  if (engine->n_events - engine->n_timers != before) {
    engine->n_idle_passes = 0;
    return HR_OK;
  }
  if (engine->n_idle_passes++ == 0) engine->idle_since_us = engine->view.now_us;
  if (engine->n_idle_passes < MAX_IDLE_PASSES) return HR_OK;
  int64_t passed_us = engine->view.now_us - engine->idle_since_us;
  engine->n_idle_passes = 0;
  if (passed_us >= IDLE_US) return HR_OK;
  return hr_fail(
      engine->error, HR_BAD_POLICY,
      "policy '%s' makes no progress: at %.6f s, it has woken itself %d times in succession within %.6f s, and "
      "nothing else happened",
      engine->config->policy->name, (double)engine->view.now_us / (double)HR_SECOND_US, MAX_IDLE_PASSES,
      (double)passed_us / (double)HR_SECOND_US);
}

/* ---- Loop ---- */

int64_t hr__engine_next_us(const struct hr__engine *engine) {
  return engine->heap.count ? engine->heap.entries[0].at_us : HR_NEVER_US;
}

static int64_t next_instant(const struct hr__engine *engine) {
  int64_t at_us = hr__engine_next_us(engine);
  if (engine->cursor < engine->n_input && engine->trace->submit_us[engine->cursor] < at_us)
    at_us = engine->trace->submit_us[engine->cursor];
  return at_us;
}

/* Sets the clock to the horizon and notifies the observers. The next event must be later than the horizon. */
static void stop_at_horizon(struct hr__engine *engine) {
  engine->view.now_us = engine->last_us = engine->config->horizon_us;
  if (engine->n_series) HR__EACH_ACTIVE(engine, catch_up, at)(*at)->catch_up(engine, engine->last_us);
  hr__notify_instant(engine);
}

/* Sets the end of a stalled run. The end is the last event, or the last kill for lack of GPU memory if this kill is
   later. Such a kill emits no event. */
static void stop_stalled(struct hr__engine *engine) {
  if (engine->last_kill_us <= engine->last_us) return;
  engine->view.now_us = engine->last_us = engine->last_kill_us;
  hr__notify_instant(engine);
}

/* Returns whether all jobs of the input are submitted. */
static bool all_submitted(const struct hr__engine *engine) {
  const struct hr__engine *input = engine->whole ? engine->whole : engine;
  return input->cursor == input->n_input;
}

/* Returns whether all pending events of the next instant are wake-ups of the policy. */
static bool is_timer_next(const struct hr__engine *engine) {
  return engine->heap.count && hr__pending_kind(engine->heap.entries[0]) == HR__PENDING_TIMER;
}

/* Returns whether the policy manages capacity and has nodes of elastic pools that it has not released. */
static bool rents_nodes(const struct hr__engine *engine) {
  if (!(engine->abilities & HR_POLICY_MANAGES_CAPACITY)) return false;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    if (!hr_market_is_elastic(pool->spec->market.market)) continue;
    if (pool->n_in[HR_NODE_UP] + pool->n_in[HR_NODE_CLOSING] + pool->n_in[HR_NODE_BOOTING] > 0) return true;
  }
  return false;
}

bool hr__engine_is_outdated(const struct hr__engine *engine) {
  if (!is_timer_next(engine) || hr__engine_next_us(engine) <= engine->hold_until_us || engine->n_open > 0) return false;
  if (engine->trace->n_added > 0) return !engine->whole;
  return !rents_nodes(engine) && !(engine->data && hr__data_is_active(engine));
}

/* Returns whether the run is over. A run without further events is over. A run with further events is over only if its
   last job has ended and all requests of services are complete. In addition, a component must be endless, or the next
   event must be an outdated wake-up of the policy. A policy can hold the run until a later time (HR_POLICY_HOLDS_RUN).
   Nodes are paid for until the end of the run. */
bool hr__engine_is_over(const struct hr__engine *engine, int64_t at_us) {
  if (at_us == HR_NEVER_US) return true;
  if (at_us <= engine->hold_until_us || engine->n_open > 0) return false;
  if (!all_submitted(engine) || engine->view.n_waiting + engine->view.n_running > 0) return false;
  return engine->is_endless || hr__engine_is_outdated(engine);
}

enum hr_status hr__engine_poll(struct hr__engine *engine) {
  const struct hr_progress *progress = &engine->config->progress;
  if (!progress->is_stopped || engine->n_until_poll-- > 0) return HR_OK;
  engine->n_until_poll = POLL_INSTANTS;
  return progress->is_stopped(progress->self) ? hr_fail(engine->error, HR_STOPPED, "the run was stopped") : HR_OK;
}

uint64_t hr__engine_livelock(const struct hr__engine *engine, int64_t at_us) {
  const uint64_t n_left = (uint64_t)engine->view.n_waiting + engine->view.n_running;
  if (at_us == HR_NEVER_US || engine->futile_since_us != engine->last_progress_us) return 0;
  if (engine->n_futile < MIN_FUTILE || engine->n_futile - MIN_FUTILE < FUTILE_PER_JOB * n_left) return 0;
  const int64_t patience_us = engine->is_endless || engine->n_open > 0 ? LIVELOCK_WITH_EVENTS_US : LIVELOCK_US;
  return at_us - engine->last_progress_us - engine->longest_us > patience_us ? engine->n_futile : 0;
}

/* Returns whether the run is stalled. A run with a horizon is never stalled. It continues to the horizon, because its
   costs increase until then. */
bool hr__engine_is_stalled(const struct hr__engine *engine, int64_t at_us) {
  if (!engine->attempt_slot || !all_submitted(engine) || engine->config->horizon_us != HR_NEVER_US) return false;
  /* a run with active flows of data is not stalled, because each flow ends at some time */
  if (engine->data && hr__data_is_active(engine)) return false;
  if (engine->view.n_waiting + engine->view.n_running == 0 || engine->n_series > 0) return false;
  return at_us - engine->last_progress_us - engine->longest_us > STALL_US || hr__engine_livelock(engine, at_us) > 0;
}

void hr__engine_enter(struct hr__engine *engine, int64_t now_us) {
  engine->view.now_us = now_us;
  if (engine->n_series) HR__EACH_ACTIVE(engine, catch_up, at)(*at)->catch_up(engine, now_us);
}

bool hr__engine_serve(struct hr__engine *engine, enum hr_status *status) {
  const struct hr__event_heap *heap = &engine->heap;
  if (!heap->count || heap->entries[0].at_us != engine->view.now_us ||
      hr__pending_kind(heap->entries[0]) != HR__PENDING_SERVICE)
    return false;
  *status = run_pending(engine, HR__PENDING_SERVICE);
  return true;
}

static enum hr_status decide(struct hr__engine *engine, uint64_t n_events, uint64_t n_others) {
  enum hr_status status = run_pending(engine, HR__PENDING_TIMER);
  if (status != HR_OK) return status;
  if (engine->n_events == n_events) /* all entries were outdated, or the only valid entry was a scan */
    return engine->autoscaler ? hr__autoscaler_after_pass(engine) : HR_OK;
  engine->last_us = engine->view.now_us;
  if (engine->standby) status = hr__standby_before_pass(engine);
  if (status == HR_OK) status = run_pass(engine);
  if (status == HR_OK && engine->standby) status = hr__standby_after_pass(engine);
  if (status == HR_OK && engine->autoscaler) status = hr__autoscaler_after_pass(engine);
  return status == HR_OK ? count_idle_pass(engine, n_others) : status;
}

/* The power of nodes can change without an event, for example when a suspended node begins to sleep. It can also change
   after the observers were notified of a pass. They are then notified again. */
enum hr_status hr__engine_decide(struct hr__engine *engine, uint64_t n_events, uint64_t n_others) {
  enum hr_status status = decide(engine, n_events, n_others);
  if (status == HR_OK && !engine->whole && engine->power && !hr__power_is_noted(engine)) hr__notify_instant(engine);
  return status;
}

static enum hr_status run_loop(struct hr__engine *engine) {
  for (;;) {
    int64_t at_us = next_instant(engine);
    engine->n_livelock = hr__engine_livelock(engine, at_us);
    engine->stalled = hr__engine_is_stalled(engine, at_us);
    if (engine->stalled) stop_stalled(engine);
    if (engine->stalled || hr__engine_is_over(engine, at_us)) return HR_OK;
    if (at_us > engine->config->horizon_us) {
      stop_at_horizon(engine);
      return HR_OK;
    }
    uint64_t before = engine->n_events, others_before = before - engine->n_timers;
    hr__engine_enter(engine, at_us);
    enum hr_status status = hr__engine_poll(engine);
    if (status == HR_OK) status = submit_jobs(engine);
    if (status == HR_OK) status = hr__engine_decide(engine, before, others_before);
    if (status != HR_OK) return status;
  }
}

/* ---- Start and end of a run ---- */

static enum hr_status allocate_jobs(struct hr__engine *engine) {
  uint32_t n_jobs = engine->trace->n_jobs;
  if (!HR__ARRAY_MAKE(engine->pool_accounting, engine->config->cluster->n_pools)) return hr__out_of_memory(engine);
  const uint32_t n_outages = hr_outages_count(engine->config->cluster->pools, engine->config->cluster->n_pools);
  if (n_outages) engine->outages = calloc(n_outages, sizeof *engine->outages);
  if (n_outages && !engine->outages) return hr__out_of_memory(engine);
  engine->state = HR__RESULT_COLUMN(engine, state);
  engine->reason = HR__RESULT_COLUMN(engine, reason);
  engine->start_us = HR__RESULT_COLUMN(engine, start_us);
  engine->allocation = HR__RESULT_COLUMN(engine, allocation);
  if (!engine->state || !engine->reason || !engine->start_us || !engine->allocation) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < n_jobs && !engine->config->stream && !engine->whole; i++) engine->start_us[i] = HR_NEVER_US;
  return HR_OK;
}

static enum hr_status create_policy(struct hr__engine *engine) {
  const struct hr_run_config *config = engine->config;
  const struct hr_policy_ops *ops = &engine->ops;
  size_t size = config->policy->size < sizeof *ops ? config->policy->size : sizeof *ops;
  if (config->policy->abi != HR_POLICY_ABI || config->policy->size > sizeof *ops ||
      size <= offsetof(struct hr_policy_ops, decide))
    return hr_fail(engine->error, HR_BAD_POLICY,
                   "policy '%s' was built for interface %u of %u bytes; this is %u of %zu", config->policy->name,
                   (unsigned)config->policy->abi, (unsigned)config->policy->size, HR_POLICY_ABI, sizeof *ops);
  memcpy(&engine->ops, config->policy, size);
  struct hr_policy_env env = {.size = sizeof env,
                              .arena = &engine->arena,
                              .jobs = engine->trace,
                              .cluster = &engine->cluster,
                              .params = config->params,
                              .seed = config->seed,
                              .classes = config->classes,
                              .quotas = config->quotas,
                              .systems = config->systems,
                              .values = config->values};
  engine->call = hr__policy_guard_claim(ops->name);
  hr__policy_enter(engine->call, "usable_nodes");
  for (uint32_t i = 0; ops->usable_nodes && i < engine->cluster.n_pools; i++)
    engine->cluster.pools[i].usable_nodes = ops->usable_nodes(config->params, config->cluster, (hr_pool){i});
  hr__policy_enter(engine->call, "create");
  enum hr_status status = ops->create(&env, &engine->policy, engine->error);
  hr__policy_enter(engine->call, "abilities");
  if (status == HR_OK && ops->abilities) engine->abilities = ops->abilities(engine->policy);
  hr__policy_leave(engine->call);
  bool may_break = engine->cluster.tiers_within && !(engine->abilities & HR_POLICY_KEEPS_WITHIN);
  if (status == HR_OK && may_break)
    return hr_fail(
        engine->error, HR_BAD_INPUT,
        "policy '%s' does not support locality requirements ('within', in the trace or of a class); use 'queue'",
        config->policy->name);
  if (status == HR_NO_MEMORY) return hr__out_of_memory(engine);
  bool explained = status == HR_BAD_INPUT || status == HR_BAD_POLICY;
  if (status == HR_OK || (explained && (!engine->error || engine->error->status == status))) return status;
  return hr_fail(engine->error, HR_BAD_POLICY, "policy '%s' failed when it was created, with status %d and no message",
                 config->policy->name, (int)status);
}

static enum hr_status open_components(struct hr__engine *engine) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < N_COMPONENTS && status == HR_OK; i++)
    if (components[i]->open) status = components[i]->open(engine);
  return status;
}

static enum hr_status init_components(struct hr__engine *engine) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < N_COMPONENTS && status == HR_OK; i++)
    if (components[i]->init) status = components[i]->init(engine);
  return status;
}

static enum hr_status activate(struct hr__engine *engine, const struct hr__component *component) {
  size_t count = 0;
  while (engine->active[count]) count++;
  engine->active[count] = component;
  engine->disturbs_jobs = engine->disturbs_jobs || component->disturbs_jobs;
  engine->is_endless = engine->is_endless || component->is_endless;
  for (uint32_t kind = 0; kind <= HR__PENDING_TIMER; kind++)
    if (component->kinds >> kind & 1) engine->handler[kind] = component;
  return component->begin ? component->begin(engine) : HR_OK;
}

static bool is_needed(const struct hr__engine *engine, const struct hr__component *component) {
  if (component->is_needed) return component->is_needed(engine);
  return *(void *const *)((const char *)engine + component->part);
}

enum hr_status hr__engine_activate(struct hr__engine *engine) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < N_COMPONENTS && status == HR_OK; i++)
    if (is_needed(engine, components[i])) status = activate(engine, components[i]);
  return status;
}

static enum hr_status bind_speeds(struct hr__engine *engine) {
  const struct hr_speeds *speeds = engine->config->speeds;
  if (speeds && speeds->n_pools != engine->config->cluster->n_pools)
    return hr_fail(engine->error, HR_BAD_INPUT,
                   "the table of speeds is for %" PRIu32 " pools; the cluster has %" PRIu32, speeds->n_pools,
                   engine->config->cluster->n_pools);
  enum hr_status status =
      hr__speeds_init(&engine->speeds, &engine->arena, speeds, engine->config->cluster, engine->trace);
  if (status == HR_OK)
    status = hr__speeds_limit(&engine->speeds, &engine->arena, engine->config->cluster, engine->trace,
                              engine->config->classes);
  if (status == HR_OK)
    status = hr__network_init(&engine->network, &engine->arena, engine->config->network_speeds, engine->config->cluster,
                              engine->trace);
  return status == HR_OK ? HR_OK : hr__out_of_memory(engine);
}

/* Allocates the columns that are needed only in per-GPU allocation. */
static enum hr_status allocate_gpu_columns(struct hr__engine *engine) {
  engine->allocation_gpus = HR__JOB_COLUMN(engine, allocation_gpus);
  engine->allocation_instance = HR__JOB_COLUMN(engine, allocation_instance);
  engine->gpu_milli = HR__RESULT_COLUMN(engine, gpu_milli);
  bool made = engine->allocation_gpus && engine->allocation_instance && engine->gpu_milli;
  return made ? HR_OK : hr__out_of_memory(engine);
}

static enum hr_status refuse_check(const struct hr__engine *engine) {
  if (!engine->config->stream || !engine->config->check) return HR_OK;
  return hr_fail(engine->error, HR_BAD_INPUT,
                 "--check cannot be combined with a streamed run, which forgets finished jobs");
}

/* Creates the columns and the pools. */
static enum hr_status create_pools(struct hr__engine *engine) {
  enum hr_status status = bind_speeds(engine);
  if (status == HR_OK) status = allocate_jobs(engine);
  if (status != HR_OK) return status;
  status = hr__cluster_init(&engine->cluster, &engine->arena, engine->config->cluster, engine->trace,
                            engine->config->classes, &engine->speeds);
  if (status != HR_OK) return hr__out_of_memory(engine);
  if (engine->cluster.inventory) status = allocate_gpu_columns(engine);
  engine->view = (struct hr_view){.size = sizeof engine->view,
                                  .jobs = engine->trace,
                                  .cluster = &engine->cluster,
                                  .state = engine->state,
                                  .start_us = engine->start_us,
                                  .attempt_us = engine->start_us,
                                  .total_milli = engine->cluster.total_milli};
  return status;
}

enum hr_status hr__engine_create(struct hr__engine *engine) {
  enum hr_status status = open_components(engine);
  if (status == HR_OK) status = create_pools(engine);
  if (status == HR_OK) status = init_components(engine);
  return status == HR_OK ? create_policy(engine) : status;
}

static enum hr_status begin(struct hr__engine *engine) {
  if (engine->config->clusters) {
    enum hr_status made = create_pools(engine);
    return made == HR_OK ? hr__clusters_begin(engine) : made;
  }
  enum hr_status status = hr__engine_create(engine);
  if (status == HR_OK) status = hr__engine_activate(engine);
  return status == HR_OK ? refuse_check(engine) : status;
}

void hr__engine_settle(struct hr__engine *engine) {
  const bool keeps = !(engine->abilities & HR_POLICY_MANAGES_CAPACITY) && !engine->autoscaler;
  engine->view.now_us = engine->last_us;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    engine->pool_accounting[i].is_kept = keeps && hr_market_is_elastic(engine->cluster.pools[i].spec->market.market);
  HR__EACH_ACTIVE(engine, settle, at)(*at)->settle(engine);
}

static void add_unfinished(const struct hr__engine *engine, uint32_t job, struct hr_unfinished_totals *totals) {
  const int64_t *deadline_us = engine->trace->deadline_us;
  if (deadline_us && deadline_us[job] != HR_UNKNOWN_US) totals->missed_deadlines += deadline_us[job] < engine->last_us;
  if (!engine->account) return;
  const struct hr_job_accounting *accounting = hr__account(engine, (hr_job){job});
  totals->oom_kills += accounting->oom_kills;
  totals->oom_jobs += accounting->oom_kills > 0;
  totals->milli_us.kept += accounting->milli_us.kept;
  totals->milli_us.lost += accounting->milli_us.lost;
  totals->milli_us.saving += accounting->milli_us.saving;
  totals->milli_us.restarting += accounting->milli_us.restarting;
  totals->milli_us.hanging += accounting->milli_us.hanging;
  totals->milli_us.data += accounting->milli_us.data;
}

/* Returns totals over the jobs that still wait or run at the end of a streamed run. */
static struct hr_unfinished_totals sum_unfinished(const struct hr__engine *engine) {
  const struct hr__column_reclaim *reclaim = &engine->reclaim;
  struct hr_unfinished_totals totals = {0};
  for (uint32_t job = hr__column_reclaim_skip(reclaim, 0); job < engine->cursor;
       job = hr__column_reclaim_skip(reclaim, job + 1))
    if (engine->state[job] == HR_JOB_WAITING || engine->state[job] == HR_JOB_RUNNING)
      add_unfinished(engine, job, &totals);
  return totals;
}

/* The per-job columns that the result gets from the engine. */
#define RESULT_COLUMN_TABLE(COLUMN)                                                                                    \
  COLUMN(state) COLUMN(reason) COLUMN(start_us) COLUMN(ended_us) COLUMN(account) COLUMN(gpu_milli) COLUMN(resized)

/* Moves the per-job columns from the engine to the result. */
static void move_columns(struct hr__engine *engine, struct hr_result *result) {
  result->n_jobs = engine->trace->n_jobs;
#define MOVE(column)                                                                                                   \
  result->column = engine->column;                                                                                     \
  engine->column = NULL;
  RESULT_COLUMN_TABLE(MOVE)
  result->accounts = engine->accounts ? engine->accounts->rows : NULL;
  if (engine->accounts) engine->accounts->rows = NULL;
  result->energy = engine->energy;
  engine->energy = NULL;
}

/* Creates the result. If the run is not streamed, the result then owns the per-job columns. */
static enum hr_status make_result(struct hr__engine *engine, struct hr_result **result) {
  *result = malloc(sizeof **result);
  if (!*result) return hr__out_of_memory(engine);
  **result = (struct hr_result){.trace = engine->trace,
                                .pools = engine->pool_accounting,
                                .outages = engine->outages,
                                .n_pools = engine->cluster.n_pools,
                                .n_submitted = engine->n_submitted,
                                .n_completed = engine->n_completed,
                                .n_rejected = engine->n_rejected,
                                .n_waiting = engine->view.n_waiting,
                                .n_running = engine->view.n_running,
                                .n_events = engine->n_events,
                                .n_passes = engine->n_passes,
                                .n_backfilled = engine->n_backfilled,
                                .end_us = engine->last_us,
                                .abilities = engine->abilities,
                                .stalled = engine->stalled,
                                .n_futile = engine->n_livelock,
                                .peaks = engine->peaks,
                                .digest = engine->digest};
  engine->pool_accounting = NULL;
  engine->outages = NULL;
  const enum hr_status status = hr__data_result(engine, &(*result)->data);
  if (status != HR_OK) {
    hr_result_destroy(*result);
    *result = NULL;
    return status;
  }
  if (engine->config->stream)
    (*result)->left = sum_unfinished(engine);
  else
    move_columns(engine, *result);
  return HR_OK;
}

/* Frees the per-job columns that come from malloc. In a streamed run, the columns are in the arena. The columns of a
   cluster belong to the whole run. */
static void free_columns(struct hr__engine *engine) {
  if (engine->config->stream || engine->whole) return;
#define FREE(column) free(engine->column);
  RESULT_COLUMN_TABLE(FREE)
#undef FREE
  free(engine->allocation);
}

void hr__engine_finish(struct hr__engine *engine) {
  if (engine->clusters) hr__clusters_finish(engine);
  if (engine->accounts && !engine->whole) free(engine->accounts->rows);
  if (!engine->whole) hr__job_energy_destroy(engine->energy);
  hr__policy_enter(engine->call, "destroy");
  if (engine->policy && engine->ops.destroy) engine->ops.destroy(engine->policy);
  hr__policy_guard_release(engine->call);
  for (size_t i = N_COMPONENTS; i-- > 0 && !engine->clusters;)
    if (components[i]->close) components[i]->close(engine);
  hr__event_heap_finish(&engine->heap);
  hr__arena_finish(&engine->arena);
  free(engine->moves.list);
  free(engine->store.slices);
  free(engine->pool_accounting);
  free(engine->outages);
  free_columns(engine);
}

/* Sets the end of a run in which jobs wait or run. Services may have served requests after the last event of a job; the
   end is then the last instant with such requests. */
static void end_when_served(struct hr__engine *engine) {
  if (engine->served_us <= engine->last_us || engine->view.n_waiting + engine->view.n_running == 0) return;
  engine->view.now_us = engine->last_us = engine->served_us;
  hr__notify_instant(engine);
}

enum hr_status hr_sim_run(const struct hr_run_config *config, struct hr_result **result, struct hr_error *error) {
  struct hr__engine engine = {
      .config = config, .trace = config->trace, .error = error, .digest = HR__DIGEST_SEED, .moves = {0}};
  engine.n_input = config->trace->n_jobs - config->trace->n_added;
  engine.moves.engine = &engine;
  if (error) error->status = HR_OK;
  enum hr_status status = begin(&engine);
  if (status == HR_OK) status = engine.clusters ? hr__clusters_loop(&engine) : run_loop(&engine);
  if (status == HR_OK) end_when_served(&engine);
  if (status == HR_OK && config->check && !engine.clusters) status = hr__check_state(&engine, true);
  if (status == HR_OK && engine.clusters) hr__clusters_settle(&engine);
  if (status == HR_OK && !engine.clusters) hr__engine_settle(&engine);
  if (status == HR_OK && config->check && config->fleet) status = hr__fleet_check_settled(&engine);
  if (status == HR_OK) status = make_result(&engine, result);
  if (status == HR_OK && engine.clusters) {
    status = hr__clusters_result(&engine, *result);
    if (status != HR_OK) hr_result_destroy(*result);
  }
  hr__engine_finish(&engine);
  return status;
}

enum hr_status hr_sim_check(const struct hr_run_config *config, struct hr_error *error) {
  struct hr__engine engine = {.config = config, .trace = config->trace, .error = error};
  engine.n_input = config->trace->n_jobs - config->trace->n_added;
  engine.moves.engine = &engine;
  if (error) error->status = HR_OK;
  enum hr_status status = begin(&engine);
  hr__engine_finish(&engine);
  return status;
}

/* ---- Results, names and ids ---------------------------------------------------------------------------- */

void hr_result_destroy(struct hr_result *result) {
  if (!result) return;
#define FREE(column) free(result->column);
  RESULT_COLUMN_TABLE(FREE)
#undef FREE
  free(result->accounts);
  hr__job_energy_destroy(result->energy);
  free(result->pools);
  free(result->outages);
  if (result->data) {
    free(result->data->storage);
    free(result->data->links);
    free(result->data->replicas);
    free(result->data->month_bytes);
    free(result->data);
  }
  for (uint32_t i = 0; i < result->n_clusters; i++) free(result->clusters[i].n_from);
  free(result->clusters);
  free(result->cluster_of);
  free(result);
}

const char *hr_result_state_name(const struct hr_result *result, hr_job job) {
  static const char *const names[] = {[HR_JOB_FUTURE] = "unsubmitted",
                                      [HR_JOB_WAITING] = "unfinished",
                                      [HR_JOB_RUNNING] = "unfinished",
                                      [HR_JOB_COMPLETED] = "completed",
                                      [HR_JOB_REJECTED] = "rejected"};
  return names[result->state[job.id]];
}

HR__NAME_FUNCTION(hr_event_name, enum hr_event_kind, HR_EVENT_TABLE)
HR__NAME_FUNCTION(hr_reason_name, enum hr_reason, HR_REASON_TABLE)

const char *hr_rejection_words(enum hr_reason reason) {
  if (reason == HR_REASON_TOO_LARGE) return "more GPUs requested than any acceptable pool has";
  if (reason == HR_REASON_NO_GPU_TYPE) return "no pool has an acceptable GPU type";
  if (reason == HR_REASON_GPU_MEMORY) return "the acceptable GPUs, or their parts, have too little memory";
  if (reason == HR_REASON_NO_REGION) return "no acceptable pool is in an acceptable region";
  if (reason == HR_REASON_NO_CLASS_POOL) return "the suitable pools serve other job classes only";
  if (reason == HR_REASON_NODE_TOO_SMALL) return "a task requests more than any acceptable node has";
  if (reason == HR_REASON_MIG_PROFILE) return "no acceptable GPU has suitable MIG instances";
  if (reason == HR_REASON_ONLY_MIG) return "the acceptable GPUs are split by MIG, and the jobs name no profile";
  if (reason == HR_REASON_NO_GROUP) return "no acceptable group of the required tier is large enough";
  if (reason == HR_REASON_OVER_QUOTA) return "more GPUs requested than their tenant may ever use";
  if (reason == HR_REASON_NO_QUEUE) return "their queue does not exist or admits no jobs";
  if (reason == HR_REASON_SPOT_ONLY) return "only spot capacity would suffice, which they or the policy do not use";
  if (reason == HR_REASON_KILLED) return "stopped permanently for another job";
  if (reason == HR_REASON_REQUEUES) return "stopped by failures, and must not run again";
  if (reason == HR_REASON_WITHDRAWN) return "not wanted any more while they waited";
  return "rejected by the policy";
}

HR__NAME_FUNCTION(hr_job_class_name, enum hr_job_class, HR_JOB_CLASS_TABLE)
HR__NAME_FUNCTION(hr_outcome_name, enum hr_outcome, HR_OUTCOME_TABLE)

const char *hr_trace_job_id(const struct hr_trace *trace, hr_job job, char *buffer) {
  if (trace->id_text) return trace->id_text[job.id];
  int64_t number = (int64_t)(trace->row ? trace->row[job.id] : job.id) + 1;
  if (trace->id_number) number = trace->id_number[job.id];
  snprintf(buffer, HR_JOB_ID_BUFFER, "%" PRId64, number);
  return buffer;
}
