/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "distance.h"

#include "trace_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

double distance_of(double *a, uint32_t n_a, double *b, uint32_t n_b) {
  qsort(a, n_a, sizeof *a, by_number);
  qsort(b, n_b, sizeof *b, by_number);
  double max = 0;
  for (uint32_t i = 0, k = 0; i < n_a && k < n_b;) {
    double at = fmin(a[i], b[k]);
    while (i < n_a && a[i] <= at) i++;
    while (k < n_b && b[k] <= at) k++;
    max = fmax(max, fabs((double)i / n_a - (double)k / n_b));
  }
  return max;
}

static uint32_t property_values(const struct hr_trace *trace, distance_value *value, double *values) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) n += value(trace, i, &values[n]);
  return n;
}

double distance_between(const struct hr_trace *a, const struct hr_trace *b, distance_value *value) {
  double *of_a = malloc(a->n_jobs * sizeof *of_a), *of_b = malloc(b->n_jobs * sizeof *of_b);
  if (!of_a || !of_b) abort();
  uint32_t n_a = property_values(a, value, of_a), n_b = property_values(b, value, of_b);
  double distance = distance_of(of_a, n_a, of_b, n_b);
  free(of_a);
  free(of_b);
  return distance;
}

static uint32_t run_time_values(const struct hr_trace *trace, uint32_t from, uint32_t to, double *values) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++)
    if (trace->gpus[i] >= from && trace->gpus[i] <= to) values[n++] = (double)trace->work_us[i];
  return n;
}

double distance_of_run_times(const struct hr_trace *a, const struct hr_trace *b, uint32_t gpus_from, uint32_t gpus_to,
                             uint32_t least) {
  double *of_a = malloc(a->n_jobs * sizeof *of_a), *of_b = malloc(b->n_jobs * sizeof *of_b);
  if (!of_a || !of_b) abort();
  uint32_t n_a = run_time_values(a, gpus_from, gpus_to, of_a), n_b = run_time_values(b, gpus_from, gpus_to, of_b);
  double distance = n_a < least || n_b < least ? -1 : distance_of(of_a, n_a, of_b, n_b);
  free(of_a);
  free(of_b);
  return distance;
}

struct hr_trace *drawn(const struct hr_workload_model *model, uint64_t count, uint64_t seed) {
  struct hr_error error = {0};
  struct hr_workload_model_spec spec;
  hr_workload_model_spec_init(&spec);
  spec.count = count;
  spec.seed = seed;
  char path[200];
  snprintf(path, sizeof path, "%s", file_path("drawn.csv"));
  if (hr_workload_model_generate(model, &spec, path, NULL, &error) != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  struct hr_trace *trace = trace_at(path, NULL);
  if (!trace) fprintf(stderr, "\n    %s\n", trace_error());
  if (!trace || trace->n_jobs != count) abort();
  return trace;
}

struct hr_workload_model *fitted(const struct hr_trace *trace) {
  struct hr_error error = {0};
  struct hr_workload_model *model = NULL;
  if (hr_workload_model_fit(trace, &model, &error) != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  if (!model) abort();
  return model;
}

struct hr_workload_model *shipped(const char *name) {
  struct hr_error error = {0};
  struct hr_workload_model *model = NULL;
  if (hr_workload_model_shipped(name, &model, &error) != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  if (!model) abort();
  return model;
}
