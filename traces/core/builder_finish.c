/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts the rows of a builder to a trace in five steps: find duplicate ids, sort rows by (submit time, order in
   the file), make times relative to the first submit, trim the columns, and move them to the trace. Sorting is a
   radix sort of (key, row) pairs, so the time is linear in the number of rows. */

#include "base/containers.h"
#include "traces/core/builder.h"
#include "traces/core/fields.h"
#include "traces/core/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static enum hr_status no_memory(const struct hr_trace_builder *builder, struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", builder->source);
}

static inline void copy_entry(void *to_column, uint32_t to, const void *from_column, uint32_t from, uint8_t width) {
  switch (width) {
  case 1:
    ((uint8_t *)to_column)[to] = ((const uint8_t *)from_column)[from];
    break;
  case 2:
    ((uint16_t *)to_column)[to] = ((const uint16_t *)from_column)[from];
    break;
  case 4:
    ((uint32_t *)to_column)[to] = ((const uint32_t *)from_column)[from];
    break;
  default:
    ((uint64_t *)to_column)[to] = ((const uint64_t *)from_column)[from];
  }
}

/* ---- Duplicates ------------------------------------------------------------------------------------- */

static uint64_t hash_id(const char *text) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return hash;
}

static struct hr__keyed_row *rows_by_id(const struct hr_trace_builder *builder) {
  struct hr__keyed_row *rows = malloc(builder->n * sizeof *rows);
  if (!rows) return NULL;
  const void *column = builder->column[HR__COLUMN_ID].at;
  for (uint32_t row = 0; row < builder->n; row++) {
    bool number = builder->ids == HR__IDS_NUMBER;
    rows[row].key = number ? (uint64_t)((const int64_t *)column)[row] : hash_id(((char *const *)column)[row]);
    rows[row].row = row;
  }
  if (hr__sort_keyed_rows(rows, builder->n)) return rows;
  free(rows);
  return NULL;
}

static bool same_id(const struct hr_trace_builder *builder, uint32_t a, uint32_t b) {
  if (builder->ids == HR__IDS_NUMBER) return true; /* the rows have equal keys, and the key of a row is its id */
  char *const *text = builder->column[HR__COLUMN_ID].at;
  return strcmp(text[a], text[b]) == 0;
}

/* Finds duplicate ids among the rows of `run`, which have equal keys and are in file order. Sets `first[row]` of each
   duplicate to the first row with the same id. Returns the number of duplicates. */
static uint32_t mark_run(const struct hr_trace_builder *builder, struct hr__keyed_row *run, size_t count,
                         uint32_t *first) {
  uint32_t n_duplicates = 0;
  size_t n_distinct = 1;
  for (size_t i = 1; i < count; i++) {
    size_t j = 0;
    while (j < n_distinct && !same_id(builder, run[j].row, run[i].row)) j++;
    if (j == n_distinct) {
      run[n_distinct++] = run[i];
    } else {
      first[run[i].row] = run[j].row;
      n_duplicates++;
    }
  }
  return n_duplicates;
}

/* Sets `first[row]` to the first row with the same id, or to `row` if its id is not a duplicate. Returns false if
   out of memory. */
static bool find_duplicates(const struct hr_trace_builder *builder, uint32_t *first, uint32_t *n_duplicates) {
  struct hr__keyed_row *rows = rows_by_id(builder);
  if (!rows) return false;
  for (uint32_t row = 0; row < builder->n; row++) first[row] = row;
  *n_duplicates = 0;
  for (size_t begin = 0, end; begin < builder->n; begin = end) {
    for (end = begin + 1; end < builder->n && rows[end].key == rows[begin].key; end++) continue;
    if (end > begin + 1) *n_duplicates += mark_run(builder, rows + begin, end - begin, first);
  }
  free(rows);
  return true;
}

