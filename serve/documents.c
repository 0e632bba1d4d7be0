/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Documents of the server: lists of what a user can choose from. */

#include "serve/serve.h"

#include "base/text.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/metrics.h"
#include "traces/json/json.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Prints a document and frees it. */
static enum hr_status print(cJSON *document, char **json, struct hr_error *error) {
  *json = document ? cJSON_PrintUnformatted(document) : NULL;
  cJSON_Delete(document);
  return *json ? HR_OK : hr__no_memory(error);
}

static cJSON *append(cJSON *list) {
  cJSON *item = list ? cJSON_CreateObject() : NULL;
  if (item && cJSON_AddItemToArray(list, item)) return item;
  cJSON_Delete(item);
  return NULL;
}

static void put_text(cJSON *to, const char *key, const char *text) {
  char *valid = hr__utf8_copy(text);
  if (to && valid) cJSON_AddStringToObject(to, key, valid);
  free(valid);
}

static void put_number(cJSON *to, const char *key, double value) {
  if (to && value >= 0) cJSON_AddNumberToObject(to, key, value);
}

/* ---- Catalogue ----------------------------------------------------------------------------------------- */

static void put_gpus(cJSON *document, const struct hr_catalog *catalog) {
  cJSON *list = cJSON_AddArrayToObject(document, "gpus");
  for (size_t i = 0; i < catalog->n_gpus; i++) {
    const struct hr_gpu_type *gpu = &catalog->gpus[i];
    cJSON *item = append(list);
    put_text(item, "name", gpu->name);
    put_number(item, "mem_gb", gpu->mem_gb);
    put_number(item, "bf16_tflops", gpu->bf16_tflops);
    put_number(item, "tdp_w", gpu->tdp_w);
    put_text(item, "status", gpu->status);
    put_text(item, "source", gpu->source);
  }
}

static void put_instances(cJSON *document, const struct hr_catalog *catalog) {
  cJSON *list = cJSON_AddArrayToObject(document, "instances");
  for (size_t i = 0; i < catalog->n_instances; i++) {
    const struct hr_instance_type *instance = &catalog->instances[i];
    cJSON *item = append(list);
    put_text(item, "provider", instance->provider);
    put_text(item, "name", instance->name);
    put_text(item, "gpu", instance->gpu);
    put_number(item, "gpus", instance->gpus);
    put_number(item, "vcpus", instance->vcpus);
    put_number(item, "mem_gib", instance->mem_gib);
  }
}

static void put_prices(cJSON *document, const struct hr_catalog *catalog) {
  cJSON *list = cJSON_AddArrayToObject(document, "prices");
  for (size_t i = 0; i < catalog->n_prices; i++) {
    const struct hr_price *price = &catalog->prices[i];
    cJSON *item = append(list);
    put_text(item, "provider", price->provider);
    put_text(item, "instance", price->instance);
    put_text(item, "region", price->region);
    put_text(item, "market", hr_market_name(price->market));
    put_text(item, "term", price->term);
    put_number(item, "usd_h", (double)price->uusd_h / 1e6);
    put_text(item, "as_of", price->as_of);
    put_text(item, "status", price->status);
    put_text(item, "source", price->source);
  }
}

static void put_metrics(cJSON *document) {
  const struct hr_metric *metrics;
  const size_t count = hr_metrics(&metrics);
  cJSON *list = cJSON_AddArrayToObject(document, "metrics");
  for (size_t i = 0; i < count; i++) {
    cJSON *item = append(list);
    put_text(item, "path", metrics[i].path);
    put_text(item, "column", metrics[i].column);
    put_text(item, "title", metrics[i].title);
    put_text(item, "unit", hr_unit_name(metrics[i].unit));
  }
}

enum hr_status hr__document_catalogue(char **json, struct hr_error *error) {
  struct hr_catalog *catalog = NULL;
  enum hr_status status = hr_catalog_load(NULL, &catalog, error);
  if (status != HR_OK) return status;
  cJSON *document = cJSON_CreateObject();
  if (document) {
    put_gpus(document, catalog);
    put_instances(document, catalog);
    put_prices(document, catalog);
    put_metrics(document);
  }
  hr_catalog_destroy(catalog);
  return print(document, json, error);
}

