/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_BUILDER_H
#define HR_TRACES_CORE_BUILDER_H

/*
 * The columns of a trace, a trace under construction, a finished trace with the memory that it owns, and functions that
 * build a trace from jobs of other traces.
 *
 * A spooled trace does not have to fit into memory. Each of its columns is a temporary file in $TMPDIR (by default
 * /var/tmp) that is mapped into memory. The file has no name, so its disk space is freed when it is closed. Pages of
 * the file occupy memory only while they are in use.
 *
 * A streamed trace is a spooled trace without ids. A spooled trace that is not streamed moves into memory as soon as
 *   - a row is out of order,
 *   - a temporary file cannot be created or extended, or
 *   - an id is not a number above the previous id. This condition does not apply if ids are known to be distinct.
 */

#include "base/containers.h"
#include "headroom/trace_files.h"
#include "traces/core/fields.h"

#include <stdbool.h>
#include <stdint.h>

/* Returns a text of a table; an empty text for HR_NONE. */
static inline struct hr_text hr__text_stored(const struct hr__name_table *names, uint32_t number) {
  if (number == HR_NONE) return (struct hr_text){NULL, 0};
  return (struct hr_text){names->text[number], names->length[number]};
}

/* A column of a trace. In a spooled trace, the column is a mapped temporary file. */
struct hr__column {
  void *at;             /* the entries; NULL: the column does not exist */
  uint8_t width;        /* bytes per entry */
  size_t spooled_bytes; /* size of the temporary file; 0: the column is in memory */
  int file;             /* descriptor of the temporary file; undefined if spooled_bytes is 0 */
};

/* Rows per block. Spooled columns grow by whole blocks, and their memory is released block by block. A block of any
   column consists of whole pages. */
enum { HR__SPOOL_BLOCK = 1 << 16 };

/* Forms of the job ids.
   HR__IDS_NONE: no row has an id.
   HR__IDS_COUNTED: each id equals its row number, counted from 1, or the trace is streamed. Column HR__COLUMN_ID does
     not exist.
   HR__IDS_NUMBER: column HR__COLUMN_ID contains int64_t values.
   HR__IDS_TEXT: column HR__COLUMN_ID contains char * values. */
enum hr__ids { HR__IDS_NONE, HR__IDS_COUNTED, HR__IDS_NUMBER, HR__IDS_TEXT };

struct hr__id_block; /* memory for id texts */

/* Row `row` is on line `line` of the input. The following rows, up to the row before the next jump, are on the lines
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
  bool has_others;            /* some row has a field that is not in HR_JOB_COMMON_FIELD_TABLE */
  bool spooled;               /* columns are temporary files, and rows are in order of submit time */
  bool distinct;              /* ids are known to be distinct, so they are not compared: ids that are texts or do not
                                 increase stay in files, too */
  bool streamed;              /* spooled, ids are not stored, and a row that is out of order is an error */
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
  builder->spooled = builder->streamed = true;
}
/* Makes the trace a spooled trace. Must be called before the first row is added. */
static inline void hr__builder_spool(struct hr_trace_builder *builder) {
  builder->spooled = true;
}
/* Adds a job for which hr_job_record_fault() returned NULL. `line` is the line of the job in the file. Returns
   HR_BAD_INPUT if the trace already has HR_NONE - 1 jobs, if some jobs have an id and others do not, or if a row of a
   streamed trace is out of order. Returns HR_IO_ERROR if a file of a streamed trace cannot be created or extended, and
   HR_NO_MEMORY. */
enum hr_status hr__builder_append(struct hr_trace_builder *builder, const struct hr_job_record *record, uint64_t line,
                                  struct hr_error *error);

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

/* Sets all column pointers of the trace, except those of ids, to the owned columns. The pointer of a column that is not
   owned becomes NULL. Adds the bytes of all owned columns, including ids, to column_bytes. `n_jobs` must be set. */
void hr__owned_trace_show_columns(struct hr__owned_trace *owned);
/* Releases the memory of `bytes` bytes at `at`, if they belong to a mapped file of the trace. The next access reads
   them again. `trace` must be part of a struct hr__owned_trace if it is mapped. */
void hr__trace_release(const struct hr_trace *trace, const void *at, size_t bytes);
/* Releases the memory of the rows [from, to) of all columns, and of all id texts. The next access reads them again.
   `from` must be a multiple of HR__SPOOL_BLOCK. Does nothing if the trace is in memory. */
void hr__trace_release_rows(const struct hr_trace *trace, uint32_t from, uint32_t to);
/* Call this after each row of a loop over all rows of a trace. It releases the memory of complete blocks of rows. */
static inline void hr__trace_row_done(const struct hr_trace *trace, uint32_t row) {
  if (trace->mapped && row % HR__SPOOL_BLOCK == HR__SPOOL_BLOCK - 1)
    hr__trace_release_rows(trace, row + 1 - HR__SPOOL_BLOCK, row + 1);
}
/* Sets the name tables of the trace to the owned name tables, and adds their bytes to column_bytes. */
void hr__owned_trace_show_names(struct hr__owned_trace *owned);

/* ---- Traces from jobs of other traces -------------------------------------------------------------- */

/* Builds a trace from jobs of other traces, record by record. All fields of a job are copied unless the caller
   changes them in the record. */

/* A trace under construction, and the number of its jobs. */
struct hr__rebuild {
  struct hr_trace_builder *builder;
  const char *source;
  uint32_t n_jobs;
  bool has_ids; /* at least one source trace had ids */
};

/* Begins a trace with the source, the format and the notes of `trace`. Returns HR_NO_MEMORY if out of memory. The
   caller must call hr__rebuild_end, also after an error. */
enum hr_status hr__rebuild_begin(struct hr__rebuild *rebuild, const struct hr_trace *trace, struct hr_error *error);
/* Begins a trace as hr__rebuild_begin does. Jobs must be added in order of submit time, and their ids must be distinct.
   If `trace` is mapped from files, the new trace is in temporary files, too. */
enum hr_status hr__rebuild_begin_in_order(struct hr__rebuild *rebuild, const struct hr_trace *trace,
                                          struct hr_error *error);
/* Adds the notes of another source trace, and records whether that trace has ids. Returns HR_NO_MEMORY if out of
   memory. */
enum hr_status hr__rebuild_add_notes(struct hr__rebuild *rebuild, const struct hr_trace *trace, struct hr_error *error);
/* Adds `record`, which was made from job `job` of `trace`. Returns HR_BAD_INPUT if the record is not a valid job; the
   error names `job`. Otherwise returns the result of hr_trace_builder_add(). */
enum hr_status hr__rebuild_add(struct hr__rebuild *rebuild, const struct hr_trace *trace, hr_job job,
                               const struct hr_job_record *record, struct hr_error *error);
/* Frees the state, and finishes the trace if `status` is HR_OK. `dated`: the trace has dates. Returns `status`, or the
   error of finishing: HR_BAD_INPUT if no job was added or an id is a duplicate, or HR_NO_MEMORY. `*created` is valid
   only if the result is HR_OK; the caller destroys it. */
enum hr_status hr__rebuild_end(struct hr__rebuild *rebuild, enum hr_status status, bool dated,
                               struct hr_trace **created, struct hr_error *error);

/* Adds `later_us` to all known instants of the record. */
void hr__record_move(struct hr_job_record *record, int64_t later_us);

/* Reports that memory ran out, and returns HR_NO_MEMORY. The error contains the source of `trace`. */
static inline enum hr_status hr__rebuild_no_memory(const struct hr_trace *trace, struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", trace->source);
}

#endif
