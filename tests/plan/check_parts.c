/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a check, compared with naive implementations: encoded starts, marks (12-bit hashes of blocks of
   decisions), tolerances. */

#include "harness.h"
#include "output_files.h"

#include "plan/check/check.h"
#include "plan/runner/runner.h"

#include <string.h>

/* State of the pseudo-random numbers, which are equal in every run of the test. */
static uint32_t drawn;
static uint32_t draw(uint32_t below) {
  drawn = drawn * 1664525u + 1013904223u;
  return (drawn >> 8) % below;
}

/* ---- Starts ----------------------------------------------------------------------------------------- */

enum { MAX_JOBS = 3000 };

struct jobs {
  int64_t submit_us[MAX_JOBS], start_us[MAX_JOBS];
  uint8_t reason[MAX_JOBS];
  struct hr_trace trace;
  struct hr_result result;
};

static void fill(struct jobs *jobs, uint32_t count, uint32_t busy) {
  int64_t now_us = 0;
  for (uint32_t i = 0; i < count; i++) {
    now_us += draw(3000) * 1000;
    jobs->submit_us[i] = now_us;
    bool waits = draw(100) < busy, never = draw(40) == 0;
    int64_t wait_us = waits ? (int64_t)draw(1u << (2 + draw(21))) * (draw(2) ? 1000000 : 999) : draw(499999);
    jobs->start_us[i] = never ? HR_NEVER_US : now_us + wait_us;
    jobs->reason[i] = draw(3) == 0 ? HR_REASON_BACKFILL : HR_REASON_IN_ORDER;
  }
  jobs->trace = (struct hr_trace){.n_jobs = count, .submit_us = jobs->submit_us};
  jobs->result =
      (struct hr_result){.trace = &jobs->trace, .n_jobs = count, .start_us = jobs->start_us, .reason = jobs->reason};
}

static void expect_starts(const struct jobs *jobs, const struct hr__job_start *starts, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    bool never = jobs->start_us[i] == HR_NEVER_US;
    double wait_s = (double)(jobs->start_us[i] - jobs->submit_us[i]) / 1e6;
    CU_ASSERT_EQUAL(starts[i].wait_s, never ? HR_NEVER_US : (int64_t)(wait_s + 0.5));
    if (!never) CU_ASSERT_EQUAL(starts[i].backfilled, jobs->reason[i] == HR_REASON_BACKFILL);
  }
}

static void starts_round_trip(void) {
  static struct jobs jobs;
  uint32_t cut = 0;
  for (uint32_t round = 0; round < 200; round++) {
    uint32_t n_jobs = round < 3 ? round : 1 + draw(MAX_JOBS - 1), count;
    struct hr__job_start *starts;
    fill(&jobs, n_jobs, draw(101));
    char *text = hr__job_starts_encode(&jobs.result);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_TRUE(strlen(text) <= 4096);
    CU_ASSERT_EQUAL_FATAL(hr__job_starts_decode(text, n_jobs, &starts, &count), HR_OK);
    CU_ASSERT_TRUE(count == n_jobs || strlen(text) > 4000);
    cut += count < n_jobs;
    expect_starts(&jobs, starts, count);
    free(starts);
    free(text);
  }
  CU_ASSERT_TRUE(cut > 10 && cut < 190);
}

/* Damaged text is rejected. Random text is rejected, or decoded to at most the expected number of jobs. */
static void damaged_starts_are_rejected(void) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  static const char *const texts[] = {"A", "AB", "gggggggggggggggggggggggg", "C C", "-", "CCC", "Ag", "D////////////B"};
  struct hr__job_start *starts;
  uint32_t count;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    CU_ASSERT_EQUAL(hr__job_starts_decode(texts[i], i == 1 ? 1 : 2, &starts, &count), HR_BAD_INPUT);
  for (uint32_t round = 0; round < 2000; round++) {
    char text[20] = "";
    for (uint32_t i = 0, length = draw(19); i < length; i++) text[i] = letters[draw(64)];
    enum hr_status status = hr__job_starts_decode(text, 8, &starts, &count);
    CU_ASSERT_TRUE(status == HR_BAD_INPUT || (status == HR_OK && count <= 8));
    free(starts);
  }
}

/* ---- Decisions -------------------------------------------------------------------------------------- */

/* Records `moves` decisions and some other events. The decision with the index `other` has a different node if
   `by_node` is true, otherwise a different time. */
