/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_MARKET_MARKET_PLAN_H
#define HR_POLICIES_QUEUE_MARKET_MARKET_PLAN_H

/* What the parts of the market rules share: who waits, the nodes that jobs are laid on, and who would rather be on spot
   capacity. Only the market's own files know it. */

#include "policies/kit/deadline_fifo.h"
#include "policies/queue/dispatch.h"
#include "policies/queue/market/market.h"

/* Waiting jobs that ask for the same. */
struct hr__market_demand {
  uint32_t gpus, accept_class;
  uint32_t count, impatient; /* of `count`, those that have waited long enough for spot capacity */
  uint32_t held;             /* of `count`, those that quotas hold back, in this pass */
  bool is_single, may_use_spot;
};

/* A job on one on-demand node that would rather be on spot capacity. */
struct hr__pending_demand {
  hr_job job;
  uint32_t pool, node;
};

/* In place of the time until when a job waits for spot capacity: that is over. */
#define HR__IMPATIENT INT64_C(-1)

struct hr__market_plan {
  struct hr__market_limits limits;
  uint32_t n_pools, *gpus_per_node;  /* by pool */
  struct hr__market_demand *demands; /* all that were ever seen */
  uint32_t n_demands, demands_capacity;
  uint32_t *demand_of;                     /* by job, while it waits */
  int64_t *patience_us;                    /* by job: until when it waits for spot capacity; HR__IMPATIENT after that */
  int64_t *calm_us;                        /* by pool: since when spot capacity is on offer and nothing was reclaimed */
  int64_t *idle_us;                        /* by node: since when it has no job */
  uint32_t **levels;                       /* by pool and free GPUs: nodes that waiting jobs may be laid on */
  struct hr__deadline_fifo idle, patience; /* nodes; jobs */
  int64_t wake_us;                         /* the next wake-up that was asked for */
  struct hr__pending_demand *demands_pending; /* spot-first with return: in no order */
  uint32_t n_demands_pending, demands_pending_capacity;
  uint32_t *pending_at; /* by job: its place + 1, 0 for none */
  hr_job *counted;      /* while it is counted who quotas hold back */
  uint32_t n_counted, counted_capacity;
};

static inline bool hr__market_is_elastic(const struct hr__queue *queue, uint32_t pool) {
  return hr_market_is_elastic(hr_cluster_pool_spec(queue->cluster, (hr_pool){pool})->market.market);
}

static inline bool hr__market_is_spot(const struct hr__queue *queue, uint32_t pool) {
  return hr_cluster_pool_spec(queue->cluster, (hr_pool){pool})->market.market == HR_MARKET_SPOT;
}

static inline uint32_t hr__least(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* Nodes that one job of a gang takes. */
static inline uint32_t hr__nodes_per_job(uint32_t gpus, uint32_t size) {
  return gpus / size + (gpus % size != 0);
}

/* ---- Who waits (market_demand.c) -------------------------------------------------------------------- */

enum hr_status hr__market_job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job);
/* It has started, or is given up. */
enum hr_status hr__market_job_waits_no_more(struct hr__queue *queue, const struct hr_view *view, hr_job job);
/* Counts, in each demand, the jobs whose time to wait for spot capacity is over by now. */
void hr__market_lose_patience(struct hr__market_plan *market, int64_t now_us);
/* How many of each demand quotas hold back, even if there were nodes for all. False: out of memory. */
bool hr__market_count_held(struct hr__queue *queue);

/* ---- Laying jobs on what is there (market_lay.c) ---------------------------------------------------- */

/* Fills `levels` with the nodes that are up or booting. */
void hr__market_read_levels(struct hr__queue *queue);
/* Likewise on all pools that the jobs accept. */
uint32_t hr__market_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count);
/* Lays one job on spot nodes that are free or booting. */
bool hr__market_pack_on_spot(struct hr__queue *queue, const struct hr__market_demand *demand);

/* ---- Nodes (market_nodes.c) ------------------------------------------------------------------------- */

/* Nodes of a pool that are paid for; of the pools of one market, or of both elastic ones. */
uint32_t hr__market_n_active(const struct hr__queue *queue, uint32_t pool);
uint32_t hr__market_n_active_in(const struct hr__queue *queue, bool spot, bool on_demand);

/* ---- Asking for nodes (market_ask.c) ---------------------------------------------------------------- */

/* Whether spot capacity has been on offer for long enough to be used. */
bool hr__market_is_calm(const struct hr__market_plan *market, uint32_t pool, int64_t now_us);
/* Whether spot nodes would be no more than their share, with so many more of them and so many fewer of the others. */
bool hr__market_keeps_share(const struct hr__queue *queue, uint32_t more_spot, uint32_t fewer_others);
/* Asks for nodes for `count` jobs, in spot pools alone or in all; how many jobs found room. */
enum hr_status hr__market_ask(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                              bool spot_only, const struct hr_view *view, struct hr_moves *plan, uint32_t *found);
/* For all who wait, beyond what `levels` has for them. */
enum hr_status hr__market_supply(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan);
/* The least of on-demand nodes that are to be kept. */
enum hr_status hr__market_keep_minimum(struct hr__queue *queue, struct hr_moves *plan);

/* ---- Back to spot capacity (market_return.c) -------------------------------------------------------- */

#endif
