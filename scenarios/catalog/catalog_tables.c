/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tables of the catalogue: the reader of CSV tables, the columns of each table, and the conversion of a row to a
 * struct.
 *
 * Tables are parsed with libcsv. Lines are passed to libcsv one by one, so that errors can name the line. Each cell is
 * stored in the draft of a row, at the offset of its column. For most tables, the draft is the struct of a row. For
 * presets and MIG profiles, it has further cells, from which `finish` computes the struct. A hash table by key finds
 * the row that a new row replaces.
 */

#include "scenarios/catalog/catalog_tables.h"

#include "base/containers.h"
#include "headroom/unstable/catalog.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"

#include <csv.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Tables ----------------------------------------------------------------------------------------- */

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

/* ---- Tables: errors --------------------------------------------------------------------------------- */

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

/* ---- Tables: cells ---------------------------------------------------------------------------------- */

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

/* Sets `*value` to the number in the cell, multiplied by `scale` and rounded. Returns false if the cell is not a number
   in the bounds of the column. */
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

/* Reads a number. It is parsed as a whole number of billionths and divided once, so that the result is the double
   nearest to the number in the file. Nine decimals are enough for all figures. */
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

/* Returns the index of the text of the cell in the `words` of the column. Reports an error with the list of words if
   the text is not one of them, and returns 0. */
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

/* ---- Tables: the header ----------------------------------------------------------------------------- */

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

/* ---- Tables: rows ----------------------------------------------------------------------------------- */

static unsigned char *row_at(const struct hr__table *table, uint32_t row) {
  return (unsigned char *)table->rows + row * table->format->row_bytes;
}

/* Returns a hash of a text in lower case, because keys are compared without case. */
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

static bool is_text(const struct hr__table_column *column) {
  return column->cell != HR__CELL_WORD && column->cell != HR__CELL_NUMBER;
}

/* Returns the bytes of a word or a number. */
static uint64_t bits_of(const struct hr__table_column *column, const unsigned char *row) {
  uint64_t bits = 0;
  memcpy(&bits, row + column->offset, column->cell == HR__CELL_WORD ? sizeof(unsigned) : sizeof bits);
  return bits;
}

/* Returns the hash of the key of a row. The columns of a key are texts, words or numbers. */
static uint32_t hash_key(const struct hr__table_format *format, const unsigned char *row) {
  uint64_t digest = HR__DIGEST_SEED;
  for (size_t i = 0; i < format->n_columns; i++) {
    const struct hr__table_column *column = &format->columns[i];
    if (!column->key) continue;
    digest = hr__digest_add(digest, is_text(column) ? hash_text(text_of(column, row)) : bits_of(column, row));
  }
  return hr__hash_u64(digest);
}

