/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Headroom's own CSV, and any other CSV whose columns a map names. */

#include "traces/fields.h"
#include "traces/formats.h"

#include <string.h>
#include <strings.h>

struct unit {
  const char *suffix;
  uint64_t us;
};

static bool ends_with(const char *text, const char *suffix) {
  size_t length = strlen(text), suffix_length = strlen(suffix);
  return length > suffix_length && strcasecmp(text + length - suffix_length, suffix) == 0;
}

/* A column that a map names may tell its unit at the end of its name; seconds if it does not. */
static uint64_t unit_of(const char *column) {
  static const struct unit units[] = {{"_us", 1},
                                      {"(us)", 1},
                                      {"_ms", 1000},
                                      {"(ms)", 1000},
                                      {"_min", 60000000},
                                      {"(min)", 60000000},
                                      {"_h", 3600000000},
                                      {"(h)", 3600000000},
                                      {"_hours", 3600000000},
                                      {"_minutes", 60000000},
                                      {"_days", 86400000000},
                                      {"_d", 86400000000},
                                      {"(d)", 86400000000}};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (ends_with(column, units[i].suffix)) return units[i].us;
  return (uint64_t)HR_SECOND_US;
}

static void apply_map(struct hr__csv_column *columns, const struct hr_column_map *map) {
  for (size_t entry = 0; map && entry < map->count; entry++)
    for (size_t i = 0; i < HR__N_FIELDS; i++) {
      if (strcmp(columns[i].field, map->entry[entry].field) != 0) continue;
      columns[i].name = map->entry[entry].column;
      columns[i].must_exist = true;
      columns[i].unit_us = unit_of(columns[i].name);
    }
}

/* A comma, or what stands more often in the header: a semicolon, as spreadsheets write it where commas are decimal, or
   a tab. What is quoted is not looked at. */
static char separator_of(struct hr_text header) {
  static const char separators[] = {',', ';', '\t'};
  size_t count[sizeof separators] = {0}, most = 0;
  bool quoted = false;
  for (size_t i = 0; i < header.length; i++) {
    quoted ^= header.at[i] == '"';
    for (size_t k = 0; k < sizeof separators && !quoted; k++) count[k] += header.at[i] == separators[k];
  }
  for (size_t k = 1; k < sizeof separators; k++)
    if (count[k] > count[most]) most = k;
  return separators[most];
}

static enum hr_status on_job(void *self, const void *row, uint64_t line) {
  return hr__reader_add(self, row, line);
}

enum hr_status hr__read_csv(struct hr__reader *reader) {
  struct hr__csv_column columns[HR__N_FIELDS];
  memcpy(columns, hr__fields, sizeof columns);
  apply_map(columns, reader->map);
  struct hr_job_record job, blank;
  hr_job_record_init(&blank);
  const struct hr__csv_schema schema = {.columns = columns,
                                        .n_columns = HR__N_FIELDS,
                                        .separator = separator_of(hr__first_line(hr__input_peek(reader->input))),
                                        .row = &job,
                                        .blank_row = &blank,
                                        .row_bytes = sizeof job,
                                        .on_row = on_job,
                                        .self = reader};
  return hr__csv_read_rows(reader, &schema);
}
