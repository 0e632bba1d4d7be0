/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ids of the rows of a trace under construction. Those that count rows from 1 cost nothing; they are numbers from the
 * first on that does not, and texts from the first on that is not an integer in its printed form.
 */

#include "traces/builder.h"
#include "traces/numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_BLOCK_BYTES = 1 << 18 };

/* ---- Texts --------------------------------------------------------------------------------------- */

struct hr__id_block {
  struct hr__id_block *next;
  size_t used, size;
  char text[];
};

static struct hr__id_block *add_id_block(struct hr__id_block **blocks, size_t bytes) {
  size_t size = bytes > ID_BLOCK_BYTES ? bytes : ID_BLOCK_BYTES;
  struct hr__id_block *block = malloc(sizeof *block + size);
  if (!block) return NULL;
  block->next = *blocks;
  block->used = 0;
  block->size = size;
  return *blocks = block;
}

static char *keep_id(struct hr__id_block **blocks, const char *text, size_t length) {
  struct hr__id_block *block = *blocks;
  if (!block || block->size - block->used < length + 1) block = add_id_block(blocks, length + 1);
  if (!block) return NULL;
  char *kept = block->text + block->used;
  memcpy(kept, text, length);
  kept[length] = '\0';
  block->used += length + 1;
  return kept;
}

uint64_t hr__id_blocks_bytes(const struct hr__id_block *blocks) {
  uint64_t bytes = 0;
  for (; blocks; blocks = blocks->next) bytes += sizeof *blocks + blocks->size;
  return bytes;
}

void hr__id_blocks_free(struct hr__id_block *blocks) {
  while (blocks) {
    struct hr__id_block *next = blocks->next;
    free(blocks);
    blocks = next;
  }
}

/* ---- Ids -------------------------------------------------------------------------------------------- */

/* The numbers so far become the texts that they were. */
static bool ids_to_text(struct hr_trace_builder *builder) {
  const int64_t *number = builder->column[HR__COLUMN_ID].at;
  char **text = malloc((size_t)builder->capacity * sizeof *text);
  if (!text) return false;
  for (uint32_t row = 0; row < builder->n; row++) {
    char buffer[HR_JOB_ID_BUFFER];
    int length = snprintf(buffer, sizeof buffer, "%" PRId64, number[row]);
    text[row] = keep_id(&builder->id_blocks, buffer, (size_t)length);
    if (!text[row]) {
      free(text);
      return false;
    }
  }
  free(builder->column[HR__COLUMN_ID].at);
  builder->column[HR__COLUMN_ID].at = text;
  builder->ids = HR__IDS_TEXT;
  builder->ids_increase = false;
  return true;
}

static bool put_id_number(struct hr_trace_builder *builder, int64_t id) {
  int64_t *column = builder->column[HR__COLUMN_ID].at;
  column[builder->n] = id;
  builder->ids_increase = builder->ids_increase && (builder->n == 0 || id > builder->last_id);
  builder->last_id = id;
  return true;
}

/* The rows so far, which were counted, get their numbers written down. */
static bool ids_to_numbers(struct hr_trace_builder *builder) {
  struct hr__column *column = &builder->column[HR__COLUMN_ID];
  if (!hr__builder_resize(builder, column, builder->capacity)) return false;
  int64_t *number = column->at;
  for (uint32_t row = 0; row < builder->n; row++) number[row] = (int64_t)row + 1;
  builder->last_id = builder->n;
  builder->ids = HR__IDS_NUMBER;
  return true;
}

bool hr__builder_put_id(struct hr_trace_builder *builder, struct hr_text id) {
  if (!id.length) return true;
  if (builder->streamed) {
    builder->ids = HR__IDS_COUNTED;
    return true;
  }
  int64_t number = 0;
  bool is_number = builder->ids != HR__IDS_TEXT && hr__integer_parse(id, &number);
  if (builder->ids <= HR__IDS_COUNTED) {
    if (is_number && number == (int64_t)builder->n + 1) {
      builder->ids = HR__IDS_COUNTED;
      return true;
    }
    if (!ids_to_numbers(builder)) return false;
  }
  if (is_number) return put_id_number(builder, number);
  if (builder->ids == HR__IDS_NUMBER && !ids_to_text(builder)) return false;
  char **column = builder->column[HR__COLUMN_ID].at;
  column[builder->n] = keep_id(&builder->id_blocks, id.at, strnlen(id.at, id.length));
  return column[builder->n] != NULL;
}
