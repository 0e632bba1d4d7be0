/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "page_world.h"

#include "headroom/policies.h"
#include "headroom/sim.h"

#include <stdio.h>
#include <stdlib.h>

#define HOUR_US (INT64_C(3600) * HR_SECOND_US)

/* The constants of the 64-bit linear congruential generator are Knuth's. Only the high bits are used, because the low
   bits have short periods. */
uint64_t world_below(struct world *world, uint64_t below) {
  world->state = world->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (world->state >> 33) % below;
}

/* ---- Random scenarios ------------------------------------------------------------------------------- */

static void draw_jobs(struct world *world) {
  static const char *const tenants[] = {"a", "b", "c"}, *const users[] = {"u", "v"};
  int64_t at_us = 0;
  bool whole = world_below(world, 2); /* all times are whole seconds */
  for (uint32_t i = 0; i < WORLD_JOBS; i++) {
    world->submit_us[i] = at_us;
    at_us += (int64_t)world_below(world, 1800) * HR_SECOND_US + (whole ? 0 : (int64_t)world_below(world, 1000000));
    world->work_us[i] = (int64_t)world_below(world, 6 * 3600) * HR_SECOND_US;
    world->gpus[i] = 1 + (uint32_t)world_below(world, 8);
    world->tenant[i] = world_below(world, 8) ? (uint32_t)world_below(world, 3) : HR_NONE;
    world->user[i] = (uint32_t)world_below(world, 2);
    world->class_[i] = (uint8_t)world_below(world, HR_N_CLASSES);
    world->id[i] = 1000 - 7 * (int64_t)i;
  }
  world->trace = (struct hr_trace){.source = "random",
                                   .format = "memory",
                                   .n_jobs = WORLD_JOBS,
                                   .submit_us = world->submit_us,
                                   .work_us = world->work_us,
                                   .gpus = world->gpus,
                                   .id_number = world->id,
                                   .tenant = world_below(world, 4) ? world->tenant : NULL,
                                   .user = world->user,
                                   .class_ = world_below(world, 4) ? world->class_ : NULL,
                                   .tenants = {3, tenants},
                                   .users = {2, users}};
}

static void draw_market(struct world *world, struct hr_pool_spec *pool, enum hr_market market) {
  static const struct hr_price_step steps[] = {{0, 1500000}, {5 * HOUR_US, 2500000}, {11 * HOUR_US, 500000}};
  struct hr_market_spec *spec = &pool->market;
  *spec = (struct hr_market_spec){.market = market,
                                  .price_uusd_h = (int64_t)world_below(world, 5000000),
                                  .on_demand_uusd_h = 4000000,
                                  .to_us = HR_NEVER_US};
  if (market == HR_MARKET_RESERVED && world_below(world, 2)) {
    spec->from_us = (int64_t)world_below(world, 3) * HOUR_US;
    spec->to_us = spec->from_us + (1 + (int64_t)world_below(world, 100)) * HOUR_US;
  }
  spec->boot = (struct hr_duration){HR_DURATION_FIXED, (double)world_below(world, 300), 0};
  if (world_below(world, 2)) spec->billing = (struct hr_billing){600 * HR_SECOND_US, 900 * HR_SECOND_US, HOUR_US};
  if (market == HR_MARKET_ON_DEMAND && world_below(world, 2)) {
    for (size_t i = 0; i < 3; i++) world->prices[i] = steps[i];
    spec->prices = world->prices;
    spec->n_prices = 3;
  }
  if (market == HR_MARKET_SPOT)
    spec->spot = (struct hr_spot_spec){.model = HR_SPOT_EXPONENTIAL,
                                       .notice_us = 120 * HR_SECOND_US,
                                       .rate_per_h = 0.05 * (double)world_below(world, 60),
                                       .batch_mean = 1};
}

