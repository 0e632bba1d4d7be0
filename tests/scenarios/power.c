/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `power` of pools and of the cluster: the stored values, defaults, and the position and key words of each error. */

#include "headroom/power.h"
#include "loading.h"

#include <string.h>

#define POOL(gpu)                                                                                                      \
  "{\"policy\":{\"name\":\"queue\"},\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"" gpu "\",\"nodes\":4,"          \
  "\"gpus_per_node\":8"
/* A scenario with one pool. Its power is on the second line. */
#define POWER_OF(gpu, members) POOL(gpu) ",\n\"power\":{" members "}}]}}"
#define POWER(members) POWER_OF("A100-80", members)
#define TABLE(points) POWER("\"model\":\"table\",\"table\":[" points "]")
#define CAP(limit, time) "{\"limit_w\":" #limit ",\"time_ratio\":" #time ",\"power_ratio\":1}"

/* A battery, on the third line. Its scenario states the carbon intensity of the cluster, on the second line. */
#define BATTERY(members)                                                                                               \
  "{\"policy\":{\"name\":\"queue\"},\"cluster\":{\n\"carbon\":{\"g_per_kwh\":100},\"pools\":[{\"name\":\"p\","         \
  "\"gpu\":\"A100-80\",\"nodes\":4,\"gpus_per_node\":8,\"power\":{\n\"battery\":{" members "}}}]}}"
#define SIZE "\"capacity_kwh\":50,\"charge_w\":1e4"
#define LIMIT ",\"threshold_g_per_kwh\":200"

/* Idle nodes take 4 x (8 x 72 + 0.29 x 8 x 400) W = 6016 W. */
#define BUDGET(power, watts) POOL("A100-80") "}],\n" power "\"power_budget_w\":" watts "}}"

static const struct hr_power_spec *spec_of(const struct hr_scenario *scenario) {
  CU_ASSERT_FATAL(scenario->cluster.n_pools == 1 && scenario->cluster.pools[0].power != NULL);
  return scenario->cluster.pools[0].power;
}

static void keys_are_stored(void) {
  write_text(POWER("\"model\":\"asymptotic\",\"asymptote\":0.4,\"utilization\":0.7,\"gpu_idle_w\":60,"
                   "\"gpu_max_w\":410,\"host_idle_w\":900,\"host_max_w\":1300,\"down_w\":5,\"boot_w\":700,"
                   "\"other_w\":11,\"pue\":1.3,\"cooling_w\":12,\"gpu_cap_w\":300,\"losses\":[{\"efficiency\":0.9,"
                   "\"constant_w\":3,\"nodes\":2}],\"caps\":[" CAP(400, 1) "," CAP(200, 1.5) "]"));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_power_spec *spec = spec_of(scenario);
  CU_ASSERT(spec->model == HR_POWER_ASYMPTOTIC && spec->asymptote == 0.4 && spec->utilization == 0.7);
  CU_ASSERT(spec->gpu_idle_w == 60 && spec->gpu_max_w == 410 && spec->host_idle_w == 900 && spec->host_max_w == 1300);
  CU_ASSERT(spec->down_w == 5 && spec->boot_w == 700 && spec->other_w == 11);
  CU_ASSERT(spec->pue == 1.3 && spec->cooling_w == 12 && spec->gpu_cap_w == 300);
  CU_ASSERT_FATAL(spec->n_losses == 1 && spec->n_caps == 2);
  CU_ASSERT(spec->losses[0].efficiency == 0.9 && spec->losses[0].constant_w == 3 && spec->losses[0].nodes == 2);
  CU_ASSERT(spec->caps[1].limit_w == 200 && spec->caps[1].time_ratio == 1.5 && spec->caps[1].power_ratio == 1);
  hr_scenario_destroy(scenario);
}

/* Without watts: the values of the catalogue, and shares of them for the host. The cluster has defaults for its
   pools. */
