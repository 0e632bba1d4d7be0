/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_NAIVE_PACKING_H
#define HR_TESTS_KIT_NAIVE_PACKING_H

/* A second implementation of the placement rules in their simplest form: for every task, all nodes are examined. It
   shares only the random numbers and the structs of its inputs with the product. */

#include "headroom/unstable/capacity.h"

enum { NAIVE_MOST_GPUS = 8, NAIVE_MOST_NODES = 64 };

struct naive_node {
  uint32_t pool, id;
  bool whole_only; /* a task with a share of a GPU uses the whole GPU */
  bool closed;     /* at present no task fits on the node */
  int n_gpus, left[NAIVE_MOST_GPUS];
  /* free memory of each GPU in MiB; -1: unknown. `cpu` and `mem` are also -1 if unknown */
  long gpu_mem[NAIVE_MOST_GPUS];
  long cpu, mem, cpu_capacity, mem_capacity;
  long cpu_per_gpu; /* milli-CPUs that come with a GPU; 0 if none */
  int alone;        /* number of tasks that use the node exclusively */
  /* number of tasks on the node: with a share of a GPU, without a GPU, and by number of whole GPUs */
  int shares, no_gpu, whole[NAIVE_MOST_GPUS + 1];
};

struct naive {
  struct naive_node node[NAIVE_MOST_NODES]; /* ties are broken in this order */
  int n_nodes;
  struct hr_acceptance acceptance;
  const struct hr_typical_pods *typical;
  uint64_t seed, finds;
};

/* Returns the index in `node` of the node for a task; -1: it does not fit. Sets `*gpus` to the set of its GPUs. */
int naive_find(struct naive *naive, const char *rule, const struct hr_request *request, uint64_t *gpus);
/* Allocates (`by` is 1) or releases (`by` is -1) the resources of a task. */
void naive_change(struct naive_node *node, const struct hr_request *request, uint64_t gpus, int by);
/* Returns the fragment of the node, summed over the typical pods: F(node) x typical->total, as defined in
   headroom/unstable/fragmentation.h. */
long naive_fragment(const struct naive *naive, const struct naive_node *node);

#endif
