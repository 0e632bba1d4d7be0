/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_SCENARIOS_KEY_SCHEMA_H
#define HR_TESTS_SCENARIOS_KEY_SCHEMA_H

/* Compares a JSON Schema with a key table: same keys, types and bounds. */

#include "scenarios/schema/keys.h"
#include "traces/json/json_file.h"

/* Reads the schema; an error fails the test. */
void key_schema_read(const char *path, struct hr__json_file *schema);
/* Assert, key by key, that the table is in the schema, and the schema in the table. */
void key_schema_expect_table(const struct hr__json_file *schema, const struct hr__key *keys);
void key_schema_expect_known(const struct hr__json_file *schema, const struct hr__key *keys);

const cJSON *key_schema_get(const cJSON *object, const char *name);
/* The subschema of the value at a key's path; NULL if there is none. */
const cJSON *key_schema_of(const struct hr__json_file *schema, const char *path);
bool key_schema_list_has(const cJSON *list, const char *text);

#endif
