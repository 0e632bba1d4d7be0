/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that wait in several clusters, or are sent to another cluster while they wait:
 * - In 1,000 random worlds, a simple simulation of FIFO clusters gives the same starts. The routers are least-loaded
 *   (with and without rerouting), MultiKueue (with all clusters at once and incremental), federation and SkyPilot.
 * - Single-GPU jobs that wait in all clusters start as in one pool of all nodes.
 * - The rules of the affinity router select the clusters of tenants.
 *
 * Runs are in checked mode.
 */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/clusters.h"

#include <string.h>

enum { N_WORLDS = 1000, MAX_JOBS = 40, MAX_CLUSTERS = 4 };
#define S HR_SECOND_US

static uint64_t random_state;

static uint32_t draw(uint32_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((random_state >> 33) % below);
}

struct world {
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], tenant[MAX_JOBS], n_jobs, n_clusters, size[MAX_CLUSTERS];
  struct hr_pool_spec pool[MAX_CLUSTERS], all_pools[MAX_CLUSTERS];
  struct hr_cluster_spec cluster[MAX_CLUSTERS], all;
  struct hr_cluster_part part[MAX_CLUSTERS];
  struct hr_job_router_spec router;
};

static char *tenant_names[] = {(char[]){"x"}, (char[]){"y"}};

/* Draws clusters of single-GPU nodes, so that only the number of free GPUs matters. `max_gpus`: maximum request of a
   job. If `only` is the number of a cluster, this cluster accepts only jobs of tenant 0. */
static void draw_world(struct world *world, uint32_t max_gpus, uint32_t only) {
  static char name[] = "p", gpu[] = "T4", names[MAX_CLUSTERS][2] = {"0", "1", "2", "3"};
  *world = (struct world){.n_jobs = 1 + draw(MAX_JOBS), .n_clusters = 1 + draw(MAX_CLUSTERS)};
  int64_t at_us = 0;
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    at_us += draw(3) ? (int64_t)draw(30) * S : 0;
    world->submit_us[i] = at_us;
    world->work_us[i] = (1 + (int64_t)draw(100)) * S;
    world->gpus[i] = 1 + draw(max_gpus);
    world->tenant[i] = draw(2);
  }
  for (uint32_t i = 0; i < world->n_clusters; i++) {
    world->size[i] = 1 + draw(4);
    world->pool[i] = (struct hr_pool_spec){
        .name = name, .gpu = gpu, .nodes = world->size[i], .gpus_per_node = 1, .market = {.to_us = HR_NEVER_US}};
    world->all_pools[i] = world->pool[i];
    world->cluster[i] = (struct hr_cluster_spec){.pools = &world->pool[i], .n_pools = 1};
    world->part[i] = (struct hr_cluster_part){.name = names[i], .cluster = &world->cluster[i]};
  }
  if (only < world->n_clusters) {
    world->part[only].only = tenant_names;
    world->part[only].n_only = 1;
  }
  world->all = (struct hr_cluster_spec){.pools = world->all_pools, .n_pools = world->n_clusters};
  world->router = (struct hr_job_router_spec){.spill = HR_JOB_ROUTER_CHEAPEST,
                                              .max_waiting = HR_NONE,
                                              .max_wait_us = HR_NEVER_US,
                                              .budget_uusd = HR_NEVER_US,
                                              .step = 1 + draw(2),
                                              .round_us = (1 + (int64_t)draw(60)) * S,
                                              .timeout_us = (1 + (int64_t)draw(60)) * S,
                                              .max_reroutes = 1000};
}

static struct hr_result *run(const struct world *world, const char *policy, bool in_one) {
  const struct hr_trace trace = {.source = "test",
                                 .n_jobs = world->n_jobs,
                                 .submit_us = world->submit_us,
                                 .work_us = world->work_us,
                                 .gpus = world->gpus,
                                 .tenant = world->tenant,
                                 .tenants = {.text = (const char *const *)tenant_names, .count = 2}};
  const struct hr_clusters clusters = {.at = world->part, .count = world->n_clusters, .router = world->router};
  struct hr_pool_spec joined = world->pool[0];
  for (uint32_t i = 1; i < world->n_clusters; i++) joined.nodes += world->size[i];
  const struct hr_cluster_spec one = {.pools = &joined, .n_pools = 1};
  struct hr_policy_choice choice = {0};
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, policy, NULL), HR_OK);
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = in_one ? &one : &world->all,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .clusters = in_one ? NULL : &clusters};
  struct hr_result *result = NULL;
  struct hr_error error = {0};
  const enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) fprintf(stderr, "%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  hr_policy_choice_finish(&choice);
  return result;
}

