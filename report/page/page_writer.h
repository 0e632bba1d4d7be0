/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_WRITER_H
#define HR_REPORT_PAGE_PAGE_WRITER_H

/* Writer of JSON inside an HTML element. `<` is escaped in strings, so that no text can end the element. Keys are NULL
   within arrays. */

#include "base/writers.h"

#include <stdlib.h>

struct hr__page_json {
  struct hr__out *out;
  bool more;   /* a value was written at this level */
  bool failed; /* out of memory */
};

/* Writes the comma and the key that precede a value. */
void hr__page_begin_value(struct hr__page_json *json, const char *key);

/* Begin and end an object or an array; `bracket` is the character to write. */
static inline void hr__page_open(struct hr__page_json *json, const char *key, char bracket) {
  hr__page_begin_value(json, key);
  hr__out_byte(json->out, bracket);
  json->more = false;
}
static inline void hr__page_close(struct hr__page_json *json, char bracket) {
  hr__out_byte(json->out, bracket);
  json->more = true;
}

void hr__page_text(struct hr__page_json *json, const char *key,
                   const char *text); /* converted to UTF-8; null for NULL */
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
/* Writes at most six significant digits; null if not finite. */
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

/* A binary block next to the document: numbers in little-endian order, compressed by zlib, written in base64. */

struct hr__page_block {
  unsigned char *bytes;
  size_t size, capacity;
  bool failed; /* out of memory */
};

static inline void hr__page_block_finish(struct hr__page_block *block) {
  free(block->bytes);
  *block = (struct hr__page_block){0};
}
/* Reserves space for `bytes` more bytes; returns NULL if out of memory. The caller writes them and increases `size`. */
unsigned char *hr__page_block_room(struct hr__page_block *block, size_t bytes);
/* Appends bytes. */
void hr__page_block_add(struct hr__page_block *block, const void *bytes, size_t count);
/* Writes the element "block-NAME". Returns HR_NO_MEMORY on failure. */
enum hr_status hr__page_block_write(const struct hr__page_block *block, struct hr__out *out, const char *name);

/* A column of integers; its storage type depends on the values. */
struct hr__page_column {
  const char *name;
  const int64_t *values; /* [n] */
  double scale;          /* factor of the values, 1 for none */
  bool delta;            /* store differences between consecutive values, for mostly ascending values */
};
/* Appends a column to a block, and its description to an array of the document. */
void hr__page_column_put(struct hr__page_block *block, struct hr__page_json *json, const struct hr__page_column *column,
                         size_t n);

#endif
