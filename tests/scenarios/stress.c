/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stress of scenarios. In long runs, the interruption rates are multiplied by the requested factor, and the
 * availability is unchanged. Prices are multiplied by exactly the requested factor. An outage withholds spot capacity
 * for the requested share of the time. A spot model is replaced. A GPU type is removed. A rejected stress changes
 * nothing.
 */

#include "loading.h"

#include "headroom/report.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/experiments.h"
#include "sim/market/market.h"

#include <math.h>

#define POLICY "\"policy\":{\"name\":\"queue\",\"market\":\"static\"}"
#define TEXT_OF_POOLS(pools) "{" POLICY ",\"cluster\":{\"pools\":[\n" pools "]}}"
#define SPOT_NODES "{\"name\":\"p\",\"gpu\":\"T4\",\"nodes\":"
#define SPOT_MARKET                                                                                                    \
  ",\"gpus_per_node\":1,\"market\":\"spot\",\"usd_per_gpu_hour\":1,\"boot_s\":0,\"spot\":{\"notice_s\":0,"
/* A scenario with one pool of spot nodes that uses this spot model. */
#define SPOT(nodes, model) TEXT_OF_POOLS(SPOT_NODES nodes SPOT_MARKET model "}}")

#define HOUR_US (3600 * HR_SECOND_US)

static struct hr_scenario *load_text(const char *text) {
  write_text(text);
  return load(NULL, 0);
}

static void apply(struct hr_scenario *scenario, const struct hr_stress *stress) {
  struct hr_error error = {0};
  enum hr_status status = hr_scenario_stress(scenario, stress, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
}

static void multiply_interruptions(struct hr_scenario *scenario, double times) {
  struct hr_stress stress;
  hr_stress_init(&stress);
  stress.spot_reclaims = times;
  apply(scenario, &stress);
}

/* ---- Reclaims --------------------------------------------------------------------------------------- */

/* Runs one job without GPUs for `hours` hours. Returns the spot metrics of the cluster, which uses all available
   nodes. */
static struct hr_spot_metrics spot_figures(const struct hr_scenario *scenario, int64_t hours) {
  const int64_t submit_us[] = {0}, work_us[] = {hours * HOUR_US};
  const uint32_t gpus[] = {0};
  const struct hr_trace trace = {
      .source = "test", .format = "memory", .n_jobs = 1, .submit_us = submit_us, .work_us = work_us, .gpus = gpus};
  struct hr_usage *usage = hr_usage_create(&trace);
  const struct hr_observer observer = hr_usage_observer(usage);
  const struct hr_run_config config = {.trace = &trace,
                                       .cluster = &scenario->cluster,
                                       .policy = scenario->policy.ops,
                                       .params = scenario->policy.params,
                                       .seed = scenario->seed,
                                       .horizon_us = HR_NEVER_US,
                                       .classes = scenario->classes,
                                       .observers = &observer,
                                       .n_observers = 1};
  struct hr_result *result = NULL;
  struct hr_summary *summary = NULL;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_summarize(&trace, &scenario->cluster, result, usage, NULL, &summary, &error), HR_OK);
  struct hr_spot_metrics figures = summary->spot;
  hr_summary_destroy(summary);
  hr_result_destroy(result);
  hr_usage_destroy(usage);
  return figures;
}

/* Asserts that the measured interruption rate is 1 / mean_h. Periods of availability are a renewal process with mean m
   and standard deviation s. The number of periods in time H has the variance H s^2 / m^3. One more event is allowed,
   because the run ends within a period. */
static void expect_rate(const struct hr_spot_metrics *figures, double mean_h, double deviation_h) {
  double hours = figures->node_hours, sigma = sqrt(deviation_h * deviation_h / (mean_h * mean_h * mean_h) / hours);
  double off = figures->reclaims_per_node_hour - 1 / mean_h;
  CU_ASSERT(hours > 1000 * mean_h);
  if (fabs(off) > 3 * sigma + 1 / hours)
    printf("\n  %.6g reclaims per node hour, wanted %.6g +- %.2g\n", figures->reclaims_per_node_hour, 1 / mean_h,
           sigma);
  CU_ASSERT(fabs(off) <= 3 * sigma + 1 / hours);
}

/* A spot model, with the mean and standard deviation of its periods of availability in hours */
struct availability_model {
  const char *text;
  double mean_h, deviation_h;
};

