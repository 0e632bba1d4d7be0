/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The checks of the meter in checked mode. The power of the jobs of each pool is computed again from its running jobs.
 * The meter of each pool must be equal to the sum of the uses of its energy; the energy of its jobs, as an integral of
 * their power, must be equal to the sum over their attempts; and the energy of all single jobs to the sum over pools.
 */

#include "sim/power/meter.h"

#include <stdlib.h>

/* The use of a pool by its running jobs, computed from scratch. */
struct checked {
  struct hr__watts busy;
  uint64_t milli;
  struct hr_energy open; /* not added to pool_meter.attempts yet */
};

static void add_running(const struct hr__engine *engine, hr_job job, struct checked *pools) {
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  const struct hr__pool_meter *meter = &engine->power->pools[placement.pool.id];
  struct checked *pool = &pools[placement.pool.id];
  uint64_t milli = hr_placement_milli(&placement, engine->trace, job);
  if (!meter->of->spec || milli == 0) return;
  struct hr__watts power = hr__meter_job_power(engine, job, meter, milli);
  hr__watts_add(&pool->busy, &power, 1);
  pool->milli += milli;
  struct hr_energy part = hr__meter_open_energy(engine, job, meter, &power);
  hr__energy_sum(&pool->open, &part, 1);
}

static bool is_zero(const struct hr_energy *energy) {
  return energy->it == 0 && energy->loss == 0 && energy->facility == 0 && energy->carbon == 0 && energy->price == 0 &&
         energy->embodied == 0;
}

/* Returns the energy of all jobs of a pool until now. */
static struct hr_energy energy_of_jobs_until(const struct hr__pool_meter *meter, const struct hr__span *now) {
  struct hr__pool_meter copy = *meter;
  hr__span_add(&copy.busy_time, &meter->touched, now, (int64_t)meter->busy_milli);
  hr__energy_add_units(&copy.extra_energy, &meter->extra, &meter->touched, now, 1);
  return hr__meter_energy_of_jobs(&copy);
}

static bool same_power(const struct hr__watts *a, const struct hr__watts *b) {
  return a->it == b->it && a->loss == b->loss && a->facility == b->facility && a->embodied == b->embodied;
}

/* Checks the power of a pool, and that the energy of all its uses since the start of the run equals its meter. */
static enum hr_status check_pool(const struct hr__engine *engine, hr_pool pool, const struct checked *found) {
  const struct hr__pool_meter *meter = &engine->power->pools[pool.id];
  const struct hr_pool_energy *account = hr__meter_account(engine, pool);
  const char *name = engine->cluster.pools[pool.id].spec->name;
  struct hr__pool_meter counted = *meter;
  int64_t now_us = engine->view.now_us;
  struct hr__watts busy = hr__meter_busy_power(meter);
  if (found->milli != meter->busy_milli || !same_power(&found->busy, &busy))
    return hr__broken(engine, "pool '%s': the power of its jobs is not that of the running jobs", name);
  hr__meter_count_nodes(engine, pool, &counted);
  struct hr__watts power = hr__meter_power(&counted);
  if (!same_power(&power, &meter->power)) return hr__broken(engine, "pool '%s': its power differs", name);
  struct hr__span now = hr__metered_time(meter->of, now_us), on_time = meter->on_time, busy_time = meter->busy_time;
  hr__span_add(&on_time, &meter->nodes, &now, (int64_t)meter->n_on * meter->of->gpus * HR__METER_MILLI);
  hr__span_add(&busy_time, &meter->touched, &now, (int64_t)meter->busy_milli);
  struct hr_energy rest = account->meter;
  hr__energy_add_units(&rest, &meter->power, &meter->touched, &now, 1);
  for (unsigned use = 0; use < HR_N_ENERGY_USES; use++)
    if (use != HR_ENERGY_IDLE && use != HR_ENERGY_JOBS) hr__energy_sum(&rest, &account->use[use], -1);
  struct hr_energy jobs = energy_of_jobs_until(meter, &now);
  hr__energy_sum(&rest, &jobs, -1);
  hr__energy_add_units(&rest, &meter->idle_rate, &on_time, &busy_time, 1);
  hr__energy_add_units(&rest, &meter->boot_rate, &now, &meter->nodes, meter->n_boot);
  hr__energy_add_units(&rest, &meter->down_rate, &now, &meter->nodes, meter->n_down);
  hr__energy_add_units(&rest, &meter->suspend_rate, &now, &meter->nodes, meter->n_suspended);
  hr__energy_add_units(&rest, &meter->sleep_rate, &now, &meter->nodes, meter->n_asleep);
  hr__energy_add_units(&rest, &meter->other_rate, &now, &meter->nodes, 1);
  if (!is_zero(&rest)) return hr__broken(engine, "pool '%s': the uses of energy do not add up to its meter", name);
  hr__energy_sum(&jobs, &meter->attempts, -1);
  hr__energy_sum(&jobs, &found->open, -1);
  if (!is_zero(&jobs)) return hr__broken(engine, "pool '%s': the energy of its jobs does not add up", name);
  const hr_amount site = account->meter.it + account->meter.facility;
  if (meter->battery && !hr__battery_is_valid(meter->battery, site))
    return hr__broken(engine, "pool '%s': the energy of its battery does not add up", name);
  return HR_OK;
}

/* Checks that the energy of all jobs is that of the pools. */
static enum hr_status check_jobs(const struct hr__engine *engine) {
  struct hr_energy rest = {0};
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) hr__energy_sum(&rest, &engine->power->pools[i].attempts, 1);
  for (uint32_t i = 0; i < engine->trace->n_jobs; i++) {
    if (!hr__engine_has(engine, (hr_job){i})) continue;
    struct hr_energy past = hr_view_energy(&engine->view, (hr_job){i});
    hr__energy_sum(&rest, &past, -1);
  }
  return is_zero(&rest) ? HR_OK : hr__broken(engine, "the energy of the jobs is not that of the pools");
}

enum hr_status hr__meter_check(const struct hr__engine *engine, const struct hr__running *running) {
  struct checked *pools = calloc(engine->cluster.n_pools + 1, sizeof *pools);
  enum hr_status status = HR_OK;
  if (!pools) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < running->count; i++) add_running(engine, running->jobs[i], pools);
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++)
    if (engine->power->pools[i].of->spec) status = check_pool(engine, (hr_pool){i}, &pools[i]);
  free(pools);
  return status == HR_OK && running->every_job ? check_jobs(engine) : status;
}
