/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists the scenarios that ship with Headroom. Reads and writes workload models (JSON files); some of them ship with
   Headroom. */

#include "base/containers.h"
#include "base/output_file.h"
#include "base/process.h"
#include "headroom/scenario.h"
#include "headroom/unstable/scenario_files.h"
#include "scenarios/build/builder.h"
#include "traces/json/json.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Scenarios ----------------------------------------------------------------------------------------- */

/* Lists the scenarios that ship with Headroom. They are in the folder `scenarios` of $HEADROOM_DATA. If this variable
   is not set, two folders are tried. Their paths are relative to the folder of the running program:
   - ../share/headroom/scenarios, where the scenarios are installed;
   - ../../scenarios, the folder in the source tree if the program is in a build folder. */

enum { MAX_FOLDER = 4096 };

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Removes the last component of a path and the '/' before it. Returns false if the path has no '/'. */
static bool cut_to_folder(char *path) {
  char *slash = strrchr(path, '/');
  if (slash) *slash = '\0';
  return slash != NULL;
}

/* Sets `found` to the folder `tail`, relative to the folder that is `levels` levels above that of the running program.
   Returns false if this folder does not exist. */
static bool find_beside_program(unsigned levels, const char *tail, char *found, size_t size) {
  char program[MAX_FOLDER];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0) return false;
  program[length] = '\0';
  for (unsigned i = 0; i <= levels; i++)
    if (!cut_to_folder(program)) return false;
  snprintf(found, size, "%s/%s", program, tail);
  return is_folder(found);
}

static bool find_folder(char *found, size_t size, struct hr_error *error) {
  const char *data = getenv("HEADROOM_DATA");
  if (data && data[0]) {
    snprintf(found, size, "%s/scenarios", data);
    if (is_folder(found)) return true;
    hr_fail(error, HR_BAD_INPUT, "%s: no such folder; HEADROOM_DATA is the folder that contains it", found);
    return false;
  }
  if (find_beside_program(1, "share/headroom/scenarios", found, size)) return true;
  if (find_beside_program(2, "scenarios", found, size)) return true;
  hr_fail(error, HR_BAD_INPUT,
          "no shipped scenarios beside the program; set HEADROOM_DATA to the folder that contains 'scenarios'");
  return false;
}

static char *member_text(const cJSON *tree, const char *name) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(tree, name);
  return strdup(cJSON_IsString(member) ? member->valuestring : "");
}

static enum hr_status describe(char *path, struct hr_scenario_entry *entry, struct hr_error *error) {
  struct hr__json_file file;
  enum hr_status status = hr__json_file_read(path, &file, error);
  if (status != HR_OK) {
    free(path);
    return status;
  }
  *entry = (struct hr_scenario_entry){
      .path = path, .name = member_text(file.tree, "name"), .description = member_text(file.tree, "description")};
  hr__json_file_finish(&file);
  if (entry->name && entry->description) return HR_OK;
  free(path);
  free(entry->name);
  free(entry->description);
  return hr_fail(error, HR_NO_MEMORY, "out of memory");
}

static enum hr_status add_file(const char *folder, const char *name, struct hr_scenario_entry **entries, size_t *count,
                               struct hr_error *error) {
  size_t length = strlen(folder) + strlen(name) + 2;
  char *path = HR__ARRAY_RESIZE(*entries, *count + 1) ? malloc(length) : NULL;
  if (!path) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  snprintf(path, length, "%s/%s", folder, name);
  enum hr_status status = describe(path, &(*entries)[*count], error);
  *count += status == HR_OK;
  return status;
}

static bool is_scenario_name(const char *name) {
  const char *dot = strrchr(name, '.');
  return name[0] != '.' && dot && strcmp(dot, ".json") == 0;
}

static int by_path(const void *a, const void *b) {
  const struct hr_scenario_entry *first = a, *second = b;
  return strcmp(first->path, second->path);
}

