/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Markets of pools: the value of each key, and the position and key words of each error. */

#include "headroom/unstable/clusters.h"
#include "loading.h"

#include <math.h>

#define POLICY "\"policy\":{\"name\":\"queue\"}"
#define SHAPE "\"gpu\":\"A100-80\",\"nodes\":4,\"gpus_per_node\":8,"
#define TEXT_OF_POOLS(pools) "{" POLICY ",\"cluster\":{\"pools\":[\n" pools "]}}"
/* A scenario with one pool. `members` start at the beginning of the third line. */
#define WITH(members) TEXT_OF_POOLS("{\"name\":\"p\"," SHAPE "\n" members "}")

static struct hr_scenario *load_text(const char *text) {
  write_text(text);
  return load(NULL, 0);
}

static const struct hr_market_spec *market_of(const struct hr_scenario *scenario, uint32_t pool) {
  CU_ASSERT_FATAL(pool < scenario->cluster.n_pools);
  return &scenario->cluster.pools[pool].market;
}

/* Returns whether a note begins with the text. If none does, prints all notes. */
static bool has_note(const struct hr_scenario *scenario, const char *text) {
  for (size_t i = 0; i < scenario->notes.count; i++)
    if (strncmp(scenario->notes.text[i], text, strlen(text)) == 0) return true;
  printf("\n  no note: %s\n", text);
  for (size_t i = 0; i < scenario->notes.count; i++) printf("  but: %s\n", scenario->notes.text[i]);
  return false;
}

static void expect_errors(const char *const (*cases)[2], size_t count) {
  for (size_t i = 0; i < count; i++) {
    write_text(cases[i][0]);
    expect_error(NULL, 0, cases[i][1]);
  }
}
#define EXPECT_ERRORS(cases) expect_errors(cases, sizeof(cases) / sizeof *(cases))

/* ---- Prices ----------------------------------------------------------------------------------------- */

static void expect_price(const char *text, int64_t uusd_h, int64_t on_demand_uusd_h) {
  struct hr_scenario *scenario = load_text(text);
  const struct hr_market_spec *market = market_of(scenario, 0);
  if (market->price_uusd_h != uusd_h) printf("\n  %s: %lld\n", text, (long long)market->price_uusd_h);
  CU_ASSERT_EQUAL(market->price_uusd_h, uusd_h);
  CU_ASSERT_EQUAL(market->on_demand_uusd_h, on_demand_uusd_h);
  CU_ASSERT_EQUAL(market->n_prices, 0);
  hr_scenario_destroy(scenario);
}

static void pools_without_market_have_no_price(void) {
  struct hr_scenario *scenario = load_text(WITH("\"storage_gb_s\":2.5"));
  const struct hr_market_spec *market = market_of(scenario, 0);
  CU_ASSERT_EQUAL(market->market, HR_MARKET_NONE);
  CU_ASSERT_EQUAL(market->price_uusd_h, 0);
  CU_ASSERT_EQUAL(market->on_demand_uusd_h, HR_UNKNOWN_UUSD_H);
  CU_ASSERT_EQUAL(market->from_us, 0);
  CU_ASSERT_EQUAL(market->to_us, HR_NEVER_US);
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].storage_mib_s, 2560);
  CU_ASSERT_PTR_NULL(scenario->pool_sources[0].status);
  CU_ASSERT_EQUAL(scenario->notes.count, 0);
  hr_scenario_destroy(scenario);
}

/* A note that applies to five pools is printed once. */
static void equal_notes_of_pools_are_merged(void) {
#define POOL_NAMED(name) "{\"name\":\"" name "\"," SHAPE "\"market\":\"on-demand\",\"usd_per_gpu_hour\":1}"
  struct hr_scenario *scenario = load_text(
      TEXT_OF_POOLS(POOL_NAMED("a") "," POOL_NAMED("b") "," POOL_NAMED("c") "," POOL_NAMED("d") "," POOL_NAMED("e")));
#undef POOL_NAMED
  CU_ASSERT_EQUAL(scenario->notes.count, 1);
  CU_ASSERT_TRUE(
      has_note(scenario, "pools 'a', 'b', 'c' and 2 more: boot time assumed: none, as neither boot_s nor boot is set"));
  hr_scenario_destroy(scenario);
}

#define OD "\"market\":\"on-demand\",\"boot_s\":0,"
#define RESERVED "\"market\":\"reserved\","

static void stated_prices_are_exact(void) {
  expect_price(WITH(OD "\"usd_per_gpu_hour\":3.4308"), 3430800, 3430800);
  expect_price(WITH(OD "\"usd_per_gpu_hour\":0.1"), 100000, 100000);
  expect_price(WITH(OD "\"usd_per_gpu_hour\":0.0000005"), 1, 1);
  expect_price(WITH(OD "\"usd_per_gpu_hour\":4.999999e-7"), 0, 0);
  expect_price(WITH(OD "\"usd_per_gpu_hour\":1.0000015"), 1000002, 1000002); /* the double is slightly smaller */
  expect_price(WITH(OD "\"usd_per_gpu_hour\":1e5"), INT64_C(100000000000), INT64_C(100000000000));
  expect_price(WITH(OD "\"usd_per_node_hour\":27.447"), 3430875, 3430875);
  expect_price(WITH(OD "\"usd_per_node_hour\":0.000004"), 1, 1);
  expect_price(WITH(OD "\"on_demand_usd_per_gpu_hour\":2"), 2000000, 2000000);
  expect_price(WITH(RESERVED "\"usd_per_gpu_hour\":2.1,\"on_demand_usd_per_gpu_hour\":3.43"), 2100000, 3430000);
  expect_price(WITH("\"market\":\"owned\",\"usd_per_gpu_hour\":0.9"), 900000, HR_UNKNOWN_UUSD_H);
}

static void discounts_are_off_the_on_demand_price(void) {
  expect_price(WITH(RESERVED "\"on_demand_usd_per_gpu_hour\":3.43,\"discount\":0.35"), 2229500, 3430000);
  expect_price(WITH(RESERVED "\"on_demand_usd_per_gpu_hour\":3.43,\"discount\":0"), 3430000, 3430000);
  expect_price(WITH(RESERVED "\"on_demand_usd_per_gpu_hour\":3.43,\"discount\":1"), 0, 3430000);
  expect_price(WITH(RESERVED "\"on_demand_usd_per_gpu_hour\":0.000003,\"discount\":0.5"), 2, 3);
}

static void prices_have_a_source(void) {
  struct hr_scenario *scenario = load_text(WITH(OD "\"provider\":\"aws\",\"region\":\"r\",\"zone\":\"z\","
                                                   "\"usd_per_gpu_hour\":1"));
  const struct hr_pool_source *source = &scenario->pool_sources[0];
  CU_ASSERT_STRING_EQUAL(source->provider, "aws");
  CU_ASSERT_STRING_EQUAL(source->region, "r");
  CU_ASSERT_STRING_EQUAL(source->zone, "z");
  CU_ASSERT_STRING_EQUAL(source->status, "stated");
  CU_ASSERT_PTR_NULL(source->as_of);
  hr_scenario_destroy(scenario);
}

