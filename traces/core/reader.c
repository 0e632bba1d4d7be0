/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bad rows, skipped rows and notes: the single place where a bad row ends the reading or is counted. */

#include "traces/core/reader.h"

#include "traces/core/numbers.h"

#include <stdio.h>

enum hr_status hr__reader_no_memory(const struct hr__reader *reader) {
  return hr_fail(reader->error, HR_NO_MEMORY, "%s: out of memory", reader->path);
}

static enum hr_status skip_row(struct hr__reader *reader, const struct hr__row_fault *row) {
  char reason[2 * HR__QUOTE_BYTES];
  if (!row->column)
    snprintf(reason, sizeof reason, "%s", row->fault);
  else
    snprintf(reason, sizeof reason, "%s '%s': %s", row->item ? "member" : "column", row->column, row->fault);
  enum hr_status status = hr_trace_builder_skip(reader->builder, reason, row->line);
  return status == HR_OK ? HR_OK : hr__reader_no_memory(reader);
}

enum hr_status hr__reader_bad_row(struct hr__reader *reader, const struct hr__row_fault *row) {
  if (reader->lenient) return skip_row(reader, row);
  unsigned long long line = row->line;
  const char *item = row->item ? row->item : "", *after = row->item ? ": " : "";
  if (!row->column)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: %s%s%s%s%s", reader->path, line, item, after, row->fault,
                   row->detail ? ": " : "", row->detail ? row->detail : "");
  const char *before = row->item ? "." : "column '", *closing = row->item ? "" : "'";
  char quoted[HR__QUOTE_BYTES];
  if (!row->value.length)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: %s%s%s%s is %s", reader->path, line, item, before,
                   row->column, closing, row->fault);
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: %s%s%s%s: '%s' is %s", reader->path, line, item, before,
                 row->column, closing, hr__quote(row->value, quoted), row->fault);
}

enum hr_status hr__reader_leave_out(const struct hr__reader *reader, const char *reason, uint64_t line) {
  enum hr_status status = hr_trace_builder_leave_out(reader->builder, reason, line);
  return status == HR_OK ? HR_OK : hr__reader_no_memory(reader);
}

enum hr_status hr__reader_note_count(const struct hr__reader *reader, uint64_t count, struct hr__count_words words) {
  if (!count) return HR_OK;
  enum hr_status status = hr_notes_add(reader->notes, "%llu %s%s", (unsigned long long)count,
                                       hr__counted(count, words.one, words.many), words.rest ? words.rest : "");
  return status == HR_OK ? HR_OK : hr__reader_no_memory(reader);
}

enum hr_status hr__reader_note(const struct hr__reader *reader, const char *text) {
  enum hr_status status = hr_notes_add(reader->notes, "%s", text);
  return status == HR_OK ? HR_OK : hr__reader_no_memory(reader);
}

enum hr_status hr__reader_add(struct hr__reader *reader, const struct hr_job_record *job, uint64_t line) {
  const char *fault = hr_job_record_fault(job);
  if (fault) return hr__reader_bad_row(reader, &(struct hr__row_fault){.line = line, .fault = fault});
  reader->n_fractions += job->gpu_milli < 1000 && job->gpus > 0;
  return hr__builder_append(reader->builder, job, line, reader->error);
}
