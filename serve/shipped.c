/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of shipped scenarios. All keys that name a file are "file" or end with "_file", and relative paths start at
   the folder of the scenario (docs/reference/scenario.md). */

#include "serve/shipped.h"

#include "traces/json/json.h"

#include <stdlib.h>
#include <string.h>

static bool names_file(const cJSON *value) {
  static const char end[] = "_file";
  if (!value->string || !cJSON_IsString(value)) return false;
  size_t length = strlen(value->string), tail = sizeof end - 1;
  return strcmp(value->string, "file") == 0 || (length > tail && strcmp(value->string + length - tail, end) == 0);
}

static bool add_file(struct hr__shipped_state *state, char *real) {
  char **files = realloc(state->files, (state->n_files + 1) * sizeof *files);
  if (!files) {
    free(real);
    return false;
  }
  state->files = files;
  files[state->n_files++] = real;
  return true;
}

/* Returns false when out of memory. */
static bool look_for(struct hr__shipped_state *state, const char *scenario, const char *name) {
  const char *slash = strrchr(scenario, '/');
  size_t length = slash && name[0] != '/' ? (size_t)(slash - scenario) + 1 : 0;
  char *path = malloc(length + strlen(name) + 1);
  if (!path) return false;
  memcpy(path, scenario, length);
  strcpy(path + length, name);
  char *real = realpath(path, NULL);
  free(path);
  if (real) return add_file(state, real);
  if (!state->missing) state->missing = strdup(name);
  return state->missing != NULL;
}

/* The depth of the tree is bounded (HR__JSON_DEPTH). */
static bool walk(struct hr__shipped_state *state, const char *scenario, const cJSON *tree) {
  for (const cJSON *at = tree->child; at; at = at->next) {
    if (names_file(at) && !look_for(state, scenario, at->valuestring)) return false;
    if (!walk(state, scenario, at)) return false;
  }
  return true;
}

enum hr_status hr__shipped_look(const char *path, struct hr__shipped_state *state, struct hr_error *error) {
  struct hr__json_file file;
  *state = (struct hr__shipped_state){0};
  if (hr__json_file_read(path, &file, NULL) != HR_OK) return HR_OK;
  const cJSON *trace = cJSON_GetObjectItemCaseSensitive(file.tree, "trace");
  state->needs_trace =
      !cJSON_GetObjectItemCaseSensitive(trace, "file") && !cJSON_GetObjectItemCaseSensitive(file.tree, "services");
  bool walked = walk(state, path, file.tree);
  hr__json_file_finish(&file);
  return walked ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
}

void hr__shipped_finish(struct hr__shipped_state *state) {
  for (size_t i = 0; i < state->n_files; i++) free(state->files[i]);
  free(state->files);
  free(state->missing);
  *state = (struct hr__shipped_state){0};
}
