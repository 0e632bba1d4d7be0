/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_WRITER_H
#define HR_REPORT_PAGE_PAGE_WRITER_H

/* JSON written as it comes into an HTML element: no `<` stands in it, so that no text can end the element. Keys are
   NULL within lists. */

#include "base/writers.h"

#include <stdlib.h>

struct hr__page_json {
  struct hr__out *out;
  bool more;   /* a value stands before the next one */
  bool failed; /* memory ran out */
};

void hr__page_begin_value(struct hr__page_json *json, const char *key);

/* `bracket`: the one that opens, or closes, an object or a list. */
static inline void hr__page_open(struct hr__page_json *json, const char *key, char bracket) {
  hr__page_begin_value(json, key);
  hr__out_byte(json->out, bracket);
  json->more = false;
}
static inline void hr__page_close(struct hr__page_json *json, char bracket) {
  hr__out_byte(json->out, bracket);
  json->more = true;
}

void hr__page_text(struct hr__page_json *json, const char *key, const char *text); /* made UTF-8; null for NULL */
static inline void hr__page_count(struct hr__page_json *json, const char *key, uint64_t count) {
  hr__page_begin_value(json, key);
  hr__out_u64(json->out, count);
}
static inline void hr__page_bool(struct hr__page_json *json, const char *key, bool value) {
  hr__page_begin_value(json, key);
  hr__out_text(json->out, value ? "true" : "false");
}
static inline void hr__page_null(struct hr__page_json *json, const char *key) {
  hr__page_begin_value(json, key);
  hr__out_text(json->out, "null");
}
/* In at most six significant digits; null for what is not finite. */
void hr__page_number(struct hr__page_json *json, const char *key, double value);
/* To the microsecond, in seconds; to the micro-dollar, in dollars. */
static inline void hr__page_seconds(struct hr__page_json *json, const char *key, int64_t us) {
  hr__page_begin_value(json, key);
  hr__out_millionths(json->out, us);
}
static inline void hr__page_usd(struct hr__page_json *json, const char *key, int64_t uusd) {
  hr__page_begin_value(json, key);
  hr__out_millionths(json->out, uusd);
}

/* A number in at most six significant digits, without a NUL; returns where it stopped. `value` is finite. */
char *hr__put_significant(char *at, double value);

/* Bytes beside the document: many numbers of one kind, little-endian, packed by zlib and written in base64. */

struct hr__page_block {
  unsigned char *bytes;
  size_t size, capacity;
  bool failed; /* memory ran out */
};

static inline void hr__page_block_finish(struct hr__page_block *block) {
  free(block->bytes);
  *block = (struct hr__page_block){0};
}
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
