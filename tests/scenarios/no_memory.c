/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every allocation of the loader fails once: each time the caller is told, and nothing crashes or leaks. The linker
   sends the library's allocations here (--wrap); cJSON's come through its hooks. */

#include "harness.h"

#include "headroom/scenario.h"

#include <cjson/cJSON.h>
#include <string.h>
#include <unistd.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t length);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);

static long allocations_left = -1; /* -1: all succeed */

static bool refused(void) {
  if (allocations_left < 0) return false;
  if (allocations_left == 0) return true;
  allocations_left--;
  return false;
}

void *__wrap_malloc(size_t bytes) {
  return refused() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
  return refused() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes) {
  return refused() ? NULL : __real_realloc(memory, bytes);
}

char *__wrap_strdup(const char *text) {
  return refused() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t length) {
  return refused() ? NULL : __real_strndup(text, length);
}

/* Calls `attempt` with no memory at all, then with one allocation more each time, until it succeeds. */
static void starve(enum hr_status (*attempt)(void)) {
  enum { MOST = 10000 };
  long allowed = 0;
  enum hr_status status = HR_NO_MEMORY;
  for (; allowed < MOST && status != HR_OK; allowed++) {
    allocations_left = allowed;
    status = attempt();
    allocations_left = -1;
    CU_ASSERT_TRUE(status == HR_OK || status == HR_NO_MEMORY);
  }
  CU_ASSERT_EQUAL(status, HR_OK);
  CU_ASSERT_TRUE(allowed > 5);
}

static const char *scenario_path;

static enum hr_status load(void) {
  static const char *const overrides[] = {"policy.order=sjf", "trace.columns.gpus=n", "seed=18446744073709551615"};
  struct hr_scenario *scenario;
  struct hr_error error;
  enum hr_status status = hr_scenario_load(scenario_path, overrides, 3, &scenario, &error);
  hr_scenario_destroy(scenario);
  return status;
}

static void loading(void) {
  char path[] = "/tmp/headroom-no-memory-XXXXXX";
  int descriptor = mkstemp(path);
  CU_ASSERT_TRUE_FATAL(descriptor >= 0);
  FILE *file = fdopen(descriptor, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs("{\"trace\":{\"file\":\"t.csv\",\"columns\":{\"submit\":\"s\"}},"
        "\"cluster\":{\"pools\":[{\"name\":\"a\",\"gpu\":\"T4\",\"nodes\":1,\"gpus_per_node\":1},"
        "{\"name\":\"b\",\"gpu\":\"L4\",\"nodes\":2,\"gpus_per_node\":4}]},"
        "\"policy\":{\"name\":\"queue\",\"backfill\":\"easy\"}}",
        file);
  fclose(file);
  cJSON_InitHooks(&(cJSON_Hooks){__wrap_malloc, free});
  scenario_path = path;
  starve(load);
  cJSON_InitHooks(NULL);
  remove(path);
}

static enum hr_status read_catalogue(void) {
  struct hr_gpu_type *types;
  size_t count;
  struct hr_error error;
  enum hr_status status = hr_gpu_types(&types, &count, &error);
  hr_gpu_types_free(types, count);
  return status;
}

static void catalogue(void) {
  starve(read_catalogue);
}

static enum hr_status list_scenarios(void) {
  struct hr_scenario_entry *entries;
  size_t count;
  struct hr_error error;
  enum hr_status status = hr_scenario_list(&entries, &count, &error);
  hr_scenario_list_free(entries, count);
  return status;
}

static void listing(void) {
  CU_ASSERT_EQUAL_FATAL(setenv("HEADROOM_DATA", PROJECT_DIR, 1), 0);
  starve(list_scenarios);
}

TEST_MAIN("scenarios_no_memory", TEST(loading), TEST(catalogue), TEST(listing))
