/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_PARTS_H
#define HR_REPORT_PAGE_PAGE_PARTS_H

/* The parts of a page's document that tell of its run, each made and written by a file of its own. */

#include "headroom/unstable/exports.h"
#include "report/page/page_sums.h"
#include "report/page/page_writer.h"

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

enum hr_status hr__page_alerts(const struct hr_alerts *alerts, struct hr__page_json *json); /* which may be NULL */
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
enum hr_status hr__page_use(const struct hr__page_view *view, struct hr__page_json *json);
enum hr_status hr__page_by(const struct hr__page_view *view, struct hr__page_json *json);
enum hr_status hr__page_waits(const struct hr__page_view *view, struct hr__page_json *json);
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
uint32_t hr__page_keys(const struct hr__page_view *view, enum hr__page_dimension dimension);
uint32_t hr__page_key(const struct hr__page_view *view, enum hr__page_dimension dimension,
                      const struct hr_attempt *attempt);

enum { HR__PAGE_ROWS = 12 };

struct hr__page_split {
  uint8_t *row;                /* by key */
  uint32_t key[HR__PAGE_ROWS]; /* by row, largest first; HR_NONE: the others */
  uint32_t n_rows;
};

/* `weight`, [n_keys]: what is drawn of each in all; those of 0 have no row of their own. HR_NO_MEMORY on failure. */
enum hr_status hr__page_split_make(struct hr__page_split *split, const hr_amount *weight, uint32_t n_keys);
void hr__page_split_finish(struct hr__page_split *split);
const char *hr__page_row_name(const struct hr__page_view *view, enum hr__page_dimension dimension,
                              const struct hr__page_split *split, uint32_t row);

#endif
