/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Acquisition and release of nodes by the queue policy: small cases computed by hand, to the second. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"

#include <string.h>

#define S HR_SECOND_US

enum { MAX_JOBS = 4, MAX_LOGGED = 100, RESERVED = 0, SPOT = 1, ON_DEMAND = 2, N_POOLS = 3 };

struct market_case {
  const char *rule;
  uint32_t n_jobs;
  int64_t submit_s[MAX_JOBS], work_s[MAX_JOBS];
  uint32_t gpus[MAX_JOBS];        /* 0: 1 GPU */
  struct hr_level_step levels[4]; /* capacity of the spot pool; at_us is in seconds here */
  uint32_t n_levels;
  const char *set[4][2]; /* parameters: key and value */
};

struct logged {
  int64_t at_s;
  enum hr_event_kind kind;
  uint32_t pool, job;
};

struct log {
  uint32_t count;
  struct logged event[MAX_LOGGED];
};

static void log_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct log *log = self;
  (void)view;
  uint32_t pool = event->placement ? event->placement->pool.id : event->pool.id;
  if (log->count < MAX_LOGGED)
    log->event[log->count++] = (struct logged){event->at_us / S, event->kind, pool, event->job.id};
}

/* Returns the time of the n-th event of a kind in a pool, in seconds; -1: no such event. */
static int64_t event_time_s(const struct log *log, enum hr_event_kind kind, uint32_t pool, uint32_t n) {
  for (uint32_t i = 0; i < log->count; i++)
    if (log->event[i].kind == kind && log->event[i].pool == pool && n-- == 0) return log->event[i].at_s;
  return -1;
}

/* Pools: a reserved pool of another GPU type, spot nodes at 1 $/h and on-demand nodes at 3 $/h.
   Nodes have one GPU and boot in 60 s. */
static void run_case(struct market_case c, struct log *log) {
  char name[] = "pool", gpu[] = "T4", other[] = "L4", list[] = "T4";
  const char *lists[] = {list};
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], types[MAX_JOBS] = {0};
  for (uint32_t i = 0; i < c.n_jobs; i++) {
    submit_us[i] = c.submit_s[i] * S;
    work_us[i] = c.work_s[i] * S;
    gpus[i] = c.gpus[i] ? c.gpus[i] : 1;
  }
  for (uint32_t i = 0; i < c.n_levels; i++) c.levels[i].at_us *= S;
  struct hr_trace trace = {.source = "test",
                           .n_jobs = c.n_jobs,
                           .submit_us = submit_us,
                           .work_us = work_us,
                           .gpus = gpus,
                           .gpu_types = types,
                           .gpu_type_lists = {1, lists}};
  struct hr_pool_spec pools[N_POOLS];
  for (uint32_t i = 0; i < N_POOLS; i++)
    pools[i] = (struct hr_pool_spec){.name = name, .gpu = i ? gpu : other, .nodes = 4, .gpus_per_node = 1};
  struct hr_duration boot = {HR_DURATION_FIXED, 60, 0};
  pools[SPOT].market = (struct hr_market_spec){.market = HR_MARKET_SPOT, .price_uusd_h = 1000000, .boot = boot};
  pools[SPOT].market.spot = (struct hr_spot_spec){.model = c.n_levels ? HR_SPOT_TRACE : HR_SPOT_NONE,
                                                  .levels = c.levels,
                                                  .n_levels = c.n_levels,
                                                  .period_us = 1000000 * S};
  pools[ON_DEMAND].market =
      (struct hr_market_spec){.market = HR_MARKET_ON_DEMAND, .price_uusd_h = 3000000, .boot = boot};
  struct hr_cluster_spec cluster = {pools, N_POOLS};
  struct hr_policy_choice choice = {0};
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "queue", &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, "market", c.rule, &error), HR_OK);
  for (uint32_t i = 0; i < 4 && c.set[i][0]; i++)
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, c.set[i][0], c.set[i][1], &error), HR_OK);
  struct hr_observer observer = {log, log_event, NULL};
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = 100000 * S,
                                 .check = true,
                                 .observers = &observer,
                                 .n_observers = 1};
  struct hr_result *result = NULL;
  memset(log, 0, sizeof *log);
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT_EQUAL(result->n_completed, c.n_jobs);
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
}

/* Spot capacity is available from 1,000 s on. */
#define LATE_SPOT .levels = {{0, 0}, {1000, 4}}, .n_levels = 2

static void spot_first_waits_uses_on_demand_and_returns(void) {
  struct log log;
  run_case((struct market_case){.rule = "spot-first",
                                .n_jobs = 1,
                                .work_s = {5000},
                                LATE_SPOT,
                                .set = {{"spot_wait_s", "100"}, {"spot_hold_s", "300"}, {"idle_release_s", "30"}}},
           &log);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, ON_DEMAND, 0), 100);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_START, ON_DEMAND, 0), 160);
  /* spot capacity has then been available for 300 s */
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, SPOT, 0), 1300);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_PREEMPT, ON_DEMAND, 0), 1360);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_START, SPOT, 0), 1360);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_RELEASE, ON_DEMAND, 0), 1390);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_END, SPOT, 0), 5160); /* no work was lost */
}

