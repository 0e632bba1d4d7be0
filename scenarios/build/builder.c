/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that all sections of a scenario use: errors with their place in the file, numbers, files,
 * the catalogue, and notes on pools.
 *
 * Notes on pools are a list of distinct texts. A cluster of fifty pools with one price therefore prints one note. The
 * list is short, so it is searched linearly.
 */

#include "scenarios/build/builder.h"

#include "base/array.h"
#include "traces/core/numbers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Errors ----------------------------------------------------------------------------------------- */

enum { LONGEST_MESSAGE = 800 };

#define FORMAT_MESSAGE(message, format)                                                                                \
  char message[LONGEST_MESSAGE];                                                                                       \
  va_list args;                                                                                                        \
  va_start(args, format);                                                                                              \
  vsnprintf(message, sizeof message, format, args);                                                                    \
  va_end(args)

enum hr_status hr__build_fail(const struct hr__builder *builder, const cJSON *value, const char *format, ...) {
  FORMAT_MESSAGE(message, format);
  return hr__source_fail(&builder->source, value, false, builder->error, "%s", message);
}

enum hr_status hr__build_fail_key(const struct hr__builder *builder, const cJSON *value, const char *format, ...) {
  FORMAT_MESSAGE(message, format);
  return hr__source_fail(&builder->source, value, true, builder->error, "%s", message);
}

enum hr_status hr__build_fail_at(const struct hr__builder *builder, const cJSON *object, const char *name,
                                 const char *format, ...) {
  FORMAT_MESSAGE(message, format);
  const cJSON *member = hr__get(object, name);
  return hr__source_fail(&builder->source, member ? member : object, false, builder->error, "%s", message);
}

enum hr_status hr__build_wrap(const struct hr__builder *builder, const cJSON *value, enum hr_status status,
                              const struct hr_error *inner) {
  if (status == HR_OK) return HR_OK;
  if (status == HR_BAD_INPUT) return hr__build_fail(builder, value, "%s", inner->text);
  return status == HR_NO_MEMORY ? hr__build_no_memory(builder) : hr_fail(builder->error, status, "%s", inner->text);
}

enum hr_status hr__build_placed(const struct hr__builder *builder, const cJSON *value, const char *text,
                                struct hr_placed_text *placed) {
  struct hr_error here;
  hr__source_fail(&builder->source, value, false, &here, "%s", "");
  placed->text = strdup(text);
  placed->place = strdup(here.text);
  return placed->text && placed->place ? HR_OK : hr__build_no_memory(builder);
}

/* ---- The tree --------------------------------------------------------------------------------------- */

const char *hr__scalar_text(const cJSON *value, char buffer[32]) {
  if (cJSON_IsString(value)) return value->valuestring;
  if (cJSON_IsBool(value)) return cJSON_IsTrue(value) ? "true" : "false";
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(buffer, 32, "%.*g", digits, value->valuedouble);
    if (strtod(buffer, NULL) == value->valuedouble) break;
  }
  return buffer;
}

/* The double is formatted as the shortest decimal that reads back as the same double, and this text is parsed. If the
   number in the file has at most 15 digits, that text is the number in the file, so the result is exact. */
int64_t hr__micros(const cJSON *number) {
  static const struct hr__number_rule micros = {.factor = 1000000, .max = INT64_MAX};
  char buffer[32];
  const char *text = hr__scalar_text(number, buffer);
  /* stays 0 if parsing fails, which is impossible because the key table has checked the bounds of the number */
  uint64_t value = 0;
  (void)hr__number_parse((struct hr_text){text, strlen(text)}, &micros, &value);
  return (int64_t)value;
}

/* ---- Files ------------------------------------------------------------------------------------------ */

/* Returns the length of the path of the parent folder. The first `folder` bytes of `path` are a folder, including
   its final '/'. If the last component of the folder is ".." or a symbolic link, the parent cannot be derived from
   the path, and `folder` is returned. */
static size_t parent_length(const char *path, size_t folder) {
  char copy[4096];
  struct stat info;
  if (folder < 2 || folder > sizeof copy) return folder;
  memcpy(copy, path, folder);
  copy[folder - 1] = '\0';
  const char *slash = strrchr(copy, '/'), *last = slash ? slash + 1 : copy;
  bool plain = last[0] && strcmp(last, ".") != 0 && strcmp(last, "..") != 0;
  if (!plain || lstat(copy, &info) != 0 || !S_ISDIR(info.st_mode)) return folder;
  return (size_t)(last - copy);
}

