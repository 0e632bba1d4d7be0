/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loading scenarios: the values of valid files, overrides, and the position and key words of each error. */

#include "headroom/unstable/catalog.h"
#include "loading.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Valid files ------------------------------------------------------------------------------------ */

#define POOL "{\"name\":\"p\",\"gpu\":\"V100\",\"nodes\":4,\"gpus_per_node\":8}"
#define CLUSTER "\"cluster\":{\"pools\":[" POOL "]}"
#define POLICY "\"policy\":{\"name\":\"queue\"}"
static const char minimal[] = "{" CLUSTER "," POLICY "}";

static void min_file_has_defaults(void) {
  write_text(minimal);
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_STRING_EQUAL(scenario->path, file_name);
  CU_ASSERT_STRING_EQUAL(scenario->name, "s");
  CU_ASSERT_STRING_EQUAL(scenario->description, "");
  CU_ASSERT_PTR_NULL(scenario->trace_file);
  CU_ASSERT_STRING_EQUAL(scenario->trace_format, "auto");
  CU_ASSERT_EQUAL(scenario->columns.count, 0);
  CU_ASSERT_FALSE(scenario->lenient);
  CU_ASSERT_EQUAL(scenario->seed, 1);
  CU_ASSERT_EQUAL(scenario->horizon_us, HR_NEVER_US);
  CU_ASSERT_EQUAL(hr_cluster_spec_gpus(&scenario->cluster), 32);
  CU_ASSERT_STRING_EQUAL(scenario->policy.ops->name, "queue");
  hr_scenario_destroy(scenario);
}

static void every_key_is_read(void) {
  write_text("\xef\xbb\xbf{\"$schema\":\"x\",\"name\":\"n\",\"description\":\"d\",\"trace\":{\"file\":\"t/a.csv\","
             "\"format\":\"csv\",\"columns\":{\"submit\":\"arrival\"},\"lenient\":true},\"cluster\":{\"pools\":["
             "{\"name\":\"a\",\"gpu\":\"T4\",\"nodes\":2,\"gpus_per_node\":1,\"cpu_per_node\":1.5,"
             "\"mem_gb_per_node\":0.5}," POOL "]},\"policy\":{\"name\":\"queue\",\"order\":\"sjf\",\"backfill\":"
             "\"easy\",\"placement\":\"pool\"},\"seed\":9007199254740992,\"horizon_s\":0.25}");
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_STRING_EQUAL(scenario->name, "n");
  CU_ASSERT_STRING_EQUAL(scenario->description, "d");
  CU_ASSERT_STRING_EQUAL(scenario->trace_file, "t/a.csv");
  CU_ASSERT_STRING_EQUAL(scenario->trace_format, "csv");
  CU_ASSERT_EQUAL_FATAL(scenario->columns.count, 1);
  CU_ASSERT_STRING_EQUAL(scenario->columns.entry[0].field, "submit");
  CU_ASSERT_STRING_EQUAL(scenario->columns.entry[0].column, "arrival");
  CU_ASSERT_TRUE(scenario->lenient);
  CU_ASSERT_EQUAL_FATAL(scenario->cluster.n_pools, 2);
  const struct hr_pool_spec *pool = &scenario->cluster.pools[0];
  CU_ASSERT_STRING_EQUAL(pool->name, "a");
  CU_ASSERT_STRING_EQUAL(pool->gpu, "T4");
  CU_ASSERT_EQUAL(pool->cpu_milli_per_node, 1500);
  CU_ASSERT_EQUAL(pool->mem_mib_per_node, 512);
  CU_ASSERT_EQUAL(scenario->seed, UINT64_C(9007199254740992));
  CU_ASSERT_EQUAL(scenario->horizon_us, 250000);
  char buffer[32];
  CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&scenario->policy, 0, buffer), "sjf");
  CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&scenario->policy, 1, buffer), "easy");
  CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&scenario->policy, 2, buffer), "pool");
  hr_scenario_destroy(scenario);
}

static void expect_trace(const char *scenario_path, const char *override, const char *expected) {
  struct hr_scenario *scenario;
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(scenario_path, &override, override != NULL, &scenario, NULL), HR_OK);
  if (strcmp(scenario->trace_file, expected) != 0) printf("\n  %s, not %s\n", scenario->trace_file, expected);
  CU_ASSERT_STRING_EQUAL(scenario->trace_file, expected);
  hr_scenario_destroy(scenario);
}

