/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selects a writer by format name or file name, and collects the losses of a format. The formats are in one table.
   Determines which fields of a record are known, and makes fields unknown. */

#include "traces/write/write.h"
#include "base/text.h"
#include "traces/core/builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- Fields of a record -------------------------------------------------------------------------------- */

const size_t hr__field_bytes[HR__N_FIELDS] = {
#define HR__FIELD(key, column, kind, required, filled, member) sizeof((struct hr_job_record *)0)->member,
    HR__FIELDS
#undef HR__FIELD
};

static uint8_t flag_of(size_t field) {
  return hr__fields[field].kind == HR__DEDICATED ? HR_JOB_DEDICATED : HR_JOB_NOT_INTERRUPTIBLE;
}

bool hr__field_is_known(const struct hr_job_record *record, const struct hr_job_record *blank, size_t field) {
  const char *member = (const char *)record + hr__fields[field].offset;
  switch (hr__fields[field].kind) {
  case HR__TEXT:
  case HR__LIST:
    return ((const struct hr_text *)(const void *)member)->length > 0;
  case HR__DEDICATED:
  case HR__INTERRUPTIBLE:
    return *(const uint8_t *)member & flag_of(field);
  default:
    return memcmp(member, (const char *)blank + hr__fields[field].offset, hr__field_bytes[field]) != 0;
  }
}

/* Returns true if ids are row numbers because the input contained no ids. */
static bool ids_number_rows(const struct hr_trace *trace) {
  if (trace->has_ids || trace->id_text) return false;
  for (uint32_t job = 0; trace->id_number && job < trace->n_jobs; job++)
    if (trace->id_number[job] != (int64_t)(trace->row ? trace->row[job] : job) + 1) return false;
  return true;
}

void hr__known_fields(const struct hr_trace *trace, bool known[HR__N_FIELDS]) {
  struct hr_job_record blank, record;
  char id[HR_JOB_ID_BUFFER];
  hr_job_record_init(&blank);
  for (size_t field = 0; field < HR__N_FIELDS; field++) known[field] = hr__fields[field].must_exist;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    hr_trace_job_record(trace, (hr_job){job}, &record, id);
    for (size_t field = 1; field < HR__N_FIELDS; field++)
      known[field] = known[field] || hr__field_is_known(&record, &blank, field);
    hr__trace_row_done(trace, job);
  }
  known[0] = !ids_number_rows(trace);
}

static void forget(struct hr_job_record *record, const struct hr_job_record *blank, size_t field) {
  char *member = (char *)record + hr__fields[field].offset;
  if (hr__fields[field].kind == HR__DEDICATED || hr__fields[field].kind == HR__INTERRUPTIBLE)
    *(uint8_t *)member = (uint8_t)(*(uint8_t *)member & ~flag_of(field));
  else
    memcpy(member, (const char *)blank + hr__fields[field].offset, hr__field_bytes[field]);
}

void hr_job_record_forget(struct hr_job_record *record, uint64_t fields) {
  struct hr_job_record blank;
  hr_job_record_init(&blank);
  for (size_t field = 0; field < HR__N_FIELDS; field++)
    if (fields >> field & 1) forget(record, &blank, field);
  if (record->within == HR_TIER_ANY) record->within_wait_us = HR_UNKNOWN_US;
}

/* ---- Selection of a writer ----------------------------------------------------------------------------- */

/* The formats that can be written: name, suffix of file names (without the suffix of a compression), writer,
   summary. */
#define WRITER_TABLE(X)                                                                                                \
  X("csv", ".csv", hr__csv_writer, "Headroom's own CSV, with all fields")                                              \
  X("swf", ".swf", hr__swf_writer, "Standard Workload Format: GPUs as processors, whole seconds, numbered names")      \
  X("packed", ".hrt", hr__packed_writer, "memory-mapped columns, with all fields")

static const struct hr_trace_format formats[] = {
#define FORMAT_ENTRY(name, ending, writer, summary) {name, summary},
    WRITER_TABLE(FORMAT_ENTRY)
#undef FORMAT_ENTRY
        {NULL, NULL}};

/* Writers, in the order of `formats`. */
static const struct {
  const char *ending;
  const struct hr__trace_writer *writer;
} writers[] = {
#define WRITER_ENTRY(name, ending, writer, summary) {ending, &writer},
    WRITER_TABLE(WRITER_ENTRY)
#undef WRITER_ENTRY
};

enum { N_WRITERS = sizeof writers / sizeof *writers };

/* ---- Selection --------------------------------------------------------------------------------------- */

static enum hr_status unknown_writer(const char *name, struct hr_error *error) {
  const char *words[N_WRITERS + 1];
  for (size_t i = 0; i <= N_WRITERS; i++) words[i] = formats[i].name;
  const char *nearest = hr_nearest_word(name, words);
#define WRITER_NAME(name, ...) " " name
  return hr_fail(error, HR_BAD_INPUT, "unknown output format '%.60s'%s%s%s; formats:%s", name,
                 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "",
                 WRITER_TABLE(WRITER_NAME));
#undef WRITER_NAME
}

/* Returns the last suffix of the file name, with its point, not counting the suffix of a compression. Returns NULL
   if no suffix exists. A point at the beginning of a file name marks a hidden file and begins no suffix. */
