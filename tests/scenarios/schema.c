/* SPDX-License-Identifier: GPL-3.0-or-later */
/* docs/reference/schemas/scenario.schema.json has the same keys, types and bounds as the key table. All shipped
   scenarios load. */

#include "harness.h"

#include "headroom/scenario.h"
#include "key_schema.h"

#include <string.h>
#include <unistd.h>

static struct hr__json_file schema;

static void table_is_in_the_schema(void) {
  key_schema_expect_table(&schema, &hr__scenario_keys);
}

static bool some_policy_has(const char *param_key) {
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++)
    for (const struct hr_param *param = (*at)->params; param && param->key; param++)
      if (strcmp(param->key, param_key) == 0) return true;
  return false;
}

static void policies_are_in_the_schema(void) {
  const cJSON *properties = key_schema_get(key_schema_of(&schema, "policy"), "properties");
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++) {
    CU_ASSERT_TRUE(key_schema_list_has(key_schema_get(key_schema_get(properties, "name"), "enum"), (*at)->name));
    for (const struct hr_param *param = (*at)->params; param && param->key; param++) {
      const cJSON *property_schema = key_schema_get(properties, param->key);
      CU_ASSERT_PTR_NOT_NULL_FATAL(property_schema);
      for (size_t i = 0; param->choices && param->choices[i]; i++)
        CU_ASSERT_TRUE(key_schema_list_has(key_schema_get(property_schema, "enum"), param->choices[i]));
    }
  }
  for (const struct hr_policy_setting *at = hr_policy_settings(); at->name; at++)
    CU_ASSERT_TRUE(key_schema_list_has(key_schema_get(key_schema_get(properties, "name"), "enum"), at->name));
  for (const cJSON *property = properties->child; property; property = property->next)
    CU_ASSERT_TRUE(strcmp(property->string, "name") == 0 || some_policy_has(property->string));
}

static void formats_are_in_the_schema(void) {
  const cJSON *alternatives = key_schema_get(key_schema_of(&schema, "trace.format"), "anyOf");
  const cJSON *formats =
      key_schema_get(cJSON_GetArrayItem(alternatives, 0), "enum"); /* entry 1: formats with parameters */
  int count = 0;
  for (const struct hr_trace_format *at = hr_trace_formats(); at->name; at++, count++)
    CU_ASSERT_TRUE(key_schema_list_has(formats, at->name));
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
    if (status != HR_OK && strstr(error.text, "/shared/") && access(PROJECT_DIR "/../shared", F_OK) != 0) {
      fprintf(stderr, "\n    skipped: %s\n", error.text);
      continue;
    }
    if (status != HR_OK) printf("\n  %s\n", error.text);
    CU_ASSERT_EQUAL_FATAL(status, HR_OK);
    CU_ASSERT_STRING_EQUAL(scenario->name, entries[i].name);
    CU_ASSERT_TRUE(strlen(scenario->description) > 0);
    CU_ASSERT_TRUE(i == 0 || strcmp(entries[i - 1].path, entries[i].path) < 0);
    hr_scenario_destroy(scenario);
  }
  hr_scenario_list_free(entries, count);
}

static void schema_is_read(void) {
  key_schema_read(PROJECT_DIR "/docs/reference/schemas/scenario.schema.json", &schema);
}

static void free_schema(void) {
  hr__json_file_finish(&schema);
}

TEST_MAIN("scenarios_schema", TEST(schema_is_read), TEST(table_is_in_the_schema), TEST(policies_are_in_the_schema),
          TEST(formats_are_in_the_schema), TEST(shipped_scenarios_load), TEST(free_schema))
