/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Step series: values, changes and integrals are compared with sums microsecond by microsecond; edge cases. */

#include "headroom/unstable/series.h"
#include "base/random.h"
#include "harness.h"

#include <string.h>

enum { MAX_STEPS = 8 };

/* A series as the list of steps from which it was created. */
struct plain {
  int64_t at_us[MAX_STEPS], micros[MAX_STEPS], end_us;
  uint32_t count;
  bool repeats;
};

static int64_t plain_at(const struct plain *plain, int64_t at_us) {
  int64_t value = plain->micros[0];
  while (plain->repeats && at_us >= plain->end_us) at_us -= plain->end_us - plain->at_us[0];
  for (uint32_t i = 0; i < plain->count; i++)
    if (plain->at_us[i] <= at_us) value = plain->micros[i];
  return value;
}

static int64_t below(struct hr__stream *random, uint32_t n) {
  return hr__stream_next(random) % n;
}

static struct hr_series *draw(struct hr__stream *random, struct plain *plain) {
  bool even = below(random, 2) == 0;
  int64_t at_us = below(random, 11) - 5, step_us = 1 + below(random, 6);
  *plain = (struct plain){.count = 1 + (uint32_t)below(random, MAX_STEPS)};
  for (uint32_t i = 0; i < plain->count; i++) {
    plain->at_us[i] = at_us;
    plain->micros[i] = below(random, 100) - 20;
    at_us += even ? step_us : 1 + below(random, 6);
  }
  uint32_t last = plain->count - 1;
  plain->end_us = last ? 2 * plain->at_us[last] - plain->at_us[last - 1] : HR_NEVER_US;
  plain->repeats = last && below(random, 2) == 0;
  return hr_series_create(plain->at_us, plain->micros, plain->count, plain->repeats);
}

/* Returns whether two conditions are met. The integral between any two times equals the difference of the integrals
   from the first stamp to these times. Cursors do not change the integrals, even if a cursor was first used with
   another series. */
static bool integrals_agree(const struct hr_series *series, struct hr_series_cursor *cursor,
                            struct hr__stream *random) {
  bool fits = true;
  for (int i = 0; i < 100; i++) {
    const int64_t from_us = below(random, 140) - 20, to_us = below(random, 140) - 20;
    const int64_t first_us = hr_series_first_us(series);
    hr_amount from, to;
    hr_series_integrals(series, from_us, to_us, &from, &to);
    fits = fits && from == hr_series_between(series, first_us, from_us) &&
           to == hr_series_between(series, first_us, to_us);
    fits = fits && hr_series_between(series, from_us, to_us) == to - from;
    hr_amount near_from, near_to;
    hr_series_integrals_near(series, cursor, from_us, to_us, &near_from, &near_to);
    fits = fits && near_from == from && near_to == to;
    fits = fits && hr_series_between_near(series, cursor, from_us + i % 3, to_us) ==
                       hr_series_between(series, from_us + i % 3, to_us);
  }
  return fits;
}

/* Invariants of 2,000 random series over a range that begins before the first stamp and ends long after the last. */
static void equals_the_plain_sum(void) {
  struct hr__stream random;
  struct plain other;
  hr__stream_init(&random, 7, HR__PURPOSE_SAMPLE, 0, 0);
  struct hr_series *first = draw(&random, &other);
  CU_ASSERT_PTR_NOT_NULL_FATAL(first);
  for (int world = 0; world < 2000; world++) {
    struct plain plain;
    struct hr_series *series = draw(&random, &plain);
    CU_ASSERT_PTR_NOT_NULL_FATAL(series);
    int64_t sum = 0, changed_us = -20;
    bool fits = true;
    for (int64_t t = -20; t < 120; t++) {
      fits = fits && hr_series_at(series, t) == plain_at(&plain, t);
      fits = fits && hr_series_between(series, -20, t) == sum && hr_series_between(series, t, -20) == -sum;
      sum += plain_at(&plain, t);
      if (plain_at(&plain, t) != plain_at(&plain, t - 1)) changed_us = t;
      /* the value is constant between two changes that the series reports */
      int64_t next_us = hr_series_next_us(series, t - 1);
      fits = fits && next_us >= t && (changed_us != t || t == -20 || next_us == t);
    }
    CU_ASSERT(fits);
    struct hr_series_cursor cursor = {0};
    CU_ASSERT(integrals_agree(first, &cursor, &random));
    CU_ASSERT(integrals_agree(series, &cursor, &random));
    hr_series_destroy(series);
  }
  hr_series_destroy(first);
}

static void edges_have_a_value(void) {
  int64_t at_us[] = {100, 200}, micros[] = {5, 7};
  struct hr_series *series = hr_series_create(at_us, micros, 2, false);
  CU_ASSERT_EQUAL(hr_series_at(series, 99), 5);
  CU_ASSERT_EQUAL(hr_series_at(series, 199), 5);
  CU_ASSERT_EQUAL(hr_series_at(series, 200), 7);
  CU_ASSERT_EQUAL(hr_series_at(series, 1000000), 7);
  CU_ASSERT_EQUAL(hr_series_first_us(series), 100);
  CU_ASSERT_EQUAL(hr_series_end_us(series), 300);
  CU_ASSERT_EQUAL(hr_series_next_us(series, 150), 200);
  CU_ASSERT_EQUAL(hr_series_next_us(series, 200), HR_NEVER_US);
  CU_ASSERT(!hr_series_repeats(series));
  hr_series_destroy(series);
  hr_series_destroy(NULL);
}

/* hr_series_begin_us returns time zero of a run in UTC. If the trace has dates, its origin is already in UTC. Otherwise
   it is the origin plus the stamp that the user sets, or plus the first stamp of the series. */
static void the_run_begins_in_utc(void) {
  int64_t at_us[] = {1000, 2000}, micros[] = {1, 2};
  struct hr_series *series = hr_series_create(at_us, micros, 2, false);
  struct hr_trace trace = {.origin_us = 30};
  CU_ASSERT_EQUAL(hr_series_begin_us(series, HR_NEVER_US, &trace), 1030);
  CU_ASSERT_EQUAL(hr_series_begin_us(series, 1500, &trace), 1530);
  trace.dated = true;
  CU_ASSERT_EQUAL(hr_series_begin_us(series, HR_NEVER_US, &trace), 30);
  CU_ASSERT_STRING_EQUAL(hr_carbon_signal_name(HR_CARBON_MARGINAL), "marginal");
  hr_series_destroy(series);
}

TEST_MAIN("step series", TEST(equals_the_plain_sum), TEST(edges_have_a_value), TEST(the_run_begins_in_utc))
