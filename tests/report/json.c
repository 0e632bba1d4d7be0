/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The summary as JSON: its text, and the presence of every key in docs/reference/schemas/summary.schema.json. */

#include "harness.h"
#include "output_files.h"
#include "priced.h"
#include "replayed.h"
#include "schema_check.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

static const struct replayed_job jobs[] = {
    {.submit_s = 0, .work_s = 20, .start_s = 0, .gpus = 4},
    {.submit_s = 5, .work_s = 90, .start_s = 6.5, .gpus = 1},
    {.submit_s = 7, .work_s = 1, .start_s = NEVER, .gpus = 99, .rejected = true},
};
static const char *const tenants[] = {"team \"a\"", "M\xfcller\t"};
static const uint32_t tenant[] = {0, 1, HR_NONE};

static struct replayed run;
static struct replayed_policy policy;
static const struct hr_perf perf = {.load_s = 0.25, .sim_s = 0.5, .peak_rss_mib = 12.5};

static struct hr_run_label make_label(void) {
  return (struct hr_run_label){.scenario = "demo",
                               .trace = run.trace.source,
                               .format = run.trace.format,
                               .cluster = &run.cluster,
                               .policy = &policy.choice,
                               .seed = 1};
}

static void prepare(uint32_t n_jobs, double horizon_s) {
  replayed_make(&run, jobs, n_jobs, horizon_s);
  run.trace.tenant = tenant;
  run.trace.tenants = (struct hr_names){2, tenants};
  replayed_policy_init(&policy);
}

/* Returns the JSON of the run, which the caller frees. */
static char *written(const struct hr_run_label *label, const struct hr_perf *took) {
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT_EQUAL_FATAL(hr_summary_write_json(files_path("summary.json"), summary, label, took, NULL), HR_OK);
  hr_summary_destroy(summary);
  return files_read(files_path("summary.json"));
}

static void expect_within(const char *text, const char *part) {
  if (!strstr(text, part)) printf("\n  not there: %s\n", part);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, part));
}

static void one_key_per_line(void) {
  prepare(3, NEVER);
  struct hr_run_label label = make_label();
  char *text = written(&label, &perf);
  expect_within(text, "{\n  \"headroom\": \"");
  expect_within(
      text,
      "\n  \"scenario\": \"demo\",\n  \"trace\": {\n    \"file\": \"made.csv\",\n    \"format\": \"memory\"\n  },\n");
  expect_within(
      text,
      "\n    \"pools\": [\n      {\n        \"name\": \"main\",\n        \"gpu\": \"A100-80\",\n"
      "        \"nodes\": 2,\n        \"gpus_per_node\": 4,\n        \"sharing\": \"whole\"\n      }\n    ]\n  },\n");
  expect_within(text, "\n  \"policy\": {\n    \"name\": \"made\",\n    \"order\": \"sjf\",\n    \"depth\": -3,\n"
                      "    \"share\": 0.5,\n    \"eager\": true\n  },\n  \"seed\": 1,\n");
  expect_within(text,
                "\n  \"wait_s\": {\n    \"mean\": 0.75,\n    \"p50\": 0.75,\n    \"p90\": 1.35,\n    \"p95\": 1.425,\n"
                "    \"p99\": 1.485,\n    \"max\": 1.5\n  },\n");
  expect_within(text, "\n  \"by_pool\": [],\n");
  expect_within(text, "\n  \"fragmentation\": null,\n");
  expect_within(text, "\n  \"makespan_s\": 96.5,\n  \"submit_window_s\": 7,\n");
  expect_within(text, "\n  \"digest\": \"0123456789abcdef\",\n  \"notes\": [],\n  \"skipped\": [],\n");
  expect_within(text, "\n    \"team \\\"a\\\"\": {\n      \"jobs\": 1,\n");
  expect_within(text, "\n    \"M\xc3\xbcller\\t\": {\n");
  expect_within(text, "\n    \"\": {\n");
  expect_within(text, "\n    \"jobs_per_s\": 6,\n    \"peak_rss_mib\": 12.5\n  }\n}\n");
  CU_ASSERT_PTR_NULL(strchr(text, '\t'));
  free(text);
}

