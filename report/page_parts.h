/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PARTS_H
#define HR_REPORT_PAGE_PARTS_H

/* The parts of a page's document that tell of its run, each made and written by a file of its own. */

#include "headroom/page.h"
#include "report/page_block.h"
#include "report/page_sums.h"

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

/* HR_NO_MEMORY on failure; to be finished either way. Closes the run's watch. */
enum hr_status hr__page_view_init(struct hr__page_view *view, const struct hr_page_run *run);
void hr__page_view_finish(struct hr__page_view *view);

/* Each writes a value of the document with its key; HR_NO_MEMORY is the only failure. A block that it fills is written
   behind the document. */
enum hr_status hr__page_series(const struct hr__page_view *view, struct hr__page_json *json);
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
enum hr_status hr__page_spot(const struct hr__page_view *view, struct hr__page_json *json);

/* A list of a number for each bucket: sum / (time that the bucket covers x unit), or sum / unit. */
void hr__page_put_means(struct hr__page_json *json, const char *key, const struct hr__page_sums *sums,
                        const struct hr__page_grid *grid, double unit);
void hr__page_put_sums(struct hr__page_json *json, const char *key, const struct hr__page_sums *sums,
                       const struct hr__page_grid *grid, double unit);

#endif
