/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CSV_CSV_ROWS_H
#define HR_TRACES_CSV_CSV_ROWS_H

/* Reads the rows of a CSV file into structs. A schema lists the columns. The columns of the file may be in any
   order. */

#include "traces/core/reader.h"
#include "traces/core/values.h"

/* A column of a schema. */
struct hr__csv_column {
  const char *name;  /* name in the header */
  const char *field; /* key in a column map; NULL if the format is fixed */
  enum hr__kind kind;
  bool must_exist;  /* the column must exist in the header */
  bool must_fill;   /* each row must have a value if the column exists */
  size_t offset;    /* offset of the member in the struct of a row */
  uint64_t unit_us; /* microseconds per unit of a plain number, for times and durations */
};

/* The columns of a file, and the destination of its rows. */
struct hr__csv_schema {
  const struct hr__csv_column *columns;
  size_t n_columns;
  const char *const *ignored; /* names of columns that are known but not used, NULL-terminated */
  /* columns of a table without a header row, NULL-terminated; NULL: the table has a header */
  const char *const *header;
  char separator;           /* field separator; 0: comma */
  bool unquoted;            /* quotes are ordinary characters */
  const char *missing_hint; /* hint in the error on missing columns; NULL: the error explains --map */
  void *row;                /* destination of each row; row_bytes long */
  const void *blank_row;    /* a row with all fields unknown */
  size_t row_bytes;
  enum hr_status (*on_row)(void *self, const void *row, uint64_t line);
  void *self;
};

/* The members of a schema that every format sets: the array of columns, a row, a row with all fields unknown, and the
   function that receives each row. */
#define HR__CSV_ROWS(table, row_, blank, function, self_)                                                              \
  .columns = table, .n_columns = sizeof(table) / sizeof *(table), .row = &(row_), .blank_row = &(blank),               \
  .row_bytes = sizeof(row_), .on_row = function, .self = self_

/* Reads all rows and calls on_row() for each valid row. Lines before the header are skipped if they are blank or
   begin with `#`. Errors are written to reader->error. */
enum hr_status hr__csv_read_rows(struct hr__reader *reader, const struct hr__csv_schema *schema);

#endif
