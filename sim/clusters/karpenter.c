/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The costs of Karpenter's disruptions, and its consolidation: nodes with pods that fit elsewhere are deleted, or
 * replaced together by one cheaper node. Candidates are in falling order of savings per disruption. Invariant: the pods
 * of the nodes that go fit on the nodes that stay and on at most one new node, and that node costs less than what it
 * replaces. Source: kubernetes-sigs/karpenter, pkg/utils/disruption and pkg/controllers/disruption (balanced.go,
 * consolidation.go, multinodeconsolidation.go, singlenodeconsolidation.go).
 */

#include "sim/clusters/karpenter.h"

#include <math.h>

/* ---- Costs and scores ---------------------------------------------------------------------------------------- */

double hr__karpenter_eviction_cost(double priority, double deletion_cost) {
  const double cost = 1 + deletion_cost / 0x1p27 + priority / 0x1p25;
  return fmin(10, fmax(-10, cost));
}

struct hr__karpenter_score hr__karpenter_score(double savings, double disruption, struct hr__karpenter_totals pool,
                                               double k) {
  if (!(pool.cost > 0) || !(savings > 0)) return (struct hr__karpenter_score){false, 0};
  if (!(disruption > 0) || !(pool.disruption > 0)) return (struct hr__karpenter_score){true, (double)INFINITY};
  const double score = (savings / pool.cost) / (disruption / pool.disruption);
  return (struct hr__karpenter_score){score >= 1 / k, score};
}

struct hr__karpenter_score hr__karpenter_score_move(double savings, const struct hr__karpenter_part *parts,
                                                    uint32_t n_parts) {
  double cost = 0;
  for (uint32_t i = 0; i < n_parts; i++) cost += parts[i].cost;
  struct hr__karpenter_score lowest = {n_parts > 0, n_parts > 0 ? (double)INFINITY : 0};
  for (uint32_t i = 0; i < n_parts; i++) {
    const struct hr__karpenter_part *part = &parts[i];
    if (!part->is_balanced) continue;
    const double saved = cost > 0 && n_parts > 1 ? savings * (part->cost / cost) : savings;
    const struct hr__karpenter_score score = hr__karpenter_score(saved, part->disruption, part->pool, part->k);
    lowest.is_approved = lowest.is_approved && score.is_approved;
    lowest.score = fmin(lowest.score, score.score);
  }
  return lowest;
}

/* ---- Prices ---------------------------------------------------------------------------------------------- */

double hr__karpenter_node_price(const struct hr__karpenter_offering *offerings, uint32_t n_offerings, uint32_t zone,
                                bool is_spot) {
  double cheapest = (double)NAN;
  for (uint32_t i = 0; i < n_offerings; i++)
    if (offerings[i].is_spot == is_spot && (zone == HR__KARPENTER_ANY || offerings[i].zone == zone))
      cheapest = fmin(cheapest, offerings[i].price); // fmin ignores NAN
  return cheapest;
}

/* The dearest available offering of one kind. */
static double dearest(const struct hr__karpenter_world *world, uint32_t type, bool is_spot) {
  const struct hr__karpenter_type *row = &world->types[type];
  double price = (double)NAN;
  for (uint32_t i = row->first; i < row->first + row->n; i++) {
    const struct hr__karpenter_offering *offering = &world->offerings[i];
    if (offering->is_available && offering->is_spot == is_spot &&
        (world->zone == HR__KARPENTER_ANY || world->zone == offering->zone))
      price = fmax(price, offering->price);
  }
  return price;
}

double hr__karpenter_worst_price(const struct hr__karpenter_world *world, uint32_t type, bool *is_spot) {
  const double spot = world->allows_spot ? dearest(world, type, true) : (double)NAN;
  *is_spot = !isnan(spot);
  if (*is_spot) return spot;
  return world->allows_on_demand ? dearest(world, type, false) : (double)NAN;
}

static double price_of(const struct hr__karpenter_world *world, uint32_t type) {
  bool is_spot;
  return hr__karpenter_worst_price(world, type, &is_spot);
}

/* ---- Order ----------------------------------------------------------------------------------------------- */

