/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prices that are constant or change in steps. The step that is valid at a given time is found by binary search. Price
   sums are exact: prices and times are integers, so the integral of the price is a sum of products of integers. */

#include "sim/market/market.h"

#include "base/random.h"

#include <gsl/gsl_randist.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Returns the index of the last step at or before `at_us`. */
static uint32_t step_at(const struct hr_market_spec *market, int64_t at_us) {
  const struct hr_price_step *first = market->prices;
  for (uint32_t left = market->n_prices; left > 1;) {
    uint32_t half = left / 2;
    if (first[half].at_us <= at_us) first += half;
    left -= half;
  }
  return (uint32_t)(first - market->prices);
}

static hr_amount step_sum(const struct hr_price_step *step, int64_t to_us) {
  return (hr_amount)step->uusd_h * (to_us - step->at_us);
}

int64_t hr_market_price_at(const struct hr_market_spec *market, int64_t at_us) {
  return market->n_prices ? market->prices[step_at(market, at_us)].uusd_h : market->price_uusd_h;
}

hr_amount hr_market_price_sum(const struct hr_market_spec *market, int64_t to_us) {
  if (!market->n_prices) return (hr_amount)market->price_uusd_h * to_us;
  hr_amount sum = 0;
  uint32_t last = step_at(market, to_us);
  for (uint32_t i = 0; i < last; i++) sum += step_sum(&market->prices[i], market->prices[i + 1].at_us);
  return sum + step_sum(&market->prices[last], to_us);
}

enum hr_status hr__price_sums_init(struct hr__price_sums *sums, const struct hr_market_spec *market) {
  *sums = (struct hr__price_sums){.market = market};
  if (!market->n_prices) return HR_OK;
  sums->before = malloc(market->n_prices * sizeof *sums->before);
  if (!sums->before) return HR_NO_MEMORY;
  sums->before[0] = 0;
  for (uint32_t i = 1; i < market->n_prices; i++)
    sums->before[i] = sums->before[i - 1] + step_sum(&market->prices[i - 1], market->prices[i].at_us);
  return HR_OK;
}

hr_amount hr__price_sum_stepped(const struct hr__price_sums *sums, int64_t to_us) {
  uint32_t step = step_at(sums->market, to_us);
  return sums->before[step] + step_sum(&sums->market->prices[step], to_us);
}

/* Given an earlier value, a later value of an Ornstein-Uhlenbeck process has a known normal distribution. The values at
   the interval ends are therefore drawn from the exact distribution, without numerical integration. */

static int64_t bounded(const struct hr__price_walk *walk, double deviation) {
  double uusd_h = (double)walk->mean_uusd_h * exp(deviation);
  if (uusd_h >= (double)walk->max_uusd_h) return walk->max_uusd_h;
  return uusd_h <= (double)walk->min_uusd_h ? walk->min_uusd_h : (int64_t)llround(uusd_h);
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
  double reverted = exp(-interval_h / walk->reversion_h), spread = walk->volatility * sqrt(1 - reverted * reverted);
  double deviation = gsl_ran_gaussian(&rng, walk->volatility); /* drawn from the stationary distribution */
  for (uint32_t i = 0; i < walk->n_steps; i++) {
    int64_t uusd_h = bounded(walk, deviation);
    bool same = *n_steps && (*steps)[*n_steps - 1].uusd_h == uusd_h;
    if (!same) (*steps)[(*n_steps)++] = (struct hr_price_step){i * walk->interval_us, uusd_h};
    deviation = reverted * deviation + gsl_ran_gaussian(&rng, spread);
  }
  return HR_OK;
}
