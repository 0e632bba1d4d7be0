/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks of jobs. The first part checks their properties: run times (cut, constant, rounded, zero, very long), limits,
 * deadlines, sizes, outcomes and units. The second part checks their submit times: bursts, rounded times, short traces,
 * changes of the clock, gaps, and the end of the trace.
 */

#include "base/text.h"
#include "traces/tools/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_US (365 * HR__DAY_US)

/* ---- Run times ------------------------------------------------------------------------------------- */

static bool order_run_times(struct hr__check_state *checker) {
  const struct hr_trace *trace = checker->trace;
  checker->work = malloc(((size_t)checker->n + 1) * sizeof *checker->work);
  if (!checker->work) return false;
  for (uint32_t i = 0; i < checker->n; i++)
    if (trace->work_us[i] > 0 && !hr__check_is_service(trace, i))
      checker->work[checker->n_work++] = (struct hr__job_value){trace->work_us[i], i};
  return hr__pairs_sort(checker->work, checker->n_work);
}

static bool find_grain(struct hr__check_state *checker) {
  int64_t *values = malloc(((size_t)checker->n_work + 1) * sizeof *values);
  if (!values) return false;
  for (uint32_t i = 0; i < checker->n_work; i++) values[i] = checker->work[i].key;
  checker->work_grain_us = hr__check_grain_us(values, checker->n_work, 0);
  free(values);
  return true;
}

/* `begin` is the index of the first run time that equals the bound. Sets `*neighbours` to the number of jobs with a
   run time below the bound and at least 4/5 of it. Returns the mean number of these jobs per distinct run time. */
static double mean_count_below(const struct hr__job_value *values, uint32_t begin, uint32_t *neighbours) {
  uint32_t from = hr__check_count_below(values, begin, values[begin].key / 5 * 4), distinct = 0;
  *neighbours = begin - from;
  for (uint32_t i = from; i < begin; i++) distinct += i == from || values[i].key != values[i - 1].key;
  return distinct ? (double)*neighbours / distinct : 0;
}

/* Reports a bound: a run time at which many jobs were cut. A run time is a bound if all of these conditions are true:
   - It is among the longest 2 % of run times, and at most 0.5 % of the jobs run longer.
   - At least MIN jobs have it, and at most half of the jobs.
   - At least MIN_NEIGHBOURS jobs run shorter, but at least 4/5 of it.
   - Its number of jobs is at least TIMES the mean number of jobs of the run times of these neighbours. */
static void check_clamp(struct hr__check_state *checker) {
  enum { MIN = 10, TIMES = 10, MIN_NEIGHBOURS = 3 };
  const struct hr__job_value *work = checker->work;
  uint32_t n = checker->n_work, begin, neighbours;
  if (n < MIN) return;
  uint32_t count = hr__check_most_frequent(work, n, n - n / 50 - 1, &begin), beyond = n - begin - count;
  double crowd = mean_count_below(work, begin, &neighbours);
  bool cut = count >= MIN && count >= TIMES * crowd && neighbours >= MIN_NEIGHBOURS && beyond <= n / 200;
  if (!cut || count > n / 2) return;
  checker->clamp_us = work[begin].key;
  char bound[HR__NUMBER_BYTES], last[HR__NUMBER_BYTES];
  hr__check_add_jobs(
      checker, HR_FINDING_CLAMPED_RUN_TIMES, 0.01, count, n, hr__check_first_job(work + begin, count), "",
      "ran for exactly %s, and %s ran longer; run times in the fifth below it have %.3g jobs on average",
      hr__duration_text(hr__seconds(work[begin].key), bound), beyond ? hr__count_text(beyond, last) : "none", crowd);
}

/* ---- Run times: constant, rounded ------------------------------------------------------------------ */

/* Reports that nearly all run times are equal. The finding is only a note if the trace has fewer than MANY jobs,
   because a user may have written such a trace by hand. */
static void check_constant(struct hr__check_state *checker) {
  enum { MIN = 20, MANY = 500 };
  uint32_t n = checker->n_work, begin, count = n >= MIN ? hr__check_most_frequent(checker->work, n, 0, &begin) : 0;
  checker->constant = n >= MIN && count >= n - n / 10;
  if (!checker->constant) return;
  char value[HR__NUMBER_BYTES];
  hr__check_add_jobs(checker, HR_FINDING_CONSTANT_RUN_TIMES, n >= MANY ? HR__ALWAYS_WARN : HR__NEVER_WARN, count, n,
                     hr__check_first_job(checker->work + begin, count), "", "ran for exactly %s",
                     hr__duration_text(hr__seconds(checker->work[begin].key), value));
}

static uint32_t count_distinct(const struct hr__job_value *values, uint32_t count) {
  uint32_t distinct = count > 0;
  for (uint32_t i = 1; i < count; i++) distinct += values[i].key != values[i - 1].key;
  return distinct;
}

/* Reports that run times are multiples of a step. The finding is only a note if the step is small compared with the
   median run time. */
static void check_rounded(struct hr__check_state *checker) {
  enum { MIN = 50, MIN_DISTINCT = 5, SMALL = 20 };
  uint32_t n = checker->n_work;
  int64_t grain_us = checker->work_grain_us;
  if (n < MIN || grain_us < HR__MINUTE_US || count_distinct(checker->work, n) < MIN_DISTINCT) return;
  int64_t median_us = checker->work[n / 2].key;
  char step[HR__NUMBER_BYTES], median[HR__NUMBER_BYTES];
  bool matters = median_us < SMALL * grain_us;
  hr__check_add(checker, HR_FINDING_ROUNDED_RUN_TIMES, matters ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
                &(struct hr__check_subject){.count = n, .of = n, .job = HR_NONE},
                "run times are multiples of %s; their median is %s", hr__duration_text(hr__seconds(grain_us), step),
                hr__duration_text(hr__seconds(median_us), median));
}

