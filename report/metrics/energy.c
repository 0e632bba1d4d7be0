/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Metrics of energy: sums over the meters of the pools, and the energy of jobs by tenant. Sums are whole numbers
 * (headroom/power.h), which are converted to kilowatt hours last.
 */

#include "headroom/power.h"
#include "report/metrics/summary.h"
#include "sim/power/power.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NW_PER_KW 1e12

static double kwh(hr_amount energy) {
  return (double)energy / HR_KWH_UNITS;
}

static bool is_metered(const struct hr_cluster_spec *cluster, uint32_t pool) {
  return cluster->pools[pool].power && cluster->pools[pool].nodes > 0;
}

struct hr_energy_metrics hr__energy_totals(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                           double gpu_hours) {
  struct hr_energy_metrics figures = {0};
  struct hr_energy meter = {0}, uses[HR_N_ENERGY_USES] = {{0}};
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    if (!is_metered(cluster, i)) continue;
    const struct hr_pool_energy *energy = &result->pools[i].energy;
    figures.known = true;
    meter.it += energy->meter.it;
    meter.loss += energy->meter.loss;
    meter.facility += energy->meter.facility;
    for (unsigned use = 0; use < HR_N_ENERGY_USES; use++) uses[use].it += energy->use[use].it;
    figures.sleep_known = figures.sleep_known || cluster->pools[i].power->sleep.idle_us > 0;
    figures.sleeps += result->pools[i].sleeps;
    figures.wakes += result->pools[i].wakes;
  }
  double hours = (double)result->end_us / (3600.0 * (double)HR_SECOND_US);
  figures.it_kwh = kwh(meter.it);
  figures.site_kwh = kwh(meter.it + meter.facility);
  figures.loss_kwh = kwh(meter.loss);
  for (unsigned use = 0; use < HR_N_ENERGY_USES; use++) figures.use_kwh[use] = kwh(uses[use].it);
  if (meter.it > 0) figures.pue = (double)(meter.it + meter.facility) / (double)meter.it;
  if (hours > 0) figures.mean_kw = figures.it_kwh / hours;
  if (gpu_hours > 0) figures.kwh_per_gpu_hour = figures.site_kwh / gpu_hours;
  figures.peak_kw = (double)result->peaks.it_nw / NW_PER_KW;
  figures.site_peak_kw = (double)result->peaks.site_nw / NW_PER_KW;
  figures.budget_kw = (double)result->peaks.budget_nw / NW_PER_KW;
  figures.budget_s = (double)result->peaks.bound_us / (double)HR_SECOND_US;
  figures.budget_caps = result->peaks.budget_caps;
  figures.capped_s = (double)result->peaks.capped_us / (double)HR_SECOND_US;
  figures.budget_job_s = (double)result->peaks.bound_job_us / (double)HR_SECOND_US;
  return figures;
}

static enum hr_status make_pools(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                 struct hr_energy_metrics *figures) {
  figures->by_pool = calloc((size_t)cluster->n_pools + 1, sizeof *figures->by_pool);
  if (!figures->by_pool) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_energy *energy = &result->pools[i].energy;
    if (!is_metered(cluster, i)) continue;
    struct hr_energy_line line = {.name = strdup(cluster->pools[i].name ? cluster->pools[i].name : ""),
                                  .it_kwh = kwh(energy->meter.it),
                                  .site_kwh = kwh(energy->meter.it + energy->meter.facility),
                                  .jobs_kwh = kwh(energy->use[HR_ENERGY_JOBS].it),
                                  .peak_kw = (double)energy->peak_nw / NW_PER_KW};
    if (!line.name) return HR_NO_MEMORY;
    figures->by_pool[figures->n_pools++] = line;
  }
  return HR_OK;
}

