/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_SPOT_RECORDS_H
#define HR_SCENARIOS_BUILD_SPOT_RECORDS_H

/* Readers of recorded spot capacity and recorded spot prices. */

#include "headroom/base.h"
#include "headroom/market.h"

/* The number of available spot nodes over time. After `period_us` the record repeats. */
struct hr__spot_levels {
  struct hr_level_step *steps; /* steps in order of time, the first one at 0; the caller frees them */
  uint32_t n_steps;
  int64_t period_us; /* length of the record, in microseconds */
};

/*
 * Reads a record of the number of spot nodes over time. The format is detected by the content. Files that are not JSON
 * may be compressed. The formats are:
 *   - availability or preemption as recorded by SkyPilot: JSON, {"metadata": {"gap_seconds": G}, "data": [N, ...]};
 *   - fleets as recorded by Bamboo: lines `MILLISECONDS,add|remove,NODE`, without a header;
 *   - counts of nodes: lines `YYYY-MM-DD, HH:MM:SS, COUNT`.
 * Counts are scaled so that the maximum becomes `n_nodes`, rounded half up. Assumptions are added to `notes`. The
 * caller frees `levels->steps`. Errors: HR_BAD_INPUT with file and line, HR_NO_MEMORY, or the status of opening the
 * file.
 */
enum hr_status hr__spot_levels_read(const char *path, uint32_t n_nodes, struct hr__spot_levels *levels,
                                    struct hr_notes *notes, struct hr_error *error);

/* The spot price over time. */
struct hr__spot_prices {
  struct hr_price_step *steps; /* prices per GPU-hour in order of time, the first one at 0; the caller frees them */
  uint32_t n_steps;
};

/* Selects rows of a record of prices. */
struct hr__spot_price_query {
  const char *instance; /* instance type; NULL: rows are selected by accelerator */
  /* name of the accelerator in the record, for rows with `gpus` accelerators; NULL: rows are selected by instance
     type */
  const char *accelerator;
  const char *region;       /* region; NULL: any region */
  const char *const *zones; /* [n_zones] names of zones */
  size_t n_zones;           /* number of zones; 0: all zones */
  uint32_t gpus;            /* GPUs of a node */
  int64_t from_s; /* Unix time of the start of the run; HR_UNKNOWN_US: the run starts at the first recorded price */
};

/* Reads a list of price changes, plain or compressed. The file is a CSV with the columns unix_time, instance_type,
   region, availability_zone and spot_usd_per_h. For accelerators it also has the columns accelerator and
   accelerator_count. If several zones match, the lowest of their prices applies at each time. A price applies until
   the next change. Gaps of more than 48 hours are noted. The caller frees `prices->steps`. Errors: HR_BAD_INPUT with
   file and line, HR_NO_MEMORY, or the status of opening the file. */
enum hr_status hr__spot_prices_read(const char *path, const struct hr__spot_price_query *query,
                                    struct hr__spot_prices *prices, struct hr_notes *notes, struct hr_error *error);

#endif
