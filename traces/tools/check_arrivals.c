/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks of submit times: bursts, rounded times, short traces, changes of the clock, gaps, and the end of the trace.
 *
 * Clock changes: if a trace has dates without a zone, its local clock may change in spring and autumn. An hour of the
 * night of the change is compared with the same hour on the days before and after it. The mean number of jobs on
 * these days must be at least 12. In spring, the hour is reported if it has no jobs. In autumn, it is reported if its
 * number of jobs is at least 1.7 times that mean and more than 1.2 times the maximum of these days. The hours from
 * 1:00 to 3:00 are examined, and only in nights in which the European Union (last Sundays of March and October) or
 * the United States (second Sunday of March, first Sunday of November) change clocks.
 *
 * Gaps: a gap is a long time without a job in which many jobs were expected. If the trace has at least three weeks,
 * the expected number of jobs depends on the hour of the week. Otherwise it depends on the hour of the day, and a gap
 * must be longer than a weekend. Because load changes over months, the expected number is reduced if the week before
 * the gap and the week after it have fewer jobs than expected.
 *
 * End: jobs that were cut at the last instant of the trace, and jobs that are missing because they had not ended when
 * the recording ended.
 */

#include "base/text.h"
#include "traces/tools/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Bursts: one instant ----------------------------------------------------------------------------- */

/* Reports a burst: at least 5 % of the jobs have the same submit time. The first submit time is ignored, because at
   that time the trace may have all jobs that were already waiting. */
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
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], when[HR__NUMBER_BYTES];
  hr__check_add(
      checker, HR_FINDING_BURST, HR_SEVERITY_WARNING, &(struct hr__check_subject){.count = max, .of = total, .job = at},
      "%s jobs (%s) are submitted at one instant, %s after the first", hr__count_text(max, text),
      hr__check_share_text((double)max / total, of), hr__duration_text(hr__seconds(trace->submit_us[at]), when));
}

/* ---- Bursts: one hour -------------------------------------------------------------------------------- */

/* Returns the number of jobs in the busiest hour, which may begin at any submit. Services are not counted. `*first`
   is set to the first job of that hour. */
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
   The busiest hour of an ordinary day is far below that. */
static void check_hour(struct hr__check_state *checker) {
  enum { MIN_DAYS = 3, MIN = 50, SHARE = 10, TIMES = 20 };
  uint32_t first = 0, max = checker->span_us < MIN_DAYS * HR__DAY_US ? 0 : busiest_hour(checker, &first);
  double mean = checker->span_us ? (double)checker->n * (double)HR__HOUR_US / (double)checker->span_us : 0;
  if (max < MIN || max < checker->n / SHARE || max < TIMES * mean) return;
  if (checker->trace->submit_us[first] == 0) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], when[HR__NUMBER_BYTES];
  hr__check_add(checker, HR_FINDING_BURST, HR_SEVERITY_WARNING,
                &(struct hr__check_subject){.count = max, .of = checker->n, .job = first},
                "%s jobs (%s) are submitted within an hour, %s after the first; the mean is %.3g an hour",
                hr__count_text(max, text), hr__check_share_text((double)max / checker->n, of),
                hr__duration_text(hr__seconds(checker->trace->submit_us[first]), when), mean);
}

/* ---- Rounding and length ----------------------------------------------------------------------------- */

/* Reports that submit times are multiples of a minute or of a larger step. There must be enough distinct submit
   times, because a few multiples could be chance. */
static void check_rounded(struct hr__check_state *checker) {
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
  enum { MIN_JOBS = 100 };
  if (checker->n >= MIN_JOBS && checker->span_us >= HR__DAY_US) return;
  char jobs[HR__NUMBER_BYTES], span[HR__NUMBER_BYTES];
  hr__check_add(checker, HR_FINDING_SHORT_TRACE, HR_SEVERITY_NOTE,
                &(struct hr__check_subject){.count = checker->n, .of = checker->n, .job = HR_NONE},
                "%s job%s, submitted over %s", hr__count_text(checker->n, jobs), hr__plural(checker->n),
                hr__duration_text(hr__seconds(checker->span_us), span));
}

