/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The run loop: order of events at one instant, invalid moves, rollback, timers, the horizon. */

#include "harness.h"
#include "headroom/sim.h"

#include <string.h>

/* ---- A few jobs on two nodes of four GPUs ---- */

enum { MAX_JOBS = 8, MAX_LOGGED = 64 };

struct jobs {
  uint32_t count;
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS];
};

struct log {
  uint32_t count, instants;
  struct hr_event event[MAX_LOGGED];
  uint32_t waiting[MAX_LOGGED]; /* number of waiting jobs after each instant */
};

static void log_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct log *log = self;
  (void)view;
  if (log->count < MAX_LOGGED) log->event[log->count++] = *event;
}

static void log_instant(void *self, const struct hr_view *view) {
  struct log *log = self;
  if (log->instants < MAX_LOGGED) log->waiting[log->instants++] = view->n_waiting;
}

static enum hr_status run_with(const struct jobs *jobs, const struct hr_policy_ops *policy, int64_t horizon_us,
                               struct hr_progress progress, struct log *log, struct hr_result **result,
                               struct hr_error *error) {
  struct hr_trace trace = {.source = "test",
                           .n_jobs = jobs->count,
                           .submit_us = jobs->submit_us,
                           .work_us = jobs->work_us,
                           .gpus = jobs->gpus};
  char name[] = "main", gpu[] = "T4";
  struct hr_pool_spec pool = {.name = name, .gpu = gpu, .nodes = 2, .gpus_per_node = 4};
  struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_observer observer = {log, log_event, log_instant};
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = policy,
                                 .horizon_us = horizon_us,
                                 .check = true,
                                 .observers = &observer,
                                 .n_observers = log ? 1 : 0,
                                 .progress = progress};
  return hr_sim_run(&config, result, error);
}

static enum hr_status run(const struct jobs *jobs, const struct hr_policy_ops *policy, int64_t horizon_us,
                          struct log *log, struct hr_result **result, struct hr_error *error) {
  return run_with(jobs, policy, horizon_us, (struct hr_progress){0}, log, result, error);
}

/* ---- Policies for single tests ---- */

/* The create function of policies whose only state is the number of jobs. */
static enum hr_status create_nothing(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)error;
  *self = (void *)(uintptr_t)env->jobs->n_jobs;
  return HR_OK;
}

