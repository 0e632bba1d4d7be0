/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who minimises cost must not pay for nodes that stand idle. Shares are made of what is there and what can be had; a
 * pair that would fit if more nodes were there waits for them, and at the end of the choice as many are asked for.
 * Nodes without a job that nobody waits for are given back, once a round.
 */

#include "policies/round_state.h"

enum { MILLI = 1000 };

static bool is_elastic(const struct hr__rounds *rounds, hr_pool pool) {
  return hr_market_is_elastic(hr_cluster_pool_spec(rounds->cluster, pool)->market.market);
}

uint64_t hr__nodes_gpus(const struct hr__rounds *rounds, hr_pool pool) {
  if (!rounds->manages || !is_elastic(rounds, pool)) return hr_cluster_total_milli(rounds->cluster, pool) / MILLI;
  uint64_t nodes = (uint64_t)hr_cluster_nodes_in(rounds->cluster, pool, HR_NODE_UP) +
                   hr_cluster_nodes_in(rounds->cluster, pool, HR_NODE_BOOTING) +
                   hr_cluster_offer(rounds->cluster, pool);
  return nodes * hr_cluster_pool_spec(rounds->cluster, pool)->gpus_per_node;
}

void hr__nodes_begin(struct hr__rounds *rounds) {
  for (uint32_t i = 0; i < rounds->n_pools && rounds->manages; i++) {
    rounds->spare_gpus[i] = hr__nodes_gpus(rounds, (hr_pool){i});
    rounds->awaited_gpus[i] = 0;
  }
}

void hr__nodes_note(struct hr__rounds *rounds, struct hr__member *member, uint32_t pool) {
  if (!rounds->manages) return;
  uint32_t gpus = hr__member_shape(rounds, member)->gpus;
  if (rounds->spare_gpus[pool] < gpus) return;
  if (!member->chosen && !is_elastic(rounds, (hr_pool){pool})) return;
  rounds->spare_gpus[pool] -= gpus;
  if (member->chosen) return;
  member->awaits = pool;
  rounds->awaited_gpus[pool] += gpus;
}

/* Nodes of the pool that are up without a job beyond `keep`, the last ones first. */
static enum hr_status give_back(const struct hr__rounds *rounds, struct hr_plan *plan, hr_pool pool, uint32_t keep) {
  const struct hr_free_index *index = rounds->free->index[pool.id];
  uint32_t size = hr_free_index_gpus_per_node(index), first = hr_cluster_first_node(rounds->cluster, pool).id;
  enum hr_status status = HR_OK;
  for (uint32_t node = hr_free_index_nodes(index); node-- > 0 && status == HR_OK;) {
    hr_node id = {first + node};
    if (hr_free_index_count(index, size) <= keep) return HR_OK;
    if (hr_free_index_get(index, node) != size || hr_cluster_node_state(rounds->cluster, id) != HR_NODE_UP) continue;
    hr__capacity_set_usable(rounds->free, pool, id, false);
    status = hr_plan_release(plan, id);
  }
  return status;
}

static enum hr_status settle_pool(const struct hr__rounds *rounds, struct hr_plan *plan, hr_pool pool) {
  const struct hr_free_index *index = rounds->free->index[pool.id];
  uint32_t size = hr_free_index_gpus_per_node(index), idle = hr_free_index_count(index, size);
  uint64_t wanted = (rounds->awaited_gpus[pool.id] + size - 1) / size;
  uint64_t coming = (uint64_t)idle + hr_cluster_nodes_in(rounds->cluster, pool, HR_NODE_BOOTING);
  uint32_t offer = hr_cluster_offer(rounds->cluster, pool);
  if (wanted <= coming) return give_back(rounds, plan, pool, (uint32_t)wanted);
  uint64_t more = wanted - coming;
  return offer > 0 ? hr_plan_acquire(plan, pool, more < offer ? (uint32_t)more : offer) : HR_OK;
}

enum hr_status hr__nodes_settle(struct hr__rounds *rounds, struct hr_plan *plan) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < rounds->n_pools && rounds->manages && status == HR_OK; i++)
    if (is_elastic(rounds, (hr_pool){i})) status = settle_pool(rounds, plan, (hr_pool){i});
  return status;
}
