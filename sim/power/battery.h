/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_POWER_BATTERY_H
#define HR_SIM_POWER_BATTERY_H

/* The battery of a pool, as whole numbers (battery.c). */

#include "headroom/power.h"
#include "sim/power/job_energy.h"
#include "sim/power/power.h"

struct hr__battery {
  hr_amount capacity;
  int64_t charge_nw, store_nw; /* taken from the grid, and the part of it that is stored */
  int64_t discharge_nw;        /* maximum */
  int64_t lower_ug, upper_ug;  /* micrograms per kWh */
  struct hr__span at;          /* until when it is computed */
  struct hr_battery_energy sums;
  hr_amount grid; /* the integral of the power from the grid */
};

void hr__battery_init(struct hr__battery *battery, const struct hr_power_battery *spec);
/* Computes the battery until `to_us`. `load_nw`: the power of the site since it was last computed. The pool has a known
   carbon intensity. */
void hr__battery_advance(struct hr__battery *battery, const struct hr__metered_pool *of, int64_t load_nw,
                         int64_t to_us);
/* Returns the power that the battery takes from the grid at the time until which it is computed, or, negated, the power
   with which it serves the load. */
int64_t hr__battery_power(const struct hr__battery *battery, const struct hr__metered_pool *of, int64_t load_nw);
/* Returns whether the sums are consistent. `site`: energy of the site until the time at which it is computed. */
bool hr__battery_is_valid(const struct hr__battery *battery, hr_amount site);

#endif