static void invalid_prices_are_rejected(void) {
  static const char *const cases[][2] = {
      {WITH(OD "\"usd_per_gpu_hour\":-1"), "s.json:3:52: 'cluster.pools.0.usd_per_gpu_hour' is the number -1; a number "
                                           "from 0 to 100000 is expected"},
      {WITH(OD "\"usd_per_gpu_hour\":\"1\""), "s.json:3:52: 'cluster.pools.0.usd_per_gpu_hour' is the text \"1\"; a "
                                              "number from 0 to 100000 is expected"},
      {WITH(OD "\"usd_per_gpu_hour\":1,\n\"usd_per_node_hour\":8"),
       "s.json:4:21: 'usd_per_gpu_hour' and 'usd_per_node_hour' exclude each other; keep one"},
      {WITH(RESERVED "\"usd_per_gpu_hour\":1,\n\"discount\":0.1"),
       "s.json:4:12: 'usd_per_gpu_hour' and 'discount' exclude each other; keep one"},
      {WITH(RESERVED "\n\"discount\":1.01"),
       "s.json:4:12: 'cluster.pools.0.discount' is the number 1.01; a number from 0 to 1 is expected"},
      {WITH(RESERVED "\n\"discount\":-0.1"),
       "s.json:4:12: 'cluster.pools.0.discount' is the number -0.1; a number from 0 to 1 is expected"},
      {WITH(RESERVED "\n\"discount\":0.1"), "s.json:4:12: 'discount' is off the on-demand price, which is not known: "
                                            "'on_demand_usd_per_gpu_hour', or 'provider' and 'instance', are expected"},
      {WITH(OD "\n\"discount\":0.1"),
       "s.json:4:12: 'discount' belongs to the market reserved or spot; this pool's is on-demand"},
      {WITH("\"usd_per_gpu_hour\":1"), "s.json:3:20: 'usd_per_gpu_hour' needs the pool's 'market' to be said: owned or "
                                       "reserved or on-demand or spot"},
      {WITH("\"market\":\"on-demand\",\"boot_s\":1"),
       "s.json:2:1: the pool has the market on-demand and no price: "
       "'provider', 'usd_per_gpu_hour' or 'usd_per_node_hour' is expected"},
      {WITH("\"market\":\"owned\""), "s.json:2:1: the pool has the market owned and no price: 'owned' (purchase, "
                                     "lifetime, power), 'usd_per_gpu_hour' or 'usd_per_node_hour' is expected"},
      {WITH("\"market\":\"sopt\""), "s.json:3:10: 'cluster.pools.0.market' is the text \"sopt\"; one of owned, "
                                    "reserved, on-demand, spot is expected; did you mean 'spot'?"},
      {WITH("\"market\":7"),
       "s.json:3:10: 'cluster.pools.0.market' is the number 7; one of owned, reserved, on-demand, "
       "spot is expected"},
  };
  EXPECT_ERRORS(cases);
}

/* ---- Owned ------------------------------------------------------------------------------------------ */

#define OWNED(members) WITH("\"market\":\"owned\",\"owned\":{" members "}")

static void prices_of_owned_nodes(void) {
  /* 87,600 USD over 10 years of 8,760 h are 1 USD per hour for a node of 8 GPUs */
  expect_price(OWNED("\"capex_usd_per_node\":87600,\"lifetime_years\":10"), 125000, HR_UNKNOWN_UUSD_H);
  /* plus 10 kW at 0.1 USD per kWh and PUE 1.2, and at 73 USD per kW and month: 1.2 USD and 1 USD per hour */
  expect_price(OWNED("\"capex_usd_per_node\":87600,\"lifetime_years\":10,\"power_kw_per_node\":10,\"pue\":1.2,"
                     "\"usd_per_kwh\":0.1,\"colocation_usd_per_kw_month\":73"),
               400000, HR_UNKNOWN_US);
  /* plus a quarter for staff */
  expect_price(OWNED("\"capex_usd_per_node\":87600,\"lifetime_years\":10,\"power_kw_per_node\":10,\"pue\":1.2,"
                     "\"usd_per_kwh\":0.1,\"colocation_usd_per_kw_month\":73,\"staff_share\":0.25"),
               500000, HR_UNKNOWN_US);
}

static void owned_power_follows_from_the_gpu(void) {
  struct hr_scenario *scenario = load_text(OWNED("\"capex_usd_per_node\":0,\"lifetime_years\":1,\"usd_per_kwh\":0.1"));
  /* 400 W x 1.3 for the host x PUE 1.55 x 0.1 USD/kWh */
  CU_ASSERT_EQUAL(market_of(scenario, 0)->price_uusd_h, 80600);
  CU_ASSERT_STRING_EQUAL(scenario->pool_sources[0].status, "derived");
  CU_ASSERT(
      has_note(scenario, "pool 'p': power assumed: 4.16 kW per node, 400 W for each GPU and 30 % more for the host"));
  CU_ASSERT(has_note(scenario, "pool 'p': PUE assumed: 1.55, about the industry average"));
  hr_scenario_destroy(scenario);
}

static void invalid_ownership_is_rejected(void) {
  static const char *const cases[][2] = {
      {OWNED("\"lifetime_years\":1"), "s.json:3:26: 'cluster.pools.0.owned' lacks the key 'capex_usd_per_node'; a "
                                      "number from 0 to 1000000000 is expected"},
      {OWNED("\"capex_usd_per_node\":1"), "s.json:3:26: 'cluster.pools.0.owned' lacks the key 'lifetime_years'; a "
                                          "number from 0.01 to 100 is expected"},
      {OWNED("\"capex_usd_per_node\":1,\n\"lifetime_years\":0"),
       "s.json:4:18: 'cluster.pools.0.owned.lifetime_years' is the number 0; a number from 0.01 to 100 is expected"},
      {TEXT_OF_POOLS("{\"name\":\"p\",\"gpu\":\"A100-8O\",\"nodes\":1,\"gpus_per_node\":8,\"market\":\"owned\",\n"
                     "\"owned\":{\"capex_usd_per_node\":1,\"lifetime_years\":1,\"usd_per_kwh\":0.1}}"),
       "s.json:3:9: 'power_kw_per_node' is not given, and it cannot be told: GPU type 'A100-8O' is unknown; did you "
       "mean "
       "'A100-80'?"},
      {WITH("\"market\":\"owned\",\"usd_per_gpu_hour\":1,\n\"owned\":{\"capex_usd_per_node\":1,\"lifetime_years\":1}"),
       "s.json:4:9: 'usd_per_gpu_hour' and 'owned' exclude each other; keep one"},
      {WITH(OD "\n\"owned\":{\"capex_usd_per_node\":1,\"lifetime_years\":1}"),
       "s.json:4:9: 'owned' belongs to the market owned; this pool's is on-demand"},
  };
  EXPECT_ERRORS(cases);
}

/* ---- Reservations, billing, boot -------------------------------------------------------------------- */

static void reservation_times_are_read(void) {
  struct hr_scenario *scenario = load_text(WITH(RESERVED "\"usd_per_gpu_hour\":1,\"from_s\":3600,\"to_s\":7200.5"));
  CU_ASSERT_EQUAL(market_of(scenario, 0)->from_us, 3600 * HR_SECOND_US);
  CU_ASSERT_EQUAL(market_of(scenario, 0)->to_us, INT64_C(7200500000));
  hr_scenario_destroy(scenario);
}

