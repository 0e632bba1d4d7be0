/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Computes how many new nodes of one node group the cluster autoscaler needs for pending pods, by first fit over the
 * new nodes. One array contains the existing nodes, followed by the new nodes in the order in which they are added.
 * Invariant: the pods of a node fit into its resources and its maximum number of pods, no two of them have the same
 * host port, and a pod is placed only if its owner's maximum skew is not exceeded. Source: kubernetes/autoscaler,
 * cluster-autoscaler/estimator.
 */

#include "sim/clusters/cluster_autoscaler.h"

int64_t hr__ca_smaller_limit(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return -1;
  return b > 0 && (b < a || a == 0) ? b : a;
}

int64_t hr__ca_cluster_limit(int64_t max_nodes, int64_t nodes) {
  if (max_nodes == 0) return 0;
  return hr__ca_room_limit(max_nodes - nodes);
}

/* ---- Whether a pod may go to a node ---------------------------------------------------------------------- */

static uint64_t port_bit(const struct hr__ca_pods *pods) {
  return pods->host_port ? UINT64_C(1) << (pods->host_port - 1) : 0;
}

static bool has_room(const struct hr__ca_node *node, const struct hr__ca_pods *pods) {
  return node->pods_left > 0 && !(node->ports & port_bit(pods)) && hr__amounts_fit(&pods->request, &node->free);
}

/* Returns the smallest number of pods of the owner on a node; 0 if there are fewer than `min_domains` nodes. */
static int64_t emptiest_host(const struct hr__ca_packing *packing, const struct hr__ca_pods *pods) {
  if (packing->n_nodes < pods->min_domains) return 0;
  int64_t fewest = INT64_MAX;
  for (uint32_t i = 0; i < packing->n_nodes; i++)
    if (packing->nodes[i].own < fewest) fewest = packing->nodes[i].own;
  return fewest;
}

/* Returns by how much the number of pods of the owner in `zone` exceeds that of the zone with the fewest of them. With
   fewer than `min_domains` zones, the latter counts as 0. */
static int64_t above_emptiest_zone(const struct hr__ca_packing *packing, const struct hr__ca_pods *pods,
                                   uint32_t zone) {
  int64_t own[HR__CA_MAX_ZONES];
  for (uint32_t i = 0; i < HR__CA_MAX_ZONES; i++) own[i] = -1;
  for (uint32_t i = 0; i < packing->n_nodes; i++) {
    int64_t *pods_of_zone = &own[packing->nodes[i].zone];
    *pods_of_zone = (*pods_of_zone < 0 ? 0 : *pods_of_zone) + packing->nodes[i].own;
  }
  int64_t fewest = INT64_MAX, n_zones = 0;
  for (uint32_t i = 0; i < HR__CA_MAX_ZONES; i++) {
    if (own[i] < 0) continue;
    n_zones++;
    if (own[i] < fewest) fewest = own[i];
  }
  return own[zone] - (n_zones < pods->min_domains ? 0 : fewest);
}

static bool keeps_skew(const struct hr__ca_packing *packing, const struct hr__ca_pods *pods, uint32_t at) {
  const struct hr__ca_node *node = &packing->nodes[at];
  if (pods->spread == HR__CA_SPREAD_HOSTS)
    return (int64_t)node->own + 1 - emptiest_host(packing, pods) <= pods->max_skew;
  if (pods->spread == HR__CA_SPREAD_ZONES) return above_emptiest_zone(packing, pods, node->zone) + 1 <= pods->max_skew;
  return true;
}

/* Places one pod on a node if it fits and does not exceed the maximum skew. Returns whether it was placed. */
static bool put(struct hr__ca_packing *packing, struct hr__ca_pods *pods, uint32_t at) {
  struct hr__ca_node *node = &packing->nodes[at];
  if (!has_room(node, pods) || !keeps_skew(packing, pods, at)) return false;
  hr__amounts_add(&node->free, &pods->request, -1);
  node->pods_left--;
  node->ports |= port_bit(pods);
  node->own++;
  packing->n_used += !node->has_pods;
  node->has_pods = true;
  pods->placed++;
  packing->n_placed++;
  return true;
}

