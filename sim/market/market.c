/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes that come and go. What can be had is a function of time (sim/supply.h), and the node that it takes is known
 * before: a step down of a pool's level takes the nodes above it, a blow the nodes it hits, an age the node that
 * reaches it. All of these say when a node will be gone; it has notice that long before, and is gone then. A level that
 * falls within the time of notice is looked at ahead: what will be gone by then cannot be had any more, so a node is
 * never launched into a notice.
 */

#include "headroom/market.h"
#include "base/array.h"
#include "sim/engine/engine.h"

#include <stdlib.h>
#include <string.h>

/* Steps of the level that are known and have not come yet. */
struct window {
  struct hr_level_step *steps;
  uint32_t first, count, capacity;
};

struct hr__market_state {
  struct hr__level_source levels;
  struct hr_level_step ahead; /* the step after the window */
  struct window window;
  uint32_t level; /* now */
  struct hr__interruption_source blows;
  int64_t blow_us;
  uint32_t *hit, n_hit; /* the nodes of the next blow */
  int64_t touched_us;
};

static const struct hr_spot_spec *spot_of(const struct hr__engine *engine, hr_pool pool) {
  return &engine->cluster.pools[pool.id].spec->market.spot;
}

static int64_t notice_us(const struct hr__engine *engine, hr_pool pool) {
  return spot_of(engine, pool)->notice_us;
}

/* `before_us` earlier, but not in the past. */
static int64_t ahead_of(const struct hr__engine *engine, int64_t at_us, int64_t before_us) {
  int64_t now_us = engine->view.now_us;
  return at_us - now_us > before_us ? at_us - before_us : now_us;
}

static hr_node node_of(const struct hr__pool *pool, uint32_t number) {
  return (hr_node){pool->first_node.id + number};
}

/* ---- Accounts --------------------------------------------------------------------------------------- */

/* Before the state of any node of the pool changes: accounts for the time until now. */
static void hr__market_touch(struct hr__engine *engine, hr_pool pool) {
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  struct hr__market_state *market = &engine->markets[pool.id];
  hr_amount passed_us = engine->view.now_us - market->touched_us;
  uint32_t active = self->spec->nodes - self->n_in[HR_NODE_OFF];
  engine->pool_accounting[pool.id].up_us += active * passed_us;
  engine->pool_accounting[pool.id].offered_us += (active + self->n_offered) * passed_us;
  market->touched_us = engine->view.now_us;
}

void hr__markets_settle(struct hr__engine *engine) {
  for (uint32_t i = 0; engine->markets && i < engine->cluster.n_pools; i++)
    if (engine->cluster.pools[i].comes_and_goes) hr__market_touch(engine, (hr_pool){i});
}

void hr__market_set_state(struct hr__engine *engine, hr_node node, enum hr_node_state state) {
  hr__market_touch(engine, hr__cluster_pool_of(&engine->cluster, node));
  hr__cluster_set_state(&engine->cluster, node, state);
  engine->view.total_milli = engine->cluster.total_milli;
}

static enum hr_status tell(struct hr__engine *engine, enum hr_event_kind kind, enum hr_reason reason, hr_pool pool,
                           hr_node node) {
  struct hr_event event = hr__node_event(engine, kind, reason, pool, node);
  return hr__emit(engine, &event);
}

/* ---- Nodes go --------------------------------------------------------------------------------------- */

