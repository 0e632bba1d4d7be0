/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_SPEEDS_H
#define HR_SIM_CLUSTER_SPEEDS_H

/* A table of speeds bound to a trace: which of its rows each job goes by, and what speed makes of work and time. */

#include "base/arena.h"
#include "headroom/policy.h"

enum { HR__FULL_SPEED_PPM = 1000000 };

struct hr__speed_table {
  const struct hr_speeds *table; /* NULL: every speed is 1 */
  uint32_t *row_of;              /* by job, in a streamed run from its submission on; NULL without a table */
  struct hr__row_span {
    uint32_t first, count;
  } * spans;        /* by model of the trace: the table's rows */
  uint32_t min_ppm; /* of all that are above 0, on pools that have nodes */
};

/* In the arena. HR_NO_MEMORY is the only failure. `table` may be NULL, else it is of the cluster's pools. */
enum hr_status hr__speeds_init(struct hr__speed_table *speeds, struct hr_arena *arena, const struct hr_speeds *table,
                               const struct hr_cluster_spec *cluster, const struct hr_trace *trace);

/* Writes down by which row a job goes: done for all at the beginning, but in a streamed run before a job is looked at.
 */
void hr__speeds_find_row(const struct hr__speed_table *speeds, const struct hr_trace *trace, hr_job job);

static inline uint32_t hr__speed_of_row(const struct hr_speeds *table, uint32_t row, uint32_t pool) {
  return table->ppm[(size_t)row * table->n_pools + pool];
}

/* A job without GPUs has none to be fast on. */
static inline uint32_t hr__speed_ppm(const struct hr__speed_table *speeds, hr_job job, hr_pool pool) {
  if (!speeds->table || speeds->row_of[job.id] == HR_NONE) return HR__FULL_SPEED_PPM;
  return hr__speed_of_row(speeds->table, speeds->row_of[job.id], pool.id);
}

/* How long work takes, rounded up; what would go beyond all times is INT64_MAX / 2. */
int64_t hr__time_for_us(int64_t work_us, uint32_t speed_ppm);
/* What work is done in a time, rounded down; likewise. */
int64_t hr__work_in_us(int64_t time_us, uint32_t speed_ppm);

/* Likewise of work that has begun: `*part` is what is done of its next microsecond, in millionths, and goes on to be.
   So work at speeds that change is counted without loss. */
int64_t hr__time_left_us(int64_t work_us, uint32_t part, uint32_t speed_ppm);
int64_t hr__work_done_us(int64_t time_us, uint32_t speed_ppm, uint32_t *part);

#endif
