/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The geometry of MIG on one GPU.
 *
 * Memory slices are bits: where a run of them is free, and which starts a profile is left with, are a few shifts. Where
 * to put an instance is decided by what could still follow. Room for each profile, four bits each with the largest
 * profile on top, makes a state one number, and the best start is the one that leaves the greatest: a large profile has
 * few starts, so what it loses is lost for all that is smaller, too, but not the other way round.
 */

#include "headroom/mig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_BITS = 4 };
_Static_assert(HR_MIG_PROFILES *ROOM_BITS <= 64 && HR_MIG_SLICES < 1 << ROOM_BITS, "an outlook is one number");
_Static_assert(sizeof(struct hr_mig_gpu) <= 16, "a state is copied to try something");

/* ---- Types ------------------------------------------------------------------------------------------ */

/* Largest first; names tell equals apart, so that the order of the rows does not matter. */
static int compare_profiles(const void *left, const void *right) {
  const struct hr_mig_profile *a = left, *b = right;
  if (a->memory_slices != b->memory_slices) return b->memory_slices - a->memory_slices;
  if (a->compute_slices != b->compute_slices) return b->compute_slices - a->compute_slices;
  if (a->media != b->media) return b->media - a->media;
  return strcmp(a->name, b->name);
}

static uint8_t larger(uint8_t a, uint8_t b) {
  return a > b ? a : b;
}

void hr_mig_type_init(struct hr_mig_type *type, const char *gpu, struct hr_mig_profile *profiles, uint32_t n_profiles) {
  qsort(profiles, n_profiles, sizeof *profiles, compare_profiles);
  *type = (struct hr_mig_type){.gpu = gpu, .profiles = profiles, .n_profiles = (uint8_t)n_profiles};
  for (uint32_t i = 0; i < n_profiles; i++) {
    const struct hr_mig_profile *profile = &profiles[i];
    for (uint32_t start = 0; start < HR_MIG_SLICES; start++)
      if (profile->starts >> start & 1)
        type->memory_slices = larger(type->memory_slices, (uint8_t)(start + profile->memory_slices));
    type->compute_slices = larger(type->compute_slices, profile->compute_slices);
  }
}

/* The profiles are sorted, so the last that is large enough is the smallest. */
uint32_t hr_mig_smallest(const struct hr_mig_type *type, uint64_t mem_mib, uint32_t compute_sevenths) {
  for (uint32_t i = type->n_profiles; i-- > 0;) {
    const struct hr_mig_profile *profile = &type->profiles[i];
    uint64_t wanted = (uint64_t)compute_sevenths * type->compute_slices;
    if (!profile->media && profile->mem_mib >= mem_mib && profile->compute_slices * 7U >= wanted) return i;
  }
  return HR_NONE;
}

/* ---- One GPU ---------------------------------------------------------------------------------------- */

/* The memory slices of an instance. */
static uint32_t slices_of(const struct hr_mig_profile *profile, uint32_t start) {
  return ((1U << profile->memory_slices) - 1) << start;
}

static uint32_t count_of(const struct hr_mig_gpu *gpu, uint32_t profile) {
  uint32_t count = 0;
  for (uint32_t start = 0; start < HR_MIG_SLICES; start++) count += gpu->at[start] == profile + 1;
  return count;
}

uint32_t hr_mig_starts(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile) {
  const struct hr_mig_profile *wanted = &type->profiles[profile];
  if (gpu->compute_used + wanted->compute_slices > type->compute_slices) return 0;
  if (wanted->media && gpu->has_media) return 0;
  if (count_of(gpu, profile) >= wanted->max_instances) return 0;
  uint32_t free = ~(uint32_t)gpu->occupied & ((1U << type->memory_slices) - 1), runs = free;
  for (uint32_t i = 1; i < wanted->memory_slices; i++) runs &= free >> i;
  return wanted->starts & runs;
}

/* Instances of one length: taking the lowest start again and again wastes least. */
uint32_t hr_mig_room(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile) {
  const struct hr_mig_profile *wanted = &type->profiles[profile];
  uint32_t starts = hr_mig_starts(type, gpu, profile);
  if (!starts || wanted->media) return starts != 0;
  uint32_t most = wanted->max_instances - count_of(gpu, profile), apart = 0;
  uint32_t by_compute = (uint32_t)(type->compute_slices - gpu->compute_used) / wanted->compute_slices;
  for (; starts; apart++) starts &= ~slices_of(wanted, (uint32_t)__builtin_ctz(starts));
  if (by_compute < most) most = by_compute;
  return apart < most ? apart : most;
}

