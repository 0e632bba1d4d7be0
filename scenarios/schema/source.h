/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_SCHEMA_SOURCE_H
#define HR_SCENARIOS_SCHEMA_SOURCE_H

/* A JSON document with its overrides (--set), checked against a key table. Errors name the place of each value. */

#include "scenarios/schema/keys.h"
#include "traces/json/json_file.h"
#include "traces/json/json_scan.h"

struct hr__source {
  const char *path; /* of the file, for messages */
  struct hr__json_file file;
  const char *const *overrides; /* "path=value" */
  size_t n_overrides;
};

/* The path from the outermost object to a value. One level more than HR__JSON_DEPTH: the deepest object has scalars. */
struct hr__source_place {
  size_t depth;
  uint32_t ordinal[HR__JSON_DEPTH + 1]; /* among its siblings, from 0 */
  const char *name[HR__JSON_DEPTH + 1]; /* NULL: an entry of a list */
};

static inline void hr__place_enter(struct hr__source_place *place, uint32_t ordinal, const char *name) {
  place->ordinal[place->depth] = ordinal;
  place->name[place->depth++] = name;
}

static inline void hr__place_leave(struct hr__source_place *place) {
  place->depth--;
}

/* Writes "cluster.pools.0.nodes"; "" for the outermost object. */
void hr__place_text(const struct hr__source_place *place, char *text, size_t size);

/* Applies the overrides to the tree. Each path must name a key of hr__scenario_keys. */
enum hr_status hr__source_override(struct hr__source *source, struct hr_error *error);
/* Checks the tree against a key table. `noun` is the document in messages: "the scenario". */
enum hr_status hr__source_validate(const struct hr__source *source, const struct hr__key *keys, const char *noun,
                                   struct hr_error *error);

/* Fails with HR_BAD_INPUT. The message starts with "--set OVERRIDE: " if an override set the value at `place`, else
   with "FILE:LINE:COLUMN: " of the value, or of its key if `at_key`. */
enum hr_status hr__source_fail(const struct hr__source *source, const struct hr__source_place *place, bool at_key,
                               struct hr_error *error, const char *format, ...) HR_PRINTF(5, 6);

#endif
