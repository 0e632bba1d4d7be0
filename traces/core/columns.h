/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_COLUMNS_H
#define HR_TRACES_CORE_COLUMNS_H

/*
 * The columns and the sets of names of a trace, generated from the table in headroom/job_fields.h. Code that works on
 * all columns is a loop over hr__columns. Code that runs for each job expands the table instead, so that types and
 * offsets are constants.
 */

#include "traces/core/values.h"

#include <stddef.h>
#include <string.h>

/* The value of an id is its position in packed files. HR__COLUMN_ID, the ids of jobs, is not in the table. */
enum hr__column_id {
#define HR__VALUE_NUMBER(id, member, type, record_type, kind, key, column, required, unknown, min, max, section, ...)  \
  HR__COLUMN_##id = section,
#define HR__NAME_NUMBER(id, member, kind, key, column, section, ...) HR__COLUMN_##id = section,
#define HR__COUNT(...) +1
  HR_JOB_COLUMN_TABLE(HR__VALUE_NUMBER, HR__NAME_NUMBER) HR__COLUMN_ID = HR_JOB_COLUMN_TABLE(HR__COUNT, HR__COUNT),
  HR__N_COLUMNS
#undef HR__VALUE_NUMBER
#undef HR__NAME_NUMBER
};

/* A set of names numbers its distinct texts from 0; this number is the name number of a text. */
enum hr__names_id {
#define HR__SET_NUMBER(id, member, kind, key, column, section, set_id, set, set_section, ...)                          \
  HR__##set_id = set_section,
  HR_JOB_COLUMN_TABLE(HR_NO_FIELD, HR__SET_NUMBER) HR__N_NAMES = HR_JOB_COLUMN_TABLE(HR_NO_FIELD, HR__COUNT)
#undef HR__SET_NUMBER
#undef HR__COUNT
};

/* A column. `at` and `names`: offsets in struct hr_trace of the column and of its set of names. */
struct hr__column_type {
  const char *name; /* of the member of struct hr_trace */
  enum hr__kind kind;
  uint8_t width; /* bytes per entry */
  bool required, has_names;
  size_t at, names;
  uint64_t unknown, min, max; /* of a record */
};
extern const struct hr__column_type hr__columns[HR__N_COLUMNS];

/* A set of names, and its offset in struct hr_trace. */
struct hr__names_type {
  const char *name;
  size_t at;
};
extern const struct hr__names_type hr__name_sets[HR__N_NAMES];

/* Returns a column of a trace; NULL if the trace has no such column. */
static inline const void *hr__trace_column(const struct hr_trace *trace, enum hr__column_id id) {
  const void *column;
  memcpy(&column, (const char *)trace + hr__columns[id].at, sizeof column);
  return column;
}
static inline void hr__trace_set_column(struct hr_trace *trace, enum hr__column_id id, const void *column) {
  memcpy((char *)trace + hr__columns[id].at, &column, sizeof column);
}
static inline struct hr_names *hr__trace_names(const struct hr_trace *trace, enum hr__names_id id) {
  return (struct hr_names *)((uintptr_t)trace + hr__name_sets[id].at);
}

/* The valid values of a column, in arithmetic modulo 2^(8 x width): first .. first + span. */
struct hr__value_range {
  uint64_t first, span;
};
/* Returns the valid values of a column of a trace. The sets of names of the trace must be complete. */
struct hr__value_range hr__column_range(const struct hr_trace *trace, enum hr__column_id id);

#endif
