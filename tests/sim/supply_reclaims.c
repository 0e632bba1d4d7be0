/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spot nodes that are reclaimed at a given rate, alone or in groups, and spot nodes with a limited lifetime. */

#include "sim/market/market.h"
#include "statistics.h"

#include <gsl/gsl_cdf.h>

#define HOUR_US (3600 * (double)HR_SECOND_US)

/* ---- Group interruptions ---- */

enum { MAX_NODES = 64 };

struct tally {
  uint32_t n_interruptions, size[MAX_NODES + 1], reclaims[MAX_NODES];
};

/* Counts the interruptions up to a time. Checks that the nodes of each interruption are distinct and ascending. */
static struct tally interruptions_of(const struct hr_spot_spec *spec, uint32_t n_nodes, double hours) {
  struct tally tally = {0};
  struct hr__interruption_source source;
  hr__interruption_source_init(&source, spec, n_nodes, 77, 3);
  uint32_t nodes[MAX_NODES], count;
  int64_t before_us = 0, at_us;
  while ((double)(at_us = hr__interruption_source_next(&source, nodes, &count)) < hours * HOUR_US) {
    CU_ASSERT_FATAL(at_us > before_us && count >= 1 && count <= n_nodes);
    for (uint32_t i = 0; i < count; i++) {
      CU_ASSERT_FATAL(nodes[i] < n_nodes && (i == 0 || nodes[i] > nodes[i - 1]));
      tally.reclaims[nodes[i]]++;
    }
    tally.n_interruptions++;
    tally.size[count]++;
    before_us = at_us;
  }
  return tally;
}

/* Returns the probability that an interruption reclaims `size` nodes. The size is one plus a geometric random variable,
   limited to the number of nodes. */
static double share_of_size(double batch_mean, uint32_t n_nodes, uint32_t size) {
  double q = 1 - 1 / batch_mean;
  return pow(q, size - 1) * (size == n_nodes ? 1 : 1 - q);
}

static void expect_sizes(const struct tally *tally, double batch_mean, uint32_t n_nodes) {
  double chi_squared = 0, tail = 0;
  uint32_t cells = 0, tail_seen = 0;
  for (uint32_t size = 1; size <= n_nodes; size++) {
    double expected = tally->n_interruptions * share_of_size(batch_mean, n_nodes, size);
    if (expected < 10) { /* too few for a separate cell of the test */
      tail += expected;
      tail_seen += tally->size[size];
      continue;
    }
    chi_squared += pow(tally->size[size] - expected, 2) / expected;
    cells++;
  }
  if (tail >= 10) {
    chi_squared += pow(tail_seen - tail, 2) / tail;
    cells++;
  }
  if (cells > 1) CU_ASSERT(gsl_cdf_chisq_Q(chi_squared, cells - 1) > 1e-5);
}

/* Each node is interrupted at the specified rate, for all sizes of groups. */
static void each_node_is_reclaimed_at_the_rate(void) {
  static const uint32_t n_nodes[] = {1, 2, 5, 64};
  static const double batch_mean[] = {1, 1.5, 2.1, 9.4, 1000, 1e12};
  const double rate_per_h = 0.6, expected = 4000;
  for (size_t i = 0; i < sizeof n_nodes / sizeof *n_nodes; i++)
    for (size_t k = 0; k < sizeof batch_mean / sizeof *batch_mean; k++) {
      struct hr_spot_spec spec = {.model = HR_SPOT_EXPONENTIAL, .rate_per_h = rate_per_h, .batch_mean = batch_mean[k]};
      struct tally tally = interruptions_of(&spec, n_nodes[i], expected / rate_per_h);
      for (uint32_t node = 0; node < n_nodes[i]; node++)
        expect_within("hits of a node", tally.reclaims[node], expected, sqrt(expected));
      expect_sizes(&tally, batch_mean[k], n_nodes[i]);
    }
}

static double gap_below(const void *self, double hours) {
  const double *per_h = self;
  return gsl_cdf_exponential_P(hours, 1 / *per_h);
}

/* 20 nodes, each with a rate r. Interruptions would reclaim 3 nodes on average if their size were not limited to 20.
   The rate of interruptions is 20 r (1 - q) / (1 - q^20) with q = 2/3. */
