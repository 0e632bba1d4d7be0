/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_ROUNDS_ROUND_SHARES_H
#define HR_POLICIES_ROUNDS_ROUND_SHARES_H

/*
 * Which share of its time each job should be in which pool: linear programs after Gavel (Narayanan et al.,
 * "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads", OSDI 2020). Equal jobs are one kind:
 * an optimum that treats them alike is an optimum.
 */

#include "headroom/policy.h"

struct hr__share_kind {
  uint32_t jobs; /* how many there are of it; at least 1 */
  uint32_t gpus; /* of each; at least 1 */
  double scale;  /* above 0: what a job's rate of work is multiplied by before it is compared with those of others */
};

struct hr__share_problem {
  uint32_t n_kinds, n_pools;
  const struct hr__share_kind *kinds;
  const double *speed;     /* [n_kinds][n_pools]; 0: cannot run there. Each kind can run somewhere. */
  const double *pool_gpus; /* [n_pools] */
  double max_level;        /* beyond which the least scaled rate is worth nothing; INFINITY: none */
  const double *price;     /* [n_pools], of a GPU; NULL: what is left over goes to more work */
};

/*
 * First maximises the level, the least scaled rate of all jobs, up to `most_level`:
 *   scale_k x sum_p speed[k][p] x share[k][p] >= level,  sum_p share[k][p] <= 1,
 *   sum_k jobs_k x gpus_k x share[k][p] <= pool_gpus[p],  share >= 0
 * then, with that level kept, minimises sum jobs x gpus x price x share; without prices it maximises the sum of all
 * jobs' scaled rates, so that no job could have more without another having less.
 *
 * `share`: [n_kinds][n_pools], written; rounded to 1e-9. HR_NO_MEMORY when the solver gives up: with well-formed
 * problems, which always have a solution, it does so for want of memory only.
 */
enum hr_status hr__time_shares_solve(const struct hr__share_problem *problem, double *share, double *level);

#endif
