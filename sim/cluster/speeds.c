/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows stand by model and, of one model, by GPUs. A model's rows are looked up once for each model of the trace, not
 * for each job. Work and time are turned into each other in 128 bits: work is rounded down and time up, so the time for
 * some work never ends before that work is done.
 */

#include "sim/cluster/speeds.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_US (INT64_MAX / 2)

__extension__ typedef unsigned __int128 wide;

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

/* The row for the most GPUs that are not more than the job's; the model's first where all are for more. */
static uint32_t row_for(const struct hr_speeds *table, struct hr__row_span span, uint32_t gpus) {
  if (span.count == 0) return table->n_rows;
  uint32_t row = span.first;
  while (row + 1 < span.first + span.count && table->rows[row + 1].gpus <= gpus) row++;
  return row;
}

static uint32_t min_ppm(const struct hr_speeds *table, const struct hr_cluster_spec *cluster) {
  uint32_t least = UINT32_MAX;
  for (uint32_t row = 0; row <= table->n_rows; row++)
    for (uint32_t pool = 0; pool < table->n_pools; pool++) {
      uint32_t ppm = cluster->pools[pool].nodes > 0 ? hr__speed_of_row(table, row, pool) : 0;
      if (ppm > 0 && ppm < least) least = ppm;
    }
  return least;
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

int64_t hr__time_left_us(int64_t work_us, uint32_t part, uint32_t speed_ppm) {
  if (speed_ppm == HR__FULL_SPEED_PPM || work_us == 0) return work_us;
  wide time_us = ((wide)(uint64_t)work_us * HR__FULL_SPEED_PPM - part + speed_ppm - 1) / speed_ppm;
  return time_us < LONGEST_US ? (int64_t)time_us : LONGEST_US;
}

int64_t hr__time_for_us(int64_t work_us, uint32_t speed_ppm) {
  return hr__time_left_us(work_us, 0, speed_ppm);
}

int64_t hr__work_done_us(int64_t time_us, uint32_t speed_ppm, uint32_t *part) {
  if (speed_ppm == HR__FULL_SPEED_PPM) return time_us;
  wide work_ppm = (wide)(uint64_t)time_us * speed_ppm + *part, work_us = work_ppm / HR__FULL_SPEED_PPM;
  *part = (uint32_t)(work_ppm % HR__FULL_SPEED_PPM);
  return work_us < LONGEST_US ? (int64_t)work_us : LONGEST_US;
}

int64_t hr__work_in_us(int64_t time_us, uint32_t speed_ppm) {
  uint32_t part = 0;
  return hr__work_done_us(time_us, speed_ppm, &part);
}
