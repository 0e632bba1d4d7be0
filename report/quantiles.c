/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exact order statistics of int64 keys, several ranks at once. A histogram with 64 buckets to the octave says in
 * which few buckets the ranks fall; their keys are brought to the front and a quickselect that keeps all ranks in
 * view finishes there. One pass to count, one to gather, whatever the distribution. Pivots are taken from fixed places
 * (median of nine); should they be bad too often, what is left is heap-sorted, so no input costs more than n log n.
 */

#include "report/quantiles.h"

#include <string.h>

enum {
  OCTAVE_BITS = 6, /* 64 buckets to the octave, and one each for 0..63 */
  N_BUCKETS = (63 - OCTAVE_BITS + 1) << OCTAVE_BITS,
  HISTOGRAM_FROM = 1 << 12, /* fewer keys are not worth a histogram */
  INSERTION_SORT_TO = 24
};

/* ---- Quickselect ------------------------------------------------------------------------------------ */

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

/* Keys below `bound` come first; returns how many. Written without branches, which could not be predicted. */
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

/* A run of keys that holds some of the wanted ranks; `first` is the rank of its first key. */
struct span {
  int64_t *keys;
  size_t first, count;
  const size_t *ranks;
  size_t n_ranks;
};

static size_t ranks_below(const struct span *span, size_t bound) {
  size_t count = 0;
  while (count < span->n_ranks && span->ranks[count] < bound) count++;
  return count;
}

/* Every wanted rank's key comes to its place. The smaller side recurses, so the depth is logarithmic. */
static void select_in(struct span span, unsigned patience) {
  while (span.n_ranks > 0) {
    if (span.count <= INSERTION_SORT_TO) {
      insertion_sort(span.keys, span.count);
      return;
    }
    if (patience-- == 0) {
      heap_sort(span.keys, span.count);
      return;
    }
    int64_t pivot = median_of_9(span.keys, span.count);
    size_t below = partition_below(span.keys, span.count, pivot);
    size_t up_to = below + partition_up_to(span.keys + below, span.count - below, pivot);
    size_t left = ranks_below(&span, span.first + below), right = ranks_below(&span, span.first + up_to);
    struct span low = {span.keys, span.first, below, span.ranks, left};
    struct span high = {span.keys + up_to, span.first + up_to, span.count - up_to, span.ranks + right,
                        span.n_ranks - right};
    bool low_is_smaller = low.count < high.count;
    select_in(low_is_smaller ? low : high, patience);
    span = low_is_smaller ? high : low;
  }
}

/* ---- The histogram before it ------------------------------------------------------------------------ */

static unsigned bucket_of(int64_t key) {
  uint64_t bits = (uint64_t)key;
  if (bits >> OCTAVE_BITS == 0) return (unsigned)bits;
  unsigned shift = 63u - (unsigned)__builtin_clzll(bits) - OCTAVE_BITS;
  return (shift << OCTAVE_BITS) + (unsigned)(bits >> shift);
}

/* Marks the buckets that hold wanted ranks, and turns ranks among all keys into ranks among the marked ones. */
static void mark_buckets(const uint32_t *in_bucket, uint8_t *marked, const size_t *ranks, size_t n_ranks,
                         size_t *inner_ranks) {
  size_t first = 0, left_out = 0, next = 0;
  for (unsigned bucket = 0; bucket < N_BUCKETS && next < n_ranks; bucket++) {
    size_t end = first + in_bucket[bucket];
    for (; next < n_ranks && ranks[next] < end; next++) {
      marked[bucket] = 1;
      inner_ranks[next] = ranks[next] - left_out;
    }
    if (!marked[bucket]) left_out += in_bucket[bucket];
    first = end;
  }
}

/* Brings the keys of marked buckets to the front; returns how many. */
static size_t gather(int64_t *keys, size_t count, const uint8_t *marked) {
  size_t n_gathered = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t key = keys[i];
    keys[i] = keys[n_gathered];
    keys[n_gathered] = key;
    n_gathered += marked[bucket_of(key)];
  }
  return n_gathered;
}

static size_t narrow(int64_t *keys, size_t count, const size_t *ranks, size_t n_ranks, size_t *inner_ranks) {
  uint32_t in_bucket[N_BUCKETS] = {0};
  uint8_t marked[N_BUCKETS] = {0};
  for (size_t i = 0; i < count; i++) in_bucket[bucket_of(keys[i])]++;
  mark_buckets(in_bucket, marked, ranks, n_ranks, inner_ranks);
  return gather(keys, count, marked);
}

