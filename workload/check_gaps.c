/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The longest time without a job against what the hours in it bring elsewhere: by the hour of the week where the trace
 * has three weeks, else by the hour of the day, and then only what no weekend explains. Rates are those of the weeks
 * around the gap, as work grows and shrinks over months.
 */

#include "report/text.h"
#include "workload/checking.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WEEK_HOURS = 168, DAY_HOURS = 24, WEEKS_FOR_DAYS = 3, MOST_HOURS = 2000000 };
enum { LEAST_GAP_H = 12, LEAST_GAP_ANY_DAY_H = 72, LEAST_EXPECTED = 40 };

struct hours {
  uint32_t n, period;      /* hours of the trace; of the cycle */
  uint32_t *jobs;          /* [n] */
  double rate[WEEK_HOURS]; /* jobs an hour, by its place in the cycle */
};

static bool count_hours(const struct hr__checker *checker, struct hours *hours) {
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

/* Jobs that the cycle lets expect in [begin, end) hours. */
static double expect(const struct hours *hours, double begin, double end) {
  double sum = 0;
  for (uint32_t hour = (uint32_t)begin; hour < end; hour++) {
    double part = fmin(end, hour + 1.0) - fmax(begin, hour);
    sum += part * hours->rate[hour % hours->period];
  }
  return sum;
}

/* What came in the week before and the week after, against what the cycle lets expect there; not more than 1. */
static double level_around(const struct hours *hours, double begin, double end) {
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

struct gap {
  uint32_t job; /* that ends it */
  double expected;
};

/* The one in which the most jobs are missing; `count`: how many are suspicious. */
static struct gap worst_gap(const struct hr__checker *checker, const struct hours *hours, uint32_t *count) {
  const int64_t *submit_us = checker->trace->submit_us;
  int64_t least_us = (hours->period == WEEK_HOURS ? LEAST_GAP_H : LEAST_GAP_ANY_DAY_H) * HR__HOUR_US;
  struct gap worst = {HR_NONE, 0};
  for (uint32_t i = 1; i < checker->n; i++) {
    if (submit_us[i] - submit_us[i - 1] < least_us) continue;
    double begin = (double)submit_us[i - 1] / (double)HR__HOUR_US, end = (double)submit_us[i] / (double)HR__HOUR_US;
    double expected = expect(hours, begin, end) * level_around(hours, begin, end);
    if (expected < LEAST_EXPECTED) continue;
    ++*count;
    if (expected > worst.expected) worst = (struct gap){i, expected};
  }
  return worst;
}

void hr__check_gaps(struct hr__checker *checker) {
  enum { LEAST_DAYS = 4 };
  struct hours hours;
  uint32_t count = 0;
  if (checker->span_us < LEAST_DAYS * HR__DAY_US || checker->span_us / HR__HOUR_US > MOST_HOURS) return;
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
  hr__find(checker, HR_FINDING_GAP, HR_SEVERITY_WARNING,
           &(struct hr__where){.count = count, .of = checker->n - 1, .job = gap.job},
           "no job for %s, from %s after the first on, where about %s would have come%s",
           hr__duration_text(hr__seconds(submit_us[gap.job] - submit_us[gap.job - 1]), length),
           hr__duration_text(hr__seconds(submit_us[gap.job - 1]), begin),
           hr__count_text((uint64_t)gap.expected, expected), more);
}
