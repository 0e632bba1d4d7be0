/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every state of every GPU type with MIG, compared with a brute-force search. For some types the search uses tables in
   mig_brute.c, which are independent of the catalogue. For all other types it uses the rows of the catalogue, so that
   types can be added to the catalogue without a change of this test. */

#include "harness.h"
#include "mig_brute.h"

#include "headroom/unstable/catalog.h"

#include <string.h>

enum { MAX_TYPES = 64 };

static struct hr_catalog *catalog;
static struct brute_type types[MAX_TYPES]; /* [n_types]: the types of mig_brute.c are first */
static size_t n_types, n_own_tables;

static struct brute_type brute_of_catalog(const struct hr_mig_type *type) {
  struct brute_type brute = {
      .gpu = type->gpu, .compute = type->compute_slices, .memory = type->memory_slices, .n_profiles = type->n_profiles};
  for (int i = 0; i < brute.n_profiles; i++) {
    const struct hr_mig_profile *row = &type->profiles[i];
    struct brute_profile *profile = &brute.profiles[i];
    *profile = (struct brute_profile){row->name, row->compute_slices, row->memory_slices, row->max_instances, {0}};
    int n_starts = 0;
    for (int start = 0; start < BRUTE_SLICES; start++)
      if (row->starts >> start & 1) profile->starts[n_starts++] = start;
    profile->starts[n_starts] = -1;
  }
  return brute;
}

static bool has_own_table(const char *gpu) {
  for (size_t i = 0; i < n_own_tables; i++)
    if (strcmp(types[i].gpu, gpu) == 0) return true;
  return false;
}

static void open_catalog(void) {
  CU_ASSERT_EQUAL_FATAL(hr_catalog_load(NULL, &catalog, NULL), HR_OK);
  for (const struct brute_type *brute = brute_types; brute->gpu; brute++) types[n_own_tables++] = *brute;
  n_types = n_own_tables;
  for (size_t i = 0; i < catalog->n_mig_types; i++) {
    const struct hr_mig_type *type = &catalog->mig_types[i];
    if (has_own_table(type->gpu)) continue;
    CU_ASSERT_TRUE_FATAL(n_types < MAX_TYPES && type->n_profiles <= BRUTE_PROFILES);
    types[n_types++] = brute_of_catalog(type);
  }
}

static void close_catalog(void) {
  hr_catalog_destroy(catalog);
}

