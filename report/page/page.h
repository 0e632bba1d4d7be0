/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_H
#define HR_REPORT_PAGE_PAGE_H

#include "headroom/sim.h"
#include "headroom/unstable/exports.h"
#include "report/page/page_writer.h"

#include <stdlib.h>

/* ---- Sums over time ------------------------------------------------------------------------------ */

/* The HTML report: a JSON document and binary blocks, embedded into a template. page.c writes the document; the parts
   below each write one section of it and return HR_NO_MEMORY on failure. */

/* Buckets of equal width from time zero; the last one may be shorter. */
struct hr__page_grid {
  int64_t width_us, end_us;
  uint32_t n;
};

/* Returns the bucket of a time; the last one for times beyond the end. */
static inline uint32_t hr__page_bucket(const struct hr__page_grid *grid, int64_t at_us) {
  int64_t place = at_us / grid->width_us;
  return place < grid->n ? (uint32_t)place : grid->n - 1;
}

/* Returns the time that bucket `i` covers. */
static inline int64_t hr__page_span_us(const struct hr__page_grid *grid, uint32_t i) {
  int64_t left_us = grid->end_us - i * grid->width_us;
  return left_us < grid->width_us ? left_us : grid->width_us;
}

/* Returns the end of the part of an interval up to `to_us` that lies in bucket `i`. */
static inline int64_t hr__page_part_end_us(const struct hr__page_grid *grid, uint32_t i, int64_t to_us) {
  int64_t end_us = (i + INT64_C(1)) * grid->width_us;
  return i + 1 == grid->n || to_us < end_us ? to_us : end_us;
}

/* Exact sums by bucket. The cost of an interval does not depend on how many buckets it spans. */
struct hr__page_sums {
  hr_amount *sum;  /* [n] */
  hr_amount *rate; /* [n + 1]: change, from the bucket before, of the rate over the whole bucket; NULL once closed */
};

/* Returns HR_NO_MEMORY on failure; call hr__page_sums_finish() in any case. */
static inline enum hr_status hr__page_sums_init(struct hr__page_sums *sums, const struct hr__page_grid *grid) {
  sums->sum = calloc((size_t)grid->n + 1, sizeof *sums->sum);
  sums->rate = calloc((size_t)grid->n + 1, sizeof *sums->rate);
  return sums->sum && sums->rate ? HR_OK : HR_NO_MEMORY;
}
static inline void hr__page_sums_finish(struct hr__page_sums *sums) {
  free(sums->sum);
  free(sums->rate);
  *sums = (struct hr__page_sums){0};
}
/* Adds a constant rate during an interval: rate x microseconds. */
void hr__page_hold(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                   hr_amount rate);
/* Spreads an amount evenly over an interval without losing a unit; puts all of it at `from_us` if the interval is
   empty. */
void hr__page_spread(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                     hr_amount amount);
/* Adds an amount at a time. */
static inline void hr__page_put(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t at_us,
                                hr_amount amount) {
  if (grid->n) sums->sum[hr__page_bucket(grid, at_us)] += amount;
}
/* Completes the sums; `sum` may be read afterwards. */
void hr__page_sums_close(struct hr__page_sums *sums, const struct hr__page_grid *grid);

/* ---- Sections ------------------------------------------------------------------------------------ */

/* A run, as the sections see it. */
struct hr__page_view {
  const struct hr_page_run *run;
  struct hr__page_grid grid;
  const struct hr_attempt *attempts;
  size_t n_attempts;
  const struct hr_node_change *changes;
  size_t n_changes;
  uint32_t *first_node;   /* [n_pools + 1]; the last entry is the number of nodes */
  uint32_t *first_of_gpu; /* by pool: the first pool with the same GPU type */
};

/* Writes "distributions": histograms of waits by class, size and tenant. */
enum hr_status hr__page_distributions(const struct hr__page_view *view, struct hr__page_json *json);
/* Writes "costs": cost and GPU time by tenant and market. Needs a run with costs. */
enum hr_status hr__page_cells(const struct hr__page_view *view, struct hr__page_json *json);
/* Writes "occupancy": a heat map of nodes over time, with its pixels in a block. */
enum hr_status hr__page_occupancy(const struct hr__page_view *view, struct hr__page_json *json,
                                  struct hr__page_block *block);