static void draw_cluster(struct world *world) {
  static char *const names[] = {(char *)"one", (char *)"two", (char *)"three", (char *)"four"};
  for (uint32_t i = 0; i < WORLD_POOLS; i++) {
    world->pool[i] = (struct hr_pool_spec){.name = names[i],
                                           .gpu = world_below(world, 2) ? (char *)"A100-80" : (char *)"H100",
                                           .nodes = (uint32_t)world_below(world, 4) + (i == 0),
                                           .gpus_per_node = i ? 4 : 8};
    enum hr_market market = (enum hr_market)(i < 2 ? 1 + i * 2 : 1 + world_below(world, HR_N_MARKETS - 1));
    draw_market(world, &world->pool[i], market);
  }
  world->pool[0].market.to_us = HR_NEVER_US;
  world->cluster = (struct hr_cluster_spec){world->pool, WORLD_POOLS, NULL, world_below(world, 2)};
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    world->classes[i] = (struct hr_class_spec){.checkpoint = (enum hr_checkpoint)world_below(world, HR_N_CHECKPOINTS),
                                               .interval_us = HOUR_US,
                                               .write_us = (int64_t)world_below(world, 200) * HR_SECOND_US,
                                               .restart_us = (int64_t)world_below(world, 600) * HR_SECOND_US};
  if (world_below(world, 2)) world->costs.operations = (struct hr_operations_cost){800000000, 1000000};
}

struct world *world_draw(uint64_t seed) {
  struct world *world = calloc(1, sizeof *world);
  if (!world) abort();
  world->state = seed;
  draw_jobs(world);
  draw_cluster(world);
  world->horizon_us = world_below(world, 4) ? HR_NEVER_US : (int64_t)(1 + world_below(world, 20)) * HOUR_US;
  if (hr_policy_choice_init(&world->policy, "queue", NULL) != HR_OK) abort();
  return world;
}

struct world *world_plain(uint32_t n_jobs) {
  struct world *world = calloc(1, sizeof *world);
  if (!world || n_jobs > WORLD_JOBS) abort();
  world->pool[0] = (struct hr_pool_spec){.name = (char *)"one", .gpu = (char *)"T4", .nodes = 1, .gpus_per_node = 8};
  world->cluster = (struct hr_cluster_spec){world->pool, 1};
  for (uint32_t i = 0; i < n_jobs; i++) {
    world->gpus[i] = 8;
    world->work_us[i] = HOUR_US;
  }
  world->trace = (struct hr_trace){.source = "plain",
                                   .format = "memory",
                                   .n_jobs = n_jobs,
                                   .submit_us = world->submit_us,
                                   .work_us = world->work_us,
                                   .gpus = world->gpus};
  world->horizon_us = HR_NEVER_US;
  if (hr_policy_choice_init(&world->policy, "queue", NULL) != HR_OK) abort();
  return world;
}

/* ---- Running ---------------------------------------------------------------------------------------- */

/* Returns the GPUs that waiting jobs request, summed over all jobs. */
static uint64_t waiting_milli(const struct hr_view *view) {
  uint64_t milli = 0;
  for (uint32_t job = 0; job < view->jobs->n_jobs; job++)
    if (view->state[job] == HR_JOB_WAITING) milli += hr_cluster_asked_milli(view->cluster, (hr_job){job});
  return milli;
}

/* Records the numbers of acquired and offered nodes, counted over all nodes. */
static void record_nodes(const struct world *world, const struct hr_view *view, struct world_instant *instant) {
  uint32_t node = 0;
  for (uint32_t pool = 0; pool < world->cluster.n_pools; pool++) {
    for (uint32_t i = 0; i < world->pool[pool].nodes; i++, node++)
      instant->up[pool] += hr_cluster_node_state(view->cluster, (hr_node){node}) != HR_NODE_OFF;
    instant->offered[pool] = instant->up[pool] + hr_cluster_offer(view->cluster, (hr_pool){pool});
  }
}

static void record(void *self, const struct hr_view *view) {
  struct world *world = self;
  if (world->n_instants == world->capacity) {
    world->capacity = world->capacity ? 2 * world->capacity : 256;
    world->instants = realloc(world->instants, world->capacity * sizeof *world->instants);
    if (!world->instants) abort();
  }
  world->instants[world->n_instants++] = (struct world_instant){.at_us = view->now_us,
                                                                .waiting = view->n_waiting,
                                                                .running = view->n_running,
                                                                .allocated_milli = view->allocated_milli,
                                                                .total_milli = view->total_milli,
                                                                .waiting_milli = waiting_milli(view)};
  record_nodes(world, view, &world->instants[world->n_instants - 1]);
}

