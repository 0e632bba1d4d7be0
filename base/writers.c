/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buffered text, CSV fields and JSON strings. Each kind of field is formatted by a separate function. This is several
   times as fast as printf. */

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

enum hr_status hr__csv_open(struct hr__csv_out *csv, const char *path, const char *header, struct hr_error *error) {
  *csv = (struct hr__csv_out){0};
  enum hr_status status = hr__out_open(&csv->out, path, error);
  if (status != HR_OK || !header) return status;
  hr__out_text(&csv->out, header);
  hr__out_byte(&csv->out, '\n');
  return HR_OK;
}

/* Returns whether a spreadsheet would evaluate the text: it begins like a formula, and is not a number. */
static bool is_formula(const char *text) {
  char *end;
  if (!strchr("=+-@\t\r", text[0]) || !text[1]) return false;
  (void)strtod(text, &end);
  return *end != '\0';
}

static void put_quoted(struct hr__csv_out *csv, const char *text) {
  hr__out_byte(&csv->out, '"');
  if (is_formula(text)) hr__out_byte(&csv->out, '\'');
  for (; *text; text++) {
    if (*text == '"') hr__out_byte(&csv->out, '"');
    hr__out_byte(&csv->out, *text);
  }
  hr__out_byte(&csv->out, '"');
}

/* Returns the length of a text, or SIZE_MAX if the text must be written in quotes. */
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
  if (length == SIZE_MAX) {
    put_quoted(csv, text);
    return;
  }
  if (is_formula(text)) hr__out_byte(&csv->out, '\'');
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
