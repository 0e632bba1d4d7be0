/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_EXPORTS_OPENMETRICS_GPUS_H
#define HR_REPORT_EXPORTS_OPENMETRICS_GPUS_H

/* From when to when each node was up. */

#include "headroom/unstable/exports.h"

struct hr__up_time {
  int64_t from_us, to_us;
};

struct hr__node_times {
  uint32_t *first; /* [nodes + 1] */
  struct hr__up_time *times;
};

/* HR_NO_MEMORY on failure; to be finished whatever is returned. */
enum hr_status hr__node_times_init(struct hr__node_times *times, const struct hr_export *run);
void hr__node_times_finish(struct hr__node_times *times);

#endif
