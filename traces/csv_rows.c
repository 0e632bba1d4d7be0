/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libcsv is fed line by line, so that the line of each row is known: rows may span lines (a quoted line end), and
 * blank lines are no rows. Where all lines at hand are plain rows it gets them at once. Fields go straight from
 * libcsv's buffer into the members of the row; only texts are kept, in a store with room for the longest row as often
 * as one column is used. The first fault of a row is remembered until the row ends: when the number of fields is wrong
 * too, that is the better explanation.
 */

#include "traces/csv_rows.h"

#include "traces/csv_header.h"

#include <csv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_VALUE = 80 };

/* Where the values of one of the file's columns go; a chain where several members take the same column. */
struct feed {
  void *member;
  uint64_t unit_us;
  const char *name;
  const struct feed *next;
  enum hr__kind kind;
  bool must_fill;
};

struct csv_rows {
  struct hr__reader *reader;
  const struct hr__csv_schema *schema;
  struct csv_parser parser;
  struct hr__csv_header header;
  const struct feed **feed_of; /* by column, made when the header is complete; NULL entries are ignored */
  struct feed feeds[HR__MOST_SCHEMA_COLUMNS];
  bool have_header;
  uint32_t column;   /* next field of the row */
  uint64_t row_line; /* where the row began */
  size_t row_bytes;  /* of the row's lines so far; 0 between rows */
  bool row_ended;    /* with the line that is being fed */
  uint64_t n_rows;
  struct hr__value_reader values;
  struct hr__row_fault fault; /* the first one of the row; none while its text is NULL */
  char fault_value[KEPT_VALUE];
  enum hr_status status; /* libcsv's callbacks cannot stop it: they do nothing once this is not HR_OK */
};

/* ---- Fields ----------------------------------------------------------------------------------------- */

static void remember_fault(struct csv_rows *rows, const char *column, struct hr_text value, const char *fault) {
  if (rows->fault.fault) return;
  size_t length = value.length < KEPT_VALUE ? value.length : KEPT_VALUE;
  if (length) memcpy(rows->fault_value, value.at, length);
  rows->fault = (struct hr__row_fault){
      .column = column, .value = {rows->fault_value, length}, .fault = fault, .line = rows->row_line};
}

static void take_value(struct csv_rows *rows, struct hr_text text) {
  uint32_t column = rows->column++;
  if (column >= rows->header.n) return;
  for (const struct feed *feed = rows->feed_of[column]; feed; feed = feed->next) {
    const char *fault = NULL;
    if (text.length)
      fault = hr__value_read(&rows->values, feed->kind, feed->unit_us, text, feed->member);
    else if (feed->must_fill)
      fault = "empty";
    if (fault) remember_fault(rows, feed->name, text, fault);
  }
}

/* Flattens what the header found, so that a value is a few steps away from its member. */
static enum hr_status bind_feeds(struct csv_rows *rows) {
  const struct hr__csv_schema *schema = rows->schema;
  size_t most_uses = 1;
  rows->feed_of = calloc(rows->header.n, sizeof(*rows->feed_of));
  if (!rows->feed_of) return hr__reader_no_memory(rows->reader);
  for (uint32_t column = 0; column < rows->header.n; column++) {
    size_t uses = 0;
    for (uint8_t use = rows->header.first_use[column]; use; use = rows->header.next_use[use - 1]) {
      const struct hr__csv_column *wanted = &schema->columns[use - 1];
      rows->feeds[use - 1] = (struct feed){.member = (char *)schema->row + wanted->offset,
                                           .unit_us = wanted->unit_us,
                                           .name = wanted->name,
                                           .next = rows->feed_of[column],
                                           .kind = wanted->kind,
                                           .must_fill = wanted->must_fill};
      rows->feed_of[column] = &rows->feeds[use - 1];
      uses++;
    }
    if (uses > most_uses) most_uses = uses;
  }
  char *texts = realloc(rows->values.texts.at, most_uses * HR__LONGEST_LINE);
  if (!texts) return hr__reader_no_memory(rows->reader);
  rows->values.texts.at = texts;
  return HR_OK;
}

