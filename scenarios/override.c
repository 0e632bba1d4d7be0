/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Overrides: each walks the table of keys and the tree side by side, and makes the objects that are not there, and the
   entry behind the last one of a list. */

#include "headroom/policies.h"
#include "scenarios/source.h"
#include "traces/json_repeat.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_PATH = 300 };

struct walk {
  const char *override;
  struct hr_error *error;
  const struct hr__key *key; /* what may stand here */
  cJSON *value;              /* what stands here */
  char path[LONGEST_PATH];   /* how we came here */
};

static enum hr_status unknown_key(const struct walk *walk, const char *name) {
  const char *known[HR__MOST_CHILDREN + 1];
  char text[700];
  hr__key_children(walk->key, known);
  hr__key_unknown(walk->path, name, known, text, sizeof text);
  return hr_fail(walk->error, HR_BAD_INPUT, "--set %.200s: %s", walk->override, text);
}

static enum hr_status no_keys_inside(const struct walk *walk) {
  char wanted[200];
  hr__key_wanted(walk->key, wanted, sizeof wanted);
  return hr_fail(walk->error, HR_BAD_INPUT, "--set %.200s: '%s' has no keys inside; %s is wanted", walk->override,
                 walk->path, wanted);
}

/* The place behind the last entry of a list is one to add an entry at. */
static enum hr_status add_entry(struct walk *walk) {
  cJSON *entry = cJSON_CreateNull();
  if (!entry || !cJSON_AddItemToArray(walk->value, entry)) {
    cJSON_Delete(entry);
    return hr_fail(walk->error, HR_NO_MEMORY, "out of memory");
  }
  walk->value = entry;
  return HR_OK;
}

static enum hr_status step_into_list(struct walk *walk, const char *name, bool last) {
  char *end;
  unsigned long index = strtoul(name, &end, 10);
  int size = cJSON_GetArraySize(walk->value);
  bool is_number = strspn(name, "0123456789") == strlen(name) && name[0];
  if (is_number && last && index == (unsigned long)size) return add_entry(walk);
  if (!is_number || index >= (unsigned long)size)
    return hr_fail(walk->error, HR_BAD_INPUT,
                   "--set %.200s: '%.60s' is not an entry of '%s'; it has %d, counted from 0", walk->override, name,
                   walk->path, size);
  walk->value = cJSON_GetArrayItem(walk->value, (int)index);
  return HR_OK;
}

/* The member `name`, made if it is not there: an object if more is to come, else null, to be replaced. */
static enum hr_status step_into_object(struct walk *walk, const char *name, bool last) {
  cJSON *child = cJSON_GetObjectItemCaseSensitive(walk->value, name);
  if (!child) {
    child = last ? cJSON_CreateNull() : cJSON_CreateObject();
    if (!child || !cJSON_AddItemToObject(walk->value, name, child)) {
      cJSON_Delete(child);
      return hr_fail(walk->error, HR_NO_MEMORY, "out of memory");
    }
  }
  walk->value = child;
  return HR_OK;
}

static enum hr_status step(struct walk *walk, const char *name, bool last) {
  if (walk->key->type != HR__KEY_OBJECT && walk->key->type != HR__KEY_LIST) return no_keys_inside(walk);
  const struct hr__key *key = hr__key_child(walk->key, name);
  if (!key) return unknown_key(walk, name);
  bool in_list = walk->key->type == HR__KEY_LIST;
  if (in_list ? !cJSON_IsArray(walk->value) : !cJSON_IsObject(walk->value))
    return hr_fail(walk->error, HR_BAD_INPUT, "--set %.200s: '%s' is no %s there", walk->override, walk->path,
                   in_list ? "list" : "object");
  enum hr_status status = in_list ? step_into_list(walk, name, last) : step_into_object(walk, name, last);
  walk->key = key;
  size_t length = strlen(walk->path);
  if (length) strcpy(walk->path + length++, ".");
  strcpy(walk->path + length, name);
  return status;
}

