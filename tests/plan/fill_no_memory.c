/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory failures: a fill experiment and its files run out of memory after 0, 1, 2, ... allocations. Each time an error
   must be returned, and nothing may leak. */

#include "fill_setup.h"
#include "harness.h"
#include "scarce_memory.h"

#include <cjson/cJSON.h>

static struct fill_setup setup;
static struct hr_fill *made;

static enum hr_status fill(void) {
  struct hr_fill *fresh;
  enum hr_status status = hr_fill(&setup.config, &fresh, NULL);
  if (status != HR_OK) return status;
  hr_fill_destroy(made);
  made = fresh;
  return HR_OK;
}

static enum hr_status write_csv(void) {
  return hr_fill_write_csv("/dev/null", made, NULL);
}

static enum hr_status write_markdown(void) {
  return hr_fill_write_markdown("/dev/null", made, NULL);
}

static enum hr_status write_json(void) {
  return hr_fill_write_json("/dev/null", made, NULL, NULL);
}

static enum hr_status print_table(void) {
  FILE *out = fopen("/dev/null", "w");
  if (!out) return HR_IO_ERROR;
  enum hr_status status = hr_fill_print(out, made, NULL, true);
  fclose(out);
  return status;
}

/* Uses one thread, since allocations are counted per thread. */
static void fill_with_failing_allocations(void) {
  fill_setup_make(&setup, 3, 4, "1\n0.5\n0\n", "fgd");
  setup.config.to = 0.1;
  setup.config.n_seeds = 1;
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  CU_ASSERT(starve(fill) > 6);
  CU_ASSERT(starve(write_json) > 100);
  cJSON_InitHooks(NULL);
  CU_ASSERT(starve(write_csv) > 1);
  CU_ASSERT(starve(write_markdown) >= 0);
  CU_ASSERT(starve(print_table) > 1);
  hr_fill_destroy(made);
  fill_setup_finish(&setup);
}

TEST_MAIN("plan: fill without memory", TEST(fill_with_failing_allocations))
