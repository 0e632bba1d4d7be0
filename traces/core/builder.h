/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_BUILDER_H
#define HR_TRACES_CORE_BUILDER_H

/*
 * The columns of a trace, a trace under construction, and a finished trace with the memory that it owns.
 *
 * A streamed trace does not have to fit into memory. Each of its columns is an unnamed temporary file in $TMPDIR or
 * /var/tmp that is mapped into memory. The file is deleted when it is closed. Its pages occupy memory only while they
 * are in use.
 */

#include "base/names.h"
#include "headroom/trace_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A column of a trace. In a streamed trace, the column is a mapped temporary file. */
struct hr__column {
  void *at;
  uint8_t width;        /* bytes per entry */
  size_t spooled_bytes; /* size of the temporary file; 0: the column is in memory */
  int file;
};

/* Rows per block. A spooled column is a column in a temporary file. It grows by whole blocks, and its memory is
   released block by block, so both operations apply to whole pages. */
enum { HR__SPOOL_BLOCK = 1 << 16 };

/* Releases the memory of rows [from, to) of a spooled column. `from` must be the first row of a block. The next
   access to these rows reads them again from the file. */
void hr__spool_drop(const struct hr__column *column, uint32_t from, uint32_t to);

/* Columns: id, member of struct hr_trace, bytes per entry, value that means "unknown", expression for the value in a
   record. A column is created as soon as some row has a known value. The first three columns always exist. Common
   columns are written for each row. The other columns are written only if some row has a field that is not common. */
#define HR__COMMON_COLUMN_TABLE(X)                                                                                     \
  X(SUBMIT, submit_us, 8, 0, record->submit_us)                                                                        \
  X(WORK, work_us, 8, 0, record->work_us)                                                                              \
  X(GPUS, gpus, 4, 0, record->gpus)                                                                                    \
  X(TENANT, tenant, 4, HR_NONE, name[HR__TENANTS])                                                                     \
  X(USER, user, 4, HR_NONE, name[HR__USERS])
#define HR__OTHER_COLUMN_TABLE(X)                                                                                      \
  X(TASKS, tasks, 4, 1, record->tasks)                                                                                 \
  X(LIMIT, limit_us, 8, HR_UNKNOWN_US, record->limit_us)                                                               \
  X(ESTIMATE, estimate_us, 8, HR_UNKNOWN_US, record->estimate_us)                                                      \
  X(DEADLINE, deadline_us, 8, INT64_MIN, record->deadline_us)                                                          \
  X(PRIORITY, priority, 4, 0, record->priority)                                                                        \
  X(CPU, cpu_milli, 4, 0, record->cpu_milli)                                                                           \
  X(MEM, mem_mib, 8, 0, record->mem_mib)                                                                               \
  X(GPU_MEM, gpu_mem_mib, 8, 0, record->gpu_mem_mib)                                                                   \
  X(GPU_MILLI, gpu_milli, 2, 1000, record->gpu_milli)                                                                  \
  X(MODEL, model, 4, HR_NONE, name[HR__MODELS])                                                                        \
  X(GPU_TYPES, gpu_types, 4, HR_NONE, name[HR__GPU_TYPE_LISTS])                                                        \
  X(REGIONS, regions, 4, HR_NONE, name[HR__REGION_LISTS])                                                              \
  X(MIG_PROFILE, mig_profile, 4, HR_NONE, name[HR__MIG_PROFILES])                                                      \
  X(CLASS, class_, 1, HR_CLASS_UNKNOWN, record->class_)                                                                \
  X(OUTCOME, outcome, 1, HR_OUTCOME_UNKNOWN, record->outcome)                                                          \
  X(FLAGS, flags, 1, 0, record->flags)                                                                                 \
  X(FAIL_AT, fail_at_ppm, 4, HR_NONE, record->fail_at_ppm)                                                             \
  X(CHECKPOINT_INTERVAL, checkpoint_interval_us, 8, HR_UNKNOWN_US, record->checkpoint_interval_us)                     \
  X(CHECKPOINT, checkpoint_mib, 8, 0, record->checkpoint_mib)                                                          \
  X(MIN_GPUS, min_gpus, 4, HR_NONE, record->min_gpus)                                                                  \
  X(MAX_GPUS, max_gpus, 4, HR_NONE, record->max_gpus)                                                                  \
  X(WITHIN, within, 1, HR_TIER_ANY, record->within)                                                                    \
  X(WITHIN_WAIT, within_wait_us, 8, HR_UNKNOWN_US, record->within_wait_us)                                             \
  X(RECORDED_START, recorded_start_us, 8, INT64_MIN, record->recorded_start_us)
#define HR__COLUMN_TABLE(X) HR__COMMON_COLUMN_TABLE(X) HR__OTHER_COLUMN_TABLE(X)

