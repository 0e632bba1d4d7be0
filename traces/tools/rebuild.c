/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds a trace from jobs of other traces. See rebuild.h. */
#include "traces/tools/rebuild.h"

#include "traces/core/columns.h"

#include <string.h>

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