static void invalid_reservations_are_rejected(void) {
  static const char *const cases[][2] = {
      {WITH(RESERVED "\"usd_per_gpu_hour\":1,\"from_s\":10,\n\"to_s\":9"),
       "s.json:4:8: the reservation would end at 9 s, not after its start at 10 s"},
      {WITH(RESERVED "\"usd_per_gpu_hour\":1,\n\"to_s\":0"),
       "s.json:4:8: the reservation would end at 0 s, not after its start at 0 s"},
      {WITH(OD "\"usd_per_gpu_hour\":1,\n\"to_s\":9"),
       "s.json:4:8: 'to_s' belongs to the market reserved; this pool's is on-demand"},
  };
  EXPECT_ERRORS(cases);
}

static void expect_billing(const char *text, int64_t granularity_us, int64_t minimum_us) {
  struct hr_scenario *scenario = load_text(text);
  CU_ASSERT_EQUAL(market_of(scenario, 0)->billing.granularity_us, granularity_us);
  CU_ASSERT_EQUAL(market_of(scenario, 0)->billing.minimum_us, minimum_us);
  CU_ASSERT_EQUAL(market_of(scenario, 0)->billing.free_if_reclaimed_us, 0);
  hr_scenario_destroy(scenario);
}

static void billing_defaults_follow_the_provider(void) {
  expect_billing(WITH(OD "\"usd_per_gpu_hour\":1"), 0, 0);
  expect_billing(WITH(OD "\"usd_per_gpu_hour\":1,\"provider\":\"lambda\""), 0, 0);
  expect_billing(WITH(OD "\"usd_per_gpu_hour\":1,\"provider\":\"aws\""), HR_SECOND_US, 60 * HR_SECOND_US);
  expect_billing(WITH(OD "\"usd_per_gpu_hour\":1,\"provider\":\"gcp\",\"billing\":{\"granularity_s\":3600}"),
                 3600 * HR_SECOND_US, 60 * HR_SECOND_US);
}

static void boot_times_are_read(void) {
  struct hr_scenario *scenario = load_text(WITH("\"market\":\"on-demand\",\"usd_per_gpu_hour\":1,\"boot_s\":90.5"));
  CU_ASSERT_EQUAL(market_of(scenario, 0)->boot.kind, HR_DURATION_FIXED);
  CU_ASSERT(market_of(scenario, 0)->boot.a == 90.5);
  hr_scenario_destroy(scenario);
  scenario = load_text(WITH("\"market\":\"on-demand\",\"usd_per_gpu_hour\":1,"
                            "\"boot\":{\"distribution\":\"log-normal\",\"mu\":4.5,\"sigma\":0.3}"));
  CU_ASSERT_EQUAL(market_of(scenario, 0)->boot.kind, HR_DURATION_LOG_NORMAL);
  CU_ASSERT(market_of(scenario, 0)->boot.a == 4.5 && market_of(scenario, 0)->boot.b == 0.3);
  hr_scenario_destroy(scenario);
  scenario = load_text(WITH("\"market\":\"on-demand\",\"usd_per_gpu_hour\":1"));
  CU_ASSERT(has_note(scenario, "pool 'p': boot time assumed: none, as neither boot_s nor boot is set"));
  hr_scenario_destroy(scenario);
}

#define BOOT_POOL(members) WITH("\"market\":\"on-demand\",\"usd_per_gpu_hour\":1,\n\"boot\":{" members "}")

static void invalid_boot_times_are_rejected(void) {
  static const char *const cases[][2] = {
      {BOOT_POOL("\"mean_s\":1"), "s.json:4:8: 'cluster.pools.0.boot' lacks the key 'distribution'; one of fixed, "
                                  "exponential, log-normal, weibull is expected"},
      {BOOT_POOL("\"distribution\":\"lognormal\""),
       "s.json:4:24: 'cluster.pools.0.boot.distribution' is the text \"lognormal\"; one of fixed, exponential, "
       "log-normal, weibull is expected; did you mean 'log-normal'?"},
      {BOOT_POOL("\"distribution\":\"weibull\",\"shape\":1"),
       "s.json:4:8: a distribution 'weibull' needs 'shape' and 'scale_s'"},
      {BOOT_POOL("\"distribution\":\"fixed\""), "s.json:4:8: a distribution 'fixed' needs 'mean_s'"},
      {BOOT_POOL("\"distribution\":\"fixed\",\"mean_s\":1,\n\"sigma\":2"),
       "s.json:5:9: 'sigma' is not a parameter of the distribution 'fixed'; 'mean_s' is expected"},
      {BOOT_POOL("\"distribution\":\"log-normal\",\"mu\":1,\"sigma\":1,\n\"mean_s\":2"),
       "s.json:5:10: 'mean_s' is not a parameter of the distribution 'log-normal'; 'mu' and 'sigma' are expected"},
      {BOOT_POOL("\"distribution\":\"exponential\",\"mean_s\":1},\n\"boot_s\":1,\"billing\":{"),
       "s.json:4:8: 'boot_s' and 'boot' exclude each other; keep one"},
      {WITH(OD "\"usd_per_gpu_hour\":1,\"billing\":{\n\"free_if_reclaimed_s\":3600}"),
       "s.json:4:23: 'free_if_reclaimed_s' belongs to the market spot: other nodes are not reclaimed"},
  };
  EXPECT_ERRORS(cases);
}

/* ---- Spot ------------------------------------------------------------------------------------------- */

#define SPOT_POOL(members)                                                                                             \
  WITH("\"market\":\"spot\",\"boot_s\":0,\"usd_per_gpu_hour\":1,\"on_demand_usd_per_gpu_hour\":3,\n"                   \
       "\"spot\":{" members "}")