static void job_does_not_return_before_its_end(void) {
  struct log log;
  struct market_case c = {.rule = "spot-first",
                          .n_jobs = 1,
                          .work_s = {5000},
                          LATE_SPOT,
                          .set = {{"spot_wait_s", "100"}, {"spot_hold_s", "300"}, {"return_to_spot", "false"}}};
  run_case(c, &log);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_END, ON_DEMAND, 0), 5160);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, SPOT, 0), -1);
  c.set[2][1] = "true";
  c.work_s[0] = 1400; /* 260 s of work remain when spot capacity is stable */
  run_case(c, &log);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_END, ON_DEMAND, 0), 1560);
}

/* The wait of job 0 for spot capacity ends at 100 s, that of jobs 1 and 2 at 150 s. One on-demand node is acquired for
   each of them, also if the first waiting job has precedence. */
static void one_node_for_each_job_that_stops_waiting(void) {
  static const char *const backfills[] = {"strict", "skip", "easy", "conservative"};
  for (size_t i = 0; i < sizeof backfills / sizeof *backfills; i++) {
    struct log log;
    run_case((struct market_case){.rule = "spot-first",
                                  .n_jobs = 3,
                                  .submit_s = {0, 50, 50},
                                  .work_s = {500, 500, 500},
                                  LATE_SPOT,
                                  .set = {{"spot_wait_s", "100"}, {"backfill", backfills[i]}}},
             &log);
    CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, ON_DEMAND, 0), 100);
    CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, ON_DEMAND, 1), 150);
    CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, ON_DEMAND, 2), 150);
    CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, ON_DEMAND, 3), -1);
  }
}

/* Spot capacity is available from 120 s on, and stable from 130 s on. The job starts at 160 s on the on-demand node
   that was acquired at 100 s. No event follows, so the rule considers a return 10 s later. */
static void job_returns_although_nothing_happens(void) {
  struct log log;
  run_case((struct market_case){.rule = "spot-first",
                                .n_jobs = 1,
                                .work_s = {5000},
                                .levels = {{0, 0}, {120, 4}},
                                .n_levels = 2,
                                .set = {{"spot_wait_s", "100"}, {"spot_hold_s", "10"}}},
           &log);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_START, ON_DEMAND, 0), 160);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, SPOT, 0), 170);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_START, SPOT, 0), 230);
}

static void spot_first_prefers_available_spot(void) {
  struct log log;
  run_case((struct market_case){.rule = "spot-first", .n_jobs = 3, .work_s = {500, 500, 500}}, &log);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, SPOT, 2), 0);
  /* no fourth spot node is acquired, because it is not needed */
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, SPOT, 3), -1);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_START, SPOT, 2), 60);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, ON_DEMAND, 0), -1);
}

static void on_demand_only_acquires_no_spot(void) {
  struct log log;
  run_case((struct market_case){.rule = "on-demand-only",
                                .n_jobs = 2,
                                .submit_s = {0, 200},
                                .work_s = {100, 100},
                                .set = {{"idle_release_s", "50"}}},
           &log);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, SPOT, 0), -1);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_END, ON_DEMAND, 0), 160);
  /* starts on the node that has not been released yet */
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_START, ON_DEMAND, 1), 200);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, ON_DEMAND, 1), -1);
}

static void idle_nodes_are_released_down_to_the_minimum(void) {
  struct log log;
  struct market_case c = {.rule = "on-demand-only",
                          .n_jobs = 3,
                          .submit_s = {0, 0, 1000},
                          .work_s = {100, 100, 10},
                          .set = {{"idle_release_s", "50"}, {"min_on_demand", "1"}}};
  run_case(c, &log);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_RELEASE, ON_DEMAND, 0), 210);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_RELEASE, ON_DEMAND, 1), -1);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_START, ON_DEMAND, 2),
                  1000); /* starts on the node that was not released because of the minimum */
  c.set[1][1] = "0";
  run_case(c, &log);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_RELEASE, ON_DEMAND, 1), 210);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_START, ON_DEMAND, 2), 1060);
}

/* Job 0 waits for a node that boots from 0 to 60 s. Job 1, the first in order from 10 s on, needs this node and three
   others, which boot from 10 to 70 s. The idle time of the first node ends at 65 s, but job 1 needs the node. */
static void nodes_of_the_first_job_are_not_released(void) {
  struct log log;
  run_case((struct market_case){.rule = "on-demand-only",
                                .n_jobs = 2,
                                .submit_s = {0, 10},
                                .work_s = {100, 100},
                                .gpus = {1, 4},
                                .set = {{"order", "largest"}, {"backfill", "strict"}, {"idle_release_s", "5"}}},
           &log);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_START, ON_DEMAND, 0), 70);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, ON_DEMAND, 3), 10);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, ON_DEMAND, 4), -1);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_START, ON_DEMAND, 1), 170);
}

static void spot_share_is_limited(void) {
  struct log log;
  run_case(
      (struct market_case){
          .rule = "price-capacity", .n_jobs = 4, .work_s = {500, 500, 500, 500}, .set = {{"max_spot_share", "0.5"}}},
      &log);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, SPOT, 1), 0);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, SPOT, 2), -1);
  CU_ASSERT_EQUAL(event_time_s(&log, HR_EVENT_ACQUIRE, ON_DEMAND, 1), 0);
}

TEST_MAIN("market", TEST(spot_first_waits_uses_on_demand_and_returns), TEST(job_does_not_return_before_its_end),
          TEST(one_node_for_each_job_that_stops_waiting), TEST(job_returns_although_nothing_happens),
          TEST(spot_first_prefers_available_spot), TEST(on_demand_only_acquires_no_spot),
          TEST(idle_nodes_are_released_down_to_the_minimum), TEST(nodes_of_the_first_job_are_not_released),
          TEST(spot_share_is_limited))
