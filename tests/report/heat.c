/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The alert on temperatures. Its times are computed by hand from the exponential approach of a temperature to its
   limit. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/power.h"
#include "headroom/report.h"
#include "headroom/sim.h"
#include "queue_choice.h"

#include <math.h>
#include <string.h>

#define S HR_SECOND_US

enum { N_JOBS = 3 };

/* Runs three jobs on a node with one GPU and lists its alerts on temperatures above `above_c`. The GPU draws 50 W if it
   is idle and 400 W at work. Its temperature approaches 25 + 0.2 x watts degrees C with a time constant of 60 s. */
static size_t run(double above_c, struct hr_alert *found) {
  static char name[] = "p", gpu[] = "A100";
  int64_t submit_us[N_JOBS] = {0, 1005 * S, 3000 * S}, work_us[N_JOBS] = {1000 * S, 500 * S, S};
  uint32_t gpus[N_JOBS] = {1, 1, 1};
  struct hr_power_spec power = {.gpu_idle_w = 50, .gpu_max_w = 400, .utilization = 1, .pue = 1};
  power.heat = (struct hr_power_heat){.ambient_c = 25, .c_per_w = 0.2, .time_constant_s = 60};
  struct hr_pool_spec pool = {.name = name, .gpu = gpu, .nodes = 1, .gpus_per_node = 1, .power = &power};
  pool.market.to_us = HR_NEVER_US;
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  struct hr_trace trace = {
      .source = "test", .n_jobs = N_JOBS, .submit_us = submit_us, .work_us = work_us, .gpus = gpus};
  struct hr_alert_rules rules;
  hr_alert_rules_init(&rules);
  CU_ASSERT(rules.hot_above_c == 90);
  rules.hot_above_c = above_c;
  struct hr_alerts_config config = {.trace = &trace, .cluster = &cluster, .rules = &rules};
  struct hr_alerts *alerts = hr_alerts_create(&config);
  CU_ASSERT_PTR_NOT_NULL_FATAL(alerts);
  struct hr_observer observer = hr_alerts_observer(alerts);
  struct hr_policy_choice choice = queue_choice("skip", "first-fit");
  struct hr_run_config run_config = {.trace = &trace,
                                     .cluster = &cluster,
                                     .policy = choice.ops,
                                     .params = choice.params,
                                     .horizon_us = HR_NEVER_US,
                                     .observers = &observer,
                                     .n_observers = 1,
                                     .check = true};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&run_config, &result, NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_alerts_close(alerts, result, NULL), HR_OK);
  const struct hr_alert *list;
  size_t count = hr_alerts_list(alerts, &list), n_found = 0;
  for (size_t i = 0; i < count; i++)
    if (list[i].rule == HR_ALERT_HOT && n_found < N_JOBS) found[n_found++] = list[i];
  hr_alerts_destroy(alerts);
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
  return n_found;
}

/* An idle GPU has 35 degrees. At work it approaches 105 and reaches 90 after 60 ln(70 / 15) s. The second job starts
   before the GPU has cooled to 90, so there is one alert. It ends 60 ln((T - 35) / 55) s after the second job, where T
   is the temperature at the end of this job. */
static void times_by_hand(void) {
  struct hr_alert found[N_JOBS] = {{0}};
  CU_ASSERT_EQUAL_FATAL(run(90, found), 1);
  double first = 105 - 70 * exp(-1000.0 / 60), gap = 35 + (first - 35) * exp(-5.0 / 60);
  double last = 105 + (gap - 105) * exp(-500.0 / 60);
  CU_ASSERT_STRING_EQUAL(found[0].where, "p");
  CU_ASSERT_DOUBLE_EQUAL((double)found[0].begin_us / 1e6, 60 * log(70.0 / 15), 1e-4);
  CU_ASSERT_DOUBLE_EQUAL((double)found[0].end_us / 1e6, 1505 + 60 * log((last - 35) / 55), 1e-4);
  CU_ASSERT_DOUBLE_EQUAL(found[0].value, first, 1e-9);
  CU_ASSERT_EQUAL(found[0].count, 1);
}

static void thresholds(void) {
  struct hr_alert found[N_JOBS] = {{0}};
  CU_ASSERT_EQUAL(run(105, found), 0);
  /* between the jobs the GPU cools below 102: two alerts */
  CU_ASSERT_EQUAL_FATAL(run(102, found), 2);
  CU_ASSERT_DOUBLE_EQUAL((double)found[0].begin_us / 1e6, 60 * log(70.0 / 3), 1e-4);
  /* always too hot: from the start to the end */
  CU_ASSERT_EQUAL_FATAL(run(30, found), 1);
  CU_ASSERT(found[0].begin_us == 0 && found[0].end_us == 3001 * S);
}

TEST_MAIN("Temperatures", TEST(times_by_hand), TEST(thresholds))
