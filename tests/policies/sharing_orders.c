/* SPDX-License-Identifier: GPL-3.0-or-later */
/* With shared GPUs, orders count fractions of GPUs. These are small runs computed by hand. In each of them, a different
   job would be first if a fraction counted as a whole GPU. */

#include "harness.h"
#include "lab.h"

#define SECOND HR_SECOND_US

static struct lab lab;

static void begin(const char *order, uint32_t nodes, uint32_t gpus_per_node) {
  lab_begin(&lab);
  lab_add_pool(&lab, nodes, gpus_per_node);
  lab.pools[0].sharing = HR_SHARING_FRACTION;
  lab_set(&lab, "order", order);
}

static uint32_t add(int64_t submit_s, int64_t work_s, uint32_t gpus, uint16_t gpu_milli, uint32_t tenant) {
  struct lab_job job = {.submit_us = submit_s * SECOND,
                        .work_us = work_s * SECOND,
                        .gpus = gpus,
                        .gpu_milli = gpu_milli,
                        .tenant = tenant};
  return lab_add_job(&lab, job);
}

/* Returns whether each job started once, and `first` started before `second`. */
static bool started_before(uint32_t first, uint32_t second) {
  CU_ASSERT_TRUE_FATAL(lab_run(&lab, NULL));
  bool in_turn = lab.result->start_us[first] < lab.result->start_us[second];
  CU_ASSERT_NOT_EQUAL(lab.result->start_us[first], lab.result->start_us[second]);
  lab_finish(&lab);
  return in_turn;
}

/* ---- By size of the request ------------------------------------------------------------------------- */

/* Two jobs of the same tenant with equal run times are submitted at 10 s: one uses 0.4 of each of two GPUs, in total
   0.8 GPUs; the other uses a whole GPU. They do not fit on the two GPUs at the same time. Returns their indices. */
static void begin_sizes(const char *order, uint32_t *spread, uint32_t *whole) {
  begin(order, 1, 2);
  add(0, 10, 2, 1000, 1);
  *whole = add(2, 100, 1, 1000, 1);
  *spread = add(2, 100, 2, 400, 1);
}

static void check_sizes(bool with_quotas) {
  static const struct {
    const char *order;
    bool spread_is_first;
  } cases[] = {{"smallest", true}, {"largest", false}, {"f1", true}, {"wfp3", false}, {"qssf", true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint32_t spread, whole;
    begin_sizes(cases[i].order, &spread, &whole);
    char name[] = "t1";
    if (with_quotas) lab_add_quota(&lab, (struct hr_quota_node){.name = name, .parent = HR_NONE, .is_tenant = true});
    for (uint32_t job = 0; job < lab.n_jobs; job++) lab.jobs[job].estimate_us = lab.jobs[job].work_us;
    bool spread_was_first = started_before(spread, whole);
    if (spread_was_first != cases[i].spread_is_first) printf("\n  %s", cases[i].order);
    CU_ASSERT_EQUAL(spread_was_first, cases[i].spread_is_first);
  }
}

static void size_counts_fractions(void) {
  check_sizes(false);
}

/* With quotas the jobs are in different subqueues. */
static void size_counts_fractions_with_quotas(void) {
  check_sizes(true);
}

/* Relative to the two GPUs of the cluster, the sizes of the jobs are 0.4 and 0.5. */
static void size_factor_counts_fractions(void) {
  for (int favours_small = 0; favours_small < 2; favours_small++) {
    uint32_t spread, whole;
    begin_sizes("multifactor", &spread, &whole);
    lab_set(&lab, "weight_fair_share", "0");
    lab_set(&lab, "favor_small", favours_small ? "true" : "false");
    CU_ASSERT_EQUAL(started_before(spread, whole), favours_small);
  }
}

/* ---- By usage --------------------------------------------------------------------------------------- */

/* For 10 s tenant 1 uses 0.3 of each of two GPUs (6 GPU-seconds), and tenant 2 uses 0.7 of one GPU (7 GPU-seconds).
   Then each tenant submits a job that needs all GPUs. The job of tenant 2 is in the earlier row of the trace. */
static void begin_usages(const char *order, uint32_t *of_1, uint32_t *of_2) {
  begin(order, 1, 2);
  add(0, 10, 2, 300, 1);
  add(0, 10, 1, 700, 2);
  *of_2 = add(5, 10, 2, 1000, 2);
  *of_1 = add(5, 10, 2, 1000, 1);
}

static void usage_counts_fractions(void) {
  static const char *const orders[] = {"fair-share", "multifactor"}, *const rules[] = {"tree", "classic"};
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t of_1, of_2;
    begin_usages(orders[i / 2], &of_1, &of_2);
    lab_set(&lab, "fair_share", rules[i % 2]);
    lab_set(&lab, "calc_period_s", "0");
    CU_ASSERT_TRUE(started_before(of_1, of_2));
  }
}

/* Tenant 1 uses 0.3 of each of two GPUs, and tenant 2 uses 0.7 of one GPU. Each has a waiting job, and only one of
   these jobs fits. */
