/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs whose GPUs are connected by networks: the tier of placements, and the ends of jobs. Results are computed by
   hand, to the microsecond. */

#include "harness.h"
#include "headroom/cluster.h"
#include "headroom/policies.h"
#include "headroom/report.h"
#include "headroom/sim.h"

#include <string.h>

enum { MAX_JOBS = 4 };

static char bert[] = "BERT", large[] = "bert-large", resnet[] = "ResNet", others[] = "*";
static const char *const models[] = {"BERT-base", "BERT-Large-cased", "ResNet-50 (batch size 32)", "Other"};

/* ---- Tables of speeds ---- */

static struct hr_network_speed rows[] = {
    {bert, HR_NETWORK_INFINIBAND, 16, 900000},  {bert, HR_NETWORK_INFINIBAND, 64, 800000},
    {large, HR_NETWORK_INFINIBAND, 32, 700000}, {others, HR_NETWORK_25GBE, 2, 500000},
    {bert, HR_NETWORK_25GBE, 8, 333333},        {resnet, HR_NETWORK_100GBE, 2, 600001},
};
static const struct hr_network_speeds speeds = {rows, sizeof rows / sizeof *rows};

static uint32_t ppm_of(const char *model, enum hr_network network, uint32_t gpus) {
  return hr_network_span_ppm(&speeds, hr_network_span_of(&speeds, model, network), gpus);
}

static void longest_matching_family_is_used(void) {
  CU_ASSERT_EQUAL(ppm_of("BERT-base", HR_NETWORK_INFINIBAND, 16), 900000);
  CU_ASSERT_EQUAL(ppm_of("bert", HR_NETWORK_INFINIBAND, 16), 900000);
  CU_ASSERT_EQUAL(ppm_of("BERT-LARGE", HR_NETWORK_INFINIBAND, 32), 700000);
  /* of the matching families that have rows for this network, the longest is used */
  CU_ASSERT_EQUAL(ppm_of("BERT-LARGE", HR_NETWORK_25GBE, 32), 333333);
  CU_ASSERT_EQUAL(ppm_of("BER", HR_NETWORK_INFINIBAND, 16), 1000000);
  CU_ASSERT_EQUAL(ppm_of("BER", HR_NETWORK_25GBE, 16), 500000);
  CU_ASSERT_EQUAL(ppm_of(NULL, HR_NETWORK_25GBE, 16), 500000);
  CU_ASSERT_EQUAL(ppm_of(NULL, HR_NETWORK_INFINIBAND, 16), 1000000);
  CU_ASSERT_EQUAL(ppm_of("BERT", HR_NETWORK_NVLINK, 16), 1000000);
}

static void row_is_selected_by_number_of_gpus(void) {
  CU_ASSERT_EQUAL(ppm_of("BERT", HR_NETWORK_INFINIBAND, 2), 900000);
  CU_ASSERT_EQUAL(ppm_of("BERT", HR_NETWORK_INFINIBAND, 63), 900000);
  CU_ASSERT_EQUAL(ppm_of("BERT", HR_NETWORK_INFINIBAND, 64), 800000);
  CU_ASSERT_EQUAL(ppm_of("BERT", HR_NETWORK_INFINIBAND, 1000), 800000);
}

/* ---- Groups ---- */

static void unspecified_tier_equals_next_wider_tier(void) {
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

/* Jobs that are submitted at time 0. The policy places them in order, by first fit. */
struct network_case {
  uint32_t n_jobs;
  int64_t work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], model[MAX_JOBS], nodes, gpus_per_node;
  struct hr_topology topology;
  const struct hr_speeds *speeds;
  bool by_gpu, interrupts;
  uint32_t cpu_milli_per_node, cpu_milli_per_gpu;
  char notes[400]; /* the note about links without a known speed */
  enum hr_tier span[MAX_JOBS];
  struct hr_observer observers[2];
};

static void note_spans(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct network_case *test = self;
  if (event->kind == HR_EVENT_START) test->span[event->job.id] = hr_cluster_span(view->cluster, event->placement);
}

static struct hr_market_spec market_of(const struct network_case *test) {
  struct hr_market_spec market = {.to_us = HR_NEVER_US};
  if (test->interrupts) market.market = HR_MARKET_ON_DEMAND; /* an elastic pool, so that the run has accounts of jobs */
  return market;
}

