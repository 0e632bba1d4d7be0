/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several clusters in one run: each cluster has the same results as alone, independently of the others. Routers make
 * the same choices as a simple implementation of their rules. Runs are in checked mode, which compares the engine's
 * copy of all pools with the clusters after each instant.
 */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/power.h"
#include "headroom/sim.h"
#include "headroom/unstable/clusters.h"
#include "headroom/unstable/faults.h"
#include "queue_choice.h"
#include "sim/clusters/clusters.h"

#include <string.h>

enum { N_CASES = 120, MAX_JOBS = 80, MAX_CLUSTERS = 4, MAX_POOLS = 2 };
#define S HR_SECOND_US
/* The routers that need no rules and make no copies. The other routers are tested in tests/sim/job_copies.c. */
enum { N_BY_LOAD = HR_JOB_ROUTER_LEAST_LOADED + 1 };

static uint64_t random_state;

static uint32_t draw(uint32_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((random_state >> 33) % below);
}

/* ---- Random clusters ---------------------------------------------------------------------------------- */

/* Jobs, and clusters that are the home of one tenant each. */
struct random_case {
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS], limit_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], tenant[MAX_JOBS], n_jobs, n_clusters;
  struct hr_pool_spec pools[MAX_CLUSTERS][MAX_POOLS], all_pools[MAX_CLUSTERS * MAX_POOLS];
  struct hr_cluster_spec cluster[MAX_CLUSTERS], all;
  struct hr_policy_choice policy[MAX_CLUSTERS];
  struct hr_cluster_part part[MAX_CLUSTERS];
  struct hr_fault_spec faults;
  struct hr_fault_process process;
  struct hr_class_spec classes[HR_N_CLASSES];
  struct hr_power_spec power, sleepy; /* nodes with `sleepy` sleep if they are idle */
  int64_t horizon_us;
};

static char *tenant_names[MAX_CLUSTERS];
static char names[MAX_CLUSTERS][2] = {"0", "1", "2", "3"};

static void draw_pool(struct random_case *random, struct hr_pool_spec *pool) {
  static char name[] = "p", gpu[] = "A100-80";
  *pool = (struct hr_pool_spec){
      .name = name, .gpu = gpu, .nodes = 1 + draw(4), .gpus_per_node = 1 + draw(4), .market = {.to_us = HR_NEVER_US}};
  const uint32_t kind = draw(4);
  if (kind == 1) pool->faults = &random->faults;
  pool->power = kind < 2 && pool->nodes % 2 ? &random->sleepy : &random->power;
  if (kind < 2) return;
  pool->market.market = HR_MARKET_ON_DEMAND;
  pool->market.price_uusd_h = 1000000 * (1 + draw(5));
  pool->market.on_demand_uusd_h = pool->market.price_uusd_h;
  pool->market.boot = (struct hr_duration){HR_DURATION_FIXED, draw(100), 0};
}

static struct hr_policy_choice draw_policy(void) {
  static const char *const policies[] = {"fifo", "sjf", "queue", "rounds", "kubernetes"};
  static const char *const backfills[] = {"strict", "skip", "easy", "conservative"};
  const char *name = policies[draw(5)];
  struct hr_policy_choice choice = {0};
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, name, NULL), HR_OK);
  if (strcmp(name, "queue") == 0) queue_set(&choice, "backfill", backfills[draw(4)]);
  return choice;
}

