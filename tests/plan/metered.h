/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_PLAN_METERED_H
#define HR_TESTS_PLAN_METERED_H

/* Checked runs of s.json with jobs.csv in the test's folder, maybe with a timeline, for tests of power and carbon. */

#include "headroom/headroom.h"
#include "headroom/unstable/replay.h"

struct metered {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_replay replay;
};

/* Runs the scenario; exits on failure. `timeline_path`: file for the timeline with further `columns`; both may be NULL.
 */
void metered_start(struct metered *run, const char *timeline_path, const struct hr_timeline_columns *columns);
void metered_finish(struct metered *run);

#endif
