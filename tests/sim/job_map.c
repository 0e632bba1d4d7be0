/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A map of a few jobs against a column by job. */

#include "base/job_map.h"

#include "base/random.h"
#include "harness.h"

enum { JOBS = 500, STEPS = 40000 };

static uint32_t places[JOBS]; /* + 1; 0: nowhere */

static void assert_like(const struct hr__job_map *map, uint32_t count) {
  CU_ASSERT_EQUAL(map->count, count);
  for (uint32_t job = 0; job < JOBS; job++)
    CU_ASSERT_EQUAL(hr__job_map_find(map, job * 4096), places[job] ? places[job] - 1 : HR_NONE);
}

/* Jobs far from each other, as many whose places are the same, a few and many at once. */
static void random_steps(void) {
  struct hr__job_map map = {0};
  struct hr__stream draws;
  uint32_t count = 0;
  hr__stream_init(&draws, 5, HR__PURPOSE_ARRIVAL, 0, 0);
  for (uint32_t step = 0; step < STEPS; step++) {
    uint64_t draw = hr__stream_next(&draws);
    uint32_t job = (uint32_t)(draw % JOBS), few = step / 4000 % 2 ? 9 : 2;
    if (places[job] && draw / JOBS % 10 < few) {
      hr__job_map_remove(&map, job * 4096);
      places[job] = 0;
      count--;
    } else {
      count += places[job] == 0;
      places[job] = (uint32_t)(draw >> 40) + 1;
      CU_ASSERT_TRUE_FATAL(hr__job_map_put(&map, job * 4096, places[job] - 1));
    }
    if (step % 499 == 0) assert_like(&map, count);
  }
  CU_ASSERT_TRUE(count > 0);
  hr__job_map_finish(&map);
}

TEST_MAIN("job_map", TEST(random_steps))
