/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the grid of a sweep (scenario, axes, design), and the section `plan` of a scenario. An axis is a setting that
 * varies. The variables of a plan have the same syntax as axes, so build_axis() reads both.
 *
 * The levels of an axis are a list of values, a range of numbers, or settings of several keys. Each level has a text, a
 * number (NaN unless its value is a number) and a list of overrides. The numbers of a range are rounded to twelve
 * significant digits. For example, 0.1 + 2 * 0.1 becomes 0.3 and not 0.30000000000000004.
 */

#include "headroom/unstable/experiments.h"
#include "headroom/unstable/scenario_files.h"

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

/* Reads an axis from the object `json`. `path` is the path of the axis if the object has none; NULL: the object must
   have a path or `settings`. All bytes of `axis` must be zero. The caller calls finish_axis(), also after an error. */
static enum hr_status build_axis(struct hr__builder *builder, const cJSON *json, const char *path,
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

static void levels_free(struct hr_grid_level *levels, size_t count) {
  for (size_t i = 0; levels && i < count; i++) {
    free(levels[i].text);
    hr__grid_texts_free(levels[i].set, levels[i].n_set);
  }
  free(levels);
}

static void finish_axis(struct hr_grid_axis *axis) {
  levels_free(axis->levels, axis->n_levels);
  free(axis->name);
  free(axis->path);
}

/* ---- The design ------------------------------------------------------------------------------------- */

#define WORD(name, text) text,
static const char *const designs[] = {HR_DESIGN_TABLE(WORD) NULL};

/* The design may be a word, such as "full". Replaces the word by the equivalent object {"kind": "full"}. Reports
   unknown words. Later functions could not report their line, because the new object is not in the file. */
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
    enum hr_status status = build_axis(builder, json, NULL, axis);
    if (status == HR_OK) status = check_axis(builder, grid, json, axis);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* ---- The grid --------------------------------------------------------------------------------------- */

/* Returns the path `file`, resolved relative to the folder of the file `path`; NULL: out of memory. The caller frees
   the result. */
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
  for (uint32_t i = 0; i < grid->n_axes; i++) finish_axis(&grid->axes[i]);
  free(grid->axes);
  hr__grid_texts_free(grid->set, grid->n_set);
  free(grid->path);
  free(grid->text);
  free(grid->scenario);
  free(grid->scenario_path);
  free(grid);
}

/* ---- Plans --------------------------------------------------------------------------------------------- */

/*
 * `plan`: variables, constraints, objective, and today's capacity.
 *
 * A variable is an axis as in a grid. A variable may set the size of one or more pools. The levels of such a variable
 * are total numbers of GPUs in ascending order, and the overrides of a level set the number of nodes of each pool. The
 * texts of constraints and objective are stored with their places, and checked when the plan is run (plan/search).
 */

void hr_plan_spec_destroy(struct hr_plan_spec *spec) {
  if (!spec) return;
  for (uint32_t i = 0; i < spec->n_variables; i++) {
    finish_axis(&spec->variables[i].axis);
    free(spec->variables[i].pools);
  }
  levels_free(spec->baseline, spec->n_variables);
  for (uint32_t i = 0; i < spec->n_constraints; i++) hr__placed_finish(&spec->constraints[i]);
  for (uint32_t i = 0; i < spec->n_terms; i++) hr__placed_finish(&spec->objective[i].metric);
  hr__placed_finish(&spec->self);
  free(spec->variables);
  free(spec->constraints);
  free(spec->objective);
  free(spec);
}

/* ---- GPUs of pools ---------------------------------------------------------------------------------- */

static enum hr_status find_pool(struct hr__builder *builder, const cJSON *value, uint32_t *pool) {
  const char *name = value->valuestring;
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const char *nearest;
  *pool = hr__pool_named(cluster, name, strlen(name));
  if (*pool != HR_NONE) return HR_OK;
  if (!hr__nearest_pool(cluster, name, &nearest)) return hr__build_no_memory(builder);
  return hr__build_fail(builder, value, "unknown pool '%.60s'%s%.60s%s", name, nearest ? "; did you mean '" : "",
                        nearest ? nearest : "", nearest ? "'?" : "");
}

