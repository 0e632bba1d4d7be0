/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Searches key tables, writes words for messages, and generates documents from the tables: the list of all keys, the
 * template of a scenario with comments, and the JSON Schema.
 *
 * Tables are short, so they are searched linearly. The list has each key before its members. Key tables do not contain
 * the parameters of policies: each policy has a table of its own (struct hr_param). The list and the schema have these
 * parameters as members of `policy`.
 */

#include "scenarios/schema/keys.h"

#include "base/containers.h"
#include "headroom/policies.h"
#include "headroom/scenario.h"
#include "headroom/trace.h"
#include "headroom/trace_files.h"
#include "headroom/unstable/scenario_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Searches and words -------------------------------------------------------------------------------- */

const char *const hr__class_keys[] = {"default",   "training",    "fine-tune", "batch-inference",
                                      "inference", "interactive", "data-prep", NULL};
_Static_assert(sizeof hr__class_keys / sizeof *hr__class_keys == HR_N_CLASSES + 1, "a name for each class");

const struct hr__key *hr__key_member(const struct hr__key *parent, const char *name) {
  const struct hr__key *key = parent->keys;
  while (key->name && strcmp(key->name, "*") != 0 && strcmp(key->name, name) != 0) key++;
  bool is_any = key->name && strcmp(key->name, "*") == 0;
  if (is_any && parent->type == HR__KEY_OBJECT && parent->choices && !hr__word_is_in(name, parent->choices))
    return NULL;
  return key->name ? key : NULL;
}

void hr__key_names(const struct hr__key *parent, const char **names) {
  size_t count = 0;
  for (const struct hr__key *key = parent->keys; key->name && count < HR__MAX_KEYS; key++)
    if (strcmp(key->name, "*") != 0) names[count++] = key->name;
  for (size_t i = 0; parent->choices && parent->choices[i] && count < HR__MAX_KEYS; i++)
    names[count++] = parent->choices[i];
  names[count] = NULL;
}

/* Returns a parameter of a policy as the row of a key. */
static struct hr__key key_of_param(const struct hr_param *param) {
  static const enum hr__key_type types[] = {[HR_PARAM_INTEGER] = HR__KEY_WHOLE,
                                            [HR_PARAM_REAL] = HR__KEY_REAL,
                                            [HR_PARAM_BOOLEAN] = HR__KEY_BOOLEAN,
                                            [HR_PARAM_CHOICE] = HR__KEY_CHOICE};
  return (struct hr__key){.name = param->key,
                          .type = types[param->type],
                          .min = param->min,
                          .max = param->max,
                          .choices = param->choices,
                          .fallback = param->fallback,
                          .help = param->help};
}

void hr__key_unknown(const char *path, const char *name, const char *const *known, char *text, size_t size) {
  const char *nearest = hr_nearest_word(name, known), *dot = path[0] ? "." : "";
  int used = snprintf(text, size, "unknown key '%s%s%.60s'%s", path, dot, name, nearest ? "; " : " ");
  if (nearest) used += snprintf(text + used, size - (size_t)used, "did you mean '%s%s%s'? ", path, dot, nearest);
  used += snprintf(text + used, size - (size_t)used, "(known keys");
  for (size_t i = 0; known[i] && (size_t)used + strlen(known[i]) + 4 < size; i++)
    used += snprintf(text + used, size - (size_t)used, "%s%s", i ? ", " : ": ", known[i]);
  snprintf(text + used, size - (size_t)used, ")");
}

static size_t choices_expected(const char *const *choices, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "one of");
  for (size_t i = 0; choices[i] && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s %s", i ? "," : "", choices[i]);
  return used;
}

static void object_expected(const struct hr__key *key, char *text, size_t size) {
  if (key->or_words) {
    const size_t used = choices_expected(key->or_words, text, size);
    if (used < size) snprintf(text + used, size - used, ", or an object {...}");
    return;
  }
  snprintf(text, size, "%s%s%san object {...} of at most %.15g keys", key->or_text ? "the text \"" : "",
           key->or_text ? key->or_text : "", key->or_text ? "\" or " : "", key->max);
}