/* Starts every waiting job for which the pool has enough free GPUs, in the order of ids. */
static enum hr_status decide_greedy(void *self, const struct hr_view *view, struct hr_moves *plan) {
  (void)self;
  for (hr_job job = {0}; job.id < view->jobs->n_jobs; job.id++) {
    struct hr_placement placement = {0};
    if (view->state[job.id] != HR_JOB_WAITING) continue;
    if (hr_cluster_free_milli(view->cluster, (hr_pool){0}) < view->jobs->gpus[job.id] * 1000u) continue;
    enum hr_status status = hr_moves_start(plan, job, &placement, HR_REASON_IN_ORDER);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

#define POLICY(decide_function)                                                                                        \
  {                                                                                                                    \
    .abi = HR_POLICY_ABI, .size = sizeof(struct hr_policy_ops), .name = "test", .create = create_nothing,              \
    .decide = decide_function                                                                                          \
  }
static const struct hr_policy_ops greedy = POLICY(decide_greedy);

/* ---- Order of events ---- */

static void ends_precede_submissions(void) {
  struct jobs jobs = {2, {0, 10}, {10, 5}, {8, 8}}; /* the first job ends when the second is submitted */
  struct log log = {0};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(run(&jobs, &greedy, HR_NEVER_US, &log, &result, NULL), HR_OK);
  CU_ASSERT_EQUAL(result->start_us[1], 10);
  const enum hr_event_kind kinds[] = {HR_EVENT_SUBMIT, HR_EVENT_START, HR_EVENT_END,
                                      HR_EVENT_SUBMIT, HR_EVENT_START, HR_EVENT_END};
  CU_ASSERT_EQUAL_FATAL(log.count, 6);
  for (uint32_t i = 0; i < 6; i++) CU_ASSERT_EQUAL(log.event[i].kind, kinds[i]);
  CU_ASSERT_EQUAL(log.instants, 3);
  CU_ASSERT_EQUAL(result->n_passes, 3);
  CU_ASSERT_EQUAL(result->end_us, 15);
  hr_result_destroy(result);
}

static void submissions_precede_the_pass(void) {
  struct jobs jobs = {3, {5, 5, 5}, {1, 1, 1}, {1, 1, 1}};
  struct log log = {0};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(run(&jobs, &greedy, HR_NEVER_US, &log, &result, NULL), HR_OK);
  for (uint32_t i = 0; i < 3; i++) CU_ASSERT_EQUAL(log.event[i].kind, HR_EVENT_SUBMIT);
  CU_ASSERT_EQUAL(result->n_passes, 2);
  hr_result_destroy(result);
}

static void job_without_run_time_ends_at_once(void) {
  struct jobs jobs = {2, {0, 0}, {0, 7}, {8, 8}};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(run(&jobs, &greedy, HR_NEVER_US, NULL, &result, NULL), HR_OK);
  CU_ASSERT_EQUAL(result->start_us[0], 0);
  CU_ASSERT_EQUAL(result->start_us[1], 0);
  CU_ASSERT_EQUAL(hr_result_end_us(result, (hr_job){1}), 7);
  hr_result_destroy(result);
}

static void job_that_never_fits_is_rejected(void) {
  struct jobs jobs = {2, {0, 0}, {1, 1}, {9, 8}};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(run(&jobs, &greedy, HR_NEVER_US, NULL, &result, NULL), HR_OK);
  CU_ASSERT_STRING_EQUAL(hr_result_state_name(result, (hr_job){0}), "rejected");
  CU_ASSERT_EQUAL(result->reason[0], HR_REASON_TOO_LARGE);
  CU_ASSERT_EQUAL(result->start_us[0], HR_NEVER_US);
  CU_ASSERT_EQUAL(result->n_rejected, 1);
  CU_ASSERT_EQUAL(result->n_completed, 1);
  hr_result_destroy(result);
}

static void events_at_horizon_are_included(void) {
  struct jobs jobs = {4, {0, 1, 2, 50}, {10, 20, 5, 1}, {8, 8, 8, 1}};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(run(&jobs, &greedy, 10, NULL, &result, NULL), HR_OK);
  CU_ASSERT_STRING_EQUAL(hr_result_state_name(result, (hr_job){0}), "completed");
  CU_ASSERT_STRING_EQUAL(hr_result_state_name(result, (hr_job){1}), "unfinished");
  CU_ASSERT_STRING_EQUAL(hr_result_state_name(result, (hr_job){2}), "unfinished");
  CU_ASSERT_STRING_EQUAL(hr_result_state_name(result, (hr_job){3}), "unsubmitted");
  CU_ASSERT_EQUAL(result->start_us[1], 10);
  CU_ASSERT_EQUAL(result->n_running, 1);
  CU_ASSERT_EQUAL(result->n_waiting, 1);
  CU_ASSERT_EQUAL(result->n_submitted, 3);
  hr_result_destroy(result);
}

static void observers_are_notified_at_horizon(void) {
  struct jobs jobs = {1, {0}, {10000}, {8}};
  struct hr_result *result = NULL;
  struct log log = {0};
  CU_ASSERT_EQUAL_FATAL(run(&jobs, &greedy, 5000, &log, &result, NULL), HR_OK);
  CU_ASSERT_EQUAL(log.instants, 2);
  CU_ASSERT_EQUAL(result->end_us, 5000);
  CU_ASSERT_EQUAL(result->n_passes, 1);
  hr_result_destroy(result);
  CU_ASSERT_EQUAL_FATAL(run(&jobs, &greedy, 20000, NULL, &result, NULL), HR_OK);
  CU_ASSERT_EQUAL(result->end_us, 10000); /* the run ended before the horizon */
  hr_result_destroy(result);
}

static void simulated_time_does_not_overflow(void) {
  struct jobs jobs = {.count = 2, .gpus = {8, 8}};
  jobs.work_us[0] = jobs.work_us[1] = INT64_MAX / 3;
  struct hr_error error = {0};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL(run(&jobs, &greedy, HR_NEVER_US, NULL, &result, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "too long"));
}

/* ---- Moves that break a rule ---- */

static enum hr_status start_on(struct hr_moves *plan, uint32_t job, const struct hr_slice *slices, uint32_t n_slices) {
  struct hr_placement placement = {{0}, n_slices, slices};
  return hr_moves_start(plan, (hr_job){job}, &placement, HR_REASON_IN_ORDER);
}

#define WRONG_START(name, job, ...)                                                                                    \
  static enum hr_status name(void *self, const struct hr_view *view, struct hr_moves *plan) {                          \
    const struct hr_slice slices[] = {__VA_ARGS__};                                                                    \
    (void)self;                                                                                                        \
    (void)view;                                                                                                        \
    (void)start_on(plan, job, slices, sizeof slices / sizeof *slices);                                                 \
    return HR_OK; /* the policy ignores the status of the invalid move, but the engine must end the run */             \
  }
WRONG_START(unknown_job, 7, {{0}, 4000, 0})
WRONG_START(too_much_on_a_node, 0, {{0}, 5000, 0})
WRONG_START(other_sum, 0, {{0}, 3000, 0})
WRONG_START(no_such_node, 0, {{2}, 4000, 0})
WRONG_START(twice_the_same_node, 0, {{0}, 3000, 0}, {{1}, 500, 0}, {{0}, 1500, 0})
WRONG_START(empty_slice, 0, {{0}, 4000, 0}, {{1}, 0, 0})

static enum hr_status start_twice(void *self, const struct hr_view *view, struct hr_moves *plan) {
  (void)self;
  (void)view;
  const struct hr_slice slice = {{0}, 4000, 0}, other = {{1}, 4000, 0};
  (void)start_on(plan, 0, &slice, 1);
  (void)start_on(plan, 0, &other, 1);
  return HR_OK;
}

static enum hr_status wrong_pool(void *self, const struct hr_view *view, struct hr_moves *plan) {
  struct hr_placement placement = {.pool = {1}};
  (void)self;
  (void)view;
  return hr_moves_start(plan, (hr_job){0}, &placement, HR_REASON_IN_ORDER);
}

static enum hr_status wake_in_the_past(void *self, const struct hr_view *view, struct hr_moves *plan) {
  (void)self;
  return hr_moves_wake_at(plan, view->now_us);
}

static void refused(enum hr_status (*decide)(void *, const struct hr_view *, struct hr_moves *), const char *rule) {
  struct jobs jobs = {1, {0}, {10}, {4}};
  struct hr_policy_ops policy = POLICY(decide);
  struct hr_error error = {0};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL(run(&jobs, &policy, HR_NEVER_US, NULL, &result, &error), HR_BAD_POLICY);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, rule));
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "policy 'test' at 0.000000 s"));
  if (!strstr(error.text, rule)) fprintf(stderr, "\n%s\n", error.text);
}

