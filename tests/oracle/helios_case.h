/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_HELIOS_CASE_H
#define HR_TESTS_ORACLE_HELIOS_CASE_H

/* The Helios Venus trace as a workload for both schedulers. */

#include "replay.h"

/* On one pool of `nodes` nodes x 8 GPUs. Returns false, with a message, if the trace is missing. The caller frees
   `jobs`. */
bool helios_read(struct replay_case *workload, uint32_t nodes);

/* Jobs of two virtual clusters in September, with their users and tenants; names made up, new ones coming all the time.
   Otherwise as above. */
bool helios_read_september(struct replay_case *workload, uint32_t nodes);

/* Gives each job a limit of one to three times its run time, one in four an exact one. */
void helios_make_up_limits(struct replay_case *workload);

/* Runs both and prints a line: the rules, seconds each took, and the first difference if there is one. */
bool helios_rules_differ(const struct hr_trace *trace, const struct replay_case *workload, struct replay_rules rules);

#endif
