/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places and their errors. A value that an override set, or that lies in one that an override set, is the override's;
   all others stand in the file. */

#include "scenarios/schema/source.h"

#include "headroom/policies.h"
#include "headroom/scenario.h"
#include "traces/json/json_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hr__place_enter(struct hr__source_place *place, uint32_t ordinal, const char *name) {
  place->ordinal[place->depth] = ordinal;
  place->name[place->depth++] = name;
}

void hr__place_leave(struct hr__source_place *place) {
  place->depth--;
}

void hr__place_text(const struct hr__source_place *place, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < place->depth && used < size; i++) {
    const char *dot = i ? "." : "";
    int written = place->name[i] ? snprintf(text + used, size - used, "%s%s", dot, place->name[i])
                                 : snprintf(text + used, size - used, "%s%u", dot, (unsigned)place->ordinal[i]);
    used += (size_t)written;
  }
}

/* The last override that set the value at `text` or one around it, NULL if none did. */
static const char *responsible_override(const struct hr__source *source, const char *text) {
  for (size_t i = source->n_overrides; i-- > 0;) {
    const char *override = source->overrides[i];
    size_t length = strcspn(override, "=");
    bool prefix = strncmp(text, override, length) == 0;
    if (prefix && (text[length] == '\0' || text[length] == '.')) return override;
  }
  return NULL;
}

enum hr_status hr__source_fail(const struct hr__source *source, const struct hr__source_place *place, bool at_key,
                               struct hr_error *error, const char *format, ...) {
  char message[900], text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  hr__place_text(place, text, sizeof text);
  const char *override = responsible_override(source, text);
  if (override) return hr_fail(error, HR_BAD_INPUT, "--set %.200s: %s", override, message);
  size_t offset = hr__json_find(source->file.text, place->ordinal, place->depth, at_key);
  if (offset == SIZE_MAX) return hr_fail(error, HR_BAD_INPUT, "%s: %s", source->path, message);
  struct hr__json_position position = hr__json_position(source->file.text, offset);
  return hr_fail(error, HR_BAD_INPUT, "%s:%zu:%zu: %s", source->path, position.line, position.column, message);
}

/* The walk that holds a tree against the table of keys. A misspelt key is told before a missing one: it usually is
   the missing one. */

struct source_walk {
  const struct hr__source *source;
  const char *noun;
  struct hr_error *error;
  struct hr__source_place place;
};

static enum hr_status check_name(struct source_walk *walk, const struct hr__key *parent, const cJSON *member) {
  if (!hr__key_child(parent, member->string)) {
    const char *known[HR__MOST_CHILDREN + 1];
    char path[300], text[700];
    struct hr__source_place outer = walk->place;
    hr__place_leave(&outer);
    hr__place_text(&outer, path, sizeof path);
    hr__key_children(parent, known);
    hr__key_unknown(path, member->string, known, text, sizeof text);
    return hr__source_fail(walk->source, &walk->place, true, walk->error, "%s", text);
  }
  return HR_OK;
}

static enum hr_status check_names(struct source_walk *walk, const struct hr__key *key, const cJSON *object) {
  enum hr_status status = HR_OK;
  uint32_t ordinal = 0;
  for (const cJSON *member = object->child; member && status == HR_OK; member = member->next) {
    hr__place_enter(&walk->place, ordinal++, member->string);
    status = check_name(walk, key, member);
    hr__place_leave(&walk->place);
  }
  return status;
}

static enum hr_status check_required(struct source_walk *walk, const struct hr__key *parent, const cJSON *object) {
  for (const struct hr__key *key = parent + 1; key->path; key++) {
    if (!key->required || !hr__key_is_child(key, parent)) continue;
    if (cJSON_GetObjectItemCaseSensitive(object, hr__key_name(key))) continue;
    char path[300], wanted[200];
    hr__place_text(&walk->place, path, sizeof path);
    hr__key_wanted(key, wanted, sizeof wanted);
    return hr__source_fail(walk->source, &walk->place, false, walk->error, "%s%s%s lacks the key '%s'; %s is wanted",
                           path[0] ? "'" : "", path[0] ? path : walk->noun, path[0] ? "'" : "", hr__key_name(key),
                           wanted);
  }
  return HR_OK;
}

static enum hr_status check_type(struct source_walk *walk, const struct hr__key *key, const cJSON *value) {
  if (hr__key_fits(key, value)) return HR_OK;
  char path[300], found[100], wanted[200], slip[100] = "";
  hr__place_text(&walk->place, path, sizeof path);
  hr__key_found(value, found, sizeof found);
  hr__key_wanted(key, wanted, sizeof wanted);
  const char *nearest =
      key->choices && cJSON_IsString(value) ? hr_nearest_word(value->valuestring, key->choices) : NULL;
  if (nearest) snprintf(slip, sizeof slip, "; did you mean '%s'?", nearest);
  return hr__source_fail(walk->source, &walk->place, false, walk->error, "%s%s%s is %s; %s is wanted%s",
                         path[0] ? "'" : "", path[0] ? path : walk->noun, path[0] ? "'" : "", found, wanted, slip);
}

static enum hr_status check(struct source_walk *walk, const struct hr__key *key, const cJSON *value) {
  enum hr_status status = check_type(walk, key, value);
  if (status == HR_OK && key->type == HR__KEY_OBJECT) status = check_names(walk, key, value);
  uint32_t ordinal = 0;
  for (const cJSON *child = value->child; child && status == HR_OK; child = child->next) {
    hr__place_enter(&walk->place, ordinal++, child->string);
    status = check(walk, hr__key_child(key, child->string ? child->string : "*"), child);
    hr__place_leave(&walk->place);
  }
  if (status == HR_OK && key->type == HR__KEY_OBJECT) status = check_required(walk, key, value);
  return status;
}

