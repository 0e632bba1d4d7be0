/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_ROUNDS_ROUND_SHARES_H
#define HR_POLICIES_ROUNDS_ROUND_SHARES_H

/* The share of its time that each job should spend in each pool: linear programs after Gavel (Narayanan et al.,
   "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads", OSDI 2020). Equal jobs form one kind
   and get equal shares. The optimum is not worse with this restriction: in any optimum, the shares of equal jobs can be
   replaced by their average. */

#include "headroom/policy.h"

/* A kind: equal jobs. */
struct hr__share_kind {
  uint32_t jobs; /* number of jobs of the kind, at least 1 */
  double gpus;   /* GPUs of each job, above 0 */
  /* factor by which a job's rate of work is multiplied before it is compared with those of other jobs; greater than 0
   */
  double scale;
};

/* A problem for hr__time_shares_solve. */
struct hr__share_problem {
  uint32_t n_kinds, n_pools;
  const struct hr__share_kind *kinds;
  /* [n_kinds][n_pools]: relative speed; 0: the kind cannot run in the pool. Each kind must be able to run in some pool.
   */
  const double *speed;
  const double *pool_gpus; /* [n_pools]: number of GPUs */
  double max_level;        /* maximum level that the first step tries to reach; INFINITY: none */
  const double *price;     /* [n_pools]: dollars per GPU-hour; NULL: the second step maximizes work */
};

/*
 * Solves the problem in two steps.
 *
 * Step 1 maximizes the level, up to `max_level`. The level is the minimum of the scaled rates of all jobs:
 *   scale_k x sum_p speed[k][p] x share[k][p] >= level,  sum_p share[k][p] <= 1,
 *   sum_k jobs_k x gpus_k x share[k][p] <= pool_gpus[p],  share >= 0
 *
 * Step 2 fixes that level. With prices it minimizes sum jobs x gpus x price x share. Without prices it maximizes the
 * sum of the scaled rates of all jobs; in the result, no job can get more unless another job gets less.
 *
 * `share`: [n_kinds][n_pools], written, rounded to 1e-9. Returns HR_NO_MEMORY if the solver fails. Problems that meet
 * the conditions above always have a solution, so lack of memory is the only possible cause.
 */
enum hr_status hr__time_shares_solve(const struct hr__share_problem *problem, double *share, double *level);

#endif
