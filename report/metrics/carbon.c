/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Metrics of carbon, of the price of energy, and of water: sums over the meters of the pools, and over jobs by tenant.
 * Sums are whole numbers (headroom/power.h), which are converted last.
 */

#include "headroom/power.h"
#include "headroom/unstable/series.h"
#include "report/metrics/summary.h"

#include <stdlib.h>
#include <string.h>

#define UL_PER_L 1e6
#define UUSD_PER_USD 1e6

static const struct hr_electricity *known_of(const struct hr_cluster_spec *cluster, uint32_t pool) {
  const struct hr_pool_spec *spec = &cluster->pools[pool];
  return spec->power && spec->nodes > 0 ? spec->electricity : NULL;
}

static struct hr_carbon_line line_of(const struct hr_energy *energy) {
  return (struct hr_carbon_line){.operational_kg = (double)energy->carbon / HR_CARBON_UNITS_PER_KG,
                                 .embodied_kg = (double)energy->embodied / HR_ATTOGRAMS_PER_KG,
                                 .energy_usd = (double)energy->price / HR_KWH_UNITS / UUSD_PER_USD};
}

/* Returns the energy of a pool, with the carbon and price of its energy from the grid. */
static struct hr_energy grid_of(const struct hr_pool_energy *pool) {
  struct hr_energy energy = pool->meter;
  energy.carbon += pool->battery.carbon;
  energy.price += pool->battery.price;
  return energy;
}

static void set_ratios(const struct hr_energy *meter, hr_amount battery, struct hr_carbon_metrics *figures) {
  double kwh = (double)(meter->it + meter->facility + battery) / HR_KWH_UNITS;
  figures->any_energy = kwh > 0;
  if (kwh > 0 && figures->known) figures->g_per_kwh = figures->all.operational_kg * 1000 / kwh;
  if (kwh > 0 && figures->price_known) figures->usd_per_kwh = figures->all.energy_usd / kwh;
}

struct hr_carbon_metrics hr__carbon_totals(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                           double of_no_wait) {
  struct hr_carbon_metrics figures = {0};
  struct hr_energy meter = {0}, jobs = {0};
  hr_amount battery = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_electricity *known = known_of(cluster, i);
    if (!known) continue;
    figures.known = figures.known || known->carbon;
    figures.price_known = figures.price_known || known->price;
    figures.water_known = figures.water_known || known->water_ul_kwh;
    figures.embodied_known = figures.embodied_known || known->embodied_ug;
    const struct hr_energy grid = grid_of(&result->pools[i].energy);
    hr__energy_add_parts(&meter, &grid);
    battery += result->pools[i].energy.battery.charged - result->pools[i].energy.battery.discharged;
    hr__energy_add_parts(&jobs, &result->pools[i].energy.use[HR_ENERGY_JOBS]);
    figures.all.water_l +=
        (double)result->pools[i].energy.meter.it / HR_KWH_UNITS * (double)known->water_ul_kwh / UL_PER_L;
  }
  double water_l = figures.all.water_l;
  figures.all = line_of(&meter);
  figures.all.water_l = water_l;
  figures.jobs = line_of(&jobs);
  figures.of_no_wait = figures.known ? of_no_wait : 0;
  set_ratios(&meter, battery, &figures);
  return figures;
}

/* ---- Lists ------------------------------------------------------------------------------------------- */

static enum hr_status append(struct hr_carbon_line *lines, size_t *count, const char *name,
                             struct hr_carbon_line line) {
  line.name = strdup(name ? name : "");
  if (!line.name) return HR_NO_MEMORY;
  lines[(*count)++] = line;
  return HR_OK;
}

static enum hr_status make_pools(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                 struct hr_carbon_metrics *figures) {
  enum hr_status status = HR_OK;
  figures->by_pool = calloc((size_t)cluster->n_pools + 1, sizeof *figures->by_pool);
  if (!figures->by_pool) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++) {
    const struct hr_electricity *known = known_of(cluster, i);
    if (!known) continue;
    const struct hr_energy grid = grid_of(&result->pools[i].energy);
    struct hr_carbon_line line = line_of(&grid);
    line.known = known->carbon != NULL;
    line.price_known = known->price != NULL;
    line.water_known = known->water_ul_kwh > 0;
    line.embodied_known = known->embodied_ug > 0;
    line.water_l = (double)result->pools[i].energy.meter.it / HR_KWH_UNITS * (double)known->water_ul_kwh / UL_PER_L;
    status = append(figures->by_pool, &figures->n_pools, cluster->pools[i].name, line);
  }
  return status;
}

static enum hr_status make_tenants(const struct hr_trace *trace, const struct hr_energy *sums,
                                   struct hr_carbon_metrics *figures) {
  size_t count = (size_t)trace->tenants.count + 1;
  enum hr_status status = HR_OK;
  if (!sums) return HR_OK;
  figures->by_tenant = calloc(count, sizeof *figures->by_tenant);
  if (!figures->by_tenant) return HR_NO_MEMORY;
  for (size_t i = 0; i < count && status == HR_OK; i++) {
    if (sums[i].it == 0 && sums[i].embodied == 0) continue;
    struct hr_carbon_line line = line_of(&sums[i]);
    line.known = figures->known;
    line.price_known = figures->price_known;
    line.embodied_known = figures->embodied_known;
    status = append(figures->by_tenant, &figures->n_tenants, i + 1 < count ? trace->tenants.text[i] : "", line);
  }
  return status;
}

enum hr_status hr__carbon_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                               const struct hr__energy_jobs *jobs, struct hr_carbon_metrics *figures) {
  *figures = hr__carbon_totals(cluster, result, jobs->of_no_wait);
  if (!figures->known && !figures->price_known && !figures->water_known && !figures->embodied_known) return HR_OK;
  enum hr_status status = make_pools(cluster, result, figures);
  return status == HR_OK ? make_tenants(result->trace, jobs->by_tenant, figures) : status;
}

static void free_lines(struct hr_carbon_line *lines, size_t count) {
  for (size_t i = 0; i < count; i++) free(lines[i].name);
  free(lines);
}

void hr__carbon_finish(struct hr_carbon_metrics *figures) {
  free_lines(figures->by_pool, figures->n_pools);
  free_lines(figures->by_tenant, figures->n_tenants);
}
