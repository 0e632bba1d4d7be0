/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each kind of fault is planted into clean workloads. It must be found with every seed, with the expected severity and
   count. The first argument sets the number of seeds. */

#include "harness.h"
#include "headroom/trace_files.h"
#include "planted.h"

enum { N_JOBS = 1500 };

/* Plants a fault. Returns the expected count of the finding; 0 if unknown. */
typedef uint64_t plant(struct planted *planted);

static void expect_fault(plant *fault, enum hr_finding_code code, enum hr_severity severity) {
  uint32_t n_seeds = test_argument(1, 6);
  for (uint64_t seed = 1; seed <= n_seeds; seed++) {
    struct planted planted;
    planted_grow(&planted, seed + 5000, N_JOBS);
    uint64_t count = fault(&planted);
    struct hr_trace *trace = planted_trace(&planted);
    struct hr_trace_check *check = check_of(trace, NULL);
    const struct hr_finding *finding = finding_of(check, code);
    bool found = finding && finding->severity == severity && (!count || finding->count == count);
    if (!found)
      printf("\n    seed %llu: %s: %s", (unsigned long long)seed, hr_finding_name(code),
             finding ? finding->text : "not found");
    CU_ASSERT(found);
    hr_trace_check_destroy(check);
    hr_trace_destroy(trace);
    planted_finish(&planted);
  }
}

#define JOB(i) planted->jobs[i]
#define FOR_EACH_JOB(i) for (uint32_t i = 0; i < planted->n; i++)

static int64_t last_submit(const struct planted *planted) {
  int64_t last_us = 0;
  FOR_EACH_JOB(i) if (JOB(i).submit_us > last_us) last_us = JOB(i).submit_us;
  return last_us;
}

static void start_at_submit(struct planted_job *job) {
  job->start_us = job->submit_us;
}

/* ---- Rows and copies -------------------------------------------------------------------------------- */

static uint64_t swap_first_and_last(struct planted *planted) {
  struct planted_job first = JOB(0);
  JOB(0) = JOB(planted->n - 1);
  JOB(planted->n - 1) = first;
  return 2;
}

static uint64_t double_rows(struct planted *planted) {
  uint32_t n = planted->n;
  for (uint32_t i = 0; i < n; i++)
    if (i % 5 == 0) planted_add(planted, JOB(i));
  return 0;
}

static uint64_t copy_jobs(struct planted *planted) {
  uint32_t n = planted->n;
  for (uint32_t i = 0; i < n; i++) {
    struct planted_job copy = JOB(i);
    copy.submit_us += (1 + planted_below(planted, 5)) * DAY_US;
    start_at_submit(&copy);
    planted_add(planted, copy);
  }
  return 0;
}

static void rows(void) {
  expect_fault(swap_first_and_last, HR_FINDING_UNSORTED, HR_SEVERITY_NOTE);
  expect_fault(double_rows, HR_FINDING_DUPLICATE_ROWS, HR_SEVERITY_WARNING);
  expect_fault(copy_jobs, HR_FINDING_COPIED_JOBS, HR_SEVERITY_WARNING);
}

/* ---- Run times -------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
  int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
  return (first > second) - (first < second);
}

static int64_t run_time_at(const struct planted *planted, double quantile) {
  int64_t *values = malloc(planted->n * sizeof *values);
  if (!values) abort();
  FOR_EACH_JOB(i) values[i] = JOB(i).work_us;
  qsort(values, planted->n, sizeof *values, by_value);
  int64_t value = values[(uint32_t)(quantile * planted->n)];
  free(values);
  return value;
}

static uint64_t clamp(struct planted *planted, double quantile) {
  int64_t bound_us = run_time_at(planted, quantile);
  uint64_t count = 0;
  FOR_EACH_JOB(i) {
    if (JOB(i).work_us >= bound_us) JOB(i).work_us = bound_us;
    count += JOB(i).work_us == bound_us;
  }
  return count;
}

static uint64_t clamp_2_percent(struct planted *planted) {
  return clamp(planted, 0.98);
}

static uint64_t clamp_30_percent(struct planted *planted) {
  return clamp(planted, 0.7);
}

/* Three jobs run longer than the maximum of the others. */
static uint64_t clamp_5_percent_except_3_jobs(struct planted *planted) {
  int64_t bound_us = run_time_at(planted, 0.95);
  uint64_t count = clamp(planted, 0.95);
  for (uint32_t i = 0, left = 3; left; i++) {
    if (JOB(i).work_us != bound_us) continue;
    JOB(i).work_us *= 2 + left--;
  }
  return count - 3;
}

