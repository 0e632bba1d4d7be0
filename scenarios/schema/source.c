/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks a JSON document against a key table, applies overrides, and reports errors with their place.
 *
 * The place of a value is an override or a position in the file. If an override set the value, or a value that contains
 * it, the place is the last such override. Otherwise the place is in the file. cJSON stores no positions and no
 * parents. To report an error, this code therefore searches the tree for the value, which yields its path. A scan of
 * the text then computes line and column from the path.
 *
 * A policy in one word, such as "queue:order=sjf", is converted to the overrides "policy.name=queue" and
 * "policy.order=sjf". Names and values of parameters are checked against those of the policy.
 */

#include "base/containers.h"
#include "base/process.h"
#include "base/text.h"
#include "headroom/policies.h"
#include "headroom/scenario.h"
#include "scenarios/schema/keys.h"
#include "traces/json/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATH = 300 };

/* The path from the outermost value to a value. */
struct place {
  size_t depth;
  uint32_t ordinal[HR__JSON_DEPTH + 1]; /* index among the children of the parent, from 0 */
};

/* Searches `value` below `at`. If it is found, appends the path from `at` to it. Levels below HR__JSON_DEPTH are not
   searched. Only the values of overrides can be that deep, and no key has such a value. */
static bool find(const cJSON *at, const cJSON *value, struct place *place) {
  if (at == value) return true;
  if (!at->child || place->depth > HR__JSON_DEPTH) return false;
  uint32_t *ordinal = &place->ordinal[place->depth++];
  *ordinal = 0;
  for (const cJSON *child = at->child; child; child = child->next, ++*ordinal)
    if (find(child, value, place)) return true;
  place->depth--;
  return false;
}

/* Finds a value in the tree of the source. If the value is a reference to an object, it is not in this tree itself. It
   is then found by the first member of this object. */
static bool find_in(const struct hr__source *source, const cJSON *value, struct place *place) {
  const cJSON *tree = source->places ? source->places : source->file.tree;
  *place = (struct place){0};
  if (!value) return false;
  if (find(tree, value, place)) return true;
  *place = (struct place){0};
  if (!(value->type & cJSON_IsReference) || !value->child || !find(tree, value->child, place)) return false;
  place->depth--;
  return true;
}

void hr__source_path(const struct hr__source *source, const cJSON *value, char *text, size_t size) {
  struct place place;
  const cJSON *at = source->places ? source->places : source->file.tree;
  size_t used = 0;
  text[0] = '\0';
  if (!find_in(source, value, &place)) return;
  for (size_t i = 0; i < place.depth && used < size; i++) {
    at = cJSON_GetArrayItem(at, (int)place.ordinal[i]);
    int written = at->string ? snprintf(text + used, size - used, "%s%s", i ? "." : "", at->string)
                             : snprintf(text + used, size - used, "%s%u", i ? "." : "", (unsigned)place.ordinal[i]);
    used += (size_t)written;
  }
}

/* Returns the last override that set the value at the path `text` or a value that contains it; NULL if there is
   none. */
static const char *responsible_override(const struct hr__source *source, const char *text) {
  for (size_t i = source->n_overrides; i-- > 0;) {
    const char *override = source->overrides[i];
    size_t length = strcspn(override, "=");
    bool prefix = strncmp(text, override, length) == 0;
    if (prefix && (text[length] == '\0' || text[length] == '.')) return override;
  }
  return NULL;
}

enum hr_status hr__source_fail(const struct hr__source *source, const cJSON *value, bool at_key, struct hr_error *error,
                               const char *format, ...) {
  char message[900], text[MAX_PATH];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  hr__source_path(source, value, text, sizeof text);
  const char *override = responsible_override(source, text);
  if (override) return hr_fail(error, HR_BAD_INPUT, "--set %.200s: %s", override, message);
  struct place place;
  bool is_found = find_in(source, value, &place);
  size_t offset = is_found ? hr__json_find(source->file.text, place.ordinal, place.depth, at_key) : SIZE_MAX;
  if (offset == SIZE_MAX) return hr_fail(error, HR_BAD_INPUT, "%s: %s", source->path, message);
  struct hr__json_position position = hr__json_position(source->file.text, offset);
  return hr_fail(error, HR_BAD_INPUT, "%s:%zu:%zu: %s", source->path, position.line, position.column, message);
}

