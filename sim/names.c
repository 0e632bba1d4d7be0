/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/names.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_text(const char *text, size_t length) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
  return hash ^ hash >> 29;
}

static bool equal_text(const char *interned, const char *text, size_t length) {
  return strncmp(interned, text, length) == 0 && interned[length] == '\0';
}

/* The slot that holds the text, or the empty one where it belongs. */
static uint32_t find_slot(const struct hr__names *names, const char *text, size_t length) {
  uint32_t mask = names->n_slots - 1;
  uint32_t at = (uint32_t)hash_text(text, length) & mask;
  while (names->slot[at] && !equal_text(names->text[names->slot[at] - 1], text, length)) at = (at + 1) & mask;
  return at;
}

static bool grow(struct hr__names *names) {
  uint32_t n_slots = names->n_slots ? 2 * names->n_slots : 64;
  uint32_t *slot = calloc(n_slots, sizeof *slot);
  char **text = realloc(names->text, n_slots / 2 * sizeof *text);
  if (text) names->text = text;
  if (!slot || !text) {
    free(slot);
    return false;
  }
  free(names->slot);
  names->slot = slot;
  names->n_slots = n_slots;
  names->capacity = n_slots / 2;
  for (uint32_t i = 0; i < names->count; i++) slot[find_slot(names, text[i], strlen(text[i]))] = i + 1;
  return true;
}

uint32_t hr__names_find(const struct hr__names *names, const char *text, size_t length) {
  if (!names->n_slots) return HR_NONE;
  uint32_t number = names->slot[find_slot(names, text, length)];
  return number ? number - 1 : HR_NONE;
}

uint32_t hr__names_intern(struct hr__names *names, const char *text, size_t length) {
  uint32_t found = hr__names_find(names, text, length);
  if (found != HR_NONE) return found;
  if (names->count == names->capacity && !grow(names)) return HR_NONE;
  char *copy = malloc(length + 1);
  if (!copy) return HR_NONE;
  memcpy(copy, text, length);
  copy[length] = '\0';
  names->text[names->count] = copy;
  names->slot[find_slot(names, copy, length)] = names->count + 1;
  names->bytes += length + 1 + sizeof(char *);
  return names->count++;
}

void hr__names_finish(struct hr__names *names) {
  for (uint32_t i = 0; i < names->count; i++) free(names->text[i]);
  free(names->text);
  free(names->slot);
  *names = (struct hr__names){0};
}
