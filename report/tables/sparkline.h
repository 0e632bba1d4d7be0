/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_SPARKLINE_H
#define HR_REPORT_TABLES_SPARKLINE_H

/* A count over time in one line of a table, as bars of eight heights. */

#include "base/console.h"
#include "report/metrics/buckets.h"

enum { HR__SPARK_CELLS = 60, HR__SPARK_HEIGHTS = 8 };

struct hr__sparkline {
  uint32_t n;       /* fewer than HR__SPARK_CELLS where there are fewer buckets */
  bool blank_zeros; /* height 0 is blank, and heights go up to HR__SPARK_HEIGHTS */
  uint8_t height[HR__SPARK_CELLS];
};

/* Each cell as high as the count was on average, or at most, in its part of the time, against `top`. Only what is never
   above zero has the least height. */
void hr__sparkline_of_means(struct hr__sparkline *line, const struct hr__buckets *closed, uint64_t top);
void hr__sparkline_of_peaks(struct hr__sparkline *line, const struct hr__buckets *closed, uint64_t top);
/* A cell for each of at most HR__SPARK_CELLS counts; one of 0 is blank, and any other is not. */
void hr__sparkline_of_counts(struct hr__sparkline *line, const uint64_t *counts, uint32_t count, uint64_t top);
/* The line under a figure of the table, and beside it what `top` is. */
void hr__put_sparkline(struct hr__console *console, const struct hr__sparkline *line, uint64_t top);

#endif
