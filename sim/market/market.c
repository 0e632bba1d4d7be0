/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes that come and go: spot supply, requests and boots of nodes, queued provisioning, and pools that exist for a
 * limited time.
 *
 * The level of a spot pool is the number of its nodes that the provider offers. With level L, these are the nodes with
 * an index below L. The supply is a function of time (see market.h), so the time when a node is reclaimed is known in
 * advance. A node is reclaimed for one of three causes: the level drops so far that the node is not offered any more, a
 * group interruption includes the node, or the node reaches the end of its lifetime. The node gets notice a specified
 * time before it goes down (the notice period). Changes of the level are known one notice period ahead. If a node will
 * be reclaimed within this period because the level drops, the node cannot be requested any more. A change of the level
 * therefore never gives notice to a node at its launch.
 *
 * A notice period can contain any number of changes of the level. Therefore, only changes that can affect the number of
 * available nodes are computed in advance. These changes form the window. The number of available nodes is the minimum
 * of the present level and of the levels in the window. If the window contains the lowest level that the market can
 * have, later steps cannot change the minimum until the step to this level becomes present.
 */

#include "headroom/market.h"
#include "base/containers.h"
#include "base/text.h"
#include "sim/engine/engine.h"

#include <stdlib.h>
#include <string.h>

/* The last argument of hr__stream_init for the waits of requests. For boot times it is 0, and for failed requests it is
   1 (autoscaler.c). */
enum { STREAM_QUEUE = 2 };

struct hr__engine_market {
  struct hr__level_source levels;
  struct hr_level_step ahead; /* the first step of the level after those in `window` */
  struct hr__fifo window;     /* struct hr_level_step: the computed steps of the level within the next notice period */
  struct hr__fifo minima;     /* struct hr_level_step: the steps of `window` that are lower than all later steps */
  uint32_t level;             /* the present level */
  uint32_t floor;             /* no step has a lower level */
  bool is_looking;            /* the look-ahead for `ahead` is pending */
  struct hr__interruption_source interruptions;
  int64_t interruption_us; /* time of the next group interruption; HR_NEVER_US: none */
  uint32_t *hit, n_hit; /* [n_hit]: the nodes that the next group interruption reclaims, as indices within the pool */
  int64_t touched_us;   /* time of the last call of settle_accounts */
  /* queued provisioning: the time of the last request for nodes, and the number of requests so far */
  int64_t request_us;
  uint32_t n_requests;
  bool is_closed; /* the reservation of the pool is not open */
};

static const struct hr_spot_spec *spot_of(const struct hr__engine *engine, hr_pool pool) {
  return &engine->cluster.pools[pool.id].spec->market.spot;
}

static int64_t notice_us(const struct hr__engine *engine, hr_pool pool) {
  return spot_of(engine, pool)->notice_us;
}

/* Returns at_us - before_us, or the present time if that is later. */
static int64_t ahead_of(const struct hr__engine *engine, int64_t at_us, int64_t before_us) {
  int64_t now_us = engine->view.now_us;
  return at_us - now_us > before_us ? at_us - before_us : now_us;
}

static hr_node node_of(const struct hr__pool *pool, uint32_t number) {
  return (hr_node){pool->first_node.id + number};
}

/* ---- Accounts ---- */

/* Updates the accounts of the pool for the time since the last call. Must be called before any node of the pool changes
   its state. */
static void settle_accounts(struct hr__engine *engine, hr_pool pool) {
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  struct hr__engine_market *market = &engine->markets[pool.id];
  hr_amount passed_us = engine->view.now_us - market->touched_us;
  uint32_t active = self->spec->nodes - self->n_in[HR_NODE_OFF] - self->n_queued;
  engine->pool_accounting[pool.id].up_us += active * passed_us;
  engine->pool_accounting[pool.id].offered_us += (active + self->n_offered) * passed_us;
  market->touched_us = engine->view.now_us;
}

static void settle(struct hr__engine *engine) {
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (engine->cluster.pools[i].comes_and_goes) settle_accounts(engine, (hr_pool){i});
}

