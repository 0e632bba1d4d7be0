/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_STRESS_H
#define HEADROOM_UNSTABLE_STRESS_H

/*
 * A scenario in worse times: more reclaims, other prices, a GPU type that cannot be had. It is changed in place, after
 * it is loaded and before it runs; nothing else changes a scenario that is loaded. docs/planner/spot.md says what
 * becomes of each model of reclaims.
 */

#include "headroom/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_stress {
  double spot_reclaims;    /* times as many reclaims per hour of a spot node that is up: 0.001 to 1000 */
  double spot_price;       /* times the price of spot pools, each step of one that changes: 0 to 1000, in millionths */
  double on_demand_price;  /* likewise of on-demand pools, and what any pool's GPU costs on demand */
  const char *without_gpu; /* a GPU type that cannot be had: its pools get no nodes. Case does not matter; NULL: none */
};

/* Nothing is changed: all is once as much, and every type can be had. */
HR_API void hr_stress_init(struct hr_stress *stress);

/* Factors multiply those of a stress before. Prices are rounded half up to whole micro-dollars. Where a type cannot be
   had, the other pools keep their order of nodes, GPUs are told apart if they were before, and quotas stay as they are.
   HR_BAD_INPUT: a factor is out of bounds, a price or a rate would be, or no pool has the GPU type, of which the
   nearest is told; the scenario is then as it was. */
HR_API enum hr_status hr_scenario_stress(struct hr_scenario *scenario, const struct hr_stress *stress,
                                         struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
