/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole files as text. */

#include "base/file_text.h"

#include "base/array.h"

enum { MIN_READ = 4096 };

char *hr__file_text(FILE *file, size_t max_bytes, size_t *length) {
  char *text = NULL;
  uint32_t capacity = 0;
  *length = 0;
  do {
    if (!HR__ARRAY_HAS_ROOM_FOR(text, *length + MIN_READ, capacity)) {
      free(text);
      return NULL;
    }
    *length += fread(text + *length, 1, capacity - *length - 1, file);
  } while (*length == capacity - 1 && *length <= max_bytes);
  text[*length] = '\0';
  return text;
}