static enum hr_status interrupt_residents(struct hr__engine *engine, hr_node node) {
  const struct hr__residents *residents = &engine->residents;
  while (residents->first[node.id]) {
    hr_job job = residents->links[residents->first[node.id] - 1].job;
    enum hr_status status = hr__attempt_interrupt(engine, job, HR_REASON_RECLAIMED);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static enum hr_status take_down(struct hr__engine *engine, hr_pool pool, hr_node node, enum hr_reason reason) {
  /* Closed first: what its jobs leave behind must not be used again. */
  if (engine->cluster.nodes[node.id].state == HR_NODE_UP) hr__market_set_state(engine, node, HR_NODE_CLOSING);
  enum hr_status status = interrupt_residents(engine, node);
  if (status != HR_OK) return status;
  hr__market_set_state(engine, node, HR_NODE_OFF);
  engine->cluster.nodes[node.id].down_us = HR_NEVER_US;
  engine->pool_accounting[pool.id].reclaims += reason == HR_REASON_RECLAIMED;
  return tell(engine, HR_EVENT_NODE_DOWN, reason, pool, node);
}

/* The jobs of a node that has notice: the list changes as they leave. Each job is told once, as it is listed once. */
static enum hr_status warn_residents(struct hr__engine *engine, hr_node node, int64_t down_us) {
  const struct hr__residents *residents = &engine->residents;
  uint32_t link = residents->first[node.id];
  while (link) {
    struct hr__resident resident = residents->links[link - 1];
    enum hr_status status = hr__attempt_notice(engine, resident.job, down_us);
    if (status != HR_OK) return status;
    link = resident.next;
  }
  return HR_OK;
}

/* The node will be gone at `down_us`, which is told now. One that still boots is given up at once. */
static enum hr_status give_notice(struct hr__engine *engine, hr_pool pool, hr_node node, int64_t down_us) {
  struct hr__node *self = &engine->cluster.nodes[node.id];
  if (self->state == HR_NODE_OFF) return HR_OK;
  if (self->state == HR_NODE_BOOTING || down_us == engine->view.now_us)
    return take_down(engine, pool, node, HR_REASON_RECLAIMED);
  if (self->state == HR_NODE_CLOSING && self->down_us <= down_us) return HR_OK;
  bool first = self->state == HR_NODE_UP;
  self->down_us = down_us;
  enum hr_status status = hr__schedule(engine, down_us, HR__PENDING_NODE_DOWN, node.id);
  if (status != HR_OK || !first) return status;
  hr__market_set_state(engine, node, HR_NODE_CLOSING);
  engine->pool_accounting[pool.id].notices++;
  status = tell(engine, HR_EVENT_NOTICE, HR_REASON_RECLAIMED, pool, node);
  return status == HR_OK ? warn_residents(engine, node, down_us) : status;
}

/* ---- Levels ----------------------------------------------------------------------------------------- */

static enum hr_status window_push(struct hr__engine *engine, struct window *window, struct hr_level_step step) {
  if (window->first + window->count == window->capacity) {
    if (window->first > window->count) {
      memmove(window->steps, window->steps + window->first, window->count * sizeof *window->steps);
      window->first = 0;
    } else {
      struct hr_level_step *steps = hr__grown(window->steps, &window->capacity, sizeof *steps);
      if (!steps) return hr__out_of_memory(engine);
      window->steps = steps;
    }
  }
  window->steps[window->first + window->count++] = step;
  return HR_OK;
}

/* What can be had now is what will not be gone within the time of notice. */
static enum hr_status offer_again(struct hr__engine *engine, hr_pool pool) {
  const struct hr__market_state *market = &engine->markets[pool.id];
  struct hr__pool *self = &engine->cluster.pools[pool.id];
  uint32_t least = market->level, before = self->n_offered;
  for (uint32_t i = 0; i < market->window.count; i++) {
    uint32_t level = market->window.steps[market->window.first + i].level;
    if (level < least) least = level;
  }
  if (least == self->obtainable) return HR_OK;
  hr__market_touch(engine, pool);
  hr__cluster_set_obtainable(&engine->cluster, pool, least);
  if (self->n_offered == before) return HR_OK;
  return tell(engine, HR_EVENT_OFFER, HR_REASON_NONE, pool, (hr_node){HR_NONE});
}

static enum hr_status schedule_look(struct hr__engine *engine, hr_pool pool) {
  const struct hr__market_state *market = &engine->markets[pool.id];
  if (market->ahead.at_us == HR_NEVER_US) return HR_OK;
  int64_t look_us = ahead_of(engine, market->ahead.at_us, notice_us(engine, pool));
  return hr__schedule(engine, look_us, HR__PENDING_LEVEL_AHEAD, pool.id);
}

/* The next step comes into the window: nodes above a lower level have notice. */
static enum hr_status look_ahead(struct hr__engine *engine, hr_pool pool) {
  struct hr__market_state *market = &engine->markets[pool.id];
  struct hr__pool *self = &engine->cluster.pools[pool.id];
  struct hr_level_step step = market->ahead;
  market->ahead = hr__level_source_next(&market->levels);
  enum hr_status status = window_push(engine, &market->window, step);
  if (status == HR_OK) status = hr__schedule(engine, step.at_us, HR__PENDING_LEVEL, pool.id);
  if (status == HR_OK) status = schedule_look(engine, pool);
  for (uint32_t number = step.level; status == HR_OK && number < self->obtainable; number++)
    status = give_notice(engine, pool, node_of(self, number), step.at_us);
  return status == HR_OK ? offer_again(engine, pool) : status;
}

static enum hr_status take_step(struct hr__engine *engine, hr_pool pool) {
  struct hr__market_state *market = &engine->markets[pool.id];
  market->level = market->window.steps[market->window.first++].level;
  market->window.count--;
  return offer_again(engine, pool);
}

/* ---- Blows and ages --------------------------------------------------------------------------------- */

static enum hr_status schedule_blow(struct hr__engine *engine, hr_pool pool) {
  struct hr__market_state *market = &engine->markets[pool.id];
  market->blow_us = hr__interruption_source_next(&market->blows, market->hit, &market->n_hit);
  if (market->blow_us == HR_NEVER_US) return HR_OK;
  int64_t notice = ahead_of(engine, market->blow_us, notice_us(engine, pool));
  return hr__schedule(engine, notice, HR__PENDING_BLOW, pool.id);
}

static enum hr_status strike(struct hr__engine *engine, hr_pool pool) {
  const struct hr__market_state *market = &engine->markets[pool.id];
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; status == HR_OK && i < market->n_hit; i++)
    status = give_notice(engine, pool, node_of(self, market->hit[i]), market->blow_us);
  return status == HR_OK ? schedule_blow(engine, pool) : status;
}

/* The age of a launch that was given back since is of no concern. */
static enum hr_status grow_old(struct hr__engine *engine, hr_node node) {
  hr_pool pool = hr__cluster_pool_of(&engine->cluster, node);
  const struct hr__node *self = &engine->cluster.nodes[node.id];
  if (self->state == HR_NODE_OFF || self->dies_us == HR_NEVER_US) return HR_OK;
  if (ahead_of(engine, self->dies_us, notice_us(engine, pool)) != engine->view.now_us) return HR_OK;
  return give_notice(engine, pool, node, self->dies_us);
}

static enum hr_status end_node(struct hr__engine *engine, hr_node node) {
  const struct hr__node *self = &engine->cluster.nodes[node.id];
  if (self->state != HR_NODE_CLOSING || self->down_us != engine->view.now_us) return HR_OK;
  return take_down(engine, hr__cluster_pool_of(&engine->cluster, node), node, HR_REASON_RECLAIMED);
}

/* ---- Nodes come ------------------------------------------------------------------------------------- */

hr_node hr__market_next_offer(const struct hr__engine *engine, hr_pool pool) {
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  uint32_t number = hr__bitset_next(&self->shape, self->off, 0);
  return number < self->obtainable ? node_of(self, number) : (hr_node){HR_NONE};
}

static int64_t draw_boot_us(const struct hr__engine *engine, hr_pool pool, hr_node node) {
  const struct hr_duration *boot = &engine->cluster.pools[pool.id].spec->market.boot;
  if (boot->kind == HR_DURATION_FIXED && boot->a <= 0) return 0;
  struct hr__stream stream;
  hr__stream_init(&stream, engine->config->seed, HR__PURPOSE_BOOT, node.id, 0);
  hr__stream_skip_to_life(&stream, engine->cluster.nodes[node.id].launches);
  return hr__duration_draw(boot, &stream);
}

void hr__market_book(struct hr__engine *engine, hr_node node) {
  struct hr__node *self = &engine->cluster.nodes[node.id];
  hr__market_set_state(engine, node, HR_NODE_BOOTING);
  self->since_us = engine->view.now_us;
  self->launches++;
}

void hr__market_unbook(struct hr__engine *engine, hr_node node) {
  engine->cluster.nodes[node.id].launches--;
  hr__market_set_state(engine, node, HR_NODE_OFF);
}

enum hr_status hr__market_launch(struct hr__engine *engine, hr_node node) {
  hr_pool pool = hr__cluster_pool_of(&engine->cluster, node);
  struct hr__node *self = &engine->cluster.nodes[node.id];
  int64_t now_us = engine->view.now_us;
  engine->pool_accounting[pool.id].launches++;
  struct hr_event event = hr__node_event(engine, HR_EVENT_ACQUIRE, HR_REASON_NONE, pool, node);
  hr__notify_observers(engine, &event);
  enum hr_status status = hr__schedule(engine, now_us + draw_boot_us(engine, pool, node), HR__PENDING_NODE_UP, node.id);
  int64_t life_us = hr__life_draw(spot_of(engine, pool), engine->config->seed, node.id, self->launches, 0);
  self->dies_us = life_us == HR_NEVER_US ? HR_NEVER_US : now_us + life_us;
  if (status != HR_OK || life_us == HR_NEVER_US) return status;
  int64_t told_us = ahead_of(engine, self->dies_us, notice_us(engine, pool));
  return hr__schedule(engine, told_us, HR__PENDING_NODE_NOTICE, node.id);
}

enum hr_status hr__markets_acquire_all(struct hr__engine *engine, bool *any) {
  *any = false;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    hr_pool pool = {i};
    while (engine->cluster.pools[i].n_offered) {
      hr_node node = hr__market_next_offer(engine, pool);
      *any = true;
      hr__market_book(engine, node);
      enum hr_status status = hr__market_launch(engine, node);
      if (status != HR_OK) return status;
    }
  }
  return HR_OK;
}

