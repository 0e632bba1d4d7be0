/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics by pool: cases computed by hand, and random runs compared with sums over all jobs and nodes after every
   pass. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/report.h"
#include "queue_choice.h"

#include <math.h>
#include <string.h>

#define SECOND HR_SECOND_US

enum { JOBS = 50, POOLS = 4, RUNS = 300 };

static struct {
  int64_t submit_us[JOBS], work_us[JOBS];
  uint32_t gpus[JOBS], tasks[JOBS], gpu_types[JOBS];
  uint16_t gpu_milli[JOBS];
  uint8_t class_[JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pools[POOLS];
  struct hr_cluster_spec cluster;
  struct hr_class_spec classes[HR_N_CLASSES];
  int64_t horizon_us;
} scenario;

/* Initializes a scenario with jobs of one GPU on T4s or A100s, and `n_pools` pools of one node with one GPU. */
static void make_scenario(uint32_t n_jobs, uint32_t n_pools) {
  static const char *const types[] = {"T4", "A100-80"};
  static char t4[] = "T4", a100[] = "A100-80";
  static char *const names[POOLS] = {(char *)"one", (char *)"two", (char *)"three", (char *)"four"};
  memset(&scenario, 0, sizeof scenario);
  for (uint32_t i = 0; i < JOBS; i++) {
    scenario.gpus[i] = scenario.tasks[i] = 1;
    scenario.gpu_milli[i] = 1000;
  }
  for (uint32_t i = 0; i < POOLS; i++)
    scenario.pools[i] =
        (struct hr_pool_spec){.name = names[i], .gpu = i % 2 ? a100 : t4, .nodes = 1, .gpus_per_node = 1};
  scenario.trace = (struct hr_trace){.source = "test",
                                     .format = "memory",
                                     .n_jobs = n_jobs,
                                     .submit_us = scenario.submit_us,
                                     .work_us = scenario.work_us,
                                     .gpus = scenario.gpus,
                                     .tasks = scenario.tasks,
                                     .gpu_milli = scenario.gpu_milli,
                                     .class_ = scenario.class_,
                                     .gpu_types = scenario.gpu_types,
                                     .gpu_type_lists = {2, types}};
  scenario.cluster = (struct hr_cluster_spec){scenario.pools, n_pools};
  scenario.horizon_us = HR_NEVER_US;
}

/* Runs the scenario with prices and returns the summary. `watch` is an additional observer. A failure ends the
   program. */
static struct hr_summary *run_scenario(const struct hr_observer *watch) {
  static const struct hr_cost_spec no_costs;
  struct hr_policy_choice choice = queue_choice("skip", "best-fit");
  struct hr_usage *usage = hr_usage_create(&scenario.trace);
  struct hr_ledger *ledger = hr_ledger_create(&scenario.trace, &scenario.cluster, true);
  struct hr_meter *meter = hr_meter_create(&scenario.trace, &scenario.cluster, &no_costs);
  const struct hr_observer observers[] = {hr_usage_observer(usage), hr_ledger_observer(ledger),
                                          hr_meter_observer(meter), *watch};
  struct hr_run_config config = {.trace = &scenario.trace,
                                 .cluster = &scenario.cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = 1,
                                 .horizon_us = scenario.horizon_us,
                                 .check = true,
                                 .classes = scenario.classes,
                                 .observers = observers,
                                 .n_observers = 4};
  const struct hr_cost_basis basis = {ledger, meter, &no_costs, scenario.classes};
  struct hr_result *result = NULL;
  struct hr_summary *summary = NULL;
  struct hr_error error = {0};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status == HR_OK) status = hr_ledger_close(ledger, result);
  if (status == HR_OK)
    status = hr_summarize(&scenario.trace, &scenario.cluster, result, usage, &basis, &summary, &error);
  if (status != HR_OK) {
    fprintf(stderr, "%s\n", error.text);
    abort();
  }
  hr_result_destroy(result);
  hr_meter_destroy(meter);
  hr_ledger_destroy(ledger);
  hr_usage_destroy(usage);
  hr_policy_choice_finish(&choice);
  return summary;
}

static const struct hr_observer no_observer;

static void expect(double got, double wanted) {
  bool same = fabs(got - wanted) <= 1e-12 * fabs(wanted);
  if (!same) printf("\n  %.17g, wanted %.17g\n", got, wanted);
  CU_ASSERT_TRUE(same);
}

/* ---- By hand ---------------------------------------------------------------------------------------- */

