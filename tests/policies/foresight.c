/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No decision depends on the future. If the last jobs of a trace are removed, a run is unchanged until the first of
   them would be submitted. If the run time of a job is changed, a run is unchanged until the job ends. Orders by true
   run time use the future by design, so the second property is not checked for them. */

#include "harness.h"
#include "lab.h"

#include <string.h>

enum { CASES = 25, JOBS = 80, MAX_LOGGED = 4096 };

static const char *const orders[] = {"qssf", "gittins", "las",  "fair-share", "multifactor", "drf",
                                     "wfp3", "f1",      "fifo", "edf",        "priority",    "srtf"};
enum { ORDERS = sizeof orders / sizeof *orders, HONEST = ORDERS - 1 };
static const char *const backfills[] = {"strict", "skip", "easy", "conservative"};

struct log {
  uint32_t count;
  struct logged {
    int64_t at_us;
    uint32_t job, kind;
  } entry[MAX_LOGGED];
};

static void log_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct log *log = self;
  (void)view;
  if (event->kind == HR_EVENT_TIMER || log->count == MAX_LOGGED) return;
  log->entry[log->count++] = (struct logged){event->at_us, event->job.id, event->kind};
}

static void draw(struct lab *lab, uint32_t number) {
  struct lab_dice dice = {number * 6007 + 3};
  int64_t at_us = 0;
  lab_add_pool(lab, 2 + lab_roll(&dice, 3), 1 + lab_roll(&dice, 6));
  for (uint32_t i = 0; i < JOBS; i++) {
    at_us += lab_chance(&dice, 20) ? 0 : lab_roll(&dice, 400) * HR_SECOND_US + lab_roll(&dice, 1000);
    int64_t work_us = (1 + lab_roll(&dice, lab_chance(&dice, 70) ? 300 : 4000)) * HR_SECOND_US;
    lab_add_job(lab, (struct lab_job){.submit_us = at_us,
                                      .work_us = work_us,
                                      .limit_us = (1 + lab_roll(&dice, 5000)) * HR_SECOND_US,
                                      .gpus = 1 + lab_roll(&dice, 4),
                                      .tenant = lab_roll(&dice, 4),
                                      .user = lab_roll(&dice, 5),
                                      .model = lab_roll(&dice, LAB_NAMES),
                                      .deadline_us = at_us + lab_roll(&dice, 9000) * HR_SECOND_US + 1});
  }
}

static void run(struct lab *lab, struct log *log) {
  struct hr_observer observer = {.self = log, .on_event = log_event};
  log->count = 0;
  CU_ASSERT_TRUE_FATAL(lab_run(lab, &observer));
  CU_ASSERT_FATAL(log->count < MAX_LOGGED);
}

/* Returns whether two logs have the same events before `until_us`. */
static bool same_until(const struct log *a, const struct log *b, int64_t until_us) {
  for (uint32_t i = 0; i < a->count || i < b->count; i++) {
    bool over_a = i >= a->count || a->entry[i].at_us >= until_us;
    bool over_b = i >= b->count || b->entry[i].at_us >= until_us;
    if (over_a || over_b) return over_a && over_b;
    const struct logged *x = &a->entry[i], *y = &b->entry[i];
    if (x->at_us != y->at_us || x->job != y->job || x->kind != y->kind) return false;
  }
  return true;
}

static void begin(struct lab *lab, uint32_t number, const char *order) {
  lab_begin(lab);
  draw(lab, number);
  lab_set(lab, "order", order);
  lab_set(lab, "backfill", backfills[number % 4]);
  lab_set(lab, "placement", number % 3 ? "pool" : "worst-fit");
}

static void later_submissions_do_not_change_earlier_decisions(void) {
  static struct lab lab;
  static struct log whole, part;
  for (uint32_t number = 0; number < CASES; number++)
    for (uint32_t o = 0; o < ORDERS; o++) {
      begin(&lab, number, orders[o]);
      run(&lab, &whole);
      for (uint32_t n = JOBS / 4; n < JOBS; n += JOBS / 4) {
        lab.n_jobs = n;
        run(&lab, &part);
        bool same = same_until(&whole, &part, lab.jobs[n].submit_us);
        if (!same) printf("\ncase %u, %s, the first %u jobs", (unsigned)number, orders[o], (unsigned)n);
        CU_ASSERT_FATAL(same);
      }
      lab_finish(&lab);
    }
}

static void run_times_do_not_change_decisions_before_the_end(void) {
  static struct lab lab;
  static struct log plain, other;
  uint32_t n_different = 0;
  for (uint32_t number = 0; number < CASES; number++)
    for (uint32_t o = 0; o < HONEST; o++) {
      begin(&lab, number, orders[o]);
      run(&lab, &plain);
      for (uint32_t job = 3; job < JOBS; job += JOBS / 4) {
        int64_t work_us = lab.jobs[job].work_us, end_us = lab_end_us(&lab, job);
        lab.jobs[job].work_us = 1 + work_us * (job % 2 ? 3 : 1) / 2;
        run(&lab, &other);
        int64_t other_end_us = lab_end_us(&lab, job);
        bool same = same_until(&plain, &other, end_us < other_end_us ? end_us : other_end_us);
        n_different += !same_until(&plain, &other, HR_NEVER_US);
        if (!same) printf("\ncase %u, %s, job %u", (unsigned)number, orders[o], (unsigned)job);
        CU_ASSERT_FATAL(same);
        lab.jobs[job].work_us = work_us;
        run(&lab, &other);
      }
      lab_finish(&lab);
    }
  CU_ASSERT(n_different > CASES);
}

/* Two jobs wait for one GPU. Their estimates differ by 2^44 us. The job with the longer estimate was submitted first.
   The job with the shorter estimate starts first, because it has waited longer relative to its estimate. */
static void long_run_times_are_compared_exactly(void) {
  struct lab lab;
  const int64_t s = HR_SECOND_US;
  lab_begin(&lab);
  lab_add_pool(&lab, 1, 1);
  lab_add_job(&lab, (struct lab_job){.work_us = 10 * s, .gpus = 1});
  lab_add_job(&lab,
              (struct lab_job){.submit_us = s, .work_us = s, .estimate_us = 1000 * s + (INT64_C(1) << 44), .gpus = 1});
  lab_add_job(&lab, (struct lab_job){.submit_us = 2 * s, .work_us = s, .estimate_us = 1000 * s, .gpus = 1});
  lab_set(&lab, "order", "wfp3");
  CU_ASSERT_TRUE_FATAL(lab_run(&lab, NULL));
  CU_ASSERT_EQUAL(lab.result->start_us[2], 10 * s);
  CU_ASSERT_EQUAL(lab.result->start_us[1], 11 * s);
  lab_finish(&lab);
}

TEST_MAIN("foresight", TEST(later_submissions_do_not_change_earlier_decisions),
          TEST(run_times_do_not_change_decisions_before_the_end), TEST(long_run_times_are_compared_exactly))
