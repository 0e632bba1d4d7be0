/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: arbitrary bytes as a suite of runs and as a baseline. They must be read or rejected with a message. */

#include "headroom/unstable/compare.h"
#include "input.h"
#include "plan/check/check.h"

#include <stdlib.h>
#include <unistd.h>

static void require(bool condition) {
  if (!condition) abort();
}

static void require_reason(const struct hr_error *error) {
  require(error->status != HR_OK && error->text[0]);
}

static void read_suite(const char *path) {
  struct hr_suite *suite = NULL;
  struct hr_error error = {0};
  bool is_suite = false;
  if (hr_suite_recognise(path, &is_suite, &error) != HR_OK) {
    require_reason(&error);
    return;
  }
  if (hr_suite_load(path, &suite, &error) != HR_OK) {
    require_reason(&error);
    return;
  }
  require(is_suite && suite->n_runs > 0);
  for (size_t i = 0; i < suite->n_runs; i++) require(suite->runs[i].name && suite->runs[i].scenario);
  hr_suite_destroy(suite);
}

/* Decodes the recorded job starts of a run, for at most 5000 jobs. */
static void read_starts(const struct hr_baseline_run *run) {
  struct hr__job_start *starts = NULL;
  uint32_t n_jobs = run->n_jobs < 5000 ? run->n_jobs : 5000, count = 0;
  if (!run->starts || hr__job_starts_decode(run->starts, n_jobs, &starts, &count) != HR_OK) return;
  require(count <= n_jobs);
  free(starts);
}

static void read_baseline(const char *path) {
  struct hr_baseline *baseline = NULL;
  struct hr_error error = {0};
  (void)hr_baseline_recognise(path);
  if (hr_baseline_load(path, &baseline, &error) != HR_OK) {
    require_reason(&error);
    return;
  }
  for (size_t i = 0; i < baseline->n_runs; i++) {
    const struct hr_baseline_run *run = &baseline->runs[i];
    require(run->name && run->chain);
    read_starts(run);
  }
  hr_baseline_destroy(baseline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[FUZZ_PATH_BUFFER];
  fuzz_input_write(data, size, path);
  read_suite(path);
  read_baseline(path);
  return unlink(path);
}
