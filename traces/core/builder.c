/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds a trace row by row, and finishes it. Also frees traces, releases their memory, and builds traces from jobs of
 * other traces.
 *
 * Data layout: each column is an array. If the array is full, its capacity is doubled. The columns of spooled traces
 * are temporary files that are mapped into memory; they grow by a few blocks of rows at a time. A column is created as
 * soon as some row has a value other than "unknown". A trace with four known fields therefore has four columns.
 *
 * Job ids have three forms. As long as each id equals its row number, ids need no memory. As long as all ids are
 * integers in canonical form, an id needs 8 bytes. After the first id of any other form, all ids are texts.
 *
 * Rows become a trace in five steps: find duplicate ids, sort rows by (submit time, order in the file), trim the
 * columns, make times relative to the first submit, and move the columns to the trace. Sorting is a radix sort of
 * (key, row) pairs, so the time is linear in the number of rows.
 *
 * Invariant: every existing column has room for `capacity` rows, and rows [0, n) are set in each column.
 */

#include "traces/core/builder.h"

#include "base/containers.h"
#include "traces/core/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Columns in files ------------------------------------------------------------------------------ */

enum { PATH_BYTES = 4096 };

/* Returns the folder for temporary files: $TMPDIR if it is set, otherwise /var/tmp. /tmp is not the default, because it
   is often a file system in memory. */
static const char *spool_folder(void) {
  const char *named = getenv("TMPDIR");
  return named && *named ? named : "/var/tmp";
}