static uint64_t set_constant_run_times(struct planted *planted) {
  FOR_EACH_JOB(i) JOB(i).work_us = HOUR_US;
  return planted->n;
}

static uint64_t round_run_times(struct planted *planted) {
  FOR_EACH_JOB(i) JOB(i).work_us = (JOB(i).work_us / (15 * MINUTE_US) + 1) * 15 * MINUTE_US;
  return planted->n;
}

static uint64_t zero_run_times(struct planted *planted) {
  for (uint32_t i = 0; i < 30; i++) {
    JOB(7 * i).work_us = 0;
    JOB(7 * i).outcome = HR_OUTCOME_COMPLETED;
  }
  return 30;
}

static uint64_t zero_run_times_cancelled(struct planted *planted) {
  for (uint32_t i = 0; i < 30; i++) {
    JOB(7 * i).work_us = 0;
    JOB(7 * i).outcome = HR_OUTCOME_CANCELLED;
  }
  return 30;
}

static uint64_t tiny_run_times(struct planted *planted) {
  FOR_EACH_JOB(i) if (i % 5 == 0) JOB(i).work_us = 1 + planted_below(planted, 999999);
  return 0;
}

static uint64_t long_run_time(struct planted *planted) {
  JOB(3).work_us = 400 * DAY_US;
  return 1;
}

static void run_times(void) {
  expect_fault(clamp_2_percent, HR_FINDING_CLAMPED_RUN_TIMES, HR_SEVERITY_WARNING);
  expect_fault(clamp_30_percent, HR_FINDING_CLAMPED_RUN_TIMES, HR_SEVERITY_WARNING);
  expect_fault(clamp_5_percent_except_3_jobs, HR_FINDING_CLAMPED_RUN_TIMES, HR_SEVERITY_WARNING);
  expect_fault(set_constant_run_times, HR_FINDING_CONSTANT_RUN_TIMES, HR_SEVERITY_WARNING);
  expect_fault(round_run_times, HR_FINDING_ROUNDED_RUN_TIMES, HR_SEVERITY_WARNING);
  expect_fault(zero_run_times, HR_FINDING_ZERO_RUN_TIMES, HR_SEVERITY_WARNING);
  expect_fault(zero_run_times_cancelled, HR_FINDING_CANCELLED_UNRUN, HR_SEVERITY_WARNING);
  expect_fault(tiny_run_times, HR_FINDING_TINY_RUN_TIMES, HR_SEVERITY_WARNING);
  expect_fault(long_run_time, HR_FINDING_LONG_RUN_TIMES, HR_SEVERITY_WARNING);
}

/* ---- Units ------------------------------------------------------------------------------------------ */

static uint64_t run_times_in_ms(struct planted *planted) {
  FOR_EACH_JOB(i) JOB(i).work_us *= 1000;
  return 0;
}

static uint64_t run_times_in_hours(struct planted *planted) {
  FOR_EACH_JOB(i) JOB(i).work_us = JOB(i).work_us / 3600 + 1;
  return 0;
}

static uint64_t submits_in_ms(struct planted *planted) {
  FOR_EACH_JOB(i) {
    JOB(i).submit_us *= 1000;
    start_at_submit(&JOB(i));
  }
  return 0;
}

static uint64_t submits_far_off(struct planted *planted) {
  FOR_EACH_JOB(i) {
    JOB(i).submit_us += INT64_C(17000000000) * SECOND_US;
    start_at_submit(&JOB(i));
  }
  return planted->n;
}

static void units(void) {
  expect_fault(run_times_in_ms, HR_FINDING_SUSPICIOUS_UNITS, HR_SEVERITY_WARNING);
  expect_fault(run_times_in_hours, HR_FINDING_SUSPICIOUS_UNITS, HR_SEVERITY_WARNING);
  expect_fault(submits_in_ms, HR_FINDING_SUSPICIOUS_UNITS, HR_SEVERITY_WARNING);
  expect_fault(submits_far_off, HR_FINDING_SUSPICIOUS_UNITS, HR_SEVERITY_WARNING);
}

