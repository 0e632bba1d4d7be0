/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_MIG_H
#define HEADROOM_MIG_H

/*
 * How one GPU is partitioned by NVIDIA MIG (Multi-Instance GPU).
 *
 * A GPU has consecutive memory slices (8; A30: 4) and compute slices (7; A30: 4). An instance of a profile occupies
 * consecutive memory slices. The first of them, the start of the instance, is one of the starts that the profile
 * permits. The instance also occupies a number of compute slices; only their number is tracked. Instances never
 * overlap. At most one instance of a GPU has the media engines (profiles with "+me").
 *
 * The profiles of a GPU type form a table (struct hr_mig_type). The caller owns the table and must not free it while it
 * is in use; hr_catalog_mig (headroom/unstable/catalog.h) returns the tables of real GPUs. The functions of this header
 * do not allocate memory. The state of a GPU (struct hr_mig_gpu) is small. Callers can copy it to test a change.
 *
 * Profiles are identified by their index in the table; HR_NONE means no profile. Sources: NVIDIA MIG User Guide,
 * nvmlGpuInstancePlacement_t.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits: memory slices of a GPU, profiles of a GPU type, and bytes of a profile's name including the NUL. */
enum { HR_MIG_SLICES = 8, HR_MIG_PROFILES = 16, HR_MIG_NAME_BYTES = 24 };

/* A profile: a kind of MIG instance. */
struct hr_mig_profile {
  const char *name; /* such as "3g.40gb" or "1g.10gb+me" */
  uint32_t mem_mib;
  uint16_t sms; /* streaming multiprocessors */
  uint8_t compute_slices, memory_slices;
  uint8_t starts;        /* set of starts: bit s is set if an instance can begin at memory slice s */
  uint8_t max_instances; /* maximum number of instances of this profile on a GPU */
  bool media;            /* the instance has the media engines; a GPU has one set of them */
};

/* The profiles of a GPU type. */
struct hr_mig_type {
  const char *gpu;                       /* name of the GPU type, such as "A100-80" */
  const struct hr_mig_profile *profiles; /* [n_profiles], sorted by hr_mig_type_init */
  uint8_t n_profiles;
  uint8_t compute_slices, memory_slices; /* numbers of slices of the whole GPU */
};

/* The state of one GPU: its instances. A GPU with all members 0 has no instances. */
struct hr_mig_gpu {
  /* [start]: 1 + the profile of the instance that begins at this memory slice; 0: no instance begins there */
  uint8_t at[HR_MIG_SLICES];
  uint8_t occupied;     /* bit s is set if an instance occupies memory slice s */
  uint8_t compute_used; /* number of compute slices that instances occupy */
  bool has_media;       /* an instance has the media engines */
};

/* ---- Types ---- */

/* Initializes a type with 1 to HR_MIG_PROFILES profiles. Sorts `profiles` in place from the largest to the smallest: by
   memory slices, then by compute slices. Of equal profiles, those with media engines are first. The numbers of slices
   of the whole GPU are computed from the profiles. `type` borrows `gpu` and `profiles`. */
HR_API void hr_mig_type_init(struct hr_mig_type *type, const char *gpu, struct hr_mig_profile *profiles,
                             uint32_t n_profiles);

/* Sets `*profile` to the profile that `text` names. Accepted are full names ("3g.40gb", "1g.10gb+me"), names as in
   Kubernetes ("mig-1g.10gb.me", "nvidia.com/mig-3g.40gb") and short names ("3g", "1g+me"). A short name selects the
   profile with this number of compute slices that has the least memory. Case is ignored. Returns HR_BAD_INPUT for an
   unknown name; `*profile` is then HR_NONE, and `error` suggests the nearest name or lists all names. */
HR_API enum hr_status hr_mig_profile_parse(const struct hr_mig_type *type, const char *text, uint32_t *profile,
                                           struct hr_error *error);

/* ---- One GPU ---- */

/* Returns the set of starts at which an instance of the profile can be created now: bit s is memory slice s. Returns 0
   if no instance can be created. */
HR_API uint32_t hr_mig_starts(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile);

/* Returns the milli-GPUs of an instance: the sum over its compute slices. On a GPU with seven compute slices, each
   slice has 142 or 143 milli-GPUs, so that all seven slices have 1000 milli-GPUs. The instance is assumed to have the
   compute slices `start`, `start` + 1, and so on. */
