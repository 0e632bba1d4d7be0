/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as each table of the catalogue: read or refused with a reason, never anything else. */

#include "input.h"
#include "scenarios/catalog_tables.h"

#include <stdlib.h>

/* A row that was accepted is found again under its key, so the same text a second time replaces every row. */
static void read_table(enum hr__catalog_table which, const struct hr__table_text *text) {
  struct hr__table table = {.format = &hr__catalog_formats[which]};
  struct hr__names names = {0};
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct hr__table_text text = {"input", (const char *)data, size};
  for (unsigned i = 0; i < HR__N_CATALOG_TABLES; i++) read_table((enum hr__catalog_table)i, &text);
  return 0;
}
