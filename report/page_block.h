/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_BLOCK_H
#define HR_REPORT_PAGE_BLOCK_H

/* Bytes beside the document: many numbers of one kind, little-endian, packed by zlib and written in base64. */

#include "report/page_json.h"

struct hr__page_block {
  unsigned char *bytes;
  size_t size, capacity;
  bool failed; /* memory ran out */
};

void hr__page_block_finish(struct hr__page_block *block);
/* Room for so many bytes more; NULL when out of memory. What is put there counts once `size` says so. */
unsigned char *hr__page_block_room(struct hr__page_block *block, size_t bytes);
void hr__page_block_add(struct hr__page_block *block, const void *bytes, size_t count);
/* The element "block-NAME" of the page. */
enum hr_status hr__page_block_write(const struct hr__page_block *block, struct hr__out *out, const char *name);

/* A column of whole numbers: how they lie in a block is chosen by what they are. */
struct hr__page_column {
  const char *name;
  const int64_t *values; /* [n] */
  double scale;          /* what a value is to be multiplied with, 1 for none */
  bool delta;            /* keep differences to the value before, as the values rise for the most part */
};
/* Appends it to the block and its description to a list in the document. */
void hr__page_column_put(struct hr__page_block *block, struct hr__page_json *json, const struct hr__page_column *column,
                         size_t n);

#endif
