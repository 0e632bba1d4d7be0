/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes that boot and stop, in spot, on-demand and reserved pools, and the effect on jobs. Each case is small enough to
   compute its results by hand, to the second. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "queue_choice.h"

#include <string.h>

#define S HR_SECOND_US

enum { MAX_JOBS = 4, MAX_LOGGED = 200 };

struct logged {
  int64_t at_s;
  enum hr_event_kind kind;
  enum hr_reason reason;
  uint32_t job, node;
};

struct log {
  uint32_t count;
  struct logged event[MAX_LOGGED];
};

static void log_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct log *log = self;
  (void)view;
  if (log->count < MAX_LOGGED)
    log->event[log->count++] =
        (struct logged){event->at_us / S, event->kind, event->reason, event->job.id, event->node.id};
}

/* Returns the event with index `n` among the logged events of a kind, or NULL if at most `n` such events are logged. */
static const struct logged *nth(const struct log *log, enum hr_event_kind kind, uint32_t n) {
  for (uint32_t i = 0; i < log->count; i++)
    if (log->event[i].kind == kind && n-- == 0) return &log->event[i];
  return NULL;
}

/* A test case: jobs with 4 GPUs each on a spot pool of nodes with 4 GPUs. Members that are 0 have no effect. */
struct spot_case {
  uint32_t n_jobs, n_nodes;
  int64_t submit_s[MAX_JOBS], work_s[MAX_JOBS];
  struct hr_level_step levels[6]; /* at_us is in seconds here */
  uint32_t n_levels;
  int64_t notice_s, boot_s;
  struct hr_class_spec class_; /* times are in seconds here */
  uint64_t storage_mib_s;
  uint8_t flags;
  int64_t horizon_s;
};

struct outcome {
  struct log log;
  struct hr_result *result;
  struct hr_error error;
};

static void seconds_to_us(struct hr_class_spec *class_) {
  class_->interval_us *= S;
  class_->write_us *= S;
  class_->restart_us *= S;
}

static void run_with(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                     const struct hr_class_spec *class_, const struct hr_policy_ops *policy, int64_t horizon_us,
                     struct outcome *outcome) {
  struct hr_class_spec classes[HR_N_CLASSES];
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) {
    classes[i] = *class_;
    seconds_to_us(&classes[i]);
  }
  static const struct hr_param_value params[16] = {{0}};
  struct hr_policy_choice queue = queue_choice("skip", "first-fit");
  struct hr_observer observer = {&outcome->log, log_event, NULL};
  struct hr_run_config config = {.trace = trace,
                                 .cluster = cluster,
                                 .policy = policy ? policy : queue.ops,
                                 .params = policy ? params : queue.params,
                                 .seed = 1,
                                 .horizon_us = horizon_us,
                                 .check = true,
                                 .classes = classes,
                                 .observers = &observer,
                                 .n_observers = 1};
  memset(&outcome->log, 0, sizeof outcome->log);
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &outcome->result, &outcome->error), HR_OK);
  hr_policy_choice_finish(&queue);
}

static void run_case(struct spot_case spot, struct outcome *outcome) {
  char name[] = "spot", gpu[] = "T4";
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS];
  uint8_t flags[MAX_JOBS];
  for (uint32_t i = 0; i < spot.n_jobs; i++) {
    submit_us[i] = spot.submit_s[i] * S;
    work_us[i] = spot.work_s[i] * S;
    gpus[i] = 4;
    flags[i] = spot.flags;
  }
  for (uint32_t i = 0; i < spot.n_levels; i++) spot.levels[i].at_us *= S;
  struct hr_trace trace = {.source = "test",
                           .n_jobs = spot.n_jobs,
                           .submit_us = submit_us,
                           .work_us = work_us,
                           .gpus = gpus,
                           .flags = flags};
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = spot.n_nodes,
                              .gpus_per_node = 4,
                              .storage_mib_s = spot.storage_mib_s,
                              .market = {.market = HR_MARKET_SPOT,
                                         .to_us = HR_NEVER_US,
                                         .boot = {HR_DURATION_FIXED, (double)spot.boot_s, 0},
                                         .spot = {.model = spot.n_levels ? HR_SPOT_TRACE : HR_SPOT_NONE,
                                                  .notice_us = spot.notice_s * S,
                                                  .levels = spot.levels,
                                                  .n_levels = spot.n_levels,
                                                  .period_us = 100000 * S}}};
  struct hr_cluster_spec cluster = {&pool, 1};
  run_with(&trace, &cluster, &spot.class_, NULL, spot.horizon_s ? spot.horizon_s * S : HR_NEVER_US, outcome);
}

