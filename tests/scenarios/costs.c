/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `costs` of scenarios: the value of each key, and the position and key words of each error. */

#include "loading.h"

#define POOL(name, gpu, market)                                                                                        \
  "{\"name\":\"" name "\",\"gpu\":\"" gpu "\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"" market                    \
  "\",\"usd_per_gpu_hour\":1}"
/* A scenario with the members of `costs` at the beginning of its second line. */
#define COSTS(members)                                                                                                 \
  "{\"policy\":{\"name\":\"queue\"},\"cluster\":{\"pools\":[" POOL("big", "H100", "on-demand") "," POOL(               \
      "small", "T4", "on-demand") "," POOL("own", "L4", "owned") "]},\"costs\":{\n" members "}}"

static struct hr_scenario *load_text(const char *text) {
  write_text(text);
  return load(NULL, 0);
}

static void an_empty_section_has_no_costs(void) {
  struct hr_scenario *scenario = load_text(COSTS(""));
  const struct hr_cost_spec *costs = &scenario->costs;
  CU_ASSERT(!costs->storage.uusd_per_gb_month && !costs->storage.n_datasets && !costs->egress.uusd_per_gb);
  CU_ASSERT(!costs->operations.uusd_per_month && !costs->operations.uusd_per_node_month);
  CU_ASSERT(!costs->downtime.uusd_per_gpu_hour && !costs->downtime.uusd_per_missed_deadline);
  CU_ASSERT(costs->idle_split == HR_IDLE_SPLIT_NONE && !costs->n_budgets && !costs->n_plans);
  hr_scenario_destroy(scenario);
}

static void storage_is_read(void) {
  struct hr_scenario *scenario =
      load_text(COSTS("\"storage\":{\"usd_per_gb_month\":0.023,\"checkpoint_retention_s\":86400,\"datasets\":["
                      "{\"tenant\":\"vision\",\"gb\":500.25},{\"gb\":0.0005}]}"));
  const struct hr_storage_cost *storage = &scenario->costs.storage;
  CU_ASSERT_EQUAL(storage->uusd_per_gb_month, 23000);
  CU_ASSERT_EQUAL(storage->checkpoint_retention_us, 86400 * HR_SECOND_US);
  CU_ASSERT_EQUAL_FATAL(storage->n_datasets, 2);
  CU_ASSERT_STRING_EQUAL(storage->datasets[0].tenant, "vision");
  CU_ASSERT_EQUAL(storage->datasets[0].mb, 500250);
  CU_ASSERT_PTR_NULL(storage->datasets[1].tenant);
  CU_ASSERT_EQUAL(storage->datasets[1].mb, 1); /* 0.5 MB is rounded up */
  hr_scenario_destroy(scenario);
}

static void egress_is_by_class(void) {
  struct hr_scenario *scenario =
      load_text(COSTS("\"egress\":{\"usd_per_gb\":0.09,\"gb_per_gpu_hour\":{\"default\":0.5,\"inference\":4},"
                      "\"gb_per_job\":{\"training\":1.5}}"));
  const struct hr_egress_cost *egress = &scenario->costs.egress;
  CU_ASSERT_EQUAL(egress->uusd_per_gb, 90000);
  CU_ASSERT_EQUAL(egress->mb_per_gpu_hour[HR_CLASS_UNKNOWN], 500);
  CU_ASSERT_EQUAL(egress->mb_per_gpu_hour[HR_CLASS_INFERENCE], 4000);
  CU_ASSERT_EQUAL(egress->mb_per_gpu_hour[HR_CLASS_TRAINING], 500);
  CU_ASSERT_EQUAL(egress->mb_per_job[HR_CLASS_TRAINING], 1500);
  CU_ASSERT_EQUAL(egress->mb_per_job[HR_CLASS_INFERENCE], 0);
  hr_scenario_destroy(scenario);
}

static void fixed_lines_are_read(void) {
  struct hr_scenario *scenario =
      load_text(COSTS("\"operations\":{\"usd_per_month\":8000,\"usd_per_node_month\":12.5},"
                      "\"downtime\":{\"usd_per_gpu_hour\":2.25,\"usd_per_missed_deadline\":500},"
                      "\"idle_split\":\"proportional\""));
  CU_ASSERT_EQUAL(scenario->costs.operations.uusd_per_month, INT64_C(8000000000));
  CU_ASSERT_EQUAL(scenario->costs.operations.uusd_per_node_month, 12500000);
  CU_ASSERT_EQUAL(scenario->costs.downtime.uusd_per_gpu_hour, 2250000);
  CU_ASSERT_EQUAL(scenario->costs.downtime.uusd_per_missed_deadline, 500000000);
  CU_ASSERT_EQUAL(scenario->costs.idle_split, HR_IDLE_SPLIT_PROPORTIONAL);
  hr_scenario_destroy(scenario);
}

