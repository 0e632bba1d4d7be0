/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Back to spot capacity: those who would rather be there are remembered when they start on an on-demand node, and go
   while nobody waits. */

#include "policies/market_plan.h"

/* Gangs over nodes stay where they are. */
bool hr__market_add_guest(struct hr__queue *queue, hr_job job, const struct hr_placement *placement) {
  struct hr__market_plan *market = queue->market;
  if (market->n_guests == market->guests_capacity) {
    struct hr__guest *guests = hr_arena_grown(queue->arena, market->guests, &market->guests_capacity, sizeof *guests);
    if (!guests) return false;
    market->guests = guests;
  }
  market->guests[market->n_guests++] = (struct hr__guest){job, placement->pool.id, placement->slices[0].node.id};
  market->guest_at[job.id] = market->n_guests;
  return true;
}

void hr__market_drop_guest(struct hr__queue *queue, hr_job job) {
  struct hr__market_plan *market = queue->market;
  uint32_t at = market->guest_at[job.id];
  if (!at) return;
  market->guest_at[job.id] = 0;
  struct hr__guest last = market->guests[--market->n_guests];
  if (last.job.id == job.id) return;
  market->guests[at - 1] = last;
  market->guest_at[last.job.id] = at;
}

/* ---- Going back ------------------------------------------------------------------------------------- */

/* The fullest node of a spot pool that the guest may go to and that costs less, with room for it. */
static bool find_spot_node(const struct hr__queue *queue, const struct hr__guest *guest, int64_t now_us,
                           struct hr_slice *slice, hr_pool *pool) {
  uint32_t gpus = hr__gpus(queue, guest->job), accept_class = hr_cluster_accept_class(queue->cluster, guest->job);
  int64_t price = hr_cluster_price_uusd_h(queue->cluster, (hr_pool){guest->pool}, now_us);
  for (uint32_t i = 0; i < queue->market->n_pools; i++) {
    if (!hr__market_is_spot(queue, i) || !hr_cluster_accepts(queue->cluster, accept_class, (hr_pool){i})) continue;
    if (!hr__market_is_calm(queue->market, i, now_us) ||
        hr_cluster_price_uusd_h(queue->cluster, (hr_pool){i}, now_us) >= price)
      continue;
    const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, (hr_pool){i});
    uint32_t free = hr_free_index_lowest(index, gpus);
    if (free == HR_NONE) continue;
    uint32_t number = hr_free_index_node(index, free, 0);
    *slice = (struct hr_slice){{hr_cluster_first_node(queue->cluster, (hr_pool){i}).id + number}, gpus * 1000, 0};
    *pool = (hr_pool){i};
    return true;
  }
  return false;
}

/* Not one that has just started, nor one that will soon be done, as far as is known. */
static bool is_worth_moving(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  if (view->attempt_us[job.id] == view->now_us) return false;
  return hr_trace_limit_us(queue->trace, job) - hr_view_done_us(view, job) > queue->market->limits.spot_hold_us;
}

static enum hr_status move_guest(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                                 struct hr__guest guest, const struct hr_placement *to) {
  struct hr_slice slice = {{guest.node}, hr__gpus(queue, guest.job) * 1000, 0};
  struct hr_placement from = {{guest.pool}, 1, &slice};
  return hr__queue_move(queue, view, plan, guest.job, &from, to);
}

/* Guests go to spot nodes that have room; `*leaving`: how many. Who goes is taken from the list, and the last one takes
   its place. */
static enum hr_status move_guests(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                                  uint32_t *leaving) {
  struct hr__market_plan *market = queue->market;
  enum hr_status status = HR_OK;
  for (uint32_t i = market->n_guests; i-- > 0 && status == HR_OK && hr__market_keeps_share(queue, 0, *leaving + 1);) {
    struct hr_slice slice;
    if (!is_worth_moving(queue, view, market->guests[i].job)) continue;
    struct hr_placement to = {.n_slices = 1, .slices = &slice};
    if (!find_spot_node(queue, &market->guests[i], view->now_us, &slice, &to.pool)) continue;
    status = move_guest(queue, view, plan, market->guests[i], &to);
    ++*leaving;
  }
  return status;
}

enum hr_status hr__market_bring_back(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__market_plan *market = queue->market;
  uint32_t leaving = 0;
  enum hr_status status = move_guests(queue, view, plan, &leaving);
  if (status != HR_OK || market->n_guests == 0) return status;
  hr__market_read_levels(queue);
  for (uint32_t i = 0; i < market->n_guests && status == HR_OK; i++) {
    if (!is_worth_moving(queue, view, market->guests[i].job)) continue;
    uint32_t found, gpus = hr__gpus(queue, market->guests[i].job);
    struct hr__demand demand = {.gpus = gpus,
                                .accept_class = hr_cluster_accept_class(queue->cluster, market->guests[i].job),
                                .is_single = true};
    leaving++;
    if (hr__market_lay_on_spot(queue, &demand)) continue;
    if (!hr__market_keeps_share(queue, 1, leaving)) break;
    status = hr__market_ask(queue, &demand, 1, true, view, plan, &found);
    if (!found) break; /* there is none to be had */
  }
  return status;
}
