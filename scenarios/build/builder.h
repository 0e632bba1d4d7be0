/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_BUILDER_H
#define HR_SCENARIOS_BUILD_BUILDER_H

/*
 * Builds a scenario from a JSON tree that passed the key table, section by section. Each section checks what a key
 * table cannot express: known names, sums, keys that exclude each other. The builder keeps the path to the current
 * value, so that every error can name its line and column.
 *
 * Ownership: what a section stores in the scenario is freed with the scenario, also if a later step fails.
 * Errors: HR_BAD_INPUT with the place of the value, HR_NO_MEMORY, or the status of a file that could not be read.
 */

#include "headroom/scenario.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/experiments.h"
#include "scenarios/schema/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Notes on pools that are being built; one note lists all pools that it applies to. */
struct hr__pool_notes {
  struct hr__pool_note *at;
  size_t count;
};

struct hr__builder {
  struct hr__source source;
  struct hr_scenario *scenario; /* NULL for suites, grids and baselines */
  struct hr_error *error;
  struct hr__source_place place;     /* path to the current value */
  struct hr_catalog *catalog;        /* with the scenario's own rows; NULL until hr__open_catalog */
  struct hr__pool_notes *pool_notes; /* NULL except while pools are built */
};

/* ---- Sections, in the order in which they are built ------------------------------------------------- */

enum hr_status hr__build_cluster(struct hr__builder *builder);
enum hr_status hr__build_classes(struct hr__builder *builder);
enum hr_status hr__build_models(struct hr__builder *builder);
enum hr_status hr__build_network_speeds(struct hr__builder *builder);
enum hr_status hr__build_costs(struct hr__builder *builder);
enum hr_status hr__build_quotas(struct hr__builder *builder);
enum hr_status hr__build_plan(struct hr__builder *builder); /* needs the cluster */

/* Frees the members of `source`, not `source` itself. */
void hr__pool_source_finish(struct hr_pool_source *source);

/* ---- Classes ---------------------------------------------------------------------------------------- */

/* The key for all classes that are not listed: "default". */
extern const char hr__default_key[];
/* The number of a class; HR_N_CLASSES for hr__default_key; HR_CLASS_UNKNOWN for any other word. */
unsigned hr__class_of(const char *name);
/* Fails at the key of the current value, which is not a class: HR_BAD_INPUT, with the known names. */
enum hr_status hr__unknown_class(const struct hr__builder *builder, const char *name);

/* ---- Axes of grids and plans ------------------------------------------------------------------------ */

/* Reads an axis from the current object. `axis` must be zeroed; call hr__grid_axis_finish also after an error. */
enum hr_status hr__grid_axis_build(struct hr__builder *builder, const cJSON *json, struct hr_grid_axis *axis);
void hr__grid_axis_finish(struct hr_grid_axis *axis);

/* Copies the strings of a list; `list` may be NULL, which gives no strings. The caller calls hr__grid_texts_free, also
   after an error. */
enum hr_status hr__grid_texts_copy(const struct hr__builder *builder, const cJSON *list, char ***texts, size_t *count);
static inline void hr__grid_texts_free(char **texts, size_t count) {
  for (size_t i = 0; i < count; i++) free(texts[i]);
  free(texts);
}

/* ---- Errors and notes ------------------------------------------------------------------------------- */

/* Sets the error and returns HR_NO_MEMORY. */
static inline enum hr_status hr__build_no_memory(const struct hr__builder *builder) {
  return hr_fail(builder->error, HR_NO_MEMORY, "%s: out of memory", builder->source.path);
}

/* Fails at the current value, or at its key if `at_key`: HR_BAD_INPUT. */
enum hr_status hr__build_fail(const struct hr__builder *builder, bool at_key, const char *format, ...) HR_PRINTF(3, 4);
/* Fails at the member `name` of the current object, or at the object if it has no such member: HR_BAD_INPUT. */
enum hr_status hr__build_fail_at(struct hr__builder *builder, const cJSON *object, const char *name, const char *format,
                                 ...) HR_PRINTF(4, 5);
/* Returns `status`; an HR_BAD_INPUT of a lower layer gets the place of the current value. */
enum hr_status hr__build_wrap(const struct hr__builder *builder, bool at_key, enum hr_status status,
                              const struct hr_error *inner);
/* Copies `text` and the place of the current value ("FILE:LINE:COLUMN: "); the caller frees both. */
enum hr_status hr__build_placed(const struct hr__builder *builder, const char *text, struct hr_placed_text *placed);

/* Adds a note on a pool. Pools with the same text share one note: "pools 'a', 'b': ...". */
enum hr_status hr__pool_note(const struct hr__builder *builder, const char *pool, const char *format, ...)
    HR_PRINTF(3, 4);
/* Appends the notes to `to`, in the order of their first pool, unless it is NULL, and frees `notes` in any case.
   HR_NO_MEMORY is the only failure. */
enum hr_status hr__pool_notes_move(struct hr__pool_notes *notes, struct hr_notes *to);

/* ---- The tree --------------------------------------------------------------------------------------- */

/* Moves to the member `name` and returns it; NULL, without a move, if it does not exist. */
const cJSON *hr__build_enter(struct hr__builder *builder, const cJSON *object, const char *name);

/* Moves back to the parent. */
static inline void hr__build_leave(struct hr__builder *builder) {
  hr__place_leave(&builder->place);
}

static inline bool hr__has(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name) != NULL;
}

/* The value of a member, or `fallback` if it does not exist. The key table has checked its type. */

static inline const char *hr__text_of(const cJSON *object, const char *name, const char *fallback) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  return member ? member->valuestring : fallback;
}

static inline double hr__number_of(const cJSON *object, const char *name, double fallback) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  return member ? member->valuedouble : fallback;
}

/* Seconds to microseconds. */
static inline int64_t hr__span_of(const cJSON *object, const char *name, int64_t fallback) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  return member ? (int64_t)llround(member->valuedouble * (double)HR_SECOND_US) : fallback;
}

/* Dollars to micro-dollars, shares to millionths: the shortest decimal that reads back as the same number, rounded half
   up at its sixth digit. */
int64_t hr__micros_of(const cJSON *object, const char *name, int64_t fallback);
/* The index of a choice in `words`. */
static inline size_t hr__choice_of(const cJSON *object, const char *name, const char *const *words, size_t fallback) {
  const char *word = hr__text_of(object, name, NULL);
  for (size_t i = 0; word && words[i]; i++)
    if (strcmp(words[i], word) == 0) return i;
  return fallback;
}

/* a x b / c, rounded half up; all non-negative, c above 0. */
static inline int64_t hr__money_scale(int64_t a, int64_t b, int64_t c) {
  return (int64_t)(((hr_amount)a * b * 2 + c) / ((hr_amount)c * 2));
}

/* A scalar as text: a number as the shortest decimal that reads back as the same number. The text is in `buffer` or in
   the tree. */
const char *hr__scalar_text(const cJSON *value, char buffer[32]);

/* ---- Files ------------------------------------------------------------------------------------------ */

/* A path named in the source file, relative to the folder of that file; "a/../b" is shortened to "b" unless "a" is a
   symbolic link. Adds the path to the files that the scenario names, if a scenario is built. The caller frees it; NULL:
   out of memory. */
char *hr__resolve(const struct hr__builder *builder, const char *file);

/* Loads the catalogue with the files of the scenario's `catalog`, unless it is loaded. */
enum hr_status hr__open_catalog(struct hr__builder *builder);

#endif
