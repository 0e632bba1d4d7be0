/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The effect of the rule that selects starts. Instances are created and destroyed at random on one A100-80. A request
 * is blocked if enough slices are free, but no start of its profile is free. The same requests are served with four
 * rules: the best start for all profiles, the best start for the requested profiles, the first valid start, and the
 * worst start. The expected numbers are those of docs/reference/sharing.md.
 */

#include "harness.h"

#include "headroom/unstable/catalog.h"

#include <string.h>

enum rule { BEST, BEST_FOR_MIX, FIRST, WORST, N_RULES };
enum { N_STEPS = 300000, MIX = 10, MAX_G = 4 };

/* Both arrays are indexed by the number of compute slices of the requested profile; index 0 is for the total.
   `n_requests`: number of requests for which enough slices were free. `n_blocked`: number of these requests that were
   blocked. */
struct tally {
  unsigned n_requests[MAX_G + 1], n_blocked[MAX_G + 1];
};

/* A linear congruential generator. Its quality is sufficient for a mix of requests, and it gives the same numbers on
   every system. */
static uint32_t draw(uint64_t *seed, uint32_t below) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((*seed >> 33) * below >> 31);
}

/* Returns the numbers of further instances of each profile that fit, as one number with the largest profile in the
   highest digits. */
static uint64_t outlook(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu) {
  uint64_t room = 0;
  for (uint32_t i = 0; i < type->n_profiles; i++) room = room * (HR_MIG_SLICES + 1) + hr_mig_room(type, gpu, i);
  return room;
}

static uint32_t choose_start(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile,
                             enum rule rule, uint32_t wanted) {
  uint32_t starts = hr_mig_starts(type, gpu, profile), worst = HR_NONE;
  uint64_t min_outlook = UINT64_MAX;
  if (rule == BEST) return hr_mig_best_start(type, gpu, profile, HR_MIG_ALL);
  if (rule == BEST_FOR_MIX) return hr_mig_best_start(type, gpu, profile, wanted);
  for (uint32_t start = 0; start < HR_MIG_SLICES; start++) {
    struct hr_mig_gpu after = *gpu;
    if (!(starts >> start & 1) || !hr_mig_create(type, &after, profile, start)) continue;
    if (rule == FIRST) return start;
    if (worst != HR_NONE && outlook(type, &after) >= min_outlook) continue;
    worst = start;
    min_outlook = outlook(type, &after);
  }
  return worst;
}

static bool has_slices(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile) {
  const struct hr_mig_profile *wanted = &type->profiles[profile];
  int free = type->memory_slices - __builtin_popcount(gpu->occupied);
  return gpu->compute_used + wanted->compute_slices <= type->compute_slices && free >= wanted->memory_slices;
}

/* Destroys one of the instances, each with the same probability. */
static void destroy_one(const struct hr_mig_type *type, struct hr_mig_gpu *gpu, uint32_t number) {
  uint32_t present[HR_MIG_SLICES], count = 0;
  for (uint32_t start = 0; start < HR_MIG_SLICES; start++)
    if (hr_mig_profile_at(gpu, start) != HR_NONE) present[count++] = start;
  if (count) hr_mig_destroy(type, gpu, present[number % count]);
}

static void count(struct tally *tally, uint32_t slices, bool n_blocked) {
  tally->n_requests[0]++;
  tally->n_requests[slices]++;
  tally->n_blocked[0] += n_blocked;
  tally->n_blocked[slices] += n_blocked;
}

/* Serves requests. At each step an instance is either requested or destroyed. Each request is drawn from the ten
   profiles in `mix`. */
