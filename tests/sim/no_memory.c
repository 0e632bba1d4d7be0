/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every allocation of a run fails once, for each way to backfill: each time the caller is told, and nothing crashes or
   leaks. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "scarce_memory.h"
#include "sim/philox.h"

#include <string.h>

enum { JOBS = 3000 };

static struct {
  int64_t submit_us[JOBS], work_us[JOBS];
  uint32_t gpus[JOBS];
  const char *backfill, *placement;
} load;

/* More work than the cluster can do: the queue and all that plans with it grow. */
static void make_load(void) {
  struct hr__stream draws;
  hr__stream_init(&draws, 7, HR__PURPOSE_ARRIVAL, 0, 0);
  for (uint32_t i = 0; i < JOBS; i++) {
    load.submit_us[i] = (int64_t)i * 10;
    load.work_us[i] = 1 + hr__stream_next(&draws) % 2000;
    load.gpus[i] = 1 + hr__stream_next(&draws) % 12;
  }
}

static enum hr_status replay(void) {
  struct hr_trace trace = {
      .source = "test", .n_jobs = JOBS, .submit_us = load.submit_us, .work_us = load.work_us, .gpus = load.gpus};
  char name[] = "main", gpu[] = "T4";
  struct hr_pool_spec pool = {.name = name, .gpu = gpu, .nodes = 16, .gpus_per_node = 8};
  struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_policy_choice choice = {0};
  struct hr_error error;
  struct hr_result *result = NULL;
  enum hr_status status = hr_policy_choice_init(&choice, "queue", &error);
  if (status == HR_OK) status = hr_policy_choice_set(&choice, "order", "sjf", &error);
  if (status == HR_OK) status = hr_policy_choice_set(&choice, "backfill", load.backfill, &error);
  if (status == HR_OK) status = hr_policy_choice_set(&choice, "placement", load.placement, &error);
  struct hr_run_config config = {
      .trace = &trace, .cluster = &cluster, .policy = choice.ops, .params = choice.params, .horizon_us = HR_NEVER_US};
  if (status == HR_OK) status = hr_sim_run(&config, &result, &error);
  hr_policy_choice_finish(&choice);
  hr_result_destroy(result);
  return status;
}

static void every_failure_is_told(void) {
  static const char *const backfills[] = {"strict", "skip", "easy", "conservative"};
  static const char *const placements[] = {"pool", "best-fit"};
  make_load();
  for (size_t i = 0; i < sizeof backfills / sizeof *backfills; i++)
    for (size_t j = 0; j < sizeof placements / sizeof *placements; j++) {
      load.backfill = backfills[i];
      load.placement = placements[j];
      CU_ASSERT(starve(replay) > 5);
    }
}

TEST_MAIN("sim no memory", TEST(every_failure_is_told))