/* `sums`: the energy of the jobs of each tenant; jobs without a tenant are in the last entry. */
static enum hr_status make_tenants(const struct hr_trace *trace, const struct hr_energy *sums,
                                   struct hr_energy_metrics *figures) {
  size_t count = (size_t)trace->tenants.count + 1;
  enum hr_status status = HR_OK;
  if (!sums) return HR_OK;
  figures->by_tenant = calloc(count, sizeof *figures->by_tenant);
  if (!figures->by_tenant) return HR_NO_MEMORY;
  for (size_t i = 0; i < count && status == HR_OK; i++) {
    if (sums[i].it == 0) continue;
    struct hr_energy_line line = {.name = strdup(i + 1 < count ? trace->tenants.text[i] : ""),
                                  .it_kwh = kwh(sums[i].it),
                                  .site_kwh = kwh(sums[i].it + sums[i].facility)};
    if (line.name)
      figures->by_tenant[figures->n_tenants++] = line;
    else
      status = HR_NO_MEMORY;
  }
  return status;
}

enum hr_status hr__energy_make(const struct hr_cluster_spec *cluster, const struct hr_result *result, double gpu_hours,
                               const struct hr__energy_jobs *jobs, struct hr_energy_metrics *figures) {
  *figures = hr__energy_totals(cluster, result, gpu_hours);
  if (!figures->known) return HR_OK;
  enum hr_status status = make_pools(cluster, result, figures);
  return status == HR_OK ? make_tenants(result->trace, jobs->by_tenant, figures) : status;
}

static void free_lines(struct hr_energy_line *lines, size_t count) {
  for (size_t i = 0; i < count; i++) free(lines[i].name);
  free(lines);
}

void hr__energy_finish(struct hr_energy_metrics *figures) {
  free_lines(figures->by_pool, figures->n_pools);
  free_lines(figures->by_tenant, figures->n_tenants);
}

/* ---- Jobs that a power budget never permits ------------------------------------------------------------------ */

/* Returns the maximum number of GPUs of a pool that can work at once within the power budget, in whole nodes. HR_NONE:
   there is no budget, or it is unknown because nodes sleep. `*size`: the GPUs of the largest pool. */
static uint64_t most_gpus(const struct hr_cluster_spec *cluster, uint64_t *size) {
  double left_w = 0, most = 0;
  *size = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (pool->nodes == 0) continue;
    if (!pool->power || !(pool->power->budget_w > 0) || pool->power->sleep.idle_us > 0) return HR_NONE;
    double idle_w = 1e-6 * (double)hr__idle_rate(pool->power, pool->gpus_per_node).it * pool->gpus_per_node;
    if (*size == 0) left_w = pool->power->budget_w;
    left_w -= pool->nodes * idle_w + 1e-9 * (double)hr__other_rate(pool->power).it;
    uint64_t gpus = (uint64_t)pool->nodes * pool->gpus_per_node;
    if (gpus > *size) *size = gpus;
  }
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (pool->nodes == 0) continue;
    uint32_t level = pool->power->budget_caps ? HR__CAP_LEVELS : 0;
    double more_w = 1e-6 * pool->gpus_per_node *
                    (double)(hr__busy_rate_at(pool->power, pool->gpus_per_node, level, HR__NO_FRACTION).it -
                             hr__idle_rate(pool->power, pool->gpus_per_node).it);
    double nodes = more_w > 0 ? floor(left_w / more_w + 1e-9) : pool->nodes;
    most = fmax(most, fmin(nodes, pool->nodes) * pool->gpus_per_node);
  }
  return *size ? (uint64_t)most : HR_NONE;
}

enum hr_status hr__power_budget_note(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                     struct hr_notes *notes) {
  uint64_t size, most = most_gpus(cluster, &size);
  uint32_t count = 0, first = 0;
  char id[HR_JOB_ID_BUFFER];
  if (most == HR_NONE || most >= size) return HR_OK;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    uint32_t gpus =
        trace->min_gpus && trace->min_gpus[job] < trace->gpus[job] ? trace->min_gpus[job] : trace->gpus[job];
    if (gpus > most && gpus <= size && count++ == 0) first = job;
  }
  if (count == 0) return HR_OK;
  return hr_notes_add(notes,
                      "%" PRIu32 " job%s never start%s: 'power_budget_w' permits at most %" PRIu64
                      " GPUs of a pool to work at once; the first is %s",
                      count, count == 1 ? "" : "s", count == 1 ? "s" : "", most,
                      hr_trace_job_id(trace, (hr_job){first}, id));
}