/*
 *   one   1 T4 in two slices, $3.60 an hour
 *   two   2 A100s, not shared, without a price
 *
 *   job  where  work  runs
 *   0    one    10 s  0-20, at half speed next to job 1
 *   1    one    10 s  0-20
 *   2    two    30 s  5-35
 *   3    two     0 s  35-35; a run time of 0 has no latency factor
 */
static void make_two_pools(void) {
  make_scenario(4, 2);
  scenario.pools[0].sharing = HR_SHARING_TIME_SLICE;
  scenario.pools[0].replicas = 2;
  scenario.pools[0].market = (struct hr_market_spec){.market = HR_MARKET_OWNED, .price_uusd_h = 3600000};
  scenario.pools[1].gpus_per_node = 2;
  scenario.work_us[0] = scenario.work_us[1] = 10 * SECOND;
  scenario.gpu_types[2] = scenario.gpu_types[3] = 1;
  scenario.submit_us[2] = 5 * SECOND;
  scenario.work_us[2] = 30 * SECOND;
  scenario.submit_us[3] = 35 * SECOND;
}

static void metrics_of_two_pools(void) {
  make_two_pools();
  struct hr_summary *summary = run_scenario(&no_observer);
  CU_ASSERT_EQUAL_FATAL(summary->n_pools, 2);
  const struct hr_pool_metrics *one = &summary->by_pool[0], *two = &summary->by_pool[1];
  CU_ASSERT_STRING_EQUAL(one->name, "one");
  CU_ASSERT_STRING_EQUAL(one->gpu, "T4");
  CU_ASSERT_EQUAL(one->sharing, HR_SHARING_TIME_SLICE);
  CU_ASSERT_EQUAL(one->completed, 2);
  expect(one->gpu_hours, 20 / 3600.0);
  expect(one->utilization, 20 / 35.0);
  CU_ASSERT_EQUAL(one->latency_factor.count, 2);
  expect(one->latency_factor.mean, 2);
  expect(one->latency_factor.p95, 2);
  CU_ASSERT_EQUAL(one->cost_uusd, 35000); /* 35 s at $0.001 per second */
  CU_ASSERT_EQUAL(one->per_completed_job_uusd, 17500);
  CU_ASSERT_STRING_EQUAL(two->name, "two");
  CU_ASSERT_EQUAL(two->sharing, HR_SHARING_WHOLE);
  CU_ASSERT_EQUAL(two->completed, 2);
  expect(two->gpu_hours, 30 / 3600.0);
  expect(two->utilization, 30 / 70.0);
  CU_ASSERT_EQUAL(two->latency_factor.count, 1);
  expect(two->latency_factor.max, 1);
  CU_ASSERT_EQUAL(two->cost_uusd, HR_UNKNOWN_UUSD);
  CU_ASSERT_EQUAL(two->per_completed_job_uusd, HR_UNKNOWN_UUSD);
  hr_summary_destroy(summary);
}

static void single_pool_has_no_pool_metrics(void) {
  make_two_pools();
  scenario.cluster.n_pools = 1;
  struct hr_summary *summary = run_scenario(&no_observer);
  CU_ASSERT_EQUAL(summary->n_pools, 0);
  CU_ASSERT_PTR_NULL(summary->by_pool);
  hr_summary_destroy(summary);
}

/*
 *   one    2 T4s, reserved from 10 s to 60 s
 *   two    1 A100, reserved for the whole run
 *   three  1 T4, reserved from 1,000 s on
 *
 *   job  work  runs
 *   0    20 s  one 10-30
 *   1    30 s  two 0-30
 *   2    9 s   never: submitted at 100 s and rejected, because it requests more GPUs than exist
 *
 * The makespan ends at 30 s and excludes all later events.
 */
