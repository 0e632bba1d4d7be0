/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Properties of dominant resource fairness, in cases in which each tenant has many small equal jobs. A tenant has a
 * backlog if some of its jobs wait. A tenant with a backlog gets at least its share of its dominant resource, minus one
 * job for each other tenant. No tenant is ahead of a tenant with a backlog by more than one job. No GPU is idle if a
 * job waits for it. CPU and memory affect the dominant shares, but do not limit which jobs fit, so shares of CPU and
 * memory may exceed 1.
 */

#include "harness.h"
#include "lab.h"

#include <math.h>

enum { CASES = 300, MAX_TENANTS = 5 };

struct backlog {
  struct lab lab;
  struct lab_dice dice;
  uint32_t n_tenants, gpus, n_jobs[MAX_TENANTS + 1];
  struct lab_job kind[MAX_TENANTS + 1];
  double weight[MAX_TENANTS + 1];
  uint32_t running[MAX_TENANTS + 1];
};

static void draw_pool(struct backlog *b) {
  lab_add_pool(&b->lab, 4 + lab_roll(&b->dice, 5), 4 + lab_roll(&b->dice, 5));
  struct hr_pool_spec *pool = &b->lab.pools[0];
  pool->cpu_milli_per_node = lab_chance(&b->dice, 75) ? 1000 * (8 + lab_roll(&b->dice, 64)) : 0;
  pool->mem_mib_per_node = lab_chance(&b->dice, 75) ? UINT64_C(1024) * (32 + lab_roll(&b->dice, 512)) : 0;
  b->gpus = pool->nodes * pool->gpus_per_node;
}

static void draw_tenants(struct backlog *b, bool weighted) {
  b->n_tenants = 2 + lab_roll(&b->dice, MAX_TENANTS - 1);
  for (uint32_t t = 1; t <= b->n_tenants; t++) {
    b->weight[t] = weighted ? 1 + lab_roll(&b->dice, 3) : 1;
    b->kind[t] = (struct lab_job){.work_us = 1000 * HR_SECOND_US,
                                  .gpus = 1,
                                  .tenant = t,
                                  .cpu_milli = 500 * lab_roll(&b->dice, 12),
                                  .mem_mib = 1024 * lab_roll(&b->dice, 40)};
    const char *name = lab_tenant_name(t);
    struct hr_quota_node node = {.parent = HR_NONE, .is_tenant = true, .weight = b->weight[t]};
    node.name = (char *)(uintptr_t)name; /* the name is not modified */
    if (weighted) lab_add_quota(&b->lab, node);
  }
}

/* Draws jobs of all tenants in random order. Some tenants request less than their share. */
static void draw_jobs(struct backlog *b) {
  for (uint32_t i = 0; i < LAB_JOBS - 1; i++) {
    uint32_t t = 1 + lab_roll(&b->dice, b->n_tenants);
    if (b->n_jobs[t] >= b->gpus || (t == 1 && b->n_jobs[t] >= 3)) continue;
    b->n_jobs[t]++;
    lab_add_job(&b->lab, b->kind[t]);
  }
}

/* Returns the dominant share of a tenant with `n_jobs` running jobs, divided by its weight. */
static double share(const struct backlog *b, uint32_t t, uint32_t n_jobs) {
  const struct hr_pool_spec *pool = &b->lab.pools[0];
  double nodes = pool->nodes, dominant = (double)n_jobs / b->gpus;
  if (pool->cpu_milli_per_node)
    dominant = fmax(dominant, (double)n_jobs * b->kind[t].cpu_milli / (nodes * pool->cpu_milli_per_node));
  if (pool->mem_mib_per_node)
    dominant = fmax(dominant, (double)n_jobs * (double)b->kind[t].mem_mib / (nodes * (double)pool->mem_mib_per_node));
  return dominant / b->weight[t];
}

/* Each other tenant can be ahead by at most one job, which uses one GPU. Subtract one GPU for each other
   tenant. A tenant with a backlog has its share of the remaining GPUs, or it has such a share of another resource. */
static void check_shares(const struct backlog *b) {
  double weights = 0;
  for (uint32_t t = 1; t <= b->n_tenants; t++) weights += b->weight[t];
  for (uint32_t t = 1; t <= b->n_tenants; t++) {
    if (b->running[t] == b->n_jobs[t]) continue; /* no backlog */
    CU_ASSERT_FATAL(share(b, t, b->running[t]) >= (1 - (b->n_tenants - 1.0) / b->gpus) / weights - 1e-9);
    for (uint32_t other = 1; other <= b->n_tenants; other++)
      if (b->running[other] > 0)
        CU_ASSERT_FATAL(share(b, other, b->running[other] - 1) <= share(b, t, b->running[t]) + 1e-9);
  }
}

static void check_backlog(uint32_t number, bool weighted) {
  static const char *const backfills[] = {"strict", "skip", "easy", "conservative"};
  static struct backlog b;
  b = (struct backlog){.dice = {number * 31 + 7 + weighted}};
  lab_begin(&b.lab);
  draw_pool(&b);
  draw_tenants(&b, weighted);
  draw_jobs(&b);
  lab_set(&b.lab, "order", "drf");
  lab_set(&b.lab, "backfill", backfills[number % 4]);
  lab_set(&b.lab, "placement", number % 3 ? "best-fit" : "pool");
  b.lab.horizon_us = HR_SECOND_US;
  CU_ASSERT_TRUE_FATAL(lab_run(&b.lab, NULL));
  uint32_t n_running = 0;
  for (uint32_t i = 0; i < b.lab.n_jobs; i++)
    if (b.lab.result->state[i] == HR_JOB_RUNNING) b.running[b.lab.jobs[i].tenant]++, n_running++;
  CU_ASSERT_EQUAL_FATAL(n_running, b.gpus < b.lab.n_jobs ? b.gpus : b.lab.n_jobs);
  check_shares(&b);
  lab_finish(&b.lab);
}

static void equal_tenants_share_equally(void) {
  for (uint32_t number = 0; number < CASES; number++) check_backlog(number, false);
}

static void weighted_tenants_share_by_weight(void) {
  for (uint32_t number = 0; number < CASES; number++) check_backlog(number, true);
}

/* Ten GPUs. Tenant 1 is served first and has a very small weight, so its share with one job exceeds the share of tenant
   2 with any number of jobs. Tenant 1 gets one GPU, and tenant 2 gets nine. */
static void one_job_of_a_tenant_with_small_weight(void) {
  struct lab lab;
  lab_begin(&lab);
  lab_add_pool(&lab, 1, 10);
  char name[] = "t1";
  lab_add_quota(&lab, (struct hr_quota_node){.name = name, .parent = HR_NONE, .is_tenant = true, .weight = 1e-5});
  for (uint32_t i = 0; i < 20; i++)
    lab_add_job(&lab, (struct lab_job){.work_us = 1000 * HR_SECOND_US, .gpus = 1, .tenant = 1 + i / 10});
  lab_set(&lab, "order", "drf");
  lab.horizon_us = HR_SECOND_US;
  CU_ASSERT_TRUE_FATAL(lab_run(&lab, NULL));
  for (uint32_t i = 1; i < 20; i++)
    CU_ASSERT_EQUAL(lab.result->state[i], i > 9 && i < 19 ? HR_JOB_RUNNING : HR_JOB_WAITING);
  lab_finish(&lab);
}

TEST_MAIN("dominant resource fairness", TEST(equal_tenants_share_equally), TEST(weighted_tenants_share_by_weight),
          TEST(one_job_of_a_tenant_with_small_weight))