void hr__key_expected(const struct hr__key *key, char *text, size_t size) {
  switch (key->type) {
  case HR__KEY_OBJECT:
    object_expected(key, text, size);
    return;
  case HR__KEY_LIST:
    snprintf(text, size, "a list of %.15g to %.15g entries", key->min, key->max);
    return;
  case HR__KEY_TEXT:
    snprintf(text, size, "a text \"...\" of %s%.15g bytes", key->min > 0 ? "1 to " : "at most ", key->max);
    return;
  case HR__KEY_WHOLE:
    snprintf(text, size, "a whole number from %.15g to %.15g", key->min, key->max);
    return;
  case HR__KEY_REAL:
    snprintf(text, size, "a number from %.15g to %.15g", key->min, key->max);
    return;
  case HR__KEY_BOOLEAN:
    snprintf(text, size, "true or false");
    return;
  case HR__KEY_CHOICE:
    choices_expected(key->choices, text, size);
    return;
  case HR__KEY_SEED:
    snprintf(text, size, "a whole number from 0 to %.0f, or the digits of one up to %" PRIu64 " as text,", key->max,
             UINT64_MAX);
    return;
  case HR__KEY_SCALAR:
    snprintf(text, size, "a text, a number, true or false");
    return;
  }
}

/* ---- The template ------------------------------------------------------------------------------ */

char *hr__json_pretty(const cJSON *tree) {
  char *tabbed = cJSON_Print(tree), *at;
  char *text = tabbed ? malloc(2 * strlen(tabbed) + 2) : NULL;
  at = text;
  /* strings contain no tabs: cJSON writes them as \t */
  for (const char *from = tabbed; text && *from; from++) {
    bool is_tab = *from == '\t', is_space = is_tab && from != tabbed && from[-1] == ':';
    *at++ = is_tab ? ' ' : *from;
    if (is_tab && !is_space) *at++ = ' ';
  }
  if (text) strcpy(at, "\n");
  cJSON_free(tabbed);
  return text;
}

static const char skeleton[] =
    "{\"name\": \"my-scenario\", \"trace\": {},"
    "\"cluster\": {\"pools\": [{\"name\": \"a100\", \"gpu\": \"A100-80\", \"nodes\": 8, \"gpus_per_node\": 8}]},"
    "\"policy\": {\"name\": \"queue\", \"order\": \"fifo\", \"backfill\": \"easy\"}, \"seed\": 1}";

/* In the repository and in an installation, the trace has the same path relative to the folder of the scenarios. */
char *hr_scenario_demo_trace(void) {
  struct hr_scenario_entry *entries;
  size_t count;
  char *found = NULL;
  if (hr_scenario_list(&entries, &count, NULL) != HR_OK) return NULL;
  for (size_t i = 0; i < count && !found; i++) {
    char path[4300];
    const char *slash = strrchr(entries[i].path, '/');
    snprintf(path, sizeof path, "%.*s/../traces/reference/demo.csv", (int)(slash - entries[i].path), entries[i].path);
    found = realpath(path, NULL);
  }
  hr_scenario_list_free(entries, count);
  return found;
}

static cJSON *make_skeleton(const char *trace) {
  cJSON *tree = cJSON_Parse(skeleton);
  cJSON *member = cJSON_GetObjectItemCaseSensitive(tree, "trace");
  if (!trace) {
    cJSON_DeleteItemFromObjectCaseSensitive(tree, "trace");
    return tree;
  }
  if (tree && cJSON_AddStringToObject(member, "file", trace)) return tree;
  cJSON_Delete(tree);
  return NULL;
}

/* ---- Comments --------------------------------------------------------------------------------------- */

