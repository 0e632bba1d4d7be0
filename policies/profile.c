/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policies/profile.h"

#include <string.h>

/* The steps of the past become room behind the others. */
static void move_down(struct hr__profile *profile) {
  uint32_t skipped = profile->skipped;
  if (skipped == 0) return;
  memmove(profile->at_us - skipped, profile->at_us, profile->count * sizeof *profile->at_us);
  memmove(profile->free - skipped, profile->free, profile->count * sizeof *profile->free);
  profile->at_us -= skipped;
  profile->free -= skipped;
  profile->capacity += skipped;
  profile->skipped = 0;
}

static bool reserve(struct hr__profile *profile, struct hr_arena *arena, uint32_t count) {
  if (count > profile->capacity && profile->skipped > profile->count) move_down(profile);
  if (count <= profile->capacity) return true;
  uint32_t capacity = 2 * profile->capacity > count ? 2 * profile->capacity : count + 6;
  int64_t *at_us = hr_arena_alloc(arena, capacity * sizeof *at_us);
  uint32_t *free = hr_arena_alloc(arena, capacity * sizeof *free);
  if (!at_us || !free) return false;
  if (profile->count) {
    memcpy(at_us, profile->at_us, profile->count * sizeof *at_us);
    memcpy(free, profile->free, profile->count * sizeof *free);
  }
  profile->at_us = at_us;
  profile->free = free;
  profile->capacity = capacity;
  profile->skipped = 0;
  return true;
}

bool hr__profile_begin(struct hr__profile *profile, struct hr_arena *arena, int64_t now_us, uint32_t free) {
  profile->count = 0;
  move_down(profile);
  if (!reserve(profile, arena, 1)) return false;
  profile->at_us[0] = now_us;
  profile->free[0] = free;
  profile->count = 1;
  return true;
}

bool hr__profile_release(struct hr__profile *profile, struct hr_arena *arena, int64_t at_us, uint32_t gpus) {
  uint32_t last = profile->count - 1;
  if (profile->at_us[last] == at_us) {
    profile->free[last] += gpus;
    return true;
  }
  if (!reserve(profile, arena, profile->count + 1)) return false;
  profile->at_us[profile->count] = at_us;
  profile->free[profile->count++] = profile->free[last] + gpus;
  return true;
}

/* The step that holds at a time not before the first step's: a search without branches, as none could be foreseen. */
static uint32_t step_at(const struct hr__profile *profile, int64_t at_us) {
  const int64_t *from_us = profile->at_us;
  for (uint32_t count = profile->count, half; count > 1; count -= half) {
    half = count / 2;
    from_us += from_us[half] <= at_us ? half : 0;
  }
  return (uint32_t)(from_us - profile->at_us);
}

/* The step that begins at `at_us`, made if there is none. There must be room. */
static uint32_t cut(struct hr__profile *profile, int64_t at_us) {
  uint32_t step = step_at(profile, at_us);
  if (profile->at_us[step] == at_us) return step;
  uint32_t tail = profile->count - step - 1;
  memmove(profile->at_us + step + 2, profile->at_us + step + 1, tail * sizeof *profile->at_us);
  memmove(profile->free + step + 2, profile->free + step + 1, tail * sizeof *profile->free);
  profile->at_us[step + 1] = at_us;
  profile->free[step + 1] = profile->free[step];
  profile->count++;
  return step + 1;
}

void hr__profile_come_to(struct hr__profile *profile, int64_t now_us) {
  uint32_t step = step_at(profile, now_us);
  profile->at_us += step;
  profile->free += step;
  profile->count -= step;
  profile->capacity -= step;
  profile->skipped += step;
  profile->at_us[0] = now_us;
}

bool hr__profile_take(struct hr__profile *profile, struct hr_arena *arena, int64_t from_us, int64_t to_us,
                      uint32_t gpus) {
  if (!reserve(profile, arena, profile->count + 2)) return false;
  uint32_t first = cut(profile, from_us), end = cut(profile, to_us);
  for (uint32_t step = first; step < end; step++) profile->free[step] -= gpus;
  return true;
}

/* Steps are looked at so many at a time, which compilers turn into a few vector instructions. */
enum { AT_A_TIME = 16 };

/* The first step from `step` on, before `end`, with less than `gpus` free; `end` when there is none. */
static uint32_t first_below(const uint32_t *free, uint32_t step, uint32_t end, uint32_t gpus) {
  for (; end - step >= AT_A_TIME; step += AT_A_TIME) {
    uint32_t below = 0;
    for (uint32_t i = 0; i < AT_A_TIME; i++) below |= free[step + i] < gpus;
    if (below) break;
  }
  while (step < end && free[step] >= gpus) step++;
  return step;
}

/* Likewise with as many. */
static uint32_t first_with(const uint32_t *free, uint32_t step, uint32_t end, uint32_t gpus) {
  for (; end - step >= AT_A_TIME; step += AT_A_TIME) {
    uint32_t with = 0;
    for (uint32_t i = 0; i < AT_A_TIME; i++) with |= free[step + i] >= gpus;
    if (with) break;
  }
  while (step < end && free[step] < gpus) step++;
  return step;
}

/* The first step that begins at `at_us` or later; `count` when there is none. */
static uint32_t steps_before(const struct hr__profile *profile, int64_t at_us) {
  uint32_t step = step_at(profile, at_us);
  return step + (profile->at_us[step] < at_us);
}

int64_t hr__profile_earliest(const struct hr__profile *profile, int64_t from_us, int64_t length_us, uint32_t gpus) {
  uint32_t step = step_at(profile, from_us), count = profile->count;
  int64_t start_us = from_us;
  for (;;) {
    step = first_with(profile->free, step, count, gpus);
    if (step == count) return HR_NEVER_US;
    if (profile->at_us[step] > start_us) start_us = profile->at_us[step];
    uint32_t end = steps_before(profile, start_us + length_us);
    step = first_below(profile->free, step, end, gpus);
    if (step == end) return start_us;
  }
}

uint32_t hr__profile_least(const struct hr__profile *profile, int64_t from_us, int64_t length_us, uint32_t needed) {
  uint32_t step = step_at(profile, from_us), end = steps_before(profile, from_us + length_us);
  uint32_t least = profile->free[step];
  while (step < end && least >= needed) {
    uint32_t stop = end - step < AT_A_TIME ? end : step + AT_A_TIME;
    for (; step < stop; step++) least = profile->free[step] < least ? profile->free[step] : least;
  }
  return least >= needed ? least : 0;
}