/* Returns whether the accounts of a job are as expected. `attempts` is the number of attempts. `seconds` has the end,
   the kept, lost, saving, restarting and held time. */
static bool accounts_equal(const struct outcome *outcome, uint32_t job, uint32_t attempts, const int64_t *seconds) {
  struct hr_job_accounting f = hr_result_accounting(outcome->result, (hr_job){job});
  const int64_t found[] = {f.end_us / S,    f.kept_us / S,       f.lost_us / S,
                           f.saving_us / S, f.restarting_us / S, f.held_us / S};
  bool same = f.attempts == attempts && memcmp(found, seconds, sizeof found) == 0;
  for (uint32_t i = 0; !same && i < 6; i++) fprintf(stderr, " %lld/%lld", (long long)found[i], (long long)seconds[i]);
  return same;
}
#define ASSERT_ACCOUNTS(outcome, job, attempts, ...)                                                                   \
  CU_ASSERT(accounts_equal(outcome, job, attempts, (const int64_t[]){__VA_ARGS__}))

/* No node is available from 100 s to 200 s. */
#define GAP .n_nodes = 2, .levels = {{0, 2}, {100, 0}, {200, 2}}, .n_levels = 3

static void work_without_checkpoint_is_lost(void) {
  struct outcome outcome;
  run_case((struct spot_case){.n_jobs = 1, .work_s = {150}, GAP}, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 2, 350, 150, 100, 0, 0, 250);
  const struct logged *interrupt = nth(&outcome.log, HR_EVENT_INTERRUPT, 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL(interrupt);
  CU_ASSERT_EQUAL(interrupt->at_s, 100);
  CU_ASSERT_EQUAL(interrupt->reason, HR_REASON_RECLAIMED);
  CU_ASSERT_EQUAL(outcome.result->pools[0].reclaims, 2);
  CU_ASSERT_EQUAL(outcome.result->pools[0].launches, 4);
  CU_ASSERT_EQUAL(outcome.result->pools[0].interruptions, 1);
  CU_ASSERT(outcome.result->pools[0].up_us == 2 * (hr_amount)250 * S);
  hr_result_destroy(outcome.result);
}

static void work_before_checkpoint_is_kept(void) {
  struct outcome outcome;
  struct hr_class_spec interval = {
      .checkpoint = HR_CHECKPOINT_INTERVAL, .interval_us = 30, .write_us = 5, .restart_us = 7};
  run_case((struct spot_case){.n_jobs = 1, .work_s = {150}, GAP, .class_ = interval}, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 2, 307, 150, 30, 20, 7, 207);
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_SAVED, 1)->at_s, 70);
  CU_ASSERT_PTR_NULL(nth(&outcome.log, HR_EVENT_SAVED, 4));
  hr_result_destroy(outcome.result);
}

static void checkpoint_on_notice_if_time_suffices(void) {
  struct outcome outcome;
  struct hr_class_spec on_notice = {.checkpoint = HR_CHECKPOINT_ON_NOTICE, .write_us = 15, .restart_us = 10};
  struct spot_case spot = {.n_jobs = 1, .work_s = {150}, GAP, .notice_s = 20, .class_ = on_notice};
  run_case(spot, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 2, 280, 150, 0, 15, 10, 175);
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_NOTICE, 0)->at_s, 80);
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_INTERRUPT, 0)->at_s, 95);
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_INTERRUPT, 0)->reason, HR_REASON_SAVED);
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_NODE_DOWN, 0)->at_s, 100);
  hr_result_destroy(outcome.result);
  spot.notice_s = 14;
  run_case(spot, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 2, 360, 150, 100, 0, 10, 260);
  hr_result_destroy(outcome.result);
  spot.notice_s = 15; /* the write completes at the instant when the node goes down */
  run_case(spot, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 2, 275, 150, 0, 15, 10, 175);
  hr_result_destroy(outcome.result);
}

static void job_that_completes_in_time_is_not_stopped(void) {
  struct outcome outcome;
  struct hr_class_spec interval = {.checkpoint = HR_CHECKPOINT_INTERVAL, .interval_us = 45, .write_us = 2};
  run_case((struct spot_case){.n_jobs = 1, .work_s = {95}, GAP, .notice_s = 20, .class_ = interval}, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 1, 97, 95, 0, 2, 0, 97); /* the checkpoint that is due at 92 s is skipped */
  hr_result_destroy(outcome.result);
}