static void interruptions_are_a_poisson_process(void) {
  enum { INTERRUPTIONS = 20000 };
  struct hr_spot_spec spec = {.model = HR_SPOT_ADVISOR, .rate_per_h = 0.01, .batch_mean = 3};
  double *hours = malloc(INTERRUPTIONS * sizeof *hours), per_h = 20 * 0.01 / 3 / (1 - pow(2 / 3.0, 20));
  struct hr__interruption_source source;
  hr__interruption_source_init(&source, &spec, 20, 5, 0);
  uint32_t nodes[20], count;
  int64_t before_us = 0;
  for (int i = 0; i < INTERRUPTIONS; i++) {
    int64_t at_us = hr__interruption_source_next(&source, nodes, &count);
    hours[i] = (double)(at_us - before_us) / HOUR_US;
    before_us = at_us;
  }
  expect_distributed("time between interruptions", hours, INTERRUPTIONS, gap_below, &per_h);
  free(hours);
}

/* Of interruptions that reclaim two of five nodes, each of the ten possible pairs is equally frequent. */
static void nodes_of_interruption_are_uniform(void) {
  struct hr_spot_spec spec = {.model = HR_SPOT_EXPONENTIAL, .rate_per_h = 1, .batch_mean = 2};
  struct hr__interruption_source source;
  hr__interruption_source_init(&source, &spec, 5, 9, 0);
  uint32_t nodes[5], count, pairs[5][5] = {{0}}, n_pairs = 0;
  for (int i = 0; i < 40000; i++) {
    hr__interruption_source_next(&source, nodes, &count);
    if (count != 2) continue;
    pairs[nodes[0]][nodes[1]]++;
    n_pairs++;
  }
  double chi_squared = 0, expected = n_pairs / 10.0;
  for (int a = 0; a < 5; a++)
    for (int b = a + 1; b < 5; b++) chi_squared += pow(pairs[a][b] - expected, 2) / expected;
  CU_ASSERT(n_pairs > 9000);
  CU_ASSERT(gsl_cdf_chisq_Q(chi_squared, 9) > 1e-5);
}

/* Returns the rate of interruptions that reclaim at least one of the first `held` of n nodes, divided by the rate for
   one node. The rates are counted from many interruptions. */
static double counted_share(const struct hr_spot_spec *spec, uint32_t n_nodes, uint32_t held) {
  struct hr__interruption_source source;
  hr__interruption_source_init(&source, spec, n_nodes, 5, 0);
  uint32_t nodes[MAX_NODES], count, any = 0, all = 0;
  for (uint32_t interruption = 0; interruption < 100000; interruption++) {
    hr__interruption_source_next(&source, nodes, &count);
    any += nodes[0] < held; /* `nodes` is ascending */
    all += count;
  }
  return any / ((double)all / n_nodes);
}

/* If each interruption reclaims one node, k nodes are interrupted k times as often as one node. If each reclaims all
   nodes, k nodes are interrupted as often as one node. Other distributions of sizes are approximated by their mean
   size. */
static void interruption_rate_of_gangs(void) {
  struct hr_spot_spec spec = {.model = HR_SPOT_EXPONENTIAL, .rate_per_h = 1, .batch_mean = 1};
  CU_ASSERT_DOUBLE_EQUAL(hr__interruption_share(&spec, 10, 3), 3, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(hr__interruption_share(&spec, 4, 4), 4, 1e-9);
  CU_ASSERT_EQUAL(hr__interruption_share(&spec, 4, 0), 0);
  spec.batch_mean = 1e6;
  CU_ASSERT_DOUBLE_EQUAL(hr__interruption_share(&spec, 4, 4), 1, 1e-4);
  spec.batch_mean = 3;
  for (uint32_t held = 1; held <= 10; held++) {
    double share = hr__interruption_share(&spec, 10, held);
    CU_ASSERT_DOUBLE_EQUAL(share, counted_share(&spec, 10, held), 0.2 * share);
    CU_ASSERT(share >= 1 - 1e-9 && share <= held);
  }
}

static void no_interruptions_without_rate(void) {
  const struct hr_spot_spec specs[] = {{.model = HR_SPOT_EXPONENTIAL, .batch_mean = 4},
                                       {.model = HR_SPOT_NONE, .rate_per_h = 1, .batch_mean = 1},
                                       {.model = HR_SPOT_ON_OFF, .rate_per_h = 1, .batch_mean = 1},
                                       {.model = HR_SPOT_BATHTUB, .rate_per_h = 1, .batch_mean = 1}};
  uint32_t nodes[3], count = 1;
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    struct hr__interruption_source source;
    hr__interruption_source_init(&source, &specs[i], 3, 1, 0);
    CU_ASSERT_EQUAL(hr__interruption_source_next(&source, nodes, &count), HR_NEVER_US);
    CU_ASSERT_EQUAL(count, 0);
  }
  struct hr_spot_spec spec = {.model = HR_SPOT_EXPONENTIAL, .rate_per_h = 1, .batch_mean = 4};
  struct hr__interruption_source source;
  hr__interruption_source_init(&source, &spec, 0, 1, 0);
  CU_ASSERT_EQUAL(hr__interruption_source_next(&source, nodes, &count), HR_NEVER_US);
}