static const struct hr_mig_type *type_of(const struct brute_type *brute) {
  const struct hr_mig_type *type = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_mig(catalog, brute->gpu, &type, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(type->n_profiles, brute->n_profiles);
  return type;
}

/* The library and the search both sort profiles from the largest to the smallest, so a profile has the same index in
   both. The test compares the names. */
static void tables_are_the_same(void) {
  for (const struct brute_type *brute = types; brute < types + n_types; brute++) {
    const struct hr_mig_type *type = type_of(brute);
    CU_ASSERT_EQUAL(type->compute_slices, brute->compute);
    CU_ASSERT_EQUAL(type->memory_slices, brute->memory);
    for (int i = 0; i < brute->n_profiles; i++) CU_ASSERT_STRING_EQUAL(type->profiles[i].name, brute->profiles[i].name);
  }
}

static struct brute_state state_of(const struct hr_mig_gpu *gpu) {
  struct brute_state state;
  for (int start = 0; start < BRUTE_SLICES; start++) state.begins[start] = (signed char)(gpu->at[start] - 1);
  return state;
}

/* Builds a state with functions of the library. The instances are created from the last start to the first. Each step
   is valid, because any subset of the instances of a valid state is a valid state, too. */
static struct hr_mig_gpu gpu_of(const struct hr_mig_type *type, const struct brute_state *state) {
  struct hr_mig_gpu gpu = {0};
  for (int start = BRUTE_SLICES; start-- > 0;)
    if (state->begins[start] >= 0)
      CU_ASSERT_TRUE(hr_mig_create(type, &gpu, (uint32_t)state->begins[start], (uint32_t)start));
  return gpu;
}

/* ---- The same states ---- */

struct gathered {
  const struct hr_mig_type *type;
  struct brute_state states[20000];
  size_t count, n_full;
};

static bool is_full(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu) {
  uint32_t profile = 0;
  while (profile < type->n_profiles && !hr_mig_starts(type, gpu, profile)) profile++;
  return profile == type->n_profiles;
}

/* Gathers all states that consist of the instances in `gpu` and further instances at `start` or later. Each valid state
   is reached, because it remains valid when an instance is removed. */
static void gather_from(struct gathered *all, const struct hr_mig_gpu *gpu, uint32_t start) {
  if (start == all->type->memory_slices) {
    CU_ASSERT_TRUE_FATAL(all->count < sizeof all->states / sizeof *all->states);
    all->states[all->count++] = state_of(gpu);
    all->n_full += is_full(all->type, gpu);
    return;
  }
  gather_from(all, gpu, start + 1);
  for (uint32_t i = 0; i < all->type->n_profiles; i++) {
    struct hr_mig_gpu with = *gpu;
    if (hr_mig_create(all->type, &with, i, start)) gather_from(all, &with, start + 1);
  }
}

static void gather(struct gathered *all, const struct hr_mig_type *type) {
  *all = (struct gathered){.type = type};
  gather_from(all, &(struct hr_mig_gpu){0}, 0);
}

static size_t count_full(const struct brute_type *brute, const struct brute_state *states, size_t count) {
  size_t n_full = 0;
  for (size_t i = 0; i < count; i++) n_full += brute_is_full(brute, &states[i]);
  return n_full;
}

static void states_are_the_same(void) {
  static struct gathered all;
  for (const struct brute_type *brute = types; brute < types + n_types; brute++) {
    size_t count;
    struct brute_state *states = brute_states(brute, &count);
    gather(&all, type_of(brute));
    CU_ASSERT_EQUAL_FATAL(all.count, count);
    qsort(all.states, count, sizeof *states, brute_compare);
    CU_ASSERT_EQUAL(memcmp(all.states, states, count * sizeof *states), 0);
    CU_ASSERT_EQUAL(all.n_full, count_full(brute, states, count));
    printf("\n    %-8s %5zu states, %4zu of them full", brute->gpu, count, all.n_full);
    free(states);
  }
}

/* The numbers of states in docs/reference/sharing.md, for the types in mig_brute.c. For A30 the number can be computed
   by hand. Each half of the GPU has one of 5 states: empty, a 1g at its first or its second slice, two 1g, or one 2g.
   This gives 5 x 5 states. One more state has a 4g. In further 2 x 5 x 5 states, one instance has media engines: a half
   has 5 contents in which exactly one instance has them, and each can be combined with the 5 states of the other
   half. */
static void numbers_of_states(void) {
  for (size_t i = 0; i < n_own_tables; i++) {
    static struct gathered all;
    bool small = strcmp(types[i].gpu, "A30") == 0;
    gather(&all, type_of(&types[i]));
    CU_ASSERT_EQUAL(all.count, small ? 5 * 5 + 1 + 2 * 5 * 5 : 2319);
    CU_ASSERT_EQUAL(all.n_full, small ? 17 : 239);
  }
}

/* The 19 combinations of NVIDIA's table for A100, which omits profiles with media engines and double memory. In 18 of
   them the left half of the GPU has one of six contents: a 4g, a 3g, or one of four combinations of 2g and 1g. The
   right half has one of three: one 3g, one 2g with one 1g, or three 1g. The last combination is a 7g. */
static void nvidias_nineteen(void) {
  struct hr_mig_profile profiles[HR_MIG_PROFILES];
  const struct hr_mig_type *whole;
  struct hr_mig_type plain;
  static struct gathered all;
  uint32_t n_profiles = 0;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_mig(catalog, "A100-40", &whole, NULL), HR_OK);
  for (uint32_t i = 0; i < whole->n_profiles; i++)
    if (!whole->profiles[i].media && strcmp(whole->profiles[i].name, "1g.10gb") != 0)
      profiles[n_profiles++] = whole->profiles[i];
  hr_mig_type_init(&plain, "A100-40", profiles, n_profiles);
  gather(&all, &plain);
  CU_ASSERT_EQUAL(n_profiles, 5);
  CU_ASSERT_EQUAL(all.n_full, 6 * 3 + 1);
}

