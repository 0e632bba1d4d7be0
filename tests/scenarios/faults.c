/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `faults` of pools and of the cluster: the stored values, and the position and key words of each error. */

#include "headroom/unstable/faults.h"
#include "loading.h"

#include <string.h>

#define HEAD                                                                                                           \
  "{\"policy\":{\"name\":\"queue\"},\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"T4\",\"nodes\":4,"               \
  "\"gpus_per_node\":2"
/* A scenario with one pool. Its failures are on the second line. */
#define FAULTS(members) HEAD ",\n\"faults\":{" members "}}]}}"
#define FAULTS_OF(market, members)                                                                                     \
  HEAD ",\"usd_per_gpu_hour\":1,\"market\":\"" market "\",\n\"faults\":{" members "}}]}}"
/* The same with maintenance on the second line. */
#define SERVED(windows) HEAD ",\n\"maintenance\":[" windows "]}]}}"
#define WINDOW(members) "{\"start_s\":1000,\"duration_s\":600" members "}"
#define RATE "\"mtbf_h\":10,"
#define REPAIR "\"repair_s\":60"

static const struct hr_fault_spec *spec_of(const struct hr_scenario *scenario) {
  CU_ASSERT_FATAL(scenario->cluster.n_pools == 1 && scenario->cluster.pools[0].faults != NULL);
  return scenario->cluster.pools[0].faults;
}

static void keys_are_stored(void) {
  write_text(FAULTS("\"per_1000_node_days\":5,\"clock\":\"busy\",\"start\":\"fresh\",\"crew\":3,"
                    "\"bad_nodes\":{\"share\":0.1,\"factor\":4},"
                    "\"classes\":[{\"name\":\"a\",\"share\":2,\"detect_s\":7,\"repair_s\":9},"
                    "{\"name\":\"b\",\"share\":1,\"repair\":{\"distribution\":\"exponential\",\"mean_s\":11}}],"
                    "\"groups\":[{\"tier\":\"pool\",\"mtbf_h\":2,\"repair_s\":1}]"));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_fault_spec *spec = spec_of(scenario);
  CU_ASSERT_EQUAL_FATAL(spec->n_processes, 2);
  const struct hr_fault_process *nodes = &spec->processes[0], *group = &spec->processes[1];
  CU_ASSERT_EQUAL(spec->crew, 3);
  CU_ASSERT(nodes->unit == HR_TIER_NODE && nodes->clock == HR_FAULT_CLOCK_BUSY && nodes->fresh);
  CU_ASSERT(nodes->between.kind == HR_DURATION_EXPONENTIAL);
  CU_ASSERT_DOUBLE_EQUAL(nodes->between.a, 200 * 86400.0, 1e-6);
  CU_ASSERT(nodes->bad_share == 0.1 && nodes->bad_factor == 4);
  CU_ASSERT_EQUAL_FATAL(nodes->n_classes, 2);
  CU_ASSERT(nodes->classes[0].share == 2 && nodes->classes[0].detect.a == 7 && nodes->classes[0].repair.a == 9);
  CU_ASSERT(nodes->classes[1].repair.kind == HR_DURATION_EXPONENTIAL && nodes->classes[1].repair.a == 11);
  CU_ASSERT(group->unit == HR_TIER_POOL && !group->fresh && group->between.a == 7200 && group->only.repair.a == 1);
  hr_scenario_destroy(scenario);
}

/* Groups of a number of nodes or racks, and parts of nodes. */
static void groups_have_sizes(void) {
  write_text(HEAD ",\"topology\":{\"nodes_per_rack\":2,\"island_gpus\":1},\n\"faults\":{\"groups\":["
                  "{\"name\":\"power\",\"racks\":3," RATE REPAIR "},{\"nodes\":3," RATE REPAIR "},"
                  "{\"tier\":\"island\"," RATE REPAIR "},{\"tier\":\"rack\"," RATE REPAIR "}]}}]}}");
  static const struct hr_fault_units expected[] = {{1, 6, 1}, {2, 3, 1}, {8, 1, 2}, {2, 2, 1}};
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_fault_spec *spec = spec_of(scenario);
  CU_ASSERT_EQUAL_FATAL(spec->n_processes, 4);
  for (uint32_t i = 0; i < 4; i++) {
    const struct hr_fault_units units = hr_fault_units_of(&spec->processes[i], &scenario->cluster.pools[0]);
    CU_ASSERT_EQUAL(units.count, expected[i].count);
    CU_ASSERT_EQUAL(units.nodes, expected[i].nodes);
    CU_ASSERT_EQUAL(units.per_node, expected[i].per_node);
  }
  CU_ASSERT_STRING_EQUAL(spec->processes[0].name, "power");
  CU_ASSERT_PTR_NULL(spec->processes[1].name);
  hr_scenario_destroy(scenario);
}

