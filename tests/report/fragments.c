/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fragmentation over time: a run with metrics that were computed by hand, and random runs in which the test recounts
   all nodes after every pass. */

#include "base/containers.h"
#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/unstable/fragmentation.h"
#include "naive_packing.h"
#include "output_files.h"
#include "queue_choice.h"
#include "report/metrics/metrics.h"

#include <math.h>
#include <string.h>

enum { JOBS = 60, POOLS = 3, CASES = 300, MAX_CLASSES = 64 };

static struct {
  int64_t submit_us[JOBS], work_us[JOBS];
  uint32_t gpus[JOBS], tasks[JOBS], cpu_milli[JOBS];
  uint16_t gpu_milli[JOBS];
  uint64_t mem_mib[JOBS], gpu_mem_mib[JOBS];
  uint32_t gpu_types[JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pools[POOLS];
  struct hr_cluster_spec cluster;
} scenario;

static void expect(double got, double wanted) {
  if (fabs(got - wanted) > 1e-12 * fabs(wanted)) printf("\n  %.17g, wanted %.17g\n", got, wanted);
  CU_ASSERT_TRUE(fabs(got - wanted) <= 1e-12 * fabs(wanted));
}

static void make_trace(uint32_t n_jobs) {
  scenario.trace = (struct hr_trace){.source = "test",
                                     .format = "memory",
                                     .n_jobs = n_jobs,
                                     .submit_us = scenario.submit_us,
                                     .work_us = scenario.work_us,
                                     .gpus = scenario.gpus,
                                     .tasks = scenario.tasks,
                                     .gpu_milli = scenario.gpu_milli,
                                     .cpu_milli = scenario.cpu_milli,
                                     .mem_mib = scenario.mem_mib,
                                     .gpu_mem_mib = scenario.gpu_mem_mib};
}

/* Runs the scenario with the observers and returns the summary. The first of the observers must be that of `usage`. A
   failure ends the program. */
static struct hr_summary *run_scenario(const char *rule, int64_t horizon_us, const struct hr_observer *observers,
                                       uint32_t n_observers, const struct hr_usage *usage) {
  struct hr_policy_choice choice = queue_choice("skip", rule);
  struct hr_run_config config = {.trace = &scenario.trace,
                                 .cluster = &scenario.cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = horizon_us,
                                 .check = true,
                                 .observers = observers,
                                 .n_observers = n_observers};
  struct hr_result *result;
  struct hr_summary *summary;
  struct hr_error error = {0};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status == HR_OK) status = hr_summarize(&scenario.trace, &scenario.cluster, result, usage, NULL, &summary, &error);
  if (status != HR_OK) {
    fprintf(stderr, "%s\n", error.text);
    abort();
  }
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
  return summary;
}

/* ---- By hand ---------------------------------------------------------------------------------------- */

/*
 * One node of 2 GPUs, 4 CPUs and 8 GiB. There are two kinds of tasks, and each is half of the typical pods:
 *   A: 0.4 GPUs, 3 CPUs, 2 GiB; from 0 s to 10 s, and from 22 s to 28 s
 *   B: 1 GPU, 1 CPU, 4 GiB; from 4 s to 14 s, and from 20 s to 30 s
 *
 * Free resources and counts by time (s):
 *   [0, 4)    0.6 + 1.0 GPUs, 1 CPU, 6 GiB. Too few CPUs for A: fragment 1.6. B fits the second GPU: fragment 0.6.
 *             F = 1.1, stranded 0, gang of 1
 *   [4, 10)   0.6 GPUs, no CPU. No CPU for A, no whole GPU for B. F = 0.6, stranded 0.6 (enough GPU for A), no gang
 *   [10, 14)  1.0 GPUs, 3 CPUs, 4 GiB. Both fit. F = 0, gang of 1
 *   [14, 20)  all resources. F = 0, gang of 2 (8 GiB are sufficient for two tasks B)
 *   [20, 22)  as [10, 14)
 *   [22, 28)  as [4, 10)
 *   [28, 30)  as [10, 14)
 */
