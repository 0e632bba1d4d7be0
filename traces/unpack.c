/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A packed trace is mapped, and then every byte of it is looked at once: the table of sections has to lay the file out
 * without a gap, each section has to have its checksum, each column to hold what it may. Checksums tell damage; the
 * rest is for files that were made to do harm. Columns are gone through block by block, so that a block is checked
 * while it is in the cache from being summed.
 */

#include "traces/quote.h"
#include "traces/unpack_columns.h"
#include "traces/unpacking.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_ENTRIES = 1 << 15, MANY_ENTRIES = 1 << 20 };

/* ---- The file --------------------------------------------------------------------------------------- */

/* A pipe is not even opened: who waits to write to it would take that for its reader. */
static int open_plain(const char *path, struct stat *info) {
  if (stat(path, info) != 0 || !S_ISREG(info->st_mode)) return -1;
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return descriptor;
  if (fstat(descriptor, info) == 0 && S_ISREG(info->st_mode)) return descriptor;
  close(descriptor);
  return -1;
}

bool hr__is_packed(const char *path) {
  struct stat info;
  char magic[HR__PACKED_MAGIC_BYTES];
  int descriptor = open_plain(path, &info);
  if (descriptor < 0) return false;
  bool is =
      pread(descriptor, magic, sizeof magic, 0) == sizeof magic && memcmp(magic, HR__PACKED_MAGIC, sizeof magic) == 0;
  close(descriptor);
  return is;
}

static enum hr_status map_file(struct hr__unpacking *unpacking) {
  struct stat info;
  int descriptor = open_plain(unpacking->path, &info);
  if (descriptor < 0)
    return hr_fail(unpacking->error, HR_BAD_INPUT, "%s: cannot be read: %s", unpacking->path, strerror(errno));
  struct hr__owned_trace *owned = unpacking->owned;
  owned->map_bytes = (size_t)info.st_size;
  owned->map = mmap(NULL, owned->map_bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  int number = errno;
  close(descriptor);
  if (owned->map == MAP_FAILED) {
    owned->map = NULL;
    return hr_fail(unpacking->error, number == ENOMEM ? HR_NO_MEMORY : HR_IO_ERROR, "%s: cannot be mapped: %s",
                   unpacking->path, strerror(number));
  }
  unpacking->map = owned->map;
  return HR_OK;
}

/* ---- Header and table ------------------------------------------------------------------------------- */

static enum hr_status refuse_size(const struct hr__unpacking *unpacking, unsigned long long wanted) {
  return hr_fail(unpacking->error, HR_BAD_INPUT,
                 "%s: is a damaged packed trace: it should have %llu bytes and has %zu%s; make it anew with 'headroom "
                 "trace pack'",
                 unpacking->path, wanted, unpacking->owned->map_bytes,
                 unpacking->owned->map_bytes < wanted ? ": it was cut off" : "");
}

static enum hr_status check_header(struct hr__unpacking *unpacking) {
  size_t there = unpacking->owned->map_bytes;
  const struct hr__packed_header *header = unpacking->header = (const void *)unpacking->map;
  if (!hr__is_little_endian())
    return hr_fail(unpacking->error, HR_BAD_INPUT, "%s: packed traces are little-endian, and this machine is not",
                   unpacking->path);
  if (there < offsetof(struct hr__packed_header, file_bytes)) return refuse_size(unpacking, sizeof *header);
  if (header->version != HR__PACKED_VERSION)
    return hr_fail(unpacking->error, HR_BAD_INPUT,
                   "%s: is a packed trace of version %u; this program reads version %d: use the program that packed it "
                   "or a newer one, or pack the trace again with this one",
                   unpacking->path, (unsigned)header->version, HR__PACKED_VERSION);
  if (there < sizeof *header) return refuse_size(unpacking, sizeof *header);
  if (header->file_bytes != there) return refuse_size(unpacking, header->file_bytes);
  return HR_OK;
}

static uint64_t head_checksum(const struct hr__unpacking *unpacking, size_t table_bytes) {
  struct hr__packed_header header = *unpacking->header;
  header.checksum = 0;
  XXH3_64bits_reset(unpacking->summing);
  XXH3_64bits_update(unpacking->summing, &header, sizeof header);
  XXH3_64bits_update(unpacking->summing, unpacking->sections, table_bytes);
  return XXH3_64bits_digest(unpacking->summing);
}

static enum hr_status check_head(struct hr__unpacking *unpacking) {
  const struct hr__packed_header *header = unpacking->header;
  size_t table_bytes = header->n_sections * sizeof *unpacking->sections;
  unpacking->sections = (const void *)(unpacking->map + sizeof *header);
  if (header->n_sections > HR_PACKED_MOST_SECTIONS || table_bytes > header->file_bytes - sizeof *header)
    return hr__unpack_refuse(unpacking, "its header does not fit its size");
  if (head_checksum(unpacking, table_bytes) != header->checksum)
    return hr__unpack_refuse(unpacking, "its header has another checksum than it should");
  if (header->n_jobs == 0 || header->n_jobs >= HR_NONE)
    return hr__unpack_refuse(unpacking, "it has no job, or more than there may be");
  if (header->origin_us < -HR_MAX_INPUT_US || header->origin_us > HR_MAX_INPUT_US)
    return hr__unpack_refuse(unpacking, "its first submit is out of range");
  if (header->unused || header->flags & ~(uint64_t)(HR__PACKED_DATED | HR__PACKED_IDS_TOLD))
    return hr__unpack_refuse(unpacking, "its header says what this program does not know");
  return HR_OK;
}

static bool is_zero(const char *at, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i++)
    if (at[i]) return false;
  return true;
}