static const char *ending_of(const char *path, size_t length) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  for (const char *at = path + length; at > name + 1; at--)
    if (at[-1] == '.') return at - 1;
  return NULL;
}

static bool is_ending(const char *ending, size_t length, const char *known) {
  return strlen(known) == length && strncasecmp(ending, known, length) == 0;
}

static enum hr_status unknown_ending(const char *path, const char *ending, size_t length, struct hr_error *error) {
#define WRITER_ENDING(name, ending, ...) " " ending
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: unknown suffix '%.*s'; suffixes:" WRITER_TABLE(
                     WRITER_ENDING) ", .gz or .zst after .csv and .swf; without a suffix, the format is CSV",
                 path, (int)length, ending);
#undef WRITER_ENDING
}

/* Returns the format for a file name. If the suffix is unknown, sets the error and returns NULL. */
static const struct hr_trace_format *format_of_name(const char *path, struct hr_error *error) {
  size_t length = hr__encoder_plain_name_length(path);
  const char *ending = ending_of(path, length);
  if (!ending) return formats;
  size_t n = (size_t)(path + length - ending);
  for (size_t i = 0; i < N_WRITERS; i++)
    if (is_ending(ending, n, writers[i].ending)) return &formats[i];
  unknown_ending(path, ending, n, error);
  return NULL;
}

/* Checks the suffix of a compression in a file name. It must be .gz or .zst, and the format must support
   compression. */
static enum hr_status check_compression(const struct hr_trace_format *format, const char *path,
                                        struct hr_error *error) {
  static const char *const others[] = {".xz", ".bz2", ".zip", ".lz4", ".7z", ".br", ".lzma"};
  size_t length = hr__encoder_plain_name_length(path);
  const char *ending = ending_of(path, length);
  for (size_t i = 0; ending && i < sizeof others / sizeof *others; i++)
    if (is_ending(ending, (size_t)(path + length - ending), others[i]))
      return hr_fail(error, HR_BAD_INPUT, "%s: unsupported compression '%s'; use '.gz' or '.zst'", path, others[i]);
  if (path[length] == '\0' || writers[format - formats].writer->compresses) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: format '%s' cannot be compressed; remove '%s' from the name", path,
                 format->name, path + length);
}

static const struct hr_trace_format *format_called(const char *name, struct hr_error *error) {
  for (const struct hr_trace_format *format = formats; format->name; format++)
    if (strcmp(format->name, name) == 0) return format;
  unknown_writer(name, error);
  return NULL;
}

const struct hr_trace_format *hr_trace_writer_find(const char *name, const char *path, struct hr_error *error) {
  const struct hr_trace_format *format = name ? format_called(name, error) : format_of_name(path, error);
  return format && check_compression(format, path, error) == HR_OK ? format : NULL;
}

enum hr_status hr_generated_file(const char *path, bool *job_by_job, struct hr_error *error) {
  const struct hr_trace_format *format = hr_trace_writer_find(NULL, path, error);
  *job_by_job = false;
  if (!format) return HR_BAD_INPUT;
  if (strcmp(format->name, "swf") == 0)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: SWF would lose fields of generated jobs; write CSV, and convert it with 'headroom trace "
                   "convert', which reports the losses",
                   path);
  *job_by_job = strcmp(format->name, "csv") == 0 && hr__encoder_plain_name_length(path) == strlen(path);
  return HR_OK;
}

enum hr_status hr_trace_write(const struct hr_trace *trace, const char *path, const char *format,
                              struct hr_trace_written *written, struct hr_error *error) {
  struct hr_trace_written unasked;
  if (!written) written = &unasked;
  *written = (struct hr_trace_written){0};
  const struct hr_trace_format *found = hr_trace_writer_find(format, path, error);
  if (!found) return HR_BAD_INPUT;
  written->format = found->name;
  return writers[found - formats].writer->write(trace, path, written, error);
}

/* ---- Losses ------------------------------------------------------------------------------------------ */

HR__NAME_FUNCTION(hr_loss_name, enum hr_loss_kind, HR_LOSS_TABLE)

static enum hr_status note_loss(const char *format, const struct hr_trace_loss *loss, struct hr_notes *notes) {
  uint64_t n = loss->n_jobs;
  const char *s = n == 1 ? "" : "s";
  switch (loss->kind) {
  case HR_LOSS_DROPPED:
    return hr_notes_add(notes, "%s cannot store '%s': dropped, of %" PRIu64 " job%s", format, loss->field, n, s);
  case HR_LOSS_ROUNDED:
    return hr_notes_add(notes, "%s stores '%s' in whole seconds: rounded, of %" PRIu64 " job%s", format, loss->field, n,
                        s);
  case HR_LOSS_RENUMBERED:
    return hr_notes_add(notes, "%s stores '%s' as numbers: numbered from 1, of %" PRIu64 " job%s", format, loss->field,
                        n, s);
  default:
    return hr_notes_add(notes, "%s cannot store %" PRIu64 " job%s because of '%s': left out", format, n, s,
                        loss->field);
  }
}

enum hr_status hr_trace_loss_notes(const struct hr_trace_written *written, struct hr_notes *notes) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; status == HR_OK && i < written->n_losses; i++)
    status = note_loss(written->format, &written->losses[i], notes);
  return status;
}
