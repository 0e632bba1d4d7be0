/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When jobs come: all at once, many in an hour, at rounded times, over too short a time. */

#include "report/text.h"
#include "workload/checking.h"

#include <stdlib.h>

/* ---- At one instant ----------------------------------------------------------------------------------- */

/* The first submit does not count: a trace may begin with what was there already. */
static void check_instant(struct hr__checker *checker) {
  enum { LEAST = 20, SHARE = 20 };
  const struct hr_trace *trace = checker->trace;
  uint32_t most = 0, at = HR_NONE, total = 0;
  for (uint32_t i = 0; i < checker->n;) {
    uint32_t end = i, count = 0;
    for (; end < checker->n && trace->submit_us[end] == trace->submit_us[i]; end++)
      count += !hr__is_service(trace, end);
    if (trace->submit_us[i] > 0 && count > most) {
      most = count;
      at = i;
    }
    total += count;
    i = end;
  }
  if (most < LEAST || most < total / SHARE) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], when[HR__NUMBER_BYTES];
  hr__find(checker, HR_FINDING_BURST, HR_SEVERITY_WARNING, &(struct hr__where){.count = most, .of = total, .job = at},
           "%s jobs (%s) are submitted at one instant, %s after the first", hr__count_text(most, text),
           hr__share_text((double)most / total, of), hr__duration_text(hr__seconds(trace->submit_us[at]), when));
}

/* ---- In an hour --------------------------------------------------------------------------------------- */

/* The most jobs, services apart, that came within any hour, and the first of them. */
static uint32_t busiest_hour(const struct hr__checker *checker, uint32_t *first) {
  const struct hr_trace *trace = checker->trace;
  uint32_t from = 0, inside = 0, most = 0;
  for (uint32_t i = 0; i < checker->n; i++) {
    inside += !hr__is_service(trace, i);
    for (; trace->submit_us[i] - trace->submit_us[from] >= HR__HOUR_US; from++) inside -= !hr__is_service(trace, from);
    if (inside <= most) continue;
    most = inside;
    *first = from;
  }
  return most;
}

/* A tenth of what comes on days; far more than an hour of even the busiest time of day would bring. */
static void check_hour(struct hr__checker *checker) {
  enum { LEAST_DAYS = 3, LEAST = 50, SHARE = 10, TIMES = 20 };
  uint32_t first = 0, most = checker->span_us < LEAST_DAYS * HR__DAY_US ? 0 : busiest_hour(checker, &first);
  double mean = checker->span_us ? (double)checker->n * (double)HR__HOUR_US / (double)checker->span_us : 0;
  if (most < LEAST || most < checker->n / SHARE || most < TIMES * mean) return;
  if (checker->trace->submit_us[first] == 0) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], when[HR__NUMBER_BYTES];
  hr__find(checker, HR_FINDING_BURST, HR_SEVERITY_WARNING,
           &(struct hr__where){.count = most, .of = checker->n, .job = first},
           "%s jobs (%s) are submitted within an hour, %s after the first; %.3g come in an hour on average",
           hr__count_text(most, text), hr__share_text((double)most / checker->n, of),
           hr__duration_text(hr__seconds(checker->trace->submit_us[first]), when), mean);
}

/* ---- Rounded, short ----------------------------------------------------------------------------------- */

/* Distinct instants are what is rounded: a trace of few tells nothing. */
static void check_rounded(struct hr__checker *checker) {
  enum { LEAST = 50, LEAST_INSTANTS = 10 };
  const struct hr_trace *trace = checker->trace;
  uint32_t instants = 1;
  for (uint32_t i = 1; i < checker->n; i++) instants += trace->submit_us[i] != trace->submit_us[i - 1];
  int64_t grain_us = hr__grain_us(trace->submit_us, checker->n, trace->origin_us);
  if (checker->n < LEAST || instants < LEAST_INSTANTS || grain_us < HR__MINUTE_US) return;
  char step[HR__NUMBER_BYTES], text[HR__NUMBER_BYTES];
  hr__find(checker, HR_FINDING_ROUNDED_SUBMITS, grain_us < HR__DAY_US ? HR_SEVERITY_NOTE : HR_SEVERITY_WARNING,
           &(struct hr__where){.count = checker->n, .of = checker->n, .job = HR_NONE},
           "submits are multiples of %s: %s different ones", hr__duration_text(hr__seconds(grain_us), step),
           hr__count_text(instants, text));
}

static void check_short(struct hr__checker *checker) {
  enum { LEAST_JOBS = 100 };
  if (checker->n >= LEAST_JOBS && checker->span_us >= HR__DAY_US) return;
  char jobs[HR__NUMBER_BYTES], span[HR__NUMBER_BYTES];
  hr__find(checker, HR_FINDING_SHORT_TRACE, HR_SEVERITY_NOTE,
           &(struct hr__where){.count = checker->n, .of = checker->n, .job = HR_NONE}, "%s job%s, submitted over %s",
           hr__count_text(checker->n, jobs), hr__plural(checker->n),
           hr__duration_text(hr__seconds(checker->span_us), span));
}

void hr__check_arrivals(struct hr__checker *checker) {
  check_instant(checker);
  check_hour(checker);
  check_rounded(checker);
  check_short(checker);
}