static bool same_interruptions(uint32_t zone, uint32_t replication) {
  struct hr_spot_spec spec = {.model = HR_SPOT_EXPONENTIAL, .rate_per_h = 1, .batch_mean = 4}, other = spec;
  other.zone = zone;
  struct hr__interruption_source one, two;
  hr__interruption_source_init(&one, &spec, 30, 1, 0);
  hr__interruption_source_init(&two, &other, 30, 1, replication);
  uint32_t of_one[30], of_two[30], n_one, n_two;
  for (int i = 0; i < 200; i++) {
    for (int k = 0; k < 30; k++) of_two[k] = (uint32_t)i; /* the array's previous contents must not matter */
    if (hr__interruption_source_next(&one, of_one, &n_one) != hr__interruption_source_next(&two, of_two, &n_two))
      return false;
    if (n_one != n_two) return false;
    for (uint32_t k = 0; k < n_one; k++)
      if (of_one[k] != of_two[k]) return false;
  }
  return true;
}

static void interruptions_depend_on_zone_and_replication(void) {
  CU_ASSERT(same_interruptions(0, 0));
  CU_ASSERT_FALSE(same_interruptions(1, 0));
  CU_ASSERT_FALSE(same_interruptions(0, 1));
}

/* ---- Lifetimes ---- */

static const struct hr_bathtub bathtubs[] = {
    {.a = 0.45, .tau1_h = 1, .tau2_h = 0.8, .b_h = 24, .last_h = 24}, /* a tenth of the nodes reaches the last hour */
    {.a = 0.5, .tau1_h = 0.9, .tau2_h = 0.8, .b_h = 24, .last_h = 26} /* no node reaches the last hour */};
enum { N_BATHTUBS = sizeof bathtubs / sizeof *bathtubs };

/* The formula for the share of reclaimed nodes, without a limit at 1. It is valid up to the age at which it reaches 1,
   or up to the last hour if that is earlier. */
static double raw_share(const struct hr_bathtub *b, double age_h) {
  return b->a * (1 - exp(-age_h / b->tau1_h) + exp((age_h - b->b_h) / b->tau2_h));
}

/* Returns the age by which all nodes are reclaimed. */
static double end_h(const struct hr_bathtub *b) {
  double low = 0, high = b->last_h;
  for (int i = 0; i < 60; i++) {
    double middle = (low + high) / 2;
    *(raw_share(b, middle) < 1 ? &low : &high) = middle;
  }
  return high;
}

/* Considers only nodes that do not reach the last hour. Returns the share of these nodes that are reclaimed by the
   given age. */
static double ended_share(const void *self, double age_h) {
  const struct hr_bathtub *b = self;
  return raw_share(b, age_h) / raw_share(b, end_h(b));
}

/* Returns the mean lifetime: the integral of the survival function. */
static double mean_h(const struct hr_bathtub *b) {
  double end = end_h(b);
  double gone = end + b->tau1_h * expm1(-end / b->tau1_h) +
                b->tau2_h * (exp((end - b->b_h) / b->tau2_h) - exp(-b->b_h / b->tau2_h));
  return end - b->a * gone;
}

static double life_h(const struct hr_spot_spec *spec, uint32_t node, uint32_t launch, uint32_t replication) {
  return (double)hr__life_draw(spec, 31, node, launch, replication) / HOUR_US;
}

