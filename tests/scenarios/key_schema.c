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
  if (stated != bound) printf("\n  %s: %s is %g in the schema, %g in the table\n", key->name, name, stated, bound);
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

static const cJSON *subschema_of(const struct hr__json_file *schema, const cJSON *parent, const struct hr__key *key) {
  const char *any = key_schema_get(parent, "items") ? "items" : "additionalProperties";
  if (strcmp(key->name, "*") == 0) return resolved(schema, key_schema_get(parent, any));
  return resolved(schema, key_schema_get(key_schema_get(parent, "properties"), key->name));
}

/* Asserts that each property of an object is in the table. */
static void expect_known(const struct hr__key *key, const cJSON *subschema) {
  const cJSON *properties = key_schema_get(subschema, "properties");
  bool open = cJSON_IsObject(key_schema_get(subschema, "additionalProperties"));
  CU_ASSERT_TRUE(open || cJSON_IsFalse(key_schema_get(subschema, "additionalProperties")));
  for (const cJSON *property = properties ? properties->child : NULL; property; property = property->next) {
    const struct hr__key *known = hr__key_member(key, property->string);
    if (!known) printf("\n  '%s' of '%s' is not in the table\n", property->string, key->name);
    CU_ASSERT(known != NULL);
  }
}

static void expect_key(const struct hr__json_file *schema, const struct hr__key *key, const cJSON *subschema) {
  expect_same(key, subschema);
  if (key->type == HR__KEY_OBJECT) expect_known(key, subschema);
  for (const struct hr__key *member = key->keys; member && member->name && key->keys != hr__policy_keys; member++) {
    const cJSON *found = subschema_of(schema, subschema, member);
    if (!found) printf("\n  '%s' of '%s' is not in the schema\n", member->name, key->name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    if (key->type == HR__KEY_OBJECT)
      CU_ASSERT_EQUAL(key_schema_list_has(key_schema_get(subschema, "required"), member->name), member->required);
    expect_key(schema, member, found);
  }
}

void key_schema_expect_table(const struct hr__json_file *schema, const struct hr__key *root) {
  expect_key(schema, root, schema->tree);
}
