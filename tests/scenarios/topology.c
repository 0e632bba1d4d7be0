/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topology of pools, network speeds, and topology requests of classes: values, and the position and key words of each
   error. */

#include "loading.h"

/* A scenario with one pool. `topology` starts at the beginning of the second line. `members` are further members of the
   scenario. */
#define SCENARIO(topology, members)                                                                                    \
  "{\"policy\":{\"name\":\"queue\"},\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"A100-80\",\"nodes\":20,"         \
  "\"gpus_per_node\":8,\"topology\":{\n" topology "}}]}" members "}"
#define LINKED "\"network\":{\"pool\":\"25gbe\"}"

static void topology_is_read(void) {
  write_text(SCENARIO("\"island_gpus\":2,\"numa_gpus\":4,\"nodes_per_rack\":4,\"racks_per_zone\":10,"
                      "\"network\":{\"island\":\"nvlink\",\"node\":\"pcie\",\"rack\":\"infiniband\",\"zone\":"
                      "\"400gbe\",\"pool\":\"25gbe\"}",
                      ""));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_topology *topology = &scenario->cluster.pools[0].topology;
  CU_ASSERT_EQUAL(topology->island_gpus, 2);
  CU_ASSERT_EQUAL(topology->numa_gpus, 4);
  CU_ASSERT_EQUAL(topology->nodes_per_rack, 4);
  CU_ASSERT_EQUAL(topology->racks_per_zone, 10);
  CU_ASSERT_EQUAL(topology->network[HR_TIER_ISLAND], HR_NETWORK_NVLINK);
  CU_ASSERT_EQUAL(topology->network[HR_TIER_NUMA], HR_NETWORK_NONE);
  CU_ASSERT_EQUAL(topology->network[HR_TIER_NODE], HR_NETWORK_PCIE);
  CU_ASSERT_EQUAL(topology->network[HR_TIER_ZONE], HR_NETWORK_400GBE);
  CU_ASSERT_EQUAL(topology->network[HR_TIER_POOL], HR_NETWORK_25GBE);
  CU_ASSERT_TRUE(hr_cluster_spec_by_gpu(&scenario->cluster));
  CU_ASSERT_PTR_NOT_NULL(scenario->network_speeds);
  hr_scenario_destroy(scenario);
}

/* Islands and NUMA domains smaller than a node need per-GPU allocation. Racks do not need it. cluster.by_gpu enables
   it. */
static void parts_of_nodes_need_per_gpu_allocation(void) {
  const char *const by_gpu[] = {"cluster.by_gpu=true"};
  write_text(SCENARIO("\"island_gpus\":8,\"nodes_per_rack\":4", ""));
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_FALSE(hr_cluster_spec_by_gpu(&scenario->cluster));
  CU_ASSERT_PTR_NULL(scenario->network_speeds);
  hr_scenario_destroy(scenario);
  scenario = load(by_gpu, 1);
  CU_ASSERT_TRUE(hr_cluster_spec_by_gpu(&scenario->cluster));
  hr_scenario_destroy(scenario);
  const char *const large[] = {"cluster.by_gpu=true", "cluster.pools.0.gpus_per_node=72",
                               "cluster.pools.0.topology.island_gpus=36"};
  expect_error(large, 3, "s.json:1:47: pool 'p' has 72 GPUs per node; with per-GPU allocation a node has at most 64");
}

static void sizes_must_be_multiples(void) {
  write_text(SCENARIO("\"numa_gpus\":3", ""));
  expect_error(NULL, 0, "s.json:2:13: 'numa_gpus' 3 does not divide the 8 GPUs of a node");
  write_text(SCENARIO("\"numa_gpus\":16", ""));
  expect_error(NULL, 0, "s.json:2:13: 'numa_gpus' 16 does not divide the 8 GPUs of a node");
  write_text(SCENARIO("\"island_gpus\":3", ""));
  expect_error(NULL, 0, "s.json:2:15: 'island_gpus' 3 does not divide the 8 GPUs of a node");
  write_text(SCENARIO("\"island_gpus\":8,\"numa_gpus\":4", ""));
  expect_error(NULL, 0, "s.json:2:15: 'island_gpus' 8 does not divide the 4 GPUs of a NUMA domain");
  write_text(SCENARIO("\"racks_per_zone\":3", ""));
  expect_error(NULL, 0, "s.json:2:18: 'racks_per_zone' has no effect without 'nodes_per_rack', the nodes of a rack");
}

