/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all parts of a scenario need: the way through the tree, errors with their place, numbers and files. */

#include "scenarios/build/builder.h"

#include "traces/core/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Errors ----------------------------------------------------------------------------------------- */

enum hr_status hr__build_no_memory(const struct hr__builder *builder) {
  return hr_fail(builder->error, HR_NO_MEMORY, "%s: out of memory", builder->source.path);
}

enum { LONGEST_MESSAGE = 800 };

enum hr_status hr__build_fail(const struct hr__builder *builder, bool at_key, const char *format, ...) {
  char message[LONGEST_MESSAGE];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return hr__source_fail(&builder->source, &builder->place, at_key, builder->error, "%s", message);
}

enum hr_status hr__build_fail_at(struct hr__builder *builder, const cJSON *object, const char *name, const char *format,
                                 ...) {
  char message[LONGEST_MESSAGE];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  (void)hr__build_enter(builder, object, name);
  return hr__source_fail(&builder->source, &builder->place, false, builder->error, "%s", message);
}

enum hr_status hr__build_wrap(const struct hr__builder *builder, bool at_key, enum hr_status status,
                              const struct hr_error *inner) {
  if (status == HR_OK) return HR_OK;
  if (status == HR_BAD_INPUT) return hr__build_fail(builder, at_key, "%s", inner->text);
  return status == HR_NO_MEMORY ? hr__build_no_memory(builder) : hr_fail(builder->error, status, "%s", inner->text);
}

enum hr_status hr__build_placed(const struct hr__builder *builder, const char *text, struct hr_placed_text *placed) {
  struct hr_error here;
  hr__source_fail(&builder->source, &builder->place, false, &here, "%s", "");
  placed->text = strdup(text);
  placed->place = strdup(here.text);
  return placed->text && placed->place ? HR_OK : hr__build_no_memory(builder);
}

/* ---- The tree --------------------------------------------------------------------------------------- */

const cJSON *hr__build_enter(struct hr__builder *builder, const cJSON *object, const char *name) {
  uint32_t ordinal = 0;
  for (const cJSON *member = object ? object->child : NULL; member; member = member->next, ordinal++) {
    if (strcmp(member->string, name) != 0) continue;
    hr__place_enter(&builder->place, ordinal, member->string);
    return member;
  }
  return NULL;
}

void hr__build_leave(struct hr__builder *builder) {
  hr__place_leave(&builder->place);
}

bool hr__has(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name) != NULL;
}

const char *hr__text_of(const cJSON *object, const char *name, const char *fallback) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  return member ? member->valuestring : fallback;
}

double hr__number_of(const cJSON *object, const char *name, double fallback) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  return member ? member->valuedouble : fallback;
}

int64_t hr__span_of(const cJSON *object, const char *name, int64_t fallback) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  return member ? (int64_t)llround(member->valuedouble * (double)HR_SECOND_US) : fallback;
}

const char *hr__scalar_text(const cJSON *value, char buffer[32]) {
  if (cJSON_IsString(value)) return value->valuestring;
  if (cJSON_IsBool(value)) return cJSON_IsTrue(value) ? "true" : "false";
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(buffer, 32, "%.*g", digits, value->valuedouble);
    if (strtod(buffer, NULL) == value->valuedouble) break; /* the very same double is meant */
  }
  return buffer;
}

/* A double's shortest decimal is what a person wrote, as long as that has at most 15 digits. */
int64_t hr__micros_of(const cJSON *object, const char *name, int64_t fallback) {
  static const struct hr__number_rule micros = {.factor = 1000000, .most = INT64_MAX};
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  if (!member) return fallback;
  char buffer[32];
  const char *text = hr__scalar_text(member, buffer);
  uint64_t value = 0; /* bounds were checked: a number that is left is fine */
  (void)hr__number_parse((struct hr_text){text, strlen(text)}, &micros, &value);
  return (int64_t)value;
}

int64_t hr__money_scale(int64_t a, int64_t b, int64_t c) {
  return (int64_t)(((hr_amount)a * b * 2 + c) / ((hr_amount)c * 2));
}

size_t hr__choice_of(const cJSON *object, const char *name, const char *const *words, size_t fallback) {
  const char *word = hr__text_of(object, name, NULL);
  for (size_t i = 0; word && words[i]; i++)
    if (strcmp(words[i], word) == 0) return i;
  return fallback;
}

/* ---- Files ------------------------------------------------------------------------------------------ */

/* The length of `folder`, which ends in '/', without its last component; the whole length when that one is "..", or a
   symbolic link, whose parent is elsewhere. */
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

char *hr__beside(const struct hr__builder *builder, const char *file) {
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
  return resolved;
}

char *hr__resolve(const struct hr__builder *builder, const char *file) {
  char *resolved = hr__beside(builder, file);
  if (!resolved || hr_notes_add(&builder->scenario->files, "%s", resolved) == HR_OK) return resolved;
  free(resolved);
  return NULL;
}
