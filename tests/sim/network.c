/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs whose GPUs are joined by networks: how far placements spread, and ends worked out by hand, to the
   microsecond. */

#include "harness.h"
#include "headroom/cluster.h"
#include "headroom/policies.h"
#include "headroom/report.h"
#include "headroom/sim.h"

#include <string.h>

enum { MAX_JOBS = 4 };

static char bert[] = "BERT", large[] = "bert-large", resnet[] = "ResNet", others[] = "*";
static const char *const models[] = {"BERT-base", "BERT-Large-cased", "ResNet-50 (batch size 32)", "Other"};

/* ---- Figures ---- */

static struct hr_network_speed rows[] = {
    {bert, HR_NETWORK_INFINIBAND, 16, 900000},  {bert, HR_NETWORK_INFINIBAND, 64, 800000},
    {large, HR_NETWORK_INFINIBAND, 32, 700000}, {others, HR_NETWORK_25GBE, 2, 500000},
    {bert, HR_NETWORK_25GBE, 8, 333333},        {resnet, HR_NETWORK_100GBE, 2, 600001},
};
static const struct hr_network_speeds speeds = {rows, sizeof rows / sizeof *rows};

static uint32_t ppm_of(const char *model, enum hr_network network, uint32_t gpus) {
  return hr_network_span_ppm(&speeds, hr_network_span_of(&speeds, model, network), gpus);
}

static void a_model_goes_by_its_longest_family(void) {
  CU_ASSERT_EQUAL(ppm_of("BERT-base", HR_NETWORK_INFINIBAND, 16), 900000);
  CU_ASSERT_EQUAL(ppm_of("bert", HR_NETWORK_INFINIBAND, 16), 900000);
  CU_ASSERT_EQUAL(ppm_of("BERT-LARGE", HR_NETWORK_INFINIBAND, 32), 700000);
  CU_ASSERT_EQUAL(ppm_of("BERT-LARGE", HR_NETWORK_25GBE, 32), 333333); /* the longest family with rows for it */
  CU_ASSERT_EQUAL(ppm_of("BER", HR_NETWORK_INFINIBAND, 16), 1000000);
  CU_ASSERT_EQUAL(ppm_of("BER", HR_NETWORK_25GBE, 16), 500000);
  CU_ASSERT_EQUAL(ppm_of(NULL, HR_NETWORK_25GBE, 16), 500000);
  CU_ASSERT_EQUAL(ppm_of(NULL, HR_NETWORK_INFINIBAND, 16), 1000000);
  CU_ASSERT_EQUAL(ppm_of("BERT", HR_NETWORK_NVLINK, 16), 1000000);
}

static void a_job_goes_by_the_row_for_its_gpus(void) {
  CU_ASSERT_EQUAL(ppm_of("BERT", HR_NETWORK_INFINIBAND, 2), 900000);
  CU_ASSERT_EQUAL(ppm_of("BERT", HR_NETWORK_INFINIBAND, 63), 900000);
  CU_ASSERT_EQUAL(ppm_of("BERT", HR_NETWORK_INFINIBAND, 64), 800000);
  CU_ASSERT_EQUAL(ppm_of("BERT", HR_NETWORK_INFINIBAND, 1000), 800000);
}

/* ---- Groups ---- */