static void networks_need_their_tier(void) {
  write_text(SCENARIO("\"network\":{\"rack\":\"infiniband\"}", ""));
  expect_error(NULL, 0, "s.json:2:19: the pool has no tier 'rack': 'nodes_per_rack' makes it");
  write_text(SCENARIO("\"network\":{\"island\":\"nvlink\"}", ""));
  expect_error(NULL, 0, "s.json:2:21: the pool has no tier 'island': 'island_gpus' makes it");
  write_text(SCENARIO("\"network\":{\"pool\":\"10gbe\"}", ""));
  expect_error(NULL, 0,
               "s.json:2:19: 'cluster.pools.0.topology.network.pool' is the text \"10gbe\"; one of nvlink, pcie, "
               "infiniband, 25gbe, 50gbe, 100gbe, 200gbe, 400gbe is expected; did you mean '50gbe'?");
  write_text(SCENARIO("\"nodes_per_rak\":1", ""));
  expect_error(NULL, 0, "s.json:2:1: unknown key 'cluster.pools.0.topology.nodes_per_rak'; did you mean...");
}

/* ---- Speeds ----------------------------------------------------------------------------------------- */

static uint32_t ppm_of(const struct hr_scenario *scenario, const char *model, enum hr_network network, uint32_t gpus) {
  const struct hr_network_speeds *speeds = scenario->network_speeds;
  return hr_network_span_ppm(speeds, hr_network_span_of(speeds, model, network), gpus);
}

static void speeds_of_the_catalogue(void) {
  write_text(SCENARIO(LINKED, ""));
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_EQUAL(ppm_of(scenario, "BERT-large", HR_NETWORK_INFINIBAND, 32), 971000);
  CU_ASSERT_EQUAL(ppm_of(scenario, "bert-large", HR_NETWORK_INFINIBAND, 128), 895000);
  CU_ASSERT_EQUAL(ppm_of(scenario, "BERT-large", HR_NETWORK_INFINIBAND, 4000), 843000);
  CU_ASSERT_EQUAL(ppm_of(scenario, "LM (batch size 5)", HR_NETWORK_25GBE, 2), 245000);          /* 0.24 / 0.98 */
  CU_ASSERT_EQUAL(ppm_of(scenario, "ResNet-50 (batch size 16)", HR_NETWORK_25GBE, 8), 1000000); /* 0.48 / 0.42 */
  CU_ASSERT_EQUAL(ppm_of(scenario, "Transformer", HR_NETWORK_25GBE, 8), 413000);                /* 0.31 / 0.75 */
  CU_ASSERT_EQUAL(ppm_of(scenario, "A3C", HR_NETWORK_25GBE, 8), 1000000);
  hr_scenario_destroy(scenario);
}

/* Rows of the scenario for a model family and a network replace all catalogue rows for them. A row for all models
   applies if neither the scenario nor the catalogue has a row for the family. */
static void speeds_of_the_scenario_have_precedence(void) {
  write_text(SCENARIO(LINKED,
                      ",\"network_speeds\":[{\"model\":\"lm\",\"gpus\":16,\"network\":\"25gbe\",\"speed\":0.4},"
                      "{\"network\":\"25gbe\",\"speed\":0.5},{\"model\":\"X\",\"network\":\"pcie\",\"speed\":1}]"));
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_EQUAL(ppm_of(scenario, "LM (batch size 5)", HR_NETWORK_25GBE, 2), 400000);
  CU_ASSERT_EQUAL(ppm_of(scenario, "Transformer", HR_NETWORK_25GBE, 8), 413000);
  CU_ASSERT_EQUAL(ppm_of(scenario, "A3C", HR_NETWORK_25GBE, 8), 500000);
  CU_ASSERT_EQUAL(ppm_of(scenario, "A3C", HR_NETWORK_100GBE, 8), 1000000);
  CU_ASSERT_EQUAL(scenario->notes.count, 0);
  hr_scenario_destroy(scenario);
}

