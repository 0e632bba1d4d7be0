/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that several parts of the trace check use: findings, sorted pairs, and properties of jobs and columns. */

#include "traces/tools/check.h"

#include "base/array.h"
#include "base/sort.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Findings ---------------------------------------------------------------------------------------- */

static char *format_text(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *text = length < 0 ? NULL : malloc((size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, arguments);
  return text;
}

void hr__check_add(struct hr__check_state *checker, enum hr_finding_code code, enum hr_severity severity,
                   const struct hr__check_subject *where, const char *format, ...) {
  struct hr_trace_check *check = checker->check;
  if (check->config.allowed[code]) return;
  va_list arguments;
  va_start(arguments, format);
  char *text = format_text(format, arguments);
  va_end(arguments);
  char *subject = where->subject ? strdup(where->subject) : NULL;
  if (!text || (where->subject && !subject) ||
      !HR__ARRAY_HAS_ROOM(check->findings, check->n_findings, checker->findings_capacity)) {
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

bool hr__pairs_sort(struct hr__job_value *pairs, size_t count) {
  struct hr__keyed_row *rows = malloc((count + 1) * sizeof *rows);
  struct hr__job_value *unsorted = malloc((count + 1) * sizeof *unsorted);
  bool done = rows && unsorted;
  for (size_t i = 0; done && i < count; i++) {
    rows[i] = (struct hr__keyed_row){(uint64_t)pairs[i].key, (uint32_t)i};
    unsorted[i] = pairs[i];
  }
  done = done && hr__sort_keyed_rows(rows, count);
  for (size_t i = 0; done && i < count; i++) pairs[i] = unsorted[rows[i].row];
  free(rows);
  free(unsorted);
  return done;
}

/* ---- Helpers of several parts ------------------------------------------------------------------------ */

const char *hr__check_share_text(double share, char *buffer) {
  double percent = 100 * share;
  if (percent > 0 && percent < 0.0001)
    snprintf(buffer, HR__SHARE_BYTES, "less than 0.0001 %%");
  else
    snprintf(buffer, HR__SHARE_BYTES, percent >= 9.95 ? "%.0f %%" : "%.2g %%", percent);
  return buffer;
}

uint32_t hr__check_most_frequent(const struct hr__job_value *values, uint32_t count, uint32_t from, uint32_t *begin) {
  uint32_t most = 0;
  *begin = from;
  while (from > 0 && values[from - 1].key == values[from].key) from--;
  for (uint32_t i = from; i < count;) {
    uint32_t end = i + 1;
    while (end < count && values[end].key == values[i].key) end++;
    if (end - i >= most) {
      most = end - i;
      *begin = i;
    }
    i = end;
  }
  return most;
}

int64_t hr__check_grain_us(const int64_t *values, uint32_t count, int64_t origin_us) {
  static const int64_t steps_us[] = {1,
                                     1000,
                                     10 * INT64_C(1000),
                                     100 * INT64_C(1000),
                                     HR_SECOND_US,
                                     10 * HR_SECOND_US,
                                     HR__MINUTE_US,
                                     5 * HR__MINUTE_US,
                                     15 * HR__MINUTE_US,
                                     HR__HOUR_US,
                                     HR__DAY_US};
  int64_t grain_us = 1;
  for (size_t step = 0; step < sizeof steps_us / sizeof *steps_us; step++) {
    uint32_t others = 0;
    for (uint32_t i = 0; i < count && others <= count / 100; i++)
      others += (values[i] + origin_us) % steps_us[step] != 0;
    /* every larger step is a multiple of this step, so it has at least as many exceptions */
    if (others > count / 100) break;
    grain_us = steps_us[step];
  }
  return grain_us;
}