static void every_model_is_read(void) {
  struct hr_scenario *scenario = load_text(SPOT_POOL("\"model\":\"none\""));
  CU_ASSERT_EQUAL(market_of(scenario, 0)->spot.model, HR_SPOT_NONE);
  CU_ASSERT_EQUAL(market_of(scenario, 0)->spot.notice_us, 0);
  CU_ASSERT_EQUAL(scenario->notes.count, 0);
  hr_scenario_destroy(scenario);

  scenario = load_text(SPOT_POOL("\"model\":\"on-off\",\"notice_s\":120,"
                                 "\"up\":{\"distribution\":\"weibull\",\"shape\":0.588,\"scale_s\":6444},"
                                 "\"down\":{\"distribution\":\"exponential\",\"mean_s\":6480}"));
  const struct hr_spot_spec *spot = &market_of(scenario, 0)->spot;
  CU_ASSERT_EQUAL(spot->model, HR_SPOT_ON_OFF);
  CU_ASSERT_EQUAL(spot->notice_us, 120 * HR_SECOND_US);
  CU_ASSERT(spot->up.kind == HR_DURATION_WEIBULL && spot->up.a == 0.588 && spot->up.b == 6444);
  CU_ASSERT(spot->down.kind == HR_DURATION_EXPONENTIAL && spot->down.a == 6480);
  hr_scenario_destroy(scenario);

  scenario = load_text(SPOT_POOL("\"model\":\"exponential\",\"notice_s\":30,\"rate_per_h\":0.28,\"batch_mean\":2.1"));
  spot = &market_of(scenario, 0)->spot;
  CU_ASSERT_EQUAL(spot->model, HR_SPOT_EXPONENTIAL);
  CU_ASSERT(spot->rate_per_h == 0.28 && spot->batch_mean == 2.1);
  hr_scenario_destroy(scenario);

  scenario = load_text(SPOT_POOL("\"model\":\"advisor\",\"notice_s\":30,\"monthly_interruption\":0.05"));
  spot = &market_of(scenario, 0)->spot;
  CU_ASSERT_EQUAL(spot->model, HR_SPOT_ADVISOR);
  CU_ASSERT_DOUBLE_EQUAL(exp(-730 * spot->rate_per_h), 0.95, 1e-12);
  CU_ASSERT(spot->batch_mean == 1);
  hr_scenario_destroy(scenario);

  scenario = load_text(SPOT_POOL("\"model\":\"bathtub\",\"notice_s\":30,\"bathtub\":{\"a\":0.45,\"tau1_h\":1,"
                                 "\"tau2_h\":0.8,\"b_h\":24,\"last_h\":24}"));
  spot = &market_of(scenario, 0)->spot;
  CU_ASSERT_EQUAL(spot->model, HR_SPOT_BATHTUB);
  CU_ASSERT(spot->bathtub.a == 0.45 && spot->bathtub.tau1_h == 1 && spot->bathtub.tau2_h == 0.8);
  CU_ASSERT(spot->bathtub.b_h == 24 && spot->bathtub.last_h == 24);
  hr_scenario_destroy(scenario);
}