static void groups_of_a_tier_that_is_left_out_are_the_next_wider_ones(void) {
  struct hr_topology all = {.island_gpus = 2, .numa_gpus = 4, .nodes_per_rack = 3, .racks_per_zone = 2}, none = {0};
  CU_ASSERT_EQUAL(hr_topology_gpus(&all, HR_TIER_ISLAND, 8), 2);
  CU_ASSERT_EQUAL(hr_topology_gpus(&all, HR_TIER_NUMA, 8), 4);
  CU_ASSERT_EQUAL(hr_topology_gpus(&all, HR_TIER_RACK, 8), 8);
  CU_ASSERT_EQUAL(hr_topology_nodes(&all, HR_TIER_NODE, 20), 1);
  CU_ASSERT_EQUAL(hr_topology_nodes(&all, HR_TIER_RACK, 20), 3);
  CU_ASSERT_EQUAL(hr_topology_nodes(&all, HR_TIER_ZONE, 20), 6);
  CU_ASSERT_EQUAL(hr_topology_nodes(&all, HR_TIER_ZONE, 5), 5);
  CU_ASSERT_EQUAL(hr_topology_nodes(&all, HR_TIER_POOL, 20), 20);
  CU_ASSERT_EQUAL(hr_topology_group(&all, HR_TIER_RACK, 20, 5), 1);
  CU_ASSERT_EQUAL(hr_topology_gpus(&none, HR_TIER_ISLAND, 8), 8);
  CU_ASSERT_EQUAL(hr_topology_nodes(&none, HR_TIER_RACK, 20), 20);
  all.island_gpus = all.racks_per_zone = 0;
  CU_ASSERT_EQUAL(hr_topology_gpus(&all, HR_TIER_ISLAND, 8), 4);
  CU_ASSERT_EQUAL(hr_topology_nodes(&all, HR_TIER_ZONE, 20), 20);
  CU_ASSERT_TRUE(hr_topology_parts_nodes(&all, 8));
  CU_ASSERT_FALSE(hr_topology_parts_nodes(&all, 4));
  CU_ASSERT_FALSE(hr_topology_parts_nodes(&none, 8));
}

/* ---- Runs ---- */

/* Jobs that are submitted at 0, placed by first fit in order when there is room. */
struct network_case {
  uint32_t n_jobs;
  int64_t work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], model[MAX_JOBS], nodes, gpus_per_node;
  struct hr_topology topology;
  const struct hr_speeds *speeds;
  bool by_gpu, interrupts;
  uint32_t cpu_milli_per_node, cpu_milli_per_gpu;
  char notes[400]; /* the note on links without figures */
  enum hr_tier span[MAX_JOBS];
  struct hr_observer observers[2];
};

static void note_spans(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct network_case *it = self;
  if (event->kind == HR_EVENT_START) it->span[event->job.id] = hr_cluster_span(view->cluster, event->placement);
}

static struct hr_market_spec market_of(const struct network_case *it) {
  struct hr_market_spec market = {.to_us = HR_NEVER_US};
  if (it->interrupts) market.market = HR_MARKET_ON_DEMAND; /* nodes that come and go, so jobs can be stopped */
  return market;
}

static struct hr_result *run_case(struct network_case *it) {
  static const int64_t submit_us[MAX_JOBS];
  char name[] = "p", gpu[] = "T4";
  struct hr_trace trace = {.source = "test",
                           .n_jobs = it->n_jobs,
                           .submit_us = submit_us,
                           .work_us = it->work_us,
                           .gpus = it->gpus,
                           .model = it->model,
                           .models = {4, models}};
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = it->nodes,
                              .gpus_per_node = it->gpus_per_node,
                              .topology = it->topology,
                              .cpu_milli_per_node = it->cpu_milli_per_node,
                              .cpu_milli_per_gpu = it->cpu_milli_per_gpu,
                              .market = market_of(it)};
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1, .by_gpu = it->by_gpu};
  struct hr_policy_choice queue;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&queue, "queue", NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&queue, "placement", "first-fit", NULL), HR_OK);
  struct hr_links *links = hr_links_create(&trace, &speeds);
  it->observers[0] = (struct hr_observer){.self = it, .on_event = note_spans};
  it->observers[1] = hr_links_observer(links);
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = queue.ops,
                                 .params = queue.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .observers = it->observers,
                                 .n_observers = 2,
                                 .speeds = it->speeds,
                                 .network_speeds = &speeds};
  struct hr_result *result = NULL;
  struct hr_error error;
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  struct hr_notes notes = {0};
  CU_ASSERT_EQUAL(hr_links_notes(links, &notes, NULL), HR_OK);
  snprintf(it->notes, sizeof it->notes, "%s", notes.count ? notes.text[0] : "");
  hr_notes_finish(&notes);
  hr_links_destroy(links);
  hr_policy_choice_finish(&queue);
  return result;
}