/* `puts_up`: as hr__cluster_put_up. */
static void change_state(struct hr__engine *engine, hr_node node, enum hr_node_state state, bool puts_up) {
  hr_pool pool = hr__cluster_pool_of(&engine->cluster, node);
  settle_accounts(engine, pool);
  if (engine->power) hr__power_before_node(engine, pool);
  if (puts_up)
    hr__cluster_put_up(&engine->cluster, node);
  else
    hr__cluster_set_state(&engine->cluster, node, state);
  if (engine->power) hr__power_after_node(engine, pool);
  engine->view.total_milli = engine->cluster.total_milli;
}

void hr__market_set_state(struct hr__engine *engine, hr_node node, enum hr_node_state state) {
  change_state(engine, node, state, false);
}

/* Records whether the provider still has to deliver a requested node. */
static void set_queued(struct hr__engine *engine, hr_pool pool, hr_node node, bool is_queued) {
  settle_accounts(engine, pool);
  if (engine->power) hr__power_before_node(engine, pool);
  engine->cluster.nodes[node.id].is_queued = is_queued;
  engine->cluster.pools[pool.id].n_queued += is_queued ? 1 : (uint32_t)-1;
  if (engine->power) hr__power_after_node(engine, pool);
}

static enum hr_status emit_node_event(struct hr__engine *engine, enum hr_event_kind kind, enum hr_reason reason,
                                      hr_pool pool, hr_node node) {
  return hr__emit(engine, HR__NODE_EVENT(engine, kind, reason, pool, node));
}

enum hr_status hr__market_close(struct hr__engine *engine, hr_pool pool, hr_node node, enum hr_reason reason,
                                int64_t down_us) {
  hr__market_set_state(engine, node, HR_NODE_CLOSING);
  engine->cluster.nodes[node.id].down_us = down_us;
  return emit_node_event(engine, HR_EVENT_NOTICE, reason, pool, node);
}

/* ---- Nodes that are reclaimed ---- */