static void make_one_node_scenario(void) {
  static char name[] = "p", gpu[] = "T4";
  static const int64_t seconds[][2] = {{0, 10}, {4, 10}, {20, 10}, {22, 6}};
  scenario.pools[0] = (struct hr_pool_spec){.name = name,
                                            .gpu = gpu,
                                            .nodes = 1,
                                            .gpus_per_node = 2,
                                            .cpu_milli_per_node = 4000,
                                            .mem_mib_per_node = 8192,
                                            .sharing = HR_SHARING_FRACTION};
  scenario.cluster = (struct hr_cluster_spec){.pools = scenario.pools, .n_pools = 1};
  for (uint32_t i = 0; i < 4; i++) {
    bool is_a = i % 3 == 0;
    scenario.submit_us[i] = seconds[i][0] * HR_SECOND_US;
    scenario.work_us[i] = seconds[i][1] * HR_SECOND_US;
    scenario.gpus[i] = scenario.tasks[i] = 1;
    scenario.gpu_milli[i] = is_a ? 400 : 1000;
    scenario.cpu_milli[i] = is_a ? 3000 : 1000;
    scenario.mem_mib[i] = is_a ? 2048 : 4096;
    scenario.gpu_mem_mib[i] = 0;
  }
  make_trace(4);
}

static void counts_of_one_node(void) {
  make_one_node_scenario();
  struct hr_usage *usage = hr_usage_create(&scenario.trace);
  struct hr_timeline *timeline;
  const char *path = files_path("timeline.csv");
  CU_ASSERT_EQUAL_FATAL(hr_timeline_create(path, &scenario.trace, usage, false, false, &timeline, NULL), HR_OK);
  const struct hr_observer observers[] = {hr_usage_observer(usage), hr_timeline_observer(timeline)};
  struct hr_summary *summary = run_scenario("best-fit", HR_NEVER_US, observers, 2, usage);
  const struct hr_fragmentation_metrics *figures = &summary->fragmentation;
  CU_ASSERT(figures->known);
  expect(summary->makespan_s, 30);
  expect(figures->submit_window, (4 * 1.1 + 6 * 0.6) / (22 * 2));
  expect(figures->makespan, (4 * 1.1 + 12 * 0.6) / (30 * 2));
  expect(figures->max, 1.1 / 2);
  expect(figures->stranded, 12 * 0.6 / (30 * 2));
  expect(figures->largest_gang_mean, (4 * 1 + 4 * 1 + 6 * 2 + 2 * 1 + 2 * 1) / 30.0);
  CU_ASSERT_EQUAL(figures->largest_gang_min, 0);
  CU_ASSERT_EQUAL(hr_timeline_finish(timeline, NULL), HR_OK);
  char *text = files_read(path);
  CU_ASSERT_STRING_EQUAL(text, "time_s,waiting,running,gpus_allocated,gpus_total,fragmented_gpus,stranded_gpus,"
                               "largest_gang\n0,0,1,0.4,2,1.1,0,1\n4,0,2,1.4,2,0.6,0.6,0\n10,0,1,1,2,0,0,1\n"
                               "14,0,0,0,2,0,0,2\n20,0,1,1,2,0,0,1\n22,0,2,1.4,2,0.6,0.6,0\n28,0,1,1,2,0,0,1\n"
                               "30,0,0,0,2,0,0,2\n");
  free(text);
  hr_timeline_destroy(timeline);
  hr_summary_destroy(summary);
  hr_usage_destroy(usage);
}

/* Clusters with counted allocation have no fragmentation metrics. */
static void no_metrics_with_counted_allocation(void) {
  make_one_node_scenario();
  scenario.pools[0].sharing = HR_SHARING_WHOLE;
  struct hr_usage *usage = hr_usage_create(&scenario.trace);
  const struct hr_observer observer = hr_usage_observer(usage);
  struct hr_summary *summary = run_scenario("best-fit", HR_NEVER_US, &observer, 1, usage);
  CU_ASSERT(!summary->fragmentation.known);
  CU_ASSERT_PTR_NULL(usage->fragments);
  hr_summary_destroy(summary);
  hr_usage_destroy(usage);
}

/* ---- Random scenarios ------------------------------------------------------------------------------- */

static struct hr__stream draws;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

