/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_RETIRE_H
#define HR_SIM_RETIRE_H

/* Memory of jobs that are over, given back while a streamed run goes on. */

#include "headroom/trace.h"

struct hr__engine;

enum { HR__RETIRE_COLUMNS = 40 };

struct hr__retire {
  uint32_t *left;      /* by block: jobs that are not over; NULL: the run is not streamed */
  uint32_t block_jobs; /* a multiple of the size of a page */
  struct hr__retired_column {
    char *at;
    size_t width; /* of an entry */
    size_t bytes; /* of all; 0: the column is the trace's */
  } columns[HR__RETIRE_COLUMNS];
  uint32_t n_columns;
};

/* The engine's columns by job, all zero, and those of the trace, which must be mapped. */
enum hr_status hr__retire_init(struct hr__engine *engine);
/* After all else has begun: whether nothing in the run needs what jobs that are over have left. */
enum hr_status hr__retire_check(const struct hr__engine *engine);
/* The job is over: nobody will ask for it again. */
void hr__retire_job(struct hr__retire *retire, hr_job job);
void hr__retire_finish(struct hr__engine *engine);

#endif
