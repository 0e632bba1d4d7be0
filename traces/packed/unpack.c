/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Maps a packed trace into memory and checks all of it once.
 *
 * Three checks are made. The section table must cover the file without gaps. Each section must match its checksum,
 * which detects accidental damage. Each column must contain valid values, which also rejects malicious files. A
 * column is checked block by block. The values of a block are checked immediately after the block was added to the
 * checksum, while it is still in the cache.
 *
 * Each column has one range of valid values, in modular arithmetic. For example, "HR_NONE or below 7" is the range of
 * eight values that begins at HR_NONE and wraps around to 0. A value therefore needs one subtraction and one
 * comparison, and the compiler vectorizes the loop. Millions of jobs are checked in milliseconds. A job is accepted if
 * and only if hr_job_record_fault() accepts it.
 */

#include "base/process.h"
#include "traces/core/builder.h"
#include "traces/core/numbers.h"
#include "traces/packed/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

struct unpacking {
  const char *path;
  struct hr__owned_trace *owned;
  const char *map;
  const struct hr__packed_header *header;
  const struct hr__packed_section *sections;
  bool taken[HR_PACKED_MAX_SECTIONS]; /* sections that were recognized */
  XXH3_state_t *summing;              /* state of the checksum of the current section */
  bool streamed;                      /* ids that are texts are not kept */
  bool releases;                      /* memory of pages is released after use */
  struct hr_error *error;
};

enum { BLOCK_BYTES = 1 << 18 };

static enum hr_status no_memory(const struct unpacking *unpacking) {
  return hr_fail(unpacking->error, HR_NO_MEMORY, "%s: out of memory", unpacking->path);
}

static enum hr_status refuse(const struct unpacking *unpacking, const char *what) {
  return hr_fail(unpacking->error, HR_BAD_INPUT,
                 "%s: damaged packed trace: %s; create it again with 'headroom trace pack'", unpacking->path, what);
}

static enum hr_status refuse_section(const struct unpacking *unpacking, const struct hr__packed_section *section,
                                     const char *what) {
  char text[2 * HR_PACKED_NAME_BYTES + 100];
  snprintf(text, sizeof text, "its section '%s' %s", section->name, what);
  return refuse(unpacking, text);
}

/* Returns the section of a column and marks it as recognized; NULL if the section does not exist. */
static const struct hr__packed_section *find_section(struct unpacking *unpacking, const char *member) {
  char name[HR_PACKED_NAME_BYTES];
  hr__packed_column_name(name, member);
  for (uint32_t i = 0; i < unpacking->header->n_sections; i++) {
    if (unpacking->taken[i] || memcmp(unpacking->sections[i].name, name, sizeof name) != 0) continue;
    unpacking->taken[i] = true;
    return &unpacking->sections[i];
  }
  return NULL;
}

/* Releases the memory of pages of the file, if the trace is streamed or spooled. The next access reads the pages again.
 */
static void drop_pages(const struct unpacking *unpacking, const char *at, size_t bytes) {
  if (!unpacking->releases) return;
  size_t over = (uintptr_t)at % (size_t)sysconf(_SC_PAGESIZE);
  (void)madvise((char *)(uintptr_t)at - over, over + bytes, MADV_DONTNEED);
}

static enum hr_status check_sum(const struct unpacking *unpacking, const struct hr__packed_section *section) {
  const char *at = unpacking->map + section->offset;
  XXH3_64bits_reset(unpacking->summing);
  for (uint64_t left = section->bytes, bytes; left > 0; left -= bytes, at += bytes) {
    bytes = left < BLOCK_BYTES ? left : BLOCK_BYTES;
    XXH3_64bits_update(unpacking->summing, at, bytes);
    drop_pages(unpacking, at, bytes);
  }
  if (XXH3_64bits_digest(unpacking->summing) == section->checksum) return HR_OK;
  return refuse_section(unpacking, section, "has a wrong checksum");
}

