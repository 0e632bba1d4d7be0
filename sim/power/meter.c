/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The meter: the energy of the nodes and jobs of a run, as a component of the engine.
 *
 * The power of a pool changes when a job starts or stops, and when a node changes its state. Before each change, the
 * pool is settled: its power times the time since the last change is added to the meter. The time in which milli-GPUs
 * were in use is added, too; from this time and the time of the nodes, the energy of free GPUs is computed. The energy
 * of a job is added whenever the job stops.
 *
 * Invariant, verified in checked mode: the sum of the energy of jobs, free GPUs, nodes in transition, nodes that are
 * down and other equipment equals the meter exactly; and the energy of all jobs equals the sum over pools.
 */

#include "headroom/unstable/series.h"
#include "sim/engine/engine.h"
#include "sim/power/power.h"
#include "sim/power/standby.h"

#include <stdlib.h>

enum { MILLI = 1000 };

/* The meter of a pool. The power is `busy`, plus the rates of the pool times the number of their units. */
struct pool_meter {
  const struct hr_power_spec *spec; /* NULL: the power of the pool is unknown */
  uint32_t gpus;                    /* of a node */
  struct hr__watts default_rate, idle_rate, boot_rate, down_rate, suspend_rate, sleep_rate, other_rate;
  struct hr__watts power, busy;
  uint64_t busy_milli;
  /* nodes that are on, boot, are off, are being suspended, and sleep */
  uint32_t n_on, n_boot, n_down, n_suspended, n_asleep;
  struct hr__span touched, nodes;     /* when the pool, and the accounts of its nodes, were last settled */
  struct hr__span busy_time, on_time; /* of milli-GPUs */
  /* the electricity of the pool, and the begin of the run in its series; NULL: unknown */
  const struct hr_series *carbon, *price;
  int64_t carbon_begin_us, price_begin_us;
  hr_amount carbon_before, price_before; /* integrals from the first stamp of the series to the begin of the run */
  struct hr__span now;                   /* the last time that now_of has returned */
  struct hr__watts *busy_at; /* by level of the power limits: `busy` at that level; NULL: GPUs are not limited */
};

struct hr__power {
  struct pool_meter *pools; /* by pool */
  int64_t *since_us;        /* by job: when it started, or when its energy was last added */
  struct hr__watts power;   /* of all pools */
  int64_t touched_us;
  struct hr_power_peaks peaks;
};

/* ---- Accounts ------------------------------------------------------------------------------------------- */

static struct hr_pool_energy *account_of(const struct hr__engine *engine, hr_pool pool) {
  return &engine->pool_accounting[pool.id].energy;
}

/* Returns the integral of a series from its first stamp. */
static hr_amount sum_until(const struct hr_series *series, int64_t at_us) {
  return hr_series_between(series, hr_series_first_us(series), at_us);
}

/* Returns a time of the run with the integrals until then. Without series this is the time itself. */
static struct hr__span time_of(const struct pool_meter *meter, int64_t at_us) {
  enum { UG_PER_MG = 1000 };
  struct hr__span time = {.us = at_us};
  if (meter->carbon)
    time.carbon = (sum_until(meter->carbon, meter->carbon_begin_us + at_us) - meter->carbon_before) / UG_PER_MG;
  if (meter->price) time.price = sum_until(meter->price, meter->price_begin_us + at_us) - meter->price_before;
  return time;
}

/* Returns the present time. It is computed once for all changes of an instant. */
static struct hr__span now_of(const struct hr__engine *engine, struct pool_meter *meter) {
  if (meter->now.us != engine->view.now_us) meter->now = time_of(meter, engine->view.now_us);
  return meter->now;
}

