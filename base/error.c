/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Status codes, error messages, notes and spelling suggestions. */

#include "headroom/base.h"

#include "base/array.h"
#include "base/confinement.h"
#include "base/text.h"

#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum hr_status hr_fail(struct hr_error *error, enum hr_status status, const char *format, ...) {
  if (error) {
    char text[sizeof error->text], *own = hr__phrased(format);
    error->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, own ? own : format, args);
    va_end(args);
    free(own);
    hr__copy_safe(error->text, sizeof error->text, text, true);
  }
  return status;
}

int hr_status_exit_code(enum hr_status status) {
  switch (status) {
#define EXIT_CODE_CASE(name, exit_code, meaning)                                                                       \
  case name:                                                                                                           \
    return exit_code;
    HR_STATUS_TABLE(EXIT_CODE_CASE)
#undef EXIT_CODE_CASE
  }
  return 4;
}

const char *hr_status_meaning(enum hr_status status) {
  switch (status) {
#define MEANING_CASE(name, exit_code, meaning)                                                                         \
  case name:                                                                                                           \
    return meaning;
    HR_STATUS_TABLE(MEANING_CASE)
#undef MEANING_CASE
  }
  return "unknown status";
}

const char *hr_version(void) {
  return HR_VERSION;
}

void hr_init(void) {
  gsl_set_error_handler_off();
}

static bool has_note(const struct hr_notes *notes, const char *text) {
  for (size_t i = 0; i < notes->count; i++)
    if (strcmp(notes->text[i], text) == 0) return true;
  return false;
}

enum hr_status hr_notes_add(struct hr_notes *notes, const char *format, ...) {
  char raw[1000], text[sizeof raw];
  va_list args;
  va_start(args, format);
  vsnprintf(raw, sizeof raw, format, args);
  va_end(args);
  hr__copy_safe(text, sizeof text, raw, false);
  if (has_note(notes, text)) return HR_OK;
  uint32_t capacity = (uint32_t)notes->capacity;
  if (!HR__ARRAY_HAS_ROOM(notes->text, notes->count, capacity)) return HR_NO_MEMORY;
  notes->capacity = capacity;
  char *copy = strdup(text);
  if (!copy) return HR_NO_MEMORY;
  notes->text[notes->count++] = copy;
  return HR_OK;
}

void hr_notes_finish(struct hr_notes *notes) {
  for (size_t i = 0; i < notes->count; i++) free(notes->text[i]);
  free(notes->text);
  *notes = (struct hr_notes){0};
}

enum { MAX_WORD_BYTES = 63 };

/* Converts an ASCII letter to lower case. The result does not depend on the locale. */
static char folded(char letter) {
  return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

size_t hr__edit_distance(const char *a, const char *b) {
  size_t n = strlen(a), m = strlen(b);
  if (n > MAX_WORD_BYTES || m > MAX_WORD_BYTES) return SIZE_MAX;
  size_t row[3][MAX_WORD_BYTES + 1];
  size_t *before = row[0], *previous = row[1], *current = row[2];
  for (size_t j = 0; j <= m; j++) previous[j] = j;
  for (size_t i = 1; i <= n; i++) {
    current[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t best = previous[j - 1] + (folded(a[i - 1]) != folded(b[j - 1]));
      if (previous[j] + 1 < best) best = previous[j] + 1;
      if (current[j - 1] + 1 < best) best = current[j - 1] + 1;
      bool swapped = i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
      if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
      current[j] = best;
    }
    size_t *recycled = before;
    before = previous;
    previous = current;
    current = recycled;
  }
  return previous[m];
}

const char *hr_nearest_word(const char *word, const char *const *words) {
  const char *nearest = NULL;
  size_t smallest = SIZE_MAX;
  for (; *words; words++) {
    size_t distance = hr__edit_distance(word, *words);
    if (distance < smallest) {
      smallest = distance;
      nearest = *words;
    }
  }
  size_t length = strlen(word);
  size_t allowed = length <= 3 ? 1 : length <= 6 ? 2 : 3;
  return smallest <= allowed ? nearest : NULL;
}
