/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A real trace with users and tenants, 1,867 jobs of two virtual clusters of Helios Venus, on 22 nodes x 8 GPUs: equal
   starts and placements in the product and the naive scheduler, under each order that depends on past usage or finished
   jobs. */

#include "harness.h"
#include "headroom/trace_files.h"
#include "helios_case.h"

static void same_starts_and_seats_where_the_past_counts(void) {
  struct replay_case workload;
  if (!helios_read_september(&workload, 22)) return;
  CU_ASSERT_EQUAL(workload.n_jobs, 1867);
  struct hr_trace *trace = replay_trace(&workload);
  for (uint32_t r = 0; r < REPLAY_RULES; r++) {
    struct replay_rules rules = replay_rules_numbered(r);
    bool chosen = rules.placement == NAIVE_POOL || rules.placement == NAIVE_BEST_FIT;
    if (!chosen || !replay_looks_back(rules) || rules.backfill == NAIVE_CONSERVATIVE) continue;
    CU_ASSERT_FALSE(helios_rules_differ(trace, &workload, rules));
  }
  hr_trace_destroy(trace);
  free(workload.jobs);
}

TEST_MAIN("oracle september", TEST(same_starts_and_seats_where_the_past_counts))
