/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values that a pool takes from the catalogue, compared with the catalogue, and errors for unknown names. */

#include "headroom/unstable/catalog.h"
#include "loading.h"

#include <inttypes.h>

#define POLICY "\"policy\":{\"name\":\"queue\"}"
/* A scenario with one pool. `members` start at the beginning of the third line. */
#define WITH(members) "{" POLICY ",\"cluster\":{\"pools\":[\n{\"name\":\"p\",\"nodes\":4,\n" members "}]}}"
#define P4D "\"provider\":\"aws\",\"instance\":\"p4d.24xlarge\","
#define OD "\"market\":\"on-demand\",\"boot_s\":0"

static struct hr_catalog *catalog;

static void catalogue_loads(void) {
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_load(NULL, &catalog, &error), HR_OK);
}

static struct hr_scenario *load_text(const char *text) {
  write_text(text);
  return load(NULL, 0);
}

static bool has_note_with_prefix(const struct hr_scenario *scenario, const char *beginning) {
  for (size_t i = 0; i < scenario->notes.count; i++)
    if (strncmp(scenario->notes.text[i], beginning, strlen(beginning)) == 0) return true;
  return false;
}

static void instance_types_set_gpus_and_memory(void) {
  struct hr_scenario *scenario = load_text(WITH(P4D "\"cpu_per_node\":90"));
  const struct hr_pool_spec *pool = &scenario->cluster.pools[0];
  CU_ASSERT_STRING_EQUAL(pool->gpu, "A100-40");
  CU_ASSERT_EQUAL(pool->gpus_per_node, 8);
  CU_ASSERT_EQUAL(pool->cpu_milli_per_node, 90000);
  CU_ASSERT_EQUAL(pool->mem_mib_per_node, 1152 * 1024);
  CU_ASSERT_EQUAL(pool->market.market, HR_MARKET_NONE);
  hr_scenario_destroy(scenario);
}

/* Asserts that the price per GPU of the pool is the catalogue's price of the instance type, divided by its GPUs. */
static void expect_listed(const char *text, const struct hr_price_query *query) {
  struct hr_price_quote quote;
  struct hr_error error = {0};
  enum hr_status status = hr_catalog_price(catalog, query, &quote, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  struct hr_scenario *scenario = load_text(text);
  const struct hr_pool_source *source = &scenario->pool_sources[0];
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].market.price_uusd_h, hr_price_quote_gpu_uusd_h(&quote));
  CU_ASSERT_STRING_EQUAL(source->as_of, quote.as_of);
  CU_ASSERT_STRING_EQUAL(source->status, quote.status);
  CU_ASSERT_PTR_NOT_NULL(strstr(source->source, quote.source));
  if (strcmp(quote.status, "quoted") != 0) CU_ASSERT(has_note_with_prefix(scenario, "pool 'p': price "));
  hr_scenario_destroy(scenario);
}

static void on_demand_prices_are_listed(void) {
  expect_listed(WITH(P4D OD),
                &(struct hr_price_query){.provider = "aws", .instance = "p4d.24xlarge", .market = HR_MARKET_ON_DEMAND});
  expect_listed(WITH(P4D OD ",\"region\":\"us-west-2\",\"as_of\":\"2024-06-01\""),
                &(struct hr_price_query){.provider = "aws",
                                         .instance = "p4d.24xlarge",
                                         .region = "us-west-2",
                                         .as_of = "2024-06-01",
                                         .market = HR_MARKET_ON_DEMAND});
  expect_listed(WITH("\"provider\":\"gcp\",\"gpu\":\"A100-80\",\"gpus_per_node\":4," OD),
                &(struct hr_price_query){.provider = "gcp", .gpu = "A100-80", .market = HR_MARKET_ON_DEMAND});
}

static void reserved_and_spot_prices_are_listed(void) {
  expect_listed(
      WITH(P4D "\"market\":\"reserved\",\"term\":\"1y\",\"upfront\":\"all\""),
      &(struct hr_price_query){
          .provider = "aws", .instance = "p4d.24xlarge", .market = HR_MARKET_RESERVED, .term = "1y", .upfront = "all"});
  expect_listed(WITH(P4D "\"market\":\"spot\",\"boot_s\":0,\"spot\":{\"model\":\"none\"}"),
                &(struct hr_price_query){.provider = "aws", .instance = "p4d.24xlarge", .market = HR_MARKET_SPOT});
}

