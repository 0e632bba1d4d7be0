/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CSV_CSV_BLOCKS_H
#define HR_TRACES_CSV_CSV_BLOCKS_H

/* A CSV file's rows, split into fields by libcsv, block by block. A file of more than one block is split in a thread of
   its own while the blocks before are worked on. */

#include "traces/core/input.h"

struct hr__csv_row {
  uint64_t line; /* where it begins */
  uint32_t first_field, n_fields;
  bool cut_off; /* the file ends in it, without a line end */
};

struct hr__csv_block {
  struct hr__csv_row *rows;
  size_t n_rows, rows_capacity;
  uint32_t *bound; /* in `bytes`: field i is [bound[i], bound[i + 1]) */
  size_t n_fields, bounds_capacity;
  char *bytes;
  size_t n_bytes, bytes_capacity;
  enum hr_status status; /* what comes after the rows */
  bool last;
  struct hr_error error;
};

struct hr__csv_blocks;
/* The rows from where `input` stands; nobody else may touch it until the blocks are closed. `path` is for messages.
   Blank lines are skipped, and those that begin with `#` before the first row. `separator`: between fields, which may
   be quoted unless they are `unquoted`. NULL: out of memory. */
struct hr__csv_blocks *hr__csv_blocks_open(struct hr__input *input, const char *path, char separator, bool unquoted);
/* The next block, valid until the next call; `*block` is NULL at the file's end. What is wrong with the file is told
   after the block of rows before it. */
enum hr_status hr__csv_blocks_next(struct hr__csv_blocks *blocks, const struct hr__csv_block **block,
                                   struct hr_error *error);
void hr__csv_blocks_close(struct hr__csv_blocks *blocks);

#endif
