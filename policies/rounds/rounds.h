/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_ROUNDS_ROUNDS_H
#define HR_POLICIES_ROUNDS_ROUNDS_H

/* The `rounds` policy: shares of time, and the choice of jobs for a round. */

#include "base/containers.h"
#include "headroom/policy.h"
#include "policies/kit/jobs.h"

/* ---- Shares of time (round_shares.c) ------------------------------------------------------------------- */

/* The share of its time that each job should spend in each pool: linear programs after Gavel (Narayanan et al.,
   "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads", OSDI 2020). Equal jobs form one
   kind and get equal shares. The optimum is not worse with this restriction: in any optimum, the shares of equal
   jobs can be replaced by their average. */

/* A kind: equal jobs. */
struct hr__share_kind {
  uint32_t jobs; /* number of jobs of the kind, at least 1 */
  double gpus;   /* GPUs of each job, above 0 */
  /* factor of a job's rate of work, for the comparison with the rates of other jobs; greater than 0 */
  double scale;
};

/* A problem for hr__time_shares_solve. The comment of that function defines the level and the two steps. */
struct hr__share_problem {
  uint32_t n_kinds, n_pools;
  const struct hr__share_kind *kinds;
  /* [n_kinds][n_pools]: relative speed; 0: the kind cannot run in the pool. Each kind must be able to run in some pool.
   */
  const double *speed;
  const double *pool_gpus; /* [n_pools]: number of GPUs */
  double max_level;        /* step 1 maximizes the level only up to this value; INFINITY: no bound */
  const double *price;     /* [n_pools]: dollars per GPU-hour; NULL: step 2 maximizes work */
};

/*
 * Solves the problem in two steps.
 *
 * Step 1 maximizes the level, up to `max_level`. The level is the minimum of the scaled rates of all jobs:
 *   scale_k x sum_p speed[k][p] x share[k][p] >= level,  sum_p share[k][p] <= 1,
 *   sum_k jobs_k x gpus_k x share[k][p] <= pool_gpus[p],  share >= 0
 *
 * Step 2 fixes that level. With prices, it minimizes the cost:
 *   sum_k sum_p jobs_k x gpus_k x price[p] x share[k][p]
 * Without prices, it maximizes the sum of the scaled rates of all jobs. In the result, no job can get more unless
 * another job gets less.
 *
 * `share`: [n_kinds][n_pools], written, rounded to 1e-9. Returns HR_NO_MEMORY if the solver fails. Problems that meet
 * the conditions above always have a solution, so lack of memory is the only possible cause.
 */
enum hr_status hr__time_shares_solve(const struct hr__share_problem *problem, double *share, double *level);

/* ---- Rounds (rounds.c) --------------------------------------------------------------------------------- */

/* Shared state of the `rounds` policy: members (jobs that run or wait), their shares of time, and the choice of jobs
   for a round. */

/* Objectives of the shares; the parameter `objective` describes them. */
enum hr__objective { HR__FAIR, HR__MAX_MIN, HR__MAKESPAN, HR__COST_SLO };

/* A shape: jobs with the same need, speeds and weight. */
struct hr__round_shape {
  struct hr_need need;
  uint64_t milli; /* requested milli-GPUs; at least 1, so that jobs without GPUs that need a node have turns, too */
  double gpus;    /* the same in GPUs */
  uint32_t weight;
  double *speed; /* by pool: relative speed; 0: the job cannot run there */
};

/* A job that waits or runs. */
struct hr__member {
  hr_job job;
  uint32_t shape;
  uint32_t at;   /* index in `members` */
  uint32_t kind; /* index of its kind in the last solution; HR_NONE: the solution does not contain the member */
  uint32_t class_;
  /* current placement; while the jobs of a round are chosen, the new placement of a chosen member */
  struct hr__place place;
  bool runs;
  int64_t since_us;      /* time of its last accounting */
  int64_t start_work_us; /* work done when it last started */
  int64_t *allocated_us; /* by pool: time for which the job ran there since the last solution of the linear programs */
  /* time for which the job should have run according to its shares, minus the time for which it ran */
  double credit_us;
  /* service: GPU-microseconds that the job used, divided by its weight. The initial value is the minimum of all
     members */
  double service_gus;
  /* The following members are valid only while the jobs of a round are chosen. `moves`: it runs, and was chosen at a
     new placement. */
  bool chosen, moves;
  bool listed;        /* the member is a candidate */
  bool passed_others; /* the member was chosen, but a job before it in order was not chosen */
  bool evicted;       /* its lease (see rounds.c) has ended */
  bool lacks_memory;  /* it would fit, but the GPU memory does not suffice for its tasks */
  uint32_t awaits;    /* the pool in which it starts when nodes come up; HR_NONE: none */
};

