/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selection of victims on small random clusters, checked only from the stream of events. Each victim must be necessary,
   must have a lower rank than the job that preempts it, and must have run for the minimum time. A waiting job must not
   fit even if all jobs that it may preempt were removed. The placement of gangs is checked node by node.
 */

#include "harness.h"
#include "lab.h"

#include <string.h>

enum { MAX_NODES = 12, CASES = 40 };

static const char *const placements[] = {"pool", "first-fit", "best-fit", "worst-fit"};
static const char *const victim_rules[] = {"last", "least-lost", "youngest", "lowest-priority"};
static const char *const accountings[] = {"requeue", "checkpoint", "kill"};

struct placed {
  /* gpus: by node of the cluster. If GPUs are only counted, all GPUs of a pool are assigned to its first node */
  uint32_t pool, gpus[MAX_NODES];
};

struct watch {
  const struct lab *lab;
  bool by_count, strict;
  int64_t min_run_us;
  uint8_t state[LAB_JOBS];
  int64_t since_us[LAB_JOBS];
  struct placed placed[LAB_JOBS];
  uint32_t victims[LAB_JOBS], n_victims; /* jobs that were stopped since the last start of a job */
  bool by_priority, started; /* by_priority: the order is by priority; started: a job has started at this instant */
  uint32_t n_groups, n_stopped, faults;
};

/* ---- Free capacity ---------------------------------------------------------------------------------- */

static uint32_t first_node(const struct lab *lab, uint32_t pool) {
  uint32_t first = 0;
  for (uint32_t i = 0; i < pool; i++) first += lab->pools[i].nodes;
  return first;
}

static void free_gpus(const struct watch *w, const bool *excluded, uint32_t *free) {
  memset(free, 0, MAX_NODES * sizeof *free);
  for (uint32_t p = 0, node = 0; p < w->lab->n_pools; p++)
    for (uint32_t i = 0; i < w->lab->pools[p].nodes; i++) {
      const struct hr_pool_spec *pool = &w->lab->pools[p];
      free[node++] = w->by_count ? (i ? 0 : pool->nodes * pool->gpus_per_node) : pool->gpus_per_node;
    }
  for (uint32_t job = 0; job < w->lab->n_jobs; job++)
    for (uint32_t node = 0; node < MAX_NODES && w->state[job] == HR_JOB_RUNNING && !excluded[job]; node++)
      free[node] -= w->placed[job].gpus[node];
}

static bool gang_fits(const struct watch *w, const uint32_t *free, uint32_t gpus, uint32_t pool) {
  uint32_t size = w->lab->pools[pool].gpus_per_node, whole = gpus / size, rest = gpus % size, wholly = 0, enough = 0;
  for (uint32_t i = 0; i < w->lab->pools[pool].nodes; i++) {
    uint32_t left = free[first_node(w->lab, pool) + i];
    wholly += left == size;
    enough += rest > 0 && left >= rest;
  }
  return wholly >= whole && (rest == 0 || enough > whole);
}

static bool fits(const struct watch *w, const uint32_t *free, uint32_t gpus) {
  bool single = w->by_count;
  for (uint32_t p = 0; p < w->lab->n_pools; p++) single = single || w->lab->pools[p].gpus_per_node >= gpus;
  for (uint32_t p = 0; p < w->lab->n_pools; p++) {
    if (!single && gang_fits(w, free, gpus, p)) return true;
    for (uint32_t i = 0; i < w->lab->pools[p].nodes && single; i++)
      if (free[first_node(w->lab, p) + i] >= gpus) return true;
  }
  return gpus == 0;
}

/* ---- Events ----------------------------------------------------------------------------------------- */

static bool may_be_preempted_for(const struct watch *w, uint32_t victim, uint32_t job, int64_t now_us) {
  const struct lab_job *jobs = w->lab->jobs;
  return jobs[victim].priority < jobs[job].priority && !(jobs[victim].flags & HR_JOB_NOT_INTERRUPTIBLE) &&
         now_us - w->since_us[victim] >= w->min_run_us && now_us > w->since_us[victim] && jobs[victim].gpus > 0;
}

static void report_fault(struct watch *w, const char *words, uint32_t job, int64_t now_us) {
  if (w->faults++ < 3) printf("\njob %u at %lld us: %s", (unsigned)job, (long long)now_us, words);
}

