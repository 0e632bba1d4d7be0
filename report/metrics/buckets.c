/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Buckets are filled without gaps from time zero. The initial width is one microsecond. Each doubling of the width
 * merges the buckets in pairs. The number of doublings is the binary logarithm of the final width, about 30 for a run
 * of a month in 1920 buckets.
 */

#include "report/metrics/buckets.h"

#include <stdlib.h>
#include <string.h>

enum hr_status hr__buckets_init(struct hr__buckets *buckets, uint32_t room) {
  *buckets = (struct hr__buckets){.bucket = calloc(room, sizeof *buckets->bucket), .room = room, .width_us = 1};
  return buckets->bucket ? HR_OK : HR_NO_MEMORY;
}

static void merge(struct hr__bucket *into, const struct hr__bucket *other) {
  into->sum += other->sum;
  if (other->min < into->min) into->min = other->min;
  if (other->max > into->max) into->max = other->max;
}

static void double_width(struct hr__buckets *buckets) {
  for (uint32_t i = 0; i < buckets->n; i++) {
    struct hr__bucket *into = &buckets->bucket[i / 2], moved = buckets->bucket[i];
    if (i % 2 == 0)
      *into = moved;
    else
      merge(into, &moved);
  }
  buckets->n = (buckets->n + 1) / 2;
  buckets->width_us *= 2;
}

/* Adds the current value during `passed_us` microseconds to bucket `i`. `i` is the index of the last bucket or of the
   next new one. */
static void fill(struct hr__buckets *buckets, uint32_t i, int64_t passed_us) {
  const struct hr__bucket part = {(hr__wide)buckets->value * (uint64_t)passed_us, buckets->value, buckets->value};
  if (i < buckets->n)
    merge(&buckets->bucket[i], &part);
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

/* A value that is set exactly at the end may have created a bucket of duration 0. Such a bucket is merged into the one
   before. */
void hr__buckets_close(struct hr__buckets *buckets, int64_t end_us) {
  advance(buckets, end_us);
  if (buckets->n < 2 || hr__buckets_span_us(buckets, buckets->n - 1) > 0) return;
  buckets->n--;
  merge(&buckets->bucket[buckets->n - 1], &buckets->bucket[buckets->n]);
}

/* At least 960 buckets are used, so each of the 60 cells of a chart covers at least 16 buckets. The widths of cells
   therefore differ by at most 1/16. */
enum { ROOM = 1920 };

struct hr_timeline_summary *hr_timeline_summary_create(void) {
  struct hr_timeline_summary *timeline = calloc(1, sizeof *timeline);
  if (!timeline) return NULL;
  if (hr__buckets_init(&timeline->allocated_milli, ROOM) == HR_OK &&
      hr__buckets_init(&timeline->total_milli, ROOM) == HR_OK && hr__buckets_init(&timeline->waiting, ROOM) == HR_OK)
    return timeline;
  hr_timeline_summary_destroy(timeline);
  return NULL;
}

void hr_timeline_summary_destroy(struct hr_timeline_summary *timeline) {
  if (!timeline) return;
  hr__buckets_finish(&timeline->allocated_milli);
  hr__buckets_finish(&timeline->total_milli);
  hr__buckets_finish(&timeline->waiting);
  free(timeline);
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_timeline_summary *timeline = self;
  hr__buckets_set(&timeline->allocated_milli, view->now_us, view->allocated_milli);
  hr__buckets_set(&timeline->total_milli, view->now_us, view->total_milli);
  hr__buckets_set(&timeline->waiting, view->now_us, view->n_waiting);
}

struct hr_observer hr_timeline_summary_observer(struct hr_timeline_summary *timeline) {
  return (struct hr_observer){.self = timeline, .on_instant = on_instant};
}

void hr_timeline_summary_close(struct hr_timeline_summary *timeline, const struct hr_result *result) {
  hr__buckets_close(&timeline->allocated_milli, result->end_us);
  hr__buckets_close(&timeline->total_milli, result->end_us);
  hr__buckets_close(&timeline->waiting, result->end_us);
}
