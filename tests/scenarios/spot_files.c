/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of spot capacity and of spot prices. Small records are written by the tests. Public records are compared with
   published values. */

#include "harness.h"
#include "messages.h"
#include "scenarios/build/builder.h"
#include "sim/market/market.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define S HR_SECOND_US

static struct hr_error error;
static struct hr_notes notes;

static const char *write_file(const char *text) {
  static const char path[] = "spot-file-of-a-test";
  FILE *file = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
  return path;
}

/* ---- Levels ----------------------------------------------------------------------------------------- */

static bool levels_are(const char *text, uint32_t n_nodes, int64_t period_s, uint32_t n_steps, const int64_t *wanted) {
  struct hr__spot_levels levels;
  const char *path = write_file(text);
  if (hr__spot_levels_read(path, n_nodes, &levels, &notes, &error) != HR_OK) {
    fprintf(stderr, "\n    %s\n", error.text);
    return false;
  }
  bool same = levels.n_steps == n_steps && levels.period_us == period_s * S;
  for (uint32_t i = 0; same && i < n_steps; i++)
    same = levels.steps[i].at_us == wanted[2 * i] * S && levels.steps[i].level == wanted[2 * i + 1];
  free(levels.steps);
  remove(path);
  return same;
}
#define LEVELS_ARE(text, n_nodes, period_s, n_steps, ...)                                                              \
  CU_ASSERT(levels_are(text, n_nodes, period_s, n_steps, (const int64_t[]){__VA_ARGS__}))

static void counts_at_intervals_are_read_as_steps(void) {
  LEVELS_ARE("{\"metadata\": {\"gap_seconds\": 300}, \"data\": [1, 1, 0, 0, 1]}", 1, 1500, 3, 0, 1, 600, 0, 1200, 1);
  LEVELS_ARE("{\"metadata\": {\"gap_seconds\": 10}, \"data\": [16, 8, 9, 0]}", 4, 40, 3, 0, 4, 10, 2, 30, 0);
}

static void fleet_events_are_read_as_node_counts(void) {
  LEVELS_ARE("1000,add,node1\n1000,add,node2\n5000,remove,node1\n9000,add,node3\n12000,remove,node3\n", 2, 12, 4, 0, 0,
             1, 2, 5, 1, 9, 2);
}

static bool has_note(const char *words) {
  for (size_t i = 0; i < notes.count; i++)
    if (strstr(notes.text[i], words)) return true;
  return false;
}

static void dated_counts_start_at_the_first_date(void) {
  LEVELS_ARE("2021-12-11, 11:11:30, 50\n2021-12-11, 11:12:30, 25\n2021-12-11, 11:12:00, 50\n2021-12-11, 11:13:30, 50\n",
             50, 120, 2, 0, 50, 60, 25);
  CU_ASSERT(notes.count > 0 && has_note("1 lines ignored"));
}

static bool levels_rejected(const char *text, const char *part) {
  struct hr__spot_levels levels;
  const char *path = write_file(text);
  bool rejected =
      hr__spot_levels_read(path, 1, &levels, &notes, &error) == HR_BAD_INPUT && message_has(error.text, part);
  if (!rejected) fprintf(stderr, "\n    wanted: %s\n    got: %s\n", part, error.text);
  remove(path);
  return rejected;
}

static void invalid_records_are_rejected(void) {
  CU_ASSERT(levels_rejected("{\"metadata\": {}, \"data\": [1]}", "'metadata.gap_seconds' is missing"));
  CU_ASSERT(levels_rejected("{\"metadata\": {\"gap_seconds\": -1}, \"data\": [1]}", "no number of seconds above 0"));
  CU_ASSERT(levels_rejected("{\"metadata\": {\"gap_seconds\": 1}, \"data\": []}", "'data' is missing"));
  CU_ASSERT(levels_rejected("{\"metadata\": {\"gap_seconds\": 1}, \"data\": [1, 0.5]}", "entry 1 of 'data'"));
  CU_ASSERT(levels_rejected("{\"metadata\": {\"gap_seconds\": 1}, \"data\": [0, 0]}", "never has a node"));
  CU_ASSERT(levels_rejected("{\"metadata\"", "spot-file-of-a-test"));
  CU_ASSERT(levels_rejected("0,add,a\n5,take,b\n", ":2: '5,take,b'"));
  CU_ASSERT(levels_rejected("0,remove,a\n", ":1: '0,remove,a' is not possible"));
  CU_ASSERT(levels_rejected("9,add,a\n5,add,b\n", ":2: '5,add,b' is not in order"));
  CU_ASSERT(levels_rejected("0,add,a\n", "covers no time"));
  CU_ASSERT(levels_rejected("2021-12-41, 10:00:00, 5\n", ":1:"));
  CU_ASSERT(levels_rejected("nothing\n", ":1: 'nothing' is not"));
}

