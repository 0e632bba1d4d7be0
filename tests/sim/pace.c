/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs whose speeds change when other jobs start or end on their GPUs, compared with a reference clock that advances in
   single microseconds. Each job must end in exactly the same microsecond. */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "queue_choice.h"

#include <string.h>

enum { MODELS = 2, PAIRS = 3, JOBS = 40, NODES = 3, GPUS = 2, CASES = 100, STEPS = 3, MAX_TASKS = 2 };

struct placed {
  int64_t start_us, end_us;
  uint32_t n_slices;
  struct hr_slice slices[MAX_TASKS];
};

static struct {
  int64_t submit_us[JOBS], work_us[JOBS];
  uint32_t gpus[JOBS], tasks[JOBS], model[JOBS];
  uint16_t gpu_milli[JOBS];
  struct hr_trace trace;
  struct hr_interference_step steps[STEPS];
  uint32_t speed_ppm[2];             /* by model: the speed of a job that does not share its GPUs */
  struct hr_pair_speed pairs[PAIRS]; /* (a, a), (a, b) and (b, a); the pair (b, b) has no known speed */
  struct placed placed[JOBS];
} scenario;

static struct hr__stream draws;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

static void draw_scenario(void) {
  static const char *const models[] = {"a", "b"};
  static char names[MODELS][2] = {"a", "b"};
  for (uint32_t i = 0; i < JOBS; i++) {
    scenario.submit_us[i] = (i ? scenario.submit_us[i - 1] : 0) + draw(200);
    scenario.work_us[i] = draw(20) ? 1 + draw(1000) : 0;
    scenario.tasks[i] = 1 + draw(4) / 3;
    scenario.gpus[i] = scenario.tasks[i] * (1 + draw(2));
    scenario.gpu_milli[i] = (uint16_t)(draw(4) ? 100 * (1 + draw(6)) : 1000);
    scenario.model[i] = draw(3) ? draw(MODELS) : HR_NONE;
  }
  for (uint32_t i = 0; i < STEPS; i++)
    scenario.steps[i] = (struct hr_interference_step){300 * (i + 1), 1000000 - (i + 1) * (1 + draw(300000))};
  for (uint32_t i = 0; i < PAIRS; i++)
    scenario.pairs[i] = (struct hr_pair_speed){names[i / 2], names[i % 2], 300000 + draw(700000)};
  scenario.speed_ppm[0] = 1 + draw(3000000);
  scenario.speed_ppm[1] = 1000000;
  scenario.trace = (struct hr_trace){.source = "test",
                                     .n_jobs = JOBS,
                                     .submit_us = scenario.submit_us,
                                     .work_us = scenario.work_us,
                                     .gpus = scenario.gpus,
                                     .tasks = scenario.tasks,
                                     .model = scenario.model,
                                     .gpu_milli = scenario.gpu_milli,
                                     .models = {MODELS, models}};
}

static void log_placement(void *self, const struct hr_view *view, const struct hr_event *event) {
  (void)self;
  (void)view;
  struct placed *placed = &scenario.placed[event->job.id];
  if (event->kind == HR_EVENT_END) placed->end_us = event->at_us;
  if (event->kind != HR_EVENT_START) return;
  placed->start_us = event->at_us;
  placed->n_slices = event->placement->n_slices;
  for (uint32_t i = 0; i < placed->n_slices; i++) placed->slices[i] = event->placement->slices[i];
}

static void run(void) {
  char name[] = "p", gpu[] = "T4", model[] = "a";
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = NODES,
                              .gpus_per_node = GPUS,
                              .sharing = HR_SHARING_FRACTION,
                              .interference = scenario.steps,
                              .n_interference = STEPS,
                              .pairs = scenario.pairs,
                              .n_pairs = PAIRS};
  const struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_speed_row row = {model, 1};
  const struct hr_speeds speeds = {.rows = &row, .n_rows = 1, .n_pools = 1, .ppm = scenario.speed_ppm};
  struct hr_policy_choice choice = queue_choice("skip", draw(2) ? "best-fit" : "spread");
  struct hr_observer observer = {.on_event = log_placement};
  struct hr_run_config config = {.trace = &scenario.trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .observers = &observer,
                                 .n_observers = 1,
                                 .speeds = &speeds};
  struct hr_result *result;
  struct hr_error error = {0};
  memset(scenario.placed, 0, sizeof scenario.placed);
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT_EQUAL_FATAL(result->n_completed, JOBS);
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
}

