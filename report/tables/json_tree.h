/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_JSON_TREE_H
#define HR_REPORT_TABLES_JSON_TREE_H

/*
 * Builds a JSON tree with cJSON and writes it, one key per line. Numbers are added as text, because cJSON may print
 * doubles with more digits than necessary and represents integers exactly only up to 2^53.
 *
 * Callers need not check for failed allocations: all functions accept NULL objects and set `failed`, and
 * hr__json_print() or hr__json_write() returns the error.
 */

#include "base/text.h"
#include "headroom/policies.h"
#include "headroom/report.h"

#include <cjson/cJSON.h>
#include <math.h>

struct hr__json {
  bool failed; /* out of memory */
};

/* ---- Values -------------------------------------------------------------------------------------- */

/* Adds a value that is already JSON text. */
static inline void hr__json_raw(struct hr__json *json, cJSON *object, const char *key, const char *text) {
  if (!cJSON_AddRawToObject(object, key, text)) json->failed = true;
}
static inline void hr__json_null(struct hr__json *json, cJSON *object, const char *key) {
  hr__json_raw(json, object, key, "null");
}
static inline void hr__json_bool(struct hr__json *json, cJSON *object, const char *key, bool value) {
  hr__json_raw(json, object, key, value ? "true" : "false");
}
static inline void hr__json_count(struct hr__json *json, cJSON *object, const char *key, uint64_t count) {
  char buffer[HR__NUMBER_BYTES];
  *hr__put_u64(buffer, count) = '\0';
  hr__json_raw(json, object, key, buffer);
}
static inline void hr__json_number(struct hr__json *json, cJSON *object, const char *key, double value) {
  char buffer[HR__NUMBER_BYTES];
  hr__json_raw(json, object, key, hr__decimal_text(value, buffer));
}
/* Adds a number if it is `known`, otherwise null. */
static inline void hr__json_number_if(struct hr__json *json, cJSON *object, const char *key, bool known, double value) {
  if (known)
    hr__json_number(json, object, key, value);
  else
    hr__json_null(json, object, key);
}
/* Adds a number; null if it is not finite. */
static inline void hr__json_finite(struct hr__json *json, cJSON *object, const char *key, double value) {
  hr__json_number_if(json, object, key, isfinite(value), value);
}
/* Adds micro-dollars as dollars; null for HR_UNKNOWN_UUSD. */
static inline void hr__json_usd(struct hr__json *json, cJSON *object, const char *key, int64_t uusd) {
  char buffer[HR__NUMBER_BYTES];
  *hr__put_usd(buffer, uusd) = '\0';
  hr__json_raw(json, object, key, uusd == HR_UNKNOWN_UUSD ? "null" : buffer);
}
/* Adds a string, converted to UTF-8. NULL is added as null. */
void hr__json_text(struct hr__json *json, cJSON *object, const char *key, const char *text);
/* Add an empty object or array and return it; return NULL if out of memory. `key` is converted to UTF-8. */
cJSON *hr__json_object(struct hr__json *json, cJSON *object, const char *key);
static inline cJSON *hr__json_array(struct hr__json *json, cJSON *object, const char *key) {
  cJSON *child = cJSON_AddArrayToObject(object, key);
  if (!child) json->failed = true;
  return child;
}
/* Adds `item` to the object, which then owns it. `item` may be NULL, which means that its allocation failed. */
static inline void hr__json_add(struct hr__json *json, cJSON *object, const char *key, cJSON *item) {
  if (item && cJSON_AddItemToObject(object, key, item)) return;
  cJSON_Delete(item);
  json->failed = true;
}
/* Appends `item` to the array, which then owns it. Returns `item`. `item` may be NULL, which means that its allocation
   failed. */
static inline cJSON *hr__json_append(struct hr__json *json, cJSON *array, cJSON *item) {
  if (item && cJSON_AddItemToArray(array, item)) return item;
  cJSON_Delete(item);
  json->failed = true;
  return NULL;
}

/* ---- Parts of reports (summary_json.c) ----------------------------------------------------------- */
/* Returns a seed as a JSON value; NULL if out of memory. Seeds above 2^53 are strings, because many JSON readers
   represent numbers as doubles. */
cJSON *hr__json_make_seed(uint64_t seed);
static inline void hr__json_seed(struct hr__json *json, cJSON *object, const char *key, uint64_t seed) {
  hr__json_add(json, object, key, hr__json_make_seed(seed));
}
static inline void hr__json_append_seed(struct hr__json *json, cJSON *array, uint64_t seed) {
  hr__json_append(json, array, hr__json_make_seed(seed));
}
/* Adds the name and value of each parameter of the policy. */
void hr__json_params(struct hr__json *json, cJSON *object, const struct hr_policy_choice *choice);
/* Appends notes. */
void hr__json_notes(struct hr__json *json, cJSON *array, const struct hr_notes *notes);
/* Adds all keys of the summary of a run except "perf", which describes the simulator itself: its time and memory. */
void hr__json_summary(struct hr__json *json, cJSON *root, const struct hr_summary *summary,
                      const struct hr_run_label *label);
/* Adds "perf", the time and memory of the simulator. */
void hr__json_perf(struct hr__json *json, cJSON *root, const struct hr_summary *summary, const struct hr_perf *perf);

/* ---- The head of reports ------------------------------------------------------------------------- */
/* Adds the version of the program, the name of the scenario, and "trace" with the file and its format. */
void hr__json_head(struct hr__json *json, cJSON *root, const char *scenario, const char *file, const char *format);

/* ---- Output -------------------------------------------------------------------------------------- */
/* Returns the tree as compact text, which the caller frees; NULL if out of memory. Frees the tree. */
char *hr__json_print(const struct hr__json *json, cJSON *tree);
/* Writes the tree to a file, or to standard output if `path` is "-". Frees the tree, even on failure. Returns
   HR_NO_MEMORY if out of memory, HR_IO_ERROR if the file cannot be written. */
enum hr_status hr__json_write(const struct hr__json *json, cJSON *tree, const char *path, struct hr_error *error);

#endif
