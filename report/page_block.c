/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A column begins at a multiple of 8 bytes, and has the narrowest type that holds all of its values, or of their
   differences; where 32 bits do not hold them it is of doubles, which are exact for all that a page shows. */

#include "report/page_block.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- Bytes ------------------------------------------------------------------------------------------ */

void hr__page_block_finish(struct hr__page_block *block) {
  free(block->bytes);
  *block = (struct hr__page_block){0};
}

unsigned char *hr__page_block_room(struct hr__page_block *block, size_t bytes) {
  size_t capacity = block->capacity ? block->capacity : 4096;
  while (capacity < block->size + bytes) capacity *= 2;
  if (capacity > block->capacity) {
    unsigned char *grown = realloc(block->bytes, capacity);
    if (!grown) {
      block->failed = true;
      return NULL;
    }
    block->bytes = grown;
    block->capacity = capacity;
  }
  return block->bytes + block->size;
}

void hr__page_block_add(struct hr__page_block *block, const void *bytes, size_t count) {
  unsigned char *room = hr__page_block_room(block, count);
  if (!room) return;
  if (count) memcpy(room, bytes, count);
  block->size += count;
}

static void put_base64(struct hr__out *out, const unsigned char *bytes, size_t count) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < count; i += 3) {
    size_t left = count - i;
    uint32_t group = (uint32_t)bytes[i] << 16;
    if (left > 1) group |= (uint32_t)bytes[i + 1] << 8;
    if (left > 2) group |= bytes[i + 2];
    char *at = hr__out_room(out, 4);
    at[0] = digits[group >> 18];
    at[1] = digits[group >> 12 & 63];
    at[2] = '=';
    at[3] = '=';
    if (left > 1) at[2] = digits[group >> 6 & 63];
    if (left > 2) at[3] = digits[group & 63];
    hr__out_to(out, at + 4);
  }
}

enum hr_status hr__page_block_write(const struct hr__page_block *block, struct hr__out *out, const char *name) {
  static const unsigned char nothing[1];
  enum { LEVEL = 6 };
  if (block->failed) return HR_NO_MEMORY;
  uLongf size = compressBound(block->size);
  unsigned char *packed = malloc(size);
  const unsigned char *bytes = block->bytes ? block->bytes : nothing;
  if (!packed || compress2(packed, &size, bytes, block->size, LEVEL) != Z_OK) {
    free(packed);
    return HR_NO_MEMORY;
  }
  hr__out_text(out, "<script type=\"application/x-headroom-block\" id=\"block-");
  hr__out_text(out, name);
  hr__out_text(out, "\">");
  put_base64(out, packed, size);
  hr__out_text(out, "</script>\n");
  free(packed);
  return HR_OK;
}

/* ---- Columns ---------------------------------------------------------------------------------------- */

enum type { U8, U16, I32, F64 };
static const struct {
  const char *name;
  size_t bytes;
} types[] = {[U8] = {"u8", 1}, [U16] = {"u16", 2}, [I32] = {"i32", 4}, [F64] = {"f64", 8}};

static int64_t value_at(const struct hr__page_column *column, size_t i) {
  return column->delta && i ? column->values[i] - column->values[i - 1] : column->values[i];
}

static enum type type_of(const struct hr__page_column *column, size_t n) {
  int64_t least = 0, most = 0;
  for (size_t i = 0; i < n; i++) {
    int64_t value = value_at(column, i);
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (least >= 0 && most <= UINT8_MAX) return U8;
  if (least >= 0 && most <= UINT16_MAX) return U16;
  return least >= INT32_MIN && most <= INT32_MAX ? I32 : F64;
}

/* Whatever the machine's own order of bytes. */
static void put_value(unsigned char *at, enum type type, int64_t value) {
  uint64_t bits = (uint64_t)value;
  if (type == F64) {
    double real = (double)value;
    memcpy(&bits, &real, sizeof bits);
  }
  for (size_t i = 0; i < types[type].bytes; i++) at[i] = (unsigned char)(bits >> 8 * i);
}

void hr__page_column_put(struct hr__page_block *block, struct hr__page_json *json, const struct hr__page_column *column,
                         size_t n) {
  static const unsigned char zeros[8];
  enum type type = type_of(column, n);
  hr__page_block_add(block, zeros, (8 - block->size % 8) % 8);
  size_t offset = block->size, bytes = types[type].bytes;
  unsigned char *at = hr__page_block_room(block, n * bytes);
  if (!at) return;
  for (size_t i = 0; i < n; i++) put_value(at + i * bytes, type, value_at(column, i));
  block->size += n * bytes;
  hr__page_open(json, NULL, '{');
  hr__page_text(json, "name", column->name);
  hr__page_text(json, "type", types[type].name);
  hr__page_text(json, "coding", column->delta ? "delta" : "plain");
  if (column->scale != 1) hr__page_number(json, "scale", column->scale);
  hr__page_count(json, "offset", offset);
  hr__page_count(json, "length", n);
  hr__page_close(json, '}');
}
