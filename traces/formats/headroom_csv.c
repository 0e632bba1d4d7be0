/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Headroom's own CSV format: the table of its fields, its reader and its writer.
 *
 * With a column map, which assigns columns of the file to fields of a job, the reader reads any other CSV file. Column
 * maps and sets of fields are parsed here, because both use the table of fields.
 */

#include "traces/csv/csv.h"

#include "base/containers.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"
#include "traces/formats/formats.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Fields and column maps ------------------------------------------------------------------------ */

const struct hr__csv_column hr__fields[HR__N_FIELDS] = {
#define HR__FIELD(key, column, kind, required, filled, member)                                                         \
  {column, key, HR__##kind, required, filled, offsetof(struct hr_job_record, member), (uint64_t)HR_SECOND_US},
    HR__FIELDS
#undef HR__FIELD
};

_Static_assert(HR__N_FIELDS <= 64, "a schema has at most MAX_SCHEMA_COLUMNS columns");

const struct hr_trace_field *hr_trace_fields(void) {
  static const struct hr_trace_field fields[HR__N_FIELDS + 1] = {
#define HR__FIELD(key, column, kind, required, ...) {key, column, required},
      HR__FIELDS
#undef HR__FIELD
      {NULL, NULL, false}};
  return fields;
}

static enum hr_status unknown_field(const char *where, const char *field, struct hr_error *error) {
  static const char *const keys[] = {
#define HR__FIELD(key, ...) key,
      HR__FIELDS
#undef HR__FIELD
          NULL};
  const char *nearest = hr_nearest_word(field, keys);
#define HR__FIELD(key, ...) " " key
  return hr_fail(error, HR_BAD_INPUT, "%s'%.60s' is not a job field%s%s%s; fields:%s", where, field,
                 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "", HR__FIELDS);
#undef HR__FIELD
}

static bool is_field(const char *field) {
  for (size_t i = 0; i < HR__N_FIELDS; i++)
    if (strcmp(hr__fields[i].field, field) == 0) return true;
  return false;
}

static struct hr_column_name *find_entry(const struct hr_column_map *map, const char *field) {
  for (size_t i = 0; i < map->count; i++)
    if (!map->entry[i].pattern && strcmp(map->entry[i].field, field) == 0) return &map->entry[i];
  return NULL;
}

static enum hr_status append_entry(struct hr_column_map *map, const char *field, char *column) {
  char *copy = HR__ARRAY_RESIZE(map->entry, map->count + 1) ? strdup(field) : NULL;
  if (!copy) {
    free(column);
    return HR_NO_MEMORY;
  }
  map->entry[map->count++] = (struct hr_column_name){.field = copy, .column = column};
  return HR_OK;
}

/* If a map has a column for `queue` but none for the tenant, the column of `queue` is used for the tenant: the map has
   an entry with the field "tenant" and the value "queue". If a map has columns for both, they are separate fields. */

static struct hr_column_name *find_queue_as_tenant(const struct hr_column_map *map) {
  struct hr_column_name *tenant = find_entry(map, "tenant");
  return tenant && tenant->value ? tenant : NULL;
}

/* Returns the entry that a pair with this field replaces; NULL if it replaces none. */
static struct hr_column_name *find_same(const struct hr_column_map *map, const char *field) {
  struct hr_column_name *queue = find_queue_as_tenant(map);
  if (strcmp(field, "queue") == 0) return queue ? queue : find_entry(map, "queue");
  return queue && strcmp(field, "tenant") == 0 ? NULL : find_entry(map, field);
}

/* Adds an entry for `field`. If `field` is the tenant and an entry of `queue` was used for the tenant, that entry
   becomes the entry of the field "queue". */
static enum hr_status place(struct hr_column_map *map, const char *field, char *column) {
  struct hr_column_name *queue = find_queue_as_tenant(map);
  bool is_queue = strcmp(field, "queue") == 0;
  if (strcmp(field, "tenant") == 0 && queue) { /* the value "queue" becomes the field */
    free(queue->field);
    queue->field = queue->value;
    queue->value = NULL;
  }
  if (!is_queue || find_entry(map, "tenant")) return append_entry(map, field, column);
  char *value = strdup("queue");
  enum hr_status status = HR_NO_MEMORY;
  if (value)
    status = append_entry(map, "tenant", column);
  else
    free(column);
  if (status == HR_OK)
    map->entry[map->count - 1].value = value;
  else
    free(value);
  return status;
}

enum hr_status hr_column_map_add(struct hr_column_map *map, const char *field, const char *column,
                                 struct hr_error *error) {
  if (!is_field(field)) return unknown_field("column map: ", field, error);
  if (!*column) return hr_fail(error, HR_BAD_INPUT, "column map: no column is given for '%s'", field);
  char *copy = strdup(column);
  struct hr_column_name *entry = find_same(map, field);
  if (copy && entry) {
    free(entry->column);
    entry->column = copy;
    return HR_OK;
  }
  if (copy && place(map, field, copy) == HR_OK) return HR_OK;
  return hr_fail(error, HR_NO_MEMORY, "column map: out of memory");
}

/* Parses "field=column" and adds it to `map` and to `seen`. `seen` contains the earlier pairs of the same text. It is
   an error if one of them has the same field. */
static enum hr_status add_pair(struct hr_column_map *map, struct hr_column_map *seen, char *pair,
                               struct hr_error *error) {
  char *equals = strchr(pair, '=');
  if (!equals)
    return hr_fail(error, HR_BAD_INPUT, "column map: '%.60s' is not FIELD=COLUMN, like submit=arrival_s", pair);
  *equals = '\0';
  if (find_same(seen, pair))
    return hr_fail(error, HR_BAD_INPUT, "column map: '%.60s' is set twice: to '%.60s' and to '%.60s'", pair,
                   find_same(seen, pair)->column, equals + 1);
  enum hr_status status = hr_column_map_add(seen, pair, equals + 1, error);
  return status == HR_OK ? hr_column_map_add(map, pair, equals + 1, error) : status;
}

enum hr_status hr_column_map_parse(struct hr_column_map *map, const char *text, struct hr_error *error) {
  char *copy = strdup(text), *at = copy;
  struct hr_column_map seen = {0};
  if (!copy) return hr_fail(error, HR_NO_MEMORY, "column map: out of memory");
  enum hr_status status = HR_OK;
  while (status == HR_OK && at) {
    char *comma = strchr(at, ',');
    if (comma) *comma = '\0';
    status = add_pair(map, &seen, at, error);
    at = comma ? comma + 1 : NULL;
  }
  hr_column_map_finish(&seen);
  free(copy);
  return status;
}

/* ---- Column maps: rules ---------------------------------------------------------------------------- */

static enum hr_status bad_rule(const char *field, const char *text, const char *fault, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "%s '%.100s': %s; VALUE=COLUMN~PATTERN is expected, like %s", field, text, fault,
                 strcmp(field, "class") == 0 ? "'interactive=JobName~^(jupyter|vscode)'" : "'vision=QOS~^vis'");
}

