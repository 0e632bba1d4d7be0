/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_OUTPUT_FILE_H
#define HR_BASE_OUTPUT_FILE_H

/*
 * Output files, and buffered writers of text, CSV and JSON for large files.
 *
 * Output files appear under their name only when they are complete. A file is written without a name (O_TMPFILE),
 * synced and then linked to its name. If the process ends before that, no file remains. If a file with this name exists
 * already, the new file is first linked to a temporary name in the same folder. The temporary name is then renamed,
 * which replaces the existing file. Some file systems do not support files without a name. There, the data is written
 * to a temporary file in the same folder, and the file is renamed when it is complete. Devices and pipes are written
 * directly. If the path is a symbolic link, the file that it refers to is replaced, and the link stays. Other hard
 * links to a replaced file keep its old content.
 *
 * Several files can appear together: see hr_outputs_hold (headroom/base.h).
 *
 * Use: open the file, write to `stream` or with hr__output_write, then call hr__output_commit or hr__output_abandon.
 */

#include "headroom/base.h"

#include "base/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hr__output_file {
  FILE *stream;
  char *path;      /* NULL for standard output */
  char *temporary; /* the temporary file that will be renamed to `path`; NULL if no such file exists */
  uint32_t place;  /* the index of `temporary` in the list of unfinished files, plus 1; 0 if it is not in the list */
  bool nameless;   /* the file was created without a name */
  unsigned begun;  /* how often hr_discard_unfinished was called before the file was opened; if it is called later, the
                      commit fails */
  int failure;     /* errno of the first hr__output_write that failed; 0 if all succeeded */
};

/* Opens a file for writing. The `path` "-" is standard output. On failure the function returns HR_BAD_INPUT,
   HR_IO_ERROR or HR_NO_MEMORY, and `error` has the reason. */
enum hr_status hr__output_open(struct hr__output_file *file, const char *path, struct hr_error *error);
/* Writes bytes to the stream. If this fails, hr__output_commit reports the error. */
static inline void hr__output_write(struct hr__output_file *file, const char *bytes, size_t count) {
  if (fwrite(bytes, 1, count, file->stream) < count && !file->failure) file->failure = errno;
}

/* Flushes the stream, checks for errors of earlier writes, syncs the file, gives it its name and closes it. After
   hr_outputs_hold, the last two steps are done later, by hr_outputs_publish. If a step fails, the new file is removed
   and a file that already has the name stays unchanged. */
enum hr_status hr__output_commit(struct hr__output_file *file, struct hr_error *error);
/* Closes the file and removes it. The call has no effect after a commit. */
void hr__output_abandon(struct hr__output_file *file);
/* Commits a file, or abandons it and reports the error if a part of it could not be written because memory was
   exhausted. */
enum hr_status hr__output_finish(struct hr__output_file *file, const char *path, bool out_of_memory,
                                 struct hr_error *error);

/* ---- Unfinished files ------------------------------------------------------------------------------ */

/* hr_discard_unfinished (headroom/base.h) removes these temporary files before an exit. */

/* Creates a file as mkstemp does, replacing the X's at the end of `path`, and adds it to the list of unfinished files.
   `path` must stay allocated until hr__unfinished_remove is called. Returns the descriptor, or -1 with errno set.
   `*place` is set to the index of the file in the list plus 1, or to 0 if the list is full. */
int hr__unfinished_make(char *path, uint32_t *place);
/* For tests. While `all` is true, each file is created with a temporary name. If `all` is false, files are created
   without a name again. */
void hr__unfinished_name_all(bool all);
/* Removes a file from the list of unfinished files. Call it when the file is complete or deleted. Returns true if the
   caller may free the path that was passed to hr__unfinished_make. Returns false if hr_discard_unfinished has already
   removed the file from the list; the path must then stay allocated, because a signal handler may still use it. */
bool hr__unfinished_remove(uint32_t place);

/* ---- Buffered writers ------------------------------------------------------------------------------ */

/*
 * Buffered writers for large text, CSV and JSON files. Text is appended to a buffer of HR__OUT_BYTES bytes. A full
 * buffer is written to the file. Functions that write do not report errors; hr__out_commit and hr__csv_commit report
 * them.
 *
 * Use: open the file, write, then commit or abandon. The commit gives the file its name.
 */

enum { HR__OUT_BYTES = 1 << 18 };

struct hr__out {
  struct hr__output_file file;
  size_t used;        /* how many bytes of the buffer are used */
  char *buffer;       /* [HR__OUT_BYTES] */
  bool out_of_memory; /* memory was exhausted when a text was converted; the commit will fail */
};

