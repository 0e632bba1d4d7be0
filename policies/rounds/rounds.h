/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_ROUNDS_ROUNDS_H
#define HR_POLICIES_ROUNDS_ROUNDS_H

/* The parts of the `rounds` policy: what share of its time each job should have where, and who runs in a round. */

#include "policies/kit/planned_state.h"

enum hr__objective { HR__FAIR, HR__MAX_MIN, HR__MAKESPAN, HR__COST_SLO };

/* Jobs that are alike: as many GPUs, as fast everywhere, as weighty. */
struct hr__round_shape {
  uint32_t gpus, accept_class, weight;
  double *speed; /* by pool; 0: cannot run there */
};

/* A job that waits or runs. */
struct hr__member {
  hr_job job;
  uint32_t shape;
  uint32_t at;   /* its place in the list of members */
  uint32_t kind; /* of the last solution; HR_NONE: it is not in it */
  uint32_t class_;
  struct hr__planned_place place; /* where it runs, or is to run */
  bool runs;
  int64_t since_us;      /* up to when its time is counted */
  int64_t start_work_us; /* work done when it was started last */
  int64_t *allocated_us; /* by pool, since the last solution */
  double credit_us;      /* time that it was entitled to and did not have */
  double service_gus;    /* GPU-microseconds that it had, by weight; begins with the least that others had */
  /* While a round is arranged. */
  bool chosen, moves;
  bool listed;        /* among the candidates */
  bool passed_others; /* one that was before it does not run */
  bool evicted;       /* its place is another's */
  uint32_t awaits;    /* the pool where it is to start when nodes come; HR_NONE */
};

struct hr__candidate {
  double priority, credit_us, share;
  struct hr__member *member;
  uint32_t pool; /* HR_NONE: any */
};

struct hr__rounds {
  struct hr_arena *arena;
  const struct hr_trace *jobs;
  const struct hr_cluster *cluster;
  uint32_t n_pools;
  enum hr__objective objective;
  int64_t round_us;
  double slo;
  bool by_priority;
  bool manages; /* asks for nodes and gives them back */
  struct hr_placer *placer;
  struct hr__planned_capacity capacity[2];
  struct hr__planned_capacity *free, *leases; /* what is free; what is free beside the places of all who ran before */

  struct hr__member **members, **member_of; /* a list; by job */
  uint32_t n_members, members_capacity;
  hr_job *gpuless; /* jobs without GPUs that wait */
  uint32_t n_gpuless, gpuless_capacity;
  struct hr__candidate *candidates;
  uint32_t n_candidates, candidates_capacity;

  struct hr__round_shape *shapes;
  uint32_t *slot; /* hash of shapes: number + 1, 0 for empty */
  uint32_t n_shapes, n_slots;
  double *draft; /* speeds of a shape that is looked up, by pool */

  uint64_t *spare_gpus;            /* by pool: not spoken for in this round, on nodes that are there or can be had */
  uint64_t *awaited_gpus;          /* by pool */
  struct hr__round_shares *shares; /* round_shares.c */
  bool set_changed;                /* since the last solution */
  bool freed;                      /* something is free that was not, or somebody has come, since the last pass */
  uint32_t n_solved_ago;           /* rounds */
  double base_gus;                 /* the least service of all members when the round began */
  int64_t end_us;                  /* of the round */
};

/* round_shares.c */
enum hr_status hr__round_shares_init(struct hr__rounds *rounds);
/* The number of the job's shape; HR_NONE: out of memory. */
uint32_t hr__round_shape_of(struct hr__rounds *rounds, const struct hr_view *view, hr_job job);
/* Shares for all members; every member's held_us begins anew. */
enum hr_status hr__round_shares_update(struct hr__rounds *rounds, const struct hr_view *view);
/* The member's share in a pool, of the last solution. */
double hr__round_share_of(const struct hr__rounds *rounds, const struct hr__member *member, uint32_t pool);

/* round_choice.c */
/* Who runs from now on: stops and starts. */
enum hr_status hr__round_begin(struct hr__rounds *rounds, const struct hr_view *view, struct hr_moves *moves);
/* Within a round: those who wait, on what is free. */
enum hr_status hr__round_fill(struct hr__rounds *rounds, const struct hr_view *view, struct hr_moves *moves);
/* Time until now goes into the accounts of a member. */
void hr__member_account(const struct hr__rounds *rounds, struct hr__member *member, int64_t now_us);

static inline const struct hr__round_shape *hr__member_shape(const struct hr__rounds *rounds,
                                                             const struct hr__member *member) {
  return &rounds->shapes[member->shape];
}

static inline bool hr__rounds_is_elastic(const struct hr__rounds *rounds, hr_pool pool) {
  return hr_market_is_elastic(hr_cluster_pool_spec(rounds->cluster, pool)->market.market);
}

/* GPUs of the pool on nodes that are up, booting or on offer, or, unless nodes are managed, on the nodes that are up.
 */
static inline uint64_t hr__rounds_gpus(const struct hr__rounds *rounds, hr_pool pool) {
  if (!rounds->manages || !hr__rounds_is_elastic(rounds, pool))
    return hr_cluster_total_milli(rounds->cluster, pool) / 1000;
  uint64_t nodes = (uint64_t)hr_cluster_nodes_in(rounds->cluster, pool, HR_NODE_UP) +
                   hr_cluster_nodes_in(rounds->cluster, pool, HR_NODE_BOOTING) +
                   hr_cluster_offer(rounds->cluster, pool);
  return nodes * hr_cluster_pool_spec(rounds->cluster, pool)->gpus_per_node;
}

#endif