static void invalid_moves_end_the_run(void) {
  refused(unknown_job, "the job is not waiting");
  refused(start_twice, "the job is not waiting");
  refused(too_much_on_a_node, "a node has too few GPUs free");
  refused(twice_the_same_node, "a node has too few GPUs free");
  refused(other_sum, "the slices do not add up");
  refused(no_such_node, "a node is not in the placement's pool");
  refused(empty_slice, "a slice is empty");
  refused(wrong_pool, "there is no such pool");
  refused(wake_in_the_past, "wake-up: the wake-up time is not in the future");
}

static void policy_with_other_abi_is_refused(void) {
  struct jobs jobs = {1, {0}, {10}, {4}};
  struct hr_policy_ops policy = greedy;
  struct hr_error error = {0};
  struct hr_result *result = NULL;
  policy.abi = HR_POLICY_ABI + 1;
  CU_ASSERT_EQUAL(run(&jobs, &policy, HR_NEVER_US, NULL, &result, &error), HR_BAD_POLICY);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "interface"));
}

/* ---- Rollback and timers ---- */

/* Starts job 0, rolls back, and then starts only job 1. No effect of the first start may remain. */
static enum hr_status decide_with_rollback(void *self, const struct hr_view *view, struct hr_moves *plan) {
  (void)self;
  if (view->state[0] != HR_JOB_WAITING) return HR_OK;
  const struct hr_slice both[] = {{{0}, 4000, 0}, {{1}, 4000, 0}}, one = {{1}, 4000, 0};
  uint32_t mark = hr_moves_mark(plan);
  if (start_on(plan, 0, both, 2) != HR_OK) return HR_BAD_POLICY;
  if (hr_cluster_free_milli(view->cluster, (hr_pool){0}) != 0) return HR_BAD_POLICY;
  hr_moves_rollback(plan, mark);
  if (hr_cluster_free_milli(view->cluster, (hr_pool){0}) != 8000 || view->n_waiting != 2) return HR_BAD_POLICY;
  if (start_on(plan, 1, &one, 1) != HR_OK) return HR_BAD_POLICY;
  return hr_moves_reject(plan, (hr_job){0}, HR_REASON_POLICY);
}

