/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes the JSON Schema of scenarios from the key tables.
 *
 * The schema is built as a tree of cJSON. cJSON accepts NULL for a tree that could not be allocated, so memory is
 * checked once, where a member is added.
 */

#include "headroom/policies.h"
#include "headroom/trace_files.h"
#include "headroom/unstable/scenario_files.h"
#include "scenarios/schema/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A schema while it is written. */
struct schema_writer {
  bool failed; /* out of memory */
};

/* Adds a member and returns it. */
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

/* Adds the members of a JSON object in text. */
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

/* ---- Values ----------------------------------------------------------------------------------------- */

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

/* Writes the help, the unit and a default in words. */
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

/* ---- Names that are not in the tables --------------------------------------------------------------- */

/* The names of policies and of their settings. */
static void put_policy_names(struct schema_writer *writer, cJSON *schema) {
  cJSON *names = put(writer, schema, "enum", cJSON_CreateArray());
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++) put_text(writer, names, NULL, (*at)->name);
  for (const struct hr_policy_setting *at = hr_policy_settings(); at->name; at++)
    put_text(writer, names, NULL, at->name);
}

static void put_param(struct schema_writer *writer, cJSON *properties, const struct hr_param *param) {
  if (cJSON_GetObjectItemCaseSensitive(properties, param->key)) return; /* two policies have it */
  const struct hr__key key = hr__key_of_param(param);
  cJSON *schema = put(writer, properties, param->key, cJSON_CreateObject());
  put_key(writer, schema, &key);
}

static void put_params(struct schema_writer *writer, cJSON *properties) {
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++)
    for (const struct hr_param *param = (*at)->params; param && param->key; param++)
      put_param(writer, properties, param);
}

/* Adds the former values of the parameter `market`, which are values of `rule` of the policy `deadline` now. */
static void put_former_values(struct schema_writer *writer, const cJSON *properties) {
  cJSON *values = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(properties, "market"), "enum");
  for (const struct hr_policy_ops *const *at = hr_policies(); values && *at; at++)
    for (const struct hr_param *param = (*at)->params; param && param->key; param++)
      for (size_t i = 0; strcmp(param->key, "rule") == 0 && param->choices[i]; i++)
        put_text(writer, values, NULL, param->choices[i]);
}

/* The names of trace formats, and those that take parameters after a colon. */
static void put_formats(struct schema_writer *writer, cJSON *schema) {
  cJSON *forms = put(writer, schema, "anyOf", cJSON_CreateArray());
  cJSON *names = put(writer, put(writer, forms, NULL, cJSON_CreateObject()), "enum", cJSON_CreateArray());
  for (const struct hr_trace_format *at = hr_trace_formats(); at->name; at++) put_text(writer, names, NULL, at->name);
  put_text(writer, put(writer, forms, NULL, cJSON_CreateObject()), "pattern", "^[a-z0-9-]+:.");
}

/* ---- Objects ---------------------------------------------------------------------------------------- */

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
