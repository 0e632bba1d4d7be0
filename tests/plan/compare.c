/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole comparisons. Each run must equal a run of its policy alone, for any number of threads. The output files must
   contain the results of the runs. */

#include "plan/compare/compare.h"
#include "harness.h"
#include "output_files.h"
#include "schema_check.h"
#include "setup.h"

#include <math.h>
#include <string.h>

static struct hr_comparison *compare(const struct setup *setup) {
  struct hr_comparison *comparison = NULL;
  struct hr_error error = {0};
  if (hr_compare(&setup->config, &comparison, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(comparison);
  return comparison;
}

static void expect(double value, double expected) {
  if (fabs(value - expected) > 1e-9) printf("\n  %.17g, not %.17g\n", value, expected);
  CU_ASSERT(fabs(value - expected) <= 1e-9);
}

static const char *const two[] = {"fifo", "sjf", NULL};
static const char *const three[] = {"fifo", "sjf", "largest"};

/* The four jobs of setup.c wait for 0, 99, 148 and 0 s with fifo, and for 0, 109, 98 and 0 s with sjf. */
static void exact_differences_if_deterministic(void) {
  struct setup setup;
  setup_make(&setup, POOL, "", two, 0);
  struct hr_comparison *comparison = compare(&setup);
  CU_ASSERT_EQUAL(comparison->n_replications, 1);
  struct hr_estimate wait = hr_comparison_estimate(comparison, 1, "wait_mean_s");
  expect(wait.value, (109 + 98) / 4.0);
  expect(wait.difference, (109 + 98 - 99 - 148) / 4.0);
  expect(wait.low, wait.difference);
  expect(wait.high, wait.difference);
  CU_ASSERT_TRUE(wait.significant);
  struct hr_estimate makespan = hr_comparison_estimate(comparison, 1, "makespan_s");
  expect(makespan.difference, 0);
  CU_ASSERT_FALSE(makespan.significant);
  CU_ASSERT_FALSE(hr_comparison_estimate(comparison, 0, "wait_mean_s").significant);
  CU_ASSERT(isnan(hr_comparison_estimate(comparison, 1, "cost_total_usd").value));
  CU_ASSERT(isnan(hr_comparison_estimate(comparison, 1, "preemptions").value));
  CU_ASSERT(isnan(hr_comparison_estimate(comparison, 1, "no such figure").value));
  hr_comparison_destroy(comparison);
  setup_finish(&setup);
}

static bool has_note(const struct hr_comparison *comparison, const char *text) {
  const struct hr_notes *notes = hr_comparison_notes(comparison);
  for (size_t i = 0; i < notes->count; i++)
    if (strstr(notes->text[i], text)) return true;
  return false;
}

/* Without randomness, replications that the user requests are rejected. Replications of the scenario are skipped with a
   note.
 */
static void replications_need_randomness(void) {
  struct setup setup;
  struct hr_comparison *comparison;
  struct hr_error error = {0};
  setup_make(&setup, POOL, "", two, 12);
  CU_ASSERT_EQUAL(hr_compare(&setup.config, &comparison, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NULL(comparison);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "12 replications would be identical: nothing is random"));
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "--set 'replications.workload="));
  setup.config.n_replications = 0;
  setup.scenario->replications.count = 12;
  comparison = compare(&setup);
  CU_ASSERT_EQUAL(comparison->n_replications, 1);
  CU_ASSERT_TRUE(has_note(comparison, "the replications of 'replications.count' were skipped"));
  hr_comparison_destroy(comparison);
  setup_finish(&setup);
}

/* The digest of a run of one policy with the workload that belongs to a seed. */
static uint64_t digest_of_redrawn(const struct setup *setup, uint32_t contender, uint64_t seed) {
  struct hr_trace *drawn = NULL;
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_trace_redraw(setup->trace, &setup->scenario->replications.workload, seed, &drawn, NULL),
                        HR_OK);
  struct hr_run_config config = {.trace = drawn,
                                 .cluster = &setup->scenario->cluster,
                                 .policy = setup->choices[contender].ops,
                                 .params = setup->choices[contender].params,
                                 .seed = seed,
                                 .horizon_us = HR_NEVER_US,
                                 .classes = setup->scenario->classes};
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, NULL), HR_OK);
  uint64_t digest = result->digest;
  hr_result_destroy(result);
  hr_trace_destroy(drawn);
  return digest;
}

/* Replication r of every policy has the workload that is drawn with the seed of replication r. Workloads differ, so
   differences have intervals although nothing else is random. */
