/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FAILURES_H
#define HEADROOM_UNSTABLE_FAILURES_H

/*
 * Logs of failures of nodes. hr_failure_log_read computes intervals from a log, such as repair times, to which
 * functions of exports.h fit distributions. hr_failure_events_read returns single failures, for a replay in a run.
 * docs/reference/failures.md describes the formats of logs.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of intervals. A system is a group of nodes, such as a cluster. The columns: enumerator, JSON key, words for
   tables. */
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

/* The intervals of one kind. */
struct hr_failure_sample {
  double *hours; /* [count]: the intervals above 0, in hours, ascending */
  /* capacity: allocated entries of `hours`. zeros: number of intervals of length 0 */
  uint32_t count, capacity, zeros;
};

/* The failures of one system. */
struct hr_failure_group {
  char *name;          /* name of the system; "": the log has no systems */
  uint32_t nodes;      /* number of nodes as stated in the log, or of nodes that failed if that is more; 0: unknown */
  uint32_t failures;   /* number of failures; 0: the log has intervals only */
  uint32_t dropped;    /* number of intervals that are ignored because they do not end after their start */
  uint32_t duplicates; /* number of failures with the same node, start and end as another failure */
  double span_days;    /* from the first failure to the last */
  double top_share;    /* share of the failures on the 5 % of the nodes that fail most; NaN: unknown */
  struct hr_failure_sample samples[HR_N_FAILURE_INTERVALS];
};

/* The intervals of a log. */
struct hr_failure_log {
  const char *format;              /* name of the format */
  struct hr_failure_group *groups; /* [n_groups]: one for each system, in order of their first rows */
  uint32_t n_groups;
  uint32_t n_negative;         /* format "intervals": rows that are ignored because an interval is negative */
  struct hr_failure_group all; /* the intervals of all groups together; named "all" */
};

/* Reads a log, plain or compressed. The columns in the header determine the format. Returns HR_BAD_INPUT if the file is
   malformed or has no rows of failures or intervals. After an error, the log is empty. On success, the caller frees it
   with hr_failure_log_finish. */
HR_API enum hr_status hr_failure_log_read(const char *path, struct hr_failure_log *log, struct hr_error *error);
HR_API void hr_failure_log_finish(struct hr_failure_log *log);

/* A failure of a log. */
struct hr_failure_event {
  uint32_t node;             /* nodes are numbered in the order of their first rows */
  int64_t start_us, down_us; /* time of the failure, on the clock of the log; time until the node works again */
};
/* The failures of a log, for a replay. */
struct hr_failure_events {
  struct hr_failure_event *events; /* [count]: in the order of their rows */
  uint32_t count, n_nodes;
  int64_t first_us; /* the earliest start; 0 in the format "intervals" */
  /* the log has the format "intervals", in which failures have no nodes. `node` is then the index of the failure, and
     the caller assigns the failures to the nodes in this order */
  bool in_turn;
  /* numbers of rows that are ignored: without a node, without an end, with an end before the start, with a negative
     interval */
  uint32_t n_no_node, n_no_end, n_backwards, n_negative;
};
/* Reads the failures of a system. `system` NULL: the failures of all systems. Returns HR_BAD_INPUT if the file is
   malformed, if the log does not have the system, or if it has no failure with a node and an end. A log of quantiles
   has no failures. The caller frees `*events` with hr_failure_events_finish. */
HR_API enum hr_status hr_failure_events_read(const char *path, const char *system, struct hr_failure_events *events,
                                             struct hr_error *error);
HR_API void hr_failure_events_finish(struct hr_failure_events *events);

#ifdef __cplusplus
}
#endif
#endif