static void decide(struct hr__decisions *decisions, uint32_t moves, uint32_t other, bool by_node) {
  struct hr_observer observer;
  CU_ASSERT_TRUE_FATAL(hr__decisions_init(decisions, &observer));
  for (uint32_t move = 0; move < moves; move++) {
    struct hr_slice slice = {.node = {move % 7 + (by_node && move == other)}, .gpu_milli = 1000};
    struct hr_placement placement = {.n_slices = 1, .slices = &slice};
    int64_t at_us = (int64_t)move * 1000 + (!by_node && move == other);
    struct hr_event end = {.at_us = at_us, .kind = HR_EVENT_END, .job = {move}, .pool = {HR_NONE}};
    struct hr_event start = {
        .at_us = at_us, .kind = HR_EVENT_START, .job = {move}, .placement = &placement, .pool = {HR_NONE}};
    if (move % 2) observer.on_event(observer.self, NULL, &end);
    observer.on_event(observer.self, NULL, &start);
  }
}

static void expect_first(uint32_t moves, uint32_t other, bool by_node) {
  struct hr__decisions before, now;
  uint64_t from;
  decide(&before, moves, HR_NONE, by_node);
  decide(&now, moves, other, by_node);
  char *chain = hr__decisions_chain(&before);
  CU_ASSERT_PTR_NOT_NULL_FATAL(chain);
  CU_ASSERT_FALSE(hr__decisions_first(&before, chain, before.spacing, &from));
  CU_ASSERT_TRUE(hr__decisions_first(&now, chain, before.spacing, &from));
  /* Two different blocks have equal marks with probability 1/4096. This does not occur with the numbers of this
     test. */
  CU_ASSERT_TRUE(from <= other && other < from + now.spacing);
  const struct hr__decision_block *block = hr__decisions_block(&now, from);
  CU_ASSERT_PTR_NOT_NULL_FATAL(block);
  CU_ASSERT_EQUAL(block->job.id, from);
  CU_ASSERT_EQUAL(block->kind, HR_EVENT_START);
  free(chain);
  hr__decisions_finish(&before);
  hr__decisions_finish(&now);
}

static void first_different_decision_is_found(void) {
  for (uint32_t round = 0; round < 60; round++) {
    uint32_t moves = 1 + draw(round % 3 == 0 ? 60000 : 500);
    expect_first(moves, draw(moves), round % 2);
  }
}

/* Runs of different lengths can have blocks of different sizes. */
static void runs_of_different_length(void) {
  struct hr__decisions before, now;
  uint64_t from;
  static const uint32_t lengths[][2] = {{100, 30000}, {30000, 100}, {16384, 16385}, {16, 17}, {0, 1}, {20000, 40000}};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    decide(&before, lengths[i][0], HR_NONE, true);
    decide(&now, lengths[i][1], HR_NONE, true);
    char *chain = hr__decisions_chain(&before);
    uint64_t shorter = lengths[i][0] < lengths[i][1] ? lengths[i][0] : lengths[i][1];
    uint64_t wide = before.spacing > now.spacing ? before.spacing : now.spacing;
    CU_ASSERT_TRUE(hr__decisions_first(&now, chain, before.spacing, &from));
    CU_ASSERT_TRUE(from <= shorter && shorter <= from + wide);
    free(chain);
    hr__decisions_finish(&before);
    hr__decisions_finish(&now);
  }
}

/* ---- Tolerances ------------------------------------------------------------------------------------- */

static struct hr_tolerance tolerance(const char *metric, double relative, double absolute, enum hr_worse worse) {
  return (struct hr_tolerance){{(char *)metric, (char *)""}, relative, absolute, worse};
}

static enum hr__tolerance_verdict judge(const struct hr_tolerances *own, const struct hr_tolerances *common,
                                        const char *path, const char *class_, double before, double now) {
  struct hr_tolerances exact = *common;
  if (exact.profile == HR_PROFILE_UNSPECIFIED) exact.profile = HR_PROFILE_EXACT;
  const struct hr__allowance allowance = {own, &exact, false, false, false};
  enum hr_metric_of of = class_ ? HR_METRIC_OF_CLASS : HR_METRIC_OF_RUN;
  const struct hr_baseline_metric was = {.path = (char *)path, .group = (char *)class_, .of = of, .value = before};
  struct hr_baseline_metric is = was;
  is.value = now;
  double chance;
  return hr__tolerance_evaluate(&allowance, &was, &is, &chance);
}