/* Pool 1 may consist of spot nodes, and pool 2 may be reserved for a limited time. Some reclaims have a notice. */
static void draw_markets(void) {
  static struct hr_level_step levels[2];
  levels[1] = (struct hr_level_step){.at_us = (20 + draw(60)) * HR_SECOND_US, .level = draw(2)};
  levels[0].level = scenario.pools[1].nodes;
  if (draw(2))
    scenario.pools[1].market = (struct hr_market_spec){.market = HR_MARKET_SPOT,
                                                       .spot = {.model = HR_SPOT_TRACE,
                                                                .notice_us = draw(20) * HR_SECOND_US,
                                                                .levels = levels,
                                                                .n_levels = 2,
                                                                .period_us = 120 * HR_SECOND_US},
                                                       .boot = {.a = draw(5)}};
  if (draw(2))
    scenario.pools[2].market = (struct hr_market_spec){
        .market = HR_MARKET_RESERVED, .from_us = draw(80) * HR_SECOND_US, .to_us = 90 * HR_SECOND_US};
}

static void draw_pools(void) {
  static char name[] = "p", t4[] = "T4", a100[] = "A100-80";
  for (uint32_t i = 0; i < POOLS; i++)
    scenario.pools[i] = (struct hr_pool_spec){.name = name,
                                              .gpu = draw(2) ? t4 : a100,
                                              .nodes = 1 + draw(4),
                                              .gpus_per_node = 1 + draw(4),
                                              .gpu_mem_mib = draw(2) ? 16384 : 0,
                                              .cpu_milli_per_node = draw(4) ? 8000 : 0,
                                              .mem_mib_per_node = draw(4) ? 8000 : 0,
                                              .sharing = i == 0 || draw(2) ? HR_SHARING_FRACTION : HR_SHARING_WHOLE};
  scenario.pools[0].gpus_per_node = 4;
  scenario.pools[0].cpu_milli_per_node = 8000;
  scenario.pools[0].mem_mib_per_node = 8000;
  draw_markets();
  scenario.cluster = (struct hr_cluster_spec){.pools = scenario.pools, .n_pools = 1 + draw(POOLS)};
}

static void draw_jobs(void) {
  static const char *const lists[] = {"T4", "A100-80"};
  uint32_t steps = 1 + draw(4);
  for (uint32_t i = 0; i < JOBS; i++) {
    scenario.submit_us[i] = (i ? scenario.submit_us[i - 1] : 0) + draw(6) * HR_SECOND_US;
    scenario.work_us[i] = draw(40) * HR_SECOND_US;
    scenario.tasks[i] = 1 + draw(4) / 3;
    scenario.gpus[i] = scenario.tasks[i] * (draw(8) ? 1 + draw(2) : 0);
    scenario.gpu_milli[i] = (uint16_t)(draw(2) ? 1000 : 250 * (1 + draw(3)));
    scenario.cpu_milli[i] = draw(1 + steps) * (8000 / steps);
    scenario.mem_mib[i] = draw(1 + steps) * (8000 / steps);
    scenario.gpu_mem_mib[i] = draw(2) * draw(16384);
    scenario.gpu_types[i] = draw(4) ? HR_NONE : draw(2);
  }
  make_trace(JOBS);
  scenario.trace.gpu_types = scenario.gpu_types;
  scenario.trace.gpu_type_lists = (struct hr_names){2, lists};
}

/* ---- The recount ------------------------------------------------------------------------------------ */

/* Computes the counts of the observer from the free capacity of each node. */
static struct {
  const struct hr_usage *usage;
  struct hr_arena arena;
  struct naive naive;
  uint8_t row[MAX_CLASSES * POOLS];
  int64_t until_us;
  double fragment, stranded, gang, total; /* values since `until_us`: gang in tasks, the others in milli-GPUs */
  double fragment_us, stranded_us, gang_us, total_us; /* integrals of these values */
  double max_fragment, min_gang;
  uint64_t n_passes, n_fragments, n_stranded, n_closed;
} recount;

static bool is_typical(const struct hr_request *request) {
  for (uint32_t i = 0; i < recount.naive.typical->count; i++) {
    const struct hr_request *pod = &recount.naive.typical->request[i];
    if (pod->accept_class == request->accept_class && pod->gpus == request->gpus &&
        pod->gpu_milli == request->gpu_milli && pod->cpu_milli == request->cpu_milli)
      return true;
  }
  return false;
}

