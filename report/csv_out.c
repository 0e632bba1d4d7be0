/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of the stream are sticky: they are asked for once, when the file is committed. */

#include "report/csv_out.h"

#include <stdlib.h>
#include <string.h>

static void drain(struct hr__csv_out *out) {
  (void)fwrite(out->buffer, 1, out->used, out->file.stream);
  out->used = 0;
}

static char *room_for(struct hr__csv_out *out, size_t bytes) {
  if (out->used + bytes > HR__CSV_BUFFER_BYTES) drain(out);
  return out->buffer + out->used;
}

static void used_up_to(struct hr__csv_out *out, const char *end) {
  out->used = (size_t)(end - out->buffer);
}

static void put_byte(struct hr__csv_out *out, char byte) {
  *room_for(out, 1) = byte;
  out->used++;
}

static void put_bytes(struct hr__csv_out *out, const char *bytes, size_t count) {
  while (count > 0) {
    size_t part = count < HR__CSV_BUFFER_BYTES ? count : HR__CSV_BUFFER_BYTES;
    memcpy(room_for(out, part), bytes, part);
    out->used += part;
    bytes += part;
    count -= part;
  }
}

enum hr_status hr__csv_open(struct hr__csv_out *out, const char *path, const char *header, struct hr_error *error) {
  *out = (struct hr__csv_out){0};
  enum hr_status status = hr__output_open(&out->file, path, error);
  if (status != HR_OK) return status;
  out->buffer = malloc(HR__CSV_BUFFER_BYTES);
  if (!out->buffer) {
    hr__output_abandon(&out->file);
    return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  }
  if (!header) return HR_OK;
  put_bytes(out, header, strlen(header));
  put_byte(out, '\n');
  return HR_OK;
}

enum hr_status hr__csv_commit(struct hr__csv_out *out, struct hr_error *error) {
  drain(out);
  free(out->buffer);
  out->buffer = NULL;
  return hr__output_commit(&out->file, error);
}

void hr__csv_abandon(struct hr__csv_out *out) {
  hr__output_abandon(&out->file);
  free(out->buffer);
  out->buffer = NULL;
}

void hr__csv_begin_field(struct hr__csv_out *out) {
  if (out->within_row) put_byte(out, ',');
  out->within_row = true;
}

void hr__csv_end_row(struct hr__csv_out *out) {
  put_byte(out, '\n');
  out->within_row = false;
}

void hr__csv_empty(struct hr__csv_out *out) {
  hr__csv_begin_field(out);
}

void hr__csv_u64(struct hr__csv_out *out, uint64_t value) {
  hr__csv_begin_field(out);
  used_up_to(out, hr__put_u64(room_for(out, HR__NUMBER_BYTES), value));
}

void hr__csv_i64(struct hr__csv_out *out, int64_t value) {
  hr__csv_begin_field(out);
  used_up_to(out, hr__put_i64(room_for(out, HR__NUMBER_BYTES), value));
}

void hr__csv_seconds(struct hr__csv_out *out, int64_t us) {
  hr__csv_millionths(out, us);
}

void hr__csv_millionths(struct hr__csv_out *out, int64_t value) {
  hr__csv_begin_field(out);
  used_up_to(out, hr__put_millionths(room_for(out, HR__NUMBER_BYTES), value));
}

void hr__csv_usd(struct hr__csv_out *out, int64_t uusd) {
  hr__csv_begin_field(out);
  used_up_to(out, hr__put_usd(room_for(out, HR__NUMBER_BYTES), uusd));
}

void hr__csv_milli(struct hr__csv_out *out, uint64_t milli) {
  hr__csv_begin_field(out);
  used_up_to(out, hr__put_thousandths(room_for(out, HR__NUMBER_BYTES), (int64_t)milli));
}

void hr__csv_part(struct hr__csv_out *out, const char *text) {
  size_t length = strlen(text);
  used_up_to(out, (char *)memcpy(room_for(out, length), text, length) + length);
}

void hr__csv_slice(struct hr__csv_out *out, bool first, uint32_t node, uint32_t gpu_milli) {
  char *at = room_for(out, 2 * HR__NUMBER_BYTES);
  if (!first) *at++ = '|';
  at = hr__put_u64(at, node);
  *at++ = ':';
  used_up_to(out, hr__put_thousandths(at, gpu_milli));
}

static void put_quoted(struct hr__csv_out *out, const char *text) {
  put_byte(out, '"');
  for (; *text; text++) {
    if (*text == '"') put_byte(out, '"');
    put_byte(out, *text);
  }
  put_byte(out, '"');
}

/* The length of a text that needs no quotes, SIZE_MAX for one that does. */
static size_t plain_length(const char *text) {
  size_t length = 0;
  for (; text[length]; length++)
    if (text[length] == ',' || text[length] == '"' || text[length] == '\n' || text[length] == '\r') return SIZE_MAX;
  return length;
}

void hr__csv_text(struct hr__csv_out *out, const char *text) {
  hr__csv_begin_field(out);
  if (!text || !text[0]) return;
  size_t length = plain_length(text);
  if (length == SIZE_MAX)
    put_quoted(out, text);
  else
    put_bytes(out, text, length);
}
