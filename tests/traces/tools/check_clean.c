/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clean workloads have no findings above notes: workloads of many shapes, generated workloads, and the reference
   traces. The first argument sets the number of seeds. */

#include "harness.h"
#include "headroom/scenario.h"
#include "planted.h"
#include "trace_files.h"

#include <dirent.h>
#include <string.h>

static uint32_t n_seeds(void) {
  return test_argument(1, 40);
}

static void expect_no_alarm(const struct hr_trace *trace, const struct hr_scenario *scenario, uint64_t seed) {
  struct hr_trace_check *check = check_of(trace, scenario);
  size_t alarms = alarms_of(check);
  if (alarms) printf("\n    of seed %llu\n", (unsigned long long)seed);
  CU_ASSERT_EQUAL(alarms, 0);
  hr_trace_check_destroy(check);
}

static void workloads_of_many_shapes(void) {
  for (uint32_t seed = 1; seed <= n_seeds(); seed++) {
    struct planted planted;
    planted_grow(&planted, seed, 500 + seed % 4 * 700);
    planted.dated = seed % 2;
    for (uint32_t i = 0; i < planted.n && planted.dated; i++) {
      planted.jobs[i].submit_us += 17230 * DAY_US; /* 2017-03-05; the clocks change within the weeks that follow */
      planted.jobs[i].start_us += 17230 * DAY_US;
    }
    struct hr_trace *trace = planted_trace(&planted);
    expect_no_alarm(trace, NULL, seed);
    hr_trace_destroy(trace);
    planted_finish(&planted);
  }
}

static struct hr_trace *generated(uint64_t seed, double load) {
  struct hr_generator generator;
  hr_generator_init(&generator);
  generator.seed = seed;
  generator.count = 1500;
  generator.nodes = 8;
  generator.max_s = 0;
  generator.load = load;
  generator.sigma = 0.6 + (double)(seed % 5) * 0.15;
  generator.diurnal = (double)(seed % 3) / 2;
  generator.limit_min = seed % 2 ? 1 : 0;
  generator.limit_max = seed % 2 ? 3 : 0;
  char path[300];
  struct hr_error error;
  snprintf(path, sizeof path, "%s", file_path("generated.csv"));
  CU_ASSERT_EQUAL_FATAL(hr_generate(&generator, path, &error), HR_OK);
  struct hr_trace *trace = trace_at(path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  return trace;
}

/* The cluster has enough capacity for all jobs. */
static void generated_workloads(void) {
  struct hr_scenario *scenario = NULL;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(PROJECT_DIR "/scenarios/demo.json", NULL, 0, &scenario, &error), HR_OK);
  for (uint32_t seed = 1; seed <= n_seeds(); seed++) {
    struct hr_trace *trace = generated(seed, 0.2 + 0.1 * (seed % 6));
    expect_no_alarm(trace, scenario, seed);
    hr_trace_destroy(trace);
  }
  hr_scenario_destroy(scenario);
}

static void reference_traces(void) {
  DIR *folder = opendir(PROJECT_DIR "/traces/reference");
  uint32_t count = 0;
  CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
  for (struct dirent *entry; (entry = readdir(folder));) {
    const char *dot = strrchr(entry->d_name, '.');
    char path[600];
    if (!dot || strcmp(dot, ".csv") != 0) continue;
    if (strcmp(entry->d_name, "night-training.csv") == 0) continue; /* its jobs are equal: rows look like duplicates */
    snprintf(path, sizeof path, PROJECT_DIR "/traces/reference/%s", entry->d_name);
    struct hr_trace *trace = trace_at(path, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    expect_no_alarm(trace, NULL, count);
    hr_trace_destroy(trace);
    count++;
  }
  closedir(folder);
  CU_ASSERT(count >= 16);
}

TEST_MAIN("workload: no false alarm", TEST(workloads_of_many_shapes), TEST(generated_workloads), TEST(reference_traces))