static bool same_cell(const struct hr__table_column *column, const unsigned char *a, const unsigned char *b) {
  if (!is_text(column)) return bits_of(column, a) == bits_of(column, b);
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

/* Returns the index of the row with the same key as `row`. If no row has this key, adds a row and returns its index.
   Returns HR_NONE if out of memory. */
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

/* ---- Tables: the text ------------------------------------------------------------------------------- */

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

/* ---- Tables: files ---------------------------------------------------------------------------------- */

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

/* ---- The tables of the catalogue -------------------------------------------------------------------- */

#define HOURS_PER_MONTH 730.0

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define TEXT(type, column, member)                                                                                     \
  { .name = column, .cell = HR__CELL_TEXT, .offset = offsetof(struct type, member) }
#define KEY(type, column, member)                                                                                      \
  { .name = column, .cell = HR__CELL_TEXT, .offset = offsetof(struct type, member), .key = true }
#define KEY_WORD(type, column, member, known)                                                                          \
  {                                                                                                                    \
    .name = column, .cell = HR__CELL_TEXT, .offset = offsetof(struct type, member), .key = true, .optional = true,     \
    .words = (known)                                                                                                   \
  }
#define WORD(type, column, member, known)                                                                              \
  { .name = column, .cell = HR__CELL_WORD, .offset = offsetof(struct type, member), .words = (known) }
#define DATE(type, column, member, is_key)                                                                             \
  { .name = column, .cell = HR__CELL_DATE, .offset = offsetof(struct type, member), .key = is_key }
#define NUMBER(type, column, member, low, high)                                                                        \
  { .name = column, .cell = HR__CELL_NUMBER, .offset = offsetof(struct type, member), .min = low, .max = high }
#define MAYBE(type, column, member, low, high)                                                                         \
  {                                                                                                                    \
    .name = column, .cell = HR__CELL_NUMBER, .offset = offsetof(struct type, member), .optional = true, .min = low,    \
    .max = high                                                                                                        \
  }
#define MICROS(type, column, member, high)                                                                             \
  { .name = column, .cell = HR__CELL_MICROS, .offset = offsetof(struct type, member), .max = high }
#define ORIGIN(type)                                                                                                   \
  {.name = "status", .cell = HR__CELL_STATUS, .offset = offsetof(struct type, status)}, {                              \
    .name = "source", .cell = HR__CELL_SOURCE, .offset = offsetof(struct type, source)                                 \
  }

/* ---- GPU and instance types ------------------------------------------------------------------------- */

static const struct hr__table_column gpus[] = {KEY(hr_gpu_type, "gpu", name),
                                               NUMBER(hr_gpu_type, "mem_gb", mem_gb, 1, 1e6),
                                               NUMBER(hr_gpu_type, "bandwidth_gb_s", bandwidth_gb_s, 1, 1e6),
                                               NUMBER(hr_gpu_type, "fp16_tflops", fp16_tflops, 0.001, 1e6),
                                               MAYBE(hr_gpu_type, "bf16_tflops", bf16_tflops, 0, 1e6),
                                               MAYBE(hr_gpu_type, "fp32_tflops", fp32_tflops, 0, 1e6),
                                               MAYBE(hr_gpu_type, "achievable", achievable, 0, 1),
                                               NUMBER(hr_gpu_type, "tdp_w", tdp_w, 1, 1e5),
                                               NUMBER(hr_gpu_type, "idle_w", idle_w, 0, 1e5),
                                               MAYBE(hr_gpu_type, "nvlink_gb_s", nvlink_gb_s, 0, 1e6),
                                               MAYBE(hr_gpu_type, "pcie_gb_s", pcie_gb_s, 0, 1e6),
                                               MAYBE(hr_gpu_type, "mig_slices", mig_slices, 0, 64),
                                               ORIGIN(hr_gpu_type)};

static const struct hr__table_column instances[] = {KEY(hr_instance_type, "provider", provider),
                                                    KEY(hr_instance_type, "instance", name),
                                                    TEXT(hr_instance_type, "gpu", gpu),
                                                    NUMBER(hr_instance_type, "gpus", gpus, 1, 1024),
                                                    MAYBE(hr_instance_type, "vcpus", vcpus, 0, 65536),
                                                    MAYBE(hr_instance_type, "mem_gib", mem_gib, 0, 1e6),
                                                    MAYBE(hr_instance_type, "nvme_gb", nvme_gb, 0, 1e7),
                                                    MAYBE(hr_instance_type, "network_gbit", network_gbit, 0, 1e6),
                                                    ORIGIN(hr_instance_type)};

static const char *finish_instance(void *row) {
  const struct hr_instance_type *type = row;
  return type->gpus == floor(type->gpus) ? NULL : "column 'gpus' is not a whole number";
}

static const struct hr__table_column gpu_names[] = {KEY(hr_gpu_name, "name", name), KEY(hr_gpu_name, "gpu", gpu),
                                                    ORIGIN(hr_gpu_name)};

/* ---- Prices ----------------------------------------------------------------------------------------- */

#define ENUM_TEXT(name, text) text,
static const char *const markets[] = {HR_MARKET_TABLE(ENUM_TEXT) NULL};
static const char *const price_terms[] = {"", "1y", "3y", "block", "untold", NULL};
static const char *const upfronts[] = {"", "none", "partial", "all", NULL};

static const struct hr__table_column prices[] = {KEY(hr_price, "provider", provider),
                                                 KEY(hr_price, "instance", instance),
                                                 KEY(hr_price, "region", region),
                                                 {.name = "market",
                                                  .cell = HR__CELL_WORD,
                                                  .offset = offsetof(struct hr_price, market),
                                                  .key = true,
                                                  .words = markets},
                                                 KEY_WORD(hr_price, "term", term, price_terms),
                                                 KEY_WORD(hr_price, "upfront", upfront, upfronts),
                                                 MICROS(hr_price, "usd_per_hour", uusd_h, HR_MAX_USD_H),
                                                 DATE(hr_price, "as_of", as_of, true),
                                                 ORIGIN(hr_price)};

static const char *finish_price(void *row) {
  const struct hr_price *price = row;
  bool reserved = price->market == HR_MARKET_RESERVED;
  if (!reserved && !hr_market_is_elastic(price->market)) return "column 'market': is not reserved, on-demand or spot";
  if (reserved && !price->term[0]) return "a reserved price needs a 'term': 1y, 3y, block, or untold (unknown term)";
  if (!reserved && (price->term[0] || price->upfront[0])) return "'term' and 'upfront' belong to reserved prices";
  return NULL;
}

static const struct hr__table_column regions[] = {
    KEY(hr_region, "provider", provider),   KEY(hr_region, "region", name),
    TEXT(hr_region, "base", base),          MICROS(hr_region, "multiplier", multiplier_ppm, 1000),
    DATE(hr_region, "as_of", as_of, false), ORIGIN(hr_region)};

static const char *const discount_terms[] = {"1y", "3y", "spot", NULL};

static const struct hr__table_column discounts[] = {KEY(hr_discount, "provider", provider),
                                                    KEY(hr_discount, "family", family),
                                                    {.name = "term",
                                                     .cell = HR__CELL_TEXT,
                                                     .offset = offsetof(struct hr_discount, term),
                                                     .key = true,
                                                     .words = discount_terms},
                                                    KEY_WORD(hr_discount, "upfront", upfront, upfronts),
                                                    MICROS(hr_discount, "off", off_ppm, 1),
                                                    DATE(hr_discount, "as_of", as_of, true),
                                                    ORIGIN(hr_discount)};

/* ---- Spot presets ----------------------------------------------------------------------------------- */

/* A row of spot_presets.csv. `up_a` to `down_b` are the parameters of `up` and `down` in hours. Parameters that the
   model of the preset does not have are empty. */
struct preset_draft {
  struct hr_spot_preset preset;
  enum hr_duration_kind up, down;
  double up_a, up_b, down_a, down_b;
  double notice_s, rate_per_h, batch_mean, monthly_interruption;
};

static const char *const models[] = {HR_SPOT_MODEL_TABLE(ENUM_TEXT) NULL};
static const char *const durations[] = {[HR_DURATION_FIXED] = "",
                                        [HR_DURATION_EXPONENTIAL] = "exponential",
                                        [HR_DURATION_LOG_NORMAL] = "log-normal",
                                        [HR_DURATION_WEIBULL] = "weibull",
                                        NULL};

#define PRESET(column, member, low, high) MAYBE(preset_draft, column, member, low, high)
#define DURATION(column, member)                                                                                       \
  {                                                                                                                    \
    .name = column, .cell = HR__CELL_WORD, .offset = offsetof(struct preset_draft, member), .optional = true,          \
    .words = durations                                                                                                 \
  }
static const struct hr__table_column spot_presets[] = {
    KEY(preset_draft, "name", preset.name),
    TEXT(preset_draft, "provider", preset.provider),
    TEXT(preset_draft, "gpu", preset.gpu),
    TEXT(preset_draft, "region", preset.region),
    WORD(preset_draft, "model", preset.spec.model, models),
    DURATION("up", up),
    PRESET("up_a", up_a, -100, 1e6),
    PRESET("up_b", up_b, 0, 1e6),
    DURATION("down", down),
    PRESET("down_a", down_a, -100, 1e6),
    PRESET("down_b", down_b, 0, 1e6),
    PRESET("rate_per_h", rate_per_h, 0, 1e4),
    PRESET("batch_mean", batch_mean, 1, 1e6),
    PRESET("monthly_interruption", monthly_interruption, 0, 0.999999),
    PRESET("bathtub_a", preset.spec.bathtub.a, 0, 1),
    PRESET("bathtub_tau1_h", preset.spec.bathtub.tau1_h, 0.001, 1e4),
    PRESET("bathtub_tau2_h", preset.spec.bathtub.tau2_h, 0.001, 1e4),
    PRESET("bathtub_b_h", preset.spec.bathtub.b_h, 0.001, 1e4),
    PRESET("bathtub_last_h", preset.spec.bathtub.last_h, 0.001, 1e4),
    NUMBER(preset_draft, "notice_s", notice_s, 0, 1e6),
    PRESET("discount", preset.discount, 0, 1),
    {.name = "status", .cell = HR__CELL_STATUS, .offset = offsetof(struct preset_draft, preset.status)},
    {.name = "source", .cell = HR__CELL_SOURCE, .offset = offsetof(struct preset_draft, preset.source)}};

/* Sets `*duration` to a distribution of seconds from parameters in hours. Returns false if a parameter is missing. */
static bool make_duration(enum hr_duration_kind kind, double a, double b, struct hr_duration *duration) {
  *duration = (struct hr_duration){.kind = kind, .a = a, .b = b};
  switch (kind) {
  case HR_DURATION_LOG_NORMAL:
    duration->a = a + log(3600);
    return b >= 0;
  case HR_DURATION_EXPONENTIAL:
    duration->a = a * 3600;
    return a > 0;
  case HR_DURATION_WEIBULL:
    duration->b = b * 3600;
    return a > 0 && b > 0;
  default:
    return false;
  }
}

static const char *finish_preset(void *row) {
  struct preset_draft *draft = row;
  struct hr_spot_spec *spec = &draft->preset.spec;
  spec->notice_us = (int64_t)llround(draft->notice_s * (double)HR_SECOND_US);
  spec->batch_mean = draft->batch_mean > 0 ? draft->batch_mean : 1;
  spec->rate_per_h = draft->rate_per_h > 0 ? draft->rate_per_h : 0;
  if (spec->model != HR_SPOT_BATHTUB) spec->bathtub = (struct hr_bathtub){0};
  switch (spec->model) {
  case HR_SPOT_ON_OFF:
    if (make_duration(draft->up, draft->up_a, draft->up_b, &spec->up) &&
        make_duration(draft->down, draft->down_a, draft->down_b, &spec->down))
      return NULL;
    return "the model on-off needs 'up' and 'down', each with the parameters of its distribution in '_a' and '_b'";
  case HR_SPOT_EXPONENTIAL:
    return draft->rate_per_h >= 0 ? NULL : "the model exponential needs 'rate_per_h'";
  case HR_SPOT_ADVISOR:
    spec->rate_per_h = -log1p(-draft->monthly_interruption) / HOURS_PER_MONTH;
    return draft->monthly_interruption >= 0 ? NULL : "the model advisor needs 'monthly_interruption'";
  case HR_SPOT_BATHTUB:
    return spec->bathtub.a >= 0 && spec->bathtub.tau1_h > 0 && spec->bathtub.tau2_h > 0 && spec->bathtub.b_h > 0 &&
                   spec->bathtub.last_h > 0
               ? NULL
               : "the model bathtub needs all of 'bathtub_a' to 'bathtub_last_h'";
  case HR_SPOT_TRACE:
    return "the model trace needs a record, which a preset cannot contain";
  default:
    return NULL;
  }
}

/* ---- MIG profiles ----------------------------------------------------------------------------------- */

/* A row of mig_profiles.csv. `starts` lists the memory slices at which an instance may begin, such as "0;2;4". */
struct mig_draft {
  struct hr_mig_entry entry;
  double compute_slices, memory_slices, mem_mib, sms, max_instances;
  const char *starts;
};

static const struct hr__table_column mig_profiles[] = {
    KEY(mig_draft, "gpu", entry.gpu),
    KEY(mig_draft, "profile", entry.profile.name),
    NUMBER(mig_draft, "compute_slices", compute_slices, 1, HR_MIG_SLICES),
    NUMBER(mig_draft, "memory_slices", memory_slices, 1, HR_MIG_SLICES),
    NUMBER(mig_draft, "mem_mib", mem_mib, 1, 1e8),
    NUMBER(mig_draft, "sms", sms, 1, 10000),
    TEXT(mig_draft, "starts", starts),
    NUMBER(mig_draft, "max_instances", max_instances, 1, HR_MIG_SLICES),
    {.name = "status", .cell = HR__CELL_STATUS, .offset = offsetof(struct mig_draft, entry.status)},
    {.name = "source", .cell = HR__CELL_SOURCE, .offset = offsetof(struct mig_draft, entry.source)}};

/* Returns true if the name of a profile has the form "3g.40gb" or "1g.10gb+me", with `compute_slices` before the
   "g". Sets `*media` to whether the name ends with "+me". */
static bool is_mig_name(const char *name, double compute_slices, bool *media) {
  size_t length = strlen(name), slices = strspn(name, "0123456789");
  if (slices != 1 || name[0] - '0' != compute_slices || strncmp(name + 1, "g.", 2) != 0) return false;
  size_t digits = strspn(name + 3, "0123456789");
  const char *tail = name + 3 + digits;
  *media = strcmp(tail, "gb+me") == 0;
  return digits > 0 && length < HR_MIG_NAME_BYTES && (*media || strcmp(tail, "gb") == 0);
}

/* Returns the memory slices at which an instance may start, as a set of bits. The text consists of digits separated by
   semicolons. Returns 0 if it has another form, a repeated digit, or a slice at which the instance does not fit. */
static uint8_t parse_starts(const char *text, unsigned memory_slices) {
  unsigned starts = 0;
  for (;; text += 2) {
    unsigned start = (unsigned)(text[0] - '0');
    if (start > HR_MIG_SLICES - memory_slices || starts >> start & 1) return 0;
    starts |= 1U << start;
    if (!text[1]) return (uint8_t)starts;
    if (text[1] != ';') return 0;
  }
}

static const char *finish_mig(void *row) {
  struct mig_draft *draft = row;
  struct hr_mig_profile *profile = &draft->entry.profile;
  const double counts[] = {draft->compute_slices, draft->memory_slices, draft->mem_mib, draft->sms,
                           draft->max_instances};
  for (size_t i = 0; i < LENGTH(counts); i++)
    if (counts[i] != floor(counts[i])) return "slices, mem_mib, sms and max_instances are whole numbers";
  profile->compute_slices = (uint8_t)draft->compute_slices;
  profile->memory_slices = (uint8_t)draft->memory_slices;
  profile->mem_mib = (uint32_t)draft->mem_mib;
  profile->sms = (uint16_t)draft->sms;
  profile->max_instances = (uint8_t)draft->max_instances;
  profile->starts = parse_starts(draft->starts, profile->memory_slices);
  if (!profile->starts) return "column 'starts': is not a list like 0;2;4 of memory slices at which the instance fits";
  return is_mig_name(profile->name, draft->compute_slices, &profile->media)
             ? NULL
             : "column 'profile': is not a name like 3g.40gb or 1g.10gb+me, with as many g as compute slices";
}

/* ---- Speeds by network ------------------------------------------------------------------------------ */

static const char *const networks[] = {HR_NETWORK_TABLE(ENUM_TEXT) NULL};

static const struct hr__table_column network_speeds[] = {KEY(hr_network_entry, "model", model),
                                                         {.name = "network",
                                                          .cell = HR__CELL_WORD,
                                                          .offset = offsetof(struct hr_network_entry, network),
                                                          .key = true,
                                                          .words = networks},
                                                         {.name = "gpus",
                                                          .cell = HR__CELL_NUMBER,
                                                          .offset = offsetof(struct hr_network_entry, gpus),
                                                          .key = true,
                                                          .min = 2,
                                                          .max = HR_MAX_GPUS},
                                                         MICROS(hr_network_entry, "speed", speed_ppm, 1),
                                                         ORIGIN(hr_network_entry)};

static const char *finish_network_speed(void *row) {
  const struct hr_network_entry *entry = row;
  if (entry->network == HR_NETWORK_NONE) return "column 'network': is empty";
  if (entry->speed_ppm == 0) return "column 'speed': is not above 0";
  return entry->gpus == floor(entry->gpus) ? NULL : "column 'gpus' is not a whole number";
}

/* ---- Links between regions -------------------------------------------------------------------------- */

static const struct hr__table_column region_links[] = {KEY(hr_region_link, "from", from),
                                                       KEY(hr_region_link, "to", to),
                                                       NUMBER(hr_region_link, "gbit_s", gbit_s, 0.001, 1e6),
                                                       MAYBE(hr_region_link, "rtt_ms", rtt_ms, 0, 1e5),
                                                       MAYBE(hr_region_link, "usd_per_gb", usd_per_gb, 0, 1000),
                                                       DATE(hr_region_link, "as_of", as_of, false),
                                                       ORIGIN(hr_region_link)};

/* ---- Power limits ----------------------------------------------------------------------------------- */

#define CAP_NUMBER(title, member, is_key, low, high)                                                                   \
  {                                                                                                                    \
    .name = title, .cell = HR__CELL_NUMBER, .offset = offsetof(struct hr_power_cap_entry, member), .key = is_key,      \
    .min = low, .max = high                                                                                            \
  }
static const struct hr__table_column power_caps[] = {
    KEY(hr_power_cap_entry, "gpu", gpu), CAP_NUMBER("limit_w", limit_w, true, 1, 1e6),
    CAP_NUMBER("time_ratio", time_ratio, false, 1, 1000), CAP_NUMBER("power_ratio", power_ratio, false, 1e-3, 1),
    ORIGIN(hr_power_cap_entry)};

/* ---- The tables ------------------------------------------------------------------------------------- */

#define FORMAT(title, set, row, draft, end)                                                                            \
  {                                                                                                                    \
    .name = title, .columns = set, .n_columns = LENGTH(set), .row_bytes = sizeof(struct row),                          \
    .draft_bytes = sizeof(struct draft), .finish = end                                                                 \
  }
const struct hr__table_format hr__catalog_formats[HR__N_CATALOG_TABLES] = {
    [HR__CATALOG_GPUS] = FORMAT("GPU types", gpus, hr_gpu_type, hr_gpu_type, NULL),
    [HR__CATALOG_INSTANCES] = FORMAT("instance types", instances, hr_instance_type, hr_instance_type, finish_instance),
    [HR__CATALOG_PRICES] = FORMAT("prices", prices, hr_price, hr_price, finish_price),
    [HR__CATALOG_REGIONS] = FORMAT("regions", regions, hr_region, hr_region, NULL),
    [HR__CATALOG_DISCOUNTS] = FORMAT("discounts", discounts, hr_discount, hr_discount, NULL),
    [HR__CATALOG_SPOT_PRESETS] = FORMAT("spot presets", spot_presets, hr_spot_preset, preset_draft, finish_preset),
    [HR__CATALOG_MIG_PROFILES] = FORMAT("MIG profiles", mig_profiles, hr_mig_entry, mig_draft, finish_mig),
    [HR__CATALOG_NETWORK_SPEEDS] =
        FORMAT("speeds by network", network_speeds, hr_network_entry, hr_network_entry, finish_network_speed),
    [HR__CATALOG_GPU_NAMES] = FORMAT("names of GPU types", gpu_names, hr_gpu_name, hr_gpu_name, NULL),
    [HR__CATALOG_REGION_LINKS] = FORMAT("links between regions", region_links, hr_region_link, hr_region_link, NULL),
    [HR__CATALOG_POWER_CAPS] = FORMAT("power limits", power_caps, hr_power_cap_entry, hr_power_cap_entry, NULL),
};
_Static_assert(LENGTH(spot_presets) <= HR__MAX_COLUMNS, "the widest table");
_Static_assert(sizeof(struct preset_draft) <= HR__MAX_DRAFT, "the longest draft");
