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
 * Prices over time, and prices that are drawn.
 *
 * struct hr__price_sums answers what a GPU-hour of a pool costs between two times: with the price sums up to each step,
 * a query takes one binary search, and none if the price is constant.
 */

struct hr__price_sums {
  const struct hr_market_spec *market; /* borrowed */
  hr_amount *before;                   /* [n_prices]: the price sum up to each step; NULL if the price is constant */
};

/* HR_NO_MEMORY on failure. Call hr__price_sums_finish in any case. */
enum hr_status hr__price_sums_init(struct hr__price_sums *sums, const struct hr_market_spec *market);
static inline void hr__price_sums_finish(struct hr__price_sums *sums) {
  free(sums->before);
}

/* The price sum up to a time; for prices with steps only. */
hr_amount hr__price_sum_stepped(const struct hr__price_sums *sums, int64_t to_us);

/* The price sum between two times, in micro-dollars per GPU-hour x microseconds. */
static inline hr_amount hr__price_sum_between(const struct hr__price_sums *sums, int64_t from_us, int64_t to_us) {
  if (!sums->before) return (hr_amount)sums->market->price_uusd_h * (to_us - from_us);
  return hr__price_sum_stepped(sums, to_us) - hr__price_sum_stepped(sums, from_us);
}

/* The time billed for a node that was up for `length_us`. */
static inline int64_t hr__billed_us(const struct hr_billing *billing, int64_t length_us) {
  int64_t unit_us = billing->granularity_us;
  if (unit_us > 0) length_us = (length_us + unit_us - 1) / unit_us * unit_us;
  return length_us > billing->minimum_us ? length_us : billing->minimum_us;
}

/* A mean-reverting price: an Ornstein-Uhlenbeck process in the logarithm, at regular intervals. */
struct hr__price_walk {
  int64_t mean_uusd_h;            /* of the price */
  int64_t min_uusd_h, max_uusd_h; /* limits of the price */
  double volatility;              /* standard deviation of the logarithm in the long run */
  double reversion_h;             /* time in which a deviation shrinks to 1/e, in hours */
  int64_t interval_us;            /* between two changes */
  uint32_t n_steps;
};
/* Draws the steps of a price; consecutive equal prices are one step. The caller frees `*steps`. HR_NO_MEMORY. */
enum hr_status hr__price_walk_draw(const struct hr__price_walk *walk, uint64_t seed, uint32_t zone,
                                   struct hr_price_step **steps, uint32_t *n_steps, struct hr_error *error);

/* ---- supply.c ---- */

/* The supply of spot capacity as a function of time alone: no draw depends on what a policy does, so all policies
   see the same market. Nodes of a pool are numbered from 0. */

/* Draws a duration: at least 1 us, at most about 100 years, rounded to microseconds. */
int64_t hr__duration_draw(const struct hr_duration *duration, struct hr__stream *stream);
/* The mean of a duration in seconds. */
double hr__duration_mean_s(const struct hr_duration *duration);

/* ---- Levels: models trace and on-off ---- */

/* The steps of the number of available nodes ("level") of a pool. Before the first step it is `n_nodes`. */
struct hr__level_source {
  const struct hr_spot_spec *spec;
  uint32_t n_nodes, next;
  int64_t at_us;
  bool is_up;
  struct hr__stream stream;
};
/* on-off begins in its stationary state: up with probability mean up / (mean up + mean down), and within a period
   that is under way (drawn by length, cut at a uniform point). A trace begins at the offset of the specification. */
void hr__level_source_init(struct hr__level_source *source, const struct hr_spot_spec *spec, uint32_t n_nodes,
                           uint64_t seed, uint32_t replication);
/* The next step, later than the previous one; the first one is at 0. Steps that change nothing are left out, except
   the first. Its time is HR_NEVER_US after the last step; models without levels have only (0, n_nodes). */
struct hr_level_step hr__level_source_next(struct hr__level_source *source);

/* ---- Group interruptions: models exponential and advisor ---- */

/* Times at which some of a pool's nodes are reclaimed together. Each node is reclaimed at the rate of the
   specification, in groups of the specified mean size, as far as there are nodes. */
struct hr__interruption_source {
  const struct hr_spot_spec *spec;
  uint32_t n_nodes;
  double per_h; /* interruptions per hour */
  int64_t at_us;
  struct hr__stream stream;
};
/* How often an interruption reclaims at least one of `held` nodes, relative to how often it reclaims one given node.
   Interruptions are assumed to have the mean size, which need not be an integer. */
double hr__interruption_share(const struct hr_spot_spec *spec, uint32_t n_nodes, uint32_t held);
void hr__interruption_source_init(struct hr__interruption_source *source, const struct hr_spot_spec *spec,
                                  uint32_t n_nodes, uint64_t seed, uint32_t replication);
/* The next interruption: its time and the nodes that it reclaims, in ascending order, in `nodes` (room for n_nodes);
   `*count`: their number. HR_NEVER_US if none exists. */
int64_t hr__interruption_source_next(struct hr__interruption_source *source, uint32_t *nodes, uint32_t *count);

/* ---- Lifetimes: model bathtub ---- */

/* The lifetime of a node, drawn for its launch number `launch`; HR_NEVER_US for models without lifetimes. */
int64_t hr__life_draw(const struct hr_spot_spec *spec, uint64_t seed, uint32_t node, uint32_t launch,
                      uint32_t replication);

/* The mean time until a node of such a pool is reclaimed, in seconds, for the choice of checkpoint intervals: from
   the rate, the mean up time, the mean lifetime, or the record (node time up per reclaim). Infinite if nodes are
   never reclaimed. */
double hr__spot_mean_life_s(const struct hr_spot_spec *spec);

#endif
