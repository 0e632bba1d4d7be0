/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_DATA_CACHES_H
#define HR_SIM_DATA_CACHES_H

/*
 * Caches of nodes. A job on k nodes keeps the k-th part of its data set in the cache of each; the nodes read from each
 * other's caches. Room is taken when a job starts, first from data sets that no running job on the node reads. Data in
 * the cache become valid when the job has read the whole data set once, and remain for later jobs.
 *
 * Layout: a matrix of nodes x data sets. Source: CoorDL (VLDB 2021), partitioned caching; Hoard (2018).
 */

#include "headroom/base.h"
#include "headroom/policy.h"

struct hr__caches;

struct hr__cached {
  int64_t taken, valid; /* bytes of the data set: with room, and already there */
};

/* Creates empty caches with memory from the arena; NULL if memory is exhausted. */
struct hr__caches *hr__caches_create(struct hr_arena *arena, uint32_t n_nodes, uint32_t n_sets);
/* A job with this placement begins to read a data set of `bytes`. `first_node`: number of node 0 of the placement's
   cluster. `node_bytes`: size of the cache of each node. */
struct hr__cached hr__caches_take(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                                  uint32_t set, int64_t bytes, int64_t node_bytes);
/* The job has read the whole data set: all room is valid. */
void hr__caches_fill(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                     uint32_t set);
/* A node is gone, with its cache. No job may be on it. */
void hr__caches_clear(struct hr__caches *caches, hr_node node, uint32_t first_node);
/* The job leaves. */
void hr__caches_leave(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                      uint32_t set);
/* Returns how many bytes of a data set are in the cache of a node. */
int64_t hr__caches_valid(const struct hr__caches *caches, hr_node node, uint32_t first_node, uint32_t set);
/* Returns a number that changes when results of hr__caches_valid may have changed. */
uint64_t hr__caches_changes(const struct hr__caches *caches);

#endif