/* ---- The reference clock ---- */

static bool is_running(const struct placed *placed, const bool *ended, uint32_t job, int64_t now_us) {
  return placed->start_us <= now_us && !ended[job];
}

/* Returns the speed of `job` while it shares a GPU with `other`, or 0 if this speed is unknown. */
static uint32_t pair_ppm(uint32_t job, uint32_t other) {
  for (uint32_t i = 0; i < PAIRS; i++)
    if (scenario.model[job] == i / 2 && scenario.model[other] == i % 2) return scenario.pairs[i].speed_ppm;
  return 0;
}

static uint64_t speed_on(uint32_t self, uint32_t node, uint32_t gpu, const bool *ended, int64_t now_us) {
  uint32_t tasks = 0, milli = 0, other = self;
  for (uint32_t job = 0; job < JOBS; job++)
    for (uint32_t i = 0; i < scenario.placed[job].n_slices && is_running(&scenario.placed[job], ended, job, now_us);
         i++)
      if (scenario.placed[job].slices[i].node.id == node && scenario.placed[job].slices[i].gpus >> gpu & 1) {
        tasks++;
        if (job != self) other = job;
        milli += scenario.gpu_milli[job];
      }
  if (tasks < 2) return 1000000;
  if (tasks == 2 && other != self && pair_ppm(self, other)) return pair_ppm(self, other);
  for (uint32_t i = 0; i < STEPS; i++)
    if (milli <= scenario.steps[i].up_to_milli) return scenario.steps[i].speed_ppm;
  return scenario.steps[STEPS - 1].speed_ppm;
}

static uint64_t speed_of(uint32_t job, const bool *ended, int64_t now_us) {
  uint64_t min_factor = 1000000, alone = scenario.speed_ppm[scenario.model[job] == 0 ? 0 : 1];
  for (uint32_t i = 0; i < scenario.placed[job].n_slices; i++)
    for (uint32_t gpu = 0; gpu < GPUS; gpu++) {
      if (!(scenario.placed[job].slices[i].gpus >> gpu & 1)) continue;
      uint64_t speed = speed_on(job, scenario.placed[job].slices[i].node.id, gpu, ended, now_us);
      if (speed < min_factor) min_factor = speed;
    }
  uint64_t both = alone * min_factor / 1000000;
  return both > 0 ? both : 1;
}

/* Runs the reference clock and compares the ends of jobs. At each instant, jobs whose work is complete end before
   speeds change. */
static void compare_with_reference_clock(void) {
  bool ended[JOBS] = {0};
  uint64_t done[JOBS] = {0};
  uint32_t left = JOBS, slowed = 0;
  for (int64_t now_us = 0; left > 0 && now_us < 10000000; now_us++) {
    for (uint32_t job = 0; job < JOBS; job++) {
      if (!is_running(&scenario.placed[job], ended, job, now_us) ||
          done[job] < (uint64_t)scenario.work_us[job] * 1000000)
        continue;
      ended[job] = true;
      left--;
      CU_ASSERT_EQUAL_FATAL(scenario.placed[job].end_us, now_us);
    }
    for (uint32_t job = 0; job < JOBS; job++) {
      if (!is_running(&scenario.placed[job], ended, job, now_us)) continue;
      uint64_t speed = speed_of(job, ended, now_us);
      slowed += speed != scenario.speed_ppm[scenario.model[job] == 0 ? 0 : 1];
      done[job] += speed;
    }
  }
  CU_ASSERT_EQUAL(left, 0);
  CU_ASSERT(slowed > 0);
}

static void ends_equal_reference_clock(void) {
  for (uint32_t seed = 0; seed < CASES; seed++) {
    hr__stream_init(&draws, 11, HR__PURPOSE_ARRIVAL, seed, 0);
    draw_scenario();
    /* with lower speeds the reference clock would take too long */
    if (scenario.speed_ppm[0] < 50000) scenario.speed_ppm[0] = 50000;
    run();
    compare_with_reference_clock();
  }
}

TEST_MAIN("pace", TEST(ends_equal_reference_clock))