static void invalid_speeds(void) {
#define ROW "{\"model\":\"LM\",\"gpus\":16,\"network\":\"25gbe\",\"speed\":0.4}"
  write_text(SCENARIO(LINKED, ",\n\"network_speeds\":[" ROW ",\n" ROW "]"));
  expect_error(NULL, 0, "s.json:4:1: there already is a speed of 'LM' on 16 GPUs over 25gbe");
  write_text(SCENARIO(LINKED, ",\n\"network_speeds\":[{\"network\":\"25gbe\",\"speed\":1.5}]"));
  expect_error(NULL, 0,
               "s.json:3:46: 'network_speeds.0.speed' is the number 1.5; a number from 1e-06 to 1 is expected");
  write_text(SCENARIO(LINKED, ",\n\"network_speeds\":[{\"speed\":1}]"));
  expect_error(NULL, 0, "s.json:3:19: 'network_speeds.0' lacks the key 'network'; ...");
}

static void unused_speeds_are_noted(void) {
  write_text(SCENARIO("", ",\"network_speeds\":[" ROW "]"));
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_EQUAL_FATAL(scenario->notes.count, 1);
  CU_ASSERT_STRING_EQUAL(scenario->notes.text[0],
                         "warning: 'network_speeds' has no effect: no pool has a 'network' in its 'topology'");
  hr_scenario_destroy(scenario);
}

/* ---- Topology requests of classes ------------------------------------------------------------------- */

#define CLASSES(members) SCENARIO("", ",\"classes\":{\"training\":{\n" members "}}")

static void requests_of_classes_are_read(void) {
  write_text(CLASSES("\"within\":\"rack\",\"within_wait_s\":1.5"));
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_EQUAL(scenario->classes[HR_CLASS_TRAINING].within, HR_TIER_RACK);
  CU_ASSERT_EQUAL(scenario->classes[HR_CLASS_TRAINING].within_wait_us, 1500000);
  CU_ASSERT_EQUAL(scenario->classes[HR_CLASS_INFERENCE].within, HR_TIER_ANY);
  hr_scenario_destroy(scenario);
  write_text(CLASSES("\"within\":\"island\""));
  scenario = load(NULL, 0);
  CU_ASSERT_EQUAL(scenario->classes[HR_CLASS_TRAINING].within_wait_us, HR_UNKNOWN_US);
  hr_scenario_destroy(scenario);
  write_text(CLASSES("\"within_wait_s\":5"));
  expect_error(NULL, 0, "s.json:3:17: 'within_wait_s' has no effect without 'within'");
  write_text(CLASSES("\"within\":\"pool\""));
  expect_error(NULL, 0, "s.json:3:10: 'classes.training.within' is the text \"pool\"; one of island, numa, node, ...");
}

/* Loads two scenarios, which must have equal classes. Loading the first one, with the old keys, must add the note
   `note`. Loading the second one must add none. */
static void expect_alias(const char *old_form, const char *const *old_set, size_t n_old_set, const char *new_form,
                         const char *note) {
  write_text(old_form);
  struct hr_scenario *old = load(old_set, n_old_set);
  write_text(new_form);
  struct hr_scenario *new = load(NULL, 0);
  for (unsigned i = 0; i < HR_N_CLASSES; i++) {
    CU_ASSERT_EQUAL(old->classes[i].within, new->classes[i].within);
    CU_ASSERT_EQUAL(old->classes[i].within_wait_us, new->classes[i].within_wait_us);
  }
  CU_ASSERT_EQUAL_FATAL(old->notes.count, 1);
  if (!message_matches(old->notes.text[0], note)) printf("\n  %s\n", old->notes.text[0]);
  CU_ASSERT_TRUE(message_matches(old->notes.text[0], note));
  CU_ASSERT_EQUAL(new->notes.count, 0);
  hr_scenario_destroy(old);
  hr_scenario_destroy(new);
}

static void old_keys_are_aliases(void) {
  const char *const set[] = {"classes.training.within=zone", "classes.training.within_wait_s=60"};
  expect_alias(CLASSES("\"within\":\"node\""), NULL, 0, CLASSES("\"topology\":{\"required\":\"node\"}"),
               "s.json:3:10: key 'within' is now 'topology.required'...");
  expect_alias(CLASSES("\"within\":\"rack\",\"within_wait_s\":1.5"), NULL, 0,
               CLASSES("\"topology\":{\"preferred\":\"rack\",\"wait_s\":1.5}"),
               "s.json:3:10: keys 'within' and 'within_wait_s' are now 'topology.preferred' and 'topology.wait_s'...");
  expect_alias(CLASSES("\"within\":\"rack\",\"within_wait_s\":0"), NULL, 0,
               CLASSES("\"topology\":{\"preferred\":\"rack\"}"), "s.json:3:10: keys 'within' and...");
  expect_alias(SCENARIO("", ""), set, 2, CLASSES("\"topology\":{\"preferred\":\"zone\",\"wait_s\":60}"),
               "--set classes.training.within=zone: keys 'within' and...");
}

