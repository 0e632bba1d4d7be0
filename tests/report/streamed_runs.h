/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_STREAMED_RUNS_H
#define HR_TESTS_REPORT_STREAMED_RUNS_H

/* One run in memory and streamed: the same starts, and figures that are equal but for quantiles. */

#include "headroom/headroom.h"
#include "headroom/unstable/streamed.h"

enum { STREAMED_MOST_JOBS = 20000 };

/* The same trace as a file that is streamed. */
struct hr_trace *streamed_trace(const struct hr_trace *trace);

/* A run of `mapped` without the test's own looking; `costs` as below. The caller finishes the figures. */
struct hr_streamed_figures streamed_figures(const struct hr_run_config *base, const struct hr_cost_spec *costs,
                                            struct hr_notes *notes);

/* `base`: without folds; `mapped` is its trace, streamed. `costs`: NULL: nothing has a price. Asserts
   that it is the same run, and returns how many starts there were, restarts included. */
uint32_t assert_same_run(const struct hr_run_config *base, const struct hr_trace *mapped,
                         const struct hr_cost_spec *costs);

#endif