/* ---- Run times: zero, tiny, long ------------------------------------------------------------------- */

static void report_count(struct hr__check_state *checker, enum hr_finding_code code, double warn_from, uint32_t count,
                         uint32_t first, const char *what) {
  if (count) hr__check_add_jobs(checker, code, warn_from, count, checker->n, first, "", "%s", what);
}

/* Reports run times of 0, below a second and above a year. Jobs that were cancelled before they ran are reported by
   check_never_ran(). */
static void check_extremes(struct hr__check_state *checker) {
  const struct hr_trace *trace = checker->trace;
  uint32_t zero = 0, first_zero = HR_NONE, tiny = 0, first_tiny = HR_NONE, endless = 0, first_endless = HR_NONE;
  for (uint32_t i = 0; i < checker->n; i++) {
    int64_t work_us = trace->work_us[i];
    bool cancelled = trace->outcome && trace->outcome[i] == HR_OUTCOME_CANCELLED;
    if (work_us == 0 && !cancelled && zero++ == 0) first_zero = i;
    if (work_us > 0 && work_us < HR_SECOND_US && !hr__check_is_service(trace, i) && tiny++ == 0) first_tiny = i;
    if (work_us > LONGEST_US && endless++ == 0) first_endless = i;
  }
  report_count(checker, HR_FINDING_ZERO_RUN_TIMES, 0.001, zero, first_zero, "have run time 0 without being cancelled");
  report_count(checker, HR_FINDING_TINY_RUN_TIMES, 0.1, tiny, first_tiny, "ran for less than a second");
  report_count(checker, HR_FINDING_LONG_RUN_TIMES, 0, endless, first_endless, "ran for more than a year");
}

static void check_run_times_part(struct hr__check_state *checker) {
  if (!order_run_times(checker) || !find_grain(checker)) {
    checker->out_of_memory = true;
    return;
  }
  check_constant(checker);
  if (!checker->constant) check_clamp(checker);
  check_rounded(checker);
  check_extremes(checker);
}

enum { MIN_JOBS = 20, GRACE_S = 60 };

struct limits {
  /* known: jobs with a limit; beyond: jobs that ran longer than their limit; first_beyond: the first of them */
  uint32_t known, beyond, first_beyond;
  struct hr__job_value *ratio; /* limit / run time in millionths, sorted, with the jobs */
  struct hr__job_value *limit; /* limits, sorted, with the jobs */
  uint32_t n_ratios;
};

/* Returns true if the run time exceeds the limit by more than 1 % of the limit plus GRACE_S. A scheduler may need
   that time to stop a job. */
static bool is_beyond(int64_t work_us, int64_t limit_us) {
  return work_us > limit_us + limit_us / 100 + GRACE_S * HR_SECOND_US;
}

static bool gather_limits(const struct hr__check_state *checker, struct limits *limits) {
  const struct hr_trace *trace = checker->trace;
  *limits = (struct limits){.first_beyond = HR_NONE};
  limits->ratio = malloc(((size_t)checker->n + 1) * sizeof *limits->ratio);
  limits->limit = malloc(((size_t)checker->n + 1) * sizeof *limits->limit);
  if (!limits->ratio || !limits->limit) return false;
  for (uint32_t i = 0; i < checker->n; i++) {
    int64_t limit_us = trace->limit_us[i], work_us = trace->work_us[i];
    if (limit_us < 0) continue;
    limits->limit[limits->known++] = (struct hr__job_value){limit_us, i};
    if (is_beyond(work_us, limit_us) && limits->beyond++ == 0) limits->first_beyond = i;
    if (work_us >= HR__MINUTE_US)
      limits->ratio[limits->n_ratios++] =
          (struct hr__job_value){(int64_t)(1e6 * (double)limit_us / (double)work_us), i};
  }
  return hr__pairs_sort(limits->ratio, limits->n_ratios) && hr__pairs_sort(limits->limit, limits->known);
}

/* ---- Limits ---------------------------------------------------------------------------------------- */

/* Reports that limit / run time is the same number, within 0.1 %, for nine of ten jobs with a limit that ran for at
   least a minute. */
static void check_ratio(struct hr__check_state *checker, const struct limits *limits) {
  uint32_t n = limits->n_ratios;
  if (n < MIN_JOBS) return;
  int64_t median = limits->ratio[n / 2].key;
  uint32_t same = 0, first = HR_NONE;
  for (uint32_t i = 0; i < n; i++) {
    if (llabs(limits->ratio[i].key - median) > median / 1000) continue;
    if (limits->ratio[i].value < first) first = (uint32_t)limits->ratio[i].value;
    same++;
  }
  if (same < n - n / 10) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], multiple[64];
  if (llabs(median - 1000000) <= 1000)
    snprintf(multiple, sizeof multiple, "the run time itself");
  else
    snprintf(multiple, sizeof multiple, "%.4g times the run time", (double)median / 1e6);
  hr__check_add(checker, HR_FINDING_LIMITS_ARE_RUN_TIMES, HR_SEVERITY_WARNING,
                &(struct hr__check_subject){.count = same, .of = n, .job = first}, "the limit of %s jobs (%s) is %s",
                hr__count_text(same, text), hr__check_share_text((double)same / n, of), multiple);
}