static void exact_without_tolerance(void) {
  const struct hr_tolerances none = {.profile = HR_PROFILE_EXACT}, slo = {0};
  const struct hr__allowance allowance = {&none, &none, false, false, false},
                             replicated = {&none, &none, true, true, false},
                             by_default = {&slo, &slo, false, false, false};
  CU_ASSERT_FALSE(hr__tolerance_wants_digest(&by_default));
  CU_ASSERT_TRUE(hr__tolerance_only_worse(&by_default));
  CU_ASSERT_FALSE(hr__tolerance_only_worse(&allowance));
  CU_ASSERT_EQUAL(judge(&none, &none, "wait_s.p95", NULL, 100, 100), HR__SAME);
  CU_ASSERT_EQUAL(judge(&none, &none, "wait_s.p95", NULL, 100, 100.000001), HR__WORSE);
  CU_ASSERT_EQUAL(judge(&none, &none, "wait_s.p95", NULL, 100, 99), HR__WORSE);
  CU_ASSERT_TRUE(hr__tolerance_wants_digest(&allowance));
  CU_ASSERT_FALSE(hr__tolerance_wants_digest(&replicated));
}

static void most_specific_tolerance_applies(void) {
  struct hr_tolerance of_suite[] = {tolerance("*", 0.5, 0, HR_WORSE_UNSPECIFIED),
                                    tolerance("wait_p95_s", 0.1, 0, HR_WORSE_UNSPECIFIED),
                                    tolerance("wait_s.p95 of training", 0, 3, HR_WORSE_UNSPECIFIED)};
  struct hr_tolerance of_run[] = {tolerance("*", 0.2, 0, HR_WORSE_UNSPECIFIED)};
  const struct hr_tolerances common = {.at = of_suite, .count = 3}, own = {.at = of_run, .count = 1}, none = {0};
  const struct hr__allowance allowance = {&none, &common, false, false, false};
  CU_ASSERT_FALSE(hr__tolerance_wants_digest(&allowance));
  /* The tolerance "*" of the run has precedence over the tolerance "*" of the suite. */
  CU_ASSERT_EQUAL(judge(&none, &common, "queue.mean", NULL, 100, 150), HR__ALLOWED);
  CU_ASSERT_EQUAL(judge(&none, &common, "queue.mean", NULL, 100, 151), HR__WORSE);
  CU_ASSERT_EQUAL(judge(&own, &common, "queue.mean", NULL, 100, 121), HR__WORSE);
  CU_ASSERT_EQUAL(judge(&own, &common, "queue.mean", NULL, 100, 80), HR__ALLOWED);
  /* A tolerance for a metric, by any of its names, has precedence over "*", also over "*" of the run. It also applies
     to a class, unless another tolerance names that class. */
  CU_ASSERT_EQUAL(judge(&own, &common, "wait_s.p95", NULL, 100, 110), HR__ALLOWED);
  CU_ASSERT_EQUAL(judge(&own, &common, "wait_s.p95", NULL, 100, 111), HR__WORSE);
  CU_ASSERT_EQUAL(judge(&own, &common, "wait_s.p95", "inference", 100, 111), HR__WORSE);
  CU_ASSERT_EQUAL(judge(&own, &common, "wait_s.p95", "inference", 100, 109), HR__ALLOWED);
  CU_ASSERT_EQUAL(judge(&own, &common, "wait_s.p95", "training", 100, 103), HR__ALLOWED);
  CU_ASSERT_EQUAL(judge(&own, &common, "wait_s.p95", "training", 100, 104), HR__WORSE);
}

static void larger_of_relative_and_absolute_bound(void) {
  struct hr_tolerance both[] = {tolerance("*", 0.1, 5, HR_WORSE_UNSPECIFIED)};
  const struct hr_tolerances common = {.at = both, .count = 1}, none = {0};
  CU_ASSERT_EQUAL(judge(&none, &common, "makespan_s", NULL, 10, 15), HR__ALLOWED);
  CU_ASSERT_EQUAL(judge(&none, &common, "makespan_s", NULL, 100, 110), HR__ALLOWED);
  CU_ASSERT_EQUAL(judge(&none, &common, "makespan_s", NULL, 100, 110.01), HR__WORSE);
  CU_ASSERT_EQUAL(judge(&none, &common, "makespan_s", NULL, 0, 5), HR__ALLOWED);
  CU_ASSERT_EQUAL(judge(&none, &common, "makespan_s", NULL, -100, -110), HR__ALLOWED);
}

