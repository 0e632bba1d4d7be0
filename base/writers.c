/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "base/writers.h"

#include <stdlib.h>
#include <string.h>

enum hr_status hr__out_open(struct hr__out *out, const char *path, struct hr_error *error) {
  *out = (struct hr__out){0};
  enum hr_status status = hr__output_open(&out->file, path, error);
  if (status != HR_OK) return status;
  out->buffer = malloc(HR__OUT_BYTES);
  if (out->buffer) return HR_OK;
  hr__output_abandon(&out->file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}

void hr__out_drain(struct hr__out *out) {
  hr__output_write(&out->file, out->buffer, out->used);
  out->used = 0;
}

void hr__out_abandon(struct hr__out *out) {
  hr__output_abandon(&out->file);
  free(out->buffer);
  out->buffer = NULL;
}

enum hr_status hr__out_commit(struct hr__out *out, struct hr_error *error) {
  if (out->out_of_memory) {
    hr__out_abandon(out);
    return hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  hr__out_drain(out);
  free(out->buffer);
  out->buffer = NULL;
  return hr__output_commit(&out->file, error);
}

void hr__out_bytes(struct hr__out *out, const char *bytes, size_t count) {
  while (count > 0) {
    size_t part = count < HR__OUT_BYTES ? count : HR__OUT_BYTES;
    memcpy(hr__out_room(out, part), bytes, part);
    out->used += part;
    bytes += part;
    count -= part;
  }
}

void hr__out_text(struct hr__out *out, const char *text) {
  hr__out_bytes(out, text, strlen(text));
}

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

static void put_escaped(struct hr__out *out, unsigned char byte) {
  static const char digits[] = "0123456789abcdef";
  char *at = hr__out_room(out, 6);
  *at++ = '\\';
  if (byte == '"' || byte == '\\') {
    *at++ = (char)byte;
  } else {
    memcpy(at, "u00", 3);
    at[3] = digits[byte >> 4];
    at[4] = digits[byte & 15];
    at += 5;
  }
  hr__out_to(out, at);
}

static void put_utf8(struct hr__out *out, const char *text) {
  const char *plain = text;
  for (; *text; text++) {
    unsigned char byte = (unsigned char)*text;
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    hr__out_bytes(out, plain, (size_t)(text - plain));
    put_escaped(out, byte);
    plain = text + 1;
  }
  hr__out_bytes(out, plain, (size_t)(text - plain));
}

static bool is_ascii(const char *text) {
  while (*text && (unsigned char)*text < 0x80) text++;
  return !*text;
}

void hr__out_json_text(struct hr__out *out, const char *text) {
  char *copy = is_ascii(text) ? NULL : hr__utf8_copy(text);
  hr__out_byte(out, '"');
  if (copy || is_ascii(text))
    put_utf8(out, copy ? copy : text);
  else
    out->out_of_memory = true;
  hr__out_byte(out, '"');
  free(copy);
}
