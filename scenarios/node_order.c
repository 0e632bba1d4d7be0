/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of nodes, as runs of pools' nodes: "POOL" and "POOL*COUNT". Nodes are numbered pool by pool, so the order
   is kept beside. A run has as many nodes as its pool still has: who changes the size of a pool keeps the order. */

#include "scenarios/pools.h"

#include <stdlib.h>
#include <string.h>

struct order {
  const struct hr_cluster_spec *cluster;
  uint32_t *next, *end; /* [n_pools], nodes of each that have no place yet */
  uint32_t *place_of;   /* [nodes] */
  uint32_t n_placed;
};

static bool order_make(struct order *order, const struct hr_cluster_spec *cluster) {
  uint32_t n_nodes = 0;
  *order = (struct order){.cluster = cluster,
                          .next = calloc(cluster->n_pools, sizeof *order->next),
                          .end = calloc(cluster->n_pools, sizeof *order->end)};
  if (!order->next || !order->end) return false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    order->next[i] = n_nodes;
    n_nodes += cluster->pools[i].nodes;
    order->end[i] = n_nodes;
  }
  order->place_of = calloc((size_t)n_nodes + 1, sizeof *order->place_of);
  return order->place_of != NULL;
}

static void place(struct order *order, uint32_t pool, uint32_t count) {
  for (; count > 0 && order->next[pool] < order->end[pool]; count--)
    order->place_of[order->next[pool]++] = order->n_placed++;
}

static uint32_t pool_of(const struct hr_cluster_spec *cluster, const char *name, size_t length) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (strlen(cluster->pools[i].name) == length && strncmp(cluster->pools[i].name, name, length) == 0) return i;
  return HR_NONE;
}

/* 0: no such count. */
static uint32_t count_of(const char *digits) {
  uint32_t count = 0;
  if (!digits[0] || digits[strspn(digits, "0123456789")]) return 0;
  for (; *digits; digits++) {
    count = count * 10 + (uint32_t)(*digits - '0');
    if (count > HR_MAX_NODES) return 0;
  }
  return count;
}

/* A pool's name may have a star of its own: the whole text is tried first. */
static enum hr_status place_run(struct hr__builder *builder, struct order *order, const char *run) {
  const char *star = strrchr(run, '*');
  uint32_t pool = pool_of(order->cluster, run, strlen(run)), count = 1;
  if (pool == HR_NONE && star) {
    pool = pool_of(order->cluster, run, (size_t)(star - run));
    count = count_of(star + 1);
  }
  if (pool == HR_NONE || count == 0)
    return hr__build_fail(builder, false,
                          "'%.60s' is no run of nodes: POOL or POOL*COUNT is wanted, of a pool of 'pools'", run);
  place(order, pool, count);
  return HR_OK;
}

enum hr_status hr__build_node_order(struct hr__builder *builder) {
  builder->place.depth = 0;
  const cJSON *cluster = hr__build_enter(builder, builder->source.file.tree, "cluster");
  const cJSON *runs = hr__build_enter(builder, cluster, "node_order");
  struct order order;
  uint32_t ordinal = 0;
  if (!runs) return HR_OK;
  enum hr_status status = order_make(&order, &builder->scenario->cluster) ? HR_OK : hr__build_no_memory(builder);
  for (const cJSON *run = runs->child; run && status == HR_OK; run = run->next) {
    hr__place_enter(&builder->place, ordinal++, NULL);
    status = place_run(builder, &order, run->valuestring);
    if (status == HR_OK) hr__build_leave(builder);
  }
  for (uint32_t i = 0; status == HR_OK && i < order.cluster->n_pools; i++) place(&order, i, HR_MAX_NODES);
  free(order.next);
  free(order.end);
  if (status == HR_OK)
    builder->scenario->cluster.node_order = order.place_of;
  else
    free(order.place_of);
  return status;
}