enum hr_status hr_scenario_list(struct hr_scenario_entry **entries, size_t *count, struct hr_error *error) {
  char folder[MAX_FOLDER + 64];
  *entries = NULL;
  *count = 0;
  if (!find_folder(folder, sizeof folder, error)) return HR_BAD_INPUT;
  DIR *directory = opendir(folder);
  if (!directory) return hr_fail(error, HR_IO_ERROR, "%s: cannot be read: %s", folder, strerror(errno));
  enum hr_status status = HR_OK;
  for (struct dirent *file; status == HR_OK && (file = readdir(directory));)
    if (is_scenario_name(file->d_name)) status = add_file(folder, file->d_name, entries, count, error);
  closedir(directory);
  if (status == HR_OK) {
    if (*count) qsort(*entries, *count, sizeof **entries, by_path);
    return HR_OK;
  }
  hr_scenario_list_free(*entries, *count);
  *entries = NULL;
  *count = 0;
  return status;
}

void hr_scenario_list_free(struct hr_scenario_entry *entries, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(entries[i].path);
    free(entries[i].name);
    free(entries[i].description);
  }
  free(entries);
}

/* ---- Workload models ----------------------------------------------------------------------------------- */

/*
 * Workload models as JSON files: the key table hr__workload_model_keys, reading and writing.
 *
 * MODEL_NUMBERS and SIZE_NUMBERS list the keys with numbers or lists of numbers as values. The rows of the key table,
 * the reader and the writer are generated from these lists. A new key needs one line in a list, and one in
 * docs/reference/schemas/like.schema.json.
 */

#define STRATA HR_WORKLOAD_MODEL_STRATA
#define MAX_FACTOR 1e6

/* ONE(key, required, min, max) is a number. MANY(key, count, required, min, max) is a list of `count` numbers. */
#define MODEL_NUMBERS(ONE, MANY)                                                                                       \
  ONE(jobs_per_day, true, 0, 1e12)                                                                                     \
  MANY(hours, 24, true, 0, MAX_FACTOR)                                                                                 \
  MANY(weekdays, 7, true, 0, MAX_FACTOR)                                                                               \
  ONE(repeat_probability, false, 0, 0.99)                                                                              \
  ONE(limit_share, false, 0, 1)                                                                                        \
  MANY(limit_ratios, STRATA *HR_WORKLOAD_MODEL_LIMIT_KNOTS, false, 0, 1e9)
#define SIZE_NUMBERS(ONE, MANY)                                                                                        \
  ONE(share, true, 0, MAX_FACTOR)                                                                                      \
  ONE(user_share, false, 0, 0.95)                                                                                      \
  MANY(run_s, HR_WORKLOAD_MODEL_RUN_KNOTS, true, 0, MAX_SECONDS)                                                       \
  MANY(completed, STRATA, false, 0, 1)                                                                                 \
  MANY(failed, STRATA, false, 0, 1)                                                                                    \
  MANY(cancelled, STRATA, false, 0, 1)

#define WORD(name, text) text,
static const char *const classes[] = {HR_JOB_CLASS_TABLE(WORD) NULL};

#define ONE_NUMBER(key, must, low, high) {#key, REAL(low, high), .required = must},
#define MANY_NUMBERS(key, n, must, low, high) {#key, LIST(n, n, EACH(REAL(low, high))), .required = must},

#define REQUEST struct hr_workload_model_request
static const struct hr__key request_keys[] = {
    {"share", REAL(0, MAX_FACTOR), MUST, AT(DOUBLE, REQUEST, share)},
    {"gpus", WHOLE(0, HR_MAX_GPUS), MUST, AT(INTEGER, REQUEST, gpus)},
    {"tasks", WHOLE(1, HR_MAX_GPUS), DEFAULT("1"), AT(INTEGER, REQUEST, tasks)},
    {"gpu_milli", WHOLE(1, 1000), DEFAULT("1000"), AT(INTEGER, REQUEST, gpu_milli)},
    {"cpu_milli", WHOLE(0, 1e9), AT(INTEGER, REQUEST, cpu_milli)},
    {"mem_mib", WHOLE(0, 1073741824.0), AT(INTEGER, REQUEST, mem_mib)},
    {"gpu_type", TEXT(1, 100000.0), AT(TEXT, REQUEST, gpu_type)},
    {"class", CHOICE(classes), AT(INTEGER, REQUEST, class_)},
    END};

