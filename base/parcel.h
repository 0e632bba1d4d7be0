/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_PARCEL_H
#define HR_BASE_PARCEL_H

/*
 * Values as bytes, for another process of the same program on a machine of the same kind. Numbers are copied as they
 * are in memory, so nothing is converted.
 *
 * The same code writes and reads: each function copies a value into the parcel or, if `reading` is set, out of it. A
 * function that passes every member of a structure to these functions therefore packs and unpacks the structure. When
 * memory is exhausted, `failed` is set, and all pointers that are read become NULL. The structure can then still be
 * freed.
 */

#include "base/array.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct hr__parcel {
  char *bytes;
  size_t used; /* number of bytes that were written or read so far */
  size_t size; /* reading: number of bytes; writing: number of allocated bytes */
  bool reading, failed;
};

static inline void hr__parcel_finish(struct hr__parcel *parcel) {
  free(parcel->bytes);
  *parcel = (struct hr__parcel){0};
}

/* Makes room for more bytes. Doubles the size, so that many small values are cheap. */
static inline bool hr__parcel_grow(struct hr__parcel *parcel, size_t count) {
  if (parcel->used + count <= parcel->size) return true;
  size_t size = 2 * (parcel->used + count);
  if (!HR__ARRAY_RESIZE(parcel->bytes, size)) return false;
  parcel->size = size;
  return true;
}

/* Copies `count` bytes. If this fails while reading, the bytes become 0. */
static inline void hr__parcel_bytes(struct hr__parcel *parcel, void *at, size_t count) {
  bool possible =
      !parcel->failed && (parcel->reading ? count <= parcel->size - parcel->used : hr__parcel_grow(parcel, count));
  if (!possible) {
    parcel->failed = true;
    if (parcel->reading && count) memset(at, 0, count);
    return;
  }
  if (count == 0) return;
  if (parcel->reading)
    memcpy(at, parcel->bytes + parcel->used, count);
  else
    memcpy(parcel->bytes + parcel->used, at, count);
  parcel->used += count;
}

/* Copies an array of `*count` elements of `bytes` bytes. Reading allocates the array, unless it is empty. On failure,
   `*count` becomes 0. Returns the array; NULL if it is empty. */
static inline void *hr__parcel_array(struct hr__parcel *parcel, void *array, size_t *count, size_t bytes) {
  if (*count == 0) return NULL;
  if (parcel->reading) {
    array = parcel->failed || *count > (parcel->size - parcel->used) / bytes ? NULL : calloc(*count, bytes);
    parcel->failed = parcel->failed || !array;
    if (!array) *count = 0;
  }
  hr__parcel_bytes(parcel, array, *count * bytes);
  return array;
}

/* Copies a text that is owned by its structure, or NULL. */
static inline void hr__parcel_text(struct hr__parcel *parcel, char **text) {
  size_t length = !parcel->reading && *text ? strlen(*text) + 1 : 0;
  hr__parcel_bytes(parcel, &length, sizeof length);
  if (parcel->reading && length == 0)
    *text = NULL;
  else if (length)
    *text = hr__parcel_array(parcel, *text, &length, 1);
}

#endif
