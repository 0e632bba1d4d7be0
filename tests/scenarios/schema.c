/* SPDX-License-Identifier: GPL-3.0-or-later */
/* docs/scenario.schema.json says what the loader's table of keys says, neither more nor less, bounds included; and the
   scenarios that ship load. */

#include "harness.h"

#include "headroom/scenario.h"
#include "scenarios/json_file.h"
#include "scenarios/keys.h"

#include <string.h>

static struct hr__json_file schema;

static const cJSON *get(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* "#/$defs/NAME" stands for what is defined there. */
static const cJSON *followed(const cJSON *said) {
  static const char definitions[] = "#/$defs/";
  const cJSON *reference = get(said, "$ref");
  if (!reference) return said;
  CU_ASSERT_EQUAL_FATAL(strncmp(reference->valuestring, definitions, sizeof definitions - 1), 0);
  return get(get(schema.tree, "$defs"), reference->valuestring + sizeof definitions - 1);
}

/* What the schema says about the value at a key's path; NULL for nothing. */
static const cJSON *schema_of(const char *path) {
  const cJSON *at = schema.tree;
  char names[200];
  snprintf(names, sizeof names, "%s", path);
  for (char *name = names, *dot; at && name && name[0]; name = dot) {
    dot = strchr(name, '.');
    if (dot) *dot++ = '\0';
    if (strcmp(name, "*") == 0)
      at = get(at, "items") ? get(at, "items") : get(at, "additionalProperties");
    else
      at = get(get(at, "properties"), name);
    at = followed(at);
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

static void expect_bound(const struct hr__key *key, const cJSON *said, const char *name, double bound) {
  const cJSON *value = get(said, name);
  double stated = value ? value->valuedouble : 0;
  if (stated != bound) printf("\n  %s: %s is %g in the schema, %g in the table\n", key->path, name, stated, bound);
  CU_ASSERT_TRUE(stated == bound);
}

static bool list_has(const cJSON *list, const char *text) {
  for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next)
    if (cJSON_IsString(entry) && strcmp(entry->valuestring, text) == 0) return true;
  return false;
}

static void expect_choices(const struct hr__key *key, const cJSON *said) {
  int count = 0;
  for (; key->choices[count]; count++) CU_ASSERT_TRUE(list_has(get(said, "enum"), key->choices[count]));
  CU_ASSERT_EQUAL(cJSON_GetArraySize(get(said, "enum")), count);
}

/* A type, or a list that has it. */
static bool may_be(const cJSON *said, const char *type) {
  const cJSON *stated = get(said, "type");
  return cJSON_IsString(stated) ? strcmp(stated->valuestring, type) == 0 : list_has(stated, type);
}

static void expect_same(const struct hr__key *key, const cJSON *said) {
  if (key->type == HR__KEY_SEED) said = cJSON_GetArrayItem(get(said, "anyOf"), 0);
  const char *type = key->type == HR__KEY_SEED ? "integer" : type_word(key->type);
  CU_ASSERT_TRUE(may_be(said, type));
  switch (key->type) {
  case HR__KEY_TEXT:
    expect_bound(key, said, "minLength", key->min);
    expect_bound(key, said, "maxLength", key->max);
    break;
  case HR__KEY_LIST:
    expect_bound(key, said, "minItems", key->min);
    expect_bound(key, said, "maxItems", key->max);
    break;
  case HR__KEY_WHOLE:
  case HR__KEY_REAL:
  case HR__KEY_SEED:
    expect_bound(key, said, "minimum", key->min);
    expect_bound(key, said, "maximum", key->max);
    break;
  case HR__KEY_CHOICE:
    expect_choices(key, said);
    break;
  case HR__KEY_OBJECT:
  case HR__KEY_BOOLEAN:
  case HR__KEY_SCALAR:
    break;
  }
}

static void expect_required(const struct hr__key *parent, const cJSON *said) {
  for (const struct hr__key *key = hr__scenario_keys() + 1; key->path; key++)
    if (hr__key_is_child(key, parent))
      CU_ASSERT_EQUAL(list_has(get(said, "required"), hr__key_name(key)), key->required);
}

static void table_is_in_the_schema(void) {
  for (const struct hr__key *key = hr__scenario_keys(); key->path; key++) {
    if (is_policy_param(key)) continue;
    const cJSON *said = schema_of(key->path);
    if (!said) printf("\n  '%s' is not in the schema\n", key->path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(said);
    expect_same(key, said);
    if (key->type == HR__KEY_OBJECT) expect_required(key, said);
  }
}

static void schema_is_in_the_table(void) {
  for (const struct hr__key *key = hr__scenario_keys(); key->path; key++) {
    if (key->type != HR__KEY_OBJECT) continue;
    const cJSON *said = schema_of(key->path), *properties = get(said, "properties");
    bool open = cJSON_IsObject(get(said, "additionalProperties"));
    CU_ASSERT_TRUE(open || cJSON_IsFalse(get(said, "additionalProperties")));
    for (const cJSON *property = properties ? properties->child : NULL; property; property = property->next) {
      const struct hr__key *child = hr__key_child(key, property->string);
      if (!child) printf("\n  '%s.%s' is not in the table\n", key->path, property->string);
      CU_ASSERT_PTR_NOT_NULL(child);
    }
  }
}

static bool some_policy_has(const char *param_key) {
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++)
    for (const struct hr_param *param = (*at)->params; param && param->key; param++)
      if (strcmp(param->key, param_key) == 0) return true;
  return false;
}

static void policies_are_in_the_schema(void) {
  const cJSON *properties = get(schema_of("policy"), "properties");
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++) {
    CU_ASSERT_TRUE(list_has(get(get(properties, "name"), "enum"), (*at)->name));
    for (const struct hr_param *param = (*at)->params; param && param->key; param++) {
      const cJSON *said = get(properties, param->key);
      CU_ASSERT_PTR_NOT_NULL_FATAL(said);
      for (size_t i = 0; param->choices && param->choices[i]; i++)
        CU_ASSERT_TRUE(list_has(get(said, "enum"), param->choices[i]));
    }
  }
  for (const struct hr_policy_setting *at = hr_policy_settings(); at->name; at++)
    CU_ASSERT_TRUE(list_has(get(get(properties, "name"), "enum"), at->name));
  for (const cJSON *property = properties->child; property; property = property->next)
    CU_ASSERT_TRUE(strcmp(property->string, "name") == 0 || some_policy_has(property->string));
}

static void formats_are_in_the_schema(void) {
  const cJSON *formats = get(schema_of("trace.format"), "enum");
  int count = 0;
  for (const struct hr_trace_format *at = hr_trace_formats(); at->name; at++, count++)
    CU_ASSERT_TRUE(list_has(formats, at->name));
  CU_ASSERT_EQUAL(cJSON_GetArraySize(formats), count);
}

static void shipped_scenarios_load(void) {
  struct hr_scenario_entry *entries;
  size_t count;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(setenv("HEADROOM_DATA", PROJECT_DIR, 1), 0);
  CU_ASSERT_EQUAL_FATAL(hr_scenario_list(&entries, &count, &error), HR_OK);
  CU_ASSERT_TRUE(count >= 5);
  for (size_t i = 0; i < count; i++) {
    struct hr_scenario *scenario;
    enum hr_status status = hr_scenario_load(entries[i].path, NULL, 0, &scenario, &error);
    if (status != HR_OK) printf("\n  %s\n", error.text);
    CU_ASSERT_EQUAL_FATAL(status, HR_OK);
    CU_ASSERT_STRING_EQUAL(scenario->name, entries[i].name);
    CU_ASSERT_TRUE(strlen(scenario->description) > 0);
    CU_ASSERT_TRUE(i == 0 || strcmp(entries[i - 1].path, entries[i].path) < 0);
    hr_scenario_destroy(scenario);
  }
  hr_scenario_list_free(entries, count);
}

static void schema_is_json(void) {
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr__json_file_read(PROJECT_DIR "/docs/scenario.schema.json", &schema, &error), HR_OK);
}

static void done(void) {
  hr__json_file_finish(&schema);
}

TEST_MAIN("scenarios_schema", TEST(schema_is_json), TEST(table_is_in_the_schema), TEST(schema_is_in_the_table),
          TEST(policies_are_in_the_schema), TEST(formats_are_in_the_schema), TEST(shipped_scenarios_load), TEST(done))
