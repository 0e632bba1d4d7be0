/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory failures: memory is exhausted after 0, 1, 2, ... allocations of a comparison, of the writing of its files, and
   of a run with observers. Each time an error must be returned, and nothing may leak. */

#include "harness.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"
#include "output_files.h"
#include "scarce_memory.h"
#include "setup.h"

#include <cjson/cJSON.h>

static struct setup setup;
static struct hr_comparison *made;

static enum hr_status compare(void) {
  struct hr_comparison *comparison;
  struct hr_error error;
  enum hr_status status = hr_compare(&setup.config, &comparison, &error);
  if (status != HR_OK) return status;
  hr_comparison_destroy(made);
  made = comparison;
  return HR_OK;
}

static enum hr_status write_csv(void) {
  struct hr_error error;
  return hr_comparison_write_csv("/dev/null", made, &error);
}

static enum hr_status write_markdown(void) {
  struct hr_error error;
  return hr_comparison_write_markdown("/dev/null", made, &error);
}

static enum hr_status write_json(void) {
  struct hr_error error;
  return hr_comparison_write_json("/dev/null", made, NULL, &error);
}

static enum hr_status print_table(void) {
  FILE *out = fopen("/dev/null", "w");
  if (!out) return HR_IO_ERROR;
  enum hr_status status = hr_comparison_print(out, made, NULL, true);
  fclose(out);
  return status;
}

static enum hr_status follow(struct hr_replay *replay, struct hr_history *history) {
  const struct hr_scenario *scenario = setup.config.scenario;
  const struct hr_replay_config config = {
      .scenario = scenario, .trace = setup.trace, .seed = scenario->seed, .costs_by_job = true, .alerts = true};
  struct hr_error error;
  enum hr_status status = hr_replay_init(replay, &config, &error);
  if (status == HR_OK) status = hr_replay_add(replay, hr_history_observer(history), &error);
  if (status == HR_OK) status = hr_replay_run(replay, &error);
  return status == HR_OK ? hr_history_close(history, replay->result) : status;
}

/* A run with history and alerts. */
static enum hr_status replay(void) {
  struct hr_history *history = hr_history_create(setup.trace);
  struct hr_replay replay = {0};
  enum hr_status status = history ? follow(&replay, history) : HR_NO_MEMORY;
  hr_replay_finish(&replay);
  hr_history_destroy(history);
  return status;
}

/* Uses one thread, since allocations are counted per thread. */
static void starve_all(const char *pool, const char *more, const char *second, uint32_t n_replications) {
  const char *const names[] = {"fifo", second, NULL};
  setup_make(&setup, pool, more, names, n_replications);
  setup.config.n_threads = 1;
  made = NULL;
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  CU_ASSERT(starve(compare) > 40);
  CU_ASSERT_PTR_NOT_NULL_FATAL(made);
  CU_ASSERT(starve(replay) > 20);
  CU_ASSERT(starve(write_json) > 100);
  cJSON_InitHooks(NULL);
  CU_ASSERT(starve(write_csv) > 1);
  CU_ASSERT(starve(write_markdown) > 5);
  CU_ASSERT(starve(print_table) > 5);
  hr_comparison_destroy(made);
  setup_finish(&setup);
}

static void deterministic_comparison(void) {
  starve_all(POOL, "", "easy", 1);
}

static void random_comparison(void) {
  starve_all(SPOT, DRAWN, "easy", 2);
  starve_all(SHARED_SPOT, DRAWN, "sjf", 2);
}

TEST_MAIN("plan: comparisons and observers without memory", TEST(deterministic_comparison), TEST(random_comparison))
