/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes that come, go and idle: one that has been idle for long enough is given back. */

#include "policies/market_plan.h"

uint32_t hr__market_n_active(const struct hr__queue *queue, uint32_t pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(queue->cluster, (hr_pool){pool});
  return spec->nodes - hr_cluster_nodes_in(queue->cluster, (hr_pool){pool}, HR_NODE_OFF);
}

uint32_t hr__market_n_active_in(const struct hr__queue *queue, bool spot, bool on_demand) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < queue->market->n_pools; i++)
    if (hr__market_is_elastic(queue, i) && (hr__market_is_spot(queue, i) ? spot : on_demand))
      sum += hr__market_n_active(queue, i);
  return sum;
}

static bool node_idles(struct hr__queue *queue, hr_node node, int64_t now_us) {
  struct hr__market_plan *market = queue->market;
  market->idle_us[node.id] = now_us;
  return hr__dues_add(&market->idle, queue->arena, (struct hr__due){now_us + market->limits.idle_release_us, node.id});
}

enum hr_status hr__market_node_changes(struct hr__queue *queue, const struct hr_view *view,
                                       const struct hr_event *event) {
  (void)view;
  struct hr__market_plan *market = queue->market;
  hr_pool pool = event->pool;
  if (!hr__market_is_elastic(queue, pool.id)) return HR_OK;
  if (event->kind == HR_EVENT_OFFER) {
    bool offered = hr_cluster_offer(queue->cluster, pool) > 0;
    if (!offered) market->calm_us[pool.id] = HR_NEVER_US;
    if (offered && market->calm_us[pool.id] == HR_NEVER_US) market->calm_us[pool.id] = event->at_us;
    return HR_OK;
  }
  if (event->kind == HR_EVENT_NODE_DOWN) {
    if (market->calm_us[pool.id] != HR_NEVER_US) market->calm_us[pool.id] = event->at_us;
    return HR_OK;
  }
  return event->kind != HR_EVENT_NODE_UP || node_idles(queue, event->node, event->at_us) ? HR_OK : HR_NO_MEMORY;
}

bool hr__market_leave_place(struct hr__queue *queue, const struct hr_placement *placement, int64_t now_us) {
  if (!hr__market_is_elastic(queue, placement->pool.id)) return true;
  uint32_t first = hr_cluster_first_node(queue->cluster, placement->pool).id;
  const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, placement->pool);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    hr_node node = placement->slices[i].node;
    if (hr_free_index_get(index, node.id - first) != hr_free_index_gpus_per_node(index)) continue;
    if (!node_idles(queue, node, now_us)) return false;
  }
  return true;
}

/* ---- Giving back ------------------------------------------------------------------------------------ */

static bool is_still_idle(const struct hr__queue *queue, struct hr__due due, hr_pool pool) {
  if (queue->market->idle_us[due.id] + queue->market->limits.idle_release_us != due.at_us) return false;
  if (hr_cluster_node_state(queue->cluster, (hr_node){due.id}) != HR_NODE_UP) return false;
  const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, pool);
  uint32_t number = due.id - hr_cluster_first_node(queue->cluster, pool).id;
  return hr_free_index_get(index, number) == hr_free_index_gpus_per_node(index);
}

static hr_pool pool_of(const struct hr__queue *queue, uint32_t node) {
  uint32_t i = queue->market->n_pools - 1;
  while (hr_cluster_first_node(queue->cluster, (hr_pool){i}).id > node) i--;
  return (hr_pool){i};
}

/* Lays all who wait on what is free or booting: what is left over nobody waits for. */
static void lay_all(struct hr__queue *queue) {
  struct hr__market_plan *market = queue->market;
  hr__market_read_levels(queue);
  for (uint32_t i = 0; i < market->n_demands; i++)
    hr__market_lay(queue, &market->demands[i], market->demands[i].count - market->demands[i].held);
}

/* A wholly free node of the pool is not one that waiting jobs, a gang perhaps that has not all of its nodes yet, will
   sit on; nor one of the least that are to be kept. */
static bool is_spare(const struct hr__queue *queue, hr_pool pool) {
  const struct hr__market_plan *market = queue->market;
  if (!hr__market_is_spot(queue, pool.id) && hr__market_n_active_in(queue, false, true) <= market->limits.min_on_demand)
    return false;
  return market->levels[pool.id][market->gpus_per_node[pool.id]] > 0;
}

enum hr_status hr__market_release_idle(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__market_plan *market = queue->market;
  enum hr_status status = HR_OK;
  struct hr__due due;
  if (hr__dues_first_us(&market->idle) <= view->now_us) lay_all(queue);
  while (status == HR_OK && hr__dues_take(&market->idle, view->now_us, &due)) {
    hr_pool pool = pool_of(queue, due.id);
    if (!is_still_idle(queue, due, pool)) continue;
    if (!is_spare(queue, pool)) { /* looked at again in a while */
      if (!node_idles(queue, (hr_node){due.id}, view->now_us)) return HR_NO_MEMORY;
      continue;
    }
    market->levels[pool.id][market->gpus_per_node[pool.id]]--;
    status = hr_plan_release(plan, (hr_node){due.id});
    if (status == HR_OK && queue->releases) hr_releases_set_usable(queue->releases, pool, (hr_node){due.id}, false);
  }
  return status;
}
