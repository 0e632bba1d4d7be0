/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speeds of jobs that read data, and hits of caches.
 *
 * LRU: each epoch reads every item once, in a new random order. An item is hit if fewer than c different items were
 * read since its last use. Let u be the place of an item in one epoch and v its place in the next one, as uniform
 * shares of the epoch. Then a share (1 - u) + u v of the items was read in between. So with x = c / d, where d is the
 * number of items, the share of hits is P(u (1 - v) > 1 - x) = x + (1 - x) ln(1 - x). With few items, the number of
 * different items in between is computed exactly. Consider the j - 1 items that were read before the item in the new
 * epoch. Those of them that were after it in the old epoch are counted already; the number of the others is
 * hypergeometric.
 */

#include "sim/clusters/data_loading.h"

#include <math.h>

/* ---- Need and speed -------------------------------------------------------------------------------------- */

double hr__io_need(double batch, double sample_bytes, double step_s) {
  return batch * sample_bytes / step_s;
}

/* The share of the reads that goes to remote storage. */
static double remote_share(const struct hr__io_job *job) {
  if (job->is_first_epoch || job->dataset <= 0) return job->dataset > 0;
  return fmax(0, 1 - job->cached / job->dataset);
}

double hr__io_speed(const struct hr__io_job *job) {
  const double share = remote_share(job);
  return share > 0 ? fmin(job->full_speed, job->remote / share) : job->full_speed;
}

double hr__io_remote_need(const struct hr__io_job *job) {
  return job->full_speed * remote_share(job);
}

/* ---- Caches ---------------------------------------------------------------------------------------------- */

double hr__cache_hits(enum hr__cache_policy policy, double share, bool same_order) {
  const double x = fmin(1, fmax(0, share));
  if (policy == HR__CACHE_UNIFORM || x >= 1) return x;
  return same_order ? 0 : x + (1 - x) * log1p(-x);
}

static double log_choose(int64_t n, int64_t k) {
  return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

/* Returns the probability that at most `most` of `drawn` items are marked, if `marked` of the n items are marked and
   `drawn` items are drawn without replacement. */
static double at_most(int64_t n, int64_t marked, int64_t drawn, int64_t most) {
  double sum = 0;
  const int64_t first = drawn + marked > n ? drawn + marked - n : 0;
  const int64_t last = drawn < marked ? drawn : marked;
  if (most >= last) return 1;
  for (int64_t k = first; k <= most; k++)
    sum += exp(log_choose(marked, k) + log_choose(n - marked, drawn - k) - log_choose(n, drawn));
  return sum;
}

/* Returns the expected hits of an epoch under LRU: a sum over the places of an item in the old and in the new epoch. */
static double expected_hits(int64_t n_items, int64_t n_cached) {
  double hits = 0;
  for (int64_t was = n_items - n_cached + 1; was <= n_items; was++)
    for (int64_t is = 1; is <= n_items; is++)
      hits += at_most(n_items - 1, was - 1, is - 1, n_cached - 1 - (n_items - was));
  return hits / (double)n_items;
}

struct hr__cache_misses hr__cache_misses(enum hr__cache_policy policy, int64_t n_items, int64_t n_cached,
                                         bool same_order) {
  if (n_cached >= n_items) return (struct hr__cache_misses){0};
  const int64_t kept = n_items - n_cached;
  if (policy == HR__CACHE_UNIFORM) return (struct hr__cache_misses){(double)kept, kept, kept};
  if (same_order || n_cached <= 0) return (struct hr__cache_misses){(double)n_items, n_items, n_items};
  /* fewest misses: all cached items are read first; most misses: each item is read just after it was evicted */
  return (struct hr__cache_misses){(double)n_items - expected_hits(n_items, n_cached), kept, n_items};
}

/* ---- MLPerf Storage -------------------------------------------------------------------------------------- */

int64_t hr__mlperf_files(const struct hr__mlperf *run) {
  const double by_steps = run->min_steps * run->batch * (double)run->accelerators;
  const double by_memory = run->memory_factor * (double)run->clients * run->client_bytes / run->sample_bytes;
  return (int64_t)floor(fmax(by_steps, by_memory) / run->samples_per_file);
}

double hr__mlperf_full_rate(const struct hr__mlperf *run) {
  return (double)run->accelerators * run->batch / run->step_s;
}

double hr__mlperf_rate(const struct hr__mlperf *run, double storage_bytes_s, double storage_samples_s) {
  return fmin(hr__mlperf_full_rate(run), fmin(storage_bytes_s / run->sample_bytes, storage_samples_s));
}