static struct hr__span span_between(const struct hr__span *from, const struct hr__span *to, int64_t units) {
  struct hr__span span = {0};
  hr__span_add(&span, from, to, units);
  return span;
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

/* Updates the peaks of the pool, of all pools and of all clusters, if the power until now lasted for some time. */
static void note_peaks(struct hr__engine *engine, hr_pool pool) {
  const struct pool_meter *meter = &engine->power->pools[pool.id];
  struct hr_pool_energy *account = account_of(engine, pool);
  int64_t now_us = engine->view.now_us;
  if (meter->touched.us < now_us && meter->power.it > account->peak_nw) account->peak_nw = meter->power.it;
  note_peak(engine->power, now_us);
  if (engine->whole) note_peak(engine->whole->power, now_us);
}

/* Adds the energy since the last change. Must be called before the power of the pool changes. */
static void settle_pool(struct hr__engine *engine, hr_pool pool) {
  struct pool_meter *meter = &engine->power->pools[pool.id];
  int64_t now_us = engine->view.now_us;
  if (meter->touched.us == now_us) return;
  note_peaks(engine, pool);
  struct hr__span now = now_of(engine, meter), span = span_between(&meter->touched, &now, 1);
  hr__energy_add(&account_of(engine, pool)->meter, &meter->power, &span);
  hr__span_add(&meter->busy_time, &meter->touched, &now, (int64_t)meter->busy_milli);
  meter->touched = now;
}

/* Adds the energy of `units` units from one time to another. */
static void add_energy(struct hr_energy *sum, const struct hr__watts *rate, const struct hr__span *from,
                       const struct hr__span *to, int64_t units) {
  struct hr__span span = span_between(from, to, units);
  hr__energy_add(sum, rate, &span);
}

/* Adds the energy of the states of nodes, and of free GPUs. Must be called before a node changes its state. */
static void settle_nodes(struct hr__engine *engine, hr_pool pool) {
  struct pool_meter *meter = &engine->power->pools[pool.id];
  struct hr_energy *use = account_of(engine, pool)->use;
  settle_pool(engine, pool);
  struct hr__span now = now_of(engine, meter);
  hr__span_add(&meter->on_time, &meter->nodes, &now, (int64_t)meter->n_on * meter->gpus * MILLI);
  add_energy(&use[HR_ENERGY_BOOT], &meter->boot_rate, &meter->nodes, &now, meter->n_boot);
  add_energy(&use[HR_ENERGY_BOOT], &meter->suspend_rate, &meter->nodes, &now, meter->n_suspended);
  add_energy(&use[HR_ENERGY_DOWN], &meter->down_rate, &meter->nodes, &now, meter->n_down);
  add_energy(&use[HR_ENERGY_DOWN], &meter->sleep_rate, &meter->nodes, &now, meter->n_asleep);
  add_energy(&use[HR_ENERGY_OTHER], &meter->other_rate, &meter->nodes, &now, 1);
  use[HR_ENERGY_IDLE] = (struct hr_energy){0};
  add_energy(&use[HR_ENERGY_IDLE], &meter->idle_rate, &meter->busy_time, &meter->on_time, 1);
  meter->nodes = now;
}

/* Returns the power that follows from the state of the pool. */
static struct hr__watts power_of(const struct pool_meter *meter) {
  struct hr__watts power = meter->busy;
  int64_t free_milli = (int64_t)meter->n_on * meter->gpus * MILLI - (int64_t)meter->busy_milli;
  hr__watts_add(&power, &meter->idle_rate, free_milli);
  hr__watts_add(&power, &meter->boot_rate, meter->n_boot);
  hr__watts_add(&power, &meter->down_rate, meter->n_down);
  hr__watts_add(&power, &meter->suspend_rate, meter->n_suspended);
  hr__watts_add(&power, &meter->sleep_rate, meter->n_asleep);
  hr__watts_add(&power, &meter->other_rate, 1);
  return power;
}

/* Sets the power of the pool after a change. */
static void set_power(struct hr__engine *engine, struct pool_meter *meter, struct hr__watts power) {
  struct hr__power *of_all = engine->whole ? engine->whole->power : NULL;
  hr__watts_add(&engine->power->power, &meter->power, -1);
  hr__watts_add(&engine->power->power, &power, 1);
  if (of_all) hr__watts_add(&of_all->power, &meter->power, -1);
  if (of_all) hr__watts_add(&of_all->power, &power, 1);
  meter->power = power;
}

/* ---- Jobs ------------------------------------------------------------------------------------------------ */

/* Returns the power of a job with `milli` milli-GPUs at a level of the power limits. */
static struct hr__watts power_at(const struct hr__engine *engine, hr_job job, const struct pool_meter *meter,
                                 uint64_t milli, uint32_t level) {
  uint32_t fraction_ppm = hr__power_fraction(engine->trace, engine->config->classes, job);
  struct hr__watts power = {0}, rate = meter->default_rate;
  if (level > 0 || fraction_ppm != HR__NO_FRACTION)
    rate = hr__busy_rate_at(meter->spec, meter->gpus, level, fraction_ppm);
  rate.embodied = meter->default_rate.embodied;
  hr__watts_add(&power, &rate, (int64_t)milli);
  return power;
}

/* Returns the present power of a job with `milli` milli-GPUs. */
static struct hr__watts power_of_job(const struct hr__engine *engine, hr_job job, const struct pool_meter *meter,
                                     uint64_t milli) {
  return power_at(engine, job, meter, milli, engine->speeds.level);
}

/* Counts the power of a job that starts (`sign` 1) or stops (-1) at all levels of the power limits. */
static void count_levels(const struct hr__engine *engine, hr_job job, const struct pool_meter *meter, uint64_t milli,
                         int sign) {
  for (uint32_t level = 0; meter->busy_at && level <= HR__CAP_LEVELS; level++) {
    struct hr__watts power = power_at(engine, job, meter, milli, level);
    hr__watts_add(&meter->busy_at[level], &power, sign);
  }
}

/* Changes the power of a pool when a job starts (`sign` 1) or stops (-1). */
static void count_job(struct hr__engine *engine, hr_pool pool, const struct hr__watts *power, uint64_t milli,
                      int sign) {
  struct pool_meter *meter = &engine->power->pools[pool.id];
  settle_pool(engine, pool);
  struct hr__watts now = meter->power;
  hr__watts_add(&meter->busy, power, sign);
  hr__watts_add(&now, power, sign);
  hr__watts_add(&now, &meter->idle_rate, -sign * (int64_t)milli);
  meter->busy_milli = sign > 0 ? meter->busy_milli + milli : meter->busy_milli - milli;
  set_power(engine, meter, now);
}

static enum hr_status start(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            int64_t run_us) {
  (void)run_us;
  const struct pool_meter *meter = &engine->power->pools[placement->pool.id];
  engine->power->since_us[job.id] = engine->view.now_us;
  if (!meter->spec) return HR_OK;
  uint64_t milli = hr_placement_milli(placement, engine->trace, job);
  if (milli == 0) return HR_OK;
  struct hr__watts power = power_of_job(engine, job, meter, milli);
  count_job(engine, placement->pool, &power, milli, 1);
  count_levels(engine, job, meter, milli, 1);
  return HR_OK;
}

static void sum_energy(struct hr_energy *sum, const struct hr_energy *part, int sign) {
  sum->it += sign * part->it;
  sum->loss += sign * part->loss;
  sum->facility += sign * part->facility;
  sum->embodied += sign * part->embodied;
  sum->carbon += sign * part->carbon;
  sum->price += sign * part->price;
}

/* Adds the energy of a job since it was last added. */
static void settle_job(struct hr__engine *engine, hr_job job, hr_pool pool, const struct hr__watts *power) {
  struct pool_meter *meter = &engine->power->pools[pool.id];
  int64_t now_us = engine->view.now_us, *since_us = &engine->power->since_us[job.id];
  struct hr__span since = time_of(meter, *since_us), now = now_of(engine, meter);
  struct hr__span span = span_between(&since, &now, 1);
  struct hr_energy part = {0};
  hr__energy_add(&part, power, &span);
  sum_energy(&engine->energy[job.id], &part, 1);
  sum_energy(&account_of(engine, pool)->use[HR_ENERGY_JOBS], &part, 1);
  *since_us = now_us;
}

static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  (void)how;
  const struct pool_meter *meter = &engine->power->pools[placement->pool.id];
  if (!meter->spec) return HR_OK;
  uint64_t milli = hr_placement_milli(placement, engine->trace, job);
  if (milli == 0) return HR_OK;
  struct hr__watts power = power_of_job(engine, job, meter, milli);
  settle_job(engine, job, placement->pool, &power);
  count_job(engine, placement->pool, &power, milli, -1);
  count_levels(engine, job, meter, milli, -1);
  return HR_OK;
}