static void check_one(struct hr__check_state *checker, const struct limits *limits) {
  uint32_t begin,
      count = limits->known < MIN_JOBS ? 0 : hr__check_most_frequent(limits->limit, limits->known, 0, &begin);
  if (limits->known < MIN_JOBS || count < limits->known / 2) return;
  char value[HR__NUMBER_BYTES];
  hr__check_add_jobs(checker, HR_FINDING_ONE_LIMIT, 0.9, count, limits->known,
                     hr__check_first_job(limits->limit + begin, count), " of those with limits", "have the limit %s",
                     hr__duration_text(hr__seconds(limits->limit[begin].key), value));
}

/* ---- Deadlines ------------------------------------------------------------------------------------- */

static void check_deadlines(struct hr__check_state *checker) {
  const struct hr_trace *trace = checker->trace;
  uint32_t known = 0, late = 0, first = HR_NONE;
  for (uint32_t i = 0; trace->deadline_us && i < checker->n; i++) {
    if (trace->deadline_us[i] < 0) continue;
    known++;
    if (trace->deadline_us[i] < trace->submit_us[i] + trace->work_us[i] && late++ == 0) first = i;
  }
  if (late)
    hr__check_add_jobs(checker, HR_FINDING_IMPOSSIBLE_DEADLINES, 0.01, late, known, first, " of those with deadlines",
                       "cannot be complete in time even without waiting");
}

static void check_limits_part(struct hr__check_state *checker) {
  check_deadlines(checker);
  if (!checker->trace->limit_us) return;
  struct limits limits;
  if (gather_limits(checker, &limits)) {
    if (limits.beyond)
      hr__check_add_jobs(checker, HR_FINDING_BEYOND_LIMIT, 0.01, limits.beyond, limits.known, limits.first_beyond,
                         " of those with limits", "ran longer than the limit, by more than %d s and 1 %%", GRACE_S);
    if (!checker->constant) check_one(checker, &limits);
    check_ratio(checker, &limits);
  } else {
    checker->out_of_memory = true;
  }
  free(limits.ratio);
  free(limits.limit);
}

/* ---- Sizes ----------------------------------------------------------------------------------------- */

enum { USUAL_NODE_GPUS = 8 };

/* Returns true if jobs of `gpus` GPUs can fill nodes of `node_gpus` GPUs completely. */
static bool divides(uint32_t gpus, uint32_t node_gpus) {
  return node_gpus && (gpus % node_gpus == 0 || node_gpus % gpus == 0);
}

static bool fills_nodes(const struct hr__check_state *checker, uint32_t gpus) {
  const struct hr_cluster_spec *cluster = checker->cluster;
  if (!cluster) return divides(gpus, USUAL_NODE_GPUS);
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes && divides(gpus, cluster->pools[i].gpus_per_node)) return true;
  return false;
}

/* Reports sizes that cannot fill nodes completely. The size of a job with several tasks is the number of GPUs of a
   task. */
static void check_odd(struct hr__check_state *checker) {
  enum { SIZES_MIN = 20, SHARE = 5 };
  const struct hr_trace *trace = checker->trace;
  uint32_t several = 0, odd = 0, first = HR_NONE;
  for (uint32_t i = 0; i < checker->n; i++) {
    uint32_t gpus = trace->gpus[i] / (trace->tasks && trace->tasks[i] ? trace->tasks[i] : 1);
    if (gpus < 2) continue;
    several++;
    if (!fills_nodes(checker, gpus) && odd++ == 0) first = i;
  }
  if (!odd) return;
  char size[HR__NUMBER_BYTES];
  bool many = several >= SIZES_MIN && odd >= several / SHARE;
  hr__check_add_jobs(checker, HR_FINDING_ODD_SIZES, many ? HR__ALWAYS_WARN : HR__NEVER_WARN, odd, several, first,
                     " of those with several GPUs",
                     "request%s a number that neither divides nor is a multiple of %s, the first one %s",
                     odd == 1 ? "s" : "", checker->cluster ? "a node's GPUs" : "8, the usual node size",
                     hr__count_text(trace->gpus[first], size));
}

/* Reports that three of four jobs request one GPU, and that no job requests a fraction of a GPU. */
static void check_single(struct hr__check_state *checker) {
  enum { SIZES_MIN = 100 };
  const struct hr_trace *trace = checker->trace;
  uint32_t requesting = 0, single = 0;
  for (uint32_t i = 0; i < checker->n; i++) {
    requesting += trace->gpus[i] > 0;
    single += trace->gpus[i] == 1;
  }
  if (trace->gpu_milli || trace->mig_profile || requesting < SIZES_MIN || single < requesting - requesting / 4) return;
  hr__check_add_jobs(checker, HR_FINDING_ALL_SINGLE_GPU, HR__NEVER_WARN, single, requesting, HR_NONE,
                     " of those with GPUs", "request one whole GPU, and no job a fraction of one");
}

static void check_none(struct hr__check_state *checker) {
  const struct hr_trace *trace = checker->trace;
  uint32_t without = 0, first = HR_NONE;
  for (uint32_t i = 0; i < checker->n; i++)
    if (trace->gpus[i] == 0 && without++ == 0) first = i;
  report_count(checker, HR_FINDING_WITHOUT_GPUS, 1, without, first,
               without == 1 ? "requests no GPU" : "request no GPU");
}

static void check_sizes_part(struct hr__check_state *checker) {
  check_odd(checker);
  check_single(checker);
  check_none(checker);
}

/* ---- Outcomes -------------------------------------------------------------------------------------- */

/* The number of jobs with each outcome, failed jobs with their run times, and the first job that was cancelled
   before it ran. */
struct outcomes {
  /* count: jobs with each outcome; never_ran: jobs that were cancelled before they ran */
  uint32_t count[HR_N_OUTCOMES], never_ran, first_never_ran;
  struct hr__job_value *failed; /* run times of failed jobs, sorted, with the jobs */
};

