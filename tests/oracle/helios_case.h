/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_HELIOS_CASE_H
#define HR_TESTS_ORACLE_HELIOS_CASE_H

/* The Helios Venus trace as a workload for Headroom and for the naive scheduler. */

#include "replay.h"

/* Reads all GPU jobs of the trace, for one pool of `nodes` nodes x 8 GPUs. Returns false and prints a message if the
   trace file is missing. The caller frees workload->jobs. */
bool helios_read(struct replay_case *workload, uint32_t nodes);

/* Reads the jobs of two virtual clusters in September, with their users and tenants, for one pool of `nodes` nodes x 8
   GPUs. The trace file has no job names. The function therefore generates a name for each job, so that orders that use
   names can be tested. Some names occur only in later parts of the trace. Returns false and prints a message if the
   trace file is missing. The caller frees workload->jobs. */
bool helios_read_september(struct replay_case *workload, uint32_t nodes);

/* Sets the limit of each job to a value from one to three times its run time. The limit of every fourth job is exactly
   its run time. */
void helios_set_synthetic_limits(struct replay_case *workload);

/* Runs Headroom and the naive scheduler. Prints the rules, the run times in seconds and the first difference, if any.
   Returns whether there is a difference. */
bool helios_rules_differ(const struct hr_trace *trace, const struct replay_case *workload, struct replay_rules rules);

#endif
