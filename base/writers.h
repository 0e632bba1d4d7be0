/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_WRITERS_H
#define HR_BASE_WRITERS_H

/*
 * Buffered writers for large text, CSV and JSON files. Text is appended to a buffer of HR__OUT_BYTES bytes, which is
 * written when it is full. Errors are recorded and reported by the commit; until then no call fails.
 *
 * Life cycle: open; put; then either commit, after which the file has its name (see output_file.h), or abandon.
 */

#include "base/output_file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { HR__OUT_BYTES = 1 << 18 };

struct hr__out {
  struct hr__output_file file;
  size_t used;        /* bytes of the buffer */
  char *buffer;       /* [HR__OUT_BYTES] */
  bool out_of_memory; /* text could not be converted: the commit fails */
};

/* Opens a file; `path` "-" is standard output. */
enum hr_status hr__out_open(struct hr__out *out, const char *path, struct hr_error *error);
/* Writes the rest of the buffer and commits the file. On failure nothing remains. */
enum hr_status hr__out_commit(struct hr__out *out, struct hr_error *error);
/* Discards the file. Does nothing after a commit. */
static inline void hr__out_abandon(struct hr__out *out) {
  hr__output_abandon(&out->file);
  free(out->buffer);
  out->buffer = NULL;
}

/* Writes the buffer and empties it. */
static inline void hr__out_drain(struct hr__out *out) {
  hr__output_write(&out->file, out->buffer, out->used);
  out->used = 0;
}

/* Makes room for `bytes` bytes, at most HR__OUT_BYTES, and returns where to write them; hr__out_to takes the end of
   the bytes written. */
static inline char *hr__out_room(struct hr__out *out, size_t bytes) {
  if (out->used + bytes > HR__OUT_BYTES) hr__out_drain(out);
  return out->buffer + out->used;
}

static inline void hr__out_to(struct hr__out *out, const char *end) {
  out->used = (size_t)(end - out->buffer);
}

static inline void hr__out_byte(struct hr__out *out, char byte) {
  *hr__out_room(out, 1) = byte;
  out->used++;
}

static inline void hr__out_u64(struct hr__out *out, uint64_t value) {
  hr__out_to(out, hr__put_u64(hr__out_room(out, HR__NUMBER_BYTES), value));
}

static inline void hr__out_i64(struct hr__out *out, int64_t value) {
  hr__out_to(out, hr__put_i64(hr__out_room(out, HR__NUMBER_BYTES), value));
}

/* Millionths of a unit as that unit: 1500000 is written as 1.5. */
static inline void hr__out_millionths(struct hr__out *out, int64_t value) {
  hr__out_to(out, hr__put_millionths(hr__out_room(out, HR__NUMBER_BYTES), value));
}

/* Thousandths of a unit as that unit: 1500 is written as 1.5. */
static inline void hr__out_milli(struct hr__out *out, uint64_t value) {
  hr__out_to(out, hr__put_thousandths(hr__out_room(out, HR__NUMBER_BYTES), (int64_t)value));
}

void hr__out_bytes(struct hr__out *out, const char *bytes, size_t count);
static inline void hr__out_text(struct hr__out *out, const char *text) {
  hr__out_bytes(out, text, strlen(text));
}

/* A JSON string with its quotes. Bytes that are not UTF-8 are read as Latin-1. */
void hr__out_json_text(struct hr__out *out, const char *text);

/* ---- CSV (RFC 4180) ---- */

struct hr__csv_out {
  struct hr__out out;
  bool within_row; /* the current row has a field, so the next one needs a comma */
};

/* Opens a file and writes `header` as its first row, unless it is NULL. */
enum hr_status hr__csv_open(struct hr__csv_out *csv, const char *path, const char *header, struct hr_error *error);

/* As hr__out_commit. */
static inline enum hr_status hr__csv_commit(struct hr__csv_out *csv, struct hr_error *error) {
  return hr__out_commit(&csv->out, error);
}

/* As hr__out_abandon. */
static inline void hr__csv_abandon(struct hr__csv_out *csv) {
  hr__out_abandon(&csv->out);
}

/* Begins a field; its text is appended with hr__csv_part. */
static inline void hr__csv_begin_field(struct hr__csv_out *csv) {
  if (csv->within_row) hr__out_byte(&csv->out, ',');
  csv->within_row = true;
}

static inline void hr__csv_end_row(struct hr__csv_out *csv) {
  hr__out_byte(&csv->out, '\n');
  csv->within_row = false;
}

/* An empty field. */
static inline void hr__csv_empty(struct hr__csv_out *csv) {
  hr__csv_begin_field(csv);
}

static inline void hr__csv_u64(struct hr__csv_out *csv, uint64_t value) {
  hr__csv_begin_field(csv);
  hr__out_u64(&csv->out, value);
}

static inline void hr__csv_i64(struct hr__csv_out *csv, int64_t value) {
  hr__csv_begin_field(csv);
  hr__out_i64(&csv->out, value);
}

/* Millionths of a unit as that unit. */
static inline void hr__csv_millionths(struct hr__csv_out *csv, int64_t value) {
  hr__csv_begin_field(csv);
  hr__out_millionths(&csv->out, value);
}

/* Microseconds as seconds. */
static inline void hr__csv_seconds(struct hr__csv_out *csv, int64_t us) {
  hr__csv_millionths(csv, us);
}

/* Micro-dollars as dollars, with six decimals. */
static inline void hr__csv_usd(struct hr__csv_out *csv, int64_t uusd) {
  hr__csv_begin_field(csv);
  hr__out_to(&csv->out, hr__put_usd(hr__out_room(&csv->out, HR__NUMBER_BYTES), uusd));
}

/* Milli-GPUs as GPUs. */
static inline void hr__csv_milli(struct hr__csv_out *csv, uint64_t milli) {
  hr__csv_begin_field(csv);
  hr__out_milli(&csv->out, milli);
}

/* A text, quoted if it has a comma, a quote or a line break. NULL is an empty field. */
void hr__csv_text(struct hr__csv_out *csv, const char *text);

/* Appends a text without commas, quotes and line breaks to the current field. */
static inline void hr__csv_part(struct hr__csv_out *csv, const char *text) {
  hr__out_text(&csv->out, text);
}

#endif