static void reservations_begin_and_end(void) {
  make_scenario(3, 3);
  for (uint32_t i = 0; i < 3; i++)
    scenario.pools[i].market =
        (struct hr_market_spec){HR_MARKET_RESERVED, .price_uusd_h = 3600000, .to_us = HR_NEVER_US};
  scenario.pools[0].nodes = 2;
  scenario.pools[0].market.from_us = 10 * SECOND;
  scenario.pools[0].market.to_us = 60 * SECOND;
  scenario.pools[2].market.from_us = 1000 * SECOND;
  scenario.work_us[0] = 20 * SECOND;
  scenario.work_us[1] = 30 * SECOND;
  scenario.gpu_types[1] = 1;
  scenario.submit_us[2] = 100 * SECOND;
  scenario.work_us[2] = 9 * SECOND;
  scenario.gpus[2] = 9;
  struct hr_summary *summary = run_scenario(&no_observer);
  CU_ASSERT_EQUAL_FATAL(summary->n_pools, 3);
  CU_ASSERT_EQUAL(summary->jobs_rejected, 1);
  expect(summary->makespan_s, 30);
  expect(summary->by_pool[0].utilization, 0.5);
  expect(summary->by_pool[0].gpu_hours, 20 / 3600.0);
  expect(summary->by_pool[0].latency_factor.mean, 1);
  CU_ASSERT_EQUAL(summary->by_pool[0].cost_uusd, 100000);
  expect(summary->by_pool[1].utilization, 1);
  CU_ASSERT_TRUE(isnan(summary->by_pool[2].utilization));
  CU_ASSERT_EQUAL(summary->by_pool[2].completed, 0);
  CU_ASSERT_EQUAL(summary->by_pool[2].latency_factor.count, 0);
  CU_ASSERT_EQUAL(summary->by_pool[2].per_completed_job_uusd, HR_UNKNOWN_UUSD);
  hr_summary_destroy(summary);
}

/* A job starts on a spot node, which is reclaimed, and restarts in another pool. The job counts in the pool of its last
   attempt, and so does its latency factor, which covers all attempts. GPU hours count in the pool in which they were
   used. */
static void gpu_hours_by_pool_of_attempt(void) {
  static struct hr_level_step levels[] = {{0, 1}, {30 * SECOND, 0}};
  make_scenario(1, 3);
  scenario.pools[0].market = (struct hr_market_spec){
      .market = HR_MARKET_SPOT,
      .spot = {.model = HR_SPOT_TRACE, .levels = levels, .n_levels = 2, .period_us = 100000 * SECOND}};
  scenario.pools[2].market =
      (struct hr_market_spec){.market = HR_MARKET_RESERVED, .from_us = 50 * SECOND, .to_us = HR_NEVER_US};
  scenario.work_us[0] = 40 * SECOND;
  struct hr_summary *summary = run_scenario(&no_observer);
  CU_ASSERT_EQUAL_FATAL(summary->n_pools, 3);
  CU_ASSERT_EQUAL(summary->by_pool[0].completed, 0);
  expect(summary->by_pool[0].gpu_hours, 30 / 3600.0);
  CU_ASSERT_EQUAL(summary->by_pool[2].completed, 1);
  expect(summary->by_pool[2].gpu_hours, 40 / 3600.0);
  expect(summary->by_pool[2].latency_factor.mean, 70 / 40.0);
  hr_summary_destroy(summary);
}

/* ---- Random runs ------------------------------------------------------------------------------------ */

static uint64_t state;

/* Returns a random number below `below`. The generator is a 64-bit linear congruential generator with the constants of
   Knuth. Only the high bits are used, because the low bits have short periods. */
static uint32_t draw(uint32_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((state >> 33) % below);
}

static void draw_pool(struct hr_pool_spec *pool) {
  static const enum hr_sharing sharings[] = {HR_SHARING_WHOLE, HR_SHARING_FRACTION, HR_SHARING_TIME_SLICE};
  pool->nodes = 1 + draw(3);
  pool->gpus_per_node = 1 + draw(4);
  pool->sharing = sharings[draw(3)];
  if (pool->sharing == HR_SHARING_TIME_SLICE) pool->replicas = 2 + draw(3);
  pool->market = (struct hr_market_spec){.market = (enum hr_market)draw(HR_N_MARKETS), .to_us = HR_NEVER_US};
  if (pool->market.market != HR_MARKET_NONE) pool->market.price_uusd_h = draw(5000000);
  if (pool->market.market == HR_MARKET_RESERVED && draw(2)) {
    pool->market.from_us = draw(100) * SECOND;
    pool->market.to_us = pool->market.from_us + (1 + draw(200)) * SECOND;
  }
  pool->market.boot = (struct hr_duration){HR_DURATION_FIXED, draw(30), 0};
  if (pool->market.market == HR_MARKET_SPOT)
    pool->market.spot = (struct hr_spot_spec){
        .model = HR_SPOT_EXPONENTIAL, .notice_us = draw(5) * SECOND, .rate_per_h = 60, .batch_mean = 1};
}

