/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables of speeds. The rows of a table are sorted by model and, for each model, by number of GPUs. The range of rows
 * of a model is looked up once for each model of the trace, not once for each job.
 */

#include "sim/cluster/cluster.h"
#include "sim/power/power.h"

#include <stdlib.h>
#include <string.h>

static struct hr__row_span rows_of(const struct hr_speeds *table, const char *model) {
  uint32_t low = 0, high = table->n_rows;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (strcmp(table->rows[middle].model, model) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  struct hr__row_span span = {low, 0};
  while (low + span.count < table->n_rows && strcmp(table->rows[low + span.count].model, model) == 0) span.count++;
  return span;
}

/* Among those rows of a model that have at most `gpus` GPUs, returns the one with the most GPUs. If no such row exists,
   returns the first row of the model. */
static uint32_t row_for(const struct hr_speeds *table, struct hr__row_span span, uint32_t gpus) {
  if (span.count == 0) return table->n_rows;
  uint32_t row = span.first;
  while (row + 1 < span.first + span.count && table->rows[row + 1].gpus <= gpus) row++;
  return row;
}

static uint32_t min_ppm(const struct hr_speeds *table, const struct hr_cluster_spec *cluster) {
  uint32_t lowest = UINT32_MAX;
  for (uint32_t row = 0; row <= table->n_rows; row++)
    for (uint32_t pool = 0; pool < table->n_pools; pool++) {
      uint32_t ppm = cluster->pools[pool].nodes > 0 ? hr__speed_of_row(table, row, pool) : 0;
      if (ppm > 0 && ppm < lowest) lowest = ppm;
    }
  return lowest;
}

enum hr_status hr__speeds_init(struct hr__speed_table *speeds, struct hr_arena *arena, const struct hr_speeds *table,
                               const struct hr_cluster_spec *cluster, const struct hr_trace *trace) {
  *speeds = (struct hr__speed_table){.table = table, .min_ppm = HR__FULL_SPEED_PPM};
  if (!table) return HR_OK;
  speeds->min_ppm = min_ppm(table, cluster);
  speeds->row_of = hr_arena_alloc_by_job(arena, trace->n_jobs, sizeof *speeds->row_of);
  speeds->spans = hr_arena_alloc(arena, ((size_t)trace->models.count + 1) * sizeof *speeds->spans);
  if (!speeds->row_of || !speeds->spans) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < trace->models.count; i++) speeds->spans[i] = rows_of(table, trace->models.text[i]);
  for (uint32_t job = 0; job < trace->n_jobs && !hr__arena_is_streamed(arena); job++)
    hr__speeds_find_row(speeds, trace, (hr_job){job});
  return HR_OK;
}

void hr__speeds_find_row(const struct hr__speed_table *speeds, const struct hr_trace *trace, hr_job job) {
  if (!speeds->table) return;
  uint32_t model = trace->model ? trace->model[job.id] : HR_NONE, gpus = trace->gpus[job.id];
  struct hr__row_span span = model == HR_NONE ? (struct hr__row_span){0} : speeds->spans[model];
  speeds->row_of[job.id] = gpus ? row_for(speeds->table, span, gpus) : HR_NONE;
}

void hr_speeds_destroy(struct hr_speeds *speeds) {
  if (!speeds) return;
  for (uint32_t i = 0; speeds->rows && i < speeds->n_rows; i++) free(speeds->rows[i].model);
  free(speeds->rows);
  free(speeds->ppm);
  free(speeds->reference);
  free(speeds);
}

/* ---- Power limits ---- */

static uint32_t times_ppm(uint32_t ppm, uint32_t factor_ppm) {
  uint32_t product = (uint32_t)((uint64_t)ppm * factor_ppm / HR__FULL_SPEED_PPM);
  return product > 0 || ppm == 0 ? product : 1;
}