static void equal_runs_have_equal_json(void) {
  static const struct hr_perf another = {.load_s = 1, .sim_s = 2, .peak_rss_mib = 3};
  prepare(3, NEVER);
  struct hr_run_label label = make_label();
  char *one = written(&label, &perf), *two = written(&label, &another);
  size_t length = (size_t)(strstr(one, "\"perf\"") - one);
  CU_ASSERT_EQUAL(strncmp(one, two, length), 0);
  CU_ASSERT_STRING_NOT_EQUAL(one, two);
  free(one);
  free(two);
}

static void empty_distributions_are_null(void) {
  prepare(3, NEVER);
  run.trace.tenant = NULL;
  for (int i = 0; i < 2; i++) {
    run.state[i] = HR_JOB_REJECTED;
    run.start_us[i] = HR_NEVER_US;
  }
  run.result.n_completed = 0;
  run.result.n_rejected = 3;
  struct hr_run_label label = make_label();
  char *text = written(&label, &(struct hr_perf){0});
  expect_within(text,
                "\n  \"jct_s\": {\n    \"mean\": null,\n    \"p50\": null,\n    \"p90\": null,\n    \"p95\": null,\n"
                "    \"p99\": null,\n    \"max\": null\n  },\n");
  expect_within(text, "\n  \"makespan_s\": null,\n");
  expect_within(text, "\n    \"makespan\": null\n");
  expect_within(text, "\n  \"queue\": {\n    \"mean\": null,\n");
  expect_within(text, "\n  \"by_tenant\": {},\n");
  expect_within(text, "\n    \"jobs_per_s\": null,\n");
  free(text);
}

static void notes_and_large_seeds(void) {
  struct hr_notes notes = {0};
  struct hr_skipped_rows skipped[] = {{(char *)"no gpus", 3, 17}};
  CU_ASSERT_EQUAL_FATAL(hr_notes_add(&notes, "column 'x' is not known"), HR_OK);
  const struct hr_notes *lists[] = {&notes};
  prepare(3, NEVER);
  struct hr_run_label label = make_label();
  label.notes = lists;
  label.n_notes = 1;
  label.skipped = skipped;
  label.n_skipped_reasons = 1;
  label.seed = UINT64_MAX;
  char *text = written(&label, &perf);
  expect_within(text, "\n  \"seed\": \"18446744073709551615\",\n");
  expect_within(text, "\n  \"notes\": [\n    \"column 'x' is not known\"\n  ],\n");
  expect_within(text, "\n  \"skipped\": [\n    {\n      \"reason\": \"no gpus\",\n      \"count\": 3,\n"
                      "      \"first_line\": 17\n    }\n  ],\n");
  free(text);
  hr_notes_finish(&notes);
}

/* ---- The schema ------------------------------------------------------------------------------------- */

static const cJSON *schema;

static bool is_section_of_some_runs(const cJSON *rule, const char *key) {
  static const char *const sections[] = {"faults",  "maintenance", "energy",  "carbon",    "cost",         "alerts",
                                         "budgets", "goodput",     "spot",    "oom_kills", "replications", "services",
                                         "data",    "elastic",     "scaling", "battery",   "by_cluster",   "routing"};
  for (size_t i = 0; rule == schema && i < sizeof sections / sizeof *sections; i++)
    if (strcmp(key, sections[i]) == 0) return true;
  if (rule == schema_get(schema_get(schema, "$defs"), "group") && strcmp(key, "ettr") == 0) return true;
  return strcmp(key, "by_service") == 0;
}

/* Whether a schema object requires all its keys. This must be so, because a summary always contains all keys. The only
   exceptions are the sections that only some runs have, for example costs, faults or services, and the ETTR of
   groups. */
static bool all_required(const cJSON *rule) {
  const cJSON *key, *inner;
  cJSON_ArrayForEach(key, schema_get(rule, "properties")) {
    if (is_section_of_some_runs(rule, key->string) == schema_lists(schema_get(rule, "required"), key->string)) {
      printf("\n  required: %s\n", key->string);
      return false;
    }
    if (!all_required(key)) return false;
  }
  cJSON_ArrayForEach(inner, schema_get(rule, "$defs")) {
    if (!all_required(inner)) return false;
  }
  return true;
}

