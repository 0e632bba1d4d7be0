/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Levels of spot capacity: records that are repeated, and zones that are on or off. */

#include "sim/market/market.h"
#include "statistics.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sf_gamma.h>

#define HOUR_S 3600.0
/* The logarithm of the number of seconds of an hour. The parameters below are logarithms of hours. */
#define LOG_HOUR 8.188689124444202

/* ---- Records ---- */

enum { PERIOD = 40, SPAN = 200 };

static struct hr_spot_spec record_of(struct hr_level_step *levels, uint32_t n_levels, int64_t offset_us) {
  return (struct hr_spot_spec){
      .model = HR_SPOT_TRACE, .levels = levels, .n_levels = n_levels, .period_us = PERIOD, .offset_us = offset_us};
}

/* Returns the level of the record at a time of the run, by examining all steps. */
static uint32_t level_at(const struct hr_spot_spec *spec, uint32_t n_nodes, int64_t at_us) {
  uint32_t level = 0;
  for (uint32_t i = 0; i < spec->n_levels; i++)
    if (spec->levels[i].at_us <= (at_us + spec->offset_us) % PERIOD) level = spec->levels[i].level;
  return level < n_nodes ? level : n_nodes;
}

static void expect_record(const struct hr_spot_spec *spec, uint32_t n_nodes) {
  struct hr__level_source source;
  hr__level_source_init(&source, spec, n_nodes, 1, 0);
  struct hr_level_step step = hr__level_source_next(&source);
  CU_ASSERT_EQUAL_FATAL(step.at_us, 0);
  struct hr_level_step next = hr__level_source_next(&source);
  for (int64_t at_us = 0; at_us < SPAN; at_us++) {
    if (next.at_us == at_us) {
      CU_ASSERT_NOT_EQUAL_FATAL(next.level, step.level);
      step = next;
      next = hr__level_source_next(&source);
    }
    CU_ASSERT_FATAL(next.at_us > at_us);
    CU_ASSERT_EQUAL_FATAL(step.level, level_at(spec, n_nodes, at_us));
  }
}

static void records_repeat_from_any_offset(void) {
  struct hr_level_step uneven[] = {{0, 4}, {10, 2}, {25, 0}, {30, 3}};
  struct hr_level_step same_at_the_seam[] = {{0, 1}, {15, 0}, {39, 1}};
  struct hr_level_step flat_when_cut[] = {{0, 3}, {7, 4}, {8, 3}, {20, 2}};
  for (int64_t offset_us = 0; offset_us <= 2 * PERIOD + 5; offset_us++)
    for (uint32_t n_nodes = 1; n_nodes <= 5; n_nodes++) {
      struct hr_spot_spec spec = record_of(uneven, 4, offset_us);
      expect_record(&spec, n_nodes);
      spec = record_of(same_at_the_seam, 3, offset_us);
      expect_record(&spec, n_nodes);
      spec = record_of(flat_when_cut, 4, offset_us);
      expect_record(&spec, n_nodes);
    }
}

static void expect_one_step(const struct hr_spot_spec *spec, uint32_t level) {
  struct hr__level_source source;
  hr__level_source_init(&source, spec, 8, 1, 0);
  struct hr_level_step first = hr__level_source_next(&source);
  CU_ASSERT_EQUAL(first.at_us, 0);
  CU_ASSERT_EQUAL(first.level, level);
  for (int i = 0; i < 3; i++) CU_ASSERT_EQUAL(hr__level_source_next(&source).at_us, HR_NEVER_US);
}

static void constant_level_has_one_step(void) {
  struct hr_level_step one[] = {{0, 5}};
  struct hr_spot_spec record = record_of(one, 1, 17);
  expect_one_step(&record, 5);
  const enum hr_spot_model without_levels[] = {HR_SPOT_NONE, HR_SPOT_EXPONENTIAL, HR_SPOT_ADVISOR, HR_SPOT_BATHTUB};
  for (size_t i = 0; i < sizeof without_levels / sizeof *without_levels; i++) {
    struct hr_spot_spec spec = {.model = without_levels[i], .rate_per_h = 1};
    expect_one_step(&spec, 8);
  }
}

