/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Metrics of batteries: sums over pools. Sums are whole numbers (headroom/power.h), which are converted last.
 */

#include "headroom/power.h"
#include "headroom/unstable/series.h"
#include "report/metrics/summary.h"

static double kwh(hr_amount energy) {
  return (double)energy / HR_KWH_UNITS;
}

static void add(struct hr_battery_energy *sum, const struct hr_battery_energy *part) {
  sum->charged += part->charged;
  sum->discharged += part->discharged;
  sum->loss += part->loss;
  sum->stored += part->stored;
  sum->carbon += part->carbon;
  sum->price += part->price;
}

struct hr_battery_metrics hr__battery_totals(const struct hr_cluster_spec *cluster, const struct hr_result *result) {
  struct hr_battery_metrics figures = {0};
  struct hr_battery_energy sum = {0};
  hr_amount site = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (!pool->power || pool->nodes == 0) continue;
    const struct hr_pool_energy *energy = &result->pools[i].energy;
    site += energy->meter.it + energy->meter.facility;
    if (!hr_pool_emits(pool) || !(pool->power->battery.capacity_kwh > 0)) continue;
    figures.known = true;
    figures.price_known = figures.price_known || pool->electricity->price;
    add(&sum, &energy->battery);
  }
  if (!figures.known) return figures;
  figures.grid_kwh = kwh(site + sum.charged - sum.discharged);
  figures.charged_kwh = kwh(sum.charged);
  figures.discharged_kwh = kwh(sum.discharged);
  figures.loss_kwh = kwh(sum.loss);
  figures.stored_kwh = kwh(sum.stored);
  figures.carbon_kg = (double)sum.carbon / HR_CARBON_UNITS_PER_KG;
  figures.energy_usd = (double)sum.price / HR_KWH_UNITS / 1e6;
  return figures;
}
