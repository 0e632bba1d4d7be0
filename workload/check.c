/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A check of a trace: each part looks at one side of it and adds what it finds; at the end the findings are put in
 * order. Columns are looked at in one pass each, or sorted by radix, so a check costs about as much as reading the
 * trace.
 */

#include "workload/checking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Findings --------------------------------------------------------------------------------------- */

static bool grow(struct hr_trace_check *check) {
  size_t capacity = check->capacity ? 2 * check->capacity : 16;
  struct hr_finding *grown = realloc(check->findings, capacity * sizeof *grown);
  if (!grown) return false;
  check->findings = grown;
  check->capacity = capacity;
  return true;
}

static char *format_text(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *text = length < 0 ? NULL : malloc((size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, arguments);
  return text;
}

void hr__find(struct hr__checker *checker, enum hr_finding_code code, enum hr_severity severity,
              const struct hr__where *where, const char *format, ...) {
  struct hr_trace_check *check = checker->check;
  if (check->config.allowed[code]) return;
  va_list arguments;
  va_start(arguments, format);
  char *text = format_text(format, arguments);
  va_end(arguments);
  char *subject = where->subject ? strdup(where->subject) : NULL;
  if (!text || (where->subject && !subject) || (check->n_findings == check->capacity && !grow(check))) {
    free(text);
    free(subject);
    checker->out_of_memory = true;
    return;
  }
  check->findings[check->n_findings++] = (struct hr_finding){.code = code,
                                                             .severity = severity,
                                                             .text = text,
                                                             .subject = subject,
                                                             .count = where->count,
                                                             .of = where->of,
                                                             .line = where->line,
                                                             .job = {where->job}};
}

/* The severest first, then by code, then as they were found. */
static bool goes_before(const struct hr_finding *a, const struct hr_finding *b) {
  return a->severity != b->severity ? a->severity > b->severity : a->code < b->code;
}

static void put_in_order(struct hr_trace_check *check) {
  for (size_t i = 1; i < check->n_findings; i++) {
    struct hr_finding finding = check->findings[i];
    size_t at = i;
    for (; at > 0 && goes_before(&finding, &check->findings[at - 1]); at--)
      check->findings[at] = check->findings[at - 1];
    check->findings[at] = finding;
  }
}

/* ---- The whole -------------------------------------------------------------------------------------- */

enum hr_status hr_trace_check_make(const struct hr_trace_check_config *config, struct hr_trace_check **check,
                                   struct hr_error *error) {
  const struct hr_trace *trace = config->trace;
  struct hr__checker checker = {.trace = trace,
                                .scenario = config->scenario,
                                .check = calloc(1, sizeof **check),
                                .n = trace->n_jobs,
                                .span_us = trace->submit_us[trace->n_jobs - 1] - trace->submit_us[0]};
  static void (*const parts[])(struct hr__checker *) = {
      hr__check_rows,     hr__check_run_times, hr__check_units,    hr__check_limits,  hr__check_arrivals,
      hr__check_gaps,     hr__check_clock,     hr__check_end,      hr__check_copies,  hr__check_shares,
      hr__check_outcomes, hr__check_sizes,     hr__check_recorded, hr__check_cluster, hr__check_missing};
  *check = checker.check;
  if (!*check) return hr_fail(error, HR_NO_MEMORY, "out of memory for the check");
  (*check)->config = *config;
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !checker.out_of_memory; i++) parts[i](&checker);
  free(checker.work);
  put_in_order(*check);
  if (!checker.out_of_memory) return HR_OK;
  hr_trace_check_destroy(*check);
  *check = NULL;
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the check");
}

void hr_trace_check_destroy(struct hr_trace_check *check) {
  if (!check) return;
  for (size_t i = 0; i < check->n_findings; i++) {
    free(check->findings[i].text);
    free(check->findings[i].subject);
  }
  for (size_t i = 0; i < check->n_loads; i++) free(check->loads[i].gpu_types);
  free(check->findings);
  free(check->loads);
  free(check);
}

const struct hr_finding *hr_trace_check_findings(const struct hr_trace_check *check, size_t *count) {
  *count = check->n_findings;
  return check->findings;
}

size_t hr_trace_check_count(const struct hr_trace_check *check, enum hr_severity severity) {
  size_t count = 0;
  for (size_t i = 0; i < check->n_findings; i++) count += check->findings[i].severity == severity;
  return count;
}

const struct hr_offered_load *hr_trace_check_loads(const struct hr_trace_check *check, size_t *count) {
  *count = check->n_loads;
  return check->loads;
}
