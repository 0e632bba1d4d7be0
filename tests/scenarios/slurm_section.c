/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `slurm` of scenarios: values, defaults, and the position and key words of each error. */

#include "loading.h"

#include "headroom/unstable/systems/slurm.h"
#include "headroom/unstable/systems/systems.h"

/* A scenario with the pools p and q of 4 nodes each. `members` start at the beginning of the second line. */
#define SLURM(members)                                                                                                 \
  "{\"policy\":{\"name\":\"slurm\"},\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"H100\",\"nodes\":4,"             \
  "\"gpus_per_node\":8},{\"name\":\"q\",\"gpu\":\"H100\",\"nodes\":4,\"gpus_per_node\":8}]},\"slurm\":{\n" members     \
  "}}"

static struct hr_scenario *load_text(const char *text) {
  write_text(text);
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario->systems);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario->systems->slurm);
  return scenario;
}

static void defaults_are_those_of_slurm(void) {
  struct hr_scenario *scenario = load_text(SLURM("\"partitions\":[{\"name\":\"a\"}],\"qos\":[{\"name\":\"x\"}],"
                                                 "\"associations\":[{\"account\":\"top\"}]"));
  const struct hr_slurm_config *config = scenario->systems->slurm;
  CU_ASSERT_EQUAL(config->priority.max_age_us, 604800 * HR_SECOND_US);
  CU_ASSERT_EQUAL(config->priority.calc_period_us, 300 * HR_SECOND_US);
  CU_ASSERT_EQUAL(config->priority.weight_age, 0);
  CU_ASSERT_EQUAL(config->preempt_exempt_us, HR_UNKNOWN_US);
  const struct hr_slurm_partition *partition = &config->partitions[0];
  CU_ASSERT(partition->priority_tier == 1 && partition->priority_job_factor == 1 && partition->max_nodes == -1);
  CU_ASSERT(partition->max_time_us == HR_UNKNOWN_US && partition->n_nodes == 0 && partition->qos_index == HR_NONE);
  const struct hr_slurm_limits *limits = &config->qos[0].limits;
  CU_ASSERT(limits->grp_jobs == -1 && limits->grp_tres.gpu == -1 && limits->max_tres_per_user.node == -1);
  CU_ASSERT(limits->max_wall_us == HR_UNKNOWN_US && config->qos[0].usage_factor == 1);
  limits = &config->associations[0].limits;
  CU_ASSERT(limits->max_jobs_per_account == -1 && limits->max_tres_per_account.gpu == -1);
  CU_ASSERT(config->associations[0].above == HR_NONE && config->associations[0].fairshare == 1);
  hr_scenario_destroy(scenario);
}

static void names_are_found(void) {
  struct hr_scenario *scenario = load_text(SLURM(
      "\"priority\":{\"weight_tres\":{\"gpu\":7},\"flags\":[\"NO_FAIR_TREE\",\"MAX_TRES\"]},"
      "\"partitions\":[{\"name\":\"a\",\"nodes\":[\"q\",\"p:1-2\"],\"qos\":\"y\",\"max_time_s\":60,\"default\":true}],"
      "\"qos\":[{\"name\":\"x\"},{\"name\":\"y\",\"preempt\":[\"x\"],\"limits\":{\"grp_tres\":{\"gpu\":3}}}],"
      "\"associations\":[{\"account\":\"low\",\"user\":\"u\",\"default_qos\":\"x\",\"limits\":{\"max_jobs\":2}},"
      "{\"account\":\"low\",\"parent\":\"top\",\"fairshare\":-1},{\"account\":\"top\",\"parent\":\"root\"}],"
      "\"reservations\":[{\"name\":\"r\",\"start_s\":10,\"duration_s\":20,\"nodes\":[\"p:3-3\"],\"users\":[\"u\"]}]"));
  const struct hr_slurm_config *config = scenario->systems->slurm;
  CU_ASSERT_EQUAL(config->priority.weight_tres.gpu, 7);
  CU_ASSERT_EQUAL(config->priority.flags, 1U << HR_SLURM_NO_FAIR_TREE | 1U << HR_SLURM_MAX_TRES);
  const struct hr_slurm_partition *partition = &config->partitions[0];
  CU_ASSERT_EQUAL_FATAL(partition->n_nodes, 2);
  CU_ASSERT(partition->nodes[0].pool == 1 && partition->nodes[0].first == 0 && partition->nodes[0].count == 4);
  CU_ASSERT(partition->nodes[1].pool == 0 && partition->nodes[1].first == 1 && partition->nodes[1].count == 2);
  CU_ASSERT(partition->qos_index == 1 && partition->max_time_us == 60 * HR_SECOND_US && partition->is_default);
  CU_ASSERT_STRING_EQUAL(config->qos[1].preempt[0].text, "x");
  CU_ASSERT_EQUAL(config->qos[1].limits.grp_tres.gpu, 3);
  CU_ASSERT(config->associations[0].above == 1 && config->associations[1].above == 2);
  CU_ASSERT(config->associations[2].above == HR_NONE && config->associations[1].fairshare == -1);
  CU_ASSERT(config->associations[0].default_qos_index == 0 && config->associations[0].limits.max_jobs_per_user == 2);
  CU_ASSERT(config->reservations[0].nodes[0].first == 3 && config->reservations[0].nodes[0].count == 1);
  hr_scenario_destroy(scenario);
}

