/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: arbitrary bytes as each table of the catalogue and as a MIG layout. They must be read or rejected with a
   message. */

#include "headroom/mig.h"
#include "input.h"
#include "scenarios/catalog/catalog_tables.h"

#include <stdlib.h>
#include <string.h>

/* If the table is accepted, adding the same text again must replace every row, because rows are identified by their
   keys. */
static void read_table(enum hr__catalog_table which, const struct hr__table_text *text) {
  struct hr__table table = {.format = &hr__catalog_formats[which]};
  struct hr__name_table names = {0};
  struct hr_error error = {0};
  if (hr__table_add(&table, text, &names, &error) == HR_OK) {
    uint32_t count = table.count;
    if (hr__table_add(&table, text, &names, &error) != HR_OK || table.count != count) abort();
  } else if (error.status == HR_OK || !error.text[0]) {
    abort();
  }
  hr__table_finish(&table);
  hr__names_finish(&names);
}

static void read_layout(const uint8_t *data, size_t size) {
  struct hr_mig_profile profiles[] = {
      {.name = "1g.5gb", .compute_slices = 1, .memory_slices = 1, .starts = 0x7f, .max_instances = 7},
      {.name = "1g.5gb+me", .compute_slices = 1, .memory_slices = 1, .starts = 0x7f, .max_instances = 1, .media = true},
      {.name = "3g.20gb", .compute_slices = 3, .memory_slices = 4, .starts = 0x11, .max_instances = 2},
      {.name = "7g.40gb", .compute_slices = 7, .memory_slices = 8, .starts = 1, .max_instances = 1}};
  struct hr_mig_type type;
  struct hr_mig_gpu gpu;
  struct hr_error error = {0};
  char *text = malloc(size + 1);
  if (!text) abort();
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  hr_mig_type_init(&type, "A100-40", profiles, sizeof profiles / sizeof *profiles);
  enum hr_status status = hr_mig_layout(&type, text, &gpu, &error);
  if (status != HR_OK && (gpu.occupied || !error.text[0])) abort();
  if (gpu.compute_used > 7) abort();
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct hr__table_text text = {"input", (const char *)data, size};
  for (unsigned i = 0; i < HR__N_CATALOG_TABLES; i++) read_table((enum hr__catalog_table)i, &text);
  read_layout(data, size);
  return 0;
}
