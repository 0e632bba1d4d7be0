/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_POLICIES_NAIVE_SCALING_H
#define HR_TESTS_POLICIES_NAIVE_SCALING_H

/*
 * A slow and simple simulation of the cluster autoscaler. It scans at each multiple of the interval, and copies all
 * nodes for each placement test. Jobs start strictly in the order of their submission, each on the first node on which
 * it fits. All amounts are whole GPUs. It shares no code with Headroom except the random draws.
 */

#include "headroom/sim.h"
#include "headroom/unstable/clusters.h"

#include <stdbool.h>

enum { NAIVE_POOLS = 4, NAIVE_NODES = 64, NAIVE_JOBS = 64 };

struct naive_pool {
  uint32_t nodes, size, min_nodes, priority;
  bool is_elastic;
  int64_t price_uusd_h, boot_us;
  int64_t queue_us;   /* the time from a request until the provider delivers the node */
  int64_t max_run_us; /* maximum lifetime of a node; 0: no limit. naive_scaling_run ignores it; only Headroom applies
                         it */
  double no_capacity; /* probability that a request for a node fails */
  /* results */
  uint32_t added, removed, failures;
  int64_t up_us; /* sum over nodes of the time from the delivery until the removal */
};

struct naive_job {
  int64_t submit_us, work_us;
  uint32_t gpus;
  int64_t start_us; /* result */
};

struct naive_world {
  struct naive_pool pools[NAIVE_POOLS];
  uint32_t n_pools;
  struct naive_job jobs[NAIVE_JOBS]; /* sorted by submit time */
  uint32_t n_jobs;
  struct hr_autoscaler_spec spec;
  struct hr_expander expanders[HR_N_EXPANDERS];
  struct hr_scaling_quota quotas[2];
  bool of_pool[2][NAIVE_POOLS]; /* storage for quotas[k].of_pool */
  uint64_t seed;
  int64_t end_us; /* result */
};

/* Returns false if the run does not end. */
bool naive_scaling_run(struct naive_world *world);

#endif
