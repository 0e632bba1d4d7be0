/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `clusters` and `router`: the stored values, the values that clusters inherit from the scenario, and the place of each
   error. */

#include "headroom/unstable/scenario_files.h"
#include "loading.h"

#include <string.h>

#define POOL(name, rest) "{\"name\":\"" name "\",\"gpu\":\"T4\",\"nodes\":4,\"gpus_per_node\":2" rest "}"
/* Two clusters. The second one is on the second line, the rest of the scenario on the third line. */
#define TWO(second, rest)                                                                                              \
  "{\"policy\":{\"name\":\"fifo\"},\"clusters\":[{\"name\":\"a\",\"pools\":[" POOL("p", "") "]},\n{" second "}]" rest  \
                                                                                            "}"
#define SECOND                                                                                                         \
  "\"name\":\"b\",\"region\":\"eu\",\"tenants\":[\"x\",\"y\"],\"policy\":{\"name\":\"sjf\"},\"pools\":[" POOL(         \
      "p", "") "," POOL("q", ",\"region\":\"us\"") "]"
#define ROUTER(members) TWO(SECOND, ",\n\"router\":{" members "}")

static void keys_are_stored(void) {
  write_text(ROUTER("\"name\":\"local-first\",\"spill\":\"least-loaded\",\"max_waiting\":3,\"max_wait_s\":60,"
                    "\"keep_deadlines\":true,\"budget_usd\":7"));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_scenario_clusters *clusters = scenario->clusters;
  CU_ASSERT_FATAL(clusters != NULL && clusters->count == 2);
  const struct hr_job_router_spec *router = &clusters->router;
  CU_ASSERT(router->kind == HR_JOB_ROUTER_LOCAL_FIRST && router->spill == HR_JOB_ROUTER_LEAST_LOADED);
  CU_ASSERT(router->max_waiting == 3 && router->max_wait_us == 60 * HR_SECOND_US && router->keep_deadlines);
  CU_ASSERT_EQUAL(router->budget_uusd, 7000000);
  CU_ASSERT_STRING_EQUAL(clusters->at[1].tenants[1], "y");
  CU_ASSERT_EQUAL_FATAL(scenario->cluster.n_pools, 3);
  CU_ASSERT_STRING_EQUAL(scenario->cluster.pools[1].name, "b/p");
  CU_ASSERT_STRING_EQUAL(scenario->cluster.pools[1].region, "eu");
  CU_ASSERT_STRING_EQUAL(scenario->cluster.pools[2].region, "us");
  CU_ASSERT_PTR_NULL(scenario->cluster.pools[0].region);
  hr_scenario_destroy(scenario);
}

static void rules_are_stored(void) {
  write_text(ROUTER("\"name\":\"affinity\",\"rules\":[{\"tenants\":[\"x\"],\"clusters\":[\"b\",\"a\"],\"only\":true},"
                    "{\"classes\":[\"training\"],\"clusters\":[\"a\"]}],\"reroute_s\":5"));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_job_router_spec *router = &scenario->clusters->router;
  CU_ASSERT_EQUAL_FATAL(router->n_rules, 2);
  CU_ASSERT(router->rules[0].only && router->rules[0].classes == 0);
  CU_ASSERT(router->rules[0].clusters[0] == 1 && router->rules[0].clusters[1] == 0);
  CU_ASSERT(router->rules[1].classes == 1u << HR_CLASS_TRAINING && router->rules[1].n_tenants == 0);
  CU_ASSERT(router->reroute_us == 5 * HR_SECOND_US && router->max_reroutes == 1000);
  hr_scenario_destroy(scenario);
  write_text(ROUTER("\"name\":\"multikueue\",\"dispatch\":\"incremental\",\"step\":2,\"round_s\":7"));
  scenario = load(NULL, 0);
  router = &scenario->clusters->router;
  CU_ASSERT(router->incremental && router->step == 2 && router->round_us == 7 * HR_SECOND_US);
  CU_ASSERT(router->reroute_us == 0 && router->timeout_us == 600 * HR_SECOND_US);
  hr_scenario_destroy(scenario);
}

static void clusters_inherit(void) {
  char path[HR_POOL_PATH_BYTES], buffer[32];
  write_text(TWO(SECOND, ",\"quotas\":{\"tenants\":[{\"tenant\":\"x\",\"guaranteed_gpus\":2}]}"));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_scenario_clusters *clusters = scenario->clusters;
  CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&clusters->at[0].scenario->policy, 0, buffer), "fifo");
  CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&clusters->at[1].scenario->policy, 0, buffer), "sjf");
  CU_ASSERT(clusters->at[0].scenario->quotas != NULL && clusters->at[1].scenario->quotas != NULL);
  CU_ASSERT_EQUAL(clusters->router.kind, HR_JOB_ROUTER_HOME);
  CU_ASSERT(!clusters->at[0].own_policy && clusters->at[1].own_policy);
  CU_ASSERT(clusters->parts[0].policy == NULL && clusters->parts[1].policy != NULL);
  CU_ASSERT_STRING_EQUAL(hr_scenario_pool_path(scenario, 2, path), "clusters.1.pools.1");
  hr_scenario_destroy(scenario);
  const char *const set[] = {"clusters.1.pools.0.nodes=9"};
  scenario = load(set, 1);
  CU_ASSERT_EQUAL(scenario->cluster.pools[1].nodes, 9);
  CU_ASSERT_EQUAL(scenario->clusters->at[1].scenario->cluster.pools[0].nodes, 9);
  hr_scenario_destroy(scenario);
}