static void trace_is_relative_to_the_scenario(void) {
  mkdir("deep", 0777);
  FILE *file = fopen("deep/d.json", "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fprintf(file, "{\"trace\":{\"file\":\"t.csv\"},%s,%s}", CLUSTER, POLICY);
  fclose(file);
  CU_ASSERT_EQUAL(symlink("deep", "link"), 0);
  expect_trace("deep/d.json", NULL, "deep/t.csv");
  expect_trace("deep/d.json", "trace.file=/abs/t.csv", "/abs/t.csv");
  expect_trace("deep/d.json", "trace.file=../t.csv", "t.csv");
  expect_trace("deep/d.json", "trace.file=../../t.csv", "../t.csv");
  expect_trace("./deep/d.json", "trace.file=../x/t.csv", "./x/t.csv");
  expect_trace("deep/../deep/d.json", "trace.file=../../t.csv", "deep/../../t.csv");
  expect_trace("link/d.json", "trace.file=../t.csv", "link/../t.csv"); /* link/.. may be another folder */
}

static void nodes_come_from_a_file(void) {
  FILE *file = fopen("nodes.csv", "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs("sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,64000,262144,2,P100\nn2,96000,393216,8,G2\n",
        file);
  fclose(file);
  write_text("{\"cluster\":{\"nodes_file\":\"nodes.csv\"}," POLICY "}");
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_EQUAL(scenario->cluster.n_pools, 2);
  CU_ASSERT_EQUAL(hr_cluster_spec_gpus(&scenario->cluster), 12);
  hr_scenario_destroy(scenario);
}

#define TWO_POOLS                                                                                                      \
  "{\"name\":\"a*2\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":1},"                                               \
  "{\"name\":\"b\",\"gpu\":\"V100\",\"nodes\":4,\"gpus_per_node\":1}"

/* Each file of 'catalog' is read: a missing one is an error. */
static void files_of_the_catalogue_are_read(void) {
#define FILE_KEY(id, name, ...) "catalog." #name "_file=none.csv",
  static const char *const overrides[] = {HR_CATALOG_TABLES(FILE_KEY)};
#undef FILE_KEY
  write_text(minimal);
  for (size_t i = 0; i < sizeof overrides / sizeof *overrides; i++)
    expect_error(&overrides[i], 1, "none.csv: cannot be read: No such file or directory");
}

/* The first pool has nodes 0 and 1; its name looks like an entry POOL*COUNT. The second pool has nodes 2 to 5. Nodes
   that are not listed are last in the order. If an entry requests more nodes than its pool has left, it gets all of
   these. */
static void node_order_is_read(void) {
  static const struct {
    const char *runs;
    uint32_t places[6];
  } cases[] = {{"\"b*2\",\"a*2\",\"b\"", {2, 4, 0, 1, 3, 5}},
               {"\"a*2*2\",\"b*9\"", {0, 1, 2, 3, 4, 5}},
               {"\"b*9\",\"b\"", {4, 5, 0, 1, 2, 3}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1000];
    snprintf(text, sizeof text, "{\"cluster\":{\"pools\":[" TWO_POOLS "],\"node_order\":[%s]}," POLICY "}",
             cases[i].runs);
    write_text(text);
    struct hr_scenario *scenario = load(NULL, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(scenario->cluster.node_order);
    for (uint32_t node = 0; node < 6; node++)
      CU_ASSERT_EQUAL(scenario->cluster.node_order[node], cases[i].places[node]);
    hr_scenario_destroy(scenario);
  }
}

static void overrides_change_and_add(void) {
  static const char *const overrides[] = {"cluster.pools.0.nodes=56",
                                          "policy.order=sjf",
                                          "policy.order=largest",
                                          "name=5",
                                          "horizon_s=60",
                                          "trace.format=\"azure-llm:decode=5\"",
                                          "trace.columns.gpus=a=b.c",
                                          "trace.lenient=true",
                                          "seed=18446744073709551615"};
  write_text(minimal);
  struct hr_scenario *scenario = load(overrides, sizeof overrides / sizeof *overrides);
  char buffer[32];
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].nodes, 56);
  CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&scenario->policy, 0, buffer), "largest");
  CU_ASSERT_STRING_EQUAL(scenario->name, "5");
  CU_ASSERT_EQUAL(scenario->horizon_us, 60 * HR_SECOND_US);
  CU_ASSERT_STRING_EQUAL(scenario->trace_format, "azure-llm:decode=5");
  CU_ASSERT_EQUAL_FATAL(scenario->columns.count, 1);
  CU_ASSERT_STRING_EQUAL(scenario->columns.entry[0].column, "a=b.c");
  CU_ASSERT_TRUE(scenario->lenient);
  CU_ASSERT_EQUAL(scenario->seed, UINT64_MAX);
  hr_scenario_destroy(scenario);
}

