/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Quotas in runs of the queue policy, with random trees and loads. The stream of events is checked after every
 * start. No tenant or cohort exceeds its maximum, or the sum of its guarantee and its borrowing limit. A job is
 * rejected if and only if it is larger than the largest possible job of its tenant. When the largest possible job is
 * computed, capacity that a tenant or cohort does not lend counts only for jobs of that tenant or cohort. No job
 * within the guarantee of its tenant waits while GPUs of that tenant are lent to jobs that may be preempted.
 */

#include "harness.h"
#include "lab.h"

#include <string.h>

enum { CASES = 60, TENANTS = 6 };

static const char *const orders[] = {"fifo", "sjf",  "priority", "srtf", "las",        "gittins",    "edf",
                                     "f1",   "wfp3", "qssf",     "drf",  "fair-share", "multifactor"};
static const char *const backfills[] = {"strict", "skip", "easy", "conservative"};
static const char *const preemptions[] = {"none", "reclaim", "priority", "auto"};
enum { ORDERS = sizeof orders / sizeof *orders };

struct watch {
  const struct lab *lab;
  bool by_count, reclaims, checks_waiting;
  int64_t min_run_us;
  uint64_t used_milli[TENANTS + 1]; /* element 0: jobs without a tenant */
  int64_t since_us[LAB_JOBS];
  bool runs[LAB_JOBS];
  uint32_t faults, n_borrowing, n_stopped, n_over;
};

static void report_fault(struct watch *w, const char *words, uint32_t who, int64_t now_us) {
  if (w->faults++ < 3) printf("\n%u at %lld us: %s", (unsigned)who, (long long)now_us, words);
}

/* ---- The tree, evaluated from the root -------------------------------------------------------------- */

static bool is_of(const struct lab *lab, uint32_t tenant, uint32_t node) {
  const struct hr_quota_node *nodes = lab->quotas.nodes;
  return tenant && nodes[node].is_tenant && strcmp(nodes[node].name, lab_tenant_name(tenant)) == 0;
}

/* Returns the node of a tenant; HR_NONE if the tenant is not in the quota spec. */
static uint32_t node_of(const struct lab *lab, uint32_t tenant) {
  for (uint32_t i = 0; i < lab->quotas.n_nodes; i++)
    if (is_of(lab, tenant, i)) return i;
  return HR_NONE;
}

static bool is_below(const struct lab *lab, uint32_t node, uint32_t above) {
  while (node != HR_NONE && node != above) node = lab->quotas.nodes[node].parent;
  return node == above;
}

/* Returns the usage at a node and below it. */
static uint64_t used_below(const struct watch *w, uint32_t node) {
  uint64_t used = 0;
  for (uint32_t t = 1; t <= TENANTS; t++) {
    uint32_t leaf = node_of(w->lab, t);
    if (leaf != HR_NONE && is_below(w->lab, leaf, node)) used += w->used_milli[t];
  }
  return used;
}

/* Returns the sum of guarantees at a node and below it. */
static uint64_t guaranteed_below(const struct lab *lab, uint32_t node) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < lab->quotas.n_nodes; i++)
    if (is_below(lab, i, node)) sum += lab->quotas.nodes[i].guaranteed_milli;
  return sum;
}

/* The borrowing limit of a node is added to the sum of all guarantees at the node and below it. Lending limits are
   ignored here, because they can only reduce the available capacity. */
static void check_limits(struct watch *w, int64_t now_us) {
  for (uint32_t i = 0; i < w->lab->quotas.n_nodes; i++) {
    const struct hr_quota_node *node = &w->lab->quotas.nodes[i];
    uint64_t used = used_below(w, i), guaranteed = guaranteed_below(w->lab, i);
    w->n_borrowing += used > guaranteed;
    if (used > node->max_milli) report_fault(w, "is above its cap", i, now_us);
    if (node->borrow_milli != HR_NO_LIMIT && used > guaranteed + node->borrow_milli)
      report_fault(w, "has borrowed more than it may", i, now_us);
  }
}