static void workloads_are_paired(void) {
  struct setup setup;
  setup_make(&setup, POOL, "", two, 6);
  setup.scenario->replications.workload.growth = 1.5;
  struct hr_comparison *comparison = compare(&setup);
  CU_ASSERT_EQUAL(comparison->n_replications, 6);
  CU_ASSERT_FALSE(comparison->exact);
  bool varied = false;
  for (uint32_t i = 0; i < 2; i++)
    for (uint32_t r = 0; r < 6; r++) {
      uint64_t digest = comparison->digests[i * 6 + r];
      CU_ASSERT_EQUAL(digest, digest_of_redrawn(&setup, i, hr_replication_seed(setup.scenario->seed, r)));
      varied = varied || digest != comparison->digests[i * 6];
    }
  CU_ASSERT_TRUE(varied);
  CU_ASSERT_PTR_EQUAL(hr_comparison_trace(comparison), comparison->workloads.list[0].trace);
  struct hr_estimate wait = hr_comparison_estimate(comparison, 1, "wait_mean_s");
  CU_ASSERT(wait.low < wait.high);
  hr_comparison_destroy(comparison);
  setup_finish(&setup);
}

/* A policy from a shared object may be random, so its replications are run. If all runs are identical, nothing has an
   interval. The built-in policy is run once, since its replications are known to be equal. */
static void identical_runs_have_no_interval(void) {
  static int library;
  struct setup setup;
  setup_make(&setup, POOL, "", two, 4);
  setup.choices[1].library = &library;
  struct hr_comparison *comparison = compare(&setup);
  setup.choices[1].library = NULL; /* this value is not a handle and must not be closed */
  CU_ASSERT_EQUAL(comparison->n_replications, 4);
  CU_ASSERT(comparison->fixed[0] && !comparison->fixed[1]);
  CU_ASSERT(comparison->identical[0] && comparison->identical[1]);
  struct hr_estimate wait = hr_comparison_estimate(comparison, 1, "wait_mean_s");
  expect(wait.difference, (109 + 98 - 99 - 148) / 4.0);
  CU_ASSERT(isnan(wait.low) && isnan(wait.high) && !wait.significant);
  CU_ASSERT_FALSE(hr__compare_has_intervals(comparison));
  CU_ASSERT_TRUE(has_note(comparison, "all 4 replications of each policy are identical"));
  hr_comparison_destroy(comparison);
  setup_finish(&setup);
}

/* ---- Titles ----------------------------------------------------------------------------------------- */