static void on_demand_prices_are_known_for_other_markets(void) {
  struct hr_price_quote quote;
  const struct hr_price_query query = {.provider = "aws", .instance = "p4d.24xlarge", .market = HR_MARKET_ON_DEMAND};
  CU_ASSERT_EQUAL_FATAL(hr_catalog_price(catalog, &query, &quote, NULL), HR_OK);
  int64_t on_demand = hr_price_quote_gpu_uusd_h(&quote);
  struct hr_scenario *scenario = load_text(WITH(P4D "\"market\":\"reserved\",\"usd_per_gpu_hour\":1"));
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].market.price_uusd_h, 1000000);
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].market.on_demand_uusd_h, on_demand);
  CU_ASSERT_STRING_EQUAL(scenario->pool_sources[0].status, "stated");
  hr_scenario_destroy(scenario);
  scenario = load_text(WITH(P4D "\"market\":\"reserved\",\"discount\":0.25"));
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].market.price_uusd_h, (on_demand * 3 + 2) / 4);
  hr_scenario_destroy(scenario);
}

static void term_discounts_apply_to_stated_prices(void) {
  const struct hr_discount *discount;
  const struct hr_discount_query query = {
      .provider = "aws", .instance = "p4d.24xlarge", .term = "1y", .upfront = "all"};
  CU_ASSERT_EQUAL_FATAL(hr_catalog_discount(catalog, &query, &discount, NULL), HR_OK);
  struct hr_scenario *scenario = load_text(
      WITH(P4D "\"market\":\"reserved\",\"on_demand_usd_per_gpu_hour\":4,\"term\":\"1y\",\"upfront\":\"all\""));
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].market.price_uusd_h, 4 * (1000000 - discount->off_ppm));
  CU_ASSERT_STRING_EQUAL(scenario->pool_sources[0].as_of, discount->as_of);
  hr_scenario_destroy(scenario);
}

static void presets_are_read(void) {
  const struct hr_spot_preset *preset;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_spot_preset(catalog, "aws-v100-us-east-1", &preset, NULL), HR_OK);
  struct hr_scenario *scenario =
      load_text(WITH("\"gpu\":\"V100\",\"gpus_per_node\":1,\"market\":\"spot\",\"boot_s\":0,\"usd_per_gpu_hour\":1,"
                     "\"spot\":{\"preset\":\"aws-v100-us-east-1\"}"));
  const struct hr_spot_spec *spot = &scenario->cluster.pools[0].market.spot;
  CU_ASSERT_EQUAL(spot->model, preset->spec.model);
  CU_ASSERT(spot->up.a == preset->spec.up.a && spot->down.b == preset->spec.down.b);
  CU_ASSERT_EQUAL(spot->notice_us, preset->spec.notice_us);
  CU_ASSERT_STRING_EQUAL(scenario->pool_sources[0].spot_preset, "aws-v100-us-east-1");
  CU_ASSERT_EQUAL(scenario->notes.count, 0);
  hr_scenario_destroy(scenario);
}

static void stated_values_override_the_preset(void) {
  struct hr_scenario *scenario =
      load_text(WITH("\"gpu\":\"A100-80\",\"gpus_per_node\":1,\"market\":\"spot\",\"boot_s\":0,\"usd_per_gpu_hour\":1,"
                     "\"spot\":{\"preset\":\"aws-v100-us-east-1\",\"notice_s\":7,"
                     "\"down\":{\"distribution\":\"fixed\",\"mean_s\":60}}"));
  const struct hr_spot_spec *spot = &scenario->cluster.pools[0].market.spot;
  CU_ASSERT_EQUAL(spot->notice_us, 7 * HR_SECOND_US);
  CU_ASSERT_EQUAL(spot->up.kind, HR_DURATION_LOG_NORMAL);
  CU_ASSERT_EQUAL(spot->down.kind, HR_DURATION_FIXED);
  CU_ASSERT(has_note_with_prefix(scenario, "pool 'p': spot preset 'aws-v100-us-east-1' ("));
  hr_scenario_destroy(scenario);
}

