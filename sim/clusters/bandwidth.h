/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTERS_BANDWIDTH_H
#define HR_SIM_CLUSTERS_BANDWIDTH_H

/*
 * Max-min fair sharing of bandwidth. Flows cross resources: the total and the per-client bandwidth of a storage system,
 * links, networks of nodes. A sharing is max-min fair if no rate can grow without a smaller one (per weight) falling.
 * Rates and capacities have one unit, such as bytes a second.
 *
 * Source: progressive filling, Bertsekas and Gallager, Data Networks, section 6.5; Keshav, max-min weighted fair share.
 */

#include "headroom/base.h"

struct hr__flow {
  double demand;     /* at least 0; INFINITY: no limit */
  double weight;     /* above 0 */
  uint32_t first, n; /* its resources: crossed[first], ..., crossed[first + n - 1], all different */
};

/* The state of a resource while rates are raised. */
struct hr__filling {
  double left;   /* capacity that flows with a fixed rate leave */
  double weight; /* sum over the flows with a rate that still rises */
};

/*
 * Writes the max-min fair rate of each flow; INFINITY if nothing limits it. A capacity may be 0 or INFINITY. `filling`
 * [n_resources] and `rises` [n_flows] are scratch. Time: O(rounds x sum of n), with at most one round per resource and
 * per different level of demand.
 */
void hr__share_max_min(const struct hr__flow *flows, uint32_t n_flows, const uint32_t *crossed,
                       const double *capacities, uint32_t n_resources, struct hr__filling *filling, bool *rises,
                       double *rates);

/* The same for one resource that all flows cross. `order` [n_flows] is scratch. Time: O(n log n). */
void hr__share_one(const struct hr__flow *flows, uint32_t n_flows, double capacity, uint32_t *order, double *rates);

#endif