/* A node that was given back, and perhaps asked for again, since this was scheduled is not up: its boot then has
   another end, unless that is now as well. */
static enum hr_status boot_node(struct hr__engine *engine, hr_node node) {
  hr_pool pool = hr__cluster_pool_of(&engine->cluster, node);
  const struct hr__node *self = &engine->cluster.nodes[node.id];
  if (self->state != HR_NODE_BOOTING) return HR_OK;
  if (self->since_us + draw_boot_us(engine, pool, node) != engine->view.now_us) return HR_OK;
  hr__market_set_state(engine, node, HR_NODE_UP);
  return tell(engine, HR_EVENT_NODE_UP, HR_REASON_NONE, pool, node);
}

/* ---- Reservations ----------------------------------------------------------------------------------- */

static enum hr_status open_window(struct hr__engine *engine, hr_pool pool) {
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  enum hr_status status = HR_OK;
  for (uint32_t number = 0; status == HR_OK && number < self->spec->nodes; number++) {
    hr__market_set_state(engine, node_of(self, number), HR_NODE_UP);
    status = tell(engine, HR_EVENT_NODE_UP, HR_REASON_NONE, pool, node_of(self, number));
  }
  return status;
}

static enum hr_status close_window(struct hr__engine *engine, hr_pool pool) {
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  enum hr_status status = HR_OK;
  for (uint32_t number = 0; status == HR_OK && number < self->spec->nodes; number++)
    status = take_down(engine, pool, node_of(self, number), HR_REASON_RESERVATION_END);
  return status;
}

