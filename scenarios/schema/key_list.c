/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists the keys of scenarios with their paths, types and defaults in words.
 *
 * A walk through the tables visits each key before its members. The parameters of policies are not in the tables, but
 * in those of the policies; they are listed as members of `policy`.
 */

#include "base/array.h"
#include "headroom/policies.h"
#include "headroom/unstable/scenario_keys.h"
#include "scenarios/schema/keys.h"

#include <stdio.h>
#include <stdlib.h>

struct key_list {
  struct hr_scenario_key *at;
  uint32_t count, capacity;
};

enum { MAX_PATH = 300 };

/* Writes the type without its article. The bounds of objects and of long texts are not of interest. */
static char *type_text(const struct hr__key *key) {
  char text[600];
  if (key->type == HR__KEY_OBJECT) return strdup("object");
  if (key->type == HR__KEY_TEXT) {
    snprintf(text, sizeof text, "text of at most %.15g bytes", key->max);
    return strdup(key->max < MAX_TEXT ? text : "text");
  }
  hr__key_expected(key, text, sizeof text);
  return strdup(text + (strncmp(text, "an ", 3) == 0 ? 3 : strncmp(text, "a ", 2) == 0 ? 2 : 0));
}

/* Writes "market reserved or spot". `parent` has the choice on which the key depends. Returns NULL if out of memory. */
static char *choice_text(const struct hr__key *parent, uint32_t values) {
  const struct hr__key *choice = parent->keys;
  char text[300];
  while (!choice->selects) choice++;
  size_t used = (size_t)snprintf(text, sizeof text, "%s", choice->name);
  const char *before = " ";
  for (uint32_t i = 0; choice->choices[i] && used < sizeof text; i++) {
    if (!(values >> (i + choice->first_choice) & 1)) continue;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", before, choice->choices[i]);
    before = " or ";
  }
  return strdup(text);
}

static bool append(struct key_list *list, struct hr_scenario_key key) {
  bool is_whole = key.path && key.type && HR__ARRAY_HAS_ROOM(list->at, list->count, list->capacity);
  if (is_whole) {
    list->at[list->count++] = key;
    return true;
  }
  free(key.path);
  free(key.type);
  free(key.only_with);
  free(key.fallback);
  return false;
}

static bool add_key(struct key_list *list, const struct hr__key *parent, const struct hr__key *key, const char *path) {
  const char *fallback = key->fallback ? key->fallback : key->otherwise;
  struct hr_scenario_key entry = {.path = strdup(path),
                                  .type = type_text(key),
                                  .only_with = key->only_with ? choice_text(parent, key->only_with) : NULL,
                                  .fallback = fallback ? strdup(fallback) : NULL,
                                  .unit = key->unit,
                                  .help = key->help,
                                  .required = key->required,
                                  .is_constant = key->fallback != NULL,
                                  .newer = key->replaced_by};
  bool is_whole = (entry.only_with || !key->only_with) && (entry.fallback || !fallback);
  return append(list, entry) && is_whole;
}

/* ---- Parameters of policies ------------------------------------------------------------------------- */

static bool add_param(struct key_list *list, const char *policy, const struct hr_param *param) {
  const struct hr__key key = hr__key_of_param(param);
  char path[MAX_PATH], with[100];
  snprintf(path, sizeof path, "policy.%s", param->key);
  snprintf(with, sizeof with, "policy %s", policy);
  struct hr_scenario_key entry = {.path = strdup(path),
                                  .type = type_text(&key),
                                  .only_with = strdup(with),
                                  .fallback = strdup(param->fallback),
                                  .help = param->help,
                                  .is_constant = true};
  return append(list, entry) && entry.only_with && entry.fallback;
}

static bool add_params(struct key_list *list, const char *path) {
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++)
    for (const struct hr_param *param = (*at)->params; param && param->key; param++) {
      bool is_listed = strcmp(path, "policy.*") == 0 || strcmp(path + strlen("policy."), param->key) == 0;
      if (is_listed && !add_param(list, (*at)->name, param)) return false;
    }
  return true;
}

