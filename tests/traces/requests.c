/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drawn requests: rates, variation and tokens are compared with closed forms. The seed is fixed, and the bounds are
   several standard errors wide. */
#include "harness.h"
#include "headroom/unstable/trace_tools.h"

#include "trace_files.h"

#include <math.h>
#include <string.h>

static struct hr_service service_of(double rate_per_s, uint64_t count) {
  static char name[] = "s";
  return (struct hr_service){.name = name,
                             .draw = {.rate_per_s = rate_per_s,
                                      .cv = 1,
                                      .growth_per_year = 1,
                                      .prompt = {.mean = 10, .min = 1},
                                      .output = {.mean = 5, .min = 1},
                                      .count = count}};
}

static struct hr_service_requests drawn(const struct hr_service *service, uint32_t index, uint64_t seed) {
  struct hr_service_requests requests;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr_requests_of_service(service, index, seed, &requests, &error), HR_OK);
  for (uint32_t i = 1; i < requests.count; i++) CU_ASSERT_FATAL(requests.arrival_us[i] >= requests.arrival_us[i - 1]);
  return requests;
}

/* Mean and variation of the gaps in seconds. */
static void gaps_of(const struct hr_service_requests *requests, double *mean, double *cv) {
  double sum = 0, squares = 0;
  for (uint32_t i = 0; i < requests->count; i++) {
    const double gap = (double)(requests->arrival_us[i] - (i ? requests->arrival_us[i - 1] : 0)) / 1e6;
    sum += gap;
    squares += gap * gap;
  }
  *mean = sum / requests->count;
  *cv = sqrt(squares / requests->count - *mean * *mean) / *mean;
}

static void gaps_have_rate_and_variation(void) {
  static const struct {
    enum hr_request_arrivals arrivals;
    double cv;
  } rows[] = {{HR_ARRIVALS_POISSON, 1}, {HR_ARRIVALS_GAMMA, 1}, {HR_ARRIVALS_GAMMA, 0.5}, {HR_ARRIVALS_GAMMA, 3}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hr_service service = service_of(20, 400000);
    service.draw.arrivals = rows[i].arrivals;
    service.draw.cv = rows[i].cv;
    struct hr_service_requests requests = drawn(&service, 0, 1);
    double mean, cv;
    gaps_of(&requests, &mean, &cv);
    CU_ASSERT_EQUAL(requests.count, 400000);
    CU_ASSERT_DOUBLE_EQUAL(mean * 20, 1, 4 * rows[i].cv / sqrt(400000));
    CU_ASSERT_DOUBLE_EQUAL(cv / rows[i].cv, 1, 0.03);
    hr_requests_finish(&requests);
  }
}

/* Counts requests by hour of the day or weekday, and compares them with the factors. */
static void hours_and_weekdays_have_their_factors(void) {
  double hourly[24], weekly[7] = {1, 1, 1, 1, 1, 0, 0.5}, by_hour[24] = {0}, by_day[7] = {0};
  for (int i = 0; i < 24; i++) hourly[i] = i < 8 ? 1 : 4; /* mean 3 */
  struct hr_service service = service_of(0.5, 0);
  service.draw.hourly = hourly;
  service.draw.n_hourly = 24;
  service.draw.weekly = weekly;
  service.draw.n_weekly = 7;
  service.draw.duration_us = INT64_C(4) * 7 * 86400 * HR_SECOND_US;
  struct hr_service_requests requests = drawn(&service, 0, 1);
  const double expected = 0.5 * 4 * 7 * 86400;
  CU_ASSERT_DOUBLE_EQUAL(hr_request_draw_expected(&service.draw, service.draw.duration_us), expected, 1);
  CU_ASSERT_DOUBLE_EQUAL(requests.count, expected, 4 * sqrt(expected));
  CU_ASSERT_TRUE(requests.arrival_us[requests.count - 1] < service.draw.duration_us);
  for (uint32_t i = 0; i < requests.count; i++) {
    const int64_t hour = requests.arrival_us[i] / (HR_SECOND_US * 3600);
    by_hour[hour % 24]++;
    by_day[hour / 24 % 7]++;
  }
  for (int i = 0; i < 24; i++) {
    const double mean = expected / 24 * hourly[i] / 3;
    CU_ASSERT_DOUBLE_EQUAL(by_hour[i], mean, 5 * sqrt(mean));
  }
  for (int i = 0; i < 7; i++) {
    const double mean = expected * weekly[i] / 5.5;
    CU_ASSERT_DOUBLE_EQUAL(by_day[i], mean, 5 * sqrt(mean));
  }
  hr_requests_finish(&requests);
}