/* Writes the comment on a key, such as "number from 0 to 100000, in USD; default: 0; only with market spot. HELP". */
static void explain(const struct hr_scenario_key *key, char *text, size_t size) {
  snprintf(text, size, "%s%s%s%s%s%s%s%s%s%s. %s", key->type, key->unit ? ", in " : "", key->unit ? key->unit : "",
           key->required ? "; required" : "", key->fallback ? "; default: " : "", key->fallback ? key->fallback : "",
           key->only_with ? "; only with " : "", key->only_with ? key->only_with : "",
           key->newer ? "; old name of " : "", key->newer ? key->newer : "", key->help ? key->help : "");
}

/* Returns the object of the template that contains the key at `path`. If the template lacks this object, returns the
   innermost object or list around it. Sets `*name` to the rest of the path. A component of the path that is the index
   of a list selects the first entry of the list. */
static cJSON *place_of(cJSON *tree, const char *path, const char **name) {
  cJSON *at = tree;
  *name = path;
  for (const char *dot = strchr(path, '.'); dot; dot = strchr(*name, '.')) {
    char step[100];
    snprintf(step, sizeof step, "%.*s", (int)(dot - *name), *name);
    cJSON *below = cJSON_IsArray(at) ? at->child : cJSON_GetObjectItemCaseSensitive(at, step);
    if (!cJSON_IsObject(below) && !cJSON_IsArray(below)) break;
    at = below;
    *name = dot + 1;
  }
  return at;
}

/* Moves the member `name` of an object to its end. */
static void move_to_end(cJSON *object, const char *name) {
  cJSON *member = cJSON_DetachItemFromObjectCaseSensitive(object, name);
  if (member) cJSON_AddItemToObject(object, name, member);
}

static bool add_comment(cJSON *tree, const struct hr_scenario_key *key) {
  const char *name;
  char comment[200], text[1600];
  cJSON *object = place_of(tree, key->path, &name);
  if (!cJSON_IsObject(object)) return true; /* an entry of a list has no comment; its members have comments */
  snprintf(comment, sizeof comment, "//%s", name);
  if (cJSON_GetObjectItemCaseSensitive(object, comment)) return true; /* two policies have this parameter */
  explain(key, text, sizeof text);
  if (!cJSON_AddStringToObject(object, comment, text)) return false;
  move_to_end(object, name);
  return true;
}

static bool add_comments(cJSON *tree, struct hr_error *error) {
  struct hr_scenario_key *keys;
  size_t count;
  if (hr_scenario_keys("", &keys, &count, error) != HR_OK) return false;
  bool is_whole = true;
  for (size_t i = 0; i < count && is_whole; i++) is_whole = add_comment(tree, &keys[i]);
  hr_scenario_keys_free(keys, count);
  return is_whole;
}

enum hr_status hr_scenario_template(const char *trace, bool all, char **json, struct hr_error *error) {
  char *shipped = trace ? NULL : hr_scenario_demo_trace();
  cJSON *tree = make_skeleton(trace ? trace : shipped);
  free(shipped);
  bool is_whole = tree && (!all || add_comments(tree, error));
  *json = is_whole ? hr__json_pretty(tree) : NULL;
  cJSON_Delete(tree);
  return *json ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
}

struct key_list {
  struct hr_scenario_key *at;
  uint32_t count, capacity;
};

enum { MAX_PATH = 300 };

/* Returns the type of a key as text, without an article and without the bounds of objects and of long texts. The caller
   frees the text. Returns NULL if out of memory. */
static char *type_text(const struct hr__key *key) {
  char text[600];
  if (key->type == HR__KEY_OBJECT && key->or_words) {
    hr__key_expected(key, text, sizeof text);
    return strdup(text);
  }
  if (key->type == HR__KEY_OBJECT && !key->or_text) return strdup("object");
  if (key->type == HR__KEY_OBJECT) {
    snprintf(text, sizeof text, "object, or the text %s", key->or_text);
    return strdup(text);
  }
  if (key->type == HR__KEY_TEXT) {
    snprintf(text, sizeof text, "text of at most %.15g bytes", key->max);
    return strdup(key->max < MAX_TEXT ? text : "text");
  }
  hr__key_expected(key, text, sizeof text);
  return strdup(text + (strncmp(text, "an ", 3) == 0 ? 3 : strncmp(text, "a ", 2) == 0 ? 2 : 0));
}

