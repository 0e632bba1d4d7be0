/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fills structs from JSON, as the rows of key tables say.
 *
 * The tree has been checked against the tables, so every value has the type of its key. The size of an integer is in
 * its row; enums, counts, times and amounts of money are all stored by the same function.
 */

#include "scenarios/build/builder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void store_integer(void *to, uint32_t bytes, uint64_t value) {
  const uint8_t one = (uint8_t)value;
  const uint32_t four = (uint32_t)value;
  memcpy(to, bytes == 1 ? (const void *)&one : bytes == 4 ? (const void *)&four : (const void *)&value, bytes);
}

static uint64_t index_of(const struct hr__key *key, const char *word) {
  uint32_t index = 0;
  while (strcmp(key->choices[index], word) != 0) index++;
  return index + key->first_choice;
}

static uint64_t integer_of(const struct hr__key *key, const cJSON *value) {
  if (key->type == HR__KEY_CHOICE) return index_of(key, value->valuestring);
  if (cJSON_IsString(value)) return strtoumax(value->valuestring, NULL, 10); /* a seed */
  if (cJSON_IsBool(value)) return cJSON_IsTrue(value) ? 1 : 0;
  if (key->type == HR__KEY_REAL) return (uint64_t)llround(value->valuedouble * (key->scale > 0 ? key->scale : 1));
  return (uint64_t)value->valuedouble;
}

static uint64_t micros_of(const struct hr__key *key, const cJSON *value) {
  int64_t micros = hr__micros(value);
  if (key->scale < 1) micros = hr__money_scale(micros, 1, llround(1 / key->scale));
  return (uint64_t)micros;
}

static enum hr_status store_text(struct hr__builder *builder, const struct hr__key *key, const char *text, char **to) {
  *to = key->store == HR__STORE_FILE ? hr__resolve(builder, text) : strdup(text);
  return *to ? HR_OK : hr__build_no_memory(builder);
}

static enum hr_status store(struct hr__builder *builder, const struct hr__key *key, const cJSON *value, char *to);