static const struct hr__key size_keys[] = {
    SIZE_NUMBERS(ONE_NUMBER, MANY_NUMBERS) /* each row ends with a comma */
    {"requests", LIST(1, HR_WORKLOAD_MODEL_MAX_REQUESTS, EACH(OBJECT(request_keys))), MUST},
    END};

static const struct hr__key model_keys[] = {
    {"headroom_workload", WHOLE(HR_WORKLOAD_MODEL_VERSION, HR_WORKLOAD_MODEL_VERSION), MUST},
    {"$schema", TEXT(0, MAX_TEXT)},
    {"name", NAME, MUST},
    {"source", TEXT(0, MAX_TEXT)},
    MODEL_NUMBERS(ONE_NUMBER, MANY_NUMBERS) /* each row ends with a comma */
    {"weeks", LIST(1, HR_WORKLOAD_MODEL_MAX_WEEKS, EACH(REAL(0, MAX_FACTOR))), MUST},
    {"users", LIST(1, HR_WORKLOAD_MODEL_MAX_PEOPLE, EACH(REAL(0, MAX_FACTOR)))},
    {"tenants", LIST(1, HR_WORKLOAD_MODEL_MAX_PEOPLE, EACH(REAL(0, MAX_FACTOR)))},
    {"sizes", LIST(1, HR_WORKLOAD_MODEL_MAX_SIZES, EACH(OBJECT(size_keys))), MUST},
    END};
const struct hr__key hr__workload_model_keys = {"", OBJECT(model_keys)};

/* Where the numbers of a key are stored: `count` values of type double at `offset` in the struct. */
struct numbers {
  const char *key;
  size_t offset;
  uint32_t count;
  bool required;
};
#define MODEL_PLACE(key, required, ...) {#key, offsetof(struct hr_workload_model, key), 1, required},
#define MODEL_PLACES(key, n, required, ...) {#key, offsetof(struct hr_workload_model, key), n, required},
#define SIZE_PLACE(key, required, ...) {#key, offsetof(struct hr_workload_model_size, key), 1, required},
#define SIZE_PLACES(key, n, required, ...) {#key, offsetof(struct hr_workload_model_size, key), n, required},
static const struct numbers model_numbers[] = {MODEL_NUMBERS(MODEL_PLACE, MODEL_PLACES){NULL, 0, 0, false}};
static const struct numbers size_numbers[] = {SIZE_NUMBERS(SIZE_PLACE, SIZE_PLACES){NULL, 0, 0, false}};

/* ---- Reading ---------------------------------------------------------------------------------------- */

/* Copies a number, or a list of numbers, to `numbers`. Does nothing if `value` is NULL. */
static void take(const cJSON *value, double *numbers) {
  if (cJSON_IsNumber(value)) *numbers = value->valuedouble;
  for (const cJSON *item = cJSON_IsArray(value) ? value->child : NULL; item; item = item->next)
    *numbers++ = item->valuedouble;
}

static void read_numbers(const cJSON *object, const struct numbers *numbers, void *to) {
  for (; numbers->key; numbers++) take(hr__get(object, numbers->key), (double *)(void *)((char *)to + numbers->offset));
}

/* Checks the `n` numbers of the key `key`: at least one must be above 0, and their mean must be at most `max_mean`. */
static enum hr_status check(struct hr__builder *builder, const char *key, const double *numbers, uint32_t n,
                            double max_mean) {
  const cJSON *root = builder->source.file.tree;
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += numbers[i];
  if (!(sum > 0)) return hr__build_fail_at(builder, root, key, "all numbers are 0; at least one above 0 is expected");
  if (sum / n <= max_mean) return HR_OK;
  return hr__build_fail_at(builder, root, key, "the mean of these factors is %.3g; about 1 is expected, at most %g",
                           sum / n, max_mean);
}

