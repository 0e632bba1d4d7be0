/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The catalogue of GPU types: whole, in range, and each row says where its figures come from. */

#include "harness.h"

#include "headroom/scenario.h"

#include <string.h>

static struct hr_gpu_type *types;
static size_t n_types;

static const struct hr_gpu_type *find(const char *name) {
  for (size_t i = 0; i < n_types; i++)
    if (strcmp(types[i].name, name) == 0) return &types[i];
  return NULL;
}

static void catalogue_is_read(void) {
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr_gpu_types(&types, &n_types, &error), HR_OK);
  static const char *const names[] = {"A100-40", "A100-80", "H100", "L4",   "T4",  "A10G",
                                      "V100",    "P100",    "H200", "B200", "L40S"};
  CU_ASSERT_EQUAL(n_types, sizeof names / sizeof *names);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) CU_ASSERT_PTR_NOT_NULL(find(names[i]));
}

static void figures_are_in_range(void) {
  for (size_t i = 0; i < n_types; i++) {
    const struct hr_gpu_type *type = &types[i];
    CU_ASSERT_TRUE(type->mem_gb >= 16 && type->mem_gb <= 192);
    CU_ASSERT_TRUE(type->bandwidth_gb_s >= 300 && type->bandwidth_gb_s <= 8000);
    CU_ASSERT_TRUE(type->fp16_tflops >= 20 && type->fp16_tflops <= 2500);
    CU_ASSERT_TRUE(type->idle_w > 0 && type->idle_w < type->tdp_w && type->tdp_w <= 1000);
    CU_ASSERT_TRUE(type->nvlink_gb_s >= 0 && type->nvlink_gb_s <= 1800);
    CU_ASSERT_TRUE(strcmp(type->status, "quoted") == 0 || strcmp(type->status, "mixed") == 0);
    CU_ASSERT_TRUE(strlen(type->source) > 20);
    /* A row that mixes kinds of figures says which is which. */
    if (strcmp(type->status, "mixed") == 0)
      CU_ASSERT_TRUE(strstr(type->source, "assumed") || strstr(type->source, "says"));
  }
}

static void some_figures(void) {
  const struct hr_gpu_type *h100 = find("H100");
  CU_ASSERT_PTR_NOT_NULL_FATAL(h100);
  CU_ASSERT_EQUAL(h100->mem_gb, 80);
  CU_ASSERT_EQUAL(h100->fp16_tflops, 989);
  CU_ASSERT_EQUAL(h100->mig_slices, 7);
  const struct hr_gpu_type *t4 = find("T4");
  CU_ASSERT_PTR_NOT_NULL_FATAL(t4);
  CU_ASSERT_EQUAL(t4->nvlink_gb_s, 0);
  CU_ASSERT_EQUAL(t4->mig_slices, 0);
  hr_gpu_types_free(types, n_types);
}

TEST_MAIN("scenarios_catalog", TEST(catalogue_is_read), TEST(figures_are_in_range), TEST(some_figures))
