/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_SUMS_H
#define HR_REPORT_PAGE_PAGE_SUMS_H

/* Sums over the buckets of a run's time, exact in whole numbers, made after the run: what holds from one time to
   another costs the same however many buckets it spans. */

#include "sim/market/market.h"

/* Buckets of equal width from time zero on, the last of which may cover less. */
struct hr__page_grid {
  int64_t width_us, end_us;
  uint32_t n;
};

/* The bucket of a time; of one beyond the end, the last. */
static inline uint32_t hr__page_bucket(const struct hr__page_grid *grid, int64_t at_us) {
  int64_t place = at_us / grid->width_us;
  return place < grid->n ? (uint32_t)place : grid->n - 1;
}

static inline int64_t hr__page_span_us(const struct hr__page_grid *grid, uint32_t i) {
  int64_t left_us = grid->end_us - i * grid->width_us;
  return left_us < grid->width_us ? left_us : grid->width_us;
}

struct hr__page_sums {
  hr_amount *sum;  /* [n] */
  hr_amount *rate; /* [n + 1]: how much more than in the bucket before holds throughout the bucket; NULL once closed */
};

/* HR_NO_MEMORY on failure; to be finished either way. */
enum hr_status hr__page_sums_init(struct hr__page_sums *sums, const struct hr__page_grid *grid);
void hr__page_sums_finish(struct hr__page_sums *sums);
/* `rate` x microseconds, from one time to another. */
void hr__page_hold(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                   hr_amount rate);
/* Likewise of a rate that is milli-GPUs x a price. Not for prices that change at more than a few times a bucket. */
void hr__page_hold_priced(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                          hr_amount milli, const struct hr__price_sums *prices);
/* An amount, evenly over a time, without losing a unit; all of it at once where the time is none. */
void hr__page_spread(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                     hr_amount amount);
static inline void hr__page_put(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t at_us,
                                hr_amount amount) {
  if (grid->n) sums->sum[hr__page_bucket(grid, at_us)] += amount;
}
/* After it `sum` may be read. */
void hr__page_sums_close(struct hr__page_sums *sums, const struct hr__page_grid *grid);

#endif