static bool outcomes_gather(const struct hr__check_state *checker, struct outcomes *outcomes) {
  const struct hr_trace *trace = checker->trace;
  *outcomes = (struct outcomes){0};
  outcomes->failed = malloc(((size_t)checker->n + 1) * sizeof *outcomes->failed);
  if (!outcomes->failed) return false;
  for (uint32_t i = 0; i < checker->n; i++) {
    uint8_t outcome = trace->outcome[i];
    if (outcome == HR_OUTCOME_FAILED)
      outcomes->failed[outcomes->count[HR_OUTCOME_FAILED]] = (struct hr__job_value){trace->work_us[i], i};
    if (outcome == HR_OUTCOME_CANCELLED && trace->work_us[i] == 0 && outcomes->never_ran++ == 0)
      outcomes->first_never_ran = i;
    outcomes->count[outcome]++;
  }
  return hr__pairs_sort(outcomes->failed, outcomes->count[HR_OUTCOME_FAILED]);
}

/* Reports that many jobs failed after exactly the same time. Failures within the first minute are ignored, because
   they often have the same run time. */
static void check_equal_failures(struct hr__check_state *checker, const struct outcomes *outcomes) {
  enum { OUTCOMES_MIN = 20 };
  uint32_t n = outcomes->count[HR_OUTCOME_FAILED], from = 0, begin;
  while (from < n && outcomes->failed[from].key < HR__MINUTE_US) from++;
  uint32_t long_ones = n - from,
           count = long_ones < OUTCOMES_MIN ? 0 : hr__check_most_frequent(outcomes->failed, n, from, &begin);
  if (count < OUTCOMES_MIN || count < long_ones / 4 || checker->constant) return;
  char time[HR__NUMBER_BYTES];
  hr__check_add_jobs(checker, HR_FINDING_FAILURES_ALIKE, HR__ALWAYS_WARN, count, long_ones,
                     hr__check_first_job(outcomes->failed + begin, count), " of the failures after a minute and more",
                     "failed after exactly %s", hr__duration_text(hr__seconds(outcomes->failed[begin].key), time));
}

static void check_failure_share(struct hr__check_state *checker, const struct outcomes *outcomes) {
  enum { OUTCOMES_MIN = 20 };
  uint32_t failed = outcomes->count[HR_OUTCOME_FAILED], known = checker->n - outcomes->count[HR_OUTCOME_UNKNOWN];
  if (failed < OUTCOMES_MIN || failed <= known / 2 || known <= checker->n / 2) return;
  hr__check_add_jobs(checker, HR_FINDING_MOSTLY_FAILED, HR__NEVER_WARN, failed, known,
                     hr__check_first_job(outcomes->failed, failed), "", "failed");
}

static void check_never_ran(struct hr__check_state *checker, const struct outcomes *outcomes) {
  report_count(checker, HR_FINDING_CANCELLED_UNRUN, 0.01, outcomes->never_ran, outcomes->first_never_ran,
               outcomes->never_ran == 1 ? "was cancelled before running" : "were cancelled before running");
}

static void check_outcomes_part(struct hr__check_state *checker) {
  struct outcomes outcomes;
  if (!checker->trace->outcome) return;
  if (outcomes_gather(checker, &outcomes)) {
    check_equal_failures(checker, &outcomes);
    check_failure_share(checker, &outcomes);
    check_never_ran(checker, &outcomes);
  } else {
    checker->out_of_memory = true;
  }
  free(outcomes.failed);
}

/* ---- Units ----------------------------------------------------------------------------------------- */

#define YEAR_2100_S INT64_C(4102444800)
enum { UNITS_MIN_JOBS = 20, MIN_FOR_OVERLAP = 100, LONG_MEDIAN_DAYS = 3 };

static void check_median(struct hr__check_state *checker) {
  if (checker->n_work < UNITS_MIN_JOBS) return;
  int64_t median_us = checker->work[checker->n_work / 2].key;
  const struct hr__check_subject where = {
      .count = checker->n_work, .of = checker->n, .job = HR_NONE, .subject = "duration"};
  char text[HR__NUMBER_BYTES];
  hr__duration_text(hr__seconds(median_us), text);
  if (median_us < HR_SECOND_US)
    hr__check_add(checker, HR_FINDING_SUSPICIOUS_UNITS, HR_SEVERITY_WARNING, &where,
                  "half of the jobs run for less than %s: are run times in minutes or hours, and read as seconds?",
                  text);
  if (median_us > LONG_MEDIAN_DAYS * HR__DAY_US)
    hr__check_add(checker, HR_FINDING_SUSPICIOUS_UNITS, HR_SEVERITY_WARNING, &where,
                  "half of the jobs run for %s or more: are run times in milliseconds, and read as seconds?", text);
}

/* Reports submit times that are implausible as seconds since 1970, because they are after the year 2100. */
static void check_epoch(struct hr__check_state *checker) {
  const struct hr_trace *trace = checker->trace;
  int64_t first_s = trace->origin_us / HR_SECOND_US;
  char text[HR__NUMBER_BYTES];
  if (trace->dated || first_s < YEAR_2100_S) return;
  hr__check_add(
      checker, HR_FINDING_SUSPICIOUS_UNITS, HR_SEVERITY_WARNING,
      &(struct hr__check_subject){.count = checker->n, .of = checker->n, .job = 0, .subject = "submit"},
      "the first submit is at %s s, after the year 2100 if counted from 1970: are submit times in another unit?",
      hr__count_text((uint64_t)first_s, text));
}

