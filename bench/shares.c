/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measures how long the linear programs of the policy `rounds` take, depending on the number of kinds of jobs and the
 * number of pools.
 *
 *   shares      prints a row for each size
 */

#include "policies/rounds/rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t state = 1;

static uint32_t draw(uint32_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((state >> 33) % below);
}

static double clock_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Solves a few random problems and returns the mean time of a solution in seconds. A problem has `jobs` jobs of
   `n_kinds` kinds, and half as many GPUs as these jobs request. The level is the minimum rate of all jobs. It is
   maximized, up to 1 if `by_cost` is true. At this level, the cost is then minimized if `by_cost` is true; otherwise,
   the sum of the rates is maximized. */
static double measure(uint32_t n_kinds, uint32_t n_pools, uint32_t jobs, bool by_cost) {
  enum { REPEATS = 5 };
  struct hr__share_kind *kinds = calloc(n_kinds, sizeof *kinds);
  double *speed = calloc((size_t)n_kinds * n_pools, sizeof *speed);
  double *share = calloc((size_t)n_kinds * n_pools, sizeof *share);
  double *pools = calloc(n_pools, sizeof *pools), *price = calloc(n_pools, sizeof *price), level, passed_s = 0;
  if (!kinds || !speed || !share || !pools || !price) abort();
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    for (uint32_t k = 0; k < n_kinds; k++) {
      kinds[k] = (struct hr__share_kind){jobs / n_kinds, 1u << draw(4), by_cost ? 1 + draw(50) : 1};
      for (uint32_t p = 0; p < n_pools; p++) speed[(size_t)k * n_pools + p] = (1 + draw(100)) / 30.0;
    }
    for (uint32_t p = 0; p < n_pools; p++) {
      pools[p] = ceil(jobs * 3.75 / 2 / n_pools);
      price[p] = 1 + draw(10);
    }
    const struct hr__share_problem problem = {.n_kinds = n_kinds,
                                              .n_pools = n_pools,
                                              .kinds = kinds,
                                              .speed = speed,
                                              .pool_gpus = pools,
                                              .max_level = by_cost ? 1 : (double)INFINITY,
                                              .price = by_cost ? price : NULL};
    double begin_s = clock_s();
    if (hr__time_shares_solve(&problem, share, &level) != HR_OK) abort();
    passed_s += (clock_s() - begin_s) / REPEATS;
  }
  free(kinds);
  free(speed);
  free(share);
  free(pools);
  free(price);
  return passed_s;
}

int main(void) {
  static const uint32_t sizes[][3] = {{100, 3, 100}, {1000, 3, 1000}, {100, 3, 1000}, {100, 8, 1000}, {1000, 8, 1000}};
  puts("kinds pools  jobs  max_min_ms  cost_slo_ms");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    printf("%5u %5u %5u %11.2f %12.2f\n", (unsigned)sizes[i][0], (unsigned)sizes[i][1], (unsigned)sizes[i][2],
           1e3 * measure(sizes[i][0], sizes[i][1], sizes[i][2], false),
           1e3 * measure(sizes[i][0], sizes[i][1], sizes[i][2], true));
  return EXIT_SUCCESS;
}
