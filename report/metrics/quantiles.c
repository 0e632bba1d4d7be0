/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Selects several order statistics of int64 keys at once with a quickselect that continues only in ranges that contain
 * wanted ranks. Partitioning has no branches, so selection in a million keys takes a few milliseconds, whereas sorting
 * them takes about a hundred. The pivot is an approximate median of nine keys at fixed positions. If too many pivots
 * are bad, the remaining range is sorted with heap sort, so the worst case is O(n log n).
 *
 * The file also computes the distributions of the summary from order statistics, and from sketches (quantiles.h).
 */

#include "report/metrics/quantiles.h"

#include <string.h>

enum { INSERTION_SORT_TO = 24 };

static void insertion_sort(int64_t *keys, size_t count) {
  for (size_t i = 1; i < count; i++) {
    int64_t key = keys[i];
    size_t at = i;
    for (; at > 0 && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
    keys[at] = key;
  }
}

static void sift_down(int64_t *keys, size_t count, size_t at) {
  int64_t key = keys[at];
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && keys[child + 1] > keys[child]) child++;
    if (keys[child] <= key) break;
    keys[at] = keys[child];
  }
  keys[at] = key;
}

static void heap_sort(int64_t *keys, size_t count) {
  for (size_t i = count / 2; i-- > 0;) sift_down(keys, count, i);
  for (size_t last = count; last-- > 1;) {
    int64_t key = keys[last];
    keys[last] = keys[0];
    keys[0] = key;
    sift_down(keys, last, 0);
  }
}

static int64_t median_of_3(int64_t a, int64_t b, int64_t c) {
  int64_t low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

static int64_t median_of_9(const int64_t *keys, size_t count) {
  size_t step = (count - 1) / 8;
  int64_t median[3];
  for (size_t i = 0; i < 3; i++) {
    const int64_t *at = keys + 3 * i * step;
    median[i] = median_of_3(at[0], at[step], at[2 * step]);
  }
  return median_of_3(median[0], median[1], median[2]);
}

/* Moves the keys below `bound` to the front and returns their number. The loop has no branch on the keys, because such
   a branch would be unpredictable. */
static size_t partition_below(int64_t *keys, size_t count, int64_t bound) {
  size_t below = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t key = keys[i];
    keys[i] = keys[below];
    keys[below] = key;
    below += key < bound;
  }
  return below;
}

static size_t partition_up_to(int64_t *keys, size_t count, int64_t bound) {
  return bound == INT64_MAX ? count : partition_below(keys, count, bound + 1);
}

/* A range of keys, and the wanted ranks within the range in ascending order. `first` is the rank of the first key of
   the range. */
struct span {
  int64_t *keys;
  size_t first, count;
  const size_t *ranks;
  size_t n_ranks;
};

/* Returns the sub-range [from, to) of a span, with the wanted ranks in it. */
static struct span part_of(const struct span *span, size_t from, size_t to) {
  struct span part = {.keys = span->keys + from, .first = span->first + from, .count = to - from};
  size_t skipped = 0;
  while (skipped < span->n_ranks && span->ranks[skipped] < part.first) skipped++;
  part.ranks = span->ranks + skipped;
  while (skipped + part.n_ranks < span->n_ranks && part.ranks[part.n_ranks] < span->first + to) part.n_ranks++;
  return part;
}

/* Moves the key of each wanted rank to its sorted position. If no key is below the pivot, the pivot is the minimum: all
   keys equal to it are moved to the front, which is their sorted position, and the search continues after them. The
   function recurses into the smaller part and iterates over the larger one, so the recursion depth is logarithmic. */
static void select_in(struct span span, unsigned depth_left) {
  while (span.n_ranks > 0) {
    if (span.count <= INSERTION_SORT_TO) {
      insertion_sort(span.keys, span.count);
      return;
    }
    if (depth_left-- == 0) {
      heap_sort(span.keys, span.count);
      return;
    }
    int64_t pivot = median_of_9(span.keys, span.count);
    size_t split = partition_below(span.keys, span.count, pivot);
    if (split == 0) {
      split = partition_up_to(span.keys, span.count, pivot);
      span = part_of(&span, split, span.count);
      continue;
    }
    struct span low = part_of(&span, 0, split), high = part_of(&span, split, span.count);
    bool low_is_smaller = low.count < high.count;
    select_in(low_is_smaller ? low : high, depth_left);
    span = low_is_smaller ? high : low;
  }
}

/* Reorders `keys` so that keys[ranks[i]] has the value that it has in sorted order, and copies this value to out[i].
   Ranks must be ascending; equal ranks are allowed. */
