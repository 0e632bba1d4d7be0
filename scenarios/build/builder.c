/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that all sections of a scenario use: errors with their place in the file, numbers, files, the catalogue,
 * notes on pools, and the reader that fills structs from JSON by key tables.
 *
 * Notes on pools are a list of distinct texts, so fifty pools with the same note add one note to the scenario. The
 * list is short, so it is searched linearly.
 */

#include "scenarios/build/builder.h"

#include "base/containers.h"
#include "traces/core/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Errors ----------------------------------------------------------------------------------------- */

enum { LONGEST_MESSAGE = 800, LONGEST_POOL_NOTE = 700, LONGEST_NOTE = 1000 };

#define FORMAT_MESSAGE(message, bytes, format)                                                                         \
  char message[bytes];                                                                                                 \
  va_list args;                                                                                                        \
  va_start(args, format);                                                                                              \
  vsnprintf(message, sizeof message, format, args);                                                                    \
  va_end(args)

enum hr_status hr__build_fail(const struct hr__builder *builder, const cJSON *value, const char *format, ...) {
  FORMAT_MESSAGE(message, LONGEST_MESSAGE, format);
  return hr__source_fail(&builder->source, value, false, builder->error, "%s", message);
}

enum hr_status hr__build_fail_key(const struct hr__builder *builder, const cJSON *value, const char *format, ...) {
  FORMAT_MESSAGE(message, LONGEST_MESSAGE, format);
  return hr__source_fail(&builder->source, value, true, builder->error, "%s", message);
}

enum hr_status hr__build_check_idle(const struct hr__builder *builder, const cJSON *object,
                                    const struct hr__idle_key *rows) {
  for (; rows->key; rows++)
    if (hr__has(object, rows->key) && hr__has(object, rows->other) == rows->beside)
      return hr__build_fail_at(builder, object, rows->key, "'%s' has no effect %s '%s'", rows->key,
                               rows->beside ? "beside" : "without", rows->other);
  return HR_OK;
}

enum hr_status hr__build_check_distinct(const struct hr__builder *builder, const cJSON *list) {
  const cJSON *entry = hr__repeated(list, NULL);
  return entry ? hr__build_fail(builder, entry, "duplicate '%.60s'; keep one", entry->valuestring) : HR_OK;
}

enum hr_status hr__build_fail_at(const struct hr__builder *builder, const cJSON *object, const char *name,
                                 const char *format, ...) {
  FORMAT_MESSAGE(message, LONGEST_MESSAGE, format);
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

enum hr_status hr__build_note(const struct hr__builder *builder, const char *format, ...) {
  FORMAT_MESSAGE(note, LONGEST_NOTE, format);
  const enum hr_status status = hr_notes_add(&builder->scenario->notes, "%s", note);
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* ---- The tree --------------------------------------------------------------------------------------- */

static const char *text_in(const cJSON *entry, const char *name) {
  return name ? hr__text_of(entry, name, "") : entry->valuestring;
}

const cJSON *hr__repeated(const cJSON *list, const char *name) {
  for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next)
    for (const cJSON *other = list->child; other != entry; other = other->next)
      if (strcmp(text_in(entry, name), text_in(other, name)) == 0) return entry;
  return NULL;
}

const char *hr__scalar_text(const cJSON *value, char buffer[32]) {
  if (cJSON_IsString(value)) return value->valuestring;
  if (cJSON_IsBool(value)) return cJSON_IsTrue(value) ? "true" : "false";
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(buffer, 32, "%.*g", digits, value->valuedouble);
    if (strtod(buffer, NULL) == value->valuedouble) break;
  }
  return buffer;
}

/* The double is formatted as the shortest decimal that reads back as the same double, and this decimal is parsed. If
   the number in the file has at most 15 significant digits, the decimal equals this number, so the result is exact. */
int64_t hr__micros(const cJSON *number) {
  static const struct hr__number_rule micros = {.factor = 1000000, .max = INT64_MAX};
  char buffer[32];
  const char *text = hr__scalar_text(number, buffer);
  /* stays 0 if parsing fails, which is impossible because the key table has checked the bounds of the number */
  uint64_t value = 0;
  const bool negative = *text == '-';
  text += negative;
  (void)hr__number_parse((struct hr_text){text, strlen(text)}, &micros, &value);
  return negative ? -(int64_t)value : (int64_t)value;
}

/* ---- Files ------------------------------------------------------------------------------------------ */

/* The first `folder` bytes of `path` are a folder, including its final '/'. Returns the length of the path of its
   parent, also including the final '/'. Returns `folder` if the parent cannot be derived from the text of the path:
   - the last component of the folder is ".", ".." or a symbolic link, or does not exist;
   - the path is empty or too long. */
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

char *hr__stem(const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  return dot && dot != base ? strndup(base, (size_t)(dot - base)) : strdup(base);
}

