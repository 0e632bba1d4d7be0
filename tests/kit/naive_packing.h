/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_NAIVE_PACKING_H
#define HR_TESTS_KIT_NAIVE_PACKING_H

/* The placement rules in the simplest form: every task examines every node. It shares only random numbers and the
   structs of requests with the product. */

#include "headroom/unstable/placement.h"

enum { NAIVE_MOST_GPUS = 8, NAIVE_MOST_NODES = 64 };

struct naive_node {
  uint32_t pool, id;
  bool whole_only; /* a share of a GPU takes all of it */
  bool closed;     /* nothing fits for the moment */
  int n_gpus, left[NAIVE_MOST_GPUS];
  long gpu_mem[NAIVE_MOST_GPUS]; /* -1: not told; likewise below */
  long cpu, mem, cpu_capacity, mem_capacity;
  long cpu_per_gpu;                               /* thousandths that go with a GPU; 0: none */
  int alone;                                      /* a task has it to itself */
  int shares, no_gpu, whole[NAIVE_MOST_GPUS + 1]; /* tasks that are there: by kind, and by GPUs */
};

struct naive {
  struct naive_node node[NAIVE_MOST_NODES]; /* in the order in which ties go */
  int n_nodes;
  struct hr_acceptance acceptance;
  const struct hr_typical_pods *typical;
  uint64_t seed, finds;
};

/* Where the task goes: a place in `node`, -1 for nowhere; and which GPUs. */
int naive_find(struct naive *naive, const char *rule, const struct hr_request *request, uint64_t *gpus);
/* `by` 1: it is taken, -1: given back. */
void naive_change(struct naive_node *node, const struct hr_request *request, uint64_t gpus, int by);
/* F x the number of typical pods. */
long naive_fragment(const struct naive *naive, const struct naive_node *node);

#endif
