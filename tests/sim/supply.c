/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Models of spot capacity against what they are to be on average. Seeds are fixed; each bound is four standard errors
 * or more, worked out beside it, so that a right model passes and one that is off by a few per cent does not.
 */

#include "sim/supply.h"
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_US (INT64_C(3600) * HR_SECOND_US)

/* ---- Lengths of time -------------------------------------------------------------------------------- */

/* The mean of many draws, in seconds, and its standard error. */
static double mean_of(struct hr_duration duration, uint32_t n, double *error) {
  struct hr__stream stream;
  double sum = 0, squares = 0;
  hr__stream_init(&stream, 1, HR__PURPOSE_BOOT, 0, 0);
  for (uint32_t i = 0; i < n; i++) {
    double s = (double)hr__duration_draw(&duration, &stream) / (double)HR_SECOND_US;
    sum += s;
    squares += s * s;
  }
  *error = sqrt((squares / n - sum / n * sum / n) / n);
  return sum / n;
}

static void durations_have_their_means(void) {
  static const struct hr_duration durations[] = {{HR_DURATION_FIXED, 12.5, 0},
                                                 {HR_DURATION_EXPONENTIAL, 300, 0},
                                                 {HR_DURATION_LOG_NORMAL, 5, 0.8},
                                                 {HR_DURATION_WEIBULL, 0.7, 1000}};
  for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
    double error, mean = mean_of(durations[i], 200000, &error);
    CU_ASSERT(fabs(mean - hr__duration_mean_s(&durations[i])) <= 4 * error + 1e-6);
  }
  CU_ASSERT_DOUBLE_EQUAL(hr__duration_mean_s(&durations[2]), exp(5 + 0.32), 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(hr__duration_mean_s(&durations[3]), 1000 * tgamma(1 + 1 / 0.7), 1e-6);
}

/* ---- On and off ------------------------------------------------------------------------------------- */

/* Log-normal stretches as fitted to availability of single V100s, in hours, by region. */
static const struct fitted {
  const char *region;
  double up_mu, up_sigma, down_mu, down_sigma;
} fitted[] = {{"us-east-1", -0.521, 1.225, -0.336, 1.350},
              {"us-east-2", 0.265, 1.630, -0.277, 1.322},
              {"us-west-2", 0.311, 1.777, -0.681, 0.955}};

static struct hr_spot_spec on_off(const struct fitted *f) {
  double ln_hour = log(3600);
  return (struct hr_spot_spec){.model = HR_SPOT_ON_OFF,
                               .up = {HR_DURATION_LOG_NORMAL, f->up_mu + ln_hour, f->up_sigma},
                               .down = {HR_DURATION_LOG_NORMAL, f->down_mu + ln_hour, f->down_sigma}};
}

/* Means over many zones of `hours` each: availability and reclaims per hour up, with their standard errors. */
static void measure_zones(struct hr_spot_spec spec, uint32_t n_zones, double hours, double found[2], double errors[2]) {
  double sum[2] = {0}, squares[2] = {0};
  for (uint32_t zone = 0; zone < n_zones; zone++) {
    struct hr__level_source source;
    spec.zone = zone;
    hr__level_source_init(&source, &spec, 1, 42, 0);
    int64_t end_us = (int64_t)(hours * (double)HOUR_US), up_us = 0;
    double lost = 0;
    struct hr_level_step step = hr__level_source_next(&source), next;
    for (; step.at_us < end_us; step = next) {
      next = hr__level_source_next(&source);
      if (step.level) up_us += (next.at_us < end_us ? next.at_us : end_us) - step.at_us;
      lost += step.level && next.at_us < end_us;
    }
    double value[2] = {(double)up_us / (double)end_us, lost / hours};
    for (int i = 0; i < 2; i++) sum[i] += value[i], squares[i] += value[i] * value[i];
  }
  for (int i = 0; i < 2; i++) {
    found[i] = sum[i] / n_zones;
    errors[i] = sqrt((squares[i] / n_zones - found[i] * found[i]) / n_zones);
  }
}

