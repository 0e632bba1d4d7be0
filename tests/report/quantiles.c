/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selection of order statistics compared with sorting, and quantiles compared with those of GSL. */

#include "base/random.h"
#include "harness.h"
#include "report/metrics/metrics.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

enum shape { UNIFORM, FEW_VALUES, ALL_EQUAL, ASCENDING, DESCENDING, LOG_NORMAL, ORGAN_PIPE, HUGE_KEYS, N_SHAPES };

static int64_t key_of(enum shape shape, struct hr__stream *stream, size_t i, size_t count) {
  uint32_t draw = hr__stream_next(stream);
  switch (shape) {
  case UNIFORM:
    return draw;
  case FEW_VALUES:
    return draw % 3;
  case ALL_EQUAL:
    return 7;
  case ASCENDING:
    return (int64_t)i;
  case DESCENDING:
    return (int64_t)(count - i);
  case LOG_NORMAL:
    return (int64_t)(1e6 * exp(20 * hr__stream_uniform(stream)));
  case ORGAN_PIPE:
    return (int64_t)(i < count / 2 ? i : count - i);
  case HUGE_KEYS:
    return INT64_MAX - draw % 2;
  case N_SHAPES:
    break;
  }
  return 0;
}

static int64_t *make_keys(enum shape shape, size_t count) {
  struct hr__stream stream;
  hr__stream_init(&stream, 1, HR__PURPOSE_RUN_TIME, (uint32_t)shape, (uint32_t)count);
  int64_t *keys = malloc((count + 1) * sizeof *keys);
  if (!keys) abort();
  for (size_t i = 0; i < count; i++) keys[i] = key_of(shape, &stream, i, count);
  return keys;
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int64_t *sorted_copy(const int64_t *keys, size_t count) {
  int64_t *copy = malloc((count + 1) * sizeof *copy);
  if (!copy) abort();
  memcpy(copy, keys, count * sizeof *copy);
  qsort(copy, count, sizeof *copy, by_value);
  return copy;
}

/* Asserts that each quantile equals the value that is interpolated between keys of the sorted array. */
static void expect_quantiles(const struct hr_distribution *got, const int64_t *sorted, size_t count) {
  const double fractions[] = {0.50, 0.90, 0.95, 0.99}, values[] = {got->p50, got->p90, got->p95, got->p99};
  for (size_t i = 0; i < 4; i++) {
    double place = fractions[i] * (double)(count - 1);
    size_t rank = (size_t)place;
    double low = (double)sorted[rank], high = (double)sorted[rank + 1 < count ? rank + 1 : rank];
    CU_ASSERT_EQUAL(values[i], (low + (place - (double)rank) * (high - low)) / 1e6);
  }
  CU_ASSERT_EQUAL(got->max, (double)sorted[count - 1] / 1e6);
}

static void expect_selection(enum shape shape, size_t count) {
  int64_t *keys = make_keys(shape, count), *sorted = sorted_copy(keys, count);
  struct hr_distribution got = hr__distribution_of_us(keys, count, 0);
  expect_quantiles(&got, sorted, count);
  qsort(keys, count, sizeof *keys, by_value);
  CU_ASSERT_EQUAL(memcmp(keys, sorted, count * sizeof *keys), 0); /* the keys were only reordered */
  free(keys);
  free(sorted);
}

static void selection_matches_sorting(void) {
  static const size_t counts[] = {1, 2, 3, 23, 24, 25, 100, 1001, 20000};
  for (int shape = 0; shape < N_SHAPES; shape++)
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) expect_selection((enum shape)shape, counts[i]);
}

static int64_t median_of_3(int64_t a, int64_t b, int64_t c) {
  return a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
}

/* The pivot is computed from the keys at nine positions. Sets those that have no value yet to the smallest unused
   values. Returns the pivot. */
static int64_t spoil_pivot(int64_t *keys, const size_t *place, size_t count, int64_t *next) {
  int64_t median[3], probe[9];
  for (size_t i = 0; i < 9; i++) {
    int64_t *key = &keys[place[i * ((count - 1) / 8)]];
    if (*key == INT64_MAX) *key = (*next)++;
    probe[i] = *key;
  }
  for (size_t i = 0; i < 3; i++) median[i] = median_of_3(probe[3 * i], probe[3 * i + 1], probe[3 * i + 2]);
  return median_of_3(median[0], median[1], median[2]);
}

/* Makes an input on which each pivot separates only a few keys. The selection is simulated step by step, and the
   keys that it reads to compute a pivot are set to small values (after McIlroy, "A Killer Adversary for Quicksort",
   1999). */
