/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads a series from a CSV file: one column of stamps, and one of values or one for each zone.
 *
 * The formats of Electricity Maps, GAIA, Let's Wait Awhile, OpenDC and WattTime differ in names of columns and in the
 * form of stamps only: "2022-01-01T00", "2022-01-01 00:00:00", "2022-01-01T00:00:00.000Z", "2022-01-01T00:00:00+01:00".
 * A file has a row per stamp, or, with a column of zones, a row per stamp and zone.
 *
 * Invariant: accepted stamps ascend, and each stamp follows the one before it after the same time, so that no stamp is
 * missing. A stamp without an offset is accepted only if the file or the scenario says that it is in UTC: local time
 * has an hour twice in autumn and lacks one in spring.
 */

#include "scenarios/build/builder.h"

#include "base/array.h"
#include "traces/core/input.h"
#include "traces/core/numbers.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NO_COLUMN = UINT16_MAX, MAX_COLUMNS = 1000 };

struct series_reader {
  const char *path;
  const struct hr__series_query *query;
  struct hr_error *error;
  struct hr__input *input;
  uint32_t stamps, values, zones; /* columns; NO_COLUMN: none */
  bool header_is_utc;
  int64_t *at_us, *micros;
  uint32_t count, at_capacity, micros_capacity;
  int64_t step_us; /* 0: unknown yet */
  /* of the first and of the last accepted stamp */
  uint64_t first_line, last_line;
  bool is_blank;       /* the last row had no value */
  uint64_t blank_line; /* first row without a value after the last one with a value */
};

HR_PRINTF(2, 3) static enum hr_status fail(const struct series_reader *reader, const char *format, ...) {
  char words[600];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%" PRIu64 ": %s", reader->path, hr__input_line_number(reader->input),
                 words);
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '"';
}

/* Returns a field without white space and quotes around it. The text is empty if the row is shorter. */
static struct hr_text field(struct hr_text line, uint32_t column) {
  struct hr_text text = hr__comma_field(line, column);
  if (!text.at) return (struct hr_text){"", 0};
  while (text.length && is_space(text.at[text.length - 1])) text.length--;
  while (text.length && is_space(*text.at)) text.at++, text.length--;
  return text;
}

static bool equals(struct hr_text text, const char *word) {
  return text.length == strlen(word) && strncasecmp(text.at, word, text.length) == 0;
}

/* Returns whether a text contains a word in lower case, ignoring case. */
static bool contains(struct hr_text text, const char *word) {
  size_t length = strlen(word);
  for (size_t i = 0; i + length <= text.length; i++)
    if (strncasecmp(text.at + i, word, length) == 0) return true;
  return false;
}

/* ---- The header --------------------------------------------------------------------------------------- */

static uint32_t n_columns(struct hr_text line) {
  uint32_t count = 1;
  for (size_t i = 0; i < line.length; i++) count += line.at[i] == ',';
  return count < MAX_COLUMNS ? count : MAX_COLUMNS;
}

static uint32_t column_named(struct hr_text line, const char *name) {
  for (uint32_t i = 0, n = n_columns(line); i < n; i++)
    if (equals(field(line, i), name)) return i;
  return NO_COLUMN;
}

static uint32_t first_of(struct hr_text line, const char *const *names) {
  for (; *names; names++) {
    uint32_t column = column_named(line, *names);
    if (column != NO_COLUMN) return column;
  }
  return NO_COLUMN;
}

/* Finds the column of stamps by its name; if no name fits, it is the first column. */
static uint32_t find_stamps(struct hr_text line) {
  static const char *const names[] = {"time_utc", "datetime (utc)", "timestamp", "point_time", "datetime", NULL};
  uint32_t column = first_of(line, names);
  return column == NO_COLUMN ? 0 : column;
}

/* Lists the columns for a message. */
static const char *list_columns(struct hr_text line, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = 0, n = n_columns(line); i < n && used + 1 < size; i++) {
    char quoted[HR__QUOTE_BYTES];
    int length = snprintf(text + used, size - used, "%s%.40s", i ? ", " : "", hr__quote(field(line, i), quoted));
    used += length > 0 ? (size_t)length : 0;
  }
  return text;
}

/* Finds the column of values if neither the query nor the zone names it: the only one besides stamps and zones, or the
   only one with the name of an intensity or of a price. */
