/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Repeats the experiment of Weng et al. ("Beware of Fragmentation", ATC'23) on the openb trace, and compares the means
   with the published ones. */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/planning.h"

#include <math.h>
#include <string.h>

#define OPENB REAL_TRACES_DIR "/alibaba-openb2023/"

/* Published means over ten seeds, when 100 % and 130 % of the capacity were requested, and the tolerance. */
static const struct published {
  const char *rule;
  double alloc_pct[2], tolerance;
} published[] = {{"fgd", {95.23, 95.39}, 0.4},         {"weighted-best-fit", {92.86, 93.08}, 0.4},
                 {"gpu-packing", {91.78, 92.00}, 0.8}, {"gpu-clustering", {91.65, 91.88}, 0.8},
                 {"dot-product", {90.62, 90.85}, 0.4}, {"random", {86.30, 87.47}, 0.4}};
enum { N_RULES = sizeof published / sizeof *published };

static struct hr_scenario *load(void) {
  struct hr_scenario *scenario = NULL;
  struct hr_error error = {0};
  if (hr_scenario_load(PROJECT_DIR "/scenarios/openb.json", NULL, 0, &scenario, &error) != HR_OK)
    printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  return scenario;
}

static struct hr_trace *read(const char *path) {
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  const struct hr_trace_options options = {.format = "openb", .untimed = true};
  if (hr_trace_read(path, &options, &trace, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  return trace;
}

static struct hr_fill *fill_with(const struct hr_scenario *scenario, const struct hr_trace *trace, uint32_t n_seeds) {
  static const struct hr_packing_rule *rules[N_RULES];
  for (size_t i = 0; i < N_RULES; i++) rules[i] = hr_packing_rule_find(published[i].rule, NULL);
  const struct hr_fill_config config = {.scenario = scenario,
                                        .trace = trace,
                                        .rules = rules,
                                        .n_rules = N_RULES,
                                        .n_seeds = n_seeds,
                                        .to = 1.3,
                                        .n_threads = 2};
  struct hr_fill *fill;
  CU_ASSERT_EQUAL_FATAL(hr_fill(&config, &fill, NULL), HR_OK);
  return fill;
}

static void means_equal_published_ones(void) {
  if (real_trace_missing(OPENB "openb_pod_list_default.csv")) return;
  struct hr_scenario *scenario = load();
  struct hr_trace *trace = read(OPENB "openb_pod_list_default.csv");
  struct hr_fill *fill = fill_with(scenario, trace, 10);
  for (uint32_t rule = 0; rule < N_RULES; rule++)
    for (uint32_t point = 0; point < 2; point++) {
      double mean = hr_fill_mean_at(fill, rule, point ? 130 : 100).alloc_pct;
      bool near = fabs(mean - published[rule].alloc_pct[point]) <= published[rule].tolerance;
      if (!near) printf("\n  %s: %.2f, published %.2f\n", published[rule].rule, mean, published[rule].alloc_pct[point]);
      CU_ASSERT_TRUE(near);
      CU_ASSERT_TRUE(rule == 0 || mean < hr_fill_mean_at(fill, 0, point ? 130 : 100).alloc_pct);
      CU_ASSERT_TRUE(rule == N_RULES - 1 || mean > hr_fill_mean_at(fill, N_RULES - 1, point ? 130 : 100).alloc_pct);
    }
  hr_fill_destroy(fill);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

/* Allocated and fragmented GPUs together do not exceed the capacity, and the first rule allocates more than the last.
 */
static void other_pod_lists(void) {
  static const char *const lists[] = {"cpu050",    "cpu100",    "gpushare40", "gpushare100",
                                      "gpuspec20", "gpuspec33", "multigpu20", "multigpu50"};
  struct hr_scenario *scenario = load();
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    char path[500];
    snprintf(path, sizeof path, OPENB "openb_pod_list_%s.csv", lists[i]);
    if (real_trace_missing(path)) continue;
    struct hr_trace *trace = read(path);
    struct hr_fill *fill = fill_with(scenario, trace, 1);
    for (uint32_t rule = 0; rule < N_RULES; rule++) {
      struct hr_fill_row row = hr_fill_at(fill, rule, 0, 130);
      CU_ASSERT_TRUE(row.alloc_pct > 75 && row.frag_pct > 0 && row.alloc_pct + row.frag_pct < 100 + 1e-9);
      CU_ASSERT_TRUE(row.failed > 0);
    }
    CU_ASSERT_TRUE(hr_fill_at(fill, 0, 0, 130).alloc_pct > hr_fill_at(fill, N_RULES - 1, 0, 130).alloc_pct);
    hr_fill_destroy(fill);
    hr_trace_destroy(trace);
  }
  hr_scenario_destroy(scenario);
}

/* The shipped scenario has the nodes of the node list, in the same order. Its types are those of the catalogue. */
static void scenario_equals_node_list(void) {
  if (real_trace_missing(OPENB "openb_node_list_gpu_node.csv")) return;
  struct hr_scenario *scenario = load();
  struct hr_cluster_spec listed = {0};
  struct hr_notes notes = {0};
  struct hr_catalog *catalog = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_load(NULL, &catalog, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_nodes_read(OPENB "openb_node_list_gpu_node.csv", &listed, &notes, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(listed.n_pools, scenario->cluster.n_pools);
  for (uint32_t i = 0; i < listed.n_pools; i++) {
    const struct hr_pool_spec *a = &listed.pools[i], *b = &scenario->cluster.pools[i];
    const struct hr_gpu_type *type = hr_catalog_gpu_named(catalog, a->gpu);
    CU_ASSERT_STRING_EQUAL(type ? type->name : a->gpu, b->gpu);
    CU_ASSERT_TRUE(a->nodes == b->nodes && a->gpus_per_node == b->gpus_per_node);
    CU_ASSERT_TRUE(a->cpu_milli_per_node == b->cpu_milli_per_node && a->mem_mib_per_node == b->mem_mib_per_node);
  }
  CU_ASSERT_TRUE(memcmp(listed.node_order, scenario->cluster.node_order, 1213 * sizeof *listed.node_order) == 0);
  hr_catalog_destroy(catalog);
  hr_cluster_spec_finish(&listed);
  hr_notes_finish(&notes);
  hr_scenario_destroy(scenario);
}

TEST_MAIN("plan: fill openb", TEST(scenario_equals_node_list), TEST(means_equal_published_ones), TEST(other_pod_lists))
