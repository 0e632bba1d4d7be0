/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of a run: time series in bounded memory, and distributions of values of jobs. */

#include "report/metrics/statistics.h"

#include <stdlib.h>
#include <string.h>

/* ---- Time series --------------------------------------------------------------------------------------- */

/* Buckets are filled without gaps from time zero. The initial width is one microsecond. Each doubling of the width
   merges the buckets in pairs. The number of doublings is the binary logarithm of the final width, about 30 for a
   run of a month in 1920 buckets. */

enum hr_status hr__buckets_init(struct hr__buckets *buckets, uint32_t room) {
  *buckets = (struct hr__buckets){.bucket = calloc(room, sizeof *buckets->bucket), .room = room, .width_us = 1};
  return buckets->bucket ? HR_OK : HR_NO_MEMORY;
}

static void merge(struct hr__bucket *into, const struct hr__bucket *other) {
  into->sum += other->sum;
  if (other->min < into->min) into->min = other->min;
  if (other->max > into->max) into->max = other->max;
}

static void double_width(struct hr__buckets *buckets) {
  for (uint32_t i = 0; i < buckets->n; i++) {
    struct hr__bucket *into = &buckets->bucket[i / 2], moved = buckets->bucket[i];
    if (i % 2 == 0)
      *into = moved;
    else
      merge(into, &moved);
  }
  buckets->n = (buckets->n + 1) / 2;
  buckets->width_us *= 2;
}

/* Adds the current value during `passed_us` microseconds to bucket `i`. `i` is the index of the last bucket or of the
   next new one. */
static void fill(struct hr__buckets *buckets, uint32_t i, int64_t passed_us) {
  const struct hr__bucket part = {(hr__wide)buckets->value * (uint64_t)passed_us, buckets->value, buckets->value};
  if (i < buckets->n)
    merge(&buckets->bucket[i], &part);
  else
    buckets->bucket[buckets->n++] = part;
}

static void advance(struct hr__buckets *buckets, int64_t to_us) {
  while (to_us / buckets->width_us >= buckets->room) double_width(buckets);
  while (buckets->until_us < to_us) {
    uint32_t i = (uint32_t)(buckets->until_us / buckets->width_us);
    int64_t left_us = (i + 1) * buckets->width_us - buckets->until_us;
    int64_t passed_us = to_us - buckets->until_us < left_us ? to_us - buckets->until_us : left_us;
    fill(buckets, i, passed_us);
    buckets->until_us += passed_us;
  }
}

void hr__buckets_set(struct hr__buckets *buckets, int64_t at_us, uint64_t value) {
  advance(buckets, at_us);
  buckets->value = value;
  fill(buckets, (uint32_t)(at_us / buckets->width_us), 0);
}

/* A value that is set exactly at the end may have created a bucket of duration 0. Such a bucket is merged into the one
   before. */
void hr__buckets_close(struct hr__buckets *buckets, int64_t end_us) {
  advance(buckets, end_us);
  if (buckets->n < 2 || hr__buckets_span_us(buckets, buckets->n - 1) > 0) return;
  buckets->n--;
  merge(&buckets->bucket[buckets->n - 1], &buckets->bucket[buckets->n]);
}

/* At least 960 buckets are used, so each of the 60 cells of a chart covers at least 16 buckets. The widths of cells
   therefore differ by at most 1/16. */
enum { ROOM = 1920 };

struct hr_timeline_summary *hr_timeline_summary_create(void) {
  struct hr_timeline_summary *timeline = calloc(1, sizeof *timeline);
  if (!timeline) return NULL;
  if (hr__buckets_init(&timeline->allocated_milli, ROOM) == HR_OK &&
      hr__buckets_init(&timeline->total_milli, ROOM) == HR_OK && hr__buckets_init(&timeline->waiting, ROOM) == HR_OK)
    return timeline;
  hr_timeline_summary_destroy(timeline);
  return NULL;
}

void hr_timeline_summary_destroy(struct hr_timeline_summary *timeline) {
  if (!timeline) return;
  hr__buckets_finish(&timeline->allocated_milli);
  hr__buckets_finish(&timeline->total_milli);
  hr__buckets_finish(&timeline->waiting);
  free(timeline);
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_timeline_summary *timeline = self;
  hr__buckets_set(&timeline->allocated_milli, view->now_us, view->allocated_milli);
  hr__buckets_set(&timeline->total_milli, view->now_us, view->total_milli);
  hr__buckets_set(&timeline->waiting, view->now_us, view->n_waiting);
}

