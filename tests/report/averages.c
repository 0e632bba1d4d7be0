/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Means of the timeline over intervals, compared with means computed by hand. */

#include "harness.h"
#include "headroom/unstable/exports.h"
#include "output_files.h"

#include <string.h>

struct counts {
  double at_s;
  uint32_t waiting, running, gpus, total;
};

static struct hr_averages *observed(const struct counts *counts, size_t n, uint32_t intervals, const char *path) {
  static const struct hr_trace trace;
  struct hr_averages *averages = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_averages_create(path, &trace, intervals, &averages, NULL), HR_OK);
  struct hr_observer observer = hr_averages_observer(averages);
  for (size_t i = 0; i < n; i++) {
    const struct hr_view view = {.now_us = (int64_t)(counts[i].at_s * 1e6),
                                 .n_waiting = counts[i].waiting,
                                 .n_running = counts[i].running,
                                 .allocated_milli = counts[i].gpus * UINT64_C(1000),
                                 .total_milli = counts[i].total * UINT64_C(1000)};
    observer.on_instant(observer.self, &view);
  }
  return averages;
}

static void expect(const struct counts *counts, size_t n, uint32_t intervals, const char *json) {
  struct hr_averages *averages = observed(counts, n, intervals, files_path("averages.json"));
  CU_ASSERT_EQUAL(hr_averages_finish(averages, NULL), HR_OK);
  hr_averages_destroy(averages);
  char *text = files_read(files_path("averages.json"));
  CU_ASSERT_STRING_EQUAL(text, json);
  free(text);
}

static void means(void) {
  /* 0 to 50: 2 waiting for 30 of 50 s; 8 GPUs for 30 s and 16 for 20 s */
  static const struct counts counts[] = {{0, 2, 1, 8, 16}, {30, 0, 2, 16, 16}, {100, 0, 0, 0, 16}};
  static const char json[] =
      "{\"begin_s\":0,\"end_s\":100,\"waiting\":[1.2,0],\"running\":[1.4,2],\"gpus_allocated\":[11.2,16],"
      "\"gpus_total\":[16,16],\"most_waiting\":[2,0]}\n";
  expect(counts, 3, 2, json);
}

/* Only the last pass of an instant counts, and instants without a change are omitted. */
static void passes_and_repetitions(void) {
  static const struct counts counts[] = {{0, 9, 9, 9, 16},   {0, 2, 1, 8, 16},   {10, 2, 1, 8, 16}, {30, 5, 1, 8, 16},
                                         {30, 0, 2, 16, 16}, {100, 0, 0, 0, 16}, {170, 0, 0, 0, 16}};
  static const char json[] =
      "{\"begin_s\":0,\"end_s\":100,\"waiting\":[1.2,0],\"running\":[1.4,2],\"gpus_allocated\":[11.2,16],"
      "\"gpus_total\":[16,16],\"most_waiting\":[2,0]}\n";
  expect(counts, 7, 2, json);
}

/* A trace that begins after time 0: the intervals begin at its first instant. */
static void late_begin(void) {
  static const struct counts counts[] = {{1000, 2, 1, 8, 16}, {1030, 0, 2, 16, 32}, {1100, 0, 0, 0, 32}};
  static const char json[] = "{\"begin_s\":1000,\"end_s\":1100,\"waiting\":[1.2,0],\"running\":[1.4,2],"
                             "\"gpus_allocated\":[11.2,16],\"gpus_total\":[22.4,32],\"most_waiting\":[2,0]}\n";
  expect(counts, 3, 2, json);
}

static void empty(void) {
  static const struct counts once[] = {{0, 2, 1, 8, 16}};
  static const char json[] =
      "{\"begin_s\":0,\"end_s\":0,\"waiting\":[],\"running\":[],\"gpus_allocated\":[],\"gpus_total\":[],"
      "\"most_waiting\":[]}\n";
  expect(NULL, 0, 3, json);
  expect(once, 1, 3, json);
}

static void write_errors(void) {
  static const struct hr_trace trace;
  struct hr_error error = {0};
  struct hr_averages *averages = NULL;
  CU_ASSERT_NOT_EQUAL(hr_averages_create(files_path("no-such-folder/a.json"), &trace, 2, &averages, &error), HR_OK);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no-such-folder/a.json"));
  averages = observed(NULL, 0, 3, "/dev/full");
  CU_ASSERT_EQUAL(hr_averages_finish(averages, &error), HR_IO_ERROR);
  hr_averages_destroy(averages);
  hr_averages_destroy(observed(NULL, 0, 3, files_path("abandoned.json")));
  CU_ASSERT_PTR_NULL(fopen(files_path("abandoned.json"), "r"));
  hr_averages_destroy(NULL);
}

TEST_MAIN("report: averages", TEST(means), TEST(passes_and_repetitions), TEST(late_begin), TEST(empty),
          TEST(write_errors))
