/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_SCENARIOS_KEY_SCHEMA_H
#define HR_TESTS_SCENARIOS_KEY_SCHEMA_H

/* A JSON Schema held against a table of keys: neither says more or less than the other, bounds included. */

#include "scenarios/schema/keys.h"
#include "traces/json/json_file.h"

/* Reads the schema; failing is a failed test. */
void key_schema_read(const char *path, struct hr__json_file *schema);
/* Whether each key of the table is in the schema, and the other way round; asserted key by key. */
void key_schema_expect_table(const struct hr__json_file *schema, const struct hr__key *keys);
void key_schema_expect_known(const struct hr__json_file *schema, const struct hr__key *keys);

const cJSON *key_schema_get(const cJSON *object, const char *name);
/* What the schema says about the value at a key's path; NULL for nothing. */
const cJSON *key_schema_of(const struct hr__json_file *schema, const char *path);
bool key_schema_list_has(const cJSON *list, const char *text);

#endif
