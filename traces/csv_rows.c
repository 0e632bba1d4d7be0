/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A value goes straight from its block into the members of the row; only texts are kept, in a store with room for the
 * longest row as often as one column is used. A wrong number of fields is told before what is wrong with one of them:
 * it is the better explanation.
 */

#include "traces/csv_rows.h"

#include "traces/csv_blocks.h"
#include "traces/csv_header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  struct hr__csv_header header;
  const struct feed **feed_of; /* by column, made when the header is complete; NULL entries are ignored */
  struct feed feeds[HR__MOST_SCHEMA_COLUMNS];
  bool have_header;
  uint64_t n_rows; /* below the header */
  struct hr__value_reader values;
  struct hr__row_fault fault; /* the first one of the row; none while its text is NULL */
};

/* ---- Fields ----------------------------------------------------------------------------------------- */

static void take_value(struct csv_rows *rows, const struct feed *feed, struct hr_text text, uint64_t line) {
  for (; feed; feed = feed->next) {
    const char *fault = NULL;
    if (text.length)
      fault = hr__value_read(&rows->values, feed->kind, feed->unit_us, text, feed->member);
    else if (feed->must_fill)
      fault = "empty";
    if (fault && !rows->fault.fault)
      rows->fault = (struct hr__row_fault){.column = feed->name, .value = text, .fault = fault, .line = line};
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
  rows->values.texts.at = malloc(most_uses * HR__LONGEST_LINE);
  return rows->values.texts.at ? HR_OK : hr__reader_no_memory(rows->reader);
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

static enum hr_status wrong_field_count(struct csv_rows *rows, const struct hr__csv_row *row) {
  char detail[80];
  const char *model = rows->schema->header ? "a row" : "the header";
  snprintf(detail, sizeof detail, "%u field%s where %s has %u", row->n_fields, hr__plural(row->n_fields), model,
           rows->header.n);
  struct hr__row_fault fault = {.line = row->line, .detail = detail};
  if (row->n_fields > rows->header.n)
    fault.fault = "too many fields";
  else
    fault.fault = row->cut_off ? "the last line is cut off" : "too few fields";
  return hr__reader_bad_row(rows->reader, &fault);
}

static struct hr_text field_text(const struct hr__csv_block *block, uint32_t field) {
  uint32_t begin = block->bound[field];
  const char *bytes = block->bytes ? block->bytes : ""; /* NULL where all fields are empty */
  return (struct hr_text){bytes + begin, block->bound[field + 1] - begin};
}

static enum hr_status take_header(struct csv_rows *rows, const struct hr__csv_block *block,
                                  const struct hr__csv_row *row) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; status == HR_OK && i < row->n_fields; i++)
    status = hr__csv_header_add(&rows->header, rows->reader, field_text(block, row->first_field + i), row->line);
  if (status == HR_OK) status = hr__csv_header_bind(&rows->header, rows->reader, rows->schema, row->line);
  rows->have_header = true;
  return status == HR_OK ? bind_feeds(rows) : status;
}

/* The table has no header row: the schema says what its columns are. */
static enum hr_status suppose_header(struct csv_rows *rows) {
  enum hr_status status = HR_OK;
  for (const char *const *name = rows->schema->header; status == HR_OK && *name; name++)
    status = hr__csv_header_add(&rows->header, rows->reader, (struct hr_text){*name, strlen(*name)}, 1);
  if (status == HR_OK) status = hr__csv_header_bind(&rows->header, rows->reader, rows->schema, 1);
  rows->have_header = true;
  return status == HR_OK ? bind_feeds(rows) : status;
}

static enum hr_status take_row(struct csv_rows *rows, const struct hr__csv_block *block,
                               const struct hr__csv_row *row) {
  rows->n_rows++;
  if (row->n_fields != rows->header.n) return wrong_field_count(rows, row);
  memcpy(rows->schema->row, rows->schema->blank_row, rows->schema->row_bytes);
  rows->values.texts.used = 0;
  rows->fault.fault = NULL;
  for (uint32_t column = 0; column < row->n_fields; column++)
    if (rows->feed_of[column])
      take_value(rows, rows->feed_of[column], field_text(block, row->first_field + column), row->line);
  if (rows->fault.fault) return hr__reader_bad_row(rows->reader, &rows->fault);
  return rows->schema->on_row(rows->schema->self, rows->schema->row, row->line);
}

static enum hr_status take_block(struct csv_rows *rows, const struct hr__csv_block *block) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; status == HR_OK && i < block->n_rows; i++)
    status = rows->have_header ? take_row(rows, block, &block->rows[i]) : take_header(rows, block, &block->rows[i]);
  return status;
}

static enum hr_status take_blocks(struct csv_rows *rows, struct hr__csv_blocks *blocks) {
  struct hr__reader *reader = rows->reader;
  const struct hr__csv_block *block;
  enum hr_status status = rows->schema->header ? suppose_header(rows) : HR_OK;
  if (status != HR_OK) return status;
  while ((status = hr__csv_blocks_next(blocks, &block, reader->error)) == HR_OK && block) {
    status = take_block(rows, block);
    if (status != HR_OK) return status;
  }
  if (status != HR_OK) return status;
  if (!rows->have_header) return hr_fail(reader->error, HR_BAD_INPUT, "%s: there is no header row", reader->path);
  if (!rows->n_rows && rows->schema->header)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s: there is no row in it", reader->path);
  if (!rows->n_rows)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s: there is a header and no row below it", reader->path);
  return HR_OK;
}

static enum hr_status note_clock(struct csv_rows *rows) {
  enum hr__clock clock = rows->values.clock;
  rows->reader->dated = clock == HR__CLOCK_LOCAL_DATES || clock == HR__CLOCK_ZONED_DATES;
  if (clock != HR__CLOCK_LOCAL_DATES) return HR_OK;
  return hr_notes_add(rows->reader->notes, "%s", HR__LOCAL_DATES_NOTE);
}

enum hr_status hr__csv_read_rows(struct hr__reader *reader, const struct hr__csv_schema *schema) {
  struct csv_rows *rows = calloc(1, sizeof *rows);
  struct hr__csv_blocks *blocks =
      hr__csv_blocks_open(reader->input, reader->path, schema->separator ? schema->separator : ',', schema->unquoted);
  enum hr_status status = HR_OK;
  if (rows && blocks) {
    rows->reader = reader;
    rows->schema = schema;
    status = take_blocks(rows, blocks);
    if (status == HR_OK && note_clock(rows) != HR_OK) status = hr__reader_no_memory(reader);
    hr__csv_header_finish(&rows->header);
    free(rows->feed_of);
    free(rows->values.texts.at);
  } else {
    status = hr__reader_no_memory(reader);
  }
  hr__csv_blocks_close(blocks);
  free(rows);
  return status;
}
