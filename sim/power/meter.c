/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The meter: the energy of the nodes and jobs of a run, as a component of the engine. Also the batteries of pools.
 *
 * The power of a pool changes when a job starts or stops, and when a node changes its state. Before each change, the
 * pool is settled: its power times the time since the last change is added to the meter. The time in which milli-GPUs
 * were in use is added, too; from this time and the time of the nodes, the energy of jobs and of free GPUs is computed.
 * The energy of single jobs is in power.c. It is added to the row of the job when an attempt of the job ends or its
 * power changes. Undisturbed jobs (power.c) have no row.
 *
 * Invariant, verified in checked mode: the sum of the energy of jobs, free GPUs, nodes in transition, nodes that are
 * down and other equipment equals the meter exactly; and the energy of all jobs equals the sum over pools.
 */

#include "headroom/power.h"
#include "headroom/unstable/series.h"
#include "sim/engine/engine.h"
#include "sim/power/power.h"

#include <math.h>
#include <stdlib.h>

enum { MILLI = 1000 };

/* The battery of a pool, as whole numbers. Energies are in nanowatts * microseconds. */
struct hr__battery {
  hr_amount capacity;
  int64_t charge_nw, store_nw; /* power from the grid while it is charged, and the part of this power that is stored */
  int64_t discharge_nw;        /* the maximum power that it supplies */
  int64_t lower_ug, upper_ug;  /* thresholds of the carbon intensity, in micrograms per kWh */
  struct hr__span at;          /* time until which the battery is computed */
  struct hr_battery_energy sums;
  hr_amount grid; /* the integral of the power from the grid */
};

/* The step of a series that applies now. */
struct hr__known_step {
  int64_t from_us, until_us, value;
  hr_amount sum; /* the integral from the start of the run to `from_us` */
};

/* Parts of a pool with a constant power: the nodes in a state without jobs, and the other equipment. */
enum part { PART_BOOT, PART_SUSPENDED, PART_DOWN, PART_ASLEEP, PART_OTHER, N_PARTS };
static const enum hr_energy_use use_of[N_PARTS] = {
    HR_ENERGY_BOOT, HR_ENERGY_BOOT, HR_ENERGY_DOWN, HR_ENERGY_DOWN, HR_ENERGY_OTHER,
};

/* The meter of a pool. The power of the pool is the power of the GPUs in use, plus idle_rate times the number of free
   milli-GPUs, plus the power of the other parts. */
struct hr__pool_meter {
  const struct hr__metered_pool *of; /* of->spec is NULL: the power of the pool is unknown */
  struct hr__watts idle_rate;
  struct hr__watts rate[N_PARTS]; /* of one node; PART_OTHER: of all other equipment */
  struct hr__watts added_rate;    /* the default rate of jobs minus idle_rate */
  struct hr__watts power;
  struct hr__watts extra; /* the power of GPUs in use, minus busy_milli times the default rate */
  uint64_t busy_milli;
  uint32_t n_on, n_in[N_PARTS];       /* number of nodes; n_in[PART_OTHER] is 1 */
  struct hr__span touched, nodes;     /* when the pool, and the accounts of its nodes, were last settled */
  struct hr__span busy_time, on_time; /* time * milli-GPUs in use, and time * milli-GPUs of nodes that are on */
  struct hr_energy extra_energy;      /* the integral of `extra` */
  /* energy of attempts until they ended or their power changed; only in checked mode */
  struct hr_energy attempts;
  struct hr__span now; /* the last time that now_of has returned */
  struct hr__known_step carbon_step, price_step;
  struct hr__watts *busy_at;   /* by level of the power limits: the power of GPUs in use; NULL: GPUs are not limited */
  struct hr__battery *battery; /* NULL: none */
};

struct hr__power {
  struct hr__pool_meter *pools; /* by pool */
  struct hr__watts power;       /* of all pools */
  struct hr__watts noted;       /* the power that was last reported to the observers */
  int64_t touched_us;           /* time until which `peaks` includes the power */
  struct hr_power_peaks peaks;
};

static inline struct hr_pool_energy *meter_account(const struct hr__engine *engine, hr_pool pool) {
  return &engine->pool_accounting[pool.id].energy;
}

static inline void energy_sum(struct hr_energy *sum, const struct hr_energy *part, int sign) {
  sum->it += sign * part->it;
  sum->loss += sign * part->loss;
  sum->facility += sign * part->facility;
  sum->embodied += sign * part->embodied;
  sum->carbon += sign * part->carbon;
  sum->price += sign * part->price;
}

/* Adds the energy of `units` units from one time to another. */
static inline void energy_add_units(struct hr_energy *sum, const struct hr__watts *rate, const struct hr__span *from,
                                    const struct hr__span *to, int64_t units) {
  struct hr__span span = {0};
  hr__span_add(&span, from, to, units);
  hr__energy_add(sum, rate, &span);
}

/* ---- Batteries -------------------------------------------------------------------------------------- */

/*
 * Batteries are charged while the carbon intensity is low, and discharged into the load of the site while it is high.
 * The rules are those of OpenDC (SimBattery, SingleThresholdBatteryPolicy, DoubleThresholdBatteryPolicy).
 *
 * A battery has no effect on jobs. So it is sufficient to compute it afterwards: when the load of its pool changes, for
 * the time since it was last computed. This time is divided at the steps of the carbon intensity, and where the battery
 * becomes full or empty. In each microsecond, the battery stores or supplies a whole number of units of energy. In the
 * last microsecond before the battery is full, this number is the remaining room. In the last microsecond before it is
 * empty, the number is the remaining energy. So results do not depend on the times at which the battery is computed.
 *
 * Invariant, verified in checked mode: 0 <= stored <= capacity; stored = initial + charged - loss - discharged; and the
 * integral of the power from the grid is the energy of the site + charged - discharged.
 */

