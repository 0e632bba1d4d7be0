/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lengths of time that are drawn. */

#include "sim/supply.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>

#define LONGEST_US (INT64_C(100) * 365 * 86400 * HR_SECOND_US)

static double draw_s(const struct hr_duration *duration, struct hr__stream *stream) {
  gsl_rng rng = hr__stream_rng(stream);
  switch (duration->kind) {
  case HR_DURATION_FIXED:
    break;
  case HR_DURATION_EXPONENTIAL:
    return gsl_ran_exponential(&rng, duration->a);
  case HR_DURATION_LOG_NORMAL:
    return gsl_ran_lognormal(&rng, duration->a, duration->b);
  case HR_DURATION_WEIBULL:
    return gsl_ran_weibull(&rng, duration->b, duration->a);
  }
  return duration->a;
}

int64_t hr__duration_draw(const struct hr_duration *duration, struct hr__stream *stream) {
  double us = draw_s(duration, stream) * (double)HR_SECOND_US;
  if (!(us >= 1)) return 1;
  return us < (double)LONGEST_US ? (int64_t)llround(us) : LONGEST_US;
}

double hr__duration_mean_s(const struct hr_duration *duration) {
  switch (duration->kind) {
  case HR_DURATION_FIXED:
  case HR_DURATION_EXPONENTIAL:
    break;
  case HR_DURATION_LOG_NORMAL:
    return exp(duration->a + duration->b * duration->b / 2);
  case HR_DURATION_WEIBULL:
    return duration->b * gsl_sf_gamma(1 + 1 / duration->a);
  }
  return duration->a;
}
