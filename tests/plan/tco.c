/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cost of ownership, compared with published values (validation_expected.csv, which is not part of the repository),
   with closed forms, and with a naive register of assets in random worlds. Also tests the JSON schema. */

#include "harness.h"

#include "headroom/headroom.h"
#include "output_files.h"
#include "plan/tco/tco.h"
#include "schema_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPECTED PROJECT_DIR "/../shared/reliability/csv/validation_expected.csv"

/* ---- Worlds ------------------------------------------------------------------------------------------ */

struct world {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_tco *tco;
};

static void put_file(const char *name, const char *text) {
  FILE *file = fopen(files_path(name), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

/* Runs one job of `gpus` GPUs for `seconds` in a scenario with these pools. `more`: further keys of the scenario, each
   after a comma. */
static struct world run_world(const char *pools, const char *more, uint32_t gpus, uint32_t seconds,
                              uint32_t n_threads) {
  struct world world = {0};
  struct hr_error error = {0};
  char text[8000];
  snprintf(text, sizeof text,
           "{\"name\":\"t\",\"cluster\":{\"pools\":[%s]},\"policy\":{\"name\":\"queue\",\"market\":\"on-demand-only\"}"
           "%s}",
           pools, more);
  put_file("s.json", text);
  snprintf(text, sizeof text, "job_id,submit_s,gpus,duration_s,class\n1,0,%u,%u,training\n", gpus, seconds);
  put_file("jobs.csv", text);
  if (hr_scenario_load(files_path("s.json"), NULL, 0, &world.scenario, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(world.scenario);
  const struct hr_trace_options options = {.format = "csv"};
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(files_path("jobs.csv"), &options, &world.trace, &error), HR_OK);
  const struct hr_tco_config config = {.scenario = world.scenario, .trace = world.trace, .n_threads = n_threads};
  if (hr_tco(&config, &world.tco, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(world.tco);
  return world;
}

static void finish(struct world *world) {
  hr_tco_destroy(world->tco);
  hr_trace_destroy(world->trace);
  hr_scenario_destroy(world->scenario);
}

static double figure(const struct world *world, uint32_t option, enum hr__tco_figure figure) {
  return world->tco->options[option].figures[figure].mean;
}

static double part_usd(const struct world *world, enum hr_cost_part part) {
  return (double)world->tco->options[0].mean.uusd[0][part] / 1e6;
}

/* Returns the monthly cost of an item of capital of the first pool, for all nodes. */
static double monthly_usd(const struct world *world, uint32_t item) {
  const struct hr_ownership *owned = world->scenario->pool_sources[0].ownership;
  const struct hr_capital *capital = &owned->capital[item];
  return hr_amortized_usd(owned->amortization, owned->discount_rate, capital->usd,
                          capital->usd * capital->residual_share, capital->life_years) /
         12 * world->scenario->cluster.pools[0].nodes;
}

/* ---- Published figures ------------------------------------------------------------------------------- */

/* Reads the next field of a CSV row, which may be quoted. The field is terminated in place. */
static char *next_field(char **at) {
  char *field = *at, *end;
  if (*field == '"') {
    end = strchr(++field, '"');
    *at = end + 2;
  } else {
    end = field + strcspn(field, ",\n");
    *at = end + 1;
  }
  *end = '\0';
  return field;
}

/* Finds the row `id`. Returns whether it exists. Sets `*published` to its value, and `*tolerance` to the maximum
   difference from it. This is the tolerance of the row, but at least half a unit of the last published digit. */
static bool find_row(const char *id, double *published, double *tolerance) {
  char row[2000];
  FILE *file = fopen(EXPECTED, "r");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  bool found = false;
  while (!found && fgets(row, sizeof row, file)) {
    char *at = row;
    if (strcmp(next_field(&at), id) != 0) continue;
    next_field(&at);
    next_field(&at);
    const char *text = next_field(&at), *point = strchr(text, '.');
    *published = strtod(text, NULL);
    next_field(&at);
    const char *bound = next_field(&at);
    *tolerance = strcmp(bound, "exact") == 0 ? 1e-9 * *published : strtod(bound, NULL) / 100 * *published;
    if (point) *tolerance = fmax(*tolerance, (0.5 + 1e-9) * pow(10, -(double)strlen(point + 1)));
    found = true;
  }
  fclose(file);
  return found;
}

static void expect_published(const char *id, double value) {
  double published = (double)NAN, tolerance = (double)NAN;
  CU_ASSERT_TRUE_FATAL(find_row(id, &published, &tolerance));
  bool same = fabs(value - published) <= tolerance;
  if (!same) printf("\n  %s: %.10g, published %.10g", id, value, published);
  CU_ASSERT_TRUE(same);
}

static bool has_expected(void) {
  if (access(EXPECTED, R_OK) == 0) return true;
  printf("\n  skipped: %s is missing\n", EXPECTED);
  return false;
}

static void hamilton_is_reproduced(void) {
  char pools[2000];
  if (!has_expected()) return;
  snprintf(pools, sizeof pools,
           "{\"name\":\"p\",\"nodes\":45978,\"gpu\":\"H100\",\"gpus_per_node\":1,\"market\":\"owned\",\"owned\":{"
           "\"capex_usd_per_node\":1450,\"lifetime_years\":3,\"amortization\":\"pmt-monthly\",\"discount_rate\":0.05,"
           "\"capital\":[{\"name\":\"network\",\"usd_per_node\":%.17g,\"lifetime_years\":4},"
           "{\"name\":\"power\",\"usd_per_node\":%.17g,\"lifetime_years\":10},"
           "{\"name\":\"other\",\"usd_per_node\":%.17g,\"lifetime_years\":10}],"
           "\"power_kw_per_node\":%.17g,\"load\":0.8,\"pue\":1.45,\"usd_per_kwh\":0.07,"
           "\"staff_usd_per_node_year\":%.17g}}",
           12.81e6 / 45978, 88e6 * .82 / 45978, 88e6 * .18 / 45978, 8000.0 / 45978, 85000.0 * 12 / 45978);
  struct world world = run_world(pools, ",\"tco\":{\"years\":1}", 45978, 3600, 1);
  expect_published("tco.hp.servers", monthly_usd(&world, 0));
  expect_published("tco.hp.network", monthly_usd(&world, 1));
  expect_published("tco.hp.powercool", monthly_usd(&world, 2));
  expect_published("tco.hp.otherinfra", monthly_usd(&world, 3));
  expect_published("tco.hp.power", part_usd(&world, HR_PART_ENERGY) / 12);
  expect_published("tco.hp.people", part_usd(&world, HR_PART_STAFF) / 12);
  finish(&world);
}

/* Cost of the energy of 45,978 servers in 720 hours. */
static void hennessy_patterson_exercise(void) {
  if (!has_expected()) return;
  struct hr_ownership owned = {.power_kw = 0.225, .load = 1, .idle_load = 1, .pue = 1, .usd_per_kwh = 0.07};
  double usd[HR_N_COST_PARTS];
  hr_ownership_year(&owned, 1, usd);
  expect_published("tco.hp.ex6.8a", usd[HR_PART_ENERGY] * 45978 * 720 / 8760);
  owned.power_kw = 0.3;
  hr_ownership_year(&owned, 1, usd);
  expect_published("tco.hp.ex6.8b", usd[HR_PART_ENERGY] * 45978 * 720 / 8760);
}

static void abilene_is_reproduced(void) {
  static const char pools[] =
      "{\"name\":\"p\",\"nodes\":50000,\"gpu\":\"H100\",\"gpus_per_node\":8,\"market\":\"owned\",\"owned\":{"
      "\"capex_usd_per_node\":300000,\"lifetime_years\":5,\"amortization\":\"crf-annual\",\"discount_rate\":0.05,"
      "\"capital\":[{\"name\":\"network\",\"usd_per_gpu\":5000,\"lifetime_years\":6},"
      "{\"name\":\"facility\",\"usd_per_kw\":5000,\"lifetime_years\":10}],"
      "\"power_kw_per_node\":20,\"load\":0.8,\"pue\":1.1,\"usd_per_kwh\":0.07,\"staff_usd_per_node_year\":1500}}";
  if (!has_expected()) return;
  struct world world = run_world(pools, ",\"tco\":{\"years\":1}", 320000, 3600, 1);
  double sum_usd = (double)hr__tco_year_uusd(&world.tco->options[0].mean, 0) / 1e6;
  expect_published("tco.abilene.servers", monthly_usd(&world, 0) / 1e6);
  expect_published("tco.abilene.network", monthly_usd(&world, 1) / 1e6);
  expect_published("tco.abilene.facility", monthly_usd(&world, 2) / 1e6);
  expect_published("tco.abilene.power", part_usd(&world, HR_PART_ENERGY) / 12 / 1e6);
  expect_published("tco.abilene.people", part_usd(&world, HR_PART_STAFF) / 12 / 1e6);
  expect_published("tco.abilene.total", sum_usd / 12 / 1e6);
  CU_ASSERT_DOUBLE_EQUAL(figure(&world, 0, HR__TCO_UTILIZATION), 0.8, 1e-12);
  expect_published("tco.abilene.gpu_h", figure(&world, 0, HR__TCO_USEFUL_GPU_HOUR));
  finish(&world);
}

static void lenovo_is_reproduced(void) {
  static const char pools[] =
      "{\"name\":\"own\",\"nodes\":1,\"gpu\":\"H100\",\"gpus_per_node\":8,\"market\":\"owned\",\"owned\":{"
      "\"capex_usd_per_node\":833806,\"lifetime_years\":5,\"staff_usd_per_node_year\":7621.2}},"
      "{\"name\":\"od\",\"nodes\":1,\"gpu\":\"H100\",\"gpus_per_node\":8,\"market\":\"on-demand\",\"usd_per_node_"
      "hour\":98.32},"
      "{\"name\":\"1y\",\"nodes\":1,\"gpu\":\"H100\",\"gpus_per_node\":8,\"market\":\"reserved\",\"usd_per_node_hour\":"
      "77.43},"
      "{\"name\":\"3y\",\"nodes\":1,\"gpu\":\"H100\",\"gpus_per_node\":8,\"market\":\"reserved\",\"usd_per_node_hour\":"
      "53.95}";
  static const char *const ids[] = {"tco.lenovo.od", "tco.lenovo.1y", "tco.lenovo.3y"};
  if (!has_expected()) return;
  struct world world = run_world(pools, "", 8, 3600, 1);
  CU_ASSERT_EQUAL_FATAL(world.tco->n_pairs, 5); /* own with all others, both reservations with on demand */
  for (uint32_t p = 0; p < 3; p++) {
    CU_ASSERT_EQUAL(world.tco->pairs[p].option, 0);
    CU_ASSERT_EQUAL(world.tco->pairs[p].other, p + 1);
    expect_published(ids[p], world.tco->pairs[p].hours.mean);
  }
  finish(&world);
}

static void bill_of_materials(void) {
  static const char pools[] =
      "{\"name\":\"p\",\"nodes\":64,\"gpu\":\"H100\",\"gpus_per_node\":8,\"market\":\"owned\",\"owned\":{"
      "\"capex_usd_per_node\":310000,\"lifetime_years\":5,\"capital\":["
      "{\"name\":\"switches\",\"usd_per_node\":4500},{\"name\":\"cables\",\"usd_per_node\":10560},"
      "{\"name\":\"facility\",\"usd_per_node\":50000}]}}";
  if (!has_expected()) return;
  struct world world = run_world(pools, "", 8, 3600, 1);
  expect_published("tco.bom.512", (double)world.tco->options[0].mean.bought_uusd[0] / 1e6);
  finish(&world);
}

/* ---- Closed forms ------------------------------------------------------------------------------------ */

static void amortization_by_hand(void) {
  /* 100 at 10 % in two years: 100 / (1 / 1.1 + 1 / 1.21) = 57.619...; residual 21 is worth 21 / 1.21 today */
  CU_ASSERT_DOUBLE_EQUAL(hr_amortized_usd(HR_AMORTIZATION_CRF_ANNUAL, 0.1, 100, 0, 2), 121.0 / 2.1, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(hr_amortized_usd(HR_AMORTIZATION_CRF_ANNUAL, 0.1, 100, 21, 2), (100 - 21 / 1.21) * 1.21 / 2.1,
                         1e-12);
  CU_ASSERT_DOUBLE_EQUAL(hr_amortized_usd(HR_AMORTIZATION_STRAIGHT_LINE, 0.1, 100, 20, 4), 20, 1e-12);
  for (unsigned method = 0; method < HR_N_AMORTIZATIONS; method++)
    CU_ASSERT_DOUBLE_EQUAL(hr_amortized_usd((enum hr_amortization)method, 0, 100, 20, 2.5), 32, 1e-12);
  /* the twelve monthly payments, discounted at 1 % a month, have the present value of the purchase */
  double month = hr_amortized_usd(HR_AMORTIZATION_PMT_MONTHLY, 0.12, 1000, 0, 1) / 12, sum = 0, factor = 1;
  for (unsigned i = 0; i < 12; i++) sum += month * (factor /= 1.01);
  CU_ASSERT_DOUBLE_EQUAL(sum, 1000, 1e-9);
}

/* The nodes are paid for with annual annuities at the discount rate of the comparison, and their life is the number of
   compared years. The present value of the yearly costs then equals the present value of the payments. */
static void annuities_have_the_present_value_of_the_purchase(void) {
  static const char pools[] =
      "{\"name\":\"p\",\"nodes\":3,\"gpu\":\"H100\",\"gpus_per_node\":8,\"market\":\"owned\",\"owned\":{"
      "\"capex_usd_per_node\":1000,\"lifetime_years\":4,\"residual_share\":0.2,"
      "\"amortization\":\"crf-annual\",\"discount_rate\":0.07,\"usd_per_kwh\":0.1,\"pue\":1.2,"
      "\"power_kw_per_node\":2,\"maintenance_share_per_year\":0.04}}";
  struct world world = run_world(pools, ",\"tco\":{\"years\":4,\"discount_rate\":0.07}", 8, 3600, 1);
  const struct hr__tco_path *path = &world.tco->options[0].mean;
  double sum = 0, paid = 0;
  for (uint32_t year = 0; year < 4; year++) {
    sum += (double)hr__tco_year_uusd(path, year) / 1e6 / pow(1.07, year + 1);
    paid += (double)hr__tco_paid_uusd(path, year) / 1e6;
  }
  CU_ASSERT_DOUBLE_EQUAL(figure(&world, 0, HR__TCO_NPV), sum, 1e-4);
  CU_ASSERT_DOUBLE_EQUAL(figure(&world, 0, HR__TCO_TOTAL), paid, 1e-6);
  /* each year: energy of 3 x 2 kW x 1.2 x 0.1 $ x 8,760 h, and maintenance of 4 % of 3,000 $; the nodes lose 80 % of
     3,000 $ in the four years */
  CU_ASSERT_DOUBLE_EQUAL(paid, 4 * (6307.2 + 120) + 2400, 1e-6);
  finish(&world);
}

/* Break-even utilization: u = (capital per year + fixed costs per year) / (8,760 h x n (p - e)) for n GPUs, an
   on-demand price of p per GPU hour, and e for the energy that a GPU hour in use costs beyond an idle one. */
static void break_even_utilization_by_hand(void) {
  static const char pools[] =
      "{\"name\":\"own\",\"nodes\":2,\"gpu\":\"H100\",\"gpus_per_node\":4,\"market\":\"owned\",\"owned\":{"
      "\"capex_usd_per_node\":40000,\"lifetime_years\":4,\"residual_share\":0.1,\"power_kw_per_node\":5,"
      "\"load\":1,\"idle_load\":0.2,\"pue\":1.25,\"usd_per_kwh\":0.1,\"staff_usd_per_node_year\":500}},"
      "{\"name\":\"od\",\"nodes\":2,\"gpu\":\"H100\",\"gpus_per_node\":4,\"market\":\"on-demand\",\"usd_per_gpu_hour\":"
      "3}";
  struct world world = run_world(pools, ",\"tco\":{\"years\":4}", 4, 3600, 1);
  double energy_h = 5 * 0.8 * 1.25 * 0.1 / 4; /* of a GPU in use, beyond that of an idle GPU */
  double fixed = 2 * (40000 * 0.9 / 4 + 500 + 5 * 0.2 * 1.25 * 0.1 * 8760);
  CU_ASSERT_EQUAL_FATAL(world.tco->n_pairs, 1);
  CU_ASSERT_DOUBLE_EQUAL(world.tco->pairs[0].utilization.mean, fixed / (8760 * 8 * (3 - energy_h)), 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(figure(&world, 0, HR__TCO_UTILIZATION), 0.5, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(figure(&world, 1, HR__TCO_USEFUL_GPU_HOUR), 3, 1e-9);
  finish(&world);
}

/* A purchase of 1,000 at the start, a tax rate of 40 %, and discounting at 10 %. Straight-line depreciation of 500 a
   year saves 200 of tax in each of two years: 1,000 - 200 / 1.1 - 200 / 1.21. With MACRS 20 % and 32 % of the price are
   depreciated, and the rest is deducted when the node is scrapped. */
static void income_tax_by_hand(void) {
#define TAXED(more) ",\"tco\":{\"years\":2,\"discount_rate\":0.1,\"tax_rate\":0.4" more "}"
  static const char pools[] =
      "{\"name\":\"p\",\"nodes\":1,\"gpu\":\"H100\",\"gpus_per_node\":1,\"market\":\"owned\",\"owned\":{"
      "\"capex_usd_per_node\":1000,\"lifetime_years\":2}}";
  struct world world = run_world(pools, TAXED(""), 1, 3600, 1);
  CU_ASSERT_DOUBLE_EQUAL(figure(&world, 0, HR__TCO_AFTER_TAX_NPV), 1000 - 200 / 1.1 - 200 / 1.21, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(figure(&world, 0, HR__TCO_NPV), 1000, 1e-9);
  finish(&world);
  world = run_world(pools, TAXED(",\"tax_depreciation\":\"macrs-5\""), 1, 3600, 1);
  CU_ASSERT_DOUBLE_EQUAL(figure(&world, 0, HR__TCO_AFTER_TAX_NPV), 1000 - 0.4 * (200 / 1.1 + (320 + 480) / 1.21), 1e-9);
  finish(&world);
}

/* The demand grows by 12 % a year: 10, 11.2 and 12.544 nodes, rounded up to 10, 12 and 13. Prices halve each year, and
   contracts keep their price for two years. So in the third year 2 contracts are from the second year, and 11 are new.
   */
static void growth_and_falling_prices_by_hand(void) {
  static const char pools[] = "{\"name\":\"r\",\"nodes\":10,\"gpu\":\"H100\",\"gpus_per_node\":1,\"market\":"
                              "\"reserved\",\"usd_per_gpu_hour\":1},"
                              "{\"name\":\"od\",\"nodes\":10,\"gpu\":\"H100\",\"gpus_per_node\":1,\"market\":\"on-"
                              "demand\",\"usd_per_gpu_hour\":2}";
  static const char more[] = ",\"tco\":{\"years\":3,\"growth_per_year\":1.12,\"simulate\":\"first-year\",\"cloud_price_"
                             "per_year\":0.5,\"options\":["
                             "{\"name\":\"r\",\"pools\":[\"r\"],\"contract_years\":2},"
                             "{\"name\":\"od\",\"pools\":[\"od\"]}]}";
  static const double reserved[] = {10, 10 + 2 * 0.5, 2 * 0.5 + 11 * 0.25}; /* dollars an hour */
  struct world world = run_world(pools, more, 5, 3600, 1);
  for (uint32_t year = 0; year < 3; year++) {
    double usd_h = (double)hr__tco_year_uusd(&world.tco->options[0].mean, year) / 1e6 / 8760;
    CU_ASSERT_DOUBLE_EQUAL(usd_h, reserved[year], 1e-9);
    usd_h = (double)hr__tco_year_uusd(&world.tco->options[1].mean, year) / 1e6 / 8760;
    CU_ASSERT_DOUBLE_EQUAL(usd_h, 5 * 2 * pow(1.12 * 0.5, year), 1e-6);
  }
  finish(&world);
}

/* The demand doubles, so year y = 0, 1, 2 has 2^y jobs and 2 x 2^y nodes. The job of the first year takes both nodes.
 */
static void each_year_is_simulated(void) {
  static const char pools[] = "{\"name\":\"r\",\"nodes\":2,\"gpu\":\"H100\",\"gpus_per_node\":1,\"market\":"
                              "\"reserved\",\"usd_per_gpu_hour\":1},"
                              "{\"name\":\"od\",\"nodes\":2,\"gpu\":\"H100\",\"gpus_per_node\":1,\"market\":\"on-"
                              "demand\",\"usd_per_gpu_hour\":2}";
  static const char more[] = ",\"tco\":{\"years\":3,\"growth_per_year\":2}";
  struct world world = run_world(pools, more, 2, 3600, 1);
  CU_ASSERT_EQUAL_FATAL(world.tco->n_simulated, 3);
  for (uint32_t k = 0; k < 2; k++)
    for (uint32_t year = 0; year < 3; year++) {
      const struct hr__tco_run *run = hr__tco_run_of(world.tco, &world.tco->options[k], year, 0);
      const struct hr_scenario *scenario =
          hr__runner_scenario(world.tco->runner, world.tco->options[k].candidates[year]);
      CU_ASSERT_EQUAL(scenario->cluster.pools[k].nodes, 2u << year);
      CU_ASSERT_EQUAL(scenario->cluster.pools[1 - k].nodes, 0);
      CU_ASSERT_EQUAL(run->submitted, UINT64_C(1) << year);
      CU_ASSERT_EQUAL(run->completed, run->submitted);
      CU_ASSERT_DOUBLE_EQUAL(run->held_gpu_hours, 2 << year, 1e-9);
    }
  finish(&world);
}

/* ---- Failures ---------------------------------------------------------------------------------------- */

/* cost / (GPU hours x availability x utilization x ETTR) = cost / useful GPU hours, in a run with failures. */
static void useful_hours_are_the_product(void) {
  static const char pools[] =
      "{\"name\":\"p\",\"nodes\":5,\"gpu\":\"H100\",\"gpus_per_node\":8,\"market\":\"owned\",\"usd_per_gpu_hour\":2,"
      "\"faults\":{\"mtbf_h\":20,\"repair_s\":7200}}";
  static const char more[] = ",\"classes\":{\"training\":{\"checkpoint\":{\"policy\":\"interval\",\"interval_s\":1800,"
                             "\"write_s\":60},\"restart_s\":300}},\"replications\":{\"count\":5}";
  struct world world = run_world(pools, more, 32, 400000, 2);
  const struct hr__tco_option *option = &world.tco->options[0];
  CU_ASSERT_TRUE(option->random);
  CU_ASSERT_EQUAL_FATAL(world.tco->n_replications, 5);
  for (uint32_t r = 0; r < 5; r++) {
    struct hr__tco_path path;
    hr__tco_path_make(world.tco, option, r, &path);
    const double *figures = path.figures;
    double product = figures[HR__TCO_AVAILABILITY] * figures[HR__TCO_UTILIZATION] * figures[HR__TCO_ETTR];
    CU_ASSERT_TRUE(figures[HR__TCO_AVAILABILITY] < 1);
    CU_ASSERT_TRUE(figures[HR__TCO_ETTR] < 1);
    CU_ASSERT_DOUBLE_EQUAL(figures[HR__TCO_GPU_HOUR], 2, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(figures[HR__TCO_USEFUL_GPU_HOUR], 2 / product, 1e-9);
    /* the useful work of the run is that of the job */
    CU_ASSERT_DOUBLE_EQUAL(option->runs[r].useful_gpu_hours, 32 * 400000.0 / 3600, 1e-6);
  }
  finish(&world);
}

/* An option with half of the required GPUs completes half of the work. In each of five years, 2 GPUs are missing. */
static void overload_is_not_served(void) {
  static const char pools[] =
      "{\"name\":\"r\",\"nodes\":1,\"gpu\":\"H100\",\"gpus_per_node\":2,\"market\":\"reserved\","
      "\"usd_per_gpu_hour\":3}";
  struct world world = run_world(pools, "", 2, 3600, 1);
  const struct hr__tco_option *option = &world.tco->options[0];
  struct hr__tco_path path;
  CU_ASSERT_DOUBLE_EQUAL(option->mean.unserved_gpu_hours, 0, 0);
  option->runs[0].scale *= 2;
  hr__tco_path_make(world.tco, option, 0, &path);
  CU_ASSERT_DOUBLE_EQUAL(path.figures[HR__TCO_UTILIZATION], 1, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(path.figures[HR__TCO_USEFUL_GPU_HOUR], 3, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(path.unserved_gpu_hours, 5 * 2 * 8760.0, 1e-6);
  finish(&world);
}

/* ---- Random worlds ----------------------------------------------------------------------------------- */

static double draw(uint64_t *state, double low, double high) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return low + (high - low) * (double)(*state >> 11) / 0x1p53;
}

/* An asset of the naive register. */
struct asset {
  double usd, life, residual;
  uint32_t bought;
};

/* Computes purchases, sales and depreciation of one item, year by year and asset by asset. */
static void keep_book(double usd, double life, double residual, double growth, double price, uint32_t nodes,
                      uint32_t years, double totals[3]) {
  struct asset assets[2000];
  uint32_t n = 0;
  for (uint32_t year = 0; year < years; year++) {
    double needed = nodes * pow(growth, year), fall = pow(price, year);
    for (uint32_t i = 0; i < n;)
      if (year - assets[i].bought >= assets[i].life) {
        totals[1] += assets[i].usd * assets[i].residual;
        assets[i] = assets[--n];
      } else {
        i++;
      }
    for (; n < needed - 1e-9; n++) {
      assets[n] = (struct asset){usd * fall, life, residual, year};
      totals[0] += assets[n].usd;
    }
    for (uint32_t i = 0; i < n; i++) {
      double left = life - (year - assets[i].bought);
      totals[2] += assets[i].usd * (1 - residual) / life * (left < 1 ? left : 1);
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    double age = years - assets[i].bought, written = age < life ? age / life : 1;
    totals[1] += assets[i].usd * (1 - (1 - residual) * written);
  }
}

/* In random worlds, purchases, residual values and amortization equal those of the register, and each purchase is
   written off or sold. The worlds differ in `owned`, `tco` and the number of nodes; the run is always the same. */
static void books_agree_in_random_worlds(void) {
  static const char pools[] = "{\"name\":\"p\",\"nodes\":1,\"gpu\":\"H100\",\"gpus_per_node\":8,\"market\":\"owned\","
                              "\"owned\":{\"capex_usd_per_node\":1,\"lifetime_years\":1}}";
  struct world world = run_world(pools, "", 8, 3600, 1);
  struct hr_capital *capital = &world.scenario->pool_sources[0].ownership->capital[0];
  struct hr_tco_spec *spec = &world.tco->spec;
  const struct hr__tco_option *option = &world.tco->options[0];
  uint64_t state = 7;
  for (unsigned trial = 0; trial < 1000; trial++) {
    struct hr__tco_path path;
    uint32_t nodes = world.scenario->cluster.pools[0].nodes = (uint32_t)draw(&state, 1, 9);
    double totals[3] = {0};
    capital->usd = floor(draw(&state, 1000, 400000));
    capital->life_years = floor(draw(&state, 1, 8) * 2) / 2;
    capital->residual_share = floor(draw(&state, 0, 1) * 100) / 100;
    spec->years = (uint32_t)draw(&state, 1, 9);
    spec->growth = floor(draw(&state, 0.7, 1.6) * 100) / 100;
    spec->hardware_price = floor(draw(&state, 0.7, 1.2) * 100) / 100;
    hr__tco_path_make(world.tco, option, 0, &path);
    int64_t bought = 0, sold = 0, cost = 0;
    for (uint32_t year = 0; year < spec->years; year++) {
      bought += path.bought_uusd[year];
      sold += path.sold_uusd[year];
      cost += path.uusd[year][HR_PART_CAPITAL];
      CU_ASSERT_EQUAL(hr__tco_year_uusd(&path, year), path.uusd[year][HR_PART_CAPITAL]);
    }
    keep_book(capital->usd, capital->life_years, capital->residual_share, spec->growth, spec->hardware_price, nodes,
              spec->years, totals);
    double unit = 1e-12 * totals[0] + 1e-4; /* rounding of each amount to micro-dollars */
    CU_ASSERT_DOUBLE_EQUAL((double)bought / 1e6, totals[0], unit);
    CU_ASSERT_DOUBLE_EQUAL((double)sold / 1e6, totals[1], unit);
    CU_ASSERT_DOUBLE_EQUAL((double)cost / 1e6, totals[2], unit);
    CU_ASSERT_DOUBLE_EQUAL((double)(bought - sold - cost) / 1e6, 0, unit);
    CU_ASSERT_DOUBLE_EQUAL(path.figures[HR__TCO_TOTAL], (double)cost / 1e6, unit);
  }
  finish(&world);
}

/* ---- Output ------------------------------------------------------------------------------------------ */ static void
json_fits_its_schema(void) {
  static const char pools[] =
      "{\"name\":\"own\",\"nodes\":2,\"gpu\":\"H100\",\"gpus_per_node\":4,\"market\":\"owned\",\"faults\":{\"mtbf_h\":"
      "50,\"repair_s\":"
      "60},"
      "\"owned\":{\"capex_usd_per_node\":40000,\"lifetime_years\":3.5,\"capital\":[{\"name\":\"n\",\"usd_per_gpu\":1}]}"
      "},"
      "{\"name\":\"od\",\"nodes\":2,\"gpu\":\"H100\",\"gpus_per_node\":4,\"market\":\"on-demand\",\"usd_per_gpu_hour\":"
      "3}";
  static const char more[] = ",\"replications\":{\"count\":3}";
  struct world world = run_world(pools, more, 4, 36000, 1), again = run_world(pools, more, 4, 36000, 2);
  char *schema_text = files_read(PROJECT_DIR "/docs/reference/schemas/tco.schema.json");
  char *text = hr_tco_json(world.tco), *same = hr_tco_json(again.tco);
  cJSON *schema = cJSON_Parse(schema_text), *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "written"));
  CU_ASSERT_PTR_NOT_NULL_FATAL(cJSON_AddNumberToObject(tree, "extra", 0));
  CU_ASSERT_FALSE(schema_fits(schema, tree, "on purpose"));
  CU_ASSERT_STRING_EQUAL(text, same); /* with one thread and with two */
  cJSON_Delete(schema);
  cJSON_Delete(tree);
  free(schema_text);
  free(text);
  free(same);
  finish(&world);
  finish(&again);
}

TEST_MAIN("plan: cost of ownership", TEST(hamilton_is_reproduced), TEST(hennessy_patterson_exercise),
          TEST(abilene_is_reproduced), TEST(lenovo_is_reproduced), TEST(bill_of_materials), TEST(amortization_by_hand),
          TEST(annuities_have_the_present_value_of_the_purchase), TEST(break_even_utilization_by_hand),
          TEST(income_tax_by_hand), TEST(growth_and_falling_prices_by_hand), TEST(each_year_is_simulated),
          TEST(useful_hours_are_the_product), TEST(overload_is_not_served), TEST(books_agree_in_random_worlds),
          TEST(json_fits_its_schema))