static struct tally serve_requests(const struct hr_mig_type *type, enum rule rule, const char *const mix[MIX],
                                   uint32_t arrivals_percent) {
  uint32_t mix_profiles[MIX], wanted = 0;
  struct hr_mig_gpu gpu = {0};
  struct tally tally = {0};
  uint64_t seed = 7;
  for (size_t i = 0; i < MIX; i++) {
    CU_ASSERT_EQUAL_FATAL(hr_mig_profile_parse(type, mix[i], &mix_profiles[i], NULL), HR_OK);
    wanted |= 1U << mix_profiles[i];
  }
  for (int step = 0; step < N_STEPS; step++) {
    bool arrives = draw(&seed, 100) < arrivals_percent;
    uint32_t profile = mix_profiles[draw(&seed, MIX)], number = draw(&seed, 840);
    if (!arrives) {
      destroy_one(type, &gpu, number);
      continue;
    }
    uint32_t start = choose_start(type, &gpu, profile, rule, wanted);
    if (has_slices(type, &gpu, profile)) count(&tally, type->profiles[profile].compute_slices, start == HR_NONE);
    if (start != HR_NONE) CU_ASSERT_TRUE(hr_mig_create(type, &gpu, profile, start));
  }
  return tally;
}

static unsigned permille(const struct tally *tally, size_t slices) {
  unsigned n_requests = tally->n_requests[slices];
  return n_requests ? (tally->n_blocked[slices] * 1000 + n_requests / 2) / n_requests : 0;
}

/* Number of blocked requests per thousand, by rule: of requests for 3g, of requests for 4g, and of all requests. */
struct permille_by_rule {
  unsigned of_3g[N_RULES], of_4g[N_RULES], of_all[N_RULES];
};

static void check(const struct hr_mig_type *type, const char *const mix[MIX], uint32_t arrivals_percent,
                  const struct permille_by_rule *expected) {
  struct permille_by_rule found;
  for (int rule = 0; rule < N_RULES; rule++) {
    struct tally tally = serve_requests(type, (enum rule)rule, mix, arrivals_percent);
    found.of_3g[rule] = permille(&tally, 3);
    found.of_4g[rule] = permille(&tally, 4);
    found.of_all[rule] = permille(&tally, 0);
    printf("\n    %s %2u %%, rule %d: 3g %3u, 4g %3u, all %3u permille", mix[MIX - 1], (unsigned)arrivals_percent, rule,
           found.of_3g[rule], found.of_4g[rule], found.of_all[rule]);
  }
  CU_ASSERT_EQUAL(memcmp(&found, expected, sizeof found), 0);
  CU_ASSERT_TRUE(found.of_all[BEST_FOR_MIX] < found.of_all[FIRST]);
  CU_ASSERT_TRUE(found.of_all[BEST] < 0.7 * found.of_all[WORST]);
  CU_ASSERT_TRUE(found.of_all[FIRST] < found.of_all[WORST]);
}

static void good_starts_block_fewer_requests(void) {
  static const char *const without[MIX] = {"1g", "1g", "1g", "1g", "1g", "2g", "2g", "2g", "3g", "3g"};
  static const char *const with[MIX] = {"1g", "1g", "1g", "1g", "1g", "2g", "2g", "2g", "3g", "4g"};
  static const struct permille_by_rule without_45 = {{116, 99, 83, 255}, {0}, {52, 43, 49, 94}};
  static const struct permille_by_rule without_60 = {{324, 306, 297, 545}, {0}, {113, 106, 125, 190}};
  static const struct permille_by_rule with_45 = {{117, 117, 85, 258}, {142, 142, 516, 483}, {43, 43, 80, 107}};
  static const struct permille_by_rule with_60 = {{324, 324, 304, 546}, {380, 380, 714, 681}, {99, 99, 142, 185}};
  struct hr_catalog *catalog;
  const struct hr_mig_type *type;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_load(NULL, &catalog, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_catalog_mig(catalog, "A100-80", &type, NULL), HR_OK);
  check(type, without, 45, &without_45);
  check(type, without, 60, &without_60);
  check(type, with, 45, &with_45);
  check(type, with, 60, &with_60);
  hr_catalog_destroy(catalog);
}

TEST_MAIN("sim_mig_fragmentation", TEST(good_starts_block_fewer_requests))