static void check_arrivals_part(struct hr__check_state *checker) {
  check_instant(checker);
  check_hour(checker);
  check_rounded(checker);
  check_short(checker);
}

/* ---- Clock changes ----------------------------------------------------------------------------------- */

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

/* Returns the number of jobs that were submitted in an hour of a day, on the clock of the trace. `*first` is set to
   the first of them. */
static uint32_t count_hour(const struct hr_trace *trace, int64_t day, int hour, uint32_t *first) {
  int64_t from_us = day * HR__DAY_US + hour * HR__HOUR_US - trace->origin_us, to_us = from_us + HR__HOUR_US;
  uint32_t begin = 0, end = trace->n_jobs;
  for (uint32_t high = trace->n_jobs; begin < high;) {
    uint32_t middle = begin + (high - begin) / 2;
    if (trace->submit_us[middle] < from_us)
      begin = middle + 1;
    else
      high = middle;
  }
  for (uint32_t low = begin; low < end;) {
    uint32_t middle = low + (end - low) / 2;
    if (trace->submit_us[middle] < to_us)
      low = middle + 1;
    else
      end = middle;
  }
  *first = begin;
  return end - begin;
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

/* ---- Gaps -------------------------------------------------------------------------------------------- */

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

/* Returns the gap in which the most jobs were expected. `*count`, which must be 0, is set to the number of gaps to
   report. */
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

/* ---- End: cut jobs ----------------------------------------------------------------------------------- */

static int64_t begin_us(const struct hr_trace *trace, uint32_t job) {
  int64_t start_us = trace->recorded_start_us ? trace->recorded_start_us[job] : HR_UNKNOWN_US;
  return start_us >= 0 ? start_us : trace->submit_us[job];
}

/* Reports jobs that were cut at the end of the trace. They are detected because more jobs end in its last second than
   is likely by chance. */
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
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], when[HR__NUMBER_BYTES];
  hr__check_add(checker, HR_FINDING_CUT_AT_END, HR_SEVERITY_WARNING,
                &(struct hr__check_subject){.count = count, .of = checker->n_work, .job = first},
                "%s jobs (%s) end at the last instant of the trace, %s after the first submit",
                hr__count_text(count, text), hr__check_share_text((double)count / checker->n_work, of),
                hr__duration_text(hr__seconds(end_us), when));
}

/* ---- End: missing jobs ------------------------------------------------------------------------------- */

/* Starts and ends of jobs, sorted separately. */
struct marks {
  struct hr__job_value *begin, *end; /* ascending */
  uint32_t n;
};

static bool gather(const struct hr__check_state *checker, struct marks *marks) {
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

static uint32_t count_until(const struct hr__job_value *times, uint32_t count, int64_t time_us) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (times[middle].key <= time_us)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static uint32_t active_at(const struct marks *marks, int64_t time_us) {
  return count_until(marks->begin, marks->n, time_us) - count_until(marks->end, marks->n, time_us);
}

/* Reports that jobs which were still running at the end are missing from the trace. First, the minimum number of
   running jobs is computed over 500 times, evenly spaced from 50 % to 90 % of the trace. Jobs are assumed to be
   missing if fewer than a quarter of this minimum run at the last submit. */
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
  if (gather(checker, &marks))
    check_missing(checker, &marks);
  else
    checker->out_of_memory = true;
  free(marks.begin);
  free(marks.end);
}

/* ---- All parts ---------------------------------------------------------------------------------------- */

void hr__check_arrivals(struct hr__check_state *checker) {
  static void (*const parts[])(struct hr__check_state *) = {check_arrivals_part, check_gaps_part, check_clock_part,
                                                            check_end_part};
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !checker->out_of_memory; i++) parts[i](checker);
}