static void budgets_and_plans_are_read(void) {
  struct hr_scenario *scenario = load_text(
      COSTS("\"budgets\":[{\"tenant\":\"a\",\"usd_per_month\":1000},{\"tenant\":\"b\",\"usd_per_month\":0}],"
            "\"savings_plans\":[{\"usd_per_hour\":10.5,\"discount\":0.27},{\"usd_per_hour\":1,\"discount\":0.4,"
            "\"pools\":[\"small\",\"big\"],\"gpus\":[\"h100\"]}]"));
  const struct hr_cost_spec *costs = &scenario->costs;
  CU_ASSERT_EQUAL_FATAL(costs->n_budgets, 2);
  CU_ASSERT_STRING_EQUAL(costs->budgets[0].tenant, "a");
  CU_ASSERT_EQUAL(costs->budgets[0].uusd_per_month, 1000000000);
  CU_ASSERT_EQUAL_FATAL(costs->n_plans, 2);
  CU_ASSERT_EQUAL(costs->plans[0].uusd_per_h, 10500000);
  CU_ASSERT_EQUAL(costs->plans[0].discount_ppm, 270000);
  CU_ASSERT_EQUAL(costs->plans[0].n_pools + costs->plans[0].n_gpus, 0);
  CU_ASSERT_EQUAL_FATAL(costs->plans[1].n_pools, 2);
  CU_ASSERT_STRING_EQUAL(costs->plans[1].pools[1], "big");
  CU_ASSERT_EQUAL_FATAL(costs->plans[1].n_gpus, 1);
  CU_ASSERT_STRING_EQUAL(costs->plans[1].gpus[0], "h100");
  hr_scenario_destroy(scenario);
}

static void invalid_costs_are_rejected(void) {
  static const char *const cases[][2] = {
      {COSTS("\"storage\":{\"usd_per_gb_month\":-1}"),
       "s.json:2:31: 'costs.storage.usd_per_gb_month' is the number -1; a number from 0 to 1000000000 is expected"},
      {COSTS("\"storage\":{\"datasets\":[{\"tenant\":\"a\"}]}"),
       "s.json:2:24: 'costs.storage.datasets.0' lacks the key 'gb'; a number from 0 to 1000000000 is expected"},
      {COSTS("\"egress\":{\"gb_per_job\":{\"trainning\":1}}"),
       "s.json:2:25: unknown key 'costs.egress.gb_per_job.trainning'; did you mean "
       "'costs.egress.gb_per_job.training'? (known keys: default, training, fine-tune, batch-inference, inference, "
       "interactive, data-prep)"},
      {COSTS("\"idle_split\":\"evn\""), "s.json:2:14: 'costs.idle_split' is the text \"evn\"; one of none, "
                                        "proportional, even is expected; did you mean 'even'?"},
      {COSTS("\"budgets\":[{\"tenant\":\"a\",\"usd_per_month\":1},\n{\"tenant\":\"a\",\"usd_per_month\":2}]"),
       "s.json:3:11: there already is a budget for 'a'; keep one"},
      {COSTS("\"budgets\":[{\"tenant\":\"a\"}]"),
       "s.json:2:12: 'costs.budgets.0' lacks the key 'usd_per_month'; a number from 0 to 1000000000 is expected"},
      {COSTS("\"savings_plans\":[{\"usd_per_hour\":1,\"discount\":1.5}]"),
       "s.json:2:47: 'costs.savings_plans.0.discount' is the number 1.5; a number from 0 to 0.999999 is expected"},
      {COSTS("\"savings_plans\":[{\"usd_per_hour\":1,\"discount\":0.1},\n"
             "{\"usd_per_hour\":1,\"discount\":0.1,\"pools\":[\"big\",\"smal\"]}]"),
       "s.json:3:49: no on-demand pool has the name 'smal'; did you mean 'small'?"},
      {COSTS("\"savings_plans\":[{\"usd_per_hour\":1,\"discount\":0.1,\"pools\":[\"own\"]}]"),
       "s.json:2:60: no on-demand pool has the name 'own'"},
      {COSTS("\"savings_plans\":[{\"usd_per_hour\":1,\"discount\":0.1,\"gpus\":[\"L4\"]}]"),
       "s.json:2:59: no on-demand pool has the GPU type 'L4'; did you mean 'T4'?"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(cases[i][0]);
    expect_error(NULL, 0, cases[i][1]);
  }
}

TEST_MAIN("scenarios_costs", TEST(create_test_folder), TEST(an_empty_section_has_no_costs), TEST(storage_is_read),
          TEST(egress_is_by_class), TEST(fixed_lines_are_read), TEST(budgets_and_plans_are_read),
          TEST(invalid_costs_are_rejected), TEST(remove_test_folder))
