/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_TABLES_H
#define HR_REPORT_TABLES_TABLES_H

/* Parts of tables and Markdown pages: lines about metrics, the policy as text, bars in a line of text, and alerts. */

#include "base/text.h"
#include "headroom/policies.h"
#include "headroom/report.h"
#include "report/metrics/catalog.h"
#include "report/metrics/statistics.h"

/* ---- Metrics (lines.c) --------------------------------------------------------------------------------- */

/* Lines of text about the metrics of a run, for terminals and Markdown. Numbers are written by hr__metric_text only,
   so that a metric has the same format everywhere. */

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
  HR__PART_OOM,
  HR__PART_FAULTS,
  HR__PART_MAINTENANCE,
  HR__PART_ENERGY,
  HR__PART_DATA
};

/* Prints the lines of a part that have known metrics. */
void hr__put_metric_lines(struct hr__console *console, enum hr__metric_part part, const struct hr_summary *summary);
/* Prints a line for each known metric with HR_METRIC_LISTED that no part contains. */
void hr__put_other_metrics(struct hr__console *console, const struct hr_summary *summary);
/* Whether no job ran in a pool with a price, and nothing was paid. The costs are then unknown, not zero. */
bool hr__is_unpriced(const struct hr_summary *summary);
/* Prints a row of a Markdown table for each metric with HR_METRIC_LISTED that is known, or is an unknown cost. */
void hr__markdown_metrics(struct hr__console *page, const struct hr_summary *summary);

/* ---- The policy (lines.c) ------------------------------------------------------------------------------ */

/* Describes a policy and its parameters as text, for tables. */

/* Returns the policy and its parameters as text, such as "queue: order sjf, ...". Advanced parameters are included only
   if they differ from their defaults. The caller frees the text. Returns NULL if out of memory. */
char *hr__policy_words(const struct hr_policy_choice *choice);

/* ---- Sparklines (lines.c) ------------------------------------------------------------------------------ */

/* A sparkline: a series of values as one line of text, in which each character (cell) is a bar with one of eight
   heights. */

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

/* ---- Alerts (lines.c) ---------------------------------------------------------------------------------- */

/* Writes alerts as a table, as Markdown and as sentences. `alerts` is NULL if no alert rules were evaluated; then
   nothing is written. */

/* Prints a table with one row per rule and subject: number of alerts, total duration, and the longest alert. `clock_us`
   (microseconds, hr_trace_clock_us) is added to the time at which it began. */
void hr__put_alerts(struct hr__console *console, const struct hr_alerts *alerts, int64_t clock_us);
/* Writes the same table as Markdown. */
void hr__markdown_alerts(struct hr__console *page, const struct hr_alerts *alerts, int64_t clock_us);
/* All alerts with the same rule and subject, which are consecutive in the list. */
struct hr__alert_group {
  const struct hr_alert *longest;
  size_t count;
  int64_t sum_us;
};
/* Returns the group that begins at `list`, which points to the remaining `count` >= 1 alerts. */
struct hr__alert_group hr__alert_group_at(const struct hr_alert *list, size_t count);
/* Writes a sentence about an alert, without a full stop. */
void hr__put_alert_words(FILE *out, const struct hr_alert *alert);

#endif
