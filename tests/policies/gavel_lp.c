/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares of time (policies/rounds/rounds.h). In small cases they are compared with an exhaustive search over a
   grid of shares; in random cases, fairness properties are checked. */

#include "harness.h"
#include "policies/rounds/rounds.h"

#include <math.h>
#include <pthread.h>

enum { MAX_KINDS = 6, MAX_POOLS = 3 };

struct small {
  struct hr__share_problem problem;
  struct hr__share_kind kinds[MAX_KINDS];
  double speed[MAX_KINDS * MAX_POOLS], pool_gpus[MAX_POOLS], price[MAX_POOLS];
};

static uint64_t random_state;

static uint32_t draw(uint32_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((random_state >> 33) % below);
}

static double speed_of(const struct small *small, uint32_t kind, uint32_t pool) {
  return small->speed[kind * small->problem.n_pools + pool];
}

/* Draws speeds from 0.1 to 3. Sometimes a kind cannot run in a pool; every kind can run in the first pool. */
static void draw_problem(struct small *small, uint32_t n_kinds, uint32_t n_pools, uint32_t max_jobs) {
  *small = (struct small){.problem = {.n_kinds = n_kinds, .n_pools = n_pools, .max_level = (double)INFINITY}};
  for (uint32_t p = 0; p < n_pools; p++) {
    small->pool_gpus[p] = 2 + draw(4);
    small->price[p] = 1 + draw(5);
  }
  for (uint32_t k = 0; k < n_kinds; k++) {
    double sum = 0, gpus = 0;
    small->kinds[k] = (struct hr__share_kind){1 + draw(max_jobs), 1 + draw(2), 1};
    for (uint32_t p = 0; p < n_pools; p++) {
      double speed = p > 0 && draw(8) == 0 ? 0 : (1 + draw(30)) / 10.0;
      small->speed[k * n_pools + p] = speed;
      sum += speed * small->pool_gpus[p];
      gpus += small->pool_gpus[p];
    }
    small->kinds[k].scale = small->kinds[k].gpus * gpus / sum; /* as the objective max-min defines it */
  }
  small->problem.kinds = small->kinds;
  small->problem.speed = small->speed;
  small->problem.pool_gpus = small->pool_gpus;
}

static double rate_of(const struct small *small, const double *share, uint32_t kind) {
  double rate = 0;
  for (uint32_t p = 0; p < small->problem.n_pools; p++)
    rate += speed_of(small, kind, p) * share[kind * small->problem.n_pools + p];
  return rate;
}

static double level_of(const struct small *small, const double *share) {
  double level = (double)INFINITY;
  for (uint32_t k = 0; k < small->problem.n_kinds; k++)
    level = fmin(level, small->kinds[k].scale * rate_of(small, share, k));
  return level;
}

static double cost_of(const struct small *small, const double *share) {
  double cost = 0;
  for (uint32_t k = 0; k < small->problem.n_kinds; k++)
    for (uint32_t p = 0; p < small->problem.n_pools; p++)
      cost += small->kinds[k].jobs * small->kinds[k].gpus * small->price[p] * share[k * small->problem.n_pools + p];
  return cost;
}

static bool is_feasible(const struct small *small, const double *share) {
  uint32_t n_pools = small->problem.n_pools;
  double used[MAX_POOLS] = {0};
  for (uint32_t k = 0; k < small->problem.n_kinds; k++) {
    double time = 0;
    for (uint32_t p = 0; p < n_pools; p++) {
      time += share[k * n_pools + p];
      used[p] += small->kinds[k].jobs * small->kinds[k].gpus * share[k * n_pools + p];
    }
    if (time > 1 + 1e-7) return false;
  }
  for (uint32_t p = 0; p < n_pools; p++)
    if (used[p] > small->pool_gpus[p] + 1e-6) return false;
  return true;
}

/* Calls `visit` for each point of the grid that satisfies all constraints. */
static void for_each_point(const struct small *small, uint32_t steps, void (*visit)(void *self, const double *share),
                           void *self) {
  uint32_t cells = small->problem.n_kinds * small->problem.n_pools, at[MAX_KINDS * MAX_POOLS] = {0};
  double share[MAX_KINDS * MAX_POOLS] = {0};
  for (uint32_t i = 0; i < cells;) {
    if (is_feasible(small, share)) visit(self, share);
    for (i = 0; i < cells && at[i] == steps; i++) share[i] = at[i] = 0;
    if (i < cells) share[i] = ++at[i] / (double)steps;
  }
}

struct best {
  const struct small *small;
  double level, cost;
  const double *solution; /* the solution with which points of the grid are compared */
  bool dominated;
};