#define NW_PER_W 1e9
#define UG_PER_G 1e6
#define NW_US_PER_KWH ((hr_amount)3600000000 * 1000000000000)

/* Converts kilowatt hours to nanowatts * microseconds, rounded to whole microwatt hours. A number of microwatt hours is
   exact in a double up to 9,000,000 kWh. A larger energy is rounded to the nearest double. */
static hr_amount energy_of(double kwh) {
  enum { PARTS = 1000000000 };
  return (hr_amount)llround(kwh * PARTS) * (NW_US_PER_KWH / PARTS);
}

static void battery_init(struct hr__battery *battery, const struct hr_power_battery *spec) {
  const hr_amount initial = energy_of(spec->initial_kwh);
  *battery =
      (struct hr__battery){.capacity = energy_of(spec->capacity_kwh),
                           .charge_nw = llround(spec->charge_w * NW_PER_W),
                           .store_nw = llround(spec->charge_w * spec->efficiency * NW_PER_W),
                           .discharge_nw = spec->discharge_w > 0 ? llround(spec->discharge_w * NW_PER_W) : INT64_MAX,
                           .lower_ug = llround(spec->lower_g_per_kwh * UG_PER_G),
                           .upper_ug = llround(spec->upper_g_per_kwh * UG_PER_G),
                           .sums = {.initial = initial, .stored = initial}};
}

/* The flow of energy while the carbon intensity and the load are constant. `charge_nw`: the power that the battery
   takes from the grid while it is not full. `store_nw`: the part of this power that is stored. `serve_nw`: the power
   that the battery supplies to the load while it is not empty. */
struct flow {
  int64_t charge_nw, store_nw, serve_nw;
};

static struct flow flow_at(const struct hr__battery *battery, int64_t ug_per_kwh, int64_t load_nw) {
  if (ug_per_kwh < battery->lower_ug) return (struct flow){battery->charge_nw, battery->store_nw, 0};
  if (ug_per_kwh < battery->upper_ug) return (struct flow){0};
  return (struct flow){.serve_nw = load_nw < battery->discharge_nw ? load_nw : battery->discharge_nw};
}

static void apply(struct hr__battery *battery, const struct hr__metered_pool *of, const struct flow *flow,
                  int64_t load_nw, int64_t to_us) {
  const struct hr__span to = hr__metered_time(of, to_us), span = hr__span_between(&battery->at, &to);
  const int64_t net_nw = flow->charge_nw - flow->serve_nw;
  struct hr_battery_energy *sums = &battery->sums;
  sums->charged += flow->charge_nw * span.us;
  sums->loss += (flow->charge_nw - flow->store_nw) * span.us;
  sums->discharged += flow->serve_nw * span.us;
  sums->stored += (flow->store_nw - flow->serve_nw) * span.us;
  sums->carbon += net_nw * span.carbon;
  sums->price += net_nw * span.price;
  battery->grid += (hr_amount)(load_nw + net_nw) * span.us;
  battery->at = to;
}

/* Returns the flow in the microsecond in which the battery becomes full or empty. A discharged battery supplies its
   remaining energy. A charged battery stores the energy for which it has room, and takes this energy and its share of
   the loss from the grid. */
static struct flow last_flow(const struct hr__battery *battery, const struct flow *flow) {
  if (flow->serve_nw > 0) return (struct flow){.serve_nw = (int64_t)battery->sums.stored};
  const hr_amount room = battery->capacity - battery->sums.stored;
  const hr_amount loss = room * (flow->charge_nw - flow->store_nw) / flow->store_nw;
  return (struct flow){(int64_t)(room + loss), (int64_t)room, 0};
}

/* Computes the battery until `to_us`. The carbon intensity, and therefore `flow`, is constant in this time. */
static void advance_step(struct hr__battery *battery, const struct hr__metered_pool *of, struct flow flow,
                         int64_t load_nw, int64_t to_us) {
  const struct flow none = {0};
  const hr_amount left = flow.serve_nw > 0 ? battery->sums.stored : battery->capacity - battery->sums.stored;
  const int64_t rate_nw = flow.serve_nw + flow.store_nw, from_us = (int64_t)battery->at.us;
  if (rate_nw > 0 && left >= (hr_amount)rate_nw) {
    const hr_amount whole_us = left / rate_nw;
    apply(battery, of, &flow, load_nw, whole_us < to_us - from_us ? from_us + (int64_t)whole_us : to_us);
  }
  if (rate_nw > 0 && left % rate_nw > 0 && battery->at.us < to_us) {
    const struct flow last = last_flow(battery, &flow);
    apply(battery, of, &last, load_nw, (int64_t)battery->at.us + 1);
  }
  if (battery->at.us < to_us) apply(battery, of, &none, load_nw, to_us);
}

/* Computes the battery until `to_us`. `load_nw`: the power of the site since the battery was last computed. The carbon
   intensity of the pool must be known. */
static void battery_advance(struct hr__battery *battery, const struct hr__metered_pool *of, int64_t load_nw,
                            int64_t to_us) {
  while (battery->at.us < to_us) {
    const int64_t utc_us = of->carbon_begin_us + (int64_t)battery->at.us,
                  next_us = hr_series_next_us(of->carbon, utc_us);
    const int64_t until_us =
        next_us == HR_NEVER_US || next_us - of->carbon_begin_us > to_us ? to_us : next_us - of->carbon_begin_us;
    advance_step(battery, of, flow_at(battery, hr_series_at(of->carbon, utc_us), load_nw), load_nw, until_us);
  }
}

/* Returns the power that the battery takes from the grid at the time until which it is computed. If the battery
   supplies power to the load, the result is this power as a negative number. */
