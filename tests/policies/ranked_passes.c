/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the fast passes of preemptive orders (las, gittins, srtf) with plain passes on small random clusters.
 *
 * Passes by rank omit jobs that must be refused (ranked.c), but not if there are quotas. Passes of the backfill `easy`
 * are omitted if nothing has changed (backfill.c), but not if failed nodes are excluded. Each case therefore runs
 * twice. The second run has a quota for a tenant without jobs or, with `easy`, excludes failed nodes, although no node
 * fails. All events must be the same.
 */

#include "harness.h"
#include "lab.h"

/* In some of the first cases, jobs run beyond their limits, so that the reserved time of the head passes without an
   event. In the last cases, some jobs end when they start, so that there are several passes at one instant. */
enum { FIRST_CASE = 300, FIRST_INSTANT_CASE = 340, CASES = 60, MAX_EVENTS = 40000 };

static const char *const orders[] = {"las", "gittins", "srtf"};
static const char *const backfills[] = {"skip", "easy"};
static const char *const placements[] = {"best-fit", "first-fit", "worst-fit"};
static const char *const accountings[] = {"auto", "requeue", "kill"};

/* The members of an event that are compared. */
struct seen {
  int64_t at_us;
  uint32_t kind, reason, job, pool, node;
};

struct log {
  struct seen events[MAX_EVENTS];
  uint32_t n_events, n_preemptions;
};

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct log *log = self;
  (void)view;
  if (event->kind == HR_EVENT_PREEMPT) log->n_preemptions++;
  if (event->kind == HR_EVENT_TIMER || log->n_events == MAX_EVENTS) return;
  const struct hr_placement *placement = event->kind == HR_EVENT_START ? event->placement : NULL;
  struct seen *seen = &log->events[log->n_events++];
  *seen = (struct seen){event->at_us, event->kind, event->reason, event->job.id, HR_NONE, HR_NONE};
  if (placement) seen->pool = placement->pool.id;
  for (uint32_t i = 0; placement && i < placement->n_slices; i++)
    seen->node = seen->node * 31 + placement->slices[i].node.id * 64 + placement->slices[i].gpu_milli / 1000;
}

static void draw_jobs(struct lab *lab, struct lab_dice *dice, uint32_t percent_instant) {
  uint32_t most = 0, n_jobs = 40 + lab_roll(dice, 160), gap_s = 1 + lab_roll(dice, 40);
  int64_t at_us = 0;
  for (uint32_t p = 0; p < lab->n_pools; p++) {
    uint32_t size = lab->pools[p].nodes * lab->pools[p].gpus_per_node;
    most = size > most ? size : most;
  }
  for (uint32_t i = 0; i < n_jobs; i++) {
    at_us += lab_chance(dice, 30) ? 0 : lab_roll(dice, 2 * gap_s) * HR_SECOND_US;
    int64_t work_us = (1 + lab_roll(dice, lab_chance(dice, 70) ? 200 : 5000)) * HR_SECOND_US;
    struct lab_job job = {.submit_us = at_us,
                          .work_us = work_us,
                          .gpus = lab_chance(dice, 70) ? 1 + lab_roll(dice, 4) : 1 + lab_roll(dice, most),
                          .limit_us = work_us * (1 + lab_roll(dice, 4)) / (1 + lab_roll(dice, 2)),
                          .flags = lab_chance(dice, 10) ? HR_JOB_NOT_INTERRUPTIBLE : 0};
    if (job.gpus > most) job.gpus = most;
    if (lab_chance(dice, 5)) job.gpus = 0;
    if (percent_instant && lab_chance(dice, percent_instant)) job.work_us = 0;
    lab_add_job(lab, job);
  }
}

static void run_case(uint32_t number, const char *order, const char *backfill, bool plain, struct log *log) {
  static char unused[] = "t8";
  static struct lab lab;
  struct lab_dice dice = {number * 7919 + 5};
  lab_begin(&lab);
  for (uint32_t p = 0, n = 1 + lab_roll(&dice, 2); p < n; p++)
    lab_add_pool(&lab, 1 + lab_roll(&dice, 6), 1 + lab_roll(&dice, 8));
  draw_jobs(&lab, &dice, number >= FIRST_INSTANT_CASE ? 15 : 0);
  lab_set(&lab, "order", order);
  lab_set(&lab, "backfill", backfill);
  lab_set(&lab, "placement", placements[lab_roll(&dice, 3)]);
  lab_set(&lab, "preempted", accountings[lab_roll(&dice, 3)]);
  lab_set(&lab, "min_run_s", lab_chance(&dice, 70) ? "0" : "90");
  if (lab_chance(&dice, 50)) {
    lab_set(&lab, "las_threshold_1_s", "100");
    lab_set(&lab, "las_threshold_2_s", "700");
  }
  struct hr_quota_node node = {.name = unused, .parent = HR_NONE, .is_tenant = true, .max_milli = 1000};
  bool is_easy = strcmp(backfill, "easy") == 0;
  if (plain && is_easy) lab_set(&lab, "exclude_nodes", "1");
  if (plain && !is_easy) lab_add_quota(&lab, node);
  *log = (struct log){.n_events = 0};
  CU_ASSERT_TRUE_FATAL(lab_run(&lab, &(struct hr_observer){.self = log, .on_event = on_event}));
  CU_ASSERT_FATAL(log->n_events < MAX_EVENTS);
  lab_finish(&lab);
}

static bool is_same(const struct seen *a, const struct seen *b) {
  return a->at_us == b->at_us && a->kind == b->kind && a->reason == b->reason && a->job == b->job &&
         a->pool == b->pool && a->node == b->node;
}

/* Prints the first event that differs. Returns whether there is one. */
static bool differ(const struct log *fast, const struct log *plain) {
  uint32_t i = 0;
  while (i < fast->n_events && i < plain->n_events && is_same(&fast->events[i], &plain->events[i])) i++;
  if (i == fast->n_events && i == plain->n_events) return false;
  for (uint32_t k = 0; k < 2; k++) {
    const struct log *log = k ? plain : fast;
    const struct seen *seen = &log->events[i];
    if (i < log->n_events)
      printf("\n  %s: event %u at %lld us: kind %u, reason %u, job %u, pool %u, nodes %u", k ? "plain" : "fast",
             (unsigned)i, (long long)seen->at_us, (unsigned)seen->kind, (unsigned)seen->reason, (unsigned)seen->job,
             (unsigned)seen->pool, (unsigned)seen->node);
  }
  return true;
}

static void compare(const char *order) {
  static struct log fast, plain;
  uint32_t n_preemptions = 0;
  for (uint32_t number = FIRST_CASE; number < FIRST_CASE + CASES; number++)
    for (size_t i = 0; i < sizeof backfills / sizeof *backfills; i++) {
      run_case(number, order, backfills[i], false, &fast);
      run_case(number, order, backfills[i], true, &plain);
      bool different = differ(&fast, &plain);
      if (different) printf("\ncase %u: %s, %s\n", (unsigned)number, order, backfills[i]);
      CU_ASSERT_FALSE_FATAL(different);
      n_preemptions += fast.n_preemptions;
    }
  CU_ASSERT(n_preemptions > 20 * CASES);
}

static void fast_passes_make_the_same_moves(void) {
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) compare(orders[i]);
}

TEST_MAIN("passes of preemptive orders", TEST(fast_passes_make_the_same_moves))