/* A pool without the key has the failures of the cluster; with a rate of 0 it has none. */
static void the_cluster_has_defaults(void) {
  write_text(HEAD "}],\"faults\":{" RATE REPAIR "}}}");
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_EQUAL(spec_of(scenario)->n_processes, 1);
  CU_ASSERT(hr_scenario_is_random(scenario));
  hr_scenario_destroy(scenario);
  write_text(HEAD ",\"faults\":{\"per_1000_node_days\":0}}],\"faults\":{" RATE REPAIR "}}}");
  scenario = load(NULL, 0);
  CU_ASSERT_EQUAL(spec_of(scenario)->n_processes, 0);
  CU_ASSERT(!hr_scenario_is_random(scenario));
  hr_scenario_destroy(scenario);
}

static void maintenance_is_stored(void) {
  write_text(SERVED(WINDOW(",\"name\":\"bios\",\"every_weeks\":2,\"lead_s\":60,\"nodes_per_group\":2,"
                           "\"drain\":\"migrate\",\"max_unavailable\":\"55%\"")));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_pool_spec *pool = &scenario->cluster.pools[0];
  CU_ASSERT_EQUAL_FATAL(pool->n_maintenance, 1);
  const struct hr_maintenance *window = &pool->maintenance[0];
  CU_ASSERT_STRING_EQUAL(window->name, "bios");
  CU_ASSERT(window->start_us == 1000 * HR_SECOND_US && window->duration_us == 600 * HR_SECOND_US);
  CU_ASSERT(window->lead_us == 60 * HR_SECOND_US && window->repeat_us == 14 * 86400 * HR_SECOND_US);
  CU_ASSERT(window->group_nodes == 2 && window->drain == HR_DRAIN_MIGRATE);
  CU_ASSERT_EQUAL(window->max_unavailable, 3); /* 2.2, rounded up */
  hr_scenario_destroy(scenario);
  write_text(HEAD "}],\"maintenance\":[" WINDOW() "]}}");
  scenario = load(NULL, 0);
  pool = &scenario->cluster.pools[0];
  CU_ASSERT_FATAL(pool->n_maintenance == 1);
  CU_ASSERT(pool->maintenance[0].group_nodes == 4 && pool->maintenance[0].max_unavailable == HR_NONE);
  CU_ASSERT(!hr_scenario_is_random(scenario));
  hr_scenario_destroy(scenario);
}

