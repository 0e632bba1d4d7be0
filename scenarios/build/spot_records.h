/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_SPOT_RECORDS_H
#define HR_SCENARIOS_BUILD_SPOT_RECORDS_H

/* Readers of recorded spot capacity and recorded spot prices. */

#include "headroom/base.h"
#include "headroom/market.h"

struct hr__spot_levels {
  struct hr_level_step *steps; /* from malloc; the first one at 0 */
  uint32_t n_steps;
  int64_t period_us; /* length of the record */
};

/*
 * Reads a record of the number of spot nodes over time. The kind is recognized by its content; files that are not JSON
 * may be compressed:
 * - availability or preemption as recorded by SkyPilot: JSON, {"metadata": {"gap_seconds": G}, "data": [N, ...]};
 * - fleets as recorded by Bamboo: lines `MILLISECONDS,add|remove,NODE`, without a header;
 * - counts of nodes: lines `YYYY-MM-DD, HH:MM:SS, COUNT`.
 * Counts are scaled so that the highest one becomes `n_nodes`, rounded half up. Assumptions are added to `notes`.
 * The caller frees `levels->steps`. Errors: HR_BAD_INPUT with file and line, HR_NO_MEMORY, or that of opening the file.
 */
enum hr_status hr__spot_levels_read(const char *path, uint32_t n_nodes, struct hr__spot_levels *levels,
                                    struct hr_notes *notes, struct hr_error *error);

struct hr__spot_prices {
  struct hr_price_step *steps; /* per GPU-hour; from malloc; the first one at 0 */
  uint32_t n_steps;
};

/* Selects the rows of a record. */
struct hr__spot_price_query {
  const char *instance;    /* instance type; NULL: select by accelerator */
  const char *accelerator; /* its name in the record, with a count of `gpus`; NULL: select by instance type */
  const char *region;      /* NULL: any */
  const char *const *zones;
  size_t n_zones; /* 0: all */
  uint32_t gpus;  /* of an instance */
  int64_t from_s; /* Unix time of the start of the run; HR_UNKNOWN_US: the first price of the series */
};

/* Reads a list of price changes, plain or compressed: a CSV with the columns unix_time, instance_type, region,
   availability_zone and spot_usd_per_h, and for accelerators accelerator and accelerator_count. Where several zones
   match, the lowest of their prices applies at each time. A price applies until the next change; gaps of more than 48
   hours are noted. The caller frees `prices->steps`. Errors as hr__spot_levels_read. */
enum hr_status hr__spot_prices_read(const char *path, const struct hr__spot_price_query *query,
                                    struct hr__spot_prices *prices, struct hr_notes *notes, struct hr_error *error);

#endif
