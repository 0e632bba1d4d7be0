/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run by hand: Helios Venus on far too few nodes, where tens of thousands of jobs wait and the naive scheduler needs
   minutes. `oracle_helios_full [NODES [FIRST_RULE [RULES]]]`, 56 nodes and all rules unless said. */

#include "helios_case.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t argument(int argc, char **argv, int place, uint32_t fallback) {
  return place < argc ? (uint32_t)strtoul(argv[place], NULL, 10) : fallback;
}

int main(int argc, char **argv) {
  uint32_t nodes = argument(argc, argv, 1, 56), first = argument(argc, argv, 2, 0);
  uint32_t rules = argument(argc, argv, 3, REPLAY_RULES), differences = 0;
  struct replay_case workload;
  if (!helios_read(&workload, nodes)) return 77;
  struct hr_trace *trace = replay_trace(&workload);
  for (uint32_t r = first; r < first + rules && r < REPLAY_RULES; r++)
    differences += helios_rules_differ(trace, &workload, replay_rules_numbered(r));
  hr_trace_destroy(trace);
  free(workload.jobs);
  printf("\n%u of the rules differ\n", differences);
  return differences ? EXIT_FAILURE : EXIT_SUCCESS;
}
