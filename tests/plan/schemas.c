/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output of plans and replications must fit docs/reference/schemas/plan.schema.json and
   docs/reference/schemas/summary.schema.json. */

#include "harness.h"

#include "headroom/headroom.h"
#include "headroom/unstable/planning.h"
#include "headroom/unstable/replay.h"
#include "output_files.h"
#include "schema_check.h"

#include <stdlib.h>
#include <string.h>

#define RESERVED                                                                                                       \
  "{\"name\":\"r\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":1,\"market\":\"reserved\"," PRICE("1") "}"
#define ON_DEMAND                                                                                                      \
  "{\"name\":\"o\",\"gpu\":\"T4\",\"nodes\":8,\"gpus_per_node\":1,\"market\":\"on-demand\",\"boot_s\":0," PRICE("3") "}"
#define SPOT                                                                                                           \
  "{\"name\":\"s\",\"gpu\":\"V100\",\"nodes\":4,\"gpus_per_node\":1,\"market\":\"spot\",\"boot_s\":5," PRICE(          \
      "0.5") ","                                                                                                       \
             "\"spot\":{\"model\":\"exponential\",\"rate_per_h\":1}}"
#define UNPRICED "{\"name\":\"p\",\"gpu\":\"V100\",\"nodes\":4,\"gpus_per_node\":1}"
#define PRICE(usd) "\"usd_per_gpu_hour\":" usd

#define GPUS(pool) "{\"pool\":\"" pool "\",\"from\":0,\"to\":4,\"step\":1}"

/* Eight jobs of one GPU, of which at most three run at a time. They have two tenants (job 5 has none), and some have a
 * deadline.
 */
static const char jobs_csv[] =
    "job_id,submit_s,gpus,duration_s,tenant,class,deadline_s\n"
    "1,0,1,3000,a,inference,4000\n2,100,1,3000,b,training,\n3,200,1,3000,b,training,\n"
    "4,3000,1,600,a,inference,3500\n5,4000,1,2000,,training,\n6,5000,1,3000,a,inference,9000\n"
    "7,6000,1,100,b,training,\n8,7000,1,900,a,inference,8000\n";

