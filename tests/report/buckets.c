/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buckets: cases computed by hand, and random series compared with a direct evaluation of every interval. */

#include "report/metrics/metrics.h"

#include "harness.h"

enum { MAX_CHANGES = 60 };

static void expect_bucket(const struct hr__bucket *bucket, uint64_t sum, uint64_t min, uint64_t max) {
  CU_ASSERT(bucket->sum == sum);
  CU_ASSERT_EQUAL(bucket->min, min);
  CU_ASSERT_EQUAL(bucket->max, max);
}

static void sums_and_extremes(void) {
  struct hr__buckets buckets;
  CU_ASSERT_EQUAL_FATAL(hr__buckets_init(&buckets, 4), HR_OK);
  hr__buckets_set(&buckets, 0, 3);
  hr__buckets_set(&buckets, 5, 9); /* replaced at the same instant */
  hr__buckets_set(&buckets, 5, 1);
  hr__buckets_close(&buckets, 7);
  CU_ASSERT_EQUAL_FATAL(buckets.n, 4);
  CU_ASSERT_EQUAL(buckets.width_us, 2);
  expect_bucket(&buckets.bucket[0], 6, 3, 3);
  expect_bucket(&buckets.bucket[1], 6, 3, 3);
  expect_bucket(&buckets.bucket[2], 3 + 1, 1, 9);
  expect_bucket(&buckets.bucket[3], 1, 1, 1);
  CU_ASSERT_EQUAL(hr__buckets_span_us(&buckets, 0), 2);
  CU_ASSERT_EQUAL(hr__buckets_span_us(&buckets, 3), 1);
  hr__buckets_finish(&buckets);
}

/* A value that is set at the end of the run counts in the last bucket, even if a new bucket would begin at this
   time. */
static void value_at_end_counts_in_last_bucket(void) {
  struct hr__buckets buckets;
  CU_ASSERT_EQUAL_FATAL(hr__buckets_init(&buckets, 4), HR_OK);
  hr__buckets_set(&buckets, 0, 2);
  hr__buckets_set(&buckets, 3, 7);
  hr__buckets_close(&buckets, 3);
  CU_ASSERT_EQUAL_FATAL(buckets.n, 3);
  expect_bucket(&buckets.bucket[2], 2, 2, 7);
  hr__buckets_finish(&buckets);
}

static void run_of_duration_zero(void) {
  struct hr__buckets buckets;
  CU_ASSERT_EQUAL_FATAL(hr__buckets_init(&buckets, 4), HR_OK);
  hr__buckets_close(&buckets, 0);
  CU_ASSERT_EQUAL(buckets.n, 0);
  hr__buckets_set(&buckets, 0, 5);
  hr__buckets_close(&buckets, 0);
  CU_ASSERT_EQUAL_FATAL(buckets.n, 1);
  expect_bucket(&buckets.bucket[0], 0, 5, 5);
  CU_ASSERT_EQUAL(hr__buckets_span_us(&buckets, 0), 0);
  hr__buckets_finish(&buckets);
}

static void run_of_1000_years(void) {
  struct hr__buckets buckets;
  CU_ASSERT_EQUAL_FATAL(hr__buckets_init(&buckets, 1000), HR_OK);
  hr__buckets_set(&buckets, 0, 1000000);
  hr__buckets_close(&buckets, 4 * HR_MAX_INPUT_US);
  hr__wide sum = 0;
  for (uint32_t i = 0; i < buckets.n; i++) sum += buckets.bucket[i].sum;
  CU_ASSERT(sum == (hr__wide)1000000 * (uint64_t)(4 * HR_MAX_INPUT_US));
  CU_ASSERT(buckets.n > 500 && buckets.n <= 1000);
  hr__buckets_finish(&buckets);
}

/* ---- Comparison with a direct evaluation ------------------------------------------------------------ */

struct changes {
  uint32_t count;
  int64_t at_us[MAX_CHANGES + 1]; /* at_us[count] is the end of the run */
  uint64_t value[MAX_CHANGES];
};