static void expect_fit(double horizon_s, uint32_t n_jobs) {
  prepare(n_jobs, horizon_s);
  struct hr_run_label label = make_label();
  char *text = written(&label, &perf);
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "summary"));
  const cJSON *extra = cJSON_AddNumberToObject(cJSON_GetObjectItemCaseSensitive(tree, "queue"), "min", 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL(extra);
  CU_ASSERT_FALSE(schema_fits(schema, tree, "on purpose"));
  cJSON_Delete(tree);
  free(text);
}

/* Returns the JSON of the run of priced.h, which the caller frees. */
static char *written_with_costs(void) {
  struct hr_budget budget = {(char *)"b", 15000000};
  struct hr_cost_spec spec = {.operations = {.uusd_per_month = 730000000}, .budgets = &budget, .n_budgets = 1};
  struct priced *priced = priced_create();
  struct hr_summary *summary = priced_summary(priced, &spec, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  prepare(3, NEVER);
  struct hr_run_label label = make_label();
  label.cluster = &priced->cluster;
  CU_ASSERT_EQUAL_FATAL(hr_summary_write_json(files_path("summary.json"), summary, &label, &perf, NULL), HR_OK);
  hr_summary_destroy(summary);
  priced_destroy(priced);
  return files_read(files_path("summary.json"));
}

static void dollars_are_exact_decimals(void) {
  char *text = written_with_costs();
  expect_within(text, "\n  \"cost\": {\n    \"total_usd\": 58.000000,\n    \"capacity_usd\": 56.000000,\n"
                      "    \"idle_usd\": 16.000000,\n    \"shared_usd\": 2.000000,\n"
                      "    \"all_on_demand_usd\": 82.000000,\n    \"saving_vs_on_demand\": 0.292683,\n"
                      "    \"usd_per_completed_job\": 19.333333,\n    \"usd_per_goodput_gpu_hour\": 3.625000,\n"
                      "    \"usd_per_month\": 21170.000000,\n    \"monthly_usd\": 21170.000000,\n    \"by_market\": "
                      "{\n      \"reserved\": 16.000000,\n");
  expect_within(text, "\n      \"(services)\": 2.000000\n");
  expect_within(text, "\n      \"(idle)\": 16.000000,\n      \"(shared)\": 2.000000\n    },\n");
  expect_within(text, "\n  \"budgets\": [\n    {\n      \"tenant\": \"b\",\n      \"month\": 0,\n"
                      "      \"budget_usd\": 15.000000,\n      \"spent_usd\": 16.000000,\n      \"over\": true\n");
  expect_within(text, "\n  \"goodput\": {\n    \"useful_gpu_hours\": 16,\n    \"lost_gpu_hours\": 4,\n"
                      "    \"checkpoint_gpu_hours\": 2,\n    \"restart_gpu_hours\": 2,\n    \"fraction\": 0.666667\n");
  expect_within(text, "\n  \"spot\": {\n    \"reclaims\": 1,\n    \"reclaims_per_node_hour\": 0.5,\n"
                      "    \"jobs_interrupted\": 1,\n    \"gpu_hours\": 16,\n    \"availability\": 1\n");
  free(text);
}

static void expect_costs_fit(void) {
  char *text = written_with_costs();
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "summary"));
  cJSON_Delete(tree);
  free(text);
}

static void expect_fragments_fit(void) {
  prepare(3, NEVER);
  struct hr_run_label label = make_label();
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  summary->fragmentation = (struct hr_fragmentation_metrics){true, 0.25, 0.125, 0.5, 0.0625, 2.5, 1};
  CU_ASSERT_EQUAL_FATAL(hr_summary_write_json(files_path("summary.json"), summary, &label, &perf, NULL), HR_OK);
  hr_summary_destroy(summary);
  char *text = files_read(files_path("summary.json"));
  expect_within(text,
                "\n  \"fragmentation\": {\n    \"submit_window\": 0.25,\n    \"makespan\": 0.125,\n    \"max\": 0.5,\n"
                "    \"stranded\": 0.0625,\n    \"largest_gang\": {\n      \"mean\": 2.5,\n      \"min\": 1\n");
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "summary"));
  cJSON_Delete(tree);
  free(text);
}

