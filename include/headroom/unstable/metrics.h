/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_METRICS_H
#define HEADROOM_UNSTABLE_METRICS_H

/*
 * The catalogue of metrics: everything that Headroom knows about each metric of a run. Tables, files, goals, tolerances
 * and documentation are generated from it. docs/reference/metrics.md has the definitions.
 *
 * A metric has two names: its path in the JSON summary ("wait_s.p95") and its column in CSV and SQLite files
 * ("wait_p95_s").
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hr_unit {
  HR_UNIT_COUNT,
  HR_UNIT_SECONDS,
  HR_UNIT_GPU_HOURS,
  HR_UNIT_SHARE, /* a part of 1, shown in percent */
  HR_UNIT_FACTOR,
  HR_UNIT_INDEX, /* a number with four decimals */
  HR_UNIT_RATE,  /* events per hour */
  HR_UNIT_DOLLARS
};

/* The kind decides how a metric is written, and which interval it has over several runs. */
enum hr_metric_kind {
  HR_METRIC_COUNT,    /* a whole number of things */
  HR_METRIC_SUM,      /* a sum or a duration */
  HR_METRIC_RATIO,    /* a quotient of two sums */
  HR_METRIC_MEAN,     /* the mean of a distribution, or a mean over time */
  HR_METRIC_QUANTILE, /* a quantile or the maximum of a distribution */
  HR_METRIC_EXTREME   /* the maximum or minimum of a count over time */
};

/* Which values are better. */
enum hr_direction { HR_NEITHER_IS_BETTER, HR_LOWER_IS_BETTER, HR_HIGHER_IS_BETTER };

/* Properties of metrics, as a set. */
enum {
  HR_METRIC_OF_GROUPS = 1,  /* classes and tenants have the metric too */
  HR_METRIC_OF_SERVICE = 2, /* it describes the service of jobs, which more capacity improves */
  HR_METRIC_NULLABLE = 4,   /* an unknown value is null in the JSON summary; otherwise it is 0 */
  HR_METRIC_SIGNED = 8,     /* it may be negative */
  HR_METRIC_NO_JSON = 16,   /* the JSON summary omits it */
  HR_METRIC_LISTED = 32     /* the table and the Markdown page of a run contain it */
};

struct hr_metric {
  const char *path, *column;
  enum hr_unit unit;
  enum hr_metric_kind kind;
  enum hr_direction direction;
  unsigned flags;
  const char *title; /* a few words */
  const char *help;  /* the definition; the metrics of a distribution have one definition */
};

/* Stores the table of all metrics, and returns its length. */
HR_API size_t hr_metrics(const struct hr_metric **metrics);
/* Returns "count", "s", "GPU-hours", "share", "factor", "index", "per hour" or "USD". */
HR_API const char *hr_unit_name(enum hr_unit unit);
/* Returns "lower", "higher" or "-". */
HR_API const char *hr_direction_name(enum hr_direction direction);

#ifdef __cplusplus
}
#endif
#endif