static void draw_case(struct random_case *random) {
  *random = (struct random_case){.n_jobs = 1 + draw(MAX_JOBS), .n_clusters = 1 + draw(MAX_CLUSTERS)};
  random->process = (struct hr_fault_process){.unit = HR_TIER_NODE, .bad_factor = 1};
  random->process.between = (struct hr_duration){HR_DURATION_EXPONENTIAL, 500 + draw(3000), 0};
  random->process.only.repair = (struct hr_duration){HR_DURATION_FIXED, 1 + draw(100), 0};
  random->faults = (struct hr_fault_spec){.processes = &random->process, .n_processes = 1};
  random->power = (struct hr_power_spec){.gpu_idle_w = 50, .gpu_max_w = 400, .host_max_w = 90, .utilization = 1};
  random->power.pue = 1.25;
  random->sleepy = random->power;
  random->sleepy.sleep = (struct hr_power_sleep){.idle_us = 90 * S, .boot = {HR_DURATION_FIXED, 45, 0}};
  random->horizon_us = (2000 + (int64_t)draw(20000)) * S;
  int64_t at_us = 0;
  for (uint32_t i = 0; i < random->n_jobs; i++) {
    at_us += i && draw(3) ? (int64_t)draw(200) * S : 0;
    random->submit_us[i] = at_us;
    random->work_us[i] = (int64_t)draw(1500) * S;
    random->limit_us[i] = random->work_us[i] + (int64_t)draw(500) * S;
    random->gpus[i] = draw(6);
    random->tenant[i] = draw(random->n_clusters);
  }
  for (uint32_t i = 0; i < random->n_clusters; i++) {
    tenant_names[i] = names[i];
    random->cluster[i] = (struct hr_cluster_spec){.pools = random->pools[i], .n_pools = 1 + draw(MAX_POOLS)};
    random->policy[i] = draw_policy();
    for (uint32_t k = 0; k < random->cluster[i].n_pools; k++) {
      draw_pool(random, &random->pools[i][k]);
      random->all_pools[random->all.n_pools++] = random->pools[i][k];
    }
    random->part[i] = (struct hr_cluster_part){.name = names[i],
                                               .cluster = &random->cluster[i],
                                               .policy = random->policy[i].ops,
                                               .params = random->policy[i].params,
                                               .classes = random->classes,
                                               .tenants = &tenant_names[i],
                                               .n_tenants = 1};
  }
  random->all.pools = random->all_pools;
}

static void finish_case(struct random_case *random) {
  for (uint32_t i = 0; i < random->n_clusters; i++) hr_policy_choice_finish(&random->policy[i]);
}

static struct hr_trace trace_of(const struct random_case *random) {
  return (struct hr_trace){.source = "test",
                           .n_jobs = random->n_jobs,
                           .submit_us = random->submit_us,
                           .work_us = random->work_us,
                           .limit_us = random->limit_us,
                           .gpus = random->gpus,
                           .tenant = random->tenant,
                           .tenants = {.text = (const char *const *)tenant_names, .count = random->n_clusters}};
}