static void draw_scenario(uint64_t seed) {
  state = seed;
  make_scenario(JOBS, 2 + draw(POOLS - 1));
  for (uint32_t i = 0; i < POOLS; i++) draw_pool(&scenario.pools[i]);
  scenario.pools[0].market = (struct hr_market_spec){0};
  for (uint32_t i = 0; i < JOBS; i++) {
    scenario.submit_us[i] = i ? scenario.submit_us[i - 1] + draw(10) * SECOND : 0;
    scenario.work_us[i] = draw(60) * SECOND;
    scenario.tasks[i] = 1 + draw(2);
    scenario.gpus[i] = scenario.tasks[i] * (draw(8) ? 1 + draw(2) : 0);
    scenario.gpu_milli[i] = (uint16_t)(draw(2) ? 1000 : 250 * (1 + draw(3)));
    scenario.gpu_types[i] = draw(4) ? HR_NONE : draw(2);
    scenario.class_[i] = (uint8_t)draw(HR_N_CLASSES);
  }
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    scenario.classes[i] = (struct hr_class_spec){.checkpoint = draw(2) ? HR_CHECKPOINT_INTERVAL : HR_CHECKPOINT_NONE,
                                                 .interval_us = 10 * SECOND,
                                                 .write_us = draw(3) * SECOND,
                                                 .restart_us = draw(5) * SECOND};
  scenario.horizon_us = (draw(3) ? 36000 : draw(400)) * SECOND;
}

/* Metrics that the test computes directly from the events and passes of the run. */
static struct {
  int64_t until_us, begun_us[JOBS], held_us[JOBS];
  double allocated[POOLS], total[POOLS];                             /* values since `until_us`, in milli-GPUs */
  double allocated_us[POOLS], total_us[POOLS];                       /* integrals of the values */
  double allocated_at_end[POOLS], total_at_end[POOLS], hours[POOLS]; /* integrals up to the last end of a job */
  double factor[POOLS][JOBS];
  uint32_t n_factors[POOLS], completed[POOLS];
  bool ended;
} direct;

static void direct_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  (void)self;
  (void)view;
  uint32_t job = event->job.id;
  if (event->kind == HR_EVENT_START) direct.begun_us[job] = event->at_us;
  if (event->kind != HR_EVENT_END && event->kind != HR_EVENT_INTERRUPT && event->kind != HR_EVENT_PREEMPT) return;
  direct.held_us[job] += event->at_us - direct.begun_us[job];
  if (event->kind != HR_EVENT_END) return;
  uint32_t pool = event->placement->pool.id;
  direct.ended = true;
  direct.completed[pool]++;
  if (scenario.work_us[job] > 0)
    direct.factor[pool][direct.n_factors[pool]++] = (double)direct.held_us[job] / (double)scenario.work_us[job];
}

static void count_again(const struct hr_view *view) {
  memset(direct.allocated, 0, sizeof direct.allocated);
  memset(direct.total, 0, sizeof direct.total);
  for (uint32_t job = 0; job < JOBS; job++) {
    struct hr_slice one;
    if (view->state[job] != HR_JOB_RUNNING) continue;
    struct hr_placement placement = hr_view_placement(view, (hr_job){job}, &one);
    for (uint32_t i = 0; i < placement.n_slices; i++)
      direct.allocated[placement.pool.id] += placement.slices[i].gpu_milli;
  }
  for (uint32_t pool = 0; pool < scenario.cluster.n_pools; pool++)
    for (uint32_t i = 0; i < scenario.pools[pool].nodes; i++) {
      hr_node node = {hr_cluster_first_node(view->cluster, (hr_pool){pool}).id + i};
      enum hr_node_state node_state = hr_cluster_node_state(view->cluster, node);
      if (node_state == HR_NODE_UP || node_state == HR_NODE_CLOSING)
        direct.total[pool] += scenario.pools[pool].gpus_per_node * 1000.0;
    }
}