/* ---- Events ----------------------------------------------------------------------------------------- */

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct watch *w = self;
  uint32_t job = event->job.id;
  (void)view;
  bool starts = event->kind == HR_EVENT_START;
  bool stopped = event->kind == HR_EVENT_PREEMPT || event->kind == HR_EVENT_INTERRUPT;
  bool stops = stopped || event->kind == HR_EVENT_END;
  if (event->kind == HR_EVENT_REJECT) w->n_over += event->reason == HR_REASON_OVER_QUOTA;
  if (!starts && !stops) return;
  uint64_t *used = &w->used_milli[w->lab->jobs[job].tenant], milli = w->lab->jobs[job].gpus * UINT64_C(1000);
  w->n_stopped += stopped;
  *used = starts ? *used + milli : *used - milli;
  w->runs[job] = starts;
  if (starts) w->since_us[job] = event->at_us;
  if (starts && milli) check_limits(w, event->at_us);
}

/* Returns the number of GPUs (in thousandths) that a tenant within its guarantee can get by preemption: the GPUs of
   jobs of tenants that exceed their guarantees, for each tenant at most the excess. Called only in flat cases (see
   draw_tree): all tenants are children of the root, and there are no lending limits. */
static uint64_t preemptible_milli(const struct watch *w, uint32_t tenant, int64_t now_us) {
  uint64_t sum = 0;
  for (uint32_t t = 1; t <= TENANTS; t++) {
    uint64_t guaranteed = w->lab->quotas.nodes[node_of(w->lab, t)].guaranteed_milli, may_stop = 0;
    if (t == tenant || w->used_milli[t] <= guaranteed) continue;
    for (uint32_t i = 0; i < w->lab->n_jobs; i++) {
      const struct lab_job *job = &w->lab->jobs[i];
      bool old = now_us - w->since_us[i] >= w->min_run_us && w->since_us[i] < now_us;
      if (w->runs[i] && job->tenant == t && old && !(job->flags & HR_JOB_NOT_INTERRUPTIBLE))
        may_stop += job->gpus * UINT64_C(1000);
    }
    uint64_t beyond = w->used_milli[t] - guaranteed;
    sum += may_stop < beyond ? may_stop : beyond;
  }
  return sum;
}

static void check_waiting_jobs(void *self, const struct hr_view *view) {
  struct watch *w = self;
  uint64_t free_milli = view->total_milli - view->allocated_milli;
  for (uint32_t i = 0; i < w->lab->n_jobs && w->checks_waiting; i++) {
    const struct lab_job *job = &w->lab->jobs[i];
    if (view->state[i] != HR_JOB_WAITING) continue;
    const struct hr_quota_node *node = &w->lab->quotas.nodes[node_of(w->lab, job->tenant)];
    uint64_t with = w->used_milli[job->tenant] + job->gpus * UINT64_C(1000);
    if (with > node->guaranteed_milli || with > node->max_milli) continue;
    if (free_milli + preemptible_milli(w, job->tenant, view->now_us) >= job->gpus * UINT64_C(1000))
      report_fault(w, "waits although it is within its guarantee", i, view->now_us);
  }
}

/* ---- Cases ------------------------------------------------------------------------------------------ */

static const char *cohort_names[] = {"c1", "c2", "c3"};

static uint64_t roll_limit(struct lab_dice *dice, uint32_t percent, uint32_t maximum) {
  return lab_chance(dice, percent) ? (1 + lab_roll(dice, maximum)) * UINT64_C(1000) : HR_NO_LIMIT;
}

/* Draws a tree whose guarantees do not exceed the cluster. `flat`: there are no cohorts, all tenants are in the spec,
   and the only limits are maxima. */
