/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTERS_JOB_ROUTER_H
#define HR_SIM_CLUSTERS_JOB_ROUTER_H

/*
 * The choice of a cluster for a job: pure functions of the loads of the clusters.
 *
 * The predicted wait of a job is computed as if the GPUs of a cluster were one pool, and the waiting jobs a queue
 * without backfill. A job starts at once if it fits into the GPUs that are neither allocated nor requested by waiting
 * jobs. Otherwise it starts when running jobs have released enough GPUs, at their expected ends, for this job and for
 * the jobs that already wait. If all running jobs together do not have enough GPUs, the job waits for the end of the
 * last of them. It then waits until the work of the waiting jobs, spread over all GPUs, is done. Fragmentation,
 * priorities and quotas are not considered.
 */

#include "headroom/unstable/clusters.h"

/* The running jobs of a cluster, sorted by their expected end. */
struct hr__expected_release {
  int64_t at_us;
  uint64_t milli; /* milli-GPUs of the job */
};
struct hr__expected_releases {
  struct hr__expected_release *at; /* from malloc */
  uint32_t count, capacity;
  uint64_t milli; /* of all jobs */
};

/* Adds or removes a job. hr__releases_add returns false if memory is exhausted. A job must be removed with the values
   with which it was added. */
bool hr__releases_add(struct hr__expected_releases *releases, int64_t at_us, uint64_t milli);
void hr__releases_remove(struct hr__expected_releases *releases, int64_t at_us, uint64_t milli);

/* The load of a cluster when a job is submitted. */
struct hr__cluster_load {
  bool eligible;        /* the cluster could run the job if it were empty */
  uint32_t n_waiting;   /* jobs */
  uint64_t size_milli;  /* milli-GPUs of all nodes, including those that can be requested */
  uint64_t used_milli;  /* milli-GPUs that are allocated or that waiting jobs request */
  int64_t wait_us;      /* predicted wait of the job; HR_NEVER_US: the cluster has no GPUs */
  int64_t price_uusd_h; /* the lowest additional price of a GPU hour for the job: 0 for owned and reserved nodes */
};

/* Returns the predicted wait of a job that requests `milli`, at the time `now_us`. `load`: its members `size_milli` and
   `used_milli`. `waiting_work`: sum over waiting jobs of milli-GPUs x expected run time. If the wait is at least
   `limit_us`, the result may be any time from `limit_us` on. */
int64_t hr__predicted_wait_us(const struct hr__cluster_load *load, const struct hr__expected_releases *releases,
                              hr_amount waiting_work, uint64_t milli, int64_t now_us, int64_t limit_us);

/* The job to be sent. */
struct hr__routed_job {
  uint64_t milli;      /* milli-GPUs */
  int64_t expected_us; /* expected run time */
  int64_t slack_us;    /* from now to its deadline; HR_NEVER_US: none */
  uint32_t home;
};

/* Returns the index of the cluster for the job. `spent_uusd`: predicted cost of the jobs that were spilled before; the
   function adds the cost of this one. */
uint32_t hr__job_router_choose(const struct hr_job_router_spec *router, const struct hr__cluster_load *loads,
                               uint32_t n_clusters, const struct hr__routed_job *job, int64_t *spent_uusd);

/* The same for a rule of `affinity`: the first of its clusters in which the predicted wait is within the bound; if
   there is none, the best of all clusters within the bound, unless others are not allowed; otherwise the first of its
   clusters that could run the job, or the best of the others. HR_NONE: no allowed cluster can. */
uint32_t hr__job_router_prefer(const struct hr_job_router_spec *router, const struct hr_job_router_rule *rule,
                               const struct hr__cluster_load *loads, uint32_t n_clusters);

/* ---- MultiKueue --------------------------------------------------------------------------------- */

/* To which worker clusters MultiKueue offers a workload. In each round, further clusters are nominated; they remain
   nominated until the workload is admitted or queued again. Clusters are dense indices in the order of the
   configuration. Times are microseconds of one clock. Invariant: no cluster is nominated twice.

   Source: kubernetes-sigs/kueue, pkg/controller/workloaddispatcher (incremental dispatcher), keps/693-multikueue. */

enum { HR__MULTIKUEUE_STEP = 3 /* clusters per round */ };

struct hr__multikueue_spec {
  bool is_incremental; /* otherwise all clusters at once */
  uint32_t step;       /* clusters per round; 0: HR__MULTIKUEUE_STEP */
  int64_t round_us;    /* a round is over after more than this: 5 min */
};

extern const struct hr__multikueue_spec hr__multikueue_defaults;

/* The offer of one workload. */
struct hr__multikueue_offer {
  uint32_t *nominated; /* [n_clusters], in order; earlier nominations stay */
  uint32_t n_nominated;
  int64_t round_us; /* start of the round; without meaning before the first one */
};

/* Starts the next round if the present one is over. `preference` has all connected clusters: in the order of the
   configuration, or by name in older releases. Returns false if no cluster is left to nominate. */
bool hr__multikueue_nominate(const struct hr__multikueue_spec *spec, struct hr__multikueue_offer *offer,
                             const uint32_t *preference, uint32_t n_clusters, int64_t now_us);

#endif
