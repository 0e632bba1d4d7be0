/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_MIG_H
#define HEADROOM_MIG_H

/*
 * How one GPU is split by NVIDIA MIG (Multi-Instance GPU).
 *
 * A GPU has memory slices on an axis (8; A30: 4) and compute slices (7; A30: 4). An instance of a profile takes a run
 * of memory slices that begins at one of the profile's starts, and a number of compute slices, no matter which.
 * Instances never overlap, and at most one of a GPU has the media engines of "+me". What the profiles of a GPU type are
 * is a table (struct hr_mig_type) that the caller owns and that outlives its use; hr_catalog_mig has those of real
 * GPUs. Nothing here allocates, so a state is copied to try something on it. Profiles are named by their places in the
 * table, and HR_NONE stands for none. Sources: NVIDIA MIG User Guide, nvmlGpuInstancePlacement_t.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most slices of a GPU, the most profiles of a GPU type, the longest name of one with its NUL. */
enum { HR_MIG_SLICES = 8, HR_MIG_PROFILES = 16, HR_MIG_NAME_BYTES = 24 };

struct hr_mig_profile {
  const char *name; /* "3g.40gb", "1g.10gb+me" */
  uint32_t mem_mib;
  uint16_t sms; /* streaming multiprocessors */
  uint8_t compute_slices, memory_slices;
  uint8_t starts; /* bit s: an instance may begin at memory slice s */
  uint8_t max_instances;
  bool media; /* has the media engines that a GPU has once */
};

struct hr_mig_type {
  const char *gpu;                       /* "A100-80" */
  const struct hr_mig_profile *profiles; /* as hr_mig_type_init leaves them */
  uint8_t n_profiles;
  uint8_t compute_slices, memory_slices; /* of the whole GPU */
};

/* What is on one GPU; all zero: nothing. */
struct hr_mig_gpu {
  uint8_t at[HR_MIG_SLICES]; /* 1 + the profile of the instance that begins there; 0: none does */
  uint8_t occupied;          /* bit s: memory slice s is taken */
  uint8_t compute_used;      /* slices */
  bool has_media;            /* an instance has the media engines */
};

/* ---- Types ------------------------------------------------------------------------------------------ */

/* Makes a type of 1 to HR_MIG_PROFILES profiles, which are sorted from the largest to the smallest: by memory slices,
   by compute slices, with media engines before without. The largest figures tell what the whole GPU has. */
HR_API void hr_mig_type_init(struct hr_mig_type *type, const char *gpu, struct hr_mig_profile *profiles,
                             uint32_t n_profiles);

/* The profile that a text names: "3g.40gb", "1g.10gb+me" or as Kubernetes has them, "mig-1g.10gb.me",
   "nvidia.com/mig-3g.40gb"; or, short, "3g", "1g+me": of those with so many compute slices the one with the least
   memory. Case does not matter. HR_BAD_INPUT names what comes nearest. */
HR_API enum hr_status hr_mig_profile_parse(const struct hr_mig_type *type, const char *text, uint32_t *profile,
                                           struct hr_error *error);

/* The smallest profile with at least this much memory and this many sevenths of the compute slices, without media
   engines; HR_NONE: even the largest has less. Of equal memory slices the one with fewer compute slices is smaller. */
HR_API uint32_t hr_mig_smallest(const struct hr_mig_type *type, uint64_t mem_mib, uint32_t compute_sevenths);

/* ---- One GPU ---------------------------------------------------------------------------------------- */

/* Where an instance of the profile may begin now: a set of bits, 0 when there is no room. */
HR_API uint32_t hr_mig_starts(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile);

/* Thousandths of a GPU that an instance has: those of its compute slices, which are counted from its start on, so that
   all seven together are the whole GPU (142 or 143 each). */
HR_API uint32_t hr_mig_milli(const struct hr_mig_type *type, uint32_t profile, uint32_t start);

/* How many instances of the profile could be created now, if nothing else were. */
HR_API uint32_t hr_mig_room(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile);