/* ---- Text sections ----------------------------------------------------------------------------------- */

enum { TEXTS_BLOCK_BYTES = 1 << 18, MAX_NOTES = 4096 };

/* Checks that the section has as many texts as the section table says, that no text is empty, and that the last text
   ends at the end of the section. */
static enum hr_status check_texts(const struct unpacking *unpacking, const struct hr__packed_section *section) {
  enum hr_status status = check_sum(unpacking, section);
  if (status != HR_OK) return status;
  const char *at = unpacking->map + section->offset, *end = at + section->bytes;
  if (end[-1]) return refuse_section(unpacking, section, "does not end with the end of a text");
  uint64_t count = 0;
  for (const char *stored = at; at < end; at += strlen(at) + 1, count++) {
    if (!*at) return refuse_section(unpacking, section, "has an empty text");
    if (at - stored < TEXTS_BLOCK_BYTES) continue;
    drop_pages(unpacking, stored, (size_t)(at - stored));
    stored = at;
  }
  return count == section->entries ? HR_OK : refuse_section(unpacking, section, "has a wrong number of texts");
}

static enum hr_status read_name_table(struct unpacking *unpacking, const char *member, struct hr__name_table *names) {
  const struct hr__packed_section *section = find_section(unpacking, member);
  if (!section) return HR_OK;
  enum hr_status status = check_texts(unpacking, section);
  if (status != HR_OK) return status;
  if (section->entries >= HR_NONE / 2) return refuse_section(unpacking, section, "has too many texts");
  const char *at = unpacking->map + section->offset;
  for (uint32_t i = 0; i < section->entries; i++, at += strlen(at) + 1) {
    uint32_t number = hr__names_intern(names, at, strlen(at));
    if (number == HR_NONE) return no_memory(unpacking);
    if (number != i) return refuse_section(unpacking, section, "contains a text twice");
  }
  return HR_OK;
}

/* Reads the name tables from their text sections. */
static enum hr_status read_names(struct unpacking *unpacking) {
  struct hr__owned_trace *owned = unpacking->owned;
  enum hr_status status = HR_OK;
  for (enum hr__names_id id = 0; status == HR_OK && id < HR__N_NAMES; id++)
    status = read_name_table(unpacking, hr__name_sets[id].name, &owned->names[id]);
  if (status != HR_OK) return status;
  hr__owned_trace_show_names(owned);
  for (uint32_t i = 0; i < owned->trace.tenants.count; i++) {
    struct hr_job_record record;
    const char *tenant = owned->trace.tenants.text[i];
    hr_job_record_init(&record);
    record.tenant = (struct hr_text){tenant, strlen(tenant)};
    const char *fault = hr_job_record_fault(&record);
    if (fault) return refuse(unpacking, fault);
  }
  return HR_OK;
}

static enum hr_status read_id_texts(struct unpacking *unpacking) {
  const struct hr__packed_section *section = find_section(unpacking, "id_text");
  if (!section) return HR_OK;
  if (unpacking->owned->trace.id_number) return refuse(unpacking, "its ids are both numbers and texts");
  if (section->entries != unpacking->header->n_jobs)
    return refuse_section(unpacking, section, "does not have one entry per job");
  enum hr_status status = check_texts(unpacking, section);
  if (status != HR_OK || unpacking->streamed) return status;
  struct hr_trace *trace = &unpacking->owned->trace;
  const char **texts = malloc(trace->n_jobs * sizeof *texts);
  if (!texts) return no_memory(unpacking);
  unpacking->owned->column[HR__COLUMN_ID].at = (void *)texts;
  const char *at = unpacking->map + section->offset;
  for (uint32_t job = 0; job < trace->n_jobs; job++, at += strlen(at) + 1) texts[job] = at;
  trace->id_text = texts;
  trace->column_bytes += trace->n_jobs * sizeof *texts;
  return HR_OK;
}