static enum hr_status read_shares(struct hr__builder *builder, const char *key, double **shares, uint32_t *n) {
  const cJSON *list = hr__get(builder->source.file.tree, key);
  *n = (uint32_t)cJSON_GetArraySize(list);
  *shares = calloc(*n + (size_t)1, sizeof **shares);
  if (!*shares) return hr__build_no_memory(builder);
  take(list, *shares);
  return *n ? check(builder, key, *shares, *n, HUGE_VAL) : HR_OK;
}

static enum hr_status read_request(struct hr__builder *builder, const cJSON *json,
                                   struct hr_workload_model_size *size) {
  struct hr_workload_model_request *request = &size->requests[size->n_requests++];
  enum hr_status status = hr__read(builder, json, request_keys, request);
  if (status != HR_OK) return status;
  if (request->gpus % request->tasks == 0) return HR_OK;
  return hr__build_fail_at(builder, json, "tasks", "%u GPUs cannot be divided among %u tasks", request->gpus,
                           request->tasks);
}

static enum hr_status check_size(struct hr__builder *builder, const cJSON *json,
                                 const struct hr_workload_model_size *size) {
  double shares = 0;
  for (uint32_t i = 0; i < size->n_requests; i++) shares += size->requests[i].share;
  if (!(shares > 0)) return hr__build_fail_at(builder, json, "requests", "all shares are 0; one above 0 is expected");
  for (uint32_t i = 1; i < HR_WORKLOAD_MODEL_RUN_KNOTS; i++)
    if (size->run_s[i] < size->run_s[i - 1])
      return hr__build_fail_at(builder, json, "run_s", "number %u is below the previous one; quantiles never decrease",
                               i + 1);
  for (uint32_t i = 0; i < STRATA; i++)
    if (size->completed[i] + size->failed[i] + size->cancelled[i] > 1 + 1e-5)
      return hr__build_fail_at(builder, json, "completed",
                               "with 'failed' and 'cancelled', the sum of number %u is above 1", i + 1);
  return HR_OK;
}

static enum hr_status read_size(struct hr__builder *builder, const cJSON *json, struct hr_workload_model_size *size) {
  read_numbers(json, size_numbers, size);
  const cJSON *list = hr__get(json, "requests");
  enum hr_status status = HR_OK;
  for (const cJSON *item = list->child; item && status == HR_OK; item = item->next) {
    status = read_request(builder, item, size);
  }
  return status == HR_OK ? check_size(builder, json, size) : status;
}

static enum hr_status read_sizes(struct hr__builder *builder, struct hr_workload_model *model) {
  const cJSON *list = hr__get(builder->source.file.tree, "sizes");
  double shares = 0;
  enum hr_status status = HR_OK;
  for (const cJSON *item = list->child; item && status == HR_OK; item = item->next) {
    struct hr_workload_model_size *size = &model->sizes[model->n_sizes++];
    status = read_size(builder, item, size);
    shares += size->share;
  }
  return status == HR_OK ? check(builder, "sizes", &shares, 1, HUGE_VAL) : status;
}

static enum hr_status build(struct hr__builder *builder, struct hr_workload_model *model) {
  const cJSON *root = builder->source.file.tree, *version = hr__get(root, "headroom_workload");
  if (cJSON_IsNumber(version) && version->valuedouble == 1) /* version 1 had other keys */
    return hr__build_fail_at(builder, root, "headroom_workload",
                             "workload models of version 1 are no longer read; fit the model again to its trace with "
                             "'headroom trace generate --like TRACE --model-out FILE'");
  enum hr_status status =
      hr__source_validate(&builder->source, &hr__workload_model_keys, "the workload model", builder->error);
  if (status != HR_OK) return status;
  model->name = strdup(hr__text_of(root, "name", ""));
  model->source = strdup(hr__text_of(root, "source", ""));
  if (!model->name || !model->source) return hr__build_no_memory(builder);
  read_numbers(root, model_numbers, model);
  take(hr__get(root, "weeks"), model->weeks);
  model->n_weeks = (uint32_t)cJSON_GetArraySize(hr__get(root, "weeks"));
  if (model->limit_share > 0 && !hr__get(root, "limit_ratios"))
    return hr__build_fail_at(builder, root, "limit_share", "needs 'limit_ratios'");
  status = check(builder, "jobs_per_day", &model->jobs_per_day, 1, HUGE_VAL);
  if (status == HR_OK) status = check(builder, "hours", model->hours, 24, 2);
  if (status == HR_OK) status = check(builder, "weekdays", model->weekdays, 7, 2);
  if (status == HR_OK) status = check(builder, "weeks", model->weeks, model->n_weeks, 2);
  if (status == HR_OK) status = read_shares(builder, "users", &model->users, &model->n_users);
  if (status == HR_OK) status = read_shares(builder, "tenants", &model->tenants, &model->n_tenants);
  return status == HR_OK ? read_sizes(builder, model) : status;
}

