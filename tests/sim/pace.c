/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs whose speeds change when neighbours come and go, compared with a clock that advances by single microseconds:
   each job ends in exactly the same one. */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "queue_choice.h"

#include <string.h>

enum { MODELS = 2, PAIRS = 3, JOBS = 40, NODES = 3, GPUS = 2, CASES = 100, STEPS = 3, MAX_TASKS = 2 };

struct stay {
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
  uint32_t speed_ppm[2];             /* of models, alone */
  struct hr_pair_speed pairs[PAIRS]; /* of the first two models, except the second next to itself */
  struct stay stay[JOBS];
} world;

static struct hr__stream draws;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

static void draw_world(void) {
  static const char *const models[] = {"a", "b"};
  static char names[MODELS][2] = {"a", "b"};
  for (uint32_t i = 0; i < JOBS; i++) {
    world.submit_us[i] = (i ? world.submit_us[i - 1] : 0) + draw(200);
    world.work_us[i] = draw(20) ? 1 + draw(1000) : 0;
    world.tasks[i] = 1 + draw(4) / 3;
    world.gpus[i] = world.tasks[i] * (1 + draw(2));
    world.gpu_milli[i] = (uint16_t)(draw(4) ? 100 * (1 + draw(6)) : 1000);
    world.model[i] = draw(3) ? draw(MODELS) : HR_NONE;
  }
  for (uint32_t i = 0; i < STEPS; i++)
    world.steps[i] = (struct hr_interference_step){300 * (i + 1), 1000000 - (i + 1) * (1 + draw(300000))};
  for (uint32_t i = 0; i < PAIRS; i++)
    world.pairs[i] = (struct hr_pair_speed){names[i / 2], names[i % 2], 300000 + draw(700000)};
  world.speed_ppm[0] = 1 + draw(3000000);
  world.speed_ppm[1] = 1000000;
  world.trace = (struct hr_trace){.source = "test",
                                  .n_jobs = JOBS,
                                  .submit_us = world.submit_us,
                                  .work_us = world.work_us,
                                  .gpus = world.gpus,
                                  .tasks = world.tasks,
                                  .model = world.model,
                                  .gpu_milli = world.gpu_milli,
                                  .models = {MODELS, models}};
}

static void remember(void *self, const struct hr_view *view, const struct hr_event *event) {
  (void)self;
  (void)view;
  struct stay *stay = &world.stay[event->job.id];
  if (event->kind == HR_EVENT_END) stay->end_us = event->at_us;
  if (event->kind != HR_EVENT_START) return;
  stay->start_us = event->at_us;
  stay->n_slices = event->placement->n_slices;
  for (uint32_t i = 0; i < stay->n_slices; i++) stay->slices[i] = event->placement->slices[i];
}

static void run(void) {
  char name[] = "p", gpu[] = "T4", model[] = "a";
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = NODES,
                              .gpus_per_node = GPUS,
                              .sharing = HR_SHARING_FRACTION,
                              .interference = world.steps,
                              .n_interference = STEPS,
                              .pairs = world.pairs,
                              .n_pairs = PAIRS};
  const struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_speed_row row = {model, 1};
  const struct hr_speeds speeds = {.rows = &row, .n_rows = 1, .n_pools = 1, .ppm = world.speed_ppm};
  struct hr_policy_choice choice = queue_choice("skip", draw(2) ? "best-fit" : "spread");
  struct hr_observer observer = {.on_event = remember};
  struct hr_run_config config = {.trace = &world.trace,
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
  memset(world.stay, 0, sizeof world.stay);
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT_EQUAL_FATAL(result->n_completed, JOBS);
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
}

/* ---- The slow clock ---- */

static bool is_there(const struct stay *stay, const bool *ended, uint32_t job, int64_t now_us) {
  return stay->start_us <= now_us && !ended[job];
}

/* 0: unknown. */
static uint32_t pair_ppm(uint32_t job, uint32_t other) {
  for (uint32_t i = 0; i < PAIRS; i++)
    if (world.model[job] == i / 2 && world.model[other] == i % 2) return world.pairs[i].speed_ppm;
  return 0;
}

static uint64_t speed_on(uint32_t self, uint32_t node, uint32_t gpu, const bool *ended, int64_t now_us) {
  uint32_t tasks = 0, milli = 0, other = self;
  for (uint32_t job = 0; job < JOBS; job++)
    for (uint32_t i = 0; i < world.stay[job].n_slices && is_there(&world.stay[job], ended, job, now_us); i++)
      if (world.stay[job].slices[i].node.id == node && world.stay[job].slices[i].gpus >> gpu & 1) {
        tasks++;
        if (job != self) other = job;
        milli += world.gpu_milli[job];
      }
  if (tasks < 2) return 1000000;
  if (tasks == 2 && other != self && pair_ppm(self, other)) return pair_ppm(self, other);
  for (uint32_t i = 0; i < STEPS; i++)
    if (milli <= world.steps[i].up_to_milli) return world.steps[i].speed_ppm;
  return world.steps[STEPS - 1].speed_ppm;
}

static uint64_t speed_of(uint32_t job, const bool *ended, int64_t now_us) {
  uint64_t least = 1000000, alone = world.speed_ppm[world.model[job] == 0 ? 0 : 1];
  for (uint32_t i = 0; i < world.stay[job].n_slices; i++)
    for (uint32_t gpu = 0; gpu < GPUS; gpu++) {
      if (!(world.stay[job].slices[i].gpus >> gpu & 1)) continue;
      uint64_t speed = speed_on(job, world.stay[job].slices[i].node.id, gpu, ended, now_us);
      if (speed < least) least = speed;
    }
  uint64_t both = alone * least / 1000000;
  return both > 0 ? both : 1;
}

/* A job whose work is complete ends before any speed changes. */
static void check_by_steps(void) {
  bool ended[JOBS] = {0};
  uint64_t done[JOBS] = {0};
  uint32_t left = JOBS, slowed = 0;
  for (int64_t now_us = 0; left > 0 && now_us < 10000000; now_us++) {
    for (uint32_t job = 0; job < JOBS; job++) {
      if (!is_there(&world.stay[job], ended, job, now_us) || done[job] < (uint64_t)world.work_us[job] * 1000000)
        continue;
      ended[job] = true;
      left--;
      CU_ASSERT_EQUAL_FATAL(world.stay[job].end_us, now_us);
    }
    for (uint32_t job = 0; job < JOBS; job++) {
      if (!is_there(&world.stay[job], ended, job, now_us)) continue;
      uint64_t speed = speed_of(job, ended, now_us);
      slowed += speed != world.speed_ppm[world.model[job] == 0 ? 0 : 1];
      done[job] += speed;
    }
  }
  CU_ASSERT_EQUAL(left, 0);
  CU_ASSERT(slowed > 0);
}

static void work_is_done_to_the_microsecond(void) {
  for (uint32_t seed = 0; seed < CASES; seed++) {
    hr__stream_init(&draws, 11, HR__PURPOSE_ARRIVAL, seed, 0);
    draw_world();
    if (world.speed_ppm[0] < 50000) world.speed_ppm[0] = 50000; /* otherwise the clock takes too long */
    run();
    check_by_steps();
  }
}

TEST_MAIN("pace", TEST(work_is_done_to_the_microsecond))