static enum hr_status read_notes(struct unpacking *unpacking) {
  const struct hr__packed_section *section = find_section(unpacking, "notes");
  if (!section) return HR_OK;
  enum hr_status status = check_texts(unpacking, section);
  if (status == HR_OK && section->entries > MAX_NOTES)
    status = refuse_section(unpacking, section, "has too many texts");
  const char *at = unpacking->map + section->offset;
  for (uint64_t i = 0; status == HR_OK && i < section->entries; i++, at += strlen(at) + 1)
    if (hr_notes_add(&unpacking->owned->trace.notes, "%s", at) != HR_OK) status = no_memory(unpacking);
  return status;
}

static enum hr_status store_skipped(struct unpacking *unpacking, const struct hr__packed_skipped *skipped,
                                    const char *reason, uint32_t count) {
  struct hr_trace *trace = &unpacking->owned->trace;
  trace->skipped = calloc(count, sizeof *trace->skipped);
  for (uint32_t i = 0; trace->skipped && i < count; i++, reason += strlen(reason) + 1) {
    trace->skipped[i] = (struct hr_skipped_rows){strdup(reason), skipped[i].count, skipped[i].first_line};
    if (!trace->skipped[i].reason) return no_memory(unpacking);
    trace->n_skipped_reasons++;
    trace->n_skipped += skipped[i].count;
  }
  return trace->skipped ? HR_OK : no_memory(unpacking);
}

static enum hr_status read_skipped(struct unpacking *unpacking) {
  const struct hr__packed_section *reasons = find_section(unpacking, "skipped_reasons"),
                                  *counts = find_section(unpacking, "skipped");
  if (!reasons && !counts) return HR_OK;
  if (!reasons || !counts || counts->entries != reasons->entries || reasons->entries > MAX_NOTES ||
      counts->bytes != counts->entries * sizeof(struct hr__packed_skipped))
    return refuse(unpacking, "its sections 'skipped' and 'skipped_reasons' do not match");
  enum hr_status status = check_sum(unpacking, counts);
  if (status == HR_OK) status = check_texts(unpacking, reasons);
  if (status != HR_OK) return status;
  return store_skipped(unpacking, (const void *)(unpacking->map + counts->offset), unpacking->map + reasons->offset,
                       (uint32_t)counts->entries);
}

/* ---- Columns one by one ------------------------------------------------------------------------------ */

/* The loop has no branches, so that the compiler vectorizes it. */
#define DEFINE_ALL_WITHIN(name, type)                                                                                  \
  static bool name(const type *value, uint32_t count, struct hr__value_range range) {                                  \
    const type first = (type)range.first, span = (type)range.span;                                                     \
    type outside = 0;                                                                                                  \
    for (uint32_t i = 0; i < count; i++) outside |= (type)((type)(value[i] - first) > span);                           \
    return !outside;                                                                                                   \
  }
DEFINE_ALL_WITHIN(all_within_8, uint8_t)
DEFINE_ALL_WITHIN(all_within_16, uint16_t)
DEFINE_ALL_WITHIN(all_within_32, uint32_t)
DEFINE_ALL_WITHIN(all_within_64, uint64_t)
#undef DEFINE_ALL_WITHIN

/* Returns true if `count` entries of a column are valid. The name tables of the trace must be complete. */
static bool is_valid_column(const struct hr_trace *trace, enum hr__column_id id, const void *at, uint32_t count) {
  struct hr__value_range range = hr__column_range(trace, id);
  switch (hr__columns[id].width) {
  case 1:
    return all_within_8(at, count, range);
  case 2:
    return all_within_16(at, count, range);
  case 4:
    return all_within_32(at, count, range);
  default:
    return all_within_64(at, count, range);
  }
}

/* Returns true if submit times never decrease. `*last_us` is the submit time before the first entry; it is set to
   the last submit time. */
