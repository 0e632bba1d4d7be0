/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model files conform to docs/reference/schemas/like.schema.json. Result files of drawing conform to
   docs/reference/schemas/like-result.schema.json. */
#include "harness.h"

#include "headroom/unstable/exports.h"
#include "headroom/unstable/scenario_files.h"
#include "schema_check.h"
#include "trace_files.h"

#include <stdlib.h>
#include <string.h>

static cJSON *parsed(const char *path) {
  FILE *file = fopen(path, "rb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  static char text[1 << 20];
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  cJSON *json = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(json);
  return json;
}

static void expect_conforms(const char *path, const char *schema_path) {
  cJSON *json = parsed(path), *schema = parsed(schema_path);
  CU_ASSERT(schema_fits(schema, json, ""));
  cJSON_Delete(json);
  cJSON_Delete(schema);
}

static void model_and_result_conform_to_schemas(void) {
  struct hr_error error = {0};
  struct hr_trace *trace = trace_at(PROJECT_DIR "/traces/reference/multi-tenant.csv", NULL);
  struct hr_workload_model *model = NULL;
  struct hr_workload_model_figures figures;
  struct hr_workload_model_spec spec;
  hr_workload_model_spec_init(&spec);
  char model_path[200], jobs_path[200], figures_path[200];
  snprintf(model_path, sizeof model_path, "%s", file_path("model.json"));
  snprintf(jobs_path, sizeof jobs_path, "%s", file_path("jobs.csv"));
  snprintf(figures_path, sizeof figures_path, "%s", file_path("figures.json"));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL_FATAL(hr_workload_model_fit(trace, &model, &error), HR_OK);
  CU_ASSERT_EQUAL(hr_workload_model_write(model, model_path, &error), HR_OK);
  CU_ASSERT_EQUAL(hr_workload_model_generate(model, &spec, jobs_path, &figures, &error), HR_OK);
  CU_ASSERT_EQUAL(hr_workload_model_figures_write(model, &spec, &figures, figures_path, &error), HR_OK);
  expect_conforms(model_path, PROJECT_DIR "/docs/reference/schemas/like.schema.json");
  expect_conforms(figures_path, PROJECT_DIR "/docs/reference/schemas/like-result.schema.json");
  hr_workload_model_destroy(model);
  hr_trace_destroy(trace);
}

static void shipped_models_conform_to_the_schema(void) {
  for (const char *const *name = hr_workload_model_names(); *name; name++) {
    char path[300];
    snprintf(path, sizeof path, PROJECT_DIR "/scenarios/workloads/%s.json", *name);
    expect_conforms(path, PROJECT_DIR "/docs/reference/schemas/like.schema.json");
  }
}

TEST_MAIN("schemas of generated workloads", TEST(model_and_result_conform_to_schemas),
          TEST(shipped_models_conform_to_the_schema))