static void draw_tree(struct lab *lab, struct lab_dice *dice, uint32_t gpus, bool flat) {
  uint32_t n_cohorts = flat ? 0 : lab_roll(dice, 4), left = gpus;
  for (uint32_t i = 0; i < n_cohorts + TENANTS; i++) {
    bool is_tenant = i >= n_cohorts;
    if (is_tenant && !flat && lab_chance(dice, 15)) continue;
    uint32_t cohorts_before = is_tenant ? n_cohorts : i, guaranteed = lab_roll(dice, left / 2 + 1);
    bool at_root = cohorts_before == 0 || lab_chance(dice, 25);
    left -= guaranteed;
    const char *name = is_tenant ? lab_tenant_name(i - n_cohorts + 1) : cohort_names[i];
    struct hr_quota_node node = {.parent = at_root ? HR_NONE : lab_roll(dice, cohorts_before),
                                 .is_tenant = is_tenant,
                                 .guaranteed_milli = guaranteed * UINT64_C(1000),
                                 .borrow_milli = flat ? HR_NO_LIMIT : roll_limit(dice, 30, gpus / 2 + 1),
                                 .lend_milli = flat ? HR_NO_LIMIT : roll_limit(dice, 20, 4),
                                 .max_milli = roll_limit(dice, 25, gpus),
                                 .weight = 1 + lab_roll(dice, 3)};
    if (flat && node.max_milli < node.guaranteed_milli) node.max_milli = node.guaranteed_milli;
    memcpy(&node.name, &name, sizeof name); /* the name is not modified */
    lab_add_quota(lab, node);
  }
}

static void draw_jobs(struct lab *lab, struct lab_dice *dice, uint32_t gpus, bool flat) {
  uint32_t n_jobs = 20 + lab_roll(dice, 60);
  int64_t at_us = 0;
  for (uint32_t i = 0; i < n_jobs; i++) {
    at_us += lab_chance(dice, 40) ? 0 : lab_roll(dice, 3000000);
    struct lab_job job = {.submit_us = at_us,
                          .work_us = lab_chance(dice, 5) ? 0 : 1 + lab_roll(dice, 30000000),
                          .gpus = lab_chance(dice, 70) ? 1 + lab_roll(dice, 3) : 1 + lab_roll(dice, gpus),
                          .priority = (int32_t)lab_roll(dice, 3),
                          .tenant = flat ? 1 + lab_roll(dice, TENANTS) : lab_roll(dice, TENANTS + 1),
                          .user = lab_roll(dice, 4),
                          .flags = lab_chance(dice, 10) ? HR_JOB_NOT_INTERRUPTIBLE : 0};
    job.limit_us = lab_chance(dice, 70) ? job.work_us + lab_roll(dice, 20000000) : 0;
    job.deadline_us = lab_chance(dice, 70) ? at_us + lab_roll(dice, 60000000) + 1 : 0;
    if (job.gpus > gpus) job.gpus = gpus;
    if (lab_chance(dice, 3)) job.gpus = 0;
    lab_add_job(lab, job);
  }
}

static uint64_t subtree(const struct lab *lab, uint32_t node) {
  uint64_t sum = lab->quotas.nodes[node].guaranteed_milli;
  for (uint32_t i = node + 1; i < lab->quotas.n_nodes; i++)
    if (lab->quotas.nodes[i].parent == node) {
      uint64_t of = subtree(lab, i), lends = lab->quotas.nodes[i].lend_milli;
      sum += of < lends ? of : lends;
    }
  return sum;
}

/* Returns the capacity that the root can distribute: all GPUs, minus those that the nodes of the tree do not lend. */
static uint64_t root_milli(const struct lab *lab, uint64_t total_milli) {
  for (uint32_t i = 0; i < lab->quotas.n_nodes; i++) {
    uint64_t of = subtree(lab, i), lends = lab->quotas.nodes[i].lend_milli;
    if (of > lends) total_milli -= of - lends;
  }
  return total_milli;
}

/* Returns the amount that a tenant could use on an empty cluster, without maxima. It is computed from the leaf upwards,
   as in Kueue (potentialAvailable). */
static uint64_t potential(const struct lab *lab, uint32_t node, uint64_t total_milli) {
  if (node == HR_NONE) return root_milli(lab, total_milli);
  const struct hr_quota_node *at = &lab->quotas.nodes[node];
  uint64_t of = subtree(lab, node), kept = of > at->lend_milli ? of - at->lend_milli : 0;
  uint64_t maximum = kept + potential(lab, at->parent, total_milli);
  return at->borrow_milli != HR_NO_LIMIT && maximum > of + at->borrow_milli ? of + at->borrow_milli : maximum;
}

/* Returns the amount that a tenant could use on an empty cluster. It is the result of potential(), limited by the
   maxima of the nodes on the path. A maximum applies to all usage at its node and below it. */