static uint32_t draw(uint64_t *state, uint32_t below) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((*state >> 33) % below);
}

static void draw_changes(struct changes *changes, uint64_t *state) {
  static const uint32_t longest_us[] = {1, 3, 10, 1000, 1000000};
  uint32_t longest = longest_us[draw(state, 5)];
  int64_t at_us = 0;
  changes->count = draw(state, MAX_CHANGES + 1);
  for (uint32_t i = 0; i < changes->count; i++) {
    at_us += draw(state, 2) * draw(state, longest + 1);
    changes->at_us[i] = at_us;
    changes->value[i] = draw(state, 100);
  }
  changes->at_us[changes->count] = at_us + draw(state, longest + 1);
}

/* A series had a value during [begin_us, end_us). Adds the part of this interval that is in the bucket [from_us,
   to_us). Minimum and maximum also include an interval of duration 0 that begins in the bucket. The last bucket
   includes its end. */
static void add_interval(struct hr__bucket *bucket, int64_t from_us, int64_t to_us, bool last, int64_t begin_us,
                         int64_t end_us, uint64_t value) {
  int64_t left = begin_us > from_us ? begin_us : from_us, right = end_us < to_us ? end_us : to_us;
  bool begins_here = begin_us >= from_us && (begin_us < to_us || (last && begin_us == to_us));
  if (right <= left && !begins_here) return;
  if (right > left) bucket->sum += (hr__wide)value * (uint64_t)(right - left);
  if (value < bucket->min) bucket->min = value;
  if (value > bucket->max) bucket->max = value;
}

static void check_bucket(const struct hr__buckets *buckets, uint32_t i, const struct changes *changes) {
  struct hr__bucket expected = {.min = UINT64_MAX};
  int64_t end_us = changes->at_us[changes->count];
  int64_t from_us = i * buckets->width_us;
  int64_t to_us = from_us + buckets->width_us < end_us ? from_us + buckets->width_us : end_us;
  bool last = to_us == end_us;
  int64_t first_us = changes->at_us[0];
  if (first_us > 0) add_interval(&expected, from_us, to_us, last, 0, first_us, 0);
  for (uint32_t k = 0; k < changes->count; k++)
    add_interval(&expected, from_us, to_us, last, changes->at_us[k], changes->at_us[k + 1], changes->value[k]);
  CU_ASSERT(buckets->bucket[i].sum == expected.sum);
  CU_ASSERT_EQUAL(buckets->bucket[i].min, expected.min);
  CU_ASSERT_EQUAL(buckets->bucket[i].max, expected.max);
  CU_ASSERT_EQUAL(hr__buckets_span_us(buckets, i), to_us - from_us);
}

static void random_series_match_direct_evaluation(void) {
  uint64_t state = 1;
  for (int round = 0; round < 2000; round++) {
    struct changes changes;
    struct hr__buckets buckets;
    draw_changes(&changes, &state);
    uint32_t room = 2 + draw(&state, 30);
    CU_ASSERT_EQUAL_FATAL(hr__buckets_init(&buckets, room), HR_OK);
    for (uint32_t k = 0; k < changes.count; k++) hr__buckets_set(&buckets, changes.at_us[k], changes.value[k]);
    hr__buckets_close(&buckets, changes.at_us[changes.count]);
    int64_t end_us = changes.at_us[changes.count];
    CU_ASSERT(buckets.n <= room && (end_us < room || 2 * buckets.n >= room));
    CU_ASSERT(buckets.n * buckets.width_us >= end_us);
    for (uint32_t i = 0; i < buckets.n; i++) check_bucket(&buckets, i, &changes);
    hr__buckets_finish(&buckets);
  }
}

TEST_MAIN("report: buckets", TEST(sums_and_extremes), TEST(value_at_end_counts_in_last_bucket),
          TEST(run_of_duration_zero), TEST(run_of_1000_years), TEST(random_series_match_direct_evaluation))