/* Runs with a ledger. The charges of all tenants must equal the cost of the used capacity of all pools. */
static void simulate(struct hr_run_config *config, struct hr_result **result) {
  struct hr_error error = {0};
  struct hr_ledger *ledger = hr_ledger_create(config->trace, config->cluster, false);
  CU_ASSERT_PTR_NOT_NULL_FATAL(ledger);
  const struct hr_observer observer = hr_ledger_observer(ledger);
  config->observers = &observer;
  config->n_observers = 1;
  const enum hr_status status = hr_sim_run(config, result, &error);
  config->observers = NULL;
  config->n_observers = 0;
  if (status != HR_OK) fprintf(stderr, "%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT_EQUAL(hr_ledger_close(ledger, *result), HR_OK);
  hr_amount used = 0;
  const struct hr_charge *charges;
  const size_t n_charges = hr_ledger_charges(ledger, &charges);
  for (uint32_t i = 0; i < config->cluster->n_pools; i++) used += hr_ledger_pool(ledger, (hr_pool){i})->used;
  for (size_t i = 0; i < n_charges; i++) used -= charges[i].amount;
  CU_ASSERT(used == 0);
  hr_ledger_destroy(ledger);
}

static struct hr_result *run_all(const struct random_case *random, const struct hr_trace *trace,
                                 enum hr_job_router_kind kind) {
  const struct hr_clusters clusters = {.at = random->part,
                                       .count = random->n_clusters,
                                       .router = {.kind = kind,
                                                  .spill = HR_JOB_ROUTER_SHORTEST_WAIT,
                                                  .max_waiting = HR_NONE,
                                                  .max_wait_us = HR_NEVER_US,
                                                  .budget_uusd = HR_NEVER_US}};
  struct hr_run_config config = {.trace = trace,
                                 .cluster = &random->all,
                                 .seed = 5,
                                 .horizon_us = random->horizon_us,
                                 .check = true,
                                 .classes = random->classes,
                                 .clusters = &clusters};
  struct hr_result *result = NULL;
  simulate(&config, &result);
  return result;
}

/* Runs the jobs of cluster `at` in this cluster alone, and compares the results with those of the common run. */
static void compare_alone(const struct random_case *random, uint32_t at, const struct hr_result *together) {
  struct random_case alone = *random;
  uint32_t n = 0, of[MAX_JOBS];
  for (uint32_t i = 0; i < random->n_jobs; i++) {
    if (together->cluster_of[i] != at) continue;
    of[n] = i;
    alone.submit_us[n] = random->submit_us[i];
    alone.work_us[n] = random->work_us[i];
    alone.limit_us[n] = random->limit_us[i];
    alone.gpus[n] = random->gpus[i];
    alone.tenant[n++] = random->tenant[i];
  }
  alone.n_jobs = n;
  const struct hr_trace trace = trace_of(&alone);
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &random->cluster[at],
                                 .policy = random->policy[at].ops,
                                 .params = random->policy[at].params,
                                 .seed = 5,
                                 .horizon_us = random->horizon_us,
                                 .check = true,
                                 .classes = random->classes};
  struct hr_result *result = NULL;
  simulate(&config, &result);
  CU_ASSERT_EQUAL(result->digest, together->clusters[at].digest);
  for (uint32_t i = 0; i < n; i++) {
    CU_ASSERT_EQUAL(result->start_us[i], together->start_us[of[i]]);
    CU_ASSERT_EQUAL(result->state[i], together->state[of[i]]);
    CU_ASSERT_EQUAL(hr_result_end_us(result, (hr_job){i}), hr_result_end_us(together, (hr_job){of[i]}));
    const struct hr_energy of_own = hr_result_energy(result, (hr_job){i}), *own = &of_own;
    const struct hr_energy of_shared = hr_result_energy(together, (hr_job){of[i]}), *shared = &of_shared;
    if (result->state[i] == HR_JOB_COMPLETED) CU_ASSERT(own->it == shared->it && own->facility == shared->facility);
  }
  CU_ASSERT(together->peaks.it_nw >= result->peaks.it_nw);
  hr_result_destroy(result);
}

/* The energy of the pools, by use, adds up to their meters, and the energy of single jobs adds up to that of all
   jobs. */
static void compare_energy(const struct random_case *random, const struct hr_result *together) {
  hr_amount rest = 0;
  for (uint32_t i = 0; i < random->all.n_pools; i++) {
    const struct hr_pool_energy *energy = &together->pools[i].energy;
    hr_amount unused = energy->meter.it;
    for (unsigned use = 0; use < HR_N_ENERGY_USES; use++) unused -= energy->use[use].it;
    CU_ASSERT(unused == 0);
    rest += energy->use[HR_ENERGY_JOBS].it;
  }
  for (uint32_t i = 0; i < random->n_jobs; i++) rest -= hr_result_energy(together, (hr_job){i}).it;
  CU_ASSERT(rest == 0);
}

static void clusters_are_as_if_alone(void) {
  uint64_t n_spilled = 0, n_failures = 0;
  for (uint32_t i = 0; i < N_CASES; i++) {
    struct random_case random;
    random_state = i + 1;
    draw_case(&random);
    const struct hr_trace trace = trace_of(&random);
    struct hr_result *together = run_all(&random, &trace, (enum hr_job_router_kind)(i % N_BY_LOAD));
    for (uint32_t k = 0; k < random.n_clusters; k++) {
      n_spilled += together->clusters[k].n_spilled_in;
      compare_alone(&random, k, together);
    }
    compare_energy(&random, together);
    for (uint32_t k = 0; k < together->n_pools; k++) n_failures += together->pools[k].failures;
    hr_result_destroy(together);
    finish_case(&random);
  }
  CU_ASSERT(n_spilled > 100);
  CU_ASSERT(n_failures > 100);
}

/* ---- Routers ------------------------------------------------------------------------------------------ */

