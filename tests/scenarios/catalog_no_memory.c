/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated allocation failures: loading the catalogue and queries for unknown names run out of memory after different
   numbers of allocations. */

#include "harness.h"
#include "scarce_memory.h"

#include "headroom/unstable/catalog.h"

#include <unistd.h>

static const char file[] = "short.csv";

static enum hr_status read_catalogue(void) {
  const struct hr_catalog_files files = {.discounts = file};
  struct hr_catalog *catalog;
  struct hr_error error;
  enum hr_status status = hr_catalog_load(&files, &catalog, &error);
  hr_catalog_destroy(catalog);
  return status;
}

static void loading_reports_no_memory(void) {
  FILE *out = fopen(file, "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  fputs("provider,family,term,off,as_of\naws,p5,1y,0.1,2026\n", out);
  fclose(out);
  CU_ASSERT(starve(read_catalogue) > 100);
  unlink(file);
}

static struct hr_catalog *loaded;

static enum hr_status unknown_as_ok(enum hr_status status) {
  return status == HR_BAD_INPUT ? HR_OK : status;
}

static enum hr_status query_gpu(void) {
  const struct hr_gpu_type *gpu;
  return unknown_as_ok(hr_catalog_gpu(loaded, "X", &gpu, NULL));
}

static enum hr_status query_mig(void) {
  const struct hr_mig_type *type;
  return unknown_as_ok(hr_catalog_mig(loaded, "X", &type, NULL));
}

static enum hr_status query_instance(void) {
  const struct hr_instance_type *type;
  return unknown_as_ok(hr_catalog_instance(loaded, "aws", "X", &type, NULL));
}

static enum hr_status query_preset(void) {
  const struct hr_spot_preset *preset;
  return unknown_as_ok(hr_catalog_spot_preset(loaded, "X", &preset, NULL));
}

static enum hr_status query_provider(void) {
  return unknown_as_ok(hr_catalog_check_provider(loaded, "X", NULL));
}

static enum hr_status query_region(void) {
  return unknown_as_ok(hr_catalog_check_region(loaded, "aws", "X", NULL));
}

static void queries_report_no_memory(void) {
  CU_ASSERT_EQUAL_FATAL(hr_catalog_load(NULL, &loaded, NULL), HR_OK);
  CU_ASSERT_EQUAL(starve(query_gpu), 3);
  CU_ASSERT_EQUAL(starve(query_mig), 3);
  CU_ASSERT_EQUAL(starve(query_instance), 1);
  CU_ASSERT_EQUAL(starve(query_preset), 1);
  CU_ASSERT_EQUAL(starve(query_provider), 1);
  CU_ASSERT_EQUAL(starve(query_region), 1);
  hr_catalog_destroy(loaded);
}

TEST_MAIN("scenarios_catalog_no_memory", TEST(loading_reports_no_memory), TEST(queries_report_no_memory))
