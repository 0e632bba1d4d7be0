/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random scenarios for the tests of the HTML report, and the observer that records every pass. */

#include "page_scenarios.h"

#include "headroom/policies.h"
#include "headroom/sim.h"

#include <stdio.h>
#include <stdlib.h>

#define HOUR_US (INT64_C(3600) * HR_SECOND_US)

/* A 64-bit linear congruential generator with the constants of Knuth. Only the high bits are used, because the low bits
   have short periods. */
uint64_t page_scenario_random(struct page_scenario *scenario, uint64_t below) {
  scenario->state = scenario->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (scenario->state >> 33) % below;
}

/* ---- Random scenarios ------------------------------------------------------------------------------- */

static void draw_jobs(struct page_scenario *scenario) {
  static const char *const tenants[] = {"a", "b", "c"}, *const users[] = {"u", "v"};
  int64_t at_us = 0;
  bool whole = page_scenario_random(scenario, 2); /* all times are whole seconds */
  for (uint32_t i = 0; i < SCENARIO_JOBS; i++) {
    scenario->submit_us[i] = at_us;
    at_us += (int64_t)page_scenario_random(scenario, 1800) * HR_SECOND_US +
             (whole ? 0 : (int64_t)page_scenario_random(scenario, 1000000));
    scenario->work_us[i] = (int64_t)page_scenario_random(scenario, 6 * 3600) * HR_SECOND_US;
    scenario->gpus[i] = 1 + (uint32_t)page_scenario_random(scenario, 8);
    scenario->tenant[i] = page_scenario_random(scenario, 8) ? (uint32_t)page_scenario_random(scenario, 3) : HR_NONE;
    scenario->user[i] = (uint32_t)page_scenario_random(scenario, 2);
    scenario->class_[i] = (uint8_t)page_scenario_random(scenario, HR_N_CLASSES);
    scenario->id[i] = 1000 - 7 * (int64_t)i;
  }
  scenario->trace = (struct hr_trace){.source = "random",
                                      .format = "memory",
                                      .n_jobs = SCENARIO_JOBS,
                                      .submit_us = scenario->submit_us,
                                      .work_us = scenario->work_us,
                                      .gpus = scenario->gpus,
                                      .id_number = scenario->id,
                                      .tenant = page_scenario_random(scenario, 4) ? scenario->tenant : NULL,
                                      .user = scenario->user,
                                      .class_ = page_scenario_random(scenario, 4) ? scenario->class_ : NULL,
                                      .tenants = {3, tenants},
                                      .users = {2, users}};
}

static void draw_market(struct page_scenario *scenario, struct hr_pool_spec *pool, enum hr_market market) {
  static const struct hr_price_step steps[] = {{0, 1500000}, {5 * HOUR_US, 2500000}, {11 * HOUR_US, 500000}};
  struct hr_market_spec *spec = &pool->market;
  *spec = (struct hr_market_spec){.market = market,
                                  .price_uusd_h = (int64_t)page_scenario_random(scenario, 5000000),
                                  .on_demand_uusd_h = 4000000,
                                  .to_us = HR_NEVER_US};
  if (market == HR_MARKET_RESERVED && page_scenario_random(scenario, 2)) {
    spec->from_us = (int64_t)page_scenario_random(scenario, 3) * HOUR_US;
    spec->to_us = spec->from_us + (1 + (int64_t)page_scenario_random(scenario, 100)) * HOUR_US;
  }
  spec->boot = (struct hr_duration){HR_DURATION_FIXED, (double)page_scenario_random(scenario, 300), 0};
  if (page_scenario_random(scenario, 2))
    spec->billing = (struct hr_billing){600 * HR_SECOND_US, 900 * HR_SECOND_US, HOUR_US};
  if (market == HR_MARKET_ON_DEMAND && page_scenario_random(scenario, 2)) {
    for (size_t i = 0; i < 3; i++) scenario->prices[i] = steps[i];
    spec->prices = scenario->prices;
    spec->n_prices = 3;
  }
  if (market == HR_MARKET_SPOT)
    spec->spot = (struct hr_spot_spec){.model = HR_SPOT_EXPONENTIAL,
                                       .notice_us = 120 * HR_SECOND_US,
                                       .rate_per_h = 0.05 * (double)page_scenario_random(scenario, 60),
                                       .batch_mean = 1};
}

