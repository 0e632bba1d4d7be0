/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_POLICIES_KAI_NAIVE_H
#define HR_TESTS_POLICIES_KAI_NAIVE_H

/* A second implementation of KAI for small clusters with whole GPUs, without topologies: slow and simple. It computes
   all sums again from the pods each time, and undoes changes by copying the state. It shares only the description of
   the cluster with Headroom's model. */

#include "policies/kai/solver.h"

enum { NAIVE_PODS = 48, NAIVE_QUEUES = 8, NAIVE_JOBS = 16 };

struct naive_pod {
  int status, node; /* node -1: none */
  int left[2];      /* the nodes that the pod leaves while it waits for another one; -1: none */
  int was;          /* the status before it was evicted */
  bool is_virtual;  /* evicted by a search that is not finished */
};

struct naive {
  const struct hr__kai_cluster *cluster;
  double fair[NAIVE_QUEUES][HR__KAI_RESOURCES];
  struct naive_pod pods[NAIVE_PODS];
};

/* Reads the placement of the pods, and computes the fair shares of the queues. */
void naive_start(struct naive *s, const struct hr__kai_cluster *cluster, const struct hr__kai_start *start);
void naive_run(struct naive *s, enum hr__kai_action action);

#endif
