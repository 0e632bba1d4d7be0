/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_SPOT_RECORDS_H
#define HR_SCENARIOS_BUILD_SPOT_RECORDS_H

/* Records of how many spot nodes there were, by time. */

#include "headroom/base.h"
#include "headroom/market.h"

struct hr__spot_levels {
  struct hr_level_step *steps; /* from malloc; the first one at 0 */
  uint32_t n_steps;
  int64_t period_us; /* length of the record */
};

/*
 * Reads a record of one of these kinds, told by what is in it; one that is not JSON may be compressed:
 * - availability or preemption as SkyPilot recorded them: JSON, {"metadata": {"gap_seconds": G}, "data": [N, ...]};
 * - fleets as Bamboo recorded them: lines `MILLISECONDS,add|remove,NODE`, without a header;
 * - counts of nodes: lines `YYYY-MM-DD, HH:MM:SS, COUNT`.
 * Counts are scaled so that the record's highest is `n_nodes`, rounded half up. What was assumed goes to `notes`.
 */
enum hr_status hr__spot_levels_read(const char *path, uint32_t n_nodes, struct hr__spot_levels *levels,
                                    struct hr_notes *notes, struct hr_error *error);

/* Prices of spot capacity over time: recorded, or drawn. */

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
