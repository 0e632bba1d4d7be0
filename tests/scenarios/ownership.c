/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `owned` of a pool and `tco`: prices computed by hand, and the place and the words of errors. */

#include "loading.h"

#include "headroom/unstable/ownership.h"

/* A scenario with the keys of `owned` on line 2, and one with the keys of `tco` on line 4. */
#define POOL(members)                                                                                                  \
  "{\"name\":\"p\",\"gpu\":\"A100-80\",\"nodes\":2,\"gpus_per_node\":8,\"market\":\"owned\",\"owned\":{\n" members "}" \
  "}"
#define SCENARIO(pools, more) "{\"policy\":{\"name\":\"fifo\"},\"cluster\":{\"pools\":[" pools "]}" more "}"
#define NODES "\"capex_usd_per_node\":70080,\"lifetime_years\":4"
#define OWNED(members) SCENARIO(POOL(NODES members), "")
#define TCO(members) SCENARIO(POOL(NODES), ",\n\"tco\":{\n" members "}")

/* Expects the price of a GPU-hour in micro-dollars. */
static void expect_price(const char *text, int64_t uusd_h) {
  write_text(text);
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].market.price_uusd_h, uusd_h);
  CU_ASSERT_PTR_NOT_NULL(scenario->pool_sources[0].ownership);
  hr_scenario_destroy(scenario);
}

/* 70,080 dollars in 4 years are 2 dollars an hour of a node, 0.25 of a GPU. */
static void prices_by_hand(void) {
  expect_price(OWNED(""), 250000);
  expect_price(OWNED(",\"residual_share\":0.2"), 200000);
  /* 5 % of the price are 0.40 dollars an hour of a node, 1 % are 0.08 */
  expect_price(OWNED(",\"maintenance_share_per_year\":0.05,\"tax_share_per_year\":0.01"), 250000 + 50000 + 10000);
  expect_price(OWNED(",\"staff_usd_per_node_year\":8760,\"staff_share\":0.5"), (250000 + 125000) * 3 / 2);
  /* 4 kW x 0.5 x 1.5 x 0.1 dollars; the idle load has no effect on the price */
  expect_price(OWNED(",\"power_kw_per_node\":4,\"load\":0.5,\"idle_load\":0.1,\"pue\":1.5,\"usd_per_kwh\":0.1"),
               250000 + 37500);
}

static void capital_by_hand(void) {
  expect_price(OWNED(",\"capital\":[{\"name\":\"network\",\"usd_per_node\":35040},"
                     "{\"name\":\"licence\",\"usd_per_gpu\":4380,\"lifetime_years\":1}]"),
               250000 + 125000 + 500000);
  expect_price(OWNED(",\"power_kw_per_node\":2,\"capital\":[{\"name\":\"building\",\"usd_per_kw\":17520,"
                     "\"lifetime_years\":10,\"residual_share\":0.5,\"maintenance_share_per_year\":0.1}],"
                     "\"maintenance_share_per_year\":0.05"),
               250000 + 50000 + 25000 + 50000);
  /* an annuity at 100 % for 2 years: CRF = 4 / 3 */
  expect_price(SCENARIO(POOL("\"capex_usd_per_node\":70080,\"lifetime_years\":2,\"amortization\":\"crf-annual\","
                             "\"discount_rate\":1"),
                        ""),
               1333333);
}

/* Whether the price of the pool is explained in a note. */
static bool is_noted(const char *text) {
  write_text(text);
  struct hr_scenario *scenario = load(NULL, 0);
  bool found = false;
  for (size_t i = 0; i < scenario->notes.count; i++)
    found = found || strcmp(scenario->notes.text[i],
                            "pool 'p': price derived: 1.333 $ per GPU-hour from 'owned', crf-annual at 100 %") == 0;
  hr_scenario_destroy(scenario);
  return found;
}

static void derived_prices_are_noted(void) {
  CU_ASSERT_FALSE(is_noted(OWNED("")));
  CU_ASSERT_TRUE(is_noted(SCENARIO(POOL("\"capex_usd_per_node\":70080,\"lifetime_years\":2,\"amortization\":"
                                        "\"crf-annual\",\"discount_rate\":1"),
                                   "")));
}

static void tco_is_read(void) {
  write_text(TCO("\"years\":3,\"growth_per_year\":1.5,\"tax_depreciation\":\"macrs-5\",\"options\":[{\"name\":\"a\","
                 "\"pools\":[\"p\"],\"staff_usd_per_year\":7}]"));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_tco_spec *spec = scenario->tco;
  CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
  CU_ASSERT_EQUAL(spec->years, 3);
  CU_ASSERT_EQUAL(spec->growth, 1.5);
  CU_ASSERT_EQUAL(spec->cloud_price, 1);
  CU_ASSERT_EQUAL(spec->discount_rate, 0.08);
  CU_ASSERT_TRUE(spec->macrs);
  CU_ASSERT_EQUAL_FATAL(spec->n_options, 1);
  CU_ASSERT_STRING_EQUAL(spec->options[0].pools[0], "p");
  CU_ASSERT_EQUAL(spec->options[0].contract_years, 1);
  hr_scenario_destroy(scenario);
}