static void dominant_share_counts_fractions(void) {
  begin("drf", 1, 2);
  add(0, 100, 2, 300, 1);
  add(0, 100, 1, 700, 2);
  add(0, 10, 1, 700, 3);
  uint32_t of_2 = add(5, 10, 1, 700, 2), of_1 = add(5, 10, 1, 700, 1);
  CU_ASSERT_TRUE(started_before(of_1, of_2));
}

/* Tenant 1 uses fractions of eight GPUs, on more than one node, and two tasks with 501 thousandths of a CPU each, in
   total 1,002. Tenant 2 uses one fraction, and 1,001 thousandths of a CPU. CPU is the dominant resource of both
   tenants: the cluster has 8,000 thousandths of a CPU, and of its eight GPUs the tenants use 0.64 and 0.08. */
static void dominant_share_counts_cpu_of_all_tasks(void) {
  begin("drf", 2, 4);
  lab.pools[0].cpu_milli_per_node = 4000;
  lab.jobs[add(0, 100, 8, 80, 1)].cpu_milli = 1001;
  lab.jobs[add(0, 100, 1, 80, 2)].cpu_milli = 1001;
  add(0, 10, 8, 700, 3);
  uint32_t of_1 = add(5, 10, 8, 700, 1), of_2 = add(5, 10, 8, 700, 2);
  CU_ASSERT_TRUE(started_before(of_2, of_1));
}

/* ---- By service ------------------------------------------------------------------------------------- */

/* Adds a pool with one GPU. The pool exists until `to_s`. */
static void add_temporary_pool(int64_t to_s) {
  lab_add_pool(&lab, 1, 1);
  lab.pools[1].sharing = HR_SHARING_FRACTION;
  lab.pools[1].market.market = HR_MARKET_RESERVED;
  lab.pools[1].market.to_us = to_s * SECOND;
}

/* A job with 0.6 GPUs is stopped after 100 s, when its pool ends; its service is 60 GPU-seconds. Then a new job and
   this job wait for the same GPU. A job whose service is equal to the threshold is in the next service queue. */
static void attained_service_counts_fractions(void) {
  static const struct {
    const char *order, *threshold_s;
    bool in_first_queue;
  } cases[] = {{"las", "60.000001", true}, {"las", "60", false}, {"gittins", "1", true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    begin(cases[i].order, 1, 1);
    add_temporary_pool(100);
    lab_set(&lab, "placement", "first-fit");
    lab_set(&lab, "las_threshold_1_s", cases[i].threshold_s);
    add(0, 150, 1, 1000, 1);
    uint32_t stopped = add(0, 200, 1, 600, 1), fresh = add(120, 50, 1, 1000, 1);
    CU_ASSERT_TRUE_FATAL(lab_run(&lab, NULL));
    CU_ASSERT_EQUAL(hr_result_accounting(lab.result, (hr_job){stopped}).attempts, 2);
    CU_ASSERT_EQUAL(lab.result->start_us[fresh] > 150 * SECOND, cases[i].in_first_queue);
    lab_finish(&lab);
  }
}

/*
 * Four of eight jobs with half a GPU run for 20 s, and the other four for 200 s: services of 10 s and 100 s. The index
 * of the level from 64 s on is 4 / (4 x (100 - 64)) = 1/36. The index of the first level is at most 8 / (4 x 10 + 4 x
 * 100) = 1/55. A job with a service of 0.8 x 300 = 240 s therefore precedes a job without service. If fractions counted
 * as whole GPUs, the services would be 20 s and 200 s, and the indices 1/136 and 4 / (4 x 20 + 4 x 64) = 1/84.
 */
static void gittins_index_counts_fractions(void) {
  begin("gittins", 1, 1);
  add_temporary_pool(850);
  lab_set(&lab, "placement", "first-fit");
  uint32_t stopped = 0;
  for (int64_t at_s = 0; at_s < 800; at_s += 20) {
    if (at_s < 80) add(at_s, 20, 1, 500, 1);
    if (at_s % 200 == 0) add(at_s, 200, 1, 500, 1);
    if (at_s == 560) stopped = add(550, 10000, 1, 800, 1);
  }
  add(800, 200, 1, 1000, 1);
  uint32_t fresh = add(860, 10, 1, 1000, 1);
  CU_ASSERT_TRUE_FATAL(lab_run(&lab, NULL));
  CU_ASSERT_EQUAL(hr_result_accounting(lab.result, (hr_job){stopped}).attempts, 2);
  CU_ASSERT_EQUAL(lab.result->start_us[fresh], lab_end_us(&lab, stopped));
  lab_finish(&lab);
}

TEST_MAIN("orders where GPUs are shared", TEST(size_counts_fractions), TEST(size_counts_fractions_with_quotas),
          TEST(size_factor_counts_fractions), TEST(usage_counts_fractions), TEST(dominant_share_counts_fractions),
          TEST(dominant_share_counts_cpu_of_all_tasks), TEST(attained_service_counts_fractions),
          TEST(gittins_index_counts_fractions))