static enum hr_status duplicate_error(const struct hr_trace_builder *builder, const uint32_t *first,
                                      struct hr_error *error) {
  uint32_t row = 0;
  while (first[row] == row) row++;
  const void *ids = builder->column[HR__COLUMN_ID].at;
  struct hr_trace view = {.id_number = builder->ids == HR__IDS_NUMBER ? ids : NULL,
                          .id_text = builder->ids == HR__IDS_TEXT ? ids : NULL};
  char buffer[HR_JOB_ID_BUFFER], quoted[HR__QUOTE_BYTES];
  const char *id = hr_trace_job_id(&view, (hr_job){row}, buffer);
  return hr_fail(error, HR_BAD_INPUT, "%s:%llu: job id '%s' is already used on line %llu; ids must be distinct",
                 builder->source, (unsigned long long)hr__builder_line(builder, row),
                 hr__quote((struct hr_text){id, strlen(id)}, quoted),
                 (unsigned long long)hr__builder_line(builder, first[row]));
}

static enum hr_status drop_duplicates(struct hr_trace_builder *builder, const uint32_t *first) {
  uint32_t kept = 0;
  for (uint32_t row = 0; row < builder->n; row++) {
    if (first[row] != row) {
      enum hr_status status =
          hr_trace_builder_skip(builder, "the job id is already used", hr__builder_line(builder, row));
      if (status != HR_OK) return status;
      continue;
    }
    for (int id = 0; id < HR__N_COLUMNS; id++) {
      const struct hr__column *column = &builder->column[id];
      if (column->at) copy_entry(column->at, kept, column->at, row, column->width);
    }
    kept++;
  }
  builder->n = kept;
  return HR_OK;
}

static enum hr_status settle_duplicates(struct hr_trace_builder *builder, bool lenient, struct hr_error *error) {
  /* duplicates are impossible, or cannot be found because a streamed trace does not store ids */
  if (builder->ids <= HR__IDS_COUNTED || builder->ids_increase || builder->distinct) return HR_OK;
  uint32_t *first = malloc(builder->n * sizeof *first), n_duplicates = 0;
  enum hr_status status = HR_OK;
  if (!first || !find_duplicates(builder, first, &n_duplicates))
    status = no_memory(builder, error);
  else if (n_duplicates && !lenient)
    status = duplicate_error(builder, first, error);
  else if (n_duplicates && drop_duplicates(builder, first) != HR_OK)
    status = no_memory(builder, error);
  free(first);
  return status;
}

/* ---- Order and times -------------------------------------------------------------------------------- */

static bool is_sorted(const struct hr_trace_builder *builder) {
  const int64_t *submit_us = builder->column[HR__COLUMN_SUBMIT].at;
  for (uint32_t row = 1; row < builder->n; row++)
    if (submit_us[row] < submit_us[row - 1]) return false;
  return true;
}

static int64_t first_submit(const struct hr_trace_builder *builder) {
  const int64_t *submit_us = builder->column[HR__COLUMN_SUBMIT].at;
  int64_t first = submit_us[0];
  if (builder->spooled) return first;
  for (uint32_t row = 1; row < builder->n; row++)
    if (submit_us[row] < first) first = submit_us[row];
  return first;
}

/* Returns the row numbers in order of submit time; NULL if out of memory. The caller frees them. */
static uint32_t *sorted_rows(const struct hr_trace_builder *builder, int64_t origin_us) {
  struct hr__keyed_row *rows = malloc(builder->n * sizeof *rows);
  uint32_t *order = malloc(builder->n * sizeof *order);
  const int64_t *submit_us = builder->column[HR__COLUMN_SUBMIT].at;
  for (uint32_t row = 0; rows && row < builder->n; row++)
    rows[row] = (struct hr__keyed_row){(uint64_t)(submit_us[row] - origin_us), row};
  bool ok = rows && order && hr__sort_keyed_rows(rows, builder->n);
  for (uint32_t i = 0; ok && i < builder->n; i++) order[i] = rows[i].row;
  free(rows);
  if (ok) return order;
  free(order);
  return NULL;
}

