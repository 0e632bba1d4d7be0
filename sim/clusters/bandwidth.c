/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Max-min fair sharing by progressive filling: the level (rate per weight) of all flows rises until a resource is full
 * or a flow has its demand; these flows keep their rate, and the level of the others rises further. Invariant: every
 * flow has its demand, or crosses a full resource on which no flow has a higher level.
 */

#include "sim/clusters/bandwidth.h"

#include <math.h>

/* ---- Any number of resources ----------------------------------------------------------------------------- */

/* The level at which a resource is full. Rounding never makes it negative. */
static double full_level(const struct hr__filling *resource) {
  if (resource->weight <= 0) return (double)INFINITY;
  return resource->left > 0 ? resource->left / resource->weight : 0;
}

/* The level at which a flow stops to rise. */
static double stop_level(const struct hr__flow *flow, const uint32_t *crossed, const struct hr__filling *filling) {
  double level = flow->demand / flow->weight;
  for (uint32_t i = 0; i < flow->n; i++) level = fmin(level, full_level(&filling[crossed[flow->first + i]]));
  return level;
}

static void fix_rate(const struct hr__flow *flow, const uint32_t *crossed, struct hr__filling *filling, double rate) {
  for (uint32_t i = 0; i < flow->n; i++) {
    struct hr__filling *resource = &filling[crossed[flow->first + i]];
    resource->left -= rate;
    resource->weight -= flow->weight;
  }
}

static void start_filling(const struct hr__flow *flows, uint32_t n_flows, const uint32_t *crossed,
                          const double *capacities, uint32_t n_resources, struct hr__filling *filling) {
  for (uint32_t i = 0; i < n_resources; i++) filling[i] = (struct hr__filling){capacities[i], 0};
  for (uint32_t i = 0; i < n_flows; i++)
    for (uint32_t k = 0; k < flows[i].n; k++) filling[crossed[flows[i].first + k]].weight += flows[i].weight;
}

/* Computes the sum of the weights again, so that rounding errors do not remain. */
static void sum_weights(const struct hr__flow *flows, uint32_t n_flows, const uint32_t *crossed, const bool *rises,
                        uint32_t n_resources, struct hr__filling *filling) {
  for (uint32_t i = 0; i < n_resources; i++) filling[i].weight = 0;
  for (uint32_t i = 0; i < n_flows; i++)
    for (uint32_t k = 0; rises[i] && k < flows[i].n; k++)
      filling[crossed[flows[i].first + k]].weight += flows[i].weight;
}

void hr__share_max_min(const struct hr__flow *flows, uint32_t n_flows, const uint32_t *crossed,
                       const double *capacities, uint32_t n_resources, struct hr__filling *filling, bool *rises,
                       double *rates) {
  start_filling(flows, n_flows, crossed, capacities, n_resources, filling);
  for (uint32_t i = 0; i < n_flows; i++) rises[i] = true;
  for (uint32_t n_rising = n_flows; n_rising > 0;) {
    double level = (double)INFINITY;
    for (uint32_t i = 0; i < n_flows; i++)
      if (rises[i]) level = fmin(level, stop_level(&flows[i], crossed, filling));
    /* Which flows stop is decided before any rate is fixed, as fixing one changes the levels. */
    for (uint32_t i = 0; i < n_flows; i++) {
      if (!rises[i]) continue;
      rates[i] = stop_level(&flows[i], crossed, filling);
    }
    for (uint32_t i = 0; i < n_flows; i++) {
      if (!rises[i] || rates[i] > level) continue;
      const double share = level * flows[i].weight;
      rates[i] = flows[i].demand / flows[i].weight <= level ? flows[i].demand : share;
      rises[i] = false;
      n_rising--;
      if (!isinf(rates[i])) fix_rate(&flows[i], crossed, filling, rates[i]);
    }
    if (isinf(level)) return;
    sum_weights(flows, n_flows, crossed, rises, n_resources, filling);
  }
}

/* ---- One resource ---------------------------------------------------------------------------------------- */

static bool is_after(const struct hr__flow *flows, uint32_t a, uint32_t b) {
  return flows[a].demand / flows[a].weight > flows[b].demand / flows[b].weight;
}

/* Moves an index down in a heap; its first entry has the highest demand per weight. */
static void sink(const struct hr__flow *flows, uint32_t *heap, uint32_t count, uint32_t hole) {
  const uint32_t item = heap[hole];
  for (uint32_t child = 2 * hole + 1; child < count; child = 2 * hole + 1) {
    child += child + 1 < count && is_after(flows, heap[child + 1], heap[child]);
    if (!is_after(flows, heap[child], item)) break;
    heap[hole] = heap[child];
    hole = child;
  }
  heap[hole] = item;
}

static void sort_by_demand(const struct hr__flow *flows, uint32_t n_flows, uint32_t *order) {
  for (uint32_t i = 0; i < n_flows; i++) order[i] = i;
  for (uint32_t i = n_flows / 2; i > 0; i--) sink(flows, order, n_flows, i - 1);
  for (uint32_t i = n_flows; i > 1; i--) {
    const uint32_t last = order[i - 1];
    order[i - 1] = order[0];
    order[0] = last;
    sink(flows, order, i - 1, 0);
  }
}

void hr__share_one(const struct hr__flow *flows, uint32_t n_flows, double capacity, uint32_t *order, double *rates) {
  double weight = 0;
  for (uint32_t i = 0; i < n_flows; i++) weight += flows[i].weight;
  sort_by_demand(flows, n_flows, order);
  for (uint32_t i = 0; i < n_flows; i++) {
    const struct hr__flow *flow = &flows[order[i]];
    /* the last flow gets all that is left, without the rounding of the sum of weights */
    const double share = i + 1 == n_flows ? capacity : capacity * (flow->weight / weight);
    rates[order[i]] = fmin(flow->demand, share);
    if (!isinf(capacity)) capacity = fmax(0, capacity - rates[order[i]]);
    weight -= flow->weight;
  }
}