/* Returns a text such as "market reserved or spot". `parent` is an object with a choice (here `market`), and `values`
   is a set of bits 1 << value of this choice. The caller frees the text. Returns NULL if out of memory. */
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
  const struct hr__key key = key_of_param(param);
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
    bool made = is_param     ? add_params(list, below)
                : key->brief ? add_key(list, key, member, below)
                             : add_all(list, key, member, below);
    if (!made) return false;
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

/* Finds the key at a path. `found`: the path, in which "*" replaces indexes of lists and names that the table does not
   list. `*parent`: the object or list that contains the key; NULL for the outermost object. */
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

/* ---- JSON Schema ------------------------------------------------------------------------------------ */

/*
 * The schema is built as a tree of cJSON. An object that cannot be allocated is NULL. put() accepts NULL for the object
 * and for the value, and records the failure. Its callers therefore need no checks.
 */

/* State of writing a schema. */
struct schema_writer {
  bool failed; /* out of memory */
};

/* Adds `value` to an object, or to a list if `name` is NULL, and returns it. If memory runs out, or if `object` or
   `value` is NULL, sets `failed` and returns NULL. */
static cJSON *put(struct schema_writer *writer, cJSON *object, const char *name, cJSON *value) {
  if (value && (name ? cJSON_AddItemToObject(object, name, value) : cJSON_AddItemToArray(object, value))) return value;
  cJSON_Delete(value);
  writer->failed = true;
  return NULL;
}

static void put_text(struct schema_writer *writer, cJSON *object, const char *name, const char *text) {
  put(writer, object, name, cJSON_CreateString(text));
}

static void put_number(struct schema_writer *writer, cJSON *object, const char *name, double number) {
  char text[32];
  /* cJSON writes 15 digits, which are too few for 2^53 */
  snprintf(text, sizeof text, number == MAX_EXACT ? "%.16g" : "%.15g", number);
  put(writer, object, name, cJSON_CreateRaw(text));
}

static cJSON *put_words(struct schema_writer *writer, cJSON *object, const char *name, const char *const *words) {
  cJSON *list = put(writer, object, name, cJSON_CreateArray());
  for (; *words; words++) put_text(writer, list, NULL, *words);
  return list;
}

/* Adds the members of the JSON object in `text` to `object`. */
static void put_parsed(struct schema_writer *writer, cJSON *object, const char *text) {
  cJSON *parsed = cJSON_Parse(text);
  if (!parsed) writer->failed = true;
  while (parsed && parsed->child) {
    cJSON *member = cJSON_DetachItemViaPointer(parsed, parsed->child);
    char *name = member->string;
    member->string = NULL;
    put(writer, object, name, member);
    cJSON_free(name);
  }
  cJSON_Delete(parsed);
}

/* ---- JSON Schema: values ---------------------------------------------------------------------------- */

static void put_bounds(struct schema_writer *writer, cJSON *schema, const struct hr__key *key, const char *low,
                       const char *high) {
  if (key->min != 0 || key->type != HR__KEY_TEXT) put_number(writer, schema, low, key->min);
  put_number(writer, schema, high, key->max);
}

static void put_seed(struct schema_writer *writer, cJSON *schema, const struct hr__key *key) {
  cJSON *forms = put(writer, schema, "anyOf", cJSON_CreateArray());
  cJSON *number = put(writer, forms, NULL, cJSON_CreateObject());
  put_text(writer, number, "type", "integer");
  put_bounds(writer, number, key, "minimum", "maximum");
  cJSON *digits = put(writer, forms, NULL, cJSON_CreateObject());
  put_text(writer, digits, "type", "string");
  put_text(writer, digits, "pattern", "^[0-9]+$");
}

