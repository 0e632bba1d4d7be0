/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A cluster of fifty pools of one price would otherwise fill a screen with one sentence. */

#include "scenarios/build/pool_notes.h"

#include "scenarios/build/pools.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_BYTES = 700 };

/* ---- The list --------------------------------------------------------------------------------------- */

static struct hr__pool_note *find(const struct hr__pool_notes *notes, const char *text) {
  for (size_t i = 0; i < notes->count; i++)
    if (strcmp(notes->at[i].text, text) == 0) return &notes->at[i];
  return NULL;
}

static struct hr__pool_note *append(struct hr__pool_notes *notes, const char *text) {
  struct hr__pool_note *longer = realloc(notes->at, (notes->count + 1) * sizeof *longer);
  if (!longer) return NULL;
  notes->at = longer;
  struct hr__pool_note *note = &longer[notes->count];
  *note = (struct hr__pool_note){.text = strdup(text)};
  if (!note->text) return NULL;
  notes->count++;
  return note;
}

static bool hr__pool_notes_add(struct hr__pool_notes *notes, const char *pool, const char *text) {
  struct hr__pool_note *note = find(notes, text);
  if (!note) note = append(notes, text);
  if (!note) return false;
  if (note->count < HR__POOLS_NAMED && !(note->pools[note->count] = strdup(pool))) return false;
  note->count++;
  return true;
}

/* "'a', 'b', 'c' and 47 more" */
static void list_pools(const struct hr__pool_note *note, char names[NAMES_BYTES]) {
  size_t used = 0;
  for (uint32_t i = 0; i < note->count && i < HR__POOLS_NAMED; i++)
    used += (size_t)snprintf(names + used, NAMES_BYTES - used, "%s'%.200s'", i ? ", " : "", note->pools[i]);
  if (note->count > HR__POOLS_NAMED)
    snprintf(names + used, NAMES_BYTES - used, " and %" PRIu32 " more", note->count - HR__POOLS_NAMED);
}

enum hr_status hr__pool_notes_put(const struct hr__pool_notes *notes, struct hr_notes *to) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < notes->count && status == HR_OK; i++) {
    char names[NAMES_BYTES];
    list_pools(&notes->at[i], names);
    status = hr_notes_add(to, "pool%s %s: %s", notes->at[i].count > 1 ? "s" : "", names, notes->at[i].text);
  }
  return status;
}

void hr__pool_notes_finish(struct hr__pool_notes *notes) {
  for (size_t i = 0; i < notes->count; i++) {
    for (size_t k = 0; k < HR__POOLS_NAMED; k++) free(notes->at[i].pools[k]);
    free(notes->at[i].text);
  }
  free(notes->at);
  *notes = (struct hr__pool_notes){0};
}

/* ---- Of the pool at hand ---------------------------------------------------------------------------- */

enum hr_status hr__pool_note(const struct hr__builder *builder, const struct hr__pool_draft *draft, const char *format,
                             ...) {
  char text[700];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hr__pool_notes_add(builder->pool_notes, draft->pool.name, text) ? HR_OK : hr__build_no_memory(builder);
}
