/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_SCHEMA_CHECK_H
#define HR_TESTS_KIT_SCHEMA_CHECK_H

/* The part of JSON Schema that the schemas of results use, patterns and enumerated values apart. */

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Whether the value is what the schema says; what it is not is printed with `path`. */
bool schema_fits(const cJSON *schema, const cJSON *value, const char *path);

const cJSON *schema_get(const cJSON *object, const char *key);
/* Whether a list of texts has this one. */
bool schema_lists(const cJSON *list, const char *text);

#endif
