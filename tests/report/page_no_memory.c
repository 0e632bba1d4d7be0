/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The HTML report runs out of memory after 0, 1, 2, ... allocations. In each case an error is returned, no memory
   leaks, and no file remains. */

#include "harness.h"
#include "output_files.h"
#include "page_read.h"
#include "page_scenarios.h"
#include "scarce_memory.h"

#include <stdio.h>

static struct page_scenario *scenario;

static enum hr_status make_watch(void) {
  struct hr_page_watch *watch = hr_page_watch_create(&scenario->trace, &scenario->cluster, scenario->usage);
  hr_page_watch_destroy(watch);
  return watch ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status write_page(void) {
  struct hr_error error = {0};
  const struct hr_page page = {.kind = "run",
                               .title = "a scenario",
                               .command = "headroom report",
                               .run = &scenario->run,
                               .notes = (const struct hr_notes *const[]){&(struct hr_notes){0}},
                               .n_notes = 1,
                               .template_html = page_template};
  const char *path = files_path("page.html");
  enum hr_status status = hr_page_write(path, &page, &error);
  CU_ASSERT(status == HR_OK || files_only(NULL));
  if (status == HR_OK) (void)remove(path);
  return status;
}

static void page_without_memory(void) {
  CU_ASSERT_TRUE(files_only(NULL)); /* create the folder before allocations fail */
  for (uint64_t seed = 3; seed <= 4; seed++) {
    scenario = page_scenario_draw(seed);
    page_scenario_run(scenario);
    CU_ASSERT(starve(make_watch) > 7);
    CU_ASSERT(starve(write_page) > 100);
    page_scenario_destroy(scenario);
  }
}

TEST_MAIN("report: page without memory", TEST(page_without_memory))