/* 0.10 and 0.30 dollars per kWh, for one hour each; a price of the pool itself has precedence. */
static void energy_price_is_the_mean_of_the_series(void) {
#define POWERED(more)                                                                                                  \
  "{\"policy\":{\"name\":\"fifo\"},\"tco\":{},\"cluster\":{\"pools\":[" POOL(                                          \
      NODES ",\"power_kw_per_node\":4" more) "],\"energy_price\":{\"file\":\"prices.csv\"}}}"
  FILE *file = fopen("prices.csv", "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs("stamp,usd\n2026-01-01T00:00:00Z,0.1\n2026-01-01T01:00:00Z,0.3\n", file);
  fclose(file);
  write_text(POWERED(""));
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_DOUBLE_EQUAL(scenario->pool_sources[0].ownership->usd_per_kwh, 0.2, 1e-12);
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].market.price_uusd_h, 250000);
  hr_scenario_destroy(scenario);
  write_text(POWERED(",\"usd_per_kwh\":0.05"));
  scenario = load(NULL, 0);
  CU_ASSERT_DOUBLE_EQUAL(scenario->pool_sources[0].ownership->usd_per_kwh, 0.05, 1e-12);
  hr_scenario_destroy(scenario);
  CU_ASSERT_EQUAL(unlink("prices.csv"), 0);
}

static void expect_errors(const char *const (*cases)[2], size_t count) {
  for (size_t i = 0; i < count; i++) {
    write_text(cases[i][0]);
    expect_error(NULL, 0, cases[i][1]);
  }
}

static void invalid_ownership_is_rejected(void) {
  static const char *const cases[][2] = {
      {SCENARIO(POOL("\"lifetime_years\":-1,\"capex_usd_per_node\":1"), ""),
       "s.json:2:18: 'cluster.pools.0.owned.lifetime_years' is the number -1; a number from 0.01 to 100 is expected"},
      {OWNED(",\n\"residual_share\":1.2"),
       "s.json:3:18: 'cluster.pools.0.owned.residual_share' is the number 1.2; a number from 0 to 1 is expected"},
      {OWNED(",\n\"discount_rate\":-0.05"),
       "s.json:3:17: 'cluster.pools.0.owned.discount_rate' is the number -0.05; a number from 0 to 1 is expected"},
      {OWNED(",\n\"amortization\":\"annuity\""), "s.json:3:16: 'cluster.pools.0.owned.amortization' is the text "
                                                 "\"annuity\"; one of straight-line, crf-annual, pmt-monthly is "
                                                 "expected"},
      {OWNED(",\n\"amortization\":\"crf-annual\""),
       "s.json:3:16: the amortization 'crf-annual' needs 'discount_rate', the cost of capital per year"},
      {OWNED(",\n\"pue\":0.9"), "s.json:3:7: 'cluster.pools.0.owned.pue' is the number 0.9; a number from 1 to 10 is "
                                "expected"},
      {OWNED(",\n\"load\":0.5,\n\"idle_load\":0.6"), "s.json:4:13: 'idle_load' is above 'load' (0.5)"},
      {OWNED(",\"capital\":[\n{\"name\":\"x\"}]"), "s.json:3:1: the purchase has no price; it needs 'usd_per_node', "
                                                   "'usd_per_gpu' or 'usd_per_kw'"},
      {OWNED(",\"capital\":[{\"name\":\"x\",\"usd_per_node\":1,\n\"usd_per_gpu\":2}]"),
       "s.json:3:15: 'usd_per_node' and 'usd_per_gpu' exclude each other; keep one"},
      {OWNED(",\"capital\":[{\"name\":\"x\",\"usd_per_node\":1,\n\"lifetime_years\":0}]"),
       "s.json:3:18: 'cluster.pools.0.owned.capital.0.lifetime_years' is the number 0; a number from 0.01 to 100 is "
       "expected"},
  };
  expect_errors(cases, sizeof cases / sizeof *cases);
}

static void invalid_tco_is_rejected(void) {
  static const char *const cases[][2] = {
      {TCO("\"years\":0"), "s.json:4:9: 'tco.years' is the number 0; a whole number from 1 to 30 is expected"},
      {TCO("\"discount_rate\":-1"), "s.json:4:17: 'tco.discount_rate' is the number -1; a number from 0 to 1 is "
                                    "expected"},
      {TCO("\"options\":[{\"name\":\"a\",\"pools\":[\n\"q\"]}]"),
       "s.json:5:1: no pool is named 'q'; a name of 'cluster.pools' is expected"},
      {TCO("\"options\":[{\"name\":\"a\",\"pools\":[\"p\",\n\"p\"]}]"), "s.json:5:1: pool 'p' is listed twice; keep "
                                                                        "one"},
      {TCO("\"options\":[{\"name\":\"a\",\"pools\":[\"p\"]},{\n\"name\":\"a\",\"pools\":[\"p\"]}]"),
       "s.json:5:8: duplicate option 'a'; keep one"},
      {SCENARIO("{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":1}",
                ",\n\"tco\":{\"options\":[{\"name\":\"a\",\"pools\":[\n\"p\"]}]}"),
       "s.json:3:1: pool 'p' has no price; it needs a 'market' and its price"},
  };
  expect_errors(cases, sizeof cases / sizeof *cases);
}

TEST_MAIN("scenarios: ownership", TEST(create_test_folder), TEST(prices_by_hand), TEST(capital_by_hand),
          TEST(derived_prices_are_noted), TEST(tco_is_read), TEST(energy_price_is_the_mean_of_the_series),
          TEST(invalid_ownership_is_rejected), TEST(invalid_tco_is_rejected), TEST(remove_test_folder))