static void writers_share_storage_bandwidth(void) {
  struct outcome outcome;
  struct hr_class_spec class_ = {.checkpoint = HR_CHECKPOINT_ON_NOTICE, .checkpoint_mib = 100};
  struct spot_case spot = {
      .n_jobs = 2, .work_s = {150, 150}, GAP, .notice_s = 20, .class_ = class_, .storage_mib_s = 10};
  run_case(spot, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 2, 270, 150, 0, 20, 0, 170);
  ASSERT_ACCOUNTS(&outcome, 1, 2, 270, 150, 0, 20, 0, 170);
  hr_result_destroy(outcome.result);
  /* two writers would need 20 s, so only the first job writes a checkpoint; alone, it needs 10 s */
  spot.notice_s = 15;
  run_case(spot, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 2, 265, 150, 0, 10, 0, 160);
  ASSERT_ACCOUNTS(&outcome, 1, 2, 350, 150, 100, 0, 0, 250);
  hr_result_destroy(outcome.result);
}

static void new_writer_slows_other_writers(void) {
  struct outcome outcome;
  struct hr_class_spec class_ = {.checkpoint = HR_CHECKPOINT_INTERVAL, .interval_us = 30, .checkpoint_mib = 100};
  /* From 30 s to 34 s the first job writes alone, at 10 MiB/s: 40 of 100 MiB. Then it writes 60 MiB at half the speed
     until 46 s. By then the second job has written 60 MiB. It needs 4 s for the rest. */
  run_case(
      (struct spot_case){
          .n_jobs = 2, .n_nodes = 2, .submit_s = {0, 4}, .work_s = {40, 40}, .class_ = class_, .storage_mib_s = 10},
      &outcome);
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_SAVED, 0)->at_s, 46);
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_SAVED, 1)->at_s, 50);
  ASSERT_ACCOUNTS(&outcome, 0, 1, 56, 40, 0, 16, 0, 56);
  ASSERT_ACCOUNTS(&outcome, 1, 1, 60, 40, 0, 16, 0, 56);
  hr_result_destroy(outcome.result);
}

static void nodes_boot_before_jobs_start(void) {
  struct outcome outcome;
  run_case((struct spot_case){.n_jobs = 1, .work_s = {50}, GAP, .boot_s = 60}, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 2, 310, 50, 40, 0, 0, 90);
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_ACQUIRE, 0)->at_s, 0);
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_NODE_UP, 0)->at_s, 60);
  hr_result_destroy(outcome.result);
}

static void highest_nodes_are_reclaimed_first(void) {
  struct outcome outcome;
  run_case(
      (struct spot_case){
          .n_jobs = 2, .n_nodes = 2, .work_s = {150, 150}, .levels = {{0, 2}, {100, 1}, {120, 2}}, .n_levels = 3},
      &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 1, 150, 150, 0, 0, 0, 150);
  ASSERT_ACCOUNTS(&outcome, 1, 2, 270, 150, 100, 0, 0, 250);
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_NODE_DOWN, 0)->node, 1);
  hr_result_destroy(outcome.result);
}

/* A node is available from 60 s to 80 s and again from 90 s on. With a notice period of 15 s, it gets notice at 65 s,
   so a launch at 60 s is possible. With a notice period of 20 s, it would get notice at 60 s, so it is launched only at
   90 s. */
static void capacity_gone_within_notice_is_not_available(void) {
  struct outcome outcome;
  struct spot_case spot = {.n_jobs = 1,
                           .n_nodes = 1,
                           .submit_s = {0},
                           .work_s = {20},
                           .levels = {{0, 0}, {60, 1}, {80, 0}, {90, 1}},
                           .n_levels = 4};
  run_case(spot, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 1, 80, 20, 0, 0, 0, 20);
  hr_result_destroy(outcome.result);
  spot.notice_s = 15;
  run_case(spot, &outcome);
  /* the job of 20 s ends at 80 s, when the node goes down */
  ASSERT_ACCOUNTS(&outcome, 0, 1, 80, 20, 0, 0, 0, 20);
  hr_result_destroy(outcome.result);
  spot.notice_s = 20;
  run_case(spot, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 1, 110, 20, 0, 0, 0, 20);
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_ACQUIRE, 0)->at_s, 90);
  hr_result_destroy(outcome.result);
}

