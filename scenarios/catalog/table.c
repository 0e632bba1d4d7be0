/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parses a table with libcsv. Lines are passed to libcsv one by one, so that errors can name the line. Each cell is
 * stored in a draft of a row, at the offset of its column. A hash table by key finds the row that a new row replaces.
 */

#include "scenarios/catalog/catalog_tables.h"

#include "base/containers.h"
#include "headroom/unstable/catalog.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"

#include <csv.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_ROWS = 10000000 };

struct table_reader {
  struct hr__table *table;
  const struct hr__table_text *text;
  struct hr__name_table *names;
  struct hr_error *error;
  enum hr_status status;                                 /* status of the first error */
  const struct hr__table_column *order[HR__MAX_COLUMNS]; /* columns of the file, in the order of the file */
  size_t n_order, n_cells;
  bool past_header;
  uint32_t line, row_line; /* current line, and first line of the current row */
  _Alignas(max_align_t) unsigned char draft[HR__MAX_DRAFT];
};

/* ---- Errors ----------------------------------------------------------------------------------------- */

HR_PRINTF(2, 3) static void fail(struct table_reader *reader, const char *format, ...) {
  char words[800];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  if (reader->status == HR_OK)
    reader->status =
        hr_fail(reader->error, HR_BAD_INPUT, "%s:%u: %s", reader->text->path, (unsigned)reader->row_line, words);
}

static void fail_cell(struct table_reader *reader, const struct hr__table_column *column, struct hr_text cell,
                      const char *fault) {
  char quoted[HR__QUOTE_BYTES];
  fail(reader, "column '%s': '%s' %s", column->name, hr__quote(cell, quoted), fault);
}

static void fail_memory(struct table_reader *reader) {
  reader->status = hr_fail(reader->error, HR_NO_MEMORY, "out of memory");
}

/* ---- Cells ------------------------------------------------------------------------------------------ */

static const char *intern(struct table_reader *reader, const char *text, size_t length) {
  uint32_t number = hr__names_intern(reader->names, text, length);
  if (number != HR_NONE) return reader->names->text[number];
  fail_memory(reader);
  return "";
}

static void fail_range(struct table_reader *reader, const struct hr__table_column *column, struct hr_text cell) {
  char fault[80];
  snprintf(fault, sizeof fault, "is not a number from %.10g to %.10g", column->min, column->max);
  fail_cell(reader, column, cell, fault);
}

/* Parses a number as a multiple of 1 / scale. Returns false if it is not a number or out of range. */
static bool parse_scaled(const struct hr__table_column *column, struct hr_text cell, uint64_t scale, int64_t *value) {
  const struct hr__number_rule rule = {scale, (uint64_t)INT64_MAX, false};
  bool negative = cell.length && cell.at[0] == '-' && column->min < 0;
  struct hr_text digits = {cell.at + negative, cell.length - negative};
  uint64_t size;
  if (hr__number_parse(digits, &rule, &size) != HR__NUMBER_FINE) return false;
  *value = negative ? -(int64_t)size : (int64_t)size;
  double number = (double)*value / (double)scale;
  return number >= column->min && number <= column->max;
}

/* Reads a number as an integer with nine decimals, and divides it once, so that the result is the double nearest to
   the number in the file. Nine decimals are enough for all figures. */
static void read_number(struct table_reader *reader, const struct hr__table_column *column, struct hr_text cell,
                        void *to) {
  enum { SCALE = 1000000000 };
  int64_t parts;
  double value = HR_UNKNOWN_NUMBER;
  if (cell.length && !parse_scaled(column, cell, SCALE, &parts))
    fail_range(reader, column, cell);
  else if (cell.length)
    value = (double)parts / SCALE;
  memcpy(to, &value, sizeof value);
}

static void read_micros(struct table_reader *reader, const struct hr__table_column *column, struct hr_text cell,
                        void *to) {
  int64_t value = 0;
  if (cell.length && !parse_scaled(column, cell, 1000000, &value)) fail_range(reader, column, cell);
  memcpy(to, &value, sizeof value);
}

/* Returns the index of the text of the cell in `words` of the column. An unknown text is an error, which lists the
   words. */