uint64_t hr_mig_outlook(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t wanted) {
  uint64_t outlook = 0;
  for (uint32_t i = 0; i < type->n_profiles; i++)
    outlook = outlook << ROOM_BITS | (wanted >> i & 1 ? hr_mig_room(type, gpu, i) : 0);
  return outlook;
}

uint32_t hr_mig_milli(const struct hr_mig_type *type, uint32_t profile, uint32_t start) {
  uint32_t slices = type->compute_slices, end = start + type->profiles[profile].compute_slices;
  return end * 1000 / slices - start * 1000 / slices;
}

static void put(const struct hr_mig_type *type, struct hr_mig_gpu *gpu, uint32_t profile, uint32_t start) {
  const struct hr_mig_profile *instance = &type->profiles[profile];
  gpu->at[start] = (uint8_t)(profile + 1);
  gpu->occupied = (uint8_t)(gpu->occupied | slices_of(instance, start));
  gpu->compute_used = (uint8_t)(gpu->compute_used + instance->compute_slices);
  gpu->has_media = gpu->has_media || instance->media;
}

uint32_t hr_mig_best_start(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile,
                           uint32_t wanted) {
  uint32_t best = HR_NONE;
  uint64_t best_outlook = 0;
  for (uint32_t starts = hr_mig_starts(type, gpu, profile); starts; starts &= starts - 1) {
    struct hr_mig_gpu after = *gpu;
    uint32_t start = (uint32_t)__builtin_ctz(starts);
    put(type, &after, profile, start);
    uint64_t outlook = hr_mig_outlook(type, &after, wanted);
    if (best != HR_NONE && outlook <= best_outlook) continue;
    best = start;
    best_outlook = outlook;
  }
  return best;
}

bool hr_mig_create(const struct hr_mig_type *type, struct hr_mig_gpu *gpu, uint32_t profile, uint32_t start) {
  if (start >= HR_MIG_SLICES || !(hr_mig_starts(type, gpu, profile) >> start & 1)) return false;
  put(type, gpu, profile, start);
  return true;
}

bool hr_mig_destroy(const struct hr_mig_type *type, struct hr_mig_gpu *gpu, uint32_t start) {
  uint32_t profile = hr_mig_profile_at(gpu, start);
  if (profile == HR_NONE) return false;
  const struct hr_mig_profile *instance = &type->profiles[profile];
  gpu->at[start] = 0;
  gpu->occupied = (uint8_t)(gpu->occupied & ~slices_of(instance, start));
  gpu->compute_used = (uint8_t)(gpu->compute_used - instance->compute_slices);
  if (instance->media) gpu->has_media = false;
  return true;
}

const char *hr_mig_text(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, char *text, size_t size) {
  size_t used = 0;
  if (size) text[0] = '\0';
  for (uint32_t start = 0; start < HR_MIG_SLICES && used < size; start++) {
    uint32_t profile = hr_mig_profile_at(gpu, start);
    if (profile == HR_NONE) continue;
    used += (size_t)snprintf(text + used, size - used, "%s%s@%u", used ? " " : "", type->profiles[profile].name,
                             (unsigned)start);
  }
  return text;
}

/* ---- All states ------------------------------------------------------------------------------------- */

bool hr_mig_is_full(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu) {
  for (uint32_t i = 0; i < type->n_profiles; i++)
    if (hr_mig_starts(type, gpu, i)) return false;
  return true;
}

struct walk {
  const struct hr_mig_type *type;
  void (*visit)(void *context, const struct hr_mig_gpu *gpu);
  void *context;
};

/* All that may begin at `start` or behind it, with what is there already. Removing an instance never makes others
   unfit, so every state is met. */
static uint64_t walk_from(const struct walk *walk, const struct hr_mig_gpu *gpu, uint32_t start) {
  if (start == walk->type->memory_slices) {
    if (walk->visit) walk->visit(walk->context, gpu);
    return 1;
  }
  uint64_t count = walk_from(walk, gpu, start + 1);
  for (uint32_t i = 0; i < walk->type->n_profiles; i++) {
    struct hr_mig_gpu with = *gpu;
    if (hr_mig_create(walk->type, &with, i, start)) count += walk_from(walk, &with, start + 1);
  }
  return count;
}

uint64_t hr_mig_each_state(const struct hr_mig_type *type, void (*visit)(void *context, const struct hr_mig_gpu *gpu),
                           void *context) {
  const struct walk walk = {type, visit, context};
  return walk_from(&walk, &(struct hr_mig_gpu){0}, 0);
}
