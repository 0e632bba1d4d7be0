/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A price as an Ornstein-Uhlenbeck process in the logarithm, drawn exactly at even intervals. */

#include "sim/price_walk.h"

#include "sim/philox.h"

#include <gsl/gsl_randist.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static int64_t bounded(const struct hr__price_walk *walk, double deviation) {
  double uusd_h = (double)walk->mean_uusd_h * exp(deviation);
  if (uusd_h >= (double)walk->most_uusd_h) return walk->most_uusd_h;
  return uusd_h <= (double)walk->least_uusd_h ? walk->least_uusd_h : (int64_t)llround(uusd_h);
}

enum hr_status hr__price_walk_draw(const struct hr__price_walk *walk, uint64_t seed, uint32_t zone,
                                   struct hr_price_step **steps, uint32_t *n_steps, struct hr_error *error) {
  *n_steps = 0;
  *steps = malloc(walk->n_steps * sizeof **steps);
  if (!*steps) return hr_fail(error, HR_NO_MEMORY, "out of memory for %" PRIu32 " prices", walk->n_steps);
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_SPOT_PRICE, zone, 0);
  gsl_rng rng = hr__stream_rng(&stream);
  double interval_h = (double)walk->interval_us / (3600 * (double)HR_SECOND_US);
  double kept = exp(-interval_h / walk->reversion_h), blown = walk->volatility * sqrt(1 - kept * kept);
  double deviation = gsl_ran_gaussian(&rng, walk->volatility); /* where it is found in the long run */
  for (uint32_t i = 0; i < walk->n_steps; i++) {
    int64_t uusd_h = bounded(walk, deviation);
    bool same = *n_steps && (*steps)[*n_steps - 1].uusd_h == uusd_h;
    if (!same) (*steps)[(*n_steps)++] = (struct hr_price_step){i * walk->interval_us, uusd_h};
    deviation = kept * deviation + gsl_ran_gaussian(&rng, blown);
  }
  return HR_OK;
}
