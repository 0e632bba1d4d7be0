/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "key_schema.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

void key_schema_read(const char *path, struct hr__json_file *schema) {
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr__json_file_read(path, schema, &error), HR_OK);
}

const cJSON *key_schema_get(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* If the schema is a reference "#/$defs/NAME", returns the definition; else returns the schema itself. */
static const cJSON *resolved(const struct hr__json_file *schema, const cJSON *subschema) {
  static const char definitions[] = "#/$defs/";
  const cJSON *reference = key_schema_get(subschema, "$ref");
  if (!reference) return subschema;
  CU_ASSERT_EQUAL_FATAL(strncmp(reference->valuestring, definitions, sizeof definitions - 1), 0);
  return key_schema_get(key_schema_get(schema->tree, "$defs"), reference->valuestring + sizeof definitions - 1);
}

const cJSON *key_schema_of(const struct hr__json_file *schema, const char *path) {
  const cJSON *at = schema->tree;
  char names[200];
  snprintf(names, sizeof names, "%s", path);
  for (char *name = names, *dot; at && name && name[0]; name = dot) {
    dot = strchr(name, '.');
    if (dot) *dot++ = '\0';
    if (strcmp(name, "*") == 0)
      at = key_schema_get(at, "items") ? key_schema_get(at, "items") : key_schema_get(at, "additionalProperties");
    else
      at = key_schema_get(key_schema_get(at, "properties"), name);
    at = resolved(schema, at);
  }
  return cJSON_IsObject(at) ? at : NULL;
}

static bool is_policy_param(const struct hr__key *key) {
  return strcmp(key->path, "policy.*") == 0;
}

static const char *type_word(enum hr__key_type type) {
  static const char *const words[] = {
      [HR__KEY_OBJECT] = "object", [HR__KEY_LIST] = "array",   [HR__KEY_TEXT] = "string",
      [HR__KEY_WHOLE] = "integer", [HR__KEY_REAL] = "number",  [HR__KEY_BOOLEAN] = "boolean",
      [HR__KEY_CHOICE] = "string", [HR__KEY_SCALAR] = "string"};
  return words[type];
}

static void expect_bound(const struct hr__key *key, const cJSON *subschema, const char *name, double bound) {
  const cJSON *value = key_schema_get(subschema, name);
  double stated = value ? value->valuedouble : 0;
  if (stated != bound) printf("\n  %s: %s is %g in the schema, %g in the table\n", key->path, name, stated, bound);
  CU_ASSERT_TRUE(stated == bound);
}

bool key_schema_list_has(const cJSON *list, const char *text) {
  for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next)
    if (cJSON_IsString(entry) && strcmp(entry->valuestring, text) == 0) return true;
  return false;
}

static void expect_choices(const struct hr__key *key, const cJSON *subschema) {
  int count = 0;
  for (; key->choices[count]; count++)
    CU_ASSERT_TRUE(key_schema_list_has(key_schema_get(subschema, "enum"), key->choices[count]));
  CU_ASSERT_EQUAL(cJSON_GetArraySize(key_schema_get(subschema, "enum")), count);
}

/* Returns whether `type` is the type of the schema or in its list of types. */
static bool allows_type(const cJSON *subschema, const char *type) {
  const cJSON *stated = key_schema_get(subschema, "type");
  return cJSON_IsString(stated) ? strcmp(stated->valuestring, type) == 0 : key_schema_list_has(stated, type);
}

static void expect_same(const struct hr__key *key, const cJSON *subschema) {
  if (key->type == HR__KEY_SEED) subschema = cJSON_GetArrayItem(key_schema_get(subschema, "anyOf"), 0);
  const char *type = key->type == HR__KEY_SEED ? "integer" : type_word(key->type);
  CU_ASSERT_TRUE(allows_type(subschema, type));
  switch (key->type) {
  case HR__KEY_TEXT:
    expect_bound(key, subschema, "minLength", key->min);
    expect_bound(key, subschema, "maxLength", key->max);
    break;
  case HR__KEY_LIST:
    expect_bound(key, subschema, "minItems", key->min);
    expect_bound(key, subschema, "maxItems", key->max);
    break;
  case HR__KEY_WHOLE:
  case HR__KEY_REAL:
  case HR__KEY_SEED:
    expect_bound(key, subschema, "minimum", key->min);
    expect_bound(key, subschema, "maximum", key->max);
    break;
  case HR__KEY_CHOICE:
    expect_choices(key, subschema);
    break;
  case HR__KEY_OBJECT:
  case HR__KEY_BOOLEAN:
  case HR__KEY_SCALAR:
    break;
  }
}

static void expect_required(const struct hr__key *parent, const cJSON *subschema) {
  for (const struct hr__key *key = parent + 1; key->path; key++)
    if (hr__key_is_child(key, parent))
      CU_ASSERT_EQUAL(key_schema_list_has(key_schema_get(subschema, "required"), hr__key_name(key)), key->required);
}

void key_schema_expect_table(const struct hr__json_file *schema, const struct hr__key *keys) {
  for (const struct hr__key *key = keys; key->path; key++) {
    if (is_policy_param(key)) continue;
    const cJSON *subschema = key_schema_of(schema, key->path);
    if (!subschema) printf("\n  '%s' is not in the schema\n", key->path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(subschema);
    expect_same(key, subschema);
    if (key->type == HR__KEY_OBJECT) expect_required(key, subschema);
  }
}

/* Returns whether the object `parent` of the table has the member `name` or allows any name. */
static bool has_member(const struct hr__key *parent, const char *name) {
  for (const struct hr__key *key = parent + 1; key->path; key++)
    if (hr__key_is_child(key, parent) && (strcmp(hr__key_name(key), name) == 0 || strcmp(hr__key_name(key), "*") == 0))
      return true;
  return false;
}

void key_schema_expect_known(const struct hr__json_file *schema, const struct hr__key *keys) {
  for (const struct hr__key *key = keys; key->path; key++) {
    if (key->type != HR__KEY_OBJECT) continue;
    const cJSON *subschema = key_schema_of(schema, key->path), *properties = key_schema_get(subschema, "properties");
    bool open = cJSON_IsObject(key_schema_get(subschema, "additionalProperties"));
    CU_ASSERT_TRUE(open || cJSON_IsFalse(key_schema_get(subschema, "additionalProperties")));
    for (const cJSON *property = properties ? properties->child : NULL; property; property = property->next) {
      bool known = has_member(key, property->string);
      if (!known) printf("\n  '%s.%s' is not in the table\n", key->path, property->string);
      CU_ASSERT(known);
    }
  }
}