static int64_t battery_power(const struct hr__battery *battery, const struct hr__metered_pool *of, int64_t load_nw) {
  const int64_t utc_us = of->carbon_begin_us + (int64_t)battery->at.us;
  const struct flow flow = flow_at(battery, hr_series_at(of->carbon, utc_us), load_nw);
  if (flow.serve_nw > 0) return battery->sums.stored > 0 ? -flow.serve_nw : 0;
  return battery->sums.stored < battery->capacity ? flow.charge_nw : 0;
}

/* Returns whether the sums are consistent. `site`: the energy that the site has used when the battery was last
   computed. */
static bool battery_is_valid(const struct hr__battery *battery, hr_amount site) {
  const struct hr_battery_energy *sums = &battery->sums;
  return sums->stored >= 0 && sums->stored <= battery->capacity &&
         sums->stored == sums->initial + sums->charged - sums->loss - sums->discharged &&
         battery->grid == site + sums->charged - sums->discharged;
}

/* ---- Meter: accounts -------------------------------------------------------------------------------- */

/* Returns the integral of a series from its first stamp to `at_us`. */
static hr_amount sum_until(const struct hr_series *series, int64_t at_us) {
  return hr_series_between(series, hr_series_first_us(series), at_us);
}

/* Returns the integral of a series from the start of the run until now. `*step`: the step of the last call, which is
   updated. */
static hr_amount integral_now(const struct hr_series *series, int64_t begin_us, hr_amount before, int64_t now_us,
                              struct hr__known_step *step) {
  const int64_t at_us = begin_us + now_us;
  if (at_us < step->from_us || at_us >= step->until_us)
    *step = (struct hr__known_step){.from_us = at_us,
                                    .until_us = hr_series_next_us(series, at_us),
                                    .value = hr_series_at(series, at_us),
                                    .sum = sum_until(series, at_us) - before};
  return step->sum + (hr_amount)step->value * (at_us - step->from_us);
}

/* Returns the present time with its integrals. They are computed only once for all changes of an instant. */
static const struct hr__span *now_of(const struct hr__engine *engine, struct hr__pool_meter *meter) {
  const struct hr__metered_pool *of = meter->of;
  const int64_t now_us = engine->view.now_us;
  if (meter->now.us == now_us) return &meter->now;
  meter->now.us = now_us;
  if (of->carbon)
    meter->now.carbon =
        hr__ug_to_mg(integral_now(of->carbon, of->carbon_begin_us, of->carbon_before, now_us, &meter->carbon_step));
  if (of->price)
    meter->now.price = integral_now(of->price, of->price_begin_us, of->price_before, now_us, &meter->price_step);
  return &meter->now;
}

static bool is_no_power(const struct hr__watts *power) {
  return power->it == 0 && power->loss == 0 && power->facility == 0 && power->embodied == 0;
}

static int64_t site_nw(const struct hr__watts *power) {
  return power->it + power->facility;
}

static void note_peak(struct hr__power *self, int64_t now_us) {
  if (self->touched_us == now_us) return;
  if (self->power.it > self->peaks.it_nw) self->peaks.it_nw = self->power.it;
  if (site_nw(&self->power) > self->peaks.site_nw) self->peaks.site_nw = site_nw(&self->power);
  self->touched_us = now_us;
}

/* Updates the peaks of the pool, of all pools and of all clusters. A power that lasted for no time does not count. */
static void note_peaks(struct hr__engine *engine, hr_pool pool) {
  const struct hr__pool_meter *meter = &engine->power->pools[pool.id];
  struct hr_pool_energy *account = meter_account(engine, pool);
  int64_t now_us = engine->view.now_us;
  if (meter->touched.us < now_us && meter->power.it > account->peak_nw) account->peak_nw = meter->power.it;
  note_peak(engine->power, now_us);
  if (engine->whole) note_peak(engine->whole->power, now_us);
}

/* Adds the energy of the pool since the last change. Must be called before the power of the pool changes. */
static void settle_pool(struct hr__engine *engine, hr_pool pool) {
  struct hr__pool_meter *meter = &engine->power->pools[pool.id];
  int64_t now_us = engine->view.now_us;
  if (meter->touched.us == now_us) return;
  note_peaks(engine, pool);
  const struct hr__span *now = now_of(engine, meter);
  const struct hr__span span = hr__span_between(&meter->touched, now);
  hr__energy_add_time(&meter_account(engine, pool)->meter, &meter->power, &span);
  hr__span_add_time(&meter->busy_time, &span, (int64_t)meter->busy_milli);
  if (!is_no_power(&meter->extra)) hr__energy_add_time(&meter->extra_energy, &meter->extra, &span);
  if (meter->battery) battery_advance(meter->battery, meter->of, site_nw(&meter->power), now_us);
  meter->touched = *now;
}

/* Returns the energy of all jobs of a pool until it was last settled. */
static struct hr_energy meter_energy_of_jobs(const struct hr__pool_meter *meter) {
  struct hr_energy sum = meter->extra_energy;
  hr__energy_add(&sum, &meter->of->default_rate, &meter->busy_time);
  return sum;
}

/* Adds the energy of jobs, of free GPUs and of the states of nodes. Must be called before a node changes its state. */
static void settle_nodes(struct hr__engine *engine, hr_pool pool) {
  struct hr__pool_meter *meter = &engine->power->pools[pool.id];
  struct hr_energy *use = meter_account(engine, pool)->use;
  settle_pool(engine, pool);
  const struct hr__span now = *now_of(engine, meter);
  hr__span_add(&meter->on_time, &meter->nodes, &now, (int64_t)meter->n_on * meter->of->gpus * MILLI);
  for (unsigned i = 0; i < N_PARTS; i++)
    energy_add_units(&use[use_of[i]], &meter->rate[i], &meter->nodes, &now, meter->n_in[i]);
  use[HR_ENERGY_JOBS] = meter_energy_of_jobs(meter);
  use[HR_ENERGY_IDLE] = (struct hr_energy){0};
  energy_add_units(&use[HR_ENERGY_IDLE], &meter->idle_rate, &meter->busy_time, &meter->on_time, 1);
  meter->nodes = now;
}

