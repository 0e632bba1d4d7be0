/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_PRICE_WALK_H
#define HR_SIM_PRICE_WALK_H

/* Prices that are drawn. */

#include "headroom/market.h"

/* A price whose logarithm goes back to its mean and is blown off it (Ornstein-Uhlenbeck), at even intervals. */
struct hr__price_walk {
  int64_t mean_uusd_h;               /* of the price, about which it moves */
  int64_t least_uusd_h, most_uusd_h; /* what it may not pass */
  double volatility;                 /* standard deviation of the logarithm in the long run */
  double reversion_h;                /* time in which a deviation shrinks to 1/e */
  int64_t interval_us;               /* between two changes */
  uint32_t n_steps;
};
/* The steps are from malloc; equal neighbours are one. */
enum hr_status hr__price_walk_draw(const struct hr__price_walk *walk, uint64_t seed, uint32_t zone,
                                   struct hr_price_step **steps, uint32_t *n_steps, struct hr_error *error);

#endif
