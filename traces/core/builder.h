/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_BUILDER_H
#define HR_TRACES_CORE_BUILDER_H

/*
 * Columns of a streamed trace, which is as long as its file and not to fill memory: each lies in a file of its own
 * without a name, which goes when it is closed, in $TMPDIR or /var/tmp. They cost memory only while they are looked at.
 */

#include "base/names.h"
#include "headroom/trace_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hr__column {
  void *at;
  uint8_t width;
  size_t spooled_bytes; /* of its file; 0: it is in memory */
  int file;
};

enum {
  HR__SPOOL_BLOCK = 1 << 16
}; /* rows; columns grow by a multiple of it, and are dropped by the block: whole pages */

/* These rows, from the begin of a block on, need not stay in memory; they come back when they are looked at. */
void hr__spool_drop(const struct hr__column *column, uint32_t from, uint32_t to);
/* Of either kind. */
void hr__column_free(struct hr__column *column);

/* The trace under construction, shared by builder.c (rows come in) and builder_finish.c (the trace goes out). */

/* Columns: id, member of struct hr_trace, bytes of an entry, the value that stands for "unknown" (a column of
   nothing else is never made), the value of a record. The first three always exist; common ones are looked at for each
   row, the others when a row says more than that. */
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

/* Sets of names: id, member of struct hr_trace, member of a record; common ones and others as above. */
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

/* What the ids are so far. HR__IDS_COUNTED: each is its row's number from 1, as it is for jobs without an id, and there
   is no column; column HR__COLUMN_ID holds int64_t under HR__IDS_NUMBER, char * under HR__IDS_TEXT. */
enum hr__ids { HR__IDS_NONE, HR__IDS_COUNTED, HR__IDS_NUMBER, HR__IDS_TEXT };

struct hr__id_block; /* memory of id texts */

/* From `row` on, rows stand on consecutive lines, the first on `line`. */
struct hr__line_jump {
  uint32_t row;
  uint64_t line;
};

struct hr_trace_builder {
  char *source, *format;
  uint32_t n, capacity;
  struct hr__column column[HR__N_COLUMNS];
  struct hr_job_record blank; /* a record of which nothing is known */
  bool has_others;            /* a row said more than the common columns */
  bool streamed;              /* rows come in order of submit, ids are not kept, and columns are spooled */
  int spool_failure;          /* errno where that was not possible */
  struct hr__name_table names[HR__N_NAMES];
  enum hr__ids ids;
  bool ids_increase; /* numbers, each above the one before: none can be twice */
  int64_t last_id;
  struct hr__id_block *id_blocks;
  struct hr__line_jump *jumps;
  size_t n_jumps, jumps_capacity;
  struct hr_notes notes;
  struct hr_skipped_rows *skipped;
  uint32_t n_skipped_reasons;
  uint64_t n_skipped;
};

/* Before the first row: the trace is to be streamed. */
void hr__builder_stream(struct hr_trace_builder *builder);
/* hr_trace_builder_add without that check. */
enum hr_status hr__builder_append(struct hr_trace_builder *builder, const struct hr_job_record *record, uint64_t line,
                                  struct hr_error *error);
/* Of the row that is being added. False when out of memory. */
uint64_t hr__builder_line(const struct hr_trace_builder *builder, uint32_t row);
uint64_t hr__id_blocks_bytes(const struct hr__id_block *blocks);
void hr__id_blocks_free(struct hr__id_block *blocks);

/* What a trace owns but does not show lies behind it in one object; hr_trace_destroy frees it. What it shows and does
   not own (names of another trace) is NULL here. */

struct hr__owned_trace {
  struct hr_trace trace; /* first: the public pointer is this one */
  struct hr__column column[HR__N_COLUMNS];
  struct hr__name_table names[HR__N_NAMES];
  struct hr__id_block *id_blocks;
  uint32_t *row;
  char *source, *format;
  void *map; /* a packed trace: the file, where the columns that are not owned lie */
  size_t map_bytes;
};

/* The trace's pointers to columns (but ids) and the bytes that these take, from the columns that it owns; `n_jobs` is
   set. */
void hr__owned_trace_show_columns(struct hr__owned_trace *owned);
/* Likewise names. */
void hr__owned_trace_show_names(struct hr__owned_trace *owned);

#endif