static void uninterruptible_job_is_rejected_on_spot_only(void) {
  struct outcome outcome;
  run_case((struct spot_case){.n_jobs = 1, .work_s = {10}, GAP, .flags = HR_JOB_NOT_INTERRUPTIBLE}, &outcome);
  CU_ASSERT_EQUAL(outcome.result->n_rejected, 1);
  CU_ASSERT_EQUAL(outcome.result->reason[0], HR_REASON_SPOT_ONLY);
  hr_result_destroy(outcome.result);
  run_case((struct spot_case){.n_jobs = 1, .work_s = {10}, GAP, .class_ = {.no_spot = true}}, &outcome);
  CU_ASSERT_EQUAL(outcome.result->n_rejected, 1);
  hr_result_destroy(outcome.result);
}

static void job_longer_than_any_up_period_restarts(void) {
  struct outcome outcome;
  run_case((struct spot_case){.n_jobs = 1,
                              .n_nodes = 1,
                              .work_s = {200},
                              .levels = {{0, 1}, {100, 0}, {50000, 1}, {50100, 0}},
                              .n_levels = 4,
                              .horizon_s = 999999},
           &outcome);
  CU_ASSERT_EQUAL(outcome.result->n_completed, 0);
  ASSERT_ACCOUNTS(&outcome, 0, 20, HR_NEVER_US / S, 0, 2000, 0, 0, 2000);
  hr_result_destroy(outcome.result);
}

static void reservation_is_available_for_its_time(void) {
  char name[] = "block", gpu[] = "T4";
  int64_t submit_us[] = {0, 0}, work_us[] = {30 * S, 80 * S};
  uint32_t gpus[] = {4, 4};
  struct hr_trace trace = {.source = "test", .n_jobs = 2, .submit_us = submit_us, .work_us = work_us, .gpus = gpus};
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = 2,
                              .gpus_per_node = 4,
                              .market = {.market = HR_MARKET_RESERVED, .from_us = 20 * S, .to_us = 90 * S}};
  struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_class_spec class_ = {0};
  struct outcome outcome;
  run_with(&trace, &cluster, &class_, NULL, HR_NEVER_US, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 1, 50, 30, 0, 0, 0, 30);
  ASSERT_ACCOUNTS(&outcome, 1, 1, HR_NEVER_US / S, 0, 70, 0, 0, 70);
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_NODE_DOWN, 0)->reason, HR_REASON_RESERVATION_END);
  CU_ASSERT_EQUAL(outcome.result->end_us, 90 * S);
  hr_result_destroy(outcome.result);
}

/* The nodes of a capacity block are stopped before its end, after a notice. No job starts after the notice. */
static void capacity_block_stops_before_its_end(void) {
  char name[] = "block", gpu[] = "T4";
  int64_t submit_us[] = {0, 0, 45 * S}, work_us[] = {30 * S, 80 * S, 5 * S};
  uint32_t gpus[] = {4, 4, 4};
  struct hr_trace trace = {.source = "test", .n_jobs = 3, .submit_us = submit_us, .work_us = work_us, .gpus = gpus};
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = 2,
                              .gpus_per_node = 4,
                              .market = {.market = HR_MARKET_RESERVED,
                                         .from_us = 10 * S,
                                         .to_us = 90 * S,
                                         .stop_before_us = 20 * S,
                                         .stop_notice_us = 25 * S}};
  struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_class_spec class_ = {0};
  struct outcome outcome;
  run_with(&trace, &cluster, &class_, NULL, HR_NEVER_US, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 1, 40, 30, 0, 0, 0, 30);
  ASSERT_ACCOUNTS(&outcome, 1, 1, HR_NEVER_US / S, 0, 60, 0, 0, 60);
  CU_ASSERT_EQUAL(outcome.result->start_us[2], HR_NEVER_US);
  const struct logged *notice = nth(&outcome.log, HR_EVENT_NOTICE, 0);
  const struct logged *down = nth(&outcome.log, HR_EVENT_NODE_DOWN, 0);
  CU_ASSERT_EQUAL(notice->at_s, 45);
  CU_ASSERT_EQUAL(notice->reason, HR_REASON_RESERVATION_END);
  CU_ASSERT_EQUAL(down->at_s, 70);
  CU_ASSERT_EQUAL(down->reason, HR_REASON_RESERVATION_END);
  hr_result_destroy(outcome.result);
}

/* Inference jobs may use the spot pool only. Training jobs may use the other two pools. Job 3 requests a T4, but the T4
   pool for training is too small for this job. */
