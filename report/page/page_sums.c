/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What holds over many buckets is kept as two changes of a rate, at the first bucket that it fills and behind the last
   one; the ends are put where they belong at once. Closing adds the rates up. */

#include "report/page/page_sums.h"

#include <stdlib.h>

enum hr_status hr__page_sums_init(struct hr__page_sums *sums, const struct hr__page_grid *grid) {
  sums->sum = calloc((size_t)grid->n + 1, sizeof *sums->sum);
  sums->rate = calloc((size_t)grid->n + 1, sizeof *sums->rate);
  return sums->sum && sums->rate ? HR_OK : HR_NO_MEMORY;
}

void hr__page_sums_finish(struct hr__page_sums *sums) {
  free(sums->sum);
  free(sums->rate);
  *sums = (struct hr__page_sums){0};
}

void hr__page_hold(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                   hr_amount rate) {
  if (from_us >= to_us || !grid->n) return;
  uint32_t first = hr__page_bucket(grid, from_us), last = hr__page_bucket(grid, to_us);
  if (first == last) {
    sums->sum[first] += rate * (to_us - from_us);
    return;
  }
  sums->sum[first] += rate * ((first + INT64_C(1)) * grid->width_us - from_us);
  sums->sum[last] += rate * (to_us - last * grid->width_us);
  sums->rate[first + 1] += rate;
  sums->rate[last] -= rate;
}

/* Where the part of a time ends that begins at `at_us` and lies in one bucket. */
static int64_t part_end_us(const struct hr__page_grid *grid, uint32_t bucket, int64_t to_us) {
  int64_t end_us = (bucket + INT64_C(1)) * grid->width_us;
  return bucket + 1 == grid->n || to_us < end_us ? to_us : end_us;
}

void hr__page_hold_priced(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                          hr_amount milli, const struct hr__price_sums *prices) {
  if (!prices->before) {
    hr__page_hold(sums, grid, from_us, to_us, milli * prices->market->price_uusd_h);
    return;
  }
  if (from_us >= to_us || !grid->n) return;
  for (uint32_t i = hr__page_bucket(grid, from_us); from_us < to_us; i++) {
    int64_t end_us = part_end_us(grid, i, to_us);
    sums->sum[i] += milli * hr__price_sum_between(prices, from_us, end_us);
    from_us = end_us;
  }
}

void hr__page_spread(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                     hr_amount amount) {
  if (!grid->n) return;
  if (from_us >= to_us) {
    hr__page_put(sums, grid, from_us, amount);
    return;
  }
  hr_amount done = 0;
  int64_t at_us = from_us;
  for (uint32_t i = hr__page_bucket(grid, from_us); at_us < to_us; i++) {
    at_us = part_end_us(grid, i, to_us);
    hr_amount so_far = amount * (at_us - from_us) / (to_us - from_us);
    sums->sum[i] += so_far - done;
    done = so_far;
  }
}

void hr__page_sums_close(struct hr__page_sums *sums, const struct hr__page_grid *grid) {
  hr_amount rate = 0;
  for (uint32_t i = 0; i < grid->n; i++) {
    rate += sums->rate[i];
    sums->sum[i] += rate * grid->width_us;
  }
  free(sums->rate);
  sums->rate = NULL;
}
