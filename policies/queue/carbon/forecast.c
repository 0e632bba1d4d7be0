/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forecasts of the carbon intensity with errors, as in Let's Wait Awhile. */

#include "base/random.h"
#include "policies/queue/carbon/carbon.h"

#include <math.h>
#include <stdlib.h>

/* Returns a draw from the standard normal distribution (Box and Muller). */
static double normal(struct hr__stream *stream) {
  double radius = sqrt(-2 * log(hr__stream_uniform(stream)));
  double angle = hr__stream_uniform(stream);
  return radius * cos(6.283185307179586 * angle);
}

struct hr_series *hr__carbon_add_noise(const struct hr_series *series, double error, struct hr__stream *stream) {
  int64_t first_us = hr_series_first_us(series), end_us = hr_series_end_us(series);
  uint32_t count = 0, i = 0;
  double mean = (double)hr_series_between(series, first_us, end_us) / (double)(end_us - first_us);
  for (int64_t at_us = first_us; at_us < end_us; at_us = hr_series_next_us(series, at_us)) count++;
  int64_t *at = malloc((count + 1) * sizeof *at), *micros = malloc((count + 1) * sizeof *micros);
  struct hr_series *noisy = NULL;
  for (int64_t at_us = first_us; at && micros && i < count; at_us = hr_series_next_us(series, at_us), i++) {
    at[i] = at_us;
    micros[i] = hr_series_at(series, at_us) + (int64_t)llround(error * mean * normal(stream));
  }
  if (at && micros) noisy = hr_series_create(at, micros, count, hr_series_repeats(series));
  free(at);
  free(micros);
  return noisy;
}