static uint64_t limited_potential(const struct lab *lab, uint32_t node, uint64_t total_milli) {
  uint64_t maximum = potential(lab, node, total_milli);
  for (; node != HR_NONE; node = lab->quotas.nodes[node].parent)
    if (maximum > lab->quotas.nodes[node].max_milli) maximum = lab->quotas.nodes[node].max_milli;
  return maximum;
}

/* Checks that all jobs have ended, and that exactly those jobs were rejected that request more than their tenant could
   use on an empty cluster. */
static void check_ends(const struct lab *lab, uint32_t gpus) {
  for (uint32_t i = 0; i < lab->n_jobs; i++) {
    uint64_t milli = lab->jobs[i].gpus * UINT64_C(1000);
    uint32_t node = node_of(lab, lab->jobs[i].tenant);
    bool hopeless = milli > limited_potential(lab, node, gpus * UINT64_C(1000));
    CU_ASSERT_EQUAL_FATAL(lab->result->state[i], hopeless ? HR_JOB_REJECTED : HR_JOB_COMPLETED);
    if (hopeless) CU_ASSERT_EQUAL_FATAL(lab->result->reason[i], HR_REASON_OVER_QUOTA);
  }
}

struct totals {
  uint32_t n_borrowing, n_stopped, n_over;
};

static void check_case(uint32_t number, const char *order, bool flat, struct totals *totals) {
  static struct lab lab;
  static struct watch watch;
  struct lab_dice dice = {number * 104729 + 5};
  const char *preemption = flat ? "reclaim" : preemptions[lab_roll(&dice, 4)];
  const char *backfill = backfills[flat ? 1 + lab_roll(&dice, 3) : lab_roll(&dice, 4)];
  char text[16];
  lab_begin(&lab);
  lab_add_pool(&lab, 1 + lab_roll(&dice, 5), 1 + lab_roll(&dice, 8));
  uint32_t gpus = lab.pools[0].nodes * lab.pools[0].gpus_per_node, min_run_s = lab_roll(&dice, 2) * lab_roll(&dice, 9);
  snprintf(text, sizeof text, "%u", (unsigned)min_run_s);
  draw_tree(&lab, &dice, gpus, flat);
  draw_jobs(&lab, &dice, gpus, flat);
  watch = (struct watch){.lab = &lab,
                         .by_count = flat || lab_chance(&dice, 50),
                         .reclaims = strcmp(preemption, "reclaim") == 0,
                         .checks_waiting = flat,
                         .min_run_us = min_run_s * HR_SECOND_US};
  lab_set(&lab, "order", order);
  lab_set(&lab, "backfill", backfill);
  lab_set(&lab, "placement", watch.by_count ? "pool" : "best-fit");
  lab_set(&lab, "preemption", preemption);
  lab_set(&lab, "min_run_s", text);
  lab_set(&lab, "grace_s", !flat && lab_chance(&dice, 30) ? "3" : "0");
  struct hr_observer observer = {&watch, on_event, check_waiting_jobs};
  bool ok = lab.quotas.n_nodes == 0 || lab_run(&lab, &observer);
  if (!ok || watch.faults)
    printf("\ncase %u: %s, %s, %s, %s\n", (unsigned)number, order, backfill, watch.by_count ? "pool" : "best-fit",
           preemption);
  CU_ASSERT_TRUE_FATAL(ok && watch.faults == 0);
  if (lab.result) check_ends(&lab, gpus);
  totals->n_borrowing += watch.n_borrowing;
  totals->n_stopped += watch.n_stopped;
  totals->n_over += watch.n_over;
  lab_finish(&lab);
}

static void limits_are_not_exceeded(void) {
  struct totals totals = {0};
  for (uint32_t number = 0; number < CASES; number++)
    for (uint32_t o = 0; o < ORDERS; o++) check_case(number * ORDERS + o, orders[o], false, &totals);
  CU_ASSERT(totals.n_borrowing > CASES && totals.n_stopped > CASES && totals.n_over > CASES);
}

