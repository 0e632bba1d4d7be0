/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_SPOT_LEVELS_H
#define HR_SCENARIOS_SPOT_LEVELS_H

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

#endif
