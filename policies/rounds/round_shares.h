/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_ROUNDS_ROUND_SHARES_H
#define HR_POLICIES_ROUNDS_ROUND_SHARES_H

/* The share of its time that each job should spend in each pool: linear programs after Gavel (Narayanan et al.,
   "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads", OSDI 2020). Equal jobs are one kind:
   an optimum that treats them equally is an optimum. */

#include "headroom/policy.h"

struct hr__share_kind {
  uint32_t jobs; /* the number of its jobs; at least 1 */
  uint32_t gpus; /* of each job; at least 1 */
  double scale;  /* above 0: multiplies a job's rate of work before it is compared with those of others */
};

struct hr__share_problem {
  uint32_t n_kinds, n_pools;
  const struct hr__share_kind *kinds;
  const double *speed;     /* [n_kinds][n_pools]; 0: cannot run there. Each kind can run somewhere. */
  const double *pool_gpus; /* [n_pools] */
  double max_level;        /* beyond which a larger minimum of scaled rates is worth nothing; INFINITY: none */
  const double *price;     /* [n_pools], per GPU; NULL: remaining capacity goes to more work */
};

/*
 * Maximizes the level, the minimum of the scaled rates of all jobs, up to `max_level`:
 *   scale_k x sum_p speed[k][p] x share[k][p] >= level,  sum_p share[k][p] <= 1,
 *   sum_k jobs_k x gpus_k x share[k][p] <= pool_gpus[p],  share >= 0
 * then, at that level, minimizes sum jobs x gpus x price x share; without prices it maximizes the sum of all jobs'
 * scaled rates, so that no job could have more without another having less.
 *
 * `share`: [n_kinds][n_pools], written; rounded to 1e-9. HR_NO_MEMORY if the solver fails: well-formed problems always
 * have a solution, so the only cause is lack of memory.
 */
enum hr_status hr__time_shares_solve(const struct hr__share_problem *problem, double *share, double *level);

#endif