static void draw_cluster(struct page_scenario *scenario) {
  static char *const names[] = {(char *)"one", (char *)"two", (char *)"three", (char *)"four"};
  for (uint32_t i = 0; i < SCENARIO_POOLS; i++) {
    scenario->pool[i] =
        (struct hr_pool_spec){.name = names[i],
                              .gpu = page_scenario_random(scenario, 2) ? (char *)"A100-80" : (char *)"H100",
                              .nodes = (uint32_t)page_scenario_random(scenario, 4) + (i == 0),
                              .gpus_per_node = i ? 4 : 8};
    enum hr_market market = (enum hr_market)(i < 2 ? 1 + i * 2 : 1 + page_scenario_random(scenario, HR_N_MARKETS - 1));
    draw_market(scenario, &scenario->pool[i], market);
  }
  scenario->pool[0].market.to_us = HR_NEVER_US;
  scenario->cluster = (struct hr_cluster_spec){scenario->pool, SCENARIO_POOLS, NULL, page_scenario_random(scenario, 2)};
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    scenario->classes[i] =
        (struct hr_class_spec){.checkpoint = (enum hr_checkpoint)page_scenario_random(scenario, HR_N_CHECKPOINTS),
                               .interval_us = HOUR_US,
                               .write_us = (int64_t)page_scenario_random(scenario, 200) * HR_SECOND_US,
                               .restart_us = (int64_t)page_scenario_random(scenario, 600) * HR_SECOND_US};
  if (page_scenario_random(scenario, 2)) scenario->costs.operations = (struct hr_operations_cost){800000000, 1000000};
}

struct page_scenario *page_scenario_draw(uint64_t seed) {
  struct page_scenario *scenario = calloc(1, sizeof *scenario);
  if (!scenario) abort();
  scenario->state = seed;
  draw_jobs(scenario);
  draw_cluster(scenario);
  scenario->horizon_us =
      page_scenario_random(scenario, 4) ? HR_NEVER_US : (int64_t)(1 + page_scenario_random(scenario, 20)) * HOUR_US;
  if (hr_policy_choice_init(&scenario->policy, "queue", NULL) != HR_OK) abort();
  return scenario;
}

struct page_scenario *page_scenario_plain(uint32_t n_jobs) {
  struct page_scenario *scenario = calloc(1, sizeof *scenario);
  if (!scenario || n_jobs > SCENARIO_JOBS) abort();
  scenario->pool[0] = (struct hr_pool_spec){.name = (char *)"one", .gpu = (char *)"T4", .nodes = 1, .gpus_per_node = 8};
  scenario->cluster = (struct hr_cluster_spec){scenario->pool, 1};
  for (uint32_t i = 0; i < n_jobs; i++) {
    scenario->gpus[i] = 8;
    scenario->work_us[i] = HOUR_US;
  }
  scenario->trace = (struct hr_trace){.source = "plain",
                                      .format = "memory",
                                      .n_jobs = n_jobs,
                                      .submit_us = scenario->submit_us,
                                      .work_us = scenario->work_us,
                                      .gpus = scenario->gpus};
  scenario->horizon_us = HR_NEVER_US;
  if (hr_policy_choice_init(&scenario->policy, "queue", NULL) != HR_OK) abort();
  return scenario;
}

/* ---- Running ---------------------------------------------------------------------------------------- */

/* Returns the GPUs that waiting jobs request, summed over all jobs. */
static uint64_t waiting_milli(const struct hr_view *view) {
  uint64_t milli = 0;
  for (uint32_t job = 0; job < view->jobs->n_jobs; job++)
    if (view->state[job] == HR_JOB_WAITING) milli += hr_cluster_asked_milli(view->cluster, (hr_job){job});
  return milli;
}

/* Records the numbers of acquired and offered nodes by counting nodes one by one. */
static void record_nodes(const struct page_scenario *scenario, const struct hr_view *view,
                         struct page_instant *instant) {
  uint32_t node = 0;
  for (uint32_t pool = 0; pool < scenario->cluster.n_pools; pool++) {
    for (uint32_t i = 0; i < scenario->pool[pool].nodes; i++, node++)
      instant->up[pool] += hr_cluster_node_state(view->cluster, (hr_node){node}) != HR_NODE_OFF;
    instant->offered[pool] = instant->up[pool] + hr_cluster_offer(view->cluster, (hr_pool){pool});
  }
}

static void record(void *self, const struct hr_view *view) {
  struct page_scenario *scenario = self;
  if (scenario->n_instants == scenario->capacity) {
    scenario->capacity = scenario->capacity ? 2 * scenario->capacity : 256;
    scenario->instants = realloc(scenario->instants, scenario->capacity * sizeof *scenario->instants);
    if (!scenario->instants) abort();
  }
  scenario->instants[scenario->n_instants++] = (struct page_instant){.at_us = view->now_us,
                                                                     .waiting = view->n_waiting,
                                                                     .running = view->n_running,
                                                                     .allocated_milli = view->allocated_milli,
                                                                     .total_milli = view->total_milli,
                                                                     .waiting_milli = waiting_milli(view)};
  record_nodes(scenario, view, &scenario->instants[scenario->n_instants - 1]);
}

