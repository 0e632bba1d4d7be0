/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads request traces: CSV files, plain or compressed, with one row for each request in order of arrival. The columns
 * are arrival_timestamp (seconds, with up to six decimals), prompt_size and token_size, and optionally prefix_hit: the
 * share of the prompt that needs no computation. Other columns are ignored. Fields may be quoted.
 */

#include "headroom/unstable/trace_tools.h"

#include "base/containers.h"
#include "traces/core/input.h"
#include "traces/core/numbers.h"
#include "traces/csv/csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ARRIVAL, PROMPT, OUTPUT, N_NEEDED, PREFIX_HIT = N_NEEDED, N_FIELDS };
static const char *const names[N_FIELDS] = {"arrival_timestamp", "prompt_size", "token_size", "prefix_hit"};

struct request_reader {
  const char *path;
  struct hr__input *input;
  struct hr_service_requests *requests;
  uint64_t line;                               /* on which the present row begins */
  uint32_t place[N_FIELDS];                    /* position of each field in a row; HR_NONE: none */
  uint32_t n_columns;                          /* of the header; 0: it was not read yet */
  uint32_t arrivals, prompts, outputs, cached; /* capacities */
  struct hr_error *error;
};

/* A row: a line without quotes, or a row of a block. */
struct request_row {
  struct hr_text line;
  const struct hr__csv_block *block; /* NULL: the fields are those of `line` */
  const struct hr__csv_row *row;
};

/* Returns the field at a position; its text is NULL if the row is shorter. */
static struct hr_text field_at(const struct request_row *row, uint32_t position) {
  if (!row->block) return hr__comma_field(row->line, position);
  if (position >= row->row->n_fields) return (struct hr_text){NULL, 0};
  const uint32_t *bound = row->block->bound + row->row->first_field + position;
  return (struct hr_text){row->block->bytes + bound[0], bound[1] - bound[0]};
}

static enum hr_status fail(const struct request_reader *reader, uint32_t column, const char *expected,
                           struct hr_text found) {
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%" PRIu64 ": column '%s': expected %s, found '%.*s'", reader->path,
                 reader->line, names[column], expected, (int)(found.length < 60 ? found.length : 60),
                 found.at ? found.at : "");
}

static enum hr_status no_memory(const struct request_reader *reader) {
  return hr_fail(reader->error, HR_NO_MEMORY, "%s: out of memory", reader->path);
}

static struct hr_text without_end(struct hr_text line) {
  while (line.length && (line.at[line.length - 1] == '\n' || line.at[line.length - 1] == '\r')) line.length--;
  return line;
}

/* Finds the position of a column, which occurs once. HR_NONE: missing. */
static enum hr_status find_column(const struct request_reader *reader, const struct request_row *row, const char *name,
                                  uint32_t *place) {
  *place = HR_NONE;
  for (uint32_t position = 0;; position++) {
    const struct hr_text text = field_at(row, position);
    if (!text.at) return HR_OK;
    if (text.length != strlen(name) || memcmp(text.at, name, text.length) != 0) continue;
    if (*place != HR_NONE)
      return hr_fail(reader->error, HR_BAD_INPUT, "%s:%" PRIu64 ": column '%s' is in the header twice", reader->path,
                     reader->line, name);
    *place = position;
  }
}

static enum hr_status read_header(struct request_reader *reader, const struct request_row *row) {
  while (field_at(row, reader->n_columns).at) reader->n_columns++;
  for (uint32_t f = 0; f < N_FIELDS; f++) {
    const enum hr_status status = find_column(reader, row, names[f], &reader->place[f]);
    if (status != HR_OK) return status;
    if (reader->place[f] == HR_NONE && f != PREFIX_HIT)
      return hr_fail(reader->error, HR_BAD_INPUT,
                     "%s:%" PRIu64 ": expected the columns '%s', '%s' and '%s'; '%s' is missing", reader->path,
                     reader->line, names[0], names[1], names[2], names[f]);
  }
  return HR_OK;
}

uint32_t hr_request_cached_tokens(uint32_t prompt_tokens, uint32_t prefix_hit_ppm) {
  const uint32_t cached = (uint32_t)((uint64_t)prompt_tokens * prefix_hit_ppm / 1000000);
  return cached < prompt_tokens ? cached : prompt_tokens - 1;
}

/* Reads the share of the prompt of the row that needs no computation. */
static enum hr_status read_hit(struct request_reader *reader, const struct request_row *row, uint32_t prompt_tokens) {
  static const struct hr__number_rule share = {.factor = 1000000, .max = 1000000};
  struct hr_service_requests *requests = reader->requests;
  uint64_t ppm = 0;
  if (reader->place[PREFIX_HIT] == HR_NONE) return HR_OK;
  const struct hr_text text = field_at(row, reader->place[PREFIX_HIT]);
  if (!text.at || !text.length || hr__number_parse(text, &share, &ppm) != HR__NUMBER_FINE)
    return fail(reader, PREFIX_HIT, "a number from 0 to 1", text);
  if (!HR__ARRAY_HAS_ROOM(requests->cached_tokens, requests->count, reader->cached)) return no_memory(reader);
  requests->cached_tokens[requests->count] = hr_request_cached_tokens(prompt_tokens, (uint32_t)ppm);
  return HR_OK;
}