static void lifetimes_follow_distribution(void) {
  enum { NODES = 200, LAUNCHES = 250, LIVES = NODES * LAUNCHES };
  double *hours = malloc(LIVES * sizeof *hours);
  for (size_t i = 0; i < N_BATHTUBS; i++) {
    const struct hr_bathtub *bathtub = &bathtubs[i];
    struct hr_spot_spec spec = {.model = HR_SPOT_BATHTUB, .bathtub = *bathtub};
    double sum = 0, squares = 0, n_last = 0, end = end_h(bathtub), to_the_last = 1 - fmin(raw_share(bathtub, end), 1);
    for (uint32_t k = 0; k < LIVES; k++) {
      hours[k] = life_h(&spec, k % NODES, k / NODES, 0);
      CU_ASSERT_FATAL(hours[k] > 0 && hours[k] <= end + 1e-9);
      sum += hours[k];
      squares += hours[k] * hours[k];
      n_last += hours[k] >= bathtub->last_h;
    }
    double mean = sum / LIVES;
    expect_within("mean life", mean, mean_h(bathtub), sqrt((squares / LIVES - mean * mean) / LIVES));
    expect_within("lives to the last hour", n_last / LIVES, to_the_last,
                  sqrt(fmax(to_the_last * (1 - to_the_last), 0) / LIVES) + 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(hr__spot_mean_life_s(&spec), 3600 * mean_h(bathtub), 0.01);
    qsort(hours, LIVES, sizeof *hours, by_value);
    expect_distributed("lives", hours, LIVES - (size_t)n_last, ended_share, bathtub);
  }
  free(hours);
}

static void each_launch_has_its_own_lifetime(void) {
  struct hr_spot_spec spec = {.model = HR_SPOT_BATHTUB, .bathtub = bathtubs[0]};
  double life = life_h(&spec, 4, 2, 0);
  CU_ASSERT_NOT_EQUAL(life_h(&spec, 4, 3, 0), life);
  CU_ASSERT_NOT_EQUAL(life_h(&spec, 5, 2, 0), life);
  CU_ASSERT_NOT_EQUAL(life_h(&spec, 4, 2, 1), life);
  CU_ASSERT_EQUAL(life_h(&spec, 4, 2, 0), life);
  spec.model = HR_SPOT_EXPONENTIAL;
  CU_ASSERT_EQUAL(hr__life_draw(&spec, 31, 4, 2, 0), HR_NEVER_US);
}

/* ---- Mean lifetimes of all models ---- */

static void mean_lifetimes(void) {
  struct hr_spot_spec spec = {.model = HR_SPOT_EXPONENTIAL, .rate_per_h = 0.25};
  CU_ASSERT_EQUAL(hr__spot_mean_life_s(&spec), 14400);
  spec.model = HR_SPOT_ADVISOR;
  CU_ASSERT_EQUAL(hr__spot_mean_life_s(&spec), 14400);
  spec.rate_per_h = 0;
  CU_ASSERT(isinf(hr__spot_mean_life_s(&spec)));
  spec.model = HR_SPOT_NONE;
  CU_ASSERT(isinf(hr__spot_mean_life_s(&spec)));
  spec = (struct hr_spot_spec){.model = HR_SPOT_ON_OFF, .up = {HR_DURATION_EXPONENTIAL, 700, 0}};
  CU_ASSERT_EQUAL(hr__spot_mean_life_s(&spec), 700);
}

/* The record has 4 nodes for 10 s, 1 node for 20 s, 3 nodes for 10 s and 2 nodes for 20 s: 130 node seconds in total.
   At the first change 3 nodes are reclaimed, and at the third change 1 node. No node is reclaimed when the record
   repeats. */
static void mean_lifetime_of_record(void) {
  struct hr_level_step levels[] = {{0, 4}, {10 * HR_SECOND_US, 1}, {30 * HR_SECOND_US, 3}, {40 * HR_SECOND_US, 2}};
  struct hr_spot_spec spec = {.model = HR_SPOT_TRACE, .levels = levels, .n_levels = 4, .period_us = 60 * HR_SECOND_US};
  CU_ASSERT_EQUAL(hr__spot_mean_life_s(&spec), 130 / 4.0);
  levels[3].level = 5; /* 190 node seconds; at the third change no node is reclaimed, but one is when the record
                          repeats */
  CU_ASSERT_EQUAL(hr__spot_mean_life_s(&spec), 190 / 4.0);
  spec.n_levels = 1;
  CU_ASSERT(isinf(hr__spot_mean_life_s(&spec)));
}

TEST_MAIN("spot nodes taken away", TEST(each_node_is_reclaimed_at_the_rate), TEST(interruptions_are_a_poisson_process),
          TEST(nodes_of_interruption_are_uniform), TEST(interruption_rate_of_gangs),
          TEST(no_interruptions_without_rate), TEST(interruptions_depend_on_zone_and_replication),
          TEST(lifetimes_follow_distribution), TEST(each_launch_has_its_own_lifetime), TEST(mean_lifetimes),
          TEST(mean_lifetime_of_record))