static enum hr_status check_pattern(const char *field, const char *text, const char *pattern, struct hr_error *error) {
  regex_t compiled;
  char fault[200], what[120];
  int code = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB);
  if (code == 0) {
    regfree(&compiled);
    return HR_OK;
  }
  if (code == REG_ESPACE) return hr_fail(error, HR_NO_MEMORY, "column map: out of memory");
  regerror(code, &compiled, what, sizeof what);
  snprintf(fault, sizeof fault, "the pattern is not a regular expression (%s)", what);
  return bad_rule(field, text, fault, error);
}

/* Splits a rule in place at its first '=' and at the first '~' after that. Returns the fault, or NULL. */
static const char *split_rule(struct hr_column_name *rule) {
  char *equals = strchr(rule->value, '='), *tilde = equals ? strchr(equals, '~') : NULL;
  if (!equals || !tilde) return "not a rule";
  *equals = *tilde = '\0';
  rule->column = equals + 1;
  rule->pattern = tilde + 1;
  if (!rule->value[0]) return "the value is missing";
  if (!rule->column[0]) return "the column is missing";
  return rule->pattern[0] ? NULL : "the pattern is missing";
}

static enum hr_status append_rule(struct hr_column_map *map, const char *field, const struct hr_column_name *parts) {
  struct hr_column_name rule = {strdup(field), strdup(parts->column), strdup(parts->value), strdup(parts->pattern)};
  if (rule.field && rule.column && rule.value && rule.pattern && HR__ARRAY_RESIZE(map->entry, map->count + 1)) {
    map->entry[map->count++] = rule;
    return HR_OK;
  }
  free(rule.field);
  free(rule.column);
  free(rule.value);
  free(rule.pattern);
  return HR_NO_MEMORY;
}

enum hr_status hr_column_map_add_entry(struct hr_column_map *map, const struct hr_column_name *entry,
                                       struct hr_error *error) {
  if (!entry->pattern) return hr_column_map_add(map, entry->value ? entry->value : entry->field, entry->column, error);
  return append_rule(map, entry->field, entry) == HR_OK ? HR_OK
                                                        : hr_fail(error, HR_NO_MEMORY, "column map: out of memory");
}