/* MultiKueue can have 20 clusters. */
static void multikueue_has_a_limit(void) {
  for (int n = 20; n <= 21; n++) {
    char text[6000] = "{\"policy\":{\"name\":\"fifo\"},\"router\":{\"name\":\"multikueue\"},\n\"clusters\":[",
         entry[200];
    for (int i = 0; i < n; i++) {
      snprintf(entry, sizeof entry, "%s{\"name\":\"c%d\",\"pools\":[" POOL("p", "") "]}", i ? "," : "", i);
      strcat(text, entry);
    }
    strcat(text, "]}");
    write_text(text);
    if (n == 20)
      hr_scenario_destroy(load(NULL, 0));
    else
      expect_error(NULL, 0, "s.json:1:44: the router 'multikueue' can have at most 20 clusters; there are 21");
  }
}

static void errors_have_a_place(void) {
  static const char *const nodes[] = {"clusters.1.pools.0.nodes=-1"};
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {TWO("\"name\":\"a\",\"pools\":[" POOL("p", "") "]", ""), "s.json:2:9: two clusters have the name 'a'"},
      {TWO("\"name\":\"b\"", ""), "s.json:2:1: 'cluster' lacks 'pools'..."},
      {TWO("\"name\":\"b\",\"pools\":[" POOL("p", ",\"usd_per_gpu_hour\":-1") "]", ""),
       "s.json:2:92: 'clusters.1.pools.0.usd_per_gpu_hour' is the number -1..."},
      {TWO(SECOND ",\"kind\":1", ""), "s.json:2:199: unknown key 'clusters.1.kind'..."},
      {TWO(SECOND, ",\n\"cluster\":{\"pools\":[" POOL("p", "") "]}"),
       "s.json:1:38: 'cluster' and 'clusters' exclude each other..."},
      {ROUTER("\"name\":\"cheap\""), "s.json:3:18: 'router.name' is the text \"cheap\"..."},
      {ROUTER("\"name\":\"cheapest\",\"max_waiting\":3"),
       "s.json:3:43: 'max_waiting' has no effect with the router 'cheapest'..."},
      {ROUTER("\"name\":\"skypilot\",\"reroute_s\":3"),
       "s.json:3:41: 'reroute_s' has no effect with the router 'skypilot'"},
      {ROUTER("\"name\":\"multikueue\",\"timeout_s\":3"),
       "s.json:3:43: 'timeout_s' has no effect with the router 'multikueue'; it needs skypilot"},
      {ROUTER("\"name\":\"plugin\""), "s.json:3:18: the router 'plugin' needs 'file', the path of a shared object"},
      {ROUTER("\"name\":\"home\",\"file\":\"r.so\""),
       "s.json:3:32: 'file' has no effect with the router 'home'; it needs plugin"},
      {ROUTER("\"name\":\"affinity\""), "s.json:3:18: the router 'affinity' needs 'rules'"},
      {ROUTER("\"name\":\"affinity\",\"rules\":[{\"clusters\":[\"z\"]}]"), "s.json:3:51: no cluster has the name 'z'"},
      {ROUTER("\"name\":\"affinity\",\"rules\":[{\"clusters\":[\"a\",\"b\",\"a\"]}]"),
       "s.json:3:59: duplicate 'a'; keep one"},
      {ROUTER("\"name\":\"affinity\",\"rules\":[{\"tenants\":[\"x\",\"x\"],\"clusters\":[\"a\"]}]"),
       "s.json:3:54: duplicate 'x'; keep one"},
      {ROUTER("\"name\":\"affinity\",\"rules\":[{\"classes\":[\"training\",\"training\"],\"clusters\":[\"a\"]}]"),
       "s.json:3:61: duplicate 'training'; keep one"},
      {TWO(SECOND ",\"only_tenants\":[\"x\",\"y\",\"x\"]", ""), "s.json:2:223: duplicate 'x'; keep one"},
      {TWO(SECOND ",\"only_tenants\":[\"z\"]", ""),
       "s.json:2:37: tenant 'x' has its home here, but 'only_tenants' lacks it"},
      {ROUTER("\"name\":\"home\",\"max_wait_s\":3"),
       "s.json:3:38: 'max_wait_s' has no effect with the router 'home'..."},
      {"{\"policy\":{\"name\":\"fifo\"},\"cluster\":{\"pools\":[" POOL("p", "") "]},\n\"router\":{\"name\":\"home\"}}",
       "s.json:2:10: 'router' has no effect without 'clusters'"},
      {"{\"policy\":{\"name\":\"fifo\"}}", "s.json:1:1: the scenario lacks the key 'cluster'..."},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(cases[i].text);
    expect_error(NULL, 0, cases[i].expected);
  }
  write_text(TWO(SECOND, ""));
  expect_error(nodes, 1, "--set clusters.1.pools.0.nodes=-1: 'clusters.1.pools.0.nodes' is the number -1...");
}

TEST_MAIN("Several clusters in scenarios", TEST(create_test_folder), TEST(keys_are_stored), TEST(rules_are_stored),
          TEST(clusters_inherit), TEST(multikueue_has_a_limit), TEST(errors_have_a_place), TEST(remove_test_folder))
