/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The grid of a sweep from its file: the scenario, the axes, the design. Levels that are counted from one number to
   another are rounded to twelve digits, so that 0.1 + 2 x 0.1 is the 0.3 that was meant. */

#include "scenarios/grid.h"

#include "headroom/sweep.h"
#include "scenarios/builder.h"
#include "scenarios/grid_axis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEFAULT_MAX_RUNS = 100000 };

/* ---- The design ------------------------------------------------------------------------------------- */

#define WORD(name, text) text,
static const char *const designs[] = {HR_DESIGN_TABLE(WORD) NULL};

/* "design": "full" is short for {"kind": "full"}. A word that is none is told at its place, which the object that takes
   it would not have. */
static enum hr_status widen_design(struct hr__builder *builder) {
  cJSON *tree = builder->source.file.tree, *design = cJSON_GetObjectItemCaseSensitive(tree, "design");
  if (!cJSON_IsString(design)) return HR_OK;
  const char *word = design->valuestring;
  for (size_t i = 0; designs[i]; i++) {
    if (strcmp(word, designs[i]) != 0) continue;
    cJSON *object = cJSON_CreateObject();
    if (object && cJSON_AddStringToObject(object, "kind", word) &&
        cJSON_ReplaceItemInObjectCaseSensitive(tree, "design", object))
      return HR_OK;
    cJSON_Delete(object);
    return hr__build_no_memory(builder);
  }
  const char *nearest = hr_nearest_word(word, designs);
  return hr__build_fail_at(builder, tree, "design", "unknown design '%.60s'%s%s%s (known: %s, %s, %s)", word,
                           nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "", designs[0],
                           designs[1], designs[2]);
}

static enum hr_status build_design(struct hr__builder *builder, struct hr_grid *grid) {
  const cJSON *tree = builder->source.file.tree, *design = hr__build_enter(builder, tree, "design");
  if (!design) return HR_OK;
  grid->design = (enum hr_design)hr__choice_of(design, "kind", designs, HR_DESIGN_FULL);
  grid->n_points = (uint32_t)hr__number_of(design, "points", 0);
  if (grid->design != HR_DESIGN_FULL && grid->n_points == 0)
    return hr__build_fail(builder, false,
                          "a %s design wants 'points', how many it is to have: {\"kind\": \"%s\", "
                          "\"points\": 64}",
                          designs[grid->design], designs[grid->design]);
  if (grid->design == HR_DESIGN_FULL && grid->n_points)
    return hr__build_fail_at(builder, design, "points", "a full design has as many points as its axes make");
  hr__build_leave(builder);
  return HR_OK;
}

/* ---- Axes ------------------------------------------------------------------------------------------- */

static const struct hr_grid_axis *axis_before(const struct hr_grid *grid, const struct hr_grid_axis *axis, bool path) {
  for (uint32_t i = 0; i < grid->n_axes; i++) {
    const struct hr_grid_axis *other = &grid->axes[i];
    if (other == axis) return NULL;
    if (path ? axis->path && other->path && strcmp(axis->path, other->path) == 0
             : strcasecmp(axis->name, other->name) == 0)
      return other;
  }
  return NULL;
}

static enum hr_status check_axis(struct hr__builder *builder, const struct hr_grid *grid, const cJSON *json,
                                 const struct hr_grid_axis *axis) {
  if (axis_before(grid, axis, true))
    return hr__build_fail_at(builder, json, "path", "the path '%.200s' has an axis already", axis->path);
  if (axis_before(grid, axis, false))
    return hr__build_fail_at(builder, json, "name", "an axis is called '%.200s' already; another name is wanted",
                             axis->name);
  if (!axis->levels && grid->design == HR_DESIGN_FULL)
    return hr__build_fail(
        builder, false, "a full design wants to know which numbers from 'from' to 'to' are meant: 'step', or 'points'");
  return HR_OK;
}

