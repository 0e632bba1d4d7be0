/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports of transformations: sizes computed by hand, a table of at most 80 columns, and a comparison of the JSON file
   with its schema. */
#include "harness.h"
#include "headroom/trace_files.h"
#include "headroom/unstable/exports.h"

#include "headroom/unstable/trace_tools.h"
#include "schema_check.h"
#include "trace_files.h"

#include <string.h>

static const char *const text = "submit_s,duration_s,gpus,gpu_milli,model,user\n"
                                "10,3600,4,500,gpt,ann\n"
                                "20.5,1800,0,,gpt,\n"
                                "70,7200,3,,,ann\n";

static cJSON *json_of(const char *path) {
  static char bytes[20000];
  FILE *file = fopen(path, "rb");
  size_t n = file ? fread(bytes, 1, sizeof bytes - 1, file) : 0;
  if (file) fclose(file);
  bytes[n] = '\0';
  return cJSON_Parse(bytes);
}

static void sizes_computed_by_hand(void) {
  struct hr_trace *trace = trace_of(text, NULL);
  struct hr_trace_size size = hr_trace_size_of(trace);
  CU_ASSERT_EQUAL(size.n_jobs, 3);
  CU_ASSERT_DOUBLE_EQUAL(size.gpu_hours, 2 + 0 + 6, 1e-12);
  CU_ASSERT_EQUAL(size.span_us, 60 * HR_SECOND_US);
  hr_trace_destroy(trace);
}

/* Writes the report of a transformation as JSON to the path `json` and as a table to `table`; NULL: not written. The
   transformation reports the losses of a trace written as SWF. */
static void write_reports(uint64_t seed, bool seeded, const char *json, FILE *table) {
  static const char long_path[] =
      "/a/folder/whose/name/is/so/long/that/a/line/cannot/hold/it/with/all/that/stands/beside/jobs.csv";
  struct hr_trace *trace = trace_of(text, NULL);
  struct hr_trace_written written;
  char path[200];
  snprintf(path, sizeof path, "%s", file_path("out.swf"));
  CU_ASSERT_EQUAL_FATAL(hr_trace_write(trace, path, NULL, &written, NULL), HR_OK);
  const struct hr_transform_input inputs[] = {{long_path, hr_trace_size_of(trace)}, {"b", hr_trace_size_of(trace)}};
  const struct hr_transformation done = {.action = "scale",
                                         .inputs = inputs,
                                         .n_inputs = 2,
                                         .out = hr_trace_size_of(trace),
                                         .path = "out.swf",
                                         .written = &written,
                                         .method = seeded ? "thin" : NULL,
                                         .seed = seed,
                                         .seeded = seeded};
  if (json) CU_ASSERT_EQUAL(hr_transformation_write_json(json, &done, NULL), HR_OK);
  if (table) CU_ASSERT_EQUAL(hr_transformation_print(table, &done), HR_OK);
  hr_trace_destroy(trace);
}

static double number_in(const cJSON *object, const char *key) {
  return schema_get(object, key)->valuedouble;
}

static void the_json_conforms_to_its_schema(void) {
  char path[200];
  snprintf(path, sizeof path, "%s", file_path("done.json"));
  cJSON *schema = json_of(PROJECT_DIR "/docs/reference/schemas/transform.schema.json");
  CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
  for (int seeded = 0; seeded < 2; seeded++) {
    write_reports(UINT64_MAX, seeded, path, NULL);
    cJSON *tree = json_of(path);
    CU_ASSERT_TRUE(schema_fits(schema, tree, "transformation"));
    const cJSON *out = schema_get(tree, "out"), *lost = schema_get(out, "lost");
    CU_ASSERT_EQUAL(number_in(out, "jobs"), 2); /* SWF cannot store the job without GPUs */
    CU_ASSERT_EQUAL(cJSON_GetArraySize(schema_get(tree, "in")), 2);
    CU_ASSERT_EQUAL(number_in(cJSON_GetArrayItem(schema_get(tree, "in"), 0), "gpu_hours"), 8);
    CU_ASSERT_STRING_EQUAL(schema_get(cJSON_GetArrayItem(lost, 0), "field")->valuestring, "gpu_milli");
    CU_ASSERT_EQUAL(number_in(cJSON_GetArrayItem(lost, 0), "jobs"), 1);
    cJSON_AddNumberToObject(tree, "more", 1);
    CU_ASSERT_FALSE(schema_fits(schema, tree, "on purpose"));
    cJSON_Delete(tree);
  }
  cJSON_Delete(schema);
}

static void the_table_has_at_most_80_columns(void) {
  char *table = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&table, &size);
  write_reports(7, true, NULL, out);
  fclose(out);
  for (const char *line = table; *line; line += strcspn(line, "\n") + 1) CU_ASSERT(strcspn(line, "\n") <= 80);
  CU_ASSERT_PTR_NOT_NULL(strstr(table, "3 jobs, 8.0 GPU hours, submitted within 1 min"));
  CU_ASSERT_PTR_NOT_NULL(strstr(table, "\n  scale      thin\n  seed       7\n  written    out.swf\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(table, "beside/jobs.csv\n"));
  free(table);
}

TEST_MAIN("what was done to traces", TEST(sizes_computed_by_hand), TEST(the_json_conforms_to_its_schema),
          TEST(the_table_has_at_most_80_columns))