/* ---- Starts and room ---- */

static void compare_state(const struct brute_type *brute, const struct hr_mig_type *type,
                          const struct brute_state *state) {
  struct hr_mig_gpu gpu = gpu_of(type, state);
  for (int profile = 0; profile < brute->n_profiles; profile++) {
    uint32_t starts = 0;
    for (int start = 0; start < BRUTE_SLICES; start++)
      starts |= (uint32_t)brute_may_begin(brute, state, profile, start) << start;
    CU_ASSERT_EQUAL(hr_mig_starts(type, &gpu, (uint32_t)profile), starts);
    CU_ASSERT_EQUAL(hr_mig_room(type, &gpu, (uint32_t)profile), (uint32_t)brute_room(brute, state, profile));
  }
}

/* Destroying an instance restores the previous state. */
static void compare_destroyed(const struct hr_mig_type *type, const struct brute_state *state) {
  for (int start = 0; start < BRUTE_SLICES; start++) {
    struct hr_mig_gpu gpu = gpu_of(type, state), again;
    struct brute_state without = *state;
    CU_ASSERT_EQUAL(hr_mig_destroy(type, &gpu, (uint32_t)start), state->begins[start] >= 0);
    without.begins[start] = -1;
    again = gpu_of(type, &without);
    CU_ASSERT_EQUAL(memcmp(&gpu, &again, sizeof gpu), 0);
  }
}

static void starts_and_room(void) {
  for (const struct brute_type *brute = types; brute < types + n_types; brute++) {
    size_t count;
    struct brute_state *states = brute_states(brute, &count);
    for (size_t i = 0; i < count; i++) {
      compare_state(brute, type_of(brute), &states[i]);
      compare_destroyed(type_of(brute), &states[i]);
    }
    free(states);
  }
}

/* ---- Layouts ---- */

/* Writes the name of a layout, such as "1x3g.40gb,2x1g.10gb". */
static void name_layout(const struct hr_mig_type *type, const uint8_t count[], char *text) {
  char *end = text;
  for (uint32_t i = 0; i < type->n_profiles; i++)
    if (count[i]) end += sprintf(end, "%s%ux%s", end > text ? "," : "", (unsigned)count[i], type->profiles[i].name);
  if (end == text) strcpy(text, "all-enabled");
}

/* If instances can be arranged on a GPU, the library finds an arrangement, and it has the requested number of instances
   of each profile. */
static void what_can_be_placed_is_placed(void) {
  for (const struct brute_type *brute = types; brute < types + n_types; brute++) {
    const struct hr_mig_type *type = type_of(brute);
    size_t n_states;
    struct brute_state *states = brute_states(brute, &n_states);
    for (size_t i = 0; i < n_states; i++) {
      uint8_t count[HR_MIG_PROFILES] = {0};
      char text[HR_MIG_PROFILES * (HR_MIG_NAME_BYTES + 4)];
      struct hr_mig_gpu gpu;
      for (int start = 0; start < BRUTE_SLICES; start++)
        if (states[i].begins[start] >= 0) count[states[i].begins[start]]++;
      name_layout(type, count, text);
      CU_ASSERT_EQUAL(hr_mig_layout(type, text, &gpu, NULL), HR_OK);
      struct brute_state placed = state_of(&gpu);
      CU_ASSERT_TRUE(brute_is_legal(brute, &placed));
      for (int start = 0; start < BRUTE_SLICES; start++)
        if (placed.begins[start] >= 0) count[placed.begins[start]]--;
      for (int profile = 0; profile < brute->n_profiles; profile++) CU_ASSERT_EQUAL(count[profile], 0);
    }
    free(states);
  }
}

