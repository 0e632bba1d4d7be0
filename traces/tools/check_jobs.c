/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of jobs: run times (cut, constant, rounded, zero, very long), limits, deadlines, sizes, outcomes, units. */

#include "base/text.h"
#include "traces/tools/check.h"

#include <stdio.h>
#include <stdlib.h>

#define LONGEST_US (365 * HR__DAY_US)

/* ---- Run times --------------------------------------------------------------------------------------- */

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

/* Returns the number of values with a key below `key`. */
static uint32_t count_below(const struct hr__job_value *values, uint32_t count, int64_t key) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (values[middle].key < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* `begin` is the index of the first run time that equals the bound. Sets `*neighbours` to the number of jobs with a
   run time below the bound and at least 4/5 of it. Returns the mean number of these jobs per distinct run time. */
static double mean_count_below(const struct hr__job_value *values, uint32_t begin, uint32_t *neighbours) {
  uint32_t from = count_below(values, begin, values[begin].key / 5 * 4), distinct = 0;
  *neighbours = begin - from;
  for (uint32_t i = from; i < begin; i++) distinct += i == from || values[i].key != values[i - 1].key;
  return distinct ? (double)*neighbours / distinct : 0;
}

/* Reports a bound: a run time at which many jobs were cut. A run time is a bound if all of these conditions are met:
   it is among the longest 2 % of run times; almost no job runs longer; some jobs have run times just below it; and it
   has at least ten times as many jobs as those run times have on average. */
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
  double share = (double)count / n;
  char text[HR__NUMBER_BYTES], bound[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], last[HR__NUMBER_BYTES];
  hr__check_add(
      checker, HR_FINDING_CLAMPED_RUN_TIMES, share >= 0.01 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
      &(struct hr__check_subject){.count = count, .of = n, .job = hr__check_first_job(work + begin, count)},
      "%s jobs (%s) ran for exactly %s, and %s ran longer; run times in the fifth below it have %.3g jobs on average",
      hr__count_text(count, text), hr__check_share_text(share, of),
      hr__duration_text(hr__seconds(work[begin].key), bound), beyond ? hr__count_text(beyond, last) : "none", crowd);
}

/* ---- Run times: constant, rounded -------------------------------------------------------------------- */

/* Reports that nearly all run times are equal. The finding is only a note if the trace has fewer than MANY jobs,
   because a user may have written such a trace by hand. */
static void check_constant(struct hr__check_state *checker) {
  enum { MIN = 20, MANY = 500 };
  uint32_t n = checker->n_work, begin, count = n >= MIN ? hr__check_most_frequent(checker->work, n, 0, &begin) : 0;
  checker->constant = n >= MIN && count >= n - n / 10;
  if (!checker->constant) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], value[HR__NUMBER_BYTES];
  hr__check_add(
      checker, HR_FINDING_CONSTANT_RUN_TIMES, n >= MANY ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
      &(struct hr__check_subject){.count = count, .of = n, .job = hr__check_first_job(checker->work + begin, count)},
      "%s jobs (%s) ran for exactly %s", hr__count_text(count, text), hr__check_share_text((double)count / n, of),
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

/* ---- Run times: zero, tiny, long --------------------------------------------------------------------- */

static void report_count(struct hr__check_state *checker, enum hr_finding_code code, double warn_from, uint32_t count,
                         uint32_t first, const char *what) {
  double share = (double)count / checker->n;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  if (!count) return;
  hr__check_add(checker, code, share >= warn_from ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
                &(struct hr__check_subject){.count = count, .of = checker->n, .job = first}, "%s job%s (%s) %s",
                hr__count_text(count, text), hr__plural(count), hr__check_share_text(share, of), what);
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

static bool gather(const struct hr__check_state *checker, struct limits *limits) {
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

/* ---- Limits ------------------------------------------------------------------------------------------ */

/* Reports that limit / run time is the same number, within 0.1 %, for nine of ten jobs with a limit. */
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

static void check_beyond(struct hr__check_state *checker, const struct limits *limits) {
  if (!limits->beyond) return;
  double share = (double)limits->beyond / limits->known;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__check_add(checker, HR_FINDING_BEYOND_LIMIT, share >= 0.01 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
                &(struct hr__check_subject){.count = limits->beyond, .of = limits->known, .job = limits->first_beyond},
                "%s job%s (%s of those with limits) ran longer than the limit, by more than %d s and 1 %%",
                hr__count_text(limits->beyond, text), hr__plural(limits->beyond), hr__check_share_text(share, of),
                GRACE_S);
}

static void check_one(struct hr__check_state *checker, const struct limits *limits) {
  uint32_t begin,
      count = limits->known < MIN_JOBS ? 0 : hr__check_most_frequent(limits->limit, limits->known, 0, &begin);
  if (limits->known < MIN_JOBS || count < limits->known / 2) return;
  double share = (double)count / limits->known;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], value[HR__NUMBER_BYTES];
  hr__check_add(checker, HR_FINDING_ONE_LIMIT, share >= 0.9 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
                &(struct hr__check_subject){
                    .count = count, .of = limits->known, .job = hr__check_first_job(limits->limit + begin, count)},
                "%s jobs (%s of those with limits) have the limit %s", hr__count_text(count, text),
                hr__check_share_text(share, of), hr__duration_text(hr__seconds(limits->limit[begin].key), value));
}

/* ---- Deadlines ---------------------------------------------------------------------------------------- */

static void check_deadlines(struct hr__check_state *checker) {
  const struct hr_trace *trace = checker->trace;
  uint32_t known = 0, late = 0, first = HR_NONE;
  for (uint32_t i = 0; trace->deadline_us && i < checker->n; i++) {
    if (trace->deadline_us[i] < 0) continue;
    known++;
    if (trace->deadline_us[i] < trace->submit_us[i] + trace->work_us[i] && late++ == 0) first = i;
  }
  if (!late) return;
  double share = (double)late / known;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__check_add(checker, HR_FINDING_IMPOSSIBLE_DEADLINES, share >= 0.01 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
                &(struct hr__check_subject){.count = late, .of = known, .job = first},
                "%s job%s (%s of those with deadlines) cannot be complete in time even without waiting",
                hr__count_text(late, text), hr__plural(late), hr__check_share_text(share, of));
}

static void check_limits_part(struct hr__check_state *checker) {
  check_deadlines(checker);
  if (!checker->trace->limit_us) return;
  struct limits limits;
  if (gather(checker, &limits)) {
    check_beyond(checker, &limits);
    if (!checker->constant) check_one(checker, &limits);
    check_ratio(checker, &limits);
  } else {
    checker->out_of_memory = true;
  }
  free(limits.ratio);
  free(limits.limit);
}

/* ---- Sizes ------------------------------------------------------------------------------------------- */

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
  double share = (double)odd / several;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], size[HR__NUMBER_BYTES];
  bool many = several >= SIZES_MIN && odd >= several / SHARE;
  hr__check_add(
      checker, HR_FINDING_ODD_SIZES, many ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
      &(struct hr__check_subject){.count = odd, .of = several, .job = first},
      "%s job%s (%s of those with several GPUs) request%s a number that neither divides nor is a multiple of %s, "
      "the first one %s",
      hr__count_text(odd, text), hr__plural(odd), hr__check_share_text(share, of), odd == 1 ? "s" : "",
      checker->cluster ? "a node's GPUs" : "8, the usual node size", hr__count_text(trace->gpus[first], size));
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
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__check_add(checker, HR_FINDING_ALL_SINGLE_GPU, HR_SEVERITY_NOTE,
                &(struct hr__check_subject){.count = single, .of = requesting, .job = HR_NONE},
                "%s jobs (%s of those with GPUs) request one whole GPU, and no job a fraction of one",
                hr__count_text(single, text), hr__check_share_text((double)single / requesting, of));
}

