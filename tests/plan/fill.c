/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fill experiments: known rows, equal rows for any number of threads, and jobs of several tasks. */

#include "fill_setup.h"
#include "harness.h"
#include "headroom/unstable/planning.h"

#include <math.h>
#include <string.h>

static struct hr_fill *fill_of(const struct hr_fill_config *config) {
  struct hr_fill *fill;
  struct hr_error error = {0};
  if (hr_fill(config, &fill, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(fill);
  return fill;
}

/* Two nodes of 2 GPUs and six pods of one GPU: the last two pods fail. An idle whole GPU is not a fragment. */
static void whole_gpus(void) {
  struct fill_setup setup;
  fill_setup_make(&setup, 2, 2, "1\n", "first-fit");
  setup.config.to = 1.5;
  setup.config.n_seeds = 1;
  struct hr_fill *fill = fill_of(&setup.config);
  static const double alloc[] = {25, 25, 50, 50, 75, 100, 100, 100};
  static const uint32_t pct[] = {1, 25, 26, 50, 75, 76, 100, 125};
  for (size_t i = 0; i < sizeof pct / sizeof *pct; i++) {
    CU_ASSERT_EQUAL(hr_fill_at(fill, 0, 0, pct[i]).alloc_pct, alloc[i]);
    CU_ASSERT_EQUAL(hr_fill_at(fill, 0, 0, pct[i]).frag_pct, 0);
  }
  CU_ASSERT_EQUAL(hr_fill_at(fill, 0, 0, 100).failed, 0);
  CU_ASSERT_EQUAL(hr_fill_at(fill, 0, 0, 101).failed, 1);
  CU_ASSERT_EQUAL(hr_fill_at(fill, 0, 0, 126).failed, 2);
  CU_ASSERT_EQUAL(hr_fill_at(fill, 0, 0, 150).failed, 2);
  CU_ASSERT_TRUE(isnan(hr_fill_mean_at(fill, 0, 100).alloc_margin));
  hr_fill_destroy(fill);
  fill_setup_finish(&setup);
}

/* Pods of two GPUs on nodes of three GPUs. A third of each used node remains idle, and is too small for a pod. */
static void idle_fragments(void) {
  struct fill_setup setup;
  fill_setup_make(&setup, 2, 3, "2\n", "first-fit");
  setup.config.to = 1;
  struct hr_fill *fill = fill_of(&setup.config);
  CU_ASSERT_DOUBLE_EQUAL(hr_fill_at(fill, 0, 0, 33).alloc_pct, 100. / 3, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(hr_fill_at(fill, 0, 0, 33).frag_pct, 100. / 6, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(hr_fill_at(fill, 0, 0, 100).alloc_pct, 200. / 3, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(hr_fill_at(fill, 0, 0, 100).frag_pct, 100. / 3, 1e-9);
  CU_ASSERT_EQUAL(hr_fill_at(fill, 0, 0, 100).failed, 1);
  struct hr_fill_mean mean = hr_fill_mean_at(fill, 0, 100);
  CU_ASSERT_DOUBLE_EQUAL(mean.alloc_pct, 200. / 3, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(mean.alloc_margin, 0, 1e-9);
  hr_fill_destroy(fill);
  fill_setup_finish(&setup);
}

/* A job of three tasks of two GPUs, on two nodes of three GPUs. The third task does not fit, so the first two are
   removed again. */
static void jobs_are_placed_completely(void) {
  struct fill_setup setup;
  fill_setup_make(&setup, 2, 3, "6,3\n", "first-fit");
  setup.config.to = 2;
  struct hr_fill *fill = fill_of(&setup.config);
  CU_ASSERT_EQUAL(hr_fill_at(fill, 0, 0, 200).alloc_pct, 0);
  CU_ASSERT_EQUAL(hr_fill_at(fill, 0, 0, 200).failed, 2);
  CU_ASSERT_EQUAL(hr_fill_at(fill, 0, 0, 200).frag_pct, 0);
  hr_fill_destroy(fill);
  fill_setup_finish(&setup);
  fill_setup_make(&setup, 2, 3, "4,2\n", "first-fit");
  setup.config.to = 1;
  fill = fill_of(&setup.config);
  CU_ASSERT_DOUBLE_EQUAL(hr_fill_at(fill, 0, 0, 100).alloc_pct, 200. / 3, 1e-9);
  CU_ASSERT_EQUAL(hr_fill_at(fill, 0, 0, 100).failed, 1);
  hr_fill_destroy(fill);
  fill_setup_finish(&setup);
}

static bool same_rows(const struct hr_fill_config *config, const struct hr_fill *a, const struct hr_fill *b) {
  for (uint32_t rule = 0; rule < config->n_rules; rule++)
    for (uint32_t seed = 0; seed < config->n_seeds; seed++)
      for (uint32_t pct = 1; pct <= 130; pct++) {
        struct hr_fill_row x = hr_fill_at(a, rule, seed, pct), y = hr_fill_at(b, rule, seed, pct);
        if (x.alloc_pct != y.alloc_pct || x.frag_pct != y.frag_pct || x.failed != y.failed) return false;
      }
  return true;
}

/* All rules, with pods of many kinds, give equal rows for any number of threads. */
static void same_rows_for_any_number_of_threads(void) {
  struct fill_setup setup;
  fill_setup_make(&setup, 9, 4, "1\n0.5\n0.3\n2\n4\n0\n1\n0.7\n", NULL);
  setup.config.n_seeds = 4;
  struct hr_fill *one = fill_of(&setup.config);
  setup.config.n_threads = 5;
  struct hr_fill *five = fill_of(&setup.config);
  CU_ASSERT_TRUE(same_rows(&setup.config, one, five));
  setup.scenario->seed++;
  struct hr_fill *other = fill_of(&setup.config);
  CU_ASSERT_EQUAL(hr_fill_at(other, 0, 0, 100).alloc_pct, hr_fill_at(one, 0, 1, 100).alloc_pct);
  CU_ASSERT_FALSE(same_rows(&setup.config, one, other));
  hr_fill_destroy(one);
  hr_fill_destroy(five);
  hr_fill_destroy(other);
  fill_setup_finish(&setup);
}

/* Pods are added until their requests reach the target of 4,000 GPUs. Each job is drawn equally often. One of four jobs
   is too large for any node, so about a quarter of the pods fail. */
static void pods_are_drawn_from_the_trace(void) {
  static const char *const traces[] = {"3\n1\n1\n1\n", "1\n3\n1\n1\n", "1\n1\n3\n1\n", "1\n1\n1\n3\n"};
  for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
    struct fill_setup setup;
    fill_setup_make(&setup, 2000, 2, traces[i], "first-fit");
    setup.config.to = 1;
    struct hr_fill *fill = fill_of(&setup.config);
    for (uint32_t seed = 0; seed < setup.config.n_seeds; seed++) {
      struct hr_fill_row row = hr_fill_at(fill, 0, seed, 100);
      double placed = row.alloc_pct / 100 * 4000, failed = (double)row.failed, requested = placed + 3 * failed;
      CU_ASSERT_TRUE(requested >= 4000 && requested < 4003);
      CU_ASSERT_TRUE(failed > (placed + failed) / 5 && failed < (placed + failed) * 3 / 10);
    }
    hr_fill_destroy(fill);
    fill_setup_finish(&setup);
  }
}

static bool refused(const struct hr_fill_config *config, const char *text) {
  struct hr_fill *fill;
  struct hr_error error = {0};
  enum hr_status status = hr_fill(config, &fill, &error);
  hr_fill_destroy(fill);
  if (status != HR_BAD_INPUT || !strstr(error.text, text)) printf("\n  %s\n", error.text);
  return status == HR_BAD_INPUT && strstr(error.text, text) != NULL;
}

static void invalid_experiments(void) {
  struct fill_setup setup;
  fill_setup_make(&setup, 2, 65, "1\n", "first-fit");
  CU_ASSERT_TRUE(refused(&setup.config, "pool 'p': a node has 65 GPUs; fill supports at most 64"));
  fill_setup_finish(&setup);
  fill_setup_make(&setup, 2, 4, "0\n0\n", "first-fit");
  CU_ASSERT_TRUE(refused(&setup.config, "no job requests a GPU"));
  setup.config.to = 11;
  CU_ASSERT_TRUE(refused(&setup.config, "expected 0.01 to 10"));
  setup.config.to = 0;
  CU_ASSERT_TRUE(refused(&setup.config, "expected 0.01 to 10"));
  setup.config.to = 1;
  setup.config.n_rules = 0;
  CU_ASSERT_TRUE(refused(&setup.config, "at least one rule"));
  fill_setup_finish(&setup);
}

TEST_MAIN("plan: fill", TEST(whole_gpus), TEST(idle_fragments), TEST(jobs_are_placed_completely),
          TEST(same_rows_for_any_number_of_threads), TEST(pods_are_drawn_from_the_trace), TEST(invalid_experiments))
