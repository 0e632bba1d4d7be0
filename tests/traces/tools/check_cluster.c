/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces against clusters: jobs that never fit, missing GPU types, load over time, recorded starts; loads and
   recorded waits are compared with brute-force sums. */

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

struct held {
  struct planted planted;
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_trace_check *check;
};

static void hold(struct held *held) {
  held->trace = planted_trace(&held->planted);
  held->check = check_of(held->trace, held->scenario);
}

static void let_go(struct held *held) {
  hr_trace_check_destroy(held->check);
  hr_trace_destroy(held->trace);
  hr_scenario_destroy(held->scenario);
  planted_finish(&held->planted);
}

/* ---- Fit -------------------------------------------------------------------------------------------- */

static void too_large_for_the_cluster(void) {
  struct held held = {.scenario = scenario_of(NODES "100", NULL)};
  planted_grow(&held.planted, 1, 800);
  held.planted.jobs[100].gpus = 801;
  held.planted.jobs[200].gpus = 4096;
  held.planted.jobs[300].gpus = 800;
  held.planted.jobs[400].gpu_milli = 500;
  hold(&held);
  const struct hr_finding *finding = finding_of(held.check, HR_FINDING_NEVER_FITS);
  CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
  CU_ASSERT_EQUAL(finding->severity, HR_SEVERITY_ERROR);
  CU_ASSERT_EQUAL(finding->count, 2);
  CU_ASSERT_EQUAL(finding->of, 800);
  CU_ASSERT_EQUAL(held.trace->gpus[finding->job.id], 801);
  CU_ASSERT_STRING_EQUAL(finding->subject, "too-large");
  CU_ASSERT_PTR_NULL(finding_of(held.check, HR_FINDING_UNKNOWN_GPU_TYPE));
  let_go(&held);
}

static void types_that_are_not_there(void) {
  struct held held = {.scenario = scenario_of(NODES "100", A10)};
  planted_grow(&held.planted, 2, 800);
  for (uint32_t i = 0; i < 60; i++) held.planted.jobs[i].types = i < 30 ? "B200" : i < 50 ? "B200|A10" : "H100|T4";
  for (uint32_t i = 0; i < 60; i++) held.planted.jobs[i].gpus = 1;
  hold(&held);
  size_t seen = 0;
  const struct hr_finding *findings = held.check->findings;
  for (size_t i = 0; i < held.check->n_findings; i++) {
    if (findings[i].code != HR_FINDING_UNKNOWN_GPU_TYPE) continue;
    CU_ASSERT_EQUAL(findings[i].count, seen ? 10 : 30);
    CU_ASSERT_STRING_EQUAL(findings[i].subject, seen ? "H100|T4" : "B200");
    seen++;
  }
  CU_ASSERT_EQUAL(seen, 2);
  let_go(&held);
}

/* ---- Load ------------------------------------------------------------------------------------------- */

/* A10s are requested at 133 % of capacity, the other types have room. */
static void a_type_that_never_drains(void) {
  for (uint64_t seed = 1; seed <= 10; seed++) {
    struct held held = {.scenario = scenario_of(NODES "200", A10)};
    planted_grow(&held.planted, seed, 1500);
    struct planted *planted = &held.planted;
    double asked = 0, span_us = (double)(planted->jobs[planted->n - 1].submit_us - planted->jobs[0].submit_us);
    for (uint32_t i = 0; i < planted->n; i += 3) {
      planted->jobs[i].types = "A10";
      planted->jobs[i].gpus = 1 + i % 4;
      asked += (double)planted->jobs[i].gpus * (double)planted->jobs[i].work_us;
    }
    double scale = 1.33 * 20 * span_us / asked;
    for (uint32_t i = 0; i < planted->n; i += 3)
      planted->jobs[i].work_us = (int64_t)((double)planted->jobs[i].work_us * scale);
    hold(&held);
    const struct hr_finding *finding = finding_of(held.check, HR_FINDING_OVERLOAD);
    CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
    CU_ASSERT_EQUAL(finding->severity, HR_SEVERITY_ERROR);
    CU_ASSERT_STRING_EQUAL(finding->subject, "A10");
    CU_ASSERT_PTR_NOT_NULL(strstr(finding->text, "133 %"));
    const struct hr_offered_load *loads = held.check->loads;
    CU_ASSERT_EQUAL_FATAL(held.check->n_loads, 2);
    CU_ASSERT_DOUBLE_EQUAL(loads[0].load, 1.33, 1e-6);
    CU_ASSERT_EQUAL(loads[0].gpus, 20);
    CU_ASSERT_EQUAL(loads[1].gpus, 1620);
    let_go(&held);
  }
}

