/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_STREAMED_RUNS_H
#define HR_TESTS_REPORT_STREAMED_RUNS_H

/* A run in memory and the same run streamed: equal starts, and equal metrics except quantiles. */

#include "headroom/headroom.h"
#include "headroom/unstable/streamed.h"

enum { STREAMED_MOST_JOBS = 20000 };

/* The same trace as a streamed file. */
struct hr_trace *streamed_trace(const struct hr_trace *trace);

/* Runs `mapped` without the test's own observers; `costs` as below. The caller finishes the figures. */
struct hr_streamed_figures streamed_figures(const struct hr_run_config *base, const struct hr_cost_spec *costs,
                                            struct hr_notes *notes);

/* `base` has no observers; `mapped` is its trace, streamed. `costs` NULL: nothing has a price. Asserts that both runs
   are equal; returns the number of starts, including restarts. */
uint32_t assert_same_run(const struct hr_run_config *base, const struct hr_trace *mapped,
                         const struct hr_cost_spec *costs);

#endif
