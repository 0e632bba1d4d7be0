/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CATALOG_CATALOG_TABLES_H
#define HR_SCENARIOS_CATALOG_CATALOG_TABLES_H

/* The tables of the catalogue: the reader of CSV tables, columns, built-in rows, and the check of names. */

#include "base/containers.h"
#include "headroom/base.h"
#include "headroom/trace_files.h"
#include "headroom/unstable/catalog.h"

#include <string.h>

/* ---- Tables ----------------------------------------------------------------------------------------- */

/* Reads CSV tables with a header into arrays of structs. Columns are identified by name and may be in any order. A row
   replaces a row of an earlier file with the same key. In one file, a key may occur only once. */

/* Kinds of cells, with the type of the member in which the value is stored. */
enum hr__table_cell {
  HR__CELL_TEXT,   /* const char *: interned; one of `words` unless `words` is NULL */
  HR__CELL_DATE,   /* const char *: a year, a month or a day, such as "2026-07"; interned */
  HR__CELL_WORD,   /* an enum: the index of the text in `words` */
  HR__CELL_NUMBER, /* double */
  HR__CELL_MICROS, /* int64_t: the number in millionths, rounded half up */
  HR__CELL_STATUS, /* const char *: reliability of the figures ("quoted", "derived", ...); "stated" if empty */
  HR__CELL_SOURCE  /* const char *: source of the figures; the path of the file if empty */
};

/* A column of a table. */
struct hr__table_column {
  const char *name;
  enum hr__table_cell cell;
  size_t offset; /* offset of the member in the draft */
  bool key;      /* the column is part of the key of a row */
  /* the column may be missing, or its cells empty; depending on the kind of cell, the value is then "" (text),
     HR_UNKNOWN_NUMBER (number), 0 (millionths) or the first of `words` (enum) */
  bool optional;
  double min, max;          /* bounds of numbers and millionths */
  const char *const *words; /* allowed texts, NULL-terminated; NULL: any text */
};

/* The columns of a table and the conversion of its rows. */
struct hr__table_format {
  const char *name; /* name of the built-in table, for messages */
  const struct hr__table_column *columns;
  size_t n_columns;
  size_t row_bytes; /* size of a row */
  /* size of a draft, at most HR__MAX_DRAFT; a draft is a row followed by the cells from which `finish` computes it */
  size_t draft_bytes;
  /* gets a draft with the values of all cells. Checks it, and computes the members of the row that are not cells.
     Returns NULL, or the text of an error. `finish` is NULL if there is nothing to check or compute. */
  const char *(*finish)(void *row);
};

enum { HR__MAX_DRAFT = 512, HR__MAX_COLUMNS = 32 };

/* A table. It may consist of rows of several files. */
struct hr__table {
  const struct hr__table_format *format;
  void *rows;     /* [count] rows of format->row_bytes */
  uint32_t *line; /* [count] line of each row in the last file that was added; 0: the row is not in that file */
  uint32_t count, capacity;
  struct hr__hash by_key; /* index of the rows by the hash of their keys */
};

/* The text of a CSV file in memory. */
struct hr__table_text {
  const char *path; /* path for messages */
  const char *bytes;
  size_t size;
};

/* Adds the rows of a text. The strings of rows belong to `names`. Errors: HR_BAD_INPUT with the line and, for a cell,
   the name of its column; HR_NO_MEMORY; HR_INTERNAL. After an error, the table may have some of the rows. */
enum hr_status hr__table_add(struct hr__table *table, const struct hr__table_text *text, struct hr__name_table *names,
                             struct hr_error *error);
/* Adds the rows of a file (plain, gzip or zstd). The decoded file may have at most 64 MiB. The strings of rows belong
   to `names`. Errors: those of hr__table_add(), or the status of reading the file. */
enum hr_status hr__table_add_file(struct hr__table *table, const char *path, struct hr__name_table *names,
                                  struct hr_error *error);
/* Frees the rows of the table. It is then empty and has the same format. */
void hr__table_finish(struct hr__table *table);

/* ---- The catalogue ---------------------------------------------------------------------------------- */

/* The tables. Each has a built-in CSV file of the same name. */
enum hr__catalog_table {
#define HR__CATALOG_ID(id, ...) HR__CATALOG_##id,
  HR_CATALOG_TABLES(HR__CATALOG_ID)
#undef HR__CATALOG_ID
      HR__N_CATALOG_TABLES
};

/* The columns of each table. */
extern const struct hr__table_format hr__catalog_formats[HR__N_CATALOG_TABLES];

/* The bytes of the CSV files. embed.cmake generates them. */
#define HR__EMBEDDED(id, name, ...)                                                                                    \
  extern const unsigned char hr__catalog_##name[];                                                                     \
  extern const size_t hr__catalog_##name##_size;
HR_CATALOG_TABLES(HR__EMBEDDED)
#undef HR__EMBEDDED

/* Returns true if the name is "*", which means all providers, regions or GPU types. */
static inline bool hr__catalog_is_any(const char *name) {
  return strcmp(name, "*") == 0;
}

/* Returns true if the date of a row is not later than the date `as_of`. The dates are compared at the precision of
   `as_of`: if `as_of` is a year, rows of all months of this year are valid. If `as_of` is NULL or "", rows of all dates
   are valid. */
static inline bool hr__catalog_is_valid_at(const char *row_as_of, const char *as_of) {
  return !as_of || strncmp(row_as_of, as_of, strlen(as_of)) <= 0;
}

/* Reports that "WHAT 'word' is unknown". The message has the similar names of `known`, or the first names if none is
   similar. `known` is NULL-terminated and may have duplicates. Returns HR_BAD_INPUT. */
enum hr_status hr__catalog_unknown(struct hr_error *error, const char *what, const char *word,
                                   const char *const *known);

/* Checks the name of a GPU type. Returns
   - HR_BAD_INPUT if the name is not a type of the catalogue, but means several of its types, or is an abbreviation of
     the name of a type or similar to one;
   - HR_NO_MEMORY;
   - HR_OK for types of the catalogue and for all other names. */
enum hr_status hr__catalog_check_spelling_gpu(const struct hr_catalog *catalog, const char *name,
                                              struct hr_error *error);
/* Checks the name of a region of a provider in the same way: HR_BAD_INPUT if the region is unknown and looks like a
   misspelt known region; HR_NO_MEMORY; HR_OK for all other names. */
enum hr_status hr__catalog_check_spelling_region(const struct hr_catalog *catalog, const char *provider,
                                                 const char *region, struct hr_error *error);

#endif