static enum hr_status find_only_values(struct series_reader *reader, struct hr_text line) {
  char names[300];
  uint32_t others = 0, named = 0, other = NO_COLUMN, best = NO_COLUMN;
  for (uint32_t i = 0, n = n_columns(line); i < n; i++) {
    struct hr_text name = field(line, i);
    if (i == reader->stamps || i == reader->zones) continue;
    others++;
    other = i;
    if (!contains(name, "carbon_intensity") && !contains(name, "carbon intensity") && !contains(name, "price") &&
        !equals(name, "value"))
      continue;
    named++;
    best = i;
  }
  reader->values = others == 1 ? other : best;
  if (others == 1 || named == 1) return HR_OK;
  return fail(reader, "the file has several columns of values: %s; name one with '%s'",
              list_columns(line, names, sizeof names), reader->zones == NO_COLUMN ? "zone" : "column");
}

static enum hr_status read_header(struct series_reader *reader, struct hr_text line) {
  static const char *const zone_names[] = {"zone id", "zone_id", "zone", "zone_name", "zone name", NULL};
  const struct hr__series_query *query = reader->query;
  char names[300];
  reader->stamps = find_stamps(line);
  reader->zones = first_of(line, zone_names);
  reader->header_is_utc = contains(field(line, reader->stamps), "utc");
  if (query->column) {
    reader->values = column_named(line, query->column);
    if (reader->values != NO_COLUMN) return HR_OK;
    return fail(reader, "the file lacks a column '%.60s'; the columns are %s", query->column,
                list_columns(line, names, sizeof names));
  }
  if (query->zone && reader->zones == NO_COLUMN) {
    reader->values = column_named(line, query->zone);
    if (reader->values != NO_COLUMN) return HR_OK;
    if (n_columns(line) > 2)
      return fail(reader, "the file lacks a zone '%.60s'; the columns are %s", query->zone,
                  list_columns(line, names, sizeof names));
  }
  return find_only_values(reader, line);
}

/* ---- Rows --------------------------------------------------------------------------------------------- */

/* Parses a stamp. The form "2022-01-01T00" lacks the minutes. */
static enum hr_status parse_stamp(const struct series_reader *reader, struct hr_text text, int64_t *at_us) {
  char quoted[HR__QUOTE_BYTES], full[20];
  struct hr_text stamp = text;
  bool zoned, is_hour = text.length == 13 && (text.at[10] == 'T' || text.at[10] == ' ');
  if (is_hour) {
    snprintf(full, sizeof full, "%.13s:00", text.at);
    stamp = (struct hr_text){full, strlen(full)};
  }
  if (!hr__date_parse(stamp, at_us, &zoned))
    return fail(reader, "'%s' is not a stamp; expected is a date and time like 2022-01-01T00:00Z",
                hr__quote(text, quoted));
  if (zoned || reader->header_is_utc || reader->query->is_utc) return HR_OK;
  return fail(reader,
              "'%s' has no offset from UTC, so it may be local time; expected is a Z or an offset like +01:00 at its "
              "end, a column with a name like time_utc, or \"utc\": true in the scenario",
              hr__quote(text, quoted));
}

static enum hr_status parse_value(const struct series_reader *reader, struct hr_text text, int64_t *micros) {
  static const struct hr__number_rule rule = {1000000, UINT64_C(1000000000000000), false};
  const struct hr__series_query *query = reader->query;
  bool negative = text.length && *text.at == '-';
  struct hr_text digits = {text.at + negative, text.length - negative};
  char quoted[HR__QUOTE_BYTES];
  uint64_t value;
  if (hr__number_parse(digits, &rule, &value) != HR__NUMBER_FINE)
    return fail(reader, "'%s' is not a %s", hr__quote(text, quoted), query->noun);
  if (negative && value > 0 && !query->may_be_negative)
    return fail(reader, "'%s' is negative; expected is a %s of at least 0", hr__quote(text, quoted), query->noun);
  hr_amount scaled =
      ((hr_amount)value * query->factor_num * 2 + query->factor_den) / ((hr_amount)2 * query->factor_den);
  *micros = negative ? -(int64_t)scaled : (int64_t)scaled;
  return HR_OK;
}

static enum hr_status append(struct series_reader *reader, int64_t at_us, int64_t micros) {
  uint32_t i = reader->count;
  if (!HR__ARRAY_HAS_ROOM(reader->at_us, i, reader->at_capacity) ||
      !HR__ARRAY_HAS_ROOM(reader->micros, i, reader->micros_capacity))
    return hr_fail(reader->error, HR_NO_MEMORY, "%s: out of memory", reader->path);
  reader->at_us[i] = at_us;
  reader->micros[i] = micros;
  reader->count++;
  reader->last_line = hr__input_line_number(reader->input);
  if (i == 0) reader->first_line = reader->last_line;
  return HR_OK;
}

