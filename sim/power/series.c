/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Step series: values that apply from one stamp to the next, with exact integrals.
 *
 * Layout: three parallel arrays by step: stamps, values, and the integral from the first stamp to each stamp. If all
 * steps have the same length, a step is found by division, otherwise by bisection. The integral from the first stamp
 * to any time is a stored sum plus a part of a step, so an integral between two times takes two searches.
 *
 * Invariant: stamps ascend strictly, and sums[i + 1] = sums[i] + values[i] * (stamps[i + 1] - stamps[i]). Sums are
 * 128-bit: 2^63 per step and 2^32 steps fit.
 *
 * Repetition: the series covers the period from its first stamp to its end. A later time is reduced by whole periods.
 */

#include "headroom/unstable/series.h"

#include <stdlib.h>
#include <string.h>

struct hr_series {
  int64_t *at_us, *micros;
  hr_amount *sums;
  uint32_t count;
  int64_t end_us;  /* end of the last value; HR_NEVER_US: a single value */
  int64_t step_us; /* the length of all steps; 0: they differ */
  hr_amount total; /* integral from the first stamp to the end */
  bool repeats;
  double per_step, per_period; /* 1 / step_us and 1 / (end_us - first stamp); 0: unknown */
};

/* Returns value / by, for a value of at least 0. `inverse`: 1 / by. A multiplication takes less time than a division of
   integers. It is off by at most one, which is corrected. */
static int64_t quotient(int64_t value, int64_t by, double inverse) {
  const int64_t max_exact = INT64_C(1) << 52;
  if (value > max_exact) return value / by;
  int64_t result = (int64_t)((double)value * inverse), rest = value - result * by;
  return rest < 0 ? result - 1 : result + (rest >= by);
}

static int64_t common_step_us(const int64_t *at_us, uint32_t count) {
  int64_t step_us = count > 1 ? at_us[1] - at_us[0] : 0;
  for (uint32_t i = 1; i < count; i++)
    if (at_us[i] - at_us[i - 1] != step_us) return 0;
  return step_us;
}

static void sum_up(struct hr_series *series) {
  hr_amount sum = 0;
  for (uint32_t i = 0; i < series->count; i++) {
    int64_t end_us = i + 1 < series->count ? series->at_us[i + 1] : series->end_us;
    series->sums[i] = sum;
    if (end_us != HR_NEVER_US) sum += (hr_amount)series->micros[i] * (end_us - series->at_us[i]);
  }
  series->total = sum;
}

struct hr_series *hr_series_create(const int64_t *at_us, const int64_t *micros, uint32_t count, bool repeats) {
  struct hr_series *series = calloc(1, sizeof *series);
  if (!series) return NULL;
  series->at_us = malloc(count * sizeof *at_us);
  series->micros = malloc(count * sizeof *micros);
  series->sums = malloc(count * sizeof *series->sums);
  if (!series->at_us || !series->micros || !series->sums) {
    hr_series_destroy(series);
    return NULL;
  }
  memcpy(series->at_us, at_us, count * sizeof *at_us);
  memcpy(series->micros, micros, count * sizeof *micros);
  series->count = count;
  series->step_us = common_step_us(at_us, count);
  series->end_us = count > 1 ? 2 * at_us[count - 1] - at_us[count - 2] : HR_NEVER_US;
  series->repeats = repeats && count > 1;
  if (series->step_us) series->per_step = 1 / (double)series->step_us;
  if (series->repeats) series->per_period = 1 / (double)(series->end_us - at_us[0]);
  sum_up(series);
  return series;
}

void hr_series_destroy(struct hr_series *series) {
  if (!series) return;
  free(series->at_us);
  free(series->micros);
  free(series->sums);
  free(series);
}

int64_t hr_series_first_us(const struct hr_series *series) {
  return series->at_us[0];
}

int64_t hr_series_end_us(const struct hr_series *series) {
  return series->end_us;
}

bool hr_series_repeats(const struct hr_series *series) {
  return series->repeats;
}

/* Reduces a time to the first period of a series that is repeated. Returns the number of periods. */
static int64_t reduce(const struct hr_series *series, int64_t *at_us) {
  if (!series->repeats || *at_us < series->end_us) return 0;
  int64_t period_us = series->end_us - series->at_us[0];
  int64_t periods = quotient(*at_us - series->at_us[0], period_us, series->per_period);
  *at_us -= periods * period_us;
  return periods;
}

/* Returns the step that applies at a reduced time; the first one before the first stamp. */
static uint32_t find(const struct hr_series *series, int64_t at_us) {
  uint32_t low = 0, high = series->count;
  if (at_us < series->at_us[0]) return 0;
  if (series->step_us) {
    int64_t i = quotient(at_us - series->at_us[0], series->step_us, series->per_step);
    return i < (int64_t)series->count ? (uint32_t)i : series->count - 1;
  }
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (series->at_us[middle] <= at_us)
      low = middle;
    else
      high = middle;
  }
  return low;
}