static enum hr_status interrupt_residents(struct hr__engine *engine, hr_node node, enum hr_reason reason) {
  const struct hr__residents *residents = &engine->residents;
  while (residents->first[node.id]) {
    hr_job job = residents->links[residents->first[node.id] - 1].job;
    bool shrinks = hr__job_may_shrink(engine, job);
    enum hr_status status = shrinks ? hr__job_shrink(engine, job, &shrinks) : HR_OK;
    if (status == HR_OK && !shrinks) status = hr__job_interrupt(engine, job, reason, false);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* Withdraws the request for a node that the provider has not delivered. Observers were not notified of this node. */
static enum hr_status withdraw_request(struct hr__engine *engine, hr_pool pool, hr_node node) {
  set_queued(engine, pool, node, false);
  hr__market_set_state(engine, node, HR_NODE_OFF);
  HR__EACH_ACTIVE(engine, node_down, at)(*at)->node_down(engine, pool, node);
  return HR_OK;
}

enum hr_status hr__market_take_down(struct hr__engine *engine, hr_pool pool, hr_node node, enum hr_reason reason) {
  if (engine->cluster.nodes[node.id].is_queued) return withdraw_request(engine, pool, node);
  /* The node is closed before its jobs are stopped. Otherwise new jobs could start on the capacity that these jobs
     release. */
  if (engine->cluster.nodes[node.id].state == HR_NODE_UP) hr__market_set_state(engine, node, HR_NODE_CLOSING);
  bool is_own = reason == HR_REASON_FAILED || reason == HR_REASON_MAINTENANCE;
  enum hr_reason job_reason = is_own ? reason : HR_REASON_RECLAIMED;
  enum hr_status status = interrupt_residents(engine, node, job_reason);
  if (status != HR_OK) return status;
  hr__market_set_state(engine, node, HR_NODE_OFF);
  engine->cluster.nodes[node.id].down_us = HR_NEVER_US;
  engine->pool_accounting[pool.id].reclaims += reason == HR_REASON_RECLAIMED;
  HR__EACH_ACTIVE(engine, node_down, at)(*at)->node_down(engine, pool, node);
  status = emit_node_event(engine, HR_EVENT_NODE_DOWN, reason, pool, node);
  return status == HR_OK && engine->spares ? hr__spares_activate(engine, pool) : status;
}

/* Makes a node available and emits HR_EVENT_NODE_UP. Calls the hooks of the components. */
static enum hr_status put_up(struct hr__engine *engine, hr_pool pool, hr_node node, enum hr_reason reason) {
  change_state(engine, node, HR_NODE_UP, true);
  enum hr_status status = HR_OK;
  HR__CALL_ACTIVE(engine, status, node_up, pool, node);
  return status == HR_OK ? emit_node_event(engine, HR_EVENT_NODE_UP, reason, pool, node) : status;
}

enum hr_status hr__market_return(struct hr__engine *engine, hr_pool pool, hr_node node, enum hr_reason reason) {
  if (engine->markets[pool.id].is_closed || (engine->faults && !hr__faults_repaired(engine, node)) ||
      (engine->maintenance && hr__maintenance_holds(engine, node)))
    return HR_OK;
  if (engine->standby && hr__standby_keeps(engine, node)) return hr__standby_ask_for_pass(engine);
  if (engine->spares && hr__spares_take(engine, pool, node)) return HR_OK;
  return put_up(engine, pool, node, reason);
}

/* Gives notice to all jobs of a node that they will be stopped at `down_us`. A job that leaves at once is removed from
   the list of the node's jobs during the loop. Each link of the list is therefore copied before its job gets notice. A
   job is in the list of a node at most once, so it gets only one notice. */
enum hr_status hr__market_warn_residents(struct hr__engine *engine, hr_node node, int64_t down_us) {
  const struct hr__residents *residents = &engine->residents;
  uint32_t link = residents->first[node.id];
  enum hr_status status = HR_OK;
  while (link && status == HR_OK) {
    struct hr__resident resident = residents->links[link - 1];
    status = hr__job_notice(engine, resident.job, (struct hr__job_notice){.at_us = down_us});
    link = resident.next;
  }
  return status;
}

/* Gives notice to a node and its jobs: the node will go down at `down_us`. A node that is still booting goes down at
   once. Every node goes down at once if `down_us` is the present time. */
static enum hr_status give_notice(struct hr__engine *engine, hr_pool pool, hr_node node, int64_t down_us) {
  struct hr__node *self = &engine->cluster.nodes[node.id];
  if (self->state == HR_NODE_OFF) return HR_OK;
  if (self->state == HR_NODE_BOOTING || down_us == engine->view.now_us)
    return hr__market_take_down(engine, pool, node, HR_REASON_RECLAIMED);
  if (self->state == HR_NODE_CLOSING && self->down_us <= down_us) return HR_OK;
  bool first = self->state == HR_NODE_UP;
  self->down_us = down_us;
  enum hr_status status = hr__schedule(engine, down_us, HR__PENDING_NODE_DOWN, node.id);
  if (status != HR_OK || !first) return status;
  engine->pool_accounting[pool.id].notices++;
  status = hr__market_close(engine, pool, node, HR_REASON_RECLAIMED, down_us);
  return status == HR_OK ? hr__market_warn_residents(engine, node, down_us) : status;
}

/* ---- Levels ---- */

/* Returns the minimum of the levels in the window; UINT32_MAX if the window is empty. */
static uint32_t window_min(const struct hr__engine_market *market) {
  if (hr__fifo_count(&market->minima) == 0) return UINT32_MAX;
  return ((const struct hr_level_step *)hr__fifo_front(&market->minima, sizeof(struct hr_level_step)))->level;
}

/* Adds a step to the window. A step of `minima` with the same or a higher level is not a minimum any more. */
static bool push_step(struct hr__engine_market *market, const struct hr_level_step *step) {
  struct hr__fifo *minima = &market->minima;
  const struct hr_level_step *steps = (const struct hr_level_step *)minima->items;
  while (hr__fifo_count(minima) > 0 && steps[minima->end - 1].level >= step->level) minima->end--;
  return hr__fifo_push(minima, step, sizeof *step) && hr__fifo_push(&market->window, step, sizeof *step);
}

/* Removes the first step of the window, which becomes the present level. */
static void pop_step(struct hr__engine_market *market) {
  const struct hr_level_step *step = hr__fifo_front(&market->window, sizeof *step);
  const struct hr_level_step *lowest = hr__fifo_front(&market->minima, sizeof *lowest);
  if (lowest->at_us == step->at_us) hr__fifo_pop(&market->minima);
  market->level = step->level;
  hr__fifo_pop(&market->window);
}

/* Updates the number of available nodes of a pool: the minimum of the level over the notice period that begins now. */
static enum hr_status update_offer(struct hr__engine *engine, hr_pool pool) {
  const struct hr__engine_market *market = &engine->markets[pool.id];
  struct hr__pool *self = &engine->cluster.pools[pool.id];
  uint32_t min_level = window_min(market), before = self->n_offered;
  if (market->level < min_level) min_level = market->level;
  if (min_level == self->obtainable) return HR_OK;
  settle_accounts(engine, pool);
  hr__cluster_set_obtainable(&engine->cluster, pool, min_level);
  if (self->n_offered == before) return HR_OK;
  return emit_node_event(engine, HR_EVENT_OFFER, HR_REASON_NONE, pool, (hr_node){HR_NONE});
}

/* Schedules the look-ahead for the next step. Has no effect if the look-ahead is pending, if the window already has the
   lowest level, or if no next step exists. */
static enum hr_status schedule_lookahead(struct hr__engine *engine, hr_pool pool) {
  struct hr__engine_market *market = &engine->markets[pool.id];
  if (market->is_looking || market->ahead.at_us == HR_NEVER_US || window_min(market) <= market->floor) return HR_OK;
  int64_t look_us = ahead_of(engine, market->ahead.at_us, notice_us(engine, pool));
  market->is_looking = true;
  return hr__schedule(engine, look_us, HR__PENDING_LEVEL_AHEAD, pool.id);
}

/* Moves the next step of the level into the window. If the level drops, the nodes that will not be offered any more get
   notice. */
static enum hr_status look_ahead(struct hr__engine *engine, hr_pool pool) {
  struct hr__engine_market *market = &engine->markets[pool.id];
  struct hr__pool *self = &engine->cluster.pools[pool.id];
  struct hr_level_step step = market->ahead;
  market->is_looking = false;
  market->ahead = hr__level_source_next(&market->levels);
  enum hr_status status = push_step(market, &step) ? HR_OK : hr__out_of_memory(engine);
  if (status == HR_OK) status = hr__schedule(engine, step.at_us, HR__PENDING_LEVEL, pool.id);
  if (status == HR_OK) status = schedule_lookahead(engine, pool);
  for (uint32_t number = step.level; status == HR_OK && number < self->obtainable; number++)
    status = give_notice(engine, pool, node_of(self, number), step.at_us);
  return status == HR_OK ? update_offer(engine, pool) : status;
}

static enum hr_status handle_level(struct hr__engine *engine, hr_pool pool) {
  pop_step(&engine->markets[pool.id]);
  enum hr_status status = update_offer(engine, pool);
  return status == HR_OK ? schedule_lookahead(engine, pool) : status;
}

/* Returns a level below which the level of the market never falls. */
static uint32_t lowest_level(const struct hr_spot_spec *spot, uint32_t n_nodes) {
  uint32_t lowest = spot->model == HR_SPOT_ON_OFF ? 0 : n_nodes;
  for (uint32_t i = 0; spot->model == HR_SPOT_TRACE && i < spot->n_levels; i++)
    if (spot->levels[i].level < lowest) lowest = spot->levels[i].level;
  return lowest;
}

/* ---- Group interruptions and ages ---- */

static enum hr_status schedule_interruption(struct hr__engine *engine, hr_pool pool) {
  struct hr__engine_market *market = &engine->markets[pool.id];
  market->interruption_us = hr__interruption_source_next(&market->interruptions, market->hit, &market->n_hit);
  if (market->interruption_us == HR_NEVER_US) return HR_OK;
  int64_t notice = ahead_of(engine, market->interruption_us, notice_us(engine, pool));
  return hr__schedule(engine, notice, HR__PENDING_INTERRUPTION, pool.id);
}

static enum hr_status handle_interruption(struct hr__engine *engine, hr_pool pool) {
  const struct hr__engine_market *market = &engine->markets[pool.id];
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; status == HR_OK && i < market->n_hit; i++)
    status = give_notice(engine, pool, node_of(self, market->hit[i]), market->interruption_us);
  return status == HR_OK ? schedule_interruption(engine, pool) : status;
}

/* Begins the interruptions of a pool. At time 0 all its nodes are off, so interruptions within the first notice period
   reclaim no node. If there would be very many of them, they are not drawn, and the process begins after this period.
   This is correct because a Poisson process has no memory. */
static enum hr_status begin_interruptions(struct hr__engine *engine, hr_pool pool, uint32_t n_nodes) {
  const double max_drawn = 1e6, hour_us = 3600 * (double)HR_SECOND_US;
  struct hr__interruption_source *source = &engine->markets[pool.id].interruptions;
  hr__interruption_source_init(source, spot_of(engine, pool), n_nodes, engine->config->seed, 0);
  if (source->per_h * (double)notice_us(engine, pool) / hour_us > max_drawn) source->at_us = notice_us(engine, pool);
  return schedule_interruption(engine, pool);
}

/* Gives notice to a node one notice period before the end of its lifetime. The event is ignored if the node was
   released after the launch to which the event belongs. */
static enum hr_status handle_age(struct hr__engine *engine, hr_node node) {
  hr_pool pool = hr__cluster_pool_of(&engine->cluster, node);
  const struct hr__node *self = &engine->cluster.nodes[node.id];
  if (self->state == HR_NODE_OFF || self->dies_us == HR_NEVER_US) return HR_OK;
  if (ahead_of(engine, self->dies_us, notice_us(engine, pool)) != engine->view.now_us) return HR_OK;
  return give_notice(engine, pool, node, self->dies_us);
}

static enum hr_status end_node(struct hr__engine *engine, hr_node node) {
  const struct hr__node *self = &engine->cluster.nodes[node.id];
  if (self->state != HR_NODE_CLOSING || self->down_us != engine->view.now_us) return HR_OK;
  return hr__market_take_down(engine, hr__cluster_pool_of(&engine->cluster, node), node, HR_REASON_RECLAIMED);
}

/* ---- Nodes that are launched ---- */

static int64_t draw_boot_us(const struct hr__engine *engine, hr_pool pool, hr_node node) {
  const struct hr_duration *boot = &engine->cluster.pools[pool.id].spec->market.boot;
  if (boot->kind == HR_DURATION_FIXED && boot->a <= 0) return 0;
  struct hr__stream stream;
  hr__stream_init(&stream, engine->config->seed, HR__PURPOSE_BOOT, node.id, 0);
  hr__stream_skip_to_life(&stream, engine->cluster.nodes[node.id].launches);
  return hr__duration_draw(boot, &stream);
}

hr_node hr__market_request(struct hr__engine *engine, hr_pool pool) {
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  hr_node node = node_of(self, hr__bitset_next(&self->shape, self->off, 0));
  hr__market_set_state(engine, node, HR_NODE_BOOTING);
  engine->cluster.nodes[node.id].since_us = engine->view.now_us;
  engine->cluster.nodes[node.id].queued_us = 0;
  engine->cluster.nodes[node.id].launches++;
  return node;
}

void hr__market_cancel(struct hr__engine *engine, hr_node node) {
  engine->cluster.nodes[node.id].launches--;
  hr__market_set_state(engine, node, HR_NODE_OFF);
}

/* Draws the time from the delivery of the node, which is now, until the provider stops or reclaims it because of its
   age; HR_NEVER_US: never. */
static int64_t draw_life_us(const struct hr__engine *engine, hr_pool pool, hr_node node) {
  const int64_t max_run_us = engine->cluster.pools[pool.id].spec->market.max_run_us;
  int64_t life_us =
      hr__life_draw(spot_of(engine, pool), engine->config->seed, node.id, engine->cluster.nodes[node.id].launches, 0);
  return max_run_us > 0 && max_run_us < life_us ? max_run_us : life_us;
}

/* The provider delivers a node, which begins to boot and is billed from now on. */
static enum hr_status give_node(struct hr__engine *engine, hr_pool pool, hr_node node) {
  struct hr__node *self = &engine->cluster.nodes[node.id];
  const int64_t now_us = engine->view.now_us;
  hr__notify_observers(engine, HR__NODE_EVENT(engine, HR_EVENT_ACQUIRE, HR_REASON_NONE, pool, node));
  enum hr_status status = hr__schedule(engine, now_us + draw_boot_us(engine, pool, node), HR__PENDING_NODE_UP, node.id);
  int64_t life_us = draw_life_us(engine, pool, node);
  self->dies_us = life_us == HR_NEVER_US ? HR_NEVER_US : now_us + life_us;
  if (status != HR_OK || life_us == HR_NEVER_US) return status;
  int64_t notice_at_us = ahead_of(engine, self->dies_us, notice_us(engine, pool));
  return hr__schedule(engine, notice_at_us, HR__PENDING_NODE_NOTICE, node.id);
}

/* Draws how long a request waits for the provider. Nodes of a pool that are requested at the same time form one
   request, and the provider delivers them together. */
static int64_t draw_queue_us(struct hr__engine *engine, hr_pool pool) {
  struct hr__engine_market *market = &engine->markets[pool.id];
  struct hr__stream stream;
  if (market->n_requests == 0 || market->request_us != engine->view.now_us) market->n_requests++;
  market->request_us = engine->view.now_us;
  hr__stream_init(&stream, engine->config->seed, HR__PURPOSE_BOOT, pool.id, STREAM_QUEUE);
  hr__stream_skip_to_life(&stream, market->n_requests);
  return hr__duration_draw(&engine->cluster.pools[pool.id].spec->market.queue, &stream);
}

enum hr_status hr__market_launch(struct hr__engine *engine, hr_node node) {
  hr_pool pool = hr__cluster_pool_of(&engine->cluster, node);
  engine->pool_accounting[pool.id].launches++;
  if (!hr_market_is_queued(&engine->cluster.pools[pool.id].spec->market)) return give_node(engine, pool, node);
  set_queued(engine, pool, node, true);
  struct hr__node *self = &engine->cluster.nodes[node.id];
  self->queued_us = draw_queue_us(engine, pool);
  self->since_us = engine->view.now_us + self->queued_us;
  return hr__schedule(engine, self->since_us, HR__PENDING_NODE_UP, node.id);
}

/* Requests all available nodes, unless an autoscaler manages them. Sets `*any` if it requests a node. */
static enum hr_status acquire_all(struct hr__engine *engine, bool *any) {
  if (engine->autoscaler) return HR_OK;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    hr_pool pool = {i};
    while (engine->cluster.pools[i].n_offered) {
      *any = true;
      enum hr_status status = hr__market_launch(engine, hr__market_request(engine, pool));
      if (status != HR_OK) return status;
    }
  }
  return HR_OK;
}

