/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_READER_H
#define HR_TRACES_CORE_READER_H

/* What the readers of all formats share: where rows come from, where jobs go, what happens to a bad row. */

#include "base/text.h"
#include "traces/core/builder.h"
#include "traces/core/input.h"

struct hr__reader {
  const char *path;
  struct hr__input *input;
  struct hr_trace_builder *builder; /* NULL when the rows are not jobs */
  struct hr_notes *notes;
  const struct hr_column_map *map; /* may be NULL */
  const char *params;              /* what was said behind the format's name; NULL: nothing */
  bool lenient;
  bool dated;           /* set by a reader whose instants are dates */
  uint64_t n_fractions; /* jobs that ask for a fraction of a GPU */
  struct hr_error *error;
  bool untimed; /* rows need not tell when */
};

/* What is wrong with a row: a field (named by its column, with its value, if it is not empty) or, without a column, the
   row itself, `fault` then being a whole sentence. In JSON the row is an item, and the column the path inside it. */
struct hr__row_fault {
  uint64_t line;
  const char *item; /* "items[3]"; NULL in a table */
  const char *column;
  struct hr_text value;
  const char *fault;  /* to be read after "is"; constant, as bad rows are counted by it */
  const char *detail; /* of a row without a column: more about this very row, or NULL */
};

/* HR_BAD_INPUT with the error written, or HR_OK with the row counted when reading is lenient. */
enum hr_status hr__reader_bad_row(struct hr__reader *reader, const struct hr__row_fault *row);
/* Leaves out what is no fault and yet no job to replay, such as one that was still running: counted by the reason, a
   constant sentence. */
enum hr_status hr__reader_leave_out(const struct hr__reader *reader, const char *reason, uint64_t line);
/* What is said of one and of many: "job was", "jobs were", " tried more than once". */
struct hr__count_words {
  const char *one, *many, *rest;
};
/* A note that begins with the count; none when it is 0. */
enum hr_status hr__reader_note_count(const struct hr__reader *reader, uint64_t count, struct hr__count_words words);
enum hr_status hr__reader_note(const struct hr__reader *reader, const char *text);
/* Adds the job if it makes sense, else it is a bad row. */
enum hr_status hr__reader_add(struct hr__reader *reader, const struct hr_job_record *job, uint64_t line);
enum hr_status hr__reader_no_memory(const struct hr__reader *reader);

#endif