static void select_ranks(int64_t *keys, size_t count, const size_t *ranks, size_t n_ranks, int64_t *out) {
  unsigned depth_left = 16;
  for (size_t left = count; left > 1; left /= 2) depth_left += 2;
  select_in((struct span){keys, 0, count, ranks, n_ranks}, depth_left);
  for (size_t i = 0; i < n_ranks; i++) out[i] = keys[ranks[i]];
}

/* ---- Distributions ------------------------------------------------------------------------------- */

enum { N_QUANTILES = 4 };
static const double quantile_fraction[N_QUANTILES] = {0.50, 0.90, 0.95, 0.99};

/* For each quantile: the two order statistics between which it lies, and the weight of the upper one in the
   interpolation. `max` is the maximum of all keys. */
struct brackets {
  int64_t low[N_QUANTILES], high[N_QUANTILES], max;
  double weight[N_QUANTILES];
};

static struct brackets find_brackets(int64_t *keys, size_t count) {
  struct brackets brackets;
  size_t rank[2 * N_QUANTILES + 1], sorted[2 * N_QUANTILES + 1];
  int64_t value[2 * N_QUANTILES + 1];
  size_t n_ranks = 0;
  for (size_t q = 0; q < N_QUANTILES; q++) {
    double place = quantile_fraction[q] * (double)(count - 1);
    size_t low = (size_t)place;
    brackets.weight[q] = place - (double)low;
    rank[n_ranks++] = low;
    rank[n_ranks++] = low + 1 < count ? low + 1 : low;
  }
  rank[n_ranks++] = count - 1;
  for (size_t i = 0; i < n_ranks; i++) { /* insertion sort, because with few keys the ranks are not ascending */
    size_t at = i;
    for (; at > 0 && sorted[at - 1] > rank[i]; at--) sorted[at] = sorted[at - 1];
    sorted[at] = rank[i];
  }
  select_ranks(keys, count, sorted, n_ranks, value);
  for (size_t q = 0, at; q < N_QUANTILES; q++) {
    for (at = 0; sorted[at] != rank[2 * q];) at++;
    brackets.low[q] = value[at];
    for (at = 0; sorted[at] != rank[2 * q + 1];) at++;
    brackets.high[q] = value[at];
  }
  brackets.max = value[n_ranks - 1];
  return brackets;
}

static double interpolate(double low, double high, double weight) {
  return low + weight * (high - low); /* exact if low == high */
}

struct hr_distribution hr__distribution_of_us(int64_t *us, size_t count, hr__wide sum_us) {
  if (count == 0) return (struct hr_distribution){0};
  struct brackets brackets = find_brackets(us, count);
  double seconds[N_QUANTILES];
  for (size_t q = 0; q < N_QUANTILES; q++)
    seconds[q] =
        interpolate((double)brackets.low[q], (double)brackets.high[q], brackets.weight[q]) / (double)HR_SECOND_US;
  return (struct hr_distribution){.count = count,
                                  .mean = (double)sum_us / (double)count / (double)HR_SECOND_US,
                                  .p50 = seconds[0],
                                  .p90 = seconds[1],
                                  .p95 = seconds[2],
                                  .p99 = seconds[3],
                                  .max = (double)brackets.max / (double)HR_SECOND_US};
}

static double slowdown_of(int64_t key) {
  double slowdown;
  memcpy(&slowdown, &key, sizeof slowdown);
  return slowdown;
}

struct hr_distribution hr__distribution_of_slowdowns(int64_t *keys, size_t count, double sum) {
  if (count == 0) return (struct hr_distribution){0};
  struct brackets brackets = find_brackets(keys, count);
  double value[N_QUANTILES];
  for (size_t q = 0; q < N_QUANTILES; q++)
    value[q] = interpolate(slowdown_of(brackets.low[q]), slowdown_of(brackets.high[q]), brackets.weight[q]);
  return (struct hr_distribution){.count = count,
                                  .mean = sum / (double)count,
                                  .p50 = value[0],
                                  .p90 = value[1],
                                  .p95 = value[2],
                                  .p99 = value[3],
                                  .max = slowdown_of(brackets.max)};
}

/* ---- Sketches ------------------------------------------------------------------------------------ */

/* Returns the middle of a bucket in microseconds. */
static int64_t value_of(uint32_t bucket) {
  if (bucket < HR__SKETCH_STEPS) return bucket;
  uint32_t shift = bucket / HR__SKETCH_STEPS - 1;
  uint64_t step = bucket % HR__SKETCH_STEPS + HR__SKETCH_STEPS;
  return (int64_t)((step << shift) + (UINT64_C(1) << shift) / 2);
}

/* Returns the approximate value of a rank, in microseconds. Ranks are counted from 0. */
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
