/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each change of the counts is recorded once, with the values after the last pass of its instant. */

#include "headroom/unstable/exports.h"

#include "harness.h"

static void notify(struct hr_observer observer, int64_t at_us, uint32_t waiting, uint64_t allocated_milli) {
  const struct hr_view view = {
      .now_us = at_us, .n_waiting = waiting, .allocated_milli = allocated_milli, .total_milli = 8000};
  observer.on_instant(observer.self, &view);
}

static void expect(const struct hr_count_change *change, int64_t at_us, uint32_t waiting, uint64_t allocated_milli) {
  CU_ASSERT_EQUAL(change->at_us, at_us);
  CU_ASSERT_EQUAL(change->waiting, waiting);
  CU_ASSERT_EQUAL(change->allocated_milli, allocated_milli);
  CU_ASSERT_EQUAL(change->total_milli, 8000);
}

static void changes_are_recorded_once(void) {
  struct hr_counts *counts = hr_counts_create();
  CU_ASSERT_PTR_NOT_NULL_FATAL(counts);
  struct hr_observer observer = hr_counts_observer(counts);
  const struct hr_count_change *list;
  notify(observer, 0, 0, 0);
  notify(observer, 5, 1, 0);
  notify(observer, 5, 2, 4000); /* the same instant, a second pass */
  notify(observer, 6, 2, 4000); /* unchanged */
  notify(observer, 9, 3, 4000);
  notify(observer, 9, 2, 4000); /* the second pass restores the previous values */
  notify(observer, 12, 0, 4000);
  CU_ASSERT_TRUE(hr_counts_complete(counts));
  CU_ASSERT_EQUAL_FATAL(hr_counts_changes(counts, &list), 3);
  expect(&list[0], 0, 0, 0);
  expect(&list[1], 5, 2, 4000);
  expect(&list[2], 12, 0, 4000);
  hr_counts_destroy(counts);
  hr_counts_destroy(NULL);
}

static void rejections_are_recorded(void) {
  struct hr_counts *counts = hr_counts_create();
  CU_ASSERT_PTR_NOT_NULL_FATAL(counts);
  struct hr_observer observer = hr_counts_observer(counts);
  const struct hr_view view = {.now_us = 7};
  const struct hr_event start = {.at_us = 7, .kind = HR_EVENT_START, .job = {1}};
  const struct hr_event reject = {.at_us = 7, .kind = HR_EVENT_REJECT, .reason = HR_REASON_TOO_LARGE, .job = {3}};
  const struct hr_rejection *list;
  observer.on_event(observer.self, &view, &start);
  observer.on_event(observer.self, &view, &reject);
  CU_ASSERT_EQUAL_FATAL(hr_counts_rejections(counts, &list), 1);
  CU_ASSERT(list[0].at_us == 7 && list[0].job.id == 3 && list[0].reason == HR_REASON_TOO_LARGE);
  hr_counts_destroy(counts);
}

TEST_MAIN("report: counts", TEST(changes_are_recorded_once), TEST(rejections_are_recorded))
