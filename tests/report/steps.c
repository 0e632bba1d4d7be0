/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums by step, compared with a walk over every microsecond. */

#include "report/metrics/buckets.h"

#include "harness.h"

enum { MOST_US = 200 };

static uint32_t drawn(uint64_t *state, uint32_t below) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((*state >> 33) % below);
}

static void add_both(struct hr__steps *steps, int64_t *weight_at, int64_t from_us, int64_t to_us, int64_t weight) {
  hr__steps_add(steps, from_us, to_us, weight);
  for (int64_t at_us = from_us; at_us < to_us && at_us < steps->end_us; at_us++) weight_at[at_us] += weight;
}

static void random_stretches(void) {
  uint64_t state = 3;
  for (int round = 0; round < 1000; round++) {
    struct hr__steps steps;
    int64_t end_us = drawn(&state, MOST_US), step_us = 1 + drawn(&state, 60);
    CU_ASSERT_EQUAL_FATAL(hr__steps_init(&steps, step_us, end_us), HR_OK);
    CU_ASSERT_EQUAL(steps.n, (end_us + step_us - 1) / step_us);
    for (int again = 0; again < 2; again++) {
      int64_t weight_at[MOST_US] = {0};
      hr__steps_clear(&steps);
      for (uint32_t i = drawn(&state, 20); i > 0; i--) {
        int64_t from_us = drawn(&state, MOST_US);
        add_both(&steps, weight_at, from_us, from_us + drawn(&state, MOST_US), drawn(&state, 1000));
      }
      hr__steps_close(&steps);
      for (uint32_t i = 0; i < steps.n; i++) {
        int64_t sum = 0;
        for (int64_t at_us = i * step_us; at_us < (i + 1) * step_us && at_us < end_us; at_us++) sum += weight_at[at_us];
        CU_ASSERT(steps.part[i] == sum);
      }
    }
    hr__steps_finish(&steps);
  }
}

TEST_MAIN("report: steps", TEST(random_stretches))
