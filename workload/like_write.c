/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model as JSON that people can read and change: a list of numbers is one line. */

#include "base/text.h"
#include "headroom/unstable/like.h"
#include "report/tables/json_tree.h"

#include <stdlib.h>
#include <string.h>

/* "[1,2.5]"; NULL when out of memory. The caller frees it. */
static char *list_text(const double *numbers, uint32_t n) {
  char *text = malloc((size_t)n * (HR__NUMBER_BYTES + 1) + 3), *at = text;
  if (!text) return NULL;
  *at++ = '[';
  for (uint32_t i = 0; i < n; i++) {
    if (i) *at++ = ',';
    hr__exact_text(numbers[i], at);
    at += strlen(at);
  }
  *at++ = ']';
  *at = '\0';
  return text;
}

/* Read again, it is the same number. */
static void add_number(struct hr__json *json, cJSON *object, const char *key, double number) {
  char text[HR__NUMBER_BYTES];
  hr__json_raw(json, object, key, hr__exact_text(number, text));
}

static void add_list(struct hr__json *json, cJSON *object, const char *key, const double *numbers, uint32_t n) {
  char *text = list_text(numbers, n);
  if (text)
    hr__json_raw(json, object, key, text);
  else
    json->failed = true;
  free(text);
}

/* The next object of a list. */
static cJSON *add_item(struct hr__json *json, cJSON *list) {
  return hr__json_append(json, list, cJSON_CreateObject());
}

static void add_ask(struct hr__json *json, cJSON *list, const struct hr_like_ask *ask) {
  cJSON *object = add_item(json, list);
  add_number(json, object, "share", ask->share);
  hr__json_count(json, object, "gpus", ask->gpus);
  if (ask->tasks != 1) hr__json_count(json, object, "tasks", ask->tasks);
  if (ask->gpu_milli != 1000) hr__json_count(json, object, "gpu_milli", ask->gpu_milli);
  if (ask->cpu_milli) hr__json_count(json, object, "cpu_milli", ask->cpu_milli);
  if (ask->mem_mib) hr__json_count(json, object, "mem_mib", ask->mem_mib);
  if (ask->gpu_type) hr__json_text(json, object, "gpu_type", ask->gpu_type);
  if (ask->class_) hr__json_text(json, object, "class", hr_job_class_name((enum hr_job_class)ask->class_));
}

static void add_cell(struct hr__json *json, cJSON *list, const struct hr_like_cell *cell) {
  cJSON *object = add_item(json, list);
  add_number(json, object, "share", cell->share);
  add_number(json, object, "together", cell->together);
  add_list(json, object, "spreads", cell->spreads, HR_LIKE_KNOTS);
  add_list(json, object, "alike", cell->alike, HR_LIKE_PAUSES);
  add_number(json, object, "steady", cell->steady);
  add_list(json, object, "holds", cell->holds, HR_LIKE_PAUSES);
  add_number(json, object, "gaps_together", cell->gaps_together);
  add_list(json, object, "jobs", cell->jobs, HR_LIKE_KNOTS);
  add_list(json, object, "gaps_s", cell->gaps_s, HR_LIKE_KNOTS);
  add_list(json, object, "run_s", cell->run_s, HR_LIKE_RUN_KNOTS);
  if (cell->tail_from < 1) {
    add_number(json, object, "tail_from", cell->tail_from);
    add_number(json, object, "tail_scale", cell->tail_scale);
    add_number(json, object, "tail_shape", cell->tail_shape);
  }
  add_number(json, object, "most_s", cell->most_s);
}

static void add_outcomes(struct hr__json *json, cJSON *object, const struct hr_like_size *size) {
  bool any = false;
  for (uint32_t i = 0; i < HR_LIKE_STRATA; i++)
    any |= size->outcomes[i].completed > 0 || size->outcomes[i].failed > 0 || size->outcomes[i].cancelled > 0;
  if (!any) return;
  cJSON *list = hr__json_array(json, object, "outcomes");
  for (uint32_t i = 0; i < HR_LIKE_STRATA; i++) {
    cJSON *item = add_item(json, list);
    add_number(json, item, "completed", size->outcomes[i].completed);
    add_number(json, item, "failed", size->outcomes[i].failed);
    add_number(json, item, "cancelled", size->outcomes[i].cancelled);
  }
}

static void add_holding(struct hr__json *json, cJSON *root, const struct hr_like_holding *holding, const char *levels,
                        const char *admits) {
  if (!(holding->levels[HR_LIKE_LEVELS - 1] > 0)) return;
  add_list(json, root, levels, holding->levels, HR_LIKE_LEVELS);
  add_list(json, root, admits, holding->admits, HR_LIKE_LEVELS);
}

