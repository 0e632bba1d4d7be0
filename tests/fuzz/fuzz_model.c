/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: arbitrary bytes as a workload model. The model must be read or rejected with a message. If it is read,
   it is written and read again, and jobs are drawn from it. */

#include "headroom/unstable/scenario_files.h"
#include "input.h"

#include <stdlib.h>
#include <unistd.h>

enum { JOBS = 60 };

static void require(bool holds) {
  if (!holds) abort();
}

static struct hr_workload_model *read_model(const char *path) {
  struct hr_workload_model *model = NULL;
  struct hr_error error = {0};
  if (hr_workload_model_load(path, &model, &error) == HR_OK) {
    require(model && model->n_sizes > 0);
    return model;
  }
  require(error.status != HR_OK && error.text[0] && !model);
  return NULL;
}

/* Draws jobs. The model may be rejected, for example if submit times exceed the maximum time. */
static void draw(const struct hr_workload_model *model, double load) {
  struct hr_workload_model_spec spec;
  struct hr_workload_model_figures figures = {0};
  struct hr_error error = {0};
  hr_workload_model_spec_init(&spec);
  spec.count = JOBS;
  if (load > 0) {
    spec.load = load;
    spec.nodes = 2;
    spec.gpus_per_node = 8;
  }
  if (hr_workload_model_generate(model, &spec, "/dev/null", &figures, &error) == HR_OK)
    require(figures.jobs == JOBS);
  else
    require(error.status != HR_OK && error.text[0]);
}

/* The written file must be a valid model. */
static void write_again(const struct hr_workload_model *model, const char *path) {
  struct hr_error error = {0};
  require(hr_workload_model_write(model, path, &error) == HR_OK);
  require(hr_workload_model_is_file(path));
  struct hr_workload_model *again = read_model(path);
  require(again);
  hr_workload_model_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[FUZZ_PATH_BUFFER];
  fuzz_input_write(data, size, path);
  struct hr_workload_model *model = read_model(path);
  if (model) {
    draw(model, 0);
    if (size % 256 == 0) draw(model, 0.8);
    write_again(model, path);
    hr_workload_model_destroy(model);
  }
  return unlink(path);
}
