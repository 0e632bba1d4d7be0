/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTERS_BANDWIDTH_H
#define HR_SIM_CLUSTERS_BANDWIDTH_H

/*
 * Max-min fair sharing of bandwidth. Flows cross resources: storage systems and links. A sharing is max-min fair if no
 * rate can be increased without decreasing a smaller rate (per weight). Each flow has a cap, its own limit. Flows over
 * the same resources have the same path. All flows of a path that are not limited by their cap have the same rate per
 * weight: the level of the path. So the result of sharing is one number per path.
 *
 * Layout: flows with the same path and cap are one share class. The classes of a path are a treap ordered by cap. Each
 * node has the sums of its subtree, so the use of a path at any level takes O(log classes).
 *
 * Rates are integers in units of the caller; sums have 128 bits. The sum of the rates of a full resource is at most its
 * capacity, and less than one unit per weight of the capacity is unused. The result depends only on the flows, not on
 * their history.
 *
 * Source: progressive filling, Bertsekas and Gallager, Data Networks, section 6.5; Keshav, max-min weighted fair share.
 * Level of a resource: Newton's method on the use as a function of the level, which is piecewise linear and concave.
 */

#include "headroom/base.h"

__extension__ typedef unsigned __int128 hr__wide;

/* No limit. Sums of caps below it, over 2^24 weights, do not overflow. */
#define HR__NO_LIMIT ((hr__wide)1 << 102)

enum { HR__PATH_RESOURCES = 8 };

struct hr__share_path {
  uint32_t resources[HR__PATH_RESOURCES], n_resources; /* all different */
  uint32_t root;                                       /* of the treap: index of a class + 1; 0: no flows */
  hr__wide level;                                      /* HR__NO_LIMIT: all flows have their cap */
  bool is_set;                                         /* scratch */
};

struct hr__share_class {
  hr__wide cap;    /* per weight */
  uint64_t weight; /* sum over its flows */
  uint32_t path, left, right, priority;
  uint64_t tree_weight; /* sums over the subtree */
  hr__wide tree_caps;   /* of cap x weight */
};

struct hr__bandwidth {
  struct hr__share_path *paths;
  struct hr__share_class *classes;
  uint32_t n_paths;
  /* by resource: capacity, the rest of it (scratch), and the level at which it was last full */
  hr__wide *capacity, *left, *level;
  uint32_t n_resources;
};

/* Adds a class to its path, or removes it. Its path, cap, weight and priority are set. */
void hr__shares_insert(struct hr__bandwidth *shares, uint32_t class_);
void hr__shares_remove(struct hr__bandwidth *shares, uint32_t class_);
/* Changes the weight of a class in the treap. */
void hr__shares_add(struct hr__bandwidth *shares, uint32_t class_, int64_t weight);
/* Returns the class of a path with exactly this cap; HR_NONE: none. */
uint32_t hr__shares_find(const struct hr__bandwidth *shares, const struct hr__share_path *path, hr__wide cap);
/* Sets the level of all paths. Time: O(resources^2 x paths of a resource x log classes). If the paths have no common
   resources, the factor resources^2 is only resources. */
void hr__shares_solve(struct hr__bandwidth *shares);

/* Returns the rate per weight of a flow with this cap. */
static inline hr__wide hr__share_rate(const struct hr__share_path *path, hr__wide cap) {
  return cap < path->level ? cap : path->level;
}

/* ---- Sharing among given flows ------------------------------------------------------------------------- */

struct hr__flow {
  double demand;     /* at least 0; INFINITY: no limit */
  double weight;     /* above 0 */
  uint32_t first, n; /* its resources: crossed[first], ..., crossed[first + n - 1], all different */
};

/* Writes the max-min fair rate of each flow; INFINITY if nothing limits it. A flow crosses at most HR__PATH_RESOURCES
   resources. A capacity may be 0 or INFINITY. Rates have an error of at most 1e-12 of the largest rate, if weights
   differ by a factor of at most 1,000. Returns
   HR_NO_MEMORY if memory is exhausted. */
enum hr_status hr__share_max_min(const struct hr__flow *flows, uint32_t n_flows, const uint32_t *crossed,
                                 const double *capacities, uint32_t n_resources, double *rates);

#endif