enum hr_status hr__speeds_limit(struct hr__speed_table *speeds, struct hr_arena *arena,
                                const struct hr_cluster_spec *cluster, const struct hr_trace *trace,
                                const struct hr_class_spec *classes) {
  uint32_t lowest = HR__FULL_SPEED_PPM;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_power_spec *power = cluster->pools[i].power;
    bool is_limited = power && (power->gpu_cap_w > 0 || power->budget_caps);
    if (cluster->pools[i].nodes == 0 || !is_limited) continue;
    double cap_w = hr__cap_w(power, power->budget_caps ? HR__CAP_LEVELS : 0);
    uint32_t ppm = hr__power_limit_at(power, cap_w, HR__FULL_SPEED_PPM).speed_ppm;
    if (ppm == HR__FULL_SPEED_PPM) continue;
    if (!speeds->limited) speeds->limited = hr_arena_alloc(arena, cluster->n_pools * sizeof *speeds->limited);
    if (!speeds->limited) return HR_NO_MEMORY;
    speeds->limited[i] = power;
    if (ppm < lowest) lowest = ppm;
  }
  speeds->trace = trace;
  speeds->classes = classes;
  speeds->min_ppm = times_ppm(speeds->min_ppm, lowest);
  return HR_OK;
}

uint32_t hr__speed_limited_ppm(const struct hr__speed_table *speeds, hr_job job, hr_pool pool, uint32_t ppm) {
  const struct hr_power_spec *power = speeds->limited[pool.id];
  if (!power || speeds->trace->gpus[job.id] == 0) return ppm;
  uint32_t fraction_ppm = hr__power_fraction(speeds->trace, speeds->classes, job);
  return times_ppm(ppm, hr__power_limit_at(power, hr__cap_w(power, speeds->level), fraction_ppm).speed_ppm);
}

/* ---- Speeds of elastic jobs ---- */

void hr_scaling_destroy(struct hr_scaling_table *table) {
  if (!table) return;
  for (uint32_t i = 0; table->rows && i < table->n_rows; i++) free(table->rows[i].model);
  free(table->rows);
  free(table);
}

/* Returns the rows of a model; without any, those for all models. */
static struct hr__row_span scaling_rows(const struct hr_scaling_table *table, const char *model) {
  struct hr__row_span common = {0, 0}, own = {0, 0};
  for (uint32_t i = 0; i < table->n_rows; i++) {
    const char *name = table->rows[i].model;
    if (!name) {
      common.count++;
    } else if (model && strcmp(name, model) == 0) {
      if (own.count++ == 0) own.first = i;
    }
  }
  return own.count ? own : common;
}

uint32_t hr_scaling_speed(const struct hr_scaling_table *table, const char *model, uint32_t gpus) {
  if (gpus == 0) return 1;
  struct hr__row_span span = {0, 0};
  if (table) span = scaling_rows(table, model);
  if (span.count == 0) return gpus;
  const struct hr_scaling_row *rows = table->rows + span.first;
  uint32_t above = 0;
  while (above < span.count && rows[above].gpus < gpus) above++;
  if (above == span.count) return rows[span.count - 1].speed_milli;
  struct hr_scaling_row high = rows[above], low = {NULL, 0, 0};
  if (above > 0) low = rows[above - 1];
  uint64_t width = high.gpus - low.gpus, from_low = gpus - low.gpus;
  uint64_t sum = (uint64_t)low.speed_milli * (width - from_low) + (uint64_t)high.speed_milli * from_low;
  uint64_t speed = (sum + width / 2) / width;
  return speed ? (uint32_t)speed : 1;
}

/* ---- Speeds by network ---- */

static bool any_links(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    for (unsigned tier = 0; cluster->pools[i].nodes > 0 && tier < HR_N_TIERS; tier++)
      if (cluster->pools[i].topology.network[tier] != HR_NETWORK_NONE) return true;
  return false;
}

enum hr_status hr__network_init(struct hr__network_speeds *network, struct hr_arena *arena,
                                const struct hr_network_speeds *table, const struct hr_cluster_spec *cluster,
                                const struct hr_trace *trace) {
  *network = (struct hr__network_speeds){.min_ppm = HR__FULL_SPEED_PPM};
  if (!table || table->n_rows == 0 || !any_links(cluster)) return HR_OK;
  network->table = table;
  for (uint32_t i = 0; i < table->n_rows; i++)
    if (table->rows[i].speed_ppm < network->min_ppm) network->min_ppm = table->rows[i].speed_ppm;
  size_t n_models = (size_t)trace->models.count + 1;
  network->spans = hr_arena_alloc(arena, n_models * HR_N_NETWORKS * sizeof *network->spans);
  if (!network->spans) return HR_NO_MEMORY;
  for (size_t model = 0; model < n_models; model++)
    for (unsigned links = 0; links < HR_N_NETWORKS; links++)
      network->spans[model * HR_N_NETWORKS + links] = hr_network_span_of(
          table, model < trace->models.count ? trace->models.text[model] : NULL, (enum hr_network)links);
  return HR_OK;
}