/* Reads the key `pool` (a name) or `pools` (a list of names). */
static enum hr_status build_pools(struct hr__builder *builder, const cJSON *json, struct hr_plan_variable *variable) {
  const cJSON *one = hr__get(json, "pool"), *list = hr__get(json, "pools");
  if (!one && !list) return HR_OK;
  variable->pools = calloc(one ? 1 : (size_t)cJSON_GetArraySize(list), sizeof *variable->pools);
  enum hr_status status = variable->pools ? HR_OK : hr__build_no_memory(builder);
  for (const cJSON *name = one ? one : list->child; name && status == HR_OK; name = one ? NULL : name->next)
    status = find_pool(builder, name, &variable->pools[variable->n_pools++]);
  return status;
}

/* Returns the number of GPUs that one more node in each pool of the variable adds. */
static uint32_t gpus_of_step(const struct hr__builder *builder, const struct hr_plan_variable *variable) {
  uint32_t gpus = 0;
  for (uint32_t i = 0; i < variable->n_pools; i++)
    gpus += builder->scenario->cluster.pools[variable->pools[i]].gpus_per_node;
  return gpus;
}

/* Sets the overrides of a level to those for a total of `gpus` GPUs. All pools of the variable get the same number of
   nodes, so other totals than multiples of gpus_of_step() are errors. */
static enum hr_status set_gpus(struct hr__builder *builder, const cJSON *place, const struct hr_plan_variable *variable,
                               double gpus, struct hr_grid_level *level) {
  uint32_t step = gpus_of_step(builder, variable);
  double nodes = gpus / step;
  if (gpus < 0 || nodes != floor(nodes))
    return hr__build_fail(builder, place,
                          "'%.60s' counts GPUs, %u per node%s; %.15g is not a multiple of that: use %.0f or %.0f",
                          variable->axis.name, step, variable->n_pools > 1 ? " of each of its pools" : "", gpus,
                          fmax(0, floor(nodes)) * step, (fmax(0, floor(nodes)) + 1) * step);
  hr__grid_texts_free(level->set, level->n_set);
  level->n_set = 0;
  level->set = calloc(variable->n_pools, sizeof *level->set);
  if (!level->set) return hr__build_no_memory(builder);
  for (uint32_t i = 0; i < variable->n_pools; i++) {
    char text[HR_POOL_PATH_BYTES + 30], path[HR_POOL_PATH_BYTES];
    snprintf(text, sizeof text, "%s.nodes=%.0f", hr_scenario_pool_path(builder->scenario, variable->pools[i], path),
             nodes);
    level->set[level->n_set] = strdup(text);
    if (!level->set[level->n_set++]) return hr__build_no_memory(builder);
  }
  return HR_OK;
}

static int by_number(const void *a, const void *b) {
  const struct hr_grid_level *first = a, *second = b;
  return (first->number > second->number) - (first->number < second->number);
}

/* Sets the overrides of all levels of a variable that counts GPUs. Sorts the levels by number of GPUs, because the
   search of the plan requires this order. */
static enum hr_status count_gpus(struct hr__builder *builder, const cJSON *json, struct hr_plan_variable *variable) {
  struct hr_grid_axis *axis = &variable->axis;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < axis->n_levels && status == HR_OK; i++) {
    if (isnan(axis->levels[i].number))
      return hr__build_fail(builder, json, "'%.60s' counts GPUs; '%.60s' is not a number", axis->name,
                            axis->levels[i].text);
    status = set_gpus(builder, json, variable, axis->levels[i].number, &axis->levels[i]);
  }
  qsort(axis->levels, axis->n_levels, sizeof *axis->levels, by_number);
  return status;
}

/* ---- Variables -------------------------------------------------------------------------------------- */

/* Reads the axis of a variable. A variable that sets the size of pools is an axis without a path. If it has no name,
   it gets the name of its pool, or "pools" if it has several pools. */
static enum hr_status build_variable_axis(struct hr__builder *builder, const cJSON *json,
                                          struct hr_plan_variable *variable) {
  const cJSON *pool = hr__get(json, "pool");
  if (!pool && !hr__has(json, "pools")) return build_axis(builder, json, NULL, &variable->axis);
  if (hr__has(json, "path") || hr__has(json, "settings"))
    return hr__build_fail(builder, json, "a variable has exactly one of 'pool', 'pools', 'path' and 'settings'");
  const char *name = hr__text_of(json, "name", pool ? pool->valuestring : "pools");
  enum hr_status status = build_axis(builder, json, name, &variable->axis);
  free(variable->axis.path);
  variable->axis.path = NULL;
  return status;
}