static void directions_of_regressions(void) {
  struct hr_tolerance higher[] = {tolerance("utilization.makespan", 0, 0, HR_WORSE_HIGHER)};
  const struct hr_tolerances only_worse = {.only_worse = true, .only_worse_is_set = true}, none = {0};
  const struct hr_tolerances only_worse_with_direction = {
      .at = higher, .count = 1, .only_worse = true, .only_worse_is_set = true};
  CU_ASSERT_EQUAL(judge(&none, &only_worse, "wait_s.mean", NULL, 100, 99), HR__BETTER);
  CU_ASSERT_EQUAL(judge(&none, &only_worse, "wait_s.mean", NULL, 100, 101), HR__WORSE);
  CU_ASSERT_EQUAL(judge(&none, &only_worse, "utilization.makespan", NULL, 0.5, 0.6), HR__BETTER);
  CU_ASSERT_EQUAL(judge(&none, &only_worse, "utilization.makespan", NULL, 0.5, 0.4), HR__WORSE);
  CU_ASSERT_EQUAL(judge(&none, &only_worse, "jobs.submitted", NULL, 5, 6), HR__WORSE);
  CU_ASSERT_EQUAL(judge(&none, &only_worse, "jobs.submitted", NULL, 6, 5), HR__WORSE);
  CU_ASSERT_EQUAL(judge(&none, &only_worse_with_direction, "utilization.makespan", NULL, 0.5, 0.4), HR__BETTER);
  CU_ASSERT_EQUAL(judge(&none, &only_worse_with_direction, "utilization.makespan", NULL, 0.5, 0.6), HR__WORSE);
}

/* Compares a metric that has replications before and now: expects the verdict, and returns the p-value. `paired`: both
   sides have the same seeds. */
static double chance(bool paired, enum hr_worse worse, double *before, double *now,
                     enum hr__tolerance_verdict verdict) {
  struct hr_tolerance own[] = {tolerance("wait_s.mean", 0.5, 0, worse)};
  const struct hr_tolerances tolerances = {.at = own, .count = worse != HR_WORSE_UNSPECIFIED},
                             none = {.profile = HR_PROFILE_EXACT};
  const struct hr__allowance allowance = {&tolerances, &none, true, paired, false};
  struct hr_baseline_metric was = {.path = (char *)"wait_s.mean", .samples = before, .n_samples = 4}, is = was;
  is.samples = now;
  for (uint32_t r = 0; r < 4; r++) {
    was.value += before[r] / 4;
    is.value += isnan(now[r]) ? 0 : now[r] / 4;
  }
  double chance;
  CU_ASSERT_EQUAL(hr__tolerance_evaluate(&allowance, &was, &is, &chance), verdict);
  return chance;
}

static void significance_of_replications(void) {
  double before[] = {10, 20, 30, 40}, up[] = {11, 21, 31, 41}, down[] = {9, 18, 29, 37}, far[] = {80, 90, 84, 86};
  CU_ASSERT_EQUAL(chance(true, HR_WORSE_UNSPECIFIED, before, up, HR__WORSE), 0); /* all values increase by one */
  CU_ASSERT(chance(false, HR_WORSE_UNSPECIFIED, before, up, HR__WORSE) > 0.9);
  CU_ASSERT(chance(false, HR_WORSE_UNSPECIFIED, before, far, HR__WORSE) < 0.01);
  CU_ASSERT(isnan(chance(true, HR_WORSE_HIGHER, before, down, HR__BETTER)));
  CU_ASSERT(isnan(chance(true, HR_WORSE_HIGHER, before, up, HR__ALLOWED)));
  CU_ASSERT(isnan(chance(true, HR_WORSE_UNSPECIFIED, before, before, HR__SAME)));
  double lacking[] = {11, (double)NAN, 31, (double)NAN};
  CU_ASSERT_EQUAL(chance(true, HR_WORSE_UNSPECIFIED, before, lacking, HR__WORSE), 0); /* only two pairs are known */
}

static void expect_change(double before, double now, const char *expected) {
  char label[] = "a metric", name[] = "a run", cell[100];
  struct hr_suite suite = {.path = name};
  struct hr__check_change moved = {.label = label, .before = before, .now = now, .verdict = HR__WORSE};
  struct hr__check_case item = {
      .name = name, .changes = &moved, .n_changes = 1, .n_worse = 1, .verdict = HR__CASE_FAILED};
  const struct hr_check check = {
      .config = {.suite = &suite, .baseline_path = "base.json"}, .cases = &item, .n_cases = 1};
  CU_ASSERT_EQUAL_FATAL(hr_check_write_markdown(files_path("change.md"), &check, NULL), HR_OK);
  char *page = files_read(files_path("change.md"));
  snprintf(cell, sizeof cell, "** | %s | :x: failed |", expected);
  if (!strstr(page, cell)) printf("\n  %s\n", page);
  CU_ASSERT_PTR_NOT_NULL(strstr(page, cell));
  free(page);
}

