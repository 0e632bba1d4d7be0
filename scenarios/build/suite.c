/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds a suite of runs for `headroom check`, from the file of a suite or from one scenario. Only report/ knows the
 * metrics, so the names in tolerances are stored with their places and checked later.
 */

#include "base/array.h"
#include "headroom/unstable/experiments.h"
#include "scenarios/build/builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses a tolerance. "2%" is a share, "30" is in the unit of the metric. */
static bool parse_by(const char *text, struct hr_tolerance *tolerance) {
  char *end;
  double value = strtod(text, &end);
  bool share = *end == '%';
  if (end == text || end[share] != '\0' || !isfinite(value) || value < 0) return false;
  tolerance->relative = share ? value / 100 : 0;
  tolerance->absolute = share ? 0 : value;
  return true;
}

#define WORD(name, text) text,
static const char *const profile_words[] = {HR_TOLERANCE_PROFILE_TABLE(WORD) NULL};
#undef WORD

/* The profile of this name; HR_PROFILE_UNSPECIFIED if there is none. */
static enum hr_tolerance_profile profile_named(const char *text) {
  for (size_t i = 0; profile_words[i]; i++)
    if (strcmp(text, profile_words[i]) == 0) return (enum hr_tolerance_profile)(i + 1);
  return HR_PROFILE_UNSPECIFIED;
}

/* Makes a text whose errors begin with "--OPTION TEXT: ". The members are NULL when out of memory. */
static struct hr_placed_text placed_option(const char *option, const char *text, size_t length) {
  size_t bytes = strlen(option) + strlen(text) + sizeof "-- : ";
  struct hr_placed_text placed = {.text = strndup(text, length), .place = malloc(bytes)};
  if (placed.place) snprintf(placed.place, bytes, "--%s %s: ", option, text);
  if (placed.text && placed.place) return placed;
  free(placed.text);
  free(placed.place);
  return (struct hr_placed_text){0};
}

