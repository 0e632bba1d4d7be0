/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Idle nodes: see idle.h. The ends of idle times are in a timer queue. A node that a waiting job will use is not
   released; it is checked again after another idle time. */

#include "policies/queue/market/idle.h"

#include "policies/queue/market/supply.h"

bool hr__idle_begin(struct hr__queue *queue, hr_node node, int64_t now_us) {
  struct hr__market *market = queue->market;
  market->idle_us[node.id] = now_us;
  return hr__deadline_fifo_add(&market->idle, queue->arena,
                               (struct hr__deadline_entry){now_us + market->limits.idle_release_us, node.id});
}

/* Returns whether a node is up and no job is on it. */
static bool is_idle(const struct hr__queue *queue, hr_pool pool, hr_node node) {
  return hr_cluster_node_state(queue->cluster, node) == HR_NODE_UP && hr_capacity_is_idle(queue->capacity, pool, node);
}

bool hr__idle_after(struct hr__queue *queue, const struct hr_placement *placement, int64_t now_us) {
  if (!hr__market_is_elastic(queue, placement->pool.id)) return true;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    hr_node node = placement->slices[i].node;
    if (is_idle(queue, placement->pool, node) && !hr__idle_begin(queue, node, now_us)) return false;
  }
  return true;
}

/* Returns whether the node of the entry has been idle without interruption since the entry was added. */
static bool is_still_idle(const struct hr__queue *queue, struct hr__deadline_entry entry, hr_pool pool) {
  return queue->market->idle_us[entry.id] + queue->market->limits.idle_release_us == entry.at_us &&
         is_idle(queue, pool, (hr_node){entry.id});
}

static hr_pool pool_of(const struct hr__queue *queue, uint32_t node) {
  uint32_t i = queue->market->n_pools - 1;
  while (hr_cluster_first_node(queue->cluster, (hr_pool){i}).id > node) i--;
  return (hr_pool){i};
}

/* Sets `spare` to the number of empty nodes by pool after all waiting jobs were packed on the capacity that is free or
   booting. A node that a waiting gang will use together with other nodes is not spare. False: out of memory. */
static bool count_spare(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  if (!hr__supply_begin(queue)) return false;
  for (uint32_t i = 0; i < market->n_demands; i++)
    hr__supply_pack(queue, &market->demands[i], market->demands[i].count - market->demands[i].held, false);
  for (uint32_t i = 0; i < market->n_pools; i++)
    market->spare[i] = hr__market_is_elastic(queue, i) ? hr__supply_empty_nodes(queue, i) : 0;
  return hr__supply_end(queue);
}

/* Returns whether an idle node of the pool may be released: a spare node remains, and the number of on-demand nodes
   exceeds their minimum. */
static bool is_spare(const struct hr__queue *queue, hr_pool pool) {
  const struct hr__market *market = queue->market;
  if (!hr__market_is_spot(queue, pool.id) && hr__market_n_active_in(queue, false, true) <= market->limits.min_on_demand)
    return false;
  return market->spare[pool.id] > 0;
}

/* Releases a node, and notifies the listeners. */
static enum hr_status release(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, hr_pool pool,
                              hr_node node) {
  struct hr_event event = {
      .at_us = view->now_us, .kind = HR_EVENT_RELEASE, .job = {HR_NONE}, .pool = pool, .node = node};
  enum hr_status status = hr_moves_release(moves, node);
  queue->market->spare[pool.id]--;
  HR__NOTIFY(queue, status, node_changes, view, &event);
  return status;
}

enum hr_status hr__idle_release(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  enum hr_status status = HR_OK;
  struct hr__deadline_entry entry;
  if (hr__deadline_fifo_first_us(&market->idle) <= view->now_us && !count_spare(queue)) return HR_NO_MEMORY;
  while (status == HR_OK && hr__deadline_fifo_take(&market->idle, view->now_us, &entry)) {
    hr_pool pool = pool_of(queue, entry.id);
    if (!is_still_idle(queue, entry, pool)) continue;
    if (is_spare(queue, pool))
      status = release(queue, view, moves, pool, (hr_node){entry.id});
    else if (!hr__idle_begin(queue, (hr_node){entry.id}, view->now_us)) /* check again after another idle time */
      return HR_NO_MEMORY;
  }
  return status;
}
