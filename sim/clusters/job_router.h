/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTERS_JOB_ROUTER_H
#define HR_SIM_CLUSTERS_JOB_ROUTER_H

/*
 * The choice of a cluster for a job: a pure function of the loads of the clusters.
 *
 * The predicted wait treats the GPUs of a cluster as one server. A job that fits into the GPUs that are neither
 * allocated nor waited for starts at once. Otherwise it waits until the work before it is done: the remaining expected
 * time of running jobs and the expected time of waiting jobs, in GPU time, divided by the number of GPUs.
 * Fragmentation, priorities and quotas are not considered.
 */

#include "headroom/unstable/clusters.h"

/* The load of a cluster when a job is submitted. */
struct hr__cluster_load {
  bool eligible;        /* the cluster could run the job if it were empty */
  uint32_t n_waiting;   /* jobs */
  uint64_t size_milli;  /* milli-GPUs of all nodes, including those that can be requested */
  uint64_t used_milli;  /* milli-GPUs that are allocated or that waiting jobs request */
  hr_amount backlog;    /* milli-GPU x microseconds: expected remaining time of running and waiting jobs */
  int64_t price_uusd_h; /* the lowest additional price of a GPU hour for the job: 0 for owned and reserved nodes */
};

/* The job to be sent. */
struct hr__routed_job {
  uint64_t milli;      /* milli-GPUs */
  int64_t expected_us; /* expected run time */
  int64_t slack_us;    /* from now to its deadline; HR_NEVER_US: none */
  uint32_t home;
};

/* Returns the predicted wait of a job in a cluster with this load; HR_NEVER_US if the cluster has no GPUs. */
int64_t hr__predicted_wait_us(const struct hr__cluster_load *load, uint64_t milli);

/* Returns the index of the cluster for the job. `spent_uusd`: predicted cost of the jobs that were spilled before; the
   function adds the cost of this one. */
uint32_t hr__job_router_choose(const struct hr_job_router_spec *router, const struct hr__cluster_load *loads,
                               uint32_t n_clusters, const struct hr__routed_job *job, int64_t *spent_uusd);

#endif
