/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FAILURES_H
#define HEADROOM_UNSTABLE_FAILURES_H

/*
 * Logs of failures. A log has one group of nodes for each system that it names, and four kinds of intervals, in hours.
 * exports.h fits distributions to them.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of intervals. The columns: enumerator, JSON key, words for tables. */
#define HR_FAILURE_INTERVAL_TABLE(X)                                                                                   \
  X(HR_FAILURE_SYSTEM_GAP, "system_gap_h", "between failures of the system")                                           \
  X(HR_FAILURE_NODE_GAP, "node_gap_h", "between failures of a node")                                                   \
  X(HR_FAILURE_UP_TIME, "up_time_h", "up")                                                                             \
  X(HR_FAILURE_REPAIR, "repair_h", "down")

enum hr_failure_interval {
#define HR_FAILURE_INTERVAL_NAME(name, key, words) name,
  HR_FAILURE_INTERVAL_TABLE(HR_FAILURE_INTERVAL_NAME)
#undef HR_FAILURE_INTERVAL_NAME
      HR_N_FAILURE_INTERVALS
};

/* Intervals of one kind. `zeros` intervals have the length 0; they count for the mean and are not in `hours`. */
struct hr_failure_sample {
  double *hours; /* [count]: above 0, ascending */
  uint32_t count, capacity, zeros;
};

struct hr_failure_group {
  char *name;          /* of the system; "": the log has no systems */
  uint32_t nodes;      /* as stated; otherwise the number of nodes that failed; 0: unknown */
  uint32_t failures;   /* 0: the log has intervals only */
  uint32_t dropped;    /* repairs that are left out because they do not end after their begin */
  uint32_t duplicates; /* failures that repeat another one: node, start and end are equal */
  double span_days;    /* from the first failure to the last */
  double top_share;    /* share of the failures on the 5 % of the nodes that fail most, rounded; NaN: unknown */
  struct hr_failure_sample samples[HR_N_FAILURE_INTERVALS];
};

struct hr_failure_log {
  const char *format;              /* name of the format */
  struct hr_failure_group *groups; /* [n_groups]: in order of their first rows */
  uint32_t n_groups;
  uint32_t n_negative;         /* rows of intervals that are left out because an interval is below 0 */
  struct hr_failure_group all; /* the intervals of all groups together; named "all" */
};

/* Reads a log, plain or compressed. The format follows from the header (docs/reference/failures.md). After an error
   the log is empty; otherwise the caller finishes it. */
HR_API enum hr_status hr_failure_log_read(const char *path, struct hr_failure_log *log, struct hr_error *error);
HR_API void hr_failure_log_finish(struct hr_failure_log *log);

/* The failures of a log, for a replay. */
struct hr_failure_event {
  uint32_t node; /* nodes are numbered in the order of their first rows */
  int64_t start_us, down_us;
};
struct hr_failure_events {
  struct hr_failure_event *events; /* [count]: in the order of their rows */
  uint32_t count, n_nodes;
  int64_t first_us; /* the first start; 0 if the log has intervals */
  bool in_turn;     /* the log has intervals of a service: `node` is the number of the failure */
  /* rows that are left out: without a node, without an end, with an end before the start, with a negative interval */
  uint32_t n_no_node, n_no_end, n_backwards, n_negative;
};
/* Reads the failures of a system; NULL: those of all systems. Failures without an end or without a node are left out
   and counted. In a log of intervals of a service, failures have no nodes; the caller assigns them in turn. For a log
   of quantiles, which has no events, returns HR_BAD_INPUT. */
HR_API enum hr_status hr_failure_events_read(const char *path, const char *system, struct hr_failure_events *events,
                                             struct hr_error *error);
HR_API void hr_failure_events_finish(struct hr_failure_events *events);

#ifdef __cplusplus
}
#endif
#endif