/* ---- The list --------------------------------------------------------------------------------------- */

static bool add_all(struct key_list *list, const struct hr__key *parent, const struct hr__key *key, const char *path) {
  if (path[0] && !add_key(list, parent, key, path)) return false;
  for (const struct hr__key *member = key->keys; member && member->name; member++) {
    char below[MAX_PATH];
    snprintf(below, sizeof below, "%s%s%s", path, path[0] ? "." : "", member->name);
    bool is_param = key->keys == hr__policy_keys && strcmp(member->name, "*") == 0;
    if (is_param ? !add_params(list, below) : !add_all(list, key, member, below)) return false;
  }
  return true;
}

static enum hr_status unknown_param(const char *name, struct hr_error *error) {
  const char *known[HR__MAX_KEYS + 1] = {"name"};
  char text[700];
  size_t count = 1;
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++)
    for (const struct hr_param *param = (*at)->params; param && param->key && count < HR__MAX_KEYS; param++)
      known[count++] = param->key;
  hr__key_unknown("policy", name, known, text, sizeof text);
  return hr_fail(error, HR_BAD_INPUT, "list keys: %s", text);
}

static enum hr_status unknown(const struct hr__key *parent, const char *path, const char *name,
                              struct hr_error *error) {
  const char *known[HR__MAX_KEYS + 1];
  char text[700];
  hr__key_names(parent, known);
  hr__key_unknown(path, name, known, text, sizeof text);
  return hr_fail(error, HR_BAD_INPUT, "list keys: %s", text);
}

/* Finds the key at a path. Indexes and free names in the path become "*". */
static enum hr_status find_key(const char *path, const struct hr__key **parent, const struct hr__key **key,
                               char found[MAX_PATH], struct hr_error *error) {
  char names[MAX_PATH], *rest;
  snprintf(names, sizeof names, "%s", path);
  *parent = NULL;
  *key = &hr__scenario_keys;
  found[0] = '\0';
  for (char *name = strtok_r(names, ".", &rest); name; name = strtok_r(NULL, ".", &rest)) {
    const struct hr__key *member = (*key)->keys ? hr__key_member(*key, name) : NULL;
    bool is_any = (*key)->keys && strcmp(name, "*") == 0;
    for (const struct hr__key *at = is_any ? (*key)->keys : NULL; at && at->name && !member; at++)
      if (strcmp(at->name, "*") == 0) member = at;
    if (!member && !(*key)->keys) return hr_fail(error, HR_BAD_INPUT, "list keys: '%s' has no keys inside", found);
    if (!member) return unknown(*key, found, name, error);
    bool is_param = (*key)->keys == hr__policy_keys && strcmp(member->name, "*") == 0;
    size_t length = strlen(found);
    snprintf(found + length, MAX_PATH - length, "%s%s", length ? "." : "", is_param ? name : member->name);
    *parent = *key;
    *key = member;
  }
  return HR_OK;
}

enum hr_status hr_scenario_keys(const char *path, struct hr_scenario_key **keys, size_t *count,
                                struct hr_error *error) {
  struct key_list list = {0};
  const struct hr__key *parent, *key;
  char found[MAX_PATH];
  *keys = NULL;
  *count = 0;
  enum hr_status status = find_key(path, &parent, &key, found, error);
  if (status != HR_OK) return status;
  bool is_param = parent && parent->keys == hr__policy_keys && strcmp(key->name, "*") == 0;
  bool is_whole = is_param ? add_params(&list, found) : add_all(&list, parent, key, found);
  if (is_whole && list.count == 0) status = unknown_param(found + strlen("policy."), error);
  if (!is_whole) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  if (status != HR_OK) {
    hr_scenario_keys_free(list.at, list.count);
    return status;
  }
  *keys = list.at;
  *count = list.count;
  return HR_OK;
}

void hr_scenario_keys_free(struct hr_scenario_key *keys, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(keys[i].path);
    free(keys[i].type);
    free(keys[i].only_with);
    free(keys[i].fallback);
  }
  free(keys);
}
