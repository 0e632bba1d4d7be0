/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_STRESS_H
#define HEADROOM_UNSTABLE_STRESS_H

/*
 * Stress tests of a scenario: more spot interruptions, other prices, an unavailable GPU type. A stress modifies a
 * loaded scenario in place before its run; no other function modifies a loaded scenario. docs/planner/spot.md describes
 * the effect on each model of interruptions.
 */

#include "headroom/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stress. A factor of 1 means no change; the members after `without_gpu` change nothing if they are zero. */
struct hr_stress {
  double spot_reclaims; /* factor on the rate of spot reclaims, 0.001 to 1000 */
  double spot_price;    /* factor on spot prices, 0 to 1000, rounded to millionths; applies to each price step */
  /* factor on the prices of on-demand pools, and on on_demand_uusd_h of all pools */
  double on_demand_price;
  /* name of a GPU type, ignoring case; pools of this type get no nodes. NULL: none */
  const char *without_gpu;
  /* [number of pools] pools that keep their nodes although their type is `without_gpu`, such as nodes that are owned
     already; NULL: none. Borrowed */
  const bool *keeps_nodes;
  /* the spot model, notice and batches of all spot pools, in place of their own; NULL: no change. Without a record of
     levels. Borrowed */
  const struct hr_spot_spec *spot_as;
  /* share of time in which no spot capacity is available, 0 to 1. Spot pools that are unavailable for a larger share do
     not change. At 1, spot pools get no nodes */
  double spot_outage;
};

/* Sets the defaults: all factors are 1, all GPU types are available, and the spot models do not change. */
HR_API void hr_stress_init(struct hr_stress *stress);

/*
 * Applies a stress to a scenario. If the scenario was stressed before, the factors multiply. Prices are rounded half up
 * to micro-dollars. If pools become empty because their capacity is unavailable, the node order of the other pools, the
 * quotas and the kind of allocation (counted or per GPU) do not change. `spot_as` is applied first, then `spot_outage`,
 * then `spot_reclaims`.
 *
 * Returns HR_BAD_INPUT if a factor, a resulting price or a resulting rate is out of range, or if no pool has the GPU
 * type; `error` suggests the nearest type. In this case the scenario is unchanged.
 */
HR_API enum hr_status hr_scenario_stress(struct hr_scenario *scenario, const struct hr_stress *stress,
                                         struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
