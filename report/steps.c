/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/steps.h"

#include <stdlib.h>
#include <string.h>

enum hr_status hr__steps_init(struct hr__steps *steps, int64_t step_us, int64_t end_us) {
  *steps = (struct hr__steps){.step_us = step_us, .end_us = end_us, .n = (uint32_t)((end_us + step_us - 1) / step_us)};
  steps->part = calloc((size_t)steps->n + 1, sizeof *steps->part);
  steps->change = calloc((size_t)steps->n + 1, sizeof *steps->change);
  return steps->part && steps->change ? HR_OK : HR_NO_MEMORY;
}

void hr__steps_finish(struct hr__steps *steps) {
  free(steps->part);
  free(steps->change);
  *steps = (struct hr__steps){0};
}

void hr__steps_clear(struct hr__steps *steps) {
  memset(steps->part, 0, ((size_t)steps->n + 1) * sizeof *steps->part);
  memset(steps->change, 0, ((size_t)steps->n + 1) * sizeof *steps->change);
}

void hr__steps_add(struct hr__steps *steps, int64_t from_us, int64_t to_us, int64_t weight) {
  if (to_us > steps->end_us) to_us = steps->end_us;
  if (from_us >= to_us) return;
  int64_t first = from_us / steps->step_us, last = to_us / steps->step_us;
  if (first == last) {
    steps->part[first] += (hr_amount)weight * (to_us - from_us);
    return;
  }
  steps->part[first] += (hr_amount)weight * ((first + 1) * steps->step_us - from_us);
  steps->part[last] += (hr_amount)weight * (to_us - last * steps->step_us);
  steps->change[first + 1] += weight;
  steps->change[last] -= weight;
}

void hr__steps_close(struct hr__steps *steps) {
  hr_amount weight = 0;
  for (uint32_t i = 0; i < steps->n; i++) {
    weight += steps->change[i];
    steps->part[i] += weight * steps->step_us;
  }
}