struct hr_observer hr_timeline_summary_observer(struct hr_timeline_summary *timeline) {
  return (struct hr_observer){.self = timeline, .on_instant = on_instant};
}

void hr_timeline_summary_close(struct hr_timeline_summary *timeline, const struct hr_result *result) {
  hr__buckets_close(&timeline->allocated_milli, result->end_us);
  hr__buckets_close(&timeline->total_milli, result->end_us);
  hr__buckets_close(&timeline->waiting, result->end_us);
}

/* ---- Distributions ------------------------------------------------------------------------------------- */

/*
 * Selects several order statistics of int64 keys at once with a quickselect that continues only in ranges that contain
 * wanted ranks. Partitioning has no branches, so selection in a million keys takes a few milliseconds, whereas sorting
 * them takes about a hundred. The pivot is an approximate median of nine keys at fixed positions. If too many pivots
 * are bad, the remaining range is sorted with heap sort, so the worst case is O(n log n).
 *
 * This part also computes the distributions of the summary from order statistics, and from sketches.
 */

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
   the range, `least` a lower bound of its keys. */
struct span {
  int64_t *keys;
  int64_t least;
  size_t first, count;
  const size_t *ranks;
  size_t n_ranks;
};

/* Returns the sub-range [from, to) of a span, with the wanted ranks in it. */
static struct span part_of(const struct span *span, size_t from, size_t to, int64_t least) {
  struct span part = {.keys = span->keys + from, .least = least, .first = span->first + from, .count = to - from};
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
    size_t split = pivot == span.least ? 0 : partition_below(span.keys, span.count, pivot);
    if (split == 0) {
      split = partition_up_to(span.keys, span.count, pivot);
      span = part_of(&span, split, span.count, pivot);
      continue;
    }
    struct span low = part_of(&span, 0, split, span.least), high = part_of(&span, split, span.count, pivot);
    bool low_is_smaller = low.count < high.count;
    select_in(low_is_smaller ? low : high, depth_left);
    span = low_is_smaller ? high : low;
  }
}

/* Reorders `keys` so that keys[ranks[i]] has the value that it has in sorted order, and copies this value to out[i].
   Ranks must be ascending; equal ranks are allowed. No key is below `least`. */
static void select_ranks(int64_t *keys, size_t count, int64_t least, const size_t *ranks, size_t n_ranks,
                         int64_t *out) {
  unsigned depth_left = 16;
  for (size_t left = count; left > 1; left /= 2) depth_left += 2;
  select_in((struct span){keys, least, 0, count, ranks, n_ranks}, depth_left);
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
  size_t rank[2 * N_QUANTILES], sorted[2 * N_QUANTILES];
  int64_t value[2 * N_QUANTILES], least = keys[0];
  size_t n_ranks = 0;
  brackets.max = keys[0];
  for (size_t i = 1; i < count; i++) {
    least = keys[i] < least ? keys[i] : least;
    brackets.max = keys[i] > brackets.max ? keys[i] : brackets.max;
  }
  for (size_t q = 0; q < N_QUANTILES; q++) {
    double place = quantile_fraction[q] * (double)(count - 1);
    size_t low = (size_t)place;
    brackets.weight[q] = place - (double)low;
    brackets.low[q] = brackets.high[q] = least;
    rank[n_ranks++] = low;
    rank[n_ranks++] = low + 1 < count ? low + 1 : low;
  }
  if (least == brackets.max) return brackets;
  for (size_t i = 0; i < n_ranks; i++) { /* insertion sort, because with few keys the ranks are not ascending */
    size_t at = i;
    for (; at > 0 && sorted[at - 1] > rank[i]; at--) sorted[at] = sorted[at - 1];
    sorted[at] = rank[i];
  }
  select_ranks(keys, count, least, sorted, n_ranks, value);
  for (size_t q = 0, at; q < N_QUANTILES; q++) {
    for (at = 0; sorted[at] != rank[2 * q];) at++;
    brackets.low[q] = value[at];
    for (at = 0; sorted[at] != rank[2 * q + 1];) at++;
    brackets.high[q] = value[at];
  }
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
