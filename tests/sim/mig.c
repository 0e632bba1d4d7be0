/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MIG on one GPU: valid combinations of instances, the best start, profile names, requests and layouts. */

#include "harness.h"

#include "headroom/unstable/catalog.h"

#include <string.h>

static struct hr_catalog *catalog;
static const struct hr_mig_type *a30, *a100_40, *a100, *h100, *h200, *b200;

static const struct hr_mig_type *find_type(const char *gpu) {
  const struct hr_mig_type *type = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_mig(catalog, gpu, &type, NULL), HR_OK);
  return type;
}

static void open_catalog(void) {
  CU_ASSERT_EQUAL_FATAL(hr_catalog_load(NULL, &catalog, NULL), HR_OK);
  a30 = find_type("A30");
  a100_40 = find_type("A100-40");
  a100 = find_type("a100-80");
  h100 = find_type("H100");
  h200 = find_type("H200");
  b200 = find_type("B200");
}

static void close_catalog(void) {
  hr_catalog_destroy(catalog);
}

static uint32_t profile_of(const struct hr_mig_type *type, const char *name) {
  uint32_t profile;
  struct hr_error error = {0};
  if (hr_mig_profile_parse(type, name, &profile, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_NOT_EQUAL_FATAL(profile, HR_NONE);
  return profile;
}

static bool create(struct hr_mig_gpu *gpu, const char *name, uint32_t start) {
  return hr_mig_create(a100, gpu, profile_of(a100, name), start);
}

static uint32_t starts(const struct hr_mig_gpu *gpu, const char *name) {
  return hr_mig_starts(a100, gpu, profile_of(a100, name));
}

static uint32_t room(const struct hr_mig_gpu *gpu, const char *name) {
  return hr_mig_room(a100, gpu, profile_of(a100, name));
}

static bool is_full(const struct hr_mig_gpu *gpu) {
  uint32_t profile = 0;
  while (profile < a100->n_profiles && !hr_mig_starts(a100, gpu, profile)) profile++;
  return profile == a100->n_profiles;
}

static uint32_t place_best(struct hr_mig_gpu *gpu, const char *name) {
  uint32_t profile = profile_of(a100, name), start = hr_mig_best_start(a100, gpu, profile, HR_MIG_ALL);
  if (start != HR_NONE) CU_ASSERT_TRUE(hr_mig_create(a100, gpu, profile, start));
  return start;
}

static void expect_text(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, const char *expected) {
  char text[HR_MIG_TEXT_BYTES];
  CU_ASSERT_STRING_EQUAL(hr_mig_text(type, gpu, text, sizeof text), expected);
}

/* ---- Valid combinations ---- */

static void two_of_3g_take_all_memory(void) {
  struct hr_mig_gpu gpu = {0};
  CU_ASSERT_TRUE(create(&gpu, "3g.40gb", 0));
  CU_ASSERT_TRUE(create(&gpu, "3g.40gb", 4));
  CU_ASSERT_EQUAL(gpu.compute_used, 6);
  CU_ASSERT_EQUAL(gpu.occupied, 0xff);
  CU_ASSERT_EQUAL(starts(&gpu, "1g.10gb"), 0);
  for (uint32_t start = 0; start < 10; start++) CU_ASSERT_FALSE(create(&gpu, "1g.10gb", start));
  CU_ASSERT_TRUE(is_full(&gpu));
}

static void room_beside_3g(void) {
  struct hr_mig_gpu low = {0}, high = {0};
  CU_ASSERT_TRUE(create(&low, "3g.40gb", 0));
  CU_ASSERT_EQUAL(starts(&low, "1g.10gb"), 0x70);
  CU_ASSERT_EQUAL(room(&low, "1g.10gb"), 3);
  CU_ASSERT_TRUE(create(&high, "3g.40gb", 4));
  CU_ASSERT_EQUAL(starts(&high, "1g.10gb"), 0x0f);
  CU_ASSERT_EQUAL(room(&high, "1g.10gb"), 4);
  CU_ASSERT_FALSE(create(&high, "3g.40gb", 2));
}

static void room_beside_three_2g(void) {
  struct hr_mig_gpu gpu = {0};
  for (uint32_t start = 0; start < 6; start += 2) CU_ASSERT_TRUE(create(&gpu, "2g.20gb", start));
  CU_ASSERT_EQUAL(starts(&gpu, "2g.20gb"), 0);
  CU_ASSERT_EQUAL(starts(&gpu, "1g.20gb"), 0x40);
  CU_ASSERT_EQUAL(starts(&gpu, "1g.10gb"), 0x40);
  CU_ASSERT_TRUE(create(&gpu, "1g.10gb", 6));
  CU_ASSERT_EQUAL(gpu.compute_used, 7);
  CU_ASSERT_TRUE(is_full(&gpu));
}

static void one_instance_with_media_engines(void) {
  struct hr_mig_gpu gpu = {0};
  CU_ASSERT_TRUE(create(&gpu, "1g.10gb+me", 3));
  CU_ASSERT_EQUAL(starts(&gpu, "1g.10gb+me"), 0);
  CU_ASSERT_EQUAL(starts(&gpu, "1g.10gb"), 0x77);
  CU_ASSERT_EQUAL(room(&gpu, "1g.10gb"), 6);
  CU_ASSERT_TRUE(hr_mig_destroy(a100, &gpu, 3));
  CU_ASSERT_EQUAL(starts(&gpu, "1g.10gb+me"), 0x7f);
  gpu = (struct hr_mig_gpu){0};
  CU_ASSERT_TRUE(hr_mig_create(a30, &gpu, profile_of(a30, "2g.12gb+me"), 0));
  CU_ASSERT_EQUAL(hr_mig_starts(a30, &gpu, profile_of(a30, "1g.6gb+me")), 0);
  CU_ASSERT_EQUAL(hr_mig_starts(a30, &gpu, profile_of(a30, "2g.12gb")), 4);
}

static void full_gpu_instance_excludes_others(void) {
  struct hr_mig_gpu gpu = {0};
  CU_ASSERT_TRUE(create(&gpu, "7g.80gb", 0));
  CU_ASSERT_TRUE(is_full(&gpu));
  gpu = (struct hr_mig_gpu){0};
  CU_ASSERT_TRUE(create(&gpu, "1g.10gb", 6));
  CU_ASSERT_EQUAL(starts(&gpu, "7g.80gb"), 0);
}

static void room_beside_4g(void) {
  struct hr_mig_gpu with_3g = {0}, with_2g = {0};
  CU_ASSERT_TRUE(create(&with_3g, "4g.40gb", 0));
  CU_ASSERT_EQUAL(starts(&with_3g, "3g.40gb"), 0x10);
  CU_ASSERT_TRUE(create(&with_3g, "3g.40gb", 4));
  CU_ASSERT_TRUE(is_full(&with_3g));
  CU_ASSERT_TRUE(create(&with_2g, "4g.40gb", 0));
  CU_ASSERT_TRUE(create(&with_2g, "2g.20gb", 4));
  CU_ASSERT_EQUAL(starts(&with_2g, "1g.10gb"), 0x40);
  CU_ASSERT_TRUE(create(&with_2g, "1g.10gb", 6));
  CU_ASSERT_TRUE(is_full(&with_2g));
  expect_text(a100, &with_2g, "4g.40gb@0 2g.20gb@4 1g.10gb@6");
}

static void double_memory_begins_at_even_slices(void) {
  struct hr_mig_gpu gpu = {0};
  CU_ASSERT_EQUAL(starts(&gpu, "1g.20gb"), 0x55);
  CU_ASSERT_EQUAL(room(&gpu, "1g.20gb"), 4);
  CU_ASSERT_TRUE(create(&gpu, "1g.10gb", 1));
  CU_ASSERT_EQUAL(starts(&gpu, "1g.20gb"), 0x54);
  CU_ASSERT_FALSE(create(&gpu, "1g.20gb", 3));
}

/* Enough memory slices are free, but too few compute slices. */
static void compute_slices_run_out(void) {
  struct hr_mig_gpu gpu = {0};
  CU_ASSERT_TRUE(create(&gpu, "4g.40gb", 0));
  CU_ASSERT_TRUE(create(&gpu, "1g.10gb", 4));
  CU_ASSERT_TRUE(create(&gpu, "1g.10gb", 5));
  CU_ASSERT_EQUAL(room(&gpu, "1g.20gb"), 1);
  gpu = (struct hr_mig_gpu){.compute_used = 6};
  CU_ASSERT_EQUAL(starts(&gpu, "2g.20gb"), 0);
  CU_ASSERT_EQUAL(room(&gpu, "1g.10gb"), 1);
}

static void destroy_without_instance_fails(void) {
  struct hr_mig_gpu gpu = {0};
  CU_ASSERT_TRUE(create(&gpu, "2g.20gb", 2));
  CU_ASSERT_FALSE(hr_mig_destroy(a100, &gpu, 3));
  CU_ASSERT_FALSE(hr_mig_destroy(a100, &gpu, 100));
  CU_ASSERT_EQUAL(hr_mig_profile_at(&gpu, 3), HR_NONE);
  CU_ASSERT_EQUAL(hr_mig_profile_at(&gpu, 2), profile_of(a100, "2g"));
  CU_ASSERT_TRUE(hr_mig_destroy(a100, &gpu, 2));
  CU_ASSERT_EQUAL(memcmp(&gpu, &(struct hr_mig_gpu){0}, sizeof gpu), 0);
}

/* ---- The best start ---- */

static void best_starts(void) {
  struct hr_mig_gpu gpu = {0};
  CU_ASSERT_EQUAL(place_best(&gpu, "1g.10gb"), 6); /* after that, one 4g, one 3g or three 2g fit */
  CU_ASSERT_EQUAL(place_best(&gpu, "1g.10gb"), 4);
  CU_ASSERT_EQUAL(place_best(&gpu, "1g.10gb"), 5);
  CU_ASSERT_EQUAL(place_best(&gpu, "4g.40gb"), 0);
  gpu = (struct hr_mig_gpu){0};
  CU_ASSERT_EQUAL(place_best(&gpu, "3g.40gb"), 4); /* after that, one 4g or four 1g fit */
  CU_ASSERT_EQUAL(place_best(&gpu, "2g.20gb"), 0);
  CU_ASSERT_EQUAL(place_best(&gpu, "1g.10gb"), 2);
  gpu = (struct hr_mig_gpu){0};
  CU_ASSERT_EQUAL(place_best(&gpu, "2g.20gb"), 4);
  CU_ASSERT_EQUAL(place_best(&gpu, "1g.10gb"), 6);
  CU_ASSERT_EQUAL(place_best(&gpu, "4g.40gb"), 0);
  CU_ASSERT_EQUAL(place_best(&gpu, "1g.10gb"), HR_NONE);
  gpu = (struct hr_mig_gpu){0};
  CU_ASSERT_EQUAL(place_best(&gpu, "1g.20gb"), 6);
}

/* A 1g at start 4 blocks a later 3g at start 4. */
static void bad_start_blocks_larger_instance(void) {
  struct hr_mig_gpu bad = {0}, good = {0};
  CU_ASSERT_TRUE(create(&bad, "4g.40gb", 0));
  good = bad;
  CU_ASSERT_EQUAL(room(&bad, "3g.40gb"), 1);
  CU_ASSERT_TRUE(create(&bad, "1g.10gb", 4));
  CU_ASSERT_EQUAL(room(&bad, "3g.40gb"), 0);
  CU_ASSERT_EQUAL(room(&bad, "2g.20gb"), 0);
  CU_ASSERT_EQUAL(place_best(&good, "1g.10gb"), 6);
  CU_ASSERT_EQUAL(room(&good, "2g.20gb"), 1);
}

static uint32_t set_of(const char *name) {
  return 1U << profile_of(a100, name) % 32;
}

/* The best start depends on the profiles that jobs may request. If no job requests 4g or 7g, a high start is not better
   than a low start, so the lowest start is the best. A 3g is an exception if only 1g is requested: with the 3g at start
   4, one more 1g fits than with the 3g at start 0. */
static void best_start_for_requested_profiles(void) {
  struct hr_mig_gpu gpu = {0};
  uint32_t one = profile_of(a100, "1g"), two = profile_of(a100, "2g"), three = profile_of(a100, "3g");
  CU_ASSERT_EQUAL(hr_mig_best_start(a100, &gpu, two, HR_MIG_ALL), 4);
  CU_ASSERT_EQUAL(hr_mig_best_start(a100, &gpu, two, set_of("3g") | set_of("2g") | set_of("1g")), 0);
  CU_ASSERT_EQUAL(hr_mig_best_start(a100, &gpu, three, set_of("1g")), 4);
  CU_ASSERT_EQUAL(hr_mig_best_start(a100, &gpu, three, set_of("3g")), 0);
  CU_ASSERT_EQUAL(hr_mig_best_start(a100, &gpu, one, 0), 0);
}

/* ---- Profiles by name ---- */

static void expect_profile(const struct hr_mig_type *type, const char *text, const char *expected) {
  CU_ASSERT_STRING_EQUAL(type->profiles[profile_of(type, text)].name, expected);
}

static void names_of_profiles(void) {
  expect_profile(a100, "3g.40gb", "3g.40gb");
  expect_profile(a100, "3G.40GB", "3g.40gb");
  expect_profile(a100, "1g.10gb+me", "1g.10gb+me");
  expect_profile(a100, "1g.10gb.me", "1g.10gb+me");
  expect_profile(a100, "mig-1g.20gb", "1g.20gb");
  expect_profile(a100, "nvidia.com/mig-1g.10gb.me", "1g.10gb+me");
  expect_profile(a100, "1g", "1g.10gb");
  expect_profile(a100_40, "1g", "1g.5gb");
  expect_profile(a100, "1g+me", "1g.10gb+me");
  expect_profile(a100, "7g", "7g.80gb");
  expect_profile(h200, "2g", "2g.35gb");
  expect_profile(a30, "2g+me", "2g.12gb+me");
  expect_profile(a30, "4g", "4g.24gb");
}

static void refuse_profile(const struct hr_mig_type *type, const char *text, const char *expected) {
  struct hr_error error = {0};
  uint32_t profile;
  CU_ASSERT_EQUAL(hr_mig_profile_parse(type, text, &profile, &error), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(profile, HR_NONE);
  if (strcmp(error.text, expected) != 0) printf("\n  expected: %s\n  got:      %s\n", expected, error.text);
  CU_ASSERT_STRING_EQUAL(error.text, expected);
}

static void invalid_profile_names(void) {
  refuse_profile(a100, "3g.30gb", "MIG profile '3g.30gb' is unknown for A100-80; did you mean '3g.40gb'?");
  refuse_profile(a100, "1g.5gb", "MIG profile '1g.5gb' is unknown for A100-80; did you mean '1g.10gb'?");
  refuse_profile(h200, "7g.80gb", "MIG profile '7g.80gb' is unknown for H200; did you mean '7g.141gb'?");
  refuse_profile(a30, "half",
                 "MIG profile 'half' is unknown for A30; there are: 4g.24gb, 2g.12gb+me, 2g.12gb, "
                 "1g.6gb+me, 1g.6gb");
  refuse_profile(a100, "",
                 "MIG profile '' is unknown for A100-80; there are: 7g.80gb, 4g.40gb, 3g.40gb, 2g.20gb, "
                 "1g.20gb, 1g.10gb+me, 1g.10gb");
  refuse_profile(a100, "5g",
                 "MIG profile '5g' is unknown for A100-80; there are: 7g.80gb, 4g.40gb, 3g.40gb, 2g.20gb, "
                 "1g.20gb, 1g.10gb+me, 1g.10gb");
  uint32_t profile;
  CU_ASSERT_EQUAL(hr_mig_profile_parse(a100, "99999999999999999999g", &profile, NULL), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(hr_mig_profile_parse(a100, "1g.10gb1g.10gb1g.10gb1g.10gb1g.10gb", &profile, NULL), HR_BAD_INPUT);
}

static void media_engines_only_on_request(void) {
  struct hr_mig_profile profiles[] = {
      {.name = "1g.5gb+me", .compute_slices = 1, .memory_slices = 1, .starts = 0xf, .max_instances = 1, .media = true},
      {.name = "2g.10gb", .compute_slices = 2, .memory_slices = 2, .starts = 0x5, .max_instances = 1},
      {.name = "4g.20gb", .compute_slices = 4, .memory_slices = 4, .starts = 0x1, .max_instances = 1},
  };
  struct hr_mig_type custom;
  struct hr_mig_gpu gpu;
  hr_mig_type_init(&custom, "own", profiles, 3);
  CU_ASSERT_TRUE(hr_mig_group(&custom, 0, &gpu));
  expect_text(&custom, &gpu, "2g.10gb@0");
  CU_ASSERT_NOT_EQUAL(hr_mig_starts(&custom, &gpu, 2), 0); /* the profile with media engines fits */
}

/* ---- Layouts ---- */

static void expect_layout(const struct hr_mig_type *type, const char *text, const char *expected) {
  struct hr_error error = {0};
  struct hr_mig_gpu gpu;
  if (hr_mig_layout(type, text, &gpu, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL(error.status, HR_OK);
  expect_text(type, &gpu, expected);
}

static void expect_count(const struct hr_mig_type *type, const char *text, uint32_t expected) {
  struct hr_mig_gpu gpu;
  uint32_t count = 0;
  CU_ASSERT_EQUAL_FATAL(hr_mig_layout(type, text, &gpu, NULL), HR_OK);
  for (uint32_t start = 0; start < HR_MIG_SLICES; start++) count += hr_mig_profile_at(&gpu, start) != HR_NONE;
  CU_ASSERT_EQUAL(count, expected);
}

/* The counts are those of mig-parted's deployments/systemd/config-default.yaml. */
static void layouts_of_one_profile(void) {
  expect_count(a100, "all-1g.10gb", 7);
  expect_count(h100, "all-1g.10gb", 7);
  expect_count(a100_40, "all-1g.10gb", 4);
  expect_count(a100_40, "all-1g.5gb", 7);
  expect_count(a100_40, "all-1g.5gb.me", 1);
  expect_count(a100, "all-1g.10gb+me", 1);
  expect_count(a100, "all-1g.20gb", 4);
  expect_count(a100, "all-2g.20gb", 3);
  expect_count(a100, "all-3g.40gb", 2);
  expect_count(a100, "all-4g.40gb", 1);
  expect_count(a100, "all-7g.80gb", 1);
  expect_count(h200, "all-1g.35gb", 4);
  expect_count(b200, "all-2g.45gb", 3);
  expect_count(a30, "all-1g.6gb", 4);
  expect_count(a30, "all-1g.6gb.me", 1);
  expect_count(a30, "all-2g.12gb", 2);
  expect_count(a30, "all-2g.12gb.me", 1);
  expect_count(a30, "all-4g.24gb", 1);
  expect_count(a100, "all-enabled", 0);
}

static void balanced_layouts(void) {
  expect_layout(a100_40, "all-balanced", "2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4");
  expect_layout(a100, "all-balanced", "2g.20gb@0 1g.10gb@2 1g.10gb@3 3g.40gb@4");
  expect_layout(h100, "all-balanced", "2g.20gb@0 1g.10gb@2 1g.10gb@3 3g.40gb@4");
  expect_layout(h200, "All-Balanced", "2g.35gb@0 1g.18gb@2 1g.18gb@3 3g.71gb@4");
  expect_layout(b200, "all-balanced", "2g.45gb@0 1g.23gb@2 1g.23gb@3 3g.90gb@4");
  expect_layout(a30, "all-balanced", "2g.12gb@0 1g.6gb@2 1g.6gb@3");
}

static void free_layouts(void) {
  expect_layout(a100, "3g.40gb,2g.20gb,1g.10gb,1g.10gb", "2g.20gb@0 1g.10gb@2 1g.10gb@3 3g.40gb@4");
  expect_layout(a100, "1g.10gb, 2x1g.10gb , 4g", "4g.40gb@0 1g.10gb@4 1g.10gb@5 1g.10gb@6");
  expect_layout(a100, "3g,4g", "4g.40gb@0 3g.40gb@4");
  expect_layout(a100, "1g+me,6x1g", "1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 1g.10gb@5 1g.10gb+me@6");
  expect_layout(a100, "2g,2g,2g,1g.20gb", "2g.20gb@0 2g.20gb@2 2g.20gb@4 1g.20gb@6");
  expect_layout(a30, "2g+me,2x1g", "2g.12gb+me@0 1g.6gb@2 1g.6gb@3");
}

/* The groups are those of Volcano's docs/design/dynamic-mig.md. */
static void groups_of_volcano(void) {
  struct hr_mig_gpu gpu;
  expect_layout(a100_40, "group1", "1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6");
  expect_layout(a100_40, "group2", "2g.10gb@0 2g.10gb@2 2g.10gb@4 1g.5gb@6");
  expect_layout(a100_40, "group3", "3g.20gb@0 3g.20gb@4");
  expect_layout(a100_40, "group4", "7g.40gb@0");
  expect_layout(a30, "group1", "1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3");
  expect_layout(a30, "group2", "2g.12gb@0 2g.12gb@2");
  expect_layout(a30, "group3", "4g.24gb@0");
  CU_ASSERT_FALSE(hr_mig_group(a100, 4, &gpu));
  CU_ASSERT_FALSE(hr_mig_group(a30, 3, &gpu));
}

static void refuse_layout(const struct hr_mig_type *type, const char *text, const char *expected) {
  struct hr_error error = {0};
  struct hr_mig_gpu gpu;
  CU_ASSERT_EQUAL(hr_mig_layout(type, text, &gpu, &error), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(memcmp(&gpu, &(struct hr_mig_gpu){0}, sizeof gpu), 0);
  if (strcmp(error.text, expected) != 0) printf("\n  expected: %s\n  got:      %s\n", expected, error.text);
  CU_ASSERT_STRING_EQUAL(error.text, expected);
}

static void invalid_layouts(void) {
  refuse_layout(
      a100, "3g.40gb,3g.40gb,1g.10gb",
      "MIG layout '3g.40gb,3g.40gb,1g.10gb' does not fit one A100-80: it takes 7 of 7 compute slices and 9 of "
      "8 memory slices");
  refuse_layout(a100, "8x1g",
                "MIG layout '8x1g' does not fit one A100-80: it takes 8 of 7 compute slices and 8 of 8 memory slices");
  refuse_layout(a100, "2x1g+me", "MIG layout '2x1g+me': at most one instance of a GPU has the media engines");
  refuse_layout(a100, "9x1g", "MIG layout: '9x1g' is not 1 to 8 times a profile");
  refuse_layout(a100, "0x1g", "MIG layout: '0x1g' is not 1 to 8 times a profile");
  refuse_layout(a100, "5x1g,4x1g", "MIG layout: more than 8 of '1g' on one A100-80");
  refuse_layout(a100, "3g,,1g", "MIG layout '3g,,1g': a profile is missing");
  refuse_layout(a100, "3g,", "MIG layout '3g,': a profile is missing");
  refuse_layout(a100, "", "MIG layout '': a profile is missing");
  refuse_layout(a100, "3g,2g.10gb", "MIG profile '2g.10gb' is unknown for A100-80; did you mean '2g.20gb'?");
  refuse_layout(a100, "all-balance", "MIG layout 'all-balance' is unknown for A100-80; did you mean 'all-balanced'?");
  refuse_layout(a100, "all-3g.20gb", "MIG layout 'all-3g.20gb' is unknown for A100-80; did you mean 'all-3g.40gb'?");
  refuse_layout(a100, "group5", "MIG layout 'group5' is unknown for A100-80; did you mean 'group1'?");
  refuse_layout(a100, "group", "MIG layout 'group' is unknown for A100-80; did you mean 'group1'?");
  refuse_layout(a30, "all-of-it",
                "MIG layout 'all-of-it' is unknown for A30; there are: all-balanced, all-enabled, all-4g.24gb, "
                "all-2g.12gb+me, all-2g.12gb, all-1g.6gb+me, all-1g.6gb, group1, group2, group3");
}

/* A table that a user defined. There are enough free slices for a third instance, but no start of its profile is
   free. */
static void starts_limit_instances(void) {
  struct hr_mig_profile profiles[] = {
      {.name = "1g.5gb", .mem_mib = 5000, .compute_slices = 1, .memory_slices = 1, .starts = 0x3, .max_instances = 2},
      {.name = "2g.10gb", .mem_mib = 10000, .compute_slices = 2, .memory_slices = 2, .starts = 0x7, .max_instances = 3},
  };
  struct hr_mig_type custom;
  hr_mig_type_init(&custom, "own", profiles, 2);
  CU_ASSERT_STRING_EQUAL(custom.profiles[0].name, "2g.10gb");
  CU_ASSERT_EQUAL(custom.memory_slices, 4);
  CU_ASSERT_EQUAL(custom.compute_slices, 2);
  custom.compute_slices = 6;
  struct hr_mig_gpu gpu = {0};
  CU_ASSERT_EQUAL(hr_mig_room(&custom, &gpu, 0), 2); /* at starts 0 and 2 of the possible starts 0, 1 and 2 */
  expect_layout(&custom, "2x2g", "2g.10gb@0 2g.10gb@2");
  expect_layout(&custom, "2x1g,2g", "1g.5gb@0 1g.5gb@1 2g.10gb@2");
  refuse_layout(
      &custom, "3x1g",
      "MIG layout '3x1g' does not fit one own: there are enough slices, but not at the starts of the profiles");
}

static void maximum_number_of_instances(void) {
  struct hr_mig_profile profiles[] = {
      {.name = "1g.5gb", .compute_slices = 1, .memory_slices = 1, .starts = 0xf, .max_instances = 2},
      {.name = "4g.20gb", .compute_slices = 4, .memory_slices = 4, .starts = 0x1, .max_instances = 1},
      {.name = "1g.5gb+me", .compute_slices = 1, .memory_slices = 1, .starts = 0xf, .max_instances = 2, .media = true},
  };
  struct hr_mig_type custom;
  struct hr_mig_gpu gpu = {0};
  hr_mig_type_init(&custom, "own", profiles, 3);
  /* "+me": the table allows two instances with media engines, but a GPU has media engines for one only */
  CU_ASSERT_EQUAL(hr_mig_room(&custom, &gpu, 1), 1);
  CU_ASSERT_EQUAL(hr_mig_room(&custom, &gpu, 2), 2);
  CU_ASSERT_TRUE(hr_mig_create(&custom, &gpu, 2, 0));
  CU_ASSERT_EQUAL(hr_mig_room(&custom, &gpu, 2), 1);
  CU_ASSERT_TRUE(hr_mig_create(&custom, &gpu, 2, 1));
  CU_ASSERT_EQUAL(hr_mig_starts(&custom, &gpu, 2), 0);
}

/* The best start for a 2g alone is 0, because a 3g then fits at start 2. If the layout also has a 1g, which must be at
   start 0, the 2g must be at start 1. */
static void layout_may_need_another_start(void) {
  struct hr_mig_profile profiles[] = {
      {.name = "1g.5gb", .compute_slices = 1, .memory_slices = 1, .starts = 0x1, .max_instances = 1},
      {.name = "2g.10gb", .compute_slices = 2, .memory_slices = 2, .starts = 0x3, .max_instances = 1},
      {.name = "3g.20gb", .compute_slices = 3, .memory_slices = 3, .starts = 0x4, .max_instances = 1},
      {.name = "5g.30gb", .compute_slices = 5, .memory_slices = 5, .starts = 0x1, .max_instances = 1},
  };
  struct hr_mig_type custom;
  hr_mig_type_init(&custom, "own", profiles, 4);
  expect_layout(&custom, "2g", "2g.10gb@0");
  expect_layout(&custom, "2g,1g", "1g.5gb@0 2g.10gb@1");
}

static void text_is_truncated(void) {
  struct hr_mig_gpu gpu;
  char text[12] = "";
  CU_ASSERT_EQUAL(hr_mig_layout(a100, "all-balanced", &gpu, NULL), HR_OK);
  CU_ASSERT_STRING_EQUAL(hr_mig_text(a100, &gpu, text, sizeof text), "2g.20gb@0 1");
  expect_text(a100, &(struct hr_mig_gpu){0}, "");
}

TEST_MAIN("sim_mig", TEST(open_catalog), TEST(two_of_3g_take_all_memory), TEST(room_beside_3g),
          TEST(room_beside_three_2g), TEST(one_instance_with_media_engines), TEST(full_gpu_instance_excludes_others),
          TEST(room_beside_4g), TEST(double_memory_begins_at_even_slices), TEST(compute_slices_run_out),
          TEST(destroy_without_instance_fails), TEST(best_starts), TEST(bad_start_blocks_larger_instance),
          TEST(best_start_for_requested_profiles), TEST(names_of_profiles), TEST(invalid_profile_names),
          TEST(media_engines_only_on_request), TEST(layouts_of_one_profile), TEST(balanced_layouts), TEST(free_layouts),
          TEST(groups_of_volcano), TEST(invalid_layouts), TEST(starts_limit_instances),
          TEST(maximum_number_of_instances), TEST(layout_may_need_another_start), TEST(text_is_truncated),
          TEST(close_catalog))