/* ---- Limits ----------------------------------------------------------------------------------------- */

static uint64_t limits_equal(struct planted *planted) {
  FOR_EACH_JOB(i) JOB(i).limit_us = JOB(i).work_us;
  return 0;
}

static uint64_t limits_twice_the_run_times(struct planted *planted) {
  FOR_EACH_JOB(i) JOB(i).limit_us = 2 * JOB(i).work_us;
  return 0;
}

static uint64_t limits_exceeded(struct planted *planted) {
  for (uint32_t i = 0; i < 50; i++) {
    JOB(9 * i).work_us = 2 * HOUR_US + i;
    JOB(9 * i).limit_us = HOUR_US;
  }
  return 50;
}

static uint64_t equal_limits(struct planted *planted) {
  FOR_EACH_JOB(i) JOB(i).limit_us = 90 * DAY_US;
  return planted->n;
}

static uint64_t deadlines_too_early(struct planted *planted) {
  FOR_EACH_JOB(i) JOB(i).deadline_us = JOB(i).submit_us + 2 * JOB(i).work_us;
  for (uint32_t i = 0; i < 50; i++) JOB(9 * i).deadline_us = JOB(9 * i).submit_us + JOB(9 * i).work_us - 1;
  return 50;
}

static void limits(void) {
  expect_fault(limits_equal, HR_FINDING_LIMITS_ARE_RUN_TIMES, HR_SEVERITY_WARNING);
  expect_fault(limits_twice_the_run_times, HR_FINDING_LIMITS_ARE_RUN_TIMES, HR_SEVERITY_WARNING);
  expect_fault(limits_exceeded, HR_FINDING_BEYOND_LIMIT, HR_SEVERITY_WARNING);
  expect_fault(equal_limits, HR_FINDING_ONE_LIMIT, HR_SEVERITY_WARNING);
  expect_fault(deadlines_too_early, HR_FINDING_IMPOSSIBLE_DEADLINES, HR_SEVERITY_WARNING);
}

/* ---- Arrivals --------------------------------------------------------------------------------------- */

static uint64_t submit_120_at_once(struct planted *planted) {
  for (uint32_t i = 0; i < 120; i++) {
    JOB(i).submit_us = 8 * DAY_US + 12345678;
    start_at_submit(&JOB(i));
  }
  return 120;
}

static uint64_t submit_200_within_an_hour(struct planted *planted) {
  for (uint32_t i = 0; i < 200; i++) {
    JOB(i).submit_us = 8 * DAY_US + i * 17 * SECOND_US;
    start_at_submit(&JOB(i));
  }
  return 0;
}

/* Removes all jobs of three working days of the second week. Returns the expected count of the finding. */
static uint64_t remove_three_days(struct planted *planted) {
  for (uint32_t i = planted->n; i-- > 0;)
    if (JOB(i).submit_us > 8 * DAY_US && JOB(i).submit_us < 11 * DAY_US) planted_drop(planted, i);
  return 1;
}

static uint64_t round_submits_to_days(struct planted *planted) {
  FOR_EACH_JOB(i) {
    JOB(i).submit_us = JOB(i).submit_us / DAY_US * DAY_US;
    start_at_submit(&JOB(i));
  }
  return planted->n;
}

static uint64_t round_submits_to_minutes(struct planted *planted) {
  FOR_EACH_JOB(i) {
    JOB(i).submit_us = JOB(i).submit_us / MINUTE_US * MINUTE_US;
    start_at_submit(&JOB(i));
  }
  return planted->n;
}

static uint64_t keep_60_jobs(struct planted *planted) {
  planted->n = 60;
  return 60;
}

static void arrivals(void) {
  expect_fault(submit_120_at_once, HR_FINDING_BURST, HR_SEVERITY_WARNING);
  expect_fault(submit_200_within_an_hour, HR_FINDING_BURST, HR_SEVERITY_WARNING);
  expect_fault(remove_three_days, HR_FINDING_GAP, HR_SEVERITY_WARNING);
  expect_fault(round_submits_to_days, HR_FINDING_ROUNDED_SUBMITS, HR_SEVERITY_WARNING);
  expect_fault(round_submits_to_minutes, HR_FINDING_ROUNDED_SUBMITS, HR_SEVERITY_NOTE);
  expect_fault(keep_60_jobs, HR_FINDING_SHORT_TRACE, HR_SEVERITY_NOTE);
}

