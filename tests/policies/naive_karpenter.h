/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_POLICIES_NAIVE_KARPENTER_H
#define HR_TESTS_POLICIES_NAIVE_KARPENTER_H

/*
 * A slow and simple simulation of Karpenter. Every 10 s it examines all waiting jobs and all nodes, even if nothing has
 * changed, and uses simple lists of nodes. Each job fits on one node. Jobs start strictly in the order of their
 * submission, each on the first node on which it fits. It shares no code with Headroom except the random draws.
 */

#include <stdbool.h>
#include <stdint.h>

enum { NAIVE_TYPES = 4, NAIVE_NODE_POOLS = 3, NAIVE_PODS = 48, NAIVE_CLAIMS = 256, NAIVE_DRIFTS = 2 };
enum naive_reason { NAIVE_EMPTY, NAIVE_UNDERUTILIZED, NAIVE_DRIFTED, NAIVE_REASONS };

struct naive_type {
  uint32_t nodes, size, node_pool;
  int64_t price_uusd_h, boot_us;
  bool is_spot;       /* its nodes are never reclaimed */
  double no_capacity; /* probability that a request for a node fails */
  /* results */
  uint32_t launches, removals, failures;
  int64_t up_us; /* sum over nodes of the time from the request until the removal */
};

struct naive_node_pool {
  uint32_t weight, max_nodes, max_gpus; /* UINT32_MAX: no limit */
  uint32_t budget, percent;             /* percent: UINT32_MAX: `budget` is a number of nodes */
  bool limits[NAIVE_REASONS];           /* the reasons for which the budget applies */
  uint32_t every_min, active_s; /* it applies for active_s after each multiple of every_min in an hour; 0: always */
  bool removes_empty, consolidates;
  int64_t after_us, expire_us;
  int64_t drifts_us[NAIVE_DRIFTS]; /* 0: none */
};

struct naive_pod {
  int64_t submit_us, work_us;
  uint32_t gpus;
  int64_t start_us, end_us; /* results: the first start, and the end of the last attempt */
};

struct naive_claims {
  struct naive_type types[NAIVE_TYPES];
  struct naive_node_pool node_pools[NAIVE_NODE_POOLS];
  struct naive_pod pods[NAIVE_PODS]; /* sorted by submit time */
  uint32_t n_types, n_node_pools, n_pods;
  int64_t idle_us, max_us, provision_us, unavailable_us;
  bool spot_to_spot;
  uint64_t seed;
  uint32_t n_moved[NAIVE_REASONS], n_replaced[NAIVE_REASONS]; /* results: commands that delete, and that replace */
};

/* Returns false if the run does not end. */
bool naive_karpenter_run(struct naive_claims *world);

#endif