/* ---- Packing --------------------------------------------------------------------------------------------- */

/* Places pods by first fit on the new nodes that already exist. The pods are equal, so without a spread rule a node
   that refused one of them refuses all later ones. Therefore the search does not return to earlier nodes. With a spread
   rule, it begins again at the first new node after each pod. */
static void fill_new_nodes(struct hr__ca_packing *packing, struct hr__ca_pods *pods) {
  uint32_t at = packing->n_present;
  while (pods->placed < pods->count && at < packing->n_nodes) {
    if (!put(packing, pods, at))
      at++;
    else if (pods->spread != HR__CA_NO_SPREAD)
      at = packing->n_present;
  }
}

/* Places a pod on any other node if the last node refuses it because the pods are spread over hosts. */
static bool put_elsewhere(struct hr__ca_packing *packing, struct hr__ca_pods *pods) {
  const uint32_t last = packing->n_nodes - 1;
  if (pods->spread != HR__CA_SPREAD_HOSTS || keeps_skew(packing, pods, last)) return false;
  for (uint32_t at = 0; at < last; at++)
    if (put(packing, pods, at)) return true;
  return false;
}

static bool may_add(const struct hr__ca_packing *packing) {
  return packing->max_new == 0 ||
         (packing->max_new > 0 && packing->n_nodes - packing->n_present < (uint64_t)packing->max_new);
}

/* Adds nodes until all pods are placed, a new node cannot take a pod, or the limit is reached. */
static void add_nodes(struct hr__ca_packing *packing, struct hr__ca_pods *pods) {
  while (pods->placed < pods->count) {
    const bool has_new = packing->n_nodes > packing->n_present;
    if (has_new && (put(packing, pods, packing->n_nodes - 1) || put_elsewhere(packing, pods))) continue;
    if (has_new && !packing->nodes[packing->n_nodes - 1].has_pods) return;
    if (!may_add(packing)) return;
    packing->nodes[packing->n_nodes++] = packing->fresh;
    if (!put(packing, pods, packing->n_nodes - 1)) return;
  }
}

static double share(int64_t part, int64_t whole) {
  return whole > 0 ? (double)part / (double)whole : 0;
}

static double score(const struct hr__ca_packing *packing, const struct hr__ca_pods *pods) {
  const int64_t *request = pods->request.of, *node = packing->fresh.free.of;
  return share(request[HR__CPU_M], node[HR__CPU_M]) + share(request[HR__MEMORY_BYTES], node[HR__MEMORY_BYTES]);
}

/* Sorts the groups by descending score. Groups with equal scores remain in order. */
static void order_groups(struct hr__ca_packing *packing, const struct hr__ca_pods *groups, uint32_t n_groups) {
  for (uint32_t i = 0; i < n_groups; i++) {
    uint32_t at = i;
    for (; at > 0 && score(packing, &groups[packing->order[at - 1]]) < score(packing, &groups[i]); at--)
      packing->order[at] = packing->order[at - 1];
    packing->order[at] = i;
  }
}

void hr__ca_pack(struct hr__ca_packing *packing, struct hr__ca_pods *groups, uint32_t n_groups) {
  packing->n_nodes = packing->n_present;
  packing->n_used = packing->n_placed = 0;
  for (uint32_t i = 0; i < packing->n_present; i++) packing->nodes[i].has_pods = false;
  order_groups(packing, groups, n_groups);
  for (uint32_t i = 0; i < n_groups; i++) {
    struct hr__ca_pods *pods = &groups[packing->order[i]];
    pods->placed = 0;
    for (uint32_t k = 0; k < packing->n_nodes; k++) packing->nodes[k].own = 0;
    fill_new_nodes(packing, pods);
    add_nodes(packing, pods);
  }
}