/* Handles HR__PENDING_NODE_UP: delivers a node if its request has waited for the provider, or makes a node available at
   the end of its boot. The event is ignored if the node was released meanwhile. If the node was then requested again,
   only the event that belongs to the new request counts. */
static enum hr_status boot_node(struct hr__engine *engine, hr_node node) {
  hr_pool pool = hr__cluster_pool_of(&engine->cluster, node);
  const struct hr__node *self = &engine->cluster.nodes[node.id];
  if (self->state != HR_NODE_BOOTING) return HR_OK;
  if (self->is_queued) {
    if (self->since_us != engine->view.now_us) return HR_OK;
    set_queued(engine, pool, node, false);
    return give_node(engine, pool, node);
  }
  if (self->since_us + draw_boot_us(engine, pool, node) != engine->view.now_us) return HR_OK;
  return put_up(engine, pool, node, HR_REASON_NONE);
}

/* ---- Reservations ---- */

static enum hr_status open_window(struct hr__engine *engine, hr_pool pool) {
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  enum hr_status status = HR_OK;
  engine->markets[pool.id].is_closed = false;
  for (uint32_t number = 0; status == HR_OK && number < self->spec->nodes; number++)
    status = hr__market_return(engine, pool, node_of(self, number), HR_REASON_NONE);
  return status;
}