static void pools_for_some_job_classes(void) {
  enum { JOBS = 5 };
  char name[] = "pool", gpu[] = "T4", large[] = "H100";
  int64_t submit_us[JOBS] = {0}, work_us[JOBS] = {10 * S, 20 * S, 30 * S, 40 * S, 50 * S};
  uint32_t gpus[JOBS] = {4, 4, 4, 8, 8}, types[JOBS] = {0, 0, 0, 0, HR_NONE};
  uint8_t class_of[JOBS] = {HR_CLASS_INFERENCE, HR_CLASS_TRAINING, HR_CLASS_UNKNOWN, HR_CLASS_TRAINING,
                            HR_CLASS_TRAINING};
  const char *lists[] = {"T4"};
  struct hr_trace trace = {.source = "test",
                           .n_jobs = JOBS,
                           .submit_us = submit_us,
                           .work_us = work_us,
                           .gpus = gpus,
                           .gpu_types = types,
                           .gpu_type_lists = {1, lists},
                           .class_ = class_of};
  struct hr_pool_spec pools[] = {
      {.name = name, .gpu = gpu, .nodes = 2, .gpus_per_node = 4, .classes = 1u << HR_CLASS_INFERENCE},
      {.name = name, .gpu = gpu, .nodes = 1, .gpus_per_node = 4, .classes = 1u << HR_CLASS_TRAINING},
      {.name = name, .gpu = large, .nodes = 1, .gpus_per_node = 8, .classes = 1u << HR_CLASS_TRAINING}};
  pools[0].market = (struct hr_market_spec){.market = HR_MARKET_SPOT, .to_us = HR_NEVER_US};
  pools[1].market = (struct hr_market_spec){.market = HR_MARKET_ON_DEMAND, .to_us = HR_NEVER_US};
  struct hr_cluster_spec cluster = {pools, 3};
  struct hr_class_spec class_ = {0};
  struct outcome outcome;
  run_with(&trace, &cluster, &class_, NULL, HR_NEVER_US, &outcome);
  ASSERT_ACCOUNTS(&outcome, 0, 1, 10, 10, 0, 0, 0, 10);
  ASSERT_ACCOUNTS(&outcome, 1, 1, 20, 20, 0, 0, 0, 20);
  ASSERT_ACCOUNTS(&outcome, 4, 1, 50, 50, 0, 0, 0, 50);
  CU_ASSERT_EQUAL(outcome.result->n_rejected, 2);
  CU_ASSERT_EQUAL(outcome.result->reason[2], HR_REASON_NO_CLASS_POOL);
  CU_ASSERT_EQUAL(outcome.result->reason[3], HR_REASON_NO_CLASS_POOL);
  hr_result_destroy(outcome.result);
  class_.no_spot = true;
  run_with(&trace, &cluster, &class_, NULL, HR_NEVER_US, &outcome);
  CU_ASSERT_EQUAL(outcome.result->reason[0], HR_REASON_SPOT_ONLY);
  CU_ASSERT_EQUAL(outcome.result->reason[2], HR_REASON_NO_CLASS_POOL);
  hr_result_destroy(outcome.result);
}

/* A job is placed only on GPUs that have at least the memory that it requests per GPU. If there are none, the job is
   rejected. GPUs whose memory is unknown count as sufficient. */
static void jobs_use_gpus_with_sufficient_memory(void) {
  enum { JOBS = 4 };
  char name[] = "p", small[] = "T4", large[] = "A100-80", unknown[] = "mine";
  const int64_t submit_us[JOBS] = {0}, work_us[JOBS] = {10, 20, 30, 40};
  const uint32_t gpus[JOBS] = {1, 1, 1, 0}, types[JOBS] = {HR_NONE, 0, HR_NONE, HR_NONE};
  const uint64_t gpu_mem_mib[JOBS] = {16385, 16385, 81921, 99999};
  const char *lists[] = {"T4"};
  struct hr_trace trace = {.source = "test",
                           .n_jobs = JOBS,
                           .submit_us = submit_us,
                           .work_us = work_us,
                           .gpus = gpus,
                           .gpu_mem_mib = gpu_mem_mib,
                           .gpu_types = types,
                           .gpu_type_lists = {1, lists}};
  struct hr_pool_spec pools[] = {{.name = name, .gpu = small, .nodes = 1, .gpus_per_node = 4, .gpu_mem_mib = 16384},
                                 {.name = name, .gpu = large, .nodes = 1, .gpus_per_node = 4, .gpu_mem_mib = 81920},
                                 {.name = name, .gpu = unknown, .nodes = 1, .gpus_per_node = 1}};
  struct hr_cluster_spec cluster = {pools, 2};
  struct hr_class_spec class_ = {0};
  struct outcome outcome;
  run_with(&trace, &cluster, &class_, NULL, HR_NEVER_US, &outcome);
  CU_ASSERT_EQUAL(outcome.result->state[0], HR_JOB_COMPLETED);
  CU_ASSERT_EQUAL(outcome.result->reason[1], HR_REASON_GPU_MEMORY);
  CU_ASSERT_EQUAL(outcome.result->reason[2], HR_REASON_GPU_MEMORY);
  CU_ASSERT_EQUAL(outcome.result->state[3], HR_JOB_COMPLETED);
  hr_result_destroy(outcome.result);
  cluster.n_pools = 3;
  run_with(&trace, &cluster, &class_, NULL, HR_NEVER_US, &outcome);
  CU_ASSERT_EQUAL(outcome.result->n_rejected, 1);
  CU_ASSERT_EQUAL(outcome.result->reason[1], HR_REASON_GPU_MEMORY);
  hr_result_destroy(outcome.result);
}

