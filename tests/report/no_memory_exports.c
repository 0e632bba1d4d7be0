/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exports run out of memory after 0, 1, 2, ... allocations. In each case an error is returned, no memory leaks, and
   no file remains. */

#include "exported.h"
#include "harness.h"
#include "headroom/unstable/exports.h"
#include "output_files.h"
#include "scarce_memory.h"

#include <string.h>

static struct exported exported;

/* Returns `status`. If it is a failure, asserts that no file remains and that the error is set. */
static enum hr_status expect_no_file(enum hr_status status, const struct hr_error *error) {
  CU_ASSERT(status == HR_OK || (files_only(NULL) && strstr(error->text, "out of memory")));
  return status;
}

static enum hr_status write_perfetto(void) {
  struct hr_error error = {0};
  remove(files_path("file"));
  return expect_no_file(hr_perfetto_write(files_path("file"), &exported.run, &error), &error);
}

static enum hr_status write_metrics(void) {
  const struct hr_openmetrics_config config = {.step_us = 24 * 3600 * HR_SECOND_US, .place = HR_METRICS_BY_GPU};
  struct hr_error error = {0};
  remove(files_path("file"));
  return expect_no_file(hr_openmetrics_write(files_path("file"), &exported.run, &config, NULL, &error), &error);
}

static enum hr_status write_markdown(void) {
  struct hr_error error = {0};
  remove(files_path("file"));
  return expect_no_file(hr_summary_write_markdown(files_path("file"), exported.replay.summary, &exported.label, &error),
                        &error);
}

static void export_files_without_memory(void) {
  const char *const few[] = {"cluster.pools.0.nodes=3"};
  CU_ASSERT_TRUE(files_only(NULL)); /* create the folder before allocations fail */
  exported_make(&exported, "demo", few, 1);
  CU_ASSERT(starve(write_perfetto) > 10);
  CU_ASSERT(starve(write_metrics) > 15);
  CU_ASSERT(starve(write_markdown) > 5);
  remove(files_path("file"));
  exported_finish(&exported);
}

/* Notifies an observer of 200 instants. Returns HR_NO_MEMORY if an observer was not created, or if the observer lost
   data because memory ran out. */
static enum hr_status follow(void) {
  struct hr_counts *counts = hr_counts_create();
  struct hr_timeline_summary *timeline = hr_timeline_summary_create();
  enum hr_status status = counts && timeline ? HR_OK : HR_NO_MEMORY;
  struct hr_view view = {.size = sizeof view};
  for (; status == HR_OK && view.now_us < 200; view.now_us++) {
    const struct hr_event event = {.at_us = view.now_us, .kind = HR_EVENT_REJECT};
    struct hr_observer observer = hr_counts_observer(counts);
    view.n_waiting++;
    observer.on_event(observer.self, &view, &event);
    observer.on_instant(observer.self, &view);
  }
  if (status == HR_OK && !hr_counts_complete(counts)) status = HR_NO_MEMORY;
  hr_counts_destroy(counts);
  hr_timeline_summary_destroy(timeline);
  return status;
}

static void export_observers_without_memory(void) {
  CU_ASSERT(starve(follow) >= 8);
}

TEST_MAIN("report: exports without memory", TEST(export_files_without_memory), TEST(export_observers_without_memory))