static struct hr_result *run_case(struct network_case *test) {
  static const int64_t submit_us[MAX_JOBS];
  char name[] = "p", gpu[] = "T4";
  struct hr_trace trace = {.source = "test",
                           .n_jobs = test->n_jobs,
                           .submit_us = submit_us,
                           .work_us = test->work_us,
                           .gpus = test->gpus,
                           .model = test->model,
                           .models = {4, models}};
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = test->nodes,
                              .gpus_per_node = test->gpus_per_node,
                              .topology = test->topology,
                              .cpu_milli_per_node = test->cpu_milli_per_node,
                              .cpu_milli_per_gpu = test->cpu_milli_per_gpu,
                              .market = market_of(test)};
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1, .by_gpu = test->by_gpu};
  struct hr_policy_choice queue;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&queue, "queue", NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&queue, "placement", "first-fit", NULL), HR_OK);
  struct hr_links *links = hr_links_create(&trace, &speeds);
  test->observers[0] = (struct hr_observer){.self = test, .on_event = note_spans};
  test->observers[1] = hr_links_observer(links);
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = queue.ops,
                                 .params = queue.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .observers = test->observers,
                                 .n_observers = 2,
                                 .speeds = test->speeds,
                                 .network_speeds = &speeds};
  struct hr_result *result = NULL;
  struct hr_error error;
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  struct hr_notes notes = {0};
  CU_ASSERT_EQUAL(hr_links_notes(links, &notes, NULL), HR_OK);
  snprintf(test->notes, sizeof test->notes, "%s", notes.count ? notes.text[0] : "");
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

/* 8 nodes of 8 GPUs in 4 racks and 2 zones. Job 0 fits into a rack, and job 1 fits on a node. Job 2 spans two zones.
   Job 3 spans two racks of a zone. */
static void speed_depends_on_widest_tier(void) {
  struct network_case test = {.n_jobs = 4, .nodes = 8, .gpus_per_node = 8, .topology = racks};
  memcpy(test.gpus, (uint32_t[]){16, 8, 16, 16}, sizeof test.gpus);
  memcpy(test.model, (uint32_t[]){0, 0, 2, 0}, sizeof test.model);
  for (int i = 0; i < 4; i++) test.work_us[i] = 1000;
  for (int pass = 0; pass < 2; pass++, test.interrupts = true) {
    struct hr_result *result = run_case(&test);
    CU_ASSERT_EQUAL(result->account != NULL, test.interrupts);
    CU_ASSERT_EQUAL(test.span[0], HR_TIER_RACK);
    CU_ASSERT_EQUAL(end_of(result, 0), 1112); /* 1000 / 0.9, rounded up */
    CU_ASSERT_EQUAL(end_of(result, 1), 1000); /* node 2 only */
    CU_ASSERT_EQUAL(test.span[2], HR_TIER_POOL);
    CU_ASSERT_EQUAL(end_of(result, 2), 2000); /* nodes 3 and 4: the row for all models */
    CU_ASSERT_EQUAL(test.span[3], HR_TIER_ZONE);
    CU_ASSERT_EQUAL(end_of(result, 3), 1000); /* nodes 5 and 6: no known speed */
    CU_ASSERT_PTR_NOT_NULL(strstr(test.notes, "network_speeds: 24.3 % of the GPU time"));
    CU_ASSERT_PTR_NOT_NULL(strstr(test.notes, ": BERT-base"));
    hr_result_destroy(result);
  }
}

/* In the test above, the jobs that use links take (1,112 + 2,000 + 1,000) x 16 GPU-microseconds. The note states that
   the speed is unknown for 1,000 x 16 of them (24.3 %). In this test there is no note, because one job has a known
   speed and the other uses no links. */
static void no_note_if_all_speeds_are_known(void) {
  struct network_case test = {.n_jobs = 2, .nodes = 4, .gpus_per_node = 8, .topology = racks};
  memcpy(test.gpus, (uint32_t[]){16, 8}, 2 * sizeof *test.gpus);
  memcpy(test.work_us, (int64_t[]){1000, 1000}, 2 * sizeof *test.work_us);
  hr_result_destroy(run_case(&test));
  CU_ASSERT_STRING_EQUAL(test.notes, "");
}

/* The speed by network (0.9) is multiplied by the speed of the model in the pool (3). */
static void speeds_are_multiplied(void) {
  uint32_t ppm[] = {3000000};
  struct hr_speeds three = {.n_pools = 1, .ppm = ppm};
  struct network_case test = {.n_jobs = 1, .nodes = 2, .gpus_per_node = 8, .topology = racks, .speeds = &three};
  test.gpus[0] = 16;
  test.work_us[0] = 1000;
  struct hr_result *result = run_case(&test);
  CU_ASSERT_EQUAL(end_of(result, 0), 371); /* 370.37, rounded up */
  hr_result_destroy(result);
}

