/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting of key-value pairs, compared with the C library, and helpers that several parts of a trace check use. */

#include "harness.h"
#include "planted.h"
#include "traces/tools/check.h"

#include <string.h>

static int by_key_then_value(const void *a, const void *b) {
  const struct hr__job_value *first = a, *second = b;
  if (first->key != second->key) return first->key < second->key ? -1 : 1;
  return (first->value > second->value) - (first->value < second->value);
}

static void pairs_are_sorted_as_by_qsort(void) {
  struct planted random = {.state = 5};
  for (uint32_t round = 0; round < 200; round++) {
    struct hr__job_value pairs[300], expected[300];
    uint32_t n = planted_below(&random, 300), bits = planted_below(&random, 63);
    for (uint32_t i = 0; i < n; i++)
      pairs[i] = (struct hr__job_value){(int64_t)(planted_uniform(&random) * (double)(INT64_C(1) << bits)), i};
    memcpy(expected, pairs, sizeof expected);
    qsort(expected, n, sizeof *expected, by_key_then_value);
    CU_ASSERT(hr__pairs_sort(pairs, n));
    CU_ASSERT(memcmp(pairs, expected, n * sizeof *pairs) == 0);
  }
}

static void granularity_and_share_texts(void) {
  static const struct {
    int64_t unit_us, grain_us;
  } cases[] = {{1, 1},
               {7, 1},
               {1000, 1000},
               {SECOND_US, SECOND_US},
               {30 * SECOND_US, 10 * SECOND_US},
               {7 * MINUTE_US, MINUTE_US},
               {HOUR_US, HOUR_US},
               {2 * DAY_US, DAY_US}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t values[200];
    for (int64_t k = 0; k < 200; k++) values[k] = (k * k + 1) * cases[i].unit_us + 3;
    values[17] += 2; /* one value and the origin of all values are not multiples of the unit */
    CU_ASSERT_EQUAL(hr__check_grain_us(values, 200, -3), cases[i].grain_us);
  }
  char text[HR__SHARE_BYTES];
  CU_ASSERT_STRING_EQUAL(hr__check_share_text(0.019, text), "1.9 %");
  CU_ASSERT_STRING_EQUAL(hr__check_share_text(0.0995, text), "10 %");
  CU_ASSERT_STRING_EQUAL(hr__check_share_text(1, text), "100 %");
  CU_ASSERT_STRING_EQUAL(hr__check_share_text(0, text), "0 %");
  CU_ASSERT_STRING_EQUAL(hr__check_share_text(2e-7, text), "less than 0.0001 %");
}

static void most_frequent_key(void) {
  const struct hr__job_value values[] = {{1, 4}, {2, 3}, {2, 9}, {2, 1}, {3, 0}, {5, 7}, {5, 6}, {8, 2}};
  uint32_t begin;
  CU_ASSERT_EQUAL(hr__check_most_frequent(values, 8, 0, &begin), 3);
  CU_ASSERT_EQUAL(begin, 1);
  CU_ASSERT_EQUAL(hr__check_first_job(values + 1, 3), 1);
  CU_ASSERT_EQUAL(hr__check_most_frequent(values, 8, 4, &begin), 2);
  CU_ASSERT_EQUAL(begin, 5);
  CU_ASSERT_EQUAL(hr__check_most_frequent(values, 8, 6, &begin), 2);
  CU_ASSERT_EQUAL(begin, 5);
}

TEST_MAIN("workload: pairs", TEST(pairs_are_sorted_as_by_qsort), TEST(granularity_and_share_texts),
          TEST(most_frequent_key))