static void submit(struct hr__engine *engine, hr_job job) {
  if (engine->config->stream) engine->energy[job.id] = (struct hr_energy){0};
}

/* ---- Levels of the power limits ---------------------------------------------------------------------------- */

int64_t hr__power_at_level(const struct hr__engine *engine, uint32_t level) {
  int64_t nw = engine->power->power.it;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct pool_meter *meter = &engine->power->pools[i];
    if (meter->busy_at) nw += meter->busy_at[level].it - meter->busy.it;
  }
  return nw;
}

/* Adds the energy of the jobs on a node until now. A job on several nodes is added once, as nothing is left then. */
static void settle_residents(struct hr__engine *engine, hr_pool pool, uint32_t node) {
  const struct pool_meter *meter = &engine->power->pools[pool.id];
  for (uint32_t link = engine->residents.first[node]; link; link = engine->residents.links[link - 1].next) {
    hr_job job = engine->residents.links[link - 1].job;
    struct hr_slice one;
    struct hr_placement placement = hr__allocation_placement(engine, job, &one);
    uint64_t milli = hr_placement_milli(&placement, engine->trace, job);
    struct hr__watts power = power_of_job(engine, job, meter, milli);
    settle_job(engine, job, pool, &power);
  }
}

void hr__power_set_level(struct hr__engine *engine, uint32_t level) {
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    struct pool_meter *meter = &engine->power->pools[i];
    const struct hr__pool *pool = &engine->cluster.pools[i];
    if (!meter->busy_at) continue;
    settle_pool(engine, (hr_pool){i});
    for (uint32_t k = 0; k < pool->spec->nodes; k++) settle_residents(engine, (hr_pool){i}, pool->first_node.id + k);
    struct hr__watts power = meter->power;
    hr__watts_add(&power, &meter->busy, -1);
    meter->busy = meter->busy_at[level];
    hr__watts_add(&power, &meter->busy, 1);
    set_power(engine, meter, power);
  }
  engine->speeds.level = level;
}

