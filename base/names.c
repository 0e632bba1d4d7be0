/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "base/names.h"

#include "base/digest.h"

#include <stdlib.h>
#include <string.h>

/* Up to eight bytes as one number, which tells texts of one length apart; parts of it overlap where there are fewer. */
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

/* Eight bytes at a time: a trace looks names up for every row. */
static uint64_t hash_text(const char *text, size_t length) {
  uint64_t hash = length, word;
  for (; length > sizeof word; text += sizeof word, length -= sizeof word) {
    memcpy(&word, text, sizeof word);
    hash = hr__digest_add(hash, word);
  }
  return hr__digest_add(hash, load_tail(text, length));
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

/* The slot that holds the text, or the empty one where it belongs. */
static uint32_t find_slot(const struct hr__name_table *names, const char *text, size_t length) {
  uint32_t mask = names->n_slots - 1;
  uint32_t at = (uint32_t)hash_text(text, length) & mask;
  while (names->slot[at] && !equal_text(names, names->slot[at] - 1, text, length)) at = (at + 1) & mask;
  return at;
}

static bool grow(struct hr__name_table *names) {
  uint32_t n_slots = names->n_slots ? 2 * names->n_slots : 64;
  uint32_t *slot = calloc(n_slots, sizeof *slot);
  char **text = realloc(names->text, n_slots / 2 * sizeof *text);
  if (text) names->text = text;
  size_t *length = realloc(names->length, n_slots / 2 * sizeof *length);
  if (length) names->length = length;
  if (!slot || !text || !length) {
    free(slot);
    return false;
  }
  free(names->slot);
  names->slot = slot;
  names->n_slots = n_slots;
  names->capacity = n_slots / 2;
  for (uint32_t i = 0; i < names->count; i++) slot[find_slot(names, text[i], length[i])] = i + 1;
  return true;
}

uint32_t hr__names_find(const struct hr__name_table *names, const char *text, size_t length) {
  if (!names->n_slots) return HR_NONE;
  uint32_t number = names->slot[find_slot(names, text, length)];
  return number ? number - 1 : HR_NONE;
}

uint32_t hr__names_intern(struct hr__name_table *names, const char *text, size_t length) {
  uint32_t found = hr__names_find(names, text, length);
  if (found != HR_NONE) return found;
  if (names->count == names->capacity && !grow(names)) return HR_NONE;
  char *copy = malloc(length + 1);
  if (!copy) return HR_NONE;
  memcpy(copy, text, length);
  copy[length] = '\0';
  names->text[names->count] = copy;
  names->length[names->count] = length;
  names->slot[find_slot(names, copy, length)] = names->count + 1;
  names->bytes += length + 1 + sizeof(char *);
  return names->count++;
}

void hr__names_finish(struct hr__name_table *names) {
  for (uint32_t i = 0; i < names->count; i++) free(names->text[i]);
  free(names->text);
  free(names->length);
  free(names->slot);
  *names = (struct hr__name_table){0};
}
