/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The run of two hours that priced.h describes. */

#include "priced.h"

#include <stdlib.h>
#include <string.h>

#define HOUR PRICED_HOUR_US
#define USD INT64_C(1000000)

static void fill_trace(struct priced *run) {
  static const char *const tenants[] = {"a", "b"};
  static const uint32_t gpus[] = {4, 4, 8}, tenant[] = {0, 1, HR_NONE};
  static const uint8_t classes[] = {HR_CLASS_TRAINING, HR_CLASS_INFERENCE, HR_CLASS_UNKNOWN};
  for (uint32_t i = 0; i < PRICED_JOBS; i++) {
    run->gpus[i] = gpus[i];
    run->tenant[i] = tenant[i];
    run->class_[i] = classes[i];
    run->work_us[i] = HOUR;
    run->deadline_us[i] = i == 1 ? HOUR : HR_UNKNOWN_US;
    run->start_us[i] = i == 1 ? HOUR / 2 : 0;
    run->state[i] = HR_JOB_COMPLETED;
    run->reason[i] = HR_REASON_IN_ORDER;
  }
  run->trace = (struct hr_trace){.source = "made.csv",
                                 .format = "memory",
                                 .n_jobs = PRICED_JOBS,
                                 .submit_us = run->submit_us,
                                 .work_us = run->work_us,
                                 .gpus = run->gpus,
                                 .deadline_us = run->deadline_us,
                                 .tenant = run->tenant,
                                 .class_ = run->class_,
                                 .tenants = {2, tenants}};
}

static struct hr_pool_spec pool_of(const char *name, const char *gpu, uint32_t nodes, uint32_t gpus_per_node,
                                   struct hr_market_spec market) {
  market.to_us = HR_NEVER_US;
  return (struct hr_pool_spec){
      .name = (char *)name, .gpu = (char *)gpu, .nodes = nodes, .gpus_per_node = gpus_per_node, .market = market};
}

static void fill_cluster(struct priced *run) {
  const struct hr_market_spec reserved = {HR_MARKET_RESERVED, .price_uusd_h = 2 * USD, .on_demand_uusd_h = 4 * USD};
  const struct hr_market_spec on_demand = {HR_MARKET_ON_DEMAND, .price_uusd_h = 4 * USD, .on_demand_uusd_h = 4 * USD};
  const struct hr_market_spec spot = {HR_MARKET_SPOT, .price_uusd_h = USD, .on_demand_uusd_h = 3 * USD};
  run->pool[0] = pool_of("base", "A100-80", 1, 4, reserved);
  run->pool[1] = pool_of("burst", "A100-80", 2, 4, on_demand);
  run->pool[2] = pool_of("spot", "H100", 1, 8, spot);
  run->pool_accounting[1] = (struct hr_pool_accounting){.launches = 1, .up_us = 3 * HOUR / 2, .offered_us = 4 * HOUR};
  run->pool_accounting[2] = (struct hr_pool_accounting){
      .launches = 2, .reclaims = 1, .interruptions = 1, .up_us = 2 * HOUR, .offered_us = 2 * HOUR};
  run->cluster = (struct hr_cluster_spec){run->pool, PRICED_POOLS};
}

static void fill_result(struct priced *run) {
  run->accounting[1] = (struct hr_job_accounting){.attempts = 1, .end_us = HOUR, .kept_us = HOUR, .held_us = HOUR};
  run->accounting[2] =
      (struct hr_job_accounting){.attempts = 1, .end_us = 3 * HOUR / 2, .kept_us = HOUR, .held_us = HOUR};
  run->accounting[3] = (struct hr_job_accounting){.attempts = 2,
                                                  .end_us = 2 * HOUR,
                                                  .kept_us = HOUR,
                                                  .lost_us = HOUR / 2,
                                                  .saving_us = HOUR / 4,
                                                  .restarting_us = HOUR / 4,
                                                  .held_us = 2 * HOUR};
  for (uint32_t i = 0; i < PRICED_JOBS; i++) {
    struct hr_job_accounting *accounting = &run->accounting[i + 1];
    run->account[i] = i + 1;
    run->ended_us[i] = accounting->end_us;
    hr_amount milli = (hr_amount)run->trace.gpus[i] * 1000;
    accounting->milli_us = (struct hr_gpu_times){milli * accounting->kept_us, milli * accounting->lost_us,
                                                 milli * accounting->saving_us, milli * accounting->restarting_us};
  }
  run->result = (struct hr_result){.trace = &run->trace,
                                   .n_jobs = PRICED_JOBS,
                                   .state = run->state,
                                   .start_us = run->start_us,
                                   .reason = run->reason,
                                   .accounts = run->accounting,
                                   .account = run->account,
                                   .ended_us = run->ended_us,
                                   .pools = run->pool_accounting,
                                   .n_pools = PRICED_POOLS,
                                   .n_submitted = PRICED_JOBS,
                                   .n_completed = PRICED_JOBS,
                                   .end_us = 2 * HOUR};
}

struct priced *priced_create(void) {
  struct priced *run = calloc(1, sizeof *run);
  if (!run) abort();
  fill_trace(run);
  fill_cluster(run);
  fill_result(run);
  return run;
}

void priced_destroy(struct priced *run) {
  hr_ledger_destroy(run->ledger);
  free(run);
}

/* ---- Events ----------------------------------------------------------------------------------------- */

