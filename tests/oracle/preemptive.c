/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares Headroom's preemptive orders (srtf, las, gittins) with the naive scheduler of naive_preemptive.h, on small
 * random clusters and on a real trace with too few GPUs. For each job, the first start, the end and the numbers of
 * starts and preemptions must be equal. If they differ, the test removes jobs while the difference persists, and prints
 * the reduced case.
 */

#include "harness.h"
#include "helios_case.h"
#include "preemptive_case.h"

#include <inttypes.h>
#include <string.h>

enum { CASES = 1000 };
enum { HELIOS_JOBS = 3000, HELIOS_NODES = 16 };

/* Runs both schedulers and returns whether any outcome differs. `print`: also prints the case and both outcomes. */
static bool differs(const struct replay_case *workload, const struct preemptive_rules *rules, bool print) {
  struct preemptive_outcome naive = preemptive_naive(workload, rules),
                            headroom = preemptive_headroom(workload, rules, true);
  bool different = preemptive_first_difference(&naive, &headroom) != HR_NONE;
  if (print) preemptive_print(workload, rules, &naive, &headroom);
  preemptive_outcome_finish(&naive);
  preemptive_outcome_finish(&headroom);
  return different;
}

/* Reduces a case in which the outcomes differ: removes jobs until the outcomes would be equal if any one of the
   remaining jobs were removed. */
static void shrink(struct replay_case *workload, const struct preemptive_rules *rules) {
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (uint32_t i = workload->n_jobs; i-- > 0 && workload->n_jobs > 1;) {
      struct replay_job removed = workload->jobs[i], *at = &workload->jobs[i];
      size_t after = (--workload->n_jobs - i) * sizeof *at;
      memmove(at, at + 1, after);
      bool still = differs(workload, rules, false);
      smaller = smaller || still;
      if (still) continue;
      memmove(at + 1, at, after);
      *at = removed;
      workload->n_jobs++;
    }
  }
}

static void compare_on_random_clusters(enum naive_preemptive_order order, bool preempts) {
  for (uint32_t number = 0; number < CASES; number++) {
    struct replay_job jobs[PREEMPTIVE_MAX_JOBS];
    struct replay_case workload = {.jobs = jobs};
    struct preemptive_rules rules = {.order = order, .preempts = preempts};
    preemptive_random(number, number % PREEMPTIVE_GRAINS, &workload, &rules);
    if (!differs(&workload, &rules, false)) continue;
    shrink(&workload, &rules);
    printf("\nrandom case %" PRIu32 ":", number);
    differs(&workload, &rules, true);
    CU_FAIL_FATAL("Headroom and the naive scheduler differ");
  }
}

static void srtf_on_random_clusters(void) {
  compare_on_random_clusters(NAIVE_SRTF, true);
}

static void las_on_random_clusters(void) {
  compare_on_random_clusters(NAIVE_LAS, true);
}

static void gittins_on_random_clusters(void) {
  compare_on_random_clusters(NAIVE_PREEMPTIVE_GITTINS, true);
}

static void srtf_without_preemption_on_random_clusters(void) {
  compare_on_random_clusters(NAIVE_SRTF, false);
}

static void las_without_preemption_on_random_clusters(void) {
  compare_on_random_clusters(NAIVE_LAS, false);
}

static void gittins_without_preemption_on_random_clusters(void) {
  compare_on_random_clusters(NAIVE_PREEMPTIVE_GITTINS, false);
}

/* Verifies that the comparison can fail: job 1 preempts job 0 only if the order is preemptive. */
static void different_outcomes_are_found(void) {
  struct replay_job jobs[] = {
      {.submit = 0, .work = 10, .limit = -1, .estimate = -1, .gpus = 1},
      {.submit = 2, .work = 3, .limit = -1, .estimate = -1, .gpus = 1},
  };
  struct replay_case workload = {.jobs = jobs, .n_jobs = 2, .pools = {{.shape = {1, 1}}}, .n_pools = 1};
  struct preemptive_rules rules = {.order = NAIVE_SRTF, .preempts = true, .thresholds_us = PREEMPTIVE_DEFAULTS};
  struct preemptive_rules not_preemptive = rules;
  not_preemptive.preempts = false;
  struct preemptive_outcome naive = preemptive_naive(&workload, &rules);
  struct preemptive_outcome same = preemptive_headroom(&workload, &rules, true);
  struct preemptive_outcome other = preemptive_headroom(&workload, &not_preemptive, true);
  CU_ASSERT_FALSE(same.failed);
  CU_ASSERT_FALSE(other.failed);
  CU_ASSERT_EQUAL(preemptive_first_difference(&naive, &same), HR_NONE);
  CU_ASSERT_EQUAL(preemptive_first_difference(&naive, &other), 0);
  CU_ASSERT_EQUAL(naive.job[1].end, 5);
  CU_ASSERT_EQUAL(other.job[1].end, 13);
  preemptive_outcome_finish(&naive);
  preemptive_outcome_finish(&same);
  preemptive_outcome_finish(&other);
}

static void compare_on_helios(const struct replay_case *workload, const struct preemptive_rules *rules) {
  struct preemptive_outcome naive = preemptive_naive(workload, rules),
                            headroom = preemptive_headroom(workload, rules, true);
  uint32_t job = preemptive_first_difference(&naive, &headroom), preemptions = 0;
  for (uint32_t i = 0; i < naive.n_jobs; i++) preemptions += naive.job[i].preemptions;
  printf("\n    %s, %s: %" PRIu32 " preemptions", (const char *[]){"srtf", "las", "gittins"}[rules->order],
         rules->preempts ? "preemptive" : "not preemptive", preemptions);
  if (headroom.failed)
    printf(": Headroom failed: %s", headroom.error.text);
  else if (job != HR_NONE)
    printf(": job %" PRIu32 " starts at %" PRId64 " and ends at %" PRId64 ", Headroom: %" PRId64 " and %" PRId64, job,
           naive.job[job].start, naive.job[job].end, headroom.job[job].start, headroom.job[job].end);
  CU_ASSERT_EQUAL(job, HR_NONE);
  CU_ASSERT(rules->preempts ? preemptions > HELIOS_JOBS / 10 : preemptions == 0);
  preemptive_outcome_finish(&naive);
  preemptive_outcome_finish(&headroom);
}

static void equal_outcomes_on_helios(void) {
  struct replay_case workload;
  if (!helios_read(&workload, HELIOS_NODES)) return;
  workload.n_jobs = HELIOS_JOBS;
  for (uint32_t r = 0; r < 2 * NAIVE_PREEMPTIVE_ORDERS; r++) {
    struct preemptive_rules rules = {.order = r % NAIVE_PREEMPTIVE_ORDERS,
                                     .preempts = r < NAIVE_PREEMPTIVE_ORDERS,
                                     .defaults = true,
                                     .thresholds_us = PREEMPTIVE_DEFAULTS};
    compare_on_helios(&workload, &rules);
  }
  free(workload.jobs);
}

TEST_MAIN("oracle preemptive", TEST(different_outcomes_are_found), TEST(srtf_on_random_clusters),
          TEST(las_on_random_clusters), TEST(gittins_on_random_clusters),
          TEST(gittins_without_preemption_on_random_clusters), TEST(srtf_without_preemption_on_random_clusters),
          TEST(las_without_preemption_on_random_clusters), TEST(equal_outcomes_on_helios))
