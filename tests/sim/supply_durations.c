/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random durations compared with their distributions. */

#include "sim/market/market.h"
#include "statistics.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sf_gamma.h>

enum { DRAWS = 300000 };

/* The durations that are tested. Their parameters, in seconds, are in the ranges that occur in spot records. */
static const struct hr_duration kinds[] = {{HR_DURATION_EXPONENTIAL, 5000, 0},
                                           {HR_DURATION_LOG_NORMAL, 7.9737, 1.481},
                                           {HR_DURATION_LOG_NORMAL, 3, 0.2},
                                           {HR_DURATION_WEIBULL, 0.588, 6426},
                                           {HR_DURATION_WEIBULL, 2.5, 90}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static double below(const void *self, double seconds) {
  const struct hr_duration *duration = self;
  switch (duration->kind) {
  case HR_DURATION_EXPONENTIAL:
    return gsl_cdf_exponential_P(seconds, duration->a);
  case HR_DURATION_LOG_NORMAL:
    return gsl_cdf_lognormal_P(seconds, duration->a, duration->b);
  case HR_DURATION_WEIBULL:
    return gsl_cdf_weibull_P(seconds, duration->b, duration->a);
  case HR_DURATION_FIXED:
    break;
  }
  return seconds < duration->a ? 0 : 1;
}

static double deviation_s(const struct hr_duration *duration) {
  double mean = hr__duration_mean_s(duration);
  if (duration->kind == HR_DURATION_EXPONENTIAL) return mean;
  if (duration->kind == HR_DURATION_LOG_NORMAL) return mean * sqrt(expm1(duration->b * duration->b));
  double second = duration->b * duration->b * gsl_sf_gamma(1 + 2 / duration->a);
  return sqrt(second - mean * mean);
}

static struct hr__stream stream_of(uint32_t entity) {
  struct hr__stream stream;
  hr__stream_init(&stream, 2023, HR__PURPOSE_BOOT, entity, 0);
  return stream;
}

static void draws_follow_their_distribution(void) {
  double *seconds = malloc(DRAWS * sizeof *seconds);
  for (uint32_t k = 0; k < N_KINDS; k++) {
    struct hr__stream stream = stream_of(k);
    double sum = 0;
    for (int i = 0; i < DRAWS; i++) {
      seconds[i] = (double)hr__duration_draw(&kinds[k], &stream) / (double)HR_SECOND_US;
      sum += seconds[i];
    }
    expect_within("mean", sum / DRAWS, hr__duration_mean_s(&kinds[k]), deviation_s(&kinds[k]) / sqrt(DRAWS));
    expect_distributed("draws", seconds, DRAWS, below, &kinds[k]);
  }
  free(seconds);
}

static void means_have_closed_forms(void) {
  CU_ASSERT_EQUAL(hr__duration_mean_s(&(struct hr_duration){HR_DURATION_FIXED, 90.5, 0}), 90.5);
  CU_ASSERT_EQUAL(hr__duration_mean_s(&(struct hr_duration){HR_DURATION_EXPONENTIAL, 90.5, 0}), 90.5);
  CU_ASSERT_DOUBLE_EQUAL(hr__duration_mean_s(&(struct hr_duration){HR_DURATION_LOG_NORMAL, 0, 1}), 1.6487212707, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(hr__duration_mean_s(&(struct hr_duration){HR_DURATION_WEIBULL, 1, 7}), 7, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(hr__duration_mean_s(&(struct hr_duration){HR_DURATION_WEIBULL, 0.5, 7}), 14, 1e-12);
}

static void fixed_durations_are_exact(void) {
  static const struct {
    double seconds;
    int64_t us;
  } cases[] = {{90.5, 90500000}, {1e-6, 1}, {0, 1}, {2.4999e-6, 2}, {2.5e-6, 3}, {31536000, INT64_C(31536000000000)}};
  struct hr__stream stream = stream_of(0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hr_duration duration = {HR_DURATION_FIXED, cases[i].seconds, 0};
    CU_ASSERT_EQUAL(hr__duration_draw(&duration, &stream), cases[i].us);
  }
}

/* Draws are limited, so that sums of durations cannot overflow. */
static void extreme_durations_are_limited(void) {
  const int64_t century_us = INT64_C(100) * 365 * 86400 * HR_SECOND_US;
  struct hr_duration never = {HR_DURATION_LOG_NORMAL, 700, 0.1}, at_once = {HR_DURATION_LOG_NORMAL, -700, 0.1},
                     scattered = {HR_DURATION_WEIBULL, 0.001, 3600};
  struct hr__stream stream = stream_of(1);
  CU_ASSERT_EQUAL(hr__duration_draw(&never, &stream), century_us);
  CU_ASSERT_EQUAL(hr__duration_draw(&at_once, &stream), 1);
  for (int i = 0; i < 1000; i++) {
    int64_t drawn_us = hr__duration_draw(&scattered, &stream);
    CU_ASSERT_FATAL(drawn_us >= 1 && drawn_us <= century_us);
  }
}

TEST_MAIN("lengths of time", TEST(draws_follow_their_distribution), TEST(means_have_closed_forms),
          TEST(fixed_durations_are_exact), TEST(extreme_durations_are_limited))
