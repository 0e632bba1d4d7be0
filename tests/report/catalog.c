/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The catalogue of metrics, and the files that are generated from it: the tables of the documentation and the metrics
 * in the JSON schemas of summaries. To write them after a change of the catalogue, run the suite with UPDATE=1:
 *
 *   UPDATE=1 build/dev/tests/test_report catalog
 */

#include "harness.h"

#include "generated.h"
#include "output_files.h"

#include <stdlib.h>
#include <string.h>

/* Compares `text` with a file of the project, or writes the file. Frees `text`. */
static void expect_file(const char *name, char *text) {
  char path[600];
  snprintf(path, sizeof path, PROJECT_DIR "/%s", name);
  char *now = files_read(path);
  CU_ASSERT_PTR_NOT_NULL_FATAL(now);
  if (getenv("UPDATE")) {
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
  } else if (strcmp(now, text) != 0) {
    printf("\n  %s differs from the catalogue; run UPDATE=1 build/dev/tests/test_report catalog\n", name);
    CU_ASSERT_STRING_EQUAL(now, text);
  }
  free(now);
  free(text);
}

/* ---- The table --------------------------------------------------------------------------------------- */

static void names_are_unique(void) {
  const struct hr_metric *metrics;
  size_t count = hr_metrics(&metrics);
  for (size_t i = 0; i < count; i++) {
    CU_ASSERT_EQUAL(hr__metric_find(metrics[i].path, strlen(metrics[i].path)), i);
    CU_ASSERT_EQUAL(hr__metric_find(metrics[i].column, strlen(metrics[i].column)), i);
    CU_ASSERT(metrics[i].title[0] && metrics[i].help[0]);
    CU_ASSERT(strlen(metrics[i].title) < HR__METRIC_BYTES);
    CU_ASSERT(strlen(metrics[i].path) < HR__METRIC_BYTES);
    CU_ASSERT(!strpbrk(metrics[i].help, "|\n"));
  }
}

/* ---- Generated files --------------------------------------------------------------------------------- */

static void documentation_is_generated(void) {
  static const char *const names[] = {"docs/reference/metrics.md", "docs/planner/costs.md"};
  bool documented[HR__N_METRICS] = {false};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    expect_file(names[i], generated_tables(names[i], documented));
  for (unsigned i = 0; i < HR__N_METRICS; i++) {
    if (!documented[i]) printf("\n  no marker of the documentation names %s\n", hr__metric_rows[i].path);
    CU_ASSERT(documented[i]);
  }
}

static void schemas_are_generated(void) {
  static const char *const names[] = {"docs/reference/schemas/summary.schema.json",
                                      "docs/reference/schemas/streamed.schema.json",
                                      "docs/reference/schemas/compare.schema.json"};
  unsigned of_jobs = 1U << HR__SECTION_FAIRNESS | 1U << HR__SECTION_FRAGMENTATION; /* not in streamed runs */
  unsigned all = (1U << HR__N_METRIC_SECTIONS) - 1;
  expect_file(names[0], generated_schema(names[0], all, true));
  expect_file(names[1], generated_schema(names[1], all & ~of_jobs, false));
  expect_file(names[2], generated_columns(names[2]));
}

TEST_MAIN("report: catalogue of metrics", TEST(names_are_unique), TEST(documentation_is_generated),
          TEST(schemas_are_generated))
