/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Buckets are filled without a gap from time zero, and their width starts at a microsecond: after the first few
 * instants it has doubled to nearly what it will be, so that a run joins buckets some forty times in all.
 */

#include "report/buckets.h"

#include <stdlib.h>

enum hr_status hr__buckets_init(struct hr__buckets *buckets, uint32_t room) {
  *buckets = (struct hr__buckets){.bucket = calloc(room, sizeof *buckets->bucket), .room = room, .width_us = 1};
  return buckets->bucket ? HR_OK : HR_NO_MEMORY;
}

void hr__buckets_finish(struct hr__buckets *buckets) {
  free(buckets->bucket);
  *buckets = (struct hr__buckets){0};
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

int64_t hr__buckets_span_us(const struct hr__buckets *buckets, uint32_t i) {
  int64_t left_us = buckets->until_us - i * buckets->width_us;
  return left_us < buckets->width_us ? left_us : buckets->width_us;
}
