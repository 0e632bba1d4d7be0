/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The `slurm` policy: sched/builtin or sched/backfill with select/cons_tres; partitions, priorities, QOS, limits,
 * preemption and reservations come from the section `slurm`.
 *
 * The main scheduler runs at each event, but after a submission in slurmctld's background loop (passes.c). It starts
 * jobs in the order of the queue until one does not fit. The backfill scheduler runs bf_interval seconds after its last
 * pass, or later, in the next second after something has changed (backfill.h), as Slurm's does.
 *
 * Invariant: `waiting` has exactly the waiting jobs, and `nodes` the running ones. engine.h describes the other
 * modules.
 */

#include "headroom/unstable/systems/systems.h"
#include "policies/slurm/engine.h"

#include <string.h>

static const char *const scheduler_names[] = {"backfill", "builtin", NULL};
static const char *const priority_names[] = {"basic", "trace", "multifactor", NULL};

#define WHOLE(name, value, low, high, words)                                                                           \
  { .key = (name), .type = HR_PARAM_INTEGER, .fallback = (value), .min = (low), .max = (high), .help = (words) }

static const struct hr_param params[] = {
    {.key = "scheduler",
     .type = HR_PARAM_CHOICE,
     .fallback = "backfill",
     .choices = scheduler_names,
     .help = "SchedulerType: backfill, or builtin for strict order only"},
    {.key = "priority",
     .type = HR_PARAM_CHOICE,
     .fallback = "basic",
     .choices = priority_names,
     .help =
         "PriorityType: basic is first come first served; trace: the priorities of the jobs in the trace; multifactor: "
         "the weights of the section slurm"},
    WHOLE("bf_interval", "30", 1, 10800, "least seconds between two passes of the backfill scheduler"),
    WHOLE("bf_resolution", "60", 1, 3600, "seconds to which planned starts are rounded"),
    WHOLE("bf_window", "1440", 1, 43200, "minutes that the backfill scheduler plans ahead"),
    WHOLE("bf_max_job_test", "500", 1, 1000000, "maximum number of jobs that a backfill pass tests"),
    WHOLE("bf_max_job_start", "0", 0, 10000, "maximum number of jobs that a backfill pass starts; 0: no limit"),
    WHOLE("default_queue_depth", "100", 1, 1000000,
          "maximum number of jobs that the main scheduler examines per event, besides one"),
    WHOLE("sched_interval", "60", -1, 86400,
          "seconds between passes of the main scheduler that examine all jobs; 0: all passes do; -1: only backfill"),
    WHOLE("batch_sched_delay", "3", 0, 86400,
          "seconds after a pass of the main scheduler before it runs again for submitted jobs"),
    WHOLE("bf_min_age_reserve", "0", 0, 2592000, "seconds that a job has waited before nodes are reserved for it"),
    WHOLE("bf_min_prio_reserve", "0", 0, 4294967295.0, "least priority of a job for which nodes are reserved"),
    WHOLE("bf_job_part_count_reserve", "0", 0, 100000,
          "maximum number of jobs of a partition for which a backfill pass reserves nodes; 0: no limit"),
    WHOLE("bf_max_job_user", "0", 0, 1000000,
          "maximum number of jobs of a user that a backfill pass tests; 0: no limit"),
    WHOLE("bf_max_job_part", "0", 0, 1000000,
          "maximum number of jobs of a partition that a backfill pass tests; 0: no limit"),
    WHOLE("bf_max_job_user_part", "0", 0, 1000000,
          "maximum number of jobs of a user in a partition that a backfill pass tests; 0: no limit"),
    WHOLE("bf_max_job_assoc", "0", 0, 1000000,
          "maximum number of jobs of an association that a backfill pass tests; 0: no limit"),
    {0}};

/* ---- Creation --------------------------------------------------------------------------------------- */

/* Returns a property of the pools or requests that Slurm does not have; NULL: none. Shares of GPUs are shards: equal
   parts of each GPU, or thousandths. */
static const char *unsupported(const struct hr_policy_env *env) {
  const struct hr_requests *requests = hr_cluster_requests(env->cluster);
  bool has_shares = false;
  for (uint32_t p = 0; requests && p < hr_cluster_pools(env->cluster); p++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(env->cluster, (hr_pool){p});
    if (spec->mig) return "pools must not have MIG";
    bool is_parted = hr_pool_slot_milli(spec) > 0 && spec->sharing != HR_SHARING_WHOLE;
    if (!is_parted && spec->sharing != HR_SHARING_WHOLE && spec->sharing != HR_SHARING_FRACTION)
      return "pools whose GPUs are shared must have 'replicas', or the sharing 'fraction'";
    has_shares = has_shares || spec->sharing != HR_SHARING_WHOLE;
  }
  for (uint32_t r = 0; requests && r < requests->count; r++) {
    const struct hr_request *request = &requests->request[r];
    if (request->dedicated) return "jobs must not request nodes of their own";
    if (has_shares && request->gpu_mem_mib) return "jobs must not request GPU memory if GPUs are shared";
  }
  return NULL;
}

