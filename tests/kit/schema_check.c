/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "schema_check.h"

#include <stdio.h>
#include <string.h>

static bool report_violation(const char *path, const char *what) {
  printf("\n  %s: %s\n", path, what);
  return false;
}

const cJSON *schema_get(const cJSON *object, const char *key) {
  return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const cJSON *resolved(const cJSON *schema, const cJSON *rule) {
  const cJSON *reference = schema_get(rule, "$ref");
  if (!reference) return rule;
  const char *name = strrchr(reference->valuestring, '/') + 1;
  const cJSON *definition = schema_get(schema_get(schema, "$defs"), name);
  return definition;
}

static bool is_of_type(const cJSON *value, const char *type) {
  if (strcmp(type, "object") == 0) return cJSON_IsObject(value);
  if (strcmp(type, "array") == 0) return cJSON_IsArray(value);
  if (strcmp(type, "string") == 0) return cJSON_IsString(value);
  if (strcmp(type, "null") == 0) return cJSON_IsNull(value);
  if (strcmp(type, "boolean") == 0) return cJSON_IsBool(value);
  if (strcmp(type, "number") == 0) return cJSON_IsNumber(value);
  return cJSON_IsNumber(value) && value->valuedouble == (double)(long long)value->valuedouble;
}

static bool type_allowed(const cJSON *value, const cJSON *types) {
  const cJSON *type;
  if (cJSON_IsString(types)) return is_of_type(value, types->valuestring);
  cJSON_ArrayForEach(type, types) if (is_of_type(value, type->valuestring)) return true;
  return false;
}

bool schema_lists(const cJSON *list, const char *text) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) if (strcmp(item->valuestring, text) == 0) return true;
  return false;
}

static bool fits(const cJSON *schema, const cJSON *value, const cJSON *rule, const char *path);

static bool keys_fit(const cJSON *schema, const cJSON *value, const cJSON *rule, const char *path) {
  const cJSON *key, *known = schema_get(rule, "properties"), *others = schema_get(rule, "additionalProperties");
  const cJSON *names = schema_get(schema_get(rule, "propertyNames"), "enum");
  cJSON_ArrayForEach(key, schema_get(rule, "required")) {
    if (!schema_get(value, key->valuestring)) return report_violation(path, key->valuestring);
  }
  cJSON_ArrayForEach(key, value) {
    const cJSON *own = schema_get(known, key->string);
    char below[300];
    if (!known && !others) continue; /* any key is allowed */
    snprintf(below, sizeof below, "%s.%s", path, key->string);
    if (names && !schema_lists(names, key->string)) return report_violation(below, "unknown name");
    if (!own && !cJSON_IsObject(others)) return report_violation(below, "unknown key");
    if (!fits(schema, key, own ? own : others, below)) return false;
  }
  return true;
}

static bool fits(const cJSON *schema, const cJSON *value, const cJSON *rule, const char *path) {
  rule = resolved(schema, rule);
  if (!rule) return report_violation(path, "$ref to an unknown definition");
  const cJSON *item, *minimum = schema_get(rule, "minimum"), *maximum = schema_get(rule, "maximum");
  if (!type_allowed(value, schema_get(rule, "type"))) return report_violation(path, "wrong type");
  if (cJSON_IsNumber(value) && minimum && value->valuedouble < minimum->valuedouble)
    return report_violation(path, "too small");
  if (cJSON_IsNumber(value) && maximum && value->valuedouble > maximum->valuedouble)
    return report_violation(path, "too large");
  if (cJSON_IsObject(value)) return keys_fit(schema, value, rule, path);
  if (cJSON_IsArray(value) && schema_get(rule, "items")) {
    cJSON_ArrayForEach(item, value) {
      if (!fits(schema, item, schema_get(rule, "items"), path)) return false;
    }
  }
  return true;
}

bool schema_fits(const cJSON *schema, const cJSON *value, const char *path) {
  return fits(schema, value, schema, path);
}
