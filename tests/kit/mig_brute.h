/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_MIG_BRUTE_H
#define HR_TESTS_KIT_MIG_BRUTE_H

/* A second implementation of the rules of MIG: simple and slow, with its own tables, and without code from sim/. The
   state of a GPU is an array with one entry per memory slice: the index of the profile whose instance begins there, or
   -1. */

#include <stdbool.h>
#include <stddef.h>

enum { BRUTE_SLICES = 8, BRUTE_PROFILES = 7 };

struct brute_profile {
  const char *name;
  int compute, memory, most;
  int starts[BRUTE_SLICES + 1]; /* terminated by -1 */
};

struct brute_type {
  const char *gpu;
  int compute, memory, n_profiles;
  struct brute_profile profiles[BRUTE_PROFILES]; /* the largest first */
};

struct brute_state {
  signed char begins[BRUTE_SLICES];
};

/* The last element has the `gpu` NULL. */
extern const struct brute_type brute_types[];

bool brute_is_legal(const struct brute_type *type, const struct brute_state *state);
bool brute_may_begin(const struct brute_type *type, const struct brute_state *state, int profile, int start);
bool brute_is_full(const struct brute_type *type, const struct brute_state *state);
/* Returns the maximum number of instances of the profile that can be added. */
int brute_room(const struct brute_type *type, const struct brute_state *state, int profile);

/* Returns all valid states, sorted. The caller frees the array. */
struct brute_state *brute_states(const struct brute_type *type, size_t *count);
int brute_compare(const void *a, const void *b);

#endif