/* ---- Values ----------------------------------------------------------------------------------------- */

static bool is_whole(const cJSON *value) {
  return cJSON_IsNumber(value) && isfinite(value->valuedouble) && value->valuedouble == floor(value->valuedouble);
}

static bool is_digits(const cJSON *value) {
  if (!cJSON_IsString(value) || !value->valuestring[0]) return false;
  if (value->valuestring[strspn(value->valuestring, "0123456789")]) return false;
  errno = 0;
  (void)strtoumax(value->valuestring, NULL, 10);
  return errno == 0;
}

static bool within(const struct hr__key *key, double number) {
  return number >= key->min && number <= key->max;
}

static bool key_fits(const struct hr__key *key, const cJSON *value) {
  switch (key->type) {
  case HR__KEY_OBJECT:
    if (key->or_text && cJSON_IsString(value)) return strcmp(value->valuestring, key->or_text) == 0;
    if (key->or_words && cJSON_IsString(value)) return hr__word_is_in(value->valuestring, key->or_words);
    return cJSON_IsObject(value) && within(key, cJSON_GetArraySize(value));
  case HR__KEY_LIST:
    return cJSON_IsArray(value) && within(key, cJSON_GetArraySize(value));
  case HR__KEY_TEXT:
    return cJSON_IsString(value) && within(key, (double)strlen(value->valuestring));
  case HR__KEY_WHOLE:
    return is_whole(value) && within(key, value->valuedouble);
  case HR__KEY_REAL:
    return cJSON_IsNumber(value) && within(key, value->valuedouble);
  case HR__KEY_BOOLEAN:
    return cJSON_IsBool(value);
  case HR__KEY_CHOICE:
    return cJSON_IsString(value) && hr__word_is_in(value->valuestring, key->choices);
  case HR__KEY_SEED:
    return (is_whole(value) && within(key, value->valuedouble)) || is_digits(value);
  case HR__KEY_SCALAR:
    return cJSON_IsString(value) || cJSON_IsBool(value) || (cJSON_IsNumber(value) && isfinite(value->valuedouble));
  }
  return false;
}

static void key_found(const cJSON *value, char *text, size_t size) {
  if (cJSON_IsString(value) && strlen(value->valuestring) > 60)
    snprintf(text, size, "a text of %zu bytes", strlen(value->valuestring));
  else if (cJSON_IsString(value))
    snprintf(text, size, "the text \"%s\"", value->valuestring);
  else if (cJSON_IsNumber(value) && !isfinite(value->valuedouble))
    snprintf(text, size, "a number beyond all bounds");
  else if (cJSON_IsNumber(value))
    snprintf(text, size, "the number %.15g", value->valuedouble);
  else if (cJSON_IsArray(value))
    snprintf(text, size, value->child ? "a list" : "an empty list");
  else if (cJSON_IsObject(value))
    snprintf(text, size, "an object");
  else
    snprintf(text, size, "%s", cJSON_IsTrue(value) ? "true" : cJSON_IsFalse(value) ? "false" : "null");
}

/* ---- Validation ------------------------------------------------------------------------------------- */

/* State of a check. An unknown key is reported before a missing key, because a misspelling of the missing key is
   usually the cause of both. */
struct source_walk {
  const struct hr__source *source;
  const char *noun;
  struct hr_error *error;
};

/* Writes the name of a value for messages, and returns `text`. The name is its path, such as "'cluster.pools'". For the
   outermost value, it is the name of the document, such as "the scenario". */
static const char *subject(const struct source_walk *walk, const cJSON *value, char text[MAX_PATH + 2]) {
  char path[MAX_PATH];
  hr__source_path(walk->source, value, path, sizeof path);
  snprintf(text, MAX_PATH + 2, path[0] ? "'%s'" : "%s", path[0] ? path : walk->noun);
  return text;
}