enum hr_status hr__source_validate(const struct hr__source *source, const struct hr__key *keys, const char *noun,
                                   struct hr_error *error) {
  struct source_walk walk = {.source = source, .noun = noun, .error = error};
  return check(&walk, keys, source->file.tree);
}

/* Overrides: each walks the table of keys and the tree side by side, and makes the objects that are not there, and the
   entry behind the last one of a list. */

enum { LONGEST_PATH = 300 };

struct override_walk {
  const char *override;
  struct hr_error *error;
  const struct hr__key *key; /* what may stand here */
  cJSON *value;              /* what stands here */
  char path[LONGEST_PATH];   /* how we came here */
};

static enum hr_status unknown_key(const struct override_walk *walk, const char *name) {
  const char *known[HR__MOST_CHILDREN + 1];
  char text[700];
  hr__key_children(walk->key, known);
  hr__key_unknown(walk->path, name, known, text, sizeof text);
  return hr_fail(walk->error, HR_BAD_INPUT, "--set %.200s: %s", walk->override, text);
}

static enum hr_status no_keys_inside(const struct override_walk *walk) {
  char wanted[200];
  hr__key_wanted(walk->key, wanted, sizeof wanted);
  return hr_fail(walk->error, HR_BAD_INPUT, "--set %.200s: '%s' has no keys inside; %s is wanted", walk->override,
                 walk->path, wanted);
}

/* The place behind the last entry of a list is one to add an entry at. */
static enum hr_status add_entry(struct override_walk *walk) {
  cJSON *entry = cJSON_CreateNull();
  if (!entry || !cJSON_AddItemToArray(walk->value, entry)) {
    cJSON_Delete(entry);
    return hr_fail(walk->error, HR_NO_MEMORY, "out of memory");
  }
  walk->value = entry;
  return HR_OK;
}

static enum hr_status step_into_list(struct override_walk *walk, const char *name, bool last) {
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
static enum hr_status step_into_object(struct override_walk *walk, const char *name, bool last) {
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

static enum hr_status step(struct override_walk *walk, const char *name, bool last) {
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

static enum hr_status check_keys(const struct override_walk *walk, const cJSON *value) {
  struct hr__json_repeat repeat = {0};
  if (value && !hr__json_repeat_find(value, &repeat)) return hr_fail(walk->error, HR_NO_MEMORY, "out of memory");
  if (!repeat.key) return HR_OK;
  return hr_fail(walk->error, HR_BAD_INPUT, "--set %.200s: the key '%.60s' stands in one object twice; keep one",
                 walk->override, repeat.key);
}

/* Puts `value` in the place of what the walk came to. */
static enum hr_status replace(struct override_walk *walk, cJSON *parent, cJSON *value) {
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
  struct override_walk walk = {
      .override = override, .error = error, .key = hr__scenario_keys(), .value = source->file.tree};
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

/* A policy as people write it in one word, "NAME[:KEY=VALUE,...]", as overrides of a scenario. */

struct source_list {
  char **at;
  size_t count;
};

static enum hr_status add(struct source_list *list, const char *key, const char *value, struct hr_error *error) {
  char **grown = realloc(list->at, (list->count + 1) * sizeof *grown);
  if (grown) list->at = grown;
  size_t bytes = sizeof "policy.=" + strlen(key) + strlen(value);
  char *text = grown ? malloc(bytes) : NULL;
  if (!text) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  snprintf(text, bytes, "policy.%s=%s", key, value);
  grown[list->count++] = text;
  return HR_OK;
}

static bool is_set(const struct source_list *list, const char *key) {
  static const char head[] = "policy.";
  size_t length = strlen(key);
  for (size_t i = 0; i < list->count; i++) {
    const char *has = list->at[i] + sizeof head - 1;
    if (strncmp(has, key, length) == 0 && has[length] == '=') return true;
  }
  return false;
}

/* One "key=value", checked against the policy. */
static enum hr_status add_param(struct source_list *list, struct hr_policy_choice *choice, char *pair,
                                struct hr_error *error) {
  char *value = strchr(pair, '=');
  if (!value) return hr_fail(error, HR_BAD_INPUT, "'%.60s' is not of the form key=value", pair);
  *value++ = '\0';
  enum hr_status status = hr_policy_choice_set(choice, pair, value, error);
  if (status != HR_OK) return status;
  if (is_set(list, pair)) return hr_fail(error, HR_BAD_INPUT, "parameter '%s' is given twice; keep one", pair);
  return add(list, pair, value, error);
}

static enum hr_status add_parts(struct source_list *list, char *text, struct hr_error *error) {
  struct hr_policy_choice choice = {0};
  char *pairs = strchr(text, ':');
  if (pairs) *pairs++ = '\0';
  char *path = strchr(text, '/') ? realpath(text, NULL) : NULL; /* a scenario's paths begin in its folder */
  const char *name = path ? path : text;
  enum hr_status status = hr_policy_choice_init(&choice, name, error);
  if (status == HR_OK) status = add(list, "name", name, error);
  for (char *pair = pairs, *next; status == HR_OK && pair; pair = next) {
    next = strchr(pair, ',');
    if (next) *next++ = '\0';
    status = add_param(list, &choice, pair, error);
  }
  hr_policy_choice_finish(&choice);
  free(path);
  return status;
}

enum hr_status hr_policy_overrides(const char *policy, char ***overrides, size_t *count, struct hr_error *error) {
  struct source_list list = {0};
  char *text = strdup(policy);
  enum hr_status status = text ? add_parts(&list, text, error) : hr_fail(error, HR_NO_MEMORY, "out of memory");
  free(text);
  *overrides = list.at;
  *count = list.count;
  return status;
}
