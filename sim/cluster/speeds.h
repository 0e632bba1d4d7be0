/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_SPEEDS_H
#define HR_SIM_CLUSTER_SPEEDS_H

/* The speeds of jobs in a run, from the tables of speeds by GPU type and by network, and the conversion between work
   and time. A speed is in ppm of the reference speed. */

#include "base/array.h"
#include "headroom/policy.h"

enum { HR__FULL_SPEED_PPM = 1000000 };

#define HR__MAX_TIME_US (INT64_MAX / 2)
__extension__ typedef unsigned __int128 hr__wide_us;

struct hr__speed_table {
  const struct hr_speeds *table; /* if NULL, every speed is 1 */
  uint32_t *row_of; /* by job: its row of the table; in a streamed run valid only after the job is submitted; NULL if
                       `table` is NULL */
  struct hr__row_span {
    uint32_t first, count;
  } * spans;        /* by model of the trace: the range of rows of the model in the table */
  uint32_t min_ppm; /* the smallest speed above 0 that any row has in any pool that has nodes */
};

/* Initializes the speeds, with memory from the arena. `table` may be NULL; otherwise it must have a column for each
   pool of the cluster. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__speeds_init(struct hr__speed_table *speeds, struct hr_arena *arena, const struct hr_speeds *table,
                               const struct hr_cluster_spec *cluster, const struct hr_trace *trace);

/* Finds the row of a job in the table of speeds. In a streamed run this is called when the job is submitted, otherwise
   for all jobs at the start of the run. */
void hr__speeds_find_row(const struct hr__speed_table *speeds, const struct hr_trace *trace, hr_job job);

static inline uint32_t hr__speed_of_row(const struct hr_speeds *table, uint32_t row, uint32_t pool) {
  return table->ppm[(size_t)row * table->n_pools + pool];
}

/* Returns the speed of a job in a pool, as determined by the GPU type of the pool. Jobs without GPUs have no row in the
   table and run at full speed. */
static inline uint32_t hr__speed_ppm(const struct hr__speed_table *speeds, hr_job job, hr_pool pool) {
  if (!speeds->table || speeds->row_of[job.id] == HR_NONE) return HR__FULL_SPEED_PPM;
  return hr__speed_of_row(speeds->table, speeds->row_of[job.id], pool.id);
}

/* hr__time_left_us returns the time that work takes, rounded up. hr__work_done_us returns the work that is completed in
   a given time, rounded down. Because of this rounding, work is always complete after the time that hr__time_left_us
   returns. `part` is the fraction of the next microsecond of work that is already completed, in millionths.
   hr__work_done_us updates `part`, so no work is lost if the speed changes within a microsecond of work. Both functions
   compute in 128 bits and limit the result to INT64_MAX / 2. */
static inline int64_t hr__time_left_us(int64_t work_us, uint32_t part, uint32_t speed_ppm) {
  if (speed_ppm == HR__FULL_SPEED_PPM || work_us == 0) return work_us;
  hr__wide_us time_us = ((hr__wide_us)(uint64_t)work_us * HR__FULL_SPEED_PPM - part + speed_ppm - 1) / speed_ppm;
  return time_us < HR__MAX_TIME_US ? (int64_t)time_us : HR__MAX_TIME_US;
}

static inline int64_t hr__work_done_us(int64_t time_us, uint32_t speed_ppm, uint32_t *part) {
  if (speed_ppm == HR__FULL_SPEED_PPM) return time_us;
  hr__wide_us work_ppm = (hr__wide_us)(uint64_t)time_us * speed_ppm + *part, work_us = work_ppm / HR__FULL_SPEED_PPM;
  *part = (uint32_t)(work_ppm % HR__FULL_SPEED_PPM);
  return work_us < HR__MAX_TIME_US ? (int64_t)work_us : HR__MAX_TIME_US;
}

/* Returns the time that work takes, rounded up; at most INT64_MAX / 2. */
static inline int64_t hr__time_for_us(int64_t work_us, uint32_t speed_ppm) {
  return hr__time_left_us(work_us, 0, speed_ppm);
}

/* Returns the work that is completed in a given time, rounded down; at most INT64_MAX / 2. */
static inline int64_t hr__work_in_us(int64_t time_us, uint32_t speed_ppm) {
  uint32_t part = 0;
  return hr__work_done_us(time_us, speed_ppm, &part);
}

/* ---- Speeds by network ---- */

/* The speeds by network. For each model of the trace and each kind of link, `spans` has the range of rows in the
   table. */
struct hr__network_speeds {
  const struct hr_network_speeds *table; /* if NULL, links do not affect speeds */
  struct hr_network_span *spans;         /* [models + 1][HR_N_NETWORKS]; spans[models] is for jobs without a model */
  uint32_t min_ppm;                      /* the minimum speed */
};

/* Initializes the speeds by network, with memory from the arena. `table` may be NULL. It is ignored if no pool
   specifies its networks. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__network_init(struct hr__network_speeds *network, struct hr_arena *arena,
                                const struct hr_network_speeds *table, const struct hr_cluster_spec *cluster,
                                const struct hr_trace *trace);

/* Returns the speed of a job with GPUs that are connected by links of the given kind. */
static inline uint32_t hr__network_ppm(const struct hr__network_speeds *network, const struct hr_trace *trace,
                                       hr_job job, enum hr_network links) {
  if (!network->table || links == HR_NETWORK_NONE || trace->gpus[job.id] < 2) return HR__FULL_SPEED_PPM;
  uint32_t model = trace->model ? trace->model[job.id] : HR_NONE;
  size_t row = model == HR_NONE ? trace->models.count : model;
  return hr_network_span_ppm(network->table, network->spans[row * HR_N_NETWORKS + links], trace->gpus[job.id]);
}

#endif
