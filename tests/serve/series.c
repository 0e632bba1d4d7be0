/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The series of a timeline, compared with means computed by hand. */

#include "serve/series.h"
#include "harness.h"

#include <string.h>
#include <unistd.h>

static void expect(const char *timeline, uint32_t count, const char *json) {
  char path[] = "timeline-XXXXXX", *text = NULL;
  size_t size = 0;
  int descriptor = mkstemp(path);
  CU_ASSERT_FATAL(descriptor >= 0);
  CU_ASSERT(write(descriptor, timeline, strlen(timeline)) == (ssize_t)strlen(timeline));
  close(descriptor);
  FILE *out = open_memstream(&text, &size);
  CU_ASSERT(hr__series_write(out, path, count));
  fclose(out);
  CU_ASSERT_STRING_EQUAL(text, json);
  free(text);
  unlink(path);
}

static const char header[] = "time_s,waiting,running,gpus_allocated,gpus_total,fragmented_gpus\n";

static void means(void) {
  char text[512];
  snprintf(text, sizeof text, "%s0,2,1,8,16,\n30,0,2,16,16,\n100,0,0,0,16,\n", header);
  /* 0 to 50: 2 waiting for 30 of 50 s; 8 GPUs for 30 s and 16 for 20 s */
  expect(text, 2,
         "{\"end_s\":100,\"waiting\":[1.2,0],\"running\":[1.4,2],\"gpus_allocated\":[11.2,16],"
         "\"gpus_total\":[16,16],\"most_waiting\":[2,0]}");
}

static void empty(void) {
  expect(header, 3,
         "{\"end_s\":0,\"waiting\":[],\"running\":[],\"gpus_allocated\":[],\"gpus_total\":[],\"most_waiting\":[]}");
  expect("", 3,
         "{\"end_s\":0,\"waiting\":[],\"running\":[],\"gpus_allocated\":[],\"gpus_total\":[],\"most_waiting\":[]}");
}

static void missing(void) {
  CU_ASSERT(!hr__series_write(stdout, "no/such/file", 3));
}

TEST_MAIN("serve: series", TEST(means), TEST(empty), TEST(missing))
