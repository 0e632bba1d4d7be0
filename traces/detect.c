/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formats are told apart by the first line that is neither blank nor a `#` comment. */

#include "traces/formats.h"
#include "traces/numbers.h"

#include <string.h>
#include <strings.h>

enum { SWF_FIELDS = 18 };

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static bool is_number_character(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* 18 numbers between spaces, and whatever follows them. */
static bool is_swf_row(struct hr_text line) {
  size_t n_fields = 0;
  for (size_t i = 0; i < line.length; i++) {
    if (is_space(line.at[i])) continue;
    if (i == 0 || is_space(line.at[i - 1])) n_fields++;
    if (n_fields > SWF_FIELDS) return true;
    if (!is_number_character(line.at[i])) return false;
  }
  return n_fields == SWF_FIELDS;
}

/* Fields between `separator`, without quotes. */
static size_t split(struct hr_text line, char separator, struct hr_text *field, size_t most) {
  size_t n = 0;
  const char *end = line.at + line.length;
  for (const char *at = line.at; n < most;) {
    const char *stop = memchr(at, separator, (size_t)(end - at));
    field[n++] = (struct hr_text){at, (size_t)((stop ? stop : end) - at)};
    if (!stop) break;
    at = stop + 1;
  }
  return n;
}

static bool is_text(struct hr_text text, const char *wanted) {
  return text.length == strlen(wanted) && memcmp(text.at, wanted, text.length) == 0;
}

static bool is_name(struct hr_text text, const char *wanted) {
  return text.length == strlen(wanted) && strncasecmp(text.at, wanted, text.length) == 0;
}

static bool is_number(struct hr_text text) {
  const struct hr__number_rule rule = {1, INT64_MAX, false};
  uint64_t value;
  enum hr__number_fault fault = hr__number_parse(text, &rule, &value);
  return fault == HR__NUMBER_FINE || fault == HR__NUMBER_NEGATIVE;
}

enum { MOST_COLUMNS = 200 };

/* Whether the header has all of the columns, whatever their order and case; `wanted` ends with NULL. */
static bool has_columns(struct hr_text line, char separator, const char *const *wanted) {
  struct hr_text field[MOST_COLUMNS];
  size_t n = split(line, separator, field, MOST_COLUMNS);
  for (; *wanted; wanted++) {
    size_t i = 0;
    while (i < n && !is_name(field[i], *wanted)) i++;
    if (i == n) return false;
  }
  return true;
}

static bool is_sacct(struct hr_text line) {
  static const char *const by_name[] = {"JobID", NULL}, *const by_number[] = {"JobIDRaw", NULL};
  bool bars = line.length && memchr(line.at, '|', line.length);
  return bars && (has_columns(line, '|', by_name) || has_columns(line, '|', by_number));
}

/* PAI's tables have no headers: their rows are known by the word for their status and how many fields they have. Those
   of jobs and instances are recognised to be refused by name. */
static bool is_pai(struct hr_text line) {
  static const char *const words[] = {"Terminated", "Failed", "Running", "Waiting"};
  static const struct { size_t n_fields, status; } tables[] = {{10, 3}, {6, 3}, {9, 5}};
  enum { MOST_FIELDS = 10 };
  struct hr_text field[MOST_FIELDS + 1];
  if (hr__begins_with_names(line, "job_name,task_name,inst_num,status")) return true;
  size_t n = split(line, ',', field, MOST_FIELDS + 1);
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    for (size_t k = 0; n == tables[i].n_fields && k < sizeof words / sizeof *words; k++)
      if (is_text(field[tables[i].status], words[k])) return true;
  return false;
}

/* No header either: numbers end each line, whichever of Gavel's versions wrote it. */
static bool is_gavel(struct hr_text line) {
  enum { MOST_FIELDS = 10 };
  struct hr_text field[MOST_FIELDS + 1];
  size_t n = split(line, '\t', field, MOST_FIELDS + 1);
  bool counted = n == 6 || n == 7 || n == 9 || n == 10;
  return counted && is_number(field[n - 1]) && is_number(field[n - 2]) && !is_number(field[0]);
}

static const char *table_format(struct hr_text line) {
  static const char *const helios[] = {"job_id", "vc", "gpu_num", "node_num", "submit_time", NULL};
  static const char *const acme[] = {"job_id", "node_num", "gpu_num", "type", "submit_time", NULL};
  static const char *const spot[] = {"job_name", "gpu_model", "gpu_request", "worker_num", "job_type", NULL};
  static const char *const azure[] = {"TIMESTAMP", "ContextTokens", "GeneratedTokens", NULL};
  if (is_sacct(line)) return "sacct";
  if (has_columns(line, ',', helios)) return "helios";
  if (has_columns(line, ',', acme)) return "acme";
  if (has_columns(line, ',', spot)) return "spot2026";
  if (has_columns(line, ',', azure)) return "azure-llm";
  if (is_pai(line)) return "pai2020";
  return is_gavel(line) ? "gavel" : "csv";
}

static bool holds(struct hr_text text, const char *wanted) {
  size_t length = strlen(wanted);
  const char *end = text.at + text.length;
  for (const char *at = text.at; (size_t)(end - at) >= length; at++) {
    at = memchr(at, *wanted, (size_t)(end - at));
    if (!at || (size_t)(end - at) < length) return false;
    if (memcmp(at, wanted, length) == 0) return true;
  }
  return false;
}

/* JSON is known by its keys: the first of the table that is found. NULL: by none. */
static const char *json_format(struct hr_text beginning) {
  static const struct {
    const char *key, *format;
  } known[] = {{"\"apiVersion\"", "kubernetes"}, {"\"attempts\"", "philly-log"}, {"\"subtime\"", "batsim"},
               {"\"profiles\"", "batsim"},       {"\"jobid\"", "philly-log"},    {"\"items\"", "kubernetes"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (holds(beginning, known[i].key)) return known[i].format;
  return NULL;
}

const char *hr__detect_format(struct hr_text beginning) {
  struct hr_text line = hr__first_line(beginning);
  if (hr__begins_with(line, "{") || hr__begins_with(line, "[")) return json_format(beginning);
  if (hr__begins_with(line, ";") || is_swf_row(line)) return "swf";
  if (hr__begins_with_names(line, "timestamp,duration,num_gpus,gpu_time,cluster")) return "philly";
  if (hr__begins_with_names(line, "name,cpu_milli,memory_mib,num_gpu,gpu_milli")) return "openb";
  return table_format(line);
}
