/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_WRITER_H
#define HR_REPORT_PAGE_PAGE_WRITER_H

/* JSON written as it comes into an HTML element: no `<` stands in it, so that no text can end the element. Keys are
   NULL within lists. */

#include "base/writers.h"

struct hr__page_json {
  struct hr__out *out;
  bool more;   /* a value stands before the next one */
  bool failed; /* memory ran out */
};

/* `bracket`: the one that opens, or closes, an object or a list. */
void hr__page_open(struct hr__page_json *json, const char *key, char bracket);
void hr__page_close(struct hr__page_json *json, char bracket);

void hr__page_text(struct hr__page_json *json, const char *key, const char *text); /* made UTF-8; null for NULL */
void hr__page_count(struct hr__page_json *json, const char *key, uint64_t count);
void hr__page_bool(struct hr__page_json *json, const char *key, bool value);
void hr__page_null(struct hr__page_json *json, const char *key);
/* In at most six significant digits; null for what is not finite. */
void hr__page_number(struct hr__page_json *json, const char *key, double value);
/* To the microsecond, in seconds; to the micro-dollar, in dollars. */
void hr__page_seconds(struct hr__page_json *json, const char *key, int64_t us);
void hr__page_usd(struct hr__page_json *json, const char *key, int64_t uusd);
/* JSON that was made elsewhere; null for NULL. */
void hr__page_json_text(struct hr__page_json *json, const char *key, const char *text);
void hr__page_notes(struct hr__page_json *json, const struct hr_notes *notes);

/* A number in at most six significant digits, without a NUL; returns where it stopped. `value` is finite. */
char *hr__put_significant(char *at, double value);

/* Bytes beside the document: many numbers of one kind, little-endian, packed by zlib and written in base64. */

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
