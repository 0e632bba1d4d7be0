/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pool without nodes has no effect. Random scenarios are run with and without empty pools of all kinds; starts and
 * metrics must be equal. In a cluster with empty pools only, every job that requests GPUs must be rejected.
 */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/report.h"
#include "output_files.h"

#include <math.h>
#include <string.h>

enum { JOBS = 32, REAL = 3, EMPTY = 2, POOLS = REAL + EMPTY, LEVELS = 6, MODELS = 2, NAMES = 3, SCENARIOS = 480 };

#define MINUTE (60 * HR_SECOND_US)

/* Kinds of scenarios: fixed nodes; elastic nodes of all markets; elastic nodes of the spot market only; shared GPUs. */
enum kind { FIXED, ELASTIC, SPOT, SHARED, N_KINDS };

struct arrangement {
  struct hr_pool_spec pools[POOLS];
  struct hr_cluster_spec cluster;
  uint32_t ppm[(MODELS + 1) * POOLS];
  struct hr_speeds speeds;
};

static struct {
  enum kind kind;
  int64_t submit_us[JOBS], work_us[JOBS], limit_us[JOBS], deadline_us[JOBS], within_wait_us[JOBS];
  uint32_t gpus[JOBS], tasks[JOBS], tenant[JOBS], user[JOBS], model[JOBS], gpu_types[JOBS], regions[JOBS];
  uint32_t cpu_milli[JOBS], mig_profile[JOBS];
  uint64_t mem_mib[JOBS], gpu_mem_mib[JOBS];
  int32_t priority[JOBS];
  uint16_t gpu_milli[JOBS];
  uint8_t class_[JOBS], flags[JOBS], within[JOBS];
  struct hr_trace trace;
  struct hr_level_step levels[POOLS][LEVELS];
  struct hr_class_spec classes[HR_N_CLASSES];
  struct arrangement plain, more; /* plain: only pools with nodes; more: the same pools and empty pools */
  bool has_speeds, has_quotas, has_links, empty_last;
  int64_t horizon_us;
  uint64_t seed;
} scenario;

static uint64_t random_state;

/* Returns a random number below `below`; 0 if `below` is 0. */
static uint32_t draw(uint32_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return below ? (uint32_t)((random_state >> 33) % below) : 0;
}

/* ---- Jobs ------------------------------------------------------------------------------------------- */

static void draw_job(uint32_t i) {
  scenario.submit_us[i] = i ? scenario.submit_us[i - 1] + draw(8) * MINUTE : 0;
  scenario.work_us[i] = draw(15) ? (1 + draw(60)) * MINUTE : 0;
  scenario.limit_us[i] = scenario.work_us[i] + draw(2) * draw(30) * MINUTE;
  scenario.deadline_us[i] = draw(3) ? scenario.submit_us[i] + (10 + draw(200)) * MINUTE : HR_UNKNOWN_US;
  scenario.gpus[i] = draw(12) ? 1 + draw(draw(4) ? 4 : 14) : 0;
  scenario.tasks[i] = scenario.gpus[i] > 1 && scenario.gpus[i] % 2 == 0 && draw(2) ? 2 : 1;
  scenario.gpu_milli[i] = (uint16_t)(scenario.kind == SHARED && scenario.gpus[i] == 1 ? 100 * (1 + draw(10)) : 1000);
  scenario.cpu_milli[i] = draw(2) ? 1000 * draw(8) : 0;
  scenario.mem_mib[i] = draw(2) ? 1024 * (uint64_t)draw(16) : 0;
  scenario.gpu_mem_mib[i] = draw(3) ? 0 : 1024 * (uint64_t)(1 + draw(50));
  scenario.mig_profile[i] = scenario.gpus[i] == 1 && draw(4) == 0 ? draw(2) : HR_NONE;
  scenario.tenant[i] = draw(4) ? draw(NAMES) : HR_NONE;
  scenario.user[i] = draw(NAMES);
  scenario.model[i] = draw(3) ? draw(MODELS) : HR_NONE;
  scenario.gpu_types[i] = draw(2) ? HR_NONE : draw(4);
  scenario.regions[i] = draw(5) ? HR_NONE : draw(2);
  scenario.priority[i] = (int32_t)draw(4);
  scenario.class_[i] = (uint8_t)draw(HR_N_CLASSES);
  scenario.flags[i] = (uint8_t)((draw(5) ? 0 : HR_JOB_NOT_INTERRUPTIBLE) | (draw(9) ? 0 : HR_JOB_DEDICATED));
  scenario.within[i] = (uint8_t)(draw(4) ? HR_TIER_ANY : HR_TIER_ISLAND + draw(HR_N_TIERS - HR_TIER_ISLAND));
  scenario.within_wait_us[i] = draw(2) ? draw(20) * MINUTE : HR_UNKNOWN_US;
}

