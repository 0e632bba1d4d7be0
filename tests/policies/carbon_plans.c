/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans of jobs that wait for electricity with less carbon, compared with exhaustive searches in small worlds; the
   calendar of Let's Wait Awhile. */

#include "base/containers.h"
#include "base/random.h"
#include "harness.h"
#include "headroom/policy_kit.h"
#include "policies/queue/carbon/carbon.h"

#include <string.h>

enum { MAX_STEPS = 12, WORLDS = 3000 };

/* A small world: a series of at most MAX_STEPS values over less than 60 microseconds, and a job. */
struct world {
  struct hr_series *series;
  struct hr__carbon_job job;
  int64_t end_us;
};

static int64_t below(struct hr__stream *random, uint32_t n) {
  return hr__stream_next(random) % n;
}

static struct world draw(struct hr__stream *random, bool with_step) {
  int64_t at_us[MAX_STEPS], micros[MAX_STEPS], now_us = 0;
  uint32_t count = 2 + (uint32_t)below(random, MAX_STEPS - 1);
  for (uint32_t i = 0; i < count; i++) {
    at_us[i] = now_us;
    micros[i] = below(random, 6);
    now_us += 1 + below(random, 4);
  }
  struct world world = {.series = hr_series_create(at_us, micros, count, below(random, 3) == 0)};
  CU_ASSERT_PTR_NOT_NULL_FATAL(world.series);
  world.end_us = hr_series_repeats(world.series) ? 1000 : hr_series_end_us(world.series);
  world.job.series = world.series;
  world.job.from_us = below(random, 10);
  world.job.slack_us = below(random, 25);
  world.job.length_us = 1 + below(random, 12);
  world.job.step_us = with_step ? 1 + below(random, 5) : 0;
  return world;
}

static int64_t carbon_of(const struct world *world, int64_t begin_us, int64_t length_us) {
  int64_t sum = 0;
  for (int64_t t = begin_us; t < begin_us + length_us; t++) sum += hr_series_at(world->series, t);
  return sum;
}

/* Returns whether a job may start after `delay_us`: either immediately, or at a multiple of the step such that the
   intensity during the whole run is known. */
static bool may_start(const struct world *world, int64_t delay_us, int64_t length_us) {
  bool is_known = world->job.from_us + delay_us + length_us <= world->end_us;
  return delay_us == 0 || ((!world->job.step_us || delay_us % world->job.step_us == 0) && is_known);
}

/* Returns the best delay of the start; of equally good delays, the shortest. `rate`: the best start saves the most
   carbon per time from the submission to the end of the job; otherwise the best start has the least carbon. */
static int64_t best_start(const struct world *world, bool rate) {
  const struct hr__carbon_job *job = &world->job;
  int64_t best = 0, best_carbon = carbon_of(world, job->from_us, job->length_us), now = best_carbon;
  for (int64_t t = 1; t <= job->slack_us; t++) {
    int64_t carbon = carbon_of(world, job->from_us + t, job->length_us);
    bool better = rate ? (now - carbon) * (best + job->length_us) > (now - best_carbon) * (t + job->length_us)
                       : carbon < best_carbon;
    if (!may_start(world, t, job->length_us) || !better) continue;
    best = t;
    best_carbon = carbon;
  }
  return best;
}

static void starts_are_the_best(void) {
  struct hr__stream random;
  hr__stream_init(&random, 3, HR__PURPOSE_SAMPLE, 0, 0);
  for (int i = 0; i < WORLDS; i++) {
    struct world world = draw(&random, i % 2 == 0);
    CU_ASSERT_EQUAL(hr__carbon_lowest_window(&world.job), best_start(&world, false));
    CU_ASSERT_EQUAL(hr__carbon_best_rate(&world.job), best_start(&world, true));
    int64_t lowest = 0;
    for (int64_t t = 1; t <= world.job.slack_us && world.job.from_us + t < world.end_us; t++)
      if (hr_series_at(world.series, world.job.from_us + t) < hr_series_at(world.series, world.job.from_us + lowest))
        lowest = t;
    CU_ASSERT_EQUAL(hr__carbon_lowest_slot(&world.job), lowest);
    hr_series_destroy(world.series);
  }
}

