/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares Headroom with the naive scheduler on a real trace with users and tenants: 1,867 jobs of two virtual clusters
   of Helios Venus on 22 nodes x 8 GPUs. Starts and placements must be equal under each order that depends on past usage
   or on finished jobs, with every backfill except conservative, and with placements `pool` and `best-fit`. */

#include "harness.h"
#include "headroom/trace_files.h"
#include "helios_case.h"

static void equal_starts_and_placements_with_history(void) {
  struct replay_case workload;
  if (!helios_read_september(&workload, 22)) return;
  CU_ASSERT_EQUAL(workload.n_jobs, 1867);
  struct hr_trace *trace = replay_trace(&workload);
  for (uint32_t r = 0; r < REPLAY_RULES; r++) {
    struct replay_rules rules = replay_rules_at(r);
    bool chosen = rules.placement == NAIVE_POOL || rules.placement == NAIVE_BEST_FIT;
    if (!chosen || !replay_uses_history(rules) || rules.backfill == NAIVE_CONSERVATIVE) continue;
    CU_ASSERT_FALSE(helios_rules_differ(trace, &workload, rules));
  }
  hr_trace_destroy(trace);
  free(workload.jobs);
}

TEST_MAIN("oracle september", TEST(equal_starts_and_placements_with_history))