/* Reports that fewer than 0.05 jobs run at a time on average, which is implausible for a cluster. */
static void check_overlap(struct hr__check_state *checker) {
  const struct hr_trace *trace = checker->trace;
  double busy_s = 0, span_s = hr__seconds(checker->span_us);
  if (checker->n < MIN_FOR_OVERLAP || checker->span_us == 0) return;
  for (uint32_t i = 0; i < checker->n; i++) busy_s += hr__seconds(trace->work_us[i]);
  if (busy_s >= 0.05 * span_s) return;
  hr__check_add(
      checker, HR_FINDING_SUSPICIOUS_UNITS, HR_SEVERITY_WARNING,
      &(struct hr__check_subject){.count = checker->n, .of = checker->n, .job = HR_NONE, .subject = "submit"},
      "%.2g jobs run at a time on average: are submit times in milliseconds, or run times in minutes or hours, "
      "and read as seconds?",
      busy_s / span_s);
}

static void check_units_part(struct hr__check_state *checker) {
  check_median(checker);
  check_epoch(checker);
  check_overlap(checker);
}

/* ---- All properties -------------------------------------------------------------------------------- */

void hr__check_jobs(struct hr__check_state *checker) {
  static void (*const parts[])(struct hr__check_state *) = {check_run_times_part, check_units_part, check_limits_part,
                                                            check_outcomes_part, check_sizes_part};
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !checker->out_of_memory; i++) parts[i](checker);
}

/* ---- Arrivals -------------------------------------------------------------------------------------- */

/*
 * Clock changes: the dates of a trace may be local times, with clock changes in spring and autumn. An hour of the night
 * of the change is compared with the same hour on the 14 days before and the 14 days after it, as far as the trace
 * covers them. It must cover at least seven of these days. The mean number of jobs in this hour of these days must be
 * at least 12. In spring, the hour is reported if it has no jobs. In autumn, it is reported if its number of jobs is at
 * least 1.7 times that mean and more than 1.2 times the maximum of these days. The hours from 1:00 to 3:00 are
 * examined, and only in nights in which the European Union (last Sundays of March and October) or the United States
 * (second Sunday of March, first Sunday of November) change clocks.
 *
 * Gaps: a gap is a long time without a job in which at least 40 jobs were expected. If the trace has at least three
 * weeks, the expected number of jobs depends on the hour of the week, and a gap has at least 12 hours. In a shorter
 * trace, the expected number depends on the hour of the day, and a gap has at least 72 hours, so that it is longer than
 * a weekend. Load changes over months. Therefore, the expected number is reduced if the week before the gap and the
 * week after it have fewer jobs than expected.
 *
 * End: jobs that were cut at the last instant of the trace, and jobs that are missing because they had not ended when
 * the recording ended.
 */

/* ---- Arrivals: bursts: one instant ----------------------------------------------------------------- */

/* Reports a burst: at least 5 % of the jobs have the same submit time. Services are not counted. The first submit time
   is ignored, because it may be that of all jobs that already waited when the recording began. */
static void check_instant(struct hr__check_state *checker) {
  enum { MIN = 20, SHARE = 20 };
  const struct hr_trace *trace = checker->trace;
  uint32_t max = 0, at = HR_NONE, total = 0;
  for (uint32_t i = 0; i < checker->n;) {
    uint32_t end = i, count = 0;
    for (; end < checker->n && trace->submit_us[end] == trace->submit_us[i]; end++)
      count += !hr__check_is_service(trace, end);
    if (trace->submit_us[i] > 0 && count > max) {
      max = count;
      at = i;
    }
    total += count;
    i = end;
  }
  if (max < MIN || max < total / SHARE) return;
  char when[HR__NUMBER_BYTES];
  hr__check_add_jobs(checker, HR_FINDING_BURST, HR__ALWAYS_WARN, max, total, at, "",
                     "are submitted at one instant, %s after the first",
                     hr__duration_text(hr__seconds(trace->submit_us[at]), when));
}

/* ---- Arrivals: bursts: one hour -------------------------------------------------------------------- */

/* Returns the number of jobs in the busiest hour, which may begin at any submit. Services are not counted. Sets
   `*first` to the first job of that hour. */
static uint32_t busiest_hour(const struct hr__check_state *checker, uint32_t *first) {
  const struct hr_trace *trace = checker->trace;
  uint32_t from = 0, inside = 0, max = 0;
  for (uint32_t i = 0; i < checker->n; i++) {
    inside += !hr__check_is_service(trace, i);
    for (; trace->submit_us[i] - trace->submit_us[from] >= HR__HOUR_US; from++)
      inside -= !hr__check_is_service(trace, from);
    if (inside <= max) continue;
    max = inside;
    *first = from;
  }
  return max;
}

/* Reports a burst: an hour has at least a tenth of all jobs and at least 20 times the mean number of jobs per hour.
   The busiest hour of an ordinary day has far fewer jobs. An hour that begins at the first submit is ignored, for the
   same reason as in check_instant(). */
static void check_hour(struct hr__check_state *checker) {
  enum { MIN_DAYS = 3, MIN = 50, SHARE = 10, TIMES = 20 };
  uint32_t first = 0, max = checker->span_us < MIN_DAYS * HR__DAY_US ? 0 : busiest_hour(checker, &first);
  double mean = checker->span_us ? (double)checker->n * (double)HR__HOUR_US / (double)checker->span_us : 0;
  if (max < MIN || max < checker->n / SHARE || max < TIMES * mean) return;
  if (checker->trace->submit_us[first] == 0) return;
  char when[HR__NUMBER_BYTES];
  hr__check_add_jobs(checker, HR_FINDING_BURST, HR__ALWAYS_WARN, max, checker->n, first, "",
                     "are submitted within an hour, %s after the first; the mean is %.3g an hour",
                     hr__duration_text(hr__seconds(checker->trace->submit_us[first]), when), mean);
}

/* ---- Arrivals: rounding and length ----------------------------------------------------------------- */