enum hr_status hr_suite_add_goal(struct hr_suite *suite, const char *text, struct hr_error *error) {
  struct hr_placed_text goal = placed_option("goal", text, strlen(text));
  if (!goal.text || !HR__ARRAY_RESIZE(suite->goals, suite->n_goals + 1)) {
    free(goal.text);
    free(goal.place);
    return hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  suite->goals[suite->n_goals++] = goal;
  return HR_OK;
}

enum hr_status hr_suite_add_tolerance(struct hr_suite *suite, const char *text, struct hr_error *error) {
  struct hr_tolerance fresh = {.worse = HR_WORSE_UNSPECIFIED};
  struct hr_tolerances *tolerances = &suite->tolerances;
  if (profile_named(text) != HR_PROFILE_UNSPECIFIED) {
    tolerances->profile = profile_named(text);
    return HR_OK;
  }
  const char *equals = strrchr(text, '=');
  if (!equals || equals == text || !parse_by(equals + 1, &fresh))
    return hr_fail(error, HR_BAD_INPUT,
                   "--tolerance %.200s: expected METRIC=BY, where BY is a share like 2%% or a number of at least 0 in "
                   "the unit of the metric, or a profile: slo or exact",
                   text);
  bool room = HR__ARRAY_RESIZE(tolerances->at, tolerances->count + 1);
  if (room) fresh.metric = placed_option("tolerance", text, (size_t)(equals - text));
  if (!fresh.metric.place) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  tolerances->at[tolerances->count++] = fresh;
  return HR_OK;
}

/* ---- Tolerances ------------------------------------------------------------------------------------- */

static enum hr_status build_tolerance(struct hr__builder *builder, const cJSON *json, struct hr_tolerance *tolerance) {
  tolerance->worse = HR_WORSE_UNSPECIFIED;
  enum hr_status status = hr__read(builder, json, hr__table_of(&hr__suite_keys, "tolerances.*"), tolerance);
  return status == HR_OK ? hr__build_placed(builder, json, json->string, &tolerance->metric) : status;
}

static void build_words(const cJSON *json, struct hr_tolerances *tolerances) {
  const char *digest = hr__text_of(json, "digest", "");
  tolerances->profile = profile_named(hr__text_of(json, "profile", ""));
  tolerances->only_worse_is_set = hr__has(json, "only_worse");
  tolerances->only_worse = cJSON_IsTrue(hr__get(json, "only_worse"));
  tolerances->exact_digest = strcmp(digest, "exact") == 0;
  tolerances->loose_digest = strcmp(digest, "any") == 0;
}

/* Reads tolerances. A member with an object as its value is the tolerance of one metric, and its key is the name of the
   metric. Other members apply to all metrics and have fixed keys. */
static enum hr_status build_tolerances(struct hr__builder *builder, const cJSON *object,
                                       struct hr_tolerances *tolerances) {
  const cJSON *json = hr__get(object, "tolerances");
  if (!json) return HR_OK;
  build_words(json, tolerances);
  tolerances->at = calloc((size_t)cJSON_GetArraySize(json) + 1, sizeof *tolerances->at);
  if (!tolerances->at) return hr__build_no_memory(builder);
  enum hr_status status = HR_OK;
  for (const cJSON *member = json->child; member && status == HR_OK; member = member->next)
    if (cJSON_IsObject(member)) status = build_tolerance(builder, member, &tolerances->at[tolerances->count++]);
  return status;
}

static void goals_finish(struct hr_placed_text *goals, size_t count) {
  for (size_t i = 0; goals && i < count; i++) {
    free(goals[i].text);
    free(goals[i].place);
  }
  free(goals);
}

static void tolerances_finish(struct hr_tolerances *tolerances) {
  for (size_t i = 0; i < tolerances->count; i++) {
    free(tolerances->at[i].metric.text);
    free(tolerances->at[i].metric.place);
  }
  free(tolerances->at);
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

/* Converts each member of the object to an override "path=value". */
static enum hr_status build_set(const struct hr__builder *builder, const cJSON *json, struct hr_suite_run *run) {
  const cJSON *set = hr__get(json, "set");
  run->set = calloc((size_t)cJSON_GetArraySize(set) + 1, sizeof *run->set);
  if (!run->set) return hr__build_no_memory(builder);
  for (const cJSON *member = set ? set->child : NULL; member; member = member->next) {
    char buffer[32];
    const char *value = hr__scalar_text(member, buffer);
    size_t bytes = strlen(member->string) + strlen(value) + 2;
    char *text = malloc(bytes);
    if (!text) return hr__build_no_memory(builder);
    snprintf(text, bytes, "%s=%s", member->string, value);
    run->set[run->n_set++] = text;
  }
  return HR_OK;
}

static enum hr_status build_run(struct hr__builder *builder, const cJSON *json, struct hr_suite_run *run) {
  enum hr_status status = hr__read(builder, json, hr__table_of(&hr__suite_keys, "runs"), run);
  if (status == HR_OK) status = build_set(builder, json, run);
  return status == HR_OK ? build_tolerances(builder, json, &run->tolerances) : status;
}

static enum hr_status check_policies(struct hr__builder *builder, const cJSON *json, const struct hr_suite_run *run) {
  for (size_t i = 0; i < run->n_policies; i++)
    for (size_t k = 0; k < i; k++)
      if (strcmp(run->policies[i], run->policies[k]) == 0)
        return hr__build_fail_at(builder, json, "policies", "duplicate policy '%.200s'; keep one", run->policies[i]);
  return HR_OK;
}

static enum hr_status check_name(struct hr__builder *builder, const cJSON *json, const struct hr_suite *suite) {
  const struct hr_suite_run *last = &suite->runs[suite->n_runs - 1];
  for (const struct hr_suite_run *run = suite->runs; run < last; run++)
    if (strcmp(run->name, last->name) == 0)
      return hr__build_fail_at(builder, json, "name", "duplicate run '%.200s'; use another name", last->name);
  return check_policies(builder, json, last);
}

static enum hr_status build_runs(struct hr__builder *builder, struct hr_suite *suite) {
  const cJSON *runs = hr__get(builder->source.file.tree, "runs");
  suite->runs = calloc((size_t)cJSON_GetArraySize(runs), sizeof *suite->runs);
  if (!suite->runs) return hr__build_no_memory(builder);
  for (const cJSON *json = runs->child; json; json = json->next) {
    enum hr_status status = build_run(builder, json, &suite->runs[suite->n_runs++]);
    if (status == HR_OK) status = check_name(builder, json, suite);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* ---- The suite -------------------------------------------------------------------------------------- */

/* Replaces a text "tolerances": "slo" by the object {"profile": "slo"}. */
static enum hr_status expand_profile(struct hr__builder *builder, const cJSON *object) {
  cJSON *json = cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, "tolerances") : NULL;
  if (!json || !cJSON_IsString(json)) return HR_OK;
  if (profile_named(json->valuestring) == HR_PROFILE_UNSPECIFIED)
    return hr__build_fail(builder, json, "unknown profile '%.100s'; expected slo, exact or an object with tolerances",
                          json->valuestring);
  cJSON *profile = cJSON_CreateString(json->valuestring);
  if (!profile) return hr__build_no_memory(builder);
  cJSON_free(json->valuestring);
  json->valuestring = NULL;
  json->type = cJSON_Object;
  if (cJSON_AddItemToObject(json, "profile", profile)) return HR_OK;
  cJSON_Delete(profile);
  return hr__build_no_memory(builder);
}

static enum hr_status expand_profiles(struct hr__builder *builder) {
  const cJSON *tree = builder->source.file.tree, *runs = cJSON_IsObject(tree) ? hr__get(tree, "runs") : NULL;
  enum hr_status status = expand_profile(builder, tree);
  for (const cJSON *run = runs && cJSON_IsArray(runs) ? runs->child : NULL; run && status == HR_OK; run = run->next)
    status = expand_profile(builder, run);
  return status;
}

static enum hr_status build(struct hr__builder *builder, struct hr_suite *suite) {
  enum hr_status status = expand_profiles(builder);
  if (status == HR_OK) status = hr__source_validate(&builder->source, &hr__suite_keys, "the suite", builder->error);
  if (status == HR_OK) status = hr__read(builder, builder->source.file.tree, hr__suite_keys.keys, suite);
  if (status != HR_OK) return status;
  suite->path = strdup(builder->source.path);
  status = suite->path ? build_runs(builder, suite) : hr__build_no_memory(builder);
  return status == HR_OK ? build_tolerances(builder, builder->source.file.tree, &suite->tolerances) : status;
}

enum hr_status hr_suite_load(const char *path, struct hr_suite **suite, struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path}, .error = error};
  *suite = NULL;
  enum hr_status status = hr__json_file_read(path, &builder.source.file, error);
  if (status != HR_OK) return status;
  struct hr_suite *fresh = calloc(1, sizeof *fresh);
  status = fresh ? build(&builder, fresh) : hr__build_no_memory(&builder);
  hr__json_file_finish(&builder.source.file);
  if (status == HR_OK)
    *suite = fresh;
  else
    hr_suite_destroy(fresh);
  return status;
}

enum hr_status hr_suite_recognise(const char *path, bool *is_suite, struct hr_error *error) {
  struct hr__json_file file;
  enum hr_status status = hr__json_file_read(path, &file, error);
  if (status != HR_OK) return status;
  *is_suite = cJSON_IsObject(file.tree) && hr__has(file.tree, "runs");
  hr__json_file_finish(&file);
  return HR_OK;
}

/* Returns the name of a file without folder and suffix: "demo" for "scenarios/demo.json". The caller frees it. */
static char *name_of(const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  return strndup(base, dot && dot != base ? (size_t)(dot - base) : strlen(base));
}

static bool fill_run(struct hr_suite_run *run, const char *path, const char *trace, const char *const *overrides,
                     size_t n_overrides) {
  run->name = name_of(path);
  run->scenario = strdup(path);
  run->trace = trace ? strdup(trace) : NULL;
  run->set = calloc(n_overrides + 1, sizeof *run->set);
  if (!run->name || !run->scenario || (trace && !run->trace) || !run->set) return false;
  for (; run->n_set < n_overrides; run->n_set++)
    if (!(run->set[run->n_set] = strdup(overrides[run->n_set]))) return false;
  return true;
}

enum hr_status hr_suite_of_scenario(const char *path, const char *trace, const char *const *overrides,
                                    size_t n_overrides, struct hr_suite **suite, struct hr_error *error) {
  struct hr_suite *fresh = calloc(1, sizeof *fresh);
  *suite = NULL;
  if (fresh) fresh->runs = calloc(1, sizeof *fresh->runs);
  if (fresh && fresh->runs) fresh->n_runs = 1;
  if (fresh) fresh->path = strdup(path);
  if (fresh && fresh->runs && fresh->path && fill_run(fresh->runs, path, trace, overrides, n_overrides)) {
    *suite = fresh;
    return HR_OK;
  }
  hr_suite_destroy(fresh);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}

void hr_suite_destroy(struct hr_suite *suite) {
  if (!suite) return;
  for (size_t i = 0; i < suite->n_runs; i++) {
    struct hr_suite_run *run = &suite->runs[i];
    hr__grid_texts_free(run->policies, run->n_policies);
    hr__grid_texts_free(run->set, run->n_set);
    tolerances_finish(&run->tolerances);
    goals_finish(run->goals, run->n_goals);
    free(run->name);
    free(run->scenario);
    free(run->trace);
  }
  tolerances_finish(&suite->tolerances);
  goals_finish(suite->goals, suite->n_goals);
  free(suite->runs);
  free(suite->path);
  free(suite);
}
