/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: arbitrary bytes as a record of spot capacity. It must be read or rejected with a message. */

#include "input.h"
#include "scenarios/build/builder.h"

#include <stdlib.h>
#include <unistd.h>

static void require(bool condition) {
  if (!condition) abort();
}

/* A record is read as steps. From steps[i].at_us on, `level` nodes are available. The first step must be at time 0, and
   each step must change the level. Times must not exceed the length of the record, and levels not the nodes of the
   pool. */
static void require_sound(const struct hr__spot_levels *levels, uint32_t n_nodes) {
  require(levels->n_steps > 0 && levels->steps[0].at_us == 0);
  require(levels->period_us > 0 && levels->period_us <= 2 * HR_MAX_INPUT_US);
  for (uint32_t i = 0; i < levels->n_steps; i++) {
    require(levels->steps[i].level <= n_nodes && levels->steps[i].at_us <= levels->period_us);
    require(i == 0 || levels->steps[i].at_us > levels->steps[i - 1].at_us);
    require(i == 0 || levels->steps[i].level != levels->steps[i - 1].level);
  }
}

static void read_record(const char *path, uint32_t n_nodes) {
  struct hr__spot_levels levels = {0};
  struct hr_notes notes = {0};
  struct hr_error error = {0};
  if (hr__spot_levels_read(path, n_nodes, &levels, &notes, &error) == HR_OK)
    require_sound(&levels, n_nodes);
  else
    require(error.status != HR_OK && error.text[0] && !levels.steps);
  free(levels.steps);
  hr_notes_finish(&notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[FUZZ_PATH_BUFFER];
  fuzz_input_write(data, size, path);
  read_record(path, 1);
  read_record(path, 16000000);
  return unlink(path);
}