static void write_file(const char *name, const char *text) {
  FILE *file = fopen(name, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
}

static void recorded_levels_are_read(void) {
  write_file("levels.json", "{\"metadata\":{\"gap_seconds\":600},\"data\":[2,2,1,0,2]}");
  struct hr_scenario *scenario =
      load_text(SPOT_POOL("\"model\":\"trace\",\"file\":\"levels.json\",\"offset_s\":30,\"notice_s\":9"));
  const struct hr_spot_spec *spot = &market_of(scenario, 0)->spot;
  static const struct hr_level_step expected[] = {
      {0, 4}, {1200 * HR_SECOND_US, 2}, {1800 * HR_SECOND_US, 0}, {2400 * HR_SECOND_US, 4}};
  CU_ASSERT_EQUAL_FATAL(spot->n_levels, 4);
  for (size_t i = 0; i < 4; i++) {
    CU_ASSERT_EQUAL(spot->levels[i].at_us, expected[i].at_us);
    CU_ASSERT_EQUAL(spot->levels[i].level, expected[i].level);
  }
  CU_ASSERT_EQUAL(spot->period_us, 3000 * HR_SECOND_US);
  CU_ASSERT_EQUAL(spot->offset_us, 30 * HR_SECOND_US);
  hr_scenario_destroy(scenario);
  remove("levels.json");
}

static void expect_notice(const char *text, int64_t notice_s, const char *note) {
  struct hr_scenario *scenario = load_text(text);
  CU_ASSERT_EQUAL(market_of(scenario, 0)->spot.notice_us, notice_s * HR_SECOND_US);
  CU_ASSERT(has_note(scenario, note));
  hr_scenario_destroy(scenario);
}

#define RATE "\"model\":\"exponential\",\"rate_per_h\":0.1"

static void notice_defaults_follow_the_provider(void) {
  expect_notice(SPOT_POOL(RATE "},\"provider\":\"aws\",\"billing\":{"), 120,
                "pool 'p': interruption notice assumed: 120 s, as for aws");
  expect_notice(SPOT_POOL(RATE "},\"provider\":\"gcp\",\"billing\":{"), 30,
                "pool 'p': interruption notice assumed: 30 s, as for gcp");
  expect_notice(SPOT_POOL(RATE), 0, "pool 'p': interruption notice assumed: 0 s");
}

static void notices_longer_than_the_up_time_are_noted(void) {
  expect_notice(SPOT_POOL("\"model\":\"exponential\",\"rate_per_h\":60,\"notice_s\":61"), 61,
                "pool 'p': warning: the notice, 61 s, is longer than the mean time between interruptions, 60 s");
  expect_notice(SPOT_POOL("\"model\":\"on-off\",\"notice_s\":120,\"up\":{\"distribution\":\"fixed\",\"mean_s\":90},"
                          "\"down\":{\"distribution\":\"fixed\",\"mean_s\":9}"),
                120, "pool 'p': warning: the notice, 120 s, is longer than the mean time between interruptions, 90 s");
  struct hr_scenario *scenario = load_text(SPOT_POOL("\"model\":\"exponential\",\"rate_per_h\":60,\"notice_s\":60"));
  CU_ASSERT_EQUAL(scenario->notes.count, 0);
  hr_scenario_destroy(scenario);
}

static void spot_prices_above_on_demand_are_noted(void) {
  struct hr_scenario *scenario =
      load_text(WITH("\"market\":\"spot\",\"boot_s\":0,\"usd_per_gpu_hour\":3.5,\"on_demand_usd_per_gpu_hour\":3,"
                     "\"spot\":{\"model\":\"none\"}"));
  CU_ASSERT(has_note(scenario, "pool 'p': warning: the spot price, 3.5 $ per GPU-hour, is above the on-demand price, "
                               "3 $"));
  hr_scenario_destroy(scenario);
}

#define CHANGING(members, price)                                                                                       \
  WITH("\"market\":\"spot\",\"provider\":\"aws\",\"boot_s\":0,\"on_demand_usd_per_gpu_hour\":3," members               \
       "\"spot\":{\"model\":\"none\",\n\"price\":{" price "}}")
#define RECORD "\"model\":\"trace\",\"file\":\"prices.csv\""

static void write_prices(void) {
  write_file("prices.csv",
             "unix_time,instance_type,accelerator,accelerator_count,region,availability_zone,on_demand_usd_per_h,"
             "spot_usd_per_h\n"
             "1000,m,V100,8,r,ra,24,8\n1000,m,V100,8,r,rb,24,16\n4600,m,V100,8,r,ra,24,32\n");
}

static void expect_steps(const char *text, const struct hr_price_step *expected, uint32_t count) {
  struct hr_scenario *scenario = load_text(text);
  const struct hr_market_spec *market = market_of(scenario, 0);
  CU_ASSERT_EQUAL_FATAL(market->n_prices, count);
  for (uint32_t i = 0; i < count; i++) {
    CU_ASSERT_EQUAL(market->prices[i].at_us, expected[i].at_us);
    CU_ASSERT_EQUAL(market->prices[i].uusd_h, expected[i].uusd_h);
  }
  CU_ASSERT_EQUAL(market->price_uusd_h, expected[0].uusd_h);
  CU_ASSERT_STRING_EQUAL(scenario->pool_sources[0].status, "quoted");
  hr_scenario_destroy(scenario);
}

static void recorded_prices_are_read(void) {
  const struct hr_price_step lowest[] = {{0, 1000000}, {3600 * HR_SECOND_US, 2000000}};
  const struct hr_price_step of_a_zone[] = {{0, 1000000}, {3600 * HR_SECOND_US, 4000000}};
  const struct hr_price_step later[] = {{0, 1000000}, {1600 * HR_SECOND_US, 2000000}};
  write_prices();
  expect_steps(CHANGING("", RECORD ",\"accelerator\":\"V100\""), lowest, 2);
  expect_steps(CHANGING("\"instance\":\"m\",\"region\":\"r\",", RECORD), lowest, 2);
  expect_steps(CHANGING("\"instance\":\"m\",\"region\":\"r\",\"zone\":\"ra\",", RECORD), of_a_zone, 2);
  expect_steps(CHANGING("\"instance\":\"m\",", RECORD ",\"zones\":[\"ra\"]"), of_a_zone, 2);
  expect_steps(CHANGING("\"instance\":\"m\",", RECORD ",\"from\":3000"), later, 2);
  expect_steps(CHANGING("\"instance\":\"m\",", RECORD ",\"from\":\"1970-01-01T00:50Z\""), later, 2);
  struct hr_scenario *scenario = load_text(CHANGING("\"instance\":\"m\",\"zone\":\"ra\",", RECORD));
  CU_ASSERT(has_note(scenario, "pool 'p': warning: the spot price, at its highest 4 $ per GPU-hour, is above the "
                               "on-demand price, 3 $"));
  hr_scenario_destroy(scenario);
  remove("prices.csv");
}

#define WALK "\"model\":\"ou\",\"volatility\":0.2,\"reversion_h\":24"

static void drawn_prices_vary_around_the_mean_price(void) {
  struct hr_scenario *scenario = load_text(CHANGING("\"discount\":0.7,", WALK ",\"least_usd_per_gpu_hour\":0.5"));
  const struct hr_market_spec *market = market_of(scenario, 0);
  CU_ASSERT(market->n_prices > 8000 && market->n_prices <= 8761);
  double logarithms = 0;
  for (uint32_t i = 0; i < market->n_prices; i++) {
    CU_ASSERT(market->prices[i].uusd_h >= 500000 && market->prices[i].uusd_h <= 3000000);
    logarithms += log((double)market->prices[i].uusd_h / 900000);
  }
  /* The walk covers a year with a reversion time of a day. The standard error of its mean is 0.2 x sqrt(2 / 365) =
     0.015. */
  CU_ASSERT_DOUBLE_EQUAL(logarithms / market->n_prices, 0, 0.045);
  CU_ASSERT_STRING_EQUAL(scenario->pool_sources[0].status, "derived");
  CU_ASSERT(has_note(scenario, "pool 'p': price drawn for one year and constant afterwards"));
  hr_scenario_destroy(scenario);
}

static void invalid_spot_prices_are_rejected(void) {
  static const char *const cases[][2] = {
      {CHANGING("\"usd_per_gpu_hour\":1,", "\"model\":\"trace\""), "s.json:4:9: the price model 'trace' needs 'file'"},
      {CHANGING("", RECORD),
       "s.json:4:9: a record of prices is of instances or of accelerators: the pool's 'instance', "
       "or the 'accelerator' as the record calls it, is expected"},
      {CHANGING("\"instance\":\"m\",\n\"usd_per_gpu_hour\":1,", RECORD),
       "s.json:4:20: 'usd_per_gpu_hour' contradicts the recorded price of 'spot.price'; keep one"},
      {CHANGING("\"instance\":\"m\",", RECORD ",\n\"from\":\"yesterday\""),
       "s.json:5:8: 'from' is neither a date like 2023-02-15 or 2023-02-15T08:00Z nor a Unix time"},
      {CHANGING("\"instance\":\"m\",", RECORD ",\n\"volatility\":1"),
       "s.json:5:14: 'volatility' is not a parameter of the price model 'trace'"},
      {CHANGING("\"instance\":\"m\",", RECORD), "prices.csv: ..."},
      {CHANGING("\"discount\":0.5,", "\"model\":\"ou\",\"volatility\":1"),
       "s.json:4:9: the price model 'ou' needs 'reversion_h'"},
      {CHANGING("\"usd_per_gpu_hour\":3,", WALK),
       "s.json:4:9: the pool's price, 3 $ per GPU-hour, about which it moves, "
       "is not between the least, 0 $, and the on-demand price, 3 $"},
      {WITH("\"market\":\"spot\",\"boot_s\":0,\"usd_per_gpu_hour\":3,\"spot\":{\"model\":\"none\",\n\"price\":{" WALK
            "}}"),
       "s.json:4:9: a price that is drawn stays below the on-demand price, which is not known: "
       "'on_demand_usd_per_gpu_hour', or 'provider' and 'instance', are expected"},
      {CHANGING("\"discount\":0.5,", WALK ",\"interval_s\":1"),
       "s.json:4:9: 31536001 changes of the price are more than "
       "1000000; a longer 'interval_s' or a nearer 'horizon_s' "
       "is expected"},
  };
  EXPECT_ERRORS(cases);
}

static void spot_discount_and_free_hour(void) {
  struct hr_scenario *scenario =
      load_text(WITH("\"market\":\"spot\",\"boot_s\":0,\"discount\":0.7,\"on_demand_usd_per_gpu_hour\":3,"
                     "\"billing\":{\"free_if_reclaimed_s\":3600},\"spot\":{\"model\":\"none\"}"));
  CU_ASSERT_EQUAL(market_of(scenario, 0)->price_uusd_h, 900000);
  CU_ASSERT_EQUAL(market_of(scenario, 0)->billing.free_if_reclaimed_us, 3600 * HR_SECOND_US);
  CU_ASSERT_STRING_EQUAL(scenario->pool_sources[0].status, "derived");
  hr_scenario_destroy(scenario);
}

#define ZONED(name, gpu, zone)                                                                                         \
  "{\"name\":\"" name "\",\"gpu\":\"" gpu "\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"spot\",\"boot_s\":0,"       \
  "\"provider\":\"aws\",\"zone\":\"" zone "\",\"usd_per_gpu_hour\":1,\"spot\":{\"model\":\"none\"}}"

static void pools_of_one_gpu_type_and_zone_share_interruptions(void) {
  struct hr_scenario *scenario = load_text(TEXT_OF_POOLS(
      ZONED("a", "T4", "x") "," ZONED("b", "T4", "y") "," ZONED("c", "L4", "x") "," ZONED("d", "t4", "y")));
  static const uint32_t expected[] = {0, 1, 2, 1};
  for (uint32_t i = 0; i < 4; i++) CU_ASSERT_EQUAL(market_of(scenario, i)->spot.zone, expected[i]);
  hr_scenario_destroy(scenario);
}

static void invalid_spot_is_rejected(void) {
  static const char *const cases[][2] = {
      {WITH("\"market\":\"spot\",\"usd_per_gpu_hour\":1"),
       "s.json:2:1: a spot pool needs 'spot', which says how nodes are reclaimed: a 'preset' or a 'model'"},
      {SPOT_POOL(""),
       "s.json:4:8: 'spot' needs a 'preset' or a 'model'; the model 'none' is for nodes that are never reclaimed"},
      {SPOT_POOL("\"model\":\"onoff\""),
       "s.json:4:17: 'cluster.pools.0.spot.model' is the text \"onoff\"; one of none, trace, "
       "on-off, exponential, bathtub, advisor is expected; did you mean 'on-off'?"},
      {SPOT_POOL("\"model\":\"on-off\",\"up\":{\"distribution\":\"fixed\",\"mean_s\":1}"),
       "s.json:4:8: the spot model 'on-off' needs 'down'"},
      {SPOT_POOL("\"model\":\"exponential\""), "s.json:4:8: the spot model 'exponential' needs 'rate_per_h'"},
      {SPOT_POOL("\"model\":\"trace\""), "s.json:4:8: the spot model 'trace' needs 'file'"},
      {SPOT_POOL("\"model\":\"trace\",\"file\":\"absent.json\""), "absent.json: ..."},
      {SPOT_POOL("\"model\":\"advisor\""), "s.json:4:8: the spot model 'advisor' needs 'monthly_interruption'"},
      {SPOT_POOL("\"model\":\"bathtub\""), "s.json:4:8: the spot model 'bathtub' needs 'bathtub'"},
      {SPOT_POOL("\"model\":\"none\",\n\"rate_per_h\":1"),
       "s.json:5:14: 'rate_per_h' is not a parameter of the spot model 'none'"},
      {SPOT_POOL("\"model\":\"advisor\",\n\"monthly_interruption\":1"),
       "s.json:5:24: 'cluster.pools.0.spot.monthly_interruption' is the number 1; a number from 0 to 0.999 is "
       "expected"},
      {SPOT_POOL(RATE ",\n\"batch_mean\":0.5"),
       "s.json:5:14: 'cluster.pools.0.spot.batch_mean' is the number 0.5; a number from 1 to 16000000 is expected"},
      {WITH(OD "\"usd_per_gpu_hour\":1,\n\"spot\":{\"model\":\"none\"}"),
       "s.json:4:8: 'spot' belongs to the market spot; this pool's is on-demand"},
  };
  EXPECT_ERRORS(cases);
}

static void placement_by_pool_needs_permanent_nodes(void) {
#define BY_COUNT(members)                                                                                              \
  "{\"policy\":{\"name\":\"queue\",\n\"placement\":\"pool\"},\"cluster\":{\"pools\":[{\"name\":\"p\"," SHAPE members   \
  ",\"usd_per_gpu_hour\":1}]}}"
  static const char *const cases[][2] = {
      {BY_COUNT("\"market\":\"on-demand\""), "s.json:2:13: the placement 'pool' counts GPUs, but nodes of pool 'p' "
                                             "(on-demand) may be unavailable; first-fit, "
                                             "best-fit or worst-fit is expected"},
      {BY_COUNT("\"market\":\"reserved\",\"to_s\":9"),
       "s.json:2:13: the placement 'pool' counts GPUs, but nodes of pool 'p' (reserved) may be unavailable; first-fit, "
       "best-fit or worst-fit is expected"},
  };
  EXPECT_ERRORS(cases);
  hr_scenario_destroy(load_text(BY_COUNT("\"market\":\"reserved\"")));
  hr_scenario_destroy(load_text(BY_COUNT("\"market\":\"owned\"")));
}

/* ---- Classes ---------------------------------------------------------------------------------------- */

#define CLASSES(members)                                                                                               \
  "{" POLICY ",\"cluster\":{\"pools\":[{\"name\":\"p\"," SHAPE "\"storage_gb_s\":1}]},\n\"classes\":{" members "}}"

static void classes_are_read(void) {
  struct hr_scenario *scenario = load_text(CLASSES(
      "\"inference\":{\"spot\":false},\"training\":{\"checkpoint\":{\"policy\":\"interval\",\"interval_s\":1800,"
      "\"gb\":20.5,\"write_s\":60},\"restart_s\":240},\"default\":{\"spot\":true,\"restart_s\":30,"
      "\"checkpoint\":{\"policy\":\"on-notice\",\"gb\":1}}"));
  const struct hr_class_spec *training = &scenario->classes[HR_CLASS_TRAINING];
  CU_ASSERT_FALSE(training->no_spot);
  CU_ASSERT_EQUAL(training->checkpoint, HR_CHECKPOINT_INTERVAL);
  CU_ASSERT_EQUAL(training->interval_us, 1800 * HR_SECOND_US);
  CU_ASSERT_EQUAL(training->checkpoint_mib, 20992);
  CU_ASSERT_EQUAL(training->write_us, 60 * HR_SECOND_US);
  CU_ASSERT_EQUAL(training->restart_us, 240 * HR_SECOND_US);
  CU_ASSERT_TRUE(scenario->classes[HR_CLASS_INFERENCE].no_spot);
  CU_ASSERT_EQUAL(scenario->classes[HR_CLASS_INFERENCE].restart_us, 0);
  CU_ASSERT_EQUAL(scenario->classes[HR_CLASS_UNKNOWN].checkpoint, HR_CHECKPOINT_ON_NOTICE);
  CU_ASSERT_EQUAL(scenario->classes[HR_CLASS_DATA_PREP].restart_us, 30 * HR_SECOND_US);
  CU_ASSERT_EQUAL(scenario->notes.count, 0);
  hr_scenario_destroy(scenario);
}

static void checkpoints_without_cost_are_noted(void) {
  struct hr_scenario *scenario = load_text(CLASSES("\"training\":{\"checkpoint\":{\"policy\":\"young-daly\"}}"));
  CU_ASSERT_EQUAL(scenario->classes[HR_CLASS_TRAINING].checkpoint, HR_CHECKPOINT_YOUNG_DALY);
  CU_ASSERT(has_note(scenario, "classes.training: there is neither gb nor write_s"));
  hr_scenario_destroy(scenario);
}

static void invalid_classes_are_rejected(void) {
  static const char *const cases[][2] = {
      {CLASSES("\n\"fine_tune\":{}"), "s.json:3:1: unknown key 'classes.fine_tune'; did you mean 'classes.fine-tune'? "
                                      "(known keys: default, training, fine-tune, batch-inference, inference, "
                                      "interactive, data-prep)"},
      {CLASSES("\n\"training\":{\"checkpoint\":{\"policy\":\"interval\"}}"),
       "s.json:3:26: the checkpoint policy 'interval' needs 'interval_s', the work between two checkpoints"},
      {CLASSES("\n\"training\":{\"checkpoint\":{\"policy\":\"none\",\"interval_s\":1}}"),
       "s.json:3:56: 'interval_s' has no effect with the checkpoint policy 'none'; it needs 'interval'"},
      {CLASSES("\n\"training\":{\"checkpoint\":{\"policy\":\"hourly\"}}"),
       "s.json:3:36: 'classes.training.checkpoint.policy' is the text \"hourly\"; one of none, interval, young-daly, "
       "on-notice..."},
      {CLASSES("\n\"training\":{\"checkpoint\":{\"interval_s\":1}}"),
       "s.json:3:26: 'classes.training.checkpoint' lacks the key 'policy'; one of none, interval, young-daly, "
       "on-notice..."},
      {CLASSES("\n\"training\":{\"restart_s\":-1}"),
       "s.json:3:25: 'classes.training.restart_s' is the number -1; a number from 0 to 100000000000 is expected"},
      {CLASSES("\n\"training\":{\"spot\":\"no\"}"),
       "s.json:3:20: 'classes.training.spot' is the text \"no\"; true or false is expected"},
  };
  EXPECT_ERRORS(cases);
}

/* ---- Autoscalers ---------------------------------------------------------------------------------------- */

#define SCALED(autoscaler, policy, pool)                                                                               \
  "{" policy ",\"cluster\":{\n" autoscaler "\n\"pools\":[\n{\"name\":\"p\"," SHAPE "\n" pool "}]}}"
#define SCALER(members) "\"autoscaler\":{\"name\":\"cluster-autoscaler\"" members "},"
#define RENTED "\"market\":\"on-demand\",\"usd_per_gpu_hour\":2"

static void autoscalers_are_read(void) {
  struct hr_scenario *scenario =
      load_text(SCALED(SCALER(",\"expanders\":[\"priority\",\"price\"],\"unneeded_s\":60,\"quotas\":[{\"gpus\":16,"
                              "\"gpu\":\"a100-80\"}]"),
                       POLICY, RENTED ",\"autoscale\":{\"min_nodes\":2,\"priority\":7,\"no_capacity\":0.25}"));
  const struct hr_autoscaler_spec *spec = scenario->cluster.autoscaler;
  CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
  CU_ASSERT_EQUAL(spec->scan_us, 10 * HR_SECOND_US);
  CU_ASSERT_EQUAL(spec->unneeded_us, 60 * HR_SECOND_US);
  CU_ASSERT_EQUAL(spec->provision_us, 900 * HR_SECOND_US);
  CU_ASSERT_EQUAL_FATAL(spec->n_expanders, 2);
  CU_ASSERT_EQUAL(spec->expanders[0].kind, HR_EXPANDER_PRIORITY);
  CU_ASSERT_EQUAL(spec->expanders[1].kind, HR_EXPANDER_PRICE);
  CU_ASSERT_EQUAL_FATAL(spec->n_quotas, 1);
  CU_ASSERT_EQUAL(spec->quotas[0].max_gpus, 16);
  CU_ASSERT_TRUE(spec->quotas[0].of_pool[0]);
  CU_ASSERT_EQUAL(spec->failure_share[0], 0.25);
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].min_nodes, 2);
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].scale_priority, 7);
  CU_ASSERT_TRUE(hr_scenario_is_random(scenario));
  hr_scenario_destroy(scenario);
  scenario = load_text(SCALED(SCALER(""), POLICY, RENTED));
  CU_ASSERT_FALSE(hr_scenario_is_random(scenario));
  hr_scenario_destroy(scenario);
  scenario = load_text(SCALED(SCALER(",\"expanders\":[\"random\"]"), POLICY, RENTED));
  CU_ASSERT_TRUE(hr_scenario_is_random(scenario));
  hr_scenario_destroy(scenario);
}