static void check_none(struct hr__check_state *checker) {
  const struct hr_trace *trace = checker->trace;
  uint32_t without = 0, first = HR_NONE;
  for (uint32_t i = 0; i < checker->n; i++)
    if (trace->gpus[i] == 0 && without++ == 0) first = i;
  if (!without) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__check_add(checker, HR_FINDING_WITHOUT_GPUS, without == checker->n ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
                &(struct hr__check_subject){.count = without, .of = checker->n, .job = first},
                "%s job%s (%s) request%s no GPU", hr__count_text(without, text), hr__plural(without),
                hr__check_share_text((double)without / checker->n, of), without == 1 ? "s" : "");
}

static void check_sizes_part(struct hr__check_state *checker) {
  check_odd(checker);
  check_single(checker);
  check_none(checker);
}

/* ---- Outcomes ---------------------------------------------------------------------------------------- */

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
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], time[HR__NUMBER_BYTES];
  hr__check_add(checker, HR_FINDING_FAILURES_ALIKE, HR_SEVERITY_WARNING,
                &(struct hr__check_subject){
                    .count = count, .of = long_ones, .job = hr__check_first_job(outcomes->failed + begin, count)},
                "%s jobs (%s of the failures after a minute and more) failed after exactly %s",
                hr__count_text(count, text), hr__check_share_text((double)count / long_ones, of),
                hr__duration_text(hr__seconds(outcomes->failed[begin].key), time));
}

static void check_failure_share(struct hr__check_state *checker, const struct outcomes *outcomes) {
  enum { OUTCOMES_MIN = 20 };
  uint32_t failed = outcomes->count[HR_OUTCOME_FAILED], known = checker->n - outcomes->count[HR_OUTCOME_UNKNOWN];
  if (failed < OUTCOMES_MIN || failed <= known / 2 || known <= checker->n / 2) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__check_add(
      checker, HR_FINDING_MOSTLY_FAILED, HR_SEVERITY_NOTE,
      &(struct hr__check_subject){.count = failed, .of = known, .job = hr__check_first_job(outcomes->failed, failed)},
      "%s jobs (%s) failed", hr__count_text(failed, text), hr__check_share_text((double)failed / known, of));
}

static void check_never_ran(struct hr__check_state *checker, const struct outcomes *outcomes) {
  if (!outcomes->never_ran) return;
  double share = (double)outcomes->never_ran / checker->n;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__check_add(
      checker, HR_FINDING_CANCELLED_UNRUN, share >= 0.01 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
      &(struct hr__check_subject){.count = outcomes->never_ran, .of = checker->n, .job = outcomes->first_never_ran},
      "%s job%s (%s) %s cancelled before running", hr__count_text(outcomes->never_ran, text),
      hr__plural(outcomes->never_ran), hr__check_share_text(share, of), outcomes->never_ran == 1 ? "was" : "were");
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

/* ---- Units ------------------------------------------------------------------------------------------- */

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

/* Reports submit times that are too large to be seconds since 1970. */
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

/* Reports that jobs hardly overlap, which is implausible for a cluster. */
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

/* ---- All parts ---------------------------------------------------------------------------------------- */

void hr__check_jobs(struct hr__check_state *checker) {
  static void (*const parts[])(struct hr__check_state *) = {check_run_times_part, check_units_part, check_limits_part,
                                                            check_outcomes_part, check_sizes_part};
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !checker->out_of_memory; i++) parts[i](checker);
}
