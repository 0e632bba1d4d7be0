/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests of advice on small scenarios. The best change and its savings are computed by hand. The savings are also
   compared with runs of the scenario with and without the overrides of the advice. */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/planning.h"
#include "output_files.h"
#include "schema_check.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Hours in a month. */
#define MONTH_H 730.0
/* Tolerance in dollars for amounts that were rounded to micro-dollars and then scaled to a month. */
#define CENT 0.01

static struct hr_scenario *scenario;
static struct hr_trace *trace;
static struct hr_advice *advice;

static void write_file(const char *name, const char *text) {
  FILE *file = fopen(files_path(name), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
}

static struct hr_scenario *load(const char *const *overrides, size_t count) {
  char path[300];
  struct hr_error error = {0};
  struct hr_scenario *loaded = NULL;
  snprintf(path, sizeof path, "%s", files_path("s.json"));
  if (hr_scenario_load(path, overrides, count, &loaded, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(loaded);
  return loaded;
}

static void begin(const char *json, const char *jobs) {
  char path[300];
  write_file("s.json", json);
  write_file("jobs.csv", jobs);
  scenario = load(NULL, 0);
  snprintf(path, sizeof path, "%s", files_path("jobs.csv"));
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(path, &(struct hr_trace_options){.format = "csv"}, &trace, NULL), HR_OK);
}

static enum hr_status ask(uint32_t replications, uint32_t n_threads, struct hr_error *error) {
  struct hr_advise_config config = {
      .scenario = scenario, .trace = trace, .n_replications = replications, .n_threads = n_threads};
  hr_advice_destroy(advice);
  advice = NULL;
  return hr_advise(&config, &advice, error);
}

static void ask_without_error(uint32_t replications) {
  struct hr_error error = {0};
  if (ask(replications, 2, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(advice);
}

static void end(void) {
  hr_advice_destroy(advice);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
  advice = NULL;
}

/* Returns the first item of a kind; fails if none exists. */
static struct hr_advice_item find(enum hr_advice_kind kind) {
  struct hr_advice_item item = {0};
  for (size_t i = 0; hr_advice_item(advice, i, &item); i++)
    if (item.kind == kind) return item;
  hr_advice_print(stdout, advice, NULL, false);
  CU_FAIL_FATAL("there is no advice of that kind");
  return item;
}

static bool has(enum hr_advice_kind kind) {
  struct hr_advice_item item;
  for (size_t i = 0; hr_advice_item(advice, i, &item); i++)
    if (item.kind == kind) return true;
  return false;
}

/* Runs the scenario with overrides, as a user would. Returns the mean monthly cost over the replications. */
static double monthly_usd(const char *const *overrides, size_t count, uint32_t replications) {
  struct hr_scenario *loaded = load(overrides, count);
  struct hr_replication_spec spec = loaded->replications;
  spec.count = replications;
  struct hr_replicate_config config = {
      .scenario = loaded, .overrides = overrides, .n_overrides = count, .trace = trace, .spec = &spec, .n_threads = 1};
  struct hr_replicates *replicates = NULL;
  struct hr_replicated metric = {0};
  CU_ASSERT_EQUAL_FATAL(hr_replicate(&config, &replicates, NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_replicates_metric(replicates, "monthly_usd", &metric, NULL), HR_OK);
  hr_replicates_destroy(replicates);
  hr_scenario_destroy(loaded);
  return metric.mean;
}

static void check_dollars(const struct hr_advice_item *item, uint32_t replications) {
  double before = monthly_usd(NULL, 0, replications), after = monthly_usd(item->set, item->n_set, replications);
  CU_ASSERT_DOUBLE_EQUAL(item->monthly_usd.mean, after - before, 1e-6 * before);
}

static void expect_reason(const struct hr_advice_item *item, const char *reason) {
  CU_ASSERT(!item->advised);
  CU_ASSERT_PTR_NOT_NULL_FATAL(item->reason);
  CU_ASSERT_STRING_EQUAL(item->reason, reason);
}

/* ---- Idle reservations ----------------------------------------------------------------------------- */

#define HEAD "{\"name\":\"t\",\"seed\":7,\"cluster\":{\"pools\":["
#define TAIL "]},\"policy\":{\"name\":\"queue\",\"market\":\"spot-first\",\"spot_hold_s\":0}}"
#define RESERVED                                                                                                       \
  "{\"name\":\"r\",\"gpu\":\"V100\",\"nodes\":8,\"gpus_per_node\":1,\"market\":\"reserved\",\"usd_per_gpu_hour\":1,"   \
  "\"on_demand_usd_per_gpu_hour\":3}"
#define JOBS "job_id,submit_s,gpus,duration_s,tenant,class\n"

/* Five of eight GPUs are used all the time. Three nodes are idle and cost 730 dollars a month each. */
static void test_idle_nodes(void) {
  begin(HEAD RESERVED TAIL, JOBS "1,0,1,360000,a,training\n2,0,1,360000,a,training\n3,0,1,360000,a,training\n"
                                 "4,0,1,360000,a,training\n5,0,1,180000,a,training\n6,180000,1,180000,a,training\n");
  ask_without_error(0);
  struct hr_advice_item item = find(HR_ADVICE_IDLE_RESERVATION);
  CU_ASSERT(item.advised);
  CU_ASSERT_STRING_EQUAL(item.set[0], "cluster.pools.0.nodes=5");
  CU_ASSERT_STRING_EQUAL(item.pool, "r");
  CU_ASSERT_STRING_EQUAL(item.tenant, "a");
  CU_ASSERT_DOUBLE_EQUAL(item.monthly_usd.mean, -3 * MONTH_H, CENT);
  CU_ASSERT_DOUBLE_EQUAL(item.monthly_usd.high, -3 * MONTH_H, CENT);
  CU_ASSERT_EQUAL(item.wait_p95_s.after, 0);
  CU_ASSERT_EQUAL(item.completed.after, 1);
  check_dollars(&item, 1);
  end();
}

/* One GPU is needed only for a tenth of the time. It is cheaper on demand, although the on-demand price is three times
   as high: it costs 3 x 0.1 instead of 1 dollar per hour. */
static void test_rarely_used_node(void) {
  begin(HEAD RESERVED TAIL, JOBS "1,0,7,360000,a,training\n2,180000,1,36000,a,training\n3,359999,1,1,a,training\n");
  ask_without_error(0);
  struct hr_advice_item item = find(HR_ADVICE_IDLE_RESERVATION);
  CU_ASSERT(item.advised);
  CU_ASSERT_STRING_EQUAL(item.set[0], "cluster.pools.0.nodes=7");
  CU_ASSERT(item.monthly_usd.mean < -0.6 * MONTH_H && item.monthly_usd.mean > -0.7 * MONTH_H);
  check_dollars(&item, 1);
  end();
}

/* Nodes cost a third of the on-demand price. All are busy half of the time, which is more than a third, so all of them
   pay off and no proposal is run. */
static void test_reservation_that_pays(void) {
  begin(HEAD RESERVED TAIL, JOBS "1,0,8,180000,a,training\n2,359999,8,1,a,training\n");
  ask_without_error(0);
  CU_ASSERT_FALSE(hr_advice_item(advice, 0, &(struct hr_advice_item){0}));
  end();
}

/* ---- Idle on-demand nodes -------------------------------------------------------------------------- */

static void test_always_on(void) {
  begin(HEAD "{\"name\":\"o\",\"gpu\":\"V100\",\"nodes\":4,\"gpus_per_node\":1,\"market\":\"on-demand\","
             "\"usd_per_gpu_hour\":2}]},\"classes\":{\"default\":{\"spot\":false}},\"policy\":{\"name\":\"queue\","
             "\"market\":\"static\"}}",
        JOBS "1,0,1,360000,a,training\n2,0,1,360000,a,training\n3,359999,1,1,a,training\n");
  ask_without_error(0);
  struct hr_advice_item item = find(HR_ADVICE_IDLE_RESERVATION);
  CU_ASSERT(item.advised);
  CU_ASSERT_EQUAL_FATAL(item.n_set, 1);
  CU_ASSERT_STRING_EQUAL(item.set[0], "policy.market=on-demand-only");
  /* Without the change, four GPUs at $2 an hour are paid for all the time. With it, only 720,001 GPU seconds are paid
     for in the submit window of 359,999 s. */
  CU_ASSERT_DOUBLE_EQUAL(item.monthly_usd.mean, 2 * MONTH_H * ((2 * 360000 + 1) / 359999.0 - 4), CENT);
  check_dollars(&item, 1);
  end();
}

/* ---- Goals ----------------------------------------------------------------------------------------- */

/* Of two on-demand nodes, the second one is needed only for an hour in the middle and for the last job. Nodes that are
   always on boot only before job 1: the waits are 30, 0 and 0 min, with an interpolated p95 of 27 min. If idle nodes
   are released, each job waits for 30 min. Without goals, this increase is rejected; with goals, it depends on the
   bound of the goal. */
#define BOOTING(plan)                                                                                                  \
  HEAD "{\"name\":\"o\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":1,\"market\":\"on-demand\","                    \
       "\"usd_per_gpu_hour\":2,\"boot_s\":1800}]},\"classes\":{\"default\":{\"spot\":false}},"                         \
       "\"policy\":{\"name\":\"queue\",\"market\":\"static\"}" plan "}"
#define PLAN(goals) ",\"plan\":{\"variables\":[{\"pool\":\"o\",\"values\":[1,2]}],\"constraints\":[" goals "]}"
static const char booting_jobs[] = JOBS "1,0,1,360000,a,training\n2,180000,1,3600,a,training\n"
                                        "3,359999,1,1,a,training\n";

static void expect_goals(const char *json, const char *reason) {
  begin(json, booting_jobs);
  ask_without_error(0);
  struct hr_advice_item item = find(HR_ADVICE_IDLE_RESERVATION);
  CU_ASSERT_STRING_EQUAL(item.set[0], "policy.market=on-demand-only");
  CU_ASSERT_EQUAL(item.advised, reason == NULL);
  if (reason) CU_ASSERT(item.reason && strncmp(item.reason, reason, strlen(reason)) == 0);
  end();
}

static void test_goals_decide(void) {
  expect_goals(BOOTING(""), "the p95 wait of training grows from 27 min to 30 min");
  expect_goals(BOOTING(PLAN("\"wait_s.p95 of training <= 1 h\"")), NULL);
  expect_goals(BOOTING(PLAN("\"wait_s.p95 of training <= 28 min\"")),
               "it misses the goal wait_s.p95 of training <= 28 min: 30 min, today 27 min");
  /* If the scenario misses a goal, the advice must not increase the distance to the bound. Here, the advice reduces the
     cost, which is above its bound. */
  expect_goals(BOOTING(PLAN("\"wait_s.p95 <= 1 h\",\"monthly_usd <= 1 $\"")), NULL);
}

/* ---- Spot ------------------------------------------------------------------------------------------ */

#define ON_DEMAND                                                                                                      \
  "{\"name\":\"o\",\"gpu\":\"V100\",\"nodes\":4,\"gpus_per_node\":1,\"market\":\"on-demand\",\"usd_per_gpu_hour\":3}"
/* A spot pool without nodes. */
#define SPOT                                                                                                           \
  ",{\"name\":\"s\",\"gpu\":\"V100\",\"nodes\":0,\"gpus_per_node\":1,\"market\":\"spot\",\"usd_per_gpu_hour\":1,"      \
  "\"on_demand_usd_per_gpu_hour\":3,\"spot\":{\"model\":\"none\",\"notice_s\":30}}"
#define WITH_CLASSES(classes)                                                                                          \
  "]},\"classes\":" classes ",\"policy\":{\"name\":\"queue\",\"market\":\"spot-first\",\"spot_hold_s\":0}}"
#define TWO_CLASSES                                                                                                    \
  JOBS "1,0,1,360000,a,training\n2,0,1,360000,a,training\n3,0,1,360000,b,inference\n4,360000,1,1,b,inference\n"

/* Training uses two GPUs, which spot nodes can replace at a third of the price. Inference must not use the spot nodes.
 */
static void test_spot(void) {
  begin(HEAD ON_DEMAND SPOT WITH_CLASSES(
            "{\"training\":{\"checkpoint\":{\"policy\":\"continuous\"}},\"inference\":{\"spot\":false}}"),
        TWO_CLASSES);
  ask_without_error(0);
  struct hr_advice_item item = find(HR_ADVICE_SPOT);
  CU_ASSERT(item.advised);
  CU_ASSERT_STRING_EQUAL(item.class_, "training");
  CU_ASSERT_STRING_EQUAL(item.tenant, "a");
  CU_ASSERT_EQUAL_FATAL(item.n_set, 1);
  CU_ASSERT_PTR_NOT_NULL(strstr(item.set[0], "\"classes\":[\"training\"]"));
  CU_ASSERT_DOUBLE_EQUAL(item.monthly_usd.mean, -2 * 2 * MONTH_H, 0.01 * 4 * MONTH_H);
  check_dollars(&item, 1);
  end();
}

/* Spot nodes cost as much as on-demand nodes, so they must not be recommended. */
static void test_spot_that_saves_nothing(void) {
  begin(HEAD ON_DEMAND SPOT WITH_CLASSES(
            "{\"training\":{\"checkpoint\":{\"policy\":\"continuous\"}},\"inference\":{\"spot\":false}}"),
        TWO_CLASSES);
  hr_scenario_destroy(scenario);
  static const char *const expensive[] = {"cluster.pools.1.usd_per_gpu_hour=3"};
  scenario = load(expensive, 1);
  struct hr_advise_config config = {
      .scenario = scenario, .overrides = expensive, .n_overrides = 1, .trace = trace, .n_threads = 1};
  CU_ASSERT_EQUAL_FATAL(hr_advise(&config, &advice, NULL), HR_OK);
  struct hr_advice_item item = find(HR_ADVICE_SPOT);
  expect_reason(&item, "it saves nothing");
  end();
}

static void test_not_for_spot(void) {
  begin(HEAD ON_DEMAND SPOT WITH_CLASSES("{\"inference\":{\"spot\":false}}"), TWO_CLASSES);
  ask_without_error(0);
  CU_ASSERT(!has(HR_ADVICE_SPOT));
  CU_ASSERT_EQUAL_FATAL(hr_advice_notes(advice)->count, 2);
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_advice_notes(advice)->text[0], "start over"));
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_advice_notes(advice)->text[1], "off spot"));
  end();
}

/* ---- Checkpoints ----------------------------------------------------------------------------------- */

#define RECLAIMED                                                                                                      \
  "{\"name\":\"s\",\"gpu\":\"V100\",\"nodes\":30,\"gpus_per_node\":1,\"market\":\"spot\",\"usd_per_gpu_hour\":1,"      \
  "\"on_demand_usd_per_gpu_hour\":3,\"spot\":{\"model\":\"exponential\",\"rate_per_h\":0.2,\"notice_s\":0}}"
#define INTERVAL(seconds)                                                                                              \
  WITH_CLASSES("{\"training\":{\"checkpoint\":{\"policy\":\"interval\",\"interval_s\":" seconds                        \
               ",\"write_s\":60},\"restart_s\":120}}")

/* Returns twenty jobs of one day each, submitted every hour. */
static const char *long_jobs(void) {
  static char text[2000];
  int used = snprintf(text, sizeof text, JOBS);
  for (int i = 0; i < 20; i++)
    used += snprintf(text + used, sizeof text - (size_t)used, "%d,%d,1,86400,a,training\n", i + 1, i * 3600);
  return text;
}

/* The mean time between interruptions of a node is 5 h, and a checkpoint takes 60 s: sqrt(2 x 60 x 18000) = 1470 s. The
   interval in the scenario is ten times as long. */
static void test_interval_too_long(void) {
  begin(HEAD RECLAIMED INTERVAL("14700"), long_jobs());
  ask_without_error(8);
  struct hr_advice_item item = find(HR_ADVICE_CHECKPOINT);
  CU_ASSERT(item.advised);
  CU_ASSERT_STRING_EQUAL(item.class_, "training");
  CU_ASSERT_STRING_EQUAL(item.from, "every 4 h 5 min");
  CU_ASSERT_STRING_EQUAL(item.to, "every 23 min 50 s (young-daly)");
  CU_ASSERT_STRING_EQUAL(item.set[0], "classes.training={\"checkpoint\":{\"write_s\":60,\"policy\":\"young-daly\"},"
                                      "\"restart_s\":120}");
  CU_ASSERT(item.monthly_usd.high < 0);
  check_dollars(&item, 8);
  end();
}

static void test_interval_too_short(void) {
  begin(HEAD RECLAIMED INTERVAL("140"), long_jobs());
  ask_without_error(8);
  CU_ASSERT(find(HR_ADVICE_CHECKPOINT).advised);
  end();
}

static void test_interval_about_right(void) {
  begin(HEAD RECLAIMED INTERVAL("2000"), long_jobs());
  ask_without_error(2);
  CU_ASSERT(!has(HR_ADVICE_CHECKPOINT));
  end();
}

/* Without checkpoints, all work of an interrupted job is lost. The scenario states neither the size nor the write time
   of a checkpoint, so the advice assumes a write time of 60 s. */
static void test_no_checkpoints(void) {
  begin(HEAD RECLAIMED WITH_CLASSES("{\"default\":{\"restart_s\":120}}"), long_jobs());
  ask_without_error(4);
  struct hr_advice_item item = find(HR_ADVICE_CHECKPOINT);
  CU_ASSERT(item.advised);
  CU_ASSERT_STRING_EQUAL(item.set[0], "classes.training={\"restart_s\":120,\"checkpoint\":{\"policy\":\"young-daly\","
                                      "\"write_s\":60}}");
  CU_ASSERT_PTR_NOT_NULL(strstr(item.assumed->text[0], "60 s"));
  check_dollars(&item, 4);
  end();
}

/* A single run may show savings by chance, so it must not lead to advice. */
static void test_one_replication_is_not_significant(void) {
  begin(HEAD RECLAIMED INTERVAL("14700"), long_jobs());
  ask_without_error(1);
  struct hr_advice_item item = find(HR_ADVICE_CHECKPOINT);
  CU_ASSERT(item.monthly_usd.mean < 0);
  expect_reason(&item, "one replication cannot show whether the savings are significant");
  end();
}

/* With the proposed interval, less work is probably lost, but two runs are too few for a significant difference. */
static void test_interval_includes_zero(void) {
  begin(HEAD RECLAIMED INTERVAL("2700"), long_jobs());
  ask_without_error(2);
  struct hr_advice_item item = find(HR_ADVICE_CHECKPOINT);
  CU_ASSERT(item.monthly_usd.mean < 0 && item.monthly_usd.high > 0);
  expect_reason(&item, "savings are not significant (the interval includes 0)");
  end();
}

/* ---- GPU types ------------------------------------------------------------------------------------- */

#define TWO_TYPES                                                                                                      \
  "{\"name\":\"big\",\"gpu\":\"A100-80\",\"nodes\":4,\"gpus_per_node\":1,\"market\":\"reserved\","                     \
  "\"usd_per_gpu_hour\":4},{\"name\":\"small\",\"gpu\":\"T4\",\"nodes\":0,\"gpus_per_node\":1,\"market\":"             \
  "\"reserved\","                                                                                                      \
  "\"usd_per_gpu_hour\":1}"
#define MODELS(speed)                                                                                                  \
  "]},\"models\":{\"reference\":\"A100-80\",\"speeds\":{\"m\":{\"T4\":" speed                                          \
  "}}},\"policy\":{\"name\":\"queue\",\"market\":\"spot-first\"}}"
#define NEEDS "job_id,submit_s,gpus,duration_s,class,model,gpu_mem_gb,gpu_type\n"

/* At most one of four A100 is in use at a time, and each job requests 10 of its 80 GB. The advice replaces the four
   A100 by four T4, at a quarter of the price. */
static void test_smaller_type(void) {
  begin(HEAD TWO_TYPES MODELS("0.5"), NEEDS "1,0,1,36000,training,m,10,\n2,100000,1,36000,training,m,10,\n");
  ask_without_error(0);
  struct hr_advice_item item = find(HR_ADVICE_GPU_TYPE);
  CU_ASSERT(item.advised);
  CU_ASSERT_STRING_EQUAL(item.from, "A100-80");
  CU_ASSERT_STRING_EQUAL(item.to, "T4");
  CU_ASSERT_DOUBLE_EQUAL(item.monthly_usd.mean, -4 * 3 * MONTH_H, CENT);
  check_dollars(&item, 1);
  end();
}

#define ON_DEMAND_TYPES                                                                                                \
  "{\"name\":\"big\",\"gpu\":\"A100-80\",\"nodes\":4,\"gpus_per_node\":1,\"market\":\"on-demand\","                    \
  "\"usd_per_gpu_hour\":4},{\"name\":\"small\",\"gpu\":\"T4\",\"nodes\":0,\"gpus_per_node\":1,\"market\":\"on-"        \
  "demand\","                                                                                                          \
  "\"usd_per_gpu_hour\":1}"

/* Two classes share an elastic pool. Inference requests an eighth of a GPU's memory, training most of it. */
static void test_smaller_type_for_one_class(void) {
  begin(HEAD ON_DEMAND_TYPES MODELS("1"), NEEDS "1,0,1,360000,training,m,70,\n2,0,2,360000,inference,m,10,\n"
                                                "3,360000,1,1,training,m,70,\n");
  ask_without_error(0);
  struct hr_advice_item item = find(HR_ADVICE_GPU_TYPE);
  CU_ASSERT(item.advised);
  CU_ASSERT_STRING_EQUAL(item.class_, "inference");
  CU_ASSERT_PTR_NOT_NULL(strstr(item.set[0], "\"classes\":[\"inference\"]"));
  CU_ASSERT_STRING_EQUAL(item.set[1], "cluster.pools.0.classes=[\"training\",\"fine-tune\",\"batch-inference\","
                                      "\"interactive\",\"data-prep\"]");
  /* the nodes are paid until 360,001 s; the submit window is 360,000 s */
  CU_ASSERT_DOUBLE_EQUAL(item.monthly_usd.mean, -2 * 3 * MONTH_H * 360001 / 360000, CENT);
  check_dollars(&item, 1);
  end();
}

/* The jobs request 17 GB, and a T4 has 16 GB. */
static void test_no_smaller_type(void) {
  begin(HEAD TWO_TYPES MODELS("0.5"), NEEDS "1,0,1,36000,training,m,17,\n2,100000,1,36000,training,m,17,\n");
  ask_without_error(0);
  CU_ASSERT(!has(HR_ADVICE_GPU_TYPE));
  end();
}

static void test_type_not_acceptable_to_jobs(void) {
  begin(HEAD TWO_TYPES MODELS("0.5"), NEEDS "1,0,1,36000,training,m,10,A100-80\n2,100000,1,36000,training,m,10,\n");
  ask_without_error(0);
  struct hr_advice_item item = find(HR_ADVICE_GPU_TYPE);
  expect_reason(&item, "50.00 % of training complete, before 100.00 %");
  end();
}

/* On T4 the jobs run at a tenth of the speed. Job 1 ends at 360,000 s, so job 2, submitted at 100,000 s, waits for
   260,000 s. */
static void test_type_that_is_too_slow(void) {
  begin(HEAD TWO_TYPES MODELS("0.1"), NEEDS "1,0,4,36000,training,m,10,\n2,100000,4,36000,training,m,10,\n");
  ask_without_error(0);
  struct hr_advice_item item = find(HR_ADVICE_GPU_TYPE);
  expect_reason(&item, "the p95 wait of training grows from 0 s to 2 d 21 h");
  CU_ASSERT_DOUBLE_EQUAL(item.wait_p95_s.after, 0.95 * (360000 - 100000), 1);
  end();
}

/* Without models all GPU types have equal speed, and the advice states this assumption. At the catalogue's speeds the
   A10G saves nothing. */
static void test_speed_assumed_equal(void) {
  begin(HEAD "{\"name\":\"p\",\"nodes\":1,\"market\":\"on-demand\",\"provider\":\"aws\",\"region\":\"us-east-1\","
             "\"instance\":\"p4d.24xlarge\"}]},\"classes\":{\"default\":{\"spot\":false}},"
             "\"policy\":{\"name\":\"queue\",\"market\":\"on-demand-only\"}}",
        NEEDS "1,0,8,36000,training,m,15,\n2,100000,8,36000,training,m,15,\n");
  ask_without_error(0);
  bool said = false, refused = false;
  struct hr_advice_item item;
  for (size_t i = 0; hr_advice_item(advice, i, &item); i++) {
    CU_ASSERT_EQUAL(item.kind, HR_ADVICE_GPU_TYPE);
    for (size_t k = 0; k < item.assumed->count; k++) said |= strncmp(item.assumed->text[k], "speed assumed", 13) == 0;
    if (strncmp(item.to, "A10G", 4) == 0) {
      CU_ASSERT(!item.advised);
      CU_ASSERT(item.monthly_usd.mean < 0);
      refused = strncmp(item.reason, "at the catalogue's speeds", 25) == 0;
    }
    check_dollars(&item, 1);
  }
  CU_ASSERT(said);
  CU_ASSERT(refused);
  end();
}

/* ---- No advice ------------------------------------------------------------------------------------- */

static void test_no_proposals(void) {
  begin(HEAD ON_DEMAND WITH_CLASSES("{\"default\":{\"spot\":false}}"), TWO_CLASSES);
  ask_without_error(0);
  CU_ASSERT_FALSE(hr_advice_item(advice, 0, &(struct hr_advice_item){0}));
  FILE *out = fopen(files_path("table"), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  CU_ASSERT_EQUAL(hr_advice_print(out, advice, NULL, false), HR_OK);
  fclose(out);
  char *text = files_read(files_path("table"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "Nothing found that saves anything"));
  free(text);
  end();
}

static void test_no_prices(void) {
  struct hr_error error = {0};
  begin(HEAD "{\"name\":\"p\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":1}]},\"policy\":{\"name\":\"queue\"}}",
        JOBS "1,0,1,10,a,training\n");
  CU_ASSERT_EQUAL(ask(0, 1, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NULL(advice);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "--set cluster.pools.0.usd_per_gpu_hour"));
  end();
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

