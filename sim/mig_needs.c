/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/mig_needs.h"

#include <string.h>

/* A name, as the pools know it. */
struct hr__mig_name {
  uint16_t *profile;           /* [n_pools], a set of one profile, or of none */
  uint32_t gpu_milli, mem_mib; /* in the first pool that knows it; 0: none does */
};

/* NULL: it has no GPU that is split. */
static const struct hr_mig_spec *split_of(const struct hr_cluster_spec *cluster, uint32_t pool) {
  return cluster->pools[pool].nodes > 0 ? cluster->pools[pool].mig : NULL;
}

/* ---- Names ------------------------------------------------------------------------------------------ */

static uint32_t compute_milli(const struct hr_mig_type *type, uint32_t profile) {
  uint32_t slices = type->compute_slices;
  return (type->profiles[profile].compute_slices * HR_WHOLE_GPU_MILLI + slices - 1) / slices;
}

static bool read_name(const struct hr__mig_needs *needs, const char *text, struct hr__mig_name *name) {
  const struct hr_cluster_spec *cluster = needs->cluster;
  name->profile = hr_arena_alloc(needs->arena, cluster->n_pools * sizeof *name->profile);
  if (!name->profile) return false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_mig_spec *mig = split_of(cluster, i);
    uint32_t profile;
    if (!mig || hr_mig_profile_parse(&mig->type, text, &profile, NULL) != HR_OK) continue;
    name->profile[i] = (uint16_t)(1U << profile);
    if (name->gpu_milli) continue;
    name->gpu_milli = compute_milli(&mig->type, profile);
    name->mem_mib = mig->type.profiles[profile].mem_mib;
  }
  return true;
}

enum hr_status hr__mig_needs_init(struct hr__mig_needs *needs, struct hr_arena *arena,
                                  const struct hr_cluster_spec *cluster, const struct hr_trace *trace) {
  bool any = false;
  for (uint32_t i = 0; cluster && i < cluster->n_pools; i++) any = any || split_of(cluster, i);
  *needs = (struct hr__mig_needs){.arena = arena, .cluster = any ? cluster : NULL};
  if (!any) return HR_OK;
  needs->scratch = hr_arena_alloc(arena, cluster->n_pools * sizeof *needs->scratch);
  needs->name = hr_arena_alloc(arena, ((size_t)trace->mig_profiles.count + 1) * sizeof *needs->name);
  if (!needs->scratch || !needs->name) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < trace->mig_profiles.count; i++)
    if (!read_name(needs, trace->mig_profiles.text[i], &needs->name[i])) return HR_NO_MEMORY;
  return HR_OK;
}

/* ---- Needs ------------------------------------------------------------------------------------------ */

static uint16_t enough(const struct hr_mig_spec *mig, const struct hr_request *request) {
  uint32_t profiles = 0;
  for (uint32_t i = 0; mig && i < mig->type.n_profiles; i++) {
    const struct hr_mig_profile *profile = &mig->type.profiles[i];
    bool has = profile->mem_mib >= request->gpu_mem_mib && compute_milli(&mig->type, i) >= request->gpu_milli;
    profiles |= (uint32_t)(has && !profile->media) << i;
  }
  return (uint16_t)profiles;
}

/* The table that is like the scratch one; NULL when out of memory. */
static const uint16_t *keep(struct hr__mig_needs *needs, uint32_t *number) {
  size_t bytes = needs->cluster->n_pools * sizeof *needs->scratch;
  for (*number = 0; *number < needs->count; ++*number)
    if (memcmp(needs->need[*number], needs->scratch, bytes) == 0) return needs->need[*number];
  if (needs->count == needs->capacity)
    needs->need = hr_arena_grown(needs->arena, needs->need, &needs->capacity, sizeof *needs->need);
  uint16_t *copy = needs->need ? hr_arena_alloc(needs->arena, bytes) : NULL;
  if (!copy) return NULL;
  memcpy(copy, needs->scratch, bytes);
  return needs->need[needs->count++] = copy;
}

static const struct hr__mig_name *name_of(const struct hr__mig_needs *needs, const struct hr_trace *trace, hr_job job) {
  uint32_t number = trace->mig_profile ? trace->mig_profile[job.id] : HR_NONE;
  return number == HR_NONE ? NULL : &needs->name[number];
}

/* The profile that is named, unless it has less memory than the job tells that it wants. */
static uint16_t named_in(const struct hr__mig_needs *needs, const struct hr__mig_name *name, uint32_t pool,
                         uint64_t told_mib) {
  const struct hr_mig_spec *mig = split_of(needs->cluster, pool);
  uint32_t profiles = name->profile[pool];
  return profiles && mig->type.profiles[__builtin_ctz(profiles)].mem_mib >= told_mib ? (uint16_t)profiles : 0;
}

bool hr__mig_needs_add(struct hr__mig_needs *needs, const struct hr_trace *trace, hr_job job,
                       struct hr_request *request) {
  if (!needs->cluster) return true;
  uint64_t told_mib = request->gpu_mem_mib;
  const struct hr__mig_name *name = request->gpus ? name_of(needs, trace, job) : NULL;
  if (name && name->gpu_milli && request->gpu_milli == HR_WHOLE_GPU_MILLI) request->gpu_milli = name->gpu_milli;
  if (name && name->mem_mib && request->gpu_mem_mib == 0) request->gpu_mem_mib = name->mem_mib;
  for (uint32_t i = 0; i < needs->cluster->n_pools; i++) {
    needs->scratch[i] = name ? named_in(needs, name, i, told_mib) : enough(split_of(needs->cluster, i), request);
    if (request->gpus != 1) needs->scratch[i] = 0;
  }
  request->mig_profiles = keep(needs, &request->mig_need);
  return request->mig_profiles != NULL;
}
