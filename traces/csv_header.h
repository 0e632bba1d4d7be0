/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CSV_HEADER_H
#define HR_TRACES_CSV_HEADER_H

/* A CSV file's header, and which of a schema's columns each of the file's columns feeds. */

#include "sim/names.h"
#include "traces/csv_rows.h"

enum { HR__MOST_CSV_COLUMNS = 4096, HR__MOST_SCHEMA_COLUMNS = 64 };

struct hr__csv_header {
  uint32_t n; /* columns of the file */
  struct hr__names names;
  uint32_t column_of[HR__MOST_CSV_COLUMNS];  /* by number of the name */
  uint8_t first_use[HR__MOST_CSV_COLUMNS];   /* by column: the schema's column that takes it + 1, 0 for none */
  uint8_t next_use[HR__MOST_SCHEMA_COLUMNS]; /* another that takes the same one + 1, 0 for none */
};

enum hr_status hr__csv_header_add(struct hr__csv_header *header, struct hr__reader *reader, struct hr_text name,
                                  uint64_t line);
/* Finds the schema's columns, after the last name was added. */
enum hr_status hr__csv_header_bind(struct hr__csv_header *header, struct hr__reader *reader,
                                   const struct hr__csv_schema *schema, uint64_t line);
void hr__csv_header_finish(struct hr__csv_header *header);

#endif
