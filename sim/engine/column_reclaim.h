/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_COLUMN_RECLAIM_H
#define HR_SIM_ENGINE_COLUMN_RECLAIM_H

/* Memory of jobs that are over, given back while a streamed run goes on. */

#include "headroom/sim.h"

struct hr__engine;

struct hr__column_reclaim {
  uint32_t *left;                /* by block: jobs that are not over; NULL: the run is not streamed */
  uint32_t n_blocks, block_jobs; /* jobs: a multiple of the size of a page */
  struct hr__reclaimed_column {
    char *at;
    size_t width;  /* of an entry */
    size_t bytes;  /* of all that is mapped for it; 0: the column is the trace's */
    size_t length; /* of the trace's: of all its entries */
  } * columns;
  uint32_t n_columns, capacity;
};

/* Of the trace's columns, which must be mapped. Those of the engine's arena are then given back likewise. */
enum hr_status hr__column_reclaim_init(struct hr__engine *engine);
/* Whether nothing in the run needs what jobs that are over have left. */
enum hr_status hr__column_reclaim_check(const struct hr__engine *engine);
/* A job is submitted: what is written of each job before the run begins, where it is not streamed. */
void hr__column_reclaim_meet(struct hr__engine *engine, hr_job job);
/* The job is over: nobody will ask for it again. */
void hr__column_reclaim_job(struct hr__column_reclaim *reclaim, hr_job job);
/* The first job from `from` on in a block whose jobs are not all over; `from` itself where the run is not streamed. */
uint32_t hr__column_reclaim_skip(const struct hr__column_reclaim *reclaim, uint32_t from);
/* After the end, of the jobs that are not over. */
struct hr_unfinished_totals hr__column_reclaim_left(const struct hr__engine *engine);
void hr__column_reclaim_finish(struct hr__column_reclaim *reclaim);

#endif
