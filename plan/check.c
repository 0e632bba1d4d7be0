/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runs of a suite, each a task of a pool of threads. A run leaves what it found at a place of its own, so that
   nothing depends on which ends first. */

#include "plan/checking.h"
#include "plan/pool.h"
#include "plan/teller.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct task_list {
  struct hr_check *check;
  struct hr__progress_sum sum;
};

static enum hr_status run_task(void *self, size_t task, struct hr_error *error) {
  struct task_list *list = self;
  struct hr__check_case *item = &list->check->cases[task];
  struct hr__teller teller = {.sum = &list->sum};
  struct hr_error inner = {0};
  if (!item->run) return HR_OK;
  enum hr_status status = hr__check_run(list->check, item, hr__teller_progress(&teller), &inner);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "run '%.200s': %s", item->name, inner.text);
}

static enum hr_status run_all(struct hr_check *check, struct hr_error *error) {
  struct task_list list = {.check = check};
  const struct hr__tasks tasks = {.self = &list, .run = run_task, .count = check->n_cases};
  uint64_t jobs = 0;
  for (size_t i = 0; i < check->n_cases; i++)
    if (check->cases[i].run) jobs += check->traces[check->cases[i].trace].trace->n_jobs;
  hr__progress_sum_init(&list.sum, &check->config.progress, jobs);
  enum hr_status status = hr__pool_run(&tasks, check->config.n_threads, error);
  hr__progress_sum_finish(&list.sum);
  return status;
}

/* A tolerance that names a class or tenant which no run has would never be noticed. */
static bool is_of_use(const struct hr_check *check, const struct hr_suite_run *run,
                      const struct hr_tolerance *tolerance) {
  for (size_t i = 0; i < check->n_cases; i++) {
    const struct hr__check_case *item = &check->cases[i];
    if (!item->run || (run && item->run != run)) continue;
    for (size_t k = 0; k < item->now.n_figures; k++)
      if (hr__tolerance_names(tolerance, &item->now.figures[k], true)) return true;
    for (size_t k = 0; item->before && k < item->before->n_figures; k++)
      if (hr__tolerance_names(tolerance, &item->before->figures[k], true)) return true;
  }
  return false;
}

static enum hr_status check_use(const struct hr_check *check, const struct hr_suite_run *run,
                                const struct hr_tolerances *tolerances, struct hr_error *error) {
  for (size_t i = 0; i < tolerances->count; i++)
    if (!is_of_use(check, run, &tolerances->at[i]))
      return hr_fail(error, HR_BAD_INPUT, "%s'%.200s' is a figure of none of the runs that it is for",
                     tolerances->at[i].figure.place, tolerances->at[i].figure.text);
  return HR_OK;
}

static enum hr_status check_uses(const struct hr_check *check, struct hr_error *error) {
  const struct hr_suite *suite = check->config.suite;
  enum hr_status status = check_use(check, NULL, &suite->tolerances, error);
  for (size_t i = 0; i < suite->n_runs && status == HR_OK; i++)
    status = check_use(check, &suite->runs[i], &suite->runs[i].tolerances, error);
  return status;
}

static enum hr_status note(struct hr_check *check, struct hr_error *error) {
  const struct hr_baseline *baseline = check->config.baseline;
  enum hr_status status = HR_OK;
  if (baseline && strcmp(baseline->version, hr_version()) != 0)
    status = hr_notes_add(&check->notes, "the baseline was written by headroom %.100s; this is %s", baseline->version,
                          hr_version());
  for (size_t i = 0; i < check->n_traces && status == HR_OK; i++) {
    const struct hr_trace *trace = check->traces[i].trace;
    if (trace->n_skipped)
      status = hr_notes_add(&check->notes, "%s: %" PRIu64 " row%s left out, as it is read leniently", trace->source,
                            trace->n_skipped, trace->n_skipped == 1 ? "" : "s");
  }
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

const struct hr_notes *hr_check_notes(const struct hr_check *check) {
  return &check->notes;
}

enum hr_status hr_check(const struct hr_check_config *config, struct hr_check **check, struct hr_error *error) {
  *check = NULL;
  struct hr_check *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return hr_fail(error, HR_NO_MEMORY, "out of memory for the check");
  fresh->config = *config;
  enum hr_status status = hr__check_prepare(fresh, error);
  if (status == HR_OK) status = run_all(fresh, error);
  if (status == HR_OK) status = check_uses(fresh, error);
  if (status == HR_OK) status = note(fresh, error);
  if (status == HR_OK)
    *check = fresh;
  else
    hr_check_destroy(fresh);
  return status;
}

void hr_check_destroy(struct hr_check *check) {
  if (!check) return;
  for (size_t i = 0; i < check->n_cases; i++) hr__check_case_finish(&check->cases[i]);
  for (size_t i = 0; i < check->n_traces; i++) {
    hr_trace_destroy(check->traces[i].trace);
    free(check->traces[i].key);
    free(check->traces[i].path);
  }
  free(check->cases);
  free(check->traces);
  hr_notes_finish(&check->notes);
  free(check);
}

size_t hr_check_failures(const struct hr_check *check) {
  size_t failures = 0;
  for (size_t i = 0; i < check->n_cases; i++) failures += hr__case_failed(&check->cases[i]);
  return failures;
}

size_t hr_check_runs(const struct hr_check *check) {
  return check->n_cases;
}

bool hr_check_passed(const struct hr_check *check) {
  return hr_check_failures(check) == 0;
}
