/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packed traces: a trace in one file that can be mapped into memory. Writes, maps and checks it.
 *
 * Layout (docs/reference/formats/packed.md): a header, a section table, and the sections. Integers are little-endian.
 * The name of a section identifies its content: a column, a list of texts that each end with NUL, or the numbers of
 * skipped rows. Each section begins at the next multiple of PACKED_ALIGNMENT. The bytes between sections are zeros, so
 * equal traces result in equal files.
 *
 * Writing: first, all sections are described and their checksums are computed, because the section table is at the
 * beginning of the file. Then the file is written sequentially.
 */

#include "base/output_file.h"
#include "base/process.h"
#include "traces/core/builder.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"
#include "traces/formats/formats.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { PACKED_VERSION = 1, PACKED_ALIGNMENT = 64, PACKED_DATED = 1, PACKED_IDS_TOLD = 2 };

/* The beginning of a packed file. The section table follows it. */
struct hr__packed_header {
  char magic[HR__PACKED_MAGIC_BYTES];
  uint32_t version, n_sections;
  uint64_t file_bytes, n_jobs;
  int64_t origin_us;
  uint64_t flags;    /* bits PACKED_DATED and PACKED_IDS_TOLD */
  uint64_t unused;   /* must be 0 */
  uint64_t checksum; /* checksum of the header, with 0 in this member, and of the section table */
};

/* An entry of the section table. `offset` counts bytes from the beginning of the file. */
struct hr__packed_section {
  char name[HR_PACKED_NAME_BYTES]; /* padded with NUL */
  uint64_t entries, offset, bytes; /* `bytes` does not include the padding */
  uint64_t checksum;               /* checksum of the bytes of the section */
};

/* Number of skipped rows for one reason. Section "skipped" has one such entry for each text of section
   "skipped_reasons". */
struct hr__packed_skipped {
  uint64_t count, first_line;
};

/* Returns the next multiple of PACKED_ALIGNMENT at or above `offset`. */
static inline uint64_t packed_align(uint64_t offset) {
  return (offset + PACKED_ALIGNMENT - 1) / PACKED_ALIGNMENT * PACKED_ALIGNMENT;
}

/* Returns true on little-endian machines. Packed files are memory images, so big-endian machines can neither write
   them nor read them. */
static inline bool is_little_endian(void) {
  const union {
    uint16_t word;
    uint8_t byte[2];
  } one = {1};
  return one.byte[0] == 1;
}

/* Writes the name of the section of a column: the name of its member in struct hr_trace, without a trailing
   underscore. */
static inline void packed_column_name(char name[HR_PACKED_NAME_BYTES], const char *member) {
  size_t length = strlen(member);
  if (member[length - 1] == '_') length--;
  memset(name, 0, HR_PACKED_NAME_BYTES);
  memcpy(name, member, length < HR_PACKED_NAME_BYTES ? length : HR_PACKED_NAME_BYTES - 1);
}

/* ---- Writing --------------------------------------------------------------------------------------- */

struct packing {
  const struct hr_trace *trace;
  struct head {
    struct hr__packed_header header;
    struct hr__packed_section sections[HR_PACKED_MAX_SECTIONS];
  } head;
  const void *at[HR_PACKED_MAX_SECTIONS]; /* data of each section */
  void *built[HR_PACKED_MAX_SECTIONS];    /* data that was allocated for packing; NULL: the data belongs to the trace */
  uint32_t n_made;
  struct hr_notes notes;
};

_Static_assert(sizeof(struct hr__packed_header) == 64 && sizeof(struct hr__packed_section) == 64,
               "the section limit matches the documentation");
_Static_assert(HR__N_COLUMNS + HR__N_NAMES + 4 <= HR_PACKED_MAX_SECTIONS,
               "the section table has room for ids, rows, notes and skipped rows");

enum { BLOCK_BYTES = 1 << 20 };

/* Computes the checksum of a section, block by block, so that a mapped section is never completely in memory. Returns
   false if out of memory. */
static bool checksum_of(const struct packing *packing, const char *at, uint64_t bytes, uint64_t *checksum) {
  XXH3_state_t *state = XXH3_createState();
  if (!state) return false;
  XXH3_64bits_reset(state);
  for (uint64_t done = 0, part; done < bytes; done += part) {
    part = bytes - done < BLOCK_BYTES ? bytes - done : BLOCK_BYTES;
    XXH3_64bits_update(state, at + done, part);
    hr__trace_release(packing->trace, at + done, part);
  }
  *checksum = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return true;
}

/* ---- Writing: sections ----------------------------------------------------------------------------- */

/* Adds a section with `entries` entries of `width` bytes. Adds nothing if `entries` is 0 or `at` is NULL. Returns false
   if out of memory. */