static void rolled_back_moves_have_no_effect(void) {
  struct jobs jobs = {2, {0, 0}, {10, 10}, {8, 4}};
  struct hr_policy_ops policy = POLICY(decide_with_rollback);
  struct log log = {0};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(run(&jobs, &policy, HR_NEVER_US, &log, &result, NULL), HR_OK);
  CU_ASSERT_EQUAL(result->start_us[0], HR_NEVER_US);
  CU_ASSERT_EQUAL(result->start_us[1], 0);
  CU_ASSERT_EQUAL(result->n_rejected, 1);
  CU_ASSERT_EQUAL(log.count, 5); /* two submissions, a start, a rejection, an end */
  hr_result_destroy(result);
}

static enum hr_status decide_at_100(void *self, const struct hr_view *view, struct hr_moves *plan) {
  if (view->now_us < 100) return hr_moves_wake_at(plan, 100);
  return decide_greedy(self, view, plan);
}

static void wake_up_causes_a_pass(void) {
  struct jobs jobs = {1, {0}, {10}, {4}};
  struct hr_policy_ops policy = POLICY(decide_at_100);
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(run(&jobs, &policy, HR_NEVER_US, NULL, &result, NULL), HR_OK);
  CU_ASSERT_EQUAL(result->start_us[0], 100);
  hr_result_destroy(result);
}

/* ---- Stopped runs ---- */

static enum hr_status decide_each_us(void *self, const struct hr_view *view, struct hr_moves *plan) {
  if (view->now_us < 1000) return hr_moves_wake_at(plan, view->now_us + 1);
  return decide_greedy(self, view, plan);
}

struct stop {
  uint32_t asked, at; /* number of calls, and the number of the first call that returns true */
};

static bool is_stopped(void *self) {
  struct stop *stop = self;
  return ++stop->asked >= stop->at;
}

/* The run has about 1000 instants, so it calls the function several times. After the function has returned true, the
   run ends. */
