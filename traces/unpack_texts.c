/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts of a packed trace, one after the other, each ended by NUL: names, ids, notes, rows left out. */

#include "traces/unpacking.h"

#include <stdlib.h>

enum { BLOCK_BYTES = 1 << 18, MOST_NOTES = 4096 };

/* The section's texts one after the other; each ends before the section does. */
static enum hr_status check_texts(const struct hr__unpacking *unpacking, const struct hr__packed_section *section) {
  enum hr_status status = hr__unpack_check_sum(unpacking, section);
  if (status != HR_OK) return status;
  const char *at = unpacking->map + section->offset, *end = at + section->bytes;
  if (end[-1]) return hr__unpack_refuse_section(unpacking, section, "does not end with the end of a text");
  uint64_t count = 0;
  for (const char *kept = at; at < end; at += strlen(at) + 1, count++) {
    if (!*at) return hr__unpack_refuse_section(unpacking, section, "has an empty text");
    if (at - kept < BLOCK_BYTES) continue;
    hr__unpack_drop(unpacking, kept, (size_t)(at - kept));
    kept = at;
  }
  return count == section->entries
             ? HR_OK
             : hr__unpack_refuse_section(unpacking, section, "has another number of texts than it says");
}

static enum hr_status take_names(struct hr__unpacking *unpacking, const char *member, struct hr__names *names) {
  const struct hr__packed_section *section = hr__unpack_find(unpacking, member);
  if (!section) return HR_OK;
  enum hr_status status = check_texts(unpacking, section);
  if (status != HR_OK) return status;
  if (section->entries >= HR_NONE / 2)
    return hr__unpack_refuse_section(unpacking, section, "has more texts than it may");
  const char *at = unpacking->map + section->offset;
  for (uint32_t i = 0; i < section->entries; i++, at += strlen(at) + 1) {
    uint32_t number = hr__names_intern(names, at, strlen(at));
    if (number == HR_NONE) return hr__unpack_no_memory(unpacking);
    if (number != i) return hr__unpack_refuse_section(unpacking, section, "has a text twice");
  }
  return HR_OK;
}

enum hr_status hr__unpack_names(struct hr__unpacking *unpacking) {
  struct hr__owned_trace *owned = unpacking->owned;
  enum hr_status status = HR_OK;
#define TAKE_NAMES(id, member, field)                                                                                  \
  if (status == HR_OK) status = take_names(unpacking, #member, &owned->names[HR__##id]);
  HR__NAMES_TABLE(TAKE_NAMES)
#undef TAKE_NAMES
  if (status != HR_OK) return status;
  hr__owned_trace_show_names(owned);
  for (uint32_t i = 0; i < owned->trace.tenants.count; i++) {
    struct hr_job_record record;
    const char *tenant = owned->trace.tenants.text[i];
    hr_job_record_init(&record);
    record.tenant = (struct hr_text){tenant, strlen(tenant)};
    const char *fault = hr_job_record_fault(&record);
    if (fault) return hr__unpack_refuse(unpacking, fault);
  }
  return HR_OK;
}

enum hr_status hr__unpack_id_texts(struct hr__unpacking *unpacking) {
  const struct hr__packed_section *section = hr__unpack_find(unpacking, "id_text");
  if (!section) return HR_OK;
  if (unpacking->owned->trace.id_number) return hr__unpack_refuse(unpacking, "its ids are both numbers and texts");
  if (section->entries != unpacking->header->n_jobs)
    return hr__unpack_refuse_section(unpacking, section, "has not one entry for each job");
  enum hr_status status = check_texts(unpacking, section);
  if (status != HR_OK || unpacking->streamed) return status;
  struct hr_trace *trace = &unpacking->owned->trace;
  const char **texts = malloc(trace->n_jobs * sizeof *texts);
  if (!texts) return hr__unpack_no_memory(unpacking);
  unpacking->owned->column[HR__COLUMN_ID].at = (void *)texts;
  const char *at = unpacking->map + section->offset;
  for (uint32_t job = 0; job < trace->n_jobs; job++, at += strlen(at) + 1) texts[job] = at;
  trace->id_text = texts;
  trace->column_bytes += trace->n_jobs * sizeof *texts;
  return HR_OK;
}

enum hr_status hr__unpack_notes(struct hr__unpacking *unpacking) {
  const struct hr__packed_section *section = hr__unpack_find(unpacking, "notes");
  if (!section) return HR_OK;
  enum hr_status status = check_texts(unpacking, section);
  if (status == HR_OK && section->entries > MOST_NOTES)
    status = hr__unpack_refuse_section(unpacking, section, "has more texts than it may");
  const char *at = unpacking->map + section->offset;
  for (uint64_t i = 0; status == HR_OK && i < section->entries; i++, at += strlen(at) + 1)
    if (hr_notes_add(&unpacking->owned->trace.notes, "%s", at) != HR_OK) status = hr__unpack_no_memory(unpacking);
  return status;
}

static enum hr_status keep_skipped(struct hr__unpacking *unpacking, const struct hr__packed_skipped *skipped,
                                   const char *reason, uint32_t count) {
  struct hr_trace *trace = &unpacking->owned->trace;
  trace->skipped = calloc(count, sizeof *trace->skipped);
  for (uint32_t i = 0; trace->skipped && i < count; i++, reason += strlen(reason) + 1) {
    trace->skipped[i] = (struct hr_skipped_rows){strdup(reason), skipped[i].count, skipped[i].first_line};
    if (!trace->skipped[i].reason) return hr__unpack_no_memory(unpacking);
    trace->n_skipped_reasons++;
    trace->n_skipped += skipped[i].count;
  }
  return trace->skipped ? HR_OK : hr__unpack_no_memory(unpacking);
}

enum hr_status hr__unpack_skipped(struct hr__unpacking *unpacking) {
  const struct hr__packed_section *reasons = hr__unpack_find(unpacking, "skipped_reasons"),
                                  *counts = hr__unpack_find(unpacking, "skipped");
  if (!reasons && !counts) return HR_OK;
  if (!reasons || !counts || counts->entries != reasons->entries || reasons->entries > MOST_NOTES ||
      counts->bytes != counts->entries * sizeof(struct hr__packed_skipped))
    return hr__unpack_refuse(unpacking, "its sections 'skipped' and 'skipped_reasons' do not match");
  enum hr_status status = hr__unpack_check_sum(unpacking, counts);
  if (status == HR_OK) status = check_texts(unpacking, reasons);
  if (status != HR_OK) return status;
  return keep_skipped(unpacking, (const void *)(unpacking->map + counts->offset), unpacking->map + reasons->offset,
                      (uint32_t)counts->entries);
}