/* The rules of the routers, in floating-point arithmetic and by comparison of all pairs. */
static uint32_t naive_best(enum hr_job_router_kind kind, const struct hr__cluster_load *loads, uint32_t n,
                           uint32_t without, double max_wait) {
  uint32_t best = HR_NONE;
  for (uint32_t i = n; i-- > 0;) {
    bool wins = i != without && loads[i].eligible && (double)loads[i].wait_us <= max_wait;
    for (uint32_t k = 0; k < n && wins; k++) {
      if (k == i || k == without || !loads[k].eligible || (double)loads[k].wait_us > max_wait) continue;
      double mine = (double)loads[i].wait_us, other = (double)loads[k].wait_us;
      if (kind == HR_JOB_ROUTER_LEAST_LOADED) {
        mine = (double)loads[i].used_milli * (double)loads[k].size_milli;
        other = (double)loads[k].used_milli * (double)loads[i].size_milli;
      } else if (kind == HR_JOB_ROUTER_CHEAPEST && loads[i].price_uusd_h != loads[k].price_uusd_h) {
        mine = (double)loads[i].price_uusd_h;
        other = (double)loads[k].price_uusd_h;
      }
      wins = mine < other || (mine <= other && i < k);
    }
    if (wins) best = i;
  }
  return best;
}

static uint32_t naive_choice(const struct hr_job_router_spec *router, const struct hr__cluster_load *loads, uint32_t n,
                             const struct hr__routed_job *job, double *spent) {
  const double max_wait = router->max_wait_us == HR_NEVER_US ? 1e19 : (double)router->max_wait_us;
  const double wait = (double)loads[job->home].wait_us;
  const bool local = router->kind == HR_JOB_ROUTER_LOCAL_FIRST;
  if (router->kind == HR_JOB_ROUTER_HOME) return job->home;
  if (local && loads[job->home].eligible) {
    const bool free_bounds = router->max_waiting == HR_NONE && max_wait > 9.5e18 && !router->keep_deadlines;
    bool leaves = free_bounds ? wait > 0 : wait > max_wait;
    if (router->max_waiting != HR_NONE)
      leaves = leaves || (wait > 0 && loads[job->home].n_waiting >= router->max_waiting);
    if (router->keep_deadlines && job->slack_us != HR_NEVER_US)
      leaves = leaves || wait + (double)job->expected_us > (double)job->slack_us;
    if (!leaves) return job->home;
  }
  const enum hr_job_router_kind kind = local ? router->spill : router->kind;
  const uint32_t without = local ? job->home : HR_NONE;
  uint32_t to = naive_best(kind, loads, n, without, max_wait);
  if (to == HR_NONE) to = naive_best(kind, loads, n, without, 1e19);
  if (to == HR_NONE) return job->home;
  if (!local) return to;
  const double hours = (double)job->expected_us / 3.6e9;
  const double cost = (double)(int64_t)((double)loads[to].price_uusd_h * (double)job->milli / 1000 * hours);
  if (loads[job->home].eligible && router->budget_uusd != HR_NEVER_US && cost + *spent > (double)router->budget_uusd)
    return job->home;
  *spent += cost;
  return to;
}

static void draw_router(struct hr_job_router_spec *router) {
  static const enum hr_job_router_kind spills[] = {HR_JOB_ROUTER_CHEAPEST, HR_JOB_ROUTER_SHORTEST_WAIT,
                                                   HR_JOB_ROUTER_LEAST_LOADED};
  *router = (struct hr_job_router_spec){
      .max_waiting = HR_NONE, .max_wait_us = HR_NEVER_US, .budget_uusd = HR_NEVER_US, .spill = spills[draw(3)]};
  router->kind = (enum hr_job_router_kind)draw(N_BY_LOAD);
  if (draw(2)) router->max_waiting = draw(5);
  if (draw(2)) router->max_wait_us = (int64_t)draw(4) * 3600 * S;
  if (draw(2)) router->budget_uusd = (int64_t)draw(100) * 1000000;
  router->keep_deadlines = draw(2);
}