static int64_t end_of(const struct hr_result *result, uint32_t job) {
  return hr_result_end_us(result, (hr_job){job});
}

static const struct hr_topology racks = {
    .nodes_per_rack = 2,
    .racks_per_zone = 2,
    .network = {
        [HR_TIER_RACK] = HR_NETWORK_INFINIBAND, [HR_TIER_ZONE] = HR_NETWORK_100GBE, [HR_TIER_POOL] = HR_NETWORK_25GBE}};

/* 8 nodes of 8 in 4 racks and 2 zones: a job in a rack, one over a zone's racks, one over zones, and one on a node. */
static void the_widest_tier_says_the_speed(void) {
  struct network_case it = {.n_jobs = 4, .nodes = 8, .gpus_per_node = 8, .topology = racks};
  memcpy(it.gpus, (uint32_t[]){16, 8, 16, 16}, sizeof it.gpus);
  memcpy(it.model, (uint32_t[]){0, 0, 2, 0}, sizeof it.model);
  for (int i = 0; i < 4; i++) it.work_us[i] = 1000;
  for (int pass = 0; pass < 2; pass++, it.interrupts = true) {
    struct hr_result *result = run_case(&it);
    CU_ASSERT_EQUAL(result->accounting != NULL, it.interrupts);
    CU_ASSERT_EQUAL(it.span[0], HR_TIER_RACK);
    CU_ASSERT_EQUAL(end_of(result, 0), 1112); /* 1000 / 0.9, rounded up */
    CU_ASSERT_EQUAL(end_of(result, 1), 1000); /* node 2 alone */
    CU_ASSERT_EQUAL(it.span[2], HR_TIER_POOL);
    CU_ASSERT_EQUAL(end_of(result, 2), 2000); /* nodes 3 and 4: default row */
    CU_ASSERT_EQUAL(it.span[3], HR_TIER_ZONE);
    CU_ASSERT_EQUAL(end_of(result, 3), 1000); /* nodes 5 and 6: without a figure */
    CU_ASSERT_PTR_NOT_NULL(strstr(it.notes, "network_speeds: 24.3 % of the GPU time"));
    CU_ASSERT_PTR_NOT_NULL(strstr(it.notes, ": BERT-base"));
    hr_result_destroy(result);
  }
}

/* 1,000 x 16 of (1,112 + 2,000 + 1,000) x 16 microseconds above; here all have a figure, or no links. */
static void where_all_is_known_nothing_is_said(void) {
  struct network_case it = {.n_jobs = 2, .nodes = 4, .gpus_per_node = 8, .topology = racks};
  memcpy(it.gpus, (uint32_t[]){16, 8}, 2 * sizeof *it.gpus);
  memcpy(it.work_us, (int64_t[]){1000, 1000}, 2 * sizeof *it.work_us);
  hr_result_destroy(run_case(&it));
  CU_ASSERT_STRING_EQUAL(it.notes, "");
}

/* Combined with the speed of the model in the pool: 3 x 0.9, to the microsecond. */
static void speeds_are_multiplied(void) {
  uint32_t ppm[] = {3000000};
  struct hr_speeds three = {.n_pools = 1, .ppm = ppm};
  struct network_case it = {.n_jobs = 1, .nodes = 2, .gpus_per_node = 8, .topology = racks, .speeds = &three};
  it.gpus[0] = 16;
  it.work_us[0] = 1000;
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(end_of(result, 0), 371); /* 370.37 */
  hr_result_destroy(result);
}