/* Reports that submit times are multiples of a minute or of a larger step. There must be enough distinct submit
   times, because a few multiples could be chance. */
static void check_rounded_times(struct hr__check_state *checker) {
  enum { MIN = 50, MIN_INSTANTS = 10 };
  const struct hr_trace *trace = checker->trace;
  uint32_t instants = 1;
  for (uint32_t i = 1; i < checker->n; i++) instants += trace->submit_us[i] != trace->submit_us[i - 1];
  int64_t grain_us = hr__check_grain_us(trace->submit_us, checker->n, trace->origin_us);
  if (checker->n < MIN || instants < MIN_INSTANTS || grain_us < HR__MINUTE_US) return;
  char step[HR__NUMBER_BYTES], text[HR__NUMBER_BYTES];
  hr__check_add(checker, HR_FINDING_ROUNDED_SUBMITS, grain_us < HR__DAY_US ? HR_SEVERITY_NOTE : HR_SEVERITY_WARNING,
                &(struct hr__check_subject){.count = checker->n, .of = checker->n, .job = HR_NONE},
                "submit times are multiples of %s: %s distinct ones", hr__duration_text(hr__seconds(grain_us), step),
                hr__count_text(instants, text));
}

static void check_short(struct hr__check_state *checker) {
  enum { FEW_JOBS = 100 };
  if (checker->n >= FEW_JOBS && checker->span_us >= HR__DAY_US) return;
  char jobs[HR__NUMBER_BYTES], span[HR__NUMBER_BYTES];
  hr__check_add(checker, HR_FINDING_SHORT_TRACE, HR_SEVERITY_NOTE,
                &(struct hr__check_subject){.count = checker->n, .of = checker->n, .job = HR_NONE},
                "%s job%s, submitted over %s", hr__count_text(checker->n, jobs), hr__plural(checker->n),
                hr__duration_text(hr__seconds(checker->span_us), span));
}

static void check_arrivals_part(struct hr__check_state *checker) {
  check_instant(checker);
  check_hour(checker);
  check_rounded_times(checker);
  check_short(checker);
}

/* ---- Arrivals: clock changes ----------------------------------------------------------------------- */

enum { AROUND_DAYS = 14, MIN_MEAN = 12, MAX_YEARS = 100 };

/* Returns the number of days from 1970-01-01 to a day of the Gregorian calendar. */
static int64_t days_of(int64_t year, int month, int day) {
  static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  int64_t past = year - 1, days = past * 365 + past / 4 - past / 100 + past / 400;
  bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return days - 719162 + before[month - 1] + (leap && month > 2) + day - 1;
}

static int64_t year_of(int64_t days) {
  int64_t year = 1970 + days / 366 - (days < 0);
  while (days_of(year + 1, 1, 1) <= days) year++;
  return year;
}

/* Returns the day of the week, 0 for Sunday. Day 0, 1970-01-01, was a Thursday. */
static int weekday_of(int64_t days) {
  return (int)(((days + 4) % 7 + 7) % 7);
}

static int64_t first_sunday(int64_t year, int month) {
  int64_t day = days_of(year, month, 1);
  return day + (7 - weekday_of(day)) % 7;
}

/* Returns the last Sunday of a month with 31 days. */
static int64_t last_sunday(int64_t year, int month) {
  int64_t day = days_of(year, month, 31);
  return day - weekday_of(day);
}

/* Returns the number of jobs that were submitted in an hour of a day, on the clock of the trace. Sets `*first` to the
   first of these jobs, or to the next later job if there are none. */
static uint32_t count_hour(const struct hr_trace *trace, int64_t day, int hour, uint32_t *first) {
  int64_t from_us = day * HR__DAY_US + hour * HR__HOUR_US - trace->origin_us, to_us = from_us + HR__HOUR_US;
  *first = hr__count_below(trace->submit_us, sizeof *trace->submit_us, trace->n_jobs, from_us);
  return hr__count_below(trace->submit_us, sizeof *trace->submit_us, trace->n_jobs, to_us) - *first;
}

/* Returns true if the whole day is between the first and the last submit. */
static bool is_recorded(const struct hr__check_state *checker, int64_t day) {
  int64_t from_us = day * HR__DAY_US - checker->trace->origin_us;
  return from_us >= 0 && from_us + HR__DAY_US <= checker->span_us;
}

static void check_night(struct hr__check_state *checker, int64_t day, int hour, bool spring) {
  const struct hr_trace *trace = checker->trace;
  uint32_t first, other, max = 0, days = 0, sum = 0;
  if (!is_recorded(checker, day)) return;
  uint32_t count = count_hour(trace, day, hour, &first);
  for (int64_t i = day - AROUND_DAYS; i <= day + AROUND_DAYS; i++) {
    if (i == day || !is_recorded(checker, i)) continue;
    uint32_t jobs = count_hour(trace, i, hour, &other);
    sum += jobs;
    days++;
    if (jobs > max) max = jobs;
  }
  double mean = days ? (double)sum / days : 0;
  bool odd = spring ? count == 0 : count >= 1.7 * mean && count > 1.2 * max;
  if (!odd || days < AROUND_DAYS / 2 || mean < MIN_MEAN || first >= checker->n) return;
  hr__check_add(
      checker, HR_FINDING_CLOCK_CHANGE, HR_SEVERITY_WARNING,
      &(struct hr__check_subject){.count = 1, .of = 1, .job = first},
      "%u jobs are submitted from %d:00 to %d:00 in the night in which clocks are %s; the mean of the days around "
      "is %.3g",
      count, hour, hour + 1, spring ? "set forward" : "set back", mean);
}