/* Asserts the values of the first three parameters of the policy after the overrides. */
static void expect_policy(const char *policy, const char *const *overrides, size_t count, const char *order,
                          const char *backfill, const char *placement) {
  char text[500], buffer[32];
  snprintf(text, sizeof text, "{%s,\"policy\":%s}", CLUSTER, policy);
  write_text(text);
  struct hr_scenario *scenario = load(overrides, count);
  CU_ASSERT_STRING_EQUAL(scenario->policy.ops->name, "queue");
  CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&scenario->policy, 0, buffer), order);
  CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&scenario->policy, 1, buffer), backfill);
  CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&scenario->policy, 2, buffer), placement);
  hr_scenario_destroy(scenario);
}

/* A name of a policy setting changes only the parameters of this setting. Parameters of the same file or the same
   overrides have precedence. */
static void names_of_policy_settings(void) {
  static const char *const sjf[] = {"policy.name=sjf"}, *const easy[] = {"policy.name=easy"};
  static const char *const both[] = {"policy.name=sjf", "policy.backfill=easy"};
  static const char *const queue[] = {"policy.name=queue"};
  static const char own[] = "{\"name\":\"queue\",\"order\":\"largest\",\"placement\":\"pool\"}";
  expect_policy("{\"name\":\"sjf\",\"placement\":\"pool\"}", NULL, 0, "sjf", "strict", "pool");
  expect_policy("{\"name\":\"sjf\",\"order\":\"smallest\"}", NULL, 0, "smallest", "strict", "best-fit");
  expect_policy(own, sjf, 1, "sjf", "strict", "pool");
  expect_policy(own, easy, 1, "largest", "easy", "pool");
  expect_policy(own, both, 2, "sjf", "easy", "pool");
  expect_policy("{\"name\":\"easy\"}", sjf, 1, "sjf", "easy", "best-fit");
  expect_policy("{\"name\":\"easy\",\"backfill\":\"skip\"}", queue, 1, "fifo", "skip", "best-fit");
  expect_policy("{\"name\":\"easy\",\"backfill\":\"skip\"}", easy, 1, "fifo", "easy", "best-fit");
}

/* ---- Bad values ------------------------------------------------------------------------------------- */

#define KNOWN_TOP                                                                                                      \
  "(known keys: $schema, name, description, trace, catalog, cluster, classes, models, network_speeds, scaling, "       \
  "costs, quotas, "                                                                                                    \
  "policy, alerts, replications, plan, seed, "                                                                         \
  "horizon_s)"
#define KNOWN_POOL "(known keys: name, gpu, nodes, gpus_per_node, ..."
#define POOL_WITH(nodes, gpus) "{\"name\":\"p\",\"gpu\":\"V100\",\"nodes\":" nodes ",\"gpus_per_node\":" gpus "}"
#define WITH_POOL(pool) "{" POLICY ",\n\"cluster\":{\"pools\":[\n  " pool "]}}"
#define WITH_POLICY(members) "{" CLUSTER ",\n \"policy\":{" members "}}"
#define WITH(member) "{" CLUSTER "," POLICY ",\n" member "}"