/* Marks the `length_us` microseconds with the least carbon, by repeatedly selecting the first unmarked minimum. */
static void mark_best(const struct world *world, bool *used) {
  int64_t n = world->job.length_us + world->job.slack_us;
  for (int64_t left = world->job.length_us; left > 0; left--) {
    int64_t best = -1;
    for (int64_t t = 0; t < n; t++) {
      int64_t value = hr_series_at(world->series, world->job.from_us + t);
      if (!used[t] && (best < 0 || value < hr_series_at(world->series, world->job.from_us + best))) best = t;
    }
    used[best] = true;
  }
}

static void slots_are_the_best(void) {
  struct hr_arena arena = {0};
  struct hr__carbon_parts parts = {.arena = &arena};
  struct hr__stream random;
  hr__stream_init(&random, 4, HR__PURPOSE_SAMPLE, 0, 0);
  for (int i = 0; i < WORLDS; i++) {
    struct world world = draw(&random, false);
    struct hr__carbon_slots slots;
    bool used[64] = {false}, same = true;
    int64_t n = world.job.length_us + world.job.slack_us, from_us = world.job.from_us;
    mark_best(&world, used);
    CU_ASSERT(hr__carbon_best_slots(&world.job, &parts, &slots));
    for (int64_t t = 0; t < n; t++) same = same && hr__carbon_runs_at(world.series, &slots, from_us + t) == used[t];
    CU_ASSERT(same);
    for (int runs = 0; runs < 2; runs++)
      for (int64_t t = 0; t < n; t++) {
        int64_t next = t;
        while (next < n && used[next] != (runs == 1)) next++;
        CU_ASSERT_EQUAL(hr__carbon_next(world.series, &slots, runs == 1, from_us + t, from_us + n), from_us + next);
      }
    hr_series_destroy(world.series);
  }
  hr__arena_finish(&arena);
}

/* With a restart time, a plan completes within the slack, counted tick by tick, and has at most the carbon of the best
   run without interruptions. */
