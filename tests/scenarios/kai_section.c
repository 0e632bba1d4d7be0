/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `kai` of scenarios: values, defaults, and the position and key words of each error. */

#include "loading.h"

#include "headroom/unstable/systems/systems.h"

/* A scenario with a cluster of 64 GPUs. `members` start at the beginning of the second line. */
#define KAI(members)                                                                                                   \
  "{\"policy\":{\"name\":\"queue\"},\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"H100\",\"nodes\":8,"             \
  "\"gpus_per_node\":8}]},\"kai\":{\n" members "}}"
#define FREE "\"gpu\":{\"limit\":-1}"

static struct hr_scenario *load_text(const char *text) {
  write_text(text);
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario->systems);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario->systems->kai);
  return scenario;
}

static void defaults_are_those_of_kai(void) {
  struct hr_scenario *scenario = load_text(KAI("\"queues\":[{\"name\":\"q\",\"gpu\":{\"quota\":2.5}}]"));
  const struct hr_kai_config *config = scenario->systems->kai;
  CU_ASSERT_EQUAL_FATAL(config->n_queues, 1);
  const struct hr_kai_queue *queue = &config->queues[0];
  CU_ASSERT_STRING_EQUAL(queue->name, "q");
  CU_ASSERT_EQUAL(queue->above, HR_NONE);
  CU_ASSERT_EQUAL(queue->priority, 100);
  CU_ASSERT_EQUAL(queue->gpu.quota, 2.5);
  CU_ASSERT_EQUAL(queue->gpu.limit, 0);
  CU_ASSERT_EQUAL(queue->cpu.over_quota_weight, 0);
  CU_ASSERT_EQUAL(queue->preempt_min_runtime_us, HR_UNKNOWN_US);
  CU_ASSERT_EQUAL(queue->reclaim_min_runtime_us, HR_UNKNOWN_US);
  CU_ASSERT_EQUAL(config->scheduler.period_us, HR_SECOND_US);
  CU_ASSERT_EQUAL(config->scheduler.max_consolidation_victims, 16);
  CU_ASSERT_EQUAL(config->scheduler.stale_grace_us, 60 * HR_SECOND_US);
  CU_ASSERT_FALSE(config->scheduler.usage.enabled);
  CU_ASSERT_EQUAL(config->default_priority, 50);
  CU_ASSERT_EQUAL(scenario->notes.count, 2); /* no limit, and another policy */
  hr_scenario_destroy(scenario);
}

static void queues_are_a_tree(void) {
  struct hr_scenario *scenario =
      load_text(KAI("\"queues\":[{\"name\":\"a\",\"parent\":\"top\"," FREE ",\"preempt_min_runtime_s\":1.5},"
                    "{\"name\":\"b\",\"parent\":\"top\",\"priority\":7,\"gpu\":{\"quota\":-1,\"limit\":9,"
                    "\"over_quota_weight\":3},\"reclaim_min_runtime_s\":0},{\"name\":\"top\"," FREE "}],"
                    "\"default_queue\":\"b\",\"priority_classes\":[{\"name\":\"train\",\"value\":50},"
                    "{\"name\":\"serve\",\"value\":125},{\"name\":\"spot\",\"value\":200,\"preemptible\":true}],"
                    "\"scheduler\":{\"gpu_placement\":\"spread\",\"usage\":{\"half_life_s\":60}}"));
  const struct hr_kai_config *config = scenario->systems->kai;
  CU_ASSERT_EQUAL_FATAL(config->n_queues, 3);
  CU_ASSERT_EQUAL(config->queues[0].above, 2);
  CU_ASSERT_EQUAL(config->queues[1].above, 2);
  CU_ASSERT_EQUAL(config->queues[2].above, HR_NONE);
  CU_ASSERT_EQUAL(config->queues[2].n_below, 2);
  CU_ASSERT_EQUAL(config->queues[0].preempt_min_runtime_us, 1500000);
  CU_ASSERT_EQUAL(config->queues[1].reclaim_min_runtime_us, 0);
  CU_ASSERT_EQUAL(config->queues[1].gpu.quota, -1);
  CU_ASSERT_EQUAL(config->queues[1].gpu.over_quota_weight, 3);
  CU_ASSERT_EQUAL_FATAL(config->n_classes, 3);
  CU_ASSERT_TRUE(config->classes[0].preemptible);
  CU_ASSERT_FALSE(config->classes[1].preemptible);
  CU_ASSERT_TRUE(config->classes[2].preemptible);
  CU_ASSERT_TRUE(config->scheduler.gpu_spread);
  CU_ASSERT_TRUE(config->scheduler.usage.enabled);
  CU_ASSERT_EQUAL(config->scheduler.usage.half_life_us, 60 * HR_SECOND_US);
  CU_ASSERT_EQUAL(config->scheduler.usage.window_us, 604800 * HR_SECOND_US);
  hr_scenario_destroy(scenario);
}