static void draw_jobs(void) {
  static const char *const types[] = {"T4", "A100-80", "H100-80|T4", "H100-80"}, *const regions[] = {"eu", "us"};
  static const char *const names[NAMES] = {"a", "b", "c"}, *const models[] = {"bert", "gpt"};
  static const char *const profiles[] = {"1g.10gb", "3g.40gb"};
  bool is_within = draw(6) == 0;
  for (uint32_t i = 0; i < JOBS; i++) draw_job(i);
  scenario.trace = (struct hr_trace){.source = "random",
                                     .format = "memory",
                                     .n_jobs = JOBS,
                                     .submit_us = scenario.submit_us,
                                     .work_us = scenario.work_us,
                                     .limit_us = scenario.limit_us,
                                     .deadline_us = scenario.deadline_us,
                                     .gpus = scenario.gpus,
                                     .tasks = scenario.tasks,
                                     .gpu_milli = scenario.gpu_milli,
                                     .cpu_milli = scenario.cpu_milli,
                                     .mem_mib = scenario.mem_mib,
                                     .gpu_mem_mib = scenario.gpu_mem_mib,
                                     .mig_profile = scenario.kind == SHARED ? scenario.mig_profile : NULL,
                                     .tenant = scenario.tenant,
                                     .user = scenario.user,
                                     .model = scenario.model,
                                     .gpu_types = scenario.gpu_types,
                                     .regions = scenario.regions,
                                     .priority = scenario.priority,
                                     .class_ = scenario.class_,
                                     .flags = scenario.flags,
                                     .within = is_within ? scenario.within : NULL,
                                     .within_wait_us = is_within ? scenario.within_wait_us : NULL,
                                     .tenants = {NAMES, names},
                                     .users = {NAMES, names},
                                     .models = {MODELS, models},
                                     .mig_profiles = {2, profiles},
                                     .gpu_type_lists = {4, types},
                                     .region_lists = {2, regions}};
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    scenario.classes[i] = (struct hr_class_spec){.no_spot = draw(5) == 0,
                                                 .checkpoint = (enum hr_checkpoint)draw(HR_N_CHECKPOINTS),
                                                 .interval_us = (1 + draw(20)) * MINUTE,
                                                 .checkpoint_mib = draw(2) * 1000,
                                                 .write_us = draw(60) * HR_SECOND_US,
                                                 .restart_us = draw(2) * 90 * HR_SECOND_US};
}

/* ---- Pools ------------------------------------------------------------------------------------------ */

static void draw_spot(uint32_t number, struct hr_pool_spec *pool) {
  static const enum hr_spot_model models[] = {HR_SPOT_NONE, HR_SPOT_TRACE, HR_SPOT_ON_OFF, HR_SPOT_EXPONENTIAL,
                                              HR_SPOT_BATHTUB};
  struct hr_spot_spec *spot = &pool->market.spot;
  *spot = (struct hr_spot_spec){.model = models[draw(5)],
                                .zone = number,
                                .notice_us = draw(2) * 2 * MINUTE,
                                .up = {HR_DURATION_LOG_NORMAL, 7, 1},
                                .down = {HR_DURATION_EXPONENTIAL, 400, 0},
                                .rate_per_h = 2,
                                .batch_mean = 1 + draw(3),
                                .bathtub = {0.5, 0.3, 0.2, 1.5, 2}};
  for (uint32_t i = 0; i < LEVELS; i++)
    scenario.levels[number][i] =
        (struct hr_level_step){i * 25 * MINUTE, i + 1 < LEVELS ? draw(pool->nodes + 1) : pool->nodes};
  spot->levels = scenario.levels[number];
  spot->n_levels = LEVELS;
  spot->period_us = LEVELS * 25 * MINUTE;
  spot->offset_us = draw(100) * MINUTE;
}

static enum hr_market draw_market(enum kind kind) {
  if (kind == SPOT) return draw(4) ? HR_MARKET_SPOT : HR_MARKET_RESERVED;
  if (kind == ELASTIC) return (enum hr_market)draw(HR_N_MARKETS);
  return (enum hr_market)(kind == SHARED && draw(4) == 0 ? HR_MARKET_ON_DEMAND + draw(2)
                                                         : HR_MARKET_NONE + draw(HR_MARKET_ON_DEMAND));
}

static void draw_pool_market(uint32_t number, enum kind kind, struct hr_pool_spec *pool) {
  static struct hr_price_step steps[] = {{0, 900000}, {47 * MINUTE, 1300000}};
  struct hr_market_spec *market = &pool->market;
  *market = (struct hr_market_spec){.market = draw_market(kind),
                                    .price_uusd_h = 1000000 * (1 + draw(4)),
                                    .on_demand_uusd_h = draw(2) ? 4000000 : HR_UNKNOWN_UUSD_H,
                                    .to_us = HR_NEVER_US,
                                    .boot = {HR_DURATION_FIXED, draw(3) * 60, 0}};
  if (market->market == HR_MARKET_RESERVED && kind != FIXED && draw(2)) {
    market->from_us = draw(60) * MINUTE;
    market->to_us = market->from_us + (1 + draw(300) * (draw(pool->nodes ? 9 : 2) ? 1 : 1000)) * MINUTE;
  }
  if (hr_market_is_elastic(market->market) && draw(3) == 0) {
    market->prices = steps;
    market->n_prices = 2;
    market->price_uusd_h = steps[0].uusd_h;
  }
  draw_spot(number, pool);
}

