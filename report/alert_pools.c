/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pool's state is looked at after the passes that changed it, and held until the next such. Utilization is watched up
 * to the last submit: after it a cluster runs empty because the trace is over. Of a spot pool's nodes those that went
 * within the window stand in a queue; what leaves the window is noticed when the pool is looked at next, at the time
 * when it left.
 */

#include "report/alert_pools.h"

#include "report/fifo.h"
#include "report/wide.h"

#include <stdlib.h>

/* A condition that holds, it may be, and what held meanwhile. */
struct watch {
  bool holds;
  int64_t begin_us;
  hr__wide allocated, total; /* milli-GPUs x microseconds since then */
};

struct departure {
  int64_t at_us;
  bool reclaimed;
};

struct pool {
  const struct hr_pool_spec *spec;
  bool is_dirty;
  int64_t until_us;                                  /* the state below holds since then */
  uint64_t allocated_milli, total_milli, most_milli; /* most: with what could be had besides */
  struct watch underused, saturated;
  /* Of spot pools. */
  struct hr__fifo departures; /* within the window */
  uint32_t n_up, n_reclaimed; /* now; within the window */
  bool loses;                 /* the share reclaimed is too large */
  int64_t loses_since_us;
  double worst;
  uint64_t worst_reclaimed;
};

struct hr__alert_pools {
  const struct hr_alert_rules *rules;
  const struct hr_trace *trace;
  struct hr__alert_log *log;
  struct pool *pools;
  uint32_t *dirty; /* pools to be looked at */
  uint32_t n_pools, n_dirty;
  int64_t last_submit_us;
  bool begun, submits_over;
};

struct hr__alert_pools *hr__alert_pools_create(const struct hr_alerts_config *config, struct hr__alert_log *log) {
  struct hr__alert_pools *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  uint32_t n_pools = config->cluster->n_pools, n_jobs = config->trace->n_jobs;
  self->rules = config->rules;
  self->trace = config->trace;
  self->log = log;
  self->n_pools = n_pools;
  self->last_submit_us = n_jobs ? config->trace->submit_us[n_jobs - 1] : 0;
  self->pools = calloc((size_t)n_pools + 1, sizeof *self->pools);
  self->dirty = calloc((size_t)n_pools + 1, sizeof *self->dirty);
  if (!self->pools || !self->dirty) {
    hr__alert_pools_destroy(self);
    return NULL;
  }
  for (uint32_t i = 0; i < n_pools; i++) self->pools[i].spec = &config->cluster->pools[i];
  return self;
}

void hr__alert_pools_destroy(struct hr__alert_pools *pools) {
  if (!pools) return;
  for (uint32_t i = 0; pools->pools && i < pools->n_pools; i++) hr__fifo_finish(&pools->pools[i].departures);
  free(pools->pools);
  free(pools->dirty);
  free(pools);
}

/* ---- Utilization ------------------------------------------------------------------------------------ */

static void watch_end(struct hr__alert_pools *self, const struct pool *pool, struct watch *watch,
                      enum hr_alert_rule rule, int64_t for_us, int64_t end_us) {
  if (!watch->holds) return;
  watch->holds = false;
  if (end_us - watch->begin_us < for_us) return;
  double mean = watch->total ? (double)watch->allocated / (double)watch->total : 0;
  struct hr_alert alert = {rule, pool->spec->name, watch->begin_us, end_us, mean, 0};
  hr__alert_log_add(self->log, alert);
}

static void end_watches(struct hr__alert_pools *self, struct pool *pool, int64_t end_us) {
  watch_end(self, pool, &pool->underused, HR_ALERT_UNDERUSED, self->rules->underused_for_us, end_us);
  watch_end(self, pool, &pool->saturated, HR_ALERT_SATURATED, self->rules->saturated_for_us, end_us);
}

static void watch_begin(struct watch *watch, int64_t now_us) {
  if (!watch->holds) *watch = (struct watch){.holds = true, .begin_us = now_us};
}

static void watch_advance(struct watch *watch, const struct pool *pool, int64_t now_us) {
  if (!watch->holds) return;
  uint64_t passed_us = (uint64_t)(now_us - pool->until_us);
  watch->allocated += (hr__wide)pool->allocated_milli * passed_us;
  watch->total += (hr__wide)pool->total_milli * passed_us;
}

static void advance(struct pool *pool, int64_t now_us) {
  watch_advance(&pool->underused, pool, now_us);
  watch_advance(&pool->saturated, pool, now_us);
  pool->until_us = now_us;
}

/* A pool without a node is neither; one whose nodes are taken as they are wanted is full when no more can be had. */
static void judge_use(struct hr__alert_pools *self, struct pool *pool) {
  const struct hr_alert_rules *rules = self->rules;
  double share = pool->total_milli ? (double)pool->allocated_milli / (double)pool->total_milli : -1;
  bool low = share >= 0 && share < rules->underused_below && !rules->is_off[HR_ALERT_UNDERUSED];
  double full = pool->most_milli ? (double)pool->allocated_milli / (double)pool->most_milli : -1;
  bool high = full > rules->saturated_above && !rules->is_off[HR_ALERT_SATURATED];
  if (low)
    watch_begin(&pool->underused, pool->until_us);
  else
    watch_end(self, pool, &pool->underused, HR_ALERT_UNDERUSED, rules->underused_for_us, pool->until_us);
  if (high)
    watch_begin(&pool->saturated, pool->until_us);
  else
    watch_end(self, pool, &pool->saturated, HR_ALERT_SATURATED, rules->saturated_for_us, pool->until_us);
}