static const struct {
  const char *text, *error;
} bad_values[] = {
    {"[]", "s.json:1:1: the scenario is an empty list; an object {...} of at most 1000 keys is expected"},
    {"{}", "s.json:1:1: the scenario lacks the key 'cluster'; an object {...} of at most 1000 keys is expected"},
    {"{" CLUSTER "}",
     "s.json:1:1: the scenario lacks the key 'policy'; an object {...} of at most 1000 keys is expected"},
    {"{\n" CLUSTER ",\n  \"polcy\":{}}", "s.json:3:3: unknown key 'polcy'; did you mean 'policy'? " KNOWN_TOP},
    {WITH("\"Name\":\"x\""), "s.json:2:1: unknown key 'Name'; did you mean 'name'? " KNOWN_TOP},
    {WITH("\"colour_of_cables\":1"), "s.json:2:1: unknown key 'colour_of_cables' " KNOWN_TOP},
    {WITH("\"seed\":1,\n\"seed\":2"), "s.json:3:1: duplicate key 'seed'"},
    {WITH_POLICY("\"name\":\"queue\",\n\"order\":\"sjf\",\"order\":\"fifo\""), "s.json:3:15: duplicate key 'order'"},
    {WITH("\"name\":\"\""), "s.json:2:8: 'name' is the text \"\"; a text \"...\" of 1 to 200 bytes is expected"},
    {WITH("\"name\":null"), "s.json:2:8: 'name' is null; a text \"...\" of 1 to 200 bytes is expected"},
    {WITH("\"trace\":\"a.csv\""),
     "s.json:2:9: 'trace' is the text \"a.csv\"; an object {...} of at most 1000 keys is expected"},
    {WITH("\"trace\":{\"lenient\":\"yes\"}"),
     "s.json:2:20: 'trace.lenient' is the text \"yes\"; true or false is expected"},
    {WITH("\"trace\":{\"format\":\"cvs\"}"),
     "s.json:2:19: unknown trace format 'cvs'; did you mean 'csv'? (known: auto, csv, swf, philly, openb, "
     "sacct, kubernetes, philly-log, helios, pai2020, spot2026, acme, gavel, azure-llm, batsim, gaia, "
     "lets-wait-awhile, packed)"},
    {WITH("\"seed\":-1"),
     "s.json:2:8: 'seed' is the number -1; a whole number from 0 to 9007199254740992, or the digits "
     "of one up to 18446744073709551615 as text, is expected"},
    {WITH("\"seed\":\"18446744073709551616\""), "s.json:2:8: 'seed' is the text \"18446744073709551616\"; a whole "
                                                "number from 0 to 9007199254740992, or the digits "
                                                "of one up to 18446744073709551615 as text, is expected"},
    {WITH("\"seed\":1.5"), "s.json:2:8: 'seed' is the number 1.5; a whole number from 0 to 9007199254740992, or the "
                           "digits of one up to 18446744073709551615 as text, is expected"},
    {WITH("\"horizon_s\":0"),
     "s.json:2:13: 'horizon_s' is the number 0; a number from 1e-06 to 100000000000 is expected"},
    {WITH("\"horizon_s\":1e999"),
     "s.json:2:13: 'horizon_s' is a number beyond all bounds; a number from 1e-06 to 100000000000 is expected"},
    {WITH_POOL(POOL_WITH("-1", "8")),
     "s.json:3:36: 'cluster.pools.0.nodes' is the number -1; a whole number from 0 to 16000000 is expected"},
    {WITH_POOL(POOL_WITH("\"8\"", "8")),
     "s.json:3:36: 'cluster.pools.0.nodes' is the text \"8\"; a whole number from 0 to 16000000 is expected"},
    {WITH_POOL(POOL_WITH("16000001", "8")),
     "s.json:3:36: 'cluster.pools.0.nodes' is the number 16000001; a whole number from 0 to 16000000 is expected"},
    {WITH_POOL(POOL_WITH("1", "0")),
     "s.json:3:54: 'cluster.pools.0.gpus_per_node' is the number 0; a whole number from 1 to 4000000 is expected"},
    {WITH_POOL(POOL_WITH("1000000", "8")), "s.json:2:20: a cluster of 1000000 nodes and 8000000 GPUs is too large; at "
                                           "most 16000000 nodes and 4000000 GPUs"},
    {WITH_POOL(POOL ",\n  " POOL), "s.json:4:11: duplicate pool 'p'; each pool needs a name of its own"},
    {WITH_POOL("{\"name\":\"p\",\"gpu\":\"V100\",\"nods\":1,\"gpus_per_node\":8}"),
     "s.json:3:28: unknown key 'cluster.pools.0.nods'; did you mean 'cluster.pools.0.nodes'? " KNOWN_POOL},
    {WITH_POOL("{\"name\":\"p\",\"gpu\":\"V100\",\"nodes\":1}"),
     "s.json:3:3: 'cluster.pools.0' lacks the key 'gpus_per_node', or 'provider' and 'instance' for the catalogue"},
    {WITH_POOL(""), "s.json:2:20: 'cluster.pools' is an empty list; a list of 1 to 1024 entries is expected"},
    {"{" POLICY ",\"cluster\":{}}",
     "s.json:1:38: 'cluster' lacks 'pools' (or 'nodes_file', a file that lists the nodes)"},
    {"{" POLICY ",\"cluster\":{\"pools\":[" POOL "],\"nodes_file\":\"n\"}}",
     "s.json:1:38: 'cluster' has both 'pools' and 'nodes_file'; one of them is expected"},
    {"{" POLICY ",\"cluster\":{\"nodes_file\":\"n\",\"node_order\":[\"p\"]}}",
     "s.json:1:69: 'nodes_file' has an order of its own; leave one of them out"},
    {"{" POLICY ",\"cluster\":{\"pools\":[" POOL "],\n\"node_order\":[\"p\",\n\"q*2\"]}}",
     "s.json:3:1: 'q*2' is not a run of nodes; POOL or POOL*COUNT is expected, with a pool of 'pools'"},
    {"{" POLICY ",\"cluster\":{\"pools\":[" POOL "],\n\"node_order\":[\"p*0\"]}}",
     "s.json:2:15: 'p*0' is not a run of nodes; POOL or POOL*COUNT is expected, with a pool of 'pools'"},
    {"{" POLICY ",\"cluster\":{\"pools\":[" POOL "],\n\"node_order\":[]}}",
     "s.json:2:14: 'cluster.node_order' is an empty list; a list of 1 to 100000 entries is expected"},
    {WITH_POLICY(""), "s.json:2:11: 'policy' lacks the key 'name'; a text \"...\" of 1 to 10000 bytes is expected"},
    {WITH_POLICY("\"name\":\"quue\""), "s.json:2:19: unknown policy 'quue'; did you mean 'queue'? (known: queue, ..."},
    {WITH_POLICY("\"name\":\"queue\",\n\"ordr\":\"sjf\""),
     "s.json:3:1: unknown key 'policy.ordr'; did you mean 'policy.order'? (known keys: name, order, backfill, "
     "placement..."},
    {WITH_POLICY("\"name\":\"queue\",\n\"order\":\"sfj\""),
     "s.json:3:9: parameter 'order': 'sfj' is not one of its choices; did you mean 'sjf'? (known: fifo, ..."},
    {WITH_POLICY("\"name\":\"queue\",\n\"order\":[]"),
     "s.json:3:9: 'policy.order' is an empty list; a text, a number, true or false is expected"},
};

