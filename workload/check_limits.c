/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits against run times, and deadlines. */

#include "report/text.h"
#include "workload/checking.h"

#include <stdio.h>
#include <stdlib.h>

enum { LEAST_JOBS = 20, GRACE_S = 60 };

struct limits {
  uint32_t known, beyond, first_beyond;
  struct hr__pair *ratio; /* limit over run time in millionths, rising, with their jobs */
  struct hr__pair *limit; /* rising, likewise */
  uint32_t n_ratios;
};

/* What a scheduler takes to kill a job is no fault. */
static bool is_beyond(int64_t work_us, int64_t limit_us) {
  return work_us > limit_us + limit_us / 100 + GRACE_S * HR_SECOND_US;
}

static bool gather(const struct hr__checker *checker, struct limits *limits) {
  const struct hr_trace *trace = checker->trace;
  *limits = (struct limits){.first_beyond = HR_NONE};
  limits->ratio = malloc(((size_t)checker->n + 1) * sizeof *limits->ratio);
  limits->limit = malloc(((size_t)checker->n + 1) * sizeof *limits->limit);
  if (!limits->ratio || !limits->limit) return false;
  for (uint32_t i = 0; i < checker->n; i++) {
    int64_t limit_us = trace->limit_us[i], work_us = trace->work_us[i];
    if (limit_us < 0) continue;
    limits->limit[limits->known++] = (struct hr__pair){limit_us, i};
    if (is_beyond(work_us, limit_us) && limits->beyond++ == 0) limits->first_beyond = i;
    if (work_us >= HR__MINUTE_US)
      limits->ratio[limits->n_ratios++] = (struct hr__pair){(int64_t)(1e6 * (double)limit_us / (double)work_us), i};
  }
  return hr__pairs_sort(limits->ratio, limits->n_ratios) && hr__pairs_sort(limits->limit, limits->known);
}

/* ---- Limits ------------------------------------------------------------------------------------------- */

/* Nine of ten limits are the same multiple of the run time, to a thousandth. */
static void check_ratio(struct hr__checker *checker, const struct limits *limits) {
  uint32_t n = limits->n_ratios;
  if (n < LEAST_JOBS) return;
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
  hr__find(checker, HR_FINDING_LIMITS_ARE_RUN_TIMES, HR_SEVERITY_WARNING,
           &(struct hr__where){.count = same, .of = n, .job = first}, "of %s jobs (%s) the limit is %s",
           hr__count_text(same, text), hr__share_text((double)same / n, of), multiple);
}

static void check_beyond(struct hr__checker *checker, const struct limits *limits) {
  if (!limits->beyond) return;
  double share = (double)limits->beyond / limits->known;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__find(checker, HR_FINDING_BEYOND_LIMIT, share >= 0.01 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
           &(struct hr__where){.count = limits->beyond, .of = limits->known, .job = limits->first_beyond},
           "%s job%s (%s of those with limits) ran longer than the limit, by more than %d s and 1 %%",
           hr__count_text(limits->beyond, text), hr__plural(limits->beyond), hr__share_text(share, of), GRACE_S);
}

static void check_one(struct hr__checker *checker, const struct limits *limits) {
  uint32_t begin, count = limits->known < LEAST_JOBS ? 0 : hr__most_frequent(limits->limit, limits->known, 0, &begin);
  if (limits->known < LEAST_JOBS || count < limits->known / 2) return;
  double share = (double)count / limits->known;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], value[HR__NUMBER_BYTES];
  hr__find(checker, HR_FINDING_ONE_LIMIT, share >= 0.9 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
           &(struct hr__where){.count = count, .of = limits->known, .job = hr__first_job(limits->limit + begin, count)},
           "%s jobs (%s of those with limits) have the limit %s", hr__count_text(count, text),
           hr__share_text(share, of), hr__duration_text(hr__seconds(limits->limit[begin].key), value));
}

/* ---- Deadlines ---------------------------------------------------------------------------------------- */

static void check_deadlines(struct hr__checker *checker) {
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
  hr__find(checker, HR_FINDING_IMPOSSIBLE_DEADLINES, share >= 0.01 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
           &(struct hr__where){.count = late, .of = known, .job = first},
           "%s job%s (%s of those with deadlines) cannot be done in time even without a wait",
           hr__count_text(late, text), hr__plural(late), hr__share_text(share, of));
}

void hr__check_limits(struct hr__checker *checker) {
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
