/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CSV_HEADROOM_CSV_H
#define HR_TRACES_CSV_HEADROOM_CSV_H

/* The columns of Headroom's own CSV, generated from the table in headroom/job_fields.h. Readers, writers and column
   maps use them. */

#include "traces/csv/csv_rows.h"

/* The fields, in the order of the table: HR__FIELD(key, column, kind, required, filled, member) for each of them. Users
   define HR__FIELD. filled: each row must have a value. member: of struct hr_job_record. */
#define HR__FIELDS HR_JOB_CSV_TABLE(HR__ID_FIELD, HR__VALUE_FIELD, HR__NAME_FIELD, HR__FLAG_FIELD)
#define HR__ID_FIELD(key, column, ...) HR__FIELD(key, column, TEXT, false, true, id)
#define HR__VALUE_FIELD(id, member, type, record_type, kind, key, column, required, ...)                               \
  HR__FIELD(key, column, kind, required, required, member)
#define HR__NAME_FIELD(id, member, kind, key, column, ...) HR__FIELD(key, column, kind, false, false, member)
#define HR__FLAG_FIELD(kind, key, column, ...) HR__FIELD(key, column, kind, false, false, flags)

enum {
#define HR__FIELD(...) +1
  HR__N_FIELDS = HR__FIELDS
#undef HR__FIELD
};

/* The columns, in the order of the table. */
extern const struct hr__csv_column hr__fields[HR__N_FIELDS];

/* Reads jobs from a CSV file. `reader->map` says which column contains which field; for other fields the names of
   hr__fields apply. */
extern const struct hr__format_reader hr__csv_reader;

#endif
