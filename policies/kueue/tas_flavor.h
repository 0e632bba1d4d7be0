/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_TAS_FLAVOR_H
#define HR_POLICIES_KUEUE_TAS_FLAVOR_H

/* The nodes of a flavor as a topology, and requests in terms of its levels and leaves. */

#include "policies/kueue/kueue.h"
#include "policies/kueue/tas.h"

/* The label whose value is the name of the host. */
#define HR__TAS_HOST_LABEL "kubernetes.io/hostname"

struct hr__tas_node {
  const char *name;
  struct hr__kueue_labels labels;
  struct hr__kueue_taints taints;
  int64_t *free; /* [resource] allocatable amounts without the use of pods that Kueue does not place */
  bool usable;   /* ready and schedulable */
};

struct hr__tas_nodes {
  struct hr__tas_node *items;
  uint32_t count;
  uint32_t n_resources;
  uint32_t pods; /* the resource that counts pods */
};

struct hr__tas_flavor {
  const char *const *levels; /* label keys */
  uint32_t n_levels;
  struct hr__kueue_tolerations tolerations;
  struct hr__tas_tree tree;
  struct hr__tas_snapshot snapshot;
  const struct hr__tas_node **leaf_nodes; /* by leaf, if the tree is by host */
};

/* Builds the topology of the usable nodes that have all `labels` and all levels. The levels must outlive the flavor.
   Returns false if memory is exhausted. */
bool hr__tas_flavor_build(struct hr__tas_flavor *flavor, struct hr_arena *arena, const struct hr__tas_nodes *nodes,
                          const char *const *levels, uint32_t n_levels, const struct hr__kueue_labels *labels,
                          struct hr__kueue_tolerations tolerations);
/* Returns the number of a level; HR__TAS_UNKNOWN_LEVEL if the topology does not have it. */
uint32_t hr__tas_flavor_level(const struct hr__tas_flavor *flavor, const char *key);
/* Sets the levels and slices of a request. A pod set without request is implied. */
void hr__tas_flavor_request(const struct hr__tas_flavor *flavor, const struct hr__kueue_topology_request *topology,
                            struct hr__tas_request *request);
/* Sets which leaves can run the pods, and how much they prefer them; does nothing if leaves are not nodes. `excluded`
   and `affinity` have one entry per leaf. */
void hr__tas_flavor_match(const struct hr__tas_flavor *flavor, const struct hr__kueue_selector *selector,
                          uint8_t *excluded, int64_t *affinity);
/* Returns the leaf of a domain of a placement; HR_NONE if there is none. */
uint32_t hr__tas_flavor_leaf(const struct hr__tas_flavor *flavor, const struct hr__kueue_placement *placement,
                             uint32_t domain);
/* Returns the placement of parts, in memory of the arena; NULL if memory is exhausted. */
const struct hr__kueue_placement *hr__tas_flavor_placement(const struct hr__tas_flavor *flavor, struct hr_arena *arena,
                                                           const struct hr__tas_part *parts, uint32_t count);

#endif
