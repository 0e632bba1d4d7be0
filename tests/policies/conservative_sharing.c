/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conservative backfill with per-GPU allocation: examples with known starts, the same cluster with counted and with
   per-GPU allocation, and partial plans compared with full plans (policies/queue/backfill/conservative.c). */

#include "harness.h"
#include "lab.h"

#include <string.h>

static struct lab lab;

static void begin(uint32_t nodes, uint32_t gpus_per_node, enum hr_sharing sharing) {
  lab_begin(&lab);
  lab_set(&lab, "backfill", "conservative");
  lab_set(&lab, "placement", "first-fit");
  lab_add_pool(&lab, nodes, gpus_per_node);
  lab.pools[0].sharing = sharing;
}

static void add(int64_t submit_us, int64_t limit_us, uint32_t gpus, uint16_t gpu_milli) {
  lab_add_job(
      &lab,
      (struct lab_job){
          .submit_us = submit_us, .work_us = limit_us, .limit_us = limit_us, .gpus = gpus, .gpu_milli = gpu_milli});
}

static void check_starts(const int64_t *start_us, uint32_t n) {
  CU_ASSERT_TRUE_FATAL(lab_run(&lab, NULL));
  for (uint32_t i = 0; i < n; i++) CU_ASSERT_EQUAL(lab.result->start_us[i], start_us[i]);
  lab_finish(&lab);
}

/* One GPU. Job 1 needs the whole GPU and is reserved at 10. Job 2 fits together with job 0 until 10; job 3 is one
   microsecond too long, so it runs after job 1. */
static void fraction_fits_until_reservation(void) {
  begin(1, 1, HR_SHARING_FRACTION);
  add(0, 10, 1, 600);
  add(1, 10, 1, 1000);
  add(2, 8, 1, 400);
  add(2, 9, 1, 400);
  check_starts((int64_t[]){0, 10, 2, 20}, 4);
}

/* Every job has a reservation, not only the first: job 3 would delay job 2, which is second in the queue. */
static void every_job_has_a_reservation(void) {
  begin(1, 2, HR_SHARING_FRACTION);
  add(0, 10, 2, 500);
  add(1, 10, 2, 1000); /* 10 to 20 */
  add(1, 10, 2, 500);  /* fits together with job 0 for 9 microseconds only: 20 to 30 */
  add(2, 20, 1, 600);  /* does not fit together with job 2: 30 */
  add(2, 20, 1, 500);  /* fits together with job 2 */
  check_starts((int64_t[]){0, 10, 20, 30, 20}, 5);
}

/* Two GPUs of a node. A job cannot change its GPUs while it runs. A window in which one GPU is free at each instant is
   therefore not enough, unless it is always the same GPU. With first-fit and whole GPUs, job 0 has GPU 0 until 10, and
   job 1 has GPU 1 until 4. Job 2 needs both GPUs from 10 on. Job 3 (6 us) fits on GPU 1 from 4 on. */
static void window_needs_the_same_gpu(void) {
  begin(1, 2, HR_SHARING_FRACTION);
  add(0, 10, 1, 1000);
  add(0, 4, 1, 1000);
  add(1, 5, 2, 1000);
  add(2, 6, 1, 1000);
  add(2, 7, 1, 1000); /* 1 us too long for the time before job 2 */
  check_starts((int64_t[]){0, 0, 10, 4, 15}, 5);
}

/* MPS with at most 2 tasks per GPU: the number of tasks is limited even if shares are free. */
static void tasks_on_a_gpu_are_limited(void) {
  begin(1, 1, HR_SHARING_MPS);
  lab.pools[0].clients = 2;
  add(0, 10, 1, 100);
  add(0, 20, 1, 100);
  add(1, 5, 1, 100);
  check_starts((int64_t[]){0, 0, 10}, 3);
}

/* ---- Relations between runs ------------------------------------------------------------------------- */

enum { JOBS = 120 };

static void add_random_jobs(struct lab_dice *dice, uint32_t max_gpus) {
  int64_t at_us = 0;
  for (uint32_t i = 0; i < JOBS; i++) {
    at_us += lab_roll(dice, 8);
    int64_t work_us = 1 + lab_roll(dice, 60);
    lab_add_job(&lab, (struct lab_job){.submit_us = at_us,
                                       .work_us = work_us,
                                       .limit_us = work_us + lab_roll(dice, 30),
                                       .gpus = 1 + lab_roll(dice, lab_chance(dice, 70) ? 2 : max_gpus)});
  }
}

static void run_random(uint32_t seed, uint32_t nodes, uint32_t gpus_per_node, const char *placement,
                       enum hr_sharing sharing, int64_t *start_us) {
  struct lab_dice dice = {seed};
  begin(nodes, gpus_per_node, sharing);
  lab_set(&lab, "placement", placement);
  lab_set(&lab, "order", seed % 2 ? "fifo" : "sjf");
  add_random_jobs(&dice, nodes * gpus_per_node);
  CU_ASSERT_TRUE_FATAL(lab_run(&lab, NULL));
  memcpy(start_us, lab.result->start_us, JOBS * sizeof *start_us);
  lab_finish(&lab);
}

