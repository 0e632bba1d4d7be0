/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The models of other schedulers pass the test vectors of these systems. The vectors are beside the checkout; without
   them the tests are skipped. */

#include "headroom/unstable/conform.h"
#include "harness.h"

#include <string.h>

#define VECTORS REAL_TRACES_DIR "/../vectors/"

/* Runs vector files; all cases must pass, except `not_supported` cases. */
static void check(const char *system, const char *const *files, size_t n_files, uint64_t not_supported) {
  for (size_t i = 0; i < n_files; i++)
    if (real_trace_missing(files[i])) return;
  struct hr_conform_report report;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_conform_run(system, files, n_files, &report, &error), HR_OK);
  if (report.failed) hr_conform_print(stdout, &report);
  CU_ASSERT_EQUAL(report.failed, 0);
  CU_ASSERT_EQUAL(report.not_supported, not_supported);
  CU_ASSERT_TRUE(report.passed > 0);
  hr_conform_finish(&report);
}

static void kai(void) {
  /* Not supported: DRA 10, affinity between pods 2. */
  check("kai", (const char *const[]){VECTORS "kai.json", VECTORS "kai_unit.json"}, 2, 12);
}

static void kubernetes(void) {
  check("kubernetes", (const char *const[]){VECTORS "kube-scheduler.json"}, 1, 0);
}

static void kueue(void) {
  /* Not supported: admission-check controllers 3, workload slices 1. */
  check("kueue", (const char *const[]){VECTORS "kueue.json"}, 1, 4);
}

static void slurm(void) {
  check("slurm", (const char *const[]){VECTORS "slurm.json"}, 1, 0);
}

static void volcano(void) {
  /* Not supported: network topology 42 + 15, sharding 7, DRA 6, affinity between pods 4, plug-ins of the tests 3. */
  check("volcano", (const char *const[]){VECTORS "volcano.json", VECTORS "volcano_unit.json"}, 2, 77);
}

/* Own cases for rules of topology-aware scheduling that no shared case covers. */
static void kueue_topology(void) {
  const char *file = PROJECT_DIR "/tests/scenarios/kueue_topology.json";
  struct hr_conform_report report;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_conform_run("kueue", &file, 1, &report, &error), HR_OK);
  if (report.failed) hr_conform_print(stdout, &report);
  CU_ASSERT_EQUAL(report.passed, 24);
  CU_ASSERT_EQUAL(report.failed + report.not_supported, 0);
  hr_conform_finish(&report);
}

static void unknown_system(void) {
  struct hr_conform_report report;
  struct hr_error error;
  CU_ASSERT_EQUAL(hr_conform_run("nomad", NULL, 0, &report, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "nomad"));
  hr_conform_finish(&report);
}

TEST_MAIN("test vectors of other schedulers", TEST(kai), TEST(kubernetes), TEST(kueue), TEST(kueue_topology),
          TEST(slurm), TEST(volcano), TEST(unknown_system))