/* ---- Policies that stop jobs and manage capacity ---- */

enum { SCRIPT = 16 };
/* A move of a scripted policy, and the time at which the policy makes it. */
struct step {
  int64_t at_s;
  enum { START, PREEMPT, ACQUIRE, RELEASE, ROLL_BACK_ALL } move;
  uint32_t job, node;
};
struct script {
  const struct step *steps;
  uint32_t n_steps;
};
static struct script script; /* the script of the running test */

static enum hr_status create_scripted(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)env, (void)error;
  *self = &script;
  return HR_OK;
}

static uint32_t all_abilities(void *self) {
  (void)self;
  return HR_POLICY_PREEMPTS | HR_POLICY_MANAGES_CAPACITY;
}

static enum hr_status make_move(struct hr_moves *plan, const struct step *step) {
  struct hr_slice slice = {{step->node}, 4000, 0};
  struct hr_placement placement = {.pool = {0}, .n_slices = 1, .slices = &slice};
  switch (step->move) {
  case START:
    return hr_moves_start(plan, (hr_job){step->job}, &placement, HR_REASON_IN_ORDER);
  case PREEMPT:
    return hr_moves_preempt(plan, (hr_job){step->job}, HR_REASON_POLICY);
  case ACQUIRE:
    return hr_moves_acquire(plan, (hr_pool){0}, 1);
  case RELEASE:
    return hr_moves_release(plan, (hr_node){step->node});
  case ROLL_BACK_ALL:
    hr_moves_rollback(plan, 0);
  }
  return HR_OK;
}

static enum hr_status decide_scripted(void *self, const struct hr_view *view, struct hr_moves *plan) {
  const struct script *to_run = self;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < to_run->n_steps && status == HR_OK; i++) {
    if (to_run->steps[i].at_s * S == view->now_us) status = make_move(plan, &to_run->steps[i]);
    if (status == HR_OK && to_run->steps[i].at_s * S > view->now_us)
      return hr_moves_wake_at(plan, to_run->steps[i].at_s * S);
  }
  return status;
}

static const struct hr_policy_ops scripted = {.abi = HR_POLICY_ABI,
                                              .size = sizeof scripted,
                                              .name = "scripted",
                                              .create = create_scripted,
                                              .decide = decide_scripted,
                                              .abilities = all_abilities};

/* Runs two jobs of 100 s and 50 s on an on-demand pool of two nodes that boot in 10 s. */
static void run_script(const struct step *steps, uint32_t n_steps, struct outcome *outcome) {
  char name[] = "pool", gpu[] = "T4";
  int64_t submit_us[] = {0, 0}, work_us[] = {100 * S, 50 * S};
  uint32_t gpus[] = {4, 4};
  struct hr_trace trace = {.source = "test", .n_jobs = 2, .submit_us = submit_us, .work_us = work_us, .gpus = gpus};
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = 2,
                              .gpus_per_node = 4,
                              .market = {.market = HR_MARKET_ON_DEMAND, .boot = {HR_DURATION_FIXED, 10, 0}}};
  struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_class_spec class_ = {.restart_us = 5};
  script = (struct script){steps, n_steps};
  run_with(&trace, &cluster, &class_, &scripted, HR_NEVER_US, outcome);
}
#define RUN_SCRIPT(outcome, ...)                                                                                       \
  run_script((const struct step[]){__VA_ARGS__}, sizeof(const struct step[]){__VA_ARGS__} / sizeof(struct step),       \
             outcome)