static enum hr_status check_name(struct hr__builder *builder, const cJSON *json, const struct hr_plan_spec *spec,
                                 const struct hr_plan_variable *variable) {
  for (uint32_t i = 0; &spec->variables[i] != variable; i++)
    if (spec->variables[i].axis.name && variable->axis.name &&
        strcmp(spec->variables[i].axis.name, variable->axis.name) == 0)
      return hr__build_fail(builder, json, "duplicate variable '%.60s'; change the 'name' of one", variable->axis.name);
  return HR_OK;
}

/* Checks that no pool is in two variables, which would override each other. */
static enum hr_status check_pools(struct hr__builder *builder, const cJSON *json, const struct hr_plan_spec *spec,
                                  const struct hr_plan_variable *variable) {
  const struct hr_pool_spec *pools = builder->scenario->cluster.pools;
  if (!variable->pools) return HR_OK;
  for (uint32_t i = 0; &spec->variables[i] != variable; i++)
    for (uint32_t k = 0; k < spec->variables[i].n_pools; k++)
      for (uint32_t m = 0; m < variable->n_pools; m++)
        if (spec->variables[i].pools[k] == variable->pools[m])
          return hr__build_fail(builder, json, "'%.60s' and '%.60s' both count the GPUs of pool '%.60s'; keep one",
                                spec->variables[i].axis.name, variable->axis.name, pools[variable->pools[m]].name);
  return HR_OK;
}

static enum hr_status build_variable(struct hr__builder *builder, const cJSON *json, struct hr_plan_spec *spec) {
  struct hr_plan_variable *variable = &spec->variables[spec->n_variables++];
  enum hr_status status = build_variable_axis(builder, json, variable);
  if (status == HR_OK && variable->axis.n_levels == 0)
    status = hr__build_fail(builder, json, "'%.60s' has no levels; 'from' and 'to' need 'step' or 'points'",
                            variable->axis.name);
  if (status == HR_OK) status = build_pools(builder, json, variable);
  if (status == HR_OK && variable->pools) status = count_gpus(builder, json, variable);
  if (status == HR_OK) status = check_name(builder, json, spec, variable);
  return status == HR_OK ? check_pools(builder, json, spec, variable) : status;
}

static enum hr_status build_variables(struct hr__builder *builder, const cJSON *plan, struct hr_plan_spec *spec) {
  const cJSON *list = hr__get(plan, "variables");
  spec->variables = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *spec->variables);
  if (!spec->variables) return hr__build_no_memory(builder);
  enum hr_status status = HR_OK;
  for (const cJSON *item = list->child; item && status == HR_OK; item = item->next)
    status = build_variable(builder, item, spec);
  return status;
}

/* ---- The objective ---------------------------------------------------------------------------------- */

static enum hr_status add_term(struct hr__builder *builder, const cJSON *place, const char *figure, double weight,
                               struct hr_plan_spec *spec) {
  struct hr_plan_term *term = &spec->objective[spec->n_terms++];
  term->weight = weight;
  return hr__build_placed(builder, place, figure, &term->metric);
}

/* Reads the key `objective` (a metric) or `weights` (a weighted sum of metrics). */
static enum hr_status build_objective(struct hr__builder *builder, const cJSON *plan, struct hr_plan_spec *spec) {
  const cJSON *weights = hr__get(plan, "weights");
  if (weights && hr__has(plan, "objective"))
    return hr__build_fail_at(builder, plan, "weights", "a plan has an 'objective' or 'weights', not both; keep one");
  size_t count = weights ? (size_t)cJSON_GetArraySize(weights) : 1;
  spec->objective = calloc(count + 1, sizeof *spec->objective);
  if (!spec->objective) return hr__build_no_memory(builder);
  const cJSON *objective = hr__get(plan, "objective");
  enum hr_status status = HR_OK;
  for (const cJSON *item = weights ? weights->child : NULL; item && status == HR_OK; item = item->next)
    status = add_term(builder, item, item->string, item->valuedouble, spec);
  if (!weights)
    status =
        add_term(builder, objective ? objective : plan, objective ? objective->valuestring : "monthly_usd", 1, spec);
  return status;
}