static unsigned word_index(struct table_reader *reader, const struct hr__table_column *column, struct hr_text cell) {
  char known[300] = "is none of";
  for (unsigned i = 0; column->words[i]; i++)
    if (strlen(column->words[i]) == cell.length && memcmp(column->words[i], cell.at, cell.length) == 0) return i;
  for (unsigned i = 0; column->words[i]; i++) {
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s '%s'", i ? "," : "", column->words[i]);
  }
  fail_cell(reader, column, cell, known);
  return 0;
}

/* Returns true if the cell is a day, a month or a year: 2026-07-20, 2026-07, 2026. */
static bool is_date(struct hr_text cell) {
  char day[sizeof "2026-01-01"];
  int64_t us;
  bool zoned;
  if (cell.length != 4 && cell.length != 7 && cell.length != 10) return false;
  memcpy(day, "0000-01-01", sizeof day);
  memcpy(day, cell.at, cell.length);
  return hr__date_parse((struct hr_text){day, sizeof day - 1}, &us, &zoned);
}

bool hr_catalog_is_date(const char *as_of) {
  return is_date((struct hr_text){as_of, strlen(as_of)});
}

static void read_text(struct table_reader *reader, const struct hr__table_column *column, struct hr_text cell,
                      void *to) {
  static const char *const kinds[] = {"quoted", "derived", "assumed", "mixed", "stated", NULL};
  static const struct hr__table_column statuses = {.name = "status", .words = kinds};
  const char *path = reader->text->path;
  if (column->cell == HR__CELL_STATUS && !cell.length) cell = (struct hr_text){"stated", sizeof "stated" - 1};
  if (column->cell == HR__CELL_SOURCE && !cell.length) cell = (struct hr_text){path, strlen(path)};
  if (column->cell == HR__CELL_DATE && !is_date(cell))
    fail_cell(reader, column, cell, "is not a date like 2026-07-20, 2026-07 or 2026");
  if (column->cell == HR__CELL_STATUS) word_index(reader, &statuses, cell);
  if (column->words) word_index(reader, column, cell);
  if (memchr(cell.at, '\0', cell.length)) fail_cell(reader, column, cell, "contains a NUL byte");
  const char *text = reader->status == HR_OK ? intern(reader, cell.at, cell.length) : "";
  memcpy(to, &text, sizeof text);
}

static void read_cell(struct table_reader *reader, const struct hr__table_column *column, struct hr_text cell) {
  void *to = reader->draft + column->offset;
  unsigned place;
  bool has_default = column->optional || column->cell == HR__CELL_STATUS || column->cell == HR__CELL_SOURCE;
  if (!cell.length && !has_default) {
    fail(reader, "column '%s' is empty", column->name);
    return;
  }
  switch (column->cell) {
  case HR__CELL_NUMBER:
    read_number(reader, column, cell, to);
    break;
  case HR__CELL_MICROS:
    read_micros(reader, column, cell, to);
    break;
  case HR__CELL_WORD:
    place = cell.length ? word_index(reader, column, cell) : 0;
    memcpy(to, &place, sizeof place);
    break;
  default:
    read_text(reader, column, cell, to);
  }
}

/* ---- The header ------------------------------------------------------------------------------------- */

static void read_column_name(struct table_reader *reader, struct hr_text cell) {
  const struct hr__table_format *format = reader->table->format;
  const char *known[HR__MAX_COLUMNS + 1] = {0};
  char name[HR__QUOTE_BYTES];
  hr__quote(cell, name);
  for (size_t i = 0; i < format->n_columns; i++) {
    known[i] = format->columns[i].name;
    if (strcmp(known[i], name) != 0) continue;
    for (size_t k = 0; k < reader->n_order; k++)
      if (reader->order[k] == &format->columns[i]) fail(reader, "duplicate column '%s'", name);
    if (reader->n_order < HR__MAX_COLUMNS) reader->order[reader->n_order++] = &format->columns[i];
    return;
  }
  const char *nearest = hr_nearest_word(name, known);
  fail(reader, "a table of %s has no column '%s'%s%s%s", format->name, name, nearest ? "; did you mean '" : "",
       nearest ? nearest : "", nearest ? "'?" : "");
}

static bool has_column(const struct table_reader *reader, const struct hr__table_column *column) {
  for (size_t i = 0; i < reader->n_order; i++)
    if (reader->order[i] == column) return true;
  return false;
}