#define KARPENTER(members) "\"autoscaler\":{\"name\":\"karpenter\"" members "},"

static void node_pools_are_read(void) {
  static const char text[] = SCALED(
      KARPENTER(",\"unavailable_s\":60,\"node_pools\":[{\"name\":\"a\",\"pools\":[\"p\"],\"weight\":7,"
                "\"limits\":{\"gpus\":16,\"cpus\":2.5,\"mem_gb\":3},\"expire_after_s\":50,\"consolidation\":\"never\","
                "\"budgets\":[{\"nodes\":2},{\"percent\":30,\"reasons\":[\"empty\",\"drifted\"],"
                "\"schedule\":\"@daily\",\"duration_s\":3600}],\"drift_at_s\":[5,7.5]}],\"spot_to_spot\":true"),
      POLICY, RENTED ",\"autoscale\":{\"no_capacity\":0.25}");
  struct hr_scenario *scenario = load_text(text);
  const struct hr_autoscaler_spec *spec = scenario->cluster.autoscaler;
  CU_ASSERT_EQUAL_FATAL(spec->n_node_pools, 1);
  const struct hr_node_pool *pool = &spec->node_pools[0];
  CU_ASSERT_EQUAL(spec->kind, HR_NODE_AUTOSCALER_KARPENTER);
  CU_ASSERT_EQUAL(spec->batch_max_us, 10 * HR_SECOND_US);
  CU_ASSERT_EQUAL(spec->unavailable_us, 60 * HR_SECOND_US);
  CU_ASSERT_EQUAL(spec->failure_share[0], 0.25);
  CU_ASSERT_TRUE(pool->of_pool[0]);
  CU_ASSERT_EQUAL(pool->weight, 7);
  CU_ASSERT_EQUAL(pool->max_nodes, UINT32_MAX);
  CU_ASSERT_EQUAL(pool->max_gpus, 16);
  CU_ASSERT_EQUAL(pool->max_cpu_milli, 2500);
  CU_ASSERT_EQUAL(pool->max_mem_mib, 3072);
  CU_ASSERT_EQUAL(pool->expire_us, 50 * HR_SECOND_US);
  CU_ASSERT_EQUAL(pool->consolidation, HR_CONSOLIDATION_NEVER);
  CU_ASSERT_EQUAL_FATAL(pool->n_budgets, 2);
  CU_ASSERT_EQUAL(pool->budgets[0].nodes, 2);
  CU_ASSERT_EQUAL(pool->budgets[0].percent, UINT32_MAX);
  CU_ASSERT_EQUAL(pool->budgets[1].percent, 30);
  CU_ASSERT_EQUAL(pool->budgets[1].reasons, 1u << HR_DISRUPTION_EMPTY | 1u << HR_DISRUPTION_DRIFTED);
  CU_ASSERT_PTR_NULL(pool->budgets[0].schedule);
  CU_ASSERT_STRING_EQUAL(pool->budgets[1].schedule, "@daily");
  CU_ASSERT_EQUAL(pool->budgets[1].duration_us, 3600 * HR_SECOND_US);
  CU_ASSERT_EQUAL_FATAL(pool->n_drifts, 2);
  CU_ASSERT_EQUAL(pool->drifts_us[1], 7500000);
  CU_ASSERT_TRUE(spec->spot_to_spot);
  hr_scenario_destroy(scenario);
  /* without node pools in the scenario, one node pool has all elastic pools, with a budget of 10 % */
  scenario = load_text(SCALED(KARPENTER(""), POLICY, RENTED ",\"autoscale\":{\"min_nodes\":0}"));
  spec = scenario->cluster.autoscaler;
  CU_ASSERT_EQUAL_FATAL(spec->n_node_pools, 1);
  CU_ASSERT_TRUE(spec->node_pools[0].of_pool[0]);
  CU_ASSERT_EQUAL(spec->node_pools[0].n_budgets, 1);
  CU_ASSERT_EQUAL(spec->node_pools[0].budgets[0].percent, 10);
  hr_scenario_destroy(scenario);
}