enum hr_status hr_column_map_add_rule(struct hr_column_map *map, const char *field, const char *text,
                                      struct hr_error *error) {
  if (strcmp(field, "queue") == 0) field = "tenant";
  if (strcmp(field, "class") != 0 && strcmp(field, "tenant") != 0)
    return hr_fail(error, HR_BAD_INPUT, "column map: '%.60s' cannot have patterns; class and tenant can", field);
  struct hr_column_name parts = {.value = strdup(text)};
  if (!parts.value) return hr_fail(error, HR_NO_MEMORY, "column map: out of memory");
  const char *fault = split_rule(&parts);
  uint8_t class_;
  struct hr__value_reader reader = {0};
  enum hr_status status =
      fault ? bad_rule(field, text, fault, error) : check_pattern(field, text, parts.pattern, error);
  if (status == HR_OK && strcmp(field, "class") == 0)
    fault = hr__value_read(&reader, HR__CLASS, 1, hr__text_make(parts.value), &class_);
  if (status == HR_OK && fault)
    status = hr_fail(error, HR_BAD_INPUT, "class '%.100s': '%.60s' is %s", text, parts.value, fault);
  if (status == HR_OK && append_rule(map, field, &parts) != HR_OK)
    status = hr_fail(error, HR_NO_MEMORY, "column map: out of memory");
  free(parts.value);
  return status;
}

void hr_column_map_finish(struct hr_column_map *map) {
  for (size_t i = 0; i < map->count; i++) {
    free(map->entry[i].field);
    free(map->entry[i].column);
    free(map->entry[i].value);
    free(map->entry[i].pattern);
  }
  free(map->entry);
  *map = (struct hr_column_map){0};
}

/* ---- Sets of fields -------------------------------------------------------------------------------- */

static enum hr_status add_field(struct hr_text name, uint64_t *fields, struct hr_error *error) {
  for (size_t i = 0; i < HR__N_FIELDS; i++) {
    if (!hr__text_is(name, hr__fields[i].field)) continue;
    if (hr__fields[i].must_exist)
      return hr_fail(error, HR_BAD_INPUT, "'%s' cannot be removed: a job without it cannot be replayed",
                     hr__fields[i].field);
    *fields |= UINT64_C(1) << i;
    return HR_OK;
  }
  char word[HR__QUOTE_BYTES];
  return unknown_field("", hr__quote(name, word), error);
}

enum hr_status hr_fields_parse(const char *text, uint64_t *fields, struct hr_error *error) {
  *fields = 0;
  for (;;) {
    struct hr_text name = {text, strcspn(text, ",")};
    enum hr_status status = add_field(name, fields, error);
    if (status != HR_OK || text[name.length] == '\0') return status;
    text += name.length + 1;
  }
}

/* ---- Reading --------------------------------------------------------------------------------------- */

struct time_unit {
  const char *suffix;
  uint64_t us;
};

static bool ends_with(const char *text, const char *suffix) {
  size_t length = strlen(text), suffix_length = strlen(suffix);
  return length > suffix_length && strcasecmp(text + length - suffix_length, suffix) == 0;
}

