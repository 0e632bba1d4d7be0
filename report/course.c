/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/course.h"

#include <stdlib.h>

/* Of a line of 60 cells, each has at least 16 of them: no cell is more than a sixteenth wider than another. */
enum { ROOM = 1920 };

struct hr_course *hr_course_create(void) {
  struct hr_course *course = calloc(1, sizeof *course);
  if (!course) return NULL;
  if (hr__buckets_init(&course->allocated_milli, ROOM) == HR_OK &&
      hr__buckets_init(&course->total_milli, ROOM) == HR_OK && hr__buckets_init(&course->waiting, ROOM) == HR_OK)
    return course;
  hr_course_destroy(course);
  return NULL;
}

void hr_course_destroy(struct hr_course *course) {
  if (!course) return;
  hr__buckets_finish(&course->allocated_milli);
  hr__buckets_finish(&course->total_milli);
  hr__buckets_finish(&course->waiting);
  free(course);
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_course *course = self;
  hr__buckets_set(&course->allocated_milli, view->now_us, view->allocated_milli);
  hr__buckets_set(&course->total_milli, view->now_us, view->total_milli);
  hr__buckets_set(&course->waiting, view->now_us, view->n_waiting);
}

struct hr_fold hr_course_fold(struct hr_course *course) {
  return (struct hr_fold){.self = course, .on_instant = on_instant};
}

void hr_course_close(struct hr_course *course, const struct hr_result *result) {
  hr__buckets_close(&course->allocated_milli, result->end_us);
  hr__buckets_close(&course->total_milli, result->end_us);
  hr__buckets_close(&course->waiting, result->end_us);
}

uint64_t hr__course_gpus(const struct hr_course *course) {
  uint64_t most_milli = 0;
  for (uint32_t i = 0; i < course->total_milli.n; i++)
    if (course->total_milli.bucket[i].most > most_milli) most_milli = course->total_milli.bucket[i].most;
  return (most_milli + 999) / 1000;
}
