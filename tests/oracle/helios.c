/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares Headroom with the naive scheduler on a real trace: all GPU jobs of Helios Venus (125,303 jobs, 193.8 days)
 * on the 133 nodes x 8 GPUs of that cluster. Starts and placements must be equal under every combination of a plain
 * order (see REPLAY_PLAIN_RULES), a backfill and a placement; F1 and WFP3 run only with best fit. The trace has no
 * limits. FIFO and SJF with EASY and conservative backfill are therefore compared a second time with synthetic limits,
 * some exact and some too long.
 */

#include "harness.h"
#include "headroom/trace_files.h"
#include "helios_case.h"

static void compare_under_all_rules(struct replay_case *workload, bool only_reservations) {
  struct hr_trace *trace = replay_trace(workload);
  for (uint32_t r = 0; r < REPLAY_RULES; r++) {
    struct replay_rules rules = replay_rules_at(r);
    /* These orders need deadlines, tenants or users, which the trace does not have. Test oracle_september covers the
       orders that depend on usage or on finished jobs. */
    if (rules.order == NAIVE_EDF || rules.order == NAIVE_DRF || replay_uses_history(rules)) continue;
    if (r >= REPLAY_PLAIN_RULES && rules.placement != NAIVE_BEST_FIT) continue;
    if (only_reservations && (rules.backfill < NAIVE_EASY || rules.order > NAIVE_SJF)) continue;
    CU_ASSERT_FALSE(helios_rules_differ(trace, workload, rules));
  }
  hr_trace_destroy(trace);
}

static void equal_starts_and_placements_on_helios(void) {
  struct replay_case workload;
  if (!helios_read(&workload, 133)) return;
  CU_ASSERT_EQUAL(workload.n_jobs, 125303);
  compare_under_all_rules(&workload, false);
  helios_set_synthetic_limits(&workload);
  compare_under_all_rules(&workload, true);
  free(workload.jobs);
}

TEST_MAIN("oracle helios", TEST(equal_starts_and_placements_on_helios))
