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
  const char *instance;    /* type; where the record is of accelerators: NULL */
  const char *accelerator; /* as the record calls it; `gpus` of them are wanted. NULL where it is of instances */
  const char *region;      /* NULL: any */
  const char *const *zones;
  size_t n_zones; /* 0: all */
  uint32_t gpus;  /* of an instance */
  int64_t from_s; /* Unix time of the run's beginning; HR_UNKNOWN_US: the first price of the series */
};

/* Reads a list of price changes, plain or compressed: a CSV with the columns unix_time, instance_type, region,
   availability_zone and spot_usd_per_h, and for accelerators accelerator and accelerator_count. Where several zones
   match, the lowest of their prices stands at each time. A price stands until the next change; where a series is silent
   for more than 48 hours a note says so. */
enum hr_status hr__spot_prices_read(const char *path, const struct hr__spot_price_query *query,
                                    struct hr__spot_prices *prices, struct hr_notes *notes, struct hr_error *error);

#endif