static const char *const bad[][2] = {
    {SLURM("\"partitions\":[{\"name\":\"a\"},\n{\"name\":\"a\"}]"), "s.json:3:9: duplicate partition 'a'; own name"},
    {SLURM("\"partitions\":[{\"name\":\"a\",\n\"nodes\":[\"z\"]}]"), "s.json:3:10: no pool 'z'; POOL:FIRST-LAST"},
    {SLURM("\"partitions\":[{\"name\":\"a\",\n\"nodes\":[\"p:2-4\"]}]"),
     "s.json:3:10: node 4 is not in the pool, which has nodes 0 to 3"},
    {SLURM("\"partitions\":[{\"name\":\"a\",\n\"nodes\":[\"p:2-1\"]}]"),
     "s.json:3:10: no pool 'p:2-1'; POOL:FIRST-LAST"},
    {SLURM("\"partitions\":[{\"name\":\"a\",\n\"qos\":\"x\"}]"), "s.json:3:7: no QOS 'x'; see 'slurm.qos'"},
    {SLURM("\"partitions\":[{\"name\":\"a\",\"default\":true},\n{\"name\":\"b\",\"default\":true}]"),
     "s.json:3:23: 'a' is the default partition already"},
    {SLURM("\"qos\":[{\"name\":\"a\",\n\"preempt\":[\"b\"]}]"), "s.json:3:12: no QOS 'b'; see 'slurm.qos'"},
    {SLURM("\"qos\":[{\"name\":\"a\",\"limits\":{\n\"max_jobs\":1}}]"),
     "s.json:3:1: unknown key 'slurm.qos.0.limits.max_jobs'; did you mean 'slurm.qos.0.limits.grp_jobs'? (..."},
    {SLURM("\"associations\":[{\"account\":\"a\"},\n{\"account\":\"a\"}]"),
     "s.json:3:12: duplicate account 'a'; own name"},
    {SLURM("\"associations\":[{\"account\":\"a\"},{\"account\":\"a\",\"user\":\"u\"},\n{\"account\":\"a\","
           "\"user\":\"u\"}]"),
     "s.json:3:23: duplicate user of this account: 'u'; own name"},
    {SLURM("\"associations\":[{\n\"account\":\"a\",\"user\":\"u\"}]"),
     "s.json:3:11: no account 'a'; 'slurm.associations' without 'user'"},
    {SLURM("\"associations\":[{\"account\":\"a\",\n\"parent\":\"b\"}]"),
     "s.json:3:10: no account 'b'; entry of 'slurm.associations' without 'user'"},
    {SLURM("\"associations\":[{\"account\":\"a\",\n\"parent\":\"b\"},{\"account\":\"b\",\"parent\":\"a\"}]"),
     "s.json:3:10: account 'a' is its own ancestor; not below"},
    {SLURM("\"associations\":[{\"account\":\"a\",\n\"fairshare\":-2}]"),
     "s.json:3:13: 'slurm.associations.0.fairshare' is the number -2; a whole number from -1 to 1000000000000 is "
     "expected"},
    {SLURM("\"reservations\":[{\"name\":\"a\",\"start_s\":0,\"duration_s\":10,\n\"repeat_s\":5}]"),
     "s.json:3:12: the reservation begins again before it ends; at least 'duration_s'"},
    {SLURM("\"preempt_mode\":\"default\""), "s.json:2:16: 'default' is for partitions and QOS; requeue, cancel"},
};

static void invalid_sections_are_rejected(void) {
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    write_text(bad[i][0]);
    expect_error(NULL, 0, bad[i][1]);
  }
}

TEST_MAIN("scenarios_slurm_section", TEST(create_test_folder), TEST(defaults_are_those_of_slurm), TEST(names_are_found),
          TEST(invalid_sections_are_rejected), TEST(remove_test_folder))