/* ---- A plain simulation ------------------------------------------------------------------------------- */

struct naive {
  const struct world *world;
  int64_t now_us, start_us[MAX_JOBS], timer_us[MAX_JOBS];
  uint32_t cluster_of[MAX_JOBS], target[MAX_JOBS], free[MAX_CLUSTERS];
  bool waits[MAX_JOBS][MAX_CLUSTERS], leaves[MAX_JOBS][MAX_CLUSTERS], tried[MAX_JOBS][MAX_CLUSTERS];
  bool awake[MAX_CLUSTERS];
};

static bool can_run(const struct world *world, uint32_t job, uint32_t cluster) {
  const bool serves = !world->part[cluster].n_only || world->tenant[job] == 0;
  return serves && world->gpus[job] <= world->size[cluster];
}

/* Returns the load of a cluster: (allocated GPUs + GPUs that waiting jobs request) / GPUs. `job` itself is not
   counted. */
static double load_without(const struct naive *naive, uint32_t cluster, uint32_t job) {
  const struct world *world = naive->world;
  double used = world->size[cluster] - naive->free[cluster];
  for (uint32_t i = 0; i < world->n_jobs; i++)
    if (i != job && naive->waits[i][cluster]) used += world->gpus[i];
  return used / world->size[cluster];
}

static uint32_t least_loaded(const struct naive *naive, uint32_t job) {
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < naive->world->n_clusters; i++)
    if (can_run(naive->world, job, i) &&
        (best == HR_NONE || load_without(naive, i, job) < load_without(naive, best, job) - 1e-9))
      best = i;
  return best;
}

static void enqueue(struct naive *naive, uint32_t job, uint32_t cluster) {
  naive->waits[job][cluster] = true;
  naive->awake[cluster] = true;
}

/* Sends copies of a job to at most `n` clusters that have no copy yet. Returns whether further clusters without a copy
   remain. */
static bool nominate(struct naive *naive, uint32_t job, uint32_t n) {
  bool more = false;
  for (uint32_t i = 0; i < naive->world->n_clusters; i++) {
    if (!can_run(naive->world, job, i) || naive->tried[job][i]) continue;
    more = more || n == 0;
    if (n == 0) continue;
    n--;
    naive->tried[job][i] = true;
    enqueue(naive, job, i);
  }
  return more;
}

static uint32_t next_untried(struct naive *naive, uint32_t job) {
  for (int round = 0; round < 2; round++) {
    for (uint32_t i = 0; i < naive->world->n_clusters; i++) {
      if (!can_run(naive->world, job, i) || naive->tried[job][i]) continue;
      naive->tried[job][i] = true;
      return i;
    }
    memset(naive->tried[job], 0, sizeof naive->tried[job]);
  }
  return HR_NONE;
}

static void submit(struct naive *naive, uint32_t job) {
  const struct hr_job_router_spec *router = &naive->world->router;
  const bool is_sibling = router->kind == HR_JOB_ROUTER_MULTIKUEUE || router->kind == HR_JOB_ROUTER_FEDERATION;
  naive->timer_us[job] = HR_NEVER_US;
  if (is_sibling) {
    const bool more = nominate(naive, job, router->incremental ? router->step : MAX_CLUSTERS);
    if (more) naive->timer_us[job] = naive->now_us + router->round_us + 1;
    return;
  }
  const bool sky = router->kind == HR_JOB_ROUTER_SKYPILOT;
  const uint32_t to = sky ? next_untried(naive, job) : least_loaded(naive, job);
  if (to == HR_NONE) return;
  naive->cluster_of[job] = to;
  enqueue(naive, job, to);
  if (sky || router->reroute_us) naive->timer_us[job] = naive->now_us + (sky ? router->timeout_us : router->reroute_us);
}