/* Spreads jobs evenly over 28 days from `first_day`, a number of days since 1970. The tests begin on 2017-03-06 and
   2017-10-16. The clocks in Europe change in the nights to 26 March and 29 October. */
static void spread_evenly(struct planted *planted, int64_t first_day) {
  while (planted->n < 30000) planted_add(planted, JOB(planted_below(planted, N_JOBS)));
  planted->dated = true;
  FOR_EACH_JOB(i) {
    JOB(i).submit_us = first_day * DAY_US + (int64_t)(planted_uniform(planted) * 28 * (double)DAY_US);
    start_at_submit(&JOB(i));
  }
}

static bool is_in_hour(const struct planted_job *job, int64_t day, int64_t hour) {
  int64_t from_us = day * DAY_US + hour * HOUR_US;
  return job->submit_us >= from_us && job->submit_us < from_us + HOUR_US;
}

static uint64_t spring_forward(struct planted *planted) {
  spread_evenly(planted, 17231);
  for (uint32_t i = planted->n; i-- > 0;)
    if (is_in_hour(&JOB(i), 17251, 2)) planted_drop(planted, i);
  return 1;
}

static uint64_t fall_back(struct planted *planted) {
  spread_evenly(planted, 17455);
  uint32_t n = planted->n;
  for (uint32_t i = 0; i < n; i++) {
    if (!is_in_hour(&JOB(i), 17468, 2)) continue;
    struct planted_job job = JOB(i);
    job.work_us += 1000 * SECOND_US;
    job.submit_us = 17468 * DAY_US + 2 * HOUR_US + planted_below(planted, 3600) * SECOND_US;
    start_at_submit(&job);
    planted_add(planted, job);
    planted_add(planted, job);
  }
  return 1;
}

static void clock_changes(void) {
  expect_fault(spring_forward, HR_FINDING_CLOCK_CHANGE, HR_SEVERITY_WARNING);
  expect_fault(fall_back, HR_FINDING_CLOCK_CHANGE, HR_SEVERITY_WARNING);
}

/* ---- The end ---------------------------------------------------------------------------------------- */

static uint64_t cut_at_end(struct planted *planted) {
  int64_t end_us = last_submit(planted) + HOUR_US;
  FOR_EACH_JOB(i) {
    if (i < 40) JOB(i).submit_us = end_us - 2 * DAY_US - planted_below(planted, 80000) * SECOND_US;
    start_at_submit(&JOB(i));
    if (i < 40 || JOB(i).submit_us + JOB(i).work_us > end_us) JOB(i).work_us = end_us - JOB(i).submit_us;
  }
  return 0;
}

/* More than a hundred jobs run most of the time. The jobs that run at the last submit time are removed. */
static uint64_t remove_unfinished(struct planted *planted) {
  int64_t last_us = last_submit(planted);
  FOR_EACH_JOB(i) {
    JOB(i).work_us = (int64_t)((0.2 + 6 * planted_uniform(planted)) * (double)DAY_US);
    start_at_submit(&JOB(i));
  }
  for (uint32_t i = planted->n; i-- > 0;)
    if (JOB(i).submit_us + JOB(i).work_us > last_us && JOB(i).submit_us < last_us) planted_drop(planted, i);
  return 0;
}

static void ends(void) {
  expect_fault(cut_at_end, HR_FINDING_CUT_AT_END, HR_SEVERITY_WARNING);
  expect_fault(remove_unfinished, HR_FINDING_UNFINISHED_MISSING, HR_SEVERITY_WARNING);
}

/* ---- Owners, outcomes, sizes ------------------------------------------------------------------------ */

static uint64_t one_heavy_job(struct planted *planted) {
  JOB(5).gpus = 4096;
  JOB(5).work_us = 60 * DAY_US;
  return 1;
}

static uint64_t one_user(struct planted *planted) {
  FOR_EACH_JOB(i) if (i % 20) JOB(i).user = 2;
  return 0;
}