/* A candidate in the choice of jobs. */
struct hr__candidate {
  double priority, credit_us, share;
  struct hr__member *member;
  uint32_t pool; /* HR_NONE: any pool */
};

/* The state of the policy. */
struct hr__rounds {
  struct hr_arena *arena;
  const struct hr_trace *jobs;
  const struct hr_cluster *cluster;
  uint32_t n_pools;
  enum hr__objective objective;
  int64_t round_us;
  double slo;
  bool by_priority;
  bool manages; /* the policy acquires and releases nodes */
  struct hr_capacity_set *capacities;
  /* Free capacity. In `free`, only jobs chosen so far use capacity; in `leases`, jobs of the previous round use it,
     too. */
  struct hr_capacity *free, *leases;

  struct hr__member **members, **member_of; /* members: all, in no order; member_of: by job */
  uint32_t n_members, members_capacity;
  struct hr__job_list gpuless; /* waiting jobs that need no node */
  struct hr__job_list withdrawn;
  struct hr__candidate *candidates;
  uint32_t n_candidates, candidates_capacity;

  struct hr__round_shape *shapes;
  uint32_t n_shapes, shapes_capacity;
  struct hr__hash by_shape; /* indices of the shapes by hash */
  double *draft;            /* [n_pools]: speeds of a shape to be looked up */

  /* by pool: milli-GPUs on nodes that are up, booting or available, minus those of members that were chosen in the
     pool, or await nodes there, in this round */
  uint64_t *spare_milli;
  uint64_t *awaited_milli;         /* by pool: milli-GPUs of members that await nodes */
  struct hr__round_shares *shares; /* see round_shares.c */
  bool set_changed;                /* members or capacity have changed since the last solution */
  bool freed;                      /* an event that may allow a start has happened since the last pass */
  uint32_t n_solved_ago;           /* number of rounds since the last solution */
  double base_gus;                 /* minimum service of all members when the round began */
  int64_t end_us;                  /* end of the current round */
};

/* ---- round_shares.c ------------------------------------------------------------------------------- */
enum hr_status hr__round_shares_init(struct hr__rounds *rounds);
/* Returns the index of the job's shape, created if needed; HR_NONE: out of memory. */
uint32_t hr__round_shape_of(struct hr__rounds *rounds, const struct hr_view *view, hr_job job);
/* Computes the shares of all members again if members or capacity have changed. With the objectives makespan and
   cost-slo, also after some rounds. Then resets allocated_us of all members. With the objective fair, does nothing. */
enum hr_status hr__round_shares_update(struct hr__rounds *rounds, const struct hr_view *view);
/* Returns the share of its time, 0 to 1, that the member should spend in a pool, as of the last solution. */
double hr__round_share_of(const struct hr__rounds *rounds, const struct hr__member *member, uint32_t pool);

static inline const struct hr__round_shape *hr__member_shape(const struct hr__rounds *rounds,
                                                             const struct hr__member *member) {
  return &rounds->shapes[member->shape];
}

/* Returns how many GPUs jobs can request for each GPU of the pool: more than one if GPUs are divided into equal parts.
 */
static inline uint64_t hr__rounds_parts(const struct hr__rounds *rounds, hr_pool pool) {
  uint32_t slot_milli = hr_pool_slot_milli(hr_cluster_pool_spec(rounds->cluster, pool));
  return slot_milli ? HR_WHOLE_GPU_MILLI / slot_milli : 1;
}

/* Returns the number of GPUs of the pool, as jobs request them. If the policy manages nodes, this includes nodes of
   elastic pools that are booting or available. */
static inline uint64_t hr__rounds_gpus(const struct hr__rounds *rounds, hr_pool pool) {
  uint64_t parts = hr__rounds_parts(rounds, pool);
  if (!rounds->manages || !hr__pool_is_elastic(rounds->cluster, pool))
    return hr_cluster_total_milli(rounds->cluster, pool) / HR_WHOLE_GPU_MILLI * parts;
  uint64_t nodes = (uint64_t)hr_cluster_nodes_in(rounds->cluster, pool, HR_NODE_UP) +
                   hr_cluster_nodes_in(rounds->cluster, pool, HR_NODE_BOOTING) +
                   hr_cluster_offer(rounds->cluster, pool);
  return nodes * hr_cluster_pool_spec(rounds->cluster, pool)->gpus_per_node * parts;
}

#endif
