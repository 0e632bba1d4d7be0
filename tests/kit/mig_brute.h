/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_MIG_BRUTE_H
#define HR_TESTS_KIT_MIG_BRUTE_H

/* The rules of MIG implemented a second time, in a slow and obvious way, with separate tables: a state is, for each
   memory slice, the index of the profile whose instance begins there, or -1. Shares no code with sim/. */

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

/* Terminated by one whose `gpu` is NULL. */
extern const struct brute_type brute_types[];

bool brute_is_legal(const struct brute_type *type, const struct brute_state *state);
bool brute_may_begin(const struct brute_type *type, const struct brute_state *state, int profile, int start);
bool brute_is_full(const struct brute_type *type, const struct brute_state *state);
/* The maximum number of instances of the profile that can be added. */
int brute_room(const struct brute_type *type, const struct brute_state *state, int profile);

/* All valid sets of pairs of profile and start, sorted; the caller frees them. */
struct brute_state *brute_states(const struct brute_type *type, size_t *count);
int brute_compare(const void *a, const void *b);

#endif
