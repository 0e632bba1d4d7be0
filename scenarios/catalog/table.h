/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CATALOG_TABLE_H
#define HR_SCENARIOS_CATALOG_TABLE_H

/*
 * Reads CSV tables with a header into arrays of structs. Columns may be in any order and are found by name. A row
 * replaces the row with the same key of an earlier file; a key may occur only once in a file.
 */

#include "base/hash.h"
#include "base/names.h"
#include "headroom/base.h"
#include "headroom/trace_files.h"

enum hr__table_cell {
  HR__CELL_TEXT,   /* const char *: interned; if `words` is set, one of them */
  HR__CELL_DATE,   /* const char *: a year, a month or a day */
  HR__CELL_WORD,   /* an enum: the index of the text in `words` */
  HR__CELL_NUMBER, /* double */
  HR__CELL_MICROS, /* int64_t: millionths, rounded half up */
  HR__CELL_STATUS, /* const char *: kind of figures ("quoted", "derived", ...); "stated" if empty */
  HR__CELL_SOURCE  /* const char *: where the figures come from; the path of the file if empty */
};

struct hr__table_column {
  const char *name;
  enum hr__table_cell cell;
  size_t offset;   /* in the draft */
  bool key;        /* part of the key of a row */
  bool optional;   /* cells or the column may be missing: "", HR_UNKNOWN_NUMBER, 0, the first word */
  double min, max; /* of numbers and millionths */
  const char *const *words;
};

struct hr__table_format {
  const char *name; /* of the built-in table, in messages */
  const struct hr__table_column *columns;
  size_t n_columns;
  size_t row_bytes;
  size_t draft_bytes;               /* a row followed by auxiliary fields for `finish`; at most HR__MAX_DRAFT */
  const char *(*finish)(void *row); /* completes the row of a draft; an error text or NULL. May be NULL */
};

enum { HR__MAX_DRAFT = 512, HR__MAX_COLUMNS = 32 };

struct hr__table {
  const struct hr__table_format *format;
  void *rows;
  uint32_t *line; /* of each row: its line in the file added last; 0: not in that file */
  uint32_t count, capacity;
  struct hr__hash by_key; /* the rows by the hash of their keys */
};

struct hr__table_text {
  const char *path; /* for messages */
  const char *bytes;
  size_t size;
};

/* Adds the rows of a text. The strings of rows belong to `names`. Errors: HR_BAD_INPUT with line and column,
   HR_NO_MEMORY. */
enum hr_status hr__table_add(struct hr__table *table, const struct hr__table_text *text, struct hr__name_table *names,
                             struct hr_error *error);
/* As hr__table_add for a file, plain, gzip or zstd, of at most 64 MiB. */
enum hr_status hr__table_add_file(struct hr__table *table, const char *path, struct hr__name_table *names,
                                  struct hr_error *error);
/* Frees all but the format. */
void hr__table_finish(struct hr__table *table);

#endif