/* Also over spans far shorter than a stretch: zones are found as an outsider finds them. */
static void zones_are_up_and_reclaimed_as_their_means_say(void) {
  static const double spans_h[] = {0.5, 24, 2000};
  for (size_t i = 0; i < sizeof fitted / sizeof *fitted; i++) {
    struct hr_spot_spec spec = on_off(&fitted[i]);
    double up_h = hr__duration_mean_s(&spec.up) / 3600, down_h = hr__duration_mean_s(&spec.down) / 3600;
    for (size_t k = 0; k < sizeof spans_h / sizeof *spans_h; k++) {
      double found[2], errors[2];
      measure_zones(spec, 4000, spans_h[k], found, errors);
      CU_ASSERT(fabs(found[0] - up_h / (up_h + down_h)) < 4 * errors[0]);
      CU_ASSERT(fabs(found[1] - 1 / (up_h + down_h)) < 4 * errors[1]);
      CU_ASSERT(errors[0] < 0.01);
    }
  }
}

static void pools_of_a_zone_share_its_fate(void) {
  struct hr_spot_spec spec = on_off(&fitted[0]);
  struct hr__level_source a, b, other;
  hr__level_source_init(&a, &spec, 3, 7, 0);
  hr__level_source_init(&b, &spec, 16, 7, 0);
  spec.zone = 1;
  struct hr_spot_spec elsewhere = spec;
  hr__level_source_init(&other, &elsewhere, 3, 7, 0);
  spec.zone = 0;
  bool differs = false;
  for (int i = 0; i < 50; i++) {
    struct hr_level_step x = hr__level_source_next(&a), y = hr__level_source_next(&b),
                         z = hr__level_source_next(&other);
    CU_ASSERT_EQUAL(x.at_us, y.at_us);
    CU_ASSERT_EQUAL(x.level / 3, y.level / 16);
    differs = differs || x.at_us != z.at_us;
  }
  CU_ASSERT(differs);
}

/* ---- Records ---------------------------------------------------------------------------------------- */

static void a_record_goes_round_from_its_offset(void) {
  struct hr_level_step levels[] = {{0, 2}, {10, 0}, {30, 1}, {70, 2}};
  struct hr_spot_spec spec = {
      .model = HR_SPOT_TRACE, .levels = levels, .n_levels = 4, .period_us = 100, .offset_us = 235};
  static const struct hr_level_step wanted[] = {{0, 1}, {35, 2}, {75, 0}, {95, 1}, {135, 2}, {175, 0}};
  struct hr__level_source source;
  hr__level_source_init(&source, &spec, 2, 1, 0);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    struct hr_level_step step = hr__level_source_next(&source);
    CU_ASSERT_EQUAL(step.at_us, wanted[i].at_us);
    CU_ASSERT_EQUAL(step.level, wanted[i].level);
  }
  struct hr_level_step one[] = {{0, 1}};
  spec = (struct hr_spot_spec){.model = HR_SPOT_TRACE, .levels = one, .n_levels = 1, .period_us = 100};
  hr__level_source_init(&source, &spec, 2, 1, 0);
  CU_ASSERT_EQUAL(hr__level_source_next(&source).level, 1);
  CU_ASSERT_EQUAL(hr__level_source_next(&source).at_us, HR_NEVER_US);
}

/* ---- Blows ------------------------------------------------------------------------------------------ */

static void each_node_is_hit_at_its_rate_whatever_the_batch(void) {
  static const struct {
    uint32_t n_nodes;
    double batch_mean;
  } cases[] = {{1, 1}, {8, 1}, {8, 2.1}, {40, 5}, {3, 10}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hr_spot_spec spec = {.model = HR_SPOT_EXPONENTIAL, .rate_per_h = 0.25, .batch_mean = cases[i].batch_mean};
    struct hr__blow_source source;
    uint32_t nodes[40], count, first = 0;
    double hits = 0, blows = 0, squares = 0;
    int64_t at_us = 0, end_us = 400000 / (int64_t)cases[i].n_nodes * HOUR_US;
    hr__blow_source_init(&source, &spec, cases[i].n_nodes, 3, 0);
    while ((at_us = hr__blow_source_next(&source, nodes, &count)) < end_us) {
      hits += count;
      squares += (double)count * count;
      blows++;
      for (uint32_t k = 0; k < count; k++) {
        CU_ASSERT_FATAL(nodes[k] < cases[i].n_nodes && (k == 0 || nodes[k] > nodes[k - 1]));
        first += nodes[k] == 0;
      }
    }
    double node_hours = (double)end_us / (double)HOUR_US * cases[i].n_nodes;
    CU_ASSERT(fabs(hits / node_hours - 0.25) < 4 * sqrt(squares) / node_hours); /* a compound Poisson sum */
    CU_ASSERT(fabs(first / (node_hours / cases[i].n_nodes) - 0.25) <
              4 * sqrt(0.25 * cases[i].n_nodes / node_hours)); /* the first node alone: a Poisson count */
    double q = cases[i].batch_mean > 1 ? 1 - 1 / cases[i].batch_mean : 0;
    double mean = q > 0 ? (1 - pow(q, cases[i].n_nodes)) / (1 - q) : 1;
    CU_ASSERT(fabs(hits / blows - mean) < 4 * sqrt((squares / blows - mean * mean + 1e-12) / blows) + 1e-9);
  }
}

