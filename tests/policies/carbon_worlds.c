/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that wait for electricity with less carbon, in random small worlds. If GPUs are scarce: every rule with every
 * backfill and order, with limits, restarts, checkpoints and failures of nodes; runs are checked after each event. If
 * there are enough GPUs: deadlines are met despite restarts and checkpoints.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/series.h"
#include "lab.h"

#include <string.h>

enum { N_JOBS = 24, N_STEPS = 60, WORLDS = 10 };

static const char *const rules[] = {"all-wait",    "lowest-slot",    "lowest-window",
                                    "carbon-time", "reserved-first", "wait-awhile-contiguous",
                                    "wait-awhile", "ecovisor"};
static const char *const backfills[] = {"strict", "skip", "easy", "conservative"};
static const char *const orders[] = {"fifo", "sjf", "srtf", "las", "edf", "fair-share", "multifactor"};
static const char *const placements[] = {"first-fit", "best-fit", "worst-fit", "pool"};

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof *(array)))
#define HOUR_US (INT64_C(3600) * HR_SECOND_US)

static int64_t below(struct hr__stream *random, int64_t n) {
  return (int64_t)(hr__stream_next(random) % (uint64_t)n);
}

/* ---- Worlds --------------------------------------------------------------------------------------------- */

struct world {
  struct lab lab;
  struct hr_series *series;
  struct hr_electricity electricity;
  struct hr_fault_process process;
  struct hr_fault_spec faults;
  uint32_t n_starts, n_pauses, n_failures;
};

static void draw_series(struct world *world, struct hr__stream *random) {
  int64_t at_us[N_STEPS], micros[N_STEPS], next_us = 0;
  for (uint32_t i = 0; i < N_STEPS; i++) {
    at_us[i] = next_us;
    micros[i] = below(random, 6);
    next_us += HOUR_US / 4 * (1 + below(random, 4));
  }
  world->series = hr_series_create(at_us, micros, N_STEPS, below(random, 2) == 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL(world->series);
  world->electricity = (struct hr_electricity){.carbon = world->series, .carbon_start_us = HR_NEVER_US};
}

static void draw_jobs(struct world *world, struct hr__stream *random) {
  int64_t submit_us = 0;
  for (uint32_t i = 0; i < N_JOBS; i++) {
    int64_t work_us = HR_SECOND_US * (1 + below(random, 9000));
    submit_us += below(random, HOUR_US / 3);
    lab_add_job(&world->lab, (struct lab_job){.submit_us = submit_us,
                                              .work_us = work_us,
                                              .gpus = 1 + (uint32_t)below(random, 7),
                                              .tenant = 1 + (uint32_t)below(random, 2),
                                              .limit_us = below(random, 3) ? work_us + below(random, HOUR_US) : 0,
                                              .deadline_us = submit_us + work_us + below(random, 12 * HOUR_US)});
  }
}

static void draw_cluster(struct world *world, struct hr__stream *random, bool may_fail) {
  lab_add_pool(&world->lab, 3, 4);
  world->lab.pools[0].electricity = &world->electricity;
  world->process = (struct hr_fault_process){
      .between = {HR_DURATION_EXPONENTIAL, 20000, 0},
      .only = {.share = 1, .repair = {HR_DURATION_FIXED, 1000, 0}},
  };
  world->faults = (struct hr_fault_spec){.processes = &world->process, .n_processes = 1};
  if (may_fail) world->lab.pools[0].faults = &world->faults;
  if (below(random, 2)) return;
  world->lab.classes[HR_CLASS_UNKNOWN] = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_INTERVAL,
                                                                .interval_us = HR_SECOND_US * 900,
                                                                .write_us = HR_SECOND_US * below(random, 60),
                                                                .restart_us = HR_SECOND_US * below(random, 600)};
}

static void draw_policy(struct world *world, struct hr__stream *random, bool may_fail) {
  lab_set(&world->lab, "order", orders[below(random, COUNT(orders))]);
  lab_set(&world->lab, "placement", placements[below(random, may_fail ? 3 : 4)]);
  lab_set(&world->lab, "carbon_wait_s", "20000");
  lab_set(&world->lab, "carbon_short_wait_s", "9000");
  lab_set(&world->lab, "carbon_short_s", "1000");
  lab_set(&world->lab, "carbon_deadline", below(random, 2) ? "wait" : "job");
}

static void world_begin(struct world *world, struct hr__stream *random) {
  bool may_fail = below(random, 3) == 0;
  lab_begin(&world->lab);
  world->n_starts = world->n_pauses = world->n_failures = 0;
  draw_series(world, random);
  draw_jobs(world, random);
  draw_cluster(world, random, may_fail);
  draw_policy(world, random, may_fail);
}