/* Keys of KAI that cannot affect a run have notes. */
static void keys_without_effect_are_noted(void) {
  static const char *const text =
      "{\"policy\":{\"name\":\"kai\"},\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"H100\",\"nodes\":8,"
      "\"gpus_per_node\":8}]},\"kai\":{\"queues\":[{\"name\":\"q\"," FREE ",\"cpu\":{\"limit\":8000}}],"
      "\"topology\":\"dc\",\"scheduler\":{\"stale_gang_grace_s\":5,\"k_value\":2}}}";
  static const char *const words[] = {"'stale_gang_grace_s' has no effect", "'k_value' has no effect without 'usage'",
                                      "CPU and memory have no effect", "'topology' has no effect"};
  struct hr_scenario *scenario = load_text(text);
  CU_ASSERT_EQUAL_FATAL(scenario->notes.count, 4);
  for (size_t i = 0; i < 4; i++) CU_ASSERT_PTR_NOT_NULL(strstr(scenario->notes.text[i], words[i]));
  hr_scenario_destroy(scenario);
}

/* With per-GPU allocation, jobs request CPU and memory. A queue without a limit for these cannot use any. */
static void missing_limits_are_noted(void) {
  static const char *const text =
      "{\"policy\":{\"name\":\"kai\"},\"cluster\":{\"by_gpu\":true,\"pools\":[{\"name\":\"p\",\"gpu\":\"H100\","
      "\"nodes\":8,\"gpus_per_node\":8}]},\"kai\":{\"queues\":[{\"name\":\"q\"," FREE "}]}}";
  struct hr_scenario *scenario = load_text(text);
  CU_ASSERT_EQUAL_FATAL(scenario->notes.count, 2);
  CU_ASSERT_PTR_NOT_NULL(strstr(scenario->notes.text[0], "no 'cpu.limit'; as in KAI, it may use no CPUs"));
  CU_ASSERT_PTR_NOT_NULL(strstr(scenario->notes.text[1], "no 'memory.limit'; as in KAI, it may use no memory"));
  hr_scenario_destroy(scenario);
}

static const char *const bad[][2] = {
    {KAI("\"queues\":[{\"name\":\"a\"},\n{\"name\":\"a\"}]"), "s.json:3:9: duplicate queue 'a'; each queue needs one"},
    {KAI("\"queues\":[{\"name\":\"a\",\n\"parent\":\"b\"}]"),
     "s.json:3:10: no queue 'b'; an entry of 'kai.queues' is expected"},
    {KAI("\"queues\":[{\"name\":\"a\",\"parent\":\"c\"},{\"name\":\"b\",\"parent\":\"c\"},\n{\"name\":\"c\","
         "\"parent\":\"b\"}]"),
     "s.json:3:22: queue 'c' is its own ancestor; its parent must not be below it"},
    {KAI("\"queues\":[{\"name\":\"a\",\"gpu\":{\n\"quota\":-0.5}}]"),
     "s.json:3:9: -0.5 is negative; -1 or 0 is allowed"},
    {KAI("\"queues\":[{\"name\":\"a\",\"cpu\":{\n\"limit\":-2}}]"),
     "s.json:3:9: 'kai.queues.0.cpu.limit' is -2; a number from -1 to 1000000000000 is expected"},
    {KAI("\"queues\":[{\"name\":\"a\",\"gpus\":{}}]"),
     "s.json:2:23: unknown key 'kai.queues.0.gpus'; did you mean 'kai.queues.0.gpu'? (..."},
    {KAI("\"queues\":[{\"name\":\"a\"}],\n\"default_queue\":\"b\""), "s.json:3:17: no queue 'b'; see 'kai.queues'"},
    {KAI("\"queues\":[{\"name\":\"a\"},{\"name\":\"b\",\"parent\":\"a\"}],\n\"default_queue\":\"a\""),
     "s.json:3:17: queue 'a' has queues below it; it takes no jobs"},
    {KAI("\"priority_classes\":[{\"name\":\"a\",\"value\":1},\n{\"name\":\"a\",\"value\":2}]"),
     "s.json:3:9: duplicate priority class 'a'; use a different name"},
    {KAI("\"priority_classes\":[{\"name\":\"a\",\"value\":1},\n{\"name\":\"b\",\"value\":1,\"preemptible\":false}]"),
     "s.json:3:21: the classes 'a' and 'b' have the same value; 'preemptible' must be equal"},
};

static void invalid_sections_are_rejected(void) {
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    write_text(bad[i][0]);
    expect_error(NULL, 0, bad[i][1]);
  }
}

TEST_MAIN("scenarios_kai_section", TEST(create_test_folder), TEST(defaults_are_those_of_kai), TEST(queues_are_a_tree),
          TEST(keys_without_effect_are_noted), TEST(missing_limits_are_noted), TEST(invalid_sections_are_rejected),
          TEST(remove_test_folder))
