/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_TOOLS_REBUILD_H
#define HR_TRACES_TOOLS_REBUILD_H

/* Builds a trace from jobs of other traces, record by record. All fields of a job are copied unless the caller
   changes them in the record. */

#include "base/sort.h"
#include "headroom/trace_files.h"

/* A trace under construction, and the number of its jobs. */
struct hr__rebuild {
  struct hr_trace_builder *builder;
  const char *source;
  uint32_t n_jobs;
  bool has_ids; /* at least one source trace had ids */
};

/* Begins a trace with the source and the notes of `trace`. Returns HR_NO_MEMORY if out of memory. */
enum hr_status hr__rebuild_begin(struct hr__rebuild *rebuild, const struct hr_trace *trace, struct hr_error *error);
/* Adds the notes of another trace. Returns HR_NO_MEMORY if out of memory. */
enum hr_status hr__rebuild_add_notes(struct hr__rebuild *rebuild, const struct hr_trace *trace, struct hr_error *error);
/* Adds `record`, which was made from job `job` of `trace`. Errors name that job. */
enum hr_status hr__rebuild_add(struct hr__rebuild *rebuild, const struct hr_trace *trace, hr_job job,
                               const struct hr_job_record *record, struct hr_error *error);
/* Finishes the trace if `status` is HR_OK, and frees the state in any case. Returns `status`, or the error of
   finishing. The caller destroys `*created`. */
enum hr_status hr__rebuild_end(struct hr__rebuild *rebuild, enum hr_status status, bool dated,
                               struct hr_trace **created, struct hr_error *error);

/* Adds `later_us` to all instants of the record. */
void hr__record_move(struct hr_job_record *record, int64_t later_us);

/* Reports that memory ran out. `trace` is the source of the new trace. */
static inline enum hr_status hr__rebuild_no_memory(const struct hr_trace *trace, struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", trace->source);
}

#endif