/* ---- Scenarios and files ------------------------------------------------------------------------------- */

enum hr_status hr__document_scenarios(const char *folder, const struct hr_scenario_entry *entries,
                                      const struct hr__shipped_state *states, size_t count, char **json,
                                      struct hr_error *error) {
  cJSON *document = cJSON_CreateObject();
  if (document && folder) put_text(document, "folder", folder);
  cJSON *list = document ? cJSON_AddArrayToObject(document, "scenarios") : NULL;
  for (size_t i = 0; i < count; i++) {
    cJSON *item = append(list);
    put_text(item, "name", entries[i].name);
    put_text(item, "description", entries[i].description);
    if (item && states[i].needs_trace) cJSON_AddTrueToObject(item, "needs_trace");
    if (states[i].missing) put_text(item, "missing", states[i].missing);
  }
  return print(document, json, error);
}

enum { MAX_FILES = 1000, MAX_DEPTH = 3, LARGEST_TEXT = 16 << 20, PATH_BYTES = 4096 };

static int is_visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

/* Adds the files of `folder`/`inner` and of its folders. `inner` is "" or ends with a slash. `depth` is the number of
   folders in `inner`. */
static void list_files(cJSON *list, const char *folder, const char *inner, unsigned depth) {
  struct dirent **entries = NULL;
  char path[PATH_BYTES], name[PATH_BYTES];
  if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, inner) >= sizeof path) return;
  int count = scandir(path, &entries, is_visible, alphasort);
  for (int i = 0; i < count; i++) {
    struct stat info;
    bool fits = (size_t)snprintf(name, sizeof name, "%s%s", inner, entries[i]->d_name) < sizeof name - 1 &&
                (size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path;
    bool found = fits && cJSON_GetArraySize(list) < MAX_FILES && lstat(path, &info) == 0;
    if (found && S_ISREG(info.st_mode)) {
      cJSON *item = append(list);
      put_text(item, "path", name);
      put_number(item, "bytes", (double)info.st_size);
    }
    if (found && S_ISDIR(info.st_mode) && depth < MAX_DEPTH) {
      strcat(name, "/");
      list_files(list, folder, name, depth + 1);
    }
    free(entries[i]);
  }
  free(entries);
}

enum hr_status hr__document_files(const char *folder, char **json, struct hr_error *error) {
  cJSON *document = cJSON_CreateObject();
  if (document) put_text(document, "folder", folder);
  cJSON *list = document ? cJSON_AddArrayToObject(document, "files") : NULL;
  if (list) list_files(list, folder, "", 0);
  return print(document, json, error);
}

enum hr_status hr__document_text(const char *path, char **text, struct hr_error *error) {
  size_t length = 0;
  FILE *file = fopen(path, "rb");
  if (!file) return hr_fail(error, HR_BAD_INPUT, "cannot be read: %s", strerror(errno));
  *text = hr__file_text(file, LARGEST_TEXT, &length);
  fclose(file);
  if (!*text) return hr__no_memory(error);
  if (length <= LARGEST_TEXT && strlen(*text) == length && hr__is_utf8(*text)) return HR_OK;
  free(*text);
  *text = NULL;
  return hr_fail(error, HR_BAD_INPUT, "is not a text of at most 16 MiB");
}

/* ---- Shipped scenarios -------------------------------------------------------------------------- */

/* The files of shipped scenarios. All keys that name a file are "file" or end with "_file", and relative paths start at
   the folder of the scenario (docs/reference/scenario.md). */

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

/* Adds the real path of the file `name`, which a scenario names, to the files of the state. If the file does not exist,
   sets `missing` unless it is already set. Returns false if out of memory. */
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

/* Adds all files that a scenario names. The recursion is bounded by the depth of the tree (HR__JSON_DEPTH). Returns
   false if out of memory. */
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
  return walked ? HR_OK : hr__no_memory(error);
}

void hr__shipped_finish(struct hr__shipped_state *state) {
  for (size_t i = 0; i < state->n_files; i++) free(state->files[i]);
  free(state->files);
  free(state->missing);
  *state = (struct hr__shipped_state){0};
}
