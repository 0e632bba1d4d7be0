/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_MARKET_PRICE_H
#define HR_SIM_MARKET_PRICE_H

/*
 * What a pool's GPU-hour costs between two times, for one who asks often: with the price sums up to each step at hand,
 * a question takes one binary search, and none at all where the price stands.
 */

#include "headroom/base.h"
#include "headroom/market.h"

struct hr__price_sums {
  const struct hr_market_spec *market; /* borrowed */
  hr_amount *before;                   /* [n_prices]: the price sum up to each step; NULL where the price stands */
};

/* HR_NO_MEMORY on failure; to be finished either way. */
enum hr_status hr__price_sums_init(struct hr__price_sums *sums, const struct hr_market_spec *market);
void hr__price_sums_finish(struct hr__price_sums *sums);

/* The sum up to a time where the price changes. */
hr_amount hr__price_sum_stepped(const struct hr__price_sums *sums, int64_t to_us);

/* Micro-dollars per GPU-hour x microseconds from one time to another. */
static inline hr_amount hr__price_sum_between(const struct hr__price_sums *sums, int64_t from_us, int64_t to_us) {
  if (!sums->before) return (hr_amount)sums->market->price_uusd_h * (to_us - from_us);
  return hr__price_sum_stepped(sums, to_us) - hr__price_sum_stepped(sums, from_us);
}

/* The time that a node is billed for that was there so long. */
static inline int64_t hr__billed_us(const struct hr_billing *billing, int64_t length_us) {
  int64_t unit_us = billing->granularity_us;
  if (unit_us > 0) length_us = (length_us + unit_us - 1) / unit_us * unit_us;
  return length_us > billing->minimum_us ? length_us : billing->minimum_us;
}

/* Prices that are drawn. */

/* A price whose logarithm goes back to its mean and is blown off it (Ornstein-Uhlenbeck), at even intervals. */
struct hr__price_walk {
  int64_t mean_uusd_h;            /* of the price, about which it moves */
  int64_t min_uusd_h, max_uusd_h; /* what it may not pass */
  double volatility;              /* standard deviation of the logarithm in the long run */
  double reversion_h;             /* time in which a deviation shrinks to 1/e */
  int64_t interval_us;            /* between two changes */
  uint32_t n_steps;
};
/* The steps are from malloc; equal neighbours are one. */
enum hr_status hr__price_walk_draw(const struct hr__price_walk *walk, uint64_t seed, uint32_t zone,
                                   struct hr_price_step **steps, uint32_t *n_steps, struct hr_error *error);

#endif