static void compare_point(void *self, const double *share) {
  struct best *best = self;
  double level = level_of(best->small, share);
  best->level = fmax(best->level, level);
  if (level >= 1 - 1e-12) best->cost = fmin(best->cost, cost_of(best->small, share));
  bool never_worse = true, better = false;
  for (uint32_t k = 0; k < best->small->problem.n_kinds; k++) {
    double gain = rate_of(best->small, share, k) - rate_of(best->small, best->solution, k);
    never_worse = never_worse && gain >= 0;
    better = better || gain > 1e-6;
  }
  best->dominated = best->dominated || (never_worse && better);
}

/* Returns the maximum decrease of the level if a solution is rounded down to a point of the grid. */
static double grid_loss(const struct small *small, uint32_t steps) {
  double maximum = 0;
  for (uint32_t k = 0; k < small->problem.n_kinds; k++) {
    double sum = 0;
    for (uint32_t p = 0; p < small->problem.n_pools; p++) sum += small->kinds[k].scale * speed_of(small, k, p);
    maximum = fmax(maximum, sum / steps);
  }
  return maximum;
}

static void expect_optimum(uint32_t n_kinds, uint32_t n_pools, uint32_t steps, int cases) {
  for (int i = 0; i < cases; i++) {
    struct small small;
    double share[MAX_KINDS * MAX_POOLS], level;
    draw_problem(&small, n_kinds, n_pools, 2);
    CU_ASSERT_EQUAL_FATAL(hr__time_shares_solve(&small.problem, share, &level), HR_OK);
    CU_ASSERT(is_feasible(&small, share));
    CU_ASSERT(fabs(level_of(&small, share) - level) < 1e-6 * level);
    struct best best = {.small = &small, .cost = (double)INFINITY, .solution = share};
    for_each_point(&small, steps, compare_point, &best);
    CU_ASSERT(level >= best.level - 1e-6);
    CU_ASSERT(best.level >= level - grid_loss(&small, steps));
    CU_ASSERT(!best.dominated);
  }
}

static void level_equals_exhaustive_search(void) {
  random_state = 1;
  expect_optimum(2, 2, 20, 20);
  expect_optimum(3, 2, 8, 10);
  expect_optimum(2, 3, 8, 10);
}

/* If it is possible that every rate is at least 1 / scale, the solution has such rates, and no point of the grid with
   such rates costs less. */
static void cost_equals_exhaustive_search(void) {
  random_state = 2;
  int met = 0;
  for (int i = 0; i < 30; i++) {
    struct small small;
    double share[MAX_KINDS * MAX_POOLS], level;
    draw_problem(&small, 2, 2, 2);
    for (uint32_t k = 0; k < 2; k++) small.kinds[k].scale = 1 / (speed_of(&small, k, 0) * (1 + draw(12)) / 10);
    small.problem.price = small.price;
    small.problem.max_level = 1;
    CU_ASSERT_EQUAL_FATAL(hr__time_shares_solve(&small.problem, share, &level), HR_OK);
    CU_ASSERT(is_feasible(&small, share) && level <= 1 + 1e-9);
    struct best best = {.small = &small, .cost = (double)INFINITY, .solution = share};
    for_each_point(&small, 20, compare_point, &best);
    CU_ASSERT(level >= fmin(best.level, 1) - 1e-6);
    if (level < 1 - 1e-6) continue;
    met++;
    CU_ASSERT(level_of(&small, share) >= 1 - 1e-6);
    CU_ASSERT(cost_of(&small, share) <= best.cost + 1e-6);
    if (isfinite(best.cost)) CU_ASSERT(best.cost <= cost_of(&small, share) + 4 * 4 * 5 / 20.0);
  }
  CU_ASSERT(met > 5 && met < 30);
}

/* Two jobs, and one GPU of each of two types. The first job has the speeds 1 and 0.1, the second 1 and 0.9. With half
   of each GPU, their rates are 0.55 and 0.95, which is level 1 for both. */
static void two_jobs_on_two_types(void) {
  struct small small = {.problem = {.n_kinds = 2, .n_pools = 2, .max_level = (double)INFINITY},
                        .kinds = {{1, 1, 1 / 0.55}, {1, 1, 1 / 0.95}},
                        .speed = {1, 0.1, 1, 0.9},
                        .pool_gpus = {1, 1}};
  small.problem.kinds = small.kinds;
  small.problem.speed = small.speed;
  small.problem.pool_gpus = small.pool_gpus;
  double share[4], level;
  CU_ASSERT_EQUAL_FATAL(hr__time_shares_solve(&small.problem, share, &level), HR_OK);
  CU_ASSERT_DOUBLE_EQUAL(level, 1, 1e-9);
  for (int i = 0; i < 4; i++) CU_ASSERT_DOUBLE_EQUAL(share[i], 0.5, 1e-8);
}

