/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A real trace, every GPU job of Helios Venus (125,303 jobs, 193.8 days), on the 133 nodes x 8 GPUs that ran it: equal
 * starts and placements in the product and the naive scheduler, under every order x backfill x placement, F1 and WFP3
 * on best fit. The trace has no limits, so backfilling is run again with limits derived from the job's number: some
 * exact, some too long.
 */

#include "harness.h"
#include "headroom/trace_files.h"
#include "helios_case.h"

static void compare_under_all_rules(struct replay_case *workload, bool only_backfilling) {
  struct hr_trace *trace = replay_trace(workload);
  for (uint32_t r = 0; r < REPLAY_RULES; r++) {
    struct replay_rules rules = replay_rules_numbered(r);
    /* the trace has no deadlines, no tenants, no users */
    if (rules.order == NAIVE_EDF || rules.order == NAIVE_DRF || replay_looks_back(rules)) continue;
    if (r >= REPLAY_PLAIN_RULES && rules.placement != NAIVE_BEST_FIT) continue;
    if (only_backfilling && (rules.backfill < NAIVE_EASY || rules.order > NAIVE_SJF)) continue;
    CU_ASSERT_FALSE(helios_rules_differ(trace, workload, rules));
  }
  hr_trace_destroy(trace);
}

static void same_starts_and_seats_on_helios(void) {
  struct replay_case workload;
  if (!helios_read(&workload, 133)) return;
  CU_ASSERT_EQUAL(workload.n_jobs, 125303);
  compare_under_all_rules(&workload, false);
  helios_make_up_limits(&workload);
  compare_under_all_rules(&workload, true);
  free(workload.jobs);
}

TEST_MAIN("oracle helios", TEST(same_starts_and_seats_on_helios))
