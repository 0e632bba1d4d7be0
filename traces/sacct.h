/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_SACCT_H
#define HR_TRACES_SACCT_H

/* What the two halves of the reader of sacct's output share: sacct_rows.c makes sense of rows, sacct.c joins them. */

#include "sim/names.h"
#include "traces/formats.h"

/* A row as it stands in the file. */
struct hr__sacct_row {
  struct hr_text id, raw_id, state, user, account, partition, priority, restarts;
  struct hr_text alloc_tres, req_tres, alloc_gres, req_gres, req_mem, limit, limit_minutes;
  int64_t submit_us, eligible_us, start_us, end_us; /* INT64_MIN where unknown */
  uint32_t alloc_nodes, nodes, alloc_cpu_milli, cpu_milli, req_cpu_milli;
};

/* What is kept of it; texts are numbers of `texts`. */
struct hr__sacct_job {
  const char *left_out; /* why the job is not replayed; NULL when it is */
  uint64_t line, mem_mib;
  int64_t submit_us, start_us, work_us, limit_us;
  int64_t attempt_us, began_us; /* submit and start of the attempt that is kept: the last */
  uint32_t user, tenant, types, gpus, tasks, cpu_milli;
  int32_t priority;
  uint8_t outcome;
};

struct hr__sacct {
  struct hr__reader *reader;
  struct hr__names ids, texts;
  struct hr__sacct_job *jobs; /* by number of the id */
  uint32_t n_jobs, capacity;
  bool asks_are_told; /* there is a column of what jobs asked for, apart from what they got */
  uint64_t n_steps, n_attempts, n_restarts, n_components, n_held, n_partition_limits, n_uneven, n_mixed, n_per_node,
      n_priorities, n_early, n_shares;
};

enum hr_status hr__sacct_read_rows(struct hr__sacct *sacct);
/* Completes the job with the row's texts and keeps it. */
enum hr_status hr__sacct_keep(struct hr__sacct *sacct, struct hr__sacct_job *job, const struct hr__sacct_row *row,
                              const char *types);

#endif
