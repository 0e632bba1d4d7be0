/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Designs, tested by properties that need no second implementation: the order of a full design, the first points of
   Sobol's sequence, the strata of a Latin hypercube, the strata that 2^k points of a Sobol sequence fill. */

#include "plan/sweep/sweep.h"

#include "harness.h"
#include "headroom/unstable/experiments.h"

#include <math.h>
#include <string.h>

enum { MAX_AXES = 4 };

/* A grid whose axes have the given numbers of levels. An axis with 0 levels is a range from 0 to 1. */
struct grid_setup {
  struct hr_grid grid;
  struct hr_grid_axis axes[MAX_AXES];
  struct hr_grid_level level; /* shared by all levels, since designs only use the number of levels */
};

static void grid_setup_make(struct grid_setup *grid_setup, enum hr_design design, uint32_t n_points,
                            const uint32_t *levels, uint32_t n_axes) {
  *grid_setup = (struct grid_setup){0};
  for (uint32_t i = 0; i < n_axes; i++)
    grid_setup->axes[i] = (struct hr_grid_axis){
        .levels = levels[i] ? &grid_setup->level : NULL, .n_levels = levels[i], .from = 0, .to = 1};
  grid_setup->grid =
      (struct hr_grid){.axes = grid_setup->axes, .n_axes = n_axes, .design = design, .n_points = n_points, .seed = 7};
  static char path[] = "g.json";
  grid_setup->grid.path = path;
}

