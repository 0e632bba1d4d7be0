/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_STREAMED_RUNS_H
#define HR_TESTS_REPORT_STREAMED_RUNS_H

/* Runs a trace in memory and streamed, and compares the runs. Starts and metrics must be equal, except quantiles, which
   must be near. */

#include "headroom/headroom.h"
#include "headroom/unstable/metrics.h"

enum { STREAMED_MAX_JOBS = 20000 };

/* Writes a trace into a packed file and returns it as a streamed trace. */
struct hr_trace *streamed_trace(const struct hr_trace *trace);

/* Runs a streamed trace without the observers of the comparison. `costs` is NULL for a run without prices. The caller
   calls hr_streamed_summary_finish(). */
struct hr_summary streamed_figures(const struct hr_run_config *base, const struct hr_cost_spec *costs,
                                   struct hr_notes *notes);

/* Runs `base` in memory, and runs it again with its trace replaced by `mapped`, which is the same trace as a streamed
   trace. `base` must not have observers. `costs` is NULL for runs without prices. Asserts that both runs are equal.
   Returns the number of starts, including restarts. */
uint32_t assert_same_run(const struct hr_run_config *base, const struct hr_trace *mapped,
                         const struct hr_cost_spec *costs);

#endif