static void make_worst_keys(int64_t *keys, size_t count) {
  size_t *place = malloc(count * sizeof *place),
         first = 0; /* place[i]: index in the input of the key that is now at position i */
  if (!place) abort();
  int64_t next = 0;
  for (size_t i = 0; i < count; i++) {
    keys[i] = INT64_MAX;
    place[i] = i;
  }
  while (count - first > 100) {
    int64_t pivot = spoil_pivot(keys, place + first, count - first, &next);
    size_t below = first;
    for (size_t i = first; i < count; i++) {
      size_t moved = place[i];
      place[i] = place[below];
      place[below] = moved;
      below += keys[moved] < pivot;
    }
    first = below;
  }
  for (size_t i = 0; i < count; i++)
    if (keys[i] == INT64_MAX) keys[i] = next++;
  free(place);
}

static void heap_sort_after_bad_pivots(void) {
  enum { COUNT = 4096 };
  int64_t *keys = malloc(COUNT * sizeof *keys);
  if (!keys) abort();
  make_worst_keys(keys, COUNT);
  int64_t *sorted = sorted_copy(keys, COUNT);
  struct hr_distribution got = hr__distribution_of_us(keys, COUNT, 0);
  expect_quantiles(&got, sorted, COUNT);
  free(keys);
  free(sorted);
}

static void expect_near(double got, double wanted) {
  if (fabs(got - wanted) > 1e-12 * fabs(wanted)) printf("\n  %.17g, wanted %.17g\n", got, wanted);
  CU_ASSERT_TRUE(fabs(got - wanted) <= 1e-12 * fabs(wanted));
}

static void expect_gsl(const struct hr_distribution *got, double *values, size_t count) {
  gsl_sort(values, 1, count);
  CU_ASSERT_EQUAL(got->count, count);
  expect_near(got->mean, gsl_stats_mean(values, 1, count));
  expect_near(got->p50, gsl_stats_quantile_from_sorted_data(values, 1, count, 0.50));
  expect_near(got->p90, gsl_stats_quantile_from_sorted_data(values, 1, count, 0.90));
  expect_near(got->p95, gsl_stats_quantile_from_sorted_data(values, 1, count, 0.95));
  expect_near(got->p99, gsl_stats_quantile_from_sorted_data(values, 1, count, 0.99));
  CU_ASSERT_EQUAL(got->max, values[count - 1]);
}

static void quantiles_of_durations_match_gsl(void) {
  for (size_t count = 1; count < 3000; count = count < 130 ? count + 1 : count * 3) {
    int64_t *us = make_keys(LOG_NORMAL, count);
    double *seconds = malloc(count * sizeof *seconds);
    if (!seconds) abort();
    hr__wide sum_us = 0;
    for (size_t i = 0; i < count; i++) {
      seconds[i] = (double)us[i] / 1e6;
      sum_us += (uint64_t)us[i];
    }
    struct hr_distribution got = hr__distribution_of_us(us, count, sum_us);
    expect_gsl(&got, seconds, count);
    free(us);
    free(seconds);
  }
}

static void quantiles_of_slowdowns_match_gsl(void) {
  enum { COUNT = 5000 };
  int64_t *keys = make_keys(UNIFORM, COUNT);
  double *values = malloc(COUNT * sizeof *values), sum = 0;
  if (!values) abort();
  for (size_t i = 0; i < COUNT; i++) {
    values[i] = i % 3 ? 1 + (double)keys[i] / 1e6 : 1;
    sum += values[i];
    keys[i] = hr__slowdown_key(values[i]);
  }
  struct hr_distribution got = hr__distribution_of_slowdowns(keys, COUNT, sum);
  expect_gsl(&got, values, COUNT);
  free(keys);
  free(values);
}

static void empty_distribution(void) {
  struct hr_distribution waits = hr__distribution_of_us(NULL, 0, 0);
  CU_ASSERT_EQUAL(waits.count, 0);
  CU_ASSERT_EQUAL(waits.max, 0);
  CU_ASSERT_EQUAL(hr__distribution_of_slowdowns(NULL, 0, 0).count, 0);
}

static void sums_exceed_64_bits(void) {
  int64_t us[] = {INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2};
  struct hr_distribution got = hr__distribution_of_us(us, 5, (hr__wide)(INT64_MAX / 2) * 5);
  expect_near(got.mean, (double)(INT64_MAX / 2) / 1e6);
  expect_near(got.p99, got.mean);
}

TEST_MAIN("report: quantiles", TEST(selection_matches_sorting), TEST(heap_sort_after_bad_pivots),
          TEST(quantiles_of_durations_match_gsl), TEST(quantiles_of_slowdowns_match_gsl), TEST(empty_distribution),
          TEST(sums_exceed_64_bits))