static void simulate(struct page_scenario *scenario, bool priced) {
  struct hr_observer observers[7] = {hr_usage_observer(scenario->usage),
                                     hr_history_observer(scenario->history),
                                     hr_page_watch_observer(scenario->watch),
                                     hr_alerts_observer(scenario->alerts),
                                     {.self = scenario, .on_instant = record}};
  uint32_t n_observers = 5;
  if (priced) {
    observers[n_observers++] = hr_ledger_observer(scenario->ledger);
    observers[n_observers++] = hr_meter_observer(scenario->meter);
  }
  const struct hr_run_config config = {.trace = &scenario->trace,
                                       .cluster = &scenario->cluster,
                                       .policy = scenario->policy.ops,
                                       .params = scenario->policy.params,
                                       .seed = 1,
                                       .horizon_us = scenario->horizon_us,
                                       .classes = scenario->classes,
                                       .observers = observers,
                                       .n_observers = n_observers};
  struct hr_error error = {0};
  if (hr_sim_run(&config, &scenario->result, &error) == HR_OK) return;
  fprintf(stderr, "%s\n", error.text);
  abort();
}

static bool has_prices(const struct page_scenario *scenario) {
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++)
    if (scenario->pool[i].market.market != HR_MARKET_NONE) return true;
  return false;
}

/* Returns an observer of alerts. Its limit for waits is one microsecond, so that every longer wait causes an alert. */
static struct hr_alerts *alerts_of(const struct page_scenario *scenario) {
  static struct hr_alert_rules rules;
  hr_alert_rules_init(&rules);
  for (unsigned i = 0; i < HR_N_CLASSES; i++) rules.waiting_us[i] = 1;
  rules.saturated_for_us = 1;
  const struct hr_alerts_config config = {.trace = &scenario->trace, .cluster = &scenario->cluster, .rules = &rules};
  return hr_alerts_create(&config);
}

void page_scenario_run(struct page_scenario *scenario) {
  static const struct hr_perf perf = {1, 1, 1};
  bool priced = has_prices(scenario);
  scenario->usage = hr_usage_create(&scenario->trace);
  scenario->history = hr_history_create(&scenario->trace);
  scenario->watch = hr_page_watch_create(&scenario->trace, &scenario->cluster, scenario->usage);
  scenario->alerts = alerts_of(scenario);
  if (!scenario->usage || !scenario->history || !scenario->watch || !scenario->alerts) abort();
  if (priced) {
    scenario->ledger = hr_ledger_create(&scenario->trace, &scenario->cluster, true);
    scenario->meter = hr_meter_create(&scenario->trace, &scenario->cluster, &scenario->costs);
  }
  simulate(scenario, priced);
  if (priced && hr_ledger_close(scenario->ledger, scenario->result) != HR_OK) abort();
  if (hr_history_close(scenario->history, scenario->result) != HR_OK) abort();
  if (hr_alerts_close(scenario->alerts, scenario->result, NULL) != HR_OK) abort();
  const struct hr_cost_basis basis = {scenario->ledger, scenario->meter, &scenario->costs, scenario->classes};
  if (hr_summarize(&scenario->trace, &scenario->cluster, scenario->result, scenario->usage, priced ? &basis : NULL,
                   &scenario->summary, NULL) != HR_OK)
    abort();
  scenario->label = (struct hr_run_label){.scenario = "a scenario",
                                          .trace = "random",
                                          .format = "memory",
                                          .cluster = &scenario->cluster,
                                          .policy = &scenario->policy,
                                          .alerts = scenario->alerts,
                                          .seed = 1};
  scenario->run = (struct hr_page_run){&scenario->trace,  &scenario->cluster, scenario->result,
                                       scenario->history, scenario->watch,    scenario->ledger,
                                       scenario->summary, &scenario->label,   &perf};
}

void page_scenario_destroy(struct page_scenario *scenario) {
  hr_summary_destroy(scenario->summary);
  hr_result_destroy(scenario->result);
  hr_page_watch_destroy(scenario->watch);
  hr_alerts_destroy(scenario->alerts);
  hr_history_destroy(scenario->history);
  hr_meter_destroy(scenario->meter);
  hr_ledger_destroy(scenario->ledger);
  hr_usage_destroy(scenario->usage);
  hr_policy_choice_finish(&scenario->policy);
  free(scenario->instants);
  free(scenario);
}
