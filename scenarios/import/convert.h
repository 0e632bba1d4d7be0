/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_IMPORT_CONVERT_H
#define HR_SCENARIOS_IMPORT_CONVERT_H

/*
 * Copies checked fields of Kubernetes objects to keys of a scenario. All functions accept NULL as the object to which
 * they add, and set `failed` if memory is exhausted, so callers check it once at the end. A field that is missing or
 * null adds nothing.
 */

#include "scenarios/import/manifest.h"

#include <stdlib.h>
#include <string.h>

struct hr__convert {
  struct hr__objects *objects;
  bool failed; /* out of memory */
};

/* Adds `item` with a key to an object or, if `key` is NULL, to a list. */
static inline cJSON *hr__put(struct hr__convert *convert, cJSON *to, const char *key, cJSON *item) {
  bool added = to && item && (key ? cJSON_AddItemToObject(to, key, item) : cJSON_AddItemToArray(to, item));
  if (added) return item;
  cJSON_Delete(item);
  convert->failed = true;
  return NULL;
}

static inline cJSON *hr__put_object(struct hr__convert *convert, cJSON *to, const char *key) {
  return hr__put(convert, to, key, cJSON_CreateObject());
}

static inline cJSON *hr__put_list(struct hr__convert *convert, cJSON *to, const char *key) {
  return hr__put(convert, to, key, cJSON_CreateArray());
}

static inline void hr__put_text(struct hr__convert *convert, cJSON *to, const char *key, const char *text) {
  hr__put(convert, to, key, cJSON_CreateString(text));
}

static inline void hr__put_number(struct hr__convert *convert, cJSON *to, const char *key, double number) {
  hr__put(convert, to, key, cJSON_CreateNumber(number));
}

static inline void hr__put_boolean(struct hr__convert *convert, cJSON *to, const char *key, bool value) {
  hr__put(convert, to, key, cJSON_CreateBool(value));
}

/* Removes a member that is an empty object or list. */
static inline void hr__drop_empty(cJSON *from, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, key);
  if (item && !item->child) cJSON_DeleteItemFromObjectCaseSensitive(from, key);
}

/* Copy the value at a path of an object. */
static inline void hr__copy_text(struct hr__convert *convert, cJSON *to, const char *key, const struct hr__yaml *from,
                                 const char *path) {
  const char *text = hr__yaml_text(from, path);
  if (text && text[0]) hr__put_text(convert, to, key, text);
}

static inline void hr__copy_number(struct hr__convert *convert, cJSON *to, const char *key, const struct hr__yaml *from,
                                   const char *path) {
  const char *text = hr__yaml_text(from, path);
  if (text) hr__put_number(convert, to, key, strtod(text, NULL));
}

static inline void hr__copy_boolean(struct hr__convert *convert, cJSON *to, const char *key,
                                    const struct hr__yaml *from, const char *path) {
  const struct hr__yaml *value = hr__yaml_at(from, path);
  if (value) hr__put_boolean(convert, to, key, hr__is_true(value));
}

/* A duration, in seconds. */
static inline void hr__copy_seconds(struct hr__convert *convert, cJSON *to, const char *key,
                                    const struct hr__yaml *from, const char *path) {
  int64_t us;
  const char *text = hr__yaml_text(from, path);
  if (text && hr__duration(text, &us)) hr__put_number(convert, to, key, (double)us / 1e6);
}

/* A quantity: as a number if it is a small whole number, otherwise as it is written. */
static inline void hr__copy_quantity(struct hr__convert *convert, cJSON *to, const char *key,
                                     const struct hr__yaml *from, const char *path) {
  const char *text = hr__yaml_text(from, path);
  if (!text) return;
  if (strspn(text, "0123456789") == strlen(text) && strlen(text) < 15)
    hr__put_number(convert, to, key, strtod(text, NULL));
  else
    hr__put_text(convert, to, key, text);
}

/* A quantity as a number with thousandths, such as 0.5 for "500m". */
static inline void hr__copy_amount(struct hr__convert *convert, cJSON *to, const char *key, const struct hr__yaml *from,
                                   const char *path) {
  int64_t milli;
  const char *text = hr__yaml_text(from, path);
  if (text && hr__quantity_milli(text, &milli)) hr__put_number(convert, to, key, (double)milli / 1000);
}

static inline void hr__copy_texts(struct hr__convert *convert, cJSON *to, const char *key, const struct hr__yaml *from,
                                  const char *path) {
  const struct hr__yaml *list = hr__yaml_at(from, path);
  if (!list || !list->count) return;
  cJSON *copy = hr__put_list(convert, to, key);
  for (const struct hr__yaml *entry = list->first; entry; entry = entry->next)
    hr__put_text(convert, copy, NULL, entry->text);
}

#endif