static enum hr_status check_names(const struct source_walk *walk, const struct hr__key *key, const cJSON *object) {
  for (const cJSON *member = object->child; member; member = member->next) {
    if (hr__key_member(key, member->string)) continue;
    const char *known[HR__MAX_KEYS + 1];
    char path[MAX_PATH], text[700];
    hr__source_path(walk->source, object, path, sizeof path);
    hr__key_names(key, known);
    hr__key_unknown(path, member->string, known, text, sizeof text);
    return hr__source_fail(walk->source, member, true, walk->error, "%s", text);
  }
  return HR_OK;
}

static enum hr_status check_required(const struct source_walk *walk, const struct hr__key *parent,
                                     const cJSON *object) {
  for (const struct hr__key *key = parent->keys; key->name; key++) {
    if (!key->required || cJSON_GetObjectItemCaseSensitive(object, key->name)) continue;
    char text[MAX_PATH + 2], expected[200];
    hr__key_expected(key, expected, sizeof expected);
    return hr__source_fail(walk->source, object, false, walk->error, "%s lacks the key '%s'; %s is expected",
                           subject(walk, object, text), key->name, expected);
  }
  return HR_OK;
}

static enum hr_status check_type(const struct source_walk *walk, const struct hr__key *key, const cJSON *value) {
  if (key_fits(key, value)) return HR_OK;
  char text[MAX_PATH + 2], found[100], expected[200], slip[100] = "";
  key_found(value, found, sizeof found);
  hr__key_expected(key, expected, sizeof expected);
  const char *const *words = key->type == HR__KEY_CHOICE ? key->choices : key->or_words;
  const char *nearest = words && cJSON_IsString(value) ? hr_nearest_word(value->valuestring, words) : NULL;
  if (nearest) snprintf(slip, sizeof slip, "; did you mean '%s'?", nearest);
  return hr__source_fail(walk->source, value, false, walk->error, "%s is %s; %s is expected%s",
                         subject(walk, value, text), found, expected, slip);
}

static enum hr_status check(const struct source_walk *walk, const struct hr__key *key, const cJSON *value) {
  enum hr_status status = check_type(walk, key, value);
  bool is_object = key->type == HR__KEY_OBJECT && cJSON_IsObject(value);
  if (status == HR_OK && is_object) status = check_names(walk, key, value);
  for (const cJSON *child = value->child; child && status == HR_OK; child = child->next)
    status = check(walk, hr__key_member(key, child->string ? child->string : "*"), child);
  if (status == HR_OK && is_object) status = check_required(walk, key, value);
  return status;
}

enum hr_status hr__source_validate(const struct hr__source *source, const struct hr__key *key, const char *noun,
                                   struct hr_error *error) {
  const struct source_walk walk = {.source = source, .noun = noun, .error = error};
  return check(&walk, key, source->file.tree);
}

/* ---- Overrides -------------------------------------------------------------------------------------- */

/* State of applying an override. The path is followed in the key table and in the tree at the same time. Missing
   objects are created. If the last component of the path is the length of a list, an entry is appended. */

struct override_walk {
  const char *override;
  struct hr_error *error;
  const struct hr__key *key; /* row of the current value in the key table */
  cJSON *value;              /* current value */
  char path[MAX_PATH];       /* path of the current value */
};

static enum hr_status unknown_key(const struct override_walk *walk, const char *name) {
  const char *known[HR__MAX_KEYS + 1];
  char text[700];
  hr__key_names(walk->key, known);
  hr__key_unknown(walk->path, name, known, text, sizeof text);
  return hr_fail(walk->error, HR_BAD_INPUT, "--set %.200s: %s", walk->override, text);
}

static enum hr_status no_keys_inside(const struct override_walk *walk) {
  char expected[200];
  hr__key_expected(walk->key, expected, sizeof expected);
  return hr_fail(walk->error, HR_BAD_INPUT, "--set %.200s: '%s' has no keys inside; %s is expected", walk->override,
                 walk->path, expected);
}

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
                   "--set %.200s: '%.60s' is not an entry of '%s', which has %d, counted from 0", walk->override, name,
                   walk->path, size);
  walk->value = cJSON_GetArrayItem(walk->value, (int)index);
  return HR_OK;
}

