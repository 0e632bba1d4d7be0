/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a scenario for who changes it: what it says somewhere, and the catalogue that it goes by. */

#include "scenarios/builder.h"
#include "scenarios/pool_draft.h"

#include <stdlib.h>
#include <string.h>

static enum hr_status open_source(struct hr__builder *builder, struct hr_error *error) {
  enum hr_status status = hr__json_file_read(builder->source.path, &builder->source.file, error);
  return status == HR_OK ? hr__source_override(&builder->source, error) : status;
}

static const cJSON *step(const cJSON *value, const char *name) {
  if (cJSON_IsObject(value)) return cJSON_GetObjectItemCaseSensitive(value, name);
  bool is_number = name[0] && strspn(name, "0123456789") == strlen(name) && strlen(name) < 9;
  return cJSON_IsArray(value) && is_number ? cJSON_GetArrayItem(value, (int)strtol(name, NULL, 10)) : NULL;
}

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory");
}

/* The value at the path, as text. */
static enum hr_status print_part(const cJSON *tree, const char *key, char **json, struct hr_error *error) {
  const cJSON *value = tree;
  char *path = strdup(key), *rest;
  if (!path) return no_memory(error);
  for (char *name = strtok_r(path, ".", &rest); name && value; name = strtok_r(NULL, ".", &rest))
    value = step(value, name);
  free(path);
  if (!value) return HR_OK;
  *json = cJSON_PrintUnformatted(value);
  return *json ? HR_OK : no_memory(error);
}

enum hr_status hr_scenario_part(const char *path, const char *const *overrides, size_t n_overrides, const char *key,
                                char **json, struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path, .overrides = overrides, .n_overrides = n_overrides},
                                .error = error};
  *json = NULL;
  enum hr_status status = open_source(&builder, error);
  if (status == HR_OK) status = print_part(builder.source.file.tree, key, json, error);
  hr__json_file_finish(&builder.source.file);
  return status;
}

enum hr_status hr_scenario_catalog(const char *path, const char *const *overrides, size_t n_overrides,
                                   struct hr_catalog **catalog, struct hr_error *error) {
  struct hr_scenario scenario = {0}; /* takes the files down */
  struct hr__builder builder = {.source = {.path = path, .overrides = overrides, .n_overrides = n_overrides},
                                .scenario = &scenario,
                                .error = error};
  *catalog = NULL;
  enum hr_status status = open_source(&builder, error);
  if (status == HR_OK) status = hr__open_catalog(&builder);
  hr__json_file_finish(&builder.source.file);
  hr_notes_finish(&scenario.files);
  if (status == HR_OK)
    *catalog = builder.catalog;
  else
    hr_catalog_destroy(builder.catalog);
  return status;
}