/* ---- Beginning and end ------------------------------------------------------------------------------ */

static enum hr_status begin_window(struct hr__engine *engine, hr_pool pool) {
  const struct hr_market_spec *market = &engine->cluster.pools[pool.id].spec->market;
  enum hr_status status = hr__schedule(engine, market->from_us, HR__PENDING_WINDOW_OPEN, pool.id);
  if (status != HR_OK || market->to_us == HR_NEVER_US || market->to_us <= 0) return status;
  return hr__schedule(engine, market->to_us, HR__PENDING_WINDOW_CLOSE, pool.id);
}

static enum hr_status begin_elastic(struct hr__engine *engine, hr_pool pool) {
  struct hr__market_state *market = &engine->markets[pool.id];
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  const struct hr_spot_spec *spot = &self->spec->market.spot;
  uint32_t n_nodes = self->spec->nodes;
  market->level = n_nodes;
  if (self->spec->market.market != HR_MARKET_SPOT) {
    hr__cluster_set_obtainable(&engine->cluster, pool, n_nodes);
    return HR_OK;
  }
  market->hit = hr_arena_alloc(&engine->arena, n_nodes * sizeof *market->hit);
  if (!market->hit) return hr__out_of_memory(engine);
  hr__level_source_init(&market->levels, spot, n_nodes, engine->config->seed, 0);
  hr__interruption_source_init(&market->blows, spot, n_nodes, engine->config->seed, 0);
  market->level = hr__level_source_next(&market->levels).level;
  market->ahead = hr__level_source_next(&market->levels);
  hr__cluster_set_obtainable(&engine->cluster, pool, market->level);
  enum hr_status status = schedule_look(engine, pool);
  return status == HR_OK ? schedule_blow(engine, pool) : status;
}

