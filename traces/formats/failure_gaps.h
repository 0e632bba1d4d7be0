/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_FAILURE_GAPS_H
#define HR_TRACES_FORMATS_FAILURE_GAPS_H

/* Intervals of a log of failures, from its events (failure_gaps.c). */

#include "headroom/unstable/failures.h"

#include <stdbool.h>

struct hr__failure_event {
  uint32_t group, node;     /* node: index of its name in the reader */
  int64_t start_us, end_us; /* end_us: HR_UNKNOWN_US if it is not stated */
};

/* Adds an interval; those of length 0 are only counted. Returns false if memory is exhausted. */
bool hr__failure_sample_add(struct hr_failure_sample *sample, double hours);
/* Adds the gaps between the events of each group, which are sorted here, and the figures of all groups. Returns false
   if memory is exhausted. */
bool hr__failure_groups_finish(struct hr_failure_log *log, struct hr__failure_event *events, uint32_t n_events);

#endif