static void world_finish(struct world *world) {
  lab_finish(&world->lab);
  hr_series_destroy(world->series);
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct world *world = self;
  (void)view;
  world->n_starts += event->kind == HR_EVENT_START;
  world->n_pauses += event->kind == HR_EVENT_PREEMPT;
  world->n_failures += event->kind == HR_EVENT_INTERRUPT;
}

/* ---- Tests ---------------------------------------------------------------------------------------------- */

/* All jobs complete under every rule with every backfill. */
static void all_combinations_run(void) {
  static struct world world;
  struct hr__stream random;
  uint32_t n_pauses = 0, n_failures = 0;
  hr__stream_init(&random, 3, HR__PURPOSE_SAMPLE, 0, 0);
  for (uint32_t i = 0; i < WORLDS * COUNT(rules) * COUNT(backfills); i++) {
    const char *rule = rules[i % COUNT(rules)], *backfill = backfills[i / COUNT(rules) % COUNT(backfills)];
    world_begin(&world, &random);
    lab_set(&world.lab, "carbon", rule);
    lab_set(&world.lab, "backfill", backfill);
    struct hr_observer observer = {.self = &world, .on_event = on_event};
    bool fine = lab_run(&world.lab, &observer);
    if (!fine) printf("\n  world %u: carbon %s, backfill %s\n", i, rule, backfill);
    CU_ASSERT(fine);
    for (uint32_t job = 0; fine && job < N_JOBS; job++) fine = lab_end_us(&world.lab, job) != HR_NEVER_US;
    CU_ASSERT(fine);
    n_pauses += world.n_pauses;
    n_failures += world.n_failures;
    world_finish(&world);
  }
  CU_ASSERT(n_pauses > 500 && n_failures > 100); /* the worlds must contain all tested cases */
}

/* With enough GPUs and without failures, jobs meet their deadlines, because they would meet them if they started at
   once. This includes restarts after interruptions. `may_fail`: nodes could fail, so jobs write checkpoints, but no
   node fails during the run. */
static void check_deadlines(struct hr__stream *random, const char *rule, bool may_fail, uint32_t *n_pauses) {
  static struct world world;
  const int64_t interval_us = HR_SECOND_US * (300 + below(random, 900)), write_us = HR_SECOND_US * below(random, 100);
  lab_begin(&world.lab);
  world.n_pauses = 0;
  draw_series(&world, random);
  draw_cluster(&world, random, may_fail);
  world.process.between = (struct hr_duration){HR_DURATION_FIXED, 1e9, 0};
  world.process.fresh = true;
  world.lab.pools[0].nodes = N_JOBS;
  world.lab.classes[HR_CLASS_UNKNOWN] = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_INTERVAL,
                                                               .interval_us = interval_us,
                                                               .write_us = write_us,
                                                               .restart_us = HR_SECOND_US * below(random, 120)};
  for (uint32_t i = 0; i < N_JOBS; i++) {
    int64_t work_us = HR_SECOND_US + below(random, 4 * HOUR_US), submit_us = i * HR_SECOND_US;
    int64_t alone_us = work_us + (may_fail ? (work_us - 1) / interval_us * write_us : 0);
    int64_t slack_us = below(random, 4) ? below(random, 12 * HOUR_US) : 0;
    lab_add_job(&world.lab, (struct lab_job){.submit_us = submit_us,
                                             .work_us = work_us,
                                             .gpus = 4,
                                             .deadline_us = submit_us + alone_us + slack_us});
  }
  lab_set(&world.lab, "backfill", "skip");
  lab_set(&world.lab, "carbon", rule);
  lab_set(&world.lab, "carbon_deadline", "job");
  struct hr_observer observer = {.self = &world, .on_event = on_event};
  CU_ASSERT_FATAL(lab_run(&world.lab, &observer));
  for (uint32_t job = 0; job < N_JOBS; job++) {
    int64_t end_us = lab_end_us(&world.lab, job), deadline_us = world.lab.jobs[job].deadline_us;
    if (end_us > deadline_us) printf("\n  %s: job %u is %g s late\n", rule, job, (double)(end_us - deadline_us) / 1e6);
    CU_ASSERT(end_us <= deadline_us);
  }
  *n_pauses += world.n_pauses;
  world_finish(&world);
}

static void deadlines_are_met(void) {
  struct hr__stream random;
  uint32_t n_pauses = 0;
  hr__stream_init(&random, 8, HR__PURPOSE_SAMPLE, 0, 0);
  for (uint32_t i = 0; i < 4 * WORLDS * COUNT(rules); i++)
    check_deadlines(&random, rules[i % COUNT(rules)], i / COUNT(rules) % 2 == 0, &n_pauses);
  CU_ASSERT(n_pauses > 100);
}

TEST_MAIN("carbon in random worlds", TEST(all_combinations_run), TEST(deadlines_are_met))