static void look_again(struct naive *naive, uint32_t job) {
  const struct hr_job_router_spec *router = &naive->world->router;
  const bool sky = router->kind == HR_JOB_ROUTER_SKYPILOT;
  if (router->kind == HR_JOB_ROUTER_MULTIKUEUE) {
    const bool more = nominate(naive, job, router->step);
    naive->timer_us[job] = more ? naive->now_us + router->round_us + 1 : HR_NEVER_US;
    return;
  }
  const uint32_t from = naive->cluster_of[job], to = sky ? next_untried(naive, job) : least_loaded(naive, job);
  naive->timer_us[job] = naive->now_us + (sky ? router->timeout_us : router->reroute_us);
  if (to == from) return;
  naive->leaves[job][from] = naive->awake[from] = true;
  naive->target[job] = to;
}

/* One pass of a cluster. Jobs that must leave the cluster are removed, and sent to their target if they have one. Then
   jobs start in order until the first job that does not fit. */
static void pass(struct naive *naive, uint32_t cluster) {
  const struct world *world = naive->world;
  naive->awake[cluster] = false;
  for (uint32_t job = 0; job < world->n_jobs; job++) {
    if (!naive->leaves[job][cluster]) continue;
    naive->leaves[job][cluster] = naive->waits[job][cluster] = false;
    if (naive->target[job] == HR_NONE) continue;
    naive->cluster_of[job] = naive->target[job];
    enqueue(naive, job, naive->target[job]);
    naive->target[job] = HR_NONE;
  }
  for (uint32_t job = 0; job < world->n_jobs; job++) {
    if (!naive->waits[job][cluster]) continue;
    if (world->gpus[job] > naive->free[cluster]) return;
    naive->free[cluster] -= world->gpus[job];
    naive->start_us[job] = naive->now_us;
    naive->cluster_of[job] = cluster;
    naive->waits[job][cluster] = false;
    for (uint32_t i = 0; i < world->n_clusters; i++)
      if (naive->waits[job][i]) naive->leaves[job][i] = naive->awake[i] = true;
  }
}

static void at_instant(struct naive *naive) {
  const struct world *world = naive->world;
  for (uint32_t job = 0; job < world->n_jobs; job++) {
    if (naive->start_us[job] == HR_NEVER_US || naive->start_us[job] + world->work_us[job] != naive->now_us) continue;
    naive->free[naive->cluster_of[job]] += world->gpus[job];
    naive->awake[naive->cluster_of[job]] = true;
  }
  for (uint32_t job = 0; job < world->n_jobs; job++)
    if (world->submit_us[job] == naive->now_us) submit(naive, job);
  for (uint32_t job = 0; job < world->n_jobs; job++)
    if (naive->start_us[job] == HR_NEVER_US && naive->timer_us[job] == naive->now_us) look_again(naive, job);
  for (uint32_t i = 0; i < world->n_clusters;)
    if (naive->awake[i]) {
      pass(naive, i);
      i = 0;
    } else {
      i++;
    }
}

static int64_t next_us(const struct naive *naive) {
  const struct world *world = naive->world;
  int64_t next_us = HR_NEVER_US;
  for (uint32_t job = 0; job < world->n_jobs; job++) {
    const bool starts = naive->start_us[job] != HR_NEVER_US;
    const int64_t times[] = {world->submit_us[job], starts ? naive->start_us[job] + world->work_us[job] : HR_NEVER_US,
                             starts ? HR_NEVER_US : naive->timer_us[job]};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
      if (times[i] > naive->now_us && times[i] < next_us) next_us = times[i];
  }
  return next_us;
}

static void simulate(struct naive *naive, const struct world *world) {
  *naive = (struct naive){.world = world, .now_us = -1};
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    naive->start_us[i] = naive->timer_us[i] = HR_NEVER_US;
    naive->target[i] = HR_NONE;
  }
  for (uint32_t i = 0; i < world->n_clusters; i++) naive->free[i] = world->size[i];
  while ((naive->now_us = next_us(naive)) != HR_NEVER_US) at_instant(naive);
}