static void a_day_that_asks_for_too_much(void) {
  for (uint64_t seed = 1; seed <= 10; seed++) {
    struct held held = {.scenario = scenario_of(NODES "100", NULL)};
    planted_grow(&held.planted, seed, 1000);
    struct planted_job job = held.planted.jobs[500];
    job.gpus = 8;
    job.work_us = 24 * HOUR_US;
    for (uint32_t i = 0; i < 300; i++) {
      job.start_us = job.submit_us = 10 * DAY_US + i * MINUTE_US;
      planted_add(&held.planted, job);
    }
    hold(&held);
    const struct hr_finding *finding = finding_of(held.check, HR_FINDING_OVERLOADED_DAYS);
    CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
    CU_ASSERT_EQUAL(finding->severity, HR_SEVERITY_WARNING);
    CU_ASSERT(finding->count >= 1 && finding->count <= 4);
    CU_ASSERT_PTR_NULL(finding_of(held.check, HR_FINDING_OVERLOAD));
    let_go(&held);
  }
}

static void hardly_any_load(void) {
  struct held held = {.scenario = scenario_of(NODES "100000", NULL)};
  planted_grow(&held.planted, 4, 500);
  for (uint32_t i = 0; i < held.planted.n; i++) held.planted.jobs[i].start_us = held.planted.jobs[i].submit_us;
  hold(&held);
  CU_ASSERT_PTR_NOT_NULL(finding_of(held.check, HR_FINDING_UNDERLOAD));
  CU_ASSERT_EQUAL(alarms_of(held.check), 0);
  let_go(&held);
}

/* Bit set of pool 0 (A100-80) and pool 1 (A10). */
static unsigned pools_of(const char *types) {
  if (!types) return 3;
  return (strstr(types, "A100-80") ? 1U : 0U) | (strstr(types, "A10|") || strcmp(types, "A10") == 0 ? 2U : 0U);
}

static double overlap_h(const struct planted_job *job, double from_h, double to_h) {
  double begin = (double)job->submit_us / 3.6e9, end = begin + (double)job->work_us / 3.6e9;
  return fmax(0, fmin(end, to_h) - fmax(begin, from_h));
}