/* The room for each profile of the set `wanted` (bit p: profile p) in one number: of two states of a type, the greater
   has room for more instances of the largest such profile in whose room they differ. HR_MIG_ALL: of all profiles. */
#define HR_MIG_ALL UINT32_MAX
HR_API uint64_t hr_mig_outlook(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t wanted);

/* The start that leaves the best outlook, of equals the lowest; HR_NONE: no room. What nobody asks for is better not in
   `wanted`: keeping room for it costs others theirs. docs/reference/sharing.md has the reasons and figures. */
HR_API uint32_t hr_mig_best_start(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile,
                                  uint32_t wanted);

/* Creates an instance; false, and nothing happens, where none may begin. */
HR_API bool hr_mig_create(const struct hr_mig_type *type, struct hr_mig_gpu *gpu, uint32_t profile, uint32_t start);
/* Destroys the instance that begins there; false: none does. */
HR_API bool hr_mig_destroy(const struct hr_mig_type *type, struct hr_mig_gpu *gpu, uint32_t start);

/* The profile of the instance that begins there; HR_NONE: none does. */
static inline uint32_t hr_mig_profile_at(const struct hr_mig_gpu *gpu, uint32_t start) {
  return start < HR_MIG_SLICES && gpu->at[start] ? gpu->at[start] - 1U : HR_NONE;
}

/* "2g.20gb@0 3g.40gb@4", by start; "" for nothing. Cut short where it is longer than `size`. Returns `text`. */
enum { HR_MIG_TEXT_BYTES = 256 };
HR_API const char *hr_mig_text(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, char *text, size_t size);

/* ---- Layouts ---------------------------------------------------------------------------------------- */

/*
 * The state that a layout names:
 *   all-PROFILE         as many of it as fit: "all-1g.10gb" is 7 on an 80 GB GPU and 4 on one of 40 GB, where that is
 *                       the profile of double memory; ".me" for "+me", as in mig-parted
 *   all-balanced        as in mig-parted, 3g + 2g + 1g + 1g of seven slices: each the largest plain profile of at most
 *                       half of the compute slices that are left, and at least one
 *   all-enabled         nothing yet
 *   group1, group2 ...  the groups of Volcano's dynamic MIG, see hr_mig_group
 *   3g.40gb,2g,2x1g     free: profiles as hr_mig_profile_parse reads them, each at its best start from the largest to
 * the smallest, elsewhere where that leaves no room for the rest HR_BAD_INPUT says what does not fit.
 */
HR_API enum hr_status hr_mig_layout(const struct hr_mig_type *type, const char *text, struct hr_mig_gpu *gpu,
                                    struct hr_error *error);

/* Places `count[p]` instances of each profile p on an empty GPU, as a free layout; false: no placement has room. */
HR_API bool hr_mig_place(const struct hr_mig_type *type, const uint8_t count[], struct hr_mig_gpu *gpu);

/*
 * Group `number` (from 0) of those that Volcano's dynamic MIG chooses from for a GPU without instances, and keeps to
 * until it is without again (docs/design/dynamic-mig.md: 7x1g | 3x2g + 1x1g | 2x3g | 1x7g): of each number of compute
 * slices up to half, and of all, as many plain profiles as fit, with the smallest in what is left. false: there are
 * fewer groups.
 */
HR_API bool hr_mig_group(const struct hr_mig_type *type, uint32_t number, struct hr_mig_gpu *gpu);

/* ---- All states ------------------------------------------------------------------------------------- */

/* Whether nothing can be added. */
HR_API bool hr_mig_is_full(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu);

/* Calls `visit` (which may be NULL) with each set of instances, with their starts, that may be on a GPU together, in an
   order that is always the same; tells how many there are. */
HR_API uint64_t hr_mig_each_state(const struct hr_mig_type *type,
                                  void (*visit)(void *context, const struct hr_mig_gpu *gpu), void *context);

#ifdef __cplusplus
}
#endif
#endif