/* If the rate grows by the factor g per year, the number of requests in the first two years is (g^2 - 1) / ln g times
   the number in a year at the initial rate. */
static void rates_grow(void) {
  struct hr_service service = service_of(0.02, 0);
  service.draw.growth_per_year = 3;
  service.draw.duration_us = INT64_C(2) * 365 * 86400 * HR_SECOND_US;
  const double expected = 0.02 * 365 * 86400 * 8 / log(3);
  struct hr_service_requests requests = drawn(&service, 0, 1);
  CU_ASSERT_DOUBLE_EQUAL(hr_request_draw_expected(&service.draw, service.draw.duration_us) / expected, 1, 1e-4);
  CU_ASSERT_DOUBLE_EQUAL(requests.count, expected, 5 * sqrt(expected));
  hr_requests_finish(&requests);
}

static void tokens_have_mean_and_spread(void) {
  static const struct {
    struct hr_token_law law;
    double mean, sd; /* closed forms */
  } rows[] = {{{HR_TOKENS_FIXED, 128, 0, 1, 0, NULL}, 128, 0},
              {{HR_TOKENS_EXPONENTIAL, 1, 0, 1, 0, NULL}, 1, 0},
              {{HR_TOKENS_EXPONENTIAL, 7, 0, 1, 0, NULL}, 7, 6.48074},        /* sqrt(7 x 6) */
              {{HR_TOKENS_LOG_NORMAL, 1000, 1, 1, 0, NULL}, 1000, 1310.8325}, /* 1000 sqrt(e - 1) */
              {{HR_TOKENS_FIXED, 128, 0, 200, 0, NULL}, 200, 0},
              {{HR_TOKENS_EXPONENTIAL, 7, 0, 1, 2, NULL}, 1 + 6.0 / 7, 0.34993}}; /* P(2) = 6 / 7 */
  const uint32_t n = 400000;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hr_service service = service_of(20, n);
    service.draw.prompt = service.draw.output = rows[i].law;
    struct hr_service_requests requests = drawn(&service, 0, 1);
    double sum = 0, squares = 0, product = 0;
    for (uint32_t k = 0; k < n; k++) {
      const double a = requests.prompt_tokens[k], b = requests.output_tokens[k];
      CU_ASSERT_FATAL(a >= 1 && b >= 1);
      sum += a + b;
      squares += a * a + b * b;
      product += (a - rows[i].mean) * (b - rows[i].mean);
    }
    const double mean = sum / (2.0 * n), sd = sqrt(fmax(0, squares / (2.0 * n) - mean * mean));
    CU_ASSERT_DOUBLE_EQUAL(mean, rows[i].mean, 1e-9 + 4 * rows[i].sd / sqrt(2.0 * n));
    CU_ASSERT_DOUBLE_EQUAL(sd, rows[i].sd, 1e-3 + 0.03 * rows[i].sd);
    /* prompt and output are independent */
    CU_ASSERT_DOUBLE_EQUAL(product / n, 0, 1e-6 + 5 * rows[i].sd * rows[i].sd / sqrt(n));
    hr_requests_finish(&requests);
  }
}

/* The expected mean is compared with the mean of draws. The bound is five standard errors. */
static void means_are_those_of_draws(void) {
  static const struct hr_token_law laws[] = {
      {HR_TOKENS_FIXED, 12, 0, 1, 0, NULL},           {HR_TOKENS_FIXED, 12, 0, 20, 0, NULL},
      {HR_TOKENS_EXPONENTIAL, 10.6, 0, 1, 0, NULL},   {HR_TOKENS_EXPONENTIAL, 1.25, 0, 1, 0, NULL},
      {HR_TOKENS_EXPONENTIAL, 10.6, 0, 4, 9, NULL},   {HR_TOKENS_LOG_NORMAL, 10.6, 0.5, 1, 0, NULL},
      {HR_TOKENS_LOG_NORMAL, 1.5, 1, 1, 0, NULL},     {HR_TOKENS_LOG_NORMAL, 1000, 1, 1, 8000, NULL},
      {HR_TOKENS_LOG_NORMAL, 20, 1.5, 5, 100, NULL},  {HR_TOKENS_LOG_NORMAL, 10.6, 0, 1, 0, NULL},
      {HR_TOKENS_LOG_NORMAL, 10.6, 0.01, 1, 0, NULL}, {HR_TOKENS_LOG_NORMAL, 9000, 0.3, 1, 0, NULL},
  };
  const uint32_t n = 50000;
  for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
    struct hr_service service = service_of(20, n);
    service.draw.prompt = laws[i];
    struct hr_service_requests requests = drawn(&service, 0, 1);
    double sum = 0, squares = 0;
    for (uint32_t k = 0; k < n; k++) {
      sum += requests.prompt_tokens[k];
      squares += (double)requests.prompt_tokens[k] * requests.prompt_tokens[k];
    }
    const double mean = sum / n, sd = sqrt(fmax(0, squares / n - mean * mean));
    CU_ASSERT_DOUBLE_EQUAL(hr_token_law_mean(&laws[i]), mean, 1e-9 + 5 * sd / sqrt(n));
    /* For these laws, the mean of the draws is the stated mean, although tokens are whole numbers. For other laws,
       bounds or rounding may change the mean. */
    if (i == 2 || i == 3 || i == 5 || i == 11) CU_ASSERT_DOUBLE_EQUAL(mean, laws[i].mean, 5 * sd / sqrt(n));
    hr_requests_finish(&requests);
  }
}