/* Recomputes everything for each hour. */
static struct hr_offered_load naive_load(const struct planted *planted, unsigned pools, double gpus, double span_h) {
  struct hr_offered_load load = {0};
  uint32_t n_hours = (uint32_t)ceil(span_h);
  double backlog = 0, day = 0, within = 0;
  for (uint32_t hour = 0; hour < n_hours; hour++) {
    double asked = 0;
    for (uint32_t i = 0; i < planted->n; i++)
      if ((pools_of(planted->jobs[i].types) & ~pools) == 0)
        asked += planted->jobs[i].gpus * overlap_h(&planted->jobs[i], hour, hour + 1);
    backlog = fmax(0, backlog + asked / gpus - 1);
    load.backlog_h = fmax(load.backlog_h, backlog);
    day += asked;
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

static void expect_load(const struct held *held, const struct hr_offered_load *load) {
  unsigned pools = strcmp(load->gpu_types, "A10") == 0 ? 2 : strcmp(load->gpu_types, "A100-80") == 0 ? 1 : 3;
  double gpus = (pools & 1 ? 16 : 0) + (pools & 2 ? 20 : 0);
  double span_h = (double)held->trace->submit_us[held->trace->n_jobs - 1] / 3.6e9;
  struct hr_offered_load naive = naive_load(&held->planted, pools, gpus, span_h);
  CU_ASSERT_DOUBLE_EQUAL(load->gpu_hours, naive.gpu_hours, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(load->load, naive.load, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(load->within, naive.within, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(load->backlog_h, naive.backlog_h, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(load->worst, naive.worst, 1e-9);
  CU_ASSERT_EQUAL(load->over, naive.over);
  CU_ASSERT_EQUAL(load->days, naive.days);
}

static void loads_against_naive_ones(void) {
  static const char *const types[] = {NULL, "A10", "A100-80", "A10|A100-80", "T4|A10|B200", "A10"};
  for (uint64_t seed = 1; seed <= 25; seed++) {
    struct held held = {.scenario = scenario_of(NODES "2", A10)};
    planted_grow(&held.planted, seed, 120);
    int64_t first_us = held.planted.jobs[0].submit_us;
    for (uint32_t i = 0; i < held.planted.n; i++) {
      struct planted_job *job = &held.planted.jobs[i];
      job->submit_us -= first_us;
      job->start_us = job->submit_us;
      job->types = types[planted_below(&held.planted, 6)];
      job->gpus = 1 + planted_below(&held.planted, 12);
      job->work_us *= 1 + planted_below(&held.planted, 40);
    }
    hold(&held);
    const struct hr_offered_load *loads = held.check->loads;
    CU_ASSERT_EQUAL(held.check->n_loads, 3);
    for (size_t i = 0; i < held.check->n_loads; i++) expect_load(&held, &loads[i]);
    for (size_t i = 1; i < held.check->n_loads; i++) CU_ASSERT(loads[i - 1].load >= loads[i].load);
    let_go(&held);
  }
}

/* ---- Recorded starts -------------------------------------------------------------------------------- */

static void more_at_work_than_there_is(void) {
  struct held held = {.scenario = scenario_of(NODES "1", NULL)};
  planted_grow(&held.planted, 7, 1500);
  for (uint32_t i = 0; i < held.planted.n; i++) {
    held.planted.jobs[i].gpus = 1;
    held.planted.jobs[i].work_us = 12 * HOUR_US;
  }
  hold(&held);
  const struct hr_finding *finding = finding_of(held.check, HR_FINDING_RECORDED_OVER_CAPACITY);
  CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
  CU_ASSERT_EQUAL(finding->severity, HR_SEVERITY_WARNING);
  let_go(&held);
}

/* Whether at least half of the cluster is idle at each instant of the wait at which a job starts. */
static bool waits_idle(const struct planted *planted, const struct planted_job *job, double gpus) {
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

static void waits_that_nothing_explains(void) {
  uint32_t found = 0;
  for (uint64_t seed = 1; seed <= 25; seed++) {
    struct held held = {.scenario = scenario_of(NODES "4", NULL)};
    planted_grow(&held.planted, seed, 300);
    for (uint32_t i = 0; i < held.planted.n; i++) {
      struct planted_job *job = &held.planted.jobs[i];
      job->work_us = (1 + planted_below(&held.planted, 40)) * HOUR_US;
      job->start_us = job->submit_us + planted_below(&held.planted, 5) * HOUR_US;
    }
    hold(&held);
    uint32_t naive = 0;
    for (uint32_t i = 0; i < held.planted.n; i++) naive += waits_idle(&held.planted, &held.planted.jobs[i], 32);
    const struct hr_finding *finding = finding_of(held.check, HR_FINDING_WAITS_WITHOUT_CAUSE);
    CU_ASSERT_EQUAL(finding != NULL, naive >= 20);
    if (finding) CU_ASSERT_EQUAL(finding->count, naive);
    found += finding != NULL;
    let_go(&held);
  }
  CU_ASSERT(found > 5);
}

TEST_MAIN("workload: traces against clusters", TEST(too_large_for_the_cluster), TEST(types_that_are_not_there),
          TEST(a_type_that_never_drains), TEST(a_day_that_asks_for_too_much), TEST(hardly_any_load),
          TEST(loads_against_naive_ones), TEST(more_at_work_than_there_is), TEST(waits_that_nothing_explains))
