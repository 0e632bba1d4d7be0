/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CSV_CSV_BLOCKS_H
#define HR_TRACES_CSV_CSV_BLOCKS_H

/* Splits a CSV file into rows and fields with libcsv, block by block. Files of more than one block are split in a
   second thread while the caller processes earlier blocks. */

#include "traces/core/input.h"

struct hr__csv_row {
  uint64_t line; /* on which the row begins */
  uint32_t first_field, n_fields;
  bool cut_off; /* the file ends within the row, without a line end */
};

struct hr__csv_block {
  struct hr__csv_row *rows;
  size_t n_rows, rows_capacity;
  uint32_t *bound; /* offsets in `bytes`: field i is [bound[i], bound[i + 1]) */
  size_t n_fields, bounds_capacity;
  char *bytes;
  size_t n_bytes, bytes_capacity;
  enum hr_status status; /* result of reading after these rows */
  bool last;
  struct hr_error error;
};

struct hr__csv_blocks;
/* Starts at the current position of `input`, which only the blocks may use until they are closed. `path` is for
   messages. Skips blank lines, and lines that begin with `#` before the first row. `separator` separates fields,
   which may be quoted unless `unquoted` is set. Returns NULL if out of memory. */
struct hr__csv_blocks *hr__csv_blocks_open(struct hr__input *input, const char *path, char separator, bool unquoted);
/* Returns the next block, valid until the next call; `*block` is NULL at the end of the file. An error in the file is
   returned after the rows before it. */
enum hr_status hr__csv_blocks_next(struct hr__csv_blocks *blocks, const struct hr__csv_block **block,
                                   struct hr_error *error);
void hr__csv_blocks_close(struct hr__csv_blocks *blocks);

#endif