static bool is_ascending(const int64_t *submit_us, uint32_t count, int64_t *last_us) {
  if (!count) return true;
  uint64_t falls = submit_us[0] < *last_us;
  for (uint32_t i = 1; i < count; i++) falls |= (uint64_t)(submit_us[i] < submit_us[i - 1]);
  *last_us = submit_us[count - 1];
  return !falls;
}

/* Sets `*valid` to true if `row` is a permutation of 0 .. n_jobs - 1. Returns HR_NO_MEMORY if out of memory. */
static enum hr_status is_permutation(const uint32_t *row, uint32_t n_jobs, bool *valid) {
  uint64_t *seen = calloc((size_t)n_jobs / 64 + 1, sizeof *seen);
  if (!seen) return HR_NO_MEMORY;
  *valid = true;
  for (uint32_t job = 0; job < n_jobs && *valid; job++) {
    uint64_t bit = UINT64_C(1) << row[job] % 64;
    *valid = row[job] < n_jobs && !(seen[row[job] / 64] & bit);
    if (*valid) seen[row[job] / 64] |= bit;
  }
  free(seen);
  return HR_OK;
}

/* ---- Columns together ------------------------------------------------------------------------------- */

static bool tasks_divide(const struct hr_trace *trace, uint32_t from, uint32_t to) {
  uint32_t rests = 0;
  for (uint32_t job = from; job < to; job++) rests |= trace->gpus[job] % trace->tasks[job];
  return !rests;
}

static bool bounds_are_valid(const uint32_t *low, const uint32_t *high, uint32_t from, uint32_t to) {
  uint32_t crossed = 0;
  for (uint32_t job = from; job < to; job++) crossed |= (uint32_t)(low[job] > high[job]);
  return !crossed;
}

static bool all_follow(const int64_t *time_us, const int64_t *submit_us, uint32_t from, uint32_t to) {
  bool valid = true;
  for (uint32_t job = from; job < to; job++) valid &= time_us[job] == HR_UNKNOWN_US || time_us[job] >= submit_us[job];
  return valid;
}

static bool waits_are_for_tiers(const struct hr_trace *trace, uint32_t from, uint32_t to) {
  bool valid = true;
  for (uint32_t job = from; job < to; job++)
    valid &= trace->within_wait_us[job] == HR_UNKNOWN_US || (trace->within && trace->within[job] != HR_TIER_ANY);
  return valid;
}

/* Checks conditions that concern several columns, for jobs [from, to). Returns a sentence that describes the fault,
   or NULL if none exists. */
static const char *columns_fault(const struct hr_trace *trace, uint32_t from, uint32_t to) {
  if (trace->tasks && !tasks_divide(trace, from, to)) return "'gpus' is not a multiple of 'tasks' in all jobs";
  if (trace->min_gpus && !bounds_are_valid(trace->min_gpus, trace->gpus, from, to))
    return "'min_gpus' is more than 'gpus' in some job";
  if (trace->max_gpus && !bounds_are_valid(trace->gpus, trace->max_gpus, from, to))
    return "'max_gpus' is less than 'gpus' in some job";
  if (trace->deadline_us && !all_follow(trace->deadline_us, trace->submit_us, from, to))
    return "a deadline is before the submit time";
  if (trace->recorded_start_us && !all_follow(trace->recorded_start_us, trace->submit_us, from, to))
    return "a recorded start is before the submit time";
  if (trace->within_wait_us && !waits_are_for_tiers(trace, from, to)) return "'within_wait_us' is set without 'within'";
  return NULL;
}

enum { BLOCK_ENTRIES = 1 << 15, MANY_ENTRIES = 1 << 20 };

/* ---- The file --------------------------------------------------------------------------------------- */

/* Opens a plain file; returns -1 if that is not possible. Pipes are not opened, because opening a pipe would let its
   writer begin to write. */
