/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Interned strings: an array of texts and an array of their lengths, both indexed by the number of the text, and a hash
 * table of all texts. A trace reader looks up a name for each row and column. For speed, texts are hashed and compared
 * eight bytes at a time.
 */

#include "base/names.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* Returns the last bytes of a text as one integer. `length` is the number of these bytes, at most eight. Texts of equal
   length and with equal integers are equal. For texts of 4 to 7 bytes, the integer consists of the first 4 and the last
   4 bytes, which overlap. */
static uint64_t load_tail(const char *text, size_t length) {
  uint32_t first, last;
  if (length >= sizeof first) {
    memcpy(&first, text, sizeof first);
    memcpy(&last, text + length - sizeof last, sizeof last);
    return (uint64_t)first << 32 | last;
  }
  const unsigned char *bytes = (const unsigned char *)text;
  return length ? (uint64_t)bytes[0] << 16 | (uint64_t)bytes[length / 2] << 8 | bytes[length - 1] : 0;
}

static uint32_t hash_text(const char *text, size_t length) {
  uint64_t hash = length, word;
  for (; length > sizeof word; text += sizeof word, length -= sizeof word) {
    memcpy(&word, text, sizeof word);
    hash = hr__digest_add(hash, word);
  }
  return (uint32_t)hr__digest_add(hash, load_tail(text, length));
}

static bool equal_bytes(const char *a, const char *b, size_t length) {
  uint64_t x, y;
  for (; length > sizeof x; a += sizeof x, b += sizeof x, length -= sizeof x) {
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (x != y) return false;
  }
  return load_tail(a, length) == load_tail(b, length);
}

static bool equal_text(const struct hr__name_table *names, uint32_t number, const char *text, size_t length) {
  return names->length[number] == length && equal_bytes(names->text[number], text, length);
}

uint32_t hr__names_find(const struct hr__name_table *names, const char *text, size_t length) {
  struct hr__hash_cursor at;
  uint32_t number = hr__hash_first(&names->table, hash_text(text, length), &at);
  while (number != HR_NONE && !equal_text(names, number, text, length)) number = hr__hash_next(&names->table, &at);
  return number;
}

/* Makes room for one more text in both arrays. Returns false if memory is exhausted. Both arrays have the capacity
   `names->capacity`. */
static bool make_room(struct hr__name_table *names) {
  uint32_t text_capacity = names->capacity, length_capacity = names->capacity;
  if (!HR__ARRAY_HAS_ROOM(names->text, names->count, text_capacity) ||
      !HR__ARRAY_HAS_ROOM(names->length, names->count, length_capacity))
    return false;
  names->capacity = length_capacity;
  return true;
}

uint32_t hr__names_intern(struct hr__name_table *names, const char *text, size_t length) {
  uint32_t found = hr__names_find(names, text, length);
  if (found != HR_NONE) return found;
  char *copy = make_room(names) ? malloc(length + 1) : NULL;
  if (!copy || !hr__hash_add(&names->table, NULL, hash_text(text, length), names->count)) {
    free(copy);
    return HR_NONE;
  }
  memcpy(copy, text, length);
  copy[length] = '\0';
  names->text[names->count] = copy;
  names->length[names->count] = length;
  names->bytes += length + 1 + sizeof(char *);
  return names->count++;
}

void hr__names_finish(struct hr__name_table *names) {
  for (uint32_t i = 0; i < names->count; i++) free(names->text[i]);
  free(names->text);
  free(names->length);
  hr__hash_finish(&names->table);
  *names = (struct hr__name_table){0};
}
