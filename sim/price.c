/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prices that stand or go by steps. */

#include "headroom/market.h"

/* The step that stands at a time. */
static uint32_t standing(const struct hr_market_spec *market, int64_t at_us) {
  uint32_t low = 0, high = market->n_prices - 1;
  while (low < high) {
    uint32_t middle = (low + high + 1) / 2;
    if (market->prices[middle].at_us <= at_us)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

int64_t hr_market_price_at(const struct hr_market_spec *market, int64_t at_us) {
  return market->n_prices ? market->prices[standing(market, at_us)].uusd_h : market->price_uusd_h;
}

hr_amount hr_market_price_sum(const struct hr_market_spec *market, int64_t to_us) {
  if (!market->n_prices) return (hr_amount)market->price_uusd_h * to_us;
  hr_amount sum = 0;
  for (uint32_t i = 0; i < market->n_prices && market->prices[i].at_us < to_us; i++) {
    bool last = i + 1 == market->n_prices || market->prices[i + 1].at_us >= to_us;
    int64_t until_us = last ? to_us : market->prices[i + 1].at_us;
    sum += (hr_amount)market->prices[i].uusd_h * (until_us - market->prices[i].at_us);
  }
  return sum;
}
