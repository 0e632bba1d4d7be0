/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_TABLE_H
#define HR_REPORT_PAGE_TABLE_H

/* A table of the page, column by column, in a block of its own. */

#include "report/page_parts.h"

struct hr__page_table {
  const struct hr__page_view *view;
  struct hr__page_json *json; /* within the list of columns */
  struct hr__page_block *block;
  int64_t *values; /* [n]: of the column that is being made; -1: not known */
  uint32_t n;
};

/* HR_NO_MEMORY on failure; to be finished either way. */
enum hr_status hr__page_table_init(struct hr__page_table *table, const struct hr__page_view *view,
                                   struct hr__page_json *json, struct hr__page_block *block, uint32_t n);
void hr__page_table_finish(struct hr__page_table *table);
/* Each puts `values`, which it may change. `delta`: each value is near the one before. */
void hr__page_table_column(struct hr__page_table *table, const char *name, bool delta);
/* Of microseconds, told in the coarsest unit that is good enough: seconds where all are whole, else microseconds, or
   milliseconds where those do not fit. */
void hr__page_table_times(struct hr__page_table *table, const char *name, bool delta);
/* Likewise of micro-dollars: in dollars, these, or thousandths. */
void hr__page_table_usd(struct hr__page_table *table, const char *name);

/* Numbers of texts in the order in which rows first have them. */
struct hr__page_numbering {
  uint32_t *number; /* by key: + 1 */
  uint32_t *keys;   /* by number */
  uint32_t count;
};
/* HR_NO_MEMORY on failure; to be finished either way. */
enum hr_status hr__page_numbering_init(struct hr__page_numbering *numbering, size_t n_keys);
void hr__page_numbering_finish(struct hr__page_numbering *numbering);
uint32_t hr__page_number_of(struct hr__page_numbering *numbering, uint32_t key);

/* The nodes that an attempt was on, and the first of them; 0 and -1 where it is only counted in its pool. */
uint32_t hr__page_nodes_of(const struct hr__page_view *view, const struct hr_attempt *attempt);
int64_t hr__page_node_of(const struct hr__page_view *view, const struct hr_attempt *attempt);
/* The job's last attempt; NULL: it has none. */
const struct hr_attempt *hr__page_last_attempt(const struct hr__page_view *view, uint32_t job);

/* Writes "attempts", of those of `jobs` that had more than one, if any had. */
enum hr_status hr__page_attempts(const struct hr__page_view *view, const uint32_t *jobs, uint32_t n_jobs,
                                 struct hr__page_json *json, struct hr__page_block *block);

#endif