/* Returns the time at which the nodes of a reservation are stopped. The reservation must have an end. */
static int64_t stop_us(const struct hr_market_spec *market) {
  return market->to_us - market->stop_before_us;
}

/* Closes a node that will be stopped at `down_us`, and gives notice to its jobs. If the node is already closed for
   maintenance, its jobs get this notice, too. Has no effect if the node goes down earlier. */
static enum hr_status close_node(struct hr__engine *engine, hr_pool pool, hr_node node, int64_t down_us) {
  struct hr__node *self = &engine->cluster.nodes[node.id];
  if (self->state == HR_NODE_OFF || (self->state == HR_NODE_CLOSING && self->down_us <= down_us)) return HR_OK;
  bool is_first = self->state == HR_NODE_UP;
  self->down_us = down_us;
  if (is_first) hr__market_set_state(engine, node, HR_NODE_CLOSING);
  enum hr_status status = HR_OK;
  if (is_first) status = emit_node_event(engine, HR_EVENT_NOTICE, HR_REASON_RESERVATION_END, pool, node);
  return status == HR_OK ? hr__market_warn_residents(engine, node, down_us) : status;
}

/* Ends a reservation. The first call, at the time of the notice, closes the nodes and schedules a second call for the
   time of the stop. The second call stops the nodes. Without a notice period, the first call stops them. */