static void check_clock_part(struct hr__check_state *checker) {
  const struct hr_trace *trace = checker->trace;
  if (!trace->dated || checker->span_us > MAX_YEARS * 366 * HR__DAY_US || trace->origin_us < 0) return;
  int64_t first = trace->origin_us / HR__DAY_US, last = (trace->origin_us + checker->span_us) / HR__DAY_US;
  for (int64_t year = year_of(first); year <= year_of(last); year++) {
    for (int hour = 1; hour < 3; hour++) {
      check_night(checker, last_sunday(year, 3), hour, true);
      check_night(checker, first_sunday(year, 3) + 7, hour, true);
      check_night(checker, last_sunday(year, 10), hour, false);
      check_night(checker, first_sunday(year, 11), hour, false);
    }
  }
}

/* ---- Arrivals: gaps -------------------------------------------------------------------------------- */

enum { WEEK_HOURS = 168, DAY_HOURS = 24, WEEKS_FOR_DAYS = 3, MAX_HOURS = 2000000 };
enum { MIN_GAP_H = 12, MIN_GAP_ANY_DAY_H = 72, MIN_EXPECTED = 40 };

struct hourly {
  uint32_t n, period;      /* n: hours of the trace; period: hours of the cycle, a day or a week */
  uint32_t *jobs;          /* [n] jobs submitted in each hour */
  double rate[WEEK_HOURS]; /* mean number of jobs per hour, by position in the cycle */
};

static bool count_hours(const struct hr__check_state *checker, struct hourly *hours) {
  const struct hr_trace *trace = checker->trace;
  hours->n = (uint32_t)(checker->span_us / HR__HOUR_US) + 1;
  hours->period = checker->span_us >= WEEKS_FOR_DAYS * 7 * HR__DAY_US ? WEEK_HOURS : DAY_HOURS;
  hours->jobs = calloc(hours->n, sizeof *hours->jobs);
  if (!hours->jobs) return false;
  uint32_t seen[WEEK_HOURS] = {0};
  memset(hours->rate, 0, sizeof hours->rate);
  for (uint32_t i = 0; i < checker->n; i++) hours->jobs[trace->submit_us[i] / HR__HOUR_US]++;
  for (uint32_t hour = 0; hour < hours->n; hour++) {
    seen[hour % hours->period]++;
    hours->rate[hour % hours->period] += hours->jobs[hour];
  }
  for (uint32_t i = 0; i < hours->period; i++) hours->rate[i] /= seen[i] ? seen[i] : 1;
  return true;
}

/* Returns the number of jobs that the cycle predicts for the hours [begin, end). */
static double expect(const struct hourly *hours, double begin, double end) {
  double sum = 0;
  for (uint32_t hour = (uint32_t)begin; hour < end; hour++) {
    double part = fmin(end, hour + 1.0) - fmax(begin, hour);
    sum += part * hours->rate[hour % hours->period];
  }
  return sum;
}

/* Returns the number of jobs in the week before `begin` and the week after `end`, divided by the number that the
   cycle predicts for both weeks; at most 1. */
static double level_around(const struct hourly *hours, double begin, double end) {
  uint32_t before = (uint32_t)begin, after = (uint32_t)end + 1, count = 0;
  uint32_t from = before > WEEK_HOURS ? before - WEEK_HOURS : 0;
  uint32_t to = hours->n - after > WEEK_HOURS ? after + WEEK_HOURS : hours->n;
  double expected = 0;
  for (uint32_t hour = from; hour < before; hour++) count += hours->jobs[hour];
  for (uint32_t hour = after; hour < to; hour++) count += hours->jobs[hour];
  if (before > from) expected += expect(hours, from, before);
  if (to > after) expected += expect(hours, after, to);
  return expected > 0 ? fmin(1, count / expected) : 0;
}

/* A gap between two consecutive submits. */
struct gap {
  uint32_t job;    /* the first job after the gap */
  double expected; /* number of jobs that were expected in the gap */
};

/* Returns the gap in which the most jobs were expected; its `job` is HR_NONE without a gap. Adds the number of
   gaps to `*count`. */
static struct gap worst_gap(const struct hr__check_state *checker, const struct hourly *hours, uint32_t *count) {
  const int64_t *submit_us = checker->trace->submit_us;
  int64_t min_us = (hours->period == WEEK_HOURS ? MIN_GAP_H : MIN_GAP_ANY_DAY_H) * HR__HOUR_US;
  struct gap worst = {HR_NONE, 0};
  for (uint32_t i = 1; i < checker->n; i++) {
    if (submit_us[i] - submit_us[i - 1] < min_us) continue;
    double begin = (double)submit_us[i - 1] / (double)HR__HOUR_US, end = (double)submit_us[i] / (double)HR__HOUR_US;
    double expected = expect(hours, begin, end) * level_around(hours, begin, end);
    if (expected < MIN_EXPECTED) continue;
    ++*count;
    if (expected > worst.expected) worst = (struct gap){i, expected};
  }
  return worst;
}

static void check_gaps_part(struct hr__check_state *checker) {
  enum { GAPS_MIN_DAYS = 4 };
  struct hourly hours;
  uint32_t count = 0;
  if (checker->span_us < GAPS_MIN_DAYS * HR__DAY_US || checker->span_us / HR__HOUR_US > MAX_HOURS) return;
  if (!count_hours(checker, &hours)) {
    checker->out_of_memory = true;
    return;
  }
  struct gap gap = worst_gap(checker, &hours, &count);
  free(hours.jobs);
  if (!count) return;
  const int64_t *submit_us = checker->trace->submit_us;
  char more[64] = "";
  if (count > 1) snprintf(more, sizeof more, "; it is the worst of %" PRIu32 " such gaps", count);
  char length[HR__NUMBER_BYTES], begin[HR__NUMBER_BYTES], expected[HR__NUMBER_BYTES];
  hr__check_add(checker, HR_FINDING_GAP, HR_SEVERITY_WARNING,
                &(struct hr__check_subject){.count = count, .of = checker->n - 1, .job = gap.job},
                "no job for %s, from %s after the first on; about %s were expected%s",
                hr__duration_text(hr__seconds(submit_us[gap.job] - submit_us[gap.job - 1]), length),
                hr__duration_text(hr__seconds(submit_us[gap.job - 1]), begin),
                hr__count_text((uint64_t)gap.expected, expected), more);
}

