/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/one_run.h"

#include <time.h>

static double clock_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* What follows the run and is dropped after it. */
struct parts {
  struct hr_usage *usage;
  struct hr_ledger *ledger; /* both only where something has a price */
  struct hr_meter *meter;
  struct hr_result *result;
};

static void parts_finish(struct parts *parts) {
  hr_result_destroy(parts->result);
  hr_meter_destroy(parts->meter);
  hr_ledger_destroy(parts->ledger);
  hr_usage_destroy(parts->usage);
}

static void count_preemptions(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__one_run *run = self;
  (void)view;
  if (event->kind == HR_EVENT_PREEMPT) run->preemptions++;
}

static enum hr_status replay(const struct hr__one_run_config *config, struct parts *parts, struct hr__one_run *run,
                             struct hr_error *error) {
  const struct hr_scenario *scenario = config->scenario;
  struct hr_fold folds[4] = {hr_usage_fold(parts->usage), {.self = run, .on_event = count_preemptions}};
  uint32_t n_folds = 2;
  if (parts->ledger) {
    folds[n_folds++] = hr_ledger_fold(parts->ledger);
    folds[n_folds++] = hr_meter_fold(parts->meter);
  }
  struct hr_run_config run_config = {.trace = config->trace,
                                     .cluster = &scenario->cluster,
                                     .policy = config->policy->ops,
                                     .params = config->policy->params,
                                     .seed = config->seed,
                                     .horizon_us = scenario->horizon_us,
                                     .classes = scenario->classes,
                                     .folds = folds,
                                     .n_folds = n_folds,
                                     .progress = config->progress,
                                     .quotas = scenario->quotas,
                                     .speeds = scenario->speeds,
                                     .network_speeds = scenario->network_speeds};
  return hr_sim_run(&run_config, &parts->result, error);
}

static void count_restarts(const struct hr_result *result, struct hr__one_run *run) {
  for (uint32_t job = 0; result->fate && job < result->n_jobs; job++)
    if (result->fate[job].attempts > 1) run->restarts += result->fate[job].attempts - 1;
}

static enum hr_status summarize(const struct hr__one_run_config *config, struct parts *parts, struct hr__one_run *run,
                                struct hr_error *error) {
  const struct hr_scenario *scenario = config->scenario;
  const struct hr_cost_basis basis = {parts->ledger, parts->meter, &scenario->costs, scenario->classes};
  enum hr_status status = parts->ledger ? hr_ledger_close(parts->ledger, parts->result) : HR_OK;
  if (status != HR_OK) return hr_fail(error, status, "out of memory for the accounts");
  count_restarts(parts->result, run);
  status = hr_summarize(config->trace, &scenario->cluster, parts->result, parts->usage, parts->ledger ? &basis : NULL,
                        &run->summary, error);
  if (status != HR_OK) return status;
  status = hr_run_notes(config->trace, &scenario->costs, scenario->quotas, parts->result, &run->notes, error);
  if (status == HR_OK) status = hr_speed_notes(config->trace, scenario->speeds, &run->notes, error);
  return status == HR_OK ? hr_pair_notes(config->trace, &scenario->cluster, &run->notes, error) : status;
}

enum hr_status hr__one_run_make(const struct hr__one_run_config *config, struct hr__one_run *run,
                                struct hr_error *error) {
  const struct hr_scenario *scenario = config->scenario;
  bool priced = hr_scenario_has_prices(scenario);
  double begin_s = clock_s();
  *run = (struct hr__one_run){0};
  struct parts parts = {.usage = hr_usage_create(config->trace),
                        .ledger = priced ? hr_ledger_create(config->trace, &scenario->cluster, false) : NULL,
                        .meter = priced ? hr_meter_create(config->trace, &scenario->cluster, &scenario->costs) : NULL};
  enum hr_status status = HR_OK;
  if (!parts.usage || (priced && (!parts.ledger || !parts.meter)))
    status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  if (status == HR_OK) status = replay(config, &parts, run, error);
  if (status == HR_OK) status = summarize(config, &parts, run, error);
  parts_finish(&parts);
  run->seconds = clock_s() - begin_s;
  return status;
}

void hr__one_run_finish(struct hr__one_run *run) {
  hr_summary_destroy(run->summary);
  hr_notes_finish(&run->notes);
  *run = (struct hr__one_run){0};
}