/* Returns a MIG configuration for a GPU of 80 GB with three profiles. */
static struct hr_mig_spec *split(uint32_t gpus_per_node) {
  struct hr_mig_profile profiles[] = {{"7g.80gb", 80000, 98, 7, 8, 1, 1, false},
                                      {"3g.40gb", 40000, 42, 3, 4, 1 | 1 << 4, 2, false},
                                      {"1g.10gb", 10000, 14, 1, 1, 127, 7, false}};
  static const char *const layouts[] = {"all-1g.10gb", "all-3g.40gb"};
  struct hr_mig_type type;
  hr_mig_type_init(&type, "A100-80", profiles, 3);
  struct hr_mig_spec *spec = hr_mig_spec_create(&type, (enum hr_mig_mode)draw(HR_N_MIG_MODES));
  for (uint32_t i = 0; spec && i < 2; i++) {
    struct hr_mig_gpu gpu = {0};
    uint32_t place;
    if (hr_mig_layout(&spec->type, layouts[i], &gpu, NULL) != HR_OK) abort();
    if (hr_mig_spec_add(spec, layouts[i], &gpu, &place) != HR_OK) abort();
  }
  if (!spec) abort();
  spec->lead_us = draw(2) * MINUTE;
  if (spec->mode == HR_MIG_ON_DEMAND) return spec;
  spec->layout_of_gpu = malloc(gpus_per_node);
  if (!spec->layout_of_gpu) abort();
  for (uint32_t gpu = 0; gpu < gpus_per_node; gpu++) spec->layout_of_gpu[gpu] = (uint8_t)draw(2);
  return spec;
}

static void share(struct hr_pool_spec *pool) {
  static struct hr_interference_step steps[] = {{500, 900000}, {1000, 600000}};
  static char bert[] = "bert", gpt[] = "gpt";
  static struct hr_pair_speed pairs[] = {{bert, gpt, 700000}, {gpt, bert, 800000}};
  pool->sharing = (enum hr_sharing)draw(HR_N_SHARINGS);
  bool parted = pool->sharing == HR_SHARING_MPS || pool->sharing == HR_SHARING_TIME_SLICE;
  if (parted) pool->replicas = 2 + draw(3);
  if (pool->sharing == HR_SHARING_TIME_SLICE && draw(2)) pool->memory = HR_GPU_MEMORY_FIRST_COME;
  if (pool->sharing == HR_SHARING_WHOLE) return;
  if (pool->sharing == HR_SHARING_MIG) {
    pool->mig = split(pool->gpus_per_node);
  } else if (draw(2)) {
    pool->interference = steps;
    pool->n_interference = 2;
    pool->pairs = pairs;
    pool->n_pairs = draw(2) * 2;
  }
}

static struct hr_pool_spec draw_pool(uint32_t number, enum kind kind, uint32_t nodes) {
  static char names[POOLS][2] = {"p", "q", "r", "x", "y"}, types[3][8] = {"T4", "A100-80", "H100-80"};
  static char regions[2][3] = {"eu", "us"};
  struct hr_pool_spec pool = {.name = names[number],
                              .gpu = types[draw(nodes ? 2 : 3)],
                              .region = draw(3) ? regions[draw(2)] : NULL,
                              .nodes = nodes,
                              .gpus_per_node = nodes ? 1 + draw(6) : 1 + draw(100),
                              .cpu_milli_per_node = draw(2) * 32000,
                              .mem_mib_per_node = draw(2) * 131072,
                              .storage_mib_s = draw(2) * 100,
                              .classes = draw(4) ? 0 : 1 + draw((1u << HR_N_CLASSES) - 1),
                              .gpu_mem_mib = draw(2) * 1024 * (16 + draw(64))};
  draw_pool_market(number, kind, &pool);
  if (kind == SHARED) share(&pool);
  if (draw(3) == 0) pool.topology.nodes_per_rack = 1 + draw(3);
  if (draw(3) == 0) pool.topology.network[HR_TIER_POOL] = HR_NETWORK_25GBE;
  if (kind == SHARED && pool.gpus_per_node % 2 == 0) pool.topology.island_gpus = draw(2) * 2;
  if (kind == SHARED && pool.cpu_milli_per_node) pool.cpu_milli_per_gpu = draw(2) * 500;
  return pool;
}

