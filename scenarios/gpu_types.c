/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The catalogue of GPU types: a table in the library, read with libcsv when it is asked for. A malformed row is a
   defect of the build, not of the user's input. */

#include "headroom/scenario.h"

#include "scenarios/catalog/embedded.h"

#include <csv.h>
#include <stdlib.h>
#include <string.h>

enum column {
  COLUMN_NAME,
  COLUMN_MEM,
  COLUMN_BANDWIDTH,
  COLUMN_FP16,
  COLUMN_TDP,
  COLUMN_IDLE,
  COLUMN_NVLINK,
  COLUMN_MIG,
  COLUMN_STATUS,
  COLUMN_SOURCE,
  N_COLUMNS
};

struct table {
  struct hr_gpu_type *types;
  size_t count;
  char *field[N_COLUMNS]; /* of the row at hand */
  size_t n_fields;
  bool past_header, malformed, no_memory;
};

static void on_field(void *bytes, size_t length, void *self) {
  struct table *table = self;
  if (table->n_fields == N_COLUMNS) {
    table->malformed = true;
    return;
  }
  char *copy = strndup(bytes ? bytes : "", length);
  table->no_memory = table->no_memory || !copy;
  table->field[table->n_fields++] = copy;
}

static double number(struct table *table, enum column column) {
  char *end;
  double value = strtod(table->field[column], &end);
  if (*end || end == table->field[column]) table->malformed = true;
  return value;
}

/* Hands the field over. */
static char *take(struct table *table, enum column column) {
  char *text = table->field[column];
  table->field[column] = NULL;
  return text;
}

static void add_row(struct table *table) {
  struct hr_gpu_type *grown = realloc(table->types, (table->count + 1) * sizeof *grown);
  table->no_memory = table->no_memory || !grown;
  if (!grown) return;
  table->types = grown;
  grown[table->count++] = (struct hr_gpu_type){
      .name = take(table, COLUMN_NAME),
      .mem_gb = number(table, COLUMN_MEM),
      .bandwidth_gb_s = number(table, COLUMN_BANDWIDTH),
      .fp16_tflops = number(table, COLUMN_FP16),
      .tdp_w = number(table, COLUMN_TDP),
      .idle_w = number(table, COLUMN_IDLE),
      .nvlink_gb_s = number(table, COLUMN_NVLINK),
      .mig = number(table, COLUMN_MIG) > 0,
      .status = take(table, COLUMN_STATUS),
      .source = take(table, COLUMN_SOURCE),
  };
}

static void on_row(int terminator, void *self) {
  (void)terminator;
  struct table *table = self;
  if (table->n_fields != N_COLUMNS) table->malformed = true;
  if (table->past_header && !table->malformed && !table->no_memory) add_row(table);
  for (size_t i = 0; i < table->n_fields; i++) free(table->field[i]);
  table->n_fields = 0;
  table->past_header = true;
}

enum hr_status hr_gpu_types(struct hr_gpu_type **types, size_t *count, struct hr_error *error) {
  struct table table = {0};
  struct csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_APPEND_NULL) != 0)
    return hr_fail(error, HR_INTERNAL, "the catalogue of GPU types cannot be read");
  size_t done = csv_parse(&parser, hr__catalog_gpus, hr__catalog_gpus_size, on_field, on_row, &table);
  if (csv_fini(&parser, on_field, on_row, &table) != 0 || done != hr__catalog_gpus_size) table.malformed = true;
  csv_free(&parser);
  *types = table.types;
  *count = table.count;
  if (!table.malformed && !table.no_memory) return HR_OK;
  hr_gpu_types_free(table.types, table.count);
  *types = NULL;
  *count = 0;
  if (table.no_memory) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  return hr_fail(error, HR_INTERNAL, "the catalogue of GPU types is malformed");
}

void hr_gpu_types_free(struct hr_gpu_type *types, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(types[i].name);
    free(types[i].status);
    free(types[i].source);
  }
  free(types);
}