static void restarts_are_planned(void) {
  struct hr_arena arena = {0};
  struct hr__carbon_parts parts = {.arena = &arena};
  struct hr__stream random;
  uint32_t n_paused = 0;
  hr__stream_init(&random, 6, HR__PURPOSE_SAMPLE, 0, 0);
  for (int i = 0; i < WORLDS; i++) {
    struct world world = draw(&random, false);
    const struct hr__carbon_job *job = &world.job;
    struct hr__carbon_slots slots;
    world.job.restart_us = 1 + below(&random, 3);
    CU_ASSERT(hr__carbon_best_slots(job, &parts, &slots));
    int64_t left = job->length_us, end = job->length_us + job->slack_us, carbon = 0, stops = 0;
    bool runs = false;
    for (int64_t t = job->from_us; t < job->from_us + end && left > 0; t++) {
      bool should = hr__carbon_runs_at(world.series, &slots, t);
      if (runs && !should) {
        int64_t next = t;
        while (next < job->from_us + end && !hr__carbon_runs_at(world.series, &slots, next)) next++;
        should = next == job->from_us + end || !hr__carbon_pause_saves(world.series, &slots, job->restart_us, t, next);
        if (should) { /* the job runs through the pause */
          for (; t < next && left > 0; t++, left--) carbon += hr_series_at(world.series, t);
          t--;
          continue;
        }
        stops++;
        left += job->restart_us;
      }
      runs = should;
      left -= runs;
      carbon += runs ? hr_series_at(world.series, t) : 0;
    }
    n_paused += stops > 0;
    CU_ASSERT_EQUAL(left, 0);
    CU_ASSERT(carbon <= carbon_of(&world, job->from_us + best_start(&world, false), job->length_us));
    hr_series_destroy(world.series);
  }
  CU_ASSERT(n_paused > 100);
  hr__arena_finish(&arena);
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void quantiles_are_by_time(void) {
  struct hr_arena arena = {0};
  struct hr__carbon_parts parts = {.arena = &arena};
  struct hr__stream random;
  hr__stream_init(&random, 5, HR__PURPOSE_SAMPLE, 0, 0);
  for (int i = 0; i < WORLDS; i++) {
    struct world world = draw(&random, false);
    int64_t to_us = world.job.from_us + 1 + below(&random, 30), values[64], value, n = 0;
    int64_t last_us = to_us < world.end_us ? to_us : world.end_us;
    for (int64_t t = world.job.from_us; t < last_us; t++) values[n++] = hr_series_at(world.series, t);
    if (n > 0) {
      qsort(values, (size_t)n, sizeof *values, by_value);
      int64_t tenths = below(&random, 11),
              place = (tenths * n + 9) / 10; /* the place-th smallest of n values is the quantile */
      CU_ASSERT(hr__carbon_quantile(world.series, world.job.from_us, to_us, (double)tenths / 10, &parts, &value));
      CU_ASSERT_EQUAL(value, values[place ? place - 1 : 0]);
    }
    hr_series_destroy(world.series);
  }
  hr__arena_finish(&arena);
}

#define HOUR_US (3600 * HR_SECOND_US)
#define DAY_US (24 * HOUR_US)
/* Monday 2020-01-06T00:00Z */
#define MONDAY_US (INT64_C(1578268800) * HR_SECOND_US)

/* For every half hour of a week: the next Monday at 9:00 and the next Monday or Thursday at 9:00, found by a forward
   search. The slack to the next workday is 0 during working hours (Monday to Friday, 9:00 to 17:00), and otherwise ends
   at 9:00. */
static void the_calendar_is_that_of_the_paper(void) {
  for (int64_t half = 0; half < 7 * 48; half++) {
    int64_t end_us = MONDAY_US + half * HOUR_US / 2, day = half / 48, time_half = half % 48, t;
    for (t = end_us; (t - MONDAY_US) % DAY_US != 9 * HOUR_US || (t - MONDAY_US) / DAY_US % 7 != 0; t += HOUR_US / 2)
      continue;
    CU_ASSERT_EQUAL(hr__carbon_calendar_slack(HR__CARBON_NEXT_MONDAY, end_us), t - end_us);
    for (t = end_us; (t - MONDAY_US) % DAY_US != 9 * HOUR_US || (t - MONDAY_US) / DAY_US % 7 % 3 != 0 ||
                     (t - MONDAY_US) / DAY_US % 7 == 6;
         t += HOUR_US / 2)
      continue;
    CU_ASSERT_EQUAL(hr__carbon_calendar_slack(HR__CARBON_SEMI_WEEKLY, end_us), t - end_us);
    int64_t slack_us = hr__carbon_calendar_slack(HR__CARBON_NEXT_WORKDAY, end_us);
    bool at_work = day < 5 && time_half >= 18 && time_half <= 34;
    CU_ASSERT_EQUAL(slack_us == 0, at_work);
    CU_ASSERT(slack_us >= 0 && slack_us < 3 * DAY_US);
    if (slack_us > 0) CU_ASSERT_EQUAL((end_us + slack_us - MONDAY_US) % DAY_US, 9 * HOUR_US);
  }
  /* before 1970 */
  CU_ASSERT_EQUAL(hr__carbon_calendar_slack(HR__CARBON_NEXT_MONDAY, MONDAY_US - 5200 * 7 * DAY_US), 9 * HOUR_US);
}

TEST_MAIN("plans for less carbon", TEST(starts_are_the_best), TEST(slots_are_the_best), TEST(restarts_are_planned),
          TEST(quantiles_are_by_time), TEST(the_calendar_is_that_of_the_paper))
