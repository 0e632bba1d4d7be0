/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CSV_CSV_ROWS_H
#define HR_TRACES_CSV_CSV_ROWS_H

/* CSV with a header: the columns that a schema asks for, in any order, row by row as a struct. */

#include "traces/core/reader.h"
#include "traces/core/values.h"

struct hr__csv_column {
  const char *name;  /* in the header */
  const char *field; /* its key in a column map; NULL where the format is fixed */
  enum hr__kind kind;
  bool must_exist; /* in the header */
  bool must_fill;  /* in each row, if it exists */
  size_t offset;   /* of the member in the row */
  uint64_t unit_us;
};

struct hr__csv_schema {
  const struct hr__csv_column *columns;
  size_t n_columns;
  const char *const *ignored; /* columns that are known and not used, NULL-terminated */
  const char *const *header;  /* the columns of a table without a header row, NULL-terminated; NULL: it has one */
  char separator;             /* between fields; 0: a comma */
  bool unquoted;              /* a quote is a character like others */
  const char *missing_hint;   /* said when a column is missing; NULL: how to name it in a column map */
  void *row;                  /* where a row is put, row_bytes long */
  const void *blank_row;      /* a row of which nothing is known */
  size_t row_bytes;
  enum hr_status (*on_row)(void *self, const void *row, uint64_t line);
  void *self;
};

/* Lines before the header that are blank or begin with `#` are skipped. */
enum hr_status hr__csv_read_rows(struct hr__reader *reader, const struct hr__csv_schema *schema);

#endif
