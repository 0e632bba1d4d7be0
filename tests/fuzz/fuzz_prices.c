/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: arbitrary bytes as a record of spot prices, queried by instance type and by accelerator. It must be read
   or rejected with a message. */

#include "input.h"
#include "scenarios/build/builder.h"

#include <stdlib.h>
#include <unistd.h>

static void require(bool condition) {
  if (!condition) abort();
}

static void require_sound(const struct hr__spot_prices *prices) {
  require(prices->n_steps > 0 && prices->steps[0].at_us == 0);
  for (uint32_t i = 0; i < prices->n_steps; i++) {
    require(prices->steps[i].uusd_h >= 0);
    require(i == 0 || prices->steps[i].at_us > prices->steps[i - 1].at_us);
  }
}

static void read_prices(const char *path, const struct hr__spot_price_query *query) {
  struct hr__spot_prices prices = {0};
  struct hr_notes notes = {0};
  struct hr_error error = {0};
  if (hr__spot_prices_read(path, query, &prices, &notes, &error) == HR_OK)
    require_sound(&prices);
  else
    require(error.status != HR_OK && error.text[0] && !prices.steps);
  free(prices.steps);
  hr_notes_finish(&notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const zones[] = {"us-east-1a", "us-east-1b"};
  const struct hr__spot_price_query queries[] = {
      {.instance = "p3.2xlarge", .gpus = 1, .from_s = HR_UNKNOWN_US},
      {.instance = "p3.2xlarge", .region = "us-east-1", .zones = zones, .n_zones = 2, .gpus = 8, .from_s = 1700000000},
      {.accelerator = "V100", .gpus = 8, .from_s = 0}};
  char path[FUZZ_PATH_BUFFER];
  fuzz_input_write(data, size, path);
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) read_prices(path, &queries[i]);
  return unlink(path);
}
