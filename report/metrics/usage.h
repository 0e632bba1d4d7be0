/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_USAGE_H
#define HR_REPORT_METRICS_USAGE_H

#include "base/text.h"
#include "headroom/policy.h"
#include "headroom/report.h"

/* ---- Fragmentation ------------------------------------------------------------------------------- */

/* Usage of the cluster over time: integrals of waiting jobs, allocated and total GPUs, by pool and in all, and
   fragmentation in clusters with per-GPU allocation. docs/reference/metrics.md defines the fragmentation counts. */

struct hr__fragment_counts {
  hr__wide fragment;       /* F of all nodes: milli-GPUs x fragment_pods */
  uint64_t stranded_milli; /* idle GPUs on nodes with too little free CPU or memory for every typical task */
  uint64_t largest_gang;   /* number of one-GPU tasks that fit into one pool */
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
  struct hr__pool_time now, at_last_end; /* at_last_end is valid if the pool changed after that end */
};

struct hr__by_pool {
  const struct hr_cluster *cluster;
  int64_t last_end_us;
  struct hr__usage_pool *pools; /* [n_pools] */
  uint32_t *last;               /* [n_jobs]: pool of the last attempt; HR_NONE: the job never ran */
};

/* Returns the integrals advanced to `until_us`, which is not before those of the pool. */
static inline struct hr__pool_time hr__pool_time_at(const struct hr__usage_pool *pool, int64_t until_us) {
  uint64_t passed_us = (uint64_t)(until_us - pool->until_us);
  return (struct hr__pool_time){pool->now.allocated_milli + (hr__wide)pool->allocated_milli * passed_us,
                                pool->now.total_milli + (hr__wide)pool->total_milli * passed_us};
}

/* Returns the integrals of a pool up to `until_us`: the last end of a job, or any time not before the last event. */
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
  hr__wide total_milli;     /* milli-GPUs x microseconds of GPUs present */
  /* Per-GPU allocation only: each member of struct hr__fragment_counts x microseconds. */
  hr__wide fragment, stranded_milli, largest_gang;
};

struct hr__fragment_share {
  hr__wide fragment;
  uint64_t total_milli; /* 0: no sample yet */
};

struct hr_usage {
  int64_t last_submit_us;
  uint64_t waiting, allocated_milli, total_milli; /* values since now.until_us */
  uint64_t max_waiting;
  struct hr__integrals now; /* up to the last instant */
  struct hr__integrals at_last_submit, at_last_end;
  bool submits_over, ended; /* at_last_submit is final; a job ended at the current instant */
  /* Created at the first event, because the cluster of the run is not known before. */
  bool begun, out_of_memory;
  struct hr__by_pool *by_pool;         /* NULL if the cluster has one pool */
  uint64_t fragment_pods;              /* pods that F is averaged over; 0 without fragments */
  struct hr__fragments *fragments;     /* NULL in clusters with counted allocation */
  struct hr__fragment_counts counts;   /* values since now.until_us */
  struct hr__fragment_share max_share; /* largest share of the present GPUs after any pass */
  uint64_t min_gang;                   /* smallest largest_gang after any pass; UINT64_MAX without a pass */
};

#endif
