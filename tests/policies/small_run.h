/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_POLICIES_SMALL_RUN_H
#define HR_TESTS_POLICIES_SMALL_RUN_H

/* Runs a few jobs on a few nodes with a given policy and parameters. Times are in seconds. Runs use the checked mode,
   in which the engine checks its invariants. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"

#include <string.h>

enum { SMALL_JOBS = 8, SMALL_POOLS = 3, SMALL_PARAMS = 8 };

struct small_run {
  uint32_t n_jobs;
  int64_t submit_s[SMALL_JOBS], work_s[SMALL_JOBS], deadline_s[SMALL_JOBS]; /* deadline 0: none */
  uint32_t gpus[SMALL_JOBS], model[SMALL_JOBS];
  int32_t priority[SMALL_JOBS];
  uint32_t n_pools, nodes[SMALL_POOLS], gpus_per_node[SMALL_POOLS];
  int64_t price_uusd_h[SMALL_POOLS];
  enum hr_market market[SMALL_POOLS];
  uint32_t n_models;
  /* speeds in millionths by model and pool; jobs without a model have speed 1; n_models 0: all speeds are 1 */
  uint32_t ppm[(SMALL_JOBS + 1) * SMALL_POOLS];
  int64_t restart_s, horizon_s;
  const char *policy, *params[SMALL_PARAMS][2];
};

/* Names of GPU types and models. */
static char small_types[SMALL_POOLS][4] = {"T0", "T1", "T2"};
static char small_models[SMALL_JOBS][4] = {"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"};

static void small_choose(const struct small_run *it, struct hr_policy_choice *choice) {
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(choice, it->policy, &error), HR_OK);
  for (int i = 0; i < SMALL_PARAMS && it->params[i][0]; i++)
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(choice, it->params[i][0], it->params[i][1], &error), HR_OK);
}

static struct hr_result *small_run_with(const struct small_run *it, const struct hr_observer *observer) {
  int64_t submit_us[SMALL_JOBS], work_us[SMALL_JOBS], deadline_us[SMALL_JOBS];
  const char *models[SMALL_JOBS];
  struct hr_speed_row rows[SMALL_JOBS];
  for (uint32_t i = 0; i < SMALL_JOBS; i++) {
    submit_us[i] = it->submit_s[i] * HR_SECOND_US;
    work_us[i] = it->work_s[i] * HR_SECOND_US;
    deadline_us[i] = it->deadline_s[i] ? it->deadline_s[i] * HR_SECOND_US : HR_UNKNOWN_US;
    models[i] = small_models[i];
    rows[i] = (struct hr_speed_row){small_models[i], 1};
  }
  struct hr_trace trace = {.source = "test",
                           .n_jobs = it->n_jobs,
                           .submit_us = submit_us,
                           .work_us = work_us,
                           .deadline_us = deadline_us,
                           .gpus = it->gpus,
                           .priority = it->priority,
                           .model = it->model,
                           .models = {SMALL_JOBS, models}};
  struct hr_pool_spec pools[SMALL_POOLS];
  for (uint32_t i = 0; i < it->n_pools; i++)
    pools[i] = (struct hr_pool_spec){
        .name = small_types[i],
        .gpu = small_types[i],
        .nodes = it->nodes[i],
        .gpus_per_node = it->gpus_per_node[i],
        .market = {.market = it->market[i], .to_us = HR_NEVER_US, .price_uusd_h = it->price_uusd_h[i]}};
  struct hr_cluster_spec cluster = {pools, it->n_pools};
  uint32_t ppm[(SMALL_JOBS + 1) * SMALL_POOLS];
  memcpy(ppm, it->ppm, sizeof ppm);
  for (uint32_t i = 0; i < it->n_pools; i++) ppm[it->n_models * it->n_pools + i] = 1000000;
  struct hr_speeds speeds = {.rows = rows, .n_rows = it->n_models, .n_pools = it->n_pools, .ppm = ppm};
  struct hr_class_spec classes[HR_N_CLASSES];
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    classes[i] = (struct hr_class_spec){.restart_us = it->restart_s * HR_SECOND_US};
  struct hr_policy_choice choice;
  small_choose(it, &choice);
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = 1,
                                 .horizon_us = it->horizon_s ? it->horizon_s * HR_SECOND_US : HR_NEVER_US,
                                 .check = true,
                                 .classes = classes,
                                 .observers = observer,
                                 .n_observers = observer != NULL,
                                 .speeds = it->n_models ? &speeds : NULL};
  struct hr_result *result = NULL;
  struct hr_error error;
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  hr_policy_choice_finish(&choice);
  result->trace = NULL; /* the result must not refer to the trace, which does not exist after this function */
  return result;
}

/* Runs the scenario. The caller frees the result with hr_result_destroy. */
static inline struct hr_result *small_run(struct small_run it) {
  return small_run_with(&it, NULL);
}

/* Returns whether the job ended at `end_s` after this number of attempts. */
static inline bool ended(const struct hr_result *result, uint32_t job, int64_t end_s, uint32_t attempts) {
  const struct hr_job_accounting copy = hr_result_accounting(result, (hr_job){job}), *accounting = &copy;
  if (accounting->end_us == end_s * HR_SECOND_US && accounting->attempts == attempts) return true;
  printf("\n  job %u ended at %.6f s after %u starts\n", (unsigned)job, (double)accounting->end_us / 1e6,
         (unsigned)accounting->attempts);
  return false;
}

#endif