/* Enters the member `name`. If it is missing, it is created: as null if it is the last component of the path,
   otherwise as an object. */
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
  bool in_list = walk->key->type == HR__KEY_LIST;
  const struct hr__key *key = in_list ? walk->key->keys : hr__key_member(walk->key, name);
  if (!key) return unknown_key(walk, name);
  if (in_list ? !cJSON_IsArray(walk->value) : !cJSON_IsObject(walk->value))
    return hr_fail(walk->error, HR_BAD_INPUT, "--set %.200s: '%s' is not %s in this scenario", walk->override,
                   walk->path, in_list ? "a list" : "an object");
  enum hr_status status = in_list ? step_into_list(walk, name, last) : step_into_object(walk, name, last);
  walk->key = key;
  size_t length = strlen(walk->path);
  if (length) strcpy(walk->path + length++, ".");
  strcpy(walk->path + length, name);
  return status;
}

/* Returns the value of an override as a JSON value, which the caller owns; NULL if out of memory. If the type of the
   key is text or seed, the value is a string: 7 becomes "7", and a JSON string in quotation marks is parsed. For all
   other keys, `text` is parsed as JSON; if it is not valid JSON, the value is the string `text`. */
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
  return hr_fail(walk->error, HR_BAD_INPUT, "--set %.200s: duplicate key '%.60s' in one object; keep one",
                 walk->override, repeat.key);
}

/* Replaces the current value by `value` and takes ownership of `value`. If `value` is NULL, returns HR_NO_MEMORY. */
static enum hr_status replace(struct override_walk *walk, cJSON *parent, cJSON *value) {
  const char *name = walk->value->string;
  if (value && name) value->string = strdup(name);
  if (value && (!name || value->string) && cJSON_ReplaceItemViaPointer(parent, walk->value, value)) return HR_OK;
  cJSON_Delete(value);
  return hr_fail(walk->error, HR_NO_MEMORY, "out of memory");
}

/* Returns whether the parameter `key` of the file is kept when an override changes the policy from `old` to `new`. The
   policy `deadline` was once a part of `queue`. */
static bool is_common(const char *old, const char *new, const char *key) {
  bool related = (strcmp(old, "queue") == 0 && strcmp(new, "deadline") == 0) ||
                 (strcmp(old, "deadline") == 0 && strcmp(new, "queue") == 0);
  return related && (strcmp(key, "placement") == 0 || strcmp(key, "changeover_s") == 0);
}

static void drop_params(cJSON *policy, const char *old, const char *new) {
  for (cJSON *member = policy->child, *next; member; member = next) {
    next = member->next;
    if (strcmp(member->string, "name") != 0 && !is_common(old, new, member->string))
      cJSON_Delete(cJSON_DetachItemViaPointer(policy, member));
  }
}

/* Handles an override of `policy.name`. Does nothing for other overrides. If the new name selects another policy, the
   parameters of the file are dropped, except those that `queue` and `deadline` have in common. Both names can select
   the same policy; for example, `sjf` is a setting of the policy `queue`. The parameters of the file and those of the
   old setting are then kept, except the parameters that the new setting defines. */
static enum hr_status change_policy(const struct hr__source *source, const char *override, struct hr_error *error) {
  static const char path[] = "policy.name=";
  cJSON *policy = cJSON_GetObjectItemCaseSensitive(source->file.tree, "policy");
  const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(policy, "name"));
  if (strncmp(override, path, sizeof path - 1) != 0 || !name) return HR_OK;
  const char *chosen = override + sizeof path - 1;
  const struct hr_policy_setting *old = hr_policy_setting_find(name), *new = hr_policy_setting_find(chosen);
  const char *old_policy = old ? old->policy : name, *new_policy = new ? new->policy : chosen;
  if (strcmp(old_policy, new_policy) != 0) {
    drop_params(policy, old_policy, new_policy);
    return HR_OK;
  }
  for (const struct hr_policy_value *at = old ? old->values : NULL; at && at->key; at++)
    if (!cJSON_GetObjectItemCaseSensitive(policy, at->key) && !cJSON_AddStringToObject(policy, at->key, at->value))
      return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (const struct hr_policy_value *at = new ? new->values : NULL; at && at->key; at++)
    cJSON_DeleteItemFromObjectCaseSensitive(policy, at->key);
  return HR_OK;
}