static inline uint32_t hr_mig_milli(const struct hr_mig_type *type, uint32_t profile, uint32_t start) {
  uint32_t slices = type->compute_slices, end = start + type->profiles[profile].compute_slices;
  return end * 1000 / slices - start * 1000 / slices;
}

/* Returns how many instances of the profile can be created now if no instances of other profiles are created. */
HR_API uint32_t hr_mig_room(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile);

/* Returns the start for an instance of the profile that leaves the most room (hr_mig_room). Returns HR_NONE if no
   instance can be created. Only the room for the profiles of the set `wanted` is considered: bit p is profile p;
   HR_MIG_ALL is the set of all profiles. Two starts are compared by the largest wanted profile for which they leave
   different room. Of equal starts, the lowest is returned. The set should not contain profiles that no job uses,
   because room that is left for them reduces the room for other profiles. docs/reference/sharing.md has reasons and
   figures. */
#define HR_MIG_ALL UINT32_MAX
HR_API uint32_t hr_mig_best_start(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile,
                                  uint32_t wanted);

/* Creates an instance. Returns false, and changes nothing, if no instance of the profile can begin at `start`. */
HR_API bool hr_mig_create(const struct hr_mig_type *type, struct hr_mig_gpu *gpu, uint32_t profile, uint32_t start);
/* Destroys the instance that begins at `start`. Returns false if no instance begins there. */
HR_API bool hr_mig_destroy(const struct hr_mig_type *type, struct hr_mig_gpu *gpu, uint32_t start);

/* Returns the profile of the instance that begins at `start`; HR_NONE if no instance begins there. */
static inline uint32_t hr_mig_profile_at(const struct hr_mig_gpu *gpu, uint32_t start) {
  return start < HR_MIG_SLICES && gpu->at[start] ? gpu->at[start] - 1U : HR_NONE;
}

/* Writes the instances to `text`, in the order of their starts, such as "2g.20gb@0 3g.40gb@4" (profile@start); "" if
   the GPU has no instances. The text is truncated to `size` bytes including the NUL; HR_MIG_TEXT_BYTES suffice for all
   states. Returns `text`. */
enum { HR_MIG_TEXT_BYTES = 256 };
HR_API const char *hr_mig_text(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, char *text, size_t size);

/* ---- Layouts ---- */

/*
 * Sets `*gpu` to the state that the text of a layout describes. Case is ignored. The forms all-PROFILE and all-balanced
 * are those of NVIDIA's mig-parted.
 *   all-PROFILE         the maximum number of instances of a profile. "all-1g.10gb" is 7 instances on a GPU with 80 GB.
 *                       It is 4 instances on a GPU with 40 GB, where 1g.10gb has two memory slices
 *   all-balanced        a mixture, for example 3g + 2g + 1g + 1g on a GPU with seven compute slices. Each step adds an
 *                       instance of the largest profile without media engines that has at most half of the remaining
 *                       compute slices. If one compute slice remains, the step adds a profile with one
 *   all-enabled         MIG is enabled; no instances exist yet
 *   group1, group2 ...  the groups of Volcano's dynamic MIG, see hr_mig_group
 *   3g.40gb,2g,2x1g     a list of profiles as in hr_mig_profile_parse; 2x1g is two instances of 1g
 *
 * The instances of a list are placed from the largest to the smallest, each at its best start (hr_mig_best_start).
 * Other starts are tried if the best starts leave no room for the remaining instances.
 *
 * Returns HR_BAD_INPUT if the text is not a layout, or if the instances do not fit. The GPU then has no instances, and
 * `error` describes the reason.
 */
HR_API enum hr_status hr_mig_layout(const struct hr_mig_type *type, const char *text, struct hr_mig_gpu *gpu,
                                    struct hr_error *error);

/*
 * Sets `*gpu` to a group of instances of Volcano's dynamic MIG (docs/design/dynamic-mig.md of Volcano). Volcano selects
 * one of the groups for a GPU without instances: 7x1g | 3x2g + 1x1g | 2x3g | 1x7g. The GPU retains its group until it
 * has no instances.
 *
 * `number` is the index of the group, from 0. There is one group for each number of compute slices up to half of the
 * GPU, and one group for the whole GPU. A group consists of the maximum number of instances of a profile that has this
 * number of compute slices and no media engines. The remainder of the GPU is filled with instances of the smallest
 * profile without media engines. Returns false, and sets no instances, if no group has the index `number`.
 */
HR_API bool hr_mig_group(const struct hr_mig_type *type, uint32_t number, struct hr_mig_gpu *gpu);

#ifdef __cplusplus
}
#endif
#endif