/* Draws `n_real` pools with nodes, and a random number of empty pools of any kind. */
static void draw_pools(uint32_t n_real) {
  uint32_t n_empty = 1 + draw(EMPTY), numbers[POOLS], n_pools = n_real + n_empty, n_plain = 0;
  for (uint32_t i = 0; i < n_real; i++) numbers[i] = i;
  for (uint32_t i = 0; i < n_empty; i++) { /* insert each empty pool at a random index */
    uint32_t place = draw(3) ? draw(n_real + i + 1) : n_real + i;
    for (uint32_t k = n_real + i; k > place; k--) numbers[k] = numbers[k - 1];
    numbers[place] = REAL + i;
  }
  bool no_pool_is_shared = scenario.kind == SHARED && draw(3) == 0; /* per-GPU allocation, although no pool is shared */
  scenario.empty_last = true;
  for (uint32_t i = 0; i < n_real; i++) scenario.empty_last = scenario.empty_last && numbers[i] < REAL;
  for (uint32_t i = 0; i < n_pools; i++) {
    bool is_real = numbers[i] < REAL;
    uint32_t nodes = is_real ? 1 + draw(4) : 0;
    enum kind kind = is_real || draw(2) ? scenario.kind : (enum kind)draw(N_KINDS);
    scenario.more.pools[i] = draw_pool(numbers[i], is_real && no_pool_is_shared ? FIXED : kind, nodes);
    for (uint32_t row = 0; row <= MODELS; row++)
      scenario.more.ppm[row * n_pools + i] = draw(8) ? (is_real ? 300000 : 1000) + draw(2000000) : 0;
    if (!is_real) continue;
    scenario.plain.pools[n_plain] = scenario.more.pools[i];
    for (uint32_t row = 0; row <= MODELS; row++)
      scenario.plain.ppm[row * n_real + n_plain] = scenario.more.ppm[row * n_pools + i];
    n_plain++;
  }
  scenario.plain.cluster =
      (struct hr_cluster_spec){.pools = scenario.plain.pools, .n_pools = n_real, .mig_fallback = true};
  scenario.more.cluster =
      (struct hr_cluster_spec){.pools = scenario.more.pools, .n_pools = n_pools, .mig_fallback = true};
  scenario.plain.cluster.by_gpu = scenario.more.cluster.by_gpu =
      no_pool_is_shared || (scenario.kind == SHARED && draw(2));
}

static void free_pools(void) {
  for (uint32_t i = 0; i < scenario.more.cluster.n_pools; i++)
    hr_pool_sharing_finish(&(struct hr_pool_spec){.mig = scenario.more.pools[i].mig});
}

