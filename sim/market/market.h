/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_MARKET_MARKET_H
#define HR_SIM_MARKET_MARKET_H

/* Prices and the supply of spot capacity, as functions of time. */

#include "base/random.h"
#include "headroom/base.h"
#include "headroom/market.h"

#include <stdlib.h>

/* ---- price.c ---- */

/*
 * Prices over time, and random prices.
 *
 * struct hr__price_sums computes the price of a GPU-hour of a pool, summed over the time between two instants. It
 * stores the price sum up to each step. A query takes one binary search, or none if the price is constant.
 */

struct hr__price_sums {
  const struct hr_market_spec *market; /* the caller owns it */
  hr_amount *before;                   /* [n_prices]: the price sum up to each step; NULL if the price is constant */
};

/* Initializes the sums. Returns HR_OK or HR_NO_MEMORY. In both cases the caller must call hr__price_sums_finish. */
enum hr_status hr__price_sums_init(struct hr__price_sums *sums, const struct hr_market_spec *market);
static inline void hr__price_sums_finish(struct hr__price_sums *sums) {
  free(sums->before);
}

/* Returns the price sum up to a time. The price must have steps. */
hr_amount hr__price_sum_stepped(const struct hr__price_sums *sums, int64_t to_us);

/* Returns the price sum between two times, in micro-dollars per GPU-hour x microseconds. */
static inline hr_amount hr__price_sum_between(const struct hr__price_sums *sums, int64_t from_us, int64_t to_us) {
  if (!sums->before) return (hr_amount)sums->market->price_uusd_h * (to_us - from_us);
  return hr__price_sum_stepped(sums, to_us) - hr__price_sum_stepped(sums, from_us);
}

/* Returns the time that is billed for a node that was up for `length_us`. */
static inline int64_t hr__billed_us(const struct hr_billing *billing, int64_t length_us) {
  int64_t unit_us = billing->granularity_us;
  if (unit_us > 0) length_us = (length_us + unit_us - 1) / unit_us * unit_us;
  return length_us > billing->minimum_us ? length_us : billing->minimum_us;
}

/* Parameters of a mean-reverting price: the logarithm of the price is an Ornstein-Uhlenbeck process, sampled at regular
   intervals. */
struct hr__price_walk {
  int64_t mean_uusd_h;            /* the price at deviation 0 */
  int64_t min_uusd_h, max_uusd_h; /* limits of the price */
  double volatility;              /* standard deviation of the logarithm of the price in the stationary state */
  double reversion_h;             /* time in hours in which a deviation shrinks to 1/e */
  int64_t interval_us;            /* time between two changes of the price */
  uint32_t n_steps;
};
/* Draws the steps of a price. Consecutive equal prices are combined into one step. The caller frees `*steps`. Returns
   HR_OK or HR_NO_MEMORY. */
enum hr_status hr__price_walk_draw(const struct hr__price_walk *walk, uint64_t seed, uint32_t zone,
                                   struct hr_price_step **steps, uint32_t *n_steps, struct hr_error *error);

/* ---- supply.c ---- */

/* The supply of spot capacity as a function of time. No draw depends on the decisions of a policy, so all policies get
   the same supply. The nodes of a pool are numbered from 0. */

/* Draws a duration, rounded to microseconds: at least 1 us and at most about 100 years. */
int64_t hr__duration_draw(const struct hr_duration *duration, struct hr__stream *stream);
/* Returns the mean of a duration in seconds. */
double hr__duration_mean_s(const struct hr_duration *duration);

/* ---- Levels: models trace and on-off ---- */

/* A sequence of steps of a pool's level, the number of available nodes. Before the first step the level is
   `n_nodes`. */
struct hr__level_source {
  const struct hr_spot_spec *spec;
  uint32_t n_nodes, next;
  int64_t at_us;
  bool is_up;
  struct hr__stream stream;
};
/* Initializes the source of steps. The model on-off begins in its stationary state: it is up with probability mean up /
   (mean up + mean down), within a period that began before time 0. The model trace begins at the offset of the
   specification. */
void hr__level_source_init(struct hr__level_source *source, const struct hr_spot_spec *spec, uint32_t n_nodes,
                           uint64_t seed, uint32_t replication);
/* Returns the next step. The first step is at time 0; each later step is later than the one before and changes the
   level. After the last step the returned time is HR_NEVER_US. Models without levels have only the step (0,
   n_nodes). */
struct hr_level_step hr__level_source_next(struct hr__level_source *source);

/* ---- Group interruptions: models exponential and advisor ---- */

/* A sequence of interruptions, each of which reclaims one or several nodes of a pool. Each node is reclaimed at the
   rate of the specification. The number of nodes of an interruption has the specified mean, unless the pool has too few
   nodes. */
struct hr__interruption_source {
  const struct hr_spot_spec *spec;
  uint32_t n_nodes;
  double per_h; /* interruptions per hour */
  int64_t at_us;
  struct hr__stream stream;
};
/* Returns the rate of interruptions that reclaim at least one of `held` nodes, divided by the rate of interruptions
   that reclaim one given node. The function assumes that each interruption has the mean number of nodes, which need not
   be an integer. */
double hr__interruption_share(const struct hr_spot_spec *spec, uint32_t n_nodes, uint32_t held);
void hr__interruption_source_init(struct hr__interruption_source *source, const struct hr_spot_spec *spec,
                                  uint32_t n_nodes, uint64_t seed, uint32_t replication);
/* Returns the time of the next interruption, or HR_NEVER_US if there is none. The numbers of the reclaimed nodes are
   stored in `nodes` in ascending order, and their number in `*count`. `nodes` must have room for n_nodes entries. */
int64_t hr__interruption_source_next(struct hr__interruption_source *source, uint32_t *nodes, uint32_t *count);

/* ---- Lifetimes: model bathtub ---- */

/* Returns the lifetime of a node, drawn for its launch number `launch`, or HR_NEVER_US for models without lifetimes. */
int64_t hr__life_draw(const struct hr_spot_spec *spec, uint64_t seed, uint32_t node, uint32_t launch,
                      uint32_t replication);

/* Returns the mean time until a node of a pool with this specification is reclaimed, in seconds, for the calculation of
   checkpoint intervals. Depending on the model it is derived from the rate, the mean up time, the mean lifetime, or the
   record (node time per reclaim). Returns infinity if nodes are never reclaimed. */
double hr__spot_mean_life_s(const struct hr_spot_spec *spec);

#endif
