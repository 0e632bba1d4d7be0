/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_SCHEMA_SOURCE_H
#define HR_SCENARIOS_SCHEMA_SOURCE_H

/* A JSON document with its overrides (--set), checked against a key table. Errors have the place of the faulty
   value. */

#include "scenarios/schema/keys.h"
#include "traces/json/json.h"

/* A document with the overrides of its values. */
struct hr__source {
  const char *path; /* path of the file, for messages */
  struct hr__json_file file;
  const char *const *overrides; /* "path=value" */
  size_t n_overrides;
};

/* Writes the path of a value, such as "cluster.pools.0.nodes"; "" for the outermost object. */
void hr__source_path(const struct hr__source *source, const cJSON *value, char *text, size_t size);

/* Applies the overrides to the tree. Each path must be the path of a key of hr__scenario_keys. */
enum hr_status hr__source_override(struct hr__source *source, struct hr_error *error);
/* Checks the tree against the row of its outermost object. `noun` is the name of the document in messages, such as "the
   scenario". */
enum hr_status hr__source_validate(const struct hr__source *source, const struct hr__key *key, const char *noun,
                                   struct hr_error *error);

/* Reports an error at a value of the tree and returns HR_BAD_INPUT. If an override set the value, the message begins
   with "--set OVERRIDE: ". Otherwise it begins with "FILE:LINE:COLUMN: " of the value, or of its key if `at_key` is
   set. If `value` is NULL or not in the tree, it begins with "FILE: ". */
enum hr_status hr__source_fail(const struct hr__source *source, const cJSON *value, bool at_key, struct hr_error *error,
                               const char *format, ...) HR_PRINTF(5, 6);

#endif