static cJSON *json_of(uint32_t n_threads) {
  char path[300];
  CU_ASSERT_EQUAL_FATAL(ask(6, n_threads, NULL), HR_OK);
  snprintf(path, sizeof path, "%s", files_path("a.json"));
  CU_ASSERT_EQUAL_FATAL(hr_advice_write_json(path, advice, NULL, NULL), HR_OK);
  hr_advice_destroy(advice);
  advice = NULL;
  char *text = files_read(path);
  cJSON *json = cJSON_Parse(text);
  free(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(json);
  return json;
}

/* ---- Reliability and power ---------------------------------------------------------------------------- */

#define OWNED(nodes, more)                                                                                             \
  "{\"name\":\"o\",\"gpu\":\"V100\",\"nodes\":" nodes ",\"gpus_per_node\":1,\"market\":\"owned\","                     \
  "\"usd_per_gpu_hour\":1," more "}"

/* Each node fails every 5 h on average, and the checkpoints are ten times too far apart. The cost of owned nodes does
   not change, so ETTR decides. */
static void test_interval_with_failures(void) {
  begin(HEAD OWNED("20", "\"faults\":{\"mtbf_h\":5,\"repair_s\":60}") INTERVAL("14700"), long_jobs());
  ask_without_error(4);
  struct hr_advice_item item = find(HR_ADVICE_CHECKPOINT);
  CU_ASSERT(item.advised);
  CU_ASSERT_STRING_EQUAL_FATAL(item.figure, "faults.ettr");
  CU_ASSERT(item.figure_value.after > 1.1 * item.figure_value.before);
  CU_ASSERT(item.figure_change.low > 0);
  CU_ASSERT_DOUBLE_EQUAL(item.figure_change.mean, item.figure_value.after - item.figure_value.before, 1e-9);
  end();
}

/* The same without prices: the cost is unknown, and the advice is the same. */
static void test_failures_without_prices(void) {
  begin(HEAD "{\"name\":\"o\",\"gpu\":\"V100\",\"nodes\":20,\"gpus_per_node\":1,\"faults\":{\"mtbf_h\":5,"
             "\"repair_s\":60}}" INTERVAL("14700"),
        long_jobs());
  ask_without_error(4);
  struct hr_advice_item item = find(HR_ADVICE_CHECKPOINT);
  CU_ASSERT(item.advised);
  CU_ASSERT_STRING_EQUAL_FATAL(item.figure, "faults.ettr");
  FILE *out = fopen(files_path("advice.txt"), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  CU_ASSERT_EQUAL(hr_advice_print(out, advice, NULL, false), HR_OK);
  fclose(out);
  char *text = files_read(files_path("advice.txt"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "cost unknown"));
  CU_ASSERT_PTR_NULL(strstr(text, "nan"));
  free(text);
  end();
}

/* 20 nodes, each out of order for 1 / 11 of the time: with probability 99 % at most 5 are. The scenario has 12 spares.
 */
static void test_too_many_spares(void) {
  begin(HEAD OWNED("20", "\"faults\":{\"mtbf_h\":20,\"repair_s\":7200,\"spares\":12}") INTERVAL("1800"), long_jobs());
  ask_without_error(4);
  struct hr_advice_item item = find(HR_ADVICE_SPARES);
  CU_ASSERT(item.advised);
  CU_ASSERT_STRING_EQUAL_FATAL(item.figure, "wait_s.p95");
  CU_ASSERT(item.figure_change.high < 0);
  CU_ASSERT_PTR_EQUAL(strstr(item.set[0], "cluster.pools.0.faults.spares="), item.set[0]);
  int spares = (int)strtol(item.set[0] + strlen("cluster.pools.0.faults.spares="), NULL, 10);
  CU_ASSERT(spares >= 4 &&
            spares <= 6); /* the advice uses the share measured in a run, so it may propose one more or less than 5 */
  end();
}

/* One of twenty nodes fails 50 times as often as the others, and is reported. If all nodes fail equally often, no node
   is reported. */
static void test_bad_nodes(void) {
  begin(HEAD OWNED("20", "\"faults\":{\"mtbf_h\":200,\"repair_s\":60,\"bad_nodes\":{\"share\":0.05,\"factor\":50}}")
            INTERVAL("14700"),
        long_jobs());
  ask_without_error(2);
  struct hr_advice_item item = find(HR_ADVICE_BAD_NODES);
  CU_ASSERT_STRING_EQUAL(item.set[0], "policy.exclude_nodes=3");
  CU_ASSERT_STRING_EQUAL_FATAL(item.figure, "faults.ettr");
  CU_ASSERT(item.figure_value.before > 0 && item.figure_value.after > 0);
  end();
  begin(HEAD OWNED("20", "\"faults\":{\"mtbf_h\":200,\"repair_s\":60}") INTERVAL("14700"), long_jobs());
  ask_without_error(2);
  CU_ASSERT(!has(HR_ADVICE_BAD_NODES));
  end();
}

/* The GPU draws at most 300 W and can be limited to 200 W or 100 W. With a limit of 200 W, the job takes 1.05 times as
   long and uses 200 W x 10.5 h instead of 300 W x 10 h. With a limit of 100 W it would take twice as long. */
static void test_power_cap(void) {
  begin(HEAD OWNED(
            "1",
            "\"power\":{\"gpu_idle_w\":50,\"gpu_max_w\":300,\"host_idle_w\":0,\"host_max_w\":0,\"caps\":["
            "{\"limit_w\":300,\"time_ratio\":1,\"power_ratio\":1},{\"limit_w\":200,\"time_ratio\":1.05,"
            "\"power_ratio\":0.7},{\"limit_w\":100,\"time_ratio\":2,\"power_ratio\":0.3}]}") "]},\"policy\":{\"name\":"
                                                                                             "\"queue\"}}",
        "job_id,submit_s,gpus,duration_s\n1,0,1,36000\n");
  ask_without_error(1);
  struct hr_advice_item item = find(HR_ADVICE_POWER_CAP);
  CU_ASSERT(item.advised);
  CU_ASSERT_STRING_EQUAL(item.set[0], "cluster.pools.0.power.gpu_cap_w=200");
  CU_ASSERT_STRING_EQUAL_FATAL(item.figure, "energy.site_kwh");
  CU_ASSERT_DOUBLE_EQUAL(item.figure_value.before, 3, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(item.figure_value.after, 0.2 * 10.5, 1e-5);
  cJSON *json = json_of(1);
  char *text = files_read(PROJECT_DIR "/docs/reference/schemas/advise.schema.json");
  cJSON *schema = cJSON_Parse(text);
  CU_ASSERT(schema_fits(schema, json, "advice"));
  cJSON_Delete(json);
  cJSON_Delete(schema);
  free(text);
  end();
}

/* The JSON is identical for any number of threads, and fits the schema. */
static void test_json(void) {
  begin(HEAD RECLAIMED "," RESERVED INTERVAL("14700"), long_jobs());
  cJSON *one = json_of(1), *three = json_of(3);
  char *text = files_read(PROJECT_DIR "/docs/reference/schemas/advise.schema.json");
  cJSON *schema = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
  CU_ASSERT(schema_fits(schema, one, "advice"));
  CU_ASSERT(cJSON_GetArraySize(schema_get(one, "advice")) + cJSON_GetArraySize(schema_get(one, "rejected")) >= 1);
  cJSON_DeleteItemFromObject(one, "perf");
  cJSON_DeleteItemFromObject(three, "perf");
  CU_ASSERT(cJSON_Compare(one, three, true));
  cJSON_Delete(one);
  cJSON_Delete(three);
  cJSON_Delete(schema);
  free(text);
  end();
}

TEST_MAIN("advise", TEST(test_goals_decide), TEST(test_idle_nodes), TEST(test_rarely_used_node),
          TEST(test_reservation_that_pays), TEST(test_always_on), TEST(test_spot), TEST(test_spot_that_saves_nothing),
          TEST(test_not_for_spot), TEST(test_interval_too_long), TEST(test_interval_too_short),
          TEST(test_interval_about_right), TEST(test_no_checkpoints), TEST(test_one_replication_is_not_significant),
          TEST(test_interval_includes_zero), TEST(test_smaller_type), TEST(test_smaller_type_for_one_class),
          TEST(test_no_smaller_type), TEST(test_type_not_acceptable_to_jobs), TEST(test_type_that_is_too_slow),
          TEST(test_speed_assumed_equal), TEST(test_no_proposals), TEST(test_no_prices), TEST(test_json),
          TEST(test_interval_with_failures), TEST(test_failures_without_prices), TEST(test_too_many_spares),
          TEST(test_bad_nodes), TEST(test_power_cap))
