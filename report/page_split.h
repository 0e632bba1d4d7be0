/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_SPLIT_H
#define HR_REPORT_PAGE_SPLIT_H

/* Who is drawn apart: the largest tenants, classes, GPU types, markets or pools, and the others as one. */

#include "report/page_parts.h"

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
/* "": none, as of a job without a tenant. */
const char *hr__page_key_name(const struct hr__page_view *view, enum hr__page_dimension dimension, uint32_t key);

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
