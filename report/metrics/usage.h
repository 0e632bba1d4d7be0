/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_USAGE_H
#define HR_REPORT_METRICS_USAGE_H

#include "base/text.h"
#include "headroom/policy.h"
#include "headroom/report.h"

/* ---- Fragmentation ------------------------------------------------------------------------------- */

/* This header declares the usage of the cluster over time: integrals of waiting jobs, allocated GPUs and present GPUs,
   for the whole cluster and by pool; and fragmentation, in clusters with per-GPU allocation. docs/reference/metrics.md
   defines the fragmentation counts. */

struct hr__fragment_counts {
  hr__wide fragment;       /* F of all nodes, summed over the typical pods: milli-GPUs x fragment_pods */
  uint64_t stranded_milli; /* idle GPUs on nodes with too little free CPU or memory for every typical task */
  uint64_t largest_gang;   /* maximum number of one-GPU tasks that fit into one pool at the same time */
};

struct hr__fragments;
/* ---- Usage by pool ------------------------------------------------------------------------------- */

/* Integrals from time zero: milli-GPUs x microseconds. */
struct hr__pool_time {
  hr__wide allocated_milli, total_milli;
};

struct hr__usage_pool {
  int64_t until_us;
  uint64_t allocated_milli, total_milli; /* values since `until_us` */
  struct hr__pool_time now, at_last_end; /* at_last_end: valid only if until_us > last_end_us */
};

struct hr__by_pool {
  const struct hr_cluster *cluster;
  int64_t last_end_us;
  struct hr__usage_pool *pools; /* [n_pools] */
  uint32_t *last;               /* [n_jobs]: pool of the last attempt; HR_NONE: the job never ran */
};

/* Returns the integrals of a pool up to `until_us`, which must be at or after pool->until_us. */
static inline struct hr__pool_time hr__pool_time_at(const struct hr__usage_pool *pool, int64_t until_us) {
  uint64_t passed_us = (uint64_t)(until_us - pool->until_us);
  return (struct hr__pool_time){pool->now.allocated_milli + (hr__wide)pool->allocated_milli * passed_us,
                                pool->now.total_milli + (hr__wide)pool->total_milli * passed_us};
}

/* Returns the integrals of a pool up to `until_us`. `until_us` must be the time of the last end of a job, or a time at
   or after the last event. */
static inline struct hr__pool_time hr__by_pool_until(const struct hr__by_pool *by_pool, hr_pool pool,
                                                     int64_t until_us) {
  const struct hr__usage_pool *self = &by_pool->pools[pool.id];
  return self->until_us <= until_us ? hr__pool_time_at(self, until_us) : self->at_last_end;
}

/* ---- Usage of the cluster ------------------------------------------------------------------------ */

/* Integrals from time zero to `until_us`. */
struct hr__integrals {
  int64_t until_us;
  hr__wide waiting;         /* jobs x microseconds */
  hr__wide allocated_milli; /* milli-GPUs x microseconds */
  hr__wide total_milli;     /* present GPUs: milli-GPUs x microseconds */
  /* Integrals of the members of struct hr__fragment_counts; 0 in clusters with counted allocation. */
  hr__wide fragment, stranded_milli, largest_gang;
};

struct hr__fragment_share {
  hr__wide fragment;
  uint64_t total_milli; /* present GPUs; 0: no value yet */
};

struct hr_usage {
  int64_t last_submit_us;
  uint64_t waiting, allocated_milli, total_milli; /* values since now.until_us */
  uint64_t max_waiting, preemptions;
  struct hr__integrals now; /* up to the last instant */
  struct hr__integrals at_last_submit, at_last_end;
  bool submits_over, ended; /* submits_over: the last job was submitted, so at_last_submit does not change any more;
                               ended: a job ended at the current instant */
  /* The members below are created at the first event, because the cluster of the run is unknown before. */
  bool begun, out_of_memory;
  struct hr__by_pool *by_pool;         /* NULL if the cluster has one pool */
  uint64_t fragment_pods;              /* number of typical pods over which F is averaged; 0 if `fragments` is NULL */
  struct hr__fragments *fragments;     /* NULL in clusters with counted allocation */
  struct hr__fragment_counts counts;   /* values since now.until_us */
  struct hr__fragment_share max_share; /* maximum over all passes of fragment / total_milli */
  uint64_t min_gang;                   /* minimum of largest_gang over all passes; UINT64_MAX before the first pass */
};

#endif