/* Checks that all required columns exist. If an optional column is missing, its cells are read as empty. */
static void check_header(struct table_reader *reader) {
  const struct hr__table_format *format = reader->table->format;
  for (size_t i = 0; i < format->n_columns && reader->status == HR_OK; i++) {
    const struct hr__table_column *column = &format->columns[i];
    bool optional = column->optional || column->cell == HR__CELL_STATUS || column->cell == HR__CELL_SOURCE;
    if (!optional && !has_column(reader, column))
      fail(reader, "a table of %s needs the column '%s'", format->name, column->name);
  }
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

static unsigned char *row_at(const struct hr__table *table, uint32_t row) {
  return (unsigned char *)table->rows + row * table->format->row_bytes;
}

/* Returns a hash that does not depend on case, because keys are compared without case. */
static uint64_t hash_text(const char *text) {
  uint64_t hash = 0;
  for (; *text; text++) hash = hash * 31 + (uint64_t)tolower((unsigned char)*text);
  return hash;
}

static const char *text_of(const struct hr__table_column *column, const unsigned char *row) {
  const char *text;
  memcpy(&text, row + column->offset, sizeof text);
  return text;
}

static uint64_t word_of(const struct hr__table_column *column, const unsigned char *row) {
  unsigned word;
  memcpy(&word, row + column->offset, sizeof word);
  return word;
}

static uint64_t number_of(const struct hr__table_column *column, const unsigned char *row) {
  uint64_t bits;
  memcpy(&bits, row + column->offset, sizeof bits);
  return bits;
}

/* Returns the hash of the key of a row. The columns of a key are texts, words or numbers. */
static uint32_t hash_key(const struct hr__table_format *format, const unsigned char *row) {
  uint64_t digest = HR__DIGEST_SEED;
  for (size_t i = 0; i < format->n_columns; i++) {
    const struct hr__table_column *column = &format->columns[i];
    if (!column->key) continue;
    digest = hr__digest_add(digest, column->cell == HR__CELL_WORD     ? word_of(column, row)
                                    : column->cell == HR__CELL_NUMBER ? number_of(column, row)
                                                                      : hash_text(text_of(column, row)));
  }
  return hr__hash_u64(digest);
}

static bool same_cell(const struct hr__table_column *column, const unsigned char *a, const unsigned char *b) {
  if (column->cell == HR__CELL_WORD) return word_of(column, a) == word_of(column, b);
  if (column->cell == HR__CELL_NUMBER) return number_of(column, a) == number_of(column, b);
  const char *x = text_of(column, a), *y = text_of(column, b);
  return x == y || strcasecmp(x, y) == 0;
}

static bool same_key(const struct hr__table_format *format, const unsigned char *a, const unsigned char *b) {
  for (size_t i = 0; i < format->n_columns; i++)
    if (format->columns[i].key && !same_cell(&format->columns[i], a, b)) return false;
  return true;
}

/* Returns the row that has the same key as `row`; HR_NONE if none exists. */
static uint32_t find_row(const struct hr__table *table, uint32_t hash, const unsigned char *row) {
  struct hr__hash_cursor at;
  for (uint32_t i = hr__hash_first(&table->by_key, hash, &at); i != HR_NONE; i = hr__hash_next(&table->by_key, &at))
    if (same_key(table->format, row_at(table, i), row)) return i;
  return HR_NONE;
}

/* Makes room for one more row. Returns false if out of memory. */
static bool grow(struct hr__table *table) {
  uint32_t capacity = table->capacity;
  if (!HR__ARRAY_HAS_ROOM(table->line, table->count, capacity)) return false;
  if (capacity > table->capacity && !hr__array_resize(&table->rows, capacity, table->format->row_bytes)) return false;
  table->capacity = capacity;
  return true;
}

/* Returns the index of the row with the same key as `row`, or of a new row. Returns HR_NONE if out of memory. */
static uint32_t place_row(struct hr__table *table, const unsigned char *row) {
  uint32_t hash = hash_key(table->format, row), found = find_row(table, hash, row);
  if (found != HR_NONE) return found;
  if (!grow(table) || !hr__hash_add(&table->by_key, NULL, hash, table->count)) return HR_NONE;
  table->line[table->count] = 0;
  return table->count++;
}

static void add_row(struct table_reader *reader) {
  struct hr__table *table = reader->table;
  const char *fault = table->format->finish ? table->format->finish(reader->draft) : NULL;
  if (fault) {
    fail(reader, "%s", fault);
    return;
  }
  if (table->count == MAX_ROWS) {
    fail(reader, "a table has at most %d rows", MAX_ROWS);
    return;
  }
  uint32_t row = place_row(table, reader->draft);
  if (row == HR_NONE) {
    fail_memory(reader);
    return;
  }
  if (table->line[row]) fail(reader, "duplicate row: same key as line %u", (unsigned)table->line[row]);
  table->line[row] = reader->row_line;
  memcpy(row_at(table, row), reader->draft, table->format->row_bytes);
}

static void on_cell(void *bytes, size_t length, void *self) {
  struct table_reader *reader = self;
  struct hr_text cell = {bytes && length ? bytes : "", length};
  if (reader->n_cells == 0) {
    reader->row_line = reader->line;
    memset(reader->draft, 0, sizeof reader->draft);
  }
  size_t place = reader->n_cells++;
  if (reader->status != HR_OK) return;
  if (!reader->past_header)
    read_column_name(reader, cell);
  else if (place < reader->n_order)
    read_cell(reader, reader->order[place], cell);
}

static void on_row(int terminator, void *self) {
  struct table_reader *reader = self;
  const struct hr__table_format *format = reader->table->format;
  size_t n_cells = reader->n_cells;
  (void)terminator;
  reader->n_cells = 0;
  if (!reader->past_header) {
    reader->past_header = true;
    check_header(reader);
    return;
  }
  if (n_cells != reader->n_order) fail(reader, "the row has %zu columns, the header %zu", n_cells, reader->n_order);
  for (size_t i = 0; i < format->n_columns && reader->status == HR_OK; i++)
    if (!has_column(reader, &format->columns[i])) read_cell(reader, &format->columns[i], (struct hr_text){"", 0});
  if (reader->status == HR_OK) add_row(reader);
}

/* ---- The text --------------------------------------------------------------------------------------- */

/* Passes the text to libcsv line by line, so that errors can name the line even if cells contain line ends. */
static void parse(struct table_reader *reader, struct csv_parser *parser) {
  static const char mark[] = "\xEF\xBB\xBF"; /* byte order mark, which spreadsheets write */
  const char *at = reader->text->bytes, *end = at + reader->text->size;
  if (reader->text->size >= 3 && memcmp(at, mark, 3) == 0) at += 3;
  while (at < end && reader->status == HR_OK) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)(newline ? newline + 1 - at : end - at);
    reader->line++;
    if (csv_parse(parser, at, length, on_cell, on_row, reader) != length) {
      reader->row_line = reader->line;
      if (csv_error(parser) == CSV_ENOMEM)
        fail_memory(reader);
      else
        fail(reader, "unexpected quote");
    }
    at += length;
  }
  if (reader->status != HR_OK) return;
  if (csv_fini(parser, on_cell, on_row, reader) != 0) fail(reader, "missing closing quote");
  if (!reader->past_header) fail(reader, "the file is empty; a header is expected");
}