static void routers_follow_their_rules(void) {
  uint64_t n_away = 0;
  random_state = 99;
  for (uint32_t i = 0; i < 20000; i++) {
    struct hr__cluster_load loads[MAX_CLUSTERS] = {{0}};
    struct hr_job_router_spec router;
    const uint32_t n = 1 + draw(MAX_CLUSTERS);
    for (uint32_t k = 0; k < n; k++) {
      loads[k].eligible = draw(6) != 0;
      loads[k].n_waiting = draw(6);
      loads[k].size_milli = i % 2 && k > 0 ? loads[0].size_milli : 1000 * (uint64_t)draw(20);
      loads[k].used_milli = 1000 * (uint64_t)draw(30);
      loads[k].wait_us = (int64_t)draw(4) * 3600 * S;
      loads[k].price_uusd_h = (int64_t)draw(3) * 1000000;
    }
    draw_router(&router);
    struct hr__routed_job job = {.milli = 1000 * (uint64_t)draw(5), .expected_us = (int64_t)draw(10) * 3600 * S};
    job.home = draw(n);
    job.slack_us = draw(2) ? HR_NEVER_US : (int64_t)draw(10) * 3600 * S;
    int64_t spent_uusd = (int64_t)draw(50) * 1000000;
    double spent = (double)spent_uusd;
    const uint32_t expected = naive_choice(&router, loads, n, &job, &spent);
    const uint32_t chosen = hr__job_router_choose(&router, loads, n, &job, &spent_uusd);
    CU_ASSERT_EQUAL(chosen, expected);
    CU_ASSERT((double)spent_uusd <= spent && (double)spent_uusd >= spent);
    n_away += chosen != job.home;
  }
  CU_ASSERT(n_away > 1000);
}

/* Compares the predicted wait with a naive prediction, which advances from release to release by searching all jobs. */
static void the_wait_is_that_of_a_queue(void) {
  random_state = 7;
  for (uint32_t i = 0; i < 5000; i++) {
    struct hr__expected_releases releases = {0};
    const uint32_t n = draw(12);
    const int64_t now_us = (int64_t)draw(100) * S;
    int64_t ends[12];
    uint64_t milli[12], running = 0;
    for (uint32_t k = 0; k < n; k++) {
      ends[k] = (int64_t)draw(300) * S;
      milli[k] = 1000 * (uint64_t)(1 + draw(3));
      CU_ASSERT_FATAL(hr__releases_add(&releases, ends[k], milli[k]));
      CU_ASSERT_FATAL(hr__releases_add(&releases, ends[k] + 5, 500));
      running += milli[k];
    }
    for (uint32_t k = 0; k < n; k++) hr__releases_remove(&releases, ends[k] + 5, 500);
    const uint64_t waiting = 1000 * (uint64_t)draw(10), idle = 1000 * (uint64_t)draw(4),
                   asked = 1000 * (uint64_t)draw(6);
    const struct hr__cluster_load load = {.size_milli = running + idle, .used_milli = running + waiting};
    const hr_amount work = (hr_amount)waiting * 60 * S;
    uint64_t free_milli = idle;
    int64_t at_us = now_us;
    while (free_milli < waiting + asked) {
      uint32_t first = HR_NONE;
      for (uint32_t k = 0; k < n; k++)
        if (milli[k] && (first == HR_NONE || ends[k] < ends[first])) first = k;
      if (first == HR_NONE) break;
      free_milli += milli[first];
      milli[first] = 0;
      at_us = ends[first] > at_us ? ends[first] : at_us;
    }
    int64_t expected = at_us > now_us ? at_us - now_us : 1;
    if (idle >= waiting + asked)
      expected = 0;
    else if (load.size_milli == 0)
      expected = HR_NEVER_US;
    else if (free_milli < waiting + asked)
      expected = at_us - now_us + (int64_t)(work / (hr_amount)load.size_milli);
    if (expected == 0 && idle < waiting + asked) expected = 1;
    CU_ASSERT_EQUAL(hr__predicted_wait_us(&load, &releases, work, asked, now_us, HR_NEVER_US), expected);
    const int64_t limit_us = (int64_t)draw(200) * S;
    const int64_t bounded = hr__predicted_wait_us(&load, &releases, work, asked, now_us, limit_us);
    CU_ASSERT(expected < limit_us ? bounded == expected : bounded >= limit_us);
    free(releases.at);
  }
}

TEST_MAIN("several clusters", TEST(clusters_are_as_if_alone), TEST(routers_follow_their_rules),
          TEST(the_wait_is_that_of_a_queue))
