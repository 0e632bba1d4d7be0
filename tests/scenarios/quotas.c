/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `quotas` of scenarios: the value of each key, the order of cohorts, and the position and key words of
   each error. */

#include "loading.h"

/* A scenario with a cluster of 64 GPUs. `members` start at the beginning of the second line. */
#define QUOTAS(members)                                                                                                \
  "{\"policy\":{\"name\":\"queue\"},\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"H100\",\"nodes\":8,"             \
  "\"gpus_per_node\":8}]},\"quotas\":{\n" members "}}"

static struct hr_scenario *load_text(const char *text) {
  write_text(text);
  return load(NULL, 0);
}

static void expect_unlimited(const struct hr_quota_node *node) {
  CU_ASSERT_EQUAL(node->guaranteed_milli, 0);
  CU_ASSERT_EQUAL(node->borrow_milli, HR_NO_LIMIT);
  CU_ASSERT_EQUAL(node->lend_milli, HR_NO_LIMIT);
  CU_ASSERT_EQUAL(node->max_milli, HR_NO_LIMIT);
  CU_ASSERT_EQUAL(node->weight, 1);
}

static void scenarios_without_quotas(void) {
  struct hr_scenario *scenario = load_text("{\"policy\":{\"name\":\"queue\"},\"cluster\":{\"pools\":[{\"name\":\"p\","
                                           "\"gpu\":\"H100\",\"nodes\":1,\"gpus_per_node\":8}]}}");
  CU_ASSERT_PTR_NULL(scenario->quotas);
  hr_scenario_destroy(scenario);
  scenario = load_text(QUOTAS(""));
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario->quotas);
  CU_ASSERT_EQUAL(scenario->quotas->n_nodes, 0);
  CU_ASSERT_EQUAL(scenario->quotas->fallback.parent, HR_NONE);
  CU_ASSERT_TRUE(scenario->quotas->fallback.is_tenant);
  expect_unlimited(&scenario->quotas->fallback);
  hr_scenario_destroy(scenario);
}

static void cohorts_precede_their_members(void) {
  struct hr_scenario *scenario =
      load_text(QUOTAS("\"cohorts\":[{\"name\":\"lab\",\"parent\":\"research\"},{\"name\":\"research\",\"parent\":"
                       "\"org\",\"guaranteed_gpus\":8,\"max_gpus\":40,\"lend_gpus\":12},{\"name\":\"org\"}],"
                       "\"tenants\":[{\"tenant\":\"org\",\"cohort\":\"lab\",\"guaranteed_gpus\":4.5}]"));
  const struct hr_quota_spec *quotas = scenario->quotas;
  CU_ASSERT_EQUAL_FATAL(quotas->n_nodes, 4);
  static const char *const names[] = {"org", "research", "lab", "org"};
  static const uint32_t parents[] = {HR_NONE, 0, 1, 2};
  for (uint32_t i = 0; i < 4; i++) {
    CU_ASSERT_STRING_EQUAL(quotas->nodes[i].name, names[i]);
    CU_ASSERT_EQUAL(quotas->nodes[i].parent, parents[i]);
    CU_ASSERT_EQUAL(quotas->nodes[i].is_tenant, i == 3);
  }
  expect_unlimited(&quotas->nodes[0]);
  CU_ASSERT_EQUAL(quotas->nodes[1].guaranteed_milli, 8000);
  CU_ASSERT_EQUAL(quotas->nodes[1].max_milli, 40000);
  CU_ASSERT_EQUAL(quotas->nodes[1].lend_milli, 12000);
  CU_ASSERT_EQUAL(quotas->nodes[3].guaranteed_milli, 4500);
  CU_ASSERT_EQUAL(scenario->notes.count, 0);
  hr_scenario_destroy(scenario);
}

