/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of a trace against a cluster: jobs that never fit, missing GPU types, load over time, recorded starts. Loads
   and recorded waits are compared with direct computations over all jobs. */

#include "harness.h"
#include "headroom/scenario.h"
#include "planted.h"

#include <math.h>
#include <string.h>

#define A10 "cluster.pools.1={\"name\":\"a10\",\"gpu\":\"A10\",\"nodes\":5,\"gpus_per_node\":4}"
#define NODES "cluster.pools.0.nodes="

static struct hr_scenario *scenario_of(const char *first, const char *second) {
  const char *const overrides[] = {first, second};
  struct hr_scenario *scenario = NULL;
  struct hr_error error = {0};
  enum hr_status status =
      hr_scenario_load(PROJECT_DIR "/scenarios/demo.json", overrides, first ? second ? 2 : 1 : 0, &scenario, &error);
  if (status != HR_OK) printf("\n    %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  return scenario;
}

struct checked {
  struct planted planted;
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_trace_check *check;
};

static void check_planted(struct checked *checked) {
  checked->trace = planted_trace(&checked->planted);
  checked->check = check_of(checked->trace, checked->scenario);
}

static void checked_finish(struct checked *checked) {
  hr_trace_check_destroy(checked->check);
  hr_trace_destroy(checked->trace);
  hr_scenario_destroy(checked->scenario);
  planted_finish(&checked->planted);
}

/* ---- Fit -------------------------------------------------------------------------------------------- */

static void too_large_for_the_cluster(void) {
  struct checked checked = {.scenario = scenario_of(NODES "100", NULL)};
  planted_grow(&checked.planted, 1, 800);
  checked.planted.jobs[100].gpus = 801;
  checked.planted.jobs[200].gpus = 4096;
  checked.planted.jobs[300].gpus = 800;
  checked.planted.jobs[400].gpu_milli = 500;
  check_planted(&checked);
  const struct hr_finding *finding = finding_of(checked.check, HR_FINDING_NEVER_FITS);
  CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
  CU_ASSERT_EQUAL(finding->severity, HR_SEVERITY_ERROR);
  CU_ASSERT_EQUAL(finding->count, 2);
  CU_ASSERT_EQUAL(finding->of, 800);
  CU_ASSERT_EQUAL(checked.trace->gpus[finding->job.id], 801);
  CU_ASSERT_STRING_EQUAL(finding->subject, "too-large");
  CU_ASSERT_PTR_NULL(finding_of(checked.check, HR_FINDING_UNKNOWN_GPU_TYPE));
  checked_finish(&checked);
}

static void missing_gpu_types(void) {
  struct checked checked = {.scenario = scenario_of(NODES "100", A10)};
  planted_grow(&checked.planted, 2, 800);
  for (uint32_t i = 0; i < 60; i++) checked.planted.jobs[i].types = i < 30 ? "B200" : i < 50 ? "B200|A10" : "H100|T4";
  for (uint32_t i = 0; i < 60; i++) checked.planted.jobs[i].gpus = 1;
  check_planted(&checked);
  size_t seen = 0;
  const struct hr_finding *findings = checked.check->findings;
  for (size_t i = 0; i < checked.check->n_findings; i++) {
    if (findings[i].code != HR_FINDING_UNKNOWN_GPU_TYPE) continue;
    CU_ASSERT_EQUAL(findings[i].count, seen ? 10 : 30);
    CU_ASSERT_STRING_EQUAL(findings[i].subject, seen ? "H100|T4" : "B200");
    seen++;
  }
  CU_ASSERT_EQUAL(seen, 2);
  checked_finish(&checked);
}

/* ---- Load ------------------------------------------------------------------------------------------- */

/* Jobs request 133 % of the capacity of A10s. The other GPU type has free capacity. */
static void an_overloaded_gpu_type(void) {
  for (uint64_t seed = 1; seed <= 10; seed++) {
    struct checked checked = {.scenario = scenario_of(NODES "200", A10)};
    planted_grow(&checked.planted, seed, 1500);
    struct planted *planted = &checked.planted;
    double requested = 0, span_us = (double)(planted->jobs[planted->n - 1].submit_us - planted->jobs[0].submit_us);
    for (uint32_t i = 0; i < planted->n; i += 3) {
      planted->jobs[i].types = "A10";
      planted->jobs[i].gpus = 1 + i % 4;
      requested += (double)planted->jobs[i].gpus * (double)planted->jobs[i].work_us;
    }
    double scale = 1.33 * 20 * span_us / requested;
    for (uint32_t i = 0; i < planted->n; i += 3)
      planted->jobs[i].work_us = (int64_t)((double)planted->jobs[i].work_us * scale);
    check_planted(&checked);
    const struct hr_finding *finding = finding_of(checked.check, HR_FINDING_OVERLOAD);
    CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
    CU_ASSERT_EQUAL(finding->severity, HR_SEVERITY_ERROR);
    CU_ASSERT_STRING_EQUAL(finding->subject, "A10");
    CU_ASSERT_PTR_NOT_NULL(strstr(finding->text, "133 %"));
    const struct hr_offered_load *loads = checked.check->loads;
    CU_ASSERT_EQUAL_FATAL(checked.check->n_loads, 2);
    CU_ASSERT_DOUBLE_EQUAL(loads[0].load, 1.33, 1e-6);
    CU_ASSERT_EQUAL(loads[0].gpus, 20);
    CU_ASSERT_EQUAL(loads[1].gpus, 1620);
    checked_finish(&checked);
  }
}

static void an_overloaded_day(void) {
  for (uint64_t seed = 1; seed <= 10; seed++) {
    struct checked checked = {.scenario = scenario_of(NODES "100", NULL)};
    planted_grow(&checked.planted, seed, 1000);
    struct planted_job job = checked.planted.jobs[500];
    job.gpus = 8;
    job.work_us = 24 * HOUR_US;
    for (uint32_t i = 0; i < 300; i++) {
      job.start_us = job.submit_us = 10 * DAY_US + i * MINUTE_US;
      planted_add(&checked.planted, job);
    }
    check_planted(&checked);
    const struct hr_finding *finding = finding_of(checked.check, HR_FINDING_OVERLOADED_DAYS);
    CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
    CU_ASSERT_EQUAL(finding->severity, HR_SEVERITY_WARNING);
    CU_ASSERT(finding->count >= 1 && finding->count <= 4);
    CU_ASSERT_PTR_NULL(finding_of(checked.check, HR_FINDING_OVERLOAD));
    checked_finish(&checked);
  }
}

static void an_underloaded_cluster(void) {
  struct checked checked = {.scenario = scenario_of(NODES "100000", NULL)};
  planted_grow(&checked.planted, 4, 500);
  for (uint32_t i = 0; i < checked.planted.n; i++) checked.planted.jobs[i].start_us = checked.planted.jobs[i].submit_us;
  check_planted(&checked);
  CU_ASSERT_PTR_NOT_NULL(finding_of(checked.check, HR_FINDING_UNDERLOAD));
  CU_ASSERT_EQUAL(alarms_of(checked.check), 0);
  checked_finish(&checked);
}

/* Returns the pools whose GPU type is in the list `types`: bit 0 for A100-80, bit 1 for A10. NULL: both. */
static unsigned pools_of(const char *types) {
  if (!types) return 3;
  return (strstr(types, "A100-80") ? 1U : 0U) | (strstr(types, "A10|") || strcmp(types, "A10") == 0 ? 2U : 0U);
}

static double overlap_h(const struct planted_job *job, double from_h, double to_h) {
  double begin = (double)job->submit_us / 3.6e9, end = begin + (double)job->work_us / 3.6e9;
  return fmax(0, fmin(end, to_h) - fmax(begin, from_h));
}

/* Computes the load of the jobs that can only run in `pools`, over `span_h` hours on `gpus` GPUs. Recomputes the
   requested GPU time for each hour. */
static struct hr_offered_load naive_load(const struct planted *planted, unsigned pools, double gpus, double span_h) {
  struct hr_offered_load load = {0};
  uint32_t n_hours = (uint32_t)ceil(span_h);
  double backlog = 0, day = 0, within = 0;
  for (uint32_t hour = 0; hour < n_hours; hour++) {
    double requested = 0;
    for (uint32_t i = 0; i < planted->n; i++)
      if ((pools_of(planted->jobs[i].types) & ~pools) == 0)
        requested += planted->jobs[i].gpus * overlap_h(&planted->jobs[i], hour, hour + 1);
    backlog = fmax(0, backlog + requested / gpus - 1);
    load.backlog_h = fmax(load.backlog_h, backlog);
    day += requested;
    if (hour % 24 != 23 && hour + 1 != n_hours) continue;
    load.worst = fmax(load.worst, day / ((hour % 24 + 1) * gpus));
    load.over += day / ((hour % 24 + 1) * gpus) > 1;
    load.days++;
    day = 0;
  }
  for (uint32_t i = 0; i < planted->n; i++)
    if ((pools_of(planted->jobs[i].types) & ~pools) == 0) {
      load.gpu_hours += planted->jobs[i].gpus * (double)planted->jobs[i].work_us / 3.6e9;
      within += planted->jobs[i].gpus * overlap_h(&planted->jobs[i], 0, span_h);
    }
  load.load = load.gpu_hours / (gpus * span_h);
  load.within = within / (gpus * span_h);
  return load;
}

static void expect_load(const struct checked *checked, const struct hr_offered_load *load) {
  unsigned pools = strcmp(load->gpu_types, "A10") == 0 ? 2 : strcmp(load->gpu_types, "A100-80") == 0 ? 1 : 3;
  double gpus = (pools & 1 ? 16 : 0) + (pools & 2 ? 20 : 0);
  double span_h = (double)checked->trace->submit_us[checked->trace->n_jobs - 1] / 3.6e9;
  struct hr_offered_load naive = naive_load(&checked->planted, pools, gpus, span_h);
  CU_ASSERT_DOUBLE_EQUAL(load->gpu_hours, naive.gpu_hours, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(load->load, naive.load, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(load->within, naive.within, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(load->backlog_h, naive.backlog_h, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(load->worst, naive.worst, 1e-9);
  CU_ASSERT_EQUAL(load->over, naive.over);
  CU_ASSERT_EQUAL(load->days, naive.days);
}

static void loads_equal_naive_loads(void) {
  static const char *const types[] = {NULL, "A10", "A100-80", "A10|A100-80", "T4|A10|B200", "A10"};
  for (uint64_t seed = 1; seed <= 25; seed++) {
    struct checked checked = {.scenario = scenario_of(NODES "2", A10)};
    planted_grow(&checked.planted, seed, 120);
    int64_t first_us = checked.planted.jobs[0].submit_us;
    for (uint32_t i = 0; i < checked.planted.n; i++) {
      struct planted_job *job = &checked.planted.jobs[i];
      job->submit_us -= first_us;
      job->start_us = job->submit_us;
      job->types = types[planted_below(&checked.planted, 6)];
      job->gpus = 1 + planted_below(&checked.planted, 12);
      job->work_us *= 1 + planted_below(&checked.planted, 40);
    }
    check_planted(&checked);
    const struct hr_offered_load *loads = checked.check->loads;
    CU_ASSERT_EQUAL(checked.check->n_loads, 3);
    for (size_t i = 0; i < checked.check->n_loads; i++) expect_load(&checked, &loads[i]);
    for (size_t i = 1; i < checked.check->n_loads; i++) CU_ASSERT(loads[i - 1].load >= loads[i].load);
    checked_finish(&checked);
  }
}

/* ---- Recorded starts -------------------------------------------------------------------------------- */

static void recorded_starts_exceed_the_capacity(void) {
  struct checked checked = {.scenario = scenario_of(NODES "1", NULL)};
  planted_grow(&checked.planted, 7, 1500);
  for (uint32_t i = 0; i < checked.planted.n; i++) {
    checked.planted.jobs[i].gpus = 1;
    checked.planted.jobs[i].work_us = 12 * HOUR_US;
  }
  check_planted(&checked);
  const struct hr_finding *finding = finding_of(checked.check, HR_FINDING_RECORDED_OVER_CAPACITY);
  CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
  CU_ASSERT_EQUAL(finding->severity, HR_SEVERITY_WARNING);
  checked_finish(&checked);
}

/* Returns whether the job waits for at least 10 min, and at each instant of its wait, half of the cluster would be idle
   if the job ran. It is enough to examine the submit time and the instants at which other jobs start. */
static bool waits_in_idle_cluster(const struct planted *planted, const struct planted_job *job, double gpus) {
  if (job->start_us - job->submit_us < 600 * SECOND_US) return false;
  for (uint32_t k = 0; k <= planted->n; k++) {
    int64_t at_us = k < planted->n ? planted->jobs[k].start_us : job->submit_us;
    double busy = job->gpus;
    if (at_us < job->submit_us || at_us >= job->start_us) continue;
    for (uint32_t i = 0; i < planted->n; i++)
      if (planted->jobs[i].start_us <= at_us && at_us < planted->jobs[i].start_us + planted->jobs[i].work_us)
        busy += planted->jobs[i].gpus;
    if (busy > gpus / 2) return false;
  }
  return true;
}

static void waits_without_cause(void) {
  uint32_t found = 0;
  for (uint64_t seed = 1; seed <= 25; seed++) {
    struct checked checked = {.scenario = scenario_of(NODES "4", NULL)};
    planted_grow(&checked.planted, seed, 300);
    for (uint32_t i = 0; i < checked.planted.n; i++) {
      struct planted_job *job = &checked.planted.jobs[i];
      job->work_us = (1 + planted_below(&checked.planted, 40)) * HOUR_US;
      job->start_us = job->submit_us + planted_below(&checked.planted, 5) * HOUR_US;
    }
    check_planted(&checked);
    uint32_t naive = 0;
    for (uint32_t i = 0; i < checked.planted.n; i++)
      naive += waits_in_idle_cluster(&checked.planted, &checked.planted.jobs[i], 32);
    const struct hr_finding *finding = finding_of(checked.check, HR_FINDING_WAITS_WITHOUT_CAUSE);
    CU_ASSERT_EQUAL(finding != NULL, naive >= 20);
    if (finding) CU_ASSERT_EQUAL(finding->count, naive);
    found += finding != NULL;
    checked_finish(&checked);
  }
  CU_ASSERT(found > 5);
}

TEST_MAIN("workload: traces against clusters", TEST(too_large_for_the_cluster), TEST(missing_gpu_types),
          TEST(an_overloaded_gpu_type), TEST(an_overloaded_day), TEST(an_underloaded_cluster),
          TEST(loads_equal_naive_loads), TEST(recorded_starts_exceed_the_capacity), TEST(waits_without_cause))
