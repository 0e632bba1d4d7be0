/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_SCHEMA_JSON_TEXT_H
#define HR_SCENARIOS_SCHEMA_JSON_TEXT_H

/* JSON text for people: indented by two spaces, with a final newline. */

#include <cjson/cJSON.h>

/* Returns the tree as text, which the caller frees with free(); NULL if out of memory. */
char *hr__json_pretty(const cJSON *tree);

#endif