/* Sections lie one behind the other to the file's end. */
static enum hr_status check_layout(const struct hr__unpacking *unpacking) {
  const struct hr__packed_header *header = unpacking->header;
  uint64_t end = sizeof *header + header->n_sections * sizeof *unpacking->sections;
  for (uint32_t i = 0; i < header->n_sections; i++) {
    const struct hr__packed_section *section = &unpacking->sections[i];
    if (section->offset != hr__packed_align(end) || section->offset > header->file_bytes ||
        section->bytes > header->file_bytes - section->offset || section->bytes == 0 ||
        section->name[HR_PACKED_NAME_BYTES - 1] || !is_zero(unpacking->map + end, section->offset - end))
      return hr__unpack_refuse(unpacking, "its sections do not follow each other");
    end = section->offset + section->bytes;
  }
  return end == header->file_bytes ? HR_OK : hr__unpack_refuse(unpacking, "something follows its last section");
}

/* ---- Columns ---------------------------------------------------------------------------------------- */

static enum hr_status check_column(struct hr__unpacking *unpacking, const struct hr__packed_section *section,
                                   enum hr__column_id id, size_t width) {
  const struct hr_trace *trace = &unpacking->owned->trace;
  const char *at = unpacking->map + section->offset;
  bool fine = true;
  int64_t last_us = 0;
  XXH3_64bits_reset(unpacking->summing);
  for (uint32_t from = 0, count; from < trace->n_jobs; from += count, at += count * width) {
    count = trace->n_jobs - from < BLOCK_ENTRIES ? trace->n_jobs - from : BLOCK_ENTRIES;
    XXH3_64bits_update(unpacking->summing, at, count * width);
    fine = fine && hr__column_is_fine(trace, id, at, count);
    if (id == HR__COLUMN_SUBMIT) fine = fine && hr__submits_are_fine((const void *)at, count, &last_us);
    hr__unpack_drop(unpacking, at, count * width);
  }
  if (XXH3_64bits_digest(unpacking->summing) != section->checksum)
    return hr__unpack_refuse_section(unpacking, section, "has another checksum than it should");
  return fine ? HR_OK
              : hr__unpack_refuse_section(unpacking, section, "holds a value that it may not hold, or is not sorted");
}

static enum hr_status take_column(struct hr__unpacking *unpacking, const char *member, enum hr__column_id id,
                                  size_t width, const void **column) {
  const struct hr__packed_section *section = hr__unpack_find(unpacking, member);
  if (!section) return HR_OK;
  uint64_t n_jobs = unpacking->header->n_jobs;
  if (section->entries != n_jobs || section->bytes != n_jobs * width)
    return hr__unpack_refuse_section(unpacking, section, "has not one entry for each job");
  *column = unpacking->map + section->offset;
  return check_column(unpacking, section, id, width);
}

static enum hr_status take_rows(struct hr__unpacking *unpacking) {
  const struct hr__packed_section *section = hr__unpack_find(unpacking, "row");
  if (!section) return HR_OK;
  struct hr_trace *trace = &unpacking->owned->trace;
  if (section->entries != trace->n_jobs || section->bytes != (uint64_t)trace->n_jobs * sizeof *trace->row)
    return hr__unpack_refuse_section(unpacking, section, "has not one entry for each job");
  enum hr_status status = hr__unpack_check_sum(unpacking, section);
  bool fine = true;
  trace->row = (const void *)(unpacking->map + section->offset);
  if (status == HR_OK && hr__rows_are_fine(trace->row, trace->n_jobs, &fine) != HR_OK)
    status = hr__unpack_no_memory(unpacking);
  return fine ? status : hr__unpack_refuse_section(unpacking, section, "has not each row once");
}