static void tenants_are_read(void) {
  struct hr_scenario *scenario = load_text(QUOTAS(
      "\"cohorts\":[{\"name\":\"c\"}],\"tenants\":[{\"tenant\":\"a\",\"guaranteed_share\":0.25,\"max_share\":0.5,"
      "\"borrow_gpus\":3,\"lend_gpus\":0,\"weight\":2.5},{\"tenant\":\"b\",\"cohort\":\"c\"}],"
      "\"default\":{\"cohort\":\"c\",\"max_gpus\":2,\"weight\":0.5}"));
  const struct hr_quota_spec *quotas = scenario->quotas;
  CU_ASSERT_EQUAL_FATAL(quotas->n_nodes, 3);
  const struct hr_quota_node *a = &quotas->nodes[1], *b = &quotas->nodes[2];
  CU_ASSERT_EQUAL(a->parent, HR_NONE);
  CU_ASSERT_EQUAL(a->guaranteed_milli, 16000);
  CU_ASSERT_EQUAL(a->max_milli, 32000);
  CU_ASSERT_EQUAL(a->borrow_milli, 3000);
  CU_ASSERT_EQUAL(a->lend_milli, 0);
  CU_ASSERT_EQUAL(a->weight, 2.5);
  CU_ASSERT_EQUAL(b->parent, 0);
  expect_unlimited(b);
  CU_ASSERT_EQUAL(quotas->fallback.parent, 0);
  CU_ASSERT_EQUAL(quotas->fallback.max_milli, 2000);
  CU_ASSERT_EQUAL(quotas->fallback.weight, 0.5);
  CU_ASSERT_PTR_NULL(quotas->fallback.name);
  hr_scenario_destroy(scenario);
}

static void guarantees_beyond_the_cluster_are_noted(void) {
  struct hr_scenario *scenario =
      load_text(QUOTAS("\"cohorts\":[{\"name\":\"c\",\"guaranteed_gpus\":1}],\"tenants\":[{\"tenant\":\"a\",\"cohort\":"
                       "\"c\",\"guaranteed_gpus\":63},{\"tenant\":\"b\",\"guaranteed_gpus\":0.5}]"));
  CU_ASSERT_EQUAL_FATAL(scenario->notes.count, 1);
  CU_ASSERT_STRING_EQUAL(
      scenario->notes.text[0],
      "warning: quotas guarantee 64.5 GPUs, but the cluster has 64; not all guarantees can be met at once");
  hr_scenario_destroy(scenario);
}

static void reclaim_without_quotas_is_noted(void) {
  const char *const overrides[] = {"policy.preemption=reclaim"};
  write_text("{\"policy\":{\"name\":\"queue\"},\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"H100\",\"nodes\":1,"
             "\"gpus_per_node\":8}]}}");
  struct hr_scenario *scenario = load(overrides, 1);
  CU_ASSERT_EQUAL_FATAL(scenario->notes.count, 1);
  CU_ASSERT_STRING_EQUAL(scenario->notes.text[0],
                         "warning: preemption 'reclaim' has no effect: no 'quotas' guarantee GPUs");
  hr_scenario_destroy(scenario);
  write_text(QUOTAS("\"tenants\":[{\"tenant\":\"a\",\"guaranteed_gpus\":1}]"));
  scenario = load(overrides, 1);
  CU_ASSERT_EQUAL(scenario->notes.count, 0);
  hr_scenario_destroy(scenario);
}