static void a_plain_simulation_agrees(void) {
  static const struct {
    enum hr_job_router_kind kind;
    bool incremental, reroutes;
  } routers[] = {{HR_JOB_ROUTER_LEAST_LOADED, false, false}, {HR_JOB_ROUTER_LEAST_LOADED, false, true},
                 {HR_JOB_ROUTER_MULTIKUEUE, false, false},   {HR_JOB_ROUTER_MULTIKUEUE, true, false},
                 {HR_JOB_ROUTER_FEDERATION, false, false},   {HR_JOB_ROUTER_SKYPILOT, false, false}};
  uint64_t n_rerouted = 0, n_rejected = 0;
  for (uint32_t i = 0; i < N_WORLDS; i++) {
    struct world world;
    struct naive naive;
    random_state = i + 1;
    draw_world(&world, 4, draw(6));
    world.router.kind = routers[i % 6].kind;
    world.router.incremental = routers[i % 6].incremental;
    world.router.reroute_us = routers[i % 6].reroutes ? (1 + (int64_t)draw(40)) * S : 0;
    simulate(&naive, &world);
    struct hr_result *result = run(&world, "fifo", false);
    uint32_t n_different = 0;
    for (uint32_t job = 0; job < world.n_jobs; job++) {
      n_different += result->start_us[job] != naive.start_us[job];
      n_rejected += result->state[job] == HR_JOB_REJECTED;
      if (naive.start_us[job] == HR_NEVER_US) continue;
      n_different += result->cluster_of[job] != naive.cluster_of[job];
      CU_ASSERT(can_run(&world, job, result->cluster_of[job]));
    }
    if (n_different) fprintf(stderr, "world %u, router %u\n", (unsigned)i, (unsigned)i % 6);
    CU_ASSERT_EQUAL(n_different, 0);
    for (uint32_t k = 0; k < world.n_clusters; k++) n_rerouted += result->clusters[k].n_rerouted;
    hr_result_destroy(result);
  }
  CU_ASSERT(n_rerouted > 100);
  CU_ASSERT(n_rejected > 100);
}

/* ---- Clusters that are like one pool ------------------------------------------------------------------- */

static void copies_everywhere_are_one_pool(void) {
  static const char *const policies[] = {"fifo", "sjf"};
  for (uint32_t i = 0; i < 400; i++) {
    struct world world;
    random_state = 5000 + i;
    draw_world(&world, 1, MAX_CLUSTERS);
    world.router.kind = i % 2 ? HR_JOB_ROUTER_MULTIKUEUE : HR_JOB_ROUTER_FEDERATION;
    struct hr_result *split = run(&world, policies[i / 2 % 2], false), *one = run(&world, policies[i / 2 % 2], true);
    CU_ASSERT_EQUAL(memcmp(split->start_us, one->start_us, world.n_jobs * sizeof *one->start_us), 0);
    CU_ASSERT_EQUAL(split->n_completed, one->n_completed);
    hr_result_destroy(split);
    hr_result_destroy(one);
  }
}

/* ---- Rules of affinity --------------------------------------------------------------------------------- */

static void rules_decide(void) {
  for (uint32_t i = 0; i < 200; i++) {
    struct world world;
    uint32_t second = 1, last;
    random_state = 9000 + i;
    draw_world(&world, 4, MAX_CLUSTERS);
    last = world.n_clusters - 1;
    struct hr_job_router_rule rules[] = {
        {.tenants = tenant_names, .n_tenants = 1, .clusters = &last, .n_clusters = 1, .only = true},
        {.clusters = &second, .n_clusters = world.n_clusters > 1}};
    world.router.kind = HR_JOB_ROUTER_AFFINITY;
    world.router.rules = rules;
    world.router.n_rules = 2;
    struct hr_result *result = run(&world, "fifo", false);
    for (uint32_t job = 0; job < world.n_jobs; job++) {
      const bool fits_last = world.gpus[job] <= world.size[last];
      if (world.tenant[job] == 0) {
        CU_ASSERT_EQUAL(result->state[job], fits_last ? HR_JOB_COMPLETED : HR_JOB_REJECTED);
        if (fits_last) CU_ASSERT_EQUAL(result->cluster_of[job], last);
      } else if (world.n_clusters > 1 && world.gpus[job] <= world.size[1]) {
        CU_ASSERT_EQUAL(result->cluster_of[job], 1);
      }
    }
    hr_result_destroy(result);
  }
}

TEST_MAIN("job copies", TEST(a_plain_simulation_agrees), TEST(copies_everywhere_are_one_pool), TEST(rules_decide))