static enum hr_status read_request(struct request_reader *reader, const struct request_row *row) {
  static const struct hr__number_rule micros = {.factor = 1000000, .max = (uint64_t)HR_MAX_INPUT_US},
                                      tokens = {.factor = 1, .max = 1u << 30, .whole = true};
  struct hr_service_requests *requests = reader->requests;
  uint64_t value[N_FIELDS] = {0};
  for (uint32_t f = 0; f < N_NEEDED; f++) {
    const struct hr_text text = field_at(row, reader->place[f]);
    const bool is_number = text.at && text.length &&
                           hr__number_parse(text, f == ARRIVAL ? &micros : &tokens, &value[f]) == HR__NUMBER_FINE;
    if (!is_number) return fail(reader, f, f == ARRIVAL ? "a number of seconds" : "a whole number", text);
    if (f != ARRIVAL && value[f] == 0) return fail(reader, f, "at least 1", text);
  }
  const struct hr_text more = field_at(row, reader->n_columns);
  if (more.at)
    return hr_fail(reader->error, HR_BAD_INPUT,
                   "%s:%" PRIu64 ": expected the %" PRIu32 " fields of the header, found one more: '%.*s'",
                   reader->path, reader->line, reader->n_columns, (int)(more.length < 60 ? more.length : 60), more.at);
  const uint32_t n = requests->count;
  if (n && (int64_t)value[ARRIVAL] < requests->arrival_us[n - 1])
    return fail(reader, ARRIVAL, "a time that is not before the previous row; sort the rows by this column",
                field_at(row, reader->place[ARRIVAL]));
  if (!HR__ARRAY_HAS_ROOM(requests->arrival_us, n, reader->arrivals) ||
      !HR__ARRAY_HAS_ROOM(requests->prompt_tokens, n, reader->prompts) ||
      !HR__ARRAY_HAS_ROOM(requests->output_tokens, n, reader->outputs))
    return no_memory(reader);
  const enum hr_status status = read_hit(reader, row, (uint32_t)value[PROMPT]);
  if (status != HR_OK) return status;
  requests->arrival_us[n] = (int64_t)value[ARRIVAL];
  requests->prompt_tokens[n] = (uint32_t)value[PROMPT];
  requests->output_tokens[n] = (uint32_t)value[OUTPUT];
  requests->count = n + 1;
  return HR_OK;
}

static enum hr_status read_row(struct request_reader *reader, const struct request_row *row, uint64_t line) {
  reader->line = line;
  return reader->n_columns ? read_request(reader, row) : read_header(reader, row);
}

/* Reads the rows from a line with a quote to the end of the file. */
static enum hr_status read_quoted(struct request_reader *reader, struct hr_text line) {
  struct hr__csv_blocks *blocks = hr__csv_blocks_resume(reader->input, reader->path, line);
  const struct hr__csv_block *block;
  enum hr_status status = blocks ? HR_OK : no_memory(reader);
  while (status == HR_OK) {
    status = hr__csv_blocks_next(blocks, &block, reader->error);
    if (status != HR_OK || !block) break;
    for (size_t i = 0; i < block->n_rows && status == HR_OK; i++) {
      const struct request_row row = {.block = block, .row = &block->rows[i]};
      status = read_row(reader, &row, row.row->line);
    }
  }
  hr__csv_blocks_close(blocks);
  return status;
}

/* Reads all rows. Lines are split here, which is faster than libcsv, until one has a quote. */
static enum hr_status read_lines(struct request_reader *reader) {
  for (;;) {
    struct hr_text line;
    enum hr_status status = hr__input_line(reader->input, &line, reader->error);
    if (status != HR_OK || !line.at) return status;
    if (memchr(line.at, '"', line.length)) return read_quoted(reader, line);
    const struct request_row row = {.line = without_end(line)};
    if (row.line.length) status = read_row(reader, &row, hr__input_line_number(reader->input));
    if (status != HR_OK) return status;
  }
}

enum hr_status hr_requests_read(const char *path, struct hr_service_requests *requests, struct hr_error *error) {
  struct request_reader reader = {.path = path, .requests = requests, .error = error};
  *requests = (struct hr_service_requests){0};
  enum hr_status status = hr__input_open(path, &reader.input, error);
  if (status == HR_OK) status = read_lines(&reader);
  hr__input_close(reader.input);
  if (status == HR_OK && requests->count == 0) status = hr_fail(error, HR_BAD_INPUT, "%s: no requests", path);
  return status;
}

void hr_requests_finish(struct hr_service_requests *requests) {
  free(requests->arrival_us);
  free(requests->prompt_tokens);
  free(requests->output_tokens);
  free(requests->cached_tokens);
  *requests = (struct hr_service_requests){0};
}