static void write_log(const char *text) {
  FILE *file = fopen("log.csv", "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
}

/* Nodes are numbered in the order of their first rows, overlapping failures of a node are joined, and the first failure
   is at the beginning of the run. */
static void logs_are_replayed(void) {
  write_log("system,node,start,fixed\n2,a,1000,1060\n3,z,5,6\n2,b,1030,1040\n2,a,1050,1100\n2,,1,2\n");
  write_text(FAULTS("\"log\":{\"file\":\"log.csv\",\"system\":\"2\"},\"spares\":1,\"activation_s\":5,"
                    "\"slow\":{\"between_h\":1,\"length_s\":60,\"speed\":0.5}"));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_fault_spec *spec = spec_of(scenario);
  CU_ASSERT_EQUAL_FATAL(spec->n_processes, 1);
  const struct hr_fault_process *process = &spec->processes[0];
  CU_ASSERT_EQUAL_FATAL(process->n_replays, 2);
  CU_ASSERT(process->replays[0].node == 0 && process->replays[0].at_us == 0);
  CU_ASSERT_EQUAL(process->replays[0].down_us, 100 * HR_SECOND_US);
  CU_ASSERT(process->replays[1].node == 1 && process->replays[1].at_us == 30 * HR_SECOND_US);
  CU_ASSERT(spec->spares == 1 && spec->activation_us == 5 * HR_SECOND_US);
  CU_ASSERT(spec->slow.between.a == 3600 && spec->slow.length.a == 60 && spec->slow.speed_ppm == 500000);
  hr_scenario_destroy(scenario);
}

static void logs_are_distributions(void) {
  write_log("node,start,end\na,0,3600\na,7200,9000\na,18000,18000\n");
  write_text(FAULTS("\"recorded\":{\"file\":\"log.csv\"}"));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_fault_process *process = &spec_of(scenario)->processes[0];
  CU_ASSERT(process->recorded_between.n_values == 2 && process->recorded_between.mean_s == 9000);
  CU_ASSERT(process->recorded_repair.n_values == 2 && process->recorded_repair.mean_s == 2700);
  hr_scenario_destroy(scenario);
  write_text(FAULTS("\"between_h\":[1,2],\"repair_h\":[0.5]"));
  scenario = load(NULL, 0);
  process = &spec_of(scenario)->processes[0];
  CU_ASSERT(process->recorded_between.mean_s == 5400 && process->recorded_repair.mean_s == 1800);
  hr_scenario_destroy(scenario);
}

static void bad_logs_are_errors(void) {
  static const char *const cases[][3] = {
      {"host,time\nx,1\n", "\"log\":{\"file\":\"log.csv\"}",
       "s.json:2:25: log.csv:1: no known log of failures; expected the columns node,start,end (or fixed), "
       "node,state,start_unix,end_unix, state,quantile,seconds or failure_interval,failure_duration; found "
       "'host,time'"},
      {"node,start,end\nx,1,later\n", "\"log\":{\"file\":\"log.csv\"}",
       "s.json:2:25: log.csv:2: column 'end': expected a date such as 2005-06-21T10:54, or seconds of at least 0, "
       "found "
       "'later'"},
      {"state,quantile,seconds\nup,0,1\nup,1,2\n", "\"log\":{\"file\":\"log.csv\"}",
       "s.json:2:25: log.csv: no failures with a node and an end; a log of quantiles cannot be replayed"},
      {"system,node,start,end\n7,x,1,2\n", "\"log\":{\"file\":\"log.csv\",\"system\":\"8\"}",
       "s.json:2:25: log.csv: no system '8'"},
      {"node,start,end\nx,1,2\n", "\"recorded\":{\"file\":\"log.csv\"}",
       "s.json:2:30: the log has no times between failures of nodes"},
      {"node,start,end\nx,1,2\n", "\"log\":{\"file\":\"log.csv\"},\"crew\":2",
       "s.json:2:17: 'log' replays failures; 'crew', 'bad_nodes' and 'classes' do not apply"},
      {"", "\"mtbf_h\":10,\"repair_s\":60,\"spares\":4", "s.json:2:46: all 4 nodes of pool 'p' would be spares"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1000];
    write_log(cases[i][0]);
    snprintf(text, sizeof text, HEAD ",\n\"faults\":{%s}}]}}", cases[i][1]);
    write_text(text);
    expect_error(NULL, 0, cases[i][2]);
  }
  CU_ASSERT_EQUAL(remove("log.csv"), 0);
}

static void errors_have_a_place(void) {
  static const char *const cases[][2] = {
      {FAULTS(REPAIR), "s.json:2:10: 'per_1000_node_days', 'mtbf_h' or 'between' is missing"},
      {SERVED(WINDOW() "," WINDOW(",\"name\":\"b\"")), "s.json:2:50: maintenance 'b' overlaps 'number 1' in pool 'p'"},
      {SERVED(WINDOW(",\"every_days\":0.01,\"nodes_per_group\":1")),
       "s.json:2:16: maintenance overlaps its own repetition in pool 'p': it takes 0.0277778 days, with lead time"},
      {SERVED(WINDOW(",\"every_days\":1,\"every_weeks\":1")), "s.json:2:78: 'every_days' and 'every_weeks' exclude"},
      {SERVED(WINDOW(",\"max_unavailable\":\"x\"")),
       "s.json:2:67: 'max_unavailable' is 'x'; a whole number of nodes or a share such as 25% is expected"},
      {SERVED(WINDOW(",\"max_unavailable\":1")),
       "s.json:2:67: groups of 4 nodes never keep the limit of 1 nodes; use a smaller 'nodes_per_group'"},
      {SERVED("{\"start_s\":5}"), "s.json:2:16: 'cluster.pools.0.maintenance.0' lacks the key 'duration_s'; a number "
                                  "from 1 to 100000000000 is expected"},
      {FAULTS("\"mtbf_h\":10"), "s.json:2:10: failures need 'repair_s' 'repair'"},
      {FAULTS("\"mtbf_h\":-1," REPAIR), "s.json:2:20: 'cluster.pools.0.faults.mtbf_h' is the number -1; a number from "
                                        "0.000278 to 1000000000 is expected"},
      {FAULTS(RATE "\"per_1000_node_days\":1," REPAIR), "s.json:2:20: 'per_1000_node_days' and 'mtbf_h' exclude"},
      {FAULTS("\"between\":{\"distribution\":\"fixed\",\"mean_s\":0.36}," REPAIR),
       "s.json:2:21: the mean time between failures is 0.36 s"},
      {FAULTS(RATE REPAIR ",\"repair\":{\"distribution\":\"fixed\",\"mean_s\":1}"),
       "s.json:2:46: 'repair_s' and 'repair' exclude each other"},
      {FAULTS(RATE "\"repair\":{\"distribution\":\"weibull\",\"shape\":1}"),
       "s.json:2:32: a distribution 'weibull' needs 'shape' and 'scale_s'"},
      {FAULTS(RATE REPAIR ",\"classes\":[{\"name\":\"a\",\"share\":1," REPAIR "}]"),
       "s.json:2:34: 'repair_s' has no effect beside 'classes'"},
      {FAULTS(RATE "\"classes\":[{\"name\":\"a\",\"share\":0," REPAIR "}]"),
       "s.json:2:33: the shares of the classes add up to 0; one must be above 0"},
      {FAULTS("\"groups\":[{\"tier\":\"rack\"," RATE REPAIR "}]"),
       "s.json:2:29: the topology of pool 'p' has no tier 'rack'"},
      {FAULTS("\"groups\":[{\"racks\":2," RATE REPAIR "}]"),
       "s.json:2:30: the topology of pool 'p' has no tier 'rack'"},
      {FAULTS("\"groups\":[{\"tier\":\"island\"," RATE REPAIR "}]"),
       "s.json:2:29: the topology of pool 'p' has no tier 'island'"},
      {FAULTS("\"groups\":[{\"tier\":\"pool\",\"nodes\":2," RATE REPAIR "}]"),
       "s.json:2:44: 'tier' and 'nodes' exclude each other"},
      {FAULTS("\"groups\":[{" RATE REPAIR "}]"),
       "s.json:2:21: 'tier', 'nodes' or 'racks' is missing: what fails as one"},
      {FAULTS_OF("on-demand", RATE "\"crew\":2"), "s.json:2:30: nodes of the market on-demand are not repaired"},
      {FAULTS_OF("on-demand", "\"groups\":[{\"tier\":\"pool\"," RATE REPAIR "}]"),
       "s.json:2:21: groups of nodes that fail together need a pool whose nodes are not replaced; the market on-demand "
       "of pool "
       "'p'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(cases[i][0]);
    expect_error(NULL, 0, cases[i][1]);
  }
}

static void placement_by_pool_is_refused(void) {
  write_text("{\"policy\":{\"name\":\"queue\",\n\"placement\":\"pool\"},\"cluster\":{\"pools\":[{\"name\":\"p\","
             "\"gpu\":\"T4\",\"nodes\":4,\"gpus_per_node\":2,\"faults\":{" RATE REPAIR "}}]}}");
  expect_error(NULL, 0,
               "s.json:2:13: the placement 'pool' counts GPUs, but nodes of pool 'p' (faults) may be unavailable");
}

TEST_MAIN("Failures in scenarios", TEST(create_test_folder), TEST(keys_are_stored), TEST(groups_have_sizes),
          TEST(the_cluster_has_defaults), TEST(maintenance_is_stored), TEST(logs_are_replayed),
          TEST(logs_are_distributions), TEST(bad_logs_are_errors), TEST(errors_have_a_place),
          TEST(placement_by_pool_is_refused), TEST(remove_test_folder))