static void direct_instant(void *self, const struct hr_view *view) {
  (void)self;
  for (uint32_t pool = 0; pool < POOLS; pool++) {
    direct.allocated_us[pool] += direct.allocated[pool] * (double)(view->now_us - direct.until_us);
    direct.total_us[pool] += direct.total[pool] * (double)(view->now_us - direct.until_us);
  }
  if (direct.ended) {
    memcpy(direct.allocated_at_end, direct.allocated_us, sizeof direct.allocated_us);
    memcpy(direct.total_at_end, direct.total_us, sizeof direct.total_us);
  }
  direct.ended = false;
  direct.until_us = view->now_us;
  count_again(view);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(const double *sorted, uint32_t count, double q) {
  double place = q * (count - 1);
  uint32_t low = (uint32_t)place, high = low + 1 < count ? low + 1 : low;
  return sorted[low] + (place - low) * (sorted[high] - sorted[low]);
}

static void expect_factors(const struct hr_distribution *distribution, double *factors, uint32_t count) {
  double sum = 0;
  CU_ASSERT_EQUAL_FATAL(distribution->count, count);
  if (count == 0) return;
  for (uint32_t i = 0; i < count; i++) sum += factors[i];
  qsort(factors, count, sizeof *factors, ascending);
  CU_ASSERT_DOUBLE_EQUAL(distribution->mean, sum / count, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(distribution->p50, quantile(factors, count, 0.5), 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(distribution->p95, quantile(factors, count, 0.95), 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(distribution->max, factors[count - 1], 1e-9);
}

static void expect_pool(const struct hr_summary *summary, uint32_t pool, bool finished) {
  const struct hr_pool_metrics *figures = &summary->by_pool[pool];
  double allocated = finished ? direct.allocated_at_end[pool] : direct.allocated_us[pool];
  double total = finished ? direct.total_at_end[pool] : direct.total_us[pool];
  CU_ASSERT_EQUAL(figures->completed, direct.completed[pool]);
  CU_ASSERT_DOUBLE_EQUAL(figures->gpu_hours, direct.allocated_us[pool] / 3.6e12, 1e-9);
  if (total > 0) CU_ASSERT_DOUBLE_EQUAL(figures->utilization, allocated / total, 1e-9);
  CU_ASSERT_EQUAL(isnan(figures->utilization), total == 0);
  expect_factors(&figures->latency_factor, direct.factor[pool], direct.n_factors[pool]);
}

/* Asserts that the GPU hours, jobs and costs of the pools sum to those of the run. */
static void expect_sums(const struct hr_summary *summary) {
  double hours = 0;
  uint64_t completed = 0;
  int64_t uusd = 0;
  for (size_t i = 0; i < summary->n_pools; i++) {
    const struct hr_pool_metrics *figures = &summary->by_pool[i];
    hours += figures->gpu_hours;
    completed += figures->completed;
    if (figures->cost_uusd != HR_UNKNOWN_UUSD) uusd += figures->cost_uusd;
    CU_ASSERT_EQUAL(figures->cost_uusd == HR_UNKNOWN_UUSD, scenario.pools[i].market.market == HR_MARKET_NONE);
  }
  CU_ASSERT_DOUBLE_EQUAL(hours, summary->gpu_hours, 1e-9);
  CU_ASSERT_EQUAL(completed, summary->jobs_completed);
  CU_ASSERT_EQUAL(uusd, summary->costs->total_uusd);
}

static void random_runs_match_direct_sums(void) {
  const struct hr_observer watch = {NULL, direct_event, direct_instant};
  uint64_t interrupted = 0, never_there = 0, cut = 0, slowed = 0;
  for (uint64_t seed = 1; seed <= RUNS; seed++) {
    draw_scenario(seed);
    memset(&direct, 0, sizeof direct);
    struct hr_summary *summary = run_scenario(&watch);
    bool finished = summary->jobs_completed + summary->jobs_rejected == JOBS;
    CU_ASSERT_EQUAL_FATAL(summary->n_pools, scenario.cluster.n_pools);
    for (uint32_t pool = 0; pool < scenario.cluster.n_pools; pool++) {
      expect_pool(summary, pool, finished);
      never_there += isnan(summary->by_pool[pool].utilization) ? 1 : 0;
      slowed += summary->by_pool[pool].latency_factor.mean > 1;
    }
    expect_sums(summary);
    interrupted += summary->spot.jobs_interrupted;
    cut += !finished;
    hr_summary_destroy(summary);
  }
  CU_ASSERT(interrupted > RUNS / 2);
  CU_ASSERT(never_there > 0);
  CU_ASSERT(cut > RUNS / 5);
  CU_ASSERT(slowed > RUNS / 2);
}

TEST_MAIN("report: by pool", TEST(metrics_of_two_pools), TEST(single_pool_has_no_pool_metrics),
          TEST(reservations_begin_and_end), TEST(gpu_hours_by_pool_of_attempt), TEST(random_runs_match_direct_sums))
