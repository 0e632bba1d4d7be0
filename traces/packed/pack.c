/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a trace as a packed file, which can be mapped into memory. First, all sections are described and their
 * checksums are computed, because the section table is at the beginning of the file. Then the file is written
 * sequentially.
 */

#include "traces/packed/pack.h"

#include "base/output_file.h"
#include "traces/core/builder.h"
#include "traces/write/write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <xxhash.h>

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

/* ---- Sections ---------------------------------------------------------------------------------------- */

/* Returns false if out of memory. */
static bool add_section(struct packing *packing, const char *name, const void *at, uint64_t entries, size_t width) {
  if (!at || !entries) return true;
  uint32_t place = packing->head.header.n_sections++;
  struct hr__packed_section *section = &packing->head.sections[place];
  hr__packed_column_name(section->name, name);
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

/* Adds the notes and the source of the trace. If the trace was read from a packed file, both are unchanged, so
   packing it again gives the same file. */
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
    section->offset = hr__packed_align(end);
    end = section->offset + section->bytes;
  }
  memcpy(header->magic, HR__PACKED_MAGIC, sizeof header->magic);
  header->version = HR__PACKED_VERSION;
  header->file_bytes = end;
  header->n_jobs = packing->trace->n_jobs;
  header->origin_us = packing->trace->origin_us;
  header->flags = (packing->trace->dated ? HR__PACKED_DATED : 0) | (packing->trace->has_ids ? HR__PACKED_IDS_TOLD : 0);
  header->checksum = XXH3_64bits(&packing->head, head_bytes(packing));
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

static void put_section(const struct packing *packing, const char *at, uint64_t bytes, struct hr__output_file *file) {
  for (uint64_t done = 0, part; done < bytes && !file->failure; done += part) {
    part = bytes - done < BLOCK_BYTES ? bytes - done : BLOCK_BYTES;
    hr__output_write(file, at + done, part);
    hr__trace_release(packing->trace, at + done, part);
  }
}

static void put(const struct packing *packing, struct hr__output_file *file) {
  static const char zeros[HR__PACKED_ALIGNMENT];
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
  if (!hr__is_little_endian())
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
