/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of each object are sorted, so that a large one costs no more than reading it. */

#include "traces/json_repeat.h"

#include <stdlib.h>
#include <string.h>

struct member {
  const char *key;
  uint32_t ordinal;
};

struct search {
  struct hr__json_repeat *repeat;
  struct member *members; /* of the object that is looked at */
  size_t capacity;
};

static int by_key(const void *left, const void *right) {
  const struct member *a = left, *b = right;
  int order = strcmp(a->key, b->key);
  return order ? order : a->ordinal < b->ordinal ? -1 : 1;
}

static bool list_members(struct search *search, const cJSON *object, uint32_t *count) {
  *count = 0;
  for (const cJSON *member = object->child; member; member = member->next) {
    if (*count == search->capacity) {
      size_t capacity = search->capacity ? search->capacity * 2 : 16;
      struct member *grown = realloc(search->members, capacity * sizeof *grown);
      if (!grown) return false;
      search->members = grown;
      search->capacity = capacity;
    }
    search->members[*count] = (struct member){member->string, *count};
    ++*count;
  }
  return true;
}

/* The first member of the object whose key stands before it. */
static bool search_object(struct search *search, const cJSON *object) {
  struct hr__json_repeat *repeat = search->repeat;
  uint32_t count;
  if (!list_members(search, object, &count)) return false;
  if (count > 1) qsort(search->members, count, sizeof *search->members, by_key);
  for (uint32_t i = 1; i < count; i++) {
    const struct member *member = &search->members[i];
    if (strcmp(member[-1].key, member->key) != 0) continue;
    if (repeat->key && repeat->ordinals[repeat->depth] < member->ordinal) continue;
    repeat->key = member->key;
    repeat->ordinals[repeat->depth] = member->ordinal;
  }
  if (repeat->key) repeat->depth++;
  return true;
}

static bool search_value(struct search *search, const cJSON *value) {
  struct hr__json_repeat *repeat = search->repeat;
  if (cJSON_IsObject(value) && !search_object(search, value)) return false;
  uint32_t ordinal = 0;
  for (const cJSON *child = value->child; child && !repeat->key; child = child->next, ordinal++) {
    if (!child->child) continue;
    repeat->ordinals[repeat->depth++] = ordinal;
    if (!search_value(search, child)) return false;
    if (!repeat->key) repeat->depth--;
  }
  return true;
}

bool hr__json_repeat_find(const cJSON *tree, struct hr__json_repeat *repeat) {
  struct search search = {.repeat = repeat};
  *repeat = (struct hr__json_repeat){0};
  bool good = search_value(&search, tree);
  free(search.members);
  return good;
}