/* Rows of a trace: prompt and output are drawn together. */
static void empirical_tokens_are_rows(void) {
  char path[300];
  snprintf(path, sizeof path, "%s",
           file_write_text("rows.csv", "arrival_timestamp,prompt_size,token_size\n0,10,1\n1,20,2\n2,30,3\n3,40,4\n"));
  struct hr_service service = service_of(1, 40000);
  service.draw.prompt = service.draw.output = (struct hr_token_law){HR_TOKENS_EMPIRICAL, 0, 0, 1, 0, path};
  struct hr_service_requests requests = drawn(&service, 0, 1);
  uint32_t counts[5] = {0};
  for (uint32_t i = 0; i < requests.count; i++) {
    CU_ASSERT_EQUAL(requests.prompt_tokens[i], 10 * requests.output_tokens[i]);
    counts[requests.output_tokens[i]]++;
  }
  for (int i = 1; i <= 4; i++) CU_ASSERT_DOUBLE_EQUAL(counts[i], 10000, 450);
  hr_requests_finish(&requests);
}

static bool same(const struct hr_service_requests *a, const struct hr_service_requests *b, uint32_t count) {
  return memcmp(a->arrival_us, b->arrival_us, count * sizeof *a->arrival_us) == 0 &&
         memcmp(a->prompt_tokens, b->prompt_tokens, count * sizeof *a->prompt_tokens) == 0 &&
         memcmp(a->output_tokens, b->output_tokens, count * sizeof *a->output_tokens) == 0;
}

/* Equal seeds and services give equal requests; another seed or service gives different ones. A seed of the service
   replaces that of the run. The rate changes the times but not the tokens. */
static void seeds(void) {
  struct hr_service service = service_of(1, 1000), longer = service_of(1, 2000), faster = service_of(2, 1000);
  service.draw.prompt = longer.draw.prompt = faster.draw.prompt =
      (struct hr_token_law){HR_TOKENS_LOG_NORMAL, 100, 1, 1, 0, NULL};
  struct hr_service seeded = service;
  seeded.draw.seed = 2;
  struct hr_service_requests first = drawn(&service, 0, 1), again = drawn(&longer, 0, 1), other = drawn(&service, 0, 2),
                             second = drawn(&service, 1, 1), own = drawn(&seeded, 0, 1), fast = drawn(&faster, 0, 1);
  CU_ASSERT_TRUE(same(&first, &again, 1000));
  CU_ASSERT_FALSE(same(&first, &other, 1000));
  CU_ASSERT_FALSE(same(&first, &second, 1000));
  CU_ASSERT_TRUE(same(&own, &other, 1000));
  CU_ASSERT_EQUAL(memcmp(first.prompt_tokens, fast.prompt_tokens, 1000 * sizeof *first.prompt_tokens), 0);
  CU_ASSERT_DOUBLE_EQUAL((double)first.arrival_us[999], 2 * (double)fast.arrival_us[999], 2);
  CU_ASSERT_TRUE(hr_requests_are_random(&service));
  CU_ASSERT_FALSE(hr_requests_are_random(&seeded));
  struct hr_service_requests *all[] = {&first, &again, &other, &second, &own, &fast};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) hr_requests_finish(all[i]);
}

TEST_MAIN("drawn requests", TEST(gaps_have_rate_and_variation), TEST(hours_and_weekdays_have_their_factors),
          TEST(rates_grow), TEST(tokens_have_mean_and_spread), TEST(means_are_those_of_draws),
          TEST(empirical_tokens_are_rows), TEST(seeds))
