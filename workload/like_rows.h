/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_LIKE_ROWS_H
#define HR_WORKLOAD_LIKE_ROWS_H

/* Drawn jobs as rows of Headroom's CSV, with those columns that the model fills; or, where the file cannot be written
   row by row, gathered as a trace. */

#include "base/writers.h"
#include "workload/like_draw.h"

struct hr__rows {
  struct hr__out out;
  struct hr_trace_builder *builder; /* gathers the jobs; NULL: they are written as they come */
  const char *path;
  const struct hr_like_model *model;
  bool tasks, cpu, mem, gpu_milli, gpu_type, class_, status; /* columns */
  bool *seen_users, *seen_tenants;
  struct hr_like_figures figures;
  int64_t first_ms, last_ms;
  double gpu_s;
  uint64_t cluster_gpus; /* of more than that a job is too large */
};
enum hr_status hr__rows_open(struct hr__rows *rows, const struct hr_like_model *model, uint64_t cluster_gpus,
                             const char *path, struct hr_error *error);
void hr__rows_head(struct hr__rows *rows);
enum hr_status hr__rows_add(struct hr__rows *rows, const struct hr__campaign *campaign, const struct hr__drawn_job *job,
                            struct hr_error *error);
struct hr_like_figures hr__rows_figures(const struct hr__rows *rows);
/* The file appears if `status` is fine, else nothing does. */
enum hr_status hr__rows_close(struct hr__rows *rows, enum hr_status status, struct hr_error *error);

#endif
