/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_MARKET_MARKET_H
#define HR_POLICIES_QUEUE_MARKET_MARKET_H

/* How nodes of elastic pools are asked for and given back. */

#include "policies/kit/deadline_fifo.h"
#include "policies/queue/dispatch.h"

enum hr__market_rule {
  HR__MARKET_STATIC, /* all that can be had, by the engine */
  HR__MARKET_ON_DEMAND_ONLY,
  HR__MARKET_SPOT_FIRST,
  HR__MARKET_PRICE_CAPACITY,
  /* Each job on nodes of its own, by its deadline. */
  HR__MARKET_DEADLINE_GREEDY,
  HR__MARKET_UNIFORM_PROGRESS,
  HR__MARKET_OMNISCIENT
};

struct hr__market_limits {
  enum hr__market_rule rule;
  int64_t spot_wait_us;    /* a job waits so long for spot capacity before it pays for on-demand */
  int64_t spot_hold_us;    /* spot capacity must have been on offer, without a reclaim, for so long */
  int64_t idle_release_us; /* a node without jobs is given back after so long */
  uint32_t min_on_demand;  /* nodes that are kept */
  double max_spot_share;   /* of all elastic nodes */
  double reclaim_hours;    /* of work that a reclaim is taken to cost */
  bool returns;            /* spot-first: running jobs go back from on-demand to spot capacity */
};

/* The rules that look at what waits as a whole; makes queue->market, which listens. False: out of memory. */
bool hr__market_create(struct hr__queue *queue, const struct hr__market_limits *limits);
/* Of a waiting job that finds no place: whether the nodes that it lacks are on offer, so that it is the rule that asks
   for none; and until when it waits for spot capacity, HR_NEVER_US where it does not. */
bool hr__market_could_ask(const struct hr__queue *queue, hr_job job);
/* After the backfill's pass. */
enum hr_status hr__market_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* What the parts of the market rules share: who waits, the nodes that jobs are laid on, and who would rather be on spot
   capacity. Only the market's own files know it. */

/* Waiting jobs that ask for the same. */
struct hr__market_demand {
  uint32_t gpus, accept_class;
  uint32_t count, impatient; /* of `count`, those that have waited long enough for spot capacity */
  uint32_t held;             /* of `count`, those that quotas hold back, in this pass */
  bool is_single, may_use_spot;
};

/* A job on one on-demand node that would rather be on spot capacity. */
struct hr__returning_job {
  hr_job job;
  uint32_t pool, node;
};

/* In place of the time until when a job waits for spot capacity: that is over. */
#define HR__IMPATIENT INT64_C(-1)

struct hr__market {
  struct hr__market_limits limits;
  uint32_t n_pools, *gpus_per_node;  /* by pool */
  struct hr__market_demand *demands; /* all that were ever seen */
  uint32_t n_demands, demands_capacity;
  uint32_t *demand_of;                     /* by job, while it waits */
  int64_t *patience_us;                    /* by job: until when it waits for spot capacity; HR__IMPATIENT after that */
  int64_t *stable_us;                      /* by pool: since when spot capacity is on offer and nothing was reclaimed */
  int64_t *idle_us;                        /* by node: since when it has no job */
  uint32_t **levels;                       /* by pool and free GPUs: nodes that waiting jobs may be laid on */
  struct hr__deadline_fifo idle, patience; /* nodes; jobs */
  int64_t wake_us;                         /* the next wake-up that was asked for */
  struct hr__returning_job *returning;     /* spot-first with return: in no order */
  uint32_t n_returning, returning_capacity;
  uint32_t *returning_at; /* by job: its place + 1, 0 for none */
  hr_job *counted;        /* while it is counted who quotas hold back */
  uint32_t n_counted, counted_capacity;
};

static inline bool hr__market_is_elastic(const struct hr__queue *queue, uint32_t pool) {
  return hr_market_is_elastic(hr_cluster_pool_spec(queue->cluster, (hr_pool){pool})->market.market);
}

static inline bool hr__market_is_spot(const struct hr__queue *queue, uint32_t pool) {
  return hr_cluster_pool_spec(queue->cluster, (hr_pool){pool})->market.market == HR_MARKET_SPOT;
}

static inline uint32_t hr__min_u32(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* Nodes that one job of a gang takes. */
static inline uint32_t hr__nodes_per_job(uint32_t gpus, uint32_t size) {
  return gpus / size + (gpus % size != 0);
}

/* ---- Who waits (market_demand.c) -------------------------------------------------------------------- */

enum hr_status hr__market_job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job);

/* ---- Laying jobs on what is there (market_lay.c) ---------------------------------------------------- */

/* ---- Nodes (market_nodes.c) ------------------------------------------------------------------------- */

/* Nodes of a pool that are paid for; of the pools of one market, or of both elastic ones. */

/* ---- Asking for nodes (market_ask.c) ---------------------------------------------------------------- */

/* Asks for nodes for `count` jobs, in spot pools alone or in all; how many jobs found room. */
enum hr_status hr__market_acquire(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                                  bool spot_only, const struct hr_view *view, struct hr_moves *moves, uint32_t *found);
/* For all who wait, beyond what `levels` has for them. */
enum hr_status hr__market_supply(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* ---- Back to spot capacity (market_return.c) -------------------------------------------------------- */

/* Counts what waits: the jobs of each demand whose time to wait for spot capacity is over, and those that quotas hold
   back even if there were nodes for all. False: out of memory. */
bool hr__market_count_demand(struct hr__queue *queue, int64_t now_us);
/* Packs up to `count` jobs of a demand on the nodes counted in `levels`, of spot pools alone or of all pools that the
   jobs accept. Returns how many jobs found room. */
uint32_t hr__market_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                         bool spot_only);

/* Whether spot capacity has been on offer for long enough to be used. */
static inline bool hr__market_is_stable(const struct hr__market *market, uint32_t pool, int64_t now_us) {
  int64_t stable_us = market->stable_us[pool];
  return stable_us != HR_NEVER_US && now_us - stable_us >= market->limits.spot_hold_us;
}

/* Until when a waiting job waits for spot capacity; HR_NEVER_US if it does not. */
static inline int64_t hr__market_patience_us(const struct hr__queue *queue, hr_job job) {
  int64_t until_us = queue->market->patience_us[job.id];
  bool waits = queue->market->limits.rule == HR__MARKET_SPOT_FIRST && until_us != HR__IMPATIENT;
  return waits ? until_us : HR_NEVER_US;
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

/* Fills `levels` with the nodes that are up or booting. */
static inline void hr__market_read_levels(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, (hr_pool){i});
    for (uint32_t free = 1; free <= market->gpus_per_node[i]; free++)
      market->levels[i][free] = hr_free_index_count(index, free);
    market->levels[i][market->gpus_per_node[i]] += hr_cluster_nodes_in(queue->cluster, (hr_pool){i}, HR_NODE_BOOTING);
  }
}

#endif