static void caller_stops_a_run(void) {
  struct jobs jobs = {1, {0}, {10}, {4}};
  struct hr_policy_ops policy = POLICY(decide_each_us);
  for (uint32_t at = 1; at <= 4; at++) {
    struct stop stop = {0, at};
    struct log log = {0};
    struct hr_result *result = NULL;
    struct hr_error error = {0};
    const struct hr_progress progress = {.self = &stop, .is_stopped = is_stopped};
    CU_ASSERT_EQUAL(run_with(&jobs, &policy, HR_NEVER_US, progress, &log, &result, &error), HR_STOPPED);
    CU_ASSERT_EQUAL(stop.asked, at);
    CU_ASSERT_EQUAL(log.count > 0, at > 1);
    CU_ASSERT_STRING_EQUAL(error.text, "the run was stopped");
    CU_ASSERT_PTR_NULL(result);
  }
  struct stop never = {0, UINT32_MAX};
  struct hr_result *result = NULL;
  const struct hr_progress progress = {.self = &never, .is_stopped = is_stopped};
  CU_ASSERT_EQUAL_FATAL(run_with(&jobs, &policy, HR_NEVER_US, progress, NULL, &result, NULL), HR_OK);
  CU_ASSERT_EQUAL(result->start_us[0], 1000);
  CU_ASSERT_TRUE(never.asked > 4);
  hr_result_destroy(result);
}

/* ---- Gangs over nodes, repeatedly ---- */

static enum hr_status decide_spread(void *self, const struct hr_view *view, struct hr_moves *plan) {
  (void)self;
  for (uint32_t job = 0; job < view->jobs->n_jobs; job++) {
    const struct hr_slice halves[] = {{{0}, 2000, 0}, {{1}, 2000, 0}};
    if (view->state[job] != HR_JOB_WAITING || hr_cluster_free_milli(view->cluster, (hr_pool){0}) < 4000) continue;
    enum hr_status status = start_on(plan, job, halves, 2);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static void slice_blocks_are_reused(void) {
  struct jobs jobs = {.count = MAX_JOBS};
  for (uint32_t i = 0; i < MAX_JOBS; i++) {
    jobs.submit_us[i] = i;
    jobs.work_us[i] = 3 + i % 3;
    jobs.gpus[i] = 4;
  }
  struct hr_policy_ops policy = POLICY(decide_spread);
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(run(&jobs, &policy, HR_NEVER_US, NULL, &result, NULL), HR_OK);
  CU_ASSERT_EQUAL(result->n_completed, MAX_JOBS);
  hr_result_destroy(result);
}

static void digest_depends_on_run_times(void) {
  struct jobs jobs = {2, {0, 1}, {10, 10}, {4, 4}}, other = jobs;
  other.work_us[1] = 11;
  uint64_t digest[3];
  const struct jobs *inputs[] = {&jobs, &jobs, &other};
  for (int i = 0; i < 3; i++) {
    struct hr_result *result = NULL;
    CU_ASSERT_EQUAL_FATAL(run(inputs[i], &greedy, HR_NEVER_US, NULL, &result, NULL), HR_OK);
    digest[i] = result->digest;
    hr_result_destroy(result);
  }
  CU_ASSERT_EQUAL(digest[0], digest[1]);
  CU_ASSERT_NOT_EQUAL(digest[0], digest[2]);
}

TEST_MAIN("sim run", TEST(ends_precede_submissions), TEST(submissions_precede_the_pass),
          TEST(job_without_run_time_ends_at_once), TEST(job_that_never_fits_is_rejected),
          TEST(events_at_horizon_are_included), TEST(observers_are_notified_at_horizon),
          TEST(simulated_time_does_not_overflow), TEST(invalid_moves_end_the_run),
          TEST(policy_with_other_abi_is_refused), TEST(rolled_back_moves_have_no_effect), TEST(wake_up_causes_a_pass),
          TEST(caller_stops_a_run), TEST(slice_blocks_are_reused), TEST(digest_depends_on_run_times))
