/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_TABLES_H
#define HR_REPORT_TABLES_TABLES_H

/* Parts that tables, Markdown pages and JSON files share: JSON trees, lines about metrics, the policy as text, bars in
   a line of text, and alerts. */

#include "base/text.h"
#include "headroom/policies.h"
#include "headroom/report.h"
#include "report/metrics/catalog.h"
#include "report/metrics/metrics.h"

#include <cjson/cJSON.h>
#include <math.h>

/* ---- JSON ------------------------------------------------------------------------------------------ */

/*
 * Builds a JSON tree with cJSON and writes it, one key per line. Numbers are added as text, because cJSON may print
 * doubles with more digits than necessary and represents integers exactly only up to 2^53.
 *
 * Callers need not check for failed allocations: all functions accept NULL objects and set `failed`, and
 * hr__json_print() or hr__json_write() returns the error.
 */

struct hr__json {
  bool failed; /* out of memory */
};

/* ---- JSON: values ---------------------------------------------------------------------------------- */

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
/* Adds an empty object and returns it, or adds null and returns NULL if there is nothing to write. */
static inline cJSON *hr__json_object_if(struct hr__json *json, cJSON *object, const char *key, bool known) {
  if (known) return hr__json_object(json, object, key);
  hr__json_null(json, object, key);
  return NULL;
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
/* Appends an object to the array and returns it; NULL if out of memory. */
static inline cJSON *hr__json_item(struct hr__json *json, cJSON *array) {
  return hr__json_append(json, array, cJSON_CreateObject());
}

/* ---- JSON: parts of reports (summary_json.c) ------------------------------------------------------- */

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

/* ---- JSON: the head of reports --------------------------------------------------------------------- */

/* Adds the version of the program, the name of the scenario, and "trace" with the file and its format. */
void hr__json_head(struct hr__json *json, cJSON *root, const char *scenario, const char *file, const char *format);

/* ---- JSON: output ---------------------------------------------------------------------------------- */

/* Returns the tree as compact text, which the caller frees; NULL if out of memory. Frees the tree. */
char *hr__json_print(const struct hr__json *json, cJSON *tree);
/* Writes the tree to a file, or to standard output if `path` is "-". Frees the tree, even on failure. Returns
   HR_NO_MEMORY if out of memory, HR_IO_ERROR if the file cannot be written. */
enum hr_status hr__json_write(const struct hr__json *json, cJSON *tree, const char *path, struct hr_error *error);

/* ---- Lines of text ---------------------------------------------------------------------------------- */

/* Prints the title of a report: the version and, unless it is empty, `before` and the name, which is cut to `width`
   columns (at its beginning if `keep_end` is set). */
void hr__put_title(struct hr__console *console, const char *before, const char *name, size_t width, bool keep_end);
/* Prints a cell of a table. The text is cut to `width` columns, as by hr__fitted, and padded to one column more. */
void hr__put_cell(struct hr__console *console, const char *text, size_t width, bool keep_end);
/* Prints the number of rows that a table of at most `max_rows` rows does not have. */
void hr__put_more(struct hr__console *console, size_t count, size_t max_rows);

/* A text that is written to memory before it is printed. */
struct hr__sentence {
  FILE *out;
  char *text;
  size_t size;
};
/* Returns false if memory is exhausted; then sets console->out_of_memory. */
bool hr__sentence_begin(struct hr__console *console, struct hr__sentence *sentence);
/* Prints the text as a field with this label, and frees it. */
void hr__sentence_end(struct hr__console *console, struct hr__sentence *sentence, const char *label);

/* ---- Metrics --------------------------------------------------------------------------------------- */

/* Lines of text about the metrics of a run, for terminals and Markdown. Numbers are written by hr__metric_text only,
   so that a metric has the same format everywhere. */

/* The parts of the table for a terminal. The first line of a part has a label. */
enum hr__metric_part {
  HR__PART_JOBS,
  HR__PART_GPUS,
  HR__PART_FRAGMENTS,
  HR__PART_HOURS,
  HR__PART_QUEUE,
  HR__PART_COST,
  HR__PART_IDLE,
  HR__PART_SHARED,
  HR__PART_ON_DEMAND,
  HR__PART_GOODPUT,
  HR__PART_SPOT,
  HR__PART_OOM,
  HR__PART_FAULTS,
  HR__PART_MAINTENANCE,
  HR__PART_ENERGY,
  HR__PART_DATA
};

/* Prints the lines of a part that have known metrics. */
void hr__put_metric_lines(struct hr__console *console, enum hr__metric_part part, const struct hr_summary *summary);
/* Prints a line for each known metric with HR_METRIC_LISTED that no part contains. */
void hr__put_other_metrics(struct hr__console *console, const struct hr_summary *summary);
/* Returns whether no job ran in a pool with a price and nothing was paid. The costs are then unknown, not zero. */
bool hr__is_unpriced(const struct hr_summary *summary);
/* Prints a row of a Markdown table for each metric with HR_METRIC_LISTED that is known, or is an unknown cost. */
void hr__markdown_metrics(struct hr__console *page, const struct hr_summary *summary);

/* ---- The policy ------------------------------------------------------------------------------------ */

/* Describes a policy and its parameters as text, for tables. */

/* Returns the policy and its parameters as text, such as "queue: order sjf, ...". Advanced parameters are included only
   if they differ from their defaults. The caller frees the text. Returns NULL if out of memory. */
char *hr__policy_words(const struct hr_policy_choice *choice);

/* ---- Sparklines ------------------------------------------------------------------------------------ */

/* A sparkline: a series of values as one line of text, in which each character (cell) is a bar with one of eight
   heights. */

enum { HR__SPARK_CELLS = 60, HR__SPARK_HEIGHTS = 8 };

struct hr__sparkline {
  uint32_t n;       /* number of cells; at most HR__SPARK_CELLS */
  bool blank_zeros; /* height 0 is a space, 1 is the lowest bar; otherwise height 0 is the lowest bar */
  uint8_t height[HR__SPARK_CELLS];
};

enum hr__spark_value { HR__SPARK_MEANS, HR__SPARK_PEAKS };

/* Divides the run into cells and sets the height of each cell to the mean or maximum of its buckets, relative to `top`.
   `closed` must be closed. A cell has the lowest bar only if all its values are 0. */
void hr__sparkline_of_buckets(struct hr__sparkline *line, enum hr__spark_value value, const struct hr__buckets *closed,
                              uint64_t top);
/* Sets one cell for each of the first HR__SPARK_CELLS counts, relative to `top`. A count of 0 is a space; all other
   counts are visible. */
void hr__sparkline_of_counts(struct hr__sparkline *line, const uint64_t *counts, uint32_t count, uint64_t top);
/* Prints the sparkline as a line of the table, followed by the value `top`. */
void hr__put_sparkline(struct hr__console *console, const struct hr__sparkline *line, uint64_t top);

/* ---- Alerts ---------------------------------------------------------------------------------------- */

/* Writes alerts as a table, as Markdown and as sentences. `alerts` is NULL if no alert rules were evaluated; then
   nothing is written. */

/* Prints a table with one row per rule and subject: number of alerts, total duration, and the longest alert. `clock_us`
   (microseconds, hr_trace_clock_us) is added to the time at which it began. */
void hr__put_alerts(struct hr__console *console, const struct hr_alerts *alerts, int64_t clock_us);
/* Writes the same table as Markdown. */
void hr__markdown_alerts(struct hr__console *page, const struct hr_alerts *alerts, int64_t clock_us);
/* All alerts with the same rule and subject, which are consecutive in the list. */
struct hr__alert_group {
  const struct hr_alert *longest;
  size_t count;
  int64_t sum_us;
};
/* Returns the group that begins at `list`, which points to the remaining `count` >= 1 alerts. */
struct hr__alert_group hr__alert_group_at(const struct hr_alert *list, size_t count);
/* Returns a sentence about an alert, without a full stop. The caller frees it. Returns NULL if memory is exhausted. */
char *hr__alert_words(const struct hr_alert *alert);

#endif
