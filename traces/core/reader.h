/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_READER_H
#define HR_TRACES_CORE_READER_H

/* State and error handling that the readers of all formats share: input, builder, bad rows, notes. */

#include "base/text.h"
#include "traces/core/builder.h"
#include "traces/core/input.h"

struct hr__reader {
  const char *path;
  struct hr__input *input;
  struct hr_trace_builder *builder; /* NULL if the rows are not jobs */
  struct hr_notes *notes;
  const struct hr_column_map *map; /* may be NULL */
  const char *params;              /* parameters after the format's name; NULL: none */
  bool lenient;
  bool dated;           /* set by a reader if times are dates */
  uint64_t n_fractions; /* jobs that request a fraction of a GPU */
  struct hr_error *error;
  bool without_times; /* times of rows are not required */
};

/* The reader of a format. Each is defined in the file that reads the format; formats.c lists them. */
struct hr__format_reader {
  /* Reads all rows from `reader->input` into `reader->builder`. */
  enum hr_status (*read)(struct hr__reader *reader);
  const char *missing; /* fields that its traces lack, which a note reports; NULL: none */
  bool has_params;     /* parameters may follow its name */
};

/* A fault of a row. With a column: the field of that column, with its value unless it is empty. Without a
   column: the row as a whole, `fault` being a complete sentence. In JSON the row is an item, and the column is the
   path inside it. */
struct hr__row_fault {
  uint64_t line;
  const char *item; /* such as "items[3]"; NULL in a table */
  const char *column;
  struct hr_text value;
  const char *fault;  /* completes "COLUMN: 'VALUE' is"; a constant, as bad rows are counted by it */
  const char *detail; /* details on a row without a column, or NULL */
};

static inline enum hr_status hr__reader_no_memory(const struct hr__reader *reader) {
  return hr_fail(reader->error, HR_NO_MEMORY, "%s: out of memory", reader->path);
}

/* Reports a bad row. Returns HR_BAD_INPUT with the error written, or HR_OK with the row counted if the reader is
   lenient. */
enum hr_status hr__reader_bad_row(struct hr__reader *reader, const struct hr__row_fault *row);
/* Skips a valid row that is not a job to replay, for example one that was still running. `reason` is a constant
   sentence under which rows are counted. */
static inline enum hr_status hr__reader_leave_out(const struct hr__reader *reader, const char *reason, uint64_t line) {
  enum hr_status status = hr_trace_builder_leave_out(reader->builder, reason, line);
  return status == HR_OK ? HR_OK : hr__reader_no_memory(reader);
}

/* A note in singular and plural: "job was", "jobs were", " tried more than once". */
struct hr__count_words {
  const char *one, *many, *rest;
};
/* Adds a note that begins with `count`; none if it is 0. */
enum hr_status hr__reader_note_count(const struct hr__reader *reader, uint64_t count, struct hr__count_words words);
/* Adds the job if it is valid; otherwise reports a bad row. */
enum hr_status hr__reader_add(struct hr__reader *reader, const struct hr_job_record *job, uint64_t line);

/* Parameter of a format, given after its name as in `azure-llm:decode=50,prefill=10000`: a whole number from `min` to
   `max`, or a text if `number` is NULL. Values that are not given are not changed. */
struct hr__reader_param {
  const char *key;
  uint64_t min, max;
  uint64_t *number;
  struct hr_text *text;
};

/* Parses `reader->params`; an unknown key is an error. */
enum hr_status hr__reader_params(const struct hr__reader *reader, const char *format,
                                 const struct hr__reader_param *params, size_t n_params);

#endif
