/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models fitted to public traces. The run times of drawn jobs, by number of GPUs, have a distance below 0.05 from those
   of the trace. The distances of numbers of GPUs, hours of the day and weekdays are below 0.03. */
#include "harness.h"

#include "distance.h"
#include "trace_files.h"

#define HELIOS REAL_TRACES_DIR "/helios-venus/helios_trace.csv.gz"
#define PHILLY REAL_TRACES_DIR "/philly/philly.csv.gz"

enum { MIN_JOBS = 500 };

static const uint32_t sizes[][2] = {{1, 1}, {2, 2}, {4, 4}, {8, 8}, {9, HR_NONE}};

static struct hr_trace *read(const char *path, const char *map_text) {
  struct hr_column_map map = {0};
  struct hr_error error;
  if (map_text) CU_ASSERT_EQUAL_FATAL(hr_column_map_parse(&map, map_text, &error), HR_OK);
  struct hr_trace *trace = trace_at(path, &(struct hr_trace_options){.map = &map});
  hr_column_map_finish(&map);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  return trace;
}

static bool gpus_of(const struct hr_trace *trace, uint32_t job, double *value) {
  *value = trace->gpus[job];
  return true;
}

static bool hour_of(const struct hr_trace *trace, uint32_t job, double *value) {
  *value = (double)((trace->submit_us[job] + trace->origin_us) / (3600 * HR_SECOND_US) % 24);
  return true;
}

/* Sets `*value` to the day of the week of a submit; 0: Monday. Day 0 of dated traces, 1970-01-01, was a Thursday.
   Traces without dates, like drawn ones, begin on a Monday. Returns true. */
static bool weekday_of(const struct hr_trace *trace, uint32_t job, double *value) {
  int64_t day = (trace->submit_us[job] + trace->origin_us) / (86400 * HR_SECOND_US);
  *value = (double)((day + (trace->dated ? 3 : 0)) % 7);
  return true;
}

static void compare(const struct hr_trace *trace, uint64_t count, double bound) {
  struct hr_workload_model *model = fitted(trace);
  struct hr_trace *like = drawn(model, count, 31);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    double distance = distance_of_run_times(trace, like, sizes[i][0], sizes[i][1], MIN_JOBS);
    printf("\n    %u GPUs: %.3f", sizes[i][0], distance);
    CU_ASSERT(distance < bound);
  }
  double of_sizes = distance_between(trace, like, gpus_of), of_hours = distance_between(trace, like, hour_of),
         of_weekdays = distance_between(trace, like, weekday_of);
  printf("\n    sizes %.3f, hours %.3f, weekdays %.3f ", of_sizes, of_hours, of_weekdays);
  CU_ASSERT(of_sizes < 0.02);
  CU_ASSERT(of_hours < 0.03);
  CU_ASSERT(of_weekdays < 0.03);
  hr_trace_destroy(like);
  hr_workload_model_destroy(model);
}

/* Frequent numbers of GPUs keep their own distribution of run times. */
static void large_sizes(const struct hr_trace *trace) {
  static const uint32_t frequent[] = {16, 24, 32};
  struct hr_workload_model *model = fitted(trace);
  struct hr_trace *like = drawn(model, 500000, 31);
  for (size_t i = 0; i < sizeof frequent / sizeof *frequent; i++) {
    double distance = distance_of_run_times(trace, like, frequent[i], frequent[i], MIN_JOBS);
    printf("\n    %u GPUs alone: %.3f ", frequent[i], distance);
    CU_ASSERT(distance >= 0 && distance < 0.05);
  }
  hr_trace_destroy(like);
  hr_workload_model_destroy(model);
}

static void helios(void) {
  if (real_trace_missing(HELIOS)) return;
  struct hr_trace *trace = read(HELIOS, "submit=arrival_s,duration=service_sec,gpus=gpu_count");
  compare(trace, trace->n_jobs, 0.05);
  large_sizes(trace);
  hr_trace_destroy(trace);
}

static void philly(void) {
  if (real_trace_missing(PHILLY)) return;
  struct hr_trace *trace = read(PHILLY, NULL);
  compare(trace, 500000, 0.05);
  hr_trace_destroy(trace);
}

TEST_MAIN("workload models of the public traces", TEST(helios), TEST(philly))