static double ratio(const struct hr__karpenter_world *world, uint32_t node) {
  return hr__karpenter_savings_ratio(world->nodes[node].price, world->nodes[node].disruption);
}

uint32_t hr__karpenter_order(const struct hr__karpenter_world *world) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < world->n_nodes; i++) {
    if (!world->nodes[i].is_candidate) continue;
    uint32_t at = n++;
    for (; at > 0 && ratio(world, world->order[at - 1]) < ratio(world, i); at--)
      world->order[at] = world->order[at - 1];
    world->order[at] = i;
  }
  return n;
}

/* ---- Where the pods go ----------------------------------------------------------------------------------- */

/* Returns what a pod requests on a node of a type. */
static const struct hr__node_amounts *request_of(const struct hr__karpenter_world *world, uint32_t pod, uint32_t type) {
  return world->by_type ? &world->by_type[(size_t)pod * world->n_types + type] : &world->pods[pod];
}

/* Places a pod on a node that stays. */
static bool place(const struct hr__karpenter_world *world, uint32_t pod) {
  for (uint32_t i = 0; i < world->n_nodes; i++) {
    const struct hr__node_amounts *request = request_of(world, pod, world->nodes[i].type);
    if (world->leaves[i] || !hr__amounts_fit(request, &world->free[i])) continue;
    hr__amounts_add(&world->free[i], request, -1);
    return true;
  }
  return false;
}

/* Simulates that nodes order[first], ... go. Returns whether pods are left for a new node, and their requests: by type
   with `by_type`, otherwise one for all. */
static bool simulate(const struct hr__karpenter_world *world, uint32_t first, uint32_t n_nodes,
                     struct hr__node_amounts *left) {
  const uint32_t n_left = world->by_type ? world->n_types : 1;
  bool is_left = false;
  for (uint32_t i = 0; i < n_left; i++) left[i] = (struct hr__node_amounts){0};
  for (uint32_t i = 0; i < world->n_nodes; i++) {
    world->leaves[i] = false;
    world->free[i] = world->nodes[i].free;
  }
  for (uint32_t i = 0; i < n_nodes; i++) world->leaves[world->order[first + i]] = true;
  for (uint32_t i = 0; i < n_nodes; i++) {
    const struct hr__karpenter_node *node = &world->nodes[world->order[first + i]];
    for (uint32_t k = node->first; k < node->first + node->n; k++) {
      if (place(world, k)) continue;
      for (uint32_t type = 0; type < n_left; type++) hr__amounts_add(&left[type], request_of(world, k, type), 1);
      is_left = true;
    }
  }
  return is_left;
}

/* ---- The replacement ------------------------------------------------------------------------------------- */

/* Keeps the types that cost less than a limit. Returns their number. */
static uint32_t keep_cheaper(const struct hr__karpenter_world *world, uint32_t n_sent, double limit) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_sent; i++)
    if (price_of(world, world->sent[i]) < limit) world->sent[n++] = world->sent[i];
  return n;
}

/* Lists the types that can hold the pods, the cheapest first. */
static uint32_t list_types(const struct hr__karpenter_world *world, const struct hr__node_amounts *left) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < world->n_types; i++) {
    const double price = price_of(world, i);
    if (isnan(price) || !hr__amounts_fit(&left[world->by_type ? i : 0], &world->types[i].size)) continue;
    uint32_t at = n++;
    for (; at > 0 && price_of(world, world->sent[at - 1]) > price; at--) world->sent[at] = world->sent[at - 1];
    world->sent[at] = i;
  }
  return n;
}

/* If a type of the replacement is also being removed, the replacement must be cheaper than the cheapest such node. */
static double limit_of_same_type(const struct hr__karpenter_world *world, uint32_t first, uint32_t n_nodes,
                                 uint32_t n_sent) {
  double limit = (double)INFINITY;
  for (uint32_t i = 0; i < n_nodes; i++) {
    const struct hr__karpenter_node *node = &world->nodes[world->order[first + i]];
    for (uint32_t k = 0; k < n_sent; k++)
      if (world->sent[k] == node->type) limit = fmin(limit, node->price);
  }
  return limit;
}