static bool add_section(struct packing *packing, const char *name, const void *at, uint64_t entries, size_t width) {
  if (!at || !entries) return true;
  uint32_t place = packing->head.header.n_sections++;
  struct hr__packed_section *section = &packing->head.sections[place];
  packed_column_name(section->name, name);
  section->entries = entries;
  section->bytes = entries * width;
  packing->at[place] = at;
  return checksum_of(packing, at, section->bytes, &section->checksum);
}

static bool add_texts(struct packing *packing, const char *name, const char *const *text, uint64_t count) {
  size_t bytes = 0;
  for (uint64_t i = 0; text && i < count; i++) bytes += strlen(text[i]) + 1;
  if (!bytes) return true;
  char *all = malloc(bytes), *to = all;
  if (!all) return false;
  packing->built[packing->n_made++] = all;
  for (uint64_t i = 0; i < count; i++) to = stpcpy(to, text[i]) + 1;
  if (!add_section(packing, name, all, bytes, 1)) return false;
  packing->head.sections[packing->head.header.n_sections - 1].entries = count;
  return true;
}

static bool add_skipped(struct packing *packing) {
  const struct hr_trace *trace = packing->trace;
  uint32_t count = trace->n_skipped_reasons;
  if (!count) return true;
  struct hr__packed_skipped *skipped = malloc(count * sizeof *skipped);
  const char **reasons = malloc(count * sizeof *reasons);
  packing->built[packing->n_made++] = skipped;
  for (uint32_t i = 0; skipped && reasons && i < count; i++) {
    skipped[i] = (struct hr__packed_skipped){trace->skipped[i].count, trace->skipped[i].first_line};
    reasons[i] = trace->skipped[i].reason;
  }
  bool ok = skipped && reasons && add_texts(packing, "skipped_reasons", reasons, count);
  ok = ok && add_section(packing, "skipped", skipped, count, sizeof *skipped);
  free(reasons);
  return ok;
}

/* Adds the notes of the trace, and a note with its source and format. If the trace was read from a packed file, the
   latter note is already among its notes and is not added, so packing it again results in the same file. */
static bool add_notes(struct packing *packing) {
  const struct hr_trace *trace = packing->trace;
  for (size_t i = 0; i < trace->notes.count; i++)
    if (hr_notes_add(&packing->notes, "%s", trace->notes.text[i]) != HR_OK) return false;
  const char *slash = strrchr(trace->source, '/');
  if (strcmp(trace->format, "packed") != 0 &&
      hr_notes_add(&packing->notes, "packed from %s (%s)", slash ? slash + 1 : trace->source, trace->format) != HR_OK)
    return false;
  return add_texts(packing, "notes", (const char *const *)packing->notes.text, packing->notes.count);
}

static bool describe(struct packing *packing) {
  const struct hr_trace *trace = packing->trace;
  for (enum hr__column_id id = 0; id < HR__COLUMN_ID; id++)
    if (!add_section(packing, hr__columns[id].name, hr__trace_column(trace, id), trace->n_jobs, hr__columns[id].width))
      return false;
  if (!add_section(packing, "row", trace->row, trace->n_jobs, sizeof *trace->row) ||
      !add_section(packing, "id_number", trace->id_number, trace->n_jobs, sizeof *trace->id_number))
    return false;
  if (!add_texts(packing, "id_text", trace->id_text, trace->n_jobs)) return false;
  for (enum hr__names_id id = 0; id < HR__N_NAMES; id++) {
    const struct hr_names *names = hr__trace_names(trace, id);
    if (!add_texts(packing, hr__name_sets[id].name, names->text, names->count)) return false;
  }
  return add_notes(packing) && add_skipped(packing);
}

static size_t head_bytes(const struct packing *packing) {
  return sizeof(struct hr__packed_header) + packing->head.header.n_sections * sizeof(struct hr__packed_section);
}

static void assign_offsets(struct packing *packing) {
  struct hr__packed_header *header = &packing->head.header;
  uint64_t end = head_bytes(packing);
  for (uint32_t i = 0; i < header->n_sections; i++) {
    struct hr__packed_section *section = &packing->head.sections[i];
    section->offset = packed_align(end);
    end = section->offset + section->bytes;
  }
  memcpy(header->magic, HR__PACKED_MAGIC, sizeof header->magic);
  header->version = PACKED_VERSION;
  header->file_bytes = end;
  header->n_jobs = packing->trace->n_jobs;
  header->origin_us = packing->trace->origin_us;
  header->flags = (packing->trace->dated ? PACKED_DATED : 0) | (packing->trace->has_ids ? PACKED_IDS_TOLD : 0);
  header->checksum = XXH3_64bits(&packing->head, head_bytes(packing));
}

