/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_WRITER_H
#define HR_REPORT_PAGE_PAGE_WRITER_H

/* Writes JSON inside an HTML element. `<` is escaped in strings, so that no text can end the element. `key` is the key
   of the value in an object, and NULL in an array. */

#include "base/writers.h"

#include <stdlib.h>

struct hr__page_json {
  struct hr__out *out;
  bool more;   /* the current object or array already has a value */
  bool failed; /* out of memory */
};

/* Writes the comma (if needed) and the key (if any) before a value. */
void hr__page_begin_value(struct hr__page_json *json, const char *key);

/* Begin and end an object or an array. `bracket` is the bracket or brace to write. */
static inline void hr__page_open(struct hr__page_json *json, const char *key, char bracket) {
  hr__page_begin_value(json, key);
  hr__out_byte(json->out, bracket);
  json->more = false;
}
static inline void hr__page_close(struct hr__page_json *json, char bracket) {
  hr__out_byte(json->out, bracket);
  json->more = true;
}

/* The maximum length of texts in bytes. A longer text is cut and ends with "...". */
enum { HR__PAGE_NAME_BYTES = 100, HR__PAGE_JSON_BYTES = 1000, HR__PAGE_TEXT_BYTES = 10000 };

/* Returns how many bytes of a UTF-8 text are written if at most `max` may be. Characters are not divided. */
size_t hr__page_cut(const char *text, size_t max);
/* Write a text, converted to UTF-8; NULL is written as null. hr__page_name is for names from the input, of which a page
   may have very many. */
void hr__page_text(struct hr__page_json *json, const char *key, const char *text);
void hr__page_name(struct hr__page_json *json, const char *key, const char *text);
/* Writes a value that is already JSON text; writes null if `text` is NULL. Strings in it are limited to
   HR__PAGE_JSON_BYTES. */
void hr__page_json_text(struct hr__page_json *json, const char *key, const char *text);
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
/* Writes a number with at most six significant digits; null if it is not finite. */
void hr__page_number(struct hr__page_json *json, const char *key, double value);
/* Writes microseconds as seconds. */
static inline void hr__page_seconds(struct hr__page_json *json, const char *key, int64_t us) {
  hr__page_begin_value(json, key);
  hr__out_millionths(json->out, us);
}
/* Writes micro-dollars as dollars. */
static inline void hr__page_usd(struct hr__page_json *json, const char *key, int64_t uusd) {
  hr__page_begin_value(json, key);
  hr__out_millionths(json->out, uusd);
}

/* A binary block next to the document. It contains numbers in little-endian order. It is compressed with zlib and
   written in base64. */

struct hr__page_block {
  unsigned char *bytes;
  size_t size;
  uint32_t capacity;
  bool failed; /* out of memory */
};

static inline void hr__page_block_finish(struct hr__page_block *block) {
  free(block->bytes);
  *block = (struct hr__page_block){0};
}
/* Returns a pointer to space for `bytes` bytes at the end of the block; NULL if out of memory. The caller writes the
   bytes and increases `size`. */
unsigned char *hr__page_block_room(struct hr__page_block *block, size_t bytes);
/* Appends bytes; sets `failed` if out of memory. */
void hr__page_block_add(struct hr__page_block *block, const void *bytes, size_t count);
/* Writes the block as an HTML element with the id "block-NAME". Returns HR_NO_MEMORY if out of memory. */
enum hr_status hr__page_block_write(const struct hr__page_block *block, struct hr__out *out, const char *name);

/* A column of integers. The type in which they are stored depends on the values. */
struct hr__page_column {
  const char *name;
  const int64_t *values; /* [n] */
  double scale;          /* factor by which the reader multiplies the values; 1: none */
  bool delta;            /* store differences between consecutive values, which are small if these values are similar */
};
/* Appends a column to a block and its description to the current array of the document. */
void hr__page_column_put(struct hr__page_block *block, struct hr__page_json *json, const struct hr__page_column *column,
                         size_t n);

#endif