/* Returns the power of the GPUs in use. */
static struct hr__watts meter_busy_power(const struct hr__pool_meter *meter) {
  struct hr__watts power = meter->extra;
  hr__watts_add(&power, &meter->of->default_rate, (int64_t)meter->busy_milli);
  return power;
}

/* Returns the power that follows from the state of the pool. */
static struct hr__watts meter_power(const struct hr__pool_meter *meter) {
  struct hr__watts power = meter_busy_power(meter);
  int64_t free_milli = (int64_t)meter->n_on * meter->of->gpus * MILLI - (int64_t)meter->busy_milli;
  hr__watts_add(&power, &meter->idle_rate, free_milli);
  for (unsigned i = 0; i < N_PARTS; i++) hr__watts_add(&power, &meter->rate[i], meter->n_in[i]);
  return power;
}

/* Adds `change` to the power of the pool, of its cluster, and of all clusters. */
static void add_power(struct hr__engine *engine, struct hr__pool_meter *meter, const struct hr__watts *change) {
  hr__watts_add(&meter->power, change, 1);
  hr__watts_add(&engine->power->power, change, 1);
  if (engine->whole) hr__watts_add(&engine->whole->power->power, change, 1);
}

/* Sets the power of the pool after a change of its nodes. */
static void set_power(struct hr__engine *engine, struct hr__pool_meter *meter, struct hr__watts power) {
  hr__watts_add(&power, &meter->power, -1);
  add_power(engine, meter, &power);
}

/* ---- Meter: jobs ------------------------------------------------------------------------------------ */

/* Returns the power of a job with `milli` milli-GPUs at a level of the power limits. */
static struct hr__watts power_at(const struct hr__engine *engine, hr_job job, const struct hr__pool_meter *meter,
                                 uint64_t milli, uint32_t level) {
  return hr__job_power(meter->of, engine->trace, engine->config->classes, job, milli, level);
}

/* Returns the present power of a job with `milli` milli-GPUs. */
static struct hr__watts meter_job_power(const struct hr__engine *engine, hr_job job, const struct hr__pool_meter *meter,
                                        uint64_t milli) {
  return power_at(engine, job, meter, milli, engine->speeds.level);
}

/* Counts the power of a job that starts (`sign` 1) or stops (-1) at all levels of the power limits. */
static void count_levels(const struct hr__engine *engine, hr_job job, const struct hr__pool_meter *meter,
                         uint64_t milli, int sign) {
  for (uint32_t level = 0; level <= HR__CAP_LEVELS; level++) {
    struct hr__watts power = power_at(engine, job, meter, milli, level);
    hr__watts_add(&meter->busy_at[level], &power, sign);
  }
}

/* Changes the power of a pool when a job starts (`sign` 1) or stops (-1). `power`: the power of the job; NULL: its GPUs
   have the default rate. */
static void count_job(struct hr__engine *engine, hr_pool pool, const struct hr__watts *power, uint64_t milli,
                      int sign) {
  struct hr__pool_meter *meter = &engine->power->pools[pool.id];
  struct hr__watts change = {0};
  const int64_t units = sign * (int64_t)milli;
  settle_pool(engine, pool);
  if (power) {
    hr__watts_add(&change, power, sign);
    hr__watts_add(&change, &meter->of->default_rate, -units);
    hr__watts_add(&meter->extra, &change, 1);
  }
  hr__watts_add(&change, &meter->added_rate, units);
  meter->busy_milli += (uint64_t)units;
  add_power(engine, meter, &change);
}

/* Returns whether the GPUs of a job have the default rate at present. */
static bool has_default_rate(const struct hr__engine *engine, hr_job job) {
  return engine->speeds.level == 0 &&
         hr__power_fraction(engine->trace, engine->config->classes, job) == HR__NO_FRACTION;
}

/* Begins an attempt of a job. A job that starts for the first time is undisturbed if the level of the power limits is
   0, and if the number of its GPUs can be read after its end. Other jobs get a row. */
static enum hr_status begin_attempt(struct hr__engine *engine, hr_job job, hr_pool pool, uint64_t milli) {
  struct hr__job_energy *energy = engine->energy;
  const int64_t now_us = engine->view.now_us;
  const uint64_t known_milli = hr__job_milli(engine, job);
  if (energy->place[job.id] == 0 && engine->start_us[job.id] == now_us && engine->speeds.level == 0 &&
      milli == known_milli) {
    energy->place[job.id] = 1 + engine->first_pool + pool.id;
    return HR_OK;
  }
  struct hr__energy_row *row = hr__job_energy_row(energy, job, now_us);
  if (!row) return hr__out_of_memory(engine);
  row->since_us = now_us;
  return HR_OK;
}

static enum hr_status start(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            int64_t run_us) {
  (void)run_us;
  const struct hr__pool_meter *meter = &engine->power->pools[placement->pool.id];
  if (!meter->of->spec) return HR_OK;
  uint64_t milli = hr_placement_milli(placement, engine->trace, job);
  if (milli == 0) return HR_OK;
  if (has_default_rate(engine, job)) {
    count_job(engine, placement->pool, NULL, milli, 1);
  } else {
    struct hr__watts power = meter_job_power(engine, job, meter, milli);
    count_job(engine, placement->pool, &power, milli, 1);
  }
  if (meter->busy_at) count_levels(engine, job, meter, milli, 1);
  return begin_attempt(engine, job, placement->pool, milli);
}

/* Returns the time until which the energy of a running job was added; at first, this is its start. */
static int64_t open_since_us(const struct hr__engine *engine, hr_job job) {
  return hr__job_energy_has_row(engine->energy, job) ? hr__job_energy_row_of(engine->energy, job)->since_us
                                                     : engine->start_us[job.id];
}

