/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/csv_out.h"

#include <string.h>

enum hr_status hr__csv_open(struct hr__csv_out *csv, const char *path, const char *header, struct hr_error *error) {
  *csv = (struct hr__csv_out){0};
  enum hr_status status = hr__out_open(&csv->out, path, error);
  if (status != HR_OK || !header) return status;
  hr__out_text(&csv->out, header);
  hr__out_byte(&csv->out, '\n');
  return HR_OK;
}

enum hr_status hr__csv_commit(struct hr__csv_out *csv, struct hr_error *error) {
  return hr__out_commit(&csv->out, error);
}

void hr__csv_abandon(struct hr__csv_out *csv) {
  hr__out_abandon(&csv->out);
}

void hr__csv_begin_field(struct hr__csv_out *csv) {
  if (csv->within_row) hr__out_byte(&csv->out, ',');
  csv->within_row = true;
}

void hr__csv_end_row(struct hr__csv_out *csv) {
  hr__out_byte(&csv->out, '\n');
  csv->within_row = false;
}

void hr__csv_empty(struct hr__csv_out *csv) {
  hr__csv_begin_field(csv);
}

void hr__csv_u64(struct hr__csv_out *csv, uint64_t value) {
  hr__csv_begin_field(csv);
  hr__out_u64(&csv->out, value);
}

void hr__csv_i64(struct hr__csv_out *csv, int64_t value) {
  hr__csv_begin_field(csv);
  hr__out_i64(&csv->out, value);
}

void hr__csv_seconds(struct hr__csv_out *csv, int64_t us) {
  hr__csv_millionths(csv, us);
}

void hr__csv_millionths(struct hr__csv_out *csv, int64_t value) {
  hr__csv_begin_field(csv);
  hr__out_millionths(&csv->out, value);
}

void hr__csv_usd(struct hr__csv_out *csv, int64_t uusd) {
  hr__csv_begin_field(csv);
  hr__out_to(&csv->out, hr__put_usd(hr__out_room(&csv->out, HR__NUMBER_BYTES), uusd));
}

void hr__csv_milli(struct hr__csv_out *csv, uint64_t milli) {
  hr__csv_begin_field(csv);
  hr__out_milli(&csv->out, milli);
}

void hr__csv_part(struct hr__csv_out *csv, const char *text) {
  hr__out_text(&csv->out, text);
}

void hr__csv_slice(struct hr__csv_out *csv, bool first, uint32_t node, uint32_t gpu_milli) {
  char *at = hr__out_room(&csv->out, 2 * HR__NUMBER_BYTES);
  if (!first) *at++ = '|';
  at = hr__put_u64(at, node);
  *at++ = ':';
  hr__out_to(&csv->out, hr__put_thousandths(at, gpu_milli));
}

static void put_quoted(struct hr__csv_out *csv, const char *text) {
  hr__out_byte(&csv->out, '"');
  for (; *text; text++) {
    if (*text == '"') hr__out_byte(&csv->out, '"');
    hr__out_byte(&csv->out, *text);
  }
  hr__out_byte(&csv->out, '"');
}

/* The length of a text that needs no quotes, SIZE_MAX for one that does. */
static size_t plain_length(const char *text) {
  size_t length = 0;
  for (; text[length]; length++)
    if (text[length] == ',' || text[length] == '"' || text[length] == '\n' || text[length] == '\r') return SIZE_MAX;
  return length;
}

void hr__csv_text(struct hr__csv_out *csv, const char *text) {
  hr__csv_begin_field(csv);
  if (!text || !text[0]) return;
  size_t length = plain_length(text);
  if (length == SIZE_MAX)
    put_quoted(csv, text);
  else
    hr__out_bytes(&csv->out, text, length);
}
