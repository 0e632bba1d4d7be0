/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the grid of a sweep (scenario, axes, design). An axis is a setting that varies. The variables of a plan have
 * the same syntax as axes, so hr__grid_axis_build() reads them, too.
 *
 * The levels of an axis are a list of values, a range of numbers, or settings of several keys. Each level has a text,
 * a number (NaN unless its value is a number) and a list of overrides. The numbers of a range are rounded to twelve
 * digits. For example, 0.1 + 2 x 0.1 becomes 0.3 and not 0.30000000000000004.
 */

#include "headroom/unstable/experiments.h"
#include "scenarios/build/builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Levels ----------------------------------------------------------------------------------------- */

static enum hr_status make_levels(const struct hr__builder *builder, struct hr_grid_axis *axis, size_t count) {
  axis->levels = calloc(count, sizeof *axis->levels);
  return axis->levels ? HR_OK : hr__build_no_memory(builder);
}

/* Appends a level that sets the path of the axis to a value. `number` is NaN unless the value is a number. */
static enum hr_status add_value(const struct hr__builder *builder, struct hr_grid_axis *axis, const char *text,
                                double number) {
  struct hr_grid_level *level = &axis->levels[axis->n_levels++];
  size_t bytes = strlen(axis->path) + strlen(text) + 2;
  *level = (struct hr_grid_level){.text = strdup(text), .number = number, .set = calloc(1, sizeof *level->set)};
  if (level->set) level->set[0] = malloc(bytes);
  if (!level->text || !level->set || !level->set[0]) return hr__build_no_memory(builder);
  snprintf(level->set[0], bytes, "%s=%s", axis->path, text);
  level->n_set = 1;
  return HR_OK;
}

static int by_text(const void *a, const void *b) {
  const struct hr_grid_level *const *first = a, *const *second = b;
  return strcmp((*first)->text, (*second)->text);
}

static enum hr_status check_distinct(const struct hr__builder *builder, const cJSON *place,
                                     const struct hr_grid_axis *axis) {
  const struct hr_grid_level **sorted = calloc(axis->n_levels + 1, sizeof *sorted);
  if (!sorted) return hr__build_no_memory(builder);
  for (uint32_t i = 0; i < axis->n_levels; i++) sorted[i] = &axis->levels[i];
  qsort(sorted, axis->n_levels, sizeof *sorted, by_text);
  const char *twice = NULL;
  for (uint32_t i = 1; i < axis->n_levels && !twice; i++)
    if (strcmp(sorted[i - 1]->text, sorted[i]->text) == 0) twice = sorted[i]->text;
  free(sorted);
  return twice ? hr__build_fail(builder, place, "duplicate level '%.200s'; keep one", twice) : HR_OK;
}

/* ---- A list of values ------------------------------------------------------------------------------- */

static enum hr_status build_values(struct hr__builder *builder, const cJSON *json, struct hr_grid_axis *axis) {
  const cJSON *values = hr__get(json, "values");
  enum hr_status status = make_levels(builder, axis, (size_t)cJSON_GetArraySize(values));
  for (const cJSON *value = values->child; value && status == HR_OK; value = value->next) {
    char buffer[32];
    status = add_value(builder, axis, hr__scalar_text(value, buffer),
                       cJSON_IsNumber(value) ? value->valuedouble : (double)NAN);
  }
  return status == HR_OK ? check_distinct(builder, values, axis) : status;
}

/* ---- Numbers from one to another -------------------------------------------------------------------- */

static enum hr_status check_range(struct hr__builder *builder, const cJSON *json, const struct hr_grid_axis *axis) {
  if (!hr__has(json, "from") || !hr__has(json, "to"))
    return hr__build_fail(builder, json, "an axis with '%s' needs '%s' too", hr__has(json, "from") ? "from" : "to",
                          hr__has(json, "from") ? "to" : "from");
  if (axis->from > axis->to)
    return hr__build_fail_at(builder, json, "from", "'from' (%.15g) is larger than 'to' (%.15g)", axis->from, axis->to);
  if (hr__has(json, "step") && hr__has(json, "points"))
    return hr__build_fail_at(builder, json, "points", "an axis has 'step' or 'points', not both; keep one");
  if (axis->logarithmic && hr__has(json, "step"))
    return hr__build_fail_at(builder, json, "step", "'step' has no effect with 'scale' \"log\"; use 'points'");
  if (axis->logarithmic && axis->from <= 0)
    return hr__build_fail_at(builder, json, "from", "'scale' \"log\" needs numbers above 0, but 'from' is %.15g",
                             axis->from);
  return HR_OK;
}

