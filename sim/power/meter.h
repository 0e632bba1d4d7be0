/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_POWER_METER_H
#define HR_SIM_POWER_METER_H

/* The state of the meter (meter.c), for its checks (meter_check.c), and of batteries. */

#include "headroom/power.h"
#include "sim/engine/engine.h"
#include "sim/power/job_energy.h"
#include "sim/power/power.h"

enum { HR__METER_MILLI = 1000 };

/* ---- The battery of a pool, as whole numbers (battery.c) --------------------------------------------------- */

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

/* ---- The meter of a pool ------------------------------------------------------------------------------------ */

/* The step of a series that applies now. */
struct hr__known_step {
  int64_t from_us, until_us, value;
  hr_amount sum; /* the integral from the begin of the run to `from_us` */
};

/* The meter of a pool. The power is that of the GPUs in use, plus the rates of the pool times the number of their
 * units. */
struct hr__pool_meter {
  const struct hr__metered_pool *of; /* of->spec is NULL: the power of the pool is unknown */
  struct hr__watts idle_rate, boot_rate, down_rate, suspend_rate, sleep_rate, other_rate;
  struct hr__watts added_rate; /* the default rate of jobs minus idle_rate */
  struct hr__watts power;
  struct hr__watts extra; /* the power of GPUs in use, minus busy_milli times the default rate */
  uint64_t busy_milli;
  /* nodes that are on, boot, are off, are being suspended, and sleep */
  uint32_t n_on, n_boot, n_down, n_suspended, n_asleep;
  struct hr__span touched, nodes;     /* when the pool, and the accounts of its nodes, were last settled */
  struct hr__span busy_time, on_time; /* of milli-GPUs */
  struct hr_energy extra_energy;      /* the integral of `extra` */
  struct hr_energy attempts;          /* of attempts, until they ended or their power changed; only in checked mode */
  struct hr__span now;                /* the last time that now_of has returned */
  struct hr__known_step carbon_step, price_step;
  struct hr__watts *busy_at;   /* by level of the power limits: the power of GPUs in use; NULL: GPUs are not limited */
  struct hr__battery *battery; /* NULL: none */
};

struct hr__power {
  struct hr__pool_meter *pools; /* by pool */
  struct hr__watts power;       /* of all pools */
  struct hr__watts noted;       /* the power of which the observers were notified last */
  int64_t touched_us;
  struct hr_power_peaks peaks;
};

static inline struct hr_pool_energy *hr__meter_account(const struct hr__engine *engine, hr_pool pool) {
  return &engine->pool_accounting[pool.id].energy;
}

static inline void hr__energy_sum(struct hr_energy *sum, const struct hr_energy *part, int sign) {
  sum->it += sign * part->it;
  sum->loss += sign * part->loss;
  sum->facility += sign * part->facility;
  sum->embodied += sign * part->embodied;
  sum->carbon += sign * part->carbon;
  sum->price += sign * part->price;
}

/* Adds the energy of `units` units from one time to another. */
static inline void hr__energy_add_units(struct hr_energy *sum, const struct hr__watts *rate,
                                        const struct hr__span *from, const struct hr__span *to, int64_t units) {
  struct hr__span span = {0};
  hr__span_add(&span, from, to, units);
  hr__energy_add(sum, rate, &span);
}

/* Returns the present power of a job with `milli` milli-GPUs. */
struct hr__watts hr__meter_job_power(const struct hr__engine *engine, hr_job job, const struct hr__pool_meter *meter,
                                     uint64_t milli);
/* Returns the energy of a running job that was not added to its row. */
struct hr_energy hr__meter_open_energy(const struct hr__engine *engine, hr_job job, const struct hr__pool_meter *meter,
                                       const struct hr__watts *power);
/* Returns the energy of all jobs of a pool until it was last settled. */
struct hr_energy hr__meter_energy_of_jobs(const struct hr__pool_meter *meter);
/* Returns the power of the GPUs in use. */
struct hr__watts hr__meter_busy_power(const struct hr__pool_meter *meter);
/* Returns the power that follows from the state of the pool. */
struct hr__watts hr__meter_power(const struct hr__pool_meter *meter);
/* Counts the nodes by state. */
void hr__meter_count_nodes(const struct hr__engine *engine, hr_pool number, struct hr__pool_meter *meter);
/* Checks the power of the pools, and that energy is conserved (meter_check.c). */
enum hr_status hr__meter_check(const struct hr__engine *engine, const struct hr__running *running);

#endif
