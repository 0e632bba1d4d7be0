/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_SPARKLINE_H
#define HR_REPORT_TABLES_SPARKLINE_H

/* A sparkline: a series of values as one line of text, in which each character (cell) is a bar with one of eight
   heights. */

#include "base/console.h"
#include "report/metrics/buckets.h"

enum { HR__SPARK_CELLS = 60, HR__SPARK_HEIGHTS = 8 };

struct hr__sparkline {
  uint32_t n;       /* number of cells; at most HR__SPARK_CELLS */
  bool blank_zeros; /* height 0 is a space, 1 is the lowest bar; otherwise height 0 is the lowest bar */
  uint8_t height[HR__SPARK_CELLS];
};

enum hr__spark_value { HR__SPARK_MEANS, HR__SPARK_PEAKS };

/* Divides the run into cells and sets the height of each cell to the mean or maximum of its buckets, relative to `top`.
   `closed` must be closed. A cell has the lowest bar only if all its values are 0. */
void hr__sparkline_of_buckets(struct hr__sparkline *line, enum hr__spark_value value, const struct hr__buckets *closed,
                              uint64_t top);
/* Sets one cell for each of the first HR__SPARK_CELLS counts, relative to `top`. A count of 0 is a space; all other
   counts are visible. */
void hr__sparkline_of_counts(struct hr__sparkline *line, const uint64_t *counts, uint32_t count, uint64_t top);
/* Prints the sparkline as a line of the table, followed by the value `top`. */
void hr__put_sparkline(struct hr__console *console, const struct hr__sparkline *line, uint64_t top);

#endif
