/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: arbitrary bytes as a scenario, with and without overrides. It must be loaded or rejected with a
   message. */

#include "headroom/scenario.h"
#include "input.h"

#include <stdlib.h>
#include <unistd.h>

static void load(const char *path, const char *const *overrides, size_t n_overrides) {
  struct hr_scenario *scenario = NULL;
  struct hr_error error = {0};
  if (hr_scenario_load(path, overrides, n_overrides, &scenario, &error) == HR_OK) {
    if (!scenario->policy.ops || scenario->cluster.n_pools == 0) abort();
  } else if (error.status == HR_OK || !error.text[0]) {
    abort();
  }
  hr_scenario_destroy(scenario);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const overrides[] = {"cluster.pools.0.nodes=3", "policy.order=sjf"};
  char path[FUZZ_PATH_BUFFER];
  fuzz_input_write(data, size, path);
  load(path, NULL, 0);
  load(path, overrides, sizeof overrides / sizeof *overrides);
  return unlink(path);
}
