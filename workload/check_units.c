/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units that cannot be what they are read as: milliseconds for seconds, or the other way round. */

#include "report/text.h"
#include "workload/checking.h"

#define YEAR_2100_S INT64_C(4102444800)
enum { LEAST_JOBS = 20, LEAST_FOR_OVERLAP = 100, LONG_MEDIAN_DAYS = 3 };

static void check_median(struct hr__checker *checker) {
  if (checker->n_work < LEAST_JOBS) return;
  int64_t median_us = checker->work[checker->n_work / 2].key;
  const struct hr__where where = {.count = checker->n_work, .of = checker->n, .job = HR_NONE, .subject = "duration"};
  char text[HR__NUMBER_BYTES];
  hr__duration_text(hr__seconds(median_us), text);
  if (median_us < HR_SECOND_US)
    hr__find(checker, HR_FINDING_SUSPICIOUS_UNITS, HR_SEVERITY_WARNING, &where,
             "half of the jobs run for less than %s: are run times in minutes or hours taken for seconds?", text);
  if (median_us > LONG_MEDIAN_DAYS * HR__DAY_US)
    hr__find(checker, HR_FINDING_SUSPICIOUS_UNITS, HR_SEVERITY_WARNING, &where,
             "half of the jobs run for %s or more: are run times in milliseconds taken for seconds?", text);
}

/* Plain numbers beyond what dates are as seconds since 1970. */
static void check_epoch(struct hr__checker *checker) {
  const struct hr_trace *trace = checker->trace;
  int64_t first_s = trace->origin_us / HR_SECOND_US;
  char text[HR__NUMBER_BYTES];
  if (trace->dated || first_s < YEAR_2100_S) return;
  hr__find(checker, HR_FINDING_SUSPICIOUS_UNITS, HR_SEVERITY_WARNING,
           &(struct hr__where){.count = checker->n, .of = checker->n, .job = 0, .subject = "submit"},
           "the first submit is %s s, after the year 2100 if it counts from 1970: are submits in another unit?",
           hr__count_text((uint64_t)first_s, text));
}

/* On a cluster that is worth a trace, jobs overlap. */
static void check_overlap(struct hr__checker *checker) {
  const struct hr_trace *trace = checker->trace;
  double busy_s = 0, span_s = hr__seconds(checker->span_us);
  if (checker->n < LEAST_FOR_OVERLAP || checker->span_us == 0) return;
  for (uint32_t i = 0; i < checker->n; i++) busy_s += hr__seconds(trace->work_us[i]);
  if (busy_s >= 0.05 * span_s) return;
  hr__find(
      checker, HR_FINDING_SUSPICIOUS_UNITS, HR_SEVERITY_WARNING,
      &(struct hr__where){.count = checker->n, .of = checker->n, .job = HR_NONE, .subject = "submit"},
      "%.2g jobs run at a time on average: are submits in milliseconds, or run times in minutes or hours, taken for "
      "seconds?",
      busy_s / span_s);
}

void hr__check_units(struct hr__checker *checker) {
  check_median(checker);
  check_epoch(checker);
  check_overlap(checker);
}
