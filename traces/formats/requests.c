/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads request traces: CSV files, plain or compressed, with one row for each request in order of arrival. The columns
 * are arrival_timestamp (seconds, with up to six decimals), prompt_size and token_size, and optionally prefix_hit: the
 * share of the prompt that needs no computation. Other columns are ignored.
 */

#include "headroom/unstable/trace_tools.h"

#include "base/array.h"
#include "traces/core/input.h"
#include "traces/core/numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ARRIVAL, PROMPT, OUTPUT, N_NEEDED, PREFIX_HIT = N_NEEDED, N_FIELDS };
static const char *const names[N_FIELDS] = {"arrival_timestamp", "prompt_size", "token_size", "prefix_hit"};

struct request_reader {
  const char *path;
  struct hr__input *input;
  struct hr_service_requests *requests;
  uint32_t place[N_FIELDS];                    /* position of each field in a row */
  uint32_t n_columns;                          /* of the header */
  bool has_hits;                               /* the column prefix_hit exists */
  uint32_t arrivals, prompts, outputs, cached; /* capacities */
  struct hr_error *error;
};

static enum hr_status fail(const struct request_reader *reader, uint32_t column, const char *expected,
                           struct hr_text found) {
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%" PRIu64 ": column '%s': expected %s, found '%.*s'", reader->path,
                 hr__input_line_number(reader->input), names[column], expected,
                 (int)(found.length < 60 ? found.length : 60), found.at ? found.at : "");
}

static struct hr_text without_end(struct hr_text line) {
  while (line.length && (line.at[line.length - 1] == '\n' || line.at[line.length - 1] == '\r')) line.length--;
  return line;
}

/* Finds the position of a column, which occurs once. HR_NONE: missing. */
static enum hr_status find_column(const struct request_reader *reader, struct hr_text line, const char *name,
                                  uint32_t *place) {
  *place = HR_NONE;
  for (uint32_t position = 0;; position++) {
    const struct hr_text text = hr__comma_field(line, position);
    if (!text.at) return HR_OK;
    if (text.length != strlen(name) || memcmp(text.at, name, text.length) != 0) continue;
    if (*place != HR_NONE)
      return hr_fail(reader->error, HR_BAD_INPUT, "%s:%" PRIu64 ": column '%s' is in the header twice", reader->path,
                     hr__input_line_number(reader->input), name);
    *place = position;
  }
}

static enum hr_status read_header(struct request_reader *reader, struct hr_text line) {
  while (hr__comma_field(line, reader->n_columns).at) reader->n_columns++;
  for (uint32_t f = 0; f < N_FIELDS; f++) {
    const enum hr_status status = find_column(reader, line, names[f], &reader->place[f]);
    if (status != HR_OK) return status;
    if (reader->place[f] == HR_NONE && f != PREFIX_HIT)
      return hr_fail(reader->error, HR_BAD_INPUT,
                     "%s:%" PRIu64 ": expected the columns '%s', '%s' and '%s'; '%s' is missing", reader->path,
                     hr__input_line_number(reader->input), names[0], names[1], names[2], names[f]);
  }
  reader->has_hits = reader->place[PREFIX_HIT] != HR_NONE;
  return HR_OK;
}

uint32_t hr_request_cached_tokens(uint32_t prompt_tokens, uint32_t prefix_hit_ppm) {
  const uint32_t cached = (uint32_t)((uint64_t)prompt_tokens * prefix_hit_ppm / 1000000);
  return cached < prompt_tokens ? cached : prompt_tokens - 1;
}