/* ---- Lives ------------------------------------------------------------------------------------------ */

static double bathtub_share(const struct hr_bathtub *b, double h) {
  double raw = b->a * (1 - exp(-h / b->tau1_h) + exp((h - b->b_h) / b->tau2_h));
  return h >= b->last_h ? 1 : raw < 0 ? 0 : raw > 1 ? 1 : raw;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov's distance of 20,000 lives from the distribution stays below 1.95 / sqrt(n), as it does in 999
   of 1,000 samples; at the last hour, where the distribution jumps, it is not asked. */
static void lives_have_the_shape_of_a_bathtub(void) {
  enum { N = 20000 };
  struct hr_spot_spec spec = {.model = HR_SPOT_BATHTUB, .bathtub = {0.45, 1, 0.8, 24, 24}};
  double *life_h = malloc(N * sizeof *life_h), farthest = 0, sum = 0;
  CU_ASSERT_PTR_NOT_NULL_FATAL(life_h);
  for (uint32_t i = 0; i < N; i++) {
    life_h[i] = (double)hr__life_draw(&spec, 5, i % 100, i / 100, 0) / (double)HOUR_US;
    sum += life_h[i];
  }
  qsort(life_h, N, sizeof *life_h, by_value);
  for (uint32_t i = 0; i < N && life_h[i] < 24; i++) {
    double share = bathtub_share(&spec.bathtub, life_h[i]);
    double distance = fmax(fabs(share - (double)i / N), fabs(share - (i + 1.0) / N));
    if (distance > farthest) farthest = distance;
  }
  CU_ASSERT(farthest < 1.95 / sqrt(N));
  CU_ASSERT(life_h[N - 1] <= 24);
  CU_ASSERT(fabs(sum / N - hr__spot_mean_life_s(&spec) / 3600) < 4 * 12 / sqrt(N));
  free(life_h);
}

static void draws_do_not_depend_on_other_draws(void) {
  struct hr_spot_spec spec = {.model = HR_SPOT_BATHTUB, .bathtub = {0.45, 1, 0.8, 24, 24}};
  int64_t third = hr__life_draw(&spec, 5, 7, 3, 0);
  hr__life_draw(&spec, 5, 7, 1, 0);
  hr__life_draw(&spec, 5, 8, 3, 0);
  CU_ASSERT_EQUAL(hr__life_draw(&spec, 5, 7, 3, 0), third);
  CU_ASSERT_NOT_EQUAL(hr__life_draw(&spec, 5, 7, 4, 0), third);
  CU_ASSERT_NOT_EQUAL(hr__life_draw(&spec, 5, 8, 3, 0), third);
  CU_ASSERT_NOT_EQUAL(hr__life_draw(&spec, 5, 7, 3, 1), third);
  CU_ASSERT_NOT_EQUAL(hr__life_draw(&spec, 6, 7, 3, 0), third);
}

TEST_MAIN("supply", TEST(durations_have_their_means), TEST(zones_are_up_and_reclaimed_as_their_means_say),
          TEST(pools_of_a_zone_share_its_fate), TEST(a_record_goes_round_from_its_offset),
          TEST(each_node_is_hit_at_its_rate_whatever_the_batch), TEST(lives_have_the_shape_of_a_bathtub),
          TEST(draws_do_not_depend_on_other_draws))