/* ---- On and off ---- */

#define LOG_NORMAL_H(mu, sigma)                                                                                        \
  { HR_DURATION_LOG_NORMAL, (mu) + LOG_HOUR, sigma }
#define WEIBULL_H(shape, scale_h)                                                                                      \
  { HR_DURATION_WEIBULL, shape, (scale_h)*HOUR_S }

static const struct hr_spot_spec zones[] = {
    {.model = HR_SPOT_ON_OFF, .up = LOG_NORMAL_H(-0.521, 1.225), .down = LOG_NORMAL_H(-0.336, 1.350)},
    {.model = HR_SPOT_ON_OFF, .up = LOG_NORMAL_H(0.311, 1.777), .down = LOG_NORMAL_H(-0.681, 0.955)},
    {.model = HR_SPOT_ON_OFF, .up = WEIBULL_H(0.588, 1.785), .down = WEIBULL_H(0.707, 1.324)},
    {.model = HR_SPOT_ON_OFF, .up = {HR_DURATION_EXPONENTIAL, 7200, 0}, .down = {HR_DURATION_FIXED, 1800, 0}}};
enum { N_ZONES = sizeof zones / sizeof *zones };

static double variance_s2(const struct hr_duration *duration) {
  double mean = hr__duration_mean_s(duration);
  switch (duration->kind) {
  case HR_DURATION_FIXED:
    return 0;
  case HR_DURATION_EXPONENTIAL:
    return mean * mean;
  case HR_DURATION_LOG_NORMAL:
    return mean * mean * expm1(duration->b * duration->b);
  case HR_DURATION_WEIBULL:
    break;
  }
  return duration->b * duration->b * gsl_sf_gamma(1 + 2 / duration->a) - mean * mean;
}

static double share_up(const struct hr_spot_spec *spec) {
  double up_s = hr__duration_mean_s(&spec->up), down_s = hr__duration_mean_s(&spec->down);
  return up_s / (up_s + down_s);
}

/* Sums the times up and down over whole periods. The first period is skipped because it begins before the run. */
static void sum_periods(const struct hr_spot_spec *spec, uint32_t cycles, double *up_s, double *down_s) {
  struct hr__level_source source;
  hr__level_source_init(&source, spec, 7, 45, 0);
  hr__level_source_next(&source);
  struct hr_level_step step = hr__level_source_next(&source);
  *up_s = *down_s = 0;
  for (uint32_t i = 0; i < 2 * cycles; i++) {
    struct hr_level_step next = hr__level_source_next(&source);
    CU_ASSERT_FATAL(next.at_us > step.at_us && next.level == 7 - step.level);
    *(step.level ? up_s : down_s) += (double)(next.at_us - step.at_us) / (double)HR_SECOND_US;
    step = next;
  }
}

/* The share of time in which a zone is up is a quotient of two sums. Its standard error is derived from the difference
   (1 - share) x up - share x down of each cycle. The mean of this difference is 0. */
static void availability_and_reclaim_rate(void) {
  enum { CYCLES = 100000 };
  for (size_t i = 0; i < N_ZONES; i++) {
    const struct hr_spot_spec *spec = &zones[i];
    double up_s, down_s, share = share_up(spec);
    sum_periods(spec, CYCLES, &up_s, &down_s);
    double up_error_s = sqrt(variance_s2(&spec->up) / CYCLES), down_error_s = sqrt(variance_s2(&spec->down) / CYCLES);
    double cycle_s = hr__duration_mean_s(&spec->up) + hr__duration_mean_s(&spec->down);
    expect_within("availability", up_s / (up_s + down_s), share,
                  hypot((1 - share) * up_error_s, share * down_error_s) / cycle_s);
    expect_within("time up per reclaim", up_s / CYCLES, hr__spot_mean_life_s(spec), up_error_s);
  }
}