/* ---- Arrivals: end: cut jobs ----------------------------------------------------------------------- */

static int64_t begin_us(const struct hr_trace *trace, uint32_t job) {
  int64_t start_us = trace->recorded_start_us ? trace->recorded_start_us[job] : HR_UNKNOWN_US;
  return start_us >= 0 ? start_us : trace->submit_us[job];
}

/* Reports jobs that were cut at the end of the trace. There are such jobs if at least END_MIN jobs, and at least one in
   END_SHARE jobs, end in its last second, which is unlikely by chance. */
static void check_cut(struct hr__check_state *checker) {
  enum { END_MIN = 10, END_SHARE = 500 };
  const struct hr_trace *trace = checker->trace;
  int64_t end_us = 0;
  uint32_t count = 0, first = HR_NONE;
  for (uint32_t k = 0; k < checker->n_work; k++) {
    uint32_t job = (uint32_t)checker->work[k].value;
    int64_t this_us = begin_us(trace, job) + trace->work_us[job];
    if (this_us > end_us) end_us = this_us;
  }
  for (uint32_t k = 0; k < checker->n_work; k++) {
    uint32_t job = (uint32_t)checker->work[k].value;
    if (begin_us(trace, job) + trace->work_us[job] < end_us - HR_SECOND_US) continue;
    if (job < first) first = job;
    count++;
  }
  if (count < END_MIN || count < checker->n_work / END_SHARE) return;
  char when[HR__NUMBER_BYTES];
  hr__check_add_jobs(checker, HR_FINDING_CUT_AT_END, HR__ALWAYS_WARN, count, checker->n_work, first, "",
                     "end at the last instant of the trace, %s after the first submit",
                     hr__duration_text(hr__seconds(end_us), when));
}

/* ---- Arrivals: end: missing jobs ------------------------------------------------------------------- */

/* Starts and ends of jobs, sorted separately. */
struct marks {
  struct hr__job_value *begin, *end; /* ascending */
  uint32_t n;
};

static bool gather_marks(const struct hr__check_state *checker, struct marks *marks) {
  marks->begin = malloc(((size_t)checker->n_work + 1) * sizeof *marks->begin);
  marks->end = malloc(((size_t)checker->n_work + 1) * sizeof *marks->end);
  marks->n = checker->n_work;
  if (!marks->begin || !marks->end) return false;
  for (uint32_t k = 0; k < checker->n_work; k++) {
    uint32_t job = (uint32_t)checker->work[k].value;
    int64_t from_us = begin_us(checker->trace, job);
    marks->begin[k] = (struct hr__job_value){from_us, job};
    marks->end[k] = (struct hr__job_value){from_us + checker->work[k].key, job};
  }
  return hr__pairs_sort(marks->begin, marks->n) && hr__pairs_sort(marks->end, marks->n);
}

static uint32_t active_at(const struct marks *marks, int64_t time_us) {
  return hr__check_count_below(marks->begin, marks->n, time_us + 1) -
         hr__check_count_below(marks->end, marks->n, time_us + 1);
}

/* Reports that jobs which were still running at the end are missing from the trace. First, the minimum number of
   running jobs is computed over 500 times, evenly spaced from 50 % to 90 % of the trace. Jobs are assumed to be
   missing if fewer than a quarter of this minimum run at the last submit. The minimum must be at least END_MIN. */
static void check_missing(struct hr__check_state *checker, const struct marks *marks) {
  enum { SAMPLES = 500, END_MIN = 20, END_TIMES = 4 };
  int64_t last_us = checker->trace->submit_us[checker->n - 1], half_us = checker->span_us / 2;
  uint32_t min = UINT32_MAX, last = active_at(marks, last_us);
  for (int64_t i = 0; i < SAMPLES; i++) {
    uint32_t active = active_at(marks, half_us + checker->span_us / 10 * 4 / SAMPLES * i);
    if (active < min) min = active;
  }
  if (min < END_MIN || last >= min / END_TIMES) return;
  char now[HR__NUMBER_BYTES], then[HR__NUMBER_BYTES];
  hr__check_add(checker, HR_FINDING_UNFINISHED_MISSING, HR_SEVERITY_WARNING,
                &(struct hr__check_subject){.count = min - last, .of = checker->n_work, .job = HR_NONE},
                "%s job%s running at the last submit, but never fewer than %s before", hr__count_text(last, now),
                last == 1 ? " is" : "s are", hr__count_text(min, then));
}

static void check_end_part(struct hr__check_state *checker) {
  struct marks marks;
  if (!checker->n_work || checker->constant || checker->span_us == 0) return;
  check_cut(checker);
  if (gather_marks(checker, &marks))
    check_missing(checker, &marks);
  else
    checker->out_of_memory = true;
  free(marks.begin);
  free(marks.end);
}

/* ---- Arrivals: all checks -------------------------------------------------------------------------- */

void hr__check_arrivals(struct hr__check_state *checker) {
  static void (*const parts[])(struct hr__check_state *) = {check_arrivals_part, check_gaps_part, check_clock_part,
                                                            check_end_part};
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !checker->out_of_memory; i++) parts[i](checker);
}