static void begin_recount(const struct hr_cluster *cluster) {
  const struct hr_requests *requests = hr_cluster_requests(cluster);
  uint32_t n_pools = scenario.cluster.n_pools, n_classes = 0;
  for (uint32_t i = 0; i < requests->count; i++)
    if (requests->request[i].accept_class >= n_classes) n_classes = requests->request[i].accept_class + 1;
  CU_ASSERT_FATAL(n_classes <= MAX_CLASSES);
  for (uint32_t class_ = 0; class_ < n_classes; class_++)
    for (uint32_t pool = 0; pool < n_pools; pool++)
      recount.row[class_ * n_pools + pool] = hr_cluster_accepts(cluster, class_, (hr_pool){pool});
  recount.naive.acceptance = (struct hr_acceptance){recount.row, n_classes, n_pools};
  recount.naive.typical = hr_typical_pods_create(&recount.arena, requests);
}

static struct naive_node node_now(const struct hr_gpu_inventory *inventory, uint32_t id) {
  struct naive_node node = {.pool = inventory->pool[id],
                            .id = id,
                            .whole_only = scenario.pools[inventory->pool[id]].sharing == HR_SHARING_WHOLE,
                            .n_gpus = inventory->n_gpus[id],
                            .cpu = inventory->cpu_milli[id] == HR_NONE ? -1 : (long)inventory->cpu_milli[id],
                            .mem = inventory->mem_mib[id] == UINT64_MAX ? -1 : (long)inventory->mem_mib[id]};
  for (int gpu = 0; gpu < node.n_gpus; gpu++) node.left[gpu] = hr_gpu_inventory_gpus(inventory, (hr_node){id})[gpu];
  return node;
}

static bool has_gpus(const struct naive_node *node, const struct hr_request *task) {
  int asked = node->whole_only ? 1000 : (int)task->gpu_milli, count = 0;
  for (int gpu = 0; gpu < node->n_gpus; gpu++) count += node->left[gpu] >= asked;
  return count >= (int)task->gpus;
}

static bool has_rest(const struct naive_node *node, const struct hr_request *task) {
  return (node->cpu < 0 || node->cpu >= (long)task->cpu_milli) && (node->mem < 0 || node->mem >= (long)task->mem_mib);
}

static bool is_stranded(const struct naive_node *node, const struct hr_requests *requests) {
  bool some_would_fit = false, some_fit = false;
  for (uint32_t i = 0; i < requests->count; i++) {
    const struct hr_request *task = &requests->request[i];
    bool accepts = recount.row[task->accept_class * scenario.cluster.n_pools + node->pool];
    if (task->gpus == 0 || !accepts || !is_typical(task) || !has_gpus(node, task)) continue;
    some_would_fit = true;
    some_fit |= has_rest(node, task);
  }
  return some_would_fit && !some_fit;
}

/* Returns the most frequent typical request for one whole GPU. */
static struct hr_request gang_task(const struct hr_requests *requests) {
  struct hr_request task = {0};
  uint64_t max_tasks = 0;
  for (uint32_t i = 0; i < requests->count; i++) {
    const struct hr_request *request = &requests->request[i];
    if (request->gpus != 1 || request->gpu_milli != 1000 || !is_typical(request)) continue;
    if (requests->jobs[i] * request->tasks <= max_tasks) continue;
    max_tasks = requests->jobs[i] * request->tasks;
    task = *request;
  }
  return task;
}

/* Counts the tasks that fit on a node by placing one task after another. */
static uint32_t gang_of(struct naive_node node, const struct hr_request *task) {
  for (uint32_t placed = 0;; placed++) {
    int gpu = 0;
    while (gpu < node.n_gpus && node.left[gpu] < 1000) gpu++;
    if (gpu == node.n_gpus || !has_rest(&node, task)) return placed;
    node.left[gpu] = 0;
    if (node.cpu >= 0) node.cpu -= (long)task->cpu_milli;
    if (node.mem >= 0) node.mem -= (long)task->mem_mib;
  }
}