static bool reorder_column(struct hr__column *column, const uint32_t *order, uint32_t n) {
  if (!column->at) return true;
  void *sorted = malloc((size_t)n * column->width);
  if (!sorted) return false;
  for (uint32_t i = 0; i < n; i++) copy_entry(sorted, i, column->at, order[i], column->width);
  free(column->at);
  column->at = sorted;
  return true;
}

/* Sorts the columns and sets `*order` to the sorted row numbers. If the rows are already in order, `*order` stays
   NULL. Returns false if out of memory. */
static bool sort_rows(struct hr_trace_builder *builder, int64_t origin_us, uint32_t **order) {
  if (builder->spooled || is_sorted(builder)) return true;
  *order = sorted_rows(builder, origin_us);
  if (!*order) return false;
  for (int id = 0; id < HR__N_COLUMNS; id++)
    if (!reorder_column(&builder->column[id], *order, builder->n)) return false;
  return true;
}

/* Makes a column of instants relative to `origin_us`. INT64_MIN, the unknown value of a record, becomes
   HR_UNKNOWN_US. */
static void rebase_instants(int64_t *us, uint32_t from, uint32_t to, int64_t origin_us) {
  for (uint32_t row = from; row < to; row++) us[row] = us[row] == INT64_MIN ? HR_UNKNOWN_US : us[row] - origin_us;
}

/* Sets the minimum or the maximum number of GPUs of each job to the requested number, if it is unknown. `bound` is
   the column of minima or of maxima. */
static void fill_bounds(uint32_t *bound, const uint32_t *gpus, uint32_t from, uint32_t to) {
  for (uint32_t row = from; row < to; row++)
    if (bound[row] == HR_NONE) bound[row] = gpus[row];
}

/* Converts rows [from, to) from the clock of the file to the clock of the trace. */
static void convert_rows(const struct hr_trace_builder *builder, uint32_t from, uint32_t to, int64_t origin_us) {
  for (int id = 0; id < HR__N_COLUMNS; id++) {
    void *column = builder->column[id].at;
    if (!column) continue;
    if (hr__columns[id].kind == HR__INSTANT) rebase_instants(column, from, to, origin_us);
    if (hr__columns[id].kind == HR__GPU_BOUND) fill_bounds(column, builder->column[HR__COLUMN_GPUS].at, from, to);
  }
}

/* Converts all rows block by block, so that a spooled column is never completely in memory. */
static void convert_columns(const struct hr_trace_builder *builder, int64_t origin_us) {
  for (uint32_t from = 0, to; from < builder->n; from = to) {
    to = builder->n - from > HR__SPOOL_BLOCK ? from + HR__SPOOL_BLOCK : builder->n;
    convert_rows(builder, from, to, origin_us);
    for (int id = 0; id < HR__N_COLUMNS; id++) hr__spool_drop(&builder->column[id], from, to);
  }
}

/* Frees the unused part of each column. Returns false if out of memory. */
static bool trim_columns(struct hr_trace_builder *builder) {
  if (builder->spooled) return true; /* files grow by a few blocks only, so the unused part is small */
  for (int id = 0; id < HR__N_COLUMNS; id++) {
    struct hr__column *column = &builder->column[id];
    if (column->at && !hr__array_resize(&column->at, builder->n, column->width)) return false;
  }
  builder->capacity = builder->n;
  return true;
}

/* ---- Handing over ----------------------------------------------------------------------------------- */

void hr__owned_trace_show_columns(struct hr__owned_trace *owned) {
  struct hr_trace *trace = &owned->trace;
  for (int id = 0; id < HR__N_COLUMNS; id++) {
    if (id != HR__COLUMN_ID) hr__trace_set_column(trace, (enum hr__column_id)id, owned->column[id].at);
    if (owned->column[id].at) trace->column_bytes += (size_t)trace->n_jobs * owned->column[id].width;
  }
}