/* Returns the energy of a running job since open_since_us, which was not added yet. */
static struct hr_energy meter_open_energy(const struct hr__engine *engine, hr_job job,
                                          const struct hr__pool_meter *meter, const struct hr__watts *power) {
  struct hr__span since = hr__metered_time(meter->of, open_since_us(engine, job)),
                  now = hr__metered_time(meter->of, engine->view.now_us);
  struct hr_energy part = {0};
  energy_add_units(&part, power, &since, &now, 1);
  return part;
}

/* Adds the energy of a job since open_since_us to its row, which is created if needed: the job is disturbed from now
   on. */
static enum hr_status settle_job(struct hr__engine *engine, hr_job job, hr_pool pool, const struct hr__watts *power) {
  struct hr_energy part = meter_open_energy(engine, job, &engine->power->pools[pool.id], power);
  struct hr__energy_row *row = hr__job_energy_row(engine->energy, job, engine->view.now_us);
  if (!row) return hr__out_of_memory(engine);
  energy_sum(&row->sum, &part, 1);
  row->since_us = engine->view.now_us;
  if (engine->config->check) energy_sum(&engine->power->pools[pool.id].attempts, &part, 1);
  return HR_OK;
}

/* Ends an attempt of a job. */
static enum hr_status end_attempt(struct hr__engine *engine, hr_job job, hr_pool pool, const struct hr__watts *power,
                                  enum hr__stop how) {
  struct hr__pool_meter *meter = &engine->power->pools[pool.id];
  if (how != HR__STOP_END || hr__job_energy_has_row(engine->energy, job)) return settle_job(engine, job, pool, power);
  struct hr_energy part = meter_open_energy(engine, job, meter, power);
  if (engine->config->check) energy_sum(&meter->attempts, &part, 1);
  return HR_OK;
}

static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  const struct hr__pool_meter *meter = &engine->power->pools[placement->pool.id];
  if (!meter->of->spec) return HR_OK;
  uint64_t milli = hr_placement_milli(placement, engine->trace, job);
  if (milli == 0) return HR_OK;
  const bool is_default = has_default_rate(engine, job);
  const bool is_plain = how == HR__STOP_END && !hr__job_energy_has_row(engine->energy, job) && !engine->config->check;
  struct hr__watts power = {0};
  if (!is_default || !is_plain) power = meter_job_power(engine, job, meter, milli);
  count_job(engine, placement->pool, is_default ? NULL : &power, milli, -1);
  if (meter->busy_at) count_levels(engine, job, meter, milli, -1);
  return is_plain ? HR_OK : end_attempt(engine, job, placement->pool, &power, how);
}

static void submit(struct hr__engine *engine, hr_job job) {
  if (engine->config->stream) engine->energy->place[job.id] = 0;
}

/* ---- Meter: levels of the power limits -------------------------------------------------------------- */

int64_t hr__power_at_level(const struct hr__engine *engine, uint32_t level) {
  int64_t nw = engine->power->power.it;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool_meter *meter = &engine->power->pools[i];
    if (meter->busy_at) nw += meter->busy_at[level].it - meter_busy_power(meter).it;
  }
  return nw;
}

/* Adds the energy until now of the jobs on a node. If a job uses several nodes, only the first call at an instant adds
   energy of the job. */
static enum hr_status settle_residents(struct hr__engine *engine, hr_pool pool, uint32_t node) {
  const struct hr__pool_meter *meter = &engine->power->pools[pool.id];
  enum hr_status status = HR_OK;
  HR__EACH_RESIDENT(engine, node, link) {
    hr_job job = hr__resident(engine, link);
    struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
    uint64_t milli = hr_placement_milli(&placement, engine->trace, job);
    struct hr__watts power = meter_job_power(engine, job, meter, milli);
    if (status == HR_OK) status = settle_job(engine, job, pool, &power);
  }
  return status;
}

enum hr_status hr__power_set_level(struct hr__engine *engine, uint32_t level) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    struct hr__pool_meter *meter = &engine->power->pools[i];
    const struct hr__pool *pool = &engine->cluster.pools[i];
    if (!meter->busy_at) continue;
    settle_pool(engine, (hr_pool){i});
    for (uint32_t k = 0; k < pool->spec->nodes && status == HR_OK; k++)
      status = settle_residents(engine, (hr_pool){i}, pool->first_node.id + k);
    if (status != HR_OK) return status;
    meter->extra = meter->busy_at[level];
    hr__watts_add(&meter->extra, &meter->of->default_rate, -(int64_t)meter->busy_milli);
    set_power(engine, meter, meter_power(meter));
  }
  engine->speeds.level = level;
  return HR_OK;
}

/* ---- Meter: nodes ----------------------------------------------------------------------------------- */

/* Counts the nodes by state. */
static void meter_count_nodes(const struct hr__engine *engine, hr_pool number, struct hr__pool_meter *meter) {
  const struct hr__pool *pool = &engine->cluster.pools[number.id];
  meter->n_on = pool->spec->nodes;
  meter->n_in[PART_OTHER] = 1;
  if (!pool->comes_and_goes) return;
  meter->n_on = pool->n_in[HR_NODE_UP] + pool->n_in[HR_NODE_CLOSING];
  const uint32_t n_suspended = engine->standby ? hr__standby_count(engine, number, false) : 0,
                 n_asleep = engine->standby ? hr__standby_count(engine, number, true) : 0;
  meter->n_in[PART_BOOT] = pool->n_in[HR_NODE_BOOTING] - pool->n_queued;
  meter->n_in[PART_SUSPENDED] = n_suspended;
  meter->n_in[PART_ASLEEP] = n_asleep;
  meter->n_in[PART_DOWN] = pool->n_in[HR_NODE_OFF] + pool->n_queued - n_suspended - n_asleep;
}