static void end_submits(struct hr__alert_pools *self) {
  self->submits_over = true;
  for (uint32_t i = 0; i < self->n_pools; i++) {
    struct pool *pool = &self->pools[i];
    advance(pool, self->last_submit_us);
    end_watches(self, pool, self->last_submit_us);
  }
}

/* ---- Reclaims --------------------------------------------------------------------------------------- */

static void stop_losing(struct hr__alert_pools *self, struct pool *pool, int64_t now_us) {
  struct hr_alert alert = {HR_ALERT_RECLAIMS, pool->spec->name,     pool->loses_since_us, now_us,
                           pool->worst,       pool->worst_reclaimed};
  pool->loses = false;
  hr__alert_log_add(self->log, alert);
}

static void judge_reclaims(struct hr__alert_pools *self, struct pool *pool, int64_t now_us) {
  uint32_t n_nodes = pool->n_up + hr__fifo_count(&pool->departures);
  double share = n_nodes ? (double)pool->n_reclaimed / n_nodes : 0;
  bool loses = share > self->rules->reclaims_above;
  if (loses && !pool->loses) {
    pool->loses = true;
    pool->loses_since_us = now_us;
    pool->worst = 0;
  }
  if (loses && share > pool->worst) {
    pool->worst = share;
    pool->worst_reclaimed = pool->n_reclaimed;
  }
  if (!loses && pool->loses) stop_losing(self, pool, now_us);
}

/* What went out of the window by now went as the pool stood until now. */
static void drop_departures(struct hr__alert_pools *self, struct pool *pool, int64_t now_us) {
  int64_t within_us = self->rules->reclaims_within_us;
  while (hr__fifo_count(&pool->departures)) {
    const struct departure *departure = hr__fifo_front(&pool->departures, sizeof *departure);
    int64_t out_us = departure->at_us + within_us;
    if (out_us > now_us) return;
    pool->n_reclaimed -= departure->reclaimed;
    hr__fifo_pop(&pool->departures);
    judge_reclaims(self, pool, out_us);
  }
}

static void add_departure(struct hr__alert_pools *self, struct pool *pool, const struct hr_event *event) {
  drop_departures(self, pool, event->at_us);
  bool reclaimed = event->kind == HR_EVENT_NODE_DOWN && event->reason == HR_REASON_RECLAIMED;
  const struct departure departure = {event->at_us, reclaimed};
  if (hr__fifo_push(&pool->departures, &departure, sizeof departure))
    pool->n_reclaimed += reclaimed;
  else
    self->log->failed = true;
}

static bool watches_reclaims(const struct hr__alert_pools *self, const struct pool *pool) {
  return pool->spec->market.market == HR_MARKET_SPOT && !self->rules->is_off[HR_ALERT_RECLAIMS];
}

/* ---- The fold --------------------------------------------------------------------------------------- */

static void make_dirty(struct hr__alert_pools *self, hr_pool pool) {
  if (self->pools[pool.id].is_dirty) return;
  self->pools[pool.id].is_dirty = true;
  self->dirty[self->n_dirty++] = pool.id;
}

void hr__alert_pools_note(struct hr__alert_pools *pools, const struct hr_event *event) {
  if (event->placement) make_dirty(pools, event->placement->pool);
  if (event->pool.id == HR_NONE) return;
  make_dirty(pools, event->pool);
  struct pool *pool = &pools->pools[event->pool.id];
  if ((event->kind == HR_EVENT_NODE_DOWN || event->kind == HR_EVENT_RELEASE) && watches_reclaims(pools, pool))
    add_departure(pools, pool, event);
}

static void look_at(struct hr__alert_pools *self, const struct hr_view *view, hr_pool id) {
  struct pool *pool = &self->pools[id.id];
  const struct hr_cluster *cluster = view->cluster;
  if (watches_reclaims(self, pool)) {
    drop_departures(self, pool, view->now_us);
    pool->n_up = hr_cluster_nodes_in(cluster, id, HR_NODE_UP) + hr_cluster_nodes_in(cluster, id, HR_NODE_BOOTING) +
                 hr_cluster_nodes_in(cluster, id, HR_NODE_CLOSING);
    judge_reclaims(self, pool, view->now_us);
  }
  if (self->submits_over) return;
  advance(pool, view->now_us);
  pool->total_milli = hr_cluster_total_milli(cluster, id);
  pool->most_milli = pool->total_milli + 1000 * (uint64_t)hr_cluster_offer(cluster, id) * pool->spec->gpus_per_node;
  pool->allocated_milli = pool->total_milli - hr_cluster_free_milli(cluster, id);
  judge_use(self, pool);
}

void hr__alert_pools_instant(struct hr__alert_pools *pools, const struct hr_view *view) {
  if (!view->cluster) return;
  if (!pools->begun)
    for (uint32_t i = 0; i < pools->n_pools; i++) make_dirty(pools, (hr_pool){i});
  pools->begun = true;
  if (!pools->submits_over && view->now_us > pools->last_submit_us) end_submits(pools);
  for (uint32_t i = 0; i < pools->n_dirty; i++) {
    pools->pools[pools->dirty[i]].is_dirty = false;
    look_at(pools, view, (hr_pool){pools->dirty[i]});
  }
  pools->n_dirty = 0;
}

void hr__alert_pools_close(struct hr__alert_pools *pools, int64_t end_us) {
  if (end_us < pools->last_submit_us) pools->last_submit_us = end_us;
  if (!pools->submits_over) end_submits(pools);
  for (uint32_t i = 0; i < pools->n_pools; i++) {
    struct pool *pool = &pools->pools[i];
    if (!watches_reclaims(pools, pool)) continue;
    drop_departures(pools, pool, end_us);
    if (pool->loses) stop_losing(pools, pool, end_us);
  }
}