static void preempted_job_keeps_its_work(void) {
  struct outcome outcome;
  RUN_SCRIPT(&outcome, {0, ACQUIRE, 0, 0}, {10, START, 0, 0}, {40, PREEMPT, 0, 0}, {40, START, 1, 0},
             {90, START, 0, 0});
  ASSERT_ACCOUNTS(&outcome, 0, 2, 165, 100, 0, 0, 5, 105);
  ASSERT_ACCOUNTS(&outcome, 1, 1, 90, 50, 0, 0, 0, 50);
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_PREEMPT, 0)->at_s, 40);
  CU_ASSERT_EQUAL(outcome.result->start_us[0], 10 * S);
  hr_result_destroy(outcome.result);
}

static void job_is_moved_within_a_pass(void) {
  struct outcome outcome;
  RUN_SCRIPT(&outcome, {0, ACQUIRE, 0, 0}, {0, ACQUIRE, 0, 0}, {10, START, 0, 0}, {40, PREEMPT, 0, 0},
             {40, START, 0, 1}, {40, START, 1, 0});
  ASSERT_ACCOUNTS(&outcome, 0, 2, 115, 100, 0, 0, 5, 105);
  ASSERT_ACCOUNTS(&outcome, 1, 1, 90, 50, 0, 0, 0, 50);
  hr_result_destroy(outcome.result);
}

/* All moves of an instant are rolled back. The state must then be the same as before. This is verified by the
   invariants of checked mode and by the ends of jobs. */
static void rollback_restores_state(void) {
  struct outcome outcome;
  RUN_SCRIPT(&outcome, {0, ACQUIRE, 0, 0}, {10, START, 0, 0}, {40, ACQUIRE, 0, 0}, {40, PREEMPT, 0, 0},
             {40, START, 1, 0}, {40, ROLL_BACK_ALL, 0, 0}, {110, START, 1, 0});
  ASSERT_ACCOUNTS(&outcome, 0, 1, 110, 100, 0, 0, 0, 100);
  ASSERT_ACCOUNTS(&outcome, 1, 1, 160, 50, 0, 0, 0, 50);
  CU_ASSERT_PTR_NULL(nth(&outcome.log, HR_EVENT_PREEMPT, 0));
  CU_ASSERT_PTR_NULL(nth(&outcome.log, HR_EVENT_ACQUIRE, 1));
  CU_ASSERT_EQUAL(outcome.result->pools[0].launches, 1);
  hr_result_destroy(outcome.result);
  RUN_SCRIPT(&outcome, {0, ACQUIRE, 0, 0}, {0, ACQUIRE, 0, 0}, {10, START, 0, 0}, {40, PREEMPT, 0, 0},
             {40, START, 0, 1}, {40, RELEASE, 0, 0}, {40, ROLL_BACK_ALL, 0, 0}, {50, START, 1, 1});
  ASSERT_ACCOUNTS(&outcome, 0, 1, 110, 100, 0, 0, 0, 100);
  ASSERT_ACCOUNTS(&outcome, 1, 1, 100, 50, 0, 0, 0, 50);
  hr_result_destroy(outcome.result);
}

static void released_node_can_be_acquired_again(void) {
  struct outcome outcome;
  RUN_SCRIPT(&outcome, {0, ACQUIRE, 0, 0}, {5, RELEASE, 0, 0}, {8, ACQUIRE, 0, 0}, {18, START, 1, 0},
             {68, RELEASE, 0, 0}, {70, ACQUIRE, 0, 0}, {80, START, 0, 0});
  ASSERT_ACCOUNTS(&outcome, 0, 1, 180, 100, 0, 0, 0, 100);
  ASSERT_ACCOUNTS(&outcome, 1, 1, 68, 50, 0, 0, 0, 50);
  CU_ASSERT_EQUAL(outcome.result->pools[0].launches, 3);
  /* not at 10 s, because the release cancelled the boot that would have ended then */
  CU_ASSERT_EQUAL(nth(&outcome.log, HR_EVENT_NODE_UP, 0)->at_s, 18);
  CU_ASSERT(outcome.result->pools[0].up_us == (hr_amount)(5 + 60 + 110) * S);
  hr_result_destroy(outcome.result);
}

/* ---- Notice periods that are longer than the periods of the market ---- */

/* The policy requests all nodes of a recorded market. At every instant of the run, the number of nodes must be the
   minimum of the recorded level from now to the end of the notice period. */
struct level_watch {
  const struct hr_spot_spec *spot;
  uint32_t n_instants, n_wrong;
};

