/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTERS_DATA_LOADING_H
#define HR_SIM_CLUSTERS_DATA_LOADING_H

/*
 * How fast a job runs that reads its training data, what caches save, and the sizes of the MLPerf Storage benchmark.
 * Bytes and bytes a second are double, because sizes of samples are averages. "Full speed" is the speed at which the
 * GPUs never wait for data.
 *
 * Sources: SiloD (EuroSys'23) for uniform caching; CoorDL (VLDB'21) for caches that evict nothing; mlcommons/storage,
 * Submission_guidelines.md, for the benchmark. The law for LRU is derived below.
 */

#include "headroom/base.h"

/* ---- Need and speed -------------------------------------------------------------------------------------- */

/* Bytes a second that one accelerator reads at full speed. */
double hr__io_need(double batch, double sample_bytes, double step_s);

/* A job that reads its data set once in each epoch, in a new random order. All speeds in bytes a second. */
struct hr__io_job {
  double full_speed;
  double remote;       /* bandwidth that it gets from remote storage */
  double cached;       /* bytes of its data set in the cache */
  double dataset;      /* bytes */
  bool is_first_epoch; /* nothing is in the cache yet */
};

/* Returns the speed with a cache that never evicts an item (uniform caching): min(full speed, remote / (1 - cached /
   dataset)). */
double hr__io_speed(const struct hr__io_job *job);
/* Returns the bandwidth that the job needs from remote storage at full speed. */
double hr__io_remote_need(const struct hr__io_job *job);

/* ---- Caches ---------------------------------------------------------------------------------------------- */

enum hr__cache_policy { HR__CACHE_UNIFORM, HR__CACHE_LRU };

/* The share of hits per epoch after the first, with many items of equal size. `share` is the share of the data set that
   fits. With `same_order`, all epochs have the same order. */
double hr__cache_hits(enum hr__cache_policy policy, double share, bool same_order);

struct hr__cache_misses {
  double mean;
  int64_t least, most;
};
/* The misses per epoch after the first with few items: exact, over all orders of two epochs. Time for LRU: O(n^2 c). */
struct hr__cache_misses hr__cache_misses(enum hr__cache_policy policy, int64_t n_items, int64_t n_cached,
                                         bool same_order);

/* ---- MLPerf Storage -------------------------------------------------------------------------------------- */

struct hr__mlperf {
  int64_t accelerators, clients;
  double client_bytes; /* memory of a client */
  double batch;        /* samples per accelerator and step */
  double sample_bytes; /* mean */
  double samples_per_file;
  double min_steps;     /* per epoch: 500 */
  double memory_factor; /* data set over the memory of all clients: 5 */
  double step_s;        /* compute time of a step */
};

/* Files of the smallest data set that the rules allow. */
int64_t hr__mlperf_files(const struct hr__mlperf *run);
/* Samples a second at full speed, and with storage of a number of bytes and of samples a second. A limit may
   be INFINITY. */
double hr__mlperf_full_rate(const struct hr__mlperf *run);
double hr__mlperf_rate(const struct hr__mlperf *run, double storage_bytes_s, double storage_samples_s);

#endif