static struct hr__sweep_design expect_made(const struct grid_setup *grid_setup) {
  struct hr__sweep_design design;
  CU_ASSERT_EQUAL_FATAL(hr__sweep_design_make(&grid_setup->grid, 1000000, &design, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(design.n_axes, grid_setup->grid.n_axes);
  return design;
}

static bool same(const double *a, const double *b, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (a[i] != b[i]) return false;
  return true;
}

static void full_design(void) {
  struct grid_setup grid_setup;
  grid_setup_make(&grid_setup, HR_DESIGN_FULL, 0, (const uint32_t[]){2, 3, 4}, 3);
  struct hr__sweep_design design = expect_made(&grid_setup);
  CU_ASSERT_EQUAL_FATAL(design.n_points, 24);
  for (size_t i = 0; i < 24; i++) {
    const double *at = hr__sweep_design_point(&design, i);
    CU_ASSERT_TRUE(at[0] == (double)(i / 12) && at[1] == (double)(i / 4 % 3) && at[2] == (double)(i % 4));
  }
  hr__sweep_design_finish(&design);
}

static void too_many_points_are_rejected(void) {
  struct grid_setup grid_setup;
  struct hr__sweep_design design;
  struct hr_error error = {0};
  grid_setup_make(&grid_setup, HR_DESIGN_FULL, 0, (const uint32_t[]){10000, 10000, 10000, 10000}, 4);
  CU_ASSERT_EQUAL(hr__sweep_design_make(&grid_setup.grid, 99, &design, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "g.json: the grid has more than 99 points"));
  grid_setup_make(&grid_setup, HR_DESIGN_SOBOL, 100, (const uint32_t[]){0}, 1);
  CU_ASSERT_EQUAL(hr__sweep_design_make(&grid_setup.grid, 99, &design, &error), HR_BAD_INPUT);
}

/* The first points of Sobol's sequence are those of the literature. */
static void first_points_of_sobol(void) {
  static const double expected[][2] = {{0.5, 0.5},     {0.75, 0.25},   {0.25, 0.75},  {0.375, 0.375},
                                       {0.875, 0.875}, {0.625, 0.125}, {0.125, 0.625}};
  struct grid_setup grid_setup;
  grid_setup_make(&grid_setup, HR_DESIGN_SOBOL, 7, (const uint32_t[]){0, 0}, 2);
  struct hr__sweep_design design = expect_made(&grid_setup);
  CU_ASSERT_EQUAL_FATAL(design.n_points, 7);
  for (size_t i = 0; i < 7; i++)
    for (size_t k = 0; k < 2; k++) CU_ASSERT_TRUE(hr__sweep_design_point(&design, i)[k] == expected[i][k]);
  hr__sweep_design_finish(&design);
}

/* The sequence omits the origin. Together with the origin, 2^k points have one point in each of the 2^k strata of each
   axis. */
static void sobol_fills_strata(void) {
  enum { N = 256 };
  struct grid_setup grid_setup;
  grid_setup_make(&grid_setup, HR_DESIGN_SOBOL, N - 1, (const uint32_t[]){0, 0, 0, 0}, 4);
  struct hr__sweep_design design = expect_made(&grid_setup);
  for (size_t k = 0; k < 4; k++) {
    bool seen[N] = {true};
    for (size_t i = 0; i < N - 1; i++) {
      size_t stratum = (size_t)(hr__sweep_design_point(&design, i)[k] * N);
      CU_ASSERT_FALSE(seen[stratum]);
      seen[stratum] = true;
    }
  }
  hr__sweep_design_finish(&design);
}

static void hypercube_has_one_point_per_stratum(void) {
  enum { N = 97 };
  struct grid_setup grid_setup;
  grid_setup_make(&grid_setup, HR_DESIGN_LATIN_HYPERCUBE, N, (const uint32_t[]){0, 0, 0}, 3);
  struct hr__sweep_design design = expect_made(&grid_setup);
  CU_ASSERT_EQUAL_FATAL(design.n_points, N);
  size_t unchanged = 0;
  for (size_t k = 0; k < 3; k++) {
    bool seen[N] = {false};
    for (size_t i = 0; i < N; i++) {
      double at = hr__sweep_design_point(&design, i)[k];
      CU_ASSERT_TRUE_FATAL(at > 0 && at < 1);
      size_t stratum = (size_t)(at * N);
      CU_ASSERT_FALSE(seen[stratum]);
      seen[stratum] = true;
      unchanged += stratum == i;
    }
  }
  CU_ASSERT(unchanged < 20); /* of 291 positions; random permutations leave three unchanged on average */
  hr__sweep_design_finish(&design);
}

/* Each seed gives another design, and the axes are not correlated. */
static void hypercubes_by_seed(void) {
  struct grid_setup grid_setup;
  grid_setup_make(&grid_setup, HR_DESIGN_LATIN_HYPERCUBE, 50, (const uint32_t[]){0, 0}, 2);
  struct hr__sweep_design a = expect_made(&grid_setup), b = expect_made(&grid_setup);
  CU_ASSERT_TRUE(same(a.at, b.at, 100));
  grid_setup.grid.seed = 8;
  struct hr__sweep_design c = expect_made(&grid_setup);
  CU_ASSERT_FALSE(same(a.at, c.at, 100));
  double product = 0;
  for (size_t i = 0; i < 50; i++) product += (a.at[2 * i] - 0.5) * (a.at[2 * i + 1] - 0.5) * 12 / 50;
  CU_ASSERT(fabs(product) < 0.5); /* the correlation, whose standard deviation is a seventh */
  hr__sweep_design_finish(&a);
  hr__sweep_design_finish(&b);
  hr__sweep_design_finish(&c);
}

/* If k divides n, each of k levels has n / k of the n points of a hypercube. */
static void levels_are_even(void) {
  struct grid_setup grid_setup;
  grid_setup_make(&grid_setup, HR_DESIGN_LATIN_HYPERCUBE, 60, (const uint32_t[]){5, 0}, 2);
  struct hr__sweep_design design = expect_made(&grid_setup);
  unsigned count[5] = {0};
  CU_ASSERT_EQUAL_FATAL(design.n_points, 60);
  for (size_t i = 0; i < 60; i++) count[(size_t)hr__sweep_design_point(&design, i)[0]]++;
  for (size_t i = 0; i < 5; i++) CU_ASSERT_EQUAL(count[i], 12);
  hr__sweep_design_finish(&design);
}

/* With few levels every combination appears once, in the order in which the sequence reaches it. */
static void duplicate_points_are_removed(void) {
  struct grid_setup grid_setup;
  grid_setup_make(&grid_setup, HR_DESIGN_SOBOL, 64, (const uint32_t[]){2, 2}, 2);
  struct hr__sweep_design design = expect_made(&grid_setup);
  static const double expected[][2] = {{1, 1}, {1, 0}, {0, 1}, {0, 0}};
  CU_ASSERT_EQUAL_FATAL(design.n_points, 4);
  for (size_t i = 0; i < 4; i++) CU_ASSERT_TRUE(same(hr__sweep_design_point(&design, i), expected[i], 2));
  hr__sweep_design_finish(&design);
}

static void ratios_on_a_log_scale(void) {
  struct grid_setup grid_setup;
  grid_setup_make(&grid_setup, HR_DESIGN_SOBOL, 3, (const uint32_t[]){0}, 1);
  grid_setup.axes[0].from = 0.01;
  grid_setup.axes[0].to = 100;
  grid_setup.axes[0].logarithmic = true;
  struct hr__sweep_design design = expect_made(&grid_setup);
  static const double expected[] = {1, 10, 0.1};
  for (size_t i = 0; i < 3; i++) CU_ASSERT_TRUE(design.at[i] == expected[i]);
  hr__sweep_design_finish(&design);
}

TEST_MAIN("plan: designs", TEST(full_design), TEST(too_many_points_are_rejected), TEST(first_points_of_sobol),
          TEST(sobol_fills_strata), TEST(hypercube_has_one_point_per_stratum), TEST(hypercubes_by_seed),
          TEST(levels_are_even), TEST(duplicate_points_are_removed), TEST(ratios_on_a_log_scale))