/* Tiers within a node: islands of 2 GPUs in NUMA domains of 4 GPUs. By first fit, the jobs of 2, 1, 2 and 4 GPUs get
   GPUs 0-1, 2 and 3-4 of the first node and GPUs 0-3 of the second node. */
static void speed_depends_on_islands_within_node(void) {
  struct hr_topology parts = {.island_gpus = 2, .numa_gpus = 4};
  parts.network[HR_TIER_ISLAND] = HR_NETWORK_INFINIBAND;
  parts.network[HR_TIER_NUMA] = HR_NETWORK_25GBE;
  struct network_case test = {.n_jobs = 4, .nodes = 2, .gpus_per_node = 8, .topology = parts};
  memcpy(test.gpus, (uint32_t[]){2, 1, 2, 4}, sizeof test.gpus);
  for (int i = 0; i < 4; i++) test.work_us[i] = 900;
  struct hr_result *result = run_case(&test);
  CU_ASSERT_EQUAL(test.span[0], HR_TIER_ISLAND);
  CU_ASSERT_EQUAL(end_of(result, 0), 1000);    /* GPUs 0 and 1: speed 0.9 */
  CU_ASSERT_EQUAL(end_of(result, 1), 900);     /* GPU 2 only */
  CU_ASSERT_EQUAL(test.span[2], HR_TIER_NODE); /* GPUs 3 and 4 */
  CU_ASSERT_EQUAL(end_of(result, 2), 900);     /* the links of this tier are not specified */
  CU_ASSERT_EQUAL(test.span[3], HR_TIER_NUMA); /* GPUs 0 to 3 of the second node */
  CU_ASSERT_EQUAL(end_of(result, 3), 2701);    /* 900 / 0.333333 */
  hr_result_destroy(result);
}

/* The setting `by_gpu` selects per-GPU allocation even if no other setting requires it. */
static void by_gpu_selects_per_gpu_allocation(void) {
  struct network_case test = {.n_jobs = 2, .nodes = 1, .gpus_per_node = 8, .by_gpu = true};
  memcpy(test.gpus, (uint32_t[]){3, 4}, 2 * sizeof *test.gpus);
  struct hr_result *result = run_case(&test);
  CU_ASSERT_PTR_NOT_NULL(result->gpu_milli);
  CU_ASSERT_EQUAL(result->gpu_milli[1], 4000);
  hr_result_destroy(result);
  test.by_gpu = false;
  result = run_case(&test);
  CU_ASSERT_PTR_NULL(result->gpu_milli);
  hr_result_destroy(result);
}

/* A node with 12 CPUs, of which 1.5 come with each GPU. The jobs of 3, 4 and 1 GPUs get 4.5, 6 and 1.5 CPUs. With 1.501
   CPUs per GPU, the third job does not fit together with the others. */
static void gpus_come_with_cpus(void) {
  struct network_case test = {.n_jobs = 3, .nodes = 1, .gpus_per_node = 8, .by_gpu = true, .cpu_milli_per_node = 12000};
  memcpy(test.gpus, (uint32_t[]){3, 4, 1}, 3 * sizeof *test.gpus);
  for (int i = 0; i < 3; i++) test.work_us[i] = 10;
  test.cpu_milli_per_gpu = 1500;
  struct hr_result *result = run_case(&test);
  CU_ASSERT_EQUAL(result->start_us[2], 0);
  hr_result_destroy(result);
  test.cpu_milli_per_gpu = 1501;
  result = run_case(&test);
  CU_ASSERT_EQUAL(result->start_us[1], 0);
  CU_ASSERT_EQUAL(result->start_us[2], 10);
  hr_result_destroy(result);
  test.cpu_milli_per_gpu = 3001; /* 12.004 CPUs for the second job */
  result = run_case(&test);
  CU_ASSERT_EQUAL(result->state[1], HR_JOB_REJECTED);
  CU_ASSERT_EQUAL(result->reason[1], HR_REASON_NODE_TOO_SMALL);
  hr_result_destroy(result);
}

TEST_MAIN("networks", TEST(longest_matching_family_is_used), TEST(row_is_selected_by_number_of_gpus),
          TEST(unspecified_tier_equals_next_wider_tier), TEST(speed_depends_on_widest_tier),
          TEST(no_note_if_all_speeds_are_known), TEST(speeds_are_multiplied),
          TEST(speed_depends_on_islands_within_node), TEST(by_gpu_selects_per_gpu_allocation),
          TEST(gpus_come_with_cpus))