/* Within one node: islands of 2 in NUMA domains of 4. Jobs of 2, 2, 4 and 2 GPUs by first fit: GPUs 0-1, 2-3, 4-7,
   then the second node's. */
static void within_a_node_islands_count(void) {
  struct hr_topology parts = {.island_gpus = 2, .numa_gpus = 4};
  parts.network[HR_TIER_ISLAND] = HR_NETWORK_INFINIBAND;
  parts.network[HR_TIER_NUMA] = HR_NETWORK_25GBE;
  struct network_case it = {.n_jobs = 4, .nodes = 2, .gpus_per_node = 8, .topology = parts};
  memcpy(it.gpus, (uint32_t[]){2, 1, 2, 4}, sizeof it.gpus);
  for (int i = 0; i < 4; i++) it.work_us[i] = 900;
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(it.span[0], HR_TIER_ISLAND);
  CU_ASSERT_EQUAL(end_of(result, 0), 1000);  /* GPUs 0 and 1, 0.9 */
  CU_ASSERT_EQUAL(end_of(result, 1), 900);   /* GPU 2 alone */
  CU_ASSERT_EQUAL(it.span[2], HR_TIER_NODE); /* GPUs 3 and 4 */
  CU_ASSERT_EQUAL(end_of(result, 2), 900);   /* the links of a node are unspecified */
  CU_ASSERT_EQUAL(it.span[3], HR_TIER_NUMA); /* GPUs 0 to 3 of the second node */
  CU_ASSERT_EQUAL(end_of(result, 3), 2701);  /* 900 / 0.333333 */
  hr_result_destroy(result);
}

/* Without other reasons for per-GPU allocation, `by_gpu` selects it. */
static void gpus_are_told_apart_on_demand(void) {
  struct network_case it = {.n_jobs = 2, .nodes = 1, .gpus_per_node = 8, .by_gpu = true};
  memcpy(it.gpus, (uint32_t[]){3, 4}, 2 * sizeof *it.gpus);
  struct hr_result *result = run_case(&it);
  CU_ASSERT_PTR_NOT_NULL(result->gpu_milli);
  CU_ASSERT_EQUAL(result->gpu_milli[1], 4000);
  hr_result_destroy(result);
  it.by_gpu = false;
  result = run_case(&it);
  CU_ASSERT_PTR_NULL(result->gpu_milli);
  hr_result_destroy(result);
}

/* 12 CPUs, 1.5 with each GPU: 4.5 and 6 fit, and 1.5 more; with a thousandth more nothing is left for the third. */
static void cpus_go_with_gpus(void) {
  struct network_case it = {.n_jobs = 3, .nodes = 1, .gpus_per_node = 8, .by_gpu = true, .cpu_milli_per_node = 12000};
  memcpy(it.gpus, (uint32_t[]){3, 4, 1}, 3 * sizeof *it.gpus);
  for (int i = 0; i < 3; i++) it.work_us[i] = 10;
  it.cpu_milli_per_gpu = 1500;
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[2], 0);
  hr_result_destroy(result);
  it.cpu_milli_per_gpu = 1501;
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[1], 0);
  CU_ASSERT_EQUAL(result->start_us[2], 10);
  hr_result_destroy(result);
  it.cpu_milli_per_gpu = 3001; /* 12.004 for the second */
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->state[1], HR_JOB_REJECTED);
  CU_ASSERT_EQUAL(result->reason[1], HR_REASON_NODE_TOO_SMALL);
  hr_result_destroy(result);
}

TEST_MAIN("networks", TEST(a_model_goes_by_its_longest_family), TEST(a_job_goes_by_the_row_for_its_gpus),
          TEST(groups_of_a_tier_that_is_left_out_are_the_next_wider_ones), TEST(the_widest_tier_says_the_speed),
          TEST(where_all_is_known_nothing_is_said), TEST(speeds_are_multiplied), TEST(within_a_node_islands_count),
          TEST(gpus_are_told_apart_on_demand), TEST(cpus_go_with_gpus))