static void invalid_values_are_rejected(void) {
  for (size_t i = 0; i < sizeof bad_values / sizeof *bad_values; i++) {
    write_text(bad_values[i].text);
    expect_error(NULL, 0, bad_values[i].error);
  }
}

static void unknown_column_fields_are_rejected(void) {
  struct hr_scenario *scenario;
  struct hr_error error = {0};
  static const char at[] = "s.json:2:20: ";
  write_text(WITH("\"trace\":{\"columns\":{\"submitt\":\"x\"}}"));
  CU_ASSERT_EQUAL(hr_scenario_load(file_name, NULL, 0, &scenario, &error), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(strncmp(error.text, at, 9), 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "'submit'"));
}

static const struct {
  const char *override, *error;
} bad_overrides[] = {
    {"policy.ordr=sjf", "--set policy.ordr=sjf: unknown key 'policy.ordr'; did you mean 'policy.order'? (known keys: "
                        "name, order, backfill, placement..."},
    {"clster.pools.0.nodes=1",
     "--set clster.pools.0.nodes=1: unknown key 'clster'; did you mean 'cluster'? " KNOWN_TOP},
    {"cluster.pools.0.nods=1", "--set cluster.pools.0.nods=1: unknown key 'cluster.pools.0.nods'; did you mean "
                               "'cluster.pools.0.nodes'? " KNOWN_POOL},
    {"cluster.pools.1.nodes=1",
     "--set cluster.pools.1.nodes=1: '1' is not an entry of 'cluster.pools'; it has 1, counted from 0"},
    {"cluster.pools.x.nodes=1",
     "--set cluster.pools.x.nodes=1: 'x' is not an entry of 'cluster.pools'; it has 1, counted from 0"},
    {"cluster.pools.0.nodes=-1",
     "--set cluster.pools.0.nodes=-1: 'cluster.pools.0.nodes' is the number -1; a whole number "
     "from 0 to 16000000 is expected"},
    {"cluster.pools.0.nodes=many", "--set cluster.pools.0.nodes=many: 'cluster.pools.0.nodes' is the text \"many\"; a "
                                   "whole number from 0 to 16000000 is expected"},
    {"cluster.pools=[{}]",
     "--set cluster.pools=[{}]: 'cluster.pools.0' lacks the key 'name'; a text \"...\" of 1 to 200 "
     "bytes is expected"},
    {"name.first=x", "--set name.first=x: 'name' has no keys inside; a text \"...\" of 1 to 200 bytes is expected"},
    {"policy.order=sfj", "--set policy.order=sfj: parameter 'order': 'sfj' is not one of its choices; did you mean "
                         "'sjf'? (known: fifo, ..."},
    {"models={\"a\":1,\"a\":2}", "--set models={\"a\":1,\"a\":2}: the key 'a' is duplicate in one object; keep one"},
    {"policy", "--set policy: is not of the form path=value, as in policy.order=sjf"},
    {"=5", "--set =5: is not of the form path=value, as in policy.order=sjf"},
    {"..=5",
     "--set ..=5: unknown key '' (known keys: $schema, name, description, trace, catalog, cluster, classes, models, "
     "network_speeds, scaling, costs, quotas, policy, alerts, replications, plan, seed, "
     "horizon_s)"},
};