/* ---- Nodes ----------------------------------------------------------------------------------------------- */

/* Counts the nodes by state. */
static void count_nodes(const struct hr__engine *engine, hr_pool number, struct pool_meter *meter) {
  const struct hr__pool *pool = &engine->cluster.pools[number.id];
  meter->n_on = pool->spec->nodes;
  meter->n_boot = meter->n_down = 0;
  if (!pool->comes_and_goes) return;
  meter->n_on = pool->n_in[HR_NODE_UP] + pool->n_in[HR_NODE_CLOSING];
  meter->n_boot = pool->n_in[HR_NODE_BOOTING];
  meter->n_suspended = engine->standby ? hr__standby_count(engine, number, false) : 0;
  meter->n_asleep = engine->standby ? hr__standby_count(engine, number, true) : 0;
  meter->n_down = pool->n_in[HR_NODE_OFF] - meter->n_suspended - meter->n_asleep;
}

void hr__power_before_node(struct hr__engine *engine, hr_pool pool) {
  if (engine->power->pools[pool.id].spec) settle_nodes(engine, pool);
}

void hr__power_after_node(struct hr__engine *engine, hr_pool pool) {
  struct pool_meter *meter = &engine->power->pools[pool.id];
  if (!meter->spec) return;
  count_nodes(engine, pool, meter);
  set_power(engine, meter, power_of(meter));
}

/* ---- Start and end of a run -------------------------------------------------------------------------------- */

/* Sets the series of a pool, and the rates of embodied carbon. Nodes that are off count, too, except in elastic pools,
   where they belong to others. */
static void set_electricity(const struct hr__engine *engine, const struct hr_electricity *known,
                            struct pool_meter *meter, bool is_elastic) {
  enum { ATTOGRAMS_PER_NANOGRAM = 1000000000 };
  if (!known) return;
  meter->carbon = known->carbon;
  meter->price = known->price;
  if (known->carbon) meter->carbon_begin_us = hr_series_begin_us(known->carbon, known->carbon_start_us, engine->trace);
  if (known->price) meter->price_begin_us = hr_series_begin_us(known->price, known->price_start_us, engine->trace);
  if (known->carbon) meter->carbon_before = sum_until(known->carbon, meter->carbon_begin_us);
  if (known->price) meter->price_before = sum_until(known->price, meter->price_begin_us);
  if (known->embodied_ug == 0) return;
  /* micrograms of a GPU are nanograms of a milli-GPU */
  int64_t rate = (int64_t)((hr_amount)known->embodied_ug * ATTOGRAMS_PER_NANOGRAM / known->life_us);
  meter->default_rate.embodied = meter->idle_rate.embodied = rate;
  meter->boot_rate.embodied = rate * meter->gpus * MILLI;
  if (!is_elastic) meter->down_rate.embodied = rate * meter->gpus * MILLI;
  meter->suspend_rate.embodied = meter->sleep_rate.embodied = rate * meter->gpus * MILLI;
}