/* Reports a path such as "cluster.pools[0].nodes" and suggests the form with dots. */
static enum hr_status bad_index(const char *override, const char *path, struct hr_error *error) {
  char dotted[MAX_PATH];
  size_t length = 0;
  for (; *path; path++)
    if (*path != ']') dotted[length++] = *path == '[' ? '.' : *path;
  dotted[length] = '\0';
  return hr_fail(error, HR_BAD_INPUT, "--set %.200s: '[' is not allowed in a path; write %s", override, dotted);
}

static enum hr_status apply(struct hr__source *source, const char *override, struct hr_error *error) {
  char path[MAX_PATH];
  size_t length = strcspn(override, "=");
  if (!override[length] || length == 0 || length >= sizeof path)
    return hr_fail(error, HR_BAD_INPUT, "--set %.200s: path=value expected, as in policy.order=sjf", override);
  if (!hr__is_utf8(override))
    return hr_fail(error, HR_BAD_INPUT, "--set %.200s: the text is not valid UTF-8", override);
  memcpy(path, override, length);
  path[length] = '\0';
  if (strchr(path, '[')) return bad_index(override, path, error);
  struct override_walk walk = {
      .override = override, .error = error, .key = &hr__scenario_keys, .value = source->file.tree};
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
    enum hr_status status = change_policy(source, source->overrides[i], error);
    if (status == HR_OK) status = apply(source, source->overrides[i], error);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* ---- Policies in one word --------------------------------------------------------------------------------- */

struct override_list {
  char **at;
  size_t count;
};

static enum hr_status add(struct override_list *list, const char *key, const char *value, struct hr_error *error) {
  size_t bytes = sizeof "policy.=" + strlen(key) + strlen(value);
  char *text = HR__ARRAY_RESIZE(list->at, list->count + 1) ? malloc(bytes) : NULL;
  if (!text) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  snprintf(text, bytes, "policy.%s=%s", key, value);
  list->at[list->count++] = text;
  return HR_OK;
}

static bool is_set(const struct override_list *list, const char *key) {
  static const char head[] = "policy.";
  size_t length = strlen(key);
  for (size_t i = 0; i < list->count; i++) {
    const char *has = list->at[i] + sizeof head - 1;
    if (strncmp(has, key, length) == 0 && has[length] == '=') return true;
  }
  return false;
}

/* Checks "key=value" against the parameters of the policy and adds it to the list of overrides. */
static enum hr_status add_param(struct override_list *list, struct hr_policy_choice *choice, char *pair,
                                struct hr_error *error) {
  char *value = strchr(pair, '=');
  if (!value) return hr_fail(error, HR_BAD_INPUT, "'%.60s': key=value expected", pair);
  *value++ = '\0';
  enum hr_status status = hr_policy_choice_set(choice, pair, value, error);
  if (status != HR_OK) return status;
  if (is_set(list, pair)) return hr_fail(error, HR_BAD_INPUT, "duplicate parameter '%s'; keep one", pair);
  return add(list, pair, value, error);
}

static enum hr_status add_parts(struct override_list *list, char *text, struct hr_error *error) {
  struct hr_policy_choice choice = {0};
  char *pairs = strchr(text, ':');
  if (pairs) *pairs++ = '\0';
  /* Paths in a scenario are relative to the scenario file, so the path of a policy must be absolute. */
  char *path = strchr(text, '/') && hr__allows_plugins() ? realpath(text, NULL) : NULL;
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
  struct override_list list = {0};
  char *text = strdup(policy);
  enum hr_status status = text ? add_parts(&list, text, error) : hr_fail(error, HR_NO_MEMORY, "out of memory");
  free(text);
  *overrides = list.at;
  *count = list.count;
  return status;
}