static void expect_kills_fit(void) {
  prepare(3, NEVER);
  struct hr_run_label label = make_label();
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  summary->stoppable = true;
  summary->oom = (struct hr_oom_metrics){true, 12, 3, 1.25};
  summary->elastic = (struct hr_elastic_metrics){true, 7, 5};
  CU_ASSERT_EQUAL_FATAL(hr_summary_write_json(files_path("summary.json"), summary, &label, &perf, NULL), HR_OK);
  hr_summary_destroy(summary);
  char *text = files_read(files_path("summary.json"));
  expect_within(text, "\n  \"oom_kills\": {\n    \"count\": 12,\n    \"jobs\": 3,\n    \"back_off_gpu_hours\": 1.25\n");
  expect_within(text, "\n  \"elastic\": {\n    \"grows\": 7,\n    \"shrinks\": 5\n");
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "summary"));
  cJSON_Delete(tree);
  free(text);
}

static void expect_pools_fit(void) {
  struct hr_pool_metrics pools[] = {{.name = (char *)"one",
                                     .gpu = (char *)"T4",
                                     .sharing = HR_SHARING_MIG,
                                     .completed = 3,
                                     .gpu_hours = 1.5,
                                     .utilization = 0.25,
                                     .latency_factor = {3, 1.5, 1, 2, 2.25, 2.5, 2.5},
                                     .cost_uusd = 3600000,
                                     .per_completed_job_uusd = 1200000},
                                    {.name = (char *)"two",
                                     .utilization = (double)NAN,
                                     .cost_uusd = HR_UNKNOWN_UUSD,
                                     .per_completed_job_uusd = HR_UNKNOWN_UUSD}};
  prepare(3, NEVER);
  struct hr_run_label label = make_label();
  const struct hr_summary summary = {.by_pool = pools, .n_pools = 2, .fairness = {.over = "jobs"}};
  CU_ASSERT_EQUAL_FATAL(hr_summary_write_json(files_path("summary.json"), &summary, &label, &perf, NULL), HR_OK);
  char *text = files_read(files_path("summary.json"));
  expect_within(text, "\n  \"by_pool\": [\n    {\n      \"name\": \"one\",\n      \"gpu\": \"T4\",\n"
                      "      \"sharing\": \"mig\",\n      \"completed\": 3,\n      \"gpu_hours\": 1.5,\n"
                      "      \"utilization\": 0.25,\n      \"latency_factor\": {\n        \"mean\": 1.5,\n"
                      "        \"p50\": 1,\n        \"p90\": 2,\n        \"p95\": 2.25,\n        \"p99\": 2.5,\n"
                      "        \"max\": 2.5\n      },\n      \"cost_usd\": 3.600000,\n"
                      "      \"usd_per_completed_job\": 1.200000\n    },\n");
  expect_within(text, "\n      \"gpu\": null,\n");
  expect_within(text, "\n      \"utilization\": null,\n");
  expect_within(text, "\n      \"cost_usd\": null,\n      \"usd_per_completed_job\": null\n");
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "summary"));
  cJSON_Delete(tree);
  free(text);
}

static void all_keys_are_in_the_schema(void) {
  char *text = files_read(PROJECT_DIR "/docs/reference/schemas/summary.schema.json");
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  schema = tree;
  CU_ASSERT_TRUE(all_required(schema));
  expect_fit(NEVER, 3);
  expect_fit(NEVER, 1);
  expect_fit(6, 3);
  expect_costs_fit();
  expect_fragments_fit();
  expect_kills_fit();
  expect_pools_fit();
  cJSON_Delete(tree);
  free(text);
}

static void failed_write_leaves_no_file(void) {
  prepare(3, NEVER);
  struct hr_run_label label = make_label();
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  struct hr_error error = {0};
  CU_ASSERT_NOT_EQUAL(hr_summary_write_json(files_path("nowhere/s.json"), summary, &label, &perf, &error), HR_OK);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "nowhere/s.json"));
  CU_ASSERT_EQUAL(hr_summary_write_json("/dev/full", summary, &label, &perf, &error), HR_IO_ERROR);
  CU_ASSERT_TRUE(files_only("summary.json"));
  hr_summary_destroy(summary);
}

TEST_MAIN("report: JSON", TEST(one_key_per_line), TEST(equal_runs_have_equal_json), TEST(empty_distributions_are_null),
          TEST(notes_and_large_seeds), TEST(dollars_are_exact_decimals), TEST(all_keys_are_in_the_schema),
          TEST(failed_write_leaves_no_file))