static void invalid_node_pools_are_rejected(void) {
  static const char *const cases[][2] = {
      {SCALED(KARPENTER(",\"expanders\":[\"price\"]"), POLICY, RENTED),
       "s.json:2:46: 'expanders' is not a parameter of the autoscaler 'karpenter'"},
      {SCALED(SCALER(",\"batch_idle_s\":2"), POLICY, RENTED),
       "s.json:2:58: 'batch_idle_s' is not a parameter of the autoscaler 'cluster-autoscaler'"},
      {SCALED(KARPENTER(",\"node_pools\":[{\"name\":\"a\",\"pools\":[\"q\"]}]"), POLICY, RENTED),
       "s.json:2:69: no pool with the market on-demand or spot has the name 'q'"},
      {SCALED(KARPENTER(",\"node_pools\":[{\"name\":\"a\",\"pools\":[\"p\"]},{\"name\":\"b\",\"pools\":[\"p\"]}]"),
              POLICY, RENTED),
       "s.json:2:96: pool 'p' is in a node pool already"},
      {SCALED(KARPENTER(",\"node_pools\":[{\"name\":\"a\"},{\"name\":\"b\"}]"), POLICY, RENTED),
       "s.json:2:48: with several node pools, each one needs 'pools'"},
      {SCALED(KARPENTER(",\"node_pools\":[{\"name\":\"a\",\"budgets\":[{}]}]"), POLICY, RENTED),
       "s.json:2:71: a budget has either 'nodes' or 'percent'"},
      {SCALED(KARPENTER(",\"node_pools\":[{\"name\":\"a\",\"budgets\":[{\"nodes\":0,\"schedule\":\"@daily\"}]}]"),
              POLICY, RENTED),
       "s.json:2:71: 'schedule' and 'duration_s' need each other"},
      {SCALED(KARPENTER(",\"node_pools\":[{\"name\":\"a\",\"budgets\":[{\"nodes\":0,\"duration_s\":60}]}]"), POLICY,
              RENTED),
       "s.json:2:71: 'schedule' and 'duration_s' need each other"},
      {SCALED(KARPENTER(",\"node_pools\":[{\"name\":\"a\",\"budgets\":[{\"nodes\":0,\"duration_s\":60,"
                        "\"schedule\":\"0 25 * * *\"}]}]"),
              POLICY, RENTED),
       "s.json:2:109: '0 25 * * *' is not a schedule; minute, hour, day, month and weekday are expected, as in \"0 9 * "
       "* "
       "mon-fri\""},
      {SCALED(KARPENTER(",\"node_pools\":[{\"name\":\"a\",\"budgets\":[{\"nodes\":0,\"duration_s\":60,"
                        "\"schedule\":\"@every 2h\"}]}]"),
              POLICY, RENTED),
       "s.json:2:109: '@every 2h' is not a schedule; minute, hour, day, month and weekday are expected, as in \"0 9 * "
       "* "
       "mon-fri\""},
      {SCALED(SCALER(",\"spot_to_spot\":true"), POLICY, RENTED),
       "s.json:2:58: 'spot_to_spot' is not a parameter of the autoscaler 'cluster-autoscaler'"},
      {SCALED(KARPENTER(",\"max_provision_s\":60"), POLICY, RENTED ",\"boot_s\":61"),
       "s.json:5:52: a node of pool 'p' boots in 61 s, but it is given up after 60 s ('max_provision_s')"},
      {SCALED(KARPENTER(""), POLICY, RENTED ",\"autoscale\":{\"min_nodes\":1}"),
       "s.json:5:68: 'min_nodes' has no effect with the autoscaler karpenter"},
      {SCALED(KARPENTER(",\"node_pools\":[{\"name\":\"a\",\"pools\":[\"p\"]}]"), POLICY,
              RENTED "},{\"name\":\"q\"," SHAPE RENTED),
       "s.json:2:47: pool 'q' is elastic, but in no node pool"},
  };
  EXPECT_ERRORS(cases);
}