/* Checks the interruption rate for the factors 1, 2 and 1/3. */
static void expect_rates(const struct availability_model *model) {
  static const double times[] = {1, 2, 1 / 3.0};
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    struct hr_scenario *scenario = load_text(model->text);
    multiply_interruptions(scenario, times[i]);
    struct hr_spot_metrics figures = spot_figures(scenario, 20000);
    expect_rate(&figures, model->mean_h / times[i], model->deviation_h / times[i]);
    hr_scenario_destroy(scenario);
  }
}

static void rates_of_exponential_models(void) {
  expect_rates(&(struct availability_model){SPOT("4", "\"model\":\"exponential\",\"rate_per_h\":0.5"), 2, 2});
  expect_rates(&(struct availability_model){SPOT("40", "\"model\":\"advisor\",\"monthly_interruption\":0.99"),
                                            730 / -log(0.01), 730 / -log(0.01)});
}

/* Returns the share of nodes that reach an age, by the formula of the documentation. */
static double share_left(double age_h) {
  double share_lost = 0.45 * (1 - exp(-age_h / 1) + exp((age_h - 24) / 0.8));
  return share_lost < 1 ? 1 - share_lost : 0;
}

static void rates_of_bathtub_models(void) {
  enum { STEPS = 240000 };
  double mean_h = 0, square = 0, step_h = 24.0 / STEPS;
  for (int i = 0; i < STEPS; i++) {
    double age_h = (i + 0.5) * step_h;
    mean_h += share_left(age_h) * step_h;
    square += 2 * age_h * share_left(age_h) * step_h;
  }
  expect_rates(&(struct availability_model){
      SPOT("8", "\"model\":\"bathtub\",\"bathtub\":{\"a\":0.45,\"tau1_h\":1,\"tau2_h\":0.8,\"b_h\":24,\"last_h\":24}"),
      mean_h, sqrt(square - mean_h * mean_h)});
}

/* Tests one model for each distribution of durations. The mean of `down` is a third of the mean of `up`. The
   interruption rate is multiplied by the factor, and the availability remains 3/4. */
static void rates_and_availability_of_on_off_models(void) {
  static const struct availability_model models[] = {
      {SPOT("1", "\"model\":\"on-off\",\"up\":{\"distribution\":\"fixed\",\"mean_s\":7200},"
                 "\"down\":{\"distribution\":\"fixed\",\"mean_s\":2400}"),
       2, 0},
      {SPOT("1", "\"model\":\"on-off\",\"up\":{\"distribution\":\"exponential\",\"mean_s\":7200},"
                 "\"down\":{\"distribution\":\"exponential\",\"mean_s\":2400}"),
       2, 2},
      /* the mean is e^(8.5 + 0.125) s */
      {SPOT("1", "\"model\":\"on-off\",\"up\":{\"distribution\":\"log-normal\",\"mu\":8.5,\"sigma\":0.5},"
                 "\"down\":{\"distribution\":\"log-normal\",\"mu\":7.401387711331890,\"sigma\":0.5}"),
       1.549009, 0.825528},
      /* for shape 2 the mean is scale x sqrt(pi) / 2, and the variance is scale^2 (1 - pi / 4) */
      {SPOT("1", "\"model\":\"on-off\",\"up\":{\"distribution\":\"weibull\",\"shape\":2,\"scale_s\":7200},"
                 "\"down\":{\"distribution\":\"weibull\",\"shape\":2,\"scale_s\":2400}"),
       1.772454, 0.926514}};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    expect_rates(&models[i]);
    for (int times = 1; times <= 2; times++) {
      struct hr_scenario *scenario = load_text(models[i].text);
      multiply_interruptions(scenario, times);
      CU_ASSERT_DOUBLE_EQUAL(spot_figures(scenario, 20000).availability, 0.75, 0.015);
      hr_scenario_destroy(scenario);
    }
  }
}