static enum hr_status close_window(struct hr__engine *engine, hr_pool pool) {
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  int64_t down_us = stop_us(&self->spec->market);
  enum hr_status status = HR_OK;
  engine->markets[pool.id].is_closed = true;
  if (engine->view.now_us < down_us) {
    for (uint32_t number = 0; status == HR_OK && number < self->spec->nodes; number++)
      status = close_node(engine, pool, node_of(self, number), down_us);
    return status == HR_OK ? hr__schedule(engine, down_us, HR__PENDING_WINDOW_CLOSE, pool.id) : status;
  }
  for (uint32_t number = 0; status == HR_OK && number < self->spec->nodes; number++)
    if (engine->cluster.nodes[node_of(self, number).id].state != HR_NODE_OFF)
      status = hr__market_take_down(engine, pool, node_of(self, number), HR_REASON_RESERVATION_END);
  return status;
}

/* ---- Start and end of a run ---- */

static enum hr_status begin_window(struct hr__engine *engine, hr_pool pool) {
  const struct hr_market_spec *market = &engine->cluster.pools[pool.id].spec->market;
  engine->markets[pool.id].is_closed = market->from_us > 0;
  enum hr_status status = hr__schedule(engine, market->from_us, HR__PENDING_WINDOW_OPEN, pool.id);
  if (status != HR_OK || market->to_us == HR_NEVER_US || market->to_us <= 0) return status;
  int64_t notice_at_us = stop_us(market) - market->stop_notice_us;
  return hr__schedule(engine, notice_at_us > 0 ? notice_at_us : 0, HR__PENDING_WINDOW_CLOSE, pool.id);
}

