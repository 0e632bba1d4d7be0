/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_JSON_TREE_H
#define HR_REPORT_TABLES_JSON_TREE_H

/* A JSON file in the making: values are added to a tree, which is written as a whole, a key a line. */

#include "base/text.h"
#include "headroom/report.h"

#include <cjson/cJSON.h>

/* Whether memory ran out on the way; asked for by hr__json_write. Objects passed to the functions below may be NULL. */
struct hr__json {
  bool failed;
};

void hr__json_raw(struct hr__json *json, cJSON *object, const char *key, const char *text);
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
/* null where it is not `known`. */
static inline void hr__json_number_if(struct hr__json *json, cJSON *object, const char *key, bool known, double value) {
  if (known)
    hr__json_number(json, object, key, value);
  else
    hr__json_null(json, object, key);
}
/* Micro-dollars as dollars. */
static inline void hr__json_usd(struct hr__json *json, cJSON *object, const char *key, int64_t uusd) {
  char buffer[HR__NUMBER_BYTES];
  *hr__put_usd(buffer, uusd) = '\0';
  hr__json_raw(json, object, key, uusd == HR_UNKNOWN_UUSD ? "null" : buffer);
}
/* Made UTF-8; null for NULL. */
void hr__json_text(struct hr__json *json, cJSON *object, const char *key, const char *text);
cJSON *hr__json_object(struct hr__json *json, cJSON *object, const char *key);
static inline cJSON *hr__json_array(struct hr__json *json, cJSON *object, const char *key) {
  cJSON *fresh = cJSON_AddArrayToObject(object, key);
  if (!fresh) json->failed = true;
  return fresh;
}
/* Takes `item` over. */
static inline cJSON *hr__json_append(struct hr__json *json, cJSON *array, cJSON *item) {
  if (item && cJSON_AddItemToArray(array, item)) return item;
  cJSON_Delete(item);
  json->failed = true;
  return NULL;
}

/* Whole numbers up to 2^53 as such, larger ones as text, which readers that know only doubles leave whole. */
void hr__json_seed(struct hr__json *json, cJSON *object, const char *key, uint64_t seed);
void hr__json_append_seed(struct hr__json *json, cJSON *array, uint64_t seed);
/* A value for each of the policy's parameters. */
void hr__json_params(struct hr__json *json, cJSON *object, const struct hr_policy_choice *choice);
void hr__json_notes(struct hr__json *json, cJSON *array, const struct hr_notes *notes);
/* All keys of a run's summary but `perf`. */
void hr__json_summary(struct hr__json *json, cJSON *root, const struct hr_summary *summary,
                      const struct hr_run_label *label);
/* That key. */
void hr__json_perf(struct hr__json *json, cJSON *root, const struct hr_summary *summary, const struct hr_perf *perf);

/* The tree, which is freed, as text without space, which the caller frees; NULL when out of memory. */
char *hr__json_print(const struct hr__json *json, cJSON *tree);
/* Writes the tree, which is freed. `path` "-" is standard output. */
enum hr_status hr__json_write(const struct hr__json *json, cJSON *tree, const char *path, struct hr_error *error);

#endif