static void put_default(struct schema_writer *writer, cJSON *schema, enum hr__key_type type, const char *text) {
  bool is_word = type == HR__KEY_TEXT || type == HR__KEY_CHOICE;
  put(writer, schema, "default", is_word ? cJSON_CreateString(text) : cJSON_Parse(text));
}

/* Adds the description of a key: its help, its unit, and its default in words. */
static void put_description(struct schema_writer *writer, cJSON *schema, const struct hr__key *key) {
  char text[900];
  if (!key->help) return;
  snprintf(text, sizeof text, "%s%s%s%s%s%s%s", key->help, key->unit ? " Unit: " : "", key->unit ? key->unit : "",
           key->unit ? "." : "", key->otherwise ? " Default: " : "", key->otherwise ? key->otherwise : "",
           key->otherwise ? "." : "");
  put_text(writer, schema, "description", text);
}

static void put_type(struct schema_writer *writer, cJSON *schema, const struct hr__key *key) {
  static const char *const scalars[] = {"string", "number", "boolean", NULL};
  static const char *const object_or_text[] = {"object", "string", NULL};
  switch (key->type) {
  case HR__KEY_OBJECT:
    if (key->or_text || key->or_words)
      put_words(writer, schema, "type", object_or_text);
    else
      put_text(writer, schema, "type", "object");
    return;
  case HR__KEY_LIST:
    put_text(writer, schema, "type", "array");
    put_bounds(writer, schema, key, "minItems", "maxItems");
    return;
  case HR__KEY_TEXT:
    put_text(writer, schema, "type", "string");
    put_bounds(writer, schema, key, "minLength", "maxLength");
    return;
  case HR__KEY_WHOLE:
  case HR__KEY_REAL:
    put_text(writer, schema, "type", key->type == HR__KEY_WHOLE ? "integer" : "number");
    put_bounds(writer, schema, key, "minimum", "maximum");
    return;
  case HR__KEY_BOOLEAN:
    put_text(writer, schema, "type", "boolean");
    return;
  case HR__KEY_CHOICE:
    put_text(writer, schema, "type", "string");
    put_words(writer, schema, "enum", key->choices);
    return;
  case HR__KEY_SEED:
    put_seed(writer, schema, key);
    return;
  case HR__KEY_SCALAR:
    put_words(writer, schema, "type", scalars);
    return;
  }
}

static void put_key(struct schema_writer *writer, cJSON *schema, const struct hr__key *key);

/* ---- JSON Schema: names that are not in the tables -------------------------------------------------- */

/* The names of policies and of their settings. */
static void put_policy_names(struct schema_writer *writer, cJSON *schema) {
  cJSON *names = put(writer, schema, "enum", cJSON_CreateArray());
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++) put_text(writer, names, NULL, (*at)->name);
  for (const struct hr_policy_setting *at = hr_policy_settings(); at->name; at++)
    put_text(writer, names, NULL, at->name);
}

static void put_param(struct schema_writer *writer, cJSON *properties, const struct hr_param *param) {
  if (cJSON_GetObjectItemCaseSensitive(properties, param->key)) return; /* two policies have it */
  const struct hr__key key = key_of_param(param);
  cJSON *schema = put(writer, properties, param->key, cJSON_CreateObject());
  put_key(writer, schema, &key);
}

static void put_params(struct schema_writer *writer, cJSON *properties) {
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++)
    for (const struct hr_param *param = (*at)->params; param && param->key; param++)
      put_param(writer, properties, param);
}

/* Adds the former values of the parameter `market`. They are now values of `rule` of the policy `deadline`. */
static void put_former_values(struct schema_writer *writer, const cJSON *properties) {
  cJSON *values = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(properties, "market"), "enum");
  for (const struct hr_policy_ops *const *at = hr_policies(); values && *at; at++)
    for (const struct hr_param *param = (*at)->params; param && param->key; param++)
      for (size_t i = 0; strcmp(param->key, "rule") == 0 && param->choices[i]; i++)
        put_text(writer, values, NULL, param->choices[i]);
}

