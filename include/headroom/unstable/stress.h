/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_STRESS_H
#define HEADROOM_UNSTABLE_STRESS_H

/*
 * Stress tests of a scenario: more spot interruptions, other prices, an unavailable GPU type. The scenario is changed
 * in place, after it is loaded and before it runs; nothing else changes a loaded scenario. docs/planner/spot.md
 * describes the effect on each interruption model.
 */

#include "headroom/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_stress {
  double spot_reclaims;    /* factor on the reclaim rate of spot nodes: 0.001 to 1000 */
  double spot_price;       /* factor on spot prices, at each step: 0 to 1000, in millionths */
  double on_demand_price;  /* factor on the prices of on-demand pools, and on the on-demand price of every pool's GPU */
  const char *without_gpu; /* a GPU type that is unavailable: its pools get no nodes. Case is ignored; NULL: none */
};

/* Defaults: all factors 1, all types available. */
HR_API void hr_stress_init(struct hr_stress *stress);

/* Applies a stress; factors multiply those of an earlier stress. Prices are rounded half up to micro-dollars. If a
   type is unavailable, the other pools retain their node order, allocation stays per GPU if it was, and quotas do
   not change. HR_BAD_INPUT, without changing the scenario, if a factor, or a resulting price or rate, is out of
   range, or if no pool has the GPU type; the error suggests the nearest. */
HR_API enum hr_status hr_scenario_stress(struct hr_scenario *scenario, const struct hr_stress *stress,
                                         struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