enum hr__column_id {
#define HR__COLUMN_NAME(id, ...) HR__COLUMN_##id,
  HR__COLUMN_TABLE(HR__COLUMN_NAME)
#undef HR__COLUMN_NAME
      HR__COLUMN_ID,
  HR__N_COLUMNS,
  HR__N_ALWAYS = HR__COLUMN_GPUS + 1
};

/* Name tables: id, member of struct hr_trace, member of a record. A name table numbers its distinct texts from 0;
   this number is the name number of a text. The tables are divided into common and other tables, as the columns are. */
#define HR__COMMON_NAMES_TABLE(X)                                                                                      \
  X(TENANTS, tenants, tenant)                                                                                          \
  X(USERS, users, user)
#define HR__OTHER_NAMES_TABLE(X)                                                                                       \
  X(MODELS, models, model)                                                                                             \
  X(MIG_PROFILES, mig_profiles, mig_profile)                                                                           \
  X(GPU_TYPE_LISTS, gpu_type_lists, gpu_types)                                                                         \
  X(REGION_LISTS, region_lists, regions)
#define HR__NAMES_TABLE(X) HR__COMMON_NAMES_TABLE(X) HR__OTHER_NAMES_TABLE(X)

enum hr__names_id {
#define HR__NAMES_NAME(id, ...) HR__##id,
  HR__NAMES_TABLE(HR__NAMES_NAME)
#undef HR__NAMES_NAME
      HR__N_NAMES
};

/* Forms of the job ids. HR__IDS_NONE: no row has an id. HR__IDS_COUNTED: each id equals its row number, counted from
   1, and no column exists. HR__IDS_NUMBER: column HR__COLUMN_ID contains int64_t values. HR__IDS_TEXT: column
   HR__COLUMN_ID contains char * values. */
enum hr__ids { HR__IDS_NONE, HR__IDS_COUNTED, HR__IDS_NUMBER, HR__IDS_TEXT };

struct hr__id_block; /* memory for id texts */

/* Row `row` is on line `line` of the input. The rows after it, up to the row before the next jump, are on the lines
   that follow. */
struct hr__line_jump {
  uint32_t row;
  uint64_t line;
};

/* A trace under construction. */
struct hr_trace_builder {
  char *source, *format;
  uint32_t n, capacity; /* number of rows, and rows for which columns have room */
  struct hr__column column[HR__N_COLUMNS];
  struct hr_job_record blank; /* all fields unknown */
  bool has_others;            /* some row has a field that is not common */
  bool streamed;              /* rows are in order of submit time, ids are not stored, columns are temporary files */
  int spool_failure;          /* errno if the file of a column could not be created or extended; 0: no failure */
  struct hr__name_table names[HR__N_NAMES];
  enum hr__ids ids;
  bool ids_increase; /* all ids are increasing numbers, so duplicates are impossible */
  int64_t last_id;   /* id of the last row, with HR__IDS_NUMBER */
  struct hr__id_block *id_blocks;
  uint64_t id_bytes; /* bytes of all id blocks */
  struct hr__line_jump *jumps;
  uint32_t n_jumps, jumps_capacity;
  struct hr_notes notes;
  struct hr_skipped_rows *skipped;
  uint32_t n_skipped_reasons;
  uint64_t n_skipped;
};

/* Makes the trace a streamed trace. Must be called before the first row is added. */
static inline void hr__builder_stream(struct hr_trace_builder *builder) {
  builder->streamed = true;
}
/* Adds a job for which hr_job_record_fault() returned NULL. Errors as for hr_trace_builder_add(). */
enum hr_status hr__builder_append(struct hr_trace_builder *builder, const struct hr_job_record *record, uint64_t line,
                                  struct hr_error *error);
/* Returns the line of a row in the input file. */
uint64_t hr__builder_line(const struct hr_trace_builder *builder, uint32_t row);

/* A trace with the memory that it owns. hr_trace_destroy() frees all of it. If a column or name table belongs to
   another object (a packed file or another trace), `trace` points to it, but its entry in `column` or `names` is
   empty. */

struct hr__owned_trace {
  /* first member, because hr_trace_destroy() casts a pointer to it to a pointer to the whole struct */
  struct hr_trace trace;
  struct hr__column column[HR__N_COLUMNS];
  struct hr__name_table names[HR__N_NAMES];
  struct hr__id_block *id_blocks;
  uint32_t *row;
  char *source, *format;
  void *map; /* of a packed trace: the mapped file, which contains the columns that are not owned */
  size_t map_bytes;
};

/* Sets the column pointers of the trace to the owned columns, except ids, and adds their bytes to column_bytes.
   `n_jobs` must be set. */
void hr__owned_trace_show_columns(struct hr__owned_trace *owned);
/* Sets the name tables of the trace to the owned name tables, and adds their bytes to column_bytes. */
void hr__owned_trace_show_names(struct hr__owned_trace *owned);

#endif
