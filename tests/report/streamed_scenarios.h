/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_STREAMED_SCENARIOS_H
#define HR_TESTS_REPORT_STREAMED_SCENARIOS_H

/* Runs scenarios in memory and streamed, and compares the runs. */

#include "headroom/headroom.h"

/* Runs a scenario under `policy`, which has the syntax of the policies of `headroom compare`. `mapped` is `trace` as a
   streamed trace. Asserts that both runs are equal. Returns the number of starts, including restarts. */
uint32_t assert_same_under(const char *path, const char *policy, const struct hr_trace *trace,
                           const struct hr_trace *mapped);

#endif