/* Sets the limits of a backfill pass. */
static void set_limits(struct hr__slurm_run *run) {
  const struct hr_param_value *values = run->params;
  run->interval_us = values[HR__SLURM_INTERVAL].integer * HR_SECOND_US;
  run->limits = (struct hr__slurm_backfill_limits){
      .resolution_us = values[HR__SLURM_RESOLUTION].integer * HR_SECOND_US,
      .origin_us = run->trace->origin_us,
      .window_us = values[HR__SLURM_WINDOW].integer * 60 * HR_SECOND_US,
      .max_job_test = (uint32_t)values[HR__SLURM_MAX_JOB_TEST].integer,
      .max_job_start = (uint32_t)values[HR__SLURM_MAX_JOB_START].integer,
      .min_age_reserve_us = values[HR__SLURM_MIN_AGE_RESERVE].integer * HR_SECOND_US,
      .min_prio_reserve = (uint32_t)values[HR__SLURM_MIN_PRIO_RESERVE].integer,
      .job_part_count_reserve = (uint32_t)values[HR__SLURM_PART_COUNT_RESERVE].integer};
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES; s++)
    run->limits.max_tests[s] = (uint32_t)values[HR__SLURM_MAX_JOB_USER + s].integer;
}

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  struct hr__slurm_run *run = hr_arena_alloc(env->arena, sizeof *run);
  if (!(*self = run)) return HR_NO_MEMORY;
  *run = (struct hr__slurm_run){.arena = env->arena,
                                .trace = env->jobs,
                                .cluster = env->cluster,
                                .params = env->params,
                                .values = env->values,
                                .wake_us = -1,
                                .tick_us = -1,
                                .begin_us = -1,
                                .looped_us = INT64_MIN / 2,
                                .asked_us = -1,
                                .change_us = -1,
                                .exempt_us = -1};
  const char *fault = unsupported(env);
  if (fault) return hr_fail(error, HR_BAD_INPUT, "policy 'slurm': %s", fault);
  set_limits(run);
  if (!hr__slurm_create_nodes(run)) return HR_NO_MEMORY;
  run->config = env->systems ? env->systems->slurm : NULL;
  enum hr_status status = hr__slurm_set_up(run, error);
  if (status == HR_OK && !hr__slurm_create_counters(run)) return HR_NO_MEMORY;
  if (status == HR_OK) hr__slurm_write_headers(run);
  return status;
}

/* With priorities, a job of low priority may wait for ever. */
static uint32_t abilities(void *self) {
  const struct hr__slurm_run *run = self;
  bool is_fifo = run->params[HR__SLURM_PRIORITY_TYPE].integer == HR__SLURM_BASIC && !run->config;
  return (is_fifo ? HR_POLICY_STARVES_NOBODY : 0) |
         (run->preemption.is_on || run->stops_over_time ? HR_POLICY_PREEMPTS : 0) |
         (run->config ? HR_POLICY_REASONS_BY_JOB : 0);
}

/* ---- Events and passes ------------------------------------------------------------------------------ */

/* Adds a job to the queue. */
static enum hr_status wait_again(struct hr__slurm_run *run, uint32_t job) {
  run->has_gpuless = run->has_gpuless || hr__slurm_needs_nothing(run, job);
  if (job < run->first_waiting) run->first_waiting = job;
  const struct hr__slurm_job *state = &run->jobs[job];
  hr__slurm_note_submission(run, job);
  const struct hr__slurm_entry entry = {.key = hr__slurm_key(run, job, state->submit_us),
                                        .submit_s = hr__slurm_second(run, state->queued_us),
                                        .job = job,
                                        .qos = state->qos};
  if (hr__slurm_is_multifactor(run)) hr__slurm_write_priority(run, job, state->submit_us);
  return hr__slurm_waiting_add(&run->waiting, &entry) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status enqueue(struct hr__slurm_run *run, const struct hr_view *view, uint32_t job) {
  if (!hr__slurm_describe(run, job)) return hr__slurm_list_job(run, &run->rejects, job);
  if (run->jobs[job].kind == HR_NONE || !hr__slurm_count(run, job, 1, false)) return HR_NO_MEMORY;
  run->jobs[job].queued_us = run->jobs[job].submit_us = view->now_us;
  return wait_again(run, job);
}

static enum hr_status add_requeued(struct hr__slurm_run *run) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < run->requeued.count && status == HR_OK; i++) status = wait_again(run, run->requeued.jobs[i]);
  run->requeued.count = 0;
  return status;
}