static void move_columns(struct hr__owned_trace *owned, struct hr_trace_builder *builder) {
  struct hr_trace *trace = &owned->trace;
  for (int id = 0; id < HR__N_COLUMNS; id++) {
    owned->column[id] = builder->column[id];
    builder->column[id].at = NULL;
    builder->column[id].spooled_bytes = 0;
  }
  trace->mapped = builder->spooled;
  hr__owned_trace_show_columns(owned);
  const void *ids = owned->column[HR__COLUMN_ID].at;
  trace->id_number = builder->ids == HR__IDS_NUMBER ? ids : NULL;
  trace->id_text = builder->ids == HR__IDS_TEXT ? ids : NULL;
  owned->id_blocks = builder->id_blocks;
  builder->id_blocks = NULL;
  trace->column_bytes += builder->id_bytes;
}

void hr__owned_trace_show_names(struct hr__owned_trace *owned) {
  for (int id = 0; id < HR__N_NAMES; id++) {
    const struct hr__name_table *names = &owned->names[id];
    *hr__trace_names(&owned->trace, (enum hr__names_id)id) =
        (struct hr_names){names->count, (const char *const *)names->text};
    owned->trace.column_bytes += names->bytes;
  }
}

static void move_names(struct hr__owned_trace *owned, struct hr_trace_builder *builder) {
  memcpy(owned->names, builder->names, sizeof owned->names);
  memset(builder->names, 0, sizeof builder->names);
  hr__owned_trace_show_names(owned);
}

static void move_metadata(struct hr__owned_trace *owned, struct hr_trace_builder *builder) {
  struct hr_trace *trace = &owned->trace;
  trace->source = owned->source = builder->source;
  trace->format = owned->format = builder->format;
  builder->source = builder->format = NULL;
  trace->notes = builder->notes;
  builder->notes = (struct hr_notes){0};
  trace->skipped = builder->skipped;
  trace->n_skipped_reasons = builder->n_skipped_reasons;
  trace->n_skipped = builder->n_skipped;
  builder->skipped = NULL;
  builder->n_skipped_reasons = 0;
}

static enum hr_status no_jobs(const struct hr_trace_builder *builder, struct hr_error *error) {
  if (!builder->n_skipped) return hr_fail(error, HR_BAD_INPUT, "%s: contains no jobs", builder->source);
  const struct hr_skipped_rows *skipped = &builder->skipped[0];
  char rows[60] = "its only row is";
  if (builder->n_skipped > 1) snprintf(rows, sizeof rows, "all %llu rows are", (unsigned long long)builder->n_skipped);
  return hr_fail(error, HR_BAD_INPUT, "%s: no valid job: %s bad, %son line %llu: %s", builder->source, rows,
                 builder->n_skipped == 1 ? "" : "the first ", (unsigned long long)skipped->first_line, skipped->reason);
}

enum hr_status hr_trace_builder_finish(struct hr_trace_builder *builder, bool dated, bool lenient,
                                       struct hr_trace **trace, struct hr_error *error) {
  *trace = NULL;
  if (!builder->n) return no_jobs(builder, error);
  enum hr_status status = settle_duplicates(builder, lenient, error);
  if (status != HR_OK) return status;
  int64_t origin_us = first_submit(builder);
  uint32_t *order = NULL;
  struct hr__owned_trace *owned = calloc(1, sizeof *owned);
  if (!owned || !sort_rows(builder, origin_us, &order) || !trim_columns(builder)) {
    free(owned);
    free(order);
    return no_memory(builder, error);
  }
  convert_columns(builder, origin_us);
  owned->trace.n_jobs = builder->n;
  owned->trace.origin_us = origin_us;
  owned->trace.dated = dated;
  owned->trace.has_ids = builder->ids != HR__IDS_NONE;
  owned->trace.row = owned->row = order;
  owned->trace.column_bytes = order ? builder->n * sizeof *order : 0;
  move_columns(owned, builder);
  move_names(owned, builder);
  move_metadata(owned, builder);
  *trace = &owned->trace;
  return HR_OK;
}

