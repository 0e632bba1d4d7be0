/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_SCHEMA_SOURCE_H
#define HR_SCENARIOS_SCHEMA_SOURCE_H

/* Where a scenario's values come from, a file and overrides, so that an error can name the very place. */

#include "scenarios/schema/keys.h"
#include "traces/json/json_file.h"
#include "traces/json/json_scan.h"

struct hr__source {
  const char *path; /* of the file */
  struct hr__json_file file;
  const char *const *overrides; /* "path=value" */
  size_t n_overrides;
};

/* A way from the outermost object to a value. One step more than depth allows: scalars stand inside the deepest. */
struct hr__source_place {
  size_t depth;
  uint32_t ordinal[HR__JSON_DEPTH + 1];
  const char *name[HR__JSON_DEPTH + 1]; /* NULL in a list */
};
void hr__place_enter(struct hr__source_place *place, uint32_t ordinal, const char *name);
void hr__place_leave(struct hr__source_place *place);
/* "cluster.pools.0.nodes"; "" for the outermost object. */
void hr__place_text(const struct hr__source_place *place, char *text, size_t size);

/* Sets each override's value in the tree. The path must name a key that a scenario may have. */
enum hr_status hr__source_override(struct hr__source *source, struct hr_error *error);
/* Checks the tree against a table of keys. `noun` is what errors call the whole: "the scenario". */
enum hr_status hr__source_validate(const struct hr__source *source, const struct hr__key *keys, const char *noun,
                                   struct hr_error *error);

/* Fails with "FILE:LINE:COLUMN: " or "--set OVERRIDE: " in front, whichever gave the value at `place` (with
   `at_key`: its key). HR_BAD_INPUT. */
enum hr_status hr__source_fail(const struct hr__source *source, const struct hr__source_place *place, bool at_key,
                               struct hr_error *error, const char *format, ...) HR_PRINTF(5, 6);

#endif
