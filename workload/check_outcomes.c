/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How jobs ended: failures after one and the same time, more failures than not, cancellations of what never ran. */

#include "report/text.h"
#include "workload/checking.h"

#include <stdlib.h>

/* Outcomes by kind; which failed, with their run times; the first that was cancelled without having run. */
struct outcomes {
  uint32_t count[HR_N_OUTCOMES], unrun, first_unrun;
  struct hr__pair *failed;
};

static bool gather(const struct hr__checker *checker, struct outcomes *outcomes) {
  const struct hr_trace *trace = checker->trace;
  *outcomes = (struct outcomes){0};
  outcomes->failed = malloc(((size_t)checker->n + 1) * sizeof *outcomes->failed);
  if (!outcomes->failed) return false;
  for (uint32_t i = 0; i < checker->n; i++) {
    uint8_t outcome = trace->outcome[i];
    if (outcome == HR_OUTCOME_FAILED)
      outcomes->failed[outcomes->count[HR_OUTCOME_FAILED]] = (struct hr__pair){trace->work_us[i], i};
    if (outcome == HR_OUTCOME_CANCELLED && trace->work_us[i] == 0 && outcomes->unrun++ == 0) outcomes->first_unrun = i;
    outcomes->count[outcome]++;
  }
  return hr__pairs_sort(outcomes->failed, outcomes->count[HR_OUTCOME_FAILED]);
}

/* Failures at once are alike by nature: those of a minute and more are looked at. */
static void check_alike(struct hr__checker *checker, const struct outcomes *outcomes) {
  enum { LEAST = 20 };
  uint32_t n = outcomes->count[HR_OUTCOME_FAILED], from = 0, begin;
  while (from < n && outcomes->failed[from].key < HR__MINUTE_US) from++;
  uint32_t long_ones = n - from, count = long_ones < LEAST ? 0 : hr__most_frequent(outcomes->failed, n, from, &begin);
  if (count < LEAST || count < long_ones / 4 || checker->constant) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], time[HR__NUMBER_BYTES];
  hr__find(checker, HR_FINDING_FAILURES_ALIKE, HR_SEVERITY_WARNING,
           &(struct hr__where){.count = count, .of = long_ones, .job = hr__first_job(outcomes->failed + begin, count)},
           "%s jobs (%s of the failures after a minute and more) failed after exactly %s", hr__count_text(count, text),
           hr__share_text((double)count / long_ones, of),
           hr__duration_text(hr__seconds(outcomes->failed[begin].key), time));
}

static void check_most(struct hr__checker *checker, const struct outcomes *outcomes) {
  enum { LEAST = 20 };
  uint32_t failed = outcomes->count[HR_OUTCOME_FAILED], known = checker->n - outcomes->count[HR_OUTCOME_UNKNOWN];
  if (failed < LEAST || failed <= known / 2 || known <= checker->n / 2) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__find(checker, HR_FINDING_MOSTLY_FAILED, HR_SEVERITY_NOTE,
           &(struct hr__where){.count = failed, .of = known, .job = hr__first_job(outcomes->failed, failed)},
           "%s jobs (%s) failed", hr__count_text(failed, text), hr__share_text((double)failed / known, of));
}

static void check_unrun(struct hr__checker *checker, const struct outcomes *outcomes) {
  if (!outcomes->unrun) return;
  double share = (double)outcomes->unrun / checker->n;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__find(checker, HR_FINDING_CANCELLED_UNRUN, share >= 0.01 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
           &(struct hr__where){.count = outcomes->unrun, .of = checker->n, .job = outcomes->first_unrun},
           "%s job%s (%s) %s cancelled without having run", hr__count_text(outcomes->unrun, text),
           hr__plural(outcomes->unrun), hr__share_text(share, of), outcomes->unrun == 1 ? "was" : "were");
}

void hr__check_outcomes(struct hr__checker *checker) {
  struct outcomes outcomes;
  if (!checker->trace->outcome) return;
  if (gather(checker, &outcomes)) {
    check_alike(checker, &outcomes);
    check_most(checker, &outcomes);
    check_unrun(checker, &outcomes);
  } else {
    checker->out_of_memory = true;
  }
  free(outcomes.failed);
}