static void init_pool(struct hr__engine *engine, hr_pool pool) {
  const struct hr__pool *from = &engine->cluster.pools[pool.id];
  const struct hr_power_spec *spec = from->spec->power;
  struct pool_meter *meter = &engine->power->pools[pool.id];
  bool is_elastic = hr_market_is_elastic(from->spec->market.market);
  if (!spec || from->spec->nodes == 0) return;
  meter->spec = spec;
  meter->gpus = from->spec->gpus_per_node;
  meter->default_rate = hr__busy_rate(spec, meter->gpus, HR__NO_FRACTION);
  meter->idle_rate = hr__idle_rate(spec, meter->gpus);
  meter->boot_rate = hr__node_rate(spec, spec->boot_w);
  if (!is_elastic) meter->down_rate = hr__node_rate(spec, spec->down_w);
  meter->suspend_rate = hr__node_rate(spec, spec->sleep.suspend_w);
  meter->sleep_rate = hr__node_rate(spec, spec->sleep.sleep_w);
  meter->other_rate = hr__other_rate(spec);
  set_electricity(engine, from->spec->electricity, meter, is_elastic);
  count_nodes(engine, pool, meter);
  set_power(engine, meter, power_of(meter));
}

static enum hr_status init(struct hr__engine *engine) {
  const struct hr_cluster_spec *cluster = engine->config->cluster;
  if (!hr_cluster_spec_metered(cluster)) return HR_OK;
  if (engine->whole && !engine->whole->power) {
    engine->whole->power = hr_arena_alloc(&engine->whole->arena, sizeof *engine->whole->power);
    if (!engine->whole->power) return hr__out_of_memory(engine);
  }
  struct hr__power *self = hr_arena_alloc(&engine->arena, sizeof *self);
  if (!self) return hr__out_of_memory(engine);
  engine->power = self;
  self->pools = hr_arena_alloc(&engine->arena, cluster->n_pools * sizeof *self->pools);
  self->since_us = hr_arena_alloc_by_job(&engine->arena, engine->trace->n_jobs, sizeof *self->since_us);
  engine->energy = HR__RESULT_COLUMN(engine, energy);
  if (!self->pools || !self->since_us || !engine->energy) return hr__out_of_memory(engine);
  engine->view.energy = engine->energy;
  if (engine->whole) engine->whole->view.energy = engine->energy;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    struct pool_meter *meter = &self->pools[i];
    init_pool(engine, (hr_pool){i});
    if (!meter->spec || !meter->spec->budget_caps) continue;
    meter->busy_at = hr_arena_alloc(&engine->arena, (HR__CAP_LEVELS + 1) * sizeof *meter->busy_at);
    if (!meter->busy_at) return hr__out_of_memory(engine);
  }
  return HR_OK;
}

static bool is_needed(const struct hr__engine *engine) {
  return engine->power;
}