static enum hr_status store_array(struct hr__builder *builder, const struct hr__key *key, const cJSON *list, char *to) {
  char *entries = calloc((size_t)cJSON_GetArraySize(list) + 1, key->bytes);
  if (!entries) return hr__build_no_memory(builder);
  memcpy(to + key->offset, &entries, sizeof entries);
  uint64_t count = 0;
  for (const cJSON *entry = list->child; entry; entry = entry->next, entries += key->bytes) {
    store_integer(to + key->count_offset, key->count_bytes, ++count);
    enum hr_status status = key->keys->type == HR__KEY_OBJECT ? hr__read(builder, entry, key->keys->keys, entries)
                                                              : store(builder, key->keys, entry, entries);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static enum hr_status store_classes(struct hr__builder *builder, const struct hr__key *key, const cJSON *object,
                                    char *to) {
  const cJSON *fallback = hr__get(object, hr__class_keys[0]);
  enum hr_status status = HR_OK;
  for (unsigned i = 0; i < HR_N_CLASSES && status == HR_OK; i++, to += key->bytes) {
    const cJSON *listed = hr__get(object, hr__class_keys[i]), *entry = listed ? listed : fallback;
    if (entry && key->keys->type == HR__KEY_OBJECT)
      status = hr__read(builder, entry, key->keys->keys, to);
    else if (entry)
      status = store(builder, key->keys, entry, to);
  }
  return status;
}

static uint32_t bits_of(const struct hr__key *key, const cJSON *list) {
  uint32_t bits = 0;
  for (const cJSON *entry = list->child; entry; entry = entry->next)
    bits |= UINT32_C(1) << index_of(key->keys, entry->valuestring);
  return bits;
}

/* Stores a value in the struct at `to`. */
static enum hr_status store(struct hr__builder *builder, const struct hr__key *key, const cJSON *value, char *to) {
  char *at = to + key->offset;
  switch (key->store) {
  case HR__STORE_NONE:
    return HR_OK;
  case HR__STORE_INTEGER:
    store_integer(at, key->bytes, integer_of(key, value));
    return HR_OK;
  case HR__STORE_NOT:
    *(bool *)(void *)at = cJSON_IsFalse(value);
    return HR_OK;
  case HR__STORE_DOUBLE:
    memcpy(at, &value->valuedouble, sizeof value->valuedouble);
    return HR_OK;
  case HR__STORE_MICROS:
    store_integer(at, key->bytes, micros_of(key, value));
    return HR_OK;
  case HR__STORE_TEXT:
  case HR__STORE_FILE:
    return store_text(builder, key, value->valuestring, (char **)(void *)at);
  case HR__STORE_BORROWED:
    memcpy(at, &value->valuestring, sizeof value->valuestring);
    return HR_OK;
  case HR__STORE_PLACED:
    return hr__build_placed(builder, value, value->valuestring, (struct hr_placed_text *)(void *)at);
  case HR__STORE_PART:
    return hr__read(builder, value, key->keys, at);
  case HR__STORE_ARRAY:
    return store_array(builder, key, value, to);
  case HR__STORE_BITS:
    store_integer(at, key->bytes, bits_of(key, value));
    return HR_OK;
  case HR__STORE_BY_CLASS:
    return store_classes(builder, key, value, at);
  }
  return HR_OK;
}

/* Stores the constant default of a key that is missing. */
static enum hr_status store_default(struct hr__builder *builder, const struct hr__key *key, char *to) {
  char text[100];
  if (key->store == HR__STORE_PART) return hr__read(builder, NULL, key->keys, to + key->offset);
  if (!key->fallback || key->store == HR__STORE_NONE) return HR_OK;
  snprintf(text, sizeof text, "%s", key->fallback);
  bool is_number = key->type == HR__KEY_WHOLE || key->type == HR__KEY_REAL || key->type == HR__KEY_SEED;
  cJSON value = {.type = is_number ? cJSON_Number : cJSON_String, .valuestring = text, .valuedouble = 0};
  if (is_number) value.valuedouble = strtod(text, NULL);
  if (key->type == HR__KEY_BOOLEAN) value.type = strcmp(text, "true") == 0 ? cJSON_True : cJSON_False;
  return store(builder, key, &value, to);
}

static enum hr_status read_key(struct hr__builder *builder, const cJSON *object, const struct hr__key *key, void *to) {
  const cJSON *value = strcmp(key->name, "*") == 0 ? NULL : hr__get(object, key->name);
  return value ? store(builder, key, value, to) : store_default(builder, key, to);
}

enum hr_status hr__read(struct hr__builder *builder, const cJSON *object, const struct hr__key *keys, void *to) {
  enum hr_status status = HR_OK;
  for (; keys->name && status == HR_OK; keys++) status = read_key(builder, object, keys, to);
  return status;
}

enum hr_status hr__read_values(struct hr__builder *builder, const cJSON *object, const struct hr__key *keys, void *to) {
  enum hr_status status = HR_OK;
  for (; keys->name && status == HR_OK; keys++)
    if (keys->type != HR__KEY_OBJECT && keys->type != HR__KEY_LIST) status = read_key(builder, object, keys, to);
  return status;
}

enum hr_status hr__check_choice(const struct hr__builder *builder, const cJSON *object, const struct hr__key *keys,
                                const char *noun, unsigned choice, bool complete) {
  const struct hr__key *selects = keys;
  while (!selects->selects) selects++;
  const char *word = selects->choices[choice - selects->first_choice];
  for (const struct hr__key *key = keys; key->name; key++) {
    bool belongs = key->only_with >> choice & 1, stated = hr__has(object, key->name);
    if (key->only_with && stated && !belongs)
      return hr__build_fail_at(builder, object, key->name, "'%s' is not a parameter of the %s '%s'", key->name, noun,
                               word);
    if (complete && key->needed && belongs && !stated)
      return hr__build_fail(builder, object, "the %s '%s' needs '%s'", noun, word, key->name);
  }
  return HR_OK;
}

const struct hr__key *hr__table_of(const struct hr__key *root, const char *path) {
  const struct hr__key *key = root;
  char names[200], *rest;
  snprintf(names, sizeof names, "%s", path);
  for (char *name = strtok_r(names, ".", &rest); name; name = strtok_r(NULL, ".", &rest)) {
    key = hr__key_member(key, name);
    while (key->type == HR__KEY_LIST) key = key->keys;
  }
  return key->keys;
}
