/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_SCHEMA_SOURCE_H
#define HR_SCENARIOS_SCHEMA_SOURCE_H

/* A JSON document with its overrides (--set), checked against a key table. Errors have the place of the faulty
   value. */

#include "scenarios/schema/keys.h"
#include "traces/json/json_file.h"
#include "traces/json/json_scan.h"

/* A document with the overrides of its values. */
struct hr__source {
  const char *path; /* path of the file, for messages */
  struct hr__json_file file;
  const char *const *overrides; /* "path=value" */
  size_t n_overrides;
};

/* The path from the outermost object to a value. It has one level more than HR__JSON_DEPTH, because objects at the
   maximum depth contain scalars. */
struct hr__source_place {
  size_t depth;
  uint32_t ordinal[HR__JSON_DEPTH + 1]; /* index among the children of the parent, from 0 */
  const char *name[HR__JSON_DEPTH + 1]; /* key in the parent; NULL: the parent is a list */
};

/* Extends the path by a child. `ordinal` and `name` have the meaning of the members of hr__source_place. */
static inline void hr__place_enter(struct hr__source_place *place, uint32_t ordinal, const char *name) {
  place->ordinal[place->depth] = ordinal;
  place->name[place->depth++] = name;
}

/* Removes the last component of the path. */
static inline void hr__place_leave(struct hr__source_place *place) {
  place->depth--;
}

/* Writes a path such as "cluster.pools.0.nodes"; "" for the outermost object. */
void hr__place_text(const struct hr__source_place *place, char *text, size_t size);

/* Applies the overrides to the tree. Each path must be the path of a key of hr__scenario_keys. */
enum hr_status hr__source_override(struct hr__source *source, struct hr_error *error);
/* Checks the tree against a key table. `noun` is the name of the document in messages, such as "the scenario". */
enum hr_status hr__source_validate(const struct hr__source *source, const struct hr__key *keys, const char *noun,
                                   struct hr_error *error);

/* Reports an error at `place` and returns HR_BAD_INPUT. If an override set the value, the message begins with "--set
   OVERRIDE: ". Otherwise it begins with "FILE:LINE:COLUMN: " of the value, or of its key if `at_key` is set. */
enum hr_status hr__source_fail(const struct hr__source *source, const struct hr__source_place *place, bool at_key,
                               struct hr_error *error, const char *format, ...) HR_PRINTF(5, 6);

#endif
