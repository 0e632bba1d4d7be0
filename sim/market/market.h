/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_MARKET_MARKET_H
#define HR_SIM_MARKET_MARKET_H

/* Prices, random durations, and the supply of spot capacity as a function of time. */

#include "base/random.h"
#include "headroom/base.h"
#include "headroom/market.h"

#include <stdlib.h>

/* ---- Prices (supply.c) ---- */

/*
 * Prices over time, and random prices.
 *
 * The price of a GPU-hour of a pool is constant or changes in steps. The price sum between two instants is the integral
 * of this price over time. struct hr__price_sums stores the price sum from time 0 to each step. A query takes one
 * binary search for each of the two instants, or none if the price is constant.
 */

struct hr__price_sums {
  const struct hr_market_spec *market; /* the caller owns it */
  hr_amount *before; /* [n_prices]: the price sum from time 0 to each step; NULL if the price is constant */
};

/* Initializes the sums. Returns HR_OK or HR_NO_MEMORY. In both cases the caller must call hr__price_sums_finish. */
enum hr_status hr__price_sums_init(struct hr__price_sums *sums, const struct hr_market_spec *market);
static inline void hr__price_sums_finish(struct hr__price_sums *sums) {
  free(sums->before);
}

/* Returns the price sum from time 0 to `to_us`. The price must have steps. */
hr_amount hr__price_sum_stepped(const struct hr__price_sums *sums, int64_t to_us);

/* Returns the price sum between two times, in (micro-dollars per GPU-hour) * microseconds. */
static inline hr_amount hr__price_sum_between(const struct hr__price_sums *sums, int64_t from_us, int64_t to_us) {
  if (!sums->before) return (hr_amount)sums->market->price_uusd_h * (to_us - from_us);
  return hr__price_sum_stepped(sums, to_us) - hr__price_sum_stepped(sums, from_us);
}

/* Returns how much time is billed for a session of `length_us`. */
static inline int64_t hr__billed_us(const struct hr_billing *billing, int64_t length_us) {
  int64_t unit_us = billing->granularity_us;
  if (unit_us > 0) length_us = (length_us + unit_us - 1) / unit_us * unit_us;
  return length_us > billing->minimum_us ? length_us : billing->minimum_us;
}

/* Parameters of a random price that returns to its mean. The logarithm of the price is an Ornstein-Uhlenbeck process
   that is sampled at regular intervals. The deviation is the logarithm of price / mean. */
struct hr__price_walk {
  int64_t mean_uusd_h;            /* the price at deviation 0 */
  int64_t min_uusd_h, max_uusd_h; /* lower and upper limit of the price */
  double volatility;              /* standard deviation of the deviation in the stationary state */
  double reversion_h;             /* hours after which the expected deviation is 1/e of the present deviation */
  int64_t interval_us;            /* time between two changes of the price */
  uint32_t n_steps;               /* number of prices to draw */
};
/* Draws `n_steps` prices, beginning at time 0, and stores their steps in `*steps`. Consecutive equal prices are
   combined into one step. The same `seed` and `zone` result in the same prices. The caller frees `*steps`. Returns
   HR_OK or HR_NO_MEMORY. */
enum hr_status hr__price_walk_draw(const struct hr__price_walk *walk, uint64_t seed, uint32_t zone,
                                   struct hr_price_step **steps, uint32_t *n_steps, struct hr_error *error);

/* ---- supply.c ---- */

/* The supply of spot capacity as a function of time. No draw depends on the decisions of a policy, so the supply is the
   same for all policies. The nodes of each pool are numbered from 0. `seed` and `replication` select the random
   numbers. */

/* Draws a duration, rounded to microseconds: at least 1 us and at most about 100 years. */
int64_t hr__duration_draw(const struct hr_duration *duration, struct hr__stream *stream);
/* In an endless sequence of periods with this random length, selects the period that contains a random time. Returns
   the time from this random time to the end of the period. */
int64_t hr__duration_draw_rest(const struct hr_duration *duration, struct hr__stream *stream);
/* Returns the mean of a duration in seconds. */
double hr__duration_mean_s(const struct hr_duration *duration);

/* ---- Levels: spot models HR_SPOT_TRACE and HR_SPOT_ON_OFF ---- */

/* A sequence of steps of a pool's level. The level is the number of nodes that the provider offers. */
struct hr__level_source {
  const struct hr_spot_spec *spec;
  uint32_t n_nodes, next; /* next: index of the next step */
  int64_t at_us;          /* HR_SPOT_ON_OFF: time of the last step */
  bool is_up;             /* HR_SPOT_ON_OFF: the zone has capacity after the last step */
  struct hr__stream stream;
};
/* Initializes the source of steps. With HR_SPOT_ON_OFF, the zone begins in its stationary state: it is up with
   probability mean up time / (mean up time + mean down time), and its first period began before time 0. With
   HR_SPOT_TRACE, the record begins at spec->offset_us. */
void hr__level_source_init(struct hr__level_source *source, const struct hr_spot_spec *spec, uint32_t n_nodes,
                           uint64_t seed, uint32_t replication);
/* Returns the next step. The first step is at time 0. Each other step is later than the step before it and changes the
   level. After the last step, the time of the returned step is HR_NEVER_US. Models without levels have a single step:
   level n_nodes at time 0. */
struct hr_level_step hr__level_source_next(struct hr__level_source *source);

/* ---- Group interruptions: spot models HR_SPOT_EXPONENTIAL and HR_SPOT_ADVISOR ---- */

/* A sequence of interruptions, each of which reclaims one or several nodes of a pool. Each node is reclaimed at the
   rate spec->rate_per_h. An interruption reclaims spec->batch_mean nodes on average, or fewer if the pool has few
   nodes. */
struct hr__interruption_source {
  const struct hr_spot_spec *spec;
  uint32_t n_nodes;
  double per_h;  /* interruptions per hour */
  int64_t at_us; /* time of the last interruption */
  struct hr__stream stream;
};
/* Returns the quotient of two rates. The first is the rate of interruptions that reclaim at least one of `held` nodes.
   The second is the rate of interruptions that reclaim one particular node. The function assumes that each interruption
   reclaims the mean number of nodes, which need not be an integer. */
double hr__interruption_share(const struct hr_spot_spec *spec, uint32_t n_nodes, uint32_t held);
void hr__interruption_source_init(struct hr__interruption_source *source, const struct hr_spot_spec *spec,
                                  uint32_t n_nodes, uint64_t seed, uint32_t replication);
/* Returns the time of the next interruption, or HR_NEVER_US if none exists. Stores the indices of the reclaimed nodes
   in `nodes`, in ascending order, and stores their number in `*count`. `nodes` must have room for n_nodes elements. */
int64_t hr__interruption_source_next(struct hr__interruption_source *source, uint32_t *nodes, uint32_t *count);

/* ---- Lifetimes: spot model HR_SPOT_BATHTUB ---- */

/* Draws the lifetime of a node. Each launch of the node (`launch`) has a separate lifetime. Returns HR_NEVER_US for
   models without lifetimes. */
int64_t hr__life_draw(const struct hr_spot_spec *spec, uint64_t seed, uint32_t node, uint32_t launch,
                      uint32_t replication);

/* Returns the mean time in seconds until a node is reclaimed. Checkpoint intervals are derived from it. Depending on
   the spot model, it is computed from the rate, from the mean up time, from the mean lifetime, or from the record (node
   time divided by the number of reclaims). Returns infinity if nodes are never reclaimed. */
double hr__spot_mean_life_s(const struct hr_spot_spec *spec);

#endif
