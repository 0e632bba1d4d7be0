/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What several parts of a check ask of jobs and columns. */

#include "report/text.h"
#include "workload/checking.h"

#include <stdio.h>
#include <string.h>

const char *hr__share_text(double share, char *buffer) {
  double percent = 100 * share;
  if (percent > 0 && percent < 0.0001)
    snprintf(buffer, HR__SHARE_BYTES, "less than 0.0001 %%");
  else
    snprintf(buffer, HR__SHARE_BYTES, percent >= 9.95 ? "%.0f %%" : "%.2g %%", percent);
  return buffer;
}

bool hr__is_service(const struct hr_trace *trace, uint32_t job) {
  return trace->class_ && trace->class_[job] == HR_CLASS_INFERENCE;
}

int64_t hr__limit_of(const struct hr_trace *trace, uint32_t job) {
  return trace->limit_us ? trace->limit_us[job] : HR_UNKNOWN_US;
}

uint32_t hr__most_frequent(const struct hr__pair *values, uint32_t count, uint32_t from, uint32_t *begin) {
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

uint32_t hr__first_job(const struct hr__pair *pairs, uint32_t count) {
  int64_t first = count ? pairs[0].value : HR_NONE;
  for (uint32_t i = 1; i < count; i++)
    if (pairs[i].value < first) first = pairs[i].value;
  return (uint32_t)first;
}

int64_t hr__grain_us(const int64_t *values, uint32_t count, int64_t origin_us) {
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
    if (others > count / 100) break; /* each step is a multiple of the one before */
    grain_us = steps_us[step];
  }
  return grain_us;
}