/* ---- The catalogue ---------------------------------------------------------------------------------- */

static enum hr_status load_catalog(struct hr__builder *builder, const cJSON *names) {
  const struct hr__key *keys = hr__table_of(&hr__scenario_keys, "catalog");
  struct hr_catalog_files files = {0};
  enum hr_status status = hr__read(builder, names, keys, &files);
  if (status == HR_OK) status = hr_catalog_load(&files, &builder->own_catalog, builder->error);
  builder->catalog = builder->own_catalog;
  hr__finish_values(keys, &files);
  return status;
}

enum hr_status hr__open_catalog(struct hr__builder *builder) {
  const cJSON *files = hr__get(builder->source.file.tree, "catalog");
  if (!builder->catalog && !files) builder->catalog = builder->shared_catalog;
  return builder->catalog ? HR_OK : load_catalog(builder, files);
}

/* ---- Pools ------------------------------------------------------------------------------------------ */

uint32_t hr__pool_named(const struct hr_cluster_spec *cluster, const char *name, size_t length) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (strlen(cluster->pools[i].name) == length && memcmp(cluster->pools[i].name, name, length) == 0) return i;
  return HR_NONE;
}

bool hr__nearest_pool(const struct hr_cluster_spec *cluster, const char *word, const char **nearest) {
  const char **names = calloc((size_t)cluster->n_pools + 1, sizeof *names);
  if (!names) return false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) names[i] = cluster->pools[i].name;
  *nearest = hr_nearest_word(word, names);
  free(names);
  return true;
}

/* ---- Notes on pools --------------------------------------------------------------------------------- */

enum { POOLS_NAMED = 3, NAMES_BYTES = 700 };

struct hr__pool_note {
  char *text;
  char *pools[POOLS_NAMED]; /* names of the first pools with this note; NULL: there are fewer */
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
  FORMAT_MESSAGE(text, LONGEST_POOL_NOTE, format);
  return add_note(builder->pool_notes, pool, text) ? HR_OK : hr__build_no_memory(builder);
}

/* Writes the names of the pools with a note, such as "'a', 'b', 'c' and 47 more". */
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

/* ---- Structs from JSON --------------------------------------------------------------------------------- */

/*
 * Fills structs from JSON by the rows of key tables.
 *
 * The tree has been checked against the tables, so every value has the type of its key. store_integer() stores enums,
 * counts, times and amounts of money; the row of the key has the size of the integer.
 */

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
  return (uint64_t)(int64_t)value->valuedouble;
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

/* Stores the value of a key in the struct at `to`. */
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
  case HR__STORE_PART: {
    const bool is_word = key->or_words && cJSON_IsString(value);
    const enum hr_status status = hr__read(builder, is_word ? NULL : value, key->keys, at);
    return status == HR_OK && is_word ? store(builder, key->keys, value, at) : status;
  }
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

enum hr_status hr__read_at(struct hr__builder *builder, const cJSON *object, const char *path, void *to) {
  return hr__read(builder, object, hr__table_of(&hr__scenario_keys, path), to);
}

enum hr_status hr__read_values(struct hr__builder *builder, const cJSON *object, const struct hr__key *keys, void *to) {
  enum hr_status status = HR_OK;
  for (; keys->name && status == HR_OK; keys++)
    if (keys->type != HR__KEY_OBJECT && keys->type != HR__KEY_LIST) status = read_key(builder, object, keys, to);
  return status;
}

static uint64_t count_of(const struct hr__key *key, const char *object) {
  uint32_t four = 0;
  uint64_t eight = 0;
  if (key->count_bytes == sizeof four) memcpy(&four, object + key->count_offset, sizeof four);
  if (key->count_bytes == sizeof eight) memcpy(&eight, object + key->count_offset, sizeof eight);
  return key->count_bytes == sizeof four ? four : eight;
}

static void finish_array(const struct hr__key *key, const char *object) {
  char *entries;
  memcpy(&entries, object + key->offset, sizeof entries);
  const struct hr__key *entry = key->keys;
  const struct hr__key *keys = entry->type == HR__KEY_OBJECT ? entry->keys : entry;
  uint64_t count = entries ? count_of(key, object) : 0;
  for (uint64_t i = 0; i < count; i++) hr__finish_values(keys, entries + i * key->bytes);
  free(entries);
}

void hr__finish_values(const struct hr__key *keys, void *object) {
  for (; keys->name; keys++) {
    char *at = (char *)object + keys->offset, *text;
    if (keys->store == HR__STORE_TEXT || keys->store == HR__STORE_FILE) {
      memcpy(&text, at, sizeof text);
      free(text);
    } else if (keys->store == HR__STORE_PART) {
      hr__finish_values(keys->keys, at);
    } else if (keys->store == HR__STORE_ARRAY) {
      finish_array(keys, object);
    }
  }
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
