/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory failures: a sweep, a merge and their reports run out of memory after 0, 1, 2, ... allocations. Each time an
   error must be returned, nothing may leak, and the sweep must be able to resume with the file. */

#include "harness.h"
#include "headroom/unstable/compare.h"
#include "output_files.h"
#include "plan/sweep/sweep.h"
#include "scarce_memory.h"
#include "sweep_setup.h"

#include <cjson/cJSON.h>

static struct sweep_paths paths;
static char merged[300];

/* Uses one thread, since allocations are counted per thread. */
static enum hr_status sweep_once(void) {
  struct hr_sweep_counts counts;
  struct hr_error error;
  struct hr_sweep_config config = {.grid = paths.grid, .file = paths.file, .n_threads = 1};
  enum hr_status status = hr_sweep(&config, &counts, &error);
  hr_notes_finish(&counts.notes);
  return status;
}

static enum hr_status merge_once(void) {
  struct hr_sweep_counts counts;
  struct hr_error error;
  const char *const shards[] = {paths.file};
  return hr_sweep_merge(merged, shards, 1, &counts, &error);
}

static enum hr_status write_csv(void) {
  struct hr_error error;
  return hr_sweep_write_csv("/dev/null", paths.file, &error);
}

static enum hr_status print_table(void) {
  struct hr_sweep_counts counts = {.points = 4, .runs = 4, .now = 4};
  struct hr_error error;
  FILE *out = fopen("/dev/null", "w");
  if (!out) return HR_IO_ERROR;
  enum hr_status status = hr_sweep_print(out, paths.file, &counts, true, &error);
  fclose(out);
  return status;
}

static enum hr_status pack_and_unpack(void) {
  static char name[] = "t";
  struct hr__sweep_group group = {HR__SWEEP_TENANT, name, {1}};
  struct hr__sweep_record record = {.groups = &group, .n_groups = 1}, copy = {0};
  struct hr__parcel parcel = {0};
  hr__parcel_record(&parcel, &record);
  bool packed = !parcel.failed;
  struct hr__parcel same = {.bytes = parcel.bytes, .size = parcel.used, .reading = true};
  if (packed) hr__parcel_record(&same, &copy);
  hr__sweep_record_finish(&copy);
  hr__parcel_finish(&parcel);
  return packed && !same.failed ? HR_OK : HR_NO_MEMORY;
}

static void sweep_merge_and_reports(void) {
  sweep_setup(&paths);
  sweep_write("g.json", "{\"scenario\":\"s.json\",\"set\":[\"seed=3\"],\"axes\":["
                        "{\"path\":\"cluster.pools.0.nodes\",\"values\":[1]},"
                        "{\"name\":\"mix\",\"settings\":[{\"label\":\"a\",\"set\":[\"policy.order=sjf\"]}]},"
                        "{\"path\":\"horizon_s\",\"from\":1000,\"to\":2000}],"
                        "\"design\":{\"kind\":\"sobol\",\"points\":1}}");
  snprintf(merged, sizeof merged, "%s", files_path("merged.sqlite"));
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  CU_ASSERT(starve(sweep_once) > 200);
  cJSON_InitHooks(NULL);
  CU_ASSERT(starve(merge_once) > 10);
  CU_ASSERT(starve(write_csv) > 3);
  CU_ASSERT(starve(print_table) > 10);
  CU_ASSERT(starve(pack_and_unpack) >= 3);
}

TEST_MAIN("plan: no memory for a sweep", TEST(sweep_merge_and_reports))
