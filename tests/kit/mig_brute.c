/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mig_brute.h"

#include <stdlib.h>
#include <string.h>

/* A GPU type with seven compute slices and eight memory slices. The arguments are the memory sizes in the names of its
   profiles. */
#define SEVEN(type, full, four, three, two, double_one, one)                                                           \
  {                                                                                                                    \
    .gpu = type, .compute = 7, .memory = 8, .n_profiles = 7,                                                           \
    .profiles = {                                                                                                      \
        {"7g." full "gb", 7, 8, 1, {0, -1}},                                                                           \
        {"4g." four "gb", 4, 4, 1, {0, -1}},                                                                           \
        {"3g." three "gb", 3, 4, 2, {0, 4, -1}},                                                                       \
        {"2g." two "gb", 2, 2, 3, {0, 2, 4, -1}},                                                                      \
        {"1g." double_one "gb", 1, 2, 4, {0, 2, 4, 6, -1}},                                                            \
        {"1g." one "gb+me", 1, 1, 1, {0, 1, 2, 3, 4, 5, 6, -1}},                                                       \
        {"1g." one "gb", 1, 1, 7, {0, 1, 2, 3, 4, 5, 6, -1}},                                                          \
    },                                                                                                                 \
  }

const struct brute_type brute_types[] = {{.gpu = "A30",
                                          .compute = 4,
                                          .memory = 4,
                                          .n_profiles = 5,
                                          .profiles = {{"4g.24gb", 4, 4, 1, {0, -1}},
                                                       {"2g.12gb+me", 2, 2, 1, {0, 2, -1}},
                                                       {"2g.12gb", 2, 2, 2, {0, 2, -1}},
                                                       {"1g.6gb+me", 1, 1, 1, {0, 1, 2, 3, -1}},
                                                       {"1g.6gb", 1, 1, 4, {0, 1, 2, 3, -1}}}},
                                         SEVEN("A100-40", "40", "20", "20", "10", "10", "5"),
                                         SEVEN("A100-80", "80", "40", "40", "20", "20", "10"),
                                         SEVEN("H100", "80", "40", "40", "20", "20", "10"),
                                         SEVEN("H200", "141", "71", "71", "35", "35", "18"),
                                         SEVEN("B200", "180", "90", "90", "45", "45", "23"),
                                         {.gpu = NULL}};

static bool is_among(const int *starts, int start) {
  for (; *starts >= 0; starts++)
    if (*starts == start) return true;
  return false;
}

/* Returns whether a state is legal. Recomputes the whole state: the instance on each slice, the sums of slices, and the
   number of instances of each profile. */
bool brute_is_legal(const struct brute_type *type, const struct brute_state *state) {
  int instances_on[2 * BRUTE_SLICES] = {0}, number[BRUTE_PROFILES] = {0}, compute = 0, media = 0;
  for (int start = 0; start < BRUTE_SLICES; start++) {
    if (state->begins[start] < 0) continue;
    const struct brute_profile *profile = &type->profiles[state->begins[start]];
    if (!is_among(profile->starts, start)) return false;
    for (int i = 0; i < profile->memory; i++)
      if (instances_on[start + i]++) return false;
    compute += profile->compute;
    media += strstr(profile->name, "+me") != NULL;
    if (++number[state->begins[start]] > profile->most) return false;
  }
  for (int slice = type->memory; slice < 2 * BRUTE_SLICES; slice++)
    if (instances_on[slice]) return false;
  return compute <= type->compute && media <= 1;
}

bool brute_may_begin(const struct brute_type *type, const struct brute_state *state, int profile, int start) {
  struct brute_state with_instance = *state;
  if (with_instance.begins[start] >= 0) return false;
  with_instance.begins[start] = (signed char)profile;
  return brute_is_legal(type, &with_instance);
}

bool brute_is_full(const struct brute_type *type, const struct brute_state *state) {
  for (int profile = 0; profile < type->n_profiles; profile++)
    for (int start = 0; start < BRUTE_SLICES; start++)
      if (brute_may_begin(type, state, profile, start)) return false;
  return true;
}

/* Returns the maximum number of instances of the profile that can be added at the slices from `from` on. Examines every
   subset of these slices. */
static int room_from(const struct brute_type *type, const struct brute_state *state, int profile, int from) {
  if (from == BRUTE_SLICES) return 0;
  int most = room_from(type, state, profile, from + 1);
  if (!brute_may_begin(type, state, profile, from)) return most;
  struct brute_state with_instance = *state;
  with_instance.begins[from] = (signed char)profile;
  int others = 1 + room_from(type, &with_instance, profile, from + 1);
  return others > most ? others : most;
}

int brute_room(const struct brute_type *type, const struct brute_state *state, int profile) {
  return room_from(type, state, profile, 0);
}

struct list {
  struct brute_state *states;
  size_t count, capacity;
};

/* Examines all sets of instances, where instance number `pair` is profile pair / BRUTE_SLICES at slice pair %
   BRUTE_SLICES. Decides on the instances from `pair` on, and appends each legal state to the list. */
static void choose(const struct brute_type *type, struct list *list, struct brute_state *state, int pair) {
  if (pair == type->n_profiles * BRUTE_SLICES) {
    if (list->count == list->capacity) {
      list->capacity = list->capacity ? 2 * list->capacity : 1024;
      list->states = realloc(list->states, list->capacity * sizeof *list->states);
      if (!list->states) abort();
    }
    list->states[list->count++] = *state;
    return;
  }
  choose(type, list, state, pair + 1);
  int profile = pair / BRUTE_SLICES, start = pair % BRUTE_SLICES;
  if (!brute_may_begin(type, state, profile, start)) return;
  state->begins[start] = (signed char)profile;
  choose(type, list, state, pair + 1);
  state->begins[start] = -1;
}

int brute_compare(const void *a, const void *b) {
  return memcmp(a, b, sizeof(struct brute_state));
}

struct brute_state *brute_states(const struct brute_type *type, size_t *count) {
  struct list list = {0};
  struct brute_state state;
  memset(&state, -1, sizeof state);
  choose(type, &list, &state, 0);
  qsort(list.states, list.count, sizeof *list.states, brute_compare);
  *count = list.count;
  return list.states;
}