void hr__power_before_node(struct hr__engine *engine, hr_pool pool) {
  if (engine->power->pools[pool.id].of->spec) settle_nodes(engine, pool);
}

void hr__power_after_node(struct hr__engine *engine, hr_pool pool) {
  struct hr__pool_meter *meter = &engine->power->pools[pool.id];
  if (!meter->of->spec) return;
  meter_count_nodes(engine, pool, meter);
  set_power(engine, meter, meter_power(meter));
}

/* ---- Meter: checked mode ---------------------------------------------------------------------------- */

/*
 * The power of the jobs of each pool is computed again from its running jobs. Three sums must agree:
 * - The meter of a pool must be equal to the sum of the uses of its energy.
 * - The energy of the jobs of a pool, as an integral of their power, must be equal to the sum over their attempts.
 * - The sum of the energy of all jobs must be equal to the sum over the attempts in all pools.
 */

/* The use of a pool by its running jobs, computed from their placements. */
struct checked {
  struct hr__watts busy;
  uint64_t milli;
  struct hr_energy open; /* energy that is not included in hr__pool_meter.attempts yet */
};

static void add_running(const struct hr__engine *engine, hr_job job, struct checked *pools) {
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  const struct hr__pool_meter *meter = &engine->power->pools[placement.pool.id];
  struct checked *pool = &pools[placement.pool.id];
  uint64_t milli = hr_placement_milli(&placement, engine->trace, job);
  if (!meter->of->spec || milli == 0) return;
  struct hr__watts power = meter_job_power(engine, job, meter, milli);
  hr__watts_add(&pool->busy, &power, 1);
  pool->milli += milli;
  struct hr_energy part = meter_open_energy(engine, job, meter, &power);
  energy_sum(&pool->open, &part, 1);
}

static bool is_zero(const struct hr_energy *energy) {
  return energy->it == 0 && energy->loss == 0 && energy->facility == 0 && energy->carbon == 0 && energy->price == 0 &&
         energy->embodied == 0;
}

/* Returns the energy of all jobs of a pool until now. */
static struct hr_energy energy_of_jobs_until(const struct hr__pool_meter *meter, const struct hr__span *now) {
  struct hr__pool_meter copy = *meter;
  hr__span_add(&copy.busy_time, &meter->touched, now, (int64_t)meter->busy_milli);
  energy_add_units(&copy.extra_energy, &meter->extra, &meter->touched, now, 1);
  return meter_energy_of_jobs(&copy);
}

static bool same_power(const struct hr__watts *a, const struct hr__watts *b) {
  return a->it == b->it && a->loss == b->loss && a->facility == b->facility && a->embodied == b->embodied;
}

/* Checks the power of a pool, and that the energy of all its uses since the start of the run equals its meter. */
static enum hr_status check_pool(const struct hr__engine *engine, hr_pool pool, const struct checked *found) {
  const struct hr__pool_meter *meter = &engine->power->pools[pool.id];
  const struct hr_pool_energy *account = meter_account(engine, pool);
  const char *name = engine->cluster.pools[pool.id].spec->name;
  struct hr__pool_meter counted = *meter;
  int64_t now_us = engine->view.now_us;
  struct hr__watts busy = meter_busy_power(meter);
  if (found->milli != meter->busy_milli || !same_power(&found->busy, &busy))
    return hr__broken(engine, "pool '%s': the power of its jobs is not that of the running jobs", name);
  meter_count_nodes(engine, pool, &counted);
  struct hr__watts power = meter_power(&counted);
  if (!same_power(&power, &meter->power)) return hr__broken(engine, "pool '%s': its power differs", name);
  struct hr__span now = hr__metered_time(meter->of, now_us), on_time = meter->on_time, busy_time = meter->busy_time;
  hr__span_add(&on_time, &meter->nodes, &now, (int64_t)meter->n_on * meter->of->gpus * MILLI);
  hr__span_add(&busy_time, &meter->touched, &now, (int64_t)meter->busy_milli);
  struct hr_energy rest = account->meter;
  energy_add_units(&rest, &meter->power, &meter->touched, &now, 1);
  for (unsigned use = 0; use < HR_N_ENERGY_USES; use++)
    if (use != HR_ENERGY_IDLE && use != HR_ENERGY_JOBS) energy_sum(&rest, &account->use[use], -1);
  struct hr_energy jobs = energy_of_jobs_until(meter, &now);
  energy_sum(&rest, &jobs, -1);
  energy_add_units(&rest, &meter->idle_rate, &on_time, &busy_time, 1);
  for (unsigned i = 0; i < N_PARTS; i++) energy_add_units(&rest, &meter->rate[i], &now, &meter->nodes, meter->n_in[i]);
  if (!is_zero(&rest)) return hr__broken(engine, "pool '%s': the uses of energy do not add up to its meter", name);
  energy_sum(&jobs, &meter->attempts, -1);
  energy_sum(&jobs, &found->open, -1);
  if (!is_zero(&jobs)) return hr__broken(engine, "pool '%s': the energy of its jobs does not add up", name);
  const hr_amount site = account->meter.it + account->meter.facility;
  if (meter->battery && !battery_is_valid(meter->battery, site))
    return hr__broken(engine, "pool '%s': the energy of its battery does not add up", name);
  return HR_OK;
}

/* Checks that the sum of the energy of all jobs equals the sum of the energy of attempts over all pools. */
static enum hr_status check_jobs(const struct hr__engine *engine) {
  struct hr_energy rest = {0};
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) energy_sum(&rest, &engine->power->pools[i].attempts, 1);
  for (uint32_t i = 0; i < engine->trace->n_jobs; i++) {
    if (!hr__engine_has(engine, (hr_job){i})) continue;
    struct hr_energy past = hr_view_energy(&engine->view, (hr_job){i});
    energy_sum(&rest, &past, -1);
  }
  return is_zero(&rest) ? HR_OK : hr__broken(engine, "the energy of the jobs is not that of the pools");
}

