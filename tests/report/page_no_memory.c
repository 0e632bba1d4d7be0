/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each allocation of the HTML report fails once. In each case an error is returned, no memory leaks, and no file
   remains. */

#include "harness.h"
#include "output_files.h"
#include "page_read.h"
#include "page_world.h"
#include "scarce_memory.h"

#include <stdio.h>

static struct world *world;

static enum hr_status make_watch(void) {
  struct hr_page_watch *watch = hr_page_watch_create(&world->trace, &world->cluster, world->usage);
  hr_page_watch_destroy(watch);
  return watch ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status write_page(void) {
  struct hr_error error = {0};
  const struct hr_page page = {.kind = "run",
                               .title = "a world",
                               .command = "headroom report",
                               .run = &world->run,
                               .notes = (const struct hr_notes *const[]){&(struct hr_notes){0}},
                               .n_notes = 1,
                               .template_html = page_template};
  const char *path = files_path("page.html");
  enum hr_status status = hr_page_write(path, &page, &error);
  CU_ASSERT(status == HR_OK || files_only(NULL));
  if (status == HR_OK) (void)remove(path);
  return status;
}

static void writing_a_page(void) {
  CU_ASSERT_TRUE(files_only(NULL)); /* create the folder before allocations fail */
  for (uint64_t seed = 3; seed <= 4; seed++) {
    world = world_draw(seed);
    world_run(world);
    CU_ASSERT(starve(make_watch) > 7);
    CU_ASSERT(starve(write_page) > 100);
    world_destroy(world);
  }
}

TEST_MAIN("report: page without memory", TEST(writing_a_page))