static void simulate(struct world *world, bool priced) {
  struct hr_observer observers[7] = {hr_usage_observer(world->usage),
                                     hr_history_observer(world->history),
                                     hr_page_watch_observer(world->watch),
                                     hr_alerts_observer(world->alerts),
                                     {.self = world, .on_instant = record}};
  uint32_t n_observers = 5;
  if (priced) {
    observers[n_observers++] = hr_ledger_observer(world->ledger);
    observers[n_observers++] = hr_meter_observer(world->meter);
  }
  const struct hr_run_config config = {.trace = &world->trace,
                                       .cluster = &world->cluster,
                                       .policy = world->policy.ops,
                                       .params = world->policy.params,
                                       .seed = 1,
                                       .horizon_us = world->horizon_us,
                                       .classes = world->classes,
                                       .observers = observers,
                                       .n_observers = n_observers};
  struct hr_error error = {0};
  if (hr_sim_run(&config, &world->result, &error) == HR_OK) return;
  fprintf(stderr, "%s\n", error.text);
  abort();
}

static bool has_prices(const struct world *world) {
  for (uint32_t i = 0; i < world->cluster.n_pools; i++)
    if (world->pool[i].market.market != HR_MARKET_NONE) return true;
  return false;
}

/* Returns alerts with a limit of 0 for waits, so that every wait causes an alert. */
static struct hr_alerts *alerts_of(const struct world *world) {
  static struct hr_alert_rules rules;
  hr_alert_rules_init(&rules);
  for (unsigned i = 0; i < HR_N_CLASSES; i++) rules.waiting_us[i] = 1;
  rules.saturated_for_us = 1;
  const struct hr_alerts_config config = {.trace = &world->trace, .cluster = &world->cluster, .rules = &rules};
  return hr_alerts_create(&config);
}

void world_run(struct world *world) {
  static const struct hr_perf perf = {1, 1, 1};
  bool priced = has_prices(world);
  world->usage = hr_usage_create(&world->trace);
  world->history = hr_history_create(&world->trace);
  world->watch = hr_page_watch_create(&world->trace, &world->cluster, world->usage);
  world->alerts = alerts_of(world);
  if (!world->usage || !world->history || !world->watch || !world->alerts) abort();
  if (priced) {
    world->ledger = hr_ledger_create(&world->trace, &world->cluster, true);
    world->meter = hr_meter_create(&world->trace, &world->cluster, &world->costs);
  }
  simulate(world, priced);
  if (priced && hr_ledger_close(world->ledger, world->result) != HR_OK) abort();
  if (hr_history_close(world->history, world->result) != HR_OK) abort();
  if (hr_alerts_close(world->alerts, world->result, NULL) != HR_OK) abort();
  const struct hr_cost_basis basis = {world->ledger, world->meter, &world->costs, world->classes};
  if (hr_summarize(&world->trace, &world->cluster, world->result, world->usage, priced ? &basis : NULL, &world->summary,
                   NULL) != HR_OK)
    abort();
  world->label = (struct hr_run_label){.scenario = "a world",
                                       .trace = "random",
                                       .format = "memory",
                                       .cluster = &world->cluster,
                                       .policy = &world->policy,
                                       .alerts = world->alerts,
                                       .seed = 1};
  world->run = (struct hr_page_run){&world->trace, &world->cluster, world->result, world->history, world->watch,
                                    world->ledger, world->summary,  &world->label, &perf};
}

void world_destroy(struct world *world) {
  hr_summary_destroy(world->summary);
  hr_result_destroy(world->result);
  hr_page_watch_destroy(world->watch);
  hr_alerts_destroy(world->alerts);
  hr_history_destroy(world->history);
  hr_meter_destroy(world->meter);
  hr_ledger_destroy(world->ledger);
  hr_usage_destroy(world->usage);
  hr_policy_choice_finish(&world->policy);
  free(world->instants);
  free(world);
}
