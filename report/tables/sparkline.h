/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_SPARKLINE_H
#define HR_REPORT_TABLES_SPARKLINE_H

/* A value over time as one line of bars with eight heights. */

#include "base/console.h"
#include "report/metrics/buckets.h"

enum { HR__SPARK_CELLS = 60, HR__SPARK_HEIGHTS = 8 };

struct hr__sparkline {
  uint32_t n;       /* number of cells; fewer than HR__SPARK_CELLS if there are fewer buckets */
  bool blank_zeros; /* height 0 is blank, and heights go up to HR__SPARK_HEIGHTS */
  uint8_t height[HR__SPARK_CELLS];
};

enum hr__spark_value { HR__SPARK_MEANS, HR__SPARK_PEAKS };

/* Sets the height of each cell to the mean or the maximum of the value in its part of the time, relative to `top`. Only
   a value that is always 0 has the lowest bar. */
void hr__sparkline_of_buckets(struct hr__sparkline *line, enum hr__spark_value value, const struct hr__buckets *closed,
                              uint64_t top);
/* Sets one cell per count, at most HR__SPARK_CELLS; a count of 0 is blank, any other is visible. */
void hr__sparkline_of_counts(struct hr__sparkline *line, const uint64_t *counts, uint32_t count, uint64_t top);
/* Prints the line below a metric of the table, followed by the value of `top`. */
void hr__put_sparkline(struct hr__console *console, const struct hr__sparkline *line, uint64_t top);

#endif