enum hr_status hr__table_add(struct hr__table *table, const struct hr__table_text *text, struct hr__name_table *names,
                             struct hr_error *error) {
  struct table_reader reader = {.table = table, .text = text, .names = names, .error = error, .row_line = 1};
  struct csv_parser parser;
  for (uint32_t i = 0; i < table->count; i++) table->line[i] = 0;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
    return hr_fail(error, HR_INTERNAL, "%s: the CSV parser cannot be initialized", text->path);
  parse(&reader, &parser);
  csv_free(&parser);
  return reader.status;
}

void hr__table_finish(struct hr__table *table) {
  free(table->rows);
  free(table->line);
  hr__hash_finish(&table->by_key);
  *table = (struct hr__table){.format = table->format};
}

/* ---- Files ------------------------------------------------------------------------------------------ */

enum { MAX_FILE = 64 << 20 };

enum hr_status hr__table_add_file(struct hr__table *table, const char *path, struct hr__name_table *names,
                                  struct hr_error *error) {
  char *bytes;
  size_t size;
  enum hr_status status = hr__decoded_file(path, MAX_FILE, &bytes, &size, error);
  const struct hr__table_text text = {path, bytes, size};
  if (status == HR_OK) status = hr__table_add(table, &text, names, error);
  free(bytes);
  return status;
}