/* If all GPUs are requested, no job is slower than with an equal share of every pool. */
static void no_job_is_slower_than_with_an_equal_share(void) {
  random_state = 3;
  int checked = 0;
  for (int i = 0; i < 500; i++) {
    struct small small;
    double share[MAX_KINDS * MAX_POOLS], level, gpus = 0, jobs = 0;
    draw_problem(&small, 2 + draw(MAX_KINDS - 1), MAX_POOLS, 4);
    for (uint32_t p = 0; p < MAX_POOLS; p++) gpus += small.pool_gpus[p];
    for (uint32_t k = 0; k < small.problem.n_kinds; k++) jobs += small.kinds[k].jobs;
    if (gpus > jobs) continue; /* there are more GPUs than jobs, so a job could not use its equal share of every pool */
    checked++;
    CU_ASSERT_EQUAL_FATAL(hr__time_shares_solve(&small.problem, share, &level), HR_OK);
    for (uint32_t k = 0; k < small.problem.n_kinds; k++) {
      double alone = 0;
      for (uint32_t p = 0; p < MAX_POOLS; p++)
        alone += speed_of(&small, k, p) * small.pool_gpus[p] / (jobs * small.kinds[k].gpus);
      CU_ASSERT(rate_of(&small, share, k) >= alone * (1 - 1e-6));
    }
  }
  CU_ASSERT(checked > 100);
}

/* There is no other feasible point at which the relative gains and losses of all jobs have a positive sum. */
static void shares_are_pareto_efficient(void) {
  random_state = 4;
  for (int i = 0; i < 500; i++) {
    struct small small;
    double share[MAX_KINDS * MAX_POOLS], other[MAX_KINDS * MAX_POOLS], level, gain = 0;
    draw_problem(&small, 2 + draw(MAX_KINDS - 1), MAX_POOLS, 4);
    CU_ASSERT_EQUAL_FATAL(hr__time_shares_solve(&small.problem, share, &level), HR_OK);
    for (uint32_t k = 0; k < small.problem.n_kinds; k++) small.kinds[k].scale = 1 / rate_of(&small, share, k);
    CU_ASSERT_EQUAL_FATAL(hr__time_shares_solve(&small.problem, other, &level), HR_OK);
    CU_ASSERT_DOUBLE_EQUAL(level, 1, 1e-6);
    for (uint32_t k = 0; k < small.problem.n_kinds; k++)
      gain += small.kinds[k].jobs * (small.kinds[k].scale * rate_of(&small, other, k) - 1);
    CU_ASSERT(fabs(gain) < 1e-4);
  }
}

static bool same_shares(const double *a, const double *b) {
  for (int i = 0; i < MAX_KINDS * MAX_POOLS; i++)
    if (a[i] < b[i] || a[i] > b[i]) return false;
  return true;
}

static void equal_problems_have_equal_solutions(void) {
  random_state = 5;
  struct small small;
  double share[2][MAX_KINDS * MAX_POOLS] = {{0}}, level[2];
  draw_problem(&small, MAX_KINDS, MAX_POOLS, 4);
  for (int i = 0; i < 2; i++) CU_ASSERT_EQUAL_FATAL(hr__time_shares_solve(&small.problem, share[i], &level[i]), HR_OK);
  CU_ASSERT(same_shares(share[0], share[1]));
  CU_ASSERT_EQUAL(level[0], level[1]);
}

/* GLPK has one environment per thread, so problems are solved in several threads at the same time. */
struct job_of_thread {
  struct small small;
  double share[MAX_KINDS * MAX_POOLS];
  bool same;
};

static void *solve_often(void *argument) {
  struct job_of_thread *job = argument;
  job->same = true;
  for (int i = 0; i < 200; i++) {
    double share[MAX_KINDS * MAX_POOLS] = {0}, level;
    bool solved = hr__time_shares_solve(&job->small.problem, share, &level) == HR_OK;
    job->same = job->same && solved && same_shares(share, job->share);
  }
  return NULL;
}

static void problems_are_solved_in_several_threads(void) {
  enum { N_THREADS = 4 };
  static struct job_of_thread jobs[N_THREADS];
  pthread_t threads[N_THREADS];
  double level;
  random_state = 6;
  for (int i = 0; i < N_THREADS; i++) {
    draw_problem(&jobs[i].small, MAX_KINDS, MAX_POOLS, 4);
    CU_ASSERT_EQUAL_FATAL(hr__time_shares_solve(&jobs[i].small.problem, jobs[i].share, &level), HR_OK);
  }
  for (int i = 0; i < N_THREADS; i++)
    CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, solve_often, &jobs[i]), 0);
  for (int i = 0; i < N_THREADS; i++) {
    pthread_join(threads[i], NULL);
    CU_ASSERT(jobs[i].same);
  }
}

TEST_MAIN("gavel lp", TEST(level_equals_exhaustive_search), TEST(cost_equals_exhaustive_search),
          TEST(two_jobs_on_two_types), TEST(no_job_is_slower_than_with_an_equal_share),
          TEST(shares_are_pareto_efficient), TEST(equal_problems_have_equal_solutions),
          TEST(problems_are_solved_in_several_threads))