enum hr_status hr__markets_init(struct hr__engine *engine) {
  uint32_t n_pools = engine->cluster.n_pools;
  engine->markets = hr_arena_alloc(&engine->arena, n_pools * sizeof *engine->markets);
  engine->residents.first = hr_arena_alloc(&engine->arena, engine->cluster.n_nodes * sizeof *engine->residents.first);
  if (!engine->markets || !engine->residents.first) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    if (!pool->comes_and_goes) continue;
    bool elastic = hr_market_is_elastic(pool->spec->market.market);
    enum hr_status status = elastic ? begin_elastic(engine, (hr_pool){i}) : begin_window(engine, (hr_pool){i});
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

void hr__markets_finish(struct hr__engine *engine) {
  for (uint32_t i = 0; engine->markets && i < engine->cluster.n_pools; i++) free(engine->markets[i].window.steps);
  free(engine->residents.links);
}

enum hr_status hr__market_turn(struct hr__engine *engine, enum hr__pending_kind kind, uint32_t entity) {
  switch (kind) {
  case HR__PENDING_LEVEL_AHEAD:
    return look_ahead(engine, (hr_pool){entity});
  case HR__PENDING_LEVEL:
    return take_step(engine, (hr_pool){entity});
  case HR__PENDING_BLOW:
    return strike(engine, (hr_pool){entity});
  case HR__PENDING_NODE_NOTICE:
    return grow_old(engine, (hr_node){entity});
  case HR__PENDING_NODE_DOWN:
    return end_node(engine, (hr_node){entity});
  case HR__PENDING_WINDOW_CLOSE:
    return close_window(engine, (hr_pool){entity});
  case HR__PENDING_WINDOW_OPEN:
    return open_window(engine, (hr_pool){entity});
  case HR__PENDING_NODE_UP:
    return boot_node(engine, (hr_node){entity});
  case HR__PENDING_END:
  case HR__PENDING_PHASE:
  case HR__PENDING_STORAGE:
  case HR__PENDING_EVICT:
  case HR__PENDING_TIMER:
    break;
  }
  return HR_OK;
}

/* The words that a person types for markets, spot models and checkpoint policies. */

#define NAME_CASE(name, text)                                                                                          \
  case name:                                                                                                           \
    return text;

const char *hr_market_name(enum hr_market market) {
  switch (market) {
    HR_MARKET_TABLE(NAME_CASE)
  case HR_N_MARKETS:
    break;
  }
  return "";
}

const char *hr_spot_model_name(enum hr_spot_model model) {
  switch (model) {
    HR_SPOT_MODEL_TABLE(NAME_CASE)
  case HR_N_SPOT_MODELS:
    break;
  }
  return "";
}

const char *hr_checkpoint_name(enum hr_checkpoint checkpoint) {
  switch (checkpoint) {
    HR_CHECKPOINT_TABLE(NAME_CASE)
  case HR_N_CHECKPOINTS:
    break;
  }
  return "";
}
