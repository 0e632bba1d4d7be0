/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Buckets are filled without a gap from time zero, and their width starts at a microsecond: after the first few
 * instants it has doubled to nearly what it will be, so that a run joins buckets some forty times in all.
 */

#include "report/metrics/buckets.h"

#include <stdlib.h>
#include <string.h>

enum hr_status hr__buckets_init(struct hr__buckets *buckets, uint32_t room) {
  *buckets = (struct hr__buckets){.bucket = calloc(room, sizeof *buckets->bucket), .room = room, .width_us = 1};
  return buckets->bucket ? HR_OK : HR_NO_MEMORY;
}

static void join(struct hr__bucket *into, const struct hr__bucket *other) {
  into->sum += other->sum;
  if (other->least < into->least) into->least = other->least;
  if (other->most > into->most) into->most = other->most;
}

static void double_width(struct hr__buckets *buckets) {
  for (uint32_t i = 0; i < buckets->n; i++) {
    struct hr__bucket *into = &buckets->bucket[i / 2], moved = buckets->bucket[i];
    if (i % 2 == 0)
      *into = moved;
    else
      join(into, &moved);
  }
  buckets->n = (buckets->n + 1) / 2;
  buckets->width_us *= 2;
}

/* Fills part of bucket `i`, the last one or the one after it. */
static void fill(struct hr__buckets *buckets, uint32_t i, int64_t passed_us) {
  const struct hr__bucket part = {(hr__wide)buckets->value * (uint64_t)passed_us, buckets->value, buckets->value};
  if (i < buckets->n)
    join(&buckets->bucket[i], &part);
  else
    buckets->bucket[buckets->n++] = part;
}

static void advance(struct hr__buckets *buckets, int64_t to_us) {
  while (to_us / buckets->width_us >= buckets->room) double_width(buckets);
  while (buckets->until_us < to_us) {
    uint32_t i = (uint32_t)(buckets->until_us / buckets->width_us);
    int64_t left_us = (i + 1) * buckets->width_us - buckets->until_us;
    int64_t passed_us = to_us - buckets->until_us < left_us ? to_us - buckets->until_us : left_us;
    fill(buckets, i, passed_us);
    buckets->until_us += passed_us;
  }
}

void hr__buckets_set(struct hr__buckets *buckets, int64_t at_us, uint64_t value) {
  advance(buckets, at_us);
  buckets->value = value;
  fill(buckets, (uint32_t)(at_us / buckets->width_us), 0);
}

/* What was set at the very end may stand in a bucket of no time. */
void hr__buckets_close(struct hr__buckets *buckets, int64_t end_us) {
  advance(buckets, end_us);
  if (buckets->n < 2 || hr__buckets_span_us(buckets, buckets->n - 1) > 0) return;
  buckets->n--;
  join(&buckets->bucket[buckets->n - 1], &buckets->bucket[buckets->n]);
}

/* Of a line of 60 cells, each has at least 16 of them: no cell is more than a sixteenth wider than another. */
enum { ROOM = 1920 };

struct hr_timeline_summary *hr_timeline_summary_create(void) {
  struct hr_timeline_summary *course = calloc(1, sizeof *course);
  if (!course) return NULL;
  if (hr__buckets_init(&course->allocated_milli, ROOM) == HR_OK &&
      hr__buckets_init(&course->total_milli, ROOM) == HR_OK && hr__buckets_init(&course->waiting, ROOM) == HR_OK)
    return course;
  hr_timeline_summary_destroy(course);
  return NULL;
}

void hr_timeline_summary_destroy(struct hr_timeline_summary *course) {
  if (!course) return;
  hr__buckets_finish(&course->allocated_milli);
  hr__buckets_finish(&course->total_milli);
  hr__buckets_finish(&course->waiting);
  free(course);
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_timeline_summary *course = self;
  hr__buckets_set(&course->allocated_milli, view->now_us, view->allocated_milli);
  hr__buckets_set(&course->total_milli, view->now_us, view->total_milli);
  hr__buckets_set(&course->waiting, view->now_us, view->n_waiting);
}

struct hr_observer hr_course_observer(struct hr_timeline_summary *course) {
  return (struct hr_observer){.self = course, .on_instant = on_instant};
}

void hr_timeline_summary_close(struct hr_timeline_summary *course, const struct hr_result *result) {
  hr__buckets_close(&course->allocated_milli, result->end_us);
  hr__buckets_close(&course->total_milli, result->end_us);
  hr__buckets_close(&course->waiting, result->end_us);
}

enum hr_status hr__steps_init(struct hr__steps *steps, int64_t step_us, int64_t end_us) {
  *steps = (struct hr__steps){.step_us = step_us, .end_us = end_us, .n = (uint32_t)((end_us + step_us - 1) / step_us)};
  steps->part = calloc((size_t)steps->n + 1, sizeof *steps->part);
  steps->change = calloc((size_t)steps->n + 1, sizeof *steps->change);
  return steps->part && steps->change ? HR_OK : HR_NO_MEMORY;
}

void hr__steps_add(struct hr__steps *steps, int64_t from_us, int64_t to_us, int64_t weight) {
  if (to_us > steps->end_us) to_us = steps->end_us;
  if (from_us >= to_us) return;
  int64_t first = from_us / steps->step_us, last = to_us / steps->step_us;
  if (first == last) {
    steps->part[first] += (hr_amount)weight * (to_us - from_us);
    return;
  }
  steps->part[first] += (hr_amount)weight * ((first + 1) * steps->step_us - from_us);
  steps->part[last] += (hr_amount)weight * (to_us - last * steps->step_us);
  steps->change[first + 1] += weight;
  steps->change[last] -= weight;
}

void hr__steps_close(struct hr__steps *steps) {
  hr_amount weight = 0;
  for (uint32_t i = 0; i < steps->n; i++) {
    weight += steps->change[i];
    steps->part[i] += weight * steps->step_us;
  }
}
