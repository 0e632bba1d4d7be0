/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_STREAMED_SCENARIOS_H
#define HR_TESTS_REPORT_STREAMED_SCENARIOS_H

/* Runs in memory and streamed of scenarios. */

#include "headroom/headroom.h"

/* The scenario under another policy, as `compare` names it: asserts that the run of `trace` is that of `mapped`,
   streamed. How many starts there were. */
uint32_t assert_same_under(const char *path, const char *policy, const struct hr_trace *trace,
                           const struct hr_trace *mapped);

#endif