static void expect_titles(const char *const *labels, const char *const *expected, const char *const *expected_short) {
  struct hr_contender contenders[8] = {{0}};
  uint32_t count = 0;
  for (; labels[count]; count++) {
    bool labelled = labels[count][0] == '!';
    contenders[count] = (struct hr_contender){.label = labels[count] + labelled, .labelled = labelled};
  }
  char **titles = hr__compare_titles(contenders, count);
  CU_ASSERT_PTR_NOT_NULL_FATAL(titles);
  struct hr__short_titles cut;
  CU_ASSERT_FATAL(hr__compare_short_titles(contenders, titles, count, 13, &cut));
  for (uint32_t i = 0; i < count; i++) {
    CU_ASSERT_STRING_EQUAL(titles[i], expected[i]);
    CU_ASSERT_STRING_EQUAL(cut.cells[i], (expected_short ? expected_short : expected)[i]);
    CU_ASSERT_EQUAL(cut.numbered, cut.cells[i][0] == '1' + (char)i && cut.cells[i][1] == ' ');
  }
  hr__compare_titles_free(titles, count);
  hr__compare_short_titles_finish(&cut, count);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void titles_show_what_differs(void) {
  expect_titles(LIST("fifo", "sjf", "easy:order=largest"), LIST("fifo", "sjf", "easy:order=largest"),
                LIST("fifo", "sjf", "order=largest"));
  expect_titles(LIST("queue:order=sjf,placement=first-fit", "queue:placement=best-fit,order=sjf"),
                LIST("first-fit", "best-fit"), NULL);
  expect_titles(LIST("queue:order=sjf,backfill=skip", "queue:order=sjf", "queue"),
                LIST("order=sjf,backfill=skip", "order=sjf", "queue"), LIST("sjf,skip", "sjf", "queue"));
  expect_titles(LIST("./a/mine.so:k=1", "./a/mine.so:k=2", "sjf:k=1"), LIST("mine:k=1", "mine:k=2", "sjf:k=1"), NULL);
  expect_titles(LIST("./a/mine.so", "./b/mine.so"), LIST("./a/mine.so", "./b/mine.so"), NULL);
  expect_titles(LIST("!my own name", "queue:order=sjf"), LIST("my own name", "queue"), NULL);
  expect_titles(LIST("queue:order=sjf"), LIST("queue:order=sjf"), LIST("queue"));
  expect_titles(LIST("queue:order=sjf,backfill=easy,placement=best-fit",
                     "queue:order=sjf,backfill=conservative,placement=best-fit", "fifo"),
                LIST("queue:backfill=easy", "queue:backfill=conservative", "fifo"),
                LIST("easy", "conservative", "fifo"));
  expect_titles(LIST("gang-slice:slice_s=60,rows=2", "gang-slice:slice_s=60,rows=4", "sjf"),
                LIST("gang-slice:rows=2", "gang-slice:rows=4", "sjf"), LIST("rows=2", "rows=4", "sjf"));
  expect_titles(LIST("queue:order=sjf,backfill=easy", "queue:order=sjf,backfill=conservative", "easy"),
                LIST("queue:backfill=easy", "queue:backfill=conservative", "easy"),
                LIST("backfill=easy", "backfill=c...", "easy"));
}

/* Labels that differ only at the end, only at the beginning, or only in the middle remain distinct when they are
   shortened. */
static void cut_titles_stay_distinct(void) {
  expect_titles(LIST("!the same begin, 1", "!the same begin, 2"), LIST("the same begin, 1", "the same begin, 2"),
                LIST("...e begin, 1", "...e begin, 2"));
  expect_titles(
      LIST("!begin and end: 1 the same end", "!begin and end: 2 the same end", "!a begin and end: 1 the same end"),
      LIST("begin and end: 1 the same end", "begin and end: 2 the same end", "a begin and end: 1 the same end"),
      LIST("1 begin an...", "2 begin an...", "3 a begin ..."));
}

/* The digest of hr_sim_run for one policy and seed. */
static uint64_t digest_alone(const struct setup *setup, uint32_t contender, uint64_t seed) {
  struct hr_run_config config = {.trace = setup->trace,
                                 .cluster = &setup->scenario->cluster,
                                 .policy = setup->choices[contender].ops,
                                 .params = setup->choices[contender].params,
                                 .seed = seed,
                                 .horizon_us = HR_NEVER_US,
                                 .classes = setup->scenario->classes};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, NULL), HR_OK);
  uint64_t digest = result->digest;
  hr_result_destroy(result);
  return digest;
}

static void replication_0_is_the_run_alone(void) {
  struct setup setup;
  setup_make(&setup, SPOT, "", two, 3);
  struct hr_comparison *comparison = compare(&setup);
  CU_ASSERT_EQUAL(comparison->n_replications, 3);
  for (uint32_t i = 0; i < 2; i++)
    CU_ASSERT_EQUAL(hr_comparison_summary(comparison, i)->digest, digest_alone(&setup, i, setup.scenario->seed));
  CU_ASSERT_NOT_EQUAL(digest_alone(&setup, 0, hr_replication_seed(5, 1)), digest_alone(&setup, 0, 5));
  hr_comparison_destroy(comparison);
  setup_finish(&setup);
}

static void seeds_derive_from_the_scenario_seed(void) {
  CU_ASSERT_EQUAL(hr_replication_seed(7, 0), 7);
  CU_ASSERT_EQUAL(hr_replication_seed(UINT64_MAX, 0), UINT64_MAX);
  for (uint32_t i = 1; i < 100; i++) {
    CU_ASSERT(hr_replication_seed(7, i) < UINT64_C(1) << 53);
    CU_ASSERT_NOT_EQUAL(hr_replication_seed(7, i), hr_replication_seed(8, i));
    for (uint32_t k = 0; k < i; k++) CU_ASSERT_NOT_EQUAL(hr_replication_seed(7, i), hr_replication_seed(7, k));
  }
}

