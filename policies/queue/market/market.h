/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_MARKET_MARKET_H
#define HR_POLICIES_QUEUE_MARKET_MARKET_H

/* Market rules: when nodes of elastic pools are acquired and released. */

#include "base/containers.h"
#include "policies/kit/jobs.h"
#include "policies/queue/dispatch.h"

#include <math.h>

/* The market rules. Their names in scenarios are in policies/queue/dispatch.h. */
enum hr__market_rule {
  HR__MARKET_STATIC, /* the engine acquires all available nodes */
  HR__MARKET_ON_DEMAND_ONLY,
  HR__MARKET_SPOT_FIRST,
  HR__MARKET_PRICE_CAPACITY
};

/* The parameters of the market rules. Times are in microseconds. */
struct hr__market_limits {
  enum hr__market_rule rule;
  /* patience: maximum time for which a job waits for spot capacity before it may use on-demand capacity */
  int64_t spot_wait_us;
  int64_t spot_hold_us; /* time for which spot capacity must be available without a reclaim until it counts as stable */
  int64_t idle_release_us; /* idle time after which a node is released */
  uint32_t min_on_demand;  /* minimum number of on-demand nodes */
  double max_spot_share;   /* maximum of (spot nodes / all elastic nodes), 0 to 1 */
  double reclaim_hours;    /* assumed work that a reclaim destroys, in hours */
  bool returns;            /* for spot-first: running jobs are moved from on-demand to spot capacity */
};

/* Creates queue->market, and adds its listener to the queue. Not for the rule HR__MARKET_STATIC. False: out of
   memory. */
bool hr__market_create(struct hr__queue *queue, const struct hr__market_limits *limits);
/* For a waiting job that does not fit: returns whether enough nodes for it are available for acquisition. If so, the
   job waits only because the rule has not acquired them. */
bool hr__market_could_ask(struct hr__queue *queue, hr_job job);
/* Called at a wake-up, if no event other than checkpoints has occurred since the last pass. `*due`: a pass may decide
   something now. If not, requests the next wake-up, as a pass would do. */
enum hr_status hr__market_wake(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, bool *due);
/* Acquires and releases nodes. Call this after the backfill has started jobs. */
enum hr_status hr__market_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* ---- State ---------------------------------------------------------------------------------------- */

/* A demand: waiting jobs with equal needs. */
struct hr__market_demand {
  struct hr_need need;
  /* count: number of waiting jobs; impatient: number of waiting jobs without remaining patience */
  uint32_t count, impatient;
  /* held: number of waiting jobs that quotas block in this pass; held_impatient: number of those without remaining
     patience */
  uint32_t held, held_impatient;
  uint32_t active_at;           /* index in market->active_demands if any job waits */
  bool is_single, may_use_spot; /* the job needs one node; it accepts a spot pool */
};

/* A returning job: a running job on one on-demand node that may be moved to spot capacity. */
struct hr__returning_job {
  hr_job job;
  hr_pool pool;
};

struct hr__placed_supply;

/* Value in patience_us: the patience of the job is over. */
#define HR__IMPATIENT INT64_C(-1)

/* The nodes of a pool by their number of free GPUs. */
struct hr__node_levels {
  uint32_t *count; /* by number of free GPUs: number of nodes with this many free GPUs */
  uint64_t *used;  /* the set of the numbers of free GPUs with a count above 0 */
  struct hr__bitset_shape shape;
};

/* The state of the market rules. */
struct hr__market {
  struct hr__market_limits limits;
  uint32_t n_pools, *gpus_per_node;  /* gpus_per_node: by pool; NULL if `placed` is set */
  enum hr_market *kind;              /* by pool */
  struct hr__market_demand *demands; /* all needs that occurred, in the order in which they first occurred */
  uint32_t n_demands, demands_capacity;
  uint32_t *active_demands; /* indices of the demands with waiting jobs, in no order */
  uint32_t n_active_demands, active_demands_capacity;
  struct hr__hash demand_at; /* by need: index of its demand */
  uint32_t *demand_of;       /* by job: index of its demand while it waits; HR_NONE: the job needs no node */
  /* by job: end of its patience while it waits; HR__IMPATIENT after that time; HR_NEVER_US after its start */
  int64_t *patience_us;
  /* by pool: time since which capacity has been available without a reclaim; HR_NEVER_US: none is available now */
  int64_t *stable_us;
  int64_t *idle_us;               /* by node: time since which it has had no job; not valid while it has one */
  struct hr__node_levels *levels; /* by pool: the nodes on which jobs can be packed */
  /* used instead of `levels` with per-GPU allocation or topology constraints; otherwise NULL */
  struct hr__placed_supply *placed;
  uint32_t *spare;                         /* buffer by pool: number of empty nodes that no waiting job will use */
  uint32_t *room;                          /* buffer by pool: number of nodes that the rule may acquire */
  struct hr__deadline_fifo idle, patience; /* idle: ends of idle times, by node; patience: ends of patience, by job */
  int64_t wake_us;                         /* time of the next requested wake-up */
  /* next time, besides the entries of `idle` and `patience`, at which nodes may be acquired or jobs moved without an
     event; HR_NEVER_US: none */
  int64_t due_us;
  /* time of a pass that considers again the jobs that the last pass could not move to spot capacity, because they had
     started at the same instant; an earlier pass may consider them, too. HR_NEVER_US: no such jobs */
  int64_t retry_us;
  bool uses_time; /* nodes may be acquired at any time without an event, for example because prices change */
  struct hr__returning_job *returning; /* not sorted */
  uint32_t n_returning, returning_capacity;
  uint32_t *returning_at; /* by job: index in `returning` + 1; 0: not in the list */
  hr_job *counted;        /* buffer of count_held: the jobs that quotas would admit */
  uint32_t n_counted, counted_capacity;
  bool failed; /* memory was exhausted in count_held */
};