int64_t hr_series_at(const struct hr_series *series, int64_t at_us) {
  reduce(series, &at_us);
  return series->micros[find(series, at_us)];
}

int64_t hr_series_next_us(const struct hr_series *series, int64_t at_us) {
  int64_t reduced_us = at_us;
  if (series->count == 1) return HR_NEVER_US;
  reduce(series, &reduced_us);
  if (reduced_us < series->at_us[0]) return series->at_us[1];
  uint32_t i = find(series, reduced_us);
  if (i + 1 < series->count) return at_us + (series->at_us[i + 1] - reduced_us);
  return series->repeats ? at_us + (series->end_us - reduced_us) : HR_NEVER_US;
}

/* Returns the integral from the first stamp to a time; negative before the first stamp. */
static hr_amount sum_to(const struct hr_series *series, int64_t at_us) {
  int64_t periods = reduce(series, &at_us);
  uint32_t i = find(series, at_us);
  return series->total * periods + series->sums[i] + (hr_amount)series->micros[i] * (at_us - series->at_us[i]);
}

/* Returns the end of a step, in the first period. */
static int64_t step_end_us(const struct hr_series *series, uint32_t step) {
  if (step + 1 < series->count) return series->at_us[step + 1];
  return series->repeats ? series->end_us : HR_NEVER_US;
}

/* Moves the cursor to the step that applies at a time. */
static void seek(const struct hr_series *series, struct hr_series_cursor *cursor, int64_t us) {
  int64_t at_us = us, periods = reduce(series, &at_us);
  const uint32_t step = find(series, at_us);
  const int64_t end_us = step_end_us(series, step), shift_us = us - at_us;
  *cursor = (struct hr_series_cursor){.series = series,
                                      .from_us = series->at_us[step] + shift_us,
                                      .until_us = end_us == HR_NEVER_US ? end_us : end_us + shift_us,
                                      .shift_us = shift_us,
                                      .sum = series->total * periods + series->sums[step],
                                      .step = step};
}

static inline void integrals(const struct hr_series *series, struct hr_series_cursor *cursor, int64_t from_us,
                             int64_t to_us, hr_amount *from, hr_amount *to) {
  enum { STEPS = 4 };
  if (cursor->series != series || from_us < cursor->from_us || from_us >= cursor->until_us)
    seek(series, cursor, from_us);
  uint32_t i = cursor->step;
  const uint32_t last = series->count - 1;
  const int64_t then_us = to_us - cursor->shift_us;
  const hr_amount before = cursor->sum - series->sums[i];
  *from = cursor->sum + (hr_amount)series->micros[i] * (from_us - cursor->from_us);
  /* the end is usually a few steps later, and is then found without a search */
  for (int k = 0; k < STEPS && i < last && series->at_us[i + 1] <= then_us; k++) i++;
  if (to_us >= from_us && then_us < step_end_us(series, i))
    *to = before + series->sums[i] + (hr_amount)series->micros[i] * (then_us - series->at_us[i]);
  else
    *to = sum_to(series, to_us);
}

void hr_series_integrals_near(const struct hr_series *series, struct hr_series_cursor *cursor, int64_t from_us,
                              int64_t to_us, hr_amount *from, hr_amount *to) {
  integrals(series, cursor, from_us, to_us, from, to);
}

void hr_series_integrals(const struct hr_series *series, int64_t from_us, int64_t to_us, hr_amount *from,
                         hr_amount *to) {
  struct hr_series_cursor cursor = {0};
  integrals(series, &cursor, from_us, to_us, from, to);
}

hr_amount hr_series_between_near(const struct hr_series *series, struct hr_series_cursor *cursor, int64_t from_us,
                                 int64_t to_us) {
  hr_amount from, to;
  integrals(series, cursor, from_us, to_us, &from, &to);
  return to - from;
}

hr_amount hr_series_between(const struct hr_series *series, int64_t from_us, int64_t to_us) {
  hr_amount from, to;
  if (from_us != series->at_us[0]) {
    hr_series_integrals(series, from_us, to_us, &from, &to);
    return to - from;
  }
  /* the integral to the first stamp is 0 */
  return sum_to(series, to_us);
}

/* ---- Electricity of a pool -------------------------------------------------------------------------- */

#define WORD(name, text) text,
static const char *const signals[] = {HR_CARBON_SIGNAL_TABLE(WORD)};

const char *hr_carbon_signal_name(enum hr_carbon_signal signal) {
  return signals[signal];
}

int64_t hr_series_begin_us(const struct hr_series *series, int64_t start_us, const struct hr_trace *trace) {
  if (start_us == HR_NEVER_US) start_us = trace->dated ? 0 : hr_series_first_us(series);
  return start_us + trace->origin_us;
}
