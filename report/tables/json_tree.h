/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_JSON_TREE_H
#define HR_REPORT_TABLES_JSON_TREE_H

/* A JSON file in the making: values are added to a tree, which is written as a whole, a key a line. */

#include "headroom/policies.h"
#include "headroom/report.h"

#include <cjson/cJSON.h>

/* Whether memory ran out on the way; asked for by hr__json_write. Objects passed to the functions below may be NULL. */
struct hr__json {
  bool failed;
};

void hr__json_raw(struct hr__json *json, cJSON *object, const char *key, const char *text);
void hr__json_null(struct hr__json *json, cJSON *object, const char *key);
void hr__json_bool(struct hr__json *json, cJSON *object, const char *key, bool value);
void hr__json_count(struct hr__json *json, cJSON *object, const char *key, uint64_t count);
void hr__json_number(struct hr__json *json, cJSON *object, const char *key, double value);
/* null where it is not `known`. */
void hr__json_number_if(struct hr__json *json, cJSON *object, const char *key, bool known, double value);
/* Micro-dollars as dollars. */
void hr__json_usd(struct hr__json *json, cJSON *object, const char *key, int64_t uusd);
/* Made UTF-8; null for NULL. */
void hr__json_text(struct hr__json *json, cJSON *object, const char *key, const char *text);
cJSON *hr__json_object(struct hr__json *json, cJSON *object, const char *key);
cJSON *hr__json_array(struct hr__json *json, cJSON *object, const char *key);
/* Takes `item` over. */
cJSON *hr__json_append(struct hr__json *json, cJSON *array, cJSON *item);

/* Whole numbers up to 2^53 as such, larger ones as text, which readers that know only doubles leave whole. */
void hr__json_seed(struct hr__json *json, cJSON *object, const char *key, uint64_t seed);
void hr__json_append_seed(struct hr__json *json, cJSON *array, uint64_t seed);
/* A value for each of the policy's parameters. */
void hr__json_params(struct hr__json *json, cJSON *object, const struct hr_policy_choice *choice);
void hr__json_notes(struct hr__json *json, cJSON *array, const struct hr_notes *notes);
/* Of a run's summary: what was run, from `headroom` to `seed`, with the GPUs and nodes of `summary`. */
void hr__json_label(struct hr__json *json, cJSON *root, const struct hr_summary *summary,
                    const struct hr_run_label *label);
/* Likewise `notes` and `skipped`. */
void hr__json_remarks(struct hr__json *json, cJSON *root, const struct hr_run_label *label);
/* Of a run as a whole: from `jobs` to `gpu_hours`. */
void hr__json_figures(struct hr__json *json, cJSON *root, const struct hr_summary *summary);
/* What only runs have in which something has a price, or jobs may be stopped: from `cost` to `oom_kills`. */
void hr__json_markets(struct hr__json *json, cJSON *root, const struct hr_summary *summary);
/* `events`, `passes` and `digest`. */
void hr__json_evidence(struct hr__json *json, cJSON *root, const struct hr_summary *summary);
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