static enum hr_status begin_elastic(struct hr__engine *engine, hr_pool pool) {
  struct hr__engine_market *market = &engine->markets[pool.id];
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  const struct hr_spot_spec *spot = &self->spec->market.spot;
  uint32_t n_nodes = self->spec->nodes;
  market->level = n_nodes;
  if (self->spec->market.market != HR_MARKET_SPOT) {
    hr__cluster_set_obtainable(&engine->cluster, pool, n_nodes);
    return HR_OK;
  }
  if (!HR__ARENA_ARRAY(&engine->arena, market->hit, n_nodes)) return hr__out_of_memory(engine);
  hr__level_source_init(&market->levels, spot, n_nodes, engine->config->seed, 0);
  market->floor = lowest_level(spot, n_nodes);
  market->level = hr__level_source_next(&market->levels).level;
  market->ahead = hr__level_source_next(&market->levels);
  hr__cluster_set_obtainable(&engine->cluster, pool, market->level);
  enum hr_status status = schedule_lookahead(engine, pool);
  return status == HR_OK ? begin_interruptions(engine, pool, n_nodes) : status;
}

/* Must precede the creation of the policy, because the policy's view includes the available nodes. */
static enum hr_status init(struct hr__engine *engine) {
  uint32_t n_pools = engine->cluster.n_pools;
  if (!engine->cluster.nodes) return HR_OK;
  if (!HR__ARENA_ARRAY(&engine->arena, engine->markets, n_pools) ||
      !HR__ARENA_ARRAY(&engine->arena, engine->residents.first, engine->cluster.n_nodes))
    return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    if (!pool->comes_and_goes) continue;
    const struct hr_market_spec *market = &pool->spec->market;
    bool elastic = hr_market_is_elastic(market->market), bounded = hr_market_is_bounded(market);
    if (!elastic && !bounded) continue; /* only failures, maintenance and power management change its nodes */
    enum hr_status status = elastic ? begin_elastic(engine, (hr_pool){i}) : begin_window(engine, (hr_pool){i});
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static void close(struct hr__engine *engine) {
  for (uint32_t i = 0; engine->markets && i < engine->cluster.n_pools; i++) {
    hr__fifo_finish(&engine->markets[i].window);
    hr__fifo_finish(&engine->markets[i].minima);
  }
}

static enum hr_status advance(struct hr__engine *engine, struct hr__pending pending) {
  uint32_t entity = hr__pending_entity(pending);
  switch (hr__pending_kind(pending)) {
  case HR__PENDING_LEVEL_AHEAD:
    return look_ahead(engine, (hr_pool){entity});
  case HR__PENDING_LEVEL:
    return handle_level(engine, (hr_pool){entity});
  case HR__PENDING_INTERRUPTION:
    return handle_interruption(engine, (hr_pool){entity});
  case HR__PENDING_NODE_NOTICE:
    return handle_age(engine, (hr_node){entity});
  case HR__PENDING_NODE_DOWN:
    return end_node(engine, (hr_node){entity});
  case HR__PENDING_WINDOW_CLOSE:
    return close_window(engine, (hr_pool){entity});
  case HR__PENDING_WINDOW_OPEN:
    return open_window(engine, (hr_pool){entity});
  case HR__PENDING_NODE_UP:
    return boot_node(engine, (hr_node){entity});
  default:
    return HR_OK;
  }
}

/* Checks that no more nodes can be requested than the provider offers. */
static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
  (void)running;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    if (hr_market_is_elastic(pool->spec->market.market) && pool->obtainable > engine->markets[i].level)
      return hr__broken(engine, "pool '%s': more nodes can be requested than are offered", pool->spec->name);
  }
  return HR_OK;
}

const struct hr__component hr__component_markets = {
    .disturbs_jobs = true,
    .is_endless = true,
    .init = init,
    .part = offsetof(struct hr__engine, markets),
    .kinds = 1u << HR__PENDING_LEVEL_AHEAD | 1u << HR__PENDING_LEVEL | 1u << HR__PENDING_INTERRUPTION |
             1u << HR__PENDING_NODE_NOTICE | 1u << HR__PENDING_NODE_DOWN | 1u << HR__PENDING_WINDOW_CLOSE |
             1u << HR__PENDING_WINDOW_OPEN | 1u << HR__PENDING_NODE_UP,
    .advance = advance,
    .supply = acquire_all,
    .settle = settle,
    .close = close,
    .check = check,
};

/* ---- Names of markets and spot models ---- */

HR__NAME_FUNCTION(hr_market_name, enum hr_market, HR_MARKET_TABLE)
HR__NAME_FUNCTION(hr_spot_model_name, enum hr_spot_model, HR_SPOT_MODEL_TABLE)
