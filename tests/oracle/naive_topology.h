/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_NAIVE_TOPOLOGY_H
#define HR_TESTS_ORACLE_NAIVE_TOPOLOGY_H

/*
 * Kueue's topology-aware scheduling, written from its rules in the simplest way: domains are objects with pointers,
 * lists are sorted by insertion, counts are computed again whenever they are needed, and sets of domains are found by
 * trying all of them. It shares no code with policies/kueue.
 */

#include <stdbool.h>
#include <stdint.h>

enum { NAIVE_LEVELS = 3, NAIVE_NODES = 10, NAIVE_RESOURCES = 3, NAIVE_PODS = 2 };

struct naive_leaf_node {
  int value[NAIVE_LEVELS];       /* of each level; nodes with equal values are one leaf */
  int64_t room[NAIVE_RESOURCES]; /* free amounts; the last one counts pods */
  bool excluded;
  int64_t affinity;
};

struct naive_topology {
  int n_levels, n_nodes;
  struct naive_leaf_node nodes[NAIVE_NODES];
  bool profile_mixed, balanced, affinity_preferred;
};

enum naive_mode { NAIVE_REQUIRED, NAIVE_PREFERRED, NAIVE_UNCONSTRAINED, NAIVE_ONLY_SLICES };

struct naive_pod_set {
  enum naive_mode mode;
  int level; /* the required or preferred level */
  int64_t pod[NAIVE_RESOURCES], leader[NAIVE_RESOURCES];
  bool has_leader;
  int64_t count;
  int n_slices; /* layers of slices, outermost first */
  int slice_level[2];
  int64_t slice_size[2];
};

/* The placement, by node. The pods of a leaf are at its first node. */
struct naive_placement {
  bool fits;
  int64_t pods[NAIVE_NODES];
  int leaders[NAIVE_NODES];
  int64_t enough_for; /* if the request does not fit: number of slices that fit */
};

void naive_topology_place(const struct naive_topology *world, const struct naive_pod_set *request,
                          struct naive_placement *result);

#endif