static uint32_t min_level_within_notice(const struct hr_spot_spec *spot, int64_t now_us) {
  uint32_t lowest = UINT32_MAX;
  for (int64_t round = now_us / spot->period_us; round * spot->period_us <= now_us + spot->notice_us; round++)
    for (uint32_t i = 0; i < spot->n_levels; i++) {
      int64_t from_us = round * spot->period_us + spot->levels[i].at_us;
      int64_t to_us = round * spot->period_us + (i + 1 < spot->n_levels ? spot->levels[i + 1].at_us : spot->period_us);
      if (from_us <= now_us + spot->notice_us && to_us > now_us && spot->levels[i].level < lowest)
        lowest = spot->levels[i].level;
    }
  return lowest;
}

static void compare_level(void *self, const struct hr_view *view) {
  struct level_watch *watch = self;
  uint32_t nodes = hr_cluster_nodes_in(view->cluster, (hr_pool){1}, HR_NODE_UP);
  watch->n_instants++;
  watch->n_wrong += nodes != min_level_within_notice(watch->spot, view->now_us);
}

static void levels_within_any_notice(void) {
  enum { STEPS = 40, NODES = 6 };
  static const int64_t notices_s[] = {0, 1, 90, 700, 3000, 20000, 1000000000};
  struct hr_level_step levels[STEPS];
  for (uint32_t n = 0; n < 10 * sizeof notices_s / sizeof *notices_s; n++) {
    int64_t at_us = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
      levels[i] = (struct hr_level_step){at_us, hr_random_below(n, 0, i, NODES)};
      at_us += (1 + hr_random_below(n, 1, i, 200)) * S;
    }
    char name[] = "p", gpu[] = "T4";
    struct hr_pool_spec pools[] = {{.name = name, .gpu = gpu, .nodes = 1, .gpus_per_node = 1},
                                   {.name = name,
                                    .gpu = gpu,
                                    .nodes = NODES,
                                    .gpus_per_node = 4,
                                    .market = {.market = HR_MARKET_SPOT,
                                               .to_us = HR_NEVER_US,
                                               .spot = {.model = HR_SPOT_TRACE,
                                                        .notice_us = notices_s[n / 10] * S,
                                                        .levels = levels,
                                                        .n_levels = STEPS,
                                                        .period_us = at_us}}}};
    int64_t submit_us = 0, work_us = 1000000 * S;
    uint32_t gpus = 1;
    struct hr_trace trace = {
        .source = "test", .n_jobs = 1, .submit_us = &submit_us, .work_us = &work_us, .gpus = &gpus};
    struct hr_cluster_spec cluster = {pools, 2};
    struct hr_policy_choice queue = queue_choice("skip", "first-fit");
    struct level_watch watch = {.spot = &pools[1].market.spot};
    struct hr_observer observer = {&watch, NULL, compare_level};
    struct hr_run_config config = {.trace = &trace,
                                   .cluster = &cluster,
                                   .policy = queue.ops,
                                   .params = queue.params,
                                   .seed = 1,
                                   .horizon_us = 5 * at_us,
                                   .check = true,
                                   .observers = &observer,
                                   .n_observers = 1};
    struct hr_result *result = NULL;
    CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, NULL), HR_OK);
    CU_ASSERT_EQUAL(watch.n_wrong, 0);
    CU_ASSERT(watch.n_instants > (notices_s[n / 10] <= 90 ? 50 : 0));
    hr_result_destroy(result);
    hr_policy_choice_finish(&queue);
  }
}

TEST_MAIN("markets", TEST(preempted_job_keeps_its_work), TEST(job_is_moved_within_a_pass),
          TEST(rollback_restores_state), TEST(released_node_can_be_acquired_again),
          TEST(work_without_checkpoint_is_lost), TEST(work_before_checkpoint_is_kept),
          TEST(checkpoint_on_notice_if_time_suffices), TEST(job_that_completes_in_time_is_not_stopped),
          TEST(writers_share_storage_bandwidth), TEST(new_writer_slows_other_writers),
          TEST(nodes_boot_before_jobs_start), TEST(highest_nodes_are_reclaimed_first),
          TEST(capacity_gone_within_notice_is_not_available), TEST(uninterruptible_job_is_rejected_on_spot_only),
          TEST(pools_for_some_job_classes), TEST(jobs_use_gpus_with_sufficient_memory),
          TEST(job_longer_than_any_up_period_restarts), TEST(reservation_is_available_for_its_time),
          TEST(capacity_block_stops_before_its_end), TEST(levels_within_any_notice))