/* The names of trace formats. Parameters may follow a name after a colon. */
static void put_formats(struct schema_writer *writer, cJSON *schema) {
  cJSON *forms = put(writer, schema, "anyOf", cJSON_CreateArray());
  cJSON *names = put(writer, put(writer, forms, NULL, cJSON_CreateObject()), "enum", cJSON_CreateArray());
  for (const struct hr_trace_format *at = hr_trace_formats(); at->name; at++) put_text(writer, names, NULL, at->name);
  put_text(writer, put(writer, forms, NULL, cJSON_CreateObject()), "pattern", "^[a-z0-9-]+:.");
}

/* ---- JSON Schema: objects --------------------------------------------------------------------------- */

static void put_members(struct schema_writer *writer, cJSON *schema, const struct hr__key *key) {
  cJSON *required = cJSON_CreateArray(), *any = NULL;
  cJSON *comments = put(writer, schema, "patternProperties", cJSON_CreateObject());
  put_text(writer, put(writer, comments, "^//", cJSON_CreateObject()), "type", "string");
  if (key->choices) put_words(writer, put(writer, schema, "propertyNames", cJSON_CreateObject()), "enum", key->choices);
  cJSON *properties = put(writer, schema, "properties", cJSON_CreateObject());
  for (const struct hr__key *member = key->keys; member->name; member++) {
    bool is_any = strcmp(member->name, "*") == 0;
    if (is_any && key->keys == hr__policy_keys) {
      put_params(writer, properties);
      put_former_values(writer, properties);
      continue;
    }
    cJSON *below =
        put(writer, is_any ? schema : properties, is_any ? "additionalProperties" : member->name, cJSON_CreateObject());
    put_key(writer, below, member);
    if (is_any) any = below;
    if (member->required) put_text(writer, required, NULL, member->name);
    if (key->keys == hr__policy_keys) put_policy_names(writer, below);
  }
  if (!any) put(writer, schema, "additionalProperties", cJSON_CreateFalse());
  if (cJSON_GetArraySize(required))
    put(writer, schema, "required", required);
  else
    cJSON_Delete(required);
  if (key->min > 0) put_number(writer, schema, "minProperties", key->min);
  if (key->max != MAX_MEMBERS) put_number(writer, schema, "maxProperties", key->max);
}

static void put_key(struct schema_writer *writer, cJSON *schema, const struct hr__key *key) {
  put_type(writer, schema, key);
  if (key->fallback) put_default(writer, schema, key->type, key->fallback);
  put_description(writer, schema, key);
  if (key->replaced_by) put(writer, schema, "deprecated", cJSON_CreateTrue());
  if (key->schema) put_parsed(writer, schema, key->schema);
  if (key->type == HR__KEY_OBJECT) put_members(writer, schema, key);
  if (key->type == HR__KEY_LIST) put_key(writer, put(writer, schema, "items", cJSON_CreateObject()), key->keys);
}

enum hr_status hr_scenario_schema(char **json, struct hr_error *error) {
  struct schema_writer writer = {false};
  cJSON *schema = cJSON_CreateObject();
  put_text(&writer, schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
  put_text(&writer, schema, "title", "Headroom scenario");
  put_text(&writer, schema, "description",
           "The trace, the cluster, its prices and the policy of a simulation. Generated by 'headroom list keys "
           "--schema'. Members with names that begin with // are comments.");
  put_key(&writer, schema, &hr__scenario_keys);
  const cJSON *trace =
      cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(schema, "properties"), "trace");
  put_formats(&writer,
              cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(trace, "properties"), "format"));
  *json = writer.failed ? NULL : hr__json_pretty(schema);
  cJSON_Delete(schema);
  return *json ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
}