/* Checks the power of the pools, and that energy is conserved. */
static enum hr_status meter_check(const struct hr__engine *engine, const struct hr__running *running) {
  struct checked *pools = calloc(engine->cluster.n_pools + 1, sizeof *pools);
  enum hr_status status = HR_OK;
  if (!pools) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < running->count; i++) add_running(engine, running->jobs[i], pools);
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++)
    if (engine->power->pools[i].of->spec) status = check_pool(engine, (hr_pool){i}, &pools[i]);
  free(pools);
  return status == HR_OK && running->every_job ? check_jobs(engine) : status;
}

/* ---- Meter: start and end of a run ------------------------------------------------------------------ */

/* Sets the series of a pool, and the rates of embodied carbon. Nodes that are off have embodied carbon, too, except in
   elastic pools, where they belong to other users. */
static void set_electricity(const struct hr__engine *engine, const struct hr_electricity *known,
                            struct hr__pool_meter *meter, struct hr__metered_pool *of, bool is_elastic) {
  enum { ATTOGRAMS_PER_NANOGRAM = 1000000000 };
  if (!known) return;
  of->carbon = known->carbon;
  of->price = known->price;
  if (known->carbon) of->carbon_begin_us = hr_series_begin_us(known->carbon, known->carbon_start_us, engine->trace);
  if (known->price) of->price_begin_us = hr_series_begin_us(known->price, known->price_start_us, engine->trace);
  if (known->carbon) of->carbon_before = sum_until(known->carbon, of->carbon_begin_us);
  if (known->price) of->price_before = sum_until(known->price, of->price_begin_us);
  if (known->embodied_ug == 0) return;
  /* micrograms of a GPU are nanograms of a milli-GPU */
  int64_t rate = (int64_t)((hr_amount)known->embodied_ug * ATTOGRAMS_PER_NANOGRAM / known->life_us);
  of->default_rate.embodied = meter->idle_rate.embodied = rate;
  for (unsigned i = 0; i < PART_OTHER; i++)
    if (i != PART_DOWN || !is_elastic) meter->rate[i].embodied = rate * meter->of->gpus * MILLI;
}

static void init_pool(struct hr__engine *engine, hr_pool pool) {
  const struct hr__pool *from = &engine->cluster.pools[pool.id];
  const struct hr_power_spec *spec = from->spec->power;
  struct hr__pool_meter *meter = &engine->power->pools[pool.id];
  struct hr__metered_pool *of = &engine->energy->pools[engine->first_pool + pool.id];
  bool is_elastic = hr_market_is_elastic(from->spec->market.market);
  meter->of = of;
  if (!spec || from->spec->nodes == 0) return;
  of->spec = spec;
  of->gpus = from->spec->gpus_per_node;
  of->default_rate = hr__busy_rate_at(spec, of->gpus, 0, HR__NO_FRACTION);
  meter->idle_rate = hr__idle_rate(spec, of->gpus);
  meter->rate[PART_BOOT] = hr__node_rate(spec, spec->boot_w);
  meter->rate[PART_SUSPENDED] = hr__node_rate(spec, spec->sleep.suspend_w);
  if (!is_elastic) meter->rate[PART_DOWN] = hr__node_rate(spec, spec->down_w);
  meter->rate[PART_ASLEEP] = hr__node_rate(spec, spec->sleep.sleep_w);
  meter->rate[PART_OTHER] = hr__other_rate(spec);
  set_electricity(engine, from->spec->electricity, meter, of, is_elastic);
  meter->added_rate = of->default_rate;
  hr__watts_add(&meter->added_rate, &meter->idle_rate, -1);
  meter_count_nodes(engine, pool, meter);
  set_power(engine, meter, meter_power(meter));
}

/* Returns false if memory is exhausted. */
static bool init_battery(struct hr__engine *engine, struct hr__pool_meter *meter) {
  if (!meter->of->spec || !meter->of->carbon || !(meter->of->spec->battery.capacity_kwh > 0)) return true;
  if (!HR__ARENA_ARRAY(&engine->arena, meter->battery, 1)) return false;
  battery_init(meter->battery, &meter->of->spec->battery);
  return true;
}

/* Creates the energy of jobs, which the clusters of a run share. */
static bool make_job_energy(struct hr__engine *engine) {
  struct hr__engine *owner = engine->whole ? engine->whole : engine;
  const uint32_t n_jobs = engine->trace->n_jobs;
  uint32_t *places = NULL;
  if (!owner->energy && engine->config->stream) {
    places = hr_arena_alloc_by_job(&owner->arena, n_jobs, sizeof *places);
    if (!places) return false;
  }
  if (!owner->energy)
    owner->energy = hr__job_energy_create(owner->config->cluster->n_pools, n_jobs, places, engine->config->classes);
  engine->energy = owner->energy;
  engine->view.energy = owner->view.energy = owner->energy;
  return owner->energy;
}

static enum hr_status init(struct hr__engine *engine) {
  const struct hr_cluster_spec *cluster = engine->config->cluster;
  if (!hr_cluster_spec_metered(cluster)) return HR_OK;
  if (engine->whole && !engine->whole->power) {
    if (!HR__ARENA_ARRAY(&engine->whole->arena, engine->whole->power, 1)) return hr__out_of_memory(engine);
  }
  struct hr__power *self = hr_arena_alloc(&engine->arena, sizeof *self);
  if (!self) return hr__out_of_memory(engine);
  engine->power = self;
  if (!HR__ARENA_ARRAY(&engine->arena, self->pools, cluster->n_pools) || !make_job_energy(engine))
    return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    struct hr__pool_meter *meter = &self->pools[i];
    init_pool(engine, (hr_pool){i});
    if (!init_battery(engine, meter)) return hr__out_of_memory(engine);
    if (!meter->of->spec || !meter->of->spec->budget_caps) continue;
    if (!HR__ARENA_ARRAY(&engine->arena, meter->busy_at, HR__CAP_LEVELS + 1)) return hr__out_of_memory(engine);
  }
  return HR_OK;
}