/* Returns the demand of a waiting job; NULL: the job needs no node. */
static inline struct hr__market_demand *hr__market_demand_of(const struct hr__queue *queue, hr_job job) {
  uint32_t at = queue->market->demand_of[job.id];
  return at == HR_NONE ? NULL : &queue->market->demands[at];
}

static inline bool hr__market_is_elastic(const struct hr__queue *queue, uint32_t pool) {
  return hr_market_is_elastic(queue->market->kind[pool]);
}

static inline bool hr__market_is_spot(const struct hr__queue *queue, uint32_t pool) {
  return queue->market->kind[pool] == HR_MARKET_SPOT;
}

/* Returns whether spot capacity of the pool has been available for the minimum time (spot_hold_us). */
static inline bool hr__market_is_stable(const struct hr__market *market, uint32_t pool, int64_t now_us) {
  int64_t stable_us = market->stable_us[pool];
  return stable_us != HR_NEVER_US && now_us - stable_us >= market->limits.spot_hold_us;
}

/* Returns the number of nodes of a pool that are paid for. */
static inline uint32_t hr__market_n_active(const struct hr__queue *queue, uint32_t pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(queue->cluster, (hr_pool){pool});
  return spec->nodes - hr_cluster_nodes_in(queue->cluster, (hr_pool){pool}, HR_NODE_OFF);
}

/* Returns how many nodes of elastic pools are paid for. `spot`: spot pools are counted; `on_demand`: on-demand pools
   are counted. */
static inline uint32_t hr__market_n_active_in(const struct hr__queue *queue, bool spot, bool on_demand) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < queue->market->n_pools; i++)
    if (hr__market_is_elastic(queue, i) && (hr__market_is_spot(queue, i) ? spot : on_demand))
      sum += hr__market_n_active(queue, i);
  return sum;
}

/* Returns the maximum number of spot nodes if there are `others` on-demand nodes; INFINITY: unlimited. */
static inline double hr__market_max_spot(double max_share, double others) {
  return max_share >= 1 ? (double)INFINITY : floor(max_share * others / (1 - max_share) + 1e-9);
}

/* Returns the end of the patience of a waiting job; HR_NEVER_US if its patience is over, or if the rule is not
   spot-first. */
static inline int64_t hr__market_patience_us(const struct hr__queue *queue, hr_job job) {
  int64_t until_us = queue->market->patience_us[job.id];
  bool waits = queue->market->limits.rule == HR__MARKET_SPOT_FIRST && until_us != HR__IMPATIENT;
  return waits ? until_us : HR_NEVER_US;
}

/* ---- Supply (supply.c) --------------------------------------------------------------------------------- */

/*
 * The supply state: the capacity that is free or booting. During a pass, waiting jobs are packed on it, and nodes are
 * acquired for those that cannot be packed. Packing starts no jobs.
 *
 * There are two implementations. The counted supply counts nodes by number of free GPUs, and its cost does not depend
 * on the number of jobs. The placed supply places the jobs one by one with the placement rule. It is used with per-GPU
 * allocation and with topology constraints.
 */

/* Sets the supply state to the free and booting capacity. False: out of memory. */
bool hr__supply_begin(struct hr__queue *queue);
/* Discards the supply state. Must be called after each hr__supply_begin. False: out of memory. */
bool hr__supply_end(struct hr__queue *queue);
/* Packs up to `count` jobs of a demand, in the pools that the jobs accept (if `spot_only`, in spot pools only). Returns
   the number of packed jobs. */
uint32_t hr__supply_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                         bool spot_only);
/* Acquires nodes for up to `count` jobs of a demand that cannot be packed, adds the nodes to the supply state, and
   packs the jobs. `spot_only`: only spot pools are used. `*found`: the number of jobs that were packed. */
enum hr_status hr__supply_acquire(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                                  bool spot_only, const struct hr_view *view, struct hr_moves *moves, uint32_t *found);
/* Returns the number of empty nodes of a pool in the supply state. */
uint32_t hr__supply_empty_nodes(const struct hr__queue *queue, uint32_t pool);
/* Acquires nodes without regard to demands. The supply state must not be in use. */
enum hr_status hr__supply_request(struct hr__queue *queue, struct hr_moves *moves, uint32_t pool, uint32_t nodes);
/* Packs all waiting jobs that quotas admit, in the order in which hr__supply_all supplies them. */
enum hr_status hr__supply_pack_all(struct hr__queue *queue);
/* Packs all waiting jobs that quotas admit, and acquires nodes for those that cannot be packed, as far as the rule
   allows it. */
enum hr_status hr__supply_all(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* ---- Supply of whole GPUs (counted), and of placements ---- */

bool hr__counted_supply_create(struct hr__queue *queue);
bool hr__placed_supply_create(struct hr__queue *queue);
/* Called for a running job that starts on a placement (`starts`) or leaves it. */
void hr__placed_supply_job_changes(struct hr__queue *queue, hr_job job, const struct hr_placement *placement,
                                   bool starts);
void hr__placed_supply_node_changes(struct hr__queue *queue, const struct hr_event *event);

#endif
