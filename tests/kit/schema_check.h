/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_SCHEMA_CHECK_H
#define HR_TESTS_KIT_SCHEMA_CHECK_H

/* Validation by the subset of JSON Schema that the schemas of results use. `pattern` is ignored, and so is `enum`,
   except in `propertyNames`. */

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Returns whether the value conforms to the schema. Prints the first violation; its location begins with `path`. */
bool schema_fits(const cJSON *schema, const cJSON *value, const char *path);

const cJSON *schema_get(const cJSON *object, const char *key);
/* Returns whether a list of texts contains `text`. */
bool schema_lists(const cJSON *list, const char *text);

#endif