static void on_field(void *at, size_t length, void *data) {
  struct csv_rows *rows = data;
  if (rows->status != HR_OK) return;
  struct hr_text text = {at, length};
  if (rows->have_header)
    take_value(rows, text);
  else
    rows->status = hr__csv_header_add(&rows->header, rows->reader, text, rows->row_line);
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

static void begin_row(struct csv_rows *rows) {
  memcpy(rows->schema->row, rows->schema->blank_row, rows->schema->row_bytes);
  rows->values.texts.used = 0;
  rows->fault.fault = NULL;
  rows->column = 0;
}

static enum hr_status wrong_field_count(struct csv_rows *rows, bool at_end) {
  char detail[80];
  snprintf(detail, sizeof detail, "%u fields where the header has %u", rows->column, rows->header.n);
  struct hr__row_fault fault = {.line = rows->row_line, .detail = detail};
  if (rows->column > rows->header.n)
    fault.fault = "too many fields";
  else
    fault.fault = at_end ? "the last line is cut off" : "too few fields";
  return hr__reader_bad_row(rows->reader, &fault);
}

static enum hr_status end_row(struct csv_rows *rows, bool at_end) {
  if (!rows->have_header) {
    rows->have_header = true;
    enum hr_status status = hr__csv_header_bind(&rows->header, rows->reader, rows->schema, rows->row_line);
    return status == HR_OK ? bind_feeds(rows) : status;
  }
  rows->n_rows++;
  if (rows->column != rows->header.n) return wrong_field_count(rows, at_end);
  if (rows->fault.fault) return hr__reader_bad_row(rows->reader, &rows->fault);
  return rows->schema->on_row(rows->schema->self, rows->schema->row, rows->row_line);
}

/* `terminator` is the character that ended the row, -1 for the end of the file. */
static void on_row_end(int terminator, void *data) {
  struct csv_rows *rows = data;
  if (rows->status != HR_OK) return;
  rows->status = end_row(rows, terminator < 0);
  rows->row_ended = true;
  rows->row_line++; /* where the next row begins when lines end in a mere CR */
  begin_row(rows);
}

/* ---- Lines ------------------------------------------------------------------------------------------ */

static bool is_blank(struct hr_text line) {
  for (size_t i = 0; i < line.length; i++)
    if (line.at[i] != '\n' && line.at[i] != '\r' && line.at[i] != ' ' && line.at[i] != '\t') return false;
  return true;
}

static bool is_skipped(const struct csv_rows *rows, struct hr_text line) {
  if (rows->row_bytes) return false;
  return is_blank(line) || (!rows->have_header && line.at[0] == '#');
}

static enum hr_status parser_failed(struct csv_rows *rows) {
  unsigned long long line = rows->row_line;
  if (csv_error(&rows->parser) == CSV_ENOMEM) return hr__reader_no_memory(rows->reader);
  if (csv_error(&rows->parser) != CSV_EPARSE)
    return hr_fail(rows->reader->error, HR_BAD_INPUT, "%s:%llu: %s", rows->reader->path, line,
                   csv_strerror(csv_error(&rows->parser)));
  return hr_fail(rows->reader->error, HR_BAD_INPUT,
                 "%s:%llu: a quote (\") stands inside a field of the row that begins here; a field with quotes must be "
                 "quoted as a whole, and its quotes doubled",
                 rows->reader->path, line);
}

static enum hr_status feed_line(struct csv_rows *rows, struct hr_text line) {
  if (is_skipped(rows, line)) return HR_OK;
  if (!rows->row_bytes) rows->row_line = hr__input_line_number(rows->reader->input);
  if (rows->row_bytes + line.length > HR__LONGEST_LINE)
    return hr_fail(rows->reader->error, HR_BAD_INPUT,
                   "%s:%llu: the row that begins here is longer than 1 MiB; is a quote (\") never closed?",
                   rows->reader->path, (unsigned long long)rows->row_line);
  rows->row_ended = false;
  if (csv_parse(&rows->parser, line.at, line.length, on_field, on_row_end, rows) != line.length)
    return parser_failed(rows);
  rows->row_bytes = rows->row_ended ? 0 : rows->row_bytes + line.length;
  return rows->status;
}

/* Lines that are plain rows, one each, need not be fed one by one: the end of each row counts the line. */
static enum hr_status feed_plain_lines(struct csv_rows *rows) {
  if (!rows->have_header || rows->row_bytes) return HR_OK;
  uint64_t first = hr__input_line_number(rows->reader->input) + 1;
  struct hr_text lines = hr__input_plain_lines(rows->reader->input);
  if (!lines.length) return HR_OK;
  rows->row_line = first;
  if (csv_parse(&rows->parser, lines.at, lines.length, on_field, on_row_end, rows) != lines.length)
    return parser_failed(rows);
  return rows->status;
}

static enum hr_status feed_lines(struct csv_rows *rows) {
  struct hr__reader *reader = rows->reader;
  for (;;) {
    struct hr_text line;
    enum hr_status status = feed_plain_lines(rows);
    if (status == HR_OK) status = hr__input_line(reader->input, &line, reader->error);
    if (status != HR_OK || !line.at) return status;
    status = feed_line(rows, line);
    if (status != HR_OK) return status;
  }
}

static enum hr_status feed_all(struct csv_rows *rows) {
  struct hr__reader *reader = rows->reader;
  enum hr_status status = feed_lines(rows);
  if (status != HR_OK) return status;
  if (csv_fini(&rows->parser, on_field, on_row_end, rows) != 0)
    return csv_error(&rows->parser) == CSV_EPARSE
               ? hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: a quote (\") opens in this row and is never closed",
                         reader->path, (unsigned long long)rows->row_line)
               : parser_failed(rows);
  if (rows->status != HR_OK) return rows->status;
  if (!rows->have_header) return hr_fail(reader->error, HR_BAD_INPUT, "%s: there is no header row", reader->path);
  if (!rows->n_rows)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s: there is a header and no row below it", reader->path);
  return HR_OK;
}

static enum hr_status note_clock(struct csv_rows *rows) {
  enum hr__clock clock = rows->values.clock;
  rows->reader->dated = clock == HR__CLOCK_LOCAL_DATES || clock == HR__CLOCK_ZONED_DATES;
  if (clock != HR__CLOCK_LOCAL_DATES) return HR_OK;
  return hr_notes_add(rows->reader->notes, "dates carry no time zone and are taken as they stand: where clocks were "
                                           "changed for summer time, times are an hour off");
}

enum hr_status hr__csv_read_rows(struct hr__reader *reader, const struct hr__csv_schema *schema) {
  struct csv_rows *rows = calloc(1, sizeof *rows);
  char *texts = malloc(HR__LONGEST_LINE);
  if (!rows || !texts || csv_init(&rows->parser, CSV_STRICT | CSV_STRICT_FINI) != 0) {
    free(rows);
    free(texts);
    return hr__reader_no_memory(reader);
  }
  rows->reader = reader;
  rows->schema = schema;
  rows->values.texts.at = texts;
  begin_row(rows);
  enum hr_status status = feed_all(rows);
  if (status == HR_OK && note_clock(rows) != HR_OK) status = hr__reader_no_memory(reader);
  csv_free(&rows->parser);
  hr__csv_header_finish(&rows->header);
  free(rows->feed_of);
  free(rows->values.texts.at);
  free(rows);
  return status;
}
