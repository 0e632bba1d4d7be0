/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares two scenarios key by key. The depth of the recursion is that of the JSON, which cJSON limits. */

#include "plan/diff/keys.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 300 };

/* The place of a value in both notations. */
struct key_place {
  char path[PATH_BYTES], shown[PATH_BYTES];
};

struct key_walk {
  hr__key_visit *visit;
  void *self;
};

const char *hr__key_value_text(const cJSON *value, char *buffer) {
  char *json = cJSON_IsString(value) ? NULL : cJSON_PrintUnformatted(value);
  const char *text = value && cJSON_IsString(value) ? value->valuestring : json ? json : "";
  snprintf(buffer, HR__KEY_VALUE_BYTES, "%s", text);
  if (strlen(text) >= HR__KEY_VALUE_BYTES) memcpy(buffer + HR__KEY_VALUE_BYTES - 4, "...", 4);
  cJSON_free(json);
  return buffer;
}

static void compare_values(const struct key_walk *walk, const struct key_place *place, const cJSON *before,
                           const cJSON *now);

/* Whether a key of the outermost object has no effect on runs. */
static bool is_ignored(const struct key_place *place, const char *key) {
  return place->path[0] == '\0' && (strcmp(key, "$schema") == 0 || strcmp(key, "description") == 0);
}

static void compare_member(const struct key_walk *walk, const struct key_place *place, const char *key,
                           const cJSON *before, const cJSON *now) {
  struct key_place member;
  const char *dot = place->path[0] ? "." : "";
  if (is_ignored(place, key)) return;
  snprintf(member.path, sizeof member.path, "%.200s%s%.80s", place->path, dot, key);
  snprintf(member.shown, sizeof member.shown, "%.200s%s%.80s", place->shown, dot, key);
  compare_values(walk, &member, before, now);
}

static void compare_objects(const struct key_walk *walk, const struct key_place *place, const cJSON *before,
                            const cJSON *now) {
  for (const cJSON *item = now->child; item; item = item->next)
    compare_member(walk, place, item->string, cJSON_GetObjectItemCaseSensitive(before, item->string), item);
  for (const cJSON *item = before->child; item; item = item->next)
    if (!cJSON_GetObjectItemCaseSensitive(now, item->string)) compare_member(walk, place, item->string, item, NULL);
}

static const char *name_of(const cJSON *entry) {
  const cJSON *name = cJSON_IsObject(entry) ? cJSON_GetObjectItemCaseSensitive(entry, "name") : NULL;
  return name && cJSON_IsString(name) ? name->valuestring : NULL;
}

static const cJSON *named(const cJSON *list, const char *name) {
  for (const cJSON *entry = list->child; entry; entry = entry->next)
    if (name_of(entry) && strcmp(name_of(entry), name) == 0) return entry;
  return NULL;
}

/* Whether all entries have names, and no name twice. */
static bool all_named(const cJSON *list) {
  for (const cJSON *entry = list->child; entry; entry = entry->next)
    if (!name_of(entry) || named(list, name_of(entry)) != entry) return false;
  return true;
}

/* Compares entry `index` of one of the lists. `name`: NULL if entries are matched by index. */
static void compare_entry(const struct key_walk *walk, const struct key_place *place, int index, const char *name,
                          const cJSON *before, const cJSON *now) {
  struct key_place entry;
  snprintf(entry.path, sizeof entry.path, "%.200s.%d", place->path, index);
  if (name)
    snprintf(entry.shown, sizeof entry.shown, "%.200s[%.80s]", place->shown, name);
  else
    snprintf(entry.shown, sizeof entry.shown, "%.200s.%d", place->shown, index);
  compare_values(walk, &entry, before, now);
}

static void compare_lists(const struct key_walk *walk, const struct key_place *place, const cJSON *before,
                          const cJSON *now) {
  bool by_name = all_named(before) && all_named(now);
  int i = 0;
  if (!by_name && cJSON_GetArraySize(before) != cJSON_GetArraySize(now)) {
    walk->visit(walk->self, &(struct hr__key_difference){place->path, place->shown, before, now});
    return;
  }
  for (const cJSON *entry = now->child; entry; entry = entry->next, i++) {
    const char *name = by_name ? name_of(entry) : NULL;
    compare_entry(walk, place, i, name, name ? named(before, name) : cJSON_GetArrayItem(before, i), entry);
  }
  i = 0;
  for (const cJSON *entry = before->child; by_name && entry; entry = entry->next, i++)
    if (!named(now, name_of(entry))) compare_entry(walk, place, i, name_of(entry), entry, NULL);
}

static void compare_values(const struct key_walk *walk, const struct key_place *place, const cJSON *before,
                           const cJSON *now) {
  if (before && now && cJSON_IsObject(before) && cJSON_IsObject(now))
    compare_objects(walk, place, before, now);
  else if (before && now && cJSON_IsArray(before) && cJSON_IsArray(now))
    compare_lists(walk, place, before, now);
  else if (!before || !now || !cJSON_Compare(before, now, true))
    walk->visit(walk->self, &(struct hr__key_difference){place->path, place->shown, before, now});
}

void hr__keys_compare(const cJSON *before, const cJSON *now, hr__key_visit *visit, void *self) {
  const struct key_walk walk = {visit, self};
  const struct key_place root = {.path = "", .shown = ""};
  compare_values(&walk, &root, before, now);
}