static void add_band(struct hr__json *json, cJSON *list, const struct hr_like_model *model,
                     const struct hr_like_band *band) {
  cJSON *object = add_item(json, list);
  add_number(json, object, "jobs_per_day", band->jobs_per_day);
  add_number(json, object, "day_variance", band->day_variance);
  add_number(json, object, "day_correlation", band->day_correlation);
  add_list(json, object, "weeks", band->weeks, model->n_weeks);
  add_list(json, object, "shifts", band->shifts, model->n_weeks);
  add_list(json, object, "length_shifts", band->length_shifts, model->n_weeks);
  cJSON *sizes = hr__json_array(json, object, "sizes");
  for (uint32_t i = 0; i < band->n_sizes; i++) {
    const struct hr_like_size *size = &band->sizes[i];
    cJSON *item = add_item(json, sizes);
    add_number(json, item, "share", size->share);
    add_number(json, item, "repeats", size->repeats);
    add_number(json, item, "most_gpu_s", size->most_gpu_s);
    cJSON *asks = hr__json_array(json, item, "asks");
    for (uint32_t k = 0; k < size->n_asks; k++) add_ask(json, asks, &size->asks[k]);
    cJSON *cells = hr__json_array(json, item, "cells");
    for (uint32_t k = 0; k < size->n_cells; k++) add_cell(json, cells, &size->cells[k]);
    add_outcomes(json, item, size);
  }
}

static void add_people(struct hr__json *json, cJSON *root, const struct hr_like_model *model) {
  cJSON *users = model->n_users ? hr__json_object(json, root, "users") : NULL;
  if (users) add_list(json, users, "shares", model->users, model->n_users);
  cJSON *tenants = model->n_tenants ? hr__json_object(json, root, "tenants") : NULL;
  if (tenants) add_list(json, tenants, "shares", model->tenants, model->n_tenants);
  if (users || tenants) add_number(json, users ? users : tenants, "together", model->user_together);
}

static void add_limits(struct hr__json *json, cJSON *root, const struct hr_like_model *model) {
  if (!(model->limit_share > 0)) return;
  cJSON *limits = hr__json_object(json, root, "limits");
  add_number(json, limits, "share", model->limit_share);
  cJSON *ratios = hr__json_array(json, limits, "ratios");
  for (uint32_t i = 0; i < HR_LIKE_STRATA; i++) {
    char *text = list_text(model->limit_ratios[i], HR_LIKE_KNOTS);
    hr__json_append(json, ratios, text ? cJSON_CreateRaw(text) : NULL);
    free(text);
  }
}

enum hr_status hr_like_write(const struct hr_like_model *model, const char *path, struct hr_error *error) {
  struct hr__json json = {0};
  cJSON *root = cJSON_CreateObject();
  hr__json_count(&json, root, "headroom_workload", 1);
  hr__json_text(&json, root, "name", model->name);
  hr__json_text(&json, root, "source", model->source);
  add_list(&json, root, "hours", model->hours, 24);
  add_list(&json, root, "weekdays", model->weekdays, 7);
  add_holding(&json, root, &model->holding[HR_LIKE_BY_MEAN], "levels", "admits");
  if (model->trend) add_list(&json, root, "trend", model->trend, model->n_weeks);
  add_holding(&json, root, &model->holding[HR_LIKE_BY_TREND], "trend_levels", "trend_admits");
  cJSON *bands = hr__json_array(&json, root, "bands");
  for (uint32_t i = 0; i < model->n_bands; i++) add_band(&json, bands, model, &model->bands[i]);
  add_people(&json, root, model);
  add_limits(&json, root, model);
  return hr__json_write(&json, root, path, error);
}

enum hr_status hr_like_figures_write(const struct hr_like_model *model, const struct hr_like_spec *spec,
                                     const struct hr_like_figures *figures, const char *path, struct hr_error *error) {
  struct hr__json json = {0};
  cJSON *root = cJSON_CreateObject();
  hr__json_text(&json, root, "headroom", hr_version());
  hr__json_text(&json, root, "model", model->name);
  hr__json_text(&json, root, "source", model->source);
  hr__json_seed(&json, root, "seed", spec->seed);
  hr__json_count(&json, root, "jobs", figures->jobs);
  hr__json_count(&json, root, "users", figures->users);
  hr__json_count(&json, root, "tenants", figures->tenants);
  hr__json_number(&json, root, "span_s", figures->span_s);
  hr__json_number(&json, root, "gpu_hours", figures->gpu_hours);
  hr__json_number(&json, root, "mean_gpus", figures->mean_gpus);
  if (spec->load > 0) hr__json_number(&json, root, "load_asked", spec->load);
  if (spec->load > 0)
    hr__json_number(&json, root, "load", figures->mean_gpus / ((double)spec->nodes * spec->gpus_per_node));
  if (spec->load > 0) hr__json_number(&json, root, "stretch", figures->stretch);
  hr__json_count(&json, root, "most_gpus", figures->most_gpus);
  hr__json_count(&json, root, "too_large", figures->too_large);
  return hr__json_write(&json, root, path, error);
}
