/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_SPOT_PRICES_H
#define HR_SCENARIOS_SPOT_PRICES_H

/* Prices of spot capacity over time: recorded, or drawn. */

#include "headroom/base.h"
#include "headroom/market.h"

struct hr__spot_prices {
  struct hr_price_step *steps; /* per GPU-hour; from malloc; the first one at 0 */
  uint32_t n_steps;
};

/* What of a record is wanted. */
struct hr__spot_price_query {
  const char *instance; /* type */
  const char *region;   /* NULL: any */
  const char *const *zones;
  size_t n_zones; /* 0: all */
  uint32_t gpus;  /* of an instance */
  int64_t from_s; /* Unix time of the run's beginning; HR_UNKNOWN_US: the first price of the series */
};

/* Reads a list of price changes, plain or compressed: a CSV with the columns unix_time, instance_type, region,
   availability_zone and spot_usd_per_h. Where several zones match, the lowest of their prices stands at each time. A
   price stands until the next change; where a series is silent for more than 48 hours a note says so. */
enum hr_status hr__spot_prices_read(const char *path, const struct hr__spot_price_query *query,
                                    struct hr__spot_prices *prices, struct hr_notes *notes, struct hr_error *error);

/* A price whose logarithm goes back to its mean and is blown off it (Ornstein-Uhlenbeck), at even intervals. */
struct hr__spot_price_walk {
  int64_t mean_uusd_h;               /* of the price, about which it moves */
  int64_t least_uusd_h, most_uusd_h; /* what it may not pass */
  double volatility;                 /* standard deviation of the logarithm in the long run */
  double reversion_h;                /* time in which a deviation shrinks to 1/e */
  int64_t interval_us;               /* between two changes */
  uint32_t n_steps;
};
enum hr_status hr__spot_prices_walk(const struct hr__spot_price_walk *walk, uint64_t seed, uint32_t zone,
                                    struct hr__spot_prices *prices, struct hr_error *error);

#endif