static void write_record(void) {
  FILE *file = fopen("record.json", "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs("{\"metadata\":{\"gap_seconds\":600},\"data\":[4,4,1,3,3,3,0,0,2,4,4,4]}", file);
  fclose(file);
}

/* At twice the speed, a record of two hours is replayed in one hour. The same number of interruptions occurs in half
   the node hours. */
static void rates_of_recorded_models(void) {
  write_record();
  const char *text = SPOT("4", "\"model\":\"trace\",\"file\":\"record.json\",\"offset_s\":8400");
  struct hr_scenario *plain = load_text(text), *twice = load_text(text), *slow = load_text(text);
  multiply_interruptions(twice, 2);
  multiply_interruptions(slow, 0.5);
  struct hr_spot_metrics once = spot_figures(plain, 2000), fast = spot_figures(twice, 1000),
                         half = spot_figures(slow, 4000);
  CU_ASSERT(once.reclaims > 5000);
  CU_ASSERT_EQUAL(fast.reclaims, once.reclaims);
  CU_ASSERT_EQUAL(half.reclaims, once.reclaims);
  CU_ASSERT_DOUBLE_EQUAL(fast.node_hours, once.node_hours / 2, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(fast.reclaims_per_node_hour, 2 * once.reclaims_per_node_hour, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(half.reclaims_per_node_hour, once.reclaims_per_node_hour / 2, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(fast.availability, once.availability, 1e-12);
  hr_scenario_destroy(plain);
  hr_scenario_destroy(twice);
  hr_scenario_destroy(slow);
  remove("record.json");
}

/* Times are rounded to microseconds. If steps coincide after rounding, each later one is one microsecond after the
   previous one. */
static void times_of_a_record_are_rounded_and_increase(void) {
  struct hr_level_step levels[] = {{0, 2}, {1, 1}, {3, 2}, {4, 0}, {1000, 2}};
  struct hr_pool_spec pool = {.market = {.market = HR_MARKET_SPOT}};
  char name[] = "p", path[] = "s.json";
  pool.name = pool.gpu = name;
  pool.market.spot = (struct hr_spot_spec){
      .model = HR_SPOT_TRACE, .levels = levels, .n_levels = 5, .period_us = 1001, .offset_us = 2 * 1001 + 500};
  struct hr_scenario scenario = {.path = path, .cluster = {.pools = &pool, .n_pools = 1}};
  static const int64_t expected_us[] = {0, 1, 2, 3, 333};
  multiply_interruptions(&scenario, 3);
  for (int i = 0; i < 5; i++) CU_ASSERT_EQUAL(levels[i].at_us, expected_us[i]);
  CU_ASSERT_EQUAL(pool.market.spot.period_us, 334);
  CU_ASSERT_EQUAL(pool.market.spot.offset_us, 167);
  multiply_interruptions(&scenario, 1000);
  for (int i = 0; i < 5; i++) CU_ASSERT_EQUAL(levels[i].at_us, i);
  CU_ASSERT_EQUAL(pool.market.spot.period_us, 5);
}

static void models_without_interruptions(void) {
  struct hr_scenario *scenario = load_text(SPOT("4", "\"model\":\"none\""));
  multiply_interruptions(scenario, 100);
  struct hr_spot_metrics figures = spot_figures(scenario, 1000);
  CU_ASSERT_EQUAL(figures.reclaims, 0);
  CU_ASSERT_EQUAL(figures.node_hours, 4000);
  hr_scenario_destroy(scenario);
}

/* ---- Prices ----------------------------------------------------------------------------------------- */

#define PRICED                                                                                                         \
  TEXT_OF_POOLS("{\"name\":\"s\",\"gpu\":\"T4\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"spot\","                  \
                "\"usd_per_gpu_hour\":0.100005,\"on_demand_usd_per_gpu_hour\":0.5,\"boot_s\":0,"                       \
                "\"spot\":{\"model\":\"none\",\"price\":{\"model\":\"ou\",\"volatility\":0.3,\"reversion_h\":24}}},"   \
                "{\"name\":\"d\",\"gpu\":\"T4\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"on-demand\","             \
                "\"usd_per_gpu_hour\":0.333333,\"boot_s\":0},"                                                         \
                "{\"name\":\"r\",\"gpu\":\"T4\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"reserved\","              \
                "\"usd_per_gpu_hour\":0.2,\"on_demand_usd_per_gpu_hour\":0.7},"                                        \
                "{\"name\":\"n\",\"gpu\":\"T4\",\"nodes\":1,\"gpus_per_node\":1}")

/* Returns the product, rounded half up to a whole number. */
static int64_t scaled_price(int64_t uusd_h, int64_t millionths) {
  return (uusd_h * millionths + 500000) / 1000000;
}

static void prices_are_multiplied(void) {
  struct hr_scenario *plain = load_text(PRICED), *scenario = load_text(PRICED);
  struct hr_stress stress;
  hr_stress_init(&stress);
  stress.spot_price = 1.1;
  stress.on_demand_price = 2.5;
  apply(scenario, &stress);
  const struct hr_pool_spec *before = plain->cluster.pools, *after = scenario->cluster.pools;
  CU_ASSERT(before[0].market.n_prices > 1000);
  CU_ASSERT_EQUAL_FATAL(after[0].market.n_prices, before[0].market.n_prices);
  CU_ASSERT_EQUAL(after[0].market.price_uusd_h, scaled_price(before[0].market.price_uusd_h, 1100000));
  for (uint32_t i = 0; i < before[0].market.n_prices; i++) {
    CU_ASSERT_EQUAL(after[0].market.prices[i].uusd_h, scaled_price(before[0].market.prices[i].uusd_h, 1100000));
    CU_ASSERT_EQUAL(after[0].market.prices[i].at_us, before[0].market.prices[i].at_us);
  }
  CU_ASSERT_EQUAL(after[0].market.on_demand_uusd_h, 1250000);
  CU_ASSERT_EQUAL(after[1].market.price_uusd_h, 833333); /* 833332.5 rounded up */
  CU_ASSERT_EQUAL(after[1].market.on_demand_uusd_h, 833333);
  CU_ASSERT_EQUAL(after[2].market.price_uusd_h, 200000);
  CU_ASSERT_EQUAL(after[2].market.on_demand_uusd_h, 1750000);
  CU_ASSERT_EQUAL(after[3].market.price_uusd_h, 0);
  CU_ASSERT_EQUAL(after[3].market.on_demand_uusd_h, HR_UNKNOWN_UUSD_H);
  hr_scenario_destroy(plain);
  hr_scenario_destroy(scenario);
}

/* ---- Outages ---------------------------------------------------------------------------------------- */

/* Measures the share of time in which the nodes are up under an outage. */
static double share_up(const char *text, const struct hr_spot_spec *as, double outage) {
  enum { HOURS = 100000 };
  struct hr_scenario *scenario = load_text(text);
  struct hr_stress stress;
  hr_stress_init(&stress);
  stress.spot_as = as;
  stress.spot_outage = outage;
  uint32_t nodes = scenario->cluster.pools[0].nodes;
  apply(scenario, &stress);
  struct hr_spot_metrics figures = spot_figures(scenario, HOURS);
  hr_scenario_destroy(scenario);
  return figures.node_hours / ((double)nodes * HOURS);
}

/* Nodes are up and down for hours at a time. So the share in 100,000 hours has a standard error of about half a
   percentage point. */
static void expect_share(double share, double expected) {
  if (fabs(share - expected) > 0.02) printf("\n  up for %.4f of the time, expected %.4f", share, expected);
  CU_ASSERT(fabs(share - expected) <= 0.02);
}

static const char on_off_90[] =
    SPOT("4", "\"model\":\"on-off\",\"up\":{\"distribution\":\"exponential\",\"mean_s\":32400},"
              "\"down\":{\"distribution\":\"exponential\",\"mean_s\":3600}");

static void outages_withhold_capacity(void) {
  static const double outages[] = {0.2, 0.5};
  for (size_t i = 0; i < sizeof outages / sizeof *outages; i++) {
    expect_share(share_up(SPOT("4", "\"model\":\"none\""), NULL, outages[i]), 1 - outages[i]);
    expect_share(share_up(SPOT("4", "\"model\":\"exponential\",\"rate_per_h\":0.01"), NULL, outages[i]),
                 1 - outages[i]);
    expect_share(share_up(on_off_90, NULL, outages[i]), 1 - outages[i]);
  }
  expect_share(share_up(on_off_90, NULL, 0), 0.9);
}

/* An outage does not change the length of a cycle of the pool's spot model. */
static void outages_keep_the_cycle(void) {
  struct hr_scenario *scenario = load_text(on_off_90);
  struct hr_stress stress;
  hr_stress_init(&stress);
  stress.spot_outage = 0.5;
  apply(scenario, &stress);
  const struct hr_spot_spec *spot = &scenario->cluster.pools[0].market.spot;
  CU_ASSERT(fabs(spot->up.a - 18000) < 1e-6 && fabs(spot->down.a - 18000) < 1e-6);
  hr_scenario_destroy(scenario);
}

/* An outage never increases the availability of capacity. */
static void scarce_capacity_stays_scarce(void) {
  struct hr_level_step levels[] = {{0, 4}, {HOUR_US, 0}};
  struct hr_pool_spec pool = {.name = (char[]){"p"}, .gpu = (char[]){"T4"}, .nodes = 4};
  pool.market = (struct hr_market_spec){
      .market = HR_MARKET_SPOT,
      .spot = {.model = HR_SPOT_TRACE, .levels = levels, .n_levels = 2, .period_us = 4 * HOUR_US}};
  struct hr_scenario scenario = {.path = (char[]){"s"}, .cluster = {.pools = &pool, .n_pools = 1}};
  struct hr_stress stress;
  hr_stress_init(&stress);
  stress.spot_outage = 0.75;
  apply(&scenario, &stress);
  CU_ASSERT_EQUAL(pool.market.spot.model, HR_SPOT_TRACE);
  CU_ASSERT_PTR_EQUAL(pool.market.spot.levels, levels);
  expect_share(share_up(on_off_90, NULL, 0.05), 0.9);
}

/* For a spot model without periods, an outage uses the periods of the catalogue's preset aws-v100, scaled to the
   requested share of the time. Here this is the share of the preset, so the periods are unchanged. */
static void outages_are_as_long_as_recorded(void) {
  struct hr_scenario *scenario = load_text(SPOT("4", "\"model\":\"none\""));
  struct hr_catalog *catalog;
  const struct hr_spot_preset *preset;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_load(NULL, &catalog, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_catalog_spot_preset(catalog, "aws-v100", &preset, &error), HR_OK);
  struct hr_stress stress;
  hr_stress_init(&stress);
  double up_s = hr__duration_mean_s(&preset->spec.up), down_s = hr__duration_mean_s(&preset->spec.down);
  stress.spot_outage = down_s / (up_s + down_s);
  apply(scenario, &stress);
  const struct hr_spot_spec *spot = &scenario->cluster.pools[0].market.spot;
  CU_ASSERT(fabs(spot->up.a - preset->spec.up.a) < 1e-9 && spot->up.b == preset->spec.up.b);
  CU_ASSERT(fabs(spot->down.a - preset->spec.down.a) < 1e-9 && spot->down.b == preset->spec.down.b);
  hr_catalog_destroy(catalog);
  hr_scenario_destroy(scenario);
}

static void pools_without_any_capacity(void) {
  struct hr_scenario *scenario = load_text(PRICED);
  struct hr_stress stress;
  hr_stress_init(&stress);
  stress.spot_outage = 1;
  apply(scenario, &stress);
  static const uint32_t nodes[] = {0, 1, 1, 1};
  for (int i = 0; i < 4; i++) CU_ASSERT_EQUAL(scenario->cluster.pools[i].nodes, nodes[i]);
  hr_scenario_destroy(scenario);
}

/* The spot model is replaced, except for the zone of the pool. */
static void another_spot_model(void) {
  const struct hr_spot_spec as = {.model = HR_SPOT_EXPONENTIAL, .rate_per_h = 0.5, .batch_mean = 2, .notice_us = 7};
  struct hr_scenario *scenario = load_text(on_off_90);
  struct hr_stress stress;
  hr_stress_init(&stress);
  stress.spot_as = &as;
  stress.spot_reclaims = 2;
  uint32_t zone = scenario->cluster.pools[0].market.spot.zone;
  apply(scenario, &stress);
  const struct hr_spot_spec *spot = &scenario->cluster.pools[0].market.spot;
  CU_ASSERT_EQUAL(spot->model, HR_SPOT_EXPONENTIAL);
  CU_ASSERT_EQUAL(spot->rate_per_h, 1);
  CU_ASSERT_EQUAL(spot->batch_mean, 2);
  CU_ASSERT_EQUAL(spot->notice_us, 7);
  CU_ASSERT_EQUAL(spot->zone, zone);
  hr_scenario_destroy(scenario);
  expect_share(share_up(on_off_90, &as, 0), 1);
  expect_share(share_up(on_off_90, &as, 0.5), 0.5);
}

/* ---- Removed GPU types ------------------------------------------------------------------------------ */

#define MIXED                                                                                                          \
  "{" POLICY ",\"cluster\":{\"node_order\":[\"b*2\",\"a*1\",\"c*1\",\"b*1\",\"a*1\",\"c*1\"],\"pools\":["              \
  "{\"name\":\"a\",\"gpu\":\"T4\",\"nodes\":3,\"gpus_per_node\":1},"                                                   \
  "{\"name\":\"b\",\"gpu\":\"A100-80\",\"nodes\":4,\"gpus_per_node\":8,\"sharing\":\"fraction\"},"                     \
  "{\"name\":\"c\",\"gpu\":\"t4\",\"nodes\":2,\"gpus_per_node\":4}]}}"

static void stress_without(struct hr_scenario *scenario, const char *gpu) {
  struct hr_stress stress;
  hr_stress_init(&stress);
  stress.without_gpu = gpu;
  apply(scenario, &stress);
}

static void expect_nodes(const struct hr_scenario *scenario, uint32_t a, uint32_t b, uint32_t c) {
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].nodes, a);
  CU_ASSERT_EQUAL(scenario->cluster.pools[1].nodes, b);
  CU_ASSERT_EQUAL(scenario->cluster.pools[2].nodes, c);
}

/* Nodes that are already owned remain, although no more nodes of their type can be bought. */
static void kept_pools_keep_their_nodes(void) {
  static const bool keeps[] = {true, false, false};
  static const char *const overrides[] = {"cluster.pools.2.nodes=0"};
  struct hr_scenario *scenario = load_text(MIXED), *wanted = load(overrides, 1);
  struct hr_stress stress;
  hr_stress_init(&stress);
  stress.without_gpu = "T4";
  stress.keeps_nodes = keeps;
  apply(scenario, &stress);
  expect_nodes(scenario, 3, 4, 0);
  for (int i = 0; i < 7; i++) CU_ASSERT_EQUAL(scenario->cluster.node_order[i], wanted->cluster.node_order[i]);
  hr_scenario_destroy(scenario);
  hr_scenario_destroy(wanted);
}

/* The remaining nodes have the order that they have in a scenario without the removed nodes. */
static void pools_of_a_removed_type_have_no_nodes(void) {
  static const char *const overrides[] = {"cluster.pools.0.nodes=0", "cluster.pools.2.nodes=0"};
  static const char *const other[] = {"cluster.pools.1.nodes=0"};
  struct hr_scenario *scenario = load_text(MIXED), *wanted = load(overrides, 2);
  stress_without(scenario, "T4");
  expect_nodes(scenario, 0, 4, 0);
  for (int i = 0; i < 4; i++) CU_ASSERT_EQUAL(scenario->cluster.node_order[i], wanted->cluster.node_order[i]);
  hr_scenario_destroy(scenario);
  hr_scenario_destroy(wanted);
  scenario = load_text(MIXED);
  wanted = load(other, 1);
  stress_without(scenario, "a100-80");
  expect_nodes(scenario, 3, 0, 2);
  for (int i = 0; i < 5; i++) CU_ASSERT_EQUAL(scenario->cluster.node_order[i], wanted->cluster.node_order[i]);
  CU_ASSERT_TRUE(hr_cluster_spec_by_gpu(&scenario->cluster)); /* unchanged by the stress */
  CU_ASSERT_FALSE(hr_cluster_spec_by_gpu(&wanted->cluster));
  stress_without(scenario, "T4");
  expect_nodes(scenario, 0, 0, 0);
  hr_scenario_destroy(scenario);
  hr_scenario_destroy(wanted);
}

/* ---- Errors ----------------------------------------------------------------------------------------- */

static void expect_same(const struct hr_pool_spec *a, const struct hr_pool_spec *b) {
  const struct hr_spot_spec *x = &a->market.spot, *y = &b->market.spot;
  CU_ASSERT_EQUAL(a->nodes, b->nodes);
  CU_ASSERT_EQUAL(a->market.price_uusd_h, b->market.price_uusd_h);
  CU_ASSERT_EQUAL(a->market.on_demand_uusd_h, b->market.on_demand_uusd_h);
  CU_ASSERT(x->rate_per_h == y->rate_per_h && x->up.a == y->up.a && x->down.a == y->down.a);
  CU_ASSERT(x->period_us == y->period_us && x->offset_us == y->offset_us);
}

static void expect_rejected(const char *text, const struct hr_stress *stress, const char *expected) {
  struct hr_scenario *scenario = load_text(text);
  const struct hr_pool_spec *pool = &scenario->cluster.pools[0];
  struct hr_pool_spec before = *pool;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr_scenario_stress(scenario, stress, &error), HR_BAD_INPUT);
  bool same = message_matches(error.text, expected);
  if (!same) printf("\n  expected: %s\n  got:      %s\n", expected, error.text);
  CU_ASSERT_TRUE(same);
  expect_same(pool, &before);
  hr_scenario_destroy(scenario);
}

static struct hr_stress stress_of(double reclaims, double spot_price, double on_demand_price, const char *without) {
  return (struct hr_stress){reclaims, spot_price, on_demand_price, without};
}

static void a_rejected_stress_changes_nothing(void) {
  const char *rate = SPOT("4", "\"model\":\"exponential\",\"rate_per_h\":36");
  const struct {
    const char *text;
    struct hr_stress stress;
    const char *expected;
  } cases[] = {
      {MIXED, stress_of(1, 1, 1, "A100"), "s.json: a pool's GPU type 'A100' is unknown; did you mean 'A100-80'?"},
      {MIXED, stress_of(1, 1, 1, "T5"), "s.json: a pool's GPU type 'T5' is unknown; did you mean 'T4'?"},
      {MIXED, stress_of(1, 1, 1, "NONE-SUCH"), "s.json: a pool's GPU type 'NONE-SUCH' is unknown; there are: ..."},
      {PRICED, stress_of(0, 1, 1, NULL),
       "s.json: spot_reclaims, 0, is out of bounds; a number from 0.001 to 1000 is expected"},
      {PRICED, stress_of(1, -1, 1, NULL),
       "s.json: spot_price, -1, is out of bounds; a number from 0 to 1000 is expected"},
      {PRICED, stress_of(1, 1, (double)NAN, NULL), "s.json: on_demand_price, nan, is out of bounds; ..."},
      {rate, stress_of(101, 1, 1, NULL), "s.json: pool 'p', interruptions x 101: 3636 per hour; the maximum is 3600"},
      {SPOT("1", "\"model\":\"on-off\",\"up\":{\"distribution\":\"fixed\",\"mean_s\":60},"
                 "\"down\":{\"distribution\":\"fixed\",\"mean_s\":60}"),
       stress_of(240, 1, 1, NULL),
       "s.json: pool 'p', interruptions x 240: the means of 'up' and 'down' would add up to 0.5 s ..."},
      {TEXT_OF_POOLS("{\"name\":\"d\",\"gpu\":\"T4\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"on-demand\","
                     "\"usd_per_gpu_hour\":60000,\"boot_s\":0}"),
       stress_of(1, 1, 2, NULL), "s.json: pool 'd': a price of 120000 $ per GPU-hour is too high; at most 100000 $"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_rejected(cases[i].text, &cases[i].stress, cases[i].expected);
}

/* Factors of 1 do not change any value. */
static void factors_of_1_change_nothing(void) {
  write_record();
  struct hr_scenario *scenario = load_text(SPOT("4", "\"model\":\"trace\",\"file\":\"record.json\",\"offset_s\":8400"));
  struct hr_pool_spec before = scenario->cluster.pools[0];
  struct hr_stress stress;
  hr_stress_init(&stress);
  apply(scenario, &stress);
  expect_same(&scenario->cluster.pools[0], &before);
  CU_ASSERT_FALSE(scenario->cluster.by_gpu);
  hr_scenario_destroy(scenario);
  remove("record.json");
}

TEST_MAIN("scenarios: stress", TEST(create_test_folder), TEST(rates_of_exponential_models),
          TEST(rates_of_bathtub_models), TEST(rates_and_availability_of_on_off_models), TEST(rates_of_recorded_models),
          TEST(times_of_a_record_are_rounded_and_increase), TEST(models_without_interruptions),
          TEST(outages_withhold_capacity), TEST(outages_keep_the_cycle), TEST(scarce_capacity_stays_scarce),
          TEST(outages_are_as_long_as_recorded), TEST(pools_without_any_capacity), TEST(another_spot_model),
          TEST(prices_are_multiplied), TEST(kept_pools_keep_their_nodes), TEST(pools_of_a_removed_type_have_no_nodes),
          TEST(a_rejected_stress_changes_nothing), TEST(factors_of_1_change_nothing), TEST(remove_test_folder))