static void invalid_autoscalers_are_rejected(void) {
  static const char *const cases[][2] = {
      {SCALED("", POLICY, RENTED ",\"autoscale\":{}"), "s.json:5:55: pool 'p' has bounds for an autoscaler, but the "
                                                       "cluster has no 'autoscaler'"},
      {SCALED(SCALER(""), POLICY, "\"market\":\"owned\",\"usd_per_gpu_hour\":2"),
       "s.json:2:14: no pool has the market on-demand or spot, so an autoscaler has no nodes to request"},
      {SCALED(SCALER(""), POLICY, RENTED ",\"autoscale\":{\"min_nodes\":5}"),
       "s.json:5:68: the minimum of pool 'p' is 5 nodes; it has at most 4 ('nodes')"},
      {SCALED(SCALER(",\"backoff_s\":90,\"backoff_max_s\":60"), POLICY, RENTED),
       "s.json:2:74: the maximum back-off, 60 s, is shorter than the first one, 90 s"},
      {SCALED(SCALER(",\"quotas\":[{\"gpus\":8,\"region\":\"eu-west-1\"}]"), POLICY, RENTED),
       "s.json:2:53: the quota applies to no elastic pool: none has this GPU type and region"},
      {SCALED(SCALER(""), "\"policy\":{\"name\":\"queue\",\"market\":\"spot-first\"}", RENTED),
       "s.json:1:36: 'market' lets the policy request nodes, as does 'autoscaler' of the cluster; keep one of them"},
      {SCALED(SCALER(",\"expanders\":[\"cheapest\"]"), POLICY, RENTED),
       "one of random, most-pods, least-nodes, least-waste..."},
  };
  EXPECT_ERRORS(cases);
}

TEST_MAIN("scenarios_markets", TEST(create_test_folder), TEST(pools_without_market_have_no_price),
          TEST(equal_notes_of_pools_are_merged), TEST(stated_prices_are_exact),
          TEST(discounts_are_off_the_on_demand_price), TEST(prices_have_a_source), TEST(invalid_prices_are_rejected),
          TEST(prices_of_owned_nodes), TEST(owned_power_follows_from_the_gpu), TEST(invalid_ownership_is_rejected),
          TEST(reservation_times_are_read), TEST(invalid_reservations_are_rejected),
          TEST(billing_defaults_follow_the_provider), TEST(boot_times_are_read), TEST(invalid_boot_times_are_rejected),
          TEST(every_model_is_read), TEST(recorded_levels_are_read), TEST(notice_defaults_follow_the_provider),
          TEST(notices_longer_than_the_up_time_are_noted), TEST(spot_prices_above_on_demand_are_noted),
          TEST(recorded_prices_are_read), TEST(drawn_prices_vary_around_the_mean_price),
          TEST(invalid_spot_prices_are_rejected), TEST(spot_discount_and_free_hour),
          TEST(pools_of_one_gpu_type_and_zone_share_interruptions), TEST(invalid_spot_is_rejected),
          TEST(placement_by_pool_needs_permanent_nodes), TEST(classes_are_read),
          TEST(checkpoints_without_cost_are_noted), TEST(invalid_classes_are_rejected), TEST(autoscalers_are_read),
          TEST(invalid_autoscalers_are_rejected), TEST(node_pools_are_read), TEST(invalid_node_pools_are_rejected),
          TEST(remove_test_folder))