/* Adds the energy of a running job at the end of the run. */
static void close_job(struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  if (engine->state[job.id] != HR_JOB_RUNNING || !hr__engine_has(engine, job)) return;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  const struct pool_meter *meter = &engine->power->pools[placement.pool.id];
  uint64_t milli = hr_placement_milli(&placement, engine->trace, job);
  if (!meter->spec || milli == 0) return;
  struct hr__watts power = power_of_job(engine, job, meter, milli);
  settle_job(engine, job, placement.pool, &power);
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
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (engine->power->pools[i].spec) settle_nodes(engine, (hr_pool){i});
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

int64_t hr__power_busy_milli(const struct hr__engine *engine, hr_pool pool, int64_t *taken_nw) {
  const struct pool_meter *meter = &engine->power->pools[pool.id];
  *taken_nw = meter->busy_at ? meter->busy_at[HR__CAP_LEVELS].it : meter->busy.it;
  return (int64_t)meter->busy_milli;
}

int64_t hr__power_carbon_mg_h(const struct hr__engine *engine) {
  if (engine->clusters) return hr__clusters_carbon_mg_h(engine);
  const hr_amount units_per_mg = INT64_C(1000000000000000); /* nanowatts x micrograms per kWh; hours */
  hr_amount carbon = 0;
  for (uint32_t i = 0; engine->power && i < engine->cluster.n_pools; i++) {
    const struct pool_meter *meter = &engine->power->pools[i];
    if (!meter->carbon) continue;
    carbon +=
        (hr_amount)site_nw(&meter->power) * hr_series_at(meter->carbon, meter->carbon_begin_us + engine->view.now_us);
  }
  return (int64_t)(carbon / units_per_mg);
}

/* ---- Checked mode -------------------------------------------------------------------------------------------- */

/* The use of a pool by its running jobs, computed from scratch. */
struct checked {
  struct hr__watts busy;
  uint64_t milli;
  struct hr_energy open; /* not added to their accounts yet */
};

static void add_running(const struct hr__engine *engine, hr_job job, struct checked *pools) {
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  const struct pool_meter *meter = &engine->power->pools[placement.pool.id];
  struct checked *pool = &pools[placement.pool.id];
  uint64_t milli = hr_placement_milli(&placement, engine->trace, job);
  if (!meter->spec || milli == 0) return;
  struct hr__watts power = power_of_job(engine, job, meter, milli);
  hr__watts_add(&pool->busy, &power, 1);
  pool->milli += milli;
  struct hr__span since = time_of(meter, engine->power->since_us[job.id]), now = time_of(meter, engine->view.now_us);
  add_energy(&pool->open, &power, &since, &now, 1);
}

static bool is_zero(const struct hr_energy *energy) {
  return energy->it == 0 && energy->loss == 0 && energy->facility == 0 && energy->carbon == 0 && energy->price == 0 &&
         energy->embodied == 0;
}

static bool same_power(const struct hr__watts *a, const struct hr__watts *b) {
  return a->it == b->it && a->loss == b->loss && a->facility == b->facility && a->embodied == b->embodied;
}

/* Checks the power of a pool, and that the energy of all its uses since the start of the run equals its meter. */
static enum hr_status check_pool(const struct hr__engine *engine, hr_pool pool, const struct checked *found) {
  const struct pool_meter *meter = &engine->power->pools[pool.id];
  const struct hr_pool_energy *account = account_of(engine, pool);
  const char *name = engine->cluster.pools[pool.id].spec->name;
  struct pool_meter counted = *meter;
  int64_t now_us = engine->view.now_us;
  if (found->milli != meter->busy_milli || !same_power(&found->busy, &meter->busy))
    return hr__broken(engine, "pool '%s': the power of its jobs is not that of the running jobs", name);
  count_nodes(engine, pool, &counted);
  struct hr__watts power = power_of(&counted);
  if (!same_power(&power, &meter->power)) return hr__broken(engine, "pool '%s': its power differs", name);
  struct hr__span now = time_of(meter, now_us), on_time = meter->on_time, busy_time = meter->busy_time;
  hr__span_add(&on_time, &meter->nodes, &now, (int64_t)meter->n_on * meter->gpus * MILLI);
  hr__span_add(&busy_time, &meter->touched, &now, (int64_t)meter->busy_milli);
  struct hr_energy rest = account->meter;
  add_energy(&rest, &meter->power, &meter->touched, &now, 1);
  for (unsigned use = 0; use < HR_N_ENERGY_USES; use++)
    if (use != HR_ENERGY_IDLE) sum_energy(&rest, &account->use[use], -1);
  sum_energy(&rest, &found->open, -1);
  add_energy(&rest, &meter->idle_rate, &on_time, &busy_time, 1);
  add_energy(&rest, &meter->boot_rate, &now, &meter->nodes, meter->n_boot);
  add_energy(&rest, &meter->down_rate, &now, &meter->nodes, meter->n_down);
  add_energy(&rest, &meter->suspend_rate, &now, &meter->nodes, meter->n_suspended);
  add_energy(&rest, &meter->sleep_rate, &now, &meter->nodes, meter->n_asleep);
  add_energy(&rest, &meter->other_rate, &now, &meter->nodes, 1);
  return is_zero(&rest) ? HR_OK : hr__broken(engine, "pool '%s': the uses of energy do not add up to its meter", name);
}

/* Checks that the energy of all jobs is that of the pools. */
static enum hr_status check_jobs(const struct hr__engine *engine) {
  struct hr_energy rest = {0};
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    sum_energy(&rest, &account_of(engine, (hr_pool){i})->use[HR_ENERGY_JOBS], 1);
  for (uint32_t i = 0; i < engine->trace->n_jobs; i++)
    if (hr__engine_has(engine, (hr_job){i})) sum_energy(&rest, &engine->energy[i], -1);
  return is_zero(&rest) ? HR_OK : hr__broken(engine, "the energy of the jobs is not that of the pools");
}

static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
  struct checked *pools = calloc(engine->cluster.n_pools + 1, sizeof *pools);
  enum hr_status status = HR_OK;
  if (!pools) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < running->count; i++) add_running(engine, running->jobs[i], pools);
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++)
    if (engine->power->pools[i].spec) status = check_pool(engine, (hr_pool){i}, &pools[i]);
  free(pools);
  return status == HR_OK && running->every_job ? check_jobs(engine) : status;
}

const struct hr__component hr__component_power = {
    .init = init,
    .is_needed = is_needed,
    .submit = submit,
    .start = start,
    .stop = stop,
    .settle = settle,
    .check = check,
};
