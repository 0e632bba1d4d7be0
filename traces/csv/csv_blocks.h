/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CSV_CSV_BLOCKS_H
#define HR_TRACES_CSV_CSV_BLOCKS_H

/* Splits a CSV file into rows and fields with libcsv, block by block. If a file has more than one block, a second
   thread splits it while the caller processes earlier blocks. */

#include "traces/core/input.h"

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
/* Begins to split a file at the current position of `input`. The caller must not use `input` until the blocks are
   closed. `path` is for messages. Blank lines are skipped, as are lines before the first row that begin with `#`.
   `separator` separates fields. Fields may be quoted unless `unquoted` is set. Returns NULL if out of memory. */
struct hr__csv_blocks *hr__csv_blocks_open(struct hr__input *input, const char *path, char separator, bool unquoted);
/* Returns the next block, which is valid until the next call. At the end of the file `*block` is NULL. If reading
   fails, the rows before the error are returned first, and the next call returns the error. */
enum hr_status hr__csv_blocks_next(struct hr__csv_blocks *blocks, const struct hr__csv_block **block,
                                   struct hr_error *error);
/* Stops the thread and frees the blocks. `input` is not closed. NULL is allowed. */
void hr__csv_blocks_close(struct hr__csv_blocks *blocks);

#endif
