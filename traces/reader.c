/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one way in which a bad row ends the reading or is counted. */

#include "traces/reader.h"

#include "traces/quote.h"

#include <stdio.h>

enum hr_status hr__reader_no_memory(const struct hr__reader *reader) {
  return hr_fail(reader->error, HR_NO_MEMORY, "%s: out of memory", reader->path);
}

static enum hr_status skip_row(struct hr__reader *reader, const struct hr__row_fault *row) {
  char reason[2 * HR__QUOTE_BYTES];
  if (!row->column)
    snprintf(reason, sizeof reason, "%s", row->fault);
  else
    snprintf(reason, sizeof reason, "column '%s': %s", row->column, row->fault);
  enum hr_status status = hr_trace_builder_skip(reader->builder, reason, row->line);
  return status == HR_OK ? HR_OK : hr__reader_no_memory(reader);
}

enum hr_status hr__reader_bad_row(struct hr__reader *reader, const struct hr__row_fault *row) {
  if (reader->lenient) return skip_row(reader, row);
  unsigned long long line = row->line;
  if (!row->column)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: %s%s%s", reader->path, line, row->fault,
                   row->detail ? ": " : "", row->detail ? row->detail : "");
  if (!row->value.length)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: column '%s' is %s", reader->path, line, row->column,
                   row->fault);
  char quoted[HR__QUOTE_BYTES];
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: column '%s': '%s' is %s", reader->path, line, row->column,
                 hr__quote(row->value, quoted), row->fault);
}

enum hr_status hr__reader_add(struct hr__reader *reader, const struct hr_job_record *job, uint64_t line) {
  const char *fault = hr__job_record_fault(job);
  if (fault) return hr__reader_bad_row(reader, &(struct hr__row_fault){.line = line, .fault = fault});
  reader->n_fractions += job->gpu_milli < 1000 && job->gpus > 0;
  return hr__builder_append(reader->builder, job, line, reader->error);
}