static void count_again(const struct hr_cluster *cluster) {
  const struct hr_gpu_inventory *inventory = hr_cluster_gpu_inventory(cluster);
  const struct hr_requests *requests = hr_cluster_requests(cluster);
  struct hr_request task = gang_task(requests);
  uint32_t gang[POOLS] = {0}, largest = 0;
  long fragment = 0, stranded = 0;
  for (uint32_t id = 0; id < inventory->n_nodes; id++) {
    struct naive_node node = node_now(inventory, id);
    bool is_up = hr_cluster_node_state(cluster, (hr_node){id}) == HR_NODE_UP;
    recount.n_closed += !is_up;
    if (!is_up) continue;
    fragment += naive_fragment(&recount.naive, &node);
    for (int gpu = 0; is_stranded(&node, requests) && gpu < node.n_gpus; gpu++) stranded += node.left[gpu];
    gang[node.pool] += gang_of(node, &task);
    if (gang[node.pool] > largest) largest = gang[node.pool];
  }
  const struct hr__fragment_counts *counts = &recount.usage->counts;
  CU_ASSERT_FATAL(counts->fragment == (hr__wide)fragment);
  CU_ASSERT_FATAL(counts->stranded_milli == (uint64_t)stranded);
  CU_ASSERT_FATAL(counts->largest_gang == largest);
  recount.fragment = (double)fragment / (double)recount.naive.typical->total;
  recount.stranded = (double)stranded;
  recount.gang = largest;
}

static void watch(void *self, const struct hr_view *view) {
  (void)self;
  double passed_us = (double)(view->now_us - recount.until_us);
  if (!recount.naive.typical) begin_recount(view->cluster);
  recount.fragment_us += recount.fragment * passed_us;
  recount.stranded_us += recount.stranded * passed_us;
  recount.gang_us += recount.gang * passed_us;
  recount.total_us += recount.total * passed_us;
  recount.until_us = view->now_us;
  recount.total = (double)view->total_milli;
  count_again(view->cluster);
  if (recount.total > 0) recount.max_fragment = fmax(recount.max_fragment, recount.fragment / recount.total);
  recount.min_gang = recount.n_passes++ ? fmin(recount.min_gang, recount.gang) : recount.gang;
  recount.n_fragments += recount.fragment > 0;
  recount.n_stranded += recount.stranded > 0;
}

static void near(double got, double wanted) {
  if (fabs(got - wanted) > 1e-9) printf("\n  %.17g, wanted %.17g\n", got, wanted);
  CU_ASSERT_TRUE(fabs(got - wanted) <= 1e-9);
}

/* Runs end at a horizon, so that the makespan covers all observed time. */
static void random_runs_match_recount(void) {
  static const char *const rules[] = {"best-fit", "worst-fit", "first-fit", "spread", "gpu-packing", "fgd"};
  uint64_t n_passes = 0, n_fragments = 0, n_stranded = 0, n_closed = 0, gangs = 0;
  for (uint32_t seed = 0; seed < CASES; seed++) {
    hr__stream_init(&draws, 11, HR__PURPOSE_ARRIVAL, seed, 0);
    draw_pools();
    draw_jobs();
    struct hr_usage *usage = hr_usage_create(&scenario.trace);
    memset(&recount, 0, sizeof recount);
    recount.usage = usage;
    const struct hr_observer observers[] = {hr_usage_observer(usage), {.on_instant = watch}};
    const char *rule = rules[seed % (sizeof rules / sizeof *rules)];
    int64_t horizon_us = scenario.submit_us[JOBS - 1] + 5 * HR_SECOND_US;
    struct hr_summary *summary = run_scenario(rule, horizon_us, observers, 2, usage);
    const struct hr_fragmentation_metrics *figures = &summary->fragmentation;
    near(figures->makespan, recount.fragment_us / recount.total_us);
    near(figures->stranded, recount.stranded_us / recount.total_us);
    near(figures->largest_gang_mean, recount.gang_us / (double)recount.until_us);
    near(figures->max, recount.max_fragment);
    near((double)figures->largest_gang_min, recount.min_gang);
    n_passes += recount.n_passes;
    n_fragments += recount.n_fragments;
    n_stranded += recount.n_stranded;
    n_closed += recount.n_closed;
    gangs += figures->largest_gang_min < (uint64_t)(figures->largest_gang_mean + 0.5);
    hr__arena_finish(&recount.arena);
    hr_summary_destroy(summary);
    hr_usage_destroy(usage);
  }
  CU_ASSERT(n_passes > CASES * JOBS);
  CU_ASSERT(n_fragments > n_passes / 2);
  CU_ASSERT(n_stranded > n_passes / 20);
  CU_ASSERT(n_closed > n_passes / 20);
  CU_ASSERT(gangs > CASES / 2);
}

TEST_MAIN("report: fragments", TEST(counts_of_one_node), TEST(no_metrics_with_counted_allocation),
          TEST(random_runs_match_recount))