/* Returns the unit at the end of the name of a mapped column, in microseconds. The default is one second. */
static uint64_t unit_of(const char *column) {
  static const struct time_unit units[] = {{"_us", 1},
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
    for (size_t i = 0; i < HR__N_FIELDS && !map->entry[entry].pattern; i++) {
      if (strcmp(columns[i].field, map->entry[entry].field) != 0) continue;
      columns[i].name = map->entry[entry].column;
      columns[i].must_exist = true;
      columns[i].unit_us = unit_of(columns[i].name);
    }
}

/* Returns the separator that is most frequent in the header outside quotes: comma, semicolon (from spreadsheets with
   decimal commas) or tab. If two are equally frequent, the first of them in this list is chosen. */
static char separator_of(struct hr_text header) {
  static const char separators[] = {',', ';', '\t'};
  size_t count[sizeof separators] = {0}, best = 0;
  bool quoted = false;
  for (size_t i = 0; i < header.length; i++) {
    quoted ^= header.at[i] == '"';
    for (size_t k = 0; k < sizeof separators && !quoted; k++) count[k] += header.at[i] == separators[k];
  }
  for (size_t k = 1; k < sizeof separators; k++)
    if (count[k] > count[best]) best = k;
  return separators[best];
}

static enum hr_status on_job(void *self, const void *row, uint64_t line) {
  return hr__reader_add(self, row, line);
}

static enum hr_status read_csv(struct hr__reader *reader) {
  struct hr__csv_column columns[HR__N_FIELDS];
  memcpy(columns, hr__fields, sizeof columns);
  apply_map(columns, reader->map);
  struct hr_job_record job, blank;
  hr_job_record_init(&blank);
  const struct hr__csv_schema schema = {HR__CSV_ROWS(columns, job, blank, on_job, reader),
                                        .separator = separator_of(hr__first_line(hr__input_peek(reader->input)))};
  return hr__csv_read_rows(reader, &schema);
}

const struct hr__format_reader hr__csv_reader = {.read = read_csv, .has_columns = true};

/* ---- Writer ---------------------------------------------------------------------------------------- */

/*
 * Writes Headroom's CSV format. The columns are the fields that are known for some job, in the order of the field
 * table. Unknown values are empty, and all values are exact. Rows are in the order of the input. A trace that is read
 * from the file is therefore equal to the written trace: names have the same indices in their name tables, and rows
 * without ids get the same ids.
 */

struct csv {
  const struct hr_trace *trace;
  struct hr__encoder *out;
  bool known[HR__N_FIELDS]; /* columns to write */
  struct hr_job_record blank;
  bool zoned;
};

/* ---- Writer: values -------------------------------------------------------------------------------- */

/* Writes `value` / 10^`decimals` exactly, without trailing zeros. */
static void put_decimal(struct hr__encoder *out, uint64_t value, unsigned decimals) {
  char digits[HR__NUMBER_BYTES], *at = digits;
  uint64_t unit = 1;
  for (unsigned i = 0; i < decimals; i++) unit *= 10;
  hr__encode_i64(out, (int64_t)(value / unit));
  uint64_t rest = value % unit;
  if (rest) *at++ = '.';
  for (; rest; rest %= unit) {
    unit /= 10;
    *at++ = (char)('0' + rest / unit);
  }
  hr__encode_bytes(out, digits, (size_t)(at - digits));
}

/* Returns true if the text must be quoted. White space at the beginning or end of an unquoted field would be lost. */
static bool needs_quotes(struct hr_text text) {
  const char first = text.at[0], last = text.at[text.length - 1];
  if (first == ' ' || first == '\t' || last == ' ' || last == '\t') return true;
  for (size_t i = 0; i < text.length; i++)
    if (strchr(",\"\r\n", text.at[i])) return true;
  return false;
}

static void put_text(struct hr__encoder *out, struct hr_text text) {
  if (!needs_quotes(text)) {
    hr__encode_bytes(out, text.at, text.length);
    return;
  }
  hr__encode_byte(out, '"');
  for (const char *at = text.at, *end = text.at + text.length; at < end; at++) {
    if (*at == '"') hr__encode_byte(out, '"');
    hr__encode_byte(out, *at);
  }
  hr__encode_byte(out, '"');
}

/* Writes a time. Returns false if the time is outside the range that readers accept. */
static bool put_instant(const struct csv *csv, int64_t us) {
  if (!csv->trace->dated) {
    if (us < 0) return false;
    put_decimal(csv->out, (uint64_t)us, 6);
    return true;
  }
  char date[HR__DATE_BYTES], *end = hr__date_put(date, us, csv->zoned);
  if (end) hr__encode_bytes(csv->out, date, (size_t)(end - date));
  return end != NULL;
}

static void put_gib(struct hr__encoder *out, uint64_t mib) {
  /* 1/1024 = 0.0009765625: a MiB in GiB, with 10 digits after the decimal point */
  static const uint64_t ten_digits_of_a_mib = 9765625;
  put_decimal(out, mib * ten_digits_of_a_mib, 10);
}

static void put_word(const struct csv *csv, enum hr__kind kind, uint8_t value) {
  if (kind == HR__CLASS)
    hr__encode_text(csv->out, hr_job_class_name(value));
  else if (kind == HR__STATUS)
    hr__encode_text(csv->out, hr_outcome_name(value));
  else if (kind == HR__TIER)
    hr__encode_text(csv->out, hr_tier_name(value));
  else
    hr__encode_text(csv->out, kind == HR__DEDICATED ? "true" : "false");
}

static bool put_number(const struct csv *csv, enum hr__kind kind, const void *member) {
  uint32_t narrow;
  int64_t wide;
  memcpy(&narrow, member, sizeof narrow);
  switch (kind) {
  case HR__CPUS:
    put_decimal(csv->out, narrow, 3);
    return true;
  case HR__FRACTION:
    put_decimal(csv->out, narrow, 6);
    return true;
  case HR__PRIORITY:
    hr__encode_i64(csv->out, (int32_t)narrow);
    return true;
  case HR__GPUS:
  case HR__GPU_BOUND:
  case HR__TASKS:
  case HR__GPU_SHARE:
    hr__encode_i64(csv->out, narrow);
    return true;
  default:
    break;
  }
  memcpy(&wide, member, sizeof wide);
  if (kind == HR__INSTANT) return put_instant(csv, wide);
  if (kind == HR__DURATION)
    put_decimal(csv->out, (uint64_t)wide, 6);
  else
    put_gib(csv->out, (uint64_t)wide);
  return true;
}

static bool put_field(const struct csv *csv, const struct hr_job_record *record, size_t field) {
  const enum hr__kind kind = hr__fields[field].kind;
  const char *member = (const char *)record + hr__fields[field].offset;
  switch (kind) {
  case HR__TEXT:
  case HR__LIST: {
    struct hr_text text;
    memcpy(&text, member, sizeof text);
    put_text(csv->out, text);
    return true;
  }
  case HR__CLASS:
  case HR__STATUS:
  case HR__TIER:
  case HR__DEDICATED:
  case HR__INTERRUPTIBLE:
    put_word(csv, kind, *(const uint8_t *)member);
    return true;
  default:
    return put_number(csv, kind, member);
  }
}

/* ---- Writer: rows ---------------------------------------------------------------------------------- */

static void put_header(const struct csv *csv) {
  const char *comma = "";
  for (size_t field = 0; field < HR__N_FIELDS; field++) {
    if (!csv->known[field]) continue;
    hr__encode_text(csv->out, comma);
    hr__encode_text(csv->out, hr__fields[field].name);
    comma = ",";
  }
  hr__encode_byte(csv->out, '\n');
}

static enum hr_status cannot_write(const struct csv *csv, const char *id, size_t field, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "%s: job %.60s: cannot write its '%s' as CSV: %s", csv->trace->source, id,
                 hr__fields[field].field, csv->trace->dated ? "the year is not from 1 to 9999" : "it is before 0 s");
}

