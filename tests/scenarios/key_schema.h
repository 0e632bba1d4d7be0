/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_SCENARIOS_KEY_SCHEMA_H
#define HR_TESTS_SCENARIOS_KEY_SCHEMA_H

/* Compares a JSON Schema with a key table: both must have the same keys, types and bounds. */

#include "scenarios/schema/keys.h"
#include "traces/json/json.h"

/* Reads the schema; an error fails the test. The caller calls hr__json_file_finish. */
void key_schema_read(const char *path, struct hr__json_file *schema);
/* Asserts that the schema and the table have the same keys, with the same types and bounds. */
void key_schema_expect_table(const struct hr__json_file *schema, const struct hr__key *root);

const cJSON *key_schema_get(const cJSON *object, const char *name);
/* Returns the subschema for the path of a key; NULL if the schema has none. */
const cJSON *key_schema_of(const struct hr__json_file *schema, const char *path);
bool key_schema_list_has(const cJSON *list, const char *text);

#endif