/* ---- Writing: the file ----------------------------------------------------------------------------- */

static void put_section(const struct packing *packing, const char *at, uint64_t bytes, struct hr__output_file *file) {
  for (uint64_t done = 0, part; done < bytes && !file->failure; done += part) {
    part = bytes - done < BLOCK_BYTES ? bytes - done : BLOCK_BYTES;
    hr__output_write(file, at + done, part);
    hr__trace_release(packing->trace, at + done, part);
  }
}

static void put(const struct packing *packing, struct hr__output_file *file) {
  static const char zeros[PACKED_ALIGNMENT];
  uint64_t end = head_bytes(packing);
  hr__output_write(file, (const void *)&packing->head, end);
  for (uint32_t i = 0; i < packing->head.header.n_sections && !file->failure; i++) {
    const struct hr__packed_section *section = &packing->head.sections[i];
    hr__output_write(file, zeros, section->offset - end);
    put_section(packing, packing->at[i], section->bytes, file);
    end = section->offset + section->bytes;
  }
}

static enum hr_status write_file(const struct packing *packing, const char *path, struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  put(packing, &file);
  return hr__output_commit(&file, error);
}

static void print_section(const struct packing *packing, struct hr_packed *packed) {
  const struct hr__packed_header *header = &packing->head.header;
  *packed = (struct hr_packed){
      .n_jobs = packing->trace->n_jobs, .n_sections = header->n_sections, .bytes = header->file_bytes};
  for (uint32_t i = 0; i < header->n_sections; i++) {
    const struct hr__packed_section *section = &packing->head.sections[i];
    struct hr_packed_section *section_info = &packed->sections[i];
    memcpy(section_info->name, section->name, sizeof section_info->name);
    section_info->entries = section->entries;
    section_info->bytes = section->bytes;
    section_info->checksum = section->checksum;
  }
}

static enum hr_status check_trace(const struct hr_trace *trace, struct hr_error *error) {
  if (!is_little_endian())
    return hr_fail(error, HR_BAD_INPUT, "%s: packed traces are little-endian, and this machine is not; use CSV",
                   trace->source);
  if (!trace->n_jobs) return hr_fail(error, HR_BAD_INPUT, "%s: the trace has no jobs", trace->source);
  return HR_OK;
}

enum hr_status hr_trace_pack(const struct hr_trace *trace, const char *path, struct hr_packed *packed,
                             struct hr_error *error) {
  enum hr_status status = check_trace(trace, error);
  if (status != HR_OK) return status;
  struct packing *packing = calloc(1, sizeof *packing);
  if (!packing) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", trace->source);
  packing->trace = trace;
  if (!describe(packing)) status = hr_fail(error, HR_NO_MEMORY, "%s: out of memory", trace->source);
  if (status == HR_OK) {
    assign_offsets(packing);
    status = write_file(packing, path, error);
  }
  if (status == HR_OK && packed) print_section(packing, packed);
  for (uint32_t i = 0; i < packing->n_made; i++) free(packing->built[i]);
  hr_notes_finish(&packing->notes);
  free(packing);
  return status;
}

enum hr_status hr_packed_write_json(const struct hr_packed *packed, const char *path, struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  fprintf(file.stream, "{\n  \"jobs\": %" PRIu32 ",\n  \"bytes\": %" PRIu64 ",\n  \"sections\": [", packed->n_jobs,
          packed->bytes);
  for (uint32_t i = 0; i < packed->n_sections; i++) {
    const struct hr_packed_section *section = &packed->sections[i];
    fprintf(file.stream,
            "%s\n    { \"name\": \"%s\", \"entries\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"xxh3\": \"%016" PRIx64
            "\" }",
            i ? "," : "", section->name, section->entries, section->bytes, section->checksum);
  }
  fputs("\n  ]\n}\n", file.stream);
  return hr__output_commit(&file, error);
}

static enum hr_status write_packed(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                                   struct hr_error *error) {
  struct hr_packed packed = {0};
  enum hr_status status = hr_trace_pack(trace, path, &packed, error);
  written->n_jobs = trace->n_jobs;
  written->bytes = packed.bytes;
  return status;
}

const struct hr__trace_writer hr__packed_writer = {.compresses = false, .write = write_packed};

/* ---- Reading --------------------------------------------------------------------------------------- */

/*
 * A trace is mapped into memory, and all of it is checked once.
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

struct unpacking {
  const char *path;
  struct hr__owned_trace *owned;
  const char *map;
  const struct hr__packed_header *header;
  const struct hr__packed_section *sections;
  bool taken[HR_PACKED_MAX_SECTIONS]; /* sections that were recognized */
  XXH3_state_t *summing;              /* state of the checksum of the current section */
  bool streamed;                      /* ids that are texts are checked but not stored in the trace */
  bool releases;                      /* memory of pages is released after use */
  struct hr_error *error;
};