/* ---- The best start ---- */

struct future {
  int room[BRUTE_PROFILES];
};

static struct future future_of(const struct brute_type *brute, const struct brute_state *state, int profile,
                               int start) {
  struct brute_state with = *state;
  struct future future = {{0}};
  with.begins[start] = (signed char)profile;
  for (int i = 0; i < brute->n_profiles; i++) future.room[i] = brute_room(brute, &with, i);
  return future;
}

/* Compares two states by the numbers of further instances that fit, for the largest wanted profile for which these
   numbers differ. Returns a positive number if more instances fit in `a`, a negative number if more fit in `b`, and 0
   if the numbers are equal for all wanted profiles. */
static int compare_futures(const struct future *a, const struct future *b, uint32_t wanted) {
  for (int i = 0; i < BRUTE_PROFILES; i++)
    if ((wanted >> i & 1) && a->room[i] != b->room[i]) return a->room[i] - b->room[i];
  return 0;
}

static void judge(const struct brute_type *brute, const struct brute_state *state, int profile, uint32_t chosen,
                  uint32_t wanted) {
  if (chosen == HR_NONE) {
    for (int start = 0; start < BRUTE_SLICES; start++) CU_ASSERT_FALSE(brute_may_begin(brute, state, profile, start));
    return;
  }
  CU_ASSERT_TRUE_FATAL(brute_may_begin(brute, state, profile, (int)chosen));
  struct future best = future_of(brute, state, profile, (int)chosen);
  for (int start = 0; start < BRUTE_SLICES; start++) {
    if (!brute_may_begin(brute, state, profile, start)) continue;
    struct future other = future_of(brute, state, profile, start);
    int better = compare_futures(&other, &best, wanted);
    CU_ASSERT_TRUE(better < 0 || (better == 0 && start >= (int)chosen));
    /* After an instance is created at the best start, every larger wanted profile fits that would fit with another
       start. The specification does not require this, but it is true of these types. */
    for (int larger = 0; larger < profile; larger++)
      if (wanted >> larger & 1) CU_ASSERT_TRUE(best.room[larger] || !other.room[larger]);
  }
}

static void judge_all(const struct brute_type *brute, uint32_t wanted) {
  const struct hr_mig_type *type = type_of(brute);
  size_t count;
  struct brute_state *states = brute_states(brute, &count);
  for (size_t i = 0; i < count; i++) {
    struct hr_mig_gpu gpu = gpu_of(type, &states[i]);
    for (int profile = 0; profile < brute->n_profiles; profile++)
      judge(brute, &states[i], profile, hr_mig_best_start(type, &gpu, (uint32_t)profile, wanted), wanted);
  }
  free(states);
}

static void best_start_keeps_what_is_larger(void) {
  for (const struct brute_type *brute = types; brute < types + n_types; brute++) judge_all(brute, HR_MIG_ALL);
}

/* Tests all sets of profiles of A30 as the profiles that jobs may request, and every ninth set of profiles of A100. */
static void best_start_for_some_sets(void) {
  for (uint32_t wanted = 0; wanted < 1U << brute_types[0].n_profiles; wanted++) judge_all(&brute_types[0], wanted);
  for (uint32_t wanted = 0; wanted < 1U << brute_types[1].n_profiles; wanted += 9) judge_all(&brute_types[1], wanted);
}

TEST_MAIN("sim_mig_all_states", TEST(open_catalog), TEST(tables_are_the_same), TEST(states_are_the_same),
          TEST(numbers_of_states), TEST(nvidias_nineteen), TEST(starts_and_room), TEST(what_can_be_placed_is_placed),
          TEST(best_start_keeps_what_is_larger), TEST(best_start_for_some_sets), TEST(close_catalog))