static void draw_scenario(uint64_t seed, uint32_t n_real) {
  static char models[MODELS][5] = {"bert", "gpt"};
  static struct hr_speed_row rows[MODELS] = {{models[0], 1}, {models[1], 1}};
  memset(&scenario, 0, sizeof scenario);
  random_state = seed * 7919;
  for (int i = 0; i < 4; i++) (void)draw(2);
  scenario.seed = seed;
  scenario.kind = (enum kind)(seed % N_KINDS);
  draw_jobs();
  draw_pools(n_real);
  struct arrangement *const both[] = {&scenario.plain, &scenario.more};
  for (size_t i = 0; i < 2; i++)
    both[i]->speeds =
        (struct hr_speeds){.rows = rows, .n_rows = MODELS, .n_pools = both[i]->cluster.n_pools, .ppm = both[i]->ppm};
  scenario.has_speeds = draw(3) == 0;
  scenario.has_links = draw(3) == 0;
  scenario.has_quotas = draw(4) == 0;
  scenario.horizon_us = draw(5) ? 10000 * MINUTE : draw(300) * MINUTE;
  if (draw(6) == 0) scenario.horizon_us = HR_NEVER_US; /* without a horizon the run may stall */
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

struct outcome {
  enum hr_status status;
  struct hr_error error;
  struct hr_result *result;
  struct hr_summary *summary;
  char *jobs; /* the file of jobs, as written by --jobs */
};

static const struct hr_quota_spec *quotas(void) {
  static char names[NAMES][2] = {"a", "b", "c"};
  static struct hr_quota_node nodes[] = {
      {names[0], HR_NONE, true, 4000, HR_NO_LIMIT, 1000, HR_NO_LIMIT, 1},
      {names[1], HR_NONE, true, 2000, HR_NO_LIMIT, HR_NO_LIMIT, 6000, 2},
  };
  static const struct hr_quota_spec spec = {
      nodes, 2, {NULL, HR_NONE, true, 0, HR_NO_LIMIT, HR_NO_LIMIT, HR_NO_LIMIT, 1}};
  return scenario.has_quotas ? &spec : NULL;
}

/* Savings plans for a pool without nodes, for a GPU type, and for all pools. There is also a price of downtime. With
   it, the time of withheld GPUs is computed. */
static const struct hr_cost_spec *costs(void) {
  static char name[] = "x", type[] = "A100-80", *pools[] = {name}, *gpus[] = {type};
  static struct hr_savings_plan plans[] = {
      {300000, 200000, pools, NULL, 1, 0}, {500000, 300000, NULL, gpus, 0, 1}, {200000, 100000, NULL, NULL, 0, 0}};
  static struct hr_budget budgets[] = {{name, 1000000}};
  static const struct hr_cost_spec spec = {.budgets = budgets,
                                           .n_budgets = 1,
                                           .operations = {.uusd_per_node_month = 5000000},
                                           .downtime = {.uusd_per_gpu_hour = 100000},
                                           .plans = plans,
                                           .n_plans = 3};
  return &spec;
}

static enum hr_status summarize(const struct arrangement *of, struct hr_run_config config, struct outcome *outcome) {
  struct hr_usage *usage = hr_usage_create(&scenario.trace);
  struct hr_ledger *ledger = hr_ledger_create(&scenario.trace, &of->cluster, true);
  struct hr_meter *meter = hr_meter_create(&scenario.trace, &of->cluster, costs());
  struct hr_placements *placements = hr_placements_create(&scenario.trace);
  const struct hr_observer observers[] = {hr_usage_observer(usage), hr_ledger_observer(ledger),
                                          hr_meter_observer(meter), hr_placements_observer(placements)};
  const struct hr_cost_basis basis = {ledger, meter, costs(), scenario.classes};
  config.observers = observers;
  config.n_observers = 4;
  enum hr_status status = hr_sim_run(&config, &outcome->result, &outcome->error);
  if (status == HR_OK) status = hr_ledger_close(ledger, outcome->result);
  if (status == HR_OK)
    status =
        hr_summarize(&scenario.trace, &of->cluster, outcome->result, usage, &basis, &outcome->summary, &outcome->error);
  if (status == HR_OK)
    status = hr_jobs_write(files_path("jobs.csv"), &scenario.trace, &of->cluster, outcome->result, placements, ledger,
                           &outcome->error);
  if (status == HR_OK) outcome->jobs = files_read(files_path("jobs.csv"));
  hr_placements_destroy(placements);
  hr_meter_destroy(meter);
  hr_ledger_destroy(ledger);
  hr_usage_destroy(usage);
  return status;
}

static struct outcome run(const struct arrangement *of, const struct hr_policy_choice *choice) {
  static char model[] = "*";
  static struct hr_network_speed rows[] = {{model, HR_NETWORK_25GBE, 2, 400000}};
  static const struct hr_network_speeds links = {rows, 1};
  struct outcome outcome = {0};
  struct hr_run_config config = {.trace = &scenario.trace,
                                 .cluster = &of->cluster,
                                 .policy = choice->ops,
                                 .params = choice->params,
                                 .seed = scenario.seed,
                                 .horizon_us = scenario.horizon_us,
                                 .check = true,
                                 .classes = scenario.classes,
                                 .quotas = quotas(),
                                 .speeds = scenario.has_speeds ? &of->speeds : NULL,
                                 .network_speeds = scenario.has_links ? &links : NULL};
  outcome.status = summarize(of, config, &outcome);
  return outcome;
}

static void finish(struct outcome *outcome) {
  hr_result_destroy(outcome->result);
  hr_summary_destroy(outcome->summary);
  free(outcome->jobs);
}

/* Returns the number of values of a parameter that are valid in the scenario. The valid values precede all others. */
static uint32_t values_of(const struct hr_param *param) {
  enum { BY_NODE = 4 };
  uint32_t count = 0;
  while (param->choices[count]) count++;
  bool by_node = strcmp(param->key, "placement") == 0 && scenario.kind != SHARED;
  return by_node && count > BY_NODE ? BY_NODE : count;
}

/* Returns whether most settings refuse all values of a parameter but its first one. */
static bool is_special(const struct hr_param *param) {
  static const char *const keys[] = {"carbon", "elastic", "recovery"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp(param->key, keys[i]) == 0) return true;
  return false;
}

/* Returns a policy with random parameters. */
static struct hr_policy_choice draw_choice(void) {
  struct hr_policy_choice choice;
  uint32_t count = 0;
  while (hr_policies()[count]) count++;
  const char *name = scenario.kind == SHARED || draw(3) ? "queue" : hr_policies()[draw(count)]->name;
  if (hr_policy_choice_init(&choice, name, NULL) != HR_OK) abort();
  for (size_t i = 0; i < choice.n_params; i++) {
    const struct hr_param *param = &choice.ops->params[i];
    if (param->type != HR_PARAM_CHOICE || (param->advanced && (scenario.kind == SHARED || draw(2)))) continue;
    if (is_special(param)) continue;
    uint32_t first = strcmp(param->choices[0], "pool") == 0 &&
                     scenario.kind != FIXED; /* the placement rule `pool` is valid only for fixed nodes */
    choice.params[i].integer = first + draw(values_of(param) - first);
  }
  return choice;
}

/* ---- Comparison ------------------------------------------------------------------------------------- */

static const struct hr_policy_choice *present;

static void expect(bool same, const char *what) {
  if (!same) {
    printf("\n  scenario %llu, %s differs under %s", (unsigned long long)scenario.seed, what, present->ops->name);
    for (size_t i = 0; i < present->n_params; i++) {
      char buffer[32];
      printf(" %s=%s", present->ops->params[i].key, hr_policy_choice_text(present, i, buffer));
    }
    printf("\n");
  }
  CU_ASSERT_TRUE_FATAL(same);
}

static bool same_double(double a, double b) {
  return a == b || (isnan(a) && isnan(b));
}

static bool same_distribution(const struct hr_distribution *a, const struct hr_distribution *b) {
  return a->count == b->count && same_double(a->mean, b->mean) && same_double(a->p50, b->p50) &&
         same_double(a->p90, b->p90) && same_double(a->p95, b->p95) && same_double(a->p99, b->p99) &&
         same_double(a->max, b->max);
}

static void expect_groups(const struct hr_group *a, size_t n_a, const struct hr_group *b, size_t n_b,
                          const char *what) {
  expect(n_a == n_b, what);
  for (size_t i = 0; i < n_a; i++) {
    expect(strcmp(a[i].name, b[i].name) == 0 && a[i].jobs == b[i].jobs && a[i].completed == b[i].completed, what);
    expect(same_double(a[i].gpu_hours, b[i].gpu_hours), what);
    expect(same_double(a[i].useful_gpu_hours, b[i].useful_gpu_hours), what);
    expect(same_distribution(&a[i].wait_s, &b[i].wait_s) && same_distribution(&a[i].jct_s, &b[i].jct_s) &&
               same_distribution(&a[i].slowdown, &b[i].slowdown),
           what);
  }
}

/* Asserts that `a` contains the lines of `b`, and that all other lines of `a` are zero. */
static void expect_lines(const struct hr_cost_lines *a, const struct hr_cost_lines *b, const char *what) {
  size_t at = 0;
  for (size_t i = 0; i < a->count; i++) {
    bool is_next = at < b->count && strcmp(a->line[i].name, b->line[at].name) == 0;
    expect(a->line[i].uusd == (is_next ? b->line[at].uusd : 0), what);
    at += is_next;
  }
  expect(at == b->count || a == b, what);
}

static void expect_costs(const struct hr_cost_summary *a, const struct hr_cost_summary *b) {
  expect(a->total_uusd == b->total_uusd && a->capacity_uusd == b->capacity_uusd && a->idle_uusd == b->idle_uusd &&
             a->shared_uusd == b->shared_uusd,
         "the cost");
  expect(a->all_on_demand_uusd == b->all_on_demand_uusd && same_double(a->saving_vs_on_demand, b->saving_vs_on_demand),
         "the cost on demand");
  expect(a->per_completed_job_uusd == b->per_completed_job_uusd && a->monthly_uusd == b->monthly_uusd &&
             a->per_goodput_gpu_hour_uusd == b->per_goodput_gpu_hour_uusd,
         "a cost by unit");
  expect_lines(&a->by_market, &b->by_market, "the cost by market");
  expect_lines(&a->by_tenant, &b->by_tenant, "the cost by tenant");
  expect_lines(&a->by_class, &b->by_class, "the cost by class");
  expect_lines(&a->by_pool, &b->by_pool, "the cost by pool");
  expect_lines(&a->by_gpu, &b->by_gpu, "the cost by GPU type");
  expect(a->n_statements == b->n_statements && a->n_rows == b->n_rows && a->n_budgets == b->n_budgets,
         "the number of statements");
  for (size_t i = 0; i < a->n_statements; i++)
    expect(a->statements[i].total_uusd == b->statements[i].total_uusd, "a statement");
  for (size_t i = 0; i < a->n_rows; i++)
    expect(a->rows[i].uusd == b->rows[i].uusd && a->rows[i].gpu_time == b->rows[i].gpu_time, "a row of costs");
}

static void expect_pool(const struct hr_pool_metrics *a, const struct hr_pool_metrics *b) {
  expect(a->completed == b->completed && same_double(a->gpu_hours, b->gpu_hours) &&
             same_double(a->utilization, b->utilization) && same_distribution(&a->latency_factor, &b->latency_factor) &&
             a->cost_uusd == b->cost_uusd && a->per_completed_job_uusd == b->per_completed_job_uusd,
         "a pool's figures");
}

/* Asserts that pools with nodes have the same metrics in both runs, and that the metrics of empty pools are zero or
   unknown. If the run `plain` has a single pool, it has no metrics by pool. */
static void expect_pools(const struct hr_summary *more, const struct hr_summary *plain) {
  size_t at = 0;
  expect(more->n_pools == (scenario.more.cluster.n_pools > 1 ? scenario.more.cluster.n_pools : 0),
         "the number of pools");
  for (size_t i = 0; i < more->n_pools; i++) {
    const struct hr_pool_metrics *pool = &more->by_pool[i];
    if (scenario.more.pools[i].nodes > 0) {
      if (plain && plain->n_pools) expect_pool(pool, &plain->by_pool[at++]);
      continue;
    }
    int64_t cost_uusd = scenario.more.pools[i].market.market == HR_MARKET_NONE ? HR_UNKNOWN_UUSD : 0;
    expect(pool->gpu_hours == 0 && isnan(pool->utilization), "an empty pool");
    expect(!plain || pool->completed == 0,
           "the jobs of an empty pool"); /* no job runs there: jobs without GPUs need a node, too */
    expect(pool->cost_uusd == cost_uusd, "an empty pool's cost");
  }
}

static void expect_summary(const struct hr_summary *a, const struct hr_summary *b) {
  expect(a->jobs_completed == b->jobs_completed && a->jobs_rejected == b->jobs_rejected &&
             a->jobs_unfinished == b->jobs_unfinished && a->jobs_backfilled == b->jobs_backfilled,
         "a count of jobs");
  expect(a->n_events == b->n_events && a->n_passes == b->n_passes, "the number of events");
  expect(same_distribution(&a->wait_s, &b->wait_s) && same_distribution(&a->jct_s, &b->jct_s) &&
             same_distribution(&a->slowdown, &b->slowdown),
         "a distribution");
  expect(same_double(a->makespan_s, b->makespan_s) && same_double(a->submit_window_s, b->submit_window_s) &&
             same_double(a->utilization_submit_window, b->utilization_submit_window) &&
             same_double(a->utilization_makespan, b->utilization_makespan),
         "utilization");
  expect(same_double(a->queue_mean, b->queue_mean) && a->queue_max == b->queue_max, "the queue");
  expect(same_double(a->gpu_hours, b->gpu_hours) && a->gpus == b->gpus && a->nodes == b->nodes, "the GPUs");
  expect(a->stoppable == b->stoppable && same_double(a->goodput.useful_gpu_hours, b->goodput.useful_gpu_hours) &&
             same_double(a->goodput.lost_gpu_hours, b->goodput.lost_gpu_hours) &&
             same_double(a->goodput.checkpoint_gpu_hours, b->goodput.checkpoint_gpu_hours) &&
             same_double(a->goodput.restart_gpu_hours, b->goodput.restart_gpu_hours),
         "goodput");
  expect(a->spot.pools == b->spot.pools && a->spot.reclaims == b->spot.reclaims &&
             a->spot.jobs_interrupted == b->spot.jobs_interrupted &&
             same_double(a->spot.gpu_hours, b->spot.gpu_hours) &&
             same_double(a->spot.availability, b->spot.availability),
         "spot");
  expect(a->oom.known == b->oom.known && a->oom.kills == b->oom.kills &&
             same_double(a->oom.back_off_gpu_hours, b->oom.back_off_gpu_hours),
         "kills for want of memory");
  expect(a->fairness.parties == b->fairness.parties && same_double(a->fairness.jain, b->fairness.jain) &&
             same_distribution(&a->fairness.finish_time, &b->fairness.finish_time),
         "fairness");
  const struct hr_fragmentation_metrics *f = &a->fragmentation, *g = &b->fragmentation;
  expect(f->known == g->known && same_double(f->makespan, g->makespan) && same_double(f->max, g->max) &&
             same_double(f->stranded, g->stranded) && same_double(f->largest_gang_mean, g->largest_gang_mean) &&
             f->largest_gang_min == g->largest_gang_min,
         "fragmentation");
  expect_groups(a->by_size, a->n_sizes, b->by_size, b->n_sizes, "a group by size");
  expect_groups(a->by_class, a->n_classes, b->by_class, b->n_classes, "a group by class");
  expect_groups(a->by_tenant, a->n_tenants, b->by_tenant, b->n_tenants, "a group by tenant");
  expect_costs(a->costs, b->costs);
}

/* ---- Tests ------------------------------------------------------------------------------------------ */

static struct { unsigned runs[N_KINDS], rejected, interrupted, backfilled, digests, stalled; } coverage;

static void count_run(const struct outcome *outcome) {
  coverage.runs[scenario.kind]++;
  coverage.rejected += outcome->result->n_rejected > 0;
  coverage.interrupted += outcome->summary->spot.jobs_interrupted > 0;
  coverage.backfilled += outcome->result->n_backfilled > 0;
  coverage.digests += scenario.empty_last;
  coverage.stalled += outcome->result->stalled;
}

/* Runs the scenario with and without empty pools and compares the results. The digests are equal if the empty pools are
   last, because then the other pools have the same indices in both runs. */
static void compare_runs(void) {
  struct hr_policy_choice choice = draw_choice();
  present = &choice;
  struct outcome plain = run(&scenario.plain, &choice), more = run(&scenario.more, &choice);
  expect(plain.status == more.status, "the status");
  expect(plain.status == HR_OK || plain.status == HR_BAD_INPUT, "what a policy may do");
  if (plain.status == HR_OK) {
    expect(strcmp(plain.jobs, more.jobs) == 0, "the file of jobs");
    expect_summary(more.summary, plain.summary);
    expect_pools(more.summary, plain.summary);
    expect(!scenario.empty_last || plain.result->digest == more.result->digest, "the digest");
    expect(plain.result->stalled == more.result->stalled && plain.result->end_us == more.result->end_us, "the end");
    count_run(&plain);
  } else {
    expect(strcmp(plain.error.text, more.error.text) == 0, "the error");
  }
  finish(&plain);
  finish(&more);
  hr_policy_choice_finish(&choice);
}

static void empty_pools_have_no_effect(void) {
  memset(&coverage, 0, sizeof coverage);
  for (uint64_t seed = 1; seed <= SCENARIOS; seed++) {
    draw_scenario(seed, 1 + (uint32_t)(seed / N_KINDS % REAL));
    compare_runs();
    free_pools();
  }
  for (int kind = 0; kind < N_KINDS; kind++) CU_ASSERT(coverage.runs[kind] > SCENARIOS / N_KINDS / 2);
  CU_ASSERT(coverage.rejected > SCENARIOS / 3);
  CU_ASSERT(coverage.interrupted > SCENARIOS / 10);
  CU_ASSERT(coverage.backfilled > SCENARIOS / 10);
  CU_ASSERT(coverage.digests > SCENARIOS / 10);
  CU_ASSERT(coverage.stalled > 0);
}

/* Changes the scenario so that runs stall. A run is stopped when no job has made progress for a limit of time. The
   limit is a year, or the run time of the longest job in the slowest pool, whichever is longer. Slow pools without
   nodes must not prolong it. */
static void make_stall(void) {
  struct arrangement *const both[] = {&scenario.plain, &scenario.more};
  for (size_t k = 0; k < 2; k++)
    for (uint32_t i = 0; i < both[k]->cluster.n_pools; i++) {
      struct hr_pool_spec *pool = &both[k]->pools[i];
      if (pool->nodes == 0) continue;
      pool->market = (struct hr_market_spec){.market = HR_MARKET_RESERVED, .to_us = 3 * MINUTE};
      pool->topology = (struct hr_topology){0};
    }
  for (uint32_t i = 0; i < JOBS; i++) scenario.deadline_us[i] = HR_UNKNOWN_US;
  scenario.horizon_us = HR_NEVER_US;
  scenario.has_links = true;
  if (scenario.kind == FIXED) scenario.kind = ELASTIC; /* the reservations end, so the nodes are not fixed */
}

static void stalled_runs_end_at_the_same_time(void) {
  memset(&coverage, 0, sizeof coverage);
  for (uint64_t seed = 1; seed <= SCENARIOS / 8; seed++) {
    draw_scenario(seed, 1);
    make_stall();
    compare_runs();
    free_pools();
  }
  CU_ASSERT(coverage.stalled > SCENARIOS / 16);
}

/* Checks a run on a cluster without GPUs: jobs that request GPUs are rejected, and other jobs start immediately, unless
   they are rejected. */
static void expect_rejections(const struct outcome *outcome) {
  for (uint32_t i = 0; i < JOBS; i++) {
    enum hr_job_state state = (enum hr_job_state)outcome->result->state[i];
    enum hr_reason reason = (enum hr_reason)outcome->result->reason[i];
    bool has_reason = reason != HR_REASON_NONE && reason != HR_REASON_POLICY;
    bool is_early = scenario.submit_us[i] <= scenario.horizon_us;
    if (scenario.gpus[i] > 0 && is_early) expect(state == HR_JOB_REJECTED && has_reason, "the state of a job");
    if (scenario.gpus[i] == 0 && is_early && state != HR_JOB_REJECTED)
      expect(outcome->result->start_us[i] == scenario.submit_us[i], "the start of a job without GPUs");
  }
}

/* Asserts that neither the table nor the JSON contains infinite or undefined numbers. */
static void expect_reports(const struct outcome *outcome) {
  const struct hr_run_label label = {.scenario = "s",
                                     .trace = "t",
                                     .format = "memory",
                                     .cluster = &scenario.more.cluster,
                                     .policy = present,
                                     .seed = scenario.seed};
  static const struct hr_perf perf;
  struct hr_error error;
  char *table = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&table, &size);
  if (!out || hr_summary_print(out, outcome->summary, &label, &perf, false) != HR_OK || fclose(out) != 0) abort();
  if (hr_summary_write_json(files_path("s.json"), outcome->summary, &label, &perf, &error) != HR_OK) abort();
  char *json = files_read(files_path("s.json"));
  expect(!strstr(table, " nan") && !strstr(table, " -nan") && !strstr(table, " inf "), "the table");
  expect(!strstr(json, ": nan") && !strstr(json, ": -nan") && !strstr(json, ": inf"), "the JSON");
  expect(strstr(table, "0 GPUs on 0 nodes"), "the head of the table");
  free(table);
  free(json);
}

static void gpu_jobs_are_rejected_without_nodes(void) {
  unsigned runs = 0;
  for (uint64_t seed = 1; seed <= SCENARIOS; seed++) {
    draw_scenario(seed, 0);
    struct hr_policy_choice choice = draw_choice();
    present = &choice;
    struct outcome outcome = run(&scenario.more, &choice);
    expect(outcome.status == HR_OK || outcome.status == HR_BAD_INPUT, "what a policy may do");
    if (outcome.status == HR_OK) {
      expect_rejections(&outcome);
      expect_reports(&outcome);
      expect_pools(outcome.summary, NULL);
      runs++;
    }
    finish(&outcome);
    hr_policy_choice_finish(&choice);
    free_pools();
  }
  CU_ASSERT(runs > SCENARIOS / 2);
}

TEST_MAIN("report: empty pools", TEST(empty_pools_have_no_effect), TEST(stalled_runs_end_at_the_same_time),
          TEST(gpu_jobs_are_rejected_without_nodes))
