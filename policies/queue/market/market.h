/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_MARKET_MARKET_H
#define HR_POLICIES_QUEUE_MARKET_MARKET_H

/* Acquiring and releasing nodes of elastic pools. */

#include "policies/kit/deadline_fifo.h"
#include "policies/queue/dispatch.h"

enum hr__market_rule {
  HR__MARKET_STATIC, /* the engine acquires all that is available */
  HR__MARKET_ON_DEMAND_ONLY,
  HR__MARKET_SPOT_FIRST,
  HR__MARKET_PRICE_CAPACITY,
  /* Each job has nodes of its own, by its deadline (policies/deadline). */
  HR__MARKET_DEADLINE_GREEDY,
  HR__MARKET_UNIFORM_PROGRESS,
  HR__MARKET_OMNISCIENT
};

struct hr__market_limits {
  enum hr__market_rule rule;
  int64_t spot_wait_us;    /* how long a job waits for spot capacity before it uses on-demand */
  int64_t spot_hold_us;    /* how long spot capacity must be available without a reclaim */
  int64_t idle_release_us; /* idle time after which a node is released */
  uint32_t min_on_demand;  /* minimum number of nodes */
  double max_spot_share;   /* of all elastic nodes */
  double reclaim_hours;    /* assumed cost of a reclaim, in hours of work */
  bool returns;            /* spot-first: running jobs return from on-demand to spot capacity */
};

/* Creates queue->market, which listens to the queue, for the rules up to HR__MARKET_PRICE_CAPACITY. False: out of
   memory. */
bool hr__market_create(struct hr__queue *queue, const struct hr__market_limits *limits);
/* For a waiting job without a placement: returns whether the nodes that it lacks are available, so that the rule does
   not acquire them. */
bool hr__market_could_ask(const struct hr__queue *queue, hr_job job);
/* To be called after the backfill's pass. */
enum hr_status hr__market_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* ---- State ---------------------------------------------------------------------------------------- */

/* Waiting jobs of equal request. */
struct hr__market_demand {
  uint32_t gpus, accept_class;
  uint32_t count, impatient; /* impatient: of `count`, those that have ended their wait for spot capacity */
  uint32_t held;             /* of `count`, those that quotas block in this pass */
  bool is_single, may_use_spot;
};

/* A job on one on-demand node that may return to spot capacity. */
struct hr__returning_job {
  hr_job job;
  uint32_t pool, node;
};

/* In patience_us: the time to wait for spot capacity is over. */
#define HR__IMPATIENT INT64_C(-1)

struct hr__market {
  struct hr__market_limits limits;
  uint32_t n_pools, *gpus_per_node;  /* n_pools; by pool */
  struct hr__market_demand *demands; /* all requests seen */
  uint32_t n_demands, demands_capacity;
  uint32_t *demand_of;  /* by job, while it waits */
  int64_t *patience_us; /* by job: until when it waits for spot capacity, then HR__IMPATIENT */
  int64_t *stable_us;   /* by pool: since when spot capacity is available without a reclaim; HR_NEVER_US: it is not */
  int64_t *idle_us;     /* by node: since when it has no job */
  uint32_t **levels;    /* by pool and free GPUs: nodes on which waiting jobs can be packed */
  struct hr__deadline_fifo idle, patience; /* of nodes; of jobs */
  int64_t wake_us;                         /* the next wake-up that was requested */
  struct hr__returning_job *returning;     /* in no order */
  uint32_t n_returning, returning_capacity;
  uint32_t *returning_at; /* by job: its index + 1, 0 for none */
  hr_job *counted;        /* jobs counted while quotas are tried */
  uint32_t n_counted, counted_capacity;
};

static inline bool hr__market_is_elastic(const struct hr__queue *queue, uint32_t pool) {
  return hr_market_is_elastic(hr_cluster_pool_spec(queue->cluster, (hr_pool){pool})->market.market);
}

static inline bool hr__market_is_spot(const struct hr__queue *queue, uint32_t pool) {
  return hr_cluster_pool_spec(queue->cluster, (hr_pool){pool})->market.market == HR_MARKET_SPOT;
}

/* Returns whether spot capacity has been available for long enough to be used. */
static inline bool hr__market_is_stable(const struct hr__market *market, uint32_t pool, int64_t now_us) {
  int64_t stable_us = market->stable_us[pool];
  return stable_us != HR_NEVER_US && now_us - stable_us >= market->limits.spot_hold_us;
}

/* Returns how many nodes of a pool are paid for. */
static inline uint32_t hr__market_n_active(const struct hr__queue *queue, uint32_t pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(queue->cluster, (hr_pool){pool});
  return spec->nodes - hr_cluster_nodes_in(queue->cluster, (hr_pool){pool}, HR_NODE_OFF);
}

/* Returns how many nodes are paid for in elastic pools: of spot pools, of on-demand pools, or of both. */
static inline uint32_t hr__market_n_active_in(const struct hr__queue *queue, bool spot, bool on_demand) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < queue->market->n_pools; i++)
    if (hr__market_is_elastic(queue, i) && (hr__market_is_spot(queue, i) ? spot : on_demand))
      sum += hr__market_n_active(queue, i);
  return sum;
}

/* Returns whether spot nodes stay within their share with `more_spot` more of them and `fewer_others` fewer others. */
static inline bool hr__market_keeps_share(const struct hr__queue *queue, uint32_t more_spot, uint32_t fewer_others) {
  double spot = hr__market_n_active_in(queue, true, false) + more_spot;
  double others = hr__market_n_active_in(queue, false, true);
  others = others > fewer_others ? others - fewer_others : 0;
  return queue->market->limits.max_spot_share >= 1 ||
         spot <= queue->market->limits.max_spot_share * (spot + others) + 1e-9;
}

/* Returns until when a waiting job waits for spot capacity; HR_NEVER_US if it does not. */
static inline int64_t hr__market_patience_us(const struct hr__queue *queue, hr_job job) {
  int64_t until_us = queue->market->patience_us[job.id];
  bool waits = queue->market->limits.rule == HR__MARKET_SPOT_FIRST && until_us != HR__IMPATIENT;
  return waits ? until_us : HR_NEVER_US;
}

#endif