/* ---- Prices ----------------------------------------------------------------------------------------- */

static const char price_file[] = "unix_time,instance_type,accelerator,accelerator_count,region,availability_zone,"
                                 "on_demand_usd_per_h,spot_usd_per_h\n"
                                 "1000,p3.2xlarge,V100,1.0,us-east-1,use1-az1,3.06,1.000001\n"
                                 "1000,p3.2xlarge,V100,1.0,us-east-1,use1-az2,3.06,0.9\n"
                                 "4600,p3.2xlarge,V100,1.0,us-east-1,use1-az2,3.06,1.5\n"
                                 "8200,p3.8xlarge,V100,4.0,us-east-1,use1-az1,12.24,4.000002\n"
                                 "300000,p3.2xlarge,V100,1.0,us-east-1,use1-az1,3.06,0.8\n";

static bool prices_are(struct hr__spot_price_query query, uint32_t n_steps, const int64_t *wanted) {
  struct hr__spot_prices prices;
  const char *path = write_file(price_file);
  if (hr__spot_prices_read(path, &query, &prices, &notes, &error) != HR_OK) {
    fprintf(stderr, "\n    %s\n", error.text);
    return false;
  }
  bool same = prices.n_steps == n_steps;
  for (uint32_t i = 0; same && i < n_steps; i++)
    same = prices.steps[i].at_us == wanted[2 * i] * S && prices.steps[i].uusd_h == wanted[2 * i + 1];
  free(prices.steps);
  remove(path);
  return same;
}
#define PRICES_ARE(query, n_steps, ...) CU_ASSERT(prices_are(query, n_steps, (const int64_t[]){__VA_ARGS__}))

static void the_lowest_price_of_the_zones_applies(void) {
  static const char *const first[] = {"use1-az1"};
  struct hr__spot_price_query query = {.instance = "p3.2xlarge", .gpus = 1, .from_s = HR_UNKNOWN_US};
  PRICES_ARE(query, 3, 0, 900000, 3600, 1000001, 299000, 800000);
  CU_ASSERT(has_note("zone 'use1-az1' from Unix time 1000 to 300000"));
  query.zones = first;
  query.n_zones = 1;
  PRICES_ARE(query, 2, 0, 1000001, 299000, 800000);
  query.from_s = 5000;
  PRICES_ARE(query, 2, 0, 1000001, 295000, 800000);
  query.from_s = 0; /* at a time before the record the first price applies */
  PRICES_ARE(query, 2, 0, 1000001, 300000, 800000);
  query = (struct hr__spot_price_query){.instance = "p3.8xlarge", .gpus = 4, .from_s = HR_UNKNOWN_US};
  PRICES_ARE(query, 1, 0, 1000001); /* half a micro-dollar is rounded up */
}

