/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run times: cut at a bound, all the same, rounded, none at all, too long to be true. */

#include "report/text.h"
#include "workload/checking.h"

#include <stdlib.h>

#define LONGEST_US (365 * HR__DAY_US)

/* ---- Their column, in order ------------------------------------------------------------------------- */

static bool order_run_times(struct hr__checker *checker) {
  const struct hr_trace *trace = checker->trace;
  checker->work = malloc(((size_t)checker->n + 1) * sizeof *checker->work);
  if (!checker->work) return false;
  for (uint32_t i = 0; i < checker->n; i++)
    if (trace->work_us[i] > 0 && !hr__is_service(trace, i))
      checker->work[checker->n_work++] = (struct hr__pair){trace->work_us[i], i};
  return hr__pairs_sort(checker->work, checker->n_work);
}

static bool find_grain(struct hr__checker *checker) {
  int64_t *values = malloc(((size_t)checker->n_work + 1) * sizeof *values);
  if (!values) return false;
  for (uint32_t i = 0; i < checker->n_work; i++) values[i] = checker->work[i].key;
  checker->work_grain_us = hr__grain_us(values, checker->n_work, 0);
  free(values);
  return true;
}

/* ---- Cut ---------------------------------------------------------------------------------------------- */

/* Where values [begin, end) fall into. */
static uint32_t count_below(const struct hr__pair *values, uint32_t count, int64_t key) {
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

/* How many jobs share a run time on average, of those from 4/5 of the bound up to it. */
static double crowd_below(const struct hr__pair *values, uint32_t begin, uint32_t *neighbours) {
  uint32_t from = count_below(values, begin, values[begin].key / 5 * 4), distinct = 0;
  *neighbours = begin - from;
  for (uint32_t i = from; i < begin; i++) distinct += i == from || values[i].key != values[i - 1].key;
  return distinct ? (double)*neighbours / distinct : 0;
}

/* Of the longest 2 of 100 the run time that most have: a heap, at least ten times as many as share one below it, with
   hardly any job beyond, and a tail that leads up to it. */
static void check_clamp(struct hr__checker *checker) {
  enum { LEAST = 10, TIMES = 10, LEAST_NEIGHBOURS = 3 };
  const struct hr__pair *work = checker->work;
  uint32_t n = checker->n_work, begin, neighbours;
  if (n < LEAST) return;
  uint32_t count = hr__most_frequent(work, n, n - n / 50 - 1, &begin), beyond = n - begin - count;
  double crowd = crowd_below(work, begin, &neighbours);
  bool cut = count >= LEAST && count >= TIMES * crowd && neighbours >= LEAST_NEIGHBOURS && beyond <= n / 200;
  if (!cut || count > n / 2) return;
  checker->clamp_us = work[begin].key;
  double share = (double)count / n;
  char text[HR__NUMBER_BYTES], bound[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], last[HR__NUMBER_BYTES];
  hr__find(checker, HR_FINDING_CLAMPED_RUN_TIMES, share >= 0.01 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
           &(struct hr__where){.count = count, .of = n, .job = hr__first_job(work + begin, count)},
           "%s jobs (%s) ran for exactly %s, and %s ran longer; in the fifth below it the mean number of jobs of a run "
           "time is %.3g",
           hr__count_text(count, text), hr__share_text(share, of),
           hr__duration_text(hr__seconds(work[begin].key), bound), beyond ? hr__count_text(beyond, last) : "none",
           crowd);
}

/* ---- All the same, or rounded ------------------------------------------------------------------------- */

/* A few hundred that are alike may be made by hand. */
static void check_constant(struct hr__checker *checker) {
  enum { LEAST = 20, MANY = 500 };
  uint32_t n = checker->n_work, begin, count = n >= LEAST ? hr__most_frequent(checker->work, n, 0, &begin) : 0;
  checker->constant = n >= LEAST && count >= n - n / 10;
  if (!checker->constant) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], value[HR__NUMBER_BYTES];
  hr__find(checker, HR_FINDING_CONSTANT_RUN_TIMES, n >= MANY ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
           &(struct hr__where){.count = count, .of = n, .job = hr__first_job(checker->work + begin, count)},
           "%s jobs (%s) ran for exactly %s", hr__count_text(count, text), hr__share_text((double)count / n, of),
           hr__duration_text(hr__seconds(checker->work[begin].key), value));
}

static uint32_t count_distinct(const struct hr__pair *values, uint32_t count) {
  uint32_t distinct = count > 0;
  for (uint32_t i = 1; i < count; i++) distinct += values[i].key != values[i - 1].key;
  return distinct;
}

/* A step matters where it is not small against the median. */
static void check_rounded(struct hr__checker *checker) {
  enum { LEAST = 50, LEAST_DISTINCT = 5, SMALL = 20 };
  uint32_t n = checker->n_work;
  int64_t grain_us = checker->work_grain_us;
  if (n < LEAST || grain_us < HR__MINUTE_US || count_distinct(checker->work, n) < LEAST_DISTINCT) return;
  int64_t median_us = checker->work[n / 2].key;
  char step[HR__NUMBER_BYTES], median[HR__NUMBER_BYTES];
  bool matters = median_us < SMALL * grain_us;
  hr__find(checker, HR_FINDING_ROUNDED_RUN_TIMES, matters ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
           &(struct hr__where){.count = n, .of = n, .job = HR_NONE},
           "run times are multiples of %s; their median is %s", hr__duration_text(hr__seconds(grain_us), step),
           hr__duration_text(hr__seconds(median_us), median));
}

/* ---- None, tiny, endless ------------------------------------------------------------------------------ */

static void tell_count(struct hr__checker *checker, enum hr_finding_code code, double warn_from, uint32_t count,
                       uint32_t first, const char *what) {
  double share = (double)count / checker->n;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  if (!count) return;
  hr__find(checker, code, share >= warn_from ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
           &(struct hr__where){.count = count, .of = checker->n, .job = first}, "%s job%s (%s) %s",
           hr__count_text(count, text), hr__plural(count), hr__share_text(share, of), what);
}

/* Cancelled jobs that did not run are told of with the outcomes. */
static void check_extremes(struct hr__checker *checker) {
  const struct hr_trace *trace = checker->trace;
  uint32_t zero = 0, first_zero = HR_NONE, tiny = 0, first_tiny = HR_NONE, endless = 0, first_endless = HR_NONE;
  for (uint32_t i = 0; i < checker->n; i++) {
    int64_t work_us = trace->work_us[i];
    bool cancelled = trace->outcome && trace->outcome[i] == HR_OUTCOME_CANCELLED;
    if (work_us == 0 && !cancelled && zero++ == 0) first_zero = i;
    if (work_us > 0 && work_us < HR_SECOND_US && !hr__is_service(trace, i) && tiny++ == 0) first_tiny = i;
    if (work_us > LONGEST_US && endless++ == 0) first_endless = i;
  }
  tell_count(checker, HR_FINDING_ZERO_RUN_TIMES, 0.001, zero, first_zero, "took no time without being cancelled");
  tell_count(checker, HR_FINDING_TINY_RUN_TIMES, 0.1, tiny, first_tiny, "ran for less than a second");
  tell_count(checker, HR_FINDING_LONG_RUN_TIMES, 0, endless, first_endless, "ran for more than a year");
}

void hr__check_run_times(struct hr__checker *checker) {
  if (!order_run_times(checker) || !find_grain(checker)) {
    checker->out_of_memory = true;
    return;
  }
  check_constant(checker);
  if (!checker->constant) check_clamp(checker);
  check_rounded(checker);
  check_extremes(checker);
}