/* A job has stopped before its end. */
static enum hr_status interrupted(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  hr__slurm_leave(run, job, now_us);
  if (!hr__slurm_is_cancelled(run, job)) return hr__slurm_requeue(run, job, now_us);
  return hr__slurm_count(run, job, -1, false) ? hr__slurm_list_job(run, &run->killed, job) : HR_NO_MEMORY;
}

/* A waiting job was cancelled. The next pass removes it from the queue. */
static enum hr_status withdraw(struct hr__slurm_run *run, uint32_t job) {
  for (uint32_t i = 0; i < run->rejects.count; i++)
    if (run->rejects.jobs[i] == job) return HR_OK;
  return hr__slurm_count(run, job, -1, false) ? hr__slurm_list_job(run, &run->withdrawn, job) : HR_NO_MEMORY;
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__slurm_run *run = self;
  if (event->kind == HR_EVENT_TIMER) return HR_OK;
  if (event->kind == HR_EVENT_SUBMIT || event->kind == HR_EVENT_NODE_UP) { // slurmctld calls queue_job_scheduler
    hr__slurm_note_stale(run, view->now_us);
    hr__slurm_queue_main(run, view->now_us);
  } else {
    hr__slurm_note_change(run, view->now_us);
  }
  if (hr__slurm_catch_up(run, view->now_us)) run->priorities_are_old = true;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return enqueue(run, view, event->job.id);
  case HR_EVENT_END:
    hr__slurm_leave(run, event->job.id, view->now_us);
    return hr__slurm_count(run, event->job.id, -1, false) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_INTERRUPT:
    return interrupted(run, event->job.id, view->now_us);
  case HR_EVENT_WITHDRAW:
    return withdraw(run, event->job.id);
  case HR_EVENT_NODE_DOWN:
  case HR_EVENT_NOTICE:
  case HR_EVENT_OFFER:
  case HR_EVENT_NODE_UP:
    run->sets_are_old = true;
    return HR_OK;
  default:
    return HR_OK;
  }
}

/* Jobs without GPUs need no nodes. */
static void start_gpuless(struct hr__slurm_run *run) {
  static const struct hr_placement nowhere = {0};
  hr__slurm_waiting_order(&run->waiting, run->waiting.count);
  for (uint32_t i = 0; i < run->waiting.count && run->status == HR_OK; i++) {
    const hr_job job = {hr__slurm_waiting_at(&run->waiting, i)->job};
    if (hr__slurm_needs_nothing(run, job.id))
      run->status = hr_moves_start(run->moves, job, &nowhere, HR_REASON_IN_ORDER);
  }
  run->has_gpuless = false;
  hr__slurm_waiting_sweep(&run->waiting, run->waiting.count, run->view->state, HR_JOB_WAITING);
}

/* Requests a pass at a time, unless it is requested already. */
static enum hr_status wake_at(struct hr__slurm_run *run, int64_t *wake_us, int64_t at_us) {
  if (*wake_us == at_us) return HR_OK;
  *wake_us = at_us;
  return hr_moves_wake_at(run->moves, at_us);
}

/* The next time at which the backfill scheduler looks for changes: it sleeps for bf_interval after a pass, and then for
   a second at a time until something has changed. */
static int64_t next_poll(const struct hr__slurm_run *run) {
  int64_t next_us = (run->view->now_us / HR_SECOND_US + 1) * HR_SECOND_US;
  return next_us > run->rested_us ? next_us : run->rested_us;
}

/* Requests passes at the next times of the backfill scheduler and of the priorities, if they have something to do. */
static enum hr_status wake_later(struct hr__slurm_run *run) {
  if (run->waiting.count == 0) return HR_OK;
  enum hr_status status = HR_OK;
  if (run->plan_is_stale && run->params[HR__SLURM_SCHEDULER].integer == 0)
    status = wake_at(run, &run->wake_us, next_poll(run));
  if (status == HR_OK && hr__slurm_is_multifactor(run)) status = wake_at(run, &run->tick_us, run->accounts.next_us);
  if (status == HR_OK && run->delayed.count)
    status = wake_at(run, &run->begin_us, run->jobs[run->delayed.jobs[0]].submit_us);
  int64_t full_us = hr__slurm_full_pass(run, run->view->now_us + 1);
  if (status == HR_OK && run->may_do_more && full_us != HR_NEVER_US) status = wake_at(run, &run->full_us, full_us);
  if (status == HR_OK && run->is_queued) status = wake_at(run, &run->asked_us, run->loop_us);
  int64_t change_us = hr__slurm_next_change(run, run->view->now_us);
  if (status == HR_OK && change_us != HR_NEVER_US) status = wake_at(run, &run->change_us, change_us);
  int64_t exempt_us = hr__slurm_next_exempt_end(run, run->view->now_us);
  if (exempt_us == HR_NEVER_US) run->exempt_us = -1;
  if (status == HR_OK && exempt_us != HR_NEVER_US) status = wake_at(run, &run->exempt_us, exempt_us);
  return status;
}

