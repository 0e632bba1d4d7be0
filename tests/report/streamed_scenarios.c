/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a scenario in memory and streamed. */

#include "report/streamed_scenarios.h"

#include "report/streamed_runs.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>

static struct hr_scenario *scenario_under(const char *path, const char *policy) {
  char **overrides;
  size_t count;
  struct hr_scenario *scenario = NULL;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr_policy_overrides(policy, &overrides, &count, &error), HR_OK);
  enum hr_status status = hr_scenario_load(path, (const char *const *)overrides, count, &scenario, &error);
  if (status != HR_OK) fprintf(stderr, "%s: %s\n", policy, error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  for (size_t i = 0; i < count; i++) free(overrides[i]);
  free(overrides);
  return scenario;
}

uint32_t assert_same_under(const char *path, const char *policy, const struct hr_trace *trace,
                           const struct hr_trace *mapped) {
  struct hr_scenario *scenario = scenario_under(path, policy);
  const struct hr_run_config config = {.trace = trace,
                                       .cluster = &scenario->cluster,
                                       .policy = scenario->policy.ops,
                                       .params = scenario->policy.params,
                                       .seed = scenario->seed,
                                       .horizon_us = scenario->horizon_us,
                                       .classes = scenario->classes,
                                       .quotas = scenario->quotas,
                                       .speeds = scenario->speeds,
                                       .network_speeds = scenario->network_speeds};
  uint32_t n_starts = assert_same_run(&config, mapped, hr_scenario_has_prices(scenario) ? &scenario->costs : NULL);
  hr_scenario_destroy(scenario);
  return n_starts;
}
