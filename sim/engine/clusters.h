/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_CLUSTERS_H
#define HR_SIM_ENGINE_CLUSTERS_H

/*
 * The state of a run with several clusters, for clusters.c (engines, loop and copy of the state of all pools) and
 * routing.c (offers of the clusters to jobs, and the choice among them).
 */

#include "headroom/unstable/clusters.h"
#include "sim/clusters/job_router.h"
#include "sim/engine/engine.h"

/* A cluster of the run. */
struct hr__part {
  struct hr__clusters *all;
  struct hr__engine engine;
  struct hr_run_config config;
  struct hr_observer observer;
  uint32_t index;                  /* in hr__clusters.at */
  uint32_t first_pool, first_node; /* in the whole run */
  struct hr_cluster_result result;
  /* what the whole run has already counted of this cluster */
  uint32_t n_waiting, n_running;
  uint64_t allocated_milli, total_milli;
  /* for the router: the running jobs, and the sum over waiting jobs of milli-GPUs x expected run time */
  struct hr__expected_releases releases;
  hr_amount waiting_work;
  uint64_t waiting_milli;
  bool has_kinds; /* the price of a job follows from its traits, see struct hr__traits */
  /* at the present instant */
  uint64_t n_events, n_others; /* before the instant: all events; those that are not wake-ups of the policy */
  uint64_t n_ended;            /* jobs that had completed or were rejected */
  uint64_t idle_digest;        /* the digest when the last of the jobs so far had ended */
};

/* Everything by which an empty cluster distinguishes jobs. */
struct hr__traits {
  uint32_t request; /* in per-GPU allocation, otherwise the number of GPUs */
  uint32_t gpu_types, regions, class_, mig_profile, flags, model;
  uint64_t gpu_mem_mib;
};

/* The offers of all clusters to jobs, by their traits. A row has a price of a GPU hour for each cluster: HR_NEVER_US if
   the cluster can never run such jobs, HR__OFFER_UNKNOWN if it is not computed yet. Rows that do not fit are computed
   for each job. */
enum { HR__OFFER_ROWS = 1024, HR__OFFER_SLOTS = 4 * HR__OFFER_ROWS, HR__PLAIN_GPUS = 64, HR__OFFER_UNKNOWN = -1 };
struct hr__offers {
  struct hr__traits *traits; /* [HR__OFFER_ROWS] */
  int64_t *price;            /* [HR__OFFER_ROWS + 1][count]; the last row is scratch */
  uint32_t *slot;            /* [HR__OFFER_SLOTS]: hash table of rows + 1; 0: free */
  uint32_t *plain;           /* [HR__PLAIN_GPUS]: row + 1 by GPUs, if jobs differ in nothing else */
  uint32_t n_rows;
  const int64_t *asked; /* the row whose prices the loads have; NULL: none */
  bool is_plain, by_model;
};

struct hr__clusters {
  const struct hr_clusters *spec;
  struct hr__engine *whole;
  struct hr__part *at; /* [spec->count] */
  /* tournament tree of the times of next events: leaf i is cluster i, each inner node has the earlier time of both
     children; HR_NEVER_US: none */
  int64_t *next_us; /* [2 * n_leaves] */
  uint32_t n_leaves;
  uint64_t *awake;          /* [(count + 63) / 64]: clusters with events at the present instant */
  uint32_t *home;           /* by tenant of the trace, then one for jobs without a tenant */
  uint32_t *of_job;         /* the cluster of each job; HR_NONE before it is submitted */
  uint32_t *number;         /* of each job among the jobs of its cluster */
  int64_t *expected_end_us; /* of running jobs */
  struct hr__offers offers;
  struct hr__cluster_load *loads; /* by cluster; sizes and counts are always up to date */
  struct hr_slice *slices;        /* of one event, with the numbers of the whole run */
  uint32_t n_slices;
  int64_t spilled_uusd;
  bool predicts; /* the router uses predicted waits */
};

/* Returns the expected run time of a job: its estimate, otherwise its limit, otherwise its run time. */
static inline int64_t hr__expected_us(const struct hr_trace *trace, hr_job job) {
  if (trace->estimate_us && trace->estimate_us[job.id] != HR_UNKNOWN_US) return trace->estimate_us[job.id];
  if (trace->limit_us && trace->limit_us[job.id] != HR_UNKNOWN_US) return trace->limit_us[job.id];
  return trace->work_us[job.id];
}

/* ---- routing.c ---- */
/* Allocates what routing needs, after all engines were created. */
enum hr_status hr__routing_begin(struct hr__clusters *all);
/* Returns the cluster for a job that is submitted now. */
uint32_t hr__routing_choose(struct hr__clusters *all, hr_job job, int64_t now_us);
/* Returns the home of a job. */
uint32_t hr__routing_home(const struct hr__clusters *all, hr_job job);

#endif
