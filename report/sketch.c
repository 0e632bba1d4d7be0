/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/sketch.h"

enum { STEP_BITS = 7 };

static uint32_t bucket_of(uint64_t us) {
  if (us < HR__SKETCH_STEPS) return (uint32_t)us;
  uint32_t shift = 63u - (uint32_t)__builtin_clzll(us) - STEP_BITS;
  return (shift + 1) * HR__SKETCH_STEPS + (uint32_t)(us >> shift) - HR__SKETCH_STEPS;
}

/* The middle of a bucket. */
static int64_t value_of(uint32_t bucket) {
  if (bucket < HR__SKETCH_STEPS) return bucket;
  uint32_t shift = bucket / HR__SKETCH_STEPS - 1;
  uint64_t step = bucket % HR__SKETCH_STEPS + HR__SKETCH_STEPS;
  return (int64_t)((step << shift) + (UINT64_C(1) << shift) / 2);
}

void hr__sketch_add(struct hr__sketch *sketch, int64_t us) {
  if (us < sketch->min || !sketch->count) sketch->min = us;
  sketch->count++;
  sketch->sum += (uint64_t)us;
  if (us > sketch->max) sketch->max = us;
  sketch->in[bucket_of((uint64_t)us)]++;
}

void hr__sketch_merge(struct hr__sketch *sketch, const struct hr__sketch *other) {
  if (other->count && (other->min < sketch->min || !sketch->count)) sketch->min = other->min;
  sketch->count += other->count;
  sketch->sum += other->sum;
  if (other->max > sketch->max) sketch->max = other->max;
  for (uint32_t i = 0; i < HR__SKETCH_BUCKETS; i++) sketch->in[i] += other->in[i];
}

/* What about stands at a place among all durations in order. */
static double value_at(const struct hr__sketch *sketch, uint64_t rank) {
  uint32_t bucket = 0;
  for (uint64_t below = sketch->in[0]; below <= rank; below += sketch->in[bucket]) bucket++;
  int64_t value = value_of(bucket);
  if (value < sketch->min) value = sketch->min;
  return (double)(value < sketch->max ? value : sketch->max);
}

static double quantile_s(const struct hr__sketch *sketch, double share) {
  double place = (double)(sketch->count - 1) * share;
  uint64_t rank = (uint64_t)place;
  double low = value_at(sketch, rank);
  double high = rank + 1 < sketch->count ? value_at(sketch, rank + 1) : low;
  return (low + (place - (double)rank) * (high - low)) / (double)HR_SECOND_US;
}

struct hr_distribution hr__sketch_distribution(const struct hr__sketch *sketch) {
  if (!sketch->count) return (struct hr_distribution){0};
  return (struct hr_distribution){.count = sketch->count,
                                  .mean = (double)sketch->sum / (double)sketch->count / (double)HR_SECOND_US,
                                  .p50 = quantile_s(sketch, 0.5),
                                  .p90 = quantile_s(sketch, 0.9),
                                  .p95 = quantile_s(sketch, 0.95),
                                  .p99 = quantile_s(sketch, 0.99),
                                  .max = (double)sketch->max / (double)HR_SECOND_US};
}
