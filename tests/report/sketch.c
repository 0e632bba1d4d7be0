/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sketches compared with exact quantiles of sorted durations. */
#include "harness.h"

#include "report/metrics/metrics.h"

#include <math.h>
#include <string.h>

enum { COUNT = 20000 };

static struct hr__sketch sketches[3];
static int64_t values[COUNT];

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  return *state ^= *state << 17;
}

static int compare(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* Returns a quantile of the sorted values, in microseconds. */
static double exact(size_t count, double share) {
  double place = (double)(count - 1) * share;
  size_t rank = (size_t)place;
  double low = (double)values[rank], high = (double)values[rank + 1 < count ? rank + 1 : rank];
  return low + (place - (double)rank) * (high - low);
}

static void assert_near(double found_s, double wanted_us) {
  CU_ASSERT(fabs(found_s * 1e6 - wanted_us) <= wanted_us / 256 + 1e-6 * wanted_us + 1e-9);
}

static void assert_like(const struct hr__sketch *sketch, size_t count) {
  struct hr_distribution found = hr__sketch_distribution(sketch);
  double sum = 0;
  qsort(values, count, sizeof *values, compare);
  for (size_t i = 0; i < count; i++) sum += (double)values[i];
  CU_ASSERT_EQUAL(found.count, count);
  CU_ASSERT_DOUBLE_EQUAL(found.max * 1e6, (double)values[count - 1], 1e-9 * (double)values[count - 1]);
  CU_ASSERT_DOUBLE_EQUAL(found.mean * 1e6, sum / (double)count, 1e-9 * sum / (double)count);
  assert_near(found.p50, exact(count, 0.5));
  assert_near(found.p90, exact(count, 0.9));
  assert_near(found.p95, exact(count, 0.95));
  assert_near(found.p99, exact(count, 0.99));
}

/* The durations are of all magnitudes and include zeros. */
static void quantiles_have_bounded_error(void) {
  uint64_t state = 88172645463325252u;
  for (int bits = 1; bits < 60; bits += 3) {
    memset(sketches, 0, sizeof sketches);
    for (size_t i = 0; i < COUNT; i++) {
      values[i] = (int64_t)(next_random(&state) >> (64 - bits));
      hr__sketch_add(&sketches[0], values[i]);
    }
    assert_like(&sketches[0], COUNT);
  }
}

static void few_durations(void) {
  for (size_t count = 1; count < 5; count++) {
    memset(sketches, 0, sizeof sketches);
    for (size_t i = 0; i < count; i++) hr__sketch_add(&sketches[0], values[i] = (int64_t)(1000003 * (i + 1)));
    assert_like(&sketches[0], count);
  }
  memset(sketches, 0, sizeof sketches);
  CU_ASSERT_EQUAL(hr__sketch_distribution(&sketches[0]).count, 0);
}

/* Each duration is counted in a bucket whose middle is near the duration. Powers of two and their neighbours are tested
   in particular. */
static void relative_width_of_buckets(void) {
  for (int bit = 0; bit < 62; bit++)
    for (int64_t off = -2; off <= 2; off++) {
      int64_t value = (INT64_C(1) << bit) + off;
      if (value < 0) continue;
      memset(&sketches[0], 0, sizeof sketches[0]);
      hr__sketch_add(&sketches[0], value);
      hr__sketch_add(&sketches[0], INT64_C(1) << 62); /* so that quantiles are not limited by the maximum */
      if (value) hr__sketch_add(&sketches[0], 0);     /* nor by the minimum */
      hr__sketch_add(&sketches[0], value);
      assert_near(hr__sketch_distribution(&sketches[0]).p50, (double)value);
    }
}

/* The middle of a bucket may be below the minimum or above the maximum of the values; quantiles must not be. */
static void quantiles_are_within_range(void) {
  static const int64_t ones[] = {1000000, 1000001, 1003000, 999999999, 255, 257, 3600000000};
  for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
    memset(sketches, 0, sizeof sketches);
    hr__sketch_add(&sketches[0], ones[i]);
    hr__sketch_add(&sketches[1], ones[i]);
    hr__sketch_add(&sketches[1], ones[i] + 1);
    const struct hr_distribution one = hr__sketch_distribution(&sketches[0]),
                                 two = hr__sketch_distribution(&sketches[1]);
    CU_ASSERT_EQUAL(one.p50, (double)ones[i] / HR_SECOND_US);
    CU_ASSERT(two.p50 >= (double)ones[i] / HR_SECOND_US && two.p99 <= (double)(ones[i] + 1) / HR_SECOND_US);
  }
}

TEST_MAIN("sketch", TEST(quantiles_have_bounded_error), TEST(few_durations), TEST(relative_width_of_buckets),
          TEST(quantiles_are_within_range))
