/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Clocks that were changed for summer time under dates without a zone: an hour of the night that no job was submitted
 * in, though many come in it on the days around, or that twice as many were as ever around. Looked at are the nights in
 * which the European Union (last Sundays of March and October) and the United States (second Sunday of March, first of
 * November) change clocks, 1:00 to 3:00.
 */

#include "report/text.h"
#include "workload/checking.h"

#include <stdio.h>
#include <stdlib.h>

enum { AROUND_DAYS = 14, LEAST_MEAN = 12, MOST_YEARS = 100 };

/* Days from 1970-01-01 to a day of the Gregorian calendar, by its rule of leap years. */
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

/* 0 for a Sunday; 1970-01-01 was a Thursday. */
static int weekday_of(int64_t days) {
  return (int)(((days + 4) % 7 + 7) % 7);
}

static int64_t first_sunday(int64_t year, int month) {
  int64_t day = days_of(year, month, 1);
  return day + (7 - weekday_of(day)) % 7;
}

/* Of a month of 31 days. */
static int64_t last_sunday(int64_t year, int month) {
  int64_t day = days_of(year, month, 31);
  return day - weekday_of(day);
}

/* Jobs submitted in an hour of a day of the trace's clock. */
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

/* Whether the day is inside the trace. */
static bool is_recorded(const struct hr__checker *checker, int64_t day) {
  int64_t from_us = day * HR__DAY_US - checker->trace->origin_us;
  return from_us >= 0 && from_us + HR__DAY_US <= checker->span_us;
}

static void check_night(struct hr__checker *checker, int64_t day, int hour, bool spring) {
  const struct hr_trace *trace = checker->trace;
  uint32_t first, other, most = 0, days = 0, sum = 0;
  if (!is_recorded(checker, day)) return;
  uint32_t count = count_hour(trace, day, hour, &first);
  for (int64_t i = day - AROUND_DAYS; i <= day + AROUND_DAYS; i++) {
    if (i == day || !is_recorded(checker, i)) continue;
    uint32_t jobs = count_hour(trace, i, hour, &other);
    sum += jobs;
    days++;
    if (jobs > most) most = jobs;
  }
  double mean = days ? (double)sum / days : 0;
  bool odd = spring ? count == 0 : count >= 1.7 * mean && count > 1.2 * most;
  if (!odd || days < AROUND_DAYS / 2 || mean < LEAST_MEAN || first >= checker->n) return;
  hr__find(checker, HR_FINDING_CLOCK_CHANGE, HR_SEVERITY_WARNING,
           &(struct hr__where){.count = 1, .of = 1, .job = first},
           "%u jobs are submitted from %d:00 to %d:00 in the night in which clocks are %s, %.3g on the days around",
           count, hour, hour + 1, spring ? "put forward" : "put back", mean);
}

void hr__check_clock(struct hr__checker *checker) {
  const struct hr_trace *trace = checker->trace;
  if (!trace->dated || checker->span_us > MOST_YEARS * 366 * HR__DAY_US || trace->origin_us < 0) return;
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