/* A key whose values are text takes the words as they are; the others take JSON, or else the words. */
static cJSON *parse_value(const struct hr__key *key, const char *text) {
  struct hr__json_flaw flaw;
  cJSON *value = hr__json_check(text, &flaw) ? cJSON_Parse(text) : NULL;
  bool verbatim = key->type == HR__KEY_TEXT || key->type == HR__KEY_SEED;
  if (value && (!verbatim || cJSON_IsString(value))) return value;
  cJSON_Delete(value);
  return cJSON_CreateString(text);
}

static enum hr_status check_keys(const struct walk *walk, const cJSON *value) {
  struct hr__json_repeat repeat = {0};
  if (value && !hr__json_repeat_find(value, &repeat)) return hr_fail(walk->error, HR_NO_MEMORY, "out of memory");
  if (!repeat.key) return HR_OK;
  return hr_fail(walk->error, HR_BAD_INPUT, "--set %.200s: the key '%.60s' stands in one object twice; keep one",
                 walk->override, repeat.key);
}

/* Puts `value` in the place of what the walk came to. */
static enum hr_status replace(struct walk *walk, cJSON *parent, cJSON *value) {
  const char *name = walk->value->string;
  if (value && name) value->string = strdup(name);
  if (value && (!name || value->string) && cJSON_ReplaceItemViaPointer(parent, walk->value, value)) return HR_OK;
  cJSON_Delete(value);
  return hr_fail(walk->error, HR_NO_MEMORY, "out of memory");
}

static void forget_all_params(cJSON *policy) {
  for (cJSON *member = policy->child, *next; member; member = next) {
    next = member->next;
    if (strcmp(member->string, "name") != 0) cJSON_Delete(cJSON_DetachItemViaPointer(policy, member));
  }
}

/* Another policy has parameters of its own: what the file says of those of its own policy is no more. Under another
   name for the same policy it stands, also what the file's own name sets, but for what the new name sets. */
static enum hr_status keep_params(const struct hr__source *source, const char *override, struct hr_error *error) {
  static const char path[] = "policy.name=";
  cJSON *policy = cJSON_GetObjectItemCaseSensitive(source->file.tree, "policy");
  const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(policy, "name"));
  if (strncmp(override, path, sizeof path - 1) != 0 || !name) return HR_OK;
  const char *wanted = override + sizeof path - 1;
  const struct hr_policy_setting *old = hr_policy_setting_find(name), *new = hr_policy_setting_find(wanted);
  if (strcmp(old ? old->policy : name, new ? new->policy : wanted) != 0) {
    forget_all_params(policy);
    return HR_OK;
  }
  for (const struct hr_policy_value *at = old ? old->values : NULL; at && at->key; at++)
    if (!cJSON_GetObjectItemCaseSensitive(policy, at->key) && !cJSON_AddStringToObject(policy, at->key, at->value))
      return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (const struct hr_policy_value *at = new ? new->values : NULL; at && at->key; at++)
    cJSON_DeleteItemFromObjectCaseSensitive(policy, at->key);
  return HR_OK;
}

static enum hr_status apply(struct hr__source *source, const char *override, struct hr_error *error) {
  char path[LONGEST_PATH];
  size_t length = strcspn(override, "=");
  if (!override[length] || length == 0 || length >= sizeof path)
    return hr_fail(error, HR_BAD_INPUT, "--set %.200s: is not of the form path=value, as in policy.order=sjf",
                   override);
  memcpy(path, override, length);
  path[length] = '\0';
  struct walk walk = {.override = override, .error = error, .key = hr__scenario_keys(), .value = source->file.tree};
  cJSON *parent = NULL;
  for (char *name = path, *dot; name; name = dot) {
    dot = strchr(name, '.');
    if (dot) *dot++ = '\0';
    parent = walk.value;
    enum hr_status status = step(&walk, name, dot == NULL);
    if (status != HR_OK) return status;
  }
  cJSON *value = parse_value(walk.key, override + length + 1);
  enum hr_status status = check_keys(&walk, value);
  if (status == HR_OK) return replace(&walk, parent, value);
  cJSON_Delete(value);
  return status;
}

enum hr_status hr__source_override(struct hr__source *source, struct hr_error *error) {
  for (size_t i = 0; i < source->n_overrides; i++) {
    enum hr_status status = keep_params(source, source->overrides[i], error);
    if (status == HR_OK) status = apply(source, source->overrides[i], error);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}
