/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_MIG_H
#define HEADROOM_MIG_H

/*
 * How one GPU is partitioned by NVIDIA MIG (Multi-Instance GPU).
 *
 * A GPU has memory slices on an axis (8; A30: 4) and compute slices (7; A30: 4). An instance of a profile takes
 * consecutive memory slices that begin at one of the profile's starts, and a number of compute slices, no matter which.
 * Instances never overlap, and at most one instance of a GPU has the media engines of "+me".
 *
 * The profiles of a GPU type are a table (struct hr_mig_type) that the caller owns and that must outlive its use;
 * hr_catalog_mig has those of real GPUs. Nothing here allocates memory, so a state is copied to try something on it.
 * Profiles are indices into the table; HR_NONE means none. Sources: NVIDIA MIG User Guide,
 * nvmlGpuInstancePlacement_t.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum slices of a GPU, profiles of a GPU type, and bytes of a profile's name with its NUL. */
enum { HR_MIG_SLICES = 8, HR_MIG_PROFILES = 16, HR_MIG_NAME_BYTES = 24 };

struct hr_mig_profile {
  const char *name; /* "3g.40gb", "1g.10gb+me" */
  uint32_t mem_mib;
  uint16_t sms; /* streaming multiprocessors */
  uint8_t compute_slices, memory_slices;
  uint8_t starts; /* bit s: an instance can begin at memory slice s */
  uint8_t max_instances;
  bool media; /* has the media engines, of which a GPU has one set */
};

struct hr_mig_type {
  const char *gpu;                       /* "A100-80" */
  const struct hr_mig_profile *profiles; /* sorted by hr_mig_type_init */
  uint8_t n_profiles;
  uint8_t compute_slices, memory_slices; /* of the whole GPU */
};

/* The instances of one GPU; all zero: none. */
struct hr_mig_gpu {
  uint8_t at[HR_MIG_SLICES]; /* profile of the instance that begins there + 1; 0: none */
  uint8_t occupied;          /* bit s: memory slice s is in use */
  uint8_t compute_used;      /* compute slices in use */
  bool has_media;            /* an instance has the media engines */
};

/* ---- Types ---- */

/* Makes a type of 1 to HR_MIG_PROFILES profiles. Sorts `profiles` from the largest to the smallest: by memory
   slices, then compute slices, then with media engines before without. The slices of the whole GPU are derived from
   them. */
HR_API void hr_mig_type_init(struct hr_mig_type *type, const char *gpu, struct hr_mig_profile *profiles,
                             uint32_t n_profiles);

/* Finds the profile that a text names: "3g.40gb", "1g.10gb+me"; as in Kubernetes, "mig-1g.10gb.me",
   "nvidia.com/mig-3g.40gb"; or short, "3g", "1g+me", which is the one with that many compute slices and the least
   memory. Case is ignored. HR_BAD_INPUT suggests the nearest name. */
HR_API enum hr_status hr_mig_profile_parse(const struct hr_mig_type *type, const char *text, uint32_t *profile,
                                           struct hr_error *error);

/* ---- One GPU ---- */

/* The set of starts at which an instance of the profile can be created now; 0: no room. */
HR_API uint32_t hr_mig_starts(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile);

/* The milli-GPUs of an instance: those of its compute slices, counted from its start, so that all seven together are
   the whole GPU (142 or 143 each). */
static inline uint32_t hr_mig_milli(const struct hr_mig_type *type, uint32_t profile, uint32_t start) {
  uint32_t slices = type->compute_slices, end = start + type->profiles[profile].compute_slices;
  return end * 1000 / slices - start * 1000 / slices;
}

/* The number of instances of the profile that could be created now, if no others were. */
HR_API uint32_t hr_mig_room(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile);

/* The start that leaves the most room (hr_mig_room) for profiles of the set `wanted` (bit p: profile p; HR_MIG_ALL:
   all): for the largest one for which the room differs. The lowest of equal ones; HR_NONE: no room. Profiles that no
   job uses should not be in `wanted`: leaving room for them costs room for others. See docs/reference/sharing.md for
   reasons and figures. */
#define HR_MIG_ALL UINT32_MAX
HR_API uint32_t hr_mig_best_start(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile,
                                  uint32_t wanted);

/* Creates an instance. False, without effect, if none can begin there. */
HR_API bool hr_mig_create(const struct hr_mig_type *type, struct hr_mig_gpu *gpu, uint32_t profile, uint32_t start);
/* Destroys the instance that begins there. False if none does. */
HR_API bool hr_mig_destroy(const struct hr_mig_type *type, struct hr_mig_gpu *gpu, uint32_t start);

/* The profile of the instance that begins there; HR_NONE: none. */
static inline uint32_t hr_mig_profile_at(const struct hr_mig_gpu *gpu, uint32_t start) {
  return start < HR_MIG_SLICES && gpu->at[start] ? gpu->at[start] - 1U : HR_NONE;
}

/* Writes the instances by start, "2g.20gb@0 3g.40gb@4", "" if there are none; truncated to `size` bytes. Returns
   `text`. */
enum { HR_MIG_TEXT_BYTES = 256 };
HR_API const char *hr_mig_text(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, char *text, size_t size);

/* ---- Layouts ---- */

/*
 * Creates the state that a layout names:
 *   all-PROFILE         as many as fit: "all-1g.10gb" is 7 on an 80 GB GPU and 4 on one of 40 GB, where that is the
 *     profile of double memory; ".me" for "+me", as in mig-parted
 *   all-balanced        as in mig-parted, 3g + 2g + 1g + 1g of seven slices: each the largest profile without media
 *     engines of at most half of the compute slices that are left, and at least one
 *   all-enabled         no instances yet
 *   group1, group2 ...  the groups of Volcano's dynamic MIG, see hr_mig_group
 *   3g.40gb,2g,2x1g     profiles as hr_mig_profile_parse reads them, from the largest to the smallest, each at its best
 *     start or, if that leaves no room for the rest, at another
 *
 * HR_BAD_INPUT says what does not fit.
 */
HR_API enum hr_status hr_mig_layout(const struct hr_mig_type *type, const char *text, struct hr_mig_gpu *gpu,
                                    struct hr_error *error);

/*
 * Group `number` (from 0) of those among which Volcano's dynamic MIG chooses for a GPU without instances, and which the
 * GPU retains until it has none again (docs/design/dynamic-mig.md: 7x1g | 3x2g + 1x1g | 2x3g | 1x7g): for each number
 * of compute slices up to half, and for all, as many profiles without media engines as fit, and the smallest in the
 * remainder. False if there are fewer groups.
 */
HR_API bool hr_mig_group(const struct hr_mig_type *type, uint32_t number, struct hr_mig_gpu *gpu);

#ifdef __cplusplus
}
#endif
#endif
