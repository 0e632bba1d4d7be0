/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_ROUNDS_ROUNDS_H
#define HR_POLICIES_ROUNDS_ROUNDS_H

/* Shared state of the `rounds` policy: members, their shares of time, and the choice of a round. */

#include "policies/kit/planned_state.h"

enum hr__objective { HR__FAIR, HR__MAX_MIN, HR__MAKESPAN, HR__COST_SLO };

/* Jobs with equal GPUs, speeds and weight. */
struct hr__round_shape {
  uint32_t gpus, accept_class, weight;
  double *speed; /* by pool; 0: cannot run there */
};

/* A job that waits or runs. */
struct hr__member {
  hr_job job;
  uint32_t shape;
  uint32_t at;   /* its index in the list of members */
  uint32_t kind; /* of the last solution; HR_NONE: not in it */
  uint32_t class_;
  struct hr__planned_place place; /* current or planned */
  bool runs;
  int64_t since_us;      /* up to when its time is accounted */
  int64_t start_work_us; /* work done at its last start */
  int64_t *allocated_us; /* by pool, since the last solution */
  double credit_us;      /* time to which it was entitled and did not get */
  double service_gus;    /* GPU-microseconds that it had, divided by its weight; starts at the minimum of the others */
  /* During the choice of a round. */
  bool chosen, moves;
  bool listed;        /* among the candidates */
  bool passed_others; /* a job before it in order does not run */
  bool evicted;       /* its place has been taken */
  uint32_t awaits;    /* the pool in which it starts when nodes come up; HR_NONE: none */
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
  bool manages; /* it acquires and releases nodes */
  struct hr_placer *placer;
  struct hr__planned_capacity capacity[2];
  struct hr__planned_capacity *free,
      *leases; /* free capacity; free capacity without the places of all jobs of the previous round */

  struct hr__member **members, **member_of; /* a list; by job */
  uint32_t n_members, members_capacity;
  hr_job *gpuless; /* waiting jobs without GPUs */
  uint32_t n_gpuless, gpuless_capacity;
  struct hr__candidate *candidates;
  uint32_t n_candidates, candidates_capacity;

  struct hr__round_shape *shapes;
  uint32_t *slot; /* hash of shapes: number + 1, 0 for empty */
  uint32_t n_shapes, n_slots;
  double *draft; /* buffer: speeds of a shape to be looked up, by pool */

  uint64_t *spare_gpus;            /* by pool: not claimed in this round, on nodes that are up or available */
  uint64_t *awaited_gpus;          /* by pool */
  struct hr__round_shares *shares; /* see round_shares.c */
  bool set_changed;                /* since the last solution */
  bool freed;                      /* capacity came free, or a job arrived, since the last pass */
  uint32_t n_solved_ago;           /* in rounds */
  double base_gus;                 /* minimum service of all members when the round began */
  int64_t end_us;                  /* of the round */
};

/* ---- round_shares.c ------------------------------------------------------------------------------- */
enum hr_status hr__round_shares_init(struct hr__rounds *rounds);
/* Returns the number of the job's shape; HR_NONE: out of memory. */
uint32_t hr__round_shape_of(struct hr__rounds *rounds, const struct hr_view *view, hr_job job);
/* Computes the shares of all members if needed; resets every member's allocated_us then. */
enum hr_status hr__round_shares_update(struct hr__rounds *rounds, const struct hr_view *view);
/* Returns the member's share in a pool, by the last solution. */
double hr__round_share_of(const struct hr__rounds *rounds, const struct hr__member *member, uint32_t pool);

static inline const struct hr__round_shape *hr__member_shape(const struct hr__rounds *rounds,
                                                             const struct hr__member *member) {
  return &rounds->shapes[member->shape];
}

static inline bool hr__rounds_is_elastic(const struct hr__rounds *rounds, hr_pool pool) {
  return hr_market_is_elastic(hr_cluster_pool_spec(rounds->cluster, pool)->market.market);
}

/* Returns the GPUs of the pool on nodes that are up, booting or available; without management of nodes, its present
   GPUs. */
static inline uint64_t hr__rounds_gpus(const struct hr__rounds *rounds, hr_pool pool) {
  if (!rounds->manages || !hr__rounds_is_elastic(rounds, pool))
    return hr_cluster_total_milli(rounds->cluster, pool) / 1000;
  uint64_t nodes = (uint64_t)hr_cluster_nodes_in(rounds->cluster, pool, HR_NODE_UP) +
                   hr_cluster_nodes_in(rounds->cluster, pool, HR_NODE_BOOTING) +
                   hr_cluster_offer(rounds->cluster, pool);
  return nodes * hr_cluster_pool_spec(rounds->cluster, pool)->gpus_per_node;
}

#endif
