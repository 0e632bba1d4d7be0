/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program outside the project with its own built-in policy (docs/researcher/examples/patience.c). It runs a scenario
   with the policy and prints the digest. */

#include "headroom/headroom.h"
#include <inttypes.h>
#include <stdio.h>

extern const struct hr_policy_ops hr__policy_patience;

static enum hr_status replay(const char *path, struct hr_error *error) {
  struct hr_scenario *scenario = NULL;
  struct hr_trace *trace = NULL;
  struct hr_result *result = NULL;
  enum hr_status status = hr_scenario_load(path, NULL, 0, &scenario, error);
  if (status == HR_OK) status = hr_trace_read(scenario->trace_file, NULL, &trace, error);
  if (status == HR_OK) {
    const struct hr_param_value params[] = {{.real = 7200}};
    const struct hr_run_config config = {.trace = trace,
                                         .cluster = &scenario->cluster,
                                         .policy = &hr__policy_patience,
                                         .params = params,
                                         .seed = scenario->seed,
                                         .horizon_us = HR_NEVER_US,
                                         .check = true};
    status = hr_sim_run(&config, &result, error);
  }
  if (status == HR_OK) (void)printf("%016" PRIx64 "\n", result->digest);
  hr_result_destroy(result);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
  return status;
}

int main(int argc, char **argv) {
  hr_init();
  struct hr_error error = {0};
  enum hr_status status = argc == 2 ? replay(argv[1], &error) : HR_BAD_INPUT;
  if (status != HR_OK) (void)fprintf(stderr, "%s\n", error.text);
  return hr_status_exit_code(status);
}