static enum hr_status build_axes(struct hr__builder *builder, struct hr_grid *grid) {
  const cJSON *axes = hr__build_enter(builder, builder->source.file.tree, "axes");
  grid->axes = calloc((size_t)cJSON_GetArraySize(axes), sizeof *grid->axes);
  if (!grid->axes) return hr__build_no_memory(builder);
  for (const cJSON *json = axes->child; json; json = json->next) {
    struct hr_grid_axis *axis = &grid->axes[grid->n_axes];
    hr__place_enter(&builder->place, grid->n_axes++, NULL);
    enum hr_status status = hr__grid_axis_build(builder, json, axis);
    if (status == HR_OK) status = check_axis(builder, grid, json, axis);
    if (status != HR_OK) return status;
    hr__build_leave(builder);
  }
  hr__build_leave(builder);
  return HR_OK;
}

/* ---- The whole -------------------------------------------------------------------------------------- */

static char *beside(const char *path, const char *file) {
  const char *slash = file[0] == '/' ? NULL : strrchr(path, '/');
  size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
  char *whole = malloc(folder + strlen(file) + 1);
  if (!whole) return NULL;
  memcpy(whole, path, folder);
  strcpy(whole + folder, file);
  return whole;
}

static enum hr_status build_head(struct hr__builder *builder, struct hr_grid *grid) {
  const cJSON *tree = builder->source.file.tree, *seed = cJSON_GetObjectItemCaseSensitive(tree, "seed");
  const char *scenario = hr__text_of(tree, "scenario", "");
  grid->path = strdup(builder->source.path);
  grid->text = strdup(builder->source.file.text);
  grid->scenario = strdup(scenario);
  grid->scenario_path = beside(builder->source.path, scenario);
  if (!grid->path || !grid->text || !grid->scenario || !grid->scenario_path) return hr__build_no_memory(builder);
  grid->replications = (uint32_t)hr__number_of(tree, "replications", 1);
  grid->max_runs = (uint64_t)hr__number_of(tree, "max_runs", DEFAULT_MAX_RUNS);
  grid->seed = 1;
  if (seed) grid->seed = cJSON_IsString(seed) ? strtoull(seed->valuestring, NULL, 10) : (uint64_t)seed->valuedouble;
  return hr__grid_texts_copy(builder, cJSON_GetObjectItemCaseSensitive(tree, "set"), &grid->set, &grid->n_set);
}

static enum hr_status build(struct hr__builder *builder, struct hr_grid *grid) {
  enum hr_status status =
      cJSON_IsObject(builder->source.file.tree) ? widen_design(builder) : HR_OK; /* no object: told below */
  if (status == HR_OK) status = hr__source_validate(&builder->source, hr__grid_keys(), "the grid", builder->error);
  if (status == HR_OK) status = build_head(builder, grid);
  if (status == HR_OK) status = build_design(builder, grid);
  return status == HR_OK ? build_axes(builder, grid) : status;
}

enum hr_status hr_grid_load(const char *path, struct hr_grid **grid, struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path}, .error = error};
  *grid = NULL;
  enum hr_status status = hr__json_file_read(path, &builder.source.file, error);
  if (status != HR_OK) return status;
  struct hr_grid *fresh = calloc(1, sizeof *fresh);
  status = fresh ? build(&builder, fresh) : hr__build_no_memory(&builder);
  hr__json_file_finish(&builder.source.file);
  if (status == HR_OK)
    *grid = fresh;
  else
    hr_grid_destroy(fresh);
  return status;
}

void hr_grid_destroy(struct hr_grid *grid) {
  if (!grid) return;
  for (uint32_t i = 0; i < grid->n_axes; i++) hr__grid_axis_finish(&grid->axes[i]);
  free(grid->axes);
  hr__grid_texts_free(grid->set, grid->n_set);
  free(grid->path);
  free(grid->text);
  free(grid->scenario);
  free(grid->scenario_path);
  free(grid);
}
