/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The built-in GPU types alone, for who needs no more of the catalogue: one block of memory holds rows and texts. */

#include "scenarios/catalog_tables.h"

#include <stdlib.h>
#include <string.h>

static size_t text_bytes(const struct hr_gpu_type *type) {
  return strlen(type->name) + strlen(type->status) + strlen(type->source) + 3;
}

static const char *put(char **to, const char *text) {
  const char *start = *to;
  size_t bytes = strlen(text) + 1;
  memcpy(*to, text, bytes);
  *to += bytes;
  return start;
}

static struct hr_gpu_type *copy_rows(const struct hr_gpu_type *rows, size_t count) {
  size_t bytes = count * sizeof *rows;
  for (size_t i = 0; i < count; i++) bytes += text_bytes(&rows[i]);
  struct hr_gpu_type *types = malloc(bytes);
  if (!types) return NULL;
  char *texts = (char *)(types + count);
  for (size_t i = 0; i < count; i++) {
    types[i] = rows[i];
    types[i].name = put(&texts, rows[i].name);
    types[i].status = put(&texts, rows[i].status);
    types[i].source = put(&texts, rows[i].source);
  }
  return types;
}

enum hr_status hr_gpu_types(struct hr_gpu_type **types, size_t *count, struct hr_error *error) {
  struct hr__table table = {.format = &hr__catalog_formats[HR__CATALOG_GPUS]};
  struct hr__names texts = {0};
  const struct hr__table_text built_in = hr__catalog_text(HR__CATALOG_GPUS);
  *types = NULL;
  *count = 0;
  enum hr_status status = hr__table_add(&table, &built_in, &texts, error);
  if (status == HR_OK) {
    *types = copy_rows(table.rows, table.count);
    *count = *types ? table.count : 0;
    if (!*types) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  hr__table_finish(&table);
  hr__names_finish(&texts);
  return status;
}

void hr_gpu_types_free(struct hr_gpu_type *types, size_t count) {
  (void)count;
  free(types);
}