static double number_at(const struct hr_grid_axis *axis, double step, uint32_t points, uint32_t i) {
  if (step > 0) return axis->from + i * step;
  double share = (double)i / (points - 1);
  return axis->logarithmic ? axis->from * pow(axis->to / axis->from, share)
                           : axis->from + (axis->to - axis->from) * share;
}

static enum hr_status build_range(struct hr__builder *builder, const cJSON *json, struct hr_grid_axis *axis) {
  double step = hr__number_of(json, "step", 0);
  enum hr_status status = check_range(builder, json, axis);
  if (status != HR_OK) return status;
  /* 1e-9 is added so that a rounding error does not exclude the last level. */
  double count = step > 0 ? floor((axis->to - axis->from) / step + 1e-9) + 1 : hr__number_of(json, "points", 0);
  if (count > HR__MAX_LEVELS)
    return hr__build_fail_at(builder, json, "step", "'step' makes %.0f levels; an axis has at most %d", count,
                             HR__MAX_LEVELS);
  if (count == 0) return HR_OK;
  status = make_levels(builder, axis, (size_t)count);
  for (uint32_t i = 0; i < (uint32_t)count && status == HR_OK; i++) {
    char text[32];
    snprintf(text, sizeof text, "%.12g", number_at(axis, step, (uint32_t)count, i));
    status = add_value(builder, axis, text, strtod(text, NULL));
  }
  return status == HR_OK ? check_distinct(builder, json, axis) : status;
}

/* ---- Settings --------------------------------------------------------------------------------------- */

static enum hr_status build_settings(struct hr__builder *builder, const cJSON *json, struct hr_grid_axis *axis) {
  const cJSON *settings = hr__get(json, "settings");
  enum hr_status status = make_levels(builder, axis, (size_t)cJSON_GetArraySize(settings));
  for (const cJSON *setting = settings->child; setting && status == HR_OK; setting = setting->next) {
    struct hr_grid_level *level = &axis->levels[axis->n_levels++];
    level->number = (double)NAN;
    status = hr__read(builder, setting, hr__table_of(&hr__grid_keys, "axes.settings"), level);
  }
  return status == HR_OK ? check_distinct(builder, settings, axis) : status;
}

/* ---- The axis --------------------------------------------------------------------------------------- */

/* Checks that the axis has exactly one form of levels (values, range or settings) and no keys of another form. */
static enum hr_status check_keys(struct hr__builder *builder, const cJSON *json, bool has_path) {
  static const char *const of_ranges[] = {"from", "to", "step", "points", "scale"};
  const char *way = hr__has(json, "values") ? "values" : hr__has(json, "settings") ? "settings" : NULL;
  bool ranged = hr__has(json, "from") || hr__has(json, "to");
  if (!way && !ranged) return hr__build_fail(builder, json, "an axis needs 'values', 'from' and 'to', or 'settings'");
  for (size_t i = 0; way && i < sizeof of_ranges / sizeof *of_ranges; i++)
    if (hr__has(json, of_ranges[i]))
      return hr__build_fail_at(builder, json, of_ranges[i], "an axis with '%s' has no '%s'; keep one", way,
                               of_ranges[i]);
  if (hr__has(json, "values") && hr__has(json, "settings"))
    return hr__build_fail_at(builder, json, "settings", "an axis with 'values' has no 'settings'; keep one");
  if (hr__has(json, "settings") && hr__has(json, "path"))
    return hr__build_fail_at(builder, json, "path", "settings have paths of their own; replace 'path' by 'name'");
  if (hr__has(json, "settings") && !hr__has(json, "name"))
    return hr__build_fail(builder, json, "an axis with 'settings' needs a 'name'");
  if (!hr__has(json, "settings") && !has_path)
    return hr__build_fail(builder, json,
                          "an axis needs a 'path', the key of the scenario that it sets, as in "
                          "cluster.pools.0.nodes");
  if (hr__has(json, "path") && strchr(hr__text_of(json, "path", ""), '='))
    return hr__build_fail_at(builder, json, "path", "'%.200s' has an equals sign; values belong in 'values'",
                             hr__text_of(json, "path", ""));
  return HR_OK;
}