enum hr_status hr_trace_empty(const char *source, struct hr_trace **trace, struct hr_error *error) {
  struct hr_trace_builder *builder = hr_trace_builder_create(source, "no jobs");
  struct hr__owned_trace *owned = calloc(1, sizeof *owned);
  *trace = NULL;
  if (builder && owned) {
    move_columns(owned, builder);
    move_names(owned, builder);
    move_metadata(owned, builder);
    *trace = &owned->trace;
  } else {
    free(owned);
  }
  hr_trace_builder_destroy(builder);
  return *trace ? HR_OK : hr_fail(error, HR_NO_MEMORY, "%s: out of memory", source);
}

/* ---- Traces from jobs of other traces ------------------------------------------------------------------ */

void hr__record_move(struct hr_job_record *record, int64_t later_us) {
#define MOVE(id, member, type, record_type, kind, ...)                                                                 \
  if (HR__##kind == HR__INSTANT && (int64_t)record->member != INT64_MIN)                                               \
    record->member = (record_type)((int64_t)record->member + later_us);
  HR_JOB_COLUMN_TABLE(MOVE, HR_NO_FIELD)
#undef MOVE
}

enum hr_status hr__rebuild_add_notes(struct hr__rebuild *rebuild, const struct hr_trace *trace,
                                     struct hr_error *error) {
  struct hr_notes *notes = hr_trace_builder_notes(rebuild->builder);
  enum hr_status status = HR_OK;
  for (size_t i = 0; status == HR_OK && i < trace->notes.count; i++)
    status = hr_notes_add(notes, "%s", trace->notes.text[i]);
  rebuild->has_ids = rebuild->has_ids || trace->has_ids;
  return status == HR_OK ? HR_OK : hr__rebuild_no_memory(trace, error);
}

enum hr_status hr__rebuild_begin(struct hr__rebuild *rebuild, const struct hr_trace *trace, struct hr_error *error) {
  *rebuild =
      (struct hr__rebuild){.builder = hr_trace_builder_create(trace->source, trace->format), .source = trace->source};
  return rebuild->builder ? hr__rebuild_add_notes(rebuild, trace, error) : hr__rebuild_no_memory(trace, error);
}

enum hr_status hr__rebuild_begin_in_order(struct hr__rebuild *rebuild, const struct hr_trace *trace,
                                          struct hr_error *error) {
  enum hr_status status = hr__rebuild_begin(rebuild, trace, error);
  if (rebuild->builder && trace->mapped) hr__builder_spool_distinct(rebuild->builder);
  return status;
}

enum hr_status hr__rebuild_add(struct hr__rebuild *rebuild, const struct hr_trace *trace, hr_job job,
                               const struct hr_job_record *record, struct hr_error *error) {
  const char *fault = hr_job_record_fault(record);
  char id[HR_JOB_ID_BUFFER];
  if (fault)
    return hr_fail(error, HR_BAD_INPUT, "%s: job %.60s: %s after the change", trace->source,
                   hr_trace_job_id(trace, job, id), fault);
  rebuild->n_jobs++;
  return hr_trace_builder_add(rebuild->builder, record, rebuild->n_jobs, error);
}

enum hr_status hr__rebuild_end(struct hr__rebuild *rebuild, enum hr_status status, bool dated,
                               struct hr_trace **created, struct hr_error *error) {
  if (status == HR_OK && !rebuild->n_jobs)
    status = hr_fail(error, HR_BAD_INPUT, "%s: no jobs are left", rebuild->source);
  if (status == HR_OK) status = hr_trace_builder_finish(rebuild->builder, dated, false, created, error);
  if (status == HR_OK) (*created)->has_ids = (*created)->has_ids && rebuild->has_ids;
  hr_trace_builder_destroy(rebuild->builder);
  return status;
}