/* Returns the probability that the up period that contains a random time ends less than `x` after this time. The
   probability is the integral of the survival function from 0 to `x`, divided by the mean up time. */
static double rest_below(const void *self, double x) {
  const struct hr_duration *up = self;
  double a = up->a, b = up->b, mean = hr__duration_mean_s(up);
  switch (up->kind) {
  case HR_DURATION_FIXED:
    return fmin(x / a, 1);
  case HR_DURATION_EXPONENTIAL:
    return gsl_cdf_exponential_P(x, a);
  case HR_DURATION_LOG_NORMAL:
    return gsl_cdf_lognormal_P(x, a + b * b, b) + x * gsl_cdf_lognormal_Q(x, a, b) / mean;
  case HR_DURATION_WEIBULL:
    break;
  }
  return gsl_cdf_gamma_P(pow(x / b, a), 1 / a, 1);
}

/* The run begins in the stationary state, so the probability that the zone is up is the same at every time. */
static void run_begins_in_stationary_state(void) {
  enum { RUNS = 20000, TIMES = 4 };
  static const int64_t at_s[TIMES] = {0, 1200, 7200, 86400};
  double *rest_s = malloc(RUNS * sizeof *rest_s);
  for (size_t i = 0; i < N_ZONES; i++) {
    uint32_t n_up[TIMES] = {0};
    for (uint32_t run = 0; run < RUNS; run++) {
      struct hr__level_source source;
      hr__level_source_init(&source, &zones[i], 1, 8, run);
      struct hr_level_step step = hr__level_source_next(&source), next = hr__level_source_next(&source);
      if (step.level) rest_s[n_up[0]] = (double)next.at_us / (double)HR_SECOND_US;
      for (int t = 0; t < TIMES; t++) {
        for (; next.at_us <= at_s[t] * HR_SECOND_US; next = hr__level_source_next(&source)) step = next;
        n_up[t] += step.level;
      }
    }
    double share = share_up(&zones[i]);
    for (int t = 0; t < TIMES; t++)
      expect_within("share up", n_up[t] / (double)RUNS, share, sqrt(share * (1 - share) / RUNS));
    expect_distributed("rest of the first period", rest_s, n_up[0], rest_below, &zones[i].up);
  }
  free(rest_s);
}

/* ---- The same for all policies ---- */

enum { STEPS = 500 };

static bool same_times(const struct hr_spot_spec *a, const struct hr_spot_spec *b, uint32_t n_nodes,
                       uint32_t replication) {
  struct hr__level_source of_a, of_b;
  hr__level_source_init(&of_a, a, 4, 6, 0);
  hr__level_source_init(&of_b, b, n_nodes, 6, replication);
  bool same = true;
  for (int i = 0; i < STEPS; i++) {
    struct hr_level_step x = hr__level_source_next(&of_a), y = hr__level_source_next(&of_b);
    same = same && x.at_us == y.at_us && !x.level == !y.level;
  }
  return same;
}

static void pools_of_a_zone_have_equal_times(void) {
  struct hr_spot_spec zone = zones[0], other = zones[0];
  other.zone = 1;
  CU_ASSERT(same_times(&zone, &zone, 4, 0));
  CU_ASSERT(same_times(&zone, &zone, 900, 0));
  CU_ASSERT_FALSE(same_times(&zone, &other, 4, 0));
  CU_ASSERT_FALSE(same_times(&zone, &zone, 4, 1));
}

TEST_MAIN("levels of spot capacity", TEST(records_repeat_from_any_offset), TEST(constant_level_has_one_step),
          TEST(availability_and_reclaim_rate), TEST(run_begins_in_stationary_state),
          TEST(pools_of_a_zone_have_equal_times))
