/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_STREAMED_SCENARIOS_H
#define HR_TESTS_REPORT_STREAMED_SCENARIOS_H

/* Scenarios run in memory and streamed. */

#include "headroom/headroom.h"

/* Runs the scenario under another policy, written as for `compare`; asserts that the runs of `trace` and of `mapped`,
   which is streamed, are equal. Returns the number of starts. */
uint32_t assert_same_under(const char *path, const char *policy, const struct hr_trace *trace,
                           const struct hr_trace *mapped);

#endif