static int create_unnamed_file(void) {
  char path[PATH_BYTES];
  if (snprintf(path, sizeof path, "%s/headroom-XXXXXX", spool_folder()) >= (int)sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  int file = mkstemp(path);
  if (file < 0) return file;
  (void)unlink(path);
  (void)fcntl(file, F_SETFD, FD_CLOEXEC);
  return file;
}

/* Reserves disk space before it is mapped, because a write to mapped memory cannot report a full disk. Returns false
   with errno set if the space is not available. */
static bool make_room(int file, size_t bytes) {
  int number = posix_fallocate(file, 0, (off_t)bytes);
  errno = number;
  return number == 0;
}

/* Resizes a spooled column to `capacity` rows. `capacity` must not be below the previous capacity. Returns false
   with errno set if the file cannot be created or extended. */
static bool resize_spool(struct hr__column *column, uint32_t capacity) {
  size_t bytes = (size_t)capacity * column->width;
  bool is_new = column->spooled_bytes == 0;
  int file = is_new ? create_unnamed_file() : column->file;
  if (file < 0) return false;
  void *at = make_room(file, bytes) ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  if (at == MAP_FAILED) {
    int number = errno;
    if (is_new) close(file);
    errno = number;
    return false;
  }
  if (!is_new) munmap(column->at, column->spooled_bytes);
  column->at = at;
  column->spooled_bytes = bytes;
  column->file = file;
  return true;
}

/* Releases the memory of rows [from, to) of a spooled column. `from` must be the first row of a block. The next
   access to these rows reads them again from the file. */
static void spool_drop(const struct hr__column *column, uint32_t from, uint32_t to) {
  size_t begin = (size_t)from * column->width, end = (size_t)to * column->width;
  if (column->spooled_bytes && begin < end) (void)madvise((char *)column->at + begin, end - begin, MADV_DONTNEED);
}

static void free_column(struct hr__column *column) {
  if (column->spooled_bytes) {
    munmap(column->at, column->spooled_bytes);
    close(column->file);
  } else {
    free(column->at);
  }
  column->at = NULL;
  column->spooled_bytes = 0;
}

enum { FIRST_CAPACITY = 1024, SPOOLED_BLOCKS = 4 };

/* ---- Id texts -------------------------------------------------------------------------------------- */

enum { ID_BLOCK_BYTES = 1 << 18, SPOOLED_ID_BLOCK_BYTES = 1 << 22 };

struct hr__id_block {
  struct hr__id_block *next;
  size_t used, size;
  size_t spooled_bytes; /* size of the temporary file with the block; 0: the block is in memory */
  char text[];
};

/* Returns a block in a temporary file without a name. The address of the block never changes. Returns NULL if the file
   cannot be created or mapped. */
static struct hr__id_block *spooled_id_block(size_t size) {
  size_t bytes = sizeof(struct hr__id_block) + size;
  int file = create_unnamed_file();
  if (file < 0) return NULL;
  void *at = make_room(file, bytes) ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  close(file); /* the file exists until it is unmapped */
  if (at == MAP_FAILED) return NULL;
  struct hr__id_block *block = at;
  block->spooled_bytes = bytes;
  return block;
}

static void release_id_block(struct hr__id_block *block) {
  if (block && block->spooled_bytes) (void)madvise(block, block->spooled_bytes, MADV_DONTNEED);
}

/* Adds a block for at least `bytes` bytes. The block is in a file if the trace is spooled and a file can be created;
   otherwise it is in memory. Returns NULL if out of memory. */
static struct hr__id_block *add_id_block(struct hr_trace_builder *builder, size_t bytes) {
  size_t least = builder->spooled ? SPOOLED_ID_BLOCK_BYTES : ID_BLOCK_BYTES, size = bytes > least ? bytes : least;
  struct hr__id_block *block = builder->spooled ? spooled_id_block(size) : NULL;
  release_id_block(builder->id_blocks); /* it is full */
  if (!block) {
    block = malloc(sizeof *block + size);
    if (!block) return NULL;
    block->spooled_bytes = 0;
  }
  block->next = builder->id_blocks;
  block->used = 0;
  block->size = size;
  builder->id_bytes += sizeof *block + size;
  return builder->id_blocks = block;
}

static char *store_id(struct hr_trace_builder *builder, const char *text, size_t length) {
  struct hr__id_block *block = builder->id_blocks;
  if (!block || block->size - block->used < length + 1) block = add_id_block(builder, length + 1);
  if (!block) return NULL;
  char *stored = block->text + block->used;
  memcpy(stored, text, length);
  stored[length] = '\0';
  block->used += length + 1;
  return stored;
}

static void free_id_blocks(struct hr__id_block *blocks) {
  while (blocks) {
    struct hr__id_block *next = blocks->next;
    if (blocks->spooled_bytes)
      munmap(blocks, blocks->spooled_bytes);
    else
      free(blocks);
    blocks = next;
  }
}

/* ---- Creation and destruction ---------------------------------------------------------------------- */

struct hr_trace_builder *hr_trace_builder_create(const char *source, const char *format) {
  struct hr_trace_builder *builder = calloc(1, sizeof *builder);
  if (!builder) return NULL;
  builder->ids_increase = true;
  hr_job_record_init(&builder->blank);
  for (int id = 0; id < HR__N_COLUMNS; id++) builder->column[id].width = hr__columns[id].width;
  builder->source = strdup(source);
  builder->format = strdup(format);
  if (builder->source && builder->format) return builder;
  hr_trace_builder_destroy(builder);
  return NULL;
}

void hr_trace_builder_destroy(struct hr_trace_builder *builder) {
  if (!builder) return;
  for (int id = 0; id < HR__N_COLUMNS; id++) free_column(&builder->column[id]);
  for (int id = 0; id < HR__N_NAMES; id++) hr__names_finish(&builder->names[id]);
  for (uint32_t i = 0; i < builder->n_skipped_reasons; i++) free(builder->skipped[i].reason);
  free_id_blocks(builder->id_blocks);
  hr_notes_finish(&builder->notes);
  free(builder->skipped);
  free(builder->jumps);
  free(builder->source);
  free(builder->format);
  free(builder);
}

struct hr_notes *hr_trace_builder_notes(struct hr_trace_builder *builder) {
  return &builder->notes;
}

/* ---- Columns --------------------------------------------------------------------------------------- */

/* Moves all columns of a spooled trace into memory. Returns false if out of memory. */
static bool leave_spool(struct hr_trace_builder *builder) {
  for (int id = 0; id < HR__N_COLUMNS; id++) {
    struct hr__column *column = &builder->column[id];
    if (!column->at || !column->spooled_bytes) continue;
    void *at = malloc(column->spooled_bytes);
    if (!at) return false;
    memcpy(at, column->at, column->spooled_bytes); /* also the fields of the current row */
    free_column(column);
    column->at = at;
  }
  builder->spooled = false;
  return true;
}

static bool resize_column(struct hr_trace_builder *builder, struct hr__column *column, uint32_t capacity) {
  if (builder->spooled) {
    if (resize_spool(column, capacity)) return true;
    if (builder->streamed) {
      builder->spool_failure = errno;
      return false;
    }
    if (!leave_spool(builder)) return false;
  }
  return hr__array_resize(&column->at, capacity, column->width);
}

/* Returns the capacity after the next growth, in rows. Columns in memory double, to limit the number of copies.
   Columns in files grow by a few blocks, because a file grows without being copied. */
static uint32_t next_capacity(const struct hr_trace_builder *builder) {
  const uint32_t more = SPOOLED_BLOCKS * HR__SPOOL_BLOCK;
  if (builder->spooled) return builder->capacity > HR_NONE - more ? HR_NONE : builder->capacity + more;
  if (builder->capacity > HR_NONE / 2) return HR_NONE;
  return builder->capacity ? 2 * builder->capacity : FIRST_CAPACITY;
}

static bool grow(struct hr_trace_builder *builder) {
  uint32_t capacity = next_capacity(builder);
  for (int id = 0; id < HR__N_COLUMNS; id++) {
    struct hr__column *column = &builder->column[id];
    if ((column->at || hr__columns[id].required) && !resize_column(builder, column, capacity)) return false;
  }
  builder->capacity = capacity;
  return true;
}

static inline void set_entry(const struct hr__column *column, uint8_t width, uint32_t row, uint64_t value) {
  switch (width) {
  case 1:
    ((uint8_t *)column->at)[row] = (uint8_t)value;
    break;
  case 2:
    ((uint16_t *)column->at)[row] = (uint16_t)value;
    break;
  case 4:
    ((uint32_t *)column->at)[row] = (uint32_t)value;
    break;
  default:
    ((uint64_t *)column->at)[row] = value;
  }
}

/* Creates the column and sets all existing rows to "unknown". Returns false if memory or disk space ran out. */
static bool open_column(struct hr_trace_builder *builder, enum hr__column_id id) {
  struct hr__column *column = &builder->column[id];
  if (!resize_column(builder, column, builder->capacity)) return false;
  for (uint32_t row = 0; row < builder->n; row++) {
    set_entry(column, column->width, row, hr__columns[id].unknown);
    if (row % HR__SPOOL_BLOCK == HR__SPOOL_BLOCK - 1) spool_drop(column, row + 1 - HR__SPOOL_BLOCK, row + 1);
  }
  return true;
}

/* ---- Names and lines ------------------------------------------------------------------------------- */

static bool intern(struct hr__name_table *names, struct hr_text text, uint32_t *number) {
  *number = HR_NONE;
  if (!text.at || !text.length) return true;
  *number = hr__names_intern(names, text.at, strnlen(text.at, text.length));
  return *number != HR_NONE;
}

/* Returns the line of a row in the input file. */
static uint64_t builder_line(const struct hr_trace_builder *builder, uint32_t row) {
  size_t low = 0, high = builder->n_jumps - 1;
  if (builder->jumps[high].row <= row) low = high; /* fast path: the row is usually at or after the last jump */
  while (low < high) {
    size_t middle = (low + high + 1) / 2;
    if (builder->jumps[middle].row <= row)
      low = middle;
    else
      high = middle - 1;
  }
  return builder->jumps[low].line + (row - builder->jumps[low].row);
}

static bool put_line(struct hr_trace_builder *builder, uint64_t line) {
  if (builder->streamed)
    return true; /* line numbers are needed only to report duplicate ids, which streamed traces do not check */
  if (builder->n_jumps && builder_line(builder, builder->n) == line) return true;
  if (!HR__ARRAY_HAS_ROOM(builder->jumps, builder->n_jumps, builder->jumps_capacity)) return false;
  builder->jumps[builder->n_jumps++] = (struct hr__line_jump){builder->n, line};
  return true;
}

/* ---- Ids ------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(char *) == sizeof(int64_t), "a column of numbers becomes one of texts in its place");

/* Converts the ids of all rows from integers to texts, in the same column. Returns false if out of memory. */
static bool ids_to_text(struct hr_trace_builder *builder) {
  const struct hr__column *column = &builder->column[HR__COLUMN_ID];
  for (uint32_t row = 0; row < builder->n; row++) {
    char buffer[HR_JOB_ID_BUFFER];
    int64_t number;
    memcpy(&number, (const char *)column->at + (size_t)row * sizeof number, sizeof number);
    int length = snprintf(buffer, sizeof buffer, "%" PRId64, number);
    char *text = store_id(builder, buffer, (size_t)length);
    if (!text) return false;
    memcpy((char *)column->at + (size_t)row * sizeof text, &text, sizeof text);
    if (row % HR__SPOOL_BLOCK == HR__SPOOL_BLOCK - 1) spool_drop(column, row + 1 - HR__SPOOL_BLOCK, row + 1);
  }
  builder->ids = HR__IDS_TEXT;
  builder->ids_increase = false;
  return true;
}

static bool put_id_number(struct hr_trace_builder *builder, int64_t id) {
  bool increases = builder->n == 0 || id > builder->last_id;
  if (builder->spooled && !increases && !builder->distinct && !leave_spool(builder)) return false;
  int64_t *column = builder->column[HR__COLUMN_ID].at;
  column[builder->n] = id;
  builder->ids_increase = builder->ids_increase && increases;
  builder->last_id = id;
  return true;
}

/* Creates the id column as integers. The existing rows get their row numbers as ids. Returns false if out of memory. */
static bool ids_to_numbers(struct hr_trace_builder *builder) {
  struct hr__column *column = &builder->column[HR__COLUMN_ID];
  if (!resize_column(builder, column, builder->capacity)) return false;
  int64_t *number = column->at;
  for (uint32_t row = 0; row < builder->n; row++) {
    number[row] = (int64_t)row + 1;
    if (row % HR__SPOOL_BLOCK == HR__SPOOL_BLOCK - 1) spool_drop(column, row + 1 - HR__SPOOL_BLOCK, row + 1);
  }
  builder->last_id = builder->n;
  builder->ids = HR__IDS_NUMBER;
  return true;
}

static bool put_id(struct hr_trace_builder *builder, struct hr_text id) {
  if (!id.length) return true;
  if (builder->streamed) {
    builder->ids = HR__IDS_COUNTED;
    return true;
  }
  int64_t number = 0;
  bool is_number = builder->ids != HR__IDS_TEXT && hr__integer_parse(id, &number);
  if (builder->ids <= HR__IDS_COUNTED) {
    if (is_number && number == (int64_t)builder->n + 1) {
      builder->ids = HR__IDS_COUNTED;
      return true;
    }
    if (!ids_to_numbers(builder)) return false;
  }
  if (is_number) return put_id_number(builder, number);
  if (builder->spooled && !builder->distinct && !leave_spool(builder)) return false;
  if (builder->ids == HR__IDS_NUMBER && !ids_to_text(builder)) return false;
  char **column = builder->column[HR__COLUMN_ID].at;
  column[builder->n] = store_id(builder, id.at, strnlen(id.at, id.length));
  return column[builder->n] != NULL;
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

/* Sets one entry of the row. Creates the column if it does not exist. If the column does not exist and the value is
   unknown, nothing is done; this is the most frequent case. */
#define PUT(id, width, unknown, value)                                                                                 \
  if (builder->column[HR__COLUMN_##id].at || (uint64_t)(value) != (uint64_t)(unknown)) {                               \
    if (!builder->column[HR__COLUMN_##id].at && !open_column(builder, HR__COLUMN_##id)) return false;                  \
    set_entry(&builder->column[HR__COLUMN_##id], width, builder->n, (uint64_t)(value));                                \
  }
#define PUT_VALUE(id, member, type, record_type, kind, key, column, required, unknown, ...)                            \
  PUT(id, sizeof(type), unknown, record->member)
#define PUT_NAME(id, member, kind, key, column, section, set_id, ...)                                                  \
  if (!intern(&builder->names[HR__##set_id], record->member, &name)) return false;                                     \
  PUT(id, sizeof name, HR_NONE, name)

static bool put_others(struct hr_trace_builder *builder, const struct hr_job_record *record) {
  uint32_t name;
  HR_JOB_OTHER_FIELD_TABLE(PUT_VALUE, PUT_NAME, PUT_VALUE, HR_NO_FIELD)
  return true;
}

/* Returns true if only common fields of the record are known. The other fields are compared with a blank record by
   one memcmp(). Differences in padding can cause a false negative, which costs time but not correctness. */
static bool is_common(const struct hr_trace_builder *builder, const struct hr_job_record *record) {
  const size_t others = offsetof(struct hr_job_record, class_); /* the first field that is not common */
  return memcmp((const char *)record + others, (const char *)&builder->blank + others, sizeof *record - others) == 0;
}

static bool put_row(struct hr_trace_builder *builder, const struct hr_job_record *record) {
  uint32_t name;
  HR_JOB_COMMON_FIELD_TABLE(HR_NO_FIELD, PUT_VALUE, PUT_NAME)
  builder->has_others = builder->has_others || !is_common(builder, record);
  if (builder->has_others && !put_others(builder, record)) return false;
  return put_id(builder, record->id);
}
#undef PUT
#undef PUT_VALUE
#undef PUT_NAME

static int64_t last_submit_us(const struct hr_trace_builder *builder) {
  const int64_t *submit_us = builder->column[HR__COLUMN_SUBMIT].at;
  return submit_us[builder->n - 1];
}

/* Releases the memory of the last complete block of rows. */
static void drop_block(const struct hr_trace_builder *builder) {
  for (int id = 0; id < HR__N_COLUMNS; id++) spool_drop(&builder->column[id], builder->n - HR__SPOOL_BLOCK, builder->n);
}

static enum hr_status append_failed(const struct hr_trace_builder *builder, unsigned long long line,
                                    struct hr_error *error) {
  int number = builder->spool_failure;
  if (!number || number == ENOMEM) return hr_fail(error, HR_NO_MEMORY, "%s:%llu: out of memory", builder->source, line);
  return hr_fail(error, HR_IO_ERROR,
                 "%s:%llu: cannot create a file for its columns in '%s' (set TMPDIR to change the folder): %s",
                 builder->source, line, spool_folder(), strerror(number));
}

enum hr_status hr__builder_append(struct hr_trace_builder *builder, const struct hr_job_record *record, uint64_t line,
                                  struct hr_error *error) {
  unsigned long long at = line;
  if (builder->n >= HR_NONE - 1)
    return hr_fail(error, HR_BAD_INPUT, "%s:%llu: more than %u jobs", builder->source, at, HR_NONE - 1);
  if (builder->n && (builder->ids == HR__IDS_NONE) != (record->id.length == 0))
    return hr_fail(error, HR_BAD_INPUT, "%s:%llu: some jobs have an id and others do not", builder->source, at);
  if (builder->streamed && builder->n && record->submit_us < last_submit_us(builder))
    return hr_fail(error, HR_BAD_INPUT,
                   "%s:%llu: submitted before the previous row; rows of a streamed trace must be in order of submit "
                   "time: sort them, or run without --stream",
                   builder->source, at);
  bool ok = builder->n < builder->capacity || grow(builder);
  if (ok && builder->spooled && builder->n && record->submit_us < last_submit_us(builder)) ok = leave_spool(builder);
  if (!ok || !put_line(builder, line) || !put_row(builder, record)) return append_failed(builder, at, error);
  builder->n++;
  if (builder->spooled && builder->n % HR__SPOOL_BLOCK == 0) drop_block(builder);
  return HR_OK;
}

enum hr_status hr_trace_builder_add(struct hr_trace_builder *builder, const struct hr_job_record *record, uint64_t line,
                                    struct hr_error *error) {
  const char *fault = hr_job_record_fault(record);
  if (fault) return hr_fail(error, HR_BAD_INPUT, "%s:%llu: %s", builder->source, (unsigned long long)line, fault);
  return hr__builder_append(builder, record, line, error);
}

/* Counts the row under `reason`, which is added to the list of reasons if it is new. Returns NULL if out of memory. */
static struct hr_skipped_rows *count_skipped(struct hr_trace_builder *builder, const char *reason, uint64_t line) {
  builder->n_skipped++;
  for (uint32_t i = 0; i < builder->n_skipped_reasons; i++) {
    if (strcmp(builder->skipped[i].reason, reason) != 0) continue;
    builder->skipped[i].count++;
    return &builder->skipped[i];
  }
  char *copy = HR__ARRAY_RESIZE(builder->skipped, builder->n_skipped_reasons + 1) ? strdup(reason) : NULL;
  if (!copy) return NULL;
  struct hr_skipped_rows *rows = &builder->skipped[builder->n_skipped_reasons++];
  *rows = (struct hr_skipped_rows){.reason = copy, .count = 1, .first_line = line};
  return rows;
}

enum hr_status hr_trace_builder_skip(struct hr_trace_builder *builder, const char *reason, uint64_t line) {
  return count_skipped(builder, reason, line) ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr_trace_builder_leave_out(struct hr_trace_builder *builder, const char *reason, uint64_t line) {
  struct hr_skipped_rows *rows = count_skipped(builder, reason, line);
  if (rows) rows->no_fault = true;
  return rows ? HR_OK : HR_NO_MEMORY;
}

/* ---- Memory of traces ------------------------------------------------------------------------------ */

static bool is_within(const void *at, const void *begin, size_t bytes) {
  return bytes && (uintptr_t)at >= (uintptr_t)begin && (uintptr_t)at - (uintptr_t)begin < bytes;
}

void hr__trace_release(const struct hr_trace *trace, const void *at, size_t bytes) {
  if (!trace->mapped) return;
  const struct hr__owned_trace *owned = (const struct hr__owned_trace *)trace;
  bool mapped = is_within(at, owned->map, owned->map_bytes);
  for (int id = 0; !mapped && id < HR__N_COLUMNS; id++)
    mapped = is_within(at, owned->column[id].at, owned->column[id].spooled_bytes);
  size_t over = (uintptr_t)at % (size_t)sysconf(_SC_PAGESIZE);
  if (mapped) (void)madvise((char *)(uintptr_t)at - over, over + bytes, MADV_DONTNEED);
}

void hr__trace_release_rows(const struct hr_trace *trace, uint32_t from, uint32_t to) {
  if (!trace->mapped) return;
  const struct hr__owned_trace *owned = (const struct hr__owned_trace *)trace;
  for (int id = 0; id < HR__N_COLUMNS; id++) {
    const struct hr__column *column = &owned->column[id];
    spool_drop(column, from, to);
    const char *at =
        id == HR__COLUMN_ID ? (const void *)trace->id_number : hr__trace_column(trace, (enum hr__column_id)id);
    if (at && !column->at)
      hr__trace_release(trace, at + (size_t)from * hr__columns[id].width, (size_t)(to - from) * hr__columns[id].width);
  }
  for (struct hr__id_block *block = owned->id_blocks; block; block = block->next) release_id_block(block);
}

void hr_trace_destroy(struct hr_trace *trace) {
  if (!trace) return;
  struct hr__owned_trace *owned = (struct hr__owned_trace *)trace;
  for (int id = 0; id < HR__N_COLUMNS; id++) free_column(&owned->column[id]);
  for (int id = 0; id < HR__N_NAMES; id++) hr__names_finish(&owned->names[id]);
  for (uint32_t i = 0; i < trace->n_skipped_reasons; i++) free(trace->skipped[i].reason);
  free(trace->skipped);
  hr_notes_finish(&trace->notes);
  free_id_blocks(owned->id_blocks);
  if (owned->map) munmap(owned->map, owned->map_bytes);
  free(owned->row);
  free(owned->source);
  free(owned->format);
  free(owned);
}

/* ---- Finishing ------------------------------------------------------------------------------------- */

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

/* ---- Finishing: duplicates ------------------------------------------------------------------------- */

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
                 builder->source, (unsigned long long)builder_line(builder, row), hr__quote(hr__text_make(id), quoted),
                 (unsigned long long)builder_line(builder, first[row]));
}

static enum hr_status drop_duplicates(struct hr_trace_builder *builder, const uint32_t *first) {
  uint32_t kept = 0;
  for (uint32_t row = 0; row < builder->n; row++) {
    if (first[row] != row) {
      enum hr_status status = hr_trace_builder_skip(builder, "the job id is already used", builder_line(builder, row));
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

/* ---- Finishing: order and times -------------------------------------------------------------------- */

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

/* Converts rows [from, to): instants from the clock of the file to the clock of the trace, and unknown bounds on the
   number of GPUs to the requested number. */
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
    for (int id = 0; id < HR__N_COLUMNS; id++) spool_drop(&builder->column[id], from, to);
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

/* ---- Finishing: moving data to the trace ----------------------------------------------------------- */

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

static struct hr_trace *move_to(struct hr__owned_trace *owned, struct hr_trace_builder *builder) {
  move_columns(owned, builder);
  move_names(owned, builder);
  move_metadata(owned, builder);
  return &owned->trace;
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
  *trace = move_to(owned, builder);
  return HR_OK;
}

enum hr_status hr_trace_empty(const char *source, struct hr_trace **trace, struct hr_error *error) {
  struct hr_trace_builder *builder = hr_trace_builder_create(source, "no jobs");
  struct hr__owned_trace *owned = calloc(1, sizeof *owned);
  *trace = NULL;
  if (builder && owned)
    *trace = move_to(owned, builder);
  else
    free(owned);
  hr_trace_builder_destroy(builder);
  return *trace ? HR_OK : hr_fail(error, HR_NO_MEMORY, "%s: out of memory", source);
}

/* ---- Traces from jobs of other traces -------------------------------------------------------------- */

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
  /* Ids of the trace are known to be distinct, so they are not compared, and id texts are stored in files, too. */
  if (rebuild->builder && trace->mapped) rebuild->builder->spooled = rebuild->builder->distinct = true;
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