/* The events of the run in time order. A node event refers to the first node of its pool. */
static const struct script_event {
  int half_hours;
  enum hr_event_kind kind;
  enum hr_reason reason;
  uint32_t job, pool;
  uint32_t total_gpus, allocated_gpus; /* numbers of GPUs of the cluster after the event */
} script[] = {
    {0, HR_EVENT_ACQUIRE, HR_REASON_NONE, HR_NONE, 1, 8, 0},
    {0, HR_EVENT_ACQUIRE, HR_REASON_NONE, HR_NONE, 2, 16, 0},
    {0, HR_EVENT_START, HR_REASON_IN_ORDER, 0, 0, 16, 4},
    {0, HR_EVENT_START, HR_REASON_IN_ORDER, 2, 2, 16, 12},
    {1, HR_EVENT_START, HR_REASON_IN_ORDER, 1, 1, 16, 16},
    {2, HR_EVENT_END, HR_REASON_NONE, 0, 0, 16, 12},
    {2, HR_EVENT_INTERRUPT, HR_REASON_RECLAIMED, 2, 2, 16, 4},
    {2, HR_EVENT_NODE_DOWN, HR_REASON_RECLAIMED, HR_NONE, 2, 8, 4},
    {2, HR_EVENT_ACQUIRE, HR_REASON_NONE, HR_NONE, 2, 16, 4},
    {2, HR_EVENT_START, HR_REASON_IN_ORDER, 2, 2, 16, 12},
    {3, HR_EVENT_END, HR_REASON_NONE, 1, 1, 16, 8},
    {3, HR_EVENT_RELEASE, HR_REASON_NONE, HR_NONE, 1, 12, 8},
    {4, HR_EVENT_END, HR_REASON_NONE, 2, 2, 12, 0},
};

static uint32_t first_node(uint32_t pool) {
  static const uint32_t first[] = {0, 1, 3};
  return first[pool];
}

static void notify_one(struct priced *run, const struct script_event *script_event, struct hr_view *view,
                       const struct hr_observer *observers, uint32_t n_observers) {
  bool of_job = script_event->job != HR_NONE;
  struct hr_slice slice = {{first_node(script_event->pool)}, of_job ? run->gpus[script_event->job] * 1000 : 0, 0};
  struct hr_placement placement = {{script_event->pool}, 1, &slice};
  struct hr_event event = {.at_us = script_event->half_hours * HOUR / 2,
                           .kind = script_event->kind,
                           .reason = script_event->reason,
                           .job = {script_event->job},
                           .placement = of_job ? &placement : NULL,
                           .pool = {of_job ? HR_NONE : script_event->pool},
                           .node = {of_job ? HR_NONE : first_node(script_event->pool)}};
  view->now_us = event.at_us;
  view->total_milli = script_event->total_gpus * 1000;
  view->allocated_milli = script_event->allocated_gpus * 1000;
  if (script_event->kind == HR_EVENT_START) run->attempt_us[script_event->job] = event.at_us;
  for (uint32_t i = 0; i < n_observers; i++)
    if (observers[i].on_event) observers[i].on_event(observers[i].self, view, &event);
}

static void notify(struct priced *run, const struct hr_observer *observers, uint32_t n_observers) {
  enum { COUNT = sizeof script / sizeof *script };
  struct hr_view view = {.size = sizeof view, .jobs = &run->trace, .attempt_us = run->attempt_us};
  for (size_t i = 0; i < COUNT; i++) {
    notify_one(run, &script[i], &view, observers, n_observers);
    if (i + 1 < COUNT && script[i + 1].half_hours == script[i].half_hours) continue;
    for (uint32_t k = 0; k < n_observers; k++)
      if (observers[k].on_instant) observers[k].on_instant(observers[k].self, &view);
  }
}

static enum hr_status summarize(struct priced *run, struct hr_usage *usage, const struct hr_cost_basis *basis,
                                struct hr_summary **summary) {
  struct hr_error error;
  const struct hr_observer observers[] = {hr_usage_observer(usage), hr_ledger_observer(run->ledger),
                                          hr_meter_observer(basis->meter)};
  notify(run, observers, 3);
  enum hr_status status = hr_ledger_close(run->ledger, &run->result);
  if (status != HR_OK) return status;
  return hr_summarize(&run->trace, &run->cluster, &run->result, usage, basis, summary, &error);
}

enum hr_status priced_summarize(struct priced *run, const struct hr_cost_spec *spec,
                                const struct hr_class_spec *classes, struct hr_summary **summary) {
  struct hr_usage *usage = hr_usage_create(&run->trace);
  hr_ledger_destroy(run->ledger);
  run->ledger = hr_ledger_create(&run->trace, &run->cluster, true);
  const struct hr_cost_basis basis = {run->ledger, hr_meter_create(&run->trace, &run->cluster, spec), spec, classes};
  enum hr_status status = HR_NO_MEMORY;
  if (usage && run->ledger && basis.meter) status = summarize(run, usage, &basis, summary);
  hr_meter_destroy(basis.meter);
  hr_usage_destroy(usage);
  return status;
}

struct hr_summary *priced_summary(struct priced *run, const struct hr_cost_spec *spec,
                                  const struct hr_class_spec *classes) {
  struct hr_summary *summary = NULL;
  return priced_summarize(run, spec, classes, &summary) == HR_OK ? summary : NULL;
}