char *hr__resolve(const struct hr__builder *builder, const char *file) {
  const char *path = builder->source.path;
  const char *slash = file[0] == '/' ? NULL : strrchr(path, '/');
  size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
  while (strncmp(file, "../", 3) == 0) {
    size_t parent = parent_length(path, folder);
    if (parent == folder) break;
    folder = parent;
    file += 3;
  }
  char *resolved = malloc(folder + strlen(file) + 1);
  if (!resolved) return NULL;
  memcpy(resolved, path, folder);
  strcpy(resolved + folder, file);
  if (!builder->scenario || hr_notes_add(&builder->scenario->files, "%s", resolved) == HR_OK) return resolved;
  free(resolved);
  return NULL;
}

/* ---- The catalogue ---------------------------------------------------------------------------------- */

enum { N_FILES = 9 };
static const char *const file_keys[N_FILES] = {"gpus_file",         "instances_file",      "prices_file",
                                               "regions_file",      "discounts_file",      "spot_presets_file",
                                               "mig_profiles_file", "network_speeds_file", "gpu_names_file"};

static enum hr_status load_catalog(struct hr__builder *builder, const cJSON *names) {
  char *path[N_FILES] = {NULL};
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < N_FILES && status == HR_OK; i++) {
    const char *file = hr__text_of(names, file_keys[i], NULL);
    if (!file) continue;
    path[i] = hr__resolve(builder, file);
    if (!path[i]) status = hr__build_no_memory(builder);
  }
  const struct hr_catalog_files files = {path[0], path[1], path[2], path[3], path[4],
                                         path[5], path[6], path[7], path[8]};
  if (status == HR_OK) status = hr_catalog_load(&files, &builder->catalog, builder->error);
  for (size_t i = 0; i < N_FILES; i++) free(path[i]);
  return status;
}

enum hr_status hr__open_catalog(struct hr__builder *builder) {
  if (builder->catalog) return HR_OK;
  return load_catalog(builder, hr__get(builder->source.file.tree, "catalog"));
}

/* ---- Notes on pools --------------------------------------------------------------------------------- */

enum { POOLS_NAMED = 3, NAMES_BYTES = 700 };

struct hr__pool_note {
  char *text;
  char *pools[POOLS_NAMED]; /* names of the first pools with this note */
  uint32_t count;           /* number of all pools with this note */
};

static struct hr__pool_note *find_note(const struct hr__pool_notes *notes, const char *text) {
  for (size_t i = 0; i < notes->count; i++)
    if (strcmp(notes->at[i].text, text) == 0) return &notes->at[i];
  return NULL;
}

static struct hr__pool_note *append_note(struct hr__pool_notes *notes, const char *text) {
  if (!HR__ARRAY_RESIZE(notes->at, notes->count + 1)) return NULL;
  struct hr__pool_note *note = &notes->at[notes->count];
  *note = (struct hr__pool_note){.text = strdup(text)};
  if (!note->text) return NULL;
  notes->count++;
  return note;
}

static bool add_note(struct hr__pool_notes *notes, const char *pool, const char *text) {
  struct hr__pool_note *note = find_note(notes, text);
  if (!note) note = append_note(notes, text);
  if (!note) return false;
  if (note->count < POOLS_NAMED && !(note->pools[note->count] = strdup(pool))) return false;
  note->count++;
  return true;
}

enum hr_status hr__pool_note(const struct hr__builder *builder, const char *pool, const char *format, ...) {
  char text[700];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return add_note(builder->pool_notes, pool, text) ? HR_OK : hr__build_no_memory(builder);
}

/* Writes "'a', 'b', 'c' and 47 more". */
static void list_pools(const struct hr__pool_note *note, char names[NAMES_BYTES]) {
  size_t used = 0;
  for (uint32_t i = 0; i < note->count && i < POOLS_NAMED; i++)
    used += (size_t)snprintf(names + used, NAMES_BYTES - used, "%s'%.200s'", i ? ", " : "", note->pools[i]);
  if (note->count > POOLS_NAMED)
    snprintf(names + used, NAMES_BYTES - used, " and %" PRIu32 " more", note->count - POOLS_NAMED);
}

static void free_notes(struct hr__pool_notes *notes) {
  for (size_t i = 0; i < notes->count; i++) {
    for (size_t k = 0; k < POOLS_NAMED; k++) free(notes->at[i].pools[k]);
    free(notes->at[i].text);
  }
  free(notes->at);
  *notes = (struct hr__pool_notes){0};
}

enum hr_status hr__pool_notes_move(struct hr__pool_notes *notes, struct hr_notes *to) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; to && i < notes->count && status == HR_OK; i++) {
    char names[NAMES_BYTES];
    list_pools(&notes->at[i], names);
    status = hr_notes_add(to, "pool%s %s: %s", notes->at[i].count > 1 ? "s" : "", names, notes->at[i].text);
  }
  free_notes(notes);
  return status;
}
