/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_SCOPED_METRICS_H
#define HR_PLAN_RUNNER_SCOPED_METRICS_H

/*
 * A scoped metric is a metric of all jobs, of one class or of one tenant, such as "wait_s.p95 of inference". Goals,
 * objectives, replications, checks and advice refer to metrics in this way.
 */

#include "headroom/trace.h"
#include "report/metrics/catalog.h"

#include <string.h>

enum hr__metric_scope { HR__OF_ALL, HR__OF_CLASS, HR__OF_TENANT };

struct hr__scoped_metric {
  enum hr__metric id;
  enum hr__metric_scope of;
  const char *name; /* of the class or tenant, borrowed from the trace or the table of classes; NULL: all jobs */
};

/* Parses `length` bytes such as "wait_s.p95", "wait_s.p95 of inference" or "completed of tenant retail". "of X" means
   the class X if such a class exists, otherwise the tenant X of `trace`. "of class X" and "of tenant X" are explicit.
   An HR_BAD_INPUT error has no location; the caller adds it. */
enum hr_status hr__scoped_metric_parse(const char *text, size_t length, const struct hr_trace *trace,
                                       struct hr__scoped_metric *metric, struct hr_error *error);

/* Whether both metrics are of the same group: of all jobs, or of the same class or tenant. */
static inline bool hr__scoped_metric_same_group(const struct hr__scoped_metric *a, const struct hr__scoped_metric *b) {
  return a->of == b->of && (a->of == HR__OF_ALL || strcmp(a->name, b->name) == 0);
}

static inline bool hr__scoped_metric_same(const struct hr__scoped_metric *a, const struct hr__scoped_metric *b) {
  return a->id == b->id && hr__scoped_metric_same_group(a, b);
}

enum { HR__SCOPED_METRIC_BYTES = 300 };
/* Writes "wait_s.p95 of inference" to `buffer`, which has HR__SCOPED_METRIC_BYTES bytes, and returns the buffer. */
const char *hr__scoped_metric_name(const struct hr__scoped_metric *metric, char *buffer);

/* Writes the values of `count` metrics of a run to an array; NaN if unknown. Consecutive metrics of one group need only
   one search for the group. */
void hr__scoped_metrics_of_run(const struct hr_summary *summary, const struct hr__scoped_metric *metrics, size_t count,
                               double *values);

#endif
