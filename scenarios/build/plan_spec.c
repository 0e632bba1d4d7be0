/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `plan`: variables, constraints, objective, and today's capacity.
 *
 * A variable is an axis as in a grid (grid.c). A variable may set the size of one or more pools. The levels of such a
 * variable are total numbers of GPUs in ascending order, and the overrides of a level set the number of nodes of each
 * pool. Only report/ knows the metrics, so the texts of constraints and objective are stored with their places and
 * checked later.
 */

#include "headroom/unstable/experiments.h"
#include "scenarios/build/builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void placed_finish(struct hr_placed_text *placed) {
  free(placed->text);
  free(placed->place);
}

static void levels_free(struct hr_grid_level *levels, size_t count) {
  for (size_t i = 0; levels && i < count; i++) {
    free(levels[i].text);
    hr__grid_texts_free(levels[i].set, levels[i].n_set);
  }
  free(levels);
}

void hr_plan_spec_destroy(struct hr_plan_spec *spec) {
  if (!spec) return;
  for (uint32_t i = 0; i < spec->n_variables; i++) {
    hr__grid_axis_finish(&spec->variables[i].axis);
    free(spec->variables[i].pools);
  }
  levels_free(spec->baseline, spec->n_variables);
  for (uint32_t i = 0; i < spec->n_constraints; i++) placed_finish(&spec->constraints[i]);
  for (uint32_t i = 0; i < spec->n_terms; i++) placed_finish(&spec->objective[i].metric);
  placed_finish(&spec->self);
  free(spec->variables);
  free(spec->constraints);
  free(spec->objective);
  free(spec);
}

/* ---- GPUs of pools ---------------------------------------------------------------------------------- */

static enum hr_status find_pool(struct hr__builder *builder, const cJSON *value, uint32_t *pool) {
  const char *name = value->valuestring;
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const char **known = calloc(cluster->n_pools + 1, sizeof *known);
  if (!known) return hr__build_no_memory(builder);
  for (*pool = 0; *pool < cluster->n_pools; ++*pool) {
    known[*pool] = cluster->pools[*pool].name;
    if (strcmp(known[*pool], name) == 0) break;
  }
  const char *nearest = *pool < cluster->n_pools ? NULL : hr_nearest_word(name, known);
  free(known);
  if (*pool < cluster->n_pools) return HR_OK;
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

/* Sets the overrides of a level that represents a total number of GPUs. */
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
    char text[64];
    snprintf(text, sizeof text, "cluster.pools.%u.nodes=%.0f", variable->pools[i], nodes);
    level->set[level->n_set] = strdup(text);
    if (!level->set[level->n_set++]) return hr__build_no_memory(builder);
  }
  return HR_OK;
}

static int by_number(const void *a, const void *b) {
  const struct hr_grid_level *first = a, *second = b;
  return (first->number > second->number) - (first->number < second->number);
}

/* Sets the overrides of all levels and sorts the levels by number of GPUs, because the search of the plan requires
   this order. */
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
static enum hr_status build_axis(struct hr__builder *builder, const cJSON *json, struct hr_plan_variable *variable) {
  const cJSON *pool = hr__get(json, "pool");
  if (!pool && !hr__has(json, "pools")) return hr__grid_axis_build(builder, json, NULL, &variable->axis);
  if (hr__has(json, "path") || hr__has(json, "settings"))
    return hr__build_fail(builder, json, "a variable has exactly one of 'pool', 'pools', 'path' and 'settings'");
  const char *name = hr__text_of(json, "name", pool ? pool->valuestring : "pools");
  enum hr_status status = hr__grid_axis_build(builder, json, name, &variable->axis);
  free(variable->axis.path);
  variable->axis.path = NULL;
  return status;
}

static enum hr_status check_name(struct hr__builder *builder, const cJSON *json, const struct hr_plan_spec *spec,
                                 const struct hr_plan_variable *variable) {
  for (uint32_t i = 0; &spec->variables[i] != variable; i++)
    if (strcmp(spec->variables[i].axis.name, variable->axis.name) == 0)
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
  enum hr_status status = build_axis(builder, json, variable);
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

/* Reads the value of a variable in today's capacity. For a variable with settings, it must be the label of one of
   them. For other variables, it need not be one of the levels. */
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
  enum hr_status status = hr__read(builder, plan, hr__table_of(&hr__scenario_keys, "plan"), spec);
  if (status == HR_OK) status = hr__build_placed(builder, plan, "plan", &spec->self);
  if (status == HR_OK) status = build_variables(builder, plan, spec);
  if (status == HR_OK) status = build_objective(builder, plan, spec);
  if (status == HR_OK) status = build_baseline(builder, plan, spec);
  return status;
}