/* Blocks of the job table: jobs, their ids if these are not row numbers, and attempts of jobs with several. */
struct hr__page_job_blocks {
  struct hr__page_block jobs, ids, attempts;
};
/* Writes "jobs" and "attempts". */
enum hr_status hr__page_jobs(const struct hr__page_view *view, struct hr__page_json *json,
                             struct hr__page_job_blocks *blocks);

/* Write parts of "series": GPU usage and waits; cost (needs a run with costs). */
enum hr_status hr__page_usage_series(const struct hr__page_view *view, struct hr__page_json *json);
enum hr_status hr__page_spend(const struct hr__page_view *view, struct hr__page_json *json);

/* Writes an array with one number per bucket: sum / unit. */
void hr__page_put_sums(struct hr__page_json *json, const char *key, const struct hr__page_sums *sums,
                       const struct hr__page_grid *grid, double unit);

/* ---- Splits: the largest tenants, classes, GPU types, markets or pools, and the others as one row  */

enum hr__page_dimension {
  HR__PAGE_TENANT,
  HR__PAGE_CLASS,
  HR__PAGE_GPU,
  HR__PAGE_MARKET,
  HR__PAGE_POOL,
  HR__PAGE_DIMENSIONS
};

/* Returns the number of keys of a dimension; 0 if the trace does not have it. */
static inline uint32_t hr__page_keys(const struct hr__page_view *view, enum hr__page_dimension dimension) {
  const struct hr_trace *trace = view->run->trace;
  if (dimension == HR__PAGE_TENANT) return trace->tenant ? trace->tenants.count + 1 : 0;
  if (dimension == HR__PAGE_CLASS) return trace->class_ ? HR_N_CLASSES : 0;
  return dimension == HR__PAGE_MARKET ? (uint32_t)HR_N_MARKETS : view->run->cluster->n_pools;
}
/* Returns the key of an attempt. Jobs without a tenant have one key after the tenants. */
static inline uint32_t hr__page_key(const struct hr__page_view *view, enum hr__page_dimension dimension,
                                    const struct hr_attempt *attempt) {
  const struct hr_trace *trace = view->run->trace;
  uint32_t job = attempt->job.id, pool = attempt->pool.id;
  if (dimension == HR__PAGE_TENANT) return trace->tenant[job] == HR_NONE ? trace->tenants.count : trace->tenant[job];
  if (dimension == HR__PAGE_CLASS) return trace->class_[job];
  if (dimension == HR__PAGE_MARKET) return (uint32_t)view->run->cluster->pools[pool].market.market;
  return dimension == HR__PAGE_GPU ? view->first_of_gpu[pool] : pool;
}

enum { HR__PAGE_ROWS = 12 };

struct hr__page_split {
  uint8_t *row;                /* by key */
  uint32_t key[HR__PAGE_ROWS]; /* by row, largest first; HR_NONE: the others */
  uint32_t n_rows;
};

/* Assigns rows to keys. `weight`, [n_keys], is the total of each key; keys with weight 0 have no row of their own.
   Returns HR_NO_MEMORY on failure. */
enum hr_status hr__page_split_make(struct hr__page_split *split, const hr_amount *weight, uint32_t n_keys);
static inline void hr__page_split_finish(struct hr__page_split *split) {
  free(split->row);
  *split = (struct hr__page_split){0};
}
/* Returns the name of a row; "" for jobs without a tenant. */
const char *hr__page_row_name(const struct hr__page_view *view, enum hr__page_dimension dimension,
                              const struct hr__page_split *split, uint32_t row);

/* ---- Selection of jobs --------------------------------------------------------------------------- */

enum { HR__PAGE_MAX_JOBS = 200000 };

/* Selects the jobs of the table: all, or, if there are more than `max` >= 3, the third of `max` that waited longest,
   the third that is largest, and a sample of the others. Returns their indices in ascending order, to be freed by the
   caller; NULL if out of memory. */
uint32_t *hr__page_shown(const struct hr_result *result, uint32_t max, uint32_t *n_shown);

#endif