/* Builds a model from the file in the builder. Frees the file, also after an error. */
static enum hr_status build_model(struct hr__builder *builder, struct hr_workload_model **model) {
  struct hr_workload_model *fresh = calloc(1, sizeof *fresh);
  enum hr_status status = fresh ? build(builder, fresh) : hr__build_no_memory(builder);
  hr__json_file_finish(&builder->source.file);
  if (status != HR_OK) hr_workload_model_destroy(fresh);
  *model = status == HR_OK ? fresh : NULL;
  return status;
}

enum hr_status hr_workload_model_load(const char *path, struct hr_workload_model **model, struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path}, .error = error};
  *model = NULL;
  enum hr_status status = hr__json_file_read(path, &builder.source.file, error);
  return status == HR_OK ? build_model(&builder, model) : status;
}

const char *const *hr_workload_model_names(void) {
  static const char *const names[] = {"philly", "helios", "pai", "acme-seren", "acme-kalos", NULL};
  return names;
}

#define SHIPPED(name)                                                                                                  \
  { hr__workload_##name, hr__workload_##name##_size }
enum hr_status hr_workload_model_shipped(const char *name, struct hr_workload_model **model, struct hr_error *error) {
  const struct {
    const unsigned char *bytes;
    size_t size;
  } texts[] = {SHIPPED(philly), SHIPPED(helios), SHIPPED(pai), SHIPPED(acme_seren), SHIPPED(acme_kalos)};
  struct hr__builder builder = {.source = {.path = name}, .error = error};
  const char *const *names = hr_workload_model_names();
  uint32_t at = 0;
  *model = NULL;
  while (names[at] && strcmp(names[at], name) != 0) at++;
  if (!names[at]) return hr_fail(error, HR_BAD_INPUT, "'%.200s' is not a shipped workload model", name);
  enum hr_status status = hr__json_file_copy(name, texts[at].bytes, texts[at].size, &builder.source.file, error);
  return status == HR_OK ? build_model(&builder, model) : status;
}

/* Returns true if the file is a workload model. Also returns true if the file is not valid JSON, but the key of a model
   is near its beginning. The caller then reads the file as a model, and this reports the error in the JSON text. */
bool hr_workload_model_is_file(const char *path) {
  char start[4096];
  struct stat info;
  struct hr__json_file json = {0};
  const char *at = hr__input_path(path);
  FILE *file = at && stat(at, &info) == 0 && S_ISREG(info.st_mode) ? fopen(at, "rb") : NULL;
  if (!file) return false;
  start[fread(start, 1, sizeof start - 1, file)] = '\0';
  fclose(file);
  bool is_json = hr__json_file_read(path, &json, NULL) == HR_OK;
  bool is_model =
      is_json ? hr__get(json.tree, "headroom_workload") != NULL : strstr(start, "\"headroom_workload\"") != NULL;
  if (is_json) hr__json_file_finish(&json);
  return is_model;
}

/* Adds `item` to an object, or to a list if `key` is NULL. If `item` is NULL or memory runs out, sets `*failed`. */
static void put(bool *failed, cJSON *to, const char *key, cJSON *item) {
  bool added = item && (key ? cJSON_AddItemToObject(to, key, item) : cJSON_AddItemToArray(to, item));
  if (!added) cJSON_Delete(item);
  *failed = *failed || !added;
}

static cJSON *put_new(bool *failed, cJSON *to, const char *key, cJSON *item) {
  put(failed, to, key, item);
  return *failed ? NULL : item;
}

/* Adds the numbers of a struct to `to`. An optional key is omitted if all its numbers are 0. */
static void put_numbers(bool *failed, cJSON *to, const struct numbers *numbers, const void *from) {
  for (; numbers->key; numbers++) {
    const double *first = (const double *)(const void *)((const char *)from + numbers->offset);
    bool any = numbers->required;
    for (uint32_t i = 0; i < numbers->count; i++) any = any || first[i] > 0;
    int count = (int)numbers->count;
    if (any)
      put(failed, to, numbers->key, count > 1 ? cJSON_CreateDoubleArray(first, count) : cJSON_CreateNumber(*first));
  }
}

static void put_request(bool *failed, cJSON *to, const struct hr_workload_model_request *request) {
  put(failed, to, "share", cJSON_CreateNumber(request->share));
  put(failed, to, "gpus", cJSON_CreateNumber(request->gpus));
  if (request->tasks != 1) put(failed, to, "tasks", cJSON_CreateNumber(request->tasks));
  if (request->gpu_milli != 1000) put(failed, to, "gpu_milli", cJSON_CreateNumber(request->gpu_milli));
  if (request->cpu_milli) put(failed, to, "cpu_milli", cJSON_CreateNumber(request->cpu_milli));
  if (request->mem_mib) put(failed, to, "mem_mib", cJSON_CreateNumber((double)request->mem_mib));
  if (request->gpu_type) put(failed, to, "gpu_type", cJSON_CreateString(request->gpu_type));
  if (request->class_) put(failed, to, "class", cJSON_CreateString(classes[request->class_]));
}

/* Returns the model as JSON text, which the caller frees with cJSON_free(); NULL if out of memory. cJSON writes each
   number with 15 significant digits, or with 17 if the relative error of 15 digits exceeds DBL_EPSILON. */
static char *model_text(const struct hr_workload_model *model) {
  bool failed = false;
  cJSON *root = cJSON_CreateObject();
  put(&failed, root, "headroom_workload", cJSON_CreateNumber(HR_WORKLOAD_MODEL_VERSION));
  put(&failed, root, "name", cJSON_CreateString(model->name));
  put(&failed, root, "source", cJSON_CreateString(model->source));
  put_numbers(&failed, root, model_numbers, model);
  put(&failed, root, "weeks", cJSON_CreateDoubleArray(model->weeks, (int)model->n_weeks));
  if (model->n_users) put(&failed, root, "users", cJSON_CreateDoubleArray(model->users, (int)model->n_users));
  if (model->n_tenants) put(&failed, root, "tenants", cJSON_CreateDoubleArray(model->tenants, (int)model->n_tenants));
  cJSON *sizes = put_new(&failed, root, "sizes", cJSON_CreateArray());
  for (uint32_t i = 0; i < model->n_sizes; i++) {
    cJSON *size = put_new(&failed, sizes, NULL, cJSON_CreateObject());
    put_numbers(&failed, size, size_numbers, &model->sizes[i]);
    cJSON *requests = put_new(&failed, size, "requests", cJSON_CreateArray());
    for (uint32_t k = 0; k < model->sizes[i].n_requests; k++)
      put_request(&failed, put_new(&failed, requests, NULL, cJSON_CreateObject()), &model->sizes[i].requests[k]);
  }
  char *text = failed ? NULL : cJSON_Print(root);
  cJSON_Delete(root);
  return text;
}

enum hr_status hr_workload_model_write(const struct hr_workload_model *model, const char *path,
                                       struct hr_error *error) {
  struct hr__output_file file;
  char *text = model_text(model);
  if (!text) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  enum hr_status status = hr__output_open(&file, path, error);
  if (status == HR_OK) {
    hr__output_write(&file, text, strlen(text));
    hr__output_write(&file, "\n", 1);
    status = hr__output_commit(&file, error);
  }
  cJSON_free(text);
  return status;
}