/* The printed text of a change must never look like no change. */
static void text_of_changes(void) {
  expect_change(100, 112.344, "+12.3 %");
  expect_change(100, 98.766, "-1.23 %");
  expect_change(100, 99.9979, "-0.0021 %");
  expect_change(1e6, 1e6 + 0.1, "up");
  expect_change(1e6, 1e6 - 0.1, "down");
  expect_change(-50, -40, "+20.0 %");
  expect_change(1, 2000, "up");
  expect_change(1, 500, "+49,900 %");
  expect_change(0, 3, "up");
  expect_change(HR__UNKNOWN, 3, "new");
  expect_change(3, HR__UNKNOWN, "gone");
}

static void unknown_metrics_are_rejected(void) {
  struct hr_error error = {0};
  struct hr_tolerance wrong[] = {tolerance("wait_s.p96", 0, 0, HR_WORSE_UNSPECIFIED)};
  struct hr_tolerances tolerances = {.at = wrong, .count = 1};
  CU_ASSERT_EQUAL(hr__tolerance_check_names(&tolerances, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "unknown metric 'wait_s.p96'; did you mean 'wait_s.p9"));
  wrong[0] = tolerance("wait_s.p95 of anyone", 0, 0, HR_WORSE_UNSPECIFIED);
  CU_ASSERT_EQUAL(hr__tolerance_check_names(&tolerances, &error), HR_OK);
}

/* "chat.ttft_ms.p95" is a metric of the service 'chat', as in goals. */
static void tolerances_of_services(void) {
  struct hr_error error = {0};
  struct hr_tolerance rule[] = {tolerance("chat.ttft_ms.p95", 5, 0, HR_WORSE_UNSPECIFIED)};
  struct hr_tolerances tolerances = {.at = rule, .count = 1};
  char path[] = "ttft_ms.p95", chat[] = "chat", cha[] = "cha";
  struct hr_baseline_metric metric = {.path = path, .of = HR_METRIC_OF_ONE_SERVICE, .group = chat};
  CU_ASSERT_EQUAL(hr__tolerance_check_names(&tolerances, &error), HR_OK);
  CU_ASSERT_TRUE(hr__tolerance_names(&rule[0], &metric, false));
  metric.group = cha;
  CU_ASSERT_FALSE(hr__tolerance_names(&rule[0], &metric, true));
  rule[0] = tolerance("chat.ttft_ms.p96", 5, 0, HR_WORSE_UNSPECIFIED);
  CU_ASSERT_EQUAL(hr__tolerance_check_names(&tolerances, &error), HR_BAD_INPUT);
}

/* In a scenario without jobs, metrics such as the completion time describe replicas of services. An increase is then no
   regression, unless a tolerance names the metric or all metrics must be equal. */
static void replicas_are_not_jobs(void) {
  static char paths[][12] = {"jct_s.mean", "wait_s.p95", "jct_s.p95"};
  const struct hr_tolerances none = {0}, exact = {.profile = HR_PROFILE_EXACT};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    struct hr_tolerance rule[] = {tolerance(paths[i], 0.01, 0, HR_WORSE_UNSPECIFIED)};
    const struct hr_tolerances named = {.at = rule, .count = 1};
    const struct hr_baseline_metric before = {.path = paths[i], .value = 1000}, now = {.path = paths[i], .value = 2000};
    double p_value;
    struct hr__allowance allowance = {.own = &none, .common = &none};
    CU_ASSERT_EQUAL(hr__tolerance_evaluate(&allowance, &before, &now, &p_value), HR__WORSE);
    allowance.without_jobs = true;
    CU_ASSERT_EQUAL(hr__tolerance_evaluate(&allowance, &before, &now, &p_value), HR__ALLOWED);
    CU_ASSERT_FALSE(hr__tolerance_concerns(&allowance, &now));
    allowance.own = &named;
    CU_ASSERT_EQUAL(hr__tolerance_evaluate(&allowance, &before, &now, &p_value), HR__WORSE);
    allowance.own = &exact;
    CU_ASSERT_EQUAL(hr__tolerance_evaluate(&allowance, &before, &now, &p_value), HR__WORSE);
  }
}

TEST_MAIN("plan: parts of a check", TEST(tolerances_of_services), TEST(replicas_are_not_jobs), TEST(starts_round_trip),
          TEST(damaged_starts_are_rejected), TEST(first_different_decision_is_found), TEST(runs_of_different_length),
          TEST(exact_without_tolerance), TEST(most_specific_tolerance_applies),
          TEST(larger_of_relative_and_absolute_bound), TEST(directions_of_regressions),
          TEST(significance_of_replications), TEST(text_of_changes), TEST(unknown_metrics_are_rejected))