/* ---- Today's capacity ------------------------------------------------------------------------------- */

static enum hr_status find_variable(struct hr__builder *builder, const struct hr_plan_spec *spec, const cJSON *item,
                                    uint32_t *number) {
  const char *name = item->string;
  const char *known[HR_MAX_PLAN_VARIABLES + 1] = {0};
  for (*number = 0; *number < spec->n_variables; ++*number) {
    known[*number] = spec->variables[*number].axis.name;
    if (known[*number] && strcmp(known[*number], name) == 0) return HR_OK;
  }
  const char *nearest = hr_nearest_word(name, known);
  return hr__build_fail_key(builder, item, "unknown variable '%.60s'%s%.60s%s", name, nearest ? "; did you mean '" : "",
                            nearest ? nearest : "", nearest ? "'?" : "");
}

/* Reads the value of a variable in today's capacity (`baseline`). For a variable with settings, the value must be the
   label of one of them. For other variables, the value need not be one of the levels. */
static enum hr_status build_today(struct hr__builder *builder, const struct hr_plan_variable *variable,
                                  const cJSON *value, struct hr_grid_level *level) {
  const struct hr_grid_axis *axis = &variable->axis;
  char buffer[32], text[600];
  const char *scalar = hr__scalar_text(value, buffer);
  level->text = strdup(scalar);
  level->number = cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
  if (!level->text) return hr__build_no_memory(builder);
  if (variable->pools && isnan(level->number))
    return hr__build_fail(builder, value, "'%.60s' counts GPUs; a number is expected", axis->name);
  if (variable->pools) return set_gpus(builder, value, variable, level->number, level);
  for (uint32_t i = 0; i < axis->n_levels && !axis->path; i++)
    if (strcmp(axis->levels[i].text, scalar) == 0) {
      level->set = calloc(axis->levels[i].n_set + 1, sizeof *level->set);
      for (size_t k = 0; level->set && k < axis->levels[i].n_set; k++)
        if (!(level->set[level->n_set++] = strdup(axis->levels[i].set[k]))) return hr__build_no_memory(builder);
      return level->set ? HR_OK : hr__build_no_memory(builder);
    }
  if (!axis->path) return hr__build_fail(builder, value, "'%.60s' has no setting '%.60s'", axis->name, scalar);
  snprintf(text, sizeof text, "%s=%s", axis->path, scalar);
  level->set = calloc(1, sizeof *level->set);
  if (!level->set || !(level->set[level->n_set++] = strdup(text))) return hr__build_no_memory(builder);
  return HR_OK;
}

static enum hr_status build_baseline(struct hr__builder *builder, const cJSON *plan, struct hr_plan_spec *spec) {
  const cJSON *baseline = hr__get(plan, "baseline");
  if (!baseline) return HR_OK;
  spec->baseline = calloc(spec->n_variables, sizeof *spec->baseline);
  if (!spec->baseline) return hr__build_no_memory(builder);
  enum hr_status status = HR_OK;
  uint32_t number;
  for (const cJSON *item = baseline->child; item && status == HR_OK; item = item->next) {
    status = find_variable(builder, spec, item, &number);
    if (status == HR_OK) status = build_today(builder, &spec->variables[number], item, &spec->baseline[number]);
  }
  return status;
}

/* ---- The section ------------------------------------------------------------------------------------ */

enum hr_status hr__build_plan(struct hr__builder *builder) {
  const cJSON *plan = hr__get(builder->source.file.tree, "plan");
  if (!plan) return HR_OK;
  struct hr_plan_spec *spec = calloc(1, sizeof *spec);
  if (!spec) return hr__build_no_memory(builder);
  builder->scenario->plan = spec;
  enum hr_status status = hr__read_at(builder, plan, "plan", spec);
  if (status == HR_OK) status = hr__build_placed(builder, plan, "plan", &spec->self);
  if (status == HR_OK) status = build_variables(builder, plan, spec);
  if (status == HR_OK) status = build_objective(builder, plan, spec);
  if (status == HR_OK) status = build_baseline(builder, plan, spec);
  return status;
}
