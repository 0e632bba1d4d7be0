/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places and their errors. A value that an override set, or that lies in one that an override set, is the override's;
   all others stand in the file. */

#include "scenarios/source.h"

#include <stdio.h>
#include <string.h>

void hr__place_enter(struct hr__place *place, uint32_t ordinal, const char *name) {
  place->ordinal[place->depth] = ordinal;
  place->name[place->depth++] = name;
}

void hr__place_leave(struct hr__place *place) {
  place->depth--;
}

void hr__place_text(const struct hr__place *place, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < place->depth && used < size; i++) {
    const char *dot = i ? "." : "";
    int written = place->name[i] ? snprintf(text + used, size - used, "%s%s", dot, place->name[i])
                                 : snprintf(text + used, size - used, "%s%u", dot, (unsigned)place->ordinal[i]);
    used += (size_t)written;
  }
}

/* The last override that set the value at `text` or one around it, NULL if none did. */
static const char *responsible_override(const struct hr__source *source, const char *text) {
  for (size_t i = source->n_overrides; i-- > 0;) {
    const char *override = source->overrides[i];
    size_t length = strcspn(override, "=");
    bool prefix = strncmp(text, override, length) == 0;
    if (prefix && (text[length] == '\0' || text[length] == '.')) return override;
  }
  return NULL;
}

enum hr_status hr__source_fail(const struct hr__source *source, const struct hr__place *place, bool at_key,
                               struct hr_error *error, const char *format, ...) {
  char message[900], text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  hr__place_text(place, text, sizeof text);
  const char *override = responsible_override(source, text);
  if (override) return hr_fail(error, HR_BAD_INPUT, "--set %.200s: %s", override, message);
  size_t offset = hr__json_find(source->file.text, place->ordinal, place->depth, at_key);
  if (offset == SIZE_MAX) return hr_fail(error, HR_BAD_INPUT, "%s: %s", source->path, message);
  struct hr__json_position position = hr__json_position(source->file.text, offset);
  return hr_fail(error, HR_BAD_INPUT, "%s:%zu:%zu: %s", source->path, position.line, position.column, message);
}