static void contradictions_have_a_position(void) {
  write_text(CLASSES("\"topology\":{\"required\":\"rack\",\"preferred\":\"rack\"}"));
  expect_error(NULL, 0, "s.json:3:43: 'preferred' contradicts 'required'...");
  write_text(CLASSES("\"topology\":{\"required\":\"rack\",\"wait_s\":5}"));
  expect_error(NULL, 0, "s.json:3:40: 'wait_s' has no effect without 'preferred'...");
  write_text(CLASSES("\"topology\":{\"wait_s\":5}"));
  expect_error(NULL, 0, "s.json:3:22: 'wait_s' has no effect without 'preferred'");
  write_text(CLASSES("\"topology\":{\"required\":\"rack\"},\"within\":\"rack\""));
  expect_error(NULL, 0, "s.json:3:41: 'within' and 'topology' exclude each other...");
  write_text(CLASSES("\"topology\":{},\"within_wait_s\":5"));
  expect_error(NULL, 0, "s.json:3:31: 'within_wait_s' and 'topology' exclude each other...");
  write_text(CLASSES("\"topology\":{\"required\":\"pool\"}"));
  expect_error(NULL, 0, "s.json:3:24: 'classes.training.topology.required' is the text \"pool\"; one of island, ...");
  write_text(CLASSES("\"topology\":{}"));
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_EQUAL(scenario->classes[HR_CLASS_TRAINING].within, HR_TIER_ANY);
  hr_scenario_destroy(scenario);
}

/* ---- CPUs with GPUs --------------------------------------------------------------------------------- */

static void cpus_per_gpu_are_read(void) {
  const char *const set[] = {"cluster.by_gpu=true", "cluster.pools.0.cpu_per_node=100",
                             "cluster.pools.0.cpu_per_gpu=6.5"};
  const char *const part[] = {"cluster.by_gpu=true", "cluster.pools.0.cpu_per_node=100",
                              "cluster.pools.0.cpu_per_gpu=proportional"};
  const char *const word[] = {"cluster.pools.0.cpu_per_node=9", "cluster.pools.0.cpu_per_gpu=all"};
  const char *const many[] = {"cluster.pools.0.cpu_per_node=9", "cluster.pools.0.cpu_per_gpu=10"};
  write_text(SCENARIO("", ""));
  struct hr_scenario *scenario = load(set, 3);
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].cpu_milli_per_gpu, 6500);
  hr_scenario_destroy(scenario);
  scenario = load(part, 3);
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].cpu_milli_per_gpu, 12500);
  hr_scenario_destroy(scenario);
  expect_error(word, 2, "--set cluster.pools.0.cpu_per_gpu=all: a number above 0 or \"proportional\" is expected");
  expect_error(many, 2, "--set cluster.pools.0.cpu_per_gpu=10: a node has no more than 9 CPUs");
  expect_error(part + 2, 1,
               "--set cluster.pools.0.cpu_per_gpu=proportional: 'cpu_per_gpu' has no effect without 'cpu_per_node'");
  expect_error(part + 1, 2,
               "s.json:1:47: pool 'p' has 'cpu_per_gpu', which needs per-GPU allocation; set 'cluster.by_gpu'");
}

TEST_MAIN("topology in scenarios", TEST(create_test_folder), TEST(topology_is_read),
          TEST(parts_of_nodes_need_per_gpu_allocation), TEST(sizes_must_be_multiples), TEST(networks_need_their_tier),
          TEST(speeds_of_the_catalogue), TEST(speeds_of_the_scenario_have_precedence), TEST(invalid_speeds),
          TEST(unused_speeds_are_noted), TEST(requests_of_classes_are_read), TEST(old_keys_are_aliases),
          TEST(contradictions_have_a_position), TEST(cpus_per_gpu_are_read), TEST(remove_test_folder))