static void guaranteed_jobs_do_not_wait(void) {
  struct totals totals = {0};
  for (uint32_t number = 0; number < CASES; number++)
    for (uint32_t o = 0; o < ORDERS; o++) check_case(number * ORDERS + o, orders[o], true, &totals);
  CU_ASSERT(totals.n_borrowing > CASES && totals.n_stopped > CASES);
}

/* Tenants 1 and 2 are guaranteed four GPUs each, which is also the maximum of tenant 1. Tenant 1 uses three GPUs, and a
   further job of tenant 1 waits for two GPUs. Then two jobs arrive that request the last free GPU: a job of tenant 1,
   within its guarantee, and a shorter job of tenant 2, which would borrow. The job of tenant 1 starts first. */
static void guaranteed_job_passes_job_held_back(void) {
  struct lab lab;
  lab_begin(&lab);
  lab_add_pool(&lab, 1, 8);
  char first[] = "t1", second[] = "t2";
  lab_add_quota(&lab,
                (struct hr_quota_node){
                    .name = first, .parent = HR_NONE, .is_tenant = true, .guaranteed_milli = 4000, .max_milli = 4000});
  lab_add_quota(&lab,
                (struct hr_quota_node){.name = second, .parent = HR_NONE, .is_tenant = true, .guaranteed_milli = 4000});
  const int64_t s = HR_SECOND_US;
  lab_add_job(&lab, (struct lab_job){.work_us = 1000 * s, .gpus = 3, .tenant = 1});
  lab_add_job(&lab, (struct lab_job){.work_us = 1000 * s, .gpus = 4, .tenant = 2});
  lab_add_job(&lab, (struct lab_job){.submit_us = 10 * s, .work_us = 100 * s, .gpus = 2, .tenant = 1});
  lab_add_job(&lab, (struct lab_job){.submit_us = 20 * s, .work_us = 50 * s, .gpus = 1, .tenant = 1});
  lab_add_job(&lab, (struct lab_job){.submit_us = 20 * s, .work_us = 10 * s, .gpus = 1, .tenant = 2});
  lab_set(&lab, "order", "sjf");
  lab_set(&lab, "backfill", "strict");
  CU_ASSERT_TRUE_FATAL(lab_run(&lab, NULL));
  CU_ASSERT_EQUAL(lab.result->start_us[3], 20 * s);
  CU_ASSERT_EQUAL(lab.result->start_us[4], 70 * s);
  CU_ASSERT_EQUAL(lab.result->start_us[2], 1000 * s);
  lab_finish(&lab);
}

/* A job waits for two GPUs of one node. Two nodes have one free GPU each for later jobs, but the tenant of the later
   jobs may use only one GPU. */
static void plan_respects_quota_of_started_jobs(void) {
  struct lab lab;
  lab_begin(&lab);
  lab_add_pool(&lab, 2, 4);
  char name[] = "t2";
  lab_add_quota(&lab, (struct hr_quota_node){.name = name, .parent = HR_NONE, .is_tenant = true, .max_milli = 1000});
  const int64_t s = HR_SECOND_US;
  for (int i = 0; i < 2; i++) lab_add_job(&lab, (struct lab_job){.work_us = 100 * s, .gpus = 3, .tenant = 1});
  lab_add_job(&lab, (struct lab_job){.work_us = 100 * s, .gpus = 2, .tenant = 1});
  for (int i = 0; i < 2; i++) lab_add_job(&lab, (struct lab_job){.work_us = 10 * s, .gpus = 1, .tenant = 2});
  for (int i = 0; i < 2; i++) {
    lab_set(&lab, "backfill", i ? "easy" : "conservative");
    CU_ASSERT_TRUE_FATAL(lab_run(&lab, NULL));
    CU_ASSERT_EQUAL(lab.result->start_us[2], 100 * s);
    CU_ASSERT_EQUAL(lab.result->start_us[3], 0);
    CU_ASSERT_EQUAL(lab.result->start_us[4], 10 * s);
  }
  lab_finish(&lab);
}

TEST_MAIN("quotas in runs", TEST(plan_respects_quota_of_started_jobs), TEST(guaranteed_job_passes_job_held_back),
          TEST(limits_are_not_exceeded), TEST(guaranteed_jobs_do_not_wait))