static enum hr_status put_row(const struct csv *csv, uint32_t job, struct hr_error *error) {
  struct hr_job_record record;
  char id[HR_JOB_ID_BUFFER];
  uint64_t begin = hr__encoder_count(csv->out);
  bool first = true;
  hr_trace_job_record(csv->trace, (hr_job){job}, &record, id);
  for (size_t field = 0; field < HR__N_FIELDS; field++) {
    if (!csv->known[field]) continue;
    if (!first) hr__encode_byte(csv->out, ',');
    first = false;
    bool known = hr__fields[field].must_exist || hr__field_is_known(&record, &csv->blank, field);
    if (known && !put_field(csv, &record, field)) return cannot_write(csv, record.id.at, field, error);
  }
  hr__encode_byte(csv->out, '\n');
  if (hr__encoder_count(csv->out) - begin <= HR__LONGEST_LINE) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: job %.60s: its row would be longer than 1 MiB, the limit for reading",
                 csv->trace->source, record.id.at);
}

/* Returns the jobs in the order of the rows of the input. Returns NULL if the trace is in that order, or if out of
   memory. The caller frees the list. */
static uint32_t *jobs_by_row(const struct hr_trace *trace) {
  uint32_t *jobs = trace->row ? malloc(trace->n_jobs * sizeof *jobs) : NULL;
  for (uint32_t job = 0; jobs && job < trace->n_jobs; job++) jobs[trace->row[job]] = job;
  return jobs;
}

static enum hr_status put_rows(const struct csv *csv, struct hr_error *error) {
  uint32_t *jobs = jobs_by_row(csv->trace);
  if (csv->trace->row && !jobs) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", csv->trace->source);
  enum hr_status status = HR_OK;
  put_header(csv);
  for (uint32_t i = 0; status == HR_OK && i < csv->trace->n_jobs; i++) {
    status = put_row(csv, jobs ? jobs[i] : i, error);
    hr__trace_row_done(csv->trace, i);
  }
  free(jobs);
  return status;
}

static enum hr_status write_csv(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                                struct hr_error *error) {
  struct csv csv = {.trace = trace, .zoned = !hr_trace_has_local_dates(trace)};
  hr_job_record_init(&csv.blank);
  hr__known_fields(trace, csv.known);
  enum hr_status status = hr__encoder_open(path, &csv.out, error);
  if (status != HR_OK) return status;
  status = put_rows(&csv, error);
  written->n_jobs = trace->n_jobs;
  written->bytes = hr__encoder_count(csv.out);
  if (status == HR_OK) return hr__encoder_commit(csv.out, error);
  hr__encoder_abandon(csv.out);
  return status;
}

const struct hr__trace_writer hr__csv_writer = {.compresses = true, .write = write_csv};