static enum hr_status take_columns(struct hr__unpacking *unpacking) {
  struct hr_trace *trace = &unpacking->owned->trace;
  const void *column;
  enum hr_status status = HR_OK;
#define TAKE_COLUMN(id, member, width, ...)                                                                            \
  column = NULL;                                                                                                       \
  if (status == HR_OK) status = take_column(unpacking, #member, HR__COLUMN_##id, width, &column);                      \
  trace->member = column;
  HR__COLUMN_TABLE(TAKE_COLUMN)
#undef TAKE_COLUMN
  column = NULL;
  if (status == HR_OK) status = take_column(unpacking, "id_number", HR__COLUMN_ID, sizeof(int64_t), &column);
  trace->id_number = column;
  if (status == HR_OK && (!trace->submit_us || !trace->work_us || !trace->gpus))
    status = hr__unpack_refuse(unpacking, "submits, run times or GPUs are missing");
  return status == HR_OK ? take_rows(unpacking) : status;
}

/* What a newer program may have added would be missed in silence. */
static enum hr_status refuse_unknown(const struct hr__unpacking *unpacking) {
  for (uint32_t i = 0; i < unpacking->header->n_sections; i++) {
    if (unpacking->taken[i]) continue;
    const char *name = unpacking->sections[i].name;
    char quoted[HR__QUOTE_BYTES];
    return hr_fail(unpacking->error, HR_BAD_INPUT,
                   "%s: has a section '%s' that this program does not know, or has it twice: use the program that "
                   "packed it or a newer one, or pack the trace again with this one",
                   unpacking->path, hr__quote((struct hr_text){name, strlen(name)}, quoted));
  }
  return HR_OK;
}

/* ---- From end to end -------------------------------------------------------------------------------- */

static enum hr_status take_head(struct hr__unpacking *unpacking) {
  enum hr_status status = map_file(unpacking);
  if (status == HR_OK) status = check_header(unpacking);
  if (status == HR_OK) status = check_head(unpacking);
  if (status == HR_OK) status = check_layout(unpacking);
  if (status != HR_OK) return status;
  struct hr__owned_trace *owned = unpacking->owned;
  owned->trace.n_jobs = (uint32_t)unpacking->header->n_jobs;
  owned->trace.origin_us = unpacking->header->origin_us;
  owned->trace.dated = unpacking->header->flags & HR__PACKED_DATED;
  owned->trace.ids_told = unpacking->header->flags & HR__PACKED_IDS_TOLD;
  owned->trace.column_bytes = owned->map_bytes;
  owned->trace.mapped = true;
  owned->trace.source = owned->source = strdup(unpacking->path);
  owned->trace.format = owned->format = strdup("packed");
  return owned->source && owned->format ? HR_OK : hr__unpack_no_memory(unpacking);
}

static enum hr_status check_together(const struct hr__unpacking *unpacking) {
  const struct hr_trace *trace = &unpacking->owned->trace;
  const char *fault = NULL;
  for (uint32_t from = 0, count; !fault && from < trace->n_jobs; from += count) {
    count = trace->n_jobs - from < MANY_ENTRIES ? trace->n_jobs - from : MANY_ENTRIES;
    fault = hr__columns_fault(trace, from, from + count);
    hr__unpack_drop(unpacking, unpacking->map, unpacking->owned->map_bytes); /* what there is of it */
  }
  return fault ? hr__unpack_refuse(unpacking, fault) : HR_OK;
}

static enum hr_status take_all(struct hr__unpacking *unpacking) {
  enum hr_status status = take_head(unpacking);
  if (status == HR_OK) status = hr__unpack_names(unpacking);
  if (status == HR_OK) status = take_columns(unpacking);
  if (status == HR_OK) status = hr__unpack_id_texts(unpacking);
  if (status == HR_OK) status = hr__unpack_notes(unpacking);
  if (status == HR_OK) status = hr__unpack_skipped(unpacking);
  if (status == HR_OK) status = refuse_unknown(unpacking);
  return status == HR_OK ? check_together(unpacking) : status;
}

enum hr_status hr__unpack(const char *path, bool streamed, struct hr_trace **trace, struct hr_error *error) {
  struct hr__unpacking unpacking = {.path = path, .streamed = streamed, .error = error};
  unpacking.owned = calloc(1, sizeof *unpacking.owned);
  if (!unpacking.owned) return hr__unpack_no_memory(&unpacking);
  unpacking.summing = XXH3_createState();
  enum hr_status status = unpacking.summing ? take_all(&unpacking) : hr__unpack_no_memory(&unpacking);
  XXH3_freeState(unpacking.summing);
  if (status == HR_OK)
    *trace = &unpacking.owned->trace;
  else
    hr_trace_destroy(&unpacking.owned->trace);
  return status;
}