void hr__select_ranks(int64_t *keys, size_t count, const size_t *ranks, size_t n_ranks, int64_t *out) {
  size_t inner_ranks[HR__MAX_RANKS];
  memcpy(inner_ranks, ranks, n_ranks * sizeof *ranks);
  if (count >= HISTOGRAM_FROM) count = narrow(keys, count, ranks, n_ranks, inner_ranks);
  unsigned patience = 8;
  for (size_t left = count; left > 1; left /= 2) patience += 2;
  select_in((struct span){keys, 0, count, inner_ranks, n_ranks}, patience);
  for (size_t i = 0; i < n_ranks; i++) out[i] = keys[inner_ranks[i]];
}

/* ---- Distributions ---------------------------------------------------------------------------------- */

enum { N_QUANTILES = 4 };
static const double quantile_fraction[N_QUANTILES] = {0.50, 0.90, 0.95, 0.99};

/* The order statistics on both sides of each quantile, the way between them, and the largest. */
struct brackets {
  int64_t low[N_QUANTILES], high[N_QUANTILES], max;
  double way[N_QUANTILES];
};

static struct brackets find_brackets(int64_t *keys, size_t count) {
  struct brackets brackets;
  size_t rank[2 * N_QUANTILES + 1], sorted[2 * N_QUANTILES + 1];
  int64_t value[2 * N_QUANTILES + 1];
  size_t n_ranks = 0;
  for (size_t q = 0; q < N_QUANTILES; q++) {
    double place = quantile_fraction[q] * (double)(count - 1);
    size_t low = (size_t)place;
    brackets.way[q] = place - (double)low;
    rank[n_ranks++] = low;
    rank[n_ranks++] = low + 1 < count ? low + 1 : low;
  }
  rank[n_ranks++] = count - 1;
  for (size_t i = 0; i < n_ranks; i++) { /* among few keys the brackets overlap */
    size_t at = i;
    for (; at > 0 && sorted[at - 1] > rank[i]; at--) sorted[at] = sorted[at - 1];
    sorted[at] = rank[i];
  }
  hr__select_ranks(keys, count, sorted, n_ranks, value);
  for (size_t q = 0, at; q < N_QUANTILES; q++) {
    for (at = 0; sorted[at] != rank[2 * q];) at++;
    brackets.low[q] = value[at];
    for (at = 0; sorted[at] != rank[2 * q + 1];) at++;
    brackets.high[q] = value[at];
  }
  brackets.max = value[n_ranks - 1];
  return brackets;
}

static double between(double low, double high, double way) {
  return low + way * (high - low); /* exactly `low` where both are equal */
}

struct hr_distribution hr__distribution_of_us(int64_t *us, size_t count, hr__wide sum_us) {
  if (count == 0) return (struct hr_distribution){0};
  struct brackets brackets = find_brackets(us, count);
  double seconds[N_QUANTILES];
  for (size_t q = 0; q < N_QUANTILES; q++)
    seconds[q] = between((double)brackets.low[q], (double)brackets.high[q], brackets.way[q]) / (double)HR_SECOND_US;
  return (struct hr_distribution){.count = count,
                                  .mean = (double)sum_us / (double)count / (double)HR_SECOND_US,
                                  .p50 = seconds[0],
                                  .p90 = seconds[1],
                                  .p95 = seconds[2],
                                  .p99 = seconds[3],
                                  .max = (double)brackets.max / (double)HR_SECOND_US};
}

/* Doubles that are not negative are ordered as their bits are. Counted from the bits of 1, the buckets are fine where
   slowdowns are small. */
static int64_t bits_of(double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

int64_t hr__slowdown_key(double slowdown) {
  return bits_of(slowdown) - bits_of(1.0);
}

static double slowdown_of(int64_t key) {
  int64_t bits = key + bits_of(1.0);
  double slowdown;
  memcpy(&slowdown, &bits, sizeof slowdown);
  return slowdown;
}

struct hr_distribution hr__distribution_of_slowdowns(int64_t *keys, size_t count, double sum) {
  if (count == 0) return (struct hr_distribution){0};
  struct brackets brackets = find_brackets(keys, count);
  double value[N_QUANTILES];
  for (size_t q = 0; q < N_QUANTILES; q++)
    value[q] = between(slowdown_of(brackets.low[q]), slowdown_of(brackets.high[q]), brackets.way[q]);
  return (struct hr_distribution){.count = count,
                                  .mean = sum / (double)count,
                                  .p50 = value[0],
                                  .p90 = value[1],
                                  .p95 = value[2],
                                  .p99 = value[3],
                                  .max = slowdown_of(brackets.max)};
}