enum hr_status hr__grid_axis_build(struct hr__builder *builder, const cJSON *json, const char *path,
                                   struct hr_grid_axis *axis) {
  if (!path) path = hr__text_of(json, "path", NULL);
  enum hr_status status = check_keys(builder, json, path != NULL);
  if (status == HR_OK) status = hr__read(builder, json, hr__axis_keys, axis);
  if (status != HR_OK) return status;
  if (path && !axis->path) axis->path = strdup(path);
  if (!axis->name && path) axis->name = strdup(path);
  if ((path && !axis->path) || !axis->name) return hr__build_no_memory(builder);
  if (!path) return build_settings(builder, json, axis);
  return hr__has(json, "values") ? build_values(builder, json, axis) : build_range(builder, json, axis);
}

void hr__grid_axis_finish(struct hr_grid_axis *axis) {
  for (uint32_t i = 0; i < axis->n_levels; i++) {
    free(axis->levels[i].text);
    hr__grid_texts_free(axis->levels[i].set, axis->levels[i].n_set);
  }
  free(axis->levels);
  free(axis->name);
  free(axis->path);
}

/* ---- The design ------------------------------------------------------------------------------------- */

#define WORD(name, text) text,
static const char *const designs[] = {HR_DESIGN_TABLE(WORD) NULL};

/* The design may be a word, such as "full". This function replaces the word by the equivalent object, {"kind":
   "full"}. It also reports unknown words: later functions cannot name the line of an error in the new object, because
   this object is not in the file. */
static enum hr_status expand_design(struct hr__builder *builder) {
  cJSON *tree = builder->source.file.tree;
  const cJSON *design = hr__get(tree, "design");
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

static enum hr_status check_design(struct hr__builder *builder, const struct hr_grid *grid) {
  const cJSON *tree = builder->source.file.tree;
  const cJSON *design = hr__get(tree, "design");
  if (!design) return HR_OK;
  if (grid->design != HR_DESIGN_FULL && grid->n_points == 0)
    return hr__build_fail(builder, design,
                          "a %s design needs 'points', their number: {\"kind\": \"%s\", \"points\": 64}",
                          designs[grid->design], designs[grid->design]);
  if (grid->design == HR_DESIGN_FULL && grid->n_points)
    return hr__build_fail_at(builder, design, "points",
                             "'points' has no effect: a full design has all combinations of its levels");
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
    return hr__build_fail_at(builder, json, "path", "duplicate axis of the path '%.200s'; keep one", axis->path);
  if (axis_before(grid, axis, false))
    return hr__build_fail_at(builder, json, "name", "duplicate axis name '%.200s'; use another name", axis->name);
  if (!axis->levels && grid->design == HR_DESIGN_FULL)
    return hr__build_fail(builder, json,
                          "a full design needs the numbers between 'from' and 'to': set 'step' or 'points'");
  return HR_OK;
}

static enum hr_status build_axes(struct hr__builder *builder, struct hr_grid *grid) {
  const cJSON *axes = hr__get(builder->source.file.tree, "axes");
  grid->axes = calloc((size_t)cJSON_GetArraySize(axes), sizeof *grid->axes);
  if (!grid->axes) return hr__build_no_memory(builder);
  for (const cJSON *json = axes->child; json; json = json->next) {
    struct hr_grid_axis *axis = &grid->axes[grid->n_axes++];
    enum hr_status status = hr__grid_axis_build(builder, json, NULL, axis);
    if (status == HR_OK) status = check_axis(builder, grid, json, axis);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* ---- The grid --------------------------------------------------------------------------------------- */

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
  enum hr_status status = hr__read(builder, builder->source.file.tree, hr__grid_keys.keys, grid);
  if (status != HR_OK) return status;
  grid->path = strdup(builder->source.path);
  grid->text = strdup(builder->source.file.text);
  grid->scenario_path = beside(builder->source.path, grid->scenario);
  return grid->path && grid->text && grid->scenario_path ? HR_OK : hr__build_no_memory(builder);
}

static enum hr_status build(struct hr__builder *builder, struct hr_grid *grid) {
  const cJSON *tree = builder->source.file.tree;
  if (cJSON_IsObject(tree) && hr__has(tree, "cluster") && !hr__has(tree, "axes"))
    return hr_fail(builder->error, HR_BAD_INPUT,
                   "%s: is a scenario, not a grid; a grid names its scenario and has axes: {\"scenario\": \"FILE\", "
                   "\"axes\": [...]}",
                   builder->source.path);
  /* if the tree is not an object, the validation below reports the error */
  enum hr_status status = cJSON_IsObject(tree) ? expand_design(builder) : HR_OK;
  if (status == HR_OK) status = hr__source_validate(&builder->source, &hr__grid_keys, "the grid", builder->error);
  if (status == HR_OK) status = build_head(builder, grid);
  if (status == HR_OK) status = check_design(builder, grid);
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