/* Prices of accelerators without an instance type. Counts are written with or without a decimal point. */
static void prices_of_accelerators(void) {
  static const char text[] = "unix_time,instance_type,accelerator,accelerator_count,region,availability_zone,"
                             "on_demand_usd_per_h,spot_usd_per_h\n"
                             "1000,,A100,1,r,ra,2.9,0.88\n"
                             "1000,,A100,2.0,r,ra,5.8,1.8\n"
                             "4600,,A100,2,r,ra,5.8,2\n"
                             "4600,,A100-80GB,2,r,ra,5.8,3\n";
  struct hr__spot_price_query query = {.accelerator = "A100", .gpus = 2, .from_s = HR_UNKNOWN_US};
  struct hr__spot_prices prices;
  const char *path = write_file(text);
  CU_ASSERT_EQUAL_FATAL(hr__spot_prices_read(path, &query, &prices, &notes, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(prices.n_steps, 2);
  CU_ASSERT_EQUAL(prices.steps[0].uusd_h, 900000);
  CU_ASSERT_EQUAL(prices.steps[1].at_us, 3600 * S);
  CU_ASSERT_EQUAL(prices.steps[1].uusd_h, 1000000);
  free(prices.steps);
  CU_ASSERT(has_note("prices of 'A100' have no instance type"));
  query.gpus = 3;
  CU_ASSERT_EQUAL(hr__spot_prices_read(path, &query, &prices, &notes, &error), HR_BAD_INPUT);
  CU_ASSERT(message_has(error.text, "no prices of 3 x 'A100'"));
  query.accelerator = "A100-80G";
  CU_ASSERT_EQUAL(hr__spot_prices_read(path, &query, &prices, &notes, &error), HR_BAD_INPUT);
  CU_ASSERT(message_has(error.text, "accelerator 'A100-80G' is unknown; did you mean 'A100-80GB'?"));
  remove(path);
}

/* Three changes have no price. Two of them are not counted: one is in another zone, and one is of another instance
   type. */
static void changes_without_a_price_are_skipped_and_counted(void) {
  static const char text[] = "unix_time,instance_type,region,availability_zone,spot_usd_per_h\n"
                             "0,p3.2xlarge,us-east-1,a,2\n100,p3.2xlarge,us-east-1,a,\n200,p3.2xlarge,us-east-1,b,\n"
                             "300,p3.8xlarge,us-east-1,a,\n400,p3.2xlarge,us-east-1,a,3\n";
  static const char *const zones[] = {"a"};
  struct hr__spot_price_query query = {
      .instance = "p3.2xlarge", .zones = zones, .n_zones = 1, .gpus = 1, .from_s = HR_UNKNOWN_US};
  struct hr__spot_prices prices;
  CU_ASSERT_EQUAL_FATAL(hr__spot_prices_read(write_file(text), &query, &prices, &notes, &error), HR_OK);
  CU_ASSERT_EQUAL(prices.n_steps, 2);
  CU_ASSERT(prices.steps[0].uusd_h == 2000000 && prices.steps[1].uusd_h == 3000000 && prices.steps[1].at_us == 400 * S);
  CU_ASSERT(has_note("1 changes of 'p3.2xlarge' ignored: no spot price"));
  free(prices.steps);
  remove("spot-file-of-a-test");
}

static bool prices_rejected(struct hr__spot_price_query query, const char *text, const char *part) {
  struct hr__spot_prices prices;
  const char *path = write_file(text);
  bool rejected =
      hr__spot_prices_read(path, &query, &prices, &notes, &error) == HR_BAD_INPUT && message_has(error.text, part);
  if (!rejected) fprintf(stderr, "\n    wanted: %s\n    got: %s\n", part, error.text);
  remove(path);
  return rejected;
}

static void errors_suggest_similar_names(void) {
  static const char *const zones[] = {"use1-az9"};
  struct hr__spot_price_query query = {.instance = "p3.2xlarg", .gpus = 1, .from_s = HR_UNKNOWN_US};
  CU_ASSERT(prices_rejected(query, price_file, "'p3.2xlarg' is unknown; did you mean 'p3.2xlarge'?"));
  query.instance = "p3.2xlarge";
  query.region = "eu-west-1";
  CU_ASSERT(prices_rejected(query, price_file, "region with such prices 'eu-west-1' is unknown; there are: us-east-1"));
  query.region = NULL;
  query.zones = zones;
  query.n_zones = 1;
  CU_ASSERT(
      prices_rejected(query, price_file, "zone with such prices 'use1-az9' is unknown; did you mean 'use1-az1'?"));
  query.n_zones = 0;
  CU_ASSERT(prices_rejected(query,
                            "unix_time,instance_type,region,availability_zone,spot_usd_per_h\n1,p3.2xlarge,a,b,-1\n",
                            ":2: column 'spot_usd_per_h': '-1'"));
  CU_ASSERT(prices_rejected(query, "time,price\n1,2\n", "unix_time"));
}

static void price_walks_have_their_mean_and_bounds(void) {
  struct hr__price_walk walk = {.mean_uusd_h = 1000000,
                                .min_uusd_h = 100000,
                                .max_uusd_h = 2000000,
                                .volatility = 0.2,
                                .reversion_h = 12,
                                .interval_us = 3600 * S,
                                .n_steps = 100000};
  struct hr__spot_prices prices;
  CU_ASSERT_EQUAL_FATAL(hr__price_walk_draw(&walk, 1, 0, &prices.steps, &prices.n_steps, &error), HR_OK);
  double sum = 0, squares = 0, lagged = 0, before = 0;
  for (uint32_t i = 0; i < prices.n_steps; i++) {
    CU_ASSERT_FATAL(prices.steps[i].uusd_h >= walk.min_uusd_h && prices.steps[i].uusd_h <= walk.max_uusd_h);
    double x = log((double)prices.steps[i].uusd_h / 1e6);
    sum += x, squares += x * x, lagged += x * before, before = x;
  }
  double n = prices.n_steps, variance = squares / n - sum / n * sum / n;
  /* The walk has about 100,000 / 24 independent values. Three standard errors of the mean are 0.01. */
  CU_ASSERT(fabs(sum / n) < 0.01);
  CU_ASSERT(fabs(sqrt(variance) - 0.2) < 0.01);
  CU_ASSERT(fabs(lagged / n / variance - exp(-1.0 / 12)) < 0.01);
  free(prices.steps);
}

/* ---- Real records ----------------------------------------------------------------------------------- */

static bool read_public(const char *name, uint32_t n_nodes, struct hr__spot_levels *levels) {
  char path[500];
  snprintf(path, sizeof path, "%s/%s", REAL_TRACES_DIR, name);
  if (access(path, R_OK) != 0) {
    fprintf(stderr, "\n    skipped: %s is missing\n", path);
    return false;
  }
  enum hr_status status = hr__spot_levels_read(path, n_nodes, levels, &notes, &error);
  if (status != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  return true;
}

/* Sets `*availability` to the available node time divided by the total node time, and `*lost_per_h` to the number of
   lost nodes per hour of available node time. */
static void measure(const struct hr__spot_levels *levels, uint32_t n_nodes, double *availability, double *lost_per_h) {
  struct hr_spot_spec spec = {
      .model = HR_SPOT_TRACE, .levels = levels->steps, .n_levels = levels->n_steps, .period_us = levels->period_us};
  double up = 0;
  for (uint32_t i = 0; i < levels->n_steps; i++) {
    int64_t until_us = i + 1 < levels->n_steps ? levels->steps[i + 1].at_us : levels->period_us;
    up += (double)levels->steps[i].level * (double)(until_us - levels->steps[i].at_us);
  }
  *availability = up / n_nodes / (double)levels->period_us;
  *lost_per_h = 3600 / hr__spot_mean_life_s(&spec);
}

/* Nine zones with one V100 each in 2023. They were available 64 % of the time on average. */
static void availability_of_nine_zones(void) {
  static const char *const zones[] = {"us-east-1a", "us-east-1c", "us-east-1d", "us-east-1f", "us-east-2a",
                                      "us-east-2b", "us-west-2a", "us-west-2b", "us-west-2c"};
  static const double published[] = {0.1667, 0.4665, 0.4473, 0.5912, 0.7593, 0.6822, 0.8831, 0.9050, 0.8913};
  double sum = 0, hours_up = 0, lost = 0;
  for (int i = 0; i < 9; i++) {
    char name[100];
    struct hr__spot_levels levels;
    double availability, lost_per_h;
    snprintf(name, sizeof name, "spot-skypilot/availability/1-node/aws-02-15-2023/%s_v100_1.json", zones[i]);
    if (!read_public(name, 1, &levels)) return;
    measure(&levels, 1, &availability, &lost_per_h);
    CU_ASSERT_DOUBLE_EQUAL(availability, published[i], 0.0002);
    sum += availability;
    hours_up += availability * (double)levels.period_us / 3.6e9;
    lost += lost_per_h * availability * (double)levels.period_us / 3.6e9;
    free(levels.steps);
  }
  CU_ASSERT_DOUBLE_EQUAL(sum / 9, 0.64, 0.01);
  CU_ASSERT_DOUBLE_EQUAL(lost / hours_up, 0.298, 0.005);
}

static void loss_rates_of_fleets(void) {
  struct hr__spot_levels levels;
  double availability, lost_per_h;
  if (!read_public("spot-bamboo/p3-trace.csv", 64, &levels)) return;
  measure(&levels, 64, &availability, &lost_per_h);
  CU_ASSERT_DOUBLE_EQUAL(lost_per_h, 0.61, 0.1);
  free(levels.steps);
  if (!read_public("spot-bamboo/gcloud/a100x1-east1b.txt", 64, &levels)) return;
  measure(&levels, 64, &availability, &lost_per_h);
  CU_ASSERT_DOUBLE_EQUAL(lost_per_h, 0.10, 0.03);
  free(levels.steps);
}

static void a_million_price_changes_are_read(void) {
  struct hr__spot_price_query query = {.instance = "p3.2xlarge", .gpus = 1, .from_s = HR_UNKNOWN_US};
  char path[500];
  snprintf(path, sizeof path, "%s/spot-prices/aws_gpu_price_changes.csv.gz", REAL_TRACES_DIR);
  if (access(path, R_OK) != 0) {
    fprintf(stderr, "\n    skipped: %s is missing\n", path);
    return;
  }
  struct hr__spot_prices prices;
  query.region = "us-east-1";
  enum hr_status status = hr__spot_prices_read(path, &query, &prices, &notes, &error);
  if (status != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT(prices.n_steps > 100);
  for (uint32_t i = 0; i < prices.n_steps; i++)
    CU_ASSERT_FATAL(prices.steps[i].uusd_h > 0 && prices.steps[i].uusd_h <= 3060000);
  free(prices.steps);
}

TEST_MAIN("spot files", TEST(counts_at_intervals_are_read_as_steps), TEST(fleet_events_are_read_as_node_counts),
          TEST(dated_counts_start_at_the_first_date), TEST(invalid_records_are_rejected),
          TEST(the_lowest_price_of_the_zones_applies), TEST(prices_of_accelerators),
          TEST(changes_without_a_price_are_skipped_and_counted), TEST(errors_suggest_similar_names),
          TEST(price_walks_have_their_mean_and_bounds), TEST(availability_of_nine_zones), TEST(loss_rates_of_fleets),
          TEST(a_million_price_changes_are_read))
