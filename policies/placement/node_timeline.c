/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The use of a node over time: see gpu_capacity.h. */

#include "policies/placement/gpu_capacity.h"

#include <string.h>

static bool reserve(struct hr__node_timeline *timeline, struct hr_arena *arena, uint32_t count) {
  if (count <= timeline->capacity) return true;
  uint32_t capacity = 2 * timeline->capacity > count ? 2 * timeline->capacity : count + 6;
  int64_t *at_us = hr_arena_alloc(arena, capacity * sizeof *at_us);
  uint64_t *use = hr_arena_alloc(arena, (size_t)capacity * timeline->columns * sizeof *use);
  uint8_t *what = hr_arena_alloc(arena, capacity);
  struct hr__step_summary *summary = hr_arena_alloc(arena, capacity * sizeof *summary);
  if (!at_us || !use || !what || !summary) return false;
  if (timeline->count) {
    memcpy(at_us, timeline->at_us, timeline->count * sizeof *at_us);
    memcpy(use, timeline->use, (size_t)timeline->count * timeline->columns * sizeof *use);
    memcpy(what, timeline->what, timeline->count);
    memcpy(summary, timeline->summary, timeline->count * sizeof *summary);
  }
  timeline->at_us = at_us;
  timeline->use = use;
  timeline->what = what;
  timeline->summary = summary;
  timeline->capacity = capacity;
  return true;
}

bool hr__node_timeline_set_steps(struct hr__node_timeline *timeline, struct hr_arena *arena, int64_t now_us,
                                 const int64_t *ends_us, uint32_t n) {
  if (!reserve(timeline, arena, n + 1)) return false;
  timeline->at_us[0] = now_us;
  timeline->what[0] = 0;
  timeline->count = 1;
  for (uint32_t i = 0; i < n; i++) {
    if (ends_us[i] == timeline->at_us[timeline->count - 1]) continue;
    timeline->at_us[timeline->count] = ends_us[i];
    timeline->what[timeline->count++] = HR__STEP_END;
  }
  timeline->version++;
  return true;
}

uint32_t hr__node_timeline_step(const struct hr__node_timeline *timeline, int64_t at_us) {
  uint32_t low = 0, high = timeline->count - 1;
  while (low < high) {
    uint32_t middle = (low + high + 1) / 2;
    if (timeline->at_us[middle] <= at_us)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* Returns the index of the step that begins at `at_us`. Splits a step if none begins there; the buffers must have room
   for one more step. */
static uint32_t split_at(struct hr__node_timeline *timeline, int64_t at_us) {
  uint32_t step = hr__node_timeline_step(timeline, at_us), tail = timeline->count - step - 1;
  if (timeline->at_us[step] == at_us) return step;
  memmove(timeline->at_us + step + 2, timeline->at_us + step + 1, tail * sizeof *timeline->at_us);
  memmove(timeline->what + step + 2, timeline->what + step + 1, tail);
  memmove(timeline->summary + step + 2, timeline->summary + step + 1, tail * sizeof *timeline->summary);
  memmove(hr__node_timeline_use(timeline, step + 2), hr__node_timeline_use(timeline, step + 1),
          (size_t)tail * timeline->columns * sizeof *timeline->use);
  memcpy(hr__node_timeline_use(timeline, step + 1), hr__node_timeline_use(timeline, step),
         timeline->columns * sizeof *timeline->use);
  timeline->at_us[step + 1] = at_us;
  timeline->what[step + 1] = 0;
  timeline->summary[step + 1] = timeline->summary[step];
  timeline->count++;
  return step + 1;
}

void hr__node_timeline_summarize(struct hr__node_timeline *timeline, uint32_t first, uint32_t end) {
  for (uint32_t step = first; step < end; step++) {
    const uint64_t *use = hr__node_timeline_use(timeline, step) + timeline->first_summed;
    struct hr__step_summary summary = {.min = UINT32_MAX};
    for (uint32_t i = 0; i < timeline->n_summed; i++) {
      summary.min = use[i] < summary.min ? (uint32_t)use[i] : summary.min;
      summary.n_zero += use[i] == 0;
    }
    timeline->summary[step] = summary;
  }
}

static void add_to(uint64_t *use, const uint64_t *more, uint32_t columns) {
  for (uint32_t i = 0; i < columns; i++) use[i] += more[i];
}

bool hr__node_timeline_add(struct hr__node_timeline *timeline, struct hr_arena *arena, int64_t from_us, int64_t to_us,
                           const uint64_t *use) {
  if (!reserve(timeline, arena, timeline->count + 2)) return false;
  uint32_t first = split_at(timeline, from_us), end = split_at(timeline, to_us);
  for (uint32_t step = first; step < end; step++) add_to(hr__node_timeline_use(timeline, step), use, timeline->columns);
  hr__node_timeline_summarize(timeline, first, end);
  timeline->what[first] |= HR__STEP_BEGIN;
  timeline->what[end] |= HR__STEP_END;
  timeline->version++;
  return true;
}

void hr__node_timeline_max(const struct hr__node_timeline *timeline, uint32_t first, uint32_t last, uint64_t *use) {
  uint32_t columns = timeline->columns;
  memcpy(use, hr__node_timeline_use(timeline, first), columns * sizeof *use);
  for (uint32_t step = first + 1; step <= last; step++) {
    const uint64_t *of_step = hr__node_timeline_use(timeline, step);
    for (uint32_t i = 0; i < columns; i++) use[i] = of_step[i] > use[i] ? of_step[i] : use[i];
  }
}

int64_t hr__node_timeline_next_end(const struct hr__node_timeline *timeline, int64_t at_us) {
  for (uint32_t step = hr__node_timeline_step(timeline, at_us) + 1; step < timeline->count; step++)
    if (timeline->what[step] & HR__STEP_END) return timeline->at_us[step];
  return HR_NEVER_US;
}