/* Reads the share of the prompt of the row that needs no computation. */
static enum hr_status read_hit(struct request_reader *reader, struct hr_text line, uint32_t prompt_tokens) {
  static const struct hr__number_rule share = {.factor = 1000000, .max = 1000000};
  struct hr_service_requests *requests = reader->requests;
  const struct hr_text text = hr__comma_field(line, reader->place[PREFIX_HIT]);
  uint64_t ppm = 0;
  if (!reader->has_hits) return HR_OK;
  if (!text.at || !text.length || hr__number_parse(text, &share, &ppm) != HR__NUMBER_FINE)
    return fail(reader, PREFIX_HIT, "a number from 0 to 1", text);
  if (!HR__ARRAY_HAS_ROOM(requests->cached_tokens, requests->count, reader->cached))
    return hr_fail(reader->error, HR_NO_MEMORY, "%s: out of memory", reader->path);
  requests->cached_tokens[requests->count] = hr_request_cached_tokens(prompt_tokens, (uint32_t)ppm);
  return HR_OK;
}

static enum hr_status read_row(struct request_reader *reader, struct hr_text line) {
  static const struct hr__number_rule micros = {.factor = 1000000, .max = (uint64_t)HR_MAX_INPUT_US},
                                      tokens = {.factor = 1, .max = 1u << 30, .whole = true};
  struct hr_service_requests *requests = reader->requests;
  uint64_t value[N_FIELDS] = {0};
  for (uint32_t f = 0; f < N_NEEDED; f++) {
    const struct hr_text text = hr__comma_field(line, reader->place[f]);
    const bool is_number = text.at && text.length &&
                           hr__number_parse(text, f == ARRIVAL ? &micros : &tokens, &value[f]) == HR__NUMBER_FINE;
    if (!is_number) return fail(reader, f, f == ARRIVAL ? "a number of seconds" : "a whole number", text);
    if (f != ARRIVAL && value[f] == 0) return fail(reader, f, "at least 1", text);
  }
  const struct hr_text more = hr__comma_field(line, reader->n_columns);
  if (more.at && !memchr(line.at, '"', line.length)) /* commas in quotes do not separate */
    return hr_fail(reader->error, HR_BAD_INPUT,
                   "%s:%" PRIu64 ": expected the %" PRIu32 " fields of the header, found one more: '%.*s'",
                   reader->path, hr__input_line_number(reader->input), reader->n_columns,
                   (int)(more.length < 60 ? more.length : 60), more.at);
  const uint32_t n = requests->count;
  if (n && (int64_t)value[ARRIVAL] < requests->arrival_us[n - 1])
    return fail(reader, ARRIVAL, "a time that is not before the previous row; sort the rows by this column",
                hr__comma_field(line, reader->place[ARRIVAL]));
  if (!HR__ARRAY_HAS_ROOM(requests->arrival_us, n, reader->arrivals) ||
      !HR__ARRAY_HAS_ROOM(requests->prompt_tokens, n, reader->prompts) ||
      !HR__ARRAY_HAS_ROOM(requests->output_tokens, n, reader->outputs))
    return hr_fail(reader->error, HR_NO_MEMORY, "%s: out of memory", reader->path);
  const enum hr_status status = read_hit(reader, line, (uint32_t)value[PROMPT]);
  if (status != HR_OK) return status;
  requests->arrival_us[n] = (int64_t)value[ARRIVAL];
  requests->prompt_tokens[n] = (uint32_t)value[PROMPT];
  requests->output_tokens[n] = (uint32_t)value[OUTPUT];
  requests->count = n + 1;
  return HR_OK;
}

enum hr_status hr_requests_read(const char *path, struct hr_service_requests *requests, struct hr_error *error) {
  struct request_reader reader = {.path = path, .requests = requests, .error = error};
  *requests = (struct hr_service_requests){0};
  enum hr_status status = hr__input_open(path, &reader.input, error);
  bool has_header = false;
  while (status == HR_OK) {
    struct hr_text line;
    status = hr__input_line(reader.input, &line, error);
    if (status != HR_OK || !line.at) break;
    line = without_end(line);
    if (line.length == 0) continue;
    status = has_header ? read_row(&reader, line) : read_header(&reader, line);
    has_header = true;
  }
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
