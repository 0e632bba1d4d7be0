/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_TOOLS_REBUILD_H
#define HR_TRACES_TOOLS_REBUILD_H

/* A trace made of jobs of others, record by record: what is not changed on the way stays, whatever columns there are.
 */

#include "base/sort.h"
#include "headroom/trace_files.h"

struct hr__rebuild {
  struct hr_trace_builder *builder;
  const char *source;
  uint32_t n_jobs;
  bool ids_told; /* by one of the traces that it is made of */
};

/* Called and noted like `trace`. */
enum hr_status hr__rebuild_begin(struct hr__rebuild *rebuild, const struct hr_trace *trace, struct hr_error *error);
/* Likewise, without what tells where the trace is from: its name, its notes but the one on its clock. */
enum hr_status hr__rebuild_begin_unnamed(struct hr__rebuild *rebuild, const struct hr_trace *trace, bool dated,
                                         struct hr_error *error);
/* The notes of a further trace. */
enum hr_status hr__rebuild_take_notes(struct hr__rebuild *rebuild, const struct hr_trace *trace,
                                      struct hr_error *error);
/* `record` is made of this job of `trace`, which an error names. */
enum hr_status hr__rebuild_add(struct hr__rebuild *rebuild, const struct hr_trace *trace, hr_job job,
                               const struct hr_job_record *record, struct hr_error *error);
/* Hands the trace over if `status`, of what was done so far, is HR_OK; ends the rebuilding in any case. */
enum hr_status hr__rebuild_end(struct hr__rebuild *rebuild, enum hr_status status, bool dated, struct hr_trace **made,
                               struct hr_error *error);

/* The record's job is submitted so much later; its deadline and its recorded start move along. */
void hr__record_move(struct hr_job_record *record, int64_t later_us);

/* The jobs of `list`, which `count` of are, each at its key, in microseconds from the first submit; ends as above. */
enum hr_status hr__rebuild_moved(const struct hr_trace *trace, const struct hr__keyed_row *list, size_t count,
                                 struct hr_trace **made, struct hr_error *error);

enum hr_status hr__no_memory_for(const struct hr_trace *trace, struct hr_error *error);

#endif
