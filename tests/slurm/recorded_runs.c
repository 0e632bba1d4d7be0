/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the model of Slurm with a run of a real Slurm that live.sh recorded: 180 jobs of six users in a tree of
 * accounts, with priority/multifactor and Fair Tree. The model must reproduce all printed digits of sshare and sprio.
 * From the recorded states it must reproduce 98 % of the starts, and 97 % of these on the same nodes.
 */

#include "recorded.h"

#define DATA PROJECT_DIR "/tests/slurm/data/"

static struct recorded run;

static void shares_and_priorities(void) {
  CU_ASSERT_FATAL(recorded_read(&run, DATA "multifactor"));
  const struct agreement agreement = compare_samples(&run);
  CU_ASSERT(agreement.n_samples >= 8);
  CU_ASSERT(agreement.n_shares >= 11 * agreement.n_samples);
  CU_ASSERT(agreement.n_priorities > 150);
  CU_ASSERT_EQUAL(agreement.n_equal_shares, agreement.n_shares);
  CU_ASSERT_EQUAL(agreement.n_equal_priorities, agreement.n_priorities);
}

static void decisions_by_priority(void) {
  CU_ASSERT_FATAL(recorded_read(&run, DATA "multifactor"));
  const struct decisions decisions = compare_decisions(&run);
  printf("%u of %u starts within 2 s, %u of them on the same nodes\n", (unsigned)decisions.n_started,
         (unsigned)decisions.n_starts, (unsigned)decisions.n_same_nodes);
  CU_ASSERT_EQUAL(decisions.n_starts, 180);
  CU_ASSERT(decisions.n_started * 100 >= decisions.n_starts * 98);
  CU_ASSERT(decisions.n_same_nodes * 100 >= decisions.n_started * 97);
}

/* The comparisons detect wrong settings. Without fair shares, the model reproduces fewer starts. If the half-life is
   wrong, too, no priority is equal. */
static void other_weights_are_noticed(void) {
  CU_ASSERT_FATAL(recorded_read(&run, DATA "multifactor"));
  uint32_t right = compare_decisions(&run).n_started;
  run.weight_fair_share = 0;
  CU_ASSERT(compare_decisions(&run).n_started < right);
  run.half_life_s = 601;
  CU_ASSERT(compare_samples(&run).n_equal_priorities == 0);
}

TEST_MAIN("recorded runs of Slurm", TEST(shares_and_priorities), TEST(decisions_by_priority),
          TEST(other_weights_are_noticed))
