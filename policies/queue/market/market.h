/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_MARKET_MARKET_H
#define HR_POLICIES_QUEUE_MARKET_MARKET_H

/* How nodes of elastic pools are asked for and given back. */

#include "headroom/policy.h"

struct hr__queue;

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
int64_t hr__market_patience_us(const struct hr__queue *queue, hr_job job);
/* After the backfill's pass. */
enum hr_status hr__market_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan);

#endif
