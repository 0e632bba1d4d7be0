/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_EXPORTED_H
#define HR_TESTS_REPORT_EXPORTED_H

/* A run of a shipped scenario with all observers that the exports need. */

#include "headroom/headroom.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"

struct exported {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_history *history;
  struct hr_counts *counts;
  struct hr_replay replay;
  struct hr_run_label label;
  struct hr_export run;
};

void exported_make(struct exported *exported, const char *scenario, const char *const *overrides, size_t n_overrides);
/* Writes a trace of gangs in which each task has two GPUs; returns the path. */
const char *exported_gangs(const char *path);
void exported_finish(struct exported *exported);

#endif
