/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table from a file, which is read whole: tables are small. */

#include "scenarios/table.h"

#include "traces/decode.h"

#include <stdlib.h>

enum { LARGEST_FILE = 64 << 20 };

static enum hr_status read_whole(struct hr__decoder *decoder, const char *path, char **bytes, size_t *size,
                                 struct hr_error *error) {
  size_t capacity = 1 << 16, got = 0;
  *bytes = NULL;
  for (*size = 0; *size < LARGEST_FILE; capacity *= 2) {
    char *grown = realloc(*bytes, capacity);
    if (!grown) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
    *bytes = grown;
    enum hr_status status = hr__decoder_read(decoder, grown + *size, capacity - *size, &got, error);
    if (status != HR_OK) return status;
    *size += got;
    if (*size < capacity) return HR_OK;
  }
  return hr_fail(error, HR_BAD_INPUT, "%s: is larger than %d MiB: no such table is", path, LARGEST_FILE >> 20);
}

enum hr_status hr__table_add_file(struct hr__table *table, const char *path, struct hr__names *names,
                                  struct hr_error *error) {
  struct hr__decoder *decoder;
  char *bytes = NULL;
  size_t size;
  enum hr_status status = hr__decoder_open(path, &decoder, error);
  if (status != HR_OK) return status;
  status = read_whole(decoder, path, &bytes, &size, error);
  hr__decoder_close(decoder);
  const struct hr__table_text text = {path, bytes, size};
  if (status == HR_OK) status = hr__table_add(table, &text, names, error);
  free(bytes);
  return status;
}
