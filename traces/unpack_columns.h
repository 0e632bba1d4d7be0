/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_UNPACK_COLUMNS_H
#define HR_TRACES_UNPACK_COLUMNS_H

/* What columns that come from a packed trace may hold: what a reader of rows would have let in, and nothing else. */

#include "traces/builder.h"

/* Whether each of `count` entries of a column is a value that it may hold. The trace's names are there already. */
bool hr__column_is_fine(const struct hr_trace *trace, enum hr__column_id id, const void *at, uint32_t count);
/* Whether submits never decrease, `*last_us` being the one before; it becomes the last of these. */
bool hr__submits_are_fine(const int64_t *submit_us, uint32_t count, int64_t *last_us);
/* Whether each row is there once. Needs memory: `*fine` is set when HR_OK is returned. */
enum hr_status hr__rows_are_fine(const uint32_t *row, uint32_t n_jobs, bool *fine);
/* What keeps columns, each of them fine, from making sense together for some jobs, as a sentence; NULL when nothing
   does. */
const char *hr__columns_fault(const struct hr_trace *trace, uint32_t from, uint32_t to);

#endif