/* Compares a policy with itself. Both runs must have the same random events. `shares`: the pool shares GPUs. */
static void expect_common_events(const char *pool, bool shares) {
  static const char *const twins[] = {"queue", "fifo", NULL};
  struct setup setup;
  setup_make(&setup, pool, DRAWN, twins, 6);
  struct hr_comparison *comparison = compare(&setup);
  bool varied = false;
  for (const struct hr__compare_column *at = hr__compare_columns; at->block; at++) {
    const char *metric = hr__metric_rows[at->metric].column;
    struct hr_estimate estimate = hr_comparison_estimate(comparison, 1, metric);
    bool is_of_fragments = strstr(metric, "fragmentation") || strstr(metric, "gang") || !strcmp(metric, "stranded");
    const bool is_of_services = hr__metric_rows[at->metric].flags & HR_METRIC_OF_REQUESTS; /* no requests */
    CU_ASSERT_EQUAL(isnan(estimate.value), is_of_services || (is_of_fragments && !shares));
    if (isnan(estimate.value)) continue;
    CU_ASSERT(estimate.difference == 0 && estimate.low == 0 && estimate.high == 0);
  }
  double cost = hr_comparison_estimate(comparison, 0, "cost_total_usd").value;
  varied = cost != (double)hr_comparison_summary(comparison, 0)->costs->total_uusd / 1e6;
  CU_ASSERT_TRUE(varied);
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_comparison_notes(comparison)->text[0], "the same policy"));
  hr_comparison_destroy(comparison);
  setup_finish(&setup);
}

static void policies_share_random_events(void) {
  expect_common_events(SPOT, false);
  expect_common_events(SHARED_SPOT, true);
}

/* The default number of replications: one if nothing is random, otherwise ten. */
static void default_number_of_replications(void) {
  static const char *const pools[] = {POOL, SPOT};
  static const uint32_t expected[] = {1, HR_DEFAULT_MIN_REPLICATIONS};
  for (size_t i = 0; i < 2; i++) {
    struct setup setup;
    setup_make(&setup, pools[i], "", two, 0);
    struct hr_comparison *comparison = compare(&setup);
    CU_ASSERT_EQUAL(comparison->n_replications, expected[i]);
    CU_ASSERT_EQUAL(comparison->exact, i == 0);
    hr_comparison_destroy(comparison);
    setup_finish(&setup);
  }
}

static void one_random_run_has_no_interval(void) {
  struct setup setup;
  setup_make(&setup, SPOT, "", two, 1);
  struct hr_comparison *comparison = compare(&setup);
  struct hr_estimate wait = hr_comparison_estimate(comparison, 1, "wait_mean_s");
  CU_ASSERT(!isnan(wait.difference) && isnan(wait.low) && isnan(wait.high) && !wait.significant);
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_comparison_notes(comparison)->text[0], "--replications"));
  hr_comparison_destroy(comparison);
  setup_finish(&setup);
}

/* ---- Files ------------------------------------------------------------------------------------------ */

static char *json_of(const struct hr_comparison *comparison) {
  CU_ASSERT_EQUAL_FATAL(hr_comparison_write_json(files_path("c.json"), comparison, NULL, NULL), HR_OK);
  return files_read(files_path("c.json"));
}

static void same_results_for_any_number_of_threads(void) {
  char *texts[3];
  for (uint32_t i = 0; i < 3; i++) {
    struct setup setup;
    setup_make(&setup, SPOT, DRAWN, three, 4);
    setup.config.n_threads = 1u << i;
    struct hr_comparison *comparison = compare(&setup);
    texts[i] = json_of(comparison);
    *strstr(texts[i], "\n  \"perf\": {") = '\0';
    hr_comparison_destroy(comparison);
    setup_finish(&setup);
  }
  CU_ASSERT_STRING_EQUAL(texts[0], texts[1]);
  CU_ASSERT_STRING_EQUAL(texts[0], texts[2]);
  for (uint32_t i = 0; i < 3; i++) free(texts[i]);
}

/* The quantiles of waits 0, 99, 148, 0 and of completion times 100, 149, 158, 20, in seconds. */
static void distributions_are_those_of_the_jobs(void) {
  struct setup setup;
  setup_make(&setup, POOL, "", two, 1);
  struct hr_comparison *comparison = compare(&setup);
  const struct hr__compare_curves *curves = &comparison->curves[0];
  expect(curves->wait_s[0], 0);
  expect(curves->wait_s[100], 99 / 2.0);
  expect(curves->wait_s[200], 148);
  expect(curves->jct_s[0], 20);
  expect(curves->jct_s[100], (100 + 149) / 2.0);
  expect(curves->jct_s[190], hr_comparison_summary(comparison, 0)->jct_s.p95);
  expect(curves->jct_s[200], 158);
  hr_comparison_destroy(comparison);
  setup_finish(&setup);
}