static void invalid_overrides_are_rejected(void) {
  write_text(minimal);
  for (size_t i = 0; i < sizeof bad_overrides / sizeof *bad_overrides; i++)
    expect_error(&bad_overrides[i].override, 1, bad_overrides[i].error);
}

/* If an override selects another policy, the parameters of the policy in the file are ignored, but their errors are
   still reported. */
static void duplicate_keys_of_another_policy_are_errors(void) {
  static const char *const sjf[] = {"policy.name=sjf"}, *const gangs[] = {"policy.name=gang-slice"};
  write_text(WITH_POLICY("\"name\":\"queue\",\n\"order\":\"largest\",\"order\":\"smallest\""));
  expect_error(sjf, 1, "s.json:3:19: duplicate key 'order'");
  expect_error(gangs, 1, "s.json:3:19: duplicate key 'order'");
}

static void an_override_corrects_the_file(void) {
  static const char *const correction[] = {"cluster.pools.0.nodes=3"};
  write_text(WITH_POOL(POOL_WITH("0", "8")));
  struct hr_scenario *scenario = load(correction, 1);
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].nodes, 3);
  hr_scenario_destroy(scenario);
}

static void an_override_adds_a_list_entry(void) {
  static const char *const add[] = {"cluster.pools.1={\"name\":\"q\",\"gpu\":\"T4\",\"nodes\":2,\"gpus_per_node\":4}",
                                    "cluster.pools.1.nodes=5"};
  static const char *const gap[] = {"cluster.pools.2={}"}, *const wrong[] = {"cluster.pools.1={\"name\":\"q\"}"};
  write_text(WITH_POOL(POOL_WITH("3", "8")));
  struct hr_scenario *scenario = load(add, 2);
  CU_ASSERT_EQUAL_FATAL(scenario->cluster.n_pools, 2);
  CU_ASSERT_EQUAL(scenario->cluster.pools[0].nodes, 3);
  CU_ASSERT_STRING_EQUAL(scenario->cluster.pools[1].name, "q");
  CU_ASSERT_EQUAL(scenario->cluster.pools[1].nodes, 5);
  hr_scenario_destroy(scenario);
  expect_error(gap, 1, "--set cluster.pools.2={}: '2' is not an entry of 'cluster.pools'; it has 1, counted from 0");
  expect_error(wrong, 1,
               "--set cluster.pools.1={\"name\":\"q\"}: 'cluster.pools.1' lacks the key 'nodes'; a whole number "
               "from 0 to 16000000 is expected");
}