enum { READ_BLOCK_BYTES = 1 << 18 };

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
  packed_column_name(name, member);
  for (uint32_t i = 0; i < unpacking->header->n_sections; i++) {
    if (unpacking->taken[i] || memcmp(unpacking->sections[i].name, name, sizeof name) != 0) continue;
    unpacking->taken[i] = true;
    return &unpacking->sections[i];
  }
  return NULL;
}

/* Releases the memory of pages of the file if the trace is streamed or spooled. The next access reads them again. */
static void drop_pages(const struct unpacking *unpacking, const char *at, size_t bytes) {
  if (!unpacking->releases) return;
  size_t over = (uintptr_t)at % (size_t)sysconf(_SC_PAGESIZE);
  (void)madvise((char *)(uintptr_t)at - over, over + bytes, MADV_DONTNEED);
}

static enum hr_status check_sum(const struct unpacking *unpacking, const struct hr__packed_section *section) {
  const char *at = unpacking->map + section->offset;
  XXH3_64bits_reset(unpacking->summing);
  for (uint64_t left = section->bytes, bytes; left > 0; left -= bytes, at += bytes) {
    bytes = left < READ_BLOCK_BYTES ? left : READ_BLOCK_BYTES;
    XXH3_64bits_update(unpacking->summing, at, bytes);
    drop_pages(unpacking, at, bytes);
  }
  if (XXH3_64bits_digest(unpacking->summing) == section->checksum) return HR_OK;
  return refuse_section(unpacking, section, "has a wrong checksum");
}

/* ---- Reading: text sections ------------------------------------------------------------------------ */

enum { TEXTS_BLOCK_BYTES = 1 << 18, MAX_NOTES = 4096 };

/* Checks that the section has as many texts as the section table states, that no text is empty, and that the last text
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
    record.tenant = hr__text_make(tenant);
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

/* ---- Reading: columns one by one ------------------------------------------------------------------- */

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

/* Returns true if submit times never decrease. Before the call, `*last_us` is the submit time before the first entry;
   the call sets it to the last submit time. */
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

/* ---- Reading: columns together --------------------------------------------------------------------- */

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

/* ---- Reading: mapping ------------------------------------------------------------------------------ */

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

/* ---- Reading: header and table --------------------------------------------------------------------- */

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
  if (!is_little_endian())
    return hr_fail(unpacking->error, HR_BAD_INPUT, "%s: packed traces are little-endian, and this machine is not",
                   unpacking->path);
  if (there < offsetof(struct hr__packed_header, file_bytes)) return refuse_size(unpacking, sizeof *header);
  if (header->version != PACKED_VERSION)
    return hr_fail(unpacking->error, HR_BAD_INPUT,
                   "%s: packed trace of version %u, but this program reads version %d: use the program that packed it "
                   "or a newer one, or pack the trace again with this one",
                   unpacking->path, (unsigned)header->version, PACKED_VERSION);
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
  if (header->unused || header->flags & ~(uint64_t)(PACKED_DATED | PACKED_IDS_TOLD))
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
    if (section->offset != packed_align(end) || section->offset > header->file_bytes ||
        section->bytes > header->file_bytes - section->offset || section->bytes == 0 ||
        section->name[HR_PACKED_NAME_BYTES - 1] || !is_zero(unpacking->map + end, section->offset - end))
      return refuse(unpacking, "its sections are not contiguous");
    end = section->offset + section->bytes;
  }
  return end == header->file_bytes ? HR_OK : refuse(unpacking, "unexpected data after its last section");
}

/* ---- Reading: columns ------------------------------------------------------------------------------ */

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
                   unpacking->path, hr__quote(hr__text_make(name), quoted));
  }
  return HR_OK;
}

/* ---- Reading: whole file --------------------------------------------------------------------------- */

static enum hr_status read_head(struct unpacking *unpacking) {
  enum hr_status status = map_file(unpacking);
  if (status == HR_OK) status = check_header(unpacking);
  if (status == HR_OK) status = check_head(unpacking);
  if (status == HR_OK) status = check_layout(unpacking);
  if (status != HR_OK) return status;
  struct hr__owned_trace *owned = unpacking->owned;
  owned->trace.n_jobs = (uint32_t)unpacking->header->n_jobs;
  owned->trace.origin_us = unpacking->header->origin_us;
  owned->trace.dated = unpacking->header->flags & PACKED_DATED;
  owned->trace.has_ids = unpacking->header->flags & PACKED_IDS_TOLD;
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
