/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares Headroom with the naive scheduler on Helios Venus with too few nodes, so that tens of thousands of jobs
 * wait. The naive scheduler then needs minutes per combination of rules, so this program is not a test and is started
 * manually:
 *
 *   oracle_helios_full [NODES [FIRST_RULE [RULES [JOBS]]]]
 *
 * NODES: number of nodes (default: 56). FIRST_RULE: index of the first combination, as in replay.h (default: 0). RULES:
 * number of combinations (default: all). JOBS: number of jobs (default: all). Conservative backfill uses only the first
 * PLANNED_JOBS jobs, because the naive scheduler would need hours for all of them.
 */

#include "headroom/trace_files.h"
#include "helios_case.h"

#include <stdio.h>
#include <stdlib.h>

enum { PLANNED_JOBS = 5000 };

static uint32_t argument(int argc, char **argv, int place, uint32_t fallback) {
  return place < argc ? (uint32_t)strtoul(argv[place], NULL, 10) : fallback;
}

static bool differs(struct replay_case workload, struct replay_rules rules, uint32_t jobs) {
  uint32_t max_jobs = rules.backfill == NAIVE_CONSERVATIVE ? PLANNED_JOBS : UINT32_MAX;
  if (workload.n_jobs > jobs) workload.n_jobs = jobs;
  if (workload.n_jobs > max_jobs) workload.n_jobs = max_jobs;
  struct hr_trace *trace = replay_trace(&workload);
  bool different = helios_rules_differ(trace, &workload, rules);
  hr_trace_destroy(trace);
  return different;
}

int main(int argc, char **argv) {
  uint32_t nodes = argument(argc, argv, 1, 56), first = argument(argc, argv, 2, 0);
  uint32_t rules = argument(argc, argv, 3, REPLAY_RULES), jobs = argument(argc, argv, 4, UINT32_MAX), differences = 0;
  struct replay_case workload;
  if (!helios_read(&workload, nodes)) return 77;
  for (uint32_t r = first; r < first + rules && r < REPLAY_RULES; r++)
    differences += differs(workload, replay_rules_at(r), jobs);
  free(workload.jobs);
  printf("\n%u combinations differ\n", differences);
  return differences ? EXIT_FAILURE : EXIT_SUCCESS;
}