/* Adds the energy of a running job at the end of the run. Undisturbed jobs need nothing: their energy is computed from
   their starts. */
static void close_job(struct hr__engine *engine, hr_job job) {
  if (engine->state[job.id] != HR_JOB_RUNNING || !hr__engine_has(engine, job)) return;
  if (!hr__job_energy_has_row(engine->energy, job)) return;
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  const struct hr__pool_meter *meter = &engine->power->pools[placement.pool.id];
  uint64_t milli = hr_placement_milli(&placement, engine->trace, job);
  if (!meter->of->spec || milli == 0) return;
  struct hr__watts power = meter_job_power(engine, job, meter, milli);
  (void)settle_job(engine, job, placement.pool, &power); /* needs no memory, because the job has a row */
}

void hr__power_peaks(struct hr__engine *engine) {
  engine->peaks.it_nw = engine->power->peaks.it_nw;
  engine->peaks.site_nw = engine->power->peaks.site_nw;
}

static void settle(struct hr__engine *engine) {
  const struct hr__column_reclaim *reclaim = &engine->reclaim;
  uint32_t end = engine->whole ? engine->whole->cursor : engine->cursor;
  for (uint32_t i = hr__column_reclaim_skip(reclaim, 0); i < end; i = hr__column_reclaim_skip(reclaim, i + 1))
    close_job(engine, (hr_job){i});
  for (uint32_t i = engine->n_input; i < engine->n_input + engine->n_added; i++) close_job(engine, (hr_job){i});
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool_meter *meter = &engine->power->pools[i];
    if (meter->of->spec) settle_nodes(engine, (hr_pool){i});
    if (meter->battery) meter_account(engine, (hr_pool){i})->battery = meter->battery->sums;
  }
  hr__power_peaks(engine);
}

bool hr_view_power(const struct hr_view *view, struct hr_power_now *now) {
  const struct hr__engine *engine = hr__engine_of(view);
  *now = (struct hr_power_now){0};
  if (!engine->power) return false;
  now->it_nw = engine->power->power.it;
  now->site_nw = site_nw(&engine->power->power);
  now->carbon_mg_h = hr__power_carbon_mg_h(engine);
  return true;
}

void hr__power_note(struct hr__engine *engine) {
  engine->power->noted = engine->power->power;
}

bool hr__power_is_noted(const struct hr__engine *engine) {
  const struct hr__watts *now = &engine->power->power, *noted = &engine->power->noted;
  return now->it == noted->it && now->facility == noted->facility;
}

int64_t hr__power_busy_milli(const struct hr__engine *engine, hr_pool pool, int64_t *taken_nw) {
  const struct hr__pool_meter *meter = &engine->power->pools[pool.id];
  *taken_nw = meter->busy_at ? meter->busy_at[HR__CAP_LEVELS].it : meter_busy_power(meter).it;
  return (int64_t)meter->busy_milli;
}

/* Returns the power that the battery of a pool takes from the grid now. The result is negative if the battery supplies
   power to the load. Adds the stored energy to `*stored`, unless `stored` is NULL. */
static int64_t battery_now(const struct hr__engine *engine, const struct hr__pool_meter *meter, hr_amount *stored) {
  struct hr__battery now = *meter->battery;
  const int64_t load_nw = site_nw(&meter->power);
  battery_advance(&now, meter->of, load_nw, engine->whole ? engine->whole->view.now_us : engine->view.now_us);
  if (stored) *stored += now.sums.stored;
  return battery_power(&now, meter->of, load_nw);
}

bool hr__power_batteries(const struct hr__engine *engine, struct hr_battery_now *now) {
  bool any = false;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool_meter *meter = &engine->power->pools[i];
    now->grid_nw += site_nw(&meter->power);
    if (!meter->battery) continue;
    any = true;
    now->grid_nw += battery_now(engine, meter, &now->stored);
  }
  return any;
}

bool hr_view_battery(const struct hr_view *view, struct hr_battery_now *now) {
  const struct hr__engine *engine = hr__engine_of(view);
  *now = (struct hr_battery_now){0};
  if (!engine->power) return false;
  return engine->clusters ? hr__clusters_batteries(engine, now) : hr__power_batteries(engine, now);
}

int64_t hr__power_carbon_mg_h(const struct hr__engine *engine) {
  if (engine->clusters) return hr__clusters_carbon_mg_h(engine);
  /* 10^15 nanowatts * micrograms per kWh are 1 milligram per hour */
  const hr_amount units_per_mg = INT64_C(1000000000000000);
  hr_amount carbon = 0;
  for (uint32_t i = 0; engine->power && i < engine->cluster.n_pools; i++) {
    const struct hr__pool_meter *meter = &engine->power->pools[i];
    const struct hr__metered_pool *of = meter->of;
    if (!of->carbon) continue;
    int64_t grid_nw = site_nw(&meter->power);
    if (meter->battery) grid_nw += battery_now(engine, meter, NULL);
    carbon += (hr_amount)grid_nw * hr_series_at(of->carbon, of->carbon_begin_us + engine->view.now_us);
  }
  return (int64_t)(carbon / units_per_mg);
}

const struct hr__component hr__component_power = {
    .init = init,
    .part = offsetof(struct hr__engine, power),
    .submit = submit,
    .start = start,
    .stop = stop,
    .settle = settle,
    .check = meter_check,
};