static const char *const bad_names[][2] = {
    {WITH("\"provider\":\"aws\",\"instance\":\"p4d.24xlrge\""), "s.json:3:29: ...p4d.24xlarge"},
    {WITH("\"provider\":\"asw\",\"instance\":\"p4d.24xlarge\""), "s.json:3:12: ...aws"},
    {WITH("\"instance\":\"p4d.24xlarge\""), "s.json:3:12: 'instance' is a provider's name for a type of node: the "
                                            "pool's 'provider' is expected"},
    {WITH(P4D OD ",\n\"region\":\"us-eats-1\""), "s.json:4:10: ...us-east-1"},
    {WITH("\"gpus_per_node\":8,\"provider\":\"aws\"," OD ",\n\"gpu\":\"H1000\""), "s.json:4:7: ...H100"},
    {WITH(P4D "\"market\":\"spot\",\"boot_s\":0,\n\"spot\":{\"preset\":\"aws-v100-us-esat-1\"}"),
     "s.json:4:18: ...aws-v100-us-east-1"},
    {WITH(P4D "\"market\":\"spot\",\"boot_s\":0,\n\"spot\":{\"preset\":\"aws-v100-us-east-1\",\"model\":\"none\"}"),
     "s.json:4:47: the preset 'aws-v100-us-east-1' has the model on-off, not none"},
    {WITH("\"gpu\":\"H100\""),
     "s.json:2:1: 'cluster.pools.0' lacks the key 'gpus_per_node', or 'provider' and 'instance' for the catalogue"},
    {WITH("\"gpus_per_node\":8"),
     "s.json:2:1: 'cluster.pools.0' lacks the key 'gpu', or 'provider' and 'instance' for the catalogue"},
    {WITH(P4D "\"market\":\"reserved\""),
     "s.json:2:1: the pool has the market reserved and no price: 'provider' and "
     "'term', a 'discount', 'usd_per_gpu_hour' or 'usd_per_node_hour' is expected"},
    {WITH("\"gpu\":\"H100\",\"gpus_per_node\":8,\"market\":\"reserved\",\"on_demand_usd_per_gpu_hour\":4,\n"
          "\"term\":\"1y\""),
     "s.json:4:8: 'term' takes its discount from the catalogue: 'provider' and 'instance' are expected"},
    {WITH(P4D "\"market\":\"reserved\",\"discount\":0.1,\n\"term\":\"1y\""),
     "s.json:3:75: 'term' and 'discount' exclude "
     "each other; keep one"},
    {"{" POLICY ",\"catalog\":{\"prices_file\":\"absent.csv\"},\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"T4\","
     "\"nodes\":1,\"gpus_per_node\":1}]}}",
     "absent.csv: ..."},
};

/* An expected text "POSITION ...NAME" has the position of the error and a name that the message must suggest. All other
   texts are compared with message_matches. */
static void invalid_names_are_rejected(void) {
  for (size_t i = 0; i < sizeof bad_names / sizeof *bad_names; i++) {
    struct hr_scenario *scenario;
    struct hr_error error = {0};
    const char *expected = bad_names[i][1], *dots = strstr(expected, "...");
    write_text(bad_names[i][0]);
    CU_ASSERT_EQUAL(hr_scenario_load(file_name, NULL, 0, &scenario, &error), HR_BAD_INPUT);
    bool as_expected =
        dots ? strncmp(error.text, expected, (size_t)(dots - expected)) == 0 && strstr(error.text, dots + 3)
             : message_matches(error.text, expected);
    if (!as_expected) printf("\n  expected: %s\n  got:      %s\n", expected, error.text);
    CU_ASSERT_TRUE(as_expected);
    hr_scenario_destroy(scenario);
  }
}

static void free_catalogue_and_remove_test_folder(void) {
  hr_catalog_destroy(catalog);
  remove_test_folder();
}

TEST_MAIN("scenarios_listed", TEST(create_test_folder), TEST(catalogue_loads), TEST(instance_types_set_gpus_and_memory),
          TEST(on_demand_prices_are_listed), TEST(reserved_and_spot_prices_are_listed),
          TEST(on_demand_prices_are_known_for_other_markets), TEST(term_discounts_apply_to_stated_prices),
          TEST(presets_are_read), TEST(stated_values_override_the_preset), TEST(invalid_names_are_rejected),
          TEST(free_catalogue_and_remove_test_folder))