/* Checks the victims of `job`, which preempts them. `excluded`: the jobs whose GPUs are treated as free; all others,
   also victims, are treated as running. */
static void check_victims(struct watch *w, uint32_t job, int64_t now_us) {
  bool excluded[LAB_JOBS] = {false};
  uint32_t free[MAX_NODES];
  free_gpus(w, excluded, free);
  if (fits(w, free, w->lab->jobs[job].gpus)) report_fault(w, "fits without preemption", job, now_us);
  for (uint32_t i = 0; i < w->n_victims; i++) excluded[w->victims[i]] = true;
  free_gpus(w, excluded, free);
  if (!fits(w, free, w->lab->jobs[job].gpus)) report_fault(w, "does not fit after preemption", job, now_us);
  for (uint32_t i = 0; i < w->n_victims; i++) {
    if (!may_be_preempted_for(w, w->victims[i], job, now_us))
      report_fault(w, "preempts a job that it may not preempt", job, now_us);
    excluded[w->victims[i]] = false;
    free_gpus(w, excluded, free);
    if (fits(w, free, w->lab->jobs[job].gpus)) report_fault(w, "preempts more jobs than needed", job, now_us);
    excluded[w->victims[i]] = true;
  }
}

static void record_placement(struct watch *w, uint32_t job, const struct hr_placement *placement, int64_t now_us) {
  struct placed *placed = &w->placed[job];
  uint32_t gpus = w->lab->jobs[job].gpus, found = 0;
  *placed = (struct placed){.pool = placement->pool.id};
  if (w->by_count) placed->gpus[first_node(w->lab, placed->pool)] = found = gpus;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    placed->gpus[placement->slices[i].node.id] += placement->slices[i].gpu_milli / 1000;
    found += placement->slices[i].gpu_milli / 1000;
  }
  if (found != gpus) report_fault(w, "has another number of GPUs than requested", job, now_us);
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct watch *w = self;
  uint32_t job = event->job.id;
  (void)view;
  if (event->kind == HR_EVENT_SUBMIT) w->state[job] = HR_JOB_WAITING;
  if (event->kind == HR_EVENT_END) w->state[job] = HR_JOB_COMPLETED;
  if (event->kind == HR_EVENT_PREEMPT) w->victims[w->n_victims++] = job;
  if (event->kind == HR_EVENT_REJECT && w->state[job] != HR_JOB_RUNNING) w->state[job] = HR_JOB_REJECTED;
  if (event->kind != HR_EVENT_START) return;
  if (w->n_victims) check_victims(w, job, event->at_us);
  w->n_groups += w->n_victims > 0;
  w->n_stopped += w->n_victims;
  for (uint32_t i = 0; i < w->n_victims; i++) w->state[w->victims[i]] = HR_JOB_WAITING;
  w->n_victims = 0;
  w->started = true;
  w->state[job] = HR_JOB_RUNNING;
  w->since_us[job] = event->at_us;
  record_placement(w, job, event->placement, event->at_us);
}

/* At the end of an instant, checks that no waiting job would fit if all jobs that it may preempt were removed. If the
   order is not by priority, instants at which jobs started are not checked: a job may have been tried before a later
   job freed capacity by preemption. */
static void check_waiting_jobs(void *self, const struct hr_view *view) {
  struct watch *w = self;
  bool skipped = w->started && !w->by_priority;
  w->started = false;
  if (skipped) return;
  const struct lab_job *jobs = w->lab->jobs;
  uint32_t first = HR_NONE;
  for (uint32_t job = 0; job < w->lab->n_jobs; job++)
    if (view->state[job] == HR_JOB_WAITING && (first == HR_NONE || jobs[job].priority > jobs[first].priority))
      first = job;
  for (uint32_t job = 0; job < w->lab->n_jobs; job++) {
    bool excluded[LAB_JOBS];
    uint32_t free[MAX_NODES];
    if (view->state[job] != HR_JOB_WAITING || (w->strict && job != first)) continue;
    for (uint32_t i = 0; i < w->lab->n_jobs; i++) excluded[i] = may_be_preempted_for(w, i, job, view->now_us);
    free_gpus(w, excluded, free);
    if (fits(w, free, jobs[job].gpus)) report_fault(w, "waits, but would fit after preemption", job, view->now_us);
  }
}