static cJSON *read_schema(const char *path) {
  char *text = files_read(path);
  cJSON *schema = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
  free(text);
  return schema;
}

/* Each summary must fit the schema of summaries, once an empty `perf` is added. */
static void expect_summaries_fit(const cJSON *tree) {
  cJSON *schema = read_schema(PROJECT_DIR "/docs/reference/schemas/summary.schema.json"), *policy;
  cJSON_ArrayForEach(policy, schema_get(tree, "policies")) {
    cJSON *summary = cJSON_GetObjectItemCaseSensitive(policy, "summary");
    CU_ASSERT_PTR_NULL(schema_get(summary, "perf"));
    cJSON_AddItemToObject(summary, "perf",
                          cJSON_Parse("{\"load_s\":0,\"sim_s\":0,\"jobs_per_s\":null,\"peak_rss_mib\":0}"));
    CU_ASSERT_TRUE(schema_fits(schema, summary, "summary"));
  }
  cJSON_Delete(schema);
}

static void expect_fit(const char *pool, uint32_t replications) {
  cJSON *schema = read_schema(PROJECT_DIR "/docs/reference/schemas/compare.schema.json");
  struct setup setup;
  setup_make(&setup, pool, "", two, replications);
  struct hr_comparison *comparison = compare(&setup);
  char *text = json_of(comparison);
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "comparison"));
  expect_summaries_fit(tree);
  CU_ASSERT_PTR_NOT_NULL_FATAL(cJSON_AddNumberToObject(tree, "extra", 0));
  CU_ASSERT_FALSE(schema_fits(schema, tree, "on purpose"));
  cJSON_Delete(tree);
  free(text);
  hr_comparison_destroy(comparison);
  setup_finish(&setup);
  cJSON_Delete(schema);
}

static void every_key_is_in_the_schema(void) {
  expect_fit(POOL, 1);
  expect_fit(SPOT, 1);
  expect_fit(SPOT, 3);
}

static void csv_has_a_row_per_metric(void) {
  struct setup setup;
  setup_make(&setup, POOL, "", two, 1);
  struct hr_comparison *comparison = compare(&setup);
  CU_ASSERT_EQUAL_FATAL(hr_comparison_write_csv(files_path("c.csv"), comparison, NULL), HR_OK);
  char *text = files_read(files_path("c.csv"));
  CU_ASSERT_EQUAL(strncmp(text, "policy,group,name,metric,value,difference,low,high,significant\n", 62), 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nfifo,all,,wait_mean_s,61.75,0,0,0,false\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nsjf,all,,wait_mean_s,51.75,-10,-10,-10,true\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nsjf,tenant,b,wait_mean_s,103.5,-20,-20,-20,true\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nsjf,tenant,,wait_mean_s,0,0,0,0,false\n"));
  CU_ASSERT_PTR_NULL(strstr(text, "cost_total_usd"));
  free(text);
  hr_comparison_destroy(comparison);
  setup_finish(&setup);
}

static void write_errors_are_reported(void) {
  struct setup setup;
  struct hr_error error = {0};
  setup_make(&setup, POOL, "", two, 1);
  struct hr_comparison *comparison = compare(&setup);
  CU_ASSERT_EQUAL(hr_comparison_write_markdown("/dev/full", comparison, &error), HR_IO_ERROR);
  CU_ASSERT_EQUAL(hr_comparison_write_json("/dev/full", comparison, NULL, &error), HR_IO_ERROR);
  CU_ASSERT_EQUAL(hr_comparison_write_csv("/dev/full", comparison, &error), HR_IO_ERROR);
  CU_ASSERT_NOT_EQUAL(hr_comparison_write_markdown(files_path("nowhere/c.md"), comparison, &error), HR_OK);
  hr_comparison_destroy(comparison);
  setup_finish(&setup);
}

TEST_MAIN("plan: compare", TEST(exact_differences_if_deterministic), TEST(replications_need_randomness),
          TEST(workloads_are_paired), TEST(identical_runs_have_no_interval), TEST(titles_show_what_differs),
          TEST(cut_titles_stay_distinct), TEST(distributions_are_those_of_the_jobs),
          TEST(replication_0_is_the_run_alone), TEST(seeds_derive_from_the_scenario_seed),
          TEST(policies_share_random_events), TEST(default_number_of_replications),
          TEST(one_random_run_has_no_interval), TEST(same_results_for_any_number_of_threads),
          TEST(every_key_is_in_the_schema), TEST(csv_has_a_row_per_metric), TEST(write_errors_are_reported))
