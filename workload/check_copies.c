/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that are copies of others. The same row under another id is told at once. The same run time of the same user is
 * more often chance than it seems, where times are whole seconds: so it is held against how often a job has a twin that
 * runs one step longer, which chance makes just as often, and copying does not.
 */

#include "report/text.h"
#include "workload/checking.h"

enum { LEAST_JOBS = 50, LEAST_DISTINCT = 50, LEAST_RUN_S = 600, MOST_ASKED = 200000 };

/* Long enough to be told from others, and not ended by a bound that many ran into. */
static bool counts(const struct hr__checker *checker, uint32_t job) {
  const struct hr_trace *trace = checker->trace;
  int64_t work_us = trace->work_us[job];
  return work_us >= LEAST_RUN_S * HR_SECOND_US && work_us != checker->clamp_us && work_us != hr__limit_of(trace, job) &&
         !hr__is_service(trace, job);
}

static uint64_t hash_of(const struct hr_trace *trace, uint32_t job, int64_t work_us) {
  uint64_t hash = hr__hash_more(1, (uint64_t)work_us);
  hash = hr__hash_more(hash, hr_trace_gpus_milli(trace, (hr_job){job}));
  hash = hr__hash_more(hash, trace->user ? trace->user[job] : 0);
  hash = hr__hash_more(hash, trace->tenant ? trace->tenant[job] : 0);
  hash = hr__hash_more(hash, trace->model ? trace->model[job] : 0);
  return hr__hash_more(hash, trace->gpu_types ? trace->gpu_types[job] : 0);
}

struct copies {
  uint32_t of, rows, first_row, jobs, first_job; /* looked at; same rows; same jobs, whenever they come */
};

static bool count_copies(const struct hr__checker *checker, struct hr__hash_set *jobs, struct copies *copies) {
  const struct hr_trace *trace = checker->trace;
  struct hr__hash_set rows;
  if (!hr__hash_set_init(&rows, checker->n)) return false;
  for (uint32_t i = 0; i < checker->n; i++) {
    if (!counts(checker, i)) continue;
    uint64_t hash = hash_of(trace, i, trace->work_us[i]);
    bool same_row = !hr__hash_set_add(&rows, hr__hash_more(hash, (uint64_t)trace->submit_us[i]));
    bool same_job = !hr__hash_set_add(jobs, hash);
    copies->of++;
    if (same_row && copies->rows++ == 0) copies->first_row = i;
    if (same_job && !same_row && copies->jobs++ == 0) copies->first_job = i;
  }
  hr__hash_set_finish(&rows);
  return true;
}

/* The share of jobs, of some all over the trace, that have a twin one step longer. */
static double share_by_chance(const struct hr__checker *checker, const struct hr__hash_set *jobs) {
  const struct hr_trace *trace = checker->trace;
  uint32_t asked = 0, twins = 0;
  for (uint32_t i = 0; i < checker->n; i += checker->n / MOST_ASKED + 1) {
    if (!counts(checker, i)) continue;
    asked++;
    twins += hr__hash_set_has(jobs, hash_of(trace, i, trace->work_us[i] + checker->work_grain_us));
  }
  return asked ? (double)twins / asked : 0;
}

/* What else of a copy is the same and worth telling. */
static const char *told_with_run_time(const struct hr_trace *trace) {
  return trace->user ? ", GPUs and user" : " and GPUs";
}

static void tell_rows(struct hr__checker *checker, const struct copies *copies) {
  enum { LEAST = 5 };
  double share = copies->of ? (double)copies->rows / copies->of : 0;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  if (!copies->rows) return;
  hr__find(checker, HR_FINDING_DUPLICATE_ROWS,
           share >= 0.1 && copies->rows >= LEAST ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
           &(struct hr__where){.count = copies->rows, .of = copies->of, .job = copies->first_row},
           "%s %s (%s of those of 10 min and more) %s submit, run time%s of another under an id of %s own",
           hr__count_text(copies->rows, text), hr__counted(copies->rows, "job", "jobs"), hr__share_text(share, of),
           hr__counted(copies->rows, "has", "have"), told_with_run_time(checker->trace),
           hr__counted(copies->rows, "its", "their"));
}

static void tell_jobs(struct hr__checker *checker, const struct copies *copies, double chance) {
  double share = (double)copies->jobs / copies->of;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], other[HR__SHARE_BYTES];
  if (copies->of - copies->jobs < LEAST_DISTINCT || share < 0.1 || share < 2 * chance) return;
  hr__find(checker, HR_FINDING_COPIED_JOBS, HR_SEVERITY_WARNING,
           &(struct hr__where){.count = copies->jobs, .of = copies->of, .job = copies->first_job},
           "%s jobs (%s of those of 10 min and more) have run time%s of an earlier one; by chance it would be some %s",
           hr__count_text(copies->jobs, text), hr__share_text(share, of), told_with_run_time(checker->trace),
           hr__share_text(chance, other));
}

void hr__check_copies(struct hr__checker *checker) {
  struct copies copies = {0};
  struct hr__hash_set jobs;
  if (checker->constant || checker->n < 2) return;
  if (!hr__hash_set_init(&jobs, checker->n)) {
    checker->out_of_memory = true;
    return;
  }
  if (count_copies(checker, &jobs, &copies)) {
    tell_rows(checker, &copies);
    if (copies.of >= LEAST_JOBS) tell_jobs(checker, &copies, share_by_chance(checker, &jobs));
  } else {
    checker->out_of_memory = true;
  }
  hr__hash_set_finish(&jobs);
}