/* ---- Cases ------------------------------------------------------------------------------------------ */

static void draw_jobs(struct lab *lab, struct lab_dice *dice) {
  uint32_t n_jobs = 10 + lab_roll(dice, 40), gpus = 0;
  int64_t at_us = 0;
  for (uint32_t p = 0; p < lab->n_pools; p++) {
    uint32_t size = lab->pools[p].nodes * lab->pools[p].gpus_per_node;
    gpus = size > gpus ? size : gpus;
  }
  for (uint32_t i = 0; i < n_jobs; i++) {
    at_us += lab_chance(dice, 30) ? 0 : lab_roll(dice, 4000000);
    struct lab_job job = {.submit_us = at_us,
                          .work_us = 1 + lab_roll(dice, 20000000),
                          .gpus = lab_chance(dice, 70) ? 1 + lab_roll(dice, 4) : 1 + lab_roll(dice, gpus),
                          .priority = (int32_t)lab_roll(dice, 5) - 2,
                          .flags = lab_chance(dice, 15) ? HR_JOB_NOT_INTERRUPTIBLE : 0};
    if (job.gpus > gpus) job.gpus = gpus;
    if (lab_chance(dice, 5)) job.gpus = 0;
    lab_add_job(lab, job);
  }
}

/* Returns the number of preempted jobs. */
static uint32_t check_case(uint32_t number, const char *order, const char *placement, const char *rule) {
  static struct lab lab;
  static struct watch watch;
  struct lab_dice dice = {number * 7919 + 17};
  char text[16];
  lab_begin(&lab);
  for (uint32_t p = 0, n = 1 + lab_roll(&dice, 2); p < n; p++)
    lab_add_pool(&lab, 2 + lab_roll(&dice, 5), 1 + lab_roll(&dice, 8));
  draw_jobs(&lab, &dice);
  uint32_t min_run_s = lab_chance(&dice, 50) ? 0 : lab_roll(&dice, 12);
  snprintf(text, sizeof text, "%u", (unsigned)min_run_s);
  watch = (struct watch){.lab = &lab,
                         .by_count = strcmp(placement, "pool") == 0,
                         .by_priority = strcmp(order, "priority") == 0,
                         .strict = number % 2 && strcmp(order, "priority") == 0,
                         .min_run_us = min_run_s * HR_SECOND_US};
  bool ages = strcmp(order, "aging") == 0;
  lab_set(&lab, "order", ages ? "priority" : order);
  lab_set(&lab, "aging_s", ages ? "4" : "0");
  lab_set(&lab, "backfill", watch.strict ? "strict" : "skip");
  lab_set(&lab, "placement", placement);
  lab_set(&lab, "preemption", "priority");
  lab_set(&lab, "victims", rule);
  lab_set(&lab, "preempted", accountings[number % 3]);
  lab_set(&lab, "min_run_s", text);
  struct hr_observer observer = {&watch, on_event, check_waiting_jobs};
  CU_ASSERT_TRUE_FATAL(lab_run(&lab, &observer));
  if (watch.faults) printf("\ncase %u: %s, %s, %s\n", (unsigned)number, order, placement, rule);
  CU_ASSERT_EQUAL_FATAL(watch.faults, 0);
  lab_finish(&lab);
  return watch.n_stopped;
}

static void check_cases(const char *order) {
  uint32_t n_stopped = 0;
  for (uint32_t number = 0; number < CASES; number++)
    for (uint32_t p = 0; p < sizeof placements / sizeof *placements; p++)
      for (uint32_t v = 0; v < sizeof victim_rules / sizeof *victim_rules; v++)
        n_stopped += check_case(number, order, placements[p], victim_rules[v]);
  CU_ASSERT(n_stopped > 10 * CASES);
}

static void every_victim_is_necessary(void) {
  check_cases("priority");
}

/* If the order is not by priority, a job may be allowed to preempt others although jobs before it in order are not. */
static void every_victim_is_necessary_under_other_orders(void) {
  check_cases("fifo");
  check_cases("aging");
  check_cases("wfp3");
  check_cases("drf");
}

TEST_MAIN("preemption search", TEST(every_victim_is_necessary), TEST(every_victim_is_necessary_under_other_orders))
