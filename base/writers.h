/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_WRITERS_H
#define HR_BASE_WRITERS_H

/* A file in the making: text is appended to a large buffer, which is written when full. What fails on the way is told
   when the file is committed. */

#include "base/output_file.h"
#include "base/text.h"

enum { HR__OUT_BYTES = 1 << 18 };

struct hr__out {
  struct hr__output_file file;
  size_t used;
  char *buffer;       /* [HR__OUT_BYTES] */
  bool out_of_memory; /* something could not be put: the commit fails */
};

enum hr_status hr__out_open(struct hr__out *out, const char *path, struct hr_error *error);
/* Writes what is left; the file appears. */
enum hr_status hr__out_commit(struct hr__out *out, struct hr_error *error);
/* Gives the file up; does nothing after a commit. */
void hr__out_abandon(struct hr__out *out);

void hr__out_drain(struct hr__out *out);
/* Where as many bytes, at most HR__OUT_BYTES, can be put at once; hr__out_to says how far it came. */
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

/* Values counted in millionths and in thousandths. */
static inline void hr__out_millionths(struct hr__out *out, int64_t value) {
  hr__out_to(out, hr__put_millionths(hr__out_room(out, HR__NUMBER_BYTES), value));
}

static inline void hr__out_milli(struct hr__out *out, uint64_t value) {
  hr__out_to(out, hr__put_thousandths(hr__out_room(out, HR__NUMBER_BYTES), (int64_t)value));
}

void hr__out_bytes(struct hr__out *out, const char *bytes, size_t count);
void hr__out_text(struct hr__out *out, const char *text);

/* A CSV file in the making: field by field. */

struct hr__csv_out {
  struct hr__out out;
  bool within_row; /* a field stands before the next one */
};

/* Opens the file and writes `header` as its first row; NULL: the caller writes it. */
enum hr_status hr__csv_open(struct hr__csv_out *csv, const char *path, const char *header, struct hr_error *error);
/* Writes what is left; the file appears. */
enum hr_status hr__csv_commit(struct hr__csv_out *csv, struct hr_error *error);
/* Gives the file up; does nothing after a commit. */
void hr__csv_abandon(struct hr__csv_out *csv);

void hr__csv_empty(struct hr__csv_out *csv);
void hr__csv_u64(struct hr__csv_out *csv, uint64_t value);
void hr__csv_i64(struct hr__csv_out *csv, int64_t value);
/* Microseconds as seconds, millionths of any unit as that unit. */
void hr__csv_seconds(struct hr__csv_out *csv, int64_t us);
void hr__csv_millionths(struct hr__csv_out *csv, int64_t value);
/* Micro-dollars as dollars, with all six decimals. */
void hr__csv_usd(struct hr__csv_out *csv, int64_t uusd);
/* Milli-GPUs as GPUs. */
void hr__csv_milli(struct hr__csv_out *csv, uint64_t milli);
/* Quoted where a comma, a quote or a line's end asks for it (RFC 4180). NULL is empty. */
void hr__csv_text(struct hr__csv_out *csv, const char *text);
/* The field of a gang that spans nodes may be of any length: it is begun, and its parts appended without a comma. */
void hr__csv_begin_field(struct hr__csv_out *csv);
/* A short text that needs no quotes. */
void hr__csv_part(struct hr__csv_out *csv, const char *text);
void hr__csv_slice(struct hr__csv_out *csv, bool first, uint32_t node, uint32_t gpu_milli);
void hr__csv_end_row(struct hr__csv_out *csv);

/* JSON written as it comes, for files of many small objects. */

/* A string with its quotes; what is no UTF-8 is read as Latin-1. */
void hr__out_json_text(struct hr__out *out, const char *text);

#endif
