/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CSV_CSV_H
#define HR_TRACES_CSV_CSV_H

/* CSV files: blocks of rows, rows as structs, and the columns of Headroom's own format. */

#include "traces/core/fields.h"
#include "traces/core/reader.h"

/* ---- Blocks ---------------------------------------------------------------------------------------- */

/* Splits a CSV file into rows and fields with libcsv, block by block. If a file has more than one block, a second
   thread makes the later blocks while the caller processes earlier blocks. */

/* A row of a block. Its fields are fields first_field .. first_field + n_fields - 1 of the block. */
struct hr__csv_row {
  uint64_t line; /* line on which the row begins */
  uint32_t first_field, n_fields;
  bool cut_off; /* the file ends in this row, without a line end */
};

/* A part of the file that consists of whole rows. */
struct hr__csv_block {
  struct hr__csv_row *rows;
  size_t n_rows;
  uint32_t *bound; /* offsets in `bytes`: field i consists of bytes [bound[i], bound[i + 1]) */
  size_t n_fields;
  char *bytes;
  size_t n_bytes;
  uint32_t rows_capacity, bounds_capacity, bytes_capacity;
  enum hr_status status; /* HR_OK, or the error that follows the rows of this block */
  bool last;             /* true: no block follows */
  struct hr_error error;
};

struct hr__csv_blocks;
/* Begins to split a file whose first rows were read line by line. `line` is the line that was read last from `input`,
   with its line end; it is copied, and the blocks begin with it. The caller must not use `input` until the blocks are
   closed. `path` is for messages. Blank lines are skipped. Fields are separated by commas and may be quoted. A line
   that begins with `#` is a row. Returns NULL if out of memory. */
struct hr__csv_blocks *hr__csv_blocks_resume(struct hr__input *input, const char *path, struct hr_text line);
/* Sets `*block` to the next block, which is valid until the next call; NULL at the end of the file. If reading fails,
   this call returns HR_OK and the block contains the rows before the error. The next call returns the error. */
enum hr_status hr__csv_blocks_next(struct hr__csv_blocks *blocks, const struct hr__csv_block **block,
                                   struct hr_error *error);
/* Stops the thread and frees the blocks. `input` is not closed. NULL is allowed. */
void hr__csv_blocks_close(struct hr__csv_blocks *blocks);

/* ---- Rows ------------------------------------------------------------------------------------------ */

/* Reads the rows of a CSV file into structs. A schema lists the columns. The columns of the file may be in any
   order. */

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
  /* receives each valid row; `line` is its first line. Any result except HR_OK ends reading */
  enum hr_status (*on_row)(void *self, const void *row, uint64_t line);
  void *self; /* first argument of on_row */
};

/* The members of a schema that every format sets: the array of columns, a row, a row with all fields unknown, and the
   function that receives each row. */
#define HR__CSV_ROWS(table, row_, blank, function, self_)                                                              \
  .columns = table, .n_columns = sizeof(table) / sizeof *(table), .row = &(row_), .blank_row = &(blank),               \
  .row_bytes = sizeof(row_), .on_row = function, .self = self_

/* Reads all rows of `reader->input` and calls on_row() for each valid row. Other rows are bad rows
   (hr__reader_bad_row). Blank lines are skipped, and so are lines before the first row that begin with `#`. Sets
   reader->dated, and adds notes on unknown columns and on dates without a zone. Returns HR_BAD_INPUT if the file has no
   rows, lacks a column that must exist, or is malformed. Errors are written to reader->error. */
enum hr_status hr__csv_read_rows(struct hr__reader *reader, const struct hr__csv_schema *schema);

/* ---- Headroom's format (formats/headroom_csv.c) ---------------------------------------------------- */

/* The columns of Headroom's own CSV, generated from the table in headroom/job_fields.h. Readers, writers and column
   maps use them. */

/* HR__FIELDS expands to HR__FIELD(key, column, kind, required, filled, member) for each field, in the order of the
   table. Users define HR__FIELD. `required`: the column must exist. `filled`: each row must have a value if the column
   exists. `member`: a member of struct hr_job_record. */
#define HR__FIELDS HR_JOB_CSV_TABLE(HR__ID_FIELD, HR__VALUE_FIELD, HR__NAME_FIELD, HR__FLAG_FIELD)
#define HR__ID_FIELD(key, column, ...) HR__FIELD(key, column, TEXT, false, true, id)
#define HR__VALUE_FIELD(id, member, type, record_type, kind, key, column, required, ...)                               \
  HR__FIELD(key, column, kind, required, required, member)
#define HR__NAME_FIELD(id, member, kind, key, column, ...) HR__FIELD(key, column, kind, false, false, member)
#define HR__FLAG_FIELD(kind, key, column, ...) HR__FIELD(key, column, kind, false, false, flags)

enum {
#define HR__FIELD(...) +1
  HR__N_FIELDS = HR__FIELDS
#undef HR__FIELD
};

/* The columns, in the order of the table. */
extern const struct hr__csv_column hr__fields[HR__N_FIELDS];

/* Reads jobs from a CSV file. `reader->map` assigns columns to fields. Fields that are not in the map are read from the
   columns with the names of hr__fields. */
extern const struct hr__format_reader hr__csv_reader;

#endif