/* Returns whether all types of the replacement are bought as spot nodes. */
static bool is_sent_as_spot(const struct hr__karpenter_world *world, uint32_t n_sent) {
  for (uint32_t i = 0; i < n_sent; i++) {
    bool is_spot;
    hr__karpenter_worst_price(world, world->sent[i], &is_spot);
    if (is_spot) return true;
  }
  return false;
}

/* The rules for replacing spot nodes by a spot node. Returns the number of types to send; 0: no replacement. */
static uint32_t limit_spot_types(const struct hr__karpenter_world *world, uint32_t n_nodes, uint32_t n_sent) {
  if (!world->spot_to_spot) return 0;
  if (n_nodes > 1) return n_sent;
  if (n_sent < HR__KARPENTER_SPOT_TYPES) return 0;
  const uint32_t most =
      world->min_types > HR__KARPENTER_SPOT_TYPES ? world->min_types : (uint32_t)HR__KARPENTER_SPOT_TYPES;
  return n_sent < most ? n_sent : most;
}

static struct hr__karpenter_command replace(const struct hr__karpenter_world *world, uint32_t first, uint32_t n_nodes,
                                            const struct hr__node_amounts *left) {
  const struct hr__karpenter_command nothing = {HR__KARPENTER_NOTHING, first, 0, 0, false};
  double cost = 0;
  bool all_spot = true;
  for (uint32_t i = 0; i < n_nodes; i++) {
    const struct hr__karpenter_node *node = &world->nodes[world->order[first + i]];
    cost += node->price;
    all_spot = all_spot && node->is_spot;
  }
  uint32_t n_sent = list_types(world, left);
  if (world->any_price)
    return n_sent ? (struct hr__karpenter_command){HR__KARPENTER_REPLACE, first, n_nodes, n_sent, false} : nothing;
  n_sent = keep_cheaper(world, n_sent, cost);
  if (n_nodes > 1) n_sent = keep_cheaper(world, n_sent, limit_of_same_type(world, first, n_nodes, n_sent));
  const bool is_spot = is_sent_as_spot(world, n_sent);
  if (all_spot && is_spot) n_sent = limit_spot_types(world, n_nodes, n_sent);
  if (n_sent == 0 || n_sent < world->min_types) return nothing;
  return (struct hr__karpenter_command){HR__KARPENTER_REPLACE, first, n_nodes, n_sent, is_spot};
}

struct hr__karpenter_command hr__karpenter_try(const struct hr__karpenter_world *world, uint32_t first,
                                               uint32_t n_nodes) {
  struct hr__node_amounts one, *left = world->by_type ? world->left : &one;
  if (!simulate(world, first, n_nodes, left))
    return (struct hr__karpenter_command){HR__KARPENTER_DELETE, first, n_nodes, 0, false};
  return replace(world, first, n_nodes, left);
}

struct hr__karpenter_command hr__karpenter_try_several(const struct hr__karpenter_world *world, uint32_t n_candidates) {
  struct hr__karpenter_command best = {HR__KARPENTER_NOTHING, 0, 0, 0, false};
  uint32_t low = 2, high = n_candidates < HR__KARPENTER_MAX_CANDIDATES ? n_candidates : HR__KARPENTER_MAX_CANDIDATES;
  while (low <= high) {
    const uint32_t middle = low + (high - low) / 2;
    const struct hr__karpenter_command command = hr__karpenter_try(world, 0, middle);
    if (command.action == HR__KARPENTER_NOTHING) {
      high = middle - 1;
    } else {
      best = command;
      low = middle + 1;
    }
  }
  /* the last try may have overwritten the types that the best one sends */
  return best.action == HR__KARPENTER_NOTHING ? best : hr__karpenter_try(world, 0, best.n_nodes);
}

struct hr__karpenter_command hr__karpenter_consolidate(const struct hr__karpenter_world *world) {
  const uint32_t n_candidates = hr__karpenter_order(world);
  struct hr__karpenter_command command = hr__karpenter_try_several(world, n_candidates);
  for (uint32_t i = 0; i < n_candidates && command.action == HR__KARPENTER_NOTHING; i++)
    command = hr__karpenter_try(world, i, 1);
  return command;
}
