/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of uploaded traces. There are at most HR__MAX_UPLOADS, so it is searched from its begin. */

#include "serve/request.h"

#include <stdlib.h>
#include <string.h>

const struct hr__upload *hr__upload_find(const struct hr__uploads *uploads, const char *id) {
  for (size_t i = 0; i < uploads->count; i++)
    if (strcmp(uploads->at[i].id, id) == 0) return &uploads->at[i];
  return NULL;
}

static void free_upload(struct hr__upload *upload) {
  free(upload->id);
  free(upload->name);
  free(upload->file);
}

const struct hr__upload *hr__upload_add(struct hr__uploads *uploads, const char *id, const char *name,
                                        const char *file) {
  struct hr__upload fresh = {strdup(id), strdup(name), strdup(file)};
  struct hr__upload *at = realloc(uploads->at, (uploads->count + 1) * sizeof *at);
  if (at) uploads->at = at;
  if (!at || !fresh.id || !fresh.name || !fresh.file) {
    free_upload(&fresh);
    return NULL;
  }
  at[uploads->count] = fresh;
  return &at[uploads->count++];
}

void hr__uploads_finish(struct hr__uploads *uploads) {
  for (size_t i = 0; i < uploads->count; i++) free_upload(&uploads->at[i]);
  free(uploads->at);
  *uploads = (struct hr__uploads){0};
}
