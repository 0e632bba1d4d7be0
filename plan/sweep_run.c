/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A point's scenario and its runs. */

#include "plan/sweep.h"

#include "headroom/compare.h"
#include "headroom/scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Overrides -------------------------------------------------------------------------------------- */

static bool add(struct hr__overrides *overrides, const char *text) {
  if (overrides->count == overrides->capacity) {
    size_t capacity = overrides->capacity ? 2 * overrides->capacity : 16;
    const char **grown = realloc(overrides->at, capacity * sizeof(*grown));
    if (!grown) return false;
    overrides->at = grown;
    overrides->capacity = capacity;
  }
  overrides->at[overrides->count++] = text;
  return true;
}

/* "path=value" of its own. */
static bool add_made(struct hr__overrides *overrides, const char *path, const char *value) {
  char **grown = realloc(overrides->owned, (overrides->n_owned + 1) * sizeof *grown);
  if (grown) overrides->owned = grown;
  size_t bytes = strlen(path) + strlen(value) + 2;
  char *text = grown ? malloc(bytes) : NULL;
  if (!text) return false;
  snprintf(text, bytes, "%s=%s", path, value);
  grown[overrides->n_owned++] = text;
  return add(overrides, text);
}

static bool add_axis(struct hr__overrides *overrides, const struct hr_grid_axis *axis, double at) {
  char number[32];
  snprintf(number, sizeof number, "%.12g", at); /* what the design rounded to */
  if (!axis->levels) return add_made(overrides, axis->path, number);
  const struct hr_grid_level *level = &axis->levels[(size_t)at];
  bool whole = true;
  for (size_t i = 0; i < level->n_set && whole; i++) whole = add(overrides, level->set[i]);
  return whole;
}

bool hr__overrides_make(const struct hr__sweep *sweep, size_t point, uint32_t replication,
                        struct hr__overrides *overrides) {
  const struct hr_grid *grid = sweep->grid;
  const double *at = hr__design_point(&sweep->design, point);
  bool whole = true;
  *overrides = (struct hr__overrides){0};
  for (size_t i = 0; i < grid->n_set && whole; i++) whole = add(overrides, grid->set[i]);
  for (uint32_t i = 0; i < grid->n_axes && whole; i++) whole = add_axis(overrides, &grid->axes[i], at[i]);
  if (whole && replication) {
    char seed[32];
    snprintf(seed, sizeof seed, "%" PRIu64, hr_replication_seed(sweep->points[point].seed, replication));
    whole = add_made(overrides, "seed", seed);
  }
  return whole;
}

void hr__overrides_finish(struct hr__overrides *overrides) {
  for (size_t i = 0; i < overrides->n_owned; i++) free(overrides->owned[i]);
  free(overrides->owned);
  free(overrides->at);
  *overrides = (struct hr__overrides){0};
}

/* ---- Where a run belongs ---------------------------------------------------------------------------- */

size_t hr__sweep_point_of(const struct hr__sweep *sweep, uint64_t run) {
  size_t low = 0, high = sweep->design.n_points;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (sweep->points[middle].first_run <= run)
      low = middle;
    else
      high = middle;
  }
  return low;
}

uint64_t hr__sweep_jobs_of(const struct hr__sweep *sweep, uint64_t run) {
  return sweep->traces[sweep->points[hr__sweep_point_of(sweep, run)].trace].trace->n_jobs;
}

char *hr__sweep_point_words(const struct hr__sweep *sweep, size_t point) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  const double *at = hr__design_point(&sweep->design, point);
  for (uint32_t i = 0; i < sweep->grid->n_axes; i++) {
    const struct hr_grid_axis *axis = &sweep->grid->axes[i];
    fprintf(out, "%s%s=", i ? ", " : "", axis->name);
    if (axis->levels)
      fputs(axis->levels[(size_t)at[i]].text, out);
    else
      fprintf(out, "%.12g", at[i]);
  }
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

/* ---- A run ------------------------------------------------------------------------------------------ */

static enum hr_status run_scenario(const struct hr__sweep *sweep, const struct hr__sweep_point *point,
                                   const struct hr_scenario *scenario, struct hr__record *record,
                                   struct hr_error *error) {
  struct hr__one_run_config config = {.scenario = scenario,
                                      .trace = sweep->traces[point->trace].trace,
                                      .policy = &scenario->policy,
                                      .seed = scenario->seed};
  struct hr__one_run run;
  enum hr_status status = hr__one_run_make(&config, &run, error);
  record->seed = scenario->seed;
  if (status == HR_OK && !hr__record_take(record, &run)) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  hr__one_run_finish(&run);
  return status;
}

enum hr_status hr__sweep_run(const struct hr__sweep *sweep, uint64_t run, struct hr__record *record,
                             struct hr_error *error) {
  size_t place = hr__sweep_point_of(sweep, run);
  const struct hr__sweep_point *point = &sweep->points[place];
  struct hr__overrides overrides;
  struct hr_scenario *scenario = NULL;
  struct hr_error inner = {0};
  *record = (struct hr__record){.run = run};
  enum hr_status status = hr__overrides_make(sweep, place, (uint32_t)(run - point->first_run), &overrides)
                              ? HR_OK
                              : hr_fail(&inner, HR_NO_MEMORY, "out of memory");
  if (status == HR_OK)
    status = hr_scenario_load(sweep->grid->scenario_path, overrides.at, overrides.count, &scenario, &inner);
  if (status == HR_OK) status = run_scenario(sweep, point, scenario, record, &inner);
  hr_scenario_destroy(scenario);
  hr__overrides_finish(&overrides);
  if (status == HR_OK) return HR_OK;
  char *words = hr__sweep_point_words(sweep, place);
  hr_fail(error, status, "run %" PRIu64 ", point %zu (%.300s): %s", run, place, words ? words : "", inner.text);
  free(words);
  return status;
}
