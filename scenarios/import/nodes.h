/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_IMPORT_NODES_H
#define HR_SCENARIOS_IMPORT_NODES_H

/*
 * Pools from Kubernetes Nodes. Nodes are in one pool if they have the same GPU type, number of GPUs, sharing of GPUs,
 * CPUs, nearly the same memory (1 %), and the same values of the labels that the scheduler's configuration names.
 * Jobs of a trace have no tolerations, except of taints with the name of a GPU resource, which Kubernetes adds to pods
 * that request this resource (admission plug-in ExtendedResourceToleration).
 */

#include "headroom/unstable/catalog.h"
#include "scenarios/import/manifest.h"

extern const struct hr__object_kind hr__kind_node;

enum { HR__MAX_NODE_LABELS = 64, HR__MAX_NODE_LEVELS = 16 };

/* The properties of nodes that the configuration uses. Texts are borrowed. */
struct hr__node_interest {
  const char *labels[HR__MAX_NODE_LABELS]; /* keys with values that distinguish pools */
  uint32_t n_labels;
  const char *levels[HR__MAX_NODE_LEVELS]; /* keys of topology levels, widest first, without that of single nodes */
  uint32_t n_levels;
  bool respects_taints; /* leave out nodes with taints that jobs of a trace do not tolerate */
};

/* Adds a key unless the list has it. Further keys are ignored if the list is full. */
void hr__node_interest_add(struct hr__node_interest *interest, const char *key);
/* Adds the levels of a topology: a list (NULL: none) of objects with nodeLabel. The level of hosts is left out. */
void hr__node_interest_levels(struct hr__node_interest *interest, const struct hr__yaml *levels);

/* A pool. */
struct hr__node_pool {
  char name[100];
  const char *gpu;              /* of the catalogue, or as the nodes name it; borrowed */
  const struct hr__yaml *first; /* the first node; NULL: the pool is assumed */
  uint32_t n_nodes, n_gpus;
  int64_t cpu_milli, mem_mib; /* 0: unknown */
  uint32_t replicas;          /* parts of each GPU; 0: GPUs are not shared in time */
  bool mps;
  char layouts[1000];                      /* MIG: layouts of the GPUs, separated by ';'; "": none */
  uint32_t nodes_per_rack, racks_per_zone; /* 0: unknown */
};

/* The pools of a cluster. Must be initialized to zero. */
struct hr__node_pools {
  struct hr_catalog *catalog;
  struct hr__node_pool *list;
  uint32_t count, capacity;
  struct node_in_pool *nodes; /* used while pools are made */
  uint32_t n_nodes, node_capacity;
};

/* Makes the pools of all Nodes. Nodes that are not ready, cannot be scheduled or have no GPUs are left out, with
   notes. Without Node objects there are no pools. */
enum hr_status hr__node_pools_make(struct hr__node_pools *pools, const struct hr__objects *objects,
                                   const struct hr__node_interest *interest);
/* Adds a pool of `gpus` GPUs with unknown nodes. `gpu` is a name of the type. */
enum hr_status hr__node_pools_assume(struct hr__node_pools *pools, const struct hr__objects *objects, const char *name,
                                     const char *gpu, int64_t gpus);
/* Whether the nodes of a pool have all labels of a map (NULL: none). An assumed pool has no labels. */
bool hr__node_pool_has_labels(const struct hr__node_pool *pool, const struct hr__yaml *labels);
/* Writes the pools to `root`: cluster.pools. Returns false when out of memory. */
bool hr__node_pools_write(const struct hr__node_pools *pools, cJSON *root);
void hr__node_pools_finish(struct hr__node_pools *pools);

/* The label of a map that names a GPU type, such as nvidia.com/gpu.product; NULL: none. */
const struct hr__yaml *hr__gpu_label(const struct hr__yaml *labels);

#endif
