/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the trace ends: jobs cut at its last instant, or left out as they had not ended. */

#include "report/text.h"
#include "workload/checking.h"

#include <stdlib.h>

/* ---- Cut ---------------------------------------------------------------------------------------------- */

static int64_t begin_us(const struct hr_trace *trace, uint32_t job) {
  int64_t start_us = trace->recorded_start_us ? trace->recorded_start_us[job] : HR_UNKNOWN_US;
  return start_us >= 0 ? start_us : trace->submit_us[job];
}

/* More than chance lets end within the last second of all. */
static void check_cut(struct hr__checker *checker) {
  enum { LEAST = 10, SHARE = 500 };
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
  if (count < LEAST || count < checker->n_work / SHARE) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], when[HR__NUMBER_BYTES];
  hr__find(checker, HR_FINDING_CUT_AT_END, HR_SEVERITY_WARNING,
           &(struct hr__where){.count = count, .of = checker->n_work, .job = first},
           "%s jobs (%s) end at the last instant of the trace, %s after the first submit", hr__count_text(count, text),
           hr__share_text((double)count / checker->n_work, of), hr__duration_text(hr__seconds(end_us), when));
}

/* ---- Left out ----------------------------------------------------------------------------------------- */

struct marks {
  struct hr__pair *begin, *end; /* rising */
  uint32_t n;
};

static bool gather(const struct hr__checker *checker, struct marks *marks) {
  marks->begin = malloc(((size_t)checker->n_work + 1) * sizeof *marks->begin);
  marks->end = malloc(((size_t)checker->n_work + 1) * sizeof *marks->end);
  marks->n = checker->n_work;
  if (!marks->begin || !marks->end) return false;
  for (uint32_t k = 0; k < checker->n_work; k++) {
    uint32_t job = (uint32_t)checker->work[k].value;
    int64_t from_us = begin_us(checker->trace, job);
    marks->begin[k] = (struct hr__pair){from_us, job};
    marks->end[k] = (struct hr__pair){from_us + checker->work[k].key, job};
  }
  return hr__pairs_sort(marks->begin, marks->n) && hr__pairs_sort(marks->end, marks->n);
}

static uint32_t count_until(const struct hr__pair *times, uint32_t count, int64_t time_us) {
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

/* At the last submit hardly any job is under way, where there were always many: those that were are not in the trace.
   Each hour (or 500th) of the second half of the trace is asked, but for its last tenth. */
static void check_missing(struct hr__checker *checker, const struct marks *marks) {
  enum { SAMPLES = 500, LEAST = 20, TIMES = 4 };
  int64_t last_us = checker->trace->submit_us[checker->n - 1], half_us = checker->span_us / 2;
  uint32_t least = UINT32_MAX, last = active_at(marks, last_us);
  for (int64_t i = 0; i < SAMPLES; i++) {
    uint32_t active = active_at(marks, half_us + checker->span_us / 10 * 4 / SAMPLES * i);
    if (active < least) least = active;
  }
  if (least < LEAST || last >= least / TIMES) return;
  char now[HR__NUMBER_BYTES], then[HR__NUMBER_BYTES];
  hr__find(checker, HR_FINDING_UNFINISHED_MISSING, HR_SEVERITY_WARNING,
           &(struct hr__where){.count = least - last, .of = checker->n_work, .job = HR_NONE},
           "%s job%s under way at the last submit, where there were never fewer than %s before",
           hr__count_text(last, now), last == 1 ? " is" : "s are", hr__count_text(least, then));
}

void hr__check_end(struct hr__checker *checker) {
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
