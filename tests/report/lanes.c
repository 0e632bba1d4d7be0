/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the lanes that are assigned to intervals with those that a linear search over all lanes finds. */

#include "report/exports/exports.h"

#include "harness.h"

enum { N_INTERVALS = 400 };

static uint32_t draw(uint64_t *state, uint32_t below) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((*state >> 33) % below);
}

static void first_free_lane(void) {
  uint64_t state = 7;
  for (int round = 0; round < 300; round++) {
    struct hr__lanes lanes = {0};
    int64_t free_us[N_INTERVALS] = {0}, at_us = 0;
    uint32_t n = 0, longest = 1 + draw(&state, 300);
    for (int i = 0; i < N_INTERVALS; i++) {
      uint32_t first = 0;
      at_us += draw(&state, 3);
      while (first < n && free_us[first] > at_us) first++;
      if (first == n) n++;
      free_us[first] = at_us + draw(&state, longest);
      CU_ASSERT_EQUAL_FATAL(hr__lanes_take(&lanes, at_us, free_us[first]), first);
      CU_ASSERT_EQUAL(lanes.n, n);
    }
    hr__lanes_finish(&lanes);
  }
}

TEST_MAIN("report: lanes", TEST(first_free_lane))
