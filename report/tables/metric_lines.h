/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_METRIC_LINES_H
#define HR_REPORT_TABLES_METRIC_LINES_H

/*
 * Lines of text about the metrics of a run, for terminals and Markdown. Numbers are written by hr__metric_text only, so
 * that a metric has the same format everywhere.
 */

#include "base/console.h"
#include "report/metrics/catalog.h"

/* The parts of the table for a terminal. The first line of a part has a label. */
enum hr__metric_part {
  HR__PART_JOBS,
  HR__PART_GPUS,
  HR__PART_FRAGMENTS,
  HR__PART_HOURS,
  HR__PART_QUEUE,
  HR__PART_COST,
  HR__PART_IDLE,
  HR__PART_SHARED,
  HR__PART_ON_DEMAND,
  HR__PART_GOODPUT,
  HR__PART_SPOT,
  HR__PART_OOM
};

/* Prints the lines of a part whose metrics are known. */
void hr__put_metric_lines(struct hr__console *console, enum hr__metric_part part, const struct hr_summary *summary);
/* Prints a line for each known metric with HR_METRIC_LISTED that no part contains. */
void hr__put_other_metrics(struct hr__console *console, const struct hr_summary *summary);
/* Prints a row of a Markdown table for each known metric with HR_METRIC_LISTED. */
void hr__markdown_metrics(struct hr__console *page, const struct hr_summary *summary);

#endif