static void expect_part(const char *const *overrides, size_t count, const char *key, const char *expected) {
  struct hr_error error = {0};
  char *json = NULL;
  CU_ASSERT_EQUAL(hr_scenario_part(file_name, overrides, count, key, &json, &error), HR_OK);
  if (expected) {
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    CU_ASSERT_STRING_EQUAL(json, expected);
  } else {
    CU_ASSERT_PTR_NULL(json);
  }
  free(json);
}

static void parts_include_overrides(void) {
  static const char *const set[] = {"cluster.pools.0.nodes=4", "policy.order=sjf"};
  struct hr_error error = {0};
  struct hr_catalog *catalog = NULL;
  char *json = NULL;
  write_text(WITH_POOL(POOL_WITH("3", "8")));
  expect_part(NULL, 0, "cluster.pools.0.nodes", "3");
  expect_part(set, 2, "cluster.pools.0.nodes", "4");
  expect_part(set, 2, "policy.order", "\"sjf\"");
  expect_part(set, 2, "cluster.pools.1", NULL);
  expect_part(set, 2, "cluster.pools.x", NULL);
  expect_part(set, 2, "classes.training", NULL);
  CU_ASSERT_EQUAL(hr_scenario_part("absent.json", NULL, 0, "policy", &json, &error), HR_BAD_INPUT);
  CU_ASSERT_EQUAL_FATAL(hr_scenario_catalog(file_name, set, 2, &catalog, &error), HR_OK);
  CU_ASSERT(catalog->n_gpus > 5);
  hr_catalog_destroy(catalog);
}

/* ---- Bad files -------------------------------------------------------------------------------------- */

static void syntax_errors_have_a_position(void) {
  write_text("{\n  \"name\": \"x\",\n}\n");
  expect_error(NULL, 0, "s.json:3:1: ...");
  write_text("{\n  \"name\": 'x'\n}\n");
  expect_error(NULL, 0, "s.json:2:11: text is written in double quotes");
  write_text(WITH("\"seed\":1") "\n{}");
  expect_error(NULL, 0, "s.json:3:1: something follows the end of the JSON value");
  write_text("{\"cluster\": {");
  expect_error(NULL, 0, "s.json:1:14: the text ends inside an object; '}' is missing");
}