/* Opens a file. The `path` "-" is standard output. */
enum hr_status hr__out_open(struct hr__out *out, const char *path, struct hr_error *error);
/* Writes the contents of the buffer and commits the file (hr__output_commit). If this fails, the new file is
   removed. */
enum hr_status hr__out_commit(struct hr__out *out, struct hr_error *error);
/* Discards the file. The call has no effect after a commit. */
static inline void hr__out_abandon(struct hr__out *out) {
  hr__output_abandon(&out->file);
  free(out->buffer);
  out->buffer = NULL;
}

/* Writes the buffer to the file and empties the buffer. */
static inline void hr__out_drain(struct hr__out *out) {
  hr__output_write(&out->file, out->buffer, out->used);
  out->used = 0;
}

/* Makes room for `bytes` bytes (at most HR__OUT_BYTES) and returns the address to write to. After writing, pass the end
   of the written bytes to hr__out_to. */
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

/* Writes millionths of a unit as a decimal: 1500000 is written as 1.5. */
static inline void hr__out_millionths(struct hr__out *out, int64_t value) {
  hr__out_to(out, hr__put_millionths(hr__out_room(out, HR__NUMBER_BYTES), value));
}

/* Writes thousandths of a unit as a decimal: 1500 is written as 1.5. */
static inline void hr__out_milli(struct hr__out *out, uint64_t value) {
  hr__out_to(out, hr__put_thousandths(hr__out_room(out, HR__NUMBER_BYTES), (int64_t)value));
}

void hr__out_bytes(struct hr__out *out, const char *bytes, size_t count);
static inline void hr__out_text(struct hr__out *out, const char *text) {
  hr__out_bytes(out, text, strlen(text));
}

/* Writes a JSON string with its quotes. A text that is not valid UTF-8 is read as Latin-1. */
void hr__out_json_text(struct hr__out *out, const char *text);

/* ---- Buffered writers: CSV (RFC 4180) -------------------------------------------------------------- */

struct hr__csv_out {
  struct hr__out out;
  bool within_row; /* the current row already has a field, so a comma must precede the next field */
};

/* Opens a file and writes `header` as its first row, unless `header` is NULL. */
enum hr_status hr__csv_open(struct hr__csv_out *csv, const char *path, const char *header, struct hr_error *error);

/* Commits the file as hr__out_commit does. */
static inline enum hr_status hr__csv_commit(struct hr__csv_out *csv, struct hr_error *error) {
  return hr__out_commit(&csv->out, error);
}

/* Discards the file as hr__out_abandon does. */
static inline void hr__csv_abandon(struct hr__csv_out *csv) {
  hr__out_abandon(&csv->out);
}

/* Begins a field. Append its text with hr__csv_part. */
static inline void hr__csv_begin_field(struct hr__csv_out *csv) {
  if (csv->within_row) hr__out_byte(&csv->out, ',');
  csv->within_row = true;
}

static inline void hr__csv_end_row(struct hr__csv_out *csv) {
  hr__out_byte(&csv->out, '\n');
  csv->within_row = false;
}

/* Writes an empty field. */
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

/* Writes millionths of a unit as a decimal. */
static inline void hr__csv_millionths(struct hr__csv_out *csv, int64_t value) {
  hr__csv_begin_field(csv);
  hr__out_millionths(&csv->out, value);
}

/* Writes microseconds as seconds. */
static inline void hr__csv_seconds(struct hr__csv_out *csv, int64_t us) {
  hr__csv_millionths(csv, us);
}

/* Writes micro-dollars as dollars with six decimals. */
static inline void hr__csv_usd(struct hr__csv_out *csv, int64_t uusd) {
  hr__csv_begin_field(csv);
  hr__out_to(&csv->out, hr__put_usd(hr__out_room(&csv->out, HR__NUMBER_BYTES), uusd));
}

/* Writes milli-GPUs as GPUs. */
static inline void hr__csv_milli(struct hr__csv_out *csv, uint64_t milli) {
  hr__csv_begin_field(csv);
  hr__out_milli(&csv->out, milli);
}

/* Writes a text, with quotes if it contains a comma, a quote or a line break. NULL is written as an empty field.
   Spreadsheets evaluate some texts as formulas, so that a name in the input could become a command. Such a text begins
   with '=', '+', '-', '@', a tab or a carriage return, has more characters after this one, and is not a number. An
   apostrophe is written before it. */
void hr__csv_text(struct hr__csv_out *csv, const char *text);

/* Appends a text to the current field. The text must not contain commas, quotes or line breaks. */
static inline void hr__csv_part(struct hr__csv_out *csv, const char *text) {
  hr__out_text(&csv->out, text);
}

#endif