static uint64_t fail_after_30_minutes(struct planted *planted) {
  FOR_EACH_JOB(i) if (i % 8 == 0) {
    JOB(i).outcome = HR_OUTCOME_FAILED;
    JOB(i).work_us = 30 * MINUTE_US;
  }
  return 0;
}

static uint64_t fail_two_thirds(struct planted *planted) {
  FOR_EACH_JOB(i) if (i % 3) JOB(i).outcome = HR_OUTCOME_FAILED;
  return 0;
}

static uint64_t odd_sizes(struct planted *planted) {
  uint64_t count = 0;
  FOR_EACH_JOB(i) if (i % 3 == 0) JOB(i).gpus = 7;
  FOR_EACH_JOB(i) count += JOB(i).gpus == 7;
  return count;
}

static uint64_t single_gpus(struct planted *planted) {
  FOR_EACH_JOB(i) JOB(i).gpus = 1;
  return planted->n;
}

static uint64_t no_gpus(struct planted *planted) {
  FOR_EACH_JOB(i) JOB(i).gpus = 0;
  return planted->n;
}

static uint64_t start_together(struct planted *planted) {
  int64_t last_us = last_submit(planted);
  for (uint32_t i = 0; i < 300; i++) JOB(i).start_us = last_us + 1;
  return 300;
}

static uint64_t never_wait(struct planted *planted) {
  FOR_EACH_JOB(i) start_at_submit(&JOB(i));
  return planted->n;
}

static void owners_and_outcomes(void) {
  expect_fault(one_heavy_job, HR_FINDING_HEAVY_JOB, HR_SEVERITY_WARNING);
  expect_fault(one_user, HR_FINDING_ONE_USER, HR_SEVERITY_WARNING);
  expect_fault(one_user, HR_FINDING_ONE_TENANT, HR_SEVERITY_WARNING);
  expect_fault(fail_after_30_minutes, HR_FINDING_FAILURES_ALIKE, HR_SEVERITY_WARNING);
  expect_fault(fail_two_thirds, HR_FINDING_MOSTLY_FAILED, HR_SEVERITY_NOTE);
  expect_fault(odd_sizes, HR_FINDING_ODD_SIZES, HR_SEVERITY_WARNING);
  expect_fault(single_gpus, HR_FINDING_ALL_SINGLE_GPU, HR_SEVERITY_NOTE);
  expect_fault(no_gpus, HR_FINDING_WITHOUT_GPUS, HR_SEVERITY_WARNING);
  expect_fault(start_together, HR_FINDING_SIMULTANEOUS_STARTS, HR_SEVERITY_WARNING);
  expect_fault(never_wait, HR_FINDING_NO_RECORDED_WAITS, HR_SEVERITY_NOTE);
}

/* ---- Missing fields --------------------------------------------------------------------------------- */

static uint64_t remove_optional_fields(struct planted *planted) {
  FOR_EACH_JOB(i) {
    JOB(i).limit_us = HR_UNKNOWN_US;
    JOB(i).start_us = INT64_MIN;
    JOB(i).class_ = HR_CLASS_UNKNOWN;
    JOB(i).outcome = HR_OUTCOME_UNKNOWN;
  }
  return planted->n;
}

static uint64_t keep_a_third_of_limits(struct planted *planted) {
  uint64_t count = 0;
  FOR_EACH_JOB(i) if (i % 3) {
    JOB(i).limit_us = HR_UNKNOWN_US;
    count++;
  }
  return count;
}

static void missing_fields(void) {
  static const enum hr_finding_code codes[] = {
      HR_FINDING_NO_LIMITS,    HR_FINDING_NO_RECORDED_STARTS, HR_FINDING_NO_CLASSES,    HR_FINDING_NO_OUTCOMES,
      HR_FINDING_NO_GPU_TYPES, HR_FINDING_NO_GPU_MEMORY,      HR_FINDING_NO_CHECKPOINTS};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    expect_fault(remove_optional_fields, codes[i], HR_SEVERITY_NOTE);
  expect_fault(keep_a_third_of_limits, HR_FINDING_NO_LIMITS, HR_SEVERITY_NOTE);
}

TEST_MAIN("workload: planted faults", TEST(rows), TEST(run_times), TEST(units), TEST(limits), TEST(arrivals),
          TEST(clock_changes), TEST(ends), TEST(owners_and_outcomes), TEST(missing_fields))