static void put_file(const char *name, const char *text) {
  FILE *file = fopen(files_path(name), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

struct setup {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
};

/* `more`: further keys of the scenario. */
static struct setup load(const char *pools, const char *more) {
  struct setup setup = {0};
  struct hr_error error = {0};
  char text[3000];
  snprintf(text, sizeof text,
           "{\"name\":\"t\",\"seed\":5,\"cluster\":{\"pools\":[%s]},"
           "\"policy\":{\"name\":\"queue\",\"backfill\":\"skip\",\"market\":\"spot-first\"},%s}",
           pools, more);
  put_file("s.json", text);
  put_file("jobs.csv", jobs_csv);
  if (hr_scenario_load(files_path("s.json"), NULL, 0, &setup.scenario, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(setup.scenario);
  const struct hr_trace_options options = {.format = "csv"};
  if (hr_trace_read(files_path("jobs.csv"), &options, &setup.trace, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(setup.trace);
  return setup;
}

static void finish(struct setup *setup) {
  hr_trace_destroy(setup->trace);
  hr_scenario_destroy(setup->scenario);
}

static cJSON *read_json(const char *path) {
  char *text = files_read(path);
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  free(text);
  return tree;
}

/* Expects that the file fits the schema, and that it does not fit with an additional key. The caller deletes the
   returned tree. */
static cJSON *expect_fit(const char *path, const char *schema_path) {
  cJSON *schema = read_json(schema_path), *tree = read_json(path);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "written"));
  CU_ASSERT_PTR_NOT_NULL_FATAL(cJSON_AddNumberToObject(tree, "extra", 0));
  CU_ASSERT_FALSE(schema_fits(schema, tree, "on purpose"));
  cJSON_Delete(schema);
  return tree;
}

/* ---- Plans ------------------------------------------------------------------------------------------ */

static cJSON *plan_of(const char *pools, const char *plan_keys, bool brief) {
  char path[300];
  struct hr_plan *plan = NULL;
  struct hr_error error = {0};
  struct setup setup = load(pools, plan_keys);
  struct hr_plan_config config = {
      .scenario = setup.scenario, .trace = setup.trace, .no_sensitivity = brief, .n_threads = 2};
  if (hr_plan(&config, &plan, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
  snprintf(path, sizeof path, "%s", files_path("plan.json"));
  CU_ASSERT_EQUAL_FATAL(hr_plan_write_json(path, plan, NULL, NULL), HR_OK);
  cJSON *tree = expect_fit(path, PROJECT_DIR "/docs/reference/schemas/plan.schema.json");
  CU_ASSERT_EQUAL(cJSON_IsTrue(schema_get(tree, "feasible")), hr_plan_feasible(plan));
  hr_plan_destroy(plan);
  finish(&setup);
  return tree;
}

static const char choices[] = "\"plan\":{\"variables\":[" GPUS("r") "," GPUS(
    "o") ","
         "{\"path\":\"policy.order\",\"name\":\"order\",\"values\":[\"fifo\",\"sjf\"]},"
         "{\"path\":\"policy.aging_s\",\"values\":[0,60]}],"
         "\"constraints\":[\"wait_s.p95 of inference <= 10 min\",\"completed of b >= 99 %\"],"
         "\"baseline\":{\"r\":4,\"order\":\"sjf\"}}";

static void deterministic_plan_fits(void) {
  cJSON *tree = plan_of(RESERVED "," ON_DEMAND, choices, false);
  CU_ASSERT_TRUE(cJSON_IsTrue(schema_get(tree, "feasible")));
  CU_ASSERT_TRUE(cJSON_IsFalse(schema_get(tree, "random")));
  CU_ASSERT_TRUE(cJSON_IsNull(schema_get(tree, "nearest")));
  CU_ASSERT_TRUE(cJSON_IsObject(schema_get(tree, "all_on_demand")));
  CU_ASSERT_TRUE(cJSON_GetArraySize(schema_get(tree, "tightening")) > 0);
  CU_ASSERT_TRUE(cJSON_GetArraySize(schema_get(tree, "sensitivity")) > 0);
  const cJSON *today = schema_get(schema_get(tree, "baseline"), "choice");
  CU_ASSERT_TRUE(cJSON_IsNumber(schema_get(today, "r")));
  CU_ASSERT_TRUE(cJSON_IsString(schema_get(today, "order")));
  cJSON_Delete(tree);
}

static void plan_with_spot_fits(void) {
  cJSON *tree = plan_of(RESERVED "," SPOT,
                        "\"plan\":{\"variables\":[" GPUS("r") "," GPUS("s") "],"
                                                                            "\"constraints\":[\"completed >= 99 %\"]}",
                        false);
  CU_ASSERT_TRUE(cJSON_IsTrue(schema_get(tree, "random")));
  CU_ASSERT_TRUE(cJSON_IsNull(schema_get(tree, "baseline")));
  cJSON_Delete(tree);
}

static void infeasible_plan_fits(void) {
  cJSON *tree = plan_of(RESERVED,
                        "\"plan\":{\"variables\":[{\"pool\":\"r\",\"values\":[1,0]}],"
                        "\"constraints\":[\"wait_s.max <= 1\",\"monthly_usd <= 10 k$\"]}",
                        false);
  CU_ASSERT_TRUE(cJSON_IsFalse(schema_get(tree, "feasible")));
  CU_ASSERT_TRUE(cJSON_IsNull(schema_get(tree, "recommendation")));
  CU_ASSERT_TRUE(cJSON_IsObject(schema_get(tree, "nearest")));
  cJSON_Delete(tree);
}

static void plan_without_prices_fits(void) {
  cJSON *tree = plan_of(
      UNPRICED, "\"plan\":{\"variables\":[" GPUS("p") "],\"weights\":{\"wait_s.mean\":1,\"jobs.rejected\":1e6}}", true);
  CU_ASSERT_TRUE(cJSON_IsNull(schema_get(tree, "all_on_demand")));
  cJSON_Delete(tree);
}

/* ---- Replications ----------------------------------------------------------------------------------- */

static cJSON *replications_of(const char *pools, const char *more) {
  char path[300];
  struct hr_replicates *replicates = NULL;
  struct hr_error error = {0};
  const struct hr_perf perf = {0};
  struct setup setup = load(pools, more);
  struct hr_replicate_config config = {
      .scenario = setup.scenario, .trace = setup.trace, .spec = &setup.scenario->replications, .n_threads = 2};
  if (hr_replicate(&config, &replicates, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(replicates);
  snprintf(path, sizeof path, "%s", files_path("summary.json"));
  CU_ASSERT_EQUAL_FATAL(hr_replicates_write_json(path, replicates, &perf, NULL), HR_OK);
  hr_replicates_destroy(replicates);
  finish(&setup);
  return expect_fit(path, PROJECT_DIR "/docs/reference/schemas/summary.schema.json");
}

static void replications_fit(void) {
  cJSON *tree = replications_of(RESERVED "," SPOT, "\"replications\":{\"count\":4}");
  const cJSON *inner = schema_get(tree, "replications");
  CU_ASSERT_EQUAL(cJSON_GetArraySize(schema_get(inner, "seeds")), 4);
  CU_ASSERT_TRUE(cJSON_IsNull(schema_get(inner, "metric")));
  CU_ASSERT_TRUE(cJSON_IsObject(schema_get(schema_get(inner, "by_class"), "inference")));
  CU_ASSERT_TRUE(cJSON_IsObject(schema_get(schema_get(inner, "by_tenant"), "b")));
  cJSON_Delete(tree);
}

static void replications_until_a_precision_fit(void) {
  cJSON *tree = replications_of(
      SPOT,
      "\"replications\":{\"metric\":\"jct_s.mean\",\"relative\":0.5,\"min\":3,\"max\":6,\"workload\":{\"growth\":2}}");
  const cJSON *inner = schema_get(tree, "replications");
  CU_ASSERT_TRUE(cJSON_IsString(schema_get(inner, "metric")));
  CU_ASSERT_TRUE(cJSON_IsNumber(schema_get(inner, "relative")));
  cJSON_Delete(tree);
}

static void deterministic_replications_fit(void) {
  cJSON *tree = replications_of(RESERVED, "\"replications\":{\"count\":4}");
  CU_ASSERT_TRUE(cJSON_IsFalse(schema_get(schema_get(tree, "replications"), "random")));
  cJSON_Delete(tree);
}

/* ---- The schema itself ------------------------------------------------------------------------------ */

/* Returns whether the schema requires every key, so that every output has all keys. */
static bool all_required(const cJSON *rule) {
  const cJSON *key;
  cJSON_ArrayForEach(key, schema_get(rule, "properties")) {
    if (!schema_lists(schema_get(rule, "required"), key->string)) printf("\n  not required: %s\n", key->string);
    if (!schema_lists(schema_get(rule, "required"), key->string) || !all_required(key)) return false;
  }
  cJSON_ArrayForEach(key, schema_get(rule, "$defs")) {
    if (!all_required(key)) return false;
  }
  const cJSON *items = schema_get(rule, "items");
  return !items || all_required(items);
}

static void every_key_is_required(void) {
  cJSON *schema = read_json(PROJECT_DIR "/docs/reference/schemas/plan.schema.json");
  CU_ASSERT_TRUE(all_required(schema));
  cJSON_Delete(schema);
}

TEST_MAIN("plan: schemas", TEST(deterministic_plan_fits), TEST(plan_with_spot_fits), TEST(infeasible_plan_fits),
          TEST(plan_without_prices_fits), TEST(replications_fit), TEST(replications_until_a_precision_fit),
          TEST(deterministic_replications_fit), TEST(every_key_is_required))
