/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "30s", "5min", "2h", "1d". */
static enum hr_status read_step(const char *text, int64_t *step_us, struct hr_error *error) {
  static const struct {
    const char *unit;
    double seconds;
  } units[] = {{"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  char *unit;
  double count = strtod(text, &unit), seconds = 0;
  for (size_t i = 0; i < sizeof units / sizeof *units && unit > text; i++)
    if (strcmp(unit, units[i].unit) == 0) seconds = count * units[i].seconds;
  if (!(seconds >= 0.001 && seconds <= 1e9))
    return hr_fail(error, HR_BAD_INPUT,
                   "--openmetrics-step %.60s: a time such as 30s, 5min, 2h or 1d is wanted, at least a millisecond",
                   text);
  *step_us = llround(seconds * 1000) * 1000;
  return HR_OK;
}

static enum hr_status read_place(const char *text, enum hr_metrics_place *place, struct hr_error *error) {
  static const char *const known[] = {
      [HR_METRICS_BY_NODE] = "node", [HR_METRICS_BY_GPU] = "gpu", [HR_METRICS_BY_POOL] = "pool", NULL};
  for (int i = 0; known[i]; i++)
    if (strcmp(text, known[i]) == 0) {
      *place = (enum hr_metrics_place)i;
      return HR_OK;
    }
  return unknown_word("--openmetrics-by", text, known, error);
}

/* GPUs that the catalogue does not have have no metric of power. */
static enum hr_status read_watts(struct metrics *metrics, const struct input *input, struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &input->scenario->cluster;
  const struct words *overrides = &input->overrides.words;
  struct hr_catalog *catalog = NULL;
  enum hr_status status = hr_scenario_catalog(input->scenario->path, overrides->at, overrides->count, &catalog, error);
  if (status != HR_OK) return status;
  metrics->watts = calloc((size_t)cluster->n_pools + 1, sizeof *metrics->watts);
  for (uint32_t i = 0; metrics->watts && i < cluster->n_pools; i++) {
    const struct hr_gpu_type *gpu = NULL;
    bool known = cluster->pools[i].gpu && hr_catalog_gpu(catalog, cluster->pools[i].gpu, &gpu, NULL) == HR_OK;
    metrics->watts[i] = known ? (struct hr_gpu_watts){gpu->idle_w, gpu->tdp_w} : (struct hr_gpu_watts){-1, -1};
  }
  hr_catalog_destroy(catalog);
  if (!metrics->watts) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  metrics->config.watts = metrics->watts;
  return HR_OK;
}

enum hr_status metrics_init(struct metrics *metrics, const struct metrics_args *args, const struct input *input,
                            struct hr_error *error) {
  enum hr_status status = HR_OK;
  if (!args->file && (args->step || args->by))
    return hr_fail(error, HR_BAD_INPUT, "--openmetrics-%s is of --openmetrics FILE, which is not given",
                   args->step ? "step" : "by");
  if (!args->file) return HR_OK;
  if (args->step) status = read_step(args->step, &metrics->config.step_us, error);
  if (status == HR_OK && args->by) status = read_place(args->by, &metrics->config.place, error);
  return status == HR_OK ? read_watts(metrics, input, error) : status;
}

void metrics_finish(struct metrics *metrics) {
  free(metrics->watts);
  metrics->watts = NULL;
}

static void print_step(FILE *out, int64_t step_us) {
  double seconds = (double)step_us / 1e6;
  if (seconds >= 86400)
    fprintf(out, "%.10g d", seconds / 86400);
  else if (seconds >= 3600)
    fprintf(out, "%.10g h", seconds / 3600);
  else
    fprintf(out, "%.10g min", seconds / 60);
}

void metrics_print_note(FILE *out, const struct metrics *metrics, const struct metrics_args *args) {
  if (!args->file || args->step) return;
  fprintf(out, "note: --openmetrics: a sample every ");
  print_step(out, metrics->size.step_us);
  fprintf(out, ", %" PRIu64 " points in time, %" PRIu64 " samples in all; --openmetrics-step sets another\n",
          metrics->size.steps, metrics->size.samples);
}