static void watts_have_defaults(void) {
  write_text(POOL("A100-80") "}],\"power\":{}}}");
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_power_spec *spec = spec_of(scenario);
  CU_ASSERT(spec->gpu_max_w == 400 && spec->gpu_idle_w == 72 && spec->pue == 1 && spec->utilization == 1);
  CU_ASSERT_DOUBLE_EQUAL(spec->host_idle_w, 0.29 * 3200, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(spec->host_max_w, 0.43 * 3200, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(spec->boot_w, 8 * 72 + 0.29 * 3200, 1e-9);
  hr_scenario_destroy(scenario);
  write_text(TABLE("{\"utilization\":0,\"gpu_w\":50},{\"utilization\":1,\"gpu_w\":300}"));
  scenario = load(NULL, 0);
  CU_ASSERT(spec_of(scenario)->gpu_idle_w == 50 && spec_of(scenario)->gpu_max_w == 300);
  hr_scenario_destroy(scenario);
  write_text(POOL("A100-80") "}]}}");
  scenario = load(NULL, 0);
  CU_ASSERT_PTR_NULL(scenario->cluster.pools[0].power);
  hr_scenario_destroy(scenario);
}

static void errors_have_a_place(void) {
  static const char *const cases[][2] = {
      {POWER("\"pue\":0.9"),
       "s.json:2:16: 'cluster.pools.0.power.pue' is the number 0.9; a number from 1 to 10 is expected"},
      {POWER("\"gpu_max_w\":-1"),
       "s.json:2:22: 'cluster.pools.0.power.gpu_max_w' is the number -1; a number from 0 to 1000000"},
      {POWER("\"gpu_cap_w\":71"), "s.json:2:22: the limit of 71 W is below the power of an idle GPU of pool 'p', 72 W"},
      {POWER("\"gpu_cap_w\":0"), "s.json:2:22: the limit of 0 W is below the power of an idle GPU of pool 'p', 72 W"},
      {POWER("\"gpu_cap_w\":300"), "s.json:2:22: the GPU type 'A100-80' of pool 'p': set 'caps'"},
      {POWER("\"gpu_idle_w\":500"), "s.json:2:23: an idle GPU takes 500 W, more than its maximum of 400 W"},
      {POWER("\"host_idle_w\":9,\"host_max_w\":8"),
       "s.json:2:24: an idle host takes 9 W, more than its maximum of 8 W"},
      {POWER("\"model\":\"table\""), "s.json:2:9: the power model 'table' needs 'table'"},
      {POWER("\"asymptote\":0.3"), "s.json:2:22: 'asymptote' is not a parameter of 'linear'"},
      {POWER_OF("X9", "\"pue\":1.1"),
       "s.json:2:9: the catalogue has no watts of the GPU type 'X9' of pool 'p'; set 'gpu_max_w'"},
      {POWER("\"cooling_w\":1e9"), "s.json:2:9: pool 'p' would take up to 1e+09 W; the maximum is 1e+09 W"},
      {TABLE("{\"utilization\":0.5,\"gpu_w\":9},{\"utilization\":0.5,\"gpu_w\":9}"),
       "s.json:2:65: utilization 0.5 does not follow 0.5; the table must be sorted"},
      {POWER("\"caps\":[" CAP(200, 1) "," CAP(300, 1) "]"),
       "s.json:2:65: the limit of 300 W does not follow 200 W; the table must be sorted"},
      {POWER("\"gpu_cap_w\":150,\"caps\":[" CAP(400, 1) "," CAP(200, 1.5) "]"),
       "s.json:2:22: the limit of 150 W of pool 'p' is below the last one of its table of power limits, 200 W, so its "
       "effect is not known; add a row to 'caps'"},
      {POWER("\"caps\":[" CAP(400, 3) "," CAP(200, 1.5) "]"),
       "s.json:2:18: a limit of 400 W does not slow a GPU that takes at most 400 W; 'time_ratio' and 'power_ratio' of "
       "this row must be 1"},
      {POWER_OF("V100", "\"gpu_cap_w\":90"),
       "s.json:2:22: the limit of 90 W of pool 'p' is below the last one of its table of power limits, 100 W, so its "
       "effect is not known; add a row to 'caps'"},
      {BUDGET("\"power\":{\"caps\":[" CAP(400, 1) "," CAP(50, 5) "]},\"power_budget_mode\":\"cap\",", "9999"),
       "s.json:2:133: the power limit of 50 W in 'caps' of pool 'p' is below the power of an idle GPU, 72 W"},
      {POWER("\"losses\":[{\"efficiency\":0}]"),
       "s.json:2:34: 'cluster.pools.0.power.losses.0.efficiency' is the number 0; a number from 0.01 to 1"},
      {POWER("\"sleep\":{\"idle_s\":-1}"), "s.json:2:28: 'cluster.pools.0.power.sleep.idle_s' is the number -1; a "
                                           "number from 1e-06 to 100000000000 is expected"},
      {POWER("\"sleep\":{\"idle_s\":9,\"sleep_w\":9999}"),
       "s.json:2:40: a node that sleeps takes 9999 W, more than an idle node, 1504 W"},
      {POWER("\"temperature\":{\"c_per_w\":0}"),
       "s.json:2:35: 'cluster.pools.0.power.temperature.c_per_w' is the number 0; a number from 1e-06 to 100"},
      {BUDGET("\"power\":{},", "100"), "s.json:2:29: the budget of 100 W is below the power of the idle nodes, 6016 W"},
      {BUDGET("\"power\":{},", "6100"),
       "s.json:2:29: the budget of 6100 W permits no node to work: idle nodes take 6016 W, a node at work 3072 W more"},
      {POOL("A100-80") "}],\n\"power_budget_mode\":\"cap\"}}",
       "s.json:2:21: 'power_budget_mode' has no effect without 'power_budget_w'"},
      {BUDGET("\"power\":{},\"power_budget_mode\":\"cap\",", "9999"),
       "s.json:2:32: the effect of power limits on the GPU type 'A100-80' pool 'p' is not known; set 'caps'..."},
      {BUDGET("", "9999"), "s.json:2:18: the power of pool 'p' is not known; a budget needs 'power' of all pools"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(cases[i][0]);
    expect_error(NULL, 0, cases[i][1]);
  }
}

static void sleep_and_heat_are_stored(void) {
  write_text(POWER("\"sleep\":{\"idle_s\":60,\"suspend_s\":5,\"sleep_w\":7,\"boot_s\":90,\"min_awake\":2},"
                   "\"temperature\":{\"ambient_c\":20,\"c_per_w\":0.1}"));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_power_spec *spec = spec_of(scenario);
  CU_ASSERT(spec->sleep.idle_us == 60 * HR_SECOND_US && spec->sleep.suspend_us == 5 * HR_SECOND_US);
  CU_ASSERT(spec->sleep.sleep_w == 7 && spec->sleep.boot.a == 90 && spec->sleep.min_awake == 2);
  CU_ASSERT_DOUBLE_EQUAL(spec->sleep.suspend_w, 1504, 1e-9);
  CU_ASSERT(spec->heat.ambient_c == 20 && spec->heat.c_per_w == 0.1 && spec->heat.time_constant_s == 60);
  hr_scenario_destroy(scenario);
  write_text(BUDGET("\"power\":{},", "12000"));
  scenario = load(NULL, 0);
  CU_ASSERT(spec_of(scenario)->budget_w == 12000);
  hr_scenario_destroy(scenario);
}

/* The catalogue has the effect of power limits on some GPU types. */
static void caps_of_the_catalogue(void) {
  write_text(POWER_OF("V100", "\"gpu_cap_w\":150"));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_power_spec *spec = spec_of(scenario);
  CU_ASSERT_EQUAL_FATAL(spec->n_caps, 6);
  CU_ASSERT(spec->caps[0].limit_w == 250 && spec->caps[5].limit_w == 100);
  CU_ASSERT(spec->caps[3].limit_w == 150 && spec->caps[3].time_ratio == 1.113 && spec->caps[3].power_ratio == 0.684);
  hr_scenario_destroy(scenario);
}

static void batteries_are_stored(void) {
  write_text(BATTERY(SIZE LIMIT));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_power_battery *battery = &spec_of(scenario)->battery;
  CU_ASSERT(battery->capacity_kwh == 50 && battery->charge_w == 1e4 && battery->lower_g_per_kwh == 200);
  CU_ASSERT(battery->upper_g_per_kwh == 200 && battery->efficiency == 1);
  CU_ASSERT(battery->discharge_w == 0 && battery->initial_kwh == 0);
  hr_scenario_destroy(scenario);
  write_text(
      BATTERY(SIZE LIMIT ",\"discharge_g_per_kwh\":300,\"discharge_w\":5e3,\"efficiency\":0.9,\"initial_kwh\":50"));
  scenario = load(NULL, 0);
  battery = &spec_of(scenario)->battery;
  CU_ASSERT(battery->lower_g_per_kwh == 200 && battery->upper_g_per_kwh == 300 && battery->efficiency == 0.9);
  CU_ASSERT(battery->discharge_w == 5e3 && battery->initial_kwh == 50);
  hr_scenario_destroy(scenario);
  write_text(POWER(""));
  scenario = load(NULL, 0);
  CU_ASSERT(spec_of(scenario)->battery.capacity_kwh == 0);
  hr_scenario_destroy(scenario);
}

static void errors_of_batteries(void) {
#define KEY(name) "'cluster.pools.0.power.battery." name "'"
#define LACKS "s.json:3:11: 'cluster.pools.0.power.battery' lacks the key "
  static const char *const cases[][2] = {
      {BATTERY("\"capacity_kwh\":-1"),
       "s.json:3:27: " KEY("capacity_kwh") " is the number -1; a number from 1e-06 to 1000000000 is expected"},
      {BATTERY("\"capacity_kwh\":0"),
       "s.json:3:27: " KEY("capacity_kwh") " is the number 0; a number from 1e-06 to 1000000000 is expected"},
      {BATTERY("\"charge_w\":0"),
       "s.json:3:23: " KEY("charge_w") " is the number 0; a number from 0.001 to 1000000000 is expected"},
      {BATTERY(SIZE LIMIT ",\"efficiency\":1.1"),
       "s.json:3:84: " KEY("efficiency") " is the number 1.1; a number from 0.01 to 1 is expected"},
      {BATTERY(SIZE), LACKS "'threshold_g_per_kwh'; a number from 0 to 1000000 is expected"},
      {BATTERY("\"capacity_kwh\":50" LIMIT), LACKS "'charge_w'; a number from 0.001 to 1000000000 is expected"},
      {BATTERY("\"charge_w\":1e4" LIMIT), LACKS "'capacity_kwh'; a number from 1e-06 to 1000000000 is expected"},
      {BATTERY(SIZE LIMIT ",\"discharge_g_per_kwh\":199"),
       "s.json:3:93: the battery would serve the load from 199 g/kWh and charge below 200 g/kWh; 'discharge_g_per_kwh' "
       "must not be below 'threshold_g_per_kwh'"},
      {BATTERY(SIZE LIMIT ",\"initial_kwh\":51"), "s.json:3:85: 51 kWh are more than the capacity of 50 kWh"},
      {BATTERY(SIZE LIMIT ",\"discharge_kw\":1"),
       "s.json:3:71: unknown key " KEY("discharge_kw") "; did you mean " KEY("discharge_w") "..."},
      {POWER("\"battery\":{" SIZE LIMIT "}"), "s.json:2:20: the battery of pool 'p' follows the carbon intensity, "
                                              "which is not known; set 'carbon' with 'file' "
                                              "or 'g_per_kwh'"},
      {POOL("A100-80") ",\"carbon\":{\"embodied_kg_per_gpu\":164},\n\"power\":{\"battery\":{" SIZE LIMIT "}}}]}}",
       "s.json:2:20: the battery of pool 'p' follows the carbon intensity, which is not known..."},
      {POOL("A100-80") "}],\"carbon\":{\"g_per_kwh\":100},\"power\":{\"battery\":{" SIZE LIMIT "}},\n"
                       "\"power_budget_w\":99999}}",
       "s.json:2:18: a budget cannot be combined with the 'battery' of pool 'p', because the power that charges it is "
       "not part of the budget"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(cases[i][0]);
    expect_error(NULL, 0, cases[i][1]);
  }
}

/* The placement `pool` is rejected if nodes sleep, or can be closed because of a power budget. */
static void placement_by_pool_is_refused(void) {
#define BY_COUNT(of_cluster, of_pool)                                                                                  \
  "{\"policy\":{\"name\":\"queue\",\n\"placement\":\"pool\"},\"cluster\":{" of_cluster                                 \
  "\"pools\":[{\"name\":\"p\",\"gpu\":\"A100-80\",\"nodes\":4,\"gpus_per_node\":8" of_pool "}]}}"
  static const char *const cases[][2] = {
      {BY_COUNT("\"power_budget_w\":15000,", ",\"power\":{}"),
       "s.json:2:13: the placement 'pool' counts GPUs, but nodes of pool 'p' (power_budget_w) may be unavailable"},
      {BY_COUNT("", ",\"power\":{\"sleep\":{\"idle_s\":60}}"),
       "s.json:2:13: the placement 'pool' counts GPUs, but nodes of pool 'p' (sleep) may be unavailable"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(cases[i][0]);
    expect_error(NULL, 0, cases[i][1]);
  }
  write_text(BY_COUNT("", ",\"power\":{}"));
  hr_scenario_destroy(load(NULL, 0));
}

TEST_MAIN("Power in scenarios", TEST(create_test_folder), TEST(keys_are_stored), TEST(sleep_and_heat_are_stored),
          TEST(batteries_are_stored), TEST(errors_of_batteries), TEST(caps_of_the_catalogue), TEST(watts_have_defaults),
          TEST(errors_have_a_place), TEST(placement_by_pool_is_refused), TEST(remove_test_folder))