static const char *const bad[][2] = {
    {QUOTAS("\"cohorts\":[{\"name\":\"a\"},\n{\"name\":\"a\"}]"),
     "s.json:3:9: there already is a cohort 'a'; keep one"},
    {QUOTAS("\"tenants\":[{\"tenant\":\"a\"},\n{\"tenant\":\"a\"}]"),
     "s.json:3:11: there already is a quota for 'a'; keep one"},
    {QUOTAS("\"cohorts\":[{\"name\":\"research\"},\n{\"name\":\"b\",\"parent\":\"reserch\"}]"),
     "s.json:3:22: unknown cohort 'reserch'; did you mean 'research'?"},
    {QUOTAS("\"tenants\":[{\"tenant\":\"a\",\"cohort\":\"research\"}]"),
     "s.json:2:35: unknown cohort 'research'; 'quotas.cohorts' lists them"},
    {QUOTAS("\"cohorts\":[{\"name\":\"org\"}],\n\"default\":{\"cohort\":\"ogr\"}"),
     "s.json:3:21: unknown cohort 'ogr'; did you mean 'org'?"},
    {QUOTAS("\"cohorts\":[{\"name\":\"a\",\"parent\":\"a\"}]"),
     "s.json:2:33: the cohort 'a' is below itself; a parent is expected that is not below it"},
    {QUOTAS("\"cohorts\":[{\"name\":\"x\",\"parent\":\"b\"},\n{\"name\":\"a\",\"parent\":\"b\"},\n"
            "{\"name\":\"b\",\"parent\":\"a\"}]"),
     "s.json:4:22: the cohort 'b' is below itself; a parent is expected that is not below it"},
    {QUOTAS("\"tenants\":[{\"tenant\":\"a\",\"guaranteed_gpus\":-1}]"),
     "s.json:2:44: 'quotas.tenants.0.guaranteed_gpus' is the number -1; a number from 0 to 4000000 is expected"},
    {QUOTAS("\"tenants\":[{\"tenant\":\"a\",\"max_share\":1.5}]"),
     "s.json:2:38: 'quotas.tenants.0.max_share' is the number 1.5; a number from 0 to 1 is expected"},
    {QUOTAS("\"tenants\":[{\"tenant\":\"a\",\"weight\":0}]"),
     "s.json:2:35: 'quotas.tenants.0.weight' is the number 0; a number from 1e-06 to 1000000 is expected"},
    {QUOTAS("\"tenants\":[{\"tenant\":\"a\",\"guaranteed_gpus\":8,\"guaranteed_share\":0.1}]"),
     "s.json:2:65: there are both 'guaranteed_gpus' and 'guaranteed_share'; one of them is expected"},
    {QUOTAS("\"default\":{\"max_gpus\":8,\"max_share\":0.1}"),
     "s.json:2:37: there are both 'max_gpus' and 'max_share'; one of them is expected"},
    {QUOTAS("\"tenants\":[{\"tenant\":\"a\",\"guaranteed_share\":0.5,\"max_gpus\":31}]"),
     "s.json:2:45: 32 GPUs are guaranteed, more than the maximum of 31; at most that is expected"},
    {QUOTAS("\"tenants\":[{\"tenant\":\"a\",\"guaranteed_gpus\":4,\"lend_gpus\":4.5}]"),
     "s.json:2:58: 4.5 GPUs may be lent, but 4 are guaranteed; at most those can be lent"},
    {QUOTAS("\"cohorts\":[{\"name\":\"c\",\"lend_gpus\":7}],\n\"tenants\":[{\"tenant\":\"a\",\"cohort\":\"c\","
            "\"guaranteed_gpus\":4}]"),
     "s.json:2:36: 7 GPUs may be lent, but 4 are guaranteed; at most those can be lent"},
    {QUOTAS(
         "\"cohorts\":[{\"name\":\"in\",\"parent\":\"out\",\"guaranteed_gpus\":2},{\"name\":\"out\",\"max_gpus\":9}],"
         "\n\"tenants\":[{\"tenant\":\"a\",\"cohort\":\"in\",\"guaranteed_gpus\":8}]"),
     "s.json:2:86: the guarantees in cohort 'out' come to 10 GPUs, more than its maximum of 9"},
    {QUOTAS("\"tenants\":[{\"tenant\":\"a\",\"guaranteed_gpu\":8}]"),
     "s.json:2:26: unknown key 'quotas.tenants.0.guaranteed_gpu'; did you mean 'quotas.tenants.0.guaranteed_gpus'? "
     "(..."},
};

static void invalid_quotas_are_rejected(void) {
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    write_text(bad[i][0]);
    expect_error(NULL, 0, bad[i][1]);
  }
}

static void errors_of_overrides_name_the_override(void) {
  static const char *const override = "quotas.tenants.0.guaranteed_gpus=9";
  write_text(QUOTAS("\"tenants\":[{\"tenant\":\"a\",\"guaranteed_gpus\":4,\"max_gpus\":8}]"));
  expect_error(&override, 1,
               "--set quotas.tenants.0.guaranteed_gpus=9: 9 GPUs are guaranteed, more than the maximum of 8; at most "
               "that is expected");
}

TEST_MAIN("scenarios_quotas", TEST(create_test_folder), TEST(scenarios_without_quotas),
          TEST(cohorts_precede_their_members), TEST(tenants_are_read), TEST(guarantees_beyond_the_cluster_are_noted),
          TEST(reclaim_without_quotas_is_noted), TEST(invalid_quotas_are_rejected),
          TEST(errors_of_overrides_name_the_override), TEST(remove_test_folder))