static enum hr_status fail_gap(const struct series_reader *reader, uint64_t line, uint64_t previous, int64_t gap_us,
                               int64_t step_us) {
  return hr_fail(reader->error, HR_BAD_INPUT,
                 "%s:%" PRIu64 ": a gap: the stamp is %.10g min after that of line %" PRIu64
                 "; expected are stamps every %.10g min, or \"gaps\": \"hold\" in the scenario",
                 reader->path, line, (double)gap_us / 6e7, previous, (double)step_us / 6e7);
}

/* Checks a stamp against the one before it. The first two stamps define the step of the file. If the third one follows
   earlier, the gap is between the first two. */
static enum hr_status check_step(struct series_reader *reader, int64_t at_us) {
  if (reader->count == 0) return HR_OK;
  int64_t last_us = reader->at_us[reader->count - 1], gap_us = at_us - last_us;
  if (gap_us == 0)
    return fail(reader, "the stamp is that of line %" PRIu64 " again; expected is one value per stamp",
                reader->last_line);
  if (gap_us < 0)
    return fail(reader, "the stamp is earlier than that of line %" PRIu64 "; expected are ascending stamps",
                reader->last_line);
  if (reader->step_us == 0) reader->step_us = gap_us;
  if (gap_us == reader->step_us || reader->query->holds_gaps) return HR_OK;
  if (gap_us < reader->step_us && reader->count == 2)
    return fail_gap(reader, reader->last_line, reader->first_line, reader->step_us, gap_us);
  return fail_gap(reader, hr__input_line_number(reader->input), reader->last_line, gap_us, reader->step_us);
}

static enum hr_status read_row(struct series_reader *reader, struct hr_text line) {
  const char *zone = reader->query->zone;
  struct hr_text text = field(line, reader->values);
  int64_t at_us, micros = 0;
  if (reader->zones != NO_COLUMN && zone && !equals(field(line, reader->zones), zone)) return HR_OK;
  enum hr_status status = parse_stamp(reader, field(line, reader->stamps), &at_us);
  if (status != HR_OK) return status;
  if (!text.length) {
    if (!reader->is_blank) reader->blank_line = hr__input_line_number(reader->input);
    reader->is_blank = true;
    return HR_OK;
  }
  if (reader->is_blank && reader->count > 0 && !reader->query->holds_gaps)
    return hr_fail(reader->error, HR_BAD_INPUT,
                   "%s:%" PRIu64 ": the value is missing; expected is a %s, or \"gaps\": \"hold\" in the scenario",
                   reader->path, reader->blank_line, reader->query->noun);
  status = check_step(reader, at_us);
  if (status == HR_OK) status = parse_value(reader, text, &micros);
  reader->is_blank = false;
  return status == HR_OK ? append(reader, at_us, micros) : status;
}

static bool is_comment(struct hr_text line) {
  struct hr_text text = line;
  while (text.length && is_space(*text.at)) text.at++, text.length--;
  return !text.length || *text.at == '#';
}

static enum hr_status read_lines(struct series_reader *reader) {
  struct hr_text line;
  bool past_header = false;
  enum hr_status status;
  while ((status = hr__input_line(reader->input, &line, reader->error)) == HR_OK && line.at) {
    if (is_comment(line)) continue;
    status = past_header ? read_row(reader, line) : read_header(reader, line);
    past_header = true;
    if (status != HR_OK) return status;
  }
  if (status != HR_OK || reader->count > 1) return status;
  if (reader->zones != NO_COLUMN && reader->query->zone && reader->count == 0)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s: no row has the zone '%.60s'", reader->path, reader->query->zone);
  return hr_fail(reader->error, HR_BAD_INPUT, "%s: %s; a series has at least two stamps", reader->path,
                 reader->count ? "only one stamp has a value" : "no stamp has a value");
}

enum hr_status hr__series_read(const char *path, const struct hr__series_query *query, struct hr_series **series,
                               struct hr_error *error) {
  struct series_reader reader = {.path = path, .query = query, .error = error};
  *series = NULL;
  enum hr_status status = hr__input_open(path, &reader.input, error);
  if (status == HR_OK) status = read_lines(&reader);
  if (status == HR_OK) {
    *series = hr_series_create(reader.at_us, reader.micros, reader.count, query->repeats);
    if (!*series) status = hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  }
  hr__input_close(reader.input);
  free(reader.at_us);
  free(reader.micros);
  return status;
}
