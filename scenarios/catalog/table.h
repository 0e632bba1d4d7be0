/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CATALOG_TABLE_H
#define HR_SCENARIOS_CATALOG_TABLE_H

/* A CSV table with a header as an array of structs: columns in any order, found by name; rows of one key replace each
   other from file to file, and may not stand twice in one. */

#include "base/names.h"
#include "headroom/base.h"
#include "headroom/trace_files.h"

enum hr__replication {
  HR__CELL_TEXT,   /* const char *: interned; with `words`, one of them */
  HR__CELL_DATE,   /* const char *: a year, a month or a day */
  HR__CELL_WORD,   /* an enum: the place of the text in `words` */
  HR__CELL_NUMBER, /* double */
  HR__CELL_MICROS, /* int64_t: millionths, rounded half up */
  HR__CELL_STATUS, /* const char *: what kind of figures a row has; "stated" where it does not say */
  HR__CELL_SOURCE  /* const char *: the file's name where it does not say */
};

struct hr__table_column {
  const char *name;
  enum hr__replication cell;
  size_t offset;   /* in the draft */
  bool key;        /* tells a row from others */
  bool optional;   /* cells may be empty and the column may be missing: "", HR_UNKNOWN_NUMBER, 0, the first word */
  double min, max; /* of numbers and millionths */
  const char *const *words;
};

struct hr__table_format {
  const char *name; /* of the built-in table, in messages */
  const struct hr__table_column *columns;
  size_t n_columns;
  size_t row_bytes;
  size_t draft_bytes;               /* a row and, after it, what is read to make it; at most HR__LONGEST_DRAFT */
  const char *(*finish)(void *row); /* makes the row from the draft; what is wrong with it, or NULL. May be NULL */
};

enum { HR__LONGEST_DRAFT = 512, HR__MOST_COLUMNS = 32 };

struct hr__table {
  const struct hr__table_format *format;
  void *rows;
  uint32_t *line; /* of each row: where it stands in the file that was added last; 0: not in that file */
  uint32_t *slot; /* open addressing by key: number + 1, 0 for empty */
  uint32_t count, capacity, n_slots;
};

struct hr__table_text {
  const char *path; /* said in errors */
  const char *bytes;
  size_t size;
};

/* Adds the rows of a text; errors are HR_BAD_INPUT and name line and column. Texts of rows belong to `names`. */
enum hr_status hr__table_add(struct hr__table *table, const struct hr__table_text *text, struct hr__name_table *names,
                             struct hr_error *error);
/* Likewise of a file, plain, gzip or zstd. */
enum hr_status hr__table_add_file(struct hr__table *table, const char *path, struct hr__name_table *names,
                                  struct hr_error *error);
/* Whether a text is a day, a month or a year: 2026-07-20, 2026-07, 2026. */
bool hr__is_day_or_span(struct hr_text text);
void hr__table_finish(struct hr__table *table);

#endif