static int open_plain(const char *path, struct stat *info) {
  const char *file = hr__input_path(path);
  if (!file || stat(file, info) != 0 || !S_ISREG(info->st_mode)) return -1;
  int descriptor = open(file, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return descriptor;
  if (fstat(descriptor, info) == 0 && S_ISREG(info->st_mode)) return descriptor;
  close(descriptor);
  return -1;
}

/* Returns true if `path` is a plain file that begins with HR__PACKED_MAGIC. */
static bool is_packed(const char *path) {
  struct stat info;
  char magic[HR__PACKED_MAGIC_BYTES];
  int descriptor = open_plain(path, &info);
  if (descriptor < 0) return false;
  bool is =
      pread(descriptor, magic, sizeof magic, 0) == sizeof magic && memcmp(magic, HR__PACKED_MAGIC, sizeof magic) == 0;
  close(descriptor);
  return is;
}

static enum hr_status map_file(struct unpacking *unpacking) {
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

static enum hr_status refuse_size(const struct unpacking *unpacking, unsigned long long wanted) {
  return hr_fail(
      unpacking->error, HR_BAD_INPUT,
      "%s: damaged packed trace: expected %llu bytes, found %zu%s; create it again with 'headroom trace pack'",
      unpacking->path, wanted, unpacking->owned->map_bytes,
      unpacking->owned->map_bytes < wanted ? ": it was truncated" : "");
}

static enum hr_status check_header(struct unpacking *unpacking) {
  size_t there = unpacking->owned->map_bytes;
  const struct hr__packed_header *header = unpacking->header = (const void *)unpacking->map;
  if (!hr__is_little_endian())
    return hr_fail(unpacking->error, HR_BAD_INPUT, "%s: packed traces are little-endian, and this machine is not",
                   unpacking->path);
  if (there < offsetof(struct hr__packed_header, file_bytes)) return refuse_size(unpacking, sizeof *header);
  if (header->version != HR__PACKED_VERSION)
    return hr_fail(unpacking->error, HR_BAD_INPUT,
                   "%s: packed trace of version %u, but this program reads version %d: use the program that packed it "
                   "or a newer one, or pack the trace again with this one",
                   unpacking->path, (unsigned)header->version, HR__PACKED_VERSION);
  if (there < sizeof *header) return refuse_size(unpacking, sizeof *header);
  if (header->file_bytes != there) return refuse_size(unpacking, header->file_bytes);
  return HR_OK;
}

static uint64_t head_checksum(const struct unpacking *unpacking, size_t table_bytes) {
  struct hr__packed_header header = *unpacking->header;
  header.checksum = 0;
  XXH3_64bits_reset(unpacking->summing);
  XXH3_64bits_update(unpacking->summing, &header, sizeof header);
  XXH3_64bits_update(unpacking->summing, unpacking->sections, table_bytes);
  return XXH3_64bits_digest(unpacking->summing);
}

static enum hr_status check_head(struct unpacking *unpacking) {
  const struct hr__packed_header *header = unpacking->header;
  size_t table_bytes = header->n_sections * sizeof *unpacking->sections;
  unpacking->sections = (const void *)(unpacking->map + sizeof *header);
  if (header->n_sections > HR_PACKED_MAX_SECTIONS || table_bytes > header->file_bytes - sizeof *header)
    return refuse(unpacking, "its header does not fit its size");
  if (head_checksum(unpacking, table_bytes) != header->checksum)
    return refuse(unpacking, "its header has a wrong checksum");
  if (header->n_jobs == 0 || header->n_jobs >= HR_NONE)
    return refuse(unpacking, "the number of jobs is 0 or too large");
  if (header->origin_us < -HR_MAX_INPUT_US || header->origin_us > HR_MAX_INPUT_US)
    return refuse(unpacking, "its first submit is out of range");
  if (header->unused || header->flags & ~(uint64_t)(HR__PACKED_DATED | HR__PACKED_IDS_TOLD))
    return refuse(unpacking, "its header has unknown flags");
  return HR_OK;
}

static bool is_zero(const char *at, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i++)
    if (at[i]) return false;
  return true;
}

/* Checks that sections follow each other without gaps up to the end of the file. */
static enum hr_status check_layout(const struct unpacking *unpacking) {
  const struct hr__packed_header *header = unpacking->header;
  uint64_t end = sizeof *header + header->n_sections * sizeof *unpacking->sections;
  for (uint32_t i = 0; i < header->n_sections; i++) {
    const struct hr__packed_section *section = &unpacking->sections[i];
    if (section->offset != hr__packed_align(end) || section->offset > header->file_bytes ||
        section->bytes > header->file_bytes - section->offset || section->bytes == 0 ||
        section->name[HR_PACKED_NAME_BYTES - 1] || !is_zero(unpacking->map + end, section->offset - end))
      return refuse(unpacking, "its sections are not contiguous");
    end = section->offset + section->bytes;
  }
  return end == header->file_bytes ? HR_OK : refuse(unpacking, "unexpected data after its last section");
}

/* ---- Columns ---------------------------------------------------------------------------------------- */

static enum hr_status check_column(struct unpacking *unpacking, const struct hr__packed_section *section,
                                   enum hr__column_id id) {
  const size_t width = hr__columns[id].width;
  const struct hr_trace *trace = &unpacking->owned->trace;
  const char *at = unpacking->map + section->offset;
  bool valid = true;
  int64_t last_us = 0;
  XXH3_64bits_reset(unpacking->summing);
  for (uint32_t from = 0, count; from < trace->n_jobs; from += count, at += count * width) {
    count = trace->n_jobs - from < BLOCK_ENTRIES ? trace->n_jobs - from : BLOCK_ENTRIES;
    XXH3_64bits_update(unpacking->summing, at, count * width);
    valid = valid && is_valid_column(trace, id, at, count);
    if (id == HR__COLUMN_SUBMIT) valid = valid && is_ascending((const void *)at, count, &last_us);
    drop_pages(unpacking, at, count * width);
  }
  if (XXH3_64bits_digest(unpacking->summing) != section->checksum)
    return refuse_section(unpacking, section, "has a wrong checksum");
  return valid ? HR_OK : refuse_section(unpacking, section, "has an invalid value, or is not sorted");
}

static enum hr_status read_column(struct unpacking *unpacking, enum hr__column_id id) {
  struct hr_trace *trace = &unpacking->owned->trace;
  const struct hr__packed_section *section = find_section(unpacking, hr__columns[id].name);
  if (!section) return HR_OK;
  if (section->entries != trace->n_jobs || section->bytes != (uint64_t)trace->n_jobs * hr__columns[id].width)
    return refuse_section(unpacking, section, "does not have one entry per job");
  hr__trace_set_column(trace, id, unpacking->map + section->offset);
  return check_column(unpacking, section, id);
}

static enum hr_status read_rows(struct unpacking *unpacking) {
  const struct hr__packed_section *section = find_section(unpacking, "row");
  if (!section) return HR_OK;
  struct hr_trace *trace = &unpacking->owned->trace;
  if (section->entries != trace->n_jobs || section->bytes != (uint64_t)trace->n_jobs * sizeof *trace->row)
    return refuse_section(unpacking, section, "does not have one entry per job");
  enum hr_status status = check_sum(unpacking, section);
  bool valid = true;
  trace->row = (const void *)(unpacking->map + section->offset);
  if (status == HR_OK && is_permutation(trace->row, trace->n_jobs, &valid) != HR_OK) status = no_memory(unpacking);
  return valid ? status : refuse_section(unpacking, section, "does not have each row once");
}

static enum hr_status read_columns(struct unpacking *unpacking) {
  struct hr_trace *trace = &unpacking->owned->trace;
  enum hr_status status = HR_OK;
  for (enum hr__column_id id = 0; status == HR_OK && id < HR__N_COLUMNS; id++) status = read_column(unpacking, id);
  if (status == HR_OK && (!trace->submit_us || !trace->work_us || !trace->gpus))
    status = refuse(unpacking, "the submit times, run times or GPUs are missing");
  return status == HR_OK ? read_rows(unpacking) : status;
}

/* Rejects unknown sections. A newer program may have added such a section, and a result that ignores it could be
   wrong. */
static enum hr_status refuse_unknown(const struct unpacking *unpacking) {
  for (uint32_t i = 0; i < unpacking->header->n_sections; i++) {
    if (unpacking->taken[i]) continue;
    const char *name = unpacking->sections[i].name;
    char quoted[HR__QUOTE_BYTES];
    return hr_fail(unpacking->error, HR_BAD_INPUT,
                   "%s: unknown or duplicate section '%s': use the program that packed the trace or a newer one, or "
                   "pack the trace again with this one",
                   unpacking->path, hr__quote((struct hr_text){name, strlen(name)}, quoted));
  }
  return HR_OK;
}

/* ---- Whole file -------------------------------------------------------------------------------------- */

static enum hr_status read_head(struct unpacking *unpacking) {
  enum hr_status status = map_file(unpacking);
  if (status == HR_OK) status = check_header(unpacking);
  if (status == HR_OK) status = check_head(unpacking);
  if (status == HR_OK) status = check_layout(unpacking);
  if (status != HR_OK) return status;
  struct hr__owned_trace *owned = unpacking->owned;
  owned->trace.n_jobs = (uint32_t)unpacking->header->n_jobs;
  owned->trace.origin_us = unpacking->header->origin_us;
  owned->trace.dated = unpacking->header->flags & HR__PACKED_DATED;
  owned->trace.has_ids = unpacking->header->flags & HR__PACKED_IDS_TOLD;
  owned->trace.column_bytes = owned->map_bytes;
  owned->trace.mapped = true;
  owned->trace.source = owned->source = strdup(unpacking->path);
  owned->trace.format = owned->format = strdup("packed");
  return owned->source && owned->format ? HR_OK : no_memory(unpacking);
}

static enum hr_status check_columns(const struct unpacking *unpacking) {
  const struct hr_trace *trace = &unpacking->owned->trace;
  const char *fault = NULL;
  for (uint32_t from = 0, count; !fault && from < trace->n_jobs; from += count) {
    count = trace->n_jobs - from < MANY_ENTRIES ? trace->n_jobs - from : MANY_ENTRIES;
    fault = columns_fault(trace, from, from + count);
    /* releases all pages of the file that are still in memory */
    drop_pages(unpacking, unpacking->map, unpacking->owned->map_bytes);
  }
  return fault ? refuse(unpacking, fault) : HR_OK;
}

static enum hr_status read_all(struct unpacking *unpacking) {
  enum hr_status status = read_head(unpacking);
  if (status == HR_OK) status = read_names(unpacking);
  if (status == HR_OK) status = read_columns(unpacking);
  if (status == HR_OK) status = read_id_texts(unpacking);
  if (status == HR_OK) status = read_notes(unpacking);
  if (status == HR_OK) status = read_skipped(unpacking);
  if (status == HR_OK) status = refuse_unknown(unpacking);
  return status == HR_OK ? check_columns(unpacking) : status;
}

enum hr_status hr__packed_read(const char *path, const struct hr_trace_options *options, struct hr_trace **trace,
                               struct hr_error *error) {
  *trace = NULL;
  if (!is_packed(path)) return HR_OK;
  struct unpacking unpacking = {
      .path = path, .streamed = options->streamed, .releases = options->streamed || options->spooled, .error = error};
  unpacking.owned = calloc(1, sizeof *unpacking.owned);
  if (!unpacking.owned) return no_memory(&unpacking);
  unpacking.summing = XXH3_createState();
  enum hr_status status = unpacking.summing ? read_all(&unpacking) : no_memory(&unpacking);
  XXH3_freeState(unpacking.summing);
  if (status == HR_OK)
    *trace = &unpacking.owned->trace;
  else
    hr_trace_destroy(&unpacking.owned->trace);
  return status;
}
