/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_BUILDER_H
#define HR_SCENARIOS_BUILD_BUILDER_H

/*
 * From a validated tree to a scenario, part by part. What the table of keys cannot say (names that must be known, sums,
 * keys that exclude each other) is checked where a part is built.
 */

#include "headroom/scenario.h"
#include "headroom/unstable/catalog.h"
#include "scenarios/build/pool_notes.h"
#include "scenarios/schema/source.h"

struct hr__builder {
  struct hr__source source;
  struct hr_scenario *scenario;
  struct hr_error *error;
  struct hr__source_place place;     /* of the value at hand */
  struct hr_catalog *catalog;        /* with the scenario's own rows; NULL until it is asked for */
  struct hr__pool_notes *pool_notes; /* while pools are built */
};

/* ---- Parts, in the order in which they are built ---------------------------------------------------- */

enum hr_status hr__build_cluster(struct hr__builder *builder);
enum hr_status hr__build_classes(struct hr__builder *builder);
enum hr_status hr__build_models(struct hr__builder *builder);
enum hr_status hr__build_network_speeds(struct hr__builder *builder);
enum hr_status hr__build_costs(struct hr__builder *builder);
enum hr_status hr__build_quotas(struct hr__builder *builder);
enum hr_status hr__build_alerts(struct hr__builder *builder);
enum hr_status hr__build_plan(struct hr__builder *builder); /* after the cluster */

void hr__pool_source_finish(struct hr_pool_source *source);

/* The key for all classes that are not named. */
extern const char hr__everyone_else[];
/* The class of that name; HR_N_CLASSES for hr__everyone_else; HR_CLASS_UNKNOWN for a word that is neither. */
unsigned hr__class_of(const char *name);
/* The value at hand has a key that is no class. */
enum hr_status hr__unknown_class(const struct hr__builder *builder, const char *name);

/* ---- For all parts ---------------------------------------------------------------------------------- */

enum hr_status hr__build_no_memory(const struct hr__builder *builder);
/* The value at hand (with `at_key`: its key) is wrong: HR_BAD_INPUT. */
enum hr_status hr__build_fail(const struct hr__builder *builder, bool at_key, const char *format, ...) HR_PRINTF(3, 4);
/* Likewise for the member `name` of the object at hand; for the object itself where it has none. */
enum hr_status hr__build_fail_at(struct hr__builder *builder, const cJSON *object, const char *name, const char *format,
                                 ...) HR_PRINTF(4, 5);
/* Passes on what a lower layer found wrong with the value at hand. */
enum hr_status hr__build_wrap(const struct hr__builder *builder, bool at_key, enum hr_status status,
                              const struct hr_error *inner);

/* A copy of the text, and of where the value at hand stands. */
enum hr_status hr__build_placed(const struct hr__builder *builder, const char *text, struct hr_placed_text *placed);

/* The member `name`, with the builder's place moved to it; NULL, and the place unmoved, if there is none. */
const cJSON *hr__build_enter(struct hr__builder *builder, const cJSON *object, const char *name);
void hr__build_leave(struct hr__builder *builder);

bool hr__has(const cJSON *object, const char *name);
const char *hr__text_of(const cJSON *object, const char *name, const char *fallback);
double hr__number_of(const cJSON *object, const char *name, double fallback);
/* Seconds to microseconds; `fallback` where there is no such member. */
int64_t hr__span_of(const cJSON *object, const char *name, int64_t fallback);
/* Dollars to whole micro-dollars, shares to millionths: the shortest decimal that reads as the same number, rounded
   half up at its sixth digit. */
int64_t hr__micros_of(const cJSON *object, const char *name, int64_t fallback);
/* a x b / c, rounded half up; none of them negative. */
int64_t hr__money_scale(int64_t a, int64_t b, int64_t c);
/* The index of a choice's word in `words`, which the table of keys made sure of; `fallback` where there is none. */
size_t hr__choice_of(const cJSON *object, const char *name, const char *const *words, size_t fallback);

/* A number as the shortest text that reads back as the same number; other scalars as they are written. */
const char *hr__scalar_text(const cJSON *value, char buffer[32]);

/* `file` as named in the source: relative to its folder. "a/../b" becomes "b" for a person's eyes. */
char *hr__beside(const struct hr__builder *builder, const char *file);
/* Likewise in a scenario, which lists it among the files that it names. */
char *hr__resolve(const struct hr__builder *builder, const char *file);

#endif
