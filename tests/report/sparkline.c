/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sparklines: heights of cells computed by hand, peaks of duration 0, and lines of the table. */

#include "report/tables/tables.h"

#include "harness.h"
#include "output_files.h"

#include <string.h>

static struct hr__buckets made(uint32_t room, uint32_t n_values, const uint64_t *values, int64_t each_us) {
  struct hr__buckets buckets;
  CU_ASSERT_EQUAL_FATAL(hr__buckets_init(&buckets, room), HR_OK);
  for (uint32_t i = 0; i < n_values; i++) hr__buckets_set(&buckets, i * each_us, values[i]);
  hr__buckets_close(&buckets, n_values * each_us);
  return buckets;
}

static void heights_of_cells(void) {
  static const uint64_t values[] = {0, 1, 70, 71, 500, 928, 929, 1000};
  static const uint8_t wanted[] = {0, 1, 1, 1, 4, 6, 7, 7}; /* 7 x value / 1000, rounded; only 0 has height 0 */
  struct hr__buckets buckets = made(16, 8, values, 1);
  struct hr__sparkline means, peaks;
  hr__sparkline_of_buckets(&means, HR__SPARK_MEANS, &buckets, 1000);
  hr__sparkline_of_buckets(&peaks, HR__SPARK_PEAKS, &buckets, 1000);
  CU_ASSERT_EQUAL_FATAL(means.n, 8);
  CU_ASSERT_EQUAL(memcmp(means.height, wanted, 8), 0);
  CU_ASSERT_EQUAL(memcmp(peaks.height, wanted, 8), 0);
  hr__sparkline_of_buckets(&peaks, HR__SPARK_PEAKS, &buckets, 0);
  CU_ASSERT_EQUAL(peaks.height[7], 0);
  hr__buckets_finish(&buckets);
}

/* In a run of two years, one job waits for one microsecond. */
static void short_peak_is_visible(void) {
  struct hr__buckets buckets;
  const int64_t year_us = INT64_C(365) * 86400 * HR_SECOND_US;
  CU_ASSERT_EQUAL_FATAL(hr__buckets_init(&buckets, 1920), HR_OK);
  hr__buckets_set(&buckets, 0, 0);
  hr__buckets_set(&buckets, year_us, 9);
  hr__buckets_set(&buckets, year_us, 0); /* replaced at the same instant */
  hr__buckets_close(&buckets, 2 * year_us);
  struct hr__sparkline means, peaks;
  hr__sparkline_of_buckets(&means, HR__SPARK_MEANS, &buckets, 9);
  hr__sparkline_of_buckets(&peaks, HR__SPARK_PEAKS, &buckets, 9);
  CU_ASSERT_EQUAL_FATAL(peaks.n, HR__SPARK_CELLS);
  uint32_t high = 0;
  for (uint32_t i = 0; i < peaks.n; i++) {
    CU_ASSERT_EQUAL(means.height[i], 0);
    CU_ASSERT(peaks.height[i] == 0 || (peaks.height[i] == 7 && (i == 29 || i == 30)));
    high += peaks.height[i] == 7;
  }
  CU_ASSERT_EQUAL(high, 1);
  hr__buckets_finish(&buckets);
}

/* If a value rises linearly, the heights of the cells rise linearly. */
static void linear_value_has_linear_heights(void) {
  uint64_t values[600];
  for (uint64_t i = 0; i < 600; i++) values[i] = i;
  struct hr__buckets buckets = made(1920, 600, values, 12345678);
  struct hr__sparkline line;
  hr__sparkline_of_buckets(&line, HR__SPARK_MEANS, &buckets, 599);
  CU_ASSERT_EQUAL_FATAL(line.n, HR__SPARK_CELLS);
  for (uint32_t i = 0; i < line.n; i++) {
    double exact = 7 * (10 * i + 4.5) / 599;
    CU_ASSERT(line.height[i] >= exact - 0.7 && (line.height[i] <= exact + 0.7 || line.height[i] == 1));
  }
  hr__buckets_finish(&buckets);
}

static void expect_written(const struct hr__sparkline *line, bool unicode, uint64_t top, const char *wanted) {
  FILE *out = fopen(files_path("line.txt"), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  struct hr__console console = {.out = out, .unicode = unicode};
  hr__put_sparkline(&console, line, top);
  fclose(out);
  char *text = files_read(files_path("line.txt"));
  CU_ASSERT_STRING_EQUAL(text, wanted);
  free(text);
}

static void lines_of_the_table(void) {
  static const struct hr__sparkline line = {.n = 3, .height = {0, 4, 7}};
  expect_written(&line, true, 64, "             ▁▅█ 64\n");
  expect_written(&line, false, 1064, "             _=# 1,064\n");
}

/* A count of 0 is a space, and every other count is visible. */
static void zero_counts_are_spaces(void) {
  static const uint64_t counts[] = {0, 1, 499, 0, 500, 1000};
  static const uint8_t wanted[] = {0, 1, 4, 0, 4, 8};
  struct hr__sparkline line;
  hr__sparkline_of_counts(&line, counts, 6, 1000);
  CU_ASSERT_EQUAL(memcmp(line.height, wanted, 6), 0);
  expect_written(&line, true, 1000, "              ▁▄ ▄█ 1,000\n");
  expect_written(&line, false, 1000, "              _- -# 1,000\n");
}

static void line_has_at_most_80_columns(void) {
  static const struct hr__sparkline line = {.n = HR__SPARK_CELLS};
  for (uint64_t top = 1; top < UINT64_C(100000000); top *= 10) {
    FILE *out = fopen(files_path("line.txt"), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    struct hr__console console = {.out = out};
    hr__put_sparkline(&console, &line, top);
    fclose(out);
    char *text = files_read(files_path("line.txt"));
    CU_ASSERT(strlen(text) <= 81);
    free(text);
  }
}

TEST_MAIN("report: sparklines", TEST(heights_of_cells), TEST(short_peak_is_visible),
          TEST(linear_value_has_linear_heights), TEST(lines_of_the_table), TEST(zero_counts_are_spaces),
          TEST(line_has_at_most_80_columns))