/* If nodes have one GPU each, per-GPU allocation and counted allocation have the same starts: the identity of GPUs does
   not matter. The two use different implementations (window plans and capacity profiles). */
static void single_gpu_nodes_equal_counted_nodes(void) {
  static const char *const placements[] = {"first-fit", "best-fit", "worst-fit"};
  static int64_t counted_us[JOBS], per_gpu_us[JOBS];
  for (uint32_t seed = 0; seed < 30; seed++) {
    run_random(seed, 12, 1, placements[seed % 3], HR_SHARING_WHOLE, counted_us);
    run_random(seed, 12, 1, placements[seed % 3], HR_SHARING_FRACTION, per_gpu_us);
    for (uint32_t i = 0; i < JOBS; i++) CU_ASSERT_EQUAL_FATAL(counted_us[i], per_gpu_us[i]);
  }
}

/* ---- Partial and full plans ------------------------------------------------------------------------- */

/* Adds jobs that wait in a long queue: small and large jobs. `overruns`: the limits of some jobs are shorter than
   their run times; otherwise, limits are at least the run times. `shares`: some jobs request a share of a GPU. */
static void add_crowd(struct lab_dice *dice, uint32_t max_gpus, bool shares, bool overruns) {
  uint32_t exact = lab_roll(dice, 101), gap = 1 + lab_roll(dice, 40);
  int64_t at_us = 0;
  for (uint32_t i = 0; i < LAB_JOBS; i++) {
    at_us += lab_roll(dice, gap);
    int64_t work_us = 1 + lab_roll(dice, lab_chance(dice, 80) ? 40 : 400);
    int64_t limit_us = lab_chance(dice, exact) ? work_us : work_us + lab_roll(dice, (uint32_t)(2 * work_us));
    if (overruns && lab_chance(dice, 10)) limit_us = 1 + work_us / 2;
    bool share = shares && lab_chance(dice, 50);
    lab_add_job(&lab, (struct lab_job){.submit_us = at_us,
                                       .work_us = work_us,
                                       .limit_us = limit_us,
                                       .gpus = share ? 1 : 1 + lab_roll(dice, lab_chance(dice, 70) ? 2 : max_gpus),
                                       .gpu_milli = share ? (uint16_t)(100 + 100 * lab_roll(dice, 8)) : 0});
  }
}

/* Runs the jobs of add_crowd. `full`: plans are full, because preemption by priority divides the queue into subqueues.
   All priorities are equal, so no job is preempted. `by_gpu`: per-GPU allocation. */
static void run_crowd(uint32_t seed, bool by_gpu, bool full, int64_t *start_us) {
  static const char *const placements[] = {"first-fit", "best-fit", "worst-fit", "pool"};
  static const char *const orders[] = {"fifo", "sjf", "largest"};
  struct lab_dice dice = {seed};
  uint32_t nodes = 1 + lab_roll(&dice, 5), gpus_per_node = 1 + lab_roll(&dice, 8);
  begin(nodes, gpus_per_node, by_gpu ? HR_SHARING_FRACTION : HR_SHARING_WHOLE);
  lab_set(&lab, "placement", placements[lab_roll(&dice, by_gpu ? 3 : 4)]);
  lab_set(&lab, "order", orders[lab_roll(&dice, 3)]);
  if (lab_chance(&dice, 30)) lab_add_pool(&lab, 2, gpus_per_node);
  add_crowd(&dice, nodes * gpus_per_node, by_gpu, seed % 2);
  if (full) lab_set(&lab, "preemption", "priority");
  CU_ASSERT_TRUE_FATAL(lab_run(&lab, NULL));
  memcpy(start_us, lab.result->start_us, LAB_JOBS * sizeof *start_us);
  lab_finish(&lab);
}

static void partial_plans_equal_full_plans(void) {
  static int64_t partial_us[LAB_JOBS], full_us[LAB_JOBS];
  for (uint32_t seed = 0; seed < 400; seed++) {
    run_crowd(seed, seed % 4 > 1, false, partial_us);
    run_crowd(seed, seed % 4 > 1, true, full_us);
    for (uint32_t i = 0; i < LAB_JOBS; i++) CU_ASSERT_EQUAL_FATAL(partial_us[i], full_us[i]);
  }
}

TEST_MAIN("conservative backfill on shared GPUs", TEST(fraction_fits_until_reservation),
          TEST(every_job_has_a_reservation), TEST(window_needs_the_same_gpu), TEST(tasks_on_a_gpu_are_limited),
          TEST(single_gpu_nodes_equal_counted_nodes), TEST(partial_plans_equal_full_plans))
