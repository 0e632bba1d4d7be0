/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PROFILE_H
#define HR_POLICIES_PROFILE_H

/* Free GPUs of one bin from now on, as steps: step i holds from at_us[i] until at_us[i + 1], the last one for ever. */

#include "headroom/policy.h"

struct hr__profile {
  int64_t *at_us;
  uint32_t *free;
  uint32_t count, capacity;
  uint32_t skipped; /* steps of the past, before these: room that comes back */
};

/* Begins anew with one step. Functions that add steps return false when out of memory. */
bool hr__profile_begin(struct hr__profile *profile, struct hr_arena *arena, int64_t now_us, uint32_t free);
/* Forgets what was before `now_us`, not before the first step. */
void hr__profile_come_to(struct hr__profile *profile, int64_t now_us);
/* GPUs that come free at `at_us`, not before the last step. */
bool hr__profile_release(struct hr__profile *profile, struct hr_arena *arena, int64_t at_us, uint32_t gpus);
/* Takes GPUs, which must be free, over [from_us, to_us). */
bool hr__profile_take(struct hr__profile *profile, struct hr_arena *arena, int64_t from_us, int64_t to_us,
                      uint32_t gpus);
/* The earliest start >= from_us of a window of `length_us` in which `gpus` GPUs are free throughout. */
int64_t hr__profile_earliest(const struct hr__profile *profile, int64_t from_us, int64_t length_us, uint32_t gpus);
/* The least number of free GPUs over a window, or 0 when it is below `needed`. */
uint32_t hr__profile_least(const struct hr__profile *profile, int64_t from_us, int64_t length_us, uint32_t needed);

#endif
