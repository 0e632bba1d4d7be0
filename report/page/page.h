/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_H
#define HR_REPORT_PAGE_PAGE_H

#include "headroom/sim.h"
#include "headroom/unstable/exports.h"
#include "report/page/page_writer.h"
#include "sim/market/price.h"

#include <stdlib.h>

/* Sums over the buckets of a run's time, exact in whole numbers, made after the run: what holds from one time to
   another costs the same however many buckets it spans. */

/* Buckets of equal width from time zero on, the last of which may cover less. */
struct hr__page_grid {
  int64_t width_us, end_us;
  uint32_t n;
};

/* The bucket of a time; of one beyond the end, the last. */
static inline uint32_t hr__page_bucket(const struct hr__page_grid *grid, int64_t at_us) {
  int64_t place = at_us / grid->width_us;
  return place < grid->n ? (uint32_t)place : grid->n - 1;
}

static inline int64_t hr__page_span_us(const struct hr__page_grid *grid, uint32_t i) {
  int64_t left_us = grid->end_us - i * grid->width_us;
  return left_us < grid->width_us ? left_us : grid->width_us;
}

struct hr__page_sums {
  hr_amount *sum;  /* [n] */
  hr_amount *rate; /* [n + 1]: how much more than in the bucket before holds throughout the bucket; NULL once closed */
};

/* HR_NO_MEMORY on failure; to be finished either way. */
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
/* `rate` x microseconds, from one time to another. */
void hr__page_hold(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                   hr_amount rate);
/* Likewise of a rate that is milli-GPUs x a price. Not for prices that change at more than a few times a bucket. */
void hr__page_hold_priced(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                          hr_amount milli, const struct hr__price_sums *prices);
/* An amount, evenly over a time, without losing a unit; all of it at once where the time is none. */
void hr__page_spread(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                     hr_amount amount);
static inline void hr__page_put(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t at_us,
                                hr_amount amount) {
  if (grid->n) sums->sum[hr__page_bucket(grid, at_us)] += amount;
}
/* After it `sum` may be read. */
void hr__page_sums_close(struct hr__page_sums *sums, const struct hr__page_grid *grid);

/* The parts of a page's document that tell of its run, each made and written by a file of its own. */

/* A run as the parts look at it. */
struct hr__page_view {
  const struct hr_page_run *run;
  struct hr__page_grid grid;
  const struct hr_attempt *attempts;
  size_t n_attempts;
  const struct hr_node_change *changes;
  size_t n_changes;
  uint32_t *first_node;   /* by pool, and one more: the number of nodes */
  uint32_t *first_of_gpu; /* by pool: the first pool with such GPUs */
};

enum hr_status hr__page_distributions(const struct hr__page_view *view, struct hr__page_json *json);
enum hr_status hr__page_cells(const struct hr__page_view *view, struct hr__page_json *json);
enum hr_status hr__page_occupancy(const struct hr__page_view *view, struct hr__page_json *json,
                                  struct hr__page_block *block);
/* Jobs, their ids where these are not the numbers of the rows, and the attempts of those that had several. */
struct hr__page_job_blocks {
  struct hr__page_block jobs, ids, attempts;
};
enum hr_status hr__page_jobs(const struct hr__page_view *view, struct hr__page_json *json,
                             struct hr__page_job_blocks *blocks);

/* Parts of the series. */
enum hr_status hr__page_usage_series(const struct hr__page_view *view, struct hr__page_json *json);
enum hr_status hr__page_spend(const struct hr__page_view *view, struct hr__page_json *json);

/* A list of a number for each bucket: sum / (time that the bucket covers x unit), or sum / unit. */
void hr__page_put_means(struct hr__page_json *json, const char *key, const struct hr__page_sums *sums,
                        const struct hr__page_grid *grid, double unit);
void hr__page_put_sums(struct hr__page_json *json, const char *key, const struct hr__page_sums *sums,
                       const struct hr__page_grid *grid, double unit);

/* Who is drawn apart: the largest tenants, classes, GPU types, markets or pools, and the others as one. */

enum hr__page_dimension {
  HR__PAGE_TENANT,
  HR__PAGE_CLASS,
  HR__PAGE_GPU,
  HR__PAGE_MARKET,
  HR__PAGE_POOL,
  HR__PAGE_DIMENSIONS
};

/* How many there may be; 0: the trace knows of none. */
static inline uint32_t hr__page_keys(const struct hr__page_view *view, enum hr__page_dimension dimension) {
  const struct hr_trace *trace = view->run->trace;
  if (dimension == HR__PAGE_TENANT) return trace->tenant ? trace->tenants.count + 1 : 0;
  if (dimension == HR__PAGE_CLASS) return trace->class_ ? HR_N_CLASSES : 0;
  return dimension == HR__PAGE_MARKET ? (uint32_t)HR_N_MARKETS : view->run->cluster->n_pools;
}
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

/* `weight`, [n_keys]: what is drawn of each in all; those of 0 have no row of their own. HR_NO_MEMORY on failure. */
enum hr_status hr__page_split_make(struct hr__page_split *split, const hr_amount *weight, uint32_t n_keys);
static inline void hr__page_split_finish(struct hr__page_split *split) {
  free(split->row);
  *split = (struct hr__page_split){0};
}
const char *hr__page_row_name(const struct hr__page_view *view, enum hr__page_dimension dimension,
                              const struct hr__page_split *split, uint32_t row);

/* Which jobs stand in the page's table: all, or, where they are too many, those that a person would look for, and a
   sample of the rest. */

enum { HR__PAGE_MOST_JOBS = 200000 };

/* Numbers of the jobs, ascending, which the caller frees; NULL when out of memory. `most`: no more than these, at
   least 3. */
uint32_t *hr__page_shown(const struct hr_result *result, uint32_t most, uint32_t *n_shown);

#endif