/* Computes the priorities again at the times of PriorityCalcPeriod. Another order may let other jobs start. */
static bool update_priorities(struct hr__slurm_run *run) {
  if (hr__slurm_catch_up(run, run->view->now_us)) run->priorities_are_old = true;
  if (!run->priorities_are_old || !hr__slurm_is_multifactor(run)) return true;
  run->priorities_are_old = false;
  if (run->waiting.count == 0) return true;
  if (run->accounts.last_us == run->view->now_us) hr__slurm_note_change(run, run->view->now_us);
  return hr__slurm_update_priorities(run, run->accounts.last_us);
}

static void reject_listed(struct hr__slurm_run *run, struct hr__slurm_list *list, enum hr_reason reason) {
  for (uint32_t i = 0; i < list->count && run->status == HR_OK; i++)
    run->status = hr_moves_reject(run->moves, (hr_job){list->jobs[i]}, reason);
  list->count = 0;
}

/* Removes the requeued jobs that may start now from the list of delayed jobs, which is in the order of time. */
static void end_delays(struct hr__slurm_run *run) {
  struct hr__slurm_list *list = &run->delayed;
  uint32_t n = 0;
  while (n < list->count && run->jobs[list->jobs[n]].submit_us <= run->view->now_us) n++;
  if (n == 0) return;
  list->count -= n;
  memmove(list->jobs, list->jobs + n, list->count * sizeof *list->jobs);
  hr__slurm_note_change(run, run->view->now_us);
}

static void run_passes(struct hr__slurm_run *run) {
  int64_t now_us = run->view->now_us;
  bool is_time =
      now_us >= run->rested_us && now_us % HR_SECOND_US == 0 && run->params[HR__SLURM_SCHEDULER].integer == 0;
  if (run->has_gpuless) start_gpuless(run);
  if (hr__slurm_take_queued(run, now_us)) run->changed = true;
  if (run->changed || (run->may_do_more && hr__slurm_full_pass(run, now_us) == now_us)) hr__slurm_run_main(run);
  run->changed = false;
  if (is_time && run->plan_is_stale && run->status == HR_OK) {
    run->plan_is_stale = false;
    if (run->waiting.count > 0) hr__slurm_run_backfill(run);
    run->rested_us = now_us + run->interval_us;
  }
  if (run->status == HR_OK) run->status = add_requeued(run);
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__slurm_run *run = self;
  run->view = view;
  run->moves = moves;
  hr__slurm_make_up(run, view->now_us); // a timer is not a change
  run->status = add_requeued(run);
  hr__slurm_update_sets(run);
  reject_listed(run, &run->rejects, HR_REASON_POLICY);
  reject_listed(run, &run->killed, HR_REASON_KILLED);
  const bool any_withdrawn = run->withdrawn.count > 0;
  reject_listed(run, &run->withdrawn, HR_REASON_WITHDRAWN);
  if (any_withdrawn) hr__slurm_waiting_sweep(&run->waiting, run->waiting.count, view->state, HR_JOB_WAITING);
  end_delays(run);
  bool may_stop_more = view->now_us == run->exempt_us && run->waiting.count > 0;
  if (view->now_us == run->change_us || may_stop_more) hr__slurm_note_change(run, view->now_us);
  if (!update_priorities(run)) return HR_NO_MEMORY;
  if (run->status == HR_OK) hr__slurm_stop_over_time(run);
  if (run->status == HR_OK && run->suspension.jobs.count) hr__slurm_resume(run);
  if (run->status == HR_OK) run_passes(run);
  return run->status == HR_OK ? wake_later(run) : run->status;
}

HR_POLICY(slurm) = {HR_POLICY_HEAD,
                    .name = "slurm",
                    .summary = "Slurm: main and backfill scheduler, partitions, priorities, QOS and preemption",
                    .params = params,
                    .create = create,
                    .observe = observe,
                    .decide = decide,
                    .abilities = abilities,
                    .explain = hr__slurm_explain,
                    .describe = hr__slurm_describe_wait};