static void nesting_10000_deep(void) {
  enum { DEPTH = 10000 };
  char *text = calloc(1, 5 * DEPTH + 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  for (size_t i = 0; i < DEPTH; i++) memcpy(text + 5 * i, "{\"a\":", 5);
  write_bytes(text, 5 * DEPTH);
  free(text);
  expect_error(NULL, 0, "s.json:1:321: nested more than 64 deep");
}

/* The place of an error is found in a tree that is deeper than a file may be. */
static void deep_override_before_an_error(void) {
  char override[6 + 128 + 1] = "trace=";
  memset(override + 6, '[', 64);
  memset(override + 6 + 64, ']', 64);
  write_text("{\"trace\": {}, \"zzz\": 1}");
  expect_error((const char *const[]){override}, 1, "s.json:1:15: unknown key 'zzz'");
}

static void files_that_are_not_text(void) {
  write_bytes("", 0);
  expect_error(NULL, 0, "s.json: is empty; a JSON object {...} is expected");
  write_text(" \n\n");
  expect_error(NULL, 0, "s.json: is empty; a JSON object {...} is expected");
  write_bytes("{\n\0}", 4);
  expect_error(NULL, 0, "s.json:2:1: byte 0x00 is not text; JSON is UTF-8");
  write_bytes("\x1f\x8b\x08\x00", 4);
  expect_error(NULL, 0, "s.json: is compressed; JSON files are expected as plain text");
  write_bytes("\"\xc3\xa9\xff\"", 5);
  expect_error(NULL, 0, "s.json:1:3: byte 0xff is not text; JSON is UTF-8");
  static const char *const ill_formed[] = {"\xc0\xaf",         "\xe0\x80\xaf",     "\xed\xa0\x80",
                                           "\xf0\x80\x80\xaf", "\xf4\x90\x80\x80", "\xc3"};
  for (size_t i = 0; i < sizeof ill_formed / sizeof *ill_formed; i++) {
    char expected[100];
    snprintf(expected, sizeof expected, "s.json:1:1: byte 0x%02x is not text; JSON is UTF-8",
             (unsigned)(unsigned char)ill_formed[i][0]);
    write_text(ill_formed[i]);
    expect_error(NULL, 0, expected);
  }
}

static bool error_mentions(const char *words) {
  struct hr_scenario *scenario;
  struct hr_error error = {0};
  if (hr_scenario_load(file_name, NULL, 0, &scenario, &error) != HR_BAD_INPUT) return false;
  return strstr(error.text, words) != NULL;
}

static void other_kinds_of_files_are_named(void) {
  write_text("job_id,submit_s,duration_s,gpus\n1,0,1,1\n");
  expect_error(NULL, 0, "s.json: looks like a trace: ...");
  CU_ASSERT(error_mentions("looks like a trace") && error_mentions("--trace"));
  write_text("{\"scenario\":\"demo.json\",\"axes\":[]}");
  CU_ASSERT(error_mentions("is the grid of a sweep") && error_mentions("'headroom sweep'"));
  write_text("{\"runs\":[]}");
  CU_ASSERT(error_mentions("is a suite of runs") && error_mentions("'headroom check'"));
  remove(file_name);
  CU_ASSERT(error_mentions("No such file") && error_mentions("'headroom list scenarios'"));
}

static void indices_in_brackets_are_rejected(void) {
  const char *const set[] = {"cluster.pools[0].nodes=16"};
  write_text(WITH("\"seed\":1"));
  expect_error(set, 1, "--set cluster.pools[0].nodes=16: ...");
  struct hr_scenario *scenario;
  struct hr_error error;
  CU_ASSERT_EQUAL(hr_scenario_load(file_name, set, 1, &scenario, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "write cluster.pools.0.nodes"));
}

static void files_that_cannot_be_read(void) {
  struct hr_scenario *scenario;
  struct hr_error error;
  CU_ASSERT_EQUAL(hr_scenario_load("absent.json", NULL, 0, &scenario, &error), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(strncmp(error.text, "absent.json: cannot be read: No such file or directory", 52), 0);
  mkdir("folder.json", 0777);
  CU_ASSERT_EQUAL(hr_scenario_load("folder.json", NULL, 0, &scenario, &error), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(strncmp(error.text, "folder.json: is a directory", 27), 0);
  FILE *file = fopen(file_name, "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fseek(file, 17 << 20, SEEK_SET); /* a sparse file */
  fputc('}', file);
  fclose(file);
  expect_error(NULL, 0, "s.json: is larger than 16 MiB; a small JSON file is expected");
}

static void remove_files_and_test_folder(void) {
  remove("nodes.csv");
  remove("deep/d.json");
  remove("link");
  rmdir("deep");
  rmdir("folder.json");
  remove_test_folder();
}

TEST_MAIN("scenarios_load", TEST(create_test_folder), TEST(min_file_has_defaults), TEST(every_key_is_read),
          TEST(trace_is_relative_to_the_scenario), TEST(nodes_come_from_a_file), TEST(files_of_the_catalogue_are_read),
          TEST(node_order_is_read), TEST(overrides_change_and_add), TEST(names_of_policy_settings),
          TEST(invalid_values_are_rejected), TEST(unknown_column_fields_are_rejected),
          TEST(invalid_overrides_are_rejected), TEST(an_override_corrects_the_file),
          TEST(an_override_adds_a_list_entry), TEST(parts_include_overrides),
          TEST(duplicate_keys_of_another_policy_are_errors), TEST(syntax_errors_have_a_position),
          TEST(nesting_10000_deep), TEST(deep_override_before_an_error), TEST(files_that_are_not_text),
          TEST(other_kinds_of_files_are_named), TEST(indices_in_brackets_are_rejected), TEST(files_that_cannot_be_read),
          TEST(remove_files_and_test_folder))
